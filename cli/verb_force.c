/* sinew force: markers, or weight curves, to frames of a simulated skin. Builds a scene in memory
 * and runs it. */
#include "base/status.h"
#include "markers.h"

static const cli_option options[] = {
    CLI_MARKERS_OPTIONS,
    {"--curves", CLI_INPUT, "FILE", "slider weights push instead of markers", 0, 0, false},
    {"--stretch-length", CLI_NUMBER, "SHARE",
     "narrower stretches are smoothed out (default 0.005 of the diagonal)", 0, 10, false},
    {"--bend-length", CLI_NUMBER, "SHARE", "narrower bumps are smoothed out (default 0.005)", 0,
     0.1, false},
    {"--overstretch", CLI_NUMBER, "SHARE", "extra stiffness beyond 110% (default 0.1)", 0, 1,
     false},
    {"--mass-time", CLI_NUMBER, "SECONDS", "how long the skin takes to follow (default 0.03)", 1e-6,
     1e6, false},
    {"--velocity-kept", CLI_NUMBER, "SHARE", "0 is overdamped, 1 keeps all (default 0.5)", 0, 1,
     false},
    {"--substeps", CLI_INTEGER, "N", "steps per frame (default 1)", 1, 1000, false},
    {"--relinearisations", CLI_INTEGER, "N", "per step (default 3)", 1, 1000, false},
    {"--ridge", CLI_NUMBER, "X", "pull to no command (default 0.02)", 0, 1e6, false},
    {"--smooth", CLI_NUMBER, "X", "pull to the last command (default 0)", 0, 1e6, false},
    {"--bounded", CLI_FLAG, NULL, "commands stay in [0, 1]", 0, 0, false},
    {"--lower", CLI_NUMBER, "X", "least command otherwise (default -0.05)", -1e6, 1, false},
    {"--upper", CLI_NUMBER, "X", "largest command otherwise (default 3)", 0, 1e6, false},
    {"--outlier", CLI_NUMBER, "SHARE", "markers farther off lose weight (default 0.05)", 1e-9, 1e9,
     false},
    {"--contact", CLI_TEXT, "REGIONS",
     "skin of these regions (lips,lids), or all, must not cross itself", 0, 0, false},
    {"--contact-margin", CLI_NUMBER, "SHARE",
     "what is this near to the regions is part of them (default 0.1)", 0, 10, false},
    {"--contact-gap", CLI_NUMBER, "SHARE", "distance that contact keeps (default 2e-5)", 1e-7, 0.01,
     false},
    {"--contact-length", CLI_NUMBER, "SHARE",
     "skin that presses bends over this length, as flesh does (default 0.02)", 0, 10, false},
    {"--layer-feeds", CLI_FLAG, NULL, "the next frame starts from the corrected shape", 0, 0,
     false},
    {"--fixed", CLI_TEXT, "SELECT", "held vertices (default: the border that no target moves)", 0,
     0, false},
    {"--jaw", CLI_TEXT, "TARGET", "opens the jaw: its rest then turns with it; or a selection", 0,
     0, false},
    {"--estimate-stiffness", CLI_FLAG, NULL, "find the skin's stiffness from the rig's own shapes",
     0, 0, false},
    {"--stiffness-prior", CLI_NUMBER, "X", "estimated factors stay about 1 (default 1)", 1e-12,
     1e12, false},
    {"--stretch-map", CLI_INPUT, "CSV", "vertex,value: factors of the stretch", 0, 0, false},
    {"--bend-map", CLI_INPUT, "CSV", "vertex,value: factors of the bending", 0, 0, false},
    {"--stretch-map-out", CLI_OUTPUT, "CSV", "keep the estimated factors", 0, 0, false},
    {"--bend-map-out", CLI_OUTPUT, "CSV", "keep the estimated factors", 0, 0, false},
    {"--trace", CLI_TEXT, "SELECT", "vertices whose distance from rest is plotted", 0, 0, false},
    {"--trace-plot", CLI_OUTPUT, "PNG", "where that plot goes", 0, 0, false},
    {"--friction", CLI_NUMBER, "MU", "of skin that presses (default 0.3)", 0, 1e6, false},
    {"--out", CLI_OUTPUT, "FILE", "where the frames go; the ending chooses the format", 0, 0, true},
    CLI_SCENE_OPTION,
    CLI_END,
};

