#ifndef TESTS_CLI_GROUPS_H
#define TESTS_CLI_GROUPS_H
int test_usage(void);
int test_bad_input(void);
int test_outputs(void);
int test_runs(void);
int test_signals(void);
int test_locks(void);
int test_markers(void);
int test_conversions(void);
int test_fallbacks(void);
int test_farm(void);
int test_farm_trouble(void);
int test_fit(void);
int test_transfer(void);
int test_videos(void);
int test_help(void);
#endif
