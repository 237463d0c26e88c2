#include "session/follow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/unit.h"
#include "base/vec3.h"
#include "session/clip.h"
#include "session/load.h"
#include "session/report.h"
#include "sinew/fit.h"

void sn_follow_key(const sn_model_setup *setup, sinew_hash *hash) {
    const json_t *markers = sn_scene_at(setup->scene, "markers");
    static const char *const names[] = {"file", "map", "unit"};
    if (!setup->clip->markers) return;
    for (int i = 0; i < 3; i++) {
        const char *text = json_string_value(json_object_get(markers, names[i]));
        sinew_hash_add_text(hash, text ? text : "");
    }
    const char *unit = json_string_value(json_object_get(sn_scene_at(setup->scene, "rig"), "unit"));
    sinew_hash_add_text(hash, unit ? unit : "");
}

sinew_status sn_follow_capture(const sn_model_setup *setup, sinew_capture **capture,
                               sinew_error *error) {
    const sinew_scene *scene = setup->scene;
    const char *unit = json_string_value(json_object_get(sn_scene_at(scene, "rig"), "unit"));
    const char *file = json_string_value(json_object_get(sn_scene_at(scene, "markers"), "map"));
    sinew_marker_map *map = NULL;
    if (file)
        SN_TRY(sn_load_marker_map(scene, setup->loader, file, setup->rig->neutral, &map, error));
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = map;
    options.neutral_sample = sn_scene_integer(scene, "neutral_frame");
    options.stable = sn_scene_string(scene, "stable");
    options.cutoff = sn_scene_number(scene, "cutoff");
    options.retarget = sn_scene_flag(scene, "retarget");
    options.rig_unit = sn_unit_metres(unit ? unit : SN_RIG_UNIT);
    sinew_status status = sinew_capture_create(setup->rig, setup->clip->markers, &options,
                                               setup->monitor, capture, error);
    sinew_marker_map_destroy(map);
    SN_TRY(status);
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(*capture, &info);
    sn_figure_put(
        setup->report, "take",
        sn_figure_pack("{s:i, s:f, s:i, s:i, s:i, s:i, s:i, s:f, s:b, s:i, s:f, s:f, s:i}",
                       "samples", info.samples, "rate", info.rate, "markers", info.markers, "used",
                       info.used, "neutral_sample", info.neutral_sample, "doubtful", info.doubtful,
                       "left_out", info.left_out, "scale", info.scale, "head_moves",
                       (int)info.head_moves, "filled", info.filled, "noise", info.noise, "cutoff",
                       info.cutoff, "relabeled", info.relabeled));
    return SINEW_OK;
}

static void report_held(const sn_model_setup *setup, const sinew_fit_slider *choice) {
    const sinew_rig *rig = setup->rig;
    json_t *held = json_object();
    char names[400] = "";
    int count = 0;
    for (int s = 0; s < rig->slider_count; s++) {
        if (choice[s] == SINEW_FIT_SLIDER_SOLVED) continue;
        sn_figure_put(held, rig->sliders[s].name, json_string(sinew_fit_slider_reason(choice[s])));
        if (choice[s] == SINEW_FIT_SLIDER_EXCLUDED) continue;
        size_t used = strlen(names);
        if (used + strlen(rig->sliders[s].name) + 8 < sizeof names)
            sprintf(names + used, "%s%s", used ? ", " : "", rig->sliders[s].name);
        else if (strcmp(names + used - 3, "...") != 0)
            strcat(names, ", ...");
        count++;
    }
    sn_figure_put(setup->report, "sliders",
                  sn_figure_pack("{s:i, s:o}", "solved",
                                 rig->slider_count - (int)json_object_size(held), "held", held));
    if (count > 0)
        sn_log(setup->monitor, SINEW_LOG_LEVEL_INFO,
               "%d sliders that the markers do not observe are held: %s", count, names);
}

sinew_status sn_follow_held(const sn_model_setup *setup, const sinew_marker_map *map, bool *held,
                            sinew_error *error) {
    const sinew_scene *scene = setup->scene;
    sinew_fit_slider *choice = SN_NEW(sinew_fit_slider, setup->rig->slider_count + 1);
    if (!choice) return sn_no_memory(error);
    sinew_error what;
    sinew_status status = sinew_fit_choose_sliders(
        setup->rig, map, sn_scene_string(scene, "only"), sn_scene_string(scene, "also"),
        sn_scene_string(scene, "without"), choice, &what);
    if (status != SINEW_OK)
        status = sn_fail(error, status, "/parameters/%s", what.message);
    else
        report_held(setup, choice);
    for (int s = 0; status == SINEW_OK && s < setup->rig->slider_count; s++)
        held[s] = choice[s] != SINEW_FIT_SLIDER_SOLVED;
    sn_free(choice);
    return status;
}

