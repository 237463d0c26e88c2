#include "matrices.h"

#include "algebra/low_rank.h"
#include "groups.h"

/* x solves the sum when A x + U w U^T x gives b back. */
static void updated_systems_are_solved_exactly(void **state) {
    (void)state;
    sinew_error error;
    enum { RANK = 9, COUNT = 3 };
    sn_sparse *A = test_grid_matrix(9, 8, 7, 1, 0.3), *U;
    int n = A->columns;
    sn_triplets t;
    uint64_t seed = 3;
    assert_ok(sn_triplets_create(n, RANK, 64, &t, &error));
    for (int j = 0; j < RANK; j++)
        for (int e = 0; e < 3; e++)
            assert_true(sn_triplets_add(&t, (j * 53 + e * 17) % n, j, test_random(&seed)));
    assert_ok(sn_sparse_from_triplets(&t, false, &U, &error));
    sn_cholesky *factor;
    sn_low_rank *update;
    assert_ok(sn_cholesky_create(A, &factor, &error));
    assert_ok(sn_low_rank_create(factor, RANK, COUNT, &update, &error));
    assert_ok(sn_low_rank_set_columns(update, U, &error));
    size_t size = (size_t)(n * COUNT);
    double *b = test_random_vector(size, 4), *x = malloc(size * 8), *y = malloc(size * 8);
    const double weights[3][RANK] = {
        {1, 5, 0, 1e4, 2, 0, 0, 1, 100}, {0}, {1, -0.01, 0, 3, 0, 0, 0, -0.02, 0}};
    for (int w = 0; w < 3; w++) {
        assert_ok(sn_low_rank_set_weights(update, weights[w], &error));
        memcpy(x, b, size * 8);
        sn_low_rank_solve(update, COUNT, x, x);
        double small[RANK * COUNT];
        sn_sparse_multiply_transposed(U, COUNT, x, small);
        for (int j = 0; j < RANK; j++)
            for (int k = 0; k < COUNT; k++) small[j * COUNT + k] *= weights[w][j];
        sn_sparse_multiply(U, COUNT, small, y);
        for (size_t i = 0; i < size; i++) y[i] = b[i] - y[i];
        assert_below(test_residual(A, COUNT, x, y), 1e-9);
    }
    free(b), free(x), free(y);
    sn_low_rank_destroy(update);
    sn_cholesky_destroy(factor);
    sn_triplets_free(&t);
    sn_sparse_destroy(A), sn_sparse_destroy(U);
}

static void columns_that_do_not_fit_are_misuse(void **state) {
    (void)state;
    sinew_error error;
    sn_sparse *A = test_grid_matrix(3, 3, 1, 1, 0.3), *U;
    sn_cholesky *factor;
    sn_low_rank *update;
    assert_ok(sn_cholesky_create(A, &factor, &error));
    assert_ok(sn_low_rank_create(factor, 4, 1, &update, &error));
    const struct {
        int rows, columns;
        bool symmetric, good;
    } cases[] = {{9, 4, false, true},
                 {9, 3, false, true},
                 {9, 5, false, false},
                 {8, 4, false, false},
                 {9, 9, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sn_triplets t;
        assert_ok(sn_triplets_create(cases[i].rows, cases[i].columns, 4, &t, &error));
        assert_true(sn_triplets_add(&t, 0, 0, 1));
        assert_ok(sn_sparse_from_triplets(&t, cases[i].symmetric, &U, &error));
        assert_int_equal(sn_low_rank_set_columns(update, U, &error),
                         cases[i].good ? SINEW_OK : SINEW_MISUSE);
        sn_sparse_destroy(U);
        sn_triplets_free(&t);
    }
    sn_low_rank_destroy(update);
    sn_cholesky_destroy(factor);
    sn_sparse_destroy(A);
}

int test_low_rank(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updated_systems_are_solved_exactly),
        cmocka_unit_test(columns_that_do_not_fit_are_misuse),
    };
    return cmocka_run_group_tests_name("low_rank", tests, NULL, NULL);
}
