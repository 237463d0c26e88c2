/* Solid things that a shape must stay out of: primitives and closed meshes, still or moving.
 *
 * An obstacle answers one question: how far is a point outside (negative: inside), and which way is
 * out. It may be shared by threads while nobody moves it. */
#ifndef SINEW_OBSTACLE_H
#define SINEW_OBSTACLE_H

#include "sinew/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_obstacle sinew_obstacle;

/* Everything behind the plane through `point`; the normal points into the open. */
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
/* The inside of a mesh's triangles; small holes are bridged by the winding of what is there. */
SINEW_API sinew_status sinew_obstacle_create_mesh(const sinew_mesh *mesh, sinew_obstacle **obstacle,
                                                  sinew_error *error);
/* "plane:x,y,z,nx,ny,nz", "sphere:x,y,z,r", "capsule:ax,ay,az,bx,by,bz,r",
 * "cylinder:ax,ay,az,bx,by,bz,r", "box:x,y,z,hx,hy,hz". SINEW_BAD_INPUT says what is expected. */
SINEW_API sinew_status sinew_obstacle_parse(const char *text, sinew_obstacle **obstacle,
                                            sinew_error *error);
SINEW_API void sinew_obstacle_destroy(sinew_obstacle *obstacle);

/* Put it at rotation (row-major 3x3, NULL: none) and translation (NULL: none) from where it was
 * made. */
SINEW_API void sinew_obstacle_move(sinew_obstacle *obstacle, const double rotation[9],
                                   const double translation[3]);
/* New positions of a mesh obstacle's vertices, as many as its mesh had. */
SINEW_API sinew_status sinew_obstacle_set_positions(sinew_obstacle *obstacle,
                                                    const double *positions, sinew_error *error);

/* Signed distance of a point (negative inside), and the unit direction out of the obstacle; normal
 * may be NULL. */
SINEW_API double sinew_obstacle_distance(const sinew_obstacle *obstacle, const double point[3],
                                         double normal[3]);
/* How deep the deepest point of a triangle is inside; 0: it is outside. corners: 3 x 3. */
SINEW_API double sinew_obstacle_triangle_depth(const sinew_obstacle *obstacle,
                                               const double corners[9]);

/* How deep the vertices and triangles of a mesh at positions[3 * vertex_count] are in the obstacle,
 * >= 0: vertex_depths[vertex_count], triangle_depths[triangle_count]. Vertices that are skipped
 * (NULL: none) and what none of the changed vertices (NULL: all) touches keep their value. The
 * depths in the poses of a rig, blended, are what a solve may allow in between. */
SINEW_API void sinew_obstacle_depths(const sinew_obstacle *obstacle, const sinew_mesh *mesh,
                                     const double *positions, const bool *skipped,
                                     const bool *changed, double *vertex_depths,
                                     double *triangle_depths);

#ifdef __cplusplus
}
#endif
#endif
