/* Pages of panels: layout, camera, lights, labels and the color bar. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/status.h"
#include "render/canvas.h"
#include "render/shade.h"

void sinew_render_options_init(sinew_render_options *options) {
    *options = (sinew_render_options){
        .size = sizeof *options,
        .width = SINEW_RENDER_WIDTH,
        .height = SINEW_RENDER_HEIGHT,
        .azimuth = SINEW_RENDER_AZIMUTH,
        .elevation = SINEW_RENDER_ELEVATION,
        .zoom = 1,
        .field_of_view = SINEW_RENDER_FIELD_OF_VIEW,
        .up = 'y',
        .ground = true,
    };
}

/* Embree takes coordinates up to this; a camera may be this many radii away. */
#define FARTHEST       1e18
#define FARTHEST_SIZES 1e6

static const double *panel_positions(const sinew_panel *panel) {
    return panel->positions ? panel->positions : panel->mesh->positions;
}

void sinew_render_fit(int panel_count, const sinew_panel *panels, double center[3],
                      double *radius) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int p = 0; p < panel_count; p++) {
        const double *x = panel_positions(&panels[p]);
        for (int v = 0; v < panels[p].mesh->vertex_count; v++)
            for (int k = 0; k < 3; k++) {
                low[k] = fmin(low[k], x[3 * (size_t)v + (size_t)k]);
                high[k] = fmax(high[k], x[3 * (size_t)v + (size_t)k]);
            }
    }
    double square = 0;
    for (int k = 0; k < 3; k++) {
        bool any = high[k] >= low[k];
        center[k] = any ? 0.5 * (low[k] + high[k]) : 0;
        double half = any ? 0.5 * (high[k] - low[k]) : 0;
        square += half * half;
    }
    *radius = square > 0 ? sqrt(square) : 1;
}

typedef struct sn_layout {
    int columns, rows;
    int panel_width, panel_height; /* of the drawn part */
    int title, label, bar;         /* pixels kept for the title, each label row, the color bar */
    double text;                   /* size of the labels, pixels */
} sn_layout;

static sn_layout arrange(int panel_count, const sinew_panel *panels,
                         const sinew_render_options *options) {
    sn_layout layout = {.text = fmax(11, fmin(22, options->height / 40.0))};
    bool labels = false, heat = false;
    for (int p = 0; p < panel_count; p++) {
        labels |= panels[p].label != NULL;
        heat |= panels[p].heat != NULL;
    }
    layout.title = options->title ? (int)(2.4 * layout.text) : 0;
    layout.label = labels ? (int)(2.0 * layout.text) : 0;
    layout.bar = heat ? (int)(7 * layout.text) : 0;
    layout.columns = options->columns;
    if (layout.columns <= 0) {
        layout.columns = 1; /* where no grid leaves room for panels */
        /* The grid whose panels are nearest to square. */
        double best = INFINITY;
        for (int columns = 1; columns <= panel_count; columns++) {
            int rows = (panel_count + columns - 1) / columns;
            double w = (double)(options->width - layout.bar) / columns;
            double h = (double)(options->height - layout.title) / rows - layout.label;
            double off = h > 0 ? -fmin(w, h) : INFINITY;
            if (off < best) best = off, layout.columns = columns;
        }
    }
    layout.rows = (panel_count + layout.columns - 1) / layout.columns;
    layout.panel_width = (options->width - layout.bar) / layout.columns;
    layout.panel_height = (options->height - layout.title) / layout.rows - layout.label;
    return layout;
}

static sn_view place_camera(const sinew_render_options *options, const sn_layout *layout,
                            double turn, const double center[3], double radius) {
    /* Far enough that the sphere of that radius just fits the smaller side of the panel. */
    const double degree = 3.14159265358979323846 / 180;
    double azimuth = (options->azimuth + turn) * degree, elevation = options->elevation * degree;
    sn_vec3 back =
        sn_v3(sin(azimuth) * cos(elevation), sin(elevation), cos(azimuth) * cos(elevation));
    sn_vec3 up =
        sn_v3(-sin(azimuth) * sin(elevation), cos(elevation), -cos(azimuth) * sin(elevation));
    if (options->up == 'z') {
        back = sn_v3(back.x, -back.z, back.y);
        up = sn_v3(up.x, -up.z, up.y);
    }
    sn_view view = {.back = back, .up = up, .right = sn_cross(up, back)};
    view.width = layout->panel_width;
    view.height = layout->panel_height;
    double half = 0.5 * options->field_of_view * degree;
    int smaller = view.width < view.height ? view.width : view.height;
    view.focal = 0.5 * smaller / tan(half) * options->zoom;
    double distance = 1.04 * radius / sin(half);
    view.eye = sn_add_scaled(sn_v3(center[0], center[1], center[2]), distance, back);
    view.near = 1e-3 * distance;
    return view;
}

