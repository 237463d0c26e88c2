/* The part of the network that self-contact moves.
 *
 * Contact pushes vertices around by a fraction of an edge, and its effect fades within a few edges.
 * Solving the whole network in every round would spend nearly all its time on what hardly moves.
 * The rounds are therefore first solved on a region around the intersections of the frame, while
 * everything else follows the shape without contact; a few steps of the whole network follow
 * (contact.c), until its forces balance.
 *
 * A region has its own solver: that of the same network with everything else held. It is a copy of
 * the spring and state of the frame in which only the solver differs, so that the code for rounds
 * and paths works for both. */
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"
#include "spring/contact.h"

/* Edges around an intersection, and the largest fraction of the network for which it pays. */
enum { RINGS = 12 };
static const double MOST = 0.6;

/* Do effects of contact spread along a spring? Struts lead to the other side of the body, and
 * bending springs join what two edges join already. */
static bool spreads(const sn_network *network, int spring) {
    return network->kind[spring] == SINEW_SPRING_KIND_STRUCTURE ||
           (network->kind[spring] == SINEW_SPRING_KIND_INTERNAL && network->tet_count > 0);
}

/* held[v]: vertices that are more than RINGS edges away from `meets`, or that nothing may move.
 * next: as many, scratch. Returns how many may move. */
static int spread(const sinew_spring *spring, const bool *meets, bool *held, bool *next) {
    const sn_network *network = spring->network;
    size_t n = (size_t)network->vertex_count;
    int free_count = 0;
    for (int v = 0; v < network->vertex_count; v++)
        held[v] = !(v < network->surface_count && meets[v]);
    for (int ring = 0; ring < RINGS; ring++) {
        memcpy(next, held, n * sizeof *held);
        for (int s = 0; s < network->spring_count; s++) {
            const int *end = network->ends + 2 * (size_t)s;
            if (held[end[0]] == held[end[1]] || !spreads(network, s)) continue;
            next[end[0]] = next[end[1]] = false;
        }
        memcpy(held, next, n * sizeof *held);
    }
    for (int v = 0; v < network->vertex_count; v++) {
        held[v] |= spring->held[v];
        free_count += !held[v];
    }
    return free_count;
}

typedef struct copy_loop {
    const sn_system *from, *to;
    const double *x;
    double *y;
} copy_loop;

static void copy_vertices(void *context, sn_span span) {
    const copy_loop *loop = context;
    SN_IN_SPAN(int, v, span)
        memcpy(loop->y + SN_PAD * (size_t)loop->to->place[v],
               loop->x + SN_PAD * (size_t)loop->from->place[v], SN_PAD * sizeof *loop->y);
}

/* y := x in the order of another system. */
static void copy(const sn_system *from, const double *x, const sn_system *to, double *y) {
    sn_parallel_for(to->count, 512, copy_vertices, &(copy_loop){from, to, x, y});
}

void sn_self_region_enter(sn_self_region *region, const sinew_spring *spring,
                          const sinew_spring_state *state) {
    copy(spring->system, state->x, region->spring.system, region->state.x);
}

void sn_self_region_leave(const sn_self_region *region, const sinew_spring *spring,
                          sinew_spring_state *state) {
    copy(region->spring.system, region->state.x, spring->system, state->x);
}

void sn_self_region_destroy(sn_self_region *region) {
    if (!region) return;
    sn_solver_destroy(region->state.solver);
    sn_preconditioner_destroy(region->spring.preconditioner);
    sn_system_destroy(region->spring.system);
    sn_free_aligned(region->state.x), sn_free_aligned(region->state.start);
    sn_free_aligned(region->off);
    sn_free(region);
}

static sinew_status build(const sinew_spring *spring, sinew_spring_state *state,
                          const sinew_spring_frame *frame, const bool *held, sn_self_region *region,
                          sinew_error *error) {
    const sinew_spring_options *options = &spring->options;
    size_t n = SN_PAD * (size_t)spring->network->vertex_count;
    region->spring = *spring, region->state = *state;
    region->spring.system = NULL, region->spring.preconditioner = NULL;
    region->state.spring = &region->spring, region->state.solver = NULL;
    region->state.x = sn_alloc_aligned(n, sizeof(double));
    region->state.start = sn_alloc_aligned(n, sizeof(double));
    region->off = sn_alloc_aligned(n, sizeof(double));
    if (!region->state.x || !region->state.start || !region->off) return sn_no_memory(error);
    SN_TRY(sn_system_create(spring->network, held, spring->volume_stiffness,
                            options->altitude * options->kappa[SINEW_SPRING_KIND_STRUCTURE],
                            &region->spring.system, error));
    SN_TRY(sn_check_interrupt(error));
    SN_TRY(sn_preconditioner_create(region->spring.system, spring->network, spring->pull,
                                    options->guide == 0, &region->spring.preconditioner, error));
    SN_TRY(sn_check_interrupt(error));
    SN_TRY(sn_solver_create(region->spring.system, region->spring.preconditioner,
                            &region->state.solver, error));
    sn_solver *solver = region->state.solver;
    solver->component = state->solver->component;
    solver->component_count = state->solver->component_count;
    solver->floating = state->solver->floating, solver->guided = state->solver->guided;
    sn_self_region_enter(region, spring, state);
    sn_system_import(region->spring.system, state->blend, solver->load.blend);
    /* how far the shape without contact is from the blend */
    for (size_t k = 0; k < n; k++) region->off[k] = region->state.x[k] - solver->load.blend[k];
    region->state.off = region->off;
    SN_TRY(sn_check_interrupt(error));
    return sn_frame_pull(&region->spring, &region->state, frame, 1, error);
}

sinew_status sn_self_region_create(const sinew_spring *spring, sinew_spring_state *state,
                                   const sinew_spring_frame *frame, sn_self_region **result,
                                   sinew_error *error) {
    *result = NULL;
    size_t n = (size_t)spring->network->vertex_count;
    bool *held = SN_NEW(bool, 2 * n);
    if (!held) return sn_no_memory(error);
    int free_count = spread(spring, sn_self_meets(state), held, held + n);
    sinew_status status = SINEW_OK;
    if (free_count > 0 && free_count < MOST * spring->system->free_count) {
        sn_self_region *region = SN_NEW0(sn_self_region, 1);
        status = region ? build(spring, state, frame, held, region, error) : sn_no_memory(error);
        if (status == SINEW_OK)
            *result = region;
        else
            sn_self_region_destroy(region);
    }
    sn_free(held);
    return status;
}
