/* With s_iv = |d_i(v)|^2 and b_iv = 1 where target i moves vertex v:
 *
 *   cosine(i, j) = (T^T T)_ij / sqrt(N_ij N_ji),   N = s b^T: |d_i|^2 over the vertices of j
 *   disturbance(i, j)^2 = sum_v s_iv s_jv / sum_v s_iv^2
 *
 * both as dense products over blocks of vertices and the targets that touch them. */
#include "sinew/interference.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "rig/slider_space.h"

enum { BLOCK = 512 };

static double square_of(const double *d) {
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

typedef struct sums {
    double *dot, *squares, *within; /* target_count squared: d_i.d_j, s_i s_j, N */
    double *visible;                /* per target: smallest |d|^2 that counts */
    double *rows[3], *squared, *seen, *product;
    int *columns, *place;
} sums;

static void free_sums(sums *s) {
    sn_free(s->dot);
    sn_free(s->squares);
    sn_free(s->within);
    sn_free(s->visible);
    for (int c = 0; c < 3; c++) sn_free(s->rows[c]);
    sn_free(s->squared);
    sn_free(s->seen);
    sn_free(s->product);
    sn_free(s->columns);
    sn_free(s->place);
}

static bool create_sums(const sinew_rig *rig, sums *s) {
    size_t m = (size_t)rig->target_count;
    *s = (sums){0};
    s->dot = SN_NEW0(double, m *m);
    s->squares = SN_NEW0(double, m *m);
    s->within = SN_NEW0(double, m *m);
    s->visible = SN_NEW0(double, m);
    bool all = s->dot && s->squares && s->within && s->visible;
    for (int c = 0; c < 3; c++) {
        s->rows[c] = SN_NEW(double, m *BLOCK);
        all = all && s->rows[c];
    }
    s->squared = SN_NEW(double, m *BLOCK);
    s->seen = SN_NEW(double, m *BLOCK);
    s->product = SN_NEW(double, m *m);
    s->columns = SN_NEW(int, m);
    s->place = SN_NEW(int, m);
    if (!all || !s->squared || !s->seen || !s->product || !s->columns || !s->place) return false;
    for (int k = 0; k < rig->target_count; k++) {
        double largest = 0;
        for (int i = 0; i < rig->targets[k].count; i++)
            largest = fmax(largest, square_of(rig->targets[k].deltas + 3 * (size_t)i));
        s->visible[k] = SINEW_INTERFERENCE_VISIBLE * SINEW_INTERFERENCE_VISIBLE * largest;
    }
    return true;
}

static int targets_of(const sinew_slider_space *space, int count, const int *vertices, sums *s) {
    int m = space->rig->target_count, columns = 0;
    for (int k = 0; k < m; k++) s->place[k] = -1;
    for (int i = 0; i < count; i++)
        for (int e = space->start[vertices[i]]; e < space->start[vertices[i] + 1]; e++)
            s->place[space->target[e]] = 0;
    for (int k = 0; k < m; k++)
        if (s->place[k] == 0) {
            s->place[k] = columns;
            s->columns[columns++] = k;
        }
    return columns;
}

static void scatter(const sums *s, int columns, size_t m, double *matrix) {
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < columns; i++)
            matrix[(size_t)s->columns[j] * m + (size_t)s->columns[i]] +=
                s->product[(size_t)j * (size_t)columns + (size_t)i];
}

static void add_block(const sinew_slider_space *space, int count, const int *vertices, sums *s) {
    size_t m = (size_t)space->rig->target_count;
    int columns = targets_of(space, count, vertices, s);
    if (columns == 0) return;
    size_t size = (size_t)count * (size_t)columns;
    for (int c = 0; c < 3; c++) memset(s->rows[c], 0, sizeof(double) * size);
    memset(s->squared, 0, sizeof(double) * size);
    memset(s->seen, 0, sizeof(double) * size);
    for (int i = 0; i < count; i++)
        for (int e = space->start[vertices[i]]; e < space->start[vertices[i] + 1]; e++) {
            int k = space->target[e];
            const double *d = space->delta + 3 * (size_t)e;
            size_t at = (size_t)s->place[k] * (size_t)count + (size_t)i;
            if (!(square_of(d) > s->visible[k])) continue;
            for (int c = 0; c < 3; c++) s->rows[c][at] = d[c];
            s->squared[at] = square_of(d);
            s->seen[at] = 1;
        }
    for (int c = 0; c < 3; c++) {
        sn_dense_gram(count, columns, 1, s->rows[c], 0, s->product);
        scatter(s, columns, m, s->dot);
    }
    sn_dense_gram(count, columns, 1, s->squared, 0, s->product);
    scatter(s, columns, m, s->squares);
    /* column-major: entry (i, j) = sum_v seen_jv s_iv is N_ij, stored at [j * m + i] */
    sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, columns, columns, count, 1, s->squared, s->seen, 0,
                      s->product);
    scatter(s, columns, m, s->within);
}

