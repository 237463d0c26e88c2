/* Based on: angle-weighted vertex normals (Thuermer and Wuethrich 1998). */
#include "mesh/normals.h"

#include "base/threads.h"

void sn_triangle_normals(int triangle_count, const int *triangles, const double *positions,
                         double *normals) {
#pragma omp parallel for num_threads(sn_threads()) schedule(static)
    for (int t = 0; t < triangle_count; t++)
        sn_put(normals, t, sn_normalize(sn_area_vector(positions, triangles + 3 * (size_t)t)));
}

void sn_triangle_areas(int triangle_count, const int *triangles, const double *positions,
                       double *areas) {
#pragma omp parallel for num_threads(sn_threads()) schedule(static)
    for (int t = 0; t < triangle_count; t++)
        areas[t] = 0.5 * sn_length(sn_area_vector(positions, triangles + 3 * (size_t)t));
}

/* atan2(|u x v|, u . v): exact near 0 and pi. */
static double angle_between(sn_vec3 u, sn_vec3 v) {
    return atan2(sn_length(sn_cross(u, v)), sn_dot(u, v));
}

static double corner_angle(const double *positions, const int *triangle, int vertex) {
    int k = triangle[0] == vertex ? 0 : triangle[1] == vertex ? 1 : 2;
    sn_vec3 p = sn_at(positions, vertex);
    return angle_between(sn_sub(sn_at(positions, triangle[(k + 1) % 3]), p),
                         sn_sub(sn_at(positions, triangle[(k + 2) % 3]), p));
}

/* Each vertex gathers from its triangles in their order: no race, one order of summation. */
void sn_vertex_normals(const sn_topology *topology, const double *positions,
                       sn_normal_weight weight, double *normals) {
    const sn_lists *around = &topology->vertex_triangles;
#pragma omp parallel for num_threads(sn_threads()) schedule(static)
    for (int v = 0; v < topology->vertex_count; v++) {
        sn_vec3 sum = sn_v3(0, 0, 0);
        for (int i = around->start[v]; i < around->start[v + 1]; i++) {
            const int *triangle = topology->triangles + 3 * (size_t)around->item[i];
            sn_vec3 area = sn_area_vector(positions, triangle);
            if (weight == SN_NORMAL_ANGLE)
                sum = sn_add_scaled(sum, corner_angle(positions, triangle, v), sn_normalize(area));
            else
                sum = sn_add(sum, area);
        }
        sn_put(normals, v, sn_normalize(sum));
    }
}

double sn_enclosed_volume(int triangle_count, const int *triangles, const double *positions) {
    double volume = 0;
    sn_vec3 origin = triangle_count ? sn_at(positions, triangles[0]) : sn_v3(0, 0, 0);
    for (int t = 0; t < triangle_count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        sn_vec3 a = sn_sub(sn_at(positions, v[0]), origin);
        sn_vec3 b = sn_sub(sn_at(positions, v[1]), origin);
        sn_vec3 c = sn_sub(sn_at(positions, v[2]), origin);
        volume += sn_dot(a, sn_cross(b, c));
    }
    return volume / 6;
}
