/* Parts of a clip: what verbs that write and join them share. */
#include "parts.h"

#include <stdio.h>

#include "sinew/frames.h"
#include "sinew/render.h"

void cli_report_clip(cli_call *call, const sinew_job *job, const bool *present) {
    static const char *const pasts[] = {
        [SINEW_PAST_NONE] = "none", [SINEW_PAST_RUN] = "run", [SINEW_PAST_ALL] = "all"};
    int frames = sinew_job_frame_count(job), run = 0;
    json_t *missing = json_array();
    for (int first = 0, last; first < frames; first = last + 1) {
        for (last = first; last + 1 < frames && present[last + 1] == present[first];) last++;
        if (!present[first]) json_array_append_new(missing, json_pack("[i, i]", first, last));
    }
    const char *past = pasts[sinew_job_past(job, &run)];
    json_object_set_new(call->report, "clip",
                        json_pack("{s:i, s:s, s:i, s:o}", "frames", frames, "past", past, "run",
                                  run, "missing", missing));
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
    sinew_image *image = NULL;
    sinew_status status = sinew_render(count, panels, &page, &image, &call->error);
    if (status == SINEW_OK)
        status = sinew_image_write(cli_text(call, "--sheet"), image, &call->error);
    sinew_image_destroy(image);
    sinew_free(positions);
    return status;
}

/* The outputs are written: a sheet that cannot be drawn is no reason to fail. */
void cli_add_sheet(cli_call *call, const sinew_scene *scene, const sinew_job *job) {
    const sinew_rig *rig = sinew_job_rig(job);
    sinew_frames *frames = read_merged(scene, rig);
    sinew_error before = call->error; /* of frames that did not converge */
    if (frames && draw_sheet(call, rig, frames) != SINEW_OK)
        cli_warn(call, "no contact sheet: %s", call->error.message);
    call->error = before;
    sinew_frames_destroy(frames);
}
