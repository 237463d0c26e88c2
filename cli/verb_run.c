/* sinew run: a job that is described in a scene file. */
#include <stdlib.h>

#include "files.h"
#include "jobs.h"

static const cli_option options[] = {
    CLI_FRAMES_OPTION,
    {"--out", CLI_OUTPUT, "FILE", "write frames here instead of where the scene says", 0, 0, true},
    CLI_END,
};

static sinew_status replace_outputs(cli_call *call, sinew_scene *scene) {
    int count = cli_count(call, "--out");
    if (count == 0) return SINEW_OK;
    json_t *paths = json_array();
    for (int i = 0; i < count; i++) {
        /* Paths of the scene start at its folder, those of the command line do not. */
        const char *text = cli_text_at(call, "--out", i);
        char *absolute = cli_absolute_path(text);
        json_array_append_new(paths, json_string(absolute ? absolute : text));
        sinew_free(absolute);
    }
    char *json = json_dumps(paths, 0);
    json_decref(paths);
    sinew_status status =
        sinew_scene_set(scene, "/outputs/frames", json ? json : "[]", NULL, &call->error);
    free(json);
    return status;
}

static sinew_status run(cli_call *call) {
    sinew_scene *scene;
    sinew_status status = sinew_scene_read(call->arguments[0], &scene, &call->error);
    if (status != SINEW_OK) return status;
    status = replace_outputs(call, scene);
    if (status == SINEW_OK) status = cli_run_scene(call, scene);
    sinew_scene_destroy(scene);
    return status;
}

const cli_verb verb_run = {
    .name = "run",
    .summary = "run the job that a scene file describes",
    .arguments = "SCENE.json",
    .minimum = 1,
    .maximum = 1,
    .options = options,
    .description =
        "A scene holds a whole job: rig, model, parameters, what drives it, obstacles, locks and "
        "outputs. Paths in it are relative to its folder. docs/scene.md describes every key; the "
        "same file opens in the studio.\n\n"
        "With --frames a clip can be cut into ranges that run on different machines; the frames "
        "are the same bits as those of a whole run.",
    .example = "sinew blend --sample bar --model rotation --steps 12 --out bar.pc2 --scene-out "
               "bar.json\n"
               "sinew run bar.json --frames 3-7 --out part.pc2\n",
    .run = run,
};