static sinew_status read_truth(const sn_model_setup *setup, sinew_frames **truth,
                               sinew_error *error) {
    const char *file =
        json_string_value(json_object_get(sn_scene_at(setup->scene, "markers"), "truth"));
    if (!file) return SINEW_OK;
    SN_TRY(sn_load_frames(setup->scene, setup->loader, file, setup->rig->neutral, truth, error));
    if (sn_has_ending(file, "pc2") || sn_has_ending(file, "obj")) {
        /* Counted, not timed: frames of the truth are frames of the clip. */
        double faster = setup->clip->rate / SINEW_FRAMES_DEFAULT_RATE;
        (*truth)->rate *= faster, (*truth)->start /= faster;
    }
    return SINEW_OK;
}

sinew_status sn_follow_create(const sn_model_setup *setup, const sinew_capture *capture,
                              sn_follow *follow, sinew_error *error) {
    *follow = (sn_follow){.rig = setup->rig, .capture = capture};
    follow->map = sinew_capture_map(capture);
    size_t count = (size_t)follow->map->count;
    follow->row = SN_NEW(double, 3 * count);
    follow->positions = SN_NEW(double, 3 * count);
    follow->weights = SN_NEW(double, count);
    sinew_status status = follow->row && follow->positions && follow->weights
                              ? read_truth(setup, &follow->truth, error)
                              : sn_no_memory(error);
    if (status != SINEW_OK) sn_follow_free(follow);
    return status;
}

void sn_follow_free(sn_follow *follow) {
    sinew_frames_destroy(follow->truth);
    sn_free(follow->row), sn_free(follow->positions), sn_free(follow->weights);
    *follow = (sn_follow){0};
}

void sn_follow_sample(sn_follow *follow, const sn_ask *ask) {
    if (!ask->markers) {
        sinew_capture_sample(follow->capture, ask->time, follow->row);
        sinew_capture_weights(follow->capture, ask->time, follow->weights);
        return;
    }
    memcpy(follow->row, ask->markers, 3 * (size_t)follow->map->count * sizeof *follow->row);
    for (int i = 0; i < follow->map->count; i++)
        follow->weights[i] = follow->map->weights ? follow->map->weights[i] : 1;
}

static double truth_error(const sinew_frames *truth, double time, const double *positions,
                          bool *beyond) {
    long k = lround((time - truth->start) * truth->rate);
    *beyond = k < 0 || k >= truth->frame_count;
    k = k < 0 ? 0 : k >= truth->frame_count ? truth->frame_count - 1 : k;
    const float *goal = truth->positions + 3 * (size_t)k * (size_t)truth->vertex_count;
    double sum = 0;
    for (int i = 0; i < 3 * truth->vertex_count; i++)
        sum += (positions[i] - (double)goal[i]) * (positions[i] - (double)goal[i]);
    return truth->vertex_count ? sqrt(sum / truth->vertex_count) : 0;
}

void sn_follow_finish(sn_follow *follow, const sn_ask *ask, double *positions, json_t *fields) {
    double sum = 0;
    int seen = 0;
    if (fields)
        sinew_marker_map_points(follow->map, follow->rig->neutral, positions, follow->positions);
    for (int i = 0; fields && i < follow->map->count; i++) {
        double d = sn_distance(sn_at(follow->row, i), sn_at(follow->positions, i));
        if (isfinite(d)) sum += d * d, seen++;
    }
    if (!ask->markers) {
        sinew_rigid motion;
        sinew_capture_head(follow->capture, ask->time, &motion);
        sinew_rigid_apply(&motion, follow->rig->neutral->vertex_count, positions);
    }
    if (!fields) return;
    sn_figure_put(fields, "markers_seen", json_integer(seen));
    sn_figure_put(fields, "marker_error", sn_report_number(seen ? sqrt(sum / seen) : NAN));
    if (!follow->truth) return;
    bool beyond;
    double error = truth_error(follow->truth, ask->time, positions, &beyond);
    sn_figure_put(fields, "truth_error", sn_report_number(error));
    if (beyond) sn_figure_put(fields, "beyond_truth", json_true());
}
