/* sinew modal: motion through key poses. Builds a scene in memory and runs it. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "jobs.h"
#include "session/model.h"

static const cli_option options[] = {
    {"--times", CLI_TEXT, "LIST", "seconds of the poses: 0,1 (default: a second apart)", 0, 0,
     false},
    {"--poses", CLI_TEXT, "LIST",
     "names of the key poses in order: neutral,fist,neutral (default: all, as given)", 0, 0, false},
    {"--until", CLI_NUMBER, "SECONDS", "go on past the last key", 0, 1e6, false},
    {"--fps", CLI_NUMBER, "RATE", "frames per second (default 30)", 1e-3, 1e5, false},
    CLI_FRAMES_OPTION,
    {"--out", CLI_OUTPUT, "FILE", "where the frames go; the ending chooses the format", 0, 0, true},
    {"--modes", CLI_INTEGER, "M", "vibration modes (default 80)", 1, 10000, false},
    {"--swings", CLI_NUMBER, "N", "swings of the slowest mode per key interval (default 1.5)", 1e-6,
     1e6, false},
    {"--frequency", CLI_NUMBER, "HZ", "of the slowest mode, instead of swings", 0, 1e6, false},
    {"--damping", CLI_NUMBER, "XI", "ratio of critical damping (default 0.1)", 0, 1e6, false},
    {"--rest-offset", CLI_NUMBER, "ETA",
     "two keys: 1 settles into the second (default), 0 swings about the first", 0, 1, false},
    {"--stiffness", CLI_NUMBER, "S", "of the whole body (default 1)", 1e-9, 1e9, false},
    {"--gamma", CLI_TEXT, "LIST", "damping per mode, -1 to 1; the last serves all further modes", 0,
     0, false},
    {"--kappa", CLI_TEXT, "LIST", "stiffness per mode, -1 to below 1", 0, 0, false},
    {"--amplitude", CLI_TEXT, "LIST", "of each mode's swing", 0, 0, false},
    {"--wiggly", CLI_FLAG, NULL, "wiggly splines for two keys, too", 0, 0, false},
    {"--ease", CLI_FLAG, NULL, "two keys: parts as a whole start and stop gently", 0, 0, false},
    {"--rest", CLI_CHOICE, "line|next", "three and more keys: what modes rest on", 0, 0, false},
    {"--body", CLI_CHOICE, "auto|tets|cage|shell", "what vibrates (default auto)", 0, 0, false},
    {"--cells", CLI_INTEGER, "N", "of a cage along the diagonal (default 50)", 4, 400, false},
    {"--thickness", CLI_NUMBER, "SHARE", "of a shell, of the diagonal (default 0.05)", 1e-6, 1,
     false},
    {"--stiffness-map", CLI_INPUT, "FILE", "painted stiffness: CSV vertex,value", 0, 0, false},
    {"--tets", CLI_INPUT, "FILE",
     "tetrahedra of one's own as the body (default: those of the first file when it has some)", 0,
     0, false},
    {"--pin", CLI_TEXT, "SELECT[@FILE]",
     "hold vertices (v:1,5-9 | region:NAME | mask:FILE) where the first key has them, or on the "
     "frames of a point cache",
     0, 0, true},
    {"--pin-stiffness", CLI_NUMBER, "K", "pull pins by springs, times the body's (default: hold)",
     0, 1e9, false},
    {"--orient", CLI_TEXT, "SELECT=X,Y,Z[:W]",
     "lead a region to an orientation: axis times degrees, W of the way (default 1)", 0, 0, true},
    {"--path", CLI_INPUT, "FILE", "a marker file whose first marker leads the whole between keys",
     0, 0, false},
    {"--fast", CLI_FLAG, NULL, "frames in single precision", 0, 0, false},
    {"--mix-frames", CLI_INPUT, "FILE", "a point cache to blend the motion with", 0, 0, false},
    {"--mix", CLI_NUMBER, "SHARE", "share of the modal motion in the blend (default 1)", 0, 1,
     false},
    {"--modes-out", CLI_OUTPUT, "FILE", "frequencies, damping and weights at the keys, CSV", 0, 0,
     false},
    {"--shapes-out", CLI_OUTPUT, "FILE", "mode shapes, one frame each", 0, 0, false},
    {"--sample", CLI_TEXT, "NAME", "a built-in rig instead of files", 0, 0, false},
    {"--vertices", CLI_INTEGER, "N", "wanted size of the built-in rig", 1, 1e7, false},
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
    {"--body", "body"},
    {"--cells", "cells"},
    {"--thickness", "thickness"},
    {"--stiffness-map", "stiffness_map"},
    {"--tets", "tets"},
    {"--path", "path"},
    {"--fast", "fast"},
    {"--mix-frames", "mix_frames"},
    {"--mix", "mix"},
};

enum { MAX_KEYS = 4096 };

/* Comma-separated numbers; -1: not such a list. */
static int split_numbers(const char *text, double *values) {
    int count = 0;
    while (*text) {
        char *end;
        if (count == MAX_KEYS) return -1;
        values[count++] = strtod(text, &end);
        if (end == text || (*end && *end != ',')) return -1;
        text = *end ? end + 1 : end;
    }
    return count;
}

