#include "matrices.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "algebra/cholesky.h"
#include "base/threads.h"
#include "groups.h"

/* Solves for `count` right-hand sides in both precisions and checks the residuals. */
static void check_solves(const sn_sparse *matrix, sn_cholesky *factor, int count, double f64,
                         double f32) {
    sinew_error error;
    size_t size = (size_t)matrix->rows * (size_t)count;
    double *b = test_random_vector(size, 31), *x = malloc((size + 1) * sizeof *x);
    float *single = malloc((size + 1) * sizeof *single);
    sn_cholesky_work *work;
    assert_ok(sn_cholesky_work_create(factor, count, &work, &error));
    sn_cholesky_solve(factor, work, count, b, x);
    assert_below(test_residual(matrix, count, x, b), f64);
    assert_ok(sn_cholesky_prepare_f32(factor, &error));
    for (size_t i = 0; i < size; i++) single[i] = (float)b[i];
    sn_cholesky_solve_f32(factor, work, count, single, single);
    double worst = 0, largest = 0;
    for (size_t i = 0; i < size; i++) {
        worst = fmax(worst, fabs((double)single[i] - x[i]));
        largest = fmax(largest, fabs(x[i]));
    }
    assert_below(worst, f32 * largest);
    memcpy(x, b, size * sizeof *x);
    sn_cholesky_solve(factor, work, count, x, x);
    assert_below(test_residual(matrix, count, x, b), f64);
    sn_cholesky_work_destroy(work);
    free(b), free(x), free(single);
}

static void residuals_are_small_on_grids(void **state) {
    (void)state;
    sinew_error error;
    const int shapes[][4] = {{1, 1, 1, 1},  {2, 1, 1, 1},    {40, 30, 1, 1},
                             {9, 10, 8, 3}, {13, 12, 11, 1}, {5, 4, 3, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        sn_sparse *matrix =
            test_grid_matrix(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], 0.5);
        sn_cholesky *factor;
        assert_ok(sn_cholesky_create(matrix, &factor, &error));
        check_solves(matrix, factor, 1, 1e-12, 1e-5);
        check_solves(matrix, factor, 3, 1e-12, 1e-5);
        check_solves(matrix, factor, 7, 1e-12, 1e-5);
        sn_cholesky_destroy(factor);
        sn_sparse_destroy(matrix);
    }
}

static void residuals_are_small_on_random_patterns(void **state) {
    (void)state;
    sinew_error error;
    for (int size = 1; size < 400; size = size * 3 / 2 + 1)
        for (double density = 0; density < 9; density += 2.5) {
            sn_sparse *matrix = test_random_spd(size, density, (uint64_t)size);
            sn_cholesky *factor;
            assert_ok(sn_cholesky_create(matrix, &factor, &error));
            check_solves(matrix, factor, 1, 1e-11, 1e-3);
            check_solves(matrix, factor, 3, 1e-11, 1e-3);
            sn_cholesky_destroy(factor);
            sn_sparse_destroy(matrix);
        }
}

static void new_values_reuse_the_analysis(void **state) {
    (void)state;
    sinew_error error;
    sn_sparse *matrix = test_grid_matrix(12, 11, 10, 1, 0.2);
    sn_cholesky *factor;
    assert_ok(sn_cholesky_analyze(matrix, &factor, &error));
    for (int pass = 0; pass < 3; pass++) {
        for (int j = 0; j < matrix->columns; j++) matrix->value[matrix->start[j]] += 0.1 * (j % 7);
        assert_ok(sn_cholesky_factor(factor, matrix, &error));
        check_solves(matrix, factor, 3, 1e-12, 1e-5);
    }
    sn_cholesky_destroy(factor);
    sn_sparse_destroy(matrix);
}

static void empty_matrix_factors_and_solves(void **state) {
    (void)state;
    sinew_error error;
    sn_sparse *matrix;
    assert_ok(sn_sparse_create(0, 0, 0, true, &matrix, &error));
    sn_cholesky *factor;
    assert_ok(sn_cholesky_create(matrix, &factor, &error));
    check_solves(matrix, factor, 3, 0, 0);
    assert_int_equal(sn_cholesky_size(factor), 0);
    sn_cholesky_destroy(factor);
    sn_sparse_destroy(matrix);
}

