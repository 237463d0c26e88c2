#include "job/capture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/rotation.h"
#include "base/status.h"
#include "io/format.h"
#include "job/capture_map.h"
#include "job/capture_retarget.h"
#include "session/report.h"
#include "sinew/io.h"
#include "sinew/render.h"

/* ---- the head -------------------------------------------------------------------------------- */

static int map_entry(const sinew_marker_map *map, const char *name, size_t length) {
    for (int i = 0; i < map->count; i++)
        if (strlen(map->names[i]) == length && !strncasecmp(map->names[i], name, length)) return i;
    return -1;
}

static sinew_status stabilise(const sn_model_setup *setup, sinew_markers *take, sn_capture *c,
                              sinew_error *error) {
    const char *list = sn_scene_string(setup->scene, "stable");
    if (!list || !*list) return SINEW_OK;
    int count = 0, most = c->map->count;
    int *stable = SN_NEW(int, most);
    double *rest = SN_NEW(double, 3 * (size_t)most), *reference = SN_NEW(double, 3 * (size_t)most);
    c->motion = SN_NEW(sinew_rigid, take->time_count);
    sinew_status status = stable && rest && reference && c->motion ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        sinew_marker_map_points(c->map, setup->rig->neutral, setup->rig->neutral->positions, rest);
    const char *name;
    size_t length;
    while (status == SINEW_OK && sn_list_next(&list, &name, &length)) {
        int entry = map_entry(c->map, name, length);
        if (entry < 0 || c->index[entry] < 0)
            status = sn_fail(error, SINEW_BAD_INPUT, "stable: there is no marker '%.*s'",
                             (int)length, name);
        else if (count < most) {
            stable[count] = c->index[entry];
            memcpy(reference + 3 * (size_t)count, rest + 3 * (size_t)entry, 3 * sizeof(double));
            count++;
        }
    }
    int held = 0;
    if (status == SINEW_OK)
        status = sinew_markers_stabilise(take, count, stable, reference, c->motion, &held, error);
    if (status == SINEW_OK && held > 0)
        sn_log(setup->monitor, SINEW_LOG_WARNING,
               "%d times had fewer than three stable markers and kept the last head motion", held);
    sn_free(stable), sn_free(rest), sn_free(reference);
    return status;
}

static sinew_rigid inverse(const sinew_rigid *motion) {
    sinew_rigid back;
    sn_mat3 turn;
    memcpy(&turn, motion->rotation, sizeof turn);
    sn_vec3 shift = sn_scale(-1, sn_mat3_apply_transposed(turn, sn_at(motion->translation, 0)));
    turn = sn_mat3_transpose(turn);
    memcpy(back.rotation, &turn, sizeof back.rotation);
    sn_put(back.translation, 0, shift);
    return back;
}

/* The take stands elsewhere: the same motion at all times, put back like the head's. */
static sinew_status move_take(sinew_markers *take, const sinew_rigid *motion, sn_capture *c,
                              sinew_error *error) {
    c->motion = SN_NEW(sinew_rigid, take->time_count);
    if (!c->motion) return sn_no_memory(error);
    for (int t = 0; t < take->time_count; t++) {
        sinew_rigid_apply(motion, take->marker_count,
                          take->positions + 3 * (size_t)t * (size_t)take->marker_count);
        c->motion[t] = inverse(motion);
    }
    return SINEW_OK;
}

/* ---- creation -------------------------------------------------------------------------------- */

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

static bool any_seen(const sinew_markers *take, const sn_capture *c) {
    for (int t = 0; t < take->time_count; t++)
        for (int i = 0; i < c->map->count; i++)
            if (c->index[i] >= 0 &&
                isfinite(take->positions[3 * ((size_t)t * (size_t)take->marker_count +
                                              (size_t)c->index[i])]))
                return true;
    return false;
}

static void report_take(const sn_model_setup *setup, const sinew_markers *take, const sn_capture *c,
                        int used) {
    double duration = take->times[take->time_count - 1] - take->times[0];
    double rate = duration > 0 ? (take->time_count - 1) / duration : 0;
    json_object_set_new(setup->report, "take",
                        json_pack("{s:i, s:f, s:i, s:i, s:i}", "samples", take->time_count, "rate",
                                  rate, "markers", take->marker_count, "used", used,
                                  "neutral_sample", c->neutral));
}

