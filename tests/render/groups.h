#ifndef TESTS_RENDER_GROUPS_H
#define TESTS_RENDER_GROUPS_H
int test_looks(void);
int test_parts(void);
int test_pictures(void);
int test_plots(void);
#endif
