/* The frame in single precision, eight tets at a time. Loops over lanes have a fixed length and no
 * branches, so that compilers turn them into vector instructions; sine and cosine are polynomials
 * of our own for the same reason. */
#include "modal/fast.h"

#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/threads.h"

#define LANES for (int l = 0; l < SN_LANES; l++)

void sn_fast_destroy(sn_fast *fast) {
    if (!fast) return;
    sn_free_aligned(fast->shapes);
    sn_free_aligned(fast->gradients);
    sn_free_aligned(fast->weights);
    sn_free(fast->vertices);
    sn_free(fast->places);
    sn_free(fast);
}

sinew_status sn_fast_create(const sn_body *body, const sn_modes *modes, sn_fast **fast,
                            sinew_error *error) {
    *fast = NULL;
    const sn_rotation_strain *rs = body->rs;
    if (rs->corners != 4 || rs->rest_stretch) return SINEW_OK;
    sn_fast *made = SN_NEW0(sn_fast, 1);
    if (!made) return sn_no_memory(error);
    made->blocks = (rs->element_count + SN_LANES - 1) / SN_LANES;
    size_t blocks = (size_t)made->blocks, corners = (size_t)4 * rs->element_count;
    size_t shape_size = (size_t)3 * modes->vertex_count * modes->column_count;
    made->shapes = sn_alloc_aligned(shape_size, sizeof *made->shapes);
    made->gradients = sn_alloc_aligned(9 * SN_LANES * blocks, sizeof *made->gradients);
    made->weights = sn_alloc_aligned(SN_LANES * blocks, sizeof *made->weights);
    made->vertices = SN_NEW0(int, 4 * SN_LANES * blocks);
    made->places = SN_NEW(int, corners);
    sinew_status status =
        made->shapes && made->gradients && made->weights && made->vertices && made->places
            ? sn_cholesky_prepare_f32(rs->laplacian, error)
            : sn_no_memory(error);
    if (status != SINEW_OK) {
        sn_fast_destroy(made);
        return status;
    }
    for (size_t i = 0; i < shape_size; i++) made->shapes[i] = (float)modes->shapes[i];
    memset(made->gradients, 0, 9 * SN_LANES * blocks * sizeof *made->gradients);
    memset(made->weights, 0, SN_LANES * blocks * sizeof *made->weights);
    for (int e = 0; e < rs->element_count; e++) {
        size_t block = (size_t)e / SN_LANES, lane = (size_t)e % SN_LANES;
        made->weights[SN_LANES * block + lane] = (float)rs->weights[e];
        for (size_t k = 0; k < 4; k++)
            made->vertices[SN_LANES * (4 * block + k) + lane] = rs->elements[4 * (size_t)e + k];
        for (size_t k = 0; k < 9; k++)
            made->gradients[SN_LANES * (9 * block + k) + lane] =
                (float)rs->gradients[12 * (size_t)e + 3 + k];
    }
    for (size_t c = 0; c < corners; c++) made->places[c] = 3 * rs->vertex_corners[c];
    *fast = made;
    return SINEW_OK;
}

sinew_status sn_fast_state_create(const sn_body *body, const sn_modes *modes, const sn_fast *fast,
                                  sn_fast_state **state, sinew_error *error) {
    *state = NULL;
    sn_fast_state *made = SN_NEW0(sn_fast_state, 1);
    if (!made) return sn_no_memory(error);
    size_t vertices = (size_t)3 * body->vertex_count;
    made->weights = SN_NEW(float, modes->column_count);
    made->displacement = sn_alloc_aligned(vertices, sizeof(float));
    made->forces = sn_alloc_aligned((size_t)12 * SN_LANES * fast->blocks, sizeof(float));
    made->right = sn_alloc_aligned(vertices, sizeof(float));
    made->shifts = SN_NEW(double, (size_t)3 * body->rs->component_count);
    sinew_status status =
        made->weights && made->displacement && made->forces && made->right && made->shifts
            ? sn_cholesky_work_create(body->rs->laplacian, 3, &made->solve, error)
            : sn_no_memory(error);
    if (status != SINEW_OK) {
        sn_fast_state_destroy(made);
        return status;
    }
    *state = made;
    return SINEW_OK;
}

void sn_fast_state_destroy(sn_fast_state *state) {
    if (!state) return;
    sn_cholesky_work_destroy(state->solve);
    sn_free(state->weights);
    sn_free_aligned(state->displacement);
    sn_free_aligned(state->forces);
    sn_free_aligned(state->right);
    sn_free(state->shifts);
    sn_free(state);
}

