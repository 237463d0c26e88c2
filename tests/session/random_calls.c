/* Sessions under random calls, good and bad: every call ends with a status, a refused patch changes
 * nothing, shapes are finite. SINEW_CALLS=100000 for more than the few of `make test`. */
#include "support.h"

#include "groups.h"
#include "scenes.h"

static sinew_error error;
static uint64_t seed;

static int pick(int count) {
    int chosen = (int)((test_random(&seed) + 1) / 2 * count);
    return chosen < count ? chosen : count - 1;
}

static const char *const pointers[] = {"/curves/values/bend120/1",
                                       "/time/fps",
                                       "/strict",
                                       "/parameters",
                                       "/parameters/nothing",
                                       "/weights",
                                       "/rig/sample",
                                       "/curves",
                                       "/model",
                                       "",
                                       "/curves/times/0",
                                       "/curves/times/-",
                                       "nonsense",
                                       "/~2",
                                       "/time"};
static const char *const values[] = {"0.5",         "25",
                                     "true",        "{}",
                                     "[]",          "null",
                                     "\"bar\"",     "\"rotation\"",
                                     "\"linear\"",  "-1",
                                     "1e308",       "{\"bend120\": 0.3}",
                                     "[0, 1, 2]",   "{\"fps\": 24}",
                                     "\"\\u0000\"", "{",
                                     "nan"};
static const char *const operations[] = {"add", "remove", "replace", "move", "copy", "test", "x"};
#define ANY(list) (list)[pick((int)(sizeof(list) / sizeof *(list)))]

static void patch_it(sinew_session *session) {
    char patch[600], *before, *after, *inverse = NULL;
    int length = snprintf(patch, sizeof patch, "[");
    for (int count = pick(3); count >= 0; count--)
        length += snprintf(patch + length, sizeof patch - (size_t)length,
                           "{\"op\": \"%s\", \"path\": \"%s\", \"from\": \"%s\", \"value\": %s}%s",
                           ANY(operations), ANY(pointers), ANY(pointers), ANY(values),
                           count ? ", " : "]");
    assert_ok(sinew_session_text(session, &before, &error));
    sinew_status status = sinew_session_patch(session, patch, &inverse, NULL, &error);
    assert_ok(sinew_session_text(session, &after, &error));
    if (status == SINEW_OK) { /* and back */
        sinew_free(after);
        assert_ok(sinew_session_patch(session, inverse, NULL, NULL, &error));
        assert_ok(sinew_session_text(session, &after, &error));
    } else {
        assert_int_equal(status, SINEW_BAD_INPUT);
        assert_true(*error.message);
    }
    if (strcmp(before, after)) fail_msg("%s: %s became %s", patch, before, after);
    sinew_free(before), sinew_free(after), sinew_free(inverse);
}

/* Whether there is a shape. */
static bool solve_it(sinew_session *session, double *shape, int room) {
    sinew_input input;
    sinew_input_init(&input);
    input.frame = pick(60) - 5;
    sinew_result result;
    sinew_result_init(&result);
    result.positions = shape;
    const sinew_rig *rig = sinew_session_rig(session);
    if (rig && 3 * rig->neutral->vertex_count > room) return false;
    sinew_status status = sinew_session_solve(session, &input, &result, NULL, &error);
    assert_true(status <= SINEW_NOT_CONVERGED || *error.message);
    rig = sinew_session_rig(session);
    for (int i = 0; status <= SINEW_NOT_CONVERGED && i < 3 * rig->neutral->vertex_count; i++)
        assert_true(isfinite(shape[i]));
    return status <= SINEW_NOT_CONVERGED;
}

/* Saved states come back; damaged ones are refused and change nothing. */
static void keep_it(sinew_session *session) {
    void *saved, *again;
    size_t size, more;
    sinew_solver *solver = sinew_session_solver(session);
    if (!sinew_session_rig(session)) return;
    if (sinew_solver_save_state(solver, &saved, &size, &error) != SINEW_OK) return;
    if (size > 0 && pick(2)) {
        unsigned char *bytes = saved;
        bytes[pick((int)size)] ^= (unsigned char)(1 << pick(8));
        assert_int_equal(sinew_solver_load_state(solver, saved, size, &error), SINEW_BAD_INPUT);
        assert_int_equal(sinew_solver_load_state(solver, saved, (size_t)pick((int)size), &error),
                         SINEW_BAD_INPUT);
    } else {
        assert_ok(sinew_solver_load_state(solver, saved, size, &error));
        assert_ok(sinew_solver_save_state(solver, &again, &more, &error));
        assert_int_equal(more, size);
        assert_memory_equal(saved, again, size);
        sinew_free(again);
    }
    sinew_free(saved);
}

static void random_calls_end_with_a_status(void **state) {
    (void)state;
    enum { ROOM = 3 * 20000 };
    const char *more = getenv("SINEW_CALLS");
    int calls = more ? (int)strtol(more, NULL, 10) : 2000;
    double *shape = calloc(ROOM, sizeof *shape);
    static const char *const names[] = {"linear", "rotation", "modal"};
    for (int n = 0; n < 3; n++) {
        seed = 77 + (uint64_t)n;
        sinew_session *session = test_session(names[n]);
        int solved = 0;
        for (int i = 0; i < calls; i++) {
            char *text = NULL;
            switch (pick(8)) {
            case 0:
                solved += solve_it(session, shape, ROOM);
                break;
            case 1:
                keep_it(session);
                break;
            case 2:
                sinew_session_set(session, "/time/fps", ANY(values), NULL, NULL, &error);
                break;
            case 3:
                sinew_session_get(session, ANY(pointers), &text, &error);
                break;
            case 4:
                sinew_session_describe(session, &text, &error);
                break;
            case 5:
                if (sinew_session_rig(session)) sinew_solver_reset(sinew_session_solver(session));
                sinew_session_cancel(session);
                break;
            default:
                patch_it(session);
            }
            sinew_free(text);
        }
        sinew_session_destroy(session);
        if (solved < calls / 100) fail_msg("%s: %d shapes of %d calls", names[n], solved, calls);
    }
    free(shape);
}

int test_random_calls(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_calls_end_with_a_status)};
    return cmocka_run_group_tests_name("random calls", tests, NULL, NULL);
}
