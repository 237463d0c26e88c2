/* The writers with a sink and a monitor (io/reading.h). */
#include "base/status.h"
#include "io/format.h"
#include "io/reading.h"

#define WRITE_TO(call)                                                                             \
    do {                                                                                           \
        sn_writing writing;                                                                        \
        SN_TRY(sn_writing_begin(&writing, sink, monitor, error));                                  \
        return sn_writing_end(&writing, call, error);                                              \
    } while (0)

sinew_status sinew_mesh_write_to(const sinew_sink *sink, const sinew_mesh *mesh,
                                 const sinew_monitor *monitor, sinew_error *error) {
    WRITE_TO(sinew_mesh_write(writing.sink.name, mesh, error));
}

sinew_status sinew_rig_write_to(const sinew_sink *sink, const sinew_rig *rig,
                                const sinew_monitor *monitor, sinew_error *error) {
    WRITE_TO(sinew_rig_write(writing.sink.name, rig, error));
}

sinew_status sinew_curves_write_to(const sinew_sink *sink, const sinew_curves *curves,
                                   const sinew_monitor *monitor, sinew_error *error) {
    WRITE_TO(sinew_curves_write(writing.sink.name, curves, error));
}

sinew_status sinew_markers_write_to(const sinew_sink *sink, const sinew_markers *markers,
                                    const sinew_monitor *monitor, sinew_error *error) {
    WRITE_TO(sinew_markers_write(writing.sink.name, markers, error));
}

sinew_status sinew_tets_write_to(const sinew_sink *sink, const sinew_tets *tets,
                                 const sinew_monitor *monitor, sinew_error *error) {
    WRITE_TO(sinew_tets_write(writing.sink.name, tets, error));
}

sinew_status sinew_drivers_write_to(const sinew_sink *sink, const sinew_rig *rig,
                                    const sinew_monitor *monitor, sinew_error *error) {
    WRITE_TO(sinew_drivers_write(writing.sink.name, rig, error));
}

sinew_status sinew_regions_write_to(const sinew_sink *sink, const sinew_rig *rig,
                                    const sinew_monitor *monitor, sinew_error *error) {
    WRITE_TO(sinew_regions_write(writing.sink.name, rig, error));
}

sinew_status sinew_marker_map_write_to(const sinew_sink *sink, const sinew_marker_map *map,
                                       const sinew_monitor *monitor, sinew_error *error) {
    WRITE_TO(sinew_marker_map_write(writing.sink.name, map, error));
}

sinew_status sinew_rig_write_animated_to(const sinew_sink *sink, const sinew_rig *rig,
                                         const sinew_curves *curves, const sinew_monitor *monitor,
                                         sinew_error *error) {
    WRITE_TO(sinew_rig_write_animated(writing.sink.name, rig, curves, error));
}

sinew_status sinew_vertex_values_write_to(const sinew_sink *sink, int vertex_count,
                                          const double *values, const sinew_monitor *monitor,
                                          sinew_error *error) {
    WRITE_TO(sinew_vertex_values_write(writing.sink.name, vertex_count, values, error));
}

sinew_status sinew_frame_writer_finish(sinew_frame_writer *writer, const sinew_monitor *monitor,
                                       sinew_error *error) {
    sn_scope scope;
    SN_REQUIRE(writer, error);
    sn_scope_begin(&scope, monitor, 0, "writing");
    return sn_scope_end(&scope, sinew_frame_writer_close(writer, error), error);
}
