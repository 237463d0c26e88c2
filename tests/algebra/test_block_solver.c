#include "matrices.h"

#include <string.h>

#include "algebra/block_solver.h"
#include "algebra/dense.h"
#include "groups.h"

enum { N = 120 };

static double *random_gram(int rows, double ridge) {
    double *A = test_random_vector((size_t)rows * N, 3), *H = calloc(N * N, sizeof *H);
    sn_dense_gram(rows, N, 1, A, 0, H);
    for (int i = 0; i < N; i++) H[i * (N + 1)] += ridge;
    free(A);
    return H;
}

/* max |H_FF x - b| by a plain loop. */
static double residual(const double *H, int count, const int *list, const double *x,
                       const double *b) {
    double worst = 0;
    for (int i = 0; i < count; i++) {
        double sum = -b[i];
        for (int j = 0; j < count; j++) sum += H[list[i] + N * list[j]] * x[j];
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

static int listed(const bool *in, int *list) {
    int count = 0;
    for (int i = 0; i < N; i++)
        if (in[i]) list[count++] = i;
    return count;
}

static void blocks_that_drift_are_solved_through_one_factor(void **state) {
    (void)state;
    sinew_error error;
    double *H = random_gram(N + 20, 0.1), *right = test_random_vector(N, 5), x[N];
    bool in[N];
    int list[N];
    sn_block_solver *solver;
    assert_ok(sn_block_solver_create(N, &solver, &error));
    sn_block_solver_set_matrix(solver, H);
    for (int i = 0; i < N; i++) in[i] = i % 3 != 0;
    unsigned seed = 7;
    for (int step = 0; step < 60; step++) {
        int count = listed(in, list);
        memcpy(x, right, sizeof x);
        assert_true(sn_block_solve(solver, count, list, x));
        assert_below(residual(H, count, list, x, right), 1e-9);
        for (int k = 0; k < 1 + step % 3; k++) { /* some come, some go, some come back */
            seed = seed * 1664525u + 1013904223u;
            int i = (int)(seed >> 8) % N;
            in[i] = !in[i];
        }
    }
    /* about 120 changes, at most 48 of them carried along */
    assert_in_range(sn_block_solver_factorizations(solver), 1, 4);
    sn_block_solver_destroy(solver);
    free(H), free(right);
}

/* Changes that are taken back leave nothing behind: others follow through the same factor. */
static void changes_that_are_taken_back_are_forgotten(void **state) {
    (void)state;
    sinew_error error;
    double *H = random_gram(N + 20, 0.1), *right = test_random_vector(N, 9), x[N];
    bool in[N];
    int list[N];
    sn_block_solver *solver;
    assert_ok(sn_block_solver_create(N, &solver, &error));
    sn_block_solver_set_matrix(solver, H);
    for (int step = 0; step < 12; step++) {
        for (int i = 0; i < N; i++) in[i] = i % 3 != 0;
        for (int k = 0; k < 3 && step > 0; k++) { /* others in every step, gone and come */
            int i = 7 * step + 2 * k;
            in[i] = !in[i];
        }
        int count = listed(in, list);
        memcpy(x, right, sizeof x);
        assert_true(sn_block_solve(solver, count, list, x));
        assert_below(residual(H, count, list, x, right), 1e-9);
    }
    assert_int_equal(sn_block_solver_factorizations(solver), 1);
    sn_block_solver_destroy(solver);
    free(H), free(right);
}

static void one_variable_everything_and_nothing_are_blocks(void **state) {
    (void)state;
    sinew_error error;
    double *H = random_gram(N + 20, 0.1), *right = test_random_vector(N, 5), x[N];
    int list[N], one = 17, first[40];
    sn_block_solver *solver;
    assert_ok(sn_block_solver_create(N, &solver, &error));
    sn_block_solver_set_matrix(solver, H);
    for (int i = 0; i < N; i++) list[i] = i;
    for (int i = 0; i < 40; i++) first[i] = i;
    assert_true(sn_block_solve(solver, 0, list, x));
    x[0] = 2;
    assert_true(sn_block_solve(solver, 1, &one, x)); /* from the empty block */
    assert_close(x[0], 2 / H[17 * (N + 1)], 1e-14);
    memcpy(x, right, sizeof x);
    assert_true(sn_block_solve(solver, N, list, x));
    assert_below(residual(H, N, list, x, right), 1e-9);
    memcpy(x, right, sizeof x);
    assert_true(sn_block_solve(solver, 40, first, x));
    assert_below(residual(H, 40, first, x, right), 1e-9);
    assert_true(sn_block_solve(solver, 0, list, x)); /* all forty went */
    sn_block_solver_destroy(solver);
    free(H), free(right);
}

static void singular_blocks_are_told(void **state) {
    (void)state;
    sinew_error error;
    double *H = random_gram(N / 2, 0), x[N];
    int list[N], half[N / 3];
    for (int i = 0; i < N; i++) list[i] = i, x[i] = 1;
    for (int i = 0; i < N / 3; i++) half[i] = i;
    for (int i = 0; i < N; i++) H[i + N * 5] = H[5 + N * i] = i == 5 ? -1 : 0; /* not convex */
    sn_block_solver *solver;
    assert_ok(sn_block_solver_create(N, &solver, &error));
    sn_block_solver_set_matrix(solver, H);
    assert_false(sn_block_solve(solver, N, list, x));
    assert_true(sn_block_solve(solver, 5, half, x));
    assert_false(sn_block_solve(solver, 6, half, x)); /* the one that comes spoils it */
    assert_true(sn_block_solve(solver, 5, half, x));
    sn_block_solver_destroy(solver);
    free(H);
}

int test_block_solver(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_drift_are_solved_through_one_factor),
        cmocka_unit_test(changes_that_are_taken_back_are_forgotten),
        cmocka_unit_test(one_variable_everything_and_nothing_are_blocks),
        cmocka_unit_test(singular_blocks_are_told),
    };
    return cmocka_run_group_tests_name("block_solver", tests, NULL, NULL);
}
