/* Based on: thin plates over scattered data, on the mesh itself.
 *
 * With Q the smoothness, the minimum satisfies Q delta = S^T (c/m)(r - S delta). So delta = Psi l,
 * Psi = Q^-1 S^T, with l = (c/m)(r - S Psi l), or (m/c + S Psi) l = r over the seen markers. */
#include "force/layer.h"

#include <math.h>
#include <string.h>

#include "algebra/cholesky.h"
#include "algebra/dense.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/scope.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/vec3.h"
#include "sinew/anatomy.h"

/* Pull of every vertex to no correction, against parts that no marker holds. */
#define LEAST_PULL 1e-6
/* Markers with less weight are not seen. */
#define LEAST_WEIGHT 1e-9
/* Fraction of the diagonal over which the correction fades from the outer skin inwards. */
#define FADE 0.012
/* Nor are those that fade and would be met to a lesser share. */
#define LEAST_SHARE 1e-3

sinew_status sn_layer_matrix(const sn_skin *s, double smoothing, const double *far,
                             sn_sparse **matrix, sinew_error *error) {
    int n = s->vertex_count;
    double total = 0, d2 = s->diagonal * s->diagonal;
    for (int v = 0; v < n; v++) total += s->area[v];
    total *= s->scale * s->scale; /* of the head */
    double *weight = SN_NEW(double, n);
    sn_sparse *laplacian = NULL, *plate = NULL, *pull = NULL;
    sn_triplets t = {0};
    sinew_status status = weight ? SINEW_OK : sn_no_memory(error);
    for (int v = 0; status == SINEW_OK && v < n; v++)
        weight[v] = smoothing * d2 * d2 * s->area[v] / total;
    if (status == SINEW_OK) status = sn_skin_laplacian(s, &laplacian, error);
    if (status == SINEW_OK) status = sn_sparse_gram(laplacian, weight, &plate, error);
    if (status == SINEW_OK) status = sn_triplets_create(n, n, (size_t)n, &t, error);
    for (int v = 0; status == SINEW_OK && v < n; v++)
        if (!sn_triplets_add(&t, v, v,
                             s->fixed[v] ? 1 : (LEAST_PULL + far[v]) * s->area[v] / total))
            status = sn_no_memory(error);
    if (status == SINEW_OK) status = sn_sparse_from_triplets(&t, true, &pull, error);
    if (status == SINEW_OK) status = sn_sparse_combine(1, plate, 1, pull, matrix, error);
    sn_triplets_free(&t);
    sn_free(weight);
    sn_sparse_destroy(laplacian), sn_sparse_destroy(plate), sn_sparse_destroy(pull);
    return status;
}

/* The vertices of a marker and their weights; returns how many. */
static int corners(const sinew_mesh *mesh, const sinew_marker_map *map, int i, int vertex[3],
                   double weight[3]) {
    if (map->triangles[i] < 0) {
        vertex[0] = map->vertices[i], weight[0] = 1;
        return 1;
    }
    for (int k = 0; k < 3; k++) {
        vertex[k] = mesh->triangles[3 * (size_t)map->triangles[i] + (size_t)k];
        weight[k] = map->barycentric[3 * (size_t)i + (size_t)k];
    }
    return 3;
}

/* ---- parts without markers ------------------------------------------------------------------- */

/* Nine tenths of the markers have their next one nearer than this; 0 for a single marker. */
static sinew_status marker_spacing(const sn_skin *skin, const sinew_mesh *mesh,
                                   const sinew_marker_map *map, double *spacing,
                                   sinew_error *error) {
    int m = map->count;
    double *places = SN_NEW(double, 4 * (size_t)m);
    if (!places) return sn_no_memory(error);
    double *nearest = places + 3 * (size_t)m;
    sinew_marker_map_points(map, mesh, skin->rest, places);
    for (int i = 0; i < m; i++) {
        nearest[i] = m > 1 ? INFINITY : 0;
        for (int j = 0; j < m; j++)
            if (j != i)
                nearest[i] = fmin(nearest[i], sn_distance(sn_at(places, i), sn_at(places, j)));
    }
    sn_sort_doubles((size_t)m, nearest);
    *spacing = m > 0 ? nearest[9 * (m - 1) / 10] : 0;
    sn_free(places);
    return SINEW_OK;
}

