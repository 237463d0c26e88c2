#include "base/forms.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

const char *sn_choice_at(const char *choices, int index, size_t *length) {
    const char *word = choices;
    for (; word && index > 0; index--) {
        word = strchr(word, '|');
        word = word ? word + 1 : NULL;
    }
    if (word) *length = strcspn(word, "|");
    return word;
}

int sn_choice_index(const char *choices, const char *text) {
    const char *word;
    size_t length, wanted = strlen(text);
    for (int i = 0; (word = sn_choice_at(choices, i, &length)); i++)
        if (length == wanted && !strncmp(word, text, length)) return i;
    return -1;
}

int sn_number_list(const char *text, char stop, int capacity, double *numbers, const char **end) {
    for (int count = 0;;) {
        double value;
        while (*text == ' ') text++;
        if (!sn_number(&text, &value) || !isfinite(value)) return -1;
        while (*text == ' ') text++;
        if (count < capacity) numbers[count] = value;
        count++;
        if (*text == '\0' || (stop && *text == stop)) {
            if (end) *end = text;
            return count;
        }
        if (*text++ != ',') return -1;
    }
}

sinew_status sn_weight_next(const char **text, sn_weight_entry *entry, sinew_error *error) {
    size_t length = strcspn(*text, ",");
    const char *start = *text, *equals = memchr(start, '=', length);
    *entry = (sn_weight_entry){.text = start, .length = (int)(length < 80 ? length : 80)};
    if (!equals || equals == start)
        return sn_fail(error, SINEW_BAD_INPUT, "weight \"%.*s\": expected NAME=VALUE",
                       entry->length, start);
    const char *end = equals + 1;
    while (*end == ' ') end++;
    bool good = sn_number(&end, &entry->value) && isfinite(entry->value);
    while (good && *end == ' ') end++;
    if (!good || end != start + length)
        return sn_fail(error, SINEW_BAD_INPUT, "weight \"%.*s\": the value is not a finite number",
                       entry->length, start);
    entry->name = start;
    entry->name_length = (size_t)(equals - start);
    while (entry->name_length > 0 && *entry->name == ' ') entry->name++, entry->name_length--;
    while (entry->name_length > 0 && entry->name[entry->name_length - 1] == ' ')
        entry->name_length--;
    *text = start + length + (start[length] == ',');
    return SINEW_OK;
}
