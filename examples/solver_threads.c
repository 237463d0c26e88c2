/* Edit on one thread and solve on two others: the newest revision is shown, and undo restores it.
 *
 * cc solver_threads.c $(pkg-config --cflags --libs sinew) -pthread -o solver_threads */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sinew/session.h>

static sinew_session *session;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t shown; /* revision on the screen */
static bool closing;

static void need(sinew_status status, const sinew_error *error) {
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED || status == SINEW_CANCELLED) return;
    exit((fprintf(stderr, "%s\n", error->message), 1));
}

static void edit(const char *patch, char **undo) {
    sinew_error error;
    need(sinew_session_patch(session, patch, undo, NULL, &error), &error);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&changed); /* the session has no wait function: wake your own threads */
    pthread_mutex_unlock(&mutex);
}

static bool wait_for_edit(void) {
    pthread_mutex_lock(&mutex);
    while (!closing && shown == sinew_session_revision(session))
        pthread_cond_wait(&changed, &mutex);
    bool more = shown < sinew_session_revision(session);
    pthread_mutex_unlock(&mutex);
    return more; /* false: closing, and the newest revision is shown */
}

static void *solve_newest(void *user) {
    sinew_error error;
    sinew_solver *solver;
    (void)user;
    need(sinew_solver_create(session, NULL, &solver, &error), &error);
    while (wait_for_edit()) {
        sinew_input input;
        sinew_result result; /* set result.positions to get the shape */
        sinew_input_init(&input);
        sinew_result_init(&result);
        input.newest_only = true; /* SINEW_CANCELLED when a newer revision arrives */
        sinew_status status = sinew_solver_update(solver, NULL, &error);
        if (status == SINEW_OK) status = sinew_solver_solve(solver, &input, &result, NULL, &error);
        need(status, &error);
        if (status == SINEW_CANCELLED) continue;
        pthread_mutex_lock(&mutex);
        if (result.revision > shown) shown = result.revision;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    sinew_solver_destroy(solver);
    return NULL;
}

int main(void) {
    enum { EDITS = 30 };
    sinew_error error;
    sinew_scene *scene;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    need(sinew_scene_parse("{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"spring\", "
                           "\"weights\": {\"bend120\": 0}}",
                           "example", NULL, &scene, &error),
         &error);
    need(sinew_session_create(scene, &options, &session, &error), &error);
    sinew_scene_destroy(scene);
    char *first, *last, *undo[EDITS], patch[100];
    need(sinew_session_text(session, &first, &error), &error);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, solve_newest, NULL);
    for (int i = 0; i < EDITS; i++) {
        snprintf(patch, sizeof patch,
                 "[{\"op\": \"replace\", \"path\": \"/weights/bend120\", \"value\": 0.%02d}]", i);
        edit(patch, &undo[i]);
    }
    for (int i = EDITS - 1; i >= 0; sinew_free(undo[i--])) edit(undo[i], NULL);
    pthread_mutex_lock(&mutex);
    closing = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    need(sinew_session_text(session, &last, &error), &error);
    bool same = strcmp(first, last) == 0 && shown == sinew_session_revision(session);
    printf("revision %d is shown; undone to the same document: %s\n", (int)shown,
           same ? "yes" : "no");
    sinew_free(first), sinew_free(last);
    sinew_session_destroy(session);
    return same ? 0 : 1;
}
