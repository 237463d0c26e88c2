/* Blendforces as a model: markers steer the skin, or weight curves push it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/unit.h"
#include "force/sheet.h"
#include "rig/marker_sliders.h"
#include "session/follow.h"
#include "session/layer_trust.h"
#include "session/load.h"
#include "session/obstacles.h"
#include "session/outputs.h"
#include "session/report.h"
#include "sinew/force.h"
#include "sinew/selection.h"

#define MOST_COMMAND 1e6 /* as good as no bound */

static const sinew_parameter parameters[] = {
    FLAG(STRUCTURE, "published", 0,
         "Steer as first published, for comparison: stiffness estimated from the rig's "
         "own targets, commands without bounds or penalties, every marker trusted, no "
         "marker layer, no flesh. Overrides these parameters."),
    NUMBER(STRUCTURE, "stretch_length", SINEW_FORCE_STRETCH_LENGTH, 0, 10,
           "fraction of the diagonal", "Smooth out stretches narrower than this."),
    NUMBER(STRUCTURE, "bend_length", SINEW_FORCE_BEND_LENGTH, 0, SINEW_FORCE_MOST_BEND,
           "fraction of the diagonal", "Smooth out bumps narrower than this."),
    NUMBER(STRUCTURE, "overstretch", SINEW_FORCE_OVERSTRETCH, 0, 1, "",
           "Extra stiffness of edges stretched beyond 110%, relative to their own stiffness."),
    NUMBER(STRUCTURE, "position", 1, 0, 1e6, "",
           "Stiffness that pulls every vertex to its rest position, as a factor of the default."),
    NUMBER(STRUCTURE, "mass_time", SINEW_FORCE_MASS_TIME, 1e-6, 1e6, "s",
           "Time in which the skin follows its forces."),
    NUMBER(NOTHING, "velocity_kept", SINEW_FORCE_VELOCITY_KEPT, 0, 1, "",
           "Fraction of the velocity kept over 1/60 s, at any frame rate: 0 is overdamped, 1 "
           "undamped."),
    INTEGER(STRUCTURE, "substeps", SINEW_FORCE_SUBSTEPS, 1, 1000, "Time steps per frame."),
    INTEGER(NOTHING, "relinearisations", SINEW_FORCE_RELINEARISATIONS, 1, 1000,
            "Relinearizations per time step."),
    NUMBER(NOTHING, "ridge", SINEW_FORCE_RIDGE, 0, 1e6, "", "Penalty that favors small commands."),
    NUMBER(NOTHING, "smooth", SINEW_FORCE_SMOOTH, 0, 1e6, "",
           "Penalty on changes from the previous command."),
    FLAG(NOTHING, "bounded", 0, "Keep commands within [0, 1]."),
    NUMBER(NOTHING, "lower", SINEW_FORCE_LOWER, -1e6, 1, "", "Smallest command if not bounded."),
    NUMBER(NOTHING, "upper", SINEW_FORCE_UPPER, 0, MOST_COMMAND, "",
           "Largest command if not bounded."),
    NUMBER(NOTHING, "outlier", SINEW_FORCE_OUTLIER, 1e-9, 1e9, "fraction of the diagonal",
           "Residual beyond which a marker loses influence."),
    FLAG(NOTHING, "layer_feeds", 0, "Start the next frame from the corrected shape."),
    TEXT(STRUCTURE, "contact",
         "Regions or selections whose skin must not intersect, separated by commas, or all."),
    NUMBER(STRUCTURE, "contact_gap", SINEW_FORCE_CONTACT_GAP, 1e-7, 0.01,
           "fraction of the diagonal", "Distance that contact maintains."),
    NUMBER(STRUCTURE, "contact_margin", SINEW_FORCE_CONTACT_MARGIN, 0, 10,
           "fraction of the diagonal",
           "How near to the regions a vertex must be at rest to take part, so that teeth "
           "behind the lips do."),
    NUMBER(STRUCTURE, "contact_length", SINEW_FORCE_CONTACT_LENGTH, 0, 10,
           "fraction of the diagonal", "Length over which pressed skin bends."),
    NUMBER(NOTHING, "friction", SINEW_FORCE_FRICTION, 0, 1e6, "",
           "Coefficient of Coulomb friction between pressed skin."),
    NUMBER(STRUCTURE, "stick", 0, 0, 1, "fraction of the diagonal",
           "Distance at which skin that touched lets go, as moist lips do."),
    PATH(STRUCTURE, "stretch_map", "Stretch stiffness factors: CSV vertex,value."),
    PATH(STRUCTURE, "bend_map", "Bending stiffness factors: CSV vertex,value."),
    PATH(STRUCTURE, "mass_map", "Mass factors: CSV vertex,value."),
    FLAG(STRUCTURE, "estimate_stiffness", 0,
         "Estimate the stretch and bending factors from the rig's own targets."),
    NUMBER(STRUCTURE, "stiffness_prior", SINEW_STIFFNESS_PRIOR, 1e-12, 1e12, "",
           "How strongly estimated factors are drawn to 1."),
    TEXT(STRUCTURE, "fixed",
         "Vertices that do not move: a selection (default: the boundary that no target "
         "moves)."),
    TEXT(STRUCTURE, "skull",
         "Selection of a skull that no target moves: the skin above it slides over it "
         "(default: none)."),
    TEXT(STRUCTURE, "jaw",
         "Target that opens the jaw, or a selection of vertices. Their rest shape rotates "
         "with the jaw."),
    TEXT(NOTHING, "trace", "Vertices whose displacement from rest is plotted: a selection."),
    FLAG(STRUCTURE, "flesh", 0, "Let flesh lag behind a moving head: inertia and gravity."),
    NUMBER(STRUCTURE, "flesh_frequency", SINEW_FORCE_FLESH_FREQUENCY, 0.1, 1000, "Hz",
           "Frequency of the softest flesh."),
    NUMBER(STRUCTURE, "flesh_damping", SINEW_FORCE_FLESH_DAMPING, 0, 100, "",
           "Damping ratio of the flesh; 1 is critical."),
    NUMBER(STRUCTURE, "flesh_length", SINEW_FORCE_FLESH_LENGTH, 0, 10, "fraction of the diagonal",
           "Length over which flesh moves together."),
    NUMBER(STRUCTURE, "gravity", 1, 0, 1000, "g",
           "Gravity on the flesh when the head leans, in multiples of that of the earth."),
    PATH(STRUCTURE, "softness",
         "Softness of the flesh, 0 to 1: CSV vertex,value (default: derived from the "
         "regions of the face)."),
    SN_CAPTURE_PARAMETERS,
};