/* The focal length at which every vertex of every panel is inside its frame, with a small margin:
 * tighter than the sphere, and common to all panels so that sizes compare. */
static double fit_focal(int panel_count, const sinew_panel *panels,
                        const sinew_render_options *options, const sn_layout *layout,
                        const double center[3], double radius) {
    const double margin = 0.90;
    double focal = INFINITY;
    for (int p = 0; p < panel_count; p++) {
        sn_view view = place_camera(options, layout, panels[p].turn, center, radius);
        const double *x = panel_positions(&panels[p]);
        for (int v = 0; v < panels[p].mesh->vertex_count; v++) {
            sn_vec3 d = sn_sub(sn_at(x, v), view.eye);
            double depth = -sn_dot(d, view.back);
            double across = fabs(sn_dot(d, view.right)), along = fabs(sn_dot(d, view.up));
            if (across > 0) focal = fmin(focal, 0.5 * margin * view.width * depth / across);
            if (along > 0) focal = fmin(focal, 0.5 * margin * view.height * depth / along);
        }
    }
    return focal;
}

/* The square of floor under the shape, centerd on it, four radii wide. */
static void place_floor(const sn_soup *soup, sn_vec3 up, const double center[3], double radius,
                        sn_floor *floor) {
    double lowest = INFINITY;
    for (int v = 0; v < soup->vertex_count; v++)
        lowest = fmin(lowest, sn_dot(sn_at(soup->positions, v), up));
    sn_vec3 middle = sn_v3(center[0], center[1], center[2]);
    middle = sn_add_scaled(middle, lowest - sn_dot(middle, up) - 0.01 * radius, up);
    sn_vec3 side = sn_v3(1, 0, 0), other = sn_cross(side, up);
    floor->side = sn_scale(5 * radius, side);
    floor->other = sn_scale(5 * radius, other);
    floor->origin = sn_add_scaled(sn_add_scaled(middle, -0.5, floor->side), -0.5, floor->other);
}

static sinew_status draw_panel(const sinew_panel *panel, const sinew_render_options *options,
                               const sn_layout *layout, const double center[3], double radius,
                               double focal, double heat_low, double heat_high, sinew_image *image,
                               int left, int top, sinew_error *error) {
    sn_soup soup;
    SN_TRY(sn_soup_create(panel, heat_low, heat_high, options->up, &soup, error));
    sn_view view = place_camera(options, layout, panel->turn, center, radius);
    if (focal > 0) view.focal = focal * options->zoom;
    sn_lighting lighting = {.wireframe = options->wireframe};
    lighting.up = options->up == 'z' ? sn_v3(0, 0, 1) : sn_v3(0, 1, 0);
    /* The lights stand with the camera, the key to the upper left, so that every view is lit. */
    lighting.key =
        sn_normalize(sn_add(sn_add(sn_scale(-0.62, view.right), sn_scale(0.55, lighting.up)),
                            sn_scale(0.80, view.back)));
    lighting.fill =
        sn_normalize(sn_add(sn_add(sn_scale(0.85, view.right), sn_scale(0.05, lighting.up)),
                            sn_scale(0.45, view.back)));
    size_t pixels = (size_t)view.width * (size_t)view.height;
    sn_floor *floor = SN_NEW(sn_floor, 1);
    sn_corner *corners = SN_NEW(sn_corner, soup.vertex_count);
    int *hits = SN_NEW(int, SN_SAMPLES *pixels);
    sinew_status status = SINEW_OK;
    if (!floor || !corners || !hits) status = sn_no_memory(error);
    if (status == SINEW_OK) {
        place_floor(&soup, lighting.up, center, radius, floor);
        status =
            sn_light_bake(&soup, lighting.key, lighting.up, options->ground ? floor : NULL, error);
    }
    if (status == SINEW_OK) {
        for (int v = 0; v < soup.vertex_count; v++)
            corners[v] = sn_view_project(&view, sn_at(soup.positions, v));
        status = sn_raster(&view, &soup, corners, hits, error);
    }
    if (status == SINEW_OK) {
        lighting.floor = options->ground ? floor : NULL;
        sn_shade(&view, &soup, corners, hits, &lighting, image, left, top);
    }
    sn_free(floor), sn_free(corners), sn_free(hits);
    sn_soup_free(&soup);
    return status;
}

