/* Locks of a scene: the weights they leave drive every model, and the corrective acts on frames. */
#include "support.h"

#include "base/memory.h"
#include "groups.h"
#include "sinew/sinew.h"

static sinew_error error;

#define RIG                                                                                        \
    "{\"sinew\": 1, \"rig\": {\"sample\": \"arm\", \"vertices\": 1000}, \"time\": {\"fps\": 5}, "
#define TAKE "\"curves\": {\"times\": [0, 0.6], \"values\": {\"elbow90\": [0, 1]}}, "
#define LOCK "\"locks\": [{\"name\": \"cuff\", \"select\": \"v:300-320\"}], "

static sinew_job *job_of(const char *text) {
    sinew_scene *scene;
    sinew_job *job;
    assert_ok(sinew_scene_parse(text, "s.json", test_folder(), &scene, &error));
    assert_ok(sinew_job_create(scene, NULL, &job, &error));
    sinew_scene_destroy(scene);
    return job;
}

static sinew_job *locked_job(const char *model, const char *more) {
    char text[1024];
    snprintf(text, sizeof text,
             RIG TAKE LOCK "\"model\": \"%s\", \"attenuation\": {\"strength\": 20%s}}", model,
             more);
    return job_of(text);
}

static double *frame_of(sinew_job *job, int frame) {
    double *positions = SN_NEW(double, 3 * (size_t)sinew_job_rig(job)->neutral->vertex_count);
    assert_ok(sinew_job_frame(job, frame, positions, NULL, NULL, &error));
    return positions;
}

/* The same scene without locks, whose curves are the weights that the locks left. */
static sinew_job *job_of_weights(const sinew_job *locked, const char *model) {
    const sinew_rig *rig = sinew_job_rig(locked);
    int frames = sinew_job_frame_count(locked);
    char text[8192];
    int at = snprintf(text, sizeof text, RIG "\"model\": \"%s\", \"curves\": {\"times\": [", model);
    for (int k = 0; k < frames; k++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%.17g", k ? ", " : "",
                       sinew_job_time(locked, k));
    at += snprintf(text + at, sizeof text - (size_t)at, "], \"values\": {");
    for (int i = 0; i < rig->slider_count; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at, "%s\"%s\": [", i ? ", " : "",
                       rig->sliders[i].name);
        for (int k = 0; k < frames; k++)
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%.17g", k ? ", " : "",
                           sinew_job_weights(locked, k)[i]);
        at += snprintf(text + at, sizeof text - (size_t)at, "]");
    }
    at += snprintf(text + at, sizeof text - (size_t)at, "}}}");
    assert_true((size_t)at < sizeof text);
    return job_of(text);
}

static void locked_weights_drive_every_model_alike(void **state) {
    (void)state;
    sinew_job *linear = locked_job("linear", ""),
              *free_take = job_of(RIG TAKE "\"model\": \"linear\"}");
    size_t row = (size_t)sinew_job_rig(linear)->slider_count;
    int last = sinew_job_frame_count(linear) - 1;
    assert_memory_not_equal(sinew_job_weights(linear, last), sinew_job_weights(free_take, last),
                            row * sizeof(double));
    double *straight = frame_of(linear, last);
    const char *models[] = {"rotation", "spring", "force"};
    for (int m = 0; m < 3; m++) {
        sinew_job *locked = locked_job(models[m], "");
        for (int k = 0; k <= last; k++)
            assert_memory_equal(sinew_job_weights(locked, k), sinew_job_weights(linear, k),
                                row * sizeof(double));
        /* The frame is that of the model under these weights, and not the linear one. */
        sinew_job *same = job_of_weights(locked, models[m]);
        size_t size = 3 * (size_t)sinew_job_rig(linear)->neutral->vertex_count;
        for (int k = 0; k <= last; k++) {
            double *one = frame_of(locked, k), *two = frame_of(same, k);
            assert_memory_equal(one, two, size * sizeof *one);
            if (k == last) assert_memory_not_equal(one, straight, size * sizeof *one);
            sn_free(one);
            sn_free(two);
        }
        sinew_job_destroy(locked);
        sinew_job_destroy(same);
    }
    sn_free(straight);
    sinew_job_destroy(linear);
    sinew_job_destroy(free_take);
}

static double held_motion(const sinew_rig *rig, const double *positions) {
    double worst = 0;
    for (int i = 3 * 300; i < 3 * 321; i++)
        worst = fmax(worst, fabs(positions[i] - rig->neutral->positions[i]));
    return worst;
}

