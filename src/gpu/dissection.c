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

void sn_order_by_parts(int count, const double *positions, int parts, int *items) {
    enum { SMALLEST = 8 };
    while (count > SMALLEST) {
        int half = parts > 1 ? parts / 2 : 1, whole = parts > 1 ? parts : 2;
        int left = (int)((int64_t)count * half / whole);
        split(count, left, positions, longest_axis(count, positions, items), items);
        sn_order_by_parts(left, positions, half, items);
        items += left, count -= left, parts = whole - half;
    }
}

/* ---- the tree ---- */

typedef struct part {
    int begin, end;     /* its items while the tree is cut: children first, then its own */
    int parent, depth;  /* parent -1: the root */
    int own, own_count; /* in owned[] */
    int child, sibling; /* first child, next one of the same parent; -1: none */
    int boundary_count, boundary_first;
    int *boundary; /* unknowns above that it touches, in the order of the tree */
    double *schur; /* boundary x boundary, until the parent has taken it */
} part;

typedef struct builder {
    const int *start, *column; /* all entries of the matrix, by row */
    const double *value;
    const double *positions;
    int count, leaf, root, together;
    int *items, *spare; /* unknowns, arranged by parts */
    int *owned;         /* unknowns, part by part */
    int *mark, stamp;   /* per unknown */
    int *place;         /* per unknown: in the tree */
    int *local;         /* per unknown: in the front at hand, or -1 */
    part *parts;
    size_t part_count, part_capacity;
    sn_dissection *made;
    size_t value_capacity, boundary_capacity, boundary_start_capacity;
    size_t own_from_capacity, boundary_from_capacity;
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

/* False: no memory. */
static bool divide(builder *b, int begin, int end, int parent, int depth) {
    if (!SN_RESERVE(b->parts, b->part_capacity, b->part_count + 1)) return false;
    int index = (int)b->part_count++;
    b->parts[index] = (part){.begin = begin,
                             .end = end,
                             .own = begin,
                             .parent = parent,
                             .depth = depth,
                             .child = -1,
                             .sibling = -1};
    int first = 0, second = 0;
    if (end - begin > b->leaf) cut(b, end - begin, b->items + begin, &first, &second);
    b->parts[index].own = begin + first + second;
    b->parts[index].own_count = end - b->parts[index].own;
    return (first == 0 || divide(b, begin, begin + first, index, depth + 1)) &&
           (second == 0 || divide(b, begin + first, begin + first + second, index, depth + 1));
}

/* The depth down to which separators become the root. */
static int root_depth(const builder *b) {
    int depth = 0, deepest = 0, total = 0;
    for (size_t k = 0; k < b->part_count; k++)
        if (b->parts[k].depth > deepest) deepest = b->parts[k].depth;
    for (int level = 0; level <= deepest; level++) {
        for (size_t k = 0; k < b->part_count; k++)
            if (b->parts[k].depth == level) total += b->parts[k].own_count;
        if (total > b->root) break;
        depth = level;
    }
    return depth;
}

/* Makes one part of those down to the depth, and lists what each part owns. */
static bool merge_root(builder *b, int depth) {
    b->owned = SN_NEW(int, b->count);
    if (!b->owned) return false;
    int at = 0;
    size_t kept = 1;
    int *number = SN_NEW(int, b->part_count);
    if (!number) return false;
    for (size_t k = 0; k < b->part_count; k++) {
        part *p = &b->parts[k];
        if (p->depth > depth) continue;
        memcpy(b->owned + at, b->items + p->own, (size_t)p->own_count * sizeof *b->owned);
        at += p->own_count;
        number[k] = 0;
    }
    for (size_t k = 0; k < b->part_count; k++) {
        part p = b->parts[k];
        if (p.depth <= depth) continue;
        memcpy(b->owned + at, b->items + p.own, (size_t)p.own_count * sizeof *b->owned);
        p.own = at, at += p.own_count;
        number[k] = (int)kept;
        p.parent = number[p.parent], p.depth -= depth; /* parents come first */
        p.sibling = b->parts[p.parent].child;
        b->parts[kept] = p;
        kept++;
    }
    sn_free(number);
    part *root = &b->parts[0];
    root->own = 0, root->own_count = b->count, root->child = -1;
    for (size_t k = 1; k < kept; k++) {
        root->own_count -= b->parts[k].own_count;
        b->parts[k].child = -1;
    }
    for (size_t k = kept; k-- > 1;) { /* children in increasing order */
        b->parts[k].sibling = b->parts[b->parts[k].parent].child;
        b->parts[b->parts[k].parent].child = (int)k;
    }
    b->part_count = kept;
    return true;
}

/* Joins separators of `together` consecutive depths below the root, counted from the leaves, to one
 * part: a solve waits for each level, and has more values to read. The leaves stay what they are.
 */
static bool merge_levels(builder *b) {
    int deepest = 0, count = (int)b->part_count, kept = 0;
    int *into = SN_NEW(int, count), *number = SN_NEW(int, count), *end = SN_NEW0(int, count + 1);
    int *owned = SN_NEW(int, b->count);
    bool ok = into && number && end && owned;
    for (int k = 0; k < count; k++)
        if (b->parts[k].depth > deepest) deepest = b->parts[k].depth;
    for (int k = 0; k < count && ok; k++) { /* parents come first */
        const part *p = &b->parts[k];
        bool joins = p->depth > 1 && p->child >= 0 && (deepest - p->depth) % b->together != 0;
        into[k] = joins ? number[p->parent] : kept;
        number[k] = joins ? into[k] : kept++;
        end[into[k] + 1] += p->own_count;
    }
    for (int k = 0; k < kept && ok; k++) end[k + 1] += end[k];
    for (int k = 0; k < count && ok; k++) {
        memcpy(owned + end[into[k]], b->owned + b->parts[k].own,
               (size_t)b->parts[k].own_count * sizeof *owned);
        end[into[k]] += b->parts[k].own_count;
    }
    for (int k = 0, last = -1; k < count && ok; k++) {
        if (into[k] == last || into[k] < last) continue;
        last = into[k];
        part p = b->parts[k];
        p.own = last ? end[last - 1] : 0, p.own_count = end[last] - p.own;
        p.parent = k ? number[p.parent] : -1, p.child = -1;
        p.depth = k ? b->parts[p.parent].depth + 1 : 0;
        b->parts[last] = p;
    }
    for (int k = kept; ok && k-- > 1;) { /* children in increasing order */
        part *p = &b->parts[k];
        p->sibling = b->parts[p->parent].child;
        b->parts[p->parent].child = k;
    }
    if (ok) {
        b->part_count = (size_t)kept;
        memcpy(b->owned, owned, (size_t)b->count * sizeof *owned);
    }
    sn_free(into), sn_free(number), sn_free(end), sn_free(owned);
    return ok;
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
    const int *own = b->owned + p->own;
    int count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) {
            p->boundary = SN_NEW(int, count);
            if (!p->boundary) return false;
        }
        int seen = ++b->stamp;
        count = 0;
        for (int k = 0; k < p->own_count; k++) b->mark[own[k]] = seen;
        for (int k = 0; k < p->own_count; k++)
            for (int e = b->start[own[k]]; e < b->start[own[k] + 1]; e++) {
                int u = b->column[e];
                if (b->place[u] < first_place || b->mark[u] == seen) continue;
                b->mark[u] = seen;
                if (pass) p->boundary[count] = u;
                count++;
            }
        for (int c = p->child; c >= 0; c = b->parts[c].sibling)
            for (int k = 0; k < b->parts[c].boundary_count; k++) {
                int u = b->parts[c].boundary[k];
                if (b->mark[u] == seen) continue;
                b->mark[u] = seen;
                if (pass) p->boundary[count] = u;
                count++;
            }
    }
    p->boundary_count = count;
    sort_places(count, p->boundary, b->place);
    return true;
}

