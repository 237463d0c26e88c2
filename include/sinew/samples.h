/* Built-in procedural rigs, shared by tests, benchmarks, demo and studio.
 *
 *   name     what it is                                  made to show
 *   bar      rounded bar, bent and twisted               large rotations, several turns
 *   arm      upper arm, forearm and hand                 elbow, forearm twist
 *   hand     five digits on a palm                       fist, point, pinch: bends side by side
 *   blob     soft creature with ears and tail            dynamic motion
 *   face     head, eyes, teeth, tongue, brows            the 52 ARKit sliders; lids and lips close
 *   face2    broad jaw, large nose, wider eyes           retargeting
 *
 * Lengths are in meters, y is up, characters face +z. Surfaces are quads, counter-clockwise
 * from outside. The same name and options give the same bits every time, on any number of
 * threads. */
#ifndef SINEW_SAMPLES_H
#define SINEW_SAMPLES_H

#include <stdint.h>

#include "sinew/curves.h"
#include "sinew/marker_map.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SINEW_SAMPLE_MIN_VERTICES = 1000,
    SINEW_SAMPLE_MAX_VERTICES = 2000000,
};

typedef struct sinew_sample_options {
    uint32_t size; /* of this structure in bytes; set by sinew_sample_options_init */
    /* Requested number of vertices, SINEW_SAMPLE_MIN_VERTICES to SINEW_SAMPLE_MAX_VERTICES; 0: the
     * sample's default. The grid allows only certain counts; the nearest one is used. */
    int vertices;
    /* Progress and cancelling of the call, valid during it; NULL: none. */
    const sinew_monitor *monitor;
} sinew_sample_options;

SINEW_API void sinew_sample_options_init(sinew_sample_options *options);

SINEW_API int sinew_sample_count(void);
/* Name and one-line description; NULL for an index out of range. */
SINEW_API const char *sinew_sample_name(int index);
SINEW_API const char *sinew_sample_summary(int index);

/* The rig of that name, every pose a target with a slider of the same name. options may be NULL.
 * Returns SINEW_BAD_INPUT for an unknown name and lists the names. */
SINEW_API sinew_status sinew_sample_rig(const char *name, const sinew_sample_options *options,
                                        sinew_rig **rig, sinew_error *error);

/* A clip for that rig: one channel per slider it moves, 30 values a second. Bodies walk through all
 * their poses; faces talk for ten seconds, with blinks and brows. */
SINEW_API sinew_status sinew_sample_curves(const char *name, sinew_curves **curves,
                                           sinew_error *error);

/* A short clip for the faces: lips that are a little apart at first close, press and part again. */
SINEW_API sinew_status sinew_sample_lip_curves(sinew_curves **curves, sinew_error *error);

enum { SINEW_SAMPLE_SEED = 1 };

typedef struct sinew_sample_marker_options {
    uint32_t size; /* of this structure in bytes; set by sinew_sample_marker_options_init */
    double noise;  /* standard deviation per coordinate, meters, >= 0; 0: none */
    double gaps;   /* fraction of missing positions, 0 to 0.9, in runs of 3 to 15 frames; 0: none */
    unsigned seed; /* of noise and gaps; SINEW_SAMPLE_SEED */
    bool lips;     /* the closing lips instead of the talking clip */
} sinew_sample_marker_options;

/* The talking clip without noise and gaps. */
SINEW_API void sinew_sample_marker_options_init(sinew_sample_marker_options *options);

/* A clip of a face as 60 markers at 60 frames a second, and the vertices they sit on.
 * Both options may be NULL. */
SINEW_API sinew_status sinew_sample_markers(const char *name, const sinew_sample_options *options,
                                            const sinew_sample_marker_options *marker_options,
                                            sinew_markers **markers, sinew_marker_map **map,
                                            sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
