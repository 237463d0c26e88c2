/* Spring blendshapes as a model: the scene's obstacles, pins and pulls, the network as outputs. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "rig/pose.h"
#include "session/model.h"
#include "session/obstacles.h"
#include "session/parameters.h"
#include "session/report.h"
#include "sinew/io.h"
#include "sinew/selection.h"
#include "sinew/spring.h"
#include "spring/structure.h"

static const sinew_parameter parameters[] = {
    CHOICE(STRUCTURE, "boundary", 0, "free|static|pinned|anchor", "what holds the shape"),
    NUMBERS(
        STRUCTURE, "anchor", "length",
        "corners of the anchor inside the neutral: 12 numbers (default: at the center of mass)"),
    CHOICE(STRUCTURE, "solver", 0, "default|newton|published", "how the balance is found"),
    NUMBER(NOTHING, "tolerance", SINEW_SPRING_TOLERANCE, 1e-14, 0.999, "",
           "largest relative force left"),
    INTEGER(NOTHING, "max_iterations", SINEW_SPRING_MAX_ITERATIONS, 1, 1000000,
            "Newton steps per frame"),
    NUMBER(NOTHING, "time_limit", SINEW_SPRING_TIME_LIMIT, 1e-6, 1e9, "s",
           "CPU time of a frame, of all threads together"),
    FLAG(STATE, "independent", 0, "solve every frame without looking at its neighbours"),
    CHOICE(STRUCTURE, "bending", 0, "flap|ring|none",
           "springs across edges, two edges apart, or none"),
    NUMBER(STRUCTURE, "stiffness_structure", SINEW_SPRING_KAPPA, 1e-9, 1e9, "",
           "of springs along edges"),
    NUMBER(STRUCTURE, "stiffness_bending", SINEW_SPRING_KAPPA, 1e-9, 1e9, "", "of bending springs"),
    NUMBER(STRUCTURE, "stiffness_internal", SINEW_SPRING_KAPPA, 1e-9, 1e9, "", "of springs inside"),
    PATH(STRUCTURE, "stiffness_map",
         "CSV vertex,value: painted stiffness, 1 where nothing is said"),
    CHOICE(STRUCTURE, "interior", 0, "struts|tets|none",
           "springs through the inside: from side to side, edges of tetrahedra made by the tetgen "
           "program, or none"),
    FLAG(STRUCTURE, "interior_points", 0, "add points inside where they give better tetrahedra"),
    NUMBER(STRUCTURE, "guide", SINEW_SPRING_GUIDE, 0, 1e9, "",
           "stiffness of the springs' directions in the rotation-aware blend, relative to that of "
           "their lengths"),
    NUMBER(STRUCTURE, "altitude", SINEW_SPRING_ALTITUDE, 0, 1e9, "",
           "weight of the altitudes of triangles, which hold thin triangles and resist bending"),
    NUMBER(STRUCTURE, "tie", 0, 0, 1, "share of the diagonal",
           "tie parts to the largest by springs"),
    NUMBER(STRUCTURE, "volume", SINEW_SPRING_VOLUME, 0, 1e9, "",
           "weight of the signed-volume term"),
    NUMBER(STRUCTURE, "pull_to_blend", SINEW_SPRING_PULL_TO_BLEND, 0, 1e9, "",
           "weak pull to the rotation-aware blend, relative to the mean spring"),
    NUMBER(STATE, "friction", SINEW_SPRING_FRICTION, 0, 1e3, "", "Coulomb's mu against obstacles"),
    NUMBER(NOTHING, "contact_depth", SINEW_SPRING_CONTACT_DEPTH, 1e-9, 1, "share of the diagonal",
           "allowed penetration"),
    INTEGER(NOTHING, "max_rounds", SINEW_SPRING_MAX_ROUNDS, 1, 100000, "contact rounds per frame"),
    FLAG(NOTHING, "sample_edges", 1, "look between vertices for thin obstacles"),
    FLAG(STRUCTURE, "self_contact", 0, "keep the surface from crossing itself"),
    CHOICE(NOTHING, "pose_depth", 0, "parts|all|none",
           "obstacles into which vertices may sink as deep as in the poses"),
};

/* Depths of the rig's vertices, then of its triangles, in one obstacle, in the poses that the clip
 * uses. */
