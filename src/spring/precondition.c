#include "spring/precondition.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"

enum {
    CLUSTERS = 64,
    VERTICES_PER_CLUSTER = 24, /* fewer clusters on small networks */
    PARTS = 8,                 /* fixed parts of a restriction */
    BUILD_PARTS = 4,           /* fixed parts of the coarse matrix */
    REBUILD_AGE = 8,           /* Newton steps a coarse matrix is kept */
    MODES = 6,
    STRIDE = 8 /* floats per mode block, for aligned rows */
};
/* Shift of a Laplacian that nothing holds, relative to the mean stiffness. */
static const double FLOATING_SHIFT = 1e-5;
static const float COARSE_SHIFT = 1e-5f; /* relative to the mean diagonal */
static const float BLOCK_SHIFT = 1e-3f;  /* relative to the trace */

/* ---- the constant part ---- */

/* A scalar stand-in for the volume term: w g_a . g_b / 3 between corners a and b in the neutral.
 * Halves the conjugate-gradient steps of volumetric networks. */
static bool add_volumes(const sn_system *system, const sn_network *network, sn_triplets *triplets) {
    for (int t = 0; t < system->tet_count; t++) {
        const int *v = system->tet + 4 * (size_t)t;
        sn_vec3 x[4], g[4];
        for (int a = 0; a < 4; a++) x[a] = sn_at(network->neutral, system->order[v[a]]);
        sn_vec3 e1 = sn_sub(x[1], x[0]), e2 = sn_sub(x[2], x[0]), e3 = sn_sub(x[3], x[0]);
        g[1] = sn_cross(e2, e3), g[2] = sn_cross(e3, e1), g[3] = sn_cross(e1, e2);
        g[0] = sn_scale(-1, sn_add(g[1], sn_add(g[2], g[3])));
        double w = system->tet_weight[t] / 36 / 3;
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                if (v[a] < system->free_count && v[b] < system->free_count && v[a] >= v[b] &&
                    !sn_triplets_add(triplets, v[a], v[b], w * sn_dot(g[a], g[b])))
                    return false;
    }
    return true;
}

static sinew_status factor_laplacian(const sn_system *system, const sn_network *network,
                                     double pull, sn_cholesky **factor, sinew_error *error) {
    int n = system->free_count;
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(n, n, (size_t)(n + 3 * system->spring_count), &triplets, error));
    double shift = FLOATING_SHIFT * system->mean_stiffness;
    if (pull > shift) shift = pull;
    if (!(shift > 0)) shift = 1; /* a network without stiffness */
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        ok = sn_triplets_add(&triplets, i, i, shift);
        for (int s = system->row_start[i]; s < system->row_start[i + 1] && ok; s++) {
            double k = system->stiffness[s];
            ok = sn_triplets_add(&triplets, i, i, k);
            if (ok && s < system->row_split[i])
                ok = sn_triplets_add(&triplets, system->other[s], system->other[s], k) &&
                     sn_triplets_add(&triplets, system->other[s], i, -k);
        }
    }
    if (ok) ok = add_volumes(system, network, &triplets);
    sn_sparse *matrix = NULL;
    sinew_status status =
        ok ? sn_sparse_from_triplets(&triplets, true, &matrix, error) : sn_no_memory(error);
    sn_triplets_free(&triplets);
    if (status == SINEW_OK) status = sn_cholesky_create(matrix, SN_CHOLESKY_AUTO, factor, error);
    if (status == SINEW_OK) status = sn_cholesky_prepare_f32(*factor, error);
    sn_sparse_destroy(matrix);
    return status;
}

sinew_status sn_preconditioner_create(const sn_system *system, const sn_network *network,
                                      double pull, sn_preconditioner **result, sinew_error *error) {
    *result = NULL;
    sn_preconditioner *made = SN_NEW0(sn_preconditioner, 1);
    if (!made) return sn_no_memory(error);
    sinew_status status = SINEW_OK;
    double *lengths = SN_NEW(double, system->spring_count);
    if (!lengths) status = sn_no_memory(error);
    if (status == SINEW_OK && system->free_count > 0)
        status = factor_laplacian(system, network, pull, &made->laplacian, error);
    if (status == SINEW_OK) {
        for (int s = 0; s < system->spring_count; s++)
            lengths[s] = network->mean_rest[system->spring[s]];
        int wanted = system->free_count / VERTICES_PER_CLUSTER;
        if (wanted > CLUSTERS) wanted = CLUSTERS;
        status = sn_clusters_create(system, lengths, wanted, &made->clusters, error);
    }
    sn_free(lengths);
    if (status != SINEW_OK) {
        sn_preconditioner_destroy(made);
        return status;
    }
    *result = made;
    return SINEW_OK;
}

