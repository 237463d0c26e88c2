/* From hits to light: skin, eyes, paint, wires, floor and background. */
#ifndef SN_RENDER_SHADE_H
#define SN_RENDER_SHADE_H

#include "render/light.h"
#include "render/raster.h"

typedef struct sn_lighting {
    sn_vec3 key, fill; /* unit directions to the lights */
    sn_vec3 up;
    const sn_floor *floor; /* NULL: none */
    bool wireframe;
} sn_lighting;

/* Writes the panel's pixels into the image at (left, top); hits as sn_raster gives them. */
void sn_shade(const sn_view *view, const sn_soup *soup, const sn_corner *corners, const int *hits,
              const sn_lighting *lighting, sinew_image *image, int left, int top);

#endif
