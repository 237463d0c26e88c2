/* Other work on the machine: child processes that do nothing but count. */
#ifndef BENCH_BUSY_H
#define BENCH_BUSY_H

enum { BENCH_MOST_BUSY = 4 };

/* Starts or ends processes until `count` of them run; they end with the benchmark. */
void bench_set_busy(int count);

#endif
