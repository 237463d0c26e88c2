/* A session used live: from a slider, or a new time, to positions; patches; cancelling.
 *
 * In place of a bound that the machine sets, a line has the time that an interactive client needs:
 * a ratio above 1 misses it. All models run on the sample face of 11.9k vertices. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/threads.h"
#include "bench.h"
#include "busy.h"
#include "take.h"

#define START "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 12000}, "
#define TAKE  "\"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}"
#define REST  "\"weights\": {\"jawOpen\": 0}"

static const struct scene {
    const char *name, *text;
    double goal;       /* seconds from slider to positions; 0: none is set */
    bool by_time;      /* a new time, not new weights, asks for a shape */
    const char *patch; /* of a parameter of the class "nothing", with a number to fill in */
} scenes[] = {
    {"linear", START "\"model\": \"linear\", " REST "}", 0.3e-3, false, NULL},
    {"rotation", START "\"model\": \"rotation\", " REST "}", 6e-3, false, NULL},
    {"spring", START "\"model\": \"spring\", \"parameters\": {}, " REST "}", 25e-3, false,
     "[{\"op\": \"add\", \"path\": \"/parameters/max_iterations\", \"value\": %d}]"},
    {"force", START "\"model\": \"force\", \"parameters\": {}, " REST "}", 4e-3, false,
     "[{\"op\": \"add\", \"path\": \"/parameters/outlier\", \"value\": 0.%d}]"},
    {"modal",
     START "\"model\": \"modal\", \"parameters\": {}, \"time\": {\"fps\": 30}, \"keys\": "
           "[{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, \"pose\": \"jawOpen\"}, "
           "{\"time\": 2, \"weights\": {\"mouthSmileLeft\": 1, \"browInnerUp\": 1}}]}",
     1e-3, true, "[{\"op\": \"add\", \"path\": \"/parameters/mix\", \"value\": 0.%d}]"},
    {"jiggle",
     START
     "\"model\": \"modal\", \"parameters\": {}, \"time\": {\"fps\": 30}, \"curves\": {\"times\": "
     "[0, 1, 2], \"values\": {\"jawOpen\": [0, 1, 0], \"browInnerUp\": [0, 0, 1]}}}",
     0, true, "[{\"op\": \"add\", \"path\": \"/parameters/mix\", \"value\": 0.%d}]"},
    {"fit", START "\"model\": \"fit\", " TAKE "}", 0, true, NULL},
    {"markers", START "\"model\": \"force\", \"parameters\": {\"layer\": true}, " TAKE "}", 0, true,
     NULL},
};
enum { SCENES = sizeof scenes / sizeof *scenes, MOST_FRAMES = 400 };

/* ---- sessions -------------------------------------------------------------------------------- */

typedef struct live {
    const struct scene *scene;
    sinew_session *session;
    sinew_solver *solver;
    int sliders, frame;
    double *weights, *positions;
    float *floats;
} live;

static const char *folder; /* of the take */

static sinew_session *open_session(const char *text) {
    sinew_error error;
    sinew_scene *scene;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    bench_need(sinew_scene_parse(text, "bench", folder, &scene, &error), &error);
    bench_need(sinew_session_create(scene, &options, &session, &error), &error);
    sinew_scene_destroy(scene);
    return session;
}

static void make_room(live *l) {
    l->solver = sinew_session_solver(l->session);
    const sinew_rig *rig = sinew_session_rig(l->session);
    size_t size = 3 * (size_t)rig->neutral->vertex_count;
    l->sliders = rig->slider_count;
    l->weights = calloc((size_t)l->sliders, sizeof *l->weights);
    l->positions = malloc(size * sizeof *l->positions);
    l->floats = malloc(size * sizeof *l->floats);
}

static void open_live(const struct scene *scene, live *l) {
    sinew_error error;
    *l = (live){.scene = scene, .session = open_session(scene->text)};
    bench_need(sinew_session_prepare(l->session, NULL, &error), &error);
    make_room(l);
}

