/* Text forms that people write on command lines and in dialogs, with one parser each. They become
 * the JSON that a scene holds, ready for sinew_scene_set and sinew_session_patch.
 *
 *   numbers     0,0.5,1
 *   weights     smile=0.5,jaw=1                  -> {"smile": 0.5, "jaw": 1}
 *   obstacle    sphere:x,y,z,r  part:NAME  FILE  -> {"shape": "sphere", "center": [x, y, z], ...}
 *   pin         SELECT  SELECT@FILE              -> {"select": ..., "frames": ...}
 *   pull        VERTEX=x,y,z[:stiffness]         -> {"vertex": ..., "to": [...], ...}
 *   orientation SELECT=x,y,z[:weight]            -> {"select": ..., "turn": [...], ...}
 *   lock        NAME:SELECT[:xyz]                -> {"name": ..., "select": ..., "axes": ...}
 *   frames      A-B  A-  A
 *
 * SELECT is described in sinew/selection.h. Decimal points are points in every locale. All parsers
 * return SINEW_BAD_INPUT with a message that quotes the text and shows the expected form; JSON text
 * is released with sinew_free. */
#ifndef SINEW_TEXT_H
#define SINEW_TEXT_H

#include "sinew/memory.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One finite number, with nothing but blanks around it. */
SINEW_API sinew_status sinew_text_number(const char *text, double *number, sinew_error *error);
/* Finite numbers separated by commas; release with sinew_free. */
SINEW_API sinew_status sinew_text_numbers(const char *text, double **numbers, int *count,
                                          sinew_error *error);
/* Index of a word among "free|static|pinned" (sinew_parameter.choices), or -1. */
SINEW_API int sinew_text_choice(const char *choices, const char *word);
/* Frames first..last; last is -1 for "A-". */
SINEW_API sinew_status sinew_text_frames(const char *text, int *first, int *last,
                                         sinew_error *error);
/* A name that appears twice is SINEW_BAD_INPUT. Names are matched to sliders by the scene; to set
 * weights of a rig directly see sinew_rig_parse_weights. */
SINEW_API sinew_status sinew_text_weights(const char *text, char **json, sinew_error *error);
/* Primitives as in sinew_obstacle_parse; "part:NAME" is a part of the rig; anything else is the
 * path of a mesh. */
SINEW_API sinew_status sinew_text_obstacle(const char *text, char **json, sinew_error *error);
SINEW_API sinew_status sinew_text_pin(const char *text, char **json, sinew_error *error);
SINEW_API sinew_status sinew_text_pull(const char *text, char **json, sinew_error *error);
SINEW_API sinew_status sinew_text_orientation(const char *text, char **json, sinew_error *error);
SINEW_API sinew_status sinew_text_lock(const char *text, char **json, sinew_error *error);

/* The name that a misspelled word probably means, or NULL when none is near. Case does not count.
 */
SINEW_API const char *sinew_text_nearest(const char *word, int count, const char *const *names);
/* Replaces everything that is not printable text on one line by '?', in place: control characters,
 * terminal escape sequences, line feeds, characters that show nothing or turn the direction of
 * text, and bytes that are not UTF-8. */
SINEW_API void sinew_text_make_printable(char *text);

#ifdef __cplusplus
}
#endif
#endif
