/* A scene: a job in one document. It specifies the rig, the model and its parameters, what drives
 * it, obstacles, and outputs.
 *
 *   {"sinew": 1,
 *    "rig": {"files": ["neutral.obj", "targets/"]},
 *    "model": "spring", "parameters": {"tolerance": 1e-6},
 *    "curves": {"file": "clip.csv"},
 *    "obstacles": [{"shape": "sphere", "center": [0, 1, 0], "radius": 0.3}],
 *    "outputs": {"frames": ["clip.pc2"]}}
 *
 * docs/scene.md describes every key; docs/scene.schema.json is the machine-readable schema. Paths
 * are relative to the folder of the scene file. A scene in memory is always valid: every change is
 * checked against the schema, and an invalid change leaves the scene unchanged. Completeness (a
 * rig, existing slider names) is checked when the scene is solved.
 *
 * Values are named by JSON pointers (RFC 6901): "/parameters/tolerance", "/obstacles/0";
 * "/obstacles/-" appends. Every change returns the patch that undoes it. */
#ifndef SINEW_SCENE_H
#define SINEW_SCENE_H

#include <stdbool.h>

#include "sinew/memory.h"
#include "sinew/model.h"
#include "sinew/source.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The "sinew" key: the version of the format that this library writes, and the newest it reads. */
#define SINEW_SCENE_VERSION 1

typedef struct sinew_scene sinew_scene;

/* An empty scene. folder: where relative paths start; NULL: the working directory. */
SINEW_API sinew_status sinew_scene_create(const char *folder, sinew_scene **scene,
                                          sinew_error *error);
SINEW_API sinew_status sinew_scene_read(const char *path, sinew_scene **scene, sinew_error *error);
/* From JSON text; messages use `name` as the file name. */
SINEW_API sinew_status sinew_scene_parse(const char *text, const char *name, const char *folder,
                                         sinew_scene **scene, sinew_error *error);
/* From a file, memory or a stream; provided by libsinew, like all readers of sources. */
SINEW_API sinew_status sinew_scene_read_from(const sinew_source *source, const char *folder,
                                             const sinew_monitor *monitor, sinew_scene **scene,
                                             sinew_error *error);
SINEW_API sinew_status sinew_scene_copy(const sinew_scene *scene, sinew_scene **copy,
                                        sinew_error *error);
SINEW_API void sinew_scene_destroy(sinew_scene *scene);

/* Relative paths are written as they are: keep the file in the scene's folder. */
SINEW_API sinew_status sinew_scene_write(const char *path, const sinew_scene *scene,
                                         sinew_error *error);
/* The scene as JSON text with keys in the order they were set; release with sinew_free. */
SINEW_API sinew_status sinew_scene_text(const sinew_scene *scene, char **text, sinew_error *error);

/* A path of the scene, made relative to the working directory; release with sinew_free. NULL: no
 * memory. */
SINEW_API char *sinew_scene_path(const sinew_scene *scene, const char *path);
/* The value at a pointer as JSON text, or NULL where there is none; release with sinew_free. */
SINEW_API sinew_status sinew_scene_get(const sinew_scene *scene, const char *pointer, char **json,
                                       sinew_error *error);
/* Applies a JSON Patch (RFC 6902) as a whole or not at all. inverse (may be NULL): the patch that
 * undoes it, byte for byte; release with sinew_free. See sinew_session_patch. */
SINEW_API sinew_status sinew_scene_patch(sinew_scene *scene, const char *patch, char **inverse,
                                         sinew_error *error);
/* Sets one value; json NULL removes it. Missing objects on the path are created. inverse as
 * above. */
SINEW_API sinew_status sinew_scene_set(sinew_scene *scene, const char *pointer, const char *json,
                                       char **inverse, sinew_error *error);

/* The JSON schema (draft 2020-12) of scenes, made from the tables that check them; release with
 * sinew_free. */
SINEW_API sinew_status sinew_scene_schema(char **json, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
