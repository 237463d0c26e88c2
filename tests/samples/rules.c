/* What holds for every sample. */
#include "support.h"

#include "groups.h"
#include "sinew/samples.h"
#include "sinew/threads.h"

static sinew_rig *make(const char *name, int vertices) {
    sinew_error error;
    sinew_rig *rig = NULL;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = vertices;
    assert_ok(sinew_sample_rig(name, &options, &rig, &error));
    return rig;
}

static void unknown_names_are_refused_with_the_list(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = NULL;
    assert_int_equal(sinew_sample_rig("teapot", NULL, &rig, &error), SINEW_BAD_INPUT);
    assert_null(rig);
    assert_non_null(strstr(error.message, "teapot"));
    for (int i = 0; i < sinew_sample_count(); i++)
        assert_non_null(strstr(error.message, sinew_sample_name(i)));
    assert_null(sinew_sample_name(-1));
    assert_null(sinew_sample_name(sinew_sample_count()));
}

static void sizes_out_of_range_are_refused(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = NULL;
    sinew_sample_options options = {.size = sizeof options, .vertices = 10};
    assert_int_equal(sinew_sample_rig("bar", &options, &rig, &error), SINEW_BAD_INPUT);
    options.vertices = SINEW_SAMPLE_MAX_VERTICES + 1;
    assert_int_equal(sinew_sample_rig("bar", &options, &rig, &error), SINEW_BAD_INPUT);
}

static void same_rig(const sinew_rig *a, const sinew_rig *b) {
    size_t size = 3 * sizeof(double);
    assert_int_equal(a->neutral->vertex_count, b->neutral->vertex_count);
    assert_memory_equal(a->neutral->positions, b->neutral->positions,
                        size * (size_t)a->neutral->vertex_count);
    assert_int_equal(a->target_count, b->target_count);
    for (int t = 0; t < a->target_count; t++) {
        assert_int_equal(a->targets[t].count, b->targets[t].count);
        assert_memory_equal(a->targets[t].vertices, b->targets[t].vertices,
                            sizeof(int) * (size_t)a->targets[t].count);
        assert_memory_equal(a->targets[t].deltas, b->targets[t].deltas,
                            size * (size_t)a->targets[t].count);
    }
}

static void same_bits_every_time_and_for_any_number_of_threads(void **state) {
    (void)state;
    for (int i = 0; i < sinew_sample_count(); i++) {
        sinew_set_threads(1);
        sinew_rig *a = make(sinew_sample_name(i), 0);
        sinew_set_threads(2);
        sinew_rig *b = make(sinew_sample_name(i), 0);
        sinew_set_threads(0);
        same_rig(a, b);
        sinew_rig_destroy(a);
        sinew_rig_destroy(b);
    }
}

static void sizes_come_near_the_wish(void **state) {
    (void)state;
    const int wishes[] = {1000, 5000, 18600};
    for (int i = 0; i < sinew_sample_count(); i++)
        for (size_t k = 0; k < sizeof wishes / sizeof *wishes; k++) {
            sinew_rig *rig = make(sinew_sample_name(i), wishes[k]);
            double ratio = (double)rig->neutral->vertex_count / wishes[k];
            if (ratio < 0.6 || ratio > 1.8)
                fail_msg("%s: %d vertices for %d", sinew_sample_name(i), rig->neutral->vertex_count,
                         wishes[k]);
            sinew_rig_destroy(rig);
        }
}

static void every_pose_moves_something_and_sliders_have_limits(void **state) {
    (void)state;
    for (int i = 0; i < sinew_sample_count(); i++) {
        sinew_rig *rig = make(sinew_sample_name(i), 0);
        assert_true(rig->target_count >= 4);
        for (int t = 0; t < rig->target_count; t++) assert_true(rig->targets[t].count > 0);
        for (int s = 0; s < rig->slider_count; s++) {
            assert_true(rig->sliders[s].minimum == 0);
            assert_true(rig->sliders[s].maximum == 1);
        }
        sinew_rig_destroy(rig);
    }
}

static void clips_name_sliders_and_keep_their_limits(void **state) {
    (void)state;
    for (int i = 0; i < sinew_sample_count(); i++) {
        sinew_error error;
        sinew_curves *curves = NULL;
        assert_ok(sinew_sample_curves(sinew_sample_name(i), &curves, &error));
        sinew_rig *rig = make(sinew_sample_name(i), 0);
        assert_true(curves->time_count > 30);
        for (int c = 0; c < curves->channel_count; c++)
            assert_true(sinew_rig_find_slider(rig, curves->names[c]) >= 0);
        for (int k = 0; k < curves->channel_count * curves->time_count; k++)
            assert_true(curves->values[k] >= 0 && curves->values[k] <= 1);
        sinew_curves_destroy(curves);
        sinew_rig_destroy(rig);
    }
}

int test_rules(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_names_are_refused_with_the_list),
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(same_bits_every_time_and_for_any_number_of_threads),
        cmocka_unit_test(sizes_come_near_the_wish),
        cmocka_unit_test(every_pose_moves_something_and_sliders_have_limits),
        cmocka_unit_test(clips_name_sliders_and_keep_their_limits),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
