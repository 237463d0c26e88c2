/* What the machine can do; each call measures. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

/* Bytes per second; working_set in bytes, over all threads. */
double machine_read_bandwidth(double working_set, int threads);
/* Operations per second of fused multiply-adds. */
double machine_flops_double(int threads);
double machine_flops_float(int threads);

#endif
