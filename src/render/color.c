#include "render/color.h"

#include <math.h>

float sn_color_encode(float linear) {
    if (!(linear > 0)) return 0;
    if (linear >= 1) return 1;
    return linear <= 0.0031308f ? 12.92f * linear : 1.055f * powf(linear, 1 / 2.4f) - 0.055f;
}

float sn_color_decode(float encoded) {
    return encoded <= 0.04045f ? encoded / 12.92f : powf((encoded + 0.055f) / 1.055f, 2.4f);
}

/* Even stops in display values, mixed there, returned in linear light. */
static sn_color scale(const float (*stops)[3], int count, double t) {
    if (!(t > 0)) t = 0;
    if (t > 1) t = 1;
    double place = t * (count - 1);
    int first = (int)place;
    if (first > count - 2) first = count - 2;
    float f = (float)(place - first);
    float mixed[3];
    for (int i = 0; i < 3; i++)
        mixed[i] = sn_color_decode((1 - f) * stops[first][i] + f * stops[first + 1][i]);
    return (sn_color){mixed[0], mixed[1], mixed[2]};
}

sn_color sn_color_heat(double t) {
    static const float stops[][3] = {{0.19f, 0.26f, 0.58f}, {0.16f, 0.53f, 0.69f},
                                     {0.30f, 0.74f, 0.58f}, {0.84f, 0.86f, 0.40f},
                                     {0.96f, 0.62f, 0.26f}, {0.78f, 0.18f, 0.18f}};
    return scale(stops, 6, t);
}

sn_color sn_color_diverging(double t) {
    static const float stops[][3] = {{0.13f, 0.34f, 0.66f},
                                     {0.55f, 0.75f, 0.88f},
                                     {0.97f, 0.97f, 0.96f},
                                     {0.95f, 0.66f, 0.52f},
                                     {0.70f, 0.12f, 0.18f}};
    return scale(stops, 5, 0.5 * (t + 1));
}

sn_color sn_color_line(int index) {
    static const float palette[][3] = {
        {0.12f, 0.42f, 0.70f}, {0.85f, 0.37f, 0.10f}, {0.13f, 0.58f, 0.35f}, {0.62f, 0.24f, 0.60f},
        {0.75f, 0.60f, 0.05f}, {0.20f, 0.60f, 0.68f}, {0.72f, 0.20f, 0.28f}, {0.40f, 0.40f, 0.40f}};
    const float *c = palette[index % 8];
    return (sn_color){sn_color_decode(c[0]), sn_color_decode(c[1]), sn_color_decode(c[2])};
}
