#include "support.h"

#include "groups.h"
#include "rig/activations.h"
#include "rigs.h"

/* Slider 0: shapes at -1, 0.3, 0.7 and the plain one at 1. Sliders 1 and 2 plain. Combinations of
 * all rules. */
static sinew_rig *curved_rig(void) {
    sinew_error error = {0};
    sinew_rig *rig = random_rig(20, 3, 0.5, 5);
    const int v = 3;
    const double d[] = {1, 2, 3};
    const int drivers[] = {2, 0, 1};
    assert_ok(sinew_rig_add_inbetween(rig, "at.7", 0, 0.7, 1, &v, d, &error));
    assert_ok(sinew_rig_add_inbetween(rig, "at-1", 0, -1, 1, &v, d, &error));
    assert_ok(sinew_rig_add_inbetween(rig, "at.3", 0, 0.3, 1, &v, d, &error));
    assert_ok(sinew_rig_add_combination(rig, "product", SINEW_COMBINE_MULTIPLY, 3, drivers, 1, &v,
                                        d, &error));
    assert_ok(sinew_rig_add_combination(rig, "lowest", SINEW_COMBINE_LOWEST, 3, drivers, 1, &v, d,
                                        &error));
    assert_ok(sinew_rig_add_combination(rig, "smooth", SINEW_COMBINE_SMOOTH_LOWEST, 3, drivers, 1,
                                        &v, d, &error));
    const sinew_term terms[] = {{0.5, {0, 2, 1}, {1, 2, 3}}, {-2, {1}, {4}}, {3, {2, 0}, {1, 1}}};
    assert_ok(sinew_rig_add_polynomial(rig, "curve", 3, drivers, 3, terms, 1, &v, d, &error));
    const sinew_term sums[] = {{0.9, {0}, {1}}, {0.7, {1}, {2}}, {-0.5, {2}, {1}}};
    assert_ok(sinew_rig_add_hinge(rig, "hinge", 3, drivers, 3, sums, 1, &v, d, &error));
    return rig;
}

enum {
    AT_1 = 0,
    AT_07 = 3,
    AT_M1 = 4,
    AT_03 = 5,
    PRODUCT = 6,
    LOWEST = 7,
    SMOOTH = 8,
    CURVE = 9,
    HINGE = 10,
    TARGETS = 11
};

static void a_plain_target_follows_its_slider_for_every_weight(void **state) {
    (void)state;
    sinew_rig *rig = random_rig(20, 1, 0.5, 5);
    for (double w = -3; w <= 3; w += 0.37) {
        double a;
        sinew_rig_activations(rig, &w, &a);
        assert_true(a == w);
    }
    sinew_rig_destroy(rig);
}

static void inbetweens_are_full_at_their_own_value_alone(void **state) {
    (void)state;
    sinew_rig *rig = curved_rig();
    const struct {
        double at;
        int target;
    } knots[] = {{-1, AT_M1}, {0, -1}, {0.3, AT_03}, {0.7, AT_07}, {1, AT_1}};
    for (int i = 0; i < 5; i++) {
        double w[3] = {knots[i].at, 0, 0}, a[TARGETS];
        sinew_rig_activations(rig, w, a);
        const int all[] = {AT_1, AT_07, AT_M1, AT_03};
        for (int j = 0; j < 4; j++) assert_close(a[all[j]], all[j] == knots[i].target, 1e-15);
    }
    sinew_rig_destroy(rig);
}

/* Independent of hats: interpolate a table of (value, shape number) pairs. */
static void inbetweens_interpolate_and_overdrive_goes_on(void **state) {
    (void)state;
    sinew_rig *rig = curved_rig();
    const double at[] = {-1, 0, 0.3, 0.7, 1};
    const int target[] = {AT_M1, -1, AT_03, AT_07, AT_1};
    for (double x = -2; x < 2; x += 0.0137) {
        int s = 0;
        while (s < 3 && x > at[s + 1]) s++;
        double t = (x - at[s]) / (at[s + 1] - at[s]), expected[9] = {0};
        if (target[s] >= 0) expected[target[s]] = 1 - t;
        if (target[s + 1] >= 0) expected[target[s + 1]] = t;
        double w[3] = {x, 0, 0}, a[TARGETS];
        sinew_rig_activations(rig, w, a);
        const int all[] = {AT_1, AT_07, AT_M1, AT_03};
        for (int j = 0; j < 4; j++) assert_close(a[all[j]], expected[all[j]], 1e-13);
    }
    sinew_rig_destroy(rig);
}

