/* sinew help: the list of verbs, the page of one, man pages. */
#include "frame.h"

static const cli_option options[] = {
    {"--man", CLI_FLAG, NULL, "Print a man page (roff) instead.", 0, 0, false},
    {"--schema", CLI_FLAG, NULL, "Print the JSON schema of scene files.", 0, 0, false},
    CLI_END,
};

static sinew_status run(cli_call *call) {
    const cli_verb *verb = NULL;
    if (cli_given(call, "--schema")) {
        if (call->argument_count > 0 || cli_given(call, "--man"))
            return cli_usage(call, "--schema cannot be combined with anything else");
        char *schema;
        sinew_status status = sinew_scene_schema(&schema, &call->error);
        if (status == SINEW_OK) puts(schema);
        if (status == SINEW_OK) sinew_free(schema);
        return status;
    }
    if (call->argument_count > 0) {
        const char *name = call->arguments[0];
        verb = cli_find_verb(name);
        if (!verb) {
            const char *nearest = cli_nearest_verb(name);
            if (nearest)
                return cli_usage(call, "unknown verb '%s'; did you mean '%s'?", name, nearest);
            return cli_usage(call, "unknown verb '%s'", name);
        }
    }
    if (cli_given(call, "--man"))
        cli_print_man(stdout, verb);
    else if (verb)
        cli_print_help(stdout, verb);
    else
        cli_print_overview(stdout);
    return SINEW_OK;
}

const cli_verb verb_help = {
    .name = "help",
    .summary = "list the verbs, or show the help page of one",
    .arguments = "[VERB]",
    .reads_no_files = true,
    .maximum = 1,
    .options = options,
    .description =
        "List the verbs, or show the help page of one. 'sinew VERB --help' does the same.",
    .example = "sinew help\n"
               "sinew help blend\n",
    .run = run,
};
