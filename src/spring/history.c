/* Where a frame starts: at the rotation-aware blend, or at what earlier frames predict.
 *
 * What the equilibrium adds to the blend, its correction, varies slowly. Frames of a clip follow
 * each other in equal steps, and their corrections are extrapolated in time. A slider is dragged in
 * steps of any length and direction, so live frames are extrapolated in the weights, along the last
 * move: with t = 0 at the weights of the last frame, t = 1 at those of this one, and t_h where the
 * weights of earlier frames project to,
 *
 *   c(1) = sum_h c_h prod_{j != h} (1 - t_j) / (t_h - t_j)                     (Lagrange)
 *
 * which is 2 c_0 - c_1 and 3 c_0 - 3 c_1 + c_2 for equal steps, c_1 for a slider that goes back,
 * and c_0 for one that rests. The start with the lowest energy wins. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "spring/structure.h"

/* Earlier frames whose weights project closer together than this tell nothing apart. */
static const double LEAST_GAP = 0.2;
/* Factors beyond this amplify the errors that tolerances leave. */
static const double MOST_FACTOR = 8;

static const double IN_TIME[SN_HISTORY][SN_HISTORY] = {{1, 0, 0}, {2, -1, 0}, {3, -3, 1}};

void sn_history_forget(sinew_spring_state *state) {
    state->history_count = 0, state->history_index = -2;
    state->tame = false;
}

typedef struct correction_loop {
    const double *blend, *x;
    const double *factor;
    double *const *past;
    int order;
    double *to;
} correction_loop;

static void find_corrections(void *context, sn_span span) {
    const correction_loop *loop = context;
    SN_IN_SPAN(size_t, k, span) loop->to[k] = loop->x[k] - loop->blend[k];
}

void sn_history_remember(const sinew_spring *spring, sinew_spring_state *state, int index) {
    double *oldest = state->history[SN_HISTORY - 1];
    double *oldest_weights = state->history_weights[SN_HISTORY - 1];
    for (int h = SN_HISTORY - 1; h > 0; h--) {
        state->history[h] = state->history[h - 1];
        state->history_weights[h] = state->history_weights[h - 1];
    }
    state->history[0] = oldest, state->history_weights[0] = oldest_weights;
    sn_parallel_for(
        SN_PAD * (size_t)spring->system->free_count, 1024, find_corrections,
        &(correction_loop){.blend = state->solver->load.blend, .x = state->x, .to = oldest});
    memcpy(oldest_weights, state->weights,
           (size_t)spring->rig->slider_count * sizeof *oldest_weights);
    if (state->history_count < SN_HISTORY) state->history_count++;
    state->history_index = index;
}

static void add_corrections(void *context, sn_span span) {
    const correction_loop *loop = context;
    SN_IN_SPAN(size_t, k, span) {
        double sum = loop->blend[k];
        for (int h = 0; h <= loop->order; h++) sum += loop->factor[h] * loop->past[h][k];
        loop->to[k] = sum;
    }
}

static void extrapolate(const sinew_spring *spring, const sinew_spring_state *state, int order,
                        const double *factor, double *x) {
    const sn_system *system = spring->system;
    const double *blend = state->solver->load.blend;
    size_t n = SN_PAD * (size_t)system->count, moving = SN_PAD * (size_t)system->free_count;
    memcpy(x + moving, blend + moving, (n - moving) * sizeof *x);
    sn_parallel_for(
        moving, 1024, add_corrections,
        &(correction_loop){
            .blend = blend, .factor = factor, .past = state->history, .order = order, .to = x});
}

/* Where earlier weights are along the last move: t[h], h < history_count; false: there was none. */
static bool project_weights(const sinew_spring *spring, const sinew_spring_state *state,
                            double t[SN_HISTORY]) {
    const double *now = state->weights, *last = state->history_weights[0];
    int n = spring->rig->slider_count;
    double square = 0;
    for (int s = 0; s < n; s++) square += (now[s] - last[s]) * (now[s] - last[s]);
    for (int h = 0; h < state->history_count; h++) {
        double sum = 0;
        for (int s = 0; s < n; s++)
            sum += (now[s] - last[s]) * (state->history_weights[h][s] - last[s]);
        t[h] = square > 0 ? sum / square : 0;
    }
    return square > 0;
}

/* Factors of the corrections up to the order; false: the weights do not tell the frames apart. */
static bool find_factors(const double t[SN_HISTORY], int order, double factor[SN_HISTORY]) {
    for (int h = 0; h <= order; h++) {
        factor[h] = 1;
        for (int j = 0; j <= order; j++) {
            if (j == h) continue;
            if (!(fabs(t[h] - t[j]) > LEAST_GAP)) return false;
            factor[h] *= (1 - t[j]) / (t[h] - t[j]);
        }
        if (!(fabs(factor[h]) < MOST_FACTOR)) return false;
    }
    return true;
}

/* The two highest orders that are there: the highest is nearest on smooth motion, the other bears
 * the errors that loose tolerances leave. */
bool sn_history_start(const sinew_spring *spring, sinew_spring_state *state,
                      const sinew_spring_frame *frame) {
    const sn_system *system = spring->system;
    sn_solver *solver = state->solver;
    memcpy(state->x, solver->load.blend, SN_PAD * (size_t)system->count * sizeof *state->x);
    int highest = state->history_count - 1, tried = 0;
    if (highest < 0 || !state->tame) return false;
    double t[SN_HISTORY], factors[SN_HISTORY];
    bool moved = state->live && project_weights(spring, state, t), found = false;
    sn_frame_place(spring, state, frame, 1, state->x);
    double best = sn_energy(system, &solver->load, state->x, NULL, &solver->scratch);
    for (int order = highest; order >= 0 && tried < 2; order--) {
        memcpy(factors, IN_TIME[order], sizeof factors);
        if (state->live && order > 0 && !(moved && find_factors(t, order, factors))) continue;
        extrapolate(spring, state, order, factors, state->start);
        sn_frame_place(spring, state, frame, 1, state->start);
        tried++;
        double energy = sn_energy(system, &solver->load, state->start, NULL, &solver->scratch);
        if (!(energy < best)) continue;
        best = energy, found = true;
        double *swap = state->x;
        state->x = state->start, state->start = swap;
    }
    return found;
}
