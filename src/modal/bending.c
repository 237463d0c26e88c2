/* Bending of a thin shell by the curvature of each triangle.
 *
 * Based on: Onate and Zarate, "Rotation-free triangular plate and shell elements" (2000): a
 * triangle's curvature from the turn of its neighbors.
 * We differ in: the turn of an edge is shared by the areas beside it, which keeps uniform curvature
 * exact when they differ, and free edges are condensed: their turn is the one of least energy.
 *
 * The change t_i of the dihedral angle at edge i (length l_i, unit normal m_i in the triangle's
 * plane) bends the two triangles beside it, A and A_i, in proportion to their areas:
 *
 *   S = sum_i t_i l_i/(A + A_i) m_i m_i^T                     curvature of the triangle
 *   E = D A/2 ((1 - nu) tr S^2 + nu (tr S)^2)                 Kirchhoff's plate
 *
 * On a lattice of equilateral triangles, and on squares cut along either diagonal, S is the exact
 * curvature of every quadratic. A sum of squares per hinge, |e|^2/(A + A_i) t^2 (Grinspun et al.
 * 2003, there with a factor 3), is right for neither: in cylindrical bending of equilateral
 * triangles it needs the factor 1, behaves as nu = -1/3 (twist 1.38 times too fast), and on squares
 * with one diagonal it resists twist 4.3 times too much (2.1 in frequency).
 *
 * The weak spot is squares cut along both diagonals in turns: a twist has curvatures there that
 * alternate from square to square, and is 1.44 times too fast. */
#include "modal/bending.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"

typedef struct half_edge {
    int low, high, corner; /* corner: 3 * triangle + place of the edge */
} half_edge;

static int compare_half_edges(const void *a, const void *b) {
    const half_edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return (x->corner > y->corner) - (x->corner < y->corner);
}

/* beyond[3 t + k]: the vertex opposite edge k of triangle t in its neighbor, -1: a free edge.
 * Where three and more triangles meet they pair up in order. */
static sinew_status find_beyond(const sn_rotation_strain *rs, int *beyond, sinew_error *error) {
    size_t total = (size_t)3 * rs->element_count;
    half_edge *edges = SN_NEW(half_edge, total);
    if (!edges) return sn_no_memory(error);
    for (size_t c = 0; c < total; c++) {
        const int *v = rs->elements + c / 3 * 3;
        int a = v[c % 3], b = v[(c + 1) % 3];
        edges[c] = (half_edge){a < b ? a : b, a < b ? b : a, (int)c};
        beyond[c] = -1;
    }
    qsort(edges, total, sizeof *edges, compare_half_edges);
    for (size_t c = 1; c < total; c++) {
        half_edge p = edges[c - 1], q = edges[c];
        if (p.low != q.low || p.high != q.high || p.corner / 3 == q.corner / 3) continue;
        if (p.low == p.high || beyond[p.corner] >= 0) continue;
        int far_p = rs->elements[p.corner / 3 * 3 + (p.corner + 2) % 3];
        int far_q = rs->elements[q.corner / 3 * 3 + (q.corner + 2) % 3];
        if (far_p == far_q) continue;
        beyond[p.corner] = far_q, beyond[q.corner] = far_p;
    }
    sn_free(edges);
    return SINEW_OK;
}

/* The dihedral angle at the edge 0-1 between triangles (0, 1, 2) and (1, 0, 3), seen from the side
 * of the first's normal, changes by sum c_i . u_i: an opposite vertex turns its triangle about the
 * edge, c = n/height, and the ends of the edge take the balance. False for a triangle without
 * height. */
static bool hinge_gradients(const double *rest, const int vertices[4], sn_vec3 c[4],
                            double *area_beyond) {
    sn_vec3 x0 = sn_at(rest, vertices[0]), edge = sn_sub(sn_at(rest, vertices[1]), x0);
    sn_vec3 left = sn_sub(sn_at(rest, vertices[2]), x0);
    sn_vec3 right = sn_sub(sn_at(rest, vertices[3]), x0);
    sn_vec3 n1 = sn_cross(edge, left), n2 = sn_cross(right, edge);
    double length = sn_length(edge), a1 = sn_length(n1), a2 = sn_length(n2);
    if (!(a1 > 1e-8 * length * sn_length(left)) || !(a2 > 1e-8 * length * sn_length(right)))
        return false;
    c[2] = sn_scale(-length / (a1 * a1), n1);
    c[3] = sn_scale(-length / (a2 * a2), n2);
    double t1 = sn_dot(left, edge) / (length * length);
    double t2 = sn_dot(right, edge) / (length * length);
    c[0] = sn_add(sn_scale(t1 - 1, c[2]), sn_scale(t2 - 1, c[3]));
    c[1] = sn_add(sn_scale(-t1, c[2]), sn_scale(-t2, c[3]));
    *area_beyond = 0.5 * a2;
    return true;
}

