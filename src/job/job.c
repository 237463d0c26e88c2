/* Jobs: from a scene to frames and files.
 *
 * Every output is opened before the first frame, so that a place that cannot be written fails at
 * once and not after an hour, and is committed after the last, so that a cancelled or failed run
 * leaves nothing. */
#include "sinew/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/threads.h"
#include "io/format.h"
#include "job/files.h"
#include "session/clip.h"
#include "session/locks.h"
#include "session/model.h"
#include "session/report.h"
#include "sinew/io.h"
#include "sinew/samples.h"

struct sinew_job {
    sinew_scene *scene;
    sinew_rig *rig;
    sn_clip clip;
    sn_job_locks held;
    sinew_cache *cache;
    const sn_model_kind *kind;
    void *model;
    json_t *report;
    const sinew_monitor *caller; /* during sinew_job_create */
    sinew_monitor monitor;       /* the caller's, and fallbacks go into the report */
};

static void pass_progress(double fraction, const char *stage, void *user) {
    sn_progress(((const sinew_job *)user)->caller, fraction, stage);
}

static bool pass_cancelled(void *user) {
    return sn_cancelled(((const sinew_job *)user)->caller);
}

static void note_fallback(sinew_log_level level, const char *line, void *user) {
    const sinew_job *job = user;
    if (level == SINEW_LOG_LEVEL_FALLBACK) sn_report_fallback(job->report, line);
    sn_log(job->caller, level, "%s", line);
}

static const sinew_monitor *watch(sinew_job *job, const sinew_monitor *caller) {
    bool strict = json_is_true(sn_scene_at(job->scene, "strict"));
    job->caller = caller;
    job->monitor = (sinew_monitor){pass_progress, pass_cancelled, note_fallback, job,
                                   strict || (caller && caller->strict)};
    return &job->monitor;
}

static sinew_status make_sample(const json_t *given, const char *name, sinew_rig **rig,
                                sinew_error *error) {
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = (int)json_integer_value(json_object_get(given, "vertices"));
    return sinew_sample_rig(name, &options, rig, error);
}

/* Regions of the scene's own file, beyond those of the rig. */
static sinew_status read_regions(const sinew_scene *scene, sinew_rig *rig, sinew_error *error) {
    const char *given = json_string_value(json_object_get(sn_scene_at(scene, "rig"), "regions"));
    if (!given) return SINEW_OK;
    char *path = sn_scene_path(scene, given);
    if (!path) return sn_no_memory(error);
    sinew_status status = sinew_regions_read(path, rig, error);
    sn_free(path);
    return status;
}

static sinew_status read_rig(const sinew_scene *scene, sinew_rig **rig, sinew_error *error) {
    const json_t *given = sn_scene_at(scene, "rig");
    const json_t *files = json_object_get(given, "files");
    const char *sample = json_string_value(json_object_get(given, "sample"));
    if (sample && files) return sn_scene_fail(scene, error, "rig", "has both files and a sample");
    if (sample) return make_sample(given, sample, rig, error);
    if (json_array_size(files) == 0)
        return sn_scene_fail(scene, error, "rig", "needs files, or the name of a sample");
    int count = (int)json_array_size(files);
    char **paths = SN_NEW0(char *, count);
    sinew_status status = paths ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        paths[i] = sn_scene_path(scene, json_string_value(json_array_get(files, (size_t)i)));
        if (!paths[i]) status = sn_no_memory(error);
    }
    if (status == SINEW_OK) status = sinew_rig_read(count, (const char *const *)paths, rig, error);
    sn_names_free(paths, count);
    return status;
}

/* Limits are the artist's: going beyond them extrapolates, and is said once per slider. */
static void warn_about_limits(const sinew_job *job, const sinew_monitor *monitor) {
    for (int i = 0; job->clip.weights && i < job->rig->slider_count; i++) {
        const sinew_slider *slider = &job->rig->sliders[i];
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < job->clip.frame_count; k++) {
            double w = job->clip.weights[(size_t)k * (size_t)job->rig->slider_count + (size_t)i];
            low = fmin(low, w), high = fmax(high, w);
        }
        double slack = 1e-9;
        if (low < slider->minimum - slack || high > slider->maximum + slack)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "'%s' goes from %g to %g, beyond its limits %g to %g", slider->name, low, high,
                   slider->minimum, slider->maximum);
    }
}

