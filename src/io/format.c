#include "io/format.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "io/reading.h"

const sn_format *const *sn_formats(void) {
    /* where two share an ending, the one that recognises its files comes first */
    static const sn_format *const formats[] = {&sn_format_obj,
                                               &sn_format_ply,
                                               &sn_format_off,
                                               &sn_format_glb,
                                               &sn_format_gltf,
                                               &sn_format_vrm,
                                               &sn_format_fbx,
                                               &sn_format_medit,
                                               &sn_format_tetgen_node,
                                               &sn_format_tetgen_ele,
                                               &sn_format_usda,
                                               &sn_format_pc2,
                                               &sn_format_mdd,
                                               &sn_format_livelink,
                                               &sn_format_markers_csv,
                                               &sn_format_curves_csv,
                                               &sn_format_c3d,
                                               &sn_format_trc,
                                               NULL};
    return formats;
}

bool sn_format_has_ending(const sn_format *format, const char *path) {
    const char *ending = sn_path_ending(path);
    size_t length = strlen(ending);
    for (const char *known = format->endings; length && *known;) {
        size_t known_length = strcspn(known, " ");
        if (known_length == length && strncasecmp(known, ending, length) == 0) return true;
        known += known_length;
        known += strspn(known, " ");
    }
    return false;
}

sinew_status sn_check_float32(const sinew_mesh *mesh, const sinew_rig *rig, sinew_error *error) {
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++)
        if (!(fabs(mesh->positions[i]) <= FLT_MAX))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu does not fit float32", i / 3);
    for (int t = 0; rig && t < rig->target_count; t++)
        for (size_t i = 0; i < 3 * (size_t)rig->targets[t].count; i++)
            if (!(fabs(rig->targets[t].deltas[i]) <= FLT_MAX))
                return sn_fail(error, SINEW_BAD_INPUT, "target \"%s\" does not fit float32",
                               rig->targets[t].name);
    return SINEW_OK;
}

sinew_status sn_source_open(sn_source *source, const char *path, sinew_error *error) {
    char *bytes;
    SN_TRY(sn_load(path, &bytes, &source->size, error));
    source->bytes = bytes;
    source->name = source->path = path;
    return SINEW_OK;
}

void sn_source_close(sn_source *source) {
    sn_free((char *)source->bytes);
    source->bytes = NULL;
}

sinew_status sn_source_fail(const sn_source *source, sinew_error *error, const char *format, ...) {
    char what[SINEW_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    sn_vprint(what, sizeof what, format, arguments);
    va_end(arguments);
    return sn_fail(error, SINEW_BAD_INPUT, "%s: %s", source->name, what);
}

sinew_status sn_source_blame(const sn_source *source, sinew_status status, sinew_error *error) {
    if (status == SINEW_OK || status == SINEW_NO_MEMORY || !error) return status;
    char what[SINEW_MESSAGE_SIZE];
    memcpy(what, error->message, sizeof what);
    return sn_fail(error, status, "%s: %s", source->name, what);
}

sinew_status sn_format_finish(const char *path, sinew_status status, sn_buffer *out,
                              sinew_error *error) {
    status = sn_source_blame(&(sn_source){.name = path}, status, error);
    if (status == SINEW_OK && out->failed) status = sn_no_memory(error);
    if (status == SINEW_OK) status = sn_store(path, out->bytes, out->size, error);
    sn_buffer_free(out);
    return status;
}
