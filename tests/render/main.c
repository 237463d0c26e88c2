/* The render room: pictures, videos and plots. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_looks();
    failed += test_parts();
    failed += test_pictures();
    failed += test_plots();
    return failed != 0;
}
