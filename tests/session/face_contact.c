/* Contact of the parts of a face, with models that blend more than positions. */
#include "support.h"

#include <limits.h>

#include "base/scope.h"
#include "groups.h"
#include "sinew/query.h"
#include "sinew/samples.h"
#include "sinew/sinew.h"

static sinew_error error;

#define CLOSED                                                                                     \
    "\"weights\": {\"eyeBlinkLeft\": 1, \"eyeSquintLeft\": 1, \"cheekSquintLeft\": 1, "            \
    "\"mouthClose\": 0.6, \"mouthShrugLower\": 1}"
#define SCENE(model, parameters)                                                                   \
    "{\"sinew\": 1, \"model\": \"" model "\", \"parameters\": {" parameters "}, " CLOSED "}"
#define APART "\"self_contact\": true"

/* The sample face, with eyeballs that lie farther in front. */
static sinew_rig *make_face(double shift) {
    sinew_rig *rig;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = 1500;
    assert_ok(sinew_sample_rig("face", &options, &rig, &error));
    sinew_anatomy *anatomy;
    assert_ok(sinew_anatomy_create(rig, NULL, &anatomy, &error));
    int *vertices, count;
    assert_ok(sinew_anatomy_region(anatomy, "eyes", &vertices, &count, &error));
    assert_true(count > 0);
    for (int k = 0; k < count; k++) rig->neutral->positions[3 * vertices[k] + 2] += shift;
    sinew_free(vertices);
    sinew_anatomy_destroy(anatomy);
    return rig;
}

static sinew_session *open_session(const char *text, const sinew_rig *rig) {
    sinew_scene *scene;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.rig = rig;
    assert_ok(sinew_scene_parse(text, "s", NULL, &scene, &error));
    assert_ok(sinew_session_create(scene, &options, &session, &error));
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_scene_destroy(scene);
    return session;
}

static double *solve(const char *text, const sinew_rig *rig, int *contacts) {
    sinew_session *session = open_session(text, rig);
    double *x = calloc(3 * (size_t)rig->neutral->vertex_count, sizeof *x);
    sinew_input input;
    sinew_input_init(&input);
    sinew_result result;
    sinew_result_init(&result);
    result.positions = x;
    assert_ok(sinew_session_solve(session, &input, &result, NULL, &error));
    *contacts = result.contact_count;
    sinew_session_destroy(session);
    return x;
}

static int crossings(const sinew_mesh *mesh, const double *x) {
    int *pairs = NULL, count = 0;
    assert_ok(sinew_self_intersections(mesh->vertex_count, x, mesh->triangle_count, mesh->triangles,
                                       NULL, &pairs, &count, &error));
    sinew_free(pairs);
    return count;
}

static void a_rotation_blend_is_pressed_apart(void **state) {
    (void)state;
    sinew_rig *rig = make_face(0);
    int contacts, without;
    double *plain = solve(SCENE("rotation", ""), rig, &without);
    double *apart = solve(SCENE("rotation", APART), rig, &contacts);
    assert_int_equal(crossings(rig->neutral, rig->neutral->positions), 0);
    assert_true(crossings(rig->neutral, plain) > 20);
    assert_int_equal(crossings(rig->neutral, apart), 0);
    assert_int_equal(without, 0);
    assert_true(contacts > 0);
    sinew_skin_contact *contact;
    sinew_skin_contact_state *own;
    assert_ok(sinew_skin_contact_create(rig, NULL, NULL, &contact, &error));
    assert_ok(sinew_skin_contact_state_create(contact, &own, &error));
    assert_ok(sinew_skin_contact_apply(own, plain, NULL, &error));
    assert_memory_equal(plain, apart, 3 * sizeof *plain * (size_t)rig->neutral->vertex_count);
    sinew_skin_contact_state_destroy(own), sinew_skin_contact_destroy(contact);
    free(plain), free(apart);
    sinew_rig_destroy(rig);
}

/* Triangles of eyes that intersect skin. */
static int crossed_by_eyes(const sinew_rig *rig, const double *x) {
    const sinew_mesh *mesh = rig->neutral;
    sinew_anatomy *anatomy;
    int *pairs = NULL, count = 0, found = 0;
    assert_ok(sinew_anatomy_create(rig, NULL, &anatomy, &error));
    assert_ok(sinew_self_intersections(mesh->vertex_count, x, mesh->triangle_count, mesh->triangles,
                                       NULL, &pairs, &count, &error));
    for (int k = 0; k < count; k++) {
        bool eye = false, skin = false;
        for (int side = 0; side < 2; side++) {
            int v = mesh->triangles[3 * (size_t)pairs[2 * k + side]];
            int piece = sinew_anatomy_pieces(anatomy)[v];
            eye |= sinew_anatomy_piece_kind(anatomy, piece) == SINEW_PIECE_KIND_EYE;
            skin |= sinew_anatomy_skin(anatomy)[v] &&
                    sinew_anatomy_piece_kind(anatomy, piece) == SINEW_PIECE_KIND_SKIN;
        }
        found += eye && skin;
    }
    sinew_free(pairs);
    sinew_anatomy_destroy(anatomy);
    return found;
}

