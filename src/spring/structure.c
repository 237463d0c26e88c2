#include "spring/structure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/threads.h"
#include "mesh/rotation_links.h"
#include "rig/activations.h"
#include "rig/stretched_pairs.h"
#include "spring/interior.h"
#include "spring/network_store.h"

/* ---- checks ---- */

static sinew_status check_options(const sinew_rig *rig, const sinew_spring_options *options,
                                  sinew_error *error) {
    for (int kind = 0; kind < SINEW_SPRING_KIND_COUNT; kind++)
        if (!(options->kappa[kind] > 0) || !isfinite(options->kappa[kind]))
            return sn_fail(error, SINEW_BAD_INPUT, "spring: kappa of %s is %g, must be above 0",
                           sinew_spring_kind_name(kind), options->kappa[kind]);
    if (!(options->volume >= 0) || !isfinite(options->volume))
        return sn_fail(error, SINEW_BAD_INPUT, "spring: volume %g must be 0 or more",
                       options->volume);
    if (!(options->guide >= 0) || !isfinite(options->guide))
        return sn_fail(error, SINEW_BAD_INPUT, "spring: guide %g must be 0 or more",
                       options->guide);
    if (!(options->altitude >= 0) || !isfinite(options->altitude))
        return sn_fail(error, SINEW_BAD_INPUT, "spring: altitude %g must be 0 or more",
                       options->altitude);
    if (!(options->pull_to_blend >= 0) || !isfinite(options->pull_to_blend))
        return sn_fail(error, SINEW_BAD_INPUT, "spring: pull to the blend %g must be 0 or more",
                       options->pull_to_blend);
    if (!(options->tolerance > 0 && options->tolerance < 1))
        return sn_fail(error, SINEW_BAD_INPUT, "spring: tolerance %g must be between 0 and 1",
                       options->tolerance);
    if (options->max_iterations < 1 || !(options->time_limit > 0) || options->max_rounds < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "spring: limits must be above 0");
    if (!(options->friction >= 0 && options->contact_depth > 0) || !isfinite(options->friction) ||
        !isfinite(options->contact_depth))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "spring: friction must be 0 or more and the contact depth above 0");
    if (options->boundary == SINEW_SPRING_BOUNDARY_PINNED && options->pin_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "spring: boundary pinned without pinned vertices");
    for (int k = 0; k < options->pin_count; k++)
        if (options->pins[k] < 0 || options->pins[k] >= rig->neutral->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT, "spring: pinned vertex %d is not one of %d",
                           options->pins[k], rig->neutral->vertex_count);
    for (int v = 0; options->stiffness_map && v < rig->neutral->vertex_count; v++)
        if (!(options->stiffness_map[v] >= 0) || !isfinite(options->stiffness_map[v]))
            return sn_fail(error, SINEW_BAD_INPUT, "spring: stiffness map has %g at vertex %d",
                           options->stiffness_map[v], v);
    for (int k = 0; options->fibers && k < 3 * rig->neutral->vertex_count; k++)
        if (!isfinite(options->fibers[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "spring: fiber at vertex %d is not finite",
                           k / 3);
    return SINEW_OK;
}

static sinew_status check_rig(const sinew_rig *rig, sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    if (mesh->triangle_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "spring: the neutral has no faces");
    for (int k = 0; k < 3 * mesh->vertex_count; k++)
        if (!isfinite(mesh->positions[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "spring: vertex %d of the neutral is not finite",
                           k / 3);
    for (int t = 0; t < rig->target_count; t++)
        for (int k = 0; k < 3 * rig->targets[t].count; k++)
            if (!isfinite(rig->targets[t].deltas[k]))
                return sn_fail(error, SINEW_BAD_INPUT,
                               "spring: vertex %d of target %s is not finite",
                               rig->targets[t].vertices[k / 3], rig->targets[t].name);
    if (!(sinew_diagonal(mesh->vertex_count, mesh->positions) > 0))
        return sn_fail(error, SINEW_BAD_INPUT, "spring: the neutral has no size");
    return SINEW_OK;
}

/* ---- poses ---- */

/* Slider weights at which a target is fully on: its own value, or its drivers at 1. */
static void weights_of(const sinew_rig *rig, int target, double *weights) {
    for (int s = 0; s < rig->slider_count; s++) weights[s] = rig->sliders[s].rest;
    const sinew_target *t = &rig->targets[target];
    if (t->kind == SINEW_TARGET_KIND_COMBINATION)
        for (int d = 0; d < t->driver_count; d++) weights[t->drivers[d]] = 1;
    else
        weights[t->slider] = t->at;
}

static void free_poses(double **poses, int count) {
    for (int t = 0; poses && t < count; t++) sn_free(poses[t]);
    sn_free(poses);
}

/* Full positions of every target's pose, with room for interior and anchor vertices. */
static sinew_status make_poses(sinew_spring *spring, int room, double ***result,
                               sinew_error *error) {
    const sinew_rig *rig = spring->rig;
    double **poses = SN_NEW0(double *, rig->target_count);
    double *weights = SN_NEW(double, rig->slider_count);
    double *activations = SN_NEW(double, rig->target_count);
    sinew_status status = poses && weights && activations ? SINEW_OK : sn_no_memory(error);
    for (int t = 0; t < rig->target_count && status == SINEW_OK; t++) {
        poses[t] = SN_NEW0(double, 3 * (size_t)room);
        if (!poses[t]) {
            status = sn_no_memory(error);
            break;
        }
        weights_of(rig, t, weights);
        sinew_rig_activations(rig, weights, activations);
        /* in double: rest lengths are differences of these */
        memcpy(poses[t], rig->neutral->positions, 3 * (size_t)rig->neutral->vertex_count * 8);
        for (int u = 0; u < rig->target_count; u++) {
            const sinew_target *target = &rig->targets[u];
            for (int k = 0; activations[u] != 0 && k < 3 * target->count; k++)
                poses[t][3 * (size_t)target->vertices[k / 3] + (size_t)(k % 3)] +=
                    activations[u] * target->deltas[k];
        }
    }
    sn_free(weights), sn_free(activations);
    if (status != SINEW_OK)
        free_poses(poses, rig->target_count);
    else
        *result = poses;
    return status;
}

/* Targets with drivers after those without, fewer drivers first: an increment needs those of the
 * targets that are active beside it. */
static int rank_of(const sinew_target *target) {
    return target->kind == SINEW_TARGET_KIND_COMBINATION ? target->driver_count : 0;
}

static sinew_status add_poses(sinew_spring *spring, double **poses, sinew_error *error) {
    const sinew_rig *rig = spring->rig;
    double *weights = SN_NEW(double, rig->slider_count);
    double *activations = SN_NEW(double, rig->target_count);
    sinew_status status = weights && activations ? SINEW_OK : sn_no_memory(error);
    int highest = 0;
    for (int t = 0; t < rig->target_count; t++)
        if (rank_of(&rig->targets[t]) > highest) highest = rank_of(&rig->targets[t]);
    for (int rank = 0; rank <= highest; rank++)
        for (int t = 0; t < rig->target_count && status == SINEW_OK; t++) {
            if (rank_of(&rig->targets[t]) != rank) continue;
            weights_of(rig, t, weights);
            sinew_rig_activations(rig, weights, activations);
            if (spring->anchor.used) {
                sn_vec3 rotation, shift;
                sn_anchor_find(spring, poses[t],
                               poses[t] + 3 * (size_t)spring->network->anchor_first, &rotation,
                               &shift);
                for (int u = 0; u < rig->target_count; u++) {
                    if (u == t || activations[u] == 0) continue;
                    rotation = sn_add_scaled(rotation, -activations[u], spring->anchor.rotation[u]);
                    shift = sn_add_scaled(shift, -activations[u], spring->anchor.shift[u]);
                }
                spring->anchor.rotation[t] = rotation, spring->anchor.shift[t] = shift;
            }
            status = sn_network_add_pose(spring->network, t, poses[t], activations, error);
        }
    sn_free(weights), sn_free(activations);
    return status;
}

/* ---- building ---- */

/* Per link of the blend: its stiffness over that of a soft one. *stiffened: any is over 1. */
static double *link_ratios(const sn_rotation_strain *blend, bool *stiffened) {
    double *ratios = SN_NEW(double, blend->link_count);
    *stiffened = false;
    for (int l = 0; ratios && l < blend->link_count; l++) {
        ratios[l] = blend->link_stiffness[l] / sn_rotation_link_softest(blend, l);
        *stiffened = *stiffened || ratios[l] > 1;
    }
    return ratios;
}

/* Springs add up what the blend has at links, and each part goes where its own springs are at ease.
 * Where the blend had to stiffen links to keep parts together, all links are springs too, as stiff
 * as there; otherwise those that the caller asks for. */
static sinew_status add_ties(sinew_spring *spring, const double *neutral, bool stiffened,
                             sinew_error *error) {
    const sn_rotation_strain *blend = sn_rotation_structure(spring->rotation);
    double distance = spring->options.tie_distance * spring->network->diagonal;
    if (stiffened) distance = INFINITY;
    if (blend->link_count == 0 || !(distance > 0)) return SINEW_OK;
    return sn_network_add_ties(spring->network, neutral, blend->link_count, blend->links, distance,
                               error);
}

static sinew_status build_springs(sinew_spring *spring, double **poses, double *neutral,
                                  bool stiffened, const sinew_monitor *monitor,
                                  sinew_error *error) {
    const sinew_spring_options *options = &spring->options;
    const sinew_mesh *mesh = spring->rig->neutral;
    SN_TRY(sn_network_create(mesh, spring->tets, neutral, options->bending,
                             spring->rig->target_count, &spring->network, error));
    sn_network *network = spring->network;
    if (!spring->tets && options->interior == SINEW_SPRING_INTERIOR_STRUTS) {
        int *across = NULL;
        SN_TRY(sn_struts_find(mesh, spring->rig->target_count, (const double *const *)poses,
                              monitor, &across, error));
        sinew_status status = sn_network_add_struts(network, neutral, across, error);
        sn_free(across);
        SN_TRY(status);
    }
    SN_TRY(add_ties(spring, neutral, stiffened, error));
    if (options->boundary == SINEW_SPRING_BOUNDARY_ANCHOR) {
        SN_TRY(sn_anchor_start(spring, neutral, error));
        memcpy(neutral + 3 * (size_t)network->vertex_count, spring->anchor.rest,
               sizeof spring->anchor.rest);
        SN_TRY(sn_network_add_anchor(network, neutral, error));
        SN_TRY(sn_anchor_list_ties(spring, error));
    }
    sn_network_choose_altitudes(network, spring->rig->target_count, (const double *const *)poses);
    return add_poses(spring, poses, error);
}

/* The springs and their lengths in all poses, from the cache if it has them. */
static sinew_status find_springs(sinew_spring *spring, double **poses, double *neutral,
                                 bool stiffened, sinew_cache *cache, const sinew_monitor *monitor,
                                 sinew_error *error) {
    sinew_cache_entry *entry;
    sinew_status status = SINEW_OK;
    SN_TRY(sn_network_store_open(spring, stiffened, cache, monitor, &entry, error));
    if (!sn_network_store_restore(entry, spring, neutral)) {
        status = build_springs(spring, poses, neutral, stiffened, monitor, error);
        if (status == SINEW_OK) status = sn_check_interrupt(error);
        if (status == SINEW_OK && entry) sn_network_store_keep(entry, spring);
    }
    sinew_cache_leave(entry);
    return status;
}

static sinew_status build_network(sinew_spring *spring, double **poses, double *neutral,
                                  sinew_cache *cache, const sinew_monitor *monitor,
                                  sinew_error *error) {
    const sinew_spring_options *options = &spring->options;
    const sn_rotation_strain *blend = sn_rotation_structure(spring->rotation);
    bool stiffened;
    double *ratios = link_ratios(blend, &stiffened);
    if (!ratios) return sn_no_memory(error);
    sinew_status status = find_springs(spring, poses, neutral, stiffened, cache, monitor, error);
    if (status == SINEW_OK)
        status = sn_network_finish(spring->network, options->kappa, options->stiffness_map,
                                   options->fibers, error);
    if (status == SINEW_OK && options->solver != SINEW_SPRING_SOLVER_PUBLISHED)
        status = sn_network_soften(spring->network, error);
    if (status == SINEW_OK && stiffened)
        status = sn_network_stiffen_ties(spring->network, blend->link_count, blend->links, ratios,
                                         error);
    sn_free(ratios);
    return status;
}

static sinew_status build_rotation(sinew_spring *spring, double **poses, const double *neutral,
                                   sinew_cache *cache, const sinew_monitor *monitor,
                                   sinew_error *error) {
    sinew_rotation_options options;
    sinew_rotation_options_init(&options);
    options.cache = cache;
    if (!spring->tets)
        return sinew_rotation_create(spring->rig, &options, monitor, &spring->rotation, error);
    return sn_rotation_create_elements(spring->rig, spring->tets->vertex_count, neutral, 4,
                                       spring->tets->tet_count, spring->tets->tets,
                                       (const double *const *)poses, &options, monitor,
                                       &spring->rotation, error);
}

static sinew_status find_pose_inversions(sinew_spring *spring, sinew_error *error) {
    const sn_network *network = spring->network;
    spring->pose_inverts = SN_NEW0(bool, network->tet_count);
    if (!spring->pose_inverts) return sn_no_memory(error);
    int worst = 0;
    for (int t = 0; t < network->tet_count; t++)
        if (network->volume[t] <= 0) spring->pose_inverts[t] = true, worst++;
    for (int p = 0; p < network->target_count; p++) {
        const sn_increment *increment = &network->volume_increment[p];
        int count = 0;
        for (int k = 0; k < increment->count; k++) {
            int t = increment->index[k];
            if (t < network->tet_count && network->volume[t] + increment->value[k] <= 0)
                spring->pose_inverts[t] = true, count++;
        }
        if (count > worst) worst = count;
    }
    spring->info.pose_inverted = worst;
    return SINEW_OK;
}

static void summarize(sinew_spring *spring, double seconds) {
    sinew_spring_info *info = &spring->info;
    const sn_network *network = spring->network;
    info->vertex_count = network->vertex_count;
    info->surface_count = network->surface_count;
    info->spring_count = network->spring_count;
    info->mean_edge = network->mean_edge;
    for (int q = 0; q < network->spring_count; q++) info->kind_count[network->kind[q]]++;
    info->tet_count = network->tet_count;
    info->component_count = network->component_count;
    for (int v = 0; v < network->vertex_count; v++) {
        bool copied = v < network->surface_count && sn_seams_root(spring->seams, v) != v;
        info->isolated_count += network->component[v] < 0 && !copied;
        info->fixed_count += spring->held[v] && network->component[v] >= 0;
    }
    info->pull_stiffness = spring->pull;
    info->volume_stiffness = network->tet_count ? spring->volume_stiffness : 0;
    info->altitude_stiffness =
        spring->options.altitude * spring->options.kappa[SINEW_SPRING_KIND_STRUCTURE];
    size_t bytes = (size_t)network->spring_count * (8 + 1 + 24) + (size_t)network->tet_count * 32 +
                   (size_t)network->triangle_count * 44 + spring->system->bytes +
                   sn_preconditioner_bytes(spring->preconditioner);
    for (int t = 0; t < network->target_count; t++)
        bytes +=
            12 * (size_t)(network->rest_increment[t].count + network->volume_increment[t].count +
                          network->altitude_increment[t].count);
    info->bytes_per_vertex = (double)bytes / network->vertex_count;
    info->seconds = seconds;
}

static sinew_status build(sinew_spring *spring, const sinew_monitor *monitor, sinew_error *error) {
    const sinew_rig *rig = spring->rig;
    const sinew_spring_options *options = &spring->options;
    double began = sn_now();
    SN_TRY(sinew_linear_create(rig, &spring->linear, error));
    sn_progress(monitor, 0, "interior");
    SN_TRY(sn_interior_make(rig->neutral, options, monitor, &spring->tets, spring->info.interior,
                            sizeof spring->info.interior, error));
    int inner = spring->tets ? spring->tets->vertex_count : rig->neutral->vertex_count;
    int room = inner + 4; /* the anchor's corners */
    double *neutral = SN_NEW0(double, 3 * (size_t)room), **poses = NULL;
    sinew_status status = neutral ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        memcpy(neutral, rig->neutral->positions, 3 * (size_t)rig->neutral->vertex_count * 8);
        if (spring->tets)
            memcpy(neutral, spring->tets->positions, 3 * (size_t)inner * sizeof(double));
        status = make_poses(spring, room, &poses, error);
    }
    if (status == SINEW_OK && spring->tets)
        status = sn_interior_carry(spring->tets, rig->target_count, poses, monitor, error);
    sn_progress(monitor, 0.3, "rotation");
    if (status == SINEW_OK)
        status = build_rotation(spring, poses, neutral, options->cache, monitor, error);
    sn_progress(monitor, 0.5, "network");
    if (status == SINEW_OK)
        status = build_network(spring, poses, neutral, options->cache, monitor, error);
    spring->options.cache = NULL; /* it may be closed before the structure is */
    if (status == SINEW_OK) status = sn_check_interrupt(error);
    if (status == SINEW_OK) status = find_pose_inversions(spring, error);
    if (status == SINEW_OK) status = sn_boundary_find(spring, (const double *const *)poses, error);
    if (status == SINEW_OK) {
        double length = spring->network->mean_edge;
        spring->volume_stiffness =
            options->volume * options->kappa[SINEW_SPRING_KIND_STRUCTURE] / (length * length);
        status = sn_system_create(spring->network, spring->held, spring->volume_stiffness,
                                  options->altitude * options->kappa[SINEW_SPRING_KIND_STRUCTURE],
                                  &spring->system, error);
    }
    if (status == SINEW_OK) status = sn_check_interrupt(error);
    sn_progress(monitor, 0.7, "preconditioner");
    if (status == SINEW_OK) {
        spring->pull = options->pull_to_blend * spring->system->mean_stiffness;
        status = sn_preconditioner_create(spring->system, spring->network, spring->pull,
                                          options->guide == 0, &spring->preconditioner, error);
    }
    free_poses(poses, rig->target_count);
    sn_free(neutral);
    if (status == SINEW_OK) summarize(spring, sn_now() - began);
    sn_progress(monitor, 1, "preconditioner");
    return status;
}

sinew_status sinew_spring_create(const sinew_rig *rig, const sinew_spring_options *options,
                                 const sinew_monitor *monitor, sinew_spring **result,
                                 sinew_error *error) {
    SN_REQUIRE(rig && result, error);
    *result = NULL;
    SN_OPTIONS(sinew_spring_options, wanted, options, error);
    sinew_spring *spring = SN_NEW0(sinew_spring, 1);
    if (!spring) return sn_no_memory(error);
    spring->rig = rig;
    spring->options = wanted;
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = check_options(rig, &spring->options, error);
    if (status == SINEW_OK) status = check_rig(rig, error);
    if (status == SINEW_OK) status = sn_stretched_pairs_add(rig, &spring->own, error);
    if (spring->own) spring->rig = spring->own;
    if (status == SINEW_OK) status = sn_seams_create_rig(spring->rig, &spring->seams, error);
    if (spring->seams) spring->rig = &spring->seams->rig;
    if (status == SINEW_OK) {
        spring->pin_count = spring->options.pin_count;
        spring->pins = sn_memdup(spring->options.pins, (size_t)spring->pin_count, sizeof(int));
        if (!spring->pins) status = sn_no_memory(error);
    }
    for (int k = 0; status == SINEW_OK && k < spring->pin_count; k++)
        spring->pins[k] = sn_seams_root(spring->seams, spring->pins[k]);
    if (status == SINEW_OK) status = build(spring, monitor, error);
    if (status == SINEW_OK && spring->options.self_contact)
        status = sn_self_create(spring, monitor, error);
    status = sn_call_end(&call, status, error);
    if (status != SINEW_OK) {
        sinew_spring_destroy(spring);
        return status;
    }
    /* the caller's arrays need not outlive the call */
    spring->options.pins = spring->pins;
    spring->options.stiffness_map = spring->options.fibers = NULL;
    spring->options.tets = NULL;
    spring->options.anchor = NULL;
    *result = spring;
    return SINEW_OK;
}

void sinew_spring_destroy(sinew_spring *spring) {
    if (!spring) return;
    sinew_rotation_destroy(spring->rotation);
    sinew_linear_destroy(spring->linear);
    sn_preconditioner_destroy(spring->preconditioner);
    sn_system_destroy(spring->system);
    sn_network_destroy(spring->network);
    sinew_tets_destroy(spring->tets);
    sn_contact_surface_destroy(spring->self);
    sn_free(spring->held), sn_free(spring->pins), sn_free(spring->pose_inverts);
    sn_free(spring->crosses_at_rest);
    sn_free(spring->anchor.rotation), sn_free(spring->anchor.shift);
    sn_free(spring->anchor.ties);
    sn_seams_destroy(spring->seams);
    sinew_rig_destroy(spring->own);
    sn_free(spring);
}

sinew_status sinew_spring_get_info(const sinew_spring *spring, sinew_spring_info *info) {
    SN_REQUIRE(spring && info && sn_info_ready(info), NULL);
    sn_info_write(info, &spring->info, sizeof spring->info);
    return SINEW_OK;
}

sinew_status sinew_spring_write_network(const sinew_spring *spring, const char *path,
                                        sinew_error *error) {
    SN_REQUIRE(spring && path, error);
    const char **names = SN_NEW(const char *, spring->rig->target_count);
    if (!names) return sn_no_memory(error);
    for (int t = 0; t < spring->rig->target_count; t++) names[t] = spring->rig->targets[t].name;
    sinew_status status = sn_network_write(spring->network, path, names, error);
    sn_free(names);
    return status;
}
