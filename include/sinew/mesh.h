/* A polygon mesh as the artist's file has it.
 *
 * Vertex and face order are those of the file and are never changed. Faces have any number of
 * corners; the solvers use `triangles`, a fixed triangulation of them. Vertices that no face uses
 * are kept. Texture coordinates and normals live on corners, so a seam does not split a vertex. */
#ifndef SINEW_MESH_H
#define SINEW_MESH_H

#include <stdbool.h>

#include "sinew/memory.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_mesh {
    char *name; /* file stem, or NULL */

    int vertex_count;
    double *positions; /* 3 per vertex: x y z */

    int face_count;
    int *face_start;    /* face_count + 1 offsets into face_vertices */
    int *face_vertices; /* a vertex per corner */

    /* Each n-gon gives n - 2 triangles, in face order; made by sinew_mesh_triangulate. */
    int triangle_count;
    int *triangles;     /* 3 vertices each */
    int *triangle_face; /* the face each triangle was cut from */

    /* Optional, NULL when absent. An index of -1 marks a corner without one. */
    int uv_count;
    double *uvs;    /* 2 each */
    int *corner_uv; /* per corner */
    int normal_count;
    double *normals;    /* 3 each */
    int *corner_normal; /* per corner */

    /* Named parts (objects or groups of the file): eyes, teeth, skin. NULL face_part: all part 0.
     */
    int part_count;
    char **part_names;
    int *face_part; /* per face: index into part_names, or -1 */

    /* A file that splits vertices at seams (glTF) has more of them than the mesh: the mesh vertex
     * of each of the file's, in the file's order, so that caches can be written for it. NULL when
     * the file's vertices are the mesh's. */
    int file_vertex_count;
    int *file_vertices;
} sinew_mesh;

/* A copy of the given polygons, triangulated. Checks ranges and finiteness.
 * face_start may be NULL: all faces are triangles. */
SINEW_API sinew_status sinew_mesh_create(int vertex_count, const double *positions, int face_count,
                                         const int *face_start, const int *face_vertices,
                                         sinew_mesh **mesh, sinew_error *error);
SINEW_API sinew_status sinew_mesh_copy(const sinew_mesh *mesh, sinew_mesh **copy,
                                       sinew_error *error);
SINEW_API void sinew_mesh_destroy(sinew_mesh *mesh);

/* Rebuild `triangles` from the faces: a quad along its shorter diagonal in the neutral, larger
 * faces by ear clipping in their best plane. */
SINEW_API sinew_status sinew_mesh_triangulate(sinew_mesh *mesh, sinew_error *error);

/* Whether b can be a pose of a: the same number of vertices, and the same surface over them. Faces
 * may be listed in another order, start at another corner or wind in the other direction, and
 * polygons may be cut into other triangles. Otherwise returns SINEW_BAD_INPUT, counts the faces
 * that differ and names the first. */
SINEW_API sinew_status sinew_mesh_same_topology(const sinew_mesh *a, const sinew_mesh *b,
                                                sinew_error *error);

/* Length of the diagonal of the axis-aligned box of the given vertices; 0 for none. */
SINEW_API double sinew_diagonal(int vertex_count, const double *positions);
/* Whether a part of this name serves construction and is not for show: MakeHuman's joints and
 * proxies of clothes and hair, Unreal's collision hulls. */
SINEW_API bool sinew_part_is_helper(const char *name);

/* ---- accessors, for bindings that do not mirror the structure ---- */

/* The arrays belong to the mesh. */
/* May be NULL. */
SINEW_API const char *sinew_mesh_name(const sinew_mesh *mesh);
SINEW_API int sinew_mesh_vertex_count(const sinew_mesh *mesh);
/* 3 per vertex. */
SINEW_API const double *sinew_mesh_positions(const sinew_mesh *mesh);
SINEW_API int sinew_mesh_face_count(const sinew_mesh *mesh);
/* face_count + 1 offsets into the face vertices. */
SINEW_API const int *sinew_mesh_face_starts(const sinew_mesh *mesh);
/* One per corner. */
SINEW_API const int *sinew_mesh_face_vertices(const sinew_mesh *mesh);
SINEW_API int sinew_mesh_triangle_count(const sinew_mesh *mesh);
/* 3 vertices each. */
SINEW_API const int *sinew_mesh_triangles(const sinew_mesh *mesh);
/* The face of each triangle. */
SINEW_API const int *sinew_mesh_triangle_faces(const sinew_mesh *mesh);
SINEW_API int sinew_mesh_uv_count(const sinew_mesh *mesh);
/* 2 each; NULL when there are none. */
SINEW_API const double *sinew_mesh_uvs(const sinew_mesh *mesh);
/* Per corner, -1: none; NULL when there are none. */
SINEW_API const int *sinew_mesh_corner_uvs(const sinew_mesh *mesh);
SINEW_API int sinew_mesh_normal_count(const sinew_mesh *mesh);
/* 3 each; NULL when there are none. */
SINEW_API const double *sinew_mesh_normals(const sinew_mesh *mesh);
/* Per corner, -1: none; NULL when there are none. */
SINEW_API const int *sinew_mesh_corner_normals(const sinew_mesh *mesh);
SINEW_API int sinew_mesh_part_count(const sinew_mesh *mesh);
/* NULL outside 0 <= part < part_count. */
SINEW_API const char *sinew_mesh_part_name(const sinew_mesh *mesh, int part);
/* Per face, -1: no part; NULL: all faces belong to part 0. */
SINEW_API const int *sinew_mesh_face_parts(const sinew_mesh *mesh);

#ifdef __cplusplus
}
#endif
#endif
