/* Blending poses by the rotation and strain of their elements.
 *
 * Based on: Sumner et al., "Mesh-based inverse kinematics" (2005), who blend rotations of triangles
 * in log space; the coordinates are those of mesh/rotation_strain.h.
 * We differ in: rotations beyond half a turn (unwrapped coordinates), targets of a delta rig stored
 * for the elements they move only, in-betweens and combinations, and the motion of a part as a
 * whole. Where a target moves all of a part, its mean rotation is taken out first and blended by
 * itself, which leaves smaller rotations to the elements (cats: 3.2% -> 2.2% edge distortion).
 * And a head must not drift when its jaw opens, so vertices that no target moves hold their part
 * where there are any. */
#include "rig/rotation_blend.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/scope.h"
#include "base/sized.h"
#include "mesh/rotation_links.h"
#include "mesh/rotation_orient.h"
#include "mesh/rotation_refine.h"
#include "mesh/rotation_system.h"
#include "rig/activations.h"
#include "rig/part_links.h"
#include "rig/rotation_store.h"
#include "rig/rotation_structure.h"
#include "rig/rotation_trial.h"
#include "rig/stretched_pairs.h"

/* Elements that one thread blends at a time. */
enum { BLOCK = 2048 };
/* A part is held by its unmoved vertices when they are at least this fraction of it; a target that
 * moves less than the remaining fraction of a part does not turn it as a whole. */
static const double HELD_SHARE = 0.01;

struct sinew_rotation_state {
    sn_rotation_strain_work *work;
    double *activations;
    double *coordinates; /* SN_RS_SIZE per element */
    double *centers;     /* 3 per component */
    double *turns;       /* 3 per component */
    sn_mat3 *rotations;  /* per element, or NULL when nothing is refined */
};

const sn_rotation_strain *sn_rotation_structure(const sinew_rotation *rotation) {
    return rotation->structure;
}

/* ---- set-up ------------------------------------------------------------------------------- */

/* Scratch of the set-up. */
typedef struct builder {
    sinew_rotation *rotation;
    const sinew_rig *rig;
    double *pose;        /* 3 per vertex */
    double *weights;     /* slider weights of a combination's full pose */
    double *activations; /* at those weights, of the targets that are stored already */
    double *dense;       /* SN_RS_SIZE per element */
    double *measured;    /* SN_RS_SIZE per active element */
    int *active;
    bool *touched; /* per element */
    int *region;   /* per element: region at rest, -1: moved */
    int *queue;    /* per element */

    /* per component */
    double *pose_centers;
    double *moved_mass;
    int *anchor; /* its largest region at rest, -1: none */
    int *anchor_size;
} builder;

static void add_delta(const sinew_target *target, double activation, double *pose) {
    for (int i = 0; i < target->count; i++)
        for (int axis = 0; axis < 3; axis++)
            pose[3 * (size_t)target->vertices[i] + axis] +=
                activation * target->deltas[3 * (size_t)i + axis];
}

static bool is_moved(const builder *b, int vertex) {
    return memcmp(b->pose + 3 * (size_t)vertex, b->rotation->rest + 3 * (size_t)vertex,
                  3 * sizeof(double)) != 0;
}

/* b->pose = the full sculpted pose of target k, b->activations = those of all other targets in it:
 * none for a plain target or an in-between. Combinations of more drivers, or later ones of as many,
 * come after k and build on it. */
static void set_pose(builder *b, int k, const double *given) {
    const sinew_target *target = &b->rig->targets[k];
    int target_count = b->rotation->target_count;
    memcpy(b->pose, given ? given : b->rotation->rest,
           (size_t)3 * b->rotation->vertex_count * sizeof(double));
    for (int j = 0; j < target_count; j++) b->activations[j] = 0;
    if (target->kind == SINEW_TARGET_KIND_COMBINATION && !target->terms) {
        for (int s = 0; s < b->rig->slider_count; s++) b->weights[s] = b->rig->sliders[s].rest;
        for (int d = 0; d < target->driver_count; d++) b->weights[target->drivers[d]] = 1;
        sn_activations(b->rotation->plan, b->weights, b->activations, NULL);
        for (int j = 0; j < target_count; j++) {
            const sinew_target *other = &b->rig->targets[j];
            bool later = other->kind == SINEW_TARGET_KIND_COMBINATION &&
                         (other->driver_count > target->driver_count ||
                          (other->driver_count == target->driver_count && j >= k));
            if (later) b->activations[j] = 0;
            if (!given && b->activations[j] != 0) add_delta(other, b->activations[j], b->pose);
        }
    }
    if (!given) add_delta(target, 1, b->pose);
}

