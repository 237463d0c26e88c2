#include "base/json_text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/printable.h"

enum { MOST_DEPTH = 2048 };

typedef struct reader {
    const char *start, *at, *end;
    char *string; /* the last string, with escapes replaced; zero-terminated */
    size_t capacity;
    sn_json_problem *problem;
} reader;

static json_t *no_memory(reader *r) {
    r->problem->no_memory = true;
    return NULL;
}

/* The problem is at r->at. */
static void *fail(reader *r, const char *what) {
    sn_json_problem *p = r->problem;
    p->line = p->column = 1;
    for (const char *c = r->start; c < r->at; c++) {
        p->column = *c == '\n' ? 1 : p->column + 1;
        p->line += *c == '\n';
    }
    snprintf(p->text, sizeof p->text, "%s", what);
    return NULL;
}

/* Not inlined (nor is `duplicate`): values are read recursively, and stack frames should stay
 * small. */
__attribute__((noinline)) static json_t *unexpected(reader *r, const char *what) {
    char text[sizeof r->problem->text];
    int length = 0;
    while (r->at + length < r->end && length < 20 && (unsigned char)r->at[length] >= 0x20) length++;
    if (r->at == r->end)
        snprintf(text, sizeof text, "the text ends, but %s is expected", what);
    else
        snprintf(text, sizeof text, "%s is expected near '%.*s'", what, length, r->at);
    return fail(r, text);
}

__attribute__((noinline)) static json_t *duplicate(reader *r, const char *start) {
    char text[sizeof r->problem->text];
    snprintf(text, sizeof text, "the key '%.60s' appears twice", r->string);
    r->at = start;
    return fail(r, text);
}

static void skip_space(reader *r) {
    while (r->at < r->end && memchr(" \t\n\r", *r->at, 4)) r->at++;
}

static bool skip_text(reader *r, const char *text) {
    size_t length = strlen(text);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length)) return false;
    r->at += length;
    return true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool skip_digits(reader *r) {
    const char *start = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return r->at > start;
}

/* Also true for a whole number, in which case *whole is set. */
static bool skip_number(reader *r, bool *whole) {
    *whole = true;
    skip_text(r, "-");
    if (!skip_text(r, "0") && !skip_digits(r)) return false;
    if (skip_text(r, ".")) {
        *whole = false;
        if (!skip_digits(r)) return false;
    }
    if (!skip_text(r, "e") && !skip_text(r, "E")) return true;
    *whole = false;
    if (!skip_text(r, "-")) skip_text(r, "+");
    return skip_digits(r);
}

static json_t *read_number(reader *r) {
    const char *start = r->at;
    bool whole;
    if (!skip_number(r, &whole)) return unexpected(r, r->at == start ? "a value" : "a digit");
    const char *text = start, *end = r->at;
    if (end == r->end) { /* the text need not be zero-terminated, but the number must be */
        size_t length = (size_t)(end - start);
        if (!SN_RESERVE(r->string, r->capacity, length + 1)) return no_memory(r);
        memcpy(r->string, start, length);
        r->string[length] = '\0';
        text = r->string;
    }
    int64_t integer;
    double real;
    json_t *value = NULL;
    r->at = start;
    if (whole) {
        if (!sn_integer(&text, &integer)) return fail(r, "the integer does not fit 64 bits");
        value = json_integer(integer);
    } else {
        if (!sn_number(&text, &real) || !isfinite(real))
            return fail(r, "the number is too large for a double");
        value = json_real(real);
    }
    r->at = end;
    return value ? value : no_memory(r);
}

/* ---- strings --------------------------------------------------------------------------------- */

/* The four digits after \u, or -1. */
static int read_code(reader *r) {
    int code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *found = r->at < r->end ? memchr(digits, *r->at, sizeof digits - 1) : NULL;
        if (!found) return -1;
        int digit = (int)(found - digits);
        code = 16 * code + (digit < 16 ? digit : digit - 6);
    }
    return code;
}

static char *put_code(char *to, int code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xe0 | code >> 12);
        } else {
            *to++ = (char)(0xf0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    if (code >= 0x80) *to++ = (char)(0x80 | (code & 0x3f));
    return to;
}

/* Called after \u. Characters beyond 16 bits are written as two codes. */
static char *put_unicode(reader *r, char *to) {
    int code = read_code(r);
    if (code >= 0xd800 && code < 0xdc00) {
        int low = skip_text(r, "\\u") ? read_code(r) : -1;
        code =
            low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + low - 0xdc00 : -1;
    } else if (code >= 0xdc00 && code < 0xe000) {
        code = -1;
    }
    if (code < 0) return fail(r, "\\u is not followed by the code of a character");
    if (code == 0) return fail(r, "\\u0000: strings cannot hold zero bytes");
    return put_code(to, code);
}

static char *put_escape(reader *r, char *to) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (skip_text(r, "u")) return put_unicode(r, to);
    const char *found = r->at < r->end ? memchr(letters, *r->at, sizeof letters - 1) : NULL;
    if (!found) return fail(r, "an unknown escape sequence");
    r->at++;
    *to++ = meant[found - letters];
    return to;
}