/* A plate goes on straight where no marker holds it: the mouth's inside would swing by more than
 * the lips. So vertices farther along the skin from every marker than their spacing h are drawn to
 * no correction, fully from 2 h on, with the pull mu (D / h)^4 that fades a plate within h. */
static sinew_status pull_far_parts(const sn_skin *skin, const sinew_mesh *mesh,
                                   const sinew_marker_map *map, double smoothing, double *far,
                                   sinew_error *error) {
    double h = 0, vertex_weight[3];
    int vertex[3];
    SN_TRY(marker_spacing(skin, mesh, map, &h, error));
    for (int v = 0; v < skin->vertex_count; v++) far[v] = h > 0 ? INFINITY : 0;
    if (!(h > 0)) return SINEW_OK;
    for (int i = 0; i < map->count; i++) {
        int parts = corners(mesh, map, i, vertex, vertex_weight);
        /* measured from the marker: for one on a vertex it does not matter whose corner that is */
        sn_vec3 point = {0, 0, 0};
        for (int k = 0; k < parts; k++)
            point = sn_add_scaled(point, vertex_weight[k], sn_at(skin->rest, vertex[k]));
        for (int k = 0; k < parts; k++)
            far[vertex[k]] = fmin(far[vertex[k]], sn_distance(point, sn_at(skin->rest, vertex[k])));
    }
    sn_skin_spread(skin, 2 * h, far);
    double over = skin->diagonal / h, most = smoothing * over * over * over * over;
    for (int v = 0; v < skin->vertex_count; v++) {
        double s = fmin(fmax(far[v] / h - 1, 0), 1);
        far[v] = most * s * s * (3 - 2 * s);
    }
    return SINEW_OK;
}

/* What is not outer skin follows its own rig motion: the mouth's bag and the sockets behind the
 * eyes are drawn to no correction within FADE of the diagonal along the surface from the outer
 * skin. Parts of which nothing is outer skin are left to riders. */
static sinew_status pull_inside(const sn_skin *skin, const sinew_anatomy *anatomy, double smoothing,
                                double *far, sinew_error *error) {
    const bool *outer = sinew_anatomy_skin(anatomy);
    const int *piece = sinew_anatomy_pieces(anatomy);
    double *depth = SN_NEW(double, skin->vertex_count), reach = FADE * skin->diagonal;
    if (!depth) return sn_no_memory(error);
    for (int v = 0; v < skin->vertex_count; v++) depth[v] = outer[v] ? 0 : INFINITY;
    sn_skin_spread(skin, reach, depth);
    for (int v = 0; v < skin->vertex_count; v++) {
        if (sinew_anatomy_piece_kind(anatomy, piece[v]) != SINEW_PIECE_KIND_SKIN) continue;
        double s = fmin(depth[v] / reach, 1), over = 1 / FADE;
        far[v] = fmax(far[v], smoothing * over * over * over * over * s * s * (3 - 2 * s));
    }
    sn_free(depth);
    return SINEW_OK;
}

