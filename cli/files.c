#include "files.h"

#include <string.h>

#include "report.h"
#include "tools.h"

static sinew_format_info format_at(int index) {
    sinew_format_info info = {.size = sizeof info};
    sinew_format_get_info(index, &info);
    return info;
}

/* Reads the first kind of thing, in this order, that the format holds and `wanted` allows. False:
 * there is none. */
static bool read_as(const sinew_format_info *format, unsigned wanted, const char *path,
                    cli_file *file, sinew_status *status, sinew_error *error) {
    unsigned can = format->reads & wanted;
    file->format = format->name;
    if (can & SINEW_CONTENT_RIG)
        *status = sinew_rig_read(1, &path, &file->rig, error);
    else if (can & SINEW_CONTENT_MESH)
        *status = sinew_mesh_read(path, &file->mesh, error);
    else if (can & SINEW_CONTENT_FRAMES && format->streams_frames)
        *status = sinew_frame_reader_open(path, &file->reader, error);
    else if (can & SINEW_CONTENT_FRAMES)
        *status = sinew_frames_read(path, &file->frames, error);
    else if (can & SINEW_CONTENT_CURVES)
        *status = sinew_curves_read(path, &file->curves, error);
    else if (can & SINEW_CONTENT_MARKERS)
        *status = sinew_markers_read(path, &file->markers, error);
    else if (can & SINEW_CONTENT_TETS)
        *status = sinew_tets_read(path, &file->tets, error);
    else
        return false;
    return true;
}

/* What files with this ending can hold; a path without an ending is a rig folder. */
static unsigned kinds_written(const char *path) {
    unsigned kinds = *cli_path_ending(path) ? 0 : SINEW_CONTENT_RIG | SINEW_CONTENT_MESH;
    for (int i = 0; i < sinew_format_count(); i++) {
        if (!sinew_format_has_ending(i, path)) continue;
        kinds |= format_at(i).writes;
    }
    return kinds;
}

bool cli_holds_mesh_only(const char *path) {
    unsigned kinds = *cli_path_ending(path) ? kinds_written(path) : 0;
    return kinds & SINEW_CONTENT_MESH && !(kinds & SINEW_CONTENT_RIG);
}

sinew_status cli_file_read_for(const char *path, const char *out, bool cage, cli_file *file,
                               sinew_error *error) {
    memset(file, 0, sizeof *file);
    unsigned written = kinds_written(out);
    if (cli_is_folder(path) || written == 0) return cli_file_read(path, file, error);
    if (written & SINEW_CONTENT_MESH) written |= SINEW_CONTENT_RIG; /* its neutral */
    for (int i = 0; i < sinew_format_count(); i++) {
        sinew_format_info format = format_at(i);
        sinew_status status;
        if (!sinew_format_has_ending(i, path) || format.shares_ending) continue;
        /* A file that is posed goes into a plain mesh as it shows itself. */
        bool shown = format.applies_deformer && cli_holds_mesh_only(out);
        unsigned wanted = shown ? SINEW_CONTENT_MESH : written;
        if (shown && !cage) {
            file->format = format.name;
            return sinew_mesh_read_shown(path, &file->mesh, error);
        }
        /* Tables of curves and of markers are told apart by their content. */
        if (cli_has_ending(path, "csv")) wanted &= ~(unsigned)SINEW_CONTENT_CURVES;
        if (read_as(&format, wanted, path, file, &status, error)) return status;
    }
    return cli_file_read(path, file, error);
}

sinew_status cli_file_read(const char *path, cli_file *file, sinew_error *error) {
    memset(file, 0, sizeof *file);
    if (cli_is_folder(path)) {
        file->format = "folder";
        return sinew_rig_read(1, &path, &file->rig, error);
    }
    int index;
    CLI_TRY(sinew_format_find(path, &index, error));
    sinew_format_info format = format_at(index);
    sinew_status status = SINEW_OK;
    if (!read_as(&format, ~0u, path, file, &status, error))
        return sinew_fail(error, SINEW_BAD_INPUT, "%s: %s files can be written but not read", path,
                          format.name);
    return status;
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

/* Kinds of files that can be copied with another rig in them. */
static int container(const char *path) {
    if (cli_has_ending(path, "glb") || cli_has_ending(path, "vrm")) return 1;
    return cli_has_ending(path, "fbx") ? 2 : 0;
}

bool cli_holds_rig(const char *path) {
    return cli_is_folder(path) || container(path) || kinds_written(path) & SINEW_CONTENT_RIG;
}

bool cli_keeps(const char *in, const char *out) {
    return in && container(in) && container(in) == container(out);
}

/* FBX has no rules for correctives: only a clip or a driver table moves them. */
static void warn_of_rules(cli_call *call, const sinew_rig *rig, const char *out) {
    int count = 0;
    for (int i = 0; i < rig->target_count; i++)
        count += rig->targets[i].kind == SINEW_TARGET_KIND_COMBINATION;
    bool table = cli_has_option(call->verb, "--drivers") && cli_given(call, "--drivers");
    if (count > 0 && !table && cli_has_ending(out, "fbx"))
        cli_warn(call,
                 "%s: FBX cannot store the rules of the %d combinations, which become plain "
                 "channels; a clip or a driver table moves them",
                 out, count);
}

sinew_status cli_write_rig(cli_call *call, const char *original, const sinew_rig *rig,
                           const sinew_curves *curves, const char *out) {
    if (!curves) warn_of_rules(call, rig, out);
    if (cli_keeps(original, out)) {
        sinew_status status =
            sinew_rig_write_into(out, original, rig, curves, call->monitor, &call->error);
        if (status != SINEW_UNAVAILABLE) return status;
        cli_warn(call, "%s; materials, skins and other nodes are left out", call->error.message);
    }
    if (curves) return sinew_rig_write_animated(out, rig, curves, &call->error);
    return sinew_rig_write(out, rig, &call->error);
}

static sinew_status bind_curves(cli_call *call, const char *path, const sinew_rig *rig,
                                const sinew_curves *curves, sinew_curves **bound) {
    sinew_error why = {0};
    sinew_status status = sinew_rig_bind_curves(rig, curves, bound, NULL, &why);
    if (status != SINEW_OK)
        return sinew_fail(&call->error, status, "%s: %.400s", path, why.message);
    int sliders[2], matched = 0;
    for (int c = 0; c < curves->channel_count; c++)
        matched += sinew_rig_match(rig, curves->names[c], sliders) > 0;
    if (matched == 0)
        return sinew_fail(&call->error, SINEW_BAD_INPUT,
                          "%s: the rig has no slider for any of the curves, such as '%s'", path,
                          curves->channel_count > 0 ? curves->names[0] : "");
    for (int c = 0; c < curves->channel_count; c++)
        if (sinew_rig_match(rig, curves->names[c], sliders) == 0)
            cli_warn(call, "%s: curve '%s' drives no slider of the rig", path, curves->names[c]);
    return SINEW_OK;
}

sinew_status cli_read_curves(cli_call *call, const char *path, const sinew_rig *rig,
                             sinew_curves **curves, sinew_curves **bound) {
    sinew_curves *read = NULL, *made = NULL;
    cli_report_input(call->report, path);
    sinew_status status = sinew_curves_read(path, &read, &call->error);
    if (status == SINEW_OK) status = bind_curves(call, path, rig, read, &made);
    if (status == SINEW_OK && curves) *curves = read, read = NULL;
    if (status == SINEW_OK && bound) *bound = made, made = NULL;
    sinew_curves_destroy(made);
    sinew_curves_destroy(read);
    return status;
}
