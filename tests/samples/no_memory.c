/* Memory that runs out while a sample is made: reported, nothing leaked, nothing half made. */
#include "support.h"

#include "groups.h"
#include "sinew/samples.h"

static sinew_status make(const char *name, int what) {
    sinew_sample_options coarse = {.size = sizeof coarse, .vertices = SINEW_SAMPLE_MIN_VERTICES};
    sinew_rig *rig = NULL;
    sinew_curves *curves = NULL;
    sinew_markers *markers = NULL;
    sinew_marker_map *map = NULL;
    sinew_status status = what == 0   ? sinew_sample_rig(name, &coarse, &rig, NULL)
                          : what == 1 ? sinew_sample_curves(name, &curves, NULL)
                          : what == 2
                              ? sinew_sample_markers(name, &coarse, NULL, &markers, &map, NULL)
                              : sinew_sample_lip_curves(&curves, NULL);
    if (status != SINEW_OK) {
        assert_null(rig);
        assert_null(curves);
        assert_null(markers);
        assert_null(map);
    }
    sinew_rig_destroy(rig);
    sinew_curves_destroy(curves);
    sinew_markers_destroy(markers);
    sinew_marker_map_destroy(map);
    return status;
}

/* Every one of the first hundred allocations, then ever larger strides. */
static void run_out(const char *name, int what) {
    sinew_status status = SINEW_NO_MEMORY;
    int steps = 0;
    for (; steps < 100000 && status == SINEW_NO_MEMORY; steps += 1 + steps / 100 * 11) {
        test_memory_limit(steps);
        status = make(name, what);
        assert_int_equal(test_memory_restore().living, 0);
    }
    assert_int_equal(status, SINEW_OK);
    assert_true(steps > 10);
}

static void running_out_of_memory_is_reported_at_every_step(void **state) {
    (void)state;
    for (int i = 0; i < sinew_sample_count(); i++)
        for (int what = 0; what < 2; what++) run_out(sinew_sample_name(i), what);
    run_out("face2", 2);
    run_out("face", 3);
}

int test_no_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_out_of_memory_is_reported_at_every_step),
    };
    return cmocka_run_group_tests_name("no memory", tests, NULL, NULL);
}
