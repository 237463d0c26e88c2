/* jansson and memory: whether it ran out of it, and the end of its texts. */
#ifndef SN_BASE_JSON_TEXT_H
#define SN_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether the text is a JSON value; true is certain. Allocates nothing. */
bool sn_is_json(const char *text, size_t size);

/* Whether jansson read nothing for lack of memory. It often calls that an error of syntax, so that
 * the text is looked at once more. */
static inline bool sn_json_ran_out(const json_error_t *problem, const char *text, size_t size) {
    if (!*problem->text) return true; /* then there is no code either */
    switch (json_error_code(problem)) {
    case json_error_out_of_memory:
        return true;
    case json_error_unknown:
    case json_error_invalid_syntax:
    case json_error_premature_end_of_input:
    case json_error_end_of_input_expected:
        return sn_is_json(text, size);
    default:
        return false;
    }
}

/* What json_dumps gave, by the functions that the host may have set with json_set_alloc_funcs. */
static inline void sn_json_free(char *text) {
    json_free_t release;
    json_get_alloc_funcs(NULL, &release);
    if (text) release(text);
}

#endif
