#include "algebra/eigen.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "algebra/cholesky.h"
#include "algebra/dense.h"
#include "algebra/vector.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/scope.h"

enum {
    BLOCK = 8,
    DENSE_SIZE = 240, /* below this size LAPACK's dense driver is faster */
    LARGEST_DENSE_SIZE =
        2000, /* up to this size the dense driver is also used if most eigenpairs are wanted */
    SECOND_LOOK_BLOCKS = 4,
};
/* Each block adds about this many digits to the last wanted pair, rarely more. The next convergence
 * check, whose dense eigenproblem costs half a block, is scheduled accordingly. */
static const double DIGITS_PER_BLOCK = 0.75;
/* shift = DEFAULT_SHIFT trace K / trace M: a trace is dominated by the largest eigenvalues, and the
 * smallest elastic ones of finite element meshes are smaller by a factor of 1e-5 to 1e-7. */
static const double DEFAULT_SHIFT = 1e-7;
/* A vector that keeps less than this fraction of its length in orthogonalization was already in the
 * space. */
static const double DEPENDENT = 1e-10;

typedef struct lanczos {
    const sn_sparse *K, *mass_matrix;
    const double *mass;
    int size, wanted, most; /* most: maximum columns of the basis, without the next block */
    double shift;
    sn_cholesky *factor;
    sn_cholesky_work *work;
    double *basis;       /* size x (most + BLOCK), M-orthonormal */
    double *projected;   /* H = V^T M A^-1 M V, most x most, stored with `most` rows */
    double *image;       /* A^-1 M of the current block, size x BLOCK, then the next block */
    double *weighted;    /* M times a block */
    double *interleaved; /* the right-hand sides in the solver's layout */
    double *coefficients, *correction;  /* (most + BLOCK) x BLOCK */
    double *ritz_values, *ritz_vectors; /* most, most x most */
    double *spare;                      /* the basis after a restart is built here */
    double *found;                      /* Ritz values at the first convergence */
    double remainder[BLOCK * BLOCK];    /* R: image = next block x R */
    uint64_t random;
    int solves;
} lanczos;

typedef struct columns_loop {
    size_t n, count;
    const double *mass, *from;
    double *to;
} columns_loop;

static void weigh_rows(void *context, sn_span span) {
    const columns_loop *l = context;
    for (size_t c = 0; c < l->count; c++)
        SN_IN_SPAN(size_t, i, span) l->to[l->n * c + i] = l->mass[i] * l->from[l->n * c + i];
}

static void interleave_rows(void *context, sn_span span) {
    const columns_loop *l = context;
    SN_IN_SPAN(size_t, i, span)
        for (size_t c = 0; c < l->count; c++) l->to[i * l->count + c] = l->from[c * l->n + i];
}

static void separate_rows(void *context, sn_span span) {
    const columns_loop *l = context;
    SN_IN_SPAN(size_t, i, span)
        for (size_t c = 0; c < l->count; c++) l->to[c * l->n + i] = l->from[i * l->count + c];
}

static void multiply_mass(const lanczos *l, int count, const double *x, double *y) {
    size_t n = (size_t)l->size;
    if (l->mass_matrix) {
        for (size_t c = 0; c < (size_t)count; c++)
            sn_sparse_multiply(l->mass_matrix, 1, x + n * c, y + n * c);
        return;
    }
    sn_parallel_for(n, SN_SUM_BLOCK, weigh_rows, &(columns_loop){n, (size_t)count, l->mass, x, y});
}

/* `count` columns to interleaved vectors and back. */
static void interleave(size_t n, size_t count, const double *columns, double *mixed) {
    sn_parallel_for(n, 512, interleave_rows, &(columns_loop){n, count, NULL, columns, mixed});
}

static void separate(size_t n, size_t count, const double *mixed, double *columns) {
    sn_parallel_for(n, 512, separate_rows, &(columns_loop){n, count, NULL, mixed, columns});
}

