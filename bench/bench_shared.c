/* Frames beside busy processes: how every model shares the machine.
 *
 * 0, 2 and 4 child processes that do nothing but count run beside the benchmark. One and two
 * threads (and all, where there are more) take turns of TURN seconds, so that both see the same
 * machine. A line has the mean time of a frame, in place of a bound the mean time with one thread,
 * and their ratio: at most 1.3 beside busy processes, well below 1 on an idle machine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "bench.h"
#include "busy.h"
#include "take.h"

enum { TURNS = 16, LEAST_FRAMES = 4, MOST_COUNTS = 8 };
static const double TURN = 0.15;

/* ---- turns ---- */

typedef struct tally {
    int threads, frames;
    double seconds, worst;
} tally;

static void take_turn(tally *t, void (*frame)(void *user), void *user) {
    sinew_set_threads(t->threads);
    double began = sn_now(), last = began;
    for (int k = 0; k < LEAST_FRAMES || last - began < TURN; k++) {
        frame(user);
        double now = sn_now();
        t->worst = fmax(t->worst, now - last);
        t->frames++;
        last = now;
    }
    t->seconds += last - began;
}

static void share(bench *b, void (*frame)(void *user), void *user) {
    int all = sinew_threads(), counts[MOST_COUNTS] = {1}, count = 1;
    for (int threads = 2; threads <= all && count < MOST_COUNTS; threads *= 2)
        counts[count++] = threads;
    if (all < 2) counts[count++] = 2;
    for (int k = 0; k < count; k++) {
        sinew_set_threads(counts[k]);
        frame(user);
    }
    for (int others = 0; others <= BENCH_MOST_BUSY; others += 2) {
        tally tallies[MOST_COUNTS] = {0};
        bench_set_busy(others);
        for (int turn = 0; turn < TURNS; turn++)
            for (int k = 0; k < count; k++) {
                tallies[k].threads = counts[k];
                take_turn(&tallies[k], frame, user);
            }
        bench_set_busy(0);
        double alone = tallies[0].seconds / tallies[0].frames;
        for (int k = 0; k < count; k++) {
            char name[32], limit[64];
            sinew_set_threads(counts[k]);
            snprintf(name, sizeof name, "%d busy", others);
            snprintf(limit, sizeof limit, "one thread, worst frame %.2f ms",
                     1e3 * tallies[k].worst);
            bench_report(b, name, tallies[k].seconds / tallies[k].frames, alone, limit);
        }
    }
    sinew_set_threads(all);
}

/* ---- the models, on the face of 11.9k vertices ---- */

typedef struct face_case {
    sinew_rig *rig;
    sinew_linear *linear;
    sinew_rotation *rotation;
    sinew_rotation_state *rotation_state;
    sinew_spring *spring;
    sinew_spring_state *spring_state;
    sinew_force *force;
    sinew_force_state *force_state;
    sinew_markers *take;
    double *weights, *positions;
    int frame;
} face_case;

static void make_face(face_case *c) {
    sinew_error error;
    sinew_sample_options size;
    memset(c, 0, sizeof *c);
    sinew_sample_options_init(&size);
    size.vertices = 12000;
    bench_need(sinew_sample_rig("face", &size, &c->rig, &error), &error);
    c->weights = calloc((size_t)c->rig->slider_count, sizeof(double));
    c->positions = malloc(3 * sizeof(double) * (size_t)c->rig->neutral->vertex_count);
}

static void free_face(face_case *c) {
    sinew_markers_destroy(c->take);
    sinew_force_state_destroy(c->force_state), sinew_force_destroy(c->force);
    sinew_spring_state_destroy(c->spring_state), sinew_spring_destroy(c->spring);
    sinew_rotation_state_destroy(c->rotation_state), sinew_rotation_destroy(c->rotation);
    sinew_linear_destroy(c->linear);
    sinew_rig_destroy(c->rig);
    free(c->weights), free(c->positions);
}