/* Psi, three markers a solve, as the three coordinates of a displacement would be. */
static sinew_status spread_markers(sn_layer *layer, const sn_skin *skin, const sinew_mesh *mesh,
                                   const sinew_marker_map *map, const sn_cholesky *factor,
                                   const sinew_monitor *monitor, sinew_error *error) {
    int n = skin->vertex_count, m = map->count, vertex[3];
    double *right = SN_NEW(double, 3 * (size_t)n), weight[3];
    sn_cholesky_work *work = NULL;
    sinew_status status = right ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, 3, &work, error);
    for (int first = 0; status == SINEW_OK && first < m; first += 3) {
        int count = m - first < 3 ? m - first : 3;
        memset(right, 0, 3 * sizeof(double) * (size_t)n);
        for (int j = 0; j < count; j++) {
            int parts = corners(mesh, map, first + j, vertex, weight);
            for (int k = 0; k < parts; k++)
                if (!skin->fixed[vertex[k]]) right[3 * (size_t)vertex[k] + (size_t)j] += weight[k];
        }
        sn_cholesky_solve(factor, work, 3, right, right);
        for (int j = 0; j < count; j++) {
            for (int v = 0; v < n; v++)
                layer->spread[(size_t)v * (size_t)m + (size_t)(first + j)] =
                    (float)right[3 * (size_t)v + (size_t)j];
            for (int i = 0; i < m; i++) {
                int parts = corners(mesh, map, i, vertex, weight);
                double sum = 0;
                for (int k = 0; k < parts; k++)
                    sum += weight[k] * right[3 * (size_t)vertex[k] + (size_t)j];
                layer->coupling[(size_t)i + (size_t)m * (size_t)(first + j)] = sum;
            }
        }
        if (sn_cancelled(monitor)) status = sn_fail(error, SINEW_CANCELLED, "cancelled");
        sn_progress(monitor, (double)(first + count) / m, "marker layer");
    }
    sn_free(right);
    sn_cholesky_work_destroy(work);
    return status;
}

/* layer->riders: parts without markers. */
static sinew_status find_riders(sn_layer *layer, const sn_skin *skin, const sinew_rig *rig,
                                const sinew_marker_map *map, const sinew_anatomy *anatomy,
                                sinew_error *error) {
    bool *marked = SN_NEW0(bool, skin->vertex_count);
    if (!marked) return sn_no_memory(error);
    for (int i = 0; i < map->count; i++)
        marked[map->triangles[i] < 0 ? map->vertices[i]
                                     : rig->neutral->triangles[3 * (size_t)map->triangles[i]]] =
            true;
    sinew_status status = sn_riders_find(skin, rig, marked, &layer->riders, error);
    sn_free(marked);
    SN_TRY(status);
    sn_riders_leave_inner(&layer->riders, anatomy);
    return SINEW_OK;
}

/* Psi of vertices that follow the skin is that of the skin below them. */
static void carry_riders(sn_layer *layer) {
    const sn_riders *r = &layer->riders;
    size_t m = (size_t)layer->marker_count;
    for (int i = 0; i < r->count; i++) {
        const float *from[3];
        for (int k = 0; k < 3; k++) from[k] = layer->spread + (size_t)r->host[3 * i + k] * m;
        const double *w = r->weight + 3 * (size_t)i;
        float *to = layer->spread + (size_t)r->vertex[i] * m;
        for (size_t j = 0; j < m; j++)
            to[j] = (float)(w[0] * (double)from[0][j] + w[1] * (double)from[1][j] +
                            w[2] * (double)from[2][j]);
    }
}

