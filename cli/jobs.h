/* What verbs that run a job share: options to a scene, the run, the summary. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include "sinew/job.h"
#include "verb.h"

/* "a-b", "a-" or "a" of --frames; 0 and -1 (all) when absent. */
sinew_status cli_frame_range(cli_call *call, int *first, int *last);

/* A text form of sinew/text.h that becomes a value of the scene. */
typedef sinew_status cli_form(const char *text, char **json, sinew_error *error);
/* The index-th value of the option as JSON, its paths as cli_path has them; NULL: usage error. */
json_t *cli_read_form(cli_call *call, const char *option, int index, cli_form *form);
/* All values of the option, as a list. */
sinew_status cli_read_forms(cli_call *call, const char *option, cli_form *form, json_t **list);

/* "regions" of a scene's rig, if --regions is given. */
void cli_add_regions(cli_call *call, json_t *rig);

/* A path of the command line for the scene: as it is, or from the root when --scene-out puts the
 * scene into another folder. */
json_t *cli_path(const cli_call *call, const char *path);

/* Sets parameters[name] of the document from the option, when it was given. The model must have
 * that parameter: otherwise a usage error. */
sinew_status cli_parameter(cli_call *call, json_t *document, const char *model, const char *option,
                           const char *name);

/* The rig of the document: the verb's arguments as files, or --sample, with --vertices when `sized`
 * says that the verb has that option. */
sinew_status cli_add_rig(cli_call *call, json_t *document, bool sized);

/* The scene of a document, which it takes; `name` replaces the file name in messages. */
sinew_status cli_make_scene(cli_call *call, json_t *document, const char *name,
                            sinew_scene **scene);
/* Makes the scene (takes the document), runs it over --frames, adds its figures to the report and
 * says what was done. `saved`, when not NULL, is where the scene itself is kept. */
sinew_status cli_run_document(cli_call *call, json_t *document, const char *saved);
/* The same for a verb whose `fill` turns its options into the document; kept at --scene-out. */
sinew_status cli_run_filled(cli_call *call, sinew_status (*fill)(cli_call *call, json_t *document));
sinew_status cli_run_scene(cli_call *call, const sinew_scene *scene);

/* The file in a folder of parts that says which scene they are of. */
#define CLI_PART_SCENE "scene.path"
/* Prints what a job that wrote its outputs did, and adds its figures to the report. */
void cli_say_job(cli_call *call, const sinew_job *job, const sinew_scene *scene,
                 sinew_status status);

/* The folder that paths in the scene are relative to, newly allocated: --folder, or that of the
 * file. For a scene that is piped in, as /dev/stdin, it is the working directory. NULL: no memory.
 */
char *cli_scene_folder(const cli_call *call, const char *path);
/* The scene in the file. */
sinew_status cli_read_scene(cli_call *call, const char *path, sinew_scene **scene);
#define CLI_FOLDER_OPTION                                                                          \
    {                                                                                              \
        "--folder", CLI_TEXT, "DIR",                                                               \
            "Folder that paths in the scene are relative to (default: the folder of the scene).",  \
            0, 0, false                                                                            \
    }

/* Of a verb whose options select vertices. */
#define CLI_REGIONS_OPTION                                                                         \
    {                                                                                              \
        "--regions", CLI_INPUT, "FILE",                                                            \
            "Additional regions for selections, JSON {name: [vertices]}.", 0, 0, false             \
    }

/* Options that a verb which builds a scene has in its table. */
#define CLI_SCENE_OPTION                                                                           \
    {                                                                                              \
        "--scene-out", CLI_OUTPUT, "FILE", "Save the job as a scene file for 'sinew run'.", 0, 0,  \
            false                                                                                  \
    }
#define CLI_FRAMES_OPTION                                                                          \
    {                                                                                              \
        "--frames", CLI_TEXT, "A-B", "Compute only frames A to B of the clip, counted from 0.", 0, \
            0, false                                                                               \
    }

#endif
