/* Nested dissection against the sparse factorization. */
#include "gpu/dissection.h"

#include "support.h"

#include "algebra/cholesky.h"
#include "base/memory.h"
#include "groups.h"
#include "mesh/rotation_strain.h"
#include "rigs.h"

/* The graph Laplacian of a grid of nx x ny vertices, grounded a little everywhere; `torn` leaves
 * out the edges across the middle. */
static sn_sparse *grid_matrix(int nx, int ny, bool torn, double *positions) {
    sinew_error error = {0};
    sn_triplets list;
    int n = nx * ny;
    assert_ok(sn_triplets_create(n, n, 5 * (size_t)n, &list, &error));
    for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++) {
            int v = x + nx * y;
            positions[3 * v] = x, positions[3 * v + 1] = y, positions[3 * v + 2] = 0.1 * x * y;
            assert_true(sn_triplets_add(&list, v, v, 1e-2));
            for (int side = 0; side < 2; side++) {
                int u = side ? v + nx : v + 1;
                if (side ? y + 1 == ny : x + 1 == nx) continue;
                if (torn && side == 0 && x == nx / 2) continue;
                assert_true(sn_triplets_add(&list, v, v, 1));
                assert_true(sn_triplets_add(&list, u, u, 1));
                assert_true(sn_triplets_add(&list, u, v, -1));
            }
        }
    sn_sparse *matrix = NULL;
    assert_ok(sn_sparse_from_triplets(&list, true, &matrix, &error));
    sn_triplets_free(&list);
    return matrix;
}

/* The sweeps with the host's own structures: what the device library does, without it. */
static void solve(const sn_dissection *d, const sn_float4 *right, sn_float4 *answer) {
    sn_float4 *y = calloc((size_t)d->count, sizeof *y), *x = calloc((size_t)d->count, sizeof *x);
    sn_float4 *u = calloc((size_t)d->boundary_count + 1, sizeof *u);
    for (int k = 0; k < d->node_count; k++) {
        const sn_dissection_node *n = &d->nodes[k];
        for (int r = 0; r < n->own + n->boundary; r++) {
            sn_float4 sum = {0, 0, 0, 0};
            for (int j = 0; j < n->own; j++) {
                int at = n->first + j;
                sn_float4 b = right[d->order[at]];
                for (int c = d->own_start[at]; c < d->own_start[at + 1]; c++)
                    b.x += u[d->own_from[c]].x, b.y += u[d->own_from[c]].y,
                        b.z += u[d->own_from[c]].z;
                float m = d->values[n->up + (size_t)j * sn_dissection_stride(n->own + n->boundary) +
                                    (size_t)r];
                sum.x += m * b.x, sum.y += m * b.y, sum.z += m * b.z;
            }
            if (r < n->own) {
                y[n->first + r] = sum;
                continue;
            }
            int at = n->boundary_first + r - n->own;
            for (int c = d->boundary_start[at]; c < d->boundary_start[at + 1]; c++) {
                sn_float4 from = u[d->boundary_from[c]];
                sum.x -= from.x, sum.y -= from.y, sum.z -= from.z;
            }
            u[at] = sn_float4_make(-sum.x, -sum.y, -sum.z);
        }
    }
    for (int k = d->node_count - 1; k >= 0; k--) {
        const sn_dissection_node *n = &d->nodes[k];
        for (int r = 0; r < n->own; r++) {
            sn_float4 sum = y[n->first + r];
            for (int j = 0; j < n->boundary; j++) {
                float m = d->values[n->down + (size_t)j * sn_dissection_stride(n->own) + (size_t)r];
                sn_float4 b = x[d->boundary[n->boundary_first + j]];
                sum.x -= m * b.x, sum.y -= m * b.y, sum.z -= m * b.z;
            }
            x[n->first + r] = answer[d->order[n->first + r]] = sum;
        }
    }
    free(y), free(x), free(u);
}

