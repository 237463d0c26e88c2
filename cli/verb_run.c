/* sinew run: a job that is described in a scene file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "jobs.h"
#include "parts.h"
#include "report.h"

static const cli_option options[] = {
    {"--out", CLI_OUTPUT, "FILE", "Write frames here instead of to the files in the scene.", 0, 0,
     true},
    CLI_FRAMES_OPTION,
    CLI_FOLDER_OPTION,
    {"--allow-outside", CLI_FLAG, NULL,
     "Let the scene write outside its own folder; only for scenes that you trust.", 0, 0, false},
    {"--device", CLI_CHOICE, "cpu|auto|gpu",
     "Processor that solves the frames, instead of the scene's choice: the CPU, a GPU if there is "
     "one, or a GPU and an error if there is none.",
     0, 0, false},
    CLI_GROUP("Parts of a clip"),
    {"--part", CLI_TEXT, "DIR",
     "Write the frames as a part of the clip into this folder, for 'sinew merge', with a "
     "checkpoint if frames depend on earlier ones.",
     0, 0, false},
    {"--resume", CLI_FLAG, NULL,
     "Start from the checkpoint in the folder of --part instead of recomputing earlier frames.", 0,
     0, false},
    {"--budget", CLI_NUMBER, "SECONDS",
     "Instead of --frames: compute missing frames for about this long, and merge the parts once "
     "all frames are complete.",
     0, 86400, false},
    {"--merge", CLI_FLAG, NULL,
     "With --frames and --part: merge the parts afterwards if the clip is complete.", 0, 0, false},
    CLI_SHEET_OPTION,
    CLI_END,
};

/* A scene may come from an untrusted source: it writes only to its own folder unless allowed.
 * Options on the command line come from the user and are trusted. */
static sinew_status check_outside(cli_call *call, const sinew_scene *scene) {
    if (cli_given(call, "--allow-outside")) return SINEW_OK;
    char *folder = cli_scene_folder(call, call->arguments[0]);
    if (!folder) return cli_no_memory(&call->error);
    sinew_file_plan *plan = NULL;
    sinew_status status = sinew_file_plan_create(&plan, &call->error);
    if (status == SINEW_OK) status = sinew_file_plan_add_scene(plan, scene, &call->error);
    if (status == SINEW_OK) status = sinew_file_plan_check_inside(plan, folder, &call->error);
    if (status == SINEW_BAD_INPUT) {
        size_t used = strlen(call->error.message);
        snprintf(call->error.message + used, sizeof call->error.message - used,
                 "; --allow-outside permits it");
    }
    sinew_file_plan_destroy(plan);
    sinew_free(folder);
    return status;
}

static sinew_status replace_outputs(cli_call *call, sinew_scene *scene) {
    int count = cli_count(call, "--out");
    if (count == 0) return SINEW_OK;
    json_t *paths = json_array();
    for (int i = 0; i < count; i++) {
        /* Paths of the scene start at its folder, those of the command line do not. */
        const char *text = cli_text_at(call, "--out", i);
        char *absolute = cli_absolute_path(text);
        json_array_append_new(paths, json_string(absolute ? absolute : text));
        sinew_free(absolute);
    }
    char *json = json_dumps(paths, 0);
    json_decref(paths);
    sinew_status status =
        sinew_scene_set(scene, "/outputs/frames", json ? json : "[]", NULL, &call->error);
    free(json);
    return status;
}

static sinew_status choose_device(cli_call *call, sinew_scene *scene) {
    const char *device = cli_text(call, "--device");
    if (!device) return SINEW_OK;
    char json[16];
    snprintf(json, sizeof json, "\"%s\"", device);
    return sinew_scene_set(scene, "/parameters/device", json, NULL, &call->error);
}

/* Where `sinew merge DIR` finds the scene. */
static sinew_status note_scene(cli_call *call, const char *folder) {
    char *path = cli_path_join(folder, CLI_PART_SCENE),
         *scene = cli_absolute_path(call->arguments[0]);
    sinew_status status =
        path && scene ? sinew_folder_create(folder, &call->error) : cli_no_memory(&call->error);
    if (status == SINEW_OK) status = sinew_file_write(path, scene, strlen(scene), &call->error);
    sinew_free(path);
    sinew_free(scene);
    return status;
}

/* What a farm needs to know about the cost of further parts. */
static void report_cost(cli_call *call, int frames, double setup, double seconds) {
    json_object_set_new(call->report, "part",
                        json_pack("{s:i, s:o, s:o}", "frames", frames, "setup_ms",
                                  cli_report_number(1e3 * setup), "frames_ms",
                                  cli_report_number(1e3 * seconds)));
}

