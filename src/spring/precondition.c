#include "spring/precondition.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/rotation.h"
#include "base/status.h"

enum {
    CLUSTERS = 64,
    VERTICES_PER_CLUSTER = 24, /* fewer clusters on small networks */
    PARTS = 8,                 /* fixed parts of a sum over vertices */
    PART_STRIDE = 3 * SN_PAD,  /* most floats per cluster and part: a 3x3 matrix */
    BUILD_PARTS = 4,           /* fixed parts of the coarse matrix */
    MODES = 6,
    TERM_VERTICES = 4 /* most vertices of one term of the energy */
};
/* Shift of a Laplacian that nothing holds, relative to the mean stiffness. */
static const double FLOATING_SHIFT = 1e-5;
static const double COARSE_SHIFT = 1e-5; /* relative to the mean diagonal */
static const float BLOCK_SHIFT = 1e-3f;  /* relative to the trace */

/* ---- the Laplacian ---- */

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

/* Altitudes as they are: they act on each coordinate alike. */
static bool add_altitudes(const sn_system *system, sn_triplets *triplets) {
    for (int t = 0; t < system->triangle_count; t++) {
        const int *v = system->triangle + 3 * (size_t)t;
        double f = system->triangle_foot[t], w = system->triangle_weight[t];
        const double s[3] = {1, f - 1, -f};
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                if (v[a] < system->free_count && v[b] < system->free_count && v[a] >= v[b] &&
                    !sn_triplets_add(triplets, v[a], v[b], w * s[a] * s[b]))
                    return false;
    }
    return true;
}

/* Struts connect the two sides of a body. They are weaker than edges, but on a fine mesh they are
 * what resists a change of its thickness: over a wavelength w, edges of length h answer a
 * displacement with h/w^2 per vertex, struts of length d with 1/d, which is larger where
 * w^2 > h d. Without them L is too soft there, the more so the finer the mesh. All of them would
 * make its factor several times larger. A few with the stiffness of all are enough: one takes over
 * that of the struts before it as soon as the sum reaches this fraction of an edge nearby. What
 * that changes at wavelengths between two of them, the edges outweigh. */
static const double STRUT_STIFFNESS = 0.3;

static bool is_strut(const sn_network *network, int spring) {
    return network->kind[spring] == SINEW_SPRING_KIND_INTERNAL && network->tet_count == 0;
}

/* Bending springs join what two edges join already: they would enlarge the factor by more than they
 * save. Inner edges of tets are what joins their vertices. */
static bool is_kept(const sn_network *network, int spring) {
    return network->kind[spring] != SINEW_SPRING_KIND_BENDING && !is_strut(network, spring);
}

/* Spring s of row i with stiffness k. */
static bool add_spring(const sn_system *system, int i, int s, double k, sn_triplets *triplets) {
    int j = system->other[s];
    return sn_triplets_add(triplets, i, i, k) &&
           (s >= system->row_split[i] ||
            (sn_triplets_add(triplets, j, j, k) && sn_triplets_add(triplets, j, i, -k)));
}

static bool add_row(const sn_system *system, const sn_network *network, int i,
                    sn_triplets *triplets, double *carried) {
    double kept = 0;
    int kept_count = 0;
    for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
        if (!is_kept(network, system->spring[s])) continue;
        kept += system->stiffness[s], kept_count++;
        if (!add_spring(system, i, s, system->stiffness[s], triplets)) return false;
    }
    for (int s = system->row_start[i]; s < system->row_split[i]; s++) {
        if (!is_strut(network, system->spring[s])) continue;
        *carried += system->stiffness[s];
        if (*carried * kept_count < STRUT_STIFFNESS * kept || kept_count == 0) continue;
        if (!add_spring(system, i, s, *carried, triplets)) return false;
        *carried = 0;
    }
    return true;
}

sinew_status sn_preconditioner_laplacian(const sn_system *system, const sn_network *network,
                                         double pull, sn_sparse **matrix, sinew_error *error) {
    int n = system->free_count;
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(n, n, (size_t)(n + 3 * system->spring_count), &triplets, error));
    double shift = FLOATING_SHIFT * system->mean_stiffness;
    if (pull > shift) shift = pull;
    if (!(shift > 0)) shift = 1; /* a network without stiffness */
    double carried = 0;
    bool ok = true;
    for (int i = 0; i < n && ok; i++)
        ok = sn_triplets_add(&triplets, i, i, shift) &&
             add_row(system, network, i, &triplets, &carried);
    if (ok) ok = add_volumes(system, network, &triplets) && add_altitudes(system, &triplets);
    sinew_status status =
        ok ? sn_sparse_from_triplets(&triplets, true, matrix, error) : sn_no_memory(error);
    sn_triplets_free(&triplets);
    return status;
}

