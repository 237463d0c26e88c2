/* What happens without a device, and when one fails. */
#include "gpu/device.h"

#include "support.h"

#include "gpu/rotation.h"
#include "groups.h"
#include "rigs.h"

/* The host's library, told to fail at one kind of call. */
static void expect_failure(const char *what, const char *message) {
    sinew_error error = {0};
    sinew_rig *rig = sample_rig("bar", 1000);
    sinew_rotation *rotation = NULL;
    sn_gpu_rotation *device = NULL;
    sn_gpu *gpu = NULL, *later = NULL;
    double *positions = malloc(3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    double *weights = calloc((size_t)rig->slider_count, sizeof(double));
    assert_ok(sinew_rotation_create(rig, NULL, NULL, &rotation, &error));
    setenv("SINEW_GPU_FAIL", what, 1);
    sinew_status status = sn_gpu_open(&gpu, &error);
    if (status == SINEW_OK) status = sn_gpu_rotation_create(gpu, rotation, &device, &error);
    if (status == SINEW_OK) status = sn_gpu_rotation_evaluate(device, weights, positions, &error);
    unsetenv("SINEW_GPU_FAIL");
    assert_int_equal(status, SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, message));
    if (device) { /* a lost device stays lost for this process, until nobody holds it */
        assert_int_equal(sn_gpu_rotation_evaluate(device, weights, positions, &error),
                         SINEW_UNAVAILABLE);
        assert_int_equal(sn_gpu_open(&later, &error), SINEW_UNAVAILABLE);
    }
    sn_gpu_rotation_destroy(device);
    sn_gpu_close(gpu);
    sinew_rotation_destroy(rotation);
    sinew_rig_destroy(rig);
    free(positions), free(weights);
}

static void a_device_that_fails_says_so(void **state) {
    (void)state;
    if (!on_host()) skip();
    expect_failure("open", "failed as the test asked");
    expect_failure("memory", "out of device memory");
    expect_failure("launch", "failed as the test asked");
    expect_failure("finish", "failed as the test asked");
    sn_gpu_close(open_device()); /* a fresh start */
}

static void a_missing_library_is_named(void **state) {
    (void)state;
    sinew_error error = {0};
    sn_gpu *gpu = NULL;
    const char *library = getenv("SINEW_GPU_LIBRARY");
    char *before = strdup(library ? library : "");
    setenv("SINEW_GPU_LIBRARY", "libno-such-device.so", 1);
    assert_int_equal(sn_gpu_open(&gpu, &error), SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "libno-such-device.so"));
    assert_null(gpu);
    setenv("SINEW_GPU_LIBRARY", "libm.so.6", 1); /* a library, but none of ours */
    assert_int_equal(sn_gpu_open(&gpu, &error), SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "another version"));
    setenv("SINEW_GPU_LIBRARY", before, 1);
    free(before);
}

static void held_vertices_stay_on_the_processor(void **state) {
    (void)state;
    sinew_error error = {0};
    sn_gpu *gpu = open_device();
    sinew_rig *rig = sample_rig("bar", 1000);
    sinew_rotation_options options;
    sinew_rotation_options_init(&options);
    int hold = 0;
    options.hold = &hold, options.hold_count = 1;
    sinew_rotation *rotation = NULL;
    sn_gpu_rotation *device = NULL;
    assert_ok(sinew_rotation_create(rig, &options, NULL, &rotation, &error));
    assert_int_equal(sn_gpu_rotation_create(gpu, rotation, &device, &error), SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "held vertices"));
    assert_null(device);
    sinew_rotation_destroy(rotation);
    sinew_rig_destroy(rig);
    sn_gpu_close(gpu);
}

int test_device(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_fails_says_so),
        cmocka_unit_test(a_missing_library_is_named),
        cmocka_unit_test(held_vertices_stay_on_the_processor),
    };
    return cmocka_run_group_tests_name("gpu device", tests, NULL, NULL);
}
