/* JSON text to jansson's values, and the end of the texts that jansson makes.
 *
 * jansson's own parser ignores that the buffer of a token could not grow: it then aborts inside a
 * number of more than 15 characters and reads past the end of a string (jansson 2.14). This parser
 * fails without either, accepts the same texts, and reads numbers in every locale alike. */
#ifndef SN_BASE_JSON_TEXT_H
#define SN_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Why a text is not a value. */
typedef struct sn_json_problem {
    bool no_memory; /* the rest says nothing then */
    int line;       /* from 1 */
    int column;     /* in bytes, from 1 */
    char text[96];
} sn_json_problem;

/* The value of the text, or NULL. Keys that appear twice, strings that hold zero bytes and nesting
 * over 2,048 levels are problems. Release with json_decref. */
json_t *sn_json_read(const char *text, size_t size, sn_json_problem *problem);

/* What json_dumps gave, by the functions that the host may have set with json_set_alloc_funcs. */
static inline void sn_json_free(char *text) {
    json_free_t release;
    json_get_alloc_funcs(NULL, &release);
    if (text) release(text);
}

#endif
