#include "algebra/sparse.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/inline.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/scope.h"

sinew_status sn_triplets_create(int rows, int columns, size_t expected, sn_triplets *triplets,
                                sinew_error *error) {
    memset(triplets, 0, sizeof *triplets);
    SN_REQUIRE(rows >= 0 && columns >= 0, error);
    triplets->rows = rows;
    triplets->columns = columns;
    triplets->capacity = expected;
    triplets->row = SN_NEW(int, expected);
    triplets->column = SN_NEW(int, expected);
    triplets->value = SN_NEW(double, expected);
    if (!triplets->row || !triplets->column || !triplets->value) {
        sn_triplets_free(triplets);
        return sn_no_memory(error);
    }
    return SINEW_OK;
}

void sn_triplets_free(sn_triplets *triplets) {
    if (!triplets) return;
    sn_free(triplets->row);
    sn_free(triplets->column);
    sn_free(triplets->value);
    memset(triplets, 0, sizeof *triplets);
}

bool sn_triplets_add(sn_triplets *triplets, int row, int column, double value) {
    if (triplets->count == triplets->capacity) {
        size_t needed = triplets->count + 1;
        size_t row_room = triplets->capacity, column_room = row_room, value_room = row_room;
        if (!SN_RESERVE(triplets->row, row_room, needed) ||
            !SN_RESERVE(triplets->column, column_room, needed) ||
            !SN_RESERVE(triplets->value, value_room, needed))
            return false;
        triplets->capacity = row_room;
    }
    size_t i = triplets->count++;
    triplets->row[i] = row;
    triplets->column[i] = column;
    triplets->value[i] = value;
    return true;
}

sinew_status sn_sparse_create(int rows, int columns, int nonzeros, bool symmetric,
                              sn_sparse **matrix, sinew_error *error) {
    *matrix = NULL;
    SN_REQUIRE(rows >= 0 && columns >= 0 && nonzeros >= 0, error);
    SN_REQUIRE(!symmetric || rows == columns, error);
    sn_sparse *made = SN_NEW0(sn_sparse, 1);
    if (!made) return sn_no_memory(error);
    made->rows = rows;
    made->columns = columns;
    made->symmetric = symmetric;
    made->start = SN_NEW0(int, (size_t)columns + 1);
    made->row = SN_NEW(int, nonzeros);
    made->value = SN_NEW(double, nonzeros);
    if (!made->start || !made->row || !made->value) {
        sn_sparse_destroy(made);
        return sn_no_memory(error);
    }
    *matrix = made;
    return SINEW_OK;
}

void sn_sparse_destroy(sn_sparse *matrix) {
    if (!matrix) return;
    sn_free(matrix->start);
    sn_free(matrix->row);
    sn_free(matrix->value);
    sn_free(matrix);
}

/* Entries between two polls of the monitor, a few milliseconds. */
enum { UNASKED = 1 << 17 };

static bool stops_at(size_t entry) {
    return entry % UNASKED == 0 && sn_interrupted();
}

/* Stable counting sort of `order` by key: order_out lists order_in by increasing key. Returns false
 * if the call was cancelled. */
static bool sort_by(const int *key, int keys, size_t count, const int *order_in, int *order_out,
                    int *bucket) {
    memset(bucket, 0, ((size_t)keys + 1) * sizeof *bucket);
    for (size_t i = 0; i < count; i++) {
        if (stops_at(i)) return false;
        bucket[key[order_in[i]] + 1]++;
    }
    for (int k = 0; k < keys; k++) bucket[k + 1] += bucket[k];
    for (size_t i = 0; i < count; i++) {
        if (stops_at(i)) return false;
        order_out[bucket[key[order_in[i]]]++] = order_in[i];
    }
    return true;
}

