#include "jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "files.h"
#include "job/files.h"
#include "session/model.h"
#include "session/report.h"
#include "session/scene.h"

json_t *cli_weights(cli_call *call, const char *option) {
    const char *text = cli_text(call, option);
    json_t *map = json_object();
    while (*text) {
        size_t length = strcspn(text, ",");
        const char *equals = memchr(text, '=', length);
        char *end = NULL;
        double value = equals ? strtod(equals + 1, &end) : 0;
        if (!equals || equals == text || end == equals + 1 || end != text + length ||
            !isfinite(value)) {
            cli_usage(call, "%s: '%.*s' is not NAME=NUMBER", option, (int)length, text);
            json_decref(map);
            return NULL;
        }
        char *name = sn_strndup(text, (size_t)(equals - text));
        if (name && json_object_get(map, name)) {
            cli_usage(call, "%s: %s is given twice", option, name);
            sn_free(name);
            json_decref(map);
            return NULL;
        }
        if (name) json_object_set_new(map, name, json_real(value));
        sn_free(name);
        text += length + (text[length] == ',');
    }
    return map;
}

sinew_status cli_frame_range(cli_call *call, int *first, int *last) {
    *first = 0;
    *last = -1;
    const char *text = cli_text(call, "--frames");
    if (!text) return SINEW_OK;
    char *end;
    long a = strtol(text, &end, 10), b = a;
    bool good = end != text && a >= 0 && a < SINEW_JOB_MAX_FRAMES;
    if (good && *end == '-') {
        const char *second = end + 1;
        b = *second ? strtol(second, &end, 10) : -1;
        good = *second ? end != second && b >= a && b < SINEW_JOB_MAX_FRAMES : true;
        if (!*second) end++;
    }
    if (!good || *end) return cli_usage(call, "--frames takes A-B, A- or A, not '%s'", text);
    *first = (int)a;
    *last = (int)b;
    return SINEW_OK;
}

json_t *cli_path(const cli_call *call, const char *path) {
    const char *scene = cli_text(call, "--scene-out");
    if (!scene || !strchr(scene, '/')) return json_string(path);
    char *absolute = cli_absolute_path(path);
    json_t *value = json_string(absolute ? absolute : path);
    sn_free(absolute);
    return value;
}

/* ---- obstacles, pins, pulls ------------------------------------------------------------------ */

static json_t *point(const double *p) {
    return json_pack("[f,f,f]", p[0], p[1], p[2]);
}

static const struct {
    const char *shape, *form;
    int numbers;
} primitives[] = {
    {"sphere", "x,y,z,r", 4},
    {"plane", "x,y,z,nx,ny,nz", 6},
    {"capsule", "ax,ay,az,bx,by,bz,r", 7},
    {"cylinder", "ax,ay,az,bx,by,bz,r", 7},
    {"box", "x,y,z,hx,hy,hz", 6},
};

static json_t *primitive(const char *shape, const double *n) {
    json_t *o = json_pack("{s:s}", "shape", shape);
    if (!strcmp(shape, "sphere")) {
        json_object_set_new(o, "center", point(n));
        json_object_set_new(o, "radius", json_real(n[3]));
    } else if (!strcmp(shape, "plane")) {
        json_object_set_new(o, "point", point(n));
        json_object_set_new(o, "normal", point(n + 3));
    } else if (!strcmp(shape, "box")) {
        json_object_set_new(o, "center", point(n));
        json_object_set_new(o, "half", point(n + 3));
    } else {
        json_object_set_new(o, "from", point(n));
        json_object_set_new(o, "to", point(n + 3));
        json_object_set_new(o, "radius", json_real(n[6]));
    }
    return o;
}

json_t *cli_obstacle(cli_call *call, const char *text) {
    if (!strncmp(text, "part:", 5))
        return json_pack("{s:s, s:s}", "shape", "part", "name", text + 5);
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++) {
        size_t length = strlen(primitives[i].shape);
        if (strncmp(text, primitives[i].shape, length) || text[length] != ':') continue;
        double *numbers;
        int count;
        if (cli_parse_numbers(call, text + length + 1, text, &numbers, &count) != SINEW_OK)
            return NULL;
        json_t *obstacle =
            count == primitives[i].numbers ? primitive(primitives[i].shape, numbers) : NULL;
        sn_free(numbers);
        if (!obstacle)
            cli_usage(call, "an obstacle is %s:%s, not '%s'", primitives[i].shape,
                      primitives[i].form, text);
        return obstacle;
    }
    return json_pack("{s:s, s:o}", "shape", "mesh", "file", cli_path(call, text));
}

json_t *cli_pin(cli_call *call, const char *text) {
    const char *at = strrchr(text, '@');
    if (!at) return json_pack("{s:s}", "select", text);
    return json_pack("{s:s%, s:o}", "select", text, (size_t)(at - text), "frames",
                     cli_path(call, at + 1));
}

