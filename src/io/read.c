/* The public readers: find the format by the path's ending and hand it the bytes. */
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "io/format.h"
#include "io/frames.h"
#include "io/obj_sequence.h"
#include "io/tets.h"

/* The first format with this ending that `can` read the kind of thing and recognises the file; when
 * none does, the first that can, which then reports what is wrong. */
static const sn_format *find_reader(const sn_source *source, bool (*can)(const sn_format *)) {
    const sn_format *first = NULL;
    for (const sn_format *const *f = sn_formats(); *f; f++) {
        if (!can(*f) || !sn_format_has_ending(*f, source->path)) continue;
        if (!(*f)->recognise || (*f)->recognise(source)) return *f;
        if (!first) first = *f;
    }
    return first;
}

static sinew_status refuse(const char *path, const char *kind, bool (*can)(const sn_format *),
                           sinew_error *error) {
    char known[256] = "";
    size_t used = 0;
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if (can(*f) && used < sizeof known - 1 && !strstr(known, (*f)->endings)) {
            int wrote = snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                                 (*f)->endings);
            used += wrote > 0 ? (size_t)wrote : 0;
        }
    return sn_fail(error, SINEW_BAD_INPUT, "%s: '%s' is not an ending of a file of %s (%s)", path,
                   sn_path_ending(path), kind, known);
}

#define DEFINE_CAN(member)                                                                         \
    static bool can_##member(const sn_format *format) {                                            \
        return format->member != NULL;                                                             \
    }
DEFINE_CAN(read_mesh)
DEFINE_CAN(read_shown)
DEFINE_CAN(read_curves)
DEFINE_CAN(read_markers)
DEFINE_CAN(read_tets)
DEFINE_CAN(read_frames)
DEFINE_CAN(read_pose)
DEFINE_CAN(read_clip)

/* Opens the file, finds the format, reads, closes. */
#define READ(path, member, kind, result, error)                                                    \
    do {                                                                                           \
        SN_REQUIRE(path &&result, error);                                                          \
        *result = NULL;                                                                            \
        sn_source source;                                                                          \
        SN_TRY(sn_source_open(&source, path, error));                                              \
        const sn_format *format = find_reader(&source, can_##member);                              \
        sinew_status status = format ? format->member(&source, result, error)                      \
                                     : refuse(path, kind, can_##member, error);                    \
        sn_source_close(&source);                                                                  \
        if (status != SINEW_OK) return status;                                                     \
    } while (0)

static bool has_format(const char *path, bool (*can)(const sn_format *)) {
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if (can(*f) && sn_format_has_ending(*f, path)) return true;
    return false;
}

/* All vertices of a file of tets, and the sides that no two of them share. */
static sinew_status read_surface_of_tets(const char *path, sinew_mesh **mesh, sinew_error *error) {
    sinew_tets *tets;
    SN_TRY(sinew_tets_read(path, &tets, error));
    sinew_status status = sn_tets_surface(tets, mesh, error);
    sinew_tets_destroy(tets);
    return status;
}

static sinew_status read_mesh(const char *path, sinew_mesh **mesh, sinew_error *error) {
    bool tets = path && has_format(path, can_read_tets);
    if (tets && !has_format(path, can_read_mesh)) return read_surface_of_tets(path, mesh, error);
    READ(path, read_mesh, "meshes", mesh, error);
    if (!tets || (*mesh)->face_count > 0) return SINEW_OK;
    sinew_mesh *points = *mesh;
    *mesh = NULL;
    sinew_status status = read_surface_of_tets(path, mesh, NULL);
    if (status == SINEW_OK)
        sinew_mesh_destroy(points);
    else
        *mesh = points; /* neither faces nor tets */
    return status == SINEW_NO_MEMORY ? sn_no_memory(error) : SINEW_OK;
}

static sinew_status read_shown(const char *path, sinew_mesh **mesh, sinew_error *error) {
    if (!has_format(path, can_read_shown)) return read_mesh(path, mesh, error);
    READ(path, read_shown, "meshes", mesh, error);
    return SINEW_OK;
}

static sinew_status name_after_file(const char *path, sinew_mesh **mesh, sinew_error *error) {
    if (!(*mesh)->name) (*mesh)->name = sn_path_stem(path);
    if (!(*mesh)->name) {
        sinew_mesh_destroy(*mesh);
        *mesh = NULL;
        return sn_no_memory(error);
    }
    return SINEW_OK;
}

sinew_status sinew_mesh_read(const char *path, sinew_mesh **mesh, sinew_error *error) {
    SN_REQUIRE(path && mesh, error);
    *mesh = NULL;
    SN_TRY(read_mesh(path, mesh, error));
    return name_after_file(path, mesh, error);
}

sinew_status sinew_mesh_read_shown(const char *path, sinew_mesh **mesh, sinew_error *error) {
    SN_REQUIRE(path && mesh, error);
    *mesh = NULL;
    SN_TRY(read_shown(path, mesh, error));
    return name_after_file(path, mesh, error);
}

sinew_status sinew_curves_read(const char *path, sinew_curves **curves, sinew_error *error) {
    READ(path, read_curves, "weight curves", curves, error);
    return SINEW_OK;
}

sinew_status sinew_markers_read(const char *path, sinew_markers **markers, sinew_error *error) {
    READ(path, read_markers, "markers", markers, error);
    return SINEW_OK;
}

sinew_status sinew_tets_read(const char *path, sinew_tets **tets, sinew_error *error) {
    READ(path, read_tets, "tetrahedra", tets, error);
    return SINEW_OK;
}

sinew_status sinew_frames_read(const char *path, sinew_frames **frames, sinew_error *error) {
    if (path && frames && sn_has_ending(path, "obj")) {
        *frames = NULL;
        return sn_obj_sequence_read(path, frames, error);
    }
    if (path && frames && sn_is_cache_path(path)) {
        *frames = NULL;
        return sn_cache_read(path, frames, error);
    }
    READ(path, read_frames, "frames", frames, error);
    return SINEW_OK;
}

sinew_status sinew_pose_read(const char *path, const char *clip, double time, sinew_mesh **mesh,
                             sinew_error *error) {
    SN_REQUIRE(path && mesh && isfinite(time), error);
    *mesh = NULL;
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    const sn_format *format = find_reader(&source, can_read_pose);
    sinew_status status = format ? format->read_pose(&source, clip, time, mesh, error)
                                 : refuse(path, "clips", can_read_pose, error);
    sn_source_close(&source);
    return status;
}

sinew_status sinew_frames_read_clip(const char *path, const char *clip, double rate,
                                    sinew_frames **frames, sinew_error *error) {
    SN_REQUIRE(path && frames && isfinite(rate) && rate >= 0, error);
    *frames = NULL;
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    const sn_format *format = find_reader(&source, can_read_clip);
    sinew_status status = format ? format->read_clip(&source, clip, rate, frames, error)
                                 : refuse(path, "clips", can_read_clip, error);
    sn_source_close(&source);
    return status;
}
