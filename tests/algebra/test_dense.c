#include "matrices.h"

#include <string.h>

#include "algebra/dense.h"
#include "algebra/solver_libraries.h"
#include "algebra/vector.h"
#include "base/threads.h"
#include "groups.h"

/* Entry of op(A), A stored rows x columns. */
static double entry(sn_transpose op, const double *A, int rows, int i, int j) {
    return op == SN_AS_IS ? A[i + rows * j] : A[j + rows * i];
}

static void products_agree_with_loops(void **state) {
    (void)state;
    enum { M = 13, N = 9, K = 21 };
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            double *A = test_random_vector(M * K, 1), *B = test_random_vector(K * N, 2);
            double *C = test_random_vector(M * N, 3), *old = test_random_vector(M * N, 3);
            float A32[M * K], B32[K * N], C32[M * N];
            for (int i = 0; i < M * K; i++) A32[i] = (float)A[i];
            for (int i = 0; i < K * N; i++) B32[i] = (float)B[i];
            for (int i = 0; i < M * N; i++) C32[i] = (float)C[i];
            sn_dense_multiply((sn_transpose)a, (sn_transpose)b, M, N, K, 2, A, B, -1, C);
            sn_dense_multiply_f32((sn_transpose)a, (sn_transpose)b, M, N, K, 2, A32, B32, -1, C32);
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++) {
                    double sum = 0;
                    for (int k = 0; k < K; k++)
                        sum += entry((sn_transpose)a, A, a ? K : M, i, k) *
                               entry((sn_transpose)b, B, b ? N : K, k, j);
                    assert_close(C[i + M * j], 2 * sum - old[i + M * j], 1e-13);
                    assert_close(C32[i + M * j], 2 * sum - old[i + M * j], 1e-5);
                }
            free(A), free(B), free(C), free(old);
        }
}

static void apply_and_gram_agree_with_loops(void **state) {
    (void)state;
    enum { M = 37, N = 19 };
    double *A = test_random_vector(M * N, 1), *x = test_random_vector(M, 2), y[M], G[N * N];
    sn_dense_apply(SN_AS_IS, M, N, 1, A, x, 0, y);
    for (int i = 0; i < M; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) sum += A[i + M * j] * x[j];
        assert_close(y[i], sum, 1e-14);
    }
    sn_dense_apply(SN_TRANSPOSED, M, N, 1, A, x, 0, y);
    for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int i = 0; i < M; i++) sum += A[i + M * j] * x[i];
        assert_close(y[j], sum, 1e-14);
    }
    for (int i = 0; i < N * N; i++) G[i] = 1;
    sn_dense_gram(M, N, 3, A, 0.5, G);
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) {
            double sum = 0;
            for (int i = 0; i < M; i++) sum += A[i + M * j] * A[i + M * k];
            assert_close(G[j + N * k], 3 * sum + 0.5, 1e-13);
        }
    free(A), free(x);
}

static void products_have_the_same_bits_for_any_threads(void **state) {
    (void)state;
    enum { M = 700, N = 500 };
    double *A = test_random_vector(M * N, 1), *x = test_random_vector(M, 2);
    double *C[3], *G[3], y[3][2 * M];
    for (int t = 0; t < 3; t++) {
        C[t] = calloc(M * M, sizeof(double)), G[t] = calloc(N * N, sizeof(double));
        sinew_set_threads(t + 1);
        sn_dense_multiply(SN_AS_IS, SN_TRANSPOSED, M, M, N, 1, A, A, 0, C[t]);
        sn_dense_gram(M, N, 1, A, 0, G[t]);
        sn_dense_apply(SN_AS_IS, M, N, 1, A, x, 0, y[t]);
        sn_dense_apply(SN_TRANSPOSED, M, N, 1, A, x, 0, y[t] + M);
        assert_memory_equal(C[0], C[t], M * M * sizeof(double));
        assert_memory_equal(G[0], G[t], N * N * sizeof(double));
        assert_memory_equal(y[0], y[t], (M + N) * sizeof(double));
    }
    sinew_set_threads(0);
    for (int t = 0; t < 3; t++) free(C[t]), free(G[t]);
    free(A), free(x);
}

