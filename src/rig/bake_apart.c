/* Shapes of contact that keep surfaces apart.
 *
 * Based on: asymmetric least squares (Newey and Powell 1987).
 *
 * The hinges phi_j are known (bake_gap.c), and so is what a sample k needs beyond the blend and the
 * shapes of the fit, t_k. Least squares for the shapes h_j would miss one sample by as much as they
 * overdo another; but where they miss, lids cross, and where they overdo, they are a little apart,
 * which cannot be seen. So each vertex minimizes
 *
 *   sum_k w_k^2 a_k |t_k - sum_j phi_jk h_j|^2
 *
 * where a_k is 1, but ASYMMETRY if what is missing points the way in which contact moves the
 * vertex. A few rounds of weighted least squares settle the a_k.
 *
 * Where surfaces just touch, the hinges are still off, and what the fit misses (less than can be
 * seen) lets them cross. So hinges set in a little before surfaces touch, as long as that leaves
 * clearly fewer pairs of triangles of the samples that intersect and do not in the model: the
 * sliders that press surfaces together get larger slopes, but none that would give a slider contact
 * alone. More than needed would be seen as a slit between closed lids. */
#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "rig/baker.h"

enum {
    ROUNDS = 8,
    BLOCK = 32, /* vertices that are solved together */
    STEPS = 5   /* that slopes may grow by */
};
#define ASYMMETRY   20.0
#define BARELY      0.02 /* of a shape: surfaces that touch are then apart */
#define STEP        0.01 /* by which slopes grow … */
#define PRESSING    0.1  /* … that are larger than this */
#define WORTH       0.25 /* of the pairs that intersect, which a larger gap must save */
#define RIDGE       1e-2 /* of the square of a hinge */
#define SMALL_ERROR 0.5  /* of the typical contact of a sample */
#define TOUCHED     1e-5 /* of the diagonal: contact that has a direction */

/* Samples that are known with and without contact. */
typedef struct press {
    const sn_baker *b;
    int count, hinges, shapes; /* samples; shapes of the fit */
    int *samples;
    double *weight;     /* squared */
    double *phi;        /* a column per sample */
    double *activation; /* a column per sample: of the shapes of the fit */
    double *own;        /* per hinge: its weighted square */
} press;

static void release(press *p) {
    sn_free(p->samples), sn_free(p->weight), sn_free(p->phi), sn_free(p->activation);
    sn_free(p->own);
}

static const double *row_of(const press *p, int sample) {
    return p->b->weights + (size_t)sample * (size_t)p->b->rig->slider_count;
}

static double square_of(const sn_baker *b, int sample) {
    double sum = 0;
    for (size_t c = 0; c < b->numbers; c++)
        sum += (double)b->contact[sample][c] * (double)b->contact[sample][c];
    return sum;
}

/* The samples, their weights by relative error as in bake_gap.c, and their hinges. */
static sinew_status find_samples(press *p) {
    const sn_baker *b = p->b;
    size_t all = (size_t)b->sample_count, K = (size_t)p->hinges;
    p->samples = SN_NEW(int, all), p->weight = SN_NEW(double, all);
    p->phi = SN_NEW(double, all *K), p->own = SN_NEW0(double, K);
    if (!p->samples || !p->weight || !p->phi || !p->own) return sn_no_memory(b->error);
    double total = 0, known = 0;
    for (int k = 0; k < b->sample_count; k++) {
        if (!b->contact[k]) continue;
        double square = square_of(b, k), *phi = p->phi + K * (size_t)p->count;
        total += square, known++;
        for (size_t j = 0; j < K; j++) phi[j] = sn_bake_hinge(b, b->sites[j].slopes, row_of(p, k));
        p->weight[p->count] = square, p->samples[p->count++] = k;
    }
    double least = known > 0 ? SMALL_ERROR * SMALL_ERROR * total / known : 0;
    for (size_t k = 0; k < (size_t)p->count; k++) {
        p->weight[k] = total > 0 ? 1 / (p->weight[k] + least) : 1;
        for (size_t j = 0; j < K; j++)
            p->own[j] += p->weight[k] * p->phi[j + K * k] * p->phi[j + K * k];
    }
    return SINEW_OK;
}

