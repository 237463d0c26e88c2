/* Based on: cotangent weights (Pinkall and Polthier 1993); mixed Voronoi areas (Meyer, Desbrun,
 * Schroeder and Barr 2003).
 * We differ in: slivers have bounded weights, so that one bad triangle cannot spoil a solve. */
#include "mesh/laplacian.h"

#include <math.h>

#include "base/mat3.h"
#include "base/parallel.h"
#include "mesh/normals.h"

/* Height over longest edge below which an element counts as having this height. */
static const double least_height = 1e-6;

static bool add_edge(sn_triplets *triplets, int i, int j, double weight) {
    if (i == j) return true;
    return sn_triplets_add(triplets, i > j ? i : j, i > j ? j : i, -weight) &&
           sn_triplets_add(triplets, i, i, weight) && sn_triplets_add(triplets, j, j, weight);
}

static bool add_diagonal(sn_triplets *triplets, int vertex_count) {
    for (int v = 0; v < vertex_count; v++)
        if (!sn_triplets_add(triplets, v, v, 0)) return false;
    return true;
}

static sinew_status finish(sn_triplets *triplets, bool ok, sn_sparse **matrix, sinew_error *error) {
    sinew_status status =
        ok ? sn_sparse_from_triplets(triplets, true, matrix, error) : sn_no_memory(error);
    sn_triplets_free(triplets);
    return status;
}

/* The weight of the edge opposite corner k is half the cotangent there:
 *   cot = u . v / |u x v|, u and v the edges from the corner. */
static void half_cotangents(const double *positions, const int *triangle, double half[3]) {
    sn_vec3 p[3];
    double longest = 0;
    for (int k = 0; k < 3; k++) p[k] = sn_at(positions, triangle[k]);
    for (int k = 0; k < 3; k++) longest = fmax(longest, sn_distance(p[k], p[(k + 1) % 3]));
    double area = sn_length(sn_area_vector(positions, triangle));
    area = fmax(area, least_height * longest * longest);
    for (int k = 0; k < 3; k++) {
        sn_vec3 u = sn_sub(p[(k + 1) % 3], p[k]), v = sn_sub(p[(k + 2) % 3], p[k]);
        half[k] = area > 0 ? 0.5 * sn_dot(u, v) / area : 0;
    }
}

sinew_status sn_laplacian_cotangent(int vertex_count, const double *positions, int triangle_count,
                                    const int *triangles, sn_sparse **matrix, sinew_error *error) {
    *matrix = NULL;
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(vertex_count, vertex_count,
                              9 * (size_t)triangle_count + (size_t)vertex_count, &triplets, error));
    bool ok = add_diagonal(&triplets, vertex_count);
    for (int t = 0; ok && t < triangle_count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        double half[3];
        half_cotangents(positions, v, half);
        for (int k = 0; ok && k < 3; k++)
            ok = add_edge(&triplets, v[(k + 1) % 3], v[(k + 2) % 3], half[k]);
    }
    return finish(&triplets, ok, matrix, error);
}

sinew_status sn_laplacian_uniform(int vertex_count, const sn_edges *edges, sn_sparse **matrix,
                                  sinew_error *error) {
    *matrix = NULL;
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(vertex_count, vertex_count,
                              3 * (size_t)edges->count + (size_t)vertex_count, &triplets, error));
    bool ok = add_diagonal(&triplets, vertex_count);
    for (int e = 0; ok && e < edges->count; e++)
        ok = add_edge(&triplets, edges->vertices[2 * (size_t)e], edges->vertices[2 * (size_t)e + 1],
                      1);
    return finish(&triplets, ok, matrix, error);
}

/* The gradient of the hat function of corner k is the inward area vector of the opposite side over
 * three times the volume, so the entry (i, j) of the element is  s_i . s_j / (9 |T|). */
static bool add_tet(sn_triplets *triplets, const double *positions, const int *tet) {
    sn_vec3 p[4], side[4];
    double longest = 0;
    for (int k = 0; k < 4; k++) p[k] = sn_at(positions, tet[k]);
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) longest = fmax(longest, sn_distance(p[i], p[j]));
    static const int opposite[4][3] = {{1, 3, 2}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}};
    for (int k = 0; k < 4; k++) {
        const int *o = opposite[k];
        side[k] = sn_scale(0.5, sn_cross(sn_sub(p[o[1]], p[o[0]]), sn_sub(p[o[2]], p[o[0]])));
    }
    double volume = fabs(sn_dot(side[3], sn_sub(p[3], p[0]))) / 3;
    volume = fmax(volume, least_height * longest * longest * longest);
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) {
            double weight = volume > 0 ? -sn_dot(side[i], side[j]) / (9 * volume) : 0;
            if (!add_edge(triplets, tet[i], tet[j], weight)) return false;
        }
    return true;
}

