/* A cancelled or failed solve leaves the state as it was. */
#include "support.h"

#include <pthread.h>
#include <semaphore.h>

#include "base/scope.h"
#include "groups.h"
#include "scenes.h"

static sinew_error error;

typedef struct countdown {
    int polls; /* until it cancels; negative: never */
    int used;
} countdown;

static bool count_down(void *user) {
    countdown *c = user;
    c->used++;
    return c->polls >= 0 && c->used > c->polls;
}

static sinew_status solve_with(sinew_solver *solver, int frame, double *positions, countdown *c) {
    sinew_monitor monitor = {.cancelled = count_down, .user = c};
    sinew_input input;
    sinew_input_init(&input);
    input.frame = frame;
    sinew_result result;
    sinew_result_init(&result);
    result.positions = positions;
    return sinew_solver_solve(solver, &input, &result, &monitor, &error);
}

/* Frame 11 is cancelled at every poll it makes; then 11 and 12 are asked for. */
static void cancelled_frames_leave_no_trace(void **state) {
    (void)state;
    for (const char *const *name = test_scene_names; *name; name++) {
        sinew_session *session = test_session(*name);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_solver *solver = sinew_session_solver(session);
        size_t size = 3 * (size_t)test_vertex_count(solver);
        double *frames = calloc(3 * size, sizeof *frames), *shape = frames + 2 * size;
        test_frame(solver, 10, shape);
        void *saved, *again;
        size_t bytes, more;
        assert_ok(sinew_solver_save_state(solver, &saved, &bytes, &error));
        test_frame(solver, 11, frames), test_frame(solver, 12, frames + size);
        int cancelled = 0;
        for (int polls = 0; polls < 400; polls += 1 + polls / 8) {
            assert_ok(sinew_solver_load_state(solver, saved, bytes, &error));
            countdown c = {polls, 0};
            sinew_status status = solve_with(solver, 11, shape, &c);
            if (status != SINEW_CANCELLED) break;
            cancelled++;
            assert_ok(sinew_solver_save_state(solver, &again, &more, &error));
            if (more != bytes || memcmp(saved, again, bytes))
                fail_msg("%s: cancelled at poll %d, the state differs", *name, polls);
            sinew_free(again);
            test_frame(solver, 12, shape);
            if (memcmp(shape, frames + size, size * sizeof *shape))
                fail_msg("%s: frame 12 after a cancelled 11 (poll %d) differs", *name, polls);
        }
        assert_true(cancelled > 0);
        sinew_free(saved);
        free(frames);
        sinew_session_destroy(session);
    }
}

/* Frames before the one that is asked for are undone, too. */
static void cancelled_catching_up_is_undone(void **state) {
    (void)state;
    static const char *const names[] = {"friction", "force", "contact", "layer", NULL};
    sn_poll_always(true);
    for (const char *const *name = names; *name; name++) {
        sinew_session *session = test_session(*name);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_solver *solver = sinew_session_solver(session);
        double *shape = calloc(3 * (size_t)test_vertex_count(solver), sizeof *shape);
        test_frame(solver, 5, shape);
        void *saved, *again;
        size_t bytes, more;
        assert_ok(sinew_solver_save_state(solver, &saved, &bytes, &error));
        countdown c = {9, 0};
        assert_int_equal(solve_with(solver, 30, shape, &c), SINEW_CANCELLED);
        c = (countdown){3, 0};
        assert_int_equal(solve_with(solver, 4, shape, &c), SINEW_CANCELLED);
        assert_ok(sinew_solver_save_state(solver, &again, &more, &error));
        assert_int_equal(more, bytes);
        assert_memory_equal(saved, again, bytes);
        sinew_free(saved), sinew_free(again);
        free(shape);
        sinew_session_destroy(session);
    }
    sn_poll_always(false);
}

/* ---- the monitor ----------------------------------------------------------------------------- */

static void fail_progress(double fraction, const char *stage, void *user) {
    (void)fraction;
    if (*(bool *)user) fail_msg("a monitor was called after its call: %s", stage);
}

static bool fail_cancelled(void *user) {
    if (*(bool *)user) fail_msg("a monitor was polled after its call");
    return false;
}

static void fail_log(sinew_log_level level, const char *line, void *user) {
    (void)level;
    if (*(bool *)user) fail_msg("a monitor was told after its call: %s", line);
}

static void monitors_are_not_kept(void **state) {
    (void)state;
    for (const char *const *name = test_scene_names; *name; name++) {
        bool over = false;
        sinew_monitor *monitor = malloc(sizeof *monitor);
        *monitor = (sinew_monitor){
            .progress = fail_progress, .cancelled = fail_cancelled, .log = fail_log, .user = &over};
        sinew_scene *scene;
        sinew_job *job;
        assert_ok(sinew_scene_parse(test_scene(*name), *name, test_folder(), &scene, &error));
        assert_ok(sinew_job_create(scene, monitor, &job, &error));
        over = true;
        free(monitor);
        sinew_status status = sinew_job_run(job, 0, 2, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) assert_ok(status);
        sinew_job_destroy(job);
        sinew_scene_destroy(scene);
    }
}

