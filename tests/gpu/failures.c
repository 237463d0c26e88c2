/* Every allocation, and every call to the device, may fail: nothing is lost, and the failure is
 * reported as what it is. */
#include "support.h"

#include "gpu/linear.h"
#include "gpu/modal.h"
#include "gpu/rotation.h"
#include "gpu/spring.h"
#include "groups.h"
#include "rigs.h"
#include "sinew/modal.h"
#include "spring/bodies.h"

enum { FRAMES = 3 };

/* What the processor has made, and what the device makes from it. */
typedef struct given {
    sinew_rig *rig;
    sinew_rotation *rotation;
    sinew_spring *spring;
    sinew_spring_state *state;
    sinew_modal *modal;
    sinew_modal_motion *motion;
    test_block block;
    double *weights;
    double *positions[FRAMES];
} given;

static sinew_error error;

static sinew_status try_linear(void *user) {
    given *g = user;
    sn_gpu *gpu = NULL;
    sn_gpu_linear *two[2] = {NULL, NULL};
    sinew_status status = sn_gpu_open(&gpu, &error);
    for (int k = 0; status == SINEW_OK && k < 2; k++)
        status = sn_gpu_linear_create(gpu, g->rig, FRAMES, &two[k], &error);
    float *found = malloc(3 * sizeof(float) * FRAMES * (size_t)g->rig->neutral->vertex_count);
    if (status == SINEW_OK)
        status = sn_gpu_linear_evaluate(two[0], FRAMES, g->weights, found, &error);
    const double *weights[2] = {g->weights, g->weights};
    float *positions[2] = {found, found};
    if (status == SINEW_OK) status = sn_gpu_linear_characters(2, two, weights, positions, &error);
    free(found);
    sn_gpu_linear_destroy(two[0]), sn_gpu_linear_destroy(two[1]);
    sn_gpu_close(gpu);
    return status;
}

static sinew_status try_rotation(void *user) {
    given *g = user;
    sn_gpu *gpu = NULL;
    sn_gpu_rotation *device = NULL;
    sinew_status status = sn_gpu_open(&gpu, &error);
    if (status == SINEW_OK) status = sn_gpu_rotation_create(gpu, g->rotation, &device, &error);
    if (status == SINEW_OK)
        status = sn_gpu_rotation_evaluate(device, g->weights, g->positions[0], &error);
    sn_gpu_rotation_destroy(device);
    sn_gpu_close(gpu);
    return status;
}

/* A frame alone, then a batch of them. */
static sinew_status try_spring(void *user) {
    given *g = user;
    sn_gpu *gpu = NULL;
    sn_gpu_spring *device = NULL;
    sinew_spring_frame frames[FRAMES];
    sinew_spring_frame_info infos[FRAMES];
    for (int f = 0; f < FRAMES; f++) {
        frames[f] = (sinew_spring_frame){
            .size = sizeof *frames, .weights = g->weights + f * g->rig->slider_count, .index = f};
        infos[f].size = sizeof *infos;
    }
    sinew_status status = sn_gpu_open(&gpu, &error);
    if (status == SINEW_OK) status = sn_gpu_spring_create(gpu, g->spring, &device, &error);
    if (status == SINEW_OK)
        status =
            sn_gpu_spring_solve(device, g->state, frames, g->positions[0], infos, NULL, &error);
    if (status == SINEW_OK)
        status = sn_gpu_spring_solve_batch(device, g->state, FRAMES, frames, g->positions, infos,
                                           NULL, &error);
    sn_gpu_spring_destroy(device);
    sn_gpu_close(gpu);
    return status;
}

static sinew_status try_modal(void *user) {
    given *g = user;
    sn_gpu *gpu = NULL;
    sn_gpu_modal *device = NULL;
    sn_gpu_motion *poses = NULL;
    sinew_status status = sn_gpu_open(&gpu, &error);
    if (status == SINEW_OK) status = sn_gpu_modal_create(gpu, g->modal, &device, &error);
    if (status == SINEW_OK) status = sn_gpu_motion_create(device, g->motion, &poses, &error);
    sn_gpu_motion_destroy(poses);
    sn_gpu_modal_destroy(device);
    sn_gpu_close(gpu);
    return status;
}

static given prepare(void) {
    enum { CELLS = 4 };
    given g = {0};
    sinew_mesh *neutral = NULL;
    test_block_create(CELLS, 1, 1, &g.block);
    assert_ok(sinew_mesh_copy(g.block.mesh, &neutral, &error));
    assert_ok(sinew_rig_create(neutral, &g.rig, &error));
    size_t n = (size_t)neutral->vertex_count;
    double *pose = malloc(3 * sizeof(double) * n);
    test_bend(neutral->vertex_count, neutral->positions, CELLS, 1, pose);
    assert_ok(sinew_rig_add_pose(g.rig, "bend", pose, &error));
    g.weights = calloc(FRAMES, sizeof(double));
    for (int f = 0; f < FRAMES; f++) {
        g.weights[f] = 0.2 + 0.3 * f;
        g.positions[f] = malloc(3 * sizeof(double) * n);
    }
    assert_ok(sinew_rotation_create(g.rig, NULL, NULL, &g.rotation, &error));
    sinew_spring_options springs;
    sinew_spring_options_init(&springs);
    springs.tets = &g.block.tets;
    assert_ok(sinew_spring_create(g.rig, &springs, NULL, &g.spring, &error));
    assert_ok(sinew_spring_state_create(g.spring, &g.state, &error));
    sinew_modal_options modal;
    sinew_modal_options_init(&modal);
    const double *poses[1] = {pose}, *ends[2] = {neutral->positions, pose}, times[2] = {0, 1};
    modal.modes = 4, modal.body = SINEW_MODAL_BODY_SHELL;
    modal.pose_count = 1, modal.poses = poses;
    assert_ok(sinew_modal_create(neutral, &modal, NULL, &g.modal, &error));
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = ends};
    assert_ok(sinew_modal_motion_create(g.modal, &keys, NULL, NULL, &g.motion, &error));
    free(pose);
    return g;
}

