/* Pictures and plots as a whole: what no single claim describes is compared with pictures that were
 * looked at (tests/render/looks, one .ppm each; SINEW_LOOKS=write replaces them), and texts with
 * the same texts drawn at the place and in the size where they belong. */
#include "support.h"

#include "face.h"
#include "groups.h"
#include "render/canvas.h"
#include "sinew/render.h"

static sinew_error error;

/* ---- pictures that were looked at -------------------------------------------------------------
 */

static FILE *open_look(const char *name, const char *mode) {
    char path[1000];
    const char *source = getenv("SINEW_SOURCE");
    snprintf(path, sizeof path, "%s/tests/render/looks/%s.ppm", source ? source : ".", name);
    FILE *file = fopen(path, mode);
    if (!file) fail_msg("%s cannot be opened", path);
    return file;
}

/* The picture and the one that was looked at agree within what rounding explains: a few pixels at
 * outlines, and rays of light that just miss an edge. Only the leftmost `width` pixels count: right
 * of them are texts, which depend on installed fonts. Destroys the image. */
static void looks_like(sinew_image *image, int width, const char *name) {
    const char *wanted = getenv("SINEW_LOOKS");
    if (wanted && strcmp(wanted, "write") == 0) {
        FILE *file = open_look(name, "wb");
        fprintf(file, "P6\n%d %d\n255\n", width, image->height);
        for (int y = 0; y < image->height; y++)
            for (int x = 0; x < width; x++) {
                const unsigned char *p = image->pixels + 4 * (y * image->width + x);
                fputc(p[2], file), fputc(p[1], file), fputc(p[0], file);
            }
        fclose(file);
    }
    FILE *file = open_look(name, "rb");
    int columns, rows, sum = 0, wrong = 0;
    assert_int_equal(fscanf(file, "P6 %d %d 255", &columns, &rows), 2);
    assert_int_equal(fgetc(file), '\n');
    assert_int_equal(columns, width);
    assert_int_equal(rows, image->height);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            const unsigned char *p = image->pixels + 4 * (y * image->width + x);
            int most = 0;
            for (int c = 0; c < 3; c++) {
                int difference = abs(p[2 - c] - fgetc(file));
                sum += difference;
                most = difference > most ? difference : most;
            }
            wrong += most > 8;
        }
    fclose(file);
    if (wrong > rows * columns / 200 || sum > 3 * rows * columns / 4)
        fail_msg("%s: %d of %d pixels differ, by %.2f on average", name, wrong, rows * columns,
                 sum / (3.0 * rows * columns));
    sinew_image_destroy(image);
}

static sinew_image *draw(const sinew_panel *panel, const sinew_render_options *options) {
    sinew_image *image;
    assert_ok(sinew_render(1, panel, options, &image, &error));
    return image;
}

static sinew_mesh *head(void) {
    face *f = calloc(1, sizeof *f);
    add_ball(f, "head", 0, 0, 0, 1);
    add_ball(f, "eye_L", 0.4, 0.3, 0.85, 0.28), add_ball(f, "eye_R", -0.4, 0.3, 0.85, 0.28);
    add_ball(f, "teeth", 0.15, -0.35, 0.85, 0.2), add_ball(f, "tongue", -0.15, -0.5, 0.8, 0.2);
    add_ball(f, "hair", 0, 0.75, -0.1, 0.7), add_ball(f, "markers", -0.6, -0.1, 0.85, 0.1);
    sinew_mesh *mesh = mesh_of(f);
    free(f);
    return mesh;
}

static void a_head_stands_on_its_shadow(void **state) {
    (void)state;
    sinew_mesh *mesh = head();
    sinew_panel panel = {.mesh = mesh};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = 96, options.height = 72;
    options.elevation = 20, options.zoom = 0.75;
    looks_like(draw(&panel, &options), 96, "head");
    options.ground = false, options.wireframe = true;
    options.azimuth = -70, options.zoom = 1.2;
    looks_like(draw(&panel, &options), 96, "wires");
    sinew_mesh_destroy(mesh);
}

static void an_eye_has_pupil_iris_and_veins(void **state) {
    (void)state;
    face *f = calloc(1, sizeof *f);
    add_ball(f, "eye", 0, 0, 0, 1);
    sinew_mesh *mesh = mesh_of(f);
    sinew_panel panel = {.mesh = mesh};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = options.height = 80;
    options.azimuth = 30, options.elevation = 10, options.ground = false;
    looks_like(draw(&panel, &options), 80, "eye");
    free(f);
    sinew_mesh_destroy(mesh);
}

