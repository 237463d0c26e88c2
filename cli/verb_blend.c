/* sinew blend: weights to shapes, by any of the models that sliders drive. Builds a scene in memory
 * and runs it. */
#include <string.h>

#include "base/status.h"
#include "jobs.h"
#include "session/model.h"

static const cli_option options[] = {
    {"--model", CLI_CHOICE, "linear|rotation|spring", "what blends (default linear)", 0, 0, false},
    {"--weights", CLI_TEXT, "LIST", "one shape: smile=0.5,jaw=1", 0, 0, false},
    {"--curves", CLI_INPUT, "FILE", "a clip: slider weights over time, CSV", 0, 0, false},
    {"--steps", CLI_INTEGER, "N",
     "a clip of N + 1 frames from the first pose to the second, or to --weights", 1, 1e7, false},
    {"--fps", CLI_NUMBER, "RATE", "frames per second (default 30)", 1e-3, 1e5, false},
    CLI_FRAMES_OPTION,
    {"--out", CLI_OUTPUT, "FILE",
     "where the frames go; the ending chooses the format, a single shape may be a mesh", 0, 0,
     true},
    {"--curves-out", CLI_OUTPUT, "FILE", "the slider weights of the frames, CSV", 0, 0, false},
    {"--sample", CLI_TEXT, "NAME", "a built-in rig instead of files", 0, 0, false},
    {"--vertices", CLI_INTEGER, "N", "wanted size of the built-in rig", 1, 1e7, false},
    {"--obstacle", CLI_TEXT, "SHAPE",
     "what stands in the way: sphere:x,y,z,r | plane:x,y,z,nx,ny,nz | "
     "capsule:ax,ay,az,bx,by,bz,r | cylinder:ax,ay,az,bx,by,bz,r | box:x,y,z,hx,hy,hz | "
     "part:NAME | a mesh file",
     0, 0, true},
    {"--pin", CLI_TEXT, "SELECT[@FILE]",
     "hold vertices (v:1,5-9 | region:NAME | mask:FILE) at their linear blend, or on the frames of "
     "a point cache",
     0, 0, true},
    {"--pull", CLI_TEXT, "V=x,y,z[:K]", "drag vertex V there, by a spring of stiffness K or hard",
     0, 0, true},
    {"--hold", CLI_TEXT, "SELECT|auto",
     "keep vertices on their linear path (rotation); 'auto': those that rest on the floor in all "
     "poses",
     0, 0, false},
    {"--published", CLI_FLAG, NULL,
     "blend rotations, or balance springs, as first published, for comparison (rotation, spring)",
     0, 0, false},
    {"--boundary", CLI_CHOICE, "free|static|pinned|anchor", "what holds the shape (default free)",
     0, 0, false},
    {"--anchor", CLI_TEXT, "NUMBERS", "corners of the anchor: 12 numbers (default: made inside)", 0,
     0, false},
    {"--independent", CLI_FLAG, NULL, "solve every frame without looking at its neighbours", 0, 0,
     false},
    {"--solver", CLI_CHOICE, "default|newton|published", "how the balance is found", 0, 0, false},
    {"--tolerance", CLI_NUMBER, "SHARE", "largest relative force left (default 1e-6)", 1e-14, 1,
     false},
    {"--pull-to-blend", CLI_NUMBER, "E", "weak pull to the rotation-aware blend; 0 turns it off", 0,
     1e9, false},
    {"--interior", CLI_CHOICE, "struts|tets|none",
     "springs through the inside: from side to side (default), or edges of tetrahedra made by "
     "tetgen",
     0, 0, false},
    {"--guide", CLI_NUMBER, "B",
     "stiffness of the springs' directions relative to that of their lengths (default 0.1)", 0, 1e9,
     false},
    {"--altitude", CLI_NUMBER, "C", "weight of the altitudes of triangles (default 1)", 0, 1e9,
     false},
    {"--volume", CLI_NUMBER, "C", "weight of the signed volumes of tets; 0 turns it off", 0, 1e9,
     false},
    {"--friction", CLI_NUMBER, "MU", "Coulomb friction against obstacles (default 0)", 0, 1e3,
     false},
    {"--self-contact", CLI_FLAG, NULL, "keep the surface from crossing itself", 0, 0, false},
    {"--allow-pose-depth", CLI_FLAG, NULL,
     "vertices may sink into any obstacle as deep as in the poses (default: parts only)", 0, 0,
     false},
    {"--strict", CLI_FLAG, NULL, "nothing may be inside an obstacle, whatever the poses do", 0, 0,
     false},
    {"--network-out", CLI_OUTPUT, "FILE", "the spring network, CSV", 0, 0, false},
    {"--network-frames", CLI_OUTPUT, "FILE", "all network vertices of every frame, PC2", 0, 0,
     false},
    CLI_SCENE_OPTION,
    CLI_END,
};

/* Option, and the parameter of the model that it sets. */
static const char *const parameters[][2] = {
    {"--hold", "hold"},
    {"--published", "published"},
    {"--boundary", "boundary"},
    {"--anchor", "anchor"},
    {"--independent", "independent"},
    {"--solver", "solver"},
    {"--tolerance", "tolerance"},
    {"--pull-to-blend", "pull_to_blend"},
    {"--volume", "volume"},
    {"--interior", "interior"},
    {"--guide", "guide"},
    {"--altitude", "altitude"},
    {"--friction", "friction"},
    {"--self-contact", "self_contact"},
};