static void finish(given *g) {
    sinew_modal_motion_destroy(g->motion), sinew_modal_destroy(g->modal);
    sinew_spring_state_destroy(g->state), sinew_spring_destroy(g->spring);
    sinew_rotation_destroy(g->rotation);
    sinew_rig_destroy(g->rig);
    test_block_free(&g->block);
    for (int f = 0; f < FRAMES; f++) free(g->positions[f]);
    free(g->weights);
}

static sinew_status (*const tries[])(void *) = {try_linear, try_rotation, try_spring, try_modal};
enum { TRIES = sizeof tries / sizeof *tries };

static void memory_that_runs_out_is_reported(void **state) {
    (void)state;
    given g = prepare();
    for (int k = 0; k < TRIES; k++) assert_true(test_out_of_memory(tries[k], &g) > 5);
    sn_gpu_spring_treat_as_large(true);
    assert_true(test_out_of_memory(try_spring, &g) > 5);
    sn_gpu_spring_treat_as_large(false);
    finish(&g);
}

/* The first call to the device fails, then the second ... */
static void a_device_may_be_lost_at_every_call(void **state) {
    (void)state;
    if (!on_host()) skip();
    given g = prepare();
    for (int k = 0; k < TRIES; k++) {
        assert_ok(tries[k](&g));
        sinew_status status = SINEW_UNAVAILABLE;
        int call = 1;
        for (; status == SINEW_UNAVAILABLE; call++) {
            char text[12];
            snprintf(text, sizeof text, "%d", call);
            setenv("SINEW_GPU_FAIL", text, 1);
            status = tries[k](&g);
            unsetenv("SINEW_GPU_FAIL");
            if (status != SINEW_OK)
                assert_true(strstr(error.message, "failed as the test asked") ||
                            strstr(error.message, "out of device memory"));
        }
        assert_ok(status);
        assert_true(call > 10);
    }
    finish(&g);
}

/* Several characters in one launch: each as it is alone. */
static void characters_are_evaluated_together(void **state) {
    (void)state;
    enum { HEADS = 300, KINDS = 2 }; /* more than fit in a launch */
    sn_gpu *gpu = open_device();
    sinew_rig *rigs[KINDS] = {sample_rig("bar", 1000), sample_rig("face", 1000)};
    sn_gpu_linear *kinds[KINDS], *heads[HEADS];
    double *weights[KINDS];
    const double *each[HEADS];
    float *alone[KINDS], *together[HEADS];
    size_t sizes[KINDS];
    for (int k = 0; k < KINDS; k++) {
        sizes[k] = 3 * sizeof(float) * (size_t)rigs[k]->neutral->vertex_count;
        weights[k] = calloc((size_t)rigs[k]->slider_count, sizeof(double));
        alone[k] = malloc(sizes[k]);
        set_weights(rigs[k], 0.6, weights[k]);
        assert_ok(sn_gpu_linear_create(gpu, rigs[k], 1, &kinds[k], &error));
        assert_ok(sn_gpu_linear_evaluate(kinds[k], 1, weights[k], alone[k], &error));
    }
    for (int h = 0; h < HEADS; h++) {
        heads[h] = kinds[h % KINDS], each[h] = weights[h % KINDS];
        together[h] = malloc(sizes[h % KINDS]);
    }
    assert_ok(sn_gpu_linear_characters(HEADS, heads, each, together, &error));
    for (int h = 0; h < HEADS; h++)
        assert_memory_equal(together[h], alone[h % KINDS], sizes[h % KINDS]);
    assert_ok(sn_gpu_linear_characters(HEADS, heads, each, NULL, &error)); /* stay there */
    assert_ok(sn_gpu_linear_characters(0, heads, each, together, &error));
    assert_int_equal(sn_gpu_linear_evaluate(kinds[0], 0, weights[0], alone[0], &error),
                     SINEW_MISUSE);
    assert_int_equal(sn_gpu_linear_evaluate(kinds[0], 2, weights[0], alone[0], &error),
                     SINEW_MISUSE);
    for (int h = 0; h < HEADS; h++) free(together[h]);
    for (int k = 0; k < KINDS; k++) {
        sn_gpu_linear_destroy(kinds[k]);
        sinew_rig_destroy(rigs[k]);
        free(weights[k]), free(alone[k]);
    }
    sn_gpu_close(gpu);
}

int test_failures(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(a_device_may_be_lost_at_every_call),
        cmocka_unit_test(characters_are_evaluated_together),
    };
    return cmocka_run_group_tests_name("gpu failures", tests, NULL, NULL);
}
