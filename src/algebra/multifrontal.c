#include "algebra/multifrontal.h"

#include <stdatomic.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/scope.h"

/* Below this many values a second thread costs more than it saves. */

/* Working memory of one task. */
typedef struct area {
    double *front;    /* the largest front of the task */
    double *stack;    /* updates waiting for their parent */
    int *places;      /* rows of a child in the front of its parent */
    int bad_column;   /* in factor order, -1: none */
    int longest;      /* rows of the largest front */
    size_t stack_top; /* the maximum ever used */
} area;

typedef struct factorization {
    const sn_supernodal *pattern;
    double *values;
    int *start, *row; /* the matrix by columns in factor order: diagonal and below */
    double *entry;
    int *node_of;         /* column -> supernode */
    int *child, *sibling; /* lists of children, increasing */
    int *area_of;         /* supernode -> task */
    size_t *update;       /* position of each supernode's update on the stack of its task */
    area *areas;          /* tasks + 1 */
    atomic_bool cancelled;
} factorization;

static size_t square(int side) {
    return (size_t)side * (size_t)side;
}

static int rows_of(const sn_supernode *node) {
    return node->width + node->below;
}

/* Row k below a supernode, in factor order. */
static int row_below(const sn_supernodal *pattern, const sn_supernode *node, int k) {
    return sn_supernodal_unknown(pattern, pattern->row[node->rows + k]);
}

static void free_factorization(factorization *f) {
    for (int t = 0; f->areas && t <= f->pattern->tasks; t++) {
        sn_free_aligned(f->areas[t].front);
        sn_free_aligned(f->areas[t].stack);
        sn_free(f->areas[t].places);
    }
    void *blocks[] = {f->start,   f->row,     f->entry,  f->node_of, f->child,
                      f->sibling, f->area_of, f->update, f->areas};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sn_free(blocks[i]);
}

static bool allocate(factorization *f, int entries) {
    size_t size = (size_t)f->pattern->size, count = (size_t)f->pattern->count;
    f->start = SN_NEW0(int, size + 2);
    f->row = SN_NEW(int, entries);
    f->entry = SN_NEW(double, entries);
    f->node_of = SN_NEW(int, size);
    f->child = SN_NEW(int, count);
    f->sibling = SN_NEW(int, count);
    f->area_of = SN_NEW(int, count);
    f->update = SN_NEW(size_t, count);
    f->areas = SN_NEW0(area, (size_t)f->pattern->tasks + 1);
    return f->start && f->row && f->entry && f->node_of && f->child && f->sibling && f->area_of &&
           f->update && f->areas;
}

/* The matrix in factor order; node_of serves as the inverse permutation here. */
static void permute(factorization *f, const sn_sparse *matrix) {
    int *inverse = f->node_of;
    for (int j = 0; j < matrix->columns; j++) inverse[f->pattern->permutation[j]] = j;
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < matrix->columns; j++)
            for (int e = matrix->start[j]; e < matrix->start[j + 1]; e++) {
                int p = inverse[j], q = inverse[matrix->row[e]];
                int column = p < q ? p : q;
                if (pass == 0) {
                    f->start[column + 2]++;
                } else {
                    int at = f->start[column + 1]++;
                    f->row[at] = p < q ? q : p;
                    f->entry[at] = matrix->value[e];
                }
            }
        for (int j = 0; pass == 0 && j < matrix->columns; j++) f->start[j + 2] += f->start[j + 1];
    }
}

/* Builds the tree, and assigns each supernode to a task. */
static void link_supernodes(factorization *f) {
    const sn_supernodal *pattern = f->pattern;
    for (int s = 0; s < pattern->count; s++) {
        f->child[s] = -1;
        for (int j = 0; j < pattern->node[s].width; j++) f->node_of[pattern->node[s].first + j] = s;
    }
    for (int s = pattern->count - 1; s >= 0; s--) {
        if (pattern->node[s].below == 0) continue;
        int parent = f->node_of[row_below(pattern, &pattern->node[s], 0)];
        f->sibling[s] = f->child[parent];
        f->child[parent] = s;
    }
    for (int t = 0; t <= pattern->tasks; t++)
        for (int m = pattern->task[t].begin; m < pattern->task[t].end; m++)
            f->area_of[pattern->member[m]] = t;
}

/* Assigns each update its position, and each task the memory it needs. */
static bool lay_out(factorization *f) {
    const sn_supernodal *pattern = f->pattern;
    for (int t = 0; t <= pattern->tasks; t++) {
        area *own = &f->areas[t];
        size_t used = 0;
        for (int m = pattern->task[t].begin; m < pattern->task[t].end; m++) {
            int s = pattern->member[m];
            const sn_supernode *node = &pattern->node[s];
            int first = f->child[s];
            while (first >= 0 && f->area_of[first] != t) first = f->sibling[first];
            if (first >= 0) used = f->update[first];
            f->update[s] = used;
            used += square(node->below);
            if (used > own->stack_top) own->stack_top = used;
            if (rows_of(node) > own->longest) own->longest = rows_of(node);
        }
        own->bad_column = -1;
        own->front = sn_alloc_aligned(square(own->longest), sizeof(double));
        own->stack = sn_alloc_aligned(own->stack_top, sizeof(double));
        own->places = SN_NEW(int, own->longest);
        if (!own->front || !own->stack || !own->places) return false;
    }
    return true;
}

