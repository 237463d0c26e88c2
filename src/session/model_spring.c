/* Spring blendshapes as a model: the scene's obstacles, pins and pulls. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "mesh/normals.h"
#include "session/device.h"
#include "session/fibers.h"
#include "session/holds.h"
#include "session/load.h"
#include "session/model.h"
#include "session/obstacles.h"
#include "session/outputs.h"
#include "session/parameters.h"
#include "session/pose_depths.h"
#include "session/report.h"
#include "sinew/selection.h"
#include "sinew/spring.h"
#include "spring/structure.h"

static const sinew_parameter parameters[] = {
    FLAG(STRUCTURE, "published", 0,
         "the published method: bending ring, interior tets, solver published, and no guide, "
         "altitude, volume or pull_to_blend, whatever is given for them"),
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
    SN_DEVICE_PARAMETER,
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
    NUMBER(STRUCTURE, "tie", 0, 0, 1, "fraction of the diagonal",
           "Longest spring between parts that stay close in all poses, so that they also hold "
           "together under loads; 0: none."),
    NUMBER(STRUCTURE, "stiffness_tie", SINEW_SPRING_TIE_KAPPA, 1e-9, 1e9, "",
           "Stiffness of the springs between parts."),
    NUMBER(STRUCTURE, "volume", SINEW_SPRING_VOLUME, 0, 1e9, "",
           "weight of the signed-volume term"),
    NUMBER(STRUCTURE, "pull_to_blend", SINEW_SPRING_PULL_TO_BLEND, 0, 1e9, "",
           "weak pull to the rotation-aware blend, relative to the mean spring"),
    NUMBER(STATE, "friction", SINEW_SPRING_FRICTION, 0, 1e3, "", "Coulomb's mu against obstacles"),
    NUMBER(STRUCTURE, "contact_depth", SINEW_SPRING_CONTACT_DEPTH, 1e-9, 1, "share of the diagonal",
           "allowed penetration"),
    TEXT(STRUCTURE, "hold", SN_HOLD_HELP),
    NUMBERS(NOTHING, "gravity", "mean edge",
            "force on a vertex of mean area: 3 numbers; 1 stretches a mean spring by a mean edge"),
    PATH(NOTHING, "mass_map", "Factors of the mass, on which gravity acts: CSV vertex,value."),
    NUMBERS(NOTHING, "wind", "mean edge",
            "force on a vertex of mean area that faces it squarely: 3 numbers"),
    INTEGER(NOTHING, "max_rounds", SINEW_SPRING_MAX_ROUNDS, 1, 100000, "contact rounds per frame"),
    FLAG(NOTHING, "sample_edges", 1, "look between vertices for thin obstacles"),
    FLAG(STRUCTURE, "self_contact", 0, "keep the surface from crossing itself"),
    CHOICE(NOTHING, "pose_depth", 0, "parts|all|none",
           "obstacles into which vertices may sink as deep as in the poses"),
};

/* ---- what the scene says ---- */

typedef struct pin_list {
    int count, entries;
    int *vertices;
    int *entry; /* per pin: which of the scene's */
} pin_list;

static void free_pins(pin_list *pins) {
    sn_free(pins->vertices), sn_free(pins->entry);
    *pins = (pin_list){0};
}

/* Held vertices are pins without frames, which follow the linear blend: one entry more. */
static sinew_status add_holds(const sn_model_setup *setup, pin_list *pins, size_t *capacity,
                              size_t *entry_capacity, sinew_error *error) {
    int *held = NULL, count = 0;
    SN_TRY(sn_holds_select(setup, &held, &count, error));
    bool ok = SN_RESERVE(pins->vertices, *capacity, pins->count + count) &&
              SN_RESERVE(pins->entry, *entry_capacity, pins->count + count);
    for (int k = 0; ok && k < count; k++) {
        pins->vertices[pins->count] = held[k];
        pins->entry[pins->count++] = pins->entries;
    }
    pins->entries += count > 0;
    sn_free(held);
    return ok ? SINEW_OK : sn_no_memory(error);
}

