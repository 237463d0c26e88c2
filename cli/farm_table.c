/* The table of a farm: a row per shot with frames, frames done, frames of failed chunks, seconds
 * and the reason of a failure. DIR/farm.json keeps it for `sinew farm status`, with the costs of
 * frames for later calls. */
#include <string.h>
#include <time.h>

#include "farm.h"
#include "json.h"
#include "report.h"

#define TABLE_NAME "farm.json"

static const char *const stages[] = {[FARM_PLAN] = "waiting",
                                     [FARM_FRAMES] = "waiting",
                                     [FARM_MERGE] = "merging",
                                     [FARM_DONE] = "done",
                                     [FARM_FAILED] = "failed"};

static json_t *row_of(const farm_shot *shot) {
    bool working = shot->active && shot->stage < FARM_MERGE; /* the first task computes, too */
    const char *state = working ? "running" : shot->slack ? "not converged" : stages[shot->stage];
    json_t *row = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:b, s:s}", "shot", shot->name, "state", state,
        "frames", shot->frames, "done", shot->done, "failed", shot->failed, "tasks", shot->tasks,
        "seconds", cli_report_number(shot->seconds), "processor_seconds",
        cli_report_number(shot->processor), "sheet", shot->sheet, "reason", shot->reason);
    if (row && shot->slack) json_object_set(row, "not_converged", shot->slack);
    return row;
}

static json_t *rows_of(const farm *f) {
    json_t *rows = json_array();
    for (int i = 0; i < f->shot_count; i++) json_array_append_new(rows, row_of(&f->shots[i]));
    return rows;
}

static json_t *costs_of(const farm *f) {
    json_t *costs = json_object();
    for (int i = 0; i < f->cost_count; i++) {
        const farm_cost *cost = &f->costs[i];
        if (cost->frames)
            json_object_set_new(costs, cost->key,
                                json_pack("{s:i, s:o, s:o}", "frames", cost->frames,
                                          "frame_seconds", cli_report_number(cost->frame_seconds),
                                          "setup_seconds", cli_report_number(cost->setup_seconds)));
    }
    return costs;
}

void farm_load_costs(farm *f) {
    char *path = cli_path_join(f->folder, TABLE_NAME);
    json_t *document = path ? cli_json_load_file(path, 0, NULL) : NULL;
    sinew_free(path);
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(document, "costs"), key, value) {
        int index = strlen(key) < sizeof f->costs->key ? farm_find_cost(f, key) : -1;
        if (index < 0) continue;
        farm_cost *cost = &f->costs[index];
        double frames = json_number_value(json_object_get(value, "frames"));
        double seconds = json_number_value(json_object_get(value, "frame_seconds"));
        double setup = json_number_value(json_object_get(value, "setup_seconds"));
        if (!(frames >= 1 && frames < 1e9 && seconds >= 0 && seconds < 1e12 && setup >= 0))
            continue;
        cost->frames = (int)frames, cost->frame_seconds = seconds, cost->setup_seconds = setup;
    }
    json_decref(document);
}

static json_t *table_of(farm *f) {
    int running = 0;
    double left = farm_seconds_left(f);
    for (int i = 0; i < f->shot_count; i++) f->shots[i].active = false;
    for (int i = 0; i < f->task_count; i++) {
        running += f->tasks[i]->state == FARM_RUNNING;
        if (f->tasks[i]->state == FARM_RUNNING) f->tasks[i]->shot->active = true;
    }
    return json_pack("{s:o, s:o, s:s, s:i, s:i, s:o, s:o}", "shots", rows_of(f), "costs",
                     costs_of(f), "backend", f->backend->name, "running", running, "waiting",
                     f->task_count - running, "elapsed_seconds",
                     cli_report_number(cli_now() - f->began), "seconds_left",
                     left < 0 ? json_null() : cli_report_number(left));
}

sinew_status farm_save(farm *f, sinew_error *error) {
    double begin = cli_now();
    clock_t processor = clock();
    json_t *document = table_of(f);
    char *path = cli_path_join(f->folder, TABLE_NAME);
    sinew_status status =
        path && document ? cli_report_write(document, path, error) : cli_no_memory(error);
    bool open = f->task_count > 0;
    if (status == SINEW_OK) status = farm_write_page(document, f->folder, open, error);
    sinew_free(path);
    json_decref(document);
    f->saved = cli_now();
    f->save_seconds = f->saved - begin;
    f->save_processor = (double)(clock() - processor) / CLOCKS_PER_SEC;
    return status;
}

/* ---- reading it -------------------------------------------------------------------------------
 */

static const char *text_at(const json_t *row, const char *key) {
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static int count_at(const json_t *row, const char *key) {
    return (int)json_integer_value(json_object_get(row, key));
}

/* Frames as "3-7 12": a few of them. */
static void list_ranges(const json_t *ranges, char *text, size_t size) {
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < json_array_size(ranges) && used + 32 < size; i++) {
        const json_t *range = json_array_get(ranges, i);
        int first = (int)json_integer_value(json_array_get(range, 0));
        int last = (int)json_integer_value(json_array_get(range, 1));
        used += (size_t)snprintf(text + used, size - used, first == last ? "%s%d" : "%s%d-%d",
                                 i ? " " : "", first, last);
    }
}

