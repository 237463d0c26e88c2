/* Making the built-in rigs, from a thousand vertices to two hundred thousand. Bound: the bytes of
 * the finished rig, written once. */
#include <stdio.h>

#include "bench.h"

typedef struct sample_case {
    const char *name;
    sinew_sample_options options;
    double bytes;
} sample_case;

static void make(void *user) {
    sample_case *c = user;
    sinew_error error;
    sinew_rig *rig;
    bench_need(sinew_sample_rig(c->name, &c->options, &rig, &error), &error);
    const sinew_mesh *mesh = rig->neutral;
    c->bytes = 24.0 * mesh->vertex_count + 16.0 * mesh->face_count + 16.0 * mesh->triangle_count;
    for (int k = 0; k < rig->target_count; k++) c->bytes += 28.0 * rig->targets[k].count;
    sinew_rig_destroy(rig);
}

static void run(bench *b) {
    const int sizes[] = {1000, 20000, 200000};
    for (int i = 0; i < sinew_sample_count(); i++)
        for (int k = 0; k < 3; k++) {
            sample_case c = {sinew_sample_name(i), {.vertices = sizes[k]}, 0};
            char name[64], limit[64];
            double seconds = bench_time(b, make, &c);
            snprintf(name, sizeof name, "%s, %dk", c.name, sizes[k] / 1000);
            snprintf(limit, sizeof limit, "write %.1f MB", 1e-6 * c.bytes);
            bench_report(b, name, seconds, c.bytes / bench_read_bandwidth(b, c.bytes), limit);
        }
}

const bench_case bench_samples[] = {
    {"make", "each built-in rig with its targets", run},
    BENCH_END,
};
