/* What a verb of the command is: a table that the option parser, the help pages and the man pages
 * are made from, and a function that does the work.
 *
 * A new verb is a file cli/verb_NAME.c that defines `const cli_verb verb_NAME`, and its name in the
 * list in cli/meson.build. Dashes of the verb's name become underscores in the file. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include <jansson.h>
#include <stdbool.h>

#include "tools.h"

typedef enum cli_option_kind {
    CLI_FLAG,    /* takes no value */
    CLI_TEXT,    /* any text */
    CLI_INPUT,   /* a file that is read */
    CLI_OUTPUT,  /* a file that is written; never one that is read or written otherwise */
    CLI_NUMBER,  /* a finite number within [minimum, maximum] */
    CLI_INTEGER, /* a whole number within [minimum, maximum] */
    CLI_CHOICE   /* one of the words in `value`, separated by | */
} cli_option_kind;

typedef struct cli_option {
    const char *name; /* with its dashes: "--out" */
    cli_option_kind kind;
    const char *value; /* placeholder in the help: "FILE"; the words of a choice. Outputs named
                        * "PNG", "FILE.png" or "RIG" must have an ending of that kind. */
    const char *help;  /* what it does, its unit and its default */
    double minimum, maximum; /* numbers only; both 0: no limits */
    bool repeatable;         /* may be given several times; otherwise twice is a usage error */
} cli_option;

/* A row that starts a group of options: its title on the help and man pages. */
#define CLI_GROUP(title)                                                                           \
    { .name = "", .help = title }
/* Ends a table of options. */
#define CLI_END                                                                                    \
    { .name = NULL }

typedef struct cli_call cli_call;

typedef struct cli_verb {
    const char *name;
    const char *summary;       /* one line, lower case, no full stop */
    const char *arguments;     /* "RIG..." as in the usage line: files that are read */
    bool writes_last;          /* the last argument is an output, unless --out is given */
    bool reads_no_files;       /* the arguments are names */
    int minimum, maximum;      /* number of arguments; maximum -1: any number */
    const cli_option *options; /* beyond --report, --threads, --quiet and --help, that all have */
    const char *description;   /* what the verb is for; further paragraphs, after an empty line, are
                                * notes that follow the options */
    const char *example;       /* one command per line; they run, in order, in an empty folder */
    sinew_status (*run)(cli_call *call);
} cli_verb;

/* One run of a verb. */
struct cli_call {
    const cli_verb *verb;
    int argument_count;
    const char **arguments;
    json_t *report;               /* see report.h; written after the verb returns */
    const sinew_monitor *monitor; /* progress bar, Ctrl-C, warnings: pass it to every long call */
    sinew_error error;            /* pass &call->error to the library */
    bool quiet;
    bool silent; /* what is computed is a means: warnings are printed, results are not */
    struct cli_value *values; /* of the options, in the order given */
    int value_count;
};

/* Whether the verb's table, or the list that all verbs share, has the option. */
bool cli_has_option(const cli_verb *verb, const char *option);

/* The value of an option; the fallback (or false, NULL, 0) when it was not given. Asking for an
 * option that is not in the verb's table is a mistake in the verb and ends the program. */
bool cli_given(const cli_call *call, const char *option);
const char *cli_text(const cli_call *call, const char *option);
double cli_number(const cli_call *call, const char *option, double fallback);
int cli_integer(const cli_call *call, const char *option, int fallback);
/* Repeatable options: how often, and the i-th value. */
int cli_count(const cli_call *call, const char *option);
const char *cli_text_at(const cli_call *call, const char *option, int i);

/* Words of a choice start at 0; `fallback` when the option was not given. */
int cli_choice(const cli_call *call, const char *option, int fallback);

/* Comma-separated numbers "0,1.5,2"; release with sinew_free. `what` names them in the message. */
sinew_status cli_parse_numbers(cli_call *call, const char *text, const char *what, double **numbers,
                               int *count);

/* Reports a mistake in how the command was called: exit 2. `return cli_usage(call, "...")`. */
sinew_status cli_usage(cli_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line of results on standard output, unless --quiet. */
void cli_say(const cli_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A warning: on standard error unless --quiet, and in the report. */
void cli_warn(cli_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
