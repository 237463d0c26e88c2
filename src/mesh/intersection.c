/* Based on: exact orientation predicates (Shewchuk 1997); two closed triangles meet exactly when an
 * edge of one meets the other. */
#include "mesh/intersection.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/stoppable.h"
#include "mesh/predicates.h"
#include "mesh/topology.h"

/* The two coordinates that are left when axis k is dropped. */
static void flatten(sn_vec3 p, int axis, double out[2]) {
    out[0] = axis == 0 ? p.y : p.x;
    out[1] = axis == 2 ? p.y : p.z;
}

/* An axis along which the triangle can be projected without losing its area, or -1. Dropping a
 * coordinate changes no bit, so that decisions in the plane stay exact. */
static int open_axis(sn_vec3 a, sn_vec3 b, sn_vec3 c) {
    sn_vec3 normal = sn_cross(sn_sub(b, a), sn_sub(c, a));
    double size[3] = {fabs(normal.x), fabs(normal.y), fabs(normal.z)};
    int first = size[0] >= size[1] && size[0] >= size[2] ? 0 : size[1] >= size[2] ? 1 : 2;
    for (int k = 0; k < 3; k++) {
        int axis = (first + k) % 3;
        double p[2], q[2], r[2];
        flatten(a, axis, p), flatten(b, axis, q), flatten(c, axis, r);
        if (sn_orient2d(p, q, r) != 0) return axis;
    }
    return -1;
}

bool sn_triangle_collapsed(sn_vec3 a, sn_vec3 b, sn_vec3 c) {
    return open_axis(a, b, c) < 0;
}

static bool inside_flat(const double p[2], double t[3][2]) {
    int s0 = sn_orient2d(t[0], t[1], p), s1 = sn_orient2d(t[1], t[2], p),
        s2 = sn_orient2d(t[2], t[0], p);
    return (s0 >= 0 && s1 >= 0 && s2 >= 0) || (s0 <= 0 && s1 <= 0 && s2 <= 0);
}

/* r, known to be on the line pq, lies between p and q. */
static bool between(const double p[2], const double q[2], const double r[2]) {
    return fmin(p[0], q[0]) <= r[0] && r[0] <= fmax(p[0], q[0]) && fmin(p[1], q[1]) <= r[1] &&
           r[1] <= fmax(p[1], q[1]);
}

static bool segments_meet_flat(const double p[2], const double q[2], const double r[2],
                               const double s[2]) {
    int a = sn_orient2d(p, q, r), b = sn_orient2d(p, q, s);
    int c = sn_orient2d(r, s, p), d = sn_orient2d(r, s, q);
    if (a * b < 0 && c * d < 0) return true;
    return (a == 0 && between(p, q, r)) || (b == 0 && between(p, q, s)) ||
           (c == 0 && between(r, s, p)) || (d == 0 && between(r, s, q));
}

static bool coplanar_segment_meets(sn_vec3 p, sn_vec3 q, sn_vec3 a, sn_vec3 b, sn_vec3 c) {
    int axis = open_axis(a, b, c);
    if (axis < 0) return false;
    double s[2], e[2], t[3][2];
    flatten(p, axis, s), flatten(q, axis, e);
    flatten(a, axis, t[0]), flatten(b, axis, t[1]), flatten(c, axis, t[2]);
    if (inside_flat(s, t) || inside_flat(e, t)) return true;
    for (int k = 0; k < 3; k++)
        if (segments_meet_flat(s, e, t[k], t[(k + 1) % 3])) return true;
    return false;
}

/* The segment reaches the plane of abc; it meets the triangle when abc lies around the line pq. */
static bool crossing_segment_meets(sn_vec3 p, sn_vec3 q, sn_vec3 a, sn_vec3 b, sn_vec3 c) {
    int u = sn_orient3d(p, q, a, b), v = sn_orient3d(p, q, b, c);
    if (u * v < 0) return false;
    int w = sn_orient3d(p, q, c, a);
    return (u >= 0 && v >= 0 && w >= 0) || (u <= 0 && v <= 0 && w <= 0);
}