/* Index of a row (in factor order) within the front of a supernode. */
static int place_in_front(const sn_supernodal *pattern, const sn_supernode *node, int row) {
    if (row < node->first + node->width) return row - node->first;
    int low = 0, high = node->below;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (row_below(pattern, node, middle) <= row)
            low = middle;
        else
            high = middle;
    }
    return node->width + low;
}

static void add_matrix(const factorization *f, const sn_supernode *node, double *front) {
    size_t rows = (size_t)rows_of(node);
    for (int c = 0; c < node->width; c++)
        for (int e = f->start[node->first + c]; e < f->start[node->first + c + 1]; e++)
            front[(size_t)place_in_front(f->pattern, node, f->row[e]) + rows * (size_t)c] +=
                f->entry[e];
}

/* The rows of parent and child are both increasing, so one pass over both finds their positions. */
static void add_update(const factorization *f, const sn_supernode *node, int child, int *places,
                       double *front) {
    const sn_supernodal *pattern = f->pattern;
    const sn_supernode *from = &pattern->node[child];
    const double *update = f->areas[f->area_of[child]].stack + f->update[child];
    size_t rows = (size_t)rows_of(node), below = (size_t)from->below;
    for (int k = 0, at = 0; k < from->below; k++) {
        int row = row_below(pattern, from, k);
        if (row < node->first + node->width) {
            places[k] = row - node->first;
            continue;
        }
        while (row_below(pattern, node, at) < row) at++;
        places[k] = node->width + at;
    }
    for (size_t c = 0; c < below; c++) {
        double *to = front + rows * (size_t)places[c];
        const double *column = update + below * c;
        for (size_t r = c; r < below; r++) to[places[r]] += column[r];
    }
}

static void factor_node(const factorization *f, area *own, int s) {
    const sn_supernode *node = &f->pattern->node[s];
    size_t rows = (size_t)rows_of(node), width = (size_t)node->width, below = (size_t)node->below;
    double *front = own->front;
    for (size_t c = 0; c < rows && !(c % 64 == 0 && sn_scope_poll()); c++)
        memset(front + c * (rows + 1), 0, (rows - c) * sizeof *front);
    add_matrix(f, node, front);
    for (int c = f->child[s]; c >= 0; c = f->sibling[c]) add_update(f, node, c, own->places, front);
    int bad = sn_dense_eliminate((int)rows, node->width, front);
    if (bad >= 0) {
        own->bad_column = node->first + bad;
        return;
    }
    sn_supernodal_store(f->pattern, s, front, f->values);
    double *update = own->stack + f->update[s];
    for (size_t c = 0; c < below; c++)
        memcpy(update + c * (below + 1), front + (width + c) * (rows + 1),
               (below - c) * sizeof *update);
}

static void run_task(factorization *f, int t) {
    const sn_supernodal_task *task = &f->pattern->task[t];
    for (int m = task->begin; m < task->end && f->areas[t].bad_column < 0; m++) {
        if (sn_interrupted()) atomic_store(&f->cancelled, true);
        if (atomic_load_explicit(&f->cancelled, memory_order_relaxed)) return;
        factor_node(f, &f->areas[t], f->pattern->member[m]);
    }
}

static void run_tasks(void *context, sn_span span) {
    SN_IN_SPAN(int, t, span) run_task(context, t);
}

sinew_status sn_multifrontal_factor(const sn_supernodal *pattern, const sn_sparse *matrix,
                                    double *values, sinew_error *error) {
    factorization f = {.pattern = pattern, .values = values};
    sinew_status status = SINEW_OK;
    if (allocate(&f, sn_sparse_nonzeros(matrix))) {
        permute(&f, matrix);
        link_supernodes(&f);
        if (!lay_out(&f)) status = sn_no_memory(error);
    } else {
        status = sn_no_memory(error);
    }
    if (status == SINEW_OK) {
        int bad = -1;
        sn_parallel_for_weighted(pattern->tasks, 1, (double)pattern->values / pattern->tasks,
                                 run_tasks, &f);
        for (int t = 0; t < pattern->tasks && bad < 0; t++) bad = f.areas[t].bad_column;
        if (bad < 0) {
            run_task(&f, pattern->tasks);
            bad = f.areas[pattern->tasks].bad_column;
        }
        if (sn_scope_cancelled() || atomic_load(&f.cancelled))
            status = sn_fail(error, SINEW_CANCELLED, "cancelled");
        else if (bad >= 0)
            status =
                sn_fail(error, SINEW_BAD_INPUT, "the matrix is not positive definite at column %d",
                        pattern->permutation[bad]);
    }
    free_factorization(&f);
    return status;
}
