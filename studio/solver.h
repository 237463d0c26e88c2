/* The solver thread. It works on snapshots of the scene; the newest request wins. Everything it has
 * to tell goes out as ready messages through `post`, which may be called from that thread. */
#ifndef STUDIO_SOLVER_H
#define STUDIO_SOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include <sinew/sinew.h>

#include "engine.h"
#include "net.h"
#include "project.h"

typedef enum solver_post {
    SOLVER_RIG,     /* kept for pages that come later */
    SOLVER_CLIP,    /* kept */
    SOLVER_FRAME,   /* kept; replaces an older frame that still waits */
    SOLVER_PROBLEM, /* why there is no frame: kept until there is one */
    SOLVER_STATE,   /* progress and the like: sent to all pages now */
    SOLVER_ANSWER,  /* to one page */
    SOLVER_PATCH    /* slider weights of a drag: text is a patch for the project */
} solver_post;

typedef struct solver_handler {
    /* The message is given away. client: number of the page, for SOLVER_ANSWER. */
    void (*post)(void *user, solver_post kind, net_message *message, int client);
    void *user;
} solver_handler;

typedef struct solver solver;

/* What a page wants to see. */
typedef struct solver_request {
    shared_session *session; /* given away; NULL: nothing changed since the last request */
    uint64_t revision;
    int frame;    /* of the clip; -1: the pose */
    bool playing; /* go on from there at the clip's rate */
    bool loop;
    bool only_pose; /* since the last request only weights changed: frames of the clip still hold */
    bool moving; /* part of a gesture: a rough shape at once, the exact one when the hand rests */
} solver_request;

sinew_status solver_create(const solver_handler *handler, solver **out, sinew_error *error);
void solver_destroy(solver *s);
void solver_want(solver *s, const solver_request *request);
/* A page has drawn the frame that it received last. */
void solver_shown(solver *s);
/* Stops the running solve, build or task; the last shape stays. */
void solver_cancel(solver *s);

/* Work that answers one page, between shapes: what is quick first, what is idle last, otherwise in
 * order. `run` gets the engine and may take long. */
typedef struct solver_task {
    void (*run)(struct solver_task *task, solver *s, engine *e, const sinew_monitor *monitor);
    void (*release)(struct solver_task *task);
    struct solver_task *next;
    int client;
    bool quick;      /* takes milliseconds: served between shapes even while sliders move */
    bool idle;       /* nobody waits for it: gives way to everything, and starts again afterwards */
    bool unfinished; /* set by `run` of an idle task that gave way */
    int group;       /* cancelling one of a group cancels those that wait; 0: none */
} solver_task;
void solver_add(solver *s, solver_task *task);
/* A task that needs nothing but the page that asks. */
void solver_ask(solver *s, int client, bool quick,
                void (*run)(solver_task *task, solver *s, engine *e, const sinew_monitor *monitor));
/* For tasks: JSON text to the page that asked, or to all when client is 0. */
void solver_say(solver *s, solver_post kind, int client, const char *text);
/* An error message to the page that asked. */
void solver_refuse(solver *s, int client, const char *message);
void solver_give(solver *s, solver_post kind, int client, net_message *message);

/* Slider weights that bring a vertex to a position become a patch (SOLVER_PATCH). The newest wins.
 */
void solver_drag(solver *s, int vertex, const double target[3], const char *gesture, int client);

#endif