typedef struct pose_depths {
    double *neutral; /* >= 0; INFINITY for the part itself; NULL: nothing allowed */
    int *targets;    /* per used target: its index */
    double **change; /* per used target: depth minus the neutral's */
    int count;
    double *blend; /* of the present frame */
} pose_depths;

typedef struct spring_model {
    sn_model_setup setup;
    sinew_spring *spring;
    sinew_spring_state *state;
    sinew_linear *linear;
    double *shape; /* linear blend, for parts */
    double *activations;
    int *pins;
    int pin_count;
    sinew_frames **pin_frames; /* per entry of the scene's "pins", or NULL */
    int *pin_entry;            /* per pin: which entry */
    int pin_entries;
    double *pin_positions;
    sinew_spring_pull *pulls;
    int pull_count;
    sn_obstacles obstacles;
    pose_depths *depths;
    const double **allowed, **allowed_triangles;
    bool *carried; /* per obstacle: a part of the rig */
    sinew_frame_writer *network_writer;
} spring_model;

static size_t vertex_count(const spring_model *m) {
    return (size_t)m->setup.rig->neutral->vertex_count;
}

/* Vertices and triangles. */
static size_t depth_count(const spring_model *m) {
    return vertex_count(m) + (size_t)m->setup.rig->neutral->triangle_count;
}

/* ---- what the scene says ---- */

static sinew_status read_pins(spring_model *m, sinew_error *error) {
    const json_t *list = sn_scene_at(m->setup.scene, "pins");
    size_t entries = json_array_size(list), capacity = 0, entry_capacity = 0;
    m->pin_entries = (int)entries;
    m->pin_frames = SN_NEW0(sinew_frames *, entries);
    if (!m->pin_frames) return sn_no_memory(error);
    for (size_t e = 0; e < entries; e++) {
        const json_t *pin = json_array_get(list, e);
        if (json_object_get(pin, "motion") || json_object_get(pin, "stiffness"))
            return sn_scene_fail(m->setup.scene, error, "pins",
                                 "motion and stiffness are for the modal model; use pulls");
        int *found = NULL, count = 0;
        SN_TRY(sinew_select(m->setup.rig, json_string_value(json_object_get(pin, "select")),
                            m->setup.scene->folder, &found, &count, error));
        bool ok = SN_RESERVE(m->pins, capacity, m->pin_count + count) &&
                  SN_RESERVE(m->pin_entry, entry_capacity, m->pin_count + count);
        for (int k = 0; ok && k < count; k++) {
            m->pins[m->pin_count] = found[k];
            m->pin_entry[m->pin_count++] = (int)e;
        }
        sinew_free(found);
        if (!ok) return sn_no_memory(error);
        const char *file = json_string_value(json_object_get(pin, "frames"));
        if (!file) continue;
        char *path = sn_scene_path(m->setup.scene, file);
        if (!path) return sn_no_memory(error);
        sinew_status status = sinew_frames_read(path, &m->pin_frames[e], error);
        sn_free(path);
        SN_TRY(status);
        if ((size_t)m->pin_frames[e]->vertex_count != vertex_count(m))
            return sn_scene_fail(m->setup.scene, error, "/pins",
                                 "%s has %d vertices, the rig has %zu", file,
                                 m->pin_frames[e]->vertex_count, vertex_count(m));
    }
    m->pin_positions = SN_NEW(double, 3 * (size_t)m->pin_count);
    return m->pin_positions ? SINEW_OK : sn_no_memory(error);
}

static sinew_status read_pulls(spring_model *m, sinew_error *error) {
    const json_t *list = sn_scene_at(m->setup.scene, "pulls");
    m->pull_count = (int)json_array_size(list);
    m->pulls = SN_NEW0(sinew_spring_pull, m->pull_count);
    if (!m->pulls) return sn_no_memory(error);
    for (int k = 0; k < m->pull_count; k++) {
        const json_t *pull = json_array_get(list, (size_t)k);
        const json_t *stiffness = json_object_get(pull, "stiffness");
        m->pulls[k].vertex = (int)json_integer_value(json_object_get(pull, "vertex"));
        sn_json_point(json_object_get(pull, "to"), m->pulls[k].position);
        m->pulls[k].stiffness = stiffness ? json_number_value(stiffness) : INFINITY;
        if (m->pulls[k].vertex >= m->setup.rig->neutral->vertex_count)
            return sn_scene_fail(m->setup.scene, error, "/pulls", "there is no vertex %d",
                                 m->pulls[k].vertex);
    }
    return SINEW_OK;
}

