/* Drive a session live: change values while it stays alive, solve after each change, and undo.
 *
 * cc live_session.c $(pkg-config --cflags --libs sinew) -o live_session */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sinew/job.h>
#include <sinew/session.h>

enum { PATCHES = 3 };

static void need(sinew_status status, const sinew_error *error) {
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

int main(void) {
    static const char *const text =
        "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"rotation\", "
        "\"weights\": {\"bend120\": 0}}";
    static const char *const patches[PATCHES] = {
        "[{\"op\": \"replace\", \"path\": \"/weights/bend120\", \"value\": 0.5}]",
        "[{\"op\": \"replace\", \"path\": \"/weights/bend120\", \"value\": 1}]",
        "[{\"op\": \"replace\", \"path\": \"/model\", \"value\": \"linear\"}]",
    };
    sinew_error error;
    sinew_scene *scene;
    need(sinew_scene_parse(text, "bar", NULL, &scene, &error), &error);
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader(); /* reads files and makes the built-in rigs */
    sinew_session *session;
    need(sinew_session_create(scene, &options, &session, &error), &error);
    sinew_scene_destroy(scene);
    need(sinew_session_prepare(session, NULL, &error), &error);

    char *first, *last, *undo[PATCHES];
    need(sinew_session_text(session, &first, &error), &error);
    size_t coordinates =
        3 * (size_t)sinew_mesh_vertex_count(sinew_rig_neutral(sinew_session_rig(session)));
    sinew_result result;
    sinew_result_init(&result);
    result.positions = malloc(sizeof(double) * coordinates);
    if (!result.positions) return 1;

    /* A patch changes the document in microseconds; the next solve rebuilds what it costs. */
    for (int i = 0; i < PATCHES; i++) {
        sinew_session_change change;
        sinew_session_change_init(&change);
        need(sinew_session_patch(session, patches[i], &undo[i], &change, &error), &error);
        need(sinew_session_solve(session, NULL, &result, NULL, &error), &error);
        printf("revision %d cost '%s': first vertex at %.4f %.4f %.4f\n", (int)result.revision,
               sinew_cost_name(change.cost), result.positions[0], result.positions[1],
               result.positions[2]);
    }

    /* The inverse patches, in reverse order, give back the same document. */
    for (int i = PATCHES - 1; i >= 0; i--) {
        need(sinew_session_patch(session, undo[i], NULL, NULL, &error), &error);
        sinew_free(undo[i]);
    }
    need(sinew_session_text(session, &last, &error), &error);
    bool same = strcmp(first, last) == 0;
    printf("after undo the document is %s\n", same ? "the same, byte for byte" : "different");

    sinew_free(first);
    sinew_free(last);
    free(result.positions);
    sinew_session_destroy(session);
    return same ? 0 : 1;
}
