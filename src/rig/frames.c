/* Point caches as objects; src/io reads and writes them. */
#include "sinew/frames.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

void sinew_frames_destroy(sinew_frames *frames) {
    if (!frames) return;
    sn_free(frames->positions);
    sn_free(frames);
}

sinew_status sinew_frames_match(sinew_frames *frames, const sinew_mesh *mesh, sinew_error *error) {
    SN_REQUIRE(frames && mesh, error);
    if (frames->vertex_count == mesh->vertex_count) return SINEW_OK;
    if (!mesh->file_vertices || frames->vertex_count != mesh->file_vertex_count)
        return sn_fail(error, SINEW_BAD_INPUT, "the frames have %d points, %s has %d vertices",
                       frames->vertex_count, mesh->name ? mesh->name : "the mesh",
                       mesh->vertex_count);
    size_t from = 3 * (size_t)mesh->file_vertex_count, to = 3 * (size_t)mesh->vertex_count;
    float *positions = sn_alloc((size_t)frames->frame_count, to * sizeof(float));
    if (!positions) return sn_no_memory(error);
    for (size_t k = 0; k < (size_t)frames->frame_count; k++)
        for (int i = mesh->file_vertex_count; i-- > 0;)
            memcpy(positions + k * to + 3 * (size_t)mesh->file_vertices[i],
                   frames->positions + k * from + 3 * (size_t)i, 3 * sizeof(float));
    sn_free(frames->positions);
    frames->positions = positions;
    frames->vertex_count = mesh->vertex_count;
    return SINEW_OK;
}

int sinew_frames_vertex_count(const sinew_frames *frames) {
    return frames ? frames->vertex_count : 0;
}
int sinew_frames_count(const sinew_frames *frames) {
    return frames ? frames->frame_count : 0;
}
double sinew_frames_start(const sinew_frames *frames) {
    return frames ? frames->start : NAN;
}
double sinew_frames_rate(const sinew_frames *frames) {
    return frames ? frames->rate : NAN;
}

const float *sinew_frames_positions(const sinew_frames *frames, int frame) {
    return frames && frame >= 0 && frame < frames->frame_count
               ? frames->positions + 3 * (size_t)frame * (size_t)frames->vertex_count
               : NULL;
}