/* Returns the number of levels. */
static int check_grid(int nx, int ny, int root, int together, bool torn) {
    sinew_error error = {0};
    int n = nx * ny;
    double *positions = malloc(sizeof(double) * 3 * (size_t)n);
    sn_sparse *matrix = grid_matrix(nx, ny, torn, positions);
    sn_dissection *d = NULL;
    assert_ok(sn_dissection_create(matrix, positions, 64, root, together, &d, &error));
    sn_cholesky *factor = NULL;
    sn_cholesky_work *work = NULL;
    assert_ok(sn_cholesky_create(matrix, &factor, &error));
    assert_ok(sn_cholesky_work_create(factor, 3, &work, &error));
    double *b = malloc(sizeof(double) * 3 * (size_t)n);
    sn_float4 *right = malloc(sizeof *right * (size_t)n),
              *answer = malloc(sizeof *right * (size_t)n);
    uint64_t seed = 7;
    for (int v = 0; v < n; v++) {
        for (int c = 0; c < 3; c++) b[3 * v + c] = test_random(&seed);
        right[v] = sn_float4_make((float)b[3 * v], (float)b[3 * v + 1], (float)b[3 * v + 2]);
    }
    solve(d, right, answer);
    sn_cholesky_solve(factor, work, 3, b, b);
    double largest = 0, worst = 0;
    for (int v = 0; v < n; v++) {
        const float a[3] = {answer[v].x, answer[v].y, answer[v].z};
        for (int c = 0; c < 3; c++) {
            largest = fmax(largest, fabs(b[3 * v + c]));
            worst = fmax(worst, fabs((double)a[c] - b[3 * v + c]));
        }
    }
    assert_below(worst / largest, 2e-5);
    int levels = d->levels;
    free(positions), free(b), free(right), free(answer);
    sn_cholesky_work_destroy(work), sn_cholesky_destroy(factor);
    sn_dissection_destroy(d), sn_sparse_destroy(matrix);
    return levels;
}

static void agrees_with_the_sparse_factorization(void **state) {
    (void)state;
    check_grid(40, 30, 0, 1, false);
    check_grid(40, 30, 100, 1, false); /* a root of several separators */
    check_grid(300, 2, 10, 1, false);
    check_grid(5, 3, 0, 1, false); /* a single leaf */
}

static void separate_parts_need_no_separator(void **state) {
    (void)state;
    check_grid(30, 30, 0, 1, true);
    check_grid(30, 30, 50, 1, true);
}

static void levels_are_joined(void **state) {
    (void)state;
    int levels = check_grid(120, 90, 0, 1, false);
    assert_in_range(levels, 7, 20);
    /* a root, the leaves, and what is between */
    assert_int_equal(check_grid(120, 90, 0, 2, false), 2 + (levels - 1) / 2);
    assert_int_equal(check_grid(120, 90, 0, 3, false), 2 + levels / 3);
    assert_int_equal(check_grid(120, 90, 0, 20, false), 3);
    check_grid(120, 90, 300, 3, true);
}

static void order_by_parts_keeps_neighbours_together(void **state) {
    (void)state;
    enum { N = 1000 };
    double positions[3 * N];
    int items[N], seen[N] = {0};
    uint64_t seed = 3;
    for (int k = 0; k < 3 * N; k++) positions[k] = test_random(&seed);
    for (int k = 0; k < N; k++) items[k] = k;
    sn_order_by_parts(N, positions, 1, items);
    for (int k = 0; k < N; k++) seen[items[k]]++;
    for (int k = 0; k < N; k++) assert_int_equal(seen[k], 1);
    /* an eighth of them fills about an eighth of the cube */
    double low[3] = {2, 2, 2}, high[3] = {-2, -2, -2};
    for (int k = 0; k < N / 8; k++)
        for (int c = 0; c < 3; c++) {
            low[c] = fmin(low[c], positions[3 * items[k] + c]);
            high[c] = fmax(high[c], positions[3 * items[k] + c]);
        }
    double volume = (high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]);
    assert_below(volume, 1.5);
}

static sinew_status dissect(void *user) {
    sn_dissection *d = NULL;
    double *positions = ((void **)user)[1];
    sinew_status status = sn_dissection_create(((void **)user)[0], positions, 16, 20, 2, &d, NULL);
    sn_dissection_destroy(d);
    return status;
}

static void running_out_of_memory_is_reported(void **state) {
    (void)state;
    double positions[3 * 12 * 12];
    sn_sparse *matrix = grid_matrix(12, 12, false, positions);
    void *given[2] = {matrix, positions};
    assert_true(test_out_of_memory(dissect, given) > 10);
    sn_sparse_destroy(matrix);
}

int test_dissection(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_sparse_factorization),
        cmocka_unit_test(separate_parts_need_no_separator),
        cmocka_unit_test(levels_are_joined),
        cmocka_unit_test(order_by_parts_keeps_neighbours_together),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests_name("gpu dissection", tests, NULL, NULL);
}