static sinew_status factor_laplacian(const sn_system *system, const sn_network *network,
                                     double pull, sn_cholesky **factor, sinew_error *error) {
    sn_sparse *matrix = NULL;
    SN_TRY(sn_preconditioner_laplacian(system, network, pull, &matrix, error));
    sinew_status status = sn_cholesky_create(matrix, factor, error);
    if (status == SINEW_OK) status = sn_cholesky_prepare_bf16(*factor, error);
    sn_sparse_destroy(matrix);
    return status;
}

/* ---- the coarse matrix ---- */

/* One term of the energy at rest has the Hessian g g^T, g a direction at each of its vertices. */
typedef struct term {
    int count;
    int vertex[TERM_VERTICES];
    sn_vec3 direction[TERM_VERTICES];
} term;

/* E += (W^T g)(W^T g)^T, lower blocks: the term's motion in every mode of the clusters at its
 * vertices. Mode (t, r) of a cluster with weight w moves a vertex by w (t + r x l), l its lever. */
static void add_term(const sn_clusters *clusters, const float *neutral, const double *centers,
                     const term *t, double *matrix) {
    enum { MOST = TERM_VERTICES * SN_CLUSTERS_PER_VERTEX };
    int touched[MOST], count = 0;
    double motion[MOST][MODES];
    for (int a = 0; a < t->count; a++)
        for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
            size_t at = SN_CLUSTERS_PER_VERTEX * (size_t)t->vertex[a] + (size_t)k;
            double w = (double)clusters->weight[at];
            if (w == 0) continue;
            int c = clusters->cluster[at], slot = 0;
            while (slot < count && touched[slot] != c) slot++;
            if (slot == count) {
                touched[count++] = c;
                memset(motion[slot], 0, sizeof motion[slot]);
            }
            const float *x = neutral + SN_PAD * (size_t)t->vertex[a];
            sn_vec3 lever =
                sn_sub(sn_v3((double)x[0], (double)x[1], (double)x[2]), sn_at(centers, c));
            sn_vec3 force = sn_scale(w, t->direction[a]), torque = sn_cross(lever, force);
            double *m = motion[slot];
            m[0] += force.x, m[1] += force.y, m[2] += force.z;
            m[3] += torque.x, m[4] += torque.y, m[5] += torque.z;
        }
    size_t size = MODES * (size_t)clusters->count;
    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++) {
            if (touched[b] > touched[a]) continue;
            double *block = matrix + MODES * (size_t)touched[a] + size * MODES * (size_t)touched[b];
            for (int column = 0; column < MODES; column++)
                for (int row = 0; row < MODES; row++)
                    block[size * (size_t)column + (size_t)row] +=
                        motion[a][row] * motion[b][column];
        }
}

static sn_vec3 neutral_at(const float *neutral, int vertex) {
    const float *x = neutral + SN_PAD * (size_t)vertex;
    return sn_v3((double)x[0], (double)x[1], (double)x[2]);
}

static void add_springs(const sn_system *system, const sn_network *network,
                        const sn_preconditioner *made, const double *centers, int chunk,
                        double *matrix) {
    for (int i = system->chunk_row[chunk]; i < system->chunk_row[chunk + 1]; i++)
        for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
            bool both = s < system->row_split[i];
            sn_vec3 d = sn_sub(sn_at(network->neutral, system->order[i]),
                               sn_at(network->neutral, system->order[system->other[s]]));
            double length = sn_length(d);
            if (!(length > 0)) continue;
            sn_vec3 q = sn_scale(sqrt(system->stiffness[s]) / length, d);
            term t = {both ? 2 : 1, {i, system->other[s]}, {q, sn_scale(-1, q)}};
            add_term(&made->clusters, made->neutral, centers, &t, matrix);
        }
}

