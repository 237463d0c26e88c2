/* Named benchmark cases: what takes how long, and what the machine would allow.
 *
 * Every line of the table has a time, the bound that the hardware sets for the same work, measured
 * in the same run (bytes over the read bandwidth of a working set of that size, or operations over
 * the rate of fused multiply-adds), and their ratio. Times are never asserted anywhere.
 *
 * A room adds bench/bench_ROOM.c, which defines
 *
 *   const bench_case bench_ROOM[] = {{"linear-60", "26k vertices x 60 targets", run_it},
 * BENCH_END};
 *
 * and its name to the list in bench/meson.build. A case may report several lines. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "sinew/sinew.h"

typedef struct bench bench;

typedef struct bench_case {
    const char *name; /* shown as "room/name" */
    const char *what; /* one line: sizes and units of the work */
    void (*run)(bench *b);
} bench_case;

#define BENCH_END                                                                                  \
    { NULL, NULL, NULL }

/* Median seconds of one call of `work`: one call to warm up, then as many as fit into about half a
 * second, at least 5 and at most 200. */
double bench_time(bench *b, void (*work)(void *user), void *user);

/* Bytes per second that sinew_threads() threads read together from a working set of this size. */
double bench_read_bandwidth(bench *b, double working_set);
/* Operations per second of sinew_threads() threads, a fused multiply-add counting as two. */
double bench_flops_double(bench *b);
double bench_flops_float(bench *b);

/* A line of the table. seconds: of the work; bound: least seconds the machine allows for it (0: no
 * bound is known); limit: what sets the bound, such as "read 38 MB". `name` is appended to the
 * case's own; NULL: nothing to append. */
void bench_report(bench *b, const char *name, double seconds, double bound, const char *limit);
/* The same with further figures for the JSON, as "key": value pairs of a JSON object, without the
 * braces; NULL: none. */
void bench_report_more(bench *b, const char *name, double seconds, double bound, const char *limit,
                       const char *figures);
/* A case that cannot run here. */
void bench_skip(bench *b, const char *why);

/* Real data as in the tests: a path below SINEW_DATA, or NULL when it is not there. */
const char *bench_data(const char *relative);
/* For library calls that must succeed: says what failed and ends the program. */
void bench_need(sinew_status status, const sinew_error *error);

#endif