static sinew_status read_pins(const sn_model_setup *setup, pin_list *pins, sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "pins");
    size_t capacity = 0, entry_capacity = 0;
    pins->entries = (int)json_array_size(list);
    for (int e = 0; e < pins->entries; e++) {
        const json_t *pin = json_array_get(list, (size_t)e);
        if (json_object_get(pin, "motion") || json_object_get(pin, "stiffness"))
            return sn_scene_fail(setup->scene, error, "/pins",
                                 "motion and stiffness are for the modal model; use pulls");
        int *found = NULL, count = 0;
        SN_TRY(sinew_select(setup->rig, json_string_value(json_object_get(pin, "select")),
                            setup->scene->folder, setup->loader, NULL, &found, &count, error));
        bool ok = SN_RESERVE(pins->vertices, capacity, pins->count + count) &&
                  SN_RESERVE(pins->entry, entry_capacity, pins->count + count);
        for (int k = 0; ok && k < count; k++) {
            pins->vertices[pins->count] = found[k];
            pins->entry[pins->count++] = e;
        }
        sinew_free(found);
        if (!ok) return sn_no_memory(error);
    }
    return add_holds(setup, pins, &capacity, &entry_capacity, error);
}

/* The published choices over the scene's parameters. */
static void use_published(sinew_spring_options *options) {
    sinew_spring_options published;
    sinew_spring_options_published(&published);
    options->bending = published.bending, options->interior = published.interior;
    options->volume = published.volume, options->guide = published.guide;
    options->altitude = published.altitude, options->pull_to_blend = published.pull_to_blend;
    options->solver = published.solver;
}

static void read_options(const sinew_scene *scene, sinew_spring_options *options) {
    sinew_spring_options_init(options);
    options->boundary = (sinew_spring_boundary)sn_scene_choice(scene, "boundary");
    options->solver = (sinew_spring_solver)sn_scene_choice(scene, "solver");
    options->bending = (sinew_spring_bending)sn_scene_choice(scene, "bending");
    options->tolerance = sn_scene_number(scene, "tolerance");
    options->max_iterations = sn_scene_integer(scene, "max_iterations");
    options->time_limit = sn_scene_number(scene, "time_limit");
    options->independent = sn_scene_flag(scene, "independent");
    options->kappa[SINEW_SPRING_KIND_STRUCTURE] = sn_scene_number(scene, "stiffness_structure");
    options->kappa[SINEW_SPRING_KIND_BENDING] = sn_scene_number(scene, "stiffness_bending");
    options->kappa[SINEW_SPRING_KIND_INTERNAL] = sn_scene_number(scene, "stiffness_internal");
    options->kappa[SINEW_SPRING_KIND_TIE] = sn_scene_number(scene, "stiffness_tie");
    options->interior = (sinew_spring_interior)sn_scene_choice(scene, "interior");
    options->interior_points = sn_scene_flag(scene, "interior_points");
    options->tie_distance = sn_scene_number(scene, "tie");
    options->volume = sn_scene_number(scene, "volume");
    options->pull_to_blend = sn_scene_number(scene, "pull_to_blend");
    options->guide = sn_scene_number(scene, "guide");
    options->altitude = sn_scene_number(scene, "altitude");
    options->friction = sn_scene_number(scene, "friction");
    options->contact_depth = sn_scene_number(scene, "contact_depth");
    options->max_rounds = sn_scene_integer(scene, "max_rounds");
    options->sample_edges = sn_scene_flag(scene, "sample_edges");
    options->self_contact = sn_scene_flag(scene, "self_contact");
    if (sn_scene_flag(scene, "published")) use_published(options);
}

/* ---- the structure ---- */

static void key(const sn_model_setup *setup, sinew_hash *hash) {
    const json_t *pins = sn_scene_at(setup->scene, "pins");
    for (size_t k = 0; k < json_array_size(pins); k++)
        sinew_hash_add_text(hash,
                            json_string_value(json_object_get(json_array_get(pins, k), "select")));
    sn_fibers_key(setup, hash);
}

