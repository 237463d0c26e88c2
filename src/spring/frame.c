/* One frame: rest lengths from weights, a start, the equilibrium, what to say about it. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/status.h"
#include "spring/structure.h"

/* ---- state ---- */

sinew_status sinew_spring_state_create(const sinew_spring *spring, sinew_spring_state **result,
                                       sinew_error *error) {
    SN_REQUIRE(spring && result, error);
    *result = NULL;
    sinew_spring_state *state = SN_NEW0(sinew_spring_state, 1);
    if (!state) return sn_no_memory(error);
    state->spring = spring;
    const sn_network *network = spring->network;
    size_t n = (size_t)network->vertex_count;
    state->weights = SN_NEW0(double, spring->rig->slider_count);
    state->activations = SN_NEW0(double, spring->rig->target_count);
    state->rest = SN_NEW(double, network->spring_count);
    state->volume = SN_NEW(double, network->tet_count);
    state->altitude = SN_NEW(double, network->triangle_count);
    state->linear = SN_NEW(double, 3 * (size_t)network->surface_count);
    state->blend = SN_NEW0(double, 3 * n);
    state->positions = SN_NEW0(double, 3 * n);
    state->x = sn_alloc_aligned(SN_PAD * n, sizeof(double));
    state->start = sn_alloc_aligned(SN_PAD * n, sizeof(double));
    bool ok = state->weights && state->activations && state->rest && state->volume &&
              state->altitude && state->linear && state->blend && state->positions && state->x &&
              state->start;
    for (int h = 0; h < SN_HISTORY; h++) {
        state->history[h] = sn_alloc_aligned(SN_PAD * n, sizeof(double));
        state->history_weights[h] = SN_NEW(double, spring->rig->slider_count);
        ok = ok && state->history[h] && state->history_weights[h];
    }
    sinew_status status = ok ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_solver_create(spring->system, spring->preconditioner, &state->solver, error);
    if (status == SINEW_OK)
        status = sinew_rotation_state_create(spring->rotation, &state->rotation, error);
    if (status != SINEW_OK) {
        sinew_spring_state_destroy(state);
        return status;
    }
    state->solver->component = network->component;
    state->solver->component_count = network->component_count;
    state->bytes =
        state->solver->bytes + n * (48 + (2 + SN_HISTORY) * 32) +
        8 * (size_t)(network->spring_count + network->tet_count + network->triangle_count);
    state->settings = spring->options;
    sinew_spring_state_reset(state);
    *result = state;
    return SINEW_OK;
}

void sinew_spring_state_destroy(sinew_spring_state *state) {
    if (!state) return;
    sn_solver_destroy(state->solver);
    sinew_rotation_state_destroy(state->rotation);
    sn_contacts_destroy(state->contacts);
    sn_free(state->weights), sn_free(state->activations), sn_free(state->rest),
        sn_free(state->volume), sn_free(state->altitude);
    sn_free(state->linear), sn_free(state->blend), sn_free(state->positions);
    sn_free_aligned(state->x), sn_free_aligned(state->start);
    for (int h = 0; h < SN_HISTORY; h++)
        sn_free_aligned(state->history[h]), sn_free(state->history_weights[h]);
    sn_free(state->soft);
    sn_free(state->regions), sn_free(state->marked);
    sn_pack_free(&state->kept);
    sn_free(state);
}

const double *sinew_spring_network_positions(const sinew_spring_state *state) {
    return state ? state->positions : NULL;
}

/* ---- what the frame asks for ---- */

