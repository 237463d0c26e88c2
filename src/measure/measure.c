#include "sinew/measure.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/vec3.h"
#include "measure/blended.h"
#include "measure/near_pairs.h"
#include "mesh/topology.h"
#include "sinew/query.h"

static const double PI = 3.14159265358979323846;
/* Lengths and areas below this fraction of the diagonal (squared) have no meaningful ratio. */
static const double TINY = 1e-9;
/* Vertices of different parts that are this close in all poses, as a fraction of the diagonal,
 * should stay close. */
static const double NEAR = 0.02;
/* A dihedral angle that changes by more than this between two frames, beyond the change of its
 * blend, counts as a visible pop. */
static const double POP_DEGREES = 30;

/* An edge shared by two triangles with consistent orientation. */
typedef struct hinge {
    int edge;
    int first, second; /* triangles; the first runs from the smaller vertex to the larger */
} hinge;

struct sinew_measure {
    const sinew_rig *rig;
    sn_edges edges; /* of the faces */
    sn_topology *topology;
    hinge *hinges;
    int hinge_count;
    bool closed;
    double diagonal;
    sn_blended lengths, areas, angles, volume;
    sn_near_pairs pairs;
    double lowest[3];    /* over all poses, along each axis */
    double *last_change; /* per hinge: angle minus blended angle in the previous frame */
    bool has_last;
    double *activations;
    double *now, *wanted, *difference; /* scratch, as long as the longest list */
    double *edge_difference;           /* of the last frame, per edge of the faces */
    int *degree;                       /* number of face edges at each vertex */
    unsigned char *folds;              /* per triangle */
};

/* ---- quantities of a shape ------------------------------------------------------------------- */

static void edge_lengths(const void *user, const double *positions, double *out) {
    const sinew_measure *m = user;
    for (int i = 0; i < m->edges.count; i++)
        out[i] = sn_distance(sn_at(positions, m->edges.vertices[2 * i]),
                             sn_at(positions, m->edges.vertices[2 * i + 1]));
}

/* Normal with a length of twice the area. */
static sn_vec3 triangle_normal(const int *triangle, const double *positions) {
    sn_vec3 a = sn_at(positions, triangle[0]);
    return sn_cross(sn_sub(sn_at(positions, triangle[1]), a),
                    sn_sub(sn_at(positions, triangle[2]), a));
}

static void triangle_areas(const void *user, const double *positions, double *out) {
    const sinew_measure *m = user;
    const sinew_mesh *mesh = m->rig->neutral;
    for (int i = 0; i < mesh->triangle_count; i++)
        out[i] = 0.5 * sn_length(triangle_normal(mesh->triangles + 3 * (size_t)i, positions));
}

/* Signed angle between the normals about the edge, (-pi, pi]; 0 for degenerate triangles. */
static void hinge_angles(const void *user, const double *positions, double *out) {
    const sinew_measure *m = user;
    const int *triangles = m->rig->neutral->triangles;
    for (int i = 0; i < m->hinge_count; i++) {
        const hinge *h = &m->hinges[i];
        const int *edge = m->topology->edges.vertices + 2 * (size_t)h->edge;
        sn_vec3 n = sn_normalize(triangle_normal(triangles + 3 * (size_t)h->first, positions));
        sn_vec3 o = sn_normalize(triangle_normal(triangles + 3 * (size_t)h->second, positions));
        sn_vec3 along = sn_normalize(sn_sub(sn_at(positions, edge[1]), sn_at(positions, edge[0])));
        out[i] = atan2(sn_dot(sn_cross(n, o), along), sn_dot(n, o));
    }
}

static double angle_difference(double a, double b) {
    return remainder(a - b, 2 * PI);
}

static void whole_volume(const void *user, const double *positions, double *out) {
    const sinew_mesh *mesh = ((const sinew_measure *)user)->rig->neutral;
    *out = sinew_volume(mesh->triangle_count, mesh->triangles, positions);
}