static void finish(const sums *s, sinew_interference *made) {
    size_t m = (size_t)made->target_count;
    for (size_t i = 0; i < m; i++) {
        double sum = s->within[i * m + i];
        made->motion[i] = sum > 0 ? sqrt(s->squares[i * m + i] / sum) : 0;
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            double share = s->within[j * m + i] * s->within[i * m + j];
            double own = s->squares[i * m + i];
            double cosine = share > 0 ? s->dot[j * m + i] / sqrt(share) : 0;
            made->cosine[i * m + j] = i == j ? 1 : fmax(-1, fmin(1, cosine));
            made->disturbance[i * m + j] = i == j    ? 1
                                           : own > 0 ? sqrt(s->squares[j * m + i] / own)
                                                     : 0;
        }
}

sinew_status sinew_interference_create(const sinew_slider_space *space, int count,
                                       const int *vertices, sinew_interference **interference,
                                       sinew_error *error) {
    SN_REQUIRE(space && interference, error);
    SN_REQUIRE(count >= 0, error);
    *interference = NULL;
    int n = space->rig->neutral->vertex_count;
    for (int i = 0; vertices && i < count; i++)
        if (vertices[i] < 0 || vertices[i] >= n)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "interference: vertex %d is out of range, the mesh has %d", vertices[i],
                           n);
    size_t m = (size_t)space->rig->target_count;
    sinew_interference *made = SN_NEW0(sinew_interference, 1);
    if (!made) return sn_no_memory(error);
    made->target_count = space->rig->target_count;
    made->cosine = SN_NEW0(double, m *m);
    made->disturbance = SN_NEW0(double, m *m);
    made->motion = SN_NEW0(double, m + 1);
    int *block = SN_NEW(int, BLOCK);
    sums s = {0};
    if (!made->cosine || !made->disturbance || !made->motion || !block ||
        !create_sums(space->rig, &s)) {
        free_sums(&s);
        sn_free(block);
        sinew_interference_destroy(made);
        return sn_no_memory(error);
    }
    int total = vertices ? count : n;
    for (int first = 0; first < total; first += BLOCK) {
        int size = total - first < BLOCK ? total - first : BLOCK;
        for (int i = 0; i < size; i++) block[i] = vertices ? vertices[first + i] : first + i;
        add_block(space, size, block, &s);
    }
    finish(&s, made);
    free_sums(&s);
    sn_free(block);
    *interference = made;
    return SINEW_OK;
}

void sinew_interference_destroy(sinew_interference *interference) {
    if (!interference) return;
    sn_free(interference->cosine);
    sn_free(interference->disturbance);
    sn_free(interference->motion);
    sn_free(interference);
}

/* --- worst pairs ------------------------------------------------------------------------------
 */

static bool is_driven_by(const sinew_target *target, int slider) {
    for (int i = 0; i < target->driver_count; i++)
        if (target->drivers[i] == slider) return true;
    return false;
}

/* Sides of one slider, shapes along one slider, a corrective and its driver: meant to meet. */
static bool is_declared_pair(const sinew_rig *rig, int i, int j) {
    const sinew_target *x = &rig->targets[i], *y = &rig->targets[j];
    int a = x->slider, b = y->slider;
    if (a >= 0 && b >= 0) return a == b || rig->sliders[a].mirror == b;
    return is_driven_by(x, b) || is_driven_by(y, a);
}

