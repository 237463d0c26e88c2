/* Baking a model into correctives.
 *
 * Based on: orthogonal matching pursuit (Pati, Rezaiifar, Krishnaprasad 1993) with vector-valued
 * targets, over hierarchical hat functions and products of weights. We differ in: the choice of
 * functions works on the Gram matrix of the samples, so its cost does not depend on the number of
 * vertices.
 *
 * R is the matrix of what the linear blend lacks, a column of 3 V numbers per sample, G = R^T R.
 * A function phi has a value per sample. With the functions chosen so far as an orthonormal set q,
 * let p be phi made orthogonal to them. Choosing phi removes |R p|^2 / |p|^2 = p^T G p / p^T p of
 * the squared error. With g = G q of the newest q,
 *
 *   p' = p - (q.p) q,   p'^T G p' = p^T G p - 2 (q.p) (g.p) + (q.p)^2 (q.g),
 *
 * so a step costs one product with G and a few sums per candidate. */
#include "sinew/bake.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/threads.h"
#include "rig/bake_samples.h"

enum {
    MOST_POWER = 3,      /* of one slider in a product */
    MOST_DEGREE = 4,     /* of a product */
    MOST_PAIRS = 300,    /* that are sampled */
    FINEST_SPACING = 32, /* knots of a slider are at least 1/32 apart */
    GRAM_ROWS = 6144,    /* rows of R that are converted to doubles at a time */
    PLANNED = 60         /* per cent of the samples are for single sliders and pairs */
};
#define INVISIBLE   0.02 /* of the tolerance: displacements below are dropped */
#define COARSE      0.02 /* of a slider's error that hats between its samples may miss */
#define SMALL_ERROR 0.5  /* of the typical error of a sample */
#define RIDGE       1e-9 /* of the mean squared value of the functions */

/* A candidate: a hat on one slider, or a product of powers of two. */
typedef struct function {
    int slider[2];          /* the second -1 for hats */
    int power[2];           /* of products */
    double low, knot, high; /* of hats, in units from rest 0 to full 1 */
    double *values;         /* per sample, made orthogonal to what is chosen */
    double gain, norm;      /* p^T G p, p^T p */
    bool chosen;
} function;

typedef struct baker {
    const sinew_rig *rig;
    const sinew_bake_options *options;
    sinew_bake_model *model;
    void *user;
    const sinew_monitor *monitor;
    sinew_error *error;
    sinew_linear *linear;
    double diagonal;
    size_t numbers; /* 3 V */

    int sample_count, sample_limit;
    double *weights;  /* a row of slider weights per sample */
    float *residuals; /* a column of 3 V per sample, times its scale */
    double *scale;    /* per sample */
    double *positions, *blend;
    double *gram;

    function *functions;
    int function_count;
    size_t function_capacity;
    int *chosen; /* functions in the order of choice */
    int chosen_count;
    double *basis;        /* the orthonormal set, a column per chosen function */
    float *displacements; /* a column of 3 V per chosen function */
} baker;

void sinew_bake_options_init(sinew_bake_options *options) {
    if (!options) return;
    *options = (sinew_bake_options){.size = sizeof *options,
                                    .max_targets = SINEW_BAKE_TARGETS,
                                    .tolerance = SINEW_BAKE_TOLERANCE,
                                    .max_samples = SINEW_BAKE_SAMPLES};
}