static bool is_complete(sinew_status status) {
    return status == SINEW_OK || status == SINEW_NOT_CONVERGED;
}

/* *merged: the outputs are written, too. */
static sinew_status run_range(cli_call *call, sinew_job *job, double setup, bool *merged) {
    const char *folder = cli_text(call, "--part");
    bool resume = cli_given(call, "--resume");
    int first, last;
    CLI_TRY(cli_frame_range(call, &first, &last));
    double begin = cli_now();
    sinew_status status =
        cli_given(call, "--merge")
            ? sinew_job_run_last_part(job, first, last, folder, resume, call->monitor, merged,
                                      &call->error)
            : sinew_job_run_part(job, first, last, folder, resume, call->monitor, &call->error);
    int frames = (last < 0 ? sinew_job_frame_count(job) - 1 : last) - first + 1;
    report_cost(call, frames, setup, cli_now() - begin);
    return status;
}

/* The first frames that no part has and that fit into the time: as the frames before them were.
 * When a little more time is enough for all of them, it is taken: another process would have to set
 * up and merge. */
static bool next_range(const sinew_job *job, const bool *present, int done, double spent,
                       double budget, int *first, int *last) {
    enum { TRIAL = 4 };        /* frames, before anything is known */
    const double LITTLE = 0.5; /* of the time */
    int frames = sinew_job_frame_count(job), run = 0, missing = 0;
    for (*first = 0; *first < frames && present[*first];) ++*first;
    if (*first == frames) return false;
    for (int i = *first; i < frames; i++) missing += !present[i];
    double rate = done ? done / fmax(spent, 1e-9) : 0;
    double fits = done ? (budget - spent) * rate : TRIAL;
    if (done && missing <= ((1 + LITTLE) * budget - spent) * rate) fits = missing;
    if (fits < 1) return false;
    int end = *first + (int)fmin(fits, frames - *first);
    sinew_job_past(job, &run);
    if (run > 1) end = (end + run - 1) / run * run; /* runs are solved together */
    for (*last = *first; *last + 1 < end && *last + 1 < frames && !present[*last + 1];) ++*last;
    return true;
}

/* Parts of the missing frames until the time is used up. */
static sinew_status fill_parts(cli_call *call, sinew_job *job, bool *present, double setup,
                               bool *merged) {
    const char *folder = cli_text(call, "--part");
    /* Where setting up takes long, more work makes it worth while. */
    double wanted = cli_number(call, "--budget", 0);
    double budget = fmin(fmax(wanted, CLI_SETUPS_PER_PART * setup), CLI_LONGEST_PART * wanted);
    double begin = cli_now();
    int done = 0, first, last;
    sinew_status worst = SINEW_OK;
    while (next_range(job, present, done, cli_now() - begin, budget, &first, &last)) {
        bool is_last = true;
        for (int i = 0; i < sinew_job_frame_count(job); i++)
            is_last = is_last && (present[i] || (i >= first && i <= last));
        sinew_status status = is_last ? sinew_job_run_last_part(job, first, last, folder, first > 0,
                                                                call->monitor, merged, &call->error)
                                      : sinew_job_run_part(job, first, last, folder, first > 0,
                                                           call->monitor, &call->error);
        if (!is_complete(status)) return status;
        if (status != SINEW_OK) worst = status;
        for (int i = first; i <= last; i++) present[i] = true;
        done += last - first + 1;
    }
    report_cost(call, done, setup, cli_now() - begin);
    return worst;
}

/* After merging. */
static void say_merged(cli_call *call, const sinew_scene *scene, const sinew_job *job,
                       sinew_status status) {
    cli_say_job(call, job, scene, status);
    if (!is_complete(status)) return;
    json_object_set_new(call->report, "merged", json_true());
    if (cli_given(call, "--sheet")) cli_add_sheet(call, scene, job);
}

static sinew_status run_budget(cli_call *call, const sinew_scene *scene, sinew_job *job,
                               double setup) {
    const char *folder = cli_text(call, "--part");
    int frames = sinew_job_frame_count(job);
    bool *present = CLI_NEW(bool, frames), all = true;
    if (!present) return cli_no_memory(&call->error);
    sinew_status status = sinew_job_check_parts(job, folder, present, call->monitor, &call->error);
    bool merged = false;
    if (status == SINEW_OK) status = fill_parts(call, job, present, setup, &merged);
    for (int i = 0; i < frames; i++) all = all && present[i];
    if (is_complete(status) && all) {
        if (!merged) status = sinew_job_merge(job, folder, call->monitor, &call->error);
        say_merged(call, scene, job, status);
    }
    if (is_complete(status)) cli_report_clip(call, job, present);
    sinew_free(present);
    return status;
}

