/* What the verbs that follow markers share: rig, markers and outputs of the scene. */
#ifndef CLI_MARKERS_H
#define CLI_MARKERS_H

#include "jobs.h"

#define CLI_MARKERS_OPTIONS                                                                         \
    {"--markers", CLI_INPUT, "FILE", "marker trajectories: CSV, C3D or TRC", 0, 0, false},          \
        {"--map",                                                                                   \
         CLI_INPUT,                                                                                 \
         "FILE",                                                                                    \
         "CSV NAME,vertex or NAME,triangle,b0,b1,b2 (default: by names, else nearest points)",      \
         0,                                                                                         \
         0,                                                                                         \
         false},                                                                                    \
        {"--marker-unit",                                                                           \
         CLI_CHOICE,                                                                                \
         "m|dm|cm|mm|in|ft",                                                                        \
         "of the markers (default: as their file says, else the rig's)",                            \
         0,                                                                                         \
         0,                                                                                         \
         false},                                                                                    \
        {"--unit", CLI_CHOICE, "m|dm|cm|mm|in|ft", "of the rig (default m)", 0, 0, false},          \
        {"--stable", CLI_TEXT,                                                                      \
         "LIST",     "markers that move with the head alone; its motion is taken out and put back", \
         0,          0,                                                                             \
         false},                                                                                    \
        {"--retarget",                                                                              \
         CLI_FLAG,                                                                                  \
         NULL,                                                                                      \
         "the markers are of another face, at rest in the neutral frame",                           \
         0,                                                                                         \
         0,                                                                                         \
         false},                                                                                    \
        {"--neutral-frame",                                                                         \
         CLI_INTEGER,                                                                               \
         "K",                                                                                       \
         "sample of the take in which the face is at rest (default: the first with most markers)",  \
         0,                                                                                         \
         2e9,                                                                                       \
         false},                                                                                    \
        {"--layer", CLI_FLAG, NULL, "spread what is left at the markers over the skin",             \
         0,         0,        false},                                                               \
        {"--layer-smoothing",                                                                       \
         CLI_NUMBER,                                                                                \
         "MU",                                                                                      \
         "noisy markers want 1e-6 and more (default 1e-7)",                                         \
         1e-12,                                                                                     \
         1,                                                                                         \
         false},                                                                                    \
        {"--cutoff",                                                                                \
         CLI_NUMBER,                                                                                \
         "HZ",                                                                                      \
         "Smooth motion above this frequency away; 0: none (default: as the noise asks).",          \
         -1,                                                                                        \
         1000,                                                                                      \
         false},                                                                                    \
        {"--layer-contact",                                                                         \
         CLI_CHOICE,                                                                                \
         "off|on",                                                                                  \
         "Keep the layer from pushing skin through eyes, teeth or itself (default on).",            \
         0,                                                                                         \
         0,                                                                                         \
         false},                                                                                    \
        {"--truth",                                                                                 \
         CLI_INPUT,                                                                                 \
         "CACHE",                                                                                   \
         "frames to compare with: dense error in the report; a cache without times (PC2) counts "   \
         "the clip's frames",                                                                       \
         0,                                                                                         \
         0,                                                                                         \
         false},                                                                                    \
        {"--error-plot", CLI_OUTPUT, "PNG", "curves of the errors over time", 0, 0, false},         \
        {"--fps", CLI_NUMBER, "RATE", "frames per second (default 30)", 1e-3, 1e5, false},          \
        CLI_FRAMES_OPTION, {                                                                        \
        "--sample", CLI_TEXT, "NAME", "a built-in rig instead of files", 0, 0, false                \
    }

/* Options and the parameters of the model that they set: rows of a verb's table. */
#define CLI_MARKERS_PARAMETERS                                                                     \
    {"--layer", "layer"}, {"--neutral-frame", "neutral_frame"},                                    \
        {"--layer-smoothing", "layer_smoothing"}, {"--layer-contact", "layer_contact"},            \
        {"--cutoff", "cutoff"}, {"--stable", "stable"}, {                                          \
        "--retarget", "retarget"                                                                   \
    }

/* "rig", "markers" and "time" of the document. */
sinew_status cli_add_marker_drive(cli_call *call, json_t *document);
/* "outputs": --out (frames; .csv goes to `curves_output` where the model has one) and
 * --error-plot. */
sinew_status cli_add_marker_outputs(cli_call *call, json_t *document, const char *curves_output);

#endif
