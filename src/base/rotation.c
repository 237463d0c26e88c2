/* Rotations and the 3x3 decompositions.
 *
 * Based on: Shepperd, "Quaternion from rotation matrix" (1978); the one-sided Jacobi method of
 * Hestenes (1958) for the SVD; Higham (1986) for polar decompositions of nonsingular matrices;
 * Kabsch (1976) for rigid fits.
 * We differ in: signs. U and V are always rotations, and the sign of the determinant stays in the
 * smallest singular value, which is what a deformation gradient needs: an inverted element keeps a
 * proper rotation, and its inversion becomes strain. */
#include "base/rotation.h"

#include <float.h>

/* exp through the unit quaternion of half the angle: there is no cancellation, so no digits are
 * lost near 0 or pi. */
sn_mat3 sn_rotation_exp(sn_vec3 rotation_vector) {
    double angle = sn_length(rotation_vector);
    double factor = angle > 1e-100 ? sin(0.5 * angle) / angle : 0.5;
    sn_quat q = {cos(0.5 * angle), factor * rotation_vector.x, factor * rotation_vector.y,
                 factor * rotation_vector.z};
    return sn_quat_to_mat3(q);
}

/* 2 atan2(|v|, w) keeps full precision at both ends: near 0 the vector part is exact (it comes from
 * the antisymmetric part), near pi it is the large component (Shepperd's choice). */
sn_vec3 sn_rotation_log(sn_mat3 rotation) {
    sn_quat q = sn_quat_from_mat3(rotation);
    if (q.w < 0) q = (sn_quat){-q.w, -q.x, -q.y, -q.z};
    sn_vec3 v = sn_v3(q.x, q.y, q.z);
    double sine = sn_length(v);
    double factor = sine > 1e-100 ? 2 * atan2(sine, q.w) / sine : 2;
    return sn_scale(factor, v);
}

/* 4 q_a q_b are sums and differences of entries; dividing by the largest component is safe because
 * it is at least 1/2. */
sn_quat sn_quat_from_mat3(sn_mat3 rotation) {
    const double(*m)[3] = (const double(*)[3])rotation.m;
    double trace = m[0][0] + m[1][1] + m[2][2];
    sn_quat q;
    if (trace >= m[0][0] && trace >= m[1][1] && trace >= m[2][2]) {
        q = (sn_quat){1 + trace, m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]};
    } else if (m[0][0] >= m[1][1] && m[0][0] >= m[2][2]) {
        q = (sn_quat){m[2][1] - m[1][2], 1 + m[0][0] - m[1][1] - m[2][2], m[0][1] + m[1][0],
                      m[0][2] + m[2][0]};
    } else if (m[1][1] >= m[2][2]) {
        q = (sn_quat){m[0][2] - m[2][0], m[0][1] + m[1][0], 1 - m[0][0] + m[1][1] - m[2][2],
                      m[1][2] + m[2][1]};
    } else {
        q = (sn_quat){m[1][0] - m[0][1], m[0][2] + m[2][0], m[1][2] + m[2][1],
                      1 - m[0][0] - m[1][1] + m[2][2]};
    }
    return sn_quat_normalize(q);
}

sn_mat3 sn_quat_to_mat3(sn_quat q) {
    return (sn_mat3){{{1 - 2 * (q.y * q.y + q.z * q.z), 2 * (q.x * q.y - q.w * q.z),
                       2 * (q.x * q.z + q.w * q.y)},
                      {2 * (q.x * q.y + q.w * q.z), 1 - 2 * (q.x * q.x + q.z * q.z),
                       2 * (q.y * q.z - q.w * q.x)},
                      {2 * (q.x * q.z - q.w * q.y), 2 * (q.y * q.z + q.w * q.x),
                       1 - 2 * (q.x * q.x + q.y * q.y)}}};
}

sn_quat sn_quat_multiply(sn_quat a, sn_quat b) {
    return (sn_quat){
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
        a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
    };
}

/* The zero quaternion becomes the identity. */
sn_quat sn_quat_normalize(sn_quat q) {
    double length = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    if (!(length > 0)) return (sn_quat){1, 0, 0, 0};
    return (sn_quat){q.w / length, q.x / length, q.y / length, q.z / length};
}