static sinew_status find_activations(press *p) {
    const sn_baker *b = p->b;
    size_t F = (size_t)b->chosen_count, K = (size_t)p->shapes;
    p->activation = SN_NEW0(double, K *(size_t)p->count + 1);
    if (!p->activation) return sn_no_memory(b->error);
    for (size_t k = 0; k < (size_t)p->count; k++)
        for (size_t f = 0; f < F - (size_t)p->hinges; f++) {
            double value =
                sn_bake_evaluate(b, &b->functions[b->chosen[f]], row_of(p, p->samples[k]));
            for (size_t j = 0; value != 0 && j < K; j++)
                p->activation[j + K * k] +=
                    value * (b->coefficients ? b->coefficients[f + F * j] : f == j);
        }
    return SINEW_OK;
}

/* t_k of some vertices, 3 per vertex, a row per sample. */
static void find_needed(const press *p, size_t first, size_t numbers, double *needed) {
    const sn_baker *b = p->b;
    for (size_t k = 0; k < (size_t)p->count; k++) {
        double *own = needed + numbers * k;
        size_t sample = (size_t)p->samples[k];
        const float *residual = b->residuals + sample * b->numbers + first;
        const float *contact = b->contact[sample] + first;
        for (size_t c = 0; c < numbers; c++)
            own[c] = (double)residual[c] / b->scale[sample] + (double)contact[c];
        for (size_t j = 0; j < (size_t)p->shapes; j++) {
            double a = p->activation[j + (size_t)p->shapes * k];
            const float *d = b->displacements + j * b->numbers + first;
            for (size_t c = 0; a != 0 && c < numbers; c++) own[c] -= a * (double)d[c];
        }
    }
}

/* How much of t - sum phi h points the way of contact, times its length; 0: no contact. */
static double missing(const press *p, size_t k, size_t at, const double *t, const double *h) {
    const float *contact = p->b->contact[p->samples[k]] + at;
    double along = 0, square = 0, least = TOUCHED * p->b->diagonal;
    for (size_t c = 0; c < 3; c++) {
        double left = t[c];
        for (size_t j = 0; j < (size_t)p->hinges; j++)
            left -= p->phi[j + (size_t)p->hinges * k] * h[j + (size_t)p->hinges * c];
        along += left * (double)contact[c], square += (double)contact[c] * (double)contact[c];
    }
    return square > least * least ? along : 0;
}

static bool is_on(const press *p, size_t k) {
    const double *phi = p->phi + (size_t)p->hinges * k;
    for (int j = 0; j < p->hinges; j++)
        if (phi[j] > 0) return true;
    return false;
}

/* h, a column per axis, of a vertex whose t begin at `needed`. A, uneven: scratch. */
static sinew_status solve_vertex(const press *p, size_t vertex, size_t stride, const double *needed,
                                 double *A, double *h, bool *uneven) {
    sinew_error error; /* of one thread of many */
    size_t K = (size_t)p->hinges;
    memset(uneven, 0, (size_t)p->count * sizeof *uneven);
    bool changed = true;
    for (int round = 0; changed && round < ROUNDS; round++) {
        memset(A, 0, K * K * sizeof *A), memset(h, 0, 3 * K * sizeof *h);
        for (size_t k = 0; k < (size_t)p->count; k++) {
            const double *phi = p->phi + K * k, *t = needed + stride * k;
            if (!is_on(p, k)) continue;
            double weight = p->weight[k] * (uneven[k] ? ASYMMETRY : 1);
            for (size_t i = 0; i < K; i++) {
                double own = weight * phi[i];
                if (own == 0) continue;
                for (size_t j = 0; j < K; j++) A[j + K * i] += own * phi[j];
                for (size_t c = 0; c < 3; c++) h[i + K * c] += own * t[c];
            }
        }
        for (size_t i = 0; i < K; i++) A[i + K * i] += p->own[i] > 0 ? RIDGE * p->own[i] : 1;
        SN_TRY(sn_dense_cholesky(p->hinges, A, &error));
        sn_dense_cholesky_solve(p->hinges, A, 3, h);
        changed = false;
        for (size_t k = 0; k < (size_t)p->count; k++) {
            bool now = is_on(p, k) && missing(p, k, 3 * vertex, needed + stride * k, h) > 0;
            changed |= now != uneven[k];
            uneven[k] = now;
        }
    }
    return SINEW_OK;
}

