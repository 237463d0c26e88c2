/* The outer skin: what can be seen from outside.
 *
 * From every vertex rays go out in fixed directions. On the side of the surface from which a piece
 * is seen most, the fraction of the rays above the vertex that hit nothing is its openness: one
 * half to one on cheeks, a fifth in the corner of an eye, nothing in a closed mouth or behind an
 * eye. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/stoppable.h"
#include "capture/anatomy_state.h"
#include "mesh/normals.h"
#include "mesh/topology.h"
#include "sinew/query.h"

enum { DIRECTIONS = 64 };
/* Rays flatter than this to the surface do not count. */
#define FLAT 0.15
/* Rays start this fraction of the diagonal above the surface. */
#define LIFT 1e-4
/* A piece with this fraction of the moving, visible vertices of the largest one is skin, too. */
#define ALSO_SKIN 0.2
/* Other pieces of which this much is seen cover the skin and do not hide it. */
#define COVER 0.3

typedef struct casting {
    const sinew_query *query;
    const double *positions, *normals;
    sn_vec3 direction[DIRECTIONS];
    double lift;
    float *open[2];   /* per vertex: above and below the surface */
    const bool *done; /* vertices to leave as they are; NULL: none */
} casting;

static void cast_some(void *context, sn_span span) {
    const casting *c = context;
    for (size_t v = span.begin; v < span.end; v++) {
        sn_vec3 p = sn_at(c->positions, (int)v), n = sn_at(c->normals, (int)v);
        int all[2] = {0, 0}, open[2] = {0, 0};
        if (c->done && c->done[v]) continue;
        for (int k = 0; k < DIRECTIONS; k++) {
            double slope = sn_dot(n, c->direction[k]), from[3], along[3];
            sinew_closest hit;
            if (fabs(slope) < FLAT) continue;
            int side = slope < 0;
            sn_put(from, 0, sn_add_scaled(p, side ? -c->lift : c->lift, n));
            sn_put(along, 0, c->direction[k]);
            all[side]++;
            open[side] += !sinew_query_ray(c->query, from, along, INFINITY, &hit);
        }
        for (int side = 0; side < 2; side++)
            c->open[side][v] = all[side] ? (float)open[side] / (float)all[side] : 0;
    }
}

/* Evenly over the sphere, by the golden angle. */
static void spread_directions(sn_vec3 direction[DIRECTIONS]) {
    for (int k = 0; k < DIRECTIONS; k++) {
        double z = 1 - (2 * k + 1.0) / DIRECTIONS, r = sqrt(1 - z * z), a = 2.399963229728653 * k;
        direction[k] = sn_v3(r * cos(a), r * sin(a), z);
    }
}

/* a->openness; scratch: 2 per piece. */
static void choose_sides(sinew_anatomy *a, float *const open[2], double *sums, bool *below) {
    for (int v = 0; v < a->vertex_count; v++)
        for (int side = 0; side < 2; side++) sums[2 * a->piece[v] + side] += (double)open[side][v];
    for (int v = 0; v < a->vertex_count; v++) {
        const double *s = sums + 2 * a->piece[v];
        below[v] = s[1] > s[0];
        a->openness[v] = (double)open[below[v]][v];
    }
}

static void choose_skin(const sinew_rig *rig, sinew_anatomy *a, double *moving) {
    for (int k = 0; k < rig->target_count; k++)
        for (int i = 0; i < rig->targets[k].count; i++) {
            int v = rig->targets[k].vertices[i];
            if (a->openness[v] >= SINEW_ANATOMY_OPEN) a->skin[v] = true;
        }
    double most = 0;
    for (int v = 0; v < a->vertex_count; v++) moving[a->piece[v]] += a->skin[v];
    for (int p = 0; p < a->piece_count; p++) most = fmax(most, moving[p]);
    for (int p = 0; p < a->piece_count; p++)
        a->kind[p] = most > 0 && moving[p] >= ALSO_SKIN * most ? SINEW_PIECE_KIND_SKIN
                                                               : SINEW_PIECE_KIND_OUTSIDE;
    for (int v = 0; v < a->vertex_count; v++)
        a->skin[v] =
            a->kind[a->piece[v]] == SINEW_PIECE_KIND_SKIN && a->openness[v] >= SINEW_ANATOMY_OPEN;
}