/* [A^-1; W^T] and W, from A^-1 (own x own) and W (own x boundary), both column-major. */
static bool append_values(builder *b, const double *inverse, const double *coupling,
                          sn_dissection_node *node) {
    sn_dissection *d = b->made;
    size_t w = (size_t)node->own, n = (size_t)node->boundary;
    size_t tall = sn_dissection_stride(node->own + node->boundary);
    size_t low = sn_dissection_stride(node->own), count = tall * w + low * n;
    if (!SN_RESERVE(d->values, b->value_capacity, d->value_count + count)) return false;
    node->up = d->value_count, node->down = d->value_count + tall * w;
    memset(d->values + d->value_count, 0, count * sizeof *d->values);
    d->value_count += count;
    for (size_t j = 0; j < w; j++) {
        float *column = d->values + node->up + tall * j;
        for (size_t r = 0; r < w; r++) column[r] = (float)inverse[r + w * j];
        for (size_t r = 0; r < n; r++) column[w + r] = (float)coupling[j + w * r];
    }
    for (size_t j = 0; j < n; j++)
        for (size_t r = 0; r < w; r++)
            d->values[node->down + low * j + r] = (float)coupling[r + w * j];
    return true;
}

/* Adds the children's Schur complements to the front. */
static void take_children(builder *b, const part *p, double *front, int size) {
    for (int child = p->child; child >= 0; child = b->parts[child].sibling) {
        part *c = &b->parts[child];
        for (int j = 0; j < c->boundary_count; j++) {
            double *column = front + (size_t)size * (size_t)b->local[c->boundary[j]];
            const double *from = c->schur + (size_t)c->boundary_count * (size_t)j;
            for (int i = 0; i < c->boundary_count; i++) column[b->local[c->boundary[i]]] += from[i];
        }
        sn_free(c->schur);
        c->schur = NULL;
    }
}

