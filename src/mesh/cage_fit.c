/* Poses of a surface as poses of its cage.
 *
 *   E(x) = sum_T |T| ||F_T(x) - R_T||^2 + w h sum_v |(B x)_v - p_v|^2
 *
 * h is the edge of a cell: both sums scale as a volume, so that w means the same on any mesh. For
 * given rotations E is quadratic with the constant matrix L + w h B^T B, factored once; rotations
 * and positions take turns.
 *
 * Based on: as-rigid-as-possible (Sorkine and Alexa 2007, Chao et al. 2010).
 * We differ in: the first rotations are those of the nearest triangles of the pose, so that large
 * rotations start on the right side. */
#include <math.h>

#include "algebra/cholesky.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/rotation.h"
#include "base/sized.h"
#include "base/stoppable.h"
#include "mesh/rigidity.h"
#include "sinew/cage.h"
#include "sinew/query.h"

struct sinew_cage_fit {
    const sinew_cage *cage;
    const sinew_mesh *rest;
    sinew_cage_fit_options options;
    sn_rigidity rigidity;
    double pin;      /* w h */
    double diagonal; /* of the rest surface */
    sn_cholesky *factor;
    sn_lists carried;   /* per cage vertex: 4 v + corner of the surface vertices it carries */
    int *near_triangle; /* per tet */
};

void sinew_cage_fit_options_init(sinew_cage_fit_options *options) {
    *options = (sinew_cage_fit_options){.size = sizeof *options,
                                        .weight = SINEW_CAGE_FIT_WEIGHT_DEFAULT,
                                        .iterations = SINEW_CAGE_FIT_ITERATIONS_DEFAULT,
                                        .tolerance = SINEW_CAGE_FIT_TOLERANCE_DEFAULT};
}

void sinew_cage_fit_destroy(sinew_cage_fit *fit) {
    if (!fit) return;
    sn_rigidity_free(&fit->rigidity);
    sn_cholesky_destroy(fit->factor);
    sn_lists_free(&fit->carried);
    sn_free(fit->near_triangle);
    sn_free(fit);
}

void sinew_cage_pose_destroy(sinew_cage_pose *pose) {
    if (!pose) return;
    sn_free(pose->positions);
    sn_free(pose->leftover);
    sn_free(pose);
}

static bool add_pins(const sinew_cage_fit *fit, sn_triplets *triplets) {
    const sinew_embedding *embedding = fit->cage->embedding;
    for (int v = 0; v < embedding->vertex_count; v++) {
        const int *corner = embedding->corners + 4 * (size_t)v;
        const double *w = embedding->weights + 4 * (size_t)v;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++) {
                int row = corner[i] > corner[j] ? corner[i] : corner[j];
                int column = corner[i] > corner[j] ? corner[j] : corner[i];
                if (!sn_triplets_add(triplets, row, column, fit->pin * w[i] * w[j])) return false;
            }
    }
    return true;
}

static sinew_status factor_system(sinew_cage_fit *fit, sinew_error *error) {
    int n = fit->cage->tets->vertex_count;
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(
        n, n,
        10 * ((size_t)fit->cage->tets->tet_count + (size_t)fit->cage->embedding->vertex_count) +
            (size_t)n,
        &triplets, error));
    sn_sparse *matrix = NULL;
    bool ok = sn_rigidity_laplacian(&fit->rigidity, &triplets) && add_pins(fit, &triplets);
    sinew_status status =
        ok ? sn_sparse_from_triplets(&triplets, true, &matrix, error) : sn_no_memory(error);
    sn_triplets_free(&triplets);
    if (status == SINEW_OK) status = sn_cholesky_create(matrix, &fit->factor, error);
    sn_sparse_destroy(matrix);
    return status;
}

