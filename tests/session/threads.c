/* Solvers on several threads while patches go on. */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "groups.h"
#include "scenes.h"

typedef struct worker {
    sinew_session *session;
    atomic_bool *stop;
    int solved, cancelled;
    uint64_t newest;
    bool failed;
    char message[SINEW_MESSAGE_SIZE];
} worker;

static void *work(void *user) {
    worker *w = user;
    sinew_error error = {SINEW_OK, ""};
    sinew_solver *solver;
    if (sinew_solver_create(w->session, NULL, &solver, &error) != SINEW_OK) goto failed;
    double *shape = calloc(3 * (size_t)test_vertex_count(solver), sizeof *shape);
    for (int k = 0; !atomic_load(w->stop) || k < 3; k++) {
        sinew_input input;
        sinew_input_init(&input);
        input.frame = k % 4;
        input.newest_only = k % 3 == 2;
        sinew_result result;
        sinew_result_init(&result);
        result.positions = shape;
        sinew_status status = sinew_solver_update(solver, NULL, &error);
        if (status == SINEW_OK) status = sinew_solver_solve(solver, &input, &result, NULL, &error);
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED && status != SINEW_CANCELLED) {
            w->failed = true;
            memcpy(w->message, error.message, sizeof w->message);
            break;
        }
        w->solved += status != SINEW_CANCELLED, w->cancelled += status == SINEW_CANCELLED;
        w->newest = sinew_solver_revision(solver);
    }
    free(shape);
    sinew_solver_destroy(solver);
    return NULL;
failed:
    w->failed = true;
    memcpy(w->message, error.message, sizeof w->message);
    return NULL;
}

static void two_solvers_work_while_patches_go_on(void **state) {
    (void)state;
    for (const char *const *name = test_scene_names; *name; name++) {
        sinew_error error = {SINEW_OK, ""};
        sinew_session *session = test_session(*name);
        atomic_bool stop = false;
        worker workers[2] = {{.session = session, .stop = &stop},
                             {.session = session, .stop = &stop}};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        for (int i = 0; i < 30; i++) {
            char patch[200];
            const char *scene = test_scene(*name);
            bool keys = strstr(scene, "\"keys\"") != NULL, take = strstr(scene, "take.csv") != NULL;
            bool bar = strstr(scene, "\"bend120\": [") != NULL;
            snprintf(patch, sizeof patch,
                     "[{\"op\": \"replace\", \"path\": \"%s\", \"value\": %g}]",
                     keys   ? "/keys/1/time"
                     : take ? "/time/fps"
                     : bar  ? "/curves/values/bend120/1"
                            : "/curves/values/jawOpen/1",
                     keys   ? 2 + 0.01 * i
                     : take ? 20 + i % 10
                            : 0.001 * i);
            assert_ok(sinew_session_patch(session, patch, NULL, NULL, &error));
            struct timespec wait = {0, 1000000};
            nanosleep(&wait, NULL);
        }
        atomic_store(&stop, true);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < 2; i++) {
            if (workers[i].failed) fail_msg("%s: %s", *name, workers[i].message);
            assert_true(workers[i].solved > 0);
        }
        sinew_session_destroy(session);
    }
}

/* Two states of one structure give what one does. */
static void solvers_share_a_structure_and_not_a_state(void **state) {
    (void)state;
    sinew_error error = {SINEW_OK, ""};
    for (const char *const *name = test_scene_names; *name; name++) {
        sinew_session *session = test_session(*name);
        sinew_solver *a, *b;
        assert_ok(sinew_solver_create(session, NULL, &a, &error));
        assert_ok(sinew_solver_create(session, NULL, &b, &error));
        size_t size = 3 * (size_t)test_vertex_count(a);
        double *first = calloc(2 * size, sizeof *first), *second = first + size;
        assert_ptr_equal(sinew_solver_rig(a), sinew_solver_rig(b));
        test_frame(a, 3, first);
        test_frame(b, 5, second);
        test_frame(a, 5, first);
        assert_memory_equal(first, second, size * sizeof *first);
        test_frame(a, 2, first);
        test_frame(a, 3, first);
        assert_ok(sinew_solver_copy_state(b, a, &error));
        test_frame(a, 4, first);
        test_frame(b, 4, second);
        assert_memory_equal(first, second, size * sizeof *first);
        free(first);
        sinew_solver_destroy(a);
        sinew_solver_destroy(b);
        sinew_session_destroy(session);
    }
}