/* The inside of an open surface, z up, tinted; and heat beside an obstacle. */
static void bowls_and_heat_are_shaded_from_both_sides(void **state) {
    (void)state;
    enum { ACROSS = 15 };
    double x[3 * ACROSS * ACROSS], heat[ACROSS * ACROSS];
    float colors[3 * ACROSS * ACROSS];
    int faces[4 * (ACROSS - 1) * (ACROSS - 1)], starts[(ACROSS - 1) * (ACROSS - 1) + 1], count = 0;
    for (int v = 0; v < ACROSS * ACROSS; v++) {
        double a = 2.0 * (v % ACROSS) / (ACROSS - 1) - 1, b = 2.0 * (v / ACROSS) / (ACROSS - 1) - 1;
        x[3 * v] = a, x[3 * v + 1] = b, x[3 * v + 2] = 0.7 * (a * a + b * b);
        heat[v] = a + 0.5 * b;
        colors[3 * v] = 0.4f, colors[3 * v + 1] = 1, colors[3 * v + 2] = (float)(0.5 + 0.5 * a);
    }
    for (int j = 0; j + 1 < ACROSS; j++)
        for (int i = 0; i + 1 < ACROSS; i++) {
            int a = j * ACROSS + i, corner[4] = {a, a + ACROSS, a + ACROSS + 1, a + 1};
            starts[count / 4] = count;
            for (int k = 0; k < 4; k++) faces[count++] = corner[k];
        }
    starts[count / 4] = count;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(ACROSS * ACROSS, x, count / 4, starts, faces, &mesh, &error));
    face *f = calloc(1, sizeof *f);
    add_ball(f, "obstacle", 0.2, -0.1, 0.6, 0.35);
    sinew_mesh *ball = mesh_of(f);
    free(f);
    const sinew_mesh *extras[] = {ball};
    sinew_panel panel = {.mesh = mesh, .colors = colors};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = 96, options.height = 72;
    options.up = 'z', options.elevation = 35;
    looks_like(draw(&panel, &options), 96, "bowl");
    panel =
        (sinew_panel){.mesh = mesh, .heat = heat, .extras = extras, .extra_count = 1, .turn = 50};
    options.width = 96 + 77; /* and the color bar */
    looks_like(draw(&panel, &options), 96, "heat");
    sinew_mesh_destroy(mesh), sinew_mesh_destroy(ball);
}

/* ---- texts ------------------------------------------------------------------------------------
 */

/* The text is drawn there, in that size and brightness; nothing else is within its outline. */
static void assert_text(sinew_image *image, double x, double y, double size, double align,
                        double shade, bool upright, const char *text) {
    sinew_image *alone;
    assert_ok(sinew_image_create(image->width, image->height, &alone, &error));
    /* pages of pictures are a light gray, those of plots white */
    memset(alone->pixels, image->pixels[0], 4 * (size_t)image->width * (size_t)image->height);
    cairo_t *canvas = sn_canvas_begin(alone);
    cairo_set_source_rgb(canvas, shade, shade, shade + 0.02);
    cairo_translate(canvas, x, y);
    if (upright) cairo_rotate(canvas, -M_PI / 2);
    sn_canvas_text(canvas, 0, 0, size, align, text);
    assert_ok(sn_canvas_end(canvas, &error));
    int left = image->width, right = -1, top = image->height, bottom = -1, sum = 0;
    for (int j = 0; j < image->height; j++)
        for (int i = 0; i < image->width; i++)
            if (alone->pixels[4 * (j * image->width + i) + 1] < 200) {
                left = i < left ? i : left, right = i > right ? i : right;
                top = j < top ? j : top, bottom = j > bottom ? j : bottom;
            }
    assert_true(right >= left);
    for (int j = top; j <= bottom; j++)
        for (int i = left; i <= right; i++) {
            size_t at = 4 * (size_t)(j * image->width + i) + 1;
            sum += abs(image->pixels[at] - alone->pixels[at]);
        }
    double mean = sum / (double)((right - left + 1) * (bottom - top + 1));
    if (mean > 3) fail_msg("\"%s\" at %g %g: pixels differ by %.1f on average", text, x, y, mean);
    sinew_image_destroy(alone);
}

