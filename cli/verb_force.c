/* sinew force: markers, or weight curves, to frames of a simulated skin. Builds a scene in memory
 * and runs it. */
#include "markers.h"

static const cli_option options[] = {
    {"--curves", CLI_INPUT, "FILE",
     "Drive the face with slider weights instead of markers, CSV; at 30 frames per second unless "
     "--fps is given.",
     0, 0, false},
    CLI_MARKERS_OPTIONS,
    {"--out", CLI_OUTPUT, "FILE", "Write the frames here; the extension selects the format.", 0, 0,
     true},
    {"--curves-out", CLI_OUTPUT, "FILE",
     "Write the commands as slider curves, CSV; --curves plays them back.", 0, 0, false},
    CLI_SCENE_OPTION,
    CLI_GROUP("Contact"),
    {"--contact", CLI_TEXT, "REGIONS",
     "Keep these regions (lips,lids), selections (piece:7,target:jawOpen>0.2), or all, from "
     "intersecting.",
     0, 0, false},
    {"--contact-margin", CLI_NUMBER, "FRACTION",
     "How near to the regions a vertex must be at rest to take part, as a fraction of the "
     "bounding-box diagonal (default 0.1).",
     0, 10, false},
    {"--contact-gap", CLI_NUMBER, "FRACTION",
     "Distance that contact maintains, as a fraction of the bounding-box diagonal (default 2e-5).",
     1e-7, 0.01, false},
    {"--contact-length", CLI_NUMBER, "FRACTION",
     "Length over which pressed skin bends, as a fraction of the bounding-box diagonal (default "
     "0.02).",
     0, 10, false},
    {"--friction", CLI_NUMBER, "MU", "Coulomb friction between pressed skin (default 0.3).", 0, 1e6,
     false},
    {"--stick", CLI_NUMBER, "FRACTION",
     "Skin that touched sticks, as moist lips do, until it would be apart by this fraction of the "
     "bounding-box diagonal; try 0.001 (default 0).",
     0, 1, false},
    {"--obstacle", CLI_TEXT, "SHAPE",
     "Press an obstacle into the skin: sphere:x,y,z,r | plane:x,y,z,nx,ny,nz | "
     "capsule:ax,ay,az,bx,by,bz,r | cylinder:ax,ay,az,bx,by,bz,r | box:x,y,z,hx,hy,hz | a mesh "
     "file. Scenes can move it.",
     0, 0, true},
    CLI_GROUP("Flesh"),
    {"--flesh", CLI_FLAG, NULL,
     "Let flesh lag behind a moving head, and sag when the head leans: inertia and gravity.", 0, 0,
     false},
    {"--flesh-frequency", CLI_NUMBER, "HZ", "Frequency of the softest flesh (default 7).", 0.1,
     1000, false},
    {"--flesh-damping", CLI_NUMBER, "RATIO", "Damping ratio of the flesh (default 0.2).", 0, 100,
     false},
    {"--flesh-length", CLI_NUMBER, "FRACTION",
     "Length over which flesh moves together, as a fraction of the bounding-box diagonal (default "
     "0.03).",
     0, 10, false},
    {"--gravity", CLI_NUMBER, "G", "Gravity, in multiples of that of the earth (default 1).", 0,
     1000, false},
    {"--softness", CLI_INPUT, "CSV",
     "Softness of the flesh, 0 to 1: vertex,value (default: from the regions of the face).", 0, 0,
     false},
    CLI_GROUP("Skin"),
    {"--mass-time", CLI_NUMBER, "SECONDS",
     "Time in which the skin follows its forces (default 0.03).", 1e-6, 1e6, false},
    {"--velocity-kept", CLI_NUMBER, "FRACTION",
     "Fraction of the velocity kept over 1/60 s: 0 is overdamped, 1 undamped (default 0.5).", 0, 1,
     false},
    {"--stretch-length", CLI_NUMBER, "FRACTION",
     "Smooth out stretches narrower than this fraction of the bounding-box diagonal (default "
     "0.005).",
     0, 10, false},
    {"--bend-length", CLI_NUMBER, "FRACTION",
     "Smooth out bumps narrower than this fraction of the bounding-box diagonal (default 0.005).",
     0, 0.1, false},
    {"--overstretch", CLI_NUMBER, "X", "Extra stiffness beyond 110% stretch (default 0.1).", 0, 1,
     false},
    {"--position", CLI_NUMBER, "X",
     "Stiffness that draws the skin to its rest, as a factor of the default (default 1).", 0, 1e6,
     false},
    {"--fixed", CLI_TEXT, "SELECT",
     "Vertices that do not move (default: the boundary that no target moves).", 0, 0, false},
    {"--skull", CLI_TEXT, "SELECTION",
     "A skull that no target moves, such as part:skull: the skin above it slides over it instead "
     "of "
     "sinking in.",
     0, 0, false},
    {"--jaw", CLI_TEXT, "TARGET",
     "Target that opens the jaw, or a selection: its rest shape rotates with the jaw.", 0, 0,
     false},
    {"--estimate-stiffness", CLI_FLAG, NULL,
     "Estimate the stiffness of the skin from the rig's own targets.", 0, 0, false},
    {"--stiffness-prior", CLI_NUMBER, "X",
     "How strongly estimated factors are drawn to 1 (default 1).", 1e-12, 1e12, false},
    {"--stretch-map", CLI_INPUT, "CSV", "Stretch stiffness factors: vertex,value.", 0, 0, false},
    {"--bend-map", CLI_INPUT, "CSV", "Bending stiffness factors: vertex,value.", 0, 0, false},
    {"--mass-map", CLI_INPUT, "CSV", "Mass factors: vertex,value.", 0, 0, false},
    {"--stretch-map-out", CLI_OUTPUT, "CSV", "Write the estimated stretch factors.", 0, 0, false},
    {"--bend-map-out", CLI_OUTPUT, "CSV", "Write the estimated bending factors.", 0, 0, false},
    CLI_GROUP("Solver"),
    {"--substeps", CLI_INTEGER, "N", "Time steps per frame (default 1).", 1, 1000, false},
    {"--relinearisations", CLI_INTEGER, "N", "Relinearizations per step (default 3).", 1, 1000,
     false},
    {"--ridge", CLI_NUMBER, "X", "Penalty that favors small commands (default 0.02).", 0, 1e6,
     false},
    {"--smooth", CLI_NUMBER, "X", "Penalty on changes from the previous command (default 0).", 0,
     1e6, false},
    {"--bounded", CLI_FLAG, NULL, "Keep commands within [0, 1].", 0, 0, false},
    {"--lower", CLI_NUMBER, "X", "Smallest command without --bounded (default -0.05).", -1e6, 1,
     false},
    {"--upper", CLI_NUMBER, "X", "Largest command without --bounded (default 3).", 0, 1e6, false},
    {"--outlier", CLI_NUMBER, "FRACTION",
     "Residual beyond which a marker loses influence, as a fraction of the bounding-box diagonal "
     "(default 0.05).",
     1e-9, 1e9, false},
    {"--published", CLI_FLAG, NULL,
     "Steer as in the first publication: estimated stiffness, commands without bounds or "
     "penalties, every marker trusted, no layer.",
     0, 0, false},
    {"--layer-feeds", CLI_FLAG, NULL, "Start the next frame from the corrected shape.", 0, 0,
     false},
    {"--trace", CLI_TEXT, "SELECT", "Plot the displacement of these vertices from rest.", 0, 0,
     false},
    {"--trace-plot", CLI_OUTPUT, "PNG", "Write that plot here.", 0, 0, false},
    CLI_END,
};

