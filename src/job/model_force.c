/* Blendforces as a model: markers steer the skin, or weight curves push it. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "job/capture.h"
#include "job/report.h"
#include "sinew/force.h"

typedef struct force_model {
    const sn_model_setup setup; /* outlives the model */
    sinew_force *force;
    sinew_force_state *state;
    sn_capture *capture; /* NULL: weights drive */
    double *command;     /* activations of a frame's weights */
    double *positions;   /* of frames on the way to the one asked for */
    int next;            /* the frame that the state is ready for */
} force_model;

#define NUMBER(name, fallback, low, high, unit, help)                                              \
    { name, SINEW_PARAMETER_NUMBER, fallback, low, high, NULL, unit, help }
#define INTEGER(name, fallback, low, high, help)                                                   \
    { name, SINEW_PARAMETER_INTEGER, fallback, low, high, NULL, "", help }
#define FLAG(name, help)                                                                           \
    { name, SINEW_PARAMETER_FLAG, 0, 0, 0, NULL, "", help }
#define TEXT(name, help)                                                                           \
    { name, SINEW_PARAMETER_TEXT, 0, 0, 0, NULL, "", help }

static const sinew_parameter parameters[] = {
    NUMBER("stretch_length", SINEW_FORCE_STRETCH_LENGTH, 0, 10, "share of the diagonal",
           "stretches narrower than this are smoothed out"),
    NUMBER("bend_length", SINEW_FORCE_BEND_LENGTH, 0, 10, "share of the diagonal",
           "bumps narrower than this are smoothed out"),
    NUMBER("overstretch", SINEW_FORCE_OVERSTRETCH, 0, 1, "",
           "extra stiffness of edges beyond 110%, share of theirs"),
    NUMBER("mass_time", SINEW_FORCE_MASS_TIME, 1e-6, 1e6, "s", "how long the skin takes to follow"),
    NUMBER("velocity_kept", SINEW_FORCE_VELOCITY_KEPT, 0, 1, "",
           "1 keeps all velocity, 0 is overdamped"),
    INTEGER("substeps", SINEW_FORCE_SUBSTEPS, 1, 1000, "steps per frame"),
    INTEGER("relinearisations", SINEW_FORCE_RELINEARISATIONS, 1, 1000, "per step"),
    NUMBER("ridge", SINEW_FORCE_RIDGE, 0, 1e6, "", "pull to no command"),
    NUMBER("smooth", SINEW_FORCE_SMOOTH, 0, 1e6, "", "pull to the last command"),
    FLAG("bounded", "commands stay in [0, 1]"),
    NUMBER("outlier", SINEW_FORCE_OUTLIER, 1e-9, 1e9, "share of the diagonal",
           "markers farther off lose weight"),
    FLAG("layer", "spread what is left at the markers over the skin"),
    NUMBER("layer_smoothing", SINEW_MARKER_LAYER_SMOOTHING, 1e-12, 1, "",
           "of the layer; noisy markers want 1e-6 and more"),
    FLAG("layer_feeds", "the next frame starts from the corrected shape"),
    TEXT("contact", "regions whose skin must not cross itself, separated by commas, or all"),
    NUMBER("contact_gap", SINEW_FORCE_CONTACT_GAP, 1e-7, 0.01, "share of the diagonal",
           "distance that contact keeps"),
    NUMBER("friction", SINEW_FORCE_FRICTION, 0, 1e6, "", "of skin that presses, Coulomb's"),
    FLAG("retarget", "the markers are of another face, at rest when first all seen"),
    TEXT("stable", "names of markers that move with the head, separated by commas"),
};

static void destroy(void *model) {
    force_model *m = model;
    if (!m) return;
    sinew_force_state_destroy(m->state);
    sinew_force_destroy(m->force);
    sn_capture_destroy(m->capture);
    sn_free(m->command), sn_free(m->positions);
    sn_free(m);
}

static void read_options(const sn_model_setup *setup, sinew_force_options *options) {
    const sinew_scene *scene = setup->scene;
    sinew_force_options_default(options);
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
    options->bounded = sn_scene_flag(scene, "bounded");
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
    options->friction = sn_scene_number(setup->scene, "friction");
    if (!strcmp(list, "all")) return SINEW_OK;
    size_t capacity = 0, count = 0;
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        char *name = sn_strndup(at, length);
        if (!name) return sn_no_memory(error);
        int region = sinew_rig_find_region(setup->rig, name);
        sn_free(name);
        if (region < 0)
            return sn_fail(error, SINEW_BAD_INPUT, "contact: the rig has no region '%.*s'",
                           (int)length, at);
        const sinew_region *r = &setup->rig->regions[region];
        if (!SN_RESERVE(*vertices, capacity, count + (size_t)r->count)) return sn_no_memory(error);
        memcpy(*vertices + count, r->vertices, sizeof(int) * (size_t)r->count);
        count += (size_t)r->count;
        at += length + (at[length] == ',');
    }
    options->contact_vertices = *vertices;
    options->contact_count = (int)count;
    return SINEW_OK;
}

