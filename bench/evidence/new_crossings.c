/* Pairs of triangles that intersect in frames and not in the neutral, by the pieces that they
 * belong to: eyeballs that come out of the lids count as skin with eyes.
 *
 * Where the neutral intersects itself, as eyeballs in their sockets do, the curve of intersection
 * moves with the surfaces, and other pairs intersect than in the neutral. Pairs are therefore
 * counted away from the neutral's intersections: no corner belongs to a triangle that intersects in
 * the neutral, or touches the skin there.
 *
 * Usage: new_crossings [--sum] FRAMES PLAIN RIG... PLAIN: the same frames without the layer. Prints
 * one line: frames, pairs of the neutral, then for skin with skin, skin with eyes, skin with
 * anything else, and the rest, each in its worst frame: pairs that the layer adds, that is, pairs
 * away from the neutral's which do not intersect in the same frame without the layer; pairs away
 * from the neutral's, and in brackets those of the frames without the layer. Last, vertices of the
 * outer skin that are behind the surface of an eyeball and not in the neutral, in the same way:
 * these are found next to the neutral's intersections, too. Exits with 1 when the layer adds a
 * pair.
 *
 * --sum: sums over the frames instead of the worst frame, and instead of the pairs that the layer
 * adds the number of frames in which more pairs intersect with it than without. Exits with 1 when
 * there is such a frame. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/sinew.h"

enum { SKIN_SKIN, SKIN_EYE, SKIN_MOUTH, OTHERS, KINDS };

static sinew_error error;

static void need(sinew_status status) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s: %s\n", sinew_status_name(status), error.message);
    exit(1);
}

static int compare(const void *a, const void *b) {
    const int *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* What is nearer to the skin than this fraction of the diagonal touches it: rims of shells lie on
 * the lid, and rounding decides whether they intersect it. */
#define TOUCHING 2e-5

/* per vertex: it belongs to a triangle that intersects in the neutral, or touches the skin there */
static bool *mark_rest(const sinew_mesh *mesh, const sinew_anatomy *anatomy, const int *rest,
                       int count) {
    const int *piece = sinew_anatomy_pieces(anatomy);
    bool *marked = calloc((size_t)mesh->vertex_count, 1);
    for (int i = 0; i < 2 * count; i++)
        for (int c = 0; c < 3; c++) marked[mesh->triangles[3 * (size_t)rest[i] + (size_t)c]] = true;
    int *skin = malloc(3 * (size_t)mesh->triangle_count * sizeof *skin), skins = 0;
    for (int t = 0; t < mesh->triangle_count; t++)
        if (sinew_anatomy_piece_kind(anatomy, piece[mesh->triangles[3 * t]]) ==
            SINEW_PIECE_KIND_SKIN)
            memcpy(skin + 3 * (size_t)skins++, mesh->triangles + 3 * (size_t)t, 3 * sizeof *skin);
    sinew_query *query;
    sinew_closest at;
    double most = TOUCHING * sinew_diagonal(mesh->vertex_count, mesh->positions);
    need(sinew_query_create(mesh->vertex_count, mesh->positions, skins, skin, &query, &error));
    for (int v = 0; v < mesh->vertex_count; v++)
        if (sinew_anatomy_piece_kind(anatomy, piece[v]) != SINEW_PIECE_KIND_SKIN &&
            sinew_query_closest(query, mesh->positions + 3 * (size_t)v, most, &at))
            marked[v] = true;
    sinew_query_destroy(query);
    free(skin);
    return marked;
}

static bool is_away(const sinew_mesh *mesh, const bool *marked, const int pair[2]) {
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < 3; c++)
            if (marked[mesh->triangles[3 * (size_t)pair[i] + (size_t)c]]) return false;
    return true;
}

static int kind_of(const sinew_anatomy *anatomy, const sinew_mesh *mesh, const int pair[2]) {
    const int *piece = sinew_anatomy_pieces(anatomy);
    const bool *skin = sinew_anatomy_skin(anatomy);
    sinew_piece_kind kind[2];
    bool outer[2];
    for (int i = 0; i < 2; i++) {
        const int *v = mesh->triangles + 3 * (size_t)pair[i];
        kind[i] = sinew_anatomy_piece_kind(anatomy, piece[v[0]]);
        outer[i] = skin[v[0]] && skin[v[1]] && skin[v[2]];
    }
    for (int i = 0; i < 2; i++) {
        if (!outer[i]) continue;
        if (outer[1 - i]) return SKIN_SKIN;
        return kind[1 - i] == SINEW_PIECE_KIND_EYE ? SKIN_EYE : SKIN_MOUTH;
    }
    return OTHERS;
}

/* Pairs that intersect in frame f and not in the neutral. */
typedef struct counts {
    int away[KINDS], added[KINDS]; /* away from the neutral's; of them, not in `plain` */
} counts;