void sn_preconditioner_destroy(sn_preconditioner *preconditioner) {
    if (!preconditioner) return;
    sn_cholesky_destroy(preconditioner->laplacian);
    sn_clusters_free(&preconditioner->clusters);
    sn_free(preconditioner);
}

size_t sn_preconditioner_bytes(const sn_preconditioner *preconditioner) {
    if (!preconditioner->laplacian) return sizeof *preconditioner;
    size_t n = (size_t)sn_cholesky_size(preconditioner->laplacian);
    /* the factor in double and its single copy */
    return 12 * sn_cholesky_nonzeros(preconditioner->laplacian) + 32 * n;
}

/* ---- the part that follows a solve ---- */

sinew_status sn_preconditioning_create(const sn_system *system,
                                       const sn_preconditioner *preconditioner,
                                       sn_preconditioning **result, sinew_error *error) {
    *result = NULL;
    sn_preconditioning *state = SN_NEW0(sn_preconditioning, 1);
    if (!state) return sn_no_memory(error);
    state->constant = preconditioner;
    size_t n = (size_t)system->free_count, k = (size_t)preconditioner->clusters.count;
    size_t m = MODES * k;
    state->packed = sn_alloc_aligned(3 * n, sizeof(float));
    state->lever = sn_alloc_aligned(4 * SN_CLUSTERS_PER_VERTEX * n, sizeof(float));
    state->blocks = sn_alloc_aligned(6 * n, sizeof(float));
    state->coarse = sn_alloc_aligned(m * m, sizeof(float));
    size_t part = MODES * k * STRIDE * k * BUILD_PARTS;
    if (part < PARTS * m) part = PARTS * m;
    state->coarse_part = sn_alloc_aligned(part, sizeof(float));
    state->coarse_rhs = sn_alloc_aligned(m, sizeof(float));
    state->centre = SN_NEW0(double, 3 * k);
    state->built_centre = SN_NEW0(double, 3 * k);
    state->built_at = sn_alloc_aligned(SN_PAD * n, sizeof(double));
    state->rotation = SN_NEW0(double, 9 * k);
    state->age = -1;
    state->bytes = 4 * (3 + 16 + 6) * n + 32 * n + 4 * (m * m + part);
    sinew_status status = SINEW_OK;
    if (!state->packed || !state->lever || !state->blocks || !state->coarse ||
        !state->coarse_part || !state->coarse_rhs || !state->centre || !state->built_centre ||
        !state->built_at || !state->rotation)
        status = sn_no_memory(error);
    if (status == SINEW_OK && preconditioner->laplacian)
        status = sn_cholesky_work_create(preconditioner->laplacian, 3, &state->work, error);
    if (status != SINEW_OK) {
        sn_preconditioning_destroy(state);
        return status;
    }
    *result = state;
    return SINEW_OK;
}

void sn_preconditioning_destroy(sn_preconditioning *state) {
    if (!state) return;
    sn_cholesky_work_destroy(state->work);
    sn_free_aligned(state->packed), sn_free_aligned(state->lever), sn_free_aligned(state->blocks);
    sn_free_aligned(state->coarse), sn_free_aligned(state->coarse_part);
    sn_free_aligned(state->coarse_rhs), sn_free_aligned(state->built_at);
    sn_free(state->centre), sn_free(state->built_centre), sn_free(state->rotation);
    sn_free(state);
}

void sn_preconditioning_reset(sn_preconditioning *state) {
    state->age = -1;
}