sinew_status sn_frame_check(const sinew_spring *spring, const sinew_spring_frame *frame,
                            sinew_error *error) {
    const sinew_rig *rig = spring->rig;
    for (int s = 0; s < rig->slider_count; s++)
        if (!(fabs(frame->weights[s]) <= SN_WEIGHT_LIMIT))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "spring: weight %g of slider %s is not within +-%g", frame->weights[s],
                           rig->sliders[s].name, SN_WEIGHT_LIMIT);
    for (int k = 0; frame->pin_positions && k < 3 * spring->pin_count; k++)
        if (!isfinite(frame->pin_positions[k]))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "spring: position of pinned vertex %d is not "
                           "finite",
                           spring->pins[k / 3]);
    for (int k = 0; k < frame->pull_count; k++) {
        const sinew_spring_pull *pull = &frame->pulls[k];
        if (pull->vertex < 0 || pull->vertex >= spring->network->surface_count)
            return sn_fail(error, SINEW_BAD_INPUT, "spring: pulled vertex %d is not one of %d",
                           pull->vertex, spring->network->surface_count);
        if (!isfinite(pull->position[0]) || !isfinite(pull->position[1]) ||
            !isfinite(pull->position[2]) || !(pull->stiffness > 0))
            return sn_fail(
                error, SINEW_BAD_INPUT,
                "spring: pull of vertex %d needs a finite position and a stiffness above 0",
                pull->vertex);
    }
    for (int k = 0; frame->forces && k < 3 * spring->network->surface_count; k++)
        if (!isfinite(frame->forces[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "spring: force on vertex %d is not finite",
                           k / 3);
    for (int k = 0; k < frame->orientation_count; k++) {
        const sinew_spring_orientation *o = &frame->orientations[k];
        if (!(o->weight >= 0 && o->weight <= 1))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "spring: weight of orientation %d must lie in [0, 1]", k);
        if (!isfinite(o->turn[0] + o->turn[1] + o->turn[2]))
            return sn_fail(error, SINEW_BAD_INPUT, "spring: orientation %d is not finite", k);
        for (int i = 0; i < o->vertex_count; i++)
            if (o->vertices[i] < 0 || o->vertices[i] >= spring->network->surface_count)
                return sn_fail(error, SINEW_BAD_INPUT,
                               "spring: vertex %d of orientation %d is not one of %d",
                               o->vertices[i], k, spring->network->surface_count);
    }
    bool held = frame->forces || frame->pull_count > 0 || frame->obstacle_count > 0 ||
                spring->options.self_contact;
    if (held && spring->pull == 0 && spring->info.fixed_count == 0)
        return sn_fail(
            error, SINEW_BAD_INPUT,
            "spring: a free body with obstacles, pulls or forces needs the pull to the blend "
            "(it is 0): nothing else carries its rigid motion");
    return SINEW_OK;
}

sinew_status sn_frame_orient(const sinew_spring *spring, sinew_spring_state *state,
                             const sinew_spring_frame *frame, sinew_error *error) {
    size_t n = (size_t)spring->network->vertex_count, count = (size_t)frame->orientation_count;
    state->region_count = 0;
    if (frame->orientation_count > state->region_capacity) {
        sn_rotation_region *regions = sn_realloc(state->regions, count, sizeof *regions);
        if (!regions) return sn_no_memory(error);
        state->regions = regions;
        bool *marked = sn_realloc(state->marked, count * n, sizeof *marked);
        if (!marked) return sn_no_memory(error);
        state->marked = marked;
        state->region_capacity = frame->orientation_count;
    }
    if (count > 0) memset(state->marked, 0, count * n * sizeof *state->marked);
    for (size_t k = 0; k < count; k++) {
        const sinew_spring_orientation *o = &frame->orientations[k];
        bool *marked = state->marked + k * n;
        for (int i = 0; i < o->vertex_count; i++)
            marked[sn_seams_root(spring->seams, o->vertices[i])] = true;
        state->regions[k] = (sn_rotation_region){marked, sn_at(o->turn, 0), o->weight};
    }
    state->region_count = frame->orientation_count;
    return SINEW_OK;
}

typedef struct gather_rest_loop {
    const sn_system *system;
    const double *source;
    double *rest;
} gather_rest_loop;

static void gather_rest(void *context, sn_span span) {
    const gather_rest_loop *loop = context;
    const sn_system *system = loop->system;
    const double *source = loop->source;
    double *rest = loop->rest;
    SN_IN_SPAN(int, s, span) rest[s] = source[system->spring[s]];
}

