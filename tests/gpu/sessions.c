/* The parameter `device` of scenes, and the command's option. */
#include "support.h"

#include <jansson.h>

#include <sys/wait.h>

#include "groups.h"
#include "rigs.h"
#include "sinew/job.h"
#include "sinew/scene.h"
#include "sinew/session.h"

typedef struct log_lines {
    int count;
    char last[512];
} log_lines;

static void keep_line(sinew_log_level level, const char *message, void *user) {
    log_lines *lines = user;
    if (level < SINEW_LOG_LEVEL_WARNING) return;
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", message);
}

static bool at_once(void *user) {
    (void)user;
    return true;
}

/* One frame of a scene on the rig. */
static sinew_status solve_scene(const char *text, const sinew_rig *rig, double *positions,
                                log_lines *lines, sinew_error *error) {
    sinew_scene *scene = NULL;
    sinew_session *session = NULL;
    sinew_session_options options;
    sinew_monitor monitor = {.log = keep_line, .user = lines};
    sinew_session_options_init(&options);
    options.rig = rig;
    assert_int_equal(sinew_scene_parse(text, "test", NULL, &scene, error), SINEW_OK);
    assert_int_equal(sinew_session_create(scene, &options, &session, error), SINEW_OK);
    sinew_result result;
    sinew_result_init(&result);
    result.positions = positions;
    sinew_status status = sinew_session_solve(session, NULL, &result, &monitor, error);
    sinew_session_destroy(session);
    sinew_scene_destroy(scene);
    return status;
}

#define SCENE(model, device, more)                                                                 \
    "{\"sinew\": 1, \"model\": \"" model "\", \"weights\": {\"bend120\": 0.6}, "                   \
    "\"parameters\": {\"device\": \"" device "\"}" more "}"

static void scenes_choose_the_device(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = sample_rig("bar", 1000);
    size_t size = 3 * sizeof(double) * (size_t)rig->neutral->vertex_count;
    double *cpu = malloc(size), *gpu = malloc(size);
    log_lines lines = {0};
    assert_ok(solve_scene(SCENE("spring", "cpu", ""), rig, cpu, &lines, &error));
    assert_ok(solve_scene(SCENE("spring", "gpu", ""), rig, gpu, &lines, &error));
    assert_memory_not_equal(cpu, gpu, size); /* it did run elsewhere */
    assert_below(farthest(rig, cpu, gpu), 1e-6);
    assert_ok(solve_scene(SCENE("rotation", "cpu", ""), rig, cpu, &lines, &error));
    assert_ok(solve_scene(SCENE("rotation", "auto", ""), rig, gpu, &lines, &error));
    assert_below(farthest(rig, cpu, gpu), 1e-9);
    assert_int_equal(lines.count, 0);
    free(cpu), free(gpu);
    sinew_rig_destroy(rig);
}

/* Frames of a modal clip through a session, before and after its motion changes. */
static void modal_scenes_choose_the_device(void **state) {
    (void)state;
    enum { TIMES = 3 };
    sinew_error error = {0};
    sinew_rig *rig = sample_rig("bar", 1000);
    size_t size = 3 * sizeof(double) * (size_t)rig->neutral->vertex_count;
    double *frames[2][2 * TIMES];
    for (int gpu = 0; gpu < 2; gpu++) {
        char text[400];
        snprintf(text, sizeof text,
                 "{\"sinew\": 1, \"model\": \"modal\", \"keys\": [{\"time\": 0, "
                 "\"weights\": {}}, {\"time\": 1, \"weights\": {\"bend120\": 0.6}}], "
                 "\"parameters\": {\"modes\": 6, \"body\": \"cage\", \"cells\": 12, "
                 "\"device\": \"%s\"}}",
                 gpu ? "gpu" : "cpu");
        log_lines lines = {0};
        sinew_scene *scene = NULL;
        sinew_session *session = NULL;
        sinew_session_options options;
        sinew_monitor monitor = {.log = keep_line, .user = &lines};
        sinew_session_options_init(&options);
        options.rig = rig;
        assert_ok(sinew_scene_parse(text, "test", NULL, &scene, &error));
        assert_ok(sinew_session_create(scene, &options, &session, &error));
        for (int k = 0; k < 2 * TIMES; k++) {
            if (k == TIMES)
                assert_ok(sinew_session_patch(session,
                                              "[{\"op\": \"add\", \"path\": "
                                              "\"/keys/1/weights/bend120\", \"value\": 0.9}]",
                                              NULL, NULL, &error));
            sinew_input input;
            sinew_input_init(&input);
            input.time = 0.3 + 0.4 * (k % TIMES);
            sinew_result result;
            sinew_result_init(&result);
            result.positions = frames[gpu][k] = malloc(size);
            assert_ok(sinew_session_solve(session, &input, &result, &monitor, &error));
        }
        assert_int_equal(lines.count, 0);
        sinew_session_destroy(session);
        sinew_scene_destroy(scene);
    }
    for (int k = 0; k < 2 * TIMES; k++) {
        assert_memory_not_equal(frames[0][k], frames[1][k], size); /* it did run elsewhere */
        assert_below(farthest(rig, frames[0][k], frames[1][k]), 1e-5);
        free(frames[0][k]), free(frames[1][k]);
    }
    sinew_rig_destroy(rig);
}

