/* Linear tetrahedra, and thin shells as a plane-stress membrane that bends (modal/bending.c).
 *
 * Based on: any text on linear elasticity. */
#include "modal/elements.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "modal/bending.h"

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
            !(e % 1024 == 0 && sn_interrupted()) &&
            add_elastic(&triplets, tets, e, lambda, mu, tets->weights[e] * (scale ? scale[e] : 1));
    room = room && sn_link_stiffness(tets, material.young, &triplets);
    return assemble(&triplets, room, tets, stiffness, error);
}

sinew_status sn_shell_stiffness(const sn_rotation_strain *triangles, const double *rest,
                                sn_material material, double thickness, const double *scale,
                                sn_sparse **stiffness, sinew_error *error) {
    *stiffness = NULL;
    double nu = material.poisson;
    double lambda = material.young * nu / (1 - nu * nu);
    double mu = material.young / (2 * (1 + nu));
    double rigidity = material.young * pow(thickness, 3) / (12 * (1 - nu * nu));
    int size = 3 * triangles->vertex_count;
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(
        size, size, (size_t)(45 + SN_BENDING_ENTRIES) * triangles->element_count + (size_t)size,
        &triplets, error));
    bool room = true;
    for (int e = 0; e < triangles->element_count && room; e++)
        room = !(e % 1024 == 0 && sn_interrupted()) &&
               add_elastic(&triplets, triangles, e, lambda, mu,
                           thickness * triangles->weights[e] * (scale ? scale[e] : 1));
    if (room)
        room = sn_add_bending(triangles, rest, rigidity, nu, scale, &triplets, NULL) == SINEW_OK;
    room = room && sn_link_stiffness(triangles, thickness * material.young, &triplets);
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
