/* PC2 point caches.
 *
 *   char  signature[12]  "POINTCACHE2\0"
 *   int32 version        1
 *   int32 points
 *   float start          first frame's number
 *   float sampling       frames from one sample to the next
 *   int32 samples
 *   float samples[samples][points][3]
 *
 * all little-endian. Frames are counted, not timed: we write start = seconds * rate and sampling 1,
 * and read at SINEW_FRAMES_DEFAULT_RATE. */
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "io/binary.h"
#include "io/frames.h"

enum { HEADER_SIZE = 32 };
static const char signature[12] = "POINTCACHE2";

static sinew_status find_layout(const sn_source *source, size_t available, size_t *needed,
                                sn_cache_layout *layout, sinew_error *error) {
    const char *header = source->bytes;
    *needed = HEADER_SIZE;
    if (source->size < HEADER_SIZE || available < HEADER_SIZE ||
        memcmp(header, signature, sizeof signature) != 0)
        return sn_source_fail(source, error, "is not a PC2 cache");
    uint32_t version = sn_load_u32(header + 12, false);
    uint32_t points = sn_load_u32(header + 16, false);
    float start = sn_load_f32(header + 20, false);
    float sampling = sn_load_f32(header + 24, false);
    uint32_t samples = sn_load_u32(header + 28, false);
    if (version != 1) return sn_source_fail(source, error, "PC2 version %u is not known", version);
    if (points > INT_MAX / 3 || samples > INT_MAX)
        return sn_source_fail(source, error, "header promises %u samples of %u points", samples,
                              points);
    if (!isfinite(start) || !isfinite(sampling) || sampling < 0)
        return sn_source_fail(source, error, "header has a bad start or sampling");
    if (sampling == 0) sampling = 1;
    uint64_t row = (uint64_t)points * 12;
    uint64_t bytes = row * samples; /* 12 * 2^31 / 3 * 2^31 < 2^64 */
    if (bytes > source->size - HEADER_SIZE)
        return sn_source_fail(
            source, error, "is cut short: %u samples of %u points need %llu bytes, %llu are there",
            samples, points, (unsigned long long)bytes,
            (unsigned long long)(source->size - HEADER_SIZE));
    if (points == 0) return sn_source_fail(source, error, "has %u samples of no points", samples);
    *layout = (sn_cache_layout){.offset = HEADER_SIZE,
                                .vertex_count = (int)points,
                                .frame_count = (int)samples,
                                .start = start / SINEW_FRAMES_DEFAULT_RATE,
                                .rate = SINEW_FRAMES_DEFAULT_RATE / (double)sampling};
    return SINEW_OK;
}

static sinew_status read_frames(const sn_source *source, sinew_frames **frames,
                                sinew_error *error) {
    sn_cache_layout layout;
    size_t needed;
    SN_TRY(find_layout(source, source->size, &needed, &layout, error));
    return sn_cache_read_all(source, &layout, frames, error);
}

static sinew_status open_frames(sinew_frame_writer *writer, const sinew_mesh *mesh,
                                sinew_error *error) {
    (void)mesh, (void)error;
    char header[HEADER_SIZE];
    memcpy(header, signature, sizeof signature);
    sn_store_u32(header + 12, 1, false);
    sn_store_u32(header + 16, (uint32_t)writer->point_count, false);
    sn_store_f32(header + 20, (float)(writer->start * writer->rate), false);
    sn_store_f32(header + 24, 1, false);
    sn_store_u32(header + 28, (uint32_t)writer->frame_count, false);
    fwrite(header, 1, sizeof header, writer->output.stream);
    return SINEW_OK;
}

static sinew_status add_frame(sinew_frame_writer *writer, const double *positions,
                              sinew_error *error) {
    (void)positions, (void)error;
    size_t count = 3 * (size_t)writer->point_count;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < count; i++) sn_store_f32(&writer->row[i], writer->row[i], false);
#endif
    fwrite(writer->row, sizeof(float), count, writer->output.stream);
    return SINEW_OK;
}

static const sn_frame_sink sink = {.single = true, .open = open_frames, .add = add_frame};

const sn_format sn_format_pc2 = {
    .name = "PC2",
    .endings = "pc2",
    .read_frames = read_frames,
    .cache_layout = find_layout,
    .write_frames = &sink,
};
