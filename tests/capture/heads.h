/* Heads with known points of the 68-point layout. */
#ifndef TESTS_CAPTURE_HEADS_H
#define TESTS_CAPTURE_HEADS_H

#include "sinew/anatomy.h"
#include "sinew/curves.h"
#include "sinew/marker_map.h"
#include "sinew/rig.h"

enum { LAYOUT_POINTS = 68, HEADS = 4 };

typedef struct head {
    const char *name;
    sinew_rig *rig; /* NULL: real data that are not there */
    sinew_anatomy *anatomy;
    const int *points; /* vertices of the layout; -1: not known */
    double eyes;       /* distance */
} head;

typedef struct heads {
    head all[HEADS]; /* face, face2, ICT-FaceKit, Face Cap (lids and inner lips only) */
} heads;

/* Setup and teardown of a group: *state is a `heads`. */
int make_heads(void **state);
int drop_heads(void **state);

/* The head's points as a take of a few samples, in millimeters, turned, with z up. Points that
 * `kept` (may be NULL) leaves out are not in it. Names: the prefix and the number from `first` on.
 */
sinew_markers *layout_take(const head *from, const char *prefix, int first, const bool *kept);
/* The point of a map's marker on the neutral. */
void point_of(const sinew_rig *rig, const sinew_marker_map *map, int marker, double point[3]);

#endif
