/* One frame: the blend, then Newton's method with preconditioned conjugate gradients
 * (spring/equilibrium.c) in a single launch; the inner method is in spring_gradients.h. */
#ifndef SN_GPU_KERNELS_SPRING_NEWTON_H
#define SN_GPU_KERNELS_SPRING_NEWTON_H

#include "gpu/kernels/spring_gradients.h"

/* x[1 - at] = x[at] + length step. Sums: gradient[of] . step. */
SN_PHASE_FN void sn_spring_step(sn_grid *g, const sn_spring_work *w, int at, int of,
                                double length) {
    sn_block_part b = sn_block_part_at(g);
    double slope = 0;
    for (int own = g->thread; own < b.count; own += g->threads) {
        int v = b.first + own;
        sn_double4 x = w->x[at][v], f = w->gradient[of][v];
        sn_float4 s = b.step[own];
        w->x[1 - at][v] = sn_double4_make(x.x + length * (double)s.x, x.y + length * (double)s.y,
                                          x.z + length * (double)s.z);
        slope += f.x * (double)s.x + f.y * (double)s.y + f.z * (double)s.z;
    }
    sn_block_sums(g, 1, &slope, 0);
}

/* Result in the network's order; counts of what turned over. Sums: inverted, new, flipped. */
SN_PHASE_FN void sn_spring_report(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                  const sn_spring_asked *a, int at) {
    const sn_double4 *x = w->x[at];
    double sums[3] = {0, 0, 0};
    for (int v = sn_first(g); v < d->count; v += sn_stride(g)) {
        double *to = a->positions + 3 * (size_t)d->source[v];
        sn_double4 p = x[v];
        to[0] = p.x, to[1] = p.y, to[2] = p.z;
    }
    for (int t = sn_first(g); t < d->tet_count; t += sn_stride(g)) {
        sn_int4 c = d->tets[t];
        if (sn_tet_is_upright(x[c.x], x[c.y], x[c.z], x[c.w])) continue;
        sums[0]++, sums[1] += !d->pose_inverts[t];
    }
    for (int t = sn_first(g); t < d->surface_count; t += sn_stride(g)) {
        sn_int4 c = d->surface[t];
        int v[3] = {c.x, c.y, c.z};
        sn_double4 p[3], b[3];
        for (int k = 0; k < 3; k++) {
            p[k] = x[v[k]];
            b[k] = v[k] < d->free_count ? w->blend[v[k]] : x[v[k]];
        }
        sums[2] += sn_triangle_is_flipped(p, b);
    }
    sn_block_sums(g, 3, sums, 0);
}

/* Of the loop below. */
typedef struct sn_newton {
    int at; /* which of the two positions is the current one */
    double energy, residual, largest, least;
    bool stop;
} sn_newton;

SN_FN void sn_newton_evaluate(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                              const sn_spring_asked *a, int at, double least, sn_newton *out) {
    double sums[4];
    SN_PHASE(g, sn_spring_gradient(g, d, w, a, at, least));
    sn_totals(g, 4, sums, 6);
    out->energy = sums[0], out->residual = sqrt(sums[1]), out->largest = sums[2];
    out->stop = sums[3] != 0;
}

/* The step length, with the trial's position and gradient in 1 - at; 0: none lowers the energy. */
SN_FN double sn_newton_search(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                              const sn_spring_asked *a, const sn_newton *now, bool lengthen,
                              sn_newton *trial) {
    double length = 1, noise = 1e-13 * fabs(now->energy), slope = 0, found = 0;
    for (int k = 0; k < SN_BACKTRACKS && found == 0; k++) {
        SN_PHASE(g, sn_spring_step(g, w, now->at, now->at, length * now->largest));
        double sum;
        sn_totals(g, 1, &sum, 0);
        slope = sum * now->largest;
        if (!(slope < 0)) return 0;
        sn_newton_evaluate(g, d, w, a, 1 - now->at, now->least, trial);
        double e = trial->energy;
        if (!isfinite(e)) {
            length *= 0.1;
            continue;
        }
        bool lower = e <= now->energy + 1e-4 * length * slope;
        bool same = fabs(e - now->energy) <= noise || fabs(length * slope) <= noise;
        if (lower || (same && e <= now->energy + noise && trial->residual < now->residual)) {
            found = length;
            break;
        }
        length = sn_shorter_step(length, slope, e - now->energy);
    }
    if (found != 1 || !lengthen) return found;
    /* a projected Hessian makes short steps: go on while most of the slope is left */
    for (int k = 0; k < SN_LENGTHENINGS; k++) {
        double sum;
        SN_PHASE(g, sn_spring_step(g, w, now->at, 1 - now->at, length * now->largest));
        sn_totals(g, 1, &sum, 0);
        double here = sum * now->largest;
        if (!(here < 0.5 * slope)) break;
        double ahead = here > slope ? slope / (slope - here) : 4;
        double longer = length * (ahead < 4 ? ahead : 4);
        SN_PHASE(g, sn_spring_step(g, w, now->at, now->at, longer * now->largest));
        sn_newton further;
        sn_newton_evaluate(g, d, w, a, 1 - now->at, now->least, &further);
        if (!(further.energy < trial->energy)) {
            SN_PHASE(g, sn_spring_step(g, w, now->at, now->at, length * now->largest));
            sn_newton_evaluate(g, d, w, a, 1 - now->at, now->least, trial);
            break;
        }
        length = longer, *trial = further;
    }
    return length;
}

