/* The table of a farm: a row per shot with frames, frames done, frames of failed chunks, seconds
 * and the reason of a failure. DIR/farm.json keeps it for `sinew farm status`. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "farm.h"
#include "session/report.h"

#define TABLE_NAME "farm.json"

static const char *const stages[] = {[FARM_PLAN] = "waiting",
                                     [FARM_FRAMES] = "waiting",
                                     [FARM_MERGE] = "merging",
                                     [FARM_DONE] = "done",
                                     [FARM_FAILED] = "failed"};

static json_t *row_of(const farm_shot *shot) {
    const char *state = shot->running && shot->stage == FARM_FRAMES ? "running"
                        : shot->unconverged                         ? "not converged"
                                                                    : stages[shot->stage];
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:s}", "shot", shot->name, "state", state,
                     "frames", shot->frames, "done", shot->done, "failed", shot->failed, "tasks",
                     shot->tasks, "seconds", sn_report_number(shot->seconds), "reason",
                     shot->reason);
}

static json_t *rows_of(const farm *f) {
    json_t *rows = json_array();
    for (int i = 0; i < f->shot_count; i++) json_array_append_new(rows, row_of(&f->shots[i]));
    return rows;
}

sinew_status farm_save(const farm *f, sinew_error *error) {
    json_t *document = json_pack("{s:o}", "shots", rows_of(f));
    char *path = sn_path_join(f->folder, TABLE_NAME);
    sinew_status status =
        path && document ? sn_report_write(document, path, error) : sn_no_memory(error);
    sn_free(path);
    json_decref(document);
    return status;
}

static const char *text_at(const json_t *row, const char *key) {
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static int count_at(const json_t *row, const char *key) {
    return (int)json_integer_value(json_object_get(row, key));
}

/* Prints the rows and counts the shots that are not complete, and those that did not converge. */
static sinew_status print_rows(cli_call *call, const json_t *rows, bool running) {
    int shots = (int)json_array_size(rows), incomplete = 0, unconverged = 0, width = 4;
    for (int i = 0; i < shots; i++) {
        int length = (int)strlen(text_at(json_array_get(rows, (size_t)i), "shot"));
        if (length > width) width = length;
    }
    cli_say(call, "%-*s  %8s %8s %8s %9s  %-13s  %s", width, "shot", "frames", "done", "failed",
            "seconds", "state", "reason");
    for (int i = 0; i < shots; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        const char *state = text_at(row, "state");
        bool complete = !strcmp(state, "done"), slack = !strcmp(state, "not converged");
        incomplete += !complete && !slack;
        unconverged += slack;
        /* A farm that was killed cannot say so itself. */
        if (!running && (!strcmp(state, "running") || !strcmp(state, "merging"))) state = "stopped";
        cli_say(call, "%-*s  %8d %8d %8d %9.1f  %-13s  %s", width, text_at(row, "shot"),
                count_at(row, "frames"), count_at(row, "done"), count_at(row, "failed"),
                json_number_value(json_object_get(row, "seconds")), state, text_at(row, "reason"));
    }
    sn_report_total(call->report, "shots", json_integer(shots));
    sn_report_total(call->report, "incomplete", json_integer(incomplete));
    sn_report_total(call->report, "not_converged", json_integer(unconverged));
    if (incomplete)
        return sn_fail(&call->error, SINEW_NOT_CONVERGED, "%d of %d shots are incomplete",
                       incomplete, shots);
    if (unconverged)
        return sn_fail(&call->error, SINEW_NOT_CONVERGED,
                       "%d of %d shots have frames that did not reach the tolerance", unconverged,
                       shots);
    return SINEW_OK;
}

sinew_status farm_finish(const farm *f) {
    json_t *rows = rows_of(f);
    sinew_status status = print_rows(f->call, rows, true);
    json_object_set_new(f->call->report, "shots", rows);
    return status;
}

sinew_status farm_print_status(cli_call *call, const char *folder, bool running) {
    char *path = sn_path_join(folder, TABLE_NAME), *text = NULL;
    size_t size;
    sinew_status status =
        path ? sn_file_read(path, &text, &size, &call->error) : sn_no_memory(&call->error);
    json_t *document = status == SINEW_OK ? json_loadb(text, size, 0, NULL) : NULL;
    json_t *rows = json_object_get(document, "shots");
    if (status == SINEW_OK && !json_is_array(rows))
        status = sn_fail(&call->error, SINEW_BAD_INPUT, "%s: not the table of a farm", path);
    if (status == SINEW_OK) {
        cli_say(call, "%s", running ? "a farm is running" : "no farm is running");
        status = print_rows(call, rows, running);
        json_object_set(call->report, "shots", rows);
    }
    json_decref(document);
    sn_free(text);
    sn_free(path);
    return status;
}
