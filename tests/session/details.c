/* What scenes and calls ask for is what happens: one small claim each. */
#include "support.h"

#include "groups.h"
#include "scenes.h"

static sinew_error error;

#define BAR   "\"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\": {\"fps\": 20}, "
#define SWING "\"curves\": {\"times\": [0, 1], \"values\": {\"bend120\": [0, 0.1]}}"

/* A frame, newly allocated. */
static double *read_frame(const char *text, int frame, int *count) {
    sinew_session *session = test_open(text);
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_solver *solver = sinew_session_solver(session);
    *count = 3 * test_vertex_count(solver);
    double *positions = calloc((size_t)*count, sizeof *positions);
    test_frame(solver, frame, positions);
    sinew_session_destroy(session);
    return positions;
}

/* A capsule reaches a radius beyond its ends, and a cylinder stops at them. */
static void capsules_are_round_and_cylinders_flat(void **state) {
    (void)state;
#define ABOVE(shape)                                                                               \
    "{\"sinew\": 1, " BAR "\"model\": \"spring\", " SWING ", \"obstacles\": [{\"shape\": \"" shape \
    "\", \"from\": [0.5, 0.6, 0], \"to\": [0.5, 0.2, 0], \"radius\": 0.15}]}"
    int count;
    double *free_one =
        read_frame("{\"sinew\": 1, " BAR "\"model\": \"spring\", " SWING "}", 0, &count);
    double *capsule = read_frame(ABOVE("capsule"), 0, &count);
    double *cylinder = read_frame(ABOVE("cylinder"), 0, &count);
    double pressed = 0, beside = 0;
    for (int i = 0; i < count; i++) {
        pressed = fmax(pressed, fabs(capsule[i] - free_one[i]));
        beside = fmax(beside, fabs(cylinder[i] - free_one[i]));
    }
    assert_true(pressed > 0.01);
    assert_below(beside, 1e-6);
    free(free_one), free(capsule), free(cylinder);
}

/* Energies beside the springs are listed however weak they are, and not at all at 0. */
static void weak_energies_are_listed(void **state) {
    (void)state;
    for (int off = 0; off < 2; off++) {
        char text[1000], *described;
        const char *weight = off ? "0" : "1e-5";
        snprintf(text, sizeof text,
                 "{\"sinew\": 1, " BAR "\"model\": \"spring\", " SWING
                 ", \"parameters\": {\"interior\": \"tets\", \"volume\": %s, \"altitude\": %s, "
                 "\"guide\": %s, \"pull_to_blend\": %s}}",
                 weight, weight, weight, weight);
        sinew_session *session = test_open(text);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        assert_ok(sinew_session_describe(session, &described, &error));
        static const char *const names[] = {"volume", "altitudes", "directions", "pull_to_blend"};
        for (int k = 0; k < 4; k++) {
            char wanted[60];
            snprintf(wanted, sizeof wanted, "\"name\": \"%s\"", names[k]);
            char tight[60];
            snprintf(tight, sizeof tight, "\"name\":\"%s\"", names[k]);
            bool listed = strstr(described, wanted) || strstr(described, tight);
            if (listed == off) fail_msg("%s at %s: %s", names[k], weight, described);
        }
        sinew_free(described);
        sinew_session_destroy(session);
    }
}

static sinew_session *session_of_rig(const sinew_rig *rig) {
    sinew_scene *scene;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.rig = rig;
    assert_ok(sinew_scene_parse("{\"sinew\": 1, \"model\": \"linear\", \"weights\": {\"bend120\": "
                                "1}}",
                                "s", NULL, &scene, &error));
    assert_ok(sinew_session_create(scene, &options, &session, &error));
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_scene_destroy(scene);
    return session;
}

/* Every number of the rig counts, also those of its last vertex, target and slider. */
static void a_state_of_a_slightly_different_rig_is_refused(void **state) {
    (void)state;
    sinew_sample_options small;
    sinew_sample_options_init(&small);
    small.vertices = 1000;
    sinew_rig *rig;
    assert_ok(sinew_sample_rig("bar", &small, &rig, &error));
    sinew_session *session = session_of_rig(rig);
    void *saved;
    size_t bytes;
    assert_ok(sinew_solver_save_state(sinew_session_solver(session), &saved, &bytes, &error));
    double *last = &rig->neutral->positions[3 * (size_t)rig->neutral->vertex_count - 1];
    double *delta = &rig->targets[rig->target_count - 1]
                         .deltas[3 * (size_t)rig->targets[rig->target_count - 1].count - 1];
    double *const numbers[] = {NULL, last, delta, &rig->sliders[rig->slider_count - 1].rest};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i]) *numbers[i] += 0.125;
        sinew_session *other = session_of_rig(rig);
        assert_int_equal(sinew_solver_load_state(sinew_session_solver(other), saved, bytes, &error),
                         numbers[i] ? SINEW_BAD_INPUT : SINEW_OK);
        sinew_session_destroy(other);
        if (numbers[i]) *numbers[i] -= 0.125;
    }
    sinew_free(saved);
    sinew_session_destroy(session);
    sinew_rig_destroy(rig);
}

