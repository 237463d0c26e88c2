/* Locks over whole takes. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"
#include "rig/lock_state.h"

/* Limits widened to the range of the take: the same for all times, so that the given weights are
 * one fixed map of the asked ones. */
static void widen_limits(const sinew_rig *rig, const sinew_curves *curves, double *lower,
                         double *upper) {
    for (int i = 0; i < rig->slider_count; i++) {
        lower[i] = rig->sliders[i].minimum;
        upper[i] = rig->sliders[i].maximum;
    }
    for (int t = 0; t < curves->time_count; t++)
        for (int i = 0; i < rig->slider_count; i++) {
            double w = curves->values[(size_t)t * (size_t)rig->slider_count + (size_t)i];
            lower[i] = fmin(lower[i], w);
            upper[i] = fmax(upper[i], w);
        }
}

static sinew_status copy_frame(const sinew_rig *rig, const sinew_curves *curves, sinew_curves *made,
                               sinew_error *error) {
    for (int i = 0; i < rig->slider_count; i++)
        SN_TRY(sinew_curves_set_name(made, i, curves->names[i], error));
    memcpy(made->times, curves->times, sizeof(double) * (size_t)curves->time_count);
    return SINEW_OK;
}

sinew_status sinew_locks_filter(sinew_locks *locks, const sinew_curves *curves, const bool *keep,
                                sinew_curves **filtered, sinew_lock_filter_info *info,
                                const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(locks && curves && filtered && sn_info_ready(info), error);
    *filtered = NULL;
    const sinew_rig *rig = locks->space->rig;
    SN_REQUIRE(curves->channel_count == rig->slider_count, error);
    SN_TRY(sinew_curves_check(curves, error));
    sinew_curves *made;
    SN_TRY(sinew_curves_create(rig->slider_count, curves->time_count, &made, error));
    sinew_status status = copy_frame(rig, curves, made, error);
    widen_limits(rig, curves, locks->lower, locks->upper);
    bool bounded = locks->options.bounded;
    sinew_lock_filter_info sums = {.lowest = INFINITY, .highest = -INFINITY};
    for (int t = 0; status == SINEW_OK && t < curves->time_count; t++) {
        if (sn_cancelled(monitor)) {
            status = SINEW_CANCELLED;
            break;
        }
        const double *asked = curves->values + (size_t)t * (size_t)rig->slider_count;
        double *given = made->values + (size_t)t * (size_t)rig->slider_count;
        sn_slider_solution solution =
            sn_locks_solve(locks, asked, bounded ? locks->lower : NULL,
                           bounded ? locks->upper : NULL, keep, true, given);
        sums.not_converged += !solution.converged;
        double before = sn_locks_rms(locks, locks->asked_motion);
        double after = sn_locks_rms(locks, locks->given_motion);
        sums.asked_motion += before * before;
        sums.given_motion += after * after;
        sums.worst_given = fmax(sums.worst_given, after);
        for (int i = 0; i < rig->slider_count; i++) {
            sums.lowest = fmin(sums.lowest, given[i]);
            sums.highest = fmax(sums.highest, given[i]);
        }
        sn_progress(monitor, (t + 1.0) / curves->time_count, "lock");
    }
    if (status != SINEW_OK) {
        sinew_curves_destroy(made);
        return status;
    }
    if (curves->time_count > 0) {
        sums.asked_motion = sqrt(sums.asked_motion / curves->time_count);
        sums.given_motion = sqrt(sums.given_motion / curves->time_count);
    }
    sn_info_write(info, &sums, sizeof sums);
    *filtered = made;
    return sums.not_converged == 0
               ? SINEW_OK
               : sn_fail(error, SINEW_NOT_CONVERGED, "lock: %d of %d times did not converge",
                         sums.not_converged, curves->time_count);
}