SN_FN void sn_spring_run(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                         const sn_spring_asked *a) {
    double clamped, scale, counts[3];
    sn_newton now, trial;
    SN_PHASE(g, (sn_rotation_items(g, &d->rotation, &w->blender, a->activations),
                 sn_spring_lengths(g, d, w, a->activations)));
    sn_totals(g, 1, &clamped, 0);
    sn_rotation_rebuild(g, &d->rotation, &w->blender, a->activations, a->refinements, d->place,
                        w->blend, NULL);
    if (d->coarse.rigid)
        SN_PHASE(g, sn_spring_guides(g, d, w, a));
    else
        SN_PHASE(g, (sn_block_part_load(g, d, w), sn_spring_guides(g, d, w, a)));
    sn_totals(g, 1, &scale, 0);
    now.at = 0;
    now.least = 0.5e-3 * scale / (d->free_count > 0 ? d->free_count : 1);
    if (!(now.least > 0)) now.least = 1;
    if (d->coarse.rigid) {
        SN_PHASE(g, sn_coarse_sum(g, d, w));
        SN_PHASE(g, sn_coarse_place(g, d, w));
        SN_PHASE(g, sn_block_part_load(g, d, w));
    }
    sn_newton_evaluate(g, d, w, a, 0, now.least, &now);

    int outcome = SN_SPRING_NOT_CONVERGED, iterations = 0, inner = 0;
    int level = 0, hold = 0, penalty = SN_HOLD_AFTER_FAILURE;
    double before = 0;
    bool near_answer = false;
    if (!isfinite(now.energy) || !isfinite(now.residual)) outcome = SN_SPRING_NOT_FINITE;
    for (int step = 0; step < a->max_iterations && outcome == SN_SPRING_NOT_CONVERGED; step++) {
        if (now.residual <= (step ? 1 : 0.01) * a->tolerance) {
            outcome = SN_SPRING_CONVERGED;
            break;
        }
        if (now.stop) {
            outcome = SN_SPRING_STOPPED;
            break;
        }
        double goal = sn_inner_goal(a->tolerance, now.residual, before);
        bool failed = false;
        while (!sn_spring_direction(g, d, w, a, now.at, sn_kept_curvature(level), now.largest, goal,
                                    &inner) &&
               level < SN_PROJECTED)
            level = near_answer ? level + 1 : SN_PROJECTED, failed = true;
        bool short_sighted = level > 0;
        if (failed) {
            hold = near_answer ? penalty : 1;
            if (near_answer && penalty < SN_HOLD_MOST) penalty *= 2;
            near_answer = true;
        } else if (level > 0 && --hold <= 0) {
            level--;
        }
        iterations++;
        double least = now.least;
        double length = sn_newton_search(g, d, w, a, &now, short_sighted, &trial);
        if (length == 0) {
            if (level >= SN_PROJECTED) break;
            level = SN_PROJECTED, hold = penalty;
            continue;
        }
        trial.at = 1 - now.at, trial.least = least, before = now.residual;
        now = trial;
    }
    if (outcome == SN_SPRING_NOT_CONVERGED && now.residual <= a->tolerance)
        outcome = SN_SPRING_CONVERGED;
    SN_PHASE(g, sn_spring_report(g, d, w, a, now.at));
    sn_totals(g, 3, counts, 0);
    SN_ONCE(g) {
        sn_spring_answer *to = a->answer;
        to->outcome = outcome, to->iterations = iterations, to->inner_iterations = inner;
        to->residual = now.residual, to->energy = now.energy, to->clamped = (int)clamped;
        to->inverted = (int)counts[0], to->new_inverted = (int)counts[1];
        to->flipped = (int)counts[2];
    }
}

#endif
