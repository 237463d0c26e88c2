#ifndef TESTS_GPU_GROUPS_H
#define TESTS_GPU_GROUPS_H
int test_clusters(void);
int test_device(void);
int test_dissection(void);
int test_failures(void);
int test_frames(void);
int test_modal(void);
int test_sessions(void);
#endif
