/* Parts of a clip: what verbs that write and join them share. */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H

#include "jobs.h"

/* A part should take at least this many times as long as setting up, but not longer than so many
 * times what was asked for: the loss of a part must stay cheap. */
#define CLI_SETUPS_PER_PART 40.0
#define CLI_LONGEST_PART    6.0

/* Adds what a plan needs to the report: {"clip": {"frames", "past", "run", "missing": [[first,
 * last], ...]}}. present: one per frame of the clip. */
void cli_report_clip(cli_call *call, const sinew_job *job, const bool *present);

/* Draws the contact sheet of --sheet from the outputs that were written. One that cannot be drawn
 * is a warning. */
void cli_add_sheet(cli_call *call, const sinew_scene *scene, const sinew_job *job);
#define CLI_SHEET_OPTION                                                                           \
    {                                                                                              \
        "--sheet", CLI_OUTPUT, "FILE.png",                                                         \
            "Also draw a contact sheet of the merged clip, if the scene writes a point cache.", 0, \
            0, false                                                                               \
    }

#endif
