/* Linear tetrahedra and thin shells.
 *
 * Based on: any text on linear elasticity for the tetrahedra; Grinspun et al., "Discrete shells"
 * (2003) for the hinges.
 * We differ in: the weight of a hinge, |e|^2/(A1 + A2) and not three times that. On isotropic
 * meshes it is what makes bending a Kirchhoff plate of rigidity D = E h^3/(12 (1 - nu^2)) (Seung
 * and Nelson 1988 for equilateral triangles); with the factor 3 a plate vibrates 1.7 times too
 * fast. Hinges resist twist too much whatever the weight (an effective nu of -1/3): 30-45% in
 * frequency. */
#include "modal/elements.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Adds the 3x3 block of corners (row vertex i, column vertex j) to the lower triangle. */
static bool add_block(sn_triplets *triplets, int i, int j, double block[3][3]) {
    if (i < j) return true; /* its mirror image is added for (j, i) */
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            if (i == j && b > a) continue;
            if (!sn_triplets_add(triplets, 3 * i + a, 3 * j + b, block[a][b])) return false;
        }
    return true;
}

/* Energy density lambda/2 (tr e)^2 + mu e:e with e = sym grad u gives, for hat functions with
 * gradients g_i and g_j, the block
 *
 *   |e| (lambda g_i g_j^T + mu g_j g_i^T + mu (g_i . g_j) P),
 *
 * P = I in a volume. A membrane has P = I - n n^T and lambda = E nu/(1 - nu^2) (plane stress). */
static bool add_elastic(sn_triplets *triplets, const sn_rotation_strain *rs, int e, double lambda,
                        double mu, double weight) {
    int corners = rs->corners;
    const int *v = rs->elements + (size_t)corners * e;
    const double *g = rs->gradients + (size_t)3 * corners * e;
    double projector[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    if (rs->normals) {
        const double *n = rs->normals + (size_t)3 * e;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) projector[a][b] -= n[a] * n[b];
    }
    for (int i = 0; i < corners; i++)
        for (int j = 0; j < corners; j++) {
            const double *p = g + 3 * i, *q = g + 3 * j;
            double product = p[0] * q[0] + p[1] * q[1] + p[2] * q[2], block[3][3];
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++)
                    block[a][b] = weight * (lambda * p[a] * q[b] + mu * q[a] * p[b] +
                                            mu * product * projector[a][b]);
            if (!add_block(triplets, v[i], v[j], block)) return false;
        }
    return true;
}

/* Vertices in no element have no stiffness and would be zero modes: held by a spring far stiffer
 * than anything else they stay out of the way. */
static void hold_loose_vertices(const sn_rotation_strain *rs, sn_sparse *stiffness) {
    double largest = 0;
    for (int j = 0; j < stiffness->columns; j++)
        largest = fmax(largest, stiffness->value[stiffness->start[j]]);
    for (int j = 0; j < stiffness->columns; j++)
        if (rs->vertex_component[j / 3] < 0) stiffness->value[stiffness->start[j]] = 1e3 * largest;
}

static sinew_status assemble(sn_triplets *triplets, bool room, const sn_rotation_strain *rs,
                             sn_sparse **stiffness, sinew_error *error) {
    for (int i = 0; i < 3 * rs->vertex_count && room; i++)
        room = sn_triplets_add(triplets, i, i, 0); /* every column has its diagonal first */
    sinew_status status =
        room ? sn_sparse_from_triplets(triplets, true, stiffness, error) : sn_no_memory(error);
    if (status == SINEW_OK) hold_loose_vertices(rs, *stiffness);
    sn_triplets_free(triplets);
    return status;
}

sinew_status sn_tet_stiffness(const sn_rotation_strain *tets, sn_material material,
                              const double *scale, sn_sparse **stiffness, sinew_error *error) {
    *stiffness = NULL;
    double nu = material.poisson;
    double lambda = material.young * nu / ((1 + nu) * (1 - 2 * nu));
    double mu = material.young / (2 * (1 + nu));
    int size = 3 * tets->vertex_count;
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(size, size, (size_t)78 * tets->element_count + (size_t)size,
                              &triplets, error));
    bool room = true;
    for (int e = 0; e < tets->element_count && room; e++)
        room =
            add_elastic(&triplets, tets, e, lambda, mu, tets->weights[e] * (scale ? scale[e] : 1));
    return assemble(&triplets, room, tets, stiffness, error);
}

/* ---- hinges ------------------------------------------------------------------------------- */

/* Two triangles (0, 1, 2) and (1, 0, 3) that share the edge 0-1. */
typedef struct hinge {
    int vertices[4];
    double scale;
} hinge;

typedef struct half_edge {
    int low, high, opposite, triangle;
} half_edge;

