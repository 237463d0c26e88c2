/* The scene that all pages share, its history, and the journal that keeps both.
 *
 * Every change is a JSON Patch (RFC 6902) with its inverse. One history serves all pages. Each
 * change is a line of the journal before anybody hears of it, so a killed server loses nothing:
 *
 *   PATH.studio/journal   {"sinew-journal": 1, "scene": {...}}        the scene it starts from
 *                         {"n": 1, "label": "...", "gesture": "...", "patch": [...]}
 *                         {"n": 2, "undo": true}   {"n": 3, "redo": true}
 *   PATH.studio/files/    what was dropped on the page
 *
 * Patches of one gesture (a drag) make one step of the history. Trial patches belong to no history:
 * they are rolled back by project_settle and before any other change. */
#ifndef STUDIO_PROJECT_H
#define STUDIO_PROJECT_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include <sinew/sinew.h>

typedef struct project project;

/* A scene (.json), a rig of one or several files, or none for a project of the user's own. Further
 * files must be in the folder of the first. */
sinew_status project_open(int path_count, const char *const *paths, project **out,
                          sinew_error *error);
void project_close(project *p);

/* The session that solvers share. Another scene (a patch of the whole document) is another session;
 * the old one lives until its last solver lets go of it. */
typedef struct shared_session {
    sinew_session *session;
    atomic_int references;
} shared_session;
sinew_status shared_session_create(const sinew_scene *scene, shared_session **out,
                                   sinew_error *error);
shared_session *project_session(project *p); /* kept: release it */
void shared_session_release(shared_session *shared);

uint64_t project_revision(const project *p);
/* A copy of the document. */
json_t *project_document(const project *p);
/* Where dropped files go, relative to the scene's folder, and as a path. */
const char *project_files_name(const project *p);
const char *project_files_path(const project *p);
const char *project_folder(const project *p);
/* The port and the token of the last time, so that pages find a restarted server again. Readable by
 * the user alone. */
void project_read_address(const project *p, int *port, char token[33]);
void project_write_address(const project *p, int port, const char *token);
/* What the window is called. */
const char *project_name(const project *p);

/* Applies all operations or none. label: what the history shows; gesture: NULL or a name.
 * *applied (may be NULL) receives the operations to send to pages, trial rollbacks included. */
sinew_status project_patch(project *p, const json_t *operations, const char *label,
                           const char *gesture, bool trial, json_t **applied, sinew_error *error);
/* Takes back trial patches. *applied is empty when there were none. */
sinew_status project_settle(project *p, json_t **applied, sinew_error *error);
/* SINEW_BAD_INPUT when there is nothing to undo or redo. */
sinew_status project_undo(project *p, json_t **applied, sinew_error *error);
sinew_status project_redo(project *p, json_t **applied, sinew_error *error);
/* {"undo": ["label", ...], "redo": [...]}: the newest first, at most 50 each. */
json_t *project_history(const project *p);

/* Writes the scene file (of a rig or an own project: PATH.studio/scene.json); *written is its path.
 */
sinew_status project_save(project *p, const char **written, sinew_error *error);

/* Pages may not name files outside the project: bad input that names the first such text. */
sinew_status project_check_paths(const json_t *value, sinew_error *error);

#endif
