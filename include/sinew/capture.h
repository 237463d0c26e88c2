/* A captured take, ready for a rig: markers tied to points of the face, without the head's own
 * motion, moved to where they would sit on this face, and sampled at any time.
 *
 *   sinew_capture_options options;
 *   sinew_capture_options_init(&options);
 *   sinew_capture *capture;
 *   sinew_capture_create(rig, take, &options, NULL, &capture, &error);
 *   sinew_fit_create(rig, sinew_capture_map(capture), ...);
 *   for each frame:
 *       sinew_capture_sample(capture, time, markers);       what the solvers follow
 *       ... solve ...
 *       sinew_capture_head(capture, time, &motion);         put the head back
 *       sinew_rigid_apply(&motion, vertex_count, positions);
 */
#ifndef SINEW_CAPTURE_H
#define SINEW_CAPTURE_H

#include <stdint.h>

#include "sinew/anatomy.h"
#include "sinew/curves.h"
#include "sinew/marker_map.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_capture_options {
    uint32_t size;
    const sinew_marker_map *map;  /* where the markers sit on the neutral; NULL: found, see
                                     sinew_map_source. Copied */
    const sinew_anatomy *anatomy; /* of the rig, when it is at hand; NULL: made where needed */
    int neutral_sample; /* sample of the take in which the face is at rest; -1: in the first calm
                           stretch */
    const char *stable; /* names of markers that move with the head, separated by commas; "none":
                           the head does not move; NULL or "": its motion is found from all markers,
                           weighted by how little they move against each other */
    double cutoff;   /* Hz: frequencies above are smoothed away (half the amplitude there); 0: none;
                        -1: as low as the noise of the take asks for */
    bool retarget;   /* the markers are those of another face */
    double rig_unit; /* meters in the rig's unit of length, for advice in messages; 0: unknown */
} sinew_capture_options;

SINEW_API void sinew_capture_options_init(sinew_capture_options *options);

/* How the markers were tied to the face. */
typedef enum sinew_map_source {
    SINEW_MAP_SOURCE_GIVEN,
    SINEW_MAP_SOURCE_BY_VERTEX, /* markers are named after vertices or regions of the rig */
    SINEW_MAP_SOURCE_IN_PLACE,  /* the take lies on the face: nearest points of the outer skin */
    SINEW_MAP_SOURCE_BY_NAMES,  /* names tell the landmarks: similarity, warp, nearest points */
    SINEW_MAP_SOURCE_BY_SHAPE   /* without names that tell: the best of 24 orientations */
} sinew_map_source;

/* Seconds of the longest gap that is filled. */
#define SINEW_CAPTURE_GAP 0.2

/* Median distance of the markers from their points on the face in the neutral sample, as a fraction
 * of the diagonal: beyond the first a warning is logged, beyond the second the take is refused. */
#define SINEW_CAPTURE_FAR  0.1
#define SINEW_CAPTURE_LOST 1.0

typedef struct sinew_capture_info {
    uint32_t size;
    int samples;        /* of the take */
    double rate;        /* samples per second, 0 for a single sample */
    int markers;        /* of the take */
    int used;           /* of these, tied to the face */
    int neutral_sample; /* that was used */
    sinew_map_source map_source;
    int doubtful;    /* markers whose point on the face is in doubt, see sinew_capture_doubt */
    int left_out;    /* markers of the take that lie off the face */
    bool head_moves; /* head motion was found and removed */
    int filled;      /* positions in short gaps that were filled */
    double noise;    /* estimated standard deviation of a coordinate, rig's unit of length */
    double cutoff;   /* Hz, of the smoothing; 0: none */
    double scale;    /* of the take to the rig's unit of length, found with the map; 1: as it is */
    int relabeled;   /* positions whose labels had been exchanged, and were put back */
} sinew_capture_info;

/* Constant once created: may be shared between threads. */
typedef struct sinew_capture sinew_capture;

/* The rig must outlive the capture; the take is copied. With a map it has the rig's unit of length;
 * without one its position and scale are found. A take that does not lie on the face as it is
 * counts as another face and is retargeted. Choices made without a map, doubtful markers and
 * markers that are not used are logged. Returns SINEW_BAD_INPUT when no marker is tied to the face,
 * the take lies elsewhere, the map does not fit the take, or a stable marker is unknown. */
SINEW_API sinew_status sinew_capture_create(const sinew_rig *rig, const sinew_markers *take,
                                            const sinew_capture_options *options,
                                            const sinew_monitor *monitor, sinew_capture **capture,
                                            sinew_error *error);
SINEW_API void sinew_capture_destroy(sinew_capture *capture);
SINEW_API void sinew_capture_get_info(const sinew_capture *capture, sinew_capture_info *info);
/* Valid as long as the capture. */
SINEW_API const sinew_marker_map *sinew_capture_map(const sinew_capture *capture);
/* Why the point of a marker of the map is in doubt; NULL when it is not. */
SINEW_API const char *sinew_capture_doubt(const sinew_capture *capture, int marker);
/* markers[3 * map->count] in the map's order at a time in seconds, NaN where missing. */
SINEW_API void sinew_capture_sample(const sinew_capture *capture, double time, double *markers);
/* weights[map->count] at a time: those of the map, less where a marker was filled, 0 where it is
 * missing. */
SINEW_API void sinew_capture_weights(const sinew_capture *capture, double time, double *weights);
/* The rigid motion from the face without head motion to where the take has it. */
SINEW_API void sinew_capture_head(const sinew_capture *capture, double time, sinew_rigid *motion);

/* Share of the stable markers' spread by which a distance between two of them may change, and one
 * of them may lie off its place, before it counts as slipped in that frame. */
#define SINEW_STABILISE_SLIP 0.05

/* Takes the head's motion out of a take: in each frame the rigid motion that best brings the stable
 * markers onto reference[3 * stable_count] (their places on the neutral) is applied to all markers,
 * and its inverse is kept in motion[time_count] (may be NULL) for putting it back. Stable markers
 * that are missing or slipped are left out; a frame with fewer than three, or with three on a line,
 * keeps the last motion (held_frames, may be NULL). Distances between stable markers are those of
 * most of the take, or of the neutral where one slipped for good. Bad input by name: fewer than
 * three, one that is given twice, all on a line. */
SINEW_API sinew_status sinew_markers_stabilise(sinew_markers *markers, int stable_count,
                                               const int *stable, const double *reference,
                                               sinew_rigid *motion, int *held_frames,
                                               sinew_error *error);
#ifdef __cplusplus
}
#endif
#endif
