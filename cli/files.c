#include "files.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/format.h"

static sinew_status read_as(const sn_format *format, const char *path, cli_file *file,
                            sinew_error *error) {
    file->format = format->name;
    if (format->read_rig) return sinew_rig_read(1, &path, &file->rig, error);
    if (format->read_mesh) return sinew_mesh_read(path, &file->mesh, error);
    if (format->cache_layout) return sinew_frame_reader_open(path, &file->reader, error);
    if (format->read_frames) return sinew_frames_read(path, &file->frames, error);
    if (format->read_curves) return sinew_curves_read(path, &file->curves, error);
    if (format->read_markers) return sinew_markers_read(path, &file->markers, error);
    return sinew_tets_read(path, &file->tets, error);
}

enum { RIG = 1, MESH = 2, FRAMES = 4, CURVES = 8, MARKERS = 16, TETS = 32 };

static unsigned kinds_written(const char *path) {
    unsigned kinds = *sn_path_ending(path) ? 0 : RIG | MESH; /* a rig folder */
    for (const sn_format *const *f = sn_formats(); *f; f++) {
        if (!sn_format_has_ending(*f, path)) continue;
        kinds |= ((*f)->write_rig ? RIG : 0) | ((*f)->write_mesh ? RIG | MESH : 0) |
                 ((*f)->write_frames ? FRAMES : 0) | ((*f)->write_curves ? CURVES : 0) |
                 ((*f)->write_markers ? MARKERS : 0) | ((*f)->write_tets ? TETS : 0);
    }
    return kinds;
}

bool cli_holds_mesh_only(const char *path) {
    bool mesh = false, rig = false;
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if (sn_format_has_ending(*f, path)) {
            mesh |= (*f)->write_mesh != NULL;
            rig |= (*f)->write_rig != NULL;
        }
    return mesh && !rig;
}

sinew_status cli_file_read_for(const char *path, const char *out, cli_file *file,
                               sinew_error *error) {
    memset(file, 0, sizeof *file);
    unsigned written = kinds_written(out);
    if (sn_is_folder(path) || written == 0) return cli_file_read(path, file, error);
    for (const sn_format *const *f = sn_formats(); *f; f++) {
        if (!sn_format_has_ending(*f, path) || (*f)->recognise) continue;
        file->format = (*f)->name;
        /* A file that is posed goes into a plain mesh as it shows itself. */
        if ((*f)->mesh_is_posed && cli_holds_mesh_only(out))
            return sinew_mesh_read(path, &file->mesh, error);
        if ((*f)->read_rig && written & RIG) return sinew_rig_read(1, &path, &file->rig, error);
        if ((*f)->read_mesh && written & MESH) return sinew_mesh_read(path, &file->mesh, error);
        if ((*f)->cache_layout && written & FRAMES)
            return sinew_frame_reader_open(path, &file->reader, error);
        if ((*f)->read_frames && written & FRAMES)
            return sinew_frames_read(path, &file->frames, error);
        if ((*f)->read_curves && written & CURVES && !sn_has_ending(path, "csv"))
            return sinew_curves_read(path, &file->curves, error);
        if ((*f)->read_markers && written & MARKERS)
            return sinew_markers_read(path, &file->markers, error);
        if ((*f)->read_tets && written & TETS) return sinew_tets_read(path, &file->tets, error);
    }
    return cli_file_read(path, file, error);
}

sinew_status cli_file_read(const char *path, cli_file *file, sinew_error *error) {
    memset(file, 0, sizeof *file);
    if (sn_is_folder(path)) {
        file->format = "folder";
        return sinew_rig_read(1, &path, &file->rig, error);
    }
    /* Caches can be larger than memory, and their endings are enough. */
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if ((*f)->cache_layout && sn_format_has_ending(*f, path))
            return read_as(*f, path, file, error);
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    const sn_format *found = NULL;
    for (const sn_format *const *f = sn_formats(); *f && !found; f++)
        if (sn_format_has_ending(*f, path) && (!(*f)->recognise || (*f)->recognise(&source)))
            found = *f;
    sn_source_close(&source);
    if (found) return read_as(found, path, file, error);
    return sn_fail(error, SINEW_BAD_INPUT, "%s: '%s' is not an ending of a file Sinew reads", path,
                   sn_path_ending(path));
}

void cli_file_free(cli_file *file) {
    sinew_mesh_destroy(file->mesh);
    sinew_rig_destroy(file->rig);
    sinew_curves_destroy(file->curves);
    sinew_markers_destroy(file->markers);
    sinew_frames_destroy(file->frames);
    sinew_frame_reader_close(file->reader);
    sinew_tets_destroy(file->tets);
    memset(file, 0, sizeof *file);
}

char *cli_absolute_path(const char *path) {
    char folder[4096];
    if (*path == '/' || !getcwd(folder, sizeof folder)) return sn_strdup(path);
    return sn_path_join(folder, path);
}
