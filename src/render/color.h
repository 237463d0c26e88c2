/* Colour scales and the step from light to pixels. */
#ifndef SN_RENDER_COLOR_H
#define SN_RENDER_COLOR_H

typedef struct sn_color {
    float r, g, b; /* linear light, 0 black, 1 white */
} sn_color;

/* Sequential scale for t in [0, 1]: dark blue, teal, yellow, red-orange; even in brightness so that
 * shading stays readable. */
sn_color sn_color_heat(double t);
/* Diverging scale for t in [-1, 1]: blue, near-white, red. */
sn_color sn_color_diverging(double t);
/* Distinct colors for lines. */
sn_color sn_color_line(int index);

/* Display value in [0, 1] (sRGB curve) of linear light, and back. */
float sn_color_encode(float linear);
float sn_color_decode(float encoded);

#endif