static void add_tets(const sn_system *system, const sn_network *network,
                     const sn_preconditioner *made, const double *centers, int chunk,
                     double *matrix) {
    for (int e = system->chunk_tet[chunk]; e < system->chunk_tet[chunk + 1]; e++) {
        const int *v = system->tet + 4 * (size_t)e;
        sn_vec3 x[4], g[4];
        for (int a = 0; a < 4; a++) x[a] = sn_at(network->neutral, system->order[v[a]]);
        double scale = sqrt(system->tet_weight[e]) / 6;
        sn_vec3 e1 = sn_sub(x[1], x[0]), e2 = sn_sub(x[2], x[0]), e3 = sn_sub(x[3], x[0]);
        g[1] = sn_cross(e2, e3), g[2] = sn_cross(e3, e1), g[3] = sn_cross(e1, e2);
        g[0] = sn_scale(-1, sn_add(g[1], sn_add(g[2], g[3])));
        term t = {0};
        for (int a = 0; a < 4; a++)
            if (v[a] < system->free_count)
                t.vertex[t.count] = v[a], t.direction[t.count++] = sn_scale(scale, g[a]);
        add_term(&made->clusters, made->neutral, centers, &t, matrix);
    }
}

static void add_triangles(const sn_system *system, const sn_preconditioner *made,
                          const double *centers, int chunk, double *matrix) {
    for (int e = system->chunk_triangle[chunk]; e < system->chunk_triangle[chunk + 1]; e++) {
        const int *v = system->triangle + 3 * (size_t)e;
        double f = system->triangle_foot[e], scale = sqrt(system->triangle_weight[e]);
        const double s[3] = {1, f - 1, -f};
        for (int axis = 0; axis < 3; axis++) {
            sn_vec3 unit = sn_v3(axis == 0, axis == 1, axis == 2);
            term t = {0};
            for (int a = 0; a < 3; a++)
                if (v[a] < system->free_count)
                    t.vertex[t.count] = v[a], t.direction[t.count++] = sn_scale(scale * s[a], unit);
            add_term(&made->clusters, made->neutral, centers, &t, matrix);
        }
    }
}

/* The pull on each mode: translations share it, rotations by their levers. */
static void add_pull(const sn_system *system, const sn_preconditioner *made, const double *centers,
                     double pull, double *matrix) {
    size_t size = MODES * (size_t)made->clusters.count;
    for (int v = 0; v < system->free_count; v++)
        for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
            size_t at = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
            int c = made->clusters.cluster[at];
            double share = (double)made->clusters.weight[at];
            sn_vec3 l = sn_sub(neutral_at(made->neutral, v), sn_at(centers, c));
            double squared = sn_dot(l, l), lever[3] = {l.x, l.y, l.z};
            double *diagonal = matrix + (size + 1) * MODES * (size_t)c;
            for (size_t d = 0; d < 3; d++) {
                diagonal[(size + 1) * d] += pull * share * share;
                diagonal[(size + 1) * (3 + d)] +=
                    pull * share * share * (squared - lever[d] * lever[d]);
            }
        }
}

typedef struct build_parts_loop {
    const sn_system *system;
    const sn_network *network;
    const sn_preconditioner *made;
    const double *centers;
    size_t size;
    double *parts;
} build_parts_loop;

static void build_parts(void *context, sn_span span) {
    const build_parts_loop *loop = context;
    const sn_system *system = loop->system;
    const sn_network *network = loop->network;
    const sn_preconditioner *made = loop->made;
    const double *centers = loop->centers;
    size_t size = loop->size;
    double *parts = loop->parts;
    SN_IN_SPAN(int, p, span)
        for (int k = 0; k < SN_CHUNKS / BUILD_PARTS; k++) {
            int chunk = p * (SN_CHUNKS / BUILD_PARTS) + k;
            double *part = parts + (size_t)p * size;
            add_springs(system, network, made, centers, chunk, part);
            add_tets(system, network, made, centers, chunk, part);
            add_triangles(system, made, centers, chunk, part);
        }
}

