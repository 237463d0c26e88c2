#include "support.h"

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

int test_plots(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_drawn_over_gaps_and_odd_values),
        cmocka_unit_test(signed_matrix_shows_both_signs),
        cmocka_unit_test(picture_to_an_unwritable_place_is_an_io_error),
    };
    return cmocka_run_group_tests_name("plots", tests, NULL, NULL);
}