/* Finds the turn of each part as a whole and takes it out of b->pose, about the part's center. */
static sinew_status take_out_turns(builder *b, sn_blend_target *stored, sinew_error *error) {
    const sinew_rotation *r = b->rotation;
    const sn_rotation_strain *rs = r->structure;
    stored->turns = SN_NEW0(double, (size_t)3 * rs->component_count);
    if (!stored->turns) return sn_no_memory(error);
    memset(b->moved_mass, 0, (size_t)rs->component_count * sizeof *b->moved_mass);
    for (int i = 0; i < r->vertex_count; i++)
        if (rs->vertex_component[i] >= 0 && is_moved(b, i))
            b->moved_mass[rs->vertex_component[i]] += rs->vertex_mass[i];
    sn_rotation_strain_centers(rs, b->pose, b->pose_centers);
    bool any = false;
    for (int c = 0; c < rs->component_count; c++)
        any |= b->moved_mass[c] > (1 - HELD_SHARE) * rs->component_mass[c];
    if (any && !r->published) {
        SN_TRY(sn_rotation_strain_turns(rs, r->rest, r->rest_centers, b->pose, b->pose_centers,
                                        stored->turns, error));
        for (int c = 0; c < rs->component_count; c++)
            if (!(b->moved_mass[c] > (1 - HELD_SHARE) * rs->component_mass[c]))
                sn_put(stored->turns, c, sn_v3(0, 0, 0));
        sn_rotation_strain_turn(rs, b->pose_centers, stored->turns, -1, b->pose);
    }
    for (int j = 0; j < r->target_count; j++)
        for (int c = 0; b->activations[j] != 0 && c < 3 * rs->component_count; c++)
            stored->turns[c] -= b->activations[j] * r->targets[j].turns[c];
    return SINEW_OK;
}

/* Labels the regions of untouched elements and finds the largest of each component, its anchor. */
static void find_regions_at_rest(builder *b) {
    const sn_rotation_strain *rs = b->rotation->structure;
    for (int c = 0; c < rs->component_count; c++) b->anchor[c] = -1, b->anchor_size[c] = 0;
    for (int e = 0; e < rs->item_count; e++) b->region[e] = -1;
    for (int start = 0; start < rs->item_count; start++) {
        if (b->touched[start] || b->region[start] >= 0) continue;
        int count = 0;
        b->queue[count++] = start;
        b->region[start] = start;
        for (int i = 0; i < count; i++) {
            int e = b->queue[i];
            for (int k = rs->neighbour_start[e]; k < rs->neighbour_start[e + 1]; k++) {
                int next = rs->neighbours[k];
                if (b->touched[next] || b->region[next] >= 0) continue;
                b->region[next] = start;
                b->queue[count++] = next;
            }
        }
        int component = sn_rotation_component(rs, start);
        if (count > b->anchor_size[component])
            b->anchor_size[component] = count, b->anchor[component] = start;
    }
}

/* At rest, though not where w = 0 is known: in another region than the component's anchor. A bar
 * twisted by full turns has its far end there. */
static bool is_island(const builder *b, int element) {
    int region = b->region[element];
    return region >= 0 &&
           region != b->anchor[sn_rotation_component(b->rotation->structure, element)];
}

static bool is_zero(const double *coordinates) {
    for (int c = 0; c < SN_RS_SIZE; c++)
        if (fabs(coordinates[c]) > 1e-12) return false;
    return true;
}

/* Coordinates of b->pose less those of the other targets in it. */
static sinew_status store_coordinates(builder *b, sn_blend_target *stored, sinew_error *error) {
    const sinew_rotation *r = b->rotation;
    const sn_rotation_strain *rs = r->structure;
    memset(b->touched, 0, (size_t)rs->item_count * sizeof *b->touched);
    int active = 0;
    for (int e = 0; e < rs->element_count; e++) {
        const int *v = rs->elements + (size_t)rs->corners * e;
        for (int c = 0; c < rs->corners; c++) b->touched[e] |= is_moved(b, v[c]);
    }
    for (int l = 0; l < rs->link_count; l++) { /* both halves know the whole link */
        bool any = false;
        int first = rs->element_count + 2 * l, begin = rs->neighbour_start[first];
        for (int k = begin; k < rs->neighbour_start[first + 2]; k++)
            any |= b->touched[rs->neighbours[k]];
        b->touched[first] = b->touched[first + 1] = any;
    }
    find_regions_at_rest(b);
    for (int e = 0; e < rs->item_count; e++)
        if (b->touched[e] || is_island(b, e)) b->active[active++] = e;
    SN_TRY(sn_rotation_strain_measure(rs, b->pose, active, b->active, b->measured, error));
    int count = 0;
    for (int i = 0; i < active; i++) {
        int e = b->active[i];
        const double *measured = b->measured + (size_t)SN_RS_SIZE * i;
        if (!b->touched[e] && is_zero(measured)) continue;
        memcpy(b->dense + (size_t)SN_RS_SIZE * e, measured, SN_RS_SIZE * sizeof(double));
        b->touched[e] = true;
        count++;
    }
    for (int j = 0; j < r->target_count; j++) {
        const sn_blend_target *other = &r->targets[j];
        for (int i = 0; b->activations[j] != 0 && i < other->count; i++) {
            int e = other->elements[i];
            double *to = b->dense + (size_t)SN_RS_SIZE * e;
            if (!b->touched[e]) memset(to, 0, SN_RS_SIZE * sizeof(double)), count++;
            b->touched[e] = true;
            for (int c = 0; c < SN_RS_SIZE; c++)
                to[c] -= b->activations[j] * other->coordinates[(size_t)SN_RS_SIZE * i + c];
        }
    }
    stored->elements = SN_NEW(int, count);
    stored->coordinates = SN_NEW(double, (size_t)SN_RS_SIZE *count);
    if (!stored->elements || !stored->coordinates) return sn_no_memory(error);
    for (int e = 0; e < rs->item_count; e++) {
        if (!b->touched[e]) continue;
        memcpy(stored->coordinates + (size_t)SN_RS_SIZE * stored->count,
               b->dense + (size_t)SN_RS_SIZE * e, SN_RS_SIZE * sizeof(double));
        stored->elements[stored->count++] = e;
    }
    return SINEW_OK;
}

