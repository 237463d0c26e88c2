/* Based on: George, "Nested dissection of a regular finite element mesh" (1973), and multifrontal
 * elimination. We differ in: the inverses of the diagonal blocks are stored, which turns the
 * triangular solves into products that a device does in parallel. */
#include "gpu/dissection.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"

/* ---- order ---- */

/* Rearranges items so that the first `left` are the lowest along the axis; ties by index. */
static void split(int count, int left, const double *positions, int axis, int *items) {
    int low = 0, high = count - 1;
    while (low < high) {
        int pivot = items[low + (high - low) / 2];
        double value = positions[3 * (size_t)pivot + (size_t)axis];
        int i = low, j = high;
        while (i <= j) {
            for (;; i++) {
                double at = positions[3 * (size_t)items[i] + (size_t)axis];
                if (!(at < value || (at == value && items[i] < pivot))) break;
            }
            for (;; j--) {
                double at = positions[3 * (size_t)items[j] + (size_t)axis];
                if (!(at > value || (at == value && items[j] > pivot))) break;
            }
            if (i <= j) {
                int swap = items[i];
                items[i++] = items[j], items[j--] = swap;
            }
        }
        if (left <= j)
            high = j;
        else if (left >= i)
            low = i;
        else
            return;
    }
}

static int longest_axis(int count, const double *positions, const int *items) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int k = 0; k < count; k++)
        for (int c = 0; c < 3; c++) {
            double x = positions[3 * (size_t)items[k] + (size_t)c];
            low[c] = fmin(low[c], x), high[c] = fmax(high[c], x);
        }
    int axis = 0;
    for (int c = 1; c < 3; c++)
        if (high[c] - low[c] > high[axis] - low[axis]) axis = c;
    return axis;
}

void sn_order_by_halves(int count, const double *positions, int *items) {
    enum { SMALLEST = 8 };
    while (count > SMALLEST) {
        int left = count / 2;
        split(count, left, positions, longest_axis(count, positions, items), items);
        sn_order_by_halves(left, positions, items);
        items += left, count -= left;
    }
}

/* ---- the tree ---- */

typedef struct part {
    int begin, own, end; /* items: children's in [begin, own), the node's in [own, end) */
    int child[2], depth;
    int boundary_count, boundary_first;
    int *boundary; /* unknowns above that it touches, in the order of the tree */
    double *schur; /* boundary x boundary, until the parent has taken it */
} part;

typedef struct builder {
    const int *start, *column; /* all entries of the matrix, by row */
    const double *value;
    const double *positions;
    int count, leaf;
    int *items, *spare; /* unknowns, arranged by parts */
    int *mark, stamp;   /* per unknown */
    int *place;         /* per unknown: in the tree */
    int *local;         /* per unknown: in the front at hand, or -1 */
    part *parts;
    size_t part_count, part_capacity;
    sn_dissection *made;
    size_t value_capacity, boundary_capacity, boundary_from_capacity;
} builder;

/* The items of one half that touch the other; marks: low a, high b. Returns how many, and writes
 * them to `found` unless NULL. */
static int count_touching(const builder *b, int count, const int *items, int own, int other,
                          int *found) {
    int touching = 0;
    for (int k = 0; k < count; k++) {
        int v = items[k];
        if (b->mark[v] != own) continue;
        for (int e = b->start[v]; e < b->start[v + 1]; e++)
            if (b->mark[b->column[e]] == other) {
                if (found) found[touching] = v;
                touching++;
                break;
            }
    }
    return touching;
}

/* Marks the halves along the axis; returns the size of the smaller separator, and which half has
 * it. */
static int try_axis(builder *b, int count, int *items, int axis, int *side) {
    split(count, count / 2, b->positions, axis, items);
    int low = ++b->stamp, high = ++b->stamp;
    for (int k = 0; k < count; k++) b->mark[items[k]] = k < count / 2 ? low : high;
    int a = count_touching(b, count, items, low, high, NULL);
    int c = count_touching(b, count, items, high, low, NULL);
    *side = a <= c ? 0 : 1;
    return a <= c ? a : c;
}

