/* Included by supernodal.c for each type of the stored factor, VALUE, and of the arithmetic, REAL:
 * double in double, float in float, and bfloat16 in float. NAME tells the functions apart.
 *
 * A supernode's part of x is copied to a scratch array t, `stride` consecutive values per
 * right-hand side, so that the loops over rows are loops over vectors of LANES values. `sides` and
 * the width `w` of a panel are constants in every inlined copy of the functions below. A row of x
 * holds sn_supernodal_row_length(sides) values: three sides are padded to four, so that a row is
 * one vector and four rows are transposed at once. */

/* LANES values form one or more of these 256-bit vectors, which every processor of the last ten
 * years supports without lowering its clock speed. */
enum { NAME(WIDTH) = VECTOR_BYTES / sizeof(REAL), NAME(VECTORS) = LANES / NAME(WIDTH) };
typedef REAL NAME(vector) __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef REAL NAME(four)
    __attribute__((vector_size(4 * sizeof(REAL)), may_alias, aligned(sizeof(REAL))));

/* One value of the factor, and as many as fill a vector. */
#ifdef BFLOAT16
typedef VALUE NAME(stored) __attribute__((vector_size(NAME(WIDTH) * sizeof(VALUE)), may_alias));
typedef uint32_t NAME(bits) __attribute__((vector_size(VECTOR_BYTES)));
SN_ALWAYS_INLINE REAL NAME(value)(VALUE stored) {
    return float_of_bits((uint32_t)stored << 16);
}
SN_ALWAYS_INLINE NAME(vector) NAME(load)(const VALUE *at) {
    return (NAME(vector))(__builtin_convertvector(*(const NAME(stored) *)at, NAME(bits)) << 16);
}
#else
SN_ALWAYS_INLINE REAL NAME(value)(VALUE stored) {
    return stored;
}
SN_ALWAYS_INLINE NAME(vector) NAME(load)(const VALUE *at) {
    return *(const NAME(vector) *)at;
}
#endif

/* The factor is read once forward and once backward, each time sequentially. Prefetched this far
 * ahead, it arrives while earlier panels are being processed. */
SN_ALWAYS_INLINE void NAME(fetch)(const VALUE *at, const int count) {
    for (int line = 0; line < count * (int)sizeof(VALUE); line += 64)
        __builtin_prefetch((const char *)at + line);
}

/* Forward, one panel: y = (triangle)^-1 t, t -= rest y. Returns the next panel. The vectors start
 * at a multiple of LANES, so some of their first rows lie in the panel itself: the factor is zero
 * there, and y is stored afterwards. */
SN_ALWAYS_INLINE const VALUE *NAME(forward_panel)(const VALUE *v, int j, int end, int stride,
                                                  REAL *t, const int w, const int sides) {
    REAL y[PANEL_SIDES][PANEL];
    for (int q = 0; q < sides; q++)
        for (int c = 0; c < w; c++) {
            REAL sum = t[q * stride + j + c];
            for (int b = 0; b < c; b++) sum -= NAME(value)(v[b * PANEL + c]) * y[q][b];
            y[q][c] = sum * NAME(value)(v[c * PANEL + c]);
        }
    const VALUE *at = v + TRIANGLE;
    for (int i = (j + w) / LANES * LANES; i < end; i += LANES, at += w * LANES) {
        NAME(fetch)(at + FETCH_AHEAD / sizeof(VALUE), w * LANES);
        for (int h = 0; h < NAME(VECTORS); h++) {
            NAME(vector) a[PANEL];
            for (int c = 0; c < w; c++) a[c] = NAME(load)(at + c * LANES + h * NAME(WIDTH));
            for (int q = 0; q < sides; q++) {
                NAME(vector) *u = (NAME(vector) *)(t + q * stride + i) + h;
                NAME(vector) sum = *u;
                for (int c = 0; c < w; c++) sum -= a[c] * y[q][c];
                *u = sum;
            }
        }
    }
    for (int q = 0; q < sides; q++)
        for (int c = 0; c < w; c++) t[q * stride + j + c] = y[q][c];
    return at;
}

