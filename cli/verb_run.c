/* sinew run: a job that is described in a scene file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "jobs.h"
#include "report.h"

static const cli_option options[] = {
    {"--out", CLI_OUTPUT, "FILE", "Write frames here instead of to the files in the scene.", 0, 0,
     true},
    CLI_FRAMES_OPTION,
    CLI_FOLDER_OPTION,
    {"--allow-outside", CLI_FLAG, NULL,
     "Let the scene write outside its own folder; only for scenes that you trust.", 0, 0, false},
    CLI_GROUP("Parts of a clip"),
    {"--part", CLI_TEXT, "DIR",
     "Write the frames as a part of the clip into this folder, for 'sinew merge', with a "
     "checkpoint if frames depend on earlier ones.",
     0, 0, false},
    {"--resume", CLI_FLAG, NULL,
     "Start from the checkpoint in the folder of --part instead of recomputing earlier frames.", 0,
     0, false},
    CLI_END,
};

/* A scene may come from somebody else: without leave it writes in its own folder alone. What the
 * command line says is said by the person at it. */
static sinew_status check_outside(cli_call *call, const sinew_scene *scene) {
    if (cli_given(call, "--allow-outside")) return SINEW_OK;
    const char *path = call->arguments[0];
    const char *given = cli_text(call, "--folder");
    char *folder =
        given ? cli_strdup(given) : cli_strndup(path, (size_t)(cli_path_name(path) - path));
    if (!folder) return cli_no_memory(&call->error);
    sinew_file_plan *plan = NULL;
    sinew_status status = sinew_file_plan_create(&plan, &call->error);
    if (status == SINEW_OK) status = sinew_file_plan_add_scene(plan, scene, &call->error);
    if (status == SINEW_OK) status = sinew_file_plan_check_inside(plan, folder, &call->error);
    if (status == SINEW_BAD_INPUT) {
        size_t used = strlen(call->error.message);
        snprintf(call->error.message + used, sizeof call->error.message - used,
                 "; --allow-outside permits it");
    }
    sinew_file_plan_destroy(plan);
    sinew_free(folder);
    return status;
}

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

/* Where `sinew merge DIR` finds the scene. */
static sinew_status note_scene(cli_call *call, const char *folder) {
    char *path = cli_path_join(folder, CLI_PART_SCENE),
         *scene = cli_absolute_path(call->arguments[0]);
    sinew_status status =
        path && scene ? sinew_folder_create(folder, &call->error) : cli_no_memory(&call->error);
    if (status == SINEW_OK) status = sinew_file_write(path, scene, strlen(scene), &call->error);
    sinew_free(path);
    sinew_free(scene);
    return status;
}

static sinew_status run_part(cli_call *call, const sinew_scene *scene) {
    const char *folder = cli_text(call, "--part");
    int first, last;
    CLI_TRY(cli_frame_range(call, &first, &last));
    sinew_job *job;
    double begin = cli_now();
    CLI_TRY(sinew_job_create(scene, call->monitor, &job, &call->error));
    double ready = cli_now();
    sinew_status status = sinew_job_run_part(job, first, last, folder, cli_given(call, "--resume"),
                                             call->monitor, &call->error);
    /* What a farm needs to know about the cost of further parts. */
    int frames = (last < 0 ? sinew_job_frame_count(job) - 1 : last) - first + 1;
    json_object_set_new(call->report, "part",
                        json_pack("{s:i, s:o, s:o}", "frames", frames, "setup_ms",
                                  cli_report_number(1e3 * (ready - begin)), "frames_ms",
                                  cli_report_number(1e3 * (cli_now() - ready))));
    sinew_job_destroy(job);
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) {
        sinew_status noted = note_scene(call, folder);
        if (noted != SINEW_OK) return noted;
        cli_say(call, "wrote a part into %s", folder);
    }
    return status;
}

static sinew_status run(cli_call *call) {
    if (cli_given(call, "--part") && cli_given(call, "--out"))
        return cli_usage(call, "--part and --out exclude each other: the scene says where the "
                               "merged outputs go");
    if (cli_given(call, "--resume") && !cli_given(call, "--part"))
        return cli_usage(call, "--resume needs --part");
    sinew_scene *scene;
    sinew_status status = cli_read_scene(call, call->arguments[0], &scene);
    if (status != SINEW_OK) return status;
    if (cli_given(call, "--out")) /* instead of those of the scene */
        status = sinew_scene_set(scene, "/outputs/frames", "[]", NULL, &call->error);
    if (status == SINEW_OK) status = check_outside(call, scene);
    if (status == SINEW_OK) status = replace_outputs(call, scene);
    if (status == SINEW_OK)
        status = cli_given(call, "--part") ? run_part(call, scene) : cli_run_scene(call, scene);
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
    .description = "Run a whole job from one file: rig, model, parameters, drivers, obstacles, "
                   "locks and outputs.\n\nPaths in a scene are relative to its folder, and it "
                   "writes nowhere else without --allow-outside. docs/scene.md describes every "
                   "key; the same file opens in the studio.\n\nWith --frames and --part, a clip "
                   "can be split into parts that run on different machines. 'sinew merge' joins "
                   "them; the outputs are bit-identical to those of a single run.",
    .example = "sinew blend --sample bar --model rotation --steps 12 --out bar.pc2 --scene-out "
               "bar.json\n"
               "sinew run bar.json --frames 0-5 --part parts\n"
               "sinew run bar.json --frames 6- --part parts\n"
               "sinew merge parts\n",
    .run = run,
};