static void release(baker *b) {
    for (int i = 0; i < b->function_count; i++) sn_free(b->functions[i].values);
    sn_free(b->functions), sn_free(b->chosen), sn_free(b->basis), sn_free(b->displacements);
    sn_free(b->weights), sn_free(b->residuals), sn_free(b->positions), sn_free(b->blend);
    sn_free(b->gram), sn_free(b->scale);
    sinew_linear_destroy(b->linear);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* What the model has beyond the blend at the weights; *size receives the largest, over the
 * diagonal. At the limit of samples nothing is added and *size is 0. */
static sinew_status add_sample(baker *b, const double *weights, double *size) {
    size_t n = (size_t)b->rig->slider_count;
    *size = 0;
    if (b->sample_count == b->sample_limit) return SINEW_OK;
    if (sn_cancelled(b->monitor)) return sn_fail(b->error, SINEW_CANCELLED, "cancelled");
    sn_progress(b->monitor, (double)b->sample_count / b->sample_limit, "samples");
    sinew_status status = b->model(weights, b->positions, b->user, b->monitor, b->error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    sinew_linear_evaluate(b->linear, weights, b->blend);
    float *column = b->residuals + (size_t)b->sample_count * b->numbers;
    double most = 0;
    for (size_t i = 0; i < b->numbers; i += 3) {
        double square = 0;
        for (size_t c = i; c < i + 3; c++) {
            double d = b->positions[c] - b->blend[c];
            column[c] = (float)d;
            square += d * d;
        }
        most = fmax(most, square);
    }
    if (!isfinite(most))
        return sn_fail(b->error, SINEW_BAD_INPUT, "the model gives positions that are not finite");
    memcpy(b->weights + (size_t)b->sample_count * n, weights, n * sizeof *weights);
    b->sample_count++;
    *size = sqrt(most) / b->diagonal;
    return SINEW_OK;
}

static bool moves(const sinew_rig *rig, int slider) {
    for (int t = 0; t < rig->target_count; t++)
        if (rig->targets[t].slider == slider && rig->targets[t].count > 0) return true;
    return false;
}

static sinew_status add_function(baker *b, const function *f) {
    if (!SN_RESERVE(b->functions, b->function_capacity, b->function_count + 1))
        return sn_no_memory(b->error);
    b->functions[b->function_count++] = *f;
    return SINEW_OK;
}

/* Hats half-way between the knots that the slider has: the rest, full, and its in-betweens. */
static sinew_status add_first_hats(baker *b, int slider) {
    double knots[FINEST_SPACING + 2] = {0, 1};
    int count = 2;
    for (int t = 0; t < b->rig->target_count; t++) {
        const sinew_target *target = &b->rig->targets[t];
        if (target->kind != SINEW_TARGET_KIND_INBETWEEN || target->slider != slider) continue;
        double u = sn_bake_unit(&b->rig->sliders[slider], target->at);
        if (u > 0 && u < 1 && count < FINEST_SPACING + 2) knots[count++] = u;
    }
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && knots[k - 1] > knots[k]; k--) {
            double swap = knots[k];
            knots[k] = knots[k - 1], knots[k - 1] = swap;
        }
    for (int i = 0; i + 1 < count; i++) {
        double low = knots[i], high = knots[i + 1];
        function f = {.slider = {slider, -1}, .low = low, .knot = (low + high) / 2, .high = high};
        if (high - low >= 2.0 / FINEST_SPACING) SN_TRY(add_function(b, &f));
    }
    return SINEW_OK;
}

/* Largest second difference of three samples of a slider, over the diagonal: eight times what hats
 * at the outer two would miss at the middle. */
static double bend_of(const baker *b, int before, int at, int after) {
    const float *p = b->residuals + (size_t)before * b->numbers;
    const float *q = b->residuals + (size_t)at * b->numbers;
    const float *r = b->residuals + (size_t)after * b->numbers;
    double most = 0;
    for (size_t i = 0; i < b->numbers; i += 3) {
        double square = 0;
        for (size_t c = i; c < i + 3; c++) {
            double d = (double)p[c] - 2 * (double)q[c] + (double)r[c];
            square += d * d;
        }
        most = fmax(most, square);
    }
    return sqrt(most) / b->diagonal;
}

/* A slider alone: at quarters; where the blend is visibly off, ever finer until hats between the
 * samples would not miss anything that matters. */
static sinew_status sample_slider(baker *b, int s, double *row) {
    const sinew_slider *slider = &b->rig->sliders[s];
    int at[FINEST_SPACING + 1]; /* the sample at k / FINEST_SPACING; -1: none yet */
    double worst = 0, size, bend = INFINITY;
    for (int k = 0; k <= FINEST_SPACING; k++) at[k] = -1;
    for (int steps = 4; steps <= FINEST_SPACING; steps *= 2) {
        int stride = FINEST_SPACING / steps;
        if (steps > 4 && worst <= b->options->tolerance) break;
        if (steps > 8 && bend / 8 <= fmax(b->options->tolerance, COARSE * worst)) break;
        for (int k = stride; k < FINEST_SPACING; k += stride) {
            if (at[k] >= 0) continue;
            row[s] = sn_bake_weight(slider, (double)k / FINEST_SPACING);
            int index = b->sample_count;
            SN_TRY(add_sample(b, row, &size));
            if (b->sample_count > index) at[k] = index;
            worst = fmax(worst, size);
        }
        bend = 0;
        for (int k = 2 * stride; k + stride < FINEST_SPACING; k += stride)
            if (at[k - stride] >= 0 && at[k] >= 0 && at[k + stride] >= 0)
                bend = fmax(bend, bend_of(b, at[k - stride], at[k], at[k + stride]));
    }
    row[s] = slider->rest;
    return worst > b->options->tolerance ? add_first_hats(b, s) : SINEW_OK;
}

static sinew_status sample_sliders(baker *b, double *row) {
    for (int s = 0; s < b->rig->slider_count; s++)
        if (moves(b->rig, s)) SN_TRY(sample_slider(b, s, row));
    return SINEW_OK;
}

static sinew_status add_products(baker *b, int s, int t) {
    for (int p = 1; p <= MOST_POWER; p++)
        for (int q = 1; q <= MOST_POWER && p + q <= MOST_DEGREE; q++) {
            function f = {.slider = {s, t}, .power = {p, q}};
            SN_TRY(add_function(b, &f));
        }
    return SINEW_OK;
}

static sinew_status sample_pairs(baker *b, double *row) {
    static const double added[][2] = {{1, 1},   {0.5, 0.5},   {1, 0.5},
                                      {0.5, 1}, {0.75, 0.25}, {0.25, 0.75}};
    static const double faded[][2] = {{0.5, 0.5}, {0.25, 0.25}, {0.75, 0.25}, {0.25, 0.75}};
    sn_slider_pair *pairs;
    int count;
    SN_TRY(sn_bake_pairs(b->rig, &pairs, &count, b->error));
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < count && i < MOST_PAIRS; i++) {
        const sinew_slider *a = &b->rig->sliders[pairs[i].a], *c = &b->rig->sliders[pairs[i].b];
        const double(*at)[2] = pairs[i].alike ? faded : added;
        int places = pairs[i].alike ? 4 : 6;
        double worst = 0, size;
        for (int k = 0; status == SINEW_OK && k < places; k++) {
            if (k == 2 && worst <= b->options->tolerance) break;
            row[pairs[i].a] = sn_bake_weight(a, at[k][0]);
            row[pairs[i].b] = sn_bake_weight(c, at[k][1]);
            status = add_sample(b, row, &size);
            worst = fmax(worst, size);
        }
        if (status == SINEW_OK && worst > b->options->tolerance)
            status = add_products(b, pairs[i].a, pairs[i].b);
        row[pairs[i].a] = a->rest, row[pairs[i].b] = c->rest;
    }
    sn_free(pairs);
    return status;
}

