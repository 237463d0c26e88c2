/* Every public call under failing allocations and cancellation.
 *
 * An act makes one public call of a small, complete situation, releases what it made, and returns
 * the status. ACT(function, statements) defines and registers it; main.c compares the acts with the
 * functions of include/sinew, so that a new one cannot be forgotten, and runs each with memory for
 * 0, 1, 2 ... blocks and with a monitor that cancels at poll 0, 1, 2 ... */
#ifndef TESTS_CALLS_STAGE_H
#define TESTS_CALLS_STAGE_H

#include "sinew/sinew.h"
#include "support.h"

/* Made once, before memory is counted. Acts do not change it. */
typedef struct stage {
    sinew_rig *rig;      /* a mouth of 140 vertices with two sliders */
    sinew_rig *bar;      /* a closed bar of 74 vertices with one */
    sinew_mesh *mesh;    /* the bar's neutral */
    sinew_tets *tets;    /* inside the bar */
    sinew_markers *take; /* on the mouth */
    sinew_marker_map *map;
    sinew_curves *curves;      /* of the mouth's sliders */
    sinew_slider_space *space; /* of the mouth */
    sinew_linear *linear;      /* of the mouth */
    double *shape;             /* scratch, 3 * 1000 */
    double *weights;           /* 16 zeros */
    float *floats;
} stage;

typedef sinew_status act_function(const stage *s, const sinew_monitor *m, sinew_error *e);

typedef struct act {
    const char *name;
    act_function *run;
    struct act *next;
} act;

extern act *acts;
void act_register(act *a);

#define ACT(function, ...)                                                                         \
    static sinew_status act_##function(const stage *s, const sinew_monitor *m, sinew_error *e) {   \
        sinew_status status = SINEW_OK;                                                            \
        (void)s, (void)m, (void)e;                                                                 \
        __VA_ARGS__                                                                                \
        return status;                                                                             \
    }                                                                                              \
    __attribute__((constructor)) static void register_##function(void) {                           \
        static act own = {#function, act_##function, NULL};                                        \
        act_register(&own);                                                                        \
    }

/* The next call, when everything before went well. */
#define DO(call)                                                                                   \
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) status = (call);

/* Path of a file of the stage; static, overwritten by the eighth next call. */
const char *at(const char *name);
/* A source that reads that file; its name is that of `at`. */
sinew_source from(const char *name);
/* A sink that takes everything. */
sinew_sink into(const char *name);
/* A pointer that the call returns as its only sign of success. */
sinew_status given(void *made);

void stage_open(stage *s);
void stage_close(stage *s);

#endif
