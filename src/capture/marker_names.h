/* What the name of a marker says about where it sits. */
#ifndef SN_CAPTURE_MARKER_NAMES_H
#define SN_CAPTURE_MARKER_NAMES_H

#include "sinew/anatomy.h"
#include "sinew/curves.h"

typedef enum sn_margin {
    SN_MARGIN_NONE,
    SN_MARGIN_LID_UPPER,
    SN_MARGIN_LID_LOWER,
    SN_MARGIN_LIP_UPPER,
    SN_MARGIN_LIP_LOWER
} sn_margin;

typedef struct sn_marker_name {
    int landmark;     /* sinew_landmark, or -1: the name does not tell */
    sinew_side side;  /* as named, also where the landmark is not known */
    bool stable;      /* moves with the head rather than with the face: forehead, temple, ear */
    sn_margin margin; /* the lid or lip on which it sits, corners on none */
    double along;     /* on the margin of that: how far across the opening, from the inner corner of
                         an eye or the right one of the mouth, 0 to 1; NaN: not on it, or not told */
} sn_marker_name;

/* "Leye_Up", "lipCornerLeft", "RBRO2", "Actor:L_Cheek": words, their usual short forms and sides,
 * in any order and joined in any way. */
sn_marker_name sn_marker_name_parse(const char *name);

/* The same for all markers of a take, in which an L beside a U is lower and not left.
 * names[take->marker_count]. */
void sn_marker_names_of(const sinew_markers *take, sn_marker_name *names);

/* How well a landmark is known from targets, and how alike people put markers on it, 0 to 1; from
 * SN_LANDMARK_SHARP on, everybody means nearly the same place. */
double sn_landmark_weight(int landmark);
#define SN_LANDMARK_SHARP 0.4

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
