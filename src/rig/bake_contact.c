/* Contact in a bake.
 *
 * Where lids or lips touch, the model pushes a few vertices apart. In the sum of squares over the
 * whole face that is nothing, so the shapes that explain most leave it out, and the lids cross. And
 * it sets in suddenly: a polynomial that follows it bends everywhere else. So contact has shapes of
 * its own, one per site (bake_site.c), whose activation is the hinge phi of the site.
 *
 * First the contact is taken out of the samples, so that the fit sees only what is smooth. Over the
 * samples that move no slider but those of the site, least squares explain the residuals by phi,
 * by powers of each slider, and by products of the sliders that meet:
 *
 *   r_k = sum_i (a_i u_i + b_i u_i^2 + c_i u_i^3) + sum_ij d_ij u_i u_j + h phi_k
 *
 * The samples lose phi h. After the fit, what it leaves of the samples with contact, l_k, gives the
 * shape
 *
 *   h = sum_k phi_k l_k / sum_k phi_k^2
 *
 * and, in turn with it, the slopes of phi that fit the samples best.
 *
 * Least squares miss one sample by as much as they overdo another, and where they miss, surfaces
 * cross. Each shape therefore grows until none of its samples crosses, except for those in which
 * the model crosses too.
 *
 * A model that can be asked without contact is asked so for all samples, and what contact adds to
 * some of them is known. Hinges are then those of bake_gap.c, shapes those of bake_apart.c, and
 * nothing is taken out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/status.h"
#include "rig/baker.h"

enum { POWERS = 3, ROUNDS = 3 };
#define SLOPE_RANGE 0.5  /* of a slope that samples may change */
#define RIDGE       1e-6 /* of the mean squared value of the functions */
#define STEP        0.1  /* by which a shape grows */
#define MOST_STEPS  10
#define JUST_BEGUN  0.15 /* of the deepest contact */

static double unit_of(const sn_baker *b, int sample, int slider) {
    double weight = b->weights[(size_t)sample * (size_t)b->rig->slider_count + (size_t)slider];
    return fmin(sn_bake_unit(&b->rig->sliders[slider], weight), 1);
}

static double hinge_of(const sn_baker *b, const sn_bake_site *site, int sample) {
    return sn_bake_hinge(b, site->slopes,
                         b->weights + (size_t)sample * (size_t)b->rig->slider_count);
}

static double fitted_hinge(const sn_baker *b, const sn_bake_site *site, int sample) {
    return sn_bake_hinge(b, site->fitted,
                         b->weights + (size_t)sample * (size_t)b->rig->slider_count);
}

/* Whether a sample knows of contact, and moves no slider but those of the site. */
static bool belongs(const sn_baker *b, const sn_bake_site *site, int sample) {
    bool moved = false;
    for (int s = 0; s < b->rig->slider_count; s++) {
        if (unit_of(b, sample, s) == 0) continue;
        if (site->slopes[s] == 0) return false;
        moved = true;
    }
    return moved;
}

/* ---- before the fit -------------------------------------------------------------------------- */

/* The functions of a site at a sample, the hinge last; returns how many. */
static int find_row(const sn_baker *b, int index, int sample, double *row) {
    const sn_bake_site *site = &b->sites[index];
    int count = 0;
    for (int s = 0; s < b->rig->slider_count; s++) {
        if (site->slopes[s] == 0) continue;
        double u = unit_of(b, sample, s), power = 1;
        for (int p = 0; p < POWERS; p++) row[count++] = power *= u;
    }
    for (int i = 0; i < b->meeting_count; i++) {
        const sn_bake_meeting *m = &b->meetings[i];
        if (m->site == index)
            row[count++] = unit_of(b, sample, m->slider[0]) * unit_of(b, sample, m->slider[1]);
    }
    row[count++] = hinge_of(b, site, sample);
    return count;
}

/* share[k]: how much sample k of the site adds to h: the last row of (B^T B)^-1 B^T. */
static sinew_status find_shares(sn_baker *b, int count, int rows, const double *B, double *share) {
    size_t size = (size_t)count;
    double *normal = SN_NEW0(double, size *size), *y = SN_NEW0(double, size), trace = 0;
    sinew_status status = normal && y ? SINEW_OK : sn_no_memory(b->error);
    for (int k = 0; status == SINEW_OK && k < rows; k++)
        for (size_t i = 0; i < size; i++)
            for (size_t j = 0; j < size; j++)
                normal[i + size * j] += B[(size_t)k * size + i] * B[(size_t)k * size + j];
    if (status == SINEW_OK) {
        for (size_t i = 0; i < size; i++) trace += normal[i + size * i];
        for (size_t i = 0; i < size; i++) normal[i + size * i] += RIDGE * trace / count;
        y[size - 1] = 1;
        status = sn_dense_cholesky(count, normal, b->error);
    }
    if (status == SINEW_OK) {
        sn_dense_cholesky_solve(count, normal, 1, y);
        for (int k = 0; k < rows; k++) share[k] = sn_bake_dot(count, B + (size_t)k * size, y);
    }
    sn_free(normal), sn_free(y);
    return status;
}