sinew_status sn_layer_create(const sn_skin *whole, const sinew_rig *rig,
                             const sinew_marker_map *map, const sinew_anatomy *anatomy,
                             double smoothing, bool contact, const sinew_monitor *monitor,
                             sn_layer **layer, sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    *layer = NULL;
    if (!(smoothing >= 1e-12 && smoothing <= 1))
        return sn_fail(error, SINEW_BAD_INPUT, "marker layer: smoothing must be in [1e-12, 1]");
    size_t n = (size_t)whole->vertex_count, m = (size_t)map->count;
    sn_skin sized = *whole, *skin = &sized;
    sn_layer *made = SN_NEW0(sn_layer, 1);
    if (!made) return sn_no_memory(error);
    made->vertex_count = (int)n, made->marker_count = (int)m;
    made->spread = SN_NEW(float, n *m);
    made->coupling = SN_NEW(double, m *m);
    made->trust = SN_NEW(double, m + 1);
    sn_sparse *matrix = NULL;
    sn_cholesky *factor = NULL;
    double *far = SN_NEW(double, n);
    sinew_status status =
        made->spread && made->coupling && made->trust && far ? SINEW_OK : sn_no_memory(error);
    for (size_t i = 0; status == SINEW_OK && i < m; i++) made->trust[i] = 1;
    sinew_anatomy *own = NULL;
    if (status == SINEW_OK && !anatomy) status = sinew_anatomy_create(rig, monitor, &own, error);
    if (own) anatomy = own;
    if (status == SINEW_OK) sn_skin_fit_head(skin, rig, sinew_anatomy_eye_distance(anatomy));
    if (status == SINEW_OK) status = pull_far_parts(skin, mesh, map, smoothing, far, error);
    if (status == SINEW_OK) status = pull_inside(skin, anatomy, smoothing, far, error);
    if (status == SINEW_OK) status = sn_layer_matrix(skin, smoothing, far, &matrix, error);
    sn_free(far);
    if (status == SINEW_OK) status = sn_cholesky_create(matrix, &factor, error);
    if (status == SINEW_OK) status = spread_markers(made, skin, mesh, map, factor, monitor, error);
    if (status == SINEW_OK) status = find_riders(made, skin, rig, map, anatomy, error);
    if (status == SINEW_OK) carry_riders(made);
    if (status == SINEW_OK && contact)
        status = sn_layer_guard_create(skin, rig, anatomy, &made->riders, &made->guard, error);
    if (status == SINEW_OK && contact)
        status = sn_layer_contact_create(skin, rig, anatomy, &made->riders, &made->contact, error);
    if (status == SINEW_OK && contact)
        status = sn_carry_plan_create(skin, rig, anatomy, &made->riders, &made->carry, error);
    if (status == SINEW_OK && contact)
        status =
            sn_layer_restore_create(skin, mesh, anatomy, &made->riders,
                                    sn_layer_contact_surface(made->contact), &made->restore, error);
    if (status == SINEW_OK && contact)
        status = sn_give_way_plan_create(skin, mesh, anatomy, &made->riders, made->carry,
                                         &made->give_way, error);
    if (status == SINEW_OK && contact)
        status = sn_lid_lift_plan_create(skin, mesh, anatomy, &made->riders, &made->lift, error);
    sinew_anatomy_destroy(own);
    sn_sparse_destroy(matrix);
    sn_cholesky_destroy(factor);
    if (status != SINEW_OK) {
        sn_layer_destroy(made);
        return status;
    }
    *layer = made;
    return SINEW_OK;
}

void sn_layer_destroy(sn_layer *layer) {
    if (!layer) return;
    sn_layer_guard_destroy(layer->guard);
    sn_layer_contact_destroy(layer->contact);
    sn_carry_plan_destroy(layer->carry);
    sn_layer_restore_destroy(layer->restore);
    sn_give_way_plan_destroy(layer->give_way);
    sn_lid_lift_plan_destroy(layer->lift);
    sn_riders_free(&layer->riders);
    sn_free(layer->spread), sn_free(layer->coupling), sn_free(layer->trust);
    sn_free(layer);
}

