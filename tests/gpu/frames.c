/* Frames of the device against those of the processor, which the other rooms' tests hold to
 * independent references. */
#include "support.h"

#include "base/memory.h"
#include "gpu/linear.h"
#include "gpu/rotation.h"
#include "gpu/spring.h"
#include "groups.h"
#include "rigs.h"
#include "sinew/spring.h"
#include "spring/bodies.h"

/* ---- linear ---- */

static void linear_frames_agree(void **unused) {
    (void)unused;
    enum { FRAMES = 6 };
    sinew_error error = {0};
    sn_gpu *gpu = open_device();
    sinew_rig *rig = sample_rig("face", 1500);
    size_t n = 3 * (size_t)rig->neutral->vertex_count, sliders = (size_t)rig->slider_count;
    sinew_linear *linear = NULL;
    sn_gpu_linear *device = NULL;
    assert_ok(sinew_linear_create(rig, &linear, &error));
    assert_ok(sn_gpu_linear_create(gpu, rig, FRAMES, &device, &error));
    double *weights = malloc(sizeof(double) * sliders * FRAMES);
    double *expected = malloc(sizeof(double) * n);
    float *found = malloc(sizeof(float) * n * FRAMES);
    for (int f = 0; f < FRAMES; f++) set_weights(rig, 0.25 * f, weights + (size_t)f * sliders);
    assert_ok(sn_gpu_linear_evaluate(device, FRAMES, weights, found, &error));
    for (int f = 0; f < FRAMES; f++) {
        sinew_linear_evaluate(linear, weights + (size_t)f * sliders, expected);
        for (size_t k = 0; k < n; k++)
            assert_close((double)found[(size_t)f * n + k], expected[k],
                         1e-6 * (1 + fabs(expected[k])));
    }
    free(weights), free(expected), free(found);
    sn_gpu_linear_destroy(device), sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
    sn_gpu_close(gpu);
}

/* ---- rotation ---- */

static void check_rotation(const char *name, int vertices) {
    sinew_error error = {0};
    sn_gpu *gpu = open_device();
    sinew_rig *rig = sample_rig(name, vertices);
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    sinew_rotation *rotation = NULL;
    sinew_rotation_state *state = NULL;
    sn_gpu_rotation *device = NULL;
    assert_ok(sinew_rotation_create(rig, NULL, NULL, &rotation, &error));
    assert_ok(sinew_rotation_state_create(rotation, &state, &error));
    assert_ok(sn_gpu_rotation_create(gpu, rotation, &device, &error));
    double *weights = malloc(sizeof(double) * (size_t)rig->slider_count);
    double *expected = calloc(n, sizeof(double)), *found = calloc(n, sizeof(double));
    double *again = calloc(n, sizeof(double));
    for (double share = 0; share < 1.4; share += 0.65) {
        set_weights(rig, share, weights);
        sinew_rotation_evaluate(rotation, state, weights, expected);
        assert_ok(sn_gpu_rotation_evaluate(device, weights, found, &error));
        assert_below(farthest(rig, expected, found), 1e-9);
        assert_ok(sn_gpu_rotation_evaluate(device, weights, again, &error));
        assert_memory_equal(found, again, n * sizeof(double));
    }
    free(weights), free(expected), free(found), free(again);
    sn_gpu_rotation_destroy(device);
    sinew_rotation_state_destroy(state), sinew_rotation_destroy(rotation);
    sinew_rig_destroy(rig);
    sn_gpu_close(gpu);
}

static void rotation_frames_agree(void **unused) {
    (void)unused;
    check_rotation("bar", 1000);
    check_rotation("hand", 3000); /* more than one level of the dissection */
    check_rotation("face", 1500); /* parts, links, combinations, vertices at rest */
}

/* ---- spring ---- */

typedef struct springs {
    sn_gpu *gpu;
    const sinew_rig *rig;
    sinew_spring *spring;
    sinew_spring_state *state;
    sn_gpu_spring *device;
    double *weights, *expected, *found;
} springs;

