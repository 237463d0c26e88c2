/* The frame in single precision, eight elements at a time. Sine and cosine are polynomials of our
 * own, so that all of it is vector instructions; only blocks that turn by more than half a turn
 * branch.
 */
#include <stdbool.h>
#include <string.h>

#include "base/inline.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "modal/fast.h"
#include "modal/field.h"

typedef float lanes __attribute__((vector_size(SN_FAST_LANES * sizeof(float)), may_alias));
typedef float four __attribute__((vector_size(4 * sizeof(float)), aligned(4), may_alias));

enum {
    ROWS = 512,                                 /* of a displacement, summed at a time */
    MOST = SN_CHUNK_BLOCKS * SN_FAST_LANES * 4, /* vertices of a chunk */
    SUMMED = 6, /* residuals of one frame: five poses', flat elements' */
};

sinew_status sn_fast_state_create(const sn_body *body, const sn_modes *modes, const sn_fast *fast,
                                  sn_fast_state **state, sinew_error *error) {
    *state = NULL;
    sn_fast_state *made = SN_NEW0(sn_fast_state, 1);
    if (!made) return sn_no_memory(error);
    size_t vertices = (size_t)3 * body->vertex_count, parts = (size_t)body->rs->component_count;
    made->weights = SN_NEW(float, modes->column_count);
    made->displacement = sn_alloc_aligned(vertices + 1, sizeof(float));
    made->sums = sn_alloc_aligned((size_t)4 * fast->place_count, sizeof(float));
    made->right = sn_alloc_aligned(vertices, sizeof(float));
    bool linked = fast->links.count > 0;
    if (linked) {
        made->rates = sn_alloc_aligned(3 * SN_FAST_LANES * (size_t)fast->blocks, sizeof(float));
        made->offsets =
            sn_alloc_aligned(SN_FAST_LANES / 2 * 4 * (size_t)fast->links.blocks, sizeof(float));
    }
    made->partial = SN_NEW(double, 3 * (body->vertex_count / SN_SUM_BLOCK + 1));
    made->centers = SN_NEW(double, 3 * parts);
    if (body->cage)
        made->rotations = sn_alloc_aligned(9 * SN_FAST_LANES * (size_t)fast->blocks, sizeof(float));
    bool room = made->weights && made->displacement && made->sums && made->right && made->partial &&
                made->centers && (made->rotations || !body->cage) &&
                (!linked || (made->rates && made->offsets));
    sinew_status status = room
                              ? sn_cholesky_work_create(body->rs->laplacian, 3, &made->solve, error)
                              : sn_no_memory(error);
    if (status != SINEW_OK) {
        sn_fast_state_destroy(made);
        return status;
    }
    made->displacement[vertices] = 0;
    *state = made;
    return SINEW_OK;
}

void sn_fast_state_destroy(sn_fast_state *state) {
    if (!state) return;
    sn_cholesky_work_destroy(state->solve);
    sn_free(state->weights);
    sn_free_aligned(state->displacement);
    sn_free_aligned(state->sums);
    sn_free_aligned(state->right);
    sn_free_aligned(state->rates);
    sn_free_aligned(state->offsets);
    sn_free(state->partial);
    sn_free(state->centers);
    sn_free_aligned(state->rotations);
    sn_free(state);
}

/* ---- modes on vertices -------------------------------------------------------------------- */

/* sum[rows] += columns of one run of rows, four at a time. */
static void add_columns(const float *const *column, const float *weight, int count, int rows,
                        float *restrict sum) {
    int k = 0;
    for (; k + 4 <= count; k += 4) {
        const float *a = column[k], *b = column[k + 1], *c = column[k + 2], *d = column[k + 3];
        float p = weight[k], q = weight[k + 1], r = weight[k + 2], s = weight[k + 3];
        for (int i = 0; i < rows; i++) sum[i] += (p * a[i] + q * b[i]) + (r * c[i] + s * d[i]);
    }
    for (; k < count; k++) {
        const float *a = column[k];
        float p = weight[k];
        for (int i = 0; i < rows; i++) sum[i] += p * a[i];
    }
}

typedef struct field_sum {
    const sn_fast *fast;
    size_t size; /* of a column */
    int count;
    const int *columns;
    const float *weights;
    int pose_count; /* displacements added on top */
    const float *pose[SUMMED];
    float pose_weight[SUMMED];
} field_sum;