int sn_frame_blend(const sinew_spring *spring, sinew_spring_state *state,
                   const sinew_spring_frame *frame, double share) {
    const sn_network *network = spring->network;
    const sn_system *system = spring->system;
    sn_load *load = &state->solver->load;
    for (int s = 0; s < spring->rig->slider_count; s++)
        state->weights[s] = share * frame->weights[s];
    sinew_rig_activations(spring->rig, state->weights, state->activations);
    int clamped = sn_network_blend_rest(network, state->activations, state->rest);
    sn_network_blend_volume(network, state->activations, state->volume);
    sn_network_blend_altitude(network, state->activations, state->altitude);
    sn_parallel_for(system->spring_count, 1024, gather_rest,
                    &(gather_rest_loop){system, state->rest, load->rest});
    for (int t = 0; t < system->tet_count; t++)
        load->volume[t] = state->volume[system->tet_source[t]];
    for (int k = 0; k < state->region_count; k++)
        state->regions[k].weight = share * frame->orientations[k].weight;
    if (sn_interrupted()) return -1;
    sn_rotation_evaluate_oriented(spring->rotation, state->rotation, state->weights,
                                  state->region_count, state->regions, state->blend);
    if (spring->anchor.used) sn_anchor_blend(spring, state->activations, state->blend);
    if (sn_interrupted()) return -1;
    sn_system_import(system, state->blend, load->blend);
    sn_guide_set(spring, state);
    if (sn_interrupted()) return -1;
    /* held vertices follow the linear blend, or where they are put */
    if (system->free_count < system->count)
        sinew_linear_evaluate(spring->linear, state->weights, state->linear);
    for (int v = 0; v < network->surface_count; v++)
        if (spring->held[v]) sn_put(state->blend, v, sn_at(state->linear, v));
    if (frame->pin_positions)
        for (int k = 0; k < spring->pin_count; k++)
            sn_put(state->blend, spring->pins[k],
                   sn_lerp(sn_at(network->neutral, spring->pins[k]), sn_at(frame->pin_positions, k),
                           share));
    load->pull = spring->pull;
    sn_system_import(system, state->blend, load->blend);
    sn_solver_set_scale(state->solver);
    return sn_interrupted() ? -1 : clamped;
}

/* A fraction of the frame's forces, in the order of the solver. */
static void set_forces(const sinew_spring *spring, const sinew_spring_frame *frame, double share,
                       sn_load *load) {
    const sn_system *system = spring->system;
    load->forced = frame->forces != NULL;
    if (!load->forced) return;
    memset(load->force, 0, SN_PAD * (size_t)system->free_count * sizeof *load->force);
    for (int v = 0; v < spring->network->surface_count; v++) {
        int at = system->place[sn_seams_root(spring->seams, v)];
        for (int c = 0; c < 3 && at < system->free_count; c++)
            load->force[SN_PAD * (size_t)at + (size_t)c] +=
                share * system->mean_stiffness * frame->forces[3 * (size_t)v + (size_t)c];
    }
}

/* Where a pull leads at a fraction of the path from the blend. */
static void find_target(const sinew_spring_state *state, const sinew_spring_pull *pull, int v,
                        double share, double to[3]) {
    const double *blend = state->solver->load.blend + SN_PAD * (size_t)v;
    for (int c = 0; c < 3; c++) to[c] = share * pull->position[c] + (1 - share) * blend[c];
}

void sn_frame_place(const sinew_spring *spring, const sinew_spring_state *state,
                    const sinew_spring_frame *frame, double share, double *x) {
    for (int k = 0; k < frame->pull_count; k++) {
        const sinew_spring_pull *pull = &frame->pulls[k];
        int v = spring->system->place[sn_seams_root(spring->seams, pull->vertex)];
        if (v < spring->system->free_count && isinf(pull->stiffness))
            find_target(state, pull, v, share, x + SN_PAD * (size_t)v);
    }
}

