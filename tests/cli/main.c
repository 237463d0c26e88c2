/* The command, as a person uses it. Arguments choose groups: test-cli usage help. */
#include <string.h>

#include "groups.h"

static const struct {
    const char *name;
    int (*run)(void);
} groups[] = {
    {"usage", test_usage},
    {"unusual", test_unusual},
    {"options", test_options},
    {"rare_options", test_rare_options},
    {"bad_input", test_bad_input},
    {"outputs", test_outputs},
    {"runs", test_runs},
    {"samples", test_samples},
    {"signals", test_signals},
    {"locks", test_locks},
    {"markers", test_markers},
    {"play", test_play},
    {"recordings", test_recordings},
    {"conversions", test_conversions},
    {"fallbacks", test_fallbacks},
    {"fit", test_fit},
    {"transfer", test_transfer},
    {"videos", test_videos},
    {"help", test_help},
    {"farm", test_farm},
    {"farm_trouble", test_farm_trouble},
    {"farm_slurm", test_farm_slurm},
};

static int chosen(const char *name, int count, char **words) {
    int found = count < 2;
    for (int i = 1; i < count; i++) found |= !strcmp(words[i], name);
    return found;
}

int main(int count, char **words) {
    int failed = 0;
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (chosen(groups[i].name, count, words)) failed += groups[i].run();
    return failed != 0;
}
