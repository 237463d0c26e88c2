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

size_t sn_csv_cell(sn_text *text, const char **cell) {
    skip_blanks(text);
    const char *last;
    if (*text->at == '"') {
        *cell = ++text->at;
        while (!sn_text_line_done(text) && *text->at != '"') text->at++;
        last = text->at;
        while (!sn_text_line_done(text) && *text->at != ',') text->at++;
    } else {
        *cell = text->at;
        while (!sn_text_line_done(text) && *text->at != ',') text->at++;
        last = text->at;
        while (last > *cell && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r')) last--;
    }
    if (*text->at == ',' && text->at < text->end) text->at++;
    return (size_t)(last - *cell);
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
    bool found = sn_number(&text->at, value);
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
    bool quotes = *text == '#' || *text == ' ' || strchr(text, ',') || strchr(text, '\t');
    if (quotes) sn_buffer_char(out, '"');
    for (const char *c = text; *c; c++)
        /* what would end the cell or the line inside quotes becomes a blank */
        sn_buffer_char(out, *c == '"' || *c == '\n' || *c == '\r' ? ' ' : *c);
    if (quotes) sn_buffer_char(out, '"');
}