sinew_status sn_laplacian_tets(int vertex_count, const double *positions, int tet_count,
                               const int *tets, sn_sparse **matrix, sinew_error *error) {
    *matrix = NULL;
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(vertex_count, vertex_count,
                              18 * (size_t)tet_count + (size_t)vertex_count, &triplets, error));
    bool ok = add_diagonal(&triplets, vertex_count);
    for (int t = 0; ok && t < tet_count; t++)
        ok = add_tet(&triplets, positions, tets + 4 * (size_t)t);
    return finish(&triplets, ok, matrix, error);
}

void sn_mass_barycentric(int vertex_count, const double *positions, int triangle_count,
                         const int *triangles, double *mass) {
    for (int v = 0; v < vertex_count; v++) mass[v] = 0;
    for (int t = 0; t < triangle_count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        double third = sn_length(sn_area_vector(positions, v)) / 6;
        for (int k = 0; k < 3; k++) mass[v[k]] += third;
    }
}

/* Without an obtuse corner, corner k gets (|e_i|^2 cot_i + |e_j|^2 cot_j) / 8 over its two edges;
 * otherwise the obtuse corner gets half the triangle and the others a quarter. */
void sn_mass_voronoi(int vertex_count, const double *positions, int triangle_count,
                     const int *triangles, double *mass) {
    for (int v = 0; v < vertex_count; v++) mass[v] = 0;
    for (int t = 0; t < triangle_count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        double area = 0.5 * sn_length(sn_area_vector(positions, v));
        sn_vec3 p[3], edge[3]; /* edge k is opposite corner k */
        for (int k = 0; k < 3; k++) p[k] = sn_at(positions, v[k]);
        for (int k = 0; k < 3; k++) edge[k] = sn_sub(p[(k + 2) % 3], p[(k + 1) % 3]);
        int obtuse = -1;
        for (int k = 0; k < 3; k++)
            if (sn_dot(edge[(k + 1) % 3], edge[(k + 2) % 3]) > 0) obtuse = k;
        if (obtuse >= 0 || !(area > 0)) {
            for (int k = 0; k < 3; k++) mass[v[k]] += area * (k == obtuse ? 0.5 : 0.25);
            continue;
        }
        for (int k = 0; k < 3; k++) {
            /* the share of edge k, for each of its two ends: |e_k|^2 cot_k / 8 */
            double cotangent = -sn_dot(edge[(k + 1) % 3], edge[(k + 2) % 3]) / (2 * area);
            double share = sn_dot(edge[k], edge[k]) * cotangent / 8;
            mass[v[(k + 1) % 3]] += share;
            mass[v[(k + 2) % 3]] += share;
        }
    }
}

static double tet_volume(const double *positions, const int *tet) {
    sn_vec3 a = sn_at(positions, tet[0]);
    return sn_dot(
               sn_cross(sn_sub(sn_at(positions, tet[1]), a), sn_sub(sn_at(positions, tet[2]), a)),
               sn_sub(sn_at(positions, tet[3]), a)) /
           6;
}

typedef struct measure_volumes_loop {
    const double *positions;
    const int *tets;
    double *volumes;
} measure_volumes_loop;

static void measure_volumes(void *context, sn_span span) {
    const measure_volumes_loop *loop = context;
    const double *positions = loop->positions;
    const int *tets = loop->tets;
    double *volumes = loop->volumes;
    SN_IN_SPAN(int, t, span) volumes[t] = tet_volume(positions, tets + 4 * (size_t)t);
}

void sn_tet_volumes(const double *positions, int tet_count, const int *tets, double *volumes) {
    sn_parallel_for(tet_count, 256, measure_volumes,
                    &(measure_volumes_loop){positions, tets, volumes});
}

void sn_mass_tets(int vertex_count, const double *positions, int tet_count, const int *tets,
                  double *mass) {
    for (int v = 0; v < vertex_count; v++) mass[v] = 0;
    for (int t = 0; t < tet_count; t++) {
        const int *v = tets + 4 * (size_t)t;
        double quarter = fabs(tet_volume(positions, v)) / 4;
        for (int k = 0; k < 4; k++) mass[v[k]] += quarter;
    }
}
