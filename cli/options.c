/* Options of a verb: parsing by its table, and asking for the values. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "files.h"
#include "frame.h"
#include "tools.h"

const cli_option cli_shared_options[] = {
    CLI_GROUP("General"),
    {"--report", CLI_OUTPUT, "FILE.json", "Write a report of the run as JSON.", 0, 0, false},
    {"--threads", CLI_INTEGER, "N",
     "Number of threads; does not affect the result (default: one per core).", 1, 4096, false},
    {"--memory-limit", CLI_INTEGER, "MB",
     "Fail rather than use more memory than this, in megabytes (default: no limit).", 1, 1e9,
     false},
    {"--strict", CLI_FLAG, NULL,
     "Fail, instead of warning, where a missing or failing program would change the result.", 0, 0,
     false},
    {"--quiet", CLI_FLAG, NULL, "Print errors only.", 0, 0, false},
    {"--help", CLI_FLAG, NULL, "Show this page.", 0, 0, false},
    CLI_END,
};

sinew_status cli_usage(cli_call *call, const char *format, ...) {
    char message[SINEW_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return sinew_fail(&call->error, SINEW_MISUSE, "%s", message);
}

static const cli_option *find_in(const cli_option *table, const char *name, size_t length) {
    for (; length > 0 && table && table->name; table++)
        if (strlen(table->name) == length && !strncmp(table->name, name, length)) return table;
    return NULL;
}

static const cli_option *find_option(const cli_verb *verb, const char *name, size_t length) {
    const cli_option *option = find_in(verb->options, name, length);
    return option ? option : find_in(cli_shared_options, name, length);
}

bool cli_has_option(const cli_verb *verb, const char *option) {
    return find_option(verb, option, strlen(option)) != NULL;
}

static sinew_status unknown_option(cli_call *call, const char *word, size_t length) {
    const char *names[128];
    int count = 0;
    for (const cli_option *o = call->verb->options; o && o->name && count < 120; o++)
        if (*o->name) names[count++] = o->name;
    for (const cli_option *o = cli_shared_options; o->name; o++)
        if (*o->name) names[count++] = o->name;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(length < 100 ? length : 100), word);
    const char *nearest = sinew_text_nearest(name, count, names);
    if (nearest) return cli_usage(call, "unknown option '%s'; did you mean '%s'?", name, nearest);
    return cli_usage(call, "unknown option '%s'; see 'sinew %s --help'", name, call->verb->name);
}

static sinew_status read_value(cli_call *call, const cli_option *option, struct cli_value *value) {
    const char *text = value->text;
    if (option->kind == CLI_CHOICE) {
        int index = sinew_text_choice(option->value, text);
        if (index < 0)
            return cli_usage(call, "%s must be one of %s, not '%s'", option->name, option->value,
                             text);
        value->number = index;
    }
    if (option->kind == CLI_NUMBER || option->kind == CLI_INTEGER) {
        bool whole = option->kind == CLI_INTEGER;
        if (sinew_text_number(text, &value->number, NULL) != SINEW_OK ||
            (whole && value->number != floor(value->number)))
            return cli_usage(call, "%s must be a %snumber, not '%s'", option->name,
                             whole ? "whole " : "", text);
        bool ranged = option->minimum != 0 || option->maximum != 0;
        double low = ranged ? option->minimum : -2e9, high = ranged ? option->maximum : 2e9;
        if ((ranged || whole) && (value->number < low || value->number > high))
            return cli_usage(call, "%s must be between %g and %g, not %s", option->name, low, high,
                             text);
    }
    return SINEW_OK;
}

/* Whether the value is a path or a name, which cannot be empty: a variable of a script was not set.
 */
static bool needs_text(const cli_option *option) {
    return option->kind == CLI_INPUT || option->kind == CLI_OUTPUT ||
           (option->kind == CLI_TEXT &&
            (!strcmp(option->value, "DIR") || !strcmp(option->value, "FOLDER") ||
             !strcmp(option->value, "NAME")));
}

