/* Included by supernodal.c once for double and once for float: REAL and NAME differ.
 *
 * A supernode's part of x is moved to a scratch array t, one run of `stride` numbers per right-hand
 * side, so that the loops over rows are loops over vectors of LANES numbers. `sides` and the width
 * `w` of a panel are constants in every inlined copy of the functions below. */

typedef REAL NAME(vector) __attribute__((vector_size(LANES * sizeof(REAL)), may_alias));

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Forward, one panel: y = (triangle)^-1 t, t -= rest y. Returns the next panel. The vectors start
 * at a multiple of LANES, so some of their first rows lie in the panel itself: the factor is zero
 * there, and y is stored after them. */
ALWAYS_INLINE const REAL *NAME(forward_panel)(const REAL *v, int j, int end, int stride, REAL *t,
                                              const int w, const int sides) {
    REAL y[SN_SUPERNODAL_SIDES][PANEL];
    for (int q = 0; q < sides; q++)
        for (int c = 0; c < w; c++) {
            REAL sum = t[q * stride + j + c];
            for (int b = 0; b < c; b++) sum -= v[b * PANEL + c] * y[q][b];
            y[q][c] = sum * v[c * PANEL + c];
        }
    const NAME(vector) *a = (const NAME(vector) *)(v + TRIANGLE);
    for (int i = (j + w) / LANES * LANES; i < end; i += LANES, a += w)
        for (int q = 0; q < sides; q++) {
            NAME(vector) *u = (NAME(vector) *)(t + q * stride + i);
            NAME(vector) sum = *u;
            for (int c = 0; c < w; c++) sum -= a[c] * y[q][c];
            *u = sum;
        }
    for (int q = 0; q < sides; q++)
        for (int c = 0; c < w; c++) t[q * stride + j + c] = y[q][c];
    return (const REAL *)a;
}

/* Sums of the lanes of four vectors, always in the same order. */
ALWAYS_INLINE void NAME(add_lanes)(const NAME(vector) * s, REAL *sum) {
    NAME(vector)
    ab = __builtin_shufflevector(s[0], s[1], 0, 2, 8, 10, 4, 6, 12, 14) +
         __builtin_shufflevector(s[0], s[1], 1, 3, 9, 11, 5, 7, 13, 15);
    NAME(vector)
    cd = __builtin_shufflevector(s[2], s[3], 0, 2, 8, 10, 4, 6, 12, 14) +
         __builtin_shufflevector(s[2], s[3], 1, 3, 9, 11, 5, 7, 13, 15);
    NAME(vector)
    all = __builtin_shufflevector(ab, cd, 0, 2, 8, 10, 4, 6, 12, 14) +
          __builtin_shufflevector(ab, cd, 1, 3, 9, 11, 5, 7, 13, 15);
    for (int c = 0; c < PANEL; c++) sum[c] = all[c] + all[c + PANEL];
}

/* Backward, one panel: y = (triangle)^-T (t - rest^T t). */
ALWAYS_INLINE void NAME(backward_panel)(const REAL *v, int j, int end, int stride, REAL *t,
                                        const int w, const int sides) {
    NAME(vector) s[SN_SUPERNODAL_SIDES][PANEL] = {{{0}}};
    const NAME(vector) *a = (const NAME(vector) *)(v + TRIANGLE);
    for (int i = (j + w) / LANES * LANES; i < end; i += LANES, a += w)
        for (int q = 0; q < sides; q++) {
            NAME(vector) u = *(const NAME(vector) *)(t + q * stride + i);
            for (int c = 0; c < w; c++) s[q][c] += a[c] * u;
        }
    for (int q = 0; q < sides; q++) {
        REAL sum[PANEL], y[PANEL];
        NAME(add_lanes)(s[q], sum);
        for (int c = w - 1; c >= 0; c--) {
            y[c] = t[q * stride + j + c] - sum[c];
            for (int b = c + 1; b < w; b++) y[c] -= v[c * PANEL + b] * y[b];
            y[c] *= v[c * PANEL + c];
        }
        for (int c = 0; c < w; c++) t[q * stride + j + c] = y[c];
    }
}

ALWAYS_INLINE void NAME(forward)(const sn_supernodal *pattern, const sn_supernode *node,
                                 const REAL *values, REAL *x, REAL *t, int stride,
                                 const int sides) {
    int width = node->width, rows = width + node->below, end = (int)round_up((size_t)rows);
    const int *row = pattern->row + node->rows;
    REAL *own = x + (size_t)node->first * (size_t)sides;
    for (int q = 0; q < sides; q++) {
        for (int i = 0; i < width; i++) t[q * stride + i] = own[i * sides + q];
        for (int i = width; i < end; i++) t[q * stride + i] = 0;
    }
    const REAL *v = values + node->values;
    int j = 0;
    for (; j + PANEL <= width; j += PANEL)
        v = NAME(forward_panel)(v, j, end, stride, t, PANEL, sides);
    if (width - j == 3) NAME(forward_panel)(v, j, end, stride, t, 3, sides);
    if (width - j == 2) NAME(forward_panel)(v, j, end, stride, t, 2, sides);
    if (width - j == 1) NAME(forward_panel)(v, j, end, stride, t, 1, sides);
    for (int i = 0; i < width; i++)
        for (int q = 0; q < sides; q++) own[i * sides + q] = t[q * stride + i];
    for (int i = width; i < rows; i++) {
        REAL *other = x + (size_t)row[i - width] * (size_t)sides;
        for (int q = 0; q < sides; q++) other[q] += t[q * stride + i];
    }
}

