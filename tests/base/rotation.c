#include "support.h"

#include <float.h>

#include "base/rotation.h"
#include "groups.h"

static uint64_t seed = 12345;

static sn_vec3 random_vector(double scale) {
    double x = test_random(&seed), y = test_random(&seed), z = test_random(&seed);
    return sn_scale(scale, sn_v3(x, y, z));
}
static sn_mat3 random_matrix(void) {
    return sn_mat3_columns(random_vector(1), random_vector(1), random_vector(1));
}
static double difference(sn_mat3 a, sn_mat3 b) {
    double largest = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) largest = fmax(largest, fabs(a.m[i][j] - b.m[i][j]));
    return largest;
}
static double size(sn_mat3 a) {
    return difference(a, (sn_mat3){{{0}}});
}
static void assert_rotation(sn_mat3 r, double tolerance) {
    assert_below(difference(sn_mat3_multiply(sn_mat3_transpose(r), r), sn_mat3_identity()),
                 tolerance);
    assert_close(sn_mat3_determinant(r), 1, tolerance);
}

/* Independent reference: the matrix exponential's Taylor series with scaling and squaring, in
 * extended precision. */
static sn_mat3 series_exp(sn_vec3 w) {
    long double x[3][3] = {{0, -w.z, w.y}, {w.z, 0, -w.x}, {-w.y, w.x, 0}};
    long double sum[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, term[3][3], next[3][3];
    enum { SQUARINGS = 12 };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) x[i][j] /= 1 << SQUARINGS;
    memcpy(term, sum, sizeof sum);
    for (int n = 1; n < 30; n++) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                next[i][j] =
                    (term[i][0] * x[0][j] + term[i][1] * x[1][j] + term[i][2] * x[2][j]) / n;
        memcpy(term, next, sizeof term);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) sum[i][j] += term[i][j];
    }
    for (int k = 0; k < SQUARINGS; k++) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                next[i][j] = sum[i][0] * sum[0][j] + sum[i][1] * sum[1][j] + sum[i][2] * sum[2][j];
        memcpy(sum, next, sizeof sum);
    }
    sn_mat3 result;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) result.m[i][j] = (double)sum[i][j];
    return result;
}

static void exp_agrees_with_the_series(void **state) {
    (void)state;
    const double scales[] = {0, 1e-300, 1e-12, 1e-8, 1e-4, 0.1, 1, 3, 10, 30};
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++)
        for (int trial = 0; trial < 50; trial++) {
            sn_vec3 w = random_vector(scales[k]);
            assert_below(difference(sn_rotation_exp(w), series_exp(w)), 2e-14);
            assert_rotation(sn_rotation_exp(w), 1e-14);
        }
}

static void log_inverts_exp_for_every_angle_below_pi(void **state) {
    (void)state;
    const double angles[] = {0, 1e-200, 1e-30,      1e-15,       1e-9,         0.1,         1,
                             2, 3,      3.14159265, M_PI - 1e-9, M_PI - 1e-12, M_PI - 1e-15};
    for (size_t k = 0; k < sizeof angles / sizeof *angles; k++)
        for (int trial = 0; trial < 50; trial++) {
            sn_vec3 w = sn_scale(angles[k], sn_normalize(random_vector(1)));
            sn_vec3 back = sn_rotation_log(sn_rotation_exp(w));
            /* At pi both signs are the same rotation. */
            double error = sn_distance(w, back);
            if (angles[k] > 3.14159) error = fmin(error, sn_length(sn_add(w, back)));
            assert_below(error, 2e-15 * fmax(1, angles[k]) * (angles[k] > 1e-3 ? 1 : angles[k]));
            assert_below(sn_length(back), M_PI * (1 + 1e-15));
        }
}

static void log_of_half_a_turn_finds_the_axis(void **state) {
    (void)state;
    sn_vec3 axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {M_SQRT1_2, -M_SQRT1_2, 0}};
    for (int k = 0; k < 4; k++) {
        sn_vec3 n = axes[k];
        sn_mat3 half = {{{2 * n.x * n.x - 1, 2 * n.x * n.y, 2 * n.x * n.z},
                         {2 * n.y * n.x, 2 * n.y * n.y - 1, 2 * n.y * n.z},
                         {2 * n.z * n.x, 2 * n.z * n.y, 2 * n.z * n.z - 1}}};
        sn_vec3 w = sn_rotation_log(half);
        assert_close(sn_length(w), M_PI, 1e-15);
        assert_close(fabs(sn_dot(w, n)), M_PI, 1e-14);
    }
}