/* Symmetric 3x3 inverse, shifted so that it exists. */
static void invert_blocks(const sn_system *system, float *blocks) {
#pragma omp parallel for num_threads(sn_system_threads(system)) schedule(static)
    for (int v = 0; v < system->free_count; v++) {
        float *b = blocks + 6 * (size_t)v;
        float shift = BLOCK_SHIFT * (b[0] + b[3] + b[5]);
        /* the unprojected Hessian may be indefinite here: fall back to its trace */
        float xx = b[0] + shift, yy = b[3] + shift, zz = b[5] + shift;
        float xy = b[1], xz = b[2], yz = b[4];
        float cx = yy * zz - yz * yz, cy = xz * yz - xy * zz, cz = xy * yz - yy * xz;
        float minor = xx * yy - xy * xy, det = xx * cx + xy * cy + xz * cz;
        if (xx > 0 && minor > 0 && det > 0) {
            float inverse = 1 / det;
            b[0] = cx * inverse, b[1] = cy * inverse, b[2] = cz * inverse;
            b[3] = (xx * zz - xz * xz) * inverse, b[4] = (xy * xz - xx * yz) * inverse;
            b[5] = minor * inverse;
        } else {
            float mean = (fabsf(b[0]) + fabsf(b[3]) + fabsf(b[5])) / 3;
            float inverse = mean > 0 ? 1 / mean : 0;
            b[0] = b[3] = b[5] = inverse, b[1] = b[2] = b[4] = 0;
        }
    }
}

static void find_centres(const sn_system *system, const sn_clusters *clusters, const double *x,
                         sn_preconditioning *state) {
    double *mass = (double *)state->coarse_part; /* free for use here */
    memset(mass, 0, (size_t)clusters->count * sizeof *mass);
    memset(state->centre, 0, 3 * (size_t)clusters->count * sizeof *state->centre);
    for (int v = 0; v < system->free_count; v++)
        for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
            double w = (double)clusters->weight[SN_CLUSTERS_PER_VERTEX * v + k];
            int c = clusters->cluster[SN_CLUSTERS_PER_VERTEX * v + k];
            mass[c] += w;
            for (int d = 0; d < 3; d++) state->centre[3 * c + d] += w * x[SN_PAD * v + d];
        }
    for (int c = 0; c < clusters->count; c++)
        for (int d = 0; d < 3; d++) state->centre[3 * c + d] /= mass[c] > 0 ? mass[c] : 1;
#pragma omp parallel for num_threads(sn_system_threads(system)) schedule(static)
    for (int v = 0; v < system->free_count; v++)
        for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
            size_t at = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
            const double *centre = state->centre + 3 * clusters->cluster[at];
            float *lever = state->lever + 4 * at;
            lever[0] = clusters->weight[at];
            for (int d = 0; d < 3; d++)
                lever[1 + d] = (float)(x[SN_PAD * (size_t)v + (size_t)d] - centre[d]);
        }
}

/* The rotation of each cluster since the coarse matrix was built. */
static void find_rotations(const sn_system *system, const sn_clusters *clusters,
                           sn_preconditioning *state) {
    double *covariance = (double *)state->coarse_part;
    memset(covariance, 0, 9 * (size_t)clusters->count * sizeof *covariance);
    for (int v = 0; v < system->free_count; v++)
        for (int k = 0; k < 2; k++) { /* the two nearest carry the weight */
            size_t at = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
            const float *lever = state->lever + 4 * at;
            int c = clusters->cluster[at];
            double *sum = covariance + 9 * c;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum[3 * i + j] += (double)(lever[0] * lever[1 + i]) *
                                      (state->built_at[SN_PAD * (size_t)v + (size_t)j] -
                                       state->built_centre[3 * c + j]);
        }
    for (int c = 0; c < clusters->count; c++) {
        sn_mat3 m, rotation, stretch;
        memcpy(m.m, covariance + 9 * c, sizeof m.m);
        sn_polar3(m, &rotation, &stretch);
        memcpy(state->rotation + 9 * c, rotation.m, sizeof rotation.m);
    }
}

/* E = W^T H W with H = sum q q^T over springs (their stiff direction). A spring adds the outer
 * product of its motion in each mode of the clusters at its two ends, 4 + 4 clusters at most. */
static void add_spring(const sn_clusters *clusters, const sn_preconditioning *state, const float *q,
                       int i, int j, bool both, float *part) {
    int touched[2 * SN_CLUSTERS_PER_VERTEX], count = 0;
    float motion[2 * SN_CLUSTERS_PER_VERTEX][STRIDE] __attribute__((aligned(32)));
    for (int end = 0; end < (both ? 2 : 1); end++) {
        int v = end ? j : i;
        for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
            size_t at = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
            const float *lever = state->lever + 4 * at;
            float w = end ? -lever[0] : lever[0];
            if (w == 0) continue;
            int c = clusters->cluster[at], slot = 0;
            while (slot < count && touched[slot] != c) slot++;
            if (slot == count) {
                touched[count++] = c;
                memset(motion[slot], 0, sizeof motion[slot]);
            }
            float *m = motion[slot];
            m[0] += w * q[0], m[1] += w * q[1], m[2] += w * q[2];
            m[3] += w * (lever[2] * q[2] - lever[3] * q[1]);
            m[4] += w * (lever[3] * q[0] - lever[1] * q[2]);
            m[5] += w * (lever[1] * q[1] - lever[2] * q[0]);
        }
    }
    size_t stride = STRIDE * (size_t)clusters->count;
    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++) {
            if (touched[b] > touched[a]) continue;
            float *block = part + MODES * (size_t)touched[a] * stride + STRIDE * (size_t)touched[b];
            for (int e = 0; e < MODES; e++) {
                float f = motion[a][e];
#pragma omp simd
                for (int d = 0; d < STRIDE; d++)
                    block[(size_t)e * stride + (size_t)d] += f * motion[b][d];
            }
        }
}