static void close_live(live *l) {
    sinew_session_destroy(l->session);
    free(l->weights), free(l->positions), free(l->floats);
}

/* One slider after the other is dragged up and down in a second, over an expression that stays. */
static void drag(live *l) {
    enum { UP = 30 };
    int slider = l->frame / (2 * UP) * 5 % l->sliders, step = l->frame % (2 * UP);
    for (int s = 0; s < l->sliders; s++) l->weights[s] = s % 8 == 3 ? 0.3 : 0;
    l->weights[slider] = (step < UP ? step : 2 * UP - step) / (double)UP;
    l->frame++;
}

/* Every expression is unrelated to the one before. */
static void jump(live *l) {
    for (int s = 0; s < l->sliders; s++) {
        double phase = 12.9898 * s + 78.233 * l->frame;
        l->weights[s] = s % 8 == 3 ? fabs(sin(phase * phase)) : 0;
    }
    l->frame++;
}

static sinew_status solve_under(live *l, sinew_result *result, const sinew_monitor *monitor,
                                sinew_error *error) {
    sinew_input input;
    sinew_input_init(&input);
    if (l->scene->by_time)
        input.frame = -1, input.time = fmod(l->frame++ / 47.0, 2);
    else
        input.weights = l->weights;
    result->positions = l->positions, result->positions_float = l->floats;
    sinew_status status = sinew_session_solve(l->session, &input, result, monitor, error);
    return status == SINEW_NOT_CONVERGED ? SINEW_OK : status;
}

static sinew_status solve(live *l, sinew_result *result, sinew_error *error) {
    return solve_under(l, result, NULL, error);
}

/* ---- slider to positions --------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static void measure(bench *b, live *l, const char *how, void (*move)(live *), int others) {
    sinew_error error;
    double times[MOST_FRAMES], began, iterations = 0;
    int count = 0;
    for (int warm = 0; warm < 3; warm++) {
        sinew_result result;
        sinew_result_init(&result);
        move(l);
        bench_need(solve(l, &result, &error), &error);
    }
    bench_set_busy(others);
    began = sn_now();
    while (count < MOST_FRAMES && (count < 30 || sn_now() - began < 1.5)) {
        sinew_result result;
        sinew_result_init(&result);
        move(l);
        double start = sn_now();
        bench_need(solve(l, &result, &error), &error);
        times[count++] = sn_now() - start;
        iterations += result.iterations;
    }
    bench_set_busy(0);
    qsort(times, (size_t)count, sizeof *times, compare);
    char name[48], limit[96], figures[96];
    snprintf(name, sizeof name, "%s, %d busy", l->scene->by_time ? "played" : how, others);
    snprintf(limit, sizeof limit, "best %.3g, 95%% %.3g, worst %.3g ms; %.3g iterations",
             1e3 * times[0], 1e3 * times[(int)(0.95 * count)], 1e3 * times[count - 1],
             iterations / count);
    snprintf(figures, sizeof figures, "\"best_ms\": %.6g, \"worst_ms\": %.6g", 1e3 * times[0],
             1e3 * times[count - 1]);
    bench_report_more(b, name, times[count / 2], l->scene->goal, limit, figures);
}

static void move_model(bench *b, const char *model) {
    folder = bench_write_take();
    for (int k = 0; k < SCENES; k++) {
        live l;
        if (strcmp(scenes[k].name, model) != 0) continue;
        open_live(&scenes[k], &l);
        for (int others = 0; others <= BENCH_MOST_BUSY; others += 2)
            measure(b, &l, "dragged", drag, others);
        if (!scenes[k].by_time) measure(b, &l, "jumping", jump, 0);
        close_live(&l);
    }
    bench_remove_take();
}

#define MODEL(name)                                                                                \
    static void run_##name(bench *b) {                                                             \
        move_model(b, #name);                                                                      \
    }
MODEL(linear)
MODEL(rotation)
MODEL(spring)
MODEL(force)
MODEL(modal)
MODEL(fit)
MODEL(markers)

/* ---- patches --------------------------------------------------------------------------------- */

