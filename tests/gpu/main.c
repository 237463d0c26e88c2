/* The GPU room. Kernels run on the host (SINEW_GPU_HOST), or, with SINEW_GPU_LIBRARY set, on a
 * device: `make test-gpu`. */
#include <stdlib.h>

#include "groups.h"

int main(void) {
    const char *host = getenv("SINEW_GPU_HOST");
    if (!getenv("SINEW_GPU_LIBRARY") && host) setenv("SINEW_GPU_LIBRARY", host, 1);
    int failed = 0;
    failed += test_dissection();
    failed += test_frames();
    failed += test_sessions();
    failed += test_device();
    return failed != 0;
}
