/* Benchmark cases of the modal room: frames, modes, parameters.
 *
 * Bound of a frame: every byte it must read once (mode shapes, gradients, residuals of two keys,
 * the factor twice) over the read bandwidth of a working set of that size. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algebra/cholesky.h"
#include "base/memory.h"
#include "base/threads.h"
#include "bench.h"
#include "modal/motion.h"

static const double PI = 3.14159265358979323846;
enum { FIELDS = 80 };

/* A bar of boxes cut into six tets each. */
static sinew_tets *make_bar(int nx, int ny, int nz) {
    sinew_tets *bar = SN_NEW0(sinew_tets, 1);
    bar->vertex_count = (nx + 1) * (ny + 1) * (nz + 1);
    bar->tet_count = 6 * nx * ny * nz;
    bar->positions = SN_NEW(double, 3 * bar->vertex_count);
    bar->tets = SN_NEW(int, 4 * bar->tet_count);
    int at = 0, *t = bar->tets;
    for (int i = 0; i <= nx; i++)
        for (int j = 0; j <= ny; j++)
            for (int k = 0; k <= nz; k++)
                sn_put(bar->positions, at++,
                       sn_v3((double)i / ny, (double)j / ny - 0.5, (double)k / ny - 0.4));
    static const int paths[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                    {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++)
                for (int p = 0; p < 6; p++, t += 4) {
                    int c[3] = {i, j, k};
                    for (int corner = 0; corner < 4; corner++) {
                        int place = corner == 1 && p >= 3 ? 2 : corner == 2 && p >= 3 ? 1 : corner;
                        t[place] = (c[0] * (ny + 1) + c[1]) * (nz + 1) + c[2];
                        if (corner < 3) c[paths[p][corner]]++;
                    }
                }
    return bar;
}

/* Bent by two radians. */
static double *make_pose(const sinew_tets *bar) {
    double *pose = SN_NEW(double, 3 * bar->vertex_count);
    double length = bar->positions[3 * (bar->vertex_count - 1)], radius = length / 2;
    for (int i = 0; i < bar->vertex_count; i++) {
        sn_vec3 p = sn_at(bar->positions, i);
        double a = p.x / radius;
        sn_put(pose, i, sn_v3((radius - p.y) * sin(a), radius - (radius - p.y) * cos(a), p.z));
    }
    return pose;
}

/* Waves in place of modes: a frame costs the same, and large bodies need no eigenpairs here. */
static double *make_fields(const sinew_tets *bar) {
    size_t size = 3 * (size_t)bar->vertex_count;
    double *fields = SN_NEW(double, size *FIELDS);
    double length = bar->positions[3 * (bar->vertex_count - 1)];
    for (int f = 0; f < FIELDS; f++)
        for (size_t i = 0; i < size; i++) {
            const double *p = bar->positions + 3 * (i / 3);
            double wave = cos(PI * (f / 9 + 1) * p[0] / length);
            double across = f % 9 < 3 ? 1 : f % 9 < 6 ? p[1] : p[2];
            fields[size * (size_t)f + i] = i % 3 == (size_t)(f % 3) ? wave * across : 0;
        }
    return fields;
}

typedef struct clip {
    sinew_modal *modal;
    sinew_modal_motion *motion;
    sinew_modal_state *state;
    sinew_modal_parameters parameters;
    double *positions;
    int frame;
} clip;

static void one_frame(void *user) {
    clip *c = user;
    sinew_modal_frame(c->motion, c->state, (c->frame++ % 97) / 97.0, c->positions);
}

static void one_update(void *user) {
    clip *c = user;
    c->parameters.damping = 0.1 + 0.001 * (c->frame++ % 100);
    bench_need(sinew_modal_motion_update(c->motion, &c->parameters, NULL), NULL);
}

static void make_clip(clip *c, const sinew_tets *bar, const sinew_modal_options *options,
                      const double *pose) {
    sinew_error error;
    const double times[2] = {0, 1}, *poses[2] = {bar->positions, pose};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    memset(c, 0, sizeof *c);
    sinew_modal_parameters_init(&c->parameters);
    c->positions = SN_NEW(double, 3 * bar->vertex_count);
    bench_need(sinew_modal_create_tets(bar, options, NULL, &c->modal, &error), &error);
    bench_need(sinew_modal_motion_create(c->modal, &keys, NULL, NULL, &c->motion, &error), &error);
    bench_need(sinew_modal_state_create(c->modal, &c->state, &error), &error);
}

static void free_clip(clip *c) {
    sinew_modal_state_destroy(c->state);
    sinew_modal_motion_destroy(c->motion);
    sinew_modal_destroy(c->modal);
    sn_free(c->positions);
}

/* Three lines: single precision as a clip at 30 frames a second has it, where modes too fast for
 * the frames stay on the straight path; the same with all modes swinging; double precision. */
static void frame_case(bench *b, int nx, int ny, int nz) {
    static const char *const names[] = {"float", "float, all swing", "double"};
    sinew_tets *bar = make_bar(nx, ny, nz);
    double *fields = make_fields(bar), *pose = make_pose(bar);
    for (int line = 0; line < 3; line++) {
        bool fast = line < 2;
        sinew_modal_options options;
        sinew_modal_options_init(&options);
        options.basis = fields, options.basis_count = FIELDS, options.fast = fast;
        clip c;
        make_clip(&c, bar, &options, pose);
        if (line == 1) c.parameters.rate = 0;
        bench_need(sinew_modal_motion_update(c.motion, &c.parameters, NULL), NULL);
        double seconds = bench_time(b, one_frame, &c);
        /* Columns (and those of both keys that stand for the others), per tet 10 numbers, 2 of
         * corners and 12 of the one residual that is not zero; in double 16 and both residuals. */
        double columns = fast ? c.motion->moving_count + 2 : FIELDS + 3;
        double size = fast ? sizeof(float) : sizeof(double);
        double numbers = 3.0 * bar->vertex_count * columns + (fast ? 24.0 : 40.0) * bar->tet_count +
                         2.0 * (double)sn_cholesky_nonzeros(c.modal->body->rs->laplacian);
        char limit[96];
        snprintf(limit, sizeof limit, "read %.0f MB, %d tets, %.0f columns", numbers * size / 1e6,
                 bar->tet_count, columns);
        bench_report(b, names[line], seconds,
                     numbers * size / bench_read_bandwidth(b, numbers * size), limit);
        free_clip(&c);
    }
    sn_free(fields), sn_free(pose);
    sinew_tets_destroy(bar);
}

static void frame_20k(bench *b) {
    frame_case(b, 54, 8, 8);
}
static void frame_100k(bench *b) {
    frame_case(b, 86, 14, 14);
}
static void frame_200k(bench *b) {
    frame_case(b, 104, 18, 18);
}

static void modes_case(bench *b, int nx, int ny, int nz, const char *name) {
    sinew_error error;
    sinew_tets *bar = make_bar(nx, ny, nz);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 100;
    sinew_modal *modal;
    bench_need(sinew_modal_create_tets(bar, &options, NULL, &modal, &error), &error);
    sinew_modal_info info = {.size = sizeof info};
    sinew_modal_get_info(modal, &info);
    bench_report(b, name, info.seconds, 0, "no bound known");
    sinew_modal_destroy(modal);
    sinew_tets_destroy(bar);
}

static void modes_20k(bench *b) {
    modes_case(b, 54, 8, 8, NULL);
}
static void modes_100k(bench *b) {
    modes_case(b, 86, 14, 14, NULL);
}

static void parameters(bench *b) {
    sinew_tets *bar = make_bar(20, 4, 4);
    double *pose = make_pose(bar);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 100;
    clip c;
    make_clip(&c, bar, &options, pose);
    bench_report(b, "settling", bench_time(b, one_update, &c), 0, "100 modes");
    c.parameters.rest_offset = 0.5;
    bench_report(b, "rest offset 0.5", bench_time(b, one_update, &c), 0, "100 modes, fitted");
    c.parameters.rest_offset = 1, c.parameters.wiggly = true;
    bench_report(b, "wiggly", bench_time(b, one_update, &c), 0, "100 modes, 2 keys");
    free_clip(&c);
    sn_free(pose);
    sinew_tets_destroy(bar);
}

const bench_case bench_modal[] = {
    {"frame-20k", "80 modes, one frame", frame_20k},
    {"frame-100k", "80 modes, one frame", frame_100k},
    {"frame-200k", "80 modes, one frame", frame_200k},
    {"modes-20k", "100 modes of 20k tets", modes_20k},
    {"modes-100k", "100 modes of 100k tets", modes_100k},
    {"parameters", "a parameter changed, to the first frame", parameters},
    BENCH_END,
};