/* What a patch of a parameter of the class "nothing" adds to the solve after it. */
static void run_nothing(bench *b) {
    for (int k = 0; k < SCENES; k++) {
        if (!scenes[k].patch) continue;
        live l;
        sinew_error error;
        double times[50];
        open_live(&scenes[k], &l);
        sinew_result first; /* has the time of the preparation */
        sinew_result_init(&first);
        bench_need(solve(&l, &first, &error), &error);
        for (int i = 0; i < 50; i++) {
            char patch[160];
            sinew_result result;
            sinew_result_init(&result);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(patch, sizeof patch, scenes[k].patch, 300 + i);
#pragma GCC diagnostic pop
            bench_need(sinew_session_patch(l.session, patch, NULL, NULL, &error), &error);
            drag(&l);
            bench_need(solve(&l, &result, &error), &error);
            times[i] = result.build_seconds;
        }
        qsort(times, 50, sizeof *times, compare);
        char limit[64];
        snprintf(limit, sizeof limit, "before the solve; worst %.3g us", 1e6 * times[49]);
        bench_report(b, scenes[k].name, times[25], 0, limit);
        close_live(&l);
    }
}

/* One value of a scene with 100,000 inline values. */
static void run_patch(bench *b) {
    enum { VALUES = 100000, PATCHES = 2000 };
    static const char *const slider = "jawOpen";
    char *text = malloc(32 * (size_t)VALUES + 400), *at = text;
    at += sprintf(at, START "\"model\": \"linear\", \"curves\": {\"times\": [");
    for (int i = 0; i < VALUES; i++) at += sprintf(at, "%s%g", i ? ", " : "", i / 30.0);
    at += sprintf(at, "], \"values\": {\"%s\": [", slider);
    for (int i = 0; i < VALUES; i++) at += sprintf(at, "%s%g", i ? ", " : "", i % 97 / 97.0);
    sprintf(at, "]}}}");
    sinew_session *session = open_session(text);
    double *times = malloc(PATCHES * sizeof *times);
    for (int i = 0; i < PATCHES; i++) {
        char patch[128], *inverse;
        sinew_error error;
        snprintf(patch, sizeof patch,
                 "[{\"op\": \"replace\", \"path\": \"/curves/values/%s/%d\", \"value\": 0.%d}]",
                 slider, i * 41 % VALUES, i + 1);
        double start = sn_now();
        bench_need(sinew_session_patch(session, patch, &inverse, NULL, &error), &error);
        times[i] = sn_now() - start;
        sinew_free(inverse);
    }
    qsort(times, PATCHES, sizeof *times, compare);
    char limit[64];
    snprintf(limit, sizeof limit, "100,000 values; worst %.3g us", 1e6 * times[PATCHES - 1]);
    bench_report(b, NULL, times[PATCHES / 2], 20e-6, limit);
    free(times), free(text);
    sinew_session_destroy(session);
}

/* ---- cancel ---------------------------------------------------------------------------------- */

static double clock_seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct canceller {
    sinew_session *session;
    double delay;
    clockid_t clock; /* CPU time of the thread that is cancelled */
    _Atomic double at, cpu;
} canceller;

/* Seconds from the cancel to the return of the call, by the clock and of CPU time. */
typedef struct lag {
    double wall, cpu;
} lag;

static void *cancel_later(void *user) {
    canceller *c = user;
    struct timespec wait = {(time_t)c->delay, (long)(1e9 * fmod(c->delay, 1))};
    nanosleep(&wait, NULL);
    atomic_store(&c->cpu, clock_seconds(c->clock));
    atomic_store(&c->at, sn_now());
    sinew_session_cancel(c->session);
    return NULL;
}

