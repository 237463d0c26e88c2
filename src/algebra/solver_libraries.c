#include "algebra/solver_libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "algebra/sonames.h"
#include "base/threads.h"

bool sn_solvers_hidden;

static sn_solver_libraries functions;
static char missing[256]; /* "": nothing */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(const char *soname, const char *const *names, const size_t *offsets, int count) {
    void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        if (!*missing) snprintf(missing, sizeof missing, "%s", dlerror());
        return;
    }
    for (int i = 0; i < count; i++) {
        void *found = dlsym(library, names[i]);
        *(void **)((char *)&functions + offsets[i]) = found;
        if (!found && !*missing)
            snprintf(missing, sizeof missing, "%s: it has no function %s", soname, names[i]);
    }
}

#define NAME(name)   #name,
#define OFFSET(name) offsetof(sn_solver_libraries, name),
#define LOAD(soname, LIST)                                                                         \
    do {                                                                                           \
        static const char *const names[] = {LIST(NAME)};                                           \
        static const size_t offsets[] = {LIST(OFFSET)};                                            \
        load(soname, names, offsets, (int)(sizeof names / sizeof *names));                         \
    } while (0)

/* ---- a limited address space (ulimit -v) ---- */

/* Size in MB of the buffer that OpenBLAS allocates for every thread that calls it, and that size
 * plus some working memory. If it cannot allocate its buffer, it retries forever. */
enum { BUFFER_MB = 129, LEAST_MB = BUFFER_MB + 31, MOST_BUFFERS = 64 };

/* MB currently mapped. */
static long mapped(void) {
    long pages = 0;
    FILE *stream = fopen("/proc/self/statm", "r");
    if (stream && fscanf(stream, "%ld", &pages) != 1) pages = 0;
    if (stream) fclose(stream);
    return pages * (sysconf(_SC_PAGESIZE) >> 10) >> 10;
}

/* OpenBLAS functions without a header: allocate a buffer, which OpenBLAS keeps after it is
 * freed. */
typedef void *take_buffer(int which);
typedef void give_buffer(void *buffer);

/* Allocates the buffers of our threads before anything else uses the address space. */
static void take_buffers(void *blas) {
    void *buffers[MOST_BUFFERS];
    take_buffer *take;
    give_buffer *give;
    *(void **)&take = dlsym(blas, "blas_memory_alloc");
    *(void **)&give = dlsym(blas, "blas_memory_free");
    int taken = 0;
    for (; take && give && taken < sn_threads() && taken < MOST_BUFFERS; taken++) {
        void *probe = malloc((size_t)BUFFER_MB << 20);
        if (!probe) break;
        free(probe);
        buffers[taken] = take(0);
    }
    for (int i = 0; i < taken; i++) give(buffers[i]);
}

static void fit_address_space(void) {
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return;
    long limit = (long)(space.rlim_cur >> 20), room = limit - mapped();
    void *blas = dlopen(SN_OPENBLAS_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (room < LEAST_MB && !*missing)
        snprintf(missing, sizeof missing,
                 "the address space is limited to %ld MB, and at least %ld MB are needed", limit,
                 limit - room + LEAST_MB);
    else if (blas)
        take_buffers(blas);
    if (blas) dlclose(blas);
}

static void load_all(void) {
    sigset_t all, before;
    sigfillset(&all); /* for the threads that OpenBLAS starts: signals go to the host's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    LOAD(SN_OPENBLAS_SONAME, SN_BLAS_FUNCTIONS);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    LOAD(SN_LAPACKE_SONAME, SN_LAPACK_FUNCTIONS);
    LOAD(SN_CHOLMOD_SONAME, SN_CHOLMOD_FUNCTIONS);
    fit_address_space();
}

const sn_solver_libraries *sn_solvers(void) {
    pthread_once(&once, load_all);
    return *missing || sn_solvers_hidden ? NULL : &functions;
}

sinew_status sn_solvers_load(sinew_error *error) {
    if (sn_solvers()) return SINEW_OK;
    return sn_fail(error, SINEW_UNAVAILABLE, "a library for matrices cannot be loaded: %s",
                   *missing ? missing : "hidden");
}