/* image = (K + shift M)^-1 M (block of the basis that starts at column `from`) */
static void apply_inverse(lanczos *l, int from) {
    size_t n = (size_t)l->size;
    multiply_mass(l, BLOCK, l->basis + n * (size_t)from, l->weighted);
    interleave(n, BLOCK, l->weighted, l->interleaved);
    sn_cholesky_solve(l->factor, l->work, BLOCK, l->interleaved, l->interleaved);
    separate(n, BLOCK, l->interleaved, l->image);
    l->solves += BLOCK;
}

/* Removes from x (count columns) its components along `columns` columns of the basis, starting at
 * column `from`. coefficients (columns x count) receives those components. */
static void project_out(lanczos *l, int from, int columns, int count, double *x,
                        double *coefficients) {
    const double *basis = l->basis + (size_t)l->size * (size_t)from;
    multiply_mass(l, count, x, l->weighted);
    sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, columns, count, l->size, 1, basis, l->weighted, 0,
                      coefficients);
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, l->size, count, columns, -1, basis, coefficients, 1, x);
}

static double mass_norm(lanczos *l, const double *x) {
    multiply_mass(l, 1, x, l->weighted);
    return sqrt(fmax(sn_vector_dot((size_t)l->size, x, l->weighted), 0));
}

static void fill_random(lanczos *l, double *x) {
    for (int i = 0; i < l->size; i++) {
        l->random = l->random * 6364136223846793005ull + 1442695040888963407ull;
        x[i] = (double)(int32_t)(l->random >> 32) * 0x1p-31;
    }
}

/* The same for a single column x and the `columns` columns at `basis`. */
static void project_out_column(lanczos *l, const double *basis, int columns, double *x,
                               double *coefficients) {
    multiply_mass(l, 1, x, l->weighted);
    sn_dense_apply(SN_TRANSPOSED, l->size, columns, 1, basis, l->weighted, 0, coefficients);
    sn_dense_apply(SN_AS_IS, l->size, columns, -1, basis, coefficients, 1, x);
}

/* A random column, M-orthonormal to the first `columns` of the basis; stored in column
 * `columns`. */
static void random_column(lanczos *l, int columns) {
    size_t n = (size_t)l->size;
    double *x = l->basis + n * (size_t)columns;
    for (int attempt = 0; attempt < 5; attempt++) {
        fill_random(l, x);
        sn_vector_scale(n, 1 / mass_norm(l, x), x);
        for (int pass = 0; pass < 3 && columns > 0; pass++)
            project_out_column(l, l->basis, columns, x, l->correction);
        double norm = mass_norm(l, x);
        if (norm > DEPENDENT) {
            sn_vector_scale(n, 1 / norm, x);
            return;
        }
    }
}

/* The image, orthogonal to the first `columns` of the basis, becomes the M-orthonormal block at
 * column `columns` times the remainder R. Gram-Schmidt, applied twice; a column that keeps almost
 * nothing of `before`, its original length, is replaced by a random one. */
static void next_block(lanczos *l, int columns, const double *before) {
    size_t n = (size_t)l->size;
    double *block = l->basis + n * (size_t)columns, part[BLOCK];
    memset(l->remainder, 0, sizeof l->remainder);
    for (int c = 0; c < BLOCK; c++) {
        double *x = block + n * (size_t)c, *R = l->remainder + BLOCK * c;
        memcpy(x, l->image + n * (size_t)c, n * sizeof *x);
        for (int pass = 0; pass < 2 && c > 0; pass++) {
            project_out_column(l, block, c, x, part);
            for (int b = 0; b < c; b++) R[b] += part[b];
        }
        double norm = mass_norm(l, x);
        if (norm > DEPENDENT * before[c]) {
            R[c] = norm;
            sn_vector_scale(n, 1 / norm, x);
        } else {
            random_column(l, columns + c);
        }
    }
}

static void image_lengths(lanczos *l, double *lengths) {
    for (int c = 0; c < BLOCK; c++)
        lengths[c] = mass_norm(l, l->image + (size_t)l->size * (size_t)c);
}

/* Appends a random block after the first `columns` columns of the basis. */
static void random_block(lanczos *l, int columns) {
    double before[BLOCK];
    for (int c = 0; c < BLOCK; c++) fill_random(l, l->image + (size_t)l->size * (size_t)c);
    image_lengths(l, before);
    for (int pass = 0; pass < 2 && columns > 0; pass++)
        project_out(l, 0, columns, BLOCK, l->image, l->correction);
    next_block(l, columns, before);
}

