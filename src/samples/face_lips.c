/* Lips that close and press. At rest this face keeps its lips a little apart, as actors do; carried
 * by markers to a face whose lips meet at rest, the same motion goes further than they can. */
#include "base/status.h"
#include "samples/builders.h"

enum { JAW_OPEN, PRESS_L, PRESS_R, SHRUG_LOWER, CHANNELS };
static const char *const channel_names[CHANNELS] = {"jawOpen", "mouthPressLeft", "mouthPressRight",
                                                    "mouthShrugLower"};

static const struct {
    double time, jaw, press, shrug;
} keys[] = {
    {0.00, 0.14, 0, 0},  {0.15, 0.14, 0, 0}, {0.38, 0, 0.2, 0.2}, {0.55, 0, 0.6, 0.6},
    {0.75, 0, 0.6, 0.6}, {1.05, 0.14, 0, 0}, {1.20, 0.14, 0, 0},
};
enum { KEYS = sizeof keys / sizeof *keys };

sinew_status sn_face_lips(sinew_curves **curves, sinew_error *error) {
    SN_TRY(sn_named_curves(CHANNELS, channel_names, keys[KEYS - 1].time, curves, error));
    int k = 0;
    for (int t = 0; t < (*curves)->time_count; t++) {
        double time = (*curves)->times[t], *values = (*curves)->values + (size_t)t * CHANNELS;
        while (k + 2 < KEYS && keys[k + 1].time <= time) k++;
        double way = sn_smooth((time - keys[k].time) / (keys[k + 1].time - keys[k].time));
        values[JAW_OPEN] = keys[k].jaw + way * (keys[k + 1].jaw - keys[k].jaw);
        values[PRESS_L] = values[PRESS_R] =
            keys[k].press + way * (keys[k + 1].press - keys[k].press);
        values[SHRUG_LOWER] = keys[k].shrug + way * (keys[k + 1].shrug - keys[k].shrug);
    }
    return SINEW_OK;
}
