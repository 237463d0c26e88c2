/* Which vertices are held, and by what the rigid motion of the rest is decided.
 *
 * Based on: the boundary conditions of the published method (static vertices, anchor). We differ
 * in: `free`, which needs neither; the fall-back from static to free; and an anchor that is
 * strictly rigid, where the published one is only very stiff. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "spring/structure.h"

/* Static vertices must spread at least this fraction of the diagonal across their widest line to
 * hold the rest against turning. */
static const double WELL_SPREAD = 0.02;
/* Size of an automatic anchor as a fraction of the diagonal. */
static const double ANCHOR_SIZE = 0.03;
enum { ANCHOR_ITERATIONS = 200 };

/* ---- held vertices ---- */

/* Largest area-like spread of the held vertices: distance of the farthest one from the line
 * through the two farthest apart (found by two passes). */
static double spread_of(const sn_network *network, const double *positions, const bool *held) {
    int first = -1, second = -1;
    for (int v = 0; v < network->surface_count && first < 0; v++)
        if (held[v]) first = v;
    if (first < 0) return 0;
    for (int pass = 0; pass < 2; pass++) {
        double best = -1;
        second = first;
        for (int v = 0; v < network->surface_count; v++) {
            if (!held[v]) continue;
            double d = sn_distance(sn_at(positions, v), sn_at(positions, first));
            if (d > best) best = d, second = v;
        }
        int swap = first;
        first = second, second = swap;
    }
    sn_vec3 origin = sn_at(positions, first);
    sn_vec3 axis = sn_normalize(sn_sub(sn_at(positions, second), origin));
    double widest = 0;
    for (int v = 0; v < network->surface_count; v++)
        if (held[v])
            widest = fmax(widest, sn_length(sn_cross(axis, sn_sub(sn_at(positions, v), origin))));
    return widest;
}

sinew_status sn_boundary_find(sinew_spring *spring, const double *const *poses,
                              sinew_error *error) {
    const sn_network *network = spring->network;
    const sinew_rig *rig = spring->rig;
    sinew_spring_info *info = &spring->info;
    info->boundary = spring->options.boundary;
    spring->held = SN_NEW0(bool, network->vertex_count);
    if (!spring->held) return sn_no_memory(error);
    if (spring->options.boundary == SINEW_SPRING_BOUNDARY_STATIC) {
        double *move = SN_NEW0(double, network->surface_count), largest = 0;
        if (!move) return sn_no_memory(error);
        for (int t = 0; t < rig->target_count; t++)
            for (int v = 0; v < network->surface_count; v++) {
                move[v] = fmax(move[v],
                               sn_distance(sn_at(poses[t], v), sn_at(rig->neutral->positions, v)));
                largest = fmax(largest, move[v]);
            }
        for (int v = 0; v < network->surface_count; v++)
            spring->held[v] =
                network->component[v] >= 0 && move[v] < spring->options.static_share * largest;
        sn_free(move);
        double spread = spread_of(network, rig->neutral->positions, spring->held);
        if (!(spread > WELL_SPREAD * network->diagonal)) {
            memset(spring->held, 0, (size_t)network->vertex_count * sizeof(bool));
            info->boundary = SINEW_SPRING_BOUNDARY_FREE;
            snprintf(info->note, sizeof info->note,
                     "boundary static: fewer than three well-spread still vertices, used free");
        }
    }
    /* pins are held with any boundary */
    for (int k = 0; k < spring->pin_count; k++) spring->held[spring->pins[k]] = true;
    for (int v = network->anchor_first; v < network->vertex_count; v++) spring->held[v] = true;
    for (int v = 0; v < network->vertex_count; v++)
        if (network->component[v] < 0) spring->held[v] = true;
    return SINEW_OK;
}

/* ---- placing ---- */