/* E^-1 at the neutral, to single precision. False: no memory. */
static bool build_coarse(const sn_system *system, const sn_network *network, double pull,
                         sn_preconditioner *made) {
    const sn_clusters *clusters = &made->clusters;
    int m = MODES * clusters->count;
    size_t size = (size_t)m * (size_t)m;
    made->coarse = sn_alloc_aligned(size, sizeof(float));
    double *centers = SN_NEW0(double, 3 * (size_t)clusters->count);
    double *parts = SN_NEW0(double, BUILD_PARTS *size);
    bool ok = made->coarse && centers && parts;
    if (ok) {
        for (int v = 0; v < system->free_count; v++)
            for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
                size_t at = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
                int c = clusters->cluster[at];
                sn_put(centers, c,
                       sn_add_scaled(sn_at(centers, c), (double)clusters->weight[at],
                                     neutral_at(made->neutral, v)));
            }
        for (int c = 0; c < 3 * clusters->count; c++) centers[c] /= made->mass[c / 3];
        sn_parallel_for(BUILD_PARTS, 1, build_parts,
                        &(build_parts_loop){system, network, made, centers, size, parts});
        for (int p = 1; p < BUILD_PARTS; p++)
            for (size_t e = 0; e < size; e++) parts[e] += parts[(size_t)p * size + e];
        add_pull(system, made, centers, pull, parts);
        double trace = 0;
        for (int r = 0; r < m; r++) trace += parts[(size_t)r * ((size_t)m + 1)];
        for (int r = 0; r < m; r++) parts[(size_t)r * ((size_t)m + 1)] += COARSE_SHIFT * trace / m;
        double *inverse = parts + size;
        memset(inverse, 0, size * sizeof *inverse);
        for (int r = 0; r < m; r++) inverse[(size_t)r * ((size_t)m + 1)] = 1;
        /* a network without stiffness has no coarse motions worth correcting */
        if (sn_dense_cholesky(m, parts, NULL) == SINEW_OK)
            sn_dense_cholesky_solve(m, parts, m, inverse);
        else
            memset(inverse, 0, size * sizeof *inverse);
        for (size_t e = 0; e < size; e++) made->coarse[e] = (float)inverse[e];
    }
    sn_free(centers), sn_free(parts);
    return ok;
}

/* ---- the constant part ---- */

static sinew_status build(const sn_system *system, const sn_network *network, double pull,
                          bool bare, sn_preconditioner *made, sinew_error *error) {
    size_t n = (size_t)system->free_count;
    if (n > 0) SN_TRY(factor_laplacian(system, network, pull, &made->laplacian, error));
    double *lengths = SN_NEW(double, system->spring_count);
    made->neutral = sn_alloc_aligned(SN_PAD * n, sizeof(float));
    if (!lengths || !made->neutral) {
        sn_free(lengths);
        return sn_no_memory(error);
    }
    for (int s = 0; s < system->spring_count; s++)
        lengths[s] = network->mean_rest[system->spring[s]];
    sn_vec3 mean = {0, 0, 0};
    for (size_t v = 0; v < n; v++)
        mean = sn_add_scaled(mean, 1 / (double)n, sn_at(network->neutral, system->order[v]));
    for (size_t v = 0; v < n; v++) {
        sn_vec3 at = sn_sub(sn_at(network->neutral, system->order[v]), mean);
        float *to = made->neutral + SN_PAD * v;
        to[0] = (float)at.x, to[1] = (float)at.y, to[2] = (float)at.z, to[3] = 0;
    }
    int wanted = bare ? system->free_count / VERTICES_PER_CLUSTER : 0;
    if (wanted > CLUSTERS) wanted = CLUSTERS;
    sinew_status status = sn_clusters_create(system, lengths, wanted, &made->clusters, error);
    sn_free(lengths);
    if (status != SINEW_OK || !made->clusters.count) return status;
    made->mass = SN_NEW0(double, made->clusters.count);
    if (!made->mass) return sn_no_memory(error);
    for (size_t at = 0; at < SN_CLUSTERS_PER_VERTEX * n; at++)
        made->mass[made->clusters.cluster[at]] += (double)made->clusters.weight[at];
    for (int c = 0; c < made->clusters.count; c++)
        if (!(made->mass[c] > 0)) made->mass[c] = 1;
    return build_coarse(system, network, pull, made) ? SINEW_OK : sn_no_memory(error);
}

sinew_status sn_preconditioner_create(const sn_system *system, const sn_network *network,
                                      double pull, bool bare, sn_preconditioner **result,
                                      sinew_error *error) {
    *result = NULL;
    sn_preconditioner *made = SN_NEW0(sn_preconditioner, 1);
    if (!made) return sn_no_memory(error);
    sinew_status status = build(system, network, pull, bare, made, error);
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
    sn_free(preconditioner->mass);
    sn_free_aligned(preconditioner->neutral), sn_free_aligned(preconditioner->coarse);
    sn_free(preconditioner);
}

