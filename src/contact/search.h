/* The state of a search for pairs (sn_contact_find), between src/contact/search.c and the cutting
 * of paths in src/contact/pairs.c. */
#ifndef SN_CONTACT_SEARCH_H
#define SN_CONTACT_SEARCH_H

#include "contact/pairs.h"

typedef struct sn_pair_list {
    sn_contact_pair *pairs;
    size_t count, capacity;
} sn_pair_list;

typedef struct sn_fitted_tree {
    sn_hull *item, *node;
    bool *stale; /* per node, while some of the tree is refitted */
    int *dirty;  /* items that contain a point that is off, increasing */
    int dirty_count;
    bool *is_dirty; /* per item */
} sn_fitted_tree;

struct sn_contact_work {
    sn_hull *ways;       /* per point of the surface */
    sn_hull_frame frame; /* of all hulls */
    sn_fitted_tree points, edges, triangles;
    sn_pair_list *blocks; /* what each task found, in a fixed order */
    int block_count;
    int *leaves; /* one list of leaves per thread */
    int threads, leaf_room;
    sn_pair_list found, merged; /* in the order of their keys */
    /* what the pairs found hold for: paths from `from` to `to` over the times `known`, parts of
     * them, and others as near as this and what a point has beside */
    double *from, *to; /* 3 per vertex of the mesh */
    double *beside;    /* per point */
    double known[2];
    double margin; /* 0: nothing was searched for yet */
    /* what is asked for: the times of the next paths, and where they lead until `end` */
    double part[2], end;
    const double *course; /* 3 per vertex: displacement in a unit of time; NULL: not known */
    double *ahead;        /* 3 per vertex: the shape that the course leads to */
    bool *off;            /* per point: its path has left what the pairs hold for */
    double *target;       /* 3 per vertex: the full path while it is cut back */
    double *share;        /* per vertex: what is left of its path */
};

/* Does the pair come nearer than the margin on the path? Sets its reach. */
bool sn_contact_may_meet(const sn_contact_surface *surface, sn_contact_pair *pair, const double *x0,
                         const double *x1, double margin);

#endif