/* Arranges items as first half, second half, separator; returns the sizes of the halves. */
static void cut(builder *b, int count, int *items, int *first, int *second) {
    int best = -1, best_size = 0, best_side = 0;
    for (int axis = 0; axis < 3; axis++) {
        int side, size = try_axis(b, count, items, axis, &side);
        if (best < 0 || size < best_size) best = axis, best_size = size, best_side = side;
    }
    try_axis(b, count, items, best, &best_side);
    int low = b->stamp - 1, high = b->stamp;
    int own = best_side ? high : low, other = best_side ? low : high;
    int size = count_touching(b, count, items, own, other, b->spare);
    int separator = ++b->stamp, at = 0;
    for (int k = 0; k < size; k++) b->mark[b->spare[k]] = separator;
    int *arranged = b->spare + size;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < count; k++)
            if (b->mark[items[k]] == (pass ? high : low)) arranged[at++] = items[k];
        if (pass == 0) *first = at;
    }
    *second = at - *first;
    memcpy(items + at, b->spare, (size_t)size * sizeof *items);
    memcpy(items, arranged, (size_t)at * sizeof *items);
}

/* Index of the part, or -1: no memory. */
static int divide(builder *b, int begin, int end, int depth) {
    if (!SN_RESERVE(b->parts, b->part_capacity, b->part_count + 1)) return -1;
    int index = (int)b->part_count++;
    b->parts[index] =
        (part){.begin = begin, .own = begin, .end = end, .child = {-1, -1}, .depth = depth};
    if (end - begin <= b->leaf) return index;
    int first = 0, second = 0;
    cut(b, end - begin, b->items + begin, &first, &second);
    if (first == 0 && second == 0) return index; /* everything touches everything */
    b->parts[index].own = begin + first + second;
    int sizes[2] = {first, second}, at = begin;
    for (int side = 0; side < 2; side++) {
        if (sizes[side] == 0) continue;
        int child = divide(b, at, at + sizes[side], depth + 1);
        if (child < 0) return -1;
        b->parts[index].child[side] = child;
        at += sizes[side];
    }
    return index;
}

/* ---- numbers ---- */

static void sort_places(int count, int *items, const int *place) {
    for (int gap = count / 2; gap > 0; gap /= 2) /* shell sort: small lists, no callback */
        for (int i = gap; i < count; i++) {
            int item = items[i], j = i;
            for (; j >= gap && place[items[j - gap]] > place[item]; j -= gap)
                items[j] = items[j - gap];
            items[j] = item;
        }
}

/* The unknowns above the part that it touches: its own rows, and what its children touch. */
static bool find_boundary(builder *b, part *p, int first_place) {
    int seen = ++b->stamp, count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) {
            p->boundary = SN_NEW(int, count);
            if (!p->boundary) return false;
            seen = ++b->stamp;
        }
        count = 0;
        for (int k = p->own; k < p->end; k++) b->mark[b->items[k]] = seen;
        for (int k = p->own; k < p->end; k++) {
            int v = b->items[k];
            for (int e = b->start[v]; e < b->start[v + 1]; e++) {
                int u = b->column[e];
                if (b->place[u] < first_place || b->mark[u] == seen) continue;
                b->mark[u] = seen;
                if (pass) p->boundary[count] = u;
                count++;
            }
        }
        for (int side = 0; side < 2; side++) {
            if (p->child[side] < 0) continue;
            const part *c = &b->parts[p->child[side]];
            for (int k = 0; k < c->boundary_count; k++) {
                int u = c->boundary[k];
                if (b->mark[u] == seen) continue;
                b->mark[u] = seen;
                if (pass) p->boundary[count] = u;
                count++;
            }
        }
    }
    p->boundary_count = count;
    sort_places(count, p->boundary, b->place);
    return true;
}

