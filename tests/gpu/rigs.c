#include "rigs.h"

#include "support.h"

#include "sinew/samples.h"

sn_gpu *open_device(void) {
    sinew_error error = {0};
    sn_gpu *gpu = NULL;
    assert_ok(sn_gpu_open(&gpu, &error));
    return gpu;
}

sinew_rig *sample_rig(const char *name, int vertices) {
    sinew_error error = {0};
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = vertices;
    sinew_rig *rig = NULL;
    assert_ok(sinew_sample_rig(name, &options, &rig, &error));
    return rig;
}

void set_weights(const sinew_rig *rig, double share, double *weights) {
    for (int s = 0; s < rig->slider_count; s++)
        weights[s] = rig->sliders[s].rest + (s % 2 ? 0.5 : 1) * share * (1 - rig->sliders[s].rest);
}

double farthest(const sinew_rig *rig, const double *a, const double *b) {
    double worst = 0;
    int n = rig->neutral->vertex_count;
    for (int v = 0; v < n; v++) {
        double squared = 0;
        for (int c = 0; c < 3; c++) {
            double d = a[3 * v + c] - b[3 * v + c];
            squared += d * d;
        }
        if (!(squared <= worst)) worst = squared;
    }
    return sqrt(worst) / sinew_diagonal(n, rig->neutral->positions);
}

bool on_host(void) {
    sn_gpu *gpu = open_device();
    bool host = strcmp(sn_gpu_about(gpu)->name, "host emulation") == 0;
    sn_gpu_close(gpu);
    return host;
}
