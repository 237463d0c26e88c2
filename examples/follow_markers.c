/* Follow captured markers: from marker positions to slider curves, and to a simulated skin.
 *
 * cc follow_markers.c $(pkg-config --cflags --libs sinew) -lm -o follow_markers */
#include <stdio.h>
#include <stdlib.h>

#include <sinew/fit.h>
#include <sinew/force.h>
#include <sinew/io.h>
#include <sinew/samples.h>

static void need(sinew_status status, const sinew_error *error) {
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

int main(void) {
    sinew_error error;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = 3000;
    sinew_rig *rig;
    sinew_markers *take;
    sinew_marker_map *map; /* where each marker sits on the face */
    need(sinew_sample_rig("face", &size, &rig, &error), &error);
    need(sinew_sample_markers("face", &size, NULL, &take, &map, &error), &error);

    /* 1. Slider curves by least squares, for animators. */
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    options.smooth = 0.05;
    sinew_fit *fit;
    sinew_curves *curves;
    need(sinew_fit_create(rig, map, &options, &fit, &error), &error);
    need(sinew_fit_take(fit, take, NULL, &curves, NULL, &error), &error);
    need(sinew_curves_write("follow_markers.csv", curves, &error), &error);
    printf("follow_markers.csv: %d sliders at %d times\n", sinew_curves_channel_count(curves),
           sinew_curves_time_count(curves));

    /* 2. A skin with elasticity and inertia, steered by the same markers. */
    sinew_force_options skin;
    sinew_force_options_init(&skin);
    skin.frame_time = 1.0 / 60;
    sinew_force *force;
    sinew_force_state *state;
    need(sinew_force_create(rig, map, &skin, NULL, &force, &error), &error);
    need(sinew_force_state_create(force, &state, &error), &error);
    size_t stride = 3 * (size_t)sinew_markers_count(take);
    double *positions =
        malloc(sizeof(double) * 3 * (size_t)sinew_mesh_vertex_count(sinew_rig_neutral(rig)));
    if (!positions) return 1;
    for (int frame = 60; frame < 70; frame++) { /* frames come in order: the skin has a past */
        const double *markers = sinew_markers_positions(take) + (size_t)frame * stride;
        sinew_force_frame_info info = {.size = sizeof info};
        need(sinew_force_frame(force, state, markers, NULL, positions, &info, NULL, &error),
             &error);
        printf("frame %d: %d markers, %.2f mm from their targets on average\n", frame, info.seen,
               1000 * info.marker_error);
    }

    free(positions);
    sinew_force_state_destroy(state);
    sinew_force_destroy(force);
    sinew_curves_destroy(curves);
    sinew_fit_destroy(fit);
    sinew_marker_map_destroy(map);
    sinew_markers_destroy(take);
    sinew_rig_destroy(rig);
}
