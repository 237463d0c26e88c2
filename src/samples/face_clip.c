/* Ten seconds of a talking face: "Hello. Sinew bends faces, so they feel alive. Really? Oh yes, we
 * do move!" The mouth goes through visemes, brows and head of the sentence follow the stress, and
 * the eyes blink and wander. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "samples/builders.h"

enum {
    JAW_OPEN,
    CLOSE,
    FUNNEL,
    PUCKER,
    STRETCH_L,
    STRETCH_R,
    SMILE_L,
    SMILE_R,
    LOWER_L,
    LOWER_R,
    UPPER_L,
    UPPER_R,
    ROLL_LOWER,
    PRESS_L,
    PRESS_R,
    DIMPLE_L,
    DIMPLE_R,
    SHRUG_UPPER,
    BLINK_L,
    BLINK_R,
    WIDE_L,
    WIDE_R,
    SQUINT_L,
    SQUINT_R,
    DOWN_L,
    DOWN_R,
    IN_L,
    OUT_R,
    OUT_L,
    IN_R,
    BROW_INNER,
    BROW_OUTER_L,
    BROW_OUTER_R,
    BROW_DOWN_L,
    BROW_DOWN_R,
    CHEEK_L,
    CHEEK_R,
    CHANNELS
};
static const char *const channel_names[CHANNELS] = {"jawOpen",
                                                    "mouthClose",
                                                    "mouthFunnel",
                                                    "mouthPucker",
                                                    "mouthStretchLeft",
                                                    "mouthStretchRight",
                                                    "mouthSmileLeft",
                                                    "mouthSmileRight",
                                                    "mouthLowerDownLeft",
                                                    "mouthLowerDownRight",
                                                    "mouthUpperUpLeft",
                                                    "mouthUpperUpRight",
                                                    "mouthRollLower",
                                                    "mouthPressLeft",
                                                    "mouthPressRight",
                                                    "mouthDimpleLeft",
                                                    "mouthDimpleRight",
                                                    "mouthShrugUpper",
                                                    "eyeBlinkLeft",
                                                    "eyeBlinkRight",
                                                    "eyeWideLeft",
                                                    "eyeWideRight",
                                                    "eyeSquintLeft",
                                                    "eyeSquintRight",
                                                    "eyeLookDownLeft",
                                                    "eyeLookDownRight",
                                                    "eyeLookInLeft",
                                                    "eyeLookOutRight",
                                                    "eyeLookOutLeft",
                                                    "eyeLookInRight",
                                                    "browInnerUp",
                                                    "browOuterUpLeft",
                                                    "browOuterUpRight",
                                                    "browDownLeft",
                                                    "browDownRight",
                                                    "cheekSquintLeft",
                                                    "cheekSquintRight"};

/* Shapes of the mouth for the sounds of speech. */
typedef enum viseme {
    REST,
    MBP,
    FV,
    TDN,
    SZ,
    SH,
    L_,
    R_,
    KG,
    AA,
    EH,
    IH,
    OH,
    OO,
    W_,
    VISEMES
} viseme;
static const struct {
    double jaw, close, funnel, pucker, stretch, smile, lower, upper, roll, press;
} visemes[VISEMES] = {
    [REST] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    [MBP] = {0.06, 0.2, 0, 0, 0, 0, 0, 0, 0.25, 0.5},
    [FV] = {0.1, 0, 0, 0, 0.1, 0, 0, 0.25, 0.45, 0},
    [TDN] = {0.14, 0, 0.1, 0, 0.15, 0.05, 0.25, 0.1, 0, 0},
    [SZ] = {0.06, 0, 0.05, 0, 0.35, 0.1, 0.45, 0.3, 0, 0},
    [SH] = {0.08, 0, 0.55, 0.2, 0, 0, 0.3, 0.25, 0, 0},
    [L_] = {0.24, 0, 0, 0, 0.1, 0.1, 0.2, 0.1, 0, 0},
    [R_] = {0.12, 0, 0.35, 0.3, 0, 0, 0.1, 0, 0, 0},
    [KG] = {0.2, 0, 0, 0, 0.15, 0, 0.2, 0.1, 0, 0},
    [AA] = {0.62, 0, 0.1, 0, 0, 0.05, 0.25, 0.1, 0, 0},
    [EH] = {0.38, 0, 0, 0, 0.2, 0.15, 0.35, 0.15, 0, 0},
    [IH] = {0.16, 0, 0, 0, 0.35, 0.3, 0.35, 0.2, 0, 0},
    [OH] = {0.42, 0, 0.55, 0.3, 0, 0, 0.1, 0, 0, 0},
    [OO] = {0.14, 0, 0.4, 0.7, 0, 0, 0, 0, 0, 0},
    [W_] = {0.05, 0, 0.15, 0.85, 0, 0, 0, 0, 0, 0},
};

