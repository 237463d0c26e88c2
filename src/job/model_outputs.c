/* Files that only some models have: networks, modes, fitted curves, stiffness maps, plots. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/number.h"
#include "base/status.h"
#include "job/outputs.h"
#include "job/plot.h"
#include "job/trace.h"
#include "session/outputs.h"
#include "session/report.h"
#include "sinew/io.h"
#include "sinew/spring.h"

struct sn_model_outputs {
    const sinew_scene *scene;
    sinew_solver *solver;
    int first, last;
    sinew_frame_writer *network; /* spring */
    bool *inverted;              /* modal: per element, inside out in some frame, in no key */
    sinew_curves *fitted;        /* fit */
    sn_trace *trace;             /* force */
    double *times, *marker_error, *truth_error; /* of frames that follow markers; NaN: not known */
    int beyond_truth;                           /* frames */
    int unchanged; /* frames without contact, because it would make them worse */
};

/* ---- frames ---------------------------------------------------------------------------------- */

int sn_model_outputs_network(const sinew_solver *solver) {
    if (solver->kind != &sn_model_spring) return 0;
    sinew_spring_info info = {.size = sizeof info};
    sinew_spring_get_info(sn_model_spring_springs(sn_solver_structure(solver)), &info);
    return info.vertex_count;
}

int sn_model_outputs_elements(const sinew_solver *solver) {
    if (solver->kind != &sn_model_modal) return 0;
    sinew_modal_info info = {.size = sizeof info};
    sinew_modal_get_info(sn_solver_structure(solver), &info);
    return info.elements;
}

static bool wants(const sinew_scene *scene, const char *output) {
    return json_object_get(sn_scene_at(scene, "outputs"), output) != NULL;
}

bool sn_model_outputs_need_state(const sinew_scene *scene, const sinew_solver *solver) {
    return solver->kind == &sn_model_modal || solver->kind == &sn_model_fit ||
           solver->kind == &sn_model_force ||
           (solver->kind == &sn_model_spring && wants(scene, "network_frames"));
}

sinew_status sn_model_outputs_frame(const sinew_scene *scene, sinew_solver *solver, sn_frame *frame,
                                    sinew_error *error) {
    bool good = true;
    if (solver->kind == &sn_model_spring && wants(scene, "network_frames"))
        good =
            (frame->network = SN_NEW(double, 3 * (size_t)sn_model_outputs_network(solver))) != NULL;
    if (solver->kind == &sn_model_modal)
        good = (frame->inverted = SN_NEW(int, sn_model_outputs_elements(solver))) != NULL;
    if (solver->kind == &sn_model_fit || solver->kind == &sn_model_force)
        good = (frame->weights = SN_NEW(double, sinew_solver_rig(solver)->slider_count)) != NULL;
    return good ? SINEW_OK : sn_no_memory(error);
}

void sn_model_outputs_take(sinew_solver *solver, sn_frame *frame) {
    if (frame->network)
        memcpy(frame->network, sn_model_spring_network(solver->model),
               3 * (size_t)sn_model_outputs_network(solver) * sizeof *frame->network);
    if (frame->inverted) {
        const int *list = sn_model_modal_inverted(solver->model, &frame->inverted_count);
        memcpy(frame->inverted, list, (size_t)frame->inverted_count * sizeof *list);
    }
    if (frame->weights)
        memcpy(frame->weights,
               solver->kind == &sn_model_fit ? sn_model_fit_weights(solver->model)
                                             : sn_model_force_weights(solver->model),
               (size_t)sinew_solver_rig(solver)->slider_count * sizeof *frame->weights);
}

void sn_frame_free(sn_frame *frame) {
    sn_free(frame->positions), sn_free(frame->single), sn_free(frame->network);
    sn_free(frame->inverted), sn_free(frame->weights);
    json_decref(frame->fields);
    *frame = (sn_frame){0};
}

/* ---- opening --------------------------------------------------------------------------------- */

