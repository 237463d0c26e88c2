/* sinew modal: motion through key poses. Builds a scene in memory and runs it. */
#include <stdlib.h>
#include <string.h>

#include "jobs.h"

static const cli_option options[] = {
    {"--curves", CLI_INPUT, "FILE",
     "Instead of key poses: drive the rig with slider weights over time, CSV, and add secondary "
     "motion that lags behind.",
     0, 0, false},
    {"--poses", CLI_TEXT, "LIST",
     "Key poses by name, in order: neutral,fist,neutral (default: all, in the given order).", 0, 0,
     false},
    {"--times", CLI_TEXT, "LIST", "Times of the keys in seconds: 0,1 (default: one second apart).",
     0, 0, false},
    {"--until", CLI_NUMBER, "SECONDS", "Continue past the last key.", 0, 1e6, false},
    {"--out", CLI_OUTPUT, "FILE", "Write the frames here; the extension selects the format.", 0, 0,
     true},
    CLI_GROUP("Motion"),
    {"--swings", CLI_NUMBER, "N",
     "Oscillations of the slowest mode per key interval (default 1.5).", 1e-6, 1e6, false},
    {"--frequency", CLI_NUMBER, "HZ", "Frequency of the slowest mode; replaces --swings.", 0, 1e6,
     false},
    {"--damping", CLI_NUMBER, "XI", "Damping ratio; 1 is critical (default 0.1).", 0, 1e6, false},
    {"--rest-offset", CLI_NUMBER, "ETA",
     "Two keys: 1 settles into the second (default), 0 swings about the first.", 0, 1, false},
    {"--stiffness", CLI_NUMBER, "S", "Stiffness of the whole body (default 1).", 1e-9, 1e9, false},
    {"--ease", CLI_FLAG, NULL, "Two keys: ease rigid motion in and out.", 0, 0, false},
    {"--wiggly", CLI_FLAG, NULL, "Use wiggly splines for two keys as well.", 0, 0, false},
    {"--rest", CLI_CHOICE, "line|next|shape",
     "Three or more keys: the position that each mode settles toward. shape: vibrate about the "
     "rest shape, also with two keys.",
     0, 0, false},
    {"--velocity", CLI_TEXT, "K:NAME=RATE,...",
     "Pass key K (counted from 0) with slider weights that change at these rates per second; 'K:' "
     "stops at the key.",
     0, 0, true},
    {"--fit", CLI_CHOICE, "gentle|published|none",
     "Two keys: how frequencies and damping are adjusted for a gentle start (default gentle).", 0,
     0, false},
    {"--published", CLI_FLAG, NULL,
     "Move as first published, for comparison: about the rest shape, with the published fit, fast "
     "modes not faded.",
     0, 0, false},
    CLI_GROUP("Individual modes"),
    {"--modes", CLI_INTEGER, "M", "Number of vibration modes (default 80).", 1, 10000, false},
    {"--gamma", CLI_TEXT, "LIST",
     "Damping of each mode, -1 to 1; the last value applies to all further modes.", 0, 0, false},
    {"--kappa", CLI_TEXT, "LIST", "Stiffness of each mode, -1 to below 1.", 0, 0, false},
    {"--amplitude", CLI_TEXT, "LIST", "Amplitude of each mode.", 0, 0, false},
    CLI_GROUP("Constraints"),
    CLI_REGIONS_OPTION,
    {"--pin", CLI_TEXT, "SELECT[@FILE]",
     "Pin vertices (v:1,5-9 | region:NAME | mask:FILE) to their positions in the first key, or to "
     "the frames of a point cache.",
     0, 0, true},
    {"--hold", CLI_TEXT, "SELECT|auto",
     "Keep vertices on their linear path between keys; 'auto' selects those that rest on the floor "
     "in all "
     "poses.",
     0, 0, false},
    {"--pin-stiffness", CLI_NUMBER, "K",
     "Stiffness of soft pins, relative to the body (default: pins are exact).", 0, 1e9, false},
    {"--orient", CLI_TEXT, "SELECT=X,Y,Z[:W]",
     "Rotate a region toward an orientation: rotation vector in degrees, with weight W (default "
     "1).",
     0, 0, true},
    {"--path", CLI_INPUT, "FILE",
     "Marker file whose first marker guides the whole shape between keys.", 0, 0, false},
    CLI_GROUP("Body"),
    {"--body", CLI_CHOICE, "auto|tets|cage|shell",
     "What vibrates: the interior as tetrahedra, a cage around the mesh, or a thick shell (default "
     "auto).",
     0, 0, false},
    {"--tets", CLI_INPUT, "FILE",
     "Use this tetrahedral mesh instead of generating one. Overrides --body.", 0, 0, false},
    {"--cells", CLI_INTEGER, "N", "Cells of a cage along the bounding-box diagonal (default 50).",
     4, 400, false},
    {"--thickness", CLI_NUMBER, "FRACTION",
     "Thickness of a shell, as a fraction of the bounding-box diagonal (default 0.05).", 1e-6, 1,
     false},
    {"--stiffness-map", CLI_INPUT, "FILE", "Painted stiffness: CSV vertex,value.", 0, 0, false},
    CLI_GROUP("Rig and clip"),
    {"--sample", CLI_TEXT, "NAME",
     "Use a built-in rig instead of files; 'sinew sample' lists them.", 0, 0, false},
    {"--vertices", CLI_INTEGER, "N", "Approximate number of vertices of the built-in rig.", 1, 1e7,
     false},
    {"--fps", CLI_NUMBER, "RATE", "Frames per second (default 30).", 1e-3, 1e5, false},
    CLI_FRAMES_OPTION,
    {"--mix-frames", CLI_INPUT, "FILE", "Point cache to blend the motion with.", 0, 0, false},
    {"--mix", CLI_NUMBER, "FRACTION", "Weight of the modal motion in that blend (default 1).", 0, 1,
     false},
    {"--fast", CLI_FLAG, NULL, "Compute frames in single precision.", 0, 0, false},
    {"--device", CLI_CHOICE, "cpu|auto|gpu",
     "Processor that computes the frames: the CPU (default), a GPU if there is one, or a GPU and "
     "an "
     "error if there is none.",
     0, 0, false},
    {"--modes-out", CLI_OUTPUT, "FILE",
     "Write the frequency, damping and key weights of each mode, CSV.", 0, 0, false},
    {"--shapes-out", CLI_OUTPUT, "FILE", "Write the mode shapes, one per frame.", 0, 0, false},
    CLI_SCENE_OPTION,
    CLI_END,
};

