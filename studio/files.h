/* Files that pages drop and download. */
#ifndef STUDIO_FILES_H
#define STUDIO_FILES_H

#include <jansson.h>
#include <stddef.h>

#include <sinew/sinew.h>

#include "project.h"
#include "solver.h"

enum { FILES_LIMIT = 2000 }; /* files in one drop */

/* Replaces the signs that mean something in paths and patterns, in place. */
void files_clean_name(char *name);

/* A binary message from a page: header {"type": "files", "files": [{"name", "size"}, ...]} and the
 * bytes of the files one after the other. Writes them into the project and gives the patch that
 * uses them: a rig, a clip, a take or a scene; with "use": "obstacle", meshes as obstacles.
 * *malformed: the message breaks the protocol. */
sinew_status files_receive(const project *p, const unsigned char *bytes, size_t size,
                           json_t **operations, char label[128], bool *malformed,
                           sinew_error *error);

/* Sends the triangles of a mesh of the project to the page that asked. */
sinew_status files_mesh(solver *s, const project *p, const char *file, int client,
                        sinew_error *error);

/* Computes an export and sends it to the page that asked. what: "clip", "curves", or "shape", which
 * is that of a frame of the clip or of the pose (-1); format: an ending such as "glb". */
sinew_status files_export(solver *s, project *p, const char *what, const char *format, int frame,
                          int client, sinew_error *error);

#endif
