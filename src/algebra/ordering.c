/* CHOLMOD computes the ordering and cannot be interrupted. If the caller can be cancelled, it runs
 * on a separate thread with a copy of the pattern; a cancelled caller leaves it behind, and the
 * thread ends by itself. */
#include "algebra/ordering.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "algebra/solver_libraries.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"

enum {
    NESTED_DISSECTION_SIZE = 500, /* below this, minimum degree is as good and much faster */
    THREAD_SIZE = 2000,           /* below this, it takes too little time to need a thread */
    KEPT_SIZE = 2000,             /* below this, a file is not worthwhile */
    POLL_NS = 3000000,
};

/* METIS uses the C library's random numbers. Only one analysis runs at a time, so that orderings do
 * not depend on what other threads analyze. */
static pthread_mutex_t analysis = PTHREAD_MUTEX_INITIALIZER;

typedef struct ordering {
    int columns;
    sn_ordering_method method;
    int *start, *row;
    int *permutation, *counts;
    bool done, left; /* guarded by `changes`; left: the caller has gone */
    int outcome;     /* of CHOLMOD */
} ordering;

static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int running; /* threads */

static void free_ordering(ordering *o) {
    if (!o) return;
    sn_free(o->start), sn_free(o->row), sn_free(o->permutation), sn_free(o->counts);
    sn_free(o);
}

static ordering *copy_pattern(const sn_sparse *matrix, sn_ordering_method method) {
    ordering *o = SN_NEW0(ordering, 1);
    if (!o) return NULL;
    o->columns = matrix->columns, o->method = method;
    o->start = sn_memdup(matrix->start, (size_t)matrix->columns + 1, sizeof *o->start);
    o->row = sn_memdup(matrix->row, (size_t)sn_sparse_nonzeros(matrix), sizeof *o->row);
    o->permutation = SN_NEW(int, matrix->columns);
    o->counts = SN_NEW(int, matrix->columns);
    if (o->start && o->row && o->permutation && o->counts) return o;
    free_ordering(o);
    return NULL;
}

static void find(ordering *o) {
    const sn_solver_libraries *solvers = sn_solvers();
    cholmod_common common;
    solvers->cholmod_start(&common);
    common.print = 0;
    common.try_catch = 1;
    common.nmethods = 1;
    bool by_degree = o->method == SN_ORDERING_DEGREE || o->columns < NESTED_DISSECTION_SIZE;
    common.method[0].ordering = by_degree ? CHOLMOD_AMD : CHOLMOD_METIS;
    common.postorder = 1;
    common.final_ll = 1;
    common.supernodal = CHOLMOD_SIMPLICIAL; /* we find supernodes ourselves */
    cholmod_sparse view = {.nrow = (size_t)o->columns,
                           .ncol = (size_t)o->columns,
                           .nzmax = (size_t)o->start[o->columns],
                           .p = o->start,
                           .i = o->row,
                           .stype = -1,
                           .itype = CHOLMOD_INT,
                           .xtype = CHOLMOD_PATTERN,
                           .dtype = CHOLMOD_DOUBLE,
                           .sorted = 1,
                           .packed = 1};
    pthread_mutex_lock(&analysis);
    cholmod_factor *order = solvers->cholmod_analyze(&view, &common);
    pthread_mutex_unlock(&analysis);
    o->outcome = order || common.status < CHOLMOD_OK ? common.status : CHOLMOD_INVALID;
    if (order && o->outcome >= CHOLMOD_OK) {
        memcpy(o->permutation, order->Perm, (size_t)o->columns * sizeof(int));
        memcpy(o->counts, order->ColCount, (size_t)o->columns * sizeof(int));
    }
    if (order) solvers->cholmod_free_factor(&order, &common);
    solvers->cholmod_finish(&common);
}

static void *find_apart(void *user) {
    ordering *o = user;
    find(o);
    pthread_mutex_lock(&changes);
    o->done = true;
    bool left = o->left;
    if (left) free_ordering(o);
    running--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&changes);
    return NULL;
}

void sn_ordering_wait(void) {
    pthread_mutex_lock(&changes);
    while (running > 0) pthread_cond_wait(&changed, &changes);
    pthread_mutex_unlock(&changes);
}

