#ifndef TESTS_SAMPLES_GROUPS_H
#define TESTS_SAMPLES_GROUPS_H
int test_rules(void);
int test_limbs(void);
int test_meshes(void);
int test_faces(void);
int test_clips(void);
int test_no_memory(void);
int test_recorded(void);
#endif
