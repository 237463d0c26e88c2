/* What the person at the terminal sees while a verb works: a progress bar and warnings on standard
 * error, and Ctrl-C, which asks the running call to stop through the monitor. A call that does not
 * answer in time is not waited for: a thread removes what is unfinished and ends the process. A
 * second Ctrl-C ends it at once. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"
#include "report.h"

enum { BAR_WIDTH = 32 };
static const double REDRAW_SECONDS = 0.05;

static struct {
    cli_call *call;
    bool draws;      /* standard error is a terminal and not --quiet */
    bool bar_drawn;  /* a progress bar is on the current line */
    double drawn_at; /* seconds */
} terminal;

static volatile sig_atomic_t interrupted;
static sem_t interruption;
/* Time for the verb to stop by itself. */
static const double PATIENCE_SECONDS = 0.3;

static void on_interrupt(int signal_number) {
    interrupted = signal_number;
    sem_post(&interruption);
}

int cli_interrupted(void) {
    return interrupted;
}

enum { NOTED_CHILDREN = 1024 };
static atomic_int children[NOTED_CHILDREN];

static void exchange(int from, int to) {
    for (int i = 0; i < NOTED_CHILDREN; i++) {
        int expected = from;
        if (atomic_compare_exchange_strong(&children[i], &expected, to)) return;
    }
}

void cli_child_note(int child) {
    exchange(0, child);
}

void cli_child_strike_out(int child) {
    exchange(child, 0);
}

static _Atomic(const char *) temporary;

void cli_temporary_note(const char *path) {
    atomic_store(&temporary, path);
}

/* The line of an interruption, once: by the verb that stopped, or by the thread that ends it. */
void cli_print_interruption(const char *verb) {
    static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;
    static bool printed;
    char line[128];
    int length =
        snprintf(line, sizeof line, "sinew%s%s: interrupted; no partial output files remain\n",
                 *verb ? " " : "", verb);
    pthread_mutex_lock(&printing);
    ssize_t written = printed ? 0 : write(STDERR_FILENO, line, (size_t)length);
    (void)written;
    printed = true;
    pthread_mutex_unlock(&printing);
}

/* Outputs have no name until they are complete, so that children, scratch folders and a temporary
 * file are all that an end in the middle could leave. */
static void *wait_for_interruption(void *unused) {
    (void)unused;
    while (sem_wait(&interruption) != 0) {
    }
    struct timespec time = {0, (long)(1e9 * PATIENCE_SECONDS)};
    nanosleep(&time, NULL);
    for (int i = 0; i < NOTED_CHILDREN; i++) {
        int child = atomic_load(&children[i]);
        if (child > 0) kill(child, SIGKILL);
    }
    sinew_files_clean_up();
    const char *left = atomic_load(&temporary);
    if (left) unlink(left);
    cli_print_interruption("");
    _exit(EXIT_SIGNAL + interrupted);
}

static void watch_for_interruption(void) {
    pthread_t thread;
    sigset_t all, before;
    sem_init(&interruption, 0, 0);
    sigfillset(&all); /* signals are for the thread that works */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&thread, NULL, wait_for_interruption, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void clear_bar(void) {
    if (!terminal.bar_drawn) return;
    fprintf(stderr, "\r\033[K");
    terminal.bar_drawn = false;
}

static void on_progress(double fraction, const char *stage, void *user) {
    (void)user;
    if (!terminal.draws) return;
    double now = cli_now();
    if (now - terminal.drawn_at < REDRAW_SECONDS) return;
    terminal.drawn_at = now;
    fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    char bar[BAR_WIDTH + 1];
    int filled = (int)(fraction * BAR_WIDTH);
    memset(bar, '#', (size_t)filled);
    memset(bar + filled, '.', (size_t)(BAR_WIDTH - filled));
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K[%s] %3.0f%% %s", bar, 100 * fraction, stage ? stage : "");
    fflush(stderr);
    terminal.bar_drawn = true;
}

static bool on_cancelled(void *user) {
    (void)user;
    return interrupted != 0;
}

static void warn_line(cli_call *call, const char *line) {
    cli_report_warning(call->report, line);
    if (call->quiet) return;
    clear_bar();
    fprintf(stderr, "sinew %s: warning: %s\n", call->verb->name, line);
}

static void on_log(sinew_log_level level, const char *line, void *user) {
    (void)user;
    if (level == SINEW_LOG_LEVEL_FALLBACK) cli_report_fallback(terminal.call->report, line);
    if (level >= SINEW_LOG_LEVEL_WARNING) warn_line(terminal.call, line);
}

void cli_terminal_start(cli_call *call, sinew_monitor *monitor) {
    terminal.call = call;
    terminal.draws = !call->quiet && isatty(STDERR_FILENO);
    *monitor =
        (sinew_monitor){on_progress, on_cancelled, on_log, NULL, cli_given(call, "--strict")};
    watch_for_interruption();
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    /* Back to the default after the first: a second Ctrl-C always works. */
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void cli_terminal_end(void) {
    clear_bar();
}

void cli_say(const cli_call *call, const char *format, ...) {
    if (call->quiet || call->silent) return;
    clear_bar();
    char *line;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    sinew_text_make_printable(line);
    puts(line);
    free(line);
}

void cli_warn(cli_call *call, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    sinew_text_make_printable(line);
    warn_line(call, line);
}