/* Four lanes: those of a short vector, or the sums of both halves of a long one. */
SN_ALWAYS_INLINE NAME(four) NAME(fold)(NAME(vector) a) {
    NAME(four) low = __builtin_shufflevector(a, a, 0, 1, 2, 3);
    if (NAME(WIDTH) > 4) low += __builtin_shufflevector(a, a, 4, 5, 6, 7);
    return low;
}

/* Sums of the lanes of four vectors, always in the same order. */
SN_ALWAYS_INLINE NAME(four) NAME(add_lanes)(const NAME(vector) * s) {
    NAME(four) m[4];
    for (int c = 0; c < 4; c++) m[c] = NAME(fold)(s[c]);
    NAME(four)
    ab = __builtin_shufflevector(m[0], m[1], 0, 4, 2, 6) +
         __builtin_shufflevector(m[0], m[1], 1, 5, 3, 7);
    NAME(four)
    cd = __builtin_shufflevector(m[2], m[3], 0, 4, 2, 6) +
         __builtin_shufflevector(m[2], m[3], 1, 5, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
           __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

/* Backward, one panel: y = (triangle)^-T (t - rest^T t), from the last rows to the first. */
SN_ALWAYS_INLINE void NAME(backward_panel)(const VALUE *v, int j, int end, int stride, REAL *t,
                                           const int w, const int sides) {
    NAME(vector) s[PANEL_SIDES][PANEL] = {{{0}}};
    int first = (j + w) / LANES * LANES;
    const VALUE *at = v + TRIANGLE + (end - first) * w;
    for (int i = end - LANES; i >= first; i -= LANES) {
        at -= w * LANES;
        NAME(fetch)(at - FETCH_AHEAD / sizeof(VALUE), w * LANES);
        for (int h = 0; h < NAME(VECTORS); h++) {
            NAME(vector) a[PANEL];
            for (int c = 0; c < w; c++) a[c] = NAME(load)(at + c * LANES + h * NAME(WIDTH));
            for (int q = 0; q < sides; q++) {
                NAME(vector) u = *((const NAME(vector) *)(t + q * stride + i) + h);
                for (int c = 0; c < w; c++) s[q][c] += a[c] * u;
            }
        }
    }
    for (int q = 0; q < sides; q++) {
        REAL y[PANEL];
        NAME(four) sum = NAME(add_lanes)(s[q]);
        for (int c = w - 1; c >= 0; c--) {
            y[c] = t[q * stride + j + c] - sum[c];
            for (int b = c + 1; b < w; b++) y[c] -= NAME(value)(v[c * PANEL + b]) * y[b];
            y[c] *= NAME(value)(v[c * PANEL + c]);
        }
        for (int c = 0; c < w; c++) t[q * stride + j + c] = y[c];
    }
}

/* If there are more sides than fit in registers, they pass over the panel again while it is in L1
 * cache. */
SN_ALWAYS_INLINE const VALUE *NAME(forward_sides)(const VALUE *v, int j, int end, int stride,
                                                  REAL *t, const int w, const int sides) {
    if (sides <= PANEL_SIDES) return NAME(forward_panel)(v, j, end, stride, t, w, sides);
    NAME(forward_panel)(v, j, end, stride, t, w, PANEL_SIDES);
    return NAME(forward_panel)(v, j, end, stride, t + PANEL_SIDES * stride, w, sides - PANEL_SIDES);
}

SN_ALWAYS_INLINE void NAME(backward_sides)(const VALUE *v, int j, int end, int stride, REAL *t,
                                           const int w, const int sides) {
    if (sides <= PANEL_SIDES) {
        NAME(backward_panel)(v, j, end, stride, t, w, sides);
    } else {
        NAME(backward_panel)(v, j, end, stride, t, w, PANEL_SIDES);
        NAME(backward_panel)(v, j, end, stride, t + PANEL_SIDES * stride, w, sides - PANEL_SIDES);
    }
}

/* Transposes rows and columns. */
SN_ALWAYS_INLINE void NAME(transpose)(NAME(four) m[4]) {
    NAME(four) a = __builtin_shufflevector(m[0], m[1], 0, 4, 1, 5);
    NAME(four) b = __builtin_shufflevector(m[2], m[3], 0, 4, 1, 5);
    NAME(four) c = __builtin_shufflevector(m[0], m[1], 2, 6, 3, 7);
    NAME(four) d = __builtin_shufflevector(m[2], m[3], 2, 6, 3, 7);
    m[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    m[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    m[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    m[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* Row i of the supernode's part of x: one of its own rows, or one below it. */
SN_ALWAYS_INLINE REAL *NAME(row_at)(REAL *x, const int *row, int i, const int sides) {
    return x + (size_t)(row ? row[i] : i) * (size_t)sn_supernodal_row_length(sides);
}

/* Rows of the caller's array for the unknowns of a supernode, `stride` values apart. */
typedef struct NAME(source) {
    const REAL *b;
    const int *permutation;
    int stride;
} NAME(source);

/* t := `count` rows of x, those listed in `row` or (if NULL) the first ones, plus those of `more`
 * if it is not NULL. */
SN_ALWAYS_INLINE void NAME(take)(REAL *x, const int *row, const NAME(source) * more, int count,
                                 REAL *t, int stride, const int sides) {
    int i = 0;
    for (; sn_supernodal_row_length(sides) == 4 && i + 4 <= count; i += 4) {
        NAME(four) m[4];
        for (int k = 0; k < 4; k++) {
            m[k] = *(const NAME(four) *)NAME(row_at)(x, row, i + k, sides);
            if (!more) continue;
            const REAL *from = more->b + (size_t)more->permutation[i + k] * (size_t)more->stride;
            m[k] += (NAME(four)){from[0], from[1], from[2], sides == 3 ? 0 : from[3]};
        }
        NAME(transpose)(m);
        for (int q = 0; q < sides; q++) *(NAME(four) *)(t + q * stride + i) = m[q];
    }
    for (; i < count; i++)
        for (int q = 0; q < sides; q++) {
            REAL sum = NAME(row_at)(x, row, i, sides)[q];
            if (more)
                sum += more->b[(size_t)more->permutation[i] * (size_t)more->stride + (size_t)q];
            t[q * stride + i] = sum;
        }
}

/* The backward sweep: writes the rows of t to x, or (add) adds them. */
SN_ALWAYS_INLINE void NAME(give)(REAL *x, const int *row, int count, const REAL *t, int stride,
                                 const bool add, const int sides) {
    int i = 0;
    for (; sn_supernodal_row_length(sides) == 4 && i + 4 <= count; i += 4) {
        NAME(four) m[4] = {{0}};
        for (int q = 0; q < sides; q++) m[q] = *(const NAME(four) *)(t + q * stride + i);
        NAME(transpose)(m);
        for (int k = 0; k < 4; k++) {
            NAME(four) *to = (NAME(four) *)NAME(row_at)(x, row, i + k, sides);
            if (add) m[k] += *to;
            *to = m[k];
        }
    }
    for (; i < count; i++)
        for (int q = 0; q < sides; q++) {
            REAL *to = NAME(row_at)(x, row, i, sides) + q;
            *to = add ? *to + t[q * stride + i] : t[q * stride + i];
        }
}

SN_ALWAYS_INLINE void NAME(forward)(const sn_supernodal *pattern, const sn_supernode *node,
                                    const VALUE *values, const REAL *b, int b_stride, REAL *x,
                                    REAL *t, int stride, const int sides) {
    int width = node->width, rows = width + node->below, end = (int)round_up((size_t)rows);
    const int *row = pattern->row + node->rows;
    REAL *own = x + (size_t)node->first * (size_t)sn_supernodal_row_length(sides);
    const NAME(source) own_b = {b, pattern->permutation + node->first, b_stride};
    NAME(take)(own, NULL, &own_b, width, t, stride, sides);
    for (int q = 0; q < sides; q++)
        for (int i = width; i < end; i++) t[q * stride + i] = 0;
    const VALUE *v = values + node->values;
    int j = 0;
    for (; j + PANEL <= width; j += PANEL)
        v = NAME(forward_sides)(v, j, end, stride, t, PANEL, sides);
    if (width - j == 3) NAME(forward_sides)(v, j, end, stride, t, 3, sides);
    if (width - j == 2) NAME(forward_sides)(v, j, end, stride, t, 2, sides);
    if (width - j == 1) NAME(forward_sides)(v, j, end, stride, t, 1, sides);
    NAME(give)(own, NULL, width, t, stride, false, sides);
    NAME(give)(x, row, node->below, t + width, stride, true, sides);
}

SN_ALWAYS_INLINE void NAME(backward)(const sn_supernodal *pattern, const sn_supernode *node,
                                     const VALUE *values, REAL *x, REAL *t, int stride,
                                     const int sides) {
    int width = node->width, rows = width + node->below, end = (int)round_up((size_t)rows);
    const int *row = pattern->row + node->rows;
    REAL *own = x + (size_t)node->first * (size_t)sn_supernodal_row_length(sides);
    NAME(take)(own, NULL, NULL, width, t, stride, sides);
    NAME(take)(x, row, NULL, node->below, t + width, stride, sides);
    for (int q = 0; q < sides; q++)
        for (int i = rows; i < end; i++) t[q * stride + i] = 0;
    /* panels from last to first; their offsets follow from the sizes of the ones before */
    const VALUE *v = values + node->values + node_values(node);
    int whole = width / PANEL * PANEL, rest = width - whole;
    if (rest) v -= panel_values(node, whole, rest);
    if (rest == 3) NAME(backward_sides)(v, whole, end, stride, t, 3, sides);
    if (rest == 2) NAME(backward_sides)(v, whole, end, stride, t, 2, sides);
    if (rest == 1) NAME(backward_sides)(v, whole, end, stride, t, 1, sides);
    for (int j = whole - PANEL; j >= 0; j -= PANEL) {
        v -= panel_values(node, j, PANEL);
        NAME(backward_sides)(v, j, end, stride, t, PANEL, sides);
    }
    NAME(give)(own, NULL, width, t, stride, false, sides);
}

/* The caller's arrays and the work arrays of one solve. */
typedef struct NAME(sweep) {
    const sn_supernodal *pattern;
    const VALUE *values;
    const REAL *b;
    REAL *out, *x, *scratch;
    int stride, sides;
} NAME(sweep);

/* A task loads its unknowns from b, and stores them to out after both sweeps over it: no other task
 * waits for that. */
SN_ALWAYS_INLINE void NAME(walk_up)(const NAME(sweep) * s, const sn_supernodal_task *task,
                                    const int sides) {
    const sn_supernodal *pattern = s->pattern;
    REAL *t = s->scratch + task->scratch * (size_t)sides;
    const int length = sn_supernodal_row_length(sides);
    REAL *copy = s->x + (size_t)pattern->size * (size_t)length;
    for (int e = task->copies_begin * length; e < task->copies_end * length; e++) copy[e] = 0;
    for (int m = task->begin; m < task->end; m++) {
        const sn_supernode *node = &pattern->node[pattern->member[m]];
        NAME(forward)(pattern, node, s->values, s->b, s->stride, s->x, t, task->stride, sides);
    }
}

SN_ALWAYS_INLINE void NAME(walk_down)(const NAME(sweep) * s, const sn_supernodal_task *task,
                                      const int sides) {
    const sn_supernodal *pattern = s->pattern;
    REAL *t = s->scratch + task->scratch * (size_t)sides;
    for (int e = task->copies_begin; e < task->copies_end; e++)
        for (int q = 0; q < sides; q++) NAME(row_at)
    (s->x, NULL, pattern->size + e, sides)[q] = NAME(row_at)(s->x, pattern->copy_of, e, sides)[q];
    for (int m = task->end - 1; m >= task->begin; m--) {
        const sn_supernode *node = &pattern->node[pattern->member[m]];
        NAME(backward)(pattern, node, s->values, s->x, t, task->stride, sides);
        for (int i = node->first; i < node->first + node->width; i++) {
            REAL *to = s->out + (size_t)pattern->permutation[i] * (size_t)s->stride;
            const REAL *from = NAME(row_at)(s->x, NULL, i, sides);
            for (int q = 0; q < sides; q++) to[q] = from[q];
        }
    }
}

static void NAME(run_task)(const NAME(sweep) * s, int t, bool down, int sides) {
    const sn_supernodal_task *task = &s->pattern->task[t];
    if (sn_scope_poll()) return;
    switch (sides * 2 + down) {
#ifndef BFLOAT16 /* of three sides alone */
    case 2:
        NAME(walk_up)(s, task, 1);
        break;
    case 3:
        NAME(walk_down)(s, task, 1);
        break;
    case 4:
        NAME(walk_up)(s, task, 2);
        break;
    case 5:
        NAME(walk_down)(s, task, 2);
        break;
    case 8:
        NAME(walk_up)(s, task, 4);
        break;
    case 9:
        NAME(walk_down)(s, task, 4);
        break;
    case 16:
        NAME(walk_up)(s, task, 8);
        break;
    case 17:
        NAME(walk_down)(s, task, 8);
        break;
#endif
    case 6:
        NAME(walk_up)(s, task, 3);
        break;
    default:
        NAME(walk_down)(s, task, 3);
        break;
    }
}

static void NAME(run_up)(void *context, sn_span span) {
    const NAME(sweep) *s = context;
    SN_IN_SPAN(int, t, span) NAME(run_task)(s, t, false, s->sides);
}

static void NAME(run_down)(void *context, sn_span span) {
    const NAME(sweep) *s = context;
    for (int t = (int)span.end - 1; t >= (int)span.begin; t--) NAME(run_task)(s, t, true, s->sides);
}

/* Everything is read from b before anything is written to out, because the top is processed in
 * between. The backward sweep uses the same seats as the forward sweep, so that a thread finds its
 * data in its caches. */
void NAME(sn_supernodal_solve)(const sn_supernodal *pattern, const VALUE *values, int sides,
                               int stride, const REAL *b, REAL *out, REAL *x, REAL *scratch) {
    size_t length = (size_t)sn_supernodal_row_length(sides);
    NAME(sweep) s = {pattern, values, b, out, x, scratch, stride, sides};
    double work = (double)pattern->values * sides / fmax(1, pattern->tasks); /* per task */
    unsigned rounding = flush_tiny(); /* in the helper threads, too */
    memset(x, 0, (size_t)pattern->size * length * sizeof *x);
    sn_parallel_for_weighted(pattern->tasks, 1, work, NAME(run_up), &s);
    const REAL *copy = x + (size_t)pattern->size * length;
    for (int e = 0; e < pattern->copies; e++)
        for (int q = 0; q < sides; q++)
            NAME(row_at)(x, pattern->copy_of, e, sides)[q] += copy[(size_t)e * length + (size_t)q];
    NAME(run_task)(&s, pattern->tasks, false, sides);
    NAME(run_task)(&s, pattern->tasks, true, sides);
    sn_parallel_for_weighted(pattern->tasks, 1, work, NAME(run_down), &s);
    restore_tiny(rounding);
}
