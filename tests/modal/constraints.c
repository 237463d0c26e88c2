#include "support.h"

#include <stdbool.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "bodies.h"
#include "clips.h"
#include "groups.h"
#include "sinew/cage.h"

static void frame_with_pins(test_clip *s, const sinew_modal_motion *motion, sinew_modal_pins *pins,
                            const double *targets) {
    sinew_error error;
    sinew_modal_constraints constraints = {
        .size = sizeof constraints, .pins = pins, .targets = targets};
    assert_ok(sinew_modal_frame_constrained(motion, s->state, &constraints, 0.3, s->frame, &error));
}

/* One end held while the bar swings: held exactly, smoothly near it, untouched with targets that
 * are met anyway; springs come closer the stiffer they are. */
static void pinned_vertices_are_where_they_should_be(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(12, 2, 20);
    test_bend(s.bar, TEST_LENGTH, 2, s.poses[1]);
    sinew_modal_motion *motion = test_clip_motion(&s, NULL);
    int held[9];
    double targets[27], *free_frame = malloc(sizeof(double) * 3 * (size_t)s.bar->vertex_count);
    for (int k = 0; k < 9; k++) held[k] = k; /* the section at x = 0 */
    sinew_modal_pins *pins;
    assert_ok(sinew_modal_pins_create(s.modal, 9, held, NULL, &pins, &error));
    sinew_modal_frame(motion, s.state, 0.3, free_frame);
    for (int k = 0; k < 9; k++) sn_put(targets, k, sn_at(free_frame, held[k]));
    frame_with_pins(&s, motion, pins, targets);
    assert_below(test_clip_distance(&s, s.frame, free_frame), 1e-10);
    for (int k = 0; k < 9; k++) sn_put(targets, k, sn_at(s.bar->positions, held[k]));
    frame_with_pins(&s, motion, pins, targets);
    for (int k = 0; k < 9; k++)
        assert_below(sn_distance(sn_at(s.frame, held[k]), sn_at(targets, k)), 1e-9);
    double volume;
    assert_int_equal(test_flipped(s.bar, s.frame, &volume), 0);
    sinew_modal_pins_destroy(pins);
    double last = INFINITY;
    for (double stiffness = 0.01; stiffness < 1000; stiffness *= 10) {
        double springs[9];
        for (int k = 0; k < 9; k++) springs[k] = stiffness;
        assert_ok(sinew_modal_pins_create(s.modal, 9, held, springs, &pins, &error));
        frame_with_pins(&s, motion, pins, targets);
        double miss = 0;
        for (int k = 0; k < 9; k++) miss += sn_distance(sn_at(s.frame, held[k]), sn_at(targets, k));
        assert_true(miss < last);
        last = miss;
        sinew_modal_pins_destroy(pins);
    }
    const int twice[2] = {3, 3}, outside[1] = {100000};
    assert_int_equal(sinew_modal_pins_create(s.modal, 2, twice, NULL, &pins, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_modal_pins_create(s.modal, 1, outside, NULL, &pins, &error),
                     SINEW_BAD_INPUT);
    free(free_frame);
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

/* A hard pin beside one on a soft spring: the first is met, the second lags. */
static void each_pin_has_its_own_stiffness(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(12, 2, 20);
    test_bend(s.bar, TEST_LENGTH, 1, s.poses[1]);
    sinew_modal_motion *motion = test_clip_motion(&s, NULL);
    const int held[2] = {4, s.bar->vertex_count - 5};
    const double stiffness[2] = {0, 0.1};
    double targets[6];
    sinew_modal_pins *pins;
    assert_ok(sinew_modal_pins_create(s.modal, 2, held, stiffness, &pins, &error));
    for (int k = 0; k < 2; k++)
        sn_put(targets, k, sn_add(sn_at(s.bar->positions, held[k]), sn_v3(0, 0.5 - k, 0)));
    frame_with_pins(&s, motion, pins, targets);
    assert_below(sn_distance(sn_at(s.frame, held[0]), sn_at(targets, 0)), 1e-9);
    assert_true(sn_distance(sn_at(s.frame, held[1]), sn_at(targets, 1)) > 0.1);
    sinew_modal_pins_destroy(pins);
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

/* Best rotation of the last third of the bar. */
static sn_mat3 end_rotation(const test_clip *s, const double *frame) {
    sn_vec3 from = {0, 0, 0}, to = {0, 0, 0};
    sn_mat3 covariance = {{{0}}}, rotation;
    int count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->bar->vertex_count; i++) {
            sn_vec3 p = sn_at(s->bar->positions, i), q = sn_at(frame, i);
            if (p.x < 0.7 * TEST_LENGTH) continue;
            if (pass == 0) {
                from = sn_add(from, p), to = sn_add(to, q), count++;
                continue;
            }
            sn_vec3 a = sn_sub(p, sn_scale(1.0 / count, from));
            sn_vec3 b = sn_sub(q, sn_scale(1.0 / count, to));
            const double x[3] = {a.x, a.y, a.z}, y[3] = {b.x, b.y, b.z};
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) covariance.m[r][c] += y[r] * x[c];
        }
    sn_polar3(covariance, &rotation, NULL);
    return rotation;
}

/* The end of a bent bar is asked to stay level, or half-way so: it does, nothing flips, and the
 * other end does not care. Bodies that turn as a whole included: the orientation is the world's. */
static void regions_are_led_to_their_orientation(void **state) {
    (void)state;
    sinew_error error;
    for (int turned = 0; turned < 2; turned++) {
        test_clip s = test_clip_make(30, 2, 30);
        test_bend(s.bar, TEST_LENGTH, 1.2, s.poses[1]);
        sn_mat3 whole = sn_rotation_exp(sn_v3(0.3, turned, 0.2));
        for (int i = 0; turned && i < s.bar->vertex_count; i++)
            sn_put(s.poses[1], i, sn_mat3_apply(whole, sn_at(s.poses[1], i)));
        sinew_modal_motion *motion = test_clip_motion(&s, NULL);
        int *vertices = malloc(sizeof(int) * (size_t)s.bar->vertex_count), count = 0;
        for (int i = 0; i < s.bar->vertex_count; i++)
            if (s.bar->positions[3 * i] > 0.65 * TEST_LENGTH) vertices[count++] = i;
        int *elements, element_count;
        assert_ok(
            sinew_modal_elements_at(s.modal, count, vertices, &elements, &element_count, &error));
        assert_true(element_count > s.bar->tet_count / 4);
        assert_true(element_count < s.bar->tet_count / 2);
        sinew_modal_frame(motion, s.state, 1, s.frame);
        sn_vec3 own = sn_rotation_log(end_rotation(&s, s.frame));
        const double weights[3] = {0, 0.5, 1};
        double last = INFINITY;
        for (int w = 0; w < 3; w++) {
            sinew_modal_orientation level = {
                .element_count = element_count, .elements = elements, .weight = weights[w]};
            sinew_modal_constraints constraints = {
                .size = sizeof constraints, .orientation_count = 1, .orientations = &level};
            assert_ok(
                sinew_modal_frame_constrained(motion, s.state, &constraints, 1, s.frame, &error));
            double angle = sn_length(sn_rotation_log(end_rotation(&s, s.frame)));
            if (w == 0) assert_below(test_clip_distance(&s, s.frame, s.poses[1]), 1e-9);
            if (w == 1) assert_close(angle, 0.5 * sn_length(own), 0.1 * sn_length(own));
            if (w == 2) assert_below(angle, 0.02);
            assert_true(angle < last);
            last = angle;
            double volume;
            assert_int_equal(test_flipped(s.bar, s.frame, &volume), 0);
        }
        sinew_modal_orientation bad = {element_count, elements, {0, 0, 0}, 1.5};
        sinew_modal_constraints wrong = {
            .size = sizeof wrong, .orientation_count = 1, .orientations = &bad};
        assert_int_equal(sinew_modal_frame_constrained(motion, s.state, &wrong, 1, s.frame, &error),
                         SINEW_BAD_INPUT);
        sn_free(elements), free(vertices);
        sinew_modal_motion_destroy(motion);
        test_clip_free(&s);
    }
}

static sn_vec3 middle_of(const test_clip *s, const double *frame) {
    sn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < s->bar->vertex_count; i++)
        sum = sn_add_scaled(sum, 1.0 / s->bar->vertex_count, sn_at(frame, i));
    return sum;
}

