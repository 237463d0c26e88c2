#include "io/text.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"

sinew_status sn_text_check(const sn_source *source, sinew_error *error) {
    if (source->size == 0) return SINEW_OK;
    const char *zero = memchr(source->bytes, '\0', source->size);
    if (!zero) return SINEW_OK;
    sn_text text = sn_text_open(source, error);
    for (const char *c = source->bytes; c < zero; c++) text.line += *c == '\n';
    return sn_text_fail(&text, "has a zero byte: this is not a text file");
}

sn_text sn_text_open(const sn_source *source, sinew_error *error) {
    sn_text text = {source->bytes, source->bytes + source->size, 1, source->name, error,
                    source->bytes};
    if (source->size >= 3 && memcmp(source->bytes, "\xef\xbb\xbf", 3) == 0) text.at += 3;
    return text;
}

sinew_status sn_text_fail(const sn_text *text, const char *format, ...) {
    char what[SINEW_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    sn_vprint(what, sizeof what, format, arguments);
    va_end(arguments);
    return sn_fail(text->error, SINEW_BAD_INPUT, "%s:%d: %s", text->name, text->line, what);
}

void sn_text_skip_joined(sn_text *text) {
    for (;;) {
        const char *c = text->at;
        if (*c == '\\') {
            c++;
            while (*c == '\r') c++;
            if (*c != '\n') return;
            text->line++;
            text->at = c + 1;
        } else if (*c == ' ' || *c == '\t' || *c == '\r') {
            text->at++;
        } else {
            return;
        }
    }
}

/* A cancelled reader finds no more text; sn_scope_end reports why. */
static void poll_scope(sn_text *text) {
    enum { LINES = 128 };
    if (text->line % LINES != 0 || text->at >= text->end) return;
    sn_scope_progress((double)(text->at - text->start) / (double)(text->end - text->start));
    if (sn_scope_poll()) text->at = text->end;
}

void sn_text_next_line(sn_text *text) {
    poll_scope(text);
    const char *feed = memchr(text->at, '\n', (size_t)(text->end - text->at));
    if (feed && text->line < INT_MAX) text->line++;
    text->at = feed ? feed + 1 : text->end;
}

size_t sn_text_word(sn_text *text, const char **word) {
    sn_text_skip(text);
    *word = text->at;
    while (!sn_text_word_done(text)) text->at++;
    return (size_t)(text->at - *word);
}

size_t sn_text_rest(sn_text *text, const char **rest) {
    sn_text_skip(text);
    *rest = text->at;
    const char *feed = memchr(text->at, '\n', (size_t)(text->end - text->at));
    text->at = feed ? feed : text->end;
    const char *last = text->at;
    while (last > *rest && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r')) last--;
    return (size_t)(last - *rest);
}

bool sn_text_is(const char *word, size_t length, const char *expected) {
    return strlen(expected) == length && memcmp(word, expected, length) == 0;
}

/* The word at the cursor, cut to what fits a message. */
static sinew_status unexpected(sn_text *text, const char *start, const char *what) {
    text->at = start;
    const char *word;
    size_t length = sn_text_word(text, &word);
    if (length == 0) return sn_text_fail(text, "%s is missing", what);
    return sn_text_fail(text, "'%.*s' is not %s", (int)(length < 40 ? length : 40), word, what);
}

sinew_status sn_text_number(sn_text *text, const char *what, double *value) {
    sn_text_skip(text);
    const char *start = text->at;
    if (!sn_number(&text->at, value) || !sn_text_word_done(text) || text->at > text->end)
        return unexpected(text, start, what);
    if (!isfinite(*value)) return sn_text_fail(text, "%s is not finite", what);
    return SINEW_OK;
}

sinew_status sn_text_integer(sn_text *text, const char *what, int64_t minimum, int64_t maximum,
                             int64_t *value) {
    sn_text_skip(text);
    const char *start = text->at;
    if (!sn_integer(&text->at, value) || !sn_text_word_done(text) || text->at > text->end)
        return unexpected(text, start, what);
    if (*value < minimum || *value > maximum)
        return sn_text_fail(text, "%s %lld is outside %lld to %lld", what, (long long)*value,
                            (long long)minimum, (long long)maximum);
    return SINEW_OK;
}

sinew_status sn_text_line_end(sn_text *text) {
    sn_text_skip(text);
    if (!sn_text_line_done(text)) {
        const char *rest;
        size_t length = sn_text_rest(text, &rest);
        return sn_text_fail(text, "unexpected '%.*s' at the end of the line",
                            (int)(length < 40 ? length : 40), rest);
    }
    sn_text_next_line(text);
    return SINEW_OK;
}

void sn_text_skip_lines(sn_text *text) {
    for (;;) {
        sn_text_skip(text);
        if (sn_text_done(text)) return;
        if (*text->at != '\n' && *text->at != '#') return;
        sn_text_next_line(text);
    }
}
