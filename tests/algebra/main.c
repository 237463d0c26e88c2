/* The algebra room: sparse and dense matrices and the solvers on them. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_sparse();
    failed += test_cholesky();
    failed += test_dense();
    failed += test_pcg();
    failed += test_low_rank();
    failed += test_eigen();
    failed += test_block_solver();
    failed += test_box_qp();
    failed += test_no_memory();
    return failed != 0;
}