size_t sn_preconditioner_bytes(const sn_preconditioner *preconditioner) {
    if (!preconditioner->laplacian) return sizeof *preconditioner;
    size_t n = (size_t)sn_cholesky_size(preconditioner->laplacian);
    size_t m = MODES * (size_t)preconditioner->clusters.count;
    /* the factor in double and its copy of 16 bits a value; clusters and the neutral */
    return 10 * sn_cholesky_nonzeros(preconditioner->laplacian) + 48 * n + 4 * m * m;
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
    struct {
        float **array;
        size_t size;
    } floats[] = {{&state->packed, 3 * n},         {&state->lever, 4 * SN_CLUSTERS_PER_VERTEX * n},
                  {&state->blocks, 6 * n},         {&state->part, PARTS * PART_STRIDE * k},
                  {&state->modes, 2 * SN_PAD * k}, {&state->turned, MODES * k},
                  {&state->answer, MODES * k},     {&state->center, SN_PAD * k},
                  {&state->rotation, 9 * k}};
    sinew_status status = SINEW_OK;
    for (size_t a = 0; a < sizeof floats / sizeof *floats; a++) {
        *floats[a].array = sn_alloc_aligned(floats[a].size, sizeof(float));
        if (!*floats[a].array) status = sn_no_memory(error);
        state->bytes += floats[a].size * sizeof(float);
    }
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
    sn_free_aligned(state->part), sn_free_aligned(state->modes);
    sn_free_aligned(state->turned), sn_free_aligned(state->answer);
    sn_free_aligned(state->center), sn_free_aligned(state->rotation);
    sn_free(state);
}

static void invert_some_blocks(void *context, sn_span span) {
    float *blocks = context;
    SN_IN_SPAN(int, v, span) {
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

/* Symmetric 3x3 inverse, shifted so that it exists. */
static void invert_blocks(const sn_system *system, float *blocks) {
    sn_parallel_for(system->free_count, 512, invert_some_blocks, blocks);
}

/* The vertices of one of the fixed parts. */
static int part_begin(const sn_system *system, int part) {
    return (int)((long long)system->free_count * part / PARTS);
}

/* Adds the later parts to the first: `stride` floats per cluster. */
static void add_parts(sn_preconditioning *state, size_t stride) {
    size_t size = stride * (size_t)state->constant->clusters.count;
    for (size_t p = 1; p < PARTS; p++)
        for (size_t e = 0; e < size; e++) state->part[e] += state->part[p * size + e];
}

typedef struct sum_centers_loop {
    const sn_system *system;
    const double *x;
    size_t size;
    sn_preconditioning *state;
} sum_centers_loop;

static void sum_centers(void *context, sn_span span) {
    const sum_centers_loop *loop = context;
    const sn_system *system = loop->system;
    const double *x = loop->x;
    size_t size = loop->size;
    sn_preconditioning *state = loop->state;
    const sn_clusters *clusters = &state->constant->clusters;
    SN_IN_SPAN(int, p, span) {
        float *sum = state->part + (size_t)p * size;
        memset(sum, 0, size * sizeof *sum);
        for (int v = part_begin(system, p); v < part_begin(system, p + 1); v++) {
            sn_d4 wide = *(const sn_d4 *)(x + SN_PAD * (size_t)v);
            sn_f4 at = __builtin_convertvector(wide, sn_f4);
            for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
                size_t entry = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
                *(sn_f4 *)(sum + SN_PAD * (size_t)clusters->cluster[entry]) +=
                    clusters->weight[entry] * at;
            }
        }
    }
}

typedef struct find_some_levers_loop {
    const double *x;
    sn_preconditioning *state;
} find_some_levers_loop;

static void find_some_levers(void *context, sn_span span) {
    const find_some_levers_loop *loop = context;
    const double *x = loop->x;
    sn_preconditioning *state = loop->state;
    const sn_clusters *clusters = &state->constant->clusters;
    SN_IN_SPAN(int, v, span) {
        sn_d4 at = *(const sn_d4 *)(x + SN_PAD * (size_t)v);
        for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
            size_t entry = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
            const float *from = state->center + SN_PAD * (size_t)clusters->cluster[entry];
            sn_d4 away = at - __builtin_convertvector(*(const sn_f4 *)from, sn_d4);
            sn_f4 lever = __builtin_convertvector(away, sn_f4);
            lever[3] = clusters->weight[entry];
            *(sn_f4 *)(state->lever + 4 * entry) = lever;
        }
    }
}

