/* Memory that runs out at any allocation, of the library or of its JSON reader, in any model: every
 * call says so, loses nothing, and does not give another result instead. */
#include "support.h"

#include <jansson.h>

#include "algebra/solver_libraries.h"
#include "base/memory.h"
#include "groups.h"
#include "scenes.h"

static sinew_error error;

/* What everybody does with a session; `shape` gets the last frame. */
static sinew_status use_session(sinew_session *session, double *shape) {
    sinew_status status = sinew_session_prepare(session, NULL, &error);
    if (status != SINEW_OK) return status;
    sinew_solver *solver = sinew_session_solver(session), *other = NULL;
    sinew_input input;
    sinew_input_init(&input);
    sinew_result result;
    sinew_result_init(&result);
    result.positions = shape;
    for (input.frame = 0; input.frame < 2 && status <= SINEW_NOT_CONVERGED; input.frame++)
        status = sinew_solver_solve(solver, &input, &result, NULL, &error);
    if (status > SINEW_NOT_CONVERGED) return status;
    void *saved = NULL;
    char *text = NULL;
    size_t size;
    status = sinew_solver_create(session, NULL, &other, &error);
    if (status == SINEW_OK) status = sinew_solver_save_state(solver, &saved, &size, &error);
    if (status == SINEW_OK) status = sinew_solver_load_state(other, saved, size, &error);
    if (status == SINEW_OK) status = sinew_solver_copy_state(solver, other, &error);
    if (status == SINEW_OK) status = sinew_session_describe(session, &text, &error);
    sinew_free(text), text = NULL;
    if (status == SINEW_OK)
        status = sinew_session_set(session, "/time/fps", "25", &text, NULL, &error);
    sinew_free(text), text = NULL;
    if (status == SINEW_OK)
        status = sinew_session_patch(session,
                                     "[{\"op\": \"add\", \"path\": \"/strict\", \"value\": false}]",
                                     &text, NULL, &error);
    sinew_free(text), text = NULL;
    if (status == SINEW_OK) status = sinew_session_text(session, &text, &error);
    sinew_free(text);
    if (status == SINEW_OK) status = sinew_solver_update(other, NULL, &error);
    sinew_free(saved);
    sinew_solver_destroy(other);
    return status;
}

static sinew_status use_scene(const char *name, double *shape) {
    sinew_scene *scene = NULL;
    sinew_session *session = NULL;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    sinew_status status = sinew_scene_parse(test_scene(name), name, test_folder(), &scene, &error);
    if (status == SINEW_OK) status = sinew_session_create(scene, &options, &session, &error);
    sinew_scene_destroy(scene);
    if (status == SINEW_OK) status = use_session(session, shape);
    sinew_session_destroy(session);
    return status;
}

/* jansson takes from the same purse. */
static void *take(size_t size) {
    return sn_alloc(size, 1);
}

/* The first allocations one by one, then some of the rest. SINEW_EVERY=1: all;
 * SINEW_EVERY=spring:951 that one alone. */
static void every_model_says_so(void **state) {
    (void)state;
    enum { SHAPE = 3 * 20000 };
    double *right = calloc(SHAPE, sizeof *right), *shape = calloc(SHAPE, sizeof *shape);
    const char *every = getenv("SINEW_EVERY");
    json_set_alloc_funcs(take, sn_free);
    for (const char *const *name = test_scene_names; *name; name++) {
        const char *one = every ? strchr(every, ':') : NULL;
        if (one && (strlen(*name) != (size_t)(one - every) || strncmp(*name, every, strlen(*name))))
            continue;
        use_scene(*name, right);                 /* what is made once per process */
        memset(right, 0, SHAPE * sizeof *right); /* the one before may have had more vertices */
        test_memory_limit(1 << 30);
        sinew_status status = use_scene(*name, right);
        long total = (1 << 30) - test_memory_restore().left;
        if (status != SINEW_OK) fail_msg("%s: %s", *name, error.message);
        print_message("%s: %ld allocations\n", *name, total);
        for (long allowed = one ? strtol(one + 1, NULL, 10) : 0; allowed < total;
             allowed += every ? 1 : 1 + allowed / 2) {
            memset(shape, 0, SHAPE * sizeof *shape);
            test_memory_limit(allowed);
            status = use_scene(*name, shape);
            test_memory_use use = test_memory_restore();
            if (use.living != 0)
                fail_msg("%s: %ld blocks are lost when allocation %ld fails", *name, use.living,
                         allowed);
            if (status == SINEW_OK && !memcmp(shape, right, SHAPE * sizeof *shape)) continue;
            if (status != SINEW_NO_MEMORY)
                fail_msg("%s: allocation %ld fails: %s, %s", *name, allowed,
                         sinew_status_name(status), error.message);
        }
    }
    json_set_alloc_funcs(malloc, free);
    free(right), free(shape);
}

/* OpenBLAS and its kin are loaded when they are needed, and may not be there. */
static void without_solvers_there_is_a_status_or_the_right_result(void **state) {
    (void)state;
    enum { SHAPE = 3 * 20000 };
    double *right = calloc(SHAPE, sizeof *right), *shape = calloc(SHAPE, sizeof *shape);
    int refused = 0;
    for (const char *const *name = test_scene_names; *name; name++) {
        memset(right, 0, SHAPE * sizeof *right), memset(shape, 0, SHAPE * sizeof *shape);
        sinew_status status = use_scene(*name, right);
        if (status != SINEW_OK) fail_msg("%s: %s", *name, error.message);
        sn_solvers_hidden = true;
        status = use_scene(*name, shape);
        sn_solvers_hidden = false;
        refused += status == SINEW_UNAVAILABLE;
        if (status == SINEW_OK && !memcmp(shape, right, SHAPE * sizeof *shape)) continue;
        if (status != SINEW_UNAVAILABLE)
            fail_msg("%s without solvers: %s", *name, sinew_status_name(status));
    }
    assert_true(refused >= 5);
    sinew_rig *rig;
    sinew_slider_space *space;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    sn_solvers_hidden = true;
    assert_int_equal(sinew_slider_space_create(rig, &space, &error), SINEW_UNAVAILABLE);
    sn_solvers_hidden = false;
    sinew_rig_destroy(rig);
    free(right), free(shape);
}

int test_no_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_says_so),
        cmocka_unit_test(without_solvers_there_is_a_status_or_the_right_result)};
    return cmocka_run_group_tests_name("no memory", tests, NULL, NULL);
}
