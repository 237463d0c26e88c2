/* Rotation vectors of elements that go on past half a turn.
 *
 * Each element has a rotation R, known up to full turns. We look for a vector field w, smooth over
 * neighbors, that carries the turns, and leave the rest to q = log(exp(w)^T R).
 *
 * Between neighbors a and b the shape turns by log(R_b R_a^T), seen in the world; w should grow by
 * as much. With exp(w + d) ~ exp(J d) exp(w), at w = theta u
 *
 *   J = u u^T + (sin theta/theta) (I - u u^T) + ((1 - cos theta)/theta) [u]x,
 *
 * that growth is J^-1 log(R_b R_a^T). J is singular at theta = 2 pi k, so its inverse is damped
 * across the axis (see growth below). w is the field that follows all pairs best,
 *
 *   min_w  sum_ab  c_ab | w_b - w_a - (D_a + D_b)/2 log(R_b R_a^T) |^2,
 *
 * one Laplacian of the dual graph, factored once; D is taken from the sweep before, I at first.
 * c_ab = 1/(1 + (angle/s)^2)^2 trusts a pair the less the more it turns (Geman–McClure), so that
 * folded elements do not lead the field astray. Elements at rest hold w = 0; a piece that touches
 * none is held at its element of least rotation and then shifted as a whole to make q small. Where
 * a few elements have folded over and nothing else rotates far, the field is solved for around
 * them, between elements that keep w = log R. Pieces joined by links between parts get their branch
 * from one another: a link adds a pair of so little weight that it moves a piece as a whole and
 * does not bend its field.
 *
 * Based on: Huang et al. (2011), who unwrap rotation vectors by a breadth-first walk.
 * We differ in: no walk. A walk makes exp(w) meet R in every element. But where a surface shears
 * beside its turn, R = Rx(theta) R_r(phi) with r its normal, all round the bar; log R then has no
 * continuous branch past theta = 2 pi, and any walk tears somewhere. Growth in the world does not
 * see the shear: it is theta' along a line of the bar, whatever phi, and least squares cancel what
 * comes from going round. So w = theta x, smooth, and q = phi r, smooth too. */
#include "mesh/rotation_unwrap.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "mesh/topology.h"

/* Logs are continuous where no rotation exceeds this. */
static const double SAFE_ANGLE = 1.57;
/* Pieces in which less than this part of the weight is rotated by more, and whose logs do not jump
 * between neighbors that agree, are solved for around those alone: a few triangles have folded
 * over. */
static const double FOLDED_SHARE = 0.01;
/* Pairs that turn by more than this (radians) lose their influence. */
static const double DOUBTFUL_ANGLE = 0.4;
/* Of the inverse of J across the axis. */
static const double DAMPING = 0.5;
/* Elements between a folded one and the next whose log is kept. */
enum { RINGS = 3 };
/* The first has D = I; the field then changes little after three more. */
enum { SWEEPS = 4 };

/* Weight of a link between parts relative to that of two elements: it chooses the branch of a part,
 * and does not bend its field. */
static const double ACROSS = 1e-6;

/* A connected set of active elements that is solved for. */
typedef struct piece {
    int first, count; /* rows */
    int seed;         /* row held where it is, or -1 when something else holds the piece */
    bool held;        /* by elements at rest */
    double weight;
    /* Of the first piece of a set, in all of it: */
    double whole, large; /* weight; of what exceeds SAFE_ANGLE */
    bool jumps;          /* logs of neighbors differ by full turns */
    bool folded;         /* of the piece alone: some element exceeds SAFE_ANGLE */
    int set, leader;     /* the first piece of those joined across links; the one that leads them */
} piece;

/* Instead of a neighbor's row: its w is 0, or log R. */
enum { AT_REST = -1, KNOWN = -2 };

