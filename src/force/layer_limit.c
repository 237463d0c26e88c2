/* How closely the marker layer may meet each marker.
 *
 * On the face of the actor, the distance that a solve leaves at the markers is motion that the rig
 * cannot show, and the layer shows it. On another face it is mostly a difference of proportions,
 * and where markers next to each other, or beside lids that stay on the eyeball, are off in
 * different directions, meeting them would fold the skin in between. Skin does not fold: no
 * triangle of a shape x may turn by more than MOST_TURN when the layer's displacement delta, as the
 * guard leaves it, is added.
 *
 * A marker's weight in the layer decides how closely it is met: a layer with smoothing mu and
 * weights c is that with smoothing k mu and weights k c, but for the pull to no correction. So the
 * weights of the markers that cause an excess are lowered until no frame exceeds the limit, or
 * until they are LEAST_TRUST. Markers within the limit keep their weight. */
#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/scope.h"
#include "base/status.h"
#include "base/vec3.h"
#include "force/layer.h"
#include "sinew/anatomy.h"

/* Largest angle between the normals of a triangle without and with the layer: 30 degrees. */
#define MOST_TURN (3.14159265358979323846 / 6)
/* A marker causes an excess when its part in it is at least this fraction of the largest one. */
#define CAUSES      0.3
#define LEAST_TRUST 1e-4
/* Weights are lowered a little further than the excess asks for, so that few rounds are enough. */
#define BEYOND 1.1
enum { ROUNDS = 12 };

typedef struct limit {
    const sinew_mesh *mesh;
    const sn_layer *layer;
    const sn_layer_guard *guard; /* NULL: none */
    int triangle_count;
    int *triangles; /* 3 each: of the outer skin */
    double *forces; /* 3 per marker: l */
    double *after;  /* 3 per vertex: x + delta */
    double *scratch;
    double *matrix, *columns;
    int *seen;
    double *part;   /* per marker: in one excess */
    double *excess; /* per marker: the largest it causes */
    double *trust;
} limit;

/* ---- the layer of one frame ------------------------------------------------------------------ */

static double spread_of(const limit *d, int vertex, int marker) {
    return (double)
        d->layer->spread[(size_t)vertex * (size_t)d->layer->marker_count + (size_t)marker];
}

typedef struct displacing {
    const limit *limit;
    const double *x;
} displacing;

static void displace(void *context, sn_span span) {
    const displacing *p = context;
    const limit *d = p->limit;
    SN_IN_SPAN(int, v, span) {
        sn_vec3 at = sn_at(p->x, v);
        for (int i = 0; i < d->layer->marker_count; i++)
            at = sn_add_scaled(at, spread_of(d, v, i), sn_at(d->forces, i));
        sn_put(d->after, v, at);
    }
}

/* l and x + delta for the residual of a frame. */
static sinew_status spread_frame(limit *d, const double *x, const double *residual,
                                 const double *weights, sinew_error *error) {
    int m = d->layer->marker_count, seen = 0;
    for (int i = 0; i < m; i++)
        if (weights[i] > 0) d->seen[seen++] = i;
    memset(d->forces, 0, 3 * sizeof(double) * (size_t)m);
    for (int i = 0; i < seen; i++) {
        int from = d->seen[i];
        for (int j = 0; j < seen; j++)
            d->matrix[(size_t)j + (size_t)seen * (size_t)i] =
                d->layer->coupling[(size_t)d->seen[j] + (size_t)m * (size_t)from];
        d->matrix[(size_t)i * ((size_t)seen + 1)] += m / (weights[from] * d->trust[from]);
        for (int a = 0; a < 3; a++) d->columns[i + seen * a] = residual[3 * from + a];
    }
    if (seen > 0) {
        SN_TRY(sn_dense_cholesky(seen, d->matrix, error));
        sn_dense_cholesky_solve(seen, d->matrix, 3, d->columns);
    }
    for (int i = 0; i < seen; i++)
        for (int a = 0; a < 3; a++) d->forces[3 * d->seen[i] + a] = d->columns[i + seen * a];
    sn_parallel_for(d->mesh->vertex_count, 64, displace, &(displacing){d, x});
    if (d->guard) sn_layer_guard_hold(d->guard, x, d->after, d->scratch);
    return SINEW_OK;
}

/* ---- the limit ------------------------------------------------------------------------------- */

static sn_vec3 normal_of(const double *x, const int *t) {
    return sn_cross(sn_sub(sn_at(x, t[1]), sn_at(x, t[0])), sn_sub(sn_at(x, t[2]), sn_at(x, t[0])));
}

/* The angle between two normals; 0 when one of them is 0. */
static double turn_between(sn_vec3 a, sn_vec3 b) {
    return atan2(sn_length(sn_cross(a, b)), sn_dot(a, b));
}

/* d->excess: of the triangles that a marker moves as much as nearly any other one does. */
static void find_excess(limit *d, const double *x) {
    int m = d->layer->marker_count;
    for (int i = 0; i < m; i++) d->excess[i] = 1;
    for (int t = 0; t < d->triangle_count; t++) {
        const int *v = d->triangles + 3 * (size_t)t;
        double excess = turn_between(normal_of(x, v), normal_of(d->after, v)) / MOST_TURN, most = 0;
        if (excess <= 1) continue;
        for (int i = 0; i < m; i++) {
            double spread = 0;
            for (int c = 0; c < 3; c++) spread = fmax(spread, fabs(spread_of(d, v[c], i)));
            d->part[i] = spread * sn_length(sn_at(d->forces, i));
            most = fmax(most, d->part[i]);
        }
        for (int i = 0; most > 0 && i < m; i++)
            if (d->part[i] >= CAUSES * most) d->excess[i] = fmax(d->excess[i], excess);
    }
}

