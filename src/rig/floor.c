/* Based on: Hintermüller, Ito and Kunisch, "The primal-dual active set strategy as a semismooth
 * Newton method" (2002), which ends after finitely many rounds for the matrices used here.
 * We differ in: the reduced systems are solved by conjugate gradients with the factor of the whole
 * matrix, so that a frame factors nothing. */
#include "rig/floor.h"

#include <math.h>
#include <string.h>

#include "algebra/cholesky.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "rig/seams.h"

/* Depths below this, of the diagonal, are rounding. */
static const double DEPTH = 1e-7;
/* Distance over which a lift that nothing holds fades, in diagonals: so far that a body without a
 * foot on the floor moves as a whole, and the matrix is still definite. */
static const double FADE = 10;
/* Weights of edges are about 0.6; those of links between parts, and the largest one. */
static const double ACROSS = 1, MOST = 1e3;
/* Of the reduced systems: energy that is left, of the deepest point squared. */
static const double TOLERANCE = 1e-12;
enum { ROUNDS = 40, STEPS = 400 };

struct sn_floor {
    int vertex_count, axis;
    double height, diagonal;
    sn_seams *seams;
    bool *fixed; /* per vertex: rests in all poses, or follows another one */
    sn_sparse *matrix;
    sn_cholesky *factor;
};

struct sn_floor_work {
    double *need, *lift, *residual, *direction, *image, *better; /* per vertex */
    bool *active;
    double deepest;
    sn_cholesky_work *solve;
};

/* ---- set-up ---- */

/* Slider weights at which a target is fully on. */
static void set_weights(const sinew_rig *rig, const sinew_target *t, double *weights) {
    for (int s = 0; s < rig->slider_count; s++) weights[s] = rig->sliders[s].rest;
    for (int d = 0; t->kind == SINEW_TARGET_KIND_COMBINATION && d < t->driver_count; d++)
        weights[t->drivers[d]] = 1;
    if (t->kind != SINEW_TARGET_KIND_COMBINATION) weights[t->slider] = t->at;
}

/* The poses of a rig, one at a time. */
typedef struct poses {
    const sinew_rig *rig;
    double *weights, *activations, *positions;
} poses;

static const double *pose_of(void *user, int k) {
    poses *p = user;
    const sinew_rig *rig = p->rig;
    set_weights(rig, &rig->targets[k], p->weights);
    sinew_rig_activations(rig, p->weights, p->activations);
    memcpy(p->positions, rig->neutral->positions,
           3 * (size_t)rig->neutral->vertex_count * sizeof *p->positions);
    for (int t = 0; t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        for (int i = 0; p->activations[t] != 0 && i < target->count; i++)
            sn_put(p->positions, target->vertices[i],
                   sn_add_scaled(sn_at(p->positions, target->vertices[i]), p->activations[t],
                                 sn_at(target->deltas, i)));
    }
    return p->positions;
}

static double lowest_of(int count, const double *positions, int axis) {
    double lowest = INFINITY;
    for (int v = 0; v < count; v++) lowest = fmin(lowest, positions[3 * (size_t)v + (size_t)axis]);
    return lowest;
}

/* Nothing ties a fixed vertex to what moves: it does not. */
static bool add_edge(const sn_floor *floor, int a, int b, double weight, sn_triplets *triplets) {
    if (a == b) return true;
    bool ok = floor->fixed[a] || sn_triplets_add(triplets, a, a, weight);
    ok = ok && (floor->fixed[b] || sn_triplets_add(triplets, b, b, weight));
    if (floor->fixed[a] || floor->fixed[b]) return ok;
    return ok && sn_triplets_add(triplets, a > b ? a : b, a > b ? b : a, -weight);
}

/* A triangle's edges have weights 2/3 area / length^2: those of the cotangent Laplacian where it is
 * equilateral, and never negative. */
static bool add_triangles(const sn_floor *floor, const sinew_mesh *mesh, sn_triplets *triplets) {
    bool ok = true;
    for (int t = 0; t < mesh->triangle_count && ok; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        sn_vec3 p = sn_at(mesh->positions, v[0]);
        double area = 0.5 * sn_length(sn_cross(sn_sub(sn_at(mesh->positions, v[1]), p),
                                               sn_sub(sn_at(mesh->positions, v[2]), p)));
        for (int c = 0; c < 3 && ok; c++) {
            int a = v[c], b = v[(c + 1) % 3];
            double length = sn_distance(sn_at(mesh->positions, a), sn_at(mesh->positions, b));
            double weight = 2.0 / 3 * area / (length * length);
            if (!(weight <= MOST)) weight = MOST;
            ok = add_edge(floor, a, b, weight, triplets) &&
                 sn_triplets_add(triplets, v[c], v[c], area / 3 / pow(FADE * floor->diagonal, 2));
        }
    }
    return ok;
}

