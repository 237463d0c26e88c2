/* Based on: cotangent weights (Pinkall and Polthier 1993).
 * We differ in: each cotangent is clamped, so that tiny lid and lip triangles keep finite weights
 * and obtuse ones keep positive ones. */
#include "force/skin.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/vec3.h"
#include "mesh/laplacian.h"
#include "mesh/topology.h"
#include "sinew/force.h"

static sinew_status allocate(sn_skin *s, sinew_error *error) {
    size_t n = (size_t)s->vertex_count, e = (size_t)s->edge_count;
    s->rest = SN_NEW(double, 3 * n);
    s->area = SN_NEW(double, n);
    s->fixed = SN_NEW0(bool, n);
    s->edges = SN_NEW(int, 2 * e);
    s->weight = SN_NEW0(double, e);
    s->length = SN_NEW(double, e);
    s->start = SN_NEW0(int, n + 1);
    s->neighbour = SN_NEW(int, 2 * e);
    s->edge = SN_NEW(int, 2 * e);
    s->neighbour_weight = SN_NEW(double, 2 * e);
    bool complete = s->rest && s->area && s->fixed && s->edges && s->weight && s->length &&
                    s->start && s->neighbour && s->edge && s->neighbour_weight;
    return complete ? SINEW_OK : sn_no_memory(error);
}

/* weight of an edge = half the sum of the cotangents opposite to it */
static void weigh_edges(sn_skin *s, const sn_topology *topology) {
    for (int t = 0; t < topology->triangle_count; t++) {
        const int *v = topology->triangles + 3 * (size_t)t;
        for (int k = 0; k < 3; k++) {
            int edge = topology->triangle_edges[3 * (size_t)t + (size_t)k];
            if (edge < 0) continue;
            sn_vec3 o = sn_at(s->rest, v[(k + 2) % 3]);
            sn_vec3 a = sn_sub(sn_at(s->rest, v[k]), o);
            sn_vec3 b = sn_sub(sn_at(s->rest, v[(k + 1) % 3]), o);
            double cross = sn_length(sn_cross(a, b));
            double cotangent = cross > 0 ? sn_dot(a, b) / cross : SN_SKIN_MOST_COTANGENT;
            s->weight[edge] +=
                0.5 * fmin(fmax(cotangent, SN_SKIN_LEAST_COTANGENT), SN_SKIN_MOST_COTANGENT);
        }
    }
}

/* Rings keep the weights as floats; rounded here, they are the same numbers everywhere. */
static void round_weights(sn_skin *s) {
    for (int e = 0; e < s->edge_count; e++) s->weight[e] = (double)(float)s->weight[e];
}

static void join_neighbours(sn_skin *s) {
    for (int e = 0; e < 2 * s->edge_count; e++) s->start[s->edges[e] + 1]++;
    for (int v = 0; v < s->vertex_count; v++) s->start[v + 1] += s->start[v];
    for (int e = 0; e < s->edge_count; e++)
        for (int k = 0; k < 2; k++) {
            int v = s->edges[2 * (size_t)e + (size_t)k], h = s->start[v]++;
            s->neighbour[h] = s->edges[2 * (size_t)e + (size_t)(1 - k)];
            s->edge[h] = e;
            s->neighbour_weight[h] = s->weight[e];
        }
    for (int v = s->vertex_count; v > 0; v--) s->start[v] = s->start[v - 1];
    s->start[0] = 0;
}

/* Lids and lips are boundaries too, so only what no target moves is held. */
static sinew_status hold_still_boundary(sn_skin *s, const sinew_rig *rig,
                                        const sn_topology *topology, sinew_error *error) {
    double *move = SN_NEW0(double, s->vertex_count);
    if (!move) return sn_no_memory(error);
    double largest = 0;
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *target = &rig->targets[k];
        for (int i = 0; i < target->count; i++) {
            double *m = &move[target->vertices[i]];
            *m = fmax(*m, sn_length(sn_at(target->deltas, i)));
            largest = fmax(largest, *m);
        }
    }
    for (int e = 0; e < s->edge_count; e++) {
        if (sn_list_size(&topology->edge_triangles, e) != 1) continue;
        for (int k = 0; k < 2; k++) {
            int v = s->edges[2 * (size_t)e + (size_t)k];
            if (move[v] <= SINEW_FORCE_FIXED_SHARE * largest) s->fixed[v] = true;
        }
    }
    sn_free(move);
    return SINEW_OK;
}

static sinew_status fill(sn_skin *s, const sinew_rig *rig, const sn_topology *topology,
                         int fixed_count, const int *fixed, sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    size_t n = (size_t)s->vertex_count;
    memcpy(s->rest, mesh->positions, 3 * n * sizeof(double));
    memcpy(s->edges, topology->edges.vertices, 2 * sizeof(int) * (size_t)s->edge_count);
    s->diagonal = sinew_diagonal(s->vertex_count, s->rest), s->scale = 1;
    if (!(s->diagonal > 0) || !isfinite(s->diagonal))
        return sn_fail(error, SINEW_BAD_INPUT, "force: the neutral has no size");
    sn_mass_barycentric(s->vertex_count, s->rest, mesh->triangle_count, mesh->triangles, s->area);
    double sum = 0;
    int used = 0;
    for (size_t v = 0; v < n; v++) sum += s->area[v], used += s->area[v] > 0;
    if (!used) return sn_fail(error, SINEW_BAD_INPUT, "force: the neutral has no triangles");
    s->mean_area = sum / used;
    for (size_t v = 0; v < n; v++)
        s->area[v] = fmax(s->area[v] / s->mean_area, SINEW_FORCE_LEAST_AREA);
    weigh_edges(s, topology);
    round_weights(s);
    for (int e = 0; e < s->edge_count; e++)
        s->length[e] = sn_distance(sn_at(s->rest, s->edges[2 * (size_t)e]),
                                   sn_at(s->rest, s->edges[2 * (size_t)e + 1]));
    join_neighbours(s);
    if (!fixed) {
        SN_TRY(hold_still_boundary(s, rig, topology, error));
    } else {
        for (int i = 0; i < fixed_count; i++) {
            if (fixed[i] < 0 || fixed[i] >= s->vertex_count)
                return sn_fail(error, SINEW_BAD_INPUT, "force: held vertex %d is not on the mesh",
                               fixed[i]);
            s->fixed[fixed[i]] = true;
        }
    }
    for (size_t v = 0; v < n; v++) s->fixed_count += s->fixed[v];
    return SINEW_OK;
}

