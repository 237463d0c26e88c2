#ifndef TESTS_RIG_GROUPS_H
#define TESTS_RIG_GROUPS_H
int test_rig(void);
int test_names(void);
int test_activations(void);
int test_linear(void);
int test_curves(void);
int test_lock(void);
int test_lock_more(void);
int test_manipulate(void);
int test_interference(void);
int test_parts(void);
int test_rotation_blend(void);
int test_transfer(void);
int test_fit(void);
int test_fit_trust(void);
int test_fit_parameters(void);
#endif
