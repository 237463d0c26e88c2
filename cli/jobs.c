#include "jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "json.h"
#include "report.h"

sinew_status cli_frame_range(cli_call *call, int *first, int *last) {
    *first = 0;
    *last = -1;
    const char *text = cli_text(call, "--frames");
    sinew_error why = {0};
    if (!text || sinew_text_frames(text, first, last, &why) == SINEW_OK) return SINEW_OK;
    return cli_usage(call, "--frames: %s", why.message);
}

json_t *cli_path(const cli_call *call, const char *path) {
    const char *scene =
        cli_has_option(call->verb, "--scene-out") ? cli_text(call, "--scene-out") : NULL;
    if (!scene || !strchr(scene, '/')) return json_string(path);
    char *absolute = cli_absolute_path(path);
    json_t *value = json_string(absolute ? absolute : path);
    sinew_free(absolute);
    return value;
}

/* ---- text forms ------------------------------------------------------------------------------ */

json_t *cli_read_form(cli_call *call, const char *option, int index, cli_form *form) {
    char *text = NULL;
    sinew_error why = {0};
    if (form(cli_text_at(call, option, index), &text, &why) != SINEW_OK) {
        cli_usage(call, "%s: %s", option, why.message);
        return NULL;
    }
    json_t *value = cli_json_loads(text, 0, NULL);
    sinew_free(text);
    static const char *const paths[] = {"file", "frames"};
    for (int i = 0; i < 2 && value; i++) {
        const char *path = json_string_value(json_object_get(value, paths[i]));
        if (path) json_object_set_new(value, paths[i], cli_path(call, path));
    }
    if (!value) cli_no_memory(&call->error);
    return value;
}

