/* From key poses and parameters to curves in time.
 *
 * Based on: Huang et al., "Interactive shape interpolation through controllable dynamic
 * deformation" (2011).
 * We differ in: units (frequencies by swings of the slowest mode in a key interval, damping as a
 * ratio), the rotation of each part as a whole, which is taken out of a pose before its elements
 * are read, residuals in rotation and strain, and the fading of modes that frames cannot show. */
#include "modal/motion.h"
#include "modal/fast.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "modal/fast.h"

static const double PI = 3.14159265358979323846;
static const double MOST_AMPLITUDE = 1e6; /* far more than anyone wants; shapes stay finite */

void sinew_modal_parameters_init(sinew_modal_parameters *options) {
    *options = (sinew_modal_parameters){.size = sizeof *options,
                                        .swings = SINEW_MODAL_SWINGS_DEFAULT,
                                        .damping = SINEW_MODAL_DAMPING_DEFAULT,
                                        .alpha_mass = -1,
                                        .alpha_stiffness = -1,
                                        .rest_offset = SINEW_MODAL_REST_OFFSET_DEFAULT,
                                        .stiffness = 1,
                                        .rate = SINEW_MODAL_RATE_DEFAULT};
}

/* ---- curves over the mode number ---------------------------------------------------------- */

/* Monotone cubic (Fritsch and Carlson 1980): no overshoot between points, so that a curve of values
 * in a range stays in it. */
sinew_status sinew_modal_curve(int point_count, const double *numbers, const double *points,
                               int count, double *values, sinew_error *error) {
    SN_REQUIRE(point_count >= 1 && numbers && points && count >= 0 && values, error);
    for (int k = 0; k < point_count; k++) {
        if (!isfinite(numbers[k]) || !isfinite(points[k]) || numbers[k] < 0)
            return sn_fail(error, SINEW_BAD_INPUT, "point %d of a curve over modes is not usable",
                           k);
        if (k > 0 && !(numbers[k] > numbers[k - 1]))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "points of a curve over modes must have increasing numbers");
    }
    for (int i = 0; i < count; i++) {
        int k = 0;
        while (k + 1 < point_count && numbers[k + 1] <= i) k++;
        if (i <= numbers[0] || k + 1 == point_count) {
            values[i] = i <= numbers[0] ? points[0] : points[point_count - 1];
            continue;
        }
        double slope[2], h = numbers[k + 1] - numbers[k], own = (points[k + 1] - points[k]) / h;
        for (int side = 0; side < 2; side++) {
            int at = k + side;
            if (at == 0 || at == point_count - 1) {
                slope[side] = own;
                continue;
            }
            double a = (points[at] - points[at - 1]) / (numbers[at] - numbers[at - 1]);
            double b = (points[at + 1] - points[at]) / (numbers[at + 1] - numbers[at]);
            slope[side] = a * b <= 0 ? 0 : 2 * a * b / (a + b);
        }
        double x = (i - numbers[k]) / h, y = 1 - x;
        values[i] = points[k] * y * y * (1 + 2 * x) + points[k + 1] * x * x * (1 + 2 * y) +
                    h * x * y * (slope[0] * y - slope[1] * x);
    }
    return SINEW_OK;
}

/* ---- parameters --------------------------------------------------------------------------------
 */

