/* Every allocation of each set-up fails once: the call reports it and leaves nothing behind. */
#include "matrices.h"

#include <limits.h>

#include "algebra/box_qp.h"
#include "algebra/cholesky.h"
#include "algebra/dense.h"
#include "algebra/eigen.h"
#include "algebra/low_rank.h"
#include "algebra/ordering.h"
#include "algebra/pcg.h"
#include "base/monitor.h"
#include "groups.h"
#include "sinew/memory.h"

static sn_sparse *grid, *columns; /* made with the usual allocator */

static sinew_status sparse_job(void *user) {
    (void)user;
    sinew_error error;
    sn_triplets t;
    sn_sparse *matrix = NULL, *transposed = NULL, *gram = NULL, *sum = NULL;
    sinew_status status = sn_triplets_create(5, 4, 1, &t, &error);
    for (int e = 0; status == SINEW_OK && e < 20; e++)
        if (!sn_triplets_add(&t, e % 5, e % 4, e)) status = SINEW_NO_MEMORY;
    if (status == SINEW_OK) status = sn_sparse_from_triplets(&t, false, &matrix, &error);
    if (status == SINEW_OK) status = sn_sparse_transpose(matrix, &transposed, &error);
    if (status == SINEW_OK) status = sn_sparse_gram(matrix, NULL, &gram, &error);
    if (status == SINEW_OK) status = sn_sparse_combine(1, matrix, 2, matrix, &sum, &error);
    sn_triplets_free(&t);
    sn_sparse_destroy(matrix), sn_sparse_destroy(transposed);
    sn_sparse_destroy(gram), sn_sparse_destroy(sum);
    return status;
}

static sinew_status cholesky_job(void *user) {
    (void)user;
    sinew_error error;
    sn_cholesky *factor = NULL;
    sn_cholesky_work *work = NULL;
    sn_low_rank *update = NULL;
    sinew_status status = sn_cholesky_create(grid, &factor, &error);
    if (status == SINEW_OK) status = sn_cholesky_prepare_f32(factor, &error);
    if (status == SINEW_OK) status = sn_cholesky_prepare_bf16(factor, &error);
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, 3, &work, &error);
    if (status == SINEW_OK) status = sn_low_rank_create(factor, 4, 1, &update, &error);
    if (status == SINEW_OK) status = sn_low_rank_set_columns(update, columns, &error);
    sn_low_rank_destroy(update);
    sn_cholesky_work_destroy(work);
    sn_cholesky_destroy(factor);
    return status;
}

static sinew_status eigen_job(void *user) {
    (void)user;
    sinew_error error;
    static double mass[400], values[6], vectors[400 * 6];
    for (int i = 0; i < 400; i++) mass[i] = 1;
    sn_eigen_options options = {.count = 6};
    return sn_eigen_smallest(grid, mass, NULL, &options, values, vectors, NULL, NULL, &error);
}

static sinew_status dense_job(void *user) {
    (void)user;
    sinew_error error;
    sn_pcg_work *pcg = NULL;
    sn_pcg_work_f32 *single = NULL;
    double A[16] = {4, 1, 0, 0, 1, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4}, b[4] = {1, 2, 3, 4}, x[4];
    double U[16], Vt[16], copy[16];
    sinew_status status = sn_nonnegative_least_squares(4, 4, A, b, x, NULL, &error);
    memcpy(copy, A, sizeof A);
    if (status == SINEW_OK) status = sn_dense_solve(4, copy, 1, b, &error);
    memcpy(copy, A, sizeof A);
    if (status == SINEW_OK) status = sn_dense_least_squares(4, 4, copy, 1, b, -1, NULL, &error);
    memcpy(copy, A, sizeof A);
    if (status == SINEW_OK) status = sn_dense_eigen(4, copy, x, &error);
    memcpy(copy, A, sizeof A);
    if (status == SINEW_OK) status = sn_dense_svd(4, 4, copy, x, U, Vt, &error);
    if (status == SINEW_OK) status = sn_pcg_work_create(4, &pcg, &error);
    if (status == SINEW_OK) status = sn_pcg_work_create_f32(4, &single, &error);
    sn_pcg_work_destroy(pcg);
    sn_pcg_work_destroy_f32(single);
    return status;
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    sinew_error error;
    sn_triplets t;
    grid = test_grid_matrix(20, 20, 1, 1, 0.1);
    assert_ok(sn_triplets_create(400, 2, 2, &t, &error));
    assert_true(sn_triplets_add(&t, 3, 0, 1) && sn_triplets_add(&t, 7, 1, 1));
    assert_ok(sn_sparse_from_triplets(&t, false, &columns, &error));
    sn_triplets_free(&t);
    test_out_of_memory(sparse_job, NULL);
    test_out_of_memory(cholesky_job, NULL);
    test_out_of_memory(eigen_job, NULL);
    test_out_of_memory(dense_job, NULL);
    sn_sparse_destroy(grid), sn_sparse_destroy(columns);
}

static bool second_time(void *user) {
    return ++*(int *)user > 1; /* not before the thread has started */
}

/* The thread that looks for an ordering goes on after its call was cancelled, and then cleans up.
 */
static void a_cancelled_ordering_gives_its_memory_back(void **state) {
    (void)state;
    sn_sparse *matrix = test_grid_matrix(28, 28, 28, 1, 1.0);
    int *order = calloc(2 * (size_t)matrix->columns, sizeof *order);
    sinew_error error;
    int polls = 0;
    const sinew_monitor cancels = {.cancelled = second_time, .user = &polls};
    test_memory_limit(LONG_MAX);
    const sinew_monitor *before = sn_monitor_enter(&cancels);
    sinew_status status =
        sn_ordering_find(matrix, SN_ORDERING_DISSECTION, order, order + matrix->columns, &error);
    sn_monitor_leave(before);
    assert_int_equal(test_memory_restore().living, 0);
    assert_true(status == SINEW_CANCELLED || status == SINEW_OK); /* as fast as the thread was */
    free(order);
    sn_sparse_destroy(matrix);
}

int test_no_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_ordering_gives_its_memory_back),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("no memory", tests, NULL, NULL);
}
