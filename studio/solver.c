#include "solver.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rig_message.h"

/* Computed frames of the clip are kept for scrubbing, up to this many bytes. */
#define CLIP_BYTES ((size_t)512 << 20)
/* Requests of pages that wait for the solver, at most. */
#define TASKS 64
/* Work that takes longer shows its progress. */
#define PROGRESS_AFTER 0.2
#define PROGRESS_EVERY 0.1
/* A pose of a model with a past moves on after its weights have stopped: until it rests, at most
 * this many seconds. */
#define LIVE_SECONDS 4.0
#define LIVE_RATE    30.0
/* While a model is built, sliders that move show their linear blend this often. */
#define BLEND_EVERY 0.03
/* The model of a new rig is built when a page has drawn the linear blend, or after this many
 * seconds: a build takes every processor, and the browser would wait for it. */
#define PICTURE_WITHIN 5.0
/* A rough shape is solved to the end when nothing has moved for this long. */
#define HAND_RESTS 0.1
#define LIVE_REST  2e-5 /* motion per frame, as a fraction of the diagonal, that counts as rest */

typedef struct drag {
    bool fresh;
    int vertex, client;
    double target[3];
    char gesture[40];
} drag;

struct solver {
    solver_handler handler;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    solver_request request;
    bool fresh, quit;
    bool shown;     /* a page has drawn a frame since the last new rig */
    bool finishing; /* a rough shape is being solved to the end: anything newer interrupts it */
    bool idling;    /* an idle task runs */
    solver_task *tasks;
    drag drag;
    /* read by the monitor without it */
    atomic_bool cancel, interrupt;
    /* of the thread */
    engine *engine;
    int threads;        /* of the machine, or as many as the command was given */
    net_message **clip; /* computed frames, or NULL */
    int clip_frames;
    size_t clip_bytes;
    engine_clip clip_info;
    bool ready;      /* the engine has a scene */
    double exact_at; /* when the rough shape that is shown is solved to the end; 0: it is exact */
    float *last_positions;
    size_t last_size;
    double busy_since, told;
    bool showing_progress;
    const shared_session *building; /* whose model is being built, or NULL */
    uint64_t blended;               /* revision of the last linear blend that was shown meanwhile */
    double blended_at;
};

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void solver_give(solver *s, solver_post kind, int client, net_message *message) {
    if (message) s->handler.post(s->handler.user, kind, message, client);
}

void solver_say(solver *s, solver_post kind, int client, const char *text) {
    solver_give(s, kind, client, net_message_text(text));
}

static void say_json(solver *s, solver_post kind, int client, json_t *value /* stolen */) {
    char *text = json_dumps(value, JSON_COMPACT);
    if (text) solver_say(s, kind, client, text);
    free(text);
    json_decref(value);
}

void solver_refuse(solver *s, int client, const char *message) {
    say_json(s, SOLVER_ANSWER, client,
             json_pack("{s:s,s:i,s:s}", "type", "error", "id", 0, "message", message));
}

static void say_error(solver *s, uint64_t revision, const char *message) {
    say_json(s, SOLVER_PROBLEM, 0,
             json_pack("{s:s,s:I,s:s}", "type", "problem", "revision", (json_int_t)revision,
                       "message", message));
}

/* ---- messages -------------------------------------------------------------------------------- */

static void send_rig(solver *s) {
    solver_give(s, SOLVER_RIG, 0, rig_message(engine_rig(s->engine), "rig", NULL));
}

static void send_clip(solver *s) {
    const engine_clip *clip = &s->clip_info;
    say_json(s, SOLVER_CLIP, 0,
             json_pack("{s:s,s:i,s:f,s:f}", "type", "clip", "frames", clip->frame_count, "rate",
                       clip->rate, "start", clip->start));
}