/* ---- the structure --------------------------------------------------------------------------- */

/* The published choices over the scene's parameters. */
static void use_published(sinew_force_options *options) {
    options->ridge = options->smooth = 0;
    options->lower = -MOST_COMMAND, options->upper = MOST_COMMAND;
    options->outlier = INFINITY;
    options->overstretch = 1; /* as stiff again beyond 110% */
    options->layer = options->flesh = false;
}

static void read_options(const sn_model_setup *setup, sinew_force_options *options) {
    const sinew_scene *scene = setup->scene;
    sinew_force_options_init(options);
    options->frame_time = 1 / setup->clip->rate;
    options->stretch_length = sn_scene_number(scene, "stretch_length");
    options->bend_length = sn_scene_number(scene, "bend_length");
    options->overstretch = sn_scene_number(scene, "overstretch");
    options->position = sn_scene_number(scene, "position");
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
    options->layer_contact = sn_scene_choice(scene, "layer_contact") == 1;
    options->layer_feeds = sn_scene_flag(scene, "layer_feeds");
    const char *unit = json_string_value(json_object_get(sn_scene_at(scene, "rig"), "unit"));
    options->flesh = sn_scene_flag(scene, "flesh");
    options->flesh_frequency = sn_scene_number(scene, "flesh_frequency");
    options->flesh_damping = sn_scene_number(scene, "flesh_damping");
    options->flesh_length = sn_scene_number(scene, "flesh_length");
    options->gravity[1] =
        -9.81 * sn_scene_number(scene, "gravity") / sn_unit_metres(unit ? unit : SN_RIG_UNIT);
    options->obstacles = json_array_size(sn_scene_at(scene, "obstacles")) > 0;
    options->contact_gap = sn_scene_number(scene, "contact_gap");
    options->contact_length = sn_scene_number(scene, "contact_length");
    options->friction = sn_scene_number(scene, "friction");
    options->stick = sn_scene_number(scene, "stick");
    if (sn_scene_flag(scene, "published")) use_published(options);
}