/* The turn with the least energy at free edges: their rows are eliminated. */
static void condense(double energy[3][3], const bool hinged[3]) {
    for (int k = 0; k < 3; k++) {
        if (hinged[k]) continue;
        double pivot = energy[k][k], row[3] = {energy[k][0], energy[k][1], energy[k][2]};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                energy[i][j] =
                    i == k || j == k || !(pivot > 0) ? 0 : energy[i][j] - row[i] * row[j] / pivot;
    }
}

/* Six vertices: the triangle's, and those beyond its edges. */
static bool add_triangle(const int *v, const int *beyond, const double *rest, double area,
                         double rigidity, double poisson, sn_triplets *triplets) {
    int vertices[6] = {v[0], v[1], v[2], beyond[0], beyond[1], beyond[2]};
    double gradient[3][18] = {{0}}, energy[3][3], share[3];
    sn_vec3 normal[3];
    bool hinged[3];
    for (int k = 0; k < 3; k++) {
        int a = k, b = (k + 1) % 3, own = (k + 2) % 3;
        sn_vec3 edge = sn_sub(sn_at(rest, v[b]), sn_at(rest, v[a]));
        sn_vec3 up = sn_sub(sn_at(rest, v[own]), sn_at(rest, v[a])), c[4] = {{0, 0, 0}};
        double length = sn_length(edge), area_beyond = area;
        sn_vec3 along = sn_scale(1 / length, edge);
        up = sn_add_scaled(up, -sn_dot(up, along), along);
        normal[k] = sn_scale(1 / sn_length(up), up);
        const int hinge[4] = {v[a], v[b], v[own], beyond[k]};
        hinged[k] = beyond[k] >= 0 && hinge_gradients(rest, hinge, c, &area_beyond);
        share[k] = length / (area + area_beyond);
        const int place[4] = {a, b, own, 3 + k};
        for (int i = 0; i < 4 && hinged[k]; i++) sn_put(gradient[k], place[i], c[i]);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double across = sn_dot(normal[i], normal[j]);
            energy[i][j] =
                rigidity * area * share[i] * share[j] * ((1 - poisson) * across * across + poisson);
        }
    condense(energy, hinged);
    for (int p = 0; p < 18; p++)
        for (int q = 0; q < 18; q++) {
            int row = 3 * vertices[p / 3] + p % 3, column = 3 * vertices[q / 3] + q % 3;
            if (vertices[p / 3] < 0 || vertices[q / 3] < 0 || row < column) continue;
            double sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) sum += energy[i][j] * gradient[i][p] * gradient[j][q];
            if (!sn_triplets_add(triplets, row, column, sum)) return false;
        }
    return true;
}

sinew_status sn_add_bending(const sn_rotation_strain *triangles, const double *rest,
                            double rigidity, double poisson, const double *scale,
                            sn_triplets *triplets, sinew_error *error) {
    int *beyond = SN_NEW(int, (size_t)3 * triangles->element_count);
    if (!beyond) return sn_no_memory(error);
    sinew_status status = find_beyond(triangles, beyond, error);
    for (int t = 0; status == SINEW_OK && t < triangles->element_count; t++) {
        const int *v = triangles->elements + (size_t)3 * t;
        sn_vec3 a = sn_at(rest, v[0]), ab = sn_sub(sn_at(rest, v[1]), a);
        sn_vec3 ac = sn_sub(sn_at(rest, v[2]), a), bc = sn_sub(ac, ab);
        double area = 0.5 * sn_length(sn_cross(ab, ac));
        double longest = fmax(fmax(sn_length(ab), sn_length(ac)), sn_length(bc));
        if (t % 256 == 0) status = sn_check_interrupt(error);
        if (!(area > 1e-8 * longest * longest)) continue; /* a sliver has no curvature */
        if (!add_triangle(v, beyond + (size_t)3 * t, rest, area, rigidity * (scale ? scale[t] : 1),
                          poisson, triplets))
            status = sn_no_memory(error);
    }
    sn_free(beyond);
    return status;
}
