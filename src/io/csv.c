#include "io/csv.h"

#include <math.h>

bool sn_csv_next_row(sn_text *text) {
    sn_text_skip_lines(text);
    return !sn_text_done(text);
}

bool sn_csv_more(const sn_text *text) {
    return !sn_text_line_done(text);
}

static void skip_blanks(sn_text *text) {
    while (*text->at == ' ' || *text->at == '\t' || *text->at == '\r') text->at++;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* In quotes a cell ends at a quote that is not doubled. */
static bool cell_ends(const sn_text *text, bool quoted) {
    return quoted ? *text->at == '"' && text->at[1] != '"' : *text->at == ',';
}

size_t sn_csv_cell(sn_text *text, const char **cell) {
    skip_blanks(text);
    bool quoted = *text->at == '"';
    if (quoted) {
        text->at++;
        skip_blanks(text);
    }
    const char *first = text->at;
    while (!sn_text_line_done(text) && !cell_ends(text, quoted))
        text->at += quoted && *text->at == '"' ? 2 : 1;
    const char *last = text->at;
    while (last > first && is_blank(last[-1])) last--;
    while (!sn_text_line_done(text) && *text->at != ',') text->at++;
    if (*text->at == ',' && text->at < text->end) text->at++;
    *cell = first;
    return (size_t)(last - first);
}

size_t sn_csv_name(sn_text *text, sn_buffer *name) {
    skip_blanks(text);
    bool quoted = *text->at == '"';
    const char *cell;
    size_t length = sn_csv_cell(text, &cell);
    name->size = 0;
    for (size_t i = 0; i < length; i++) {
        sn_buffer_char(name, cell[i]);
        if (quoted && cell[i] == '"') i++; /* the second of the pair */
    }
    return name->size;
}

sinew_status sn_csv_number(sn_text *text, const char *what, bool missing, double *value) {
    skip_blanks(text);
    const char *start = text->at;
    if (missing && (sn_text_line_done(text) || *start == ',')) {
        *value = NAN;
        const char *cell;
        sn_csv_cell(text, &cell);
        return SINEW_OK;
    }
    bool quoted = *text->at == '"';
    if (quoted) {
        text->at++;
        skip_blanks(text);
    }
    bool found = sn_number(&text->at, value);
    skip_blanks(text);
    if (quoted) found = found && !sn_text_line_done(text) && *text->at++ == '"';
    skip_blanks(text);
    if (!found || !(*text->at == ',' || sn_text_line_done(text))) {
        text->at = start;
        const char *cell;
        size_t length = sn_csv_cell(text, &cell);
        if (length == 0) return sn_text_fail(text, "%s is missing", what);
        return sn_text_fail(text, "'%.*s' is not %s", (int)(length < 40 ? length : 40), cell, what);
    }
    if (*text->at == ',' && text->at < text->end) text->at++;
    if (isinf(*value) || (isnan(*value) && !missing))
        return sn_text_fail(text, "%s is not finite", what);
    return SINEW_OK;
}

sinew_status sn_csv_row_end(sn_text *text) {
    skip_blanks(text);
    if (!sn_text_line_done(text)) return sn_text_fail(text, "has more cells than the header");
    sn_text_next_line(text);
    return SINEW_OK;
}

void sn_csv_write(sn_buffer *out, const char *text) {
    bool quotes = *text == '#' || *text == '"' || strchr(text, ',');
    if (quotes) sn_buffer_char(out, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' && quotes) sn_buffer_char(out, '"');
        sn_buffer_char(out, *c == '\n' || *c == '\r' ? ' ' : *c); /* a line is a row */
    }
    if (quotes) sn_buffer_char(out, '"');
}
