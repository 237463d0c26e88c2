/* Every model driven live: 500 random patches of every cost, each followed by a solve whose result
 * is compared with that of a job built from the same document. Undoing everything gives back the
 * first document and the first shape. */
#include "support.h"

#include "groups.h"
#include "scenes.h"

static sinew_error error;
static uint64_t seed;

static double uniform(double low, double high) {
    return low + (high - low) * 0.5 * (1 + test_random(&seed));
}

/* ---- patches by model ------------------------------------------------------------------------ */

typedef struct drive {
    const char *name;
    double tolerance;           /* of positions against a job from scratch, length units */
    int frames;                 /* the first so many are solved */
    const char *const *patches; /* printf formats of one number in [0, 1] */
} drive;

#define PUT(POINTER, VALUE)                                                                        \
    "[{\"op\": \"replace\", \"path\": \"" POINTER "\", \"value\": " VALUE "}]"
#define SET(POINTER, VALUE) "[{\"op\": \"add\", \"path\": \"" POINTER "\", \"value\": " VALUE "}]"

/* Weights, clip, locks and rig: for every model that sliders drive. A lock holds vertices that the
 * patches of the same document move. */
#define CLIP_PATCHES(SLIDER, TARGET, LAST)                                                         \
    PUT("/curves/values/" SLIDER "/1", "%g"), PUT("/curves/times/1", "0.3%03.0f1"),                \
        SET("/time/fps", "2%01.0f"), SET("/time/to", "1.%01.0f"),                                  \
        SET("/locks", "[{\"name\": \"l\", \"select\": \"v:1-9\", \"enabled\": true}]"),            \
        SET("/locks/0/enabled", "false"), SET("/attenuation", "{\"strength\": %g}"),               \
        SET("/rig/files/-", "\"" TARGET "\""),                                                     \
        "[{\"op\": \"remove\", \"path\": \"/rig/files/" LAST "\"}]",                               \
        "[{\"op\": \"remove\", \"path\": \"/locks\"}]", SET("/notes", "\"%g\"")
#define OBSTACLE_PATCHES                                                                           \
    SET("/obstacles/0/enabled", "true"), SET("/obstacles/0/enabled", "false"),                     \
        SET("/obstacles/-",                                                                        \
            "{\"shape\": \"plane\", \"point\": [0, -%g, 0], \"normal\": [0, 1, 0]}"),              \
        "[{\"op\": \"remove\", \"path\": \"/obstacles/1\"}]",                                      \
        "[{\"op\": \"move\", \"from\": \"/obstacles/1\", \"path\": \"/obstacles/0\"}]"