static sinew_status find_near_triangles(sinew_cage_fit *fit, sinew_error *error) {
    const sinew_tets *tets = fit->cage->tets;
    double *centers = SN_NEW(double, 3 * (size_t)tets->tet_count);
    sinew_closest *closest = SN_NEW(sinew_closest, tets->tet_count);
    fit->near_triangle = SN_NEW(int, tets->tet_count);
    sinew_query *query = NULL;
    sinew_status status = centers && closest && fit->near_triangle ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_query_create(fit->rest->vertex_count, fit->rest->positions,
                                    fit->rest->triangle_count, fit->rest->triangles, &query, error);
    if (status == SINEW_OK) {
        for (int t = 0; t < tets->tet_count; t++) {
            sn_vec3 sum = sn_v3(0, 0, 0);
            for (int k = 0; k < 4; k++)
                sum = sn_add_scaled(sum, 0.25,
                                    sn_at(tets->positions, tets->tets[4 * (size_t)t + (size_t)k]));
            sn_put(centers, t, sum);
        }
        sinew_query_closest_all(query, tets->tet_count, centers, INFINITY, closest);
        for (int t = 0; t < tets->tet_count; t++) fit->near_triangle[t] = closest[t].triangle;
    }
    sinew_query_destroy(query);
    sn_free(centers);
    sn_free(closest);
    return status;
}

sinew_status sinew_cage_fit_create(const sinew_cage *cage, const sinew_mesh *rest,
                                   const sinew_cage_fit_options *options, sinew_cage_fit **fit,
                                   sinew_error *error) {
    SN_REQUIRE(fit, error);
    *fit = NULL;
    SN_REQUIRE(cage && rest && rest->vertex_count == cage->embedding->vertex_count, error);
    SN_OPTIONS(sinew_cage_fit_options, wanted, options, error);
    sinew_cage_fit *made = SN_NEW0(sinew_cage_fit, 1);
    if (!made) return sn_no_memory(error);
    made->cage = cage;
    made->rest = rest;
    made->options = wanted;
    made->pin = made->options.weight * cage->cell;
    made->diagonal = sinew_diagonal(rest->vertex_count, rest->positions);
    sinew_status status = sn_rigidity_create(cage->tets, &made->rigidity, error);
    if (status == SINEW_OK)
        status = sn_lists_create(cage->tets->vertex_count, 4 * cage->embedding->vertex_count,
                                 cage->embedding->corners, NULL, &made->carried, error);
    if (status == SINEW_OK) status = factor_system(made, error);
    if (status == SINEW_OK) status = find_near_triangles(made, error);
    if (status != SINEW_OK) {
        sinew_cage_fit_destroy(made);
        return status;
    }
    *fit = made;
    return SINEW_OK;
}

/* The two edges and the unit normal of a triangle as columns. */
static sn_mat3 triangle_frame(const double *positions, const int *triangle) {
    sn_vec3 a = sn_at(positions, triangle[0]);
    sn_vec3 u = sn_sub(sn_at(positions, triangle[1]), a);
    sn_vec3 v = sn_sub(sn_at(positions, triangle[2]), a);
    return sn_mat3_columns(u, v, sn_normalize(sn_cross(u, v)));
}

/* A triangle that is flat at rest gives no rotation. */
static sn_mat3 triangle_rotation(const sinew_cage_fit *fit, const double *pose, int triangle) {
    const int *v = fit->rest->triangles + 3 * (size_t)triangle;
    sn_mat3 inverse, rotation, stretch;
    if (!sn_mat3_inverse(triangle_frame(fit->rest->positions, v), &inverse))
        return sn_mat3_identity();
    sn_polar3(sn_mat3_multiply(triangle_frame(pose, v), inverse), &rotation, &stretch);
    return rotation;
}

/* Memory of one fit. */
typedef struct fit_work {
    sn_mat3 *rotations;
    double *pinned; /* w h B^T p */
    double *right, *next;
    sn_cholesky_work *solve;
} fit_work;

