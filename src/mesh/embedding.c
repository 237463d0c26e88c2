/* Barycentric embedding of points in a tet mesh. */
#include <math.h>

#include "base/mat3.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "mesh/broadphase.h"
#include "mesh/embedding.h"
#include "mesh/sides.h"
#include "sinew/query.h"

void sinew_embedding_destroy(sinew_embedding *embedding) {
    if (!embedding) return;
    sn_free(embedding->tet);
    sn_free(embedding->corners);
    sn_free(embedding->weights);
    sn_free(embedding);
}

sinew_status sn_embedding_allocate(int vertex_count, sinew_embedding **embedding,
                                   sinew_error *error) {
    sinew_embedding *made = SN_NEW0(sinew_embedding, 1);
    *embedding = made;
    if (!made) return sn_no_memory(error);
    made->vertex_count = vertex_count;
    made->tet = SN_NEW(int, vertex_count);
    made->corners = SN_NEW(int, 4 * (size_t)vertex_count);
    made->weights = SN_NEW(double, 4 * (size_t)vertex_count);
    if (made->tet && made->corners && made->weights) return SINEW_OK;
    sinew_embedding_destroy(made);
    *embedding = NULL;
    return sn_no_memory(error);
}

void sn_embedding_corners(const sinew_tets *tets, sinew_embedding *embedding) {
    for (int v = 0; v < embedding->vertex_count; v++)
        for (int k = 0; k < 4; k++)
            embedding->corners[4 * (size_t)v + (size_t)k] =
                tets->tets[4 * (size_t)embedding->tet[v] + (size_t)k];
}

/* Weights of p in a tet: volumes of the tets it spans with the sides, over the whole. False for a
 * flat tet. */
static bool barycentric(const sinew_tets *tets, int tet, sn_vec3 p, double weights[4]) {
    const int *v = tets->tets + 4 * (size_t)tet;
    sn_vec3 a = sn_at(tets->positions, v[0]);
    sn_vec3 b = sn_sub(sn_at(tets->positions, v[1]), a);
    sn_vec3 c = sn_sub(sn_at(tets->positions, v[2]), a);
    sn_vec3 d = sn_sub(sn_at(tets->positions, v[3]), a);
    sn_vec3 q = sn_sub(p, a);
    double volume = sn_dot(sn_cross(b, c), d);
    if (volume == 0) return false;
    weights[1] = sn_dot(sn_cross(q, c), d) / volume;
    weights[2] = sn_dot(sn_cross(b, q), d) / volume;
    weights[3] = sn_dot(sn_cross(b, c), q) / volume;
    weights[0] = 1 - weights[1] - weights[2] - weights[3];
    return isfinite(weights[0]);
}

static double least(const double w[4]) {
    return fmin(fmin(w[0], w[1]), fmin(w[2], w[3]));
}

/* Among the tets whose box holds a point, the one that holds it best. */
static sinew_status find_containing(const sinew_tets *tets, int count, const int *points,
                                    const double *positions, int *tet, double *weights,
                                    sinew_error *error) {
    sn_box_frame frame = sn_box_frame_of(tets->vertex_count, tets->positions, 0, NULL);
    sn_box *around = SN_NEW(sn_box, tets->tet_count), *at = SN_NEW(sn_box, count);
    sn_pairs pairs = {0};
    sinew_status status = around && at ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int t = 0; t < tets->tet_count; t++) {
            around[t] = sn_box_empty();
            for (int k = 0; k < 4; k++)
                sn_box_include(&around[t], &frame,
                               sn_at(tets->positions, tets->tets[4 * (size_t)t + (size_t)k]), 0);
        }
        for (int i = 0; i < count; i++) {
            at[i] = sn_box_empty();
            sn_vec3 p = sn_at(positions, points[i]);
            /* far outside there is nothing to find, and floats would overflow */
            sn_vec3 local = sn_scale(frame.scale, sn_sub(p, frame.center));
            if (sn_length(local) > 100) p = sn_add(frame.center, sn_v3(100 / frame.scale, 0, 0));
            sn_box_include(&at[i], &frame, p, 0);
        }
        status = sn_box_pairs(count, at, tets->tet_count, around, NULL, NULL, &pairs, error);
    }
    for (int i = 0; status == SINEW_OK && i < pairs.count; i++) {
        int v = points[pairs.pair[2 * (size_t)i]], candidate = pairs.pair[2 * (size_t)i + 1];
        double w[4];
        if (!barycentric(tets, candidate, sn_at(positions, v), w) || least(w) < -1e-12) continue;
        if (tet[v] >= 0 && !(least(w) > least(weights + 4 * (size_t)v))) continue;
        tet[v] = candidate;
        for (int k = 0; k < 4; k++) weights[4 * (size_t)v + (size_t)k] = w[k];
    }
    sn_free(around);
    sn_free(at);
    sn_pairs_free(&pairs);
    return status;
}

