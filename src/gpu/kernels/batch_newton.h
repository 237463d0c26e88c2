/* A batch of spring frames from beginning to end: spring_newton.h, with frames side by side. Frames
 * take their Newton steps together; whoever is done earlier waits for the others. */
#ifndef SN_GPU_KERNELS_BATCH_NEWTON_H
#define SN_GPU_KERNELS_BATCH_NEWTON_H

#include "gpu/kernels/batch_spring.h"

/* ---- phases ---- */

/* trial = current + length step for frames that are on. Sums: gradient . step, at the current
 * positions or at the trial's. */
SN_BATCH_FN void sn_batch_step(sn_grid *g, const sn_spring_device *device,
                               const sn_batch_work *work, const sn_batch_frame *frames,
                               bool of_trial) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    sn_batch_sums sums = {{{0}}};
    SN_ITEMS(g, v, d->free_count) SN_EACH(i) {
        if (!s[i].on) continue;
        int lane = SN_LANE(i), at = s[i].at;
        double length = s[i].length * s[i].largest;
        sn_double4 x = sn_get3(sn_side(w->x, at), v, lane);
        sn_double4 f = sn_get3(sn_side(w->gradient, of_trial ? 1 - at : at), v, lane);
        sn_float4 p = sn_get3f(w->step, v, lane);
        sn_double4 step = sn_double4_make((double)p.x, (double)p.y, (double)p.z);
        sn_set3(sn_side(w->x, 1 - at), v, lane, sn_double4_add(x, sn_double4_scale(length, step)));
        sums.v[0][i] += sn_double4_dot(f, step);
    }
    sn_batch_hand_over(g, w, 1, &sums, 0);
}

/* Results in the network's order; counts of what turned over. Sums: inverted, new, flipped. */
SN_BATCH_FN void sn_batch_report(sn_grid *g, const sn_spring_device *device,
                                 const sn_batch_work *work, const sn_batch_frame *frames) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    sn_batch_sums sums = {{{0}}};
    SN_ITEMS(g, v, d->count) SN_EACH(i) {
        if (!s[i].asked) continue;
        sn_double4 x = sn_get3(sn_side(w->x, s[i].at), v, SN_LANE(i));
        double *to = s[i].asked->positions + 3 * (size_t)d->source[v];
        to[0] = x.x, to[1] = x.y, to[2] = x.z;
    }
    SN_ITEMS(g, t, d->tet_count) SN_EACH(i) {
        if (!s[i].asked) continue;
        int lane = SN_LANE(i);
        const double *x = sn_side(w->x, s[i].at);
        sn_int4 c = d->tets[t];
        sn_double4 o = sn_get3(x, c.x, lane);
        if (sn_tet_is_upright(o, sn_get3(x, c.y, lane), sn_get3(x, c.z, lane),
                              sn_get3(x, c.w, lane)))
            continue;
        sums.v[0][i]++, sums.v[1][i] += !d->pose_inverts[t];
    }
    SN_ITEMS(g, t, d->surface_count) SN_EACH(i) {
        if (!s[i].asked) continue;
        int lane = SN_LANE(i);
        sn_int4 c = d->surface[t];
        int v[3] = {c.x, c.y, c.z};
        sn_double4 p[3], b[3];
        for (int k = 0; k < 3; k++) {
            p[k] = sn_get3(sn_side(w->x, s[i].at), v[k], lane);
            b[k] = v[k] < d->free_count ? sn_get3(w->blend, v[k], lane) : p[k];
        }
        sums.v[2][i] += sn_triangle_is_flipped(p, b);
    }
    sn_batch_hand_over(g, w, 3, &sums, 0);
}

/* ---- the driver ---- */

/* At the trial's positions or the current ones; the figures go into `trial`. */
SN_FN void sn_batch_measure(sn_grid *g, const sn_spring_device *d, const sn_batch_work *w,
                            sn_batch_frame *s, bool trial) {
    SN_PHASE(g, sn_batch_evaluate(g, d, w, s, trial));
    sn_batch_totals(g, w, 4, 6);
    SN_DECIDE(i, if (!s[i].on) continue; s[i].trial.energy = sn_batch_total(g, 0)[i];
              s[i].trial.residual = sqrt(sn_batch_total(g, 1)[i]);
              s[i].trial.largest = sn_batch_total(g, 2)[i];
              s[i].stop = sn_batch_total(g, 3)[i] != 0;);
}

SN_FN void sn_batch_adopt(sn_batch_frame *s) {
    s->energy = s->trial.energy, s->residual = s->trial.residual, s->largest = s->trial.largest;
}

