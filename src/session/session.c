/* Sessions: the document and its revisions. What is built from it is in solver.c. */
#include "session/session.h"

#include <string.h>

#include "base/json_text.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"
#include "session/report.h"

/* ---- watching -------------------------------------------------------------------------------- */

static void watch_progress(double fraction, const char *stage, void *user) {
    sn_progress(((const sn_watch *)user)->outer, fraction, stage);
}

static bool watch_cancelled(void *user) {
    const sn_watch *w = user;
    /* the outer one may be what cancels the session */
    return sn_cancelled(w->outer) || atomic_load(&w->session->cancels) != w->cancels ||
           (w->revision && atomic_load(&w->session->revision) != w->revision);
}

static void watch_log(sinew_log_level level, const char *line, void *user) {
    sn_log(((const sn_watch *)user)->outer, level, "%s", line);
}

const sinew_monitor *sn_watch_start(sn_watch *watch, sinew_session *session,
                                    const sinew_monitor *outer, uint64_t revision) {
    *watch = (sn_watch){.outer = outer,
                        .session = session,
                        .cancels = atomic_load(&session->cancels),
                        .revision = revision};
    watch->monitor = (sinew_monitor){.progress = watch_progress,
                                     .cancelled = watch_cancelled,
                                     .log = watch_log,
                                     .user = watch,
                                     .strict = outer && outer->strict};
    return &watch->monitor;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void release_rig(void *object) {
    sinew_rig_destroy(object);
}

static sinew_status fill(sinew_session *session, const sinew_scene *scene,
                         const sinew_session_options *options, sinew_error *error) {
    SN_TRY(sinew_scene_copy(scene, &session->scene, error));
    session->own = SN_NEW0(sinew_solver, 1);
    if (!session->own) return sn_no_memory(error);
    session->own->session = session;
    session->own->next = -1;
    session->loader = options->loader, session->cache = options->cache;
    if (!options->rig) return SINEW_OK;
    sinew_rig *copy;
    SN_TRY(sinew_rig_copy(options->rig, &copy, error));
    session->given_rig = sn_shared_new(copy, release_rig);
    return session->given_rig ? SINEW_OK : sn_no_memory(error);
}

sinew_status sinew_session_create(const sinew_scene *scene, const sinew_session_options *options,
                                  sinew_session **session, sinew_error *error) {
    SN_REQUIRE(scene && session, error);
    *session = NULL;
    SN_OPTIONS(sinew_session_options, own, options, error);
    sinew_session *made = SN_NEW0(sinew_session, 1);
    if (!made) return sn_no_memory(error);
    atomic_init(&made->revision, 1);
    atomic_init(&made->cancels, 0);
    for (int k = 0; k < SN_KEYS; k++) made->key_revision[k] = 1;
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->building, NULL);
    sinew_status status = fill(made, scene, &own, error);
    if (status != SINEW_OK) {
        sinew_session_destroy(made);
        return status;
    }
    *session = made;
    return SINEW_OK;
}

void sinew_session_destroy(sinew_session *session) {
    if (!session) return;
    sinew_solver_destroy(session->own);
    sn_shared_drop(session->derived);
    sn_shared_drop(session->structure);
    sn_shared_drop(session->floor);
    sn_shared_drop(session->clip);
    sn_shared_drop(session->rig);
    sn_shared_drop(session->given_rig);
    sinew_scene_destroy(session->scene);
    pthread_mutex_destroy(&session->lock);
    pthread_mutex_destroy(&session->building);
    sn_free(session);
}

/* ---- the document ---------------------------------------------------------------------------- */

static pthread_mutex_t *lock_of(const sinew_session *session) {
    return &((sinew_session *)session)->lock;
}

sinew_scene sn_session_view(sinew_session *session, uint64_t *revision,
                            uint64_t key_revision[SN_KEYS]) {
    pthread_mutex_lock(&session->lock);
    sinew_scene view = *session->scene;
    json_incref(view.document);
    *revision = atomic_load(&session->revision);
    memcpy(key_revision, session->key_revision, SN_KEYS * sizeof *key_revision);
    pthread_mutex_unlock(&session->lock);
    return view;
}

void sn_session_release_view(sinew_session *session, sinew_scene *view) {
    pthread_mutex_lock(&session->lock);
    json_decref(view->document);
    pthread_mutex_unlock(&session->lock);
}

/* Under the lock. */
static void note_change(sinew_session *session, const sn_patch_change *applied,
                        sinew_session_change *change) {
    if (applied->operations > 0) {
        uint64_t revision = atomic_load(&session->revision) + 1;
        for (int k = 0; k < SN_KEYS; k++)
            if (applied->keys >> k & 1) session->key_revision[k] = revision;
        atomic_store(&session->revision, revision);
    }
    sinew_session_change own = {.revision = atomic_load(&session->revision),
                                .cost = applied->cost,
                                .operations = applied->operations};
    sn_info_write(change, &own, sizeof own);
}

static sinew_status apply(sinew_session *session, const json_t *patch, char **inverse,
                          sinew_session_change *change, sinew_error *error) {
    sn_patch_change applied;
    json_t *back = NULL;
    pthread_mutex_lock(&session->lock);
    sinew_status status =
        sn_scene_patch(session->scene, patch, inverse ? &back : NULL, &applied, error);
    if (status == SINEW_OK) note_change(session, &applied, change);
    pthread_mutex_unlock(&session->lock);
    if (status == SINEW_OK && inverse) status = sn_json_text(back, JSON_COMPACT, inverse, error);
    json_decref(back);
    return status;
}