/* Reads into r->string. The replacement of an escape is never longer than the escape. */
static bool read_string(reader *r) {
    const char *start = r->at, *end = start + 1;
    while (end < r->end && *end != '"') end += *end == '\\' ? 2 : 1;
    if (end >= r->end) return fail(r, "the text ends inside a string");
    if (!SN_RESERVE(r->string, r->capacity, (size_t)(end - start))) return no_memory(r);
    char *to = r->string;
    for (r->at++; r->at < end;) {
        if ((unsigned char)*r->at < 0x20) return fail(r, "a string holds a control character");
        if (*r->at != '\\') {
            *to++ = *r->at++;
            continue;
        }
        r->at++;
        to = put_escape(r, to);
        if (!to) return false;
    }
    *to = '\0';
    r->at = end + 1;
    if (sn_is_utf8(r->string)) return true;
    r->at = start;
    return fail(r, "a string is not UTF-8");
}

/* ---- values ---------------------------------------------------------------------------------- */

static json_t *read_value(reader *r, int depth);

static bool read_member(reader *r, json_t *object, int depth) {
    skip_space(r);
    if (r->at == r->end || *r->at != '"') return unexpected(r, "a key");
    const char *start = r->at;
    if (!read_string(r)) return false;
    if (json_object_get(object, r->string)) return duplicate(r, start);
    /* Reading the value overwrites r->string, so the key is inserted into the object first. */
    if (json_object_set_new_nocheck(object, r->string, json_null())) return no_memory(r);
    void *place = json_object_iter_at(object, r->string);
    skip_space(r);
    if (!skip_text(r, ":")) return unexpected(r, "':'");
    json_t *value = read_value(r, depth - 1);
    return value && json_object_iter_set_new(object, place, value) == 0;
}

static json_t *read_container(reader *r, bool object, int depth) {
    json_t *made = object ? json_object() : json_array();
    const char *close = object ? "}" : "]";
    if (!made) return no_memory(r);
    r->at++, skip_space(r);
    if (skip_text(r, close)) return made;
    do {
        json_t *element = object ? NULL : read_value(r, depth - 1);
        bool good = object ? read_member(r, made, depth) : element != NULL;
        if (element && json_array_append_new(made, element)) good = no_memory(r);
        if (!good) {
            json_decref(made);
            return NULL;
        }
        skip_space(r);
    } while (skip_text(r, ","));
    if (skip_text(r, close)) return made;
    json_decref(made);
    return unexpected(r, object ? "',' or '}'" : "',' or ']'");
}

static json_t *read_value(reader *r, int depth) {
    skip_space(r);
    if (r->at == r->end) return unexpected(r, "a value");
    if (*r->at == '{' || *r->at == '[') {
        if (depth == 0) return fail(r, "the text is nested too deeply");
        return read_container(r, *r->at == '{', depth);
    }
    if (*r->at == '"') {
        if (!read_string(r)) return NULL;
        json_t *value = json_string_nocheck(r->string);
        return value ? value : no_memory(r);
    }
    if (skip_text(r, "true")) return json_true();
    if (skip_text(r, "false")) return json_false();
    if (skip_text(r, "null")) return json_null();
    return read_number(r);
}

json_t *sn_json_read(const char *text, size_t size, sn_json_problem *problem) {
    *problem = (sn_json_problem){0};
    /* some editors begin a text with a byte order mark */
    if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, size -= 3;
    reader r = {text, text, text + size, NULL, 0, problem};
    json_t *value = read_value(&r, MOST_DEPTH);
    skip_space(&r);
    if (value && r.at < r.end) {
        json_decref(value);
        value = unexpected(&r, "the end of the text");
    }
    sn_free(r.string);
    return value;
}

typedef struct text_builder {
    char *text;
    size_t size, capacity;
    bool failed; /* sticky: json_dump_callback does not stop at a key that was refused */
} text_builder;

static int add_piece(const char *piece, size_t size, void *user) {
    text_builder *b = user;
    b->failed |= !SN_RESERVE(b->text, b->capacity, b->size + size);
    if (b->failed) return -1;
    memcpy(b->text + b->size, piece, size);
    b->size += size;
    return 0;
}

char *sn_json_dump(const json_t *value, size_t flags) {
    text_builder b = {0};
    bool good =
        value && json_dump_callback(value, add_piece, &b, flags) == 0 && add_piece("", 1, &b) == 0;
    if (good) return b.text;
    sn_free(b.text);
    return NULL;
}
