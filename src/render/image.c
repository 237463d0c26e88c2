/* Images in cairo's RGB24 layout, so that text and plots can be drawn on them in place. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "render/canvas.h"

sinew_status sinew_image_create(int width, int height, sinew_image **image, sinew_error *error) {
    SN_REQUIRE(image, error);
    *image = NULL;
    if (width < 1 || height < 1 || width > SINEW_RENDER_SIZE_LIMIT ||
        height > SINEW_RENDER_SIZE_LIMIT)
        return sn_fail(error, SINEW_BAD_INPUT, "picture of %d x %d pixels: allowed is 1 to %d",
                       width, height, SINEW_RENDER_SIZE_LIMIT);
    sinew_image *created = SN_NEW0(sinew_image, 1);
    if (created) created->pixels = sn_alloc((size_t)width * (size_t)height, 4);
    if (!created || !created->pixels) {
        sn_free(created);
        return sn_no_memory(error);
    }
    created->width = width;
    created->height = height;
    memset(created->pixels, 255, (size_t)width * (size_t)height * 4);
    *image = created;
    return SINEW_OK;
}

void sinew_image_destroy(sinew_image *image) {
    if (!image) return;
    sn_free(image->pixels);
    sn_free(image);
}

/* cairo hands over the PNG piece by piece. */
static cairo_status_t write_piece(void *closure, const unsigned char *data, unsigned int length) {
    FILE *stream = closure;
    return fwrite(data, 1, length, stream) == length ? CAIRO_STATUS_SUCCESS
                                                     : CAIRO_STATUS_WRITE_ERROR;
}

sinew_status sinew_image_write(const char *path, const sinew_image *image, sinew_error *error) {
    SN_REQUIRE(path && image, error);
    if (!sn_has_ending(path, "png"))
        return sn_fail(error, SINEW_BAD_INPUT, "%s: pictures are written as .png", path);
    sn_output output;
    SN_TRY(sn_output_open(&output, path, error));
    cairo_surface_t *surface = cairo_image_surface_create_for_data(
        image->pixels, CAIRO_FORMAT_RGB24, image->width, image->height, image->width * 4);
    cairo_status_t status = cairo_surface_write_to_png_stream(surface, write_piece, output.stream);
    cairo_surface_destroy(surface);
    if (status != CAIRO_STATUS_SUCCESS) {
        sinew_status failure = sn_output_check(&output, error);
        sn_output_abandon(&output);
        return failure == SINEW_OK ? sn_no_memory(error) : failure;
    }
    return sn_output_commit(&output, error);
}

cairo_t *sn_canvas_begin(sinew_image *image) {
    cairo_surface_t *surface = cairo_image_surface_create_for_data(
        image->pixels, CAIRO_FORMAT_RGB24, image->width, image->height, image->width * 4);
    cairo_t *canvas = cairo_create(surface);
    cairo_surface_destroy(surface);
    cairo_select_font_face(canvas, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    return canvas;
}

sinew_status sn_canvas_end(cairo_t *canvas, sinew_error *error) {
    cairo_status_t status = cairo_status(canvas);
    cairo_surface_flush(cairo_get_target(canvas));
    cairo_destroy(canvas);
    if (status == CAIRO_STATUS_SUCCESS) return SINEW_OK;
    if (status == CAIRO_STATUS_NO_MEMORY) return sn_no_memory(error);
    return sn_fail(error, SINEW_UNAVAILABLE, "drawing: %s", cairo_status_to_string(status));
}

void sn_canvas_text(cairo_t *canvas, double x, double y, double size, double align,
                    const char *text) {
    cairo_text_extents_t extents;
    cairo_set_font_size(canvas, size);
    cairo_text_extents(canvas, text, &extents);
    cairo_move_to(canvas, x - align * extents.x_advance, y);
    cairo_show_text(canvas, text);
}

double sn_canvas_text_width(cairo_t *canvas, double size, const char *text) {
    cairo_text_extents_t extents;
    cairo_set_font_size(canvas, size);
    cairo_text_extents(canvas, text, &extents);
    return extents.x_advance;
}
