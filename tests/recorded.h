/* Results that were recorded once, so that a change of an algorithm is seen even where the result
 * still has the properties that other tests ask for. They are in tests/recorded.txt.
 *
 * They are those of the library for every processor (x86-64-v2), which the build with sanitizers
 * uses. The variants for newer ones round differently, so that solvers stop elsewhere: where one of
 * them is loaded, results only have to be finite. tests/golden compares those.
 *
 * After an intended change, SINEW_RECORD=1 makes the tests write what they find instead of
 * comparing it; look at the differences before you commit them. */
#ifndef SINEW_TESTS_RECORDED_H
#define SINEW_TESTS_RECORDED_H

#include <stdbool.h>

#include "support.h"

/* Whether the library that runs is the one whose results were recorded. */
bool recorded_exactly(void);
/* The same for what also tells how another compiler rounds: contact, residuals. */
bool recorded_by_this_compiler(void);
/* Numbers: up to eight as they are, of more a few sums in which each has another weight. tolerance:
 * relative to the largest of them. */
void assert_recorded(const char *name, int count, const double *values, double tolerance);
/* Numbers of a text like numbers; what is between them like bytes. Lines with a time or an amount
 * of memory do not count. */
void assert_recorded_text(const char *name, const char *text, double tolerance);
/* Bytes that must not change at all. */
void assert_recorded_bytes(const char *name, const void *bytes, size_t size);
#endif