typedef struct unwrapping {
    const sn_rotation_strain *structure;
    int count;
    const int *active;
    const sn_mat3 *rotations;
    const double *coordinates; /* on entry, w = log R */
    int *place;                /* element -> place in the active list or -1; NULL: all are active */
    int *row_of;               /* place -> row of the system, -1: not solved for */

    int row_count;
    int *rows; /* row -> place; rows of a piece follow each other */
    int piece_count;
    piece *pieces;
    piece *kept; /* scratch */

    int *pair_start;   /* row_count + 1 */
    int *pair_row;     /* the neighbor's row; AT_REST; KNOWN less its place */
    double *pair_turn; /* 3 each: log(R R_neighbour^T) */
    double *pair_trust;

    sn_mat3 *growth; /* per row: D */
    double *w;       /* 3 per row */
    double *right;   /* 3 per row */
} unwrapping;

static int element_at(const unwrapping *u, int place) {
    return u->active ? u->active[place] : place;
}

static int place_of(const unwrapping *u, int element) {
    return u->place ? u->place[element] : element;
}

/* D: on the plane across the axis J is the complex number j = (sin theta + i (1 - cos theta)) /
 * theta, whose inverse conj(j)/|j|^2 is damped to (1 + mu) conj(j)/(|j|^2 + mu): the inverse where
 * |j| = 1, nothing where j = 0. */
static sn_mat3 growth(sn_vec3 w) {
    double theta = sn_length(w);
    if (theta < 1e-6) return sn_mat3_identity();
    sn_vec3 axis = sn_scale(1 / theta, w);
    double real = sin(theta) / theta, imaginary = (1 - cos(theta)) / theta;
    double scale = (1 + DAMPING) / (real * real + imaginary * imaginary + DAMPING);
    sn_mat3 cross = sn_mat3_cross(axis), squared = sn_mat3_multiply(cross, cross);
    /* I - u u^T = -[u]x^2 */
    sn_mat3 result = sn_mat3_add(sn_mat3_identity(), sn_mat3_scale(1 - scale * real, squared));
    return sn_mat3_add(result, sn_mat3_scale(-scale * imaginary, cross));
}

static sn_vec3 vector_of(const unwrapping *u, int place) {
    return sn_at(u->coordinates + (size_t)SN_RS_SIZE * place + SN_RS_W, 0);
}

/* The two halves of a link, which belong to different parts. */
static bool is_across(const sn_rotation_strain *rs, int item, int other) {
    return item >= rs->element_count && other >= rs->element_count;
}

/* Whether logs jump between neighbors that hardly turn against each other. */
static bool is_jump(const unwrapping *u, int place, int other) {
    static const double half_turn = 3.14159265358979323846;
    if (sn_distance(vector_of(u, place), vector_of(u, other)) < half_turn) return false;
    sn_mat3 turn = sn_mat3_multiply(u->rotations[place], sn_mat3_transpose(u->rotations[other]));
    return sn_length(sn_rotation_log(turn)) < DOUBTFUL_ANGLE;
}

/* Walks the piece of active elements from `start`, along sides and to the halves of links, not
 * across links. */
static piece walk(unwrapping *u, int start) {
    const sn_rotation_strain *rs = u->structure;
    piece p = {.first = u->row_count, .seed = -1};
    double smallest = INFINITY;
    u->rows[p.first + p.count++] = start;
    u->row_of[start] = p.first;
    for (int i = 0; i < p.count; i++) {
        int place = u->rows[p.first + i], element = element_at(u, place);
        double angle = sn_length(vector_of(u, place));
        bool large = angle > SAFE_ANGLE;
        p.weight += rs->weights[element];
        if (large) p.large += rs->weights[element], p.folded = true;
        if (angle < smallest) smallest = angle, p.seed = p.first + i;
        for (int n = rs->neighbour_start[element]; n < rs->neighbour_start[element + 1]; n++) {
            if (is_across(rs, element, rs->neighbours[n])) continue;
            int next = place_of(u, rs->neighbours[n]);
            p.held |= next < 0;
            if (next < 0) continue;
            p.jumps = p.jumps || (large && is_jump(u, place, next));
            if (u->row_of[next] >= 0) continue;
            u->row_of[next] = p.first + p.count;
            u->rows[p.first + p.count++] = next;
        }
    }
    p.whole = p.weight;
    return p;
}

