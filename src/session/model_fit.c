/* The static fits as a model: markers to slider weights, and the shapes they give. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "force/layer.h"
#include "session/follow.h"
#include "session/layer_trust.h"
#include "session/outputs.h"
#include "session/report.h"
#include "sinew/fit.h"

enum { BOUNDS_METHOD, BOUNDS_SLIDER, BOUNDS_WIDE, BOUNDS_NONE };

static const sinew_parameter parameters[] = {
    CHOICE(STATE, "method", SINEW_FIT_METHOD_RSBS, "sbs|rsbs|uls",
           "sbs: weights of 0 or more; rsbs: the same, preferring few and small weights; "
           "uls: any weights."),
    NUMBER(STATE, "l1", SINEW_FIT_RSBS_L1, 0, 1e6, "", "Penalty that favors few weights (rsbs)."),
    NUMBER(STATE, "l2", SINEW_FIT_RSBS_L2, 0, 1e6, "",
           "Penalty that favors small weights (rsbs, uls)."),
    NUMBER(STATE, "smooth", 0, 0, 1e6, "", "Penalty on changes from the previous frame."),
    NUMBER(STATE, "symmetry", 0, 0, 1e6, "",
           "Penalty on differences between left and right sliders."),
    CHOICE(STATE, "bounds", BOUNDS_METHOD, "method|slider|wide|none",
           "Range of the weights. slider: that of the slider; wide: widened by its width; "
           "none: sbs and rsbs 0 or more, uls any; method: slider for sbs and rsbs, wide "
           "for uls."),
    NUMBER(STATE, "outlier", SINEW_FIT_OUTLIER, 1e-9, 1e9, "fraction of the diagonal",
           "Residual beyond which a marker loses influence."),
    SN_CAPTURE_PARAMETERS,
};

/* ---- the structure: the take on the rig ------------------------------------------------------ */

typedef struct fit_structure {
    sinew_capture *capture;
    double *trust; /* of the layer in each marker; NULL: in all */
} fit_structure;

static void discard(void *structure) {
    fit_structure *s = structure;
    if (!s) return;
    sinew_capture_destroy(s->capture);
    sn_free(s->trust);
    sn_free(s);
}

static sinew_status build(const sn_model_setup *setup, void **structure, sinew_error *error) {
    if (!setup->clip->markers)
        return sn_scene_fail(setup->scene, error, "/markers", "the model 'fit' needs markers");
    fit_structure *s = SN_NEW0(fit_structure, 1);
    if (!s) return sn_no_memory(error);
    sinew_status status = sn_follow_capture(setup, &s->capture, error);
    if (status == SINEW_OK) status = sn_layer_trust(setup, s->capture, &s->trust, error);
    if (status != SINEW_OK)
        discard(s);
    else
        *structure = s;
    return status;
}

/* ---- the model of one solver ----------------------------------------------------------------- */

typedef struct fit_model {
    const sinew_rig *rig;
    sn_follow follow;
    sinew_fit *fit;
    sinew_linear *linear;
    sinew_marker_layer *layer; /* NULL: none */
    double frame_time;         /* seconds */
    double *weights;           /* of the last frame: the next starts there */
    double *next;              /* scratch */
    bool started;              /* there is a frame before the next */
    json_t *report;            /* which sliders the fit solves */
} fit_model;

static void destroy(void *model) {
    fit_model *m = model;
    if (!m) return;
    sn_follow_free(&m->follow);
    sinew_fit_destroy(m->fit);
    sinew_linear_destroy(m->linear);
    sinew_marker_layer_destroy(m->layer);
    json_decref(m->report);
    sn_free(m->weights), sn_free(m->next);
    sn_free(m);
}

static void reset(void *model) {
    fit_model *m = model;
    sinew_rig_rest_weights(m->rig, m->weights);
    m->started = false;
    sinew_marker_layer_reset(m->layer);
}

static void set_bounds(int bounds, sinew_fit_options *options) {
    bool any_sign = options->undershoot > 0; /* uls */
    if (bounds == BOUNDS_METHOD) return;
    options->bounded_above = bounds != BOUNDS_NONE;
    options->bounded_below = bounds != BOUNDS_NONE || !any_sign;
    options->overshoot = bounds == BOUNDS_WIDE;
    options->undershoot = bounds == BOUNDS_WIDE && any_sign;
}