static bool is_pressed(const press *p, size_t vertex) {
    double least = SN_BAKE_INVISIBLE * p->b->options->tolerance * p->b->diagonal;
    for (int k = 0; k < p->count; k++) {
        const float *d = p->b->contact[p->samples[k]] + 3 * vertex;
        if (!is_on(p, (size_t)k)) continue;
        if ((double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2] > least * least)
            return true;
    }
    return false;
}

typedef struct press_job {
    const press *p;
    sinew_status *status; /* per block */
} press_job;

static sinew_status solve_block(const press *p, size_t first, size_t count) {
    const sn_baker *b = p->b;
    size_t K = (size_t)p->hinges, numbers = 3 * count;
    double *needed = SN_NEW(double, numbers *(size_t)p->count), *A = SN_NEW(double, K *K);
    double *h = SN_NEW(double, 3 * K);
    bool *uneven = SN_NEW(bool, p->count);
    sinew_status status = needed && A && h && uneven ? SINEW_OK : SINEW_NO_MEMORY;
    if (status == SINEW_OK) find_needed(p, 3 * first, numbers, needed);
    for (size_t v = first; status == SINEW_OK && v < first + count; v++) {
        bool pressed = is_pressed(p, v);
        if (pressed) status = solve_vertex(p, v, numbers, needed + 3 * (v - first), A, h, uneven);
        for (size_t j = 0; status == SINEW_OK && j < K; j++)
            for (size_t c = 0; c < 3; c++)
                b->displacements[((size_t)p->shapes + j) * b->numbers + 3 * v + c] =
                    (float)(pressed ? (1 + BARELY) * h[j + K * c] : 0);
    }
    sn_free(needed), sn_free(A), sn_free(h), sn_free(uneven);
    return status;
}

static void solve_blocks(void *context, sn_span span) {
    const press_job *job = context;
    size_t vertices = job->p->b->numbers / 3;
    SN_IN_SPAN(size_t, i, span) {
        size_t first = i * BLOCK, count = vertices - first < BLOCK ? vertices - first : BLOCK;
        job->status[i] = solve_block(job->p, first, count);
    }
}

/* ---- from where on --------------------------------------------------------------------------- */

/* A slider that does not intersect alone keeps its shape. */
static void begin_early(const sn_baker *b, sn_bake_site *site, double by) {
    for (int s = 0; s < b->rig->slider_count; s++) {
        double slope = site->slopes[s];
        if (slope > PRESSING) site->fitted[s] = fmin(slope + by, fmax(slope, 1));
    }
}

/* What intersects in a sample and does not in the model. samples: which; pairs: how much of each.
 */
typedef struct check {
    sn_baker *b;
    press all; /* with every sample that is known with and without contact */
    int count;
    int *samples, *pairs;
    double *model, *pose;
} check;

static sinew_status count_pairs(check *c, int k, int *pairs) {
    sn_baker *b = c->b;
    size_t sample = (size_t)c->all.samples[k];
    sinew_linear_evaluate(b->linear, row_of(&c->all, (int)sample), c->pose);
    const float *residual = b->residuals + sample * b->numbers;
    for (size_t i = 0; i < b->numbers; i++)
        c->model[i] =
            c->pose[i] + (double)residual[i] / b->scale[sample] + (double)b->contact[sample][i];
    for (size_t j = 0; j < (size_t)b->shape_count; j++) {
        double a = j < (size_t)c->all.shapes
                       ? c->all.activation[j + (size_t)c->all.shapes * (size_t)k]
                       : sn_bake_hinge(b, b->sites[j - (size_t)c->all.shapes].fitted,
                                       row_of(&c->all, (int)sample));
        const float *d = b->displacements + j * b->numbers;
        for (size_t i = 0; a != 0 && i < b->numbers; i++) c->pose[i] += a * (double)d[i];
    }
    return sn_bake_count_new(b, c->pose, c->model, pairs);
}

