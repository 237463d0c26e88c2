/* Structures that carry their size: callers older and newer than the library. */
#include "support.h"

#include <stddef.h>
#include <stdint.h>

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
    STATES_ITS_SIZE(sinew_bake_options);
    STATES_ITS_SIZE(sinew_cage_fit_options);
    STATES_ITS_SIZE(sinew_cage_options);
    STATES_ITS_SIZE(sinew_capture_options);
    STATES_ITS_SIZE(sinew_check_options);
    STATES_ITS_SIZE(sinew_clip_info);
    STATES_ITS_SIZE(sinew_compact_options);
    STATES_ITS_SIZE(sinew_fit_frames_options);
    STATES_ITS_SIZE(sinew_fit_options);
    STATES_ITS_SIZE(sinew_force_options);
    STATES_ITS_SIZE(sinew_input);
    STATES_ITS_SIZE(sinew_loader);
    STATES_ITS_SIZE(sinew_lock_options);
    STATES_ITS_SIZE(sinew_manipulate_options);
    STATES_ITS_SIZE(sinew_modal_options);
    STATES_ITS_SIZE(sinew_modal_parameters);
    STATES_ITS_SIZE(sinew_plot_options);
    STATES_ITS_SIZE(sinew_render_options);
    STATES_ITS_SIZE(sinew_result);
    STATES_ITS_SIZE(sinew_rotation_options);
    STATES_ITS_SIZE(sinew_sample_marker_options);
    STATES_ITS_SIZE(sinew_sample_options);
    STATES_ITS_SIZE(sinew_session_change);
    STATES_ITS_SIZE(sinew_session_options);
    STATES_ITS_SIZE(sinew_sink);
    STATES_ITS_SIZE(sinew_source);
    STATES_ITS_SIZE(sinew_spring_options);
    STATES_ITS_SIZE(sinew_stiffness_options);
    STATES_ITS_SIZE(sinew_tets_options);
    STATES_ITS_SIZE(sinew_transfer_options);
}

/* Records without a size, most of them elements of arrays, cannot grow: a program that was compiled
 * with other fields would read past them. Where a field is missing, a new structure or function is
 * added beside them (docs/libraries.md). */
#define FROZEN(type, bytes, last, offset)                                                          \
    _Static_assert(sizeof(type) == (bytes) && offsetof(type, last) == (offset), #type " is "       \
                                                                                      "frozen")
#if UINTPTR_MAX == UINT64_MAX
FROZEN(sinew_monitor, 40, strict, 32);
_Static_assert(offsetof(sinew_monitor, progress) == 0 && offsetof(sinew_monitor, cancelled) == 8 &&
                   offsetof(sinew_monitor, log) == 16 && offsetof(sinew_monitor, user) == 24,
               "sinew_monitor is frozen");
FROZEN(sinew_allocator, 24, user, 16);
_Static_assert(offsetof(sinew_allocator, resize) == 0 && offsetof(sinew_allocator, release) == 8,
               "sinew_allocator is frozen");
FROZEN(sinew_cache_key, 16, high, 8);
FROZEN(sinew_hash, 48, total, 40);
FROZEN(sinew_finding, 16, elements, 4);
FROZEN(sinew_stiffness_example, 16, positions, 8);
FROZEN(sinew_interference_pair, 48, rank, 40);
FROZEN(sinew_drag, 40, weight, 32);
FROZEN(sinew_rigid, 96, translation, 72);
FROZEN(sinew_spread, 24, max, 16);
FROZEN(sinew_modal_orientation, 48, weight, 40);
FROZEN(sinew_contact, 56, vertex, 52);
FROZEN(sinew_closest, 64, distance, 56);
FROZEN(sinew_panel, 64, turn, 56);
FROZEN(sinew_line, 32, y, 24);
FROZEN(sinew_term, 32, power, 20);
FROZEN(sinew_spring_pull, 40, stiffness, 32);
FROZEN(sinew_error, 516, message, 4);
#endif

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
