/* Binary and ASCII FBX to a tree of nodes.
 *
 * The format has no public specification; this follows what is commonly known of it: the binary
 * record layout of Blender's notes and the ASCII layout of the files themselves. */
#include "io/fbx_tree.h"

#include <ctype.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#ifdef SN_HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#include "base/memory.h"
#include "base/number.h"
#include "io/binary.h"

enum {
    MAGIC_SIZE = 22, /* up to the byte that tells the byte order */
    HEADER_SIZE = 27,
    DEEPEST = 64,        /* nesting of nodes; real files stay under ten */
    INFLATE_MOST = 1100, /* deflate never expands by more than 1032 */
};

static const char magic[MAGIC_SIZE + 1] = "Kaydara FBX Binary  \0\x1a";

sinew_status sn_fbx_fail(const sn_fbx_tree *tree, const char *format, ...) {
    char what[SINEW_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    sn_vprint(what, sizeof what, format, arguments);
    va_end(arguments);
    return sn_source_fail(tree->source, tree->error, "%s", what);
}

static bool is_binary(const sn_source *source) {
    return source->size >= HEADER_SIZE && memcmp(source->bytes, magic, MAGIC_SIZE) == 0;
}

bool sn_fbx_recognise(const sn_source *source) {
    return source->size > 0;
}

/* ---- building -------------------------------------------------------------------------------- */

/* A node at the end of the list; *previous is the last child of its parent so far, or -1. */
static sinew_status add_node(sn_fbx_tree *t, int parent, int *previous, const char *name, int size,
                             int *node) {
    if (t->node_count == INT_MAX) return sn_fbx_fail(t, "has too many nodes");
    if (!SN_RESERVE(t->nodes, t->node_capacity, t->node_count + 1)) return sn_no_memory(t->error);
    *node = t->node_count++;
    t->nodes[*node] = (sn_fbx_node){name, size, -1, -1, t->value_count, 0};
    if (*previous >= 0)
        t->nodes[*previous].next = *node;
    else if (parent >= 0)
        t->nodes[parent].first_child = *node;
    *previous = *node;
    return SINEW_OK;
}

static sinew_status add_value(sn_fbx_tree *t, int node, const sn_fbx_value *value) {
    if (t->value_count == INT_MAX) return sn_fbx_fail(t, "has too many values");
    if (!SN_RESERVE(t->values, t->value_capacity, t->value_count + 1))
        return sn_no_memory(t->error);
    t->values[t->value_count++] = *value;
    t->nodes[node].value_count++;
    return SINEW_OK;
}

static sn_fbx_value integer_value(int64_t integer) {
    return (sn_fbx_value){.type = SN_FBX_INTEGER, .integer = integer, .number = (double)integer};
}

static sn_fbx_value number_value(double number) {
    bool fits = number > -9e18 && number < 9e18;
    return (sn_fbx_value){
        .type = SN_FBX_NUMBER, .integer = fits ? (int64_t)number : 0, .number = number};
}

/* ---- binary ---------------------------------------------------------------------------------- */

static size_t element_size(char element) {
    switch (element) {
    case 'd':
    case 'l':
        return 8;
    case 'f':
    case 'i':
        return 4;
    case 'b':
    case 'c':
        return 1;
    default:
        return 0;
    }
}

static sinew_status cut_short(const sn_fbx_tree *t, size_t at) {
    return sn_fbx_fail(t, "byte %zu: the file ends in the middle of a node", at);
}

/* Reads the array whose type letter was at *at - 1. */
static sinew_status read_array(const sn_fbx_tree *t, size_t *at, size_t end, char element,
                               sn_fbx_value *value) {
    if (end - *at < 12) return cut_short(t, *at);
    const char *head = t->source->bytes + *at;
    uint32_t count = sn_load_u32(head, t->big_endian);
    uint32_t encoding = sn_load_u32(head + 4, t->big_endian);
    uint32_t size = sn_load_u32(head + 8, t->big_endian);
    if (encoding > 1) return sn_fbx_fail(t, "byte %zu: unknown array encoding %u", *at, encoding);
    *at += 12;
    uint64_t plain = (uint64_t)count * element_size(element);
    if (encoding == 0) size = (uint32_t)(plain <= UINT32_MAX ? plain : UINT32_MAX);
    if (size > end - *at) return cut_short(t, *at);
    if (plain > (uint64_t)size * (encoding ? INFLATE_MOST : 1) || count > INT_MAX)
        return sn_fbx_fail(t, "byte %zu: an array of %u elements does not fit its %u bytes", *at,
                           count, size);
    *value = (sn_fbx_value){.type = SN_FBX_ARRAY,
                            .element = element,
                            .deflated = encoding == 1,
                            .count = count,
                            .bytes = t->source->bytes + *at,
                            .size = size};
    *at += size;
    return SINEW_OK;
}

static sinew_status read_value(sn_fbx_tree *t, size_t *at, size_t end, int node) {
    if (*at >= end) return cut_short(t, *at);
    const char letter = t->source->bytes[(*at)++];
    const char *bytes = t->source->bytes + *at;
    size_t left = end - *at, size = 0;
    sn_fbx_value value = {0};
    switch (letter) {
    case 'C':
    case 'B':
    case 'Z':
        size = 1;
        if (left >= size) value = integer_value((unsigned char)*bytes);
        break;
    case 'Y':
        size = 2;
        if (left >= size) value = integer_value((int16_t)sn_load_u16(bytes, t->big_endian));
        break;
    case 'I':
        size = 4;
        if (left >= size) value = integer_value((int32_t)sn_load_u32(bytes, t->big_endian));
        break;
    case 'L':
        size = 8;
        if (left >= size) value = integer_value((int64_t)sn_load_u64(bytes, t->big_endian));
        break;
    case 'F':
        size = 4;
        if (left >= size) value = number_value(sn_load_f32(bytes, t->big_endian));
        break;
    case 'D':
        size = 8;
        if (left >= size) value = number_value(sn_load_f64(bytes, t->big_endian));
        break;
    case 'S':
    case 'R':
        if (left < 4) return cut_short(t, *at);
        value.type = SN_FBX_TEXT;
        value.size = sn_load_u32(bytes, t->big_endian);
        value.bytes = bytes + 4;
        if (value.size > left - 4) return cut_short(t, *at);
        size = 4 + value.size;
        break;
    case 'f':
    case 'd':
    case 'i':
    case 'l':
    case 'b':
    case 'c':
        SN_TRY(read_array(t, at, end, letter, &value));
        break;
    default:
        return sn_fbx_fail(t, "byte %zu: unknown value type 0x%02x", *at - 1,
                           (unsigned char)letter);
    }
    if (size > left) return cut_short(t, *at);
    *at += size;
    return add_value(t, node, &value);
}

/* Nodes from *at up to the empty record that ends a list, or to `end`. */
static sinew_status read_nodes(sn_fbx_tree *t, size_t *at, size_t end, int parent, int depth) {
    const bool wide = t->version >= 7500;
    const size_t head = wide ? 25 : 13;
    if (depth > DEEPEST) return sn_fbx_fail(t, "byte %zu: nodes are nested too deeply", *at);
    int previous = -1;
    for (;;) {
        /* Only lists inside a node may end without an empty record. */
        if (*at == end && depth > 0) return SINEW_OK;
        if (end - *at < head) return cut_short(t, *at);
        const char *p = t->source->bytes + *at;
        uint64_t next = wide ? sn_load_u64(p, t->big_endian) : sn_load_u32(p, t->big_endian);
        uint64_t values =
            wide ? sn_load_u64(p + 8, t->big_endian) : sn_load_u32(p + 4, t->big_endian);
        uint64_t value_bytes =
            wide ? sn_load_u64(p + 16, t->big_endian) : sn_load_u32(p + 8, t->big_endian);
        size_t name_size = (unsigned char)p[head - 1];
        if (next == 0) {
            *at += head;
            return SINEW_OK;
        }
        size_t from = *at + head + name_size;
        if (next > end || from > next || value_bytes > next - from)
            return sn_fbx_fail(t, "byte %zu: a node reaches beyond the file or its parent", *at);
        int node;
        SN_TRY(add_node(t, parent, &previous, p + head, (int)name_size, &node));
        size_t value_end = from + (size_t)value_bytes;
        *at = from;
        for (uint64_t i = 0; i < values; i++) SN_TRY(read_value(t, at, value_end, node));
        *at = value_end;
        if (*at < next) SN_TRY(read_nodes(t, at, (size_t)next, node, depth + 1));
        *at = (size_t)next;
    }
}

static sinew_status read_binary(sn_fbx_tree *t) {
    const char *bytes = t->source->bytes;
    t->big_endian = bytes[MAGIC_SIZE] != 0;
    uint32_t version = sn_load_u32(bytes + MAGIC_SIZE + 1, t->big_endian);
    if (version < 2000 || version > 100000)
        return sn_fbx_fail(t, "FBX version %u is not supported", version);
    t->version = (int)version;
    size_t at = HEADER_SIZE;
    return read_nodes(t, &at, t->source->size, 0, 0);
}

/* ---- ASCII ----------------------------------------------------------------------------------- */

typedef struct scanner {
    sn_fbx_tree *tree;
    const char *at, *end;
    int line;
} scanner;

static sinew_status bad_text(const scanner *s, const char *what) {
    return sn_fail(s->tree->error, SINEW_BAD_INPUT, "%s:%d: %s", s->tree->source->name, s->line,
                   what);
}

static void skip_blank(scanner *s) {
    while (s->at < s->end) {
        if (*s->at == '\n') s->line++;
        if (*s->at == ';')
            while (s->at < s->end && *s->at != '\n' && *s->at != '\r') s->at++;
        else if (isspace((unsigned char)*s->at) || *s->at == '\0')
            s->at++;
        else
            return;
    }
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '|' || c == '-' || c == '+' || c == '.' ||
           c == '#' || c == '*';
}

/* Length of the word at the scanner, which ends before blanks and punctuation. */
static size_t word_length(const scanner *s) {
    const char *p = s->at;
    while (p < s->end && is_word(*p)) p++;
    return (size_t)(p - s->at);
}

/* Whether the word at the scanner is the name of a node: a colon follows it. */
static bool at_name(const scanner *s) {
    const char *p = s->at + word_length(s);
    while (p < s->end && (*p == ' ' || *p == '\t')) p++;
    return p > s->at && p < s->end && *p == ':';
}

/* What the characters that a string cannot hold are written as. */
static const struct {
    const char *escape;
    char stands_for;
} escapes[] = {{"&quot;", '"'}, {"&lf;", '\n'}, {"&cr;", '\r'}};

/* The character at *p, which moves to the last byte of an escape. */
static char unescape(const char **p, const char *end) {
    for (size_t i = 0; **p == '&' && i < sizeof escapes / sizeof *escapes; i++) {
        size_t size = strlen(escapes[i].escape);
        if ((size_t)(end - *p) < size || memcmp(*p, escapes[i].escape, size) != 0) continue;
        *p += size - 1;
        return escapes[i].stands_for;
    }
    return **p;
}

static sinew_status scan_string(scanner *s, sn_fbx_value *value) {
    const char *from = ++s->at;
    bool escaped = false;
    for (; s->at < s->end && *s->at != '"'; s->at++) {
        escaped |= *s->at == '&';
        if (*s->at == '\n') s->line++;
    }
    if (s->at == s->end) return bad_text(s, "a string does not end");
    *value = (sn_fbx_value){.type = SN_FBX_TEXT, .bytes = from, .size = (size_t)(s->at - from)};
    s->at++;
    if (!escaped) return SINEW_OK;
    /* Room for the whole file's strings was reserved, so earlier texts do not move. */
    char *to = s->tree->texts.bytes + s->tree->texts.size, *start = to;
    for (const char *p = from; p < from + value->size; p++)
        *to++ = unescape(&p, from + value->size);
    value->bytes = start;
    value->size = (size_t)(to - start);
    s->tree->texts.size += value->size;
    return SINEW_OK;
}

static sinew_status scan_value(scanner *s, int node) {
    sn_fbx_value value;
    if (*s->at == '"') {
        SN_TRY(scan_string(s, &value));
        return add_value(s->tree, node, &value);
    }
    size_t length = word_length(s);
    if (length == 0) return bad_text(s, "expected a value");
    const char *at = s->at, *end = s->at + length;
    int64_t integer;
    double number;
    bool announces = *at == '*'; /* *24: how many numbers follow in braces */
    if (announces) at++;
    const char *p = at;
    if (end < s->end && *end == '(') { /* -nan(ind) */
        while (end < s->end && *end != ')' && *end != '\n') end++;
        end += end < s->end && *end == ')';
        value = number_value(NAN);
    } else if (sn_integer(&p, &integer) && p == end) {
        value = integer_value(integer);
    } else if ((p = at, sn_number(&p, &number)) && (p == end || *p == '#')) {
        value = number_value(p == end ? number : NAN); /* 1.#IND and the like */
    } else {
        value = (sn_fbx_value){.type = SN_FBX_TEXT, .bytes = s->at, .size = length};
    }
    s->at = end;
    if (announces) value.element = '*';
    return add_value(s->tree, node, &value);
}

/* Whether a number follows the comma that the scanner is at. */
static bool at_number(const scanner *s) {
    const char *p = s->at + 1;
    while (p < s->end && isspace((unsigned char)*p)) p++;
    return p < s->end && (isdigit((unsigned char)*p) || *p == '-' || *p == '+' || *p == '.');
}

static sinew_status scan_values(scanner *s, int node) {
    skip_blank(s);
    if (s->at == s->end || *s->at == '{' || *s->at == '}') return SINEW_OK;
    if (*s->at != ',') {
        if (*s->at != '"' && at_name(s)) return SINEW_OK;
        SN_TRY(scan_value(s, node));
        skip_blank(s);
    } else if (!at_number(s)) { /* Content: , "…" leaves the first value empty; a: ,1,2 does not */
        sn_fbx_value empty = {.type = SN_FBX_TEXT, .bytes = s->at, .size = 0};
        SN_TRY(add_value(s->tree, node, &empty));
    }
    while (s->at < s->end && *s->at == ',') {
        s->at++;
        skip_blank(s);
        if (s->at == s->end || *s->at == '}') break;
        SN_TRY(scan_value(s, node));
        skip_blank(s);
    }
    return SINEW_OK;
}

static sinew_status scan_nodes(scanner *s, int parent, int depth) {
    if (depth > DEEPEST) return bad_text(s, "nodes are nested too deeply");
    int previous = -1;
    for (;;) {
        skip_blank(s);
        if (s->at == s->end)
            return depth == 0 ? SINEW_OK : bad_text(s, "the file ends in the middle of a node");
        if (*s->at == '}') {
            if (depth == 0) return bad_text(s, "unexpected '}'");
            s->at++;
            return SINEW_OK;
        }
        if (!at_name(s)) return bad_text(s, "expected the name of a node and a colon");
        size_t length = word_length(s);
        int node;
        if (length > INT_MAX) return bad_text(s, "a name is too long");
        SN_TRY(add_node(s->tree, parent, &previous, s->at, (int)length, &node));
        s->at = memchr(s->at, ':', (size_t)(s->end - s->at));
        s->at++;
        SN_TRY(scan_values(s, node));
        if (s->at < s->end && *s->at == '{') {
            s->at++;
            SN_TRY(scan_nodes(s, node, depth + 1));
        }
    }
}

/* Of a file that does not state it: objects have numbers from 7.0 on, and only names before. */
static int guess_version(const sn_fbx_tree *t) {
    int objects = sn_fbx_child(t, 0, "Objects");
    for (int node = objects < 0 ? -1 : t->nodes[objects].first_child; node >= 0;
         node = t->nodes[node].next) {
        const sn_fbx_value *first = sn_fbx_value_at(t, node, 0);
        if (first) return first->type == SN_FBX_INTEGER ? 7400 : 6100;
    }
    return 6100;
}

static sinew_status read_ascii(sn_fbx_tree *t) {
    const sn_source *source = t->source;
    scanner s = {t, source->bytes, source->bytes + source->size, 1};
    t->ascii = true;
    if (source->size >= 3 && memcmp(s.at, "\xef\xbb\xbf", 3) == 0) s.at += 3;
    if (!sn_buffer_room(&t->texts, source->size + 1)) return sn_no_memory(t->error);
    SN_TRY(scan_nodes(&s, 0, 0));
    int header = sn_fbx_child(t, 0, "FBXHeaderExtension");
    const sn_fbx_value *version = sn_fbx_value_at(t, sn_fbx_child(t, header, "FBXVersion"), 0);
    if (header < 0 && sn_fbx_child(t, 0, "Objects") < 0 && sn_fbx_child(t, 0, "Model") < 0)
        return sn_fbx_fail(t, "is not an FBX file");
    bool known = version && version->integer > 0 && version->integer < 100000;
    t->version = known ? (int)version->integer : guess_version(t);
    return SINEW_OK;
}

sinew_status sn_fbx_tree_open(sn_fbx_tree *tree, const sn_source *source, sinew_error *error) {
    *tree = (sn_fbx_tree){.source = source, .error = error};
    int root, previous = -1;
    SN_TRY(add_node(tree, -1, &previous, "", 0, &root));
    if (is_binary(source)) return read_binary(tree);
    if (source->size >= 7 && memcmp(source->bytes, magic, 7) == 0) return cut_short(tree, 0);
    return read_ascii(tree);
}

void sn_fbx_tree_close(sn_fbx_tree *tree) {
    sn_free(tree->nodes);
    sn_free(tree->values);
    sn_buffer_free(&tree->texts);
    tree->nodes = NULL;
    tree->values = NULL;
}

/* ---- questions ------------------------------------------------------------------------------- */

bool sn_fbx_named(const sn_fbx_tree *tree, int node, const char *name) {
    const sn_fbx_node *n = &tree->nodes[node];
    return (size_t)n->name_size == strlen(name) && memcmp(n->name, name, strlen(name)) == 0;
}

int sn_fbx_child(const sn_fbx_tree *tree, int node, const char *name) {
    if (node < 0) return -1;
    int child = tree->nodes[node].first_child;
    while (child >= 0 && !sn_fbx_named(tree, child, name)) child = tree->nodes[child].next;
    return child;
}

int sn_fbx_next_same(const sn_fbx_tree *tree, int node) {
    const sn_fbx_node *n = &tree->nodes[node];
    int next = n->next;
    while (next >= 0 && (tree->nodes[next].name_size != n->name_size ||
                         memcmp(tree->nodes[next].name, n->name, (size_t)n->name_size) != 0))
        next = tree->nodes[next].next;
    return next;
}

const sn_fbx_value *sn_fbx_value_at(const sn_fbx_tree *tree, int node, int index) {
    if (node < 0 || index < 0 || index >= tree->nodes[node].value_count) return NULL;
    return &tree->values[tree->nodes[node].first_value + index];
}

bool sn_fbx_text_is(const sn_fbx_value *value, const char *text) {
    return value && value->type == SN_FBX_TEXT && value->size == strlen(text) &&
           memcmp(value->bytes, text, value->size) == 0;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

#ifdef SN_HAVE_LIBDEFLATE
/* Two to three times as fast as zlib, whose streams arrays do not need. */
static sinew_status inflate_array(const sn_fbx_tree *t, const sn_fbx_value *value, char *bytes,
                                  size_t size) {
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    if (!inflater) return sn_no_memory(t->error);
    enum libdeflate_result result =
        libdeflate_zlib_decompress(inflater, value->bytes, value->size, bytes, size, NULL);
    libdeflate_free_decompressor(inflater);
    return result == LIBDEFLATE_SUCCESS ? SINEW_OK
                                        : sn_fbx_fail(t, "a compressed array is damaged");
}
#else
static sinew_status inflate_array(const sn_fbx_tree *t, const sn_fbx_value *value, char *bytes,
                                  size_t size) {
    z_stream stream = {.next_in = (z_const Bytef *)value->bytes,
                       .avail_in = (uInt)value->size,
                       .next_out = (Bytef *)bytes,
                       .avail_out = (uInt)size};
    if (inflateInit(&stream) != Z_OK) return sn_no_memory(t->error);
    int result = inflate(&stream, Z_FINISH);
    bool complete = result == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    return complete ? SINEW_OK : sn_fbx_fail(t, "a compressed array is damaged");
}
#endif

/* The plain bytes of an array; *own must be freed. */
static sinew_status array_bytes(const sn_fbx_tree *t, const sn_fbx_value *value, char **own,
                                const char **bytes) {
    *own = NULL;
    *bytes = value->bytes;
    if (!value->deflated || value->count == 0) return SINEW_OK;
    size_t size = value->count * element_size(value->element);
    if (size > UINT_MAX) return sn_fbx_fail(t, "an array is too large");
    *own = SN_NEW(char, size);
    if (!*own) return sn_no_memory(t->error);
    *bytes = *own;
    return inflate_array(t, value, *own, size);
}

static double load_number(const char *p, char element, bool big_endian) {
    switch (element) {
    case 'd':
        return sn_load_f64(p, big_endian);
    case 'f':
        return sn_load_f32(p, big_endian);
    case 'i':
        return (int32_t)sn_load_u32(p, big_endian);
    case 'l':
        return (double)(int64_t)sn_load_u64(p, big_endian);
    default:
        return (unsigned char)*p;
    }
}

static int64_t load_integer(const char *p, char element, bool big_endian) {
    switch (element) {
    case 'i':
        return (int32_t)sn_load_u32(p, big_endian);
    case 'l':
        return (int64_t)sn_load_u64(p, big_endian);
    case 'd':
    case 'f':
        return number_value(load_number(p, element, big_endian)).integer;
    default:
        return (unsigned char)*p;
    }
}

/* The values that hold a node's numbers: its own, or those of its child `a` in ASCII files. */
static const sn_fbx_value *number_values(const sn_fbx_tree *t, int node, int *count) {
    int list = sn_fbx_child(t, node, "a");
    if (list >= 0) node = list;
    const sn_fbx_value *first = sn_fbx_value_at(t, node, 0);
    bool announced = first && first->type != SN_FBX_ARRAY && first->element == '*'; /* *0 { } */
    *count = node >= 0 && !announced ? t->nodes[node].value_count : 0;
    return first;
}

/* Doubles as doubles and 32-bit integers as integers, which nearly all arrays are, up to the first
 * number that is not finite; returns how many. */
static int load_plain(const sn_fbx_value *array, const char *bytes, double *d, int64_t *n) {
    int count = (int)array->count, i = 0;
    if (d && array->element == 'd')
        for (; i < count; i++) {
            d[i] = sn_load_f64(bytes + 8 * (size_t)i, false);
            if (!(fabs(d[i]) <= DBL_MAX)) break;
        }
    if (n && array->element == 'i')
        for (; i < count; i++) n[i] = (int32_t)sn_load_u32(bytes + 4 * (size_t)i, false);
    return i;
}

sinew_status sn_fbx_packed(const sn_fbx_tree *t, int node, char element, sn_fbx_array *array) {
    *array = (sn_fbx_array){0};
    const sn_fbx_value *value = sn_fbx_value_at(t, node, 0);
    if (!value || value->type != SN_FBX_ARRAY || value->element != element || t->big_endian)
        return SINEW_OK;
    SN_TRY(array_bytes(t, value, &array->own, &array->bytes));
    array->count = (int)value->count;
    return SINEW_OK;
}

/* Exactly one of numbers and integers is wanted. */
static sinew_status fetch(const sn_fbx_tree *t, int node, bool finite, double **numbers,
                          int64_t **integers, int *count) {
    if (numbers) *numbers = NULL;
    if (integers) *integers = NULL;
    const sn_fbx_value *values = number_values(t, node, count);
    if (*count == 0) return SINEW_OK;
    bool packed = values->type == SN_FBX_ARRAY;
    if (packed) *count = (int)values->count;
    void *made = sn_alloc((size_t)*count, 8);
    if (!made) return sn_no_memory(t->error);
    double *d = numbers ? made : NULL;
    int64_t *n = integers ? made : NULL;
    const char *name = t->nodes[node].name;
    int name_size = t->nodes[node].name_size;
    sinew_status status = SINEW_OK;
    char *own = NULL;
    const char *bytes = NULL;
    if (packed) status = array_bytes(t, values, &own, &bytes);
    size_t width = packed ? element_size(values->element) : 0;
    int plain = 0; /* elements that a loop without choices has read */
    if (status == SINEW_OK && packed && !t->big_endian) plain = load_plain(values, bytes, d, n);
    for (int i = plain; status == SINEW_OK && i < *count; i++) {
        const char *p = packed ? bytes + (size_t)i * width : NULL;
        if (!packed && values[i].type == SN_FBX_TEXT)
            status = sn_fbx_fail(t, "%.*s: element %d is not a number", name_size, name, i);
        else if (n)
            n[i] = packed ? load_integer(p, values->element, t->big_endian) : values[i].integer;
        else
            d[i] = packed ? load_number(p, values->element, t->big_endian) : values[i].number;
        if (status == SINEW_OK && d && finite && !isfinite(d[i]))
            status = sn_fbx_fail(t, "%.*s: element %d is not a finite number", name_size, name, i);
    }
    sn_free(own);
    if (status != SINEW_OK) {
        sn_free(made);
        *count = 0;
    } else if (d) {
        *numbers = d;
    } else {
        *integers = n;
    }
    return status;
}

sinew_status sn_fbx_numbers(const sn_fbx_tree *tree, int node, double **numbers, int *count) {
    return fetch(tree, node, true, numbers, NULL, count);
}

sinew_status sn_fbx_any_numbers(const sn_fbx_tree *tree, int node, double **numbers, int *count) {
    return fetch(tree, node, false, numbers, NULL, count);
}

sinew_status sn_fbx_integers(const sn_fbx_tree *tree, int node, int64_t **integers, int *count) {
    return fetch(tree, node, true, NULL, integers, count);
}
