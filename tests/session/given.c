/* Pins, pulls and obstacles that the input of a solve gives. */
#include "support.h"

#include "groups.h"
#include "scenes.h"

static sinew_error error;

static sinew_session *prepared(const char *text) {
    sinew_session *session = test_open(text);
    assert_ok(sinew_session_prepare(session, NULL, &error));
    return session;
}

#define BENT                                                                                       \
    "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, "                        \
    "\"weights\": {\"bend120\": 0.3}, \"model\": "
#define SPHERE(enabled)                                                                            \
    "{\"shape\": \"sphere\", \"center\": [0.5, 0.4, 0], \"radius\": 0.3, \"enabled\": " enabled "}"

/* The shape of frame 0, or of the input where there is one, and the largest number of an obstacle
 * that presses. */
static int solve_into(sinew_session *session, const sinew_input *input, double *shape) {
    sinew_contact contacts[64];
    sinew_result result;
    int most = -1;
    sinew_result_init(&result);
    result.positions = shape, result.contacts = contacts, result.contact_capacity = 64;
    assert_ok(sinew_session_solve(session, input, &result, NULL, &error));
    for (int k = 0; k < result.contacts_returned; k++)
        if (contacts[k].obstacle > most) most = contacts[k].obstacle;
    return most;
}

static void given_pulls_and_obstacles_act_like_those_of_the_scene(void **state) {
    (void)state;
    static const struct {
        const char *given, *in_scene;
        bool pulled;
    } cases[] = {
        {BENT "\"spring\"}",
         BENT "\"spring\", \"pulls\": [{\"vertex\": 5, \"to\": [0, 0.3, 0.1], \"stiffness\": 2}], "
              "\"obstacles\": [" SPHERE("true") "]}",
         true},
        {BENT "\"force\", \"obstacles\": [" SPHERE("false") "]}",
         BENT "\"force\", \"obstacles\": [" SPHERE("true") "]}", false},
    };
    sinew_obstacle *ball;
    const double center[] = {0.5, 0.4, 0};
    assert_ok(sinew_obstacle_create_sphere(center, 0.3, &ball, &error));
    const sinew_obstacle *const obstacles[] = {ball};
    const sinew_spring_pull pull = {.vertex = 5, .position = {0, 0.3, 0.1}, .stiffness = 2};
    for (int k = 0; k < 2; k++) {
        sinew_session *bare = prepared(cases[k].given), *full = prepared(cases[k].in_scene);
        size_t size = 3 * (size_t)test_vertex_count(sinew_session_solver(bare));
        double *shape = calloc(3 * size, sizeof *shape), *expected = shape + size;
        double weights[8] = {0}, *alone = shape + 2 * size, most = 0;
        sinew_input input;
        sinew_input_init(&input);
        weights[sinew_rig_find_slider(sinew_session_rig(bare), "bend120")] = 0.3;
        input.weights = weights;
        solve_into(full, &input, expected);
        solve_into(bare, &input, alone);
        sinew_solver_reset(sinew_session_solver(bare));
        input.obstacle_count = 1, input.obstacles = obstacles;
        if (cases[k].pulled) input.pull_count = 1, input.pulls = &pull;
        int number = solve_into(bare, &input, shape);
        if (cases[k].pulled) assert_int_equal(number, 0); /* the scene has none */
        assert_memory_equal(shape, expected, size * sizeof *shape);
        for (size_t i = 0; i < size; i++) most = fmax(most, fabs(shape[i] - alone[i]));
        assert_true(most > 0.01);
        /* they are not kept: the next solve has none */
        sinew_solver_reset(sinew_session_solver(bare));
        input.obstacle_count = input.pull_count = 0;
        solve_into(bare, &input, shape);
        assert_memory_equal(shape, alone, size * sizeof *shape);
        free(shape);
        sinew_session_destroy(bare), sinew_session_destroy(full);
    }
    sinew_obstacle_destroy(ball);
}

static void pins_are_where_the_input_puts_them(void **state) {
    (void)state;
    sinew_session *session = prepared(BENT "\"spring\", \"pins\": [{\"select\": \"v:0-3\"}], "
                                           "\"parameters\": {\"boundary\": \"pinned\"}}");
    const sinew_mesh *neutral = sinew_session_rig(session)->neutral;
    double *shape = calloc(3 * (size_t)neutral->vertex_count, sizeof *shape), pins[12];
    for (int i = 0; i < 12; i++) pins[i] = neutral->positions[i] + (i % 3 == 1 ? 0.05 : 0);
    sinew_input input;
    sinew_input_init(&input);
    input.pins = pins, input.pin_count = 4;
    solve_into(session, &input, shape);
    for (int i = 0; i < 12; i++) assert_true(fabs(shape[i] - pins[i]) < 1e-12);
    sinew_result result;
    sinew_result_init(&result);
    input.pin_count = 3;
    assert_int_equal(sinew_session_solve(session, &input, &result, NULL, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "3 pinned vertices, but the scene pins 4"));
    input.pin_count = 4, pins[4] = NAN;
    assert_int_equal(sinew_session_solve(session, &input, &result, NULL, &error), SINEW_BAD_INPUT);
    free(shape);
    sinew_session_destroy(session);
}

static void count_warnings(sinew_log_level level, const char *text, void *user) {
    if (level == SINEW_LOG_LEVEL_WARNING && strstr(text, "does not use")) ++*(int *)user;
}

