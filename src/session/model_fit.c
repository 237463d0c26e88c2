/* The static fits as a model: markers to slider weights, and the shapes they give. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "job/capture.h"
#include "session/report.h"
#include "sinew/fit.h"
#include "sinew/io.h"

typedef struct fit_model {
    const sn_model_setup setup; /* outlives the model */
    sn_capture *capture;
    sinew_fit *fit;
    sinew_linear *linear;
    sinew_marker_layer *layer; /* NULL: none */
    int layered;               /* the last frame that it was applied to */
    sinew_curves *fitted;      /* a row per frame */
    int first, last, next;
} fit_model;

static const sinew_parameter parameters[] = {
    CHOICE(STRUCTURE, "method", SINEW_FIT_METHOD_RSBS, "sbs|rsbs|uls",
           "no negative weights | the same with small weights preferred | any weights"),
    NUMBER(STRUCTURE, "l1", SINEW_FIT_RSBS_L1, 0, 1e6, "", "pull to few weights; rsbs only"),
    NUMBER(STRUCTURE, "l2", SINEW_FIT_RSBS_L2, 0, 1e6, "", "pull to small weights; rsbs and uls"),
    NUMBER(STRUCTURE, "smooth", 0, 0, 1e6, "", "pull to the last frame's weights"),
    NUMBER(STRUCTURE, "symmetry", 0, 0, 1e6, "", "pull of left and right sliders to each other"),
    FLAG(STRUCTURE, "bounded_above", 0, "no weight beyond its slider's maximum"),
    NUMBER(STRUCTURE, "outlier", SINEW_FIT_OUTLIER, 1e-9, 1e9, "share of the diagonal",
           "markers farther off lose weight"),
    SN_CAPTURE_PARAMETERS,
};

static void destroy(void *model) {
    fit_model *m = model;
    if (!m) return;
    sn_capture_destroy(m->capture);
    sinew_fit_destroy(m->fit);
    sinew_linear_destroy(m->linear);
    sinew_marker_layer_destroy(m->layer);
    sinew_curves_destroy(m->fitted);
    sn_free(m);
}

static sinew_status build(fit_model *m, sinew_error *error) {
    const sn_model_setup *setup = &m->setup;
    const sinew_scene *scene = setup->scene;
    const sinew_rig *rig = setup->rig;
    if (!setup->clip->markers)
        return sn_scene_fail(scene, error, "markers", "the model 'fit' needs markers");
    SN_TRY(sn_capture_create(setup, &m->capture, error));
    sinew_fit_method method = (sinew_fit_method)sn_scene_choice(scene, "method");
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    sinew_fit_options_set_method(&options, method);
    if (method == SINEW_FIT_METHOD_RSBS) options.l1 = sn_scene_number(scene, "l1");
    if (method == SINEW_FIT_METHOD_RSBS || sn_scene_has(scene, "l2"))
        options.l2 = sn_scene_number(scene, "l2");
    options.smooth = sn_scene_number(scene, "smooth");
    options.symmetry = sn_scene_number(scene, "symmetry");
    options.outlier = sn_scene_number(scene, "outlier");
    options.bounded_above = sn_scene_flag(scene, "bounded_above");
    SN_TRY(sinew_fit_create(rig, m->capture->map, &options, &m->fit, error));
    SN_TRY(sinew_linear_create(rig, &m->linear, error));
    if (sn_scene_flag(scene, "layer"))
        SN_TRY(sinew_marker_layer_create(rig, m->capture->map,
                                         sn_scene_number(scene, "layer_smoothing"), setup->monitor,
                                         &m->layer, error));
    SN_TRY(sinew_curves_create(rig->slider_count, setup->clip->frame_count, &m->fitted, error));
    for (int s = 0; s < rig->slider_count; s++)
        SN_TRY(sinew_curves_set_name(m->fitted, s, rig->sliders[s].name, error));
    memcpy(m->fitted->times, setup->clip->times, sizeof(double) * (size_t)setup->clip->frame_count);
    return SINEW_OK;
}

