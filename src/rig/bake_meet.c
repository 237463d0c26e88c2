/* Where surfaces meet, for models with self-contact.
 *
 * Contact changes a shape only where the blend would intersect itself: lids that close while the
 * eye squints, lips that press and roll. Such poses are a small part of all, so samples must be
 * placed there; and they take the model most of its time, so no others should be. Intersections of
 * the linear blend show them without asking the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "mesh/embedded.h"
#include "mesh/intersection.h"
#include "rig/baker.h"
#include "sinew/query.h"

#define FINEST_ONSET (1.0 / 64)
#define NOTICEABLE   1e-3 /* of the diagonal */
#define NEARBY       0.01 /* of the diagonal: sliders whose vertices stay farther apart do not meet */

static int by_key(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t key_of(const sn_baker *b, const int pair[2]) {
    return (int64_t)pair[0] * b->triangle_count + pair[1];
}

static bool is_marked(const sn_baker *b, const bool *marks, int triangle) {
    const int *v = b->triangles + 3 * (size_t)triangle;
    return marks[v[0]] || marks[v[1]] || marks[v[2]];
}

/* Pairs of triangles that intersect and are not known to; release with sinew_free. */
static sinew_status find_intersections(sn_baker *b, const double *positions, int **pairs,
                                       int *count) {
    const sinew_mesh *mesh = b->rig->neutral;
    int all, left = 0;
    if (sn_cancelled(b->monitor)) return sn_fail(b->error, SINEW_CANCELLED, "cancelled");
    SN_TRY(sinew_self_intersections(mesh->vertex_count, positions, b->triangle_count, b->triangles,
                                    b->monitor, pairs, &all, b->error));
    for (int i = 0; i < all; i++) {
        const int *pair = *pairs + 2 * (size_t)i;
        int64_t key = key_of(b, pair);
        if (b->watched && !(is_marked(b, b->watched, pair[0]) && is_marked(b, b->watched, pair[1])))
            continue;
        if (b->known_count > 0 && bsearch(&key, b->known, b->known_count, sizeof *b->known, by_key))
            continue;
        memmove(*pairs + 2 * (size_t)left++, pair, 2 * sizeof *pair);
    }
    *count = left;
    return SINEW_OK;
}

static sinew_status blend_intersections(sn_baker *b, const double *weights, int **pairs,
                                        int *count) {
    sinew_linear_evaluate(b->linear, weights, b->blend);
    return find_intersections(b, b->blend, pairs, count);
}

/* What intersects in the blend becomes known. marks: its vertices, or NULL. */
static sinew_status add_known(sn_baker *b, const double *weights, size_t *capacity, bool *marks) {
    int *pairs = NULL, count = 0;
    size_t before = b->known_count;
    b->known_count = 0; /* what an earlier slider makes intersect is marked as well */
    sinew_status status = blend_intersections(b, weights, &pairs, &count);
    b->known_count = before;
    if (status == SINEW_OK && !SN_RESERVE(b->known, *capacity, before + (size_t)count))
        status = sn_no_memory(b->error);
    for (int i = 0; status == SINEW_OK && i < count; i++)
        b->known[b->known_count++] = key_of(b, pairs + 2 * (size_t)i);
    for (size_t i = 0; status == SINEW_OK && marks && i < 6 * (size_t)count; i++)
        marks[b->triangles[3 * (size_t)pairs[i / 3] + i % 3]] = true;
    sinew_free(pairs);
    if (b->known_count > 0) qsort(b->known, b->known_count, sizeof *b->known, by_key);
    return status;
}

static void keep_triangles(sn_baker *b, int count, const int *triangles, const bool *out) {
    b->triangle_count = 0;
    for (int t = 0; t < count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        if (!out[v[0]] && !out[v[1]] && !out[v[2]])
            memmove(b->triangles + 3 * (size_t)b->triangle_count++, v, 3 * sizeof *v);
    }
}

/* The triangles that models keep apart: what intersects in the neutral has no side to keep to, and
 * goes on intersecting wherever it is moved. */
static sinew_status choose_triangles(sn_baker *b) {
    const sinew_mesh *mesh = b->rig->neutral;
    int n = mesh->vertex_count;
    bool *out = SN_NEW0(bool, n + 1), *crosses = SN_NEW0(bool, n + 1);
    bool *crossing = SN_NEW0(bool, mesh->triangle_count + 1);
    b->triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count + 1);
    sinew_status status =
        out && crosses && crossing && b->triangles
            ? sn_embedded_pieces(n, mesh->positions, mesh->triangle_count, mesh->triangles,
                                 b->monitor, out, crosses, b->error)
            : sn_no_memory(b->error);
    if (status == SINEW_OK) {
        keep_triangles(b, mesh->triangle_count, mesh->triangles, out);
        memset(out, 0, (size_t)n * sizeof *out);
        status = sn_crossing_triangles(n, mesh->positions, b->triangle_count, b->triangles,
                                       crossing, b->error);
    }
    if (status == SINEW_OK)
        status =
            sn_find_tangled(n, b->triangle_count, b->triangles, crossing, out, crosses, b->error);
    if (status == SINEW_OK) keep_triangles(b, b->triangle_count, b->triangles, out);
    sn_free(out), sn_free(crosses), sn_free(crossing);
    return status;
}