static void draw_color_bar(cairo_t *canvas, const sinew_render_options *options,
                           const sn_layout *layout, double low, double high) {
    double text = layout->text, left = options->width - layout->bar + text;
    double top = layout->title + 0.12 * options->height, height = 0.66 * options->height;
    for (int i = 0; i < (int)height; i++) {
        sn_color c = sn_color_heat(1 - i / height);
        cairo_set_source_rgb(canvas, sn_color_encode(c.r), sn_color_encode(c.g),
                             sn_color_encode(c.b));
        cairo_rectangle(canvas, left, top + i, 1.2 * text, 1.5);
        cairo_fill(canvas);
    }
    cairo_set_source_rgb(canvas, 0.15, 0.16, 0.18);
    for (int i = 0; i <= 4; i++) {
        char value[32];
        sn_print(value, sizeof value, "%.3g", low + (high - low) * i / 4);
        sn_canvas_text(canvas, left + 1.6 * text, top + height * (1 - i / 4.0) + 0.35 * text,
                       0.85 * text, 0, value);
    }
    if (options->heat_unit) {
        cairo_save(canvas);
        cairo_translate(canvas, options->width - 0.35 * text, top + 0.5 * height);
        cairo_rotate(canvas, -1.57079632679489662);
        sn_canvas_text(canvas, 0, 0, 0.8 * text, 0.5, options->heat_unit);
        cairo_restore(canvas);
    }
}

static sinew_status draw_texts(int panel_count, const sinew_panel *panels,
                               const sinew_render_options *options, const sn_layout *layout,
                               double heat_low, double heat_high, sinew_image *image,
                               sinew_error *error) {
    cairo_t *canvas = sn_canvas_begin(image);
    cairo_set_source_rgb(canvas, 0.15, 0.16, 0.18);
    if (options->title)
        sn_canvas_text(canvas, 0.5 * (options->width - layout->bar), 1.6 * layout->text,
                       1.15 * layout->text, 0.5, options->title);
    for (int p = 0; p < panel_count; p++) {
        if (!panels[p].label) continue;
        int column = p % layout->columns, row = p / layout->columns;
        double x = (column + 0.5) * layout->panel_width;
        double y = layout->title + (row + 1) * (layout->panel_height + layout->label) -
                   0.65 * layout->text;
        sn_canvas_text(canvas, x, y, layout->text, 0.5, panels[p].label);
    }
    if (layout->bar) draw_color_bar(canvas, options, layout, heat_low, heat_high);
    return sn_canvas_end(canvas, error);
}

static void heat_range(int panel_count, const sinew_panel *panels,
                       const sinew_render_options *options, double *low, double *high) {
    *low = options->heat_low, *high = options->heat_high;
    if (*low < *high) return;
    *low = INFINITY, *high = -INFINITY;
    for (int p = 0; p < panel_count; p++)
        for (int v = 0; panels[p].heat && v < panels[p].mesh->vertex_count; v++) {
            double value = panels[p].heat[v];
            if (isfinite(value)) *low = fmin(*low, value), *high = fmax(*high, value);
        }
    if (!(*low <= *high)) *low = 0, *high = 1;
    if (*low == *high) *high = *low + (*low != 0 ? fabs(*low) : 1);
}