static void the_corrective_puts_locked_vertices_back_in_frames_of_any_model(void **state) {
    (void)state;
    const char *models[] = {"linear", "rotation", "spring"};
    for (int m = 0; m < 3; m++) {
        sinew_job *plain = locked_job(models[m], ""),
                  *held = locked_job(models[m], ", \"corrective\": true");
        const sinew_rig *rig = sinew_job_rig(plain);
        int last = sinew_job_frame_count(plain) - 1;
        size_t size = 3 * (size_t)rig->neutral->vertex_count;
        double *one = frame_of(plain, last), *two = frame_of(held, last);
        double diagonal = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
        assert_true(held_motion(rig, one) > 1e-4 * diagonal);
        assert_below(held_motion(rig, two), 1e-9 * diagonal);
        /* far away nothing has changed */
        int moved = 0, kept = 0;
        for (size_t v = 0; v < size / 3; v++) {
            bool same = memcmp(one + 3 * v, two + 3 * v, 3 * sizeof *one) == 0;
            moved += !same;
            kept += same;
        }
        assert_true(moved > 21);
        assert_true(kept > 100);
        sn_free(one);
        sn_free(two);
        sinew_job_destroy(plain);
        sinew_job_destroy(held);
    }
}

static sinew_job *timed_job(const char *more) {
    char text[1024];
    snprintf(text, sizeof text,
             RIG TAKE "\"locks\": [{\"name\": \"cuff\", \"select\": \"v:300-320\"%s}], \"model\": "
                      "\"linear\", \"attenuation\": {\"strength\": 20}}",
             more);
    return job_of(text);
}

/* Frames at 0, 0.2, 0.4 and 0.6 s. Before its time a lock does nothing, in it as much as always,
 * and half-way through a fade half of that. */
static void locks_hold_from_a_time_to_a_time(void **state) {
    (void)state;
    sinew_job *always = timed_job(""), *none = job_of(RIG TAKE "\"model\": \"linear\"}");
    sinew_job *late = timed_job(", \"from\": 0.3"), *early = timed_job(", \"to\": 0.3");
    sinew_job *fading = timed_job(", \"from\": 0.3, \"fade\": 0.2");
    int sliders = sinew_job_rig(none)->slider_count;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < sliders; i++) {
            double on = sinew_job_weights(always, k)[i], off = sinew_job_weights(none, k)[i];
            const double part[4] = {0, 0, 0.5, 1};
            assert_close(sinew_job_weights(late, k)[i], k < 2 ? off : on, 1e-12);
            assert_close(sinew_job_weights(early, k)[i], k < 2 ? on : off, 1e-12);
            assert_close(sinew_job_weights(fading, k)[i], (1 - part[k]) * off + part[k] * on, 1e-9);
        }
    assert_true(fabs(sinew_job_weights(always, 3)[0] - sinew_job_weights(none, 3)[0]) > 0.01);
    sinew_job_destroy(always), sinew_job_destroy(none), sinew_job_destroy(late);
    sinew_job_destroy(early), sinew_job_destroy(fading);
}

/* A lock that keeps the last pose leaves the last frame alone and changes the first. */
static void locks_keep_their_own_pose(void **state) {
    (void)state;
    sinew_job *none = job_of(RIG TAKE "\"model\": \"linear\"}");
    sinew_job *own[2] = {timed_job(", \"weights\": {\"elbow90\": 1}"), timed_job(", \"at\": 0.6")};
    for (int k = 0; k < 2; k++) {
        double first = 0;
        for (int i = 0; i < sinew_job_rig(none)->slider_count; i++) {
            assert_close(sinew_job_weights(own[k], 3)[i], sinew_job_weights(none, 3)[i], 1e-6);
            first =
                fmax(first, fabs(sinew_job_weights(own[k], 0)[i] - sinew_job_weights(none, 0)[i]));
        }
        assert_true(first > 0.01);
        sinew_job_destroy(own[k]);
    }
    sinew_job_destroy(none);
}

int test_locks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locked_weights_drive_every_model_alike),
        cmocka_unit_test(the_corrective_puts_locked_vertices_back_in_frames_of_any_model),
        cmocka_unit_test(locks_hold_from_a_time_to_a_time),
        cmocka_unit_test(locks_keep_their_own_pose),
    };
    return cmocka_run_group_tests_name("locks", tests, NULL, NULL);
}
