#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "sinew/curves.h"

/* Names that are empty strings. */
static char **empty_names(int count) {
    char **names = SN_NEW0(char *, count);
    for (int i = 0; names && i < count; i++) {
        names[i] = sn_strdup("");
        if (!names[i]) {
            while (i > 0) sn_free(names[--i]);
            sn_free(names);
            return NULL;
        }
    }
    return names;
}

static void free_names(char **names, int count) {
    for (int i = 0; names && i < count; i++) sn_free(names[i]);
    sn_free(names);
}

static sinew_status replace_name(char **slot, const char *name, sinew_error *error) {
    char *copy = sn_strdup(name);
    if (!copy) return sn_no_memory(error);
    sn_free(*slot);
    *slot = copy;
    return SINEW_OK;
}

/* The rows before and after a time, and the fraction between them. */
static void bracket(int count, const double *times, double time, int *before, int *after,
                    double *fraction) {
    int low = 0, high = count - 1;
    *fraction = 0;
    if (!(time > times[0])) {
        *before = *after = 0;
        return;
    }
    if (time >= times[high]) {
        *before = *after = high;
        return;
    }
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (times[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    *before = low;
    *after = high;
    *fraction = (time - times[low]) / (times[high] - times[low]);
}

static void sample_rows(int width, int count, const double *times, const double *rows, double time,
                        double *out) {
    if (count <= 0) {
        for (int i = 0; i < width; i++) out[i] = 0;
        return;
    }
    int before, after;
    double t;
    bracket(count, times, time, &before, &after, &t);
    const double *a = rows + (size_t)before * (size_t)width;
    const double *b = rows + (size_t)after * (size_t)width;
    /* On a key the key itself comes back, whatever its neighbor holds. */
    for (int i = 0; i < width; i++) out[i] = t == 0 ? a[i] : (1 - t) * a[i] + t * b[i];
}

sinew_status sinew_curves_create(int channel_count, int time_count, sinew_curves **curves,
                                 sinew_error *error) {
    SN_REQUIRE(curves, error);
    SN_REQUIRE(channel_count >= 0 && time_count >= 0, error);
    *curves = NULL;
    sinew_curves *made = SN_NEW0(sinew_curves, 1);
    if (!made) return sn_no_memory(error);
    made->channel_count = channel_count;
    made->time_count = time_count;
    made->names = empty_names(channel_count);
    made->times = SN_NEW0(double, time_count);
    made->values =
        sn_calloc((size_t)time_count, sizeof(double) * (size_t)(channel_count ? channel_count : 1));
    if (!made->names || !made->times || !made->values) {
        sinew_curves_destroy(made);
        return sn_no_memory(error);
    }
    *curves = made;
    return SINEW_OK;
}

void sinew_curves_destroy(sinew_curves *curves) {
    if (!curves) return;
    free_names(curves->names, curves->channel_count);
    sn_free(curves->times);
    sn_free(curves->values);
    sn_free(curves);
}

sinew_status sinew_curves_set_name(sinew_curves *curves, int channel, const char *name,
                                   sinew_error *error) {
    SN_REQUIRE(curves && name, error);
    SN_REQUIRE(channel >= 0 && channel < curves->channel_count, error);
    return replace_name(&curves->names[channel], name, error);
}

sinew_status sinew_curves_check(const sinew_curves *curves, sinew_error *error) {
    SN_REQUIRE(curves, error);
    for (int a = 0; a < curves->channel_count; a++)
        for (int b = 0; b < a; b++)
            if (strcmp(curves->names[a], curves->names[b]) == 0)
                return sn_fail(error, SINEW_BAD_INPUT, "channels %d and %d are both named \"%s\"",
                               b, a, curves->names[a]);
    for (int t = 0; t < curves->time_count; t++) {
        if (!isfinite(curves->times[t]))
            return sn_fail(error, SINEW_BAD_INPUT, "time %d is not finite", t);
        if (t > 0 && !(curves->times[t] > curves->times[t - 1]))
            return sn_fail(error, SINEW_BAD_INPUT, "time %d (%g s) is not after time %d (%g s)", t,
                           curves->times[t], t - 1, curves->times[t - 1]);
        for (int c = 0; c < curves->channel_count; c++)
            if (!isfinite(curves->values[(size_t)t * (size_t)curves->channel_count + (size_t)c]))
                return sn_fail(error, SINEW_BAD_INPUT, "channel \"%s\" is not finite at %g s",
                               curves->names[c], curves->times[t]);
    }
    return SINEW_OK;
}

void sinew_curves_sample(const sinew_curves *curves, double time, double *values) {
    if (!curves || !values) return;
    sample_rows(curves->channel_count, curves->time_count, curves->times, curves->values, time,
                values);
}

sinew_status sinew_markers_create(int marker_count, int time_count, sinew_markers **markers,
                                  sinew_error *error) {
    SN_REQUIRE(markers, error);
    SN_REQUIRE(marker_count >= 0 && time_count >= 0, error);
    *markers = NULL;
    sinew_markers *made = SN_NEW0(sinew_markers, 1);
    if (!made) return sn_no_memory(error);
    made->marker_count = marker_count;
    made->time_count = time_count;
    made->names = empty_names(marker_count);
    made->times = SN_NEW0(double, time_count);
    made->positions = sn_calloc((size_t)time_count,
                                3 * sizeof(double) * (size_t)(marker_count ? marker_count : 1));
    if (!made->names || !made->times || !made->positions) {
        sinew_markers_destroy(made);
        return sn_no_memory(error);
    }
    *markers = made;
    return SINEW_OK;
}

void sinew_markers_destroy(sinew_markers *markers) {
    if (!markers) return;
    free_names(markers->names, markers->marker_count);
    sn_free(markers->times);
    sn_free(markers->positions);
    sn_free(markers->residuals);
    sn_free(markers);
}

sinew_status sinew_markers_set_name(sinew_markers *markers, int marker, const char *name,
                                    sinew_error *error) {
    SN_REQUIRE(markers && name, error);
    SN_REQUIRE(marker >= 0 && marker < markers->marker_count, error);
    return replace_name(&markers->names[marker], name, error);
}

void sinew_markers_sample(const sinew_markers *markers, double time, double *positions) {
    if (!markers || !positions) return;
    sample_rows(3 * markers->marker_count, markers->time_count, markers->times, markers->positions,
                time, positions);
}
