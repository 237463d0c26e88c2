/* TRC marker files (Motion Analysis): text with tabs.
 *
 *   PathFileType  4  (X/Y/Z)  name
 *   DataRate  CameraRate  NumFrames  NumMarkers  Units  ...
 *   60        60          2          1           mm     ...
 *   Frame#    Time        Nose
 *                         X1  Y1  Z1
 *   1         0           1   2   3
 *
 * An empty cell is a missing marker. The file does not state which axis points up. */
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "io/curves_csv.h"
#include "io/markers.h"

/* The next cell of the line and the tab behind it. */
static size_t next_cell(sn_text *text, const char **cell) {
    while (*text->at == ' ') text->at++;
    *cell = text->at;
    while (!sn_text_line_done(text) && *text->at != '\t') text->at++;
    const char *last = text->at;
    if (*text->at == '\t') text->at++;
    while (last > *cell && (last[-1] == ' ' || last[-1] == '\r')) last--;
    return (size_t)(last - *cell);
}

static sinew_status next_number(sn_text *text, double *value) {
    const char *cell;
    size_t length = next_cell(text, &cell);
    *value = NAN;
    if (length == 0) return SINEW_OK;
    const char *at = cell;
    if (!sn_number(&at, value) || at != cell + length || isinf(*value))
        return sn_text_fail(text, "'%.*s' is not a number", (int)(length < 40 ? length : 40), cell);
    return SINEW_OK;
}

/* Values are below their names: find Units and NumMarkers. */
static sinew_status read_properties(sn_text *text, char unit[8], double *marker_count) {
    sn_text names = *text;
    sn_text_next_line(text);
    *marker_count = -1;
    while (!sn_text_line_done(&names)) {
        const char *name, *value;
        size_t name_length = next_cell(&names, &name), length = next_cell(text, &value);
        if (sn_text_is(name, name_length, "Units") && length < 8) {
            memcpy(unit, value, length);
            unit[length] = '\0';
        }
        const char *at = value;
        if (sn_text_is(name, name_length, "NumMarkers") && !sn_number(&at, marker_count))
            return sn_text_fail(text, "NumMarkers is not a number");
    }
    sn_text_next_line(text);
    return SINEW_OK;
}

static sinew_status read_names(sn_text *text, double marker_count, sn_names *names) {
    const char *cell;
    size_t length = next_cell(text, &cell);
    if (!sn_text_is(cell, length, "Frame#")) return sn_text_fail(text, "Frame# is missing");
    length = next_cell(text, &cell);
    if (!sn_text_is(cell, length, "Time")) return sn_text_fail(text, "Time is missing");
    while (!sn_text_line_done(text)) {
        length = next_cell(text, &cell);
        if (length == 0) continue;
        if (sn_names_find(names, cell, length) >= 0)
            return sn_text_fail(text, SN_MARKER_TWICE, (int)(length < 40 ? length : 40), cell);
        if (sn_names_add(names, cell, length) < 0) return sn_no_memory(text->error);
    }
    if (names->count == 0) return sn_text_fail(text, "has no markers");
    if (marker_count >= 0 && names->count != marker_count)
        return sn_text_fail(text, "NumMarkers is %g, but %d are named", marker_count, names->count);
    sn_text_next_line(text);
    sn_text_next_line(text); /* X1 Y1 Z1 ... */
    return SINEW_OK;
}

static bool blank_line(sn_text *text) {
    const char *c = text->at;
    while (*c == ' ' || *c == '\t' || *c == '\r') c++;
    return *c == '\n' || c >= text->end;
}

static sinew_status read_rows(sn_text *text, sn_table *table) {
    size_t width = 3 * (size_t)table->names.count;
    for (; !sn_text_done(text); sn_text_next_line(text)) {
        if (blank_line(text)) continue;
        double frame, time;
        SN_TRY(next_number(text, &frame));
        SN_TRY(next_number(text, &time));
        if (isnan(time)) return sn_text_fail(text, "a time is missing");
        SN_TRY(sn_table_check_time(table, text, time));
        double *row = sn_table_add_row(table, width, time);
        if (!row) return sn_no_memory(text->error);
        for (size_t i = 0; i < width; i++) SN_TRY(next_number(text, &row[i]));
        sn_markers_hide_partial(row, table->names.count);
        if (!blank_line(text)) return sn_text_fail(text, "has more cells than markers");
    }
    if (table->row_count == 0) return sn_text_fail(text, "has no frames");
    return SINEW_OK;
}

static sinew_status read_table(const sn_source *source, sn_table *table, char unit[8],
                               sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sn_text text = sn_text_open(source, error);
    const char *cell;
    size_t length = next_cell(&text, &cell);
    if (!sn_text_is(cell, length, "PathFileType")) return sn_text_fail(&text, "is not a TRC file");
    sn_text_next_line(&text);
    double marker_count;
    SN_TRY(read_properties(&text, unit, &marker_count));
    SN_TRY(read_names(&text, marker_count, &table->names));
    return read_rows(&text, table);
}

static sinew_status read_markers(const sn_source *source, sinew_markers **markers,
                                 sinew_error *error) {
    sn_table table = {.names.any_case = true};
    char unit[8] = "";
    sinew_status status = read_table(source, &table, unit, error);
    if (status == SINEW_OK)
        status = sn_markers_build(&table.names, (int)table.row_count, table.times, table.values,
                                  markers, error);
    if (status == SINEW_OK) memcpy((*markers)->unit, unit, sizeof unit);
    sn_table_free(&table);
    return status;
}

static sinew_status write_markers(const sinew_markers *markers, sn_buffer *out,
                                  sinew_error *error) {
    (void)error;
    int n = markers->time_count;
    double length = n > 1 ? markers->times[n - 1] - markers->times[0] : 0;
    double rate = length > 0 ? (n - 1) / length : 30;
    sn_buffer_text(out, "PathFileType\t4\t(X/Y/Z)\tmarkers.trc\n"
                        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\t"
                        "OrigDataStartFrame\tOrigNumFrames\n");
    sn_buffer_number(out, rate);
    sn_buffer_char(out, '\t');
    sn_buffer_number(out, rate);
    sn_buffer_print(out, "\t%d\t%d\t%s\t", n, markers->marker_count, markers->unit);
    sn_buffer_number(out, rate);
    sn_buffer_print(out, "\t1\t%d\nFrame#\tTime", n);
    for (int i = 0; i < markers->marker_count; i++)
        sn_buffer_print(out, "\t%s%s", markers->names[i],
                        i + 1 < markers->marker_count ? "\t\t" : "");
    sn_buffer_text(out, "\n\t");
    for (int i = 1; i <= markers->marker_count; i++)
        sn_buffer_print(out, "\tX%d\tY%d\tZ%d", i, i, i);
    sn_buffer_text(out, "\n\n");
    for (int t = 0; t < n; t++) {
        const double *row = markers->positions + (size_t)t * 3 * (size_t)markers->marker_count;
        sn_buffer_integer(out, t + 1);
        sn_buffer_char(out, '\t');
        sn_buffer_number(out, markers->times[t]);
        for (int i = 0; i < 3 * markers->marker_count; i++) {
            sn_buffer_char(out, '\t');
            if (!isnan(row[i])) sn_buffer_number(out, row[i]);
        }
        sn_buffer_char(out, '\n');
    }
    return SINEW_OK;
}

const sn_format sn_format_trc = {
    .name = "TRC",
    .endings = "trc",
    .read_markers = read_markers,
    .write_markers = write_markers,
};
