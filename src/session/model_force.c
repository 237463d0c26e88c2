/* Blendforces as a model: markers steer the skin, or weight curves push it. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "job/capture.h"
#include "job/trace.h"
#include "session/report.h"
#include "sinew/force.h"
#include "sinew/io.h"
#include "sinew/selection.h"

typedef struct force_model {
    const sn_model_setup setup; /* outlives the model */
    sinew_force *force;
    sinew_force_state *state;
    sn_capture *capture;            /* NULL: weights drive */
    sn_trace *trace;                /* NULL: none */
    double *command;                /* activations of a frame's weights */
    double *positions;              /* of frames on the way to the one asked for */
    double *stretch_map, *bend_map; /* factors per vertex; NULL: 1 */
    int next;                       /* the frame that the state is ready for */
} force_model;

#define MOST_COMMAND 1e6 /* as good as no bound */

static const sinew_parameter parameters[] = {
    NUMBER(STRUCTURE, "stretch_length", SINEW_FORCE_STRETCH_LENGTH, 0, 10, "share of the diagonal",
           "stretches narrower than this are smoothed out"),
    NUMBER(STRUCTURE, "bend_length", SINEW_FORCE_BEND_LENGTH, 0, SINEW_FORCE_MOST_BEND,
           "share of the diagonal", "bumps narrower than this are smoothed out"),
    NUMBER(STRUCTURE, "overstretch", SINEW_FORCE_OVERSTRETCH, 0, 1, "",
           "extra stiffness of edges beyond 110%, share of theirs"),
    NUMBER(STRUCTURE, "mass_time", SINEW_FORCE_MASS_TIME, 1e-6, 1e6, "s",
           "how long the skin takes to follow"),
    NUMBER(STRUCTURE, "velocity_kept", SINEW_FORCE_VELOCITY_KEPT, 0, 1, "",
           "1 keeps all velocity, 0 is overdamped"),
    INTEGER(STRUCTURE, "substeps", SINEW_FORCE_SUBSTEPS, 1, 1000, "steps per frame"),
    INTEGER(STRUCTURE, "relinearisations", SINEW_FORCE_RELINEARISATIONS, 1, 1000, "per step"),
    NUMBER(NOTHING, "ridge", SINEW_FORCE_RIDGE, 0, 1e6, "", "pull to no command"),
    NUMBER(NOTHING, "smooth", SINEW_FORCE_SMOOTH, 0, 1e6, "", "pull to the last command"),
    FLAG(NOTHING, "bounded", 0, "commands stay in [0, 1]"),
    NUMBER(NOTHING, "lower", SINEW_FORCE_LOWER, -1e6, 1, "", "least command otherwise"),
    NUMBER(NOTHING, "upper", SINEW_FORCE_UPPER, 0, MOST_COMMAND, "", "largest command otherwise"),
    NUMBER(NOTHING, "outlier", SINEW_FORCE_OUTLIER, 1e-9, 1e9, "share of the diagonal",
           "markers farther off lose weight"),
    FLAG(STATE, "layer_feeds", 0, "the next frame starts from the corrected shape"),
    TEXT(STRUCTURE, "contact",
         "regions whose skin must not cross itself, separated by commas, or all"),
    NUMBER(STRUCTURE, "contact_gap", SINEW_FORCE_CONTACT_GAP, 1e-7, 0.01, "share of the diagonal",
           "distance that contact keeps"),
    NUMBER(STRUCTURE, "contact_margin", SINEW_FORCE_CONTACT_MARGIN, 0, 10, "share of the diagonal",
           "what is this near to the regions at rest is part of them, as teeth are behind lips"),
    NUMBER(STRUCTURE, "contact_length", SINEW_FORCE_CONTACT_LENGTH, 0, 10, "share of the diagonal",
           "skin that presses bends over this length, as flesh does"),
    NUMBER(STRUCTURE, "friction", SINEW_FORCE_FRICTION, 0, 1e6, "",
           "of skin that presses, Coulomb's"),
    PATH(STRUCTURE, "stretch_map", "factors of the stretch: CSV vertex,value"),
    PATH(STRUCTURE, "bend_map", "factors of the bending: CSV vertex,value"),
    FLAG(STRUCTURE, "estimate_stiffness", 0, "find both maps from the rig's own shapes"),
    NUMBER(STRUCTURE, "stiffness_prior", SINEW_STIFFNESS_PRIOR, 1e-12, 1e12, "",
           "how strongly estimated factors stay about 1"),
    TEXT(STRUCTURE, "fixed",
         "selection of vertices that are held (default: the border that no target moves)"),
    TEXT(STRUCTURE, "jaw",
         "the target that opens it, or a selection of vertices: its rest turns with it"),
    TEXT(NOTHING, "trace", "selection of vertices whose way is plotted"),
    SN_CAPTURE_PARAMETERS,
};