static void lines_name_axes_ticks_and_curves(void **state) {
    (void)state;
    const double x[] = {0, 2, 4}, y[] = {0, 40, 100}, z[] = {100, 100, 0};
    sinew_line lines[] = {{"first", 3, x, y}, {NULL, 3, x, z}, {"second one", 3, x, z}};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    options.width = 420, options.height = 300;
    options.title = "A title", options.x_label = "time (s)", options.y_label = "error (mm)";
    sinew_image *image;
    assert_ok(sinew_plot_lines(3, lines, &options, &image, &error));
    double right = 400, low = 248, high = 38;
    assert_text(image, 0.5 * (78 + right), 24, 16, 0.5, 0.15, false, "A title");
    assert_text(image, 0.5 * (78 + right), 290, 13, 0.5, 0.15, false, "time (s)");
    assert_text(image, 18, 0.5 * (low + high), 13, 0.5, 0.15, true, "error (mm)");
    for (int i = 0; i <= 8; i++) { /* steps of a half */
        char text[32];
        snprintf(text, sizeof text, "%g", 0.5 * i);
        assert_text(image, 78 + (right - 78) * i / 8, low + 17, 12, 0.5, 0.3, false, text);
    }
    for (int i = 0; i <= 5; i++) { /* steps of 20 between -6 and 106 */
        char text[32];
        snprintf(text, sizeof text, "%d", 20 * i);
        double place = low + (20.0 * i + 6) / 112 * (high - low);
        assert_text(image, 78 - 6, place + 4, 12, 1, 0.3, false, text);
    }
    cairo_t *canvas = sn_canvas_begin(image);
    double left = right - sn_canvas_text_width(canvas, 12, "second one") - 46;
    assert_ok(sn_canvas_end(canvas, &error));
    assert_text(image, left + 32, 46 + 9 + 4, 12, 0, 0.2, false, "first");
    assert_text(image, left + 32, 46 + 18 + 9 + 4, 12, 0, 0.2, false, "second one");
    /* each behind a piece of its line: blue, and the third color */
    const unsigned char *one = image->pixels + 4 * (55 * 420 + (int)left + 12);
    const unsigned char *two = image->pixels + 4 * (73 * 420 + (int)left + 12);
    assert_true(one[0] > one[2] + 80);
    assert_true(abs(two[0] - one[0]) + abs(two[1] - one[1]) + abs(two[2] - one[2]) > 80);
    sinew_image_destroy(image);
    /* powers of ten on logarithmic axes, whatever their number */
    options.log_y = true, options.title = NULL;
    const double wide[] = {1e-3, 1, 1e3};
    sinew_line line = {NULL, 3, x, wide};
    assert_ok(sinew_plot_lines(1, &line, &options, &image, &error));
    for (int i = -3; i <= 3; i++) {
        static const char *const texts[] = {"0.001", "0.01", "0.1", "1", "10", "100", "1e+03"};
        double place = low + (i + 3.36) / 6.72 * (16 - low);
        assert_text(image, 78 - 6, place + 4, 12, 1, 0.3, false, texts[i + 3]);
    }
    sinew_image_destroy(image);
}

static void matrices_name_rows_columns_and_range(void **state) {
    (void)state;
    const double values[] = {1, 2, 3, 4, 5, 8};
    const char *rows[] = {"row one", "row two"}, *columns[] = {"a", "bb", "column"};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    options.width = 400, options.height = 300;
    options.title = "A title";
    sinew_image *image;
    assert_ok(sinew_plot_matrix(2, 3, values, rows, columns, &options, &image, &error));
    cairo_t *canvas = sn_canvas_begin(image);
    double left = 12 + fmax(sn_canvas_text_width(canvas, 11, "row one"),
                            sn_canvas_text_width(canvas, 11, "row two"));
    double top = 34 + sn_canvas_text_width(canvas, 11, "column");
    assert_ok(sn_canvas_end(canvas, &error));
    double wide = (400 - left - 84) / 3, high = (300 - top - 16) / 2, half = 0.35 * 11;
    assert_text(image, 200, 22, 16, 0.5, 0.15, false, "A title");
    for (int r = 0; r < 2; r++)
        assert_text(image, left - 5, top + (r + 0.5) * high + half, 11, 1, 0.2, false, rows[r]);
    for (int c = 0; c < 3; c++)
        assert_text(image, left + (c + 0.5) * wide + half, top - 5, 11, 0, 0.2, true, columns[c]);
    double bar = 0.6 * (300 - top);
    for (int i = 0; i <= 2; i++) {
        char text[32];
        snprintf(text, sizeof text, "%d", 4 * i);
        assert_text(image, 400 - 84 + 18 + 19, top + bar * (1 - i / 2.0) + 4, 11, 0, 0.2, false,
                    text);
    }
    sinew_image_destroy(image);
    /* names of many rows get smaller, down to 5 pixels */
    enum { MANY = 60 };
    double many[MANY] = {1};
    const char *names[MANY];
    for (int i = 0; i < MANY; i++) names[i] = "HHH";
    assert_ok(sinew_plot_matrix(MANY, 1, many, names, NULL, &options, &image, &error));
    canvas = sn_canvas_begin(image);
    left = 12 + sn_canvas_text_width(canvas, 5, "HHH");
    assert_ok(sn_canvas_end(canvas, &error));
    high = (300 - 34 - 16) / (double)MANY;
    for (int r = 0; r < MANY; r += 7)
        assert_text(image, left - 5, 34 + (r + 0.5) * high + 0.35 * 5, 5, 1, 0.2, false, "HHH");
    sinew_image_destroy(image);
}

