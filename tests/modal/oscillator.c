#include "support.h"

#include <stdbool.h>

#include "groups.h"
#include "modal/oscillator.h"

/* Independent reference: z'' = -2 zeta z' - lambda^2 z by the classical Runge–Kutta method, in
 * extended precision. */
static void integrate(double lambda, double zeta, long double *z, long double *v, double time,
                      int steps) {
    long double h = (long double)time / steps, l2 = (long double)lambda * lambda;
    for (int i = 0; i < steps; i++) {
        long double z1 = *v, v1 = -2 * zeta * *v - l2 * *z;
        long double z2 = *v + h / 2 * v1, v2 = -2 * zeta * z2 - l2 * (*z + h / 2 * z1);
        long double z3 = *v + h / 2 * v2, v3 = -2 * zeta * z3 - l2 * (*z + h / 2 * z2);
        long double z4 = *v + h * v3, v4 = -2 * zeta * z4 - l2 * (*z + h * z3);
        *z += h / 6 * (z1 + 2 * z2 + 2 * z3 + z4);
        *v += h / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
    }
}

static void closed_forms_agree_with_integration_in_every_regime(void **state) {
    (void)state;
    const double cases[][2] = {{9, 0.4},       {9, 0},
                               {3, 3},         {3, 3.0000001},
                               {3, 2.9999999}, {3, 7},
                               {3, 20},        {0, 0},
                               {1e-6, 0},      {0, 5},
                               {40, 1},        {1, 1e-9},
                               {25, 24.9},     {0.1, 0.10000000000000002}};
    const double T = 1.3, from = 0.7, to = -1.1;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double lambda = cases[c][0], zeta = cases[c][1];
        sn_oscillation o = sn_oscillation_at(lambda, zeta, T, 0);
        long double z = from, v = from * o.a_rate + to * o.b_rate;
        double size = 1;
        for (int k = 1; k <= 20; k++) {
            integrate(lambda, zeta, &z, &v, T / 20, 2000);
            o = sn_oscillation_at(lambda, zeta, T, k * T / 20);
            double value = from * o.a + to * o.b, rate = from * o.a_rate + to * o.b_rate;
            size = fmax(size, fabs(value));
            assert_close(value, (double)z, 1e-10 * size);
            assert_close(rate, (double)v, 1e-9 * size * fmax(1, fmax(lambda, zeta)));
        }
        assert_close((double)z, to, 1e-9 * size);
    }
}

static void large_damping_and_frequency_do_not_overflow(void **state) {
    (void)state;
    const double values[] = {0, 1e-3, 1, 30, 1e3, 1e4};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            sn_oscillator o = sn_oscillator_fit(values[i], values[j], 2, -3, 1, 1, SN_FIT_WEIGHTS);
            for (int k = 0; k <= 100; k++) {
                double z = sn_oscillator_at(&o, k / 50.0);
                assert_true(isfinite(z));
                assert_below(fabs(z), 20);
            }
            assert_close(sn_oscillator_at(&o, 0), 2, 1e-12);
            assert_close(sn_oscillator_at(&o, 1), -3, 1e-12);
        }
}

static void motion_is_continuous_across_critical_damping(void **state) {
    (void)state;
    for (int k = 0; k <= 20; k++) {
        double t = k / 20.0;
        sn_oscillation at = sn_oscillation_at(4, 4, 1, t);
        for (double step = 1e-13; step < 1e-4; step *= 10)
            for (int sign = -1; sign <= 1; sign += 2) {
                sn_oscillation near = sn_oscillation_at(4 * (1 + sign * step), 4, 1, t);
                assert_close(near.a, at.a, 30 * step + 1e-14);
                assert_close(near.b, at.b, 1000 * step + 1e-12);
            }
    }
}

static void gentle_roots_solve_their_equation(void **state) {
    (void)state;
    for (int k = 1; k < 50; k++)
        for (double damping = 0; damping < 1e4; damping = damping * 3 + 0.1) {
            double x = sn_gentle_root(k, damping);
            assert_true(x > (k - 0.5) * M_PI * (1 - 1e-15) && x <= k * M_PI);
            assert_below(fabs(x * cos(x) + damping * sin(x)), 1e-12 * (x + damping));
        }
}

