#include "session/modal_guard.h"

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"

/* Times that are sampled, and how often amplitudes are halved before the straight path is used. */
enum { SAMPLES = 16, HALVINGS = 3 };
/* Tets that may turn inside out: of all tets. */
static const double FOLDED = 0.002;

/* The most tets that a time turns inside out and no key does. */
static int most_folds(const sinew_modal_motion *motion, sinew_modal_state *state, double from,
                      double to, int enough, double *shape) {
    int most = 0;
    for (int k = 0; k <= SAMPLES && most <= enough; k++) {
        sinew_modal_frame(motion, state, from + (to - from) * k / SAMPLES, shape);
        if (sinew_modal_inverted(motion, state) == 0) continue;
        int folds = sinew_modal_new_inverted(motion, state, 0, NULL);
        if (folds > most) most = folds;
    }
    return most;
}

static sinew_status scale(sinew_modal_motion *motion, const sinew_modal_parameters *parameters,
                          int modes, double factor, double *amplitudes, sinew_error *error) {
    sinew_modal_parameters scaled = *parameters;
    for (int i = 0; i < modes; i++) amplitudes[i] = factor;
    scaled.count = modes, scaled.amplitude = amplitudes;
    return sinew_modal_motion_update(motion, &scaled, error);
}

sinew_status sn_modal_guard(const sinew_modal *modal, sinew_modal_motion *motion,
                            sinew_modal_state *state, const sinew_modal_parameters *parameters,
                            double from, double to, const sinew_monitor *monitor, double *factor,
                            sinew_error *error) {
    *factor = 1;
    sinew_modal_info info = {.size = sizeof info};
    sinew_modal_get_info(modal, &info);
    if (parameters->amplitude || info.body == SINEW_MODAL_BODY_SHELL) return SINEW_OK;
    double *shape = SN_NEW(double, 3 * (size_t)info.vertex_count);
    double *amplitudes = SN_NEW(double, info.modes);
    sinew_status status = shape && amplitudes ? SINEW_OK : sn_no_memory(error);
    int enough = (int)(FOLDED * info.elements), folds = 0, first = 0;
    if (status == SINEW_OK) first = folds = most_folds(motion, state, from, to, enough, shape);
    if (status == SINEW_OK && folds > enough) {
        /* What the straight path folds, no amplitude heals. */
        status = scale(motion, parameters, info.modes, 0, amplitudes, error);
        if (status == SINEW_OK && most_folds(motion, state, from, to, enough, shape) > enough) {
            status = sinew_modal_motion_update(motion, parameters, error);
            folds = 0;
        }
        for (int k = 0; status == SINEW_OK && k < HALVINGS && folds > enough; k++) {
            *factor *= 0.5;
            status = scale(motion, parameters, info.modes, *factor, amplitudes, error);
            if (status == SINEW_OK) folds = most_folds(motion, state, from, to, enough, shape);
        }
        if (status == SINEW_OK && folds > enough) {
            *factor = 0;
            status = scale(motion, parameters, info.modes, 0, amplitudes, error);
        }
    }
    if (status == SINEW_OK && *factor < 1)
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "swings turn more than %d of %d tets inside out, so their amplitude is scaled by "
               "%g; set 'amplitude' to choose it yourself",
               first > enough ? enough : first, info.elements, *factor);
    sn_free(shape), sn_free(amplitudes);
    return status;
}