/* Hard pulls freeze their vertex at its place, soft ones become springs. */
sinew_status sn_frame_pull(const sinew_spring *spring, sinew_spring_state *state,
                           const sinew_spring_frame *frame, double share, sinew_error *error) {
    sn_solver *solver = state->solver;
    const sn_system *system = spring->system;
    sn_constraints_clear(&solver->constraints);
    set_forces(spring, frame, share, &solver->load);
    solver->load.soft_count = 0;
    if (frame->pull_count > state->soft_capacity) {
        sn_soft_pull *soft = sn_realloc(state->soft, (size_t)frame->pull_count, sizeof *soft);
        if (!soft) return sn_no_memory(error);
        state->soft = soft, state->soft_capacity = frame->pull_count;
    }
    for (int k = 0; k < frame->pull_count; k++) {
        const sinew_spring_pull *pull = &frame->pulls[k];
        int v = system->place[sn_seams_root(spring->seams, pull->vertex)];
        if (v >= system->free_count) continue; /* a held vertex stays where it is held */
        if (isinf(pull->stiffness)) {
            sn_constraints_freeze(&solver->constraints, v);
        } else {
            sn_soft_pull *soft = &state->soft[solver->load.soft_count++];
            *soft =
                (sn_soft_pull){.vertex = v, .stiffness = pull->stiffness * system->mean_stiffness};
            find_target(state, pull, v, share, soft->target);
        }
    }
    solver->load.soft = state->soft;
    sn_frame_place(spring, state, frame, share, state->x);
    return SINEW_OK;
}

/* ---- start ---- */

/* A solve from the blend that needs few steps stays in one basin, and so do its neighbors; only
 * then may a frame start from those before it. Where shapes buckle, every frame starts from the
 * blend. */
enum { TAME_STEPS = 8 };

static bool is_tame(const sn_equilibrium_info *counts, const sinew_spring_frame_info *info) {
    int rounds = info->rounds > 1 ? info->rounds : 1;
    return counts->iterations <= TAME_STEPS * rounds;
}

/* x stays as the last frame left it, but for what is held: the warm start of plain Newton. */
static void start_from_last(const sinew_spring *spring, sinew_spring_state *state,
                            sinew_spring_frame_info *info) {
    size_t n = SN_PAD * (size_t)spring->system->count,
           moving = SN_PAD * (size_t)spring->system->free_count;
    memcpy(state->x + moving, state->solver->load.blend + moving, (n - moving) * sizeof *state->x);
    info->extrapolated = true;
}

/* ---- what to say ---- */

typedef struct shape_report {
    const sinew_spring *spring;
    const sinew_spring_state *state;
    atomic_int inverted, new_inverted, flipped;
} shape_report;

static void count_inverted(void *context, sn_span span) {
    shape_report *r = context;
    const sn_network *network = r->spring->network;
    int inverted = 0, new_inverted = 0;
    SN_IN_SPAN(size_t, t, span) {
        if (sn_tet_volume(r->state->positions, network->tets + 4 * t) > 0) continue;
        inverted++;
        new_inverted += !r->spring->pose_inverts[t];
    }
    if (inverted) atomic_fetch_add(&r->inverted, inverted);
    if (new_inverted) atomic_fetch_add(&r->new_inverted, new_inverted);
}

static void count_flipped(void *context, sn_span span) {
    shape_report *r = context;
    const double *shapes[2] = {r->state->positions, r->state->blend};
    int flipped = 0;
    SN_IN_SPAN(size_t, t, span) {
        const int *v = r->spring->network->triangles + 3 * t;
        sn_vec3 normal[2];
        for (int k = 0; k < 2; k++) {
            sn_vec3 a = sn_at(shapes[k], v[0]);
            normal[k] =
                sn_cross(sn_sub(sn_at(shapes[k], v[1]), a), sn_sub(sn_at(shapes[k], v[2]), a));
        }
        flipped += sn_dot(normal[0], normal[1]) < 0;
    }
    if (flipped) atomic_fetch_add(&r->flipped, flipped);
}