/* From where on a slider intersects alone, if it does at full. row: rest weights, which it keeps.
 */
static sinew_status find_alone_onset(sn_baker *b, double *row, int slider, const bool *marks) {
    size_t known = b->known_count;
    int v = 0;
    b->alone_onset[slider] = 2;
    while (v < b->rig->neutral->vertex_count && !marks[v]) v++;
    if (v == b->rig->neutral->vertex_count) return SINEW_OK;
    b->known_count = 0; /* its own intersections count here */
    sinew_status status = sn_bake_onset(b, row, slider, 0, 1, &b->alone_onset[slider]);
    b->known_count = known;
    return status;
}

/* What intersects in the neutral, and in the sliders alone. */
static sinew_status find_known(sn_baker *b, double *row) {
    size_t capacity = 0, n = (size_t)b->rig->neutral->vertex_count;
    b->alone = SN_NEW0(bool, (size_t)b->rig->slider_count *n + 1);
    b->alone_onset = SN_NEW(double, b->rig->slider_count);
    if (!b->alone || !b->alone_onset) return sn_no_memory(b->error);
    SN_TRY(add_known(b, row, &capacity, NULL));
    b->rest_known_count = b->known_count;
    b->rest_known = sn_memdup(b->known, b->known_count, sizeof *b->known);
    if (b->known_count > 0 && !b->rest_known) return sn_no_memory(b->error);
    for (int s = 0; s < b->rig->slider_count; s++) {
        row[s] = sn_bake_weight(&b->rig->sliders[s], 1);
        sinew_status status = add_known(b, row, &capacity, b->alone + (size_t)s * n);
        row[s] = b->rig->sliders[s].rest;
        if (status == SINEW_OK) status = find_alone_onset(b, row, s, b->alone + (size_t)s * n);
        if (status != SINEW_OK) return status;
    }
    return SINEW_OK;
}

/* The pairs that intersect with both sliders at full. Where one of them alone makes lips cross, as
 * mouthClose does without the jaw, other triangles cross with any other slider; they do not count.
 */
static sinew_status find_meeting_pairs(sn_baker *b, int x, int y, double *row, int **pairs,
                                       int *count) {
    size_t n = (size_t)b->rig->neutral->vertex_count;
    const bool *own = b->alone + (size_t)x * n, *other = b->alone + (size_t)y * n;
    int kept = 0;
    row[x] = sn_bake_weight(&b->rig->sliders[x], 1);
    row[y] = sn_bake_weight(&b->rig->sliders[y], 1);
    sinew_status status = blend_intersections(b, row, pairs, count);
    row[x] = b->rig->sliders[x].rest, row[y] = b->rig->sliders[y].rest;
    for (int i = 0; status == SINEW_OK && i < *count; i++) {
        const int *pair = *pairs + 2 * (size_t)i;
        bool alone = false;
        for (int k = 0; k < 2; k++)
            alone |= is_marked(b, own, pair[k]) || is_marked(b, other, pair[k]);
        if (!alone) memmove(*pairs + 2 * (size_t)kept++, pair, 2 * sizeof *pair);
    }
    if (status == SINEW_OK) *count = kept;
    return status;
}

sinew_status sn_bake_mark(sn_baker *b, const sn_bake_meeting *meeting, double *row, bool *marks) {
    int *pairs = NULL, count = 0;
    SN_TRY(find_meeting_pairs(b, meeting->slider[0], meeting->slider[1], row, &pairs, &count));
    for (size_t i = 0; i < 6 * (size_t)count; i++)
        marks[b->triangles[3 * (size_t)pairs[i / 3] + i % 3]] = true;
    sinew_free(pairs);
    return SINEW_OK;
}

sinew_status sn_bake_crosses(sn_baker *b, const double *positions, bool *crosses) {
    int *pairs = NULL, count = 0;
    SN_TRY(find_intersections(b, positions, &pairs, &count));
    sinew_free(pairs);
    *crosses = count > 0;
    return SINEW_OK;
}