static void solvers_leave_small_residuals(void **state) {
    (void)state;
    enum { N = 40, COUNT = 3 };
    sinew_error error;
    sn_sparse *sparse = test_random_spd(N, 8, 5);
    double *A = test_dense_copy(sparse), *L = test_dense_copy(sparse),
           *lu = test_dense_copy(sparse);
    double *b = test_random_vector(N * COUNT, 6), *x = test_random_vector(N * COUNT, 6);
    double *z = test_random_vector(N * COUNT, 6), *one = test_random_vector(N, 6);
    assert_ok(sn_dense_cholesky(N, L, &error));
    sn_dense_cholesky_solve(N, L, COUNT, x);
    sn_dense_cholesky_solve(N, L, 1, one);
    assert_ok(sn_dense_solve(N, lu, COUNT, z, &error));
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < N; i++) {
            double r = b[i + N * k], s = r, u = b[i];
            for (int j = 0; j < N; j++) {
                r -= A[i + N * j] * x[j + N * k], s -= A[i + N * j] * z[j + N * k];
                u -= A[i + N * j] * one[j];
            }
            assert_close(r, 0, 1e-12);
            assert_close(s, 0, 1e-12);
            assert_close(u, 0, 1e-12);
        }
    float single[N * N], right[N];
    for (int i = 0; i < N * N; i++) single[i] = (float)A[i];
    for (int i = 0; i < N; i++) right[i] = (float)b[i];
    assert_ok(sn_dense_cholesky_f32(N, single, &error));
    sn_dense_cholesky_solve_f32(N, single, 1, right);
    for (int i = 0; i < N; i++) assert_close(right[i], one[i], 1e-3 * sn_vector_max(N, one));
    /* L (L^T x) = b by halves */
    double halves[N];
    memcpy(halves, b, sizeof halves);
    sn_dense_triangle_solve(SN_AS_IS, N, L, 1, halves);
    sn_dense_triangle_solve(SN_TRANSPOSED, N, L, 1, halves);
    for (int i = 0; i < N; i++) assert_close(halves[i], one[i], 1e-10);
    free(A), free(L), free(lu), free(b), free(x), free(z), free(one);
    sn_sparse_destroy(sparse);
}

/* Eliminating some columns and factoring what is left gives the factor of the whole. */
static void what_elimination_leaves_holds_the_rest_of_the_factor(void **state) {
    (void)state;
    sinew_error error;
    for (int n = 30; n <= 480; n += 450)
        for (int c = 0; c <= n; c += n / 3) {
            size_t size = (size_t)n, rest = (size_t)(n - c), columns = (size_t)c;
            double *whole = test_random_vector(size * size, 7);
            for (size_t i = 0; i < size; i++) whole[i * (size + 1)] = 2.0 * n;
            double *part = malloc(size * size * sizeof *part), *left;
            memcpy(part, whole, size * size * sizeof *part);
            left = malloc((rest * rest + 1) * sizeof *left);
            assert_int_equal(sn_dense_eliminate(n, c, part), -1);
            for (size_t j = 0; j < rest; j++)
                for (size_t i = j; i < rest; i++)
                    left[i + rest * j] = part[columns + i + size * (columns + j)];
            assert_ok(sn_dense_cholesky(n - c, left, &error));
            assert_ok(sn_dense_cholesky(n, whole, &error));
            for (size_t j = 0; j < size; j++)
                for (size_t i = j; i < size; i++)
                    assert_close(j < columns ? part[i + size * j]
                                             : left[i - columns + rest * (j - columns)],
                                 whole[i + size * j], 1e-12);
            free(whole), free(part), free(left);
        }
    double bad[9] = {4, 0, 0, 0, 1, 0, 0, 0, -1};
    assert_int_equal(sn_dense_eliminate(3, 2, bad), -1);
    assert_int_equal(sn_dense_eliminate(3, 3, bad), 2);
}

static void bad_matrices_are_named_by_column(void **state) {
    (void)state;
    sinew_error error;
    double indefinite[] = {1, 0, 0, 0, 1, 0, 0, 0, -1}, singular[] = {1, 2, 2, 4}, b[3] = {1, 1, 1};
    double hole[] = {1, NAN, 0, 1}, values[2];
    assert_int_equal(sn_dense_cholesky(3, indefinite, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "column 2"));
    assert_int_equal(sn_dense_solve(2, singular, 1, b, &error), SINEW_BAD_INPUT);
    assert_int_equal(sn_dense_eigen(2, hole, values, &error), SINEW_BAD_INPUT);
    assert_int_equal(sn_dense_cholesky(2, hole, &error), SINEW_BAD_INPUT);
}

