/* The spring room: network, energies, equilibrium, boundaries, interaction. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_network();
    failed += test_energies();
    failed += test_equilibrium();
    failed += test_orientations();
    failed += test_paths();
    failed += test_contact();
    failed += test_self_contact();
    failed += test_self_embedded();
    failed += test_store();
    failed += test_bad_input();
    failed += test_recorded();
    return failed != 0;
}