static void warn_about_unused(const sinew_job *job, const sinew_monitor *monitor) {
    static const char *const keys[] = {"obstacles", "pins", "orientations",
                                       "pulls",     "keys", "markers"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = sn_scene_at(job->scene, keys[i]);
        bool empty = !value || (json_is_array(value) && json_array_size(value) == 0);
        if (!empty && !sinew_model_uses(&job->kind->about, keys[i]))
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "the model '%s' does not use the scene's %s",
                   job->kind->about.name, keys[i]);
    }
}

/* Whether the scene has the thing that a rule speaks of. */
static bool has_thing(const sinew_job *job, const char *thing) {
    const json_t *document = job->scene->document;
    if (!strncmp(thing, "outputs.", 8))
        return json_object_get(json_object_get(document, "outputs"), thing + 8) != NULL;
    const json_t *parameters = json_object_get(document, "parameters");
    const char *word = strchr(thing, '=');
    if (word) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(word - thing), thing);
        const char *chosen = json_string_value(json_object_get(parameters, name));
        return chosen && !strcmp(chosen, word + 1);
    }
    const json_t *value = json_object_get(parameters, thing);
    if (!value) return json_object_get(document, thing) != NULL;
    return !json_is_false(value) && !(json_is_string(value) && !*json_string_value(value));
}

static void warn_about_idle(const sinew_job *job, const sinew_monitor *monitor) {
    const json_t *parameters = json_object_get(job->scene->document, "parameters");
    for (const sn_idle_rule *r = job->kind->idle; r && r->parameter; r++) {
        if (!json_object_get(parameters, r->parameter) || !has_thing(job, r->parameter)) continue;
        if (r->without ? !has_thing(job, r->without) : has_thing(job, r->with))
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "%s does nothing %s %s", r->parameter,
                   r->without ? "without" : "with", r->without ? r->without : r->with);
    }
}

/* Nothing is written over what is read, and no file is written twice. */
static sinew_status check_files(const sinew_scene *scene, sinew_error *error) {
    sn_file_plan plan = {0};
    sn_scene_plan(scene, &plan);
    sinew_status status = sn_plan_check(&plan, SINEW_BAD_INPUT, error);
    sn_plan_free(&plan);
    return status;
}

static sinew_status build(sinew_job *job, const sinew_monitor *monitor, sinew_error *error) {
    const char *name = json_string_value(sn_scene_at(job->scene, "model"));
    job->kind = sn_model_kind_find(name ? name : "linear");
    job->report = sn_report_new("run");
    if (!job->report) return sn_no_memory(error);
    SN_TRY(check_files(job->scene, error));
    SN_TRY(read_rig(job->scene, &job->rig, error));
    SN_TRY(read_regions(job->scene, job->rig, error));
    warn_about_unused(job, monitor);
    warn_about_idle(job, monitor);
    SN_TRY(sn_clip_create(job->scene, job->rig, !job->kind->needs_no_weights, monitor, &job->clip,
                          error));
    SN_TRY(sn_locks_apply(job->scene, job->rig, &job->clip, monitor, &job->held, error));
    warn_about_limits(job, monitor);
    /* A store that cannot be opened costs time only. */
    sinew_error no_cache;
    if (sinew_cache_open(NULL, 0, &job->cache, &no_cache) != SINEW_OK)
        sn_log(monitor, SINEW_LOG_LEVEL_INFO, "%s", no_cache.message);
    sn_report_sizes(job->report, job->rig->neutral->vertex_count,
                    job->rig->neutral->triangle_count);
    json_object_set_new(job->report, "model", json_string(job->kind->about.name));
    sn_model_setup setup = {job->scene, job->rig, &job->clip, job->cache, job->report, monitor};
    return job->kind->create(&setup, &job->model, error);
}

sinew_status sinew_job_create(const sinew_scene *scene, const sinew_monitor *monitor,
                              sinew_job **job, sinew_error *error) {
    SN_REQUIRE(scene && job, error);
    *job = NULL;
    sinew_job *made = SN_NEW0(sinew_job, 1);
    if (!made) return sn_no_memory(error);
    sinew_status status = sinew_scene_copy(scene, &made->scene, error);
    if (status == SINEW_OK) status = build(made, watch(made, monitor), error);
    made->caller = NULL;
    if (status != SINEW_OK) {
        sinew_job_destroy(made);
        return status;
    }
    *job = made;
    return SINEW_OK;
}

