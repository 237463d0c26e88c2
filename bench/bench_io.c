/* Files: parsing from memory on one thread, and a point cache written to disk.
 *
 * The bound of a reader is reading its bytes from memory once; that of the cache is writing the
 * same bytes with nothing between them and the disk. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "bench.h"
#include "io/format.h"

enum { SIDE = 163, TARGETS = 60, FRAMES = 1000 }; /* 163^2 = 26.6k vertices */

/* A bumpy sheet of quads with texture coordinates, and targets that each move a part of it. */
static sinew_rig *make_rig(int targets) {
    sinew_error error;
    int vertices = SIDE * SIDE, faces = (SIDE - 1) * (SIDE - 1);
    double *p = calloc(3 * (size_t)vertices, sizeof *p);
    int *start = malloc(((size_t)faces + 1) * sizeof *start),
        *corner = malloc(4 * (size_t)faces * sizeof *corner);
    for (int i = 0; i < vertices; i++) {
        double x = (double)(i % SIDE) / SIDE, y = (double)(i / SIDE) / SIDE;
        p[3 * i] = (double)(float)x, p[3 * i + 1] = (double)(float)y;
        p[3 * i + 2] = (double)(float)(0.1 * sin(20 * x) * cos(17 * y));
    }
    int f = 0;
    for (int y = 0; y + 1 < SIDE; y++)
        for (int x = 0; x + 1 < SIDE; x++, f++) {
            const int quad[] = {y * SIDE + x, y * SIDE + x + 1, (y + 1) * SIDE + x + 1,
                                (y + 1) * SIDE + x};
            memcpy(corner + 4 * f, quad, sizeof quad);
            start[f] = 4 * f;
        }
    start[f] = 4 * f;
    sinew_mesh *mesh;
    bench_need(sinew_mesh_create(vertices, p, faces, start, corner, &mesh, &error), &error);
    mesh->uv_count = vertices;
    mesh->uvs = sn_alloc((size_t)vertices, 2 * sizeof(double));
    mesh->corner_uv = sn_memdup(corner, 4 * (size_t)faces, sizeof(int));
    for (int i = 0; i < vertices; i++)
        mesh->uvs[2 * i] = p[3 * i], mesh->uvs[2 * i + 1] = p[3 * i + 1];
    sinew_rig *rig;
    bench_need(sinew_rig_create(mesh, &rig, &error), &error);
    int moved = vertices / 3, *list = malloc((size_t)moved * sizeof *list);
    double *d = malloc(3 * (size_t)moved * sizeof *d);
    for (int t = 0; t < targets; t++) {
        for (int i = 0; i < moved; i++) {
            list[i] = i + t * (vertices - moved) / targets;
            for (int k = 0; k < 3; k++) d[3 * i + k] = (double)(float)(0.01 * sin(i * 0.1 + t + k));
        }
        char name[32];
        snprintf(name, sizeof name, "target_%02d", t);
        bench_need(sinew_rig_add_target(rig, name, moved, list, d, &error), &error);
    }
    free(p), free(start), free(corner), free(list), free(d);
    return rig;
}

typedef struct reading {
    const sn_format *format;
    sn_source source;
} reading;

static void read_mesh(void *user) {
    reading *r = user;
    sinew_error error;
    sinew_mesh *mesh;
    bench_need(r->format->read_mesh(&r->source, &mesh, &error), &error);
    sinew_mesh_destroy(mesh);
}

static void read_rig(void *user) {
    reading *r = user;
    sinew_error error;
    sinew_rig *rig;
    bench_need(r->format->read_rig(&r->source, &rig, &error), &error);
    sinew_rig_destroy(rig);
}

static void report_reader(bench *b, const sn_format *format, void (*work)(void *),
                          sn_buffer *file) {
    sn_buffer_char(file, '\0');
    double bytes = (double)file->size - 1;
    reading r = {format, {file->bytes, file->size - 1, "bench", NULL}};
    int threads = sinew_threads();
    sinew_set_threads(1);
    double seconds = bench_time(b, work, &r);
    double bound = bytes / bench_read_bandwidth(b, bytes);
    sinew_set_threads(threads);
    char limit[64], figures[64];
    snprintf(limit, sizeof limit, "read %.1f MB: %.0f MB/s", bytes / 1e6, bytes / 1e6 / seconds);
    snprintf(figures, sizeof figures, "\"mb_per_s\": %.1f", bytes / 1e6 / seconds);
    bench_report_more(b, NULL, seconds, bound, limit, figures);
}