json_t *cli_pull(cli_call *call, const char *text) {
    char *end;
    long vertex = strtol(text, &end, 10);
    double p[3], stiffness = 0;
    bool good = end != text && *end == '=' && vertex >= 0 && vertex < 2000000000;
    for (int i = 0; good && i < 3; i++) {
        char *start = end + 1;
        p[i] = strtod(start, &end);
        good = end != start && isfinite(p[i]) && (i == 2 || *end == ',');
    }
    bool soft = good && *end == ':';
    if (soft) {
        char *start = end + 1;
        stiffness = strtod(start, &end);
        good = end != start && stiffness >= 0 && isfinite(stiffness);
    }
    if (!good || *end) {
        cli_usage(call, "--pull takes VERTEX=x,y,z[:stiffness], not '%s'", text);
        return NULL;
    }
    json_t *pull = json_pack("{s:i, s:o}", "vertex", (int)vertex, "to", point(p));
    if (soft) json_object_set_new(pull, "stiffness", json_real(stiffness));
    return pull;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static json_t *number_list(cli_call *call, const char *text, const char *option) {
    double *numbers;
    int count;
    if (cli_parse_numbers(call, text, option, &numbers, &count) != SINEW_OK) return NULL;
    json_t *list = sn_report_numbers(count, numbers);
    sn_free(numbers);
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
    if (!value) return call->error.status ? call->error.status : sn_no_memory(&call->error);
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
    json_t *figures = json_loads(text, 0, NULL);
    sinew_free(text);
    json_object_del(figures, "verb");
    json_object_del(figures, "warnings");
    json_object_del(figures, "inputs");
    json_object_update(call->report, figures);
    json_decref(figures);
}

static void say_outputs(const cli_call *call, const json_t *outputs) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)outputs, key, value) {
        if (json_is_string(value)) cli_say(call, "wrote %s", json_string_value(value));
        for (size_t i = 0; i < json_array_size(value); i++)
            cli_say(call, "wrote %s", json_string_value(json_array_get(value, i)));
    }
}

/* The outputs of the command that the scene does not know must not be its files either. A mistake
 * of the command line leaves no report: it could be what destroys the file. */
static sinew_status check_files(cli_call *call, const sinew_scene *scene, const char *saved) {
    const char *report = cli_text(call, "--report");
    sn_file_plan plan = {0};
    sn_scene_plan(scene, &plan);
    if (report) sn_plan_output(&plan, report);
    if (saved) sn_plan_output(&plan, saved);
    sinew_status status =
        sn_plan_check(&plan, report || saved ? SINEW_MISUSE : SINEW_BAD_INPUT, &call->error);
    sn_plan_free(&plan);
    return status;
}

void cli_say_job(cli_call *call, const sinew_job *job, const sinew_scene *scene,
                 sinew_status status) {
    adopt_report(call, job);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return;
    const json_t *totals = json_object_get(call->report, "totals");
    cli_say(call, "%d frames of %d vertices, %.3g ms a frame (worst %.3g)",
            (int)json_integer_value(json_object_get(totals, "frames")),
            sinew_job_rig(job)->neutral->vertex_count,
            json_number_value(json_object_get(totals, "frame_ms_mean")),
            json_number_value(json_object_get(totals, "frame_ms_worst")));
    size_t held =
        json_object_size(json_object_get(json_object_get(call->report, "sliders"), "held"));
    if (held > 0)
        cli_say(call, "%zu sliders that the markers do not tell are held; the report names them",
                held);
    say_outputs(call, sn_scene_at(scene, "outputs"));
}

static sinew_status run_scene(cli_call *call, const sinew_scene *scene) {
    int first, last;
    SN_TRY(cli_frame_range(call, &first, &last));
    sinew_job *job;
    SN_TRY(sinew_job_create(scene, call->monitor, &job, &call->error));
    sinew_status status = sinew_job_run(job, first, last, call->monitor, &call->error);
    cli_say_job(call, job, scene, status);
    sinew_job_destroy(job);
    return status;
}

sinew_status cli_run_scene(cli_call *call, const sinew_scene *scene) {
    SN_TRY(check_files(call, scene, NULL));
    return run_scene(call, scene);
}

sinew_status cli_run_document(cli_call *call, json_t *document, const char *saved) {
    sinew_scene *scene;
    SN_TRY(sn_scene_make(document, "command line", "", &scene, &call->error));
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

sinew_status cli_add_rig(cli_call *call, json_t *document, bool sized) {
    const char *sample = cli_text(call, "--sample");
    if (sample && call->argument_count > 0)
        return cli_usage(call, "give %s or --sample, not both", call->verb->arguments);
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
    json_object_set_new(document, "rig", rig);
    return SINEW_OK;
}

sinew_status cli_read_scene(cli_call *call, const char *path, sinew_scene **scene) {
    const char *folder = cli_text(call, "--folder");
    if (!folder) return sinew_scene_read(path, scene, &call->error);
    char *text;
    size_t size;
    *scene = NULL;
    SN_TRY(sn_file_read(path, &text, &size, &call->error));
    sinew_status status =
        strlen(text) == size
            ? sinew_scene_parse(text, path, folder, scene, &call->error)
            : sn_fail(&call->error, SINEW_BAD_INPUT, "%s: byte %zu is zero: this is not JSON", path,
                      strlen(text));
    sn_free(text);
    return status;
}