/* One step: computes the block column of H for the block at `columns`, and appends the next block.
 * The image is orthogonalized twice, since most of it lies in the space and a single pass would
 * leave the rounding error of that large part. The large part lies only in the columns from
 * `coupled` on: the last two blocks, or all columns just after a restart. Only the small remainder
 * is orthogonalized against all columns. */
static void extend(lanczos *l, int columns, int coupled) {
    int total = columns + BLOCK, local = total - coupled;
    double before[BLOCK];
    apply_inverse(l, columns);
    image_lengths(l, before);
    project_out(l, coupled, local, BLOCK, l->image, l->correction);
    project_out(l, 0, total, BLOCK, l->image, l->coefficients);
    for (int c = 0; c < BLOCK; c++)
        for (int i = 0; i < local; i++)
            l->coefficients[coupled + i + total * c] += l->correction[i + local * c];
    for (int c = 0; c < BLOCK; c++)
        for (int i = 0; i < total; i++) {
            double h = l->coefficients[i + total * c];
            if (i > columns + c) continue; /* the upper triangle, mirrored */
            l->projected[(size_t)i + (size_t)l->most * (size_t)(columns + c)] = h;
            l->projected[(size_t)(columns + c) + (size_t)l->most * (size_t)i] = h;
        }
    next_block(l, total, before);
}

/* Eigenpairs of H, the largest first. */
static sinew_status rayleigh_ritz(lanczos *l, int columns, sinew_error *error) {
    size_t k = (size_t)columns;
    for (size_t j = 0; j < k; j++)
        for (size_t i = 0; i < k; i++)
            l->ritz_vectors[i + k * j] = -l->projected[i + (size_t)l->most * j];
    SN_TRY(sn_dense_eigen(columns, l->ritz_vectors, l->ritz_values, error));
    for (size_t i = 0; i < k; i++) l->ritz_values[i] = -l->ritz_values[i];
    return SINEW_OK;
}

/* |A^-1 M y - theta y|_M / theta = |R s| / theta of Ritz pair k, s the last rows of y's
 * coordinates. */
static double pair_residual(const lanczos *l, int columns, int k) {
    const double *s = l->ritz_vectors + (size_t)columns * (size_t)k + columns - BLOCK;
    double square = 0;
    for (int r = 0; r < BLOCK; r++) {
        double sum = 0;
        for (int c = r; c < BLOCK; c++) sum += l->remainder[r + BLOCK * c] * s[c];
        square += sum * sum;
    }
    return sqrt(square) / fabs(l->ritz_values[k]);
}

/* Number of leading Ritz pairs that meet the tolerance. */
static int converged_pairs(const lanczos *l, int columns, double tolerance) {
    int count = 0;
    while (count < l->wanted && pair_residual(l, columns, count) <= tolerance) count++;
    return count;
}

/* Replaces the basis by the first `kept` Ritz vectors; the caller sets the block after them. */
static void keep_ritz_vectors(lanczos *l, int columns, int kept) {
    size_t most = (size_t)l->most;
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, l->size, kept, columns, 1, l->basis, l->ritz_vectors, 0,
                      l->spare);
    double *basis = l->spare;
    l->spare = l->basis, l->basis = basis;
    memset(l->projected, 0, most * most * sizeof(double));
    for (int i = 0; i < kept; i++) l->projected[(size_t)i + most * (size_t)i] = l->ritz_values[i];
}

static bool same_values(const lanczos *l) {
    for (int i = 0; i < l->wanted; i++)
        if (fabs(l->found[i] - l->ritz_values[i]) > 1e-6 * fabs(l->found[i])) return false;
    return true;
}