/* ---- depths of the poses ---- */

/* True when some frame of the clip activates the target. */
static sinew_status find_used(spring_model *m, bool *used, sinew_error *error) {
    const sinew_rig *rig = m->setup.rig;
    const sn_clip *clip = m->setup.clip;
    double *activations = SN_NEW(double, rig->target_count);
    if (!activations) return sn_no_memory(error);
    for (int f = 0; f < clip->frame_count; f++) {
        sinew_rig_activations(rig, clip->weights + (size_t)f * (size_t)rig->slider_count,
                              activations);
        for (int t = 0; t < rig->target_count; t++) used[t] |= activations[t] != 0;
    }
    sn_free(activations);
    return SINEW_OK;
}

/* Depths of vertices and triangles with the rig at `positions`; only what `changed` names (NULL:
 * all); `own` is left alone. */
static void find_depths(const sinew_rig *rig, const sinew_obstacle *obstacle,
                        const double *positions, const bool *own, const bool *changed,
                        double *depth) {
    int n = rig->neutral->vertex_count;
    for (int v = 0; v < n; v++) {
        if (own[v] || (changed && !changed[v])) continue;
        double d = sinew_obstacle_distance(obstacle, positions + 3 * (size_t)v, NULL);
        depth[v] = d < 0 ? -d : 0;
    }
    for (int t = 0; t < rig->neutral->triangle_count; t++) {
        const int *v = rig->neutral->triangles + 3 * (size_t)t;
        if (own[v[0]] || (changed && !changed[v[0]] && !changed[v[1]] && !changed[v[2]])) continue;
        double corners[9];
        for (int c = 0; c < 3; c++)
            memcpy(corners + 3 * c, positions + 3 * (size_t)v[c], 3 * sizeof *corners);
        depth[n + t] = sinew_obstacle_triangle_depth(obstacle, corners);
    }
}

/* Depths in the neutral and their change in each used pose; what a target does not move keeps the
 * neutral's depth unless the obstacle itself moved. */
static sinew_status measure_depths(spring_model *m, int index, const bool *used, double *positions,
                                   sinew_error *error) {
    const sinew_rig *rig = m->setup.rig;
    const sinew_mesh *mesh = rig->neutral;
    const sn_scene_obstacle *o = &m->obstacles.list[index];
    pose_depths *depths = &m->depths[index];
    size_t all = depth_count(m);
    int n = mesh->vertex_count, count = 0;
    for (int t = 0; t < rig->target_count; t++) count += used[t];
    depths->neutral = SN_NEW0(double, all);
    depths->blend = SN_NEW0(double, all);
    depths->targets = SN_NEW(int, count);
    depths->change = SN_NEW0(double *, count);
    bool *own = SN_NEW0(bool, n), *changed = SN_NEW(bool, n);
    sinew_status status =
        depths->neutral && depths->blend && depths->targets && depths->change && own && changed
            ? SINEW_OK
            : sn_no_memory(error);
    for (int k = 0; status == SINEW_OK && o->part >= 0 && k < o->vertex_count; k++)
        own[o->part_vertices[k]] = true;
    if (status == SINEW_OK) status = sn_obstacles_move(&m->obstacles, 0, mesh->positions, error);
    if (status == SINEW_OK) {
        for (int v = 0; v < n; v++)
            if (own[v]) depths->neutral[v] = INFINITY;
        for (int t = 0; t < mesh->triangle_count; t++)
            if (own[mesh->triangles[3 * (size_t)t]]) depths->neutral[n + t] = INFINITY;
        find_depths(rig, o->obstacle, mesh->positions, own, NULL, depths->neutral);
    }
    for (int t = 0; status == SINEW_OK && t < rig->target_count; t++) {
        if (!used[t]) continue;
        double *change = SN_NEW(double, all);
        if (!change) {
            status = sn_no_memory(error);
            break;
        }
        depths->targets[depths->count] = t, depths->change[depths->count++] = change;
        memcpy(change, depths->neutral, all * sizeof *change);
        sn_rig_pose(rig, t, positions);
        bool moved = false;
        memset(changed, 0, (size_t)n * sizeof *changed);
        for (int k = 0; k < rig->targets[t].count; k++) {
            moved |= own[rig->targets[t].vertices[k]];
            changed[rig->targets[t].vertices[k]] = true;
        }
        status = sn_obstacles_move(&m->obstacles, 0, positions, error);
        find_depths(rig, o->obstacle, positions, own, moved ? NULL : changed, change);
        for (size_t k = 0; k < all; k++)
            change[k] = isinf(change[k]) ? 0 : change[k] - depths->neutral[k];
    }
    sn_free(own), sn_free(changed);
    return status;
}

