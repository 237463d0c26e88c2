/* The surface as the sheet and the marker layer see it: areas, edges with cotangent weights, who is
 * next to whom, which vertices are held. */
#ifndef SN_FORCE_SKIN_H
#define SN_FORCE_SKIN_H

#include "algebra/sparse.h"
#include "sinew/rig.h"

/* Bounds of each cotangent: slivers neither tear nor stiffen the sheet. */
#define SN_SKIN_LEAST_COTANGENT 0.02
#define SN_SKIN_MOST_COTANGENT  10.0

typedef struct sn_skin {
    int vertex_count, edge_count;
    double diagonal, mean_area;
    double scale; /* diagonal over that of the mesh; less than 1 where it was fitted to a head */
    double *rest; /* 3 per vertex */
    double *area; /* per vertex over the mean, at least SINEW_FORCE_LEAST_AREA */
    bool *fixed;  /* per vertex */
    int fixed_count;

    int *edges;     /* 2 each, the smaller vertex first, sorted */
    double *weight; /* per edge: half the sum of its clamped cotangents */
    double *length; /* per edge at rest */

    /* Neighbors of vertex v: start[v] <= h < start[v + 1]. */
    int *start;
    int *neighbour;           /* per h */
    int *edge;                /* per h */
    double *neighbour_weight; /* weight[edge[h]], beside the neighbor */
} sn_skin;

/* fixed NULL: boundary vertices that no target moves by more than SINEW_FORCE_FIXED_SHARE of the
 * largest move. Bad input names a vertex out of range. */
sinew_status sn_skin_create(const sinew_rig *rig, int fixed_count, const int *fixed, sn_skin **skin,
                            sinew_error *error);
void sn_skin_destroy(sn_skin *skin);
/* The size of a whole body says nothing about lids and lips: the diagonal becomes at most that of a
 * head whose eyes are so far apart, or, where that is not known (0), a few times that of what the
 * targets move. */
void sn_skin_fit_head(sn_skin *skin, const sinew_rig *rig, double eye_distance);

/* distance[vertex_count]: no vertex keeps more than the distance of another one and the length of
 * the edges between them; only what becomes less than `most` is changed, so that the sweeps are
 * few. From vertices at 0 and others at INFINITY: shortest paths. */
void sn_skin_spread(const sn_skin *skin, double most, double *distance);

/* (L x)_v over the area of v, as a matrix without the columns of held vertices. */
sinew_status sn_skin_laplacian(const sn_skin *skin, sn_sparse **matrix, sinew_error *error);

#endif