/* Lists where the children's contributions to each unknown of the front come from. */
static bool list_children(builder *b, const part *p, const sn_dissection_node *node) {
    sn_dissection *d = b->made;
    int size = node->own + node->boundary, *start = SN_NEW0(int, size + 2), total = 0;
    if (!start) return false;
    for (int c = p->child; c >= 0; c = b->parts[c].sibling)
        for (int k = 0; k < b->parts[c].boundary_count; k++)
            start[b->local[b->parts[c].boundary[k]] + 2]++, total++;
    for (int k = 0; k < size; k++) start[k + 2] += start[k + 1];
    int *from = SN_NEW(int, total);
    bool ok = from;
    for (int c = p->child; c >= 0 && ok; c = b->parts[c].sibling)
        for (int k = 0; k < b->parts[c].boundary_count; k++)
            from[start[b->local[b->parts[c].boundary[k]] + 1]++] = b->parts[c].boundary_first + k;
    int own = ok ? start[node->own] : 0, before = d->own_start[node->first];
    int entries = d->boundary_start[node->boundary_first];
    ok = ok && SN_RESERVE(d->own_from, b->own_from_capacity, before + own + 1) &&
         SN_RESERVE(d->boundary_from, b->boundary_from_capacity, entries + total - own + 1) &&
         SN_RESERVE(d->boundary_start, b->boundary_start_capacity,
                    node->boundary_first + node->boundary + 1);
    if (ok) {
        memcpy(d->own_from + before, from, (size_t)own * sizeof *from);
        memcpy(d->boundary_from + entries, from + own, (size_t)(total - own) * sizeof *from);
        for (int k = 0; k < node->own; k++)
            d->own_start[node->first + k + 1] = before + start[k + 1];
        for (int k = 0; k < node->boundary; k++)
            d->boundary_start[node->boundary_first + k + 1] =
                entries + start[node->own + k + 1] - own;
    }
    sn_free(start), sn_free(from);
    return ok;
}

/* The front: own unknowns, then the boundary. Own rows of the matrix, and the children's shares. */
static void fill_front(builder *b, const part *p, const sn_dissection_node *node, double *front,
                       int size) {
    for (int i = 0; i < node->own; i++) {
        int v = b->owned[p->own + i];
        for (int e = b->start[v]; e < b->start[v + 1]; e++) {
            int j = b->local[b->column[e]];
            if (j < 0) continue;
            front[(size_t)i + (size_t)size * (size_t)j] += b->value[e];
            if (j >= node->own) front[(size_t)j + (size_t)size * (size_t)i] += b->value[e];
        }
    }
    take_children(b, p, front, size);
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
        if (!append_values(b, inverse, coupling, node)) status = sn_no_memory(error);
    }
    sn_free(inner), sn_free(inverse), sn_free(coupling), sn_free(held);
    return status;
}

