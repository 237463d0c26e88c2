/* Distortion of shapes against their poses. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_distortion();
    return failed != 0;
}
