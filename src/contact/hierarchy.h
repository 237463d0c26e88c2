/* Which parts of a moving surface come near each other: a tree over items whose grouping is chosen
 * once, at rest, and whose bounds are refitted to every motion.
 *
 * Bounds are kept along eight directions instead of three: on a smooth surface most neighbors
 * whose axis-aligned boxes overlap are told apart by a diagonal direction. */
#ifndef SN_CONTACT_HIERARCHY_H
#define SN_CONTACT_HIERARCHY_H

#include <stdbool.h>

#include "base/status.h"
#include "base/vec3.h"

enum { SN_HULL_AXES = 8, SN_HIERARCHY_LEAF = 4 };

/* Of points that move along lines from a start [0] to an end [1]. The lowest of them along an axis
 * is a concave function of time, the highest a convex one: what is apart along one axis, on the
 * same side at both ends, stays apart throughout, however far both move together. */
typedef struct sn_hull {
    float low[2][SN_HULL_AXES], high[2][SN_HULL_AXES];
} sn_hull;

/* From coordinates to those of hulls: (p - center) * scale, so that floats are fine enough. */
typedef struct sn_hull_frame {
    sn_vec3 center;
    double scale;
} sn_hull_frame;

/* Maps what the surface at x0 and x1 reaches at the listed vertices into [-1, 1]. */
sn_hull_frame sn_hull_frame_of(int count, const int *vertices, const double *x0, const double *x1);
/* Of the path from p to q and all within `margin` (length units) of it, rounding included. */
sn_hull sn_hull_of_way(const sn_hull_frame *frame, sn_vec3 p, sn_vec3 q, double margin);
void sn_hull_join(sn_hull *hull, const sn_hull *other);

static inline bool sn_hulls_meet(const sn_hull *a, const sn_hull *b) {
    int apart = 0;
#pragma omp simd reduction(| : apart)
    for (int k = 0; k < SN_HULL_AXES; k++)
        apart |= ((a->low[0][k] > b->high[0][k]) & (a->low[1][k] > b->high[1][k])) |
                 ((b->low[0][k] > a->high[0][k]) & (b->low[1][k] > a->high[1][k]));
    return !apart;
}

/* A balanced tree: leaf l holds the items order[first(l)] .. order[first(l + 1) - 1], at most
 * SN_HIERARCHY_LEAF; node 0 is the root, node i has the children 2 i + 1 and 2 i + 2, the last
 * `leaves` nodes are the leaves. */
typedef struct sn_hierarchy {
    int count, leaves;
    int *order;
} sn_hierarchy;

static inline int sn_hierarchy_first(const sn_hierarchy *h, int leaf) {
    return (int)((long long)h->count * leaf / h->leaves);
}
static inline int sn_hierarchy_nodes(const sn_hierarchy *h) {
    return 2 * h->leaves - 1;
}

/* centers: 3 per item. */
sinew_status sn_hierarchy_create(int count, const double *centers, sn_hierarchy *hierarchy,
                                 sinew_error *error);
void sn_hierarchy_free(sn_hierarchy *hierarchy);
/* node[sn_hierarchy_nodes] from item[count], which are in the tree's order. */
void sn_hierarchy_fit(const sn_hierarchy *hierarchy, const sn_hull *item, sn_hull *node);
/* The same of leaves that are stale, and of nodes above them, which become so. stale: per node. */
void sn_hierarchy_refit(const sn_hierarchy *hierarchy, const sn_hull *item, bool *stale,
                        sn_hull *node);
/* Leaves from `first` on whose bounds meet the hull, increasing; found has room for all leaves.
 * Returns how many. */
int sn_hierarchy_near(const sn_hierarchy *hierarchy, const sn_hull *node, const sn_hull *hull,
                      int first, int *found);

#endif