static void sum_rows(const field_sum *field, size_t from, int rows, float *sum) {
    enum { RUN = 64 };
    const float *run[RUN];
    memset(sum, 0, (size_t)rows * sizeof *sum);
    for (int p = 0; p < field->pose_count; p++) run[p] = field->pose[p] + from;
    add_columns(run, field->pose_weight, field->pose_count, rows, sum);
    for (int k = 0; k < field->count; k += RUN) {
        int count = field->count - k < RUN ? field->count - k : RUN;
        for (int j = 0; j < count; j++) {
            int column = field->columns ? field->columns[k + j] : k + j;
            run[j] = field->fast->shapes + field->size * (size_t)column + from;
        }
        add_columns(run, field->weights + k, count, rows, sum);
    }
}

typedef struct still_loop {
    const sn_fast *fast;
    size_t size;
    const bool *moves;
    const double *weights;
    float *displacement;
} still_loop;

static void sum_still_rows(void *context, sn_span span) {
    const still_loop *loop = context;
    const sn_fast *fast = loop->fast;
    for (size_t from = span.begin; from < span.end; from += ROWS) {
        const float *run[4];
        float own[4], *sum = loop->displacement + from;
        int rows = span.end - from < ROWS ? (int)(span.end - from) : ROWS, count = 0;
        memset(sum, 0, (size_t)rows * sizeof *sum);
        for (int k = 0; k <= fast->column_count; k++) {
            if (count == 4 || k == fast->column_count) {
                add_columns(run, own, count, rows, sum);
                count = 0;
            }
            if (k == fast->column_count || loop->moves[k]) continue;
            run[count] = fast->shapes + loop->size * (size_t)k + from;
            own[count++] = (float)loop->weights[k];
        }
    }
}

void sn_fast_still(const sn_fast *fast, int vertex_count, const bool *moves, const double *weights,
                   float *displacement) {
    size_t size = (size_t)3 * vertex_count;
    sn_parallel_for(size, ROWS, sum_still_rows,
                    &(still_loop){fast, size, moves, weights, displacement});
}

/* ---- one block ---------------------------------------------------------------------------- */

SN_ALWAYS_INLINE bool any_above(lanes x, float limit) {
    typedef long long halves __attribute__((vector_size(sizeof(lanes)), may_alias));
    halves above = (halves)(x > limit);
    long long any = 0;
    for (size_t k = 0; k < sizeof(lanes) / sizeof any; k++) any |= above[k];
    return any != 0;
}

/* The unit quaternion of a rotation vector, up to its sign: (cos x, sin x / |w| w), x = |w|/2.
 * Both are series in s = x^2: polynomials are exact to rounding up to x = pi/2, without a root.
 * Beyond, x = k pi + r with |r| <= pi/2 changes the sign only; sin x / |w| is then sin r / |w|. */
SN_ALWAYS_INLINE void exponential(const lanes w[3], lanes q[4]) {
    static const float QUARTER_TURN = 2.4674f; /* (pi/2)^2 */
    lanes s = 0.25f * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), factor = {0};
    factor += 0.5f;
    if (__builtin_expect(any_above(s, QUARTER_TURN), 0)) {
        lanes x = s + 1e-30f;
        for (int l = 0; l < SN_FAST_LANES; l++) x[l] = __builtin_sqrtf(x[l]);
        lanes k = (x * 0.318309886f + 12582912.0f) - 12582912.0f; /* nearest whole number */
        lanes r = (x - k * 3.140625f) - k * 9.67653589793e-4f;
        factor = 0.5f * r / x;
        s = r * r;
    }
    lanes sine = s * -2.38893847e-8f + 2.75252819e-6f;
    sine = sine * s - 1.98408612e-4f;
    sine = sine * s + 8.33333097e-3f;
    sine = sine * s - 1.66666672e-1f;
    sine = sine * s + 1.0f;
    lanes cosine = s * -2.60509296e-7f + 2.47601274e-5f;
    cosine = cosine * s - 1.38883607e-3f;
    cosine = cosine * s + 4.16666344e-2f;
    cosine = cosine * s - 0.5f;
    q[0] = cosine * s + 1.0f;
    factor *= sine;
    for (int a = 0; a < 3; a++) q[a + 1] = factor * w[a];
}