static springs springs_start(const sinew_rig *rig, const sinew_spring_options *options) {
    sinew_error error = {0};
    springs s = {.gpu = open_device(), .rig = rig};
    assert_ok(sinew_spring_create(rig, options, NULL, &s.spring, &error));
    assert_ok(sinew_spring_state_create(s.spring, &s.state, &error));
    assert_ok(sn_gpu_spring_create(s.gpu, s.spring, &s.device, &error));
    size_t size = 3 * sizeof(double) * (size_t)rig->neutral->vertex_count;
    s.weights = calloc((size_t)rig->slider_count + 1, sizeof(double));
    s.expected = malloc(size), s.found = malloc(size);
    return s;
}

static void springs_finish(springs *s) {
    sn_gpu_spring_destroy(s->device);
    sinew_spring_state_destroy(s->state), sinew_spring_destroy(s->spring);
    sn_gpu_close(s->gpu);
    free(s->weights), free(s->expected), free(s->found);
}

/* Both solvers on one frame, to the same tolerance; how far they differ. */
static double compare(springs *s, sinew_spring_frame *frame, sinew_spring_frame_info *device) {
    sinew_error error = {0};
    sinew_spring_frame_info cpu = {.size = sizeof cpu};
    frame->size = sizeof *frame, frame->weights = s->weights, frame->index = -1;
    device->size = sizeof *device;
    assert_null(sn_gpu_spring_refuses(s->device, frame));
    assert_ok(sinew_spring_solve(s->spring, s->state, frame, s->expected, &cpu, NULL, &error));
    assert_ok(sn_gpu_spring_solve(s->device, s->state, frame, s->found, device, NULL, &error));
    /* about as many steps; another preconditioner, whose inner steps cost less */
    assert_in_range(device->iterations, cpu.iterations / 2, 2 * cpu.iterations + 2);
    assert_in_range(device->inner_iterations, 0, 6 * cpu.inner_iterations + 10);
    assert_int_equal(cpu.clamped, device->clamped);
    assert_int_equal(cpu.inverted, device->inverted);
    assert_int_equal(cpu.new_inverted, device->new_inverted);
    assert_close(device->energy, cpu.energy, 1e-6 * fabs(cpu.energy) + 1e-12);
    return farthest(s->rig, s->expected, s->found);
}

static void check_sample(const char *name, int vertices, double share,
                         const sinew_spring_options *options) {
    sinew_rig *rig = sample_rig(name, vertices);
    springs s = springs_start(rig, options);
    sinew_spring_frame frame = {0};
    sinew_spring_frame_info info;
    set_weights(rig, share, s.weights);
    assert_below(compare(&s, &frame, &info), 1e-5);
    assert_true(info.iterations > 0);
    springs_finish(&s);
    sinew_rig_destroy(rig);
}

static void spring_frames_agree(void **unused) {
    (void)unused;
    check_sample("bar", 1000, 0.5, NULL);
    check_sample("hand", 4000, 0.6, NULL); /* more than one level of the dissection */
    check_sample("face", 1500, 0.7, NULL);
}

static void springs_without_directions_agree(void **unused) {
    (void)unused;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.guide = options.altitude = 0, options.pull_to_blend = 0.01;
    check_sample("bar", 1000, 0.3, &options);
}

/* Large networks have another level of clusters, and tables in half precision. */
static void large_networks_agree(void **unused) {
    (void)unused;
    sn_gpu_spring_treat_as_large(true);
    spring_frames_agree(unused);
    springs_without_directions_agree(unused);
    sn_gpu_spring_treat_as_large(false);
}

/* Parts of the problem stay in device memory. */
static void networks_that_do_not_fit_agree(void **unused) {
    (void)unused;
    if (!on_host()) skip();
    static const char *const sizes[] = {"56000", "64000", "80000", "120000"};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        setenv("SINEW_GPU_SHARED", sizes[k], 1);
        check_sample("hand", 3000, 0.6, NULL);
        sn_gpu_spring_treat_as_large(true);
        check_sample("hand", 3000, 0.6, NULL);
        sn_gpu_spring_treat_as_large(false);
        unsetenv("SINEW_GPU_SHARED");
    }
}