static sinew_status prepare_obstacles(spring_model *m, sinew_error *error) {
    const sinew_rig *rig = m->setup.rig;
    SN_TRY(sn_obstacles_create(m->setup.scene, rig, &m->obstacles, error));
    m->depths = SN_NEW0(pose_depths, m->obstacles.count);
    m->allowed = SN_NEW0(const double *, m->obstacles.count);
    m->allowed_triangles = SN_NEW0(const double *, m->obstacles.count);
    m->carried = SN_NEW0(bool, m->obstacles.count);
    bool *used = SN_NEW0(bool, rig->target_count);
    double *positions = SN_NEW(double, 3 * vertex_count(m));
    sinew_status status =
        m->depths && m->allowed && m->allowed_triangles && m->carried && used && positions
            ? SINEW_OK
            : sn_no_memory(error);
    enum { PARTS, ALL, NONE } rule = (int)sn_scene_choice(m->setup.scene, "pose_depth");
    if (status == SINEW_OK && m->obstacles.count > 0) status = find_used(m, used, error);
    for (int o = 0; status == SINEW_OK && o < m->obstacles.count; o++) {
        bool part = m->carried[o] = m->obstacles.list[o].part >= 0;
        if (!part && rule != ALL) continue;
        if (rule == NONE) memset(used, 0, (size_t)rig->target_count * sizeof *used);
        status = measure_depths(m, o, used, positions, error);
        for (size_t k = 0; status == SINEW_OK && rule == NONE && k < depth_count(m); k++)
            if (isfinite(m->depths[o].neutral[k])) m->depths[o].neutral[k] = 0;
        m->allowed[o] = m->depths[o].blend;
        m->allowed_triangles[o] = m->depths[o].blend ? m->depths[o].blend + vertex_count(m) : NULL;
    }
    sn_free(used), sn_free(positions);
    return status;
}

static void blend_depths(spring_model *m) {
    for (int o = 0; o < m->obstacles.count; o++) {
        pose_depths *depths = &m->depths[o];
        if (!depths->neutral) continue;
        memcpy(depths->blend, depths->neutral, depth_count(m) * sizeof *depths->blend);
        for (int k = 0; k < depths->count; k++) {
            double a = m->activations[depths->targets[k]];
            for (size_t i = 0; a != 0 && i < depth_count(m); i++)
                depths->blend[i] += a * depths->change[k][i];
        }
    }
}

/* ---- building ---- */

static void destroy(void *model) {
    spring_model *m = model;
    if (!m) return;
    sinew_frame_writer_abandon(m->network_writer);
    sinew_spring_state_destroy(m->state);
    sinew_spring_destroy(m->spring);
    sinew_linear_destroy(m->linear);
    for (int o = 0; m->depths && o < m->obstacles.count; o++) {
        for (int k = 0; k < m->depths[o].count; k++) sn_free(m->depths[o].change[k]);
        sn_free(m->depths[o].change), sn_free(m->depths[o].targets);
        sn_free(m->depths[o].neutral), sn_free(m->depths[o].blend);
    }
    sn_free(m->depths), sn_free(m->allowed), sn_free(m->allowed_triangles), sn_free(m->carried);
    sn_obstacles_free(&m->obstacles);
    for (int e = 0; m->pin_frames && e < m->pin_entries; e++)
        sinew_frames_destroy(m->pin_frames[e]);
    sn_free(m->pin_frames), sn_free(m->pins), sn_free(m->pin_entry), sn_free(m->pin_positions);
    sn_free(m->pulls), sn_free(m->shape), sn_free(m->activations);
    sn_free(m);
}

