/* Modal frames of the device against those of the processor. */
#include "support.h"

#include "gpu/modal.h"
#include "groups.h"
#include "rigs.h"
#include "sinew/modal.h"

typedef struct swing {
    sn_gpu *gpu;
    sinew_rig *rig;
    sinew_modal *modal;
    sinew_modal_state *state;
    sinew_modal_motion *motion;
    sn_gpu_modal *device;
    sn_gpu_motion *poses;
    double *pose, *inner, *expected, *found;
} swing;

/* Two keys and a correction between them. */
static swing swing_start(const char *name, int vertices, sinew_modal_body body) {
    sinew_error error = {0};
    swing s = {.gpu = open_device(), .rig = sample_rig(name, vertices)};
    const sinew_mesh *mesh = s.rig->neutral;
    size_t n = 3 * (size_t)mesh->vertex_count;
    s.pose = malloc(n * sizeof(double)), s.inner = malloc(n * sizeof(double));
    s.expected = malloc(n * sizeof(double)), s.found = malloc(n * sizeof(double));
    sinew_linear *linear = NULL;
    double *weights = malloc(sizeof(double) * (size_t)s.rig->slider_count);
    assert_ok(sinew_linear_create(s.rig, &linear, &error));
    set_weights(s.rig, 0.4, weights);
    sinew_linear_evaluate(linear, weights, s.pose);
    set_weights(s.rig, 0.3, weights);
    sinew_linear_evaluate(linear, weights, s.inner);
    sinew_linear_destroy(linear);
    free(weights);
    const double *poses[1] = {s.pose};
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 8, options.body = body, options.cells = 12;
    options.pose_count = 1, options.poses = poses;
    assert_ok(sinew_modal_create(mesh, &options, NULL, &s.modal, &error));
    assert_ok(sinew_modal_state_create(s.modal, &s.state, &error));
    const double times[2] = {0, 1}, between = 0.6, *inner[1] = {s.inner};
    const double *ends[2] = {mesh->positions, s.pose};
    sinew_modal_keys keys = {.size = sizeof keys,
                             .count = 2,
                             .times = times,
                             .positions = ends,
                             .inner_count = 1,
                             .inner_times = &between,
                             .inner_positions = inner};
    assert_ok(sinew_modal_motion_create(s.modal, &keys, NULL, NULL, &s.motion, &error));
    assert_ok(sn_gpu_modal_create(s.gpu, s.modal, &s.device, &error));
    assert_ok(sn_gpu_motion_create(s.device, s.motion, &s.poses, &error));
    assert_true(sn_gpu_modal_bytes(s.device) > 0);
    return s;
}

static void swing_finish(swing *s) {
    sn_gpu_motion_destroy(s->poses);
    sn_gpu_modal_destroy(s->device);
    sinew_modal_motion_destroy(s->motion);
    sinew_modal_state_destroy(s->state);
    sinew_modal_destroy(s->modal);
    sinew_rig_destroy(s->rig);
    sn_gpu_close(s->gpu);
    free(s->pose), free(s->inner), free(s->expected), free(s->found);
}

static void check_frames(const char *name, int vertices, sinew_modal_body body) {
    swing s = swing_start(name, vertices, body);
    size_t size = 3 * sizeof(double) * (size_t)s.rig->neutral->vertex_count;
    double *again = malloc(size);
    for (int k = 0; k <= 8; k++) {
        double time = k / 5.0, bound[2] = {3e-6, 1e-9}; /* single precision, and refined */
        s.state->exact = true;
        sn_gpu_motion_attach(NULL, s.state);
        sinew_modal_frame(s.motion, s.state, time, s.expected);
        assert_false(s.state->rebuilt);
        int inverted = sinew_modal_inverted(s.motion, s.state);
        for (int exact = 0; exact < 2; exact++) {
            s.state->exact = exact;
            sn_gpu_motion_attach(s.poses, s.state);
            sinew_modal_frame(s.motion, s.state, time, s.found);
            assert_true(s.state->rebuilt);
            assert_below(farthest(s.rig, s.expected, s.found), bound[exact]);
            sinew_modal_frame(s.motion, s.state, time, again);
            assert_memory_equal(s.found, again, size);
        }
        assert_int_equal(sinew_modal_inverted(s.motion, s.state), inverted);
    }
    free(again);
    swing_finish(&s);
}

static void modal_frames_agree(void **unused) {
    (void)unused;
    check_frames("bar", 1000, SINEW_MODAL_BODY_CAGE);   /* leftovers that turn with their tets */
    check_frames("face", 1500, SINEW_MODAL_BODY_SHELL); /* triangles, parts and links */
    check_frames("hand", 3000, SINEW_MODAL_BODY_CAGE);  /* several levels of the dissection */
}

/* What the device does not do is done by the processor, bit for bit. */
static void mixed_frames_go_to_the_processor(void **unused) {
    (void)unused;
    sinew_error error = {0};
    swing s = swing_start("bar", 1000, SINEW_MODAL_BODY_SHELL);
    size_t size = 3 * sizeof(double) * (size_t)s.rig->neutral->vertex_count;
    assert_ok(sinew_modal_frame_mixed(s.motion, s.state, 0.3, s.pose, 0.5, s.expected, &error));
    sn_gpu_motion_attach(s.poses, s.state);
    assert_ok(sinew_modal_frame_mixed(s.motion, s.state, 0.3, s.pose, 0.5, s.found, &error));
    assert_false(s.state->rebuilt);
    assert_non_null(strstr(sn_gpu_motion_why(s.poses), "mix"));
    assert_memory_equal(s.expected, s.found, size);
    swing_finish(&s);
}

int test_modal(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(modal_frames_agree),
                                       cmocka_unit_test(mixed_frames_go_to_the_processor)};
    return cmocka_run_group_tests_name("modal", tests, NULL, NULL);
}
