/* The base room: status, memory, numbers, files, processes, rotations, threads. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_memory();
    failed += test_files();
    failed += test_plans();
    failed += test_scopes();
    failed += test_words();
    failed += test_numbers();
    failed += test_processes();
    failed += test_json();
    failed += test_outputs();
    failed += test_nearest();
    failed += test_rotation();
    failed += test_parallel();
    failed += test_ordered();
    failed += test_same_bits();
    failed += test_sized();
    return failed != 0;
}