/* Centers and loose vertices: linear, less the other targets in the pose. */
static sinew_status store_linear_parts(builder *b, sn_blend_target *stored, sinew_error *error) {
    const sinew_rotation *r = b->rotation;
    int centers = 3 * r->structure->component_count;
    stored->centers = SN_NEW(double, centers);
    if (!stored->centers) return sn_no_memory(error);
    sn_rotation_strain_centers(r->structure, b->pose, stored->centers);
    for (int c = 0; c < centers; c++) stored->centers[c] -= r->rest_centers[c];

    bool any = false;
    for (int i = 0; i < r->loose_count; i++) any |= is_moved(b, r->loose_vertices[i]);
    if (any) {
        stored->loose = SN_NEW(double, (size_t)3 * r->loose_count);
        if (!stored->loose) return sn_no_memory(error);
        for (int i = 0; i < r->loose_count; i++) {
            int vertex = r->loose_vertices[i];
            sn_put(stored->loose, i, sn_sub(sn_at(b->pose, vertex), sn_at(r->rest, vertex)));
        }
    }
    for (int j = 0; j < r->target_count; j++) {
        double a = b->activations[j];
        const sn_blend_target *other = &r->targets[j];
        if (a == 0) continue;
        for (int c = 0; c < centers; c++) stored->centers[c] -= a * other->centers[c];
        if (stored->loose && other->loose)
            for (int c = 0; c < 3 * r->loose_count; c++) stored->loose[c] -= a * other->loose[c];
    }
    return SINEW_OK;
}

/* Plain targets and in-betweens first, then combinations by their number of drivers: each
 * combination needs those that it builds on. */
static sinew_status store_targets(builder *b, const double *const *poses,
                                  const sinew_monitor *monitor, sinew_error *error) {
    sinew_rotation *r = b->rotation;
    int most = 0, done = 0;
    for (int k = 0; k < r->target_count; k++)
        if (b->rig->targets[k].driver_count > most) most = b->rig->targets[k].driver_count;
    for (int round = 0; round <= most; round++) {
        for (int k = 0; k < r->target_count; k++) {
            const sinew_target *target = &b->rig->targets[k];
            bool combination = target->kind == SINEW_TARGET_KIND_COMBINATION;
            if ((combination ? target->driver_count : 0) != round) continue;
            if (sn_cancelled(monitor))
                return sn_fail(error, SINEW_CANCELLED, "cancelled while measuring targets");
            sn_progress(monitor, (double)done++ / r->target_count, "targets");
            set_pose(b, k, poses ? poses[k] : NULL);
            for (size_t c = 0; c < (size_t)3 * r->vertex_count; c++)
                if (!isfinite(b->pose[c]))
                    return sn_fail(error, SINEW_BAD_INPUT, "target %s: vertex %zu is not finite",
                                   target->name ? target->name : "?", c / 3);
            for (int i = 0; i < r->vertex_count; i++) r->held[i] = r->held[i] && !is_moved(b, i);
            SN_TRY(store_linear_parts(b, &r->targets[k], error));
            SN_TRY(take_out_turns(b, &r->targets[k], error));
            SN_TRY(store_coordinates(b, &r->targets[k], error));
        }
    }
    return SINEW_OK;
}

