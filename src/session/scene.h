/* Inside a scene: the document and typed questions to it. A scene has passed the schema, so types
 * and ranges need no second check here. */
#ifndef SN_SESSION_SCENE_H
#define SN_SESSION_SCENE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "sinew/model.h"
#include "sinew/rig.h"
#include "sinew/scene.h"

struct sinew_scene {
    json_t *document;
    char *folder; /* "" : the working directory */
    char *name;   /* in messages */
};

/* A scene of a document made in memory; takes the reference, on failure too. */
sinew_status sn_scene_make(json_t *document, const char *name, const char *folder,
                           sinew_scene **scene, sinew_error *error);

/* The value under a key of the document, NULL when absent: sn_scene_at(scene, "obstacles"). */
const json_t *sn_scene_at(const sinew_scene *scene, const char *key);

/* A parameter of the scene's model: the scene's value, or the fallback in the model's table. Asking
 * for a name that is not in the table is a mistake in the adapter and gives 0 or NULL. */
double sn_scene_number(const sinew_scene *scene, const char *parameter);
int sn_scene_integer(const sinew_scene *scene, const char *parameter);
bool sn_scene_flag(const sinew_scene *scene, const char *parameter);
int sn_scene_choice(const sinew_scene *scene, const char *parameter); /* index of the word */
const char *sn_scene_string(const sinew_scene *scene, const char *parameter); /* NULL: absent */
bool sn_scene_has(const sinew_scene *scene, const char *parameter);           /* set by the scene */
/* A list parameter as a new array (release with sn_free); *count 0 and NULL when absent. */
sinew_status sn_scene_numbers(const sinew_scene *scene, const char *parameter, double **values,
                              int *count, sinew_error *error);

/* Path of an output, newly allocated; NULL when the scene does not ask for it. */
sinew_status sn_scene_output(const sinew_scene *scene, const char *name, char **path,
                             sinew_error *error);

/* Three numbers of an array, such as "center". */
void sn_json_point(const json_t *array, double point[3]);

/* "NAME: PLACE: what": a failure that names the scene and the location in it. */
sinew_status sn_scene_fail(const sinew_scene *scene, sinew_error *error, const char *location,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Checks a document against the schema (schema.c). */
sinew_status sn_scene_check(const sinew_scene *scene, sinew_error *error);
/* Checks what a change at a location can have spoilt: the value there, if there is one, and what
 * its parents and the model demand. cost: what a change there costs at most. */
sinew_status sn_scene_check_at(const sinew_scene *scene, int depth, const char *const *tokens,
                               sinew_cost *cost, sinew_error *error);

/* Keys of the document, as bits: 1 << sn_scene_key_bit("obstacles"). -1: no such key. */
int sn_scene_key_bit(const char *name);
/* Whether a set of such bits has the key's. */
bool sn_has_changed(uint32_t changed, const char *key);

/* Copies that are complete, or NULL: those of jansson lack members when memory runs out. */
json_t *sn_json_copy(json_t *value); /* shares the members */
json_t *sn_json_deep_copy(const json_t *value);

/* ---- JSON pointers and patches (patch.c) ---- */

enum { SN_POINTER_DEPTH = 16, SN_POINTER_SIZE = 1024 };
/* The tokens of a pointer, unescaped, in `text`; their number, or -1: malformed or too long. */
int sn_pointer_parse(const char *pointer, char text[SN_POINTER_SIZE],
                     const char *tokens[SN_POINTER_DEPTH]);
/* NULL when there is nothing. */
json_t *sn_pointer_find(const json_t *document, int depth, const char *const *tokens);

typedef struct sn_patch_change {
    sinew_cost cost;
    uint32_t keys; /* bits of the document's keys that were touched */
    int operations;
} sn_patch_change;

/* Applies a patch as a whole or not at all; see sinew_session_patch. inverse (may be NULL): a new
 * reference. Nodes of the document that others hold are copied, not changed. */
sinew_status sn_scene_patch(sinew_scene *scene, const json_t *patch, json_t **inverse,
                            sn_patch_change *change, sinew_error *error);
/* The patch that sets (json NULL: removes) one value, with parents made as needed. */
sinew_status sn_scene_set_patch(const sinew_scene *scene, const char *pointer, json_t *value,
                                json_t **patch, sinew_error *error);
/* JSON text in the number format of scenes; flags of jansson. Release with sn_free. */
sinew_status sn_json_text(const json_t *value, size_t flags, char **text, sinew_error *error);

#endif