/* Normal equations hold, and the least-norm solution is orthogonal to the null space. */
static void least_squares_is_optimal_and_of_least_norm(void **state) {
    (void)state;
    enum { M = 12, N = 5 };
    sinew_error error;
    double *A = test_random_vector(M * N, 1), *b = test_random_vector(M, 2), x[M];
    for (int i = 0; i < M; i++) A[i + M * 4] = A[i] + 2 * A[i + M]; /* rank 4 */
    double copy[M * N];
    memcpy(copy, A, sizeof copy), memcpy(x, b, sizeof x);
    int rank;
    assert_ok(sn_dense_least_squares(M, N, copy, 1, x, 1e-10, &rank, &error));
    assert_int_equal(rank, 4);
    for (int j = 0; j < N; j++) {
        double gradient = 0;
        for (int i = 0; i < M; i++) {
            double r = -b[i];
            for (int k = 0; k < N; k++) r += A[i + M * k] * x[k];
            gradient += A[i + M * j] * r;
        }
        assert_close(gradient, 0, 1e-12);
    }
    assert_close(x[0] + 2 * x[1] - x[4], 0, 1e-12);
    free(A), free(b);
}

static void eigenvectors_diagonalise(void **state) {
    (void)state;
    enum { N = 25 };
    sinew_error error;
    sn_sparse *a = test_random_spd(N, 7, 3), *b = test_random_spd(N, 5, 4);
    double *A = test_dense_copy(a), *B = test_dense_copy(b), values[N];
    for (int general = 0; general < 2; general++) {
        double V[N * N], F[N * N];
        memcpy(V, A, sizeof V), memcpy(F, B, sizeof F);
        if (general)
            assert_ok(sn_dense_eigen_generalized(N, V, F, values, &error));
        else
            assert_ok(sn_dense_eigen(N, V, values, &error));
        for (int k = 0; k < N; k++) {
            assert_true(k == 0 || values[k] >= values[k - 1]);
            for (int i = 0; i < N; i++) {
                double left = 0, right = 0;
                for (int j = 0; j < N; j++) {
                    left += A[i + N * j] * V[j + N * k];
                    right += (general ? B[i + N * j] : (double)(i == j)) * V[j + N * k];
                }
                assert_close(left, values[k] * right, 1e-10);
            }
        }
    }
    free(A), free(B);
    sn_sparse_destroy(a), sn_sparse_destroy(b);
}

static void singular_values_rebuild_the_matrix(void **state) {
    (void)state;
    sinew_error error;
    const int shapes[][2] = {{9, 4}, {4, 9}};
    for (int s = 0; s < 2; s++) {
        int m = shapes[s][0], n = shapes[s][1];
        double *A = test_random_vector(36, 8), *copy = test_random_vector(36, 8);
        double values[4], U[36], Vt[36];
        assert_ok(sn_dense_svd(m, n, copy, values, U, Vt, &error));
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int k = 0; k < 4; k++) sum += U[i + m * k] * values[k] * Vt[k + 4 * j];
                assert_close(sum, A[i + m * j], 1e-13);
            }
        free(A), free(copy);
    }
}

static void blocked_sums_have_the_same_bits_for_any_threads(void **state) {
    (void)state;
    size_t sizes[] = {0, 1, 2047, 2048, 2049, 60000, 700001};
    double *a = test_random_vector(700001, 1), *b = test_random_vector(700001, 2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        long double sum = 0;
        for (size_t i = 0; i < sizes[s]; i++) sum += (long double)a[i] * b[i];
        double first = 0;
        for (int t = 1; t < 4; t++) {
            sinew_set_threads(t);
            double dot = sn_vector_dot(sizes[s], a, b);
            if (t == 1) first = dot;
            assert_memory_equal(&first, &dot, sizeof dot);
            assert_close(dot, (double)sum, 1e-10);
        }
    }
    sinew_set_threads(0);
    free(a), free(b);
}

/* Larger than a panel, so that tiles meet. */
static void large_factors_rebuild_the_matrix_with_the_same_bits_for_any_threads(void **state) {
    (void)state;
    sinew_error error;
    enum { N = 500, BROKEN = 301 };
    size_t all = (size_t)N * N;
    double *B = test_random_vector(all, 21), *A = calloc(all, sizeof *A);
    double *L = calloc(all, sizeof *L), *again = calloc(all, sizeof *again);
    sn_dense_gram(N, N, 1, B, 0, A);
    for (size_t i = 0; i < N; i++) A[i * (N + 1)] += 1;
    memcpy(L, A, all * sizeof *A);
    memcpy(again, A, all * sizeof *A);
    sinew_set_threads(1);
    assert_ok(sn_dense_cholesky(N, L, &error));
    sinew_set_threads(3);
    assert_ok(sn_dense_cholesky(N, again, &error));
    sinew_set_threads(0);
    assert_memory_equal(L, again, all * sizeof *L);
    for (size_t i = 0; i < N; i += 7)
        for (size_t j = 0; j <= i; j += 3) {
            double sum = 0;
            for (size_t k = 0; k <= j; k++) sum += L[i + N * k] * L[j + N * k];
            assert_close(sum, A[i + N * j], 1e-9);
        }
    A[BROKEN * (N + 1)] = -1;
    assert_int_equal(sn_dense_cholesky(N, A, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "301"));
    free(A), free(B), free(L), free(again);
}

