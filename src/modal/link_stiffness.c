/* Links between parts (mesh/rotation_links.h) in the stiffness of vibrations. */
#include "base/monitor.h"
#include "mesh/rotation_links.h"
#include "modal/elements.h"

/* For small displacements u a link asks for
 *
 *   r(u) = u_a - sum_c b_c u_c - t_a x h_a - t_b x h_b = 0,
 *
 * h its two halves at rest and t the rotation rates around its ends: of the largest element there,
 * which is enough for rigid motions to cost nothing. The axial vector of H = sum u_k g_k^T is
 * t = 1/2 sum g_k x u_k; on a triangle the normal turns along and adds -1/2 (n x g_k)(n . u_k). The
 * matrices C_k of r(u) = sum C_k u_k give the blocks k C_i^T C_j. */
enum { MOST = 12 }; /* a, b's corners, and up to four of each element */

typedef struct link_rows {
    int count;
    int vertices[MOST];
    sn_mat3 matrices[MOST];
} link_rows;

static void add_row(link_rows *rows, int vertex, sn_mat3 matrix) {
    int k = 0;
    while (k < rows->count && rows->vertices[k] != vertex) k++;
    if (k < rows->count)
        rows->matrices[k] = sn_mat3_add(rows->matrices[k], matrix);
    else
        rows->vertices[rows->count++] = vertex, rows->matrices[k] = matrix;
}

/* -t x h as matrices on the corners of the largest element around a half. */
static void add_half(const sn_rotation_strain *rs, int half, link_rows *rows) {
    int first, last, best = -1;
    sn_rotation_half_ring(rs, half, &first, &last);
    for (int c = first; c < last; c++) {
        int e = rs->vertex_corners[c] / rs->corners;
        if (best < 0 || rs->weights[e] > rs->weights[best]) best = e;
    }
    if (best < 0) return;
    sn_mat3 arm = sn_mat3_cross(sn_at(rs->half_rest, half)); /* h x t = -t x h */
    for (int k = 0; k < rs->corners; k++) {
        size_t corner = (size_t)rs->corners * (size_t)best + (size_t)k;
        sn_vec3 g = sn_at(rs->gradients, (int)corner);
        sn_mat3 rate = sn_mat3_scale(0.5, sn_mat3_cross(g));
        if (rs->normals) {
            sn_vec3 n = sn_at(rs->normals, best), across = sn_cross(n, g);
            const double a[3] = {across.x, across.y, across.z}, b[3] = {n.x, n.y, n.z};
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) rate.m[i][j] -= 0.5 * a[i] * b[j];
        }
        add_row(rows, rs->elements[corner], sn_mat3_multiply(arm, rate));
    }
}

static bool add_link(const sn_rotation_strain *rs, int link, double stiffness,
                     sn_triplets *triplets) {
    link_rows rows = {.count = 0};
    int vertices[4];
    double values[4];
    sn_rotation_link_row(rs, link, vertices, values);
    for (int k = 0; k < 4; k++)
        add_row(&rows, vertices[k], sn_mat3_scale(values[k], sn_mat3_identity()));
    add_half(rs, 2 * link, &rows);
    add_half(rs, 2 * link + 1, &rows);
    bool room = true;
    for (int i = 0; i < rows.count; i++)
        for (int j = 0; j < rows.count; j++) {
            if (rows.vertices[i] < rows.vertices[j]) continue;
            sn_mat3 block = sn_mat3_multiply(sn_mat3_transpose(rows.matrices[i]), rows.matrices[j]);
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) {
                    if (i == j && b > a) continue;
                    room = room &&
                           sn_triplets_add(triplets, 3 * rows.vertices[i] + a,
                                           3 * rows.vertices[j] + b, stiffness * block.m[a][b]);
                }
        }
    return room;
}

bool sn_link_stiffness(const sn_rotation_strain *rs, double scale, sn_triplets *triplets) {
    bool room = true;
    for (int l = 0; room && l < rs->link_count; l++)
        room = !(l % 64 == 0 && sn_interrupted()) &&
               add_link(rs, l, scale * rs->link_stiffness[l], triplets);
    return room;
}
