#ifndef TESTS_ALGEBRA_GROUPS_H
#define TESTS_ALGEBRA_GROUPS_H
int test_sparse(void);
int test_cholesky(void);
#endif
