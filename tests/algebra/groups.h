#ifndef TESTS_ALGEBRA_GROUPS_H
#define TESTS_ALGEBRA_GROUPS_H
int test_sparse(void);
int test_cholesky(void);
int test_dense(void);
int test_pcg(void);
int test_low_rank(void);
int test_eigen(void);
int test_block_solver(void);
int test_box_qp(void);
int test_no_memory(void);
#endif
