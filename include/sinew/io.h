/* Files in and out. The format is chosen by the path's ending; vertex order and names survive in
 * both directions. Every failure names the file and the line or element. An output appears under
 * its name only when it is complete. docs/formats.md describes what each format stores. */
#ifndef SINEW_IO_H
#define SINEW_IO_H

#include "sinew/curves.h"
#include "sinew/frames.h"
#include "sinew/marker_map.h"
#include "sinew/mesh.h"
#include "sinew/rig.h"
#include "sinew/source.h"
#include "sinew/tets.h"

#ifdef __cplusplus
extern "C" {
#endif

SINEW_API sinew_status sinew_mesh_read(const char *path, sinew_mesh **mesh, sinew_error *error);
/* The mesh as its program shows it: where an FBX file sets a subdivision on a mesh, sinew_mesh_read
 * returns its control cage, and this the Catmull-Clark mesh of the preview levels. */
SINEW_API sinew_status sinew_mesh_read_shown(const char *path, sinew_mesh **mesh,
                                             sinew_error *error);
SINEW_API sinew_status sinew_mesh_write(const char *path, const sinew_mesh *mesh,
                                        sinew_error *error);
/* The mesh of a file (GLB, FBX) as a clip shows it at `time` seconds, with skins and blend-shape
 * weights applied. clip NULL: the first clip that moves anything; "": none, as the file stands.
 * SINEW_BAD_INPUT lists the clips of the file. */
SINEW_API sinew_status sinew_pose_read(const char *path, const char *clip, double time,
                                       sinew_mesh **mesh, sinew_error *error);

/* A rig from one rig file (.glb), or from the folder that sinew_rig_write makes, or from a neutral
 * followed by folders of .target or mesh files (sorted by name), by single .target files, and by
 * pose meshes; targets are named after the file's stem. A pose has the vertices and faces of the
 * neutral, or no faces; otherwise returns SINEW_BAD_INPUT and names the first difference. */
SINEW_API sinew_status sinew_rig_read(int path_count, const char *const *paths, sinew_rig **rig,
                                      sinew_error *error);
/* A .glb, or a folder: neutral.obj, targets/NAME.target and rig.json with the rest. */
SINEW_API sinew_status sinew_rig_write(const char *path, const sinew_rig *rig, sinew_error *error);
/* A .glb or .usda with a clip of slider weights (matched by sinew_rig_bind_curves) that other
 * programs play. Files hold weights of targets: in-betweens and combinations are sampled at 60
 * frames per second or the clip's own times, whichever is finer. */
SINEW_API sinew_status sinew_rig_write_animated(const char *path, const sinew_rig *rig,
                                                const sinew_curves *curves, sinew_error *error);

/* A copy of the GLB, VRM or FBX file that the rig was read from, with the targets and positions of
 * the rig. Everything else is kept: materials, textures, texture coordinates, skins, other nodes
 * and unknown extensions. Animated weights follow their targets; curves (may be NULL) replace them.
 * Returns SINEW_BAD_INPUT when the rig does not have the vertices of the original, and
 * SINEW_UNAVAILABLE for what cannot be written into an FBX file: curves, removed targets, other
 * in-betweens, and any change to ASCII files and to versions before 7.0. `path` may be the
 * original. */
SINEW_API sinew_status sinew_rig_write_into(const char *path, const char *original,
                                            const sinew_rig *rig, const sinew_curves *curves,
                                            const sinew_monitor *monitor, sinew_error *error);

/* A small .glb for the web: targets as 16-bit numbers, all data compressed (KHR_mesh_quantization,
 * EXT_meshopt_compression). The neutral keeps its positions to the bit. */
typedef struct sinew_compact_options {
    uint32_t size;    /* of this structure in bytes; set by sinew_compact_options_init */
    double tolerance; /* largest error of a vertex in a target and in the poses of the clip, > 0;
                         fraction of the diagonal */
    bool normals;     /* of targets; without them programs compute shading from the neutral's */
} sinew_compact_options;
#define SINEW_COMPACT_TOLERANCE 1e-4
SINEW_API void sinew_compact_options_init(sinew_compact_options *options);
/* curves (a clip of slider weights) and options may be NULL. */
SINEW_API sinew_status sinew_rig_write_compact(const char *path, const sinew_rig *rig,
                                               const sinew_curves *curves,
                                               const sinew_compact_options *options,
                                               sinew_error *error);

SINEW_API sinew_status sinew_curves_read(const char *path, sinew_curves **curves,
                                         sinew_error *error);
SINEW_API sinew_status sinew_curves_write(const char *path, const sinew_curves *curves,
                                          sinew_error *error);
SINEW_API sinew_status sinew_markers_read(const char *path, sinew_markers **markers,
                                          sinew_error *error);
SINEW_API sinew_status sinew_markers_write(const char *path, const sinew_markers *markers,
                                           sinew_error *error);
SINEW_API sinew_status sinew_tets_read(const char *path, sinew_tets **tets, sinew_error *error);
SINEW_API sinew_status sinew_tets_write(const char *path, const sinew_tets *tets,
                                        sinew_error *error);

/* The driver table of a rig as JSON: how slider weights become weights of targets, for programs
 * that play plain morph targets (docs/bake.md). */
SINEW_API sinew_status sinew_drivers_write(const char *path, const sinew_rig *rig,
                                           sinew_error *error);

/* Regions of a JSON file {"name": [vertex, ...], ...}, added to the rig. */
SINEW_API sinew_status sinew_regions_read(const char *path, sinew_rig *rig, sinew_error *error);
SINEW_API sinew_status sinew_regions_write(const char *path, const sinew_rig *rig,
                                           sinew_error *error);

/* Per-vertex values (mask, stiffness) from CSV lines "vertex,value", with or without that header.
 * Vertices that are not listed keep their entry in values[vertex_count]. */
SINEW_API sinew_status sinew_vertex_values_read(const char *path, int vertex_count, double *values,
                                                sinew_error *error);
SINEW_API sinew_status sinew_vertex_values_write(const char *path, int vertex_count,
                                                 const double *values, sinew_error *error);

/* Renames names[count], of the channels of curves or of markers, by CSV lines "from,to" with or
 * without that header; all at once, so that names may be swapped. Case does not count in `from`.
 * Returns SINEW_BAD_INPUT and changes nothing for a wrong number of cells, an empty name, a
 * duplicate `from`, or names that would become equal. unused (may be NULL): number of lines whose
 * `from` does not occur. */
SINEW_API sinew_status sinew_rename(const char *path, int count, char **names, int *unused,
                                    sinew_error *error);

/* Pairs of corresponding vertices of two meshes, from CSV lines "source,target", with or without a
 * header. The arrays of *count vertices are freed with sinew_free. Returns SINEW_BAD_INPUT and
 * names the line for an index out of range, extra cells, and duplicate source vertices. */
SINEW_API sinew_status sinew_vertex_pairs_read(const char *path, int source_vertex_count,
                                               int target_vertex_count, int **source_vertices,
                                               int **target_vertices, int *count,
                                               sinew_error *error);

/* Marker positions on the surface, from CSV lines "NAME,vertex" or "NAME,triangle,b0,b1,b2", each
 * followed by an optional weight >= 0 (default 1). Vertices and triangles are checked against the
 * mesh. */
SINEW_API sinew_status sinew_marker_map_read(const char *path, const sinew_mesh *mesh,
                                             sinew_marker_map **map, sinew_error *error);
SINEW_API sinew_status sinew_marker_map_write(const char *path, const sinew_marker_map *map,
                                              sinew_error *error);

/* ---- sources, sinks and monitors ----
 *
 * The same readers from memory, streams or files, with a limit of memory (sinew/source.h) and a
 * monitor, and the same writers. The functions above are shorthands for files. */

SINEW_API sinew_status sinew_mesh_read_from(const sinew_source *source,
                                            const sinew_monitor *monitor, sinew_mesh **mesh,
                                            sinew_error *error);
SINEW_API sinew_status sinew_pose_read_from(const sinew_source *source, const char *clip,
                                            double time, const sinew_monitor *monitor,
                                            sinew_mesh **mesh, sinew_error *error);
/* A rig file, or a neutral followed by target and pose files. */
SINEW_API sinew_status sinew_rig_read_from(int source_count, const sinew_source *const *sources,
                                           const sinew_monitor *monitor, sinew_rig **rig,
                                           sinew_error *error);
SINEW_API sinew_status sinew_curves_read_from(const sinew_source *source,
                                              const sinew_monitor *monitor, sinew_curves **curves,
                                              sinew_error *error);
SINEW_API sinew_status sinew_markers_read_from(const sinew_source *source,
                                               const sinew_monitor *monitor,
                                               sinew_markers **markers, sinew_error *error);
SINEW_API sinew_status sinew_tets_read_from(const sinew_source *source,
                                            const sinew_monitor *monitor, sinew_tets **tets,
                                            sinew_error *error);
SINEW_API sinew_status sinew_regions_read_from(const sinew_source *source, sinew_rig *rig,
                                               const sinew_monitor *monitor, sinew_error *error);
/* values stay as they were when it fails. */
SINEW_API sinew_status sinew_vertex_values_read_from(const sinew_source *source, int vertex_count,
                                                     const sinew_monitor *monitor, double *values,
                                                     sinew_error *error);
SINEW_API sinew_status sinew_vertex_pairs_read_from(const sinew_source *source,
                                                    int source_vertex_count,
                                                    int target_vertex_count,
                                                    const sinew_monitor *monitor,
                                                    int **source_vertices, int **target_vertices,
                                                    int *count, sinew_error *error);
SINEW_API sinew_status sinew_marker_map_read_from(const sinew_source *source,
                                                  const sinew_mesh *mesh,
                                                  const sinew_monitor *monitor,
                                                  sinew_marker_map **map, sinew_error *error);
SINEW_API sinew_status sinew_rename_from(const sinew_source *source, int count, char **names,
                                         int *unused, const sinew_monitor *monitor,
                                         sinew_error *error);

SINEW_API sinew_status sinew_mesh_write_to(const sinew_sink *sink, const sinew_mesh *mesh,
                                           const sinew_monitor *monitor, sinew_error *error);
SINEW_API sinew_status sinew_rig_write_to(const sinew_sink *sink, const sinew_rig *rig,
                                          const sinew_monitor *monitor, sinew_error *error);
SINEW_API sinew_status sinew_curves_write_to(const sinew_sink *sink, const sinew_curves *curves,
                                             const sinew_monitor *monitor, sinew_error *error);
SINEW_API sinew_status sinew_markers_write_to(const sinew_sink *sink, const sinew_markers *markers,
                                              const sinew_monitor *monitor, sinew_error *error);
SINEW_API sinew_status sinew_tets_write_to(const sinew_sink *sink, const sinew_tets *tets,
                                           const sinew_monitor *monitor, sinew_error *error);
SINEW_API sinew_status sinew_drivers_write_to(const sinew_sink *sink, const sinew_rig *rig,
                                              const sinew_monitor *monitor, sinew_error *error);
SINEW_API sinew_status sinew_regions_write_to(const sinew_sink *sink, const sinew_rig *rig,
                                              const sinew_monitor *monitor, sinew_error *error);
SINEW_API sinew_status sinew_marker_map_write_to(const sinew_sink *sink,
                                                 const sinew_marker_map *map,
                                                 const sinew_monitor *monitor, sinew_error *error);
SINEW_API sinew_status sinew_rig_write_animated_to(const sinew_sink *sink, const sinew_rig *rig,
                                                   const sinew_curves *curves,
                                                   const sinew_monitor *monitor,
                                                   sinew_error *error);
SINEW_API sinew_status sinew_vertex_values_write_to(const sinew_sink *sink, int vertex_count,
                                                    const double *values,
                                                    const sinew_monitor *monitor,
                                                    sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