bool sn_segment_meets_triangle(sn_vec3 p, sn_vec3 q, sn_vec3 a, sn_vec3 b, sn_vec3 c) {
    int from = sn_orient3d(a, b, c, p), to = sn_orient3d(a, b, c, q);
    if (from * to > 0) return false;
    if (from == 0 && to == 0) return coplanar_segment_meets(p, q, a, b, c);
    return crossing_segment_meets(p, q, a, b, c);
}

/* All strictly on one side of the other's plane: the early exit for most pairs. */
static bool apart(const sn_vec3 plane[3], const sn_vec3 other[3]) {
    int first = sn_orient3d(plane[0], plane[1], plane[2], other[0]);
    return first != 0 && sn_orient3d(plane[0], plane[1], plane[2], other[1]) == first &&
           sn_orient3d(plane[0], plane[1], plane[2], other[2]) == first;
}

bool sn_triangles_meet(const sn_vec3 a[3], const sn_vec3 b[3]) {
    if (apart(a, b) || apart(b, a)) return false;
    for (int k = 0; k < 3; k++)
        if (sn_segment_meets_triangle(a[k], a[(k + 1) % 3], b[0], b[1], b[2]) ||
            sn_segment_meets_triangle(b[k], b[(k + 1) % 3], a[0], a[1], a[2]))
            return true;
    return false;
}

/* a[i] is b[j]; everything else may touch. If they share more than that corner, they share a piece
 * of the side opposite it in one of the two. */
static bool meet_beyond_vertex(const sn_vec3 a[3], int i, const sn_vec3 b[3], int j) {
    return sn_segment_meets_triangle(a[(i + 1) % 3], a[(i + 2) % 3], b[0], b[1], b[2]) ||
           sn_segment_meets_triangle(b[(j + 1) % 3], b[(j + 2) % 3], a[0], a[1], a[2]);
}

/* Common edge, opposite corners c and d: only a flat fold shares more. */
static bool meet_beyond_edge(sn_vec3 p, sn_vec3 q, sn_vec3 c, sn_vec3 d) {
    if (sn_orient3d(p, q, c, d) != 0) return false;
    int axis = open_axis(p, q, c);
    if (axis < 0) return false;
    double a[2], b[2], left[2], right[2];
    flatten(p, axis, a), flatten(q, axis, b), flatten(c, axis, left), flatten(d, axis, right);
    return sn_orient2d(a, b, left) * sn_orient2d(a, b, right) > 0;
}

