#include "messages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "examples.h"
#include "files.h"
#include "json.h"
#include "preview.h"
#include "take.h"

enum { DEPTH_FLAGS = JSON_REJECT_DUPLICATES, FRAME_LIMIT = 10000000 };

static net_message *as_text(json_t *value /* stolen */) {
    char *text = json_dumps(value, JSON_COMPACT);
    net_message *message = text ? net_message_text(text) : NULL;
    free(text);
    json_decref(value);
    return message;
}

static void send_json(net_client *client, json_t *value) {
    net_message *message = as_text(value);
    if (message) net_send(client, message, false);
    net_message_release(message);
}

static void broadcast_json(studio_state *s, json_t *value) {
    net_message *message = as_text(value);
    if (message) net_broadcast(s->net, message, false);
    net_message_release(message);
}

/* ---- what a page gets first ------------------------------------------------------------------ */

static json_t *parameter_table(const sinew_parameter *p) {
    static const char *const kinds[] = {"number", "integer", "flag",   "choice",
                                        "text",   "file",    "numbers"};
    json_t *entry =
        json_pack("{s:s,s:s,s:f,s:s,s:s,s:s}", "name", p->name, "kind", kinds[p->kind], "fallback",
                  isfinite(p->fallback) ? p->fallback : 0.0, "unit", p->unit ? p->unit : "", "help",
                  p->help ? p->help : "", "cost", sinew_cost_name(p->cost));
    if (p->minimum != 0 || p->maximum != 0) {
        json_object_set_new(entry, "minimum", json_real(p->minimum));
        json_object_set_new(entry, "maximum", json_real(p->maximum));
    }
    if (p->choices) json_object_set_new(entry, "choices", json_string(p->choices));
    return entry;
}

static json_t *model_table(void) {
    json_t *models = json_array();
    for (int i = 0; i < sinew_model_count(); i++) {
        const sinew_model *model = sinew_model_at(i);
        json_t *parameters = json_array();
        for (int k = 0; k < sinew_model_parameter_count(model); k++)
            json_array_append_new(parameters, parameter_table(sinew_model_parameter(model, k)));
        json_array_append_new(models,
                              json_pack("{s:s,s:s,s:o}", "name", sinew_model_name(model), "summary",
                                        sinew_model_summary(model), "parameters", parameters));
    }
    return models;
}

static json_t *sample_table(void) {
    json_t *samples = json_array();
    for (int i = 0; i < sinew_sample_count(); i++)
        json_array_append_new(samples, json_pack("{s:s,s:s}", "name", sinew_sample_name(i),
                                                 "summary", sinew_sample_summary(i)));
    return samples;
}

static json_t *time_state(const studio_state *s) {
    return json_pack("{s:s,s:i,s:b,s:b}", "type", "time", "frame", s->frame, "playing", s->playing,
                     "loop", s->loop);
}

static json_t *scene_state(const studio_state *s) {
    return json_pack("{s:s,s:I,s:o,s:o}", "type", "scene", "revision",
                     (json_int_t)project_revision(s->project), "scene",
                     project_document(s->project), "history", project_history(s->project));
}

