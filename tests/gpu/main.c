/* The GPU room. Kernels run on the host, or, with SINEW_GPU_LIBRARY set, on a device: `make
 * test-gpu`. */
#include <stdlib.h>

#include "groups.h"

int main(void) {
    setenv("SINEW_GPU_LIBRARY", HOST_DEVICE, 0);
    int failed = 0;
    failed += test_clusters();
    failed += test_dissection();
    failed += test_frames();
    failed += test_modal();
    failed += test_sessions();
    failed += test_device();
    failed += test_failures();
    return failed != 0;
}