double sinew_volume(int triangle_count, const int *triangles, const double *positions) {
    if (triangle_count < 1) return 0;
    /* Relative to a vertex of the shape, so that a large offset costs no precision. */
    sn_vec3 origin = sn_at(positions, triangles[0]);
    double sum = 0;
    for (int i = 0; i < triangle_count; i++) {
        const int *t = triangles + 3 * (size_t)i;
        sum += sn_dot(sn_sub(sn_at(positions, t[0]), origin),
                      sn_cross(sn_sub(sn_at(positions, t[1]), origin),
                               sn_sub(sn_at(positions, t[2]), origin)));
    }
    return sum / 6;
}

int sinew_count_inverted(int tet_count, const int *tets, const double *positions) {
    int count = 0;
    for (int i = 0; i < tet_count; i++) {
        const int *t = tets + 4 * (size_t)i;
        sn_vec3 a = sn_at(positions, t[0]);
        double volume =
            sn_dot(sn_cross(sn_sub(sn_at(positions, t[1]), a), sn_sub(sn_at(positions, t[2]), a)),
                   sn_sub(sn_at(positions, t[3]), a));
        count += !(volume > 0);
    }
    return count;
}

/* ---- setup ----------------------------------------------------------------------------------- */

void sinew_measure_destroy(sinew_measure *measure) {
    if (!measure) return;
    sn_edges_free(&measure->edges);
    sn_topology_destroy(measure->topology);
    sn_blended_free(&measure->lengths);
    sn_blended_free(&measure->areas);
    sn_blended_free(&measure->angles);
    sn_blended_free(&measure->volume);
    sn_near_pairs_free(&measure->pairs);
    sn_free(measure->last_change);
    sn_free(measure->hinges);
    sn_free(measure->activations);
    sn_free(measure->now);
    sn_free(measure->wanted);
    sn_free(measure->difference);
    sn_free(measure->edge_difference);
    sn_free(measure->degree);
    sn_free(measure->folds);
    sn_free(measure);
}

static sinew_status find_hinges(sinew_measure *m, sinew_error *error) {
    const sn_topology *t = m->topology;
    m->hinges = SN_NEW(hinge, t->edges.count);
    if (!m->hinges) return sn_no_memory(error);
    m->closed = t->triangle_count > 0;
    for (int e = 0; e < t->edges.count; e++) {
        const int *pair = t->edge_triangles.item + t->edge_triangles.start[e];
        bool two = sn_list_size(&t->edge_triangles, e) == 2 && pair[0] != pair[1];
        int d0 = two ? sn_topology_direction(t, pair[0], e) : 0;
        int d1 = two ? sn_topology_direction(t, pair[1], e) : 0;
        if (two && d0 + d1 == 0)
            m->hinges[m->hinge_count++] =
                (hinge){e, d0 > 0 ? pair[0] : pair[1], d0 > 0 ? pair[1] : pair[0]};
        else
            m->closed = false;
    }
    return SINEW_OK;
}

static int largest(int a, int b) {
    return a > b ? a : b;
}

/* Plain targets and in-betweens are poses; a combination is close to one of them. */
static void find_lowest(sinew_measure *m) {
    const sinew_rig *rig = m->rig;
    const double *rest = rig->neutral->positions;
    for (int axis = 0; axis < 3; axis++) {
        double lowest = INFINITY;
        for (int v = 0; v < rig->neutral->vertex_count; v++)
            lowest = fmin(lowest, rest[3 * (size_t)v + (size_t)axis]);
        for (int t = 0; t < rig->target_count; t++)
            for (int i = 0; i < rig->targets[t].count; i++)
                lowest = fmin(lowest, rest[3 * (size_t)rig->targets[t].vertices[i] + (size_t)axis] +
                                          rig->targets[t].deltas[3 * (size_t)i + (size_t)axis]);
        m->lowest[axis] = lowest;
    }
}

