/* Included by dense.c once for double and once for float: REAL, NAME, BLAS and LAPACK differ. */

/* C := alpha op(A) op(B) + beta C. */
typedef struct NAME(product) {
    sn_transpose op_a, op_b;
    int rows, columns, inner;
    REAL alpha;
    const REAL *A, *B;
    REAL beta, *C;
    int high, tiles_down; /* of the tiles; for apply: outputs per block */
} NAME(product);

static void NAME(multiply_tiles)(void *context, sn_span span) {
    const NAME(product) *p = context;
    int stride_a = p->op_a == SN_AS_IS ? p->rows : p->inner;
    int stride_b = p->op_b == SN_AS_IS ? p->inner : p->columns;
    if (stride_a < 1) stride_a = 1;
    if (stride_b < 1) stride_b = 1;
    SN_IN_SPAN(int, tile, span) {
        int i = tile % p->tiles_down * p->high, j = tile / p->tiles_down * TILE;
        int height = p->rows - i < p->high ? p->rows - i : p->high;
        int width = p->columns - j < TILE ? p->columns - j : TILE;
        if (sn_scope_poll()) return;
        BLAS(gemm, CblasColMajor, p->op_a == SN_AS_IS ? CblasNoTrans : CblasTrans,
             p->op_b == SN_AS_IS ? CblasNoTrans : CblasTrans, height, width, p->inner, p->alpha,
             p->A + (p->op_a == SN_AS_IS ? (size_t)i : (size_t)i * (size_t)stride_a), stride_a,
             p->B + (p->op_b == SN_AS_IS ? (size_t)j * (size_t)stride_b : (size_t)j), stride_b,
             p->beta, p->C + (size_t)i + (size_t)p->rows * (size_t)j, p->rows);
    }
}

void NAME(multiply)(sn_transpose op_a, sn_transpose op_b, int rows, int columns, int inner,
                    REAL alpha, const REAL *A, const REAL *B, REAL beta, REAL *C) {
    if (rows == 0 || columns == 0) return;
    if (!sn_solvers()) {
        UNKNOWN(C, (size_t)rows * (size_t)columns);
        return;
    }
    int high = columns > 16 ? TILE : rows > 8192 ? SKINNY_TILE : SKINNY_TILE / 16;
    int tiles_down = (rows + high - 1) / high, tiles_across = (columns + TILE - 1) / TILE;
    int tiles = tiles_down * tiles_across;
    sn_library_threads_cap();
    sn_parallel_for_weighted(
        tiles, 1, ((double)rows * columns * inner + 1) / tiles, NAME(multiply_tiles),
        &(NAME(product)){op_a, op_b, rows, columns, inner, alpha, A, B, beta, C, high, tiles_down});
    sn_library_threads_restore();
}

static void NAME(apply_blocks)(void *context, sn_span span) {
    const NAME(product) *p = context;
    int block = p->high, outputs = p->op_a == SN_AS_IS ? p->rows : p->columns;
    SN_IN_SPAN(int, b, span) {
        int from = b * block, count = outputs - from < block ? outputs - from : block;
        if (p->op_a == SN_AS_IS)
            BLAS(gemv, CblasColMajor, CblasNoTrans, count, p->columns, p->alpha, p->A + from,
                 p->rows, p->B, 1, p->beta, p->C + from, 1);
        else
            BLAS(gemv, CblasColMajor, CblasTrans, p->rows, count, p->alpha,
                 p->A + (size_t)from * (size_t)p->rows, p->rows, p->B, 1, p->beta, p->C + from, 1);
    }
}

void NAME(apply)(sn_transpose op, int rows, int columns, REAL alpha, const REAL *A, const REAL *x,
                 REAL beta, REAL *y) {
    int outputs = op == SN_AS_IS ? rows : columns;
    /* not transposed: blocks of rows; transposed: blocks of columns */
    int block = op == SN_AS_IS ? APPLY_BLOCK : 16;
    int blocks = (outputs + block - 1) / block;
    if (rows == 0 || columns == 0) {
        for (int i = 0; i < outputs; i++) y[i] = beta == 0 ? 0 : beta * y[i];
        return;
    }
    if (!sn_solvers()) {
        UNKNOWN(y, (size_t)outputs);
        return;
    }
    sn_library_threads_cap();
    sn_parallel_for_weighted(
        blocks, 1, (double)rows * columns / blocks, NAME(apply_blocks),
        &(NAME(product)){op, SN_AS_IS, rows, columns, 0, alpha, A, x, beta, y, block, 0});
    sn_library_threads_restore();
}

