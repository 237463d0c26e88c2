/* The displacements of a bake.
 *
 * Based on: reduced-rank regression (Izenman 1975) and varimax rotation (Kaiser 1958). We differ
 * in: varimax counts the squared length of a vertex's displacement, not of its coordinates, so that
 * the shapes do not depend on the axes.
 *
 * R holds the residual of each sample in a column, X (n x F) the values of the chosen functions.
 * In-betweens and products need a shape per function: C = R X (X^T X)^-1. Polynomials share few
 * shapes (bake_ridge.c has another fit for them): with Q an orthonormal basis of X, the best
 * approximation of rank K is R Q U U^T Q^T, U the K largest eigenvectors of Q^T R^T R Q. So the
 * activations are Q U = X P, each of them a sum of all functions, and the shapes R Q U. Any
 * rotation of the K shapes is as good; varimax takes the one that moves fewest vertices per shape.
 */
#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/status.h"
#include "rig/baker.h"

enum {
    SWEEPS = 12,            /* of varimax */
    ROTATED_VERTICES = 3000 /* that varimax uses */
};
#define RIDGE         1e-7 /* of the mean squared value of the functions */
#define SMALLEST_TURN 1e-3 /* radians; ends varimax */

/* X, the values of the chosen functions times the scale of the samples: n x chosen_count. */
static double *function_values(const sn_baker *b) {
    size_t n = (size_t)b->sample_count, sliders = (size_t)b->rig->slider_count;
    double *X = SN_NEW(double, n *(size_t)b->chosen_count);
    for (size_t j = 0; X && j < (size_t)b->chosen_count; j++)
        for (size_t k = 0; k < n; k++)
            X[k + n * j] = b->scale[k] * sn_bake_evaluate(b, &b->functions[b->chosen[j]],
                                                          b->weights + k * sliders);
    return X;
}

/* S := (X^T X + ridge)^-1 S for `count` columns of S. */
static sinew_status solve_normal(int rows, int columns, const double *X, int count, double *S,
                                 sinew_error *error) {
    double *normal = SN_NEW0(double, (size_t)columns *(size_t)columns), trace = 0;
    if (!normal) return sn_no_memory(error);
    sn_dense_gram(rows, columns, 1, X, 0, normal);
    for (int j = 0; j < columns; j++) trace += normal[j + (size_t)columns * (size_t)j];
    for (int j = 0; j < columns; j++)
        normal[j + (size_t)columns * (size_t)j] += RIDGE * trace / columns;
    sinew_status status = sn_dense_cholesky(columns, normal, error);
    if (status == SINEW_OK) sn_dense_cholesky_solve(columns, normal, count, S);
    sn_free(normal);
    return status;
}

/* ---- few shapes for many functions ----------------------------------------------------------- */

/* b->coefficients: the polynomials of the `count` activations that explain most, largest first. */
static sinew_status reduce(sn_baker *b, const double *X, int count) {
    int n = b->sample_count, F = b->chosen_count;
    size_t size = (size_t)F;
    double *GQ = SN_NEW(double, (size_t)n *size), *H = SN_NEW(double, size *size);
    double *values = SN_NEW(double, size), *QU = SN_NEW(double, (size_t)n *(size_t)count);
    b->coefficients = SN_NEW(double, size *(size_t)count);
    sinew_status status =
        GQ && H && values && QU && b->coefficients ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) {
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, n, F, n, 1, b->gram, b->basis, 0, GQ);
        sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, F, F, n, 1, b->basis, GQ, 0, H);
        status = sn_dense_eigen(F, H, values, b->error);
    }
    if (status == SINEW_OK) {
        /* Eigenvalues increase: turn the last ones round. */
        for (int j = 0; j < count; j++)
            memcpy(b->coefficients + size * (size_t)j, H + size * (size_t)(F - 1 - j),
                   size * sizeof *H);
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, n, count, F, 1, b->basis, b->coefficients, 0, QU);
        sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, F, count, n, 1, X, QU, 0, b->coefficients);
        status = solve_normal(n, F, X, count, b->coefficients, b->error);
    }
    sn_free(GQ), sn_free(H), sn_free(values), sn_free(QU);
    return status;
}

/* Turns columns i and j by an angle. */
static void turn(size_t rows, double *A, int i, int j, double c, double s) {
    double *x = A + rows * (size_t)i, *y = A + rows * (size_t)j;
    for (size_t k = 0; k < rows; k++) {
        double a = c * x[k] + s * y[k], d = c * y[k] - s * x[k];
        x[k] = a, y[k] = d;
    }
}