sinew_status sn_layer_work_create(const sn_layer *layer, sn_layer_work **work, sinew_error *error) {
    *work = NULL;
    size_t m = (size_t)layer->marker_count;
    sn_layer_work *made = SN_NEW0(sn_layer_work, 1);
    if (!made) return sn_no_memory(error);
    made->matrix = SN_NEW(double, m *m);
    made->forces = SN_NEW(double, 6 * m);
    made->seen = SN_NEW(int, m);
    made->left = SN_NEW0(double, 3 * m), made->residual = SN_NEW(double, 3 * m);
    made->weight = SN_NEW0(double, m), made->presence = SN_NEW0(double, m);
    made->say = SN_NEW(double, m);
    if (!made->matrix || !made->forces || !made->seen || !made->left || !made->residual ||
        !made->weight || !made->presence || !made->say) {
        sn_layer_work_destroy(made);
        return sn_no_memory(error);
    }
    size_t n = (size_t)layer->vertex_count;
    if (layer->guard) {
        made->before = SN_NEW(double, 3 * n), made->scratch = SN_NEW(double, n);
        sinew_status status =
            made->before && made->scratch
                ? sn_layer_contact_work_create(layer->contact, &made->contact, error)
                : sn_no_memory(error);
        if (status == SINEW_OK) status = sn_carry_create(layer->carry, &made->carry, error);
        if (status == SINEW_OK)
            status = sn_layer_restore_work_create(layer->restore, &made->restore, error);
        if (status == SINEW_OK)
            status = sn_give_way_work_create(layer->give_way, &made->give_way, error);
        if (status == SINEW_OK) status = sn_lid_lift_create(layer->lift, &made->lift, error);
        if (status != SINEW_OK) {
            sn_layer_work_destroy(made);
            return status;
        }
    }
    sn_layer_forget(made);
    *work = made;
    return SINEW_OK;
}

void sn_layer_work_destroy(sn_layer_work *work) {
    if (!work) return;
    sn_free(work->matrix), sn_free(work->forces), sn_free(work->seen);
    sn_free(work->left), sn_free(work->residual), sn_free(work->weight), sn_free(work->presence);
    sn_free(work->say), sn_free(work->before), sn_free(work->scratch);
    sn_layer_contact_work_destroy(work->contact);
    sn_carry_destroy(work->carry);
    sn_layer_restore_work_destroy(work->restore);
    sn_give_way_work_destroy(work->give_way);
    sn_lid_lift_destroy(work->lift);
    sn_free(work);
}

void sn_layer_forget(sn_layer_work *work) {
    work->started = false;
    if (work->contact) sn_layer_contact_forget(work->contact);
}

sinew_status sn_layer_hold(const sn_layer *layer, sn_layer_work *work, double *after,
                           sn_layer_counts *counts, sinew_error *error) {
    counts->held = sn_layer_guard_hold(layer->guard, work->before, after, work->scratch);
    sn_layer_restore_start(work->restore, after);
    SN_TRY(sn_lid_lift_apply(work->lift, after, error));
    sn_force_contact_info pressed;
    SN_TRY(sn_layer_contact_solve(work->contact, after, &pressed, error));
    counts->pressing = pressed.pressing, counts->released = pressed.released;
    SN_TRY(sn_carry_apply(work->carry, work->before, after, error));
    counts->restored = sn_layer_restore_apply(work->restore, work->before, after);
    SN_TRY(sn_lid_lift_apply(work->lift, after, error)); /* some of it went back */
    int gave_way;
    SN_TRY(sn_give_way(work->give_way, work->carry, work->restore, work->before, after, &gave_way,
                       error));
    counts->restored += gave_way;
    return SINEW_OK;
}

void sn_layer_pack(const sn_layer *layer, const sn_layer_work *work, sn_pack *pack) {
    size_t m = (size_t)layer->marker_count;
    sn_pack_int(pack, work->started);
    sn_pack_array(pack, work->left, 3 * m, sizeof(double));
    sn_pack_array(pack, work->weight, m, sizeof(double));
    sn_pack_array(pack, work->presence, m, sizeof(double));
    if (work->contact) sn_layer_contact_pack(work->contact, pack);
}

sinew_status sn_layer_unpack(const sn_layer *layer, sn_layer_work *work, sn_unpack *unpack,
                             sinew_error *error) {
    size_t m = (size_t)layer->marker_count;
    work->started = sn_unpack_int(unpack) != 0;
    sn_unpack_into(unpack, work->left, 3 * m, sizeof(double));
    sn_unpack_into(unpack, work->weight, m, sizeof(double));
    sn_unpack_into(unpack, work->presence, m, sizeof(double));
    return work->contact ? sn_layer_contact_unpack(work->contact, unpack, error) : SINEW_OK;
}