/* Which parts are held by vertices that no target moves. */
static void find_held_parts(sinew_rotation *r) {
    const sn_rotation_strain *rs = r->structure;
    for (int i = 0; i < r->vertex_count; i++)
        if (rs->vertex_component[i] >= 0 && r->held[i])
            r->held_total[rs->vertex_component[i]] += rs->vertex_mass[i];
    for (int c = 0; c < rs->component_count; c++)
        if (r->held_total[c] < HELD_SHARE * rs->component_mass[c] ||
            (rs->component_held && rs->component_held[c])) /* by the caller, which is enough */
            r->held_total[c] = 0;
    for (int i = 0; i < r->vertex_count; i++) {
        int component = rs->vertex_component[i];
        r->held[i] = r->held[i] && component >= 0 && r->held_total[component] > 0;
    }
}

static sinew_status build(sinew_rotation *r, const sinew_rig *rig, const double *const *poses,
                          sn_rotation_store *store, const sinew_monitor *monitor,
                          sinew_error *error) {
    size_t elements = (size_t)r->structure->item_count, vertices = (size_t)r->vertex_count;
    builder b = {.rotation = r, .rig = rig};
    b.pose = SN_NEW(double, 3 * vertices);
    b.weights = SN_NEW(double, rig->slider_count);
    b.activations = SN_NEW(double, rig->target_count);
    b.dense = SN_NEW(double, SN_RS_SIZE *elements);
    b.measured = SN_NEW(double, SN_RS_SIZE *elements);
    b.active = SN_NEW(int, elements);
    b.touched = SN_NEW(bool, elements);
    b.region = SN_NEW(int, elements);
    b.queue = SN_NEW(int, elements);
    b.anchor = SN_NEW(int, r->structure->component_count);
    b.anchor_size = SN_NEW(int, r->structure->component_count);
    b.pose_centers = SN_NEW(double, (size_t)3 * r->structure->component_count);
    b.moved_mass = SN_NEW(double, r->structure->component_count);
    bool room = b.pose && b.weights && b.activations && b.dense && b.measured && b.active &&
                b.touched && b.region && b.queue && b.anchor && b.anchor_size && b.pose_centers &&
                b.moved_mass;
    sinew_status status = room ? SINEW_OK : sn_no_memory(error);
    if (room) sn_rotation_store_targets(store, r);
    if (room && !store->found) {
        status = store_targets(&b, poses, monitor, error);
        if (status == SINEW_OK) status = sn_rotation_stiffen_links(r, rig, monitor, error);
    }
    sn_free(b.pose), sn_free(b.weights), sn_free(b.activations), sn_free(b.dense);
    sn_free(b.measured), sn_free(b.active), sn_free(b.touched);
    sn_free(b.region), sn_free(b.queue), sn_free(b.anchor), sn_free(b.anchor_size);
    sn_free(b.pose_centers), sn_free(b.moved_mass);
    /* The entry has `held` as it is before parts are taken out of it. */
    bool *held = NULL;
    if (status == SINEW_OK && !store->found) {
        held = sn_memdup(r->held, vertices, sizeof *held);
        if (!held) status = sn_no_memory(error);
    }
    if (status == SINEW_OK) find_held_parts(r);
    if (held && !r->published) status = sn_rotation_choose_refinements(r, rig, monitor, error);
    if (status == SINEW_OK && store->found && store->on_line)
        status = sn_rotation_draw_line(r, error);
    if (held && status == SINEW_OK) sn_rotation_store_keep(store, r, held);
    sn_free(held);
    return status;
}

/* The poses that links between parts must be short in. */
typedef struct pose_list {
    builder builder;
    const double *const *poses;
} pose_list;

static const double *listed_pose(void *user, int k) {
    pose_list *list = user;
    set_pose(&list->builder, k, list->poses ? list->poses[k] : NULL);
    return list->builder.pose;
}

/* Elements whose gradient has a larger norm in a pose lose weight; at rest it is sqrt(3), of a
 * triangle with its normal as of a tet. */
static const double ELASTIC = 2;

/* Errors of gradients should count relative to the gradient: an element that a pose stretches gets
 * the weight (ELASTIC / |F|)^2. Triangles of a closed mouth have almost no height, and a pose that
 * opens it stretches them a hundredfold; their rotations are noise, and with their full weight they
 * tear what lies around them. factors[e]: the least over all poses. */
static void watch_stretch(const builder *b, double *factors) {
    const sn_rotation_strain *rs = b->rotation->structure;
    for (int e = 0; e < rs->element_count; e++) {
        const int *v = rs->elements + (size_t)rs->corners * (size_t)e;
        bool moved = false;
        for (int c = 0; c < rs->corners; c++) moved = moved || is_moved(b, v[c]);
        if (!moved) continue;
        sn_mat3 f = sn_rotation_strain_gradient(rs, b->pose, e);
        double sum = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) sum += f.m[i][j] * f.m[i][j];
        double factor = ELASTIC * ELASTIC / sum;
        if (factor < factors[e]) factors[e] = fmax(factor, 1e-12);
    }
}