static bool given_before(const cli_call *call, const cli_option *option) {
    for (int i = 0; i < call->value_count; i++)
        if (call->values[i].option == option) return true;
    return false;
}

sinew_status cli_parse(cli_call *call, int count, char **words) {
    call->arguments = CLI_NEW(const char *, count + 1);
    call->values = CLI_NEW(struct cli_value, count + 1);
    if (!call->arguments || !call->values) return cli_no_memory(&call->error);
    bool options_ended = false;
    for (int i = 0; i < count; i++) {
        char *word = words[i];
        if (!options_ended && !strcmp(word, "--")) {
            options_ended = true;
            continue;
        }
        if (!strcmp(word, "-h") && !options_ended) word = (char *)"--help";
        if (options_ended || strncmp(word, "--", 2) != 0) {
            call->arguments[call->argument_count++] = word;
            continue;
        }
        const char *equals = strchr(word, '=');
        size_t length = equals ? (size_t)(equals - word) : strlen(word);
        const cli_option *option = find_option(call->verb, word, length);
        if (!option) return unknown_option(call, word, length);
        if (!option->repeatable && given_before(call, option))
            return cli_usage(call, "%s is specified twice", option->name);
        struct cli_value *value = &call->values[call->value_count];
        value->option = option;
        if (option->kind == CLI_FLAG) {
            if (equals) return cli_usage(call, "%s does not accept a value", option->name);
        } else {
            if (equals)
                value->text = equals + 1;
            else if (i + 1 < count)
                value->text = words[++i];
            else
                return cli_usage(call, "%s needs a value: %s", option->name, option->value);
            if (!*value->text && needs_text(option))
                return cli_usage(call, "%s needs a value: %s", option->name, option->value);
            CLI_TRY(read_value(call, option, value));
        }
        call->value_count++;
    }
    /* --help answers however incomplete the rest is. */
    if (cli_given(call, "--help")) return SINEW_OK;
    const cli_verb *verb = call->verb;
    if (call->argument_count < verb->minimum)
        return cli_usage(call, "needs %s; see 'sinew %s --help'", verb->arguments, verb->name);
    if (verb->maximum >= 0 && call->argument_count > verb->maximum)
        return cli_usage(call, "unexpected argument '%s'; see 'sinew %s --help'",
                         call->arguments[verb->maximum], verb->name);
    return SINEW_OK;
}

/* Before hours of work, and before another output is written: every output has a folder. */
static sinew_status check_folder(const char *path, sinew_error *error) {
    struct stat about;
    char *folder = cli_strndup(path, (size_t)(cli_path_name(path) - path));
    if (!folder) return cli_no_memory(error);
    size_t length = strlen(folder);
    if (length > 1) folder[length - 1] = '\0'; /* the slash */
    bool there = !*folder || (stat(folder, &about) == 0 && S_ISDIR(about.st_mode));
    sinew_status status =
        there ? SINEW_OK
              : sinew_fail(error, SINEW_IO, "%s: cannot be written: the folder %s does not exist",
                           path, folder);
    sinew_free(folder);
    return status;
}

/* Also beforehand: pictures and rigs have an ending that can be written. */
static sinew_status check_ending(const cli_option *option, const char *path, sinew_error *error) {
    size_t length = strlen(option->value);
    bool picture = length >= 3 && !strcasecmp(option->value + length - 3, "png");
    if (picture && !cli_has_ending(path, "png"))
        return sinew_fail(error, SINEW_BAD_INPUT, "%s: pictures are written as .png", path);
    if (!strcmp(option->value, "RIG") && !cli_holds_rig(path))
        return sinew_fail(error, SINEW_BAD_INPUT,
                          "%s: '%s' is not an ending of a rig file; a rig folder has no ending",
                          path, cli_path_ending(path));
    return SINEW_OK;
}

