/* The field of least bending: per axis, min |M^-1/2 L u|^2 with u given at held vertices and zero
 * beyond the reach, a biharmonic function. A membrane (harmonic) would be pinched at single held
 * vertices.
 *
 *   u = (u_F, u_D):   (L M^-1 L)_FF u_F = -(L M^-1 L)_FD u_D
 *
 * Vertices at the same position are one unknown, so that seams do not open. */
#include "rig/corrective.h"

#include <math.h>
#include <string.h>

#include "algebra/cholesky.h"
#include "base/memory.h"
#include "base/status.h"
#include "mesh/laplacian.h"
#include "mesh/topology.h"

struct sn_corrective {
    int vertex_count;
    int count;
    int *vertices; /* the held ones, as representatives */
    bool *held;
    int *representative;
    sn_edges edges;
    sn_sparse *laplacian;
    double *mass_inverse;
    int axis_system[3]; /* which of the systems an axis uses, or -1: nothing held on it */
    struct {
        int count;     /* unknowns */
        int *unknowns; /* representatives */
        sn_cholesky *factor;
        sn_cholesky_work *work;
    } systems[3];
    double *field, *bent, *right; /* vertex_count each */
    double *before;               /* 3 per vertex */
};

void sn_corrective_destroy(sn_corrective *corrective) {
    if (!corrective) return;
    sn_free(corrective->vertices);
    sn_free(corrective->held);
    sn_free(corrective->representative);
    sn_edges_free(&corrective->edges);
    sn_sparse_destroy(corrective->laplacian);
    sn_free(corrective->mass_inverse);
    for (int i = 0; i < 3; i++) {
        sn_free(corrective->systems[i].unknowns);
        sn_cholesky_work_destroy(corrective->systems[i].work);
        sn_cholesky_destroy(corrective->systems[i].factor);
    }
    sn_free(corrective->field);
    sn_free(corrective->bent);
    sn_free(corrective->right);
    sn_free(corrective->before);
    sn_free(corrective);
}

/* --- distances along edges --------------------------------------------------------------------
 */

typedef struct heap_item {
    double distance;
    int vertex;
} heap_item;

