/* The contact room: obstacles, pairs, continuous tests. */
#include "groups.h"

int main(void) {
    return test_pairs() != 0;
}