void sn_layer_pack_block(const sn_layer_work *work, sn_pack *pack) {
    if (work->contact) sn_layer_contact_pack_block(work->contact, pack);
}

sinew_status sn_layer_unpack_block(sn_layer_work *work, sn_unpack *unpack, sinew_error *error) {
    return work->contact ? sn_layer_contact_unpack_block(work->contact, unpack, error) : SINEW_OK;
}

int sn_layer_block(const sn_layer_work *work) {
    return work->contact ? sn_layer_contact_block(work->contact) : 0;
}

void sn_layer_shrink(sn_layer_work *work, int size) {
    if (work->contact) sn_layer_contact_shrink(work->contact, size);
}

/* The weight at which a marker alone is met to `share` (0 to 1) of what it is at `weight`, that is
 * to gain / (gain + m / weight). */
static double fading_weight(const sn_layer *layer, int marker, double weight, double share) {
    double m = layer->marker_count;
    double gain = layer->coupling[(size_t)marker * ((size_t)layer->marker_count + 1)];
    if (share >= 1 || !(weight > 0) || !(gain > 0)) return weight;
    share *= gain / (gain + m / weight);
    return share > LEAST_SHARE ? m * share / (gain * (1 - share)) : 0;
}

/* work->residual and work->say. Where all markers fade together the whole correction does; where
 * some do, they yield their influence to the others. */
static void remember(const sn_layer *layer, sn_layer_work *work, double seconds,
                     const double *residual, const double *weights) {
    double keep = work->started ? exp(-seconds / SINEW_MARKER_LAYER_MEMORY) : 0, most = 0;
    work->started = true;
    for (int i = 0; i < layer->marker_count; i++) {
        bool there = weights[i] > LEAST_WEIGHT;
        double presence = keep > 0 ? keep * work->presence[i] + (there ? 1 - keep : 0) : there;
        work->presence[i] = there && presence > 1 - 1e-9 ? 1 : presence;
        most = fmax(most, work->presence[i]);
        if (!there) continue;
        memcpy(work->left + 3 * i, residual + 3 * i, 3 * sizeof(double));
        work->weight[i] = weights[i] * layer->trust[i];
    }
    for (int i = 0; i < layer->marker_count; i++) {
        double share = most > 0 ? work->presence[i] / most : 0;
        work->say[i] = share > 0 ? fading_weight(layer, i, work->weight[i], share) : 0;
        for (int a = 3 * i; a < 3 * i + 3; a++) work->residual[a] = most * work->left[a];
    }
}

typedef struct spread_forces_loop {
    const sn_layer *layer;
    const double *full;
    double *positions;
} spread_forces_loop;

static void spread_forces(void *context, sn_span span) {
    const spread_forces_loop *loop = context;
    const sn_layer *layer = loop->layer;
    const double *full = loop->full;
    double *positions = loop->positions;
    int m = layer->marker_count;
    SN_IN_SPAN(int, v, span) {
        const float *row = layer->spread + (size_t)v * (size_t)m;
        double x = 0, y = 0, z = 0;
#pragma omp simd reduction(+ : x, y, z)
        for (int i = 0; i < m; i++) {
            double w = (double)row[i];
            x += w * full[i], y += w * full[m + i], z += w * full[2 * m + i];
        }
        double *p = positions + 3 * (size_t)v;
        p[0] += x, p[1] += y, p[2] += z;
    }
}