/* Poses of the clips, evenly spread, then random ones of several sliders: without them the fit
 * would be free to be anything where more than two sliders act. */
static sinew_status sample_rows(baker *b) {
    size_t n = (size_t)b->rig->slider_count;
    int given = b->options->rows ? b->options->row_count : 0;
    int half = (b->sample_limit - b->sample_count) / 2, count = given < half ? given : half;
    double size;
    for (int k = 0; k < count; k++) {
        size_t row = (size_t)((int64_t)k * given / count);
        SN_TRY(add_sample(b, b->options->rows + row * n, &size));
    }
    int random = b->sample_limit - b->sample_count;
    double *rows = SN_NEW(double, (size_t)(random > 0 ? random : 1) * n);
    if (!rows) return sn_no_memory(b->error);
    sinew_status status = sinew_bake_poses(b->rig, 1, random, rows, b->error);
    for (int k = 0; status == SINEW_OK && k < random; k++)
        status = add_sample(b, rows + (size_t)k * n, &size);
    sn_free(rows);
    return status;
}

static sinew_status take_samples(baker *b) {
    double *row = SN_NEW(double, b->rig->slider_count);
    if (!row) return sn_no_memory(b->error);
    sinew_rig_rest_weights(b->rig, row);
    int all = b->sample_limit;
    b->sample_limit = all * PLANNED / 100;
    sinew_status status = sample_sliders(b, row);
    if (status == SINEW_OK) status = sample_pairs(b, row);
    b->sample_limit = all;
    if (status == SINEW_OK) status = sample_rows(b);
    sn_free(row);
    return status;
}

/* Samples count by their relative error: a pose in which everything is turned over at once, which
 * no clip shows, must not outweigh the ordinary ones. Errors near the tolerance count as one. */