/* A bar of tets, bent by 120 degrees in its only pose. */
typedef struct solid {
    test_block block;
    sinew_rig *rig;
    sinew_spring_options options;
} solid;

static void solid_create(solid *b) {
    enum { CELLS = 12 };
    sinew_error error = {0};
    *b = (solid){0};
    test_block_create(CELLS, 2, 2, &b->block);
    sinew_mesh *neutral = NULL;
    assert_ok(sinew_mesh_copy(b->block.mesh, &neutral, &error));
    assert_ok(sinew_rig_create(neutral, &b->rig, &error));
    double *pose = malloc(3 * sizeof(double) * (size_t)neutral->vertex_count);
    test_bend(neutral->vertex_count, neutral->positions, CELLS, 2 * M_PI / 3, pose);
    assert_ok(sinew_rig_add_pose(b->rig, "bend", pose, &error));
    free(pose);
    sinew_spring_options_init(&b->options);
    b->options.tets = &b->block.tets;
    b->options.tolerance = 1e-8;
}

static void solid_free(solid *b) {
    sinew_rig_destroy(b->rig);
    test_block_free(&b->block);
}

static void volumes_agree(void **unused) {
    (void)unused;
    solid b;
    solid_create(&b);
    springs s = springs_start(b.rig, &b.options);
    sinew_spring_frame frame = {0};
    sinew_spring_frame_info info;
    s.weights[0] = 0.5;
    assert_below(compare(&s, &frame, &info), 1e-7);
    assert_true(info.iterations > 1);
    springs_finish(&s);
    solid_free(&b);
}

static void large_networks_with_volumes_agree(void **unused) {
    sn_gpu_spring_treat_as_large(true);
    volumes_agree(unused);
    sn_gpu_spring_treat_as_large(false);
}

/* Pins at one end, moved; a soft and a hard pull; gravity: all at once. */
static void pins_pulls_and_forces_agree(void **unused) {
    (void)unused;
    solid b;
    solid_create(&b);
    const sinew_mesh *mesh = b.rig->neutral;
    int n = mesh->vertex_count, pins[64], pin_count = 0, far_end = 0;
    for (int v = 0; v < n; v++) {
        if (mesh->positions[3 * v] < 0.5) pins[pin_count++] = v;
        if (mesh->positions[3 * v] > mesh->positions[3 * far_end]) far_end = v;
    }
    b.options.boundary = SINEW_SPRING_BOUNDARY_PINNED;
    b.options.pins = pins, b.options.pin_count = pin_count;
    springs s = springs_start(b.rig, &b.options);
    double places[3 * 64], *forces = calloc(3 * (size_t)n, sizeof(double));
    for (int k = 0; k < pin_count; k++)
        for (int c = 0; c < 3; c++)
            places[3 * k + c] = mesh->positions[3 * pins[k] + c] + (c == 1 ? 0.2 : 0);
    for (int v = 0; v < n; v++) forces[3 * v + 1] = -1e-3;
    s.weights[0] = 0.4;
    sinew_spring_frame frame = {0};
    sinew_spring_frame_info info;
    assert_below(compare(&s, &frame, &info), 1e-7); /* pins on the linear blend */
    sinew_spring_pull pulls[2] = {{.vertex = far_end, .stiffness = 0.7},
                                  {.vertex = far_end / 2 + 1, .stiffness = INFINITY}};
    for (int k = 0; k < 2; k++)
        for (int c = 0; c < 3; c++)
            pulls[k].position[c] = s.expected[3 * pulls[k].vertex + c] + 0.1 * (c + 1);
    frame.pin_positions = places, frame.forces = forces;
    frame.pulls = pulls, frame.pull_count = 2;
    assert_below(compare(&s, &frame, &info), 1e-7);
    for (int c = 0; c < 3; c++) {
        assert_close(s.found[3 * pulls[1].vertex + c], pulls[1].position[c], 1e-12);
        assert_close(s.found[3 * pins[0] + c], places[c], 1e-12);
    }
    free(forces);
    springs_finish(&s);
    solid_free(&b);
}

