#include "support.h"

#include <unistd.h>

#include "groups.h"
#include "render/color.h"
#include "sinew/render.h"
#include "sinew/samples.h"
#include "sinew/threads.h"

/* A ball of quads with triangles at the poles, radius 1. */
static sinew_mesh *ball(int rings, int segments) {
    int n = rings * segments + 2, corners = 0;
    double *x = calloc((size_t)n * 3, sizeof *x);
    int *start = calloc((size_t)((rings + 1) * segments + 1), sizeof *start);
    int *face = calloc((size_t)((rings + 1) * segments * 4), sizeof *face);
    for (int r = 0; r < rings; r++)
        for (int s = 0; s < segments; s++) {
            double a = M_PI * (r + 1) / (rings + 1), b = 2 * M_PI * s / segments;
            double *p = x + 3 * (r * segments + s);
            p[0] = sin(a) * sin(b), p[1] = cos(a), p[2] = sin(a) * cos(b);
        }
    x[3 * (n - 2) + 1] = 1, x[3 * (n - 1) + 1] = -1;
    int faces = 0;
    for (int r = 0; r <= rings; r++)
        for (int s = 0; s < segments; s++) {
            int t = (s + 1) % segments;
            if (r > 0) face[corners++] = (r - 1) * segments + s;
            if (r < rings) face[corners++] = r * segments + s;
            if (r < rings) face[corners++] = r * segments + t;
            if (r > 0) face[corners++] = (r - 1) * segments + t;
            if (r == 0) face[corners++] = n - 2;
            if (r == rings) face[corners++] = n - 1;
            start[++faces] = corners;
        }
    sinew_error error;
    sinew_mesh *mesh = NULL;
    assert_ok(sinew_mesh_create(n, x, faces, start, face, &mesh, &error));
    free(x), free(start), free(face);
    return mesh;
}

static sinew_image *picture(const sinew_panel *panels, int count, const sinew_render_options *o) {
    sinew_error error;
    sinew_image *image = NULL;
    assert_ok(sinew_render(count, panels, o, &image, &error));
    return image;
}

static double brightness(const sinew_image *image, int x, int y) {
    const unsigned char *p = image->pixels + 4 * ((size_t)y * (size_t)image->width + (size_t)x);
    return (p[0] + p[1] + p[2]) / 765.0;
}

static void ball_is_round_and_lit_from_the_upper_left(void **state) {
    (void)state;
    sinew_mesh *mesh = ball(31, 64);
    sinew_panel panel = {.mesh = mesh};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = options.height = 200;
    options.azimuth = options.elevation = 0;
    options.ground = false;
    sinew_image *image = picture(&panel, 1, &options);
    /* Warm skin (red above blue) exactly inside the circle that the fit promises. */
    int skin = 0;
    for (int y = 0; y < 200; y++)
        for (int x = 0; x < 200; x++) {
            const unsigned char *p = image->pixels + 4 * (y * 200 + x);
            skin += p[2] > p[0] + 12;
        }
    double radius = sqrt(skin / M_PI);
    assert_close(radius, 90, 3);
    assert_true(brightness(image, 70, 65) > brightness(image, 130, 150));
    sinew_image_destroy(image);
    sinew_mesh_destroy(mesh);
}

static void pictures_do_not_depend_on_threads(void **state) {
    (void)state;
    sinew_mesh *mesh = ball(15, 32);
    double *heat = calloc((size_t)mesh->vertex_count, sizeof *heat);
    for (int v = 0; v < mesh->vertex_count; v++) heat[v] = mesh->positions[3 * v];
    sinew_panel panels[2] = {{.mesh = mesh, .label = "skin"}, {.mesh = mesh, .heat = heat}};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = 320, options.height = 180;
    options.wireframe = true;
    sinew_set_threads(1);
    sinew_image *one = picture(panels, 2, &options);
    sinew_set_threads(2);
    sinew_image *two = picture(panels, 2, &options);
    sinew_set_threads(0);
    assert_memory_equal(one->pixels, two->pixels, 320 * 180 * 4);
    sinew_image_destroy(one), sinew_image_destroy(two);
    free(heat);
    sinew_mesh_destroy(mesh);
}