typedef struct scene {
    sinew_rig *rig;
    sinew_anatomy *anatomy;
    int *rest, rest_count;
    bool *marked;
    double *x;
    int *eyes, eye_count;             /* triangles of the eyeballs */
    bool *behind[2], *behind_neutral; /* per vertex: outer skin behind an eyeball */
} scene;

/* Fraction of the diagonal within which skin lies on an eyeball. */
#define NEAR_EYE 0.02
/* Length of the mean normal of a piece, from 0 for a closed surface to 1 for a plane; 0.5 for half
 * an eyeball. What is flatter is a shell in front of it, below or above the edge of a lid. */
#define FLAT 0.7

/* The normal times twice the area. */
static double normal_of(const double *x, const int *t, double n[3]) {
    double e[2][3];
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 2; i++)
            e[i][c] = x[3 * (size_t)t[i + 1] + (size_t)c] - x[3 * (size_t)t[0] + (size_t)c];
    for (int c = 0; c < 3; c++) {
        int d = (c + 1) % 3, f = (c + 2) % 3;
        n[c] = e[0][d] * e[1][f] - e[0][f] * e[1][d];
    }
    return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

/* Skin whose nearest point of the eyeballs lies in front of it, and not beyond a border. */
static void find_behind(const scene *s, const double *x, bool *behind) {
    const sinew_mesh *mesh = s->rig->neutral;
    double diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    const bool *skin = sinew_anatomy_skin(s->anatomy);
    sinew_query *query;
    need(sinew_query_create(mesh->vertex_count, x, s->eye_count, s->eyes, &query, &error));
    for (int v = 0; v < mesh->vertex_count; v++) {
        sinew_closest at;
        const double *p = x + 3 * (size_t)v;
        behind[v] = false;
        if (!skin[v] || !sinew_query_closest(query, p, NEAR_EYE * diagonal, &at)) continue;
        double n[3], height = 0, length = normal_of(x, s->eyes + 3 * (size_t)at.triangle, n);
        for (int c = 0; c < 3; c++) height += n[c] * (p[c] - at.point[c]) / length;
        behind[v] = height < -TOUCHING * diagonal && height < -0.7 * at.distance;
    }
    sinew_query_destroy(query);
}

/* Pieces that a blink moves lie on the lids, as lashes do: they are no eyeballs. */
static void find_lashes(const scene *s, bool *lashes) {
    const int *piece = sinew_anatomy_pieces(s->anatomy);
    for (int k = 0; k < s->rig->target_count; k++) {
        const sinew_target *t = &s->rig->targets[k];
        for (int i = 0; strcasestr(t->name, "blink") && i < t->count; i++)
            lashes[piece[t->vertices[i]]] = true;
    }
}

static void find_eyes(scene *s) {
    const sinew_mesh *mesh = s->rig->neutral;
    const int *piece = sinew_anatomy_pieces(s->anatomy);
    int pieces = sinew_anatomy_piece_count(s->anatomy);
    double *sums = calloc(4 * (size_t)pieces, sizeof *sums);
    bool *lashes = calloc((size_t)pieces, sizeof *lashes);
    find_lashes(s, lashes);
    s->eyes = malloc(3 * (size_t)mesh->triangle_count * sizeof *s->eyes), s->eye_count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < mesh->triangle_count; t++) {
            const int *corners = mesh->triangles + 3 * (size_t)t;
            double n[3], *sum = sums + 4 * (size_t)piece[corners[0]];
            if (sinew_anatomy_piece_kind(s->anatomy, piece[corners[0]]) != SINEW_PIECE_KIND_EYE ||
                lashes[piece[corners[0]]])
                continue;
            if (pass == 0) {
                sum[3] += normal_of(mesh->positions, corners, n);
                for (int c = 0; c < 3; c++) sum[c] += n[c];
            } else if (hypot(hypot(sum[0], sum[1]), sum[2]) < FLAT * sum[3])
                memcpy(s->eyes + 3 * (size_t)s->eye_count++, corners, 3 * sizeof *s->eyes);
        }
    free(sums), free(lashes);
    for (int i = 0; i < 2; i++) s->behind[i] = calloc((size_t)mesh->vertex_count, 1);
    s->behind_neutral = calloc((size_t)mesh->vertex_count, 1);
    find_behind(s, mesh->positions, s->behind_neutral);
}

/* Vertices behind an eyeball with the layer; those that are not without it; those without it. */
static void count_behind(const scene *s, int *with, int *added, int *without) {
    *with = *added = *without = 0;
    for (int v = 0; v < s->rig->neutral->vertex_count; v++) {
        if (s->behind_neutral[v]) continue;
        *with += s->behind[0][v], *without += s->behind[1][v];
        *added += s->behind[0][v] && !s->behind[1][v];
    }
}