static sinew_status open_network(sn_model_outputs *out, sinew_error *error) {
    const sn_clip *clip = sn_solver_get_clip(out->solver);
    char *path;
    SN_TRY(sn_scene_output(out->scene, "network_frames", &path, error));
    if (!path) return SINEW_OK;
    int count = sn_model_outputs_network(out->solver), none = 0;
    sinew_mesh *points = NULL;
    double *zeros = SN_NEW0(double, 3 * (size_t)count);
    sinew_status status = zeros ? sinew_mesh_create(count, zeros, 0, NULL, &none, &points, error)
                                : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_frame_writer_open(path, points, out->last - out->first + 1,
                                         clip->times[out->first], clip->rate, &out->network, error);
    sinew_mesh_destroy(points);
    sn_free(zeros), sn_free(path);
    return status;
}

static sinew_status open_fitted(sn_model_outputs *out, sinew_error *error) {
    const sinew_rig *rig = sinew_solver_rig(out->solver);
    int count = out->last - out->first + 1;
    SN_TRY(sinew_curves_create(rig->slider_count, count, &out->fitted, error));
    for (int s = 0; s < rig->slider_count; s++)
        SN_TRY(sinew_curves_set_name(out->fitted, s, rig->sliders[s].name, error));
    return SINEW_OK;
}

static sinew_status open_all(sn_model_outputs *out, sinew_error *error) {
    const sn_model_kind *kind = out->solver->kind;
    size_t count = (size_t)(out->last - out->first + 1);
    if (kind == &sn_model_spring) SN_TRY(open_network(out, error));
    if (kind == &sn_model_modal) {
        out->inverted = SN_NEW0(bool, sn_model_outputs_elements(out->solver));
        if (!out->inverted) return sn_no_memory(error);
    }
    if (kind == &sn_model_fit || kind == &sn_model_force) SN_TRY(open_fitted(out, error));
    const char *traced = sn_scene_string(out->scene, "trace");
    if (kind == &sn_model_force && traced)
        SN_TRY(sn_trace_create(out->scene, out->solver, traced, out->first, out->last, &out->trace,
                               error));
    out->times = SN_NEW(double, count);
    out->marker_error = SN_NEW(double, count), out->truth_error = SN_NEW(double, count);
    return out->times && out->marker_error && out->truth_error ? SINEW_OK : sn_no_memory(error);
}

sinew_status sn_model_outputs_open(const sinew_scene *scene, sinew_solver *solver, int first,
                                   int last, sn_model_outputs **outputs, sinew_error *error) {
    *outputs = NULL;
    sn_model_outputs *out = SN_NEW0(sn_model_outputs, 1);
    if (!out) return sn_no_memory(error);
    out->scene = scene, out->solver = solver, out->first = first, out->last = last;
    sinew_status status = open_all(out, error);
    if (status != SINEW_OK)
        sn_model_outputs_abandon(out);
    else
        *outputs = out;
    return status;
}