/* ---- while the session is prepared ----------------------------------------------------------- */

/* Cancelled at one poll after the other, the session is as if it had not been asked; then it is
 * prepared and gives the frame of one that was never disturbed. */
static void a_cancelled_preparation_can_be_repeated(void **state) {
    (void)state;
    for (const char *const *name = test_scene_names; *name; name++) {
        sinew_session *session = test_session(*name), *other = test_session(*name);
        assert_ok(sinew_session_prepare(other, NULL, &error));
        size_t size = 3 * (size_t)test_vertex_count(sinew_session_solver(other));
        double *shape = calloc(2 * size, sizeof *shape), *expected = shape + size;
        sinew_status status = SINEW_CANCELLED;
        for (int polls = 0; status == SINEW_CANCELLED; polls += 1 + polls / 4) {
            countdown c = {polls, 0};
            sinew_monitor monitor = {.cancelled = count_down, .user = &c};
            status = sinew_session_prepare(session, &monitor, &error);
            if (status != SINEW_CANCELLED) assert_ok(status);
        }
        test_frame(sinew_session_solver(session), 3, shape);
        test_frame(sinew_session_solver(other), 3, expected);
        assert_memory_equal(shape, expected, size * sizeof *shape);
        free(shape);
        sinew_session_destroy(session), sinew_session_destroy(other);
    }
}

/* The longest stretch between two polls while the sample face is prepared was measured with a
 * clock (docs/session.md). Here the polls are counted, which depends on the work alone: a loop or a
 * kernel that no longer polls loses hundreds of them. The bounds are nine tenths of the counts. */
static const struct asked {
    const char *name, *scene;
    int least;
} asked[] = {
    {"rotation", "\"model\": \"rotation\", \"weights\": {\"jawOpen\": 1}}", 8000},
    {"spring", "\"model\": \"spring\", \"weights\": {\"jawOpen\": 1}}", 9500},
    {"force", "\"model\": \"force\", \"weights\": {\"jawOpen\": 1}}", 9000},
    {"contact",
     "\"model\": \"force\", \"parameters\": {\"contact\": \"all\"}, \"weights\": {\"jawOpen\": 1}}",
     10000},
    {"modal",
     "\"model\": \"modal\", \"parameters\": {\"body\": \"shell\", \"modes\": 8}, \"keys\": "
     "[{\"time\": 0, \"pose\": "
     "\"neutral\"}, {\"time\": 1, \"pose\": \"jawOpen\"}]}",
     11500},
};

static sinew_session *face_session(const sinew_rig *rig, const char *rest) {
    char text[512];
    snprintf(text, sizeof text, "{\"sinew\": 1, %s", rest);
    sinew_scene *scene;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.rig = rig;
    assert_ok(sinew_scene_parse(text, "face", NULL, &scene, &error));
    assert_ok(sinew_session_create(scene, &options, &session, &error));
    sinew_scene_destroy(scene);
    return session;
}

static void every_model_asks_often_while_it_is_prepared(void **state) {
    (void)state;
    sinew_rig *rig;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = 1000;
    assert_ok(sinew_sample_rig("face", &options, &rig, &error));
    sinew_set_threads(1);
    sn_poll_always(true);
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
        countdown all = {-1, 0};
        sinew_monitor monitor = {.cancelled = count_down, .user = &all};
        sinew_session *whole = face_session(rig, asked[k].scene), *session;
        assert_ok(sinew_session_prepare(whole, &monitor, &error));
        if (all.used < asked[k].least)
            fail_msg("%s asks %d times, expected at least %d", asked[k].name, all.used,
                     asked[k].least);
        session = NULL;
        for (int part = 3; part < 8; part += 4) {
            countdown c = {(int)((long long)all.used * part / 8), 0};
            monitor.user = &c;
            sinew_session_destroy(session);
            session = face_session(rig, asked[k].scene);
            assert_int_equal(sinew_session_prepare(session, &monitor, &error), SINEW_CANCELLED);
        }
        print_message("%s asks %d times\n", asked[k].name, all.used);
        size_t size = 3 * (size_t)test_vertex_count(sinew_session_solver(whole));
        double *shape = calloc(2 * size, sizeof *shape);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        test_frame(sinew_session_solver(session), 0, shape);
        test_frame(sinew_session_solver(whole), 0, shape + size);
        assert_memory_equal(shape, shape + size, size * sizeof *shape);
        free(shape);
        sinew_session_destroy(session), sinew_session_destroy(whole);
    }
    sn_poll_always(false);
    sinew_set_threads(0);
    sinew_rig_destroy(rig);
}

