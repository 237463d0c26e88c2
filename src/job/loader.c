/* Files on disk as a loader, and the built-in samples. */
#include "sinew/loader.h"

#include "sinew/io.h"
#include "sinew/samples.h"

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