static double longest(const sn_baker *b, const float *shape) {
    double most = 0;
    for (size_t c = 0; c < b->numbers; c += 3)
        most = fmax(most, (double)shape[c] * shape[c] + (double)shape[c + 1] * shape[c + 1] +
                              (double)shape[c + 2] * shape[c + 2]);
    return sqrt(most);
}

/* shape and size of a site. */
static sinew_status examine(sn_baker *b, int index) {
    sn_bake_site *site = &b->sites[index];
    int n = b->sample_count, most = POWERS * b->rig->slider_count + b->meeting_count + 1;
    int *samples = SN_NEW(int, n), rows = 0, count = 0;
    double *B = NULL, *share = SN_NEW(double, n), deepest = 0;
    site->shape = SN_NEW0(float, b->numbers);
    sinew_status status = samples && share && site->shape ? SINEW_OK : sn_no_memory(b->error);
    for (int k = 0; status == SINEW_OK && k < n; k++)
        if (belongs(b, site, k)) samples[rows++] = k;
    if (status == SINEW_OK) {
        B = SN_NEW(double, (size_t)(rows + 1) * (size_t)most);
        status = B ? SINEW_OK : sn_no_memory(b->error);
    }
    for (int k = 0; status == SINEW_OK && k < rows; k++) {
        count = find_row(b, index, samples[k], B + (size_t)k * (size_t)count);
        deepest = fmax(deepest, hinge_of(b, site, samples[k]));
    }
    if (status == SINEW_OK && deepest > 0) {
        status = find_shares(b, count, rows, B, share);
        for (int k = 0; status == SINEW_OK && k < rows; k++) {
            const float *r = b->residuals + (size_t)samples[k] * b->numbers;
            for (size_t c = 0; c < b->numbers; c++) site->shape[c] += (float)share[k] * r[c];
        }
        site->size = deepest * longest(b, site->shape);
    }
    sn_free(samples), sn_free(share), sn_free(B);
    return status;
}

static int by_size(const void *x, const void *y) {
    const sn_bake_site *a = x, *b = y;
    return (a->size < b->size) - (a->size > b->size);
}

sinew_status sn_bake_part_contact(sn_baker *b, int limit) {
    if (b->options->without_contact) return sn_bake_find_gaps(b, limit);
    for (int i = 0; i < b->site_count; i++) SN_TRY(examine(b, i));
    if (b->site_count > 0) qsort(b->sites, (size_t)b->site_count, sizeof *b->sites, by_size);
    int kept = 0;
    double least = SN_BAKE_INVISIBLE * b->options->tolerance * b->diagonal;
    while (kept < b->site_count && kept < limit && b->sites[kept].size > least) kept++;
    for (; b->site_count > kept; b->site_count--) sn_bake_site_free(&b->sites[b->site_count - 1]);
    for (int k = 0; k < b->sample_count; k++) {
        float *r = b->residuals + (size_t)k * b->numbers;
        for (int i = 0; i < kept; i++) {
            float phi = (float)hinge_of(b, &b->sites[i], k);
            for (size_t c = 0; phi > 0 && c < b->numbers; c++) r[c] -= phi * b->sites[i].shape[c];
        }
    }
    return SINEW_OK;
}

/* ---- after the fit --------------------------------------------------------------------------- */

/* What the shapes add to the blend at a sample. */
static void add_shapes(const sn_baker *b, int sample, double sign, double *result) {
    const double *weights = b->weights + (size_t)sample * (size_t)b->rig->slider_count;
    for (int j = 0; j < b->shape_count; j++) {
        double activation = 0;
        for (int f = 0; f < b->chosen_count; f++) {
            double part =
                b->coefficients ? b->coefficients[f + (size_t)b->chosen_count * (size_t)j] : f == j;
            if (part != 0)
                activation += part * sn_bake_evaluate(b, &b->functions[b->chosen[f]], weights);
        }
        const float *d = b->displacements + (size_t)j * b->numbers;
        for (size_t c = 0; activation != 0 && c < b->numbers; c++)
            result[c] += sign * activation * (double)d[c];
    }
}

