/* Solvers on several threads while patches go on. */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>

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

int test_threads(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_solvers_work_while_patches_go_on),
        cmocka_unit_test(solvers_share_a_structure_and_not_a_state),
        cmocka_unit_test(the_newest_revision_wins_where_it_is_wanted),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
