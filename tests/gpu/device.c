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

/* Many numbers come in pieces, and are copied as they arrive. */
static void results_arrive_whole(void **state) {
    (void)state;
    static const size_t counts[] = {1, 1000, 131071, 131072, 400001, 1500000};
    sinew_error error = {0};
    sn_gpu *gpu = open_device();
    assert_false(sn_gpu_in_pieces(1000));
    assert_true(sn_gpu_in_pieces(400001));
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        size_t count = counts[k];
        sn_gpu_store store = {.gpu = gpu};
        void *unused;
        double *sent = malloc(count * sizeof *sent), *found = calloc(count, sizeof *found);
        for (size_t i = 0; i < count; i++) sent[i] = (double)(i * (k + 1));
        sn_gpu_lock(gpu);
        const double *there = sn_gpu_store_put(&store, sent, count, sizeof *sent);
        double *pinned = sn_gpu_store_pinned(&store, count * sizeof *pinned, &unused);
        sn_gpu_copying copying = {found, pinned};
        assert_ok(sn_gpu_store_status(&store, &error));
        assert_ok(sn_gpu_send_back(gpu, pinned, there, count, &error));
        assert_ok(sn_gpu_wait(gpu, NULL, INFINITY, NULL, &error));
        assert_ok(sn_gpu_receive(gpu, count, sn_gpu_copy, &copying, &error));
        sn_gpu_unlock(gpu);
        assert_memory_equal(sent, found, count * sizeof *sent);
        sn_gpu_store_free(&store);
        free(sent), free(found);
    }
    sn_gpu_close(gpu);
}

/* While pieces are on their way. */
static void results_that_do_not_arrive_are_reported(void **state) {
    (void)state;
    if (!on_host()) skip();
    enum { COUNT = 400001 };
    sinew_error error = {0};
    sn_gpu *gpu = open_device();
    sn_gpu_store store = {.gpu = gpu};
    void *unused;
    double *found = calloc(COUNT, sizeof *found);
    sn_gpu_lock(gpu);
    const double *there = sn_gpu_store_room(&store, COUNT, sizeof *found);
    double *pinned = sn_gpu_store_pinned(&store, COUNT * sizeof *pinned, &unused);
    sn_gpu_copying copying = {found, pinned};
    assert_ok(sn_gpu_store_status(&store, &error));
    assert_ok(sn_gpu_send_back(gpu, pinned, there, COUNT, &error));
    assert_ok(sn_gpu_wait(gpu, NULL, INFINITY, NULL, &error));
    setenv("SINEW_GPU_FAIL", "finish", 1);
    assert_int_equal(sn_gpu_receive(gpu, COUNT, sn_gpu_copy, &copying, &error), SINEW_UNAVAILABLE);
    unsetenv("SINEW_GPU_FAIL");
    assert_non_null(strstr(error.message, "failed as the test asked"));
    sn_gpu_unlock(gpu);
    sn_gpu_store_free(&store);
    free(found);
    sn_gpu_close(gpu);
}

int test_device(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_fails_says_so),
        cmocka_unit_test(a_missing_library_is_named),
        cmocka_unit_test(held_vertices_stay_on_the_processor),
        cmocka_unit_test(results_arrive_whole),
        cmocka_unit_test(results_that_do_not_arrive_are_reported),
    };
    return cmocka_run_group_tests_name("gpu device", tests, NULL, NULL);
}