/* Option, and the parameter of the model that it sets. */
static const char *const parameters[][2] = {
    {"--modes", "modes"},
    {"--swings", "swings"},
    {"--frequency", "frequency"},
    {"--damping", "damping"},
    {"--rest-offset", "rest_offset"},
    {"--stiffness", "stiffness"},
    {"--gamma", "gamma"},
    {"--kappa", "kappa"},
    {"--amplitude", "amplitude"},
    {"--wiggly", "wiggly"},
    {"--ease", "ease"},
    {"--rest", "rest"},
    {"--fit", "fit"},
    {"--published", "published"},
    {"--body", "body"},
    {"--cells", "cells"},
    {"--thickness", "thickness"},
    {"--stiffness-map", "stiffness_map"},
    {"--tets", "tets"},
    {"--path", "path"},
    {"--hold", "hold"},
    {"--fast", "fast"},
    {"--device", "device"},
    {"--mix-frames", "mix_frames"},
    {"--mix", "mix"},
};

static sinew_status add_time(cli_call *call, json_t *document) {
    json_t *time = json_object();
    if (cli_given(call, "--fps"))
        json_object_set_new(time, "fps", json_real(cli_number(call, "--fps", 30)));
    if (cli_given(call, "--until"))
        json_object_set_new(time, "to", json_real(cli_number(call, "--until", 1)));
    if (json_object_size(time) > 0)
        json_object_set_new(document, "time", time);
    else
        json_decref(time);
    return SINEW_OK;
}

/* Keys from --poses and --times. Without --poses: the first file is the neutral, and every further
 * one a target named after its stem. */
static sinew_status add_keys(cli_call *call, json_t *document) {
    const char *poses = cli_text(call, "--poses"), *curves = cli_text(call, "--curves");
    if (curves) {
        if (poses || cli_given(call, "--times") || cli_given(call, "--velocity"))
            return cli_usage(call, "--curves replaces key poses, their times and velocities");
        json_object_set_new(document, "curves", json_pack("{s:o}", "file", cli_path(call, curves)));
        return add_time(call, document);
    }
    json_t *keys = json_array();
    json_object_set_new(document, "keys", keys);
    if (poses) {
        for (const char *at = poses; *at;) {
            size_t length = strcspn(at, ",");
            json_array_append_new(keys, json_pack("{s:s%}", "pose", at, length));
            at += length + (at[length] == ',');
        }
    } else if (cli_text(call, "--sample")) {
        return cli_usage(call, "--sample needs --poses: 'sinew info' lists the targets");
    } else {
        json_array_append_new(keys, json_pack("{s:s}", "pose", "neutral"));
        for (int i = 1; i < call->argument_count; i++) {
            const char *name = strrchr(call->arguments[i], '/');
            name = name ? name + 1 : call->arguments[i];
            const char *dot = strrchr(name, '.');
            if (!dot)
                return cli_usage(call, "'%s': use --poses to select the key poses of a rig folder",
                                 name);
            json_array_append_new(keys, json_pack("{s:s%}", "pose", name, (size_t)(dot - name)));
        }
    }
    size_t count = json_array_size(keys);
    if (count < 2) return cli_usage(call, "needs two poses or more");
    double *times = NULL;
    int time_count = 0;
    if (cli_given(call, "--times"))
        CLI_TRY(cli_parse_numbers(call, cli_text(call, "--times"), "--times", &times, &time_count));
    for (size_t k = 0; k < count && (!times || (size_t)time_count == count); k++)
        json_object_set_new(json_array_get(keys, k), "time",
                            json_real(times ? times[k] : (double)k));
    sinew_free(times);
    if (times && (size_t)time_count != count)
        return cli_usage(call, "--times has %d times, but there are %zu poses", time_count, count);
    return add_time(call, document);
}