static sinew_status soften_stretched(pose_list *list, sinew_error *error) {
    sinew_rotation *r = list->builder.rotation;
    double *factors = SN_NEW(double, r->structure->element_count);
    sinew_status status = factors ? SINEW_OK : sn_no_memory(error);
    for (int e = 0; factors && e < r->structure->element_count; e++) factors[e] = 1;
    for (int k = 0; status == SINEW_OK && k < r->target_count; k++) {
        listed_pose(list, k);
        watch_stretch(&list->builder, factors);
        status = sn_check_interrupt(error);
    }
    if (status == SINEW_OK) sn_rotation_strain_soften(r->structure, factors);
    sn_free(factors);
    return status;
}

/* The links between parts from the store, or found. */
static sinew_status create_structure(sinew_rotation *r, const sn_rotation_source *source,
                                     sn_rotation_store *store, const sinew_monitor *monitor,
                                     sinew_error *error) {
    const sinew_rig *rig = source->rig;
    const sinew_rotation_options *options = source->options;
    pose_list list = {.builder = {.rotation = r, .rig = rig}, .poses = source->poses};
    builder *b = &list.builder;
    b->pose = SN_NEW(double, 3 * (size_t)r->vertex_count);
    b->weights = SN_NEW(double, rig->slider_count);
    b->activations = SN_NEW(double, rig->target_count);
    sn_part_poses given = {r->vertex_count, r->rest, rig->target_count, listed_pose, &list};
    sn_link *links = NULL;
    sn_rotation_joints joints = {.hold_count = options ? options->hold_count : 0,
                                 .holds = options ? options->hold : NULL,
                                 .shortest = r->published,
                                 .unfactored = true};
    sinew_status status = b->pose && b->weights && b->activations ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        sn_rotation_store_links(store, r->vertex_count, &links, &joints.link_count);
    if (status == SINEW_OK && !store->found && !r->published)
        status =
            sn_part_links_find(&given, source->corners, source->element_count, source->elements,
                               rig->neutral->triangle_count, rig->neutral->triangles, monitor,
                               &links, &joints.link_count, error);
    joints.links = links;
    if (status == SINEW_OK)
        status = sn_rotation_strain_create_joined(r->vertex_count, r->rest, source->corners,
                                                  source->element_count, source->elements, &joints,
                                                  &r->structure, error);
    if (status == SINEW_OK && !r->published) status = soften_stretched(&list, error);
    if (status == SINEW_OK) sn_rotation_store_pivots(store, r->structure);
    if (status == SINEW_OK && joints.link_count > 0) {
        for (int k = 0; !store->found && k < rig->target_count && status == SINEW_OK; k++)
            status = sn_rotation_strain_watch(r->structure, r->rest, listed_pose(&list, k), error);
        sn_rotation_strain_settle(r->structure);
    }
    if (status == SINEW_OK) status = sn_rotation_system_factor(r->structure, error);
    sn_free(links);
    sn_free(b->pose), sn_free(b->weights), sn_free(b->activations);
    return status;
}

static sinew_status prepare(sinew_rotation *r, const sn_rotation_source *source,
                            sn_rotation_store *store, const sinew_monitor *monitor,
                            sinew_error *error) {
    SN_TRY(sn_activation_plan_create(source->rig, &r->plan, error));
    r->rest = sn_memdup(source->rest, (size_t)3 * r->vertex_count, sizeof *source->rest);
    r->targets = SN_NEW0(sn_blend_target, r->target_count);
    if (!r->rest || !r->targets) return sn_no_memory(error);
    SN_TRY(create_structure(r, source, store, monitor, error));
    int components = r->structure->component_count;
    r->rest_centers = SN_NEW(double, 3 * components);
    r->held = SN_NEW(bool, r->vertex_count);
    r->held_total = SN_NEW0(double, components);
    r->loose_vertices = SN_NEW(int, r->vertex_count);
    if (!r->rest_centers || !r->held || !r->held_total || !r->loose_vertices)
        return sn_no_memory(error);
    sn_rotation_strain_centers(r->structure, r->rest, r->rest_centers);
    for (int i = 0; i < r->vertex_count; i++) {
        r->held[i] = true;
        if (r->structure->vertex_component[i] < 0) r->loose_vertices[r->loose_count++] = i;
    }
    for (int k = 0; k < r->structure->hold_count; k++)
        r->loose_vertices[r->loose_count++] = r->structure->holds[k];
    return build(r, source->rig, source->poses, store, monitor, error);
}