/* Triangles of one mesh; `id` names vertices up to coincidence. */
static bool neighbours_meet(const sn_vec3 a[3], const int *id_a, const sn_vec3 b[3],
                            const int *id_b) {
    int shared = 0, in_a[3], in_b[3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (id_a[i] == id_b[j] && shared < 3) in_a[shared] = i, in_b[shared++] = j;
    if (shared == 0) return sn_triangles_meet(a, b);
    if (shared == 1) return meet_beyond_vertex(a, in_a[0], b, in_b[0]);
    if (shared == 2)
        return meet_beyond_edge(a[in_a[0]], a[in_a[1]], a[3 - in_a[0] - in_a[1]],
                                b[3 - in_b[0] - in_b[1]]);
    return false;
}

static void corners(const double *positions, const int *triangle, sn_vec3 out[3]) {
    for (int k = 0; k < 3; k++) out[k] = sn_at(positions, triangle[k]);
}

typedef struct bound_triangles_loop {
    const sn_box_frame *frame;
    const double *positions;
    const int *triangles;
    sn_box *boxes;
} bound_triangles_loop;

static void bound_triangles(void *context, sn_span span) {
    const bound_triangles_loop *loop = context;
    const sn_box_frame *frame = loop->frame;
    const double *positions = loop->positions;
    const int *triangles = loop->triangles;
    sn_box *boxes = loop->boxes;
    SN_IN_SPAN(int, t, span) {
        boxes[t] = sn_box_empty();
        for (int k = 0; k < 3; k++)
            sn_box_include(&boxes[t], frame, sn_at(positions, triangles[3 * (size_t)t + k]), 0);
    }
}

static sn_box *triangle_boxes(const sn_box_frame *frame, const double *positions,
                              int triangle_count, const int *triangles) {
    sn_box *boxes = SN_NEW(sn_box, triangle_count);
    if (!boxes) return NULL;
    sn_parallel_for(triangle_count, 256, bound_triangles,
                    &(bound_triangles_loop){frame, positions, triangles, boxes});
    return boxes;
}

/* One side of a narrow phase: positions, triangles, and the names of vertices. */
typedef struct side {
    const double *positions;
    const int *triangles;
    const int *id; /* 3 per triangle, or NULL: nothing is shared */
    char *collapsed;
} side;

typedef struct mark_pairs_loop {
    const side *a;
    const side *b;
    const int *pairs;
    char *mark;
} mark_pairs_loop;

static void mark_pairs(void *context, sn_span span) {
    const mark_pairs_loop *loop = context;
    const side *a = loop->a;
    const side *b = loop->b;
    const int *pairs = loop->pairs;
    char *mark = loop->mark;
    SN_IN_SPAN(int, i, span) {
        int s = pairs[2 * (size_t)i], t = pairs[2 * (size_t)i + 1];
        mark[i] = 0;
        if (a->collapsed[s] || b->collapsed[t]) continue;
        sn_vec3 p[3], q[3];
        corners(a->positions, a->triangles + 3 * (size_t)s, p);
        corners(b->positions, b->triangles + 3 * (size_t)t, q);
        mark[i] = a->id ? neighbours_meet(p, a->id + 3 * (size_t)s, q, b->id + 3 * (size_t)t)
                        : sn_triangles_meet(p, q);
    }
}

typedef struct narrow_phase {
    side a, b;
    const sinew_monitor *monitor;
    int triangle_count;
    size_t seen; /* pairs so far */
} narrow_phase;

/* On a surface, a triangle is near a few dozen others. In a heap each is near all others, so that a
 * small file would take hours and all memory. */
static size_t most_pairs(int triangle_count) {
    return ((size_t)1 << 25) + 256 * (size_t)triangle_count;
}

static sinew_status too_many(int triangle_count, sinew_error *error) {
    return sn_fail(error, SINEW_BAD_INPUT,
                   "more than %zu pairs of its %d triangles are in the same place: too many to "
                   "search for intersections",
                   most_pairs(triangle_count), triangle_count);
}

static sinew_status count_seen(narrow_phase *phase, int count, sinew_error *error) {
    phase->seen += (size_t)count;
    return phase->seen > most_pairs(phase->triangle_count) ? too_many(phase->triangle_count, error)
                                                           : SINEW_OK;
}

static sinew_status test_pairs(const narrow_phase *phase, int count, const int *pairs, char *meet,
                               sinew_error *error) {
    sn_parallel_for_stoppable(count, 64, mark_pairs,
                              &(mark_pairs_loop){&phase->a, &phase->b, pairs, meet});
    if (sn_scope_poll() || sn_cancelled(phase->monitor))
        return sn_fail(error, SINEW_CANCELLED, "cancelled");
    return SINEW_OK;
}

/* A sn_pair_filter: the triangles meet. */
static sinew_status narrow(void *user, int count, const int *pairs, char *keep,
                           sinew_error *error) {
    SN_TRY(count_seen(user, count, error));
    return test_pairs(user, count, pairs, keep, error);
}

typedef struct find_some_collapsed_loop {
    const double *positions;
    const int *triangles;
    char *collapsed;
} find_some_collapsed_loop;

static void find_some_collapsed(void *context, sn_span span) {
    const find_some_collapsed_loop *loop = context;
    const double *positions = loop->positions;
    const int *triangles = loop->triangles;
    char *collapsed = loop->collapsed;
    SN_IN_SPAN(int, t, span) {
        sn_vec3 p[3];
        corners(positions, triangles + 3 * (size_t)t, p);
        collapsed[t] = sn_triangle_collapsed(p[0], p[1], p[2]);
    }
}

static char *find_collapsed(const double *positions, int triangle_count, const int *triangles) {
    char *collapsed = SN_NEW(char, triangle_count);
    if (!collapsed) return NULL;
    sn_parallel_for(triangle_count, 128, find_some_collapsed,
                    &(find_some_collapsed_loop){positions, triangles, collapsed});
    return collapsed;
}

/* ---- triangles that lie on each other -------------------------------------------------------- */

static uint64_t mix(uint64_t hash, int number) {
    return (hash ^ (uint64_t)number) * 0xff51afd7ed558ccdu;
}

/* The three numbers in increasing order. */
static void sorted_corners(const int *id, int out[3]) {
    int low = id[0] < id[1] ? id[0] : id[1], high = id[0] < id[1] ? id[1] : id[0];
    out[0] = id[2] < low ? id[2] : low, out[2] = id[2] > high ? id[2] : high;
    out[1] = id[2] < low ? low : id[2] > high ? high : id[2];
}

sinew_status sn_equal_triangles(int triangle_count, const int *corner, int *first,
                                sinew_error *error) {
    size_t slots = 16;
    while (slots < 2 * (size_t)triangle_count) slots *= 2;
    int *table = SN_NEW(int, slots);
    if (!table) return sn_no_memory(error);
    memset(table, -1, slots * sizeof *table);
    for (int t = 0; t < triangle_count; t++) {
        int mine[3], other[3];
        sorted_corners(corner + 3 * (size_t)t, mine);
        uint64_t hash = mix(mix(mix(0, mine[0]), mine[1]), mine[2]);
        size_t at = (size_t)(hash ^ hash >> 32) & (slots - 1);
        for (; table[at] >= 0; at = (at + 1) & (slots - 1)) {
            sorted_corners(corner + 3 * (size_t)table[at], other);
            if (!memcmp(mine, other, sizeof mine)) break;
        }
        if (table[at] < 0) table[at] = t;
        first[t] = table[at];
    }
    sn_free(table);
    return SINEW_OK;
}

/* A surface without the triangles that lie on an earlier one: all copies of a triangle cross the
 * same others, so that a pile of copies costs no more than one of them until the pairs are listed.
 */
typedef struct thinned {
    int count;
    int *triangles, *corner; /* 3 each; corner: vertices up to coincidence */
    int *first;              /* per original triangle: the one it lies on */
    sn_lists copies;         /* per thinned triangle: the original ones */
} thinned;

static void free_thinned(thinned *thin) {
    sn_free(thin->triangles), sn_free(thin->corner), sn_free(thin->first);
    sn_lists_free(&thin->copies);
}

static sinew_status thin_out(int vertex_count, const double *positions, int triangle_count,
                             const int *triangles, thinned *thin, sinew_error *error) {
    size_t corners = 3 * (size_t)triangle_count;
    *thin = (thinned){.triangles = SN_NEW(int, corners),
                      .corner = SN_NEW(int, corners),
                      .first = SN_NEW(int, triangle_count)};
    int *weld = SN_NEW(int, vertex_count), merged;
    sinew_status status = thin->triangles && thin->corner && thin->first && weld
                              ? sn_weld(vertex_count, positions, 0, weld, &merged, error)
                              : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (size_t c = 0; c < corners; c++) thin->corner[c] = weld[triangles[c]];
        status = sn_equal_triangles(triangle_count, thin->corner, thin->first, error);
    }
    sn_free(weld);
    SN_TRY(status);
    for (int t = 0; t < triangle_count; t++) {
        if (thin->first[t] != t) { /* its place in the thinned list instead */
            thin->first[t] = thin->first[thin->first[t]];
            continue;
        }
        size_t to = 3 * (size_t)thin->count, from = 3 * (size_t)t;
        memcpy(thin->triangles + to, triangles + from, 3 * sizeof(int));
        memmove(thin->corner + to, thin->corner + from, 3 * sizeof(int));
        thin->first[t] = thin->count++;
    }
    return sn_lists_create(thin->count, triangle_count, thin->first, NULL, &thin->copies, error);
}

