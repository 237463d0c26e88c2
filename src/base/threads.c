#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/status.h"

static atomic_int requested_threads;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;
static int default_threads;
static sinew_task_system host;
static atomic_bool host_is_set;

int sn_cores(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < 1 ? 1 : count;
}

static int positive(const char *variable) {
    const char *text = getenv(variable);
    long value = text ? strtol(text, NULL, 10) : 0;
    return value < 1 ? 0 : value > SINEW_MAX_THREADS ? SINEW_MAX_THREADS : (int)value;
}

static void find_default(void) {
    default_threads = positive("SINEW_THREADS");
    if (!default_threads) default_threads = positive("OMP_NUM_THREADS");
    if (!default_threads) default_threads = sn_cores();
    if (default_threads > SINEW_MAX_THREADS) default_threads = SINEW_MAX_THREADS;
}

void sinew_set_threads(int count) {
    if (count > SINEW_MAX_THREADS) count = SINEW_MAX_THREADS;
    atomic_store(&requested_threads, count < 0 ? 0 : count);
}

const sinew_task_system *sn_task_system(void) {
    return atomic_load_explicit(&host_is_set, memory_order_acquire) ? &host : NULL;
}

int sinew_threads(void) {
    int count = atomic_load_explicit(&requested_threads, memory_order_relaxed);
    if (sn_task_system()) return count > 0 && count < host.workers ? count : host.workers;
    if (count > 0) return count;
    pthread_once(&default_once, find_default);
    return default_threads;
}

sinew_status sinew_set_task_system(const sinew_task_system *system, sinew_error *error) {
    if (!system) {
        atomic_store(&host_is_set, false);
        return SINEW_OK;
    }
    SN_REQUIRE(system->size >= sizeof *system, error);
    SN_REQUIRE(system->parallel_for != NULL, error);
    SN_REQUIRE(system->workers >= 1, error);
    host = *system;
    if (host.workers > SINEW_MAX_THREADS) host.workers = SINEW_MAX_THREADS;
    atomic_store_explicit(&host_is_set, true, memory_order_release);
    return SINEW_OK;
}

double sn_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
