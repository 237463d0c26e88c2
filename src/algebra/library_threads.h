/* The threads of the solver libraries, capped around a call and given back after it.
 *
 * CHOLMOD opens OpenMP regions of its own and OpenBLAS keeps a pool of threads: both are slower
 * than one thread at our sizes and make the bits depend on the machine's load. The host's settings
 * are restored by sn_library_threads_restore. OpenBLAS's count is one number for the whole process,
 * so nested and concurrent caps are counted: the first sets it to one, the last restores it. */
#ifndef SN_ALGEBRA_LIBRARY_THREADS_H
#define SN_ALGEBRA_LIBRARY_THREADS_H

typedef struct sn_library_threads {
    int openmp;
} sn_library_threads;

sn_library_threads sn_library_threads_cap(void);
void sn_library_threads_restore(sn_library_threads saved);

#endif