static void heap_push(heap_item *heap, int *size, heap_item item) {
    int i = (*size)++;
    for (; i > 0 && heap[(i - 1) / 2].distance > item.distance; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = item;
}

static heap_item heap_pop(heap_item *heap, int *size) {
    heap_item top = heap[0], last = heap[--*size];
    int i = 0;
    for (int child; (child = 2 * i + 1) < *size; i = child) {
        if (child + 1 < *size && heap[child + 1].distance < heap[child].distance) child++;
        if (heap[child].distance >= last.distance) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

static double edge_length(const double *p, int a, int b) {
    double s = 0;
    for (int c = 0; c < 3; c++) {
        double d = p[3 * (size_t)a + (size_t)c] - p[3 * (size_t)b + (size_t)c];
        s += d * d;
    }
    return sqrt(s);
}

/* Dijkstra from the held vertices up to the reach; INFINITY elsewhere. */
static sinew_status distances(const sn_topology *topology, const double *positions, int count,
                              const int *sources, double reach, double *distance,
                              sinew_error *error) {
    const sn_lists *near = &topology->vertex_vertices;
    /* Every edge is relaxed at most once from each end. */
    heap_item *heap = SN_NEW(heap_item, (size_t)count + 2 * (size_t)topology->edges.count + 1);
    if (!heap) return sn_no_memory(error);
    int size = 0;
    for (int v = 0; v < topology->vertex_count; v++) distance[v] = INFINITY;
    for (int i = 0; i < count; i++) {
        if (distance[sources[i]] == 0) continue;
        distance[sources[i]] = 0;
        heap_push(heap, &size, (heap_item){0, sources[i]});
    }
    while (size > 0) {
        heap_item item = heap_pop(heap, &size);
        if (item.distance > distance[item.vertex]) continue;
        for (int e = near->start[item.vertex]; e < near->start[item.vertex + 1]; e++) {
            int u = near->item[e];
            double d = item.distance + edge_length(positions, item.vertex, u);
            if (d >= distance[u] || d > reach) continue;
            distance[u] = d;
            heap_push(heap, &size, (heap_item){d, u});
        }
    }
    sn_free(heap);
    return SINEW_OK;
}

/* --- systems ----------------------------------------------------------------------------------
 */

/* Columns of L for the unknowns, then (L_F^T M^-1 L_F). The diagonal gets a touch more, for parts
 * of the surface that nothing ties down. */
static sinew_status factor_system(sn_corrective *made, int s, sinew_error *error) {
    const sn_sparse *laplacian = made->laplacian;
    int count = made->systems[s].count;
    int *column_of = SN_NEW(int, made->vertex_count);
    if (!column_of) return sn_no_memory(error);
    for (int v = 0; v < made->vertex_count; v++) column_of[v] = -1;
    for (int i = 0; i < count; i++) column_of[made->systems[s].unknowns[i]] = i;
    sn_triplets triplets = {0};
    sinew_status status = sn_triplets_create(
        made->vertex_count, count, 2 * (size_t)sn_sparse_nonzeros(laplacian), &triplets, error);
    bool room = true;
    for (int j = 0; status == SINEW_OK && j < laplacian->columns; j++)
        for (int e = laplacian->start[j]; room && e < laplacian->start[j + 1]; e++) {
            int i = laplacian->row[e];
            if (column_of[j] >= 0)
                room = sn_triplets_add(&triplets, i, column_of[j], laplacian->value[e]);
            if (room && i != j && column_of[i] >= 0)
                room = sn_triplets_add(&triplets, j, column_of[i], laplacian->value[e]);
        }
    sn_free(column_of);
    sn_sparse *columns = NULL, *gram = NULL;
    if (status == SINEW_OK && !room) status = sn_no_memory(error);
    if (status == SINEW_OK) status = sn_sparse_from_triplets(&triplets, false, &columns, error);
    if (status == SINEW_OK) status = sn_sparse_gram(columns, made->mass_inverse, &gram, error);
    if (status == SINEW_OK) {
        double largest = 0;
        for (int j = 0; j < count; j++) largest = fmax(largest, gram->value[gram->start[j]]);
        for (int j = 0; j < count; j++) gram->value[gram->start[j]] += 1e-9 * largest + 1e-300;
        status = sn_cholesky_create(gram, &made->systems[s].factor, error);
    }
    if (status == SINEW_OK)
        status = sn_cholesky_work_create(made->systems[s].factor, 1, &made->systems[s].work, error);
    sn_triplets_free(&triplets);
    sn_sparse_destroy(columns);
    sn_sparse_destroy(gram);
    return status;
}

/* Unknowns of an axis: representatives within reach that are not held on it. Axes that hold the
 * same vertices share a system. */
static sinew_status build_axis(sn_corrective *made, int axis, const double *distance,
                               unsigned char *is_held, sinew_error *error) {
    made->axis_system[axis] = -1;
    bool any = false;
    for (int i = 0; i < made->count; i++) any |= made->held[3 * (size_t)i + (size_t)axis];
    if (!any) return SINEW_OK;
    for (int other = 0; other < axis; other++) {
        bool same = made->axis_system[other] >= 0;
        for (int i = 0; same && i < made->count; i++)
            same = made->held[3 * (size_t)i + (size_t)axis] ==
                   made->held[3 * (size_t)i + (size_t)other];
        if (same) {
            made->axis_system[axis] = made->axis_system[other];
            return SINEW_OK;
        }
    }
    memset(is_held, 0, (size_t)made->vertex_count);
    for (int i = 0; i < made->count; i++)
        if (made->held[3 * (size_t)i + (size_t)axis]) is_held[made->vertices[i]] = 1;
    int s = axis;
    made->systems[s].unknowns = SN_NEW(int, made->vertex_count);
    if (!made->systems[s].unknowns) return sn_no_memory(error);
    for (int v = 0; v < made->vertex_count; v++)
        if (made->representative[v] == v && !is_held[v] && isfinite(distance[v]))
            made->systems[s].unknowns[made->systems[s].count++] = v;
    made->axis_system[axis] = s;
    return made->systems[s].count > 0 ? factor_system(made, s, error) : SINEW_OK;
}

static sinew_status build(const sinew_mesh *neutral, double reach, sn_corrective *made,
                          sinew_error *error) {
    int n = neutral->vertex_count;
    int *triangles = SN_NEW(int, 3 * (size_t)neutral->triangle_count);
    double *distance = SN_NEW(double, n);
    unsigned char *is_held = SN_NEW(unsigned char, n);
    sn_topology *topology = NULL;
    int merged;
    sinew_status status = triangles && distance && is_held ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_weld(n, neutral->positions, 0, made->representative, &merged, error);
    if (status == SINEW_OK) {
        for (int i = 0; i < 3 * neutral->triangle_count; i++)
            triangles[i] = made->representative[neutral->triangles[i]];
        for (int i = 0; i < made->count; i++)
            made->vertices[i] = made->representative[made->vertices[i]];
        status = sn_topology_create(n, neutral->triangle_count, triangles, &topology, error);
    }
    if (status == SINEW_OK)
        status = sn_laplacian_cotangent(n, neutral->positions, neutral->triangle_count, triangles,
                                        &made->laplacian, error);
    if (status == SINEW_OK) {
        sn_mass_barycentric(n, neutral->positions, neutral->triangle_count, triangles,
                            made->mass_inverse);
        double total = 0;
        for (int v = 0; v < n; v++) total += made->mass_inverse[v];
        double least = total > 0 ? 1e-6 * total / n : 1;
        for (int v = 0; v < n; v++) made->mass_inverse[v] = 1 / fmax(made->mass_inverse[v], least);
        status = distances(topology, neutral->positions, made->count, made->vertices, reach,
                           distance, error);
    }
    for (int axis = 0; status == SINEW_OK && axis < 3; axis++)
        status = build_axis(made, axis, distance, is_held, error);
    if (status == SINEW_OK) status = sn_edges_of_faces(neutral, &made->edges, error);
    sn_topology_destroy(topology);
    sn_free(triangles);
    sn_free(distance);
    sn_free(is_held);
    return status;
}

sinew_status sn_corrective_create(const sinew_mesh *neutral, int count, const int *vertices,
                                  const bool *held, double reach, sn_corrective **corrective,
                                  sinew_error *error) {
    *corrective = NULL;
    sn_corrective *made = SN_NEW0(sn_corrective, 1);
    if (!made) return sn_no_memory(error);
    size_t n = (size_t)neutral->vertex_count;
    made->vertex_count = neutral->vertex_count;
    made->count = count;
    made->vertices = sn_memdup(vertices, (size_t)count, sizeof *vertices);
    made->held = sn_memdup(held, 3 * (size_t)count, sizeof *held);
    made->representative = SN_NEW(int, n);
    made->mass_inverse = SN_NEW0(double, n);
    made->field = SN_NEW0(double, n);
    made->bent = SN_NEW0(double, n);
    made->right = SN_NEW0(double, n);
    made->before = SN_NEW0(double, 3 * n);
    sinew_status status = made->vertices && made->held && made->representative &&
                                  made->mass_inverse && made->field && made->bent && made->right &&
                                  made->before
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK) status = build(neutral, reach, made, error);
    if (status != SINEW_OK) {
        sn_corrective_destroy(made);
        return status;
    }
    *corrective = made;
    return SINEW_OK;
}

/* --- a frame ----------------------------------------------------------------------------------
 */

/* The field of one axis in corrective->field, at representatives. */
static void solve_axis(sn_corrective *made, int axis, const double *values) {
    int s = made->axis_system[axis], n = made->vertex_count;
    memset(made->field, 0, sizeof(double) * (size_t)n);
    for (int i = 0; i < made->count; i++)
        if (made->held[3 * (size_t)i + (size_t)axis])
            made->field[made->vertices[i]] = values[3 * (size_t)i + (size_t)axis];
    if (made->systems[s].count == 0) return;
    sn_sparse_multiply(made->laplacian, 1, made->field, made->bent);
    for (int v = 0; v < n; v++) made->bent[v] *= made->mass_inverse[v];
    sn_sparse_multiply(made->laplacian, 1, made->bent, made->right);
    /* in place: the unknowns come in increasing order */
    for (int i = 0; i < made->systems[s].count; i++)
        made->right[i] = -made->right[made->systems[s].unknowns[i]];
    sn_cholesky_solve(made->systems[s].factor, made->systems[s].work, 1, made->right, made->right);
    for (int i = 0; i < made->systems[s].count; i++)
        made->field[made->systems[s].unknowns[i]] = made->right[i];
}

double sn_corrective_apply(sn_corrective *corrective, const double *values, double *positions) {
    size_t n = (size_t)corrective->vertex_count;
    memcpy(corrective->before, positions, 3 * sizeof(double) * n);
    for (int axis = 0; axis < 3; axis++) {
        if (corrective->axis_system[axis] < 0) continue;
        solve_axis(corrective, axis, values);
        for (size_t v = 0; v < n; v++)
            positions[3 * v + (size_t)axis] += corrective->field[corrective->representative[v]];
    }
    double strain = 0;
    for (int e = 0; e < corrective->edges.count; e++) {
        int a = corrective->edges.vertices[2 * (size_t)e];
        int b = corrective->edges.vertices[2 * (size_t)e + 1];
        double before = edge_length(corrective->before, a, b);
        if (before > 0) strain = fmax(strain, fabs(edge_length(positions, a, b) / before - 1));
    }
    return strain;
}
