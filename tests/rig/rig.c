#include "support.h"

#include "groups.h"
#include "rigs.h"

static void whole_faces_come_back_to_the_bit(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(300);
    uint64_t seed = 1;
    double *pose = malloc(900 * sizeof(double)), *back = malloc(900 * sizeof(double));
    for (int i = 0; i < 900; i++) /* floats, as files hold them */
        rig->neutral->positions[i] = (float)rig->neutral->positions[i];
    for (int i = 0; i < 900; i++)
        pose[i] = i % 7 ? (float)(rig->neutral->positions[i] + 0.3 * test_random(&seed))
                        : rig->neutral->positions[i];
    assert_ok(sinew_rig_add_pose(rig, "pose", pose, &error));
    sinew_rig_shape(rig, 0, back);
    assert_memory_equal(pose, back, 900 * sizeof(double));
    free(pose);
    free(back);
    sinew_rig_destroy(rig);
}

static void a_pose_keeps_only_moved_vertices(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(10);
    double pose[30];
    memcpy(pose, rig->neutral->positions, sizeof pose);
    pose[3 * 4 + 1] += 0.5;
    assert_ok(sinew_rig_add_pose(rig, "pose", pose, &error));
    assert_int_equal(rig->targets[0].count, 1);
    assert_int_equal(rig->targets[0].vertices[0], 4);
    assert_int_equal(rig->slider_count, 1);
    assert_true(rig->sliders[0].minimum == 0 && rig->sliders[0].maximum == 1);
    sinew_rig_destroy(rig);
}

/* The same pose as the affine combination of whole faces and as neutral plus displacements. */
static void whole_face_and_delta_forms_agree(void **state) {
    (void)state;
    sinew_rig *rig = random_rig(50, 6, 0.7, 3);
    uint64_t seed = 4;
    double w[6], whole[7], delta_form[150], whole_form[150] = {0}, shape[150];
    for (int k = 0; k < 6; k++) w[k] = test_random(&seed);
    sinew_rig_whole_face_weights(rig, w, whole);
    double sum = 0;
    for (int k = 0; k < 7; k++) sum += whole[k];
    assert_close(sum, 1, 1e-15);
    plain_evaluate(rig, w, delta_form);
    for (int k = -1; k < 6; k++) {
        if (k < 0)
            memcpy(shape, rig->neutral->positions, sizeof shape);
        else
            sinew_rig_shape(rig, k, shape);
        for (int i = 0; i < 150; i++) whole_form[i] += whole[k + 1] * shape[i];
    }
    for (int i = 0; i < 150; i++) assert_close(whole_form[i], delta_form[i], 1e-14);
    sinew_rig_destroy(rig);
}

static void unsorted_displacements_are_sorted(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(10);
    const int vertices[] = {7, 2, 5}, sorted[] = {2, 5, 7};
    const double deltas[] = {7, 7, 7, 2, 2, 2, 5, 5, 5};
    assert_ok(sinew_rig_add_target(rig, "a", 3, vertices, deltas, &error));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig->targets[0].vertices[i], sorted[i]);
        assert_true(rig->targets[0].deltas[3 * i + 2] == rig->targets[0].vertices[i]);
    }
    sinew_rig_destroy(rig);
}

static void expect_refusal(sinew_status status, const sinew_error *error, const char *word) {
    assert_int_equal(status, SINEW_BAD_INPUT);
    if (!strstr(error->message, word)) fail_msg("\"%s\" does not name %s", error->message, word);
}

static void bad_targets_are_refused_and_leave_the_rig_alone(void **state) {
    (void)state;
    sinew_error e = {0};
    sinew_rig *rig = strip_rig(10);
    const int v[] = {1, 2}, twice[] = {3, 3}, outside[] = {1, 10}, negative[] = {-1, 2};
    const double d[] = {1, 2, 3, 4, 5, 6}, bad[] = {1, 2, 3, 4, NAN, 6};
    const double huge[] = {1, INFINITY, 3, 4, 5, 6};
    assert_int_equal(sinew_rig_add_target(rig, "good", 2, v, d, &e), SINEW_OK);
    expect_refusal(sinew_rig_add_target(rig, "good", 2, v, d, &e), &e, "good");
    expect_refusal(sinew_rig_add_target(rig, "", 2, v, d, &e), &e, "empty");
    expect_refusal(sinew_rig_add_target(rig, "x", 2, twice, d, &e), &e, "vertex 3");
    expect_refusal(sinew_rig_add_target(rig, "x", 2, outside, d, &e), &e, "vertex 10");
    expect_refusal(sinew_rig_add_target(rig, "x", 2, negative, d, &e), &e, "vertex -1");
    expect_refusal(sinew_rig_add_target(rig, "x", 2, v, bad, &e), &e, "vertex 2");
    expect_refusal(sinew_rig_add_target(rig, "x", 2, v, huge, &e), &e, "finite");
    expect_refusal(sinew_rig_add_inbetween(rig, "x", 0, 0, 2, v, d, &e), &e, "rest");
    expect_refusal(sinew_rig_add_inbetween(rig, "x", 0, 1, 2, v, d, &e), &e, "good");
    expect_refusal(sinew_rig_add_inbetween(rig, "x", 1, 0.5, 2, v, d, &e), &e, "slider 1");
    expect_refusal(sinew_rig_add_inbetween(rig, "x", 0, NAN, 2, v, d, &e), &e, "nan");
    const int drivers[] = {0, 0}, missing[] = {0, 4};
    expect_refusal(
        sinew_rig_add_combination(rig, "x", SINEW_COMBINE_LOWEST, 2, drivers, 2, v, d, &e), &e,
        "twice");
    expect_refusal(
        sinew_rig_add_combination(rig, "x", SINEW_COMBINE_LOWEST, 2, missing, 2, v, d, &e), &e,
        "slider 4");
    expect_refusal(
        sinew_rig_add_combination(rig, "x", SINEW_COMBINE_LOWEST, 0, drivers, 2, v, d, &e), &e,
        "x");
    expect_refusal(sinew_rig_set_limits(rig, 0, 1, 0, &e), &e, "good");
    expect_refusal(sinew_rig_set_limits(rig, 0, NAN, 0, &e), &e, "good");
    expect_refusal(sinew_rig_add_region(rig, "r", 2, outside, &e), &e, "vertex 10");
    assert_int_equal(rig->target_count, 1);
    assert_int_equal(rig->slider_count, 1);
    assert_int_equal(rig->region_count, 0);
    sinew_rig_destroy(rig);
}