static const char *const linear_patches[] = {
    CLIP_PATCHES("jawOpen", "pucker.obj", "3"),
    PUT("/curves/values/mouthSmileLeft/2", "%g"),
    SET("/model", "\"linear\""),
    NULL,
};
static const char *const rotation_patches[] = {
    CLIP_PATCHES("jawOpen", "pucker.obj", "3"),
    PUT("/curves/values/mouthSmileLeft/2", "%g"),
    SET("/parameters", "{\"published\": true}"),
    SET("/parameters", "{\"hold\": \"v:3-6\"}"),
    SET("/parameters", "{}"),
    NULL,
};
static const char *const spring_patches[] = {
    CLIP_PATCHES("bend120", "bend60.obj", "2"),
    OBSTACLE_PATCHES,
    SET("/parameters", "{\"tolerance\": 1e-7, \"friction\": 0}"),
    SET("/parameters/tolerance", "1e-7"),
    SET("/parameters/stiffness_bending", "1.%03.0f"),
    SET("/parameters/max_rounds", "60"),
    SET("/parameters/gravity", "[0, -0.0%03.0f, 0]"),
    SET("/parameters/independent", "true"),
    SET("/obstacles/0/radius", "0.2%03.0f"),
    SET("/obstacles/0/center", "[%g, 0, 0]"),
    PUT("/obstacles/0/motion/1/move/1", "%g"),
    SET("/pulls", "[{\"vertex\": 5, \"to\": [%g, 0.2, 0.1], \"stiffness\": 2}]"),
    PUT("/pulls/0/to/1", "%g"),
    SET("/pulls", "[]"),
    SET("/pins", "[{\"select\": \"v:0-3\"}]"),
    SET("/pins", "[]"),
    SET("/parameters/boundary", "\"pinned\""),
    SET("/parameters/boundary", "\"free\""),
    NULL,
};
/* Sticking and sliding against the ball: every frame depends on all before it. */
static const char *const friction_patches[] = {
    PUT("/curves/values/bend120/1", "0.0%03.0f"),
    PUT("/curves/times/1", "0.3%03.0f1"),
    SET("/time/to", "1.%01.0f"),
    SET("/parameters/friction", "0.%03.0f"),
    SET("/parameters/friction", "0"),
    SET("/parameters/max_rounds", "6"),
    PUT("/obstacles/0/motion/1/move/1", "0.39%03.0f"),
    SET("/pulls", "[{\"vertex\": 5, \"to\": [0, 0.1, 0.%03.0f], \"stiffness\": 0.1}]"),
    SET("/pulls", "[]"),
    SET("/pins", "[{\"select\": \"v:0-3\"}]"),
    SET("/pins", "[]"),
    NULL,
};
static const char *const modal_patches[] = {
    SET("/parameters/damping", "%g"),
    SET("/parameters/swings", "1.%03.0f"),
    SET("/parameters/modes", "1%1.0f"),
    SET("/parameters/gamma", "[%g, 0.5]"),
    SET("/parameters/mix", "%g"),
    SET("/keys/1/time", "2.%03.0f"),
    SET("/keys/-", "{\"time\": 3, \"weights\": {\"bend120\": %g}}"),
    SET("/keys/2/weights/bend120", "%g"),
    "[{\"op\": \"remove\", \"path\": \"/keys/2\"}]",
    SET("/pins", "[{\"select\": \"v:0-3\"}]"),
    SET("/pins", "[]"),
    SET("/time/fps", "2%01.0f"),
    SET("/rig/files/-", "\"bend60.obj\""),
    "[{\"op\": \"remove\", \"path\": \"/rig/files/2\"}]",
    NULL,
};
static const char *const jiggle_patches[] = {
    CLIP_PATCHES("bend120", "bend60.obj", "2"),
    SET("/parameters/damping", "%g"),
    SET("/parameters/swings", "1.%03.0f"),
    SET("/parameters/modes", "%1.0f1"),
    SET("/parameters/amplitude", "[%g, 0.5]"),
    SET("/parameters/fast", "true"),
    SET("/parameters/mix", "%g"),
    NULL,
};
static const char *const force_patches[] = {
    CLIP_PATCHES("jawOpen", "pucker.obj", "3"),
    OBSTACLE_PATCHES,
    SET("/obstacles", "[{\"shape\": \"sphere\", \"center\": [0, -0.04, 0.05], \"radius\": 0.02}]"),
    SET("/obstacles/0/radius", "0.02%03.0f"),
    SET("/parameters", "{\"velocity_kept\": %g}"),
    SET("/parameters/velocity_kept", "%g"),
    SET("/parameters/bend_length", "0.01%03.0f"),
    SET("/parameters/relinearisations", "2"),
    SET("/parameters/contact", "\"all\""),
    SET("/parameters/contact", "\"\""),
    SET("/parameters/friction", "%g"),
    NULL,
};
static const char *const marker_patches[] = {
    SET("/parameters/smooth", "%g"),
    SET("/parameters/outlier", "0.%03.0f1"),
    SET("/parameters/bend_length", "0.01%03.0f"),
    SET("/parameters/layer", "true"),
    SET("/parameters/layer", "false"),
    SET("/obstacles", "[{\"shape\": \"sphere\", \"center\": [0, -0.04, 0.05], \"radius\": 0.02}]"),
    SET("/obstacles/0/radius", "0.02%03.0f"),
    "[{\"op\": \"remove\", \"path\": \"/obstacles\"}]",
    SET("/time/to", "1.%01.0f"),
    SET("/rig/files/-", "\"pucker.obj\""),
    "[{\"op\": \"remove\", \"path\": \"/rig/files/3\"}]",
    NULL,
};
static const char *const fit_patches[] = {
    SET("/parameters/smooth", "%g"),
    SET("/parameters/outlier", "0.%03.0f1"),
    SET("/parameters/l2", "%g"),
    SET("/parameters/method", "\"sbs\""),
    SET("/parameters/method", "\"rsbs\""),
    SET("/parameters/layer", "true"),
    SET("/parameters/layer", "false"),
    SET("/time/to", "1.%01.0f"),
    SET("/rig/files/-", "\"pucker.obj\""),
    "[{\"op\": \"remove\", \"path\": \"/rig/files/3\"}]",
    NULL,
};

static const drive drives[] = {
    {"linear", 0, 9, linear_patches},    {"rotation", 1e-12, 9, rotation_patches},
    {"spring", 2e-5, 2, spring_patches}, {"friction", 0, 6, friction_patches},
    {"modal", 1e-9, 4, modal_patches},   {"jiggle", 1e-9, 9, jiggle_patches},
    {"force", 0, 9, force_patches},      {"contact", 0, 6, force_patches},
    {"markers", 0, 4, marker_patches},   {"fit", 0, 4, fit_patches},
    {"layer", 0, 4, fit_patches},
};

