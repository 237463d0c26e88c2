/* The frames of a range, one after the other or several at once. */
#ifndef SN_JOB_CREW_H
#define SN_JOB_CREW_H

#include "job/outputs.h"

/* Solvers beside the job's own, one per thread; NULL: not created yet. All zero: none. */
typedef struct sn_crew {
    int count;
    sinew_solver **solvers;
} sn_crew;
void sn_crew_free(sn_crew *crew);

/* One frame of the clip. fields may be NULL. */
sinew_status sn_solve_frame(sinew_solver *solver, int frame, double *positions,
                            sinew_frame_info *info, json_t *fields, const sinew_monitor *monitor,
                            sinew_error *error);

typedef sinew_status sn_take_frame(void *user, sn_frame *frame, sinew_error *error);

/* Solves frames first..last and hands them over in order. Frames that do not depend on each other,
 * or runs of them, are solved at once, one solver per thread: the same bits, and no more in memory
 * than one and a half runs per thread, or two single frames per thread and four. Models that solve
 * many frames at once on a device do so. */
sinew_status sn_run_frames(sn_crew *crew, const sinew_scene *scene, sinew_solver *solver, int first,
                           int last, sn_take_frame *take, void *user, const sinew_monitor *monitor,
                           sinew_error *error);

#endif
