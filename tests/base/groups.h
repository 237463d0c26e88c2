#ifndef TESTS_BASE_GROUPS_H
#define TESTS_BASE_GROUPS_H
int test_memory(void);
int test_files(void);
int test_plans(void);
int test_words(void);
int test_json(void);
int test_outputs(void);
int test_nearest(void);
int test_processes(void);
int test_rotation(void);
int test_parallel(void);
int test_numbers(void);
int test_ordered(void);
int test_same_bits(void);
int test_sized(void);
int test_scopes(void);
#endif
