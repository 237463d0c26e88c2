/* Loaders: how a session reads its files.
 *
 * A scene names files: rigs, meshes, curves, markers. The session reads them through a loader, so
 * that a host can provide them from an archive, a network or its own scene, and the core library
 * does not depend on file formats. sinew_file_loader reads from disk.
 *
 * Paths are those of the scene, joined to the scene's folder. Every function returns SINEW_OK and a
 * new object, or a status with a message that names the path. They may be called from any thread
 * that solves, from several at once. A NULL function makes its files SINEW_UNAVAILABLE. */
#ifndef SINEW_LOADER_H
#define SINEW_LOADER_H

#include <stdint.h>

#include "sinew/curves.h"
#include "sinew/frames.h"
#include "sinew/marker_map.h"
#include "sinew/mesh.h"
#include "sinew/rig.h"
#include "sinew/tets.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_loader {
    uint32_t size;
    void *user; /* passed to every function */
    /* "rig.files": see sinew_rig_read. */
    sinew_status (*rig)(int path_count, const char *const *paths, void *user, sinew_rig **rig,
                        sinew_error *error);
    /* "rig.sample"; vertices 0: as many as the sample has by default. */
    sinew_status (*sample)(const char *name, int vertices, void *user, sinew_rig **rig,
                           sinew_error *error);
    /* "rig.regions": adds regions to the rig. */
    sinew_status (*regions)(const char *path, void *user, sinew_rig *rig, sinew_error *error);
    sinew_status (*mesh)(const char *path, void *user, sinew_mesh **mesh, sinew_error *error);
    sinew_status (*tets)(const char *path, void *user, sinew_tets **tets, sinew_error *error);
    sinew_status (*curves)(const char *path, void *user, sinew_curves **curves, sinew_error *error);
    sinew_status (*markers)(const char *path, void *user, sinew_markers **markers,
                            sinew_error *error);
    sinew_status (*marker_map)(const char *path, const sinew_mesh *mesh, void *user,
                               sinew_marker_map **map, sinew_error *error);
    sinew_status (*frames)(const char *path, void *user, sinew_frames **frames, sinew_error *error);
    /* Masks and maps: values[vertex_count] holds the values of vertices that the file leaves out.
     */
    sinew_status (*vertex_values)(const char *path, int vertex_count, void *user, double *values,
                                  sinew_error *error);
} sinew_loader;

/* Sets size; every function is NULL. */
SINEW_API void sinew_loader_init(sinew_loader *loader);

/* Files on disk, in all formats of sinew/io.h, and the built-in samples. Constant. */
SINEW_API const sinew_loader *sinew_file_loader(void);

#ifdef __cplusplus
}
#endif
#endif
