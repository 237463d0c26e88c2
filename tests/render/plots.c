#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

#include "groups.h"
#include "sinew/render.h"

static bool has_color(const sinew_image *image, int r, int g, int b) {
    for (size_t i = 0; i < (size_t)image->width * (size_t)image->height; i++) {
        const unsigned char *p = image->pixels + 4 * i;
        if (abs(p[2] - r) < 12 && abs(p[1] - g) < 12 && abs(p[0] - b) < 12) return true;
    }
    return false;
}

static void lines_are_drawn_over_gaps_and_odd_values(void **state) {
    (void)state;
    const double x[5] = {0, 1, 2, 3, 4}, y[5] = {1, 10, NAN, -3, 1000};
    sinew_line line = {.label = "residual", .count = 5, .x = x, .y = y};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    options.title = "title";
    options.log_y = true;
    sinew_error error;
    sinew_image *image;
    assert_ok(sinew_plot_lines(1, &line, &options, &image, &error));
    assert_true(has_color(image, 31, 107, 179));
    char path[300];
    snprintf(path, sizeof path, "%s/plot.png", test_folder());
    assert_ok(sinew_image_write(path, image, &error));
    assert_int_equal(access(path, R_OK), 0);
    sinew_image_destroy(image);
    /* Nothing finite to show is an empty plot, not a failure. */
    line.count = 0;
    assert_ok(sinew_plot_lines(1, &line, &options, &image, &error));
    assert_false(has_color(image, 255, 0, 0));
    sinew_image_destroy(image);
}

static void signed_matrix_shows_both_signs(void **state) {
    (void)state;
    const double values[4] = {1, -1, 0, NAN};
    const char *names[2] = {"jawOpen", "mouthClose"};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    sinew_error error;
    sinew_image *image;
    assert_ok(sinew_plot_matrix(2, 2, values, names, names, &options, &image, &error));
    assert_true(has_color(image, 178, 31, 46));
    assert_true(has_color(image, 33, 87, 168));
    sinew_image_destroy(image);
    assert_ok(sinew_plot_bars(2, names, values, &options, &image, &error));
    assert_true(has_color(image, 31, 107, 179));
    sinew_image_destroy(image);
}

static void picture_to_an_unwritable_place_is_an_io_error(void **state) {
    (void)state;
    sinew_error error;
    sinew_image *image;
    assert_ok(sinew_image_create(4, 4, &image, &error));
    assert_int_equal(sinew_image_write("/nowhere/a.png", image, &error), SINEW_IO);
    assert_int_equal(sinew_image_write("a.jpeg", image, &error), SINEW_BAD_INPUT);
    sinew_image_destroy(image);
}

/* Pixels of a color inside a rectangle. */
static int count_color(const sinew_image *image, int x0, int y0, int x1, int y1, int r, int g,
                       int b) {
    int count = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            const unsigned char *p = image->pixels + 4 * (y * image->width + x);
            count += abs(p[2] - r) < 12 && abs(p[1] - g) < 12 && abs(p[0] - b) < 12;
        }
    return count;
}

/* Also where a line covers only a part of a pixel. */
static int count_blue(const sinew_image *image, int x0, int y0, int x1, int y1) {
    int count = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            const unsigned char *p = image->pixels + 4 * (y * image->width + x);
            count += p[0] > p[2] + 40;
        }
    return count;
}

static int count_dark(const sinew_image *image, int x0, int y0, int x1, int y1) {
    int count = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) count += image->pixels[4 * (y * image->width + x)] < 120;
    return count;
}

enum { BLUE_R = 31, BLUE_G = 107, BLUE_B = 179 };

static void a_constant_line_runs_through_the_middle(void **state) {
    (void)state;
    double x[40], y[40];
    for (int i = 0; i < 40; i++) x[i] = 0.001 * (i + 1), y[i] = 5;
    sinew_line line = {.count = 40, .x = x, .y = y};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    options.width = 400, options.height = 300;
    options.log_x = true;
    sinew_error error;
    sinew_image *image;
    assert_ok(sinew_plot_lines(1, &line, &options, &image, &error));
    /* between the frame's edges 16 and 248; nothing above or below */
    int middle = (16 + 248) / 2;
    assert_true(count_blue(image, 80, middle - 3, 380, middle + 3) > 250);
    assert_int_equal(count_blue(image, 80, 18, 380, middle - 6), 0);
    assert_int_equal(count_blue(image, 80, middle + 6, 380, 246), 0);
    sinew_image_destroy(image);
    /* the same at zero, and with few points: they get dots */
    memset(y, 0, sizeof y);
    line.count = 3;
    options.log_x = false;
    assert_ok(sinew_plot_lines(1, &line, &options, &image, &error));
    assert_true(count_blue(image, 76, middle - 4, 384, middle + 4) > 300);
    sinew_image_destroy(image);
}

