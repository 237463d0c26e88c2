/* Point caches: the object, and the writer that all formats of frames share. */
#include "io/frames.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/writeback.h"

sinew_status sn_frames_create(int vertex_count, int frame_count, double start, double rate,
                              sinew_frames **frames, sinew_error *error) {
    sinew_frames *f = SN_NEW0(sinew_frames, 1);
    size_t row = 3 * (size_t)vertex_count, total;
    if (!f || __builtin_mul_overflow(row, (size_t)frame_count, &total) ||
        !(f->positions = SN_NEW(float, total))) {
        sn_free(f);
        return sn_no_memory(error);
    }
    f->vertex_count = vertex_count;
    f->frame_count = frame_count;
    f->start = start;
    f->rate = rate;
    *frames = f;
    return SINEW_OK;
}

double sn_frames_rate(int count, double length) {
    if (count < 2 || !(length > 0)) return SINEW_FRAMES_DEFAULT_RATE;
    double rate = (count - 1) / length, whole = round(rate);
    return whole > 0 && fabs(rate - whole) < 1e-4 * whole ? whole : rate;
}

static void release(sinew_frame_writer *writer) {
    if (writer->sink && writer->sink->release) writer->sink->release(writer);
    sn_output_abandon(&writer->output);
    sn_free(writer->bytes);
    sn_free(writer->row);
    sn_free(writer->points);
    sn_free(writer->path);
    sn_free(writer);
}

static const sn_frame_sink *find_sink(const char *path) {
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if ((*f)->write_frames && sn_format_has_ending(*f, path)) return (*f)->write_frames;
    return NULL;
}

bool sn_frames_are_single(const char *path) {
    const sn_frame_sink *sink = find_sink(path);
    return sink && sink->single;
}

static ssize_t collect_bytes(void *cookie, const char *bytes, size_t size) {
    sinew_frame_writer *w = cookie;
    if (!SN_RESERVE(w->bytes, w->byte_capacity, w->byte_count + size)) {
        errno = ENOMEM;
        return 0;
    }
    memcpy(w->bytes + w->byte_count, bytes, size);
    w->byte_count += size;
    return (ssize_t)size;
}

/* A stream into memory in place of a file. */
static sinew_status open_output(sinew_frame_writer *w, sinew_error *error) {
    if (!w->target.write) return sn_output_open(&w->output, w->path, error);
    w->output.path = sn_strdup(w->path);
    w->output.through = true; /* nothing to bring to the disk */
    if (w->output.path)
        w->output.stream = fopencookie(w, "w", (cookie_io_functions_t){.write = collect_bytes});
    return w->output.stream ? SINEW_OK : sn_no_memory(error);
}

static sinew_status commit_output(sinew_frame_writer *w, sinew_error *error) {
    if (!w->target.write) return sn_output_commit(&w->output, error);
    if (fflush(w->output.stream) != 0 || sn_scope_poll()) return sn_no_memory(error);
    return w->target.write(w->path, w->bytes, w->byte_count, w->target.user, error);
}

static sinew_status open_writer(const sinew_sink *target, const sinew_mesh *mesh, int frame_count,
                                double start, double rate, sinew_frame_writer **writer,
                                sinew_error *error) {
    const char *path = target->name;
    SN_REQUIRE(path && mesh && writer && frame_count >= 0, error);
    SN_REQUIRE(isfinite(start) && isfinite(rate) && rate > 0, error);
    *writer = NULL;
    const sn_frame_sink *sink = find_sink(path);
    if (!sink)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%s: files with the extension '%s' cannot store frames", path,
                       sn_path_ending(path));
    if (sink->many_files && target->write)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: a sequence of files needs a folder on a disk",
                       path);
    sinew_frame_writer *w = SN_NEW0(sinew_frame_writer, 1);
    if (!w) return sn_no_memory(error);
    w->target = *target;
    w->vertex_count = mesh->vertex_count;
    w->frame_count = frame_count;
    w->start = start;
    w->rate = rate;
    w->tolerance =
        SINEW_FRAMES_DEFAULT_TOLERANCE * sinew_diagonal(mesh->vertex_count, mesh->positions);
    bool split = mesh->file_vertices && !sink->has_mesh;
    w->point_count = split ? mesh->file_vertex_count : mesh->vertex_count;
    if (split) w->points = sn_memdup(mesh->file_vertices, (size_t)w->point_count, sizeof(int));
    w->path = sn_strdup(path);
    w->row = SN_NEW(float, 3 * (size_t)w->point_count);
    bool memory = w->path && w->row && (w->points || !split);
    sinew_status status = memory ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && !sink->many_files) status = open_output(w, error);
    if (status == SINEW_OK) {
        w->sink = sink;
        status = sink->open(w, mesh, error);
    }
    if (status != SINEW_OK) {
        release(w);
        return status;
    }
    *writer = w;
    return SINEW_OK;
}