/* K:NAME=RATE,... */
static sinew_status add_velocities(cli_call *call, json_t *document) {
    json_t *keys = json_object_get(document, "keys");
    for (int i = 0; i < cli_count(call, "--velocity"); i++) {
        const char *text = cli_text_at(call, "--velocity", i), *at;
        char *end;
        long key = strtol(text, &end, 10);
        if (end == text || *end != ':' || key < 0 || (size_t)key >= json_array_size(keys))
            return cli_usage(call, "--velocity needs K:NAME=RATE,... with a key from 0 to %zu",
                             json_array_size(keys) - 1);
        json_t *map = json_object();
        json_object_set_new(json_array_get(keys, (size_t)key), "velocity", map);
        for (at = end + 1; *at; at = *end ? end + 1 : end) {
            const char *equals = strchr(at, '=');
            double rate = equals ? strtod(equals + 1, &end) : 0;
            if (!equals || equals == at || end == equals + 1 || (*end && *end != ','))
                return cli_usage(call, "--velocity needs K:NAME=RATE,..., not '%s'", text);
            json_object_setn_new(map, at, (size_t)(equals - at), json_real(rate));
        }
    }
    return SINEW_OK;
}

static void add_outputs(cli_call *call, json_t *document) {
    static const char *const further[][2] = {{"--modes-out", "modes"}, {"--shapes-out", "shapes"}};
    json_t *outputs = json_object(), *frames = json_array();
    json_object_set_new(document, "outputs", outputs);
    for (int i = 0; i < cli_count(call, "--out"); i++)
        json_array_append_new(frames, cli_path(call, cli_text_at(call, "--out", i)));
    if (json_array_size(frames) > 0)
        json_object_set_new(outputs, "frames", frames);
    else
        json_decref(frames);
    for (int i = 0; i < 2; i++)
        if (cli_given(call, further[i][0]))
            json_object_set_new(outputs, further[i][1],
                                cli_path(call, cli_text(call, further[i][0])));
}

static sinew_status add_holds(cli_call *call, json_t *document) {
    if (cli_given(call, "--pin-stiffness") && !cli_given(call, "--pin"))
        return cli_usage(call, "--pin-stiffness needs --pin");
    if (cli_given(call, "--pin")) {
        json_t *pins = json_array();
        json_object_set_new(document, "pins", pins);
        for (int i = 0; i < cli_count(call, "--pin"); i++) {
            json_t *pin = cli_read_form(call, "--pin", i, sinew_text_pin);
            if (!pin) return call->error.status;
            if (cli_given(call, "--pin-stiffness"))
                json_object_set_new(pin, "stiffness",
                                    json_real(cli_number(call, "--pin-stiffness", 0)));
            json_array_append_new(pins, pin);
        }
    }
    if (cli_given(call, "--orient")) {
        json_t *list;
        CLI_TRY(cli_read_forms(call, "--orient", sinew_text_orientation, &list));
        json_object_set_new(document, "orientations", list);
    }
    return SINEW_OK;
}

static sinew_status fill(cli_call *call, json_t *document) {
    json_object_set_new(document, "model", json_string("modal"));
    CLI_TRY(cli_add_rig(call, document, true));
    CLI_TRY(add_keys(call, document));
    CLI_TRY(add_velocities(call, document));
    CLI_TRY(add_holds(call, document));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        CLI_TRY(cli_parameter(call, document, "modal", parameters[i][0], parameters[i][1]));
    add_outputs(call, document);
    return SINEW_OK;
}

static sinew_status run(cli_call *call) {
    return cli_run_filled(call, fill);
}

const cli_verb verb_modal = {
    .name = "modal",
    .summary = "animate between key poses with motion that swings and settles",
    .arguments = "POSES...",
    .maximum = -1,
    .options = options,
    .description =
        "Animate between key poses with secondary motion: the body overshoots, swings and settles. "
        "Every key pose is met exactly.\n\nPOSES are meshes with the same topology, the first of "
        "which is the rest shape, or a rig whose targets are selected with --poses. Files of "
        "tetrahedra (.mesh, .node) are used as the body. Otherwise the body is the interior of the "
        "mesh, a cage around it if the mesh is open or intersects itself, or a shell. Its "
        "vibration modes are computed once and cached.\n\nWith two keys, the motion starts at the "
        "first and settles into the second. With more, it is a wiggly spline through all of them. "
        "Use --until to see how it rings out. Use --amplitude 0, or --gamma -1 with --kappa -1, "
        "for the straight path without vibration.",
    .example =
        "sinew modal --sample bar --vertices 1000 --poses neutral,bend120 --modes 20 --until "
        "2 --out bar.pc2\n",
    .run = run,
};
