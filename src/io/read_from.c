/* The readers with a source and a monitor. A source replaces the file of its name while the reader
 * of paths runs (io/reading.h). */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "io/contents.h"
#include "io/format.h"
#include "io/reading.h"

/* Runs the call with the sources in place; an object that was made in spite of a cancelled or
 * failed reading is destroyed. */
#define READ_FROM(count, sources, call, result, destroy)                                           \
    do {                                                                                           \
        sn_reading reading;                                                                        \
        SN_REQUIRE(result, error);                                                                 \
        *(result) = NULL;                                                                          \
        SN_TRY(sn_reading_begin(&reading, count, sources, monitor, error));                        \
        sinew_status status = sn_reading_end(&reading, call, error);                               \
        if (status != SINEW_OK && *(result)) {                                                     \
            destroy(*(result));                                                                    \
            *(result) = NULL;                                                                      \
        }                                                                                          \
        return status;                                                                             \
    } while (0)

/* The name of a source that may be NULL; sn_reading_begin refuses those. */
static const char *name_of(const sinew_source *source) {
    return source ? source->name : NULL;
}

sinew_status sinew_mesh_read_from(const sinew_source *source, const sinew_monitor *monitor,
                                  sinew_mesh **mesh, sinew_error *error) {
    READ_FROM(1, &source, sinew_mesh_read(name_of(source), mesh, error), mesh, sinew_mesh_destroy);
}

sinew_status sinew_pose_read_from(const sinew_source *source, const char *clip, double time,
                                  const sinew_monitor *monitor, sinew_mesh **mesh,
                                  sinew_error *error) {
    READ_FROM(1, &source, sinew_pose_read(name_of(source), clip, time, mesh, error), mesh,
              sinew_mesh_destroy);
}

static sinew_status read_rig(int count, const sinew_source *const *sources, sinew_rig **rig,
                             sinew_error *error) {
    const char **names = SN_NEW(const char *, count);
    if (!names) return sn_no_memory(error);
    for (int i = 0; i < count; i++) names[i] = sources[i]->name;
    sinew_status status = sinew_rig_read(count, names, rig, error);
    sn_free(names);
    return status;
}

sinew_status sinew_rig_read_from(int source_count, const sinew_source *const *sources,
                                 const sinew_monitor *monitor, sinew_rig **rig,
                                 sinew_error *error) {
    READ_FROM(source_count, sources, read_rig(source_count, sources, rig, error), rig,
              sinew_rig_destroy);
}

sinew_status sinew_curves_read_from(const sinew_source *source, const sinew_monitor *monitor,
                                    sinew_curves **curves, sinew_error *error) {
    READ_FROM(1, &source, sinew_curves_read(name_of(source), curves, error), curves,
              sinew_curves_destroy);
}

sinew_status sinew_markers_read_from(const sinew_source *source, const sinew_monitor *monitor,
                                     sinew_markers **markers, sinew_error *error) {
    READ_FROM(1, &source, sinew_markers_read(name_of(source), markers, error), markers,
              sinew_markers_destroy);
}

sinew_status sinew_tets_read_from(const sinew_source *source, const sinew_monitor *monitor,
                                  sinew_tets **tets, sinew_error *error) {
    READ_FROM(1, &source, sinew_tets_read(name_of(source), tets, error), tets, sinew_tets_destroy);
}

sinew_status sinew_frames_read_from(const sinew_source *source, const sinew_monitor *monitor,
                                    sinew_frames **frames, sinew_error *error) {
    READ_FROM(1, &source, sinew_frames_read(name_of(source), frames, error), frames,
              sinew_frames_destroy);
}

sinew_status sinew_frames_read_clip_from(const sinew_source *source, const char *clip, double rate,
                                         const sinew_monitor *monitor, sinew_frames **frames,
                                         sinew_error *error) {
    READ_FROM(1, &source, sinew_frames_read_clip(name_of(source), clip, rate, frames, error),
              frames, sinew_frames_destroy);
}

sinew_status sinew_frame_reader_open_from(const sinew_source *source, const sinew_monitor *monitor,
                                          sinew_frame_reader **reader, sinew_error *error) {
    READ_FROM(1, &source, sinew_frame_reader_open(name_of(source), reader, error), reader,
              sinew_frame_reader_close);
}

sinew_status sinew_contents_read_from(const sinew_source *source, const sinew_monitor *monitor,
                                      sinew_contents **contents, sinew_error *error) {
    READ_FROM(1, &source, sn_contents_read(name_of(source), contents, error), contents,
              sinew_contents_destroy);
}

sinew_status sinew_marker_map_read_from(const sinew_source *source, const sinew_mesh *mesh,
                                        const sinew_monitor *monitor, sinew_marker_map **map,
                                        sinew_error *error) {
    READ_FROM(1, &source, sinew_marker_map_read(name_of(source), mesh, map, error), map,
              sinew_marker_map_destroy);
}

sinew_status sinew_regions_read_from(const sinew_source *source, sinew_rig *rig,
                                     const sinew_monitor *monitor, sinew_error *error) {
    sn_reading reading;
    SN_TRY(sn_reading_begin(&reading, 1, &source, monitor, error));
    return sn_reading_end(&reading, sinew_regions_read(name_of(source), rig, error), error);
}

sinew_status sinew_vertex_values_read_from(const sinew_source *source, int vertex_count,
                                           const sinew_monitor *monitor, double *values,
                                           sinew_error *error) {
    SN_REQUIRE(values && vertex_count >= 0, error);
    sn_reading reading;
    double *made = sn_memdup(values, (size_t)vertex_count, sizeof *values);
    if (!made) return sn_no_memory(error);
    sinew_status status = sn_reading_begin(&reading, 1, &source, monitor, error);
    if (status == SINEW_OK)
        status = sn_reading_end(
            &reading, sinew_vertex_values_read(name_of(source), vertex_count, made, error), error);
    if (status == SINEW_OK && vertex_count)
        memcpy(values, made, (size_t)vertex_count * sizeof *values);
    sn_free(made);
    return status;
}

sinew_status sinew_vertex_pairs_read_from(const sinew_source *source, int source_vertex_count,
                                          int target_vertex_count, const sinew_monitor *monitor,
                                          int **source_vertices, int **target_vertices, int *count,
                                          sinew_error *error) {
    SN_REQUIRE(source_vertices && target_vertices && count, error);
    *source_vertices = *target_vertices = NULL;
    sn_reading reading;
    SN_TRY(sn_reading_begin(&reading, 1, &source, monitor, error));
    sinew_status status = sn_reading_end(
        &reading,
        sinew_vertex_pairs_read(name_of(source), source_vertex_count, target_vertex_count,
                                source_vertices, target_vertices, count, error),
        error);
    if (status != SINEW_OK) {
        sn_free(*source_vertices), sn_free(*target_vertices);
        *source_vertices = *target_vertices = NULL;
        *count = 0;
    }
    return status;
}

sinew_status sinew_rename_from(const sinew_source *source, int count, char **names, int *unused,
                               const sinew_monitor *monitor, sinew_error *error) {
    sn_reading reading;
    SN_TRY(sn_reading_begin(&reading, 1, &source, monitor, error));
    return sn_reading_end(&reading, sinew_rename(name_of(source), count, names, unused, error),
                          error);
}