float *sn_fast_residual(const sn_fast *fast, int element_count, const double *residual) {
    size_t size = (size_t)SN_RS_SIZE * SN_LANES * (size_t)fast->blocks;
    float *packed = sn_alloc_aligned(size, sizeof *packed);
    if (!packed) return NULL;
    memset(packed, 0, size * sizeof *packed);
    for (int e = 0; e < element_count; e++)
        for (size_t c = 0; c < SN_RS_SIZE; c++)
            packed[SN_LANES * (SN_RS_SIZE * ((size_t)e / SN_LANES) + c) + (size_t)e % SN_LANES] =
                (float)residual[SN_RS_SIZE * (size_t)e + c];
    return packed;
}

/* ---- one block ---------------------------------------------------------------------------- */

typedef float lanes[SN_LANES];

/* The unit quaternion of a rotation vector, up to its sign: (cos x, sin x / |w| w), x = |w|/2.
 * x = k pi + r with |r| <= pi/2 changes the sign only, so sine and cosine are needed on that range
 * alone: Taylor polynomials around 0 to degree 11 and 12, which are exact to rounding there. */
static inline void exponential(const lanes w[3], lanes q[4]) {
#pragma omp simd
    LANES {
        float length = sqrtf(w[0][l] * w[0][l] + w[1][l] * w[1][l] + w[2][l] * w[2][l] + 1e-30f);
        float x = 0.5f * length;
        float k = (x * 0.318309886f + 12582912.0f) - 12582912.0f; /* nearest whole number */
        float r = (x - k * 3.140625f) - k * 9.67653589793e-4f;
        float s = r * r;
        float sine = -2.5052108e-8f;
        sine = sine * s + 2.7557319e-6f;
        sine = sine * s - 1.98412698e-4f;
        sine = sine * s + 8.33333333e-3f;
        sine = sine * s - 1.66666667e-1f;
        sine = (sine * s + 1.0f) * r;
        float cosine = 2.08767570e-9f;
        cosine = cosine * s - 2.75573192e-7f;
        cosine = cosine * s + 2.48015873e-5f;
        cosine = cosine * s - 1.38888889e-3f;
        cosine = cosine * s + 4.16666667e-2f;
        cosine = cosine * s - 0.5f;
        cosine = cosine * s + 1.0f;
        float factor = sine / length;
        q[0][l] = cosine;
        q[1][l] = factor * w[0][l], q[2][l] = factor * w[1][l], q[3][l] = factor * w[2][l];
    }
}

/* exp(w) exp(q) as a matrix. */
static inline void rotation(const lanes w[3], const lanes q[3], lanes R[9]) {
    lanes a[4], b[4];
    exponential(w, a);
    exponential(q, b);
#pragma omp simd
    LANES {
        float c = a[0][l] * b[0][l] - a[1][l] * b[1][l] - a[2][l] * b[2][l] - a[3][l] * b[3][l];
        float x = a[0][l] * b[1][l] + a[1][l] * b[0][l] + a[2][l] * b[3][l] - a[3][l] * b[2][l];
        float y = a[0][l] * b[2][l] - a[1][l] * b[3][l] + a[2][l] * b[0][l] + a[3][l] * b[1][l];
        float z = a[0][l] * b[3][l] + a[1][l] * b[2][l] - a[2][l] * b[1][l] + a[3][l] * b[0][l];
        R[0][l] = 1 - 2 * (y * y + z * z);
        R[1][l] = 2 * (x * y - c * z);
        R[2][l] = 2 * (x * z + c * y);
        R[3][l] = 2 * (x * y + c * z);
        R[4][l] = 1 - 2 * (x * x + z * z);
        R[5][l] = 2 * (y * z - c * x);
        R[6][l] = 2 * (x * z - c * y);
        R[7][l] = 2 * (y * z + c * x);
        R[8][l] = 1 - 2 * (x * x + y * y);
    }
}

/* Residual and gradient of the displacement: c = (w, q, S) of one block. */
static inline void coordinates(const sn_fast *fast, size_t block, const float *u, int poses,
                               const float *const *packed, const float *shares,
                               lanes c[SN_RS_SIZE]) {
    lanes edges[9]; /* u of corners 1 to 3 less that of corner 0 */
    const int *v = fast->vertices + 4 * SN_LANES * block;
    LANES {
        const float *origin = u + 3 * (size_t)v[l];
        for (int k = 0; k < 3; k++) {
            const float *corner = u + 3 * (size_t)v[SN_LANES * (k + 1) + l];
            for (int a = 0; a < 3; a++) edges[3 * k + a][l] = corner[a] - origin[a];
        }
    }
    for (int i = 0; i < SN_RS_SIZE; i++) LANES c[i][l] = 0;
    for (int p = 0; p < poses; p++) {
        const float *from = packed[p] + SN_RS_SIZE * SN_LANES * block;
        for (int i = 0; i < SN_RS_SIZE; i++) {
#pragma omp simd
            LANES c[i][l] += shares[p] * from[SN_LANES * i + l];
        }
    }
    const float *g = fast->gradients + 9 * SN_LANES * block;
    lanes h[9];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
#pragma omp simd
            LANES h[3 * a + b][l] = edges[a][l] * g[SN_LANES * b + l] +
                                    edges[3 + a][l] * g[SN_LANES * (3 + b) + l] +
                                    edges[6 + a][l] * g[SN_LANES * (6 + b) + l];
        }
