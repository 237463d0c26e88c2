/* Point caches frame by frame: a cache of gigabytes needs the memory of one frame. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/scope.h"
#include "base/sized.h"
#include "io/binary.h"
#include "io/frames.h"
#include "io/reading.h"

struct sinew_frame_reader {
    char *path;
    FILE *file;
    sn_cache_layout layout;
    char *row;           /* a frame as it is in the file */
    sinew_frames *whole; /* formats that are read as a whole; otherwise NULL */
};

sinew_status sn_cache_decode(const sn_source *source, const sn_cache_layout *layout,
                             const char *bytes, int frame, float *row, sinew_error *error) {
    size_t count = 3 * (size_t)layout->vertex_count;
    bool finite = true;
    sn_scope_progress((double)frame / layout->frame_count);
    if (sn_scope_poll()) return sn_no_memory(error); /* cancelled: sn_scope_end reports it */
    for (size_t i = 0; i < count; i++) {
        row[i] = sn_load_f32(bytes + 4 * i, layout->big_endian);
        finite &= isfinite(row[i]) != 0;
    }
    if (finite) return SINEW_OK;
    size_t first = 0;
    while (isfinite(row[first])) first++;
    return sn_source_fail(source, error, "frame %d: point %zu is not finite", frame, first / 3);
}

sinew_status sn_cache_read_all(const sn_source *source, const sn_cache_layout *layout,
                               sinew_frames **frames, sinew_error *error) {
    SN_TRY(sn_frames_create(layout->vertex_count, layout->frame_count, layout->start, layout->rate,
                            frames, error));
    size_t row = 3 * (size_t)layout->vertex_count;
    sinew_status status = SINEW_OK;
    for (int k = 0; k < layout->frame_count && status == SINEW_OK; k++)
        status =
            sn_cache_decode(source, layout, source->bytes + layout->offset + 4 * row * (size_t)k, k,
                            (*frames)->positions + row * (size_t)k, error);
    if (status != SINEW_OK) {
        sinew_frames_destroy(*frames);
        *frames = NULL;
    }
    return status;
}

static const sn_format *find_cache(const char *path) {
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if ((*f)->cache_layout && sn_format_has_ending(*f, path)) return *f;
    return NULL;
}

bool sn_is_cache_path(const char *path) {
    struct stat info;
    return find_cache(path) && !sn_path_is_source(path) && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode);
}

/* Reads as much of the file's start as the format needs to know its layout. */
static sinew_status read_layout(sinew_frame_reader *r, const sn_format *format, uint64_t size,
                                sinew_error *error) {
    size_t needed = 64, available = 0;
    char *start = NULL;
    sinew_status status = SINEW_OK;
    while (status == SINEW_OK && available < needed && available < size) {
        size_t wanted = needed < size ? needed : (size_t)size;
        char *grown = sn_realloc(start, wanted + 1, 1);
        if (grown) start = grown;
        rewind(r->file);
        if (!grown)
            status = sn_no_memory(error);
        else if (fread(start, 1, wanted, r->file) != wanted)
            status = sn_fail(error, SINEW_IO, "%s: could not be read", r->path);
        available = wanted;
        sn_source source = {.name = r->path, .path = r->path, .bytes = start, .size = size};
        if (status == SINEW_OK)
            status = format->cache_layout(&source, available, &needed, &r->layout, error);
    }
    if (size == 0) status = sn_fail(error, SINEW_BAD_INPUT, "%s: is empty", r->path);
    sn_free(start);
    return status;
}

static sinew_status open_cache(sinew_frame_reader *r, const sn_format *format, sinew_error *error) {
    struct stat info;
    r->file = fopen(r->path, "rb");
    if (!r->file) return sn_fail(error, SINEW_IO, "%s: %s", r->path, strerror(errno));
    if (fstat(fileno(r->file), &info) != 0 || !S_ISREG(info.st_mode)) {
        fclose(r->file); /* a pipe cannot go back to a frame */
        r->file = NULL;
        return sinew_frames_read(r->path, &r->whole, error);
    }
    SN_TRY(read_layout(r, format, (uint64_t)info.st_size, error));
    r->row = sn_alloc(3 * (size_t)r->layout.vertex_count, sizeof(float));
    return r->row ? SINEW_OK : sn_no_memory(error);
}

