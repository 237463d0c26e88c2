#include "matrices.h"

static void add(sn_triplets *t, int i, int j, double v) {
    assert_true(sn_triplets_add(t, i > j ? i : j, i > j ? j : i, v));
}

static sn_sparse *finish(sn_triplets *t) {
    sinew_error error;
    sn_sparse *matrix;
    assert_ok(sn_sparse_from_triplets(t, true, &matrix, &error));
    sn_triplets_free(t);
    return matrix;
}

sn_sparse *test_grid_matrix(int nx, int ny, int nz, int dof, double shift) {
    sinew_error error;
    sn_triplets t;
    int points = nx * ny * nz;
    uint64_t seed = 7;
    assert_ok(sn_triplets_create(points * dof, points * dof, 64, &t, &error));
    for (int z = 0; z < nz; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++) {
                int p = x + nx * (y + ny * z);
                for (int k = 0; k < dof; k++) add(&t, p * dof + k, p * dof + k, shift);
                for (int way = 1; way < 8; way++) {
                    int u = x + (way & 1), v = y + (way >> 1 & 1), w = z + (way >> 2);
                    if (u >= nx || v >= ny || w >= nz) continue;
                    int q = u + nx * (v + ny * w);
                    double direction[3] = {test_random(&seed), test_random(&seed), 1};
                    for (int a = 0; a < dof; a++)
                        for (int b = 0; b < dof; b++) {
                            double k = dof == 1 ? 1 + 0.5 * test_random(&seed)
                                                : direction[a] * direction[b] + 0.3 * (a == b);
                            if (a >= b) add(&t, p * dof + a, p * dof + b, k);
                            if (a >= b) add(&t, q * dof + a, q * dof + b, k);
                            add(&t, q * dof + a, p * dof + b, -k);
                        }
                }
            }
    return finish(&t);
}

sn_sparse *test_random_spd(int size, double per_row, uint64_t seed) {
    sinew_error error;
    sn_triplets t;
    assert_ok(sn_triplets_create(size, size, 64, &t, &error));
    for (int i = 0; i < size; i++) add(&t, i, i, 0.01 + fabs(test_random(&seed)));
    int pairs = (int)(size * per_row / 2);
    for (int e = 0; e < pairs; e++) {
        int i = (int)(fabs(test_random(&seed)) * size), j = (int)(fabs(test_random(&seed)) * size);
        if (i == j || i >= size || j >= size) continue;
        double v = test_random(&seed);
        add(&t, i, j, v);
        add(&t, i, i, fabs(v));
        add(&t, j, j, fabs(v));
    }
    return finish(&t);
}

double *test_dense_copy(const sn_sparse *matrix) {
    size_t columns = (size_t)matrix->columns;
    double *dense = calloc((size_t)matrix->rows * columns + 1, sizeof *dense);
    for (int j = 0; j < matrix->columns; j++)
        for (int i = matrix->start[j]; i < matrix->start[j + 1]; i++) {
            dense[(size_t)matrix->row[i] * columns + (size_t)j] = matrix->value[i];
            if (matrix->symmetric)
                dense[(size_t)j * columns + (size_t)matrix->row[i]] = matrix->value[i];
        }
    return dense;
}

double test_residual(const sn_sparse *matrix, int count, const double *x, const double *b) {
    double worst = 0, largest = 0;
    for (int k = 0; k < count; k++) {
        long double *r = calloc((size_t)matrix->rows + 1, sizeof *r);
        for (int i = 0; i < matrix->rows; i++) {
            r[i] = b[(size_t)i * (size_t)count + (size_t)k];
            largest = fmax(largest, fabs((double)r[i]));
        }
        for (int j = 0; j < matrix->columns; j++)
            for (int e = matrix->start[j]; e < matrix->start[j + 1]; e++) {
                int i = matrix->row[e];
                r[i] -= (long double)matrix->value[e] * x[j * count + k];
                if (matrix->symmetric && i != j)
                    r[j] -= (long double)matrix->value[e] * x[i * count + k];
            }
        for (int i = 0; i < matrix->rows; i++) {
            if (!(fabs((double)r[i]) <= worst)) worst = fabs((double)r[i]);
        }
        free(r);
    }
    return largest > 0 ? worst / largest : worst;
}

double *test_random_vector(size_t size, uint64_t seed) {
    double *vector = malloc((size + 1) * sizeof *vector);
    for (size_t i = 0; i < size; i++) vector[i] = test_random(&seed);
    return vector;
}