static bool build_coarse(const sn_system *system, const sn_linearization *lin, const double *x,
                         sn_preconditioning *state) {
    const sn_clusters *clusters = &state->constant->clusters;
    int count = clusters->count, m = MODES * count;
    size_t stride = STRIDE * (size_t)count, size = (size_t)m * stride;
#pragma omp parallel for num_threads(sn_system_threads(system)) schedule(static)
    for (int p = 0; p < BUILD_PARTS; p++) {
        float *part = state->coarse_part + (size_t)p * size;
        memset(part, 0, size * sizeof *part);
        int per = SN_CHUNKS / BUILD_PARTS;
        for (int i = system->chunk_row[p * per]; i < system->chunk_row[(p + 1) * per]; i++)
            for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++)
                add_spring(clusters, state, lin->spring + 4 * (size_t)s, i, system->other[s],
                           s < system->row_split[i], part);
    }
    double trace = 0;
    for (int r = 0; r < m; r++)
        for (int c = 0; c <= r; c++) {
            size_t at = (size_t)r * stride + STRIDE * (size_t)(c / MODES) + (size_t)(c % MODES);
            float sum = 0;
            for (int p = 0; p < BUILD_PARTS; p++) sum += state->coarse_part[(size_t)p * size + at];
            state->coarse[(size_t)r + (size_t)m * (size_t)c] = sum; /* lower, column-major */
            if (r == c) trace += (double)sum;
        }
    /* the pull on each mode: translations share it, rotations by their levers */
    memset(state->coarse_rhs, 0, (size_t)m * sizeof *state->coarse_rhs);
    for (int v = 0; v < system->free_count; v++)
        for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
            size_t at = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
            const float *l = state->lever + 4 * at;
            float w = lin->stiffness[v] * l[0] * l[0];
            float *d = state->coarse_rhs + MODES * clusters->cluster[at];
            d[0] += w, d[1] += w, d[2] += w;
            d[3] += w * (l[2] * l[2] + l[3] * l[3]), d[4] += w * (l[1] * l[1] + l[3] * l[3]);
            d[5] += w * (l[1] * l[1] + l[2] * l[2]);
        }
    float shift = COARSE_SHIFT * (float)(trace / m);
    for (int r = 0; r < m; r++)
        state->coarse[(size_t)r + (size_t)m * (size_t)r] += shift + state->coarse_rhs[r];
    memcpy(state->built_at, x, SN_PAD * (size_t)system->free_count * sizeof *x);
    memcpy(state->built_centre, state->centre, 3 * (size_t)count * sizeof *state->centre);
    for (int c = 0; c < count; c++)
        for (int e = 0; e < 9; e++) state->rotation[9 * c + e] = e % 4 == 0;
    return sn_dense_cholesky_f32(m, state->coarse, NULL) == SINEW_OK;
}

void sn_preconditioning_update(const sn_system *system, const sn_linearization *lin,
                               const double *x, sn_preconditioning *state) {
    sn_hessian_diagonal(system, lin, state->blocks);
    invert_blocks(system, state->blocks);
    const sn_clusters *clusters = &state->constant->clusters;
    if (!clusters->count) return;
    find_centres(system, clusters, x, state);
    if (state->age < 0 || state->age >= REBUILD_AGE) {
        state->first_iterations = -1;
        state->age = build_coarse(system, lin, x, state) ? 0 : -1;
    } else {
        find_rotations(system, clusters, state);
        state->age++;
    }
}

void sn_preconditioning_learn(sn_preconditioning *state, int iterations) {
    if (state->first_iterations < 0) state->first_iterations = iterations;
    if (iterations > 2 * state->first_iterations + 10) state->age = REBUILD_AGE;
}

