/* Documents in JSON, with the library's memory and messages. */
#ifndef SN_IO_JSON_H
#define SN_IO_JSON_H

#include <jansson.h>

#include "base/json_text.h"
#include "io/format.h"

/* The document, an object; bad input names the line. Depth is limited, duplicate keys are refused.
 * Release with json_decref. */
sinew_status sn_json_parse(const char *bytes, size_t size, const char *name, json_t **root,
                           sinew_error *error);
/* The text with an indent of 1, or on one line. */
sinew_status sn_json_write(const json_t *root, bool pretty, sn_buffer *out, sinew_error *error);

/* A member that must be a string without zero bytes; NULL when it is not there. */
const char *sn_json_string(const json_t *object, const char *key);
/* A number, or `otherwise` when the member is not there or is null. */
double sn_json_number(const json_t *object, const char *key, double otherwise);
/* An integer in [minimum, maximum]; false otherwise. */
bool sn_json_integer(const json_t *value, int64_t minimum, int64_t maximum, int64_t *result);

#endif
