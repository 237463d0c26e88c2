/* Benchmark cases of the algebra room: solves, factorizations, eigenpairs, box QP.
 *
 * Each line: case, time, the bound measured in the same run, their ratio. Bound of a solve: bytes
 * of the factor, read twice, over the read bandwidth of an array of that size; of a factorization,
 * and of dense work: flops over the rate of our own dense product. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>

#include "algebra/box_qp.h"
#include "algebra/cholesky.h"
#include "algebra/dense.h"
#include "algebra/eigen.h"
#include "base/threads.h"
#include "bench.h"

static bench *table;

static void report(const char *name, double time, double bound, const char *limit) {
    bench_report(table, name, time, bound, limit);
}

static void add_edge(sn_triplets *t, int p, int q, int dof, const double *block) {
    for (int a = 0; a < dof; a++)
        for (int b = 0; b < dof; b++) {
            double k = block[a * dof + b];
            if (a >= b) {
                sn_triplets_add(t, p * dof + a, p * dof + b, k);
                sn_triplets_add(t, q * dof + a, q * dof + b, k);
            }
            int row = q * dof + a, column = p * dof + b;
            sn_triplets_add(t, row > column ? row : column, row > column ? column : row, -k);
        }
}

static sn_sparse *finish(sn_triplets *t) {
    sn_sparse *matrix;
    for (int i = 0; i < t->rows; i++) sn_triplets_add(t, i, i, 1e-3);
    if (sn_sparse_from_triplets(t, true, &matrix, NULL) != SINEW_OK) exit(1);
    sn_triplets_free(t);
    return matrix;
}

/* Scalar Laplacian of a spring network on a tube: edges, diagonals and flap springs, about 7.5 per
 * vertex. */
static sn_sparse *network(int around, int along) {
    static const int reach[8][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1},
                                    {2, 0}, {0, 2}, {2, 1}, {1, 2}};
    const double one = 1;
    sn_triplets t;
    if (sn_triplets_create(around * along, around * along, 64, &t, NULL) != SINEW_OK) exit(1);
    for (int y = 0; y < along; y++)
        for (int x = 0; x < around; x++)
            for (int o = 0; o < 8; o++) {
                int v = y + reach[o][1], u = (x + reach[o][0]) % around;
                if (v >= 0 && v < along) add_edge(&t, x + around * y, u + around * v, 1, &one);
            }
    return finish(&t);
}

/* Stiffness of springs along edges and diagonals of a grid, three unknowns per point: the pattern
 * of six tetrahedra per cell. */
static sn_sparse *solid(int nx, int ny, int nz) {
    sn_triplets t;
    if (sn_triplets_create(3 * nx * ny * nz, 3 * nx * ny * nz, 64, &t, NULL) != SINEW_OK) exit(1);
    for (int z = 0; z < nz; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++)
                for (int way = 1; way < 8; way++) {
                    int u = x + (way & 1), v = y + (way >> 1 & 1), w = z + (way >> 2);
                    if (u >= nx || v >= ny || w >= nz) continue;
                    double d[3] = {way & 1, way >> 1 & 1, way >> 2}, block[9];
                    for (int i = 0; i < 9; i++) block[i] = d[i / 3] * d[i % 3] + 0.1 * (i % 4 == 0);
                    add_edge(&t, x + nx * (y + ny * z), u + nx * (v + ny * w), 3, block);
                }
    return finish(&t);
}