static void report_network(const sinew_spring *spring, const sn_model_setup *setup) {
    static const char *const boundaries[] = {"free", "static", "pinned", "anchor"};
    sinew_spring_info s = {.size = sizeof s};
    sinew_spring_get_info(spring, &s);
    json_t *kinds = json_object(), *terms = json_array(), *report = setup->report;
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
                                               sn_scene_number(setup->scene, "pull_to_blend"),
                                               "stiffness", s.pull_stiffness));
    double c_v = sn_scene_number(setup->scene, "volume");
    if (s.volume_stiffness > 0)
        json_array_append_new(terms, json_pack("{s:s,s:f,s:f}", "name", "volume", "c_v", c_v,
                                               "stiffness", s.volume_stiffness));
    if (s.altitude_stiffness > 0)
        json_array_append_new(terms, json_pack("{s:s,s:f,s:f}", "name", "altitudes", "c_a",
                                               sn_scene_number(setup->scene, "altitude"),
                                               "stiffness", s.altitude_stiffness));
    sinew_spring_options options;
    read_options(setup->scene, &options);
    if (options.guide > 0)
        json_array_append_new(
            terms,
            json_pack("{s:s,s:f,s:f}", "name", "directions", "beta", options.guide, "stiffness",
                      options.guide * options.kappa[SINEW_SPRING_KIND_STRUCTURE]));
    json_object_set_new(report, "terms", terms);
    if (s.note[0]) sn_report_warning(report, s.note);
}

static sinew_status build(const sn_model_setup *setup, void **structure, sinew_error *error) {
    const sinew_scene *scene = setup->scene;
    sinew_spring_options options;
    read_options(scene, &options);
    pin_list pins = {0};
    double *anchor = NULL, *map = NULL, *fibers = NULL;
    int anchor_count = 0;
    sinew_status status = read_pins(setup, &pins, error);
    options.pins = pins.vertices, options.pin_count = pins.count;
    if (status == SINEW_OK)
        status = sn_scene_numbers(scene, "anchor", &anchor, &anchor_count, error);
    if (status == SINEW_OK && anchor_count != 0 && anchor_count != 12)
        status = sn_scene_fail(scene, error, "/parameters/anchor",
                               "an anchor has 12 numbers, not %d", anchor_count);
    if (status == SINEW_OK && anchor_count == 12) options.anchor = anchor;
    if (status == SINEW_OK)
        status = sn_load_vertex_map(scene, setup->loader, "stiffness_map", setup->rig, &map, error);
    options.stiffness_map = map;
    if (status == SINEW_OK) status = sn_fibers_read(setup, &fibers, error);
    options.fibers = fibers;
    options.cache = setup->cache;
    sinew_spring *spring = NULL;
    if (status == SINEW_OK)
        status = sinew_spring_create(setup->rig, &options, setup->monitor, &spring, error);
    sn_free(anchor), sn_free(map), sn_free(fibers);
    free_pins(&pins);
    SN_TRY(status);
    report_network(spring, setup);
    *structure = spring;
    return SINEW_OK;
}

static void discard(void *structure) {
    sinew_spring_destroy(structure);
}

/* ---- the model of one solver ---- */

typedef struct spring_model {
    const sinew_rig *rig;
    const sinew_spring *spring;
    sinew_spring_state *state;
    sinew_linear *linear;
    double *shape; /* linear blend, for parts */
    double *activations;
    pin_list pins;
    sinew_frames **pin_frames; /* per entry of the scene's pins, or NULL */
    double *pin_positions;
    sinew_spring_pull *pulls;
    sinew_frames **pull_frames; /* per pull: what its vertex follows, or NULL */
    int pull_count;
    double gravity[3], wind[3];
    double *mass_map; /* factors per vertex; NULL: 1 */
    double *forces;   /* 3 per vertex */
    bool forced;      /* there is gravity or wind */
    sn_obstacles obstacles;
    sn_pose_depths depths;
    sinew_spring_options settings;
    sn_device device;
} spring_model;

static void free_pin_frames(sinew_frames **frames, int count) {
    for (int e = 0; frames && e < count; e++) sinew_frames_destroy(frames[e]);
    sn_free(frames);
}

static sinew_status share_device(sn_gpu *gpu, const void *structure, void **frames,
                                 sinew_error *error) {
    return sn_gpu_spring_share(gpu, structure, (sn_gpu_spring **)frames, error);
}

static void drop_device(void *frames) {
    sn_gpu_spring_drop(frames);
}

