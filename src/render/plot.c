/* Plots for reports and documentation: lines, matrices, bars. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/sized.h"
#include "base/status.h"
#include "render/canvas.h"
#include "render/color.h"

enum { TEXT = 13, TITLE = 16, PLOT_WIDTH = 960, PLOT_HEIGHT = 540 };

void sinew_plot_options_init(sinew_plot_options *options) {
    *options =
        (sinew_plot_options){.size = sizeof *options, .width = PLOT_WIDTH, .height = PLOT_HEIGHT};
}

static void ink(cairo_t *canvas, double shade) {
    cairo_set_source_rgb(canvas, shade, shade, shade + 0.02);
}

static void set_color(cairo_t *canvas, sn_color c) {
    cairo_set_source_rgb(canvas, sn_color_encode(c.r), sn_color_encode(c.g), sn_color_encode(c.b));
}

static void clear(cairo_t *canvas) {
    cairo_set_source_rgb(canvas, 1, 1, 1);
    cairo_paint(canvas);
    ink(canvas, 0.15);
}

static void draw_vertical_text(cairo_t *canvas, double x, double y, double size, double align,
                               const char *text) {
    cairo_save(canvas);
    cairo_translate(canvas, x, y);
    cairo_rotate(canvas, -1.57079632679489662);
    sn_canvas_text(canvas, 0, 0, size, align, text);
    cairo_restore(canvas);
}

/* ---- axes ------------------------------------------------------------------------------------ */

typedef struct sn_axis {
    double low, high;   /* in axis units: log10 of the value when `log` */
    double first, last; /* pixels */
    bool log;
} sn_axis;

static double axis_units(const sn_axis *axis, double value) {
    if (!axis->log) return value;
    return value > 0 ? log10(value) : NAN;
}

static double axis_place(const sn_axis *axis, double units) {
    return axis->first +
           (units - axis->low) / (axis->high - axis->low) * (axis->last - axis->first);
}

