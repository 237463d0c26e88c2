/* sinew transfer: the rig on another face. */
#include <string.h>

#include "report.h"
#include "verb.h"

static const cli_option options[] = {
    {"--to", CLI_INPUT, "MESH", "Neutral mesh of the other face.", 0, 0, false},
    {"--pairs", CLI_INPUT, "CSV",
     "Corresponding vertices, one line source,target each; required if the topology differs.", 0, 0,
     false},
    {"--out", CLI_OUTPUT, "RIG", "Write the new rig: a .glb, or a folder.", 0, 0, false},
    {"--regions", CLI_INPUT, "FILE", "Additional regions to transfer, JSON {name: [vertices]}.", 0,
     0, false},
    {"--pull", CLI_NUMBER, "X", "Weight of the scaled displacement (default 1e-3).", 0, 1e6, false},
    CLI_END,
};

/* Regions of the source that no vertex of the target lies in. */
static void warn_of_lost_regions(cli_call *call, const sinew_rig *source, const sinew_rig *made) {
    for (int i = 0; i < source->region_count; i++)
        if (sinew_rig_find_region(made, source->regions[i].name) < 0)
            cli_warn(call, "the region '%s' is omitted: it would contain no vertex",
                     source->regions[i].name);
}

static sinew_status carry(cli_call *call, const sinew_rig *source, const sinew_mesh *target,
                          const sinew_transfer_options *chosen) {
    sinew_rig *made = NULL;
    sinew_transfer_info info = {.size = sizeof info};
    sinew_status status =
        sinew_transfer(source, target, chosen, call->monitor, &made, &info, &call->error);
    if (status != SINEW_OK && status != SINEW_NO_MEMORY && status != SINEW_CANCELLED) {
        char what[SINEW_MESSAGE_SIZE];
        memcpy(what, call->error.message, sizeof what);
        return sinew_fail(&call->error, status, "%s to %s: %s", call->arguments[0],
                          cli_text(call, "--to"), what);
    }
    CLI_TRY(status);
    cli_report_sizes(call->report, target->vertex_count, target->triangle_count);
    cli_report_total(call->report, "targets", json_integer(made->target_count));
    cli_report_total(call->report, "same_topology", json_boolean(info.same_topology));
    cli_report_total(call->report, "match_mean", cli_report_number(info.match_mean));
    cli_report_total(call->report, "match_max", cli_report_number(info.match_max));
    cli_report_total(call->report, "unmatched", json_integer(info.unmatched));
    if (info.unmatched > 0)
        cli_warn(call, "%d vertices are far from the source's surface", info.unmatched);
    warn_of_lost_regions(call, source, made);
    status = sinew_rig_write(cli_text(call, "--out"), made, &call->error);
    if (status == SINEW_OK) {
        cli_say(call, "transferred %d targets to %d vertices (%s)", made->target_count,
                target->vertex_count,
                info.same_topology ? "same topology" : "matched by pairs and surface");
        cli_say(call, "wrote %s", cli_text(call, "--out"));
    }
    sinew_rig_destroy(made);
    return status;
}

static sinew_status run(cli_call *call) {
    if (!cli_given(call, "--to") || !cli_given(call, "--out"))
        return cli_usage(call, "needs --to MESH and --out RIG; see 'sinew transfer --help'");
    sinew_rig *source = NULL;
    sinew_mesh *target = NULL;
    int *from = NULL, *to = NULL;
    sinew_transfer_options chosen;
    sinew_transfer_options_init(&chosen);
    chosen.pull = cli_number(call, "--pull", chosen.pull);
    cli_report_input(call->report, cli_text(call, "--to"));
    sinew_status status =
        sinew_rig_read(call->argument_count, call->arguments, &source, &call->error);
    if (status == SINEW_OK && cli_given(call, "--regions"))
        status = sinew_regions_read(cli_text(call, "--regions"), source, &call->error);
    if (status == SINEW_OK) status = sinew_mesh_read(cli_text(call, "--to"), &target, &call->error);
    if (status == SINEW_OK && cli_given(call, "--pairs")) {
        cli_report_input(call->report, cli_text(call, "--pairs"));
        status = sinew_vertex_pairs_read(cli_text(call, "--pairs"), source->neutral->vertex_count,
                                         target->vertex_count, &from, &to, &chosen.pair_count,
                                         &call->error);
    }
    chosen.source_vertices = from, chosen.target_vertices = to;
    if (status == SINEW_OK) status = carry(call, source, target, &chosen);
    sinew_free(from), sinew_free(to);
    sinew_mesh_destroy(target);
    sinew_rig_destroy(source);
    return status;
}

const cli_verb verb_transfer = {
    .name = "transfer",
    .summary = "transfer a rig's targets to another face",
    .arguments = "RIG...",
    .minimum = 1,
    .maximum = -1,
    .options = options,
    .description = "Rebuild every target of a rig on another neutral, so that its triangles deform "
                   "in the same way (deformation transfer).\n\nFaces with the same triangles need "
                   "nothing else. Others need at least four pairs of corresponding vertices "
                   "(--pairs); use about twenty around the eyes, nose, mouth and chin. Vertices "
                   "that a target does not move stay exactly still. Regions are transferred too.",
    .example = "sinew sample face --out face\n"
               "sinew sample face2 --out other\n"
               "sinew transfer face --to other/neutral.obj --out carried\n",
    .run = run,
};