#pragma omp simd
    LANES {
        c[0][l] += 0.5f * (h[7][l] - h[5][l]);
        c[1][l] += 0.5f * (h[2][l] - h[6][l]);
        c[2][l] += 0.5f * (h[3][l] - h[1][l]);
        c[6][l] += h[0][l] + 1, c[7][l] += h[4][l] + 1, c[8][l] += h[8][l] + 1;
        c[9][l] += 0.5f * (h[1][l] + h[3][l]);
        c[10][l] += 0.5f * (h[2][l] + h[6][l]);
        c[11][l] += 0.5f * (h[5][l] + h[7][l]);
    }
}

/* |e| F g of the four corners. */
static inline void block_forces(const sn_fast *fast, size_t block, const lanes c[SN_RS_SIZE],
                                float *forces) {
    lanes R[9], F[9], out[12];
    rotation(c, c + 3, R);
    const float *weight = fast->weights + SN_LANES * block;
    const float *g = fast->gradients + 9 * SN_LANES * block;
    for (int a = 0; a < 3; a++) {
#pragma omp simd
        LANES {
            float x = weight[l] * R[3 * a][l], y = weight[l] * R[3 * a + 1][l];
            float z = weight[l] * R[3 * a + 2][l];
            F[3 * a][l] = x * c[6][l] + y * c[9][l] + z * c[10][l];
            F[3 * a + 1][l] = x * c[9][l] + y * c[7][l] + z * c[11][l];
            F[3 * a + 2][l] = x * c[10][l] + y * c[11][l] + z * c[8][l];
        }
    }
    for (int k = 0; k < 3; k++)
        for (int a = 0; a < 3; a++) {
#pragma omp simd
            LANES out[3 * (k + 1) + a][l] = F[3 * a][l] * g[SN_LANES * (3 * k) + l] +
                                            F[3 * a + 1][l] * g[SN_LANES * (3 * k + 1) + l] +
                                            F[3 * a + 2][l] * g[SN_LANES * (3 * k + 2) + l];
        }
    for (int a = 0; a < 3; a++) {
#pragma omp simd
        LANES out[a][l] = -(out[3 + a][l] + out[6 + a][l] + out[9 + a][l]);
    }
    LANES for (int i = 0; i < 12; i++) forces[12 * l + i] = out[i][l];
}

void sn_fast_rebuild(const sn_body *body, const sn_modes *modes, const sn_fast *fast,
                     sn_fast_state *state, const double *weights, const sn_residual_sum *residual,
                     const double *centres, double *positions) {
    const sn_rotation_strain *rs = body->rs;
    int n = body->vertex_count;
    const float *packed[5];
    float shares[5];
    for (int k = 0; k < residual->count; k++) {
        packed[k] = residual->poses[k]->packed;
        shares[k] = (float)residual->weights[k];
    }
    for (int i = 0; i < modes->column_count; i++) state->weights[i] = (float)weights[i];
    sn_dense_apply_f32(SN_AS_IS, 3 * n, modes->column_count, 1, fast->shapes, state->weights, 0,
                       state->displacement);
#pragma omp parallel num_threads(sn_threads())
    {
#pragma omp for schedule(static)
        for (int block = 0; block < fast->blocks; block++) {
            lanes c[SN_RS_SIZE];
            coordinates(fast, (size_t)block, state->displacement, residual->count, packed, shares,
                        c);
            block_forces(fast, (size_t)block, (const lanes *)c,
                         state->forces + (size_t)12 * SN_LANES * block);
        }
#pragma omp for schedule(static)
        for (int i = 0; i < n; i++) {
            float x = 0, y = 0, z = 0;
            for (int k = rs->corner_start[i]; k < rs->corner_start[i + 1]; k++) {
                const float *f = state->forces + fast->places[k];
                x += f[0], y += f[1], z += f[2];
            }
            state->right[3 * (size_t)i] = x, state->right[3 * (size_t)i + 1] = y;
            state->right[3 * (size_t)i + 2] = z;
        }
    }
    sn_cholesky_solve_f32(rs->laplacian, state->solve, 3, state->right, state->right);
    for (int i = 0; i < n; i++) {
        if (rs->vertex_component[i] < 0) continue;
        for (int a = 0; a < 3; a++) positions[3 * (size_t)i + a] = state->right[3 * (size_t)i + a];
    }
    sn_rotation_strain_place(rs, centres, state->shifts, positions);
}