static void NAME(gram_tiles)(void *context, sn_span span) {
    const NAME(product) *p = context;
    int rows = p->rows, columns = p->columns, stride = rows > 0 ? rows : 1;
    size_t n = (size_t)columns;
    SN_IN_SPAN(int, tile, span) {
        int i = tile % p->tiles_down * TILE, j = tile / p->tiles_down * TILE;
        if (i < j) continue;
        if (sn_scope_poll()) return;
        int height = columns - i < TILE ? columns - i : TILE;
        int width = columns - j < TILE ? columns - j : TILE;
        REAL *target = p->C + (size_t)i + n * (size_t)j;
        if (i == j)
            BLAS(syrk, CblasColMajor, CblasLower, CblasTrans, width, rows, p->alpha,
                 p->A + (size_t)j * (size_t)rows, stride, p->beta, target, columns);
        else
            BLAS(gemm, CblasColMajor, CblasTrans, CblasNoTrans, height, width, rows, p->alpha,
                 p->A + (size_t)i * (size_t)rows, stride, p->A + (size_t)j * (size_t)rows, stride,
                 p->beta, target, columns);
        for (int c = 0; c < width; c++)
            for (int r = i == j ? c + 1 : 0; r < height; r++)
                p->C[(size_t)(j + c) + n * (size_t)(i + r)] = target[(size_t)r + n * (size_t)c];
    }
}

/* Tiles on and below the diagonal, then mirrored. */
void NAME(gram)(int rows, int columns, REAL alpha, const REAL *A, REAL beta, REAL *G) {
    if (columns == 0) return;
    if (!sn_solvers()) {
        UNKNOWN(G, (size_t)columns * (size_t)columns);
        return;
    }
    int tiles = (columns + TILE - 1) / TILE;
    sn_library_threads_cap();
    sn_parallel_for_weighted(tiles * tiles, 1,
                             ((double)columns * columns * rows + 1) / (tiles * tiles),
                             NAME(gram_tiles),
                             &(NAME(product)){SN_TRANSPOSED, SN_AS_IS, rows, columns, 0, alpha, A,
                                              A, beta, G, TILE, tiles});
    sn_library_threads_restore();
}

typedef REAL NAME(lanes) __attribute__((vector_size(LANE_BYTES), may_alias, aligned(sizeof(REAL))));

/* X := X L^-T for `rows` rows and a triangle L of up to PANEL columns, both of one matrix with
 * `stride` rows. Substitution as in BLAS, but up to twice as fast for narrow triangles: L is
 * packed, and RUN_LANES vectors of rows are processed at a time. */
static void NAME(divide_rows)(int rows, int width, size_t stride, const REAL *L, REAL *X) {
    enum { LANES = LANE_BYTES / sizeof(REAL), RUN = RUN_LANES * LANES };
    NAME(lanes) done[PANEL][RUN_LANES];
    REAL packed[PANEL][PANEL];
    for (int c = 0; c < width; c++) {
        for (int b = 0; b < c; b++) packed[c][b] = L[(size_t)c + stride * (size_t)b];
        packed[c][c] = 1 / L[(size_t)c * (stride + 1)];
    }
    for (int i = 0; i < rows; i += RUN) {
        size_t count = rows - i < RUN ? (size_t)(rows - i) : RUN;
        for (int c = 0; c < width; c++) {
            REAL *x = X + (size_t)i + stride * (size_t)c;
            NAME(lanes) sum[RUN_LANES] = {{0}};
            memcpy(sum, x, count * sizeof *x);
            for (int b = 0; b < c; b++)
                for (int v = 0; v < RUN_LANES; v++) sum[v] -= packed[c][b] * done[b][v];
            for (int v = 0; v < RUN_LANES; v++) done[c][v] = sum[v] * packed[c][c];
            memcpy(x, done[c], count * sizeof *x);
        }
    }
}

/* One panel of the elimination: columns j … j + width - 1. */
typedef struct NAME(panel) {
    int size, j, width, tiles;
    REAL *A;
} NAME(panel);

static void NAME(divide_tiles)(void *context, sn_span span) {
    const NAME(panel) *p = context;
    size_t n = (size_t)p->size;
    SN_IN_SPAN(int, tile, span) {
        int i = p->j + p->width + tile * TILE, height = p->size - i < TILE ? p->size - i : TILE;
        NAME(divide_rows)
        (height, p->width, n, p->A + (size_t)p->j * (n + 1), p->A + (size_t)i + n * (size_t)p->j);
    }
}

