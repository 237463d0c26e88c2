/* sinew studio: the local page. */
#include <stdio.h>

#include "frame.h"
#ifdef SINEW_STUDIO
#include "studio.h"
#endif

static const cli_option options[] = {
    {"--port", CLI_INTEGER, "N", "Port to listen on; 0 picks a free one (default 0).", 0, 65535,
     false},
    {"--no-browser", CLI_FLAG, NULL, "Do not open the browser.", 0, 0, false},
    CLI_END,
};

static sinew_status run(cli_call *call) {
#ifdef SINEW_STUDIO
    if (studio_has_page()) {
        const studio_options settings = {
            .paths = call->arguments,
            .path_count = call->argument_count,
            .port = cli_integer(call, "--port", 0),
            .browser = !cli_given(call, "--no-browser"),
            .quiet = call->quiet,
        };
        return studio_run(&settings, call->monitor, &call->error);
    }
    const char *missing = "this build has no page: install nodejs and npm, and build again";
#else
    const char *missing = "this build has no studio: install libwebsockets-dev, nodejs and npm "
                          "(scripts/install-packages web), and build again";
#endif
    call->error.status = SINEW_UNAVAILABLE;
    snprintf(call->error.message, sizeof call->error.message, "%s", missing);
    return SINEW_UNAVAILABLE;
}

const cli_verb verb_studio = {
    .name = "studio",
    .summary = "pose, compare and animate a rig in the browser",
    .arguments = "[RIG... or SCENE]",
    .maximum = -1,
    .options = options,
    .description =
        "Open a rig (.glb, .fbx, a rig folder, or a neutral .obj and its targets in the same "
        "folder), a scene (.json) or the sample face in the browser: move sliders, drag the "
        "surface, place obstacles, play a clip, and compare the physical result with the linear "
        "one.\n\nThe first line of output is the address, with a token that "
        "keeps others out; the server accepts connections from this machine only. Every change is "
        "saved in PATH.studio beside the rig or scene, with its undo history. Press Ctrl-C to stop "
        "the server; the same command continues where you left off. docs/studio.md is a tour.",
    .example = "sinew studio --help\n",
    .run = run,
};
