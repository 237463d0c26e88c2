/* Cancel a solve from another thread: the call returns SINEW_CANCELLED and everything stays usable.
 *
 * cc cancel_solve.c $(pkg-config --cflags --libs sinew) -pthread -o cancel_solve */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <sinew/samples.h>
#include <sinew/spring.h>

/* Polled by the library once per iteration, on the thread that made the call. */
static bool cancelled(void *user) {
    return atomic_load((atomic_bool *)user);
}

typedef struct work {
    const sinew_spring *spring;
    sinew_spring_state *state;
    double *weights, *positions;
    sinew_monitor monitor;
    sinew_status status;
} work;

static void *solve(void *user) {
    work *w = user;
    sinew_error error;
    sinew_spring_frame frame = {.size = sizeof frame, .weights = w->weights, .index = -1};
    w->status =
        sinew_spring_solve(w->spring, w->state, &frame, w->positions, NULL, &w->monitor, &error);
    return NULL;
}

int main(void) {
    sinew_error error;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = 2000;
    sinew_rig *rig;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.interior = false;
    sinew_spring *spring;
    sinew_spring_state *state;
    if (sinew_sample_rig("arm", &size, &rig, &error) != SINEW_OK ||
        sinew_spring_create(rig, &options, NULL, &spring, &error) != SINEW_OK ||
        sinew_spring_state_create(spring, &state, &error) != SINEW_OK)
        return fprintf(stderr, "%s\n", error.message), 1;

    atomic_bool stop = true; /* pressed before the solve begins, so that the example is certain */
    int n = sinew_mesh_vertex_count(sinew_rig_neutral(rig));
    work w = {.spring = spring, .state = state, .monitor = {.cancelled = cancelled, .user = &stop}};
    w.weights = calloc((size_t)sinew_rig_slider_count(rig), sizeof(double));
    w.positions = calloc(3 * (size_t)n, sizeof(double));
    if (!w.weights || !w.positions) return 1;
    w.weights[0] = 0.5;

    for (int run = 0; run < 2; run++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, solve, &w)) return 1;
        pthread_join(thread, NULL);
        printf("%s: %s\n", run == 0 ? "with the stop button pressed" : "and again without",
               sinew_status_name(w.status));
        if (w.status != (run == 0 ? SINEW_CANCELLED : SINEW_OK)) return 1;
        atomic_store(&stop, false);
    }

    free(w.positions);
    free(w.weights);
    sinew_spring_state_destroy(state);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}
