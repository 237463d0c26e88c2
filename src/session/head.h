/* The head of a clip: curves that rotate and move it as a whole, besides those of the sliders. */
#ifndef SN_SESSION_HEAD_H
#define SN_SESSION_HEAD_H

#include "session/clip.h"

/* Whether a channel is about the head or the eyes as a whole: headYaw, headPitch, headRoll
 * (radians), headX, headY, headZ (rig's unit), or an angle of an eye, which the gaze sliders
 * already hold. Live Link Face names, in any case. */
bool sn_head_channel(const char *name);
/* clip->head of the curves' head channels, one rigid motion per frame; left NULL without any. */
sinew_status sn_head_of_curves(const sinew_rig *rig, const sinew_curves *curves, sn_clip *clip,
                               sinew_error *error);
/* The motion at a time: rotations by the shortest arc, the pivot on a straight line. False: the
 * clip moves no head. */
bool sn_clip_head(const sn_clip *clip, double time, sinew_rigid *motion);

#endif