/* exp(w) exp(q) as a matrix. */
SN_ALWAYS_INLINE void rotation(const lanes w[3], const lanes q[3], lanes R[9]) {
    lanes a[4], b[4];
    exponential(w, a);
    exponential(q, b);
    lanes c = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    lanes x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    lanes y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    lanes z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    R[0] = 1 - 2 * (y * y + z * z), R[1] = 2 * (x * y - c * z), R[2] = 2 * (x * z + c * y);
    R[3] = 2 * (x * y + c * z), R[4] = 1 - 2 * (x * x + z * z), R[5] = 2 * (y * z - c * x);
    R[6] = 2 * (x * z - c * y), R[7] = 2 * (y * z + c * x), R[8] = 1 - 2 * (x * x + y * y);
}

#define SHUFFLE __builtin_shufflevector

/* x, y, z of one corner of each element, from vertices x y z 0. */
SN_ALWAYS_INLINE void fetch(const float *vertices, const uint16_t *corner, lanes out[3]) {
    four a[SN_FAST_LANES];
    for (int l = 0; l < SN_FAST_LANES; l++)
        a[l] = *(const four *)((const char *)vertices + corner[l]);
    lanes p[4]; /* lanes l and l + 4 side by side */
    for (int l = 0; l < 4; l++) p[l] = SHUFFLE(a[l], a[l + 4], 0, 1, 2, 3, 4, 5, 6, 7);
    lanes xy01 = SHUFFLE(p[0], p[1], 0, 8, 1, 9, 4, 12, 5, 13);
    lanes xy23 = SHUFFLE(p[2], p[3], 0, 8, 1, 9, 4, 12, 5, 13);
    lanes z01 = SHUFFLE(p[0], p[1], 2, 10, 3, 11, 6, 14, 7, 15);
    lanes z23 = SHUFFLE(p[2], p[3], 2, 10, 3, 11, 6, 14, 7, 15);
    out[0] = SHUFFLE(xy01, xy23, 0, 1, 8, 9, 4, 5, 12, 13);
    out[1] = SHUFFLE(xy01, xy23, 2, 3, 10, 11, 6, 7, 14, 15);
    out[2] = SHUFFLE(z01, z23, 0, 1, 8, 9, 4, 5, 12, 13);
}

/* The reverse: x, y, z are added to the corner's vertex, element by element. */
SN_ALWAYS_INLINE void add(const lanes in[3], const uint16_t *corner, float *vertices) {
    const lanes none = {0};
    lanes xy01 = SHUFFLE(in[0], in[1], 0, 8, 1, 9, 4, 12, 5, 13);
    lanes xy23 = SHUFFLE(in[0], in[1], 2, 10, 3, 11, 6, 14, 7, 15);
    lanes z01 = SHUFFLE(in[2], none, 0, 8, 1, 9, 4, 12, 5, 13);
    lanes z23 = SHUFFLE(in[2], none, 2, 10, 3, 11, 6, 14, 7, 15);
    lanes p[4] = {SHUFFLE(xy01, z01, 0, 1, 8, 9, 4, 5, 12, 13),
                  SHUFFLE(xy01, z01, 2, 3, 10, 11, 6, 7, 14, 15),
                  SHUFFLE(xy23, z23, 0, 1, 8, 9, 4, 5, 12, 13),
                  SHUFFLE(xy23, z23, 2, 3, 10, 11, 6, 7, 14, 15)};
    for (int l = 0; l < 4; l++)
        *(four *)((char *)vertices + corner[l]) += SHUFFLE(p[l], p[l], 0, 1, 2, 3);
    for (int l = 0; l < 4; l++)
        *(four *)((char *)vertices + corner[l + 4]) += SHUFFLE(p[l], p[l], 4, 5, 6, 7);
}

typedef struct residuals {
    int count;
    const float *packed[SUMMED];
    float shares[SUMMED];
} residuals;

/* c = (w, q, 1 + S) of one block: residuals and gradient of the displacement. On triangles the
 * normal turns with the surface: H - (H^T n) n^T, as in modal/field.c. `rates` (may be NULL): w
 * without residuals. `count`: corners of an element. */
