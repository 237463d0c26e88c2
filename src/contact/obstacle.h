/* Obstacles from inside the library: the same question for sn_vec3, and bounds that let callers
 * skip what is far away. */
#ifndef SN_CONTACT_OBSTACLE_H
#define SN_CONTACT_OBSTACLE_H

#include <stdbool.h>

#include "base/vec3.h"
#include "sinew/obstacle.h"

/* "sphere:x,y,z,r" and its relatives taken apart; see sinew_obstacle_parse for the order of values.
 */
typedef enum sn_obstacle_shape {
    SN_OBSTACLE_PLANE,
    SN_OBSTACLE_SPHERE,
    SN_OBSTACLE_CAPSULE,
    SN_OBSTACLE_CYLINDER,
    SN_OBSTACLE_BOX
} sn_obstacle_shape;
typedef struct sn_obstacle_form {
    sn_obstacle_shape shape;
    double values[7];
} sn_obstacle_form;
sinew_status sn_obstacle_form_parse(const char *text, sn_obstacle_form *form, sinew_error *error);

/* Signed distance (negative inside) and the unit direction out. Beyond `reach` outside, meshes may
 * answer any distance above it. */
double sn_obstacle_query(const sinew_obstacle *obstacle, sn_vec3 point, double reach,
                         sn_vec3 *normal);

/* A point of a triangle: barycentric weights, how far outside (negative: inside), the direction
 * out. */
typedef struct sn_deepest {
    double b[3];
    double distance;
    sn_vec3 normal;
} sn_deepest;

static inline sn_vec3 sn_triangle_point(const sn_vec3 corner[3], const double b[3]) {
    return sn_add(sn_scale(b[0], corner[0]),
                  sn_add(sn_scale(b[1], corner[1]), sn_scale(b[2], corner[2])));
}

/* The deepest point, to about `tolerance`; false when none is nearer than `least`. */
bool sn_obstacle_deepest(const sinew_obstacle *obstacle, const sn_vec3 corner[3], double least,
                         double tolerance, sn_deepest *best);

/* A point that goes where the obstacle takes it: by its rigid motion, and by the triangle that was
 * nearest for meshes that deform. */
typedef struct sn_obstacle_anchor {
    int triangle; /* meshes */
    double barycentric[3];
    sn_vec3 offset; /* from there along two sides and the normal; primitives: the point itself */
} sn_obstacle_anchor;
void sn_obstacle_attach(const sinew_obstacle *obstacle, sn_vec3 point, sn_obstacle_anchor *anchor);
sn_vec3 sn_obstacle_carry(const sinew_obstacle *obstacle, const sn_obstacle_anchor *anchor);

/* sinew_obstacle_depths; false: the call was cancelled, and the depths are unfinished. */
bool sn_obstacle_depths(const sinew_obstacle *obstacle, const sinew_mesh *mesh,
                        const double *positions, const bool *skipped, const bool *changed,
                        double *vertex_depths, double *triangle_depths);

#endif