static sinew_status create(const sn_model_setup *setup, void **model, sinew_error *error) {
    fit_model *m = SN_NEW0(fit_model, 1);
    if (!m) return sn_no_memory(error);
    memcpy((void *)&m->setup, setup, sizeof *setup);
    m->layered = -2;
    sinew_status status = build(m, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

static double *weights_of(const fit_model *m, int frame) {
    return m->fitted->values + (size_t)frame * (size_t)m->fitted->channel_count;
}

/* Each frame starts from the one before: `smooth` means it, and it is nearest. */
static sinew_status advance(fit_model *m, sinew_fit_info *info, sinew_error *error) {
    int index = m->next++;
    double *weights = weights_of(m, index);
    if (index == 0)
        sinew_rig_rest_weights(m->setup.rig, weights);
    else
        memcpy(weights, weights_of(m, index - 1),
               sizeof(double) * (size_t)m->fitted->channel_count);
    sn_capture_sample(m->capture, index);
    return sinew_fit_frame(m->fit, m->capture->row, m->capture->map->weights, weights, info, error);
}

static sinew_status frame(void *model, int index, double *positions, sinew_frame_info *info,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor;
    fit_model *m = model;
    sinew_fit_info figures = {.size = sizeof figures};
    if (index < m->next) m->next = index; /* rows before it are known */
    while (m->next <= index) SN_TRY(advance(m, &figures, error));
    info->iterations = figures.iterations;
    sinew_linear_evaluate(m->linear, weights_of(m, index), positions);
    if (m->layer) {
        /* a frame that does not follow the last one remembers nothing of it */
        double seconds = index == m->layered + 1 ? 1 / m->setup.clip->rate : INFINITY;
        SN_TRY(sinew_marker_layer_follow(m->layer, seconds, m->capture->row,
                                         sinew_fit_trusted(m->fit), positions, error));
        m->layered = index;
    }
    sn_capture_finish(m->capture, index, positions, fields);
    if (!fields) return SINEW_OK;
    json_object_set_new(fields, "marker_error_bare", sn_report_number(figures.marker_error));
    json_object_set_new(fields, "outliers", json_integer(figures.outliers));
    return SINEW_OK;
}

static sinew_status begin(void *model, int first, int last, sinew_error *error) {
    (void)error;
    fit_model *m = model;
    m->first = first, m->last = last;
    return SINEW_OK;
}

static sinew_status write_fitted(const fit_model *m, const char *path, sinew_error *error) {
    sinew_curves part = *m->fitted;
    part.times += m->first;
    part.values += (size_t)m->first * (size_t)part.channel_count;
    part.time_count = m->last - m->first + 1;
    return sinew_curves_write(path, &part, error);
}

static sinew_status end(void *model, bool complete, json_t *report, sinew_error *error) {
    fit_model *m = model;
    if (!complete) return SINEW_OK;
    char *fitted = NULL, *plot = NULL;
    sinew_status status = sn_scene_output(m->setup.scene, "fitted", &fitted, error);
    if (status == SINEW_OK) status = sn_scene_output(m->setup.scene, "error_plot", &plot, error);
    if (status == SINEW_OK && fitted) status = write_fitted(m, fitted, error);
    if (status == SINEW_OK) status = sn_capture_report(m->capture, report, plot, error);
    sn_free(fitted), sn_free(plot);
    return status;
}

static const char *const outputs[] = {"fitted", "error_plot", NULL};
static const char *const uses[] = {"markers", NULL};
static const sn_idle_rule idle[] = {
    {"l1", NULL, "method=sbs"},
    {"l1", NULL, "method=uls"},
    SN_CAPTURE_IDLE,
    {NULL, NULL, NULL},
};

const sn_model_kind sn_model_fit = {
    .about = {.name = "fit",
              .summary = "markers to slider weights by least squares, frame by frame",
              .parameter_count = sizeof parameters / sizeof *parameters,
              .parameters = parameters},
    .outputs = outputs,
    .uses = uses,
    .idle = idle,
    .needs_no_weights = true,
    .create = create,
    .destroy = destroy,
    .frame = frame,
    .begin = begin,
    .end = end,
};
