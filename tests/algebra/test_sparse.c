#include "matrices.h"

#include "base/memory.h"
#include "base/threads.h"
#include "groups.h"

/* A general random matrix, with duplicates in its triplets, and its dense row-major sum. */
static sn_sparse *random_matrix(int rows, int columns, int entries, uint64_t seed, double *dense) {
    sinew_error error;
    sn_triplets t;
    sn_sparse *matrix;
    assert_ok(sn_triplets_create(rows, columns, 0, &t, &error));
    for (int e = 0; e < entries; e++) {
        int i = (int)(fabs(test_random(&seed)) * rows),
            j = (int)(fabs(test_random(&seed)) * columns);
        double v = test_random(&seed);
        assert_true(sn_triplets_add(&t, i, j, v));
        if (dense) dense[i * columns + j] += v;
    }
    assert_ok(sn_sparse_from_triplets(&t, false, &matrix, &error));
    sn_triplets_free(&t);
    return matrix;
}

static void triplets_at_the_same_place_add_up(void **state) {
    (void)state;
    double dense[20 * 30] = {0};
    sn_sparse *matrix = random_matrix(20, 30, 900, 1, dense);
    double *copy = test_dense_copy(matrix);
    for (int i = 0; i < 20 * 30; i++) assert_close(copy[i], dense[i], 1e-14);
    for (int j = 0; j < 30; j++)
        for (int i = matrix->start[j] + 1; i < matrix->start[j + 1]; i++)
            assert_true(matrix->row[i] > matrix->row[i - 1]);
    free(copy);
    sn_sparse_destroy(matrix);
}

static void triplets_outside_are_refused_by_place(void **state) {
    (void)state;
    sinew_error error;
    sn_triplets t;
    sn_sparse *matrix;
    assert_ok(sn_triplets_create(3, 3, 1, &t, &error));
    assert_true(sn_triplets_add(&t, 0, 0, 1));
    assert_true(sn_triplets_add(&t, 1, 3, 1));
    assert_int_equal(sn_sparse_from_triplets(&t, false, &matrix, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "(1, 3)"));
    assert_null(matrix);
    sn_triplets_free(&t);
}

static void products_agree_with_dense_ones(void **state) {
    (void)state;
    enum { ROWS = 17, COLUMNS = 11, VECTORS = 3 };
    double dense[ROWS * COLUMNS] = {0};
    sn_sparse *matrix = random_matrix(ROWS, COLUMNS, 60, 2, dense);
    double *x = test_random_vector(COLUMNS * VECTORS, 3),
           *z = test_random_vector(ROWS * VECTORS, 4);
    double y[ROWS * VECTORS], w[COLUMNS * VECTORS];
    sn_sparse_multiply(matrix, VECTORS, x, y);
    sn_sparse_multiply_transposed(matrix, VECTORS, z, w);
    for (int k = 0; k < VECTORS; k++) {
        for (int i = 0; i < ROWS; i++) {
            double sum = 0;
            for (int j = 0; j < COLUMNS; j++) sum += dense[i * COLUMNS + j] * x[j * VECTORS + k];
            assert_close(y[i * VECTORS + k], sum, 1e-13);
        }
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0;
            for (int i = 0; i < ROWS; i++) sum += dense[i * COLUMNS + j] * z[i * VECTORS + k];
            assert_close(w[j * VECTORS + k], sum, 1e-13);
        }
    }
    free(x), free(z);
    sn_sparse_destroy(matrix);
}

static void symmetric_product_uses_both_triangles(void **state) {
    (void)state;
    sn_sparse *matrix = test_random_spd(50, 6, 5);
    double *dense = test_dense_copy(matrix), *x = test_random_vector(50, 6), y[50];
    sn_sparse_multiply(matrix, 1, x, y);
    for (int i = 0; i < 50; i++) {
        double sum = 0;
        for (int j = 0; j < 50; j++) sum += dense[i * 50 + j] * x[j];
        assert_close(y[i], sum, 1e-13);
    }
    free(dense), free(x);
    sn_sparse_destroy(matrix);
}

static void products_have_the_same_bits_for_any_threads(void **state) {
    (void)state;
    sn_sparse *symmetric = test_grid_matrix(20, 20, 12, 1, 0.1);
    sn_sparse *general = random_matrix(3000, 2000, 70000, 9, NULL);
    double *x = test_random_vector(5000 * 3, 8);
    double *y[4];
    for (int t = 0; t < 4; t++) {
        y[t] = malloc(3 * (size_t)(4800 + 3000 + 2000) * sizeof(double));
        sinew_set_threads(t + 1);
        sn_sparse_multiply(symmetric, 3, x, y[t]);
        sn_sparse_multiply(general, 3, x, y[t] + 3 * 4800);
        sn_sparse_multiply_transposed(general, 3, x, y[t] + 3 * 7800);
        assert_memory_equal(y[0], y[t], 3 * (4800 + 3000 + 2000) * sizeof(double));
    }
    sinew_set_threads(0);
    for (int t = 0; t < 4; t++) free(y[t]);
    free(x);
    sn_sparse_destroy(symmetric);
    sn_sparse_destroy(general);
}