/* What the shapes of the fit leave of a sample, contact included: *phi times the shape of the site
 * should explain it. Whether the sample tells anything about the site. */
static bool find_left(const sn_baker *b, const sn_bake_site *site, int sample, double *left,
                      double *phi) {
    *phi = fitted_hinge(b, site, sample);
    double taken = hinge_of(b, site, sample);
    if (!(*phi > 0 || taken > 0) || !belongs(b, site, sample)) return false;
    const float *r = b->residuals + (size_t)sample * b->numbers;
    for (size_t c = 0; c < b->numbers; c++)
        left[c] = (double)r[c] / b->scale[sample] + taken * (double)site->shape[c];
    add_shapes(b, sample, -1, left);
    return true;
}

/* h = sum phi l / sum phi^2 */
static void find_shape(const sn_baker *b, const sn_bake_site *site, double *left, double *sum,
                       float *shape) {
    double square = 0, phi;
    memset(sum, 0, b->numbers * sizeof *sum);
    for (int k = 0; k < b->sample_count; k++) {
        if (!find_left(b, site, k, left, &phi)) continue;
        for (size_t c = 0; c < b->numbers; c++) sum[c] += phi * left[c];
        square += phi * phi;
    }
    for (size_t c = 0; c < b->numbers; c++) shape[c] = (float)(square > 0 ? sum[c] / square : 0);
}

/* Where the hinge is on, the samples tell more of a slope than the onset does: a slider may press
 * the surfaces together at other vertices than those that meet first. With a_k = l_k.h / h.h, each
 * slope in turn becomes the minimum of sum (a_k - phi_k)^2, not far from where it was. */
static void fit_slopes(const sn_baker *b, sn_bake_site *site, const float *shape, double *left,
                       double *activation) {
    double square = 0, phi;
    for (size_t c = 0; c < b->numbers; c++) square += (double)shape[c] * shape[c];
    if (!(square > 0)) return;
    for (int k = 0; k < b->sample_count; k++) {
        activation[k] = NAN;
        if (!find_left(b, site, k, left, &phi)) continue;
        activation[k] = 0;
        for (size_t c = 0; c < b->numbers; c++) activation[k] += left[c] * (double)shape[c];
        activation[k] /= square;
    }
    for (int s = 0; s < b->rig->slider_count; s++) {
        double along = 0, own = 0, from = site->slopes[s];
        for (int k = 0; from != 0 && k < b->sample_count; k++) {
            phi = isnan(activation[k]) ? 0 : fitted_hinge(b, site, k);
            if (!(phi > 0)) continue;
            along += unit_of(b, k, s) * (activation[k] - phi);
            own += unit_of(b, k, s) * unit_of(b, k, s);
        }
        if (!(own > 0)) continue;
        double low = from - SLOPE_RANGE * fabs(from), high = from + SLOPE_RANGE * fabs(from);
        site->fitted[s] = fmin(fmin(fmax(site->fitted[s] + along / own, low), high), 1);
    }
}

static void refine(const sn_baker *b, sn_bake_site *site, double *left, double *sum,
                   double *activation, float *shape) {
    find_shape(b, site, left, sum, shape);
    for (int round = 0; round < ROUNDS; round++) {
        fit_slopes(b, site, shape, left, activation);
        find_shape(b, site, left, sum, shape);
    }
}

/* Room for a shape per site, each with a function of its own. */
static sinew_status grow(sn_baker *b) {
    size_t F = (size_t)b->chosen_count, K = (size_t)b->shape_count, m = (size_t)b->site_count;
    double *coefficients = b->coefficients ? SN_NEW0(double, (F + m) * (K + m)) : NULL;
    float *displacements = SN_NEW(float, (K + m) * b->numbers);
    int *chosen = SN_NEW(int, F + m);
    if ((b->coefficients && !coefficients) || !displacements || !chosen) {
        sn_free(coefficients), sn_free(displacements), sn_free(chosen);
        return sn_no_memory(b->error);
    }
    for (size_t j = 0; coefficients && j < K; j++)
        memcpy(coefficients + (F + m) * j, b->coefficients + F * j, F * sizeof *coefficients);
    for (size_t j = 0; coefficients && j < m; j++) coefficients[(F + m) * (K + j) + F + j] = 1;
    if (K > 0) memcpy(displacements, b->displacements, K * b->numbers * sizeof *displacements);
    if (F > 0) memcpy(chosen, b->chosen, F * sizeof *chosen);
    sn_free(b->coefficients), sn_free(b->displacements), sn_free(b->chosen);
    b->coefficients = coefficients, b->displacements = displacements, b->chosen = chosen;
    return SINEW_OK;
}

