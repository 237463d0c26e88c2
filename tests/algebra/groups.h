#ifndef TESTS_ALGEBRA_GROUPS_H
#define TESTS_ALGEBRA_GROUPS_H
int test_sparse(void);
int test_cholesky(void);
int test_dense(void);
int test_pcg(void);
#endif