static bool append_values(builder *b, int rows, int columns, const double *matrix, bool transposed,
                          size_t *at) {
    sn_dissection *d = b->made;
    size_t count = (size_t)rows * (size_t)columns;
    if (!SN_RESERVE(d->values, b->value_capacity, d->value_count + count)) return false;
    *at = d->value_count;
    float *to = d->values + d->value_count;
    /* matrix is column-major rows x columns; stored by rows */
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            *to++ = (float)(transposed ? matrix[(size_t)c + (size_t)columns * (size_t)r]
                                       : matrix[(size_t)r + (size_t)rows * (size_t)c]);
    d->value_count += count;
    return true;
}

/* Adds the child's Schur complement to the front and says where its contributions go. */
static void take_child(builder *b, part *p, const sn_dissection_node *node, int side, double *front,
                       int size) {
    part *c = &b->parts[p->child[side]];
    sn_dissection *d = b->made;
    for (int i = 0; i < c->boundary_count; i++) {
        int a = b->local[c->boundary[i]];
        if (a < node->own)
            d->own_from[2 * (size_t)(node->first + a) + (size_t)side] = c->boundary_first + i;
        else
            d->boundary_from[2 * (size_t)(node->boundary_first + a - node->own) + (size_t)side] =
                c->boundary_first + i;
        for (int j = 0; j < c->boundary_count; j++)
            front[(size_t)a + (size_t)size * (size_t)b->local[c->boundary[j]]] +=
                c->schur[(size_t)i + (size_t)c->boundary_count * (size_t)j];
    }
    sn_free(c->schur);
    c->schur = NULL;
}

/* The front: own unknowns, then the boundary. Own rows of the matrix, and the children's shares. */
static void fill_front(builder *b, part *p, const sn_dissection_node *node, double *front,
                       int size) {
    for (int i = 0; i < node->own; i++) {
        int v = b->items[p->own + i];
        for (int e = b->start[v]; e < b->start[v + 1]; e++) {
            int j = b->local[b->column[e]];
            if (j < 0) continue;
            front[(size_t)i + (size_t)size * (size_t)j] += b->value[e];
            if (j >= node->own) front[(size_t)j + (size_t)size * (size_t)i] += b->value[e];
        }
    }
    for (int side = 0; side < 2; side++)
        if (p->child[side] >= 0) take_child(b, p, node, side, front, size);
}

/* Inverse, W and W^T of the front; its Schur complement stays with the part. */
static sinew_status eliminate(builder *b, part *p, sn_dissection_node *node, const double *front,
                              int size, sinew_error *error) {
    int w = node->own, n = node->boundary;
    double *inner = SN_NEW(double, (size_t)w *(size_t)w);
    double *inverse = SN_NEW0(double, (size_t)w *(size_t)w);
    double *coupling = SN_NEW(double, (size_t)w *(size_t)n);
    p->schur = SN_NEW(double, (size_t)n *(size_t)n);
    double *held = SN_NEW(double, (size_t)w *(size_t)n);
    sinew_status status =
        inner && inverse && coupling && p->schur && held ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int c = 0; c < w; c++) {
            memcpy(inner + (size_t)w * (size_t)c, front + (size_t)size * (size_t)c,
                   (size_t)w * sizeof *inner);
            inverse[(size_t)c * (size_t)(w + 1)] = 1;
        }
        for (int c = 0; c < n; c++) {
            memcpy(coupling + (size_t)w * (size_t)c, front + (size_t)size * (size_t)(w + c),
                   (size_t)w * sizeof *coupling);
            memcpy(p->schur + (size_t)n * (size_t)c, front + (size_t)size * (size_t)(w + c) + w,
                   (size_t)n * sizeof *p->schur);
        }
        status = w > 0 ? sn_dense_cholesky(w, inner, error) : SINEW_OK;
    }
    if (status == SINEW_OK && w > 0) {
        sn_dense_cholesky_solve(w, inner, w, inverse);
        if (n > 0) {
            memcpy(held, coupling, (size_t)w * (size_t)n * sizeof *held);
            sn_dense_cholesky_solve(w, inner, n, coupling);
            sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, n, n, w, -1, held, coupling, 1, p->schur);
        }
        if (!append_values(b, w, w, inverse, false, &node->inverse) ||
            !append_values(b, w, n, coupling, false, &node->backward) ||
            !append_values(b, n, w, coupling, true, &node->forward))
            status = sn_no_memory(error);
    }
    sn_free(inner), sn_free(inverse), sn_free(coupling), sn_free(held);
    return status;
}