static void destroy(void *model) {
    force_model *m = model;
    if (!m) return;
    sinew_force_state_destroy(m->state);
    sinew_force_destroy(m->force);
    sn_capture_destroy(m->capture);
    sn_trace_destroy(m->trace);
    sn_free(m->command), sn_free(m->positions), sn_free(m->stretch_map), sn_free(m->bend_map);
    sn_free(m);
}

static void read_options(const sn_model_setup *setup, sinew_force_options *options) {
    const sinew_scene *scene = setup->scene;
    sinew_force_options_init(options);
    options->frame_time = 1 / setup->clip->rate;
    options->stretch_length = sn_scene_number(scene, "stretch_length");
    options->bend_length = sn_scene_number(scene, "bend_length");
    options->overstretch = sn_scene_number(scene, "overstretch");
    options->mass_time = sn_scene_number(scene, "mass_time");
    options->velocity_kept = sn_scene_number(scene, "velocity_kept");
    options->substeps = sn_scene_integer(scene, "substeps");
    options->relinearisations = sn_scene_integer(scene, "relinearisations");
    options->ridge = sn_scene_number(scene, "ridge");
    options->smooth = sn_scene_number(scene, "smooth");
    options->lower = sn_scene_number(scene, "lower");
    options->upper = sn_scene_number(scene, "upper");
    if (sn_scene_flag(scene, "bounded")) options->lower = 0, options->upper = 1;
    options->outlier = sn_scene_number(scene, "outlier");
    options->layer = sn_scene_flag(scene, "layer");
    options->layer_smoothing = sn_scene_number(scene, "layer_smoothing");
    options->layer_feeds = sn_scene_flag(scene, "layer_feeds");
}

/* Vertices of the regions named by "contact", or none for the whole surface. */
static sinew_status read_contact(const sn_model_setup *setup, sinew_force_options *options,
                                 int **vertices, sinew_error *error) {
    const char *list = sn_scene_string(setup->scene, "contact");
    *vertices = NULL;
    if (!list || !*list) return SINEW_OK;
    options->contact = true;
    options->contact_gap = sn_scene_number(setup->scene, "contact_gap");
    options->contact_margin = sn_scene_number(setup->scene, "contact_margin");
    options->contact_length = sn_scene_number(setup->scene, "contact_length");
    options->friction = sn_scene_number(setup->scene, "friction");
    if (!strcmp(list, "all")) return SINEW_OK;
    size_t capacity = 0, count = 0, length;
    const char *name;
    while (sn_list_next(&list, &name, &length)) {
        char text[200];
        int *found, more;
        sinew_error what;
        snprintf(text, sizeof text, "region:%.*s", (int)length, name);
        if (sinew_select(setup->rig, text, NULL, &found, &more, &what) != SINEW_OK)
            return sn_fail(error, what.status, "contact: %s", what.message);
        bool room = SN_RESERVE(*vertices, capacity, count + (size_t)more);
        if (room) memcpy(*vertices + count, found, sizeof(int) * (size_t)more);
        sinew_free(found);
        if (!room) return sn_no_memory(error);
        count += (size_t)more;
    }
    if (count == 0) return sn_fail(error, SINEW_BAD_INPUT, "contact: names no region");
    options->contact_vertices = *vertices;
    options->contact_count = (int)count;
    return SINEW_OK;
}