static sinew_status iterate(lanczos *l, double tolerance, const sinew_monitor *monitor,
                            int *columns_out, sinew_error *error) {
    size_t n = (size_t)l->size;
    int kept = l->wanted + (l->most - l->wanted) / 5;
    int columns = 0, blocks = 0, limit = 40 + 12 * l->wanted / BLOCK;
    int look = (l->wanted + l->wanted / 2) / BLOCK +
               2; /* the block after which to check convergence next */
    bool second_look = false;
    int fresh = 0; /* columns at the last (re)start */
    random_block(l, 0);
    for (;;) {
        if (sn_cancelled(monitor)) return SINEW_CANCELLED;
        extend(l, columns, columns == fresh ? 0 : columns - BLOCK);
        columns += BLOCK;
        blocks++;
        bool full = columns + BLOCK > l->most;
        if (!full && blocks < look) {
            sn_progress(monitor, fmin(0.5, 0.5 * columns / l->most), "modes");
            continue;
        }
        SN_TRY(rayleigh_ritz(l, columns, error));
        if (sn_cancelled(monitor)) return SINEW_CANCELLED;
        int ready = converged_pairs(l, columns, tolerance);
        sn_progress(monitor, 0.5 + 0.5 * ready / l->wanted, "modes");
        double digits = log10(pair_residual(l, columns, l->wanted - 1) / tolerance);
        look = blocks + (digits > DIGITS_PER_BLOCK ? (int)fmin(digits / DIGITS_PER_BLOCK, 100) : 1);
        if (ready == l->wanted) {
            if (second_look && same_values(l)) {
                *columns_out = columns;
                return SINEW_OK;
            }
            memcpy(l->found, l->ritz_values, (size_t)l->wanted * sizeof(double));
            second_look = true;
            keep_ritz_vectors(l, columns, l->wanted);
            columns = fresh = l->wanted;
            random_block(l, columns);
            look = blocks + SECOND_LOOK_BLOCKS;
        } else if (blocks >= limit) {
            *columns_out = columns;
            return SINEW_NOT_CONVERGED;
        } else if (full) {
            /* the next block follows the vectors that are kept */
            memcpy(l->image, l->basis + n * (size_t)columns, n * BLOCK * sizeof(double));
            keep_ritz_vectors(l, columns, kept);
            memcpy(l->basis + n * (size_t)kept, l->image, n * BLOCK * sizeof(double));
            columns = fresh = kept;
        }
    }
}

/* Scales one vector to unit M-norm with its largest entry positive. */
static void normalize(lanczos *l, double *y, double *My) {
    size_t n = (size_t)l->size, largest = 0;
    for (size_t i = 1; i < n; i++)
        if (fabs(y[i]) > fabs(y[largest]) * (1 + 1e-9)) largest = i;
    multiply_mass(l, 1, y, My);
    double norm = sqrt(sn_vector_dot(n, y, My));
    if (norm > 0) sn_vector_scale(n, (y[largest] < 0 ? -1 : 1) / norm, y);
}

/* Rayleigh quotients, residuals and signs of the M-orthonormal vectors. K is read once per
 * block. */
static void finish_pairs(lanczos *l, double *values, double *vectors, double *residuals,
                         double *worst) {
    size_t n = (size_t)l->size;
    double *Ky = l->image, *My = l->weighted;
    *worst = 0;
    for (int k = 0; k < l->wanted && !sn_scope_poll(); k += BLOCK) {
        int count = l->wanted - k < BLOCK ? l->wanted - k : BLOCK;
        double *y = vectors + n * (size_t)k;
        for (int c = 0; c < count; c++) normalize(l, y + n * (size_t)c, My);
        interleave(n, (size_t)count, y, l->interleaved);
        sn_sparse_multiply(l->K, count, l->interleaved, l->weighted);
        separate(n, (size_t)count, l->weighted, Ky);
        if (sn_scope_poll()) return;
        multiply_mass(l, count, y, My);
        for (int c = 0; c < count; c++) {
            double *Kx = Ky + n * (size_t)c;
            const double *x = y + n * (size_t)c, *Mx = My + n * (size_t)c;
            double value = sn_vector_dot(n, x, Kx);
            sn_vector_axpy(n, -value, Mx, Kx);
            double residual =
                sn_vector_norm(n, Kx) / ((fabs(value) + l->shift) * sn_vector_norm(n, Mx));
            values[k + c] = value;
            if (residuals) residuals[k + c] = residual;
            if (!(residual <= *worst)) *worst = residual;
        }
    }
}