static bool always(void *user) {
    (void)user;
    return true;
}

/* The motion of a clip is derived by one solver, again after a patch of a parameter, and the one
 * that a solver has stays when deriving is cancelled. */
static void solvers_share_a_motion(void **state) {
    (void)state;
    sinew_error error = {SINEW_OK, ""};
    static const char *const names[] = {"modal", "jiggle"};
    for (int k = 0; k < 2; k++) {
        sinew_session *session = test_session(names[k]);
        sinew_solver *a, *b, *fresh;
        assert_ok(sinew_solver_create(session, NULL, &a, &error));
        assert_ok(sinew_solver_create(session, NULL, &b, &error));
        const sinew_modal_motion *before = sinew_solver_modal_motion(a);
        assert_non_null(before);
        assert_ptr_equal(sinew_solver_modal_motion(b), before);
        size_t size = 3 * (size_t)test_vertex_count(a);
        double *first = calloc(3 * size, sizeof *first), *second = first + size;
        double *patched = second + size;
        test_frame(a, 5, first);
        assert_ok(sinew_session_set(session, "/parameters/damping", "0.3", NULL, NULL, &error));
        sinew_monitor monitor = {.cancelled = always};
        assert_int_equal(sinew_solver_update(a, &monitor, &error), SINEW_CANCELLED);
        assert_ptr_equal(sinew_solver_modal_motion(a), before);
        test_frame(a, 5, second);
        assert_memory_equal(first, second, size * sizeof *first);

        assert_ok(sinew_solver_update(a, NULL, &error));
        assert_ptr_not_equal(sinew_solver_modal_motion(a), before);
        assert_ptr_equal(sinew_solver_modal_motion(b), before); /* until it is updated, too */
        test_frame(b, 5, second);
        assert_memory_equal(first, second, size * sizeof *first);
        assert_ok(sinew_solver_update(b, NULL, &error));
        assert_ptr_equal(sinew_solver_modal_motion(b), sinew_solver_modal_motion(a));
        test_frame(b, 5, patched);
        assert_memory_not_equal(first, patched, size * sizeof *first);

        /* What no frame depends on leaves it. */
        assert_ok(sinew_session_set(session, "/notes", "\"new\"", NULL, NULL, &error));
        before = sinew_solver_modal_motion(b);
        assert_ok(sinew_solver_update(a, NULL, &error));
        assert_ptr_equal(sinew_solver_modal_motion(a), before);
        sinew_solver_destroy(a);
        sinew_solver_destroy(b);
        sinew_session_destroy(session);

        /* A motion that is derived anew has the same bits. */
        session = test_session(names[k]);
        assert_ok(sinew_session_set(session, "/parameters/damping", "0.3", NULL, NULL, &error));
        assert_ok(sinew_solver_create(session, NULL, &fresh, &error));
        test_frame(fresh, 5, second);
        assert_memory_equal(second, patched, size * sizeof *first);
        sinew_solver_destroy(fresh);
        sinew_session_destroy(session);
        free(first);
    }
}

/* ---- the newest revision ----------------------------------------------------------------------
 */

typedef struct patcher {
    sinew_session *session;
    bool done;
} patcher;

static bool patch_inside(void *user) {
    patcher *p = user;
    sinew_error error;
    if (!p->done) assert_ok(sinew_session_set(p->session, "/notes", "\"new\"", NULL, NULL, &error));
    p->done = true;
    return false;
}