/* ---- driving --------------------------------------------------------------------------------- */

static sinew_status shape_of(sinew_session *session, int frame, double *positions) {
    sinew_input input;
    sinew_input_init(&input);
    sinew_clip_info clip;
    sinew_clip_info_init(&clip);
    sinew_status status = sinew_session_prepare(session, NULL, &error);
    if (status != SINEW_OK) return status;
    assert_ok(sinew_session_clip(session, &clip, &error));
    input.frame = frame < clip.frame_count ? frame : clip.frame_count - 1;
    sinew_result result;
    sinew_result_init(&result);
    result.positions = positions;
    status = sinew_session_solve(session, &input, &result, NULL, &error);
    assert_true(result.revision == sinew_session_revision(session) || status != SINEW_OK);
    return status == SINEW_NOT_CONVERGED ? SINEW_OK : status;
}

static void compare_with_job(const drive *d, const sinew_session *session, int frame, int step,
                             const double *shape, size_t size) {
    sinew_scene *scene;
    sinew_job *job;
    assert_ok(sinew_session_scene(session, &scene, &error));
    assert_ok(sinew_job_create(scene, NULL, &job, &error));
    double *expected = calloc(size, sizeof *expected), most = 0;
    int count = sinew_job_frame_count(job);
    sinew_status status =
        sinew_job_frame(job, frame < count ? frame : count - 1, expected, NULL, NULL, &error);
    if (status != SINEW_NOT_CONVERGED) assert_ok(status);
    for (size_t i = 0; i < size; i++) most = fmax(most, fabs(shape[i] - expected[i]));
    if (!(most <= d->tolerance)) {
        char *text;
        assert_ok(sinew_session_text(session, &text, &error));
        fail_msg("%s: frame %d after patch %d is %g off a job from scratch:\n%s", d->name, frame,
                 step, most, text);
    }
    free(expected);
    sinew_job_destroy(job);
    sinew_scene_destroy(scene);
}

/* Instrumented builds check memory, which fewer patches show as well. */
enum { PATCHES = SANITIZED ? 100 : 500 };

static void drive_live(const drive *d) {
    int formats = 0, applied = 0, refused = 0, costs[4] = {0};
    while (d->patches[formats]) formats++;
    int *uses = calloc((size_t)formats, sizeof *uses);
    seed = 11;
    sinew_session *session = test_session(d->name);
    assert_ok(sinew_session_prepare(session, NULL, &error));
    size_t size = 3 * (size_t)test_vertex_count(sinew_session_solver(session));
    double *first = calloc(size, sizeof *first), *shape = calloc(size, sizeof *shape);
    char **inverses = calloc(PATCHES, sizeof *inverses), *before, *after;
    assert_ok(sinew_session_text(session, &before, &error));
    assert_ok(shape_of(session, 1, first));
    for (int i = 0; i < PATCHES; i++) {
        char patch[400];
        int choice = (int)uniform(0, formats - 1e-9);
        const char *format = d->patches[choice];
        double value = uniform(0, 1);
        bool digits =
            strstr(format, "%03.0f") || strstr(format, "%01.0f") || strstr(format, "%1.0f");
        double scale = strstr(format, "%03.0f") ? 999 : 8;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
        snprintf(patch, sizeof patch, format, digits ? floor(scale * value) : value);
#pragma GCC diagnostic pop
        sinew_session_change change;
        sinew_session_change_init(&change);
        if (sinew_session_patch(session, patch, &inverses[applied], &change, &error) != SINEW_OK) {
            refused++;
            continue;
        }
        int frame = (int)uniform(0, d->frames);
        sinew_status status = shape_of(session, frame, shape);
        if (status != SINEW_OK) { /* a document that cannot be solved: undo, as a user would */
            assert_int_equal(status, SINEW_BAD_INPUT);
            assert_ok(sinew_session_patch(session, inverses[applied], NULL, NULL, &error));
            sinew_free(inverses[applied]);
            assert_ok(shape_of(session, frame, shape));
            refused++;
        } else {
            applied++;
            uses[choice]++, costs[change.cost]++;
        }
        if (!SANITIZED || i % 20 == 7) compare_with_job(d, session, frame, i, shape, size);
    }
    print_message("%s: %d patches, %d refused; cost nothing %d, state %d, structure %d, rig %d\n",
                  d->name, applied, refused, costs[0], costs[1], costs[2], costs[3]);
    assert_true(2 * applied > PATCHES);
    for (int k = 0; k < formats && !SANITIZED; k++)
        if (uses[k] == 0)
            fail_msg("%s: no patch of the form %s was solved", d->name, d->patches[k]);
    free(uses);
    while (applied > 0) {
        assert_ok(sinew_session_patch(session, inverses[--applied], NULL, NULL, &error));
        sinew_free(inverses[applied]);
    }
    assert_ok(sinew_session_text(session, &after, &error));
    assert_string_equal(before, after);
    assert_ok(shape_of(session, 1, shape));
    double most = 0;
    for (size_t i = 0; i < size; i++) most = fmax(most, fabs(shape[i] - first[i]));
    assert_below(most, d->tolerance);
    sinew_free(before), sinew_free(after);
    free(inverses), free(first), free(shape);
    sinew_session_destroy(session);
}

