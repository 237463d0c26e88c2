/* The modal room: oscillators, wiggly splines, elements, modes, motions. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_oscillator();
    failed += test_wiggly();
    failed += test_modes();
    failed += test_motion();
    failed += test_constraints();
    failed += test_meshes();
    failed += test_recorded();
    return failed != 0;
}