/* LAPACK may run for ever on them, wherever they are. */
static void entries_that_are_not_finite_are_refused(void **state) {
    (void)state;
    enum { SIZE = 3, ROWS = 4, RIGHT = 2 };
    sinew_error error = {0};
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int call = 0; call < 7; call++)
        for (int at = -1; at < ROWS * SIZE; at++) {
            bool wide = call == 3 || call == 4; /* ROWS x SIZE */
            bool right = call == 5;             /* b of least squares, ROWS x RIGHT */
            int entries = wide ? ROWS * SIZE : right ? ROWS * RIGHT : SIZE * SIZE;
            if (at >= entries) continue;
            double A[ROWS * SIZE] = {0}, B[SIZE * SIZE] = {0}, b[ROWS * RIGHT] = {1, 2, 3, 4};
            double values[SIZE];
            for (int i = 0; i < SIZE; i++) {
                A[i + (wide || right ? ROWS : SIZE) * i] = 2 + i;
                B[i + SIZE * i] = 1;
            }
            double *place = right ? b : call == 6 ? B : A;
            if (at >= 0) place[at] = bad[at % 3];
            sinew_status status =
                call == 0   ? sn_dense_solve(SIZE, A, 1, b, &error)
                : call == 1 ? sn_dense_eigen(SIZE, A, values, &error)
                : call == 3 ? sn_dense_svd(ROWS, SIZE, A, values, NULL, NULL, &error)
                : call == 4 || call == 5
                    ? sn_dense_least_squares(ROWS, SIZE, A, RIGHT, b, 0, NULL, &error)
                    : sn_dense_eigen_generalized(SIZE, A, B, values, &error);
            if (status != (at < 0 ? SINEW_OK : SINEW_BAD_INPUT))
                fail_msg("call %d, entry %d: status %d", call, at, (int)status);
        }
}

static void without_the_libraries_calls_fail_in_good_order(void **state) {
    (void)state;
    sinew_error error = {0};
    double A[4] = {2, 0, 0, 2}, b[2] = {1, 1}, values[2], product[4];
    sn_solvers_hidden = true;
    assert_int_equal(sn_dense_cholesky(2, A, &error), SINEW_UNAVAILABLE);
    assert_int_equal(sn_dense_solve(2, A, 1, b, &error), SINEW_UNAVAILABLE);
    assert_int_equal(sn_dense_eigen(2, A, values, &error), SINEW_UNAVAILABLE);
    assert_int_equal(sn_dense_svd(2, 2, A, values, NULL, NULL, &error), SINEW_UNAVAILABLE);
    assert_int_equal(sn_dense_least_squares(2, 2, A, 1, b, 0, NULL, &error), SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "cannot be loaded"));
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, 2, 2, 2, 1, A, A, 0, product);
    for (int i = 0; i < 4; i++) assert_true(isnan(product[i]));
    sn_dense_apply(SN_AS_IS, 2, 2, 1, A, values, 0, b);
    assert_true(isnan(b[0]) && isnan(b[1]));
    sn_dense_cholesky_solve(2, A, 1, b);
    sn_dense_gram(2, 2, 1, A, 0, product);
    assert_true(isnan(product[3]));
    sn_solvers_hidden = false;
    assert_int_equal(sn_dense_cholesky(2, A, &error), SINEW_OK);
}

int test_dense(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_loops),
        cmocka_unit_test(apply_and_gram_agree_with_loops),
        cmocka_unit_test(products_have_the_same_bits_for_any_threads),
        cmocka_unit_test(solvers_leave_small_residuals),
        cmocka_unit_test(large_factors_rebuild_the_matrix_with_the_same_bits_for_any_threads),
        cmocka_unit_test(what_elimination_leaves_holds_the_rest_of_the_factor),
        cmocka_unit_test(bad_matrices_are_named_by_column),
        cmocka_unit_test(least_squares_is_optimal_and_of_least_norm),
        cmocka_unit_test(eigenvectors_diagonalise),
        cmocka_unit_test(singular_values_rebuild_the_matrix),
        cmocka_unit_test(entries_that_are_not_finite_are_refused),
        cmocka_unit_test(blocked_sums_have_the_same_bits_for_any_threads),
        cmocka_unit_test(without_the_libraries_calls_fail_in_good_order),
    };
    return cmocka_run_group_tests_name("dense", tests, NULL, NULL);
}
