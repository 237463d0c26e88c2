/* Based on: bounding volume trees over Morton codes (Lauterbach et al. 2009), split in halves.
 * We differ in: every node knows whether all its triangles belong to one part, so that a search for
 * the other parts passes over the vertex's own part without opening it. */
#include "mesh/parts.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/morton.h"
#include "base/parallel.h"
#include "base/status.h"
#include "mesh/closest.h"

/* Triangles in a leaf. */
enum { LEAF = 4, DEPTH = 64 };

typedef struct node {
    double low[3], high[3];
    int first, count; /* triangles in the order of codes */
    int right;        /* the left child follows its parent; 0: leaf */
    int part;         /* of all its triangles, -1: several */
} node;

typedef struct tree {
    const double *positions;
    const int *triangles;
    const int *part;
    int triangle_count; /* with a part */
    sn_morton *order;   /* of triangles */
    int node_count;
    node *nodes;
} tree;

void sn_link_offset(const sn_link *link, const double *positions, double offset[3]) {
    for (int k = 0; k < 3; k++) {
        offset[k] = positions[3 * (size_t)link->vertex + (size_t)k];
        for (int c = 0; c < 3; c++)
            offset[k] -= link->weights[c] * positions[3 * (size_t)link->corners[c] + (size_t)k];
    }
}

static const int *corners_of(const tree *t, int place) {
    return t->triangles + 3 * (size_t)t->order[place].item;
}

static int part_of(const tree *t, int place) {
    return t->part[corners_of(t, place)[0]];
}

static void sort_triangles(tree *t, int all) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t c = 0; c < 3 * (size_t)all; c++)
        for (int k = 0; k < 3; k++) {
            double x = t->positions[3 * (size_t)t->triangles[c] + (size_t)k];
            low[k] = fmin(low[k], x), high[k] = fmax(high[k], x);
        }
    double size = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    double scale = size > 0 ? SN_MORTON_MOST / size : 0;
    for (int i = 0; i < all; i++) {
        const int *v = t->triangles + 3 * (size_t)i;
        if (t->part[v[0]] < 0) continue;
        double at[3];
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            for (int c = 0; c < 3; c++) sum += t->positions[3 * (size_t)v[c] + (size_t)k];
            at[k] = (sum / 3 - low[k]) * scale;
        }
        t->order[t->triangle_count++] = (sn_morton){sn_morton_code(at[0], at[1], at[2]), i};
    }
    qsort(t->order, (size_t)t->triangle_count, sizeof *t->order, sn_morton_compare);
}

/* Builds the node of the triangles [first, first + count) and all below it. */
static int build(tree *t, int first, int count) {
    int index = t->node_count++;
    node n = {{INFINITY, INFINITY, INFINITY},
              {-INFINITY, -INFINITY, -INFINITY},
              first,
              count,
              0,
              part_of(t, first)};
    if (count <= LEAF) {
        for (int i = first; i < first + count; i++) {
            const int *v = corners_of(t, i);
            if (part_of(t, i) != n.part) n.part = -1;
            for (int c = 0; c < 3; c++)
                for (int k = 0; k < 3; k++) {
                    double x = t->positions[3 * (size_t)v[c] + (size_t)k];
                    n.low[k] = fmin(n.low[k], x), n.high[k] = fmax(n.high[k], x);
                }
        }
    } else {
        int half = count / 2;
        const node *left = t->nodes + build(t, first, half);
        n.right = build(t, first + half, count - half);
        const node *right = t->nodes + n.right;
        n.part = left->part == right->part ? left->part : -1;
        for (int k = 0; k < 3; k++) {
            n.low[k] = fmin(left->low[k], right->low[k]);
            n.high[k] = fmax(left->high[k], right->high[k]);
        }
    }
    t->nodes[index] = n;
    return index;
}

static double squared_distance(const node *n, sn_vec3 p) {
    double x = fmax(0, fmax(n->low[0] - p.x, p.x - n->high[0]));
    double y = fmax(0, fmax(n->low[1] - p.y, p.y - n->high[1]));
    double z = fmax(0, fmax(n->low[2] - p.z, p.z - n->high[2]));
    return x * x + y * y + z * z;
}

/* The vertex's own part, then those that it has a link to. */
typedef struct known_parts {
    int count;
    int parts[SN_LINKS_PER_VERTEX + 1];
} known_parts;

