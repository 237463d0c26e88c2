/* Interior points of a tet mesh carried to other poses of its surface.
 *
 * Based on: harmonic coordinates of the displacement, then as-rigid-as-possible iterations (Chao et
 * al. 2010) with the surface held. */
#include <math.h>
#include <string.h>

#include "algebra/cholesky.h"
#include "base/memory.h"
#include "mesh/rigidity.h"
#include "sinew/tets.h"

struct sinew_carry {
    const sinew_tets *rest;
    sn_rigidity rigidity;
    sn_sparse *laplacian; /* of all vertices */
    int interior_count;
    int *interior;       /* vertices that are solved for */
    sn_cholesky *factor; /* of their block; NULL when there are none */
};

void sinew_carry_destroy(sinew_carry *carry) {
    if (!carry) return;
    sn_rigidity_free(&carry->rigidity);
    sn_sparse_destroy(carry->laplacian);
    sn_free(carry->interior);
    sn_cholesky_destroy(carry->factor);
    sn_free(carry);
}

static sinew_status factor_interior(sinew_carry *carry, sinew_error *error) {
    const sn_sparse *whole = carry->laplacian;
    int *number = SN_NEW(int, whole->columns);
    if (!number) return sn_no_memory(error);
    for (int v = 0; v < whole->columns; v++) number[v] = -1;
    for (int i = 0; i < carry->interior_count; i++) number[carry->interior[i]] = i;
    sn_triplets triplets;
    sinew_status status = sn_triplets_create(carry->interior_count, carry->interior_count,
                                             16 * (size_t)carry->interior_count, &triplets, error);
    if (status == SINEW_OK) {
        bool ok = true;
        for (int c = 0; ok && c < whole->columns; c++)
            for (int i = whole->start[c]; ok && i < whole->start[c + 1]; i++)
                if (number[c] >= 0 && number[whole->row[i]] >= 0)
                    ok = sn_triplets_add(&triplets, number[whole->row[i]], number[c],
                                         whole->value[i]);
        sn_sparse *block = NULL;
        status = ok ? sn_sparse_from_triplets(&triplets, true, &block, error) : sn_no_memory(error);
        if (status == SINEW_OK) status = sn_cholesky_create(block, &carry->factor, error);
        sn_sparse_destroy(block);
        sn_triplets_free(&triplets);
    }
    sn_free(number);
    return status;
}

static sinew_status prepare(sinew_carry *carry, sinew_error *error) {
    const sinew_tets *rest = carry->rest;
    SN_TRY(sn_rigidity_create(rest, &carry->rigidity, error));
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(rest->vertex_count, rest->vertex_count,
                              10 * (size_t)rest->tet_count + (size_t)rest->vertex_count, &triplets,
                              error));
    bool ok = sn_rigidity_laplacian(&carry->rigidity, &triplets);
    sinew_status status = ok ? sn_sparse_from_triplets(&triplets, true, &carry->laplacian, error)
                             : sn_no_memory(error);
    sn_triplets_free(&triplets);
    SN_TRY(status);
    carry->interior = SN_NEW(int, rest->vertex_count);
    if (!carry->interior) return sn_no_memory(error);
    for (int v = rest->surface_count; v < rest->vertex_count; v++)
        if (sn_list_size(&carry->rigidity.vertex_corners, v) > 0)
            carry->interior[carry->interior_count++] = v;
    return carry->interior_count ? factor_interior(carry, error) : SINEW_OK;
}

sinew_status sinew_carry_create(const sinew_tets *rest, sinew_carry **carry, sinew_error *error) {
    SN_REQUIRE(carry, error);
    *carry = NULL;
    SN_REQUIRE(rest, error);
    sinew_carry *made = SN_NEW0(sinew_carry, 1);
    if (!made) return sn_no_memory(error);
    made->rest = rest;
    sinew_status status = prepare(made, error);
    if (status != SINEW_OK) {
        sinew_carry_destroy(made);
        return status;
    }
    *carry = made;
    return SINEW_OK;
}

