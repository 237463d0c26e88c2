/* Scenes and their run loop. An argument runs the group of that name alone. */
#include <string.h>

#include "groups.h"
#include "sinew/job.h"

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        int (*run)(void);
    } groups[] = {{"scenes", test_scenes},         {"jobs", test_jobs},
                  {"selections", test_selections}, {"obstacles", test_obstacles},
                  {"locks", test_locks},           {"modal", test_modal},
                  {"parts", test_parts},           {"reports", test_reports},
                  {"locale", test_locale},         {"recorded", test_recorded}};
    sinew_set_plot_function(sinew_plot_write);
    int failed = 0;
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (count < 2 || !strcmp(arguments[1], groups[i].name)) failed += groups[i].run();
    return failed != 0;
}
