/* Evaluate a rig in a loop: slider weights in, positions out, as a game or a viewport does.
 *
 *   evaluate_rig [RIG.glb]        without a file: the built-in face
 *
 * cc evaluate_rig.c $(pkg-config --cflags --libs sinew) -lm -o evaluate_rig */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sinew/io.h>
#include <sinew/rig.h>
#include <sinew/samples.h>

static void need(sinew_status status, const sinew_error *error) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

int main(int count, char **words) {
    sinew_error error;
    sinew_rig *rig;
    const char *path = count > 1 ? words[1] : NULL;
    need(path ? sinew_rig_read(1, &path, &rig, &error)
              : sinew_sample_rig("face", NULL, &rig, &error),
         &error);

    /* Built once per rig, constant, shared between threads. */
    sinew_linear *linear;
    need(sinew_linear_create(rig, &linear, &error), &error);

    int sliders = sinew_rig_slider_count(rig);
    int vertices = sinew_mesh_vertex_count(sinew_rig_neutral(rig));
    double *weights = malloc(sizeof(double) * (size_t)sliders);
    double *positions = malloc(sizeof(double) * 3 * (size_t)vertices);
    if (!weights || !positions) return 1;
    sinew_rig_rest_weights(rig, weights);

    /* Move one slider after the other from its rest to 1. Evaluation allocates nothing. */
    const double *neutral = sinew_mesh_positions(sinew_rig_neutral(rig));
    for (int s = 0; s < sliders; s++) {
        double rest = weights[s], farthest = 0;
        weights[s] = 1;
        sinew_linear_evaluate(linear, weights, positions);
        weights[s] = rest;
        for (int i = 0; i < 3 * vertices; i++)
            farthest = fmax(farthest, fabs(positions[i] - neutral[i]));
        printf("%-24s moves a coordinate by up to %.4g\n", sinew_rig_slider_name(rig, s), farthest);
    }

    free(positions);
    free(weights);
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
}
