/* Few activations for many functions of the weights.
 *
 * Based on: reduced-rank ridge regression (Mukherjee and Zhu 2011) with the leave-one-out error
 * (Allen's PRESS, 1974) to choose its strength. We differ in: functions are penalized by what
 * samples of their sliders show of them, and more with their degree; everything works on the Gram
 * matrix of the samples.
 *
 * X (n x F) holds the values of the functions, R (3V x n) the residuals, G = R^T R. With the
 * penalties p_j and Z = X / sqrt(p), the ridge fit of the samples is R H, H = Z (Z^T Z + l)^-1 Z^T.
 * Let Z Z^T = U s U^T, so that H = U E U^T with E = s / (s + l), and M = U^T G U.
 *
 *   PRESS(l) = sum_i [(I - H) G (I - H)]_ii / (1 - H_ii)^2
 *
 * The K directions that the fit moves along most are v_k = R H u_k / sigma_k, where
 * E M E y_k = sigma_k^2 y_k and u_k = U y_k. The activation of v_k is the ridge fit of R^T v_k:
 *
 *   coefficients = (1 / sqrt(p)) Z^T U 1 / (s + l) M E y_k / sigma_k
 */
#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "rig/baker.h"

#define DEGREE_PENALTY 4.0   /* per degree above 2: noise grows with the degree */
#define SMALLEST_PART  1e-13 /* of the largest s */
#define LEAST_EXPECTED 1e-3  /* of the largest size of displacements that samples show */
static const double ridges[] = {1e-9, 1e-7, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1};

typedef struct ridge {
    sn_baker *b;
    int n, F, r, count; /* samples, functions, rank, activations */
    const double *X;    /* n x F */
    double *penalty;    /* per function: sqrt(p) */
    double *Z;          /* n x F */
    double *U, *s;      /* n x r, r */
    double *PGU;        /* n x r: (I - U U^T) G U */
    double *M, *EME;    /* r x r */
    double *UE, *UEM;   /* n x r */
    double *outside;    /* n: diagonal of P = I - U U^T */
    double *unreached;  /* n: diagonal of P G P */
} ridge;

static void release(ridge *t) {
    sn_free(t->penalty), sn_free(t->Z), sn_free(t->U), sn_free(t->s), sn_free(t->PGU);
    sn_free(t->M), sn_free(t->EME), sn_free(t->UE), sn_free(t->UEM);
    sn_free(t->outside), sn_free(t->unreached);
}

static int degree_of(const sn_bake_function *f) {
    int degree = 0;
    for (int i = 0; i < SN_BAKE_FACTORS; i++) degree += f->power[i];
    return degree;
}

/* U and s from the smaller of Z^T Z and Z Z^T. */
static sinew_status decompose(ridge *t) {
    size_t n = (size_t)t->n, F = (size_t)t->F, size = F < n ? F : n;
    double *gram = SN_NEW(double, size *size), *values = SN_NEW(double, size);
    sinew_status status = gram && values ? SINEW_OK : sn_no_memory(t->b->error);
    if (status == SINEW_OK) {
        if (F < n)
            sn_dense_gram(t->n, t->F, 1, t->Z, 0, gram);
        else
            sn_dense_multiply(SN_AS_IS, SN_TRANSPOSED, t->n, t->n, t->F, 1, t->Z, t->Z, 0, gram);
        status = sn_dense_eigen((int)size, gram, values, t->b->error);
    }
    if (status == SINEW_OK) {
        while ((size_t)t->r < size &&
               values[size - 1 - (size_t)t->r] > SMALLEST_PART * values[size - 1])
            t->r++;
        t->U = SN_NEW(double, n *(size_t)t->r), t->s = SN_NEW(double, t->r);
        if (!t->U || !t->s) status = sn_no_memory(t->b->error);
    }
    if (status == SINEW_OK) { /* largest first */
        for (size_t k = 0; k < (size_t)t->r; k++) t->s[k] = values[size - 1 - k];
        const double *last = gram + size * (size - (size_t)t->r);
        if (F < n) {
            sn_dense_multiply(SN_AS_IS, SN_AS_IS, t->n, t->r, t->F, 1, t->Z, last, 0, t->U);
        } else {
            memcpy(t->U, last, n * (size_t)t->r * sizeof *last);
        }
        for (size_t i = 0; i < (size_t)t->r / 2; i++)
            for (size_t k = 0; k < n; k++) {
                double *x = &t->U[k + n * i], *y = &t->U[k + n * ((size_t)t->r - 1 - i)], z = *x;
                *x = *y, *y = z;
            }
        for (size_t k = 0; F < n && k < (size_t)t->r; k++)
            for (size_t i = 0; i < n; i++) t->U[i + n * k] /= sqrt(t->s[k]);
    }
    sn_free(gram), sn_free(values);
    return status;
}

