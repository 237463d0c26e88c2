#include "algebra/solver_libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "algebra/sonames.h"

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

static void load_all(void) {
    LOAD(SN_OPENBLAS_SONAME, SN_BLAS_FUNCTIONS);
    LOAD(SN_LAPACKE_SONAME, SN_LAPACK_FUNCTIONS);
    LOAD(SN_CHOLMOD_SONAME, SN_CHOLMOD_FUNCTIONS);
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