/* Keys from --poses and --times. Without --poses: the first file is the neutral, and every further
 * one a target named after its stem. */
static sinew_status add_keys(cli_call *call, json_t *document) {
    static double times[MAX_KEYS];
    const char *poses = cli_text(call, "--poses"), *given = cli_text(call, "--times");
    int time_count = given ? split_numbers(given, times) : 0;
    if (time_count < 0) return cli_usage(call, "--times needs numbers such as 0,1,2.5");
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
            if (!dot) return cli_usage(call, "'%s': give --poses for rigs with folders", name);
            json_array_append_new(keys, json_pack("{s:s%}", "pose", name, (size_t)(dot - name)));
        }
    }
    size_t count = json_array_size(keys);
    if (count < 2) return cli_usage(call, "needs two poses or more");
    if (given && (size_t)time_count != count)
        return cli_usage(call, "%d times for %zu poses", time_count, count);
    for (size_t k = 0; k < count; k++)
        json_object_set_new(json_array_get(keys, k), "time",
                            json_real(given ? times[k] : (double)k));
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

/* SELECT=X,Y,Z[:W] */
static sinew_status add_orientation(cli_call *call, const char *text, json_t *list) {
    const char *equals = strrchr(text, '=');
    double turn[3], weight = 1;
    char *end = (char *)equals;
    bool good = equals != NULL;
    for (int i = 0; good && i < 3; i++) {
        char *start = end + 1;
        turn[i] = strtod(start, &end);
        good = end != start && (i == 2 || *end == ',');
    }
    if (good && *end == ':') {
        char *start = end + 1;
        weight = strtod(start, &end);
        good = end != start;
    }
    if (!good || *end) return cli_usage(call, "--orient takes SELECT=X,Y,Z[:W], not '%s'", text);
    json_array_append_new(list, json_pack("{s:s%, s:[f,f,f], s:f}", "select", text,
                                          (size_t)(equals - text), "turn", turn[0], turn[1],
                                          turn[2], "weight", weight));
    return SINEW_OK;
}

static sinew_status add_holds(cli_call *call, json_t *document) {
    if (cli_given(call, "--pin-stiffness") && !cli_given(call, "--pin"))
        return cli_usage(call, "--pin-stiffness needs --pin");
    if (cli_given(call, "--pin")) {
        json_t *pins = json_array();
        json_object_set_new(document, "pins", pins);
        for (int i = 0; i < cli_count(call, "--pin"); i++) {
            json_t *pin = cli_pin(call, cli_text_at(call, "--pin", i));
            if (cli_given(call, "--pin-stiffness"))
                json_object_set_new(pin, "stiffness",
                                    json_real(cli_number(call, "--pin-stiffness", 0)));
            json_array_append_new(pins, pin);
        }
    }
    if (cli_given(call, "--orient")) {
        json_t *list = json_array();
        json_object_set_new(document, "orientations", list);
        for (int i = 0; i < cli_count(call, "--orient"); i++)
            SN_TRY(add_orientation(call, cli_text_at(call, "--orient", i), list));
    }
    return SINEW_OK;
}

static sinew_status fill(cli_call *call, json_t *document) {
    json_object_set_new(document, "model", json_string("modal"));
    SN_TRY(cli_add_rig(call, document, true));
    SN_TRY(add_keys(call, document));
    SN_TRY(add_holds(call, document));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        SN_TRY(cli_parameter(call, document, "modal", parameters[i][0], parameters[i][1]));
    add_outputs(call, document);
    return SINEW_OK;
}

static sinew_status run(cli_call *call) {
    return cli_run_filled(call, fill);
}

const cli_verb verb_modal = {
    .name = "modal",
    .summary = "motion through key poses that swings and settles",
    .arguments = "POSES...",
    .maximum = -1,
    .options = options,
    .description =
        "POSES are meshes of the same topology, the first of which is the shape at rest, or a rig "
        "whose targets --poses names. The body is the inside of the mesh, or a cage around it when "
        "it is open or crosses itself, or a shell; its vibration modes are computed once and kept "
        "in the cache.\n\n"
        "Two keys: the motion starts at the first and settles into the second, with swings and "
        "damping as asked. More keys: a wiggly spline through all of them. --until shows how it "
        "rings out. Key poses are met exactly.\n\n"
        "POSES may be files of tetrahedra (.mesh, .node): these are then the body. --pin holds "
        "vertices, --orient leads regions to an orientation, --path the whole along a curve.\n\n"
        "--amplitude 0, or --gamma -1 with --kappa -1, is the straight path without vibration.",
    .example =
        "sinew modal --sample bar --vertices 1000 --poses neutral,bend120 --modes 20 --until "
        "2 --out bar.pc2\n",
    .run = run,
};
