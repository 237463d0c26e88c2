/* sinew fit: markers or a point cache to slider curves by least squares. Markers go through a scene
 * in memory that is run. */
#include "files.h"
#include "frame.h"
#include "markers.h"
#include "report.h"

#include <string.h>

static const cli_option options[] = {
    CLI_MARKERS_OPTIONS,
    {"--out", CLI_OUTPUT, "FILE",
     "Write slider curves (.csv) or frames; the extension selects the format. With a point cache: "
     "curves, or the rig with the curves as its clip (.glb, .fbx, .usda).",
     0, 0, true},
    CLI_SCENE_OPTION,
    CLI_GROUP("Solver"),
    {"--method", CLI_CHOICE, "sbs|rsbs|uls",
     "sbs: weights of 0 or more; rsbs: the same, preferring few and small weights (default); uls: "
     "any weights.",
     0, 0, false},
    {"--l1", CLI_NUMBER, "X", "rsbs: penalty that favors few weights (default 0.002).", 0, 1e6,
     false},
    {"--l2", CLI_NUMBER, "X", "rsbs, uls: penalty that favors small weights (default 0.005, 0.01).",
     0, 1e6, false},
    {"--smooth", CLI_NUMBER, "X", "Penalty on changes from the previous frame (default 0).", 0, 1e6,
     false},
    {"--symmetry", CLI_NUMBER, "X", "Penalty on differences between left and right (default 0).", 0,
     1e6, false},
    {"--bounds", CLI_CHOICE, "method|slider|wide|none",
     "Range of the weights. slider: that of the slider (default of sbs and rsbs); wide: widened by "
     "its width (default of uls); none: sbs and rsbs 0 or more, uls any.",
     0, 0, false},
    {"--outlier", CLI_NUMBER, "FRACTION",
     "Residual beyond which a marker loses influence, as a fraction of the bounding-box diagonal "
     "(default 0.025).",
     1e-9, 1e9, false},
    CLI_GROUP("Point caches (--frames CACHE)"),
    {"--sparse", CLI_NUMBER, "X", "Penalty that favors few sliders (default 1e-6).", 0, 1e6, false},
    {"--correctives", CLI_INTEGER, "N",
     "Add up to this many targets for the motion that the sliders leave (default 0).", 0, 1000,
     false},
    CLI_END,
};

static const char *const parameters[][2] = {
    {"--method", "method"},
    {"--l1", "l1"},
    {"--l2", "l2"},
    {"--smooth", "smooth"},
    {"--symmetry", "symmetry"},
    {"--bounds", "bounds"},
    {"--outlier", "outlier"},
    CLI_MARKERS_PARAMETERS,
};

static sinew_status fill(cli_call *call, json_t *document) {
    if (!cli_given(call, "--markers"))
        return cli_usage(call, "needs --markers FILE; see 'sinew fit --help'");
    json_object_set_new(document, "model", json_string("fit"));
    CLI_TRY(cli_add_marker_drive(call, document));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        CLI_TRY(cli_parameter(call, document, "fit", parameters[i][0], parameters[i][1]));
    return cli_add_marker_outputs(call, document, "fitted");
}

static void report_frames(cli_call *call, const sinew_fit_frames_info *info) {
    json_t *totals = json_object_get(call->report, "totals");
    json_object_set_new(totals, "frames", json_integer(info->frames));
    json_object_set_new(totals, "correctives", json_integer(info->correctives));
    json_object_set_new(totals, "neutral_mean", json_real(info->neutral_mean));
    json_object_set_new(totals, "fitted_mean", json_real(info->fitted_mean));
    json_object_set_new(totals, "fitted_worst", json_real(info->fitted_worst));
    json_object_set_new(totals, "corrected_mean", json_real(info->corrected_mean));
    json_object_set_new(totals, "corrected_worst", json_real(info->corrected_worst));
    cli_say(call, "%d frames: vertices are off by %.3g on average, %.3g at worst (neutral: %.3g)",
            info->frames, info->fitted_mean, info->fitted_worst, info->neutral_mean);
    if (info->correctives > 0)
        cli_say(call, "with %d new targets: %.3g on average, %.3g at worst", info->correctives,
                info->corrected_mean, info->corrected_worst);
}

static sinew_status write_fitted(cli_call *call, const sinew_rig *rig, const sinew_curves *curves) {
    const char *original = call->argument_count == 1 ? call->arguments[0] : NULL;
    for (int i = 0; i < cli_count(call, "--out"); i++) {
        const char *out = cli_text_at(call, "--out", i);
        if (cli_has_ending(out, "csv"))
            CLI_TRY(sinew_curves_write(out, curves, &call->error));
        else if (*cli_path_ending(out))
            CLI_TRY(cli_write_rig(call, original, rig, curves, out));
        else
            CLI_TRY(sinew_rig_write(out, rig, &call->error));
        cli_say(call, "wrote %s", out);
    }
    return SINEW_OK;
}