/* A batch against frames one by one; frames keep their bits whatever lies beside them. */
static void check_batch(springs *s, int count, sinew_spring_frame *frames, double most) {
    enum { MOST = 16, REST = 2 };
    sinew_error error = {0};
    size_t n = 3 * (size_t)s->rig->neutral->vertex_count;
    double *positions[MOST], *again[MOST];
    sinew_spring_frame_info infos[MOST], others[MOST];
    assert_in_range(count, REST + 1, MOST);
    assert_true(sn_gpu_spring_batch_size(s->device) > 1);
    for (int f = 0; f < count; f++) {
        positions[f] = malloc(n * sizeof(double)), again[f] = malloc(n * sizeof(double));
        infos[f].size = others[f].size = sizeof *infos;
    }
    assert_ok(sn_gpu_spring_solve_batch(s->device, s->state, count, frames, positions, infos, NULL,
                                        &error));
    assert_ok(sn_gpu_spring_solve_batch(s->device, s->state, count - REST, frames + REST, again,
                                        others, NULL, &error));
    for (int f = 0; f < count; f++) {
        sinew_spring_frame_info info = {.size = sizeof info};
        assert_ok(
            sn_gpu_spring_solve(s->device, s->state, &frames[f], s->found, &info, NULL, &error));
        assert_below(farthest(s->rig, positions[f], s->found), most);
        assert_int_equal(infos[f].status, SINEW_OK);
        assert_in_range(infos[f].iterations, info.iterations / 2, 2 * info.iterations + 2);
        assert_int_equal(infos[f].clamped, info.clamped);
        assert_int_equal(infos[f].inverted, info.inverted);
        assert_int_equal(infos[f].flipped, info.flipped);
        assert_close(infos[f].energy, info.energy, 1e-6 * fabs(info.energy) + 1e-12);
        if (f >= REST) assert_memory_equal(positions[f], again[f - REST], n * sizeof(double));
    }
    for (int f = 0; f < count; f++) free(positions[f]), free(again[f]);
}

static void check_batch_of(const char *name, int vertices, double tolerance, double most) {
    enum { FRAMES = 7 };
    sinew_rig *rig = sample_rig(name, vertices);
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.tolerance = tolerance;
    springs s = springs_start(rig, &options);
    double *weights = calloc((size_t)rig->slider_count * FRAMES, sizeof(double));
    sinew_spring_frame frames[FRAMES] = {0};
    for (int f = 0; f < FRAMES; f++) {
        double *w = weights + (size_t)f * (size_t)rig->slider_count;
        set_weights(rig, 0.15 * f, w);
        frames[f] = (sinew_spring_frame){.size = sizeof *frames, .weights = w, .index = f};
    }
    check_batch(&s, FRAMES, frames, most);
    free(weights);
    springs_finish(&s);
    sinew_rig_destroy(rig);
}

static void batches_give_the_frames_one_by_one(void **unused) {
    (void)unused;
    check_batch_of("bar", 1000, 1e-4, 1e-5);
    check_batch_of("hand", 3000, 1e-7, 1e-7); /* more than one level of the dissection */
    check_batch_of("face", 1500, 1e-7, 1e-7); /* parts, vertices at rest */
}

