/* Slider curves for dense frames.
 *
 * With D (3V x T) the targets, N = D^T D and b_t = D^T (x_t - f0), the squared distance of a frame
 * is a^T N a - 2 a^T b_t + |x_t - f0|^2, a = a(w) the activations. So after one pass over the
 * vertices everything is small: a step of Gauss-Newton needs J = da/dw, H = J^T N J and
 * g = J^T (N a - b), and minimizes the quadratic model with its bounds by coordinate descent.
 *
 * Frames are coupled by smoothness only: the frames are solved in order, each with its neighbors
 * held, until nothing changes. */
#include "sinew/fit_frames.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algebra/dense.h"
#include "algebra/solver_libraries.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"

enum {
    PASSES = 40,       /* over all frames */
    STEPS = 12,        /* of Gauss-Newton per frame and pass */
    SWEEPS = 200,      /* of coordinate descent per step */
    MOST_SAMPLES = 800 /* frames that new targets are made from */
};
#define SETTLED   1e-7 /* change of a weight that ends a pass or a step */
#define INVISIBLE 1e-3 /* of the largest displacement of a new target: dropped */

typedef struct fitter {
    const sinew_rig *rig;
    const sinew_frames *frames;
    const sinew_fit_frames_options *options;
    const sinew_monitor *monitor;
    sinew_error *error;
    size_t S, T, F; /* sliders, targets, frames */
    bool linear;    /* every slider has one plain target and nothing else */
    double scale;   /* s */
    double *N;      /* T x T */
    double *b;      /* F rows of T */
    double *size;   /* |x_t - f0|^2 */
    double *w;      /* F rows of S */
    double *low, *high, *rest;
    /* one frame at a time */
    double *a, *Na, *J, *NJ, *H, *g, *step, *trial, *shifted;
} fitter;

void sinew_fit_frames_options_init(sinew_fit_frames_options *options) {
    if (options)
        *options = (sinew_fit_frames_options){sizeof *options, SINEW_FIT_FRAMES_SMOOTH,
                                              SINEW_FIT_FRAMES_SPARSE, true, 0};
}

