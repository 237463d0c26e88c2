#include "samples/relax.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/vec3.h"
#include "samples/builders.h"

/* In every stage the neighbours of what still moves join in, as many rings as make about the same
 * share of the surface at any resolution. */
enum { STAGES = 10, ROUNDS = 40 };
static const double STEP = 0.25;

static int rings_per_stage(int vertex_count) {
    return 1 + (int)(sqrt((double)vertex_count) / 80);
}

/* The smallest angle lies between the two longer edges: its sine is 2 area / (their product). */
static bool is_sliver(const int *corner, const double *positions, double sine_squared) {
    sn_vec3 a = sn_at(positions, corner[0]), b = sn_at(positions, corner[1]),
            c = sn_at(positions, corner[2]);
    sn_vec3 ab = sn_sub(b, a), bc = sn_sub(c, b), ca = sn_sub(a, c), n = sn_cross(ab, bc);
    double u = sn_dot(ab, ab), v = sn_dot(bc, bc), w = sn_dot(ca, ca);
    double shortest = fmin(u, fmin(v, w));
    double product = shortest == u ? v * w : shortest == v ? u * w : u * v;
    return sn_dot(n, n) < sine_squared * product;
}

/* The triangles around slivers, all that is looked at after the first time. */
typedef struct surface {
    int vertex_count, triangle_count;
    int *triangles;
    const bool *may_move;
} surface;

/* Marks the corners of slivers; false: there are none. */
static bool mark_slivers(const surface *s, const double *positions, double least, bool *marked) {
    double sine = sin(sn_radians(least));
    bool any = false;
    memset(marked, 0, sizeof *marked * (size_t)s->vertex_count);
    for (int t = 0; t < s->triangle_count; t++) {
        const int *corner = s->triangles + 3 * (size_t)t;
        if (!is_sliver(corner, positions, sine * sine)) continue;
        for (int k = 0; k < 3; k++)
            if (!s->may_move || s->may_move[corner[k]]) marked[corner[k]] = any = true;
    }
    return any;
}

static void grow(const surface *s, bool *marked, bool *grown) {
    memcpy(grown, marked, sizeof *marked * (size_t)s->vertex_count);
    for (int t = 0; t < s->triangle_count; t++) {
        const int *corner = s->triangles + 3 * (size_t)t;
        if (!marked[corner[0]] && !marked[corner[1]] && !marked[corner[2]]) continue;
        for (int k = 0; k < 3; k++)
            if (!s->may_move || s->may_move[corner[k]]) grown[corner[k]] = true;
    }
    memcpy(marked, grown, sizeof *marked * (size_t)s->vertex_count);
}

/* A step towards the middle of the neighbours, all at once. */
static void step(const surface *s, const bool *marked, double *sum, int *count, double *positions) {
    for (int v = 0; v < s->vertex_count; v++)
        if (marked[v]) {
            sn_put(sum, v, sn_v3(0, 0, 0));
            count[v] = 0;
        }
    for (int t = 0; t < s->triangle_count; t++) {
        const int *corner = s->triangles + 3 * (size_t)t;
        for (int k = 0; k < 3; k++) {
            if (!marked[corner[k]]) continue;
            sn_vec3 next = sn_at(positions, corner[(k + 1) % 3]);
            sn_vec3 last = sn_at(positions, corner[(k + 2) % 3]);
            sn_put(sum, corner[k], sn_add(sn_at(sum, corner[k]), sn_add(next, last)));
            count[corner[k]] += 2;
        }
    }
    for (int v = 0; v < s->vertex_count; v++)
        if (marked[v])
            sn_put(positions, v,
                   sn_lerp(sn_at(positions, v), sn_scale(1.0 / count[v], sn_at(sum, v)), STEP));
}

/* Keeps the triangles within `rings` of the marked vertices. */
static void cut_out(surface *s, int rings, bool *marked, bool *grown) {
    int kept = 0;
    for (int ring = 0; ring <= rings; ring++) grow(s, marked, grown);
    for (int t = 0; t < s->triangle_count; t++) {
        const int *corner = s->triangles + 3 * (size_t)t;
        if (!marked[corner[0]] && !marked[corner[1]] && !marked[corner[2]]) continue;
        memmove(s->triangles + 3 * (size_t)kept++, corner, 3 * sizeof *corner);
    }
    s->triangle_count = kept;
}

sinew_status sn_relax(int vertex_count, int triangle_count, const int *triangles, double least,
                      const bool *may_move, double *positions, sinew_error *error) {
    surface s = {vertex_count, triangle_count, SN_NEW(int, 3 * (size_t)triangle_count), may_move};
    bool *marked = SN_NEW(bool, vertex_count), *grown = SN_NEW(bool, vertex_count);
    double *sum = SN_NEW(double, 3 * (size_t)vertex_count);
    int *count = SN_NEW(int, vertex_count), rings = rings_per_stage(vertex_count);
    sinew_status status =
        s.triangles && marked && grown && sum && count ? SINEW_OK : sn_no_memory(error);
    bool any = false;
    if (status == SINEW_OK) {
        memcpy(s.triangles, triangles, 3 * sizeof *triangles * (size_t)triangle_count);
        any = mark_slivers(&s, positions, least, marked);
    }
    if (any) cut_out(&s, STAGES * rings + 1, marked, grown);
    for (int round = 0; any && round < STAGES * ROUNDS; round++) {
        any = mark_slivers(&s, positions, least, marked);
        for (int ring = 0; any && ring < round / ROUNDS * rings; ring++) grow(&s, marked, grown);
        if (any) step(&s, marked, sum, count, positions);
    }
    sn_free(s.triangles);
    sn_free(marked);
    sn_free(grown);
    sn_free(sum);
    sn_free(count);
    return status;
}
