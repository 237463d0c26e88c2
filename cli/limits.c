/* The command under a limited address space (ulimit -v). */
#include <sys/resource.h>

#include "frame.h"
#include "sinew/threads.h"

/* MB: what the libraries take; what a thread takes, most of it the buffer that OpenBLAS needs for
 * each and waits for when it does not get it. */
enum { START_MB = 320, THREAD_MB = 224 };

int cli_threads_that_fit(int wanted) {
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return wanted;
    long most = ((long)(space.rlim_cur >> 20) - START_MB) / THREAD_MB + 1;
    if (wanted <= 0) wanted = sinew_threads();
    return most < 1 ? 1 : most < wanted ? (int)most : wanted;
}