sinew_status sinew_frame_reader_open(const char *path, sinew_frame_reader **reader,
                                     sinew_error *error) {
    SN_REQUIRE(path && reader, error);
    *reader = NULL;
    sinew_frame_reader *r = SN_NEW0(sinew_frame_reader, 1);
    if (!r) return sn_no_memory(error);
    const sn_format *format = find_cache(path);
    r->path = sn_strdup(path);
    sinew_status status =
        !r->path                             ? sn_no_memory(error)
        : sn_path_is_folder(path)            ? sn_fail(error, SINEW_IO, "%s: is a folder", path)
        : format && !sn_path_is_source(path) ? open_cache(r, format, error)
                                             : sinew_frames_read(path, &r->whole, error);
    if (status == SINEW_OK && r->whole)
        r->layout = (sn_cache_layout){.vertex_count = r->whole->vertex_count,
                                      .frame_count = r->whole->frame_count,
                                      .start = r->whole->start,
                                      .rate = r->whole->rate};
    if (status != SINEW_OK) {
        sinew_frame_reader_close(r);
        return status;
    }
    *reader = r;
    return SINEW_OK;
}

sinew_status sinew_frame_reader_get_info(const sinew_frame_reader *reader,
                                         sinew_frame_reader_info *info) {
    SN_REQUIRE(reader && info && sn_info_ready(info), NULL);
    sinew_frame_reader_info own = {.vertex_count = reader->layout.vertex_count,
                                   .frame_count = reader->layout.frame_count,
                                   .start = reader->layout.start,
                                   .rate = reader->layout.rate};
    sn_info_write(info, &own, sizeof own);
    return SINEW_OK;
}

sinew_status sinew_frame_reader_read(sinew_frame_reader *reader, int frame, float *positions,
                                     sinew_error *error) {
    SN_REQUIRE(reader && positions, error);
    SN_REQUIRE(frame >= 0 && frame < reader->layout.frame_count, error);
    size_t bytes = 12 * (size_t)reader->layout.vertex_count;
    if (reader->whole) {
        const float *row = reader->whole->positions + bytes / sizeof(float) * (size_t)frame;
        memcpy(positions, row, bytes);
        return SINEW_OK;
    }
    uint64_t at = reader->layout.offset + (uint64_t)frame * bytes;
    if (fseeko(reader->file, (off_t)at, SEEK_SET) != 0 ||
        fread(reader->row, 1, bytes, reader->file) != bytes)
        return sn_fail(error, SINEW_IO, "%s: frame %d could not be read", reader->path, frame);
    sn_source source = {.name = reader->path};
    return sn_cache_decode(&source, &reader->layout, reader->row, frame, positions, error);
}

void sinew_frame_reader_close(sinew_frame_reader *reader) {
    if (!reader) return;
    if (reader->file) fclose(reader->file);
    sinew_frames_destroy(reader->whole);
    sn_free(reader->row);
    sn_free(reader->path);
    sn_free(reader);
}

sinew_status sn_cache_read(const char *path, sinew_frames **frames, sinew_error *error) {
    sinew_frame_reader *reader;
    SN_TRY(sinew_frame_reader_open(path, &reader, error));
    sinew_status status = SINEW_OK;
    if (reader->whole) {
        *frames = reader->whole;
        reader->whole = NULL;
    } else {
        const sn_cache_layout *l = &reader->layout;
        status =
            sn_frames_create(l->vertex_count, l->frame_count, l->start, l->rate, frames, error);
        size_t row = 3 * (size_t)l->vertex_count;
        for (int k = 0; status == SINEW_OK && k < l->frame_count; k++)
            status =
                sinew_frame_reader_read(reader, k, (*frames)->positions + row * (size_t)k, error);
        if (status != SINEW_OK) {
            sinew_frames_destroy(*frames);
            *frames = NULL;
        }
    }
    sinew_frame_reader_close(reader);
    return status;
}