/* Along the shorter arc. The angle from both chords, 2 atan2(|a - b|, |a + b|), is exact for
 * neighboring quaternions, where acos of the dot product loses half the digits. */
sn_quat sn_quat_slerp(sn_quat a, sn_quat b, double t) {
    if (a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z < 0) b = (sn_quat){-b.w, -b.x, -b.y, -b.z};
    sn_quat d = {a.w - b.w, a.x - b.x, a.y - b.y, a.z - b.z};
    sn_quat s = {a.w + b.w, a.x + b.x, a.y + b.y, a.z + b.z};
    double angle = 2 * atan2(sqrt(d.w * d.w + d.x * d.x + d.y * d.y + d.z * d.z),
                             sqrt(s.w * s.w + s.x * s.x + s.y * s.y + s.z * s.z));
    double from = 1 - t, to = t;
    if (angle > 1e-9) from = sin((1 - t) * angle) / sin(angle), to = sin(t * angle) / sin(angle);
    return sn_quat_normalize((sn_quat){from * a.w + to * b.w, from * a.x + to * b.x,
                                       from * a.y + to * b.y, from * a.z + to * b.z});
}

/* The power of two that brings the largest entry into [1/2, 1); 0 for the zero matrix. */
static int exponent_of_largest(sn_mat3 a, double *largest) {
    *largest = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) *largest = fmax(*largest, fabs(a.m[i][j]));
    int exponent = 0;
    if (*largest > 0 && *largest <= DBL_MAX) frexp(*largest, &exponent);
    return exponent;
}

static sn_mat3 scale_by_power(sn_mat3 a, int exponent) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] = ldexp(a.m[i][j], exponent);
    return a;
}

/* Condition number ||A|| ||adj A|| / |det A| in the largest-entry norm, on the matrix scaled to
 * one. */
bool sn_mat3_inverse(sn_mat3 a, sn_mat3 *inverse) {
    double largest;
    int exponent = exponent_of_largest(a, &largest);
    if (!(largest > 0 && largest <= DBL_MAX)) return false;
    a = scale_by_power(a, -exponent);
    sn_vec3 x = sn_mat3_column(a, 0), y = sn_mat3_column(a, 1), z = sn_mat3_column(a, 2);
    sn_vec3 rows[3] = {sn_cross(y, z), sn_cross(z, x), sn_cross(x, y)};
    double determinant = sn_dot(x, rows[0]), adjugate = 0;
    for (int i = 0; i < 3; i++)
        adjugate = fmax(adjugate, fmax(fabs(rows[i].x), fmax(fabs(rows[i].y), fabs(rows[i].z))));
    if (!(fabs(determinant) > 8 * DBL_EPSILON * adjugate)) return false;
    sn_mat3 result;
    for (int i = 0; i < 3; i++) {
        double row[3] = {rows[i].x, rows[i].y, rows[i].z};
        for (int j = 0; j < 3; j++) {
            result.m[i][j] = ldexp(row[j] / determinant, -exponent);
            if (!isfinite(result.m[i][j])) return false;
        }
    }
    *inverse = result;
    return true;
}

/* A unit vector perpendicular to a unit vector. */
static sn_vec3 perpendicular(sn_vec3 a) {
    sn_vec3 axis = fabs(a.x) <= fabs(a.y) && fabs(a.x) <= fabs(a.z) ? sn_v3(1, 0, 0)
                   : fabs(a.y) <= fabs(a.z)                         ? sn_v3(0, 1, 0)
                                                                    : sn_v3(0, 0, 1);
    return sn_normalize(sn_cross(a, axis));
}

/* Rotates v by the smallest rotation that maps the unit vector a to the unit vector b: v + s x v +
 * s x (s x v) / (1 + a.b), s = a x b; a half rotate_from_to if b = -a. */
static sn_vec3 rotate_from_to(sn_vec3 v, sn_vec3 a, sn_vec3 b) {
    double cosine = sn_dot(a, b);
    if (cosine < -1 + 1e-12) {
        sn_vec3 axis = perpendicular(a);
        return sn_sub(sn_scale(2 * sn_dot(axis, v), axis), v);
    }
    sn_vec3 s = sn_cross(a, b);
    sn_vec3 sv = sn_cross(s, v);
    return sn_normalize(sn_add_scaled(sn_add(v, sv), 1 / (1 + cosine), sn_cross(s, sv)));
}