static sinew_status append(sn_baker *b, double *left, double *sum, double *activation) {
    SN_TRY(grow(b));
    for (int i = 0; i < b->site_count; i++) {
        sn_bake_function f = {.kind = SN_BAKE_HINGE, .slopes = b->sites[i].fitted, .own = 1};
        b->chosen[b->chosen_count++] = b->function_count;
        SN_TRY(sn_bake_add_function(b, &f));
    }
    for (int i = 0; i < b->site_count && !b->options->without_contact; i++)
        refine(b, &b->sites[i], left, sum, activation,
               b->displacements + (size_t)(b->shape_count + i) * b->numbers);
    b->shape_count += b->site_count;
    b->hinge_count = b->site_count;
    return SINEW_OK;
}

/* Whether the baked rig crosses at a sample where the model does not. */
static sinew_status find_worse(sn_baker *b, int sample, double *pose, bool *worse) {
    bool model = false;
    sinew_linear_evaluate(b->linear, b->weights + (size_t)sample * (size_t)b->rig->slider_count,
                          b->positions);
    memcpy(pose, b->positions, b->numbers * sizeof *pose);
    add_shapes(b, sample, 1, pose);
    SN_TRY(sn_bake_crosses(b, pose, worse));
    if (!*worse) return SINEW_OK;
    const float *r = b->residuals + (size_t)sample * b->numbers;
    for (size_t c = 0; c < b->numbers; c++) b->positions[c] += (double)r[c] / b->scale[sample];
    for (int i = 0; i < b->site_count; i++) {
        double phi = hinge_of(b, &b->sites[i], sample);
        for (size_t c = 0; phi > 0 && c < b->numbers; c++)
            b->positions[c] += phi * (double)b->sites[i].shape[c];
    }
    SN_TRY(sn_bake_crosses(b, b->positions, &model));
    *worse = !model;
    return SINEW_OK;
}

/* The samples in which the hinge of a site has more than begun. */
static int find_pressed(const sn_baker *b, const sn_bake_site *site, int *samples) {
    double deepest = 0;
    int count = 0;
    for (int k = 0; k < b->sample_count; k++)
        if (belongs(b, site, k)) deepest = fmax(deepest, fitted_hinge(b, site, k));
    for (int k = 0; k < b->sample_count; k++)
        if (belongs(b, site, k) && fitted_hinge(b, site, k) > JUST_BEGUN * deepest)
            samples[count++] = k;
    return count;
}

/* Grows the shape of a site in steps as long as a step keeps further samples from crossing. Where
 * contact has just begun, its size matters little and is not worth a gap elsewhere. */
static sinew_status enlarge(sn_baker *b, int index, int *crossing, double *pose) {
    float *shape = b->displacements + (size_t)(b->shape_count - b->site_count + index) * b->numbers;
    double size = 1, best = 1;
    int count = find_pressed(b, &b->sites[index], crossing);
    for (int step = 0; step <= MOST_STEPS && count > 0; step++) {
        double next = 1 + STEP * step;
        int left = 0;
        for (size_t c = 0; c < b->numbers; c++) shape[c] = (float)(next / size * (double)shape[c]);
        size = next;
        for (int i = 0; i < count; i++) {
            bool worse;
            SN_TRY(find_worse(b, crossing[i], pose, &worse));
            if (worse) crossing[left++] = crossing[i];
        }
        if (left < count) best = size;
        count = left;
    }
    for (size_t c = 0; c < b->numbers; c++) shape[c] = (float)(best / size * (double)shape[c]);
    return SINEW_OK;
}

sinew_status sn_bake_add_contact(sn_baker *b) {
    if (b->site_count == 0) return SINEW_OK;
    double *left = SN_NEW(double, b->numbers), *sum = SN_NEW(double, b->numbers);
    double *activation = SN_NEW(double, b->sample_count);
    int *crossing = SN_NEW(int, b->sample_count);
    bool room = left && sum && activation && crossing;
    sinew_status status = room ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) status = append(b, left, sum, activation);
    bool known = b->options->without_contact;
    if (status == SINEW_OK && known) status = sn_bake_press_apart(b);
    for (int i = 0; status == SINEW_OK && !known && i < b->site_count; i++)
        status = enlarge(b, i, crossing, left);
    sn_free(left), sn_free(sum), sn_free(activation), sn_free(crossing);
    return status;
}