static sinew_status scale_samples(baker *b) {
    double total = 0;
    b->scale = SN_NEW(double, b->sample_count);
    if (!b->scale) return sn_no_memory(b->error);
    for (int k = 0; k < b->sample_count; k++) {
        const float *column = b->residuals + (size_t)k * b->numbers;
        double sum = 0;
        for (size_t i = 0; i < b->numbers; i++) sum += (double)column[i] * (double)column[i];
        b->scale[k] = sqrt(3 * sum / (double)b->numbers) / b->diagonal;
        total += b->scale[k] * b->scale[k];
    }
    double typical = sqrt(total / fmax(b->sample_count, 1));
    double least = fmax(SMALL_ERROR * typical, 0.1 * b->options->tolerance);
    for (int k = 0; k < b->sample_count; k++) {
        float *column = b->residuals + (size_t)k * b->numbers;
        b->scale[k] = least > 0 ? 1 / sqrt(b->scale[k] * b->scale[k] + least * least) : 1;
        for (size_t i = 0; i < b->numbers; i++) column[i] = (float)(b->scale[k] * column[i]);
    }
    return SINEW_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static double evaluate(const baker *b, const function *f, const double *weights) {
    double u = sn_bake_unit(&b->rig->sliders[f->slider[0]], weights[f->slider[0]]);
    if (f->slider[1] < 0) {
        if (u <= f->low || u >= f->high) return 0;
        return u <= f->knot ? (u - f->low) / (f->knot - f->low)
                            : (f->high - u) / (f->high - f->knot);
    }
    double v = sn_bake_unit(&b->rig->sliders[f->slider[1]], weights[f->slider[1]]);
    double product = 1;
    for (int i = 0; i < f->power[0]; i++) product *= u;
    for (int i = 0; i < f->power[1]; i++) product *= v;
    return product;
}

static double dot(int n, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Values of a function over the samples, orthogonal to what is chosen, and its gain. */
static sinew_status prepare_function(baker *b, function *f, double *scratch) {
    int n = b->sample_count;
    f->values = SN_NEW(double, n);
    if (!f->values) return sn_no_memory(b->error);
    for (int k = 0; k < n; k++)
        f->values[k] =
            b->scale[k] * evaluate(b, f, b->weights + (size_t)k * (size_t)b->rig->slider_count);
    for (int j = 0; j < b->chosen_count; j++) {
        const double *q = b->basis + (size_t)j * (size_t)n;
        double along = dot(n, q, f->values);
        for (int k = 0; k < n; k++) f->values[k] -= along * q[k];
    }
    f->norm = dot(n, f->values, f->values);
    sn_dense_apply(SN_AS_IS, n, n, 1, b->gram, f->values, 0, scratch);
    f->gain = dot(n, scratch, f->values);
    return SINEW_OK;
}

static sinew_status find_gram(baker *b) {
    int n = b->sample_count;
    b->gram = SN_NEW0(double, (size_t)n *(size_t)n);
    double *block = SN_NEW(double, (size_t)GRAM_ROWS *(size_t)n);
    if (!b->gram || !block) {
        sn_free(block);
        return sn_no_memory(b->error);
    }
    for (size_t first = 0; first < b->numbers; first += GRAM_ROWS) {
        size_t rows = b->numbers - first < GRAM_ROWS ? b->numbers - first : GRAM_ROWS;
        for (int k = 0; k < n; k++)
            for (size_t i = 0; i < rows; i++)
                block[(size_t)k * rows + i] =
                    (double)b->residuals[(size_t)k * b->numbers + first + i];
        sn_dense_gram((int)rows, n, 1, block, 1, b->gram);
    }
    sn_free(block);
    return SINEW_OK;
}

/* A chosen hat cuts its interval in two; each half may be cut again. */
static sinew_status split_hat(baker *b, function f, double *scratch) {
    const double halves[2][2] = {{f.low, f.knot}, {f.knot, f.high}};
    for (int i = 0; i < 2; i++) {
        double low = halves[i][0], high = halves[i][1];
        if (high - low < 2.0 / FINEST_SPACING) continue;
        function half = {
            .slider = {f.slider[0], -1}, .low = low, .knot = (low + high) / 2, .high = high};
        SN_TRY(prepare_function(b, &half, scratch));
        sinew_status status = add_function(b, &half);
        if (status != SINEW_OK) {
            sn_free(half.values);
            return status;
        }
    }
    return SINEW_OK;
}

static int best_function(const baker *b) {
    int best = -1;
    double most = 0;
    for (int i = 0; i < b->function_count; i++) {
        const function *f = &b->functions[i];
        if (f->chosen || f->norm < 1e-9 * b->sample_count) continue;
        double gain = f->gain / f->norm;
        if (gain > most) most = gain, best = i;
    }
    return best;
}

static void update_functions(baker *b, const double *q, const double *g) {
    int n = b->sample_count;
    double qg = dot(n, q, g);
    for (int i = 0; i < b->function_count; i++) {
        function *f = &b->functions[i];
        if (f->chosen) continue;
        double along = dot(n, q, f->values), cross = dot(n, g, f->values);
        f->gain += along * along * qg - 2 * along * cross;
        f->norm -= along * along;
        for (int k = 0; k < n; k++) f->values[k] -= along * q[k];
    }
    /* G := (1 - q q^T) G (1 - q q^T) */
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            b->gram[i + (size_t)n * (size_t)j] += q[i] * q[j] * qg - q[i] * g[j] - g[i] * q[j];
}

static sinew_status choose(baker *b) {
    int n = b->sample_count, limit = b->options->max_targets;
    double *scratch = SN_NEW(double, n);
    b->chosen = SN_NEW(int, limit);
    b->basis = SN_NEW(double, (size_t)limit *(size_t)n);
    sinew_status status = scratch && b->chosen && b->basis ? SINEW_OK : sn_no_memory(b->error);
    for (int i = 0; status == SINEW_OK && i < b->function_count; i++)
        status = prepare_function(b, &b->functions[i], scratch);
    while (status == SINEW_OK && b->chosen_count < limit) {
        int best = best_function(b);
        if (best < 0) break;
        function *f = &b->functions[best];
        double *q = b->basis + (size_t)b->chosen_count * (size_t)n;
        double length = sqrt(f->norm);
        for (int k = 0; k < n; k++) q[k] = f->values[k] / length;
        f->chosen = true;
        b->chosen[b->chosen_count++] = best;
        sn_dense_apply(SN_AS_IS, n, n, 1, b->gram, q, 0, scratch);
        update_functions(b, q, scratch);
        if (f->slider[1] < 0) status = split_hat(b, *f, scratch);
    }
    sn_free(scratch);
    return status;
}

/* ---- fitting --------------------------------------------------------------------------------- */

/* Displacements of the first `count` chosen functions: C = R X (X^T X + ridge)^-1, and the largest
 * error that they leave. */
static sinew_status fit(baker *b, int count, double *worst, double *rms) {
    int n = b->sample_count;
    double *X = SN_NEW(double, (size_t)n *(size_t)count), *S = NULL;
    double *normal = SN_NEW0(double, (size_t)count *(size_t)count);
    sinew_status status = X && normal ? SINEW_OK : sn_no_memory(b->error);
    for (int j = 0; status == SINEW_OK && j < count; j++)
        for (int k = 0; k < n; k++)
            X[k + (size_t)n * (size_t)j] =
                b->scale[k] * evaluate(b, &b->functions[b->chosen[j]],
                                       b->weights + (size_t)k * (size_t)b->rig->slider_count);
    if (status == SINEW_OK) {
        sn_dense_gram(n, count, 1, X, 0, normal);
        double trace = 0;
        for (int j = 0; j < count; j++) trace += normal[j + (size_t)count * (size_t)j];
        for (int j = 0; j < count; j++)
            normal[j + (size_t)count * (size_t)j] += RIDGE * trace / count;
        status = sn_dense_cholesky(count, normal, b->error);
    }
    /* S = (X^T X + ridge)^-1 X^T: per sample a column of the share of each function. */
    if (status == SINEW_OK && !(S = SN_NEW(double, (size_t)count *(size_t)n)))
        status = sn_no_memory(b->error);
    if (status == SINEW_OK) {
        for (int k = 0; k < n; k++)
            for (int j = 0; j < count; j++)
                S[j + (size_t)count * (size_t)k] = X[k + (size_t)n * (size_t)j];
        sn_dense_cholesky_solve(count, normal, n, S);
        float *Sf = SN_NEW(float, (size_t)count *(size_t)n);
        float *Xf = SN_NEW(float, (size_t)count *(size_t)n);
        float *left = SN_NEW(float, b->numbers);
        sn_free(b->displacements);
        b->displacements = SN_NEW(float, (size_t)count * b->numbers);
        if (!Sf || !Xf || !left || !b->displacements) status = sn_no_memory(b->error);
        for (size_t i = 0; status == SINEW_OK && i < (size_t)count * (size_t)n; i++)
            Sf[i] = (float)S[i];
        for (int k = 0; status == SINEW_OK && k < n; k++)
            for (int j = 0; j < count; j++)
                Xf[j + (size_t)count * (size_t)k] = (float)X[k + (size_t)n * (size_t)j];
        double most = 0, sum = 0;
        if (status == SINEW_OK)
            sn_dense_multiply_f32(SN_AS_IS, SN_TRANSPOSED, (int)b->numbers, count, n, 1,
                                  b->residuals, Sf, 0, b->displacements);
        for (int k = 0; status == SINEW_OK && k < n; k++) {
            memcpy(left, b->residuals + (size_t)k * b->numbers, b->numbers * sizeof *left);
            sn_dense_apply_f32(SN_AS_IS, (int)b->numbers, count, -1, b->displacements,
                               Xf + (size_t)count * (size_t)k, 1, left);
            for (size_t i = 0; i < b->numbers; i += 3) {
                double square = (double)left[i] * left[i] + (double)left[i + 1] * left[i + 1] +
                                (double)left[i + 2] * left[i + 2];
                square /= b->scale[k] * b->scale[k];
                most = fmax(most, square);
                sum += square;
            }
        }
        *worst = sqrt(most) / b->diagonal;
        *rms = sqrt(sum / ((double)n * (double)(b->numbers / 3))) / b->diagonal;
        sn_free(Sf), sn_free(Xf), sn_free(left);
    }
    sn_free(X), sn_free(S), sn_free(normal);
    return status;
}

/* The fewest of the chosen functions that meet the tolerance, or all of them. */
static sinew_status fit_fewest(baker *b, double *worst, double *rms) {
    int low = 1, high = b->chosen_count;
    SN_TRY(fit(b, high, worst, rms));
    if (*worst > b->options->tolerance) return SINEW_OK;
    while (low < high) {
        int middle = (low + high) / 2;
        SN_TRY(fit(b, middle, worst, rms));
        if (*worst <= b->options->tolerance)
            high = middle;
        else
            low = middle + 1;
    }
    b->chosen_count = high;
    return fit(b, high, worst, rms);
}

/* ---- the baked rig --------------------------------------------------------------------------- */

/* Vertices whose displacement can be seen; *count of them. */
static void gather(const baker *b, const double *displacement, int *vertices, double *deltas,
                   int *count) {
    double least = INVISIBLE * b->options->tolerance * b->diagonal;
    *count = 0;
    for (size_t v = 0; v < b->numbers / 3; v++) {
        const double *d = displacement + 3 * v;
        if (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= least * least) continue;
        vertices[*count] = (int)v;
        memcpy(deltas + 3 * (size_t)*count, d, 3 * sizeof *d);
        ++*count;
    }
}

static void unique_name(const sinew_rig *rig, char *name, size_t size) {
    size_t length = strlen(name);
    for (int k = 2; sinew_rig_find_target(rig, name) >= 0; k++)
        snprintf(name + length, size - length, "_%d", k);
}

static sinew_status add_combination(baker *b, const function *f, const double *displacement,
                                    int *vertices, double *deltas, sinew_rig *baked) {
    int drivers[2 * MOST_POWER], driver_count = 0, count;
    char name[600];
    const sinew_slider *s = b->rig->sliders;
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < f->power[i]; p++) drivers[driver_count++] = f->slider[i];
    int length = snprintf(name, sizeof name, "fix_%.200s", s[f->slider[0]].name);
    if (f->power[0] > 1)
        length += snprintf(name + length, sizeof name - (size_t)length, "%d", f->power[0]);
    length +=
        snprintf(name + length, sizeof name - (size_t)length, "_%.200s", s[f->slider[1]].name);
    if (f->power[1] > 1) snprintf(name + length, sizeof name - (size_t)length, "%d", f->power[1]);
    unique_name(baked, name, sizeof name);
    gather(b, displacement, vertices, deltas, &count);
    return sinew_rig_add_combination(baked, name, SINEW_COMBINE_MULTIPLY, driver_count, drivers,
                                     count, vertices, deltas, b->error);
}

/* An in-between holds the whole displacement at its knot: the blend's and that of every hat. */
static sinew_status add_inbetween(baker *b, const function *f, double *displacement, int *vertices,
                                  double *deltas, sinew_rig *baked) {
    int slider = f->slider[0], count;
    double at = sn_bake_weight(&b->rig->sliders[slider], f->knot);
    double *row = SN_NEW(double, b->rig->slider_count);
    if (!row) return sn_no_memory(b->error);
    sinew_rig_rest_weights(b->rig, row);
    sinew_linear_evaluate(b->linear, row, b->positions);
    row[slider] = at;
    sinew_linear_evaluate(b->linear, row, b->blend);
    for (size_t i = 0; i < b->numbers; i++) displacement[i] = b->blend[i] - b->positions[i];
    for (int j = 0; j < b->chosen_count; j++) {
        const function *hat = &b->functions[b->chosen[j]];
        double value = hat->slider[1] < 0 ? evaluate(b, hat, row) : 0;
        for (size_t i = 0; value != 0 && i < b->numbers; i++)
            displacement[i] += value * (double)b->displacements[(size_t)j * b->numbers + i];
    }
    sn_free(row);
    char name[600];
    snprintf(name, sizeof name, "%.200s_%d", b->rig->sliders[slider].name,
             (int)lround(1000 * f->knot));
    unique_name(baked, name, sizeof name);
    gather(b, displacement, vertices, deltas, &count);
    return sinew_rig_add_inbetween(baked, name, slider, at, count, vertices, deltas, b->error);
}

static sinew_status build(baker *b, sinew_rig **baked, sinew_bake_info *info) {
    double *displacement = SN_NEW(double, b->numbers), *deltas = SN_NEW(double, b->numbers);
    int *vertices = SN_NEW(int, b->numbers / 3);
    sinew_status status = displacement && deltas && vertices ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) status = sinew_rig_copy(b->rig, baked, b->error);
    for (int j = 0; status == SINEW_OK && j < b->chosen_count; j++) {
        const function *f = &b->functions[b->chosen[j]];
        if (f->slider[1] < 0) {
            status = add_inbetween(b, f, displacement, vertices, deltas, *baked);
            info->inbetweens++;
            continue;
        }
        for (size_t i = 0; i < b->numbers; i++)
            displacement[i] = (double)b->displacements[(size_t)j * b->numbers + i];
        status = add_combination(b, f, displacement, vertices, deltas, *baked);
        info->combinations++;
    }
    if (status != SINEW_OK) {
        sinew_rig_destroy(*baked);
        *baked = NULL;
    }
    sn_free(displacement), sn_free(deltas), sn_free(vertices);
    return status;
}