static sinew_status check_parameters(const sinew_modal_parameters *k, sinew_error *error) {
    if (!(k->swings > 0) || !isfinite(k->swings))
        return sn_fail(error, SINEW_BAD_INPUT, "swings must be positive");
    if (!(k->frequency >= 0) || !isfinite(k->frequency))
        return sn_fail(error, SINEW_BAD_INPUT, "frequency must not be negative");
    if (!(k->damping >= 0) || !isfinite(k->damping))
        return sn_fail(error, SINEW_BAD_INPUT, "damping must not be negative");
    if (!isfinite(k->alpha_mass) || !isfinite(k->alpha_stiffness))
        return sn_fail(error, SINEW_BAD_INPUT, "alpha_mass and alpha_stiffness must be finite");
    if (!(k->rest_offset >= 0 && k->rest_offset <= 1))
        return sn_fail(error, SINEW_BAD_INPUT, "rest_offset must lie in [0, 1]");
    if (!(k->stiffness > 0) || !isfinite(k->stiffness))
        return sn_fail(error, SINEW_BAD_INPUT, "stiffness must be positive");
    if (!(k->rate >= 0) || !isfinite(k->rate))
        return sn_fail(error, SINEW_BAD_INPUT, "rate must not be negative");
    if (k->count < 0 || (!k->count && (k->gamma || k->kappa || k->amplitude || k->fit)))
        return sn_fail(error, SINEW_BAD_INPUT, "parameters per mode need their count");
    for (int i = 0; i < k->count; i++) {
        if (k->gamma && !(k->gamma[i] >= -1 && k->gamma[i] <= 1))
            return sn_fail(error, SINEW_BAD_INPUT, "gamma of mode %d must lie in [-1, 1]", i);
        if (k->kappa && !(k->kappa[i] >= -1 && k->kappa[i] < 1))
            return sn_fail(error, SINEW_BAD_INPUT, "kappa of mode %d must lie in [-1, 1)", i);
        if (k->amplitude && !(fabs(k->amplitude[i]) <= MOST_AMPLITUDE))
            return sn_fail(error, SINEW_BAD_INPUT, "amplitude of mode %d must lie in [-1e6, 1e6]",
                           i);
        for (int j = 0; k->fit && j < 3; j++)
            if (!(k->fit[3 * i + j] >= 0) || !isfinite(k->fit[3 * i + j]))
                return sn_fail(error, SINEW_BAD_INPUT, "fit of mode %d must not be negative", i);
    }
    for (int axis = 0; axis < 3; axis++)
        if (!isfinite(k->gravity[axis]))
            return sn_fail(error, SINEW_BAD_INPUT, "gravity is not finite");
    return SINEW_OK;
}

/* Value of a parameter for mode i; the last one given serves all further modes. */
static double value_of(const double *values, int count, int i, double standard) {
    return values ? values[i < count ? i : count - 1] : standard;
}

static double largest(const double *values, int count, double standard) {
    double most = values ? values[0] : standard;
    for (int i = 1; values && i < count; i++) most = fmax(most, values[i]);
    return most;
}

/* lambda and zeta of each track:
 *   lambda_i = lambda_i/lambda_1 * 2 pi swings/T   (or hertz, or the material's own)
 *   zeta_i   = (alpha_M + alpha_K lambda_i^2)/2 * (gamma_i + 1)/2, before kappa
 *   lambda_i^2 *= exp(kappa_i/(1 - |kappa_i|))
 * Rotations of parts have lambda = 0 and the damping of the mass; they are straight only when every
 * mode is. Centers move along splines. */
static void set_tracks(sinew_modal_motion *motion, const sinew_modal_parameters *parameters) {
    const sn_modes *modes = motion->modal->modes;
    double interval =
        (motion->times[motion->key_count - 1] - motion->times[0]) / (motion->key_count - 1);
    double first = modes->lambda[0];
    for (int i = 0; i < modes->mode_count && !(first > 0); i++) first = modes->lambda[i];
    double slowest = parameters->frequency > 0 ? 2 * PI * parameters->frequency
                                               : 2 * PI * parameters->swings / interval;
    double scale = first > 0 ? slowest / first : 0;
    if (parameters->physical) scale = 1;
    scale *= sqrt(parameters->stiffness);
    double reference = scale * first;
    double alpha_mass =
        parameters->alpha_mass >= 0 ? parameters->alpha_mass : parameters->damping * reference;
    double alpha_stiffness = parameters->alpha_stiffness >= 0 ? parameters->alpha_stiffness
                             : reference > 0                  ? parameters->damping / reference
                                                              : 0;
    double widest = largest(parameters->gamma, parameters->count, 1);
    double loudest = largest(parameters->amplitude, parameters->count, 1);
    int centers = motion->track_count - 3 * motion->modal->body->rs->component_count;
    for (int i = 0; i < motion->track_count; i++) {
        sn_track *track = &motion->tracks[i];
        bool mode = i < modes->mode_count;
        double lambda = mode ? scale * modes->lambda[i] : 0;
        double gamma = mode ? value_of(parameters->gamma, parameters->count, i, 1) : widest;
        double kappa = mode ? value_of(parameters->kappa, parameters->count, i, 0) : 0;
        track->zeta = 0.5 * (alpha_mass + alpha_stiffness * lambda * lambda) * 0.5 * (gamma + 1);
        track->lambda = kappa <= -1 ? 0 : lambda * exp(0.5 * kappa / (1 - fabs(kappa)));
        track->amplitude =
            mode ? value_of(parameters->amplitude, parameters->count, i, 1) : loudest;
        if (i >= centers) track->lambda = track->zeta = 0, track->amplitude = 1;
        double w2 = (track->lambda - track->zeta) * (track->lambda + track->zeta);
        /* What happens within a few frames cannot be shown: none of the motion below 3 frames a
         * period, all from 6 on. An over-damped mode snaps into its end at the rate zeta + u; while
         * slower modes are still on their way that tears a shape apart. */
        double pace = w2 > 0 ? fmax(sqrt(w2), track->zeta) : track->zeta + sqrt(-w2);
        if (parameters->rate > 0 && track->lambda > 0) {
            double frames = parameters->rate * 2 * PI / pace;
            track->amplitude *= fmin(fmax((frames - 3) / 3, 0), 1);
        }
    }
}