SN_ALWAYS_INLINE void coordinates(const int count, const lanes *g, const uint16_t *corners,
                                  const float *u, const residuals *residual, size_t block,
                                  lanes *rates, lanes c[SN_RS_SIZE]) {
    lanes origin[3], edge[3][3], h[9];
    fetch(u, corners, origin);
    for (int k = 0; k < count - 1; k++) {
        fetch(u, corners + SN_FAST_LANES * (k + 1), edge[k]);
        for (int a = 0; a < 3; a++) edge[k][a] -= origin[a];
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            h[3 * a + b] = edge[0][a] * g[b] + edge[1][a] * g[3 + b];
            if (count == 4) h[3 * a + b] += edge[2][a] * g[6 + b];
        }
    if (count == 3) {
        lanes dn[3];
        for (int b = 0; b < 3; b++) dn[b] = h[b] * g[6] + h[3 + b] * g[7] + h[6 + b] * g[8];
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) h[3 * a + b] -= dn[a] * g[6 + b];
    }
    c[0] = 0.5f * (h[7] - h[5]), c[1] = 0.5f * (h[2] - h[6]), c[2] = 0.5f * (h[3] - h[1]);
    if (rates) memcpy(rates, c, 3 * sizeof *c);
    for (int i = 3; i < 6; i++) c[i] = (lanes){0};
    c[6] = h[0] + 1, c[7] = h[4] + 1, c[8] = h[8] + 1;
    c[9] = 0.5f * (h[1] + h[3]), c[10] = 0.5f * (h[2] + h[6]), c[11] = 0.5f * (h[5] + h[7]);
    for (int p = 0; p < residual->count; p++) {
        const lanes *from = (const lanes *)residual->packed[p] + SN_RS_SIZE * block;
        for (int i = 0; i < SN_RS_SIZE; i++) c[i] += residual->shares[p] * from[i];
    }
}

/* |e| F g of the corners, added to the chunk's vertices. */
SN_ALWAYS_INLINE void add_forces(const int count, const lanes *weight, const lanes *g,
                                 const uint16_t *corners, const lanes c[SN_RS_SIZE],
                                 lanes *rotations, float *forces) {
    lanes R[9], F[9], out[3][3], origin[3];
    rotation(c, c + 3, R);
    if (rotations) memcpy(rotations, R, sizeof R);
    for (int a = 0; a < 3; a++) {
        lanes x = *weight * R[3 * a], y = *weight * R[3 * a + 1], z = *weight * R[3 * a + 2];
        F[3 * a] = x * c[6] + y * c[9] + z * c[10];
        F[3 * a + 1] = x * c[9] + y * c[7] + z * c[11];
        F[3 * a + 2] = x * c[10] + y * c[11] + z * c[8];
    }
    for (int k = 0; k < count - 1; k++)
        for (int a = 0; a < 3; a++)
            out[k][a] =
                F[3 * a] * g[3 * k] + F[3 * a + 1] * g[3 * k + 1] + F[3 * a + 2] * g[3 * k + 2];
    for (int a = 0; a < 3; a++) {
        origin[a] = -(out[0][a] + out[1][a]);
        if (count == 4) origin[a] -= out[2][a];
    }
    add(origin, corners, forces);
    for (int k = 0; k < count - 1; k++) add(out[k], corners + SN_FAST_LANES * (k + 1), forces);
}

/* Forces of a chunk's elements on its vertices, in 2 x 16 bytes a vertex that stay in the cache. */
SN_ALWAYS_INLINE void run_elements(const int count, const sn_fast *fast, const sn_fast_chunk *chunk,
                                   const residuals *residual, const float *u, sn_fast_state *state,
                                   float *forces) {
    for (int b = 0; b < chunk->block_count; b++) {
        size_t block = (size_t)(chunk->first_block + b);
        const lanes *g = (const lanes *)fast->gradients + 9 * block;
        const uint16_t *corners = fast->corner + 4 * SN_FAST_LANES * block;
        lanes c[SN_RS_SIZE];
        coordinates(count, g, corners, u, residual, block,
                    state->rates ? (lanes *)state->rates + 3 * block : NULL, c);
        add_forces(count, (const lanes *)fast->weights + block, g, corners, c,
                   state->rotations ? (lanes *)state->rotations + 9 * block : NULL, forces);
    }
}

static void run_chunk(const sn_fast *fast, const sn_fast_chunk *chunk, const residuals *residual,
                      sn_fast_state *state) {
    float u[4 * MOST];
    const int *vertices = fast->chunk_vertices + chunk->first_place;
    float *forces = state->sums + 4 * (size_t)chunk->first_place;
    for (int i = 0; i < chunk->vertex_count; i++)
        *(four *)(u + 4 * i) = *(const four *)(state->displacement + 3 * (size_t)vertices[i]);
    memset(forces, 0, (size_t)4 * chunk->vertex_count * sizeof *forces);
    if (fast->corners == 4)
        run_elements(4, fast, chunk, residual, u, state, forces);
    else
        run_elements(3, fast, chunk, residual, u, state, forces);
}