/* ---- applying ---- */

static void turn(int count, const double *rotation, bool back, float *modes) {
    for (int c = 0; c < count; c++) {
        const double *r = rotation + 9 * c;
        for (int part = 0; part < 2; part++) {
            float *v = modes + MODES * c + 3 * part, out[3];
            for (int i = 0; i < 3; i++)
                out[i] = back ? (float)r[i] * v[0] + (float)r[3 + i] * v[1] + (float)r[6 + i] * v[2]
                              : (float)r[3 * i] * v[0] + (float)r[3 * i + 1] * v[1] +
                                    (float)r[3 * i + 2] * v[2];
            memcpy(v, out, sizeof out);
        }
    }
}

static void restrict_to_clusters(const sn_system *system, sn_preconditioning *state,
                                 const float *r) {
    const sn_clusters *clusters = &state->constant->clusters;
    int m = MODES * clusters->count, n = system->free_count;
#pragma omp parallel for num_threads(sn_system_threads(system)) schedule(static)
    for (int p = 0; p < PARTS; p++) {
        float *sum = state->coarse_part + (size_t)p * (size_t)m;
        memset(sum, 0, (size_t)m * sizeof *sum);
        int first = (int)((long)n * p / PARTS), last = (int)((long)n * (p + 1) / PARTS);
        for (int v = first; v < last; v++) {
            const float *f = r + SN_PAD * (size_t)v;
            for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
                size_t at = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
                const float *l = state->lever + 4 * at;
                float *o = sum + MODES * clusters->cluster[at];
                float x = l[0] * f[0], y = l[0] * f[1], z = l[0] * f[2];
                o[0] += x, o[1] += y, o[2] += z;
                o[3] += l[2] * z - l[3] * y, o[4] += l[3] * x - l[1] * z;
                o[5] += l[1] * y - l[2] * x;
            }
        }
    }
    memcpy(state->coarse_rhs, state->coarse_part, (size_t)m * sizeof(float));
    for (int p = 1; p < PARTS; p++)
        for (int e = 0; e < m; e++)
            state->coarse_rhs[e] += state->coarse_part[(size_t)p * (size_t)m + (size_t)e];
}

void sn_preconditioning_apply(const sn_system *system, sn_preconditioning *state, const float *r,
                              float *z) {
    const sn_clusters *clusters = &state->constant->clusters;
    int n = system->free_count;
    bool coarse = clusters->count > 0 && state->age >= 0;
    for (int v = 0; v < n; v++)
        for (int d = 0; d < 3; d++)
            state->packed[3 * (size_t)v + (size_t)d] = r[SN_PAD * (size_t)v + (size_t)d];
    sn_cholesky_solve_f32(state->constant->laplacian, state->work, 3, state->packed, state->packed);
    if (coarse) {
        restrict_to_clusters(system, state, r);
        turn(clusters->count, state->rotation, true, state->coarse_rhs);
        sn_dense_cholesky_solve_f32(MODES * clusters->count, state->coarse, 1, state->coarse_rhs);
        turn(clusters->count, state->rotation, false, state->coarse_rhs);
    }
#pragma omp parallel for num_threads(sn_system_threads(system)) schedule(static)
    for (int v = 0; v < n; v++) {
        const float *f = r + SN_PAD * (size_t)v, *b = state->blocks + 6 * (size_t)v;
        const float *l3 = state->packed + 3 * (size_t)v;
        float x = l3[0] + b[0] * f[0] + b[1] * f[1] + b[2] * f[2];
        float y = l3[1] + b[1] * f[0] + b[3] * f[1] + b[4] * f[2];
        float w = l3[2] + b[2] * f[0] + b[4] * f[1] + b[5] * f[2];
        for (int k = 0; coarse && k < SN_CLUSTERS_PER_VERTEX; k++) {
            size_t at = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
            const float *l = state->lever + 4 * at;
            const float *o = state->coarse_rhs + MODES * clusters->cluster[at];
            x += l[0] * (o[0] + o[4] * l[3] - o[5] * l[2]);
            y += l[0] * (o[1] + o[5] * l[1] - o[3] * l[3]);
            w += l[0] * (o[2] + o[3] * l[2] - o[4] * l[1]);
        }
        float *to = z + SN_PAD * (size_t)v;
        to[0] = x, to[1] = y, to[2] = w, to[3] = 0;
    }
}
