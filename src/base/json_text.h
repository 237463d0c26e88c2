/* JSON text to jansson's values and back.
 *
 * jansson's own parser ignores that the buffer of a token could not grow: it then aborts inside a
 * number of more than 15 characters and reads past the end of a string (jansson 2.14). This parser
 * fails without either, accepts the same texts, and reads numbers in every locale alike. Its
 * json_dumps drops a key that did not fit into memory, and goes on. */
#ifndef SN_BASE_JSON_TEXT_H
#define SN_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Why a text is not a value. */
typedef struct sn_json_problem {
    bool no_memory; /* the other fields are meaningless then */
    int line;       /* from 1 */
    int column;     /* in bytes, from 1 */
    char text[96];
} sn_json_problem;

/* The value of the text, or NULL. Keys that appear twice, strings that hold zero bytes and nesting
 * over 2,048 levels are problems. Release with json_decref. */
json_t *sn_json_read(const char *text, size_t size, sn_json_problem *problem);

/* The text of a value, complete; NULL: no memory. Release with sn_free. `flags` are jansson's. */
char *sn_json_dump(const json_t *value, size_t flags);

#endif
