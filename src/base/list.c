#include "base/list.h"

#include <string.h>

bool sn_list_next(const char **list, const char **name, size_t *length) {
    const char *at = *list + strspn(*list, ", \t");
    size_t rest = strcspn(at, ",");
    *list = at + rest, *name = at, *length = rest;
    while (*length > 0 && strchr(" \t", at[*length - 1])) (*length)--;
    return rest > 0;
}
