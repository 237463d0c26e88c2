/* Diffusion: the corners of slivers step towards the middle of their neighbors, and in every stage
 * a wider neighbourhood of what is still a sliver steps along.
 *
 * A round costs as much as what moves in it: only triangles of moved vertices are measured again,
 * and the neighbourhood is gathered again only when a sliver came or went. */
#include "samples/relax.h"

#include <math.h>

#include "base/memory.h"
#include "base/vec3.h"
#include "mesh/topology.h"
#include "samples/builders.h"

enum { STAGES = 10 };
static const double STEP = 0.25;

/* The rings that join in a stage: about the same fraction of the surface at any resolution. */
static int rings_per_stage(int vertex_count) {
    return 1 + (int)(sqrt((double)vertex_count) / 80);
}

/* Diffusion crosses a number of rings in a number of rounds that grows with its square. */
static int rounds_per_stage(int vertex_count) {
    return vertex_count < 50000 ? 40 : vertex_count / 1250;
}

typedef struct surface {
    int vertex_count, triangle_count;
    const int *triangles;
    sn_lists corners; /* per vertex: 3 triangle + corner, increasing */
    const bool *may_move;
    double least; /* sine squared of the angle that all should reach */
} surface;

typedef struct relaxation {
    double *positions, *stepped; /* stepped: 3 per active vertex */
    bool *sliver;                /* per triangle */
    int *slivers;                /* per vertex: how many it is a corner of */
    int sliver_count;
    int *active, active_count; /* the vertices that move: corners of slivers, then ring by ring */
    int *reached, *measured;   /* the last gathering that reached a vertex, the round that measured
                                  a triangle */
    int gathering, round;
} relaxation;

/* The smallest angle lies between the two longer edges: its sine is 2 area / (their product). */
static bool is_sliver(const surface *s, const int *corner, const double *positions) {
    sn_vec3 a = sn_at(positions, corner[0]), b = sn_at(positions, corner[1]),
            c = sn_at(positions, corner[2]);
    sn_vec3 ab = sn_sub(b, a), bc = sn_sub(c, b), ca = sn_sub(a, c), n = sn_cross(ab, bc);
    double u = sn_dot(ab, ab), v = sn_dot(bc, bc), w = sn_dot(ca, ca);
    double shortest = fmin(u, fmin(v, w));
    double product = shortest == u ? v * w : shortest == v ? u * w : u * v;
    return sn_dot(n, n) < s->least * product;
}

static bool movable(const surface *s, int vertex) {
    return !s->may_move || s->may_move[vertex];
}

static bool any_movable(const surface *s, const int *corner) {
    return movable(s, corner[0]) || movable(s, corner[1]) || movable(s, corner[2]);
}

/* True when the triangle became or ceased to be a sliver. Those that nothing can move are not
 * counted. */
static bool measure(const surface *s, relaxation *r, int triangle) {
    const int *corner = s->triangles + 3 * (size_t)triangle;
    bool sliver = is_sliver(s, corner, r->positions);
    if (sliver == r->sliver[triangle]) return false;
    int change = sliver ? 1 : -1;
    r->sliver[triangle] = sliver;
    for (int k = 0; k < 3; k++) r->slivers[corner[k]] += change;
    if (any_movable(s, corner)) r->sliver_count += change;
    return true;
}

static void reach(const surface *s, relaxation *r, int vertex) {
    if (r->reached[vertex] == r->gathering || !movable(s, vertex)) return;
    r->reached[vertex] = r->gathering;
    r->active[r->active_count++] = vertex;
}

/* The corners of slivers that may move, and `rings` rings around them. */
static void gather_active(const surface *s, relaxation *r, int rings) {
    r->gathering++;
    r->active_count = 0;
    for (int v = 0; v < s->vertex_count; v++)
        if (r->slivers[v] > 0) reach(s, r, v);
    for (int ring = 0, from = 0; ring < rings; ring++) {
        int to = r->active_count;
        for (; from < to; from++) {
            int v = r->active[from];
            for (int i = s->corners.start[v]; i < s->corners.start[v + 1]; i++)
                for (int k = 0, t = s->corners.item[i] / 3; k < 3; k++)
                    reach(s, r, s->triangles[3 * (size_t)t + k]);
        }
    }
}