void messages_welcome(studio_state *s, net_client *client) {
    send_json(client, json_pack("{s:s,s:i,s:s,s:s,s:i,s:o,s:o,s:o}", "type", "hello", "protocol", 1,
                                "version", sinew_version(), "project", project_name(s->project),
                                "page", net_client_number(client), "models", model_table(),
                                "samples", sample_table(), "examples", examples_list()));
    send_json(client, scene_state(s));
    if (s->rig) net_send(client, s->rig, false);
    if (s->clip) net_send(client, s->clip, false);
    send_json(client, time_state(s));
    if (s->shape) net_send(client, s->shape, true);
    if (s->problem) net_send(client, s->problem, false);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void want(studio_state *s, bool changed, bool only_pose, bool moving) {
    solver_request request = {.revision = project_revision(s->project),
                              .frame = s->frame,
                              .playing = s->playing,
                              .loop = s->loop,
                              .only_pose = only_pose,
                              .moving = moving};
    if (changed) request.session = project_session(s->project);
    solver_want(s->solver, &request);
}

void messages_want(studio_state *s, bool changed, bool only_pose) {
    want(s, changed, only_pose, false);
}

static bool starts(const char *text, const char *with) {
    return text && !strncmp(text, with, strlen(with));
}

/* Whether a patch concerns only the pose, or only how the page looks. */
static void judge(const json_t *operations, bool *only_pose, bool *only_view) {
    *only_pose = *only_view = true;
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const char *path =
            json_string_value(json_object_get(json_array_get(operations, i), "path"));
        bool view = starts(path, "/studio") || starts(path, "/notes");
        if (!view) *only_view = false;
        if (!view && !starts(path, "/weights")) *only_pose = false;
    }
}

/* Tells all pages of a change, and the solver when shapes depend on it. moving: more will follow.
 */
static void announce(studio_state *s, json_t *operations /* stolen */, const char *label, int page,
                     json_int_t id, bool trial, bool moving) {
    bool only_pose, only_view;
    judge(operations, &only_pose, &only_view);
    if (!json_array_size(operations)) {
        json_decref(operations);
        return;
    }
    bool whole = false;
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const char *path =
            json_string_value(json_object_get(json_array_get(operations, i), "path"));
        whole |= path && !*path;
    }
    if (whole) { /* another scene starts at its beginning */
        s->frame = -1;
        s->playing = false;
        broadcast_json(s, time_state(s));
    }
    broadcast_json(s, json_pack("{s:s,s:I,s:o,s:s,s:i,s:I,s:b,s:o}", "type", "patch", "revision",
                                (json_int_t)project_revision(s->project), "ops", operations,
                                "label", label, "page", page, "id", id, "trial", trial, "history",
                                project_history(s->project)));
    if (only_view) return;
    /* Weights of the pose do not show while the clip does. */
    if (only_pose && s->frame >= 0 && !s->playing) {
        s->frame = -1;
        broadcast_json(s, time_state(s));
    }
    want(s, true, only_pose, moving);
}

static void complain(studio_state *s, net_client *client, json_int_t id, const char *message) {
    send_json(client, json_pack("{s:s,s:I,s:s}", "type", "error", "id", id, "message", message));
    send_json(client, scene_state(s)); /* what the page assumed did not happen */
}

static void change(studio_state *s, net_client *client, const json_t *operations, const char *label,
                   const char *gesture, bool trial, json_int_t id) {
    json_t *applied = NULL;
    sinew_error error = {0};
    sinew_status status =
        project_patch(s->project, operations, label, gesture, trial, &applied, &error);
    announce(s, applied, label, client ? net_client_number(client) : 0, id, trial,
             gesture != NULL || trial);
    if (status != SINEW_OK && client) complain(s, client, id, error.message);
}

/* What was opened has a clip: show its first frame. */
static void start_clip(studio_state *s) {
    s->frame = 0;
    s->playing = false;
    broadcast_json(s, time_state(s));
    messages_want(s, false, true);
}

void messages_dragged(studio_state *s, const char *text, size_t size, int client) {
    (void)client;
    json_t *result = cli_json_loadb(text, size, 0, NULL), *operations = json_array(), *value;
    const char *name;
    json_t *document = project_document(s->project);
    if (!json_object_get(document, "weights"))
        json_array_append_new(
            operations, json_pack("{s:s,s:s,s:{}}", "op", "add", "path", "/weights", "value"));
    json_decref(document);
    json_object_foreach(json_object_get(result, "weights"), name, value) {
        char path[300];
        size_t n = (size_t)snprintf(path, 10, "/weights/");
        for (const char *c = name; *c && n + 3 < sizeof path; c++) {
            if (*c == '~' || *c == '/') {
                path[n++] = '~';
                path[n++] = *c == '~' ? '0' : '1';
            } else {
                path[n++] = *c;
            }
        }
        path[n] = 0;
        json_array_append_new(
            operations, json_pack("{s:s,s:s,s:O}", "op", "add", "path", path, "value", value));
    }
    change(s, NULL, operations, "Pose by dragging",
           json_string_value(json_object_get(result, "gesture")), false, 0);
    json_decref(operations);
    json_decref(result);
}

