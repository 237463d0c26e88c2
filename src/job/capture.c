#include "job/capture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/unit.h"
#include "base/vec3.h"
#include "io/format.h"
#include "session/clip.h"
#include "session/report.h"
#include "sinew/io.h"
#include "sinew/render.h"

static sinew_status read_truth(const sn_model_setup *setup, sn_capture *c, sinew_error *error) {
    const char *file =
        json_string_value(json_object_get(sn_scene_at(setup->scene, "markers"), "truth"));
    if (!file) return SINEW_OK;
    char *path = sn_scene_path(setup->scene, file);
    sinew_status status = path ? sinew_frames_read(path, &c->truth, error) : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_source_blame(&(sn_source){.name = path},
                                 sinew_frames_match(c->truth, setup->rig->neutral, error), error);
    if (status == SINEW_OK && (sn_has_ending(path, "pc2") || sn_has_ending(path, "obj"))) {
        /* Counted, not timed: frames of the truth are frames of the clip. */
        double faster = setup->clip->rate / SINEW_FRAMES_DEFAULT_RATE;
        c->truth->rate *= faster, c->truth->start /= faster;
    }
    sn_free(path);
    return status;
}

static sinew_status read_map(const sn_model_setup *setup, sinew_marker_map **map,
                             sinew_error *error) {
    const char *file =
        json_string_value(json_object_get(sn_scene_at(setup->scene, "markers"), "map"));
    *map = NULL;
    if (!file) return SINEW_OK;
    char *path = sn_scene_path(setup->scene, file);
    sinew_status status =
        path ? sinew_marker_map_read(path, setup->rig->neutral, map, error) : sn_no_memory(error);
    sn_free(path);
    return status;
}

static sinew_status build(const sn_model_setup *setup, sn_capture *c, sinew_error *error) {
    const sinew_scene *scene = setup->scene;
    const char *unit = json_string_value(json_object_get(sn_scene_at(scene, "rig"), "unit"));
    sinew_marker_map *map;
    SN_TRY(read_map(setup, &map, error));
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = map;
    options.neutral_sample = sn_scene_integer(scene, "neutral_frame");
    options.stable = sn_scene_string(scene, "stable");
    options.retarget = sn_scene_flag(scene, "retarget");
    options.rig_unit = sn_unit_metres(unit ? unit : SN_RIG_UNIT);
    sinew_status status = sinew_capture_create(setup->rig, setup->clip->markers, &options,
                                               setup->monitor, &c->capture, error);
    sinew_marker_map_destroy(map);
    SN_TRY(status);
    c->map = sinew_capture_map(c->capture);
    size_t count = (size_t)c->map->count, frames = (size_t)setup->clip->frame_count;
    c->row = SN_NEW(double, 3 * count);
    c->places = SN_NEW(double, 3 * count);
    c->marker_error = SN_NEW(double, frames);
    c->truth_error = SN_NEW(double, frames);
    if (!c->row || !c->places || !c->marker_error || !c->truth_error) return sn_no_memory(error);
    for (size_t f = 0; f < frames; f++) c->marker_error[f] = c->truth_error[f] = NAN;
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(c->capture, &info);
    json_object_set_new(setup->report, "take",
                        json_pack("{s:i, s:f, s:i, s:i, s:i}", "samples", info.samples, "rate",
                                  info.rate, "markers", info.markers, "used", info.used,
                                  "neutral_sample", info.neutral_sample));
    return read_truth(setup, c, error);
}

sinew_status sn_capture_create(const sn_model_setup *setup, sn_capture **capture,
                               sinew_error *error) {
    *capture = NULL;
    sn_capture *made = SN_NEW0(sn_capture, 1);
    if (!made) return sn_no_memory(error);
    made->rig = setup->rig, made->clip = setup->clip, made->monitor = setup->monitor;
    sinew_status status = build(setup, made, error);
    if (status != SINEW_OK) {
        sn_capture_destroy(made);
        return status;
    }
    *capture = made;
    return SINEW_OK;
}