static void work_free(fit_work *work) {
    sn_free(work->rotations);
    sn_free(work->pinned);
    sn_free(work->right);
    sn_free(work->next);
    sn_cholesky_work_destroy(work->solve);
}

static sinew_status work_create(const sinew_cage_fit *fit, fit_work *work, sinew_error *error) {
    size_t n = 3 * (size_t)fit->cage->tets->vertex_count;
    *work = (fit_work){.rotations = SN_NEW(sn_mat3, fit->cage->tets->tet_count),
                       .pinned = SN_NEW(double, n),
                       .right = SN_NEW(double, n),
                       .next = SN_NEW(double, n)};
    if (!work->rotations || !work->pinned || !work->right || !work->next) {
        work_free(work);
        return sn_no_memory(error);
    }
    sinew_status status = sn_cholesky_work_create(fit->factor, 3, &work->solve, error);
    if (status != SINEW_OK) work_free(work);
    return status;
}

typedef struct pull_carried_loop {
    const sinew_cage_fit *fit;
    const double *pose;
    double *pinned;
} pull_carried_loop;

static void pull_carried(void *context, sn_span span) {
    const pull_carried_loop *loop = context;
    const sinew_cage_fit *fit = loop->fit;
    const double *pose = loop->pose;
    double *pinned = loop->pinned;
    const sn_lists *carried = &fit->carried;
    SN_IN_SPAN(int, c, span) {
        sn_vec3 sum = sn_v3(0, 0, 0);
        for (int i = carried->start[c]; i < carried->start[c + 1]; i++)
            sum = sn_add_scaled(sum, fit->pin * fit->cage->embedding->weights[carried->item[i]],
                                sn_at(pose, carried->item[i] / 4));
        sn_put(pinned, c, sum);
    }
}

static void pull_pins(const sinew_cage_fit *fit, const double *pose, double *pinned) {
    sn_parallel_for(fit->carried.count, 128, pull_carried, &(pull_carried_loop){fit, pose, pinned});
}

/* Positions from rotations: (L + w h B^T B) x = b(R) + w h B^T p. */
static void global_step(const sinew_cage_fit *fit, fit_work *work, double *positions) {
    size_t n = 3 * (size_t)fit->cage->tets->vertex_count;
    sn_rigidity_pull(&fit->rigidity, work->rotations, work->right);
    for (size_t i = 0; i < n; i++) work->right[i] += work->pinned[i];
    sn_cholesky_solve(fit->factor, work->solve, 3, work->right, positions);
}

static double largest_step(const double *a, const double *b, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(a[i] - b[i]));
    return largest;
}

typedef struct start_rotations_loop {
    const sinew_cage_fit *fit;
    const double *target;
    sn_mat3 *rotations;
} start_rotations_loop;

static void start_rotations(void *context, sn_span span) {
    const start_rotations_loop *loop = context;
    const sinew_cage_fit *fit = loop->fit;
    const double *target = loop->target;
    sn_mat3 *rotations = loop->rotations;
    SN_IN_SPAN(int, t, span) rotations[t] = triangle_rotation(fit, target, fit->near_triangle[t]);
}

