/* Files on disk as a loader, and the built-in samples. */
#include "sinew/loader.h"

#include <string.h>

#include "base/memory.h"
#include "io/reading.h"
#include "sinew/io.h"
#include "sinew/samples.h"
#include "sinew/scene.h"

static sinew_status load_rig(int count, const char *const *paths, void *user, sinew_rig **rig,
                             sinew_error *error) {
    (void)user;
    return sinew_rig_read(count, paths, rig, error);
}

static sinew_status load_sample(const char *name, int vertices, void *user, sinew_rig **rig,
                                sinew_error *error) {
    (void)user;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = vertices;
    return sinew_sample_rig(name, &options, rig, error);
}

static sinew_status load_regions(const char *path, void *user, sinew_rig *rig, sinew_error *error) {
    (void)user;
    return sinew_regions_read(path, rig, error);
}

static sinew_status load_mesh(const char *path, void *user, sinew_mesh **mesh, sinew_error *error) {
    (void)user;
    return sinew_mesh_read(path, mesh, error);
}

static sinew_status load_tets(const char *path, void *user, sinew_tets **tets, sinew_error *error) {
    (void)user;
    return sinew_tets_read(path, tets, error);
}

static sinew_status load_curves(const char *path, void *user, sinew_curves **curves,
                                sinew_error *error) {
    (void)user;
    return sinew_curves_read(path, curves, error);
}

static sinew_status load_markers(const char *path, void *user, sinew_markers **markers,
                                 sinew_error *error) {
    (void)user;
    return sinew_markers_read(path, markers, error);
}

static sinew_status load_map(const char *path, const sinew_mesh *mesh, void *user,
                             sinew_marker_map **map, sinew_error *error) {
    (void)user;
    return sinew_marker_map_read(path, mesh, map, error);
}

static sinew_status load_frames(const char *path, void *user, sinew_frames **frames,
                                sinew_error *error) {
    (void)user;
    return sinew_frames_read(path, frames, error);
}

static sinew_status load_values(const char *path, int vertex_count, void *user, double *values,
                                sinew_error *error) {
    (void)user;
    return sinew_vertex_values_read(path, vertex_count, values, error);
}

const sinew_loader *sinew_file_loader(void) {
    static const sinew_loader loader = {.size = sizeof(sinew_loader),
                                        .rig = load_rig,
                                        .sample = load_sample,
                                        .regions = load_regions,
                                        .mesh = load_mesh,
                                        .tets = load_tets,
                                        .curves = load_curves,
                                        .markers = load_markers,
                                        .marker_map = load_map,
                                        .frames = load_frames,
                                        .vertex_values = load_values};
    return &loader;
}

static sinew_status read_scene(const char *name, const char *folder, sinew_scene **scene,
                               sinew_error *error) {
    char *text;
    size_t size;
    SN_TRY(sn_load(name, &text, &size, error));
    sinew_status status = strlen(text) == size ? sinew_scene_parse(text, name, folder, scene, error)
                                               : sn_fail(error, SINEW_BAD_INPUT,
                                                         "%s: byte %zu is zero: this is not JSON",
                                                         name, strlen(text));
    sn_free(text);
    return status;
}

sinew_status sinew_scene_read_from(const sinew_source *source, const char *folder,
                                   const sinew_monitor *monitor, sinew_scene **scene,
                                   sinew_error *error) {
    SN_REQUIRE(source && scene, error);
    *scene = NULL;
    sn_reading reading;
    SN_TRY(sn_reading_begin(&reading, 1, &source, monitor, error));
    sinew_status status =
        sn_reading_end(&reading, read_scene(source->name, folder, scene, error), error);
    if (status != SINEW_OK) {
        sinew_scene_destroy(*scene);
        *scene = NULL;
    }
    return status;
}