static void every_model_lives_through_500_patches(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof drives / sizeof *drives; i++) drive_live(&drives[i]);
}

/* ---- weights given directly ------------------------------------------------------------------ */

static void given_weights_are_a_scene_of_these_weights(void **state) {
    (void)state;
    static const char *const models[] = {"linear", "rotation", "spring", "force"};
    for (int m = 0; m < 4; m++) {
        char text[300];
        snprintf(text, sizeof text,
                 "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, "
                 "\"model\": \"%s\", \"weights\": "
                 "{\"bend120\": 0.6}}",
                 models[m]);
        sinew_session *session = test_open(text);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_solver *solver = sinew_session_solver(session);
        int n = test_vertex_count(solver);
        double *expected = calloc(6 * (size_t)n, sizeof *expected), *shape = expected + 3 * n;
        float *floats = calloc(6 * (size_t)n, sizeof *floats), *normals = floats + 3 * n;
        double weights[8] = {0};
        weights[sinew_rig_find_slider(sinew_session_rig(session), "bend120")] = 0.6;
        test_frame(solver, 0, expected);
        sinew_solver_reset(solver);
        sinew_input input;
        sinew_input_init(&input);
        sinew_result result;
        sinew_result_init(&result);
        input.weights = weights;
        result.positions = shape, result.positions_float = floats, result.normals = normals;
        assert_ok(sinew_figures_create(&result.figures, &error));
        assert_ok(sinew_session_solve(session, &input, &result, NULL, &error));
        assert_memory_equal(expected, shape, 3 * (size_t)n * sizeof *shape);
        for (int i = 0; i < 3 * n; i++) assert_true(floats[i] == (float)shape[i]);
        for (int v = 0; v < n; v++) {
            double length = 0;
            for (int a = 0; a < 3; a++) length += (double)normals[3 * v + a] * normals[3 * v + a];
            assert_close(sqrt(length), 1, 1e-5);
        }
        double figure;
        if (m == 2) assert_true(sinew_figures_get(result.figures, "inner_iterations", &figure));
        assert_false(sinew_figures_get(result.figures, "nothing", &figure));
        assert_true(isnan(figure));
        assert_int_equal(result.frame, -1);
        /* the ghost beside it, and a dragged vertex */
        assert_ok(sinew_solver_linear(solver, &input, shape, NULL, &error));
        sinew_drag drag = {.vertex = n - 1, .axes = SINEW_AXIS_ALL, .weight = 1};
        memcpy(drag.target, shape + 3 * (n - 1), sizeof drag.target);
        double found[8];
        assert_ok(sinew_solver_drag(solver, 1, &drag, NULL, found, NULL, &error));
        /* the sliders' reluctance leaves a part of the way */
        assert_close(found[sinew_rig_find_slider(sinew_session_rig(session), "bend120")], 0.4,
                     0.25);
        sinew_figures_destroy(result.figures);
        free(expected), free(floats);
        sinew_session_destroy(session);
    }
}

static void a_rig_from_memory_needs_no_loader(void **state) {
    (void)state;
    sinew_rig *rig;
    sinew_scene *scene;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    options.rig = rig;
    assert_ok(sinew_scene_parse("{\"sinew\": 1, \"weights\": {\"bend120\": 1}}", "s", NULL, &scene,
                                &error));
    assert_ok(sinew_session_create(scene, &options, &session, &error));
    int n = rig->neutral->vertex_count;
    double *shape = calloc(6 * (size_t)n, sizeof *shape), *expected = shape + 3 * n;
    sinew_rig_shape(rig, sinew_rig_find_target(rig, "bend120"), expected);
    sinew_rig_destroy(rig); /* the session has its own */
    sinew_result result;
    sinew_result_init(&result);
    result.positions = shape;
    assert_ok(sinew_session_solve(session, NULL, &result, NULL, &error));
    for (int i = 0; i < 3 * n; i++) assert_close(shape[i], expected[i], 1e-6);
    /* but files do */
    assert_ok(sinew_session_set(session, "/curves", "{\"file\": \"c.csv\"}", NULL, NULL, &error));
    assert_int_equal(sinew_session_solve(session, NULL, &result, NULL, &error), SINEW_UNAVAILABLE);
    assert_ok(sinew_session_set(session, "/curves", NULL, NULL, NULL, &error));
    assert_ok(sinew_session_solve(session, NULL, &result, NULL, &error));
    free(shape);
    sinew_session_destroy(session);
    sinew_scene_destroy(scene);
}