void messages_stopped(studio_state *s) {
    s->playing = false;
    broadcast_json(s, time_state(s));
}

/* ---- what pages say -------------------------------------------------------------------------- */

typedef bool handle(studio_state *s, net_client *client, const json_t *message,
                    const char **reason);

/* Paths below /studio and /notes are not checked: values from there must not become part of what
 * is solved. */
static bool leaves_studio(const json_t *operation) {
    const char *from = json_string_value(json_object_get(operation, "from"));
    const char *path = json_string_value(json_object_get(operation, "path"));
    bool unchecked = starts(from, "/studio") || starts(from, "/notes") || (from && !*from);
    return unchecked && !starts(path, "/studio/") && !starts(path, "/notes/");
}

static bool on_patch(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    const json_t *operations = json_object_get(m, "ops");
    const char *label = json_string_value(json_object_get(m, "label"));
    const char *gesture = json_string_value(json_object_get(m, "gesture"));
    json_int_t id = json_integer_value(json_object_get(m, "id"));
    *reason = "a patch needs a list of operations";
    if (!json_is_array(operations) || json_array_size(operations) > 10000) return false;
    for (size_t i = 0; i < json_array_size(operations); i++)
        if (leaves_studio(json_array_get(operations, i))) {
            complain(s, client, id, "values of /studio and /notes cannot be moved or copied out");
            return true;
        }
    sinew_error error = {0};
    if (project_check_paths(operations, &error) != SINEW_OK) {
        /* Pointers start with a slash by nature; only values are checked. */
        error.status = SINEW_OK;
        for (size_t i = 0; i < json_array_size(operations); i++) {
            const json_t *value = json_object_get(json_array_get(operations, i), "value");
            if (value && project_check_paths(value, &error) != SINEW_OK) {
                complain(s, client, id, error.message);
                return true;
            }
        }
    }
    change(s, client, operations, label ? label : "Change", gesture,
           json_is_true(json_object_get(m, "trial")), id);
    return true;
}

static bool on_settle(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)m, (void)reason;
    json_t *applied = NULL;
    sinew_error error = {0};
    sinew_status status = project_settle(s->project, &applied, &error);
    announce(s, applied, "", net_client_number(client), 0, true, false);
    if (status != SINEW_OK) complain(s, client, 0, error.message);
    return true;
}

static bool travel(studio_state *s, net_client *client, bool back) {
    json_t *applied = NULL;
    sinew_error error = {0};
    sinew_status status = back ? project_undo(s->project, &applied, &error)
                               : project_redo(s->project, &applied, &error);
    announce(s, applied, back ? "Undo" : "Redo", 0, 0, false, false);
    if (status != SINEW_OK)
        send_json(client,
                  json_pack("{s:s,s:i,s:s}", "type", "error", "id", 0, "message", error.message));
    return true;
}

static bool on_undo(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)m, (void)reason;
    return travel(s, client, true);
}

static bool on_redo(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)m, (void)reason;
    return travel(s, client, false);
}

static bool on_seek(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)client;
    json_int_t frame = json_integer_value(json_object_get(m, "frame"));
    *reason = "a frame is a whole number";
    if (!json_is_integer(json_object_get(m, "frame")) || frame < -1 || frame > FRAME_LIMIT)
        return false;
    s->frame = (int)frame;
    s->playing = false;
    broadcast_json(s, time_state(s));
    messages_want(s, false, true);
    return true;
}

