/* Bend a bar around a ball: the equilibrium of a spring network that leans on an obstacle.
 *
 * cc springs_and_ball.c $(pkg-config --cflags --libs sinew) -lm -o springs_and_ball */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sinew/samples.h>
#include <sinew/spring.h>

static void need(sinew_status status, const sinew_error *error) {
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

int main(void) {
    sinew_error error;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = 1500;
    sinew_rig *rig;
    need(sinew_sample_rig("bar", &size, &rig, &error), &error);

    /* Structure: network, rest lengths and preconditioner. State: one per thread. */
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.interior = false; /* a skin of springs, without tetrahedra inside */
    options.time_limit = 5;   /* seconds per frame */
    sinew_spring *spring;
    sinew_spring_state *state;
    need(sinew_spring_create(rig, &options, NULL, &spring, &error), &error);
    need(sinew_spring_state_create(spring, &state, &error), &error);

    int sliders = sinew_rig_slider_count(rig), n = sinew_mesh_vertex_count(sinew_rig_neutral(rig));
    double *weights = malloc(sizeof(double) * (size_t)sliders);
    double *positions = malloc(sizeof(double) * 3 * (size_t)n);
    if (!weights || !positions) return 1;
    sinew_rig_rest_weights(rig, weights);

    /* A ball where the vertex that moves farthest would come to rest. */
    const double *rest = sinew_mesh_positions(sinew_rig_neutral(rig));
    sinew_rig_shape(rig, 0, positions);
    double center[3] = {0}, farthest = 0;
    for (int v = 0; v < n; v++) {
        const double *a = rest + 3 * v, *b = positions + 3 * v;
        double distance = sqrt(pow(b[0] - a[0], 2) + pow(b[1] - a[1], 2) + pow(b[2] - a[2], 2));
        if (distance <= farthest) continue;
        farthest = distance;
        for (int k = 0; k < 3; k++) center[k] = b[k];
    }
    sinew_obstacle *ball;
    need(sinew_obstacle_create_sphere(center, 0.04 * farthest, &ball, &error), &error);
    const sinew_obstacle *obstacles[] = {ball};

    for (int k = 0; k <= 4; k++) {
        weights[0] = k / 4.0;
        sinew_spring_frame frame = {.size = sizeof frame,
                                    .weights = weights,
                                    .index = k,
                                    .obstacle_count = 1,
                                    .obstacles = obstacles};
        sinew_spring_frame_info info = {.size = sizeof info};
        need(sinew_spring_solve(spring, state, &frame, positions, &info, NULL, &error), &error);
        double nearest = INFINITY;
        for (int v = 0; v < n; v++)
            nearest = fmin(nearest, sinew_obstacle_distance(ball, positions + 3 * v, NULL));
        printf("%s %.2f: %3d contacts, %d Newton steps, distance to the ball %+.1e\n",
               sinew_rig_slider_name(rig, 0), weights[0], info.contacts, info.iterations, nearest);
    }

    sinew_obstacle_destroy(ball);
    free(positions);
    free(weights);
    sinew_spring_state_destroy(state);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}
