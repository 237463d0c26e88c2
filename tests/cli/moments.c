/* Makes the moment at which something happens to a command certain, however busy the machine is:
 * preload this library (LD_PRELOAD) and set one of
 *
 *   HOLD=FILE FRAMES=A-B a command `sinew run --frames A-B` stops before it begins, while FILE
 *                        exists; it writes its process number to FILE.pid first. FRAMES=start: the
 *                        first task of a shot, which is told how long it may take instead
 *   DIE=A-B              a command `sinew run --frames A-B` kills itself before it begins
 *   INTERRUPT=SIGNAL:MS  the command sends itself the signal when it has worked for so many
 *                        milliseconds of processor time since it installed a handler for it
 *   JUMP=FILE            when FILE appears, the clock of the process jumps an hour ahead, and
 *                        another one for each byte in it
 *   GROW=BYTES           no file of the command grows beyond so many bytes until it ends; what a
 *                        profiler writes then is not cut off
 *   SLOW=MS[:PART]       each file whose path has the part takes so many milliseconds to remove
 *
 *   cc -shared -fPIC moments.c -o moments.so */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((constructor)) static void hold(int count, char **words) {
    const char *file = getenv("HOLD"), *frames = getenv("FRAMES"), *dies = getenv("DIE");
    if (dies && count >= 4 && !strcmp(words[2], "--frames") && !strcmp(words[3], dies))
        kill(getpid(), SIGKILL);
    if (!file || !frames || count < 4 || strcmp(words[1], "run")) return;
    bool start = !strcmp(frames, "start") && !strcmp(words[2], "--part");
    if (!start && (strcmp(words[2], "--frames") || strcmp(words[3], frames))) return;
    if (access(file, F_OK) != 0) return;
    char name[512], made[520];
    snprintf(name, sizeof name, "%s.pid", file);
    snprintf(made, sizeof made, "%s.new", name);
    FILE *stream = fopen(made, "w");
    if (!stream) abort();
    fprintf(stream, "%d\n", (int)getpid());
    if (fclose(stream) != 0 || rename(made, name) != 0) abort();
    while (access(file, F_OK) == 0) syscall(SYS_nanosleep, &(struct timespec){0, 5000000}, NULL);
}

/* Programs that the command starts do not interrupt themselves. */
static void interrupt_after(int number, long milliseconds) {
    static bool started;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct itimerspec when = {.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000000}};
    timer_t timer;
    if (started) return;
    started = true;
    unsetenv("INTERRUPT");
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) abort();
    if (timer_settime(timer, 0, &when, NULL) != 0) abort();
}

static void grow_again(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void limit_growth(rlim_t bytes) {
    static bool limited;
    struct rlimit limit;
    if (limited) return;
    limited = true;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || atexit(grow_again) != 0) abort();
}

int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    int (*real)(int, const struct sigaction *, struct sigaction *);
    *(void **)&real = dlsym(RTLD_NEXT, "sigaction");
    int result = real(number, action, before), asked;
    long milliseconds;
    const char *text = getenv("INTERRUPT");
    if (getenv("GROW")) limit_growth((rlim_t)atol(getenv("GROW")));
    if (action && action->sa_handler != SIG_DFL && text &&
        sscanf(text, "%d:%ld", &asked, &milliseconds) == 2 && asked == number)
        interrupt_after(number, milliseconds);
    return result;
}

static void wait_before_removing(const char *path) {
    const char *text = getenv("SLOW"), *part = text ? strchr(text, ':') : NULL;
    if (!text || (part && !strstr(path, part + 1))) return;
    long wait = atol(text);
    syscall(SYS_nanosleep, &(struct timespec){wait / 1000, wait % 1000 * 1000000}, NULL);
}

int remove(const char *path) {
    int (*real)(const char *);
    *(void **)&real = dlsym(RTLD_NEXT, "remove");
    wait_before_removing(path);
    return real(path);
}

int unlink(const char *path) {
    int (*real)(const char *);
    *(void **)&real = dlsym(RTLD_NEXT, "unlink");
    wait_before_removing(path);
    return real(path);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    const char *file = getenv("JUMP");
    struct stat found;
    if (clock == CLOCK_MONOTONIC && file && stat(file, &found) == 0)
        now->tv_sec += 3600 * (1 + found.st_size);
    return result;
}
