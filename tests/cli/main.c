/* The command, as a person uses it. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_usage();
    failed += test_bad_input();
    failed += test_runs();
    failed += test_locks();
    failed += test_markers();
    failed += test_fit();
    failed += test_transfer();
    failed += test_videos();
    failed += test_help();
    return failed != 0;
}
