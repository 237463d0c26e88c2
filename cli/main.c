/* The command: finds the verb, runs it, writes its report, turns its status into an exit code. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "json.h"
#include "report.h"
#include "sinew/job.h"
#include "sinew/version.h"
#include "verbs.h"

const cli_verb *cli_verb_at(int index) {
    int count = (int)(sizeof cli_verbs / sizeof *cli_verbs);
    return index >= 0 && index < count ? cli_verbs[index] : NULL;
}

const cli_verb *cli_find_verb(const char *name) {
    for (int i = 0; cli_verb_at(i); i++)
        if (!strcmp(cli_verb_at(i)->name, name)) return cli_verb_at(i);
    return NULL;
}

const char *cli_nearest_verb(const char *name) {
    const char *names[sizeof cli_verbs / sizeof *cli_verbs];
    int count = 0;
    for (; cli_verb_at(count); count++) names[count] = cli_verb_at(count)->name;
    return sinew_text_nearest(name, count, names);
}

static int exit_code(sinew_status status) {
    switch (status) {
    case SINEW_OK:
        return EXIT_DONE;
    case SINEW_NOT_CONVERGED:
        return EXIT_UNFINISHED;
    case SINEW_CANCELLED:
        return EXIT_SIGNAL + (cli_interrupted() ? cli_interrupted() : SIGINT);
    case SINEW_MISUSE:
        return EXIT_USAGE;
    case SINEW_BAD_INPUT:
        return EXIT_BAD_INPUT;
    case SINEW_IO:
    case SINEW_NO_MEMORY:
    case SINEW_UNAVAILABLE:
        break;
    }
    return EXIT_IO;
}

/* The one line that reports what went wrong. */
static void print_failure(const cli_call *call, sinew_status status) {
    const char *message = call->error.message;
    if (status == SINEW_CANCELLED)
        cli_print_interruption(call->verb->name);
    else
        fprintf(stderr, "sinew %s: %s\n", call->verb->name,
                *message ? message : sinew_status_name(status));
}

/* The report is written for unconverged runs and failures too: a farm reads it. */
static sinew_status write_report(cli_call *call, sinew_status status, double seconds) {
    const char *path = cli_text(call, "--report");
    if (!path || status == SINEW_MISUSE || status == SINEW_CANCELLED) return status;
    cli_report_total(call->report, "ms", cli_report_number(1e3 * seconds));
    json_object_set_new(call->report, "status", json_string(sinew_status_name(status)));
    if (status != SINEW_OK && *call->error.message)
        json_object_set_new(call->report, "message", json_string(call->error.message));
    sinew_error error = {0};
    sinew_status written = cli_report_write(call->report, path, &error);
    if (written == SINEW_OK || status > SINEW_NOT_CONVERGED) return status;
    call->error = error;
    return written;
}

static int run_verb(const cli_verb *verb, int count, char **words) {
    cli_call call = {.verb = verb};
    sinew_monitor monitor;
    sinew_status status = cli_parse(&call, count, words);
    if (status == SINEW_OK && cli_given(&call, "--help")) {
        cli_print_help(stdout, verb);
        cli_call_free(&call);
        return EXIT_DONE;
    }
    if (status == SINEW_OK) status = cli_check_files(&call);
    if (status == SINEW_OK) {
        call.quiet = cli_given(&call, "--quiet");
        sinew_set_memory_limit((size_t)cli_number(&call, "--memory-limit", 0) << 20);
        sinew_set_threads(cli_threads_that_fit(cli_integer(&call, "--threads", 0)));
        call.report = cli_report_new(verb->name);
        for (int i = 0; i < call.argument_count; i++)
            cli_report_input(call.report, call.arguments[i]);
        call.monitor = &monitor;
        cli_terminal_start(&call, &monitor);
        double start = cli_now();
        status = verb->run(&call);
        /* Whatever failed because of it: a read that was cut short, a program that got it too. */
        if (status != SINEW_OK && cli_interrupted()) status = SINEW_CANCELLED;
        status = write_report(&call, status, cli_now() - start);
        cli_terminal_end();
    }
    if (status != SINEW_OK && (status != SINEW_NOT_CONVERGED || *call.error.message))
        print_failure(&call, status);
    int code = exit_code(status);
    cli_call_free(&call);
    return code;
}

/* A full disk or closed pipe behind standard output must not pass as success, also where it was
 * noticed long before the end. */
static int check_output(const char *verb, int code) {
    errno = 0;
    bool good = !ferror(stdout);
    if ((fflush(stdout) == 0 && good) || code != EXIT_DONE) return code;
    /* A stream only remembers that something went wrong; writing once more reveals the reason. */
    int reason = errno;
    if (!reason && write(STDOUT_FILENO, "\n", 1) < 0) reason = errno;
    fprintf(stderr, "sinew%s%s: cannot write to standard output: %s\n", *verb ? " " : "", verb,
            reason ? strerror(reason) : "not all of it was accepted");
    return EXIT_IO;
}

/* The next file that is opened would get the number of a standard stream that is closed, and what
 * is printed would end up in that file. Writing to these still fails. */
static void open_closed_streams(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0)
            (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int count, char **words) {
    open_closed_streams();
    /* OpenBLAS starts a thread per core when the library loads it, which is later. Where the
     * address space is limited that can fail; the library uses no more than one anyway. */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    /* A file that would exceed the limit on its size (ulimit -f) is an error like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    cli_json_start(NULL, NULL);
    if (count < 2) {
        cli_print_overview(stderr);
        return EXIT_USAGE;
    }
    sinew_set_plot_function(sinew_plot_write);
    const char *name = words[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) name = "help";
    if (!strcmp(name, "--version")) {
        printf("sinew %s\n", sinew_version());
        return check_output("", EXIT_DONE);
    }
    const cli_verb *verb = cli_find_verb(name);
    if (!verb) {
        const char *nearest = cli_nearest_verb(name);
        sinew_text_make_printable(words[1]);
        if (nearest)
            fprintf(stderr, "sinew: unknown verb '%s'; did you mean '%s'?\n", name, nearest);
        else
            fprintf(stderr, "sinew: unknown verb '%s'; 'sinew help' lists them\n", name);
        return EXIT_USAGE;
    }
    return check_output(name, run_verb(verb, count - 2, words + 2));
}