/* One-sided Jacobi. Rotations applied from the right make the columns of B = A V orthogonal:
 *
 *   for a pair (p, q):  tan 2a = 2 b_p.b_q / (|b_p|^2 - |b_q|^2)
 *
 * then |b_j| are the singular values and b_j / |b_j| the columns of U. Small singular values are
 * computed to high relative accuracy, which an eigen decomposition of A^T A loses. A matrix that
 * has rank one to rounding has no second axis; then the smallest rotation is chosen. A third value
 * below 1e-140 of the largest counts as zero: its square underflows. */
void sn_svd3(sn_mat3 a, sn_mat3 *u, double s[3], sn_mat3 *v) {
    double largest;
    int exponent = exponent_of_largest(a, &largest);
    if (!(largest > 0 && largest <= DBL_MAX)) {
        *u = *v = sn_mat3_identity();
        s[0] = s[1] = s[2] = 0;
        return;
    }
    a = scale_by_power(a, -exponent);
    sn_vec3 b[3], w[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int j = 0; j < 3; j++) b[j] = sn_mat3_column(a, j);

    enum { MAX_SWEEPS = 30 };
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        bool rotated = false;
        for (int p = 0; p < 2; p++) {
            for (int q = p + 1; q < 3; q++) {
                double pp = sn_dot(b[p], b[p]), qq = sn_dot(b[q], b[q]), pq = sn_dot(b[p], b[q]);
                if (fabs(pq) <= 1e-16 * sqrt(pp) * sqrt(qq)) continue;
                rotated = true;
                double zeta = (qq - pp) / (2 * pq);
                double tangent = copysign(1 / (fabs(zeta) + sqrt(1 + zeta * zeta)), zeta);
                if (!isfinite(zeta)) tangent = 0;
                double cosine = 1 / sqrt(1 + tangent * tangent), sine = cosine * tangent;
                sn_vec3 bp = b[p], wp = w[p];
                b[p] = sn_sub(sn_scale(cosine, bp), sn_scale(sine, b[q]));
                b[q] = sn_add(sn_scale(sine, bp), sn_scale(cosine, b[q]));
                w[p] = sn_sub(sn_scale(cosine, wp), sn_scale(sine, w[q]));
                w[q] = sn_add(sn_scale(sine, wp), sn_scale(cosine, w[q]));
            }
        }
        if (!rotated) break;
    }

    int order[3] = {0, 1, 2};
    double length[3] = {sn_length(b[0]), sn_length(b[1]), sn_length(b[2])};
    for (int i = 1; i < 3; i++)
        for (int k = i; k > 0 && length[order[k]] > length[order[k - 1]]; k--) {
            int swap = order[k];
            order[k] = order[k - 1], order[k - 1] = swap;
        }

    enum { NEGLIGIBLE_EXPONENT = -465 }; /* 1e-140 */
    double negligible = ldexp(1, NEGLIGIBLE_EXPONENT);
    sn_vec3 v0 = sn_normalize(w[order[0]]);
    sn_vec3 v1 = w[order[1]];
    v1 = sn_normalize(sn_add_scaled(v1, -sn_dot(v1, v0), v0));
    sn_vec3 v2 = sn_cross(v0, v1); /* det V = +1; the sign goes to s[2] below */
    double flip = sn_dot(v2, w[order[2]]) < 0 ? -1 : 1;

    sn_vec3 u0 = sn_normalize(b[order[0]]);
    sn_vec3 u1 = b[order[1]];
    bool rank_one = length[order[1]] <= 4 * DBL_EPSILON * length[order[0]];
    u1 = rank_one ? rotate_from_to(v1, v0, u0) : sn_normalize(u1);
    u1 = sn_normalize(sn_add_scaled(u1, -sn_dot(u1, u0), u0));
    sn_vec3 u2 = sn_cross(u0, u1);

    *u = sn_mat3_columns(u0, u1, u2);
    *v = sn_mat3_columns(v0, v1, v2);
    s[0] = ldexp(length[order[0]], exponent);
    s[1] = rank_one ? 0 : ldexp(length[order[1]], exponent);
    s[2] = ldexp(copysign(length[order[2]], flip * sn_dot(u2, b[order[2]])), exponent);
    if (rank_one || length[order[2]] <= negligible * length[order[0]]) s[2] = 0;
}