/* After directions: those that met negative curvature try again with less of it. */
SN_FN void sn_batch_retry(sn_batch_frame *s) {
    s->on = s->on && !s->good && s->level < SN_PROJECTED;
    if (!s->on) return;
    s->level = s->near_answer ? s->level + 1 : SN_PROJECTED;
    s->failed = true;
}

SN_FN void sn_batch_count_step(sn_batch_frame *s) {
    if (!s->open) return;
    s->short_sighted = s->level > 0;
    if (s->failed) {
        s->hold = s->near_answer ? s->penalty : 1;
        if (s->near_answer && s->penalty < SN_HOLD_MOST) s->penalty *= 2;
        s->near_answer = true;
    } else if (s->level > 0 && --s->hold <= 0) {
        s->level--;
    }
    s->iterations++;
}

/* Directions of all open frames. */
SN_FN void sn_batch_find_directions(sn_grid *g, const sn_spring_device *d, const sn_batch_work *w,
                                    sn_batch_frame *s) {
    SN_DECIDE(i, s[i].on = s[i].open; s[i].failed = false;);
    while (sn_batch_some(s)) {
        sn_batch_direction(g, d, w, s);
        SN_DECIDE(i, sn_batch_retry(&s[i]););
        if (sn_batch_some(s)) sn_batch_measure(g, d, w, s, false);
    }
    SN_DECIDE(i, sn_batch_count_step(&s[i]););
}

/* Is the trial good enough? Otherwise the step gets shorter. */
SN_FN void sn_batch_accept(sn_batch_frame *s) {
    double e = s->trial.energy, noise = 1e-13 * fabs(s->energy), length = s->length;
    if (!s->on) return;
    if (!isfinite(e)) {
        s->length = 0.1 * length;
        return;
    }
    bool lower = e <= s->energy + 1e-4 * length * s->slope;
    bool same = fabs(e - s->energy) <= noise || fabs(length * s->slope) <= noise;
    if (lower || (same && e <= s->energy + noise && s->trial.residual < s->residual))
        s->found = length, s->on = false;
    else
        s->length = sn_shorter_step(length, s->slope, e - s->energy);
}

/* A longer step to try, while most of the slope is left at the end of this one. */
SN_FN void sn_batch_stretch(sn_batch_frame *s, double slope) {
    double here = slope * s->largest;
    s->on = s->on && here < 0.5 * s->slope;
    s->shorter = s->length, s->least_energy = s->trial.energy;
    if (!s->on) return;
    double ahead = here > s->slope ? s->slope / (s->slope - here) : 4;
    s->length *= ahead < 4 ? ahead : 4;
}

/* on: back to the shorter step. */
SN_FN void sn_batch_compare(sn_batch_frame *s) {
    s->better = s->on && s->trial.energy < s->least_energy;
    s->on = s->on && !s->better;
    if (s->on) s->length = s->shorter;
}

/* A projected Hessian makes short steps. */
SN_FN void sn_batch_lengthen(sn_grid *g, const sn_spring_device *d, const sn_batch_work *w,
                             sn_batch_frame *s) {
    SN_DECIDE(i, s[i].on = s[i].open && s[i].found == 1 && s[i].short_sighted;);
    for (int k = 0; k < SN_LENGTHENINGS && sn_batch_some(s); k++) {
        SN_PHASE(g, sn_batch_step(g, d, w, s, true));
        sn_batch_totals(g, w, 1, 0);
        SN_DECIDE(i, sn_batch_stretch(&s[i], sn_batch_total(g, 0)[i]););
        if (!sn_batch_some(s)) break;
        SN_PHASE(g, sn_batch_step(g, d, w, s, false));
        sn_batch_measure(g, d, w, s, true);
        SN_DECIDE(i, sn_batch_compare(&s[i]););
        if (sn_batch_some(s)) {
            SN_PHASE(g, sn_batch_step(g, d, w, s, false));
            sn_batch_measure(g, d, w, s, true);
        }
        SN_DECIDE(i, s[i].on = s[i].better;);
    }
}

/* After the search. on: the Hessian is that of a trial, and should be another one. */
SN_FN void sn_batch_move(sn_batch_frame *s) {
    s->on = false;
    if (!s->open) return;
    if (s->found != 0) {
        s->at = 1 - s->at, s->before = s->residual;
        sn_batch_adopt(s);
    } else if (s->level >= SN_PROJECTED) {
        s->open = false;
    } else {
        s->level = SN_PROJECTED, s->hold = s->penalty;
        s->on = true;
    }
}