/* Centers of the clusters and every vertex's levers to its own. Any point near the center serves:
 * the rigid motions about it are the same. */
static void find_levers(const sn_system *system, const double *x, sn_preconditioning *state) {
    const sn_clusters *clusters = &state->constant->clusters;
    size_t size = SN_PAD * (size_t)clusters->count;
    sn_parallel_for(PARTS, 1, sum_centers, &(sum_centers_loop){system, x, size, state});
    {
        add_parts(state, SN_PAD);
        for (size_t e = 0; e < size; e++)
            state->center[e] = state->part[e] / (float)state->constant->mass[e / SN_PAD];
    }
    sn_parallel_for(system->free_count, 256, find_some_levers, &(find_some_levers_loop){x, state});
}

typedef struct sum_covariances_loop {
    const sn_system *system;
    size_t size;
    sn_preconditioning *state;
} sum_covariances_loop;

static void sum_covariances(void *context, sn_span span) {
    const sum_covariances_loop *loop = context;
    const sn_system *system = loop->system;
    size_t size = loop->size;
    sn_preconditioning *state = loop->state;
    const sn_clusters *clusters = &state->constant->clusters;
    SN_IN_SPAN(int, p, span) {
        float *sum = state->part + (size_t)p * size;
        memset(sum, 0, size * sizeof *sum);
        for (int v = part_begin(system, p); v < part_begin(system, p + 1); v++) {
            sn_f4 x0 = *(const sn_f4 *)(state->constant->neutral + SN_PAD * (size_t)v);
            for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
                size_t entry = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
                const float *l = state->lever + 4 * entry;
                sn_f4 *to = (sn_f4 *)(sum + 3 * SN_PAD * (size_t)clusters->cluster[entry]);
                for (int row = 0; row < 3; row++) to[row] += l[3] * l[row] * x0;
            }
        }
    }
}

static void rotate_clusters(void *context, sn_span span) {
    sn_preconditioning *state = context;
    SN_IN_SPAN(int, c, span) {
        sn_mat3 covariance, rotation;
        for (int e = 0; e < 9; e++)
            covariance.m[e / 3][e % 3] =
                (double)state->part[SN_PAD * (3 * (size_t)c + (size_t)(e / 3)) + (size_t)(e % 3)];
        sn_polar3(covariance, &rotation, NULL);
        for (int e = 0; e < 9; e++)
            state->rotation[9 * (size_t)c + (size_t)e] = (float)rotation.m[e / 3][e % 3];
    }
}

/* The rotation of each cluster from the neutral: of sum w l x0^T. */
static void find_rotations(const sn_system *system, sn_preconditioning *state) {
    const sn_clusters *clusters = &state->constant->clusters;
    size_t size = 3 * SN_PAD * (size_t)clusters->count;
    sn_parallel_for(PARTS, 1, sum_covariances, &(sum_covariances_loop){system, size, state});
    add_parts(state, 3 * SN_PAD);
    sn_parallel_for(clusters->count, 8, rotate_clusters, state);
}

void sn_preconditioning_update(const sn_system *system, const sn_linearization *lin,
                               const double *x, sn_scratch *scratch, sn_preconditioning *state) {
    sn_hessian_diagonal(system, lin, state->blocks, scratch);
    invert_blocks(system, state->blocks);
    if (!state->constant->clusters.count) return;
    find_levers(system, x, state);
    find_rotations(system, state);
}

/* ---- applying ---- */

typedef struct restrict_parts_loop {
    const sn_system *system;
    size_t size;
    const float *r;
    sn_preconditioning *state;
} restrict_parts_loop;

static void restrict_parts(void *context, sn_span span) {
    const restrict_parts_loop *loop = context;
    const sn_system *system = loop->system;
    size_t size = loop->size;
    const float *r = loop->r;
    sn_preconditioning *state = loop->state;
    const sn_clusters *clusters = &state->constant->clusters;
    SN_IN_SPAN(int, p, span) {
        float *sum = state->part + (size_t)p * size;
        memset(sum, 0, size * sizeof *sum);
        for (int v = part_begin(system, p); v < part_begin(system, p + 1); v++) {
            sn_f4 f = *(const sn_f4 *)(r + SN_PAD * (size_t)v);
            for (int d = 0; d < 3; d++) state->packed[3 * (size_t)v + (size_t)d] = f[d];
            for (int k = 0; k < SN_CLUSTERS_PER_VERTEX && clusters->count; k++) {
                size_t entry = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
                sn_f4 lever = *(const sn_f4 *)(state->lever + 4 * entry);
                sn_f4 force = sn_f4_splat3(lever) * f;
                sn_f4 *to = (sn_f4 *)(sum + 2 * SN_PAD * (size_t)clusters->cluster[entry]);
                to[0] += force, to[1] += sn_f4_cross(lever, force);
            }
        }
    }
}