static void measure_depth(const sinew_measure *m, const double *positions, sinew_distortion *d) {
    for (int axis = 0; axis < 3 && m->diagonal > 0; axis++)
        for (int v = 0; v < m->rig->neutral->vertex_count; v++)
            d->below[axis] =
                fmax(d->below[axis],
                     (m->lowest[axis] - positions[3 * (size_t)v + (size_t)axis]) / m->diagonal);
}

static sinew_status build(sinew_measure *m, sinew_error *error) {
    const sinew_rig *rig = m->rig;
    const sinew_mesh *mesh = rig->neutral;
    m->diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    SN_TRY(sn_edges_of_faces(mesh, &m->edges, error));
    SN_TRY(sn_topology_create(mesh->vertex_count, mesh->triangle_count, mesh->triangles,
                              &m->topology, error));
    SN_TRY(find_hinges(m, error));
    int longest = largest(largest(m->edges.count, mesh->triangle_count), m->hinge_count);
    m->activations = SN_NEW0(double, rig->target_count);
    m->now = SN_NEW(double, longest);
    m->wanted = SN_NEW(double, longest);
    m->difference = SN_NEW(double, longest);
    m->edge_difference = SN_NEW0(double, m->edges.count);
    m->folds = SN_NEW0(unsigned char, mesh->triangle_count);
    m->degree = SN_NEW0(int, mesh->vertex_count);
    if (!m->activations || !m->now || !m->wanted || !m->difference || !m->edge_difference ||
        !m->folds || !m->degree)
        return sn_no_memory(error);
    for (int i = 0; i < 2 * m->edges.count; i++) m->degree[m->edges.vertices[i]]++;
    SN_TRY(sn_blended_create(rig, m->edges.count, edge_lengths, m, NULL, &m->lengths, error));
    SN_TRY(sn_blended_create(rig, mesh->triangle_count, triangle_areas, m, NULL, &m->areas, error));
    SN_TRY(sn_blended_create(rig, m->hinge_count, hinge_angles, m, angle_difference, &m->angles,
                             error));
    if (m->closed) SN_TRY(sn_blended_create(rig, 1, whole_volume, m, NULL, &m->volume, error));
    find_lowest(m);
    m->last_change = SN_NEW(double, m->hinge_count);
    if (!m->last_change) return sn_no_memory(error);
    return sn_near_pairs_create(rig, NEAR * m->diagonal, &m->pairs, error);
}

sinew_status sinew_measure_create(const sinew_rig *rig, sinew_measure **measure,
                                  sinew_error *error) {
    SN_REQUIRE(rig && measure, error);
    *measure = NULL;
    sinew_measure *made = SN_NEW0(sinew_measure, 1);
    if (!made) return sn_no_memory(error);
    made->rig = rig;
    sinew_status status = build(made, error);
    if (status != SINEW_OK) {
        sinew_measure_destroy(made);
        return status;
    }
    *measure = made;
    return SINEW_OK;
}

/* ---- a frame --------------------------------------------------------------------------------- */

/* Sorts the values. */
static sinew_spread spread_of(double *values, int count) {
    sinew_spread spread = {0, 0, 0};
    if (count == 0) return spread;
    for (int i = 0; i < count; i++) spread.mean += values[i];
    spread.mean /= count;
    sn_sort_doubles((size_t)count, values);
    int rank = (int)ceil(0.95 * count) - 1;
    spread.p95 = values[rank < 0 ? 0 : rank];
    spread.max = values[count - 1];
    return spread;
}

/* Spread of |now / wanted - 1|; `kept`, when given, receives the value per element, or NaN where
 * the wanted value is too small to divide by. */
static sinew_spread ratio_spread(sinew_measure *m, int count, double smallest, double *kept) {
    int used = 0;
    for (int i = 0; i < count; i++) {
        bool meaningful = m->wanted[i] > smallest;
        double value = meaningful ? fabs(m->now[i] / m->wanted[i] - 1) : NAN;
        if (meaningful) m->difference[used++] = value;
        if (kept) kept[i] = value;
    }
    return spread_of(m->difference, used);
}