static void release(fitter *f) {
    sn_free(f->N), sn_free(f->b), sn_free(f->size), sn_free(f->w);
    sn_free(f->low), sn_free(f->high), sn_free(f->rest);
    sn_free(f->a), sn_free(f->Na), sn_free(f->J), sn_free(f->NJ), sn_free(f->H), sn_free(f->g);
    sn_free(f->step), sn_free(f->trial), sn_free(f->shifted);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static double sparse_dot(const sinew_target *p, const sinew_target *q) {
    double sum = 0;
    for (int i = 0, j = 0; i < p->count && j < q->count;) {
        int v = p->vertices[i], u = q->vertices[j];
        if (v == u) {
            const double *d = p->deltas + 3 * (size_t)i, *e = q->deltas + 3 * (size_t)j;
            sum += d[0] * e[0] + d[1] * e[1] + d[2] * e[2];
        }
        i += v <= u, j += u <= v;
    }
    return sum;
}

static const float *frame_at(const fitter *f, size_t t) {
    return f->frames->positions + 3 * t * (size_t)f->frames->vertex_count;
}

static sinew_status project_frames(fitter *f) {
    const double *neutral = f->rig->neutral->positions;
    size_t numbers = 3 * (size_t)f->rig->neutral->vertex_count;
    for (size_t t = 0; t < f->F; t++) {
        if (sn_cancelled(f->monitor)) return sn_fail(f->error, SINEW_CANCELLED, "cancelled");
        sn_progress(f->monitor, 0.3 * (double)t / (double)f->F, "frames");
        const float *x = frame_at(f, t);
        double square = 0;
        for (size_t i = 0; i < numbers; i++) {
            double d = (double)x[i] - neutral[i];
            square += d * d;
        }
        if (!isfinite(square))
            return sn_fail(f->error, SINEW_BAD_INPUT, "frame %zu has a number that is not finite",
                           t);
        f->size[t] = square;
        for (size_t k = 0; k < f->T; k++) {
            const sinew_target *target = &f->rig->targets[k];
            double sum = 0;
            for (size_t i = 0; i < (size_t)target->count; i++) {
                size_t v = 3 * (size_t)target->vertices[i];
                for (size_t c = 0; c < 3; c++)
                    sum += target->deltas[3 * i + c] * ((double)x[v + c] - neutral[v + c]);
            }
            f->b[t * f->T + k] = sum;
        }
    }
    return SINEW_OK;
}

static void find_bounds(fitter *f) {
    f->linear = f->S == f->T;
    for (size_t k = 0; k < f->T; k++) {
        const sinew_target *target = &f->rig->targets[k];
        f->linear &= target->kind == SINEW_TARGET_KIND_PLAIN && target->slider == (int)k;
    }
    for (size_t s = 0; s < f->S; s++) {
        const sinew_slider *slider = &f->rig->sliders[s];
        f->linear &= slider->rest == 0;
        f->rest[s] = slider->rest;
        f->low[s] = f->options->bounded ? slider->minimum : -INFINITY;
        f->high[s] = f->options->bounded ? slider->maximum : INFINITY;
    }
}

static sinew_status prepare(fitter *f) {
    size_t S = f->S, T = f->T, F = f->F;
    f->N = SN_NEW(double, T *T), f->b = SN_NEW(double, F *T), f->size = SN_NEW(double, F);
    f->w = SN_NEW(double, F *S), f->low = SN_NEW(double, S), f->high = SN_NEW(double, S);
    f->rest = SN_NEW(double, S), f->a = SN_NEW(double, T), f->Na = SN_NEW(double, T);
    f->J = SN_NEW0(double, T *S), f->NJ = SN_NEW(double, T *S), f->H = SN_NEW(double, S *S);
    f->g = SN_NEW(double, S), f->step = SN_NEW(double, S), f->trial = SN_NEW(double, S);
    f->shifted = SN_NEW(double, T);
    if (!f->N || !f->b || !f->size || !f->w || !f->low || !f->high || !f->rest || !f->a || !f->Na ||
        !f->J || !f->NJ || !f->H || !f->g || !f->step || !f->trial || !f->shifted)
        return sn_no_memory(f->error);
    double total = 0;
    for (size_t i = 0; i < T; i++) {
        if (sn_cancelled(f->monitor)) return sn_fail(f->error, SINEW_CANCELLED, "cancelled");
        for (size_t j = 0; j <= i; j++)
            f->N[i + T * j] = f->N[j + T * i] =
                sparse_dot(&f->rig->targets[i], &f->rig->targets[j]);
        total += f->N[i + T * i];
    }
    f->scale = T > 0 && total > 0 ? total / (double)T : 1;
    find_bounds(f);
    for (size_t t = 0; t < F; t++) memcpy(f->w + t * S, f->rest, S * sizeof(double));
    return project_frames(f);
}

/* ---- one frame ------------------------------------------------------------------------------- */

static void activations(const fitter *f, const double *w, double *a) {
    if (f->linear)
        memcpy(a, w, f->S * sizeof(double));
    else
        sinew_rig_activations(f->rig, w, a);
}

/* The terms of the neighbors: count of them and the sum of their weights at s. */
static double neighbors(const fitter *f, size_t t, size_t s, double *sum) {
    double count = 0;
    *sum = 0;
    if (t > 0) count++, *sum += f->w[(t - 1) * f->S + s];
    if (t + 1 < f->F) count++, *sum += f->w[(t + 1) * f->S + s];
    return count;
}

static double objective(fitter *f, size_t t, const double *w, double *a) {
    activations(f, w, a);
    double sum = f->size[t];
    for (size_t k = 0; k < f->T; k++) {
        double Na = 0;
        if (a[k] == 0) continue;
        for (size_t j = 0; j < f->T; j++) Na += f->N[j + f->T * k] * a[j];
        sum += a[k] * (Na - 2 * f->b[t * f->T + k]);
    }
    sum /= f->scale;
    for (size_t s = 0; s < f->S; s++) {
        double near, count = neighbors(f, t, s, &near);
        sum += f->options->sparse * fabs(w[s] - f->rest[s]);
        sum += f->options->smooth * (count * w[s] * w[s] - 2 * w[s] * near);
    }
    return sum;
}

/* J by central differences: activations are polynomials and hats. */
static void find_jacobian(fitter *f, const double *w) {
    const double h = 1e-5;
    memcpy(f->trial, w, f->S * sizeof(double));
    for (size_t s = 0; s < f->S; s++) {
        double up = fmin(w[s] + h, fmax(f->high[s], w[s]));
        double down = fmax(w[s] - h, fmin(f->low[s], w[s]));
        if (!(up > down)) up = w[s] + h, down = w[s] - h;
        f->trial[s] = up;
        sinew_rig_activations(f->rig, f->trial, f->J + f->T * s);
        f->trial[s] = down;
        sinew_rig_activations(f->rig, f->trial, f->shifted);
        for (size_t k = 0; k < f->T; k++)
            f->J[k + f->T * s] = (f->J[k + f->T * s] - f->shifted[k]) / (up - down);
        f->trial[s] = w[s];
    }
}

/* H and g of the frame at w, without smoothness and sparseness. */
static void linearize(fitter *f, size_t t, const double *w) {
    int S = (int)f->S, T = (int)f->T;
    activations(f, w, f->a);
    sn_dense_apply(SN_AS_IS, T, T, 1, f->N, f->a, 0, f->Na);
    for (size_t k = 0; k < f->T; k++) f->Na[k] -= f->b[t * f->T + k];
    if (f->linear) {
        memcpy(f->H, f->N, f->T * f->T * sizeof(double));
        memcpy(f->g, f->Na, f->T * sizeof(double));
    } else {
        find_jacobian(f, w);
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, T, S, T, 1, f->N, f->J, 0, f->NJ);
        sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, S, S, T, 1, f->J, f->NJ, 0, f->H);
        sn_dense_apply(SN_TRANSPOSED, T, S, 1, f->J, f->Na, 0, f->g);
    }
    for (size_t i = 0; i < f->S * f->S; i++) f->H[i] /= f->scale;
    for (size_t s = 0; s < f->S; s++) f->g[s] /= f->scale;
}