sinew_status sn_sparse_from_triplets(const sn_triplets *triplets, bool symmetric,
                                     sn_sparse **matrix, sinew_error *error) {
    *matrix = NULL;
    int rows = triplets->rows, columns = triplets->columns;
    SN_REQUIRE(!symmetric || rows == columns, error);
    if (triplets->count > INT_MAX)
        return sn_fail(error, SINEW_BAD_INPUT, "%zu matrix entries are more than %d",
                       triplets->count, INT_MAX);
    int largest = rows > columns ? rows : columns;
    int *by_row = SN_NEW(int, triplets->count), *by_column = SN_NEW(int, triplets->count);
    int *bucket = SN_NEW(int, (size_t)largest + 1);
    sinew_status status = SINEW_OK;
    if (!by_row || !by_column || !bucket) {
        status = sn_no_memory(error);
        goto done;
    }
    size_t kept = 0;
    for (size_t i = 0; i < triplets->count; i++) {
        int row = triplets->row[i], column = triplets->column[i];
        if (row < 0 || row >= rows || column < 0 || column >= columns) {
            status = sn_fail(error, SINEW_BAD_INPUT,
                             "matrix entry %zu at (%d, %d) lies outside of %d x %d", i, row, column,
                             rows, columns);
            goto done;
        }
        if (!symmetric || row >= column) by_column[kept++] = (int)i;
    }
    if (!sort_by(triplets->row, rows, kept, by_column, by_row, bucket) ||
        !sort_by(triplets->column, columns, kept, by_row, by_column, bucket)) {
        status = sn_fail(error, SINEW_CANCELLED, "cancelled");
        goto done;
    }
    int distinct = 0;
    for (size_t i = 0; i < kept; i++) {
        if (stops_at(i)) {
            status = sn_fail(error, SINEW_CANCELLED, "cancelled");
            goto done;
        }
        int t = by_column[i], p = i ? by_column[i - 1] : -1;
        if (i == 0 || triplets->row[t] != triplets->row[p] ||
            triplets->column[t] != triplets->column[p])
            distinct++;
    }
    status = sn_sparse_create(rows, columns, distinct, symmetric, matrix, error);
    if (status != SINEW_OK) goto done;
    sn_sparse *made = *matrix;
    int at = -1;
    for (size_t i = 0; i < kept; i++) {
        if (stops_at(i)) {
            status = sn_fail(error, SINEW_CANCELLED, "cancelled");
            break;
        }
        int t = by_column[i], p = i ? by_column[i - 1] : -1;
        if (i == 0 || triplets->row[t] != triplets->row[p] ||
            triplets->column[t] != triplets->column[p]) {
            at++;
            made->row[at] = triplets->row[t];
            made->value[at] = triplets->value[t];
            made->start[triplets->column[t] + 1]++;
        } else {
            made->value[at] += triplets->value[t];
        }
    }
    for (int j = 0; j < columns; j++) made->start[j + 1] += made->start[j];
    if (status != SINEW_OK) {
        sn_sparse_destroy(made);
        *matrix = NULL;
    }
done:
    sn_free(by_row);
    sn_free(by_column);
    sn_free(bucket);
    return status;
}

/* Below this many multiplications a second thread costs more than it saves. */
enum { SHARED_PRODUCT = 60000 };