static sinew_status prepare(baker *b) {
    const sinew_mesh *mesh = b->rig->neutral;
    b->numbers = 3 * (size_t)mesh->vertex_count;
    b->diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    if (b->numbers == 0 || !(b->diagonal > 0))
        return sn_fail(b->error, SINEW_BAD_INPUT, "the rig has no size");
    if (b->rig->slider_count == 0)
        return sn_fail(b->error, SINEW_BAD_INPUT, "the rig has no sliders to bake");
    b->sample_limit = b->options->max_samples;
    b->weights = SN_NEW(double, (size_t)b->sample_limit *(size_t)b->rig->slider_count);
    b->residuals = SN_NEW(float, (size_t)b->sample_limit * b->numbers);
    b->positions = SN_NEW(double, b->numbers);
    b->blend = SN_NEW(double, b->numbers);
    if (!b->weights || !b->residuals || !b->positions || !b->blend) return sn_no_memory(b->error);
    return sinew_linear_create(b->rig, &b->linear, b->error);
}

sinew_status sinew_bake(const sinew_rig *rig, const sinew_bake_options *options,
                        sinew_bake_model *model, void *user, const sinew_monitor *monitor,
                        sinew_rig **baked, sinew_bake_info *info, sinew_error *error) {
    SN_REQUIRE(rig && model && baked && sn_info_ready(info), error);
    *baked = NULL;
    SN_OPTIONS(sinew_bake_options, chosen, options, error);
    SN_REQUIRE(chosen.max_targets >= 1 && chosen.tolerance >= 0, error);
    SN_REQUIRE(chosen.max_samples >= 10 && chosen.max_samples <= 5000, error);
    SN_REQUIRE(chosen.row_count == 0 || chosen.rows, error);
    baker b = {.rig = rig,
               .options = &chosen,
               .model = model,
               .user = user,
               .monitor = monitor,
               .error = error};
    sinew_bake_info found = {.size = sizeof found};
    double start = sn_now();
    sinew_status status = prepare(&b);
    if (status == SINEW_OK) status = take_samples(&b);
    if (status == SINEW_OK) status = scale_samples(&b);
    if (status == SINEW_OK) status = find_gram(&b);
    double total = 0;
    for (int k = 0; status == SINEW_OK && k < b.sample_count; k++)
        total += b.gram[k + (size_t)b.sample_count * (size_t)k] / (b.scale[k] * b.scale[k]);
    if (status == SINEW_OK && b.sample_count > 0)
        found.linear_error =
            sqrt(total / ((double)b.sample_count * (double)(b.numbers / 3))) / b.diagonal;
    found.fitted_error = found.linear_error;
    if (status == SINEW_OK && b.function_count > 0) status = choose(&b);
    if (status == SINEW_OK && b.chosen_count > 0)
        status = fit_fewest(&b, &found.fitted_worst, &found.fitted_error);
    if (status == SINEW_OK) status = build(&b, baked, &found);
    found.samples = b.sample_count;
    found.seconds = sn_now() - start;
    if (status == SINEW_OK) sn_info_write(info, &found, sizeof found);
    release(&b);
    return status;
}