/* f->step: minimizes d^T H d + 2 g^T d + smoothness and sparseness of w + d by coordinate descent;
 * f->g follows H d. */
static void descend(fitter *f, size_t t, const double *w) {
    memset(f->step, 0, f->S * sizeof(double));
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double most = 0;
        for (size_t s = 0; s < f->S; s++) {
            double near, count = neighbors(f, t, s, &near), at = w[s] + f->step[s];
            double own = f->H[s + f->S * s] + f->options->smooth * count;
            if (!(own > 0)) continue;
            double slope = f->g[s] + f->options->smooth * (count * at - near);
            double l = f->options->sparse / 2, to = at - slope / own - f->rest[s];
            to = to > l / own ? to - l / own : to < -l / own ? to + l / own : 0;
            to = fmin(fmax(to + f->rest[s], f->low[s]), f->high[s]);
            double change = to - at;
            if (change == 0) continue;
            f->step[s] += change;
            for (size_t j = 0; j < f->S; j++) f->g[j] += f->H[j + f->S * s] * change;
            most = fmax(most, fabs(change));
        }
        if (most < SETTLED / 10) break;
    }
}

/* Returns the largest change of a weight. */
static double solve_frame(fitter *f, size_t t) {
    double *w = f->w + t * f->S, moved = 0;
    for (int step = 0; step < STEPS; step++) {
        double before = f->linear ? 0 : objective(f, t, w, f->a), most = 0, part = 1;
        linearize(f, t, w);
        descend(f, t, w);
        for (int half = 0; !f->linear && half < 12; half++, part /= 2) {
            for (size_t s = 0; s < f->S; s++) f->trial[s] = w[s] + part * f->step[s];
            if (objective(f, t, f->trial, f->a) <= before) break;
            if (half == 11) part = 0;
        }
        for (size_t s = 0; s < f->S; s++) {
            double change = part * f->step[s];
            w[s] += change;
            most = fmax(most, fabs(change));
        }
        moved = fmax(moved, most);
        if (f->linear || most < SETTLED) break;
    }
    return moved;
}

static sinew_status solve(fitter *f) {
    for (int pass = 0; pass < PASSES; pass++) {
        double most = 0;
        for (size_t i = 0; i < f->F; i++) {
            size_t t = pass % 2 == 0 ? i : f->F - 1 - i;
            if (sn_cancelled(f->monitor)) return sn_fail(f->error, SINEW_CANCELLED, "cancelled");
            sn_progress(f->monitor, 0.3 + 0.4 * (pass + (double)i / (double)f->F) / PASSES, "fit");
            if (pass == 0 && t > 0) /* the last frame is the best guess */
                memcpy(f->w + t * f->S, f->w + (t - 1) * f->S, f->S * sizeof(double));
            most = fmax(most, solve_frame(f, t));
        }
        if (most < SETTLED || f->options->smooth == 0) break;
    }
    return SINEW_OK;
}