void sn_model_outputs_abandon(sn_model_outputs *out) {
    if (!out) return;
    if (out->network) sinew_frame_writer_abandon(out->network);
    sinew_curves_destroy(out->fitted);
    sn_trace_destroy(out->trace);
    sn_free(out->inverted);
    sn_free(out->times), sn_free(out->marker_error), sn_free(out->truth_error);
    sn_free(out);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static double figure(const json_t *fields, const char *name) {
    const json_t *value = json_object_get(fields, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

sinew_status sn_model_outputs_add(sn_model_outputs *out, const sn_frame *frame,
                                  sinew_error *error) {
    int at = frame->index - out->first;
    out->times[at] = frame->info.time;
    out->marker_error[at] = figure(frame->fields, "marker_error");
    out->truth_error[at] = figure(frame->fields, "truth_error");
    out->unchanged += json_is_true(json_object_get(frame->fields, "contact_unchanged"));
    out->beyond_truth += json_is_true(json_object_get(frame->fields, "beyond_truth"));
    for (int k = 0; out->inverted && k < frame->inverted_count; k++)
        out->inverted[frame->inverted[k]] = true;
    if (out->fitted) {
        size_t n = (size_t)out->fitted->channel_count;
        out->fitted->times[at] = frame->info.time;
        memcpy(out->fitted->values + (size_t)at * n, frame->weights, n * sizeof(double));
    }
    if (out->trace) sn_trace_add(out->trace, frame->index, frame->positions);
    return out->network ? sinew_frame_writer_add(out->network, frame->network, error) : SINEW_OK;
}

/* ---- closing --------------------------------------------------------------------------------- */

/* mode, its frequency and damping as requested, the two frequencies that move and the share of the
 * second, and the mode's weight at every key. */
static sinew_status write_modes(const sn_model_outputs *out, const char *path, sinew_error *error) {
    const sinew_modal_motion *moving = sn_model_modal_motion(out->solver->model);
    sinew_modal_info info = {.size = sizeof info};
    sinew_modal_get_info(sn_solver_structure(out->solver), &info);
    sinew_modal_motion_info motion = {.size = sizeof motion};
    sinew_modal_motion_get_info(moving, &motion);
    const json_t *keys = sn_scene_at(out->scene, "keys");
    size_t count = json_array_size(keys);
    double *amplitudes = SN_NEW(double, count *(size_t)motion.columns);
    if (!amplitudes) return sn_no_memory(error);
    sn_output output;
    sinew_status status = sn_output_open(&output, path, error);
    if (status == SINEW_OK) {
        fprintf(output.stream,
                "mode,frequency_hz,damping_ratio,moving_1_hz,moving_2_hz,moving_share");
        for (size_t k = 0; k < count; k++) {
            double time = json_number_value(json_object_get(json_array_get(keys, k), "time"));
            sinew_modal_motion_weights(moving, time, amplitudes + k * (size_t)motion.columns);
            fprintf(output.stream, ",amplitude_%zu", k);
        }
        for (int i = 0; i < info.modes; i++) {
            sn_print_to(output.stream, "\n%d,%.9g,%.9g,%.9g,%.9g,%.9g", i, motion.frequency[i],
                        motion.damping[i], motion.moving[2 * i], motion.moving[2 * i + 1],
                        motion.moving_share[i]);
            for (size_t k = 0; k < count; k++)
                sn_print_to(output.stream, ",%.9g",
                            amplitudes[k * (size_t)motion.columns + (size_t)i]);
        }
        fprintf(output.stream, "\n");
        status = sn_output_commit(&output, error);
    }
    sn_free(amplitudes);
    return status;
}

/* A point cache with one frame per mode: the rest shape displaced by a tenth of the diagonal. */
static sinew_status write_shapes(const sn_model_outputs *out, const char *path,
                                 sinew_error *error) {
    const sinew_mesh *neutral = sinew_solver_rig(out->solver)->neutral;
    const sinew_modal *modal = sn_solver_structure(out->solver);
    sinew_modal_info info = {.size = sizeof info};
    sinew_modal_get_info(modal, &info);
    double *shape = SN_NEW(double, 3 * (size_t)neutral->vertex_count);
    if (!shape) return sn_no_memory(error);
    sinew_frame_writer *writer = NULL;
    sinew_status status = sinew_frame_writer_open(path, neutral, info.modes, 0, 1, &writer, error);
    for (int i = 0; status == SINEW_OK && i < info.modes; i++) {
        status = sinew_modal_shape(modal, i, 0.1, shape, error);
        if (status == SINEW_OK) status = sinew_frame_writer_add(writer, shape, error);
    }
    sn_free(shape);
    if (status == SINEW_OK) return sinew_frame_writer_close(writer, error);
    if (writer) sinew_frame_writer_abandon(writer);
    return status;
}

/* Tets that some frame turns inside out and no key: how many, and the first thousand by index. */
static void report_inverted(const sn_model_outputs *out, json_t *report,
                            const sinew_monitor *monitor) {
    enum { MOST = 1000 };
    json_t *tets = json_array();
    int count = 0;
    for (int e = 0; e < sn_model_outputs_elements(out->solver); e++)
        if (out->inverted[e] && count++ < MOST) sn_figure_append(tets, json_integer(e));
    sn_figure_put(report, "new_inverted",
                  sn_figure_pack("{s:i,s:o}", "count", count, "tets", tets));
    if (count > 0)
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "%d tets are inside out in some frame and in no key pose; if it shows, lower "
               "'amplitude', raise 'damping' or set 'body' to 'shell'",
               count);
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

static sinew_status plot_errors(const sn_model_outputs *out, const char *path, sinew_error *error) {
    int count = out->last - out->first + 1;
    bool truth = json_object_get(sn_scene_at(out->scene, "markers"), "truth") != NULL;
    sinew_line lines[2] = {{"markers", count, out->times, out->marker_error},
                           {"all vertices", count, out->times, out->truth_error}};
    return sn_plot_write(path, "distance, root mean square", "seconds", "length units",
                         truth ? 2 : 1, lines, error);
}

static sinew_status write_map(const sn_model_outputs *out, const char *path, bool bend,
                              sinew_error *error) {
    const sn_force_structure *force = sn_solver_structure(out->solver);
    return sinew_vertex_values_write(path, sinew_solver_rig(out->solver)->neutral->vertex_count,
                                     bend ? force->bend_map : force->stretch_map, error);
}

/* One output by its name; those that are not the model's are not in its schema. */
static sinew_status write_named(const sn_model_outputs *out, const char *name, const char *path,
                                sinew_error *error) {
    if (!strcmp(name, "network"))
        return sinew_spring_write_network(sn_model_spring_springs(sn_solver_structure(out->solver)),
                                          path, error);
    if (!strcmp(name, "modes")) return write_modes(out, path, error);
    if (!strcmp(name, "shapes")) return write_shapes(out, path, error);
    if (!strcmp(name, "fitted")) return sinew_curves_write(path, out->fitted, error);
    if (!strcmp(name, "stretch_map")) return write_map(out, path, false, error);
    if (!strcmp(name, "bend_map")) return write_map(out, path, true, error);
    if (!strcmp(name, "trace_plot")) return sn_trace_write(out->trace, path, error);
    if (!strcmp(name, "error_plot")) return plot_errors(out, path, error);
    return SINEW_OK;
}

static sinew_status write_all(sn_model_outputs *out, json_t *report, const sinew_monitor *monitor,
                              sinew_error *error) {
    int count = out->last - out->first + 1;
    if (out->network) {
        sinew_frame_writer *writer = out->network;
        out->network = NULL;
        SN_TRY(sinew_frame_writer_close(writer, error));
    }
    if (out->inverted) report_inverted(out, report, monitor);
    for (const char *const *name = out->solver->kind->outputs; name && *name; name++) {
        char *path;
        SN_TRY(sn_scene_output(out->scene, *name, &path, error));
        sinew_status status = path ? write_named(out, *name, path, error) : SINEW_OK;
        sn_free(path);
        SN_TRY(status);
    }
    if (out->beyond_truth > 0)
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "the truth does not last: %d frames were compared with its first or last",
               out->beyond_truth);
    if (out->unchanged > 0) {
        sn_report_total(report, "contact_unchanged", json_integer(out->unchanged));
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "%d of %d frames have no contact, because it would make them intersect more, or "
               "because too much of the surface touches at once",
               out->unchanged, count);
    }
    add_total(report, "marker_error", count, out->marker_error);
    add_total(report, "truth_error", count, out->truth_error);
    return SINEW_OK;
}

sinew_status sn_model_outputs_close(sn_model_outputs *out, json_t *report,
                                    const sinew_monitor *monitor, sinew_error *error) {
    sinew_status status = write_all(out, report, monitor, error);
    sn_model_outputs_abandon(out);
    return status;
}