/* The angle between columns x and y of 3-vectors for which the variances of the squared lengths
 * are largest. With p = |x|^2 - |y|^2 and q = 2 x.y, the turned p' = p cos 2t + q sin 2t, and
 *
 *   var |x'|^2 + var |y'|^2 = const + var(p') / 2,
 *
 * largest at tan 4t = 2 cov(p, q) / (var p - var q). */
static double best_angle(size_t vertices, const double *x, const double *y) {
    double p1 = 0, q1 = 0, pp = 0, qq = 0, pq = 0;
    for (size_t v = 0; v < 3 * vertices; v += 3) {
        double p = x[v] * x[v] + x[v + 1] * x[v + 1] + x[v + 2] * x[v + 2] - y[v] * y[v] -
                   y[v + 1] * y[v + 1] - y[v + 2] * y[v + 2];
        double q = 2 * (x[v] * y[v] + x[v + 1] * y[v + 1] + x[v + 2] * y[v + 2]);
        p1 += p, q1 += q, pp += p * p, qq += q * q, pq += p * q;
    }
    double m = 1 / (double)vertices;
    return 0.25 * atan2(2 * (pq - p1 * q1 * m), pp - p1 * p1 * m - qq + q1 * q1 * m);
}

/* Varimax over evenly spread vertices; turns shapes and coefficients alike. */
static sinew_status rotate(sn_baker *b) {
    int count = b->shape_count;
    size_t K = (size_t)count, all = b->numbers / 3;
    size_t stride = all / ROTATED_VERTICES + 1, vertices = (all + stride - 1) / stride;
    double *part = SN_NEW(double, 3 * vertices * K), *O = SN_NEW0(double, K *K);
    double *turned = SN_NEW(double, (size_t)b->chosen_count *K);
    float *Of = SN_NEW(float, K *K), *shapes = SN_NEW(float, b->numbers *K);
    sinew_status status = part && O && turned && Of && shapes ? SINEW_OK : sn_no_memory(b->error);
    for (size_t j = 0; status == SINEW_OK && j < K; j++) {
        O[j + K * j] = 1;
        for (size_t v = 0; v < vertices; v++)
            for (size_t c = 0; c < 3; c++)
                part[3 * vertices * j + 3 * v + c] =
                    (double)b->displacements[b->numbers * j + 3 * stride * v + c];
    }
    double most = 1;
    for (int sweep = 0; status == SINEW_OK && sweep < SWEEPS && most > SMALLEST_TURN; sweep++) {
        most = 0;
        for (int i = 0; i + 1 < count; i++)
            for (int j = i + 1; j < count; j++) {
                double angle = best_angle(vertices, part + 3 * vertices * (size_t)i,
                                          part + 3 * vertices * (size_t)j);
                most = fmax(most, fabs(angle));
                turn(3 * vertices, part, i, j, cos(angle), sin(angle));
                turn(K, O, i, j, cos(angle), sin(angle));
            }
    }
    if (status == SINEW_OK) {
        for (size_t i = 0; i < K * K; i++) Of[i] = (float)O[i];
        sn_dense_multiply_f32(SN_AS_IS, SN_AS_IS, (int)b->numbers, count, count, 1,
                              b->displacements, Of, 0, shapes);
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, b->chosen_count, count, count, 1, b->coefficients, O,
                          0, turned);
        memcpy(b->displacements, shapes, b->numbers * K * sizeof *shapes);
        memcpy(b->coefficients, turned, (size_t)b->chosen_count * K * sizeof *turned);
    }
    sn_free(part), sn_free(O), sn_free(turned), sn_free(Of), sn_free(shapes);
    return status;
}

/* The largest activation over the samples becomes 1. */
static void normalize(sn_baker *b, const double *X) {
    int n = b->sample_count, F = b->chosen_count;
    for (int j = 0; j < b->shape_count; j++) {
        double *own = b->coefficients + (size_t)F * (size_t)j, most = 0;
        for (int k = 0; k < n; k++) {
            double a = 0;
            for (int f = 0; f < F; f++) a += own[f] * X[k + (size_t)n * (size_t)f];
            a /= b->scale[k];
            if (fabs(a) > fabs(most)) most = a;
        }
        if (most == 0) continue;
        for (int f = 0; f < F; f++) own[f] /= most;
        float *shape = b->displacements + (size_t)j * b->numbers;
        for (size_t i = 0; i < b->numbers; i++) shape[i] = (float)(most * (double)shape[i]);
    }
}

/* ---- displacements --------------------------------------------------------------------------- */

