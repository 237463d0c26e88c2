/* Structures that carry their size: callers older and newer than the library. */
#include "support.h"

#include "base/sized.h"
#include "groups.h"
#include "sinew/sinew.h"

typedef struct known {
    uint32_t size;
    int first;
    double second;
} known;
static void known_init(known *options) {
    *options = (known){.size = sizeof *options, .first = 10, .second = 0.5};
}
/* The same structure before `second` was added, and after something else was. */
typedef struct older {
    uint32_t size;
    int first;
} older;
typedef struct newer {
    uint32_t size;
    int first;
    double second;
    double third;
} newer;

static sinew_status read_known(const void *given, known *result) {
    sinew_error error;
    SN_OPTIONS(known, own, given, &error);
    *result = own;
    return SINEW_OK;
}

static void options_of_an_older_caller_keep_defaults_of_new_fields(void **state) {
    (void)state;
    older given = {.size = sizeof given, .first = 3};
    known result;
    assert_int_equal(read_known(&given, &result), SINEW_OK);
    assert_int_equal(result.first, 3);
    assert_true(result.second == 0.5);
    assert_int_equal(result.size, sizeof(known));
}

static void options_of_a_newer_caller_are_read_as_far_as_they_are_known(void **state) {
    (void)state;
    newer given = {.size = sizeof given, .first = 3, .second = 4, .third = 5};
    known result;
    assert_int_equal(read_known(&given, &result), SINEW_OK);
    assert_int_equal(result.first, 3);
    assert_true(result.second == 4);
    assert_int_equal(result.size, sizeof(known));
}

static void options_without_a_size_are_misuse(void **state) {
    (void)state;
    known given = {0}, result;
    assert_int_equal(read_known(&given, &result), SINEW_MISUSE);
    assert_int_equal(read_known(NULL, &result), SINEW_OK);
    assert_int_equal(result.first, 10);
}

static void info_fills_what_the_caller_has_and_nothing_else(void **state) {
    (void)state;
    known own = {.size = sizeof own, .first = 7, .second = 8};
    struct {
        older info;
        unsigned char after[16];
    } small = {.info = {.size = sizeof(older)}};
    memset(small.after, 0xab, sizeof small.after);
    sn_info_write(&small.info, &own, sizeof own);
    assert_int_equal(small.info.size, sizeof(older));
    assert_int_equal(small.info.first, 7);
    for (size_t i = 0; i < sizeof small.after; i++) assert_int_equal(small.after[i], 0xab);
    newer large = {.size = sizeof large, .third = 9};
    sn_info_write(&large, &own, sizeof own);
    assert_int_equal(large.size, sizeof large);
    assert_true(large.second == 8 && large.third == 9);
    known none = {0};
    assert_false(sn_info_ready(&none));
    assert_true(sn_info_ready(NULL));
    sn_info_write(&none, &own, sizeof own);
    assert_int_equal(none.first, 0);
}

static void arrays_of_infos_have_the_size_of_the_first(void **state) {
    (void)state;
    known own = {.size = sizeof own, .first = 7, .second = 8};
    older list[3] = {{.size = sizeof *list}};
    for (int i = 0; i < 3; i++) {
        own.first = i;
        sn_infos_write(list, i, &own, sizeof own);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(list[i].first, i);
        assert_int_equal(list[i].size, sizeof *list);
    }
}

#define STATES_ITS_SIZE(type)                                                                      \
    do {                                                                                           \
        type options;                                                                              \
        memset(&options, 0xff, sizeof options);                                                    \
        type##_init(&options);                                                                     \
        assert_int_equal(options.size, sizeof options);                                            \
    } while (0)

static void every_options_structure_states_its_size(void **state) {
    (void)state;
    STATES_ITS_SIZE(sinew_cage_options);
    STATES_ITS_SIZE(sinew_cage_fit_options);
    STATES_ITS_SIZE(sinew_check_options);
    STATES_ITS_SIZE(sinew_fit_options);
    STATES_ITS_SIZE(sinew_force_options);
    STATES_ITS_SIZE(sinew_lock_options);
    STATES_ITS_SIZE(sinew_manipulate_options);
    STATES_ITS_SIZE(sinew_modal_options);
    STATES_ITS_SIZE(sinew_modal_parameters);
    STATES_ITS_SIZE(sinew_plot_options);
    STATES_ITS_SIZE(sinew_render_options);
    STATES_ITS_SIZE(sinew_sample_options);
    STATES_ITS_SIZE(sinew_sample_marker_options);
    STATES_ITS_SIZE(sinew_spring_options);
    STATES_ITS_SIZE(sinew_stiffness_options);
    STATES_ITS_SIZE(sinew_tets_options);
    STATES_ITS_SIZE(sinew_transfer_options);
}

static void public_calls_refuse_structures_without_a_size(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig;
    sinew_sample_options unsized = {.vertices = 1000};
    assert_int_equal(sinew_sample_rig("bar", &unsized, &rig, &error), SINEW_MISUSE);
    sinew_sample_options sized = {.size = sizeof sized, .vertices = 1000};
    assert_ok(sinew_sample_rig("bar", &sized, &rig, &error));
    sinew_spring_options options = {0};
    sinew_spring *spring;
    assert_int_equal(sinew_spring_create(rig, &options, NULL, &spring, &error), SINEW_MISUSE);
    sinew_measure *measure;
    assert_ok(sinew_measure_create(rig, &measure, &error));
    sinew_distortion distortion = {.size = 0};
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    assert_int_equal(
        sinew_measure_frame(measure, weights, rig->neutral->positions, false, &distortion, &error),
        SINEW_MISUSE);
    distortion.size = sizeof distortion;
    assert_ok(
        sinew_measure_frame(measure, weights, rig->neutral->positions, false, &distortion, &error));
    free(weights);
    sinew_measure_destroy(measure);
    sinew_rig_destroy(rig);
}

int test_sized(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_an_older_caller_keep_defaults_of_new_fields),
        cmocka_unit_test(options_of_a_newer_caller_are_read_as_far_as_they_are_known),
        cmocka_unit_test(options_without_a_size_are_misuse),
        cmocka_unit_test(info_fills_what_the_caller_has_and_nothing_else),
        cmocka_unit_test(arrays_of_infos_have_the_size_of_the_first),
        cmocka_unit_test(every_options_structure_states_its_size),
        cmocka_unit_test(public_calls_refuse_structures_without_a_size),
    };
    return cmocka_run_group_tests_name("sized structures", tests, NULL, NULL);
}