/* The pairs in the samples in which a site is on when it begins as early as it may. */
static sinew_status count_of_site(check *c, const double *latest, bool store, int *total) {
    *total = 0;
    for (int i = 0; i < c->count; i++) {
        int pairs = c->pairs[i];
        if (!(sn_bake_hinge(c->b, latest, row_of(&c->all, c->all.samples[c->samples[i]])) > 0))
            continue;
        SN_TRY(count_pairs(c, c->samples[i], &pairs));
        *total += pairs;
        if (store) c->pairs[i] = pairs;
    }
    return SINEW_OK;
}

static sinew_status begin_site_early(check *c, int index, double *latest) {
    const sn_baker *b = c->b;
    sn_bake_site *site = &b->sites[index];
    int fewest, total, best = 0;
    begin_early(b, site, STEPS * STEP);
    memcpy(latest, site->fitted, (size_t)b->rig->slider_count * sizeof *latest);
    begin_early(b, site, 0);
    SN_TRY(count_of_site(c, latest, false, &fewest));
    for (int step = 1; step <= STEPS && fewest > 0; step++) {
        begin_early(b, site, step * STEP);
        SN_TRY(count_of_site(c, latest, false, &total));
        if (total <= (1 - WORTH) * fewest) fewest = total, best = step;
    }
    begin_early(b, site, best * STEP);
    return count_of_site(c, latest, true, &total);
}

static sinew_status begin_all_early(sn_baker *b, press *all) {
    check c = {.b = b,
               .all = *all,
               .samples = SN_NEW(int, all->count + 1),
               .pairs = SN_NEW(int, all->count + 1),
               .model = SN_NEW(double, b->numbers),
               .pose = SN_NEW(double, b->numbers)};
    double *latest = SN_NEW(double, b->rig->slider_count);
    bool room = c.samples && c.pairs && c.model && c.pose && latest;
    sinew_status status = room ? SINEW_OK : sn_no_memory(b->error);
    for (int k = 0; status == SINEW_OK && k < all->count; k++) {
        int pairs;
        status = count_pairs(&c, k, &pairs);
        if (status == SINEW_OK && pairs > 0) c.samples[c.count] = k, c.pairs[c.count++] = pairs;
    }
    for (int i = 0; status == SINEW_OK && i < b->site_count; i++)
        status = begin_site_early(&c, i, latest);
    sn_free(c.samples), sn_free(c.pairs), sn_free(c.model), sn_free(c.pose), sn_free(latest);
    return status;
}

sinew_status sn_bake_press_apart(sn_baker *b) {
    press p = {.b = b, .hinges = b->hinge_count, .shapes = b->shape_count - b->hinge_count};
    size_t blocks = (b->numbers / 3 + BLOCK - 1) / BLOCK;
    press_job job = {&p, SN_NEW(sinew_status, blocks)};
    sinew_status status = job.status ? find_samples(&p) : sn_no_memory(b->error);
    if (status == SINEW_OK) status = find_activations(&p);
    if (status == SINEW_OK) sn_parallel_for((int)blocks, 1, solve_blocks, &job);
    for (size_t i = 0; status == SINEW_OK && i < blocks; i++)
        if (job.status[i] != SINEW_OK)
            status = sn_fail(b->error, job.status[i], "the shapes of contact cannot be found");
    if (status == SINEW_OK) status = begin_all_early(b, &p);
    sn_free(job.status);
    release(&p);
    return status;
}