static sinew_status parse(const char *what, const char *text, json_t **value, sinew_error *error) {
    sn_json_problem at;
    *value = sn_json_read(text, strlen(text), &at);
    if (*value) return SINEW_OK;
    if (at.no_memory) return sn_no_memory(error);
    return sn_fail(error, SINEW_BAD_INPUT, "%s: %d:%d: %s", what, at.line, at.column, at.text);
}

sinew_status sinew_session_patch(sinew_session *session, const char *patch, char **inverse,
                                 sinew_session_change *change, sinew_error *error) {
    SN_REQUIRE(session && patch, error);
    SN_REQUIRE(sn_info_ready(change), error);
    if (inverse) *inverse = NULL;
    json_t *operations;
    SN_TRY(parse("patch", patch, &operations, error));
    sinew_status status = apply(session, operations, inverse, change, error);
    json_decref(operations);
    return status;
}

sinew_status sinew_session_set(sinew_session *session, const char *pointer, const char *json,
                               char **inverse, sinew_session_change *change, sinew_error *error) {
    SN_REQUIRE(session && pointer, error);
    SN_REQUIRE(sn_info_ready(change), error);
    if (inverse) *inverse = NULL;
    json_t *value = NULL, *patch = NULL;
    if (json) SN_TRY(parse(pointer, json, &value, error));
    pthread_mutex_lock(&session->lock);
    sinew_status status = sn_scene_set_patch(session->scene, pointer, value, &patch, error);
    pthread_mutex_unlock(&session->lock);
    if (status == SINEW_OK) status = apply(session, patch, inverse, change, error);
    json_decref(value);
    json_decref(patch);
    return status;
}

uint64_t sinew_session_revision(const sinew_session *session) {
    return session ? atomic_load(&((sinew_session *)session)->revision) : 0;
}

sinew_status sinew_session_text(const sinew_session *session, char **json, sinew_error *error) {
    SN_REQUIRE(session && json, error);
    pthread_mutex_lock(lock_of(session));
    sinew_status status = sinew_scene_text(session->scene, json, error);
    pthread_mutex_unlock(lock_of(session));
    return status;
}

sinew_status sinew_session_get(const sinew_session *session, const char *pointer, char **json,
                               sinew_error *error) {
    SN_REQUIRE(session && pointer && json, error);
    pthread_mutex_lock(lock_of(session));
    sinew_status status = sinew_scene_get(session->scene, pointer, json, error);
    pthread_mutex_unlock(lock_of(session));
    return status;
}

sinew_status sinew_session_scene(const sinew_session *session, sinew_scene **scene,
                                 sinew_error *error) {
    SN_REQUIRE(session && scene, error);
    pthread_mutex_lock(lock_of(session));
    sinew_status status = sinew_scene_copy(session->scene, scene, error);
    pthread_mutex_unlock(lock_of(session));
    return status;
}

sinew_status sinew_session_cost(const sinew_session *session, const char *pointer, sinew_cost *cost,
                                sinew_error *error) {
    SN_REQUIRE(session && pointer && cost, error);
    char text[SN_POINTER_SIZE];
    const char *tokens[SN_POINTER_DEPTH];
    int depth = sn_pointer_parse(pointer, text, tokens);
    if (depth < 0) return sn_fail(error, SINEW_BAD_INPUT, "'%s' is not a JSON pointer", pointer);
    pthread_mutex_lock(lock_of(session));
    sinew_status status = sn_scene_check_at(session->scene, depth, tokens, cost, error);
    pthread_mutex_unlock(lock_of(session));
    return status;
}

/* ---- its own solver -------------------------------------------------------------------------- */

sinew_solver *sinew_session_solver(sinew_session *session) {
    return session->own;
}

sinew_status sinew_session_prepare(sinew_session *session, const sinew_monitor *monitor,
                                   sinew_error *error) {
    SN_REQUIRE(session, error);
    return sinew_solver_update(session->own, monitor, error);
}

sinew_status sinew_session_solve(sinew_session *session, const sinew_input *input,
                                 sinew_result *result, const sinew_monitor *monitor,
                                 sinew_error *error) {
    SN_REQUIRE(session && result, error);
    SN_TRY(sinew_solver_update(session->own, monitor, error));
    return sinew_solver_solve(session->own, input, result, monitor, error);
}

void sinew_session_cancel(sinew_session *session) {
    atomic_fetch_add(&session->cancels, 1);
}

sinew_past sinew_session_past(const sinew_session *session, int *run) {
    return sinew_solver_past(session->own, run);
}

const sinew_rig *sinew_session_rig(const sinew_session *session) {
    return session ? sinew_solver_rig(session->own) : NULL;
}

sinew_status sinew_session_clip(const sinew_session *session, sinew_clip_info *info,
                                sinew_error *error) {
    SN_REQUIRE(session && info, error);
    return sinew_solver_clip(session->own, info, error);
}

sinew_status sinew_solver_describe(const sinew_solver *solver, char **json, sinew_error *error) {
    SN_REQUIRE(solver && json, error);
    json_t *report = sn_solver_report(solver);
    sinew_status status =
        report ? sn_json_text(report, JSON_INDENT(1), json, error) : sn_no_memory(error);
    json_decref(report);
    return status;
}

sinew_status sinew_session_describe(const sinew_session *session, char **json, sinew_error *error) {
    SN_REQUIRE(session, error);
    return sinew_solver_describe(session->own, json, error);
}