/* A path leads the whole between keys and leaves the keys exact; a parabola on it is free fall. */
static void whole_follows_its_path_between_keys(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(8, 2, 10);
    for (int i = 0; i < s.bar->vertex_count; i++) s.poses[1][3 * i] += 2;
    enum { POINTS = 41 };
    double times[POINTS], path[3 * POINTS];
    for (int k = 0; k < POINTS; k++) {
        double t = times[k] = k / 40.0;
        sn_put(path, k, sn_v3(5 + 2 * t, 3, -4.905 * t * (t - 1)));
    }
    sinew_modal_keys keys = test_clip_keys(&s);
    sinew_modal_motion *plain, *led, *falling;
    assert_ok(sinew_modal_motion_create(s.modal, &keys, NULL, NULL, &plain, &error));
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    parameters.gravity[2] = -9.81;
    assert_ok(sinew_modal_motion_create(s.modal, &keys, &parameters, NULL, &falling, &error));
    keys.path_count = POINTS, keys.path_times = times, keys.path = path;
    assert_ok(sinew_modal_motion_create(s.modal, &keys, NULL, NULL, &led, &error));
    test_clip_meets_keys(&s, led);
    double *other = malloc(sizeof(double) * 3 * (size_t)s.bar->vertex_count);
    for (int k = 0; k <= 12; k++) {
        double t = k / 10.0, inside = fmin(t, 1);
        sinew_modal_frame(led, s.state, t, s.frame);
        sn_vec3 at = middle_of(&s, s.frame);
        assert_close(at.z, -4.905 * inside * (inside - 1), 1e-3);
        sinew_modal_frame(falling, s.state, t, other);
        assert_below(test_clip_distance(&s, s.frame, other), 2e-4);
        sinew_modal_frame(plain, s.state, t, other);
        for (int i = 0; i < s.bar->vertex_count; i++) other[3 * i + 2] += at.z;
        assert_below(test_clip_distance(&s, s.frame, other), 1e-9);
    }
    times[3] = times[2];
    sinew_modal_motion *none;
    assert_int_equal(sinew_modal_motion_create(s.modal, &keys, NULL, NULL, &none, &error),
                     SINEW_BAD_INPUT);
    free(other);
    sinew_modal_motion_destroy(plain), sinew_modal_motion_destroy(led);
    sinew_modal_motion_destroy(falling);
    test_clip_free(&s);
}

