/* Public calls with NULL in place of one of their pointers (wrap.py). */
#ifndef TESTS_CALLS_WRAPPED_H
#define TESTS_CALLS_WRAPPED_H

#include <stdbool.h>

extern struct wrapped {
    const char *name; /* the call to be spoiled; NULL: none */
    int argument;     /* among its pointers */
    bool met;         /* set by the call */
} wrapped;

typedef struct wrapped_call {
    const char *name;
    int count;
    const char *pointers[16]; /* names of the parameters */
} wrapped_call;
extern const wrapped_call wrapped_calls[]; /* ends with a name of NULL */

/* Questions about no object and about elements that are not there. `note` hears of each before it
 * is asked. Returns how many answers were an object although there is none. */
struct stage;
int wrapped_questions(const struct stage *s, void (*note)(const char *call, const char *about));

#endif
