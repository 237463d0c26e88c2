/* Baking the rotation-aware blend into targets. Its own cost is in bench_size.c. */
#include <stdio.h>
#include <stdlib.h>

#include "base/threads.h"
#include "bench.h"

typedef struct rotation_case {
    sinew_rig *rig;
    sinew_rotation *rotation;
    sinew_rotation_state *state;
} rotation_case;

static sinew_status blend(const double *weights, double *positions, void *user,
                          const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor, (void)error;
    rotation_case *c = user;
    sinew_rotation_evaluate(c->rotation, c->state, weights, positions);
    return SINEW_OK;
}

static void bake(bench *b) {
    sinew_error error;
    rotation_case c = {0};
    sinew_rig *baked;
    sinew_bake_info info = {.size = sizeof info};
    bench_need(sinew_sample_rig("face", NULL, &c.rig, &error), &error);
    bench_need(sinew_rotation_create(c.rig, NULL, NULL, &c.rotation, &error), &error);
    bench_need(sinew_rotation_state_create(c.rotation, &c.state, &error), &error);
    double begin = sn_now();
    bench_need(sinew_bake(c.rig, NULL, blend, &c, NULL, &baked, &info, &error), &error);
    char figures[120];
    snprintf(figures, sizeof figures, "\"vertices\": %d, \"samples\": %d",
             c.rig->neutral->vertex_count, info.samples);
    bench_report_more(b, NULL, sn_now() - begin, 0, NULL, figures);
    sinew_rig_destroy(baked);
    sinew_rotation_state_destroy(c.state);
    sinew_rotation_destroy(c.rotation);
    sinew_rig_destroy(c.rig);
}

const bench_case bench_rotation[] = {
    {"bake-face", "40 targets for the sample face, 2400 samples", bake},
    BENCH_END,
};
