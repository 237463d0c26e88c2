/* The vector that every spring has in the rotation-aware blend of the poses.
 *
 * Blended lengths alone do not tell which way a spring points, and where poses disagree they cannot
 * all be met: a compressed spring then buckles to one side or the other, and the side changes from
 * one frame to the next. So each spring has, beside its length r, a heading m, |m| = r, and
 *
 *   e = 1/2 k (|d| - r)^2 + 1/2 beta k |d - m|^2
 *
 * m points along b, the spring's vector in the blend from which the solve starts. Across the spring
 * the first term has the stiffness k (1 - r/|d|), which is negative under compression. With
 *
 *   beta = guide + max(0, r/|b| - 1)
 *
 * the sum is at least guide k at the start: every spring is convex there, and the equilibrium
 * follows the weights smoothly. At the poses d = b = m, and the term vanishes.
 *
 * Where parts fold over, b passes through zero and its direction turns round within a frame. A
 * spring of length r there would snap over. Where a seam opens, b is many times as long as r, and
 * neither means anything. So r is kept within MOST_RATIO of |b|: beyond that m is a multiple of b
 * and changes as continuously as b does. Without directions (guide 0) lengths stay as they are.
 *
 * Altitudes of triangles (energy_altitude.c) take their direction from the rotation and strain that
 * the blend asks of their own triangle. These change smoothly even where a thin triangle turns over
 * in the assembled blend. */
#include <math.h>

#include "base/parallel.h"
#include "spring/structure.h"

/* Vectors shorter than this fraction of the rest length have no direction. */
static const double NO_DIRECTION = 1e-6;
/* Largest r/|b| and |b|/r. Smaller values follow the blend, larger ones let springs snap; chosen
 * with the table of docs/blends.md in view. */
static const double MOST_RATIO = 1.15;
/* More, where an orientation with weight 1 bends the blend: lengths are then those of the poses. */
static const double ORIENTED = 1;

typedef struct guide_loop {
    const sinew_spring *spring;
    const sinew_spring_state *state;
    sn_load *load;
    double most; /* of r/|b| and |b|/r */
} guide_loop;

static inline sn_d4 blend_at(const sn_load *load, int v) {
    return *(const sn_d4 *)(load->blend + SN_PAD * (size_t)v);
}

static void guide_springs(void *context, sn_span span) {
    const guide_loop *loop = context;
    const sn_system *system = loop->spring->system;
    double guide = loop->spring->options.guide;
    sn_load *load = loop->load;
    SN_IN_SPAN(int, i, span) {
        for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
            sn_d4 b = blend_at(load, i) - blend_at(load, system->other[s]);
            double r = load->rest[s], length = sqrt(sn_d4_dot3(b, b));
            double ratio = length > NO_DIRECTION * r ? r / length : 1;
            if (guide > 0 && (ratio > loop->most || ratio < 1 / loop->most)) {
                ratio = ratio > 1 ? loop->most : 1 / loop->most;
                load->rest[s] = ratio * length;
            }
            sn_d4 *heading = (sn_d4 *)(load->heading + SN_PAD * (size_t)s);
            *heading = ratio * b;
            (*heading)[3] = guide > 0 ? guide + fmax(0, ratio - 1) : 0;
        }
    }
}

/* Where the blend knows tets and no triangles; and the gradient of a triangle without area at rest
 * says nothing of its altitude. */
bool sn_guide_by_vertices(const sinew_spring *spring, int t) {
    const double flat = 1e-3; /* altitude over base */
    if (spring->tets) return true;
    int source = spring->system->triangle_source[t];
    const int *v = spring->network->altitude_corners + 3 * (size_t)source;
    const double *rest = spring->network->neutral;
    sn_vec3 foot = sn_lerp(sn_at(rest, v[1]), sn_at(rest, v[2]), spring->system->triangle_foot[t]);
    return sn_distance(sn_at(rest, v[0]), foot) <=
           flat * sn_distance(sn_at(rest, v[1]), sn_at(rest, v[2]));
}

/* The altitude of the system's triangle t that the blend asks for, as long as it comes. */
static sn_d4 asked_altitude(const guide_loop *loop, int t) {
    const sinew_spring *spring = loop->spring;
    const sn_system *system = spring->system;
    double f = system->triangle_foot[t];
    if (sn_guide_by_vertices(spring, t)) {
        const int *v = system->triangle + 3 * (size_t)t;
        return blend_at(loop->load, v[0]) - (1 - f) * blend_at(loop->load, v[1]) -
               f * blend_at(loop->load, v[2]);
    }
    int source = system->triangle_source[t];
    const int *v = spring->network->altitude_corners + 3 * (size_t)source;
    const double *rest = spring->network->neutral;
    sn_vec3 foot = sn_lerp(sn_at(rest, v[1]), sn_at(rest, v[2]), f);
    sn_vec3 a =
        sn_mat3_apply(sn_rotation_asked_gradient(spring->rotation, loop->state->rotation, source),
                      sn_sub(sn_at(rest, v[0]), foot));
    return (sn_d4){a.x, a.y, a.z, 0};
}

static void guide_altitudes(void *context, sn_span span) {
    const guide_loop *loop = context;
    SN_IN_SPAN(int, t, span) {
        double h = loop->state->altitude[loop->spring->system->triangle_source[t]];
        sn_d4 a = asked_altitude(loop, t);
        double length = sqrt(sn_d4_dot3(a, a));
        *(sn_d4 *)(loop->load->altitude + SN_PAD * (size_t)t) =
            (length > NO_DIRECTION * h ? h / length : 1) * a;
    }
}

void sn_guide_set(const sinew_spring *spring, sinew_spring_state *state) {
    guide_loop loop = {spring, state, &state->solver->load, MOST_RATIO};
    for (int k = 0; k < state->region_count; k++)
        loop.most = fmax(loop.most, MOST_RATIO + ORIENTED * state->regions[k].weight);
    sn_parallel_for(spring->system->free_count, 256, guide_springs, &loop);
    sn_parallel_for(spring->system->triangle_count, 256, guide_altitudes, &loop);
}