static void wires_follow_faces_and_not_their_diagonals(void **state) {
    (void)state;
    /* One square seen from the front: its diagonal must not be drawn. */
    const double x[12] = {-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0};
    const int start[2] = {0, 4}, face[4] = {0, 1, 2, 3};
    sinew_error error;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(4, x, 1, start, face, &mesh, &error));
    sinew_panel panel = {.mesh = mesh};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = options.height = 100;
    options.azimuth = options.elevation = 0;
    options.ground = false;
    sinew_image *plain = picture(&panel, 1, &options);
    options.wireframe = true;
    sinew_image *wired = picture(&panel, 1, &options);
    int changed_inside = 0, changed = 0;
    for (int y = 0; y < 100; y++)
        for (int i = 0; i < 100; i++) {
            bool differs = memcmp(plain->pixels + 4 * (y * 100 + i),
                                  wired->pixels + 4 * (y * 100 + i), 4) != 0;
            changed += differs;
            if (i > 10 && i < 90 && y > 10 && y < 90) changed_inside += differs;
        }
    assert_true(changed > 100);
    assert_int_equal(changed_inside, 0);
    sinew_image_destroy(plain), sinew_image_destroy(wired);
    sinew_mesh_destroy(mesh);
}

static void unusable_input_is_refused_with_a_message(void **state) {
    (void)state;
    sinew_mesh *mesh = ball(3, 6);
    sinew_panel panel = {.mesh = mesh};
    sinew_render_options options;
    sinew_render_options_init(&options);
    sinew_image *image;
    sinew_error error;
    options.width = 1 << 20;
    assert_int_equal(sinew_render(1, &panel, &options, &image, &error), SINEW_BAD_INPUT);
    options.width = 100;
    options.zoom = NAN;
    assert_int_equal(sinew_render(1, &panel, &options, &image, &error), SINEW_BAD_INPUT);
    options.zoom = 1;
    double kept = mesh->positions[0];
    mesh->positions[0] = NAN; /* the very first coordinate */
    assert_int_equal(sinew_render(1, &panel, &options, &image, &error), SINEW_BAD_INPUT);
    mesh->positions[0] = kept;
    mesh->positions[7] = NAN;
    assert_int_equal(sinew_render(1, &panel, &options, &image, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 2"));
    mesh->positions[7] = -1e30;
    assert_int_equal(sinew_render(1, &panel, &options, &image, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 2 of panel 1 has a coordinate of -1e+30"));
    sinew_mesh_destroy(mesh);
}

/* Rays from there would leave what Embree can compute with. */
static void cameras_stay_near_the_shapes(void **state) {
    (void)state;
    sinew_mesh *mesh = ball(3, 6);
    sinew_panel panel = {.mesh = mesh};
    static const double far[][4] = {{1e30, 0, 0, 1},  {0, 1e300, 0, 1}, {0, 0, -1e8, 1},
                                    {0, 0, 0, 1e300}, {0, 0, 0, 1e-20}, {NAN, 0, 0, 1}};
    static const double near[][4] = {{1e3, 0, 0, 1}, {0, 0, 0, 1e3}, {0, 0, 0, 1e-3}};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = options.height = 40;
    for (int i = 0; i < 9; i++) {
        const double *sphere = i < 6 ? far[i] : near[i - 6];
        sinew_image *image;
        sinew_error error;
        memcpy(options.center, sphere, sizeof options.center);
        options.radius = sphere[3];
        sinew_status status = sinew_render(1, &panel, &options, &image, &error);
        if (status != (i < 6 ? SINEW_BAD_INPUT : SINEW_OK))
            fail_msg("sphere %d: %s", i, sinew_status_name(status));
        if (i < 6) assert_non_null(strstr(error.message, "sphere to look at"));
        sinew_image_destroy(image);
    }
    sinew_mesh_destroy(mesh);
}

static void heat_colours_rise_from_blue_to_red(void **state) {
    (void)state;
    sn_color low = sn_color_heat(0), high = sn_color_heat(1);
    assert_true(low.b > low.r && high.r > high.b);
    for (int i = 0; i <= 255; i++)
        assert_close(sn_color_encode(sn_color_decode((float)i / 255)), i / 255.0, 1e-5);
}

static void assert_shown(sn_color color, double r, double g, double b) {
    assert_close(sn_color_encode(color.r), r, 1e-5);
    assert_close(sn_color_encode(color.g), g, 1e-5);
    assert_close(sn_color_encode(color.b), b, 1e-5);
}

/* Stops are even, mixed as they are shown; what is beyond the ends, or no number, has their color.
 */
static void color_scales_pass_their_stops(void **state) {
    (void)state;
    const double low[] = {-INFINITY, -2, -1, 0, NAN}, high[] = {1, 1.0000001, 7, INFINITY};
    for (int i = 0; i < 5; i++) assert_shown(sn_color_heat(low[i]), 0.19, 0.26, 0.58);
    for (int i = 0; i < 4; i++) {
        assert_shown(sn_color_heat(high[i]), 0.78, 0.18, 0.18);
        assert_shown(sn_color_diverging(high[i]), 0.70, 0.12, 0.18);
        assert_shown(sn_color_diverging(-high[i]), 0.13, 0.34, 0.66);
    }
    assert_shown(sn_color_heat(0.1), 0.175, 0.395, 0.635);
    assert_shown(sn_color_heat(0.4), 0.30, 0.74, 0.58);
    assert_shown(sn_color_heat(0.85), (3 * 0.96 + 0.78) / 4, (3 * 0.62 + 0.18) / 4,
                 (3 * 0.26 + 0.18) / 4);
    assert_shown(sn_color_diverging(0), 0.97, 0.97, 0.96);
    assert_shown(sn_color_diverging(0.25), 0.96, 0.815, 0.74);
    for (int i = 0; i < 8; i++) {
        sn_color own = sn_color_line(i), again = sn_color_line(i + 8);
        assert_true(own.r == again.r && own.g == again.g && own.b == again.b);
        for (int k = 0; k < i; k++) {
            sn_color other = sn_color_line(k);
            assert_true(fabs(own.r - other.r) + fabs(own.g - other.g) + fabs(own.b - other.b) >
                        0.05);
        }
    }
}

static void video_without_ffmpeg_is_unavailable_and_leaves_nothing(void **state) {
    (void)state;
    sinew_error error;
    char path[300], *kept = strdup(getenv("PATH"));
    snprintf(path, sizeof path, "%s/clip.mp4", test_folder());
    setenv("PATH", "/nowhere", 1);
    sinew_video *video;
    sinew_status status = sinew_video_open(path, 64, 48, 24, &video, &error);
    setenv("PATH", kept, 1);
    free(kept);
    assert_int_equal(status, SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "ffmpeg"));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void video_appears_when_closed(void **state) {
    (void)state;
    if (system("command -v ffmpeg >/dev/null 2>&1") != 0) {
        print_message("SKIP video_appears_when_closed: ffmpeg is not installed\n");
        skip();
    }
    sinew_error error;
    char path[300];
    snprintf(path, sizeof path, "%s/clip.mp4", test_folder());
    sinew_video *video;
    sinew_image *image;
    assert_ok(sinew_image_create(65, 47, &image, &error));
    assert_ok(sinew_video_open(path, 65, 47, 24, &video, &error));
    for (int i = 0; i < 5; i++) assert_ok(sinew_video_add(video, image, &error));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_ok(sinew_video_close(video, &error));
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    assert_ok(sinew_video_open(path, 65, 47, 24, &video, &error));
    assert_ok(sinew_video_add(video, image, &error));
    sinew_video_abandon(video);
    assert_int_not_equal(access(path, F_OK), 0);
    sinew_image_destroy(image);
}

static bool always(void *user) {
    ++*(int *)user;
    return true;
}

static void a_cancelled_picture_is_none(void **state) {
    (void)state;
    sinew_rig *rig;
    sinew_error error;
    sinew_image *image = (sinew_image *)&rig;
    int polls = 0;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    sinew_monitor monitor = {.cancelled = always, .user = &polls};
    sinew_panel panel = {.mesh = rig->neutral};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.monitor = &monitor;
    assert_int_equal(sinew_render(1, &panel, &options, &image, &error), SINEW_CANCELLED);
    assert_null(image);
    assert_true(polls > 0);
    sinew_rig_destroy(rig);
}

/* The same shape with z up looks the same. */
static void the_up_axis_turns_shape_and_camera_alike(void **state) {
    (void)state;
    sinew_mesh *mesh = ball(9, 12);
    int n = mesh->vertex_count;
    double *turned = malloc(3 * (size_t)n * sizeof *turned);
    for (int v = 0; v < n; v++) {
        double *x = mesh->positions + 3 * v;
        x[0] *= 0.7, x[1] *= 1.3;
        turned[3 * v] = x[0], turned[3 * v + 1] = -x[2], turned[3 * v + 2] = x[1];
    }
    sinew_panel plain = {.mesh = mesh}, other = {.mesh = mesh, .positions = turned};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = 90, options.height = 120;
    sinew_image *y_up = picture(&plain, 1, &options);
    options.up = 'z';
    sinew_image *z_up = picture(&other, 1, &options);
    double difference = 0;
    for (int i = 0; i < 4 * 90 * 120; i++) difference += abs(y_up->pixels[i] - z_up->pixels[i]);
    assert_below(difference / (4 * 90 * 120), 1); /* light is sampled in other directions */
    sinew_image_destroy(y_up), sinew_image_destroy(z_up);
    sinew_mesh_destroy(mesh);
    free(turned);
}

static void panels_fill_the_grid_that_suits_them(void **state) {
    (void)state;
    sinew_mesh *mesh = ball(5, 8);
    sinew_panel panels[4] = {{.mesh = mesh}, {.mesh = mesh}, {.mesh = mesh}, {.mesh = mesh}};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.ground = false;
    options.width = 200, options.height = 50;
    sinew_image *row = picture(panels, 4, &options); /* four beside each other */
    for (int i = 0; i < 4; i++) assert_true(brightness(row, 25 + 50 * i, 25) < 0.85);
    options.columns = 2;
    sinew_image *grid = picture(panels, 3, &options); /* the fourth place is empty */
    assert_true(brightness(grid, 50, 12) < 0.85 && brightness(grid, 150, 12) < 0.85);
    assert_true(brightness(grid, 50, 37) < 0.85);
    assert_close(brightness(grid, 150, 37), 236.0 / 255, 1e-3);
    sinew_image_destroy(row), sinew_image_destroy(grid);
    options.columns = 0;
    options.width = 12, options.height = 12;
    sinew_image *image;
    sinew_error error;
    assert_int_equal(sinew_render(4, panels, &options, &image, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "too small for 4 panels"));
    options.height = 60, options.title = "t", panels[0].label = "l";
    assert_int_equal(sinew_render(4, panels, &options, &image, &error), SINEW_BAD_INPUT);
    sinew_mesh_destroy(mesh);
}

static void the_color_bar_shows_the_range_of_heat(void **state) {
    (void)state;
    sinew_mesh *mesh = ball(5, 8);
    double *heat = calloc((size_t)mesh->vertex_count, sizeof *heat);
    sinew_panel panel = {.mesh = mesh, .heat = heat};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = 300, options.height = 200;
    const double cases[][3] = {{2, 2, 0}, {0, 0, 0}, {NAN, NAN, 0}, {-1, 3, 0}, {-1, 3, 1}};
    for (int i = 0; i < 5; i++) {
        for (int v = 0; v < mesh->vertex_count; v++) heat[v] = cases[i][v % 2];
        options.heat_low = 0, options.heat_high = cases[i][2];
        options.heat_unit = i % 2 ? "mm" : NULL;
        sinew_image *image = picture(&panel, 1, &options);
        /* the bar is 77 pixels wide: red above, blue below */
        const unsigned char *top = image->pixels + 4 * (28 * 300 + 240);
        const unsigned char *bottom = image->pixels + 4 * (150 * 300 + 240);
        assert_true(top[2] > top[0] && bottom[0] > bottom[2]);
        int dark = 0;
        for (int y = 40; y < 160; y++) dark += brightness(image, 294, y) < 0.5;
        assert_true(i % 2 ? dark > 2 : dark == 0); /* the unit, upright at the margin */
        sinew_image_destroy(image);
    }
    free(heat);
    sinew_mesh_destroy(mesh);
}

static void a_shape_without_size_is_drawn_too(void **state) {
    (void)state;
    const double points[9] = {1, 2, 3, 1, 2, 3, 1, 2, 3};
    const int face[3] = {0, 1, 2};
    sinew_error error;
    sinew_mesh *mesh, *none;
    assert_ok(sinew_mesh_create(3, points, 1, NULL, face, &mesh, &error));
    assert_ok(sinew_mesh_create(0, NULL, 0, NULL, NULL, &none, &error));
    sinew_panel panels[2] = {{.mesh = mesh}, {.mesh = none}};
    double center[3], radius;
    sinew_render_fit(2, panels, center, &radius);
    assert_close(center[2], 3, 0);
    assert_close(radius, 1, 0);
    sinew_render_fit(1, panels + 1, center, &radius);
    assert_close(center[0], 0, 0);
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = options.height = 40;
    sinew_image *image = picture(panels, 2, &options);
    sinew_image_destroy(image);
    options.field_of_view = 0;
    assert_int_equal(sinew_render(1, panels, &options, &image, &error), SINEW_BAD_INPUT);
    options.field_of_view = 151;
    assert_int_equal(sinew_render(1, panels, &options, &image, &error), SINEW_BAD_INPUT);
    options.field_of_view = 20, options.azimuth = INFINITY;
    assert_int_equal(sinew_render(1, panels, &options, &image, &error), SINEW_BAD_INPUT);
    options.azimuth = 0, options.elevation = NAN;
    assert_int_equal(sinew_render(1, panels, &options, &image, &error), SINEW_BAD_INPUT);
    options.elevation = 0, options.zoom = INFINITY;
    assert_int_equal(sinew_render(1, panels, &options, &image, &error), SINEW_BAD_INPUT);
    options.zoom = 1, panels[0].mesh = NULL;
    assert_int_equal(sinew_render(1, panels, &options, &image, &error), SINEW_MISUSE);
    sinew_mesh_destroy(mesh), sinew_mesh_destroy(none);
}

int test_pictures(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ball_is_round_and_lit_from_the_upper_left),
        cmocka_unit_test(pictures_do_not_depend_on_threads),
        cmocka_unit_test(wires_follow_faces_and_not_their_diagonals),
        cmocka_unit_test(unusable_input_is_refused_with_a_message),
        cmocka_unit_test(cameras_stay_near_the_shapes),
        cmocka_unit_test(heat_colours_rise_from_blue_to_red),
        cmocka_unit_test(color_scales_pass_their_stops),
        cmocka_unit_test(video_without_ffmpeg_is_unavailable_and_leaves_nothing),
        cmocka_unit_test(video_appears_when_closed),
        cmocka_unit_test(a_cancelled_picture_is_none),
        cmocka_unit_test(the_up_axis_turns_shape_and_camera_alike),
        cmocka_unit_test(panels_fill_the_grid_that_suits_them),
        cmocka_unit_test(the_color_bar_shows_the_range_of_heat),
        cmocka_unit_test(a_shape_without_size_is_drawn_too),
    };
    return cmocka_run_group_tests_name("pictures", tests, NULL, NULL);
}