/* CHOLMOD's own three-sided solve of the same system; also returns the flops of the factor. */
static double library_solve(sn_sparse *m, double *b, double *flops) {
    cholmod_common common;
    cholmod_start(&common);
    common.nmethods = 1;
    common.method[0].ordering = CHOLMOD_METIS;
    size_t n = (size_t)m->rows;
    cholmod_sparse view = {.nrow = n,
                           .ncol = n,
                           .nzmax = (size_t)sn_sparse_nonzeros(m),
                           .p = m->start,
                           .i = m->row,
                           .x = m->value,
                           .stype = -1,
                           .itype = CHOLMOD_INT,
                           .xtype = CHOLMOD_REAL,
                           .sorted = 1,
                           .packed = 1};
    cholmod_dense right = {
        .nrow = n, .ncol = 3, .nzmax = 3 * n, .d = n, .x = b, .xtype = CHOLMOD_REAL};
    cholmod_factor *factor = cholmod_analyze(&view, &common);
    cholmod_factorize(&view, factor, &common);
    cholmod_dense *x = NULL, *y = NULL, *e = NULL;
    double best = INFINITY;
    for (int round = 0; round < 10; round++) {
        double begin = sn_now();
        cholmod_solve2(CHOLMOD_A, factor, &right, NULL, &x, NULL, &y, &e, &common);
        best = fmin(best, sn_now() - begin);
    }
    *flops = common.fl;
    cholmod_free_dense(&x, &common);
    cholmod_free_dense(&y, &common);
    cholmod_free_dense(&e, &common);
    cholmod_free_factor(&factor, &common);
    cholmod_finish(&common);
    return best;
}

static void run_system(sn_sparse *matrix) {
    sn_cholesky *factor;
    sn_cholesky_work *work;
    char line[96];
    double begin = sn_now();
    if (sn_cholesky_analyze(matrix, &factor, NULL) != SINEW_OK) exit(1);
    double analyzed = sn_now() - begin, factored = INFINITY, f32 = INFINITY, f64 = INFINITY;
    for (int round = 0; round < 3; round++) {
        begin = sn_now();
        if (sn_cholesky_factor(factor, matrix, NULL) != SINEW_OK) exit(1);
        factored = fmin(factored, sn_now() - begin);
    }
    if (sn_cholesky_prepare_f32(factor, NULL) != SINEW_OK ||
        sn_cholesky_work_create(factor, 3, &work, NULL) != SINEW_OK)
        exit(1);
    size_t size = 3 * (size_t)matrix->rows;
    double *b = malloc(size * 8), *x = malloc(size * 8), flops;
    float *single = malloc(size * 4), *answer = malloc(size * 4);
    for (size_t i = 0; i < size; i++) b[i] = sin((double)i), single[i] = (float)b[i];
    /* one after the other: each would push the other's factor out of the cache */
    for (int round = 0; round < 40; round++) {
        begin = sn_now();
        sn_cholesky_solve_f32(factor, work, 3, single, answer);
        f32 = fmin(f32, sn_now() - begin);
    }
    for (int round = 0; round < 40; round++) {
        begin = sn_now();
        sn_cholesky_solve(factor, work, 3, b, x);
        f64 = fmin(f64, sn_now() - begin);
    }
    size_t values = sn_cholesky_nonzeros(factor);
    double bytes = 8.0 * (double)values, library = library_solve(matrix, b, &flops);
    snprintf(line, sizeof line, "read %.1f MB twice", 4e-6 * (double)values);
    report("f32 solve, 3 sides", f32, bytes / bench_read_bandwidth(table, 0.5 * bytes), line);
    snprintf(line, sizeof line, "read %.1f MB twice", 8e-6 * (double)values);
    report("f64 solve, 3 sides", f64, 2 * bytes / bench_read_bandwidth(table, bytes), line);
    report("CHOLMOD's solve, 3 sides", library, 2 * bytes / bench_read_bandwidth(table, bytes),
           line);
    snprintf(line, sizeof line, "%.2f Gflop", 1e-9 * flops);
    report("factor", factored, flops / bench_flops_double(table), line);
    report("analysis", analyzed, 0, NULL);
    free(b), free(x), free(single), free(answer);
    sn_cholesky_work_destroy(work);
    sn_cholesky_destroy(factor);
    sn_sparse_destroy(matrix);
}

