/* Based on: Sumner and Popovic, Deformation transfer for triangle meshes, 2004 (correspondence by
 * iterated closest points). We differ in: a thin-plate warp of space as the start, and rounds that
 * draw the surface on with a displacement of least bending, so that each round is one linear solve.
 */
#include "rig/transfer_match.h"

#include <math.h>
#include <string.h>

#include "algebra/cholesky.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "mesh/laplacian.h"
#include "mesh/normals.h"
#include "sinew/query.h"
#include "sinew/warp.h"

/* Closest points farther than this fraction of the diagonal, or whose normals differ by more than
 * about 70 degrees, pull nothing. */
#define REACH  0.05
#define FACING 0.35
/* Bending of the displacement against distance to the surface, first and last round. */
#define STIFF_FIRST 1e-5
#define STIFF_LAST  1e-8

static sinew_status match_same(const sinew_mesh *target, sn_match *match, sinew_error *error) {
    match->same_topology = true;
    match->vertices = SN_NEW0(sn_place, target->vertex_count);
    match->triangles = SN_NEW0(sn_place, target->triangle_count);
    match->triangle = SN_NEW(int, target->triangle_count);
    if (!match->vertices || !match->triangles || !match->triangle) return sn_no_memory(error);
    for (int v = 0; v < target->vertex_count; v++)
        match->vertices[v] = (sn_place){{v, v, v}, {1, 0, 0}, false};
    for (int t = 0; t < target->triangle_count; t++) {
        match->triangle[t] = t;
        for (int k = 0; k < 3; k++) {
            match->triangles[t].vertices[k] = target->triangles[3 * (size_t)t + (size_t)k];
            match->triangles[t].weights[k] = 1.0 / 3;
        }
    }
    return SINEW_OK;
}

/* Warped positions of the source from the pairs. */
static sinew_status warp_source(const sinew_mesh *source, const sinew_mesh *target,
                                const sinew_transfer_options *options, double *warped,
                                sinew_error *error) {
    int n = options->pair_count;
    double *from = SN_NEW(double, 3 * (size_t)n), *to = SN_NEW(double, 3 * (size_t)n);
    if (!from || !to) {
        sn_free(from), sn_free(to);
        return sn_no_memory(error);
    }
    for (int i = 0; i < n; i++) {
        sn_put(from, i, sn_at(source->positions, options->source_vertices[i]));
        sn_put(to, i, sn_at(target->positions, options->target_vertices[i]));
    }
    sinew_warp *warp = NULL;
    sinew_status status = sinew_warp_create(n, from, to, SINEW_WARP_SMOOTHING, &warp, error);
    sn_free(from), sn_free(to);
    if (status != SINEW_OK) return status;
    for (int v = 0; v < source->vertex_count; v++)
        sinew_warp_point(warp, source->positions + 3 * (size_t)v, warped + 3 * (size_t)v);
    sinew_warp_destroy(warp);
    return SINEW_OK;
}

/* L^T diag(1/a) L, the quadratic form of (1/a) |L x|^2: bending of a displacement of the sheet. */
static sinew_status bending_form(const sinew_mesh *mesh, const double *positions,
                                 const double *area, sn_sparse **form, sinew_error *error) {
    sn_sparse *half = NULL, *full = NULL;
    sinew_status status = sn_laplacian_cotangent(
        mesh->vertex_count, positions, mesh->triangle_count, mesh->triangles, &half, error);
    double *weights = SN_NEW(double, mesh->vertex_count);
    if (status == SINEW_OK && !weights) status = sn_no_memory(error);
    if (status == SINEW_OK) {
        /* The Gram product needs both triangles. */
        sn_triplets triplets;
        status = sn_triplets_create(half->rows, half->columns, 2 * (size_t)sn_sparse_nonzeros(half),
                                    &triplets, error);
        for (int c = 0; status == SINEW_OK && c < half->columns; c++)
            for (int e = half->start[c]; e < half->start[c + 1]; e++) {
                bool added = sn_triplets_add(&triplets, half->row[e], c, half->value[e]);
                if (half->row[e] != c)
                    added &= sn_triplets_add(&triplets, c, half->row[e], half->value[e]);
                if (!added) status = sn_no_memory(error);
            }
        if (status == SINEW_OK) status = sn_sparse_from_triplets(&triplets, false, &full, error);
        sn_triplets_free(&triplets);
    }
    for (int v = 0; status == SINEW_OK && v < mesh->vertex_count; v++)
        weights[v] = area[v] > 0 ? 1 / area[v] : 0;
    if (status == SINEW_OK) status = sn_sparse_gram(full, weights, form, error);
    sn_sparse_destroy(half), sn_sparse_destroy(full);
    sn_free(weights);
    return status;
}

