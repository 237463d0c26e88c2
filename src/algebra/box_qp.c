#include "algebra/box_qp.h"

#include <math.h>
#include <string.h>

#include "algebra/block_solver.h"
#include "algebra/dense.h"
#include "algebra/vector.h"
#include "base/memory.h"

static const double SUFFICIENT_DECREASE = 1e-4;

struct sn_box_qp {
    int size;
    double *H;        /* including the ridge */
    double *diagonal; /* positive */
    sn_block_solver *blocks;
    bool *is_free;
    int *free_list;
    double *gradient, *direction, *step, *product, *trial, *packed;
};

sinew_status sn_box_qp_create(int size, sn_box_qp **qp, sinew_error *error) {
    *qp = NULL;
    SN_REQUIRE(size >= 0, error);
    sn_box_qp *made = SN_NEW0(sn_box_qp, 1);
    if (!made) return sn_no_memory(error);
    size_t n = (size_t)size;
    made->size = size;
    made->H = SN_NEW0(double, n *n);
    made->is_free = SN_NEW0(bool, n);
    made->free_list = SN_NEW0(int, n);
    bool complete = made->H && made->is_free && made->free_list &&
                    sn_block_solver_create(size, &made->blocks, NULL) == SINEW_OK;
    double **vectors[] = {&made->diagonal, &made->gradient, &made->direction, &made->step,
                          &made->product,  &made->trial,    &made->packed};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = SN_NEW0(double, n);
        complete = complete && *vectors[i];
    }
    if (!complete) {
        sn_box_qp_destroy(made);
        return sn_no_memory(error);
    }
    *qp = made;
    return SINEW_OK;
}

void sn_box_qp_destroy(sn_box_qp *qp) {
    if (!qp) return;
    sn_block_solver_destroy(qp->blocks);
    void *owned[] = {qp->H,         qp->diagonal, qp->is_free, qp->free_list, qp->gradient,
                     qp->direction, qp->step,     qp->product, qp->trial,     qp->packed};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) sn_free(owned[i]);
    sn_free(qp);
}