static sinew_status add_links(const sn_floor *floor, const sinew_mesh *mesh,
                              const sn_part_poses *given, const sinew_monitor *monitor,
                              sn_triplets *triplets, sinew_error *error) {
    sn_link *links;
    int count;
    SN_TRY(sn_part_links_find(given, 3, mesh->triangle_count, mesh->triangles, mesh->triangle_count,
                              mesh->triangles, monitor, &links, &count, error));
    bool ok = true;
    for (int l = 0; l < count && ok; l++)
        for (int c = 0; c < 3 && ok; c++)
            ok = add_edge(floor, links[l].vertex, links[l].corners[c], ACROSS * links[l].weights[c],
                          triplets);
    sn_free(links);
    return ok ? SINEW_OK : sn_no_memory(error);
}

static sinew_status assemble(sn_floor *floor, const sinew_mesh *mesh, const sn_part_poses *given,
                             const sinew_monitor *monitor, sinew_error *error) {
    sn_triplets triplets;
    int n = floor->vertex_count;
    SN_TRY(
        sn_triplets_create(n, n, 12 * (size_t)mesh->triangle_count + (size_t)n, &triplets, error));
    /* what is fixed, or in no triangle, has a row of its own */
    bool ok = true;
    for (int v = 0; v < n && ok; v++)
        ok = sn_triplets_add(&triplets, v, v, floor->fixed[v] ? 1 : 1e-9);
    ok = ok && add_triangles(floor, mesh, &triplets);
    sinew_status status = ok ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = add_links(floor, mesh, given, monitor, &triplets, error);
    if (status == SINEW_OK)
        status = sn_sparse_from_triplets(&triplets, true, &floor->matrix, error);
    sn_triplets_free(&triplets);
    if (status == SINEW_OK) status = sn_cholesky_create(floor->matrix, &floor->factor, error);
    return status;
}

static sinew_status build(sn_floor *floor, const sinew_rig *rig, poses *p, int resting_count,
                          const int *resting, const sinew_monitor *monitor, sinew_error *error) {
    int n = rig->neutral->vertex_count;
    floor->fixed = SN_NEW0(bool, n);
    p->weights = SN_NEW(double, rig->slider_count);
    p->activations = SN_NEW(double, rig->target_count);
    p->positions = SN_NEW(double, 3 * (size_t)n);
    if (!floor->fixed || !p->weights || !p->activations || !p->positions)
        return sn_no_memory(error);
    floor->vertex_count = n;
    floor->diagonal = sinew_diagonal(n, rig->neutral->positions);
    floor->height = lowest_of(n, rig->neutral->positions, floor->axis);
    for (int k = 0; k < rig->target_count; k++)
        floor->height = fmin(floor->height, lowest_of(n, pose_of(p, k), floor->axis));
    if (!(floor->diagonal > 0) || !isfinite(floor->height))
        return sn_fail(error, SINEW_BAD_INPUT, "floor: the poses have no size or are not finite");
    SN_TRY(sn_seams_create_rig(rig, &floor->seams, error));
    for (int k = 0; k < resting_count; k++) floor->fixed[resting[k]] = true;
    for (int v = 0; v < n; v++) {
        int root = sn_seams_root(floor->seams, v);
        if (root == v) continue;
        floor->fixed[root] = floor->fixed[root] || floor->fixed[v];
        floor->fixed[v] = true;
    }
    const sinew_mesh *mesh = floor->seams ? &floor->seams->mesh : rig->neutral;
    sn_part_poses given = {n, rig->neutral->positions, rig->target_count, pose_of, p};
    return assemble(floor, mesh, &given, monitor, error);
}

sinew_status sn_floor_create(const sinew_rig *rig, int axis, int resting_count, const int *resting,
                             const sinew_monitor *monitor, sn_floor **floor, sinew_error *error) {
    *floor = NULL;
    sn_floor *made = SN_NEW0(sn_floor, 1);
    if (!made) return sn_no_memory(error);
    made->axis = axis;
    poses p = {.rig = rig};
    sinew_status status = build(made, rig, &p, resting_count, resting, monitor, error);
    sn_free(p.weights), sn_free(p.activations), sn_free(p.positions);
    if (status != SINEW_OK)
        sn_floor_destroy(made);
    else
        *floor = made;
    return status;
}

void sn_floor_destroy(sn_floor *floor) {
    if (!floor) return;
    sn_seams_destroy(floor->seams);
    sn_sparse_destroy(floor->matrix);
    sn_cholesky_destroy(floor->factor);
    sn_free(floor->fixed);
    sn_free(floor);
}