static sinew_status finish_part(builder *b, part *p, sn_dissection_node *node, sinew_error *error) {
    sn_dissection *d = b->made;
    const int *own = b->owned + p->own;
    node->own = p->own_count;
    if (!find_boundary(b, p, node->first)) return sn_no_memory(error);
    node->boundary = p->boundary_count;
    node->boundary_first = p->boundary_first = d->boundary_count;
    if (!SN_RESERVE(d->boundary, b->boundary_capacity, d->boundary_count + p->boundary_count))
        return sn_no_memory(error);
    for (int k = 0; k < p->boundary_count; k++)
        d->boundary[d->boundary_count + k] = b->place[p->boundary[k]];
    d->boundary_count += p->boundary_count;
    int size = node->own + node->boundary;
    double *front = SN_NEW0(double, (size_t)size *(size_t)size);
    if (!front) return sn_no_memory(error);
    for (int i = 0; i < node->own; i++) b->local[own[i]] = i;
    for (int i = 0; i < node->boundary; i++) b->local[p->boundary[i]] = node->own + i;
    bool ok = list_children(b, p, node);
    if (ok) fill_front(b, p, node, front, size);
    for (int i = 0; i < node->own; i++) b->local[own[i]] = -1;
    for (int i = 0; i < node->boundary; i++) b->local[p->boundary[i]] = -1;
    sinew_status status = ok ? eliminate(b, p, node, front, size, error) : sn_no_memory(error);
    sn_free(front);
    int widest = node->own > node->boundary ? node->own : node->boundary;
    if (widest > d->widest) d->widest = widest;
    return status;
}