/* Abandoned threads must end before the library is unloaded. */
__attribute__((destructor)) static void wait_at_the_end(void) {
    sn_ordering_wait();
}

/* ---- SIGTERM ----
 * While it works, METIS replaces the SIGTERM handler by one that calls longjmp into its own thread,
 * no matter which thread receives the signal, and the process crashes. So the signal is blocked
 * here in the meantime, as in all threads that the library starts, and the host's handler is
 * restored before the signal is unblocked. Other threads of the host should block it, too. */

static int holders; /* guarded by `changes` */
static struct sigaction host_action;

static void hold_termination(sigset_t *before) {
    sigset_t termination;
    sigemptyset(&termination);
    sigaddset(&termination, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &termination, before);
    pthread_mutex_lock(&changes);
    if (holders++ == 0) sigaction(SIGTERM, NULL, &host_action);
    pthread_mutex_unlock(&changes);
}

static void let_termination_through(const sigset_t *before) {
    sigaction(SIGTERM, &host_action, NULL);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void release_termination(const sigset_t *before) {
    pthread_mutex_lock(&changes);
    holders--;
    pthread_mutex_unlock(&changes);
    let_termination_through(before);
}

static bool termination_waits(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

/* Returns true if the call was cancelled before the ordering was done; the thread then owns it. */
static bool wait_for(ordering *o, const sigset_t *before) {
    bool left = false;
    pthread_mutex_lock(&changes);
    while (!o->done && !left) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += POLL_NS;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&changed, &changes, &until);
        if (o->done) break;
        pthread_mutex_unlock(&changes); /* the monitor is the caller's code */
        if (termination_waits()) let_termination_through(before);
        left = sn_interrupted();
        pthread_mutex_lock(&changes);
        left = left && !o->done;
        o->left = left;
    }
    pthread_mutex_unlock(&changes);
    return left;
}

static bool start_thread(ordering *o) {
    pthread_t thread;
    pthread_mutex_lock(&changes);
    running++;
    bool started = pthread_create(&thread, NULL, find_apart, o) == 0;
    if (!started) running--;
    pthread_mutex_unlock(&changes);
    if (started) pthread_detach(thread);
    return started;
}

static _Thread_local const sn_ordering_keeper *keeper;

const sn_ordering_keeper *sn_ordering_enter(const sn_ordering_keeper *entered) {
    const sn_ordering_keeper *before = keeper;
    keeper = entered;
    return before;
}

static sinew_status compute(const sn_sparse *matrix, sn_ordering_method method, int *permutation,
                            int *counts, sinew_error *error) {
    SN_TRY(sn_check_interrupt(error));
    ordering *o = copy_pattern(matrix, method);
    if (!o) return sn_no_memory(error);
    sigset_t before;
    bool left = false;
    hold_termination(&before);
    if (matrix->columns >= THREAD_SIZE && sn_interruptible() && start_thread(o))
        left = wait_for(o, &before);
    else
        find(o);
    release_termination(&before);
    if (left) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    sinew_status status = SINEW_OK;
    if (o->outcome == CHOLMOD_OUT_OF_MEMORY)
        status = sn_no_memory(error);
    else if (o->outcome < CHOLMOD_OK)
        status = sn_fail(error, SINEW_BAD_INPUT, "a matrix of %d columns cannot be ordered",
                         matrix->columns);
    if (status == SINEW_OK) {
        memcpy(permutation, o->permutation, (size_t)o->columns * sizeof(int));
        memcpy(counts, o->counts, (size_t)o->columns * sizeof(int));
    }
    free_ordering(o);
    return status;
}

sinew_status sn_ordering_find(const sn_sparse *matrix, sn_ordering_method method, int *permutation,
                              int *counts, sinew_error *error) {
    SN_TRY(sn_solvers_load(error)); /* later steps use them, too */
    if (!keeper || matrix->columns < KEPT_SIZE || method == SN_ORDERING_DEGREE)
        return compute(matrix, method, permutation, counts, error);
    void *ticket;
    if (keeper->find(keeper->user, matrix, permutation, counts, &ticket)) return SINEW_OK;
    sinew_status status = compute(matrix, method, permutation, counts, error);
    if (ticket) keeper->keep(ticket, matrix, status == SINEW_OK ? permutation : NULL, counts);
    return status;
}
