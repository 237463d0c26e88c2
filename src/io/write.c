/* The public writers: the format by the path's ending builds the bytes, which then go to the file
 * in one go. */
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "io/format.h"

static sinew_status refuse(const char *path, const char *kind, sinew_error *error) {
    return sn_fail(error, SINEW_BAD_INPUT, "%s: '%s' is not an ending of a file that holds %s",
                   path, sn_path_ending(path), kind);
}

#define WRITE(path, member, kind, object, error)                                                   \
    do {                                                                                           \
        SN_REQUIRE(path &&object, error);                                                          \
        for (const sn_format *const *f = sn_formats(); *f; f++) {                                  \
            if (!(*f)->member || !sn_format_has_ending(*f, path)) continue;                        \
            sn_buffer out = {0};                                                                   \
            sinew_status status = (*f)->member(object, &out, error);                               \
            return sn_format_finish(path, status, &out, error);                                    \
        }                                                                                          \
        return refuse(path, kind, error);                                                          \
    } while (0)

sinew_status sinew_mesh_write(const char *path, const sinew_mesh *mesh, sinew_error *error) {
    WRITE(path, write_mesh, "a mesh", mesh, error);
}

sinew_status sinew_curves_write(const char *path, const sinew_curves *curves, sinew_error *error) {
    WRITE(path, write_curves, "weight curves", curves, error);
}

sinew_status sinew_markers_write(const char *path, const sinew_markers *markers,
                                 sinew_error *error) {
    WRITE(path, write_markers, "markers", markers, error);
}

/* The second file of a pair goes first: the one the caller named appears last. */
static sinew_status write_beside(const char *path, const sn_format *format, const sinew_tets *tets,
                                 sinew_error *error) {
    size_t stem = strlen(path) - strlen(sn_path_ending(path));
    char *other = sn_alloc(stem + strlen(format->beside_ending) + 1, 1);
    if (!other) return sn_no_memory(error);
    memcpy(other, path, stem);
    strcpy(other + stem, format->beside_ending);
    sn_buffer out = {0};
    sinew_status status = format->write_tets_beside(tets, &out, error);
    status = sn_format_finish(other, status, &out, error);
    sn_free(other);
    return status;
}

sinew_status sinew_tets_write(const char *path, const sinew_tets *tets, sinew_error *error) {
    SN_REQUIRE(path && tets, error);
    for (const sn_format *const *f = sn_formats(); *f; f++) {
        if (!(*f)->write_tets || !sn_format_has_ending(*f, path)) continue;
        if ((*f)->beside_ending) SN_TRY(write_beside(path, *f, tets, error));
        sn_buffer out = {0};
        sinew_status status = (*f)->write_tets(tets, &out, error);
        return sn_format_finish(path, status, &out, error);
    }
    return refuse(path, "tetrahedra", error);
}