ALWAYS_INLINE void NAME(backward)(const sn_supernodal *pattern, const sn_supernode *node,
                                  const REAL *values, REAL *x, REAL *t, int stride,
                                  const int sides) {
    int width = node->width, rows = width + node->below, end = (int)round_up((size_t)rows);
    const int *row = pattern->row + node->rows;
    REAL *own = x + (size_t)node->first * (size_t)sides;
    for (int i = 0; i < width; i++)
        for (int q = 0; q < sides; q++) t[q * stride + i] = own[i * sides + q];
    for (int i = width; i < rows; i++) {
        const REAL *other = x + (size_t)row[i - width] * (size_t)sides;
        for (int q = 0; q < sides; q++) t[q * stride + i] = other[q];
    }
    for (int q = 0; q < sides; q++)
        for (int i = rows; i < end; i++) t[q * stride + i] = 0;
    /* panels from the last to the first; their places follow from the first ones' sizes */
    const REAL *v = values + node->values + node_values(node);
    int whole = width / PANEL * PANEL, rest = width - whole;
    if (rest) v -= panel_values(node, whole, rest);
    if (rest == 3) NAME(backward_panel)(v, whole, end, stride, t, 3, sides);
    if (rest == 2) NAME(backward_panel)(v, whole, end, stride, t, 2, sides);
    if (rest == 1) NAME(backward_panel)(v, whole, end, stride, t, 1, sides);
    for (int j = whole - PANEL; j >= 0; j -= PANEL) {
        v -= panel_values(node, j, PANEL);
        NAME(backward_panel)(v, j, end, stride, t, PANEL, sides);
    }
    for (int i = 0; i < width; i++)
        for (int q = 0; q < sides; q++) own[i * sides + q] = t[q * stride + i];
}

ALWAYS_INLINE void NAME(run)(const sn_supernodal *pattern, int t, bool down, const REAL *values,
                             REAL *x, REAL *scratch, const int sides) {
    const sn_supernodal_task *task = &pattern->task[t];
    REAL *local = scratch + task->scratch * (size_t)sides;
    if (down)
        for (int m = task->end - 1; m >= task->begin; m--) NAME(backward)
    (pattern, &pattern->node[pattern->member[m]], values, x, local, task->stride, sides);
    else for (int m = task->begin; m < task->end; m++) NAME(forward)(
        pattern, &pattern->node[pattern->member[m]], values, x, local, task->stride, sides);
}

static void NAME(run_task)(const sn_supernodal *pattern, int t, bool down, const REAL *values,
                           REAL *x, REAL *scratch, int sides) {
    switch (sides) {
    case 1:
        NAME(run)(pattern, t, down, values, x, scratch, 1);
        break;
    case 2:
        NAME(run)(pattern, t, down, values, x, scratch, 2);
        break;
    case 3:
        NAME(run)(pattern, t, down, values, x, scratch, 3);
        break;
    default:
        NAME(run)(pattern, t, down, values, x, scratch, 4);
        break;
    }
}

void NAME(sn_supernodal_solve)(const sn_supernodal *pattern, const REAL *values, int sides,
                               int stride, const REAL *b, REAL *out, REAL *x, REAL *scratch) {
    size_t k = (size_t)sides, n = (size_t)pattern->size;
    int threads = pattern->values * k > THREADED_VALUES ? sn_threads() : 1;
    REAL *copy = x + n * k;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < pattern->size; i++) {
            const REAL *from = b + (size_t)pattern->permutation[i] * (size_t)stride;
            for (size_t q = 0; q < k; q++) x[(size_t)i * k + q] = from[q];
        }
#pragma omp for schedule(static)
        for (int e = 0; e < pattern->copies; e++)
            for (size_t q = 0; q < k; q++) copy[(size_t)e * k + q] = 0;
#pragma omp for schedule(dynamic, 1)
        for (int t = 0; t < pattern->tasks; t++)
            NAME(run_task)(pattern, t, false, values, x, scratch, sides);
#pragma omp single
        {
            for (int e = 0; e < pattern->copies; e++)
                for (size_t q = 0; q < k; q++)
                    x[(size_t)pattern->copy_of[e] * k + q] += copy[(size_t)e * k + q];
            NAME(run_task)(pattern, pattern->tasks, false, values, x, scratch, sides);
            NAME(run_task)(pattern, pattern->tasks, true, values, x, scratch, sides);
            for (int e = 0; e < pattern->copies; e++)
                for (size_t q = 0; q < k; q++)
                    copy[(size_t)e * k + q] = x[(size_t)pattern->copy_of[e] * k + q];
        }
#pragma omp for schedule(dynamic, 1)
        for (int t = 0; t < pattern->tasks; t++)
            NAME(run_task)(pattern, t, true, values, x, scratch, sides);
#pragma omp for schedule(static)
        for (int i = 0; i < pattern->size; i++) {
            REAL *to = out + (size_t)pattern->permutation[i] * (size_t)stride;
            for (size_t q = 0; q < k; q++) to[q] = x[(size_t)i * k + q];
        }
    }
}

#undef ALWAYS_INLINE
