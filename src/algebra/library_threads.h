/* The threads of OpenBLAS, capped around a call and restored after it.
 *
 * OpenBLAS keeps a pool of threads that is slower than one thread at our sizes and makes the bits
 * depend on the machine's load. Its count is one number for the whole process, so nested and
 * concurrent caps are counted: the first sets it to one, the last restores the host's setting.
 *
 * CHOLMOD needs no cap: it opens OpenMP regions only in numeric factorization, which is never
 * called (the lint holds it); ordering and analysis run on the calling thread. */
#ifndef SN_ALGEBRA_LIBRARY_THREADS_H
#define SN_ALGEBRA_LIBRARY_THREADS_H

void sn_library_threads_cap(void);
void sn_library_threads_restore(void);

#endif
