/* Links between parts that hold where it counts.
 *
 * The stiffness of links is a compromise: stiff links keep parts together and pass the distortion
 * of one part on to the next. So links start out soft, targets are tried on the way, and the links
 * that parts would pull apart there become stiffer, until none is much longer than in both poses.
 */
#ifndef SN_RIG_ROTATION_TRIAL_H
#define SN_RIG_ROTATION_TRIAL_H

#include "rig/rotation_structure.h"

/* Whether the blended rotations of elements fit together, for rigs with one target: the fewest
 * refinements of a frame (often none) with which the lengths of the half-way shape are not worse
 * than those of linear blending, and not poor. */
sinew_status sn_rotation_choose_refinements(sinew_rotation *rotation, const sinew_rig *rig,
                                            const sinew_monitor *monitor, sinew_error *error);

/* Lets the refinements of a rig with one target start on the straight line to its pose. */
sinew_status sn_rotation_draw_line(sinew_rotation *rotation, sinew_error *error);

/* After the targets are measured. Factors the system again when links have changed. */
sinew_status sn_rotation_stiffen_links(sinew_rotation *rotation, const sinew_rig *rig,
                                       const sinew_monitor *monitor, sinew_error *error);

#endif