sinew_status sn_rotation_create_elements(const sinew_rig *rig, int vertex_count, const double *rest,
                                         int corners, int element_count, const int *elements,
                                         const double *const *poses,
                                         const sinew_rotation_options *options,
                                         const sinew_monitor *monitor, sinew_rotation **rotation,
                                         sinew_error *error) {
    *rotation = NULL;
    sinew_rotation *result = SN_NEW0(sinew_rotation, 1);
    if (!result) return sn_no_memory(error);
    result->vertex_count = vertex_count;
    result->target_count = rig->target_count;
    result->published = options && options->published;
    sn_rotation_source source = {rig,           vertex_count, rest,  corners,
                                 element_count, elements,     poses, options};
    sn_rotation_store store;
    sinew_status status = sn_rotation_store_open(&store, &source, monitor, error);
    if (status == SINEW_OK) status = prepare(result, &source, &store, monitor, error);
    sn_rotation_store_close(&store);
    if (status != SINEW_OK) {
        sinew_rotation_destroy(result);
        return status;
    }
    *rotation = result;
    return SINEW_OK;
}

void sinew_rotation_options_init(sinew_rotation_options *options) {
    if (options) *options = (sinew_rotation_options){.size = sizeof *options};
}

/* Of roots instead of the vertices that coincide with them, but as first published without. */
static sinew_status create_joined(const sinew_rig *rig, const sinew_rotation_options *options,
                                  const sinew_monitor *monitor, sinew_rotation **rotation,
                                  sinew_error *error) {
    sn_seams *seams = NULL;
    sinew_rig *paired = NULL;
    sinew_rotation_options own = *options;
    sinew_status status = SINEW_OK;
    if (!options->published) status = sn_stretched_pairs_add(rig, &paired, error);
    if (paired) rig = paired;
    if (status == SINEW_OK && !options->published) status = sn_seams_create_rig(rig, &seams, error);
    if (seams) rig = &seams->rig;
    int *hold = sn_memdup(options->hold, (size_t)options->hold_count, sizeof *hold);
    if (status == SINEW_OK && !hold) status = sn_no_memory(error);
    for (int k = 0; hold && k < options->hold_count; k++) hold[k] = sn_seams_root(seams, hold[k]);
    own.hold = hold;
    const sinew_mesh *mesh = rig->neutral;
    if (status == SINEW_OK)
        status = sn_rotation_create_elements(rig, mesh->vertex_count, mesh->positions, 3,
                                             mesh->triangle_count, mesh->triangles, NULL, &own,
                                             monitor, rotation, error);
    sn_free(hold);
    if (status == SINEW_OK)
        (*rotation)->seams = seams, (*rotation)->own = paired;
    else
        sn_seams_destroy(seams), sinew_rig_destroy(paired);
    return status;
}

sinew_status sinew_rotation_create(const sinew_rig *rig, const sinew_rotation_options *options,
                                   const sinew_monitor *monitor, sinew_rotation **rotation,
                                   sinew_error *error) {
    SN_REQUIRE(rotation != NULL, error);
    *rotation = NULL;
    SN_REQUIRE(rig != NULL && rig->neutral != NULL, error);
    const sinew_mesh *mesh = rig->neutral;
    SN_OPTIONS(sinew_rotation_options, own, options, error);
    SN_REQUIRE(own.hold_count >= 0 && (own.hold || own.hold_count == 0), error);
    for (int k = 0; k < own.hold_count; k++)
        if (own.hold[k] < 0 || own.hold[k] >= mesh->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT, "held vertex %d is outside 0 to %d", own.hold[k],
                           mesh->vertex_count - 1);
    if (mesh->triangle_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: the rotation-aware blend needs faces",
                       mesh->name ? mesh->name : "neutral");
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = create_joined(rig, &own, monitor, rotation, error);
    status = sn_call_end(&call, status, error);
    if (status != SINEW_OK) {
        sinew_rotation_destroy(*rotation);
        *rotation = NULL;
    }
    return status;
}

void sinew_rotation_destroy(sinew_rotation *rotation) {
    if (!rotation) return;
    sn_rotation_targets_free(rotation);
    sn_free(rotation->targets);
    sn_activation_plan_destroy(rotation->plan);
    sn_rotation_strain_destroy(rotation->structure);
    sn_free(rotation->rest);
    sn_free(rotation->rest_centers);
    sn_free(rotation->line);
    sn_free(rotation->held);
    sn_free(rotation->held_total);
    sn_free(rotation->loose_vertices);
    sn_seams_destroy(rotation->seams);
    sinew_rig_destroy(rotation->own);
    sn_free(rotation);
}

/* ---- frames ------------------------------------------------------------------------------- */

