#ifndef TESTS_CONTACT_GROUPS_H
#define TESTS_CONTACT_GROUPS_H

int test_obstacles(void);
int test_pairs(void);

#endif
