/* sinew sample: a built-in rig as files. */
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "job/report.h"
#include "verb.h"

static const cli_option options[] = {
    {"--out", CLI_TEXT, "DIR|FILE", "a rig folder, or a rig file by its ending (default: ./NAME)",
     0, 0, false},
    {"--vertices", CLI_INTEGER, "N", "wanted size (default: the sample's own)",
     SINEW_SAMPLE_MIN_VERTICES, SINEW_SAMPLE_MAX_VERTICES, false},
    CLI_END,
};

static sinew_status list(cli_call *call) {
    json_t *names = json_array();
    for (int i = 0; i < sinew_sample_count(); i++) {
        cli_say(call, "  %-10s %s", sinew_sample_name(i), sinew_sample_summary(i));
        json_array_append_new(names, json_string(sinew_sample_name(i)));
    }
    json_object_set_new(call->report, "samples", names);
    return SINEW_OK;
}

/* A folder also gets the sample's clip of weight curves. */
static sinew_status write_clip(cli_call *call, const char *name, const char *folder) {
    if (!sn_is_folder(folder)) return SINEW_OK;
    sinew_curves *curves;
    SN_TRY(sinew_sample_curves(name, &curves, &call->error));
    char *path = sn_path_join(folder, "clip.csv");
    sinew_status status =
        path ? sinew_curves_write(path, curves, &call->error) : sn_no_memory(&call->error);
    sn_free(path);
    sinew_curves_destroy(curves);
    return status;
}

static sinew_status run(cli_call *call) {
    if (call->argument_count == 0) return list(call);
    const char *name = call->arguments[0];
    const char *out = cli_given(call, "--out") ? cli_text(call, "--out") : name;
    sinew_sample_options chosen = sinew_sample_default_options();
    chosen.vertices = cli_integer(call, "--vertices", 0);
    sinew_rig *rig;
    SN_TRY(sinew_sample_rig(name, &chosen, &rig, &call->error));
    sn_report_sizes(call->report, rig->neutral->vertex_count, rig->neutral->triangle_count);
    sinew_status status = sinew_rig_write(out, rig, &call->error);
    if (status == SINEW_OK) status = write_clip(call, name, out);
    if (status == SINEW_OK)
        cli_say(call, "wrote %s: %d vertices, %d targets", out, rig->neutral->vertex_count,
                rig->target_count);
    sinew_rig_destroy(rig);
    return status;
}

const cli_verb verb_sample = {
    .name = "sample",
    .summary = "write a built-in rig",
    .arguments = "[NAME]",
    .maximum = 1,
    .options = options,
    .description =
        "Without a name: lists the built-in rigs. With one: writes its neutral, its targets and a "
        "clip of weight curves. The same name and size give the same bits every time.",
    .example = "sinew sample\n"
               "sinew sample bar --out bar\n"
               "sinew blend bar --model rotation --curves bar/clip.csv --out bar.pc2\n",
    .run = run,
};
