/* The capture room: head motion, maps, retargeting. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_stabilise();
    failed += test_takes();
    return failed != 0;
}
