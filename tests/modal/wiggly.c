#include "support.h"

#include <stdbool.h>

#include "groups.h"
#include "modal/wiggly.h"

enum { KEYS = 5 };
static const double times[KEYS] = {0, 0.4, 1, 1.3, 2};
static const double values[KEYS] = {0.3, -1, 0.8, 0.2, 0.9};

static void solve(double lambda, double zeta, sn_wiggly_rest rest, const double *velocities,
                  sn_wiggly_piece *pieces) {
    double scratch[3 * KEYS];
    sn_wiggly_solve(KEYS, times, values, velocities, lambda, zeta, rest, scratch, pieces);
}

/* Independent reference: the cubic spline by its second derivatives (dense elimination), natural or
 * clamped with zero slopes. */
static double cubic_spline(bool clamped, double t) {
    double m[KEYS][KEYS + 1] = {{0}};
    for (int k = 1; k + 1 < KEYS; k++) {
        double a = times[k] - times[k - 1], b = times[k + 1] - times[k];
        m[k][k - 1] = a / 6, m[k][k] = (a + b) / 3, m[k][k + 1] = b / 6;
        m[k][KEYS] = (values[k + 1] - values[k]) / b - (values[k] - values[k - 1]) / a;
    }
    double first = times[1] - times[0], last = times[KEYS - 1] - times[KEYS - 2];
    m[0][0] = m[KEYS - 1][KEYS - 1] = 1;
    if (clamped) {
        m[0][0] = first / 3, m[0][1] = first / 6, m[0][KEYS] = (values[1] - values[0]) / first;
        m[KEYS - 1][KEYS - 1] = last / 3, m[KEYS - 1][KEYS - 2] = last / 6;
        m[KEYS - 1][KEYS] = -(values[KEYS - 1] - values[KEYS - 2]) / last;
    }
    for (int i = 0; i < KEYS; i++)
        for (int j = 0; j < KEYS; j++) {
            if (j == i) continue;
            double f = m[j][i] / m[i][i];
            for (int c = 0; c <= KEYS; c++) m[j][c] -= f * m[i][c];
        }
    int k = 0;
    while (k + 2 < KEYS && t > times[k + 1]) k++;
    double h = times[k + 1] - times[k], a = (times[k + 1] - t) / h, b = 1 - a;
    double second0 = m[k][KEYS] / m[k][k], second1 = m[k + 1][KEYS] / m[k + 1][k + 1];
    return a * values[k] + b * values[k + 1] +
           ((a * a * a - a) * second0 + (b * b * b - b) * second1) * h * h / 6;
}

static void without_spring_and_damper_it_is_a_cubic_spline(void **state) {
    (void)state;
    const double natural[KEYS] = {NAN, NAN, NAN, NAN, NAN};
    sn_wiggly_piece pieces[KEYS - 1];
    for (int k = 0; k <= 100; k++) {
        double t = 0.02 * k;
        solve(0, 0, SN_WIGGLY_LINE, NULL, pieces);
        assert_close(sn_wiggly_at(KEYS, times, pieces, 0, 0, t), cubic_spline(true, t), 1e-10);
        solve(1e-7, 1e-8, SN_WIGGLY_LINE, NULL, pieces);
        assert_close(sn_wiggly_at(KEYS, times, pieces, 1e-7, 1e-8, t), cubic_spline(true, t), 1e-6);
        solve(0, 0, SN_WIGGLY_LINE, natural, pieces);
        assert_close(sn_wiggly_at(KEYS, times, pieces, 0, 0, t), cubic_spline(false, t), 1e-10);
    }
}

static const double cases[][2] = {{0, 0},     {0.5, 0},    {5, 0.3},     {5, 0},   {5, 5},
                                  {5, 5.001}, {5, 20},     {5, 200},     {40, 1},  {200, 0},
                                  {200, 5},   {1000, 300}, {1000, 2000}, {0, 5},   {0, 50},
                                  {1e4, 0},   {1e4, 1},    {1e4, 1e4},   {0, 1e4}, {1, 1e4}};
enum { CASES = sizeof cases / sizeof *cases };

static void keys_are_met_and_everything_is_finite(void **state) {
    (void)state;
    sn_wiggly_piece pieces[KEYS - 1];
    for (int c = 0; c < CASES; c++)
        for (int rest = 0; rest < 2; rest++) {
            double lambda = cases[c][0], zeta = cases[c][1];
            solve(lambda, zeta, (sn_wiggly_rest)rest, NULL, pieces);
            for (int k = 0; k < KEYS; k++) {
                assert_close(sn_wiggly_at(KEYS, times, pieces, lambda, zeta, times[k]), values[k],
                             1e-9);
                if (k > 0) /* from the left too */
                    assert_close(
                        sn_wiggly_at(KEYS, times, pieces, lambda, zeta, times[k] * (1 - 1e-15)),
                        values[k], 1e-7);
            }
            for (int k = 0; k <= 400; k++) {
                double z = sn_wiggly_at(KEYS, times, pieces, lambda, zeta, 0.01 * k);
                assert_true(isfinite(z));
                assert_below(fabs(z), 50);
            }
        }
}