static bool on_play(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)client, (void)reason;
    s->playing = json_is_true(json_object_get(m, "on"));
    s->loop = json_is_true(json_object_get(m, "loop"));
    const json_t *frame = json_object_get(m, "frame");
    if (json_is_integer(frame) && json_integer_value(frame) >= 0 &&
        json_integer_value(frame) <= FRAME_LIMIT)
        s->frame = (int)json_integer_value(frame);
    if (s->playing && s->frame < 0) s->frame = 0;
    broadcast_json(s, time_state(s));
    messages_want(s, false, true);
    return true;
}

static bool on_drag(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    const json_t *to = json_object_get(m, "to"), *vertex = json_object_get(m, "vertex");
    const char *gesture = json_string_value(json_object_get(m, "gesture"));
    double target[3];
    *reason = "a drag needs vertex, to and gesture";
    if (!gesture || !json_is_integer(vertex) || json_array_size(to) != 3) return false;
    for (size_t k = 0; k < 3; k++) {
        if (!json_is_number(json_array_get(to, k))) return false;
        target[k] = json_number_value(json_array_get(to, k));
    }
    json_int_t v = json_integer_value(vertex);
    if (v < 0 || v > 2000000000) return false;
    solver_drag(s->solver, (int)v, target, gesture, net_client_number(client));
    return true;
}

static bool on_open(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    const char *name = json_string_value(json_object_get(m, "example"));
    const char *sample = json_string_value(json_object_get(m, "sample"));
    *reason = "open needs an example or a sample";
    if (!name && !sample) return false;
    json_t *document = NULL;
    sinew_error error = {0};
    sinew_status status = name
                              ? examples_document(name, 0, project_files_path(s->project),
                                                  project_files_name(s->project), &document, &error)
                              : examples_sample(sample, &document, &error);
    if (status != SINEW_OK) {
        complain(s, client, 0, error.message);
        return true;
    }
    char label[128];
    snprintf(label, sizeof label, "Open %.100s", name ? name : sample);
    json_t *operations =
        json_pack("[{s:s,s:s,s:O}]", "op", "replace", "path", "", "value", document);
    change(s, client, operations, label, NULL, false, 0);
    json_decref(operations);
    if (json_object_get(document, "keys") || json_object_get(document, "markers")) start_clip(s);
    json_decref(document);
    return true;
}

static bool on_export(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    const char *what = json_string_value(json_object_get(m, "what"));
    const char *format = json_string_value(json_object_get(m, "format"));
    *reason = "export needs what and format";
    if (!what || !format) return false;
    sinew_error error = {0};
    if (files_export(s->solver, s->project, what, format, s->frame, net_client_number(client),
                     &error) != SINEW_OK)
        send_json(client,
                  json_pack("{s:s,s:i,s:s}", "type", "error", "id", 0, "message", error.message));
    return true;
}

static bool on_mesh(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    const char *file = json_string_value(json_object_get(m, "file"));
    *reason = "mesh needs a file";
    if (!file) return false;
    sinew_error error = {0};
    if (files_mesh(s->solver, s->project, file, net_client_number(client), &error) != SINEW_OK)
        complain(s, client, 0, error.message);
    return true;
}

static bool on_save(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)m, (void)reason;
    const char *path = NULL;
    sinew_error error = {0};
    if (project_save(s->project, &path, &error) == SINEW_OK)
        broadcast_json(s, json_pack("{s:s,s:s}", "type", "saved", "path", path));
    else
        send_json(client,
                  json_pack("{s:s,s:i,s:s}", "type", "error", "id", 0, "message", error.message));
    return true;
}

static bool on_interference(studio_state *s, net_client *client, const json_t *m,
                            const char **reason) {
    (void)m, (void)reason;
    analysis_interference(s->solver, net_client_number(client));
    return true;
}

static bool on_curves(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)m, (void)reason;
    analysis_curves(s->solver, net_client_number(client));
    return true;
}

static bool on_modes(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)m, (void)reason;
    analysis_modes(s->solver, net_client_number(client));
    return true;
}

