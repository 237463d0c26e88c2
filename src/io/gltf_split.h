/* A mesh with attributes on corners, as vertices that carry them. */
#ifndef SN_IO_GLTF_SPLIT_H
#define SN_IO_GLTF_SPLIT_H

#include "sinew/mesh.h"

typedef struct sn_split {
    int count;        /* of split vertices; the first vertex_count are the mesh's own, in order */
    int *vertex;      /* mesh vertex of each */
    int *uv, *normal; /* rows of the mesh's tables, -1: none */
    int *corners;     /* split vertex of each corner of the faces */
    int triangle_count;
    int *triangles; /* 3 split vertices each, the mesh's triangles */
} sn_split;

sinew_status sn_split_create(const sinew_mesh *mesh, sn_split *split, sinew_error *error);
void sn_split_free(sn_split *split);

#endif
