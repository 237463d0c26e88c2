#include "algebra/block_solver.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "algebra/vector.h"
#include "base/memory.h"

/* With more changes than this, a new factorization is cheaper. */
enum { MOST_CHANGES = 48 };
/* A pivot of the small system below this fraction of its initial value is rounding error. */
static const double LEAST_PIVOT = 1e-12;

struct sn_block_solver {
    int size;
    const double *H;
    double *factor;     /* of the block of `factored` */
    int *factored;      /* F0, increasing */
    int factored_count; /* -1: no factor */
    int *place;         /* per variable: its index in F0, or -1 */
    int factorizations;

    int changes[MOST_CHANGES], change_count; /* variables of A and R, in the order of Z */
    bool *changed;                           /* per variable */
    double *Z; /* room for size x MOST_CHANGES, factored_count rows used */
    double small[MOST_CHANGES * MOST_CHANGES]; /* L D L^T of S, D on the diagonal */
    double *packed;
};

sinew_status sn_block_solver_create(int size, sn_block_solver **solver, sinew_error *error) {
    *solver = NULL;
    SN_REQUIRE(size >= 0, error);
    sn_block_solver *made = SN_NEW0(sn_block_solver, 1);
    if (!made) return sn_no_memory(error);
    size_t n = (size_t)size;
    made->size = size;
    made->factored_count = -1;
    made->factor = SN_NEW0(double, n *n);
    made->factored = SN_NEW0(int, n);
    made->place = SN_NEW0(int, n);
    made->changed = SN_NEW0(bool, n);
    made->Z = SN_NEW0(double, n *MOST_CHANGES);
    made->packed = SN_NEW0(double, n);
    if (!made->factor || !made->factored || !made->place || !made->changed || !made->Z ||
        !made->packed) {
        sn_block_solver_destroy(made);
        return sn_no_memory(error);
    }
    *solver = made;
    return SINEW_OK;
}

void sn_block_solver_destroy(sn_block_solver *solver) {
    if (!solver) return;
    sn_free(solver->factor);
    sn_free(solver->factored);
    sn_free(solver->place);
    sn_free(solver->changed);
    sn_free(solver->Z);
    sn_free(solver->packed);
    sn_free(solver);
}

void sn_block_solver_set_matrix(sn_block_solver *solver, const double *H) {
    solver->H = H;
    solver->factored_count = -1;
    solver->factorizations = 0;
}

int sn_block_solver_factorizations(const sn_block_solver *solver) {
    return solver->factorizations;
}

static bool factor_block(sn_block_solver *solver, int count, const int *variables) {
    size_t n = (size_t)solver->size, m = (size_t)count;
    memcpy(solver->factored, variables, sizeof *variables * m);
    for (size_t i = 0; i < n; i++) solver->place[i] = -1;
    for (size_t c = 0; c < m; c++) {
        const double *column = solver->H + n * (size_t)variables[c];
        double *to = solver->factor + m * c;
        solver->place[variables[c]] = (int)c;
        for (size_t r = c; r < m; r++) to[r] = column[variables[r]];
    }
    solver->change_count = 0;
    solver->factorizations++;
    bool good = sn_dense_cholesky(count, solver->factor, NULL) == SINEW_OK;
    solver->factored_count = good ? count : -1;
    return good;
}

/* The symmetric difference of F and F0, or -1 if it is too large. */
static int find_changes(const sn_block_solver *solver, int count, const int *variables,
                        int *changes) {
    int found = 0;
    for (int a = 0, b = 0; a < count || b < solver->factored_count;) {
        int f = a < count ? variables[a] : solver->size;
        int f0 = b < solver->factored_count ? solver->factored[b] : solver->size;
        if (f != f0) {
            if (found == MOST_CHANGES) return -1;
            changes[found++] = f < f0 ? f : f0;
        }
        a += f <= f0;
        b += f0 <= f;
    }
    return found;
}

/* S = L D L^T in the lower triangle. Returns false if a pivot has lost its sign or all its
 * digits. */
static bool factor_small(sn_block_solver *solver) {
    size_t k = (size_t)solver->change_count;
    double *s = solver->small;
    for (size_t j = 0; j < k; j++) {
        double pivot = s[j + k * j], start = fabs(pivot);
        for (size_t i = 0; i < j; i++) pivot -= s[j + k * i] * s[j + k * i] * s[i + k * i];
        bool went = solver->place[solver->changes[j]] >= 0;
        size_t own = (size_t)solver->changes[j] * ((size_t)solver->size + 1);
        start = went ? start : fabs(solver->H[own]);
        if (!((went ? -pivot : pivot) > LEAST_PIVOT * start)) return false;
        s[j + k * j] = pivot;
        for (size_t r = j + 1; r < k; r++) {
            double sum = s[r + k * j];
            for (size_t i = 0; i < j; i++) sum -= s[r + k * i] * s[j + k * i] * s[i + k * i];
            s[r + k * j] = sum / pivot;
        }
    }
    return true;
}