static void frames_with_obstacles_go_to_the_processor(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = sample_rig("bar", 1000);
    size_t size = 3 * sizeof(double) * (size_t)rig->neutral->vertex_count;
    double *cpu = malloc(size), *gpu = malloc(size);
    log_lines lines = {0};
#define WALL                                                                                       \
    ", \"obstacles\": [{\"shape\": \"plane\", \"point\": [0, -90, 0], \"normal\": [0, 1, 0]}]"
    assert_ok(solve_scene(SCENE("spring", "cpu", WALL), rig, cpu, &lines, &error));
    assert_int_equal(lines.count, 0);
    assert_ok(solve_scene(SCENE("spring", "gpu", WALL), rig, gpu, &lines, &error));
    assert_memory_equal(cpu, gpu, size);
    assert_int_equal(lines.count, 1);
    assert_non_null(strstr(lines.last, "obstacles"));
    free(cpu), free(gpu);
    sinew_rig_destroy(rig);
}

static void a_missing_device_is_an_error_or_a_warning(void **state) {
    (void)state;
    sinew_error error = {0};
    const char *library = getenv("SINEW_GPU_LIBRARY");
    char *before = strdup(library ? library : "");
    sinew_rig *rig = sample_rig("bar", 1000);
    double *positions = malloc(3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    log_lines lines = {0};
    setenv("SINEW_GPU_LIBRARY", "libno-such-device.so", 1);
    assert_int_equal(solve_scene(SCENE("spring", "gpu", ""), rig, positions, &lines, &error),
                     SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "libno-such-device.so"));
    assert_ok(solve_scene(SCENE("spring", "auto", ""), rig, positions, &lines, &error));
    assert_int_equal(lines.count, 1);
    assert_non_null(strstr(lines.last, "solved on the CPU"));
    const char *command = getenv("SINEW_COMMAND");
    if (command) {
        char line[1024];
        for (int choice = 0; choice < 2; choice++) {
            snprintf(line, sizeof line,
                     "%s blend --sample bar --vertices 1000 --model rotation --weights bend120=0.5 "
                     "--device %s --out %s/shape.obj > %s/log 2>&1",
                     command, choice ? "auto" : "gpu", test_folder(), test_folder());
            assert_int_equal(WEXITSTATUS(system(line)), choice ? 0 : 4);
        }
    }
    setenv("SINEW_GPU_LIBRARY", before, 1);
    free(before), free(positions);
    sinew_rig_destroy(rig);
}

static void a_device_that_is_lost_leaves_the_frame_to_the_processor(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = sample_rig("bar", 1000);
    size_t size = 3 * sizeof(double) * (size_t)rig->neutral->vertex_count;
    double *cpu = malloc(size), *gpu = malloc(size);
    log_lines lines = {0};
    assert_ok(solve_scene(SCENE("rotation", "cpu", ""), rig, cpu, &lines, &error));
    setenv("SINEW_GPU_FAIL", "launch", 1);
    sinew_status status = solve_scene(SCENE("rotation", "gpu", ""), rig, gpu, &lines, &error);
    unsetenv("SINEW_GPU_FAIL");
    assert_int_equal(status, SINEW_OK);
    if (lines.count) { /* the host's library alone knows how to fail */
        assert_memory_equal(cpu, gpu, size);
        assert_non_null(strstr(lines.last, "failed as the test asked"));
    }
    free(cpu), free(gpu);
    sinew_rig_destroy(rig);
}

/* The total of a job: `failure` is what the host's library is told to fail at, or "". */
static int handed_over(const char *command, const char *model, int steps, const char *failure) {
    char line[1024], path[512];
    snprintf(path, sizeof path, "%s/report.json", test_folder());
    snprintf(line, sizeof line,
             "SINEW_GPU_FAIL=%s %s blend --sample bar --vertices 1000 --model %s "
             "--weights bend120=0.5 --steps %d --device auto --out %s/clip.pc2 --report %s "
             "> %s/log 2>&1",
             failure, command, model, steps, test_folder(), path, test_folder());
    assert_int_equal(WEXITSTATUS(system(line)), 0);
    json_t *report = json_load_file(path, 0, NULL);
    json_t *count = json_object_get(json_object_get(report, "totals"), "solved_on_cpu");
    assert_true(json_is_integer(count));
    int found = (int)json_integer_value(count);
    json_decref(report);
    return found;
}