/* Joins pieces across links. Of those that are joined, the one at rest or, without any, the
 * heaviest decides on the branch. */
static sinew_status join_pieces(unwrapping *u, sinew_error *error) {
    const sn_rotation_strain *rs = u->structure;
    int *set = SN_NEW(int, u->piece_count), *piece_of = SN_NEW(int, u->row_count);
    if (!set || !piece_of) {
        sn_free(set), sn_free(piece_of);
        return sn_no_memory(error);
    }
    for (int k = 0; k < u->piece_count; k++) {
        set[k] = k;
        for (int i = 0; i < u->pieces[k].count; i++) piece_of[u->pieces[k].first + i] = k;
    }
    for (int l = 0; l < rs->link_count; l++) {
        int a = place_of(u, rs->element_count + 2 * l);
        int b = place_of(u, rs->element_count + 2 * l + 1);
        if (a >= 0 && b >= 0) sn_set_join(set, piece_of[u->row_of[a]], piece_of[u->row_of[b]]);
    }
    for (int k = 0; k < u->piece_count; k++) { /* a root is the first of its set */
        int root = sn_set_find(set, k);
        piece *p = &u->pieces[k], *first = &u->pieces[root];
        p->set = root, p->leader = k;
        if (root == k) continue;
        first->whole += p->whole, first->large += p->large;
        first->jumps = first->jumps || p->jumps;
        const piece *leader = &u->pieces[first->leader];
        if (p->held > leader->held || (p->held == leader->held && p->weight > leader->weight))
            first->leader = k;
    }
    sn_free(set), sn_free(piece_of);
    return SINEW_OK;
}

/* Puts what is at most RINGS from a folded element first among the rows of a piece; returns how
 * many that are. Only these keep a row. */
static int keep_around_folds(unwrapping *u, piece p, int *rings) {
    const sn_rotation_strain *rs = u->structure;
    int kept = 0;
    for (int i = 0; i < p.count; i++) {
        int place = u->rows[p.first + i];
        u->row_of[place] = -1;
        if (sn_length(vector_of(u, place)) > SAFE_ANGLE) rings[kept++] = place;
    }
    for (int i = 0; i < kept; i++) u->row_of[rings[i]] = 0;
    for (int i = 0, end = kept, ring = 0; ring < RINGS; ring++, end = kept)
        for (; i < end; i++) {
            int element = element_at(u, rings[i]);
            for (int n = rs->neighbour_start[element]; n < rs->neighbour_start[element + 1]; n++) {
                int next = place_of(u, rs->neighbours[n]);
                if (next < 0 || u->row_of[next] >= 0 || is_across(rs, element, rs->neighbours[n]))
                    continue;
                u->row_of[next] = 0;
                rings[kept++] = next;
            }
        }
    if (kept < p.count) memcpy(u->rows + p.first, rings, (size_t)kept * sizeof *rings);
    return kept;
}

/* Finds the pieces and keeps those with large rotations, or joined to some, as rows. */
static sinew_status find_pieces(unwrapping *u, sinew_error *error) {
    for (int k = 0; k < u->count; k++) u->row_of[k] = -1;
    for (int start = 0; start < u->count; start++) {
        if (u->row_of[start] >= 0) continue;
        piece p = walk(u, start);
        u->pieces[u->piece_count++] = p;
        u->row_count += p.count;
    }
    SN_TRY(join_pieces(u, error));
    int kept = 0, rows = 0, *rings = SN_NEW(int, u->count);
    if (!rings) return sn_no_memory(error);
    for (int k = 0; k < u->piece_count; k++) {
        piece p = u->pieces[k];
        const piece *first = &u->pieces[p.set];
        bool large = first->jumps || first->large > FOLDED_SHARE * first->whole;
        bool leads = first->leader == k;
        if (!large && p.folded) {
            int around = keep_around_folds(u, p, rings);
            p.held = p.held || around < p.count; /* by the logs around it */
            p.count = around, large = true;
        }
        for (int i = 0; i < p.count; i++) {
            int place = u->rows[p.first + i];
            u->row_of[place] = large ? rows + i : -1;
            u->rows[rows + i] = place;
        }
        if (!large) continue;
        p.seed = p.held || !leads ? -1 : p.seed - p.first + rows;
        p.first = rows;
        rows += p.count;
        u->kept[kept++] = p;
    }
    sn_free(rings);
    piece *all = u->pieces;
    u->pieces = u->kept, u->kept = all;
    u->piece_count = kept, u->row_count = rows;
    return SINEW_OK;
}

