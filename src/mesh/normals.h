/* Normals of triangles and vertices. Degenerate triangles and lone vertices get the zero vector. */
#ifndef SN_MESH_NORMALS_H
#define SN_MESH_NORMALS_H

#include "base/vec3.h"
#include "mesh/topology.h"

typedef enum sn_normal_weight {
    SN_NORMAL_ANGLE, /* by the angle at the vertex: does not depend on the triangulation */
    SN_NORMAL_AREA   /* by area: cheaper, no trigonometry */
} sn_normal_weight;

/* (b - a) x (c - a): twice the area, along the normal. */
static inline sn_vec3 sn_area_vector(const double *positions, const int *triangle) {
    sn_vec3 a = sn_at(positions, triangle[0]);
    return sn_cross(sn_sub(sn_at(positions, triangle[1]), a),
                    sn_sub(sn_at(positions, triangle[2]), a));
}

/* Unit normals, 3 per triangle. */
void sn_triangle_normals(int triangle_count, const int *triangles, const double *positions,
                         double *normals);
void sn_triangle_areas(int triangle_count, const int *triangles, const double *positions,
                       double *areas);
/* Unit normals, 3 per vertex; allocates nothing. */
void sn_vertex_normals(const sn_topology *topology, const double *positions,
                       sn_normal_weight weight, double *normals);
/* Volume enclosed by closed, outward triangles; by the origin's cone for open ones. */
double sn_enclosed_volume(int triangle_count, const int *triangles, const double *positions);

#endif
