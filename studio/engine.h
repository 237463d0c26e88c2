/* Shapes of a scene, for the solver thread: the one place of the studio that calls models. */
#ifndef STUDIO_ENGINE_H
#define STUDIO_ENGINE_H

#include <stdint.h>

#include <sinew/sinew.h>

typedef struct engine engine;

typedef struct engine_clip {
    int frame_count; /* 0: no clip */
    double rate, start;
} engine_clip;

typedef struct engine_shape {
    /* in: the caller's arrays */
    float *positions; /* 3 per vertex */
    float *linear;    /* 3 per vertex */
    double *weights;  /* one per slider */
    /* out */
    sinew_status status; /* OK or NOT_CONVERGED */
    double time, residual, seconds, build_seconds;
    int iterations, contacts, inverted;
    uint64_t revision;
} engine_shape;

sinew_status engine_create(engine **out, sinew_error *error);
void engine_destroy(engine *e);

/* Brings it to a scene; rebuilds no more than that takes. *rig_changed: sliders and mesh are new.
 */
sinew_status engine_update(engine *e, const sinew_scene *scene, uint64_t revision,
                           const sinew_monitor *monitor, bool *rig_changed, sinew_error *error);
const sinew_rig *engine_rig(const engine *e);
void engine_get_clip(const engine *e, engine_clip *clip);

/* frame -1: the pose of the scene's weights; otherwise a frame of the clip. */
sinew_status engine_solve(engine *e, int frame, engine_shape *shape, const sinew_monitor *monitor,
                          sinew_error *error);
/* Slider weights that bring a vertex to a target: now -> weights. */
sinew_status engine_drag(engine *e, int vertex, const double target[3], const double *now,
                         double *weights, sinew_error *error);

#endif