/* ---- measuring ------------------------------------------------------------------------------- */

sinew_status sinew_bake_measure(const sinew_rig *rig, int row_count, const double *rows,
                                sinew_bake_model *model, void *user, const sinew_monitor *monitor,
                                sinew_bake_error *measured, sinew_error *error) {
    SN_REQUIRE(rig && rows && model && measured && row_count >= 1, error);
    SN_REQUIRE(sn_info_ready(measured), error);
    enum { BINS = 4096 };
    size_t n = (size_t)rig->neutral->vertex_count, sliders = (size_t)rig->slider_count;
    double diagonal = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    double *truth = SN_NEW(double, 3 * n), *blend = SN_NEW(double, 3 * n);
    int64_t *bins = SN_NEW0(int64_t, BINS);
    sinew_linear *linear = NULL;
    sinew_status status = truth && blend && bins ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sinew_linear_create(rig, &linear, error);
    sinew_bake_error found = {.size = sizeof found, .poses = row_count};
    double sum = 0, squares = 0;
    int64_t moving = 0;
    for (int k = 0; status == SINEW_OK && k < row_count; k++) {
        sn_progress(monitor, (double)k / row_count, "measure");
        status = sn_cancelled(monitor)
                     ? sn_fail(error, SINEW_CANCELLED, "cancelled")
                     : model(rows + (size_t)k * sliders, truth, user, monitor, error);
        if (status == SINEW_NOT_CONVERGED) status = SINEW_OK;
        if (status != SINEW_OK) break;
        sinew_linear_evaluate(linear, rows + (size_t)k * sliders, blend);
        for (size_t v = 0; v < n; v++) {
            double d = 0, moved = 0;
            for (size_t c = 3 * v; c < 3 * v + 3; c++) {
                d += (truth[c] - blend[c]) * (truth[c] - blend[c]);
                moved += (truth[c] - rig->neutral->positions[c]) *
                         (truth[c] - rig->neutral->positions[c]);
            }
            d = sqrt(d) / diagonal;
            sum += d, squares += d * d;
            found.worst = fmax(found.worst, d);
            /* Bins by the logarithm: from 1e-8 to 1 of the diagonal. */
            if (sqrt(moved) <= 1e-5 * diagonal) continue;
            double place = d > 1e-8 ? (log10(d) + 8) / 8 * BINS : 0;
            bins[place < BINS ? (int)place : BINS - 1]++;
            moving++;
        }
    }
    int64_t below = 0;
    for (int i = 0; i < BINS; i++) {
        below += bins ? bins[i] : 0;
        if (moving > 0 && below >= 0.95 * (double)moving) {
            found.p95 = pow(10, 8.0 * (i + 1) / BINS - 8);
            break;
        }
    }
    found.mean = sum / ((double)n * row_count);
    found.rms = sqrt(squares / ((double)n * row_count));
    if (status == SINEW_OK) sn_info_write(measured, &found, sizeof found);
    sinew_linear_destroy(linear);
    sn_free(truth), sn_free(blend), sn_free(bins);
    return status;
}
