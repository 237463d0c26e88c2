/* Which point of the source each vertex and triangle of the target moves with. */
#ifndef SN_RIG_TRANSFER_MATCH_H
#define SN_RIG_TRANSFER_MATCH_H

#include "sinew/transfer.h"

/* A point on the source surface: three vertices and their weights. */
typedef struct sn_place {
    int vertices[3];
    double weights[3];
    bool far; /* from the source: nothing there corresponds */
} sn_place;

typedef struct sn_match {
    bool same_topology;
    sn_place *vertices;  /* per vertex of the target */
    sn_place *triangles; /* per triangle of the target: the place of its centroid */
    int *triangle;       /* same topology: the source triangle itself, else NULL */
} sn_match;

sinew_status sn_match_create(const sinew_mesh *source, const sinew_mesh *target,
                             const sinew_transfer_options *options, const sinew_monitor *monitor,
                             sn_match *match, sinew_transfer_info *info, sinew_error *error);
void sn_match_free(sn_match *match);

#endif