/* Diagonal of the largest head, with its neck and shoulders, in distances between the eyes; of the
 * largest around what targets move, in diagonals of that. */
#define HEAD   7
#define AROUND 3
/* Of the largest move: what targets move by less does not count. */
#define MOVES 0.1

/* Diagonal of the box of the vertices that targets move; 0: none. */
static double moved_diagonal(const sn_skin *s, const sinew_rig *rig) {
    double most = 0, low[3], high[3];
    for (int k = 0; k < rig->target_count; k++)
        for (int i = 0; i < rig->targets[k].count; i++)
            most = fmax(most, sn_length(sn_at(rig->targets[k].deltas, i)));
    for (int c = 0; c < 3; c++) low[c] = INFINITY, high[c] = -INFINITY;
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *t = &rig->targets[k];
        for (int i = 0; i < t->count; i++) {
            if (!(sn_length(sn_at(t->deltas, i)) > MOVES * most)) continue;
            const double *at = s->rest + 3 * (size_t)t->vertices[i];
            for (int c = 0; c < 3; c++)
                low[c] = fmin(low[c], at[c]), high[c] = fmax(high[c], at[c]);
        }
    }
    return most > 0 ? hypot(hypot(high[0] - low[0], high[1] - low[1]), high[2] - low[2]) : 0;
}

void sn_skin_fit_head(sn_skin *s, const sinew_rig *rig, double eye_distance) {
    double head = eye_distance > 0 ? HEAD * eye_distance : AROUND * moved_diagonal(s, rig);
    if (!(head > 0 && head < s->diagonal)) return;
    s->scale *= head / s->diagonal, s->diagonal = head;
}

sinew_status sn_skin_create(const sinew_rig *rig, int fixed_count, const int *fixed, sn_skin **skin,
                            sinew_error *error) {
    *skin = NULL;
    const sinew_mesh *mesh = rig->neutral;
    sn_topology *topology;
    SN_TRY(sn_topology_create(mesh->vertex_count, mesh->triangle_count, mesh->triangles, &topology,
                              error));
    sn_skin *made = SN_NEW0(sn_skin, 1);
    sinew_status status = made ? SINEW_OK : sn_no_memory(error);
    if (made) {
        made->vertex_count = mesh->vertex_count;
        made->edge_count = topology->edges.count;
        status = allocate(made, error);
    }
    if (status == SINEW_OK) status = fill(made, rig, topology, fixed_count, fixed, error);
    sn_topology_destroy(topology);
    if (status != SINEW_OK) {
        sn_skin_destroy(made);
        return status;
    }
    *skin = made;
    return SINEW_OK;
}

void sn_skin_destroy(sn_skin *s) {
    if (!s) return;
    sn_free(s->rest), sn_free(s->area), sn_free(s->fixed), sn_free(s->edges), sn_free(s->weight);
    sn_free(s->length), sn_free(s->start), sn_free(s->neighbour), sn_free(s->edge);
    sn_free(s->neighbour_weight);
    sn_free(s);
}

sinew_status sn_skin_laplacian(const sn_skin *s, sn_sparse **matrix, sinew_error *error) {
    int n = s->vertex_count;
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(n, n, 4 * (size_t)s->edge_count, &triplets, error));
    bool ok = true;
    for (int v = 0; ok && v < n; v++)
        for (int h = s->start[v]; ok && h < s->start[v + 1]; h++) {
            double w = s->neighbour_weight[h] / (s->area[v] * s->mean_area);
            if (!s->fixed[v]) ok = sn_triplets_add(&triplets, v, v, w);
            if (ok && !s->fixed[s->neighbour[h]])
                ok = sn_triplets_add(&triplets, v, s->neighbour[h], -w);
        }
    sinew_status status =
        ok ? sn_sparse_from_triplets(&triplets, false, matrix, error) : sn_no_memory(error);
    sn_triplets_free(&triplets);
    return status;
}

void sn_skin_spread(const sn_skin *skin, double most, double *distance) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int sweep = 0; sweep < 2; sweep++)
            for (int i = 0; i < skin->edge_count; i++) {
                int e = sweep ? skin->edge_count - 1 - i : i;
                double *a = &distance[skin->edges[2 * (size_t)e]],
                       *b = &distance[skin->edges[2 * (size_t)e + 1]];
                double length = skin->length[e];
                if (*a + length < *b && *a + length < most) *b = *a + length, changed = true;
                if (*b + length < *a && *b + length < most) *a = *b + length, changed = true;
            }
    }
}
