/* Sessions of every model under random calls (fuzz/session_calls.h), and the fuzz corpus of the
 * target `session`. SINEW_CALLS=1000 makes more sessions of each scene than the few of `make test`.
 */
#include "support.h"

#include "../../fuzz/session_calls.h"
#include "base/file.h"
#include "base/memory.h"
#include "groups.h"
#include "scenes.h"

static void random_calls_end_as_they_began(void **state) {
    (void)state;
    const char *more = getenv("SINEW_CALLS");
    int sessions = more ? (int)strtol(more, NULL, 10) : 3;
    call_counts counts = {0};
    for (const char *const *name = test_scene_names; *name; name++)
        for (int i = 0; i < sessions; i++) {
            call_dice dice = call_dice_random((uint64_t)(7777 + i));
            const char *bad = session_calls(*name, &dice, 60, &counts);
            if (bad) fail_msg("%s, seed %d: %s", *name, 7777 + i, bad);
        }
    /* the calls reach what they are made for */
    assert_true(counts.shapes >= 50 * sessions && counts.patches >= 10 * sessions);
    assert_true(counts.rejected >= 10 * sessions && counts.cancelled >= sessions);
}

/* What the soak found: the document is the same again, and so must be the bits. */
static void modal_frames_do_not_depend_on_the_first_parameters(void **state) {
    (void)state;
    sinew_error error;
    for (int begin = 0; begin < 2; begin++) {
        sinew_session *session = test_session("modal"), *other = test_session("modal");
        char *undo = NULL;
        assert_ok(sinew_session_set(session, begin ? "/parameters/published" : "/parameters/rest",
                                    begin ? "true" : "\"shape\"", &undo, NULL, &error));
        assert_ok(sinew_session_prepare(session, NULL, &error));
        assert_ok(sinew_session_patch(session, undo, NULL, NULL, &error));
        sinew_free(undo);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        assert_ok(sinew_session_prepare(other, NULL, &error));
        size_t size = 3 * (size_t)test_vertex_count(sinew_session_solver(session));
        double *a = calloc(2 * size, sizeof *a), *b = a + size;
        test_frame(sinew_session_solver(session), 3, a);
        test_frame(sinew_session_solver(other), 3, b);
        assert_memory_equal(a, b, size * sizeof *a);
        free(a);
        sinew_session_destroy(session), sinew_session_destroy(other);
    }
}

static void immense_weights_are_rejected(void **state) {
    (void)state;
    sinew_error error;
    for (const char *const *name = test_scene_names; *name; name++) {
        sinew_session *session = test_session(*name);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_solver *solver = sinew_session_solver(session);
        double weights[8] = {1e300};
        assert_true(sinew_rig_slider_count(sinew_solver_rig(solver)) <= 8);
        sinew_input input;
        sinew_input_init(&input);
        input.weights = weights;
        sinew_result result;
        sinew_result_init(&result);
        assert_int_equal(sinew_solver_solve(solver, &input, &result, NULL, &error),
                         SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, "weight of slider"));
        weights[0] = NAN;
        assert_int_equal(sinew_solver_solve(solver, &input, &result, NULL, &error),
                         SINEW_BAD_INPUT);
        sinew_session_destroy(session);
    }
    sinew_session *session = test_session("linear");
    assert_ok(sinew_session_set(session, "/curves/values/jawOpen/1", "1e301", NULL, NULL, &error));
    assert_int_equal(sinew_session_prepare(session, NULL, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "jawOpen"));
    sinew_session_destroy(session);
}

static void the_corpus_replays(void **state) {
    (void)state;
    sinew_error error;
    const char *root = getenv("SINEW_SOURCE");
    char folder[4096], **names;
    int count;
    snprintf(folder, sizeof folder, "%s/fuzz/corpus/session", root ? root : ".");
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char *path = sn_path_join(folder, names[i]), *bytes;
        size_t size;
        assert_ok(sn_file_read(path, &bytes, &size, &error));
        const char *bad = session_bytes((const uint8_t *)bytes, size);
        if (bad) fail_msg("%s: %s", path, bad);
        sn_free(bytes), sn_free(path);
    }
    sn_names_free(names, count);
}

int test_random_calls(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_end_as_they_began),
        cmocka_unit_test(modal_frames_do_not_depend_on_the_first_parameters),
        cmocka_unit_test(immense_weights_are_rejected), cmocka_unit_test(the_corpus_replays)};
    return cmocka_run_group_tests_name("random calls", tests, NULL, NULL);
}