/* Volumes, pins that are moved, pulls and forces, each in some frames only. */
static void batches_of_all_that_frames_ask_for_agree(void **unused) {
    (void)unused;
    enum { FRAMES = 5 };
    solid b;
    solid_create(&b);
    const sinew_mesh *mesh = b.rig->neutral;
    int n = mesh->vertex_count, pins[64], pin_count = 0, far_end = 0;
    for (int v = 0; v < n; v++) {
        if (mesh->positions[3 * v] < 0.5) pins[pin_count++] = v;
        if (mesh->positions[3 * v] > mesh->positions[3 * far_end]) far_end = v;
    }
    b.options.boundary = SINEW_SPRING_BOUNDARY_PINNED;
    b.options.pins = pins, b.options.pin_count = pin_count;
    springs s = springs_start(b.rig, &b.options);
    double places[3 * 64], *forces = calloc(3 * (size_t)n, sizeof(double)), weights[FRAMES];
    for (int k = 0; k < pin_count; k++)
        for (int c = 0; c < 3; c++)
            places[3 * k + c] = mesh->positions[3 * pins[k] + c] + (c == 1 ? 0.2 : 0);
    for (int v = 0; v < n; v++) forces[3 * v + 1] = -1e-3;
    sinew_spring_pull pulls[2] = {{.vertex = far_end, .stiffness = 0.7},
                                  {.vertex = far_end / 2 + 1, .stiffness = INFINITY}};
    for (int k = 0; k < 2; k++)
        for (int c = 0; c < 3; c++)
            pulls[k].position[c] = mesh->positions[3 * pulls[k].vertex + c] + 0.1 * (c + 1);
    sinew_spring_frame frames[FRAMES];
    for (int f = 0; f < FRAMES; f++) {
        weights[f] = 0.1 * f;
        frames[f] =
            (sinew_spring_frame){.size = sizeof *frames, .weights = &weights[f], .index = f};
        if (f % 2) frames[f].pin_positions = places;
        if (f > 1) frames[f].forces = forces;
        if (f > 2) frames[f].pulls = pulls, frames[f].pull_count = 2;
    }
    check_batch(&s, FRAMES, frames, 1e-7);
    free(forces);
    springs_finish(&s);
    solid_free(&b);
}

static bool at_once(void *user) {
    (void)user;
    return true;
}

/* In the middle of a solve that would go on for long. */
static void a_cancelled_frame_ends_soon(void **unused) {
    (void)unused;
    if (on_host()) skip(); /* a launch on the host is over before anyone waits for it */
    sinew_error error = {0};
    sinew_rig *rig = sample_rig("bar", 1000);
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.tolerance = 1e-14, options.max_iterations = 1000000, options.time_limit = 1e9;
    springs s = springs_start(rig, &options);
    sinew_spring_frame frame = {.size = sizeof frame, .weights = s.weights, .index = -1};
    sinew_spring_frame_info info = {.size = sizeof info};
    sinew_monitor monitor = {.cancelled = at_once};
    double *positions[1] = {s.found};
    set_weights(rig, 0.7, s.weights);
    assert_int_equal(
        sn_gpu_spring_solve(s.device, s.state, &frame, s.found, &info, &monitor, &error),
        SINEW_CANCELLED);
    assert_int_equal(
        sn_gpu_spring_solve_batch(s.device, s.state, 1, &frame, positions, &info, &monitor, &error),
        SINEW_CANCELLED);
    springs_finish(&s);
    sinew_rig_destroy(rig);
}

int test_frames(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_frames_agree),
        cmocka_unit_test(rotation_frames_agree),
        cmocka_unit_test(spring_frames_agree),
        cmocka_unit_test(springs_without_directions_agree),
        cmocka_unit_test(large_networks_agree),
        cmocka_unit_test(networks_that_do_not_fit_agree),
        cmocka_unit_test(volumes_agree),
        cmocka_unit_test(large_networks_with_volumes_agree),
        cmocka_unit_test(pins_pulls_and_forces_agree),
        cmocka_unit_test(batches_give_the_frames_one_by_one),
        cmocka_unit_test(batches_of_all_that_frames_ask_for_agree),
        cmocka_unit_test(a_cancelled_frame_ends_soon),
    };
    return cmocka_run_group_tests_name("gpu frames", tests, NULL, NULL);
}