/* The target of the other side, or the target itself. */
static int mirror_of(const sinew_rig *rig, int k) {
    const sinew_target *target = &rig->targets[k];
    int other = target->slider >= 0 ? rig->sliders[target->slider].mirror : -1;
    for (int i = 0; other >= 0 && i < rig->target_count; i++)
        if (rig->targets[i].slider == other && rig->targets[i].at == target->at) return i;
    return k;
}

/* The same pair on the other side of the face, about as bad, represents both. */
static bool is_told_by_mirror(const sinew_rig *rig, const sinew_interference *found, int i, int j) {
    size_t m = (size_t)found->target_count;
    int a = mirror_of(rig, i), b = mirror_of(rig, j);
    if (a == i && b == j) return false;
    double here = found->disturbance[(size_t)i * m + (size_t)j];
    double there = found->disturbance[(size_t)a * m + (size_t)b];
    bool alike = fabs(here - there) <= SINEW_INTERFERENCE_ALIKE * fmax(here, there);
    return alike && (a < i || (a == i && b < j));
}

/* The vertex where both move most, from the two sorted lists of vertices. */
static int meeting_vertex(const sinew_target *a, const sinew_target *b) {
    int best = -1;
    double most = 0;
    for (int i = 0, j = 0; i < a->count && j < b->count;) {
        if (a->vertices[i] == b->vertices[j]) {
            double both =
                square_of(a->deltas + 3 * (size_t)i) * square_of(b->deltas + 3 * (size_t)j);
            if (both > most) {
                most = both;
                best = a->vertices[i];
            }
        }
        if (a->vertices[i] <= b->vertices[j])
            i++;
        else
            j++;
    }
    return best;
}

static int smallest_region(const sinew_rig *rig, int vertex) {
    int best = -1;
    for (int r = 0; r < rig->region_count; r++)
        for (int i = 0; i < rig->regions[r].count; i++)
            if (rig->regions[r].vertices[i] == vertex &&
                (best < 0 || rig->regions[r].count < rig->regions[best].count))
                best = r;
    return best;
}

/* Half of what the targets that move anything typically move; the order of few numbers is found by
 * counting. */
static double typical_motion(const sinew_interference *found) {
    int m = found->target_count, moving = 0;
    for (int i = 0; i < m; i++) moving += found->motion[i] > 0;
    for (int i = 0; i < m; i++) {
        int below = 0, same = 0;
        for (int j = 0; j < m; j++) {
            below += found->motion[j] > 0 && found->motion[j] < found->motion[i];
            same += found->motion[j] == found->motion[i];
        }
        if (found->motion[i] > 0 && below <= moving / 2 && moving / 2 < below + same)
            return 0.5 * found->motion[i];
    }
    return 0;
}

int sinew_interference_worst(const sinew_slider_space *space,
                             const sinew_interference *interference, int limit,
                             sinew_interference_pair *pairs) {
    if (!space || !interference || !pairs || limit <= 0) return 0;
    const sinew_rig *rig = space->rig;
    size_t m = (size_t)interference->target_count;
    int count = 0;
    double typical = typical_motion(interference);
    /* Kept sorted by insertion: the list is short. */
    for (int i = 0; i < (int)m; i++)
        for (int j = 0; j < (int)m; j++) {
            double d = interference->disturbance[(size_t)i * m + (size_t)j];
            if (i == j || !(d > 0) || is_declared_pair(rig, i, j)) continue;
            double rank = d * fmin(1, typical > 0 ? interference->motion[i] / typical : 1);
            if (count == limit && rank <= pairs[limit - 1].rank) continue;
            if (is_told_by_mirror(rig, interference, i, j)) continue;
            int at = count < limit ? count++ : limit - 1;
            for (; at > 0 && pairs[at - 1].rank < rank; at--) pairs[at] = pairs[at - 1];
            pairs[at] = (sinew_interference_pair){
                .disturbed = i, .disturber = j, .disturbance = d, .rank = rank};
        }
    for (int p = 0; p < count; p++) {
        size_t i = (size_t)pairs[p].disturbed, j = (size_t)pairs[p].disturber;
        pairs[p].reverse = interference->disturbance[j * m + i];
        pairs[p].cosine = interference->cosine[i * m + j];
        pairs[p].vertex = meeting_vertex(&rig->targets[i], &rig->targets[j]);
        pairs[p].region = pairs[p].vertex < 0 ? -1 : smallest_region(rig, pairs[p].vertex);
    }
    return count;
}