/* Vertices of the regions and selections listed by "contact", or none for the whole surface. */
static sinew_status read_contact(const sn_model_setup *setup, sinew_force_options *options,
                                 int **vertices, sinew_error *error) {
    const char *list = sn_scene_string(setup->scene, "contact");
    *vertices = NULL;
    if (!list || !*list) return SINEW_OK;
    options->contact = true;
    options->contact_margin = sn_scene_number(setup->scene, "contact_margin");
    if (!strcmp(list, "all")) return SINEW_OK;
    size_t capacity = 0, count = 0, length;
    const char *name;
    while (sn_list_next(&list, &name, &length)) {
        int *found, more;
        sinew_error what;
        bool selection = memchr(name, ':', length) != NULL;
        if (!strncmp(name, "v:", 2)) { /* a list itself, and the last one */
            length = strlen(name), list = name + length;
        }
        char *text = SN_NEW(char, length + 8);
        if (!text) return sn_no_memory(error);
        snprintf(text, length + 8, "%s%.*s", selection ? "" : "region:", (int)length, name);
        sinew_status status = sinew_select(setup->rig, text, setup->scene->folder, setup->loader,
                                           NULL, &found, &more, &what);
        sn_free(text);
        if (status != SINEW_OK)
            return sn_fail(error, what.status, "/parameters/contact: %s", what.message);
        bool room = SN_RESERVE(*vertices, capacity, count + (size_t)more);
        if (room) memcpy(*vertices + count, found, sizeof(int) * (size_t)more);
        sinew_free(found);
        if (!room) return sn_no_memory(error);
        count += (size_t)more;
    }
    if (count == 0) return sn_fail(error, SINEW_BAD_INPUT, "/parameters/contact: names no region");
    options->contact_vertices = *vertices;
    options->contact_count = (int)count;
    return SINEW_OK;
}

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
        return sn_fail(error, SINEW_BAD_INPUT, "/parameters/jaw: the rig has no target '%s'",
                       given);
    int *vertices, count;
    SN_TRY(sinew_select(rig, given, setup->scene->folder, setup->loader, NULL, &vertices, &count,
                        error));
    for (int i = 0; i < count; i++) (*shares)[vertices[i]] = 1;
    sinew_free(vertices);
    return SINEW_OK;
}

static sinew_status estimate_stiffness(const sn_model_setup *setup, sn_force_structure *m,
                                       const sinew_force_options *options, sinew_error *error) {
    if (m->stretch_map || m->bend_map)
        return sn_scene_fail(
            setup->scene, error, "/parameters",
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
    sn_figure_put(setup->report, "stiffness",
                  sn_figure_pack(
                      "{s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f, s:f, s:f, s:f, s:b, s:f}",
                      "shapes", info.examples, "iterations", info.iterations, "rest_error_default",
                      info.rest_error_default, "rest_error", info.rest_error, "rest_error_worst",
                      info.rest_error_worst, "unseen_default", info.unseen_default,
                      "unseen_uniform", info.unseen_uniform, "unseen_map", info.unseen_map,
                      "uniform", info.uniform, "stretch_least", info.stretch_least, "stretch_most",
                      info.stretch_most, "bend_least", info.bend_least, "bend_most", info.bend_most,
                      "from_cache", info.from_cache, "seconds", info.seconds));
    return SINEW_OK;
}

static sinew_status find_stiffness(const sn_model_setup *setup, sn_force_structure *m,
                                   sinew_force_options *options, sinew_error *error) {
    SN_TRY(sn_load_vertex_map(setup->scene, setup->loader, "stretch_map", setup->rig,
                              &m->stretch_map, error));
    SN_TRY(sn_load_vertex_map(setup->scene, setup->loader, "bend_map", setup->rig, &m->bend_map,
                              error));
    if (sn_scene_flag(setup->scene, "estimate_stiffness") ||
        sn_scene_flag(setup->scene, "published"))
        SN_TRY(estimate_stiffness(setup, m, options, error));
    options->stretch_map = m->stretch_map, options->bend_map = m->bend_map;
    SN_TRY(sn_load_vertex_map(setup->scene, setup->loader, "mass_map", setup->rig, &m->mass_map,
                              error));
    options->mass_map = m->mass_map;
    return SINEW_OK;
}

static void report_structure(const sn_model_setup *setup, const sinew_force *force) {
    sinew_force_info s = {.size = sizeof s};
    sinew_force_get_info(force, &s);
    sn_figure_put(setup->report, "sheet",
                  sn_figure_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f}", "edges",
                                 s.edge_count, "held_vertices", s.fixed_count, "targets",
                                 s.target_count, "empty_targets", s.empty_count, "markers",
                                 s.marker_count, "contact_triangles", s.contact_triangles,
                                 "contact_dropped", s.contact_dropped, "over_skull", s.over_skull,
                                 "diagonal", s.diagonal, "seconds", s.seconds));
}

