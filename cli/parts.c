/* Parts of a clip: what verbs that write and join them share. */
#include "parts.h"

#include <stdio.h>

#include "json.h"
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

/* The clip that the scene writes as a point cache; NULL: it writes none. Frames are read one by
 * one: a clip may be larger than the memory. */
static sinew_frame_reader *open_merged(const sinew_scene *scene, const sinew_rig *rig,
                                       int *frame_count) {
    char *text = NULL;
    sinew_frame_reader *reader = NULL;
    sinew_error ignored;
    if (sinew_scene_get(scene, "/outputs/frames", &text, &ignored) != SINEW_OK) return NULL;
    json_t *paths = cli_json_loads(text, JSON_DECODE_ANY, NULL);
    sinew_free(text);
    for (size_t i = 0; i < json_array_size(paths) && !reader; i++) {
        char *path = sinew_scene_path(scene, json_string_value(json_array_get(paths, i)));
        sinew_frame_reader_info info = {.size = sizeof info};
        if (path && (cli_has_ending(path, "pc2") || cli_has_ending(path, "mdd")) &&
            sinew_frame_reader_open(path, &reader, &ignored) == SINEW_OK &&
            (sinew_frame_reader_get_info(reader, &info) != SINEW_OK ||
             info.vertex_count != rig->neutral->vertex_count)) {
            sinew_frame_reader_close(reader);
            reader = NULL;
        }
        *frame_count = info.frame_count;
        sinew_free(path);
    }
    json_decref(paths);
    return reader;
}

static sinew_status draw_sheet(cli_call *call, const sinew_rig *rig, sinew_frame_reader *reader,
                               int total) {
    enum { PANELS = 8, COLUMNS = 4, WIDTH = 800, HEIGHT = 420 };
    int count = total < PANELS ? total : PANELS;
    size_t size = 3 * (size_t)rig->neutral->vertex_count;
    double *positions = CLI_NEW(double, size *(size_t)count);
    float *row = CLI_NEW(float, size);
    sinew_status status = positions && row ? SINEW_OK : cli_no_memory(&call->error);
    sinew_panel panels[PANELS] = {0};
    char labels[PANELS][24];
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        int frame = count > 1 ? (int)((double)i * (total - 1) / (count - 1) + 0.5) : 0;
        status = sinew_frame_reader_read(reader, frame, row, &call->error);
        for (size_t k = 0; status == SINEW_OK && k < size; k++)
            positions[(size_t)i * size + k] = row[k];
        snprintf(labels[i], sizeof labels[i], "%d", frame);
        panels[i] = (sinew_panel){
            .mesh = rig->neutral, .positions = positions + (size_t)i * size, .label = labels[i]};
    }
    sinew_render_options page;
    sinew_render_options_init(&page);
    page.width = WIDTH, page.height = HEIGHT, page.columns = COLUMNS;
    sinew_image *image = NULL;
    if (status == SINEW_OK) status = sinew_render(count, panels, &page, &image, &call->error);
    if (status == SINEW_OK)
        status = sinew_image_write(cli_text(call, "--sheet"), image, &call->error);
    sinew_image_destroy(image);
    sinew_free(positions), sinew_free(row);
    return status;
}

/* The outputs are written: a sheet that cannot be drawn does not make the call fail. */
void cli_add_sheet(cli_call *call, const sinew_scene *scene, const sinew_job *job) {
    const sinew_rig *rig = sinew_job_rig(job);
    int count = 0;
    sinew_frame_reader *reader = open_merged(scene, rig, &count);
    sinew_error before = call->error; /* of frames that did not converge */
    if (reader && draw_sheet(call, rig, reader, count) != SINEW_OK)
        cli_warn(call, "cannot draw the contact sheet: %s", call->error.message);
    call->error = before;
    sinew_frame_reader_close(reader);
}
