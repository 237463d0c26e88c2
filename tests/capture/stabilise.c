/* The head's motion out of a take. */
#include "support.h"

#include "groups.h"
#include "sinew/capture.h"

enum { MARKERS = 6, FRAMES = 9 };

/* Places of a head: four around it and two on the face, meters. */
static const double rest[3 * MARKERS] = {-0.07, 0.05, 0, 0.07, 0.05, 0,     0,    0.03,  0.09,
                                         0,     0.12, 0, 0,    0,    0.095, 0.03, -0.05, 0.08};

/* The head nods, turns and walks; `scale` is the size of the actor. */
static sinew_markers *walking_head(double scale) {
    sinew_error error = {0};
    sinew_markers *take;
    assert_ok(sinew_markers_create(MARKERS, FRAMES, &take, &error));
    for (int i = 0; i < MARKERS; i++) {
        char name[8];
        snprintf(name, sizeof name, "M%d", i);
        assert_ok(sinew_markers_set_name(take, i, name, &error));
    }
    for (int f = 0; f < FRAMES; f++) {
        double a = 0.1 * f, c = cos(a), s = sin(a);
        take->times[f] = f;
        for (int i = 0; i < MARKERS; i++) {
            double *p = take->positions + 3 * (MARKERS * f + i);
            p[0] = scale * (c * rest[3 * i] - s * rest[3 * i + 1]) + 0.1 * f;
            p[1] = scale * (s * rest[3 * i] + c * rest[3 * i + 1]) - 0.2 * f;
            p[2] = scale * rest[3 * i + 2] + 0.05 * f;
        }
    }
    return take;
}

static double *place(sinew_markers *take, int frame, int marker) {
    return take->positions + 3 * (MARKERS * frame + marker);
}

static void head_motion_is_taken_out_and_put_back(void **state) {
    (void)state;
    sinew_error error;
    sinew_markers *markers = walking_head(1);
    place(markers, 2, 0)[0] = NAN;  /* one stable marker missing once */
    place(markers, 4, 1)[2] += 0.1; /* another slips once */
    double original[3 * MARKERS * FRAMES];
    memcpy(original, markers->positions, sizeof original);
    const int stable[5] = {0, 1, 2, 3, 4};
    sinew_rigid motion[FRAMES];
    int held;
    assert_ok(sinew_markers_stabilise(markers, 5, stable, rest, motion, &held, &error));
    assert_int_equal(held, 0);
    for (int f = 0; f < FRAMES; f++)
        for (int k = 0; k < 3; k++) assert_close(place(markers, f, 5)[k], rest[15 + k], 1e-12);
    for (int f = 0; f < FRAMES; f++) sinew_rigid_apply(&motion[f], MARKERS, place(markers, f, 0));
    for (int i = 0; i < 3 * MARKERS * FRAMES; i++)
        if (i / 3 != 2 * MARKERS) assert_close(markers->positions[i], original[i], 1e-12);
    sinew_markers_destroy(markers);
}

/* With three stable markers a jump cannot be outvoted, but distances tell. */
static void a_jump_among_three_keeps_the_last_motion(void **state) {
    (void)state;
    sinew_error error = {0};
    const int stable[3] = {0, 1, 2};
    const double sizes[] = {1, 1.3}; /* of the rig, and of a larger actor */
    for (int size = 0; size < 2; size++)
        for (int slipped = 0; slipped < 3; slipped++) {
            sinew_markers *take = walking_head(sizes[size]);
            sinew_rigid motion[FRAMES], undisturbed[FRAMES];
            int held;
            assert_ok(sinew_markers_stabilise(take, 3, stable, rest, undisturbed, &held, &error));
            assert_int_equal(held, 0);
            sinew_markers_destroy(take);
            take = walking_head(sizes[size]);
            place(take, 4, slipped)[0] += 1;
            assert_ok(sinew_markers_stabilise(take, 3, stable, rest, motion, &held, &error));
            assert_int_equal(held, 1);
            assert_memory_equal(&motion[4], &motion[3], sizeof motion[3]);
            assert_memory_equal(&motion[5], &undisturbed[5], sizeof motion[5]);
            sinew_markers_destroy(take);
        }
}

/* Whichever of three markers is the one beside the line of the other two, they span a plane. */
static void the_order_of_stable_markers_does_not_matter(void **state) {
    (void)state;
    sinew_error error = {0};
    const int orders[3][3] = {{2, 0, 1}, {0, 2, 1}, {0, 1, 2}}; /* 0 and 1 are farthest apart */
    for (int i = 0; i < 3; i++) {
        sinew_markers *take = walking_head(1);
        double places[9];
        for (int k = 0; k < 9; k++) places[k] = rest[3 * orders[i][k / 3] + k % 3];
        int held;
        assert_ok(sinew_markers_stabilise(take, 3, orders[i], places, NULL, &held, &error));
        assert_int_equal(held, 0);
        for (int f = 0; f < FRAMES; f++)
            for (int k = 0; k < 3; k++) assert_close(place(take, f, 5)[k], rest[15 + k], 1e-12);
        sinew_markers_destroy(take);
    }
}