/* Pairs of thinned triangles become pairs of original ones. */
static sinew_status list_copies(const thinned *thin, sn_pairs *pairs, sinew_error *error) {
    const sn_lists *copies = &thin->copies;
    size_t total = 0;
    for (int i = 0; i < 2 * pairs->count; i += 2) {
        const int *pair = pairs->pair + i;
        total += (size_t)(copies->start[pair[0] + 1] - copies->start[pair[0]]) *
                 (size_t)(copies->start[pair[1] + 1] - copies->start[pair[1]]);
    }
    int triangle_count = copies->start[copies->count];
    if (total > most_pairs(triangle_count)) return too_many(triangle_count, error);
    int *first = SN_NEW(int, total), *second = SN_NEW(int, total);
    sinew_status status = first && second ? SINEW_OK : sn_no_memory(error);
    size_t n = 0;
    for (int i = 0; status == SINEW_OK && i < 2 * pairs->count; i += 2)
        for (int a = copies->start[pairs->pair[i]]; a < copies->start[pairs->pair[i] + 1]; a++)
            for (int b = copies->start[pairs->pair[i + 1]];
                 b < copies->start[pairs->pair[i + 1] + 1]; b++) {
                int s = copies->item[a], t = copies->item[b];
                first[n] = s < t ? s : t, second[n++] = s < t ? t : s;
            }
    sn_pairs_free(pairs);
    if (status == SINEW_OK)
        status = sn_pairs_sort((int)n, first, second, copies->start[copies->count],
                               copies->start[copies->count], pairs, error);
    sn_free(first), sn_free(second);
    return status;
}

