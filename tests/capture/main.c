/* The capture room: head motion, maps, retargeting. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_stabilise();
    failed += test_takes();
    failed += test_maps();
    failed += test_face_view();
    failed += test_layouts();
    failed += test_labels();
    failed += test_anatomy();
    failed += test_cleaning();
    failed += test_wrong_maps();
    return failed != 0;
}