/* An actor whose distances wander about the slip, as skin does, on a face of other proportions: no
 * marker comes and goes, so the motion stays smooth. */
static void distances_near_the_slip_do_not_shake_the_head(void **state) {
    (void)state;
    sinew_error error = {0};
    const int stable[4] = {0, 1, 2, 3};
    sinew_markers *take = walking_head(1);
    double slip = SINEW_STABILISE_SLIP * sinew_diagonal(4, rest);
    /* wider by 0.9 to 1.03 slips: the first frames agree with the neutral, the last do not */
    for (int f = 0; f < FRAMES; f++) {
        place(take, f, 1)[0] += cos(0.1 * f) * slip * (0.9 + 0.15 * f / FRAMES);
        place(take, f, 1)[1] += sin(0.1 * f) * slip * (0.9 + 0.15 * f / FRAMES);
    }
    int held;
    assert_ok(sinew_markers_stabilise(take, 4, stable, rest, NULL, &held, &error));
    assert_int_equal(held, 0);
    for (int f = 1; f < FRAMES; f++)
        for (int k = 0; k < 3; k++)
            assert_below(fabs(place(take, f, 5)[k] - place(take, f - 1, 5)[k]), 0.05 * slip);
    sinew_markers_destroy(take);
}

/* From the third frame on one of three lies elsewhere: what the neutral says holds, not the most.
 */
static void a_marker_that_slips_for_good_does_not_turn_the_head(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_markers *take = walking_head(1);
    const int three[3] = {0, 1, 2}, four[4] = {0, 1, 2, 3};
    for (int f = 2; f < FRAMES; f++) {
        place(take, f, 0)[0] -= 0.04 * cos(0.1 * f);
        place(take, f, 0)[1] -= 0.04 * sin(0.1 * f);
    }
    int held;
    sinew_markers *copy = walking_head(1);
    memcpy(copy->positions, take->positions, sizeof(double) * 3 * MARKERS * FRAMES);
    assert_ok(sinew_markers_stabilise(copy, 3, three, rest, NULL, &held, &error));
    assert_int_equal(held, FRAMES - 2);
    sinew_markers_destroy(copy);
    assert_ok(sinew_markers_stabilise(take, 4, four, rest, NULL, &held, &error));
    assert_int_equal(held, 0);
    for (int f = 0; f < FRAMES; f++)
        for (int k = 0; k < 3; k++) assert_close(place(take, f, 5)[k], rest[15 + k], 1e-12);
    sinew_markers_destroy(take);
}

static void sets_that_do_not_tell_the_motion_are_refused(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_markers *take = walking_head(1);
    const int twice[4] = {0, 1, 2, 1}, three[3] = {0, 1, 2};
    double places[12];
    memcpy(places, rest, sizeof places);
    assert_int_equal(sinew_markers_stabilise(take, 4, twice, places, NULL, NULL, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "'M1'"));
    for (int k = 0; k < 3; k++) places[6 + k] = 0.3 * places[k] + 0.7 * places[3 + k];
    assert_int_equal(sinew_markers_stabilise(take, 3, three, places, NULL, NULL, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "line"));
    assert_non_null(strstr(error.message, "'M2'"));
    sinew_markers_destroy(take);
}

static sinew_status stabilise_once(void *user) {
    const int stable[4] = {0, 1, 2, 3};
    sinew_error error = {0};
    return sinew_markers_stabilise(user, 4, stable, rest, NULL, NULL, &error);
}

static void without_memory_the_take_stays_as_it_is(void **state) {
    (void)state;
    sinew_markers *take = walking_head(1), *untouched = walking_head(1);
    size_t size = sizeof(double) * 3 * MARKERS * FRAMES;
    test_memory_limit(2);
    assert_int_equal(stabilise_once(take), SINEW_NO_MEMORY);
    test_memory_restore();
    assert_memory_equal(take->positions, untouched->positions, size);
    assert_true(test_out_of_memory(stabilise_once, take) >= 4);
    sinew_markers_destroy(take), sinew_markers_destroy(untouched);
}

int test_stabilise(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_motion_is_taken_out_and_put_back),
        cmocka_unit_test(a_jump_among_three_keeps_the_last_motion),
        cmocka_unit_test(the_order_of_stable_markers_does_not_matter),
        cmocka_unit_test(distances_near_the_slip_do_not_shake_the_head),
        cmocka_unit_test(a_marker_that_slips_for_good_does_not_turn_the_head),
        cmocka_unit_test(sets_that_do_not_tell_the_motion_are_refused),
        cmocka_unit_test(without_memory_the_take_stays_as_it_is),
    };
    return cmocka_run_group_tests_name("stabilise", tests, NULL, NULL);
}
