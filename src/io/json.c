#include "io/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- is it JSON? A reader that allocates nothing ---- */

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

bool sn_json_ran_out(const json_error_t *problem, const char *text, size_t size) {
    if (!*problem->text) return true; /* then there is no code either */
    switch (json_error_code(problem)) {
    case json_error_out_of_memory:
        return true;
    case json_error_unknown:
    case json_error_invalid_syntax:
    case json_error_premature_end_of_input:
    case json_error_end_of_input_expected:
        break;
    default:
        return false;
    }
    scan s = {text, text + size};
    if (!skip_value(&s, JSON_PARSER_MAX_DEPTH)) return false;
    skip_space(&s);
    return s.at == s.end;
}

/* ---- reading and writing ---- */

sinew_status sn_json_parse(const char *bytes, size_t size, const char *name, json_t **root,
                           sinew_error *error) {
    json_error_t problem;
    *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem);
    if (!*root) {
        if (sn_json_ran_out(&problem, bytes, size)) return sn_no_memory(error);
        return sn_fail(error, SINEW_BAD_INPUT, "%s:%d: %s", name,
                       problem.line > 0 ? problem.line : 1, problem.text);
    }
    if (!json_is_object(*root)) {
        json_decref(*root);
        *root = NULL;
        return sn_fail(error, SINEW_BAD_INPUT, "%s:1: the document is not an object", name);
    }
    return SINEW_OK;
}

static int add_piece(const char *piece, size_t size, void *out) {
    sn_buffer_add(out, piece, size);
    return ((sn_buffer *)out)->failed ? -1 : 0;
}

sinew_status sn_json_write(const json_t *root, bool pretty, sn_buffer *out, sinew_error *error) {
    size_t flags = (pretty ? JSON_INDENT(1) : JSON_COMPACT) | JSON_REAL_PRECISION(17);
    if (!root || json_dump_callback(root, add_piece, out, flags) != 0) return sn_no_memory(error);
    return SINEW_OK;
}

void sn_json_free(char *text) {
    json_free_t release;
    json_get_alloc_funcs(NULL, &release);
    if (text) release(text);
}

const char *sn_json_string(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

double sn_json_number(const json_t *object, const char *key, double otherwise) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

bool sn_json_integer(const json_t *value, int64_t minimum, int64_t maximum, int64_t *result) {
    if (!json_is_integer(value)) return false;
    *result = json_integer_value(value);
    return *result >= minimum && *result <= maximum;
}
