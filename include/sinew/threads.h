/* How many threads the library's own loops may use.
 *
 * Results do not depend on it: blocks have a fixed size and are summed in a fixed order. The host's
 * OpenMP and BLAS settings are left as they are. */
#ifndef SINEW_THREADS_H
#define SINEW_THREADS_H

#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* count >= 1; 0 means one per available core, or what OMP_NUM_THREADS says (the default). */
SINEW_API void sinew_set_threads(int count);
SINEW_API int sinew_threads(void);

#ifdef __cplusplus
}
#endif
#endif
