/* Another clock for a process: preload this library and set SKEW to seconds. The process reads all
 * dates that much later, and files that it writes carry such dates, as on a node whose clock is
 * wrong. Deadlines are translated back, since the kernel keeps its own clock.
 *
 *   cc -shared -fPIC skew.c -o skew.so && SKEW=-25200 LD_PRELOAD=$PWD/skew.so date */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long skew(void) {
    const char *text = getenv("SKEW");
    return text ? atol(text) : 0;
}

static void *next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += skew();
    return result;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

/* Dates are far from zero, times since the start of the machine are not. */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    *(void **)&real = next("pthread_cond_timedwait");
    struct timespec translated = *until;
    if (translated.tv_sec > 1000000000) translated.tv_sec -= skew();
    return real(condition, mutex, &translated);
}

static void date(struct timespec dates[2]) {
    clock_gettime(CLOCK_REALTIME, &dates[0]);
    dates[1] = dates[0];
}

int futimens(int file, const struct timespec given[2]) {
    struct timespec dates[2];
    date(dates);
    return (int)syscall(SYS_utimensat, file, NULL, given ? given : dates, 0);
}

int fsync(int file) {
    futimens(file, NULL);
    return (int)syscall(SYS_fsync, file);
}
