/* Obstacles: solid primitives and closed meshes that a shape must not penetrate, static or moving.
 *
 * An obstacle provides the signed distance of a point (negative inside) and the direction out of
 * it. It may be shared between threads while it is not being moved. */
#ifndef SINEW_OBSTACLE_H
#define SINEW_OBSTACLE_H

#include "sinew/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_obstacle sinew_obstacle;

/* The half-space behind the plane through `point`; the normal points out of it. */
SINEW_API sinew_status sinew_obstacle_create_plane(const double point[3], const double normal[3],
                                                   sinew_obstacle **obstacle, sinew_error *error);
SINEW_API sinew_status sinew_obstacle_create_sphere(const double center[3], double radius,
                                                    sinew_obstacle **obstacle, sinew_error *error);
/* All points within `radius` of the segment a b. */
SINEW_API sinew_status sinew_obstacle_create_capsule(const double a[3], const double b[3],
                                                     double radius, sinew_obstacle **obstacle,
                                                     sinew_error *error);
/* With flat ends at a and b. */
SINEW_API sinew_status sinew_obstacle_create_cylinder(const double a[3], const double b[3],
                                                      double radius, sinew_obstacle **obstacle,
                                                      sinew_error *error);
/* Along the axes; half[3]: half the side lengths. */
SINEW_API sinew_status sinew_obstacle_create_box(const double center[3], const double half[3],
                                                 sinew_obstacle **obstacle, sinew_error *error);
/* The inside of a mesh's triangles; small holes are closed by the winding number. */
SINEW_API sinew_status sinew_obstacle_create_mesh(const sinew_mesh *mesh, sinew_obstacle **obstacle,
                                                  sinew_error *error);
/* "plane:x,y,z,nx,ny,nz", "sphere:x,y,z,r", "capsule:ax,ay,az,bx,by,bz,r",
 * "cylinder:ax,ay,az,bx,by,bz,r", "box:x,y,z,hx,hy,hz". Returns SINEW_BAD_INPUT with the expected
 * form. */
SINEW_API sinew_status sinew_obstacle_parse(const char *text, sinew_obstacle **obstacle,
                                            sinew_error *error);
SINEW_API void sinew_obstacle_destroy(sinew_obstacle *obstacle);

/* Sets the rotation (row-major 3x3, NULL: none) and translation (NULL: none) relative to where it
 * was created. */
SINEW_API void sinew_obstacle_move(sinew_obstacle *obstacle, const double rotation[9],
                                   const double translation[3]);
/* New positions of a mesh obstacle's vertices, as many as its mesh had. */
SINEW_API sinew_status sinew_obstacle_set_positions(sinew_obstacle *obstacle,
                                                    const double *positions, sinew_error *error);

/* Signed distance of a point (negative inside), and the unit direction out of the obstacle; normal
 * may be NULL. */
SINEW_API double sinew_obstacle_distance(const sinew_obstacle *obstacle, const double point[3],
                                         double normal[3]);
/* Depth of the deepest point of a triangle; 0: the triangle is outside. corners: 3 x 3. */
SINEW_API double sinew_obstacle_triangle_depth(const sinew_obstacle *obstacle,
                                               const double corners[9]);

/* Penetration depths, >= 0, of the vertices and triangles of a mesh at positions[3 * vertex_count]:
 * vertex_depths[vertex_count], triangle_depths[triangle_count]. Vertices that are skipped (NULL:
 * none) and elements without a changed vertex (NULL: all) keep their value. The blend of the depths
 * in the poses of a rig is the depth that a solve allows in between. */
SINEW_API void sinew_obstacle_depths(const sinew_obstacle *obstacle, const sinew_mesh *mesh,
                                     const double *positions, const bool *skipped,
                                     const bool *changed, double *vertex_depths,
                                     double *triangle_depths);

#ifdef __cplusplus
}
#endif
#endif