static void bars_carry_names_and_values(void **state) {
    (void)state;
    const double values[] = {0.25, -2, 1};
    const char *names[] = {"first", "the second", "c"};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    options.width = 400, options.height = 160;
    options.title = "A title", options.x_label = "length (mm)";
    sinew_image *image;
    assert_ok(sinew_plot_bars(3, names, values, &options, &image, &error));
    cairo_t *canvas = sn_canvas_begin(image);
    double left = 14 + sn_canvas_text_width(canvas, 13, "the second"), room = 400 - left - 80;
    assert_ok(sn_canvas_end(canvas, &error));
    assert_text(image, 200, 24, 16, 0.5, 0.15, false, "A title");
    assert_text(image, left + 0.5 * room, 152, 13, 0.5, 0.2, false, "length (mm)");
    for (int i = 0; i < 3; i++) {
        double y = 40 + 30 * (i + 0.5) + 0.35 * 13;
        char text[32];
        snprintf(text, sizeof text, "%g", values[i]);
        assert_text(image, left - 6, y, 13, 1, 0.2, false, names[i]);
        assert_text(image, left + fabs(values[i]) / 2 * room + 6, y, 13, 0, 0.2, false, text);
    }
    sinew_image_destroy(image);
}

static void pictures_carry_titles_labels_and_a_scale(void **state) {
    (void)state;
    face *f = calloc(1, sizeof *f);
    add_ball(f, "head", 0, 0, 0, 1);
    sinew_mesh *mesh = mesh_of(f);
    double *heat = calloc((size_t)mesh->vertex_count, sizeof *heat);
    heat[0] = 8;
    sinew_panel panels[3] = {{.mesh = mesh, .heat = heat, .label = "left"},
                             {.mesh = mesh},
                             {.mesh = mesh, .label = "below"}};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = 377, options.height = 400, options.columns = 2;
    options.title = "A title", options.heat_unit = "mm";
    sinew_image *image;
    assert_ok(sinew_render(3, panels, &options, &image, &error));
    /* texts of 11 pixels: 77 for the scale, 26 for the title, 22 for each row of labels */
    assert_text(image, 150, 1.6 * 11, 1.15 * 11, 0.5, 0.155, false, "A title");
    assert_text(image, 75, 26 + 187 - 0.65 * 11, 11, 0.5, 0.155, false, "left");
    assert_text(image, 75, 26 + 374 - 0.65 * 11, 11, 0.5, 0.155, false, "below");
    double top = 26 + 0.12 * 400, height = 0.66 * 400;
    for (int i = 0; i <= 4; i++) {
        char text[32];
        snprintf(text, sizeof text, "%d", 2 * i);
        assert_text(image, 311 + 1.6 * 11, top + height * (1 - i / 4.0) + 0.35 * 11, 0.85 * 11, 0,
                    0.155, false, text);
    }
    assert_text(image, 377 - 0.35 * 11, top + 0.5 * height, 0.8 * 11, 0.5, 0.155, true, "mm");
    /* the scale is 13 pixels wide, from red above to blue below */
    const unsigned char *hot = image->pixels + 4 * (((int)top + 2) * 377 + 317);
    const unsigned char *cold = image->pixels + 4 * (((int)(top + height) - 2) * 377 + 317);
    assert_true(hot[2] > hot[0] + 50 && cold[0] > cold[2] + 20);
    assert_int_equal(image->pixels[4 * (((int)top - 3) * 377 + 317)], 236);
    assert_int_equal(image->pixels[4 * (((int)top + 90) * 377 + 309)], 236);
    sinew_image_destroy(image);
    free(heat), free(f);
    sinew_mesh_destroy(mesh);
}

int test_looks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_stands_on_its_shadow),
        cmocka_unit_test(an_eye_has_pupil_iris_and_veins),
        cmocka_unit_test(bowls_and_heat_are_shaded_from_both_sides),
        cmocka_unit_test(lines_name_axes_ticks_and_curves),
        cmocka_unit_test(matrices_name_rows_columns_and_range),
        cmocka_unit_test(bars_carry_names_and_values),
        cmocka_unit_test(pictures_carry_titles_labels_and_a_scale),
    };
    return cmocka_run_group_tests_name("looks", tests, NULL, NULL);
}