/* ---- what is left ---------------------------------------------------------------------------- */

/* Distances of the vertices of all frames to `shapes` evaluated at `rows`. */
static sinew_status measure(const fitter *f, const sinew_rig *rig, const sinew_curves *curves,
                            double *mean, double *worst) {
    size_t vertices = (size_t)rig->neutral->vertex_count, width = (size_t)rig->slider_count;
    sinew_linear *linear = NULL;
    double *positions = SN_NEW(double, 3 * vertices), *still = SN_NEW(double, width);
    sinew_status status = positions && still ? SINEW_OK : sn_no_memory(f->error);
    if (status == SINEW_OK) status = sinew_linear_create(rig, &linear, f->error);
    double sum = 0, most = 0;
    if (status == SINEW_OK) sinew_rig_rest_weights(rig, still);
    for (size_t t = 0; status == SINEW_OK && t < f->F; t++) {
        const float *x = frame_at(f, t);
        if (sn_cancelled(f->monitor)) status = sn_fail(f->error, SINEW_CANCELLED, "cancelled");
        sinew_linear_evaluate(linear, curves ? curves->values + t * width : still, positions);
        for (size_t v = 0; v < 3 * vertices; v += 3) {
            double square = 0;
            for (size_t c = v; c < v + 3; c++) {
                double d = positions[c] - (double)x[c];
                square += d * d;
            }
            sum += sqrt(square);
            most = fmax(most, square);
        }
    }
    *mean = f->F * vertices > 0 ? sum / (double)(f->F * vertices) : 0;
    *worst = sqrt(most);
    sinew_linear_destroy(linear);
    sn_free(positions), sn_free(still);
    return status;
}

static sinew_status make_curves(const fitter *f, size_t extra, sinew_curves **curves) {
    size_t width = f->S + extra;
    SN_TRY(sinew_curves_create((int)width, (int)f->F, curves, f->error));
    sinew_status status = SINEW_OK;
    for (size_t s = 0; status == SINEW_OK && s < f->S; s++)
        status = sinew_curves_set_name(*curves, (int)s, f->rig->sliders[s].name, f->error);
    for (size_t t = 0; t < f->F; t++) {
        (*curves)->times[t] = f->frames->start + (double)t / f->frames->rate;
        memcpy((*curves)->values + t * width, f->w + t * f->S, f->S * sizeof(double));
    }
    return status;
}

/* ---- new targets ----------------------------------------------------------------------------- */

typedef struct leftover {
    fitter *f;
    sinew_linear *linear;
    size_t numbers, count, stride; /* coordinates, sampled frames, frames from one to the next */
    double *positions;
    float *rows; /* what is left of the sampled frames */
    double *gram, *values;
} leftover;

static void left_of(leftover *l, size_t t, float *row) {
    const float *x = frame_at(l->f, t);
    sinew_linear_evaluate(l->linear, l->f->w + t * l->f->S, l->positions);
    for (size_t i = 0; i < l->numbers; i++) row[i] = (float)((double)x[i] - l->positions[i]);
}

static sinew_status find_components(leftover *l) {
    fitter *f = l->f;
    l->numbers = 3 * (size_t)f->rig->neutral->vertex_count;
    l->stride = (f->F + MOST_SAMPLES - 1) / MOST_SAMPLES;
    l->count = (f->F + l->stride - 1) / l->stride;
    l->positions = SN_NEW(double, l->numbers);
    l->rows = sn_alloc(l->count, l->numbers * sizeof(float));
    l->gram = SN_NEW(double, l->count * l->count), l->values = SN_NEW(double, l->count);
    if (!l->positions || !l->rows || !l->gram || !l->values) return sn_no_memory(f->error);
    SN_TRY(sinew_linear_create(f->rig, &l->linear, f->error));
    for (size_t k = 0; k < l->count; k++) left_of(l, k * l->stride, l->rows + k * l->numbers);
    for (size_t i = 0; i < l->count; i++) {
        if (sn_cancelled(f->monitor)) return sn_fail(f->error, SINEW_CANCELLED, "cancelled");
        sn_progress(f->monitor, 0.7 + 0.2 * (double)i / (double)l->count, "correctives");
        for (size_t j = 0; j <= i; j++) {
            const float *p = l->rows + i * l->numbers, *q = l->rows + j * l->numbers;
            double sum = 0;
            for (size_t k = 0; k < l->numbers; k++) sum += (double)p[k] * (double)q[k];
            l->gram[i + l->count * j] = l->gram[j + l->count * i] = sum;
        }
    }
    return sn_dense_eigen((int)l->count, l->gram, l->values, f->error);
}

