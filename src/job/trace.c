#include "job/trace.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "job/plot.h"
#include "sinew/selection.h"

struct sn_trace {
    const sinew_rig *rig;
    const sn_clip *clip;
    int first, last; /* frames */
    int *vertices, count;
    sinew_linear *linear; /* NULL without weights */
    double *shape;        /* the linear one */
    sn_vec3 *path[2];     /* per frame: of the frames, of the linear shape; NaN: not computed */
};

static sinew_status fill(sn_trace *t, const sinew_scene *scene, const sinew_loader *loader,
                         const char *selection, sinew_error *error) {
    SN_TRY(sinew_select(t->rig, selection, scene->folder, loader, NULL, &t->vertices, &t->count,
                        error));
    if (t->clip->weights) SN_TRY(sinew_linear_create(t->rig, &t->linear, error));
    t->shape = SN_NEW(double, 3 * (size_t)t->rig->neutral->vertex_count);
    int frames = t->last - t->first + 1;
    for (int k = 0; k < 2; k++) t->path[k] = SN_NEW(sn_vec3, frames);
    if (!t->shape || !t->path[0] || !t->path[1]) return sn_no_memory(error);
    for (int f = 0; f < frames; f++) t->path[0][f] = t->path[1][f] = sn_v3(NAN, NAN, NAN);
    return SINEW_OK;
}

sinew_status sn_trace_create(const sinew_scene *scene, const sinew_solver *solver,
                             const char *selection, int first, int last, sn_trace **trace,
                             sinew_error *error) {
    *trace = NULL;
    sn_trace *made = SN_NEW0(sn_trace, 1);
    if (!made) return sn_no_memory(error);
    made->rig = sinew_solver_rig(solver), made->clip = sn_solver_get_clip(solver);
    made->first = first, made->last = last;
    sinew_status status = fill(made, scene, solver->session->loader, selection, error);
    if (status != SINEW_OK)
        sn_trace_destroy(made);
    else
        *trace = made;
    return status;
}

void sn_trace_destroy(sn_trace *t) {
    if (!t) return;
    sinew_free(t->vertices);
    sinew_linear_destroy(t->linear);
    sn_free(t->shape), sn_free(t->path[0]), sn_free(t->path[1]);
    sn_free(t);
}

static sn_vec3 displacement_of(const sn_trace *t, const double *positions) {
    sn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < t->count; i++)
        sum = sn_add(sum, sn_sub(sn_at(positions, t->vertices[i]),
                                 sn_at(t->rig->neutral->positions, t->vertices[i])));
    return sn_scale(1.0 / t->count, sum);
}

void sn_trace_add(sn_trace *t, int frame, const double *positions) {
    int at = frame - t->first;
    t->path[0][at] = displacement_of(t, positions);
    if (!t->linear) return;
    sinew_linear_evaluate(
        t->linear, t->clip->weights + (size_t)frame * (size_t)t->rig->slider_count, t->shape);
    t->path[1][at] = displacement_of(t, t->shape);
}

/* The direction of the farthest point of the path. */
static sn_vec3 main_direction(const sn_trace *t) {
    sn_vec3 best = {0, 0, 0};
    for (int k = 0; k < 2; k++)
        for (int f = 0; f <= t->last - t->first; f++)
            if (sn_length(t->path[k][f]) > sn_length(best)) best = t->path[k][f];
    double length = sn_length(best);
    return length > 0 ? sn_scale(1 / length, best) : best;
}

sinew_status sn_trace_write(const sn_trace *t, const char *path, sinew_error *error) {
    int count = t->last - t->first + 1;
    const double *times = t->clip->times + t->first;
    double *along = SN_NEW(double, 2 * (size_t)count);
    if (!along) return sn_no_memory(error);
    sn_vec3 direction = main_direction(t);
    for (int i = 0; i < 2 * count; i++) along[i] = sn_dot(t->path[i / count][i % count], direction);
    const sinew_line lines[2] = {{"skin", count, times, along},
                                 {"weights alone", count, times, along + count}};
    sinew_status status = sn_plot_write(path, "displacement from rest", "seconds", "length units",
                                        t->linear ? 2 : 1, lines, error);
    sn_free(along);
    return status;
}
