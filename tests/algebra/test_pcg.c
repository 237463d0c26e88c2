#include "matrices.h"

#include "algebra/pcg.h"
#include "groups.h"

typedef struct problem {
    const sn_sparse *matrix;
    double *diagonal;
    int products;
    double bend; /* makes the preconditioner differ from call to call */
} problem;

static void apply(const double *x, double *y, void *user) {
    problem *p = user;
    sn_sparse_multiply(p->matrix, 1, x, y);
    p->products++;
}

static void jacobi(const double *x, double *y, void *user) {
    problem *p = user;
    for (int i = 0; i < p->matrix->rows; i++)
        y[i] = x[i] / p->diagonal[i] * (1 + p->bend * ((i + p->products) % 3));
}

static void apply_f32(const float *x, float *y, void *user) {
    problem *p = user;
    const sn_sparse *m = p->matrix;
    memset(y, 0, (size_t)m->rows * sizeof *y);
    for (int j = 0; j < m->columns; j++)
        for (int e = m->start[j]; e < m->start[j + 1]; e++) {
            y[m->row[e]] += (float)m->value[e] * x[j];
            if (m->row[e] != j) y[j] += (float)m->value[e] * x[m->row[e]];
        }
}

static void jacobi_f32(const float *x, float *y, void *user) {
    problem *p = user;
    for (int i = 0; i < p->matrix->rows; i++) y[i] = x[i] / (float)p->diagonal[i];
}

static problem make(const sn_sparse *matrix) {
    problem p = {matrix, malloc((size_t)matrix->rows * sizeof(double)), 0, 0};
    for (int j = 0; j < matrix->columns; j++) p.diagonal[j] = matrix->value[matrix->start[j]];
    return p;
}

static void solution_meets_the_tolerance(void **state) {
    (void)state;
    sinew_error error;
    sn_sparse *matrix = test_grid_matrix(12, 11, 10, 1, 0.1);
    size_t n = (size_t)matrix->rows;
    problem p = make(matrix);
    double *b = test_random_vector(n, 1), *x = malloc(n * sizeof *x);
    sn_pcg_work *work;
    assert_ok(sn_pcg_work_create(n, &work, &error));
    for (int flexible = 0; flexible < 2; flexible++) {
        p.bend = flexible ? 0.3 : 0;
        sn_pcg_options options = {.tolerance = 1e-10, .max_iterations = 500, .flexible = flexible};
        sn_pcg_info info;
        assert_int_equal(sn_pcg_solve(work, &options, apply, jacobi, &p, b, x, &info), SINEW_OK);
        assert_below(test_residual(matrix, 1, x, b), 1e-8);
        assert_below(info.residual, 1e-10);
        /* from the answer there is nothing left to do */
        options.start_from_x = true;
        options.tolerance = 1e-9;
        assert_int_equal(sn_pcg_solve(work, &options, apply, jacobi, &p, b, x, &info), SINEW_OK);
        assert_int_equal(info.iterations, 0);
    }
    sn_pcg_work_destroy(work);
    free(p.diagonal), free(b), free(x);
    sn_sparse_destroy(matrix);
}

static void single_precision_meets_a_loose_tolerance(void **state) {
    (void)state;
    sinew_error error;
    sn_sparse *matrix = test_grid_matrix(12, 11, 10, 1, 0.1);
    size_t n = (size_t)matrix->rows;
    problem p = make(matrix);
    double *b = test_random_vector(n, 1), *x = malloc(n * sizeof *x);
    float *bf = malloc(n * sizeof *bf), *xf = malloc(n * sizeof *xf);
    for (size_t i = 0; i < n; i++) bf[i] = (float)b[i];
    sn_pcg_work_f32 *work;
    assert_ok(sn_pcg_work_create_f32(n, &work, &error));
    sn_pcg_options options = {.tolerance = 1e-4, .max_iterations = 500};
    sn_pcg_info info;
    assert_int_equal(sn_pcg_solve_f32(work, &options, apply_f32, jacobi_f32, &p, bf, xf, &info),
                     SINEW_OK);
    for (size_t i = 0; i < n; i++) x[i] = (double)xf[i];
    assert_below(test_residual(matrix, 1, x, b), 1e-3);
    sn_pcg_work_destroy_f32(work);
    free(p.diagonal), free(b), free(x), free(bf), free(xf);
    sn_sparse_destroy(matrix);
}