void sn_capture_destroy(sn_capture *c) {
    if (!c) return;
    sinew_capture_destroy(c->capture);
    sinew_frames_destroy(c->truth);
    sn_free(c->row), sn_free(c->places);
    sn_free(c->marker_error), sn_free(c->truth_error);
    sn_free(c);
}

/* ---- frames ---------------------------------------------------------------------------------- */

void sn_capture_sample(sn_capture *c, int frame) {
    sinew_capture_sample(c->capture, c->clip->times[frame], c->row);
}

static void put_head_back(const sn_capture *c, int frame, double *positions) {
    sinew_rigid motion;
    sinew_capture_head(c->capture, c->clip->times[frame], &motion);
    sinew_rigid_apply(&motion, c->rig->neutral->vertex_count, positions);
}

void sn_capture_finish(sn_capture *c, int frame, double *positions, json_t *fields) {
    double sum = 0;
    int seen = 0;
    sinew_marker_map_points(c->map, c->rig->neutral, positions, c->places);
    for (int i = 0; i < c->map->count; i++) {
        double d = sn_distance(sn_at(c->row, i), sn_at(c->places, i));
        if (isfinite(d)) sum += d * d, seen++;
    }
    c->marker_error[frame] = seen ? sqrt(sum / seen) : NAN;
    put_head_back(c, frame, positions);
    if (c->truth) {
        const sinew_frames *t = c->truth;
        long k = lround((c->clip->times[frame] - t->start) * t->rate);
        c->beyond_truth += k < 0 || k >= t->frame_count;
        k = k < 0 ? 0 : k >= t->frame_count ? t->frame_count - 1 : k;
        const float *goal = t->positions + 3 * (size_t)k * (size_t)t->vertex_count;
        sum = 0;
        for (int i = 0; i < 3 * t->vertex_count; i++)
            sum += (positions[i] - (double)goal[i]) * (positions[i] - (double)goal[i]);
        c->truth_error[frame] = t->vertex_count ? sqrt(sum / t->vertex_count) : 0;
    }
    if (!fields) return;
    json_object_set_new(fields, "markers_seen", json_integer(seen));
    json_object_set_new(fields, "marker_error", sn_report_number(c->marker_error[frame]));
    if (c->truth)
        json_object_set_new(fields, "truth_error", sn_report_number(c->truth_error[frame]));
}

static void add_total(json_t *report, const char *name, int count, const double *values) {
    double sum = 0, most = 0;
    int used = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(values[i])) sum += values[i], most = fmax(most, values[i]), used++;
    if (!used) return;
    char key[64];
    snprintf(key, sizeof key, "%s_mean", name);
    sn_report_total(report, key, sn_report_number(sum / used));
    snprintf(key, sizeof key, "%s_worst", name);
    sn_report_total(report, key, sn_report_number(most));
}

sinew_status sn_capture_report(const sn_capture *c, json_t *report, const char *plot,
                               sinew_error *error) {
    int count = c->clip->frame_count;
    if (c->beyond_truth > 0)
        sn_log(c->monitor, SINEW_LOG_LEVEL_WARNING,
               "the truth does not last: %d frames were compared with its first or last",
               c->beyond_truth);
    add_total(report, "marker_error", count, c->marker_error);
    add_total(report, "truth_error", count, c->truth_error);
    if (!plot) return SINEW_OK;
    sinew_line lines[2] = {{"markers", count, c->clip->times, c->marker_error},
                           {"all vertices", count, c->clip->times, c->truth_error}};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    options.title = "distance, root mean square";
    options.x_label = "seconds", options.y_label = "length units";
    sinew_image *image;
    SN_TRY(sinew_plot_lines(c->truth ? 2 : 1, lines, &options, &image, error));
    sinew_status status = sinew_image_write(plot, image, error);
    sinew_image_destroy(image);
    return status;
}
