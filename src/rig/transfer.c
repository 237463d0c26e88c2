/* Based on: Sumner and Popovic, Deformation transfer for triangle meshes, 2004; Botsch et al.,
 * Deformation transfer for detail-preserving surface editing, 2006 (the same minimum as one Poisson
 * equation on the target).
 * We differ in: unknowns are displacements, solved over the vertices that a shape moves and zero
 * elsewhere, so that sparse targets stay sparse; and a weak pull to the scaled displacement of the
 * corresponding place, which puts parts that move as a whole (teeth with the jaw) where they
 * belong. */
#include "sinew/transfer.h"

#include <math.h>
#include <string.h>

#include "algebra/cholesky.h"
#include "base/mat3.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/rotation.h"
#include "base/sized.h"
#include "base/status.h"
#include "mesh/laplacian.h"
#include "mesh/normals.h"
#include "rig/transfer_match.h"

/* Cotangents are kept positive and bounded: a sliver must neither tear nor weld its neighbors. */
#define COTANGENT_LOW  0.02
#define COTANGENT_HIGH 10.0

void sinew_transfer_options_init(sinew_transfer_options *options) {
    *options = (sinew_transfer_options){.size = sizeof *options,
                                        .pull = SINEW_TRANSFER_PULL,
                                        .drop = SINEW_TRANSFER_DROP,
                                        .rounds = SINEW_TRANSFER_ROUNDS};
}

/* What stays the same for all shapes. */
typedef struct sn_transfer {
    const sinew_mesh *source, *target;
    const sinew_transfer_options *options;
    sn_match match;
    double scale;       /* target's size over the source's */
    sn_mat3 turn;       /* of the source's head into the target's */
    double *cotangents; /* 3 per target triangle: of the corner opposite the edge */
    double *area;       /* per target vertex, share of the whole */
    double *moved;      /* source displacement, 3 per source vertex */
    double *wanted;     /* target displacement, 3 per target vertex */
    double *gradient;   /* S - 1 per source triangle or source vertex, 9 each */
    double *gradient_area;
    int *unknown; /* per target vertex: index of the unknown, or -1 */
    double *right;
    double *result; /* 3 per target vertex */
} sn_transfer;

static void free_transfer(sn_transfer *t) {
    sn_match_free(&t->match);
    sn_free(t->cotangents), sn_free(t->area), sn_free(t->moved), sn_free(t->wanted);
    sn_free(t->gradient), sn_free(t->gradient_area), sn_free(t->unknown), sn_free(t->right);
    sn_free(t->result);
}

/* Scale and rotation from the pairs: the meshes may have different coordinate frames and show
 * different parts of the head. */
static sinew_status align_pairs(sn_transfer *t, sinew_error *error) {
    const sinew_transfer_options *o = t->options;
    size_t count = (size_t)o->pair_count;
    double *a = SN_NEW(double, 3 * count), *b = SN_NEW(double, 3 * count);
    sinew_status status = a && b ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        sn_vec3 a_mean = {0, 0, 0}, b_mean = {0, 0, 0}, shift;
        for (int i = 0; i < (int)count; i++) {
            sn_put(a, i, sn_at(t->source->positions, o->source_vertices[i]));
            sn_put(b, i, sn_at(t->target->positions, o->target_vertices[i]));
            a_mean = sn_add_scaled(a_mean, 1.0 / (double)count, sn_at(a, i));
            b_mean = sn_add_scaled(b_mean, 1.0 / (double)count, sn_at(b, i));
        }
        sn_rigid_fit((int)count, a, b, NULL, &t->turn, &shift);
        double a_size = 0, b_size = 0;
        for (int i = 0; i < (int)count; i++) {
            a_size += sn_distance(sn_at(a, i), a_mean);
            b_size += sn_distance(sn_at(b, i), b_mean);
        }
        if (a_size > 0 && b_size > 0) t->scale = b_size / a_size;
    }
    sn_free(a), sn_free(b);
    return status;
}

