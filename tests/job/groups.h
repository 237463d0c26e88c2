#ifndef TESTS_JOB_GROUPS_H
#define TESTS_JOB_GROUPS_H
int test_scenes(void);
int test_jobs(void);
int test_selections(void);
int test_obstacles(void);
int test_locale(void);
int test_locks(void);
int test_modal(void);
int test_parts(void);
int test_reports(void);
int test_recorded(void);
#endif
