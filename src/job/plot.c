#include "job/plot.h"

#include <stdatomic.h>

#include "base/status.h"

static _Atomic(sinew_plot_function *) chosen;

void sinew_set_plot_function(sinew_plot_function *function) {
    atomic_store(&chosen, function);
}

sinew_status sn_plot_write(const char *path, const char *title, const char *x_label,
                           const char *y_label, int line_count, const sinew_line *lines,
                           sinew_error *error) {
    sinew_plot_function *function = atomic_load(&chosen);
    if (!function)
        return sn_fail(error, SINEW_UNAVAILABLE,
                       "%s: this program draws no plots (sinew_set_plot_function)", path);
    return function(path, title, x_label, y_label, line_count, lines, error);
}
