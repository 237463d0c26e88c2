#include "io/json.h"

#include "base/memory.h"

sinew_status sn_json_parse(const char *bytes, size_t size, const char *name, json_t **root,
                           sinew_error *error) {
    sn_json_problem problem;
    *root = sn_json_read(bytes, size, &problem);
    if (!*root && problem.no_memory) return sn_no_memory(error);
    if (!*root)
        return sn_fail(error, SINEW_BAD_INPUT, "%s:%d: %s", name, problem.line, problem.text);
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
