/* Obstacles from inside the library: the same question for sn_vec3, and bounds that let callers
 * skip what is far away. */
#ifndef SN_CONTACT_OBSTACLE_H
#define SN_CONTACT_OBSTACLE_H

#include <stdbool.h>

#include "base/vec3.h"
#include "sinew/obstacle.h"

/* Signed distance (negative inside) and the unit direction out. Beyond `reach` outside, meshes may
 * answer any distance above it. */
double sn_obstacle_query(const sinew_obstacle *obstacle, sn_vec3 point, double reach,
                         sn_vec3 *normal);

#endif
