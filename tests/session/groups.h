#ifndef TESTS_SESSION_GROUPS_H
#define TESTS_SESSION_GROUPS_H
int test_patches(void);
int test_costs(void);
int test_details(void);
int test_live(void);
int test_given(void);
int test_holds(void);
int test_chunks(void);
int test_clips(void);
int test_cancel(void);
int test_orderings(void);
int test_texts(void);
int test_threads(void);
int test_no_memory(void);
int test_random_calls(void);
int test_recorded(void);
#endif
