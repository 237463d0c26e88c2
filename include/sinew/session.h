/* A session: a rig, a model and a scene that stay alive while values change.
 *
 *   sinew_session_create   a document (scene) and where its files come from
 *   sinew_session_patch    change it (JSON Patch); the inverse patch is returned, for undo
 *   sinew_session_solve    the shape of given weights, or of a frame or time of the clip
 *
 * A patch changes only the document, in microseconds. The next solve rebuilds what the patch
 * requires, at most its cost (sinew_cost); sinew_session_prepare does so ahead of time.
 *
 *   sinew_session *session;
 *   sinew_session_options options;
 *   sinew_session_options_init(&options);
 *   options.loader = sinew_file_loader();
 *   sinew_session_create(scene, &options, &session, &error);
 *   sinew_session_patch(session,
 *       "[{\"op\": \"replace\", \"path\": \"/weights/smile\", \"value\": 0.5}]",
 *       &undo, NULL, &error);
 *   sinew_session_solve(session, &input, &result, NULL, &error);
 *
 * Threads. The document is guarded: sinew_session_patch, _text, _get, _revision, _cancel and
 * sinew_solver_create may be called from any thread at any time. A solver is a snapshot of the
 * session with a separate state, for one thread: it solves the revision of its last
 * sinew_solver_update while patches continue. Solvers of one session share the rig and the
 * structure. sinew_session_solve and the functions that query the clip and the rig use the
 * session's own solver and must be called from one thread at a time. */
#ifndef SINEW_SESSION_H
#define SINEW_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "sinew/cache.h"
#include "sinew/capture.h"
#include "sinew/loader.h"
#include "sinew/manipulate.h"
#include "sinew/modal.h"
#include "sinew/model.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"
#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_session sinew_session;
typedef struct sinew_solver sinew_solver;

typedef struct sinew_session_options {
    uint32_t size;
    /* Reads the scene's files; must outlive the session. NULL: a scene that names a file is
     * SINEW_UNAVAILABLE when it is solved. */
    const sinew_loader *loader;
    /* The rig, instead of the scene's "rig", which is then ignored and may be absent. Copied. NULL:
     * the scene's. To make one from arrays see sinew_mesh_create and sinew_rig_add_pose. */
    const sinew_rig *rig;
    /* Keeps expensive structures between programs; must outlive the session. NULL: nothing is
     * kept. */
    sinew_cache *cache;
} sinew_session_options;

SINEW_API void sinew_session_options_init(sinew_session_options *options);

/* The scene is copied. options may be NULL. Nothing is loaded or built yet: a scene that is not
 * complete makes a session that can be patched, and fails when it is solved. */
SINEW_API sinew_status sinew_session_create(const sinew_scene *scene,
                                            const sinew_session_options *options,
                                            sinew_session **session, sinew_error *error);
/* Destroy its solvers first. */
SINEW_API void sinew_session_destroy(sinew_session *session);

/* ---- the document ---------------------------------------------------------------------------- */

typedef struct sinew_session_change {
    uint32_t size;
    uint64_t revision; /* after the patch */
    sinew_cost cost;   /* the most that any of its operations costs */
    int operations;
} sinew_session_change;

SINEW_API void sinew_session_change_init(sinew_session_change *change);

/* Applies a JSON Patch (RFC 6902): a list of operations add, remove, replace, move, copy and test,
 * each with a JSON pointer as its path. Either all of it is applied or nothing is. Only what an
 * operation touches is checked against the schema, so the time does not grow with the document.
 *
 * inverse (may be NULL): the patch that undoes this one; release with sinew_free. Applying the
 * inverses of any sequence of patches in reverse order gives back the same document, byte for
 * byte: the order of keys included. For that, operations of an inverse that restore a key of an
 * object may carry a member "before": the key in front of which the restored one belongs. A patch
 * without it appends, because JSON Patch does not define an order.
 *
 * change (may be NULL). An empty list of operations is a valid patch and makes no new revision.
 * Returns SINEW_BAD_INPUT and names the operation and the location as JSON pointers, also for a
 * failed "test". */