static void states_need_every_argument(void **state) {
    (void)state;
    sinew_session *session = test_session("linear");
    sinew_solver *solver = sinew_session_solver(session);
    void *saved = NULL;
    size_t bytes;
    /* before anything is built, too */
    assert_int_equal(sinew_solver_save_state(solver, &saved, &bytes, &error), SINEW_MISUSE);
    assert_ok(sinew_session_prepare(session, NULL, &error));
    assert_int_equal(sinew_solver_save_state(NULL, &saved, &bytes, &error), SINEW_MISUSE);
    assert_int_equal(sinew_solver_save_state(solver, NULL, &bytes, &error), SINEW_MISUSE);
    assert_int_equal(sinew_solver_save_state(solver, &saved, NULL, &error), SINEW_MISUSE);
    assert_ok(sinew_solver_save_state(solver, &saved, &bytes, &error));
    assert_int_equal(sinew_solver_load_state(NULL, saved, bytes, &error), SINEW_MISUSE);
    assert_int_equal(sinew_solver_load_state(solver, NULL, bytes, &error), SINEW_MISUSE);
    sinew_free(saved);
    sinew_session_destroy(session);
}

static void count_idle(sinew_log_level level, const char *line, void *user) {
    *(int *)user += level >= SINEW_LOG_LEVEL_WARNING && strstr(line, "does nothing") != NULL;
}

static void parameters_without_effect_are_reported(void **state) {
    (void)state;
#define FIT(parameters)                                                                            \
    "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\"]}, \"time\": {\"fps\": "  \
    "30}, \"model\": \"fit\", \"parameters\": {" parameters "}, \"markers\": {\"file\": "          \
    "\"take.csv\", \"map\": \"map.csv\"}}"
    static const struct {
        const char *text;
        int warnings;
    } cases[] = {
        {FIT(""), 0},
        {FIT("\"layer\": true"), 0},
        {FIT("\"layer\": true, \"layer_contact\": \"off\""), 0},
        {FIT("\"layer_contact\": \"on\""), 1},
        {FIT("\"layer_contact\": \"off\""), 1},
        {FIT("\"method\": \"uls\", \"l1\": 0.1"), 1},
        {FIT("\"method\": \"rsbs\", \"l1\": 0.1"), 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int warnings = 0;
        sinew_monitor monitor = {.log = count_idle, .user = &warnings};
        sinew_session *session = test_open(cases[i].text);
        assert_ok(sinew_session_prepare(session, &monitor, &error));
        if (warnings != cases[i].warnings) fail_msg("%d warnings: %s", warnings, cases[i].text);
        sinew_session_destroy(session);
    }
}

/* Markers of a jaw that is closed beyond the neutral: how far the weights may follow. */
static void bounds_let_weights_go_as_far_as_they_say(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double least; /* part of the motion that is found */
        double most;
    } cases[] = {
        {FIT("\"method\": \"uls\", \"l2\": 1e-6, \"bounds\": \"wide\""), 0.9, 1.1},
        {FIT("\"method\": \"uls\", \"l2\": 1e-6, \"bounds\": \"none\""), 0.9, 1.1},
        {FIT("\"method\": \"uls\", \"l2\": 1e-6"), 0.9, 1.1},
        {FIT("\"method\": \"uls\", \"l2\": 1e-6, \"bounds\": \"slider\""), -0.01, 0.01},
        {FIT("\"method\": \"sbs\", \"bounds\": \"wide\""), -0.01, 0.01},
        {FIT("\"method\": \"sbs\", \"bounds\": \"none\""), -0.01, 0.01},
    };
    enum { MARKERS = 24 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sinew_session *session = test_open(cases[i].text);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        const sinew_rig *rig = sinew_session_rig(session);
        int n = rig->neutral->vertex_count, most = 0;
        double *neutral = rig->neutral->positions, *shape = malloc(sizeof(double[3]) * (size_t)n);
        double *open = malloc(sizeof(double[3]) * (size_t)n), markers[3 * MARKERS];
        sinew_rig_shape(rig, sinew_rig_find_target(rig, "jawOpen"), open);
        for (int k = 0; k < 3 * n; k++)
            if (fabs(open[k] - neutral[k]) > fabs(open[most] - neutral[most])) most = k;
        for (int m = 0; m < MARKERS; m++)
            for (int c = 0; c < 3; c++) {
                size_t at = 3 * (size_t)((long)m * n / MARKERS) + (size_t)c;
                markers[3 * m + c] = neutral[at] - 0.4 * (open[at] - neutral[at]);
            }
        sinew_input input;
        sinew_input_init(&input);
        input.markers = markers;
        sinew_result result;
        sinew_result_init(&result);
        result.positions = shape;
        assert_ok(sinew_session_solve(session, &input, &result, NULL, &error));
        double found = (shape[most] - neutral[most]) / (-0.4 * (open[most] - neutral[most]));
        if (!(found >= cases[i].least && found <= cases[i].most))
            fail_msg("%g of the motion: %s", found, cases[i].text);
        free(shape), free(open);
        sinew_session_destroy(session);
    }
}

