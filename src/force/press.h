/* Obstacles that press into the skin: a finger, a hand, glasses.
 *
 * Vertices that would lie inside an obstacle are pushed out by forces, and the whole skin yields
 * as flesh does: x = x* + N^-1 f, where N is the step's matrix with the bending that contact meets.
 * As N is one number per pair of vertices, the force on each pressed vertex is found in turn
 * (projected Gauss-Seidel): outwards only, and along the surface at most friction times that, so
 * that skin sticks to a finger that drags it until the pull is too strong. Triangles that an edge
 * or a corner of an obstacle enters between free vertices push their vertices away in the same way.
 */
#ifndef SN_FORCE_PRESS_H
#define SN_FORCE_PRESS_H

#include "cache/pack.h"
#include "contact/obstacle.h"
#include "force/inverse_block.h"
#include "force/skin.h"
#include "sinew/marker_map.h"

typedef struct sn_press sn_press;

/* mesh: the triangles of the skin. factor: of N, prepared for single precision. Both are borrowed.
 * gap: distance that is kept. */
sinew_status sn_press_create(const sn_skin *skin, const sinew_mesh *mesh, const sn_cholesky *factor,
                             double gap, sn_press **press, sinew_error *error);
void sn_press_destroy(sn_press *press);
/* Nothing was pressed before. */
void sn_press_reset(sn_press *press);
void sn_press_pack(const sn_press *press, sn_pack *pack);
void sn_press_unpack(sn_press *press, sn_unpack *unpack);
/* x[3n], seen from the head at `head`, is moved out of the obstacles. *pressed: vertices that
 * touch.
 */
sinew_status sn_press_solve(sn_press *press, int obstacle_count,
                            const sinew_obstacle *const *obstacles, const sinew_rigid *head,
                            double friction, double *x, int *pressed, sinew_error *error);

#endif