/* The mean rate around each half of a block. */
SN_ALWAYS_INLINE void mean_rates(const sn_fast_links *links, size_t block, const float *rates,
                                 lanes w[3]) {
    for (int l = 0; l < SN_FAST_LANES; l++) {
        size_t half = SN_FAST_LANES * block + (size_t)l;
        float sum[3] = {0, 0, 0};
        int end = half < 2 * (size_t)links->count ? links->ring_start[half + 1] : 0;
        for (int k = end ? links->ring_start[half] : 0; k < end; k++)
            for (int a = 0; a < 3; a++)
                sum[a] += links->ring_share[k] * rates[links->ring[k] + SN_FAST_LANES * a];
        for (int a = 0; a < 3; a++) w[a][l] = sum[a];
    }
}

/* The offsets that links ask for: both halves turned, a link's halves are side by side. */
static void run_half_block(const sn_fast *fast, const residuals *residual, size_t block,
                           sn_fast_state *state) {
    const sn_fast_links *links = &fast->links;
    const lanes *rest = (const lanes *)links->rest + 3 * block;
    lanes w[3], s[3] = {rest[0], rest[1], rest[2]}, q[4], cross[3], twice[3];
    mean_rates(links, block, state->rates, w);
    for (int p = 0; p < residual->count; p++) {
        const lanes *from = (const lanes *)residual->packed[p] + SN_RS_SIZE * (size_t)fast->blocks +
                            SN_HALF_SIZE * block;
        for (int a = 0; a < 3; a++) {
            w[a] += residual->shares[p] * from[a];
            s[a] += residual->shares[p] * from[3 + a];
        }
    }
    exponential(w, q); /* s + 2 q0 (v x s) + 2 v x (v x s) */
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        cross[a] = q[b + 1] * s[c] - q[c + 1] * s[b];
    }
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        twice[a] = q[b + 1] * cross[c] - q[c + 1] * cross[b];
    }
    float *to = state->offsets + SN_FAST_LANES / 2 * 4 * block;
    for (int a = 0; a < 3; a++) {
        lanes turned = s[a] + 2 * (q[0] * cross[a] + twice[a]);
        for (int l = 0; l < SN_FAST_LANES; l += 2) to[2 * l + a] = turned[l] + turned[l + 1];
    }
    for (int l = 0; l < SN_FAST_LANES; l += 2) to[2 * l + 3] = 0;
}

/* ---- a frame ------------------------------------------------------------------------------ */

static void gather(const sn_fast *fast, const sn_fast_state *state, int i) {
    four sum = {0, 0, 0, 0};
    const sn_fast_links *links = &fast->links;
    for (int k = fast->place_start[i]; k < fast->place_start[i + 1]; k++)
        sum += *(const four *)(state->sums + 4 * (size_t)fast->place[k]);
    if (links->count > 0)
        for (int k = links->pull_start[i]; k < links->pull_start[i + 1]; k++)
            sum += links->pull_weight[k] *
                   *(const four *)(state->offsets + 4 * (size_t)links->pull[k]);
    for (int a = 0; a < 3; a++) state->right[3 * (size_t)i + a] = sum[a];
}

typedef struct center_loop {
    const sn_rotation_strain *rs;
    const float *x;
    double *partial; /* three sums per block */
} center_loop;

static void sum_centers(void *context, sn_span span) {
    const center_loop *loop = context;
    const sn_rotation_strain *rs = loop->rs;
    SN_IN_SPAN(int, b, span) {
        double sum[3] = {0, 0, 0};
        int end =
            (b + 1) * SN_SUM_BLOCK < rs->vertex_count ? (b + 1) * SN_SUM_BLOCK : rs->vertex_count;
        for (int i = b * SN_SUM_BLOCK; i < end; i++)
            for (int a = 0; a < 3; a++) /* vertices in no element have no mass */
                sum[a] += rs->vertex_mass[i] * (double)loop->x[3 * (size_t)i + a];
        memcpy(loop->partial + 3 * b, sum, sizeof sum);
    }
}

/* Centers of the solution: sums over fixed blocks of vertices when there is one part. */
static void find_centers(const sn_rotation_strain *rs, const float *x, double *partial,
                         double *centers) {
    int parts = rs->component_count, blocks = (rs->vertex_count + SN_SUM_BLOCK - 1) / SN_SUM_BLOCK;
    memset(centers, 0, (size_t)3 * (size_t)parts * sizeof *centers);
    if (parts == 1) {
        sn_parallel_for(blocks, 1, sum_centers, &(center_loop){rs, x, partial});
        for (int b = 0; b < blocks; b++)
            for (int a = 0; a < 3; a++) centers[a] += partial[3 * b + a];
    } else {
        for (int i = 0; i < rs->vertex_count; i++)
            for (int a = 0; a < 3 && rs->vertex_component[i] >= 0; a++)
                centers[3 * rs->vertex_component[i] + a] +=
                    rs->vertex_mass[i] * (double)x[3 * (size_t)i + a];
    }
    for (int k = 0; k < 3 * parts; k++) centers[k] /= rs->component_mass[k / 3];
}

