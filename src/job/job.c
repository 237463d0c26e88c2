/* Jobs: a session, its clip and its outputs. */
#include "sinew/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "base/status.h"
#include "job/crew.h"
#include "job/outputs.h"
#include "job/parts.h"
#include "session/files.h"
#include "session/records.h"
#include "session/report.h"

struct sinew_job {
    sinew_session *session;
    sinew_solver *solver;
    sinew_cache *cache;
    sinew_scene *scene; /* a copy, for the outputs */
    json_t *report;
    sn_crew crew; /* solvers for several frames at once */
};

/* During sinew_job_create: the caller's monitor, and fallbacks go into the report. */
typedef struct noting {
    const sinew_monitor *caller;
    json_t *report;
} noting;

static void pass_progress(double fraction, const char *stage, void *user) {
    sn_progress(((const noting *)user)->caller, fraction, stage);
}

static bool pass_cancelled(void *user) {
    return sn_cancelled(((const noting *)user)->caller);
}

static void note_fallback(sinew_log_level level, const char *line, void *user) {
    const noting *n = user;
    if (level == SINEW_LOG_LEVEL_FALLBACK) sn_report_fallback(n->report, line);
    sn_log(n->caller, level, "%s", line);
}

/* Nothing is written over what is read, and no file is written twice. */
static sinew_status check_files(const sinew_scene *scene, sinew_error *error) {
    sn_file_plan plan = {0};
    sn_scene_plan(scene, &plan);
    sinew_status status = sinew_file_plan_check(&plan, error);
    sn_plan_free(&plan);
    return status;
}

/* A session without a driver shows sliders at rest; a job has nothing to compute. */
static sinew_status check_driver(const sinew_scene *scene, sinew_error *error) {
    static const char *const drivers[] = {"weights", "curves", "steps", "keys", "markers"};
    for (size_t k = 0; k < sizeof drivers / sizeof *drivers; k++)
        if (sn_scene_at(scene, drivers[k])) return SINEW_OK;
    const char *name = json_string_value(sn_scene_at(scene, "model"));
    const sinew_model *model = sinew_model_find(name ? name : "linear");
    return sn_scene_fail(
        scene, error, "",
        model && sinew_model_needs_no_weights(model)
            ? "nothing drives the rig: give keys, markers, weights, curves or steps"
            : "nothing drives the rig: give weights, curves or steps");
}

static sinew_status build(sinew_job *job, const sinew_scene *scene, const sinew_monitor *monitor,
                          sinew_error *error) {
    /* A store that cannot be opened costs time only. */
    sinew_error no_cache;
    if (sinew_cache_open(NULL, 0, &job->cache, &no_cache) != SINEW_OK)
        sn_log(monitor, SINEW_LOG_LEVEL_INFO, "%s", no_cache.message);
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    options.cache = job->cache;
    SN_TRY(sinew_scene_copy(scene, &job->scene, error));
    SN_TRY(check_files(job->scene, error));
    job->report = sn_report_new("run");
    if (!job->report) return sn_no_memory(error);
    noting notes = {monitor, job->report};
    sinew_monitor noted = {.progress = pass_progress,
                           .cancelled = pass_cancelled,
                           .log = note_fallback,
                           .user = &notes,
                           .strict = monitor && monitor->strict};
    SN_TRY(check_driver(scene, error));
    SN_TRY(sinew_session_create(scene, &options, &job->session, error));
    SN_TRY(sinew_session_prepare(job->session, &noted, error));
    job->solver = sinew_session_solver(job->session);
    SN_TRY(sn_outputs_check(job->scene, job->solver, error));
    json_t *built = sn_solver_report(job->solver);
    bool good = built && sn_report_complete(job->report) && !json_object_update(job->report, built);
    json_decref(built);
    return good ? SINEW_OK : sn_no_memory(error);
}

sinew_status sinew_job_create(const sinew_scene *scene, const sinew_monitor *monitor,
                              sinew_job **job, sinew_error *error) {
    SN_REQUIRE(scene && job, error);
    *job = NULL;
    sinew_job *made = SN_NEW0(sinew_job, 1);
    if (!made) return sn_no_memory(error);
    sinew_status status = build(made, scene, monitor, error);
    if (status != SINEW_OK) {
        sinew_job_destroy(made);
        return status;
    }
    *job = made;
    return SINEW_OK;
}

