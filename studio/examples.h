/* The scenes of the start screen, and scenes for the built-in rigs. */
#ifndef STUDIO_EXAMPLES_H
#define STUDIO_EXAMPLES_H

#include <jansson.h>

#include <sinew/sinew.h>

/* [{"name", "title", "hint"}, ...] */
json_t *examples_list(void);
/* The document of an example. vertices: about how many its rig has, 0 for the rig's own number.
 * Files it needs (a take) are written to `files_path`, which the scene calls `files_name`. */
sinew_status examples_document(const char *name, int vertices, const char *files_path,
                               const char *files_name, json_t **document, sinew_error *error);
/* The slider that shows what an example is about, or NULL when its clip does. */
const char *examples_slider(const char *name);
/* A scene that shows a built-in rig with its clip. */
sinew_status examples_sample(const char *sample, json_t **document, sinew_error *error);
/* What the studio starts with: springs that are pulled to the blend strongly enough that a hand on
 * the cheek does not carry the head along, and colors where they differ from the blend. */
void examples_use_spring(json_t *document);

#endif