/* First entry of column j with row >= bound. */
static inline int first_at_least(const sn_sparse *matrix, int j, int bound) {
    int low = matrix->start[j], high = matrix->start[j + 1];
    if (low == high || matrix->row[low] >= bound) return low;
    if (matrix->row[high - 1] < bound) return high;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (matrix->row[middle] < bound)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Rows [begin, end) of y = A x. Each y sums its terms by increasing column regardless of the range,
 * so the result does not depend on how threads split the rows. For a symmetric matrix the terms
 * left of the diagonal come from the stored row, the others from the stored column of the same
 * index. */
SN_ALWAYS_INLINE void multiply_rows_of(const sn_sparse *matrix, const int vectors,
                                       const double *restrict x, double *restrict y, int begin,
                                       int end) {
    if (begin == end) return;
    size_t v = (size_t)vectors;
    memset(y + v * (size_t)begin, 0, v * (size_t)(end - begin) * sizeof *y);
    int last_column = matrix->symmetric ? end : matrix->columns;
    for (int j = 0; j < last_column; j++) {
        const double *xj = x + v * (size_t)j;
        int stop = matrix->start[j + 1];
        if (matrix->symmetric && j >= begin) {
            double *yj = y + v * (size_t)j;
            for (int i = matrix->start[j]; i < stop; i++) {
                const double *xi = x + v * (size_t)matrix->row[i];
                for (size_t k = 0; k < v; k++) yj[k] += matrix->value[i] * xi[k];
            }
        }
        for (int i = first_at_least(matrix, j, begin); i < stop && matrix->row[i] < end; i++) {
            if (matrix->symmetric && matrix->row[i] == j) continue;
            double *yi = y + v * (size_t)matrix->row[i];
            for (size_t k = 0; k < v; k++) yi[k] += matrix->value[i] * xj[k];
        }
    }
}

/* With a number of vectors known at compile time, the inner loops become single instructions. */
static void multiply_rows(const sn_sparse *matrix, int vectors, const double *x, double *y,
                          int begin, int end) {
    switch (vectors) {
    case 1:
        multiply_rows_of(matrix, 1, x, y, begin, end);
        break;
    case 3:
        multiply_rows_of(matrix, 3, x, y, begin, end);
        break;
    case 8:
        multiply_rows_of(matrix, 8, x, y, begin, end);
        break;
    default:
        multiply_rows_of(matrix, vectors, x, y, begin, end);
        break;
    }
}

typedef struct product {
    const sn_sparse *matrix;
    int vectors;
    const double *x;
    double *y;
    int strips;
} product;

static void multiply_strips(void *context, sn_span span) {
    const product *p = context;
    int begin = (int)((long long)p->matrix->rows * (long long)span.begin / p->strips);
    int end = (int)((long long)p->matrix->rows * (long long)span.end / p->strips);
    multiply_rows(p->matrix, p->vectors, p->x, p->y, begin, end);
}

/* No more strips than threads, and only a few: each of them walks all columns. */
void sn_sparse_multiply(const sn_sparse *matrix, int vectors, const double *x, double *y) {
    if (sn_scope_poll()) return;
    double work = (double)sn_sparse_nonzeros(matrix) * vectors;
    int strips = work > SHARED_PRODUCT ? sn_threads() : 1;
    if (strips > 8) strips = 8;
    sn_parallel_for_weighted(strips, 1, work / strips, multiply_strips,
                             &(product){matrix, vectors, x, y, strips});
}

static void multiply_columns(void *context, sn_span span) {
    const product *p = context;
    const sn_sparse *matrix = p->matrix;
    size_t v = (size_t)p->vectors;
    SN_IN_SPAN(size_t, j, span) {
        double *yj = p->y + v * j;
        for (size_t k = 0; k < v; k++) yj[k] = 0;
        for (int i = matrix->start[j]; i < matrix->start[j + 1]; i++) {
            const double *xi = p->x + v * (size_t)matrix->row[i];
            for (size_t k = 0; k < v; k++) yj[k] += matrix->value[i] * xi[k];
        }
    }
}

void sn_sparse_multiply_transposed(const sn_sparse *matrix, int vectors, const double *x,
                                   double *y) {
    if (matrix->symmetric) {
        sn_sparse_multiply(matrix, vectors, x, y);
        return;
    }
    if (matrix->columns == 0) return;
    sn_parallel_for_weighted(matrix->columns, 16,
                             (double)sn_sparse_nonzeros(matrix) * vectors / matrix->columns,
                             multiply_columns, &(product){matrix, vectors, x, y, 0});
}

sinew_status sn_sparse_transpose(const sn_sparse *matrix, sn_sparse **transposed,
                                 sinew_error *error) {
    *transposed = NULL;
    if (matrix->symmetric) return sn_sparse_combine(1, matrix, 0, matrix, transposed, error);
    int *next = SN_NEW(int, (size_t)matrix->rows + 1);
    if (!next) return sn_no_memory(error);
    sinew_status status = sn_sparse_create(matrix->columns, matrix->rows,
                                           sn_sparse_nonzeros(matrix), false, transposed, error);
    if (status != SINEW_OK) {
        sn_free(next);
        return status;
    }
    sn_sparse *made = *transposed;
    int nonzeros = sn_sparse_nonzeros(matrix);
    for (int i = 0; i < nonzeros; i++) made->start[matrix->row[i] + 1]++;
    for (int j = 0; j < made->columns; j++) made->start[j + 1] += made->start[j];
    memcpy(next, made->start, (size_t)made->columns * sizeof *next);
    for (int j = 0; j < matrix->columns; j++) {
        for (int i = matrix->start[j]; i < matrix->start[j + 1]; i++) {
            int place = next[matrix->row[i]]++;
            made->row[place] = j;
            made->value[place] = matrix->value[i];
        }
    }
    sn_free(next);
    return SINEW_OK;
}

static int compare_ints(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* C_jk = sum_r w_r A_rj A_rk for k >= j. Column j is accumulated in a dense vector over the rows of
 * A in which j has an entry, by increasing row. */
sinew_status sn_sparse_gram(const sn_sparse *matrix, const double *weights, sn_sparse **gram,
                            sinew_error *error) {
    *gram = NULL;
    SN_REQUIRE(!matrix->symmetric, error);
    int columns = matrix->columns;
    sn_sparse *rows = NULL; /* A^T: its columns are the rows of A */
    SN_TRY(sn_sparse_transpose(matrix, &rows, error));
    int *seen = SN_NEW0(int, columns), *list = SN_NEW(int, columns);
    double *sum = SN_NEW0(double, columns);
    sinew_status status = SINEW_OK;
    if (!seen || !list || !sum) {
        status = sn_no_memory(error);
        goto done;
    }
    long long total = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < columns; j++) {
            int mark = pass ? -(j + 1) : j + 1, found = 0;
            for (int i = matrix->start[j]; i < matrix->start[j + 1]; i++) {
                int r = matrix->row[i];
                double scaled = matrix->value[i] * (weights ? weights[r] : 1);
                for (int e = rows->start[r + 1] - 1; e >= rows->start[r] && rows->row[e] >= j;
                     e--) {
                    int k = rows->row[e];
                    if (seen[k] != mark) {
                        seen[k] = mark;
                        list[found++] = k;
                        sum[k] = 0;
                    }
                    sum[k] += scaled * rows->value[e];
                }
            }
            if (pass == 0) {
                total += found;
                continue;
            }
            qsort(list, (size_t)found, sizeof *list, compare_ints);
            int at = (*gram)->start[j];
            for (int e = 0; e < found; e++, at++) {
                (*gram)->row[at] = list[e];
                (*gram)->value[at] = sum[list[e]];
            }
            (*gram)->start[j + 1] = at;
        }
        if (pass == 0) {
            if (total > INT_MAX) {
                status = sn_fail(error, SINEW_BAD_INPUT, "a product with %lld entries is too large",
                                 total);
                goto done;
            }
            status = sn_sparse_create(columns, columns, (int)total, true, gram, error);
            if (status != SINEW_OK) goto done;
        }
    }
done:
    sn_sparse_destroy(rows);
    sn_free(seen);
    sn_free(list);
    sn_free(sum);
    return status;
}