/* Live markers count, also the first one. */
static void live_markers_move_the_fit(void **state) {
    (void)state;
    enum { MARKERS = 24 };
    sinew_session *session = test_open(
        "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"mouthSmileLeft.obj\"]}, \"time\": "
        "{\"fps\": 30}, \"model\": \"fit\", \"parameters\": {\"method\": \"uls\", \"l2\": 1e-6}, "
        "\"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}}");
    assert_ok(sinew_session_prepare(session, NULL, &error));
    const sinew_rig *rig = sinew_session_rig(session);
    int n = rig->neutral->vertex_count, moving = 0;
    size_t size = 3 * (size_t)n;
    double *neutral = rig->neutral->positions, *shape = malloc(sizeof(double) * size);
    double *smile = malloc(sizeof(double) * size), markers[3 * MARKERS];
    sinew_rig_shape(rig, sinew_rig_find_target(rig, "mouthSmileLeft"), smile);
    for (int m = 0; m < MARKERS; m++) {
        size_t own = 3 * (size_t)((long)m * n / MARKERS);
        double asked = fabs(smile[own] - neutral[own]) + fabs(smile[own + 1] - neutral[own + 1]);
        for (int k = 0; k < MARKERS; k++) {
            int at = 3 * (int)((long)k * n / MARKERS);
            memcpy(markers + 3 * k, (k == m ? smile : neutral) + at, sizeof(double[3]));
        }
        sinew_input input;
        sinew_input_init(&input);
        input.markers = markers;
        sinew_result result;
        sinew_result_init(&result);
        result.positions = shape;
        assert_ok(sinew_session_solve(session, &input, &result, NULL, &error));
        double far = 0;
        for (size_t i = 0; i < size; i++) far = fmax(far, fabs(shape[i] - neutral[i]));
        moving += asked > 1e-3 && far > 1e-6;
        if (m == 0) assert_true(asked > 1e-3 && far > 1e-6);
    }
    assert_true(moving > MARKERS / 3);
    free(shape), free(smile);
    sinew_session_destroy(session);
}