/* The eyes lie so far in front that they intersect their lids in the neutral: contact of the
 * springs leaves them out. */
static void lids_stay_on_eyes_that_springs_leave_out(void **state) {
    (void)state;
    sinew_rig *rig = make_face(0.0035);
    int contacts;
    double *plain = solve(SCENE("spring", ""), rig, &contacts);
    double *apart = solve(SCENE("spring", APART), rig, &contacts);
    assert_true(crossings(rig->neutral, rig->neutral->positions) > 0);
    assert_int_equal(crossed_by_eyes(rig, rig->neutral->positions), 0);
    assert_true(crossed_by_eyes(rig, plain) > 20);
    assert_int_equal(crossed_by_eyes(rig, apart), 0);
    free(plain), free(apart);
    sinew_rig_destroy(rig);
}

/* What is pinned stays where the springs have it, as beside an obstacle, where nothing is pressed.
 */
static void pinned_lids_are_not_pressed(void **state) {
    (void)state;
#define PINNED(more)                                                                               \
    "{\"sinew\": 1, \"model\": \"spring\", \"parameters\": {" APART                                \
    ", \"boundary\": \"pinned\"}, \"pins\": [{\"select\": \"v:0-399\"}], " more CLOSED "}"
#define FAR "\"obstacles\": [{\"shape\": \"sphere\", \"center\": [9, 9, 9], \"radius\": 0.1}], "
    sinew_rig *rig = make_face(0.0035);
    int n = 3 * rig->neutral->vertex_count, contacts, others = 0;
    double *pressed = solve(PINNED(""), rig, &contacts),
           *beside = solve(PINNED(FAR), rig, &contacts);
    for (int i = 0; i < 3 * 400; i++) assert_close(pressed[i], beside[i], 1e-6);
    for (int i = 3 * 400; i < n; i++) others += fabs(pressed[i] - beside[i]) > 1e-6;
    assert_true(others > 0);
    free(pressed), free(beside);
    sinew_rig_destroy(rig);
}

typedef struct countdown {
    int polls, used;
} countdown;

static bool count_down(void *user) {
    countdown *c = user;
    return c->used++ >= c->polls;
}

/* A frame of springs is complete when its lids are pressed apart; cancelled there, it never was. */
static void a_cancelled_press_leaves_no_trace(void **state) {
    (void)state;
    sinew_rig *rig = make_face(0.0035);
    sinew_session *session =
        open_session("{\"sinew\": 1, \"model\": \"spring\", \"parameters\": {" APART
                     "}, \"time\": {\"fps\": 30}, "
                     "\"curves\": {\"times\": [0, 0.1], \"values\": {\"eyeBlinkLeft\": [0.9, 1]}}}",
                     rig);
    sinew_solver *solver = sinew_session_solver(session);
    double *x = calloc(3 * (size_t)rig->neutral->vertex_count, sizeof *x);
    sinew_input input;
    sinew_input_init(&input);
    sinew_result result;
    sinew_result_init(&result);
    result.positions = x;
    input.frame = 0;
    assert_ok(sinew_solver_solve(solver, &input, &result, NULL, &error));
    input.frame = 1;
    int threads = sinew_threads();
    sinew_set_threads(1); /* how often several poll depends on which is first */
    sn_poll_always(true);
    void *saved, *again;
    size_t bytes, more;
    assert_ok(sinew_solver_save_state(solver, &saved, &bytes, &error));
    countdown all = {.polls = INT_MAX};
    sinew_monitor monitor = {.cancelled = count_down, .user = &all};
    assert_ok(sinew_solver_solve(solver, &input, &result, &monitor, &error));
    /* the last polls of the frame are those of the press */
    for (int polls = all.used - 12; polls < all.used; polls++) {
        assert_ok(sinew_solver_load_state(solver, saved, bytes, &error));
        countdown c = {.polls = polls};
        monitor.user = &c;
        sinew_status status = sinew_solver_solve(solver, &input, &result, &monitor, &error);
        assert_int_equal(status, SINEW_CANCELLED);
        assert_ok(sinew_solver_save_state(solver, &again, &more, &error));
        assert_int_equal(more, bytes);
        assert_memory_equal(saved, again, bytes);
        sinew_free(again);
    }
    sn_poll_always(false);
    sinew_set_threads(threads);
    sinew_free(saved);
    free(x);
    sinew_session_destroy(session);
    sinew_rig_destroy(rig);
}

int test_face_contact(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rotation_blend_is_pressed_apart),
        cmocka_unit_test(lids_stay_on_eyes_that_springs_leave_out),
        cmocka_unit_test(pinned_lids_are_not_pressed),
        cmocka_unit_test(a_cancelled_press_leaves_no_trace),
    };
    return cmocka_run_group_tests_name("face contact", tests, NULL, NULL);
}