/* A talking face: some sliders move slowly. */
static void move_sliders(face_case *c) {
    for (int s = 0; s < c->rig->slider_count; s += 8)
        c->weights[s] = 0.3 + 0.2 * sin(0.03 * c->frame + s);
    c->frame++;
}

static void linear_frame(void *user) {
    face_case *c = user;
    move_sliders(c);
    sinew_linear_evaluate(c->linear, c->weights, c->positions);
}

static void linear_case(bench *b) {
    sinew_error error;
    face_case c;
    make_face(&c);
    bench_need(sinew_linear_create(c.rig, &c.linear, &error), &error);
    share(b, linear_frame, &c);
    free_face(&c);
}

static void rotation_frame(void *user) {
    face_case *c = user;
    move_sliders(c);
    sinew_rotation_evaluate(c->rotation, c->rotation_state, c->weights, c->positions);
}

static void rotation_case(bench *b) {
    sinew_error error;
    face_case c;
    make_face(&c);
    bench_need(sinew_rotation_create(c.rig, NULL, NULL, &c.rotation, &error), &error);
    bench_need(sinew_rotation_state_create(c.rotation, &c.rotation_state, &error), &error);
    share(b, rotation_frame, &c);
    free_face(&c);
}

static void spring_frame(void *user) {
    face_case *c = user;
    sinew_error error;
    sinew_spring_frame frame = {.size = sizeof frame, .weights = c->weights, .index = c->frame};
    move_sliders(c);
    sinew_status status =
        sinew_spring_solve(c->spring, c->spring_state, &frame, c->positions, NULL, NULL, &error);
    if (status != SINEW_NOT_CONVERGED) bench_need(status, &error);
}

static void spring_case(bench *b) {
    sinew_error error;
    face_case c;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    make_face(&c);
    bench_need(sinew_spring_create(c.rig, &options, NULL, &c.spring, &error), &error);
    bench_need(sinew_spring_state_create(c.spring, &c.spring_state, &error), &error);
    share(b, spring_frame, &c);
    free_face(&c);
}

static void force_frame(void *user) {
    face_case *c = user;
    sinew_error error;
    int t = c->frame++ % (2 * c->take->time_count - 2); /* forwards and back */
    if (t >= c->take->time_count) t = 2 * c->take->time_count - 2 - t;
    bench_need(sinew_force_frame(c->force, c->force_state,
                                 c->take->positions + 3 * (size_t)t * (size_t)c->take->marker_count,
                                 NULL, c->positions, NULL, NULL, &error),
               &error);
}

static void force_case(bench *b) {
    sinew_error error;
    face_case c;
    sinew_marker_map *map;
    sinew_sample_options size;
    sinew_force_options options;
    sinew_sample_options_init(&size);
    sinew_force_options_init(&options);
    size.vertices = 12000;
    make_face(&c);
    bench_need(sinew_sample_markers("face", &size, NULL, &c.take, &map, &error), &error);
    bench_need(sinew_force_create(c.rig, map, &options, NULL, &c.force, &error), &error);
    bench_need(sinew_force_state_create(c.force, &c.force_state, &error), &error);
    share(b, force_frame, &c);
    sinew_marker_map_destroy(map);
    free_face(&c);
}

/* ---- a modal clip of a bar ---- */

typedef struct modal_case {
    sinew_modal_motion *motion;
    sinew_modal_state *state;
    double *positions;
    int frame;
} modal_case;

static void modal_frame(void *user) {
    modal_case *c = user;
    sinew_modal_frame(c->motion, c->state, (c->frame++ % 97) / 97.0, c->positions);
}