static void measure_row_pairs(void *context, sn_span span) {
    unwrapping *u = context;
    const sn_rotation_strain *rs = u->structure;
    SN_IN_SPAN(int, row, span) {
        int place = u->rows[row], element = element_at(u, place);
        for (int pair = u->pair_start[row]; pair < u->pair_start[row + 1]; pair++) {
            int neighbour =
                rs->neighbours[rs->neighbour_start[element] + pair - u->pair_start[row]];
            int other = place_of(u, neighbour);
            sn_mat3 turn = u->rotations[place];
            if (other >= 0) turn = sn_mat3_multiply(turn, sn_mat3_transpose(u->rotations[other]));
            sn_vec3 v = sn_rotation_log(turn);
            double doubt = 1 + sn_dot(v, v) / (DOUBTFUL_ANGLE * DOUBTFUL_ANGLE);
            sn_put(u->pair_turn, pair, v);
            u->pair_row[pair] = other < 0               ? AT_REST
                                : u->row_of[other] >= 0 ? u->row_of[other]
                                                        : KNOWN - other;
            u->pair_trust[pair] =
                (is_across(rs, element, neighbour) ? ACROSS : 1) / (doubt * doubt);
        }
    }
}

static void measure_pairs(unwrapping *u) {
    const sn_rotation_strain *rs = u->structure;
    u->pair_start[0] = 0;
    for (int row = 0; row < u->row_count; row++) {
        int element = element_at(u, u->rows[row]);
        u->pair_start[row + 1] =
            u->pair_start[row] + rs->neighbour_start[element + 1] - rs->neighbour_start[element];
    }
    sn_parallel_for(u->row_count, 64, measure_row_pairs, u);
}

static sinew_status factor_laplacian(const unwrapping *u, sn_cholesky **factor,
                                     sinew_error *error) {
    sn_triplets triplets;
    size_t expected = (size_t)u->pair_start[u->row_count] + 2 * (size_t)u->row_count;
    SN_TRY(sn_triplets_create(u->row_count, u->row_count, expected, &triplets, error));
    bool room = true;
    for (int row = 0; row < u->row_count; row++) {
        double diagonal = 0;
        for (int pair = u->pair_start[row]; pair < u->pair_start[row + 1]; pair++) {
            diagonal += u->pair_trust[pair];
            if (u->pair_row[pair] >= 0 && u->pair_row[pair] < row)
                room = room &&
                       sn_triplets_add(&triplets, row, u->pair_row[pair], -u->pair_trust[pair]);
        }
        room = room && sn_triplets_add(&triplets, row, row, diagonal);
    }
    for (int p = 0; p < u->piece_count; p++)
        if (u->pieces[p].seed >= 0)
            room = room && sn_triplets_add(&triplets, u->pieces[p].seed, u->pieces[p].seed, 1);
    sn_sparse *matrix = NULL;
    sinew_status status =
        room ? sn_sparse_from_triplets(&triplets, true, &matrix, error) : sn_no_memory(error);
    sn_triplets_free(&triplets);
    if (status == SINEW_OK) status = sn_cholesky_create_brief(matrix, factor, error);
    sn_sparse_destroy(matrix);
    return status;
}