sinew_status sinew_rotation_state_create(const sinew_rotation *rotation,
                                         sinew_rotation_state **state, sinew_error *error) {
    SN_REQUIRE(rotation != NULL && state != NULL, error);
    *state = NULL;
    const sn_rotation_strain *rs = rotation->structure;
    sinew_rotation_state *result = SN_NEW0(sinew_rotation_state, 1);
    if (!result) return sn_no_memory(error);
    result->activations = SN_NEW(double, rotation->target_count);
    result->coordinates = SN_NEW(double, (size_t)SN_RS_SIZE * rs->item_count);
    result->centers = SN_NEW(double, (size_t)3 * rs->component_count);
    result->turns = SN_NEW(double, (size_t)3 * rs->component_count);
    if (rotation->refinements) result->rotations = SN_NEW(sn_mat3, rs->element_count);
    bool room = result->activations && result->coordinates && result->centers && result->turns &&
                (result->rotations || !rotation->refinements);
    sinew_status status =
        room ? sn_rotation_strain_work_create(rs, &result->work, error) : sn_no_memory(error);
    if (status != SINEW_OK) {
        sinew_rotation_state_destroy(result);
        return status;
    }
    *state = result;
    return SINEW_OK;
}

void sinew_rotation_state_destroy(sinew_rotation_state *state) {
    if (!state) return;
    sn_rotation_strain_work_destroy(state->work);
    sn_free(state->activations);
    sn_free(state->coordinates);
    sn_free(state->centers);
    sn_free(state->turns);
    sn_free(state->rotations);
    sn_free(state);
}