static void measure_angles(sinew_measure *m, const double *positions, sinew_distortion *d) {
    const sinew_mesh *mesh = m->rig->neutral;
    sn_blended_evaluate(&m->angles, m->activations, m->wanted);
    hinge_angles(m, positions, m->now);
    memset(m->folds, 0, (size_t)mesh->triangle_count);
    for (int i = 0; i < m->hinge_count; i++) {
        double change = angle_difference(m->now[i], m->wanted[i]);
        double degrees = fabs(change) * 180 / PI;
        if (m->has_last)
            d->pops += fabs(angle_difference(change, m->last_change[i])) * 180 / PI > POP_DEGREES;
        m->last_change[i] = change;
        m->difference[i] = degrees;
        if (degrees > 90) {
            m->folds[m->hinges[i].first]++;
            m->folds[m->hinges[i].second]++;
        }
    }
    m->has_last = true;
    d->dihedral = spread_of(m->difference, m->hinge_count);
    d->flipped = 0;
    for (int i = 0; i < mesh->triangle_count; i++) d->flipped += m->folds[i] >= 2;
}

static sinew_status check_finite(int count, const double *values, int per, const char *what,
                                 sinew_error *error) {
    for (int i = 0; i < count * per; i++)
        if (!isfinite(values[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "%s %d is not finite", what, i / per);
    return SINEW_OK;
}

static sinew_status measure_frame(sinew_measure *m, const double *weights, const double *positions,
                                  bool count_intersections, sinew_distortion *distortion,
                                  sinew_error *error) {
    const sinew_mesh *mesh = m->rig->neutral;
    SN_TRY(check_finite(mesh->vertex_count, positions, 3, "vertex", error));
    SN_TRY(check_finite(m->rig->slider_count, weights, 1, "weight", error));
    memset(distortion, 0, sizeof *distortion);
    sinew_rig_activations(m->rig, weights, m->activations);

    sn_blended_evaluate(&m->lengths, m->activations, m->wanted);
    edge_lengths(m, positions, m->now);
    distortion->edge = ratio_spread(m, m->edges.count, TINY * m->diagonal, m->edge_difference);

    sn_blended_evaluate(&m->areas, m->activations, m->wanted);
    triangle_areas(m, positions, m->now);
    distortion->area =
        ratio_spread(m, mesh->triangle_count, TINY * TINY * m->diagonal * m->diagonal, NULL);

    measure_angles(m, positions, distortion);
    measure_depth(m, positions, distortion);
    distortion->drift = sn_near_pairs_drift(&m->pairs, positions);
    if (m->diagonal > 0) distortion->drift /= m->diagonal;

    distortion->volume = NAN;
    if (m->closed) {
        double wanted;
        sn_blended_evaluate(&m->volume, m->activations, &wanted);
        if (wanted != 0)
            distortion->volume =
                sinew_volume(mesh->triangle_count, mesh->triangles, positions) / wanted - 1;
    }
    distortion->intersections = -1;
    if (!count_intersections) return SINEW_OK;
    int *pairs;
    SN_TRY(sinew_self_intersections(mesh->vertex_count, positions, mesh->triangle_count,
                                    mesh->triangles, NULL, &pairs, &distortion->intersections,
                                    error));
    sn_free(pairs);
    return SINEW_OK;
}

sinew_status sinew_measure_frame(sinew_measure *m, const double *weights, const double *positions,
                                 bool count_intersections, sinew_distortion *distortion,
                                 sinew_error *error) {
    SN_REQUIRE(m && weights && positions && distortion && sn_info_ready(distortion), error);
    sinew_distortion own;
    SN_TRY(measure_frame(m, weights, positions, count_intersections, &own, error));
    sn_info_write(distortion, &own, sizeof own);
    return SINEW_OK;
}

void sinew_measure_vertices(const sinew_measure *m, double *values) {
    const sinew_mesh *mesh = m->rig->neutral;
    for (int v = 0; v < mesh->vertex_count; v++) values[v] = 0;
    for (int i = 0; i < m->edges.count; i++)
        for (int end = 0; end < 2 && isfinite(m->edge_difference[i]); end++)
            values[m->edges.vertices[2 * i + end]] += m->edge_difference[i];
    for (int v = 0; v < mesh->vertex_count; v++)
        if (m->degree[v] > 0) values[v] /= m->degree[v];
}

/* ---- a cache --------------------------------------------------------------------------------- */

typedef struct frame_weights {
    sinew_curves *curves; /* one channel per slider, or NULL */
    double *weights;
    double *positions;
} frame_weights;

static void weights_of_frame(const sinew_rig *rig, const sinew_frames *frames, int k,
                             frame_weights *w) {
    if (!w->curves) {
        sinew_rig_rest_weights(rig, w->weights);
        double alpha = frames->frame_count > 1 ? (double)k / (frames->frame_count - 1) : 0;
        if (rig->slider_count > 0) w->weights[0] = (1 - alpha) * rig->sliders[0].rest + alpha;
        return;
    }
    double time = frames->start + (frames->rate > 0 ? k / frames->rate : 0);
    sinew_curves_sample(w->curves, time, w->weights);
}

static sinew_status measure_all(const sinew_rig *rig, const sinew_frames *frames,
                                bool count_intersections, sinew_measure *measure, frame_weights *w,
                                sinew_distortion *distortions, const sinew_monitor *monitor,
                                sinew_error *error) {
    size_t stride = 3 * (size_t)frames->vertex_count;
    for (int k = 0; k < frames->frame_count; k++) {
        sn_progress(monitor, (double)k / frames->frame_count, "measure");
        if (sn_cancelled(monitor))
            return sn_fail(error, SINEW_CANCELLED, "cancelled at frame %d", k);
        weights_of_frame(rig, frames, k, w);
        for (size_t i = 0; i < stride; i++)
            w->positions[i] = frames->positions[(size_t)k * stride + i];
        sinew_error why;
        sinew_distortion own;
        sinew_status status =
            measure_frame(measure, w->weights, w->positions, count_intersections, &own, &why);
        if (status != SINEW_OK) return sn_fail(error, status, "frame %d: %.400s", k, why.message);
        sn_infos_write(distortions, k, &own, sizeof own);
    }
    return SINEW_OK;
}

sinew_status sinew_measure_frames(const sinew_rig *rig, const sinew_frames *frames,
                                  const sinew_curves *curves, bool count_intersections,
                                  sinew_distortion *distortions, const sinew_monitor *monitor,
                                  sinew_error *error) {
    SN_REQUIRE(rig && frames && distortions && sn_info_ready(distortions), error);
    if (frames->vertex_count != rig->neutral->vertex_count)
        return sn_fail(error, SINEW_BAD_INPUT, "the frames have %d vertices, the poses %d",
                       frames->vertex_count, rig->neutral->vertex_count);
    frame_weights w = {NULL, SN_NEW(double, rig->slider_count),
                       SN_NEW(double, 3 * (size_t)frames->vertex_count)};
    sinew_measure *measure = NULL;
    sinew_status status = w.weights && w.positions ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && curves)
        status = sinew_rig_bind_curves(rig, curves, &w.curves, NULL, error);
    if (status == SINEW_OK) status = sinew_measure_create(rig, &measure, error);
    if (status == SINEW_OK)
        status =
            measure_all(rig, frames, count_intersections, measure, &w, distortions, monitor, error);
    sinew_measure_destroy(measure);
    sinew_curves_destroy(w.curves);
    sn_free(w.weights);
    sn_free(w.positions);
    return status;
}