static void destroy(void *model) {
    spring_model *m = model;
    if (!m) return;
    sn_device_close(&m->device, drop_device);
    sinew_spring_state_destroy(m->state);
    sinew_linear_destroy(m->linear);
    sn_pose_depths_free(&m->depths);
    sn_obstacles_free(&m->obstacles);
    free_pin_frames(m->pin_frames, m->pins.entries);
    free_pins(&m->pins);
    free_pin_frames(m->pull_frames, m->pull_count);
    sn_free(m->forces), sn_free(m->mass_map);
    sn_free(m->pin_positions), sn_free(m->pulls), sn_free(m->shape), sn_free(m->activations);
    sn_free(m);
}

static sinew_status update_pins(spring_model *m, const sn_model_setup *setup, sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "pins");
    pin_list pins = {0};
    sinew_frames **frames = NULL;
    double *positions = NULL;
    sinew_status status = read_pins(setup, &pins, error);
    if (status == SINEW_OK) {
        frames = SN_NEW0(sinew_frames *, pins.entries);
        positions = SN_NEW(double, 3 * (size_t)pins.count);
        if (!frames || !positions) status = sn_no_memory(error);
    }
    for (int e = 0; status == SINEW_OK && e < pins.entries; e++) {
        const char *file =
            json_string_value(json_object_get(json_array_get(list, (size_t)e), "frames"));
        if (file)
            status = sn_load_frames(setup->scene, setup->loader, file, setup->rig->neutral,
                                    &frames[e], error);
    }
    if (status != SINEW_OK) {
        free_pin_frames(frames, pins.entries);
        sn_free(positions);
        free_pins(&pins);
        return status;
    }
    free_pin_frames(m->pin_frames, m->pins.entries);
    free_pins(&m->pins);
    sn_free(m->pin_positions);
    m->pins = pins, m->pin_frames = frames, m->pin_positions = positions;
    return SINEW_OK;
}

static sinew_status update_pulls(spring_model *m, const sn_model_setup *setup, sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "pulls");
    int count = (int)json_array_size(list);
    sinew_spring_pull *pulls = SN_NEW0(sinew_spring_pull, count);
    sinew_frames **frames = SN_NEW0(sinew_frames *, count);
    sinew_status status = pulls && frames ? SINEW_OK : sn_no_memory(error);
    for (int k = 0; k < count && status == SINEW_OK; k++) {
        char place[48];
        const json_t *pull = json_array_get(list, (size_t)k);
        const json_t *stiffness = json_object_get(pull, "stiffness");
        pulls[k].vertex = (int)json_integer_value(json_object_get(pull, "vertex"));
        sn_json_point(json_object_get(pull, "to"), pulls[k].position);
        pulls[k].stiffness = stiffness ? json_number_value(stiffness) : INFINITY;
        const char *file = json_string_value(json_object_get(pull, "frames"));
        snprintf(place, sizeof place, "/pulls/%d/vertex", k);
        if (pulls[k].vertex >= m->rig->neutral->vertex_count)
            status =
                sn_scene_fail(setup->scene, error, place, "there is no vertex %d", pulls[k].vertex);
        snprintf(place, sizeof place, "/pulls/%d", k);
        if (status == SINEW_OK && !file == !json_object_get(pull, "to"))
            status =
                sn_scene_fail(setup->scene, error, place, "a pull has either \"to\" or \"frames\"");
        if (status == SINEW_OK && file)
            status = sn_load_frames(setup->scene, setup->loader, file, setup->rig->neutral,
                                    &frames[k], error);
    }
    if (status != SINEW_OK) {
        free_pin_frames(frames, count);
        sn_free(pulls);
        return status;
    }
    free_pin_frames(m->pull_frames, m->pull_count);
    sn_free(m->pulls);
    m->pulls = pulls, m->pull_frames = frames, m->pull_count = count;
    return SINEW_OK;
}

/* Three numbers, or none. */
static sinew_status read_field(const sn_model_setup *setup, const char *name, double field[3],
                               sinew_error *error) {
    double *values = NULL;
    int count = 0;
    SN_TRY(sn_scene_numbers(setup->scene, name, &values, &count, error));
    sinew_status status = SINEW_OK;
    char place[48];
    snprintf(place, sizeof place, "/parameters/%s", name);
    if (count != 0 && count != 3)
        status = sn_scene_fail(setup->scene, error, place, "a vector has 3 numbers, not %d", count);
    for (int c = 0; c < 3 && status == SINEW_OK; c++) field[c] = count == 3 ? values[c] : 0;
    sn_free(values);
    return status;
}