static int compare_half_edges(const void *a, const void *b) {
    const half_edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

static sinew_status find_hinges(const sn_rotation_strain *rs, const double *scale, hinge **hinges,
                                int *count, sinew_error *error) {
    size_t total = (size_t)3 * rs->element_count;
    half_edge *edges = SN_NEW(half_edge, total);
    *hinges = SN_NEW(hinge, total);
    *count = 0;
    if (!edges || !*hinges) {
        sn_free(edges);
        return sn_no_memory(error);
    }
    for (size_t c = 0; c < total; c++) {
        int t = (int)(c / 3), k = (int)(c % 3);
        const int *v = rs->elements + (size_t)3 * t;
        int a = v[k], b = v[(k + 1) % 3];
        edges[c] = (half_edge){a < b ? a : b, a < b ? b : a, v[(k + 2) % 3], t};
    }
    qsort(edges, total, sizeof *edges, compare_half_edges);
    for (size_t c = 1; c < total; c++) {
        half_edge p = edges[c - 1], q = edges[c];
        if (p.low != q.low || p.high != q.high || p.triangle == q.triangle) continue;
        if (p.low == p.high || p.opposite == q.opposite) continue;
        double s = scale ? 0.5 * (scale[p.triangle] + scale[q.triangle]) : 1;
        (*hinges)[(*count)++] = (hinge){{p.low, p.high, p.opposite, q.opposite}, s};
    }
    sn_free(edges);
    return SINEW_OK;
}

/* The dihedral angle changes by sum c_i . u_i: an opposite vertex turns its triangle about the
 * edge, c = n/height, and the ends of the edge take the balance. False for a hinge without height.
 */
static bool hinge_gradients(const double *rest, const hinge *h, sn_vec3 c[4], double *weight) {
    sn_vec3 x0 = sn_at(rest, h->vertices[0]), edge = sn_sub(sn_at(rest, h->vertices[1]), x0);
    sn_vec3 left = sn_sub(sn_at(rest, h->vertices[2]), x0);
    sn_vec3 right = sn_sub(sn_at(rest, h->vertices[3]), x0);
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
    *weight = length * length / (0.5 * (a1 + a2)); /* a = 2 A */
    return true;
}

static bool add_hinge(sn_triplets *triplets, const double *rest, const hinge *h, double rigidity) {
    sn_vec3 c[4];
    double weight;
    if (!hinge_gradients(rest, h, c, &weight)) return true;
    weight *= rigidity * h->scale;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const double p[3] = {c[i].x, c[i].y, c[i].z}, q[3] = {c[j].x, c[j].y, c[j].z};
            double block[3][3];
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) block[a][b] = weight * p[a] * q[b];
            if (!add_block(triplets, h->vertices[i], h->vertices[j], block)) return false;
        }
    return true;
}

sinew_status sn_shell_stiffness(const sn_rotation_strain *triangles, const double *rest,
                                sn_material material, double thickness, const double *scale,
                                sn_sparse **stiffness, sinew_error *error) {
    *stiffness = NULL;
    double nu = material.poisson;
    double lambda = material.young * nu / (1 - nu * nu);
    double mu = material.young / (2 * (1 + nu));
    double rigidity = material.young * pow(thickness, 3) / (12 * (1 - nu * nu));
    hinge *hinges;
    int hinge_count, size = 3 * triangles->vertex_count;
    SN_TRY(find_hinges(triangles, scale, &hinges, &hinge_count, error));
    sn_triplets triplets;
    sinew_status status = sn_triplets_create(
        size, size, (size_t)45 * triangles->element_count + (size_t)78 * hinge_count + (size_t)size,
        &triplets, error);
    if (status != SINEW_OK) {
        sn_free(hinges);
        return status;
    }
    bool room = true;
    for (int e = 0; e < triangles->element_count && room; e++)
        room = add_elastic(&triplets, triangles, e, lambda, mu,
                           thickness * triangles->weights[e] * (scale ? scale[e] : 1));
    for (int h = 0; h < hinge_count && room; h++)
        room = add_hinge(&triplets, rest, &hinges[h], rigidity);
    sn_free(hinges);
    return assemble(&triplets, room, triangles, stiffness, error);
}

void sn_lumped_mass(const sn_rotation_strain *rs, double density, double thickness, double *mass) {
    double smallest = HUGE_VAL;
    for (int i = 0; i < rs->vertex_count; i++)
        if (rs->vertex_mass[i] > 0) smallest = fmin(smallest, rs->vertex_mass[i]);
    for (int i = 0; i < rs->vertex_count; i++)
        for (int axis = 0; axis < 3; axis++)
            mass[3 * (size_t)i + axis] =
                density * thickness * (rs->vertex_mass[i] > 0 ? rs->vertex_mass[i] : smallest);
}