void sinew_job_destroy(sinew_job *job) {
    if (!job) return;
    sn_crew_free(&job->crew);
    sinew_session_destroy(job->session);
    sinew_cache_close(job->cache);
    sinew_scene_destroy(job->scene);
    json_decref(job->report);
    sn_free(job);
}

const sinew_rig *sinew_job_rig(const sinew_job *job) {
    return job ? sinew_solver_rig(job->solver) : NULL;
}

static const sn_clip *clip_of(const sinew_job *job) {
    return sn_solver_get_clip(job->solver);
}

int sinew_job_frame_count(const sinew_job *job) {
    return job ? clip_of(job)->frame_count : 0;
}

double sinew_job_time(const sinew_job *job, int frame) {
    return job ? sinew_solver_frame_time(job->solver, frame) : 0;
}

const double *sinew_job_weights(const sinew_job *job, int frame) {
    if (!job) return NULL;
    const sn_clip *clip = clip_of(job);
    if (!clip->weights || frame < 0 || frame >= clip->frame_count) return NULL;
    return clip->weights + (size_t)frame * (size_t)sinew_job_rig(job)->slider_count;
}

/* ---- one frame ------------------------------------------------------------------------------- */

sinew_status sinew_job_frame(sinew_job *job, int frame, double *positions, sinew_frame_info *info,
                             const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(job && positions, error);
    SN_REQUIRE(sn_info_ready(info), error);
    SN_REQUIRE(frame >= 0 && frame < clip_of(job)->frame_count, error);
    sinew_frame_info own = {.size = sizeof own};
    sinew_status status = sn_solve_frame(job->solver, frame, positions, &own, NULL, monitor, error);
    sn_info_write(info, &own, sizeof own);
    return status;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void report_frame(const sinew_frame_info *info, json_t *fields) {
    sn_figure_put(fields, "time", sn_report_number(info->time));
    sn_figure_put(fields, "status", json_string(sinew_status_name(info->status)));
    sn_figure_put(fields, "iterations", json_integer(info->iterations));
    sn_figure_put(fields, "residual", sn_report_number(info->residual));
    sn_figure_put(fields, "energy", sn_report_number(info->energy));
    sn_figure_put(fields, "ms", sn_report_number(1e3 * info->seconds));
    sn_figure_put(fields, "inverted", json_integer(info->inverted));
    sn_figure_put(fields, "contacts", json_integer(info->contacts));
}

static void report_weights(const sinew_job *job, int frame, json_t *fields) {
    const double *weights = sinew_job_weights(job, frame);
    const sinew_rig *rig = sinew_job_rig(job);
    if (!weights) return;
    json_t *map = json_object();
    for (int i = 0; i < rig->slider_count; i++)
        if (weights[i] != rig->sliders[i].rest)
            sn_figure_put(map, rig->sliders[i].name, sn_report_number(weights[i]));
    sn_figure_put(fields, "weights", map);
}

typedef struct totals {
    int unconverged;
    int devices, handed_over; /* frames of models that have a GPU; of those, solved on the CPU */
    double seconds, worst;
    double output; /* CPU seconds in outputs and report */
} totals;

/* Adds a solved frame to the outputs and the report. */
static sinew_status take_frame(sinew_job *job, sn_frame *frame, sn_outputs *out, totals *sum,
                               sinew_error *error) {
    double began = sn_work_seconds();
    sn_figures_lost(); /* by others, before */
    report_frame(&frame->info, frame->fields);
    report_weights(job, frame->index, frame->fields);
    sum->seconds += frame->info.seconds;
    sum->worst = fmax(sum->worst, frame->info.seconds);
    sum->unconverged += frame->info.status == SINEW_NOT_CONVERGED;
    const char *device = json_string_value(json_object_get(frame->fields, "device"));
    sum->devices += device != NULL;
    sum->handed_over += device && strcmp(device, "cpu") == 0;
    SN_TRY(sn_outputs_add(out, frame, error));
    sn_report_frame(job->report, json_incref(frame->fields));
    if (sn_figures_lost()) return sn_no_memory(error);
    sum->output += sn_work_seconds() - began;
    return SINEW_OK;
}

/* Where solved frames go: the outputs, a part, or both. */
typedef struct sink {
    sinew_job *job;
    sn_outputs *outputs;  /* NULL: a part alone */
    sn_part_writer *part; /* NULL: the outputs alone */
    bool elsewhere;       /* only the outputs have the positions */
    totals sum;           /* of the outputs */
    int unconverged;      /* frames of the part */
} sink;

/* Failures that end a run whatever they hit. */
static bool is_general(sinew_status status) {
    return status == SINEW_NO_MEMORY || status == SINEW_CANCELLED;
}

/* The part counts: outputs that cannot be written beside it are abandoned, and merging reports why.
 */
static sinew_status take(void *user, sn_frame *frame, sinew_error *error) {
    sink *to = user;
    if (!to->part) return take_frame(to->job, frame, to->outputs, &to->sum, error);
    /* What the report has beyond the fields of the model is added when parts are merged. */
    to->unconverged += frame->info.status == SINEW_NOT_CONVERGED;
    SN_TRY(sn_part_add(to->part, frame, error));
    if (!to->outputs) return SINEW_OK;
    frame->single = sn_part_single(to->part); /* need not be rounded again */
    sinew_status status = take_frame(to->job, frame, to->outputs, &to->sum, error);
    frame->single = NULL;
    if (status == SINEW_OK || is_general(status) || to->elsewhere) return status;
    sn_outputs_abandon(to->outputs);
    to->outputs = NULL;
    return SINEW_OK;
}

static void report_totals(sinew_job *job, int first, int last, const totals *sum) {
    int count = last - first + 1;
    sn_report_total(job->report, "frames", json_integer(count));
    sn_report_total(job->report, "first_frame", json_integer(first));
    sn_report_total(job->report, "not_converged", json_integer(sum->unconverged));
    if (sum->devices > 0)
        sn_report_total(job->report, "solved_on_cpu", json_integer(sum->handed_over));
    sn_report_total(job->report, "frame_ms_mean", sn_report_number(1e3 * sum->seconds / count));
    sn_report_total(job->report, "frame_ms_worst", sn_report_number(1e3 * sum->worst));
    sn_report_total(job->report, "output_cpu_ms", sn_report_number(1e3 * sum->output));
}

static sinew_status write_report(const sinew_job *job, sinew_error *error) {
    char *path;
    SN_TRY(sn_scene_output(job->scene, "report", &path, error));
    if (!path) return SINEW_OK;
    sinew_status status = sn_report_write(job->report, path, error);
    sn_free(path);
    return status;
}

static sinew_status check_range(const sinew_job *job, int first, int *last, sinew_error *error) {
    int frames = clip_of(job)->frame_count;
    if (*last < 0) *last = frames - 1;
    if (first < 0 || first > *last || *last >= frames)
        return sn_fail(error, SINEW_BAD_INPUT, "frames %d-%d: the clip has frames 0-%d", first,
                       *last, frames - 1);
    return SINEW_OK;
}

static sinew_status unconverged(int count, int frames, sinew_error *error) {
    if (count == 0) return SINEW_OK;
    return sn_fail(error, SINEW_NOT_CONVERGED, "%d of %d frames did not reach the tolerance", count,
                   frames);
}

static void clear_report(sinew_job *job) {
    json_array_clear(json_object_get(job->report, "frames"));
    json_object_clear(json_object_get(job->report, "totals"));
}

/* After the last frame: outputs and report. */
static sinew_status finish_run(sink *to, int first, int last, const sinew_monitor *monitor,
                               sinew_error *error) {
    sn_figures_lost(); /* by others, before */
    SN_TRY(sn_outputs_close(to->outputs, to->job->report, monitor, error));
    report_totals(to->job, first, last, &to->sum);
    if (sn_figures_lost()) return sn_no_memory(error);
    SN_TRY(write_report(to->job, error));
    return unconverged(to->sum.unconverged, last - first + 1, error);
}

sinew_status sinew_job_run(sinew_job *job, int first, int last, const sinew_monitor *monitor,
                           sinew_error *error) {
    SN_REQUIRE(job, error);
    SN_TRY(check_range(job, first, &last, error));
    clear_report(job);
    sink to = {.job = job};
    SN_TRY(sn_outputs_open(job->scene, job->solver, first, last, &to.outputs, error));
    sinew_status status =
        sn_run_frames(&job->crew, job->scene, job->solver, first, last, take, &to, monitor, error);
    if (status != SINEW_OK) {
        sn_outputs_abandon(to.outputs);
        return status;
    }
    return finish_run(&to, first, last, monitor, error);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Frames first..last into a part, and into the outputs of the sink if there are any. The part is
 * left open: finish_part. */
static sinew_status run_part(sink *to, int first, int last, const char *folder, bool resume,
                             const sinew_monitor *monitor, sinew_error *error) {
    sinew_job *job = to->job;
    if (resume && first > 0)
        SN_TRY(sn_checkpoint_read(folder, job->scene, job->solver, first, error));
    SN_TRY(sn_part_create(folder, job->scene, job->solver, first, last, to->elsewhere, &to->part,
                          error));
    sinew_status status =
        sn_run_frames(&job->crew, job->scene, job->solver, first, last, take, to, monitor, error);
    if (status == SINEW_OK && sinew_solver_past(job->solver, NULL) == SINEW_PAST_ALL)
        status = sn_checkpoint_write(folder, job->scene, job->solver, last + 1, error);
    if (status == SINEW_OK) return SINEW_OK;
    sn_part_abandon(to->part);
    to->part = NULL;
    return status;
}

static sinew_status finish_part(sink *to, int first, int last, sinew_error *error) {
    sinew_status status = sn_part_close(to->part, error);
    to->part = NULL;
    SN_TRY(status);
    return unconverged(to->unconverged, last - first + 1, error);
}

sinew_status sinew_job_run_part(sinew_job *job, int first, int last, const char *folder,
                                bool resume, const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(job && folder, error);
    SN_TRY(check_range(job, first, &last, error));
    clear_report(job);
    sink to = {.job = job};
    SN_TRY(run_part(&to, first, last, folder, resume, monitor, error));
    return finish_part(&to, first, last, error);
}

static sinew_status take_merged(void *user, sn_frame *frame, sinew_error *error) {
    sink *to = user;
    return take_frame(to->job, frame, to->outputs, &to->sum, error);
}

/* The outputs with the frames of all parts before `first`. No outputs: something is missing or
 * cannot be read or written; merging reports it. */
static sinew_status begin_outputs(sink *to, int first, int last, const char *folder,
                                  sn_part_list **parts, const sinew_monitor *monitor,
                                  sinew_error *error) {
    sinew_job *job = to->job;
    int end = clip_of(job)->frame_count - 1;
    const sn_frame_range own = {first, last}, before = {0, first - 1};
    sinew_status status = SINEW_OK;
    if (first > 0 || last < end)
        status = sn_parts_open(folder, job->scene, job->solver, own, parts, error);
    if (status == SINEW_OK)
        status = sn_outputs_open(job->scene, job->solver, 0, end, &to->outputs, error);
    if (status == SINEW_OK && *parts)
        status =
            sn_parts_read(*parts, before, job->scene, job->solver, take_merged, to, monitor, error);
    if (status == SINEW_OK) return SINEW_OK;
    sn_outputs_abandon(to->outputs);
    to->outputs = NULL;
    return is_general(status) ? status : SINEW_OK;
}

/* The frames of the parts after `last`. */
static sinew_status end_outputs(sink *to, int last, const sn_part_list *parts,
                                const sinew_monitor *monitor, sinew_error *error) {
    sinew_job *job = to->job;
    int end = clip_of(job)->frame_count - 1;
    const sn_frame_range after = {last + 1, end};
    if (parts)
        SN_TRY(
            sn_parts_read(parts, after, job->scene, job->solver, take_merged, to, monitor, error));
    sn_outputs *outputs = to->outputs;
    to->outputs = NULL;
    return finish_run(&(sink){.job = job, .outputs = outputs, .sum = to->sum}, 0, end, monitor,
                      error);
}

/* Completes the outputs. Where that fails, the part counts, if it is complete without them. */
static sinew_status merge_rest(sink *to, int last, const sn_part_list *parts, sinew_status part,
                               const sinew_monitor *monitor, bool *merged, sinew_error *error) {
    sinew_error own;
    sinew_status all = end_outputs(to, last, parts, monitor, &own);
    *merged = all == SINEW_OK || all == SINEW_NOT_CONVERGED;
    if (!*merged && !is_general(all) && !to->elsewhere) return part;
    if (error && all != SINEW_OK) *error = own;
    return all;
}

sinew_status sinew_job_run_last_part(sinew_job *job, int first, int last, const char *folder,
                                     bool resume, const sinew_monitor *monitor, bool *merged,
                                     sinew_error *error) {
    SN_REQUIRE(job && folder && merged, error);
    *merged = false;
    SN_TRY(check_range(job, first, &last, error));
    clear_report(job);
    sink to = {.job = job};
    sn_part_list *parts = NULL;
    sinew_status status = begin_outputs(&to, first, last, folder, &parts, monitor, error);
    /* A part that is most of the clip leaves its positions to the outputs: writing them twice would
     * take longer than many models do. All other parts have been read by now, so that nothing but
     * the outputs themselves can fail. */
    int frames = clip_of(job)->frame_count;
    to.elsewhere = to.outputs && last == frames - 1 && 2 * (last - first + 1) > frames &&
                   sn_part_can_leave_positions(job->scene, job->solver);
    if (status == SINEW_OK) status = run_part(&to, first, last, folder, resume, monitor, error);
    if (status == SINEW_OK && !to.elsewhere) status = finish_part(&to, first, last, error);
    if (to.outputs && (status == SINEW_OK || status == SINEW_NOT_CONVERGED))
        status = merge_rest(&to, last, parts, status, monitor, merged, error);
    if (to.part && *merged) {
        sinew_error own;
        sinew_status closed = finish_part(&to, first, last, &own);
        if (closed != SINEW_OK && closed != SINEW_NOT_CONVERGED) {
            status = closed;
            if (error) *error = own;
        }
    }
    sn_part_abandon(to.part);
    sn_outputs_abandon(to.outputs);
    sn_parts_close(parts);
    return status;
}

sinew_past sinew_job_past(const sinew_job *job, int *run) {
    return sinew_solver_past(job->solver, run);
}

sinew_status sinew_job_check_parts(sinew_job *job, const char *folder, bool *present,
                                   const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(job && folder && present, error);
    return sn_parts_check(folder, job->scene, job->solver, present, monitor, error);
}

sinew_status sinew_job_merge(sinew_job *job, const char *folder, const sinew_monitor *monitor,
                             sinew_error *error) {
    SN_REQUIRE(job && folder, error);
    int last = clip_of(job)->frame_count - 1;
    clear_report(job);
    sn_part_list *parts;
    const sn_frame_range none = {0, -1}, all = {0, last};
    SN_TRY(sn_parts_open(folder, job->scene, job->solver, none, &parts, error));
    sink to = {.job = job};
    sinew_status status = sn_outputs_open(job->scene, job->solver, 0, last, &to.outputs, error);
    if (status == SINEW_OK) {
        status =
            sn_parts_read(parts, all, job->scene, job->solver, take_merged, &to, monitor, error);
        if (status != SINEW_OK) sn_outputs_abandon(to.outputs);
    }
    sn_parts_close(parts);
    SN_TRY(status);
    return finish_run(&to, 0, last, monitor, error);
}

sinew_status sinew_job_report(const sinew_job *job, char **json, sinew_error *error) {
    SN_REQUIRE(job && json, error);
    return sn_json_text(job->report, JSON_INDENT(1), json, error);
}