/* Component k as a unit displacement, largest first; false: there is nothing left. */
static bool component(const leftover *l, size_t k, double *shape) {
    double value = l->values[l->count - 1 - k];
    if (!(value > 1e-12 * l->values[l->count - 1]) || !(value > 0)) return false;
    const double *u = l->gram + l->count * (l->count - 1 - k);
    memset(shape, 0, l->numbers * sizeof(double));
    for (size_t i = 0; i < l->count; i++)
        for (size_t c = 0; c < l->numbers; c++)
            shape[c] += u[i] * (double)l->rows[i * l->numbers + c] / sqrt(value);
    return true;
}

/* Its weight in every frame: a column of `weights`; returns the largest, 0 when cancelled. */
static double project(leftover *l, const double *shape, float *row, double *weights) {
    double most = 0;
    for (size_t t = 0; t < l->f->F; t++) {
        if (sn_cancelled(l->f->monitor)) return 0;
        double sum = 0;
        left_of(l, t, row);
        for (size_t i = 0; i < l->numbers; i++) sum += shape[i] * (double)row[i];
        weights[t] = sum;
        most = fmax(most, fabs(sum));
    }
    return most;
}

static sinew_status add_component(leftover *l, sinew_rig *rig, int number, double most,
                                  const double *shape, int *vertices, double *deltas) {
    double longest = 0;
    for (size_t v = 0; v < l->numbers; v += 3)
        longest = fmax(longest, shape[v] * shape[v] + shape[v + 1] * shape[v + 1] +
                                    shape[v + 2] * shape[v + 2]);
    int count = 0;
    for (size_t v = 0; v < l->numbers; v += 3) {
        double square =
            shape[v] * shape[v] + shape[v + 1] * shape[v + 1] + shape[v + 2] * shape[v + 2];
        if (square <= INVISIBLE * INVISIBLE * longest) continue;
        for (size_t c = 0; c < 3; c++) deltas[3 * (size_t)count + c] = most * shape[v + c];
        vertices[count++] = (int)(v / 3);
    }
    char name[32];
    for (int k = number; snprintf(name, sizeof name, "fit_%02d", k),
             sinew_rig_find_target(rig, name) >= 0 || sinew_rig_find_slider(rig, name) >= 0;
         k += 100) {
    }
    SN_TRY(sinew_rig_add_target(rig, name, count, vertices, deltas, l->f->error));
    return sinew_rig_set_limits(rig, rig->slider_count - 1, -1, 1, l->f->error);
}

/* Up to `wanted` new targets; columns[i * F + t] receives their weights. */
static sinew_status add_components(fitter *f, int wanted, sinew_rig *rig, double *columns,
                                   int *added) {
    leftover l = {.f = f};
    sinew_status status = find_components(&l);
    double *shape = SN_NEW(double, l.numbers), *deltas = SN_NEW(double, l.numbers);
    int *vertices = SN_NEW(int, l.numbers / 3);
    float *row = SN_NEW(float, l.numbers);
    if (status == SINEW_OK && (!shape || !deltas || !vertices || !row))
        status = sn_no_memory(f->error);
    for (int k = 0; status == SINEW_OK && k < wanted && (size_t)k < l.count; k++) {
        if (sn_cancelled(f->monitor)) status = sn_fail(f->error, SINEW_CANCELLED, "cancelled");
        if (status != SINEW_OK || !component(&l, (size_t)k, shape)) break;
        double *column = columns + (size_t)k * f->F, most = project(&l, shape, row, column);
        if (sn_cancelled(f->monitor)) status = sn_fail(f->error, SINEW_CANCELLED, "cancelled");
        if (status != SINEW_OK || !(most > 0)) break;
        status = add_component(&l, rig, k + 1, most, shape, vertices, deltas);
        for (size_t t = 0; t < f->F; t++) column[t] /= most;
        *added += status == SINEW_OK;
    }
    sn_free(shape), sn_free(deltas), sn_free(vertices), sn_free(row);
    sn_free(l.positions), sn_free(l.rows), sn_free(l.gram), sn_free(l.values);
    sinew_linear_destroy(l.linear);
    return status;
}

