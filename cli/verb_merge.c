/* sinew merge: the parts of a clip to the outputs of its scene. */
#include <string.h>
#include <sys/stat.h>

#include "parts.h"

static const cli_option options[] = {
    {"--scene", CLI_INPUT, "FILE",
     "Scene of the parts (default: the scene that they were run from).", 0, 0, false},
    CLI_FOLDER_OPTION,
    {"--missing", CLI_FLAG, NULL,
     "Do not merge: remove parts that are damaged or belong to another scene, and list the missing "
     "frames.",
     0, 0, false},
    CLI_SHEET_OPTION,
    CLI_END,
};

/* The scene that the parts were run from. */
static sinew_status read_path(cli_call *call, char **scene) {
    const char *given = cli_text(call, "--scene");
    *scene = NULL;
    if (given) {
        *scene = cli_strdup(given);
        return *scene ? SINEW_OK : cli_no_memory(&call->error);
    }
    char *path = cli_path_join(call->arguments[0], CLI_PART_SCENE);
    size_t size;
    struct stat info;
    sinew_status status = path ? SINEW_OK : cli_no_memory(&call->error);
    if (path && stat(path, &info) == 0 && S_ISFIFO(info.st_mode))
        status = sinew_fail(&call->error, SINEW_IO, "%s: is not a regular file", path);
    if (status == SINEW_OK) status = sinew_file_read(path, scene, &size, &call->error);
    sinew_free(path);
    return status;
}

/* Which frames no part holds, as ranges for `sinew run --frames`. */
static sinew_status list_missing(cli_call *call, sinew_job *job) {
    bool *present = CLI_NEW(bool, sinew_job_frame_count(job));
    if (!present) return cli_no_memory(&call->error);
    sinew_status status =
        sinew_job_check_parts(job, call->arguments[0], present, call->monitor, &call->error);
    if (status == SINEW_OK) {
        cli_report_clip(call, job, present);
        const json_t *missing = json_object_get(json_object_get(call->report, "clip"), "missing");
        for (size_t i = 0; i < json_array_size(missing); i++) {
            const json_t *range = json_array_get(missing, i);
            cli_say(call, "%d-%d", (int)json_integer_value(json_array_get(range, 0)),
                    (int)json_integer_value(json_array_get(range, 1)));
        }
    }
    sinew_free(present);
    return status;
}

static sinew_status run(cli_call *call) {
    char *path;
    sinew_scene *scene;
    CLI_TRY(read_path(call, &path));
    sinew_status status = cli_read_scene(call, path, &scene);
    sinew_free(path);
    CLI_TRY(status);
    sinew_job *job = NULL;
    status = sinew_job_create(scene, call->monitor, &job, &call->error);
    if (status == SINEW_OK && cli_given(call, "--missing")) {
        status = list_missing(call, job);
    } else if (status == SINEW_OK) {
        status = sinew_job_merge(job, call->arguments[0], call->monitor, &call->error);
        cli_say_job(call, job, scene, status);
        if (cli_given(call, "--sheet") && (status == SINEW_OK || status == SINEW_NOT_CONVERGED))
            cli_add_sheet(call, scene, job);
    }
    sinew_job_destroy(job);
    sinew_scene_destroy(scene);
    return status;
}

const cli_verb verb_merge = {
    .name = "merge",
    .summary = "join the parts of a clip into the outputs of its scene",
    .arguments = "DIR",
    .minimum = 1,
    .maximum = 1,
    .options = options,
    .description = "Join the parts that 'sinew run --part' left in a folder into the outputs of "
                   "their scene. The result is bit-identical to that of a single run.\n\nFails and "
                   "writes nothing if a frame is missing or occurs in two parts, or if a part is "
                   "damaged or belongs to another scene.",
    .example = "sinew blend --sample bar --model rotation --steps 12 --out bar.pc2 --scene-out "
               "bar.json\n"
               "sinew run bar.json --frames 0-5 --part parts\n"
               "sinew run bar.json --frames 6- --part parts\n"
               "sinew merge parts\n",
    .run = run,
};
