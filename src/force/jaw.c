#include "force/jaw.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"
#include "rig/pose.h"
#include "sinew/force.h"

/* Rounds of fitting a rigid motion and weighing vertices by how well they follow it. */
enum { SHARE_ROUNDS = 20 };
/* Displacements shorter than this fraction of the longest one tell nothing about who follows. */
#define SHARE_NOISE 1e-3

/* x -> turn x + shift */
typedef struct motion {
    sn_mat3 turn;
    sn_vec3 shift;
} motion;

struct sn_jaw {
    int vertex_count, target_count;
    double *share;
    sn_vec3 *twist; /* 2 per target: log T_k as rotation vector and velocity */
    motion *chord;  /* per target: T_k - 1 */
};

/* ---- rigid motions and their logarithms ------------------------------------------------------ */

/* 1 + b [w] + c [w]^2 */
static sn_mat3 series(sn_vec3 w, double b, double c) {
    sn_mat3 cross = sn_mat3_cross(w);
    return sn_mat3_add(sn_mat3_add(sn_mat3_identity(), sn_mat3_scale(b, cross)),
                       sn_mat3_scale(c, sn_mat3_multiply(cross, cross)));
}

/* exp(w, v) = (exp w, V v),  V = 1 + (1 - cos t)/t^2 [w] + (t - sin t)/t^3 [w]^2,  t = |w| */
static motion screw_exp(sn_vec3 w, sn_vec3 v) {
    double t = sn_length(w);
    sn_mat3 mean = t < 1e-4 ? series(w, 0.5, 1.0 / 6)
                            : series(w, (1 - cos(t)) / (t * t), (t - sin(t)) / (t * t * t));
    return (motion){sn_rotation_exp(w), sn_mat3_apply(mean, v)};
}

/* V^-1 = 1 - [w]/2 + (1/t^2 - (1 + cos t)/(2 t sin t)) [w]^2 */
static void screw_log(motion m, sn_vec3 *w, sn_vec3 *v) {
    *w = sn_rotation_log(m.turn);
    double t = sn_length(*w);
    double c = t < 1e-4 ? 1.0 / 12 : 1 / (t * t) - (1 + cos(t)) / (2 * t * sin(t));
    *v = sn_mat3_apply(series(*w, -0.5, c), m.shift);
}

/* Weight of a vertex in finding where the jaw goes: those between jaw and skull have no influence.
 */
static double lead_of(double share) {
    return pow(share, 16);
}

/* The motion of the target that is best in the sense of the weights. */
static motion fit_target(const sinew_rig *rig, int k, const double *weight, double *moved) {
    motion fit;
    sn_rig_pose(rig, k, moved);
    sn_rigid_fit(rig->neutral->vertex_count, rig->neutral->positions, moved, weight, &fit.turn,
                 &fit.shift);
    return fit;
}

/* ---- the jaw of a sheet ---------------------------------------------------------------------- */

sinew_status sn_jaw_create(const sinew_rig *rig, const double *share, sn_jaw **jaw,
                           sinew_error *error) {
    *jaw = NULL;
    int n = rig->neutral->vertex_count, m = rig->target_count;
    double most = 0;
    for (int v = 0; v < n; v++) {
        if (!(share[v] >= 0 && share[v] <= 1))
            return sn_fail(error, SINEW_BAD_INPUT, "force: the jaw's weight of vertex %d is %g", v,
                           share[v]);
        most = fmax(most, share[v]);
    }
    if (!(most > 0)) return sn_fail(error, SINEW_BAD_INPUT, "force: the jaw has no vertices");
    sn_jaw *made = SN_NEW0(sn_jaw, 1);
    if (!made) return sn_no_memory(error);
    made->vertex_count = n, made->target_count = m;
    made->share = SN_NEW(double, n);
    made->twist = SN_NEW(sn_vec3, 2 * (size_t)m);
    made->chord = SN_NEW(motion, m);
    double *moved = SN_NEW(double, 3 * (size_t)n);
    if (!made->share || !made->twist || !made->chord || !moved) {
        sn_free(moved);
        sn_jaw_destroy(made);
        return sn_no_memory(error);
    }
    for (int v = 0; v < n; v++) made->share[v] = lead_of(share[v] / most);
    for (int k = 0; k < m; k++) {
        motion fit = fit_target(rig, k, made->share, moved);
        screw_log(fit, &made->twist[2 * k], &made->twist[2 * k + 1]);
        fit.turn = sn_mat3_add(fit.turn, sn_mat3_scale(-1, sn_mat3_identity()));
        made->chord[k] = fit;
    }
    memcpy(made->share, share, sizeof(double) * (size_t)n);
    sn_free(moved);
    *jaw = made;
    return SINEW_OK;
}