/* Bound: as many sweeps over the factor as blocks of four right-hand sides. */
static void run_eigen(sn_sparse *K, int count) {
    size_t n = (size_t)K->columns;
    double *mass = malloc(n * 8), *values = malloc((size_t)count * 8);
    double *vectors = malloc(n * (size_t)count * 8);
    for (size_t i = 0; i < n; i++) mass[i] = 1;
    sn_eigen_options options = {.count = count};
    sn_eigen_info info;
    double begin = sn_now();
    if (sn_eigen_smallest(K, mass, NULL, &options, values, vectors, NULL, &info, NULL) != SINEW_OK)
        exit(1);
    double time = sn_now() - begin;
    sn_cholesky *factor;
    if (sn_cholesky_analyze(K, &factor, NULL) != SINEW_OK) exit(1);
    double bytes = 8.0 * (double)sn_cholesky_nonzeros(factor);
    char line[96];
    snprintf(line, sizeof line, "%d solves by four", info.solves);
    report(NULL, time, info.solves / 4 * 2 * bytes / bench_read_bandwidth(table, bytes), line);
    sn_cholesky_destroy(factor);
    sn_sparse_destroy(K);
    free(mass), free(values), free(vectors);
}

/* 946 variables, the right-hand side moved a little between solves; bound: reading H once for each
 * product that a warm solve with one change cannot do without (four). */
static void run_box_qp(void) {
    enum { N = 946, ROWS = 1200 };
    double *A = malloc(sizeof(double) * N * ROWS), *H = malloc(sizeof(double) * N * N);
    double g[N], low[N], high[N], x[N], warm_time = 0;
    for (int i = 0; i < N * ROWS; i++) A[i] = sin(i * 12.9898 + (i % 97) * (i % 89));
    double begin = sn_now();
    sn_dense_gram(ROWS, N, 1, A, 0, H);
    report("gram of 1200 x 946", sn_now() - begin, (double)N * N * ROWS / bench_flops_double(table),
           "1.07 Gflop");
    for (int i = 0; i < N; i++) g[i] = 300 * sin(i * 7.1), low[i] = 0, high[i] = 1;
    sn_box_qp *qp;
    sn_box_qp_info info;
    sn_box_qp_options warm = {.warm = true};
    if (sn_box_qp_create(N, &qp, NULL) != SINEW_OK) exit(1);
    if (sn_box_qp_set_matrix(qp, H, NULL) != SINEW_OK) exit(1);
    begin = sn_now();
    if (sn_box_qp_solve(qp, g, low, high, NULL, x, &info, NULL) != SINEW_OK) exit(1);
    report("cold", sn_now() - begin, 0, NULL);
    enum { STEPS = 10 };
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < N; i++) g[i] += 0.5 * sin(i * 3.3 + step);
        begin = sn_now();
        if (sn_box_qp_solve(qp, g, low, high, &warm, x, &info, NULL) != SINEW_OK) exit(1);
        warm_time += (sn_now() - begin) / STEPS;
    }
    report("warm", warm_time, 4 * 8.0 * N * N / bench_read_bandwidth(table, 8.0 * N * N),
           "read H four times");
    sn_box_qp_destroy(qp);
    free(A), free(H);
}

static void network_2k(bench *b) {
    table = b;
    run_system(network(20, 110));
}
static void network_8k(bench *b) {
    table = b;
    run_system(network(40, 212));
}
static void network_18k(bench *b) {
    table = b;
    run_system(network(62, 300));
}
static void solid_15k(bench *b) {
    table = b;
    run_system(solid(16, 16, 20));
}
static void box_qp(bench *b) {
    table = b;
    run_box_qp();
}
static void modes_15k(bench *b) {
    table = b;
    run_eigen(solid(16, 16, 20), 100);
}
static void modes_59k(bench *b) {
    table = b;
    run_eigen(solid(24, 24, 34), 100);
}

const bench_case bench_algebra[] = {
    {"network-2k", "Laplacian of a spring network, 2.2k vertices", network_2k},
    {"network-8k", "Laplacian of a spring network, 8.5k vertices", network_8k},
    {"network-18k", "Laplacian of a spring network, 18.6k vertices", network_18k},
    {"solid-15k", "elasticity of 20k tetrahedra, 15k unknowns", solid_15k},
    {"box-qp-946", "box-constrained quadratic of 946 variables", box_qp},
    {"modes-15k", "100 smallest modes of 20k tetrahedra", modes_15k},
    {"modes-59k", "100 smallest modes of 100k tetrahedra", modes_59k},
    BENCH_END,
};
