/* A table of named columns over time, as CSV files of curves and markers have it. */
#ifndef SN_IO_CURVES_CSV_H
#define SN_IO_CURVES_CSV_H

#include "io/csv.h"
#include "io/names.h"

typedef struct sn_table {
    sn_names names; /* of the columns after the time */
    double *times, *values;
    size_t time_capacity, value_capacity, row_count;
} sn_table;

void sn_table_free(sn_table *table);
/* The rest of a header line. */
sinew_status sn_table_read_names(sn_table *table, sn_text *text);
/* Bad input unless the time comes after the last row's. */
sinew_status sn_table_check_time(const sn_table *table, const sn_text *text, double time);
/* The values of a new row, to be filled in; NULL: no memory. */
double *sn_table_add_row(sn_table *table, size_t width, double time);
sinew_status sn_table_build_curves(sn_table *table, const sn_source *source, sinew_curves **curves,
                                   sinew_error *error);

#endif