static void combinations_follow_their_rules(void **state) {
    (void)state;
    sinew_rig *rig = curved_rig();
    double w[3] = {0.5, 0.8, 0.6}, a[TARGETS];
    sinew_rig_activations(rig, w, a);
    assert_close(a[PRODUCT], 0.5 * 0.8 * 0.6, 1e-15);
    assert_close(a[LOWEST], 0.5, 0);
    double mean = (pow(0.5, -4) + pow(0.8, -4) + pow(0.6, -4)) / 3;
    assert_close(a[SMOOTH], pow(mean, -0.25), 1e-14);
    /* Drivers 2, 0, 1 are at 0.6, 0.5, 0.8. */
    assert_close(a[CURVE], 0.5 * 0.6 * 0.8 * 0.8 * 0.125 - 2 * 0.0625 + 3 * 0.8 * 0.6, 1e-14);
    assert_true(a[SMOOTH] > 0.5 && a[SMOOTH] < 0.8);
    double ones[3] = {1, 1, 1};
    sinew_rig_activations(rig, ones, a);
    for (int k = PRODUCT; k <= SMOOTH; k++) assert_close(a[k], 1, 1e-15);
    double off[3] = {-0.5, -0.5, 1}; /* two negatives make no corrective */
    sinew_rig_activations(rig, off, a);
    for (int k = PRODUCT; k <= SMOOTH; k++) assert_true(a[k] == 0);
    assert_true(a[HINGE] == 0);     /* 0.9 - 0.5 * 0 + 0.7 * 0 is below 1 */
    double both[3] = {0.9, 0.2, 1}; /* drivers 2, 0, 1 are at 1, 0.9, 0.2 */
    sinew_rig_activations(rig, both, a);
    assert_close(a[HINGE], 0.9 + 0.7 * 0.81 - 0.5 * 0.2 - 1, 1e-15);
    double beyond[3] = {3, 1.5, 1}; /* a polynomial holds its value beyond the full shapes */
    sinew_rig_activations(rig, beyond, a);
    assert_close(a[CURVE], 1.5, 1e-14);
    assert_close(a[HINGE], 0.1, 1e-14);
    sinew_rig_destroy(rig);
}

static void derivatives_match_finite_differences(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = curved_rig();
    rig->sliders[1].rest = 0.1;
    sn_activation_plan *plan;
    assert_ok(sn_activation_plan_create(rig, &plan, &error));
    uint64_t seed = 11;
    double derivatives[32];
    assert_int_equal(plan->derivative_start[TARGETS], 6 + 15);
    for (int trial = 0; trial < 200; trial++) {
        double w[3];
        for (int i = 0; i < 3; i++) w[i] = 1.3 * test_random(&seed);
        sn_activations(plan, w, NULL, derivatives);
        for (int s = 0; s < 3; s++) {
            const double h = 1e-6;
            double up[3] = {w[0], w[1], w[2]}, down[3] = {w[0], w[1], w[2]}, high[TARGETS],
                   low[TARGETS];
            up[s] += h;
            down[s] -= h;
            sinew_rig_activations(rig, up, high);
            sinew_rig_activations(rig, down, low);
            for (int k = 0; k < TARGETS; k++) {
                const sinew_target *target = &rig->targets[k];
                double own = 0;
                if (target->slider == s) own = derivatives[plan->derivative_start[k]];
                for (int i = 0; i < target->driver_count; i++)
                    if (target->drivers[i] == s) own = derivatives[plan->derivative_start[k] + i];
                assert_close(own, (high[k] - low[k]) / (2 * h), 1e-5);
            }
        }
    }
    sn_activation_plan_destroy(plan);
    sinew_rig_destroy(rig);
}

/* From a slider at rest the corrective is about to rise: the solvers need that slope. */
static void derivatives_at_rest_look_upwards(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = curved_rig();
    sn_activation_plan *plan;
    assert_ok(sn_activation_plan_create(rig, &plan, &error));
    double derivatives[32], high[TARGETS];
    const double h = 1e-7;
    for (int zeros = 1; zeros <= 3; zeros++) {
        double w[3], up[3];
        for (int i = 0; i < 3; i++) w[i] = i < zeros ? 0 : 0.6, up[i] = w[i] + (i < zeros ? h : 0);
        sn_activations(plan, w, NULL, derivatives);
        sinew_rig_activations(rig, up, high);
        for (int k = 0; k < TARGETS; k++) {
            const sinew_target *target = &rig->targets[k];
            double rate = 0; /* all sliders at rest rising together */
            if (target->slider >= 0 && target->slider < zeros)
                rate = derivatives[plan->derivative_start[k]];
            for (int i = 0; i < target->driver_count; i++)
                if (target->drivers[i] < zeros) rate += derivatives[plan->derivative_start[k] + i];
            double now[TARGETS];
            sinew_rig_activations(rig, w, now);
            assert_close(rate, (high[k] - now[k]) / h, 1e-5);
        }
    }
    sn_activation_plan_destroy(plan);
    sinew_rig_destroy(rig);
}

