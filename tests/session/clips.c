/* Clips on several threads: frames are claimed one by one and handed over in order. */
#include "support.h"

#include <jansson.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "groups.h"
#include "scenes.h"

static sinew_error error;

/* Frames that are independent, in runs, and one after the other. */
static const char *const clips[] = {"linear", "rotation", "spring", "friction", "modal",
                                    "jiggle", "force",    "layer",  "apart"};
enum { CLIPS = sizeof clips / sizeof *clips, FRAMES = 41 };

static sinew_job *job_of(const char *name) {
    sinew_session *session = test_session(name);
    sinew_scene *scene;
    sinew_job *job;
    assert_ok(sinew_session_set(session, "/outputs", "{\"frames\": [\"claimed.pc2\"]}", NULL, NULL,
                                &error));
    assert_ok(sinew_session_scene(session, &scene, &error));
    assert_ok(sinew_job_create(scene, NULL, &job, &error));
    sinew_scene_destroy(scene);
    sinew_session_destroy(session);
    return job;
}

static sinew_frames *run(sinew_job *job, const sinew_monitor *monitor) {
    sinew_frames *frames;
    sinew_status status = sinew_job_run(job, 0, -1, monitor, &error);
    if (status != SINEW_NOT_CONVERGED) assert_ok(status);
    char *path = sn_path_join(test_folder(), "claimed.pc2");
    assert_ok(sinew_frames_read(path, &frames, &error));
    sn_free(path);
    return frames;
}

static void check_same(const sinew_frames *a, const sinew_frames *b) {
    assert_int_equal(a->frame_count, b->frame_count);
    assert_memory_equal(a->positions, b->positions,
                        3 * (size_t)a->vertex_count * (size_t)a->frame_count * sizeof(float));
}

/* Progress is that of frames which were handed over: it grows up to 1. */
static void note_progress(double fraction, const char *stage, void *user) {
    double *last = user;
    if (strcmp(stage, "frames") != 0) return;
    assert_true(fraction >= *last);
    *last = fraction;
}

static void clips_have_the_same_bits_on_any_number_of_threads(void **state) {
    (void)state;
    static const int threads[] = {2, 3, 8, 33};
    for (int c = 0; c < CLIPS; c++) {
        sinew_set_threads(1);
        sinew_job *job = job_of(clips[c]);
        sinew_frames *whole = run(job, NULL);
        assert_int_equal(whole->frame_count, FRAMES);
        for (unsigned k = 0; k < sizeof threads / sizeof *threads; k++) {
            double last = 0;
            sinew_monitor monitor = {.progress = note_progress, .user = &last};
            sinew_set_threads(threads[k]);
            sinew_frames *frames = run(job, &monitor);
            check_same(whole, frames);
            assert_close(last, 1, 1e-12);
            sinew_frames_destroy(frames);
        }
        sinew_frames_destroy(whole);
        sinew_job_destroy(job);
    }
    sinew_set_threads(0);
}

static void backwards(void *user, int count, sinew_task *task, void *data) {
    (void)user;
    for (int i = count - 1; i >= 0; i--) task(data, i);
}

static void hosts_run_the_frames_of_a_clip_on_their_own_tasks(void **state) {
    (void)state;
    const sinew_task_system host = {.size = sizeof host, .workers = 4, .parallel_for = backwards};
    for (int c = 0; c < CLIPS; c++) {
        sinew_job *job = job_of(clips[c]);
        sinew_frames *whole = run(job, NULL);
        assert_ok(sinew_set_task_system(&host, &error));
        sinew_frames *frames = run(job, NULL);
        assert_ok(sinew_set_task_system(NULL, &error));
        check_same(whole, frames);
        sinew_frames_destroy(frames), sinew_frames_destroy(whole);
        sinew_job_destroy(job);
    }
}

/* Cancels once a frame has been handed over. */
typedef struct canceller {
    bool noted;
} canceller;

static void note_frame(double fraction, const char *stage, void *user) {
    if (fraction > 0 && strcmp(stage, "frames") == 0) ((canceller *)user)->noted = true;
}

static bool was_noted(void *user) {
    return ((const canceller *)user)->noted;
}

static void cancelled_clips_leave_the_job_as_it_was(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 8};
    for (int c = 0; c < CLIPS; c++) {
        sinew_job *job = job_of(clips[c]);
        sinew_frames *whole = run(job, NULL);
        char *path = sn_path_join(test_folder(), "claimed.pc2");
        for (unsigned k = 0; k < sizeof threads / sizeof *threads; k++) {
            canceller user = {false};
            sinew_monitor monitor = {.progress = note_frame, .cancelled = was_noted, .user = &user};
            sinew_set_threads(threads[k]);
            assert_int_equal(unlink(path), 0);
            assert_int_equal(sinew_job_run(job, 0, -1, &monitor, &error), SINEW_CANCELLED);
            assert_non_null(strstr(error.message, "cancelled at frame "));
            assert_true(user.noted);
            assert_int_not_equal(access(path, F_OK), 0);
            sinew_frames *frames = run(job, NULL);
            check_same(whole, frames);
            sinew_frames_destroy(frames);
        }
        sn_free(path);
        sinew_frames_destroy(whole);
        sinew_job_destroy(job);
    }
    sinew_set_threads(0);
}

static void frames_are_reported_in_order_with_what_handing_them_over_cost(void **state) {
    (void)state;
    sinew_set_threads(3);
    sinew_job *job = job_of(clips[1]);
    sinew_frames_destroy(run(job, NULL));
    char *text;
    assert_ok(sinew_job_report(job, &text, &error));
    json_t *report = json_loads(text, 0, NULL), *frames = json_object_get(report, "frames");
    assert_int_equal(json_array_size(frames), FRAMES);
    for (size_t k = 0; k < FRAMES; k++)
        assert_close(json_number_value(json_object_get(json_array_get(frames, k), "time")),
                     (double)k / 30, 1e-9);
    const json_t *cost = json_object_get(json_object_get(report, "totals"), "output_cpu_ms");
    assert_true(json_is_real(cost) && json_real_value(cost) >= 0);
    json_decref(report);
    sinew_free(text);
    sinew_job_destroy(job);
    sinew_set_threads(0);
}

int test_clips(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clips_have_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(hosts_run_the_frames_of_a_clip_on_their_own_tasks),
        cmocka_unit_test(cancelled_clips_leave_the_job_as_it_was),
        cmocka_unit_test(frames_are_reported_in_order_with_what_handing_them_over_cost),
    };
    return cmocka_run_group_tests_name("clips", tests, NULL, NULL);
}