sinew_status sn_layer_add(const sn_layer *layer, sn_layer_work *work, double seconds,
                          const double *residual, const double *weights, double *positions,
                          sinew_error *error) {
    remember(layer, work, seconds, residual, weights);
    residual = work->residual, weights = work->say;
    int m = layer->marker_count, seen = 0;
    for (int i = 0; i < m; i++)
        if (weights[i] > LEAST_WEIGHT) work->seen[seen++] = i;
    if (seen == 0) return SINEW_OK;
    /* columns of l: one per coordinate */
    double *columns = work->forces, *full = work->forces + 3 * (size_t)m;
    for (int i = 0; i < seen; i++) {
        int from = work->seen[i];
        for (int j = 0; j < seen; j++)
            work->matrix[(size_t)j + (size_t)seen * (size_t)i] =
                layer->coupling[(size_t)work->seen[j] + (size_t)m * (size_t)from];
        work->matrix[(size_t)i * ((size_t)seen + 1)] += m / weights[from];
        for (int a = 0; a < 3; a++) columns[i + seen * a] = residual[3 * from + a];
    }
    SN_TRY(sn_dense_cholesky(seen, work->matrix, error));
    sn_dense_cholesky_solve(seen, work->matrix, 3, columns);
    memset(full, 0, 3 * sizeof(double) * (size_t)m);
    for (int i = 0; i < seen; i++)
        for (int a = 0; a < 3; a++) full[a * m + work->seen[i]] = columns[i + seen * a];
    sn_parallel_for(layer->vertex_count, 32, spread_forces,
                    &(spread_forces_loop){layer, full, positions});
    return SINEW_OK;
}

/* ---- for any shape --------------------------------------------------------------------------- */

struct sinew_marker_layer {
    sinew_mesh *mesh;
    sinew_marker_map *map;
    sn_layer *layer;
    sn_layer_work *work;
    double *residual, *weights;
    sn_layer_counts counts; /* of the last frame */
    sn_pack kept;           /* what is remembered, before a frame that may fail */
};

sinew_status sinew_marker_layer_create(const sinew_rig *rig, const sinew_marker_map *map,
                                       double smoothing, bool contact, const sinew_monitor *monitor,
                                       sinew_marker_layer **layer, sinew_error *error) {
    SN_REQUIRE(rig && map && layer, error);
    *layer = NULL;
    if (map->count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "marker layer: the map has no markers");
    SN_TRY(sinew_marker_map_check(map, rig->neutral, error));
    sinew_marker_layer *made = SN_NEW0(sinew_marker_layer, 1);
    if (!made) return sn_no_memory(error);
    sn_skin *skin = NULL;
    made->residual = SN_NEW(double, 3 * (size_t)map->count);
    made->weights = SN_NEW(double, map->count);
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = made->residual && made->weights ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sinew_mesh_copy(rig->neutral, &made->mesh, error);
    if (status == SINEW_OK) status = sinew_marker_map_copy(map, &made->map, error);
    if (status == SINEW_OK) status = sn_skin_create(rig, 0, NULL, &skin, error);
    if (status == SINEW_OK)
        status =
            sn_layer_create(skin, rig, map, NULL, smoothing, contact, monitor, &made->layer, error);
    if (status == SINEW_OK) status = sn_layer_work_create(made->layer, &made->work, error);
    sn_skin_destroy(skin);
    status = sn_call_end(&call, status, error);
    if (status != SINEW_OK) {
        sinew_marker_layer_destroy(made);
        return status;
    }
    *layer = made;
    return SINEW_OK;
}

sinew_status sinew_marker_layer_set_trust(sinew_marker_layer *layer, const double *trust,
                                          sinew_error *error) {
    SN_REQUIRE(layer, error);
    for (int i = 0; trust && i < layer->map->count; i++)
        if (!(trust[i] >= 0 && trust[i] <= 1))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "marker layer: the trust in a marker must be in [0, 1]");
    for (int i = 0; i < layer->map->count; i++) layer->layer->trust[i] = trust ? trust[i] : 1;
    return SINEW_OK;
}

