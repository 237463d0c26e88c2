/* Files: parsing from memory on one thread, and a point cache written to disk.
 *
 * The bound of a reader is reading its bytes from memory once; that of a compressed file is zlib's
 * time for its arrays alone; that of the cache is writing the same bytes with nothing between them
 * and the disk. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "bench.h"
#include "io/fbx_encode.h"
#include "io/fbx_tree.h"
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

static void report_reader(bench *b, const sn_format *format, const char *name, void (*work)(void *),
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
    bench_report_more(b, name, seconds, bound, limit, figures);
}

static void bench_obj(bench *b) {
    sinew_error error;
    sinew_rig *rig = make_rig(0);
    sn_buffer file = {0};
    bench_need(sn_format_obj.write_mesh(rig->neutral, &file, &error), &error);
    report_reader(b, &sn_format_obj, NULL, read_mesh, &file);
    sn_buffer_free(&file);
    sinew_rig_destroy(rig);
}

static void bench_glb(bench *b) {
    sinew_error error;
    sinew_rig *rig = make_rig(TARGETS);
    sn_buffer file = {0};
    bench_need(sn_format_glb.write_rig(rig, NULL, &file, &error), &error);
    report_reader(b, &sn_format_glb, NULL, read_rig, &file);
    sn_buffer_free(&file);
    sinew_rig_destroy(rig);
}

/* --- FBX -------------------------------------------------------------------------------------- */

typedef struct inflating {
    const sn_fbx_tree *tree;
    Bytef *room;
    double total;
} inflating;

static size_t plain_size(const sn_fbx_value *value) {
    bool wide = value->element == 'd' || value->element == 'l';
    return (size_t)value->count * (wide                                             ? 8
                                   : value->element == 'f' || value->element == 'i' ? 4
                                                                                    : 1);
}

static void inflate_all(void *user) {
    inflating *all = user;
    all->total = 0;
    for (int i = 0; i < all->tree->value_count; i++) {
        const sn_fbx_value *value = &all->tree->values[i];
        if (value->type != SN_FBX_ARRAY || !value->deflated) continue;
        uLongf size = (uLongf)plain_size(value);
        if (uncompress(all->room, &size, (const Bytef *)value->bytes, (uLong)value->size) != Z_OK)
            abort();
        all->total += (double)size;
    }
}

/* Seconds that zlib alone takes for the arrays, and their bytes. */
static double zlib_seconds(bench *b, const sn_fbx_tree *tree, double *inflated) {
    size_t most = 1;
    for (int i = 0; i < tree->value_count; i++)
        if (tree->values[i].type == SN_FBX_ARRAY && plain_size(&tree->values[i]) > most)
            most = plain_size(&tree->values[i]);
    inflating all = {tree, malloc(most), 0};
    double seconds = bench_time(b, inflate_all, &all);
    *inflated = all.total;
    free(all.room);
    return seconds;
}

/* The node and its siblings again, with plain arrays, as some exporters write them. */
static void copy_plain(const sn_fbx_tree *tree, int node, sn_fbx_encoder *e) {
    for (; node >= 0; node = tree->nodes[node].next) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", tree->nodes[node].name_size, tree->nodes[node].name);
        sn_fbx_begin(e, name);
        for (int i = 0; i < tree->nodes[node].value_count; i++) {
            const sn_fbx_value *value = sn_fbx_value_at(tree, node, i);
            if (value->type == SN_FBX_INTEGER) sn_fbx_put_long(e, value->integer);
            if (value->type == SN_FBX_NUMBER) sn_fbx_put_double(e, value->number);
            if (value->type == SN_FBX_TEXT) sn_fbx_put_bytes(e, value->bytes, value->size);
            if (value->type != SN_FBX_ARRAY) continue;
            uLongf size = (uLongf)plain_size(value);
            char *record = malloc(13 + size);
            const uint32_t head[] = {value->count, 0, (uint32_t)size};
            record[0] = value->element;
            memcpy(record + 1, head, sizeof head);
            if (value->deflated)
                uncompress((Bytef *)record + 13, &size, (const Bytef *)value->bytes,
                           (uLong)value->size);
            else
                memcpy(record + 13, value->bytes, size);
            sn_fbx_put_raw(e, 1, record, 13 + size);
            free(record);
        }
        copy_plain(tree, tree->nodes[node].first_child, e);
        sn_fbx_end(e);
    }
}

/* Deflated arrays: bytes of the file and of what it holds a second, against zlib alone. Plain ones:
 * bytes of the file a second. */
static void bench_fbx(bench *b) {
    sinew_error error;
    sinew_rig *rig = make_rig(TARGETS);
    sn_buffer file = {0}, plain = {0};
    bench_need(sn_format_fbx.write_rig(rig, NULL, &file, &error), &error);
    sinew_rig_destroy(rig);
    sn_source source = {file.bytes, file.size, "bench", NULL};
    sn_fbx_tree tree;
    bench_need(sn_fbx_tree_open(&tree, &source, &error), &error);
    sn_fbx_encoder encoder = {.out = &plain};
    sn_fbx_put_header(&encoder);
    copy_plain(&tree, tree.nodes[0].first_child, &encoder);
    sn_fbx_put_footer(&encoder);

    reading r = {&sn_format_fbx, source};
    int threads = sinew_threads();
    sinew_set_threads(1);
    double inflated, bound = zlib_seconds(b, &tree, &inflated);
    double seconds = bench_time(b, read_rig, &r);
    sinew_set_threads(threads);
    char limit[96], figures[160];
    snprintf(limit, sizeof limit, "zlib %.1f MB: %.0f MB/s of %.1f MB, %.0f inflated",
             inflated / 1e6, (double)file.size / 1e6 / seconds, (double)file.size / 1e6,
             inflated / 1e6 / seconds);
    snprintf(figures, sizeof figures, "\"mb_per_s\": %.1f, \"inflated_mb_per_s\": %.1f",
             (double)file.size / 1e6 / seconds, inflated / 1e6 / seconds);
    bench_report_more(b, "deflated", seconds, bound, limit, figures);
    report_reader(b, &sn_format_fbx, "plain", read_rig, &plain);
    sn_fbx_tree_close(&tree);
    sn_buffer_free(&file), sn_buffer_free(&plain);
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
    {"fbx-read", "binary, 26.6k vertices x 60 targets, 1 thread", bench_fbx},
    {"pc2-write", "1000 frames of 26.6k vertices against plain writes", bench_pc2},
    BENCH_END,
};