static double trace_of(const sn_sparse *matrix) {
    double sum = 0;
    for (int j = 0; j < matrix->columns; j++)
        if (matrix->start[j] < matrix->start[j + 1] && matrix->row[matrix->start[j]] == j)
            sum += matrix->value[matrix->start[j]];
    return sum;
}

/* K + shift M */
static sinew_status shifted(const lanczos *l, sn_sparse **sum, sinew_error *error) {
    if (l->mass_matrix) return sn_sparse_combine(1, l->K, l->shift, l->mass_matrix, sum, error);
    sn_sparse *diagonal;
    SN_TRY(sn_sparse_create(l->size, l->size, l->size, true, &diagonal, error));
    for (int i = 0; i < l->size; i++) {
        diagonal->start[i + 1] = i + 1;
        diagonal->row[i] = i;
        diagonal->value[i] = l->mass[i];
    }
    sinew_status status = sn_sparse_combine(1, l->K, l->shift, diagonal, sum, error);
    sn_sparse_destroy(diagonal);
    return status;
}

/* Small problems, or most of the spectrum. */
static sinew_status solve_dense(lanczos *l, double *values, double *vectors, sinew_error *error) {
    size_t n = (size_t)l->size;
    double *A = SN_NEW0(double, n *n), *B = SN_NEW0(double, n *n), *all = SN_NEW(double, n);
    sinew_status status = A && B && all ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int pass = 0; pass < 2; pass++) {
            const sn_sparse *m = pass ? l->mass_matrix : l->K;
            for (size_t j = 0; m && j < n; j++)
                for (int e = m->start[j]; e < m->start[j + 1]; e++)
                    (pass ? B : A)[(size_t)m->row[e] + n * j] = m->value[e];
        }
        for (size_t i = 0; l->mass && i < n; i++) B[i + n * i] = l->mass[i];
        status = sn_dense_eigen_generalized(l->size, A, B, all, error);
    }
    if (status == SINEW_OK) {
        memcpy(vectors, A, n * (size_t)l->wanted * sizeof *vectors);
        memcpy(values, all, (size_t)l->wanted * sizeof *values);
    }
    sn_free(A);
    sn_free(B);
    sn_free(all);
    return status;
}

static void free_lanczos(lanczos *l) {
    sn_cholesky_work_destroy(l->work);
    sn_cholesky_destroy(l->factor);
    double *blocks[] = {l->basis,        l->projected,    l->image,      l->weighted,
                        l->interleaved,  l->coefficients, l->correction, l->ritz_values,
                        l->ritz_vectors, l->spare,        l->found};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sn_free_aligned(blocks[i]);
}

/* The system maps large blocks page by page as they are first written, about a second per gigabyte.
 * Do that here, where the call can be cancelled, not inside the first product. */
static bool write_first(size_t count, double *block) {
    enum { PART = 1 << 17 };
    for (size_t i = 0; i < count; i += PART) {
        if (sn_scope_poll()) return false;
        memset(block + i, 0, (count - i < PART ? count - i : PART) * sizeof *block);
    }
    return true;
}

static bool allocate_lanczos(lanczos *l) {
    size_t n = (size_t)l->size, most = (size_t)l->most, room = most + BLOCK;
    struct {
        double **block;
        size_t count;
    } wanted[] = {{&l->basis, n * room},
                  {&l->projected, most * most},
                  {&l->coefficients, room * BLOCK},
                  {&l->correction, room * BLOCK},
                  {&l->ritz_values, most},
                  {&l->ritz_vectors, most * most},
                  {&l->spare, n * room},
                  {&l->found, most}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].block = sn_alloc_aligned(wanted[i].count, sizeof(double));
        if (!*wanted[i].block || !write_first(wanted[i].count, *wanted[i].block)) return false;
    }
    memset(l->projected, 0, most * most * sizeof(double));
    return true;
}

/* Factors K + shift M, with a larger shift if K is indefinite due to rounding. */
static sinew_status factor_shifted(lanczos *l, sinew_error *error) {
    for (int attempt = 0;; attempt++) {
        sn_sparse *sum;
        SN_TRY(shifted(l, &sum, error));
        sinew_status status = sn_cholesky_create(sum, &l->factor, error);
        sn_sparse_destroy(sum);
        if (status != SINEW_BAD_INPUT || attempt == 2) return status;
        l->shift *= 100;
    }
}

