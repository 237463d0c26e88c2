#include "matrices.h"

#include "algebra/box_qp.h"
#include "algebra/dense.h"
#include "base/threads.h"
#include "groups.h"

/* H = B^T B of rank `rank`, column-major. */
static double *random_gram(int n, int rank, uint64_t seed) {
    double *B = test_random_vector((size_t)(rank * n), seed);
    double *H = calloc((size_t)(n * n) + 1, sizeof *H);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < rank; k++) H[i + n * j] += B[k + rank * i] * B[k + rank * j];
    free(B);
    return H;
}

static double objective(int n, const double *H, const double *g, const double *x) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum -= g[i] * x[i];
        for (int j = 0; j < n; j++) sum += 0.5 * x[i] * H[i + n * j] * x[j];
    }
    return sum;
}

/* The largest violation of the optimality conditions, by a plain loop. */
static double violation(int n, const double *H, const double *g, const double *low,
                        const double *high, const double *x) {
    double worst = 0;
    for (int i = 0; i < n; i++) {
        assert_true(x[i] >= low[i] && x[i] <= high[i]);
        double gradient = -g[i];
        for (int j = 0; j < n; j++) gradient += H[i + n * j] * x[j];
        if (x[i] > low[i]) worst = fmax(worst, gradient);
        if (x[i] < high[i]) worst = fmax(worst, -gradient);
    }
    return worst;
}

/* Every combination of free, lower and upper, each solved by elimination: the best feasible one. */
static double best_by_enumeration(int n, const double *H, const double *g, const double *low,
                                  const double *high) {
    sinew_error error;
    double best = INFINITY;
    int combinations = 1;
    for (int i = 0; i < n; i++) combinations *= 3;
    for (int c = 0; c < combinations; c++) {
        int kind[8], rest = c, free_count = 0, place[8];
        double x[8], A[64], b[8];
        for (int i = 0; i < n; i++, rest /= 3) {
            kind[i] = rest % 3;
            x[i] = kind[i] == 1 ? low[i] : kind[i] == 2 ? high[i] : 0;
            if (kind[i] == 0) place[free_count++] = i;
        }
        for (int r = 0; r < free_count; r++) {
            b[r] = g[place[r]];
            for (int j = 0; j < n; j++)
                if (kind[j]) b[r] -= H[place[r] + n * j] * x[j];
            for (int s = 0; s < free_count; s++) A[r + free_count * s] = H[place[r] + n * place[s]];
        }
        if (sn_dense_solve(free_count, A, 1, b, &error) != SINEW_OK) continue;
        bool inside = true;
        for (int r = 0; r < free_count; r++) {
            x[place[r]] = b[r];
            if (b[r] < low[place[r]] - 1e-9 || b[r] > high[place[r]] + 1e-9) inside = false;
        }
        if (inside) best = fmin(best, objective(n, H, g, x));
    }
    return best;
}

static void small_problems_match_the_enumeration_of_active_sets(void **state) {
    (void)state;
    sinew_error error;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        int n = 1 + (int)(seed % 6);
        double *H = random_gram(n, n + 2, seed), *g = test_random_vector((size_t)n, seed + 100);
        double low[8], high[8], x[8];
        uint64_t random = seed;
        for (int i = 0; i < n; i++) {
            g[i] *= 3;
            low[i] = 0.5 * test_random(&random);
            high[i] = low[i] + 0.5 + 0.5 * test_random(&random);
        }
        sn_box_qp *qp;
        sn_box_qp_info info;
        assert_ok(sn_box_qp_create(n, &qp, &error));
        assert_ok(sn_box_qp_set_matrix(qp, H, &error));
        assert_ok(sn_box_qp_solve(qp, g, low, high, NULL, x, &info, &error));
        assert_close(objective(n, H, g, x), best_by_enumeration(n, H, g, low, high), 1e-7);
        sn_box_qp_destroy(qp);
        free(H), free(g);
    }
}

static void optimality_holds_on_large_and_singular_problems(void **state) {
    (void)state;
    sinew_error error;
    const int shapes[][2] = {{1, 0}, {40, 60}, {120, 30}, {200, 210}, {150, 1}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        int n = shapes[s][0];
        double *H = random_gram(n, shapes[s][1], 3 + s), *g = test_random_vector((size_t)n, 4);
        if (shapes[s][1] < n) { /* g in the range of H, as in least squares */
            double *z = test_random_vector((size_t)n, 4);
            for (int i = 0; i < n; i++) {
                g[i] = 0;
                for (int j = 0; j < n; j++) g[i] += H[i + n * j] * z[j];
            }
            free(z);
        }
        double *low = calloc((size_t)n, 8), *high = calloc((size_t)n, 8), *x = calloc((size_t)n, 8);
        for (int i = 0; i < n; i++) high[i] = i % 3 ? 0.1 : 10;
        sn_box_qp *qp;
        sn_box_qp_info info;
        assert_ok(sn_box_qp_create(n, &qp, &error));
        assert_ok(sn_box_qp_set_matrix(qp, H, &error));
        assert_ok(sn_box_qp_solve(qp, g, low, high, NULL, x, &info, &error));
        double scale = 0;
        for (int i = 0; i < n; i++) scale = fmax(scale, H[i * (n + 1)]);
        assert_below(violation(n, H, g, low, high, x), 1e-6 * (1 + scale));
        assert_below(info.iterations, 40);
        sn_box_qp_destroy(qp);
        free(H), free(g), free(low), free(high), free(x);
    }
}

