/* What every model has in common: parameters, one input record and one result record.
 *
 *   model        parameters                  what a scene may set, and what a change of it costs
 *   sinew_input  -> solve ->  sinew_result   the same two records for all models
 *
 * A session (sinew/session.h) builds the model that a scene names and solves it. Input fields that
 * a model does not use are ignored, and a warning is logged once for each.
 *
 * Outcomes: SINEW_NOT_CONVERGED is returned like any other status, and the result holds the best
 * shape reached. A failed or cancelled solve leaves the state unchanged. */
#ifndef SINEW_MODEL_H
#define SINEW_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "sinew/memory.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models and their parameters ------------------------------------------------------------- */

/* What has to be done again before the next solve when a value changes. Each includes the ones
 * before it. */
typedef enum sinew_cost {
    SINEW_COST_NOTHING,   /* the next solve reads the new value */
    SINEW_COST_STATE,     /* the state is reset or derived again; the structure is kept */
    SINEW_COST_STRUCTURE, /* the model is built again: network, modes, factorization */
    SINEW_COST_RIG        /* the rig is loaded again, then everything else is built */
} sinew_cost;

/* "nothing", "state", "structure", "rig" */
SINEW_API const char *sinew_cost_name(sinew_cost cost);

typedef enum sinew_parameter_kind {
    SINEW_PARAMETER_KIND_NUMBER,
    SINEW_PARAMETER_KIND_INTEGER,
    SINEW_PARAMETER_KIND_FLAG,
    SINEW_PARAMETER_KIND_CHOICE,
    SINEW_PARAMETER_KIND_TEXT,
    SINEW_PARAMETER_KIND_FILE,   /* a path, relative to the scene */
    SINEW_PARAMETER_KIND_NUMBERS /* a list, such as a value per mode */
} sinew_parameter_kind;

/* One parameter of a model, a member of "parameters" in a scene. Owned by the library and always
 * valid; later versions may append fields. */
typedef struct sinew_parameter {
    uint32_t size; /* of this structure in the library */
    const char *name;
    sinew_parameter_kind kind;
    sinew_cost cost;         /* the most that a change of it costs */
    double fallback;         /* number, integer, flag (0 or 1), choice (index of the word) */
    double minimum, maximum; /* of numbers, both inclusive; both 0: no limits */
    const char *choices;     /* "free|static|pinned|anchor"; NULL for other kinds */
    const char *unit;        /* "s", "fraction of the diagonal", or "" */
    const char *help;        /* one sentence */
} sinew_parameter;

typedef struct sinew_model sinew_model;
struct sinew_obstacle;    /* sinew/obstacle.h */
struct sinew_spring_pull; /* sinew/spring.h */

/* The models of this build: linear, rotation, spring, modal, force, fit. */
SINEW_API int sinew_model_count(void);
/* NULL outside 0 <= index < count. */
SINEW_API const sinew_model *sinew_model_at(int index);
/* NULL when there is no model of that name. */
SINEW_API const sinew_model *sinew_model_find(const char *name);
SINEW_API const char *sinew_model_name(const sinew_model *model);
/* One line. */
SINEW_API const char *sinew_model_summary(const sinew_model *model);
/* True: poses, keys or markers can drive it, so that a scene need not give weights. */
SINEW_API bool sinew_model_needs_no_weights(const sinew_model *model);
/* Whether it reads a key of the scene: "obstacles", "pins", "orientations", "pulls", "keys",
 * "markers". */
SINEW_API bool sinew_model_uses(const sinew_model *model, const char *key);
/* Names of the outputs it can write beyond "frames", "report" and "curves"; NULL beyond the last.
 */
SINEW_API const char *sinew_model_output(const sinew_model *model, int index);
SINEW_API int sinew_model_parameter_count(const sinew_model *model);
/* NULL outside 0 <= index < count. */
SINEW_API const sinew_parameter *sinew_model_parameter(const sinew_model *model, int index);
/* NULL when the model has no parameter of that name. */
SINEW_API const sinew_parameter *sinew_model_find_parameter(const sinew_model *model,
                                                            const char *name);

/* ---- the past -------------------------------------------------------------------------------- */

/* Whether a frame depends on the frames before it. This is a property of a built model, not of its
 * kind: friction in a spring scene makes it SINEW_PAST_ALL. */
typedef enum sinew_past {
    SINEW_PAST_NONE, /* frames are independent: any order, any thread */
    SINEW_PAST_RUN,  /* a frame depends on those before it in its run; runs have a fixed length and
                        start at its multiples */
    SINEW_PAST_ALL   /* a frame depends on all frames before it */
} sinew_past;

/* ---- input ----------------------------------------------------------------------------------- */

/* Initialize with sinew_input_init: frame 0 of the clip.
 *
 * A frame of the clip, weights NULL and frame >= 0, is reproducible: the same bits whatever was
 * solved before. Models with a past compute the missing frames before it automatically.
 *
 * Weights given directly, a slider being dragged, are live: a model with a past continues by one
 * frame from its current state (sinew_solver_reset starts again). Models without a past give the
 * shape of these weights. */
