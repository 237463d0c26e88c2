/* What every test file starts with: cmocka, and helpers shared by the rooms' tests. */
#ifndef SINEW_TESTS_SUPPORT_H
#define SINEW_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/status.h"

/* |a - b| <= tolerance, with both printed when not. */
#define assert_close(a, b, tolerance)                                                              \
    do {                                                                                           \
        double close_a = (a), close_b = (b), close_t = (tolerance);                                \
        if (!(fabs(close_a - close_b) <= close_t))                                                 \
            fail_msg("%s = %.17g, %s = %.17g, differ by %.3g > %.3g", #a, close_a, #b, close_b,    \
                     fabs(close_a - close_b), close_t);                                            \
    } while (0)

#define assert_below(a, bound)                                                                     \
    do {                                                                                           \
        double below_a = (a), below_b = (bound);                                                   \
        if (!(below_a <= below_b)) fail_msg("%s = %.6g > %.6g", #a, below_a, below_b);             \
    } while (0)

/* A library call that must succeed; prints its message when it does not. Needs `sinew_error error`
 * in scope. */
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        sinew_status ok_status = (call);                                                           \
        if (ok_status != SINEW_OK)                                                                 \
            fail_msg("%s: %s: %s", #call, sinew_status_name(ok_status), error.message);            \
    } while (0)

/* Deterministic random numbers, uniform in [-1, 1). */
static inline double test_random(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(int64_t)(*state >> 11 << 11) / 9223372036854775808.0;
}

/* Path of a real data file, "free/his-cow/rest.obj", in SINEW_DATA (default ../shared/data beside
 * the source tree), or NULL when the folder or file is not there: call `skip_without_data` then.
 * The string is static and overwritten by the eighth next call. */
const char *test_data(const char *relative);
/* Skips the running test, and says so visibly. */
#define skip_without_data(path)                                                                    \
    do {                                                                                           \
        if (!(path)) {                                                                             \
            print_message("SKIP %s: real data not found (set SINEW_DATA)\n", __func__);            \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* Memory that runs out: the library gets `allowed` more blocks, or changes of their size, and then
 * none, until test_memory_restore. */
void test_memory_limit(long allowed);
/* The same, but only one block is refused: whoever ignores that goes on without it. */
void test_memory_gap(long allowed);
typedef struct test_memory_use {
    long left;      /* of the allowed ones; negative: so many more were asked for */
    long living;    /* blocks not given back */
    size_t largest; /* bytes asked for at once */
} test_memory_use;
/* The usual memory again; says what was used under the limit. */
test_memory_use test_memory_restore(void);
/* Steps at which a job can be made to fail, by number: its blocks, or the polls of its monitor. It
 * can have a million of them, but those with the same callers unwind in the same way. test_steps
 * gives, in rising order, the first step of each path of callers that no earlier job of the process
 * had; SINEW_DEPTH (default 4) callers make a path. With SINEW_EVERY it gives the first, the second
 * and the last step of each path, of whole paths, whatever earlier jobs had: nothing was made yet,
 * something was, and everything but this. Static, overwritten by the next call; returns the count.
 */
void test_steps_begin(void);
void test_step(long number);
int test_steps(const long **numbers);
/* Memory without an end, like test_memory_limit(LONG_MAX); its blocks are steps. */
void test_memory_trace(void);
/* Runs the job with room for no block, for one, for two ... until it succeeds. Before, it must
 * report SINEW_NO_MEMORY each time and give everything back, also when only that block is refused
 * (unless it can do without); of the later blocks, some are refused alone. Returns the number of
 * failures. */
int test_out_of_memory(sinew_status (*job)(void *user), void *user);

/* A fresh temporary folder, removed when the test process ends. */
const char *test_folder(void);
/* Files and folders in a folder. */
int test_count_entries(const char *folder);

/* The info of a handle as a value: info_of(sinew_spring, spring).spring_count. */
#define info_of(type, handle)                                                                      \
    __extension__({                                                                                \
        type##_info about_ = {.size = sizeof about_};                                              \
        assert_int_equal(type##_get_info((handle), &about_), SINEW_OK);                            \
        about_;                                                                                    \
    })

/* Whether the tests run under AddressSanitizer or ThreadSanitizer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