/* Memory of one pose. */
typedef struct pose_work {
    double *held, *product, *pull; /* 3 per vertex */
    double *right;                 /* 3 per interior vertex */
    sn_mat3 *rotations;
    sn_cholesky_work *solve;
} pose_work;

static void work_free(pose_work *work) {
    sn_free(work->held);
    sn_free(work->product);
    sn_free(work->pull);
    sn_free(work->right);
    sn_free(work->rotations);
    sn_cholesky_work_destroy(work->solve);
}

static sinew_status work_create(const sinew_carry *carry, pose_work *work, sinew_error *error) {
    size_t n = 3 * (size_t)carry->rest->vertex_count;
    *work = (pose_work){.held = SN_NEW0(double, n),
                        .product = SN_NEW(double, n),
                        .pull = SN_NEW(double, n),
                        .right = SN_NEW(double, 3 * (size_t)carry->interior_count),
                        .rotations = SN_NEW(sn_mat3, carry->rest->tet_count)};
    if (!work->held || !work->product || !work->pull || !work->right || !work->rotations) {
        work_free(work);
        return sn_no_memory(error);
    }
    sinew_status status = sn_cholesky_work_create(carry->factor, 3, &work->solve, error);
    if (status != SINEW_OK) work_free(work);
    return status;
}

/* L_II x_I = b_I - L_IB x_B, with x_B in work->held; b NULL: zero. Leaves x_I in work->right. */
static void solve_interior(const sinew_carry *carry, pose_work *work, const double *b) {
    sn_sparse_multiply(carry->laplacian, 3, work->held, work->product);
    for (int i = 0; i < carry->interior_count; i++) {
        int v = carry->interior[i];
        sn_vec3 right = sn_scale(-1, sn_at(work->product, v));
        if (b) right = sn_add(right, sn_at(b, v));
        sn_put(work->right, i, right);
    }
    sn_cholesky_solve(carry->factor, work->solve, 3, work->right, work->right);
}

sinew_status sinew_carry_pose(const sinew_carry *carry, const double *surface, int iterations,
                              double *positions, int *inverted, sinew_error *error) {
    SN_REQUIRE(carry && positions && (surface || carry->rest->surface_count == 0), error);
    SN_REQUIRE(iterations >= 0, error);
    const sinew_tets *rest = carry->rest;
    size_t boundary = 3 * (size_t)rest->surface_count;
    for (size_t i = 0; i < boundary; i++)
        if (!isfinite(surface[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu: coordinate is not finite", i / 3);
    memcpy(positions, rest->positions, 3 * sizeof(double) * (size_t)rest->vertex_count);
    if (carry->interior_count > 0) {
        pose_work work;
        SN_TRY(work_create(carry, &work, error));
        for (size_t i = 0; i < boundary; i++) work.held[i] = surface[i] - rest->positions[i];
        solve_interior(carry, &work, NULL);
        for (int i = 0; i < carry->interior_count; i++) {
            int v = carry->interior[i];
            sn_put(positions, v, sn_add(sn_at(positions, v), sn_at(work.right, i)));
        }
        memcpy(work.held, surface, boundary * sizeof(double));
        memcpy(positions, surface, boundary * sizeof(double));
        for (int k = 0; k < iterations; k++) {
            sn_rigidity_rotations(&carry->rigidity, positions, work.rotations);
            sn_rigidity_pull(&carry->rigidity, work.rotations, work.pull);
            solve_interior(carry, &work, work.pull);
            for (int i = 0; i < carry->interior_count; i++)
                sn_put(positions, carry->interior[i], sn_at(work.right, i));
        }
        work_free(&work);
    }
    memcpy(positions, surface, boundary * sizeof(double));
    if (inverted) *inverted = sn_count_inverted(positions, rest->tet_count, rest->tets);
    return SINEW_OK;
}