/* RFC 6902: values are equal if they have the same type and the same contents. */
static void tests_in_patches_compare_types_sizes_and_contents(void **state) {
    (void)state;
    sinew_scene *scene;
    sinew_session *session;
    assert_ok(sinew_scene_parse("{\"sinew\": 1, \"steps\": 4, \"strict\": true, \"weights\": "
                                "{\"a\": 0.1, \"b\": 0.2}, \"obstacles\": [{\"shape\": \"box\"}, "
                                "{\"shape\": \"plane\"}]}",
                                "s", NULL, &scene, &error));
    assert_ok(sinew_session_create(scene, NULL, &session, &error));
    sinew_scene_destroy(scene);
    static const struct {
        const char *path, *value;
        bool same;
    } cases[] = {
        {"/steps", "4", true},
        {"/steps", "4.0", true},
        {"/steps", "5", false},
        {"/steps", "\"4\"", false},
        {"/steps", "[4]", false},
        {"/strict", "true", true},
        {"/strict", "false", false},
        {"/strict", "1", false},
        {"/weights", "{\"b\": 0.2, \"a\": 0.1}", true},
        {"/weights", "{\"a\": 0.1}", false},
        {"/weights", "{\"a\": 0.1, \"c\": 0.2}", false},
        {"/weights", "{\"a\": 0.1, \"b\": 0.3}", false},
        {"/weights", "{\"a\": 0.1, \"b\": \"0.2\"}", false},
        {"/weights", "[0.1, 0.2]", false},
        {"/obstacles", "[{\"shape\": \"box\"}, {\"shape\": \"plane\"}]", true},
        {"/obstacles", "[{\"shape\": \"plane\"}, {\"shape\": \"box\"}]", false},
        {"/obstacles", "[{\"shape\": \"box\"}]", false},
        {"/obstacles/0/shape", "\"box\"", true},
        {"/obstacles/0/shape", "\"sphere\"", false},
        {"/obstacles/7", "null", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char patch[300];
        snprintf(patch, sizeof patch, "[{\"op\": \"test\", \"path\": \"%s\", \"value\": %s}]",
                 cases[i].path, cases[i].value);
        sinew_status status = sinew_session_patch(session, patch, NULL, NULL, &error);
        if (status != (cases[i].same ? SINEW_OK : SINEW_BAD_INPUT))
            fail_msg("status %d: %s", status, patch);
    }
    sinew_session_destroy(session);
}

static void every_parameter_is_found_by_its_name(void **state) {
    (void)state;
    for (int m = 0; m < sinew_model_count(); m++) {
        const sinew_model *model = sinew_model_at(m);
        for (int i = 0; i < sinew_model_parameter_count(model); i++) {
            const sinew_parameter *parameter = sinew_model_parameter(model, i);
            assert_ptr_equal(sinew_model_find_parameter(model, parameter->name), parameter);
        }
        assert_null(sinew_model_find_parameter(model, "no such parameter"));
        assert_null(sinew_model_parameter(model, -1));
        assert_null(sinew_model_parameter(model, sinew_model_parameter_count(model)));
    }
    assert_null(sinew_model_find_parameter(NULL, "tolerance"));
    assert_null(sinew_model_at(-1));
    assert_null(sinew_model_at(sinew_model_count()));
}

/* Curves over the mode number: some of them, all of them, or wrong ones. */
static void curves_of_the_published_fit_can_be_given_alone(void **state) {
    (void)state;
#define FITTED(parameters)                                                                         \
    "{\"sinew\": 1, " BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 6" parameters "}, "   \
    "\"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, \"pose\": \"bend120\"}]}"
    static const char *const good[] = {
        FITTED(", \"fit_frequency_curve\": [0, 0.2, 5, 0.4]"),
        FITTED(", \"fit_velocity_curve\": [0, 0.5]"),
        FITTED(", \"fit_damping_curve\": [1, 0.1], \"fit_velocity_curve\": [0, 0.5]"),
        FITTED(", \"gamma_curve\": [0, 0.5, 3, 1]"),
        FITTED(", \"amplitude\": [1, 0.5]"),
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        sinew_session *session = test_open(good[i]);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_session_destroy(session);
    }
    /* Alone, the curve of the start counts; the others leave its weight at a half. */
    static const char *const pairs[][2] = {
        {FITTED(", \"fit\": \"published\", \"fit_velocity_curve\": [0, 0.9]"),
         FITTED(", \"fit\": \"published\", \"fit_velocity_curve\": [0, 0.5]")},
        {FITTED(", \"fit\": \"published\", \"fit_frequency_curve\": [0, 0.3], "
                "\"fit_velocity_curve\": [0, 0.5]"),
         FITTED(", \"fit\": \"published\", \"fit_frequency_curve\": [0, 0.3]")},
    };
    for (int i = 0; i < 2; i++) {
        int count;
        double *one = read_frame(pairs[i][0], 10, &count),
               *other = read_frame(pairs[i][1], 10, &count);
        double apart = 0;
        for (int k = 0; k < count; k++) apart = fmax(apart, fabs(one[k] - other[k]));
        if (i == 0) assert_true(apart > 1e-5);
        if (i == 1) assert_true(apart == 0);
        free(one), free(other);
    }
    static const struct {
        const char *text, *words;
    } bad[] = {
        {FITTED(", \"gamma_curve\": [0, 0.5, 3]"), "/parameters/gamma_curve"},
        {FITTED(", \"gamma_curve\": [3, 0.5, 0, 1]"), "increas"},
        {FITTED(", \"fit_velocity_curve\": [0]"), "/parameters/fit_velocity_curve"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sinew_session *session = test_open(bad[i].text);
        assert_int_equal(sinew_session_prepare(session, NULL, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, bad[i].words)) fail_msg("%s", error.message);
        sinew_session_destroy(session);
    }
}

#define MOUTH                                                                                      \
    "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", "                        \
    "\"mouthSmileLeft.obj\"]}, \"time\": {\"fps\": 20}, \"model\": \"linear\", "
#define OPENS "\"curves\": {\"times\": [0, 1, 2], \"values\": {\"jawOpen\": [0, 1, 1]}}"

/* How far the lower lip is from the neutral, in frames or (frame -1) at the scene's weights. */
static double lower_lip(sinew_session *session, int frame) {
    assert_ok(sinew_session_prepare(session, NULL, &error));
    const sinew_mesh *mesh = sinew_session_rig(session)->neutral;
    int n = mesh->vertex_count;
    double *positions = malloc(sizeof(double[3]) * (size_t)n), most = 0;
    sinew_input input;
    sinew_input_init(&input);
    if (frame >= 0) input.frame = frame;
    sinew_result result;
    sinew_result_init(&result);
    result.positions = positions;
    assert_ok(sinew_session_solve(session, &input, &result, NULL, &error));
    for (int i = 3 * (n / 2); i < 3 * n; i++)
        most = fmax(most, fabs(positions[i] - mesh->positions[i]));
    free(positions);
    return most;
}

/* The second lip has the vertices 70 to 139. */
static void locks_hold_shapes_takes_and_parts_of_takes(void **state) {
    (void)state;
    sinew_session *free_one = test_open(MOUTH OPENS "}");
    sinew_session *held =
        test_open(MOUTH OPENS ", \"locks\": [{\"name\": \"lip\", \"select\": \"v:70-139\"}]}");
    sinew_session *shape = test_open(
        MOUTH "\"weights\": {\"jawOpen\": 1}, \"attenuation\": {\"trade\": true}, \"locks\": "
              "[{\"name\": \"lip\", \"select\": \"v:70-139\"}]}");
    sinew_session *timed =
        test_open(MOUTH OPENS ", \"locks\": [{\"name\": \"lip\", \"select\": \"v:70-139\", "
                              "\"from\": 1, \"to\": 2, \"fade\": 0.5, \"at\": 0}]}");
    for (int frame = 0; frame <= 40; frame += 5) {
        double moves = lower_lip(free_one, frame);
        assert_true(lower_lip(held, frame) <= 0.2 * moves + 1e-9);
        double now = lower_lip(timed, frame);
        if (frame <= 20)
            assert_close(now, moves, 1e-6); /* not yet */
        else if (frame < 30)
            assert_true(now < moves && now > 0.2 * moves); /* on the way */
        else if (frame == 30)
            assert_true(now <= 0.2 * moves);
    }
    assert_true(lower_lip(shape, -1) <= 0.2 * lower_lip(free_one, 20));
    sinew_session_destroy(free_one), sinew_session_destroy(held);
    sinew_session_destroy(shape), sinew_session_destroy(timed);
}

/* A third of the way between two keys in time, a held vertex is a third of the way between them. */
static void held_vertices_follow_the_line_between_their_keys(void **state) {
    (void)state;
    sinew_session *session = test_open(
        "{\"sinew\": 1, " BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 6, \"hold\": "
        "\"v:64-71\"}, \"keys\": [{\"time\": 1, \"pose\": \"neutral\"}, {\"time\": 2.5, \"pose\": "
        "\"bend120\"}, {\"time\": 4, \"pose\": \"neutral\"}]}");
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_solver *solver = sinew_session_solver(session);
    const sinew_rig *rig = sinew_solver_rig(solver);
    size_t size = 3 * (size_t)rig->neutral->vertex_count;
    double *now = malloc(size * sizeof *now), *bent = malloc(size * sizeof *bent);
    sinew_rig_shape(rig, sinew_rig_find_target(rig, "bend120"), bent);
    const struct {
        double time, share;
    } cases[] = {{1, 0}, {1.5, 1 / 3.0}, {2, 2 / 3.0}, {2.5, 1}, {3, 2 / 3.0}, {4, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sinew_input input;
        sinew_input_init(&input);
        input.frame = -1, input.time = cases[k].time;
        sinew_result result;
        sinew_result_init(&result);
        result.positions = now;
        assert_ok(sinew_session_solve(session, &input, &result, NULL, &error));
        for (int i = 3 * 64; i < 3 * 72; i++)
            assert_close(now[i],
                         rig->neutral->positions[i] +
                             cases[k].share * (bent[i] - rig->neutral->positions[i]),
                         1e-5);
    }
    free(now), free(bent);
    sinew_session_destroy(session);
}

/* Sliders that are kept hold their weights, and the locks have to do without them. */
static void sliders_that_are_kept_are_not_attenuated(void **state) {
    (void)state;
#define LOCKED(more)                                                                               \
    MOUTH OPENS more ", \"locks\": [{\"name\": \"lip\", \"select\": \"v:70-139\"}]}"
    sinew_session *free_one = test_open(MOUTH OPENS "}");
    sinew_session *kept = test_open(LOCKED(", \"attenuation\": {\"keep\": [\"jawOpen\"]}"));
    sinew_session *other = test_open(LOCKED(", \"attenuation\": {\"keep\": [\"mouthSmileLeft\"]}"));
    assert_close(lower_lip(kept, 20), lower_lip(free_one, 20), 1e-9);
    assert_true(lower_lip(other, 20) <= 0.2 * lower_lip(free_one, 20));
    sinew_session *bad = test_open(LOCKED(", \"attenuation\": {\"keep\": [\"jawOpe\"]}"));
    assert_int_equal(sinew_session_prepare(bad, NULL, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "no slider 'jawOpe'"));
    sinew_session_destroy(free_one), sinew_session_destroy(kept);
    sinew_session_destroy(other), sinew_session_destroy(bad);
}

/* The lip at weights that the input gives. */
static double live_lip(sinew_session *session) {
    const sinew_rig *rig = sinew_session_rig(session);
    int n = rig->neutral->vertex_count;
    double *positions = malloc(sizeof(double[3]) * (size_t)n), weights[8] = {0}, most = 0;
    weights[sinew_rig_find_slider(rig, "jawOpen")] = 1;
    sinew_input input;
    sinew_input_init(&input);
    input.weights = weights;
    sinew_result result;
    sinew_result_init(&result);
    result.positions = positions;
    assert_ok(sinew_session_solve(session, &input, &result, NULL, &error));
    for (int i = 3 * (n / 2); i < 3 * n; i++)
        most = fmax(most, fabs(positions[i] - rig->neutral->positions[i]));
    free(positions);
    return most;
}

static void locks_that_patches_add_hold_live_weights(void **state) {
    (void)state;
    sinew_session *session = test_open(MOUTH OPENS ", \"attenuation\": {\"trade\": true}}");
    assert_ok(sinew_session_prepare(session, NULL, &error));
    double moves = live_lip(session);
    assert_true(moves > 0.01);
    char *undo;
    assert_ok(sinew_session_patch(session,
                                  "[{\"op\": \"add\", \"path\": \"/locks\", \"value\": [{\"name\": "
                                  "\"lip\", \"select\": \"v:70-139\"}]}]",
                                  &undo, NULL, &error));
    assert_true(live_lip(session) <= 0.2 * moves);
    assert_ok(sinew_session_patch(session, undo, NULL, NULL, &error));
    assert_close(live_lip(session), moves, 1e-12);
    sinew_free(undo);
    sinew_session_destroy(session);
}

static void count_commands(sinew_log_level level, const char *line, void *user) {
    *(int *)user += level >= SINEW_LOG_LEVEL_WARNING && strstr(line, "does not use a command");
}

static void inputs_that_a_model_ignores_are_reported_once(void **state) {
    (void)state;
    static const struct {
        const char *scene;
        int warnings;
    } cases[] = {{"force", 0}, {"linear", 1}, {"rotation", 1}, {"spring", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int warnings = 0;
        double command[8] = {0};
        sinew_monitor monitor = {.log = count_commands, .user = &warnings};
        sinew_session *session = test_session(cases[i].scene);
        sinew_input input;
        sinew_input_init(&input);
        input.command = command, input.weights = command;
        sinew_result result;
        sinew_result_init(&result);
        for (int k = 0; k < 2; k++)
            assert_ok(sinew_session_solve(session, &input, &result, &monitor, &error));
        if (warnings != cases[i].warnings) fail_msg("%s: %d", cases[i].scene, warnings);
        sinew_session_destroy(session);
    }
}

static void only_what_was_built_can_be_asked_for(void **state) {
    (void)state;
    static const struct {
        const char *scene;
        bool capture, modal;
    } cases[] = {{"linear", 0, 0}, {"spring", 0, 0}, {"markers", 1, 0},
                 {"fit", 1, 0},    {"modal", 0, 1},  {"rotation", 0, 0}};
    assert_null(sinew_solver_capture(NULL));
    assert_null(sinew_solver_modal(NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sinew_session *session = test_session(cases[i].scene);
        sinew_solver *solver = sinew_session_solver(session);
        assert_null(sinew_solver_capture(solver));
        assert_null(sinew_solver_modal(solver));
        assert_null(sinew_solver_modal_motion(solver));
        assert_ok(sinew_session_prepare(session, NULL, &error));
        if ((sinew_solver_capture(solver) != NULL) != cases[i].capture ||
            (sinew_solver_modal(solver) != NULL) != cases[i].modal ||
            (sinew_solver_modal_motion(solver) != NULL) != cases[i].modal)
            fail_msg("%s", cases[i].scene);
        sinew_session_destroy(session);
    }
}

/* The names of a rig, from the first to the last. */
static void misspelled_selections_name_the_nearest(void **state) {
    (void)state;
    sinew_sample_options small;
    sinew_sample_options_init(&small);
    small.vertices = 1000;
    sinew_rig *rig;
    assert_ok(sinew_sample_rig("face", &small, &rig, &error));
    assert_true(rig->region_count > 1 && rig->neutral->part_count > 1);
    for (int i = 0; i < rig->region_count + rig->neutral->part_count; i++) {
        bool part = i >= rig->region_count;
        const char *name =
            part ? rig->neutral->part_names[i - rig->region_count] : rig->regions[i].name;
        char text[600], hint[200];
        snprintf(
            text, sizeof text,
            "{\"sinew\": 1, \"model\": \"rotation\", \"weights\": {}, \"parameters\": {\"hold\": "
            "\"%s:%sx\"}}",
            part ? "part" : "region", name);
        snprintf(hint, sizeof hint, "'%s'", name);
        sinew_scene *scene;
        sinew_session *session;
        sinew_session_options options;
        sinew_session_options_init(&options);
        options.rig = rig;
        assert_ok(sinew_scene_parse(text, "s", NULL, &scene, &error));
        assert_ok(sinew_session_create(scene, &options, &session, &error));
        assert_int_equal(sinew_session_prepare(session, NULL, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, hint)) fail_msg("no %s: %s", hint, error.message);
        sinew_session_destroy(session);
        sinew_scene_destroy(scene);
    }
    sinew_rig_destroy(rig);
}

static void fields_go_from_their_least_to_their_greatest_value(void **state) {
    (void)state;
    static const struct {
        const char *format; /* of a number */
        double least, most;
    } fields[] = {
        {"\"orientations\": [{\"select\": \"v:1-9\", \"turn\": [0, 0, 9], \"weight\": %g}]", 0, 1},
        {"\"attenuation\": {\"dead_zone\": %g}", 0, 1},
        {"\"attenuation\": {\"few\": %g}", 0, 1},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        double least = fields[i].least, most = fields[i].most, apart = most - least;
        const double values[] = {least - 1e-3 * apart, least, 0.5 * (least + most), most,
                                 most + 1e-3 * apart};
        for (int k = 0; k < 5; k++) {
            char field[300], text[600];
            snprintf(field, sizeof field, fields[i].format, values[k]);
            snprintf(text, sizeof text, "{\"sinew\": 1, %s, \"model\": \"rotation\"}", field);
            sinew_scene *scene = NULL;
            sinew_status status = sinew_scene_parse(text, "s", NULL, &scene, &error);
            if (status != (k == 0 || k == 4 ? SINEW_BAD_INPUT : SINEW_OK))
                fail_msg("%s: %s", text, sinew_status_name(status));
            sinew_scene_destroy(scene);
        }
    }
}

/* The figure is the root of the mean square over the markers that are seen. */
static void the_marker_error_is_that_of_the_shape(void **state) {
    (void)state;
    enum { MARKERS = 24, LOST = 5 };
    sinew_session *session = test_open(FIT("\"method\": \"uls\", \"l2\": 1e-6"));
    assert_ok(sinew_session_prepare(session, NULL, &error));
    const sinew_mesh *neutral = sinew_session_rig(session)->neutral;
    int n = neutral->vertex_count;
    double *shape = malloc(sizeof(double[3]) * (size_t)n), markers[3 * MARKERS];
    sinew_input input;
    sinew_input_init(&input);
    input.markers = markers;
    sinew_result result;
    sinew_result_init(&result);
    result.positions = shape;
    assert_ok(sinew_figures_create(&result.figures, &error));
    for (int round = 0; round < 2; round++) {
        for (int m = 0; m < MARKERS; m++)
            for (int c = 0; c < 3; c++)
                markers[3 * m + c] =
                    neutral->positions[3 * ((size_t)((long)m * n / MARKERS)) + (size_t)c] +
                    0.003 * (m % 7 - 3) * (c + 1);
        if (round) markers[3 * LOST] = markers[3 * LOST + 1] = markers[3 * LOST + 2] = NAN;
        assert_ok(sinew_session_solve(session, &input, &result, NULL, &error));
        double sum = 0, found;
        int seen = 0;
        for (int m = 0; m < MARKERS; m++) {
            if (round && m == LOST) continue;
            seen++;
            for (int c = 0; c < 3; c++) {
                double d =
                    markers[3 * m + c] - shape[3 * ((size_t)((long)m * n / MARKERS)) + (size_t)c];
                sum += d * d;
            }
        }
        assert_true(sinew_figures_get(result.figures, "markers_seen", &found));
        assert_close(found, seen, 0);
        assert_true(sinew_figures_get(result.figures, "marker_error", &found));
        assert_true(found > 0.001);
        assert_close(found, sqrt(sum / seen), 1e-9);
    }
    sinew_figures_destroy(result.figures);
    free(shape);
    sinew_session_destroy(session);
}

/* A truth of five frames that lies a little beside the solution, then beyond its end. */
static void the_truth_is_compared_frame_by_frame(void **state) {
    (void)state;
    enum { FRAMES = 5 };
    static const double off[3] = {0.004, -0.008, 0.001}; /* its length is 0.009 */
    sinew_session *session = test_session("fit");
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_solver *solver = sinew_session_solver(session);
    const sinew_mesh *mesh = sinew_session_rig(session)->neutral;
    size_t size = 3 * (size_t)mesh->vertex_count;
    double *shape = malloc((FRAMES + 1) * size * sizeof *shape);
    double *moved = malloc(size * sizeof *moved);
    char path[4096];
    snprintf(path, sizeof path, "%s/truth.pc2", test_folder());
    sinew_frame_writer *writer;
    assert_ok(sinew_frame_writer_open(path, mesh, FRAMES, 0, 30, &writer, &error));
    for (int f = 0; f <= FRAMES; f++) {
        test_frame(solver, f, shape + (size_t)f * size);
        for (size_t i = 0; i < size; i++) moved[i] = shape[(size_t)f * size + i] + off[i % 3];
        if (f < FRAMES) assert_ok(sinew_frame_writer_add(writer, moved, &error));
    }
    assert_ok(sinew_frame_writer_close(writer, &error));
    sinew_session *compared = test_open(
        MOUTH
        "\"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\", \"truth\": \"truth.pc2\"}, "
        "\"notes\": \"\"}");
    assert_ok(sinew_session_set(compared, "/model", "\"fit\"", NULL, NULL, &error));
    assert_ok(sinew_session_set(compared, "/time/fps", "30", NULL, NULL, &error));
    sinew_input input;
    sinew_input_init(&input);
    sinew_result result;
    sinew_result_init(&result);
    assert_ok(sinew_figures_create(&result.figures, &error));
    for (int f = 0; f <= FRAMES; f++) {
        double found, beyond;
        input.frame = f;
        sinew_status status = sinew_session_solve(compared, &input, &result, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) assert_ok(status);
        assert_true(sinew_figures_get(result.figures, "truth_error", &found));
        assert_true(sinew_figures_get(result.figures, "beyond_truth", &beyond) == (f == FRAMES));
        if (f < FRAMES) assert_close(found, 0.009, 1e-6);
        double sum = 0; /* of what lies beyond: to the last frame */
        for (size_t i = 0; i < size; i++) {
            double d = shape[(size_t)f * size + i] - (shape[(FRAMES - 1) * size + i] + off[i % 3]);
            sum += d * d;
        }
        if (f == FRAMES) assert_close(found, sqrt(3 * sum / (double)size), 1e-6);
    }
    sinew_figures_destroy(result.figures);
    free(shape), free(moved);
    sinew_session_destroy(session), sinew_session_destroy(compared);
}

static void takes_in_another_unit_are_converted(void **state) {
    (void)state;
    sinew_markers *take;
    char path[4096];
    sinew_session *plain = test_session("fit"); /* writes the take */
    snprintf(path, sizeof path, "%s/take.csv", test_folder());
    assert_ok(sinew_markers_read(path, &take, &error));
    for (int i = 0; i < 3 * take->marker_count * take->time_count; i++) take->positions[i] *= 100;
    snprintf(path, sizeof path, "%s/take_cm.csv", test_folder());
    assert_ok(sinew_markers_write(path, take, &error));
    sinew_markers_destroy(take);
    sinew_session *scaled = test_open(FIT("\"method\": \"uls\""));
    assert_ok(sinew_session_set(scaled, "/markers/file", "\"take_cm.csv\"", NULL, NULL, &error));
    assert_ok(sinew_session_set(scaled, "/markers/unit", "\"cm\"", NULL, NULL, &error));
    assert_ok(sinew_session_set(plain, "/parameters", "{\"method\": \"uls\"}", NULL, NULL, &error));
    assert_ok(sinew_session_set(plain, "/rig/files", "[\"mouth.obj\", \"jawOpen.obj\"]", NULL, NULL,
                                &error));
    assert_ok(sinew_session_prepare(plain, NULL, &error));
    assert_ok(sinew_session_prepare(scaled, NULL, &error));
    int count = 3 * test_vertex_count(sinew_session_solver(plain));
    double *shapes = malloc(2 * (size_t)count * sizeof *shapes);
    test_frame(sinew_session_solver(plain), 7, shapes);
    test_frame(sinew_session_solver(scaled), 7, shapes + count);
    for (int i = 0; i < count; i++) assert_close(shapes[i], shapes[count + i], 1e-6);
    free(shapes);
    sinew_session_destroy(plain), sinew_session_destroy(scaled);
}

int test_details(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weak_energies_are_listed),
        cmocka_unit_test(capsules_are_round_and_cylinders_flat),
        cmocka_unit_test(a_state_of_a_slightly_different_rig_is_refused),
        cmocka_unit_test(states_need_every_argument),
        cmocka_unit_test(parameters_without_effect_are_reported),
        cmocka_unit_test(bounds_let_weights_go_as_far_as_they_say),
        cmocka_unit_test(live_markers_move_the_fit),
        cmocka_unit_test(tests_in_patches_compare_types_sizes_and_contents),
        cmocka_unit_test(every_parameter_is_found_by_its_name),
        cmocka_unit_test(curves_of_the_published_fit_can_be_given_alone),
        cmocka_unit_test(locks_hold_shapes_takes_and_parts_of_takes),
        cmocka_unit_test(held_vertices_follow_the_line_between_their_keys),
        cmocka_unit_test(sliders_that_are_kept_are_not_attenuated),
        cmocka_unit_test(locks_that_patches_add_hold_live_weights),
        cmocka_unit_test(inputs_that_a_model_ignores_are_reported_once),
        cmocka_unit_test(the_marker_error_is_that_of_the_shape),
        cmocka_unit_test(the_truth_is_compared_frame_by_frame),
        cmocka_unit_test(takes_in_another_unit_are_converted),
        cmocka_unit_test(only_what_was_built_can_be_asked_for),
        cmocka_unit_test(misspelled_selections_name_the_nearest),
        cmocka_unit_test(fields_go_from_their_least_to_their_greatest_value),
    };
    return cmocka_run_group_tests_name("details", tests, NULL, NULL);
}
