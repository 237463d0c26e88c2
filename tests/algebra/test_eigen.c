#include "matrices.h"

#include "algebra/dense.h"
#include "algebra/eigen.h"
#include "base/threads.h"
#include "groups.h"

typedef struct pairs {
    double *values, *vectors, *residuals;
    sn_eigen_info info;
} pairs;

static pairs solve(const sn_sparse *K, const double *mass, const sn_sparse *M, int count) {
    sinew_error error;
    size_t n = (size_t)K->columns, k = (size_t)count;
    pairs p = {malloc(k * 8), malloc(n * k * 8), malloc(k * 8), {0}};
    sn_eigen_options options = {.count = count};
    assert_ok(
        sn_eigen_smallest(K, mass, M, &options, p.values, p.vectors, p.residuals, &p.info, &error));
    return p;
}

static void release(pairs *p) {
    free(p->values), free(p->vectors), free(p->residuals);
}

/* All eigenvalues by LAPACK's dense driver. */
static double *dense_values(const sn_sparse *K, const double *mass, const sn_sparse *M) {
    sinew_error error;
    int n = K->columns;
    double *A = test_dense_copy(K), *B = M ? test_dense_copy(M) : calloc((size_t)(n * n), 8);
    for (int i = 0; mass && i < n; i++) B[i * n + i] = mass[i];
    double *values = malloc((size_t)n * 8);
    assert_ok(sn_dense_eigen_generalized(n, A, B, values, &error));
    free(A), free(B);
    return values;
}

static void check_orthonormal(const pairs *p, int n, int count, const double *mass,
                              const sn_sparse *M) {
    double *My = malloc((size_t)n * 8);
    for (int a = 0; a < count; a++) {
        const double *y = p->vectors + (size_t)n * (size_t)a;
        if (M)
            sn_sparse_multiply(M, 1, y, My);
        else
            for (int i = 0; i < n; i++) My[i] = mass[i] * y[i];
        for (int b = 0; b < count; b++) {
            double sum = 0;
            for (int i = 0; i < n; i++)
                sum += My[i] * p->vectors[(size_t)n * (size_t)b + (size_t)i];
            assert_close(sum, a == b, 1e-8);
        }
    }
    free(My);
}

static double *positive_masses(int n) {
    double *mass = test_random_vector((size_t)n, 5);
    for (int i = 0; i < n; i++) mass[i] = 1.2 + mass[i];
    return mass;
}

static void eigenvalues_agree_with_the_dense_solver(void **state) {
    (void)state;
    const int shapes[][3] = {{4, 3, 2}, {8, 7, 6}, {9, 8, 3}};
    for (int s = 0; s < 3; s++)
        for (int consistent = 0; consistent < 2; consistent++) {
            sn_sparse *K = test_grid_matrix(shapes[s][0], shapes[s][1], shapes[s][2], 3, 0.0);
            int n = K->columns, count = n < 100 ? 20 : 40;
            sn_sparse *M = consistent ? test_grid_matrix(n, 1, 1, 1, 2.0) : NULL;
            double *mass = consistent ? NULL : positive_masses(n);
            pairs p = solve(K, mass, M, count);
            double *reference = dense_values(K, mass, M);
            for (int k = 0; k < count; k++) {
                assert_close(p.values[k], reference[k], 1e-9 * reference[n - 1]);
                if (reference[k] > 1e-6 * reference[n - 1])
                    assert_close(p.values[k], reference[k], 1e-7 * reference[k]);
                assert_below(p.residuals[k], 1e-4);
            }
            check_orthonormal(&p, n, count, mass, M);
            release(&p);
            free(reference), free(mass);
            sn_sparse_destroy(K), sn_sparse_destroy(M);
        }
}

/* Seven equal grids side by side: every eigenvalue, zero too, comes seven times. */
static void no_copy_of_a_multiple_eigenvalue_is_missed(void **state) {
    (void)state;
    sinew_error error;
    enum { COPIES = 7, COUNT = 42 };
    sn_sparse *one = test_grid_matrix(6, 5, 4, 1, 0.0);
    int n = one->columns;
    sn_triplets t;
    sn_sparse *K;
    assert_ok(sn_triplets_create(COPIES * n, COPIES * n, 64, &t, &error));
    for (int c = 0; c < COPIES; c++)
        for (int j = 0; j < n; j++)
            for (int e = one->start[j]; e < one->start[j + 1]; e++)
                assert_true(sn_triplets_add(&t, c * n + one->row[e], c * n + j, one->value[e]));
    assert_ok(sn_sparse_from_triplets(&t, true, &K, &error));
    double *mass = malloc((size_t)(COPIES * n) * 8);
    for (int i = 0; i < COPIES * n; i++) mass[i] = 1;
    double *reference = dense_values(one, mass, NULL);
    pairs p = solve(K, mass, NULL, COUNT);
    for (int k = 0; k < COUNT; k++)
        assert_close(p.values[k], reference[k / COPIES], 1e-7 * reference[n - 1]);
    release(&p);
    free(reference), free(mass);
    sn_triplets_free(&t);
    sn_sparse_destroy(one), sn_sparse_destroy(K);
}