/* Packs the residual for the Laplacian, and adds its forces and torques on each cluster. */
static void restrict_to_clusters(const sn_system *system, sn_preconditioning *state,
                                 const float *r) {
    const sn_clusters *clusters = &state->constant->clusters;
    size_t size = 2 * SN_PAD * (size_t)clusters->count;
    sn_parallel_for(PARTS, 1, restrict_parts, &(restrict_parts_loop){system, size, r, state});
    add_parts(state, 2 * SN_PAD);
}

/* modes := E^-1 of the sums in `part`, in the frames of the turned clusters. */
static void solve_coarse(sn_preconditioning *state) {
    int count = state->constant->clusters.count;
    for (int c = 0; c < 2 * count; c++) { /* translations and rotations turn alike */
        const float *r = state->rotation + 9 * (size_t)(c / 2), *v = state->part + SN_PAD * c;
        for (int i = 0; i < 3; i++)
            state->turned[3 * c + i] = r[i] * v[0] + r[3 + i] * v[1] + r[6 + i] * v[2];
    }
    sn_dense_apply_f32(SN_AS_IS, MODES * count, MODES * count, 1, state->constant->coarse,
                       state->turned, 0, state->answer);
    for (int c = 0; c < 2 * count; c++) {
        const float *r = state->rotation + 9 * (size_t)(c / 2), *v = state->answer + 3 * c;
        for (int i = 0; i < 3; i++)
            state->modes[SN_PAD * c + i] =
                r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2];
        state->modes[SN_PAD * c + 3] = 0;
    }
}

typedef struct apply_to_vertices_loop {
    const sn_preconditioning *state;
    bool coarse;
    const float *r;
    float *z;
} apply_to_vertices_loop;

static void apply_to_vertices(void *context, sn_span span) {
    const apply_to_vertices_loop *loop = context;
    const sn_preconditioning *state = loop->state;
    bool coarse = loop->coarse;
    const float *r = loop->r;
    float *z = loop->z;
    const sn_clusters *clusters = &state->constant->clusters;
    SN_IN_SPAN(int, v, span) {
        const float *f = r + SN_PAD * (size_t)v, *b = state->blocks + 6 * (size_t)v;
        const float *smooth = state->packed + 3 * (size_t)v;
        sn_f4 sum = {smooth[0] + b[0] * f[0] + b[1] * f[1] + b[2] * f[2],
                     smooth[1] + b[1] * f[0] + b[3] * f[1] + b[4] * f[2],
                     smooth[2] + b[2] * f[0] + b[4] * f[1] + b[5] * f[2], 0};
        for (int k = 0; coarse && k < SN_CLUSTERS_PER_VERTEX; k++) {
            size_t entry = SN_CLUSTERS_PER_VERTEX * (size_t)v + (size_t)k;
            sn_f4 lever = *(const sn_f4 *)(state->lever + 4 * entry);
            const sn_f4 *mode =
                (const sn_f4 *)(state->modes + 2 * SN_PAD * (size_t)clusters->cluster[entry]);
            sum += sn_f4_splat3(lever) * (mode[0] + sn_f4_cross(mode[1], lever));
        }
        sum[3] = 0;
        *(sn_f4 *)(z + SN_PAD * (size_t)v) = sum;
    }
}

void sn_preconditioning_apply(const sn_system *system, sn_preconditioning *state, const float *r,
                              float *z) {
    const sn_clusters *clusters = &state->constant->clusters;
    bool coarse = clusters->count > 0;
    restrict_to_clusters(system, state, r);
    sn_cholesky_solve_bf16(state->constant->laplacian, state->work, state->packed, state->packed);
    if (coarse) solve_coarse(state);
    sn_parallel_for(system->free_count, 256, apply_to_vertices,
                    &(apply_to_vertices_loop){state, coarse, r, z});
}