static void report_network(const spring_model *m) {
    static const char *const boundaries[] = {"free", "static", "pinned", "anchor"};
    sinew_spring_info s = {.size = sizeof s};
    sinew_spring_get_info(m->spring, &s);
    json_t *kinds = json_object(), *terms = json_array(), *report = m->setup.report;
    for (int k = 0; k < SINEW_SPRING_KIND_COUNT; k++)
        json_object_set_new(kinds, sinew_spring_kind_name(k), json_integer(s.kind_count[k]));
    json_object_set_new(report, "network",
                        json_pack("{s:i,s:i,s:i,s:o,s:i,s:i,s:i,s:i,s:i,s:f,s:f}", "vertices",
                                  s.vertex_count, "surface", s.surface_count, "springs",
                                  s.spring_count, "kinds", kinds, "tets", s.tet_count, "parts",
                                  s.component_count, "isolated", s.isolated_count, "held",
                                  s.fixed_count, "pose_inverted", s.pose_inverted,
                                  "bytes_per_vertex", s.bytes_per_vertex, "seconds", s.seconds));
    json_object_set_new(report, "interior", json_string(s.interior));
    json_object_set_new(report, "boundary", json_string(boundaries[s.boundary]));
    if (s.pull_stiffness > 0)
        json_array_append_new(terms, json_pack("{s:s,s:f,s:f}", "name", "pull_to_blend", "epsilon",
                                               sn_scene_number(m->setup.scene, "pull_to_blend"),
                                               "stiffness", s.pull_stiffness));
    double c_v = sn_scene_number(m->setup.scene, "volume");
    if (s.volume_stiffness > 0)
        json_array_append_new(terms, json_pack("{s:s,s:f,s:f}", "name", "volume", "c_v", c_v,
                                               "stiffness", s.volume_stiffness));
    if (s.altitude_stiffness > 0)
        json_array_append_new(terms, json_pack("{s:s,s:f,s:f}", "name", "altitudes", "c_a",
                                               sn_scene_number(m->setup.scene, "altitude"),
                                               "stiffness", s.altitude_stiffness));
    double guide = sn_scene_number(m->setup.scene, "guide");
    if (guide > 0)
        json_array_append_new(terms, json_pack("{s:s,s:f}", "name", "directions", "beta", guide));
    json_object_set_new(report, "terms", terms);
    if (s.note[0]) sn_report_warning(report, s.note);
}

static sinew_status build(spring_model *m, sinew_error *error) {
    const sinew_scene *scene = m->setup.scene;
    SN_TRY(read_pins(m, error));
    SN_TRY(read_pulls(m, error));
    SN_TRY(prepare_obstacles(m, error));
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.boundary = (sinew_spring_boundary)sn_scene_choice(scene, "boundary");
    options.solver = (sinew_spring_solver)sn_scene_choice(scene, "solver");
    options.bending = (sinew_spring_bending)sn_scene_choice(scene, "bending");
    options.tolerance = sn_scene_number(scene, "tolerance");
    options.max_iterations = sn_scene_integer(scene, "max_iterations");
    options.time_limit = sn_scene_number(scene, "time_limit");
    options.independent = sn_scene_flag(scene, "independent");
    options.kappa[SINEW_SPRING_KIND_STRUCTURE] = sn_scene_number(scene, "stiffness_structure");
    options.kappa[SINEW_SPRING_KIND_BENDING] = sn_scene_number(scene, "stiffness_bending");
    options.kappa[SINEW_SPRING_KIND_INTERNAL] = sn_scene_number(scene, "stiffness_internal");
    options.interior = (sinew_spring_interior)sn_scene_choice(scene, "interior");
    options.interior_points = sn_scene_flag(scene, "interior_points");
    options.tie_distance = sn_scene_number(scene, "tie");
    options.volume = sn_scene_number(scene, "volume");
    options.pull_to_blend = sn_scene_number(scene, "pull_to_blend");
    options.guide = sn_scene_number(scene, "guide");
    options.altitude = sn_scene_number(scene, "altitude");
    options.friction = sn_scene_number(scene, "friction");
    options.contact_depth = sn_scene_number(scene, "contact_depth");
    options.max_rounds = sn_scene_integer(scene, "max_rounds");
    options.sample_edges = sn_scene_flag(scene, "sample_edges");
    options.self_contact = sn_scene_flag(scene, "self_contact");
    options.pins = m->pins, options.pin_count = m->pin_count;
    double *anchor = NULL, *map = NULL;
    int anchor_count = 0;
    sinew_status status = sn_scene_numbers(scene, "anchor", &anchor, &anchor_count, error);
    if (status == SINEW_OK && anchor_count != 0 && anchor_count != 12)
        status = sn_scene_fail(scene, error, "/parameters/anchor",
                               "an anchor has 12 numbers, not %d", anchor_count);
    if (status == SINEW_OK && anchor_count == 12) options.anchor = anchor;
    if (status == SINEW_OK)
        status = sn_scene_vertex_map(m->setup.scene, "stiffness_map", m->setup.rig, &map, error);
    options.stiffness_map = map;
    if (status == SINEW_OK)
        status = sinew_spring_create(m->setup.rig, &options, m->setup.monitor, &m->spring, error);
    sn_free(anchor), sn_free(map);
    if (status == SINEW_OK) status = sinew_spring_state_create(m->spring, &m->state, error);
    if (status == SINEW_OK) status = sinew_linear_create(m->setup.rig, &m->linear, error);
    if (status != SINEW_OK) return status;
    m->shape = SN_NEW(double, 3 * vertex_count(m));
    m->activations = SN_NEW(double, m->setup.rig->target_count);
    return m->shape && m->activations ? SINEW_OK : sn_no_memory(error);
}

