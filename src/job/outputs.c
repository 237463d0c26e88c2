#include "job/outputs.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/format.h"
#include "io/frames.h"
#include "sinew/io.h"

/* A clip goes to a frame writer. A single shape whose ending is that of a mesh becomes a mesh. */
typedef struct output {
    sinew_frame_writer *writer;
    char *mesh_path;
} output;

struct sn_outputs {
    int count;
    output *list;
    sinew_mesh *mesh; /* the single shape, when some output is a mesh */
    const sinew_scene *scene;
    sinew_solver *solver;
    int first, last;
    sn_model_outputs *models;
};

void sn_outputs_abandon(sn_outputs *out) {
    if (!out) return;
    for (int i = 0; out->list && i < out->count; i++) {
        if (out->list[i].writer) sinew_frame_writer_abandon(out->list[i].writer);
        sn_free(out->list[i].mesh_path);
    }
    sn_model_outputs_abandon(out->models);
    sinew_mesh_destroy(out->mesh);
    sn_free(out->list);
    sn_free(out);
}

static bool is_mesh_path(const char *path) {
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if ((*f)->write_mesh && sn_format_has_ending(*f, path)) return true;
    return false;
}

static sinew_status open_one(sn_outputs *out, const char *path, output *o, sinew_error *error) {
    const sinew_mesh *neutral = sinew_solver_rig(out->solver)->neutral;
    const sn_clip *clip = sn_solver_get_clip(out->solver);
    if (out->first == out->last && is_mesh_path(path)) {
        o->mesh_path = sn_strdup(path);
        if (!o->mesh_path) return sn_no_memory(error);
        if (!out->mesh) SN_TRY(sinew_mesh_copy(neutral, &out->mesh, error));
        return sn_output_probe(path, error); /* now, not after the work */
    }
    return sinew_frame_writer_open(path, neutral, out->last - out->first + 1,
                                   clip->times[out->first], clip->rate, &o->writer, error);
}

sinew_status sn_outputs_open(const sinew_scene *scene, sinew_solver *solver, int first, int last,
                             sn_outputs **outputs, sinew_error *error) {
    *outputs = NULL;
    const json_t *paths = json_object_get(sn_scene_at(scene, "outputs"), "frames");
    sn_outputs *out = SN_NEW0(sn_outputs, 1);
    if (!out) return sn_no_memory(error);
    out->scene = scene, out->solver = solver, out->first = first, out->last = last;
    out->list = SN_NEW0(output, json_array_size(paths));
    out->count = (int)json_array_size(paths);
    sinew_status status = out->list ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < out->count; i++) {
        char *path = sinew_scene_path(scene, json_string_value(json_array_get(paths, (size_t)i)));
        status = path ? open_one(out, path, &out->list[i], error) : sn_no_memory(error);
        sn_free(path);
    }
    if (status == SINEW_OK)
        status = sn_model_outputs_open(scene, solver, first, last, &out->models, error);
    if (status != SINEW_OK)
        sn_outputs_abandon(out);
    else
        *outputs = out;
    return status;
}

sinew_status sn_outputs_add(sn_outputs *out, const sn_frame *frame, sinew_error *error) {
    if (out->mesh) {
        memcpy(out->mesh->positions, frame->positions,
               3 * (size_t)out->mesh->vertex_count * sizeof *frame->positions);
        /* Normals of the file belong to the neutral. */
        sn_free(out->mesh->normals);
        sn_free(out->mesh->corner_normal);
        out->mesh->normals = NULL;
        out->mesh->corner_normal = NULL;
        out->mesh->normal_count = 0;
    }
    for (int i = 0; i < out->count; i++) {
        sinew_frame_writer *writer = out->list[i].writer;
        if (writer)
            SN_TRY(frame->single ? sn_frame_writer_add_single(writer, frame->single, error)
                                 : sinew_frame_writer_add(writer, frame->positions, error));
    }
    return sn_model_outputs_add(out->models, frame, error);
}

/* The weights as they drove the frames. */
static sinew_status write_curves(const sn_outputs *out, sinew_error *error) {
    const sinew_rig *rig = sinew_solver_rig(out->solver);
    const sn_clip *clip = sn_solver_get_clip(out->solver);
    char *path;
    SN_TRY(sn_scene_output(out->scene, "curves", &path, error));
    if (!path) return SINEW_OK;
    sinew_curves *curves = NULL;
    int n = rig->slider_count, count = out->last - out->first + 1;
    sinew_status status = sinew_curves_create(n, count, &curves, error);
    for (int i = 0; status == SINEW_OK && i < n; i++)
        status = sinew_curves_set_name(curves, i, rig->sliders[i].name, error);
    if (status == SINEW_OK) {
        memcpy(curves->times, clip->times + out->first, (size_t)count * sizeof *curves->times);
        memcpy(curves->values, clip->weights + (size_t)out->first * (size_t)n,
               (size_t)count * (size_t)n * sizeof *curves->values);
        status = sinew_curves_write(path, curves, error);
    }
    sinew_curves_destroy(curves);
    sn_free(path);
    return status;
}

sinew_status sn_outputs_close(sn_outputs *out, json_t *report, const sinew_monitor *monitor,
                              sinew_error *error) {
    sinew_status status = sn_model_outputs_close(out->models, report, monitor, error);
    out->models = NULL;
    for (int i = 0; status == SINEW_OK && i < out->count; i++) {
        output *o = &out->list[i];
        status = o->writer ? sinew_frame_writer_close(o->writer, error)
                           : sinew_mesh_write(o->mesh_path, out->mesh, error);
        o->writer = NULL;
    }
    if (status == SINEW_OK) status = write_curves(out, error);
    sn_outputs_abandon(out);
    return status;
}

bool sn_outputs_are_single(const sinew_scene *scene, const sinew_solver *solver) {
    const json_t *paths = json_object_get(sn_scene_at(scene, "outputs"), "frames");
    /* A single shape may become a mesh, and a trace measures distances. */
    bool single = sn_solver_get_clip(solver)->frame_count > 1 && !sn_scene_string(scene, "trace");
    for (size_t i = 0; single && i < json_array_size(paths); i++)
        single = sn_frames_are_single(json_string_value(json_array_get(paths, i)));
    return single;
}

sinew_status sn_outputs_check(const sinew_scene *scene, const sinew_solver *solver,
                              sinew_error *error) {
    const sn_clip *clip = sn_solver_get_clip(solver);
    const json_t *outputs = sn_scene_at(scene, "outputs");
    bool estimate = sn_scene_flag(scene, "estimate_stiffness");
    bool force = solver->kind == &sn_model_force;
    const struct {
        const char *output, *needed;
        bool missing;
    } rows[] = {
        {"curves", "a model with slider weights", !clip->weights},
        {"error_plot", "markers", force && !clip->markers},
        {"trace_plot", "the parameter trace", !sn_scene_has(scene, "trace")},
        {"stretch_map", "estimate_stiffness", !estimate && !sn_scene_has(scene, "stretch_map")},
        {"bend_map", "estimate_stiffness", !estimate && !sn_scene_has(scene, "bend_map")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char place[64];
        snprintf(place, sizeof place, "/outputs/%s", rows[i].output);
        if (rows[i].missing && json_object_get(outputs, rows[i].output))
            return sn_scene_fail(scene, error, place, "needs %s", rows[i].needed);
    }
    return SINEW_OK;
}
