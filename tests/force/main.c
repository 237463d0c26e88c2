/* The force room: the sheet, its command, the marker layer, contact. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_potentials();
    failed += test_columns();
    failed += test_comparison();
    failed += test_frames();
    failed += test_markers();
    failed += test_layer();
    failed += test_layer_contact();
    failed += test_contact();
    failed += test_stiffness();
    failed += test_jaw();
    failed += test_flesh();
    failed += test_skin_contact();
    failed += test_skull();
    failed += test_recorded();
    return failed != 0;
}