static sinew_status finish_part(builder *b, part *p, sn_dissection_node *node, sinew_error *error) {
    sn_dissection *d = b->made;
    node->own = p->end - p->own;
    if (!find_boundary(b, p, node->first)) return sn_no_memory(error);
    node->boundary = p->boundary_count;
    node->boundary_first = p->boundary_first = d->boundary_count;
    size_t needed = (size_t)(d->boundary_count + p->boundary_count);
    if (!SN_RESERVE(d->boundary, b->boundary_capacity, needed) ||
        !SN_RESERVE(d->boundary_from, b->boundary_from_capacity, 2 * needed))
        return sn_no_memory(error);
    for (int k = 0; k < p->boundary_count; k++) {
        d->boundary[d->boundary_count + k] = b->place[p->boundary[k]];
        d->boundary_from[2 * (d->boundary_count + k)] = -1;
        d->boundary_from[2 * (d->boundary_count + k) + 1] = -1;
    }
    d->boundary_count += p->boundary_count;
    int size = node->own + node->boundary;
    double *front = SN_NEW0(double, (size_t)size *(size_t)size);
    if (!front) return sn_no_memory(error);
    for (int i = 0; i < node->own; i++) b->local[b->items[p->own + i]] = i;
    for (int i = 0; i < node->boundary; i++) b->local[p->boundary[i]] = node->own + i;
    fill_front(b, p, node, front, size);
    for (int i = 0; i < node->own; i++) b->local[b->items[p->own + i]] = -1;
    for (int i = 0; i < node->boundary; i++) b->local[p->boundary[i]] = -1;
    sinew_status status = eliminate(b, p, node, front, size, error);
    sn_free(front);
    int widest = node->own > node->boundary ? node->own : node->boundary;
    if (widest > d->widest) d->widest = widest;
    return status;
}

/* Nodes from the deepest level to the root; places in the tree in that order. */
static sinew_status number(builder *b, int **parts, sinew_error *error) {
    sn_dissection *d = b->made;
    int deepest = 0, at = 0;
    d->node_count = (int)b->part_count;
    for (int k = 0; k < d->node_count; k++)
        if (b->parts[k].depth > deepest) deepest = b->parts[k].depth;
    d->levels = deepest + 1;
    d->nodes = SN_NEW0(sn_dissection_node, d->node_count);
    d->level_start = SN_NEW(int, d->levels + 1);
    d->order = SN_NEW(int, d->count);
    d->own_from = SN_NEW(int, 2 * (size_t)d->count);
    *parts = SN_NEW(int, d->node_count);
    if (!d->nodes || !d->level_start || !d->order || !d->own_from || !*parts)
        return sn_no_memory(error);
    memset(d->own_from, 0xff, 2 * (size_t)d->count * sizeof *d->own_from);
    int node = 0;
    for (int level = 0; level < d->levels; level++) {
        d->level_start[level] = node;
        for (int k = 0; k < d->node_count; k++) {
            const part *p = &b->parts[k];
            if (p->depth != deepest - level) continue;
            (*parts)[node] = k;
            d->nodes[node++].first = at;
            for (int i = p->own; i < p->end; i++) {
                b->place[b->items[i]] = at;
                d->order[at++] = b->items[i];
            }
        }
    }
    d->level_start[d->levels] = node;
    return SINEW_OK;
}

