#ifndef TESTS_MODAL_GROUPS_H
#define TESTS_MODAL_GROUPS_H
int test_oscillator(void);
int test_wiggly(void);
int test_modes(void);
int test_motion(void);
int test_constraints(void);
int test_meshes(void);
int test_recorded(void);
#endif
