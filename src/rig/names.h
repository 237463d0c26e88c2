/* What a slider's name tells: which side it is on, which part of the face, which other spellings
 * mean the same.
 *
 * A name is cut into words at separators and at capitals: "mouthUpperUpLeft", "MouthUpperUp_L",
 * "mouth-left-upper-up" are {mouth, upper, up} on the left. Two names mean the same when their
 * words and side do. */
#ifndef SN_RIG_NAMES_H
#define SN_RIG_NAMES_H

#include <stdbool.h>

#include "base/nearest.h"
#include "sinew/rig.h"

typedef enum sn_side { SN_SIDE_NONE, SN_SIDE_LEFT, SN_SIDE_RIGHT } sn_side;

enum { SN_NAME_SIZE = 128 };

typedef struct sn_name {
    char base[SN_NAME_SIZE]; /* the words, lower case, without separators and side */
    sn_side side;
} sn_name;

/* Longer names are cut: they are then found by their exact spelling only. */
sn_name sn_name_parse(const char *name);
/* Action units of FACS by number ("AU12", "AU12L", "au_12_right") or name ("lipCornerPuller")
 * become ARKit's words for the same motion; other names stay. */
void sn_name_translate_facs(sn_name *name);
static inline sn_side sn_side_other(sn_side side) {
    return side == SN_SIDE_LEFT    ? SN_SIDE_RIGHT
           : side == SN_SIDE_RIGHT ? SN_SIDE_LEFT
                                   : SN_SIDE_NONE;
}
/* Part of the face, "mouth", or NULL. */
const char *sn_name_group(const char *name);
/* For the message about a slider that the rig does not have: the nearest, or those it has. */
sinew_status sn_slider_hint(const sinew_rig *rig, const char *name, char hint[SN_NAME_HINT_SIZE],
                            sinew_error *error);

/* How curves find their sliders, everywhere. channel_of[slider_count]: the channel that drives
 * each slider, or -1; a name without a side drives both. used[channel_count]: whether a channel
 * drives any. Two channels for one slider are SINEW_BAD_INPUT. */
sinew_status sn_match_channels(const sinew_rig *rig, const sinew_curves *curves, int *channel_of,
                               bool *used, sinew_error *error);

#endif
