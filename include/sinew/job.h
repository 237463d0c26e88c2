/* A job: a scene prepared for computing frames.
 *
 *   sinew_scene_read -> sinew_job_create   reads the rig, samples what drives it, builds the model
 *                    -> sinew_job_frame    the shape of one frame, in any order
 *                    -> sinew_job_run      a range of frames into the scene's outputs
 *                    -> sinew_job_report   figures of what was run, as JSON
 *
 * A job belongs to one thread at a time. The result of a frame does not depend on which frames were
 * computed before it: models with a past (force, friction) compute the frames before a range
 * automatically. Frames that do not depend on each other are solved several at once. */
#ifndef SINEW_JOB_H
#define SINEW_JOB_H

#include <stdint.h>

#include <stdbool.h>

#include "sinew/monitor.h"
#include "sinew/render.h"
#include "sinew/rig.h"
#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Default frame rate, frames per second. */
#define SINEW_JOB_FPS 30.0
/* A clip may have at most this many frames. */
#define SINEW_JOB_MAX_FRAMES 10000000

typedef struct sinew_job sinew_job;

/* Result of one frame. Fields that a model does not use are 0. */
typedef struct sinew_frame_info {
    uint32_t size;       /* of this structure in bytes; set by the caller */
    double time;         /* seconds */
    sinew_status status; /* SINEW_OK or SINEW_NOT_CONVERGED */
    int iterations;
    double residual; /* of the model's own measure, relative */
    double energy;
    double seconds; /* of computing */
    int inverted;   /* elements turned inside out */
    int contacts;   /* contact points */
} sinew_frame_info;

SINEW_API sinew_status sinew_job_create(const sinew_scene *scene, const sinew_monitor *monitor,
                                        sinew_job **job, sinew_error *error);
SINEW_API void sinew_job_destroy(sinew_job *job);

/* The rig lives as long as the job. */
SINEW_API const sinew_rig *sinew_job_rig(const sinew_job *job);
SINEW_API int sinew_job_frame_count(const sinew_job *job);
/* Seconds of frame 0 <= frame < count. */
SINEW_API double sinew_job_time(const sinew_job *job, int frame);
/* Slider weights of a frame after locks, one per slider; NULL for models without weights. */
SINEW_API const double *sinew_job_weights(const sinew_job *job, int frame);

/* positions[3 * vertex_count] of a frame. SINEW_NOT_CONVERGED: they hold the best shape reached.
 * info may be NULL. */
SINEW_API sinew_status sinew_job_frame(sinew_job *job, int frame, double *positions,
                                       sinew_frame_info *info, const sinew_monitor *monitor,
                                       sinew_error *error);

/* Frames first..last (inclusive; last -1: the end of the clip) into the scene's outputs. Outputs
 * appear under their names when all frames are done; a cancelled or failed run leaves none of them.
 * SINEW_NOT_CONVERGED: all outputs are written, but some frames did not reach their tolerance. */
SINEW_API sinew_status sinew_job_run(sinew_job *job, int first, int last,
                                     const sinew_monitor *monitor, sinew_error *error);

/* ---- parts -----------------------------------------------------------------------------------
 *
 * A clip can be cut into parts that run on different machines. A part holds its frames and figures;
 * where frames depend on earlier ones, a checkpoint holds the state after its last frame. Merging
 * the parts of a folder writes what a whole run would have written, bit for bit. */

/* Frames first..last (inclusive; last -1: the end of the clip) into a part in the folder, which is
 * created when missing, and a checkpoint where the model has a past. resume: start from the
 * checkpoint of another part that ends before `first`; SINEW_IO when it is not there. Without it
 * the earlier frames that the first one depends on are computed again. */
SINEW_API sinew_status sinew_job_run_part(sinew_job *job, int first, int last, const char *folder,
                                          bool resume, const sinew_monitor *monitor,
                                          sinew_error *error);
/* The same for the last part of a clip. If the folder has all other frames, it also merges the
 * parts (see sinew_job_merge) while it computes, which is faster than merging afterwards. *merged:
 * whether the outputs were written. If they were not, the part is complete all the same, and
 * sinew_job_merge reports why. If the part is more than half of the clip and ends it, and all
 * outputs are point caches, its positions are stored in the first output only: the part is valid as
 * long as that file is unchanged, and an output that cannot be written is an error. */
SINEW_API sinew_status sinew_job_run_last_part(sinew_job *job, int first, int last,
                                               const char *folder, bool resume,
                                               const sinew_monitor *monitor, bool *merged,
                                               sinew_error *error);
/* Whether frames depend on earlier ones. run (may be NULL): frames of a run, 0 unless
 * SINEW_PAST_RUN. */
SINEW_API sinew_past sinew_job_past(const sinew_job *job, int *run);
/* Prepares a folder of parts for a run that computes only what is missing: removes parts that are
 * damaged, belong to another scene or repeat frames of an earlier part. present[frame_count]
 * (caller-owned): whether a remaining part holds the frame. A missing folder holds no frames. */
SINEW_API sinew_status sinew_job_check_parts(sinew_job *job, const char *folder, bool *present,
                                             const sinew_monitor *monitor, sinew_error *error);
/* Joins the parts of the folder into the scene's outputs. SINEW_BAD_INPUT, and no output, when a
 * frame is missing or in two parts, or when a part is damaged or of another scene: the message
 * names the frame and the file. */
SINEW_API sinew_status sinew_job_merge(sinew_job *job, const char *folder,
                                       const sinew_monitor *monitor, sinew_error *error);

/* The report of the last run as JSON text; release with sinew_free. */
SINEW_API sinew_status sinew_job_report(const sinew_job *job, char **json, sinew_error *error);

/* ---- plots ----------------------------------------------------------------------------------- */

/* Writes a line plot to an image file. */
typedef sinew_status sinew_plot_function(const char *path, const char *title, const char *x_label,
                                         const char *y_label, int line_count,
                                         const sinew_line *lines, sinew_error *error);

/* Sets the function that draws the plots a scene asks for: sinew_plot_write of libsinew-render, or
 * a custom one. NULL, the default: such a scene fails with SINEW_UNAVAILABLE. */
SINEW_API void sinew_set_plot_function(sinew_plot_function *function);

#ifdef __cplusplus
}
#endif
#endif
