/* Takes whose markers are numbered as in a known layout of face landmarks: iBUG's 68 points and the
 * sets derived from it (51, 66, 49, 70), WFLW's 98, MediaPipe's 468 and 478. */
#ifndef SN_CAPTURE_MARKER_LAYOUTS_H
#define SN_CAPTURE_MARKER_LAYOUTS_H

#include "capture/marker_names.h"

typedef struct sn_layout_guess {
    int layout, first; /* first: number of its first point */
    bool certain;      /* false: use it only if the positions agree */
} sn_layout_guess;

enum { SN_LAYOUT_GUESSES = 8 };

/* Returns how many; 0: the take is not numbered like a layout. */
int sn_layout_guesses(const sinew_markers *take, sn_layout_guess guesses[SN_LAYOUT_GUESSES]);
/* names[take->marker_count], as the guess has it. */
void sn_layout_names(const sinew_markers *take, const sn_layout_guess *guess,
                     sn_marker_name *names);

#endif