static void titles_and_labels_are_written_where_they_belong(void **state) {
    (void)state;
    const double x[2] = {0, 1};
    sinew_line line = {.count = 2, .x = x, .y = x};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    sinew_error error;
    sinew_image *plain, *named;
    assert_ok(sinew_plot_lines(1, &line, &options, &plain, &error));
    options.title = "Title", options.x_label = "time", options.y_label = "error";
    line.label = "line";
    assert_ok(sinew_plot_lines(1, &line, &options, &named, &error));
    assert_true(count_dark(named, 480, 8, 580, 30) > count_dark(plain, 480, 8, 580, 15) + 20);
    assert_int_equal(count_dark(plain, 480, 525, 580, 540), 0);
    assert_true(count_dark(named, 480, 525, 580, 540) > 20);
    assert_int_equal(count_dark(plain, 4, 200, 22, 320), 0);
    assert_true(count_dark(named, 4, 200, 22, 320) > 20);
    /* the legend's line in the upper right */
    assert_true(count_color(named, 860, 50, 940, 60, BLUE_R, BLUE_G, BLUE_B) > 40);
    sinew_image_destroy(plain), sinew_image_destroy(named);
    char path[300];
    snprintf(path, sizeof path, "%s/written.png", test_folder());
    assert_ok(sinew_plot_write(path, "Title", "x", "y", 1, &line, &error));
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(sinew_plot_write("x.jpg", "", "", "", 1, &line, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_plot_write("/dev/full", "", "", "", 1, &line, &error), SINEW_BAD_INPUT);
}

static void matrices_leave_gaps_for_what_is_not_finite(void **state) {
    (void)state;
    const double values[6] = {0, 1, 2, NAN, 4, INFINITY};
    const char *rows[2] = {"a", NULL}, *columns[3] = {NULL, "b", "c"};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    options.width = 300, options.height = 200;
    sinew_error error;
    sinew_image *image, *named;
    assert_ok(sinew_plot_matrix(2, 3, values, NULL, NULL, &options, &image, &error));
    /* cells of 68 x 75 from (12, 34): the lower left and right ones stay white */
    assert_int_equal(count_color(image, 14, 115, 76, 180, 255, 255, 255), 62 * 65);
    assert_int_equal(count_color(image, 152, 115, 212, 180, 255, 255, 255), 60 * 65);
    assert_int_equal(count_color(image, 84, 115, 144, 180, 255, 255, 255), 0);
    /* the largest is the hot end of the bar, the smallest the cold one */
    const unsigned char *hot = image->pixels + 4 * (150 * 300 + 110);
    const unsigned char *cold = image->pixels + 4 * (60 * 300 + 40);
    assert_true(hot[2] > hot[0] && cold[0] > cold[2]);
    options.title = "Title";
    assert_ok(sinew_plot_matrix(2, 3, values, rows, columns, &options, &named, &error));
    assert_true(count_dark(named, 0, 0, 300, 30) > 20);
    sinew_image_destroy(image), sinew_image_destroy(named);
}

static void bars_are_as_long_as_their_values(void **state) {
    (void)state;
    const double values[4] = {1, -2, NAN, 0}, zeros[2] = {0, 0};
    const char *names[4] = {"a", "b", "c", "d"};
    sinew_plot_options options;
    sinew_plot_options_init(&options);
    options.width = 400, options.height = 230;
    options.title = "Title", options.x_label = "length";
    sinew_error error;
    sinew_image *image;
    assert_ok(sinew_plot_bars(4, names, values, &options, &image, &error));
    int length[4];
    for (int i = 0; i < 4; i++) /* rows of 40 pixels from 40 on */
        length[i] = count_color(image, 0, 60 + 40 * i, 400, 61 + 40 * i, BLUE_R, BLUE_G, BLUE_B);
    assert_true(length[1] > 250);
    assert_in_range(2 * length[0], (unsigned)length[1] - 3, (unsigned)length[1] + 3);
    assert_int_equal(length[2], 0);
    assert_true(length[3] <= 1);
    sinew_image_destroy(image);
    assert_ok(sinew_plot_bars(2, names, zeros, &options, &image, &error));
    assert_true(count_color(image, 0, 0, 400, 230, BLUE_R, BLUE_G, BLUE_B) < 100);
    sinew_image_destroy(image);
}

static void impossible_plots_are_misuse(void **state) {
    (void)state;
    const double one = 1;
    const char *name = "a";
    sinew_error error;
    sinew_image *image;
    assert_int_equal(sinew_plot_lines(-1, NULL, NULL, &image, &error), SINEW_MISUSE);
    assert_int_equal(sinew_plot_matrix(0, 1, &one, NULL, NULL, NULL, &image, &error), SINEW_MISUSE);
    assert_int_equal(sinew_plot_matrix(1, 0, &one, NULL, NULL, NULL, &image, &error), SINEW_MISUSE);
    assert_int_equal(sinew_plot_bars(0, &name, &one, NULL, &image, &error), SINEW_MISUSE);
    assert_ok(sinew_plot_lines(0, NULL, NULL, &image, &error)); /* empty axes */
    sinew_image_destroy(image);
    const int bad[][2] = {{0, 5}, {5, 0}, {20000, 5}, {5, 20000}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sinew_image_create(bad[i][0], bad[i][1], &image, &error), SINEW_BAD_INPUT);
        assert_null(image);
    }
    assert_ok(sinew_image_create(1, 1, &image, &error)); /* the smallest there is */
    sinew_image_destroy(image);
}