static void set_figures(sinew_modal_motion *motion) {
    for (int i = 0; i < motion->modal->modes->mode_count; i++) {
        const sn_track *track = &motion->tracks[i];
        motion->frequency[i] = track->lambda / (2 * PI);
        motion->damping[i] = track->lambda > 0 ? track->zeta / track->lambda : 0;
    }
}

static double damped_hertz(double lambda, double zeta) {
    return sqrt(fmax((lambda - zeta) * (lambda + zeta), 0)) / (2 * PI);
}

/* After the fit. */
static void set_moving(sinew_modal_motion *motion) {
    for (int i = 0; i < motion->modal->modes->mode_count; i++) {
        const sn_track *track = &motion->tracks[i];
        const sn_oscillator *o = &track->oscillator;
        for (int k = 0; k < 2; k++)
            motion->fitted[2 * i + k] = track->pieces ? damped_hertz(track->lambda, track->zeta)
                                                      : damped_hertz(o->lambda[k], o->zeta[k]);
        motion->fitted_share[i] = track->pieces ? 0 : o->share;
    }
}

/* Periods of a mode between two keys that are still told apart. */
static const double MOST_PERIODS = 1e6;

/* A mode that is too fast to be computed is a mistake in the parameters, said in their words. */
static sinew_status check_tracks(const sinew_modal_motion *motion, sinew_error *error) {
    double longest = 0;
    for (int k = 1; k < motion->key_count; k++)
        longest = fmax(longest, motion->times[k] - motion->times[k - 1]);
    for (int i = 0; i < motion->track_count; i++) {
        const sn_track *track = &motion->tracks[i];
        double periods = fmax(track->lambda, track->zeta) * longest / (2 * PI);
        if (!(periods <= MOST_PERIODS))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "mode %d would swing %g times between two keys, the most is %g: lower "
                           "its kappa, or swings, frequency, stiffness and damping",
                           i, periods, MOST_PERIODS);
    }
    return SINEW_OK;
}

/* Parameters that are refused leave the motion as it was. */
static sinew_status try_tracks(sinew_modal_motion *motion, const sinew_modal_parameters *parameters,
                               sinew_error *error) {
    sn_track *before = sn_memdup(motion->tracks, (size_t)motion->track_count, sizeof *before);
    if (!before) return sn_no_memory(error);
    set_tracks(motion, parameters);
    sinew_status status = check_tracks(motion, error);
    if (status == SINEW_OK)
        set_figures(motion);
    else
        memcpy(motion->tracks, before, (size_t)motion->track_count * sizeof *before);
    sn_free(before);
    return status;
}

/* ---- curves in time ----------------------------------------------------------------------- */

typedef struct solve_some_tracks_loop {
    sinew_modal_motion *motion;
    const sinew_modal_parameters *parameters;
} solve_some_tracks_loop;

