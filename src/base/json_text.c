#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

/* As deep as jansson goes. */
enum { MOST_DEPTH = 2048 };

typedef struct scan {
    const char *at, *end;
} scan;

static void skip_space(scan *s) {
    while (s->at < s->end && memchr(" \t\n\r", *s->at, 4)) s->at++;
}

static bool skip_text(scan *s, const char *text) {
    size_t length = strlen(text);
    if ((size_t)(s->end - s->at) < length || memcmp(s->at, text, length)) return false;
    s->at += length;
    return true;
}

static bool skip_digits(scan *s) {
    const char *start = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9') s->at++;
    return s->at > start;
}

static bool skip_number(scan *s) {
    skip_text(s, "-");
    if (!skip_text(s, "0") && !skip_digits(s)) return false;
    if (skip_text(s, ".") && !skip_digits(s)) return false;
    if (!skip_text(s, "e") && !skip_text(s, "E")) return true;
    if (!skip_text(s, "-")) skip_text(s, "+");
    return skip_digits(s);
}

/* Surrogates count as an error here: jansson decides about them. */
static bool skip_string(scan *s) {
    if (!skip_text(s, "\"")) return false;
    while (s->at < s->end && *s->at != '"') {
        if ((unsigned char)*s->at < 0x20) return false;
        if (*s->at++ != '\\') continue;
        if (s->at == s->end || !memchr("\"\\/bfnrtu", *s->at, 9)) return false;
        if (*s->at++ != 'u') continue;
        char digits[5] = {0}, *after;
        if (s->end - s->at < 4) return false;
        memcpy(digits, s->at, 4);
        unsigned long code = strtoul(digits, &after, 16);
        if (after != digits + 4 || (code >= 0xd800 && code < 0xe000)) return false;
        s->at += 4;
    }
    return skip_text(s, "\"");
}

static bool skip_value(scan *s, int depth) {
    skip_space(s);
    if (depth == 0 || s->at == s->end) return false;
    bool object = *s->at == '{';
    if (object || *s->at == '[') {
        const char *close = object ? "}" : "]";
        s->at++, skip_space(s);
        if (skip_text(s, close)) return true;
        do {
            if (object) {
                skip_space(s);
                if (!skip_string(s)) return false;
                skip_space(s);
                if (!skip_text(s, ":")) return false;
            }
            if (!skip_value(s, depth - 1)) return false;
            skip_space(s);
        } while (skip_text(s, ","));
        return skip_text(s, close);
    }
    if (*s->at == '"') return skip_string(s);
    return skip_text(s, "true") || skip_text(s, "false") || skip_text(s, "null") || skip_number(s);
}

bool sn_is_json(const char *text, size_t size) {
    scan s = {text, text + size};
    if (!skip_value(&s, MOST_DEPTH)) return false;
    skip_space(&s);
    return s.at == s.end;
}