/* Nodes from the deepest level to the root; places in the tree in that order. */
static sinew_status number(builder *b, int **parts, sinew_error *error) {
    sn_dissection *d = b->made;
    int deepest = 0, at = 0, node = 0;
    d->node_count = (int)b->part_count;
    for (int k = 0; k < d->node_count; k++)
        if (b->parts[k].depth > deepest) deepest = b->parts[k].depth;
    d->levels = deepest + 1;
    d->nodes = SN_NEW0(sn_dissection_node, d->node_count);
    d->level_start = SN_NEW(int, d->levels + 1);
    d->order = SN_NEW(int, d->count);
    d->own_start = SN_NEW0(int, d->count + 1);
    *parts = SN_NEW(int, d->node_count);
    if (!d->nodes || !d->level_start || !d->order || !d->own_start || !*parts ||
        !SN_RESERVE(d->boundary_start, b->boundary_start_capacity, 1))
        return sn_no_memory(error);
    d->boundary_start[0] = 0;
    for (int level = 0; level < d->levels; level++) {
        d->level_start[level] = node;
        for (int k = 0; k < d->node_count; k++) {
            const part *p = &b->parts[k];
            if (p->depth != deepest - level) continue;
            (*parts)[node] = k;
            d->nodes[node++].first = at;
            for (int i = 0; i < p->own_count; i++) {
                b->place[b->owned[p->own + i]] = at;
                d->order[at++] = b->owned[p->own + i];
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
    if (n <= b->root) b->leaf = n;
    if (!divide(b, 0, n, -1, 0) || !merge_root(b, root_depth(b)) || !merge_levels(b))
        return sn_no_memory(error);
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
    enum { LEAST = 128 };
    double leaf = (double)bytes / sizeof(float) / (count > 0 ? count : 1);
    return leaf < LEAST ? LEAST : leaf > count ? count : (int)leaf;
}

sinew_status sn_dissection_create(const sn_sparse *matrix, const double *positions, int leaf,
                                  int root, int together, sn_dissection **result,
                                  sinew_error *error) {
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
                 .root = root,
                 .together = together,
                 .made = made};
    if (status == SINEW_OK) status = build(&b, error);
    for (size_t k = 0; k < b.part_count; k++)
        sn_free(b.parts[k].boundary), sn_free(b.parts[k].schur);
    sn_free(b.parts), sn_free(b.items), sn_free(b.spare), sn_free(b.mark), sn_free(b.place);
    sn_free(b.local), sn_free(b.owned), sn_free(start), sn_free(column), sn_free(value);
    if (status == SINEW_OK)
        *result = made;
    else
        sn_dissection_destroy(made);
    return status;
}

void sn_dissection_destroy(sn_dissection *d) {
    if (!d) return;
    sn_free(d->nodes), sn_free(d->level_start), sn_free(d->order), sn_free(d->values);
    sn_free(d->boundary), sn_free(d->own_start), sn_free(d->own_from);
    sn_free(d->boundary_start), sn_free(d->boundary_from);
    sn_free(d);
}

/* ---- on the device ---- */

sinew_status sn_dissection_upload(const sn_dissection *d, sn_gpu_store *store,
                                  sn_dissection_device *device, sinew_error *error) {
    size_t n = (size_t)d->count, edges = (size_t)d->boundary_count;
    *device =
        (sn_dissection_device){.count = d->count, .levels = d->levels, .vector_room = d->widest};
    device->values = sn_gpu_store_put(store, d->values, d->value_count, sizeof *d->values);
    device->order = sn_gpu_store_put(store, d->order, n, sizeof(int));
    device->boundary_start = sn_gpu_store_put(store, d->boundary_start, edges + 1, sizeof(int));
    device->boundary_from =
        sn_gpu_store_put(store, d->boundary_from, (size_t)d->boundary_start[edges], sizeof(int));
    int *place = SN_NEW(int, d->levels + 1);
    if (!place) return sn_no_memory(error);
    for (int level = 0; level < d->levels; level++)
        place[level] = d->nodes[d->level_start[level]].first;
    place[d->levels] = d->count;
    device->level_place = sn_gpu_store_put(store, place, (size_t)d->levels + 1, sizeof(int));
    sn_free(place);
    device->own_start = sn_gpu_store_put(store, d->own_start, n + 1, sizeof(int));
    device->own_from = sn_gpu_store_put(store, d->own_from, (size_t)d->own_start[n], sizeof(int));
    device->boundary = sn_gpu_store_put(store, d->boundary, edges, sizeof(int));
    return sn_gpu_store_status(store, error);
}

/* Rows are dealt out by so many, which lie in 32 bytes. */
enum { STEP = 8 };
/* Time of one row: its length, and about this much to begin with. */
static const double ROW_COST = 24;

static double row_cost(const sn_dissection_node *n, bool up) {
    return ROW_COST + (up ? n->own : n->boundary);
}

static int row_count(const sn_dissection_node *n, bool up) {
    return up ? n->own + n->boundary : n->own;
}

/* Tasks while they are listed, block by block. */
typedef struct task_list {
    sn_dissection_task *tasks;
    int *lists;
    size_t count, capacity, size, list_capacity;
} task_list;

static bool add_task(const sn_dissection *d, const sn_dissection_node *n, bool up, int row,
                     int last, size_t lists_before, task_list *l) {
    int from = up ? d->own_start[n->first + n->own] - d->own_start[n->first] : 0;
    int before = row > n->own ? row : n->own, above = up && last > before ? last - before : 0;
    const int *ends = d->boundary_start + n->boundary_first + before - n->own;
    size_t size = up ? 2 * (size_t)n->own + (size_t)from : (size_t)n->boundary;
    if (above > 0) size += (size_t)(above + ends[above] - ends[0]);
    if (!SN_RESERVE(l->tasks, l->capacity, l->count + 1) ||
        !SN_RESERVE(l->lists, l->list_capacity, l->size + size + 1))
        return false;
    l->tasks[l->count++] = (sn_dissection_task){.first = n->first,
                                                .own = n->own,
                                                .boundary = n->boundary,
                                                .boundary_first = n->boundary_first,
                                                .row = row,
                                                .last = last,
                                                .list = (int)(l->size - lists_before),
                                                .list_size = (int)size,
                                                .up = n->up,
                                                .down = n->down};
    int *to = l->lists + l->size;
    l->size += size;
    if (!up) {
        memcpy(to, d->boundary + n->boundary_first, size * sizeof *to);
        return true;
    }
    memcpy(to, d->order + n->first, (size_t)n->own * sizeof *to);
    for (int k = 0; k < n->own; k++)
        to[n->own + k] = d->own_start[n->first + k + 1] - d->own_start[n->first];
    memcpy(to + 2 * n->own, d->own_from + d->own_start[n->first], (size_t)from * sizeof *to);
    to += 2 * n->own + from;
    for (int k = 0; k < above; k++) to[k] = ends[k + 1] - ends[0];
    if (above > 0)
        memcpy(to + above, d->boundary_from + ends[0],
               (size_t)(ends[above] - ends[0]) * sizeof *to);
    return true;
}

static double node_cost(const sn_dissection_node *n, bool up) {
    return row_count(n, up) * row_cost(n, up);
}

/* The first block of the node that begins at `done` of the total cost; `left` nodes still come. A
 * block should have rows of one node only: a task takes as long as its chain of loads. */
static int first_block(double done, double total, int blocks, int left) {
    int at = (int)lrint(done / total * blocks);
    return at > blocks - left ? blocks - left : at;
}

/* The rows of one level that belong to a block. With fewer nodes than blocks every node has blocks
 * of its own, otherwise a block has whole nodes. */
static bool add_share(const sn_dissection *d, int level, bool up, int block, int blocks,
                      size_t lists_before, task_list *l) {
    int first = d->level_start[level], last = d->level_start[level + 1], begin = 0;
    double total = 0, done = 0;
    for (int k = first; k < last; k++) total += node_cost(&d->nodes[k], up);
    for (int k = first; k < last; k++) {
        const sn_dissection_node *n = &d->nodes[k];
        int rows = row_count(n, up), from = 0, to = rows;
        double cost = node_cost(n, up);
        if (last - first <= blocks) {
            int end = first_block(done + cost, total, blocks, last - 1 - k);
            if (end <= begin) end = begin + 1;
            if (k + 1 == last) end = blocks;
            int pieces = (rows + STEP - 1) / STEP, share = block - begin, of = end - begin;
            bool mine = block >= begin && block < end;
            from = mine ? (int)((int64_t)pieces * share / of) * STEP : 0;
            to = mine ? (int)((int64_t)pieces * (share + 1) / of) * STEP : 0;
            begin = end;
        } else if ((int)((done + 0.5 * cost) / total * blocks) != block) {
            to = 0;
        }
        if (to > rows) to = rows;
        if (from < to && !add_task(d, n, up, from, to, lists_before, l)) return false;
        done += cost;
    }
    return true;
}

sinew_status sn_dissection_share(const sn_dissection *d, int blocks, sn_gpu_store *store,
                                 sn_dissection_device *device, size_t *shared, sinew_error *error) {
    int phases = 2 * d->levels - 1, most_tasks = 0, most_list = 0;
    int *start = SN_NEW(int, (size_t)blocks *(size_t)(phases + 1));
    int *list_start = SN_NEW(int, blocks + 1);
    task_list l = {0};
    bool ok = start && list_start;
    for (int block = 0; block < blocks && ok; block++) {
        int *at = start + (size_t)block * (size_t)(phases + 1);
        size_t before = l.size;
        list_start[block] = (int)before;
        for (int phase = 0; phase < phases && ok; phase++) {
            bool up = phase < d->levels;
            at[phase] = (int)l.count;
            ok = add_share(d, up ? phase : phases - 1 - phase, up, block, blocks, before, &l);
        }
        at[phases] = (int)l.count;
        if (at[phases] - at[0] > most_tasks) most_tasks = at[phases] - at[0];
        if ((int)(l.size - before) > most_list) most_list = (int)(l.size - before);
    }
    if (ok) {
        list_start[blocks] = (int)l.size;
        size_t fixed = SN_GRID_SHARED + (SN_MOST_THREADS + (size_t)d->widest) * sizeof(sn_float4);
        size_t kept = (size_t)most_tasks * sizeof *l.tasks +
                      (size_t)((phases + 4) / 4 * 4 + most_list) * sizeof(int);
        size_t room = sn_gpu_about(store->gpu)->shared_per_block;
        device->cached = fixed + kept <= room;
        device->task_room = most_tasks;
        *shared = fixed + (device->cached ? kept : 0);
        device->task_start =
            sn_gpu_store_put(store, start, (size_t)blocks * (size_t)(phases + 1), sizeof(int));
        device->tasks = sn_gpu_store_put(store, l.tasks, l.count, sizeof *l.tasks);
        device->list_start = sn_gpu_store_put(store, list_start, (size_t)blocks + 1, sizeof(int));
        device->lists = sn_gpu_store_put(store, l.lists, l.size, sizeof(int));
    }
    sn_free(start), sn_free(list_start), sn_free(l.tasks), sn_free(l.lists);
    if (!ok) return sn_no_memory(error);
    SN_TRY(sn_gpu_store_status(store, error));
    if (*shared > sn_gpu_about(store->gpu)->shared_per_block)
        return sn_fail(error, SINEW_UNAVAILABLE,
                       "the GPU's shared memory is too small for %d vertices", d->count);
    return SINEW_OK;
}

void sn_dissection_work_room(const sn_dissection *d, sn_gpu_store *store,
                             sn_dissection_work *work) {
    work->y = sn_gpu_store_room(store, (size_t)d->count, sizeof(sn_float4));
    work->x = sn_gpu_store_room(store, (size_t)d->count, sizeof(sn_float4));
    work->u = sn_gpu_store_room(store, (size_t)d->boundary_count + 1, sizeof(sn_float4));
}