/* Calls without a monitor parameter are cancelled by sinew_call_monitored. */
typedef struct region {
    const sinew_rig *rig;
    sinew_slider_space *space;
} region;

static sinew_status make_space(void *user, sinew_error *own) {
    region *r = user;
    return sinew_slider_space_create(r->rig, &r->space, own);
}

static void calls_without_a_monitor_are_cancelled_from_outside(void **state) {
    (void)state;
    sinew_rig *rig;
    assert_ok(sinew_sample_rig("face", NULL, &rig, &error));
    for (int cancel = 0; cancel < 2; cancel++) {
        countdown c = {cancel ? 0 : -1, 0};
        sinew_monitor monitor = {.cancelled = count_down, .user = &c};
        region r = {.rig = rig};
        assert_int_equal(sinew_call_monitored(&monitor, make_space, &r, &error),
                         cancel ? SINEW_CANCELLED : SINEW_OK);
        assert_true(c.used > 0);
        sinew_slider_space_destroy(r.space);
        int *vertices, count;
        c.used = 0;
        assert_int_equal(
            sinew_select(rig, "region:lips", NULL, NULL, &monitor, &vertices, &count, &error),
            cancel ? SINEW_CANCELLED : SINEW_OK);
        assert_true(c.used > 0);
        sinew_free(vertices);
        sinew_sample_options options;
        sinew_sample_options_init(&options);
        options.monitor = &monitor;
        sinew_rig *again;
        c.used = 0;
        assert_int_equal(sinew_sample_rig("bar", &options, &again, &error),
                         cancel ? SINEW_CANCELLED : SINEW_OK);
        assert_true(c.used > 0);
        sinew_rig_destroy(again);
    }
    sinew_rig_destroy(rig);
}

/* ---- from another thread --------------------------------------------------------------------- */

/* The solve waits in its poll until the other thread has cancelled: it is hit in mid-solve. */
typedef struct canceller {
    sinew_session *session;
    sem_t inside, cancelled;
    int polls; /* until it waits */
} canceller;

static void *cancel_inside(void *user) {
    canceller *c = user;
    sem_wait(&c->inside);
    sinew_session_cancel(c->session);
    sem_post(&c->cancelled);
    return NULL;
}

static bool wait_inside(void *user) {
    canceller *c = user;
    if (c->polls-- == 0) {
        sem_post(&c->inside);
        sem_wait(&c->cancelled);
    }
    return false;
}

static void a_session_is_cancelled_from_another_thread(void **state) {
    (void)state;
    for (const char *const *name = test_scene_names; *name; name++) {
        sinew_session *session = test_session(*name);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_solver *solver = sinew_session_solver(session);
        double *shape = calloc(3 * (size_t)test_vertex_count(solver), sizeof *shape);
        test_frame(solver, 5, shape);
        void *saved, *again;
        size_t bytes, more;
        assert_ok(sinew_solver_save_state(solver, &saved, &bytes, &error));
        bool past = sinew_solver_past(solver, NULL) != SINEW_PAST_NONE;
        for (int polls = 0; polls < (past ? 3 : 1); polls++) {
            canceller c = {.session = session, .polls = polls};
            sem_init(&c.inside, 0, 0), sem_init(&c.cancelled, 0, 0);
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, cancel_inside, &c), 0);
            sinew_monitor monitor = {.cancelled = wait_inside, .user = &c};
            sinew_input input;
            sinew_input_init(&input);
            sinew_result result;
            sinew_result_init(&result);
            input.frame = 9, result.positions = shape;
            sinew_status status = sinew_solver_solve(solver, &input, &result, &monitor, &error);
            sem_post(&c.inside); /* if no poll has */
            pthread_join(thread, NULL);
            sem_destroy(&c.inside), sem_destroy(&c.cancelled);
            assert_true(status == SINEW_CANCELLED || polls > 0);
            if (status != SINEW_CANCELLED) break;
            assert_ok(sinew_solver_save_state(solver, &again, &more, &error));
            assert_int_equal(more, bytes);
            assert_memory_equal(saved, again, bytes);
            sinew_free(again);
        }
        sinew_free(saved);
        free(shape);
        sinew_session_destroy(session);
    }
}

int test_cancel(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancelled_frames_leave_no_trace),
        cmocka_unit_test(cancelled_catching_up_is_undone),
        cmocka_unit_test(monitors_are_not_kept),
        cmocka_unit_test(a_cancelled_preparation_can_be_repeated),
        cmocka_unit_test(every_model_asks_often_while_it_is_prepared),
        cmocka_unit_test(calls_without_a_monitor_are_cancelled_from_outside),
        cmocka_unit_test(a_session_is_cancelled_from_another_thread),
    };
    return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