static sinew_status update_forces(spring_model *m, const sn_model_setup *setup,
                                  sinew_error *error) {
    SN_TRY(read_field(setup, "gravity", m->gravity, error));
    SN_TRY(read_field(setup, "wind", m->wind, error));
    double *mass_map;
    SN_TRY(sn_load_vertex_map(setup->scene, setup->loader, "mass_map", m->rig, &mass_map, error));
    sn_free(m->mass_map);
    m->mass_map = mass_map;
    m->forced = false;
    for (int c = 0; c < 3; c++) m->forced |= m->gravity[c] != 0 || m->wind[c] != 0;
    if (m->forced && !m->forces)
        m->forces = SN_NEW(double, 3 * (size_t)m->rig->neutral->vertex_count);
    return m->forced && !m->forces ? sn_no_memory(error) : SINEW_OK;
}

static sinew_status update_obstacles(spring_model *m, const sn_model_setup *setup,
                                     sinew_error *error) {
    SN_TRY(sn_obstacles_update(setup->scene, m->rig, setup->loader, &m->obstacles, error));
    sn_depth_rule rule = (sn_depth_rule)sn_scene_choice(setup->scene, "pose_depth");
    SN_TRY(sn_pose_depths_update(m->rig, &m->obstacles, rule, &m->depths, error));
    /* friction remembers obstacles by their number */
    for (int o = 0; o < m->obstacles.count; o++)
        if (m->obstacles.list[o].fresh) sinew_spring_state_reset(m->state);
    return SINEW_OK;
}

static sinew_status update(void *model, const sn_model_setup *setup, uint32_t changed,
                           sinew_error *error) {
    spring_model *m = model;
    uint32_t parameters_bit = 1u << sn_scene_key_bit("parameters");
    if (changed & 1u << sn_scene_key_bit("pins")) SN_TRY(update_pins(m, setup, error));
    if (changed & 1u << sn_scene_key_bit("pulls")) SN_TRY(update_pulls(m, setup, error));
    if (changed & (1u << sn_scene_key_bit("obstacles") | parameters_bit))
        SN_TRY(update_obstacles(m, setup, error));
    if (!(changed & parameters_bit)) return SINEW_OK;
    SN_TRY(update_forces(m, setup, error));
    SN_TRY(sn_device_update(setup, m->spring, share_device, drop_device, &m->device, error));
    sinew_spring_options options;
    read_options(setup->scene, &options);
    SN_TRY(sinew_spring_state_set(m->state, &options, error));
    if (options.friction != m->settings.friction || options.independent != m->settings.independent)
        sinew_spring_state_reset(m->state);
    m->settings = options;
    return SINEW_OK;
}