static void quaternion_product_is_the_matrix_product(void **state) {
    (void)state;
    for (int trial = 0; trial < 100; trial++) {
        sn_mat3 a = sn_rotation_exp(random_vector(4)), b = sn_rotation_exp(random_vector(4));
        sn_quat q = sn_quat_multiply(sn_quat_from_mat3(a), sn_quat_from_mat3(b));
        assert_below(difference(sn_quat_to_mat3(q), sn_mat3_multiply(a, b)), 1e-14);
    }
}

/* Also where the scalar part is small, and any of the others is the largest. */
static void quaternions_of_matrices_are_unit_and_give_them_back(void **state) {
    (void)state;
    uint64_t dice = 11;
    for (int i = 0; i < 400; i++) {
        sn_quat q = {test_random(&dice), test_random(&dice), test_random(&dice),
                     test_random(&dice)};
        if (i % 2) q.w *= 1e-9; /* nearly half a turn */
        if (i % 5 == 1) q.x *= 1e-6;
        if (i % 7 == 1) q.y *= 1e-6;
        if (i % 11 == 1) q.z *= 1e-6;
        q = sn_quat_normalize(q);
        sn_quat back = sn_quat_from_mat3(sn_quat_to_mat3(q));
        double sign = q.w * back.w + q.x * back.x + q.y * back.y + q.z * back.z < 0 ? -1 : 1;
        assert_close(sign * back.w, q.w, 1e-14);
        assert_close(sign * back.x, q.x, 1e-14);
        assert_close(sign * back.y, q.y, 1e-14);
        assert_close(sign * back.z, q.z, 1e-14);
    }
}

/* The largest component is found from the matrix, whichever it is and however small the others. */
static void quaternions_with_tiny_components_come_back(void **state) {
    (void)state;
    static const double sizes[] = {-1, -0.3, -1e-8, 0, 1e-8, 0.3, 1};
    for (int i = 0; i < 7 * 7 * 7 * 7; i++) {
        sn_quat q = {sizes[i % 7], sizes[i / 7 % 7], sizes[i / 49 % 7], sizes[i / 343]};
        if (fabs(q.w) + fabs(q.x) + fabs(q.y) + fabs(q.z) < 0.1) continue;
        q = sn_quat_normalize(q);
        sn_quat back = sn_quat_from_mat3(sn_quat_to_mat3(q));
        double sign = q.w * back.w + q.x * back.x + q.y * back.y + q.z * back.z < 0 ? -1 : 1;
        assert_close(back.w, sign * q.w, 1e-14);
        assert_close(back.x, sign * q.x, 1e-14);
        assert_close(back.y, sign * q.y, 1e-14);
        assert_close(back.z, sign * q.z, 1e-14);
    }
}

static void slerp_turns_evenly(void **state) {
    (void)state;
    sn_quat none = sn_quat_normalize((sn_quat){0, 0, 0, 0});
    assert_true(none.w == 1 && none.x == 0 && none.y == 0 && none.z == 0);
    for (int trial = 0; trial < 100; trial++) {
        sn_vec3 w = random_vector(trial < 50 ? 1.7 : 1e-7);
        sn_mat3 from = sn_rotation_exp(random_vector(3));
        sn_quat a = sn_quat_from_mat3(from);
        sn_quat b = sn_quat_from_mat3(sn_mat3_multiply(from, sn_rotation_exp(w)));
        double t = 0.5 + 0.5 * test_random(&seed);
        sn_mat3 expected = sn_mat3_multiply(from, sn_rotation_exp(sn_scale(t, w)));
        assert_below(difference(sn_quat_to_mat3(sn_quat_slerp(a, b, t)), expected), 1e-14);
    }
}

static void assert_svd(sn_mat3 a) {
    sn_mat3 u, v;
    double s[3];
    sn_svd3(a, &u, s, &v);
    assert_rotation(u, 4e-15);
    assert_rotation(v, 4e-15);
    assert_true(s[0] >= s[1] && s[1] >= fabs(s[2]));
    double scale = size(a);
    sn_mat3 us = u;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) us.m[i][j] *= s[j];
    assert_below(difference(sn_mat3_multiply(us, sn_mat3_transpose(v)), a),
                 8e-15 * scale + 4 * DBL_TRUE_MIN);
}