static void key(const sn_model_setup *setup, sinew_hash *hash) {
    sinew_hash_add_number(hash, setup->clip->rate);
    sinew_hash_add_number(hash, setup->clip->markers != NULL);
    sinew_hash_add_number(hash, json_array_size(sn_scene_at(setup->scene, "obstacles")) > 0);
    sn_follow_key(setup, hash);
}

static void discard(void *structure) {
    sn_force_structure *s = structure;
    if (!s) return;
    sinew_force_destroy(s->force);
    sinew_capture_destroy(s->capture);
    sn_free(s->stretch_map), sn_free(s->bend_map), sn_free(s->mass_map);
    sn_free(s);
}

/* Flags of the targets that markers shall not steer, new. */
static sinew_status read_held(const sn_model_setup *setup, const sinew_capture *capture,
                              bool **held, sinew_error *error) {
    const sinew_rig *rig = setup->rig;
    *held = SN_NEW0(bool, rig->target_count);
    bool *sliders = SN_NEW0(bool, rig->slider_count + 1);
    sinew_status status = *held && sliders ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && capture)
        status = sn_follow_held(setup, sinew_capture_map(capture), sliders, error);
    if (status == SINEW_OK) sn_fit_held_targets(rig, sliders, *held);
    sn_free(sliders);
    return status;
}

static sinew_status make_force(const sn_model_setup *setup, sn_force_structure *s,
                               sinew_error *error) {
    if (setup->clip->markers) SN_TRY(sn_follow_capture(setup, &s->capture, error));
    sinew_force_options options;
    read_options(setup, &options);
    s->obstacles = options.obstacles;
    int *vertices, *fixed = NULL;
    double *jaw = NULL;
    sinew_status status = read_contact(setup, &options, &vertices, error);
    const char *held = sn_scene_string(setup->scene, "fixed");
    if (status == SINEW_OK && held)
        status = sinew_select(setup->rig, held, setup->scene->folder, setup->loader, NULL, &fixed,
                              &options.fixed_count, error);
    options.fixed = fixed;
    int *skull = NULL;
    const char *bone = sn_scene_string(setup->scene, "skull");
    if (status == SINEW_OK && bone)
        status = sinew_select(setup->rig, bone, setup->scene->folder, setup->loader, NULL, &skull,
                              &options.skull_count, error);
    options.skull = skull;
    if (status == SINEW_OK) status = find_stiffness(setup, s, &options, error);
    if (status == SINEW_OK) status = read_jaw(setup, &jaw, error);
    options.jaw = jaw;
    double *softness = NULL;
    if (status == SINEW_OK)
        status = sn_load_vertex_map(setup->scene, setup->loader, "softness", setup->rig, &softness,
                                    error);
    options.softness = softness;
    bool *unsteered = NULL;
    if (status == SINEW_OK) status = read_held(setup, s->capture, &unsteered, error);
    options.held = unsteered;
    double *trust = NULL;
    if (status == SINEW_OK && s->capture && options.layer)
        status = sn_layer_trust(setup, s->capture, &trust, error);
    options.layer_trust = trust;
    if (status == SINEW_OK)
        status = sinew_force_create(setup->rig, s->capture ? sinew_capture_map(s->capture) : NULL,
                                    &options, setup->monitor, &s->force, error);
    sn_free(vertices), sn_free(jaw), sn_free(unsteered), sn_free(softness), sn_free(trust);
    sinew_free(fixed), sinew_free(skull);
    if (status == SINEW_OK) report_structure(setup, s->force);
    return status;
}