/* How well the markers tell the sliders, beside the held ones in the report. */
static sinew_status report_condition(const sn_model_setup *setup, const sinew_fit *fit,
                                     sinew_error *error) {
    sinew_fit_summary summary = {.size = sizeof summary};
    SN_TRY(sinew_fit_get_summary(fit, &summary, error));
    json_t *sliders = json_object_get(setup->report, "sliders"), *weakest = json_array();
    for (int i = 0; i < 4; i++)
        if (summary.weakest[i] >= 0)
            sn_figure_append(weakest, json_string(setup->rig->sliders[summary.weakest[i]].name));
    sn_figure_put(sliders, "condition", sn_report_number(summary.condition));
    sn_figure_put(sliders, "weakest", weakest);
    return SINEW_OK;
}

static sinew_status make_fit(const sn_model_setup *setup, const sinew_marker_map *map,
                             sinew_fit **fit, sinew_error *error) {
    const sinew_scene *scene = setup->scene;
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
    set_bounds(sn_scene_choice(scene, "bounds"), &options);
    bool *held = SN_NEW(bool, setup->rig->slider_count + 1);
    if (!held) return sn_no_memory(error);
    options.held = held;
    *fit = NULL;
    sinew_status status = sn_follow_held(setup, map, held, error);
    if (status == SINEW_OK) status = sinew_fit_create(setup->rig, map, &options, fit, error);
    if (status == SINEW_OK) status = report_condition(setup, *fit, error);
    if (status != SINEW_OK) {
        sinew_fit_destroy(*fit);
        *fit = NULL;
    }
    sn_free(held);
    return status;
}

static sinew_status update(void *model, const sn_model_setup *setup, uint32_t changed,
                           sinew_error *error) {
    fit_model *m = model;
    m->frame_time = 1 / setup->clip->rate;
    if (sn_has_changed(changed, "markers")) {
        sn_follow follow;
        SN_TRY(sn_follow_create(setup, m->follow.capture, &follow, error));
        sn_follow_free(&m->follow);
        m->follow = follow;
    }
    if (!sn_has_changed(changed, "parameters")) return SINEW_OK;
    sinew_fit *fit;
    sn_model_setup own = *setup;
    own.report = json_object();
    if (!own.report) return sn_no_memory(error);
    sn_figures_lost(); /* by others, before */
    sinew_status status = make_fit(&own, m->follow.map, &fit, error);
    if (status == SINEW_OK && sn_figures_lost()) {
        sinew_fit_destroy(fit);
        status = sn_no_memory(error);
    }
    if (status != SINEW_OK) {
        json_decref(own.report);
        return status;
    }
    sinew_fit_destroy(m->fit), json_decref(m->report);
    m->fit = fit, m->report = own.report;
    reset(m);
    return SINEW_OK;
}

static sinew_status fill(fit_model *m, const sn_model_setup *setup, const double *trust,
                         sinew_error *error) {
    const sinew_rig *rig = setup->rig;
    m->weights = SN_NEW(double, rig->slider_count);
    m->next = SN_NEW(double, rig->slider_count);
    if (!m->weights || !m->next) return sn_no_memory(error);
    SN_TRY(sinew_linear_create(rig, &m->linear, error));
    if (sn_scene_flag(setup->scene, "layer"))
        SN_TRY(sinew_marker_layer_create(rig, sinew_capture_map(m->follow.capture),
                                         sn_scene_number(setup->scene, "layer_smoothing"),
                                         sn_scene_choice(setup->scene, "layer_contact") == 1,
                                         setup->monitor, &m->layer, error));
    if (m->layer) SN_TRY(sinew_marker_layer_set_trust(m->layer, trust, error));
    return update(m, setup, UINT32_MAX, error);
}