void sn_jaw_destroy(sn_jaw *jaw) {
    if (!jaw) return;
    sn_free(jaw->share), sn_free(jaw->twist), sn_free(jaw->chord);
    sn_free(jaw);
}

void sn_jaw_pull(const sn_jaw *jaw, const double *u, const double *rest, const double *stiffness,
                 double *forces) {
    sn_vec3 w = {0, 0, 0}, v = {0, 0, 0};
    for (int k = 0; k < jaw->target_count; k++) {
        w = sn_add_scaled(w, u[k], jaw->twist[2 * k]);
        v = sn_add_scaled(v, u[k], jaw->twist[2 * k + 1]);
    }
    motion off = screw_exp(w, v);
    off.turn = sn_mat3_add(off.turn, sn_mat3_scale(-1, sn_mat3_identity()));
    for (int k = 0; k < jaw->target_count; k++) {
        off.turn = sn_mat3_add(off.turn, sn_mat3_scale(-u[k], jaw->chord[k].turn));
        off.shift = sn_add_scaled(off.shift, -u[k], jaw->chord[k].shift);
    }
    for (int i = 0; i < jaw->vertex_count; i++) {
        if (!(jaw->share[i] > 0)) continue;
        sn_vec3 way = sn_add(sn_mat3_apply(off.turn, sn_at(rest, i)), off.shift);
        sn_put(forces, i, sn_add_scaled(sn_at(forces, i), stiffness[i] * jaw->share[i], way));
    }
}

/* ---- who belongs to the jaw ------------------------------------------------------------------ */

/* Share of a vertex that should go `way` with the jaw and is `off` from there: 1 where it follows,
 * 0 where it stays behind, smooth between. */
static double share_of(double way, double off, double noise) {
    double s = 1 - off / (way + noise);
    return s > 0 ? s * s * (3 - 2 * s) : 0;
}

sinew_status sinew_jaw_shares(const sinew_rig *rig, int target, double *shares,
                              sinew_error *error) {
    SN_REQUIRE(rig && shares && target >= 0 && target < rig->target_count, error);
    int n = rig->neutral->vertex_count;
    const double *rest = rig->neutral->positions;
    const sinew_target *t = &rig->targets[target];
    double *moved = SN_NEW(double, 3 * (size_t)n), longest = 0;
    if (!moved) return sn_no_memory(error);
    /* the chin goes farthest: it leads at first */
    for (int v = 0; v < n; v++) shares[v] = 0;
    for (int i = 0; i < t->count; i++) {
        double way = sn_length(sn_at(t->deltas, i));
        shares[t->vertices[i]] = way * way * way * way;
        longest = fmax(longest, way);
    }
    for (int round = 0; round < SHARE_ROUNDS && longest > 0; round++) {
        motion fit = fit_target(rig, target, shares, moved);
        for (int v = 0; v < n; v++) {
            sn_vec3 x = sn_at(rest, v);
            sn_vec3 there = sn_add(sn_mat3_apply(fit.turn, x), fit.shift);
            double s = share_of(sn_distance(there, x), sn_distance(there, sn_at(moved, v)),
                                SHARE_NOISE * longest);
            /* a vertex that the target leaves alone stays behind, wherever the joint is */
            if (!(sn_distance(sn_at(moved, v), x) > SHARE_NOISE * longest)) s = 0;
            shares[v] = round + 1 < SHARE_ROUNDS ? lead_of(s) : s;
        }
    }
    sn_free(moved);
    if (longest > 0) return SINEW_OK;
    return sn_fail(error, SINEW_BAD_INPUT, "jaw: target '%s' moves nothing", t->name);
}