static void solve_some_tracks(void *context, sn_span span) {
    const solve_some_tracks_loop *loop = context;
    sinew_modal_motion *motion = loop->motion;
    const sinew_modal_parameters *parameters = loop->parameters;
    int keys = motion->key_count;
    bool wiggly = keys > 2 || parameters->wiggly;
    bool about_shape = parameters->rest == SINEW_MODAL_REST_SHAPE;
    sn_wiggly_rest rest = parameters->rest == SINEW_MODAL_REST_NEXT ? SN_WIGGLY_NEXT
                          : about_shape                             ? SN_WIGGLY_ZERO
                                                                    : SN_WIGGLY_LINE;
    int mode_count = motion->modal->modes->mode_count;
    SN_IN_SPAN(int, i, span) {
        sn_track *track = &motion->tracks[i];
        double *values = motion->values + (size_t)5 * keys * i, *rates = values + keys;
        for (int k = 0; k < keys; k++) {
            const sn_pose *key = &motion->keys[k];
            bool end = k == 0 || k == keys - 1;
            values[k] = key->tracks[i];
            rates[k] = key->rates ? key->rates[i] : end ? 0 : NAN;
        }
        track->pieces = NULL;
        if (wiggly || (parameters->ease && i >= mode_count)) {
            track->pieces = motion->pieces + (size_t)(keys - 1) * i;
            sn_wiggly_solve(keys, motion->times, values, rates, track->lambda, track->zeta,
                            i < mode_count ? rest : SN_WIGGLY_LINE, values + 2 * keys,
                            track->pieces);
            continue;
        }
        sn_fit_weights weights = SN_FIT_WEIGHTS;
        if (parameters->fit && i < mode_count) {
            const double *own =
                parameters->fit + 3 * (i < parameters->count ? i : parameters->count - 1);
            weights = (sn_fit_weights){own[0], own[1], own[2]};
        }
        double eta = parameters->rest_offset, duration = motion->times[1] - motion->times[0];
        double center = about_shape && i < mode_count ? 0
                        : eta == 1                    ? values[1]
                                                      : (1 - eta) * values[0] + eta * values[1];
        track->oscillator = parameters->fitting == SINEW_MODAL_FIT_NONE
                                ? sn_oscillator_about(track->lambda, track->zeta, values[0],
                                                      values[1], duration, center)
                            : parameters->fitting == SINEW_MODAL_FIT_PUBLISHED
                                ? sn_oscillator_published(track->lambda, track->zeta, values[0],
                                                          values[1], duration, center, weights)
                                : sn_oscillator_fit_about(track->lambda, track->zeta, values[0],
                                                          values[1], duration, center, weights);
    }
}

static void solve_tracks(sinew_modal_motion *motion, const sinew_modal_parameters *parameters) {
    sn_parallel_for(motion->track_count, 8, solve_some_tracks,
                    &(solve_some_tracks_loop){motion, parameters});
}

/* The interval of a time, and the share of its later key, held at the ends. */
static int interval_of(const sinew_modal_motion *motion, double time, double *share) {
    int k = 0;
    while (k + 2 < motion->key_count && time >= motion->times[k + 1]) k++;
    double x = (time - motion->times[k]) / (motion->times[k + 1] - motion->times[k]);
    *share = fmin(fmax(x, 0), 1);
    return k;
}

/* A cubic through the path's points, its slopes the mean of those of the chords weighted towards
 * the shorter one; held outside. */