static sinew_status create(const sn_model_setup *setup, const void *structure, void **model,
                           sinew_error *error) {
    spring_model *m = SN_NEW0(spring_model, 1);
    if (!m) return sn_no_memory(error);
    m->rig = setup->rig, m->spring = structure;
    m->shape = SN_NEW(double, 3 * (size_t)m->rig->neutral->vertex_count);
    m->activations = SN_NEW(double, m->rig->target_count);
    sinew_status status = m->shape && m->activations ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sinew_spring_state_create(m->spring, &m->state, error);
    if (status == SINEW_OK) status = sinew_linear_create(m->rig, &m->linear, error);
    if (status == SINEW_OK) status = update(m, setup, UINT32_MAX, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

/* ---- frames ---- */

/* Where vertex v is in frame `index`, or in the last one after the end. */
static void followed_position(const spring_model *m, const sinew_frames *frames, int index,
                              size_t v, double position[3]) {
    size_t n = (size_t)m->rig->neutral->vertex_count;
    int at = index >= frames->frame_count ? frames->frame_count - 1 : index;
    for (size_t c = 0; c < 3; c++)
        position[c] = (double)frames->positions[3 * ((size_t)at * n + v) + c];
}

static void place_pulls(spring_model *m, int index) {
    for (int k = 0; k < m->pull_count; k++)
        if (m->pull_frames[k])
            followed_position(m, m->pull_frames[k], index, (size_t)m->pulls[k].vertex,
                              m->pulls[k].position);
}

/* Gravity acts on a vertex by its share of the area, wind by the part of that share that faces it.
 */
static const double *find_forces(spring_model *m) {
    if (!m->forced) return NULL;
    const sinew_mesh *mesh = m->rig->neutral;
    size_t n = (size_t)mesh->vertex_count;
    sinew_spring_info info = {.size = sizeof info};
    sinew_spring_get_info(m->spring, &info);
    sn_vec3 gravity = sn_at(m->gravity, 0), wind = sn_at(m->wind, 0);
    double total = 0;
    memset(m->forces, 0, 3 * n * sizeof *m->forces);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        sn_vec3 normal = sn_area_vector(m->shape, v);
        double area = sn_length(normal);
        if (!(area > 0)) continue;
        total += area;
        for (int c = 0; c < 3; c++) {
            double mass = m->mass_map ? area * m->mass_map[v[c]] : area;
            sn_vec3 force =
                sn_add_scaled(sn_scale(mass, gravity), sn_dot(wind, normal) / area, normal);
            sn_put(m->forces, v[c], sn_add_scaled(sn_at(m->forces, v[c]), 1.0 / 3, force));
        }
    }
    double scale = total > 0 ? (double)n * info.mean_edge / total : 0;
    for (size_t k = 0; k < 3 * n; k++) m->forces[k] *= scale;
    return m->forces;
}

/* Pins with frames follow them, the others the linear blend. */
static const double *place_pins(spring_model *m, int index) {
    bool given = false;
    for (int e = 0; e < m->pins.entries; e++) given |= m->pin_frames[e] != NULL;
    if (!given) return NULL;
    for (int k = 0; k < m->pins.count; k++) {
        const sinew_frames *frames = m->pin_frames[m->pins.entry[k]];
        size_t v = (size_t)m->pins.vertices[k];
        double *position = m->pin_positions + 3 * (size_t)k;
        if (frames)
            followed_position(m, frames, index, v, position);
        else
            memcpy(position, m->shape + 3 * v, 3 * sizeof *position);
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

static void report_frame(const spring_model *m, const sn_ask *ask, const sinew_spring_frame_info *s,
                         json_t *fields) {
    json_object_set_new(fields, "weights", sn_report_numbers(m->rig->slider_count, ask->weights));
    json_object_set_new(fields, "inner_iterations", json_integer(s->inner_iterations));
    json_object_set_new(fields, "factorizations", json_integer(s->factorizations));
    json_object_set_new(fields, "extrapolated", json_boolean(s->extrapolated));
    json_object_set_new(fields, "time_limited", json_boolean(s->time_limited));
    json_object_set_new(fields, "clamped", json_integer(s->clamped));
    json_object_set_new(fields, "new_inverted", json_integer(s->new_inverted));
    if (s->new_inverted > 0) list_new_inverted(m, fields);
    json_object_set_new(fields, "flipped", json_integer(s->flipped));
    if (m->obstacles.count == 0 && !m->settings.self_contact) return;
    json_object_set_new(fields, "rounds", json_integer(s->rounds));
    json_object_set_new(fields, "depth", sn_report_number(s->depth));
    json_object_set_new(fields, "pose_depth", sn_report_number(s->pose_depth));
    json_object_set_new(fields, "adhesion", sn_report_number(s->adhesion));
}

static sinew_past past(const void *model, int *run) {
    const spring_model *m = model;
    if (m->settings.friction > 0 && m->obstacles.count > 0) return SINEW_PAST_ALL;
    *run = SN_HISTORY_RUN;
    if (m->device.gpu) return SINEW_PAST_NONE; /* it starts every frame from the blend */
    return m->settings.independent ? SINEW_PAST_NONE : SINEW_PAST_RUN;
}

/* Live frames follow each other, unless frames are independent. */
static int frame_index(const spring_model *m, const sn_ask *ask) {
    int run;
    if (ask->frame >= 0) return ask->frame;
    return past(m, &run) == SINEW_PAST_NONE ? -1 : m->state->last_index + 1;
}

/* Obstacles by their number in the scene. */
static void list_contacts(const spring_model *m, const sn_ask *ask, sinew_result *result) {
    if (!ask->contacts || result->contact_count == 0) return;
    result->contacts_returned =
        sn_spring_list_contacts(m->state, ask->contact_capacity, ask->contacts);
    for (int k = 0; k < result->contacts_returned; k++)
        if (ask->contacts[k].obstacle >= 0)
            ask->contacts[k].obstacle = m->obstacles.list[ask->contacts[k].obstacle].index;
}

/* On the device where it can; a device that fails is given up. */
static sinew_status solve_frame(spring_model *m, const sinew_spring_frame *frame, double *positions,
                                sinew_spring_frame_info *info, bool *on_device,
                                const sinew_monitor *monitor, sinew_error *error) {
    const char *why = NULL;
    sinew_error failure = {0};
    *on_device = false;
    if (m->device.gpu) {
        why = sn_gpu_spring_refuses(m->device.frames, frame);
        if (!why) {
            sinew_status status = sn_gpu_spring_solve(m->device.frames, m->state, frame, positions,
                                                      info, monitor, error ? error : &failure);
            *on_device = status != SINEW_UNAVAILABLE;
            if (*on_device) return status;
            why = error ? error->message : failure.message;
        }
        sn_device_hand_over(&m->device, why, monitor);
    }
    return sinew_spring_solve(m->spring, m->state, frame, positions, info, monitor, error);
}

static sinew_status solve(void *model, const sn_ask *ask, double *positions, sinew_result *result,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    spring_model *m = model;
    sinew_linear_evaluate(m->linear, ask->weights, m->shape);
    if (m->obstacles.count > 0) {
        sinew_rig_activations(m->rig, ask->weights, m->activations);
        SN_TRY(sn_pose_depths_blend(&m->depths, &m->obstacles, m->activations, error));
        SN_TRY(sn_obstacles_move(&m->obstacles, ask->time, m->shape, error));
    }
    place_pulls(m, ask->sample);
    m->state->live = ask->frame < 0;
    sinew_spring_frame frame = {
        .size = sizeof frame,
        .forces = find_forces(m),
        .weights = ask->weights,
        .index = frame_index(m, ask),
        .pin_positions = place_pins(m, ask->sample),
        .pull_count = m->pull_count,
        .pulls = m->pulls,
        .obstacle_count = m->obstacles.count,
        .obstacles = (const sinew_obstacle *const *)m->obstacles.pointers,
        .allowed_depth = m->depths.vertices,
        .allowed_triangle_depth = m->depths.triangles,
        .carried = m->depths.carried,
    };
    sinew_spring_frame_info solved = {.size = sizeof solved};
    bool on_device;
    sinew_status status = solve_frame(m, &frame, positions, &solved, &on_device, monitor, error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    result->iterations = solved.iterations;
    result->residual = solved.residual;
    result->energy = solved.energy;
    result->inverted = solved.inverted;
    result->contact_count = solved.contacts;
    list_contacts(m, ask, result);
    result->time_limited = solved.time_limited;
    if (fields) report_frame(m, ask, &solved, fields);
    if (fields && m->device.choice)
        json_object_set_new(fields, "device", json_string(on_device ? "gpu" : "cpu"));
    return status;
}

/* ---- the past ---- */

static void reset(void *model) {
    sinew_spring_state_reset(((spring_model *)model)->state);
}

static void pack(const void *model, sn_pack *bytes) {
    sn_spring_pack(((const spring_model *)model)->state, bytes);
}

static sinew_status unpack(void *model, sn_unpack *bytes, sinew_error *error) {
    return sn_spring_unpack(((spring_model *)model)->state, bytes, error);
}

const double *sn_model_spring_network(const void *model) {
    return sinew_spring_network_positions(((const spring_model *)model)->state);
}

static const char *const outputs[] = {"network", "network_frames", NULL};
static const char *const uses[] = {"obstacles", "pins", "pulls", "fibers", NULL};

const sn_model_kind sn_model_spring = {
    SN_MODEL_ABOUT("spring", "balance of springs with blended lengths: bends, leans and yields"),
    .outputs = outputs,
    .uses = uses,
    .key = key,
    SN_MODEL_FUNCTIONS,
    .update = update,
    SN_MODEL_PAST,
};
