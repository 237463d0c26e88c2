/* A scene's markers for the models that follow them (sinew/capture.h), sampled at the frames of the
 * clip, and the comparison of frames with markers and truth. */
#ifndef SN_JOB_CAPTURE_H
#define SN_JOB_CAPTURE_H

#include "session/model.h"
#include "session/parameters.h"
#include "sinew/capture.h"
#include "sinew/frames.h"
#include "sinew/marker_layer.h"

/* Rows that every model which follows markers has in its table. */
#define SN_CAPTURE_PARAMETERS                                                                      \
    FLAG(STRUCTURE, "layer", 0, "spread what is left at the markers over the skin"),               \
        NUMBER(STRUCTURE, "layer_smoothing", SINEW_MARKER_LAYER_SMOOTHING, 1e-12, 1, "",           \
               "of the layer; noisy markers want 1e-6 and more"),                                  \
        FLAG(STRUCTURE, "retarget", 0,                                                             \
             "the markers are of another face, at rest in the neutral frame"),                     \
        INTEGER(STRUCTURE, "neutral_frame", -1, -1, 2000000000,                                    \
                "sample of the take in which the face is at rest, from 0; -1: the first in which " \
                "most markers are seen"),                                                          \
        TEXT(STRUCTURE, "stable", "names of markers that move with the head, separated by commas")

/* And of their tables of rules. */
#define SN_CAPTURE_IDLE                                                                            \
    {"layer", "markers", NULL}, {"layer_smoothing", "layer", NULL}, {"retarget", "markers", NULL}, \
        {"neutral_frame", "markers", NULL}, {                                                      \
        "stable", "markers", NULL                                                                  \
    }

typedef struct sn_capture {
    const sinew_rig *rig;
    const sn_clip *clip;
    sinew_capture *capture;
    const sinew_marker_map *map; /* of the capture */
    double *row;                 /* 3 per marker of the map, NaN where missing */
    double *places;              /* 3 per marker of the map */
    sinew_frames *truth;         /* NULL: none */
    int beyond_truth;            /* frames computed that the truth does not have */
    const sinew_monitor *monitor;
    /* figures per frame; NaN where not computed */
    double *marker_error, *truth_error;
} sn_capture;

/* From the scene's markers {file, map, truth} and the parameters above. The choice made without a
 * map is logged. */
sinew_status sn_capture_create(const sn_model_setup *setup, sn_capture **capture,
                               sinew_error *error);
void sn_capture_destroy(sn_capture *capture);
/* capture->row of a frame of the clip. */
void sn_capture_sample(sn_capture *capture, int frame);
/* RMS distance of the sampled markers to positions and of positions to the truth: into `fields`
 * (may be NULL) and into the figures. Then the head's motion is put back into positions. */
void sn_capture_finish(sn_capture *capture, int frame, double *positions, json_t *fields);
/* Totals over the frames that were computed; `plot` (may be NULL): curves of the errors, PNG. */
sinew_status sn_capture_report(const sn_capture *capture, json_t *report, const char *plot,
                               sinew_error *error);

#endif