static sinew_status check_files(cli_call *call, const char *further) {
    sinew_error *error = &call->error;
    sinew_file_plan *plan;
    sinew_status status = sinew_file_plan_create(&plan, error);
    if (status == SINEW_OK && further) status = sinew_file_plan_add_input(plan, further, error);
    int inputs = call->verb->reads_no_files ? 0 : call->argument_count;
    if (status == SINEW_OK && call->verb->writes_last && !cli_given(call, "--out") && inputs > 0)
        status = sinew_file_plan_add_output(plan, call->arguments[--inputs], error);
    for (int i = 0; i < inputs && status == SINEW_OK; i++)
        status = sinew_file_plan_add_input(plan, call->arguments[i], error);
    for (int i = 0; i < call->value_count && status == SINEW_OK; i++) {
        const struct cli_value *value = &call->values[i];
        if (value->option->kind == CLI_INPUT)
            status = sinew_file_plan_add_input(plan, value->text, error);
        if (value->option->kind == CLI_OUTPUT)
            status = sinew_file_plan_add_output(plan, value->text, error);
    }
    if (status == SINEW_OK && sinew_file_plan_check(plan, error) != SINEW_OK)
        status = error->status == SINEW_BAD_INPUT ? SINEW_MISUSE : error->status;
    for (int i = 0; i < call->value_count && status == SINEW_OK; i++) {
        const struct cli_value *value = &call->values[i];
        if (value->option->kind != CLI_OUTPUT) continue;
        status = check_folder(value->text, error);
        if (status == SINEW_OK) status = check_ending(value->option, value->text, error);
    }
    sinew_file_plan_destroy(plan);
    return error->status = status;
}

sinew_status cli_check_files(cli_call *call) {
    return check_files(call, NULL);
}

sinew_status cli_check_input(cli_call *call, const char *path) {
    return check_files(call, path);
}

sinew_status cli_check_selection(cli_call *call, const char *select) {
    return select && !strncmp(select, "mask:", 5) ? check_files(call, select + 5) : SINEW_OK;
}

void cli_call_free(cli_call *call) {
    sinew_free(call->arguments);
    sinew_free(call->values);
    json_decref(call->report);
}

static const struct cli_value *value_at(const cli_call *call, const char *option, int index) {
    const cli_option *known = find_option(call->verb, option, strlen(option));
    if (!known) {
        fprintf(stderr, "sinew %s: %s is not in the verb's table\n", call->verb->name, option);
        exit(EXIT_USAGE);
    }
    for (int i = 0; i < call->value_count; i++)
        if (call->values[i].option == known && index-- == 0) return &call->values[i];
    return NULL;
}

bool cli_given(const cli_call *call, const char *option) {
    return value_at(call, option, 0) != NULL;
}
const char *cli_text(const cli_call *call, const char *option) {
    return cli_text_at(call, option, 0);
}
const char *cli_text_at(const cli_call *call, const char *option, int i) {
    const struct cli_value *value = value_at(call, option, i);
    return value ? value->text : NULL;
}
double cli_number(const cli_call *call, const char *option, double fallback) {
    const struct cli_value *value = value_at(call, option, 0);
    return value ? value->number : fallback;
}
int cli_integer(const cli_call *call, const char *option, int fallback) {
    return (int)cli_number(call, option, fallback);
}
int cli_choice(const cli_call *call, const char *option, int fallback) {
    return (int)cli_number(call, option, fallback);
}
int cli_count(const cli_call *call, const char *option) {
    int count = 0;
    while (value_at(call, option, count)) count++;
    return count;
}

sinew_status cli_parse_numbers(cli_call *call, const char *text, const char *what, double **numbers,
                               int *count) {
    sinew_error why = {0};
    sinew_status status = sinew_text_numbers(text, numbers, count, &why);
    return status == SINEW_OK ? SINEW_OK : cli_usage(call, "%s: %s", what, why.message);
}