static sinew_status add_drive(cli_call *call, json_t *document) {
    const char *curves = cli_text(call, "--curves");
    if (curves && (cli_given(call, "--weights") || cli_given(call, "--steps")))
        return cli_usage(call, "--curves goes with neither --weights nor --steps");
    if (!curves && !cli_given(call, "--weights") && !cli_given(call, "--steps"))
        return cli_usage(call, "needs --weights, --curves or --steps; see 'sinew blend --help'");
    if (curves)
        json_object_set_new(document, "curves", json_pack("{s:o}", "file", cli_path(call, curves)));
    if (cli_given(call, "--weights")) {
        json_t *weights = cli_weights(call, "--weights");
        if (!weights) return SINEW_MISUSE;
        json_object_set_new(document, "weights", weights);
    }
    if (cli_given(call, "--steps"))
        json_object_set_new(document, "steps", json_integer(cli_integer(call, "--steps", 1)));
    if (cli_given(call, "--fps"))
        json_object_set_new(document, "time",
                            json_pack("{s:f}", "fps", cli_number(call, "--fps", 30)));
    return SINEW_OK;
}

static sinew_status add_contacts(cli_call *call, json_t *document, const sn_model_kind *kind) {
    static const char *const keys[][2] = {
        {"--obstacle", "obstacles"}, {"--pin", "pins"}, {"--pull", "pulls"}};
    for (int k = 0; k < 3; k++) {
        int count = cli_count(call, keys[k][0]);
        if (count == 0) continue;
        if (!sinew_model_uses(&kind->about, keys[k][1]))
            return cli_usage(call, "the model '%s' has no %s", kind->about.name, keys[k][0]);
        json_t *list = json_array();
        json_object_set_new(document, keys[k][1], list);
        for (int i = 0; i < count; i++) {
            const char *text = cli_text_at(call, keys[k][0], i);
            json_t *item = k == 0   ? cli_obstacle(call, text)
                           : k == 1 ? cli_pin(call, text)
                                    : cli_pull(call, text);
            if (!item) return call->error.status ? call->error.status : SINEW_NO_MEMORY;
            json_array_append_new(list, item);
        }
    }
    return SINEW_OK;
}

static bool has_output(const sn_model_kind *kind, const char *name) {
    for (const char *const *known = kind->outputs; known && *known; known++)
        if (!strcmp(*known, name)) return true;
    return false;
}

static sinew_status add_outputs(cli_call *call, json_t *document, const sn_model_kind *kind) {
    static const char *const further[][2] = {{"--curves-out", "curves"},
                                             {"--network-out", "network"},
                                             {"--network-frames", "network_frames"}};
    json_t *outputs = json_object(), *frames = json_array();
    json_object_set_new(document, "outputs", outputs);
    json_object_set_new(outputs, "frames", frames);
    for (int i = 0; i < cli_count(call, "--out"); i++)
        json_array_append_new(frames, cli_path(call, cli_text_at(call, "--out", i)));
    for (int i = 0; i < 3; i++) {
        if (!cli_given(call, further[i][0])) continue;
        if (i > 0 && !has_output(kind, further[i][1]))
            return cli_usage(call, "the model '%s' has no %s", kind->about.name, further[i][0]);
        json_object_set_new(outputs, further[i][1], cli_path(call, cli_text(call, further[i][0])));
    }
    return SINEW_OK;
}

static sinew_status fill(cli_call *call, json_t *document) {
    const char *model = cli_given(call, "--model") ? cli_text(call, "--model") : "linear";
    const sn_model_kind *kind = sn_model_kind_find(model);
    json_object_set_new(document, "model", json_string(model));
    SN_TRY(cli_add_rig(call, document, true));
    SN_TRY(add_drive(call, document));
    SN_TRY(add_contacts(call, document, kind));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        SN_TRY(cli_parameter(call, document, model, parameters[i][0], parameters[i][1]));
    if (cli_given(call, "--strict") && cli_given(call, "--allow-pose-depth"))
        return cli_usage(call, "give --strict or --allow-pose-depth, not both");
    if (cli_given(call, "--strict") || cli_given(call, "--allow-pose-depth")) {
        if (!sinew_model_uses(&kind->about, "obstacles"))
            return cli_usage(call, "the model '%s' has no obstacles", model);
        json_t *knobs = json_object_get(document, "parameters");
        if (!knobs) json_object_set_new(document, "parameters", knobs = json_object());
        json_object_set_new(knobs, "pose_depth",
                            json_string(cli_given(call, "--strict") ? "none" : "all"));
    }
    return add_outputs(call, document, kind);
}

static sinew_status run(cli_call *call) {
    return cli_run_filled(call, fill);
}

const cli_verb verb_blend = {
    .name = "blend",
    .summary = "slider weights to shapes: linear, rotation-aware or spring",
    .arguments = "RIG...",
    .maximum = -1,
    .options = options,
    .description =
        "RIG is a rig file (.glb), a neutral with a folder of targets (neutral.obj targets/), or "
        "several pose meshes of which the first is the neutral. Weights come from --weights (one "
        "shape), --curves (a clip) or --steps (from the first pose to the second).\n\n"
        "Models: linear blends positions and is what every tool has. rotation blends rotations and "
        "strains, so that bends do not shrink. spring is the balance of a network of springs: it "
        "leans on obstacles, can be pinned and pulled.\n\n"
        "Frames go to PC2, MDD, GLB, OBJ or USDA by the ending of --out. Frames that did not reach "
        "the tolerance are still written; the exit code is then 1.",
    .example = "sinew blend --sample bar --model rotation --steps 12 --out bar.pc2\n"
               "sinew blend --sample bar --model spring --steps 12 --out springs.pc2\n"
               "sinew blend --sample bar --weights bend120=0.5 --out half.obj\n",
    .run = run,
};