static void svd_rebuilds_any_matrix(void **state) {
    (void)state;
    const double scales[] = {1, 1e150, 1e300, 1e-150, 1e-300, 1e-310, 4.9e-324};
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        for (int trial = 0; trial < 200; trial++) {
            sn_mat3 a = random_matrix();
            if (trial % 5 == 1) /* rank two */
                for (int i = 0; i < 3; i++) a.m[i][2] = a.m[i][0] - 2 * a.m[i][1];
            if (trial % 5 == 2) /* rank one */
                for (int i = 0; i < 3; i++) a.m[i][1] = 3 * a.m[i][0], a.m[i][2] = -a.m[i][0];
            if (trial % 5 == 3) /* graded columns */
                for (int i = 0; i < 3; i++) a.m[i][1] *= 1e-9, a.m[i][2] *= 1e-200;
            if (trial % 5 == 4) /* nearly a multiple of a rotation */
                a = sn_mat3_add(sn_rotation_exp(random_vector(3)), sn_mat3_scale(1e-13, a));
            assert_svd(sn_mat3_scale(scales[k], a));
        }
    }
    assert_svd((sn_mat3){{{0}}});
    assert_svd(sn_mat3_identity());
    assert_svd(sn_mat3_scale(-1, sn_mat3_identity()));
    for (int i = 0; i < 9; i++) { /* single entries */
        sn_mat3 a = {{{0}}};
        a.m[i / 3][i % 3] = i % 2 ? -DBL_MAX / 4 : DBL_MIN;
        assert_svd(a);
    }
}

static void svd_keeps_the_sign_of_the_determinant_in_the_last_value(void **state) {
    (void)state;
    for (int trial = 0; trial < 200; trial++) {
        sn_mat3 a = random_matrix(), u, v;
        double s[3], determinant = sn_mat3_determinant(a);
        sn_svd3(a, &u, s, &v);
        assert_close(s[0] * s[1] * s[2], determinant, 1e-14);
    }
}

static void svd_finds_small_values_to_relative_accuracy(void **state) {
    (void)state;
    for (int trial = 0; trial < 100; trial++) {
        /* Q diag(1, 1e-8, 1e-16): an orthogonal matrix with scaled columns has these values. */
        sn_mat3 a = sn_rotation_exp(random_vector(3)), u, v;
        const double scale[3] = {1e-16, 1, 1e-8};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) a.m[i][j] *= scale[j];
        double s[3];
        sn_svd3(a, &u, s, &v);
        assert_close(s[0], 1, 1e-14);
        assert_close(s[1], 1e-8, 1e-22);
        assert_close(s[2], 1e-16, 1e-30);
    }
}

static void polar_splits_rotation_from_stretch(void **state) {
    (void)state;
    for (int trial = 0; trial < 200; trial++) {
        sn_mat3 rotation = sn_rotation_exp(random_vector(3)),
                axes = sn_rotation_exp(random_vector(3));
        double s[3] = {2, 1 + 0.5 * test_random(&seed), trial % 2 ? 0.3 : -0.3};
        sn_mat3 stretch, r, y;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                stretch.m[i][j] = axes.m[i][0] * s[0] * axes.m[j][0] +
                                  axes.m[i][1] * s[1] * axes.m[j][1] +
                                  axes.m[i][2] * s[2] * axes.m[j][2];
        sn_polar3(sn_mat3_multiply(rotation, stretch), &r, &y);
        assert_below(difference(r, rotation), 4e-14);
        assert_below(difference(y, stretch), 4e-14);
    }
}

static void rank_one_polar_turns_no_further_than_needed(void **state) {
    (void)state;
    for (int trial = 0; trial < 50; trial++) {
        sn_vec3 from = sn_normalize(random_vector(1)), to = sn_normalize(random_vector(1));
        if (trial == 0) from = sn_normalize(sn_v3(1, 2, 3)), to = sn_normalize(sn_v3(1, 2, 3.5));
        sn_mat3 a = {{{to.x * from.x, to.x * from.y, to.x * from.z},
                      {to.y * from.x, to.y * from.y, to.y * from.z},
                      {to.z * from.x, to.z * from.y, to.z * from.z}}};
        sn_mat3 r, y;
        sn_polar3(a, &r, &y);
        assert_close(sn_length(sn_rotation_log(r)), acos(sn_dot(from, to)), 1e-6);
        assert_below(sn_distance(sn_mat3_apply(r, from), to), 1e-12);
    }
}