sinew_status sn_tets_outer_sides(const sinew_tets *tets, int **triangles, int **owner, int *count,
                                 sinew_error *error) {
    sn_side *sides;
    size_t total;
    SN_TRY(sn_sides_create(tets->tet_count, tets->tets, 0, NULL, &sides, &total, error));
    *triangles = SN_NEW(int, 3 * total);
    *owner = SN_NEW(int, total);
    *count = 0;
    if (!*triangles || !*owner) {
        sn_free(sides);
        return sn_no_memory(error);
    }
    for (size_t i = 0, end; i < total; i = end) {
        end = sn_sides_next(sides, total, i);
        if (end > i + 1) continue;
        for (int k = 0; k < 3; k++) (*triangles)[3 * (size_t)*count + (size_t)k] = sides[i].v[k];
        (*owner)[(*count)++] = sides[i].tet;
    }
    sn_free(sides);
    return SINEW_OK;
}

static sinew_status find_nearest(const sinew_tets *tets, int count, const int *points,
                                 const double *positions, int *tet, double *weights,
                                 sinew_error *error) {
    int *triangles = NULL, *owner = NULL, side_count;
    sinew_query *query = NULL;
    sinew_status status = sn_tets_outer_sides(tets, &triangles, &owner, &side_count, error);
    if (status == SINEW_OK)
        status = sinew_query_create(tets->vertex_count, tets->positions, side_count, triangles,
                                    &query, error);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        int v = points[i];
        if (tet[v] >= 0) continue;
        sinew_closest closest;
        double *w = weights + 4 * (size_t)v;
        if (!sinew_query_closest(query, positions + 3 * (size_t)v, INFINITY, &closest) ||
            !barycentric(tets, owner[closest.triangle], sn_at(positions, v), w))
            status = sn_fail(error, SINEW_BAD_INPUT, "vertex %d: no tet to embed it in", v);
        else
            tet[v] = owner[closest.triangle];
    }
    sinew_query_destroy(query);
    sn_free(triangles);
    sn_free(owner);
    return status;
}

sinew_status sn_embed_points(const sinew_tets *tets, int count, const int *points,
                             const double *positions, int *tet, double *weights,
                             sinew_error *error) {
    if (count == 0) return SINEW_OK;
    for (int i = 0; i < count; i++) tet[points[i]] = -1;
    SN_TRY(find_containing(tets, count, points, positions, tet, weights, error));
    bool all = true;
    for (int i = 0; i < count; i++) all &= tet[points[i]] >= 0;
    return all ? SINEW_OK : find_nearest(tets, count, points, positions, tet, weights, error);
}

sinew_status sinew_embedding_create(const sinew_tets *tets, int vertex_count,
                                    const double *positions, sinew_embedding **embedding,
                                    sinew_error *error) {
    SN_REQUIRE(embedding, error);
    *embedding = NULL;
    SN_REQUIRE(tets && vertex_count >= 0 && (positions || vertex_count == 0), error);
    for (size_t i = 0; i < 3 * (size_t)vertex_count; i++)
        if (!isfinite(positions[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu: coordinate is not finite", i / 3);
    if (tets->tet_count == 0 && vertex_count > 0)
        return sn_fail(error, SINEW_BAD_INPUT, "there are no tets to embed in");
    sinew_embedding *made;
    SN_TRY(sn_embedding_allocate(vertex_count, &made, error));
    int *points = SN_NEW(int, vertex_count);
    sinew_status status = points ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int v = 0; v < vertex_count; v++) points[v] = v;
        status =
            sn_embed_points(tets, vertex_count, points, positions, made->tet, made->weights, error);
    }
    sn_free(points);
    if (status != SINEW_OK) {
        sinew_embedding_destroy(made);
        return status;
    }
    sn_embedding_corners(tets, made);
    *embedding = made;
    return SINEW_OK;
}

typedef struct carry_vertices_loop {
    const sinew_embedding *embedding;
    const double *tet_positions;
    double *positions;
} carry_vertices_loop;

static void carry_vertices(void *context, sn_span span) {
    const carry_vertices_loop *loop = context;
    const sinew_embedding *embedding = loop->embedding;
    const double *tet_positions = loop->tet_positions;
    double *positions = loop->positions;
    SN_IN_SPAN(int, v, span) {
        const int *corner = embedding->corners + 4 * (size_t)v;
        const double *w = embedding->weights + 4 * (size_t)v;
        sn_vec3 sum = sn_scale(w[0], sn_at(tet_positions, corner[0]));
        for (int k = 1; k < 4; k++) sum = sn_add_scaled(sum, w[k], sn_at(tet_positions, corner[k]));
        sn_put(positions, v, sum);
    }
}

void sinew_embedding_apply(const sinew_embedding *embedding, const double *tet_positions,
                           double *positions) {
    sn_parallel_for(embedding->vertex_count, 256, carry_vertices,
                    &(carry_vertices_loop){embedding, tet_positions, positions});
}
