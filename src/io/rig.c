/* Rigs from and to paths: one rig file, a rig folder, or a neutral and what moves it. */
#include "base/file.h"
#include "base/memory.h"
#include "io/format.h"
#include "io/reading.h"
#include "io/rig_folder.h"

static const sn_format *find_rig_format(const char *path) {
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if ((*f)->read_rig && sn_format_has_ending(*f, path)) return *f;
    return NULL;
}

static sinew_status read_first(const char *path, sinew_rig **rig, sinew_error *error) {
    if (sn_path_is_folder(path)) return sn_rig_folder_read(path, rig, error);
    const sn_format *format = find_rig_format(path);
    if (!format) {
        sinew_mesh *neutral;
        SN_TRY(sinew_mesh_read(path, &neutral, error));
        return sinew_rig_create(neutral, rig, error);
    }
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    sinew_status status = format->read_rig(&source, rig, error);
    sn_source_close(&source);
    if (status == SINEW_OK && !(*rig)->neutral->name &&
        !((*rig)->neutral->name = sn_path_stem(path))) {
        sinew_rig_destroy(*rig);
        *rig = NULL;
        return sn_no_memory(error);
    }
    return status;
}

sinew_status sinew_rig_read(int path_count, const char *const *paths, sinew_rig **rig,
                            sinew_error *error) {
    SN_REQUIRE(path_count >= 1 && paths && rig, error);
    *rig = NULL;
    SN_TRY(read_first(paths[0], rig, error));
    for (int i = 1; i < path_count; i++) {
        sinew_status status = sn_rig_add_path(*rig, paths[i], error);
        if (status == SINEW_OK) continue;
        sinew_rig_destroy(*rig);
        *rig = NULL;
        return status;
    }
    return SINEW_OK;
}

static sinew_status write_rig(const char *path, const sinew_rig *rig, const sn_keyed_clip *clip,
                              sinew_error *error) {
    for (const sn_format *const *f = sn_formats(); *f; f++) {
        if (!(*f)->write_rig || !sn_format_has_ending(*f, path)) continue;
        sn_buffer out = {0};
        return sn_format_finish(path, (*f)->write_rig(rig, clip, &out, error), &out, error);
    }
    if (*sn_path_ending(path) && !sn_is_folder(path))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%s: '%s' is not an ending of a rig file; a rig folder has no ending", path,
                       sn_path_ending(path));
    if (clip)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%s: a rig folder holds no clip; GLB and USDA files do", path);
    if (sn_storing_elsewhere())
        return sn_fail(error, SINEW_BAD_INPUT, "%s: a rig folder is written to disk only", path);
    return sn_rig_folder_write(path, rig, error);
}

sinew_status sinew_rig_write(const char *path, const sinew_rig *rig, sinew_error *error) {
    SN_REQUIRE(path && rig, error);
    return write_rig(path, rig, NULL, error);
}

sinew_status sinew_rig_write_animated(const char *path, const sinew_rig *rig,
                                      const sinew_curves *curves, sinew_error *error) {
    SN_REQUIRE(path && rig && curves, error);
    sn_keyed_clip clip;
    SN_TRY(sn_source_blame(&(sn_source){.name = path},
                           sn_keyed_clip_create(rig, curves, &clip, error), error));
    sinew_status status = write_rig(path, rig, &clip, error);
    sn_keyed_clip_free(&clip);
    return status;
}

static sinew_status write_into(const char *path, const char *original, const sinew_rig *rig,
                               const sinew_curves *curves, sinew_error *error) {
    const sn_format *format = NULL;
    for (const sn_format *const *f = sn_formats(); !format && *f; f++)
        if ((*f)->write_into && sn_format_has_ending(*f, original)) format = *f;
    if (!format)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%s: only GLB, VRM and FBX files can be written with everything they hold",
                       original);
    bool fits = false; /* the same kind of file under the other ending */
    for (const sn_format *const *f = sn_formats(); *f; f++)
        fits |= (*f)->write_into == format->write_into && sn_format_has_ending(*f, path);
    if (!fits)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: cannot hold everything that is in %s", path,
                       original);
    sn_keyed_clip clip = {0};
    if (curves)
        SN_TRY(sn_source_blame(&(sn_source){.name = path},
                               sn_keyed_clip_create(rig, curves, &clip, error), error));
    sn_source source;
    sn_buffer out = {0};
    sinew_status status = sn_source_open(&source, original, error);
    if (status == SINEW_OK) {
        status = format->write_into(&source, rig, curves ? &clip : NULL, &out, error);
        sn_source_close(&source);
        if (status == SINEW_OK)
            status = sn_format_finish(path, status, &out, error);
        else
            sn_buffer_free(&out);
    }
    sn_keyed_clip_free(&clip);
    return status;
}

sinew_status sinew_rig_write_into(const char *path, const char *original, const sinew_rig *rig,
                                  const sinew_curves *curves, const sinew_monitor *monitor,
                                  sinew_error *error) {
    SN_REQUIRE(path && original && rig, error);
    sn_scope scope;
    sn_scope_begin(&scope, monitor, 0, "writing");
    return sn_scope_end(&scope, write_into(path, original, rig, curves, error), error);
}