sinew_status sn_bake_count_new(sn_baker *b, const double *positions, const double *others,
                               int *count) {
    int64_t *known = b->known;
    size_t known_count = b->known_count;
    int *pairs = NULL, *other_pairs = NULL, all = 0, other = 0;
    b->known = b->rest_known, b->known_count = b->rest_known_count;
    sinew_status status = find_intersections(b, positions, &pairs, &all);
    if (status == SINEW_OK && all > 0) status = find_intersections(b, others, &other_pairs, &other);
    b->known = known, b->known_count = known_count;
    int64_t *keys = SN_NEW(int64_t, other + 1);
    if (status == SINEW_OK && !keys) status = sn_no_memory(b->error);
    if (status == SINEW_OK) {
        for (int i = 0; i < other; i++) keys[i] = key_of(b, other_pairs + 2 * (size_t)i);
        qsort(keys, (size_t)other, sizeof *keys, by_key);
        *count = 0;
        for (int i = 0; i < all; i++) {
            int64_t key = key_of(b, pairs + 2 * (size_t)i);
            *count += !bsearch(&key, keys, (size_t)other, sizeof *keys, by_key);
        }
    }
    sinew_free(pairs), sinew_free(other_pairs), sn_free(keys);
    return status;
}

sinew_status sn_bake_meets(sn_baker *b, const double *weights, bool *meets) {
    sinew_linear_evaluate(b->linear, weights, b->blend);
    return sn_bake_crosses(b, b->blend, meets);
}

/* Whether the slider moves what crosses by more than rounding, or than the traces that a capture
 * leaves all over a face. */
static bool takes_part(const sn_baker *b, const bool *crossed, int slider) {
    double least = NOTICEABLE * b->diagonal;
    for (int t = 0; t < b->rig->target_count; t++) {
        const sinew_target *target = &b->rig->targets[t];
        if (target->kind != SINEW_TARGET_KIND_PLAIN || target->slider != slider) continue;
        for (int i = 0; i < target->count; i++) {
            const double *d = target->deltas + 3 * (size_t)i;
            if (crossed[target->vertices[i]] &&
                d[0] * d[0] + d[1] * d[1] + d[2] * d[2] > least * least)
                return true;
        }
    }
    return false;
}

sinew_status sn_bake_touches(sn_baker *b, const double *weights, bool *touches) {
    int64_t *known = b->known;
    size_t count = b->known_count;
    b->known = b->rest_known, b->known_count = b->rest_known_count;
    sinew_status status = sn_bake_meets(b, weights, touches);
    b->known = known, b->known_count = count;
    return status;
}

sinew_status sn_bake_find_touching(sn_baker *b, double *row, bool *touching) {
    size_t n = (size_t)b->rig->neutral->vertex_count;
    bool *marks = SN_NEW0(bool, n + 1);
    sinew_status status = marks ? SINEW_OK : sn_no_memory(b->error);
    for (int i = 0; status == SINEW_OK && i < b->meeting_count; i++)
        status = sn_bake_mark(b, &b->meetings[i], row, marks);
    for (int s = 0; status == SINEW_OK && s < b->rig->slider_count; s++)
        for (size_t v = 0; b->alone_onset[s] <= 1 && v < n; v++)
            marks[v] |= b->alone[(size_t)s * n + v];
    for (int s = 0; status == SINEW_OK && s < b->rig->slider_count; s++)
        touching[s] = takes_part(b, marks, s);
    sn_free(marks);
    return status;
}

sinew_status sn_bake_onset(sn_baker *b, double *row, int slider, double low, double high,
                           double *onset) {
    const sinew_slider *moving = &b->rig->sliders[slider];
    sinew_status status = SINEW_OK;
    while (status == SINEW_OK && high - low > FINEST_ONSET) {
        double middle = (low + high) / 2;
        bool meets = false;
        row[slider] = sn_bake_weight(moving, middle);
        status = sn_bake_meets(b, row, &meets);
        if (meets)
            high = middle;
        else
            low = middle;
    }
    row[slider] = moving->rest;
    *onset = low;
    return status;
}

/* The box around the vertices that a slider moves, at rest and at full. */
typedef struct extent {
    double low[3], high[3];
} extent;

static void widen(extent *e, const double *point, const double *delta) {
    for (int c = 0; c < 3; c++) {
        e->low[c] = fmin(e->low[c], point[c] + fmin(delta[c], 0));
        e->high[c] = fmax(e->high[c], point[c] + fmax(delta[c], 0));
    }
}

static extent *find_extents(const sinew_rig *rig) {
    extent *extents = SN_NEW(extent, rig->slider_count);
    for (int s = 0; extents && s < rig->slider_count; s++)
        for (int c = 0; c < 3; c++) extents[s].low[c] = INFINITY, extents[s].high[c] = -INFINITY;
    for (int t = 0; extents && t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        if (target->kind != SINEW_TARGET_KIND_PLAIN) continue;
        for (int i = 0; i < target->count; i++)
            widen(&extents[target->slider],
                  rig->neutral->positions + 3 * (size_t)target->vertices[i],
                  target->deltas + 3 * (size_t)i);
    }
    return extents;
}

