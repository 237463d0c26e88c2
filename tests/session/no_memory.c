/* Memory that runs out at any allocation, of the library or of its JSON reader, in any model: every
 * call says so, loses nothing, and does not give another result instead. */
#include "support.h"

#include <jansson.h>
#include <limits.h>

#include "algebra/solver_libraries.h"
#include "base/memory.h"
#include "groups.h"
#include "scenes.h"

#define BAR   "\"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\": {\"fps\": 20}, "
#define MOUTH "\"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSmileLeft.obj\"]}, "
#define SWING "\"curves\": {\"times\": [0, 2], \"values\": {\"bend120\": [0.02, 0.06]}}"
#define TALK  "\"curves\": {\"times\": [0, 1], \"values\": {\"jawOpen\": [0.1, 0.7]}}"

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

/* What else a scene can contain, a little of everything in each. */
static const struct {
    const char *name, *text;
} rich[] = {
    {"pulled", BAR "\"model\": \"spring\", \"parameters\": {\"max_rounds\": 3, "
                   "\"tolerance\": 1e-2, \"friction\": 0.2, \"self_contact\": true, "
                   "\"pose_depth\": \"all\", \"tie\": 0.02, \"altitude\": 0.5, \"guide\": 0.2, "
                   "\"pull_to_blend\": 0.1}, \"pins\": [{\"select\": \"v:0-7\"}], "
                   "\"pulls\": [{\"vertex\": 70, \"to\": [1, 0.1, 0], \"stiffness\": 0.1}], "
                   "\"orientations\": [{\"select\": \"v:64-71\", \"turn\": [0, 0, 20], "
                   "\"weight\": 0.5}], \"obstacles\": [{\"shape\": \"mesh\", \"file\": "
                   "\"ball.obj\", \"motion\": [{\"time\": 0, \"move\": [0.5, 0.9, 0]}, "
                   "{\"time\": 2, \"move\": [0.5, 0.8, 0]}]}, {\"shape\": \"capsule\", \"from\": "
                   "[0, -0.5, 0], \"to\": [1, -0.5, 0], \"radius\": 0.1}, {\"shape\": \"box\", "
                   "\"center\": [0, -2, 0], \"half\": [1, 1, 1]}, {\"shape\": \"plane\", "
                   "\"point\": [0, -0.2, 0], \"normal\": [0, 1, 0]}], " SWING},
    {"tets", BAR "\"model\": \"spring\", \"parameters\": {\"interior\": \"tets\", "
                 "\"volume\": 0.5, \"boundary\": \"anchor\", \"tolerance\": 1e-2, \"hold\": "
                 "\"v:0-7\"}, " SWING},
    {"keys", BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 6, \"stiffness_map\": "
                 "\"values.csv\", \"path\": \"path.csv\", \"body\": \"cage\", \"cells\": 6, "
                 "\"wiggly\": true}, \"pins\": [{\"select\": \"v:0-7\", \"stiffness\": 3}], "
                 "\"orientations\": [{\"select\": \"v:64-71\", \"turn\": [0, 0, 30], "
                 "\"weight\": 0.5}], \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": "
                 "1, \"weights\": {\"bend120\": 0.5}, \"velocity\": {\"bend120\": 1}}, "
                 "{\"time\": 2, \"pose\": \"bend120\"}]"},
    {"swinging", BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 6, \"fast\": true}, "
                     "\"pins\": [{\"select\": \"v:0-3\"}], " SWING},
    {"held", BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 6, \"hold\": \"v:0-7\"}, "
                 "\"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, \"pose\": "
                 "\"bend120\"}]"},
    {"shell", MOUTH "\"model\": \"modal\", \"parameters\": {\"modes\": 6, \"body\": "
                    "\"shell\", \"swings\": 2}, \"keys\": [{\"time\": 0, \"pose\": "
                    "\"neutral\"}, {\"time\": 1, \"pose\": \"jawOpen\"}]"},
    {"locked", MOUTH "\"locks\": [{\"name\": \"upper\", \"select\": \"v:0-40\"}], "
                     "\"attenuation\": {\"strength\": 0.8, \"trade\": true}, " TALK},
    {"flesh", MOUTH "\"model\": \"force\", \"parameters\": {\"flesh\": true, \"softness\": "
                    "\"values.csv\", \"contact\": \"all\", "
                    "\"stick\": 0.01, \"gravity\": 1, \"substeps\": 2, \"estimate_stiffness\": "
                    "true}, \"obstacles\": [{\"shape\": \"sphere\", \"center\": [0, 0, 0.09], "
                    "\"radius\": 0.035}], " TALK},
    {"head", MOUTH "\"model\": \"force\", \"parameters\": {\"layer\": true, "
                   "\"layer_contact\": \"on\", \"cutoff\": 8, \"outlier\": 0.03, "
                   "\"neutral_frame\": 0, \"stable\": \"m0,m3,m20,m23\"}, \"markers\": "
                   "{\"file\": \"take.csv\", \"map\": \"map.csv\"}"},
    {"other", MOUTH "\"model\": \"fit\", \"parameters\": {\"retarget\": true, "
                    "\"neutral_frame\": 0, \"method\": \"uls\", \"symmetry\": 0.1}, "
                    "\"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}"},
};