static sinew_status prepare(ridge *t) {
    size_t n = (size_t)t->n, F = (size_t)t->F;
    for (size_t j = 0; j < F; j++)
        for (size_t i = 0; i < n; i++) t->Z[i + n * j] = t->X[i + n * j] / t->penalty[j];
    SN_TRY(decompose(t));
    size_t r = (size_t)t->r;
    t->PGU = SN_NEW(double, n *r), t->M = SN_NEW(double, r *r), t->EME = SN_NEW(double, r *r);
    t->UE = SN_NEW(double, n *r), t->UEM = SN_NEW(double, n *r);
    t->outside = SN_NEW(double, n), t->unreached = SN_NEW(double, n);
    if (!t->PGU || !t->M || !t->EME || !t->UE || !t->UEM || !t->outside || !t->unreached)
        return sn_no_memory(t->b->error);
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, t->n, t->r, t->n, 1, t->b->gram, t->U, 0, t->UE);
    sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, t->r, t->r, t->n, 1, t->U, t->UE, 0, t->M);
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, t->n, t->r, t->r, 1, t->U, t->M, 0, t->UEM);
    for (size_t i = 0; i < n; i++) {
        double inside = 0, reached = 0;
        for (size_t k = i; k < n * r; k += n) {
            inside += t->U[k] * t->U[k];
            reached += t->U[k] * (2 * t->UE[k] - t->UEM[k]);
            t->PGU[k] = t->UE[k] - t->UEM[k];
        }
        t->outside[i] = fmax(1 - inside, 0);
        t->unreached[i] = fmax(t->b->gram[i + n * i] - reached, 0);
    }
    return SINEW_OK;
}

/* The squared error of every sample when it is left out of the fit, summed. With as many functions
 * as samples 1 - H_ii can be tiny, and so can the error. So both are sums of small parts: with
 * D = 1 - E = l / (s + l) and P = I - U U^T, I - H = P + U D U^T and
 *
 *   [(I - H) G (I - H)]_ii = [P G P]_ii + [U D (2 (P G U)^T + M D U^T)]_ii. */
static double left_out(ridge *t, double l) {
    size_t n = (size_t)t->n;
    for (int k = 0; k < t->r; k++)
        for (size_t i = 0; i < n; i++)
            t->UE[i + n * (size_t)k] = t->U[i + n * (size_t)k] * l / (t->s[k] + l);
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, t->n, t->r, t->r, 1, t->UE, t->M, 0, t->UEM);
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        double room = t->outside[i], error = t->unreached[i];
        for (size_t k = 0; k < (size_t)t->r; k++) {
            double ud = t->UE[i + n * k];
            room += ud * t->U[i + n * k];
            error += ud * (t->UEM[i + n * k] + 2 * t->PGU[i + n * k]);
        }
        total += fmax(error, 0) / fmax(room * room, 1e-300);
    }
    return total;
}

static sinew_status best_ridge(ridge *t, double *best) {
    double trace = 0, least = INFINITY;
    for (int k = 0; k < t->r; k++) trace += t->s[k];
    for (size_t i = 0; i < sizeof ridges / sizeof *ridges; i++) {
        if (sn_cancelled(t->b->monitor)) return sn_fail(t->b->error, SINEW_CANCELLED, "cancelled");
        double l = ridges[i] * trace / t->n, error = left_out(t, l);
        if (error < least) least = error, *best = l;
    }
    return SINEW_OK;
}

/* The `count` largest eigenvalues of a symmetric A (n x n), largest first, and their vectors in the
 * columns of Q: subspace iteration (Halko et al. 2011). A few more columns and passes than wanted
 * leave the subspace as good as an exact one where eigenvalues lie close together. */