/* What a search among the triangles of one mesh works on. */
typedef struct self_search {
    thinned thin;
    sn_box *boxes;
    char *collapsed;
} self_search;

static void end_self_search(self_search *s) {
    sn_free(s->boxes), sn_free(s->collapsed);
    free_thinned(&s->thin);
}

static sinew_status begin_self_search(int vertex_count, const double *positions, int triangle_count,
                                      const int *triangles, self_search *s, sinew_error *error) {
    *s = (self_search){0};
    SN_TRY(thin_out(vertex_count, positions, triangle_count, triangles, &s->thin, error));
    sn_box_frame frame = sn_box_frame_of(vertex_count, positions, 0, NULL);
    s->boxes = triangle_boxes(&frame, positions, s->thin.count, s->thin.triangles);
    s->collapsed = find_collapsed(positions, s->thin.count, s->thin.triangles);
    return s->boxes && s->collapsed ? SINEW_OK : sn_no_memory(error);
}

sinew_status sn_self_intersections(int vertex_count, const double *positions, int triangle_count,
                                   const int *triangles, const sinew_monitor *monitor,
                                   sn_pairs *pairs, sinew_error *error) {
    *pairs = (sn_pairs){0};
    self_search s;
    sinew_status status =
        begin_self_search(vertex_count, positions, triangle_count, triangles, &s, error);
    side one = {positions, s.thin.triangles, s.thin.corner, s.collapsed};
    if (status == SINEW_OK)
        status = sn_box_pairs(s.thin.count, s.boxes, 0, NULL, narrow,
                              &(narrow_phase){one, one, monitor, s.thin.count, 0}, pairs, error);
    if (status == SINEW_OK && s.thin.count < triangle_count)
        status = list_copies(&s.thin, pairs, error);
    end_self_search(&s);
    if (status != SINEW_OK) sn_pairs_free(pairs);
    return status;
}