/* Through few points at uneven times a parabola is still met, but for the first and last span. */
static void paths_through_uneven_times_are_smooth(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(8, 2, 10);
    const double times[] = {0, 0.1, 0.4, 0.55, 1};
    double path[15];
    for (int k = 0; k < 5; k++) sn_put(path, k, sn_v3(0, 0, 3 * times[k] * (1 - times[k])));
    sinew_modal_keys keys = test_clip_keys(&s);
    keys.path_count = 5, keys.path_times = times, keys.path = path;
    sinew_modal_motion *plain, *led;
    assert_ok(sinew_modal_motion_create(s.modal, &keys, NULL, NULL, &led, &error));
    keys.path_count = 0;
    assert_ok(sinew_modal_motion_create(s.modal, &keys, NULL, NULL, &plain, &error));
    for (double t = 0.1; t < 0.551; t += 0.05) {
        sinew_modal_frame(led, s.state, t, s.frame);
        double with = middle_of(&s, s.frame).z;
        sinew_modal_frame(plain, s.state, t, s.frame);
        assert_close(with - middle_of(&s, s.frame).z, 3 * t * (1 - t), 1e-9);
    }
    sinew_modal_motion_destroy(plain), sinew_modal_motion_destroy(led);
    test_clip_free(&s);
}

/* One tet of the second key is inside out: known in that key and new in none of its frames; a frame
 * in which neighbors change places lists what no key has. */
static void new_inverted_tets_are_listed(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(8, 2, 10);
    int corner = 0; /* of one cell at the near end: pushed through it */
    for (int axis = 0; axis < 3; axis++)
        s.poses[1][3 * corner + axis] +=
            1.3 * (s.bar->positions[3 * (9 + 4) + axis] - s.bar->positions[3 * corner + axis]);
    sinew_modal_motion *motion = test_clip_motion(&s, NULL);
    int in_key = info_of(sinew_modal_motion, motion).inverted[1], listed[500];
    assert_true(in_key > 0);
    sinew_modal_frame(motion, s.state, 1, s.frame);
    assert_int_equal(sinew_modal_inverted(motion, s.state), in_key);
    assert_int_equal(sinew_modal_new_inverted(motion, s.state, 0, NULL), 0);
    const int held[2] = {s.bar->vertex_count - 1, s.bar->vertex_count - 2};
    double target[6]; /* neighbors change places */
    for (int k = 0; k < 2; k++) sn_put(target, k, sn_at(s.bar->positions, held[1 - k]));
    sinew_modal_pins *pins;
    assert_ok(sinew_modal_pins_create(s.modal, 2, held, NULL, &pins, &error));
    frame_with_pins(&s, motion, pins, target);
    int found = sinew_modal_new_inverted(motion, s.state, 500, listed);
    assert_true(found > 0 && found <= 500);
    for (int k = 0; k < found; k++) {
        const sinew_tets one = {.vertex_count = s.bar->vertex_count,
                                .tet_count = 1,
                                .tets = s.bar->tets + 4 * listed[k]};
        double volume;
        assert_int_equal(test_flipped(&one, s.frame, &volume), 1);
        assert_true(k == 0 || listed[k] > listed[k - 1]);
    }
    sinew_modal_pins_destroy(pins);
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

int test_constraints(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pinned_vertices_are_where_they_should_be),
        cmocka_unit_test(each_pin_has_its_own_stiffness),
        cmocka_unit_test(regions_are_led_to_their_orientation),
        cmocka_unit_test(whole_follows_its_path_between_keys),
        cmocka_unit_test(paths_through_uneven_times_are_smooth),
        cmocka_unit_test(new_inverted_tets_are_listed),
    };
    return cmocka_run_group_tests_name("constraints", tests, NULL, NULL);
}
