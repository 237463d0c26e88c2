/* Built-in rigs, made by formula: what tests, benchmarks, demo and studio share.
 *
 *   name     what it is                                  made to show
 *   bar      rounded bar, bent and twisted               large rotations, several turns
 *   arm      upper arm, forearm and mitten               elbow, forearm twist
 *
 * Lengths are metres, y is up, the front looks along +z. Surfaces are quads, outside
 * counter-clockwise. The same name and options give the same bits every time, on any number of
 * threads. */
#ifndef SINEW_SAMPLES_H
#define SINEW_SAMPLES_H

#include "sinew/curves.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SINEW_SAMPLE_MIN_VERTICES = 1000,
    SINEW_SAMPLE_MAX_VERTICES = 200000,
};

typedef struct sinew_sample_options {
    /* Wanted number of vertices, SINEW_SAMPLE_MIN_VERTICES to SINEW_SAMPLE_MAX_VERTICES; 0: the
     * sample's own. The grid only fits certain counts: the result is the nearest of them. */
    int vertices;
} sinew_sample_options;

SINEW_API sinew_sample_options sinew_sample_default_options(void);

SINEW_API int sinew_sample_count(void);
/* Name and one-line description; NULL for an index out of range. */
SINEW_API const char *sinew_sample_name(int index);
SINEW_API const char *sinew_sample_summary(int index);

/* The rig of that name, every pose a target with a slider of the same name. options may be NULL.
 * An unknown name is bad input; the message lists the names. */
SINEW_API sinew_status sinew_sample_rig(const char *name, const sinew_sample_options *options,
                                        sinew_rig **rig, sinew_error *error);

/* A clip for that rig: one channel per slider it moves, 30 values a second. */
SINEW_API sinew_status sinew_sample_curves(const char *name, sinew_curves **curves,
                                           sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
