/* Parts of a file that serve construction. */
#include <string.h>
#include <strings.h>

#include "sinew/mesh.h"

static bool has_word(const char *name, const char *word) {
    size_t length = strlen(word);
    for (; strlen(name) >= length; name++)
        if (!strncasecmp(name, word, length)) return true;
    return false;
}

/* MakeHuman also calls eyes, teeth, tongue and lashes helpers. */
bool sinew_part_is_helper(const char *name) {
    static const char *const beginnings[] = {"helper-", "helper_", "joint-", "ucx_",
                                             "ubx_",    "usp_",    "ucp_"};
    static const char *const shown[] = {"eye", "teeth", "tongue"};
    bool helper = false;
    if (!name) return false;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        helper = helper || !strncasecmp(name, beginnings[i], strlen(beginnings[i]));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (!strncasecmp(name, "helper", 6) && has_word(name, shown[i])) return false;
    return helper;
}