static sinew_status prepare(sn_transfer *t, sinew_error *error) {
    size_t n = (size_t)t->target->vertex_count, m = (size_t)t->target->triangle_count;
    size_t sn = (size_t)t->source->vertex_count, sm = (size_t)t->source->triangle_count;
    t->cotangents = SN_NEW(double, 3 * m);
    t->area = SN_NEW(double, n);
    t->moved = SN_NEW(double, 3 * sn);
    t->wanted = SN_NEW(double, 3 * n);
    t->gradient = SN_NEW(double, 9 * (sm > sn ? sm : sn));
    t->gradient_area = SN_NEW(double, sn);
    t->unknown = SN_NEW(int, n);
    t->right = SN_NEW(double, 3 * n);
    t->result = SN_NEW(double, 3 * n);
    if (!t->cotangents || !t->area || !t->moved || !t->wanted || !t->gradient ||
        !t->gradient_area || !t->unknown || !t->right || !t->result)
        return sn_no_memory(error);
    for (size_t i = 0; i < m; i++)
        for (int k = 0; k < 3; k++) {
            const int *v = t->target->triangles + 3 * i;
            sn_vec3 o = sn_at(t->target->positions, v[k]);
            sn_vec3 a = sn_sub(sn_at(t->target->positions, v[(k + 1) % 3]), o);
            sn_vec3 b = sn_sub(sn_at(t->target->positions, v[(k + 2) % 3]), o);
            double cotangent = sn_dot(a, b) / fmax(sn_length(sn_cross(a, b)), 1e-300);
            t->cotangents[3 * i + (size_t)k] =
                0.5 * fmin(fmax(cotangent, COTANGENT_LOW), COTANGENT_HIGH);
        }
    sn_mass_barycentric((int)n, t->target->positions, (int)m, t->target->triangles, t->area);
    double total = 0;
    for (size_t v = 0; v < n; v++) total += t->area[v];
    for (size_t v = 0; v < n; v++) t->area[v] = fmax(total > 0 ? t->area[v] / total : 0, 1e-9);
    double from = sinew_diagonal((int)sn, t->source->positions);
    t->scale = from > 0 ? sinew_diagonal((int)n, t->target->positions) / from : 1;
    t->turn = sn_mat3_identity();
    return t->match.same_topology ? SINEW_OK : align_pairs(t, error);
}

/* Edges and scaled normal of a triangle (Sumner and Popovic, eq. 1), as columns. */
static sn_mat3 triangle_frame(sn_vec3 a, sn_vec3 b, sn_vec3 c) {
    sn_vec3 u = sn_sub(b, a), v = sn_sub(c, a), n = sn_cross(u, v);
    double length = sn_length(n);
    return sn_mat3_columns(u, v, length > 0 ? sn_scale(1 / sqrt(length), n) : n);
}

/* S - 1 per source triangle from t->moved; zero for collapsed triangles. */
static void measure_triangles(sn_transfer *t) {
    const double *x = t->source->positions;
    for (int i = 0; i < t->source->triangle_count; i++) {
        const int *v = t->source->triangles + 3 * (size_t)i;
        double *g = t->gradient + 9 * (size_t)i;
        memset(g, 0, 9 * sizeof *g);
        sn_vec3 p[3], q[3];
        double motion = 0;
        for (int k = 0; k < 3; k++) {
            sn_vec3 d = sn_at(t->moved, v[k]);
            p[k] = sn_at(x, v[k]);
            q[k] = sn_add(p[k], d);
            motion += sn_dot(d, d);
        }
        sn_mat3 inverse;
        if (motion == 0 || !sn_mat3_inverse(triangle_frame(p[0], p[1], p[2]), &inverse)) continue;
        sn_mat3 s = sn_mat3_multiply(triangle_frame(q[0], q[1], q[2]), inverse);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) g[3 * r + c] = s.m[r][c] - (r == c);
    }
}

/* Different topology: triangles' values gathered at the vertices by area, so that a fine target
 * does not show the facets of a coarse source. In place, from the last triangle's end. */