sinew_status sn_floor_work_create(const sn_floor *floor, sn_floor_work **work, sinew_error *error) {
    *work = NULL;
    sn_floor_work *made = SN_NEW0(sn_floor_work, 1);
    if (!made) return sn_no_memory(error);
    size_t n = (size_t)floor->vertex_count;
    made->need = SN_NEW(double, n), made->lift = SN_NEW(double, n);
    made->residual = SN_NEW(double, n), made->direction = SN_NEW(double, n);
    made->image = SN_NEW(double, n), made->better = SN_NEW(double, n);
    made->active = SN_NEW(bool, n);
    bool room = made->need && made->lift && made->residual && made->direction && made->image &&
                made->better && made->active;
    sinew_status status =
        room ? sn_cholesky_work_create(floor->factor, 1, &made->solve, error) : sn_no_memory(error);
    if (status != SINEW_OK)
        sn_floor_work_destroy(made);
    else
        *work = made;
    return status;
}

void sn_floor_work_destroy(sn_floor_work *work) {
    if (!work) return;
    sn_free(work->need), sn_free(work->lift), sn_free(work->residual);
    sn_free(work->direction), sn_free(work->image), sn_free(work->better);
    sn_free(work->active);
    sn_cholesky_work_destroy(work->solve);
    sn_free(work);
}

/* ---- frames ---- */

static double dot(int n, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void clear_known(const sn_floor *floor, const sn_floor_work *w, double *values) {
    for (int i = 0; i < floor->vertex_count; i++)
        if (w->active[i] || floor->fixed[i]) values[i] = 0;
}

/* K d = 0 where d is not known; elsewhere d stays as it is. The factor of all of K, applied to
 * residuals that are 0 where d is known, is a good preconditioner: few places are. */
static void relax(const sn_floor *floor, sn_floor_work *w) {
    int n = floor->vertex_count;
    double least = TOLERANCE * w->deepest * w->deepest, along = 0;
    for (int step = 0; step < STEPS; step++) {
        if (step == 0) {
            sn_sparse_multiply(floor->matrix, 1, w->lift, w->residual);
            for (int i = 0; i < n; i++) w->residual[i] = -w->residual[i];
            clear_known(floor, w, w->residual);
        }
        sn_cholesky_solve(floor->factor, w->solve, 1, w->residual, w->better);
        clear_known(floor, w, w->better);
        double now = dot(n, w->residual, w->better);
        if (!(now > least)) return;
        double keep = step == 0 ? 0 : now / along;
        for (int i = 0; i < n; i++)
            w->direction[i] = w->better[i] + (step == 0 ? 0 : keep * w->direction[i]);
        sn_sparse_multiply(floor->matrix, 1, w->direction, w->image);
        clear_known(floor, w, w->image);
        double length = now / dot(n, w->direction, w->image);
        for (int i = 0; i < n; i++) {
            w->lift[i] += length * w->direction[i];
            w->residual[i] -= length * w->image[i];
        }
        along = now;
    }
}

/* Vertices that push away are kept, those that pull let go, those below the floor join. */
static bool change_active(const sn_floor *floor, sn_floor_work *w) {
    int n = floor->vertex_count;
    double strongest = 0;
    bool changed = false;
    sn_sparse_multiply(floor->matrix, 1, w->lift, w->image);
    for (int i = 0; i < n; i++)
        if (w->active[i]) strongest = fmax(strongest, fabs(w->image[i]));
    for (int i = 0; i < n; i++) {
        if (floor->fixed[i]) continue;
        bool now = w->active[i] ? w->image[i] > -1e-7 * strongest
                                : w->need[i] - w->lift[i] > 0.01 * DEPTH * floor->diagonal;
        changed = changed || now != w->active[i];
        w->active[i] = now;
    }
    return changed;
}

double sn_floor_lift(const sn_floor *floor, sn_floor_work *w, double *positions) {
    int n = floor->vertex_count;
    size_t axis = (size_t)floor->axis;
    w->deepest = 0;
    for (int i = 0; i < n; i++) {
        w->need[i] = floor->height - positions[3 * (size_t)i + axis];
        w->lift[i] = 0;
        w->active[i] = !floor->fixed[i] && w->need[i] > 0;
        if (!floor->fixed[i]) w->deepest = fmax(w->deepest, w->need[i]);
    }
    if (!(w->deepest > DEPTH * floor->diagonal)) return 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n; i++)
            if (w->active[i]) w->lift[i] = w->need[i];
        relax(floor, w);
        if (!change_active(floor, w)) break;
    }
    for (int i = 0; i < n; i++)
        if (!floor->fixed[i]) positions[3 * (size_t)i + axis] += fmax(w->lift[i], w->need[i]);
    for (int k = 0; floor->seams && k < floor->seams->count; k++) {
        int copy = floor->seams->copies[k], root = floor->seams->root[copy];
        if (!floor->fixed[root])
            positions[3 * (size_t)copy + axis] += fmax(w->lift[root], w->need[root]);
    }
    return w->deepest / floor->diagonal;
}
