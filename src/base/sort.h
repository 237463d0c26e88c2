/* Sorting numbers. */
#ifndef SN_BASE_SORT_H
#define SN_BASE_SORT_H

#include <stddef.h>

/* Sorts in increasing order. The values must not be NaN. */
void sn_sort_doubles(size_t count, double *values);

#endif
