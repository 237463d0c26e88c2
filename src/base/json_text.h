/* Converts JSON text to jansson values and back.
 *
 * jansson's own parser (2.14) does not notice when the buffer of a token cannot grow: it then
 * aborts inside a number of more than 15 characters and reads past the end of a string. This parser
 * fails cleanly, accepts the same texts, and reads numbers the same way in every locale. jansson's
 * json_dumps drops a key that does not fit into memory and continues; sn_json_dump does not. */
#ifndef SN_BASE_JSON_TEXT_H
#define SN_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Why a text could not be parsed. */
typedef struct sn_json_problem {
    bool no_memory; /* if true, the other fields are meaningless */
    int line;       /* from 1 */
    int column;     /* in bytes, from 1 */
    char text[96];
} sn_json_problem;

/* Returns the value of the text, or NULL. Duplicate keys, strings that contain zero bytes and
 * nesting deeper than 2,048 levels are problems. Release with json_decref. */
json_t *sn_json_read(const char *text, size_t size, sn_json_problem *problem);

/* Returns the complete text of a value, or NULL if out of memory. Release with sn_free. `flags` are
 * jansson's. */
char *sn_json_dump(const json_t *value, size_t flags);

#endif
