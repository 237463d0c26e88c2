/* What a model is to a session: a table of functions. One file per model,
 * src/session/model_NAME.c, listed in models.c. An adapter turns the scene into the model's own
 * options and the model's own info into figures; it holds no mathematics.
 *
 *   structure   immutable, expensive, shared by the solvers of a session   build, discard
 *   derived     likewise: what a clip and the parameters make of it        derive, forget
 *   model       what the scene specifies beyond it (obstacles, pins, settings)
 *               and the state: one per solver                              create, update, destroy
 *
 * The session manages the order of frames: `solve` advances by one frame from the state as it
 * is, and the session resets, repeats and restores as `past` demands. */
#ifndef SN_SESSION_MODEL_H
#define SN_SESSION_MODEL_H

#include <jansson.h>

#include "cache/pack.h"
#include "session/clip.h"
#include "session/scene.h"
#include "sinew/cache.h"
#include "sinew/capture.h"
#include "sinew/loader.h"
#include "sinew/model.h"
#include "sinew/monitor.h"

/* What a model is built and updated from. Rig and cache outlive the model; the rest is valid during
 * the call alone. */
typedef struct sn_model_setup {
    const sinew_scene *scene;
    const sinew_rig *rig;
    const sn_clip *clip;
    const sinew_loader *loader; /* through session/load.h */
    sinew_cache *cache;         /* may be NULL */
    const void *derived;        /* of `create` and `update` alone, outlives the model's use of it */
    json_t *report;             /* of `build` alone: add what was built: sizes, notes, "terms" */
    const sinew_monitor *monitor;
} sn_model_setup;

/* One frame to solve. */
typedef struct sn_ask {
    const double *weights; /* per slider, after locks; NULL: the clip has none */
    const double *markers; /* given by the caller, or NULL: the clip's */
    const double *command; /* given by the caller, per target, or NULL */
    const double *pins;    /* given by the caller, 3 per pinned vertex, or NULL: the scene's */
    int pin_count;
    int pull_count, obstacle_count; /* given by the caller beside the scene's */
    const struct sinew_spring_pull *pulls;
    const struct sinew_obstacle *const *obstacles;
    int frame;        /* of the clip, or -1: live */
    int sample;       /* frame of the clip nearest to the time, for caches that count frames */
    double time;      /* seconds */
    sinew_rigid head; /* where the clip has the head, when head_moves */
    bool head_moves;  /* results stay as seen from the head all the same */
    double tolerance; /* at which a live solve may stop, where it is larger than the scene's */
    sinew_contact *contacts; /* wanted contact points, or NULL */
    int contact_capacity;
} sn_ask;

/* A parameter that does nothing without a thing, or beside a thing. A thing is a parameter that is
 * set and not off, "method=sbs" (the word of a choice), a key of the scene, "outputs.NAME", or "A
 * or B". */
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
    /* Keys of the scene it reads beyond the rig and what drives it, ended by NULL; NULL: none. Of
     * "obstacles", "pins", "orientations", "pulls", "keys", "markers"; others give a warning. */
    const char *const *uses;
    /* Parameters that have no effect cause a warning; ended by a NULL parameter; NULL: none.
     */
    const sn_idle_rule *idle;
    /* Poses, keys or markers drive it: the scene need not give weights, curves or steps. */
    bool needs_no_weights;
    bool ignores_weights; /* of the scene and of the input */
    bool uses_command;
    bool uses_given_pins; /* positions that the caller gives to pinned vertices */

    /* The structure. `key` adds what it depends on beyond the rig and the parameters of
     * SINEW_COST_STRUCTURE; may be NULL. */
    void (*key)(const sn_model_setup *setup, sinew_hash *hash);
    sinew_status (*build)(const sn_model_setup *setup, void **structure, sinew_error *error);
    void (*discard)(void *structure);
    /* The take that the structure follows, or NULL; may be NULL. */
    const sinew_capture *(*capture)(const void *structure);

    /* What all frames of a clip have in common beyond the structure; both NULL: nothing. One solver
     * derives it for all while the others wait. `before` is NULL, or what this solver has, of the
     * same structure, and stays as it is; `changed` are the SN_KEY_* bits since then. */
    sinew_status (*derive)(const sn_model_setup *setup, const void *structure, const void *before,
                           uint32_t changed, void **derived, sinew_error *error);
    void (*forget)(void *derived);

    /* The model of one solver. It may keep setup->derived until an update succeeds that gives it
     * another one. `update` reads what changed (SN_KEY_* bits) and leaves the model as
     * it was when it fails; NULL: a change makes a new model. */
    sinew_status (*create)(const sn_model_setup *setup, const void *structure, void **model,
                           sinew_error *error);
    sinew_status (*update)(void *model, const sn_model_setup *setup, uint32_t changed,
                           sinew_error *error);
    void (*destroy)(void *model);
    /* Adds what `create` and `update` have made to a report; may be NULL. Called when a client asks
     * for the report, so that updates need not write one. */
    void (*describe)(const void *model, json_t *report);

    /* positions[3 * vertex_count]. A call that fails or is cancelled leaves the state as it was.
     * `fields` is NULL, or an object to which the model adds figures. */
    sinew_status (*solve)(void *model, const sn_ask *ask, double *positions, sinew_result *result,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error);

    /* Frames without a past that are solved at once, on a device: how many at a time (1: none), and
     * the solve, with positions and a status in every result. fields: per frame; its entries may be
     * NULL. SINEW_UNAVAILABLE: the frames must be solved one by one. May be NULL. */
    int (*batch)(const void *model);
    sinew_status (*solve_batch)(void *model, int count, const sn_ask *asks, sinew_result *results,
                                json_t **fields, const sinew_monitor *monitor, sinew_error *error);

    /* The past; all NULL: frames are independent. */
    sinew_past (*past)(const void *model, int *run);
    void (*reset)(void *model);
    void (*pack)(const void *model, sn_pack *pack);
    sinew_status (*unpack)(void *model, sn_unpack *unpack, sinew_error *error);
} sn_model_kind;

/* What the tables of models have in common: names of the functions in their files. */
#define SN_MODEL_ABOUT(title, line)                                                                \
    .about = {.name = (title),                                                                     \
              .summary = (line),                                                                   \
              .parameter_count = sizeof parameters / sizeof *parameters,                           \
              .parameters = parameters}
#define SN_MODEL_FUNCTIONS                                                                         \
    .build = build, .discard = discard, .create = create, .destroy = destroy, .solve = solve
#define SN_MODEL_PAST .past = past, .reset = reset, .pack = pack, .unpack = unpack

extern const sn_model_kind sn_model_linear;
extern const sn_model_kind sn_model_rotation;
extern const sn_model_kind sn_model_spring;
extern const sn_model_kind sn_model_modal;
extern const sn_model_kind sn_model_force;
extern const sn_model_kind sn_model_fit;

/* NULL when there is none of that name. */
const sn_model_kind *sn_model_kind_find(const char *name);

#endif