sinew_status sn_sparse_combine(double a, const sn_sparse *A, double b, const sn_sparse *B,
                               sn_sparse **sum, sinew_error *error) {
    *sum = NULL;
    SN_REQUIRE(A->rows == B->rows && A->columns == B->columns && A->symmetric == B->symmetric,
               error);
    long long total = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < A->columns; j++) {
            int p = A->start[j], q = B->start[j];
            while (p < A->start[j + 1] || q < B->start[j + 1]) {
                int row_a = p < A->start[j + 1] ? A->row[p] : INT_MAX;
                int row_b = q < B->start[j + 1] ? B->row[q] : INT_MAX;
                double value = 0;
                if (row_a <= row_b) value += a * A->value[p++];
                if (row_b <= row_a) value += b * B->value[q++];
                if (pass) {
                    (*sum)->row[total] = row_a < row_b ? row_a : row_b;
                    (*sum)->value[total] = value;
                }
                total++;
            }
            if (pass) (*sum)->start[j + 1] = (int)total;
        }
        if (pass == 0) {
            if (total > INT_MAX)
                return sn_fail(error, SINEW_BAD_INPUT, "a sum with %lld entries is too large",
                               total);
            SN_TRY(sn_sparse_create(A->rows, A->columns, (int)total, A->symmetric, sum, error));
            total = 0;
        }
    }
    return SINEW_OK;
}
