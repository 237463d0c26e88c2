/* A chunk that starts from a saved state has the bits of the whole clip, in every model. */
#include "support.h"

#include "groups.h"
#include "scenes.h"

static sinew_error error;
enum { FRAMES = 41 };

static double *whole_clip(const char *name, size_t *size) {
    sinew_session *session = test_session(name);
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_solver *solver = sinew_session_solver(session);
    sinew_clip_info clip;
    sinew_clip_info_init(&clip);
    assert_ok(sinew_session_clip(session, &clip, &error));
    assert_int_equal(clip.frame_count, FRAMES);
    *size = 3 * (size_t)test_vertex_count(solver);
    double *frames = calloc(FRAMES * *size, sizeof *frames);
    for (int k = 0; k < FRAMES; k++) test_frame(solver, k, frames + (size_t)k * *size);
    sinew_session_destroy(session);
    return frames;
}

static void compare(const char *name, int chunk, int frame, size_t size, const double *got,
                    const double *expected) {
    double most = 0;
    for (size_t i = 0; i < size; i++) most = fmax(most, fabs(got[i] - expected[i]));
    if (memcmp(got, expected, size * sizeof *got))
        fail_msg("%s: frame %d of chunks of %d is off by %g", name, frame, chunk, most);
}

static void chunks_with_checkpoints_equal_the_whole_clip(void **state) {
    (void)state;
    static const int chunks[] = {1, 7, 40};
    for (const char *const *name = test_scene_names; *name; name++) {
        size_t size, bytes = 0;
        double *frames = whole_clip(*name, &size), *shape = calloc(size, sizeof *shape);
        /* not the session of the whole clip, as if on another machine */
        sinew_session *session = test_session(*name);
        for (int c = 0; c < 3; c++) {
            void *saved = NULL;
            for (int start = 0; start < FRAMES; start += chunks[c]) {
                sinew_solver *solver;
                assert_ok(sinew_solver_create(session, NULL, &solver, &error));
                if (saved) assert_ok(sinew_solver_load_state(solver, saved, bytes, &error));
                sinew_free(saved);
                for (int k = start; k < FRAMES && k < start + chunks[c]; k++) {
                    test_frame(solver, k, shape);
                    compare(*name, chunks[c], k, size, shape, frames + (size_t)k * size);
                }
                assert_ok(sinew_solver_save_state(solver, &saved, &bytes, &error));
                sinew_solver_destroy(solver);
            }
            sinew_free(saved);
        }
        sinew_session_destroy(session);
        free(frames), free(shape);
    }
}

static void frames_in_any_order_equal_the_whole_clip(void **state) {
    (void)state;
    static const int order[] = {21, 20, 33, 0, 5};
    for (const char *const *name = test_scene_names; *name; name++) {
        size_t size;
        double *frames = whole_clip(*name, &size), *shape = calloc(size, sizeof *shape);
        sinew_session *session = test_session(*name);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
            test_frame(sinew_session_solver(session), order[i], shape);
            compare(*name, 0, order[i], size, shape, frames + (size_t)order[i] * size);
        }
        sinew_session_destroy(session);
        free(frames), free(shape);
    }
}

static void a_built_model_knows_its_past(void **state) {
    (void)state;
    const struct {
        const char *name;
        sinew_past past;
    } rows[] = {{"linear", SINEW_PAST_NONE},  {"spring", SINEW_PAST_RUN},
                {"friction", SINEW_PAST_ALL}, {"modal", SINEW_PAST_NONE},
                {"force", SINEW_PAST_ALL},    {"layer", SINEW_PAST_ALL},
                {"apart", SINEW_PAST_NONE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sinew_session *session = test_session(rows[i].name);
        int run;
        assert_ok(sinew_session_prepare(session, NULL, &error));
        assert_int_equal(sinew_session_past(session, &run), rows[i].past);
        assert_int_equal(run > 0, rows[i].past == SINEW_PAST_RUN);
        sinew_session_destroy(session);
    }
}

static void damaged_and_foreign_states_are_refused(void **state) {
    (void)state;
    sinew_session *session = test_session("force"), *other = test_session("friction");
    assert_ok(sinew_session_prepare(session, NULL, &error));
    assert_ok(sinew_session_prepare(other, NULL, &error));
    sinew_solver *solver = sinew_session_solver(session);
    size_t size = 3 * (size_t)test_vertex_count(solver), bytes;
    double *before = calloc(size, sizeof *before), *after = calloc(size, sizeof *after);
    void *saved;
    test_frame(solver, 3, before);
    assert_ok(sinew_solver_save_state(solver, &saved, &bytes, &error));
    assert_int_equal(sinew_solver_load_state(sinew_session_solver(other), saved, bytes, &error),
                     SINEW_BAD_INPUT);
    for (size_t at = 0; at < bytes; at += bytes / 97) {
        ((char *)saved)[at] ^= 4;
        assert_int_equal(sinew_solver_load_state(solver, saved, bytes, &error), SINEW_BAD_INPUT);
        ((char *)saved)[at] ^= 4;
    }
    for (size_t shorter = 0; shorter < bytes; shorter += bytes / 61)
        assert_int_equal(sinew_solver_load_state(solver, saved, shorter, &error), SINEW_BAD_INPUT);
    assert_ok(sinew_solver_load_state(solver, saved, bytes, &error));
    test_frame(solver, 4, before);
    sinew_solver_reset(solver);
    test_frame(solver, 4, after);
    assert_memory_equal(before, after, size * sizeof *before);
    sinew_free(saved);
    free(before), free(after);
    sinew_session_destroy(session);
    sinew_session_destroy(other);
}

int test_chunks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_with_checkpoints_equal_the_whole_clip),
        cmocka_unit_test(frames_in_any_order_equal_the_whole_clip),
        cmocka_unit_test(a_built_model_knows_its_past),
        cmocka_unit_test(damaged_and_foreign_states_are_refused),
    };
    return cmocka_run_group_tests_name("chunks", tests, NULL, NULL);
}