static sinew_status build(builder *b, sinew_error *error) {
    int n = b->count, *parts = NULL;
    b->items = SN_NEW(int, n), b->spare = SN_NEW(int, n);
    b->mark = SN_NEW0(int, n), b->place = SN_NEW(int, n), b->local = SN_NEW(int, n);
    if (!b->items || !b->spare || !b->mark || !b->place || !b->local) return sn_no_memory(error);
    for (int v = 0; v < n; v++) b->items[v] = v, b->local[v] = -1;
    if (divide(b, 0, n, 0) < 0) return sn_no_memory(error);
    sinew_status status = number(b, &parts, error);
    for (int k = 0; k < b->made->node_count && status == SINEW_OK; k++)
        status = finish_part(b, &b->parts[parts[k]], &b->made->nodes[k], error);
    sn_free(parts);
    return status;
}

/* Both triangles of a symmetric matrix, by row. */
static sinew_status expand(const sn_sparse *matrix, int **start, int **column, double **value,
                           sinew_error *error) {
    int n = matrix->columns;
    size_t nonzeros = (size_t)sn_sparse_nonzeros(matrix);
    *start = SN_NEW0(int, n + 2), *column = SN_NEW(int, 2 * nonzeros);
    *value = SN_NEW(double, 2 * nonzeros);
    if (!*start || !*column || !*value) return sn_no_memory(error);
    for (int c = 0; c < n; c++)
        for (int e = matrix->start[c]; e < matrix->start[c + 1]; e++) {
            (*start)[matrix->row[e] + 2]++;
            if (matrix->row[e] != c) (*start)[c + 2]++;
        }
    for (int v = 0; v < n; v++) (*start)[v + 2] += (*start)[v + 1];
    for (int c = 0; c < n; c++)
        for (int e = matrix->start[c]; e < matrix->start[c + 1]; e++) {
            int r = matrix->row[e], at = (*start)[r + 1]++;
            (*column)[at] = c, (*value)[at] = matrix->value[e];
            if (r == c) continue;
            at = (*start)[c + 1]++;
            (*column)[at] = r, (*value)[at] = matrix->value[e];
        }
    return SINEW_OK;
}

int sn_dissection_leaf(int count, size_t bytes) {
    enum { LEAST = 64 };
    double leaf = (double)bytes / sizeof(float) / (count > 0 ? count : 1);
    return leaf < LEAST ? LEAST : leaf > count ? count : (int)leaf;
}

sinew_status sn_dissection_create(const sn_sparse *matrix, const double *positions, int leaf,
                                  sn_dissection **result, sinew_error *error) {
    *result = NULL;
    sn_dissection *made = SN_NEW0(sn_dissection, 1);
    if (!made) return sn_no_memory(error);
    made->count = matrix->columns;
    int *start = NULL, *column = NULL;
    double *value = NULL;
    sinew_status status = expand(matrix, &start, &column, &value, error);
    builder b = {.start = start,
                 .column = column,
                 .value = value,
                 .positions = positions,
                 .count = made->count,
                 .leaf = leaf,
                 .made = made};
    if (status == SINEW_OK) status = build(&b, error);
    for (size_t k = 0; k < b.part_count; k++)
        sn_free(b.parts[k].boundary), sn_free(b.parts[k].schur);
    sn_free(b.parts), sn_free(b.items), sn_free(b.spare), sn_free(b.mark), sn_free(b.place);
    sn_free(b.local), sn_free(start), sn_free(column), sn_free(value);
    if (status == SINEW_OK)
        *result = made;
    else
        sn_dissection_destroy(made);
    return status;
}

