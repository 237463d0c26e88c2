/* Marker data for the sample face of 11.9k vertices, in a temporary folder. */
#ifndef BENCH_TAKE_H
#define BENCH_TAKE_H

/* Writes take.csv and map.csv; returns their folder, for scenes that name them. */
const char *bench_write_take(void);
/* Removes the folder and whatever has been written into it. */
void bench_remove_take(void);

#endif