/* ---- jaw and stiffness ----------------------------------------------------------------------- */

/* Shares of the jaw per vertex, new; NULL without a jaw. */
static sinew_status read_jaw(const sn_model_setup *setup, double **shares, sinew_error *error) {
    const char *given = sn_scene_string(setup->scene, "jaw");
    const sinew_rig *rig = setup->rig;
    *shares = NULL;
    if (!given || !*given) return SINEW_OK;
    *shares = SN_NEW0(double, rig->neutral->vertex_count);
    if (!*shares) return sn_no_memory(error);
    for (int k = 0; k < rig->target_count; k++)
        if (!strcasecmp(rig->targets[k].name, given))
            return sinew_jaw_shares(rig, k, *shares, error);
    if (!strchr(given, ':'))
        return sn_fail(error, SINEW_BAD_INPUT, "jaw: the rig has no target '%s'", given);
    int *vertices, count;
    SN_TRY(sinew_select(rig, given, setup->scene->folder, &vertices, &count, error));
    for (int i = 0; i < count; i++) (*shares)[vertices[i]] = 1;
    sinew_free(vertices);
    return SINEW_OK;
}

static sinew_status estimate_stiffness(force_model *m, const sinew_force_options *options,
                                       sinew_error *error) {
    const sn_model_setup *setup = &m->setup;
    if (m->stretch_map || m->bend_map)
        return sn_scene_fail(
            setup->scene, error, "parameters",
            "estimate_stiffness makes the maps that stretch_map and bend_map give");
    int n = setup->rig->neutral->vertex_count;
    m->stretch_map = SN_NEW(double, n), m->bend_map = SN_NEW(double, n);
    if (!m->stretch_map || !m->bend_map) return sn_no_memory(error);
    sinew_stiffness_options how;
    sinew_stiffness_info info = {.size = sizeof info};
    sinew_stiffness_options_init(&how);
    how.prior = sn_scene_number(setup->scene, "stiffness_prior");
    how.cache = setup->cache;
    SN_TRY(sinew_stiffness_estimate(setup->rig, options, &how, setup->monitor, m->stretch_map,
                                    m->bend_map, &info, error));
    if (info.status != SINEW_OK)
        sn_log(setup->monitor, SINEW_LOG_LEVEL_WARNING,
               "stiffness: %d iterations left a change of %.2g", info.iterations, info.residual);
    if (info.uniform)
        sn_log(setup->monitor, SINEW_LOG_LEVEL_WARNING,
               "stiffness: a map gains nothing on unseen shapes; the whole face gets one factor");
    json_object_set_new(
        setup->report, "stiffness",
        json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f, s:f, s:f, s:f, s:b, s:f}",
                  "shapes", info.examples, "iterations", info.iterations, "rest_error_default",
                  info.rest_error_default, "rest_error", info.rest_error, "rest_error_worst",
                  info.rest_error_worst, "unseen_default", info.unseen_default, "unseen_uniform",
                  info.unseen_uniform, "unseen_map", info.unseen_map, "uniform", info.uniform,
                  "stretch_least", info.stretch_least, "stretch_most", info.stretch_most,
                  "bend_least", info.bend_least, "bend_most", info.bend_most, "from_cache",
                  info.from_cache, "seconds", info.seconds));
    return SINEW_OK;
}

static sinew_status find_stiffness(force_model *m, sinew_force_options *options,
                                   sinew_error *error) {
    const sn_model_setup *setup = &m->setup;
    SN_TRY(sn_scene_vertex_map(setup->scene, "stretch_map", setup->rig, &m->stretch_map, error));
    SN_TRY(sn_scene_vertex_map(setup->scene, "bend_map", setup->rig, &m->bend_map, error));
    if (sn_scene_flag(setup->scene, "estimate_stiffness"))
        SN_TRY(estimate_stiffness(m, options, error));
    options->stretch_map = m->stretch_map, options->bend_map = m->bend_map;
    return SINEW_OK;
}