sinew_status sn_box_qp_set_matrix(sn_box_qp *qp, const double *H, sinew_error *error) {
    size_t n = (size_t)qp->size;
    double trace = 0;
    for (size_t i = 0; i < n * n; i++)
        if (!isfinite(H[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "entry (%d, %d) of a quadratic is not finite",
                           (int)(i % n), (int)(i / n));
    for (size_t i = 0; i < n; i++) {
        double value = H[i * (n + 1)];
        if (value < 0)
            return sn_fail(error, SINEW_BAD_INPUT, "a quadratic is not convex in variable %d",
                           (int)i);
        trace += value;
    }
    memcpy(qp->H, H, n * n * sizeof *H);
    double ridge = n && trace > 0 ? SN_BOX_QP_RIDGE * trace / (double)n : SN_BOX_QP_RIDGE;
    for (size_t i = 0; i < n; i++) {
        qp->H[i * (n + 1)] += ridge;
        qp->diagonal[i] = qp->H[i * (n + 1)];
    }
    sn_block_solver_set_matrix(qp->blocks, qp->H);
    return SINEW_OK;
}

void sn_box_qp_forget(sn_box_qp *qp) {
    sn_block_solver_set_matrix(qp->blocks, qp->H);
}

static inline double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

static inline double bound(const double *bounds, int i, double otherwise) {
    return bounds ? bounds[i] : otherwise;
}

/* The Newton direction on the free variables, zero elsewhere. */
static sinew_status newton_direction(sn_box_qp *qp, sinew_error *error) {
    int count = 0;
    for (int i = 0; i < qp->size; i++)
        if (qp->is_free[i]) {
            qp->packed[count] = -qp->gradient[i];
            qp->free_list[count++] = i;
        }
    if (!sn_block_solve(qp->blocks, count, qp->free_list, qp->packed))
        return sn_fail(error, SINEW_BAD_INPUT, "a quadratic is not convex");
    memset(qp->direction, 0, (size_t)qp->size * sizeof(double));
    for (int k = 0; k < count; k++) qp->direction[qp->free_list[k]] = qp->packed[k];
    return SINEW_OK;
}

static double kkt_residual(const sn_box_qp *qp, const double *x, const double *lower,
                           const double *upper) {
    double worst = 0;
    for (int i = 0; i < qp->size; i++) {
        double moved = clamp(x[i] - qp->gradient[i] / qp->diagonal[i], bound(lower, i, -INFINITY),
                             bound(upper, i, INFINITY));
        double distance = fabs(x[i] - moved);
        if (!(distance <= worst)) worst = distance;
    }
    return worst;
}

static void find_gradient(sn_box_qp *qp, const double *x, const double *g) {
    memcpy(qp->gradient, g, (size_t)qp->size * sizeof *g);
    sn_dense_apply(SN_AS_IS, qp->size, qp->size, 1, qp->H, x, -1, qp->gradient);
}

/* Searches along the projected arc x(a) = clamp(x + a d) for sufficient decrease of the objective:
 *   q(x + s) - q(x) = gradient^T s + 1/2 s^T H s.   Returns false if rounding prevents further
 * descent. */
static bool line_search(sn_box_qp *qp, double *x, const double *lower, const double *upper) {
    size_t n = (size_t)qp->size;
    double length = 1;
    for (int trial = 0; trial < 40; trial++, length *= trial < 4 ? 0.5 : 0.1) {
        for (int i = 0; i < qp->size; i++) {
            qp->trial[i] = clamp(x[i] + length * qp->direction[i], bound(lower, i, -INFINITY),
                                 bound(upper, i, INFINITY));
            qp->step[i] = qp->trial[i] - x[i];
        }
        sn_dense_apply(SN_AS_IS, qp->size, qp->size, 1, qp->H, qp->step, 0, qp->product);
        double slope = sn_vector_dot(n, qp->gradient, qp->step);
        double change = slope + 0.5 * sn_vector_dot(n, qp->step, qp->product);
        if (slope < 0 && change <= SUFFICIENT_DECREASE * slope) {
            memcpy(x, qp->trial, n * sizeof *x);
            sn_vector_axpy(n, 1, qp->product, qp->gradient);
            return true;
        }
        if (!(slope < 0) && trial > 8) break;
    }
    return false;
}

/* Finds the variables held at a bound: within `reach` of it (measured like the residual) and pushed
 * against it. The others are free. */
static int find_free(sn_box_qp *qp, const double *x, const double *lower, const double *upper,
                     double reach) {
    int count = 0;
    for (int i = 0; i < qp->size; i++) {
        bool low = x[i] <= bound(lower, i, -INFINITY) + reach && qp->gradient[i] > 0;
        bool high = x[i] >= bound(upper, i, INFINITY) - reach && qp->gradient[i] < 0;
        qp->is_free[i] = !low && !high;
        count += qp->is_free[i];
    }
    return count;
}

static sinew_status check(const sn_box_qp *qp, const double *g, const double *lower,
                          const double *upper, sinew_error *error) {
    for (int i = 0; i < qp->size; i++) {
        double low = bound(lower, i, -INFINITY), high = bound(upper, i, INFINITY);
        if (!isfinite(g[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "term %d of a quadratic is not finite", i);
        if (!(low <= high) || low == INFINITY || high == -INFINITY)
            return sn_fail(error, SINEW_BAD_INPUT, "bounds %g to %g of variable %d are empty", low,
                           high, i);
    }
    return SINEW_OK;
}

sinew_status sn_box_qp_solve(sn_box_qp *qp, const double *g, const double *lower,
                             const double *upper, const sn_box_qp_options *options, double *x,
                             sn_box_qp_info *info, sinew_error *error) {
    sn_box_qp_options defaults = {0};
    sn_box_qp_info unused;
    if (!options) options = &defaults;
    if (!info) info = &unused;
    *info = (sn_box_qp_info){0};
    SN_TRY(check(qp, g, lower, upper, error));
    double tolerance = options->tolerance > 0 ? options->tolerance : SN_BOX_QP_TOLERANCE;
    int limit = options->max_iterations > 0 ? options->max_iterations : SN_BOX_QP_ITERATIONS;
    for (int i = 0; i < qp->size; i++)
        x[i] = clamp(options->warm && isfinite(x[i]) ? x[i] : 0, bound(lower, i, -INFINITY),
                     bound(upper, i, INFINITY));
    find_gradient(qp, x, g);
    bool fresh = true; /* the gradient was computed from scratch, not updated */
    for (;;) {
        info->kkt = kkt_residual(qp, x, lower, upper);
        double scale = 1 + sn_vector_max((size_t)qp->size, x);
        bool reached = info->kkt <= tolerance * scale;
        if (reached && !fresh) {
            find_gradient(qp, x, g);
            fresh = true;
            continue;
        }
        info->free_variables = find_free(qp, x, lower, upper, fmin(info->kkt, 1e-6 * scale));
        if (reached) return SINEW_OK;
        if (info->iterations >= limit) break;
        if (sn_cancelled(options->monitor)) return SINEW_CANCELLED;
        int before = sn_block_solver_factorizations(qp->blocks);
        SN_TRY(newton_direction(qp, error));
        info->factorizations += sn_block_solver_factorizations(qp->blocks) - before;
        /* held variables move onto their bound */
        for (int i = 0; i < qp->size; i++)
            if (!qp->is_free[i])
                qp->direction[i] =
                    (qp->gradient[i] > 0 ? bound(lower, i, 0) : bound(upper, i, 0)) - x[i];
        info->iterations++;
        if (!line_search(qp, x, lower, upper)) {
            if (fresh) break;
            find_gradient(qp, x, g);
            fresh = true;
        } else {
            fresh = false;
        }
    }
    sn_fail(error, SINEW_NOT_CONVERGED, "a bounded quadratic stopped at a residual of %.3g",
            info->kkt);
    return SINEW_NOT_CONVERGED;
}

sinew_status sn_box_least_squares(int rows, int columns, const double *A, const double *b,
                                  const double *lower, const double *upper, double *x,
                                  sn_box_qp_info *info, sinew_error *error) {
    SN_REQUIRE(rows >= 0 && columns >= 0, error);
    size_t n = (size_t)columns;
    double *H = SN_NEW0(double, n *n), *g = SN_NEW0(double, n);
    sn_box_qp *qp = NULL;
    sinew_status status = H && g ? sn_box_qp_create(columns, &qp, error) : sn_no_memory(error);
    if (status == SINEW_OK) {
        sn_dense_gram(rows, columns, 1, A, 0, H);
        sn_dense_apply(SN_TRANSPOSED, rows, columns, 1, A, b, 0, g);
        status = sn_box_qp_set_matrix(qp, H, error);
    }
    if (status == SINEW_OK) status = sn_box_qp_solve(qp, g, lower, upper, NULL, x, info, error);
    sn_box_qp_destroy(qp);
    sn_free(H);
    sn_free(g);
    return status;
}

sinew_status sn_nonnegative_least_squares(int rows, int columns, const double *A, const double *b,
                                          double *x, sn_box_qp_info *info, sinew_error *error) {
    SN_REQUIRE(columns >= 0, error);
    double *zero = SN_NEW0(double, columns);
    if (!zero) return sn_no_memory(error);
    sinew_status status = sn_box_least_squares(rows, columns, A, b, zero, NULL, x, info, error);
    sn_free(zero);
    return status;
}