void sinew_job_destroy(sinew_job *job) {
    if (!job) return;
    if (job->model) job->kind->destroy(job->model);
    sn_job_locks_free(&job->held);
    sn_clip_free(&job->clip);
    sinew_rig_destroy(job->rig);
    sinew_cache_close(job->cache);
    sinew_scene_destroy(job->scene);
    json_decref(job->report);
    sn_free(job);
}

const sinew_rig *sinew_job_rig(const sinew_job *job) {
    return job->rig;
}
int sinew_job_frame_count(const sinew_job *job) {
    return job->clip.frame_count;
}
double sinew_job_time(const sinew_job *job, int frame) {
    return frame >= 0 && frame < job->clip.frame_count ? job->clip.times[frame] : 0;
}
const double *sinew_job_weights(const sinew_job *job, int frame) {
    if (!job->clip.weights || frame < 0 || frame >= job->clip.frame_count) return NULL;
    return job->clip.weights + (size_t)frame * (size_t)job->rig->slider_count;
}

static sinew_status compute(sinew_job *job, int frame, double *positions, sinew_frame_info *info,
                            json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    memset(info, 0, sizeof *info);
    info->time = job->clip.times[frame];
    double start = sn_now();
    sinew_status status =
        job->kind->frame(job->model, frame, positions, info, fields, monitor, error);
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) {
        sinew_status corrected = sn_locks_correct(&job->held, positions, fields, error);
        if (corrected != SINEW_OK) status = corrected;
    }
    info->status = status;
    info->seconds = sn_now() - start;
    return status;
}

sinew_status sinew_job_frame(sinew_job *job, int frame, double *positions, sinew_frame_info *info,
                             const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(job && positions && sn_info_ready(info), error);
    SN_REQUIRE(frame >= 0 && frame < job->clip.frame_count, error);
    sinew_frame_info own = {.size = sizeof own};
    sinew_status status = compute(job, frame, positions, &own, NULL, monitor, error);
    sn_info_write(info, &own, sizeof own);
    return status;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* A clip goes to a frame writer. A single shape whose ending is that of a mesh becomes a mesh. */
typedef struct output {
    sinew_frame_writer *writer;
    char *mesh_path;
} output;

typedef struct outputs {
    int count;
    output *list;
    sinew_mesh *mesh; /* the single shape, when some output is a mesh */
} outputs;

static void abandon_outputs(outputs *out) {
    for (int i = 0; i < out->count; i++) {
        if (out->list[i].writer) sinew_frame_writer_abandon(out->list[i].writer);
        sn_free(out->list[i].mesh_path);
    }
    sinew_mesh_destroy(out->mesh);
    sn_free(out->list);
    memset(out, 0, sizeof *out);
}

static bool is_mesh_path(const char *path) {
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if ((*f)->write_mesh && sn_format_has_ending(*f, path)) return true;
    return false;
}

static sinew_status open_output(const sinew_job *job, int first, int last, char *path, outputs *out,
                                output *o, sinew_error *error) {
    if (first == last && is_mesh_path(path)) {
        o->mesh_path = sn_strdup(path);
        if (!o->mesh_path) return sn_no_memory(error);
        if (!out->mesh) SN_TRY(sinew_mesh_copy(job->rig->neutral, &out->mesh, error));
        return sn_output_probe(path, error); /* now, not after the work */
    }
    return sinew_frame_writer_open(path, job->rig->neutral, last - first + 1,
                                   job->clip.times[first], job->clip.rate, &o->writer, error);
}

static sinew_status open_outputs(const sinew_job *job, int first, int last, outputs *out,
                                 sinew_error *error) {
    const json_t *given = sn_scene_at(job->scene, "outputs");
    const json_t *paths = json_object_get(given, "frames");
    memset(out, 0, sizeof *out);
    out->list = SN_NEW0(output, json_array_size(paths));
    if (!out->list) return sn_no_memory(error);
    out->count = (int)json_array_size(paths);
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < out->count; i++) {
        char *path = sn_scene_path(job->scene, json_string_value(json_array_get(paths, (size_t)i)));
        status = path ? open_output(job, first, last, path, out, &out->list[i], error)
                      : sn_no_memory(error);
        sn_free(path);
    }
    if (status != SINEW_OK) abandon_outputs(out);
    return status;
}

