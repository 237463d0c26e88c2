/* The modal room: oscillators, wiggly splines, elements, modes, motions. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_oscillator();
    failed += test_wiggly();
    failed += test_modes();
    return failed != 0;
}
