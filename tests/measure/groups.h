#ifndef TESTS_MEASURE_GROUPS_H
#define TESTS_MEASURE_GROUPS_H
int test_distortion(void);
#endif