/* When each shape is reached, seconds. */
static const struct {
    double time;
    viseme shape;
} speech[] = {
    {0.40, REST},
    {0.52, EH},
    {0.64, L_},
    {0.82, OH},
    {1.02, OO},
    {1.25, REST},
    /* Sinew bends faces, */
    {1.70, SZ},
    {1.80, IH},
    {1.90, TDN},
    {2.02, OO},
    {2.22, MBP},
    {2.34, EH},
    {2.44, TDN},
    {2.54, SZ},
    {2.68, FV},
    {2.82, EH},
    {2.98, SZ},
    {3.08, IH},
    {3.22, SZ},
    {3.45, REST},
    /* so they feel alive. */
    {3.75, SZ},
    {3.92, OH},
    {4.06, TDN},
    {4.18, EH},
    {4.32, FV},
    {4.46, IH},
    {4.58, L_},
    {4.72, AA},
    {4.84, L_},
    {5.02, AA},
    {5.22, FV},
    {5.45, REST},
    /* Really? */
    {6.00, R_},
    {6.14, IH},
    {6.26, L_},
    {6.46, IH},
    {6.75, REST},
    /* Oh yes, we do move! */
    {7.10, OH},
    {7.34, OO},
    {7.46, IH},
    {7.58, EH},
    {7.76, SZ},
    {7.92, W_},
    {8.06, IH},
    {8.20, TDN},
    {8.36, OO},
    {8.54, MBP},
    {8.72, OO},
    {8.90, FV},
    {9.15, REST},
    {10.0, REST},
};
enum { SPEECH = sizeof speech / sizeof *speech };

static const double blinks[] = {0.95, 3.40, 5.60, 5.92, 9.05};

/* Bells and plateaus of brows, eyes and mood: rises by `in` seconds, holds, falls by `out`. */
static const struct {
    int channel, other; /* -1: none */
    double start, in, hold, out, height;
} moods[] = {
    {BROW_OUTER_L, BROW_OUTER_R, 0.45, 0.18, 0.25, 0.5, 0.55},
    {BROW_INNER, -1, 0.50, 0.18, 0.20, 0.5, 0.45},
    {BROW_DOWN_L, BROW_DOWN_R, 2.10, 0.20, 0.30, 0.4, 0.45},
    {BROW_INNER, -1, 4.55, 0.25, 0.40, 0.6, 0.65},
    {BROW_OUTER_L, -1, 5.95, 0.20, 0.60, 0.4, 0.9},
    {BROW_DOWN_R, -1, 5.95, 0.20, 0.60, 0.4, 0.5},
    {SQUINT_L, SQUINT_R, 6.00, 0.25, 0.45, 0.4, 0.4},
    {BROW_OUTER_L, BROW_OUTER_R, 7.05, 0.15, 0.25, 0.5, 0.6},
    {BROW_INNER, -1, 7.05, 0.15, 0.25, 0.5, 0.6},
    {WIDE_L, WIDE_R, 7.08, 0.12, 0.25, 0.4, 0.5},
    {BROW_OUTER_L, BROW_OUTER_R, 8.50, 0.18, 0.30, 0.6, 0.4},
    {SMILE_L, SMILE_R, 0.05, 0.35, 0.45, 0.5, 0.2},
    {SMILE_L, SMILE_R, 5.10, 0.35, 0.25, 0.5, 0.3},
    {SMILE_L, -1, 6.55, 0.25, 0.25, 0.3, 0.25},
    {SMILE_L, SMILE_R, 8.85, 0.45, 0.45, 0.2, 0.8},
    {CHEEK_L, CHEEK_R, 8.90, 0.45, 0.40, 0.2, 0.55},
    {DIMPLE_L, DIMPLE_R, 9.00, 0.40, 0.30, 0.2, 0.3},
    {IN_L, OUT_R, 1.25, 0.07, 0.55, 0.07, 0.35},
    {DOWN_L, DOWN_R, 3.42, 0.08, 0.30, 0.08, 0.35},
    {OUT_L, IN_R, 5.62, 0.07, 0.30, 0.07, 0.4},
    {SHRUG_UPPER, -1, 6.60, 0.20, 0.20, 0.3, 0.3},
};