static sinew_status add_frame(outputs *out, const double *positions, sinew_error *error) {
    if (out->mesh) {
        memcpy(out->mesh->positions, positions,
               3 * (size_t)out->mesh->vertex_count * sizeof *positions);
        /* Normals of the file belong to the neutral. */
        sn_free(out->mesh->normals);
        sn_free(out->mesh->corner_normal);
        out->mesh->normals = NULL;
        out->mesh->corner_normal = NULL;
        out->mesh->normal_count = 0;
    }
    for (int i = 0; i < out->count; i++)
        if (out->list[i].writer)
            SN_TRY(sinew_frame_writer_add(out->list[i].writer, positions, error));
    return SINEW_OK;
}

static sinew_status close_outputs(outputs *out, sinew_error *error) {
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < out->count; i++) {
        output *o = &out->list[i];
        status = o->writer ? sinew_frame_writer_close(o->writer, error)
                           : sinew_mesh_write(o->mesh_path, out->mesh, error);
        o->writer = NULL;
    }
    abandon_outputs(out);
    return status;
}

static void report_frame(const sinew_frame_info *info, json_t *fields) {
    json_object_set_new(fields, "time", sn_report_number(info->time));
    json_object_set_new(fields, "status", json_string(sinew_status_name(info->status)));
    json_object_set_new(fields, "iterations", json_integer(info->iterations));
    json_object_set_new(fields, "residual", sn_report_number(info->residual));
    json_object_set_new(fields, "energy", sn_report_number(info->energy));
    json_object_set_new(fields, "ms", sn_report_number(1e3 * info->seconds));
    json_object_set_new(fields, "inverted", json_integer(info->inverted));
    json_object_set_new(fields, "contacts", json_integer(info->contacts));
}

static void report_weights(const sinew_job *job, int frame, json_t *fields) {
    const double *weights = sinew_job_weights(job, frame);
    if (!weights) return;
    json_t *map = json_object();
    for (int i = 0; i < job->rig->slider_count; i++)
        if (weights[i] != job->rig->sliders[i].rest)
            json_object_set_new(map, job->rig->sliders[i].name, sn_report_number(weights[i]));
    json_object_set_new(fields, "weights", map);
}

typedef struct totals {
    int unconverged;
    double seconds, worst;
} totals;

static sinew_status run_frames(sinew_job *job, int first, int last, outputs *out,
                               const sinew_monitor *monitor, totals *sum, sinew_error *error) {
    double *positions = SN_NEW(double, 3 * (size_t)job->rig->neutral->vertex_count);
    if (!positions) return sn_no_memory(error);
    sinew_status status = SINEW_OK;
    for (int k = first; status == SINEW_OK && k <= last; k++) {
        sn_progress(monitor, (double)(k - first) / (last - first + 1), "frames");
        if (sn_cancelled(monitor)) {
            status = sn_fail(error, SINEW_CANCELLED, "cancelled at frame %d", k);
            break;
        }
        sinew_frame_info info = {.size = sizeof info};
        json_t *fields = json_object();
        status = compute(job, k, positions, &info, fields, monitor, error);
        report_frame(&info, fields);
        report_weights(job, k, fields);
        sn_report_frame(job->report, fields);
        sum->seconds += info.seconds;
        sum->worst = fmax(sum->worst, info.seconds);
        if (status == SINEW_NOT_CONVERGED) {
            sum->unconverged++;
            status = SINEW_OK;
        }
        if (status == SINEW_OK) status = add_frame(out, positions, error);
    }
    sn_free(positions);
    return status;
}

/* Frames of the range's first run that lie before the range; see run_length in session/model.h. */
static sinew_status warm_up(sinew_job *job, int first, const sinew_monitor *monitor,
                            sinew_error *error) {
    int length = job->kind->run_length, start = length > 0 ? first - first % length : first;
    if (start == first) return SINEW_OK;
    double *positions = SN_NEW(double, 3 * (size_t)job->rig->neutral->vertex_count);
    if (!positions) return sn_no_memory(error);
    sinew_status status = SINEW_OK;
    for (int k = start; status == SINEW_OK && k < first; k++) {
        sn_progress(monitor, (double)(k - start) / (first - start), "frames before the range");
        sinew_frame_info info = {.size = sizeof info};
        status = sn_cancelled(monitor)
                     ? sn_fail(error, SINEW_CANCELLED, "cancelled before frame %d", first)
                     : compute(job, k, positions, &info, NULL, monitor, error);
        if (status == SINEW_NOT_CONVERGED) status = SINEW_OK;
    }
    sn_free(positions);
    return status;
}

