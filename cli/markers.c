#include "markers.h"

#include <string.h>
#include <strings.h>

static bool has_ending(const char *path, const char *ending) {
    size_t length = strlen(path), own = strlen(ending);
    return length > own && !strcasecmp(path + length - own, ending);
}

sinew_status cli_refuse_take_as_rig(cli_call *call) {
    for (int i = 0; i < call->argument_count; i++) {
        const char *path = call->arguments[i];
        if (has_ending(path, ".csv") || has_ending(path, ".c3d") || has_ending(path, ".trc"))
            return cli_usage(call, "%s is not a rig; pass a take as --markers %s", path, path);
    }
    return SINEW_OK;
}

sinew_status cli_add_marker_drive(cli_call *call, json_t *document) {
    CLI_TRY(cli_add_rig(call, document, false));
    const char *file = cli_text(call, "--markers");
    if (file) {
        json_t *markers = json_pack("{s:o}", "file", cli_path(call, file));
        if (cli_given(call, "--map"))
            json_object_set_new(markers, "map", cli_path(call, cli_text(call, "--map")));
        if (cli_given(call, "--truth"))
            json_object_set_new(markers, "truth", cli_path(call, cli_text(call, "--truth")));
        if (cli_given(call, "--marker-unit"))
            json_object_set_new(markers, "unit", json_string(cli_text(call, "--marker-unit")));
        if (cli_given(call, "--unit"))
            json_object_set_new(json_object_get(document, "rig"), "unit",
                                json_string(cli_text(call, "--unit")));
        json_object_set_new(document, "markers", markers);
    }
    if (cli_given(call, "--fps"))
        json_object_set_new(document, "time",
                            json_pack("{s:f}", "fps", cli_number(call, "--fps", 30)));
    return SINEW_OK;
}

sinew_status cli_add_marker_outputs(cli_call *call, json_t *document, const char *curves_output) {
    json_t *outputs = json_object(), *frames = json_array();
    json_object_set_new(document, "outputs", outputs);
    json_object_set_new(outputs, "frames", frames);
    for (int i = 0; i < cli_count(call, "--out"); i++) {
        const char *path = cli_text_at(call, "--out", i);
        if (curves_output && has_ending(path, ".csv"))
            json_object_set_new(outputs, curves_output, cli_path(call, path));
        else
            json_array_append_new(frames, cli_path(call, path));
    }
    if (cli_given(call, "--error-plot"))
        json_object_set_new(outputs, "error_plot", cli_path(call, cli_text(call, "--error-plot")));
    return SINEW_OK;
}