static sinew_status check_panels(int panel_count, const sinew_panel *panels, sinew_error *error) {
    for (int p = 0; p < panel_count; p++) {
        SN_REQUIRE(panels[p].mesh, error);
        const double *x = panel_positions(&panels[p]);
        for (size_t i = 0; i < 3 * (size_t)panels[p].mesh->vertex_count; i++)
            if (!isfinite(x[i]))
                return sn_fail(error, SINEW_BAD_INPUT,
                               "picture: vertex %zu of panel %d is not finite", i / 3, p + 1);
            else if (!(fabs(x[i]) <= FARTHEST))
                return sn_fail(error, SINEW_BAD_INPUT,
                               "picture: vertex %zu of panel %d has a coordinate of %.3g, but "
                               "pictures show up to %g",
                               i / 3, p + 1, x[i], FARTHEST);
    }
    return SINEW_OK;
}

/* The sphere that the camera is to fit has to do with the shapes: rays and pixels are in single
 * precision. */
static sinew_status check_sphere(int panel_count, const sinew_panel *panels,
                                 const sinew_render_options *options, sinew_error *error) {
    double center[3], size, radius = options->radius, square = 0;
    sinew_render_fit(panel_count, panels, center, &size);
    for (int k = 0; k < 3; k++)
        square += (options->center[k] - center[k]) * (options->center[k] - center[k]);
    if (sqrt(square) <= FARTHEST_SIZES * size && radius <= FARTHEST_SIZES * size &&
        radius >= size / FARTHEST_SIZES)
        return SINEW_OK;
    return sn_fail(error, SINEW_BAD_INPUT,
                   "picture: the sphere to look at (center %.3g %.3g %.3g, radius %.3g) is too far "
                   "from the shapes, or too large or small: they have the center %.3g %.3g %.3g "
                   "and the radius %.3g",
                   options->center[0], options->center[1], options->center[2], radius, center[0],
                   center[1], center[2], size);
}

sinew_status sinew_render(int panel_count, const sinew_panel *panels,
                          const sinew_render_options *options, sinew_image **image,
                          sinew_error *error) {
    SN_REQUIRE(panel_count > 0 && panels && image, error);
    *image = NULL;
    SN_OPTIONS(sinew_render_options, wanted, options, error);
    options = &wanted;
    if (!(options->zoom > 0) || !(options->field_of_view > 0.1 && options->field_of_view < 150) ||
        !isfinite(options->azimuth) || !isfinite(options->elevation) || !isfinite(options->zoom))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "picture: zoom, angles and field of view must be sensible numbers");
    SN_TRY(check_panels(panel_count, panels, error));
    if (options->radius > 0) SN_TRY(check_sphere(panel_count, panels, options, error));
    sn_layout layout = arrange(panel_count, panels, options);
    if (layout.panel_width < 8 || layout.panel_height < 8)
        return sn_fail(error, SINEW_BAD_INPUT, "picture of %d x %d pixels: too small for %d panels",
                       options->width, options->height, panel_count);
    double center[3] = {options->center[0], options->center[1], options->center[2]};
    double radius = options->radius, heat_low, heat_high;
    double focal = 0;
    if (!(radius > 0)) {
        sinew_render_fit(panel_count, panels, center, &radius);
        focal = fit_focal(panel_count, panels, options, &layout, center, radius);
        if (!isfinite(focal)) focal = 0;
    }
    heat_range(panel_count, panels, options, &heat_low, &heat_high);

    sinew_image *created;
    SN_TRY(sinew_image_create(options->width, options->height, &created, error));
    memset(created->pixels, 236, (size_t)options->width * (size_t)options->height * 4);
    sinew_status status = SINEW_OK;
    sn_scope scope;
    sn_scope_begin(&scope, options->monitor, 0, "picture");
    for (int p = 0; p < panel_count && status == SINEW_OK; p++) {
        sn_scope_progress((double)p / panel_count);
        int left = p % layout.columns * layout.panel_width;
        int top = layout.title + p / layout.columns * (layout.panel_height + layout.label);
        status = draw_panel(&panels[p], options, &layout, center, radius, focal, heat_low,
                            heat_high, created, left, top, error);
    }
    if (status == SINEW_OK)
        status =
            draw_texts(panel_count, panels, options, &layout, heat_low, heat_high, created, error);
    status = sn_scope_end(&scope, status, error);
    if (status != SINEW_OK) {
        sinew_image_destroy(created);
        return status;
    }
    *image = created;
    return SINEW_OK;
}