/* Finds step lengths; the trial's positions become the current ones. */
SN_FN void sn_batch_search(sn_grid *g, const sn_spring_device *d, const sn_batch_work *w,
                           sn_batch_frame *s) {
    SN_DECIDE(i, s[i].on = s[i].open; s[i].length = 1; s[i].found = 0;);
    for (int k = 0; k < SN_BACKTRACKS && sn_batch_some(s); k++) {
        SN_PHASE(g, sn_batch_step(g, d, w, s, false));
        sn_batch_totals(g, w, 1, 0);
        SN_DECIDE(i, if (!s[i].on) continue; s[i].slope = sn_batch_total(g, 0)[i] * s[i].largest;
                  s[i].on = s[i].slope < 0;);
        if (!sn_batch_some(s)) break;
        sn_batch_measure(g, d, w, s, true);
        SN_DECIDE(i, sn_batch_accept(&s[i]););
    }
    sn_batch_lengthen(g, d, w, s);
    SN_DECIDE(i, sn_batch_move(&s[i]););
    if (sn_batch_some(s)) sn_batch_measure(g, d, w, s, false);
}

/* on: the frame goes on. */
SN_FN void sn_batch_judge(sn_batch_frame *s, int step) {
    if (s->open) {
        if (s->residual <= (step ? 1 : 0.01) * s->asked->tolerance)
            s->outcome = SN_SPRING_CONVERGED;
        else if (s->stop)
            s->outcome = SN_SPRING_STOPPED;
        s->open = s->outcome == SN_SPRING_NOT_CONVERGED && step < s->asked->max_iterations;
    }
    s->on = s->open;
}

SN_FN void sn_batch_open(const sn_spring_device *d, sn_batch_frame *s, double scale) {
    s->open = s->on = s->asked != NULL;
    s->least = 0.5e-3 * scale / (d->free_count > 0 ? d->free_count : 1);
    if (!(s->least > 0)) s->least = 1;
    s->at = s->iterations = s->inner = s->level = s->hold = 0;
    s->near_answer = s->stop = false, s->before = 0;
    s->outcome = SN_SPRING_NOT_CONVERGED, s->penalty = SN_HOLD_AFTER_FAILURE;
}

SN_FN void sn_batch_answer(const sn_grid *g, const sn_batch_frame *s, int lane) {
    if (!s->asked || g->block != 0) return;
    bool late = s->outcome == SN_SPRING_NOT_CONVERGED && s->residual <= s->asked->tolerance;
    sn_spring_answer *to = s->asked->answer;
    to->outcome = late ? SN_SPRING_CONVERGED : s->outcome;
    to->iterations = s->iterations, to->inner_iterations = s->inner;
    to->residual = s->residual, to->energy = s->energy, to->clamped = s->clamped;
    to->inverted = (int)sn_batch_total(g, 0)[lane];
    to->new_inverted = (int)sn_batch_total(g, 1)[lane];
    to->flipped = (int)sn_batch_total(g, 2)[lane];
}

/* Frames asked[count], of which at most SN_ABREAST; s: as many, of the block. */
SN_FN void sn_batch_run(sn_grid *g, const sn_spring_device *d, const sn_batch_work *w, int count,
                        const sn_spring_asked *asked, int refinements, sn_batch_frame *s) {
    SN_DECIDE(i, s[i].asked = i < count ? &asked[i] : NULL; s[i].on = s[i].in = false;);
    sn_batch_blend(g, &d->rotation, w, count, asked, refinements, d->place);
    SN_PHASE(g, sn_batch_lengths(g, d, w));
    sn_batch_totals(g, w, 1, 0);
    SN_DECIDE(i, s[i].clamped = (int)sn_batch_total(g, 0)[i];);
    SN_PHASE(g, sn_batch_guides(g, d, w, s));
    sn_batch_totals(g, w, 1, 0);
    SN_DECIDE(i, sn_batch_open(d, &s[i], sn_batch_total(g, 0)[i]););
    sn_batch_measure(g, d, w, s, false);
    SN_DECIDE(i, if (!s[i].open) continue; sn_batch_adopt(&s[i]);
              s[i].open = isfinite(s[i].energy) && isfinite(s[i].residual);
              if (!s[i].open) s[i].outcome = SN_SPRING_NOT_FINITE;);
    for (int step = 0;; step++) {
        SN_DECIDE(i, sn_batch_judge(&s[i], step););
        if (!sn_batch_some(s)) break;
        sn_batch_find_directions(g, d, w, s);
        sn_batch_search(g, d, w, s);
    }
    SN_PHASE(g, sn_batch_report(g, d, w, s));
    sn_batch_totals(g, w, 3, 0);
    SN_DECIDE(i, sn_batch_answer(g, &s[i], i););
}

#endif
