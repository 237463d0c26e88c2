/* The slider loop of bench/slider_loop.py in C: microseconds of a solve on the sample face, median.
 * Usage: slider-loop MODEL FRAMES [cpu]; with "cpu", of CPU time of all threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sinew/samples.h"
#include "sinew/session.h"

static clockid_t measured = CLOCK_MONOTONIC;

static double seconds(void) {
    struct timespec now;
    clock_gettime(measured, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int fail(const sinew_error *error) {
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

int main(int count, char **arguments) {
    if (count != 3 && (count != 4 || strcmp(arguments[3], "cpu") != 0)) return 2;
    if (count == 4) measured = CLOCK_PROCESS_CPUTIME_ID;
    int frames = atoi(arguments[2]);
    if (frames < 1 || frames > 100000) return 2;
    char scene_text[160];
    snprintf(scene_text, sizeof scene_text, "{\"sinew\": 1, \"model\": \"%s\", \"weights\": {}}",
             arguments[1]);
    sinew_error error = {0};
    sinew_rig *rig = NULL;
    sinew_scene *scene = NULL;
    sinew_session *session = NULL;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    if (sinew_sample_rig("face", NULL, &rig, &error) != SINEW_OK) return fail(&error);
    if (sinew_scene_parse(scene_text, "scene", NULL, &scene, &error) != SINEW_OK)
        return fail(&error);
    options.rig = rig;
    if (sinew_session_create(scene, &options, &session, &error) != SINEW_OK ||
        sinew_session_prepare(session, NULL, &error) != SINEW_OK)
        return fail(&error);
    int sliders = sinew_rig_slider_count(rig), jaw = sinew_rig_find_slider(rig, "jawOpen");
    int vertices = sinew_mesh_vertex_count(sinew_rig_neutral(rig));
    float *positions = malloc(3 * (size_t)vertices * sizeof *positions);
    double *weights = malloc((size_t)sliders * sizeof *weights);
    double *taken = malloc((size_t)frames * sizeof *taken);
    if (!positions || !weights || !taken) return 1;
    sinew_rig_rest_weights(rig, weights);
    sinew_input input;
    sinew_result result;
    for (int k = -10; k < frames; k++) {
        double start = seconds();
        weights[jaw] = (double)((k + 10) % 100) / 99;
        sinew_input_init(&input);
        sinew_result_init(&result);
        input.weights = weights;
        result.positions_float = positions;
        if (sinew_session_solve(session, &input, &result, NULL, &error) > SINEW_NOT_CONVERGED)
            return fail(&error);
        if (k >= 0) taken[k] = 1e6 * (seconds() - start);
    }
    qsort(taken, (size_t)frames, sizeof *taken, ascending);
    printf("%.1f\n", taken[frames / 2]);
    free(positions), free(weights), free(taken);
    sinew_session_destroy(session);
    sinew_scene_destroy(scene);
    sinew_rig_destroy(rig);
    return 0;
}