/* Blocks of the search have a dependent column at once. */
static void few_distinct_eigenvalues_are_found_as_often_as_they_come(void **state) {
    (void)state;
    sinew_error error;
    enum { SIZE = 90, COUNT = 40 };
    sn_triplets t;
    sn_sparse *K;
    double mass[SIZE];
    assert_ok(sn_triplets_create(SIZE, SIZE, SIZE, &t, &error));
    for (int i = 0; i < SIZE; i++) {
        assert_true(sn_triplets_add(&t, i, i, 1 + i % 3));
        mass[i] = 1;
    }
    assert_ok(sn_sparse_from_triplets(&t, true, &K, &error));
    pairs p = solve(K, mass, NULL, COUNT);
    for (int k = 0; k < COUNT; k++) assert_close(p.values[k], k < 30 ? 1 : 2, 1e-9);
    check_orthonormal(&p, SIZE, COUNT, mass, NULL);
    release(&p);
    sn_triplets_free(&t);
    sn_sparse_destroy(K);
}

static void eigenpairs_have_the_same_bits_for_any_threads(void **state) {
    (void)state;
    sn_sparse *K = test_grid_matrix(12, 11, 10, 1, 0.0);
    double *mass = positive_masses(K->columns);
    sinew_set_threads(1);
    pairs a = solve(K, mass, NULL, 12);
    sinew_set_threads(2);
    pairs b = solve(K, mass, NULL, 12);
    sinew_set_threads(0);
    assert_memory_equal(a.values, b.values, 12 * 8);
    assert_memory_equal(a.vectors, b.vectors, 12 * 8 * (size_t)K->columns);
    release(&a), release(&b);
    free(mass);
    sn_sparse_destroy(K);
}

static bool stop(void *user) {
    return ++*(int *)user > 3;
}

/* One pair alone is the first of several, whichever solver finds it. */
static void a_single_pair_is_the_smallest(void **state) {
    (void)state;
    for (int large = 0; large < 2; large++) {
        sn_sparse *K =
            large ? test_grid_matrix(12, 11, 10, 1, 0.0) : test_grid_matrix(3, 2, 2, 1, 0.0);
        double *mass = positive_masses(K->columns);
        pairs one = solve(K, mass, NULL, 1), some = solve(K, mass, NULL, 3);
        assert_close(one.values[0], some.values[0], 1e-9 * fabs(some.values[2]));
        double product = 0;
        for (int i = 0; i < K->columns; i++) product += mass[i] * one.vectors[i] * some.vectors[i];
        if (some.values[1] - some.values[0] > 1e-6 * some.values[2])
            assert_close(fabs(product), 1, 1e-6);
        release(&one), release(&some);
        if (!large) { /* and as many as there are */
            pairs all = solve(K, mass, NULL, K->columns);
            for (int i = 1; i < K->columns; i++) assert_true(all.values[i] >= all.values[i - 1]);
            release(&all);
        }
        free(mass);
        sn_sparse_destroy(K);
    }
}

static void wrong_requests_and_cancelling_are_reported(void **state) {
    (void)state;
    sinew_error error;
    sn_sparse *K = test_grid_matrix(12, 11, 10, 1, 0.0);
    size_t n = (size_t)K->columns;
    double *mass = positive_masses(K->columns), values[20], *vectors = malloc(n * 20 * 8);
    sn_eigen_options options = {.count = 0};
    assert_int_equal(
        sn_eigen_smallest(K, mass, NULL, &options, values, vectors, NULL, NULL, &error),
        SINEW_BAD_INPUT);
    options.count = (int)n + 1;
    assert_int_equal(
        sn_eigen_smallest(K, mass, NULL, &options, values, vectors, NULL, NULL, &error),
        SINEW_BAD_INPUT);
    options.count = 20;
    int polled = 0;
    sinew_monitor monitor = {.cancelled = stop, .user = &polled};
    options.monitor = &monitor;
    assert_int_equal(
        sn_eigen_smallest(K, mass, NULL, &options, values, vectors, NULL, NULL, &error),
        SINEW_CANCELLED);
    mass[17] = 0;
    assert_int_equal(
        sn_eigen_smallest(K, mass, NULL, &options, values, vectors, NULL, NULL, &error),
        SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "mass 17"));
    mass[17] = 1;
    K->value[K->start[5]] = -100;
    options.monitor = NULL;
    assert_int_equal(
        sn_eigen_smallest(K, mass, NULL, &options, values, vectors, NULL, NULL, &error),
        SINEW_BAD_INPUT);
    free(mass), free(vectors);
    sn_sparse_destroy(K);
}

int test_eigen(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigenvalues_agree_with_the_dense_solver),
        cmocka_unit_test(no_copy_of_a_multiple_eigenvalue_is_missed),
        cmocka_unit_test(few_distinct_eigenvalues_are_found_as_often_as_they_come),
        cmocka_unit_test(eigenpairs_have_the_same_bits_for_any_threads),
        cmocka_unit_test(a_single_pair_is_the_smallest),
        cmocka_unit_test(wrong_requests_and_cancelling_are_reported),
    };
    return cmocka_run_group_tests_name("eigen", tests, NULL, NULL);
}