/* Rules of correctives come from files: each number is checked, and the rig stays as it was. */
static void rules_with_wrong_numbers_are_refused(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = strip_rig(4);
    const int v = 0;
    const double d[3] = {0, 0, 1};
    assert_ok(sinew_rig_add_target(rig, "a", 1, &v, d, &error));
    assert_ok(sinew_rig_add_target(rig, "b", 1, &v, d, &error));
    const int good[2] = {0, 1}, below[2] = {0, -1}, beyond[2] = {0, 2}, twice[2] = {1, 1};
    const sinew_term fine = {1, {0, 1}, {1, 2}}, none = {1, {0, 1}, {0, 0}};
    const sinew_term negative = {1, {0, 1}, {1, -1}}, steep = {1, {0, 1}, {1, SINEW_MAX_POWER + 1}};
    const sinew_term outside = {1, {0, 2}, {1, 1}}, before = {1, {-1, 1}, {1, 1}};
    const sinew_term infinite = {INFINITY, {0, 1}, {1, 1}};
    const struct {
        int drivers;
        const int *driver;
        int terms;
        const sinew_term *term;
        const char *words; /* NULL: accepted */
    } rows[] = {
        {0, good, 1, &fine, "needs drivers"},
        {2, good, 0, &fine, "needs drivers and terms"},
        {2, below, 1, &fine, "slider -1 is out of range"},
        {2, beyond, 1, &fine, "slider 2 is out of range"},
        {2, twice, 1, &fine, "driven twice by slider \"b\""},
        {2, good, 1, &none, "has no factor"},
        {2, good, 1, &negative, "factor 1 of term 0"},
        {2, good, 1, &steep, "factor 1 of term 0"},
        {2, good, 1, &outside, "factor 1 of term 0"},
        {2, good, 1, &before, "factor 0 of term 0"},
        {2, good, 1, &infinite, "is not finite"},
        {2, good, 1, &fine, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int hinge = 0; hinge < 2; hinge++) {
            int count = rig->target_count;
            sinew_status status = (hinge ? sinew_rig_add_hinge : sinew_rig_add_polynomial)(
                rig, hinge ? "h" : "p", rows[i].drivers, rows[i].driver, rows[i].terms,
                rows[i].term, 1, &v, d, &error);
            assert_int_equal(status, rows[i].words ? SINEW_BAD_INPUT : SINEW_OK);
            assert_int_equal(rig->target_count, count + !rows[i].words);
            if (rows[i].words && !strstr(error.message, rows[i].words))
                fail_msg("'%s' lacks '%s'", error.message, rows[i].words);
        }
    const double limits[][2] = {
        {NAN, 1}, {0, NAN}, {1, 0}, {INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
    for (int i = 0; i < 5; i++)
        assert_int_equal(sinew_rig_set_limits(rig, 0, limits[i][0], limits[i][1], &error),
                         SINEW_BAD_INPUT);
    assert_ok(sinew_rig_set_limits(rig, 0, -INFINITY, INFINITY, &error));
    assert_int_equal(sinew_rig_add_region(rig, "", 1, &v, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_rig_add_region(rig, "r", 2, below, &error), SINEW_BAD_INPUT);
    const int far[2] = {0, 1000000};
    assert_int_equal(sinew_rig_add_region(rig, "r", 2, far, &error), SINEW_BAD_INPUT);
    assert_ok(sinew_rig_add_region(rig, "r", 2, twice, &error));
    assert_int_equal(rig->regions[0].count, 1);
    assert_int_equal(sinew_rig_add_region(rig, "r", 0, NULL, &error), SINEW_BAD_INPUT);
    assert_ok(sinew_rig_add_region(rig, "empty", 0, NULL, &error));
    assert_int_equal(sinew_rig_set_mirror(rig, 0, 0, &error), SINEW_MISUSE);
    assert_int_equal(sinew_rig_set_mirror(rig, 0, 2, &error), SINEW_MISUSE);
    assert_ok(sinew_rig_set_mirror(rig, 0, 1, &error));
    assert_int_equal(rig->sliders[1].mirror, 0);
    assert_ok(sinew_rig_set_mirror(rig, 1, -1, &error)); /* of both */
    assert_int_equal(rig->sliders[0].mirror, -1);
    sinew_rig_destroy(rig);
}

int test_activations(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_target_follows_its_slider_for_every_weight),
        cmocka_unit_test(inbetweens_are_full_at_their_own_value_alone),
        cmocka_unit_test(inbetweens_interpolate_and_overdrive_goes_on),
        cmocka_unit_test(combinations_follow_their_rules),
        cmocka_unit_test(derivatives_match_finite_differences),
        cmocka_unit_test(derivatives_at_rest_look_upwards),
        cmocka_unit_test(rules_with_wrong_numbers_are_refused),
    };
    return cmocka_run_group_tests_name("activations", tests, NULL, NULL);
}
