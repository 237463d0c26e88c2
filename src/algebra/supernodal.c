#include "algebra/supernodal.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/inline.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/scope.h"

enum {
    LANES = SN_SUPERNODAL_LANES,
    PANEL = SN_SUPERNODAL_PANEL,
    TRIANGLE = PANEL * PANEL,
    PANEL_SIDES = 4 /* right-hand sides whose sums fit in registers */
};

/* Cost of a supernode, in units of factor entries read: entries + ROW_COST per row (copying it to
 * and from the scratch array, in both sweeps) + NODE_COST. Measured on surface and volume
 * Laplacians. */
static const double ROW_COST = 8, NODE_COST = 40;
/* A subtree is cut further while it holds more than 1 / TASK_SHARE of the work. More cuts balance
 * the work better but leave more of it to the one thread that processes the top: 4 is best for two
 * threads and still good for eight. */
static const double TASK_SHARE = 4;

static size_t round_up(size_t count) {
    return (count + LANES - 1) / LANES * LANES;
}

/* Number of values in the panel of w columns that starts at column j of a supernode: a 4 x 4
 * triangle with inverse diagonal, then the rows from the multiple of LANES at or before j + w to
 * the end. */
static size_t panel_values(const sn_supernode *node, int j, int w) {
    size_t rows = round_up((size_t)(node->width + node->below)) - (size_t)(j + w) / LANES * LANES;
    return TRIANGLE + rows * (size_t)w;
}

static size_t node_values(const sn_supernode *node) {
    size_t total = 0;
    for (int j = 0; j < node->width; j += PANEL)
        total += panel_values(node, j, node->width - j < PANEL ? node->width - j : PANEL);
    return total;
}

/* ---- pattern ----------------------------------------------------------------------------------
 */

/* Temporary data for building the pattern. */
typedef struct builder {
    const sn_sparse *matrix;
    int size;
    int *inverse; /* matrix order -> factor order */
    int *link_start,
        *link;            /* for each factor column, the rows of its matrix entries, all of them */
    int *parent;          /* elimination tree */
    int *node_of;         /* column -> supernode */
    int *node_parent;     /* -1: a root */
    int *child, *sibling; /* lists of children, by supernode */
    int *mark, *list;
    double *weight; /* of the subtree rooted at the supernode */
    char *in_top;
} builder;

static void free_builder(builder *b) {
    void *blocks[] = {b->inverse, b->link_start, b->link, b->parent, b->node_of, b->node_parent,
                      b->child,   b->sibling,    b->mark, b->list,   b->weight,  b->in_top};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sn_free(blocks[i]);
}

static bool allocate_builder(builder *b, const sn_sparse *matrix) {
    size_t n = (size_t)matrix->columns;
    *b = (builder){.matrix = matrix, .size = matrix->columns};
    int **arrays[] = {&b->inverse, &b->parent,  &b->node_of, &b->node_parent,
                      &b->child,   &b->sibling, &b->mark,    &b->list};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (!(*arrays[i] = SN_NEW(int, n + 1))) return false;
    b->link_start = SN_NEW0(int, n + 2);
    b->link = SN_NEW(int, 2 * (size_t)sn_sparse_nonzeros(matrix));
    b->weight = SN_NEW0(double, n + 1);
    b->in_top = SN_NEW0(char, n + 1);
    return b->link_start && b->link && b->weight && b->in_top;
}

/* Neighbors of each column in factor order, from the stored triangle. */
static void find_links(builder *b) {
    const sn_sparse *m = b->matrix;
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < b->size; j++)
            for (int e = m->start[j]; e < m->start[j + 1]; e++) {
                int p = b->inverse[j], q = b->inverse[m->row[e]];
                if (p == q) continue;
                if (pass == 0) {
                    b->link_start[p + 2]++;
                    b->link_start[q + 2]++;
                } else {
                    b->link[b->link_start[p + 1]++] = q;
                    b->link[b->link_start[q + 1]++] = p;
                }
            }
        if (pass == 0)
            for (int j = 0; j < b->size; j++) b->link_start[j + 2] += b->link_start[j + 1];
    }
}

/* Liu 1990: the tree of each earlier neighbor becomes a child of the first later column that
 * reaches it. */