static sinew_status gather_at_vertices(sn_transfer *t, sinew_error *error) {
    int n = t->source->vertex_count, m = t->source->triangle_count;
    double *at_vertices = SN_NEW0(double, 9 * (size_t)n);
    if (!at_vertices) return sn_no_memory(error);
    memset(t->gradient_area, 0, sizeof(double) * (size_t)n);
    for (int i = 0; i < m; i++) {
        const int *v = t->source->triangles + 3 * (size_t)i;
        double area = sn_length(sn_area_vector(t->source->positions, v));
        for (int k = 0; k < 3; k++) {
            for (int e = 0; e < 9; e++)
                at_vertices[9 * (size_t)v[k] + (size_t)e] +=
                    area * t->gradient[9 * (size_t)i + (size_t)e];
            t->gradient_area[v[k]] += area;
        }
    }
    for (int v = 0; v < n; v++)
        for (int e = 0; e < 9; e++)
            at_vertices[9 * (size_t)v + (size_t)e] /= fmax(t->gradient_area[v], 1e-300);
    memcpy(t->gradient, at_vertices, sizeof(double) * 9 * (size_t)n);
    sn_free(at_vertices);
    return SINEW_OK;
}

static sn_mat3 gradient_at(const sn_transfer *t, int triangle) {
    sn_mat3 g = {{{0}}};
    if (t->match.same_topology) {
        memcpy(&g, t->gradient + 9 * (size_t)t->match.triangle[triangle], sizeof g);
        return g;
    }
    const sn_place *place = &t->match.triangles[triangle];
    for (int k = 0; k < 3; k++)
        for (int e = 0; e < 9; e++)
            g.m[e / 3][e % 3] +=
                place->weights[k] * t->gradient[9 * (size_t)place->vertices[k] + (size_t)e];
    return sn_mat3_multiply(sn_mat3_multiply(t->turn, g), sn_mat3_transpose(t->turn));
}

/* Numbers the vertices that the shape moves; returns how many. */
static int number_unknowns(sn_transfer *t) {
    int count = 0;
    for (int v = 0; v < t->target->vertex_count; v++) {
        const sn_place *place = &t->match.vertices[v];
        sn_vec3 d = {0, 0, 0};
        bool moves = false;
        for (int k = 0; k < 3; k++) {
            if (place->weights[k] == 0) continue;
            sn_vec3 s = sn_at(t->moved, place->vertices[k]);
            moves |= sn_dot(s, s) > 0;
            d = sn_add_scaled(d, t->scale * place->weights[k], s);
        }
        sn_put(t->wanted, v, sn_mat3_apply(t->turn, d));
        t->unknown[v] = moves ? count++ : -1;
    }
    return count;
}

/* min sum_T sum_edges w |u_a - u_b - G (y_a - y_b)|^2 + pull sum_v a_v |u_v - wanted_v|^2 over the
 * moved vertices, u = 0 elsewhere. w the half cotangents: the first sum is the FEM form of
 * sum_T |T| |grad u - G|^2. */
static sinew_status solve_shape(sn_transfer *t, int unknowns, sinew_error *error) {
    sn_triplets triplets;
    SN_TRY(sn_triplets_create(unknowns, unknowns, 10 * (size_t)unknowns, &triplets, error));
    memset(t->right, 0, sizeof(double) * 3 * (size_t)unknowns);
    sinew_status status = SINEW_OK;
    bool room = true;
    for (int v = 0; v < t->target->vertex_count; v++) {
        int i = t->unknown[v];
        if (i < 0) continue;
        double weight = t->options->pull * t->area[v];
        room &= sn_triplets_add(&triplets, i, i, weight);
        sn_put(t->right, i, sn_scale(weight, sn_at(t->wanted, v)));
    }
    for (int f = 0; f < t->target->triangle_count; f++) {
        const int *v = t->target->triangles + 3 * (size_t)f;
        if (t->unknown[v[0]] < 0 && t->unknown[v[1]] < 0 && t->unknown[v[2]] < 0) continue;
        sn_mat3 g = gradient_at(t, f);
        for (int k = 0; k < 3; k++) {
            int a = v[(k + 1) % 3], b = v[(k + 2) % 3], i = t->unknown[a], j = t->unknown[b];
            double w = t->cotangents[3 * (size_t)f + (size_t)k];
            sn_vec3 edge = sn_sub(sn_at(t->target->positions, a), sn_at(t->target->positions, b));
            sn_vec3 change = sn_scale(w, sn_mat3_apply(g, edge));
            if (i >= 0) {
                room &= sn_triplets_add(&triplets, i, i, w);
                sn_put(t->right, i, sn_add(sn_at(t->right, i), change));
            }
            if (j >= 0) {
                room &= sn_triplets_add(&triplets, j, j, w);
                sn_put(t->right, j, sn_sub(sn_at(t->right, j), change));
            }
            if (i >= 0 && j >= 0)
                room &= sn_triplets_add(&triplets, i > j ? i : j, i > j ? j : i, -w);
        }
    }
    sn_sparse *matrix = NULL;
    sn_cholesky *factor = NULL;
    sn_cholesky_work *work = NULL;
    if (!room) status = sn_no_memory(error);
    if (status == SINEW_OK) status = sn_sparse_from_triplets(&triplets, true, &matrix, error);
    sn_triplets_free(&triplets);
    if (status == SINEW_OK) status = sn_cholesky_create(matrix, &factor, error);
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, 3, &work, error);
    if (status == SINEW_OK) sn_cholesky_solve(factor, work, 3, t->right, t->right);
    sn_cholesky_work_destroy(work);
    sn_cholesky_destroy(factor);
    sn_sparse_destroy(matrix);
    return status;
}