static sinew_status iterate(const sinew_cage_fit *fit, const double *target, fit_work *work,
                            const sinew_monitor *monitor, sinew_cage_pose *pose,
                            sinew_error *error) {
    size_t n = 3 * (size_t)fit->cage->tets->vertex_count;
    sn_parallel_for_stoppable(fit->rigidity.tet_count, 32, start_rotations,
                              &(start_rotations_loop){fit, target, work->rotations});
    if (sn_scope_poll()) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    pull_pins(fit, target, work->pinned);
    global_step(fit, work, pose->positions);
    for (int k = 1; k < fit->options.iterations; k++) {
        sn_progress(monitor, (double)k / fit->options.iterations, "cage pose");
        if (sn_cancelled(monitor)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
        sn_rigidity_rotations(&fit->rigidity, pose->positions, work->rotations);
        global_step(fit, work, work->next);
        double step = largest_step(work->next, pose->positions, n);
        for (size_t i = 0; i < n; i++) pose->positions[i] = work->next[i];
        pose->iterations = k;
        if (step <= fit->options.tolerance * fit->diagonal) break;
    }
    return SINEW_OK;
}

static sn_mat3 vertex_rotation(const sinew_cage_fit *fit, const double *cage_positions, int v) {
    sn_mat3 rotation, stretch;
    sn_polar3(sn_rigidity_deformation(&fit->rigidity, cage_positions, fit->cage->embedding->tet[v]),
              &rotation, &stretch);
    return rotation;
}

static void keep_leftover(const sinew_cage_fit *fit, const double *target, sinew_cage_pose *pose) {
    int count = fit->cage->embedding->vertex_count;
    sinew_embedding_apply(fit->cage->embedding, pose->positions, pose->leftover);
    double sum = 0;
    for (int v = 0; v < count; v++) {
        sn_vec3 left = sn_sub(sn_at(target, v), sn_at(pose->leftover, v));
        sum += sn_dot(left, left);
        pose->leftover_max = fmax(pose->leftover_max, sn_length(left));
        sn_put(pose->leftover, v,
               sn_mat3_apply_transposed(vertex_rotation(fit, pose->positions, v), left));
    }
    pose->leftover_rms = count ? sqrt(sum / count) : 0;
    pose->inverted =
        sn_count_inverted(pose->positions, fit->cage->tets->tet_count, fit->cage->tets->tets);
}

sinew_status sinew_cage_fit_pose(const sinew_cage_fit *fit, const double *positions,
                                 const sinew_monitor *monitor, sinew_cage_pose **pose,
                                 sinew_error *error) {
    SN_REQUIRE(pose, error);
    *pose = NULL;
    SN_REQUIRE(fit && positions, error);
    for (size_t i = 0; i < 3 * (size_t)fit->rest->vertex_count; i++)
        if (!isfinite(positions[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu: coordinate is not finite", i / 3);
    sinew_cage_pose *made = SN_NEW0(sinew_cage_pose, 1);
    if (!made) return sn_no_memory(error);
    made->positions = SN_NEW(double, 3 * (size_t)fit->cage->tets->vertex_count);
    made->leftover = SN_NEW(double, 3 * (size_t)fit->rest->vertex_count);
    fit_work work = {0};
    sinew_status status = made->positions && made->leftover ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = work_create(fit, &work, error);
    if (status == SINEW_OK) {
        status = iterate(fit, positions, &work, monitor, made, error);
        work_free(&work);
    }
    if (status != SINEW_OK) {
        sinew_cage_pose_destroy(made);
        return status;
    }
    keep_leftover(fit, positions, made);
    *pose = made;
    return SINEW_OK;
}

typedef struct add_leftovers_loop {
    const sinew_cage_fit *fit;
    const double *cage_positions;
    const double *leftover;
    double *positions;
} add_leftovers_loop;

static void add_leftovers(void *context, sn_span span) {
    const add_leftovers_loop *loop = context;
    const sinew_cage_fit *fit = loop->fit;
    const double *cage_positions = loop->cage_positions;
    const double *leftover = loop->leftover;
    double *positions = loop->positions;
    SN_IN_SPAN(int, v, span) {
        sn_vec3 left = sn_mat3_apply(vertex_rotation(fit, cage_positions, v), sn_at(leftover, v));
        sn_put(positions, v, sn_add(sn_at(positions, v), left));
    }
}

void sinew_cage_surface(const sinew_cage_fit *fit, const double *cage_positions,
                        const double *leftover, double *positions) {
    sinew_embedding_apply(fit->cage->embedding, cage_positions, positions);
    if (!leftover) return;
    sn_parallel_for(fit->rest->vertex_count, 32, add_leftovers,
                    &(add_leftovers_loop){fit, cage_positions, leftover, positions});
}