static void find_tree(builder *b) {
    int *ancestor = b->list;
    for (int j = 0; j < b->size; j++) {
        b->parent[j] = -1;
        ancestor[j] = -1;
        for (int e = b->link_start[j]; e < b->link_start[j + 1]; e++) {
            for (int i = b->link[e]; i < j && i >= 0;) {
                int up = ancestor[i];
                ancestor[i] = j;
                if (up < 0) {
                    b->parent[i] = j;
                    break;
                }
                i = up;
            }
        }
    }
}

static double node_cost(double width, double below) {
    return width * below + width * (width + 1) / 2 + ROW_COST * (width + below) + NODE_COST;
}

/* Supernodes: chains of columns whose patterns nest exactly, then adjacent ones merged where
 * storing the extra zeros costs less than handling two supernodes. Only the last child can merge:
 * the columns of other children are not adjacent to their parent's. A stack of finished supernodes
 * allows repeated merging: the supernode on top always directly precedes the new one. */
static void find_supernodes(builder *b, const int *column_count, sn_supernodal *pattern) {
    int count = 0;
    for (int j = 0; j < b->size; j++) {
        sn_supernode *top = count ? &pattern->node[count - 1] : NULL;
        bool chain = top && b->parent[j - 1] == j && column_count[j - 1] == column_count[j] + 1;
        if (chain) {
            top->width++;
            top->below--;
        } else {
            pattern->node[count++] =
                (sn_supernode){.first = j, .width = 1, .below = column_count[j] - 1};
        }
        bool ends =
            j + 1 == b->size || b->parent[j] != j + 1 || column_count[j] != column_count[j + 1] + 1;
        while (ends && count >= 2) {
            sn_supernode *last = &pattern->node[count - 1], *before = last - 1;
            if (b->parent[last->first - 1] < 0 || b->parent[last->first - 1] > j) break;
            double merged = node_cost(before->width + last->width, last->below);
            if (merged >
                node_cost(before->width, before->below) + node_cost(last->width, last->below))
                break;
            before->width += last->width;
            before->below = last->below;
            count--;
        }
    }
    pattern->count = count;
    for (int s = 0; s < count; s++)
        for (int j = 0; j < pattern->node[s].width; j++) b->node_of[pattern->node[s].first + j] = s;
    for (int s = 0; s < count; s++) b->child[s] = -1;
    for (int s = count - 1; s >= 0; s--) {
        int up = b->parent[pattern->node[s].first + pattern->node[s].width - 1];
        b->node_parent[s] = up < 0 ? -1 : b->node_of[up];
        if (up < 0) continue;
        b->sibling[s] = b->child[b->node_parent[s]];
        b->child[b->node_parent[s]] = s;
    }
}