typedef struct sn_drawing {
    double *area, *normals, *target_normals, *right;
    sn_topology *topology;
    sinew_query *query;
    sinew_closest *closest;
} sn_drawing;

static void free_drawing(sn_drawing *d) {
    sn_free(d->area), sn_free(d->normals), sn_free(d->target_normals);
    sn_free(d->right), sn_free(d->closest);
    sn_topology_destroy(d->topology);
    sinew_query_destroy(d->query);
}

/* One round: closest points with similar normals pull, bending resists:
 *   min sum_v a_v w_v |x_v + d_v - c_v|^2 + stiffness D^4 sum_v |(L d)_v|^2 / a_v */
static sinew_status draw_once(const sinew_mesh *source, double stiffness, double diagonal,
                              sn_drawing *d, double *warped, sinew_error *error) {
    int n = source->vertex_count;
    double total = 0;
    sn_mass_barycentric(n, warped, source->triangle_count, source->triangles, d->area);
    for (int v = 0; v < n; v++) total += d->area[v];
    if (!(total > 0)) return SINEW_OK;
    double floor = 1e-6 * total / n;
    for (int v = 0; v < n; v++) d->area[v] = fmax(d->area[v], floor) / total;
    sn_vertex_normals(d->topology, warped, SN_NORMAL_ANGLE, d->normals);
    sinew_query_closest_all(d->query, n, warped, REACH * diagonal, d->closest);

    sn_sparse *form = NULL;
    SN_TRY(bending_form(source, warped, d->area, &form, error));
    /* L is without units, so 1/a scales the form: areas are shares of the whole, lengths shares of
     * the diagonal. */
    for (int e = 0; e < sn_sparse_nonzeros(form); e++) form->value[e] *= stiffness;
    for (int v = 0; v < n; v++) {
        const sinew_closest *c = &d->closest[v];
        double weight = 1e-9;
        sn_vec3 step = {0, 0, 0};
        if (c->triangle >= 0) {
            double facing = sn_dot(sn_at(d->normals, v), sn_at(d->target_normals, c->triangle));
            if (facing > FACING) weight = facing;
            step = sn_sub(sn_v3(c->point[0], c->point[1], c->point[2]), sn_at(warped, v));
        }
        sn_put(d->right, v, sn_scale(weight * d->area[v], weight > 1e-9 ? step : sn_v3(0, 0, 0)));
        form->value[form->start[v]] += weight * d->area[v]; /* the diagonal comes first */
    }
    sn_cholesky *factor = NULL;
    sn_cholesky_work *work = NULL;
    sinew_status status = sn_cholesky_create(form, &factor, error);
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, 3, &work, error);
    if (status == SINEW_OK) {
        sn_cholesky_solve(factor, work, 3, d->right, d->right);
        for (size_t i = 0; i < 3 * (size_t)n; i++) warped[i] += d->right[i];
    }
    sn_cholesky_work_destroy(work);
    sn_cholesky_destroy(factor);
    sn_sparse_destroy(form);
    return status;
}

static sinew_status draw_onto(const sinew_mesh *source, const sinew_mesh *target, int rounds,
                              double *warped, const sinew_monitor *monitor, sinew_error *error) {
    size_t n = (size_t)source->vertex_count;
    double diagonal = sinew_diagonal(target->vertex_count, target->positions);
    sn_drawing d = {.area = SN_NEW(double, n),
                    .normals = SN_NEW(double, 3 * n),
                    .target_normals = SN_NEW(double, 3 * (size_t)target->triangle_count),
                    .right = SN_NEW(double, 3 * n),
                    .closest = SN_NEW(sinew_closest, n)};
    sinew_status status = SINEW_OK;
    if (!d.area || !d.normals || !d.target_normals || !d.right || !d.closest)
        status = sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_topology_create(source->vertex_count, source->triangle_count, source->triangles,
                                    &d.topology, error);
    if (status == SINEW_OK)
        status = sinew_query_create(target->vertex_count, target->positions, target->triangle_count,
                                    target->triangles, &d.query, error);
    if (status == SINEW_OK)
        sn_triangle_normals(target->triangle_count, target->triangles, target->positions,
                            d.target_normals);
    for (int round = 0; status == SINEW_OK && round < rounds; round++) {
        if (sn_cancelled(monitor)) status = sn_fail(error, SINEW_CANCELLED, "cancelled");
        double t = rounds > 1 ? (double)round / (rounds - 1) : 1;
        if (status == SINEW_OK)
            status = draw_once(source, STIFF_FIRST * pow(STIFF_LAST / STIFF_FIRST, t), diagonal, &d,
                               warped, error);
        sn_progress(monitor, (round + 1.0) / rounds, "match");
    }
    free_drawing(&d);
    return status;
}

