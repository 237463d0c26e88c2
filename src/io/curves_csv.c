/* Weight curves as CSV: "time_s,NAME,NAME,..." and a row of numbers per time. */
#include "io/curves_csv.h"

#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "io/names.h"

sinew_status sn_table_build_curves(sn_table *table, const sn_source *source, sinew_curves **curves,
                                   sinew_error *error) {
    if (table->row_count == 0) return sn_source_fail(source, error, "has no rows");
    SN_TRY(sinew_curves_create(table->names.count, (int)table->row_count, curves, error));
    sinew_curves *c = *curves;
    memcpy(c->times, table->times, table->row_count * sizeof(double));
    memcpy(c->values, table->values,
           table->row_count * (size_t)table->names.count * sizeof(double));
    for (int i = 0; i < c->channel_count; i++) {
        sinew_status status = sinew_curves_set_name(c, i, table->names.names[i], error);
        if (status == SINEW_OK) continue;
        sinew_curves_destroy(c);
        *curves = NULL;
        return status;
    }
    return SINEW_OK;
}

void sn_table_free(sn_table *table) {
    sn_names_release(&table->names);
    sn_free(table->times);
    sn_free(table->values);
}

static sinew_status add_name(sn_table *table, sn_text *text, sn_buffer *name) {
    size_t length = sn_csv_name(text, name);
    if (name->failed) return sn_no_memory(text->error);
    if (length == 0) return sn_text_fail(text, "column %d has no name", table->names.count + 2);
    if (sn_names_find(&table->names, name->bytes, length) >= 0)
        return sn_text_fail(text, "two columns are named '%.*s'", (int)(length < 40 ? length : 40),
                            name->bytes);
    return sn_names_add(&table->names, name->bytes, length) < 0 ? sn_no_memory(text->error)
                                                                : SINEW_OK;
}

sinew_status sn_table_read_names(sn_table *table, sn_text *text) {
    sn_buffer name = {0};
    sinew_status status = SINEW_OK;
    while (status == SINEW_OK && sn_csv_more(text)) status = add_name(table, text, &name);
    sn_buffer_free(&name);
    SN_TRY(status);
    if (table->names.count == 0) return sn_text_fail(text, "has no columns besides the time");
    sn_text_next_line(text);
    return SINEW_OK;
}

double *sn_table_add_row(sn_table *table, size_t width, double time) {
    size_t end;
    if (table->row_count >= INT_MAX - 1 ||
        __builtin_mul_overflow(table->row_count + 1, width, &end) ||
        !SN_RESERVE(table->times, table->time_capacity, table->row_count + 1) ||
        !SN_RESERVE(table->values, table->value_capacity, end))
        return NULL;
    table->times[table->row_count++] = time;
    return table->values + end - width;
}

sinew_status sn_table_check_time(const sn_table *table, const sn_text *text, double time) {
    if (table->row_count > 0 && !(time > table->times[table->row_count - 1]))
        return sn_text_fail(text, "time %g does not come after %g", time,
                            table->times[table->row_count - 1]);
    return SINEW_OK;
}

static sinew_status read_table(const sn_source *source, sn_table *table, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sn_text text = sn_text_open(source, error);
    const char *cell;
    if (!sn_csv_next_row(&text)) return sn_text_fail(&text, "is empty");
    size_t length = sn_csv_cell(&text, &cell);
    if (!sn_text_is(cell, length, "time_s"))
        return sn_text_fail(&text, "the first column of weight curves must be time_s");
    SN_TRY(sn_table_read_names(table, &text));
    while (sn_csv_next_row(&text)) {
        double time;
        SN_TRY(sn_csv_number(&text, "a time", false, &time));
        SN_TRY(sn_table_check_time(table, &text, time));
        double *row = sn_table_add_row(table, (size_t)table->names.count, time);
        if (!row) return sn_no_memory(error);
        for (int i = 0; i < table->names.count; i++)
            SN_TRY(sn_csv_number(&text, "a weight", false, &row[i]));
        SN_TRY(sn_csv_row_end(&text));
    }
    return SINEW_OK;
}

static sinew_status read_curves(const sn_source *source, sinew_curves **curves,
                                sinew_error *error) {
    sn_table table = {0};
    sinew_status status = read_table(source, &table, error);
    if (status == SINEW_OK) status = sn_table_build_curves(&table, source, curves, error);
    sn_table_free(&table);
    return status;
}

static sinew_status write_curves(const sinew_curves *curves, sn_buffer *out, sinew_error *error) {
    (void)error;
    sn_buffer_text(out, "time_s");
    for (int i = 0; i < curves->channel_count; i++) {
        sn_buffer_char(out, ',');
        sn_csv_write(out, curves->names[i]);
    }
    sn_buffer_char(out, '\n');
    for (int t = 0; t < curves->time_count; t++) {
        sn_buffer_number(out, curves->times[t]);
        sn_buffer_numbers(out, ',', curves->values + (size_t)t * (size_t)curves->channel_count,
                          curves->channel_count);
        sn_buffer_char(out, '\n');
    }
    return SINEW_OK;
}

const sn_format sn_format_curves_csv = {
    .name = "weight CSV",
    .endings = "csv",
    .read_curves = read_curves,
    .write_curves = write_curves,
};