static void settling_modes_start_gently(void **state) {
    (void)state;
    for (double lambda = 0.1; lambda < 300; lambda *= 1.1) {
        for (double zeta = 0; zeta < 20; zeta = zeta * 2 + 0.05) {
            sn_oscillator o = sn_oscillator_fit(lambda, zeta, 1, 0, 1, 1, SN_FIT_WEIGHTS);
            double h = 1e-6 / fmax(1, lambda);
            double velocity = (sn_oscillator_at(&o, h) - sn_oscillator_at(&o, 0)) / h;
            double w2 = (lambda - zeta) * (lambda + zeta);
            bool fitted = w2 > 0 && sqrt(w2) > sn_gentle_root(1, zeta);
            if (fitted) assert_below(fabs(velocity), 1e-3 * fmax(1, lambda));
            /* never faster than a straight line would be, but for the pull of the damper */
            assert_below(fabs(velocity), 1.001 + 2 * zeta + 1e-3 * lambda);
        }
    }
}

static void motion_is_continuous_in_the_frequency(void **state) {
    (void)state;
    for (double zeta = 0; zeta < 3; zeta += 1.3) {
        double last[11] = {0};
        const double step = 1e-3;
        for (double lambda = 0; lambda < 25; lambda += step) {
            sn_oscillator o = sn_oscillator_fit(lambda, zeta, 1, 0, 1, 1, SN_FIT_WEIGHTS);
            for (int k = 0; k <= 10; k++) {
                double z = sn_oscillator_at(&o, k / 10.0);
                if (lambda > 0) assert_close(z, last[k], 50 * step);
                last[k] = z;
            }
        }
    }
}

static void without_spring_and_damper_the_path_is_straight(void **state) {
    (void)state;
    for (double eta = 0; eta <= 1; eta += 0.5) {
        sn_oscillator o = sn_oscillator_fit(0, 0, 0.3, 2, 1.7, eta, SN_FIT_WEIGHTS);
        for (int k = 0; k <= 10; k++)
            assert_close(sn_oscillator_at(&o, 0.17 * k), 0.3 + 0.17 * k, 1e-12);
        assert_close(sn_oscillator_at(&o, 5), 2, 1e-12);
    }
}

/* For rests other than the end: the fit's three-term objective, evaluated here on a dense grid. */
static double objective(double lambda0, double zeta0, double from, double to, double x,
                        double zeta) {
    double w0 = sqrt(lambda0 * lambda0 - zeta0 * zeta0);
    double v = -from * (zeta + x * cos(x) / sin(x)) + to * exp(zeta) * x / sin(x);
    double s = fmax(fabs(from), fabs(to));
    return 0.5 * pow(v / (x * s), 2) + 0.25 * pow((x - w0) / M_PI, 2) + 0.25 * pow(zeta - zeta0, 2);
}

static void offset_rest_fits_as_well_as_a_dense_scan(void **state) {
    (void)state;
    uint64_t seed = 4;
    for (int trial = 0; trial < 30; trial++) {
        double lambda = 4 + 25 * fabs(test_random(&seed)),
               zeta = 0.1 * lambda * fabs(test_random(&seed));
        double from = test_random(&seed), to = test_random(&seed), eta = 0.3;
        double rest = (1 - eta) * from + eta * to, w = sqrt(lambda * lambda - zeta * zeta);
        double best = 1e300;
        for (int i = 0; i <= 2000; i++)
            for (int j = 0; j <= 60; j++) {
                double x = w + M_PI * (i / 1000.0 - 1), z = (zeta + 0.2) * j / 40;
                if (x > 0.01)
                    best = fmin(best, objective(lambda, zeta, from - rest, to - rest, x, z));
            }
        sn_oscillator o = sn_oscillator_fit(lambda, zeta, from, to, 1, eta, SN_FIT_WEIGHTS);
        double x = sqrt(o.lambda[0] * o.lambda[0] - o.zeta[0] * o.zeta[0]);
        assert_below(objective(lambda, zeta, from - rest, to - rest, x, o.zeta[0]),
                     1.01 * best + 1e-9);
        assert_close(sn_oscillator_at(&o, 0), from, 1e-9);
        assert_close(sn_oscillator_at(&o, 1), to, 1e-9);
    }
}

int test_oscillator(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms_agree_with_integration_in_every_regime),
        cmocka_unit_test(large_damping_and_frequency_do_not_overflow),
        cmocka_unit_test(motion_is_continuous_across_critical_damping),
        cmocka_unit_test(gentle_roots_solve_their_equation),
        cmocka_unit_test(settling_modes_start_gently),
        cmocka_unit_test(motion_is_continuous_in_the_frequency),
        cmocka_unit_test(without_spring_and_damper_the_path_is_straight),
        cmocka_unit_test(offset_rest_fits_as_well_as_a_dense_scan),
    };
    return cmocka_run_group_tests_name("oscillator", tests, NULL, NULL);
}