static sinew_status create(const sn_model_setup *setup, void **model, sinew_error *error) {
    spring_model *m = SN_NEW0(spring_model, 1);
    if (!m) return sn_no_memory(error);
    memcpy((void *)&m->setup, setup, sizeof *setup);
    sinew_status status = build(m, error);
    if (status != SINEW_OK) {
        destroy(m);
        return status;
    }
    report_network(m);
    *model = m;
    return SINEW_OK;
}

/* ---- frames ---- */

/* Pins with frames follow them, the others the linear blend. */
static const double *place_pins(spring_model *m, int index) {
    bool given = false;
    for (int e = 0; e < m->pin_entries; e++) given |= m->pin_frames[e] != NULL;
    if (!given) return NULL;
    for (int k = 0; k < m->pin_count; k++) {
        const sinew_frames *frames = m->pin_frames[m->pin_entry[k]];
        size_t v = (size_t)m->pins[k];
        int at = frames && index >= frames->frame_count ? frames->frame_count - 1 : index;
        for (size_t c = 0; c < 3; c++)
            m->pin_positions[3 * (size_t)k + c] =
                frames ? (double)frames->positions[3 * ((size_t)at * vertex_count(m) + v) + c]
                       : m->shape[3 * v + c];
    }
    return m->pin_positions;
}

/* Each as [tet, four network vertices]; long lists are cut. */
static void list_new_inverted(const spring_model *m, json_t *fields) {
    enum { MOST = 100 };
    int tets[5 * MOST], count = sinew_spring_new_inverted(m->state, MOST, tets);
    json_t *list = json_array();
    for (int k = 0; k < count && k < MOST; k++) {
        const int *t = tets + 5 * k;
        json_array_append_new(list, json_pack("[i,i,i,i,i]", t[0], t[1], t[2], t[3], t[4]));
    }
    json_object_set_new(fields, "new_inverted_tets", list);
}

static void report_frame(const spring_model *m, int index, const sinew_spring_frame_info *s,
                         json_t *fields) {
    int sliders = m->setup.rig->slider_count;
    json_object_set_new(
        fields, "weights",
        sn_report_numbers(sliders, m->setup.clip->weights + (size_t)index * (size_t)sliders));
    json_object_set_new(fields, "inner_iterations", json_integer(s->inner_iterations));
    json_object_set_new(fields, "factorizations", json_integer(s->factorizations));
    json_object_set_new(fields, "extrapolated", json_boolean(s->extrapolated));
    json_object_set_new(fields, "time_limited", json_boolean(s->time_limited));
    json_object_set_new(fields, "clamped", json_integer(s->clamped));
    json_object_set_new(fields, "new_inverted", json_integer(s->new_inverted));
    if (s->new_inverted > 0) list_new_inverted(m, fields);
    json_object_set_new(fields, "flipped", json_integer(s->flipped));
    if (m->obstacles.count == 0 && !sn_scene_flag(m->setup.scene, "self_contact")) return;
    json_object_set_new(fields, "rounds", json_integer(s->rounds));
    json_object_set_new(fields, "depth", sn_report_number(s->depth));
    json_object_set_new(fields, "pose_depth", sn_report_number(s->pose_depth));
    json_object_set_new(fields, "adhesion", sn_report_number(s->adhesion));
}

