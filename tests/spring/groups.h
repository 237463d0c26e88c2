#ifndef TESTS_SPRING_GROUPS_H
#define TESTS_SPRING_GROUPS_H
int test_network(void);
int test_bad_input(void);
int test_contact(void);
int test_energies(void);
int test_equilibrium(void);
int test_orientations(void);
int test_paths(void);
int test_self_contact(void);
int test_self_embedded(void);
int test_store(void);
int test_recorded(void);
#endif