/* Moves a piece that no element at rest holds by the mean of what is left to turn. */
static void shift_piece(unwrapping *u, piece p) {
    sn_vec3 sum = {0, 0, 0};
    double total = 0;
    for (int row = p.first; row < p.first + p.count; row++) {
        int place = u->rows[row];
        double weight = u->structure->weights[element_at(u, place)];
        sn_vec3 w = sn_at(u->w, row);
        sn_vec3 left = sn_rotation_log(
            sn_mat3_multiply(u->rotations[place], sn_mat3_transpose(sn_rotation_exp(w))));
        sum = sn_add_scaled(sum, weight, sn_mat3_apply(growth(w), left));
        total += weight;
    }
    for (int row = p.first; row < p.first + p.count; row++)
        sn_put(u->w, row, sn_add_scaled(sn_at(u->w, row), 1 / total, sum));
}

typedef struct grow_rows_loop {
    unwrapping *u;
    bool first;
} grow_rows_loop;

static void grow_rows(void *context, sn_span span) {
    const grow_rows_loop *loop = context;
    unwrapping *u = loop->u;
    bool first = loop->first;
    SN_IN_SPAN(int, row, span)
        u->growth[row] = first ? sn_mat3_identity() : growth(sn_at(u->w, row));
}

static void gather_row_turns(void *context, sn_span span) {
    unwrapping *u = context;
    SN_IN_SPAN(int, row, span) {
        sn_vec3 sum = {0, 0, 0};
        for (int pair = u->pair_start[row]; pair < u->pair_start[row + 1]; pair++) {
            int other = u->pair_row[pair];
            sn_vec3 turn = sn_at(u->pair_turn, pair), there = turn;
            if (other >= 0) there = sn_mat3_apply(u->growth[other], turn);
            if (other <= KNOWN) {
                sn_vec3 known = vector_of(u, KNOWN - other);
                there = sn_mat3_apply(growth(known), turn);
                sum = sn_add_scaled(sum, u->pair_trust[pair], known);
            }
            sn_vec3 mean = sn_add(sn_mat3_apply(u->growth[row], turn), there);
            sum = sn_add_scaled(sum, 0.5 * u->pair_trust[pair], mean);
        }
        sn_put(u->right, row, sum);
    }
}

static void sweep(unwrapping *u, bool first, const sn_cholesky *factor, sn_cholesky_work *work) {
    sn_parallel_for(u->row_count, 64, grow_rows, &(grow_rows_loop){u, first});
    sn_parallel_for(u->row_count, 64, gather_row_turns, u);
    for (int p = 0; p < u->piece_count; p++) {
        int seed = u->pieces[p].seed;
        if (seed >= 0) sn_put(u->right, seed, sn_add(sn_at(u->right, seed), sn_at(u->w, seed)));
    }
    sn_cholesky_solve(factor, work, 3, u->right, u->w);
    for (int p = 0; p < u->piece_count; p++)
        if (!u->pieces[p].held) shift_piece(u, u->pieces[p]);
}

typedef struct split_rotations_loop {
    const unwrapping *u;
    double *coordinates;
} split_rotations_loop;

static void split_rotations(void *context, sn_span span) {
    const split_rotations_loop *loop = context;
    const unwrapping *u = loop->u;
    double *coordinates = loop->coordinates;
    SN_IN_SPAN(int, row, span) {
        int place = u->rows[row];
        sn_vec3 w = sn_at(u->w, row);
        double *c = coordinates + (size_t)SN_RS_SIZE * place;
        sn_put(c + SN_RS_W, 0, w);
        sn_put(c + SN_RS_Q, 0,
               sn_rotation_log(
                   sn_mat3_multiply(sn_mat3_transpose(sn_rotation_exp(w)), u->rotations[place])));
    }
}

