/* A pose of the artist's mesh read in rotation, strain and modes. */
#ifndef SN_MODAL_POSE_H
#define SN_MODAL_POSE_H

#include "modal/motion.h"

/* Columns, then turns and centers of the components. */
static inline int sn_track_count(const sinew_modal *modal) {
    return modal->modes->column_count + 6 * modal->body->rs->component_count;
}

/* The leftover is that of the body's own embedding. `inverted` (per element, may be NULL) is set
 * where the pose turns an element inside out. Allocates; release with sn_pose_free. */
sinew_status sn_pose_read(const sinew_modal *modal, const double *positions,
                          const sinew_monitor *monitor, bool *inverted, sn_pose *pose,
                          sinew_error *error);
void sn_pose_free(sn_pose *pose);
/* Packs the residual anew after it was changed. */
sinew_status sn_pose_pack(const sinew_modal *modal, sn_pose *pose, sinew_error *error);

/* A tet without positive volume; false for triangles. */
bool sn_is_inverted(const sn_rotation_strain *rs, const double *positions, int element);
int sn_inverted_elements(const sn_body *body, const double *positions);

#endif
