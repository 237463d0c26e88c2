/* The store for expensive structures. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_checksum();
    failed += test_hash();
    failed += test_pack();
    failed += test_store();
    return failed != 0;
}