/* ---- live steps ------------------------------------------------------------------------------ */

/* Sliders are dragged towards ever new weights, slowly, at once, and back and forth; every step
 * starts from those before it. A solver that has seen nothing must find the same shape. */
static void live_steps_agree_with_solves_from_scratch(void **state) {
    (void)state;
    static const char *const changes[] = {
        "[]",
        ("[{\"op\": \"add\", \"path\": \"/pulls\", \"value\": [{\"vertex\": 60, \"to\": [0.9, 0.3, "
         "0.1], \"stiffness\": 2}, {\"vertex\": 30, \"to\": [0.5, 0.2, 0.1]}]}]"),
        "[{\"op\": \"add\", \"path\": \"/parameters/gravity\", \"value\": [0, -0.2, 0]}]",
    };
    static const char *const names[] = {"spring", "skin"};
    for (int c = 0; c < 6; c++) {
        sinew_session *session = test_session(names[c / 3]);
        if (c < 3) assert_ok(sinew_session_set(session, "/obstacles", NULL, NULL, NULL, &error));
        assert_ok(sinew_session_set(session, "/parameters/tolerance", "1e-6", NULL, NULL, &error));
        assert_ok(sinew_session_patch(session, changes[c % 3], NULL, NULL, &error));
        assert_ok(sinew_session_prepare(session, NULL, &error));
        size_t size = 3 * (size_t)test_vertex_count(sinew_session_solver(session));
        double *shape = calloc(2 * size, sizeof *shape), *expected = shape + size;
        double weights[2] = {0}, goal[2] = {0}, iterations[2] = {0};
        int sliders = sinew_session_rig(session)->slider_count;
        seed = 5;
        for (int k = 0; k < 60; k++) {
            sinew_input input;
            sinew_input_init(&input);
            sinew_result live, cold;
            sinew_result_init(&live), sinew_result_init(&cold);
            input.weights = weights, live.positions = shape, cold.positions = expected;
            for (int s = 0; s < sliders; s++) {
                if (k % 10 == 0) goal[s] = k % 20 ? uniform(0, 1) : 0;
                weights[s] += (k / 10 % 3 == 2 ? 1 : 0.2) * (goal[s] - weights[s]);
            }
            assert_ok(sinew_session_solve(session, &input, &live, NULL, &error));
            sinew_solver *fresh;
            assert_ok(sinew_solver_create(session, NULL, &fresh, &error));
            assert_ok(sinew_solver_solve(fresh, &input, &cold, NULL, &error));
            sinew_solver_destroy(fresh);
            assert_below(test_farthest(size, shape, expected), 2e-5);
            iterations[0] += live.iterations, iterations[1] += cold.iterations;
        }
        print_message("%s %d: %g steps live, %g from scratch\n", names[c / 3], c % 3, iterations[0],
                      iterations[1]);
        assert_true(iterations[0] < 0.8 * iterations[1]);
        free(shape);
        sinew_session_destroy(session);
    }
}

/* Live times are computed in single precision: near the frame of the clip, and at keys the pose. */
static void live_times_agree_with_frames(void **state) {
    (void)state;
    sinew_session *session = test_session("modal");
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_solver *solver = sinew_session_solver(session);
    size_t size = 3 * (size_t)test_vertex_count(solver);
    double *shape = calloc(3 * size, sizeof *shape), *frame = shape + size, *pose = frame + size;
    const sinew_rig *rig = sinew_session_rig(session);
    bool differs = false;
    sinew_rig_shape(rig, sinew_rig_find_target(rig, "bend120"), pose);
    for (int k = 0; k <= 40; k += 5) {
        sinew_input input;
        sinew_input_init(&input);
        sinew_result result;
        sinew_result_init(&result);
        input.frame = -1, input.time = sinew_solver_frame_time(solver, k);
        result.positions = shape;
        assert_ok(sinew_solver_solve(solver, &input, &result, NULL, &error));
        test_frame(solver, k, frame);
        assert_below(test_farthest(size, shape, frame), 1e-5);
        differs |= memcmp(shape, frame, size * sizeof *shape) != 0;
    }
    assert_true(differs);
    assert_below(test_farthest(size, frame, pose), 1e-7); /* of the rig's single precision */
    assert_below(test_farthest(size, shape, frame), 1e-12);
    free(shape);
    sinew_session_destroy(session);
}