static sinew_status create(const sn_model_setup *setup, const void *structure, void **model,
                           sinew_error *error) {
    fit_model *m = SN_NEW0(fit_model, 1);
    if (!m) return sn_no_memory(error);
    m->rig = setup->rig;
    const fit_structure *built = structure;
    m->follow.capture = built->capture;
    sinew_status status = fill(m, setup, built->trust, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

static void describe(const void *model, json_t *report) {
    const char *name;
    json_t *value;
    json_object_foreach(((const fit_model *)model)->report, name, value)
        sn_figure_put(report, name, json_incref(value));
}

/* Each frame starts from the one before: `smooth` means it, and it is nearest. */
static sinew_status solve(void *model, const sn_ask *ask, double *positions, sinew_result *result,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor;
    fit_model *m = model;
    sinew_fit_info figures = {.size = sizeof figures};
    memcpy(m->next, m->weights, (size_t)m->rig->slider_count * sizeof *m->next);
    sn_follow_sample(&m->follow, ask);
    SN_TRY(sinew_fit_frame(m->fit, m->follow.row, m->follow.weights, m->next, &figures, error));
    sinew_linear_evaluate(m->linear, m->next, positions);
    /* the first frame remembers nothing */
    double seconds = m->started ? m->frame_time : INFINITY;
    if (m->layer)
        SN_TRY(sinew_marker_layer_follow(m->layer, seconds, m->follow.row,
                                         sinew_fit_trusted(m->fit), positions, error));
    memcpy(m->weights, m->next, (size_t)m->rig->slider_count * sizeof *m->next);
    m->started = true;
    result->iterations = figures.iterations;
    if (m->layer) {
        sinew_marker_layer_info held = {.size = sizeof held};
        sinew_marker_layer_get_info(m->layer, &held);
        result->contact_count = held.contacts;
    }
    sn_follow_finish(&m->follow, ask, positions, fields);
    if (!fields) return SINEW_OK;
    sn_figure_put(fields, "marker_error_bare", sn_report_number(figures.marker_error));
    sn_figure_put(fields, "outliers", json_integer(figures.outliers));
    sn_figure_put(fields, "weights", sn_report_numbers(m->rig->slider_count, m->weights));
    return SINEW_OK;
}

const double *sn_model_fit_weights(const void *model) {
    return ((const fit_model *)model)->weights;
}

/* ---- the past -------------------------------------------------------------------------------- */

static sinew_past past(const void *model, int *run) {
    (void)model, (void)run;
    return SINEW_PAST_ALL;
}

static void pack(const void *model, sn_pack *bytes) {
    const fit_model *m = model;
    sn_pack_int(bytes, m->started);
    sn_pack_array(bytes, m->weights, (size_t)m->rig->slider_count, sizeof(double));
    if (m->layer) sn_marker_layer_pack(m->layer, bytes);
}

static sinew_status unpack(void *model, sn_unpack *bytes, sinew_error *error) {
    fit_model *m = model;
    m->started = sn_unpack_int(bytes) != 0;
    sn_unpack_into(bytes, m->weights, (size_t)m->rig->slider_count, sizeof(double));
    if (m->layer) SN_TRY(sn_marker_layer_unpack(m->layer, bytes, error));
    return bytes->failed ? sn_unpack_fail(bytes, error) : SINEW_OK;
}

static const char *const outputs[] = {"fitted", "error_plot", NULL};
static const char *const uses[] = {"markers", NULL};
static const sn_idle_rule idle[] = {
    {"l1", NULL, "method=sbs"},
    {"l1", NULL, "method=uls"},
    SN_CAPTURE_IDLE,
    {NULL, NULL, NULL},
};

static const sinew_capture *capture(const void *structure) {
    return ((const fit_structure *)structure)->capture;
}

const sn_model_kind sn_model_fit = {
    SN_MODEL_ABOUT("fit",
                   "Slider weights fitted to captured markers by least squares, frame by frame"),
    .outputs = outputs,
    .uses = uses,
    .idle = idle,
    .needs_no_weights = true,
    .ignores_weights = true,
    .key = sn_follow_key,
    SN_MODEL_FUNCTIONS,
    .capture = capture,
    .update = update,
    .describe = describe,
    SN_MODEL_PAST,
};