static void report_shape(const sinew_spring *spring, const sinew_spring_state *state,
                         sinew_spring_frame_info *info) {
    const sn_network *network = spring->network;
    shape_report report = {.spring = spring, .state = state};
    sn_parallel_for(network->tet_count, 512, count_inverted, &report);
    sn_parallel_for(network->triangle_count, 512, count_flipped, &report);
    info->inverted = atomic_load(&report.inverted);
    info->new_inverted = atomic_load(&report.new_inverted);
    info->flipped = atomic_load(&report.flipped);
}

int sinew_spring_new_inverted(const sinew_spring_state *state, int capacity, int *tets) {
    const sinew_spring *spring = state->spring;
    const sn_network *network = spring->network;
    int count = 0;
    for (int t = 0; t < network->tet_count; t++) {
        const int *v = network->tets + 4 * (size_t)t;
        if (spring->pose_inverts[t] || sn_tet_volume(state->positions, v) > 0) continue;
        if (count < capacity) {
            tets[5 * count] = t;
            memcpy(tets + 5 * count + 1, v, 4 * sizeof *v);
        }
        count++;
    }
    return count;
}

/* ---- solve ---- */

/* From the shape in state->x. */
static sinew_status solve_from(const sinew_spring *spring, sinew_spring_state *state,
                               const sinew_spring_frame *frame,
                               const sn_equilibrium_options *options, sn_equilibrium_info *counts,
                               sinew_spring_frame_info *info, sinew_error *error) {
    SN_TRY(sn_frame_pull(spring, state, frame, 1, error));
    if (frame->obstacle_count > 0 || spring->options.self_contact)
        return sn_contact_solve(spring, state, frame, options, counts, info, error);
    return sn_equilibrium(state->solver, options, state->x, counts, error);
}

/* The source shape, with held vertices where this frame wants them: the published start. */
static void start_from_source(const sinew_spring *spring, sinew_spring_state *state) {
    const sn_network *network = spring->network;
    memcpy(state->positions, state->blend, 3 * (size_t)network->vertex_count * sizeof(double));
    for (int v = 0; v < network->anchor_first; v++)
        if (!spring->held[v]) sn_put(state->positions, v, sn_at(network->neutral, v));
    sn_system_import(spring->system, state->positions, state->x);
}

static sinew_status solve(const sinew_spring *spring, sinew_spring_state *state,
                          const sinew_spring_frame *frame, sinew_spring_frame_info *info,
                          const sinew_monitor *monitor, sinew_error *error) {
    double began = sn_now();
    const sinew_spring_options *options = &state->settings;
    sn_solver *solver = state->solver;
    /* friction has a past, whatever the solver does with its history */
    if (frame->index < 0 || frame->index != state->last_index + 1)
        sn_contacts_forget(state->contacts, spring->network->surface_count);
    state->last_index = frame->index;
    bool follows = frame->index >= 0 && !options->independent &&
                   frame->index == state->history_index + 1 &&
                   (state->live || frame->index % SN_HISTORY_RUN != 0);
    if (!follows) sn_history_forget(state);
    SN_TRY(sn_frame_orient(spring, state, frame, error));
    info->clamped = sn_frame_blend(spring, state, frame, 1);
    if (info->clamped < 0) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    /* pulls and forces count among the energies that starts are compared by */
    SN_TRY(sn_frame_pull(spring, state, frame, 1, error));
    solver->floating = spring->pull == 0 && spring->info.fixed_count == 0;
    solver->guided = options->guide > 0 || options->altitude > 0;
    if (options->solver == SINEW_SPRING_SOLVER_PUBLISHED)
        start_from_source(spring, state);
    else if (options->solver == SINEW_SPRING_SOLVER_NEWTON && state->history_count > 0 &&
             state->tame)
        start_from_last(spring, state, info);
    else
        info->extrapolated = sn_history_start(spring, state, frame);
    sn_equilibrium_options solve_options = {.solver = options->solver,
                                            .tolerance = options->tolerance,
                                            .max_iterations = options->max_iterations,
                                            .work_limit = sn_work_seconds() + options->time_limit,
                                            .monitor = monitor};
    sn_equilibrium_info counts = {0}, wasted = {0};
    sinew_status status = solve_from(spring, state, frame, &solve_options, &counts, info, error);
    if (info->extrapolated && !is_tame(&counts, info) && status != SINEW_CANCELLED) {
        info->extrapolated = false;
        wasted = counts, counts = (sn_equilibrium_info){0};
        sn_history_forget(state);
        memcpy(state->x, solver->load.blend,
               SN_PAD * (size_t)spring->system->count * sizeof *state->x);
        status = solve_from(spring, state, frame, &solve_options, &counts, info, error);
    }
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED && status != SINEW_CANCELLED)
        return status;
    info->iterations = counts.iterations + wasted.iterations;
    info->inner_iterations = counts.inner_iterations + wasted.inner_iterations;
    info->factorizations = counts.factorizations + wasted.factorizations;
    info->residual = counts.residual, info->energy = counts.energy;
    sn_system_export(spring->system, state->x, state->positions);
    if (solver->floating) {
        sn_boundary_place(spring, !solver->guided, state->blend, state->positions);
        sn_system_import(spring->system, state->positions, state->x);
    }
    sn_seams_copy(spring->seams, state->activations, state->positions);
    /* a solve that needed no step says nothing about its neighbors */
    if (!info->extrapolated) state->tame = is_tame(&counts, info) && counts.iterations > 0;
    if (status == SINEW_OK && frame->index >= 0)
        sn_history_remember(spring, state, frame->index);
    else if (status != SINEW_CANCELLED)
        sn_history_forget(state);
    report_shape(spring, state, info);
    info->status = status;
    info->time_limited = status == SINEW_NOT_CONVERGED && counts.out_of_time;
    info->seconds = sn_now() - began;
    return status;
}