static sinew_status solve(unwrapping *u, double *coordinates, sinew_error *error) {
    measure_pairs(u);
    sn_cholesky *factor = NULL;
    sn_cholesky_work *work = NULL;
    sinew_status status = factor_laplacian(u, &factor, error);
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, 3, &work, error);
    if (status == SINEW_OK) {
        for (int row = 0; row < u->row_count; row++) sn_put(u->w, row, vector_of(u, u->rows[row]));
        for (int k = 0; k < SWEEPS; k++) sweep(u, k == 0, factor, work);
        sn_parallel_for(u->row_count, 64, split_rotations, &(split_rotations_loop){u, coordinates});
    }
    sn_cholesky_work_destroy(work);
    sn_cholesky_destroy(factor);
    return status;
}

static bool reserve_rows(unwrapping *u) {
    size_t rows = (size_t)u->row_count, pairs = 0;
    const int *start = u->structure->neighbour_start;
    for (int row = 0; row < u->row_count; row++) {
        int element = element_at(u, u->rows[row]);
        pairs += (size_t)(start[element + 1] - start[element]);
    }
    u->pair_start = SN_NEW(int, rows + 1);
    u->pair_row = SN_NEW(int, pairs);
    u->pair_turn = SN_NEW(double, 3 * pairs);
    u->pair_trust = SN_NEW(double, pairs);
    u->growth = SN_NEW(sn_mat3, rows);
    u->w = SN_NEW(double, 3 * rows);
    u->right = SN_NEW(double, 3 * rows);
    return u->pair_start && u->pair_row && u->pair_turn && u->pair_trust && u->growth && u->w &&
           u->right;
}

typedef struct logarithm_loop {
    const sn_mat3 *rotations;
    double *coordinates;
    atomic_bool large; /* one of the angles */
} logarithm_loop;

static void take_logarithms(void *context, sn_span span) {
    logarithm_loop *loop = context;
    SN_IN_SPAN(size_t, k, span) {
        sn_vec3 w = sn_rotation_log(loop->rotations[k]);
        double *c = loop->coordinates + SN_RS_SIZE * k;
        sn_put(c + SN_RS_W, 0, w);
        sn_put(c + SN_RS_Q, 0, sn_v3(0, 0, 0));
        if (sn_length(w) > SAFE_ANGLE) atomic_store(&loop->large, true);
    }
}

sinew_status sn_rotation_unwrap(const sn_rotation_strain *structure, int count, const int *active,
                                const sn_mat3 *rotations, double *coordinates, sinew_error *error) {
    logarithm_loop logarithms = {rotations, coordinates, false};
    sn_parallel_for(count, 128, take_logarithms, &logarithms);
    if (!atomic_load(&logarithms.large) || structure->shortest) return SINEW_OK;
    unwrapping u = {.structure = structure,
                    .count = count,
                    .active = active,
                    .rotations = rotations,
                    .coordinates = coordinates};
    u.row_of = SN_NEW(int, count);
    u.rows = SN_NEW(int, count);
    u.pieces = SN_NEW(piece, count);
    u.kept = SN_NEW(piece, count);
    if (active) u.place = SN_NEW(int, structure->item_count);
    sinew_status status = SINEW_OK;
    if (!u.row_of || !u.rows || !u.pieces || !u.kept || (active && !u.place)) {
        status = sn_no_memory(error);
    } else {
        if (active) {
            for (int e = 0; e < structure->item_count; e++) u.place[e] = -1;
            for (int k = 0; k < count; k++) u.place[active[k]] = k;
        }
        status = find_pieces(&u, error);
        if (status == SINEW_OK && u.row_count > 0)
            status = reserve_rows(&u) ? solve(&u, coordinates, error) : sn_no_memory(error);
    }
    sn_free(u.row_of), sn_free(u.rows), sn_free(u.pieces), sn_free(u.kept), sn_free(u.place);
    sn_free(u.pair_start), sn_free(u.pair_row), sn_free(u.pair_turn), sn_free(u.pair_trust);
    sn_free(u.growth), sn_free(u.w), sn_free(u.right);
    return status;
}