static void path_at(const sinew_modal_motion *motion, double time, double *point) {
    const double *t = motion->path_times, *p = motion->path;
    int last = motion->path_count - 1, k = 0;
    time = fmin(fmax(time, t[0]), t[last]);
    while (k + 2 <= last && time >= t[k + 1]) k++;
    for (int axis = 0; axis < 3; axis++) {
        if (last == 0) {
            point[axis] = p[axis];
            continue;
        }
        double h = t[k + 1] - t[k], x = (time - t[k]) / h, y = 1 - x, slope[2];
        double a = p[3 * k + axis], b = p[3 * k + 3 + axis];
        for (int side = 0; side < 2; side++) {
            int at = k + side;
            double own = (b - a) / h;
            slope[side] = own;
            if (at == 0 || at == last) continue;
            double before = t[at] - t[at - 1], after = t[at + 1] - t[at];
            double in = (p[3 * at + axis] - p[3 * at - 3 + axis]) / before;
            double out = (p[3 * at + 3 + axis] - p[3 * at + axis]) / after;
            slope[side] = (after * in + before * out) / (before + after);
        }
        point[axis] = a * y * y * (1 + 2 * x) + b * x * x * (1 + 2 * y) +
                      h * x * y * (slope[0] * y - slope[1] * x);
    }
}

/* How far the whole is from the line between keys at a time: along the path, or in free fall,
 * c = line + g (t - a)(t - b)/2. */
static void set_off(const sinew_modal_motion *motion, int k, double share, double time,
                    double *off) {
    if (motion->path_count > 0) {
        double from[3], to[3];
        path_at(motion, motion->times[k], from);
        path_at(motion, motion->times[k + 1], to);
        path_at(motion, fmin(time, motion->times[motion->key_count - 1]), off);
        for (int axis = 0; axis < 3; axis++)
            off[axis] -= (1 - share) * from[axis] + share * to[axis];
        return;
    }
    double a = time - motion->times[k], b = time - motion->times[k + 1];
    double fall = share < 1 ? 0.5 * a * b : 0;
    for (int axis = 0; axis < 3; axis++) off[axis] = fall * motion->gravity[axis];
}

/* The first `count` tracks without inner corrections. Before the first key all stands still. */
static void own_tracks(const sinew_modal_motion *motion, double time, int count, double *tracks) {
    double share;
    int k = interval_of(motion, time, &share), last = motion->key_count - 1;
    time = fmax(time, motion->times[0]);
    const double *from = motion->keys[k].tracks, *to = motion->keys[k + 1].tracks;
    for (int i = 0; i < count; i++) {
        const sn_track *track = &motion->tracks[i];
        double straight = (1 - share) * from[i] + share * to[i], z = straight;
        if (track->amplitude != 0)
            z = track->pieces ? sn_wiggly_at(motion->key_count, motion->times, track->pieces,
                                             track->lambda, track->zeta, time)
                              : sn_oscillator_at(&track->oscillator, time - motion->times[0]);
        tracks[i] = straight + track->amplitude * (z - straight);
    }
    int components = motion->modal->body->rs->component_count;
    int centers = motion->track_count - 3 * components;
    if (time > motion->times[last]) /* parts stay where the last key puts them, and swing there */
        for (int i = motion->modal->modes->mode_count; i < count; i++)
            tracks[i] = motion->keys[last].tracks[i];
    const double *g = motion->gravity;
    bool straight = motion->path_count == 0 && g[0] == 0 && g[1] == 0 && g[2] == 0;
    if (count < motion->track_count || straight) return;
    double off[3];
    set_off(motion, k, share, time, off);
    for (int i = 0; i < 3 * components; i++)
        tracks[centers + i] =
            (1 - share) * from[centers + i] + share * to[centers + i] + off[i % 3];
}

/* C1 bump of inner correction i: 1 at its time, 0 with zero slope at the neighboring keys or
 * corrections. */
static double bump(const sinew_modal_motion *motion, int i, double time) {
    double at = motion->inner_times[i], before = motion->times[0], after = INFINITY;
    for (int k = 0; k < motion->key_count; k++) {
        if (motion->times[k] < at) before = fmax(before, motion->times[k]);
        if (motion->times[k] > at) after = fmin(after, motion->times[k]);
    }
    if (i > 0) before = fmax(before, motion->inner_times[i - 1]);
    if (i + 1 < motion->inner_count) after = fmin(after, motion->inner_times[i + 1]);
    double x = time < at ? (time - before) / (at - before) : (after - time) / (after - at);
    x = fmin(fmax(x, 0), 1);
    return x * x * (3 - 2 * x);
}