static sinew_status write_stiffness(const force_model *m, sinew_error *error) {
    const double *maps[] = {m->stretch_map, m->bend_map};
    static const char *const names[] = {"stretch_map", "bend_map"};
    for (int i = 0; i < 2; i++) {
        char *path;
        SN_TRY(sn_scene_output(m->setup.scene, names[i], &path, error));
        if (!path) continue;
        sinew_status status =
            sinew_vertex_values_write(path, m->setup.rig->neutral->vertex_count, maps[i], error);
        sn_free(path);
        SN_TRY(status);
    }
    return SINEW_OK;
}

static void report_structure(const force_model *m) {
    sinew_force_info s = {.size = sizeof s};
    sinew_force_get_info(m->force, &s);
    json_object_set_new(m->setup.report, "sheet",
                        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f}", "edges",
                                  s.edge_count, "held_vertices", s.fixed_count, "targets",
                                  s.target_count, "empty_targets", s.empty_count, "markers",
                                  s.marker_count, "contact_triangles", s.contact_triangles,
                                  "contact_dropped", s.contact_dropped, "diagonal", s.diagonal,
                                  "seconds", s.seconds));
}

/* Outputs that nothing would be written to are refused before the first frame. */
static sinew_status check_outputs(const sn_model_setup *setup, sinew_error *error) {
    const sinew_scene *scene = setup->scene;
    bool estimate = sn_scene_flag(scene, "estimate_stiffness");
    const struct {
        const char *output, *needed;
        bool there;
    } rows[] = {
        {"error_plot", "markers", setup->clip->markers},
        {"trace_plot", "the parameter trace", sn_scene_has(scene, "trace")},
        {"stretch_map", "estimate_stiffness", estimate || sn_scene_has(scene, "stretch_map")},
        {"bend_map", "estimate_stiffness", estimate || sn_scene_has(scene, "bend_map")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!rows[i].there && json_object_get(sn_scene_at(scene, "outputs"), rows[i].output))
            return sn_scene_fail(scene, error, "outputs", "%s needs %s", rows[i].output,
                                 rows[i].needed);
    return SINEW_OK;
}

static sinew_status build(force_model *m, sinew_error *error) {
    const sn_model_setup *setup = &m->setup;
    SN_TRY(check_outputs(setup, error));
    if (setup->clip->markers) SN_TRY(sn_capture_create(setup, &m->capture, error));
    sinew_force_options options;
    read_options(setup, &options);
    int *vertices, *fixed = NULL;
    double *jaw = NULL;
    sinew_status status = read_contact(setup, &options, &vertices, error);
    const char *held = sn_scene_string(setup->scene, "fixed");
    if (status == SINEW_OK && held)
        status = sinew_select(setup->rig, held, setup->scene->folder, &fixed, &options.fixed_count,
                              error);
    options.fixed = fixed;
    if (status == SINEW_OK) status = find_stiffness(m, &options, error);
    if (status == SINEW_OK) status = read_jaw(setup, &jaw, error);
    options.jaw = jaw;
    if (status == SINEW_OK)
        status = sinew_force_create(setup->rig, m->capture ? m->capture->map : NULL, &options,
                                    setup->monitor, &m->force, error);
    sn_free(vertices), sn_free(jaw), sinew_free(fixed);
    SN_TRY(status);
    SN_TRY(sinew_force_state_create(m->force, &m->state, error));
    m->command = SN_NEW(double, setup->rig->target_count);
    m->positions = SN_NEW(double, 3 * (size_t)setup->rig->neutral->vertex_count);
    if (!m->command || !m->positions) return sn_no_memory(error);
    const char *traced = sn_scene_string(setup->scene, "trace");
    if (traced) SN_TRY(sn_trace_create(setup, traced, &m->trace, error));
    report_structure(m);
    return SINEW_OK;
}

static sinew_status create(const sn_model_setup *setup, void **model, sinew_error *error) {
    force_model *m = SN_NEW0(force_model, 1);
    if (!m) return sn_no_memory(error);
    memcpy((void *)&m->setup, setup, sizeof *setup);
    sinew_status status = build(m, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

static sinew_status advance(force_model *m, double *positions, sinew_force_frame_info *info,
                            const sinew_monitor *monitor, sinew_error *error) {
    const sn_clip *clip = m->setup.clip;
    int index = m->next++;
    if (m->capture) {
        sn_capture_sample(m->capture, index);
        return sinew_force_frame(m->force, m->state, m->capture->row, m->capture->map->weights,
                                 positions, info, monitor, error);
    }
    sinew_rig_activations(m->setup.rig,
                          clip->weights + (size_t)index * (size_t)m->setup.rig->slider_count,
                          m->command);
    return sinew_force_command(m->force, m->state, m->command, positions, info, monitor, error);
}

static sinew_status frame(void *model, int index, double *positions, sinew_frame_info *info,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    force_model *m = model;
    sinew_force_frame_info figures = {.size = sizeof figures};
    /* The past decides: frames in between are computed too. */
    if (index < m->next) {
        sinew_force_reset(m->state);
        m->next = 0;
    }
    while (m->next < index) SN_TRY(advance(m, m->positions, &figures, monitor, error));
    SN_TRY(advance(m, positions, &figures, monitor, error));
    info->iterations = figures.iterations;
    info->residual = figures.residual;
    info->contacts = figures.contacts;
    info->status = figures.status;
    if (m->trace) sn_trace_add(m->trace, index, positions);
    if (m->capture) sn_capture_finish(m->capture, index, positions, fields);
    if (!fields) return figures.status;
    json_object_set_new(fields, "in_span", sn_report_number(figures.in_span));
    json_object_set_new(fields, "out_of_span", sn_report_number(figures.out_of_span));
    json_object_set_new(fields, "cut", sn_report_number(figures.cut));
    if (m->capture) {
        json_object_set_new(fields, "marker_error_bare", sn_report_number(figures.marker_error));
        json_object_set_new(fields, "outliers", json_integer(figures.outliers));
    }
    return figures.status;
}

static sinew_status end(void *model, bool complete, json_t *report, sinew_error *error) {
    force_model *m = model;
    if (!complete) return SINEW_OK;
    SN_TRY(write_stiffness(m, error));
    char *errors = NULL, *way = NULL;
    sinew_status status = sn_scene_output(m->setup.scene, "error_plot", &errors, error);
    if (status == SINEW_OK) status = sn_scene_output(m->setup.scene, "trace_plot", &way, error);
    if (status == SINEW_OK && way) status = sn_trace_write(m->trace, way, error);
    if (status == SINEW_OK && m->capture)
        status = sn_capture_report(m->capture, report, errors, error);
    sn_free(errors), sn_free(way);
    return status;
}

static const char *const outputs[] = {"error_plot", "trace_plot", "stretch_map", "bend_map", NULL};
static const char *const uses[] = {"markers", NULL};
static const sn_idle_rule idle[] = {
    {"contact_gap", "contact", NULL},
    {"contact_margin", "contact", NULL},
    {"contact_length", "contact", NULL},
    {"friction", "contact", NULL},
    {"stiffness_prior", "estimate_stiffness", NULL},
    {"trace", "outputs.trace_plot", NULL},
    {"lower", NULL, "bounded"},
    {"upper", NULL, "bounded"},
    {"ridge", "markers", NULL},
    {"smooth", "markers", NULL},
    {"bounded", "markers", NULL},
    {"lower", "markers", NULL},
    {"upper", "markers", NULL},
    {"outlier", "markers", NULL},
    {"layer_feeds", "layer", NULL},
    SN_CAPTURE_IDLE,
    {NULL, NULL, NULL},
};

const sn_model_kind sn_model_force = {
    .about = {.name = "force",
              .summary = "simulated skin that markers steer, or weight curves push",
              .parameter_count = sizeof parameters / sizeof *parameters,
              .parameters = parameters},
    .outputs = outputs,
    .uses = uses,
    .idle = idle,
    .needs_no_weights = true,
    .create = create,
    .destroy = destroy,
    .frame = frame,
    .end = end,
};