static sinew_status correct(fitter *f, sinew_curves **curves, sinew_rig **corrected, int *added) {
    int wanted = f->options->correctives;
    if ((size_t)wanted > f->F) wanted = (int)f->F;
    double *columns = SN_NEW(double, f->F *(size_t)wanted);
    if (!columns) return sn_no_memory(f->error);
    sinew_status status = sinew_rig_copy(f->rig, corrected, f->error);
    if (status == SINEW_OK) status = add_components(f, wanted, *corrected, columns, added);
    sinew_curves *wider = NULL;
    if (status == SINEW_OK) status = make_curves(f, (size_t)*added, &wider);
    for (int k = 0; status == SINEW_OK && k < *added; k++) {
        int slider = (int)f->S + k;
        status = sinew_curves_set_name(wider, slider, (*corrected)->sliders[slider].name, f->error);
        for (size_t t = 0; t < f->F; t++)
            wider->values[t * (f->S + (size_t)*added) + (size_t)slider] =
                columns[(size_t)k * f->F + t];
    }
    if (status == SINEW_OK) {
        sinew_curves_destroy(*curves);
        *curves = wider, wider = NULL;
    }
    sinew_curves_destroy(wider);
    sn_free(columns);
    return status;
}

/* ---- all steps ------------------------------------------------------------------------------- */

static sinew_status fit(fitter *f, sinew_curves **curves, sinew_rig **corrected,
                        sinew_fit_frames_info *info) {
    SN_TRY(prepare(f));
    SN_TRY(solve(f));
    SN_TRY(make_curves(f, 0, curves));
    info->frames = (int)f->F;
    SN_TRY(measure(f, f->rig, NULL, &info->neutral_mean, &info->neutral_worst));
    SN_TRY(measure(f, f->rig, *curves, &info->fitted_mean, &info->fitted_worst));
    info->corrected_mean = info->fitted_mean, info->corrected_worst = info->fitted_worst;
    if (f->options->correctives == 0) return SINEW_OK;
    SN_TRY(correct(f, curves, corrected, &info->correctives));
    return measure(f, *corrected, *curves, &info->corrected_mean, &info->corrected_worst);
}

sinew_status sinew_fit_frames(const sinew_rig *rig, const sinew_frames *frames,
                              const sinew_fit_frames_options *options, const sinew_monitor *monitor,
                              sinew_curves **curves, sinew_rig **corrected,
                              sinew_fit_frames_info *info, sinew_error *error) {
    SN_REQUIRE(rig && frames && curves && sn_info_ready(info), error);
    *curves = NULL;
    if (corrected) *corrected = NULL;
    SN_OPTIONS(sinew_fit_frames_options, chosen, options, error);
    SN_REQUIRE(chosen.smooth >= 0 && isfinite(chosen.smooth), error);
    SN_REQUIRE(chosen.sparse >= 0 && isfinite(chosen.sparse), error);
    SN_REQUIRE(chosen.correctives >= 0 && (chosen.correctives == 0 || corrected), error);
    if (frames->vertex_count != rig->neutral->vertex_count)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the frames have %d points, but the rig has %d vertices",
                       frames->vertex_count, rig->neutral->vertex_count);
    if (frames->frame_count == 0 || !(frames->rate > 0))
        return sn_fail(error, SINEW_BAD_INPUT, "there are no frames to fit");
    if (rig->slider_count == 0 && chosen.correctives == 0)
        return sn_fail(error, SINEW_BAD_INPUT, "the rig has no sliders to fit");
    SN_TRY(sn_solvers_load(error)); /* products have no status */
    fitter f = {.rig = rig,
                .frames = frames,
                .options = &chosen,
                .monitor = monitor,
                .error = error,
                .S = (size_t)rig->slider_count,
                .T = (size_t)rig->target_count,
                .F = (size_t)frames->frame_count};
    sinew_fit_frames_info found = {.size = sizeof found};
    sinew_status status = fit(&f, curves, corrected, &found);
    if (status == SINEW_OK) sn_info_write(info, &found, sizeof found);
    if (status != SINEW_OK) {
        sinew_curves_destroy(*curves);
        *curves = NULL;
        if (corrected) sinew_rig_destroy(*corrected), *corrected = NULL;
    }
    release(&f);
    return status;
}