static void all_tracks(const sinew_modal_motion *motion, double time, int count, double *tracks) {
    own_tracks(motion, time, count, tracks);
    for (int i = 0; i < motion->inner_count; i++) {
        double beta = bump(motion, i, time);
        const double *offset = motion->inner_offsets + (size_t)motion->track_count * i;
        for (int k = 0; beta != 0 && k < count; k++) tracks[k] += beta * offset[k];
    }
}

void sn_motion_tracks(const sinew_modal_motion *motion, double time, double *tracks) {
    all_tracks(motion, time, motion->track_count, tracks);
}

void sinew_modal_motion_weights(const sinew_modal_motion *motion, double time, double *weights) {
    if (motion && weights) all_tracks(motion, time, motion->column_count, weights);
}

sn_residual_sum sn_motion_residual(const sinew_modal_motion *motion, double time) {
    double share;
    int k = interval_of(motion, time, &share);
    sn_residual_sum sum = {.count = 0};
    if (motion->moving) sum.moving = motion->moving, sum.moving_count = motion->moving_count;
    if (share < 1) sum.poses[sum.count] = &motion->keys[k], sum.weights[sum.count++] = 1 - share;
    if (share > 0) sum.poses[sum.count] = &motion->keys[k + 1], sum.weights[sum.count++] = share;
    for (int i = 0; i < motion->inner_count && sum.count < 4; i++) {
        double beta = bump(motion, i, time);
        if (beta != 0) sum.poses[sum.count] = &motion->inner[i], sum.weights[sum.count++] = beta;
    }
    return sum;
}

/* Modes that stay on the straight path are blends of the keys' own, so their displacement is kept
 * per key and a frame need not read their shapes. */
static void set_still(sinew_modal_motion *motion) {
    const sinew_modal *modal = motion->modal;
    if (!motion->moving) return;
    bool changed = false;
    motion->moving_count = 0;
    for (int i = 0; i < motion->column_count; i++) {
        bool moves = motion->tracks[i].amplitude != 0;
        changed = changed || moves != motion->moves[i];
        motion->moves[i] = moves;
        if (moves) motion->moving[motion->moving_count++] = i;
    }
    for (int k = 0; changed && k < motion->key_count; k++)
        sn_fast_still(modal->fast, modal->body->vertex_count, motion->moves, motion->keys[k].tracks,
                      motion->keys[k].still);
    for (int i = 0; i < motion->inner_count; i++)
        sn_fast_still(modal->fast, modal->body->vertex_count, motion->moves,
                      motion->inner_offsets + (size_t)motion->track_count * i,
                      motion->inner[i].still);
}

sinew_status sinew_modal_motion_update(sinew_modal_motion *motion,
                                       const sinew_modal_parameters *parameters,
                                       sinew_error *error) {
    SN_REQUIRE(motion != NULL, error);
    SN_OPTIONS(sinew_modal_parameters, wanted, parameters, error);
    parameters = &wanted;
    SN_TRY(check_parameters(parameters, error));
    SN_TRY(try_tracks(motion, parameters, error));
    memcpy(motion->gravity, parameters->gravity, sizeof motion->gravity);
    solve_tracks(motion, parameters);
    set_moving(motion);
    for (int i = 0; i < motion->inner_count; i++) {
        double *offset = motion->inner_offsets + (size_t)motion->track_count * i;
        own_tracks(motion, motion->inner_times[i], motion->track_count, offset);
        for (int k = 0; k < motion->track_count; k++)
            offset[k] = motion->inner[i].tracks[k] - offset[k];
    }
    set_still(motion);
    return SINEW_OK;
}

sinew_status sinew_modal_motion_get_info(const sinew_modal_motion *motion,
                                         sinew_modal_motion_info *info) {
    SN_REQUIRE(motion && info && sn_info_ready(info), NULL);
    sinew_modal_motion_info own = {.columns = motion->column_count,
                                   .frequency = motion->frequency,
                                   .damping = motion->damping,
                                   .captured = motion->captured,
                                   .leftover = motion->leftover,
                                   .inverted = motion->inverted,
                                   .moving = motion->fitted,
                                   .moving_share = motion->fitted_share};
    sn_info_write(info, &own, sizeof own);
    return SINEW_OK;
}