static sinew_rig *full_rig(void) {
    sinew_error error = {0};
    sinew_rig *rig = random_rig(40, 3, 0.5, 9);
    const int v[] = {1, 2, 2, 0};
    const double d[] = {1, 2, 3, 4, 5, 6};
    const int drivers[] = {0, 2};
    assert_ok(sinew_rig_add_inbetween(rig, "half", 1, 0.5, 2, v, d, &error));
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_SMOOTH_LOWEST, 2, drivers, 2, v,
                                        d, &error));
    assert_ok(sinew_rig_add_region(rig, "chin", 4, v, &error));
    assert_ok(sinew_rig_set_group(rig, 1, "mouth", &error));
    assert_ok(sinew_rig_set_limits(rig, 2, -1, INFINITY, &error));
    assert_ok(sinew_rig_set_mirror(rig, 0, 2, &error));
    return rig;
}

static void a_copy_shares_nothing_and_says_the_same(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = full_rig(), *copy;
    assert_ok(sinew_rig_copy(rig, &copy, &error));
    assert_int_equal(copy->target_count, 5);
    for (int k = 0; k < 5; k++) {
        const sinew_target *a = &rig->targets[k], *b = &copy->targets[k];
        assert_string_equal(a->name, b->name);
        assert_true(a->name != b->name && a->deltas != b->deltas);
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->slider, b->slider);
        assert_true(a->at == b->at && a->combine == b->combine && a->count == b->count);
        assert_memory_equal(a->deltas, b->deltas, 3 * sizeof(double) * (size_t)a->count);
        assert_memory_equal(a->vertices, b->vertices, sizeof(int) * (size_t)a->count);
    }
    assert_int_equal(copy->targets[4].drivers[1], 2);
    assert_string_equal(copy->sliders[1].group, "mouth");
    assert_true(copy->sliders[2].minimum == -1 && copy->sliders[2].maximum == INFINITY);
    assert_int_equal(copy->sliders[2].mirror, 0);
    assert_int_equal(copy->regions[0].count, 3); /* 0 1 2: the double vertex counts once */
    assert_int_equal(sinew_rig_find_region(copy, "CHIN"), 0);
    sinew_rig_destroy(rig);
    sinew_rig_destroy(copy);
}

/* --- memory that runs out at every step --- */

static void running_out_of_memory_is_reported_at_every_step(void **state) {
    (void)state;
    sinew_rig *rig = full_rig();
    const int v[] = {5, 2};
    const double d[] = {1, 2, 3, 4, 5, 6};
    sinew_status status = SINEW_NO_MEMORY;
    int steps = 0;
    for (; steps < 500 && status == SINEW_NO_MEMORY; steps++) {
        test_memory_limit(steps);
        sinew_rig *copy = NULL;
        sinew_linear *linear = NULL;
        status = sinew_rig_copy(rig, &copy, NULL);
        if (status == SINEW_OK) status = sinew_rig_add_target(copy, "new", 2, v, d, NULL);
        if (status == SINEW_OK) status = sinew_linear_create(copy, &linear, NULL);
        sinew_linear_destroy(linear);
        sinew_rig_destroy(copy);
        assert_int_equal(test_memory_restore().living, 0);
    }
    assert_int_equal(status, SINEW_OK);
    assert_true(steps > 40);
    sinew_rig_destroy(rig);
}

int test_rig(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_faces_come_back_to_the_bit),
        cmocka_unit_test(a_pose_keeps_only_moved_vertices),
        cmocka_unit_test(whole_face_and_delta_forms_agree),
        cmocka_unit_test(unsorted_displacements_are_sorted),
        cmocka_unit_test(bad_targets_are_refused_and_leave_the_rig_alone),
        cmocka_unit_test(a_copy_shares_nothing_and_says_the_same),
        cmocka_unit_test(running_out_of_memory_is_reported_at_every_step),
    };
    return cmocka_run_group_tests_name("rig", tests, NULL, NULL);
}