static bool is_known(const known_parts *known, int part) {
    for (int k = 0; k < known->count; k++)
        if (known->parts[k] == part) return true;
    return false;
}

static void search_leaf(const tree *t, const node *n, sn_vec3 p, const known_parts *known,
                        double *best, sn_link *link) {
    for (int i = n->first; i < n->first + n->count; i++) {
        if (is_known(known, part_of(t, i))) continue;
        const int *v = corners_of(t, i);
        double weights[3];
        sn_vec3 at = sn_closest_on_triangle(p, sn_at(t->positions, v[0]), sn_at(t->positions, v[1]),
                                            sn_at(t->positions, v[2]), weights);
        sn_vec3 away = sn_sub(p, at);
        double squared = sn_dot(away, away);
        if (!(squared < *best)) continue;
        *best = squared;
        for (int c = 0; c < 3; c++) link->corners[c] = v[c], link->weights[c] = weights[c];
    }
}

/* The nearest point of a part that is not known; false when there is none. */
static bool search(const tree *t, int vertex, const known_parts *known, double max_distance,
                   sn_link *link) {
    int stack[DEPTH], depth = 0;
    sn_vec3 p = sn_at(t->positions, vertex);
    double limit = max_distance * max_distance * (1 + 1e-12), best = limit;
    stack[depth++] = 0;
    while (depth > 0) {
        int index = stack[--depth];
        const node *n = &t->nodes[index];
        if ((n->part >= 0 && is_known(known, n->part)) || !(squared_distance(n, p) < best))
            continue;
        if (n->right == 0) {
            search_leaf(t, n, p, known, &best, link);
            continue;
        }
        int near = index + 1, far = n->right;
        if (squared_distance(&t->nodes[far], p) < squared_distance(&t->nodes[near], p))
            near = n->right, far = index + 1;
        stack[depth++] = far;
        stack[depth++] = near;
    }
    link->vertex = vertex;
    return best < limit;
}

/* Links of a vertex, each to another part; returns their number. */
static int search_all(const tree *t, int vertex, int most, double max_distance, sn_link *links) {
    known_parts known = {1, {t->part[vertex]}};
    int count = 0;
    while (count < most && search(t, vertex, &known, max_distance, &links[count]))
        known.parts[known.count++] = t->part[links[count++].corners[0]];
    return count;
}

typedef struct search_job {
    const tree *tree;
    int most;
    double max_distance;
    sn_link *found; /* `most` per vertex */
    int *counts;    /* per vertex */
    atomic_bool cancelled;
} search_job;

static void search_some(void *context, sn_span span) {
    search_job *job = context;
    SN_IN_SPAN(int, v, span) {
        if (v % 64 == 0 && sn_interrupted()) atomic_store(&job->cancelled, true);
        if (atomic_load_explicit(&job->cancelled, memory_order_relaxed)) return;
        if (job->tree->part[v] >= 0)
            job->counts[v] = search_all(job->tree, v, job->most, job->max_distance,
                                        job->found + (size_t)job->most * v);
    }
}

sinew_status sn_parts_nearest(int vertex_count, const double *positions, int triangle_count,
                              const int *triangles, const int *part, int most, double max_distance,
                              sn_link **links, int *link_count, sinew_error *error) {
    *links = NULL, *link_count = 0;
    tree t = {.positions = positions, .triangles = triangles, .part = part};
    t.order = SN_NEW(sn_morton, triangle_count);
    t.nodes = SN_NEW(node, 2 * (size_t)triangle_count + 1);
    sn_link *found = SN_NEW(sn_link, (size_t)most * vertex_count);
    int *counts = SN_NEW0(int, vertex_count);
    sinew_status status = t.order && t.nodes && found && counts ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) sort_triangles(&t, triangle_count);
    if (status == SINEW_OK && t.triangle_count > 0) {
        build(&t, 0, t.triangle_count);
        search_job job = {&t, most, max_distance, found, counts, false};
        sn_parallel_for(vertex_count, 64, search_some, &job);
        if (atomic_load(&job.cancelled)) status = sn_fail(error, SINEW_CANCELLED, "cancelled");
        for (int v = 0; status == SINEW_OK && v < vertex_count; v++)
            for (int k = 0; k < counts[v]; k++)
                found[(*link_count)++] = found[(size_t)most * v + k];
    }
    sn_free(t.order), sn_free(t.nodes), sn_free(counts);
    if (*link_count > 0)
        *links = found;
    else
        sn_free(found);
    return status;
}