static void add(double *values, int channel, double value) {
    if (channel >= 0) values[channel] = fmin(1, fmax(0, values[channel] + value));
}

static void add_viseme(double *values, viseme shape, double w) {
    const double *v = &visemes[shape].jaw;
    static const int channels[10][2] = {
        {JAW_OPEN, -1},         {CLOSE, -1},        {FUNNEL, -1},       {PUCKER, -1},
        {STRETCH_L, STRETCH_R}, {SMILE_L, SMILE_R}, {LOWER_L, LOWER_R}, {UPPER_L, UPPER_R},
        {ROLL_LOWER, -1},       {PRESS_L, PRESS_R}};
    for (int k = 0; k < 10; k++)
        for (int side = 0; side < 2; side++) add(values, channels[k][side], w * v[k]);
}

static void at_time(double time, double *values) {
    memset(values, 0, CHANNELS * sizeof *values);
    int k = 0;
    while (k + 1 < SPEECH && speech[k + 1].time <= time) k++;
    double t = 0;
    if (time > speech[k].time && k + 1 < SPEECH)
        t = sn_smooth((time - speech[k].time) / (speech[k + 1].time - speech[k].time));
    add_viseme(values, speech[k].shape, 1 - t);
    if (k + 1 < SPEECH) add_viseme(values, speech[k + 1].shape, t);
    for (size_t m = 0; m < sizeof moods / sizeof *moods; m++) {
        double since = time - moods[m].start,
               left = moods[m].in + moods[m].hold + moods[m].out - since;
        double w =
            moods[m].height * sn_smooth(since / moods[m].in) * sn_smooth(left / moods[m].out);
        add(values, moods[m].channel, w);
        add(values, moods[m].other, w);
    }
    for (size_t b = 0; b < sizeof blinks / sizeof *blinks; b++) { /* quick down, slower up */
        double since = time - blinks[b];
        double w = since < 0.07 ? sn_smooth(since / 0.07) : 1 - sn_smooth((since - 0.10) / 0.17);
        add(values, BLINK_L, w);
        add(values, BLINK_R, w);
    }
    /* closed lids do not open wide, and the two lids' motions do not add up beyond closed */
    for (int eye = 0; eye < 2; eye++) {
        double open = 1 - values[BLINK_L + eye];
        values[WIDE_L + eye] *= open, values[SQUINT_L + eye] *= open;
        values[CHEEK_L + eye] *= 0.3 + 0.7 * open, values[DOWN_L + eye] *= open;
    }
}

sinew_status sn_face_clip(sinew_curves **curves, sinew_error *error) {
    SN_TRY(sn_named_curves(CHANNELS, channel_names, 10, curves, error));
    for (int t = 0; t < (*curves)->time_count; t++)
        at_time((*curves)->times[t], (*curves)->values + (size_t)t * CHANNELS);
    return SINEW_OK;
}