static void print_row(const cli_call *call, const json_t *row, int width, bool running) {
    const char *state = text_at(row, "state");
    char frames[80], reason[640];
    /* A farm that was killed cannot report it. */
    if (!running && (!strcmp(state, "running") || !strcmp(state, "merging"))) state = "stopped";
    list_ranges(json_object_get(row, "not_converged"), frames, sizeof frames);
    snprintf(reason, sizeof reason, "%s%s%s", text_at(row, "reason"), *frames ? "; frames " : "",
             frames);
    cli_say(call, "%-*s  %8d %8d %8d %9.1f  %-13s  %s", width, text_at(row, "shot"),
            count_at(row, "frames"), count_at(row, "done"), count_at(row, "failed"),
            json_number_value(json_object_get(row, "seconds")), state, reason);
}

typedef struct tally {
    int shots, incomplete, unconverged;
} tally;

/* Prints the rows, at most `most`: those that are neither done nor waiting come first. */
static tally print_rows(const cli_call *call, const json_t *rows, bool running, int most) {
    tally t = {.shots = (int)json_array_size(rows)};
    int width = 4, printed = 0;
    for (int i = 0; i < t.shots; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        int length = (int)strlen(text_at(row, "shot"));
        bool slack = !strcmp(text_at(row, "state"), "not converged");
        if (length > width) width = length;
        t.incomplete += !slack && strcmp(text_at(row, "state"), "done");
        t.unconverged += slack;
    }
    cli_say(call, "%-*s  %8s %8s %8s %9s  %-13s  %s", width, "shot", "frames", "done", "failed",
            "seconds", "state", "reason");
    bool all = t.shots <= most;
    for (int pass = all; pass < 2; pass++)
        for (int i = 0; i < t.shots && printed < most; i++) {
            const json_t *row = json_array_get(rows, (size_t)i);
            const char *state = text_at(row, "state");
            bool quiet = !strcmp(state, "done") || !strcmp(state, "waiting");
            if (!all && quiet != (pass == 1)) continue;
            print_row(call, row, width, running);
            printed++;
        }
    if (!all) cli_say(call, "and %d more", t.shots - printed);
    return t;
}

static sinew_status judge(cli_call *call, tally t) {
    cli_report_total(call->report, "shots", json_integer(t.shots));
    cli_report_total(call->report, "incomplete", json_integer(t.incomplete));
    cli_report_total(call->report, "not_converged", json_integer(t.unconverged));
    if (t.incomplete)
        return sinew_fail(&call->error, SINEW_NOT_CONVERGED, "%d of %d shots are incomplete",
                          t.incomplete, t.shots);
    if (t.unconverged)
        return sinew_fail(&call->error, SINEW_NOT_CONVERGED,
                          "%d of %d shots have frames that did not reach the tolerance",
                          t.unconverged, t.shots);
    return SINEW_OK;
}

sinew_status farm_finish(const farm *f) {
    json_t *rows = rows_of(f);
    tally t = print_rows(f->call, rows, true, f->shot_count);
    json_object_set_new(f->call->report, "shots", rows);
    return judge(f->call, t);
}

static void say_progress(const cli_call *call, const json_t *document, bool running) {
    const json_t *left = json_object_get(document, "seconds_left");
    if (!running) {
        cli_say(call, "no farm is running");
        return;
    }
    char text[64] = "not known yet";
    double seconds = json_number_value(left);
    if (json_is_number(left) && seconds < 90)
        snprintf(text, sizeof text, "about %.0f s", seconds);
    else if (json_is_number(left) && seconds < 5400)
        snprintf(text, sizeof text, "about %.0f min", seconds / 60);
    else if (json_is_number(left))
        snprintf(text, sizeof text, "about %.1f h", seconds / 3600);
    cli_say(call, "a farm is running: %d tasks running, %d waiting, %.0f s so far, time left: %s",
            count_at(document, "running"), count_at(document, "waiting"),
            json_number_value(json_object_get(document, "elapsed_seconds")), text);
}

sinew_status farm_print_status(cli_call *call, const char *folder, bool running, int most) {
    char *path = cli_path_join(folder, TABLE_NAME), *text = NULL;
    size_t size;
    sinew_status status =
        path ? sinew_file_read(path, &text, &size, &call->error) : cli_no_memory(&call->error);
    json_t *document = status == SINEW_OK ? cli_json_loadb(text, size, 0, NULL) : NULL;
    json_t *rows = json_object_get(document, "shots");
    if (status == SINEW_OK && !json_is_array(rows))
        status = sinew_fail(&call->error, SINEW_BAD_INPUT, "%s: not a farm table", path);
    if (status == SINEW_OK) {
        say_progress(call, document, running);
        tally t = print_rows(call, rows, running, most ? most : (int)json_array_size(rows));
        status = judge(call, t);
        json_object_set(call->report, "shots", rows);
    }
    json_decref(document);
    sinew_free(text);
    sinew_free(path);
    return status;
}
