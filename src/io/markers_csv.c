/* Marker trajectories as CSV: "time_s,NAME.x,NAME.y,NAME.z,..."; an empty or nan cell is a missing
 * marker. Lines "# unit cm" and "# up z" above the header give the units and axes. */
#include "io/markers.h"

#include <math.h>

#include "base/memory.h"
#include "io/curves_csv.h"

static bool recognise(const sn_source *source) {
    sn_text text = sn_text_open(source, NULL);
    const char *cell;
    if (!sn_csv_next_row(&text)) return false;
    size_t length = sn_csv_cell(&text, &cell);
    bool good = sn_text_is(cell, length, "time_s");
    for (int axis = 0; good && axis < 3; axis++) {
        length = sn_csv_cell(&text, &cell);
        good = length > 2 && cell[length - 2] == '.' && cell[length - 1] == "xyz"[axis];
    }
    return good;
}

/* "NAME.x", "NAME.y", "NAME.z" in a row give a marker. */
static sinew_status read_name(sn_text *text, sn_buffer *name, sn_buffer *cell, sn_names *names) {
    for (int axis = 0; axis < 3; axis++) {
        size_t length = sn_csv_name(text, cell);
        bool good =
            length > 2 && cell->bytes[length - 2] == '.' && cell->bytes[length - 1] == "xyz"[axis];
        if (good && axis == 0) {
            name->size = 0;
            sn_buffer_add(name, cell->bytes, length - 2);
        }
        if (name->failed || cell->failed) return sn_no_memory(text->error);
        if (!good || length - 2 != name->size || memcmp(cell->bytes, name->bytes, name->size) != 0)
            return sn_text_fail(text, "column '%.*s': marker columns are NAME.x, NAME.y, NAME.z",
                                (int)(length < 40 ? length : 40), length ? cell->bytes : "");
    }
    if (sn_names_find(names, name->bytes, name->size) >= 0)
        return sn_text_fail(text, SN_MARKER_TWICE, (int)(name->size < 40 ? name->size : 40),
                            name->bytes);
    return sn_names_add(names, name->bytes, name->size) < 0 ? sn_no_memory(text->error) : SINEW_OK;
}

static sinew_status read_header(sn_text *text, sn_names *names) {
    const char *first;
    size_t length = sn_csv_cell(text, &first);
    if (!sn_text_is(first, length, "time_s"))
        return sn_text_fail(text, "the first column of markers must be time_s");
    sn_buffer name = {0}, cell = {0};
    sinew_status status = SINEW_OK;
    while (status == SINEW_OK && sn_csv_more(text)) status = read_name(text, &name, &cell, names);
    sn_buffer_free(&name);
    sn_buffer_free(&cell);
    SN_TRY(status);
    if (names->count == 0) return sn_text_fail(text, "has no markers");
    sn_text_next_line(text);
    return SINEW_OK;
}

/* Comments above the header. */
static void read_notes(sn_text text, char unit[8], char *up) {
    for (; *text.at == '#' && !sn_text_done(&text); sn_text_next_line(&text)) {
        text.at++;
        const char *key, *value;
        size_t key_length = sn_text_word(&text, &key), length = sn_text_word(&text, &value);
        if (sn_text_is(key, key_length, "unit") && length < 8) {
            memcpy(unit, value, length);
            unit[length] = '\0';
        }
        if (sn_text_is(key, key_length, "up") && length == 1 && *value >= 'x' && *value <= 'z')
            *up = *value;
    }
}

static sinew_status read_table(const sn_source *source, sn_table *table, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sn_text text = sn_text_open(source, error);
    if (!sn_csv_next_row(&text)) return sn_text_fail(&text, "is empty");
    SN_TRY(read_header(&text, &table->names));
    size_t width = 3 * (size_t)table->names.count;
    while (sn_csv_next_row(&text)) {
        double time;
        SN_TRY(sn_csv_number(&text, "a time", false, &time));
        SN_TRY(sn_table_check_time(table, &text, time));
        double *row = sn_table_add_row(table, width, time);
        if (!row) return sn_no_memory(error);
        for (size_t i = 0; i < width; i++)
            SN_TRY(sn_csv_number(&text, "a coordinate", true, &row[i]));
        sn_markers_hide_partial(row, table->names.count);
        SN_TRY(sn_csv_row_end(&text));
    }
    if (table->row_count == 0) return sn_text_fail(&text, "has no rows");
    return SINEW_OK;
}

static sinew_status read_markers(const sn_source *source, sinew_markers **markers,
                                 sinew_error *error) {
    sn_table table = {.names.any_case = true};
    sinew_status status = read_table(source, &table, error);
    if (status == SINEW_OK)
        status = sn_markers_build(&table.names, (int)table.row_count, table.times, table.values,
                                  markers, error);
    sn_table_free(&table);
    if (status == SINEW_OK)
        read_notes(sn_text_open(source, NULL), (*markers)->unit, &(*markers)->up);
    return status;
}

static sinew_status write_markers(const sinew_markers *markers, sn_buffer *out,
                                  sinew_error *error) {
    (void)error;
    if (*markers->unit) sn_buffer_print(out, "# unit %s\n", markers->unit);
    if (markers->up) sn_buffer_print(out, "# up %c\n", markers->up);
    sn_buffer_text(out, "time_s");
    for (int i = 0; i < markers->marker_count; i++)
        for (int axis = 0; axis < 3; axis++) {
            sn_buffer_char(out, ',');
            sn_buffer column = {0};
            sn_buffer_print(&column, "%s.%c", markers->names[i], "xyz"[axis]);
            sn_csv_write(out, column.failed ? "" : column.bytes);
            out->failed |= column.failed;
            sn_buffer_free(&column);
        }
    sn_buffer_char(out, '\n');
    for (int t = 0; t < markers->time_count; t++) {
        sn_buffer_number(out, markers->times[t]);
        const double *row = markers->positions + (size_t)t * 3 * (size_t)markers->marker_count;
        for (int i = 0; i < 3 * markers->marker_count; i++) {
            sn_buffer_char(out, ',');
            if (!isnan(row[i])) sn_buffer_number(out, row[i]);
        }
        sn_buffer_char(out, '\n');
    }
    return SINEW_OK;
}

const sn_format sn_format_markers_csv = {
    .name = "marker CSV",
    .endings = "csv",
    .recognise = recognise,
    .read_markers = read_markers,
    .write_markers = write_markers,
};