/* Computes Z and S for the changes, reusing the columns of variables that were already changed. */
static bool update_changes(sn_block_solver *solver, int count, const int *changes) {
    size_t n = (size_t)solver->size, height = (size_t)solver->factored_count;
    int kept = 0;
    for (int j = 0; j < count; j++) solver->changed[changes[j]] = true;
    for (int j = 0; j < solver->change_count; j++) {
        int variable = solver->changes[j];
        if (!solver->changed[variable]) continue;
        if (kept < j)
            memmove(solver->Z + (size_t)kept * height, solver->Z + (size_t)j * height,
                    sizeof(double) * height);
        solver->changed[variable] = false;
        solver->changes[kept++] = variable;
    }
    bool same = kept == count && kept == solver->change_count;
    solver->change_count = kept;
    for (int j = 0; j < count; j++) {
        int variable = changes[j];
        if (!solver->changed[variable]) continue;
        solver->changed[variable] = false;
        double *column = solver->Z + (size_t)solver->change_count * height;
        const double *from = solver->H + n * (size_t)variable;
        bool went = solver->place[variable] >= 0;
        for (size_t r = 0; r < height; r++) column[r] = went ? 0 : from[solver->factored[r]];
        if (went) column[solver->place[variable]] = 1;
        solver->changes[solver->change_count++] = variable;
    }
    if (same) return true;
    sn_dense_triangle_solve(SN_AS_IS, (int)height, solver->factor, count - kept,
                            solver->Z + (size_t)kept * height);
    size_t k = (size_t)count;
    sn_dense_gram((int)height, count, -1, solver->Z, 0, solver->small);
    for (size_t j = 0; j < k; j++)
        for (size_t i = 0; i < k; i++)
            if (solver->place[solver->changes[i]] < 0 && solver->place[solver->changes[j]] < 0)
                solver->small[i + k * j] +=
                    solver->H[(size_t)solver->changes[i] + n * (size_t)solver->changes[j]];
    return factor_small(solver);
}

/* Solves through the factor of F0 and the changes. */
static void solve_changed(sn_block_solver *solver, int count, const int *variables, double *b) {
    size_t height = (size_t)solver->factored_count, k = (size_t)solver->change_count;
    double *y = solver->packed, t[MOST_CHANGES] = {0};
    const double *s = solver->small;
    memset(y, 0, sizeof(double) * height);
    for (int i = 0; i < count; i++)
        if (solver->place[variables[i]] >= 0) y[solver->place[variables[i]]] = b[i];
    for (size_t j = 0; j < k; j++)
        for (int i = 0; solver->place[solver->changes[j]] < 0 && i < count; i++)
            if (variables[i] == solver->changes[j]) t[j] = b[i];
    sn_dense_triangle_solve(SN_AS_IS, (int)height, solver->factor, 1, y);
    for (size_t j = 0; j < k; j++) {
        t[j] -= sn_vector_dot(height, solver->Z + j * height, y);
        for (size_t i = 0; i < j; i++) t[j] -= s[j + k * i] * t[i];
    }
    for (size_t j = k; j-- > 0;) {
        t[j] /= s[j + k * j];
        for (size_t r = j + 1; r < k; r++) t[j] -= s[r + k * j] * t[r];
    }
    for (size_t j = 0; j < k; j++) sn_vector_axpy(height, -t[j], solver->Z + j * height, y);
    sn_dense_triangle_solve(SN_TRANSPOSED, (int)height, solver->factor, 1, y);
    for (int i = 0; i < count; i++) {
        int at = solver->place[variables[i]];
        if (at >= 0) b[i] = y[at];
    }
    for (size_t j = 0; j < k; j++)
        for (int i = 0; solver->place[solver->changes[j]] < 0 && i < count; i++)
            if (variables[i] == solver->changes[j]) b[i] = t[j];
}

bool sn_block_solve(sn_block_solver *solver, int count, const int *variables, double *b) {
    int changes[MOST_CHANGES];
    int found = solver->factored_count < 0 ? -1 : find_changes(solver, count, variables, changes);
    if (found > 0 && update_changes(solver, found, changes)) {
        solve_changed(solver, count, variables, b);
        return true;
    }
    if (found != 0 && !factor_block(solver, count, variables)) return false;
    sn_dense_cholesky_solve(count, solver->factor, 1, b);
    return true;
}