static sinew_status find_largest(int n, const double *A, int count, double *values, double *Q,
                                 sinew_error *error) {
    enum { PASSES = 8 };
    int wide = count + count / 2 + 10;
    if (wide > n) wide = n;
    size_t rows = (size_t)n, columns = (size_t)wide;
    double *X = SN_NEW(double, rows *columns), *Y = SN_NEW(double, rows *columns);
    double *T = SN_NEW(double, columns *columns), *found = SN_NEW(double, columns);
    sinew_status status = X && Y && T && found ? SINEW_OK : sn_no_memory(error);
    uint64_t state = 1;
    for (size_t i = 0; status == SINEW_OK && i < rows * columns; i++)
        Y[i] = sn_bake_random(&state) - 0.5;
    for (int pass = 0; status == SINEW_OK && pass < PASSES; pass++) {
        sn_dense_gram(n, wide, 1, Y, 0, T);
        status = sn_dense_eigen(wide, T, found, error); /* Y := an orthonormal basis of Y */
        for (size_t j = 0; status == SINEW_OK && j < columns; j++) {
            double size = sqrt(fmax(found[j], 1e-28 * found[columns - 1]));
            for (size_t i = 0; i < columns; i++) T[i + columns * j] /= fmax(size, 1e-300);
        }
        if (status != SINEW_OK) break;
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, n, wide, wide, 1, Y, T, 0, X);
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, n, wide, n, 1, A, X, 0, Y);
    }
    if (status == SINEW_OK) {
        sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, wide, wide, n, 1, X, Y, 0, T);
        status = sn_dense_eigen(wide, T, found, error);
    }
    if (status == SINEW_OK) sn_dense_multiply(SN_AS_IS, SN_AS_IS, n, wide, wide, 1, X, T, 0, Y);
    for (size_t k = 0; status == SINEW_OK && k < (size_t)count; k++) {
        values[k] = found[columns - 1 - k];
        memcpy(Q + rows * k, Y + rows * (columns - 1 - k), rows * sizeof *Q);
    }
    sn_free(X), sn_free(Y), sn_free(T), sn_free(found);
    return status;
}

/* b->coefficients from the ridge l. */
static sinew_status find_coefficients(ridge *t, double l) {
    size_t r = (size_t)t->r, n = (size_t)t->n, F = (size_t)t->F, count = (size_t)t->count;
    double *found = t->b->coefficients;
    if (count > r) count = r;
    double *values = SN_NEW(double, count), *vectors = SN_NEW(double, r *count);
    double *part = SN_NEW(double, n *count);
    sinew_status status = values && vectors && part ? SINEW_OK : sn_no_memory(t->b->error);
    if (status == SINEW_OK) {
        for (size_t j = 0; j < r; j++)
            for (size_t i = 0; i < r; i++)
                t->EME[i + r * j] =
                    t->M[i + r * j] * t->s[i] / (t->s[i] + l) * t->s[j] / (t->s[j] + l);
        status = find_largest(t->r, t->EME, (int)count, values, vectors, t->b->error);
    }
    if (status == SINEW_OK) {
        double *Ey = t->UE, *MEy = t->UEM; /* r x count, within n x r */
        for (size_t k = 0; k < count; k++)
            for (size_t i = 0; i < r; i++)
                Ey[i + r * k] = t->s[i] / (t->s[i] + l) * vectors[i + r * k];
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, t->r, (int)count, t->r, 1, t->M, Ey, 0, MEy);
        for (size_t k = 0; k < count; k++)
            for (size_t i = 0; i < r; i++)
                MEy[i + r * k] /= (t->s[i] + l) * sqrt(fmax(values[k], 1e-300));
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, t->n, (int)count, t->r, 1, t->U, MEy, 0, part);
        sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, t->F, (int)count, t->n, 1, t->Z, part, 0, found);
        for (size_t k = 0; k < count; k++)
            for (size_t j = 0; j < F; j++) found[j + F * k] /= t->penalty[j];
    }
    sn_free(values), sn_free(vectors), sn_free(part);
    return status;
}

sinew_status sn_bake_reduce(sn_baker *b, const double *X, int count) {
    ridge t = {.b = b, .n = b->sample_count, .F = b->chosen_count, .count = count, .X = X};
    size_t n = (size_t)t.n, F = (size_t)t.F;
    double largest = 0, l = 0;
    b->coefficients = SN_NEW0(double, F *(size_t)count);
    t.penalty = SN_NEW(double, F), t.Z = SN_NEW(double, n *F);
    sinew_status status = b->coefficients && t.penalty && t.Z ? SINEW_OK : sn_no_memory(b->error);
    for (size_t j = 0; j < F; j++) largest = fmax(largest, b->functions[b->chosen[j]].expected);
    for (size_t j = 0; status == SINEW_OK && j < F; j++) {
        /* samples along a slider determine its curves, whatever their degree */
        const sn_bake_function *f = &b->functions[b->chosen[j]];
        int degree = f->kind == SN_BAKE_CURVE ? 0 : degree_of(f);
        double expected = largest > 0 ? fmax(f->expected / largest, LEAST_EXPECTED) : 1;
        t.penalty[j] = sqrt(pow(DEGREE_PENALTY, degree > 2 ? degree - 2 : 0)) / expected;
    }
    if (status == SINEW_OK) status = prepare(&t);
    if (status == SINEW_OK) status = best_ridge(&t, &l);
    if (status == SINEW_OK) status = find_coefficients(&t, l);
    release(&t);
    return status;
}