static void transpose_gram_and_sum_agree_with_dense_ones(void **state) {
    (void)state;
    enum { ROWS = 23, COLUMNS = 14 };
    sinew_error error;
    double A[ROWS * COLUMNS] = {0}, B[ROWS * COLUMNS] = {0};
    sn_sparse *a = random_matrix(ROWS, COLUMNS, 80, 11, A),
              *b = random_matrix(ROWS, COLUMNS, 70, 12, B);
    double *weights = test_random_vector(ROWS, 13);
    sn_sparse *transposed, *gram, *sum;
    assert_ok(sn_sparse_transpose(a, &transposed, &error));
    assert_ok(sn_sparse_gram(a, weights, &gram, &error));
    assert_ok(sn_sparse_combine(2, a, -3, b, &sum, &error));
    double *T = test_dense_copy(transposed), *G = test_dense_copy(gram), *S = test_dense_copy(sum);
    assert_true(gram->symmetric);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            assert_close(T[j * ROWS + i], A[i * COLUMNS + j], 0);
            assert_close(S[i * COLUMNS + j], 2 * A[i * COLUMNS + j] - 3 * B[i * COLUMNS + j],
                         1e-13);
        }
    for (int j = 0; j < COLUMNS; j++)
        for (int k = 0; k < COLUMNS; k++) {
            double g = 0;
            for (int i = 0; i < ROWS; i++)
                g += weights[i] * A[i * COLUMNS + j] * A[i * COLUMNS + k];
            assert_close(G[j * COLUMNS + k], g, 1e-13);
        }
    for (int j = 0; j < COLUMNS; j++)
        for (int i = gram->start[j]; i < gram->start[j + 1]; i++) {
            assert_true(gram->row[i] >= j);
            assert_true(i == gram->start[j] || gram->row[i] > gram->row[i - 1]);
        }
    free(T), free(G), free(S), free(weights);
    sn_sparse_destroy(a), sn_sparse_destroy(b);
    sn_sparse_destroy(transposed), sn_sparse_destroy(gram), sn_sparse_destroy(sum);
}

static void empty_matrices_are_fine(void **state) {
    (void)state;
    sinew_error error;
    sn_triplets t;
    sn_sparse *matrix, *gram;
    assert_ok(sn_triplets_create(0, 0, 0, &t, &error));
    assert_ok(sn_sparse_from_triplets(&t, false, &matrix, &error));
    assert_ok(sn_sparse_gram(matrix, NULL, &gram, &error));
    sn_sparse_multiply(matrix, 1, NULL, NULL);
    assert_int_equal(sn_sparse_nonzeros(gram), 0);
    sn_sparse_destroy(matrix), sn_sparse_destroy(gram);
    sn_triplets_free(&t);
}

static void impossible_sizes_are_misuse(void **state) {
    (void)state;
    sinew_error error;
    const struct {
        int rows, columns, nonzeros;
        bool symmetric;
        sinew_status status;
    } cases[] = {{-1, 2, 3, false, SINEW_MISUSE}, {2, -1, 3, false, SINEW_MISUSE},
                 {2, 2, -1, false, SINEW_MISUSE}, {2, 3, 1, true, SINEW_MISUSE},
                 {0, 0, 0, true, SINEW_OK},       {2, 3, 1, false, SINEW_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sn_sparse *made = (sn_sparse *)&error;
        assert_int_equal(sn_sparse_create(cases[i].rows, cases[i].columns, cases[i].nonzeros,
                                          cases[i].symmetric, &made, &error),
                         cases[i].status);
        assert_int_equal(made != NULL, cases[i].status == SINEW_OK);
        if (!made) continue;
        assert_int_equal(made->rows, cases[i].rows);
        assert_int_equal(made->columns, cases[i].columns);
        sn_sparse_destroy(made);
    }
}

int test_sparse(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_sizes_are_misuse),
        cmocka_unit_test(triplets_at_the_same_place_add_up),
        cmocka_unit_test(triplets_outside_are_refused_by_place),
        cmocka_unit_test(products_agree_with_dense_ones),
        cmocka_unit_test(symmetric_product_uses_both_triangles),
        cmocka_unit_test(products_have_the_same_bits_for_any_threads),
        cmocka_unit_test(transpose_gram_and_sum_agree_with_dense_ones),
        cmocka_unit_test(empty_matrices_are_fine),
    };
    return cmocka_run_group_tests_name("sparse", tests, NULL, NULL);
}
