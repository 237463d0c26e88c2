/* A clip with friction: contacts, figures, frames that do not converge, and a checkpoint.
 *
 * cc friction_checkpoint.c $(pkg-config --cflags --libs sinew) -o friction_checkpoint */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sinew/session.h>

enum { CONTACTS = 256, LAST = 6 };
static const char scene_text[] =
    "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 1000}, \"model\": \"spring\", "
    "\"parameters\": {\"friction\": 0.3, \"interior\": \"none\"}, \"time\": {\"fps\": 20}, "
    "\"curves\": {\"times\": [0, 1], \"values\": {\"bend120\": [0, 0.5]}}, \"obstacles\": "
    "[{\"shape\": \"sphere\", \"center\": [0.5, 0.3, 0], \"radius\": 0.25}]}";

static sinew_error error;

static void need(sinew_status status) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static sinew_session *open_scene(void) {
    sinew_scene *scene;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    need(sinew_scene_parse(scene_text, "example", NULL, &scene, &error));
    need(sinew_session_create(scene, &options, &session, &error));
    sinew_scene_destroy(scene);
    need(sinew_session_prepare(session, NULL, &error));
    return session;
}

static void solve_frame(sinew_solver *solver, int frame, double *positions) {
    static sinew_contact contacts[CONTACTS];
    sinew_input input;
    sinew_result result;
    double rounds;
    sinew_input_init(&input);
    sinew_result_init(&result);
    input.frame = frame;
    result.positions = positions;
    result.contacts = contacts, result.contact_capacity = CONTACTS;
    need(sinew_figures_create(&result.figures, &error));
    sinew_status status = sinew_solver_solve(solver, &input, &result, NULL, &error);
    if (status == SINEW_NOT_CONVERGED) /* the best shape is there: show it, and say so */
        printf("frame %d: residual %.2g\n", frame, result.residual);
    else
        need(status);
    sinew_figures_get(result.figures, "rounds", &rounds);
    printf("frame %d: %d contacts after %g rounds", frame, result.contact_count, rounds);
    if (result.contacts_returned > 0)
        printf("; the first presses vertex %d with %.2g along y", contacts[0].vertex,
               contacts[0].force[1]);
    printf("\n");
    sinew_figures_destroy(result.figures);
}

int main(void) {
    sinew_session *first = open_scene(), *second = open_scene();
    sinew_solver *solver = sinew_session_solver(first), *resumed = sinew_session_solver(second);
    size_t count = 3 * (size_t)sinew_mesh_vertex_count(sinew_rig_neutral(sinew_session_rig(first)));
    double *whole = malloc(2 * count * sizeof *whole), *rest = whole + count;
    if (!whole || sinew_solver_past(solver, NULL) != SINEW_PAST_ALL) return 1;
    void *state;
    size_t size;
    for (int frame = 0; frame < LAST; frame++) solve_frame(solver, frame, whole);
    need(sinew_solver_save_state(solver, &state, &size, &error)); /* after frame LAST - 1 */
    solve_frame(solver, LAST, whole);
    need(sinew_solver_load_state(resumed, state, size, &error)); /* in another program, say */
    solve_frame(resumed, LAST, rest);                            /* computes this frame only */
    bool same = memcmp(whole, rest, count * sizeof *whole) == 0;
    printf("%zu bytes of state; the resumed frame has the same bits: %s\n", size,
           same ? "yes" : "no");
    sinew_free(state);
    free(whole);
    sinew_session_destroy(second);
    sinew_session_destroy(first);
    return same ? 0 : 1;
}