static void modal_frames(bench *b) {
    sinew_error error;
    sinew_rig *rig;
    sinew_sample_options size;
    sinew_modal_options options;
    sinew_modal *modal;
    modal_case c = {0};
    sinew_sample_options_init(&size);
    sinew_modal_options_init(&options);
    size.vertices = 7300;
    bench_need(sinew_sample_rig("bar", &size, &rig, &error), &error);
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *pose = malloc(n * sizeof(double));
    sinew_rig_shape(rig, 0, pose);
    bench_need(sinew_modal_create(rig->neutral, &options, NULL, &modal, &error), &error);
    const double times[2] = {0, 1}, *poses[2] = {rig->neutral->positions, pose};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    bench_need(sinew_modal_motion_create(modal, &keys, NULL, NULL, &c.motion, &error), &error);
    bench_need(sinew_modal_state_create(modal, &c.state, &error), &error);
    c.positions = malloc(n * sizeof(double));
    share(b, modal_frame, &c);
    sinew_modal_state_destroy(c.state);
    sinew_modal_motion_destroy(c.motion);
    sinew_modal_destroy(modal);
    sinew_rig_destroy(rig);
    free(pose), free(c.positions);
}

/* ---- through a session: models that a scene puts together ---- */

typedef struct session_case {
    sinew_session *session;
    double *positions, end;
    int frame;
} session_case;

/* Live, at a new time of the clip. */
static void session_frame(void *user) {
    session_case *c = user;
    sinew_error error;
    sinew_input input;
    sinew_result result;
    sinew_input_init(&input);
    sinew_result_init(&result);
    input.frame = -1, input.time = fmod(c->frame++ / 47.0, c->end);
    result.positions = c->positions;
    sinew_status status = sinew_session_solve(c->session, &input, &result, NULL, &error);
    if (status != SINEW_NOT_CONVERGED) bench_need(status, &error);
}

static void session_frames(bench *b, const char *text) {
    sinew_error error;
    sinew_scene *scene;
    sinew_session_options options;
    sinew_clip_info clip;
    session_case c = {0};
    sinew_session_options_init(&options);
    sinew_clip_info_init(&clip);
    options.loader = sinew_file_loader();
    bench_need(sinew_scene_parse(text, "bench", bench_write_take(), &scene, &error), &error);
    bench_need(sinew_session_create(scene, &options, &c.session, &error), &error);
    bench_need(sinew_session_prepare(c.session, NULL, &error), &error);
    bench_need(sinew_session_clip(c.session, &clip, &error), &error);
    c.end = clip.end;
    c.positions =
        malloc(3 * sizeof(double) * (size_t)sinew_session_rig(c.session)->neutral->vertex_count);
    share(b, session_frame, &c);
    sinew_session_destroy(c.session);
    sinew_scene_destroy(scene);
    free(c.positions);
    bench_remove_take();
}

#define FACE "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 12000}, "
#define TAKE "\"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}"

static void jiggle_frames(bench *b) {
    session_frames(b, FACE "\"model\": \"modal\", \"time\": {\"fps\": 30}, \"curves\": {\"times\": "
                           "[0, 1, 2], \"values\": {\"jawOpen\": [0, 1, 0]}}}");
}
static void force_layer_frames(bench *b) {
    session_frames(b, FACE "\"model\": \"force\", \"parameters\": {\"layer\": true}, " TAKE "}");
}
static void fit_layer_frames(bench *b) {
    session_frames(b, FACE "\"model\": \"fit\", \"parameters\": {\"layer\": true}, " TAKE "}");
}

const bench_case bench_shared[] = {
    {"linear", "face, one frame beside busy processes", linear_case},
    {"rotation", "face, one frame beside busy processes", rotation_case},
    {"spring", "face, one frame beside busy processes", spring_case},
    {"force", "face, one frame beside busy processes", force_case},
    {"modal", "bar, one frame beside busy processes", modal_frames},
    {"jiggle", "face that curves drive, one frame beside busy processes", jiggle_frames},
    {"force-layer", "face, force with the marker layer, beside busy processes", force_layer_frames},
    {"fit-layer", "face, fit with the marker layer, beside busy processes", fit_layer_frames},
    BENCH_END,
};