static void NAME(update_tiles)(void *context, sn_span span) {
    const NAME(panel) *p = context;
    int size = p->size, below = p->j + p->width;
    size_t n = (size_t)size;
    SN_IN_SPAN(int, tile, span) {
        int i = below + tile % p->tiles * TILE, k = below + tile / p->tiles * TILE;
        if (i < k) continue;
        if (sn_scope_poll()) return;
        int height = size - i < TILE ? size - i : TILE;
        int across = size - k < TILE ? size - k : TILE;
        const REAL *left = p->A + (size_t)i + n * (size_t)p->j;
        const REAL *right = p->A + (size_t)k + n * (size_t)p->j;
        REAL *target = p->A + (size_t)i + n * (size_t)k;
        if (i == k)
            BLAS(syrk, CblasColMajor, CblasLower, CblasNoTrans, across, p->width, -1, left, size, 1,
                 target, size);
        else
            BLAS(gemm, CblasColMajor, CblasNoTrans, CblasTrans, height, across, p->width, -1, left,
                 size, right, size, 1, target, size);
    }
}

/* The first `columns` columns of the lower triangle become those of the Cholesky factor, the others
 * the Schur complement. Returns LAPACK's info. Large matrices are processed in panels of PANEL
 * columns: the diagonal block, the rows below it, then the remainder tile by tile. */
static int NAME(eliminate_panels)(int size, int columns, REAL *A) {
    for (int j = 0; j < columns && !sn_scope_poll(); j += PANEL) {
        int width = columns - j < PANEL ? columns - j : PANEL;
        int info = LAPACK(potrf_work)(LAPACK_COL_MAJOR, 'L', width,
                                      A + (size_t)j * ((size_t)size + 1), size);
        if (info) return info > 0 ? j + info : info;
        int tiles = (size - j - width + TILE - 1) / TILE;
        NAME(panel) panel = {size, j, width, tiles, A};
        sn_parallel_for(tiles, 1, NAME(divide_tiles), &panel);
        sn_parallel_for(tiles * tiles, 1, NAME(update_tiles), &panel);
    }
    return 0;
}

static int NAME(eliminate_small)(int size, int columns, REAL *A) {
    int below = size - columns;
    REAL *rows = A + columns, *rest = A + (size_t)columns * ((size_t)size + 1);
    int info = LAPACK(potrf_work)(LAPACK_COL_MAJOR, 'L', columns, A, size);
    if (info || below == 0) return info;
    if (columns <= PANEL)
        NAME(divide_rows)(below, columns, (size_t)size, A, rows);
    else
        BLAS(trsm, CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, below, columns,
             1, A, size, rows, size);
    BLAS(syrk, CblasColMajor, CblasLower, CblasNoTrans, below, columns, -1, rows, size, 1, rest,
         size);
    return 0;
}

/* The column that is not positive definite, or -1. */
static int NAME(eliminate_columns)(int size, int columns, REAL *A) {
    if (columns == 0) return -1;
    if (!sn_solvers()) return 0;
    sn_library_threads_cap();
    int info = size > 6 * PANEL ? NAME(eliminate_panels)(size, columns, A)
                                : NAME(eliminate_small)(size, columns, A);
    sn_library_threads_restore();
    /* OpenBLAS lets NaN through; it ends up on the diagonal of its row */
    for (int i = 0; i < columns && info == 0; i++)
        if (!(A[(size_t)i * ((size_t)size + 1)] < INFINITY)) info = i + 1;
    return info - 1;
}

sinew_status NAME(cholesky)(int size, REAL *A, sinew_error *error) {
    SN_TRY(sn_solvers_load(error));
    int bad = NAME(eliminate_columns)(size, size, A);
    if (bad >= 0)
        return sn_fail(error, SINEW_BAD_INPUT, "the matrix is not positive definite at column %d",
                       bad);
    return SINEW_OK;
}

void NAME(cholesky_solve)(int size, const REAL *L, int count, REAL *b) {
    if (size == 0 || count == 0) return;
    if (!sn_solvers()) {
        UNKNOWN(b, (size_t)size * (size_t)count);
        return;
    }
    sn_library_threads_cap();
    if (count == 1) {
        BLAS(trsv, CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, size, L, size, b, 1);
        BLAS(trsv, CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, size, L, size, b, 1);
    } else {
        BLAS(trsm, CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, size, count, 1,
             L, size, b, size);
        BLAS(trsm, CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, size, count, 1,
             L, size, b, size);
    }
    sn_library_threads_restore();
}
