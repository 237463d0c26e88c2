/* The camera, and the nearest triangle at four samples of every pixel. */
#ifndef SN_RENDER_RASTER_H
#define SN_RENDER_RASTER_H

#include "base/mat3.h"
#include "render/soup.h"

enum { SN_SAMPLES = 4 }; /* per pixel, on a rotated grid */

/* Places of the samples inside a pixel. */
extern const float sn_sample_x[SN_SAMPLES], sn_sample_y[SN_SAMPLES];

typedef struct sn_view {
    sn_vec3 eye;
    sn_vec3 right, up, back; /* unit axes; the camera looks along -back */
    double focal;            /* pixels */
    double near;             /* nothing nearer is drawn */
    int width, height;
} sn_view;

/* A corner on the screen: pixels from the top left, and 1 / distance along the view. */
typedef struct sn_corner {
    double x, y, inverse_depth; /* inverse_depth 0: behind the near plane */
} sn_corner;

sn_corner sn_view_project(const sn_view *view, sn_vec3 point);
/* Unit direction from the eye through a point on the screen. */
sn_vec3 sn_view_ray(const sn_view *view, double x, double y);

/* hits[SN_SAMPLES * (row * width + column) + sample]: triangle, or -1. corners: per vertex. */
sinew_status sn_raster(const sn_view *view, const sn_soup *soup, const sn_corner *corners,
                       int *hits, sinew_error *error);

#endif