SINEW_API sinew_status sinew_session_patch(sinew_session *session, const char *patch,
                                           char **inverse, sinew_session_change *change,
                                           sinew_error *error);
/* Sets one value: shorthand for a patch that adds or replaces it, creating parents as needed. */
SINEW_API sinew_status sinew_session_set(sinew_session *session, const char *pointer,
                                         const char *json, char **inverse,
                                         sinew_session_change *change, sinew_error *error);
/* Starts at 1 and grows by 1 with every patch. */
SINEW_API uint64_t sinew_session_revision(const sinew_session *session);
/* The document as JSON text, as sinew_scene_write stores it; release with sinew_free. */
SINEW_API sinew_status sinew_session_text(const sinew_session *session, char **json,
                                          sinew_error *error);
/* The value at a pointer as JSON text, NULL when there is none; release with sinew_free. */
SINEW_API sinew_status sinew_session_get(const sinew_session *session, const char *pointer,
                                         char **json, sinew_error *error);
/* A copy of the document. */
SINEW_API sinew_status sinew_session_scene(const sinew_session *session, sinew_scene **scene,
                                           sinew_error *error);
/* What a change of the value at a pointer costs at most. */
SINEW_API sinew_status sinew_session_cost(const sinew_session *session, const char *pointer,
                                          sinew_cost *cost, sinew_error *error);

/* ---- solving --------------------------------------------------------------------------------- */

/* Loads and builds what the newest revision needs: rig, structure, clip. Does nothing when
 * everything is up to date. A failed or cancelled call leaves the session unchanged. */
SINEW_API sinew_status sinew_session_prepare(sinew_session *session, const sinew_monitor *monitor,
                                             sinew_error *error);
/* Prepares and solves the newest revision. input NULL: frame 0 of the clip. */
SINEW_API sinew_status sinew_session_solve(sinew_session *session, const sinew_input *input,
                                           sinew_result *result, const sinew_monitor *monitor,
                                           sinew_error *error);
/* Cancels every solve and preparation of the session that is under way, of all its solvers; those
 * that begin later are not affected. From any thread. */
SINEW_API void sinew_session_cancel(sinew_session *session);

/* What was built, as a JSON object: sizes, modes, notes, "warnings"; release with sinew_free.
 * Prepares nothing: {} before the first solve. */
SINEW_API sinew_status sinew_session_describe(const sinew_session *session, char **json,
                                              sinew_error *error);

/* The session's own solver, for the functions below; lives as long as the session. */
SINEW_API sinew_solver *sinew_session_solver(sinew_session *session);

/* ---- solvers: snapshots with a state --------------------------------------------------------- */

/* A solver at the newest revision; loads and builds what it needs. */
SINEW_API sinew_status sinew_solver_create(sinew_session *session, const sinew_monitor *monitor,
                                           sinew_solver **solver, sinew_error *error);
SINEW_API void sinew_solver_destroy(sinew_solver *solver);
/* Brings the solver to the newest revision. The state is kept where the changes since then cost
 * nothing (SINEW_COST_NOTHING), and reset otherwise. On failure the solver stays at its revision.
 */
SINEW_API sinew_status sinew_solver_update(sinew_solver *solver, const sinew_monitor *monitor,
                                           sinew_error *error);
SINEW_API uint64_t sinew_solver_revision(const sinew_solver *solver);
/* Solves the solver's revision. */
SINEW_API sinew_status sinew_solver_solve(sinew_solver *solver, const sinew_input *input,
                                          sinew_result *result, const sinew_monitor *monitor,
                                          sinew_error *error);

/* What was built for the solver, as sinew_session_describe. */
SINEW_API sinew_status sinew_solver_describe(const sinew_solver *solver, char **json,
                                             sinew_error *error);

/* The take that the model follows: its markers on the face and over time. NULL when it follows no
 * take or nothing was built; valid until the next update or destroy. */
