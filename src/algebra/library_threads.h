/* Limits OpenBLAS to one thread around a call and restores its setting afterwards.
 *
 * At our sizes OpenBLAS's thread pool is slower than one thread, and it makes results depend on the
 * machine's load. Its thread count is process-wide, so nested and concurrent limits are counted:
 * the first sets it to one, the last restores the host's setting.
 *
 * CHOLMOD needs no limit: it uses OpenMP only in numeric factorization, which is never called
 * (enforced by the lint); ordering and analysis run on the calling thread. */
#ifndef SN_ALGEBRA_LIBRARY_THREADS_H
#define SN_ALGEBRA_LIBRARY_THREADS_H

void sn_library_threads_cap(void);
void sn_library_threads_restore(void);

#endif