typedef struct sinew_input {
    uint32_t size;
    /* Frame of the clip, or -1: use `time`. */
    int frame;
    /* Seconds, with frame -1 or with weights: when keys, curves, moving obstacles and pins are
     * sampled. NaN: the time of `frame`, or the start of the clip. With frame -1 and without
     * weights, a model with a past is live. */
    double time;
    /* One per slider, or NULL: the clip's. Locks of the scene hold for both. */
    const double *weights;
    /* Models that follow markers: 3 per marker of the session's marker map, NaN where missing; or
     * NULL: the clip's. */
    const double *markers;
    /* Rigid motion of the head, applied to the result: rows of a 3 x 4 matrix; or NULL: none beyond
     * the clip's own. */
    const double *head;
    /* Give up with SINEW_CANCELLED when the session gets a newer revision. */
    bool newest_only;
    /* The force model: one activation per target, the command of its blendforces, instead of the
     * activations that the weights give; or NULL. Like given weights, it makes the solve live. */
    const double *command;
    /* Pins, pulls and obstacles that change with every solve, such as a hand that an application
     * moves, need no patch. Each of them makes the solve live. */
    /* Where the pinned vertices are: 3 per vertex, in the order of the scene's "pins" and of the
     * vertices that each of them selects; or NULL: the scene's. Spring model. */
    const double *pins;
    int pin_count; /* vertices; SINEW_BAD_INPUT unless it is the number of pinned vertices */
    /* In addition to those of the scene. Spring model. */
    int pull_count;
    const struct sinew_spring_pull *pulls;
    /* In addition to those of the scene, at their current position. In contacts they are numbered
     * after the scene's, and friction knows them by their position in this list. Spring and force
     * models; the force model must be built for obstacles: give its scene one, enabled or not. */
    int obstacle_count;
    const struct sinew_obstacle *const *obstacles;
    /* With weights: stop at this tolerance where it is larger than the scene's, for a picture while
     * a hand moves; solve again with 0 once it rests. 0: the scene's. Spring model; others ignore
     * it. */
    double tolerance;
} sinew_input;

SINEW_API void sinew_input_init(sinew_input *input);

/* ---- result ---------------------------------------------------------------------------------- */

/* A contact point with an obstacle or with the surface itself. */
typedef struct sinew_contact {
    double position[3];
    double force[3]; /* on the surface, in the unit of the model's energy per length */
    int obstacle;    /* index among the scene's obstacles, or -1: the surface itself */
    int vertex;      /* nearest vertex of the rig */
} sinew_contact;

/* All figures of a solve by name, beyond the fields below: what a report holds for a frame. Belongs
 * to the caller and can be used for any number of solves. */
typedef struct sinew_figures sinew_figures;
SINEW_API sinew_status sinew_figures_create(sinew_figures **figures, sinew_error *error);
SINEW_API void sinew_figures_destroy(sinew_figures *figures);
/* Figures that are single numbers. */
SINEW_API int sinew_figures_count(const sinew_figures *figures);
/* NULL outside 0 <= index < count; valid until the next solve. */
SINEW_API const char *sinew_figures_name(const sinew_figures *figures, int index);
/* False, and NaN, when the last solve gave no number of that name. */
SINEW_API bool sinew_figures_get(const sinew_figures *figures, const char *name, double *value);
/* All of them, lists included, as a JSON object; release with sinew_free. SINEW_NO_MEMORY also when
 * the last solve succeeded but had no memory for some of its figures. */
SINEW_API sinew_status sinew_figures_text(const sinew_figures *figures, char **json,
                                          sinew_error *error);

/* Initialize with sinew_result_init: no arrays. Set the arrays that are needed; the caller owns
 * them. The solve fills the rest; fields that a model does not use are 0. */
typedef struct sinew_result {
    uint32_t size;

    double *positions;       /* in: 3 per vertex, or NULL */
    float *positions_float;  /* in: the same in single precision, or NULL */
    float *normals;          /* in: 3 per vertex, area-weighted and normalized, or NULL */
    sinew_figures *figures;  /* in: or NULL */
    sinew_contact *contacts; /* in: contact_capacity of them, or NULL */
    int contact_capacity;

    sinew_status status; /* SINEW_OK, SINEW_NOT_CONVERGED or SINEW_CANCELLED */
    int frame;           /* of the clip, or -1 */
    double time;         /* seconds on the clip */
    uint64_t revision;   /* of the document that was solved */
    int iterations;
    double residual; /* of the model's own measure, relative */
    double energy;
    double seconds;        /* of this solve, wall time; building is not counted */
    double build_seconds;  /* spent before it on rebuilding what patches changed */
    int inverted;          /* elements turned inside out */
    int contact_count;     /* points that press */
    int contacts_returned; /* of them, those written to `contacts` */
    bool time_limited;     /* stopped by the model's time limit */
} sinew_result;

SINEW_API void sinew_result_init(sinew_result *result);

#ifdef __cplusplus
}
#endif
#endif
