/* sinew transfer: the rig on another face. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "job/report.h"
#include "verb.h"

static const cli_option options[] = {
    {"--to", CLI_TEXT, "MESH", "the other face, neutral", 0, 0, false},
    {"--pairs", CLI_TEXT, "CSV",
     "vertices that correspond, a line each: source,target (needed when the faces differ)", 0, 0,
     false},
    {"--pull", CLI_NUMBER, "X", "pull to the scaled displacement (default 1e-3)", 0, 1e6, false},
    {"--out", CLI_TEXT, "RIG", "a .glb, or a folder", 0, 0, false},
    CLI_END,
};

/* "12,7" lines; a first line that is no such pair is a header. */
static sinew_status read_pairs(cli_call *call, const char *path, int **pairs, int *count) {
    char *text = NULL;
    size_t size = 0, capacity = 0;
    SN_TRY(sn_file_read(path, &text, &size, &call->error));
    sinew_status status = SINEW_OK;
    int line = 1;
    *count = 0;
    for (char *at = text; status == SINEW_OK && *at; line++) {
        int a, b, used = 0;
        bool good = sscanf(at, " %9d , %9d%n", &a, &b, &used) == 2;
        if (good && !SN_RESERVE(*pairs, capacity, 2 * (size_t)*count + 2))
            status = sn_no_memory(&call->error);
        else if (good)
            (*pairs)[2 * *count] = a, (*pairs)[2 * *count + 1] = b, ++*count;
        else if (line > 1 && *at != '\n' && *at != '\r')
            status =
                sn_fail(&call->error, SINEW_BAD_INPUT, "%s:%d: needs source,target", path, line);
        while (*at && *at != '\n') at++;
        if (*at) at++;
    }
    sn_free(text);
    return status;
}

static sinew_status carry(cli_call *call, const sinew_rig *source, const sinew_mesh *target,
                          int *pairs, int pair_count) {
    sinew_transfer_options chosen;
    sinew_transfer_options_default(&chosen);
    chosen.pull = cli_number(call, "--pull", chosen.pull);
    int *split = SN_NEW(int, 2 * (size_t)pair_count);
    if (!split) return sn_no_memory(&call->error);
    for (int i = 0; i < pair_count; i++)
        split[i] = pairs[2 * i], split[pair_count + i] = pairs[2 * i + 1];
    chosen.pair_count = pair_count;
    chosen.source_vertices = split, chosen.target_vertices = split + pair_count;
    sinew_rig *made = NULL;
    sinew_transfer_info info;
    sinew_status status =
        sinew_transfer(source, target, &chosen, call->monitor, &made, &info, &call->error);
    sn_free(split);
    if (status != SINEW_OK && status != SINEW_NO_MEMORY && status != SINEW_CANCELLED) {
        char what[SINEW_MESSAGE_SIZE];
        memcpy(what, call->error.message, sizeof what);
        return sn_fail(&call->error, status, "%s to %s: %s", call->arguments[0],
                       cli_text(call, "--to"), what);
    }
    SN_TRY(status);
    sn_report_sizes(call->report, target->vertex_count, target->triangle_count);
    sn_report_total(call->report, "targets", json_integer(made->target_count));
    sn_report_total(call->report, "same_topology", json_boolean(info.same_topology));
    sn_report_total(call->report, "match_mean", sn_report_number(info.match_mean));
    sn_report_total(call->report, "match_max", sn_report_number(info.match_max));
    sn_report_total(call->report, "unmatched", json_integer(info.unmatched));
    if (info.unmatched > 0)
        cli_warn(call, "%d vertices are far from the source's surface", info.unmatched);
    status = sinew_rig_write(cli_text(call, "--out"), made, &call->error);
    if (status == SINEW_OK)
        cli_say(call, "%d targets on %d vertices (%s)\nwrote %s", made->target_count,
                target->vertex_count,
                info.same_topology ? "same topology" : "matched by pairs and surface",
                cli_text(call, "--out"));
    sinew_rig_destroy(made);
    return status;
}

static sinew_status run(cli_call *call) {
    if (!cli_given(call, "--to") || !cli_given(call, "--out"))
        return cli_usage(call, "needs --to MESH and --out RIG; see 'sinew transfer --help'");
    sinew_rig *source = NULL;
    sinew_mesh *target = NULL;
    int *pairs = NULL, pair_count = 0;
    for (int i = 0; i < call->argument_count; i++)
        sn_report_input(call->report, call->arguments[i]);
    sn_report_input(call->report, cli_text(call, "--to"));
    sinew_status status =
        sinew_rig_read(call->argument_count, call->arguments, &source, &call->error);
    if (status == SINEW_OK) status = sinew_mesh_read(cli_text(call, "--to"), &target, &call->error);
    if (status == SINEW_OK && cli_given(call, "--pairs"))
        status = read_pairs(call, cli_text(call, "--pairs"), &pairs, &pair_count);
    if (status == SINEW_OK) status = carry(call, source, target, pairs, pair_count);
    sn_free(pairs);
    sinew_mesh_destroy(target);
    sinew_rig_destroy(source);
    return status;
}

const cli_verb verb_transfer = {
    .name = "transfer",
    .summary = "carry a rig's targets to another face",
    .arguments = "RIG...",
    .minimum = 1,
    .maximum = -1,
    .options = options,
    .description =
        "Every target of the rig is rebuilt on the other neutral so that its triangles change in "
        "the same way. Faces with the same triangles need nothing more; others need at least four "
        "pairs of vertices that correspond (--pairs), better twenty around eyes, nose, mouth and "
        "chin. Vertices that a target does not move stay exactly still.",
    .example = "sinew sample face --out face\n"
               "sinew sample face2 --out other\n"
               "sinew transfer face --to other/neutral.obj --out carried\n",
    .run = run,
};