static double largest_motion(const sinew_target *target) {
    double largest = 0;
    for (int i = 0; i < target->count; i++)
        largest = fmax(largest, square_of(target->deltas + 3 * (size_t)i));
    return sqrt(largest);
}

void sinew_interference_heat(const sinew_slider_space *space, int disturbed, int disturber,
                             double *heat) {
    if (!space || !heat) return;
    const sinew_rig *rig = space->rig;
    memset(heat, 0, sizeof(double) * (size_t)rig->neutral->vertex_count);
    if (disturbed < 0 || disturbed >= rig->target_count || disturber < 0 ||
        disturber >= rig->target_count)
        return;
    const sinew_target *by = &rig->targets[disturber], *of = &rig->targets[disturbed];
    double largest = largest_motion(of);
    if (largest == 0) return;
    for (int i = 0; i < by->count; i++)
        heat[by->vertices[i]] = sqrt(square_of(by->deltas + 3 * (size_t)i));
    for (int v = 0, i = 0; v < rig->neutral->vertex_count; v++) {
        while (i < of->count && of->vertices[i] < v) i++;
        bool moved = i < of->count && of->vertices[i] == v;
        heat[v] *= moved ? sqrt(square_of(of->deltas + 3 * (size_t)i)) / largest : 0;
    }
}

/* --- advice -----------------------------------------------------------------------------------
 */

sinew_status sinew_interference_advise(const sinew_slider_space *space, int disturbed,
                                       int disturber, const sinew_lock_options *options,
                                       sinew_interference_advice *info, int *vertices,
                                       sinew_error *error) {
    SN_REQUIRE(space && info && sn_info_ready(info), error);
    const sinew_rig *rig = space->rig;
    SN_REQUIRE(disturbed >= 0 && disturbed < rig->target_count, error);
    SN_REQUIRE(disturber >= 0 && disturber < rig->target_count, error);
    const sinew_target *of = &rig->targets[disturbed];
    int slider = rig->targets[disturber].slider;
    if (slider < 0)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "\"%s\" is a combination without a slider of its own",
                       rig->targets[disturber].name);
    sinew_interference_advice advice = {.reduction = 1, .kept = 1};
    int *core = SN_NEW(int, of->count);
    double *weights = SN_NEW(double, 3 * (size_t)rig->slider_count);
    sinew_locks *locks = NULL;
    sinew_status status = core && weights ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sinew_locks_create(space, options, &locks, error);
    if (status == SINEW_OK) {
        double least = SINEW_INTERFERENCE_CORE * largest_motion(of);
        for (int i = 0; i < of->count; i++)
            if (least > 0 && sqrt(square_of(of->deltas + 3 * (size_t)i)) >= least)
                core[advice.vertex_count++] = of->vertices[i];
        if (vertices) memcpy(vertices, core, sizeof(int) * (size_t)advice.vertex_count);
    }
    if (status == SINEW_OK && advice.vertex_count > 0) {
        double *from = weights, *asked = weights + rig->slider_count;
        double *given = asked + rig->slider_count;
        sinew_rig_rest_weights(rig, from);
        memcpy(asked, from, sizeof(double) * (size_t)rig->slider_count);
        asked[slider] = rig->targets[disturber].at;
        sinew_lock_info lock = {.size = sizeof lock};
        status = sinew_locks_add(locks, "core", advice.vertex_count, core, SINEW_AXIS_ALL, NULL,
                                 from, error);
        if (status == SINEW_OK) status = sinew_locks_apply(locks, from, asked, given, &lock, error);
        if (status == SINEW_NOT_CONVERGED) status = SINEW_OK;
        if (status == SINEW_OK) {
            advice.reduction = lock.reduction;
            advice.kept = lock.kept;
            advice.helps = lock.reduction >= 2 && lock.kept >= 0.5;
        }
    }
    sn_free(core);
    sn_free(weights);
    sinew_locks_destroy(locks);
    if (status == SINEW_OK) sn_info_write(info, &advice, sizeof advice);
    return status;
}