void sn_boundary_place(const sinew_spring *spring, bool rotate, const double *blend,
                       double *positions) {
    const sn_network *network = spring->network;
    for (int part = 0; part < network->component_count; part++) {
        /* Kabsch by components: weights 0 leave out the others, without copies. The fit is linear
         * in the sums, so gather them here. */
        sn_vec3 from = {0, 0, 0}, to = {0, 0, 0};
        double count = 0;
        bool fixed = false;
        for (int v = 0; v < network->vertex_count; v++) {
            if (network->component[v] != part) continue;
            fixed |= spring->held[v];
            from = sn_add(from, sn_at(positions, v)), to = sn_add(to, sn_at(blend, v)), count++;
        }
        if (fixed || count < 1) continue;
        from = sn_scale(1 / count, from), to = sn_scale(1 / count, to);
        sn_mat3 covariance = {{{0}}}, rotation, stretch;
        for (int v = 0; v < network->vertex_count; v++) {
            if (network->component[v] != part) continue;
            sn_vec3 a = sn_sub(sn_at(positions, v), from), b = sn_sub(sn_at(blend, v), to);
            double p[3] = {a.x, a.y, a.z}, q[3] = {b.x, b.y, b.z};
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) covariance.m[i][j] += q[i] * p[j];
        }
        sn_polar3(covariance, &rotation, &stretch);
        if (!rotate) rotation = sn_mat3_identity();
        for (int v = 0; v < network->vertex_count; v++)
            if (network->component[v] == part)
                sn_put(positions, v,
                       sn_add(to, sn_mat3_apply(rotation, sn_sub(sn_at(positions, v), from))));
    }
}

/* ---- anchor ---- */

sinew_status sn_anchor_start(sinew_spring *spring, const double *positions, sinew_error *error) {
    sn_anchor *anchor = &spring->anchor;
    const sn_network *network = spring->network;
    int targets = spring->rig->target_count;
    anchor->rotation = SN_NEW0(sn_vec3, targets);
    anchor->shift = SN_NEW0(sn_vec3, targets);
    if (!anchor->rotation || !anchor->shift) return sn_no_memory(error);
    anchor->used = true;
    if (spring->options.anchor) {
        memcpy(anchor->rest, spring->options.anchor, sizeof anchor->rest);
    } else {
        sn_vec3 mean = {0, 0, 0};
        for (int v = 0; v < network->vertex_count; v++) mean = sn_add(mean, sn_at(positions, v));
        mean = sn_scale(1.0 / network->vertex_count, mean);
        double h = 0.5 * ANCHOR_SIZE * network->diagonal;
        static const double corner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
        for (int a = 0; a < 4; a++)
            sn_put(anchor->rest, a, sn_add(mean, sn_v3(h * corner[a][0], h * corner[a][1], 0)));
    }
    sn_vec3 low = sn_at(positions, 0), high = low;
    for (int v = 1; v < network->surface_count; v++) {
        sn_vec3 p = sn_at(positions, v);
        low = sn_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sn_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    anchor->center = sn_v3(0, 0, 0);
    for (int a = 0; a < 4; a++) {
        sn_vec3 p = sn_at(anchor->rest, a);
        if (!(p.x >= low.x && p.y >= low.y && p.z >= low.z && p.x <= high.x && p.y <= high.y &&
              p.z <= high.z))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "spring: anchor corner %d (%g, %g, %g) is outside the shape's box", a,
                           p.x, p.y, p.z);
        anchor->center = sn_add_scaled(anchor->center, 0.25, p);
    }
    double area = sn_length(sn_cross(sn_sub(sn_at(anchor->rest, 1), sn_at(anchor->rest, 0)),
                                     sn_sub(sn_at(anchor->rest, 3), sn_at(anchor->rest, 0))));
    if (!(area > 1e-12 * network->diagonal * network->diagonal))
        return sn_fail(error, SINEW_BAD_INPUT, "spring: the anchor's rectangle has no area");
    return SINEW_OK;
}

static void move_corners(const sn_anchor *anchor, sn_mat3 rotation, sn_vec3 shift,
                         double *corners) {
    for (int a = 0; a < 4; a++)
        sn_put(corners, a,
               sn_add(sn_add(anchor->center, shift),
                      sn_mat3_apply(rotation, sn_sub(sn_at(anchor->rest, a), anchor->center))));
}

/* min over rigid motions of sum_ties k (|c_a - v| - r)^2 with the pose's vertices v held. Each
 * round every tie names the point at its rest length along its present direction; the rectangle is
 * fitted rigidly to the means of those. The sum never rises (majorization). */