/* Displacements of the first `count` activations A (n rows): C = R A (A^T A + ridge)^-1. */
static sinew_status find_displacements(sn_baker *b, const double *A, int count) {
    int n = b->sample_count;
    size_t size = (size_t)count * (size_t)n;
    double *S = SN_NEW(double, size); /* (A^T A + ridge)^-1 A^T: the part of each sample */
    float *Sf = SN_NEW(float, size);
    sn_free(b->displacements);
    b->displacements = SN_NEW(float, (size_t)count * b->numbers);
    sinew_status status = S && Sf && b->displacements ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) {
        for (int k = 0; k < n; k++)
            for (int j = 0; j < count; j++)
                S[j + (size_t)count * (size_t)k] = A[k + (size_t)n * (size_t)j];
        status = solve_normal(n, count, A, n, S, b->error);
    }
    if (status == SINEW_OK) {
        for (size_t i = 0; i < size; i++) Sf[i] = (float)S[i];
        sn_dense_multiply_f32(SN_AS_IS, SN_TRANSPOSED, (int)b->numbers, count, n, 1, b->residuals,
                              Sf, 0, b->displacements);
    }
    sn_free(S), sn_free(Sf);
    return status;
}

/* What the displacements leave of the samples. */
static sinew_status measure_fit(const sn_baker *b, const double *A, int count, double *worst,
                                double *rms) {
    int n = b->sample_count;
    float *row = SN_NEW(float, count), *left = SN_NEW(float, b->numbers);
    sinew_status status = row && left ? SINEW_OK : sn_no_memory(b->error);
    double most = 0, sum = 0;
    for (int k = 0; status == SINEW_OK && k < n; k++) {
        for (int j = 0; j < count; j++) row[j] = (float)A[k + (size_t)n * (size_t)j];
        memcpy(left, b->residuals + (size_t)k * b->numbers, b->numbers * sizeof *left);
        sn_dense_apply_f32(SN_AS_IS, (int)b->numbers, count, -1, b->displacements, row, 1, left);
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
    sn_free(row), sn_free(left);
    return status;
}

static sinew_status fit_first(sn_baker *b, const double *A, int count, double *worst, double *rms) {
    SN_TRY(find_displacements(b, A, count));
    return measure_fit(b, A, count, worst, rms);
}

/* The fewest of the activations that meet the tolerance, or all of them. */
static sinew_status fit_fewest(sn_baker *b, const double *A, int count, double *worst,
                               double *rms) {
    int low = 1, high = count;
    SN_TRY(fit_first(b, A, high, worst, rms));
    b->shape_count = high;
    if (*worst > b->options->tolerance) return SINEW_OK;
    while (low < high) {
        int middle = (low + high) / 2;
        SN_TRY(fit_first(b, A, middle, worst, rms));
        if (*worst <= b->options->tolerance)
            high = middle;
        else
            low = middle + 1;
    }
    b->shape_count = high;
    return fit_first(b, A, high, worst, rms);
}

/* Without the activations that are zero: there are no more than samples can tell apart. */
static int drop_zeros(const sn_baker *b, int count) {
    for (; count > 1; count--) {
        const double *last = b->coefficients + (size_t)b->chosen_count * (size_t)(count - 1);
        for (int f = 0; f < b->chosen_count; f++)
            if (last[f] != 0) return count;
    }
    return count;
}

sinew_status sn_bake_fit(sn_baker *b, double *worst, double *rms) {
    if (b->options->style == SINEW_BAKE_STYLE_INBETWEENS) {
        double *values = function_values(b);
        sinew_status status =
            values ? fit_fewest(b, values, b->chosen_count, worst, rms) : sn_no_memory(b->error);
        b->chosen_count = b->shape_count;
        sn_free(values);
        return status == SINEW_OK ? sn_bake_add_contact(b) : status;
    }
    int n = b->sample_count, most = b->options->max_targets - b->site_count;
    int count = most < b->chosen_count ? most : b->chosen_count;
    double *X = function_values(b), *A = SN_NEW(double, (size_t)n *(size_t)count);
    sinew_status status = X && A ? (b->basis ? reduce(b, X, count) : sn_bake_reduce(b, X, count))
                                 : sn_no_memory(b->error);
    if (status == SINEW_OK) {
        count = drop_zeros(b, count);
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, n, count, b->chosen_count, 1, X, b->coefficients, 0,
                          A);
        status = fit_fewest(b, A, count, worst, rms);
    }
    if (status == SINEW_OK) status = rotate(b);
    if (status == SINEW_OK) normalize(b, X);
    if (status == SINEW_OK) status = sn_bake_add_contact(b);
    sn_free(X), sn_free(A);
    return status;
}