static sn_place place_of(const sinew_mesh *source, const sinew_closest *c) {
    sn_place place = {.weights = {1, 0, 0}};
    for (int k = 0; c->triangle >= 0 && k < 3; k++) {
        place.vertices[k] = source->triangles[3 * (size_t)c->triangle + (size_t)k];
        place.weights[k] = c->barycentric[k];
    }
    return place;
}

/* Places on the warped source that are nearest to the target's vertices and centroids. */
static sinew_status read_places(const sinew_mesh *source, const sinew_mesh *target,
                                const double *warped, sn_match *match, sinew_transfer_info *info,
                                sinew_error *error) {
    int n = target->vertex_count, m = target->triangle_count;
    double diagonal = sinew_diagonal(n, target->positions), sum = 0;
    match->vertices = SN_NEW(sn_place, n);
    match->triangles = SN_NEW(sn_place, m);
    sinew_query *query = NULL;
    if (!match->vertices || !match->triangles) return sn_no_memory(error);
    SN_TRY(sinew_query_create(source->vertex_count, warped, source->triangle_count,
                              source->triangles, &query, error));
    for (int v = 0; v < n; v++) {
        sinew_closest c;
        sinew_query_closest(query, target->positions + 3 * (size_t)v, INFINITY, &c);
        match->vertices[v] = place_of(source, &c);
        match->vertices[v].far = c.distance > REACH * diagonal;
        sum += c.distance / diagonal;
        info->match_max = fmax(info->match_max, c.distance / diagonal);
        info->unmatched += match->vertices[v].far;
    }
    info->match_mean = sum / (n > 0 ? n : 1);
    for (int t = 0; t < m; t++) {
        const int *v = target->triangles + 3 * (size_t)t;
        double center[3];
        for (int k = 0; k < 3; k++)
            center[k] = (target->positions[3 * (size_t)v[0] + (size_t)k] +
                         target->positions[3 * (size_t)v[1] + (size_t)k] +
                         target->positions[3 * (size_t)v[2] + (size_t)k]) /
                        3;
        sinew_closest c;
        sinew_query_closest(query, center, INFINITY, &c);
        match->triangles[t] = place_of(source, &c);
    }
    sinew_query_destroy(query);
    return SINEW_OK;
}

static sinew_status check_pairs(const sinew_mesh *source, const sinew_mesh *target,
                                const sinew_transfer_options *options, sinew_error *error) {
    if (options->pair_count < 4)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "transfer: the faces differ (%d and %d vertices), so at least 4 pairs of "
                       "corresponding vertices are needed",
                       source->vertex_count, target->vertex_count);
    char *given = SN_NEW0(char, source->vertex_count);
    sinew_status status = given ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < options->pair_count; i++) {
        int a = options->source_vertices[i], b = options->target_vertices[i];
        if (a < 0 || a >= source->vertex_count || b < 0 || b >= target->vertex_count)
            status = sn_fail(error, SINEW_BAD_INPUT, "transfer: pair %d (%d, %d) is out of range",
                             i, a, b);
        else if (given[a])
            status = sn_fail(error, SINEW_BAD_INPUT,
                             "transfer: pair %d gives source vertex %d a second time", i, a);
        else
            given[a] = 1;
    }
    sn_free(given);
    SN_TRY(status);
    if (source->triangle_count == 0 || target->triangle_count == 0)
        return sn_fail(error, SINEW_BAD_INPUT, "transfer: a mesh has no faces");
    return SINEW_OK;
}

sinew_status sn_match_create(const sinew_mesh *source, const sinew_mesh *target,
                             const sinew_transfer_options *options, const sinew_monitor *monitor,
                             sn_match *match, sinew_transfer_info *info, sinew_error *error) {
    memset(match, 0, sizeof *match);
    sinew_status status;
    /* Given pairs ask for matching by position even where the counts happen to agree. */
    if (options->pair_count == 0 && sinew_mesh_same_topology(source, target, NULL) == SINEW_OK) {
        info->same_topology = true;
        status = match_same(target, match, error);
    } else {
        SN_TRY(check_pairs(source, target, options, error));
        double *warped = SN_NEW(double, 3 * (size_t)source->vertex_count);
        status = warped ? warp_source(source, target, options, warped, error) : sn_no_memory(error);
        if (status == SINEW_OK)
            status = draw_onto(source, target, options->rounds, warped, monitor, error);
        if (status == SINEW_OK) status = read_places(source, target, warped, match, info, error);
        sn_free(warped);
    }
    if (status != SINEW_OK) sn_match_free(match);
    return status;
}

void sn_match_free(sn_match *match) {
    sn_free(match->vertices), sn_free(match->triangles), sn_free(match->triangle);
    memset(match, 0, sizeof *match);
}
