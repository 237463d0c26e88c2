/* The io room: numbers in text, and every format in both directions. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_numbers();
    failed += test_obj();
    failed += test_ply();
    failed += test_frames();
    failed += test_rigs();
    failed += test_tables();
    failed += test_glb();
    failed += test_fbx();
    failed += test_meshes();
    failed += test_captures();
    failed += test_clips();
    failed += test_corpus();
    return failed != 0;
}