static bool on_mode_shapes(studio_state *s, net_client *client, const json_t *m,
                           const char **reason) {
    (void)m, (void)reason;
    analysis_mode_shapes(s->solver, net_client_number(client));
    return true;
}

static bool on_preview(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    const char *example = json_string_value(json_object_get(m, "example"));
    *reason = "preview needs an example";
    if (!example) return false;
    preview_example(s->solver, example, net_client_number(client));
    return true;
}

static bool on_take(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)m, (void)reason;
    take_markers(s->solver, net_client_number(client));
    return true;
}

static bool on_errors(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    const char *name = json_string_value(json_object_get(m, "name"));
    const char *model = json_string_value(json_object_get(m, "model"));
    const json_t *parameters = json_object_get(m, "parameters");
    *reason = "errors has a name, a model and parameters";
    if (model && strspn(model, "abcdefghijklmnopqrstuvwxyz_") != strlen(model)) return false;
    if (parameters && (!json_is_object(parameters) || !model)) return false;
    sinew_error error = {0};
    if (parameters && project_check_paths(parameters, &error) != SINEW_OK) {
        complain(s, client, 0, error.message);
        return true;
    }
    take_errors(s->solver, name, model, parameters, net_client_number(client));
    return true;
}

static bool on_cancel(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)client, (void)m, (void)reason;
    solver_cancel(s->solver);
    return true;
}

static bool on_shown(studio_state *s, net_client *client, const json_t *m, const char **reason) {
    (void)s, (void)m, (void)reason;
    net_shown(client);
    solver_shown(s->solver);
    return true;
}

static const struct {
    const char *type;
    handle *handle;
} handlers[] = {
    {"interference", on_interference},
    {"curves", on_curves},
    {"modes", on_modes},
    {"mode_shapes", on_mode_shapes},
    {"preview", on_preview},
    {"take", on_take},
    {"errors", on_errors},
    {"patch", on_patch},
    {"settle", on_settle},
    {"undo", on_undo},
    {"redo", on_redo},
    {"seek", on_seek},
    {"play", on_play},
    {"drag", on_drag},
    {"open", on_open},
    {"save", on_save},
    {"export", on_export},
    {"mesh", on_mesh},
    {"cancel", on_cancel},
    {"shown", on_shown},
};

bool messages_text(studio_state *s, net_client *client, const char *text, size_t size,
                   const char **reason) {
    *reason = "not a JSON object with a type";
    json_t *message = cli_json_loadb(text, size, DEPTH_FLAGS, NULL);
    const char *type = json_string_value(json_object_get(message, "type"));
    bool good = false;
    if (type) *reason = "unknown type of message";
    for (size_t i = 0; type && i < sizeof handlers / sizeof *handlers; i++)
        if (!strcmp(handlers[i].type, type)) {
            good = handlers[i].handle(s, client, message, reason);
            break;
        }
    json_decref(message);
    return good;
}

/* Slider curves or a take, not only a map of its markers. */
static bool brings_clip(const json_t *operations) {
    size_t i;
    const json_t *operation;
    json_array_foreach(operations, i, operation) {
        const char *path = json_string_value(json_object_get(operation, "path"));
        if (path && (!strcmp(path, "/curves") || !strcmp(path, "/markers")) &&
            json_object_get(operation, "value"))
            return true;
    }
    return false;
}

bool messages_files(studio_state *s, net_client *client, const unsigned char *bytes, size_t size,
                    const char **reason) {
    json_t *operations = NULL;
    char label[128];
    bool malformed;
    sinew_error error = {0};
    sinew_status status =
        files_receive(s->project, bytes, size, &operations, label, &malformed, &error);
    *reason = "malformed files";
    if (status != SINEW_OK && malformed) return false;
    if (status != SINEW_OK) {
        complain(s, client, 0, error.message);
    } else {
        change(s, client, operations, label, NULL, false, 0);
        if (brings_clip(operations)) start_clip(s);
    }
    json_decref(operations);
    return true;
}