static sinew_status check(const sn_sparse *K, const double *mass, const sn_sparse *mass_matrix,
                          const sn_eigen_options *options, sinew_error *error) {
    SN_REQUIRE(K->symmetric && (mass || mass_matrix), error);
    SN_REQUIRE(!mass_matrix || (mass_matrix->symmetric && mass_matrix->columns == K->columns),
               error);
    if (options->count < 1 || options->count > K->columns)
        return sn_fail(error, SINEW_BAD_INPUT, "%d eigenpairs of a matrix of size %d",
                       options->count, K->columns);
    if (K->columns > LARGEST_DENSE_SIZE && options->count > K->columns / 4)
        return sn_fail(error, SINEW_BAD_INPUT, "%d eigenpairs of size %d: at most %d",
                       options->count, K->columns, K->columns / 4);
    for (int i = 0; mass && i < K->columns; i++)
        if (!(mass[i] > 0 && mass[i] < INFINITY))
            return sn_fail(error, SINEW_BAD_INPUT, "mass %d is %g, not positive", i, mass[i]);
    return SINEW_OK;
}

sinew_status sn_eigen_smallest(const sn_sparse *K, const double *mass, const sn_sparse *mass_matrix,
                               const sn_eigen_options *options, double *values, double *vectors,
                               double *residuals, sn_eigen_info *info, sinew_error *error) {
    SN_TRY(check(K, mass, mass_matrix, options, error));
    lanczos l = {.K = K,
                 .mass = mass,
                 .mass_matrix = mass ? NULL : mass_matrix,
                 .size = K->columns,
                 .wanted = options->count,
                 .shift = options->shift,
                 .random = 20240229};
    double total_mass = 0;
    for (int i = 0; mass && i < l.size; i++) total_mass += mass[i];
    if (!mass) total_mass = trace_of(mass_matrix);
    if (!(l.shift > 0)) l.shift = DEFAULT_SHIFT * fmax(trace_of(K), 0) / total_mass;
    if (!(l.shift > 0)) l.shift = 1; /* K = 0 */
    double tolerance = options->tolerance > 0 ? options->tolerance : SN_EIGEN_TOLERANCE;
    int room = 2 * l.wanted > l.wanted + 64 ? 2 * l.wanted : l.wanted + 64;
    l.most = (room + 7 * BLOCK) / BLOCK * BLOCK;
    bool dense = l.size <= DENSE_SIZE || l.size < l.most + 8 * BLOCK ||
                 (l.size <= LARGEST_DENSE_SIZE && l.wanted > l.size / 4);
    sinew_status status = SINEW_OK;
    double **blocks[] = {&l.image, &l.weighted, &l.interleaved};
    for (int i = 0; i < 3; i++) {
        *blocks[i] = sn_alloc_aligned((size_t)l.size, BLOCK * sizeof(double));
        if (!*blocks[i]) status = sn_no_memory(error);
    }
    if (status == SINEW_OK && dense) {
        status = solve_dense(&l, values, vectors, error);
    } else if (status == SINEW_OK) {
        int columns = 0;
        if (!allocate_lanczos(&l)) status = sn_no_memory(error);
        if (status == SINEW_OK) status = factor_shifted(&l, error);
        if (status == SINEW_OK) status = sn_cholesky_work_create(l.factor, BLOCK, &l.work, error);
        if (status == SINEW_OK) status = iterate(&l, tolerance, options->monitor, &columns, error);
        if (status == SINEW_OK || status == SINEW_NOT_CONVERGED)
            sn_dense_multiply(SN_AS_IS, SN_AS_IS, l.size, l.wanted, columns, 1, l.basis,
                              l.ritz_vectors, 0, vectors);
        if (status == SINEW_NOT_CONVERGED)
            sn_fail(error, status, "eigenpairs did not converge in %d solves", l.solves);
    }
    double worst = 0;
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED)
        finish_pairs(&l, values, vectors, residuals, &worst);
    if (info) *info = (sn_eigen_info){l.solves, l.shift, worst};
    free_lanczos(&l);
    return status;
}
