/* The contact room: obstacles, pairs, continuous tests. */
#include "groups.h"

int main(void) {
    int failed = test_obstacles();
    failed += test_pairs();
    return failed != 0;
}
