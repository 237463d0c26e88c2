#include "support.h"

#include "groups.h"
#include "sinew/curves.h"

static void curves_are_linear_between_keys_and_constant_outside(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_curves *curves;
    assert_ok(sinew_curves_create(2, 3, &curves, &error));
    const double times[] = {0, 1, 3}, values[] = {0, 10, 1, 20, 5, 0};
    memcpy(curves->times, times, sizeof times);
    memcpy(curves->values, values, sizeof values);
    const struct {
        double time, a, b;
    } cases[] = {{-1, 0, 10}, {0, 0, 10}, {0.5, 0.5, 15}, {1, 1, 20},
                 {2, 3, 10},  {3, 5, 0},  {9, 5, 0},      {NAN, 0, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double v[2];
        sinew_curves_sample(curves, cases[i].time, v);
        assert_close(v[0], cases[i].a, 1e-15);
        assert_close(v[1], cases[i].b, 1e-14);
    }
    sinew_curves_destroy(curves);
}

static void curves_without_keys_are_zero(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_curves *curves;
    assert_ok(sinew_curves_create(2, 0, &curves, &error));
    double v[2] = {7, 7};
    sinew_curves_sample(curves, 1, v);
    assert_true(v[0] == 0 && v[1] == 0);
    sinew_curves_destroy(curves);
}

static void broken_curves_are_named(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_curves *curves;
    assert_ok(sinew_curves_create(2, 2, &curves, &error));
    assert_ok(sinew_curves_set_name(curves, 0, "jaw", &error));
    assert_ok(sinew_curves_set_name(curves, 1, "smile", &error));
    assert_int_equal(sinew_curves_check(curves, &error), SINEW_BAD_INPUT); /* both times 0 */
    curves->times[1] = 1;
    assert_ok(sinew_curves_check(curves, &error));
    curves->values[3] = NAN;
    assert_int_equal(sinew_curves_check(curves, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "smile"));
    curves->values[3] = 0;
    assert_ok(sinew_curves_set_name(curves, 1, "jaw", &error));
    assert_int_equal(sinew_curves_check(curves, &error), SINEW_BAD_INPUT);
    sinew_curves_destroy(curves);
}

static void a_gap_in_a_marker_stays_a_gap(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_markers *markers;
    assert_ok(sinew_markers_create(1, 3, &markers, &error));
    for (int t = 0; t < 3; t++) {
        markers->times[t] = t;
        for (int c = 0; c < 3; c++) markers->positions[3 * t + c] = t == 1 ? NAN : t + c;
    }
    double p[3];
    sinew_markers_sample(markers, 0, p);
    assert_true(p[0] == 0 && p[1] == 1 && p[2] == 2);
    sinew_markers_sample(markers, 0.5, p);
    assert_true(isnan(p[0]));
    sinew_markers_sample(markers, 2, p);
    assert_true(p[2] == 4);
    sinew_markers_destroy(markers);
}

static void markers_change_their_unit_and_axis(void **state) {
    (void)state;
    sinew_error error;
    sinew_markers *take;
    assert_ok(sinew_markers_create(2, 3, &take, &error));
    for (int i = 0; i < 18; i++) take->positions[i] = i + 1;
    assert_int_equal(sinew_markers_convert(take, "m", 0, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "does not specify its unit"));
    strcpy(take->unit, "mm"), take->up = 'z';
    assert_int_equal(sinew_markers_convert(take, "furlong", 0, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "'furlong' is not a unit of length"));
    assert_int_equal(sinew_markers_convert(take, NULL, 'w', &error), SINEW_BAD_INPUT);
    assert_ok(sinew_markers_convert(take, "cm", 0, &error));
    assert_string_equal(take->unit, "cm");
    assert_int_equal(take->up, 'z');
    for (int i = 0; i < 18; i++) assert_close(take->positions[i], (i + 1) / 10.0, 1e-15);
    assert_ok(sinew_markers_convert(take, "m", 'y', &error)); /* (x, y, z) becomes (x, z, -y) */
    assert_int_equal(take->up, 'y');
    for (int i = 0; i < 6; i++) {
        assert_close(take->positions[3 * i], (3 * i + 1) / 1000.0, 1e-15);
        assert_close(take->positions[3 * i + 1], (3 * i + 3) / 1000.0, 1e-15);
        assert_close(take->positions[3 * i + 2], -(3 * i + 2) / 1000.0, 1e-15);
    }
    sinew_markers_destroy(take);
}

int test_curves(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_change_their_unit_and_axis),
        cmocka_unit_test(curves_are_linear_between_keys_and_constant_outside),
        cmocka_unit_test(curves_without_keys_are_zero),
        cmocka_unit_test(broken_curves_are_named),
        cmocka_unit_test(a_gap_in_a_marker_stays_a_gap),
    };
    return cmocka_run_group_tests_name("curves", tests, NULL, NULL);
}
