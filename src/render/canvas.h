/* Text and vector drawing on images. */
#ifndef SN_RENDER_CANVAS_H
#define SN_RENDER_CANVAS_H

#include <cairo.h>

#include "base/status.h"
#include "sinew/render.h"

/* A drawing context on the image's own pixels. */
cairo_t *sn_canvas_begin(sinew_image *image);
sinew_status sn_canvas_end(cairo_t *canvas, sinew_error *error);

/* Baseline at y; align 0 starts at x, 0.5 is centerd on it, 1 ends there. */
void sn_canvas_text(cairo_t *canvas, double x, double y, double size, double align,
                    const char *text);
double sn_canvas_text_width(cairo_t *canvas, double size, const char *text);

#endif