/* 0: the call had ended before. */
static lag cancel_once(live *l, sinew_session *session, double delay) {
    canceller c = {.session = session, .delay = delay};
    pthread_getcpuclockid(pthread_self(), &c.clock);
    pthread_t thread;
    sinew_error error;
    sinew_result result;
    sinew_result_init(&result);
    if (pthread_create(&thread, NULL, cancel_later, &c)) exit(1);
    sinew_status status =
        l ? solve(l, &result, &error) : sinew_session_prepare(session, NULL, &error);
    double end = sn_now(), cpu = clock_seconds(c.clock);
    pthread_join(thread, NULL);
    if (status == SINEW_CANCELLED)
        return (lag){fmax(end - atomic_load(&c.at), 1e-9), cpu - atomic_load(&c.cpu)};
    bench_need(status, &error);
    return (lag){0};
}

/* The call is cancelled at many moments between its beginning and its end; a call that takes long,
 * in its first seconds. */
static void cancel_often(bench *b, const struct scene *scene, bool preparing, double seconds) {
    enum { MOMENTS = 24 };
    const double most = 2; /* seconds: half of it on average for every moment */
    double worst = 0, worst_cpu = 0, sum = 0, span = fmin(seconds, most);
    int hits = 0;
    live l = {0};
    if (!preparing) open_live(scene, &l);
    for (int k = 0; k < MOMENTS; k++) {
        lag took;
        double delay = span * (k + 0.5) / MOMENTS;
        if (preparing) {
            sinew_session *session = open_session(scene->text);
            took = cancel_once(NULL, session, delay);
            sinew_session_destroy(session);
        } else {
            jump(&l);
            took = cancel_once(&l, l.session, delay);
        }
        worst = fmax(worst, took.wall), worst_cpu = fmax(worst_cpu, took.cpu);
        sum += took.wall, hits += took.wall > 0;
    }
    if (!preparing) close_live(&l);
    char name[48], limit[128];
    snprintf(name, sizeof name, "%s, %s", scene->name, preparing ? "prepare" : "solve");
    snprintf(limit, sizeof limit,
             "%.3g ms of CPU time; mean %.3g ms; %d of %d in the first %.3g of %.3g ms",
             1e3 * worst_cpu, hits ? 1e3 * sum / hits : 0, hits, MOMENTS, 1e3 * span,
             1e3 * seconds);
    bench_report(b, name, worst, 20e-3, limit);
}

/* The slowest scenes beside the plain ones. */
static const struct scene slow_scenes[] = {
    {"contact", START "\"model\": \"force\", \"parameters\": {\"contact\": \"all\"}, " REST "}", 0,
     false, NULL},
    {"self-contact",
     START "\"model\": \"spring\", \"parameters\": {\"self_contact\": true}, " REST "}", 0, false,
     NULL},
    {"ball",
     START "\"model\": \"spring\", \"obstacles\": [{\"shape\": \"sphere\", \"center\": [0, 0.02, "
           "0.15], \"radius\": 0.06}], " REST "}",
     0, false, NULL},
    {"friction",
     START
     "\"model\": \"spring\", \"parameters\": {\"friction\": 0.3}, \"obstacles\": [{\"shape\": "
     "\"sphere\", \"center\": [0, 0.02, 0.15], \"radius\": 0.06}], " REST "}",
     0, false, NULL},
    {"fit-layer", START "\"model\": \"fit\", \"parameters\": {\"layer\": true}, " TAKE "}", 0, true,
     NULL},
    {"stiffness",
     START "\"model\": \"force\", \"parameters\": {\"estimate_stiffness\": true}, " REST "}", 0,
     false, NULL},
};

/* The longest stretch between two polls. It is measured in CPU time of the calling thread, too, so
 * that other programs do not count. */
typedef struct stretch {
    double wall, cpu;            /* of the last poll */
    double longest, longest_cpu; /* so far */
} stretch;