static void report_structure(const force_model *m) {
    const sinew_force_summary *s = sinew_force_describe(m->force);
    json_object_set_new(m->setup.report, "sheet",
                        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f}", "edges",
                                  s->edge_count, "held_vertices", s->fixed_count, "targets",
                                  s->target_count, "empty_targets", s->empty_count, "markers",
                                  s->marker_count, "contact_triangles", s->contact_triangles,
                                  "contact_dropped", s->contact_dropped, "diagonal", s->diagonal,
                                  "seconds", s->seconds));
}

static sinew_status build(force_model *m, sinew_error *error) {
    const sn_model_setup *setup = &m->setup;
    if (setup->clip->markers) SN_TRY(sn_capture_create(setup, &m->capture, error));
    sinew_force_options options;
    read_options(setup, &options);
    int *vertices;
    sinew_status status = read_contact(setup, &options, &vertices, error);
    if (status == SINEW_OK)
        status = sinew_force_create(setup->rig, m->capture ? m->capture->map : NULL, &options,
                                    setup->monitor, &m->force, error);
    sn_free(vertices);
    SN_TRY(status);
    SN_TRY(sinew_force_state_create(m->force, &m->state, error));
    m->command = SN_NEW(double, setup->rig->target_count);
    m->positions = SN_NEW(double, 3 * (size_t)setup->rig->neutral->vertex_count);
    if (!m->command || !m->positions) return sn_no_memory(error);
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

static sinew_status advance(force_model *m, double *positions, sinew_force_info *info,
                            const sinew_monitor *monitor, sinew_error *error) {
    const sn_clip *clip = m->setup.clip;
    int index = m->next++;
    if (m->capture) {
        sn_capture_sample(m->capture, index);
        return sinew_force_frame(m->force, m->state, m->capture->row, NULL, positions, info,
                                 monitor, error);
    }
    sinew_rig_activations(m->setup.rig,
                          clip->weights + (size_t)index * (size_t)m->setup.rig->slider_count,
                          m->command);
    return sinew_force_command(m->force, m->state, m->command, positions, info, monitor, error);
}

static sinew_status frame(void *model, int index, double *positions, sinew_frame_info *info,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    force_model *m = model;
    sinew_force_info figures;
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
    if (m->capture) sn_capture_finish(m->capture, index, positions, fields);
    if (!fields) return SINEW_OK;
    json_object_set_new(fields, "in_span", sn_report_number(figures.in_span));
    json_object_set_new(fields, "out_of_span", sn_report_number(figures.out_of_span));
    json_object_set_new(fields, "cut", sn_report_number(figures.cut));
    if (m->capture) {
        json_object_set_new(fields, "marker_error_bare", sn_report_number(figures.marker_error));
        json_object_set_new(fields, "outliers", json_integer(figures.outliers));
    }
    return SINEW_OK;
}

static sinew_status begin(void *model, int first, int last, sinew_error *error) {
    (void)model, (void)first, (void)last, (void)error;
    return SINEW_OK;
}

static sinew_status end(void *model, bool complete, json_t *report, sinew_error *error) {
    force_model *m = model;
    if (!complete || !m->capture) return SINEW_OK;
    char *plot;
    SN_TRY(sn_scene_output(m->setup.scene, "error_plot", &plot, error));
    sinew_status status = sn_capture_report(m->capture, report, plot, error);
    sn_free(plot);
    return status;
}

static const char *const outputs[] = {"error_plot", NULL};
static const char *const uses[] = {"markers", NULL};

const sn_model_kind sn_model_force = {
    .about = {.name = "force",
              .summary = "simulated skin that markers steer, or weight curves push",
              .parameter_count = sizeof parameters / sizeof *parameters,
              .parameters = parameters},
    .outputs = outputs,
    .uses = uses,
    .needs_no_weights = true,
    .create = create,
    .destroy = destroy,
    .frame = frame,
    .begin = begin,
    .end = end,
};