static void velocities_are_continuous_and_as_prescribed(void **state) {
    (void)state;
    const double wanted[KEYS] = {1, NAN, -2, NAN, 0.5};
    sn_wiggly_piece pieces[KEYS - 1];
    for (int c = 0; c < 12; c++) {
        double lambda = cases[c][0], zeta = cases[c][1], h = 1e-6 / (1 + lambda + zeta);
        solve(lambda, zeta, SN_WIGGLY_LINE, wanted, pieces);
        for (int k = 0; k < KEYS; k++) {
            double here = sn_wiggly_at(KEYS, times, pieces, lambda, zeta, times[k]);
            double after =
                (sn_wiggly_at(KEYS, times, pieces, lambda, zeta, times[k] + h) - here) / h;
            double before =
                (here - sn_wiggly_at(KEYS, times, pieces, lambda, zeta, times[k] - h)) / h;
            if (k > 0 && k + 1 < KEYS) assert_close(after, before, 1e-3 * (1 + lambda + zeta));
            if (!isnan(wanted[k]))
                assert_close(k ? before : after, wanted[k], 1e-3 * (1 + lambda + zeta));
        }
    }
}

/* Energy of curve + bump by quadrature, the bump a cubic B-spline-like hat that vanishes at the
 * keys: any other curve through the keys must cost more. */
static double bump(double t, int which, double *rate, double *second) {
    double a = times[which], b = times[which + 1];
    *rate = *second = 0;
    if (t <= a || t >= b) return 0;
    double h = b - a, x = (t - a) / h, s = sin(M_PI * x), c = cos(M_PI * x);
    double p = M_PI / h;
    *rate = 3 * s * s * c * p;
    *second = (6 * s * c * c - 3 * s * s * s) * p * p;
    return s * s * s;
}

static void energy_is_below_any_perturbed_interpolant(void **state) {
    (void)state;
    sn_wiggly_piece pieces[KEYS - 1];
    const int n = 8000;
    for (int c = 0; c < 9; c++) {
        double lambda = cases[c][0], zeta = cases[c][1];
        if (zeta > 30) continue;
        solve(lambda, zeta, SN_WIGGLY_LINE, NULL, pieces);
        double energy = sn_wiggly_energy(KEYS, times, pieces, lambda, zeta);
        for (int which = 0; which + 1 < KEYS; which++) {
            /* d/de of the energy of (curve + e bump) at 0, by differences of the curve itself */
            double slope = 0, curvature = 0, own = 0, a = times[which], b = times[which + 1];
            double h = (b - a) / n;
            for (int i = 2; i < n - 2; i += 4) {
                double t = a + h * i, d = 1e-4 * (b - a);
                double z0 = sn_wiggly_at(KEYS, times, pieces, lambda, zeta, t - d);
                double z1 = sn_wiggly_at(KEYS, times, pieces, lambda, zeta, t);
                double z2 = sn_wiggly_at(KEYS, times, pieces, lambda, zeta, t + d);
                double x = (t - a) / (b - a);
                double rest = (1 - x) * values[which] + x * values[which + 1];
                double rest_rate = (values[which + 1] - values[which]) / (b - a);
                double force = (z0 - 2 * z1 + z2) / (d * d) +
                               2 * zeta * ((z2 - z0) / (2 * d) - rest_rate) +
                               lambda * lambda * (z1 - rest);
                double rate, second, value = bump(t, which, &rate, &second);
                double extra = second + 2 * zeta * rate + lambda * lambda * value;
                slope += 4 * h * force * extra, curvature += 4 * h * extra * extra;
                own += 4 * h * force * force;
            }
            /* stationary: no gain from a small bump either way */
            assert_below(fabs(slope), 2e-3 * sqrt(curvature * fmax(energy, 1e-3)));
            (void)own;
        }
    }
}

static void held_pose_is_held(void **state) {
    (void)state;
    const double held[3] = {0.7, 0.7, 0.7}, at[3] = {0, 1, 3};
    sn_wiggly_piece pieces[2];
    double scratch[9];
    for (int c = 0; c < CASES; c++) {
        sn_wiggly_solve(3, at, held, NULL, cases[c][0], cases[c][1], SN_WIGGLY_LINE, scratch,
                        pieces);
        for (int k = 0; k <= 50; k++)
            assert_close(sn_wiggly_at(3, at, pieces, cases[c][0], cases[c][1], 0.1 * k), 0.7, 1e-9);
    }
}

static void past_the_last_key_it_rings_out(void **state) {
    (void)state;
    sn_wiggly_piece pieces[KEYS - 1];
    const double moving[KEYS] = {0, NAN, NAN, NAN, NAN};
    solve(20, 2, SN_WIGGLY_LINE, moving, pieces);
    assert_close(sn_wiggly_at(KEYS, times, pieces, 20, 2, 2 + 1e-9), values[KEYS - 1], 1e-7);
    assert_close(sn_wiggly_at(KEYS, times, pieces, 20, 2, 10), values[KEYS - 1], 1e-5);
}

int test_wiggly(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_spring_and_damper_it_is_a_cubic_spline),
        cmocka_unit_test(keys_are_met_and_everything_is_finite),
        cmocka_unit_test(velocities_are_continuous_and_as_prescribed),
        cmocka_unit_test(energy_is_below_any_perturbed_interpolant),
        cmocka_unit_test(held_pose_is_held),
        cmocka_unit_test(past_the_last_key_it_rings_out),
    };
    return cmocka_run_group_tests_name("wiggly splines", tests, NULL, NULL);
}