static void warm_start_needs_no_factorization(void **state) {
    (void)state;
    sinew_error error;
    enum { N = 150 };
    double *H = random_gram(N, 170, 8), *g = test_random_vector(N, 9), low[N], high[N], x[N];
    for (int i = 0; i < N; i++) low[i] = 0, high[i] = 1, g[i] *= 30;
    sn_box_qp *qp;
    sn_box_qp_info info;
    sn_box_qp_options warm = {.warm = true};
    assert_ok(sn_box_qp_create(N, &qp, &error));
    assert_ok(sn_box_qp_set_matrix(qp, H, &error));
    assert_ok(sn_box_qp_solve(qp, g, low, high, NULL, x, &info, &error));
    for (int step = 0; step < 10; step++) {
        for (int i = 0; i < N; i++) g[i] += 0.05 * ((i + step) % 5 - 2);
        assert_ok(sn_box_qp_solve(qp, g, low, high, &warm, x, &info, &error));
        assert_int_equal(info.factorizations, 0);
        assert_below(violation(N, H, g, low, high, x), 1e-6 * 100);
    }
    sn_box_qp_destroy(qp);
    free(H), free(g);
}

static void bounds_may_be_missing_equal_or_wrong(void **state) {
    (void)state;
    sinew_error error;
    double H[] = {2, 0, 0, 2}, g[] = {2, -4}, x[2];
    sn_box_qp *qp;
    assert_ok(sn_box_qp_create(2, &qp, &error));
    assert_ok(sn_box_qp_set_matrix(qp, H, &error));
    assert_ok(sn_box_qp_solve(qp, g, NULL, NULL, NULL, x, NULL, &error));
    assert_close(x[0], 1, 1e-8);
    assert_close(x[1], -2, 1e-8);
    double low[] = {3, -1}, high[] = {3, INFINITY};
    assert_ok(sn_box_qp_solve(qp, g, low, high, NULL, x, NULL, &error));
    assert_close(x[0], 3, 0);
    assert_close(x[1], -1, 0);
    high[0] = 2;
    assert_int_equal(sn_box_qp_solve(qp, g, low, high, NULL, x, NULL, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "variable 0"));
    g[1] = NAN;
    assert_int_equal(sn_box_qp_solve(qp, g, NULL, NULL, NULL, x, NULL, &error), SINEW_BAD_INPUT);
    H[3] = -1;
    assert_int_equal(sn_box_qp_set_matrix(qp, H, &error), SINEW_BAD_INPUT);
    sn_box_qp_destroy(qp);
    assert_ok(sn_box_qp_create(0, &qp, &error));
    assert_ok(sn_box_qp_set_matrix(qp, H, &error));
    assert_ok(sn_box_qp_solve(qp, g, NULL, NULL, NULL, x, NULL, &error));
    sn_box_qp_destroy(qp);
}

static void nonnegative_least_squares_is_optimal(void **state) {
    (void)state;
    sinew_error error;
    enum { M = 30, N = 12 };
    double *A = test_random_vector(M * N, 1), *b = test_random_vector(M, 2), x[N];
    assert_ok(sn_nonnegative_least_squares(M, N, A, b, x, NULL, &error));
    int at_zero = 0;
    for (int j = 0; j < N; j++) {
        double gradient = 0;
        for (int i = 0; i < M; i++) {
            double r = -b[i];
            for (int k = 0; k < N; k++) r += A[i + M * k] * x[k];
            gradient += A[i + M * j] * r;
        }
        assert_true(x[j] >= 0);
        at_zero += x[j] == 0;
        if (x[j] > 0)
            assert_close(gradient, 0, 1e-7);
        else
            assert_true(gradient > -1e-7);
    }
    assert_in_range(at_zero, 1, N - 1);
    free(A), free(b);
}

int test_box_qp(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_problems_match_the_enumeration_of_active_sets),
        cmocka_unit_test(optimality_holds_on_large_and_singular_problems),
        cmocka_unit_test(warm_start_needs_no_factorization),
        cmocka_unit_test(bounds_may_be_missing_equal_or_wrong),
        cmocka_unit_test(nonnegative_least_squares_is_optimal),
    };
    return cmocka_run_group_tests_name("box_qp", tests, NULL, NULL);
}
