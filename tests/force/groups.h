#ifndef TESTS_FORCE_GROUPS_H
#define TESTS_FORCE_GROUPS_H

int test_potentials(void);
int test_columns(void);
int test_comparison(void);
int test_frames(void);
int test_markers(void);
int test_layer(void);
int test_layer_contact(void);
int test_contact(void);
int test_stiffness(void);
int test_jaw(void);
int test_flesh(void);
int test_skin_contact(void);
int test_skull(void);
int test_recorded(void);
#endif
