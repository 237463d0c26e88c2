/* The samples room: what every rig must hold, and what the single rigs promise. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_rules();
    failed += test_recorded();
    failed += test_limbs();
    failed += test_meshes();
    failed += test_faces();
    failed += test_clips();
    failed += test_no_memory();
    return failed != 0;
}