/* A client draws the modes of a live scene: displaced from rest by the amount that it asks for. */
static void modes_of_a_solver_have_shapes(void **state) {
    (void)state;
    sinew_session *session = test_session("modal"), *other = test_session("linear");
    assert_null(sinew_solver_modal(NULL));
    assert_null(sinew_solver_modal_motion(NULL));
    assert_ok(sinew_session_prepare(session, NULL, &error));
    assert_ok(sinew_session_prepare(other, NULL, &error));
    assert_null(sinew_solver_modal(sinew_session_solver(other)));
    assert_null(sinew_solver_modal_motion(sinew_session_solver(other)));
    const sinew_modal *modal = sinew_solver_modal(sinew_session_solver(session));
    sinew_modal_info info = {.size = sizeof info};
    assert_non_null(modal);
    assert_ok(sinew_modal_get_info(modal, &info));
    assert_int_equal(info.modes, 12);
    /* They move over the clip. */
    const sinew_modal_motion *motion = sinew_solver_modal_motion(sinew_session_solver(session));
    sinew_modal_motion_info moving = {.size = sizeof moving};
    assert_non_null(motion);
    assert_ok(sinew_modal_motion_get_info(motion, &moving));
    double *weights = malloc((size_t)moving.columns * sizeof *weights);
    sinew_modal_motion_weights(motion, sinew_solver_frame_time(sinew_session_solver(session), 3),
                               weights);
    double largest = 0;
    for (int i = 0; i < info.modes; i++) largest = fmax(largest, fabs(weights[i]));
    assert_true(largest > 0);
    free(weights);
    const sinew_mesh *mesh = sinew_session_rig(session)->neutral;
    size_t size = 3 * (size_t)mesh->vertex_count;
    double *shape = malloc(size * sizeof *shape);
    double diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    assert_ok(sinew_modal_shape(modal, 3, 0.01, shape, &error));
    double moved = test_farthest(size, shape, mesh->positions) / diagonal;
    assert_true(moved > 0.005 && moved < 0.011);
    free(shape);
    sinew_session_destroy(other);
    sinew_session_destroy(session);
}

/* The same for a shell whose parts are linked: eyes, teeth and brows of the sample face. */
static void live_times_of_linked_shells_agree_with_frames(void **state) {
    (void)state;
    static const char *const text =
        "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 1500}, \"model\": \"modal\", "
        "\"parameters\": {\"body\": \"shell\", \"modes\": 20}, \"time\": {\"fps\": 20}, \"keys\": ["
        "{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, \"pose\": \"jawOpen\"}, "
        "{\"time\": 2, \"weights\": {\"eyeLookUpLeft\": 1, \"browInnerUp\": 1}}]}";
    sinew_scene *scene;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    assert_ok(sinew_scene_parse(text, "face", NULL, &scene, &error));
    assert_ok(sinew_session_create(scene, &options, &session, &error));
    assert_ok(sinew_session_prepare(session, NULL, &error));
    char *report;
    assert_ok(sinew_session_describe(session, &report, &error));
    assert_non_null(strstr(report, "\"links\": "));
    assert_null(strstr(report, "\"links\": 0"));
    sinew_free(report);
    sinew_solver *solver = sinew_session_solver(session);
    size_t size = 3 * (size_t)test_vertex_count(solver);
    double *shape = calloc(2 * size, sizeof *shape), *frame = shape + size, worst = 0;
    bool differs = false;
    for (int k = 0; k <= 40; k += 3) {
        sinew_input input;
        sinew_input_init(&input);
        sinew_result result;
        sinew_result_init(&result);
        input.frame = -1, input.time = sinew_solver_frame_time(solver, k);
        result.positions = shape;
        assert_ok(sinew_solver_solve(solver, &input, &result, NULL, &error));
        test_frame(solver, k, frame);
        worst = fmax(worst, test_farthest(size, shape, frame));
        differs |= memcmp(shape, frame, size * sizeof *shape) != 0;
    }
    print_message("linked shell: single precision is off by %.2g m\n", worst);
    assert_true(differs);
    assert_below(worst, 1e-5);
    free(shape);
    sinew_session_destroy(session);
    sinew_scene_destroy(scene);
}

/* ---- not converged ----------------------------------------------------------------------------
 */