sinew_status sinew_spring_solve(const sinew_spring *spring, sinew_spring_state *state,
                                const sinew_spring_frame *frame, double *positions,
                                sinew_spring_frame_info *given, const sinew_monitor *monitor,
                                sinew_error *error) {
    SN_REQUIRE(spring && state && frame && positions && sn_info_ready(given), error);
    SN_INPUT(sinew_spring_frame, asked, frame, error);
    frame = &asked;
    SN_REQUIRE(frame->weights || spring->rig->slider_count == 0, error);
    SN_REQUIRE(frame->orientation_count == 0 || frame->orientations, error);
    sinew_spring_frame_info info = {0};
    SN_TRY(sn_frame_check(spring, frame, error));
    sn_spring_past past;
    SN_TRY(sn_spring_keep(state, &past, error));
    sn_call call; /* in a scope, loops that do not know the monitor can be stopped */
    sn_call_begin(&call, monitor);
    sinew_status status = solve(spring, state, frame, &info, monitor, error);
    status = sn_call_end(&call, status, error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) sn_spring_restore(state, &past);
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED || status == SINEW_CANCELLED)
        memcpy(positions, state->positions,
               3 * (size_t)spring->network->surface_count * sizeof *positions);
    if (status == SINEW_NOT_CONVERGED && info.swallowed)
        sn_fail(error, status,
                "spring: obstacle %d contains the whole shape, which cannot be pushed out",
                info.swallowed);
    else if (info.time_limited)
        sn_fail(error, status,
                "spring: stopped by the time limit (%g s of CPU time): force %.2g of tolerance "
                "%.2g after %d steps",
                state->settings.time_limit, info.residual, state->settings.tolerance,
                info.iterations);
    else if (status == SINEW_NOT_CONVERGED && info.residual <= state->settings.tolerance)
        sn_fail(error, status,
                "spring: forces balance (%.2g of tolerance %.2g), but %d contacts did not settle "
                "in %d rounds; deepest %.2g%% of the diagonal",
                info.residual, state->settings.tolerance, info.contacts, info.rounds,
                100 * info.depth);
    else if (status == SINEW_NOT_CONVERGED)
        sn_fail(error, status, "spring: force %.2g of tolerance %.2g after %d steps", info.residual,
                state->settings.tolerance, info.iterations);
    sn_info_write(given, &info, sizeof info);
    return status;
}
