/* Help pages and man pages, both from the table of a verb. */
#include <ctype.h>
#include <string.h>

#include "frame.h"
#include "sinew/version.h"

enum { WIDTH = 80, OPTION_COLUMN = 26 };

/* Words of the text, wrapped at WIDTH, each line indented. */
static void print_wrapped(FILE *out, const char *text, size_t size, int indent, int column) {
    const char *end = text + size;
    bool fresh = true;
    for (const char *word = text; word < end;) {
        if (word[0] == '\n' && word[1] == '\n') {
            fprintf(out, "\n\n%*s", indent, "");
            column = indent;
            fresh = true;
            word += 2;
            continue;
        }
        if (isspace((unsigned char)*word)) {
            word++;
            continue;
        }
        size_t length = strcspn(word, " \n");
        if (!fresh && column + 1 + (int)length > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            fresh = true;
        }
        column += fprintf(out, "%s%.*s", fresh ? "" : " ", (int)length, word);
        fresh = false;
        word += length;
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const cli_option *option) {
    if (!*option->name) {
        fprintf(out, "\n%s:\n", option->help);
        return;
    }
    int column = fprintf(out, "  %s", option->name);
    if (option->kind != CLI_FLAG) column += fprintf(out, " %s", option->value);
    if (column >= OPTION_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", OPTION_COLUMN - column, "");
    print_wrapped(out, option->help, strlen(option->help), OPTION_COLUMN, OPTION_COLUMN);
    if (option->repeatable) fprintf(out, "%*sMay be repeated.\n", OPTION_COLUMN, "");
}

/* The first paragraph of a description explains what the verb is for; the rest are notes, or NULL.
 */
static const char *notes_of(const cli_verb *verb) {
    const char *end = strstr(verb->description, "\n\n");
    return end ? end + 2 : NULL;
}

static size_t purpose_length(const cli_verb *verb) {
    const char *notes = notes_of(verb);
    return notes ? (size_t)(notes - 2 - verb->description) : strlen(verb->description);
}

void cli_print_help(FILE *out, const cli_verb *verb) {
    fprintf(out, "Usage: sinew %s %s [options]\n\n", verb->name, verb->arguments);
    print_wrapped(out, verb->description, purpose_length(verb), 0, 0);
    fprintf(out, "\nExample:\n");
    for (const char *line = verb->example; *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(out, "  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    bool grouped = verb->options && verb->options->name && !*verb->options->name;
    if (verb->options && verb->options->name && !grouped) fprintf(out, "\nOptions:\n");
    for (const cli_option *o = verb->options; o && o->name; o++) print_option(out, o);
    for (const cli_option *o = cli_shared_options; o->name; o++) print_option(out, o);
    const char *notes = notes_of(verb);
    if (!notes) return;
    fputc('\n', out);
    print_wrapped(out, notes, strlen(notes), 0, 0);
}

void cli_print_overview(FILE *out) {
    fprintf(out, "sinew %s: physical blendshapes\n\nUsage: sinew VERB ... [options]\n\n",
            sinew_version());
    for (int i = 0; cli_verb_at(i); i++)
        fprintf(out, "  %-13s %s\n", cli_verb_at(i)->name, cli_verb_at(i)->summary);
    fprintf(out, "\nRun 'sinew VERB --help' for an example and the options of a verb.\n");
}

/* Text for roff: backslashes and dashes escaped, no line starting with a control character. */
static void print_roff(FILE *out, const char *text) {
    bool line_start = true;
    for (const char *c = text; *c; c++) {
        if (c[0] == '\n' && c[1] == '\n') {
            fprintf(out, "\n.PP\n");
            line_start = true;
            c++;
            continue;
        }
        if (line_start && (*c == '.' || *c == '\'')) fprintf(out, "\\&");
        if (*c == '\\')
            fprintf(out, "\\e");
        else if (*c == '-')
            fprintf(out, "\\-");
        else
            fputc(*c, out);
        line_start = *c == '\n';
    }
}

static void print_roff_options(FILE *out, const cli_option *table) {
    for (const cli_option *o = table; o && o->name; o++) {
        if (!*o->name) {
            fprintf(out, ".SS ");
            print_roff(out, o->help);
            fputc('\n', out);
            continue;
        }
        fprintf(out, ".TP\n.BI \"");
        print_roff(out, o->name);
        fprintf(out, "%s\"", o->kind == CLI_FLAG ? "" : " ");
        if (o->kind != CLI_FLAG) {
            fprintf(out, " \"");
            print_roff(out, o->value);
            fprintf(out, "\"");
        }
        fputc('\n', out);
        print_roff(out, o->help);
        fprintf(out, o->repeatable ? "\nMay be repeated.\n" : "\n");
    }
}

static void print_exit_codes(FILE *out) {
    static const char *const codes[][2] = {
        {"0", "success"},
        {"1", "did not converge, or a check failed; results are still written"},
        {"2", "usage error"},
        {"3", "bad input; the message names the file and element"},
        {"4",
         "a file could not be read or written, or a required program or resource is not available"},
        {"130", "interrupted; no partial output files remain"},
    };
    fprintf(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        fprintf(out, ".TP\n.B %s\n%s\n", codes[i][0], codes[i][1]);
}

void cli_print_man(FILE *out, const cli_verb *verb) {
    if (!verb) {
        fprintf(out, ".TH SINEW 1 \"\" \"sinew %s\" \"User Commands\"\n", sinew_version());
        fprintf(out,
                ".SH NAME\nsinew \\- physical blendshapes\n.SH SYNOPSIS\n.B sinew\n.I VERB\n"
                "\\&...\n.SH DESCRIPTION\nDrives the blendshape rigs and key poses that artists "
                "already have with physical models. The motion bends instead of shrinking, "
                "yields to obstacles, swings and settles, and follows captured markers.\n"
                ".SH VERBS\n");
        for (int i = 0; cli_verb_at(i); i++) {
            fprintf(out, ".TP\n.BR sinew\\-%s (1)\n", cli_verb_at(i)->name);
            print_roff(out, cli_verb_at(i)->summary);
            fputc('\n', out);
        }
        fprintf(out, ".SH OPTIONS OF ALL VERBS\n");
        print_roff_options(out, cli_shared_options);
        print_exit_codes(out);
        return;
    }
    fprintf(out, ".TH SINEW\\-");
    for (const char *c = verb->name; *c; c++) fputc(toupper((unsigned char)*c), out);
    fprintf(out, " 1 \"\" \"sinew %s\" \"User Commands\"\n", sinew_version());
    fprintf(out, ".SH NAME\nsinew\\-%s \\- ", verb->name);
    print_roff(out, verb->summary);
    fprintf(out, "\n.SH SYNOPSIS\n.B sinew %s\n.I ", verb->name);
    print_roff(out, verb->arguments);
    fprintf(out, "\n[options]\n.SH DESCRIPTION\n");
    print_roff(out, verb->description);
    fprintf(out, "\n.SH OPTIONS\n");
    print_roff_options(out, verb->options);
    print_roff_options(out, cli_shared_options);
    fprintf(out, ".SH EXAMPLE\n.nf\n");
    print_roff(out, verb->example);
    fprintf(out, ".fi\n");
    print_exit_codes(out);
    fprintf(out, ".SH SEE ALSO\n.BR sinew (1)\n");
}
