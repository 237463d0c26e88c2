/* Few activations for many functions of the weights.
 *
 * Based on: reduced-rank ridge regression (Mukherjee and Zhu 2011), adaptive ridge (Frommlet and
 * Nuel 2016) and the leave-one-out error (Allen's PRESS, 1974) to choose its strength. We differ
 * in: functions of higher degree are penalized more, and everything works on the Gram matrix of the
 * samples.
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
 *
 * Few functions matter where joints bend, many where a face moves. So the fit is repeated with
 * penalties that grow where a function has contributed little, and the round with the least PRESS
 * counts. */
#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "rig/baker.h"

#define DEGREE_PENALTY 4.0   /* per degree above 2: noise grows with the degree */
#define SMALLEST_PART  1e-13 /* of the largest s */
#define LEAST_WEIGHT   1e-4  /* of the largest contribution */
enum { ROUNDS = 2 };
static const double ridges[] = {1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1};

typedef struct ridge {
    sn_baker *b;
    int n, F, r, count; /* samples, functions, rank, activations */
    const double *X;    /* n x F */
    double *penalty;    /* per function: sqrt(p) */
    double *Z;          /* n x F */
    double *U, *s;      /* n x r, r */
    double *GU;         /* n x r */
    double *M, *EME;    /* r x r */
    double *UE, *UEM;   /* n x r */
    double *found;      /* F x count: coefficients of this round */
} ridge;

static void release_round(ridge *t) {
    sn_free(t->U), sn_free(t->s), sn_free(t->GU);
    sn_free(t->M), sn_free(t->EME), sn_free(t->UE), sn_free(t->UEM);
    t->U = t->s = t->GU = t->M = t->EME = t->UE = t->UEM = NULL;
    t->r = 0;
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
    t->GU = SN_NEW(double, n *r), t->M = SN_NEW(double, r *r), t->EME = SN_NEW(double, r *r);
    t->UE = SN_NEW(double, n *r), t->UEM = SN_NEW(double, n *r);
    if (!t->GU || !t->M || !t->EME || !t->UE || !t->UEM) return sn_no_memory(t->b->error);
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, t->n, t->r, t->n, 1, t->b->gram, t->U, 0, t->GU);
    sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, t->r, t->r, t->n, 1, t->U, t->GU, 0, t->M);
    return SINEW_OK;
}

/* The squared error of every sample when it is left out of the fit, summed. */
static double left_out(ridge *t, double l) {
    size_t n = (size_t)t->n;
    for (int k = 0; k < t->r; k++)
        for (size_t i = 0; i < n; i++)
            t->UE[i + n * (size_t)k] = t->U[i + n * (size_t)k] * t->s[k] / (t->s[k] + l);
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, t->n, t->r, t->r, 1, t->UE, t->M, 0, t->UEM);
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        double own = 0, error = t->b->gram[i + n * i];
        for (size_t k = 0; k < (size_t)t->r; k++) {
            double ue = t->UE[i + n * k];
            own += ue * t->U[i + n * k];
            error += ue * (t->UEM[i + n * k] - 2 * t->GU[i + n * k]);
        }
        double room = fmax(1 - own, 1e-6);
        total += fmax(error, 0) / (room * room);
    }
    return total;
}

static double best_ridge(ridge *t, double *least) {
    double trace = 0, best = 0;
    *least = INFINITY;
    for (int k = 0; k < t->r; k++) trace += t->s[k];
    for (size_t i = 0; i < sizeof ridges / sizeof *ridges; i++) {
        double l = ridges[i] * trace / t->n, error = left_out(t, l);
        if (error < *least) *least = error, best = l;
    }
    return best;
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

/* t->found from the ridge l. */
static sinew_status find_coefficients(ridge *t, double l) {
    size_t r = (size_t)t->r, n = (size_t)t->n, F = (size_t)t->F, count = (size_t)t->count;
    memset(t->found, 0, F * count * sizeof *t->found);
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
        sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, t->F, (int)count, t->n, 1, t->Z, part, 0,
                          t->found);
        for (size_t k = 0; k < count; k++)
            for (size_t j = 0; j < F; j++) t->found[j + F * k] /= t->penalty[j];
    }
    sn_free(values), sn_free(vectors), sn_free(part);
    return status;
}

/* Penalties of the next round: what a function contributes to the samples, against the largest. */
static void adapt(ridge *t, const double *first) {
    size_t F = (size_t)t->F;
    double most = 0;
    for (size_t j = 0; j < F; j++) {
        double square = 0;
        for (size_t k = 0; k < (size_t)t->count; k++)
            square += t->found[j + F * k] * t->found[j + F * k];
        t->penalty[j] = sqrt(square * t->b->functions[t->b->chosen[j]].own);
        most = fmax(most, t->penalty[j]);
    }
    for (size_t j = 0; j < F; j++)
        t->penalty[j] = first[j] / sqrt(fmax(t->penalty[j] / most, LEAST_WEIGHT));
}

sinew_status sn_bake_reduce(sn_baker *b, const double *X, int count) {
    ridge t = {.b = b, .n = b->sample_count, .F = b->chosen_count, .count = count, .X = X};
    size_t n = (size_t)t.n, F = (size_t)t.F, size = F * (size_t)count;
    double *first = SN_NEW(double, F), least = INFINITY;
    b->coefficients = SN_NEW0(double, size);
    t.penalty = SN_NEW(double, F), t.Z = SN_NEW(double, n *F), t.found = SN_NEW(double, size);
    sinew_status status =
        first && b->coefficients && t.penalty && t.Z && t.found ? SINEW_OK : sn_no_memory(b->error);
    for (size_t j = 0; status == SINEW_OK && j < F; j++) {
        /* samples along a slider determine its curves, whatever their degree */
        const sn_bake_function *f = &b->functions[b->chosen[j]];
        int degree = f->kind == SN_BAKE_CURVE ? 0 : degree_of(f);
        first[j] = t.penalty[j] = sqrt(pow(DEGREE_PENALTY, degree > 2 ? degree - 2 : 0));
    }
    for (int round = 0; status == SINEW_OK && round < ROUNDS; round++) {
        if (sn_cancelled(b->monitor)) status = sn_fail(b->error, SINEW_CANCELLED, "cancelled");
        double error = INFINITY, l = 0;
        if (status == SINEW_OK) status = prepare(&t);
        if (status == SINEW_OK) l = best_ridge(&t, &error);
        if (status == SINEW_OK) status = find_coefficients(&t, l);
        if (status == SINEW_OK && error < least) {
            least = error;
            memcpy(b->coefficients, t.found, size * sizeof *t.found);
        }
        if (status == SINEW_OK) adapt(&t, first);
        release_round(&t);
    }
    sn_free(first), sn_free(t.penalty), sn_free(t.Z), sn_free(t.found);
    return status;
}