/* The determinant times the inverse transpose. */
static sn_mat3 cofactors(sn_mat3 a) {
    sn_vec3 x = sn_mat3_column(a, 0), y = sn_mat3_column(a, 1), z = sn_mat3_column(a, 2);
    return sn_mat3_columns(sn_cross(y, z), sn_cross(z, x), sn_cross(x, y));
}

static double squared_norm(sn_mat3 a) {
    double sum = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum += a.m[i][j] * a.m[i][j];
    return sum;
}

/* Newton's iteration for the rotation of a polar decomposition, X <- (g X + X^-T / g) / 2 with
 * Higham's scaling g. It takes 1 to 6 rounds, a fraction of what a singular value decomposition
 * costs. False: flat, inverted or not finite, in which case the SVD is needed. */
static bool iterate_to_rotation(sn_mat3 x, sn_mat3 *rotation) {
    enum { MOST_ROUNDS = 12 };
    const double flat = 1e-4, converged = 1e-26;
    double norm = squared_norm(x), determinant = sn_mat3_determinant(x);
    if (!(determinant > flat * norm * sqrt(norm)) || !(norm > 1e-60)) return false;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        sn_mat3 inverse = sn_mat3_scale(1 / determinant, cofactors(x));
        double scale = sqrt(sqrt(squared_norm(inverse) / squared_norm(x)));
        sn_mat3 next = sn_mat3_scale(
            0.5, sn_mat3_add(sn_mat3_scale(scale, x), sn_mat3_scale(1 / scale, inverse)));
        double change = squared_norm(sn_mat3_add(next, sn_mat3_scale(-1, x)));
        x = next;
        if (change < converged) {
            *rotation = x;
            return true;
        }
        determinant = sn_mat3_determinant(x);
    }
    return false;
}

void sn_polar3(sn_mat3 a, sn_mat3 *rotation, sn_mat3 *stretch) {
    sn_mat3 u, v;
    double s[3];
    if (iterate_to_rotation(a, rotation)) {
        if (!stretch) return;
        sn_mat3 y = sn_mat3_multiply(sn_mat3_transpose(*rotation), a);
        *stretch = sn_mat3_scale(0.5, sn_mat3_add(y, sn_mat3_transpose(y)));
        return;
    }
    sn_svd3(a, &u, s, &v);
    *rotation = sn_mat3_multiply(u, sn_mat3_transpose(v));
    if (!stretch) return;
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += v.m[i][k] * s[k] * v.m[j][k];
            stretch->m[i][j] = stretch->m[j][i] = sum;
        }
}

/* min sum w |R a + t - b|^2: t maps one centroid to the other, and R is the rotation of C = sum w
 * (b - b0)(a - a0)^T, the maximizer of trace(R^T C). */
void sn_rigid_fit(int count, const double *a, const double *b, const double *weights,
                  sn_mat3 *rotation, sn_vec3 *translation) {
    double total = 0;
    sn_vec3 center_a = {0, 0, 0}, center_b = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        double weight = weights ? weights[i] : 1;
        total += weight;
        center_a = sn_add_scaled(center_a, weight, sn_at(a, i));
        center_b = sn_add_scaled(center_b, weight, sn_at(b, i));
    }
    *rotation = sn_mat3_identity();
    *translation = sn_v3(0, 0, 0);
    if (!(total > 0)) return;
    center_a = sn_scale(1 / total, center_a);
    center_b = sn_scale(1 / total, center_b);
    sn_mat3 covariance = {{{0}}};
    for (int i = 0; i < count; i++) {
        sn_vec3 p = sn_sub(sn_at(a, i), center_a);
        sn_vec3 q = sn_scale(weights ? weights[i] : 1, sn_sub(sn_at(b, i), center_b));
        covariance = sn_mat3_add(covariance, (sn_mat3){{{q.x * p.x, q.x * p.y, q.x * p.z},
                                                        {q.y * p.x, q.y * p.y, q.y * p.z},
                                                        {q.z * p.x, q.z * p.y, q.z * p.z}}});
    }
    sn_polar3(covariance, rotation, NULL);
    *translation = sn_sub(center_b, sn_mat3_apply(*rotation, center_a));
}
