/* Baked light: how much of the sky and of the key light each vertex and the floor see.
 *
 * Light that is gathered per vertex and interpolated is soft and free of noise, and costs a ray
 * count that does not grow with the picture's size. */
#ifndef SN_RENDER_LIGHT_H
#define SN_RENDER_LIGHT_H

#include "render/soup.h"

enum { SN_FLOOR_CELLS = 96 };

/* Visibility on a square of the floor around a point, (SN_FLOOR_CELLS + 1)^2 nodes. */
typedef struct sn_floor {
    sn_vec3 origin, side, other; /* corner and the two edges of the square */
    float shadow[(SN_FLOOR_CELLS + 1) * (SN_FLOOR_CELLS + 1)]; /* 1 lit, 0 dark */
} sn_floor;

/* Fills soup->ambient and soup->key. `key` points to the light; `up` to the sky; both unit.
 * floor (may be NULL): origin, side and other are given, shadow is filled. */
sinew_status sn_light_bake(sn_soup *soup, sn_vec3 key, sn_vec3 up, sn_floor *floor,
                           sinew_error *error);

#endif
