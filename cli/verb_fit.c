/* sinew fit: markers to slider curves by least squares. Builds a scene in memory and runs it. */
#include "base/status.h"
#include "markers.h"

static const cli_option options[] = {
    CLI_MARKERS_OPTIONS,
    {"--method", CLI_CHOICE, "sbs|rsbs|uls",
     "weights of 0 or more | the same, small ones preferred (default) | any weights", 0, 0, false},
    {"--l1", CLI_NUMBER, "X", "rsbs: pull to few weights (default 0.002)", 0, 1e6, false},
    {"--l2", CLI_NUMBER, "X", "rsbs, uls: pull to small weights (default 0.005, 0.01)", 0, 1e6,
     false},
    {"--smooth", CLI_NUMBER, "X", "pull to the last frame's weights (default 0)", 0, 1e6, false},
    {"--symmetry", CLI_NUMBER, "X", "pull of left and right to each other (default 0)", 0, 1e6,
     false},
    {"--bounded", CLI_FLAG, NULL, "no weight beyond its slider's maximum", 0, 0, false},
    {"--outlier", CLI_NUMBER, "SHARE",
     "markers farther off, as a share of the diagonal, lose weight (default 0.025)", 1e-9, 1e9,
     false},
    {"--out", CLI_OUTPUT, "FILE", "slider curves (.csv) or frames, by the ending", 0, 0, true},
    CLI_SCENE_OPTION,
    CLI_END,
};

static const char *const parameters[][2] = {
    {"--method", "method"},
    {"--l1", "l1"},
    {"--l2", "l2"},
    {"--smooth", "smooth"},
    {"--symmetry", "symmetry"},
    {"--bounded", "bounded_above"},
    {"--outlier", "outlier"},
    CLI_MARKERS_PARAMETERS,
};

static sinew_status fill(cli_call *call, json_t *document) {
    if (!cli_given(call, "--markers"))
        return cli_usage(call, "needs --markers FILE; see 'sinew fit --help'");
    json_object_set_new(document, "model", json_string("fit"));
    SN_TRY(cli_add_marker_drive(call, document));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        SN_TRY(cli_parameter(call, document, "fit", parameters[i][0], parameters[i][1]));
    return cli_add_marker_outputs(call, document, "fitted");
}

static sinew_status run(cli_call *call) {
    return cli_run_filled(call, fill);
}

const cli_verb verb_fit = {
    .name = "fit",
    .summary = "captured markers to slider curves by least squares",
    .arguments = "RIG...",
    .maximum = -1,
    .options = options,
    .description =
        "Finds in every frame the weights whose shape meets the markers best: sbs (weights of 0 or "
        "more), rsbs (the same, with small and few weights preferred) or uls (any weights). "
        "Missing markers count nothing; one that jumps away is not believed.\n\n"
        "--out FILE.csv holds the slider curves, any other ending the frames. --layer corrects the "
        "frames by what is left at the markers; the curves stay as they are.",
    .example = "sinew sample face --out face\n"
               "sinew fit face --markers face/markers.csv --map face/markers_map.csv --out "
               "curves.csv --frames 0-30\n",
    .run = run,
};