static sinew_status fit_cache(cli_call *call, const sinew_rig *rig, sinew_frames *frames) {
    sinew_fit_frames_options chosen;
    sinew_fit_frames_options_init(&chosen);
    chosen.smooth = cli_number(call, "--smooth", chosen.smooth);
    chosen.sparse = cli_number(call, "--sparse", chosen.sparse);
    chosen.correctives = cli_integer(call, "--correctives", 0);
    const char *bounds = cli_text(call, "--bounds");
    if (bounds && strcmp(bounds, "wide") == 0)
        return cli_usage(call, "--bounds wide needs --markers");
    chosen.bounded = !bounds || strcmp(bounds, "none") != 0;
    sinew_curves *curves = NULL;
    sinew_rig *corrected = NULL;
    sinew_fit_frames_info info = {.size = sizeof info};
    sinew_status status = sinew_frames_match(frames, rig->neutral, &call->error);
    if (status == SINEW_BAD_INPUT)
        return sinew_fail(&call->error, status, "%s: has %d points, but the rig has %d vertices",
                          cli_text(call, "--frames"), frames->vertex_count,
                          rig->neutral->vertex_count);
    if (status == SINEW_OK)
        status = sinew_fit_frames(rig, frames, &chosen, call->monitor, &curves, &corrected, &info,
                                  &call->error);
    if (status == SINEW_OK) report_frames(call, &info);
    if (status == SINEW_OK) status = write_fitted(call, corrected ? corrected : rig, curves);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(corrected);
    return status;
}

/* Options of markers are refused rather than ignored. */
static sinew_status check_cache_options(cli_call *call) {
    static const char *const used[] = {"--frames", "--out",    "--smooth",
                                       "--bounds", "--sparse", "--correctives"};
    for (const cli_option *o = options; o->name; o++) {
        bool known = !*o->name || !cli_given(call, o->name);
        for (size_t i = 0; !known && i < sizeof used / sizeof *used; i++)
            known = !strcmp(o->name, used[i]);
        if (!known) return cli_usage(call, "%s needs --markers", o->name);
    }
    return SINEW_OK;
}

static sinew_status run_cache(cli_call *call) {
    const char *path = cli_text(call, "--frames");
    CLI_TRY(check_cache_options(call));
    if (cli_count(call, "--out") == 0)
        return cli_usage(call, "needs --out FILE; see 'sinew fit --help'");
    if (call->argument_count == 0) return cli_usage(call, "--frames CACHE needs a RIG");
    CLI_TRY(cli_check_input(call, path));
    sinew_rig *rig = NULL;
    sinew_frames *frames = NULL;
    sinew_status status = sinew_rig_read(call->argument_count, call->arguments, &rig, &call->error);
    if (status == SINEW_OK) {
        cli_report_input(call->report, path);
        cli_report_sizes(call->report, rig->neutral->vertex_count, rig->neutral->triangle_count);
        status = sinew_frames_read(path, &frames, &call->error);
    }
    if (status == SINEW_OK) status = fit_cache(call, rig, frames);
    sinew_frames_destroy(frames);
    sinew_rig_destroy(rig);
    return status;
}

static sinew_status run(cli_call *call) {
    CLI_TRY(cli_refuse_take_as_rig(call));
    if (cli_given(call, "--frames") && !cli_given(call, "--markers")) return run_cache(call);
    if (cli_given(call, "--sparse") || cli_given(call, "--correctives"))
        return cli_usage(call, "--sparse and --correctives need --frames CACHE");
    return cli_run_filled(call, fill);
}

const cli_verb verb_fit = {
    .name = "fit",
    .summary = "solve slider curves for captured markers or a point cache by least squares",
    .arguments = "RIG...",
    .maximum = -1,
    .options = options,
    .description =
        "Solve for the slider weights whose shape fits the captured markers best, frame by "
        "frame.\n\nMissing markers are ignored, and markers that jump away lose their influence. "
        "--layer corrects the frames by what remains at the markers; the curves are not "
        "affected.\n\n"
        "Weights stay in the range of their sliders (--bounds). Sliders that the markers do not "
        "observe, such as gaze, pupils and tongue, are held: --also solves for them nevertheless, "
        "--only and --without select sliders. The report lists the held sliders with the reason, "
        "and the condition of the solve.\n\n"
        "With --frames CACHE and without --markers, fit solves the sliders for every vertex of a "
        "point cache (PC2, MDD, GLB, FBX, OBJ sequence), smooth over time and within their limits. "
        "--correctives adds targets for what the rig cannot show.",
    .example = "sinew sample face --out face\n"
               "sinew fit face --markers face/markers.csv --map face/markers_map.csv --out "
               "curves.csv --frames 0-30\n",
    .run = run,
};
