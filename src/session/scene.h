/* Inside a scene: the document and typed questions to it. A scene has passed the schema, so types
 * and ranges need no second check here. */
#ifndef SN_SESSION_SCENE_H
#define SN_SESSION_SCENE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/list.h"
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
 * for a name that is not in the table is a mistake in the adaptor and gives 0 or NULL. */
double sn_scene_number(const sinew_scene *scene, const char *parameter);
int sn_scene_integer(const sinew_scene *scene, const char *parameter);
bool sn_scene_flag(const sinew_scene *scene, const char *parameter);
int sn_scene_choice(const sinew_scene *scene, const char *parameter); /* index of the word */
const char *sn_scene_string(const sinew_scene *scene, const char *parameter); /* NULL: absent */
bool sn_scene_has(const sinew_scene *scene, const char *parameter);           /* set by the scene */
/* A list parameter as a new array (release with sn_free); *count 0 and NULL when absent. */
sinew_status sn_scene_numbers(const sinew_scene *scene, const char *parameter, double **values,
                              int *count, sinew_error *error);

/* A file parameter "vertex,value" as a new array (release with sn_free), 1 where the file says
 * nothing; NULL when absent. */
sinew_status sn_scene_vertex_map(const sinew_scene *scene, const char *parameter,
                                 const sinew_rig *rig, double **map, sinew_error *error);

/* A path of the scene, made relative to the working directory; newly allocated, NULL: no memory. */
char *sn_scene_path(const sinew_scene *scene, const char *path);
/* Path of an output, newly allocated; NULL when the scene does not ask for it. */
sinew_status sn_scene_output(const sinew_scene *scene, const char *name, char **path,
                             sinew_error *error);

/* Three numbers of an array, such as "center". */
void sn_json_point(const json_t *array, double point[3]);

/* "NAME: PLACE: what": a failure that names the scene and the place in it. */
sinew_status sn_scene_fail(const sinew_scene *scene, sinew_error *error, const char *place,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Checks a document against the schema (schema.c). */
sinew_status sn_scene_check(const sinew_scene *scene, sinew_error *error);

#endif