static bool note_poll(void *user) {
    stretch *s = user;
    double wall = sn_now(), cpu = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    if (s->wall > 0) {
        s->longest = fmax(s->longest, wall - s->wall);
        s->longest_cpu = fmax(s->longest_cpu, cpu - s->cpu);
    }
    s->wall = wall, s->cpu = cpu;
    return false;
}

static void report_stretch(bench *b, const struct scene *scene, const char *what, stretch *s) {
    char name[48], limit[64];
    note_poll(s);
    snprintf(name, sizeof name, "%s, %s", scene->name, what);
    snprintf(limit, sizeof limit, "%.3g ms of CPU time", 1e3 * s->longest_cpu);
    bench_report(b, name, s->longest, 20e-3, limit);
}

static void find_stretches(bench *b, const struct scene *scene) {
    enum { FRAMES = 20 };
    const double most = 30; /* seconds, after which no further frame is solved */
    sinew_error error;
    stretch preparing = {0}, solving = {0};
    sinew_monitor monitor = {.cancelled = note_poll, .user = &preparing};
    sinew_session *session = open_session(scene->text);
    note_poll(&preparing);
    bench_need(sinew_session_prepare(session, &monitor, &error), &error);
    report_stretch(b, scene, "prepare", &preparing);
    live l = {.scene = scene, .session = session};
    make_room(&l);
    monitor.user = &solving;
    double began = sn_now();
    for (int k = 0; k < FRAMES && sn_now() - began < most; k++) {
        sinew_result result;
        sinew_result_init(&result);
        jump(&l);
        solving.wall = 0;
        note_poll(&solving);
        bench_need(solve_under(&l, &result, &monitor, &error), &error);
        note_poll(&solving);
    }
    report_stretch(b, scene, "solve", &solving);
    close_live(&l);
}

static void cancel_scene(bench *b, const struct scene *scene) {
    sinew_error error;
    live l;
    double start = sn_now(), prepare, solving = 0;
    open_live(scene, &l);
    prepare = sn_now() - start;
    for (int k = 0; k < 3 && solving < 2; k++) {
        sinew_result result;
        sinew_result_init(&result);
        jump(&l);
        start = sn_now();
        bench_need(solve(&l, &result, &error), &error);
        solving = fmax(solving, sn_now() - start);
    }
    close_live(&l);
    cancel_often(b, scene, true, prepare);
    cancel_often(b, scene, false, solving);
}

static void for_all_scenes(bench *b, void (*measured)(bench *, const struct scene *)) {
    const char *only = getenv("SINEW_BENCH_SCENE"); /* the name of one of them */
    int slow = sizeof slow_scenes / sizeof *slow_scenes;
    folder = bench_write_take();
    for (int k = 0; k < SCENES + slow; k++) {
        const struct scene *scene = k < SCENES ? &scenes[k] : &slow_scenes[k - SCENES];
        if (!only || !strcmp(only, scene->name)) measured(b, scene);
    }
    bench_remove_take();
}

static void run_polls(bench *b) {
    for_all_scenes(b, find_stretches);
}

static void run_cancel(bench *b) {
    for_all_scenes(b, cancel_scene);
}

const bench_case bench_session[] = {
    {"linear", "face, from a slider to positions", run_linear},
    {"rotation", "face, from a slider to positions", run_rotation},
    {"spring", "face, from a slider to positions", run_spring},
    {"force", "face, from a slider to positions", run_force},
    {"modal", "face, from a new time to positions", run_modal},
    {"fit", "face, from a new time of the take to positions", run_fit},
    {"markers", "face, from a new time of the take to positions", run_markers},
    {"nothing", "a parameter that costs nothing, before a solve", run_nothing},
    {"patch", "one value of 100,000, with its inverse", run_patch},
    {"polls", "the longest stretch between two polls for a cancel", run_polls},
    {"cancel", "from a cancel on another thread to the return of the call", run_cancel},
    BENCH_END,
};