static void bench_obj(bench *b) {
    sinew_error error;
    sinew_rig *rig = make_rig(0);
    sn_buffer file = {0};
    bench_need(sn_format_obj.write_mesh(rig->neutral, &file, &error), &error);
    report_reader(b, &sn_format_obj, read_mesh, &file);
    sn_buffer_free(&file);
    sinew_rig_destroy(rig);
}

static void bench_glb(bench *b) {
    sinew_error error;
    sinew_rig *rig = make_rig(TARGETS);
    sn_buffer file = {0};
    bench_need(sn_format_glb.write_rig(rig, NULL, &file, &error), &error);
    report_reader(b, &sn_format_glb, read_rig, &file);
    sn_buffer_free(&file);
    sinew_rig_destroy(rig);
}

static void bench_fbx(bench *b) {
    sinew_error error;
    sinew_rig *rig = make_rig(TARGETS);
    sn_buffer file = {0};
    bench_need(sn_format_fbx.write_rig(rig, NULL, &file, &error), &error);
    report_reader(b, &sn_format_fbx, read_rig, &file);
    sn_buffer_free(&file);
    sinew_rig_destroy(rig);
}

/* --- a cache on disk -------------------------------------------------------------------------- */

typedef struct caching {
    const sinew_rig *rig;
    const char *path;
    float *row;
} caching;

static void write_cache(void *user) {
    caching *c = user;
    sinew_error error;
    sinew_frame_writer *writer;
    bench_need(sinew_frame_writer_open(c->path, c->rig->neutral, FRAMES, 0, 30, &writer, &error),
               &error);
    for (int k = 0; k < FRAMES; k++)
        bench_need(sinew_frame_writer_add(writer, c->rig->neutral->positions, &error), &error);
    bench_need(sinew_frame_writer_close(writer, &error), &error);
}

/* The same bytes by plain writes into the same folder. */
static void write_plain(void *user) {
    caching *c = user;
    FILE *file = fopen(c->path, "wb");
    size_t row = 3 * (size_t)c->rig->neutral->vertex_count;
    for (int k = 0; file && k < FRAMES; k++) fwrite(c->row, sizeof(float), row, file);
    if (file) fclose(file);
}

static void bench_pc2(bench *b) {
    char path[] = "/tmp/sinew-bench-XXXXXX.pc2";
    int descriptor = mkstemps(path, 4);
    if (descriptor < 0) {
        bench_skip(b, "no file can be made in /tmp");
        return;
    }
    close(descriptor);
    sinew_rig *rig = make_rig(0);
    caching c = {rig, path, calloc(3 * (size_t)rig->neutral->vertex_count, sizeof(float))};
    double bytes = (double)FRAMES * 12 * rig->neutral->vertex_count;
    double bound = bench_time(b, write_plain, &c), seconds = bench_time(b, write_cache, &c);
    char limit[64], figures[64];
    snprintf(limit, sizeof limit, "write %.0f MB: %.0f MB/s", bytes / 1e6, bytes / 1e6 / seconds);
    snprintf(figures, sizeof figures, "\"mb_per_s\": %.1f", bytes / 1e6 / seconds);
    bench_report_more(b, NULL, seconds, bound, limit, figures);
    unlink(path);
    free(c.row);
    sinew_rig_destroy(rig);
}

const bench_case bench_io[] = {
    {"obj-read", "26.6k vertices, quads, texture coordinates, 1 thread", bench_obj},
    {"glb-read", "26.6k vertices x 60 sparse targets with normals, 1 thread", bench_glb},
    {"fbx-read", "binary, deflated, 26.6k vertices x 60 targets, 1 thread", bench_fbx},
    {"pc2-write", "1000 frames of 26.6k vertices against plain writes", bench_pc2},
    BENCH_END,
};
