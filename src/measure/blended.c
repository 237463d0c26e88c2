#include "measure/blended.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

static double subtract(double a, double b) {
    return a - b;
}

void sn_blended_free(sn_blended *blended) {
    for (int k = 0; blended->increments && k < blended->target_count; k++) {
        sn_free(blended->increments[k].index);
        sn_free(blended->increments[k].value);
    }
    sn_free(blended->increments);
    sn_free(blended->base);
    memset(blended, 0, sizeof *blended);
}

void sn_blended_evaluate(const sn_blended *blended, const double *activations, double *out) {
    memcpy(out, blended->base, (size_t)blended->count * sizeof *out);
    for (int k = 0; k < blended->target_count; k++) {
        const sn_increment *d = &blended->increments[k];
        if (activations[k] == 0) continue;
        for (int i = 0; i < d->count; i++) out[d->index[i]] += activations[k] * d->value[i];
    }
}

static void add_target(const sinew_target *target, double activation, double *positions) {
    for (int i = 0; i < target->count; i++)
        for (int c = 0; c < 3; c++)
            positions[3 * (size_t)target->vertices[i] + (size_t)c] +=
                activation * target->deltas[3 * (size_t)i + (size_t)c];
}

static sinew_status keep_increment(const double *values, int count, double scale, sn_increment *d,
                                   sinew_error *error) {
    int used = 0;
    for (int i = 0; i < count; i++) used += values[i] != 0;
    d->index = SN_NEW(int, used);
    d->value = SN_NEW(double, used);
    if (!d->index || !d->value) return sn_no_memory(error);
    for (int i = 0; i < count; i++) {
        if (values[i] == 0) continue;
        d->index[d->count] = i;
        d->value[d->count++] = scale * values[i];
    }
    return SINEW_OK;
}

/* Setup scratch memory. */
typedef struct workspace {
    double *positions, *shape, *blend, *weights, *activations;
} workspace;

/* The shape at which target k is fully active, and the blend of everything before it there. Returns
 * the activation of k. */
static double sculpted_shape(const sinew_rig *rig, int k, const sn_blended *blended,
                             workspace *work) {
    const sinew_target *target = &rig->targets[k];
    memcpy(work->positions, rig->neutral->positions,
           3 * (size_t)rig->neutral->vertex_count * sizeof(double));
    if (target->kind != SINEW_TARGET_KIND_COMBINATION) {
        add_target(target, 1, work->positions);
        memcpy(work->blend, blended->base, (size_t)blended->count * sizeof(double));
        return 1;
    }
    for (int i = 0; i < rig->slider_count; i++) work->weights[i] = rig->sliders[i].rest;
    for (int i = 0; i < target->driver_count; i++) work->weights[target->drivers[i]] = 1;
    sinew_rig_activations(rig, work->weights, work->activations);
    for (int j = 0; j < rig->target_count; j++)
        if (work->activations[j] != 0)
            add_target(&rig->targets[j], work->activations[j], work->positions);
    double own = work->activations[k];
    work->activations[k] = 0;
    sn_blended_evaluate(blended, work->activations, work->blend);
    return own;
}

static sinew_status add_increments(const sinew_rig *rig, sn_quantities *quantities,
                                   const void *user, sn_difference *difference, workspace *work,
                                   sn_blended *blended, sinew_error *error) {
    int most_drivers = 0;
    for (int k = 0; k < rig->target_count; k++)
        if (rig->targets[k].kind == SINEW_TARGET_KIND_COMBINATION &&
            rig->targets[k].driver_count > most_drivers)
            most_drivers = rig->targets[k].driver_count;
    /* Combinations of few sliders first, because those of more sliders build on them. */
    for (int drivers = 0; drivers <= most_drivers; drivers++)
        for (int k = 0; k < rig->target_count; k++) {
            const sinew_target *target = &rig->targets[k];
            bool combination = target->kind == SINEW_TARGET_KIND_COMBINATION;
            if ((combination ? target->driver_count : 0) != drivers) continue;
            double activation = sculpted_shape(rig, k, blended, work);
            if (!(fabs(activation) > 1e-9)) continue; /* not active even at its own corner */
            quantities(user, work->positions, work->shape);
            for (int i = 0; i < blended->count; i++)
                work->shape[i] = difference(work->shape[i], work->blend[i]);
            SN_TRY(keep_increment(work->shape, blended->count, 1 / activation,
                                  &blended->increments[k], error));
        }
    return SINEW_OK;
}

sinew_status sn_blended_create(const sinew_rig *rig, int count, sn_quantities *quantities,
                               const void *user, sn_difference *difference, sn_blended *blended,
                               sinew_error *error) {
    memset(blended, 0, sizeof *blended);
    blended->count = count;
    blended->target_count = rig->target_count;
    blended->base = SN_NEW(double, count);
    blended->increments = SN_NEW0(sn_increment, rig->target_count);
    workspace work = {SN_NEW(double, 3 * (size_t)rig->neutral->vertex_count), SN_NEW(double, count),
                      SN_NEW(double, count), SN_NEW(double, rig->slider_count),
                      SN_NEW(double, rig->target_count)};
    sinew_status status = SINEW_OK;
    if (!blended->base || !blended->increments || !work.positions || !work.shape || !work.blend ||
        !work.weights || !work.activations)
        status = sn_no_memory(error);
    if (status == SINEW_OK) {
        quantities(user, rig->neutral->positions, blended->base);
        status = add_increments(rig, quantities, user, difference ? difference : subtract, &work,
                                blended, error);
    }
    sn_free(work.positions);
    sn_free(work.shape);
    sn_free(work.blend);
    sn_free(work.weights);
    sn_free(work.activations);
    if (status != SINEW_OK) sn_blended_free(blended);
    return status;
}
