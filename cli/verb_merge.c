/* sinew merge: the parts of a clip to the outputs of its scene. */
#include <stdio.h>
#include <string.h>

#include "jobs.h"
#include "sinew/frames.h"
#include "sinew/render.h"

static const cli_option options[] = {
    {"--scene", CLI_INPUT, "FILE",
     "Scene of the parts (default: the scene that they were run from).", 0, 0, false},
    CLI_FOLDER_OPTION,
    {"--missing", CLI_FLAG, NULL,
     "Do not merge: remove parts that are damaged or belong to another scene, and list the missing "
     "frames.",
     0, 0, false},
    {"--sheet", CLI_OUTPUT, "FILE.png",
     "Also draw a contact sheet: frames spread over the clip, if the scene writes a point cache.",
     0, 0, false},
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
    sinew_status status =
        path ? sinew_file_read(path, scene, &size, &call->error) : cli_no_memory(&call->error);
    sinew_free(path);
    return status;
}

/* Which frames no part holds, as ranges for `sinew run --frames`, and in the report what a plan
 * needs: {"clip": {"frames", "past", "run", "missing": [[first, last], ...]}}. */
static sinew_status list_missing(cli_call *call, sinew_job *job) {
    static const char *const pasts[] = {
        [SINEW_PAST_NONE] = "none", [SINEW_PAST_RUN] = "run", [SINEW_PAST_ALL] = "all"};
    int frames = sinew_job_frame_count(job), run = 0;
    bool *present = CLI_NEW(bool, frames);
    if (!present) return cli_no_memory(&call->error);
    sinew_status status =
        sinew_job_check_parts(job, call->arguments[0], present, call->monitor, &call->error);
    json_t *missing = json_array();
    for (int first = 0, last; status == SINEW_OK && first < frames; first = last + 1) {
        for (last = first; last + 1 < frames && present[last + 1] == present[first];) last++;
        if (present[first]) continue;
        cli_say(call, "%d-%d", first, last);
        json_array_append_new(missing, json_pack("[i, i]", first, last));
    }
    const char *past = pasts[sinew_job_past(job, &run)];
    json_object_set_new(call->report, "clip",
                        json_pack("{s:i, s:s, s:i, s:o}", "frames", frames, "past", past, "run",
                                  run, "missing", missing));
    sinew_free(present);
    return status;
}

/* The frames of the clip that the scene writes as a point cache; NULL: it writes none. */
static sinew_frames *read_merged(const sinew_scene *scene, const sinew_rig *rig) {
    char *text = NULL;
    sinew_frames *frames = NULL;
    sinew_error ignored;
    if (sinew_scene_get(scene, "/outputs/frames", &text, &ignored) != SINEW_OK) return NULL;
    json_t *paths = json_loads(text, JSON_DECODE_ANY, NULL);
    sinew_free(text);
    for (size_t i = 0; i < json_array_size(paths) && !frames; i++) {
        char *path = sinew_scene_path(scene, json_string_value(json_array_get(paths, i)));
        if (path && (cli_has_ending(path, "pc2") || cli_has_ending(path, "mdd")) &&
            sinew_frames_read(path, &frames, &ignored) == SINEW_OK &&
            sinew_frames_vertex_count(frames) != rig->neutral->vertex_count) {
            sinew_frames_destroy(frames);
            frames = NULL;
        }
        sinew_free(path);
    }
    json_decref(paths);
    return frames;
}

static sinew_status draw_sheet(cli_call *call, const sinew_rig *rig, const sinew_frames *frames) {
    enum { PANELS = 8, COLUMNS = 4, WIDTH = 800, HEIGHT = 420 };
    int total = sinew_frames_count(frames), count = total < PANELS ? total : PANELS;
    size_t size = 3 * (size_t)rig->neutral->vertex_count;
    double *positions = CLI_NEW(double, size *(size_t)count);
    if (!positions) return cli_no_memory(&call->error);
    sinew_panel panels[PANELS] = {0};
    char labels[PANELS][24];
    for (int i = 0; i < count; i++) {
        int frame = count > 1 ? (int)((double)i * (total - 1) / (count - 1) + 0.5) : 0;
        const float *from = sinew_frames_positions(frames, frame);
        for (size_t k = 0; k < size; k++) positions[(size_t)i * size + k] = from[k];
        snprintf(labels[i], sizeof labels[i], "%d", frame);
        panels[i] = (sinew_panel){
            .mesh = rig->neutral, .positions = positions + (size_t)i * size, .label = labels[i]};
    }
    sinew_render_options page;
    sinew_render_options_init(&page);
    page.width = WIDTH, page.height = HEIGHT, page.columns = COLUMNS;
    sinew_image *image;
    sinew_status status = sinew_render(count, panels, &page, &image, &call->error);
    if (status == SINEW_OK)
        status = sinew_image_write(cli_text(call, "--sheet"), image, &call->error);
    sinew_image_destroy(image);
    sinew_free(positions);
    return status;
}

/* The outputs are written: a sheet that cannot be drawn is no reason to fail. */
static void add_sheet(cli_call *call, const sinew_scene *scene, const sinew_job *job) {
    const sinew_rig *rig = sinew_job_rig(job);
    sinew_frames *frames = read_merged(scene, rig);
    sinew_error before = call->error; /* of frames that did not converge */
    if (frames && draw_sheet(call, rig, frames) != SINEW_OK)
        cli_warn(call, "no contact sheet: %s", call->error.message);
    call->error = before;
    sinew_frames_destroy(frames);
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
            add_sheet(call, scene, job);
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
