#include "studio.h"

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages.h"
#include "net.h"
#include "page.h"
#include "project.h"
#include "solver.h"

extern char **environ;

/* What the solver thread has posted and the main thread has not sent yet. */
typedef struct posted {
    struct posted *next;
    solver_post kind;
    net_message *message;
    int client;
} posted;

typedef struct studio {
    studio_state state;
    const sinew_monitor *monitor;
    pthread_mutex_t lock;
    posted *first, **last;
} studio;

bool studio_has_page(void) {
    return page_files[0].path != NULL;
}

static void log_line(void *user, const char *line) {
    studio *s = user;
    if (!s->state.quiet) fprintf(stderr, "sinew studio: %s\n", line);
}

/* ---- from the solver thread ------------------------------------------------------------------ */

static void post(void *user, solver_post kind, net_message *message, int client) {
    studio *s = user;
    posted *p = malloc(sizeof *p);
    if (!p) {
        net_message_release(message);
        return;
    }
    *p = (posted){NULL, kind, message, client};
    pthread_mutex_lock(&s->lock);
    *s->last = p;
    s->last = &p->next;
    pthread_mutex_unlock(&s->lock);
    net_wake(s->state.net);
}

/* ---- in the main thread ---------------------------------------------------------------------- */

static void keep(net_message **slot, net_message *message) {
    net_message_release(*slot);
    *slot = message ? net_message_keep(message) : NULL;
}

static void deliver(studio *s, posted *p) {
    studio_state *state = &s->state;
    size_t size;
    const char *text = net_message_view(p->message, &size);
    switch (p->kind) {
    case SOLVER_RIG:
        keep(&state->rig, p->message);
        net_broadcast(state->net, p->message, false);
        break;
    case SOLVER_CLIP:
        keep(&state->clip, p->message);
        net_broadcast(state->net, p->message, false);
        break;
    case SOLVER_FRAME:
        keep(&state->shape, p->message);
        keep(&state->problem, NULL);
        net_broadcast(state->net, p->message, true);
        break;
    case SOLVER_PROBLEM:
        keep(&state->problem, p->message);
        net_broadcast(state->net, p->message, false);
        break;
    case SOLVER_STATE:
        if (size == 18 && !memcmp(text, "{\"type\":\"stopped\"}", 18))
            messages_stopped(state);
        else
            net_broadcast(state->net, p->message, false);
        break;
    case SOLVER_ANSWER:
        net_send_to(state->net, p->client, p->message);
        break;
    case SOLVER_PATCH:
        messages_dragged(state, text, size, p->client);
        break;
    }
}

static void woken(void *user) {
    studio *s = user;
    pthread_mutex_lock(&s->lock);
    posted *p = s->first;
    s->first = NULL;
    s->last = &s->first;
    pthread_mutex_unlock(&s->lock);
    while (p) {
        posted *next = p->next;
        deliver(s, p);
        net_message_release(p->message);
        free(p);
        p = next;
    }
}

static bool stopped(void *user) {
    studio *s = user;
    return s->monitor && s->monitor->cancelled && s->monitor->cancelled(s->monitor->user);
}

static void opened(void *user, net_client *client) {
    studio *s = user;
    messages_welcome(&s->state, client);
}

static void closed(void *user, net_client *client) {
    (void)user, (void)client;
}

static bool text(void *user, net_client *client, const char *bytes, size_t size,
                 const char **reason) {
    return messages_text(&((studio *)user)->state, client, bytes, size, reason);
}

static bool binary(void *user, net_client *client, const unsigned char *bytes, size_t size,
                   const char **reason) {
    return messages_files(&((studio *)user)->state, client, bytes, size, reason);
}

static void open_browser(const char *address) {
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) return;
    char program[] = "xdg-open", *arguments[] = {program, (char *)address, NULL};
    pid_t child;
    (void)posix_spawnp(&child, "xdg-open", NULL, NULL, arguments, environ);
}

/* At the address of the last time where that is free, so that open pages reconnect. */
static sinew_status listen_again(studio *s, int port, const net_handler *handler,
                                 sinew_error *error) {
    int last;
    char token[NET_TOKEN_SIZE];
    project_read_address(s->state.project, &last, token);
    sinew_status status = SINEW_IO;
    if (!port && last) status = net_create(last, token, handler, &s->state.net, error);
    if (status != SINEW_OK) status = net_create(port, token, handler, &s->state.net, error);
    if (status == SINEW_OK)
        project_write_address(s->state.project, net_port(s->state.net), net_token(s->state.net));
    return status;
}

sinew_status studio_run(const studio_options *options, const sinew_monitor *monitor,
                        sinew_error *error) {
    studio s = {.monitor = monitor};
    s.last = &s.first;
    s.state.quiet = options->quiet;
    s.state.frame = -1;
    s.state.loop = true;
    pthread_mutex_init(&s.lock, NULL);
    const solver_handler from_solver = {.post = post, .user = &s};
    const net_handler from_net = {.opened = opened,
                                  .closed = closed,
                                  .text = text,
                                  .binary = binary,
                                  .woken = woken,
                                  .stopped = stopped,
                                  .log = log_line,
                                  .user = &s};
    sinew_status status =
        project_open(options->path_count, options->paths, &s.state.project, error);
    if (status == SINEW_OK) status = listen_again(&s, options->port, &from_net, error);
    if (status == SINEW_OK) status = solver_create(&from_solver, &s.state.solver, error);
    if (status == SINEW_OK) {
        printf("%s\n", net_address(s.state.net));
        fflush(stdout);
        messages_want(&s.state, true, false);
        if (options->browser) open_browser(net_address(s.state.net));
        net_serve(s.state.net);
    }
    solver_destroy(s.state.solver);
    woken(&s);
    net_destroy(s.state.net);
    project_close(s.state.project);
    net_message_release(s.state.rig);
    net_message_release(s.state.clip);
    net_message_release(s.state.shape);
    net_message_release(s.state.problem);
    pthread_mutex_destroy(&s.lock);
    return status;
}
