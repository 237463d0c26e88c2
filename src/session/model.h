/* What a model is to a job: a table of functions. One file per model, src/session/model_NAME.c,
 * listed in models.c. An adaptor turns the scene into the model's own options, and the model's own
 * info into the report; it holds no mathematics. */
#ifndef SN_SESSION_MODEL_H
#define SN_SESSION_MODEL_H

#include <jansson.h>

#include "session/scene.h"
#include "sinew/cache.h"
#include "sinew/curves.h"
#include "sinew/job.h"

/* What drives the rig over time, sampled at the frames. */
typedef struct sn_clip {
    int frame_count;
    double rate;            /* frames per second */
    double *times;          /* seconds, per frame */
    double *weights;        /* per frame a row of slider weights, after locks; NULL: none given */
    sinew_markers *markers; /* of the scene's "markers", in the rig's unit; or NULL */
} sn_clip;

/* Everything a model is built from; all of it outlives the model. */
typedef struct sn_model_setup {
    const sinew_scene *scene; /* parameters, obstacles, pins, pulls, keys: see session/scene.h */
    const sinew_rig *rig;
    const sn_clip *clip;
    sinew_cache *cache; /* may be NULL */
    json_t *report;     /* add what was built: sizes, notes, "terms" */
    const sinew_monitor *monitor;
} sn_model_setup;

/* A parameter that does nothing without a thing, or beside a thing. A thing is a parameter that is
 * set and not off, "method=sbs" (the word of a choice), a key of the scene, or "outputs.NAME". */
typedef struct sn_idle_rule {
    const char *parameter;
    const char *without, *with; /* one of them is NULL */
} sn_idle_rule;

struct sinew_model {
    const char *name;
    const char *summary; /* one line */
    int parameter_count;
    const sinew_parameter *parameters;
};

typedef struct sn_model_kind {
    sinew_model about; /* name, summary and parameters, as scenes and studios see them */
    /* Names of outputs beyond "frames", "report" and "curves", ended by NULL; NULL: none. */
    const char *const *outputs;
    /* Keys of the scene it listens to beyond the rig and what drives it, ended by NULL; NULL: none.
     * Of "obstacles", "pins", "orientations", "pulls", "keys", "markers"; what it does not use is a
     * warning. */
    const char *const *uses;
    /* Parameters that the scene sets in vain are warned of; ended by a NULL parameter; NULL: none.
     */
    const sn_idle_rule *idle;
    /* Poses, keys or markers drive it: the scene need not give weights, curves or steps. */
    bool needs_no_weights;

    /* Frames are best computed in runs of this many, each from the one before; a run starts at the
     * multiples. A range of a clip then begins at the start of its run, so that its frames are the
     * same bits as in the whole clip. 0: frames know nothing of each other; INT_MAX: all of them
     * are one run. */
    int run_length;

    sinew_status (*create)(const sn_model_setup *setup, void **model, sinew_error *error);
    void (*destroy)(void *model);

    /* positions[3 * vertex_count] of a frame of the clip; frames come in any order. `fields` is
     * NULL, or this frame's object in the report, to which the model may add. */
    sinew_status (*frame)(void *model, int frame, double *positions, sinew_frame_info *info,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error);

    /* Around a run, for the model's own outputs; each may be NULL. `begin` opens them; `end` is
     * called once for every run whose begin did not fail, with complete false when the run was
     * cancelled or failed: the outputs must then leave nothing behind. */
    sinew_status (*begin)(void *model, int first, int last, sinew_error *error);
    sinew_status (*end)(void *model, bool complete, json_t *report, sinew_error *error);
} sn_model_kind;

extern const sn_model_kind sn_model_linear;
extern const sn_model_kind sn_model_rotation;
extern const sn_model_kind sn_model_spring;
extern const sn_model_kind sn_model_modal;
extern const sn_model_kind sn_model_force;
extern const sn_model_kind sn_model_fit;

/* NULL when there is none of that name. */
const sn_model_kind *sn_model_kind_find(const char *name);

#endif
