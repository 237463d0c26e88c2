#include "session/load.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

static sinew_status unavailable(const char *path, sinew_error *error) {
    return sn_fail(error, SINEW_UNAVAILABLE, "%s: the session has no loader for this file", path);
}

/* Calls loader->FUNCTION(path, ...) with the scene's path. */
#define LOAD(FUNCTION, ...)                                                                        \
    do {                                                                                           \
        if (!loader || !loader->FUNCTION) return unavailable(path, error);                         \
        char *file = sinew_scene_path(scene, path);                                                \
        sinew_status status =                                                                      \
            file ? loader->FUNCTION(file, __VA_ARGS__, error) : sn_no_memory(error);               \
        sn_free(file);                                                                             \
        return status;                                                                             \
    } while (0)

sinew_status sn_load_mesh(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                          sinew_mesh **mesh, sinew_error *error) {
    LOAD(mesh, loader->user, mesh);
}

sinew_status sn_load_tets(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                          sinew_tets **tets, sinew_error *error) {
    LOAD(tets, loader->user, tets);
}

sinew_status sn_load_curves(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                            sinew_curves **curves, sinew_error *error) {
    LOAD(curves, loader->user, curves);
}

sinew_status sn_load_markers(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                             sinew_markers **markers, sinew_error *error) {
    LOAD(markers, loader->user, markers);
}

sinew_status sn_load_marker_map(const sinew_scene *scene, const sinew_loader *loader,
                                const char *path, const sinew_mesh *mesh, sinew_marker_map **map,
                                sinew_error *error) {
    LOAD(marker_map, mesh, loader->user, map);
}

sinew_status sn_load_vertex_values(const sinew_scene *scene, const sinew_loader *loader,
                                   const char *path, int vertex_count, double *values,
                                   sinew_error *error) {
    LOAD(vertex_values, vertex_count, loader->user, values);
}

static sinew_status load_frames(const sinew_scene *scene, const sinew_loader *loader,
                                const char *path, sinew_frames **frames, sinew_error *error) {
    LOAD(frames, loader->user, frames);
}

sinew_status sn_load_frames(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                            const sinew_mesh *mesh, sinew_frames **frames, sinew_error *error) {
    *frames = NULL;
    SN_TRY(load_frames(scene, loader, path, frames, error));
    int given = (*frames)->vertex_count;
    if (!mesh || sinew_frames_match(*frames, mesh, NULL) == SINEW_OK) return SINEW_OK;
    sinew_frames_destroy(*frames);
    *frames = NULL;
    return sn_fail(error, SINEW_BAD_INPUT, "%s: its frames have %d vertices, the mesh has %d", path,
                   given, mesh->vertex_count);
}

sinew_status sn_load_vertex_map(const sinew_scene *scene, const sinew_loader *loader,
                                const char *parameter, const sinew_rig *rig, double **map,
                                sinew_error *error) {
    const char *file = sn_scene_string(scene, parameter);
    int count = rig->neutral->vertex_count;
    *map = NULL;
    if (!file) return SINEW_OK;
    double *values = SN_NEW(double, count);
    if (!values) return sn_no_memory(error);
    for (int v = 0; v < count; v++) values[v] = 1;
    sinew_status status = sn_load_vertex_values(scene, loader, file, count, values, error);
    if (status != SINEW_OK)
        sn_free(values);
    else
        *map = values;
    return status;
}

/* ---- the rig --------------------------------------------------------------------------------- */

static sinew_status load_files(const sinew_scene *scene, const sinew_loader *loader,
                               const json_t *files, sinew_rig **rig, sinew_error *error) {
    int count = (int)json_array_size(files);
    if (count == 0)
        return sn_scene_fail(scene, error, "/rig", "needs files, or the name of a sample");
    if (!loader || !loader->rig)
        return unavailable(json_string_value(json_array_get(files, 0)), error);
    char **paths = SN_NEW0(char *, count);
    sinew_status status = paths ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        paths[i] = sinew_scene_path(scene, json_string_value(json_array_get(files, (size_t)i)));
        if (!paths[i]) status = sn_no_memory(error);
    }
    if (status == SINEW_OK)
        status = loader->rig(count, (const char *const *)paths, loader->user, rig, error);
    for (int i = 0; paths && i < count; i++) sn_free(paths[i]);
    sn_free(paths);
    return status;
}

static sinew_status load_regions(const sinew_scene *scene, const sinew_loader *loader,
                                 const char *path, sinew_rig *rig, sinew_error *error) {
    LOAD(regions, loader->user, rig);
}

sinew_status sn_load_rig(const sinew_scene *scene, const sinew_loader *loader, sinew_rig **rig,
                         sinew_error *error) {
    *rig = NULL;
    const json_t *given = sn_scene_at(scene, "rig"), *files = json_object_get(given, "files");
    const char *sample = json_string_value(json_object_get(given, "sample"));
    const char *regions = json_string_value(json_object_get(given, "regions"));
    if (sample && files) return sn_scene_fail(scene, error, "/rig", "has both files and a sample");
    if (sample && (!loader || !loader->sample)) return unavailable(sample, error);
    if (sample)
        SN_TRY(loader->sample(sample, (int)json_integer_value(json_object_get(given, "vertices")),
                              loader->user, rig, error));
    else
        SN_TRY(load_files(scene, loader, files, rig, error));
    sinew_status status = regions ? load_regions(scene, loader, regions, *rig, error) : SINEW_OK;
    if (status != SINEW_OK) {
        sinew_rig_destroy(*rig);
        *rig = NULL;
    }
    return status;
}

bool sn_same_name(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

sinew_status sn_keep_name(char **kept, const char *name, sinew_error *error) {
    sn_free(*kept);
    *kept = name ? sn_strdup(name) : NULL;
    return name && !*kept ? sn_no_memory(error) : SINEW_OK;
}