/* If that fails, 'sinew merge' reports why; the part is valid all the same. */
static sinew_status try_merge(cli_call *call, const sinew_scene *scene, sinew_job *job,
                              sinew_status part) {
    sinew_error before = call->error;
    sinew_status status =
        sinew_job_merge(job, cli_text(call, "--part"), call->monitor, &call->error);
    if (status == SINEW_CANCELLED) return status;
    if (!is_complete(status)) {
        call->error = before;
        return part;
    }
    say_merged(call, scene, job, status);
    return status;
}

static sinew_status run_part(cli_call *call, const sinew_scene *scene) {
    const char *folder = cli_text(call, "--part");
    sinew_job *job;
    double begin = cli_now();
    CLI_TRY(sinew_job_create(scene, call->monitor, &job, &call->error));
    double setup = cli_now() - begin;
    bool merged = false;
    sinew_status status = cli_given(call, "--budget") ? run_budget(call, scene, job, setup)
                                                      : run_range(call, job, setup, &merged);
    if (merged)
        say_merged(call, scene, job, status);
    else if (is_complete(status) && cli_given(call, "--merge"))
        status = try_merge(call, scene, job, status);
    sinew_job_destroy(job);
    if (is_complete(status)) {
        sinew_status noted = note_scene(call, folder);
        if (noted != SINEW_OK) return noted;
        cli_say(call, "wrote parts into %s", folder);
    }
    return status;
}

static sinew_status run(cli_call *call) {
    if (cli_given(call, "--part") && cli_given(call, "--out"))
        return cli_usage(call, "--part and --out cannot be combined: the scene specifies where the "
                               "merged outputs go");
    if (cli_given(call, "--resume") && !cli_given(call, "--part"))
        return cli_usage(call, "--resume needs --part");
    if (cli_given(call, "--budget") && (!cli_given(call, "--part") || cli_given(call, "--frames")))
        return cli_usage(call, "--budget needs --part, and cannot be combined with --frames");
    if (cli_given(call, "--merge") && (!cli_given(call, "--part") || cli_given(call, "--budget")))
        return cli_usage(
            call,
            "--merge needs --part, and cannot be combined with --budget, which merges anyway");
    if (cli_given(call, "--sheet") && !cli_given(call, "--budget") && !cli_given(call, "--merge"))
        return cli_usage(call, "--sheet needs --budget or --merge");
    sinew_scene *scene;
    sinew_status status = cli_read_scene(call, call->arguments[0], &scene);
    if (status != SINEW_OK) return status;
    if (cli_given(call, "--out")) /* instead of those of the scene */
        status = sinew_scene_set(scene, "/outputs/frames", "[]", NULL, &call->error);
    if (status == SINEW_OK) status = check_outside(call, scene);
    if (status == SINEW_OK) status = replace_outputs(call, scene);
    if (status == SINEW_OK) status = choose_device(call, scene);
    if (status == SINEW_OK)
        status = cli_given(call, "--part") ? run_part(call, scene) : cli_run_scene(call, scene);
    sinew_scene_destroy(scene);
    return status;
}

const cli_verb verb_run = {
    .name = "run",
    .summary = "run the job that a scene file describes",
    .arguments = "SCENE.json",
    .minimum = 1,
    .maximum = 1,
    .options = options,
    .description = "Run a whole job from one file: rig, model, parameters, drivers, obstacles, "
                   "locks and outputs.\n\nPaths in a scene are relative to its folder, and it "
                   "writes nowhere else without --allow-outside. docs/scene.md describes every "
                   "key; the same file opens in the studio.\n\nWith --frames and --part, a clip "
                   "can be split into parts that run on different machines. 'sinew merge' joins "
                   "them; the outputs are bit-identical to those of a single run.",
    .example = "sinew blend --sample bar --model rotation --steps 12 --out bar.pc2 --scene-out "
               "bar.json\n"
               "sinew run bar.json --frames 0-5 --part parts\n"
               "sinew run bar.json --frames 6- --part parts\n"
               "sinew merge parts\n",
    .run = run,
};