static bool holds(const int *pairs, int count, const int pair[2]) {
    return count && bsearch(pair, pairs, (size_t)count, 2 * sizeof *pair, compare);
}

static void intersect(const scene *s, const sinew_frames *frames, int f, int **pairs, int *found) {
    const sinew_mesh *mesh = s->rig->neutral;
    size_t n = 3 * (size_t)mesh->vertex_count;
    for (size_t i = 0; i < n; i++) s->x[i] = (double)frames->positions[n * (size_t)f + i];
    need(sinew_self_intersections(mesh->vertex_count, s->x, mesh->triangle_count, mesh->triangles,
                                  NULL, pairs, found, &error));
}

static counts count_pairs(const scene *s, const int *pairs, int found, const int *plain,
                          int plain_count) {
    counts c = {{0}, {0}};
    for (int i = 0; i < found; i++) {
        const int *pair = pairs + 2 * (size_t)i;
        if (holds(s->rest, s->rest_count, pair) || !is_away(s->rig->neutral, s->marked, pair))
            continue;
        int kind = kind_of(s->anatomy, s->rig->neutral, pair);
        c.away[kind]++, c.added[kind] += !holds(plain, plain_count, pair);
    }
    return c;
}

static void keep_worst(int worst[KINDS], const int here[KINDS]) {
    for (int k = 0; k < KINDS; k++) worst[k] = here[k] > worst[k] ? here[k] : worst[k];
}

static void add_frame(int sums[KINDS], int worse[KINDS], const int with[KINDS],
                      const int without[KINDS]) {
    for (int k = 0; k < KINDS; k++) sums[k] += with[k], worse[k] += with[k] > without[k];
}

int main(int count, char **words) {
    bool sum = count > 1 && strcmp(words[1], "--sum") == 0;
    count -= sum, words += sum;
    if (count < 4) return fprintf(stderr, "usage: new_crossings [--sum] FRAMES PLAIN RIG...\n"), 2;
    scene s;
    sinew_frames *frames, *plain;
    need(sinew_rig_read(count - 3, (const char *const *)words + 3, &s.rig, &error));
    need(sinew_frames_read(words[1], &frames, &error));
    need(sinew_frames_read(words[2], &plain, &error));
    need(sinew_anatomy_create(s.rig, NULL, &s.anatomy, &error));
    const sinew_mesh *mesh = s.rig->neutral;
    need(sinew_frames_match(frames, mesh, &error));
    need(sinew_frames_match(plain, mesh, &error));
    need(sinew_self_intersections(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                  mesh->triangles, NULL, &s.rest, &s.rest_count, &error));
    s.marked = mark_rest(mesh, s.anatomy, s.rest, s.rest_count);
    s.x = malloc(3 * (size_t)mesh->vertex_count * sizeof *s.x);
    find_eyes(&s);
    int added[KINDS] = {0}, away[KINDS] = {0}, bare[KINDS] = {0}, any = 0;
    int behind = 0, behind_added = 0, behind_bare = 0;
    for (int f = 0; f < frames->frame_count && f < plain->frame_count; f++) {
        int *pairs[2], found[2];
        intersect(&s, frames, f, &pairs[0], &found[0]);
        find_behind(&s, s.x, s.behind[0]);
        intersect(&s, plain, f, &pairs[1], &found[1]);
        find_behind(&s, s.x, s.behind[1]);
        int b[3];
        count_behind(&s, &b[0], &b[1], &b[2]);
        counts with = count_pairs(&s, pairs[0], found[0], pairs[1], found[1]);
        counts without = count_pairs(&s, pairs[1], found[1], NULL, 0);
        if (sum) {
            add_frame(away, added, with.away, without.away);
            for (int k = 0; k < KINDS; k++) bare[k] += without.away[k];
            behind += b[0], behind_added += b[0] > b[2], behind_bare += b[2];
        } else {
            behind = b[0] > behind ? b[0] : behind;
            behind_added = b[1] > behind_added ? b[1] : behind_added;
            behind_bare = b[2] > behind_bare ? b[2] : behind_bare;
            keep_worst(added, with.added), keep_worst(away, with.away);
            keep_worst(bare, without.away);
        }
        sinew_free(pairs[0]), sinew_free(pairs[1]);
    }
    printf("| %d | %d |", frames->frame_count, s.rest_count);
    for (int k = 0; k < KINDS; k++) {
        printf(" %d; %d (%d) |", added[k], away[k], bare[k]);
        any += added[k];
    }
    printf(" %d; %d (%d) |\n", behind_added, behind, behind_bare);
    free(s.marked), free(s.x);
    free(s.eyes), free(s.behind[0]), free(s.behind[1]), free(s.behind_neutral);
    sinew_free(s.rest);
    sinew_anatomy_destroy(s.anatomy);
    sinew_frames_destroy(frames), sinew_frames_destroy(plain);
    sinew_rig_destroy(s.rig);
    return any > 0;
}