static sinew_status build(const sn_model_setup *setup, sn_capture *c, sinew_error *error) {
    sinew_markers *take = setup->clip->markers;
    sinew_rigid alignment;
    bool moved;
    SN_TRY(sn_capture_neutral(setup, take, &c->neutral, error));
    SN_TRY(sn_capture_map(setup, take, c, &alignment, &moved, error));
    size_t count = (size_t)c->map->count, frames = (size_t)setup->clip->frame_count;
    c->index = SN_NEW(int, count);
    c->sampled = SN_NEW(double, 3 * (size_t)take->marker_count);
    c->row = SN_NEW(double, 3 * count);
    c->places = SN_NEW(double, 3 * count);
    c->marker_error = SN_NEW(double, frames);
    c->truth_error = SN_NEW(double, frames);
    if (!c->index || !c->sampled || !c->row || !c->places || !c->marker_error || !c->truth_error)
        return sn_no_memory(error);
    for (size_t f = 0; f < frames; f++) c->marker_error[f] = c->truth_error[f] = NAN;
    int bound = sinew_marker_map_bind(c->map, take, c->index);
    if (bound == 0)
        return sn_fail(error, SINEW_BAD_INPUT, "none of the take's %d markers is in the map",
                       take->marker_count);
    if (bound < c->map->count || bound < take->marker_count) {
        char names[SN_CAPTURE_NAMES_SIZE] = "";
        for (int i = 0; i < c->map->count; i++)
            if (c->index[i] < 0) sn_capture_add_name(names, c->map->names[i]);
        sn_log(setup->monitor, SINEW_LOG_WARNING,
               "%d of the map's %d and of the take's %d markers are used%s%s", bound, c->map->count,
               take->marker_count, *names ? "; not in the take: " : "", names);
    }
    report_take(setup, take, c, bound);
    if (!any_seen(take, c))
        sn_log(setup->monitor, SINEW_LOG_WARNING, "no sample of the take shows any marker");
    SN_TRY(stabilise(setup, take, c, error));
    /* A warp between faces makes good for where the take stands. */
    if (moved && !c->motion && !sn_scene_flag(setup->scene, "retarget"))
        SN_TRY(move_take(take, &alignment, c, error));
    if (sn_scene_flag(setup->scene, "retarget"))
        SN_TRY(sn_capture_retarget(setup, take, c, error));
    else
        SN_TRY(sn_capture_check_places(setup, take, c, error));
    return read_truth(setup, c, error);
}

sinew_status sn_capture_create(const sn_model_setup *setup, sn_capture **capture,
                               sinew_error *error) {
    *capture = NULL;
    sn_capture *made = SN_NEW0(sn_capture, 1);
    if (!made) return sn_no_memory(error);
    made->rig = setup->rig, made->clip = setup->clip, made->monitor = setup->monitor;
    int vertices = setup->rig->neutral->vertex_count;
    for (int i = 0; i < vertices; i++)
        made->middle =
            sn_add_scaled(made->middle, 1.0 / vertices, sn_at(setup->rig->neutral->positions, i));
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
    sinew_marker_map_destroy(c->map);
    sinew_frames_destroy(c->truth);
    sn_free(c->index), sn_free(c->sampled), sn_free(c->row), sn_free(c->places);
    sn_free(c->motion), sn_free(c->marker_error), sn_free(c->truth_error);
    sn_free(c);
}

/* ---- frames ---------------------------------------------------------------------------------- */

void sn_capture_sample(sn_capture *c, int frame) {
    sinew_markers_sample(c->clip->markers, c->clip->times[frame], c->sampled);
    for (int i = 0; i < c->map->count; i++)
        for (int a = 0; a < 3; a++)
            c->row[3 * i + a] = c->index[i] >= 0 ? c->sampled[3 * c->index[i] + a] : NAN;
}

/* Between two samples: rotations by the shortest arc, the middle of the face in a straight line. */
static sinew_rigid between(const sinew_rigid *a, const sinew_rigid *b, double t, sn_vec3 middle) {
    sn_mat3 from, to;
    memcpy(&from, a->rotation, sizeof from), memcpy(&to, b->rotation, sizeof to);
    sn_mat3 turn =
        sn_quat_to_mat3(sn_quat_slerp(sn_quat_from_mat3(from), sn_quat_from_mat3(to), t));
    sn_vec3 p = sn_add(sn_mat3_apply(from, middle), sn_at(a->translation, 0));
    sn_vec3 q = sn_add(sn_mat3_apply(to, middle), sn_at(b->translation, 0));
    sn_vec3 here = sn_add(sn_scale(1 - t, p), sn_scale(t, q));
    sinew_rigid motion;
    memcpy(motion.rotation, &turn, sizeof motion.rotation);
    sn_put(motion.translation, 0, sn_sub(here, sn_mat3_apply(turn, middle)));
    return motion;
}

static void put_head_back(const sn_capture *c, int frame, double *positions) {
    if (!c->motion) return;
    const sinew_markers *take = c->clip->markers;
    double now = c->clip->times[frame];
    int after = 0, last = take->time_count - 1;
    while (after <= last && take->times[after] <= now) after++;
    sinew_rigid motion;
    if (after == 0 || after > last) {
        motion = c->motion[after == 0 ? 0 : last];
    } else {
        double start = take->times[after - 1];
        motion = between(&c->motion[after - 1], &c->motion[after],
                         (now - start) / (take->times[after] - start), c->middle);
    }
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
        sn_log(c->monitor, SINEW_LOG_WARNING,
               "the truth does not last: %d frames were compared with its first or last",
               c->beyond_truth);
    add_total(report, "marker_error", count, c->marker_error);
    add_total(report, "truth_error", count, c->truth_error);
    if (!plot) return SINEW_OK;
    sinew_line lines[2] = {{"markers", count, c->clip->times, c->marker_error},
                           {"all vertices", count, c->clip->times, c->truth_error}};
    sinew_plot_options options;
    sinew_plot_options_default(&options);
    options.title = "distance, root mean square";
    options.x_label = "seconds", options.y_label = "length units";
    sinew_image *image;
    SN_TRY(sinew_plot_lines(c->truth ? 2 : 1, lines, &options, &image, error));
    sinew_status status = sinew_image_write(plot, image, error);
    sinew_image_destroy(image);
    return status;
}
