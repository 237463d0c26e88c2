/* Whole files in, complete files out, and a check of what a run would overwrite. */
#ifndef SINEW_FILES_H
#define SINEW_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "sinew/memory.h"
#include "sinew/scene.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The whole file, followed by a zero byte that is not counted; release with sinew_free. */
SINEW_API sinew_status sinew_file_read(const char *path, char **bytes, size_t *size,
                                       sinew_error *error);
/* The file appears under its name only when it is complete. Symbolic links are followed, pipes and
 * devices written through, and nothing but a regular file is ever replaced. */
SINEW_API sinew_status sinew_file_write(const char *path, const void *bytes, size_t size,
                                        sinew_error *error);
/* The path from the root with all links followed. What does not exist of it is kept by name, and
 * "NAME/.." removed. Release with sinew_free; NULL: no memory. */
SINEW_API char *sinew_file_real_path(const char *path);

/* Creates the folder and its parents; does nothing when it is there. */
SINEW_API sinew_status sinew_folder_create(const char *path, sinew_error *error);

/* A new folder that appears under its name only when it is complete: fill sinew_folder_path, then
 * finish. Folders that programs left behind when they died are removed by the next one that works
 * in the same folder. */
typedef struct sinew_folder sinew_folder;
/* SINEW_IO when something with that name exists already. */
SINEW_API sinew_status sinew_folder_begin(const char *path, sinew_folder **folder,
                                          sinew_error *error);
/* Where to put the files. */
SINEW_API const char *sinew_folder_path(const sinew_folder *folder);
/* Gives the folder its name; releases it, on failure too. */
SINEW_API sinew_status sinew_folder_finish(sinew_folder *folder, sinew_error *error);
/* Removes it and everything in it. NULL does nothing. */
SINEW_API void sinew_folder_abandon(sinew_folder *folder);

/* Removes every unfinished folder and kills every program that the library has started in this
 * process, for a program that must end at once. Only _exit may follow. */
SINEW_API void sinew_files_clean_up(void);

/* ---- plans: which files a run reads and writes ----------------------------------------------- */

typedef struct sinew_file_plan sinew_file_plan;
SINEW_API sinew_status sinew_file_plan_create(sinew_file_plan **plan, sinew_error *error);
SINEW_API void sinew_file_plan_destroy(sinew_file_plan *plan);
/* Files or folders; a rig folder counts as the files of the rig. */
SINEW_API sinew_status sinew_file_plan_add_input(sinew_file_plan *plan, const char *path,
                                                 sinew_error *error);
SINEW_API sinew_status sinew_file_plan_add_output(sinew_file_plan *plan, const char *path,
                                                  sinew_error *error);
/* Every input and output of a scene, and the scene's own file. */
SINEW_API sinew_status sinew_file_plan_add_scene(sinew_file_plan *plan, const sinew_scene *scene,
                                                 sinew_error *error);
/* SINEW_BAD_INPUT when two outputs are one file, or when an output would overwrite an input. */
SINEW_API sinew_status sinew_file_plan_check(const sinew_file_plan *plan, sinew_error *error);
/* SINEW_BAD_INPUT when an output lies outside the folder, with links followed. */
SINEW_API sinew_status sinew_file_plan_check_inside(const sinew_file_plan *plan, const char *folder,
                                                    sinew_error *error);
SINEW_API int sinew_file_plan_count(const sinew_file_plan *plan);
/* As it was given, and from the root with links followed; NULL outside 0 <= index < count. */
SINEW_API const char *sinew_file_plan_path(const sinew_file_plan *plan, int index);
SINEW_API const char *sinew_file_plan_real_path(const sinew_file_plan *plan, int index);
SINEW_API bool sinew_file_plan_is_output(const sinew_file_plan *plan, int index);

#ifdef __cplusplus
}
#endif
#endif