static void frames_that_are_handed_over_are_counted(void **state) {
    (void)state;
    const char *command = getenv("SINEW_COMMAND");
    if (!command) skip();
    assert_int_equal(handed_over(command, "rotation", 3, ""), 0);
    assert_int_equal(handed_over(command, "spring", 20, ""), 0); /* a batch */
    /* what the device does not support, also in a batch */
    assert_int_equal(handed_over(command, "spring --orient region:end=0,0,30", 20, ""), 21);
    if (!on_host()) return; /* a device does not fail on request */
    assert_int_equal(handed_over(command, "rotation", 3, "launch"), 4);
    assert_int_equal(handed_over(command, "rotation", 3, "finish"), 4);
    assert_int_equal(handed_over(command, "spring", 20, "launch"), 21);
    assert_int_equal(handed_over(command, "spring", 20, "finish"), 21);
}

/* ---- clips ---- */

enum { CLIP = 21 };

/* Frames first..last of a clip by a job, as floats. */
static float *run_clip(const char *device, int first, int last, size_t *count, bool cancel) {
    char text[512], path[512];
    sinew_error error = {0};
    sinew_scene *scene;
    sinew_job *job;
    snprintf(text, sizeof text,
             "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 1000}, \"model\": "
             "\"spring\", \"weights\": {\"bend120\": 0.8}, \"steps\": %d, \"parameters\": "
             "{\"device\": \"%s\", \"independent\": true, \"tolerance\": 1e-7}, \"outputs\": "
             "{\"frames\": [\"clip.pc2\"]}}",
             CLIP - 1, device);
    snprintf(path, sizeof path, "%s/clip.pc2", test_folder());
    remove(path);
    assert_ok(sinew_scene_parse(text, "s.json", test_folder(), &scene, &error));
    assert_ok(sinew_job_create(scene, NULL, &job, &error));
    sinew_monitor monitor = {.cancelled = cancel ? at_once : NULL};
    sinew_status status = sinew_job_run(job, first, last, &monitor, &error);
    assert_int_equal(status, cancel ? SINEW_CANCELLED : SINEW_OK);
    *count = 3 * (size_t)sinew_job_rig(job)->neutral->vertex_count;
    sinew_job_destroy(job);
    sinew_scene_destroy(scene);
    FILE *file = fopen(path, "rb");
    if (cancel) {
        assert_null(file); /* nothing half-written */
        return NULL;
    }
    assert_non_null(file);
    size_t wanted = *count * (size_t)(last - first + 1);
    float *values = malloc(wanted * sizeof *values);
    assert_int_equal(fseek(file, 32, SEEK_SET), 0); /* the header of the format */
    assert_int_equal(fread(values, sizeof *values, wanted, file), wanted);
    fclose(file);
    return values;
}

static void clips_are_solved_in_batches(void **state) {
    (void)state;
    size_t n;
    float *cpu = run_clip("cpu", 0, CLIP - 1, &n, false);
    float *gpu = run_clip("gpu", 0, CLIP - 1, &n, false);
    float *part = run_clip("gpu", 6, CLIP - 1, &n, false);
    double worst = 0, size = 0;
    for (size_t k = 0; k < n * CLIP; k++) {
        worst = fmax(worst, fabs((double)cpu[k] - (double)gpu[k]));
        size = fmax(size, fabs((double)cpu[k]));
    }
    assert_below(worst, 1e-6 * size);
    assert_memory_equal(part, gpu + 6 * n, (CLIP - 6) * n * sizeof *gpu); /* farms run parts */
    assert_null(run_clip("gpu", 0, CLIP - 1, &n, true));
    free(cpu), free(gpu), free(part);
}

int test_sessions(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes_choose_the_device),
        cmocka_unit_test(modal_scenes_choose_the_device),
        cmocka_unit_test(frames_with_obstacles_go_to_the_processor),
        cmocka_unit_test(a_missing_device_is_an_error_or_a_warning),
        cmocka_unit_test(a_device_that_is_lost_leaves_the_frame_to_the_processor),
        cmocka_unit_test(frames_that_are_handed_over_are_counted),
        cmocka_unit_test(clips_are_solved_in_batches),
    };
    return cmocka_run_group_tests_name("gpu sessions", tests, NULL, NULL);
}
