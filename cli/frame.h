/* The parts of the command that verbs do not see: parsing, help, the terminal. */
#ifndef CLI_FRAME_H
#define CLI_FRAME_H

#include <stdio.h>

#include "verb.h"

/* Exit codes of the command. */
enum {
    EXIT_DONE = 0,
    EXIT_UNFINISHED = 1, /* not converged, or a check failed */
    EXIT_USAGE = 2,
    EXIT_BAD_INPUT = 3,
    EXIT_IO = 4,      /* also: no memory, or something it needs is not available */
    EXIT_SIGNAL = 128 /* and the signal's number: 130 for Ctrl-C, 143 for SIGTERM */
};

extern const cli_option cli_shared_options[];

const cli_verb *cli_find_verb(const char *name);
/* Verbs in the order of the list; NULL beyond the end. */
const cli_verb *cli_verb_at(int index);
/* The verb nearest in spelling, or NULL when none is near. */
const char *cli_nearest_verb(const char *name);

struct cli_value {
    const cli_option *option;
    const char *text;
    double number; /* number, integer, or index of the choice */
};

/* Fills arguments and values of the call. */
sinew_status cli_parse(cli_call *call, int count, char **words);
/* Refuses a call that would write one file twice, or over one that it reads. */
sinew_status cli_check_files(cli_call *call);
/* The same for a file that only the verb knows to be an input. */
sinew_status cli_check_input(cli_call *call, const char *path);
/* The same for the file of a selection mask:FILE. */
sinew_status cli_check_selection(cli_call *call, const char *select);
void cli_call_free(cli_call *call);

void cli_print_help(FILE *out, const cli_verb *verb);
void cli_print_overview(FILE *out);
/* roff; verb NULL: the page of the command itself. */
void cli_print_man(FILE *out, const cli_verb *verb);

/* As many threads as wanted (0: as many as the machine has), or fewer where the address space is
 * limited (ulimit -v). */
int cli_threads_that_fit(int wanted);

/* Progress bar, warnings and Ctrl-C. One call at a time. */
void cli_terminal_start(cli_call *call, sinew_monitor *monitor);
void cli_terminal_end(void);
/* Processes that the command has started: they are killed when it must end at once. */
void cli_child_note(int child);
void cli_child_strike_out(int child);
/* A file that is removed if the process ends before the verb has removed it. NULL: none is left.
 * The path is borrowed. */
void cli_temporary_note(const char *path);
/* The signal that asked to stop, or 0. */
int cli_interrupted(void);
/* Prints that the verb was interrupted, unless that has been printed. */
void cli_print_interruption(const char *verb);

#endif