/* Towards the middle of the neighbors, all at once. */
static void step(const surface *s, relaxation *r) {
    for (int i = 0; i < r->active_count; i++) {
        int v = r->active[i], first = s->corners.start[v], end = s->corners.start[v + 1];
        sn_vec3 sum = sn_v3(0, 0, 0);
        for (int c = first; c < end; c++) {
            int k = s->corners.item[c] % 3;
            const int *corner = s->triangles + s->corners.item[c] - k;
            sum = sn_add(sum, sn_add(sn_at(r->positions, corner[(k + 1) % 3]),
                                     sn_at(r->positions, corner[(k + 2) % 3])));
        }
        sn_vec3 middle = sn_scale(1.0 / (2 * (end - first)), sum);
        sn_put(r->stepped, i, sn_lerp(sn_at(r->positions, v), middle, STEP));
    }
    for (int i = 0; i < r->active_count; i++)
        sn_put(r->positions, r->active[i], sn_at(r->stepped, i));
}

static bool measure_around_active(const surface *s, relaxation *r) {
    bool changed = false;
    r->round++;
    for (int i = 0; i < r->active_count; i++) {
        int v = r->active[i];
        for (int c = s->corners.start[v]; c < s->corners.start[v + 1]; c++) {
            int t = s->corners.item[c] / 3;
            if (r->measured[t] == r->round) continue;
            r->measured[t] = r->round;
            changed |= measure(s, r, t);
        }
    }
    return changed;
}

static void diffuse(const surface *s, relaxation *r) {
    int rings = rings_per_stage(s->vertex_count), rounds = rounds_per_stage(s->vertex_count);
    bool changed = true;
    for (int t = 0; t < s->triangle_count; t++) measure(s, r, t);
    for (int round = 0; r->sliver_count > 0 && round < STAGES * rounds; round++) {
        if (changed || round % rounds == 0) gather_active(s, r, round / rounds * rings);
        step(s, r);
        changed = measure_around_active(s, r);
    }
}

static sinew_status relax_slivers(surface *s, double *positions, sinew_error *error) {
    size_t n = (size_t)s->vertex_count, m = (size_t)s->triangle_count;
    relaxation r = {.positions = positions,
                    .stepped = SN_NEW(double, 3 * n),
                    .sliver = SN_NEW0(bool, m),
                    .slivers = SN_NEW0(int, n),
                    .active = SN_NEW(int, n),
                    .reached = SN_NEW0(int, n),
                    .measured = SN_NEW0(int, m)};
    bool enough = r.stepped && r.sliver && r.slivers && r.active && r.reached && r.measured;
    sinew_status status = enough ? sn_lists_create(s->vertex_count, 3 * s->triangle_count,
                                                   s->triangles, NULL, &s->corners, error)
                                 : sn_no_memory(error);
    if (status == SINEW_OK) diffuse(s, &r);
    sn_free(r.stepped);
    sn_free(r.sliver);
    sn_free(r.slivers);
    sn_free(r.active);
    sn_free(r.reached);
    sn_free(r.measured);
    sn_lists_free(&s->corners);
    return status;
}

sinew_status sn_relax(int vertex_count, int triangle_count, const int *triangles, double least,
                      const bool *may_move, double *positions, sinew_error *error) {
    double sine = sin(sn_radians(least));
    surface s = {.vertex_count = vertex_count,
                 .triangle_count = triangle_count,
                 .triangles = triangles,
                 .may_move = may_move,
                 .least = sine * sine};
    for (int t = 0; t < triangle_count; t++) {
        const int *corner = triangles + 3 * (size_t)t;
        if (is_sliver(&s, corner, positions) && any_movable(&s, corner))
            return relax_slivers(&s, positions, error);
    }
    return SINEW_OK;
}