/* In exact arithmetic CG ends after as many steps as there are distinct eigenvalues. */
static void steps_are_bounded_by_distinct_eigenvalues(void **state) {
    (void)state;
    sinew_error error;
    enum { N = 60 };
    sn_triplets t;
    sn_sparse *matrix;
    assert_ok(sn_triplets_create(N, N, N, &t, &error));
    for (int i = 0; i < N; i++) assert_true(sn_triplets_add(&t, i, i, 1 + i % 4));
    assert_ok(sn_sparse_from_triplets(&t, true, &matrix, &error));
    problem p = make(matrix);
    double *b = test_random_vector(N, 1), x[N];
    sn_pcg_work *work;
    assert_ok(sn_pcg_work_create(N, &work, &error));
    sn_pcg_options options = {.tolerance = 1e-12, .max_iterations = 50};
    sn_pcg_info info;
    assert_int_equal(sn_pcg_solve(work, &options, apply, NULL, &p, b, x, &info), SINEW_OK);
    assert_int_equal(info.iterations, 4);
    options.max_iterations = 2;
    assert_int_equal(sn_pcg_solve(work, &options, apply, NULL, &p, b, x, &info),
                     SINEW_NOT_CONVERGED);
    assert_int_equal(info.iterations, 2);
    sn_pcg_work_destroy(work);
    sn_triplets_free(&t);
    free(p.diagonal), free(b);
    sn_sparse_destroy(matrix);
}

static void negative_curvature_gives_a_descent_direction(void **state) {
    (void)state;
    sinew_error error;
    for (int bad = 0; bad < 900; bad += 113) {
        sn_sparse *matrix = test_grid_matrix(10, 10, 9, 1, 0.1);
        size_t n = (size_t)matrix->rows;
        problem p = make(matrix);
        matrix->value[matrix->start[bad]] = -30;
        double *b = test_random_vector(n, 1), *x = malloc(n * sizeof *x),
               *y = malloc(n * sizeof *y);
        sn_pcg_work *work;
        assert_ok(sn_pcg_work_create(n, &work, &error));
        sn_pcg_options options = {.tolerance = 1e-10, .max_iterations = 500};
        sn_pcg_info info;
        assert_int_equal(sn_pcg_solve(work, &options, apply, jacobi, &p, b, x, &info),
                         SINEW_NOT_CONVERGED);
        assert_true(info.negative_curvature);
        double slope = 0;
        for (size_t i = 0; i < n; i++) slope += b[i] * x[i];
        assert_true(slope > 0);
        sn_pcg_work_destroy(work);
        free(p.diagonal), free(b), free(x), free(y);
        sn_sparse_destroy(matrix);
    }
}

static void hopeless_right_sides_end_at_once(void **state) {
    (void)state;
    sinew_error error;
    sn_sparse *matrix = test_grid_matrix(3, 3, 3, 1, 0.1);
    problem p = make(matrix);
    double b[27] = {0}, x[27];
    sn_pcg_work *work;
    assert_ok(sn_pcg_work_create(27, &work, &error));
    sn_pcg_options options = {.tolerance = 1e-10, .max_iterations = 50};
    assert_int_equal(sn_pcg_solve(work, &options, apply, jacobi, &p, b, x, NULL), SINEW_OK);
    for (int i = 0; i < 27; i++) assert_close(x[i], 0, 0);
    b[3] = NAN;
    assert_int_equal(sn_pcg_solve(work, &options, apply, jacobi, &p, b, x, NULL),
                     SINEW_NOT_CONVERGED);
    for (int i = 0; i < 27; i++) assert_true(isfinite(x[i]));
    sn_pcg_work_destroy(work);
    free(p.diagonal);
    sn_sparse_destroy(matrix);
}

int test_pcg(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solution_meets_the_tolerance),
        cmocka_unit_test(single_precision_meets_a_loose_tolerance),
        cmocka_unit_test(steps_are_bounded_by_distinct_eigenvalues),
        cmocka_unit_test(negative_curvature_gives_a_descent_direction),
        cmocka_unit_test(hopeless_right_sides_end_at_once),
    };
    return cmocka_run_group_tests_name("pcg", tests, NULL, NULL);
}
