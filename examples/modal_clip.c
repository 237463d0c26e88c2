/* Play a clip between two key poses that swings and settles, at any time and in any order.
 *
 * cc modal_clip.c $(pkg-config --cflags --libs sinew) -lm -o modal_clip */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sinew/modal.h>
#include <sinew/samples.h>

static void need(sinew_status status, const sinew_error *error) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

int main(void) {
    sinew_error error;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = 1000;
    sinew_rig *rig;
    need(sinew_sample_rig("bar", &size, &rig, &error), &error);
    const sinew_mesh *mesh = sinew_rig_neutral(rig);

    /* The body and its vibration modes, once per mesh. A cage works for every surface. */
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.body = SINEW_MODAL_BODY_CAGE;
    options.cells = 16;
    options.modes = 20;
    sinew_modal *modal;
    need(sinew_modal_create(mesh, &options, NULL, &modal, &error), &error);

    /* From the neutral at 0 s to the first target at 1 s. */
    size_t coordinates = 3 * (size_t)sinew_mesh_vertex_count(mesh);
    double *bent = malloc(sizeof(double) * coordinates);
    double *positions = malloc(sizeof(double) * coordinates);
    if (!bent || !positions) return 1;
    sinew_rig_shape(rig, 0, bent);
    const double *poses[] = {sinew_mesh_positions(mesh), bent}, times[] = {0, 1};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    parameters.swings = 2;
    parameters.damping = 0.2;
    sinew_modal_motion *motion;
    sinew_modal_state *state;
    need(sinew_modal_motion_create(modal, &keys, &parameters, NULL, &motion, &error), &error);
    need(sinew_modal_state_create(modal, &state, &error), &error);

    for (int k = 0; k <= 24; k += 2) {
        double time = k / 12.0, farthest = 0;
        sinew_modal_frame(motion, state, time, positions);
        for (size_t i = 0; i < coordinates; i++)
            farthest = fmax(farthest, fabs(positions[i] - bent[i]));
        printf("%.2f s: up to %.4f from the second key\n", time, farthest);
    }

    sinew_modal_state_destroy(state);
    sinew_modal_motion_destroy(motion);
    sinew_modal_destroy(modal);
    free(positions);
    free(bent);
    sinew_rig_destroy(rig);
}