sinew_status cli_read_forms(cli_call *call, const char *option, cli_form *form, json_t **list) {
    *list = json_array();
    for (int i = 0; i < cli_count(call, option); i++) {
        json_t *item = cli_read_form(call, option, i, form);
        if (!item || json_array_append_new(*list, item) != 0) {
            json_decref(*list);
            *list = NULL;
            return call->error.status ? call->error.status : cli_no_memory(&call->error);
        }
    }
    return SINEW_OK;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static json_t *number_list(cli_call *call, const char *text, const char *option) {
    double *numbers;
    int count;
    if (cli_parse_numbers(call, text, option, &numbers, &count) != SINEW_OK) return NULL;
    json_t *list = cli_report_numbers(count, numbers);
    sinew_free(numbers);
    return list;
}

sinew_status cli_parameter(cli_call *call, json_t *document, const char *model, const char *option,
                           const char *name) {
    if (!cli_given(call, option)) return SINEW_OK;
    const sinew_parameter *parameter = sinew_model_find_parameter(sinew_model_find(model), name);
    if (!parameter) return cli_usage(call, "the model '%s' has no %s", model, option);
    const char *text = cli_text(call, option);
    json_t *value = NULL;
    switch (parameter->kind) {
    case SINEW_PARAMETER_KIND_NUMBER:
        value = json_real(cli_number(call, option, 0));
        break;
    case SINEW_PARAMETER_KIND_INTEGER:
        value = json_integer(cli_integer(call, option, 0));
        break;
    case SINEW_PARAMETER_KIND_FLAG:
        value = json_true();
        break;
    case SINEW_PARAMETER_KIND_CHOICE:
    case SINEW_PARAMETER_KIND_TEXT:
        value = json_string(text);
        break;
    case SINEW_PARAMETER_KIND_FILE:
        value = cli_path(call, text);
        break;
    case SINEW_PARAMETER_KIND_NUMBERS:
        value = number_list(call, text, option);
        break;
    }
    if (!value) return call->error.status ? call->error.status : cli_no_memory(&call->error);
    json_t *parameters = json_object_get(document, "parameters");
    if (!parameters) {
        parameters = json_object();
        json_object_set_new(document, "parameters", parameters);
    }
    json_object_set_new(parameters, name, value);
    return SINEW_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The job's figures become the verb's; warnings and inputs stay the verb's own. */
static void adopt_report(cli_call *call, const sinew_job *job) {
    char *text = NULL;
    if (sinew_job_report(job, &text, NULL) != SINEW_OK) return;
    json_t *figures = cli_json_loads(text, 0, NULL);
    sinew_free(text);
    json_object_del(figures, "verb");
    json_object_del(figures, "warnings");
    json_object_del(figures, "inputs");
    json_object_update(call->report, figures);
    json_decref(figures);
}

static void say_outputs(const cli_call *call, const sinew_scene *scene) {
    const char *key;
    char *text = NULL;
    if (sinew_scene_get(scene, "/outputs", &text, NULL) != SINEW_OK || !text) return;
    json_t *outputs = cli_json_loads(text, 0, NULL), *value;
    sinew_free(text);
    json_object_foreach(outputs, key, value) {
        if (json_is_string(value)) cli_say(call, "wrote %s", json_string_value(value));
        for (size_t i = 0; i < json_array_size(value); i++)
            cli_say(call, "wrote %s", json_string_value(json_array_get(value, i)));
    }
    json_decref(outputs);
}

/* The outputs of the command that the scene does not know must not be its files either. A mistake
 * of the command line leaves no report: it could be what destroys the file. */
static sinew_status check_files(cli_call *call, const sinew_scene *scene, const char *saved) {
    const char *report = cli_text(call, "--report");
    sinew_error *error = &call->error;
    sinew_file_plan *plan;
    CLI_TRY(sinew_file_plan_create(&plan, error));
    sinew_status status = sinew_file_plan_add_scene(plan, scene, error);
    if (status == SINEW_OK && report) status = sinew_file_plan_add_output(plan, report, error);
    if (status == SINEW_OK && saved) status = sinew_file_plan_add_output(plan, saved, error);
    if (status == SINEW_OK) status = sinew_file_plan_check(plan, error);
    sinew_file_plan_destroy(plan);
    if (status == SINEW_BAD_INPUT && (report || saved)) status = error->status = SINEW_MISUSE;
    return status;
}

/* Sliders that a take leaves alone, and why. */
static void say_held(cli_call *call, json_t *held) {
    const char *asked = sinew_fit_slider_reason(SINEW_FIT_SLIDER_EXCLUDED), *name;
    size_t excluded = 0, all = json_object_size(held);
    json_t *why;
    json_object_foreach(held, name, why) excluded += !strcmp(json_string_value(why), asked);
    if (all > excluded)
        cli_say(call, "%zu sliders that the markers do not observe are held; the report lists them",
                all - excluded);
    if (excluded > 0)
        cli_say(call, "%zu sliders are kept at rest, as --only or --without asks", excluded);
}

void cli_say_job(cli_call *call, const sinew_job *job, const sinew_scene *scene,
                 sinew_status status) {
    adopt_report(call, job);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return;
    const json_t *totals = json_object_get(call->report, "totals");
    cli_say(call, "%d frames of %d vertices, %.3g ms per frame (worst %.3g)",
            (int)json_integer_value(json_object_get(totals, "frames")),
            sinew_job_rig(job)->neutral->vertex_count,
            json_number_value(json_object_get(totals, "frame_ms_mean")),
            json_number_value(json_object_get(totals, "frame_ms_worst")));
    say_held(call, json_object_get(json_object_get(call->report, "sliders"), "held"));
    say_outputs(call, scene);
}

static sinew_status run_scene(cli_call *call, const sinew_scene *scene) {
    int first, last;
    CLI_TRY(cli_frame_range(call, &first, &last));
    sinew_job *job;
    CLI_TRY(sinew_job_create(scene, call->monitor, &job, &call->error));
    sinew_status status = sinew_job_run(job, first, last, call->monitor, &call->error);
    cli_say_job(call, job, scene, status);
    sinew_job_destroy(job);
    return status;
}

sinew_status cli_run_scene(cli_call *call, const sinew_scene *scene) {
    CLI_TRY(check_files(call, scene, NULL));
    return run_scene(call, scene);
}

sinew_status cli_make_scene(cli_call *call, json_t *document, const char *name,
                            sinew_scene **scene) {
    char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(document);
    if (!text) return cli_no_memory(&call->error);
    sinew_status status = sinew_scene_parse(text, name, "", scene, &call->error);
    free(text);
    return status;
}

sinew_status cli_run_document(cli_call *call, json_t *document, const char *saved) {
    sinew_scene *scene;
    CLI_TRY(cli_make_scene(call, document, "command line", &scene));
    sinew_status status = check_files(call, scene, saved);
    if (status == SINEW_OK && saved) status = sinew_scene_write(saved, scene, &call->error);
    if (status == SINEW_OK) status = run_scene(call, scene);
    sinew_scene_destroy(scene);
    return status;
}

sinew_status cli_run_filled(cli_call *call,
                            sinew_status (*fill)(cli_call *call, json_t *document)) {
    json_t *document = json_pack("{s:i}", "sinew", SINEW_SCENE_VERSION);
    sinew_status status = fill(call, document);
    if (status != SINEW_OK) {
        json_decref(document);
        return status;
    }
    return cli_run_document(call, document, cli_text(call, "--scene-out"));
}

void cli_add_regions(cli_call *call, json_t *rig) {
    if (cli_given(call, "--regions"))
        json_object_set_new(rig, "regions", cli_path(call, cli_text(call, "--regions")));
}

sinew_status cli_add_rig(cli_call *call, json_t *document, bool sized) {
    const char *sample = cli_text(call, "--sample");
    if (sample && call->argument_count > 0)
        return cli_usage(call, "specify either %s or --sample, not both", call->verb->arguments);
    if (!sample && call->argument_count == 0)
        return cli_usage(call, "needs %s or --sample NAME; see 'sinew %s --help'",
                         call->verb->arguments, call->verb->name);
    json_t *rig = json_object();
    if (sample) {
        json_object_set_new(rig, "sample", json_string(sample));
        if (sized && cli_given(call, "--vertices"))
            json_object_set_new(rig, "vertices", json_integer(cli_integer(call, "--vertices", 0)));
    } else {
        json_t *files = json_array();
        for (int i = 0; i < call->argument_count; i++)
            json_array_append_new(files, cli_path(call, call->arguments[i]));
        json_object_set_new(rig, "files", files);
    }
    cli_add_regions(call, rig);
    json_object_set_new(document, "rig", rig);
    return SINEW_OK;
}

/* A scene that is piped in, as /dev/stdin or /proc/self/fd/3, has no folder of its own. */
static bool is_piped(const char *path) {
    return !strcmp(path, "/dev/stdin") || !strncmp(path, "/dev/fd/", 8) ||
           !strncmp(path, "/proc/", 6);
}

char *cli_scene_folder(const cli_call *call, const char *path) {
    const char *folder = cli_text(call, "--folder");
    if (folder) return cli_strdup(folder);
    return cli_strndup(path, is_piped(path) ? 0 : (size_t)(cli_path_name(path) - path));
}

sinew_status cli_read_scene(cli_call *call, const char *path, sinew_scene **scene) {
    if (!cli_given(call, "--folder") && !is_piped(path))
        return sinew_scene_read(path, scene, &call->error);
    char *folder = cli_scene_folder(call, path);
    if (!folder) return cli_no_memory(&call->error);
    const sinew_source source = {.size = sizeof source, .name = path};
    sinew_status status =
        sinew_scene_read_from(&source, folder, call->monitor, scene, &call->error);
    sinew_free(folder);
    return status;
}