typedef struct cross_phase {
    narrow_phase pairs;
    bool *crosses;
} cross_phase;

/* A sn_pair_filter that keeps no pair and notes its triangles instead. */
static sinew_status note_crossing(void *user, int count, const int *pairs, char *keep,
                                  sinew_error *error) {
    enum { SOME = 4096 }; /* known before the next are tested */
    cross_phase *phase = user;
    int open[2 * SOME];
    SN_TRY(count_seen(&phase->pairs, count, error));
    memset(keep, 0, (size_t)count);
    for (int next = 0; next < count;) {
        int found = 0;
        for (; next < count && found < SOME; next++) {
            const int *pair = pairs + 2 * (size_t)next;
            if (phase->crosses[pair[0]] && phase->crosses[pair[1]]) continue;
            open[2 * found] = pair[0], open[2 * found + 1] = pair[1];
            found++;
        }
        char meet[SOME];
        SN_TRY(test_pairs(&phase->pairs, found, open, meet, error));
        for (int i = 0; i < found; i++)
            if (meet[i]) phase->crosses[open[2 * i]] = phase->crosses[open[2 * i + 1]] = true;
    }
    return SINEW_OK;
}

sinew_status sn_crossing_triangles(int vertex_count, const double *positions, int triangle_count,
                                   const int *triangles, bool *crosses, sinew_error *error) {
    self_search s;
    sinew_status status =
        begin_self_search(vertex_count, positions, triangle_count, triangles, &s, error);
    bool *thin = status == SINEW_OK ? SN_NEW0(bool, s.thin.count + 1) : NULL;
    if (status == SINEW_OK && !thin) status = sn_no_memory(error);
    side one = {positions, s.thin.triangles, s.thin.corner, s.collapsed};
    sn_pairs none = {0};
    if (status == SINEW_OK)
        status =
            sn_box_pairs(s.thin.count, s.boxes, 0, NULL, note_crossing,
                         &(cross_phase){{one, one, NULL, s.thin.count, 0}, thin}, &none, error);
    for (int t = 0; status == SINEW_OK && t < triangle_count; t++)
        crosses[t] = thin[s.thin.first[t]];
    sn_pairs_free(&none);
    sn_free(thin);
    end_self_search(&s);
    return status;
}

sinew_status sn_intersections(int vertex_count_a, const double *positions_a, int triangle_count_a,
                              const int *triangles_a, int vertex_count_b, const double *positions_b,
                              int triangle_count_b, const int *triangles_b,
                              const sinew_monitor *monitor, sn_pairs *pairs, sinew_error *error) {
    *pairs = (sn_pairs){0};
    sn_box_frame frame = sn_box_frame_of(vertex_count_a, positions_a, vertex_count_b, positions_b);
    sn_box *boxes_a = triangle_boxes(&frame, positions_a, triangle_count_a, triangles_a);
    sn_box *boxes_b = triangle_boxes(&frame, positions_b, triangle_count_b, triangles_b);
    side a = {positions_a, triangles_a, NULL,
              find_collapsed(positions_a, triangle_count_a, triangles_a)};
    side b = {positions_b, triangles_b, NULL,
              find_collapsed(positions_b, triangle_count_b, triangles_b)};
    sinew_status status = SINEW_OK;
    if (!boxes_a || !boxes_b || !a.collapsed || !b.collapsed) status = sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_box_pairs(
            triangle_count_a, boxes_a, triangle_count_b, boxes_b, narrow,
            &(narrow_phase){a, b, monitor, triangle_count_a + triangle_count_b, 0}, pairs, error);
    sn_free(boxes_a);
    sn_free(boxes_b);
    sn_free(a.collapsed);
    sn_free(b.collapsed);
    if (status != SINEW_OK) sn_pairs_free(pairs);
    return status;
}
