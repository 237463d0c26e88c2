/* Catmull-Clark subdivision with semi-sharp creases. */
#ifndef SN_MESH_SUBDIVIDE_H
#define SN_MESH_SUBDIVIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "sinew/mesh.h"

/* A polygon mesh and its creases. Sharpness counts levels: an edge of 2.5 stays sharp for two
 * levels and half of the third; INFINITY for ever. */
typedef struct sn_surface {
    int vertex_count, face_count;
    double *positions;        /* 3 per vertex */
    int *face_start;          /* face_count + 1 */
    int *corners;             /* vertices */
    int *parent;              /* per face: the face of the cage that it comes from */
    double *uv;               /* 2 per corner, or NULL; NAN: none */
    double *vertex_sharpness; /* per vertex */
    int crease_count;
    int *crease_edges; /* 2 vertices each */
    double *crease_sharpness;
} sn_surface;

void sn_surface_free(sn_surface *surface);

/* One level finer: vertices first, then edges, then faces. Edges with one or more than two faces
 * are sharp; so are, with `sharp_corners`, vertices of one face alone. On failure the surface is as
 * it was. */
sinew_status sn_subdivide(sn_surface *surface, bool sharp_corners, sinew_error *error);

#endif