/* Single vertices are as most of their neighbors are. */
static void even_out(const sn_topology *topology, sinew_anatomy *a, double *share) {
    for (int v = 0; v < a->vertex_count; v++) {
        const sn_lists *near = &topology->vertex_vertices;
        int count = sn_list_size(near, v), skin = 0;
        for (int i = near->start[v]; i < near->start[v + 1]; i++) skin += a->skin[near->item[i]];
        share[v] = count ? (double)skin / count : a->skin[v];
    }
    for (int v = 0; v < a->vertex_count; v++)
        if (a->kind[a->piece[v]] == SINEW_PIECE_KIND_SKIN && (share[v] < 0.2 || share[v] > 0.8))
            a->skin[v] = share[v] > 0.5;
}

/* Brows, lashes and hair lie on the skin and do not make it an inner one: skin that was not seen is
 * looked at again without the other pieces that are seen from outside. */
static sinew_status look_below(sinew_anatomy *a, const sinew_mesh *mesh, casting *c, double *sums,
                               const bool *below, sinew_error *error) {
    int kept = 0, count = mesh->triangle_count;
    double *open = sums, *size = sums + a->piece_count;
    memset(sums, 0, 2 * sizeof(double) * (size_t)a->piece_count);
    for (int v = 0; v < a->vertex_count; v++)
        open[a->piece[v]] += a->openness[v], size[a->piece[v]]++;
    int *triangles = SN_NEW(int, 3 * (size_t)count);
    if (!triangles) return sn_no_memory(error);
    for (int t = 0; t < count; t++) {
        int piece = a->piece[mesh->triangles[3 * (size_t)t]];
        if (a->kind[piece] != SINEW_PIECE_KIND_SKIN && open[piece] > COVER * size[piece]) continue;
        memcpy(triangles + 3 * (size_t)kept++, mesh->triangles + 3 * (size_t)t, 3 * sizeof(int));
    }
    sinew_query *query = NULL;
    sinew_status status = kept == count ? SINEW_OK
                                        : sinew_query_create(mesh->vertex_count, mesh->positions,
                                                             kept, triangles, &query, error);
    if (query) {
        c->query = query, c->done = a->skin;
        sn_parallel_for_stoppable(a->vertex_count, 16, cast_some, c);
        if (sn_scope_poll()) status = sn_fail(error, SINEW_CANCELLED, "cancelled");
        for (int v = 0; status == SINEW_OK && v < a->vertex_count; v++) {
            if (a->skin[v] || a->kind[a->piece[v]] != SINEW_PIECE_KIND_SKIN) continue;
            a->openness[v] = (double)c->open[below[v]][v];
            a->skin[v] = a->openness[v] >= SINEW_ANATOMY_OPEN;
        }
    }
    sinew_query_destroy(query);
    sn_free(triangles);
    return status;
}

sinew_status sn_anatomy_find_skin(const sinew_rig *rig, sinew_anatomy *a,
                                  const sinew_monitor *monitor, sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    size_t n = (size_t)mesh->vertex_count;
    double *normals = SN_NEW(double, 3 * n),
           *sums = SN_NEW0(double, 2 * (size_t)a->piece_count + n);
    casting c = {.positions = mesh->positions, .normals = normals};
    c.open[0] = SN_NEW(float, n), c.open[1] = SN_NEW(float, n);
    bool *below = SN_NEW(bool, n); /* the side of the surface that is outside */
    sn_topology *topology = NULL;
    sinew_query *query = NULL;
    sinew_status status =
        normals && sums && below && c.open[0] && c.open[1] ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_topology_create(mesh->vertex_count, mesh->triangle_count, mesh->triangles,
                                    &topology, error);
    if (status == SINEW_OK)
        status = sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                    mesh->triangles, &query, error);
    if (status == SINEW_OK) {
        sn_vertex_normals(topology, mesh->positions, SN_NORMAL_ANGLE, normals);
        spread_directions(c.direction);
        c.query = query, c.lift = LIFT * sinew_diagonal(mesh->vertex_count, mesh->positions);
        sn_parallel_for_stoppable(n, 16, cast_some, &c);
        if (sn_cancelled(monitor) || sn_scope_poll())
            status = sn_fail(error, SINEW_CANCELLED, "cancelled");
    }
    if (status == SINEW_OK) {
        choose_sides(a, c.open, sums, below);
        memset(sums, 0, sizeof(double) * (size_t)a->piece_count);
        choose_skin(rig, a, sums);
        status = look_below(a, mesh, &c, sums, below, error);
    }
    if (status == SINEW_OK) even_out(topology, a, sums);
    sn_free(normals), sn_free(sums), sn_free(below), sn_free(c.open[0]), sn_free(c.open[1]);
    sinew_query_destroy(query);
    sn_topology_destroy(topology);
    return status;
}