sinew_status sinew_frame_writer_open(const char *path, const sinew_mesh *mesh, int frame_count,
                                     double start, double rate, sinew_frame_writer **writer,
                                     sinew_error *error) {
    sinew_sink target = {.size = sizeof target, .name = path};
    return open_writer(&target, mesh, frame_count, start, rate, writer, error);
}

sinew_status sinew_frame_writer_open_to(const sinew_sink *sink, const sinew_mesh *mesh,
                                        int frame_count, double start, double rate,
                                        sinew_frame_writer **writer, sinew_error *error) {
    SN_REQUIRE(sink, error);
    SN_INPUT(sinew_sink, own, sink, error);
    return open_writer(&own, mesh, frame_count, start, rate, writer, error);
}

void sinew_frame_writer_set_tolerance(sinew_frame_writer *writer, double tolerance) {
    if (writer && tolerance >= 0) writer->tolerance = tolerance;
}

void sinew_frame_writer_set_compact(sinew_frame_writer *writer, bool normals) {
    if (writer) writer->compact = true, writer->normals = normals;
}

/* The row is complete: every point of it can be written. */
static sinew_status check_row(const sinew_frame_writer *writer, sinew_error *error) {
    size_t count = 3 * (size_t)writer->point_count;
    const float *row = writer->row;
    int bad = 0;
    for (size_t i = 0; i < count; i++) bad |= !(fabsf(row[i]) <= FLT_MAX);
    if (!bad) return SINEW_OK;
    size_t first = 0;
    while (fabsf(row[first]) <= FLT_MAX) first++;
    int vertex = writer->points ? writer->points[first / 3] : (int)(first / 3);
    return sn_fail(error, SINEW_BAD_INPUT, "%s: frame %d: vertex %d is not finite", writer->path,
                   writer->added, vertex);
}

static sinew_status add_row(sinew_frame_writer *writer, const double *positions,
                            sinew_error *error) {
    SN_TRY(check_row(writer, error));
    SN_TRY(writer->sink->add(writer, positions, error));
    writer->added++;
    if (!writer->output.stream) return SINEW_OK;
    sn_output_write_back(&writer->output, &writer->begun);
    return sn_output_check(&writer->output, error);
}

sinew_status sinew_frame_writer_add(sinew_frame_writer *writer, const double *positions,
                                    sinew_error *error) {
    SN_REQUIRE(writer && positions, error);
    SN_REQUIRE(writer->added < writer->frame_count, error);
    size_t count = 3 * (size_t)writer->point_count;
    float *row = writer->row;
    if (writer->points)
        for (size_t i = 0; i < count; i++)
            row[i] = (float)positions[3 * (size_t)writer->points[i / 3] + i % 3];
    else
        for (size_t i = 0; i < count; i++) row[i] = (float)positions[i];
    return add_row(writer, positions, error);
}

sinew_status sn_frame_writer_add_single(sinew_frame_writer *writer, const float *positions,
                                        sinew_error *error) {
    SN_REQUIRE(writer->sink->single && writer->added < writer->frame_count, error);
    if (!writer->points)
        memcpy(writer->row, positions, 3 * (size_t)writer->point_count * sizeof *positions);
    for (int i = 0; writer->points && i < writer->point_count; i++)
        memcpy(writer->row + 3 * (size_t)i, positions + 3 * (size_t)writer->points[i],
               3 * sizeof *positions);
    return add_row(writer, NULL, error);
}

sinew_status sinew_frame_writer_close(sinew_frame_writer *writer, sinew_error *error) {
    SN_REQUIRE(writer, error);
    sinew_status status = SINEW_OK;
    if (writer->added != writer->frame_count)
        status = sn_fail(error, SINEW_MISUSE, "%s: %d of %d frames were given", writer->path,
                         writer->added, writer->frame_count);
    if (status == SINEW_OK && writer->sink->close) status = writer->sink->close(writer, error);
    if (status == SINEW_OK && !writer->sink->many_files) status = commit_output(writer, error);
    release(writer);
    return status;
}

void sinew_frame_writer_abandon(sinew_frame_writer *writer) {
    if (writer) release(writer);
}