/* First place in an increasing list whose value is not below `value`. */
static int lower_bound(const int *list, int count, int value) {
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (list[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

typedef struct blend_blocks_loop {
    const sinew_rotation *rotation;
    const double *activations;
    double *coordinates;
} blend_blocks_loop;

static void blend_blocks(void *context, sn_span span) {
    const blend_blocks_loop *loop = context;
    const sinew_rotation *rotation = loop->rotation;
    const double *activations = loop->activations;
    double *coordinates = loop->coordinates;
    int elements = rotation->structure->item_count;
    SN_IN_SPAN(int, block, span) {
        int begin = block * BLOCK, end = begin + BLOCK < elements ? begin + BLOCK : elements;
        memset(coordinates + (size_t)SN_RS_SIZE * begin, 0,
               (size_t)SN_RS_SIZE * (size_t)(end - begin) * sizeof(double));
        for (int k = 0; k < rotation->target_count; k++) {
            const sn_blend_target *target = &rotation->targets[k];
            double a = activations[k];
            if (a == 0) continue;
            for (int i = lower_bound(target->elements, target->count, begin);
                 i < target->count && target->elements[i] < end; i++) {
                double *to = coordinates + (size_t)SN_RS_SIZE * target->elements[i];
                const double *from = target->coordinates + (size_t)SN_RS_SIZE * i;
                for (int c = 0; c < SN_RS_SIZE; c++) to[c] += a * from[c];
            }
        }
    }
}

/* sum_k a_k c_k, block by block of elements, so that each element sums in the order of targets. */
static void blend_coordinates(const sinew_rotation *rotation, const double *activations,
                              double *coordinates) {
    int elements = rotation->structure->item_count, blocks = (elements + BLOCK - 1) / BLOCK;
    sn_parallel_for(blocks, 1, blend_blocks,
                    &(blend_blocks_loop){rotation, activations, coordinates});
}

/* Shift each held part so that its held vertices are, on average, where they rest. */
static void place_held_parts(const sinew_rotation *rotation, double *shifts, double *positions) {
    const sn_rotation_strain *rs = rotation->structure;
    for (int c = 0; c < 3 * rs->component_count; c++) shifts[c] = 0;
    for (int i = 0; i < rotation->vertex_count; i++) {
        if (!rotation->held[i]) continue;
        int component = rs->vertex_component[i];
        double share = rs->vertex_mass[i] / rotation->held_total[component];
        for (int axis = 0; axis < 3; axis++)
            shifts[3 * component + axis] +=
                share * (rotation->rest[3 * (size_t)i + axis] - positions[3 * (size_t)i + axis]);
    }
    for (int i = 0; i < rotation->vertex_count; i++) {
        int component = rs->vertex_component[i];
        if (component < 0 || rotation->held_total[component] == 0) continue;
        sn_put(positions, i, sn_add(sn_at(positions, i), sn_at(shifts, component)));
    }
}

/* The parts are put together before they are turned as a whole, and so are the held vertices. */
static void turn_back_holds(const sn_rotation_strain *rs, const double *centers,
                            const double *turns, double *positions) {
    for (int k = 0; k < rs->hold_count; k++) {
        int vertex = rs->holds[k], component = rs->vertex_component[vertex];
        sn_vec3 center = sn_at(centers, component);
        sn_mat3 turn = sn_rotation_exp(sn_at(turns, component));
        sn_put(positions, vertex,
               sn_add(center,
                      sn_mat3_apply_transposed(turn, sn_sub(sn_at(positions, vertex), center))));
    }
}

/* Items at marked vertices. */
static void orient_region(const sn_rotation_strain *rs, const sn_rotation_region *region,
                          const double *turns, double *coordinates) {
    sn_mat3 wanted = sn_rotation_exp(region->turn);
    for (int item = 0; item < rs->item_count; item++) {
        int half = item - rs->element_count, first, last;
        bool marked = false;
        if (half >= 0) { /* its end is a corner of the ring around it */
            sn_rotation_half_ring(rs, half, &first, &last);
            marked = last > first && region->marked[rs->elements[rs->vertex_corners[first]]];
        }
        for (int c = 0; half < 0 && c < rs->corners; c++)
            marked |= region->marked[rs->elements[(size_t)rs->corners * item + c]];
        if (marked) sn_rotation_orient(rs, item, wanted, region->weight, turns, coordinates);
    }
}

static void evaluate(const sinew_rotation *rotation, sinew_rotation_state *state, const double *a,
                     int region_count, const sn_rotation_region *regions, double *positions) {
    const sn_rotation_strain *rs = rotation->structure;
    /* regions are guided by rotations, which a line does not know */
    bool on_line = rotation->line && rotation->refinements > 0 && region_count == 0;
    for (size_t i = 0; on_line && i < 3 * (size_t)rotation->vertex_count; i++)
        positions[i] = rotation->rest[i] + a[0] * rotation->line[i];
    blend_coordinates(rotation, a, state->coordinates);
    memcpy(state->centers, rotation->rest_centers,
           (size_t)3 * rs->component_count * sizeof *state->centers);
    for (int i = 0; i < rotation->loose_count; i++) {
        int vertex = rotation->loose_vertices[i];
        sn_put(positions, vertex, sn_at(rotation->rest, vertex));
    }
    memset(state->turns, 0, (size_t)3 * rs->component_count * sizeof *state->turns);
    for (int k = 0; k < rotation->target_count; k++) {
        const sn_blend_target *target = &rotation->targets[k];
        if (a[k] == 0) continue;
        for (int c = 0; c < 3 * rs->component_count; c++) {
            state->centers[c] += a[k] * target->centers[c];
            state->turns[c] += a[k] * target->turns[c];
        }
        for (int i = 0; target->loose && i < rotation->loose_count; i++) {
            int vertex = rotation->loose_vertices[i];
            sn_put(positions, vertex,
                   sn_add_scaled(sn_at(positions, vertex), a[k], sn_at(target->loose, i)));
        }
    }
    for (int k = 0; k < region_count; k++)
        orient_region(rs, &regions[k], state->turns, state->coordinates);
    turn_back_holds(rs, state->centers, state->turns, positions);
    if (!on_line)
        sn_rotation_strain_rebuild(rs, state->work, state->coordinates, state->centers, positions);
    bool together = !rotation->line && rotation->refinements > SN_FEW_REFINEMENTS;
    for (int k = 0; k < rotation->refinements; k++)
        sn_rotation_refine(rs, state->work, state->rotations, state->coordinates, state->centers,
                           together, positions);
    sn_rotation_strain_turn(rs, state->centers, state->turns, 1, positions);
    place_held_parts(rotation, state->centers, positions);
    sn_seams_copy(rotation->seams, a, positions);
}

void sn_rotation_evaluate_targets(const sinew_rotation *rotation, sinew_rotation_state *state,
                                  const double *activations, double *positions) {
    evaluate(rotation, state, activations, 0, NULL, positions);
}

void sn_rotation_evaluate_oriented(const sinew_rotation *rotation, sinew_rotation_state *state,
                                   const double *weights, int region_count,
                                   const sn_rotation_region *regions, double *positions) {
    sn_activations(rotation->plan, weights, state->activations, NULL);
    evaluate(rotation, state, state->activations, region_count, regions, positions);
}

void sinew_rotation_evaluate(const sinew_rotation *rotation, sinew_rotation_state *state,
                             const double *weights, double *positions) {
    if (!rotation || !state || !weights || !positions) return;
    sn_rotation_evaluate_oriented(rotation, state, weights, 0, NULL, positions);
}

sn_mat3 sn_rotation_asked_gradient(const sinew_rotation *rotation,
                                   const sinew_rotation_state *state, int element) {
    const sn_rotation_strain *rs = rotation->structure;
    int component = rs->vertex_component[rs->elements[(size_t)rs->corners * (size_t)element]];
    sn_mat3 asked = sn_rotation_strain_compose(
        state->coordinates + (size_t)SN_RS_SIZE * (size_t)element,
        rs->rest_stretch ? rs->rest_stretch + 6 * (size_t)element : NULL);
    return sn_mat3_multiply(sn_rotation_exp(sn_at(state->turns, component)), asked);
}
