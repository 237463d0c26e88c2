/* A scene's markers for the models that follow them (sinew/capture.h), sampled at the frames of the
 * clip, and the comparison of frames with markers and truth. */
#ifndef SN_SESSION_FOLLOW_H
#define SN_SESSION_FOLLOW_H

#include "session/model.h"
#include "session/parameters.h"
#include "sinew/capture.h"
#include "sinew/frames.h"
#include "sinew/marker_layer.h"

/* Rows that every model which follows markers has in its table. */
#define SN_CAPTURE_PARAMETERS                                                                      \
    FLAG(STRUCTURE, "layer", 0, "Spread the remaining marker error over the outer skin."),         \
        NUMBER(STRUCTURE, "layer_smoothing", SINEW_MARKER_LAYER_SMOOTHING, 1e-12, 1, "",           \
               "Smoothness of the layer, alike for all markers. Without it, markers that would "   \
               "fold the skin are met less closely."),                                             \
        CHOICE(STRUCTURE, "layer_contact", 1, "off|on",                                            \
               "Keep the layer from pushing skin through eyes, teeth or itself."),                 \
        TEXT(STRUCTURE, "only",                                                                    \
             "Sliders to solve for, separated by commas; * matches any ending. All "               \
             "others are held."),                                                                  \
        TEXT(STRUCTURE, "also",                                                                    \
             "Sliders to solve for although the markers do not observe them, such "                \
             "as gaze; or all."),                                                                  \
        TEXT(STRUCTURE, "without", "Sliders to hold."),                                            \
        FLAG(STRUCTURE, "retarget", 0, "The markers belong to another face."),                     \
        INTEGER(STRUCTURE, "neutral_frame", -1, -1, 2000000000,                                    \
                "Sample of the take in which the face is at rest, counted from 0; -1: "            \
                "detected."),                                                                      \
        NUMBER(STRUCTURE, "cutoff", -1, -1, 1000, "Hz",                                            \
               "Smooth out motion above this frequency; 0: off; -1: depends on the "               \
               "noise."),                                                                          \
        TEXT(STRUCTURE, "stable",                                                                  \
             "Markers that move only with the head, separated by commas; none: the "               \
             "head does not move (default: detected).")

/* And of their tables of rules. */
#define SN_CAPTURE_IDLE                                                                            \
    {"layer", "markers", NULL}, {"layer_smoothing", "layer", NULL},                                \
        {"layer_contact", "layer", NULL}, {"only", "markers", NULL}, {"also", "markers", NULL},    \
        {"without", "markers", NULL}, {"retarget", "markers", NULL},                               \
        {"neutral_frame", "markers", NULL}, {"cutoff", "markers", NULL}, {                         \
        "stable", "markers", NULL                                                                  \
    }

/* The take of the clip on the rig, from the scene's markers {file, map} and the parameters above;
 * the choice made without a map is logged. */
sinew_status sn_follow_capture(const sn_model_setup *setup, sinew_capture **capture,
                               sinew_error *error);
/* Adds what a capture depends on to the key of a structure. */
void sn_follow_key(const sn_model_setup *setup, sinew_hash *hash);

/* held[slider_count]: the sliders that the map's markers do not tell or the parameters exclude. The
 * report's "sliders" names them with the reason. */
sinew_status sn_follow_held(const sn_model_setup *setup, const sinew_marker_map *map, bool *held,
                            sinew_error *error);

/* What one solver needs to follow a capture. */
typedef struct sn_follow {
    const sinew_rig *rig;
    const sinew_capture *capture;
    const sinew_marker_map *map; /* of the capture */
    double *row;                 /* 3 per marker of the map, NaN where missing */
    double *weights;             /* per marker of the map, of the same sample */
    double *positions;           /* 3 per marker of the map */
    sinew_frames *truth;         /* to compare with; NULL: none */
} sn_follow;

sinew_status sn_follow_create(const sn_model_setup *setup, const sinew_capture *capture,
                              sn_follow *follow, sinew_error *error);
void sn_follow_free(sn_follow *follow);
/* follow->row of what is asked: the caller's markers, or the take's. */
void sn_follow_sample(sn_follow *follow, const sn_ask *ask);
/* RMS distance of the sampled markers to positions and of positions to the truth, into `fields`
 * (may be NULL). Then the head's motion is put back into positions. */
void sn_follow_finish(sn_follow *follow, const sn_ask *ask, double *positions, json_t *fields);

#endif