static bool are_near(const extent *a, const extent *b, double margin) {
    for (int c = 0; c < 3; c++)
        if (a->low[c] > b->high[c] + margin || b->low[c] > a->high[c] + margin) return false;
    return true;
}

/* Row and column of each pair that is listed: 1 + its index. */
static int *index_pairs(int n, const sn_slider_pair *pairs, int count) {
    int *listed = SN_NEW0(int, (size_t)n *(size_t)n);
    for (int i = 0; listed && i < count; i++)
        listed[(size_t)pairs[i].a * (size_t)n + (size_t)pairs[i].b] = i + 1;
    return listed;
}

/* What the search for meetings needs. */
typedef struct search {
    sn_baker *b;
    double *row;
    const extent *extents;
    int *listed;
    int *owner;    /* per triangle: 1 + the first meeting that crosses it */
    bool *crossed; /* per vertex: of a triangle that crosses another */
} search;

static void join_sites(sn_baker *b, int from, int to) {
    for (int i = 0; i < b->meeting_count; i++)
        if (b->meetings[i].site == from) b->meetings[i].site = to;
}

static bool both_take_part(search *s, int x, int y, const int *pairs, int count) {
    const sinew_mesh *mesh = s->b->rig->neutral;
    memset(s->crossed, 0, (size_t)mesh->vertex_count * sizeof *s->crossed);
    for (size_t i = 0; i < 2 * (size_t)count; i++)
        for (size_t k = 0; k < 3; k++) s->crossed[s->b->triangles[3 * (size_t)pairs[i] + k]] = true;
    return count > 0 && takes_part(s->b, s->crossed, x) && takes_part(s->b, s->crossed, y);
}

static sinew_status add_meeting(search *s, int x, int y, const int *pairs, int count) {
    sn_baker *b = s->b;
    if (!SN_RESERVE(b->meetings, b->meeting_capacity, b->meeting_count + 1))
        return sn_no_memory(b->error);
    int own = b->meeting_count++;
    sn_bake_meeting *m = &b->meetings[own];
    *m = (sn_bake_meeting){.slider = {x, y}, .site = own, .crossed = count};
    for (size_t i = 0; i < 2 * (size_t)count; i++) {
        int *owner = &s->owner[pairs[i]];
        if (*owner > 0)
            join_sites(b, m->site, b->meetings[*owner - 1].site);
        else
            *owner = own + 1;
    }
    return SINEW_OK;
}

static sinew_status test_pairs(search *s, sn_slider_pair **pairs, int *count) {
    sn_baker *b = s->b;
    int n = b->rig->slider_count;
    bool limb = n <= SN_BAKE_MANY_SLIDERS; /* its alternatives never act together; lids do */
    size_t capacity = (size_t)*count;
    for (int x = 0; x < n; x++)
        for (int y = x + 1; y < n; y++) {
            int at = s->listed[(size_t)x * (size_t)n + (size_t)y] - 1, *crossing = NULL, crossed;
            if (limb && at >= 0 && (*pairs)[at].alike) continue;
            if (!are_near(&s->extents[x], &s->extents[y], NEARBY * b->diagonal)) continue;
            sinew_status status = find_meeting_pairs(b, x, y, s->row, &crossing, &crossed);
            bool meets = status == SINEW_OK && both_take_part(s, x, y, crossing, crossed);
            if (meets) status = add_meeting(s, x, y, crossing, crossed);
            sinew_free(crossing);
            if (status != SINEW_OK) return status;
            if (!meets) continue;
            if (at < 0) {
                if (!SN_RESERVE(*pairs, capacity, *count + 1)) return sn_no_memory(b->error);
                at = (*count)++;
                (*pairs)[at] = (sn_slider_pair){.a = x, .b = y};
            }
            b->meetings[b->meeting_count - 1].pair = at;
        }
    return SINEW_OK;
}

sinew_status sn_bake_find_meeting(sn_baker *b, sn_slider_pair **pairs, int *count) {
    SN_TRY(choose_triangles(b));
    extent *extents = find_extents(b->rig);
    search s = {.b = b,
                .row = SN_NEW(double, b->rig->slider_count),
                .extents = extents,
                .listed = index_pairs(b->rig->slider_count, *pairs, *count),
                .owner = SN_NEW0(int, b->triangle_count + 1),
                .crossed = SN_NEW(bool, b->rig->neutral->vertex_count)};
    sinew_status status =
        s.row && extents && s.listed && s.owner && s.crossed ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) {
        sinew_rig_rest_weights(b->rig, s.row);
        status = find_known(b, s.row);
    }
    if (status == SINEW_OK) status = test_pairs(&s, pairs, count);
    sn_free(s.row), sn_free(extents), sn_free(s.listed), sn_free(s.owner), sn_free(s.crossed);
    return status;
}
