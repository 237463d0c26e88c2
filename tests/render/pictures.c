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
    mesh->positions[7] = NAN;
    assert_int_equal(sinew_render(1, &panel, &options, &image, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 2"));
    sinew_mesh_destroy(mesh);
}

static void heat_colours_rise_from_blue_to_red(void **state) {
    (void)state;
    sn_color low = sn_color_heat(0), high = sn_color_heat(1);
    assert_true(low.b > low.r && high.r > high.b);
    for (int i = 0; i <= 255; i++)
        assert_close(sn_color_encode(sn_color_decode((float)i / 255)), i / 255.0, 1e-5);
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

int test_pictures(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ball_is_round_and_lit_from_the_upper_left),
        cmocka_unit_test(pictures_do_not_depend_on_threads),
        cmocka_unit_test(wires_follow_faces_and_not_their_diagonals),
        cmocka_unit_test(unusable_input_is_refused_with_a_message),
        cmocka_unit_test(heat_colours_rise_from_blue_to_red),
        cmocka_unit_test(video_without_ffmpeg_is_unavailable_and_leaves_nothing),
        cmocka_unit_test(video_appears_when_closed),
        cmocka_unit_test(a_cancelled_picture_is_none),
    };
    return cmocka_run_group_tests_name("pictures", tests, NULL, NULL);
}
