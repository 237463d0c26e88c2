/* The linear model: what every tool has, the baseline of all comparisons. */
#include "base/memory.h"
#include "base/status.h"
#include "session/model.h"

typedef struct linear_model {
    sinew_linear *linear;
    const sn_clip *clip;
    int slider_count;
} linear_model;

static void destroy(void *model) {
    linear_model *m = model;
    if (!m) return;
    sinew_linear_destroy(m->linear);
    sn_free(m);
}

static sinew_status create(const sn_model_setup *setup, void **model, sinew_error *error) {
    linear_model *m = SN_NEW0(linear_model, 1);
    if (!m) return sn_no_memory(error);
    m->clip = setup->clip;
    m->slider_count = setup->rig->slider_count;
    sinew_status status = sinew_linear_create(setup->rig, &m->linear, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

static sinew_status frame(void *model, int index, double *positions, sinew_frame_info *info,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    (void)info, (void)fields, (void)monitor, (void)error;
    const linear_model *m = model;
    sinew_linear_evaluate(m->linear, m->clip->weights + (size_t)index * (size_t)m->slider_count,
                          positions);
    return SINEW_OK;
}

const sn_model_kind sn_model_linear = {
    .about = {.name = "linear", .summary = "straight blend of vertex positions"},
    .create = create,
    .destroy = destroy,
    .frame = frame,
};