/* What the loops of one frame share. */
typedef struct rebuild {
    const sn_rotation_strain *rs;
    const sn_fast *fast;
    sn_fast_state *state;
    const double *centers, *turns;
    double *positions;
    field_sum field;
    residuals packed;
} rebuild;

static void sum_fields(void *context, sn_span span) {
    const rebuild *r = context;
    for (size_t from = span.begin; from < span.end; from += ROWS)
        sum_rows(&r->field, from, span.end - from < ROWS ? (int)(span.end - from) : ROWS,
                 r->state->displacement + from);
}

static void run_chunks(void *context, sn_span span) {
    const rebuild *r = context;
    SN_IN_SPAN(int, c, span) run_chunk(r->fast, &r->fast->chunks[c], &r->packed, r->state);
}

static void run_halves(void *context, sn_span span) {
    const rebuild *r = context;
    SN_IN_SPAN(size_t, b, span) run_half_block(r->fast, &r->packed, b, r->state);
}

static void gather_chunks(void *context, sn_span span) {
    const rebuild *r = context;
    SN_IN_SPAN(int, i, span) gather(r->fast, r->state, i);
}

static void place_vertices(void *context, sn_span span) {
    const rebuild *r = context;
    const sn_fast_state *state = r->state;
    SN_IN_SPAN(int, i, span) {
        int c = r->rs->vertex_component[i];
        if (c < 0) continue;
        const float *x = state->right + 3 * (size_t)i;
        const double *m = r->turns + 9 * (size_t)c, *own = state->centers + 3 * (size_t)c;
        double d[3] = {(double)x[0] - own[0], (double)x[1] - own[1], (double)x[2] - own[2]};
        for (int a = 0; a < 3; a++)
            r->positions[3 * (size_t)i + a] =
                r->centers[3 * c + a] +
                (m[3 * a] * d[0] + m[3 * a + 1] * d[1] + m[3 * a + 2] * d[2]);
    }
}

void sn_fast_rebuild(const sn_body *body, const sn_fast *fast, sn_fast_state *state,
                     const double *weights, const sn_residual_sum *residual, const double *centers,
                     const double *turns, double *positions) {
    const sn_rotation_strain *rs = body->rs;
    int n = body->vertex_count;
    rebuild r = {.rs = rs,
                 .fast = fast,
                 .state = state,
                 .centers = centers,
                 .turns = turns,
                 .positions = positions};
    residuals *packed = &r.packed;
    field_sum *field = &r.field;
    *field = (field_sum){.fast = fast,
                         .size = (size_t)3 * n,
                         .count = residual->moving ? residual->moving_count : fast->column_count,
                         .columns = residual->moving,
                         .weights = state->weights};
    if (fast->stretch)
        packed->packed[packed->count] = fast->stretch, packed->shares[packed->count++] = 1;
    for (int k = 0; k < residual->count; k++) {
        const sn_pose *pose = residual->poses[k];
        float share = (float)residual->weights[k];
        if (pose->packed)
            packed->packed[packed->count] = pose->packed, packed->shares[packed->count++] = share;
        if (pose->still && residual->moving)
            field->pose[field->pose_count] = pose->still,
            field->pose_weight[field->pose_count++] = share;
    }
    for (int k = 0; k < field->count; k++)
        state->weights[k] = (float)weights[field->columns ? field->columns[k] : k];
    sn_parallel_for_weighted(field->size, ROWS, field->count + field->pose_count + 1, sum_fields,
                             &r);
    sn_parallel_for(fast->chunk_count, 1, run_chunks, &r);
    if (fast->links.count > 0) sn_parallel_for(fast->links.blocks, 16, run_halves, &r);
    sn_parallel_for(n, 256, gather_chunks, &r);
    sn_cholesky_solve_f32(rs->laplacian, state->solve, 3, state->right, state->right);
    find_centers(rs, state->right, state->partial, state->centers);
    sn_parallel_for(n, 256, place_vertices, &r);
}