void sn_anchor_find(const sinew_spring *spring, const double *positions, double *corners,
                    sn_vec3 *rotation_vector, sn_vec3 *shift) {
    const sn_network *network = spring->network;
    const sn_anchor *anchor = &spring->anchor;
    int first = network->anchor_first;
    /* start: the rigid motion of the tied vertices, by their own fit */
    double from[12 * 16], to[12 * 16];
    int tied = 0;
    for (int k = 0; k < anchor->tie_count && tied < 64; k++) {
        int v = network->ends[2 * anchor->ties[k]];
        sn_put(from, tied, sn_at(network->neutral, v));
        sn_put(to, tied, sn_at(positions, v)), tied++;
    }
    sn_mat3 rotation = sn_mat3_identity();
    sn_vec3 translation = {0, 0, 0};
    if (tied > 0) sn_rigid_fit(tied, from, to, NULL, &rotation, &translation);
    *shift = sn_sub(sn_add(sn_mat3_apply(rotation, anchor->center), translation), anchor->center);
    move_corners(anchor, rotation, *shift, corners);
    for (int round = 0; round < ANCHOR_ITERATIONS; round++) {
        sn_vec3 sum[4] = {{0}};
        double weight[4] = {0};
        for (int k_tie = 0; k_tie < anchor->tie_count; k_tie++) {
            int q = anchor->ties[k_tie], v = network->ends[2 * q];
            int a = network->ends[2 * q + 1] - first;
            sn_vec3 at = sn_at(positions, v), away = sn_sub(sn_at(corners, a), at);
            double k = 1 / fmax(network->rest[q], network->rest_floor);
            sn_vec3 goal = sn_add_scaled(at, network->rest[q], sn_normalize(away));
            sum[a] = sn_add_scaled(sum[a], k, goal), weight[a] += k;
        }
        double goals[12], before[12];
        memcpy(before, corners, sizeof before);
        for (int a = 0; a < 4; a++)
            sn_put(goals, a, weight[a] > 0 ? sn_scale(1 / weight[a], sum[a]) : sn_at(corners, a));
        sn_rigid_fit(4, anchor->rest, goals, weight[0] > 0 ? weight : NULL, &rotation,
                     &translation);
        *shift =
            sn_sub(sn_add(sn_mat3_apply(rotation, anchor->center), translation), anchor->center);
        move_corners(anchor, rotation, *shift, corners);
        double moved = 0;
        for (int k = 0; k < 12; k++) moved = fmax(moved, fabs(corners[k] - before[k]));
        if (moved < 1e-12 * network->diagonal) break;
    }
    *rotation_vector = sn_rotation_log(rotation);
}

sinew_status sn_anchor_list_ties(sinew_spring *spring, sinew_error *error) {
    const sn_network *network = spring->network;
    sn_anchor *anchor = &spring->anchor;
    anchor->tie_count = 0;
    for (int pass = 0; pass < 2; pass++) {
        int count = 0;
        for (int q = 0; q < network->spring_count; q++) {
            int v = network->ends[2 * q], a = network->ends[2 * q + 1];
            if (a < network->anchor_first || v >= network->anchor_first) continue;
            if (pass) anchor->ties[count] = q;
            count++;
        }
        anchor->tie_count = count;
        if (!pass && !(anchor->ties = SN_NEW(int, count))) return sn_no_memory(error);
    }
    return SINEW_OK;
}

void sn_anchor_blend(const sinew_spring *spring, const double *activations, double *blend) {
    const sn_anchor *anchor = &spring->anchor;
    int first = spring->network->anchor_first;
    sn_vec3 rotation = {0, 0, 0}, shift = {0, 0, 0}, found_rotation, found_shift;
    for (int t = 0; t < spring->rig->target_count; t++) {
        rotation = sn_add_scaled(rotation, activations[t], anchor->rotation[t]);
        shift = sn_add_scaled(shift, activations[t], anchor->shift[t]);
    }
    double found[12];
    sn_anchor_find(spring, blend, found, &found_rotation, &found_shift);
    sn_mat3 turn = sn_rotation_exp(rotation);
    sn_mat3 back = sn_mat3_transpose(sn_rotation_exp(found_rotation));
    sn_mat3 move = sn_mat3_multiply(turn, back);
    sn_vec3 from = sn_add(anchor->center, found_shift), to = sn_add(anchor->center, shift);
    for (int v = 0; v < first; v++)
        sn_put(blend, v, sn_add(to, sn_mat3_apply(move, sn_sub(sn_at(blend, v), from))));
    move_corners(anchor, turn, shift, blend + 3 * (size_t)first);
}
