#include "support.h"

#include "groups.h"
#include "rigs.h"
#include "sinew/threads.h"

static void compare_with_plain_sums(const sinew_rig *rig, uint64_t seed, double zero_share) {
    sinew_error error = {0};
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *fast = malloc(n * sizeof(double)), *slow = malloc(n * sizeof(double));
    double *w = malloc(sizeof(double) * (size_t)rig->slider_count);
    double *a = malloc(sizeof(double) * (size_t)rig->target_count);
    for (int i = 0; i < rig->slider_count; i++) {
        w[i] = test_random(&seed);
        if (0.5 + 0.5 * test_random(&seed) < zero_share) w[i] = 0;
    }
    sinew_linear *linear;
    assert_ok(sinew_linear_create(rig, &linear, &error));
    sinew_linear_evaluate(linear, w, fast);
    sinew_rig_activations(rig, w, a);
    plain_evaluate(rig, a, slow);
    /* displacements below 0.1, kept as floats */
    double bound = 6e-9 * rig->target_count + 1e-15;
    for (size_t i = 0; i < n; i++) assert_close(fast[i], slow[i], bound);
    sinew_linear_destroy(linear);
    free(fast);
    free(slow);
    free(w);
    free(a);
}

static void evaluation_is_the_plain_sum(void **state) {
    (void)state;
    const int vertices[] = {1, 2, 255, 256, 257, 3000};
    for (int i = 0; i < 6; i++)
        for (int targets = 0; targets < 40; targets += 13) {
            sinew_rig *rig = random_rig(vertices[i], targets, 0.1 + 0.02 * targets, (uint64_t)i);
            compare_with_plain_sums(rig, (uint64_t)targets, 0.3);
            sinew_rig_destroy(rig);
        }
}

static void more_targets_than_one_chunk_are_all_added(void **state) {
    (void)state;
    sinew_rig *rig = random_rig(300, 2500, 0.05, 8);
    compare_with_plain_sums(rig, 1, 0);
    sinew_rig_destroy(rig);
}

static void inbetweens_and_combinations_are_evaluated(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = random_rig(30, 3, 0.8, 2);
    const int v[] = {0, 29}, drivers[] = {0, 2};
    const double d[] = {0.01, 0.02, 0.03, 0.04, 0.05, 0.06};
    assert_ok(sinew_rig_add_inbetween(rig, "half", 1, 0.5, 2, v, d, &error));
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_MULTIPLY, 2, drivers, 2, v, d,
                                        &error));
    for (uint64_t seed = 0; seed < 10; seed++) compare_with_plain_sums(rig, seed, 0.2);
    sinew_rig_destroy(rig);
}

static void threads_do_not_change_the_bits(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = random_rig(5000, 60, 0.6, 4);
    double *one = malloc(15000 * sizeof(double)), *two = malloc(15000 * sizeof(double));
    double w[60];
    uint64_t seed = 3;
    for (int i = 0; i < 60; i++) w[i] = test_random(&seed);
    sinew_linear *linear;
    assert_ok(sinew_linear_create(rig, &linear, &error));
    sinew_set_threads(1);
    sinew_linear_evaluate(linear, w, one);
    sinew_set_threads(2);
    sinew_linear_evaluate(linear, w, two);
    sinew_set_threads(0);
    assert_memory_equal(one, two, 15000 * sizeof(double));
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
    free(one);
    free(two);
}

static void a_displacement_no_float_holds_is_refused(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(10);
    const int v = 7;
    const double d[] = {0, 1e300, 0};
    assert_ok(sinew_rig_add_target(rig, "far", 1, &v, d, &error));
    sinew_linear *linear;
    assert_int_equal(sinew_linear_create(rig, &linear, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 7"));
    sinew_rig_destroy(rig);
}

int test_linear(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_is_the_plain_sum),
        cmocka_unit_test(more_targets_than_one_chunk_are_all_added),
        cmocka_unit_test(inbetweens_and_combinations_are_evaluated),
        cmocka_unit_test(threads_do_not_change_the_bits),
        cmocka_unit_test(a_displacement_no_float_holds_is_refused),
    };
    return cmocka_run_group_tests_name("linear", tests, NULL, NULL);
}
