/* Based on: Klosowski et al. 1998, Efficient collision detection using bounding volume hierarchies
 * of k-DOPs.
 * We differ in: bounds of both ends of a motion instead of one of all of it; a complete binary tree
 * in an array, so that fitting is one pass from the end. */
#include "contact/hierarchy.h"

#include <math.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"

/* Roundings of a projection of coordinates in [-1, 1] to a float, with room. */
#define ROUNDING 1e-6

/* x, y, z, the four diagonals of a cube, and one of a side. */
static const float axis[SN_HULL_AXES][3] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1},  {1, 1, 1},
                                            {1, 1, -1}, {1, -1, 1}, {-1, 1, 1}, {1, -1, 0}};

sn_hull_frame sn_hull_frame_of(int count, const int *vertices, const double *x0, const double *x1) {
    sn_vec3 low = sn_v3(INFINITY, INFINITY, INFINITY), high = sn_scale(-1, low);
    for (int i = 0; i < 2 * count; i++) {
        sn_vec3 p = sn_at(i % 2 ? x1 : x0, vertices[i / 2]);
        low = sn_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sn_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    if (!(low.x <= high.x)) return (sn_hull_frame){sn_v3(0, 0, 0), 1};
    sn_vec3 half = sn_scale(0.5, sn_sub(high, low));
    double scale = 1 / fmax(half.x, fmax(half.y, half.z));
    return (sn_hull_frame){sn_add(low, half), isfinite(scale) && scale > 0 ? scale : 1};
}

sn_hull sn_hull_of_way(const sn_hull_frame *frame, sn_vec3 p, sn_vec3 q, double margin) {
    sn_hull hull;
    float near = (float)(frame->scale * margin);
    for (int end = 0; end < 2; end++) {
        sn_vec3 local = sn_scale(frame->scale, sn_sub(end ? q : p, frame->center));
        float x = (float)local.x, y = (float)local.y, z = (float)local.z;
        for (int k = 0; k < SN_HULL_AXES; k++) {
            const float *d = axis[k];
            float at = d[0] * x + d[1] * y + d[2] * z;
            float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            float reach = length * near + (float)ROUNDING;
            hull.low[end][k] = at - reach, hull.high[end][k] = at + reach;
        }
    }
    return hull;
}

void sn_hull_join(sn_hull *hull, const sn_hull *other) {
    for (int end = 0; end < 2; end++) {
        float *low = hull->low[end], *high = hull->high[end];
        const float *other_low = other->low[end], *other_high = other->high[end];
#pragma omp simd
        for (int k = 0; k < SN_HULL_AXES; k++) {
            low[k] = other_low[k] < low[k] ? other_low[k] : low[k];
            high[k] = other_high[k] > high[k] ? other_high[k] : high[k];
        }
    }
}

/* ---- grouping -------------------------------------------------------------------------------- */

/* order[from .. to) so that the `middle` first have the smallest coordinates (Hoare). */
static void halve(int *order, int from, int to, int middle, const double *centers, int a) {
    while (to - from > 1) {
        double pivot = centers[3 * (size_t)order[from + (to - from) / 2] + (size_t)a];
        int i = from, j = to - 1;
        while (i <= j) {
            while (centers[3 * (size_t)order[i] + (size_t)a] < pivot) i++;
            while (centers[3 * (size_t)order[j] + (size_t)a] > pivot) j--;
            if (i > j) break;
            int swap = order[i];
            order[i++] = order[j], order[j--] = swap;
        }
        if (middle <= j)
            to = j + 1;
        else if (middle >= i)
            from = i;
        else
            return;
    }
}

/* Splits the items of leaves first .. last - 1 across their longest extent. */
static void group(sn_hierarchy *h, const double *centers, int first, int last) {
    if (last - first < 2) return;
    /* items in any order are a tree, if not a good one */
    if (last - first >= 64 && sn_interrupted()) return;
    int from = sn_hierarchy_first(h, first), to = sn_hierarchy_first(h, last), longest = 0;
    double extent[3];
    for (int a = 0; a < 3; a++) {
        double low = INFINITY, high = -INFINITY;
        for (int i = from; i < to; i++) {
            double c = centers[3 * (size_t)h->order[i] + (size_t)a];
            low = fmin(low, c), high = fmax(high, c);
        }
        extent[a] = high - low;
        if (extent[a] > extent[longest]) longest = a;
    }
    int half = (first + last) / 2;
    halve(h->order, from, to, sn_hierarchy_first(h, half), centers, longest);
    group(h, centers, first, half);
    group(h, centers, half, last);
}

sinew_status sn_hierarchy_create(int count, const double *centers, sn_hierarchy *h,
                                 sinew_error *error) {
    *h = (sn_hierarchy){.count = count, .leaves = 1};
    while ((long long)h->leaves * SN_HIERARCHY_LEAF < count) h->leaves *= 2;
    h->order = SN_NEW(int, count);
    if (!h->order) return sn_no_memory(error);
    for (int i = 0; i < count; i++) h->order[i] = i;
    group(h, centers, 0, h->leaves);
    return SINEW_OK;
}

void sn_hierarchy_free(sn_hierarchy *h) {
    sn_free(h->order);
    *h = (sn_hierarchy){0};
}

/* ---- use ------------------------------------------------------------------------------------- */

static void fit_leaf(const sn_hierarchy *h, const sn_hull *item, int leaf, sn_hull *hull) {
    int from = sn_hierarchy_first(h, leaf), to = sn_hierarchy_first(h, leaf + 1);
    for (int k = 0; k < 2 * SN_HULL_AXES; k++)
        hull->low[k / SN_HULL_AXES][k % SN_HULL_AXES] = INFINITY,
                                        hull->high[k / SN_HULL_AXES][k % SN_HULL_AXES] = -INFINITY;
    for (int i = from; i < to; i++) sn_hull_join(hull, &item[i]);
}

typedef struct fit_leaves_loop {
    const sn_hierarchy *h;
    const sn_hull *item;
    sn_hull *leaf;
} fit_leaves_loop;

static void fit_leaves(void *context, sn_span span) {
    const fit_leaves_loop *loop = context;
    const sn_hierarchy *h = loop->h;
    const sn_hull *item = loop->item;
    sn_hull *leaf = loop->leaf;
    SN_IN_SPAN(int, l, span) fit_leaf(h, item, l, &leaf[l]);
}

void sn_hierarchy_fit(const sn_hierarchy *h, const sn_hull *item, sn_hull *node) {
    sn_hull *leaf = node + h->leaves - 1;
    sn_parallel_for(h->leaves, 16, fit_leaves, &(fit_leaves_loop){h, item, leaf});
    for (int i = h->leaves - 2; i >= 0; i--) {
        node[i] = node[2 * i + 1];
        sn_hull_join(&node[i], &node[2 * i + 2]);
    }
}

void sn_hierarchy_refit(const sn_hierarchy *h, const sn_hull *item, bool *stale, sn_hull *node) {
    int first = h->leaves - 1;
    for (int l = 0; l < h->leaves; l++)
        if (stale[first + l]) fit_leaf(h, item, l, &node[first + l]);
    for (int i = first - 1; i >= 0; i--) {
        if (!stale[2 * i + 1] && !stale[2 * i + 2]) continue;
        stale[i] = true, node[i] = node[2 * i + 1];
        sn_hull_join(&node[i], &node[2 * i + 2]);
    }
}

int sn_hierarchy_near(const sn_hierarchy *h, const sn_hull *node, const sn_hull *hull, int first,
                      int *found) {
    /* node, and how many leaves are below it: one entry per level waits */
    struct {
        int node, from, leaves;
    } waiting[64] = {{0, 0, h->leaves}};
    int depth = 1, count = 0;
    while (depth > 0) {
        depth--;
        int at = waiting[depth].node, from = waiting[depth].from, leaves = waiting[depth].leaves;
        if (from + leaves <= first || !sn_hulls_meet(&node[at], hull)) continue;
        if (leaves == 1) {
            found[count++] = from;
            continue;
        }
        int half = leaves / 2;
        waiting[depth].node = 2 * at + 2, waiting[depth].from = from + half;
        waiting[depth++].leaves = half;
        waiting[depth].node = 2 * at + 1, waiting[depth].from = from;
        waiting[depth++].leaves = half;
    }
    return count;
}