static void inverse_times_matrix_is_the_identity(void **state) {
    (void)state;
    const double scales[] = {1, 1e120, 1e-120, 1e-300};
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++)
        for (int trial = 0; trial < 100; trial++) {
            sn_mat3 a = sn_mat3_scale(scales[k], random_matrix()), inverse;
            if (fabs(sn_mat3_determinant(sn_mat3_scale(1 / scales[k], a))) < 1e-2) continue;
            assert_true(sn_mat3_inverse(a, &inverse));
            assert_below(difference(sn_mat3_multiply(a, inverse), sn_mat3_identity()), 1e-12);
        }
}

static void singular_matrix_has_no_inverse(void **state) {
    (void)state;
    sn_mat3 untouched = sn_mat3_identity();
    assert_false(sn_mat3_inverse((sn_mat3){{{0}}}, &untouched));
    assert_false(sn_mat3_inverse((sn_mat3){{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}}, &untouched));
    assert_false(sn_mat3_inverse((sn_mat3){{{NAN, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, &untouched));
    assert_false(
        sn_mat3_inverse((sn_mat3){{{1e-310, 0, 0}, {0, 1e-310, 0}, {0, 0, 1e-310}}}, &untouched));
    assert_below(difference(untouched, sn_mat3_identity()), 0);
}

static void rigid_fit_finds_the_motion(void **state) {
    (void)state;
    double a[60], b[60], weights[20];
    sn_mat3 rotation = sn_rotation_exp(sn_v3(1, -2, 0.5)), r;
    sn_vec3 translation = sn_v3(10, -3, 7), t;
    for (int i = 0; i < 20; i++) {
        sn_put(a, i, random_vector(2));
        sn_put(b, i, sn_add(sn_mat3_apply(rotation, sn_at(a, i)), translation));
        weights[i] = 1.5 + test_random(&seed);
    }
    sn_rigid_fit(20, a, b, weights, &r, &t);
    assert_below(difference(r, rotation), 1e-14);
    assert_below(sn_distance(t, translation), 1e-13);
    sn_rigid_fit(1, a, b, NULL, &r, &t); /* one point: any rotation that carries it */
    assert_below(sn_distance(sn_add(sn_mat3_apply(r, sn_at(a, 0)), t), sn_at(b, 0)), 1e-14);
    sn_rigid_fit(0, a, b, NULL, &r, &t);
    assert_rotation(r, 0);
}

static void rigid_fit_of_a_mirror_image_is_still_a_rotation(void **state) {
    (void)state;
    double a[60], b[60];
    for (int i = 0; i < 20; i++) {
        sn_vec3 p = random_vector(1);
        sn_put(a, i, p);
        sn_put(b, i, sn_v3(-p.x, p.y, p.z));
    }
    sn_mat3 r;
    sn_vec3 t;
    sn_rigid_fit(20, a, b, NULL, &r, &t);
    assert_rotation(r, 1e-14);
}

int test_rotation(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_agrees_with_the_series),
        cmocka_unit_test(log_inverts_exp_for_every_angle_below_pi),
        cmocka_unit_test(log_of_half_a_turn_finds_the_axis),
        cmocka_unit_test(quaternion_product_is_the_matrix_product),
        cmocka_unit_test(quaternions_of_matrices_are_unit_and_give_them_back),
        cmocka_unit_test(quaternions_with_tiny_components_come_back),
        cmocka_unit_test(slerp_turns_evenly),
        cmocka_unit_test(svd_rebuilds_any_matrix),
        cmocka_unit_test(svd_keeps_the_sign_of_the_determinant_in_the_last_value),
        cmocka_unit_test(svd_finds_small_values_to_relative_accuracy),
        cmocka_unit_test(polar_splits_rotation_from_stretch),
        cmocka_unit_test(rank_one_polar_turns_no_further_than_needed),
        cmocka_unit_test(inverse_times_matrix_is_the_identity),
        cmocka_unit_test(singular_matrix_has_no_inverse),
        cmocka_unit_test(rigid_fit_finds_the_motion),
        cmocka_unit_test(rigid_fit_of_a_mirror_image_is_still_a_rotation),
    };
    return cmocka_run_group_tests_name("rotation", tests, NULL, NULL);
}