static const char *const parameters[][2] = {
    {"--stretch-length", "stretch_length"},
    {"--bend-length", "bend_length"},
    {"--overstretch", "overstretch"},
    {"--mass-time", "mass_time"},
    {"--velocity-kept", "velocity_kept"},
    {"--substeps", "substeps"},
    {"--relinearisations", "relinearisations"},
    {"--ridge", "ridge"},
    {"--smooth", "smooth"},
    {"--bounded", "bounded"},
    {"--lower", "lower"},
    {"--upper", "upper"},
    {"--layer-feeds", "layer_feeds"},
    {"--fixed", "fixed"},
    {"--outlier", "outlier"},
    {"--contact", "contact"},
    {"--contact-margin", "contact_margin"},
    {"--contact-gap", "contact_gap"},
    {"--contact-length", "contact_length"},
    {"--friction", "friction"},
    {"--jaw", "jaw"},
    {"--estimate-stiffness", "estimate_stiffness"},
    {"--stiffness-prior", "stiffness_prior"},
    {"--stretch-map", "stretch_map"},
    {"--bend-map", "bend_map"},
    {"--trace", "trace"},
    CLI_MARKERS_PARAMETERS,
};

static sinew_status fill(cli_call *call, json_t *document) {
    const char *curves = cli_text(call, "--curves");
    if (!curves == !cli_given(call, "--markers"))
        return cli_usage(call, curves ? "--markers and --curves do not go together"
                                      : "needs --markers or --curves; see 'sinew force --help'");
    static const char *const of_markers[] = {
        "--map",         "--marker-unit",   "--unit",    "--stable",
        "--retarget",    "--neutral-frame", "--layer",   "--layer-smoothing",
        "--truth",       "--error-plot",    "--ridge",   "--smooth",
        "--bounded",     "--lower",         "--outlier", "--upper",
        "--layer-feeds", "--layer-contact", "--cutoff"};
    for (size_t i = 0; curves && i < sizeof of_markers / sizeof *of_markers; i++)
        if (cli_given(call, of_markers[i]))
            return cli_usage(call, "%s is about markers and does not go with --curves",
                             of_markers[i]);
    json_object_set_new(document, "model", json_string("force"));
    SN_TRY(cli_add_marker_drive(call, document));
    if (curves)
        json_object_set_new(document, "curves", json_pack("{s:o}", "file", cli_path(call, curves)));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        SN_TRY(cli_parameter(call, document, "force", parameters[i][0], parameters[i][1]));
    SN_TRY(cli_add_marker_outputs(call, document, NULL));
    static const char *const outputs[][2] = {{"--stretch-map-out", "stretch_map"},
                                             {"--bend-map-out", "bend_map"},
                                             {"--trace-plot", "trace_plot"}};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (cli_given(call, outputs[i][0]))
            json_object_set_new(json_object_get(document, "outputs"), outputs[i][1],
                                cli_path(call, cli_text(call, outputs[i][0])));
    return SINEW_OK;
}

static sinew_status run(cli_call *call) {
    return cli_run_filled(call, fill);
}

const cli_verb verb_force = {
    .name = "force",
    .summary = "captured markers, or weight curves, to a simulated skin",
    .arguments = "RIG...",
    .maximum = -1,
    .options = options,
    .description =
        "The face is a sheet with inertia and elasticity, pushed by the rig's targets; the pushes "
        "are chosen so that the markers are met. The skin may leave the span of the rig. With "
        "--curves the weights push, as if every vertex was drawn to its linear shape.\n\n"
        "--contact keeps skin from crossing itself: pairs that would meet press each other apart, "
        "and what that leaves is cut back, so that no written frame crosses where the one before "
        "did not. Lips meet what lies behind them: --contact-margin says how near to the regions a "
        "vertex must be at rest to take part, as a share of the diagonal.\n\n"
        "--estimate-stiffness asks at which stiffness the rig rests at its own shapes, vertex by "
        "vertex; the answer is kept in the store of expensive structures. --jaw jawOpen lets the "
        "chin move on an arc.\n\n"
        "Markers may be missing in any frame, jump, and sit inside triangles. The report holds per "
        "frame the error at the markers, the parts inside and outside the rig's span, and with "
        "--truth the dense error.",
    .example = "sinew sample face --out face\n"
               "sinew force face --markers face/markers.csv --map face/markers_map.csv --layer "
               "--frames 0-10 --out talk.pc2\n",
    .run = run,
};
