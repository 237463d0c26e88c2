/* Based on: angle-weighted vertex normals (Thuermer and Wuethrich 1998). */
#include "mesh/normals.h"

#include "base/parallel.h"

typedef struct find_triangle_normals_loop {
    const int *triangles;
    const double *positions;
    double *normals;
} find_triangle_normals_loop;

static void find_triangle_normals(void *context, sn_span span) {
    const find_triangle_normals_loop *loop = context;
    const int *triangles = loop->triangles;
    const double *positions = loop->positions;
    double *normals = loop->normals;
    SN_IN_SPAN(int, t, span)
        sn_put(normals, t, sn_normalize(sn_area_vector(positions, triangles + 3 * (size_t)t)));
}

void sn_triangle_normals(int triangle_count, const int *triangles, const double *positions,
                         double *normals) {
    sn_parallel_for(triangle_count, 256, find_triangle_normals,
                    &(find_triangle_normals_loop){triangles, positions, normals});
}

typedef struct find_triangle_areas_loop {
    const int *triangles;
    const double *positions;
    double *areas;
} find_triangle_areas_loop;

static void find_triangle_areas(void *context, sn_span span) {
    const find_triangle_areas_loop *loop = context;
    const int *triangles = loop->triangles;
    const double *positions = loop->positions;
    double *areas = loop->areas;
    SN_IN_SPAN(int, t, span)
        areas[t] = 0.5 * sn_length(sn_area_vector(positions, triangles + 3 * (size_t)t));
}

void sn_triangle_areas(int triangle_count, const int *triangles, const double *positions,
                       double *areas) {
    sn_parallel_for(triangle_count, 256, find_triangle_areas,
                    &(find_triangle_areas_loop){triangles, positions, areas});
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

typedef struct find_vertex_normals_loop {
    const sn_topology *topology;
    const double *positions;
    sn_normal_weight weight;
    double *normals;
} find_vertex_normals_loop;

static void find_vertex_normals(void *context, sn_span span) {
    const find_vertex_normals_loop *loop = context;
    const sn_topology *topology = loop->topology;
    const double *positions = loop->positions;
    sn_normal_weight weight = loop->weight;
    double *normals = loop->normals;
    const sn_lists *around = &topology->vertex_triangles;
    SN_IN_SPAN(int, v, span) {
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

/* Each vertex gathers from its triangles in their order: no race, one order of summation. */
void sn_vertex_normals(const sn_topology *topology, const double *positions,
                       sn_normal_weight weight, double *normals) {
    sn_parallel_for(topology->vertex_count, 128, find_vertex_normals,
                    &(find_vertex_normals_loop){topology, positions, weight, normals});
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