void sn_dissection_destroy(sn_dissection *d) {
    if (!d) return;
    sn_free(d->nodes), sn_free(d->level_start), sn_free(d->order), sn_free(d->values);
    sn_free(d->boundary), sn_free(d->own_from), sn_free(d->boundary_from);
    sn_free(d);
}

/* ---- on the device ---- */

size_t sn_dissection_shared(const sn_dissection *d) {
    return SN_GRID_SHARED + sizeof(sn_float4) * (size_t)d->widest;
}

sinew_status sn_dissection_upload(const sn_dissection *d, sn_gpu_store *store,
                                  sn_dissection_device *device, sinew_error *error) {
    size_t n = (size_t)d->count, edges = (size_t)d->boundary_count;
    *device = (sn_dissection_device){.count = d->count, .levels = d->levels};
    device->nodes = sn_gpu_store_put(store, d->nodes, (size_t)d->node_count, sizeof *d->nodes);
    device->values = sn_gpu_store_put(store, d->values, d->value_count, sizeof *d->values);
    device->order = sn_gpu_store_put(store, d->order, n, sizeof(int));
    device->boundary = sn_gpu_store_put(store, d->boundary, edges, sizeof(int));
    device->own_from = sn_gpu_store_put(store, d->own_from, 2 * n, sizeof(int));
    device->boundary_from = sn_gpu_store_put(store, d->boundary_from, 2 * edges, sizeof(int));
    return sn_gpu_store_status(store, error);
}

/* Time of one row: its length, and about this much to begin with. */
static const double ROW_COST = 24;

static double row_cost(const sn_dissection_node *n, bool up) {
    return ROW_COST + (up ? n->own : n->boundary);
}

static int row_count(const sn_dissection_node *n, bool up) {
    return up ? n->own + n->boundary : n->own;
}

const sn_dissection_start *sn_dissection_share(const sn_dissection *d, int blocks,
                                               sn_gpu_store *store, sinew_error *error) {
    size_t count = 2 * (size_t)d->levels * (size_t)(blocks + 1);
    sn_dissection_start *start = SN_NEW(sn_dissection_start, count);
    if (!start) {
        sn_no_memory(error);
        return NULL;
    }
    sn_dissection_start *at = start;
    for (int sweep = 0; sweep < 2; sweep++)
        for (int level = 0; level < d->levels; level++) {
            int first = d->level_start[level], last = d->level_start[level + 1];
            double total = 0, done = 0;
            for (int k = first; k < last; k++)
                total += row_count(&d->nodes[k], !sweep) * row_cost(&d->nodes[k], !sweep);
            int node = first, row = 0;
            for (int b = 0; b <= blocks; b++) {
                double goal = total * b / blocks;
                while (node < last) {
                    const sn_dissection_node *n = &d->nodes[node];
                    int rows = row_count(n, !sweep);
                    double cost = row_cost(n, !sweep);
                    int wanted = (int)ceil((goal - done) / cost - 1e-9);
                    if (b == blocks || wanted >= rows - row) {
                        done += (rows - row) * cost, node++, row = 0;
                        if (b < blocks && done >= goal) break;
                    } else {
                        if (wanted > 0) row += wanted, done += wanted * cost;
                        break;
                    }
                }
                *at++ = (sn_dissection_start){node, row};
            }
        }
    const sn_dissection_start *device = sn_gpu_store_put(store, start, count, sizeof *start);
    sn_free(start);
    sn_gpu_store_status(store, error);
    return device;
}

void sn_dissection_work_room(const sn_dissection *d, sn_gpu_store *store,
                             sn_dissection_work *work) {
    work->y = sn_gpu_store_room(store, (size_t)d->count, sizeof(sn_float4));
    work->x = sn_gpu_store_room(store, (size_t)d->count, sizeof(sn_float4));
    work->u = sn_gpu_store_room(store, (size_t)d->boundary_count + 1, sizeof(sn_float4));
}