/* The weights as they drove the frames. */
static sinew_status write_curves(const sinew_job *job, int first, int last, sinew_error *error) {
    char *path;
    SN_TRY(sn_scene_output(job->scene, "curves", &path, error));
    if (!path) return SINEW_OK;
    sinew_curves *curves = NULL;
    sinew_status status = SINEW_OK;
    int n = job->rig->slider_count, count = last - first + 1;
    if (!job->clip.weights)
        status = sn_scene_fail(job->scene, error, "outputs.curves",
                               "the model '%s' has no slider weights", job->kind->about.name);
    if (status == SINEW_OK) status = sinew_curves_create(n, count, &curves, error);
    for (int i = 0; status == SINEW_OK && i < n; i++) {
        sn_free(curves->names[i]);
        curves->names[i] = sn_strdup(job->rig->sliders[i].name);
        if (!curves->names[i]) status = sn_no_memory(error);
    }
    if (status == SINEW_OK) {
        memcpy(curves->times, job->clip.times + first, (size_t)count * sizeof *curves->times);
        memcpy(curves->values, job->clip.weights + (size_t)first * (size_t)n,
               (size_t)count * (size_t)n * sizeof *curves->values);
        status = sinew_curves_write(path, curves, error);
    }
    sinew_curves_destroy(curves);
    sn_free(path);
    return status;
}

static void report_totals(sinew_job *job, int first, int last, const totals *sum) {
    int count = last - first + 1;
    sn_report_total(job->report, "frames", json_integer(count));
    sn_report_total(job->report, "first_frame", json_integer(first));
    sn_report_total(job->report, "not_converged", json_integer(sum->unconverged));
    sn_report_total(job->report, "frame_ms_mean", sn_report_number(1e3 * sum->seconds / count));
    sn_report_total(job->report, "frame_ms_worst", sn_report_number(1e3 * sum->worst));
}

static sinew_status write_report(const sinew_job *job, sinew_error *error) {
    char *path;
    SN_TRY(sn_scene_output(job->scene, "report", &path, error));
    if (!path) return SINEW_OK;
    sinew_status status = sn_report_write(job->report, path, error);
    sn_free(path);
    return status;
}

sinew_status sinew_job_run(sinew_job *job, int first, int last, const sinew_monitor *monitor,
                           sinew_error *error) {
    SN_REQUIRE(job, error);
    if (last < 0) last = job->clip.frame_count - 1;
    if (first < 0 || first > last || last >= job->clip.frame_count)
        return sn_fail(error, SINEW_BAD_INPUT, "frames %d-%d: the clip has frames 0-%d", first,
                       last, job->clip.frame_count - 1);
    json_array_clear(json_object_get(job->report, "frames"));
    json_object_clear(json_object_get(job->report, "totals"));
    outputs out;
    totals sum = {0};
    SN_TRY(open_outputs(job, first, last, &out, error));
    sinew_status status = warm_up(job, first, monitor, error);
    if (status == SINEW_OK && job->kind->begin)
        status = job->kind->begin(job->model, first, last, error);
    if (status == SINEW_OK) {
        status = run_frames(job, first, last, &out, monitor, &sum, error);
        sinew_status ended = SINEW_OK;
        if (job->kind->end)
            ended = job->kind->end(job->model, status == SINEW_OK, job->report,
                                   status == SINEW_OK ? error : NULL);
        if (status == SINEW_OK) status = ended;
    }
    if (status != SINEW_OK) {
        abandon_outputs(&out);
        return status;
    }
    SN_TRY(close_outputs(&out, error));
    SN_TRY(write_curves(job, first, last, error));
    report_totals(job, first, last, &sum);
    SN_TRY(write_report(job, error));
    if (sum.unconverged > 0)
        return sn_fail(error, SINEW_NOT_CONVERGED, "%d of %d frames did not reach the tolerance",
                       sum.unconverged, last - first + 1);
    return SINEW_OK;
}

sinew_status sinew_job_report(const sinew_job *job, char **json, sinew_error *error) {
    SN_REQUIRE(job && json, error);
    *json = NULL;
    char *text = json_dumps(job->report, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    if (text) *json = sn_strdup(text);
    free(text);
    return *json ? SINEW_OK : sn_no_memory(error);
}