/* A patch arrives in mid-solve: only a solve that wants the newest revision gives up. */
static void the_newest_revision_wins_where_it_is_wanted(void **state) {
    (void)state;
    sinew_error error = {SINEW_OK, ""};
    for (const char *const *name = test_scene_names; *name; name++)
        for (int newest = 0; newest < 2; newest++) {
            sinew_session *session = test_session(*name);
            assert_ok(sinew_session_prepare(session, NULL, &error));
            sinew_solver *solver = sinew_session_solver(session);
            double *shape = calloc(3 * (size_t)test_vertex_count(solver), sizeof *shape);
            patcher p = {session, false};
            sinew_monitor monitor = {.cancelled = patch_inside, .user = &p};
            sinew_input input;
            sinew_input_init(&input);
            sinew_result result;
            sinew_result_init(&result);
            input.frame = 2, input.newest_only = newest, result.positions = shape;
            sinew_status status = sinew_solver_solve(solver, &input, &result, &monitor, &error);
            assert_true(p.done);
            if (newest)
                assert_int_equal(status, SINEW_CANCELLED);
            else if (status != SINEW_NOT_CONVERGED)
                assert_ok(status);
            assert_int_equal(result.status, status);
            assert_int_equal(sinew_solver_revision(solver), 1);
            assert_int_equal(sinew_session_revision(session), 2);
            free(shape);
            sinew_session_destroy(session);
        }
}

/* ---- waiting for another solver to build ------------------------------------------------------
 */

typedef struct building {
    sinew_session *session;
    atomic_bool begun, go_on, alone; /* alone: the second solver did not return meanwhile */
} building;

/* Keeps the first solver loading until the second one has returned. */
static sinew_status load_slowly(int path_count, const char *const *paths, void *user,
                                sinew_rig **rig, sinew_error *error) {
    building *b = user;
    const struct timespec moment = {0, 1000000};
    atomic_store(&b->begun, true);
    for (int k = 0; k < 60000 && !atomic_load(&b->go_on); k++) nanosleep(&moment, NULL);
    if (!atomic_load(&b->go_on)) atomic_store(&b->alone, true);
    return sinew_file_loader()->rig(path_count, paths, sinew_file_loader()->user, rig, error);
}

static void *build_first(void *user) {
    building *b = user;
    sinew_solver *solver = NULL;
    sinew_error error;
    sinew_status status = sinew_solver_create(b->session, NULL, &solver, &error);
    sinew_solver_destroy(solver);
    return status == SINEW_OK ? b : NULL;
}

static void cancel_ends_the_wait_for_another_build(void **state) {
    (void)state;
    sinew_error error;
    building b = {0};
    sinew_loader loader = *sinew_file_loader();
    loader.rig = load_slowly, loader.user = &b;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = &loader;
    sinew_scene *scene;
    assert_ok(sinew_scene_parse(test_scene("rotation"), "scene", test_folder(), &scene, &error));
    assert_ok(sinew_session_create(scene, &options, &b.session, &error));
    sinew_scene_destroy(scene);
    pthread_t thread;
    void *first;
    const struct timespec moment = {0, 1000000};
    assert_int_equal(pthread_create(&thread, NULL, build_first, &b), 0);
    while (!atomic_load(&b.begun)) nanosleep(&moment, NULL);
    sinew_solver *solver = NULL;
    sinew_monitor monitor = {.cancelled = always};
    sinew_status status = sinew_solver_create(b.session, &monitor, &solver, &error);
    atomic_store(&b.go_on, true);
    pthread_join(thread, &first);
    assert_int_equal(status, SINEW_CANCELLED);
    assert_null(solver);
    assert_false(atomic_load(&b.alone));
    assert_ptr_equal(first, &b); /* the first one is not disturbed */
    assert_ok(sinew_solver_create(b.session, NULL, &solver, &error));
    sinew_solver_destroy(solver);
    sinew_session_destroy(b.session);
}

int test_threads(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_solvers_work_while_patches_go_on),
        cmocka_unit_test(solvers_share_a_structure_and_not_a_state),
        cmocka_unit_test(solvers_share_a_motion),
        cmocka_unit_test(the_newest_revision_wins_where_it_is_wanted),
        cmocka_unit_test(cancel_ends_the_wait_for_another_build),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