/* It is returned like any other status, with the best shape and what it lacks in the result. */
static void not_converged_is_returned_with_the_best_shape(void **state) {
    (void)state;
    sinew_session *session = test_session("spring");
    assert_ok(sinew_session_set(session, "/obstacles", NULL, NULL, NULL, &error));
    assert_ok(sinew_session_set(session, "/parameters",
                                "{\"tolerance\": 1e-12, \"max_iterations\": 1}", NULL, NULL,
                                &error));
    assert_ok(sinew_session_prepare(session, NULL, &error));
    size_t size = 3 * (size_t)test_vertex_count(sinew_session_solver(session));
    double *shape = calloc(2 * size, sizeof *shape), weight = 0.5;
    sinew_input input;
    sinew_input_init(&input);
    input.weights = &weight;
    sinew_result result;
    sinew_result_init(&result);
    result.positions = shape;
    assert_int_equal(sinew_session_solve(session, &input, &result, NULL, &error),
                     SINEW_NOT_CONVERGED);
    assert_int_equal(result.status, SINEW_NOT_CONVERGED);
    assert_int_equal(result.iterations, 1);
    assert_true(result.residual > 1e-12 && isfinite(result.residual));
    assert_false(result.time_limited);
    assert_ok(sinew_session_set(session, "/parameters/max_iterations", "300", NULL, NULL, &error));
    assert_ok(sinew_session_set(session, "/parameters/tolerance", "1e-7", NULL, NULL, &error));
    result.positions = shape + size;
    assert_ok(sinew_session_solve(session, &input, &result, NULL, &error));
    assert_below(test_farthest(size, shape, shape + size), 0.05);
    free(shape);
    sinew_session_destroy(session);
}

/* ---- contacts -------------------------------------------------------------------------------- */

/* What presses is given back: near the obstacle or the other lip, pushed away from it. */
static void contacts_are_given_back(void **state) {
    (void)state;
    enum { ROOM = 400 };
    static sinew_contact contacts[ROOM];
    for (int m = 0; m < 2; m++) {
        sinew_session *session = test_session(m ? "contact" : "spring");
        /* an obstacle that is switched off in front: the other keeps its number */
        if (m == 0)
            assert_ok(sinew_session_patch(
                session,
                "[{\"op\": \"add\", \"path\": \"/obstacles/0\", \"value\": {\"shape\": \"plane\", "
                "\"point\": [0, -9, 0], \"normal\": [0, 1, 0], \"enabled\": false}}]",
                NULL, NULL, &error));
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_solver *solver = sinew_session_solver(session);
        int n = test_vertex_count(solver), seen = 0;
        double *shape = calloc(3 * (size_t)n, sizeof *shape);
        for (int frame = 0; frame < 41; frame += 5) {
            sinew_input input;
            sinew_input_init(&input);
            sinew_result result;
            sinew_result_init(&result);
            input.frame = frame, result.positions = shape;
            result.contacts = contacts, result.contact_capacity = ROOM;
            sinew_status status = sinew_solver_solve(solver, &input, &result, NULL, &error);
            if (status != SINEW_NOT_CONVERGED) assert_ok(status);
            assert_int_equal(result.contacts_returned, result.contact_count);
            seen += result.contact_count;
            double t = sinew_solver_frame_time(solver, frame) / 2;
            double center[3] = {0.45 + 0.15 * t, 0.41 - 0.015 * t, 0};
            for (int k = 0; k < result.contacts_returned; k++) {
                const sinew_contact *c = &contacts[k];
                double away = 0, along = 0, near = INFINITY;
                assert_in_range(c->vertex, 0, n - 1);
                for (int v = 0; v < n; v++) {
                    double square = 0;
                    for (int a = 0; a < 3; a++) square += pow(shape[3 * v + a] - c->position[a], 2);
                    near = fmin(near, sqrt(square));
                }
                assert_below(near, m ? 0.02 : 0.15); /* on the surface */
                assert_int_equal(c->obstacle, m ? -1 : 1);
                for (int a = 0; a < 3 && m == 0; a++) {
                    away += pow(c->position[a] - center[a], 2);
                    along += c->force[a] * (c->position[a] - center[a]);
                }
                if (m == 0) assert_close(sqrt(away), 0.3, 0.01);
                if (m == 0) assert_true(along > 0);
            }
        }
        assert_true(seen > 0);
        free(shape);
        sinew_session_destroy(session);
    }
}

/* ---- nothing to drive it --------------------------------------------------------------------- */

typedef struct heard {
    int warnings;
    char last[256];
} heard;

static void hear(sinew_log_level level, const char *line, void *user) {
    heard *h = user;
    if (level < SINEW_LOG_LEVEL_WARNING || !strstr(line, "does not use")) return;
    h->warnings++;
    snprintf(h->last, sizeof h->last, "%s", line);
}

