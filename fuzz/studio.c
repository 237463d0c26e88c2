#include "studio.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../studio/messages.h"
#include "../tests/support.h"

/* ---- a network that swallows everything ------------------------------------------------------ */

struct net_message {
    int references;
    char *text;
};

net_message *net_message_text(const char *text) {
    net_message *message = malloc(sizeof *message);
    if (message) *message = (net_message){1, strdup(text)};
    return message;
}

net_message *net_message_binary(const char *header, int part_count, const void *const *parts,
                                const size_t *sizes) {
    (void)part_count, (void)parts, (void)sizes;
    return net_message_text(header);
}

net_message *net_message_keep(net_message *message) {
    message->references++;
    return message;
}

void net_message_release(net_message *message) {
    if (!message || --message->references > 0) return;
    free(message->text);
    free(message);
}

static char last_error[1000];

void net_send(net_client *client, net_message *message, bool is_frame) {
    (void)client, (void)is_frame;
    if (!message->text) abort();
    if (strstr(message->text, "\"type\":\"error\""))
        snprintf(last_error, sizeof last_error, "%s", message->text);
}

void net_broadcast(net *n, net_message *message, bool is_frame) {
    (void)n;
    net_send(NULL, message, is_frame);
}

void net_shown(net_client *client) {
    (void)client;
}

int net_client_number(const net_client *client) {
    (void)client;
    return 1;
}

/* ---- a solver that never solves -------------------------------------------------------------- */

void solver_want(solver *s, const solver_request *request) {
    (void)s;
    if (request->session) shared_session_release(request->session);
}

void solver_cancel(solver *s) {
    (void)s;
}

void solver_shown(solver *s) {
    (void)s;
}

void solver_add(solver *s, solver_task *task) {
    (void)s;
    task->release(task);
}

void solver_ask(solver *s, int client, bool quick,
                void (*run)(solver_task *task, solver *s, engine *e,
                            const sinew_monitor *monitor)) {
    (void)s, (void)client, (void)quick, (void)run;
}

void solver_say(solver *s, solver_post kind, int client, const char *text) {
    (void)s, (void)kind, (void)client, (void)text;
}

void solver_refuse(solver *s, int client, const char *message) {
    (void)s, (void)client, (void)message;
}

void solver_give(solver *s, solver_post kind, int client, net_message *message) {
    (void)s, (void)kind, (void)client;
    net_message_release(message);
}

void solver_drag(solver *s, int vertex, const double target[3], const char *gesture, int client) {
    (void)s, (void)vertex, (void)target, (void)client;
    if (!gesture) abort();
}

/* ---- one conversation ------------------------------------------------------------------------ */

static const char *scene_path(void) {
    static char path[4096];
    if (*path) return path;
    snprintf(path, sizeof path, "%s/page.json", test_folder());
    return path;
}

static void fresh_project(void) {
    static const char document[] =
        "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 300}, \"model\": \"linear\", "
        "\"weights\": {\"bend120\": 0.5}}";
    char command[8192];
    sinew_error error;
    if (sinew_file_write(scene_path(), document, sizeof document - 1, &error) != SINEW_OK) abort();
    snprintf(command, sizeof command, "%s.studio/journal", scene_path());
    remove(command);
}

/* Why the connection would end; NULL: it goes on. */
static const char *hear(studio_state *state, net_client *client, const uint8_t *bytes,
                        size_t size) {
    /* an exact copy: reading further is caught by the sanitizer */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    memcpy(copy, bytes, size);
    const char *reason = NULL;
    bool good = size && *copy == '{'
                    ? messages_text(state, client, (const char *)copy, size, &reason)
                    : messages_files(state, client, copy, size, &reason);
    if (!good && !reason) abort();
    free(copy);
    return good ? NULL : reason;
}

static json_t *document_of(const char *path, project **out) {
    sinew_error error;
    if (project_open(1, (const char *[]){path}, out, &error) != SINEW_OK) return NULL;
    return project_document(*out);
}

bool fuzz_studio(const uint8_t *bytes, size_t size) {
    fresh_project();
    studio_state state = {.frame = -1};
    json_t *first = document_of(scene_path(), &state.project);
    if (!first) abort();
    const uint8_t *end = size ? bytes + size : bytes;
    while (bytes < end) {
        const uint8_t *stop = memchr(bytes, 0x1e, (size_t)(end - bytes));
        if (!stop) stop = end;
        hear(&state, NULL, bytes, (size_t)(stop - bytes));
        bytes = stop < end ? stop + 1 : end;
    }
    messages_welcome(&state, NULL);
    json_t *applied = NULL;
    sinew_error error;
    project_settle(state.project, &applied, &error);
    json_decref(applied);
    json_t *last = project_document(state.project);
    project_close(state.project);
    /* the journal gives the same document back */
    project *again = NULL;
    json_t *restored = document_of(scene_path(), &again);
    bool good = restored && json_equal(last, restored);
    while (again && good) {
        applied = NULL;
        sinew_status status = project_undo(again, &applied, &error);
        json_decref(applied);
        if (status != SINEW_OK) break;
    }
    json_decref(last), json_decref(restored);
    last = again ? project_document(again) : NULL;
    good = good && json_equal(first, last);
    json_decref(first), json_decref(last);
    if (again) project_close(again);
    return good;
}

const char *studio_answer(const void *bytes, size_t size, bool *changed) {
    fresh_project();
    studio_state state = {.frame = -1};
    json_t *first = document_of(scene_path(), &state.project);
    if (!first) abort();
    *last_error = '\0';
    net_client *page = (net_client *)last_error; /* nobody looks into it */
    const char *reason = hear(&state, page, bytes, size);
    if (reason) snprintf(last_error, sizeof last_error, "%s", reason);
    json_t *last = project_document(state.project);
    *changed = !json_equal(first, last);
    json_decref(first), json_decref(last);
    project_close(state.project);
    return last_error;
}
