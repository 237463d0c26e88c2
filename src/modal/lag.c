/* Secondary motion: modes that lag behind shapes which something else moves.
 *
 * A mode y follows its weight r(t) in the given shapes by its spring and damper,
 *
 *   y'' + 2 zeta (y' - r') + lambda^2 (y - r) = 0,   e = y - r:   e'' + 2 zeta e' + lambda^2 e =
 * -r''.
 *
 * With r linear between frames r'' is a push at each frame, e' -= r'_after - r'_before, and between
 * frames (e, e') moves freely: exact for any step. A motion of constant speed has no lag. */
#include <math.h>

#include "base/memory.h"
#include "modal/pose.h"
#include "modal/wiggly.h"

/* Steps of a clip with a frame rate differ by rounding only. They share one transition, so that a
 * change of the damping costs a few operations a frame. */
static const double SAME_STEP = 1e-9;

sinew_status sinew_modal_project(const sinew_modal *modal, const double *positions, double *weights,
                                 sinew_error *error) {
    SN_REQUIRE(modal && positions && weights, error);
    sn_pose pose;
    SN_TRY(sn_pose_read(modal, positions, NULL, NULL, &pose, error));
    for (int i = 0; i < modal->modes->column_count; i++) weights[i] = pose.tracks[i];
    sn_pose_free(&pose);
    return SINEW_OK;
}

sinew_status sinew_modal_lag(const sinew_modal_motion *motion, int count, const double *times,
                             const double *weights, double *lag, sinew_error *error) {
    SN_REQUIRE(motion && count >= 1 && times && weights && lag, error);
    for (int k = 1; k < count; k++)
        if (!(times[k] > times[k - 1]))
            return sn_fail(error, SINEW_BAD_INPUT, "times of the shapes are out of order at %g s",
                           times[k]);
    size_t columns = (size_t)motion->column_count;
    for (size_t i = 0; i < columns; i++) {
        const sn_track *track = &motion->tracks[i];
        bool mode = (int)i < motion->modal->modes->mode_count && track->lambda > 0;
        double e[2] = {0, 0}, before = NAN, step[4], step_of = NAN;
        for (int k = 0; k < count; k++) {
            lag[columns * (size_t)k + i] = mode ? track->amplitude * e[0] : 0;
            if (!mode || k + 1 == count) continue;
            double h = times[k + 1] - times[k];
            double slope =
                (weights[columns * (size_t)(k + 1) + i] - weights[columns * (size_t)k + i]) / h;
            if (k > 0) e[1] -= slope - before; /* the clip begins at its own speed */
            before = slope;
            if (!(fabs(h - step_of) <= SAME_STEP * h))
                sn_wiggly_step(track->lambda, track->zeta, step_of = h, step);
            double moved = step[0] * e[0] + step[1] * e[1];
            e[1] = step[2] * e[0] + step[3] * e[1], e[0] = moved;
        }
    }
    return SINEW_OK;
}
