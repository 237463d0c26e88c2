/* One vibration mode between two key values: damped oscillation in closed form.
 *
 *   z'' + 2 zeta z' + lambda^2 (z - rest) = 0,   z(0) = from,  z(T) = to
 *
 * in all regimes (under-, critically and over-damped) without overflow. Of the many solutions for
 * one lambda only those start gently that fit the interval, so frequency and damping are adjusted a
 * little (sn_oscillator_fit). Times in seconds, lambda and zeta in 1/s. */
#ifndef SN_MODAL_OSCILLATOR_H
#define SN_MODAL_OSCILLATOR_H

/* Values of z and its derivative for unit ends: z = rest + (from - rest) a + (to - rest) b. */
typedef struct sn_oscillation {
    double a, b;
    double a_rate, b_rate;
} sn_oscillation;

/* Unit solutions at time t of an interval of `duration` > 0; t beyond the interval goes on. */
sn_oscillation sn_oscillation_at(double lambda, double zeta, double duration, double t);

/* How strongly the fit for rest offsets below 1 weighs a gentle start, the frequency and the
 * damping. */
typedef struct sn_fit_weights {
    double velocity, frequency, damping;
} sn_fit_weights;
static const sn_fit_weights SN_FIT_WEIGHTS = {0.5, 0.25, 0.25};

typedef struct sn_oscillator {
    double from, to, rest, duration;
    /* A crossfade of two fitted solutions: share of the second in [0, 1]. */
    double lambda[2], zeta[2];
    double share;
} sn_oscillator;

/* rest_offset eta: the mode swings about (1 - eta) from + eta to. eta = 1 settles into `to`. */
sn_oscillator sn_oscillator_fit(double lambda, double zeta, double from, double to, double duration,
                                double rest_offset, sn_fit_weights weights);
/* The same about any rest; the first as published, the second without a fit. */
sn_oscillator sn_oscillator_published(double lambda, double zeta, double from, double to,
                                      double duration, double rest, sn_fit_weights weights);
sn_oscillator sn_oscillator_about(double lambda, double zeta, double from, double to,
                                  double duration, double rest);
/* The gentle fit about any rest. */
sn_oscillator sn_oscillator_fit_about(double lambda, double zeta, double from, double to,
                                      double duration, double rest, sn_fit_weights weights);
double sn_oscillator_at(const sn_oscillator *oscillator, double t);

/* The k-th positive root of x cos x + damping sin x, k >= 1, damping >= 0: where a mode that
 * settles into its end starts at rest. */
double sn_gentle_root(int k, double damping);

#endif