static sinew_status frame(void *model, int index, double *positions, sinew_frame_info *info,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    spring_model *m = model;
    const double *weights =
        m->setup.clip->weights + (size_t)index * (size_t)m->setup.rig->slider_count;
    sinew_linear_evaluate(m->linear, weights, m->shape);
    sinew_rig_activations(m->setup.rig, weights, m->activations);
    if (m->obstacles.count > 0) {
        SN_TRY(sn_obstacles_move(&m->obstacles, m->setup.clip->times[index], m->shape, error));
        blend_depths(m);
    }
    sinew_spring_frame ask = {
        .size = sizeof ask,
        .weights = weights,
        .index = index,
        .pin_positions = place_pins(m, index),
        .pull_count = m->pull_count,
        .pulls = m->pulls,
        .obstacle_count = m->obstacles.count,
        .obstacles = (const sinew_obstacle *const *)m->obstacles.pointers,
        .allowed_depth = m->allowed,
        .allowed_triangle_depth = m->allowed_triangles,
        .carried = m->carried,
    };
    sinew_spring_frame_info solved = {.size = sizeof solved};
    sinew_status status =
        sinew_spring_solve(m->spring, m->state, &ask, positions, &solved, monitor, error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    info->iterations = solved.iterations;
    info->residual = solved.residual;
    info->energy = solved.energy;
    info->inverted = solved.inverted;
    info->contacts = solved.contacts;
    if (fields) report_frame(m, index, &solved, fields);
    if (m->network_writer)
        SN_TRY(sinew_frame_writer_add(m->network_writer, sinew_spring_network_positions(m->state),
                                      error));
    return status;
}

/* ---- outputs ---- */

static sinew_status begin(void *model, int first, int last, sinew_error *error) {
    spring_model *m = model;
    char *path;
    SN_TRY(sn_scene_output(m->setup.scene, "network_frames", &path, error));
    if (!path) return SINEW_OK;
    sinew_spring_info s = {.size = sizeof s};
    sinew_spring_get_info(m->spring, &s);
    sinew_mesh *points = NULL;
    double *zeros = SN_NEW0(double, 3 * (size_t)s.vertex_count);
    int none = 0;
    sinew_status status =
        zeros ? sinew_mesh_create(s.vertex_count, zeros, 0, NULL, &none, &points, error)
              : sn_no_memory(error);
    if (status == SINEW_OK)
        status =
            sinew_frame_writer_open(path, points, last - first + 1, m->setup.clip->times[first],
                                    m->setup.clip->rate, &m->network_writer, error);
    sinew_mesh_destroy(points);
    sn_free(zeros), sn_free(path);
    return status;
}

static sinew_status end(void *model, bool complete, json_t *report, sinew_error *error) {
    (void)report;
    spring_model *m = model;
    sinew_status status = SINEW_OK;
    if (m->network_writer && complete)
        status = sinew_frame_writer_close(m->network_writer, error);
    else
        sinew_frame_writer_abandon(m->network_writer);
    m->network_writer = NULL;
    if (status != SINEW_OK || !complete) return status;
    char *path;
    SN_TRY(sn_scene_output(m->setup.scene, "network", &path, error));
    if (path) status = sinew_spring_write_network(m->spring, path, error);
    sn_free(path);
    return status;
}

static const char *const outputs[] = {"network", "network_frames", NULL};
static const char *const uses[] = {"obstacles", "pins", "pulls", NULL};

const sn_model_kind sn_model_spring = {
    .about = {.name = "spring",
              .summary = "balance of springs with blended lengths: bends, leans and yields",
              .parameter_count = sizeof parameters / sizeof *parameters,
              .parameters = parameters},
    .outputs = outputs,
    .uses = uses,
    .run_length = SN_HISTORY_RUN,
    .create = create,
    .destroy = destroy,
    .frame = frame,
    .begin = begin,
    .end = end,
};
