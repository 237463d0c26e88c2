/* sinew fit: markers to slider curves by least squares. Builds a scene in memory and runs it. */
#include "markers.h"

static const cli_option options[] = {
    CLI_MARKERS_OPTIONS,
    {"--out", CLI_OUTPUT, "FILE",
     "Write slider curves (.csv) or frames; the extension selects the format.", 0, 0, true},
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

static sinew_status run(cli_call *call) {
    return cli_run_filled(call, fill);
}

const cli_verb verb_fit = {
    .name = "fit",
    .summary = "solve slider curves for captured markers by least squares",
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
        "and the condition of the solve.",
    .example = "sinew sample face --out face\n"
               "sinew fit face --markers face/markers.csv --map face/markers_map.csv --out "
               "curves.csv --frames 0-30\n",
    .run = run,
};