static sinew_status build(const sn_model_setup *setup, void **structure, sinew_error *error) {
    sn_force_structure *s = SN_NEW0(sn_force_structure, 1);
    if (!s) return sn_no_memory(error);
    sinew_status status = make_force(setup, s, error);
    if (status != SINEW_OK)
        discard(s);
    else
        *structure = s;
    return status;
}

/* ---- the model of one solver ----------------------------------------------------------------- */

typedef struct force_model {
    const sinew_rig *rig;
    const sn_force_structure *structure;
    sinew_force_state *state;
    sn_follow follow; /* all zero: weights drive */
    double *command;  /* activations of a frame's weights */
    double *weights;  /* the last command as weights of the sliders */
    sn_obstacles obstacles;
    const sinew_obstacle **joined; /* the scene's and those of the input */
    size_t joined_room;
} force_model;

static void destroy(void *model) {
    force_model *m = model;
    if (!m) return;
    sinew_force_state_destroy(m->state);
    sn_follow_free(&m->follow);
    sn_obstacles_free(&m->obstacles);
    sn_free(m->command), sn_free(m->weights), sn_free(m->joined);
    sn_free(m);
}

static sinew_status update(void *model, const sn_model_setup *setup, uint32_t changed,
                           sinew_error *error) {
    force_model *m = model;
    if (m->structure->capture && sn_has_changed(changed, "markers")) {
        sn_follow follow;
        SN_TRY(sn_follow_create(setup, m->structure->capture, &follow, error));
        sn_follow_free(&m->follow);
        m->follow = follow;
    }
    if (sn_has_changed(changed, "obstacles")) {
        SN_TRY(sn_obstacles_update(setup->scene, m->rig, setup->loader, &m->obstacles, error));
        /* every solve sets them, with those of the input */
        SN_TRY(sinew_force_set_obstacles(m->state, 0, NULL, error));
    }
    if (!sn_has_changed(changed, "parameters")) return SINEW_OK;
    sinew_force_options options;
    read_options(setup, &options);
    return sinew_force_state_set(m->state, &options, error);
}