/* From t->moved (source) to t->result (target). */
static sinew_status carry_displacement(sn_transfer *t, sinew_error *error) {
    memset(t->result, 0, sizeof(double) * 3 * (size_t)t->target->vertex_count);
    int unknowns = number_unknowns(t);
    if (unknowns == 0) return SINEW_OK;
    measure_triangles(t);
    if (!t->match.same_topology) SN_TRY(gather_at_vertices(t, error));
    SN_TRY(solve_shape(t, unknowns, error));
    for (int v = 0; v < t->target->vertex_count; v++)
        if (t->unknown[v] >= 0) sn_put(t->result, v, sn_at(t->right, t->unknown[v]));
    return SINEW_OK;
}

static void add_target(const sinew_target *target, double factor, double *dense) {
    for (int i = 0; i < target->count; i++)
        for (int k = 0; k < 3; k++)
            dense[3 * (size_t)target->vertices[i] + (size_t)k] +=
                factor * target->deltas[3 * (size_t)i + (size_t)k];
}

/* The plain target of a slider, or NULL. */
static const sinew_target *plain_of(const sinew_rig *rig, int slider) {
    for (int k = 0; k < rig->target_count; k++)
        if (rig->targets[k].kind == SINEW_TARGET_KIND_PLAIN && rig->targets[k].slider == slider)
            return &rig->targets[k];
    return NULL;
}

/* Replaces a target's displacements by t->result, sparse. */
static sinew_status store(sn_transfer *t, sinew_target *target, sinew_error *error) {
    int n = t->target->vertex_count, count = 0;
    double threshold = t->options->drop * sinew_diagonal(n, t->target->positions);
    for (int v = 0; v < n; v++) count += sn_length(sn_at(t->result, v)) > threshold;
    int *vertices = SN_NEW(int, count);
    double *deltas = SN_NEW(double, 3 * (size_t)count);
    if (!vertices || !deltas) {
        sn_free(vertices), sn_free(deltas);
        return sn_no_memory(error);
    }
    count = 0;
    for (int v = 0; v < n; v++) {
        if (!(sn_length(sn_at(t->result, v)) > threshold)) continue;
        vertices[count] = v;
        sn_put(deltas, count++, sn_at(t->result, v));
    }
    sn_free(target->vertices), sn_free(target->deltas);
    target->vertices = vertices, target->deltas = deltas, target->count = count;
    return SINEW_OK;
}

/* A corrective's pose is the sum of its drivers and itself; what the carried drivers do not explain
 * of the carried pose is the carried corrective. */
