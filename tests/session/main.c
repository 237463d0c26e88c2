/* Sessions: patches and undo, live solves of every model, states, cancelling, threads. An argument
 * runs the group of that name alone. */
#include <string.h>

#include "groups.h"

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        int (*run)(void);
    } groups[] = {{"texts", test_texts},
                  {"patches", test_patches},
                  {"costs", test_costs},
                  {"details", test_details},
                  {"chunks", test_chunks},
                  {"cancel", test_cancel},
                  {"orderings", test_orderings},
                  {"threads", test_threads},
                  {"clips", test_clips},
                  {"no_memory", test_no_memory},
                  {"random_calls", test_random_calls},
                  {"refusals", test_refusals},
                  {"face_contact", test_face_contact},
                  {"given", test_given},
                  {"holds", test_holds},
                  {"live", test_live},
                  {"recorded", test_recorded}};
    int failed = 0;
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (count < 2 || !strcmp(arguments[1], groups[i].name)) failed += groups[i].run();
    return failed != 0;
}
