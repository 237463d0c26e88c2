/* Small text formats that options, scenes and bindings share, one parser for each. The public ones
 * are in sinew/text.h. */
#ifndef SN_BASE_FORMS_H
#define SN_BASE_FORMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Weights beyond this are typing errors or noise; their squares overflow in the models. */
#define SN_SLIDER_LIMIT 1e6

/* The word at an index of "a|b|c" and its length; NULL past the last. */
const char *sn_choice_at(const char *choices, int index, size_t *length);
/* Index of the word, or -1. */
int sn_choice_index(const char *choices, const char *word);

/* Reads finite numbers separated by commas. Returns how many there are, of which at most `capacity`
 * are stored, or -1 if the text is malformed. The list must extend to the end of the text or, if
 * `stop` is not 0, to that character, where *end is left. */
int sn_number_list(const char *text, char stop, int capacity, double *numbers, const char **end);

/* One "NAME=NUMBER" of a list "smile=0.5,jaw=1". */
typedef struct sn_weight_entry {
    const char *text; /* the whole entry, inside the list */
    int length;       /* for messages: at most 80 */
    const char *name; /* without blanks around it */
    size_t name_length;
    double value;
} sn_weight_entry;

/* Reads the entry at *text and moves *text to the next one, or to the end. SINEW_BAD_INPUT quotes
 * the entry. */
sinew_status sn_weight_next(const char **text, sn_weight_entry *entry, sinew_error *error);

#endif