/* 1, 2 or 5 times a power of ten, so that about `count` steps fit. */
static double nice_step(double span, int count) {
    double raw = span / count, power = pow(10, floor(log10(raw))), lead = raw / power;
    return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

static void widen(sn_axis *axis, int count, const double *values) {
    for (int i = 0; i < count; i++) {
        double u = axis_units(axis, values[i]);
        if (!isfinite(u)) continue;
        axis->low = fmin(axis->low, u);
        axis->high = fmax(axis->high, u);
    }
}

static void settle(sn_axis *axis, double margin) {
    if (!(axis->low <= axis->high)) axis->low = 0, axis->high = 1;
    double span = axis->high - axis->low;
    if (!(span > 1e-12 * fmax(fabs(axis->high), 1e-300)))
        span = axis->high != 0 ? fabs(axis->high) : 1;
    axis->low -= margin * span;
    axis->high += margin * span;
}

static void format_tick(char *text, size_t size, const sn_axis *axis, double units, double step) {
    if (axis->log)
        sn_print(text, size, "%.3g", pow(10, units));
    else
        sn_print(text, size, "%.4g", fabs(units) < 1e-9 * step ? 0 : units);
}

static void draw_axes(cairo_t *canvas, const sn_axis *x, const sn_axis *y,
                      const sinew_plot_options *options) {
    for (int which = 0; which < 2; which++) {
        const sn_axis *axis = which ? y : x;
        double step = nice_step(axis->high - axis->low, which ? 6 : 8);
        if (axis->log && step < 1) step = axis->high - axis->low > 1 ? 1 : step;
        double start = ceil(axis->low / step) * step;
        for (int i = 0; i < 64 && start + i * step <= axis->high; i++) {
            double units = start + i * step, place = axis_place(axis, units);
            char text[32];
            format_tick(text, sizeof text, axis, units, step);
            ink(canvas, 0.90);
            cairo_set_line_width(canvas, 1);
            cairo_move_to(canvas, which ? x->first : place, which ? place : y->first);
            cairo_line_to(canvas, which ? x->last : place, which ? place : y->last);
            cairo_stroke(canvas);
            ink(canvas, 0.3);
            if (which)
                sn_canvas_text(canvas, x->first - 6, place + 4, TEXT - 1, 1, text);
            else
                sn_canvas_text(canvas, place, y->first + 17, TEXT - 1, 0.5, text);
        }
    }
    ink(canvas, 0.4);
    cairo_rectangle(canvas, x->first, y->last, x->last - x->first, y->first - y->last);
    cairo_stroke(canvas);
    ink(canvas, 0.15);
    double middle = 0.5 * (x->first + x->last);
    if (options->title) sn_canvas_text(canvas, middle, 24, TITLE, 0.5, options->title);
    if (options->x_label)
        sn_canvas_text(canvas, middle, options->height - 10, TEXT, 0.5, options->x_label);
    if (options->y_label)
        draw_vertical_text(canvas, 18, 0.5 * (y->first + y->last), TEXT, 0.5, options->y_label);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void draw_line(cairo_t *canvas, const sn_axis *x, const sn_axis *y, const sinew_line *line,
                      int index) {
    set_color(canvas, sn_color_line(index));
    cairo_set_line_width(canvas, 1.8);
    cairo_set_line_join(canvas, CAIRO_LINE_JOIN_ROUND);
    bool pen_down = false;
    for (int i = 0; i < line->count; i++) {
        double px = axis_place(x, axis_units(x, line->x[i]));
        double py = axis_place(y, axis_units(y, line->y[i]));
        if (!isfinite(px) || !isfinite(py)) {
            pen_down = false;
            continue;
        }
        if (pen_down)
            cairo_line_to(canvas, px, py);
        else
            cairo_move_to(canvas, px, py);
        pen_down = true;
    }
    cairo_stroke(canvas);
    for (int i = 0; line->count <= 24 && i < line->count; i++) {
        double px = axis_place(x, axis_units(x, line->x[i]));
        double py = axis_place(y, axis_units(y, line->y[i]));
        if (!isfinite(px) || !isfinite(py)) continue;
        cairo_arc(canvas, px, py, 3, 0, 6.2831853);
        cairo_fill(canvas);
    }
}

static void draw_legend(cairo_t *canvas, int line_count, const sinew_line *lines,
                        const sn_axis *x) {
    double widest = 0;
    int labels = 0;
    for (int i = 0; i < line_count; i++)
        if (lines[i].label) {
            widest = fmax(widest, sn_canvas_text_width(canvas, TEXT - 1, lines[i].label));
            labels++;
        }
    if (!labels) return;
    double left = x->last - widest - 46, top = 46;
    cairo_set_source_rgba(canvas, 1, 1, 1, 0.85);
    cairo_rectangle(canvas, left - 8, top - 6, widest + 48, 18.0 * labels + 10);
    cairo_fill(canvas);
    for (int i = 0, row = 0; i < line_count; i++) {
        if (!lines[i].label) continue;
        double y = top + 18.0 * row++ + 9;
        set_color(canvas, sn_color_line(i));
        cairo_set_line_width(canvas, 3);
        cairo_move_to(canvas, left, y);
        cairo_line_to(canvas, left + 24, y);
        cairo_stroke(canvas);
        ink(canvas, 0.2);
        sn_canvas_text(canvas, left + 32, y + 4, TEXT - 1, 0, lines[i].label);
    }
}

sinew_status sinew_plot_lines(int line_count, const sinew_line *lines,
                              const sinew_plot_options *options, sinew_image **image,
                              sinew_error *error) {
    SN_REQUIRE(line_count >= 0 && (lines || line_count == 0) && image, error);
    *image = NULL;
    SN_OPTIONS(sinew_plot_options, wanted, options, error);
    options = &wanted;
    SN_TRY(sinew_image_create(options->width, options->height, image, error));
    sn_axis x = {INFINITY, -INFINITY, 78, options->width - 20.0, options->log_x};
    sn_axis y = {INFINITY, -INFINITY, options->height - 52.0, options->title ? 38 : 16,
                 options->log_y};
    for (int i = 0; i < line_count; i++) {
        widen(&x, lines[i].count, lines[i].x);
        widen(&y, lines[i].count, lines[i].y);
    }
    settle(&x, 0);
    settle(&y, 0.06);
    cairo_t *canvas = sn_canvas_begin(*image);
    clear(canvas);
    draw_axes(canvas, &x, &y, options);
    cairo_save(canvas);
    cairo_rectangle(canvas, x.first, y.last, x.last - x.first, y.first - y.last);
    cairo_clip(canvas);
    for (int i = 0; i < line_count; i++) draw_line(canvas, &x, &y, &lines[i], i);
    cairo_restore(canvas);
    draw_legend(canvas, line_count, lines, &x);
    sinew_status status = sn_canvas_end(canvas, error);
    if (status != SINEW_OK) sinew_image_destroy(*image), *image = NULL;
    return status;
}

sinew_status sinew_plot_write(const char *path, const char *title, const char *x_label,
                              const char *y_label, int line_count, const sinew_line *lines,
                              sinew_error *error) {
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    options.title = title, options.x_label = x_label, options.y_label = y_label;
    sinew_image *image;
    SN_TRY(sinew_plot_lines(line_count, lines, &options, &image, error));
    sinew_status status = sinew_image_write(path, image, error);
    sinew_image_destroy(image);
    return status;
}

/* ---- matrices -------------------------------------------------------------------------------- */

static double widest_name(cairo_t *canvas, double size, int count, const char *const *names) {
    double widest = 0;
    for (int i = 0; names && i < count; i++)
        if (names[i]) widest = fmax(widest, sn_canvas_text_width(canvas, size, names[i]));
    return widest;
}

sinew_status sinew_plot_matrix(int rows, int columns, const double *values,
                               const char *const *row_names, const char *const *column_names,
                               const sinew_plot_options *options, sinew_image **image,
                               sinew_error *error) {
    SN_REQUIRE(rows > 0 && columns > 0 && values && image, error);
    *image = NULL;
    SN_OPTIONS(sinew_plot_options, wanted, options, error);
    options = &wanted;
    SN_TRY(sinew_image_create(options->width, options->height, image, error));
    double low = 0, high = 0;
    for (size_t i = 0; i < (size_t)rows * (size_t)columns; i++)
        if (isfinite(values[i])) low = fmin(low, values[i]), high = fmax(high, values[i]);
    double reach = fmax(fmax(-low, high), DBL_MIN);

    cairo_t *canvas = sn_canvas_begin(*image);
    clear(canvas);
    double small = fmax(5, fmin(TEXT - 2, 0.75 * (options->height - 80) / rows));
    double left = 12 + widest_name(canvas, small, rows, row_names);
    double top = 34 + widest_name(canvas, small, columns, column_names);
    double bar = 84;
    double cell_w = (options->width - left - bar) / columns;
    double cell_h = (options->height - top - 16) / rows;
    if (options->title)
        sn_canvas_text(canvas, 0.5 * options->width, 22, TITLE, 0.5, options->title);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            double value = values[(size_t)r * (size_t)columns + (size_t)c];
            if (!isfinite(value)) continue;
            set_color(canvas,
                      low < 0 ? sn_color_diverging(value / reach) : sn_color_heat(value / reach));
            cairo_rectangle(canvas, left + c * cell_w, top + r * cell_h, cell_w + 0.5,
                            cell_h + 0.5);
            cairo_fill(canvas);
        }
    ink(canvas, 0.2);
    for (int r = 0; row_names && r < rows; r++)
        if (row_names[r])
            sn_canvas_text(canvas, left - 5, top + (r + 0.5) * cell_h + 0.35 * small, small, 1,
                           row_names[r]);
    for (int c = 0; column_names && c < columns; c++)
        if (column_names[c])
            draw_vertical_text(canvas, left + (c + 0.5) * cell_w + 0.35 * small, top - 5, small, 0,
                               column_names[c]);
    double bar_left = options->width - bar + 18, bar_height = 0.6 * (options->height - top);
    for (int i = 0; i < (int)bar_height; i++) {
        double t = 1 - i / bar_height;
        set_color(canvas, low < 0 ? sn_color_diverging(2 * t - 1) : sn_color_heat(t));
        cairo_rectangle(canvas, bar_left, top + i, 14, 1.5);
        cairo_fill(canvas);
    }
    ink(canvas, 0.2);
    for (int i = 0; i <= 2; i++) {
        char text[32];
        sn_print(text, sizeof text, "%.3g", low < 0 ? reach * (i - 1) : reach * i / 2);
        sn_canvas_text(canvas, bar_left + 19, top + bar_height * (1 - i / 2.0) + 4, TEXT - 2, 0,
                       text);
    }
    sinew_status status = sn_canvas_end(canvas, error);
    if (status != SINEW_OK) sinew_image_destroy(*image), *image = NULL;
    return status;
}

/* ---- bars ------------------------------------------------------------------------------------ */

sinew_status sinew_plot_bars(int count, const char *const *names, const double *values,
                             const sinew_plot_options *options, sinew_image **image,
                             sinew_error *error) {
    SN_REQUIRE(count > 0 && names && values && image, error);
    *image = NULL;
    SN_OPTIONS(sinew_plot_options, wanted, options, error);
    options = &wanted;
    SN_TRY(sinew_image_create(options->width, options->height, image, error));
    double most = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(values[i])) most = fmax(most, fabs(values[i]));
    cairo_t *canvas = sn_canvas_begin(*image);
    clear(canvas);
    double top = options->title ? 40 : 14, row = (options->height - top - 30) / count;
    double size = fmax(6, fmin(TEXT, 0.7 * row));
    double left = 14 + widest_name(canvas, size, count, names);
    double room = options->width - left - 80;
    if (options->title)
        sn_canvas_text(canvas, 0.5 * options->width, 24, TITLE, 0.5, options->title);
    for (int i = 0; i < count; i++) {
        double y = top + i * row;
        ink(canvas, 0.2);
        sn_canvas_text(canvas, left - 6, y + 0.5 * row + 0.35 * size, size, 1, names[i]);
        if (!isfinite(values[i])) continue;
        double length = most > 0 ? fabs(values[i]) / most * room : 0;
        set_color(canvas, sn_color_line(0));
        cairo_rectangle(canvas, left, y + 0.15 * row, length, 0.7 * row);
        cairo_fill(canvas);
        char text[32];
        sn_print(text, sizeof text, "%.3g", values[i]);
        ink(canvas, 0.2);
        sn_canvas_text(canvas, left + length + 6, y + 0.5 * row + 0.35 * size, size, 0, text);
    }
    if (options->x_label)
        sn_canvas_text(canvas, left + 0.5 * room, options->height - 8, TEXT, 0.5, options->x_label);
    sinew_status status = sn_canvas_end(canvas, error);
    if (status != SINEW_OK) sinew_image_destroy(*image), *image = NULL;
    return status;
}
