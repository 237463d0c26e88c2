/* How far a rig's linear blend is from a model, on poses that a bake has not seen. */
#include <math.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"
#include "sinew/bake.h"

sinew_status sinew_bake_measure(const sinew_rig *rig, int row_count, const double *rows,
                                sinew_bake_model *model, void *user, const sinew_monitor *monitor,
                                sinew_bake_error *measured, sinew_error *error) {
    SN_REQUIRE(rig && rows && model && measured && row_count >= 1, error);
    SN_REQUIRE(sn_info_ready(measured), error);
    enum { BINS = 4096 };
    size_t n = (size_t)rig->neutral->vertex_count, sliders = (size_t)rig->slider_count;
    double diagonal = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    double *truth = SN_NEW(double, 3 * n), *blend = SN_NEW(double, 3 * n);
    int64_t *bins = SN_NEW0(int64_t, BINS);
    sinew_linear *linear = NULL;
    sinew_status status = truth && blend && bins ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sinew_linear_create(rig, &linear, error);
    sinew_bake_error found = {.size = sizeof found, .poses = row_count};
    double sum = 0, squares = 0;
    int64_t moving = 0;
    for (int k = 0; status == SINEW_OK && k < row_count; k++) {
        sn_progress(monitor, (double)k / row_count, "measure");
        status = sn_cancelled(monitor)
                     ? sn_fail(error, SINEW_CANCELLED, "cancelled")
                     : model(rows + (size_t)k * sliders, truth, user, monitor, error);
        if (status == SINEW_NOT_CONVERGED) status = SINEW_OK;
        if (status != SINEW_OK) break;
        sinew_linear_evaluate(linear, rows + (size_t)k * sliders, blend);
        for (size_t v = 0; v < n; v++) {
            double d = 0, moved = 0;
            for (size_t c = 3 * v; c < 3 * v + 3; c++) {
                d += (truth[c] - blend[c]) * (truth[c] - blend[c]);
                moved += (truth[c] - rig->neutral->positions[c]) *
                         (truth[c] - rig->neutral->positions[c]);
            }
            d = sqrt(d) / diagonal;
            sum += d, squares += d * d;
            found.worst = fmax(found.worst, d);
            /* Bins by the logarithm: from 1e-8 to 1 of the diagonal. */
            if (sqrt(moved) <= 1e-5 * diagonal) continue;
            double place = d > 1e-8 ? (log10(d) + 8) / 8 * BINS : 0;
            bins[place < BINS ? (int)place : BINS - 1]++;
            moving++;
        }
    }
    int64_t below = 0;
    for (int i = 0; i < BINS; i++) {
        below += bins ? bins[i] : 0;
        if (moving > 0 && below >= 0.95 * (double)moving) {
            found.p95 = pow(10, 8.0 * (i + 1) / BINS - 8);
            break;
        }
    }
    found.mean = sum / ((double)n * row_count);
    found.rms = sqrt(squares / ((double)n * row_count));
    if (status == SINEW_OK) sn_info_write(measured, &found, sizeof found);
    sinew_linear_destroy(linear);
    sn_free(truth), sn_free(blend), sn_free(bins);
    return status;
}