/* One diagonal entry is made negative at a time. */
static void matrix_that_is_not_positive_definite_is_named_by_column(void **state) {
    (void)state;
    sinew_error error;
    for (int bad = 0; bad < 600; bad += 57) {
        sn_sparse *matrix = test_grid_matrix(20, 30, 1, 1, 0.5);
        sn_cholesky *factor;
        matrix->value[matrix->start[bad]] = -1;
        assert_int_equal(sn_cholesky_create(matrix, &factor, &error), SINEW_BAD_INPUT);
        assert_null(factor);
        int column = -1;
        assert_int_equal(sscanf(strstr(error.message, "column"), "column %d", &column), 1);
        assert_in_range(column, 0, 599);
        sn_sparse_destroy(matrix);
    }
}

static void failed_factor_can_be_factored_again(void **state) {
    (void)state;
    sinew_error error;
    sn_sparse *matrix = test_grid_matrix(10, 10, 9, 1, 0.5);
    sn_cholesky *factor;
    assert_ok(sn_cholesky_analyze(matrix, &factor, &error));
    double kept = matrix->value[matrix->start[100]];
    matrix->value[matrix->start[100]] = -5;
    assert_int_equal(sn_cholesky_factor(factor, matrix, &error), SINEW_BAD_INPUT);
    matrix->value[matrix->start[100]] = NAN;
    assert_int_equal(sn_cholesky_factor(factor, matrix, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "(100, 100) is not finite"));
    matrix->value[matrix->start[100]] = kept;
    assert_ok(sn_cholesky_factor(factor, matrix, &error));
    check_solves(matrix, factor, 3, 1e-12, 1e-5);
    sn_cholesky_destroy(factor);
    sn_sparse_destroy(matrix);
}

static void solves_have_the_same_bits_for_any_threads(void **state) {
    (void)state;
    sinew_error error;
    const int shapes[][4] = {{120, 100, 1, 1}, {16, 15, 14, 1}, {12, 11, 10, 3}};
    for (int s = 0; s < 3; s++) {
        sn_sparse *matrix =
            test_grid_matrix(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], 0.5);
        size_t size = 3 * (size_t)matrix->rows;
        double *b = test_random_vector(size, 3), *x[4];
        float *f[4];
        for (int t = 0; t < 4; t++) {
            sinew_set_threads(t + 1);
            sn_cholesky *factor;
            sn_cholesky_work *work;
            assert_ok(sn_cholesky_create(matrix, &factor, &error));
            assert_ok(sn_cholesky_prepare_f32(factor, &error));
            assert_ok(sn_cholesky_work_create(factor, 3, &work, &error));
            x[t] = malloc(size * sizeof *x[t]), f[t] = malloc(size * sizeof *f[t]);
            sn_cholesky_solve(factor, work, 3, b, x[t]);
            for (size_t i = 0; i < size; i++) f[t][i] = (float)b[i];
            sn_cholesky_solve_f32(factor, work, 3, f[t], f[t]);
            assert_memory_equal(x[0], x[t], size * sizeof *x[0]);
            assert_memory_equal(f[0], f[t], size * sizeof *f[0]);
            sn_cholesky_work_destroy(work);
            sn_cholesky_destroy(factor);
        }
        sinew_set_threads(0);
        for (int t = 0; t < 4; t++) free(x[t]), free(f[t]);
        free(b);
        sn_sparse_destroy(matrix);
    }
}

/* Of preconditioners: close to the factor it was made of, symmetric to rounding, and the same bits
 * for any threads. */
