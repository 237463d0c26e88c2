/* Comma-separated tables: cells of the line at a text cursor. */
#ifndef SN_IO_CSV_H
#define SN_IO_CSV_H

#include "io/text.h"

/* Steps over empty lines and lines that start with '#'; false at the end of the file. */
bool sn_csv_next_row(sn_text *text);
/* Whether the line has another cell. */
bool sn_csv_more(const sn_text *text);
/* The next cell without blanks and quotes around it, and the comma behind it. */
size_t sn_csv_cell(sn_text *text, const char **cell);
/* The same as a name of its own, with doubled quotes made single. Returns its length. */
size_t sn_csv_name(sn_text *text, sn_buffer *name);
/* A finite number; with `missing`, an empty or nan cell gives NaN. */
sinew_status sn_csv_number(sn_text *text, const char *what, bool missing, double *value);
/* Fails when cells are left, then steps to the next line. */
sinew_status sn_csv_row_end(sn_text *text);

/* Text of a cell, in quotes where it needs them. */
void sn_csv_write(sn_buffer *out, const char *text);

#endif