static sinew_status carry_target(sn_transfer *t, const sinew_rig *source, int index, sinew_rig *rig,
                                 sinew_error *error) {
    const sinew_target *from = &source->targets[index];
    memset(t->moved, 0, sizeof(double) * 3 * (size_t)t->source->vertex_count);
    add_target(from, 1, t->moved);
    bool combination = from->kind == SINEW_TARGET_KIND_COMBINATION && !from->terms;
    for (int i = 0; combination && i < from->driver_count; i++) {
        const sinew_target *driver = plain_of(source, from->drivers[i]);
        if (driver) add_target(driver, 1, t->moved);
    }
    SN_TRY(carry_displacement(t, error));
    for (int i = 0; combination && i < from->driver_count; i++) {
        const sinew_target *driver = plain_of(rig, from->drivers[i]);
        if (driver) add_target(driver, -1, t->result);
    }
    return store(t, &rig->targets[index], error);
}

/* A vertex belongs to the regions that its place lies in: that hold half of its weights or more.
 * Regions that nothing lies in are left out. */
static sinew_status carry_regions(sn_transfer *t, const sinew_rig *source, sinew_rig *rig,
                                  sinew_error *error) {
    for (int i = 0; i < rig->region_count; i++)
        sn_free(rig->regions[i].name), sn_free(rig->regions[i].vertices);
    rig->region_count = 0;
    bool *inside = SN_NEW(bool, source->neutral->vertex_count);
    sinew_status status = inside ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < source->region_count; i++) {
        const sinew_region *region = &source->regions[i];
        int count = 0, *vertices = t->unknown;
        memset(inside, 0, sizeof *inside * (size_t)source->neutral->vertex_count);
        for (int k = 0; k < region->count; k++) inside[region->vertices[k]] = true;
        for (int v = 0; v < t->target->vertex_count; v++) {
            const sn_place *place = &t->match.vertices[v];
            double share = 0;
            for (int k = 0; k < 3; k++) share += inside[place->vertices[k]] ? place->weights[k] : 0;
            if (share >= 0.5 && !place->far) vertices[count++] = v;
        }
        if (count > 0) status = sinew_rig_add_region(rig, region->name, count, vertices, error);
    }
    sn_free(inside);
    return status;
}

sinew_status sinew_transfer(const sinew_rig *source, const sinew_mesh *target_neutral,
                            const sinew_transfer_options *options, const sinew_monitor *monitor,
                            sinew_rig **transferred, sinew_transfer_info *info,
                            sinew_error *error) {
    SN_REQUIRE(source && target_neutral && transferred && sn_info_ready(info), error);
    *transferred = NULL;
    SN_OPTIONS(sinew_transfer_options, wanted, options, error);
    options = &wanted;
    sinew_transfer_info found = {0};
    if (!(options->pull > 0) || !(options->drop >= 0) || options->rounds < 0)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "transfer: pull must be positive, drop and rounds 0 or more");
    sn_transfer t = {.source = source->neutral, .target = target_neutral, .options = options};
    sinew_rig *rig = NULL;
    sinew_status status =
        sn_match_create(source->neutral, target_neutral, options, monitor, &t.match, &found, error);
    if (status == SINEW_OK) status = prepare(&t, error);
    if (status == SINEW_OK) status = sinew_rig_copy(source, &rig, error);
    if (status == SINEW_OK) {
        sinew_mesh_destroy(rig->neutral);
        rig->neutral = NULL;
        status = sinew_mesh_copy(target_neutral, &rig->neutral, error);
    }
    /* Drivers before the combinations that need them. */
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; status == SINEW_OK && k < source->target_count; k++) {
            if ((source->targets[k].kind == SINEW_TARGET_KIND_COMBINATION) != (pass == 1)) continue;
            if (sn_cancelled(monitor)) status = sn_fail(error, SINEW_CANCELLED, "cancelled");
            if (status == SINEW_OK) status = carry_target(&t, source, k, rig, error);
            sn_progress(monitor, (k + 1.0) / source->target_count, "transfer");
        }
    if (status == SINEW_OK && !t.match.same_topology)
        status = carry_regions(&t, source, rig, error);
    free_transfer(&t);
    if (status != SINEW_OK) {
        sinew_rig_destroy(rig);
        return status;
    }
    *transferred = rig;
    sn_info_write(info, &found, sizeof found);
    return SINEW_OK;
}