static void count_curves(sinew_log_level level, const char *text, void *user) {
    if (level != SINEW_LOG_LEVEL_WARNING) return;
    if (strstr(text, "drives no slider") || strstr(text, "23 other curves drive no slider"))
        ++*(int *)user;
}

/* A table of a hundred thousand columns is not a reason for as many lines. */
static void curves_without_a_slider_are_named_up_to_a_limit(void **state) {
    (void)state;
    enum { IDLE = 123 };
    char text[8192];
    int size = snprintf(text, sizeof text,
                        "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, "
                        "\"model\": \"linear\", \"curves\": {\"times\": [0], \"values\": "
                        "{\"bend120\": [0]");
    for (int i = 0; i < IDLE; i++)
        size += snprintf(text + size, sizeof text - (size_t)size, ", \"idle%d\": [0]", i);
    snprintf(text + size, sizeof text - (size_t)size, "}}}");
    int warnings = 0;
    const sinew_monitor monitor = {.log = count_curves, .user = &warnings};
    sinew_session *session = test_open(text);
    assert_ok(sinew_session_prepare(session, &monitor, &error));
    assert_int_equal(warnings, 101);
    sinew_session_destroy(session);
}

static void loads_that_a_model_ignores_are_reported_once(void **state) {
    (void)state;
    sinew_session *session = prepared(BENT "\"rotation\"}");
    int warnings = 0;
    const double center[] = {0.5, 0.4, 0}, pins[3] = {0};
    const sinew_spring_pull pull = {.vertex = 5, .stiffness = 2};
    const sinew_monitor monitor = {.log = count_warnings, .user = &warnings};
    sinew_obstacle *ball;
    assert_ok(sinew_obstacle_create_sphere(center, 0.3, &ball, &error));
    const sinew_obstacle *const obstacles[] = {ball};
    sinew_input input;
    sinew_result result;
    sinew_input_init(&input), sinew_result_init(&result);
    input.obstacle_count = 1, input.obstacles = obstacles;
    input.pull_count = 1, input.pulls = &pull;
    input.pins = pins, input.pin_count = 1;
    for (int k = 0; k < 2; k++) {
        assert_ok(sinew_session_solve(session, &input, &result, &monitor, &error));
        assert_int_equal(warnings, 3);
    }
    input.pulls = NULL;
    assert_int_equal(sinew_session_solve(session, &input, &result, NULL, &error), SINEW_MISUSE);
    sinew_obstacle_destroy(ball);
    sinew_session_destroy(session);
}

static void a_given_tolerance_holds_for_one_live_solve(void **state) {
    (void)state;
    sinew_session *session = prepared(BENT "\"spring\", \"parameters\": {\"tolerance\": 1e-9}}");
    sinew_solver *solver = sinew_session_solver(session);
    size_t size = 3 * (size_t)test_vertex_count(solver);
    double *shape = calloc(2 * size, sizeof *shape), *expected = shape + size, weights[8] = {0};
    weights[sinew_rig_find_slider(sinew_session_rig(session), "bend120")] = 0.6;
    sinew_input input;
    sinew_result exact, rough;
    sinew_input_init(&input), sinew_result_init(&exact), sinew_result_init(&rough);
    exact.positions = expected, rough.positions = shape;
    input.weights = weights;
    assert_ok(sinew_session_solve(session, &input, &exact, NULL, &error));
    /* one below the scene's changes nothing */
    sinew_solver_reset(solver);
    input.tolerance = 1e-12;
    assert_ok(sinew_session_solve(session, &input, &rough, NULL, &error));
    assert_memory_equal(shape, expected, size * sizeof *shape);
    /* a larger one ends the solve early, near the exact shape; the next goes on from there */
    sinew_solver_reset(solver);
    input.tolerance = 1e-3;
    assert_ok(sinew_session_solve(session, &input, &rough, NULL, &error));
    assert_true(rough.iterations < exact.iterations);
    assert_below(rough.residual, 1e-3);
    assert_true(rough.residual > 1e-9);
    assert_below(test_farthest(size, shape, expected), 1e-3);
    input.tolerance = 0;
    assert_ok(sinew_session_solve(session, &input, &rough, NULL, &error));
    assert_below(rough.residual, 1e-9);
    assert_below(test_farthest(size, shape, expected), 1e-7);
    /* frames of the clip are reproducible, whatever the input says */
    input.weights = NULL;
    assert_ok(sinew_session_solve(session, &input, &exact, NULL, &error));
    input.tolerance = 1e-3;
    sinew_solver_reset(solver);
    assert_ok(sinew_session_solve(session, &input, &rough, NULL, &error));
    assert_memory_equal(shape, expected, size * sizeof *shape);
    static const double wrong[] = {-1, 1, NAN, INFINITY};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        input.tolerance = wrong[k];
        assert_int_equal(sinew_session_solve(session, &input, &rough, NULL, &error), SINEW_MISUSE);
    }
    free(shape);
    sinew_session_destroy(session);
}

int test_given(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_pulls_and_obstacles_act_like_those_of_the_scene),
        cmocka_unit_test(pins_are_where_the_input_puts_them),
        cmocka_unit_test(loads_that_a_model_ignores_are_reported_once),
        cmocka_unit_test(a_given_tolerance_holds_for_one_live_solve),
        cmocka_unit_test(curves_without_a_slider_are_named_up_to_a_limit),
    };
    return cmocka_run_group_tests_name("given", tests, NULL, NULL);
}
