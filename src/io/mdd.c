/* MDD point caches: all big-endian,
 *
 *   int32 frames, int32 points, float times[frames] (seconds), float frames[frames][points][3] */
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "io/binary.h"
#include "io/frames.h"

static sinew_status find_layout(const sn_source *source, size_t available, size_t *needed,
                                sn_cache_layout *layout, sinew_error *error) {
    *needed = 8;
    if (source->size < 8 || available < 8)
        return sn_source_fail(source, error, "is not an MDD cache");
    uint32_t count = sn_load_u32(source->bytes, true);
    uint32_t points = sn_load_u32(source->bytes + 4, true);
    if (count > INT_MAX || points > INT_MAX / 3)
        return sn_source_fail(source, error, "header promises %u frames of %u points", count,
                              points);
    uint64_t bytes = (uint64_t)count * 4 + (uint64_t)count * points * 12;
    if (bytes > source->size - 8)
        return sn_source_fail(
            source, error, "is cut short: %u frames of %u points need %llu bytes, %llu are there",
            count, points, (unsigned long long)bytes, (unsigned long long)(source->size - 8));
    if (points == 0) return sn_source_fail(source, error, "has %u frames of no points", count);
    *needed = 8 + 4 * (size_t)count; /* the times */
    if (available < *needed) return SINEW_OK;
    const char *times = source->bytes + 8;
    double last = 0, first = 0;
    for (uint32_t k = 0; k < count; k++) {
        double time = (double)sn_load_f32(times + 4 * (size_t)k, true);
        if (!isfinite(time) || (k > 0 && !(time > last)))
            return sn_source_fail(source, error, "times do not increase at frame %u", k);
        if (k == 0) first = time;
        last = time;
    }
    *layout = (sn_cache_layout){.offset = *needed,
                                .vertex_count = (int)points,
                                .frame_count = (int)count,
                                .big_endian = true,
                                .start = first,
                                .rate = sn_frames_rate((int)count, last - first)};
    return SINEW_OK;
}

static sinew_status read_frames(const sn_source *source, sinew_frames **frames,
                                sinew_error *error) {
    sn_cache_layout layout;
    size_t needed;
    SN_TRY(find_layout(source, source->size, &needed, &layout, error));
    return sn_cache_read_all(source, &layout, frames, error);
}

static void put_u32(FILE *stream, uint32_t value) {
    char bytes[4];
    sn_store_u32(bytes, value, true);
    fwrite(bytes, 1, 4, stream);
}

static sinew_status open_frames(sinew_frame_writer *writer, const sinew_mesh *mesh,
                                sinew_error *error) {
    (void)mesh, (void)error;
    FILE *stream = writer->output.stream;
    put_u32(stream, (uint32_t)writer->frame_count);
    put_u32(stream, (uint32_t)writer->point_count);
    for (int k = 0; k < writer->frame_count; k++) {
        char bytes[4];
        sn_store_f32(bytes, (float)(writer->start + k / writer->rate), true);
        fwrite(bytes, 1, 4, stream);
    }
    return SINEW_OK;
}

static sinew_status add_frame(sinew_frame_writer *writer, const double *positions,
                              sinew_error *error) {
    (void)positions, (void)error;
    size_t count = 3 * (size_t)writer->point_count;
    for (size_t i = 0; i < count; i++) sn_store_f32(&writer->row[i], writer->row[i], true);
    fwrite(writer->row, sizeof(float), count, writer->output.stream);
    return SINEW_OK;
}

static const sn_frame_sink sink = {.single = true, .open = open_frames, .add = add_frame};

const sn_format sn_format_mdd = {
    .name = "MDD",
    .endings = "mdd",
    .read_frames = read_frames,
    .cache_layout = find_layout,
    .write_frames = &sink,
};