static sinew_status create(const sn_model_setup *setup, const void *structure, void **model,
                           sinew_error *error) {
    force_model *m = SN_NEW0(force_model, 1);
    if (!m) return sn_no_memory(error);
    m->rig = setup->rig, m->structure = structure;
    m->command = SN_NEW(double, setup->rig->target_count);
    m->weights = SN_NEW0(double, setup->rig->slider_count + 1);
    sinew_status status = m->command && m->weights ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_force_state_create(m->structure->force, &m->state, error);
    if (status == SINEW_OK) status = update(m, setup, UINT32_MAX, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

/* Whether markers steer: where the take or the caller has some, and neither weights nor a command
 * are given. */
static bool follows(const force_model *m, const sn_ask *ask) {
    return m->follow.capture && !ask->weights && !ask->command;
}

/* Where the head is: by the clip's curves, or by the take. */
static void place_head(force_model *m, const sn_ask *ask) {
    sinew_rigid head;
    if (ask->head_moves)
        head = ask->head;
    else if (follows(m, ask) && !ask->markers)
        sinew_capture_head(m->follow.capture, ask->time, &head);
    else {
        sinew_force_set_head(m->state, NULL);
        return;
    }
    sinew_force_set_head(m->state, &head);
}

const double *sn_model_force_weights(const void *model) {
    const force_model *m = model;
    const double *command = sinew_force_last_command(m->state);
    sinew_rig_rest_weights(m->rig, m->weights);
    for (int k = 0; k < m->rig->target_count; k++) {
        const sinew_target *target = &m->rig->targets[k];
        if (target->slider >= 0) m->weights[target->slider] += target->at * command[k];
    }
    return m->weights;
}

static sinew_status advance(force_model *m, const sn_ask *ask, double *positions,
                            sinew_force_frame_info *info, const sinew_monitor *monitor,
                            sinew_error *error) {
    const sinew_force *force = m->structure->force;
    if (follows(m, ask)) {
        sn_follow_sample(&m->follow, ask);
        return sinew_force_frame(force, m->state, m->follow.row, m->follow.weights, positions, info,
                                 monitor, error);
    }
    if (!ask->command) sinew_rig_activations(m->rig, ask->weights, m->command);
    return sinew_force_command(force, m->state, ask->command ? ask->command : m->command, positions,
                               info, monitor, error);
}

/* The scene's obstacles where they are now, then those of the input. */
static sinew_status place_obstacles(force_model *m, const sn_ask *ask, sinew_error *error) {
    int own = m->obstacles.count, count = own + ask->obstacle_count;
    if (own > 0) SN_TRY(sn_obstacles_move(&m->obstacles, ask->time, NULL, error));
    if (ask->obstacle_count > 0 && !m->structure->obstacles)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the model was built without obstacles: add one to the scene, enabled or "
                       "not, before the input gives more");
    if (!SN_RESERVE(m->joined, m->joined_room, count)) return sn_no_memory(error);
    for (int o = 0; o < count; o++)
        m->joined[o] = o < own ? m->obstacles.pointers[o] : ask->obstacles[o - own];
    return sinew_force_set_obstacles(m->state, count, m->joined, error);
}

static sinew_status solve(void *model, const sn_ask *ask, double *positions, sinew_result *result,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    force_model *m = model;
    sinew_force_frame_info figures = {.size = sizeof figures};
    place_head(m, ask);
    SN_TRY(place_obstacles(m, ask, error));
    SN_TRY(advance(m, ask, positions, &figures, monitor, error));
    result->iterations = figures.iterations;
    result->residual = figures.residual;
    result->contact_count = figures.contacts + figures.pressed;
    if (ask->contacts && figures.contacts > 0)
        result->contacts_returned =
            sn_force_list_contacts(m->state, ask->contact_capacity, ask->contacts);
    bool followed = follows(m, ask);
    if (followed) sn_follow_finish(&m->follow, ask, positions, fields);
    if (!fields) return figures.status;
    sn_figure_put(fields, "in_span", sn_report_number(figures.in_span));
    sn_figure_put(fields, "out_of_span", sn_report_number(figures.out_of_span));
    sn_figure_put(fields, "cut", sn_report_number(figures.cut));
    if (m->obstacles.count + ask->obstacle_count > 0)
        sn_figure_put(fields, "pressed", json_integer(figures.pressed));
    if (figures.released > 0)
        sn_figure_put(fields, "contact_released", json_integer(figures.released));
    if (followed) {
        sn_figure_put(fields, "marker_error_bare", sn_report_number(figures.marker_error));
        sn_figure_put(fields, "outliers", json_integer(figures.outliers));
        sn_figure_put(fields, "weights",
                      sn_report_numbers(m->rig->slider_count, sn_model_force_weights(m)));
    }
    return figures.status;
}

static sinew_past past(const void *model, int *run) {
    (void)model, (void)run;
    return SINEW_PAST_ALL;
}

static void reset(void *model) {
    sinew_force_reset(((force_model *)model)->state);
}

static void pack(const void *model, sn_pack *bytes) {
    sn_force_pack(((const force_model *)model)->state, bytes);
}

static sinew_status unpack(void *model, sn_unpack *bytes, sinew_error *error) {
    return sn_force_unpack(((force_model *)model)->state, bytes, error);
}

static const char *const outputs[] = {"error_plot", "trace_plot", "stretch_map",
                                      "bend_map",   "fitted",     NULL};
static const char *const uses[] = {"markers", "obstacles", NULL};
static const sn_idle_rule idle[] = {
    {"contact_gap", "contact or obstacles", NULL},
    {"contact_length", "contact or obstacles", NULL},
    {"friction", "contact or obstacles", NULL},
    {"contact_margin", "contact", NULL},
    {"stick", "contact", NULL},
    {"flesh_frequency", "flesh", NULL},
    {"flesh_damping", "flesh", NULL},
    {"flesh_length", "flesh", NULL},
    {"gravity", "flesh", NULL},
    {"softness", "flesh", NULL},
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

static const sinew_capture *capture(const void *structure) {
    return ((const sn_force_structure *)structure)->capture;
}

const sn_model_kind sn_model_force = {
    SN_MODEL_ABOUT("force", "Simulated skin that follows captured markers or slider curves"),
    .outputs = outputs,
    .uses = uses,
    .idle = idle,
    .needs_no_weights = true,
    .uses_command = true,
    .key = key,
    SN_MODEL_FUNCTIONS,
    .capture = capture,
    .update = update,
    SN_MODEL_PAST,
};