static int compare_ints(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Rows below each supernode: those of its own matrix entries and those inherited from its
 * children. */
static bool find_rows(builder *b, sn_supernodal *pattern) {
    long long total = 0;
    for (int s = 0; s < pattern->count; s++) {
        pattern->node[s].rows = (int)total;
        total += pattern->node[s].below;
        if (total > INT32_MAX) return false;
    }
    pattern->row = SN_NEW(int, total);
    if (!pattern->row) return false;
    for (int j = 0; j < b->size; j++) b->mark[j] = -1;
    for (int s = 0; s < pattern->count; s++) {
        sn_supernode *node = &pattern->node[s];
        int last = node->first + node->width - 1, found = 0;
        for (int j = node->first; j <= last; j++)
            for (int e = b->link_start[j]; e < b->link_start[j + 1]; e++) {
                int i = b->link[e];
                if (i > last && b->mark[i] != s) b->mark[i] = s, b->list[found++] = i;
            }
        for (int c = b->child[s]; c >= 0; c = b->sibling[c]) {
            const int *rows = pattern->row + pattern->node[c].rows;
            for (int k = 0; k < pattern->node[c].below; k++) {
                int i = rows[k];
                if (i > last && b->mark[i] != s) b->mark[i] = s, b->list[found++] = i;
            }
        }
        if (found != node->below) return false; /* the counts do not belong to this matrix */
        qsort(b->list, (size_t)found, sizeof *b->list, compare_ints);
        memcpy(pattern->row + node->rows, b->list, (size_t)found * sizeof *b->list);
    }
    return true;
}

/* ---- tasks ------------------------------------------------------------------------------------
 */

/* Cuts the tree: while the heaviest subtree exceeds its share, its root moves to the top. */
static int cut_tree(builder *b, const sn_supernodal *pattern, int *roots) {
    double total = 0;
    for (int s = 0; s < pattern->count; s++) {
        const sn_supernode *node = &pattern->node[s];
        b->weight[s] += node_cost(node->width, node->below);
        if (b->node_parent[s] >= 0)
            b->weight[b->node_parent[s]] += b->weight[s];
        else
            total += b->weight[s];
    }
    /* in descending order, every subtree is visited after the one it was cut from */
    for (int s = pattern->count - 1; s >= 0; s--) {
        bool below_top = b->node_parent[s] < 0 || b->in_top[b->node_parent[s]];
        b->in_top[s] = below_top && b->child[s] >= 0 && b->weight[s] > total / TASK_SHARE;
    }
    int count = 0;
    for (int s = 0; s < pattern->count; s++)
        if (!b->in_top[s] && (b->node_parent[s] < 0 || b->in_top[b->node_parent[s]]))
            roots[count++] = s;
    return count;
}

static int longest(const sn_supernodal *pattern, const sn_supernodal_task *task) {
    int rows = 0;
    for (int m = task->begin; m < task->end; m++) {
        const sn_supernode *node = &pattern->node[pattern->member[m]];
        if (node->width + node->below > rows) rows = node->width + node->below;
    }
    return rows;
}

/* Groups the subtrees, in order, into tasks of about equal weight, and assigns private copies to
 * the rows above each subtree. In a postorder a subtree is a run of supernodes up to its root. */
static bool find_tasks(builder *b, sn_supernodal *pattern) {
    int *roots = b->list;
    int subtrees = cut_tree(b, pattern, roots);
    double total = 0, filled = 0;
    long long copies = 0;
    for (int r = 0; r < subtrees; r++) {
        total += b->weight[roots[r]];
        copies += pattern->node[roots[r]].below;
    }
    if (copies + b->size > INT32_MAX) return false;
    int most_tasks = subtrees < SN_SUPERNODAL_TASKS ? subtrees : SN_SUPERNODAL_TASKS;
    pattern->member = SN_NEW(int, pattern->count);
    pattern->task = SN_NEW0(sn_supernodal_task, (size_t)most_tasks + 1);
    pattern->copy_of = SN_NEW(int, copies);
    if (!pattern->member || !pattern->task || !pattern->copy_of) return false;

    int members = 0, tasks = 0;
    for (int r = 0; r < subtrees; r++) {
        int root = roots[r], first = root;
        while (first > 0 && !b->in_top[first - 1] && b->node_parent[first - 1] >= 0 &&
               b->node_parent[first - 1] <= root && (r == 0 || first - 1 > roots[r - 1]))
            first--;
        const sn_supernode *top = &pattern->node[root];
        int base = pattern->copies;
        memcpy(pattern->copy_of + base, pattern->row + top->rows,
               (size_t)top->below * sizeof *pattern->copy_of);
        pattern->copies += top->below;
        int last = top->first + top->width - 1;
        for (int s = first; s <= root; s++) {
            const sn_supernode *node = &pattern->node[s];
            int *rows = pattern->row + node->rows, place = 0;
            pattern->member[members++] = s;
            for (int k = 0; k < node->below; k++) {
                if (rows[k] <= last) continue;
                while (pattern->copy_of[base + place] != rows[k]) place++;
                rows[k] = b->size + base + place;
            }
        }
        filled += b->weight[root];
        if (r + 1 == subtrees || filled >= total * (tasks + 1) / most_tasks) {
            pattern->task[tasks].copies_end = pattern->copies;
            pattern->task[tasks++].end = members;
        }
    }
    for (int s = 0; s < pattern->count; s++)
        if (b->in_top[s]) pattern->member[members++] = s;
    if (members != pattern->count) return false; /* not a postorder */
    pattern->task[tasks].end = members;
    pattern->task[tasks].copies_end = pattern->copies;
    pattern->tasks = tasks;
    for (int t = 0; t <= tasks; t++) {
        pattern->task[t].begin = t ? pattern->task[t - 1].end : 0;
        pattern->task[t].copies_begin = t ? pattern->task[t - 1].copies_end : 0;
        pattern->task[t].stride = (int)round_up((size_t)longest(pattern, &pattern->task[t]) + 1);
        pattern->task[t].scratch = pattern->scratch;
        pattern->scratch += (size_t)pattern->task[t].stride;
    }
    return true;
}

sinew_status sn_supernodal_create(const sn_sparse *matrix, const int *permutation,
                                  const int *column_count, sn_supernodal **pattern,
                                  sinew_error *error) {
    *pattern = NULL;
    int size = matrix->columns;
    builder b;
    sn_supernodal *made = SN_NEW0(sn_supernodal, 1);
    sinew_status status = SINEW_OK;
    bool allocated = allocate_builder(&b, matrix);
    if (made) {
        made->size = size;
        made->node = SN_NEW0(sn_supernode, size);
        made->permutation = sn_memdup(permutation, (size_t)size, sizeof(int));
    }
    if (!allocated || !made || !made->node || !made->permutation) {
        status = sn_no_memory(error);
        goto done;
    }
    for (int j = 0; j < size; j++) b.inverse[permutation[j]] = j;
    find_links(&b);
    if (sn_scope_poll()) {
        status = sn_fail(error, SINEW_CANCELLED, "cancelled");
        goto done;
    }
    find_tree(&b);
    find_supernodes(&b, column_count, made);
    bool complete = find_rows(&b, made);
    if (complete) complete = find_tasks(&b, made);
    if (!complete) {
        status = made->row && made->member && made->task && made->copy_of
                     ? sn_fail(error, SINEW_BAD_INPUT, "the ordering is not a postorder")
                     : sn_no_memory(error);
        goto done;
    }
    for (int s = 0; s < made->count; s++) {
        made->node[s].values = made->values;
        made->values += node_values(&made->node[s]);
        size_t width = (size_t)made->node[s].width;
        made->entries += width * (size_t)made->node[s].below + width * (width + 1) / 2;
    }
done:
    free_builder(&b);
    if (status == SINEW_OK)
        *pattern = made;
    else
        sn_supernodal_destroy(made);
    return status;
}

void sn_supernodal_destroy(sn_supernodal *pattern) {
    if (!pattern) return;
    void *blocks[] = {pattern->node,   pattern->row,  pattern->permutation,
                      pattern->member, pattern->task, pattern->copy_of};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sn_free(blocks[i]);
    sn_free(pattern);
}

/* ---- values -----------------------------------------------------------------------------------
 */

void sn_supernodal_store(const sn_supernodal *pattern, int supernode, const double *L,
                         double *values) {
    const sn_supernode *node = &pattern->node[supernode];
    int rows = node->width + node->below;
    values += node->values;
    for (int j = 0; j < node->width; j += PANEL) {
        int w = node->width - j < PANEL ? node->width - j : PANEL;
        int aligned = (j + w) / LANES * LANES;
        size_t length = panel_values(node, j, w);
        memset(values, 0, length * sizeof *values);
        for (int c = 0; c < w; c++) {
            const double *column = L + (size_t)(j + c) * (size_t)rows;
            values[c * PANEL + c] = 1 / column[j + c];
            for (int i = j + c + 1; i < j + w; i++) values[c * PANEL + i - j] = column[i];
            double *to = values + TRIANGLE + (size_t)c * LANES;
            for (int i = aligned; i < rows; i += LANES, to += (size_t)w * LANES)
                for (int q = i < j + w ? j + w - i : 0; q < LANES && i + q < rows; q++)
                    to[q] = column[i + q];
        }
        values += length;
    }
}

/* ---- sweeps -----------------------------------------------------------------------------------
 */

/* Solutions that decay with distance underflow to denormal numbers, which are a hundred times
 * slower: they are flushed to zero during a sweep. */
#ifdef __SSE__
static inline unsigned flush_tiny(void) {
    unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x8040u); /* flush to zero, denormals are zero */
    return saved;
}
static inline void restore_tiny(unsigned saved) {
    _mm_setcsr(saved);
}
#else
static inline unsigned flush_tiny(void) {
    return 0;
}
static inline void restore_tiny(unsigned saved) {
    (void)saved;
}
#endif

/* Bytes: a few hundred cycles of work, about the latency of a busy memory. */
#define FETCH_AHEAD 8192

enum { VECTOR_BYTES = 32 };

static inline float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define REAL       double
#define VALUE      double
#define NAME(name) name
#include "algebra/supernodal_sweep.h"
#undef REAL
#undef VALUE
#undef NAME

#define REAL       float
#define VALUE      float
#define NAME(name) name##_f32
#include "algebra/supernodal_sweep.h"
#undef VALUE
#undef NAME

#define BFLOAT16
#define VALUE      uint16_t
#define NAME(name) name##_bf16
#include "algebra/supernodal_sweep.h"
#undef REAL
#undef VALUE
#undef NAME