static void input_that_a_model_ignores_is_reported_once(void **state) {
    (void)state;
    static const struct {
        const char *scene;
        bool weights, markers, command;
        const char *words; /* NULL: it is used */
    } cases[] = {{"linear", true, false, false, NULL},
                 {"linear", false, true, false, "markers"},
                 {"spring", false, false, true, "a command"},
                 {"modal", true, false, false, "weights"},
                 {"fit", true, false, false, "weights"},
                 {"force", false, true, false, "markers without a take"},
                 {"force", false, false, true, NULL},
                 {"markers", false, true, false, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heard h = {0};
        sinew_monitor monitor = {.log = hear, .user = &h};
        sinew_session *session = test_session(cases[i].scene);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_input input;
        sinew_result result;
        sinew_input_init(&input);
        double *numbers = calloc(3000, sizeof *numbers);
        if (cases[i].weights) input.weights = numbers;
        if (cases[i].command) input.command = numbers;
        if (cases[i].markers) {
            for (int k = 0; k < 3000; k++) numbers[k] = NAN; /* all are hidden */
            input.markers = numbers;
        }
        for (int k = 0; k < 2; k++) {
            sinew_result_init(&result);
            assert_ok(sinew_session_solve(session, &input, &result, &monitor, &error));
        }
        assert_int_equal(h.warnings, cases[i].words != NULL);
        if (cases[i].words) assert_non_null(strstr(h.last, cases[i].words));
        free(numbers);
        sinew_session_destroy(session);
    }
}

/* A command per target is what weights of the sliders come to; beyond that it is free. */
static void commands_drive_blendforces(void **state) {
    (void)state;
    sinew_session *session = test_session("force");
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_solver *solver = sinew_session_solver(session);
    const sinew_rig *rig = sinew_solver_rig(solver);
    size_t size = 3 * (size_t)test_vertex_count(solver);
    double *shape = calloc(3 * size, sizeof *shape), weights[2] = {0.7, 0.2}, command[2];
    sinew_rig_activations(rig, weights, command);
    for (int k = 0; k < 3; k++) {
        sinew_input input;
        sinew_input_init(&input);
        sinew_result result;
        sinew_result_init(&result);
        input.weights = k == 0 ? weights : NULL, input.command = k ? command : NULL;
        if (k == 2) command[0] += 0.1;
        result.positions = shape + (size_t)k * size;
        sinew_solver_reset(solver);
        assert_ok(sinew_solver_solve(solver, &input, &result, NULL, &error));
        assert_int_equal(result.frame, -1);
    }
    assert_memory_equal(shape, shape + size, size * sizeof *shape);
    assert_true(test_farthest(size, shape, shape + 2 * size) > 1e-4);
    command[1] = NAN;
    sinew_input input;
    sinew_input_init(&input);
    sinew_result result;
    sinew_result_init(&result);
    input.command = command;
    assert_int_equal(sinew_solver_solve(solver, &input, &result, NULL, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, rig->targets[1].name));
    free(shape);
    sinew_session_destroy(session);
}

static void a_session_without_a_driver_is_at_rest(void **state) {
    (void)state;
    static const char *const models[] = {"linear", "rotation", "spring", "force"};
    for (int m = 0; m < 4; m++) {
        sinew_session *session = test_session("spring");
        char model[16];
        snprintf(model, sizeof model, "\"%s\"", models[m]);
        static const char *const keys[] = {"/curves", "/obstacles", "/parameters", "/time"};
        for (int k = 0; k < 4; k++)
            assert_ok(sinew_session_set(session, keys[k], NULL, NULL, NULL, &error));
        assert_ok(sinew_session_set(session, "/model", model, NULL, NULL, &error));
        assert_ok(sinew_session_prepare(session, NULL, &error));
        const sinew_rig *rig = sinew_session_rig(session);
        size_t size = 3 * (size_t)rig->neutral->vertex_count;
        double *shape = calloc(size, sizeof *shape);
        test_frame(sinew_session_solver(session), 0, shape);
        assert_below(test_farthest(size, shape, rig->neutral->positions), 1e-6);
        free(shape);
        sinew_session_destroy(session);
    }
}

int test_live(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_lives_through_500_patches),
        cmocka_unit_test(given_weights_are_a_scene_of_these_weights),
        cmocka_unit_test(live_steps_agree_with_solves_from_scratch),
        cmocka_unit_test(live_times_agree_with_frames),
        cmocka_unit_test(modes_of_a_solver_have_shapes),
        cmocka_unit_test(live_times_of_linked_shells_agree_with_frames),
        cmocka_unit_test(not_converged_is_returned_with_the_best_shape),
        cmocka_unit_test(contacts_are_given_back),
        cmocka_unit_test(input_that_a_model_ignores_is_reported_once),
        cmocka_unit_test(commands_drive_blendforces),
        cmocka_unit_test(a_session_without_a_driver_is_at_rest),
        cmocka_unit_test(a_rig_from_memory_needs_no_loader),
    };
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
