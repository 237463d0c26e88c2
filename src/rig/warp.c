/* Based on: Duchon, Splines minimizing rotation-invariant semi-norms, 1977; Bookstein, Principal
 * warps, 1989. We differ in: a first fit by the best similarity, so that few or flat sets of pairs
 * degrade to it instead of failing, and pairs that coincide are merged. */
#include "sinew/warp.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"
#include "sinew/mesh.h"

struct sinew_warp {
    /* The best similarity first: y = s R x + t. The spline then only has to bend the rest. */
    sn_mat3 linear;
    sn_vec3 shift;
    int count;
    double *centers;     /* 3 each */
    double *weights;     /* 3 each: c_i */
    double affine[4][3]; /* rows: constant, x, y, z; applied to (x - origin) / scale */
    sn_vec3 origin;
    double scale; /* of the centers: the system is solved in units of it */
};

/* Pairs with equal sources are merged. Returns how many are left. */
static int merge_pairs(int count, const double *from, const double *to, double *p, double *q) {
    double size = sinew_diagonal(count, from);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        sn_vec3 x = sn_at(from, i), sum = {0, 0, 0};
        int same = 0;
        bool first = true;
        for (int j = 0; j < count; j++) {
            if (sn_distance(x, sn_at(from, j)) > 1e-9 * size) continue;
            if (j < i) first = false;
            sum = sn_add(sum, sn_at(to, j));
            same++;
        }
        if (!first) continue;
        sn_put(p, kept, x);
        sn_put(q, kept, sn_scale(1.0 / same, sum));
        kept++;
    }
    return kept;
}

/* y = s R x + t in the least-squares sense. */
static void fit_similarity(int count, const double *p, const double *q, sinew_warp *warp) {
    sn_mat3 rotation;
    sn_vec3 unused, mp = {0, 0, 0}, mq = {0, 0, 0};
    sn_rigid_fit(count, p, q, NULL, &rotation, &unused);
    for (int i = 0; i < count; i++) mp = sn_add(mp, sn_at(p, i)), mq = sn_add(mq, sn_at(q, i));
    mp = sn_scale(1.0 / count, mp), mq = sn_scale(1.0 / count, mq);
    double over = 0, under = 0;
    for (int i = 0; i < count; i++) {
        sn_vec3 a = sn_sub(sn_at(p, i), mp), b = sn_sub(sn_at(q, i), mq);
        over += sn_dot(sn_mat3_apply(rotation, a), b);
        under += sn_dot(a, a);
    }
    double s = under > 0 && over > 0 ? over / under : 1;
    warp->linear = sn_mat3_scale(s, rotation);
    warp->shift = sn_sub(mq, sn_mat3_apply(warp->linear, mp));
    warp->origin = mp;
    warp->scale = under > 0 ? sqrt(under / count) : 1;
}

/* Spline of what the similarity leaves: [K + n mu I, P; P^T, 0] [c; a] = [r; 0]. */
static sinew_status fit_spline(int count, const double *p, const double *q, double smoothing,
                               sinew_warp *warp, sinew_error *error) {
    int size = count + 4;
    double *matrix = SN_NEW0(double, (size_t)size *(size_t)size);
    double *right = SN_NEW0(double, 3 * (size_t)size);
    if (!matrix || !right) {
        sn_free(matrix), sn_free(right);
        return sn_no_memory(error);
    }
    for (int i = 0; i < count; i++) {
        sn_vec3 x = sn_scale(1 / warp->scale, sn_sub(sn_at(p, i), warp->origin));
        for (int j = 0; j < count; j++)
            matrix[i + (size_t)size * (size_t)j] =
                -sn_distance(sn_at(p, i), sn_at(p, j)) / warp->scale;
        matrix[i + (size_t)size * (size_t)i] += smoothing * count;
        const double row[4] = {1, x.x, x.y, x.z};
        for (int k = 0; k < 4; k++) {
            matrix[i + (size_t)size * (size_t)(count + k)] = row[k];
            matrix[count + k + (size_t)size * (size_t)i] = row[k];
        }
        sn_vec3 rest =
            sn_sub(sn_at(q, i), sn_add(sn_mat3_apply(warp->linear, sn_at(p, i)), warp->shift));
        right[i] = rest.x, right[size + i] = rest.y, right[2 * size + i] = rest.z;
    }
    sinew_status status = sn_dense_solve(size, matrix, 3, right, error);
    for (int c = 0; status == SINEW_OK && c < 3; c++) {
        for (int i = 0; i < count; i++) warp->weights[3 * i + c] = right[c * size + i];
        for (int k = 0; k < 4; k++) warp->affine[k][c] = right[c * size + count + k];
    }
    sn_free(matrix), sn_free(right);
    return status;
}

