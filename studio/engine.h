/* Shapes of a session, for the solver thread: the one place of the studio that calls models. */
#ifndef STUDIO_ENGINE_H
#define STUDIO_ENGINE_H

#include <stdint.h>

#include <sinew/sinew.h>

#include "project.h"

typedef struct engine engine;

typedef struct engine_clip {
    int frame_count; /* 0: no clip */
    double rate, start;
} engine_clip;

enum { ENGINE_CONTACTS = 4096 }; /* contact points sent with a shape, at most */

typedef struct engine_shape {
    float *positions; /* 3 per vertex */
    float *linear;    /* 3 per vertex: the linear blend of the same weights */
    double *weights;  /* one per slider, after locks */
    sinew_contact *contacts;
    sinew_result result; /* figures of the solve */
    bool rough;          /* it may have stopped early */
} engine_shape;

sinew_status engine_create(engine **out, sinew_error *error);
void engine_destroy(engine *e);

/* Another session: loads its rig and shows the linear blend until the model is built. */
sinew_status engine_preview(engine *e, shared_session *shared, const sinew_monitor *monitor,
                            sinew_error *error);
bool engine_is_new(const engine *e, const shared_session *shared);
/* True: shapes are the linear blend because the model is not built yet. */
bool engine_is_preview(const engine *e);
/* The linear blend of the newest weights as the shape, while another call builds the model. False:
 * there is no rig yet. */
bool engine_blend(engine *e, const shared_session *shared);
/* Brings the solver to the newest revision; rebuilds no more than that takes. Keeps `shared`. */
sinew_status engine_update(engine *e, shared_session *shared, const sinew_monitor *monitor,
                           bool *rig_changed, sinew_error *error);
const sinew_rig *engine_rig(const engine *e);
/* A copy of the scene that is shown. */
sinew_status engine_scene(const engine *e, sinew_scene **scene, sinew_error *error);
void engine_get_clip(const engine *e, engine_clip *clip);
double engine_frame_time(const engine *e, int frame);
/* The take that the model follows, or NULL. */
const sinew_capture *engine_capture(const engine *e);
/* The modes that a modal scene swings in, or NULL. */
const sinew_modal *engine_modal(const engine *e);
/* How they move over the clip, or NULL. */
const sinew_modal_motion *engine_motion(const engine *e);
/* True: shapes of the pose go on moving while the weights stay. */
bool engine_has_past(const engine *e);

/* frame -1: the pose of the scene's weights; otherwise a frame of the clip. Fills engine_shape.
 * moving: a rough shape of a pose will do, where its model knows one. */
sinew_status engine_solve(engine *e, int frame, bool moving, const sinew_monitor *monitor,
                          sinew_error *error);
const engine_shape *engine_get_shape(const engine *e);
/* All figures of a frame of the clip as JSON, lists included; release with sinew_free. positions:
 * 3 per vertex, or NULL. The shape that is shown stays. */
sinew_status engine_figures(engine *e, int frame, const sinew_monitor *monitor, float *positions,
                            char **json, sinew_error *error);
/* Slider weights of a frame of the clip, one per slider. */
sinew_status engine_weights(engine *e, int frame, double *weights, sinew_error *error);
/* Slider weights that bring a vertex to a target, from those of the last shape. */
sinew_status engine_drag(engine *e, int vertex, const double target[3], double *weights,
                         sinew_error *error);

#endif
