/* What the name of a marker says about where it sits. */
#ifndef SN_CAPTURE_MARKER_NAMES_H
#define SN_CAPTURE_MARKER_NAMES_H

#include "sinew/anatomy.h"
#include "sinew/curves.h"

typedef struct sn_marker_name {
    int landmark;    /* sinew_landmark, or -1: the name does not tell */
    sinew_side side; /* as named, also where the landmark is not known */
    bool stable;     /* moves with the head rather than with the face: forehead, temple, ear */
} sn_marker_name;

/* "Leye_Up", "lipCornerLeft", "RBRO2", "Actor:L_Cheek": words, their usual short forms and sides,
 * in any order and joined in any way. */
sn_marker_name sn_marker_name_parse(const char *name);

/* Numbered layouts are known by their size: 68 or 51 points (iBUG), 468 or 478 (MediaPipe). All
 * other takes are parsed name by name. names[take->marker_count]. */
void sn_marker_names_of(const sinew_markers *take, sn_marker_name *names);
/* Whether the take is one of the numbered layouts. */
bool sn_marker_names_numbered(const sinew_markers *take);

/* Which markers of a take are one face: those with labels ("*12", "Unlabeled 7" have none), and, if
 * labels are repeated under several prefixes ("A:chin", "B:chin"), those of the subject that is
 * seen most. Markers are never all left out. chosen[take->marker_count]. */
typedef struct sn_marker_choice {
    int unlabeled, others; /* markers left out: without a label; of other subjects */
    const char *subject;   /* a marker of the chosen subject, whose name has its prefix; or NULL */
} sn_marker_choice;
sinew_status sn_marker_names_choose(const sinew_markers *take, bool *chosen,
                                    sn_marker_choice *choice, sinew_error *error);

#endif