static net_message *frame_message(solver *s, int frame, uint64_t revision, bool is_building) {
    const sinew_rig *rig = engine_rig(s->engine);
    const engine_shape *shape = engine_get_shape(s->engine);
    const sinew_result *r = &shape->result;
    size_t n = 3 * (size_t)rig->neutral->vertex_count, m = (size_t)r->contacts_returned;
    float *contacts = malloc(3 * m * sizeof *contacts + 4);
    if (!contacts) return NULL;
    for (size_t i = 0; i < 3 * m; i++) contacts[i] = (float)shape->contacts[i / 3].position[i % 3];
    json_t *weights = json_array();
    for (int i = 0; i < rig->slider_count; i++)
        json_array_append_new(weights, json_real(shape->weights[i]));
    json_t *header = json_pack(
        "{s:s,s:I,s:i,s:f,s:b,s:i,s:o,s:f,s:f,s:i,s:i,s:b,s:b,s:o,s:[[s,s,I],[s,s,I],[s,s,I]]}",
        "type", "frame", "revision", (json_int_t)revision, "frame", frame, "time",
        isfinite(r->time) ? r->time : 0.0, "converged", r->status == SINEW_OK, "iterations",
        r->iterations, "residual", number_or_null(r->residual), "ms", 1e3 * r->seconds, "build_ms",
        1e3 * r->build_seconds, "contacts", r->contact_count, "inverted", r->inverted, "building",
        is_building, "rough", shape->rough, "weights", weights, "arrays", "positions", "f32",
        (json_int_t)n, "linear", "f32", (json_int_t)n, "contact_points", "f32",
        (json_int_t)(3 * m));
    char *text = header ? json_dumps(header, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    const void *arrays[] = {shape->positions, shape->linear, contacts};
    size_t sizes[] = {n * sizeof(float), n * sizeof(float), 3 * m * sizeof(float)};
    net_message *message = text ? net_message_binary(text, 3, arrays, sizes) : NULL;
    free(text);
    free(contacts);
    json_decref(header);
    return message;
}

/* ---- the monitor ----------------------------------------------------------------------------- */

/* A model can take half a minute to build. Sliders that move until then show the linear blend: the
 * thread that builds makes it, between two steps. */
static void blend_meanwhile(solver *s) {
    double now = now_seconds();
    if (now - s->blended_at < BLEND_EVERY) return;
    s->blended_at = now;
    pthread_mutex_lock(&s->lock);
    bool moved = s->fresh && s->request.only_pose && s->request.session == s->building &&
                 s->request.frame < 0 && s->request.revision != s->blended;
    uint64_t revision = s->request.revision;
    pthread_mutex_unlock(&s->lock);
    if (!moved || !engine_blend(s->engine, s->building)) return;
    s->blended = revision;
    solver_give(s, SOLVER_FRAME, 0, frame_message(s, -1, revision, true));
}

static bool is_cancelled(void *user) {
    solver *s = user;
    if (s->building && pthread_equal(pthread_self(), s->thread)) blend_meanwhile(s);
    return atomic_load(&s->cancel) || atomic_load(&s->interrupt);
}

static void on_progress(double fraction, const char *stage, void *user) {
    solver *s = user;
    double now = now_seconds();
    if (now - s->busy_since < PROGRESS_AFTER || now - s->told < PROGRESS_EVERY) return;
    s->told = now;
    s->showing_progress = true;
    say_json(s, SOLVER_STATE, 0,
             json_pack("{s:s,s:s,s:f}", "type", "progress", "stage", stage ? stage : "working",
                       "fraction", fraction >= 0 && fraction <= 1 ? fraction : 0));
}

static void on_log(sinew_log_level level, const char *line, void *user) {
    solver *s = user;
    if (level == SINEW_LOG_LEVEL_WARNING)
        say_json(s, SOLVER_STATE, 0, json_pack("{s:s,s:s}", "type", "warning", "message", line));
}

static void begin_work(solver *s) {
    s->busy_since = now_seconds();
    s->told = 0;
    s->showing_progress = false;
}

static void end_work(solver *s) {
    if (s->showing_progress) say_json(s, SOLVER_STATE, 0, json_pack("{s:s}", "type", "idle"));
    s->showing_progress = false;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Under the lock; a change ends it early. */
static void wait_until(solver *s, double when) {
    struct timespec t = {(time_t)when, (long)(1e9 * (when - floor(when)))};
    pthread_cond_timedwait(&s->changed, &s->lock, &t);
}

static void forget_clip(solver *s) {
    for (int i = 0; i < s->clip_frames; i++) net_message_release(s->clip[i]);
    free(s->clip);
    s->clip = NULL;
    s->clip_frames = 0;
    s->clip_bytes = 0;
}

/* Builds use every thread. Shapes leave one processor to the browser, which draws at the same time:
 * a loop ends when its slowest thread does, and a thread that shares a processor is slow. */
static void use_threads(const solver *s, bool is_shape) {
    sinew_set_threads(is_shape && s->threads > 1 ? s->threads - 1 : s->threads);
}

/* Solves and sends one frame, or sends the one that is kept. */
static sinew_status show_frame(solver *s, int frame, uint64_t revision, bool moving,
                               const sinew_monitor *monitor, sinew_error *error) {
    if (s->clip_info.frame_count <= 0) frame = -1;
    if (frame >= s->clip_info.frame_count) frame = s->clip_info.frame_count - 1;
    if (frame >= 0 && frame < s->clip_frames && s->clip[frame]) {
        solver_give(s, SOLVER_FRAME, 0, net_message_keep(s->clip[frame]));
        return SINEW_OK;
    }
    use_threads(s, true);
    sinew_status status = engine_solve(s->engine, frame, moving, monitor, error);
    use_threads(s, false);
    if (status != SINEW_OK) return status;
    net_message *message = frame_message(s, frame, revision, engine_is_preview(s->engine));
    if (frame >= 0 && message) {
        if (!s->clip) {
            s->clip = calloc((size_t)s->clip_info.frame_count, sizeof *s->clip);
            s->clip_frames = s->clip ? s->clip_info.frame_count : 0;
        }
        size_t bytes = 24 * (size_t)engine_rig(s->engine)->neutral->vertex_count + 4096;
        if (frame < s->clip_frames && s->clip_bytes + bytes <= CLIP_BYTES) {
            s->clip[frame] = net_message_keep(message);
            s->clip_bytes += bytes;
        }
    }
    solver_give(s, SOLVER_FRAME, 0, message);
    return SINEW_OK;
}

/* The rig and its linear blend at once; the model may take seconds to build. */
static bool show_preview(solver *s, solver_request *request, const sinew_monitor *monitor) {
    sinew_error ignored = {0};
    if (engine_preview(s->engine, request->session, monitor, &ignored) != SINEW_OK) return false;
    s->ready = true;
    s->clip_info = (engine_clip){0};
    forget_clip(s);
    send_rig(s);
    send_clip(s);
    pthread_mutex_lock(&s->lock);
    s->shown = false;
    pthread_mutex_unlock(&s->lock);
    return show_frame(s, -1, request->revision, false, monitor, &ignored) == SINEW_OK;
}

static void wait_for_picture(solver *s) {
    double end = now_seconds() + PICTURE_WITHIN;
    pthread_mutex_lock(&s->lock);
    while (!s->quit && !s->shown && !atomic_load(&s->cancel) && !atomic_load(&s->interrupt) &&
           now_seconds() < end) {
        wait_until(s, fmin(end, now_seconds() + BLEND_EVERY));
        pthread_mutex_unlock(&s->lock);
        blend_meanwhile(s);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

static sinew_status bring_up(solver *s, solver_request *request, const sinew_monitor *monitor,
                             sinew_error *error) {
    bool rig_changed = false;
    bool is_new = engine_is_new(s->engine, request->session);
    bool has_preview = is_new && show_preview(s, request, monitor);
    s->building = request->session;
    if (has_preview) wait_for_picture(s);
    sinew_status status = engine_update(s->engine, request->session, monitor, &rig_changed, error);
    s->building = NULL;
    if (status != SINEW_OK) return status;
    if (!request->only_pose || rig_changed) forget_clip(s);
    s->ready = true;
    if (rig_changed) send_rig(s);
    engine_clip clip;
    engine_get_clip(s->engine, &clip);
    if (rig_changed || clip.frame_count != s->clip_info.frame_count ||
        clip.rate != s->clip_info.rate || clip.start != s->clip_info.start) {
        s->clip_info = clip;
        send_clip(s);
    }
    return SINEW_OK;
}

/* How a request ended. */
static void say_outcome(solver *s, sinew_status status, uint64_t revision,
                        const sinew_error *error) {
    if (status == SINEW_CANCELLED) {
        if (atomic_exchange(&s->cancel, false))
            say_json(s, SOLVER_STATE, 0, json_pack("{s:s}", "type", "cancelled"));
    } else if (status != SINEW_OK) {
        say_error(s, revision, error->message);
    } else if (s->exact_at == 0) {
        say_json(s, SOLVER_STATE, 0,
                 json_pack("{s:s,s:I}", "type", "solved", "revision", (json_int_t)revision));
    }
}

static void serve_request(solver *s, solver_request *request, const sinew_monitor *monitor) {
    sinew_error error = {0};
    sinew_status status = SINEW_OK;
    s->exact_at = 0;
    begin_work(s);
    if (request->session) {
        status = bring_up(s, request, monitor, &error);
        shared_session_release(request->session);
        request->session = NULL;
    }
    if (status == SINEW_OK && s->ready)
        status = show_frame(s, request->frame, request->revision, request->moving, monitor, &error);
    end_work(s);
    if (status == SINEW_OK && s->ready && engine_get_shape(s->engine)->rough)
        s->exact_at = now_seconds() + HAND_RESTS;
    say_outcome(s, status, request->revision, &error);
}

/* The hand rests: what is on the screen, to the scene's tolerance. */
static void finish_shape(solver *s, const solver_request *request, const sinew_monitor *monitor) {
    sinew_error error = {0};
    s->exact_at = 0;
    begin_work(s);
    sinew_status status = show_frame(s, request->frame, request->revision, false, monitor, &error);
    end_work(s);
    say_outcome(s, status, request->revision, &error);
}

static void serve_drag(solver *s, const drag *d) {
    const sinew_rig *rig = engine_rig(s->engine);
    if (!s->ready || d->vertex < 0 || d->vertex >= rig->neutral->vertex_count) return;
    sinew_error error = {0};
    double *weights = malloc(((size_t)rig->slider_count + 1) * sizeof *weights);
    if (!weights) return;
    sinew_status status = engine_drag(s->engine, d->vertex, d->target, weights, &error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) {
        say_error(s, 0, error.message);
        free(weights);
        return;
    }
    const double *before = engine_get_shape(s->engine)->weights;
    json_t *changed = json_object();
    for (int i = 0; i < rig->slider_count; i++)
        if (fabs(weights[i] - before[i]) > 1e-5)
            json_object_set_new(changed, rig->sliders[i].name,
                                json_real(round(weights[i] * 1e5) / 1e5));
    if (json_object_size(changed))
        say_json(s, SOLVER_PATCH, d->client,
                 json_pack("{s:O,s:s}", "weights", changed, "gesture", d->gesture));
    json_decref(changed);
    free(weights);
}

/* Largest motion of a coordinate since the last call, as a fraction of the diagonal. */
static double motion(solver *s) {
    const sinew_mesh *mesh = engine_rig(s->engine)->neutral;
    const float *now = engine_get_shape(s->engine)->positions;
    size_t n = 3 * (size_t)mesh->vertex_count;
    if (s->last_size != n) {
        free(s->last_positions);
        s->last_positions = calloc(n, sizeof(float));
        s->last_size = s->last_positions ? n : 0;
    }
    double largest = 0;
    for (size_t i = 0; i < s->last_size; i++) {
        largest = fmax(largest, fabs((double)now[i] - (double)s->last_positions[i]));
        s->last_positions[i] = now[i];
    }
    return largest / fmax(sinew_diagonal(mesh->vertex_count, mesh->positions), 1e-30);
}

/* Under the lock. */
static bool drop_group(solver *s, int group) {
    bool any = false;
    for (solver_task **at = &s->tasks; *at;) {
        solver_task *task = *at;
        if (task->group != group) {
            at = &task->next;
            continue;
        }
        *at = task->next;
        task->release(task);
        any = true;
    }
    return any;
}

static int rank(const solver_task *task) {
    return task->quick ? 0 : task->idle ? 2 : 1;
}

/* Under the lock. False: too many wait. */
static bool insert_task(solver *s, solver_task *task) {
    solver_task **at = &s->tasks, **place = NULL;
    int waiting = 0;
    for (; *at; at = &(*at)->next, waiting++)
        if (!place && rank(*at) > rank(task)) place = at;
    if (waiting >= TASKS) return false;
    if (!place) place = at;
    task->next = *place;
    *place = task;
    return true;
}

static void *work(void *user) {
    solver *s = user;
    const sinew_monitor monitor = {on_progress, is_cancelled, on_log, s, false};
    solver_request current = {.frame = -1};
    double play_start = 0, live_until = 0, live_next = 0;
    int play_from = 0, last = -1;
    bool owed = false; /* a shape was solved since the last task */
    pthread_mutex_lock(&s->lock);
    while (!s->quit) {
        if (s->fresh && !(owed && s->tasks && s->tasks->quick)) {
            owed = true;
            bool was_playing = current.playing;
            current = s->request;
            s->request.session = NULL;
            s->fresh = false;
            atomic_store(&s->interrupt, false);
            atomic_store(&s->cancel, false);
            pthread_mutex_unlock(&s->lock);
            if (!(current.playing && was_playing && !current.session))
                serve_request(s, &current, &monitor);
            play_start = now_seconds();
            play_from = last = current.frame < 0 ? 0 : current.frame;
            bool live = s->ready && current.frame < 0 && engine_has_past(s->engine);
            if (live) (void)motion(s);
            live_until = live ? play_start + LIVE_SECONDS : 0;
            live_next = play_start + 1 / LIVE_RATE;
            pthread_mutex_lock(&s->lock);
        } else if (s->drag.fresh) {
            drag d = s->drag;
            s->drag.fresh = false;
            pthread_mutex_unlock(&s->lock);
            serve_drag(s, &d);
            pthread_mutex_lock(&s->lock);
        } else if (s->tasks) {
            solver_task *task = s->tasks;
            s->tasks = task->next;
            owed = false;
            atomic_store(&s->cancel, false);
            s->idling = task->idle;
            task->unfinished = false;
            pthread_mutex_unlock(&s->lock);
            begin_work(s);
            if (s->ready) task->run(task, s, s->engine, &monitor);
            end_work(s);
            pthread_mutex_lock(&s->lock);
            if (s->idling && !s->fresh) atomic_store(&s->interrupt, false);
            s->idling = false;
            if (task->unfinished && !atomic_load(&s->cancel) && insert_task(s, task)) continue;
            bool dropped = task->group && atomic_load(&s->cancel) && drop_group(s, task->group);
            int client = task->client;
            task->release(task);
            if (dropped) { /* the one that ran may have ended before it noticed */
                pthread_mutex_unlock(&s->lock);
                solver_refuse(s, client, "the solve was cancelled");
                pthread_mutex_lock(&s->lock);
            }
        } else if (current.playing && s->ready && s->clip_info.frame_count > 1) {
            /* Frames are due at the clip's rate; those that come too late are left out. */
            double rate = s->clip_info.rate > 0 ? s->clip_info.rate : 30;
            int count = s->clip_info.frame_count;
            int due = play_from + (int)floor((now_seconds() - play_start) * rate);
            if (due <= last) {
                wait_until(s, play_start + (last + 1 - play_from) / rate);
                continue;
            }
            last = due;
            int frame = current.loop ? due % count : due;
            bool ended = frame >= count;
            if (ended) current.playing = false;
            pthread_mutex_unlock(&s->lock);
            sinew_error error = {0};
            begin_work(s);
            sinew_status status =
                ended ? SINEW_OK : show_frame(s, frame, current.revision, false, &monitor, &error);
            end_work(s);
            if (status != SINEW_OK && status != SINEW_CANCELLED)
                say_error(s, current.revision, error.message);
            if (status != SINEW_OK || ended) {
                current.playing = false;
                atomic_store(&s->cancel, false);
                say_json(s, SOLVER_STATE, 0, json_pack("{s:s}", "type", "stopped"));
            }
            pthread_mutex_lock(&s->lock);
        } else if (live_until > now_seconds()) {
            if (live_next > now_seconds()) {
                wait_until(s, live_next);
                continue;
            }
            live_next = now_seconds() + 1 / LIVE_RATE;
            pthread_mutex_unlock(&s->lock);
            sinew_error error = {0};
            begin_work(s);
            sinew_status status = show_frame(s, -1, current.revision, false, &monitor, &error);
            end_work(s);
            if (status != SINEW_OK || motion(s) < LIVE_REST) live_until = 0;
            pthread_mutex_lock(&s->lock);
        } else if (s->exact_at > 0) {
            if (s->exact_at > now_seconds()) {
                wait_until(s, s->exact_at);
                continue;
            }
            s->finishing = true;
            atomic_store(&s->cancel, false);
            pthread_mutex_unlock(&s->lock);
            finish_shape(s, &current, &monitor);
            pthread_mutex_lock(&s->lock);
            s->finishing = false;
        } else {
            pthread_cond_wait(&s->changed, &s->lock);
        }
    }
    shared_session_release(s->request.session);
    s->request.session = NULL;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- from the main thread -------------------------------------------------------------------- */

sinew_status solver_create(const solver_handler *handler, solver **out, sinew_error *error) {
    solver *s = calloc(1, sizeof *s);
    if (!s) {
        *error = (sinew_error){SINEW_NO_MEMORY, "out of memory"};
        return SINEW_NO_MEMORY;
    }
    s->handler = *handler;
    s->threads = sinew_threads();
    sinew_status status = engine_create(&s->engine, error);
    if (status != SINEW_OK) {
        free(s);
        return status;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&s->lock, NULL);
    if (pthread_create(&s->thread, NULL, work, s) != 0) {
        engine_destroy(s->engine);
        free(s);
        *error = (sinew_error){SINEW_UNAVAILABLE, "cannot start the solver thread"};
        return SINEW_UNAVAILABLE;
    }
    *out = s;
    return SINEW_OK;
}

void solver_destroy(solver *s) {
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->quit = true;
    atomic_store(&s->cancel, true);
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    while (s->tasks) {
        solver_task *next = s->tasks->next;
        s->tasks->release(s->tasks);
        s->tasks = next;
    }
    forget_clip(s);
    engine_destroy(s->engine);
    free(s->last_positions);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void solver_want(solver *s, const solver_request *request) {
    pthread_mutex_lock(&s->lock);
    shared_session *waiting = s->fresh ? s->request.session : NULL;
    bool only_pose = request->only_pose && (!waiting || s->request.only_pose);
    s->request = *request;
    if (!request->session)
        s->request.session = waiting;
    else
        shared_session_release(waiting);
    s->request.only_pose = only_pose;
    s->fresh = true;
    /* A slider that moves on lets the running solve end, so that something is always shown. */
    if (s->idling || (request->session && (!request->only_pose || s->finishing)))
        atomic_store(&s->interrupt, true);
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void solver_shown(solver *s) {
    pthread_mutex_lock(&s->lock);
    bool first = !s->shown;
    s->shown = true;
    if (first) pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void solver_cancel(solver *s) {
    pthread_mutex_lock(&s->lock); /* not between two tasks, where it would be forgotten */
    atomic_store(&s->cancel, true);
    pthread_mutex_unlock(&s->lock);
}

void solver_add(solver *s, solver_task *task) {
    pthread_mutex_lock(&s->lock);
    bool added = insert_task(s, task);
    if (added && s->idling && !task->idle) atomic_store(&s->interrupt, true);
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (added) return;
    solver_refuse(s, task->client, "too many requests are waiting; try again later");
    task->release(task);
}

static void free_task(solver_task *task) {
    free(task);
}

void solver_ask(solver *s, int client, bool quick,
                void (*run)(solver_task *task, solver *s, engine *e,
                            const sinew_monitor *monitor)) {
    solver_task *task = calloc(1, sizeof *task);
    if (!task) return;
    *task = (solver_task){.run = run, .release = free_task, .client = client, .quick = quick};
    solver_add(s, task);
}

void solver_drag(solver *s, int vertex, const double target[3], const char *gesture, int client) {
    pthread_mutex_lock(&s->lock);
    s->drag = (drag){.fresh = true, .vertex = vertex, .client = client};
    memcpy(s->drag.target, target, sizeof s->drag.target);
    snprintf(s->drag.gesture, sizeof s->drag.gesture, "%s", gesture);
    if (s->idling) atomic_store(&s->interrupt, true);
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}
