/* Which functions of the weights a bake uses.
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
#include <math.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"
#include "rig/baker.h"

enum { GRAM_ROWS = 6144 /* rows of R that are converted to doubles at a time */ };
#define SMALL_ERROR 0.2  /* of the typical error of a sample */
#define DEPENDENT   1e-5 /* of its own square: what is left of a function that adds nothing new */

/* Samples count by their relative error: a pose in which everything is turned over at once, which
 * no clip shows, must not outweigh the ordinary ones. Errors near the tolerance count as one. */
static sinew_status scale_samples(sn_baker *b) {
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

static sinew_status find_gram(sn_baker *b) {
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

/* Values of a function over the samples, orthogonal to what is chosen, and its gain. */
static sinew_status prepare_function(sn_baker *b, sn_bake_function *f, double *scratch) {
    int n = b->sample_count;
    f->values = SN_NEW(double, n);
    if (!f->values) return sn_no_memory(b->error);
    for (int k = 0; k < n; k++)
        f->values[k] =
            b->scale[k] *
            sn_bake_evaluate(b, f, b->weights + (size_t)k * (size_t)b->rig->slider_count);
    f->own = sn_bake_dot(n, f->values, f->values);
    for (int j = 0; j < b->chosen_count; j++) {
        const double *q = b->basis + (size_t)j * (size_t)n;
        double along = sn_bake_dot(n, q, f->values);
        for (int k = 0; k < n; k++) f->values[k] -= along * q[k];
    }
    f->norm = sn_bake_dot(n, f->values, f->values);
    sn_dense_apply(SN_AS_IS, n, n, 1, b->gram, f->values, 0, scratch);
    f->gain = sn_bake_dot(n, scratch, f->values);
    return SINEW_OK;
}

/* A chosen hat cuts its interval in two; each half may be cut again. */
static sinew_status split_hat(sn_baker *b, sn_bake_function f, double *scratch) {
    const double halves[2][2] = {{f.low, f.knot}, {f.knot, f.high}};
    for (int i = 0; i < 2; i++) {
        double low = halves[i][0], high = halves[i][1];
        if (high - low < 2.0 / SN_BAKE_FINEST) continue;
        sn_bake_function half = {.kind = SN_BAKE_HAT,
                                 .slider = {f.slider[0]},
                                 .low = low,
                                 .knot = (low + high) / 2,
                                 .high = high};
        SN_TRY(prepare_function(b, &half, scratch));
        sinew_status status = sn_bake_add_function(b, &half);
        if (status != SINEW_OK) {
            sn_free(half.values);
            return status;
        }
    }
    return SINEW_OK;
}

static int best_function(const sn_baker *b) {
    int best = -1;
    double most = 0;
    for (int i = 0; i < b->function_count; i++) {
        const sn_bake_function *f = &b->functions[i];
        if (f->chosen || f->norm <= DEPENDENT * f->own || f->norm < 1e-9 * b->sample_count)
            continue;
        double gain = f->gain / f->norm;
        if (gain > most) most = gain, best = i;
    }
    return best;
}

typedef struct update_job {
    sn_baker *b;
    const double *q, *g;
    double qg;
} update_job;

static void update_some(void *context, sn_span span) {
    const update_job *job = context;
    int n = job->b->sample_count;
    SN_IN_SPAN(size_t, i, span) {
        sn_bake_function *f = &job->b->functions[i];
        if (f->chosen) continue;
        double along = sn_bake_dot(n, job->q, f->values);
        double cross = sn_bake_dot(n, job->g, f->values);
        f->gain += along * along * job->qg - 2 * along * cross;
        f->norm -= along * along;
        for (int k = 0; k < n; k++) f->values[k] -= along * job->q[k];
    }
}

/* The newest column of the basis, made orthogonal once more: rounding adds up over many steps. */
static void add_to_basis(sn_baker *b, const sn_bake_function *f) {
    int n = b->sample_count;
    double *q = b->basis + (size_t)b->chosen_count * (size_t)n;
    for (int k = 0; k < n; k++) q[k] = f->values[k];
    for (int j = 0; j < b->chosen_count; j++) {
        const double *other = b->basis + (size_t)j * (size_t)n;
        double along = sn_bake_dot(n, other, q);
        for (int k = 0; k < n; k++) q[k] -= along * other[k];
    }
    double length = sqrt(sn_bake_dot(n, q, q));
    for (int k = 0; k < n; k++) q[k] /= length;
}

static sinew_status choose(sn_baker *b, int limit, double *scratch) {
    int n = b->sample_count;
    for (int i = 0; i < b->function_count; i++)
        SN_TRY(prepare_function(b, &b->functions[i], scratch));
    while (b->chosen_count < limit) {
        if (sn_cancelled(b->monitor)) return sn_fail(b->error, SINEW_CANCELLED, "cancelled");
        int best = best_function(b);
        if (best < 0) break;
        sn_bake_function *f = &b->functions[best];
        double *q = b->basis + (size_t)b->chosen_count * (size_t)n;
        add_to_basis(b, f);
        f->chosen = true;
        b->chosen[b->chosen_count++] = best;
        sn_dense_apply(SN_AS_IS, n, n, 1, b->gram, q, 0, scratch);
        update_job job = {b, q, scratch, sn_bake_dot(n, q, scratch)};
        sn_parallel_for(b->function_count, 16, update_some, &job);
        if (f->kind == SN_BAKE_HAT) SN_TRY(split_hat(b, *f, scratch));
    }
    return SINEW_OK;
}

sinew_status sn_bake_weigh(sn_baker *b) {
    SN_TRY(scale_samples(b));
    return find_gram(b);
}

sinew_status sn_bake_choose_all(sn_baker *b) {
    b->chosen = SN_NEW(int, b->function_count);
    if (!b->chosen) return sn_no_memory(b->error);
    for (int i = 0; i < b->function_count; i++) {
        sn_bake_function *f = &b->functions[i];
        f->own = 0;
        for (int k = 0; k < b->sample_count; k++) {
            size_t row = (size_t)k * (size_t)b->rig->slider_count;
            double value = b->scale[k] * sn_bake_evaluate(b, f, b->weights + row);
            f->own += value * value;
        }
        if (f->own > 0) b->chosen[b->chosen_count++] = i;
    }
    return SINEW_OK;
}

sinew_status sn_bake_choose(sn_baker *b, int limit) {
    int n = b->sample_count;
    if (b->function_count == 0) return SINEW_OK;
    double *scratch = SN_NEW(double, n);
    b->chosen = SN_NEW(int, limit);
    b->basis = SN_NEW(double, (size_t)limit *(size_t)n);
    sinew_status status =
        scratch && b->chosen && b->basis ? choose(b, limit, scratch) : sn_no_memory(b->error);
    sn_free(scratch);
    return status;
}