/* Flat and collinear sets leave the affine part undetermined: smallest spread over largest. */
static bool spans_space(int count, const double *p, sn_vec3 origin) {
    if (count < 4) return false;
    sn_mat3 spread = {{{0}}}, u, v;
    double s[3];
    for (int i = 0; i < count; i++) {
        sn_vec3 d = sn_sub(sn_at(p, i), origin);
        const double x[3] = {d.x, d.y, d.z};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) spread.m[r][c] += x[r] * x[c];
    }
    sn_svd3(spread, &u, s, &v);
    return fabs(s[2]) > 1e-8 * s[0];
}

sinew_status sinew_warp_create(int count, const double *from, const double *to, double smoothing,
                               sinew_warp **warp, sinew_error *error) {
    SN_REQUIRE(warp && from && to && count >= 0, error);
    *warp = NULL;
    if (count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "warp: needs at least one pair of points");
    if (!(smoothing >= 0) || !isfinite(smoothing))
        return sn_fail(error, SINEW_BAD_INPUT, "warp: smoothing must be 0 or more");
    for (int i = 0; i < 3 * count; i++)
        if (!isfinite(from[i]) || !isfinite(to[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "warp: pair %d is not finite", i / 3);
    sinew_warp *created = SN_NEW0(sinew_warp, 1);
    double *p = SN_NEW(double, 3 * (size_t)count), *q = SN_NEW(double, 3 * (size_t)count);
    sinew_status status = SINEW_OK;
    if (!created || !p || !q) {
        status = sn_no_memory(error);
    } else {
        int kept = merge_pairs(count, from, to, p, q);
        fit_similarity(kept, p, q, created);
        created->centers = SN_NEW(double, 3 * (size_t)kept);
        created->weights = SN_NEW0(double, 3 * (size_t)kept);
        if (!created->centers || !created->weights) {
            status = sn_no_memory(error);
        } else {
            memcpy(created->centers, p, sizeof(double) * 3 * (size_t)kept);
            if (spans_space(kept, p, created->origin)) {
                created->count = kept;
                status = fit_spline(kept, p, q, smoothing, created, error);
            }
        }
    }
    sn_free(p), sn_free(q);
    if (status != SINEW_OK) {
        sinew_warp_destroy(created);
        return status;
    }
    *warp = created;
    return SINEW_OK;
}

void sinew_warp_destroy(sinew_warp *warp) {
    if (!warp) return;
    sn_free(warp->centers);
    sn_free(warp->weights);
    sn_free(warp);
}

void sinew_warp_point(const sinew_warp *warp, const double point[3], double image[3]) {
    sn_vec3 x = sn_v3(point[0], point[1], point[2]);
    sn_vec3 y = sn_add(sn_mat3_apply(warp->linear, x), warp->shift);
    if (warp->count) {
        sn_vec3 u = sn_scale(1 / warp->scale, sn_sub(x, warp->origin));
        for (int i = 0; i < warp->count; i++)
            y = sn_add_scaled(y, -sn_distance(x, sn_at(warp->centers, i)) / warp->scale,
                              sn_at(warp->weights, i));
        const double row[4] = {1, u.x, u.y, u.z};
        for (int k = 0; k < 4; k++)
            y = sn_add_scaled(y, row[k],
                              sn_v3(warp->affine[k][0], warp->affine[k][1], warp->affine[k][2]));
    }
    image[0] = y.x, image[1] = y.y, image[2] = y.z;
}

void sinew_warp_jacobian(const sinew_warp *warp, const double point[3], double jacobian[9]) {
    sn_mat3 j = warp->linear;
    sn_vec3 x = sn_v3(point[0], point[1], point[2]);
    for (int i = 0; i < warp->count; i++) {
        /* d|x - p| = (x - p) / |x - p|; at a center the slopes from all sides average to zero. */
        sn_vec3 d = sn_normalize(sn_sub(x, sn_at(warp->centers, i)));
        const double *c = warp->weights + 3 * (size_t)i;
        const double n[3] = {d.x, d.y, d.z};
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++) j.m[r][k] -= c[r] * n[k] / warp->scale;
    }
    for (int k = 0; warp->count && k < 3; k++)
        for (int r = 0; r < 3; r++) j.m[r][k] += warp->affine[k + 1][r] / warp->scale;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) jacobian[3 * r + k] = j.m[r][k];
}