static void write_file(const char *name, const char *text) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void write_rich_files(void) {
    test_scene("linear"); /* writes the rigs and the take */
    write_file("ball.obj", "v 0.3 0 0\nv -0.3 0 0\nv 0 0.3 0\nv 0 -0.3 0\nv 0 0 0.3\n"
                           "v 0 0 -0.3\nf 1 3 5\nf 3 2 5\nf 2 4 5\nf 4 1 5\nf 3 1 6\n"
                           "f 2 3 6\nf 4 2 6\nf 1 4 6\n");
    write_file("values.csv", "vertex,value\n0,1\n3,0.5\n");
    write_file("path.csv", "time_s,guide.x,guide.y,guide.z\n0,0,0,0\n1,0,0.3,0\n2,0,0,0\n");
}

static const char *text_of(const char *name) {
    static char text[4096];
    for (size_t i = 0; i < sizeof rich / sizeof *rich; i++)
        if (!strcmp(rich[i].name, name)) {
            snprintf(text, sizeof text, "{\"sinew\": 1, %s}", rich[i].text);
            return text;
        }
    return test_scene(name);
}

static sinew_status use_scene(const char *name, double *shape) {
    sinew_scene *scene = NULL;
    sinew_session *session = NULL;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    sinew_status status = sinew_scene_parse(text_of(name), name, test_folder(), &scene, &error);
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

/* The scenes of the tests, then the rich ones. */
static const char *scene_name(int index) {
    for (int i = 0; test_scene_names[i]; i++, index--)
        if (index == 0) return test_scene_names[i];
    return index < (int)(sizeof rich / sizeof *rich) ? rich[index].name : NULL;
}

enum { SHAPE = 3 * 20000 };

/* Fails the test when a lack of memory is not reported, loses a block or changes the result. */
static void fail_allocation(const char *name, long allowed, bool gap, const double *right,
                            double *shape) {
    memset(shape, 0, SHAPE * sizeof *shape);
    gap ? test_memory_gap(allowed) : test_memory_limit(allowed);
    sinew_status status = use_scene(name, shape);
    test_memory_use use = test_memory_restore();
    const char *alone = gap ? " alone" : "";
    if (use.living != 0)
        fail_msg("%s: %ld blocks are lost when allocation %ld fails%s", name, use.living, allowed,
                 alone);
    if (status <= SINEW_NOT_CONVERGED && !memcmp(shape, right, SHAPE * sizeof *shape)) return;
    if (status != SINEW_NO_MEMORY)
        fail_msg("%s: allocation %ld fails%s: %s, %s", name, allowed, alone,
                 sinew_status_name(status), error.message);
}

/* One allocation of every path of callers. SINEW_EVERY=1: every path of every scene (support.h);
 * SINEW_EVERY=spring:951 each allocation of that scene from this one on. */
static void every_model_says_so(void **state) {
    (void)state;
    double *right = calloc(SHAPE, sizeof *right), *shape = calloc(SHAPE, sizeof *shape);
    const char *every = getenv("SINEW_EVERY"), *one = every ? strchr(every, ':') : NULL;
    write_rich_files();
    json_set_alloc_funcs(take, sn_free);
    if (every) sinew_set_threads(1); /* the same steps every time */
    const char *name;
    for (int index = 0; (name = scene_name(index)); index++) {
        if (one && (strlen(name) != (size_t)(one - every) || strncmp(name, every, strlen(name))))
            continue;
        use_scene(name, right);                  /* what is made once per process */
        memset(right, 0, SHAPE * sizeof *right); /* the one before may have had more vertices */
        test_memory_trace();
        sinew_status status = use_scene(name, right);
        const long *steps;
        long total = LONG_MAX - test_memory_restore().left, count = test_steps(&steps);
        if (status > SINEW_NOT_CONVERGED) fail_msg("%s: %s", name, error.message);
        print_message("%s: %ld allocations, %ld tried\n", name, total, one ? total : count);
        for (long i = one ? strtol(one + 1, NULL, 10) : 0; i < (one ? total : count); i++) {
            fail_allocation(name, one ? i : steps[i], false, right, shape);
            if (every) fail_allocation(name, one ? i : steps[i], true, right, shape);
        }
    }
    sinew_set_threads(0);
    json_set_alloc_funcs(malloc, free);
    free(right), free(shape);
}

/* OpenBLAS and its kin are loaded when they are needed, and may not be there. */
static void without_solvers_there_is_a_status_or_the_right_result(void **state) {
    (void)state;
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
