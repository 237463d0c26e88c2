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
    if (format->read_frames) return sinew_frames_read(path, &file->frames, error);
    if (format->read_curves) return sinew_curves_read(path, &file->curves, error);
    if (format->read_markers) return sinew_markers_read(path, &file->markers, error);
    return sinew_tets_read(path, &file->tets, error);
}

sinew_status cli_file_read(const char *path, cli_file *file, sinew_error *error) {
    memset(file, 0, sizeof *file);
    if (sn_is_folder(path)) {
        file->format = "folder";
        return sinew_rig_read(1, &path, &file->rig, error);
    }
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
    sinew_tets_destroy(file->tets);
    memset(file, 0, sizeof *file);
}

char *cli_absolute_path(const char *path) {
    char folder[4096];
    if (*path == '/' || !getcwd(folder, sizeof folder)) return sn_strdup(path);
    return sn_path_join(folder, path);
}