static const char *const parameters[][2] = {
    {"--stretch-length", "stretch_length"},
    {"--bend-length", "bend_length"},
    {"--overstretch", "overstretch"},
    {"--position", "position"},
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
    {"--published", "published"},
    {"--fixed", "fixed"},
    {"--outlier", "outlier"},
    {"--contact", "contact"},
    {"--contact-margin", "contact_margin"},
    {"--contact-gap", "contact_gap"},
    {"--contact-length", "contact_length"},
    {"--friction", "friction"},
    {"--stick", "stick"},
    {"--flesh", "flesh"},
    {"--flesh-frequency", "flesh_frequency"},
    {"--flesh-damping", "flesh_damping"},
    {"--flesh-length", "flesh_length"},
    {"--gravity", "gravity"},
    {"--softness", "softness"},
    {"--skull", "skull"},
    {"--jaw", "jaw"},
    {"--estimate-stiffness", "estimate_stiffness"},
    {"--stiffness-prior", "stiffness_prior"},
    {"--stretch-map", "stretch_map"},
    {"--mass-map", "mass_map"},
    {"--bend-map", "bend_map"},
    {"--trace", "trace"},
    CLI_MARKERS_PARAMETERS,
};

static sinew_status fill(cli_call *call, json_t *document) {
    const char *curves = cli_text(call, "--curves");
    CLI_TRY(cli_refuse_take_as_rig(call));
    if (!curves == !cli_given(call, "--markers"))
        return cli_usage(call, curves ? "--markers and --curves do not go together"
                                      : "needs --markers or --curves; see 'sinew force --help'");
    static const char *const of_markers[] = {
        "--map",         "--marker-unit",   "--unit",     "--stable",
        "--retarget",    "--neutral-frame", "--layer",    "--layer-smoothing",
        "--truth",       "--error-plot",    "--ridge",    "--smooth",
        "--bounded",     "--lower",         "--outlier",  "--upper",
        "--layer-feeds", "--layer-contact", "--cutoff",   "--only",
        "--also",        "--without",       "--published"};
    for (size_t i = 0; curves && i < sizeof of_markers / sizeof *of_markers; i++)
        if (cli_given(call, of_markers[i]))
            return cli_usage(call, "%s applies to markers and cannot be combined with --curves",
                             of_markers[i]);
    json_object_set_new(document, "model", json_string("force"));
    if (cli_given(call, "--obstacle")) {
        json_t *list;
        CLI_TRY(cli_read_forms(call, "--obstacle", sinew_text_obstacle, &list));
        json_object_set_new(document, "obstacles", list);
    }
    CLI_TRY(cli_add_marker_drive(call, document));
    if (curves)
        json_object_set_new(document, "curves", json_pack("{s:o}", "file", cli_path(call, curves)));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        CLI_TRY(cli_parameter(call, document, "force", parameters[i][0], parameters[i][1]));
    CLI_TRY(cli_add_marker_outputs(call, document, NULL));
    static const char *const outputs[][2] = {{"--stretch-map-out", "stretch_map"},
                                             {"--bend-map-out", "bend_map"},
                                             {"--curves-out", "fitted"},
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
    .summary = "simulate skin that follows captured markers or slider curves",
    .arguments = "RIG...",
    .maximum = -1,
    .options = options,
    .description =
        "Simulate a face that follows captured markers: an elastic skin with inertia, moved by "
        "forces along the rig's targets (blendforces).\n\nThe forces are chosen so that the skin "
        "meets the markers, and the skin may leave the span of the rig. With --curves, the slider "
        "weights drive the forces instead. Markers may be missing in any frame, jump, and sit "
        "inside triangles.\n\n--contact keeps skin from intersecting: a pair that would meet is "
        "pressed apart, and no frame intersects where the previous one did not. --jaw jawOpen lets "
        "the chin move on an arc. --estimate-stiffness finds, for each vertex, the stiffness at "
        "which the rig rests at its own targets, and caches the result.\n\nThe report contains, "
        "for each frame, the marker error, the parts of the motion inside and outside the rig's "
        "span and, with --truth, the dense error.",
    .example = "sinew sample face --out face\n"
               "sinew force face --markers face/markers.csv --map face/markers_map.csv --layer "
               "--frames 0-10 --out talk.pc2\n",
    .run = run,
};