SINEW_API const sinew_capture *sinew_solver_capture(const sinew_solver *solver);
/* The modes of a modal scene, for sinew_modal_shape; NULL for other models or when nothing was
 * built. Valid until the next update or destroy. */
SINEW_API const sinew_modal *sinew_solver_modal(const sinew_solver *solver);
/* How those modes move over the clip, for sinew_modal_motion_weights; NULL and valid as above. */
SINEW_API const sinew_modal_motion *sinew_solver_modal_motion(const sinew_solver *solver);

/* Whether frames depend on earlier ones. run (may be NULL): frames of a run, 0 unless
 * SINEW_PAST_RUN. */
SINEW_API sinew_past sinew_solver_past(const sinew_solver *solver, int *run);
/* The same for the session's own solver. */
SINEW_API sinew_past sinew_session_past(const sinew_session *session, int *run);

/* The rig that it solves, NULL before the first preparation; valid until an update that costs
 * SINEW_COST_RIG. */
SINEW_API const sinew_rig *sinew_solver_rig(const sinew_solver *solver);
SINEW_API const sinew_rig *sinew_session_rig(const sinew_session *session);

typedef struct sinew_clip_info {
    uint32_t size;
    int frame_count;
    double rate; /* frames per second */
    double start, end;
    bool has_weights; /* false: keys or markers drive the model */
} sinew_clip_info;

SINEW_API void sinew_clip_info_init(sinew_clip_info *info);
/* The clip of the solver's revision. */
SINEW_API sinew_status sinew_solver_clip(const sinew_solver *solver, sinew_clip_info *info,
                                         sinew_error *error);
SINEW_API sinew_status sinew_session_clip(const sinew_session *session, sinew_clip_info *info,
                                          sinew_error *error);
/* Seconds of frame 0 <= frame < frame_count; 0 outside. */
SINEW_API double sinew_solver_frame_time(const sinew_solver *solver, int frame);
/* Slider weights that an input results in, after locks: weights[slider_count]. SINEW_BAD_INPUT when
 * the clip has no weights and the input gives none. */
SINEW_API sinew_status sinew_solver_weights(sinew_solver *solver, const sinew_input *input,
                                            double *weights, sinew_error *error);
/* The linear shape of the same input, for a ghost or a comparison. positions[3 * vertex_count] and
 * positions_float may be NULL. Models that markers or keys drive give the neutral where the input
 * has no weights. */
SINEW_API sinew_status sinew_solver_linear(sinew_solver *solver, const sinew_input *input,
                                           double *positions, float *positions_float,
                                           sinew_error *error);
/* Direct manipulation: slider weights that bring the dragged vertices to their targets, starting at
 * now[slider_count] (NULL: the rest weights); the scene's locks hold. weights may be `now`. */
SINEW_API sinew_status sinew_solver_drag(sinew_solver *solver, int drag_count,
                                         const sinew_drag *drags, const double *now,
                                         double *weights, sinew_manipulate_info *info,
                                         sinew_error *error);

/* ---- state ----------------------------------------------------------------------------------- */

/* Discards the state: the next frame is the first. */
SINEW_API void sinew_solver_reset(sinew_solver *solver);
/* Both solvers must be of one session and of the same structure; SINEW_BAD_INPUT otherwise. */
SINEW_API sinew_status sinew_solver_copy_state(sinew_solver *to, const sinew_solver *from,
                                               sinew_error *error);
/* The state as bytes that hold a version, a checksum and the key of the structure. Release with
 * sinew_free. Models without a past save a few bytes. */
SINEW_API sinew_status sinew_solver_save_state(const sinew_solver *solver, void **bytes,
                                               size_t *size, sinew_error *error);
/* Later frames have the same bits as if the clip had been solved up to there. Returns
 * SINEW_BAD_INPUT and keeps the state when the bytes are damaged, of another version, or of another
 * structure. */
SINEW_API sinew_status sinew_solver_load_state(sinew_solver *solver, const void *bytes, size_t size,
                                               sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