static void solves_of_sixteen_bits_a_value_are_close_and_symmetric(void **state) {
    (void)state;
    sinew_error error;
    sn_sparse *matrix = test_grid_matrix(120, 100, 1, 1, 0.5);
    size_t size = 3 * (size_t)matrix->rows;
    double *b = test_random_vector(size, 3), *c = test_random_vector(size, 5);
    double *x = malloc(size * sizeof *x);
    float *from[2] = {malloc(size * sizeof(float)), malloc(size * sizeof(float))};
    float *to[2] = {malloc(size * sizeof(float)), malloc(size * sizeof(float))};
    float *first = malloc(size * sizeof *first);
    for (size_t i = 0; i < size; i++) from[0][i] = (float)b[i], from[1][i] = (float)c[i];
    for (int t = 1; t <= 3; t++) {
        sinew_set_threads(t);
        sn_cholesky *factor;
        sn_cholesky_work *work;
        assert_ok(sn_cholesky_create(matrix, &factor, &error));
        assert_ok(sn_cholesky_prepare_bf16(factor, &error));
        assert_ok(sn_cholesky_work_create(factor, 3, &work, &error));
        sn_cholesky_solve(factor, work, 3, b, x);
        for (int k = 0; k < 2; k++) sn_cholesky_solve_bf16(factor, work, from[k], to[k]);
        if (t == 1) memcpy(first, to[0], size * sizeof *first);
        assert_memory_equal(first, to[0], size * sizeof *first);
        double error_squared = 0, squared = 0, forth = 0, back = 0, own = 0;
        for (size_t i = 0; i < size; i++) {
            error_squared += pow((double)to[0][i] - x[i], 2), squared += x[i] * x[i];
            forth += (double)from[1][i] * (double)to[0][i];
            back += (double)from[0][i] * (double)to[1][i];
            own += (double)from[0][i] * (double)to[0][i];
        }
        assert_below(sqrt(error_squared / squared), 0.01);
        assert_below(fabs(forth - back), 1e-5 * own);
        sn_cholesky_solve_bf16(factor, work, from[0], from[0]); /* in place */
        assert_memory_equal(first, from[0], size * sizeof *first);
        for (size_t i = 0; i < size; i++) from[0][i] = (float)b[i];
        sn_cholesky_work_destroy(work);
        sn_cholesky_destroy(factor);
    }
    sinew_set_threads(0);
    for (int k = 0; k < 2; k++) free(from[k]), free(to[k]);
    free(first), free(x), free(b), free(c);
    sn_sparse_destroy(matrix);
}

static atomic_int received;
static atomic_bool sending;

static void on_termination(int signal_number) {
    (void)signal_number;
    atomic_fetch_add(&received, 1);
}

static void *send_terminations(void *unused) {
    (void)unused;
    struct timespec pause = {0, 100000};
    while (atomic_load(&sending)) kill(getpid(), SIGTERM), nanosleep(&pause, NULL);
    return NULL;
}

/* METIS installs a handler of its own, which crashes when another thread gets the signal. */
static void termination_reaches_the_host_while_a_matrix_is_ordered(void **state) {
    (void)state;
    sinew_error error;
    struct sigaction mine = {.sa_handler = on_termination}, before, after;
    sigaction(SIGTERM, &mine, &before);
    sn_sparse *matrix = test_grid_matrix(20, 20, 10, 1, 0.5);
    pthread_t sender;
    sigset_t all, mask;
    atomic_store(&sending, true);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &mask);
    assert_int_equal(pthread_create(&sender, NULL, send_terminations, NULL), 0);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    for (int i = 0; i < 10 || atomic_load(&received) < 10; i++) { /* the sender may come late */
        sn_cholesky *factor;
        assert_ok(sn_cholesky_create(matrix, &factor, &error));
        sn_cholesky_destroy(factor);
    }
    atomic_store(&sending, false);
    pthread_join(sender, NULL);
    sigaction(SIGTERM, &before, &after);
    assert_true(after.sa_handler == on_termination);
    sn_sparse_destroy(matrix);
}

int test_cholesky(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_are_small_on_grids),
        cmocka_unit_test(residuals_are_small_on_random_patterns),
        cmocka_unit_test(new_values_reuse_the_analysis),
        cmocka_unit_test(empty_matrix_factors_and_solves),
        cmocka_unit_test(matrix_that_is_not_positive_definite_is_named_by_column),
        cmocka_unit_test(failed_factor_can_be_factored_again),
        cmocka_unit_test(solves_have_the_same_bits_for_any_threads),
        cmocka_unit_test(solves_of_sixteen_bits_a_value_are_close_and_symmetric),
        cmocka_unit_test(termination_reaches_the_host_while_a_matrix_is_ordered),
    };
    return cmocka_run_group_tests_name("cholesky", tests, NULL, NULL);
}
