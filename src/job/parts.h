/* Parts of a clip in a folder: frames first..last of a scene, and the state after them.
 *
 *   frames-000012-000023.part     a record per frame: positions, figures, what outputs need;
 *                                 positions in float32 where no output has more digits, and none
 *                                 where the outputs were written at the same time: the first of
 *                                 them has them
 *   state-000024.state            the state that frame 24 starts from
 *
 * Both begin with the key of the scene and are checked by sums. They appear under their names when
 * they are complete. */
#ifndef SN_JOB_PARTS_H
#define SN_JOB_PARTS_H

#include "job/crew.h"

typedef struct sn_part_writer sn_part_writer;
/* elsewhere: the positions are left to the outputs, which must be complete before the part is
 * closed
 */
sinew_status sn_part_create(const char *folder, const sinew_scene *scene,
                            const sinew_solver *solver, int first, int last, bool elsewhere,
                            sn_part_writer **part, sinew_error *error);
/* Whether the first output holds the same positions, so that a part need not. */
bool sn_part_can_leave_positions(const sinew_scene *scene, const sinew_solver *solver);
sinew_status sn_part_add(sn_part_writer *part, const sn_frame *frame, sinew_error *error);
/* The positions of the frame added last in float32; NULL: the part has them in float64. */
float *sn_part_single(const sn_part_writer *part);
sinew_status sn_part_close(sn_part_writer *part, sinew_error *error);
void sn_part_abandon(sn_part_writer *part);

sinew_status sn_checkpoint_write(const char *folder, const sinew_scene *scene,
                                 const sinew_solver *solver, int next, sinew_error *error);
sinew_status sn_checkpoint_read(const char *folder, const sinew_scene *scene, sinew_solver *solver,
                                int next, sinew_error *error);

/* Frames first..last; last < first: none. */
typedef struct sn_frame_range {
    int first, last;
} sn_frame_range;

/* The parts of a folder, in order. SINEW_BAD_INPUT names the first frame that is missing or that
 * two parts have, or the part that is damaged or of another scene. gap: frames that no part may
 * have. */
typedef struct sn_part_list sn_part_list;
sinew_status sn_parts_open(const char *folder, const sinew_scene *scene, const sinew_solver *solver,
                           sn_frame_range gap, sn_part_list **parts, sinew_error *error);
void sn_parts_close(sn_part_list *parts);
/* The parts that lie in the range. */
sinew_status sn_parts_read(const sn_part_list *parts, sn_frame_range range,
                           const sinew_scene *scene, sinew_solver *solver, sn_take_frame *take,
                           void *user, const sinew_monitor *monitor, sinew_error *error);

/* Reads every part of the folder, removes those that a merge would refuse, and sets
 * present[frame_count]. */
sinew_status sn_parts_check(const char *folder, const sinew_scene *scene, sinew_solver *solver,
                            bool *present, const sinew_monitor *monitor, sinew_error *error);

#endif