/* ---- videos ---------------------------------------------------------------------------------- */

/* A program of that text in place of ffmpeg; not executable when the text is NULL. */
static char *pretend(const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/bin", test_folder());
    mkdir(path, 0755);
    char *kept = strdup(getenv("PATH")), search[600];
    snprintf(search, sizeof search, "%s:%s", path, text ? kept : "/nowhere");
    strcat(path, "/ffmpeg");
    unlink(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text ? text : "");
    fclose(file);
    chmod(path, text ? 0755 : 0644);
    setenv("PATH", search, 1);
    return kept;
}

static void restore(char *kept) {
    setenv("PATH", kept, 1);
    free(kept);
}

static void containers_follow_the_ending(void **state) {
    (void)state;
    static const char *const containers[] = {"mp4", "webm", "gif", "webp"};
    sinew_error error;
    sinew_image *image;
    char path[300], text[400], line[2000];
    assert_ok(sinew_image_create(2, 2, &image, &error));
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "cat >/dev/null; echo \"$@\" >&3");
        char *kept = pretend(text);
        sinew_video *video;
        snprintf(path, sizeof path, "%s/clip.%s", test_folder(), containers[i]);
        assert_ok(sinew_video_open(path, 2, 2, 29.97, &video, &error));
        assert_ok(sinew_video_add(video, image, &error));
        assert_ok(sinew_video_close(video, &error));
        restore(kept);
        FILE *file = fopen(path, "r");
        assert_non_null(fgets(line, sizeof line, file));
        fclose(file);
        char expected[64];
        snprintf(expected, sizeof expected, "-f %s file:/dev/fd/3", containers[i]);
        if (!strstr(line, expected)) fail_msg("%s", line);
        assert_non_null(strstr(line, "-s 2x2 -r 29970000/1000000"));
    }
    sinew_image_destroy(image);
}

static void a_video_program_may_fail(void **state) {
    (void)state;
    sinew_error error;
    sinew_image *image, *other;
    sinew_video *video;
    char path[300];
    snprintf(path, sizeof path, "%s/fails.mp4", test_folder());
    assert_ok(sinew_image_create(64, 64, &image, &error));
    assert_ok(sinew_image_create(64, 32, &other, &error));
    char *kept = pretend("cat >/dev/null; printf 'no codec\\nmore' >&2; exit 3");
    assert_ok(sinew_video_open(path, 64, 64, 25, &video, &error));
    assert_int_equal(sinew_video_add(video, other, &error), SINEW_MISUSE); /* another size */
    assert_ok(sinew_video_add(video, image, &error));
    assert_int_equal(sinew_video_close(video, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "fails.mp4: ffmpeg failed (exit status 3): no codec"));
    assert_null(strstr(error.message, "more"));
    restore(kept);
    kept = pretend("kill -9 $$");
    assert_ok(sinew_video_open(path, 64, 64, 25, &video, &error));
    sinew_status status = SINEW_OK;
    for (int i = 0; i < 1000 && status == SINEW_OK; i++)
        status = sinew_video_add(video, image, &error);
    assert_int_equal(status, SINEW_IO);
    assert_non_null(strstr(error.message, "ffmpeg stopped before the last frame"));
    assert_int_equal(sinew_video_close(video, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "exit status 255"));
    restore(kept);
    kept = pretend("cat >/dev/null"); /* says that all is well */
    assert_ok(sinew_video_open(path, 64, 64, 25, &video, &error));
    assert_ok(sinew_video_add(video, image, &error));
    assert_int_equal(sinew_video_close(video, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "fails.mp4: ffmpeg wrote nothing"));
    assert_int_equal(access(path, F_OK), -1);
    restore(kept);
    kept = pretend(NULL);
    assert_int_equal(sinew_video_open(path, 64, 64, 25, &video, &error), SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "cannot be started"));
    restore(kept);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(sinew_video_open(path, 64, 64, 0, &video, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_video_open(path, 64, 64, 1e9, &video, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_video_open("a.avi", 64, 64, 25, &video, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_video_open(path, 0, 64, 25, &video, &error), SINEW_MISUSE);
    assert_int_equal(sinew_video_open(path, 64, -1, 25, &video, &error), SINEW_MISUSE);
    sinew_image_destroy(image), sinew_image_destroy(other);
}

int test_plots(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_drawn_over_gaps_and_odd_values),
        cmocka_unit_test(signed_matrix_shows_both_signs),
        cmocka_unit_test(picture_to_an_unwritable_place_is_an_io_error),
        cmocka_unit_test(a_constant_line_runs_through_the_middle),
        cmocka_unit_test(titles_and_labels_are_written_where_they_belong),
        cmocka_unit_test(matrices_leave_gaps_for_what_is_not_finite),
        cmocka_unit_test(bars_are_as_long_as_their_values),
        cmocka_unit_test(impossible_plots_are_misuse),
        cmocka_unit_test(containers_follow_the_ending),
        cmocka_unit_test(a_video_program_may_fail),
    };
    return cmocka_run_group_tests_name("plots", tests, NULL, NULL);
}
