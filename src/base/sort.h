/* Sorting of plain numbers. */
#ifndef SN_BASE_SORT_H
#define SN_BASE_SORT_H

#include <stddef.h>

/* Increasing; the numbers are not NaN. */
void sn_sort_doubles(size_t count, double *values);

#endif
