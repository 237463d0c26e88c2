/* A captured take prepared for a rig: markers attached to points of the face, head motion removed,
 * retargeted to this face, and sampled at any time.
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
    const sinew_marker_map *map; /* positions of the markers on the neutral; NULL: found
                                    automatically, see sinew_map_source. Copied */
    const sinew_anatomy
        *anatomy;       /* anatomy of the rig, if the caller has one; NULL: computed when needed */
    int neutral_sample; /* sample of the take in which the face is at rest; -1: in the first calm
                           stretch */
    const char *stable; /* names of markers that move with the head, separated by commas; "none":
                           the head does not move; NULL or "": its motion is found from all markers,
                           weighted by how little they move against each other */
    double cutoff;   /* Hz: low-pass cutoff (half the amplitude there); 0: no smoothing; -1: chosen
                        from the noise of the take */
    bool retarget;   /* the markers are those of another face */
    double rig_unit; /* meters in the rig's unit of length, for advice in messages; 0: unknown */
} sinew_capture_options;

SINEW_API void sinew_capture_options_init(sinew_capture_options *options);

/* How the markers were attached to the face. */
typedef enum sinew_map_source {
    SINEW_MAP_SOURCE_GIVEN,
    SINEW_MAP_SOURCE_BY_VERTEX, /* markers are named after vertices or regions of the rig */
    SINEW_MAP_SOURCE_IN_PLACE,  /* the take lies on the face: nearest points of the outer skin */
    SINEW_MAP_SOURCE_BY_NAMES,  /* names identify landmarks: similarity, warp, nearest points */
    SINEW_MAP_SOURCE_BY_SHAPE   /* no recognizable names: the best of 24 orientations */
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
    int used;           /* of these, attached to the face */
    int neutral_sample; /* that was used */
    sinew_map_source map_source;
    int doubtful;    /* markers whose point on the face is in doubt, see sinew_capture_doubt */
    int left_out;    /* markers of the take that lie off the face */
    bool head_moves; /* head motion was found and removed */
    int filled;      /* positions in short gaps that were filled */
    double noise;    /* estimated standard deviation of a coordinate, rig's unit of length */
    double cutoff;   /* Hz, of the smoothing; 0: none */
    double scale;    /* of the take to the rig's unit of length, found with the map; 1: as it is */
    int relabeled;   /* positions whose labels were swapped and have been corrected */
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
/* The rigid motion from the face without head motion to its position in the take. */
SINEW_API void sinew_capture_head(const sinew_capture *capture, double time, sinew_rigid *motion);

/* A stable marker counts as slipped in a frame when its distance to another, or from its own
 * position, changes by more than this fraction of the markers' spread. */
#define SINEW_STABILISE_SLIP 0.05

/* Removes the head motion from a take. In each frame, the rigid motion that best moves the stable
 * markers onto reference[3 * stable_count] (their positions on the neutral) is applied to all
 * markers; its inverse is stored in motion[time_count] (may be NULL) to restore it later. Stable
 * markers that are missing or slipped are ignored; a frame with fewer than three, or with three on
 * a line, keeps the previous motion (held_frames, may be NULL). Distances between stable markers
 * are those of most of the take, or of the neutral where one slipped for good. Returns
 * SINEW_BAD_INPUT and names the marker for fewer than three markers, duplicates, and markers on one
 * line. */
SINEW_API sinew_status sinew_markers_stabilise(sinew_markers *markers, int stable_count,
                                               const int *stable, const double *reference,
                                               sinew_rigid *motion, int *held_frames,
                                               sinew_error *error);
#ifdef __cplusplus
}
#endif
#endif
