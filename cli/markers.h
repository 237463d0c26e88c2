/* Options and scene entries shared by the verbs that follow markers. */
#ifndef CLI_MARKERS_H
#define CLI_MARKERS_H

#include "jobs.h"

#define CLI_MARKERS_OPTIONS                                                                        \
    {"--markers", CLI_INPUT, "FILE", "Marker trajectories: CSV, C3D or TRC.", 0, 0, false},        \
        {"--map",                                                                                  \
         CLI_INPUT,                                                                                \
         "FILE",                                                                                   \
         "Where the markers sit: CSV NAME,vertex or NAME,triangle,b0,b1,b2 (default: computed as " \
         "by 'sinew map').",                                                                       \
         0,                                                                                        \
         0,                                                                                        \
         false},                                                                                   \
        {"--sample", CLI_TEXT,                                                                     \
         "NAME",     "Use a built-in rig instead of files; 'sinew sample' lists them.",            \
         0,          0,                                                                            \
         false},                                                                                   \
        {"--layer", CLI_FLAG, NULL, "Spread the remaining marker error over the skin.",            \
         0,         0,        false},                                                              \
        {"--fps", CLI_NUMBER, "RATE", "Frames per second (default: the rate of the take).",        \
         1e-3,    1e5,        false},                                                              \
        CLI_FRAMES_OPTION, CLI_REGIONS_OPTION, CLI_GROUP("Take"),                                  \
        {"--marker-unit",                                                                          \
         CLI_CHOICE,                                                                               \
         "m|dm|cm|mm|in|ft",                                                                       \
         "Unit of the markers (default: the unit in their file, or that of the rig).",             \
         0,                                                                                        \
         0,                                                                                        \
         false},                                                                                   \
        {"--unit", CLI_CHOICE, "m|dm|cm|mm|in|ft", "Unit of the rig (default m).", 0, 0, false},   \
        {"--stable",                                                                               \
         CLI_TEXT,                                                                                 \
         "LIST",                                                                                   \
         "Markers that move only with the head; head motion is removed before the solve and "      \
         "restored after it.",                                                                     \
         0,                                                                                        \
         0,                                                                                        \
         false},                                                                                   \
        {"--retarget",                                                                             \
         CLI_FLAG,                                                                                 \
         NULL,                                                                                     \
         "The markers belong to another face, which is at rest in the neutral frame.",             \
         0,                                                                                        \
         0,                                                                                        \
         false},                                                                                   \
        {"--neutral-frame",                                                                        \
         CLI_INTEGER,                                                                              \
         "K",                                                                                      \
         "Sample of the take in which the face is at rest (default: detected).",                   \
         0,                                                                                        \
         2e9,                                                                                      \
         false},                                                                                   \
        {"--cutoff",                                                                               \
         CLI_NUMBER,                                                                               \
         "HZ",                                                                                     \
         "Smooth out motion above this frequency; 0 turns it off (default: depends on the "        \
         "noise).",                                                                                \
         -1,                                                                                       \
         1000,                                                                                     \
         false},                                                                                   \
        {"--layer-smoothing",                                                                      \
         CLI_NUMBER,                                                                               \
         "MU",                                                                                     \
         "Smoothness of the layer; use 1e-6 or more for noisy markers (default 1e-7).",            \
         1e-12,                                                                                    \
         1,                                                                                        \
         false},                                                                                   \
        {"--layer-contact",                                                                        \
         CLI_CHOICE,                                                                               \
         "off|on",                                                                                 \
         "Keep the layer from pushing skin through eyes, teeth or itself (default on).",           \
         0,                                                                                        \
         0,                                                                                        \
         false},                                                                                   \
        {"--only", CLI_TEXT,                                                                       \
         "LIST",   "Solve for these sliders only; names separated by commas, * as a wildcard.",    \
         0,        0,                                                                              \
         false},                                                                                   \
        {"--also",                                                                                 \
         CLI_TEXT,                                                                                 \
         "LIST",                                                                                   \
         "Also solve for these sliders, which markers do not observe ('eyeLook*'), or for all.",   \
         0,                                                                                        \
         0,                                                                                        \
         false},                                                                                   \
        {"--without", CLI_TEXT, "LIST", "Keep these sliders at rest.", 0, 0, false},               \
        {"--truth", CLI_INPUT,                                                                     \
         "CACHE",   "Frames to compare with; the report then contains the dense error.",           \
         0,         0,                                                                             \
         false},                                                                                   \
        {"--error-plot", CLI_OUTPUT, "PNG", "Plot the errors over time.", 0, 0, false},            \
        CLI_GROUP("Output")

/* Options and the parameters of the model that they set: rows of a verb's table. */
#define CLI_MARKERS_PARAMETERS                                                                     \
    {"--layer", "layer"}, {"--neutral-frame", "neutral_frame"},                                    \
        {"--layer-smoothing", "layer_smoothing"}, {"--layer-contact", "layer_contact"},            \
        {"--cutoff", "cutoff"}, {"--only", "only"}, {"--also", "also"}, {"--without", "without"},  \
        {"--stable", "stable"}, {                                                                  \
        "--retarget", "retarget"                                                                   \
    }

/* A take among the files of the rig is a mistake: says how it is given. */
sinew_status cli_refuse_take_as_rig(cli_call *call);
/* "rig", "markers" and "time" of the document. */
sinew_status cli_add_marker_drive(cli_call *call, json_t *document);
/* "outputs": --out (frames; .csv goes to `curves_output` where the model has one) and
 * --error-plot. */
sinew_status cli_add_marker_outputs(cli_call *call, json_t *document, const char *curves_output);

#endif