static sinew_status limit_frame(limit *d, const double *x, const double *residual,
                                const double *weights, sinew_error *error) {
    for (int round = 0; round < ROUNDS; round++) {
        bool lowered = false;
        SN_TRY(sn_check_interrupt(error));
        SN_TRY(spread_frame(d, x, residual, weights, error));
        find_excess(d, x);
        for (int i = 0; i < d->layer->marker_count; i++) {
            if (d->excess[i] <= 1 || d->trust[i] <= LEAST_TRUST) continue;
            double lower = d->trust[i] / (BEYOND * d->excess[i] * d->excess[i]);
            d->trust[i] = fmax(lower, LEAST_TRUST);
            lowered = true;
        }
        if (!lowered) break;
    }
    return SINEW_OK;
}

static sinew_status collect(limit *d, const bool *skin, sinew_error *error) {
    const sinew_mesh *mesh = d->mesh;
    size_t n = (size_t)mesh->vertex_count, m = (size_t)d->layer->marker_count;
    d->triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count + 1);
    d->forces = SN_NEW(double, 3 * m), d->after = SN_NEW(double, 3 * n);
    d->scratch = SN_NEW(double, n);
    d->matrix = SN_NEW(double, m *m), d->columns = SN_NEW(double, 3 * m);
    d->seen = SN_NEW(int, m), d->part = SN_NEW(double, m), d->excess = SN_NEW(double, m);
    if (!d->triangles || !d->forces || !d->after || !d->scratch || !d->matrix || !d->columns ||
        !d->seen || !d->part || !d->excess)
        return sn_no_memory(error);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (skin[v[0]] && skin[v[1]] && skin[v[2]])
            memcpy(d->triangles + 3 * (size_t)d->triangle_count++, v, 3 * sizeof *v);
    }
    return SINEW_OK;
}

static void drop(limit *d) {
    sn_free(d->triangles), sn_free(d->forces), sn_free(d->after), sn_free(d->scratch);
    sn_free(d->matrix), sn_free(d->columns), sn_free(d->seen), sn_free(d->part);
    sn_free(d->excess);
}

/* ---- all frames ------------------------------------------------------------------------------ */

static sinew_status limit_all(limit *d, const sinew_marker_map *map, int frame_count,
                              const double *markers, const double *marker_weights,
                              const double *positions, sinew_error *error) {
    size_t n = 3 * (size_t)d->mesh->vertex_count, m = (size_t)map->count;
    double *residual = SN_NEW(double, 4 * m), *weights = residual + 3 * m;
    sinew_status status = residual ? SINEW_OK : sn_no_memory(error);
    /* twice: what was lowered for a later frame bears on an earlier one */
    for (int k = 0; status == SINEW_OK && k < 2 * frame_count; k++) {
        size_t f = (size_t)(k % frame_count);
        const double *x = positions + f * n, *p = markers + 3 * f * m;
        sinew_marker_map_points(map, d->mesh, x, residual);
        for (size_t i = 0; i < m; i++) {
            double weight = marker_weights ? marker_weights[f * m + i] : 1;
            bool there = isfinite(p[3 * i]) && isfinite(p[3 * i + 1]) && isfinite(p[3 * i + 2]) &&
                         weight > 0 && isfinite(weight);
            weights[i] = there ? weight : 0;
            for (size_t a = 3 * i; a < 3 * i + 3; a++) residual[a] = there ? p[a] - residual[a] : 0;
        }
        status = limit_frame(d, x, residual, weights, error);
    }
    sn_free(residual);
    return status;
}

sinew_status sinew_marker_layer_limit(const sinew_rig *rig, const sinew_marker_map *map,
                                      double smoothing, bool contact, int frame_count,
                                      const double *markers, const double *marker_weights,
                                      const double *positions, const sinew_monitor *monitor,
                                      double *trust, sinew_error *error) {
    SN_REQUIRE(rig && map && trust && frame_count >= 0 &&
                   (frame_count == 0 || (markers && positions)),
               error);
    for (int i = 0; i < map->count; i++) trust[i] = 1;
    if (map->count < 1 || frame_count == 0) return SINEW_OK;
    SN_TRY(sinew_marker_map_check(map, rig->neutral, error));
    sn_skin *skin = NULL;
    sn_layer *layer = NULL;
    sn_layer_guard *guard = NULL;
    sinew_anatomy *anatomy = NULL;
    limit d = {.mesh = rig->neutral, .trust = trust};
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = sn_skin_create(rig, 0, NULL, &skin, error);
    if (status == SINEW_OK) status = sinew_anatomy_create(rig, monitor, &anatomy, error);
    if (status == SINEW_OK)
        status = sn_layer_create(skin, rig, map, anatomy, smoothing, false, monitor, &layer, error);
    if (status == SINEW_OK) sn_skin_fit_head(skin, rig, sinew_anatomy_eye_distance(anatomy));
    if (status == SINEW_OK && contact)
        status = sn_layer_guard_create(skin, rig, anatomy, &layer->riders, &guard, error);
    d.layer = layer, d.guard = guard;
    if (status == SINEW_OK) status = collect(&d, sinew_anatomy_skin(anatomy), error);
    if (status == SINEW_OK)
        status = limit_all(&d, map, frame_count, markers, marker_weights, positions, error);
    drop(&d);
    sinew_anatomy_destroy(anatomy);
    sn_layer_guard_destroy(guard);
    sn_layer_destroy(layer);
    sn_skin_destroy(skin);
    return sn_call_end(&call, status, error);
}
