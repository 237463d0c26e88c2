/* A cursor over the lines of a text file in memory, and messages that name the line. */
#ifndef SN_IO_TEXT_H
#define SN_IO_TEXT_H

#include "base/number.h"
#include "io/format.h"

typedef struct sn_text {
    const char *at;
    const char *end; /* *end is a zero byte */
    int line;        /* from 1 */
    const char *name;
    sinew_error *error;
    const char *start;
} sn_text;

/* Text has no zero bytes: bad input that names the line of the first. */
sinew_status sn_text_check(const sn_source *source, sinew_error *error);
/* Steps over a byte order mark. */
sn_text sn_text_open(const sn_source *source, sinew_error *error);

/* "NAME:LINE: what", SINEW_BAD_INPUT. */
sinew_status sn_text_fail(const sn_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Blanks are spaces, tabs and carriage returns; a backslash before the line's end joins lines. */
void sn_text_skip_joined(sn_text *text);
static inline void sn_text_skip(sn_text *text) {
    while (*text->at == ' ' || *text->at == '\t' || *text->at == '\r') text->at++;
    if (*text->at == '\\') sn_text_skip_joined(text);
}
static inline bool sn_text_done(const sn_text *text) {
    return text->at >= text->end;
}
/* At the end of a line or of the file; call after sn_text_skip. */
static inline bool sn_text_line_done(const sn_text *text) {
    return *text->at == '\n' || text->at >= text->end;
}
static inline bool sn_text_word_done(const sn_text *text) {
    char c = *text->at;
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || text->at >= text->end;
}
/* To the start of the next line. */
void sn_text_next_line(sn_text *text);

/* The next word of this line; length 0 at its end. */
size_t sn_text_word(sn_text *text, const char **word);
/* The rest of the line without surrounding blanks. */
size_t sn_text_rest(sn_text *text, const char **rest);
bool sn_text_is(const char *word, size_t length, const char *expected);

/* The next word of the line as a finite number or an index; `what` names it in the message. */
sinew_status sn_text_number(sn_text *text, const char *what, double *value);
sinew_status sn_text_integer(sn_text *text, const char *what, int64_t minimum, int64_t maximum,
                             int64_t *value);
/* Fails when something is left on the line, then steps to the next. */
sinew_status sn_text_line_end(sn_text *text);

/* For formats of free lines: blanks and line ends alike, and comments from '#' to the line's end.
 */
void sn_text_skip_lines(sn_text *text);

#endif