void sinew_marker_layer_destroy(sinew_marker_layer *layer) {
    if (!layer) return;
    sinew_mesh_destroy(layer->mesh);
    sinew_marker_map_destroy(layer->map);
    sn_layer_destroy(layer->layer);
    sn_layer_work_destroy(layer->work);
    sn_free(layer->residual), sn_free(layer->weights);
    sn_pack_free(&layer->kept);
    sn_free(layer);
}

sinew_status sinew_marker_layer_apply(sinew_marker_layer *layer, const double *markers,
                                      const double *marker_weights, double *positions,
                                      sinew_error *error) {
    return sinew_marker_layer_follow(layer, INFINITY, markers, marker_weights, positions, error);
}

sinew_status sinew_marker_layer_follow(sinew_marker_layer *layer, double seconds,
                                       const double *markers, const double *marker_weights,
                                       double *positions, sinew_error *error) {
    SN_REQUIRE(layer && markers && positions && seconds >= 0, error);
    sinew_marker_map_points(layer->map, layer->mesh, positions, layer->residual);
    for (int i = 0; i < layer->map->count; i++) {
        double weight = marker_weights ? marker_weights[i] : 1;
        bool there = isfinite(markers[3 * i]) && isfinite(markers[3 * i + 1]) &&
                     isfinite(markers[3 * i + 2]) && weight > 0 && isfinite(weight);
        layer->weights[i] = there ? weight : 0;
        for (int a = 0; a < 3; a++)
            layer->residual[3 * i + a] =
                there ? markers[3 * i + a] - layer->residual[3 * i + a] : 0;
    }
    size_t bytes = 3 * sizeof(double) * (size_t)layer->mesh->vertex_count;
    if (layer->work->before) memcpy(layer->work->before, positions, bytes);
    layer->kept.size = 0, layer->kept.failed = false;
    sn_layer_pack(layer->layer, layer->work, &layer->kept);
    if (layer->kept.failed) return sn_no_memory(error);
    int block = sn_layer_block(layer->work);
    if (layer->work->contact && isinf(seconds)) sn_layer_contact_forget(layer->work->contact);
    sinew_status status = sn_layer_add(layer->layer, layer->work, seconds, layer->residual,
                                       layer->weights, positions, error);
    layer->counts = (sn_layer_counts){0};
    if (status == SINEW_OK && layer->layer->guard)
        status = sn_layer_hold(layer->layer, layer->work, positions, &layer->counts, error);
    if (status != SINEW_OK) {
        sn_unpack unpack = {.bytes = layer->kept.bytes, .size = layer->kept.size};
        sn_layer_unpack(layer->layer, layer->work, &unpack, NULL);
        sn_layer_shrink(layer->work, block);
    }
    return status;
}

void sinew_marker_layer_get_info(const sinew_marker_layer *layer, sinew_marker_layer_info *info) {
    sinew_marker_layer_info full = {.held = layer->counts.held,
                                    .contacts = layer->counts.pressing,
                                    .released = layer->counts.released,
                                    .restored = layer->counts.restored};
    if (layer->layer->guard)
        sn_layer_guard_counts(layer->layer->guard, &full.eyeballs, &full.covered);
    uint32_t size = info->size < sizeof full ? info->size : (uint32_t)sizeof full;
    full.size = size;
    memcpy(info, &full, size);
}

void sinew_marker_layer_reset(sinew_marker_layer *layer) {
    if (layer) sn_layer_forget(layer->work);
}

void sn_marker_layer_pack(const sinew_marker_layer *layer, sn_pack *pack) {
    sn_layer_pack(layer->layer, layer->work, pack);
    sn_layer_pack_block(layer->work, pack);
}

sinew_status sn_marker_layer_unpack(sinew_marker_layer *layer, sn_unpack *unpack,
                                    sinew_error *error) {
    SN_TRY(sn_layer_unpack(layer->layer, layer->work, unpack, error));
    return sn_layer_unpack_block(layer->work, unpack, error);
}
