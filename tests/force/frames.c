#include "support.h"

#include <stddef.h>

#include "dome.h"
#include "force/sheet.h"
#include "groups.h"
#include "sinew/force.h"
#include "sinew/memory.h"
#include "sinew/threads.h"

enum { SIDE = 17, COUNT = SIDE * SIDE, TARGETS = 5 };

typedef struct setting {
    sinew_rig *rig;
    sinew_force_options options;
    sinew_force *force;
    sinew_force_state *state;
} setting;

static void build(setting *s) {
    sinew_error error = {0};
    assert_ok(sinew_force_create(s->rig, NULL, &s->options, NULL, &s->force, &error));
    assert_ok(sinew_force_state_create(s->force, &s->state, &error));
}

static setting prepare(void) {
    setting s = {.rig = dome_rig(SIDE, TARGETS)};
    sinew_force_options_init(&s.options);
    return s;
}

static void release(setting *s) {
    sinew_force_state_destroy(s->state);
    sinew_force_destroy(s->force);
    sinew_rig_destroy(s->rig);
}

static void push(setting *s, const double *u, double *x, sinew_force_frame_info *info) {
    sinew_error error = {0};
    assert_ok(sinew_force_command(s->force, s->state, u, x, info, NULL, &error));
}

static void without_a_command_the_sheet_stays_at_rest(void **state) {
    (void)state;
    setting s = prepare();
    build(&s);
    double u[TARGETS] = {0}, x[3 * COUNT];
    for (int f = 0; f < 5; f++) push(&s, u, x, NULL);
    assert_below(root_mean_square(x, s.rig->neutral->positions, COUNT), 1e-12);
    release(&s);
}

static void a_constant_command_settles_at_its_target(void **state) {
    (void)state;
    /* exactly, when nothing but the place resists */
    setting s = prepare();
    s.options.stretch_length = s.options.bend_length = 0;
    build(&s);
    double u[TARGETS] = {0}, x[3 * COUNT], goal[3 * COUNT];
    u[1] = 1;
    dome_blend(s.rig, u, goal);
    push(&s, u, x, NULL);
    assert_below(root_mean_square(x, goal, COUNT), 1e-7);
    sinew_force_start(s.state, NULL, NULL, NULL);
    for (int f = 0; f < 60; f++) push(&s, u, x, NULL);
    assert_below(root_mean_square(x, goal, COUNT), 1e-6);
    release(&s);
    /* and with the stiffness of the defaults, to a hundredth of its move */
    s = prepare();
    build(&s);
    push(&s, u, x, NULL);
    double move = root_mean_square(goal, s.rig->neutral->positions, COUNT);
    assert_below(root_mean_square(x, goal, COUNT), 0.02 * move);
    release(&s);
}

static void the_static_frame_is_where_steps_come_to_rest(void **state) {
    (void)state;
    setting s = prepare();
    s.options.stretch_length = s.options.bend_length = 0.03;
    build(&s);
    double u[TARGETS] = {0.7, -0.4, 1, 0.2, 0.6}, still[3 * COUNT], x[3 * COUNT];
    sinew_force_frame_info info = {.size = sizeof info};
    push(&s, u, still, &info);
    assert_below(info.residual, 1e-6);
    sinew_force_start(s.state, NULL, NULL, NULL);
    for (int f = 0; f < 120; f++) push(&s, u, x, &info);
    double size = root_mean_square(still, s.rig->neutral->positions, COUNT);
    assert_true(size > 0.01);
    assert_below(root_mean_square(x, still, COUNT), 1e-4 * size);
    release(&s);
}

static void without_stiffness_accelerations_replay_the_blendshape_clip(void **state) {
    (void)state;
    /* x'' = B w'' : u = (w_t - 2 w_t-1 + w_t-2) / h^2 with unit mass */
    setting s = prepare();
    s.options.stretch_length = s.options.bend_length = s.options.position = 0;
    s.options.mass_time = 1, s.options.velocity_kept = 1;
    build(&s);
    sinew_error error = {0};
    double h = s.options.frame_time, w[40][TARGETS];
    for (int t = 0; t < 40; t++)
        for (int k = 0; k < TARGETS; k++) w[t][k] = sin(0.3 * t + k) * cos(0.11 * t * k);
    double a[3 * COUNT], x[3 * COUNT], v[3 * COUNT], u[TARGETS], worst = 0;
    dome_blend(s.rig, w[0], a);
    dome_blend(s.rig, w[1], x);
    for (int i = 0; i < 3 * COUNT; i++) v[i] = (x[i] - a[i]) / h;
    assert_ok(sinew_force_start(s.state, x, v, &error));
    for (int t = 2; t < 40; t++) {
        for (int k = 0; k < TARGETS; k++)
            u[k] = (w[t][k] - 2 * w[t - 1][k] + w[t - 2][k]) / (h * h);
        push(&s, u, x, NULL);
        dome_blend(s.rig, w[t], a);
        for (int i = 0; i < 3 * COUNT; i++) worst = fmax(worst, fabs(x[i] - a[i]));
    }
    assert_below(worst, 1e-9);
    release(&s);
}

static void a_released_muscle_returns_smoothly(void **state) {
    (void)state;
    setting s = prepare();
    build(&s);
    double u[TARGETS] = {0}, x[3 * COUNT], size[20];
    u[2] = 1;
    push(&s, u, x, NULL);
    u[2] = 0;
    for (int f = 0; f < 20; f++) {
        push(&s, u, x, NULL);
        size[f] = root_mean_square(x, s.rig->neutral->positions, COUNT);
    }
    double target[3 * COUNT], one[TARGETS] = {0, 0, 1};
    dome_blend(s.rig, one, target);
    double full = root_mean_square(target, s.rig->neutral->positions, COUNT);
    assert_true(size[0] > 0.2 * full && size[0] < 0.9 * full); /* not at once */
    assert_true(size[2] > 0.01 * full);
    for (int f = 1; f < 20; f++) assert_true(size[f] < size[f - 1] || size[f] < 0.05 * full);
    assert_below(size[19], 1e-3 * full);
    release(&s);
}

static void substeps_follow_the_same_motion(void **state) {
    (void)state;
    double x[2][3 * COUNT], u[TARGETS];
    for (int run = 0; run < 2; run++) {
        setting s = prepare();
        s.options.substeps = run ? 16 : 4;
        s.options.mass_time = 0.15, s.options.velocity_kept = 1;
        build(&s);
        for (int f = 0; f < 10; f++) {
            for (int k = 0; k < TARGETS; k++) u[k] = sin(0.4 * f + k);
            push(&s, u, x[run], NULL);
        }
        release(&s);
    }
    setting s = prepare();
    double size = root_mean_square(x[1], s.rig->neutral->positions, COUNT);
    assert_below(root_mean_square(x[0], x[1], COUNT), 0.1 * size);
    sinew_rig_destroy(s.rig);
}

/* Largest distance, relative to the motion, between a ramp at this frame rate and at 480 Hz. */
static double off_the_limit(int rate) {
    enum { FINEST = 480, LENGTH = 30 }; /* Hz; 1/30 s */
    static double limit[LENGTH + 1][3 * COUNT];
    double x[3 * COUNT], worst = 0;
    for (int run = 0; run < 2; run++) {
        int fps = run ? rate : FINEST, each = fps / 30;
        setting s = prepare();
        s.options.frame_time = 1.0 / fps;
        build(&s);
        for (int f = 0; f <= LENGTH * each; f++) {
            double t = fmin(fmax((double)f / fps - 0.1, 0) / 0.2, 1), u[TARGETS] = {0};
            u[2] = t * t * (3 - 2 * t);
            push(&s, u, x, NULL);
            if (f % each > 0) continue;
            if (run)
                worst = fmax(worst, root_mean_square(x, limit[f / each], COUNT));
            else
                memcpy(limit[f / each], x, sizeof x);
        }
        release(&s);
    }
    setting s = prepare();
    double size = root_mean_square(limit[LENGTH], s.rig->neutral->positions, COUNT);
    sinew_rig_destroy(s.rig);
    return worst / size;
}

static void the_motion_does_not_depend_on_the_frame_rate(void **state) {
    (void)state;
    double off[3] = {off_the_limit(30), off_the_limit(60), off_the_limit(120)};
    assert_below(off[0], 0.15);
    assert_below(off[1], 0.09);
    assert_below(off[2], 0.05); /* implicit steps: the error falls with their length */
}

static void the_split_by_the_span_adds_up(void **state) {
    (void)state;
    setting s = prepare();
    s.options.stretch_length = s.options.bend_length = 0;
    build(&s);
    double u[TARGETS] = {0.3, 0.5, 1, -0.2, 0.1}, x[3 * COUNT];
    sinew_force_frame_info info = {.size = sizeof info};
    push(&s, u, x, &info);
    assert_true(info.in_span > 0.01);
    assert_below(info.out_of_span, 1e-5 * info.in_span);
    release(&s);
    s = prepare();
    s.options.bend_length = s.options.stretch_length = 0.1; /* stiff: smears over the span's edge */
    build(&s);
    push(&s, u, x, &info);
    assert_true(info.out_of_span > 0.05 * info.in_span);
    release(&s);
}

static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    static double x[2][3 * COUNT];
    double u[TARGETS];
    for (int run = 0; run < 2; run++) {
        sinew_set_threads(run + 1);
        setting s = prepare();
        build(&s);
        for (int f = 0; f < 4; f++) {
            for (int k = 0; k < TARGETS; k++) u[k] = sin(f + k);
            push(&s, u, x[run], NULL);
        }
        release(&s);
    }
    sinew_set_threads(0);
    assert_memory_equal(x[0], x[1], sizeof x[0]);
}

static void bad_options_are_named(void **state) {
    (void)state;
    sinew_error error = {0};
    setting s = prepare();
    s.options.frame_time = 0;
    assert_int_equal(sinew_force_create(s.rig, NULL, &s.options, NULL, &s.force, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "frame time"));
    sinew_force_options_init(&s.options);
    s.options.mass_time = NAN;
    assert_int_equal(sinew_force_create(s.rig, NULL, &s.options, NULL, &s.force, &error),
                     SINEW_BAD_INPUT);
    sinew_force_options_init(&s.options);
    int far = COUNT;
    s.options.fixed = &far, s.options.fixed_count = 1;
    assert_int_equal(sinew_force_create(s.rig, NULL, &s.options, NULL, &s.force, &error),
                     SINEW_BAD_INPUT);
    s.options.fixed = NULL;
    build(&s);
    double u[TARGETS] = {NAN}, x[3 * COUNT];
    assert_int_equal(sinew_force_command(s.force, s.state, u, x, NULL, NULL, &error),
                     SINEW_BAD_INPUT);
    release(&s);
}

static void empty_and_equal_targets_do_no_harm(void **state) {
    (void)state;
    sinew_error error = {0};
    setting s = prepare();
    assert_ok(sinew_rig_add_target(s.rig, "nothing", 0, NULL, NULL, &error));
    const sinew_target *first = &s.rig->targets[0];
    int *vertices = malloc(sizeof(int) * (size_t)first->count);
    double *deltas = malloc(3 * sizeof(double) * (size_t)first->count);
    memcpy(vertices, first->vertices, sizeof(int) * (size_t)first->count);
    memcpy(deltas, first->deltas, 3 * sizeof(double) * (size_t)first->count);
    assert_ok(sinew_rig_add_target(s.rig, "again", first->count, vertices, deltas, &error));
    free(vertices), free(deltas);
    sinew_marker_map *map = dome_markers(s.rig, SIDE, 4);
    assert_ok(sinew_force_create(s.rig, map, &s.options, NULL, &s.force, &error));
    assert_int_equal(info_of(sinew_force, s.force).empty_count, 1);
    assert_ok(sinew_force_state_create(s.force, &s.state, &error));
    double w[TARGETS + 2] = {1}, goal[3 * COUNT], x[3 * COUNT], markers[3 * COUNT];
    dome_blend(s.rig, w, goal);
    sinew_marker_map_points(map, s.rig->neutral, goal, markers);
    sinew_force_frame_info info = {.size = sizeof info};
    assert_ok(sinew_force_frame(s.force, s.state, markers, NULL, x, &info, NULL, &error));
    assert_below(root_mean_square(x, goal, COUNT), 0.02);
    const double *u = sinew_force_last_command(s.state);
    assert_close(u[0], u[TARGETS + 1], 1e-6); /* equals share the work */
    assert_close(u[TARGETS], 0, 0);
    sinew_marker_map_destroy(map);
    release(&s);
}

/* ---- allocation ------------------------------------------------------------------------------ */

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    sinew_rig *rig = dome_rig(7, 2);
    sinew_marker_map *map = dome_markers(rig, 7, 3);
    sinew_status status = SINEW_NO_MEMORY;
    for (int allowed = 0; allowed < 2000 && status != SINEW_OK; allowed++) {
        sinew_force *force = NULL;
        sinew_force_state *made = NULL;
        test_memory_limit(allowed);
        status = sinew_force_create(rig, map, NULL, NULL, &force, NULL);
        if (status == SINEW_OK) status = sinew_force_state_create(force, &made, NULL);
        if (status != SINEW_OK) assert_int_equal(status, SINEW_NO_MEMORY);
        sinew_force_state_destroy(made);
        sinew_force_destroy(force);
        assert_int_equal(test_memory_restore().living, 0);
    }
    assert_int_equal(status, SINEW_OK);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

static void options_must_be_in_their_range(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        double low, high; /* just outside */
        const char *words;
    } rows[] = {
#define RANGE(field, low, high, words) {offsetof(sinew_force_options, field), low, high, words}
        RANGE(stretch_length, -1e-9, 10.1, "stretch length"),
        RANGE(bend_length, -1e-9, 1e3, "bend length"),
        RANGE(overstretch, -1e-9, 1.1, "overstretch"),
        RANGE(position, -1, 1.1e6, "position"),
        RANGE(mass_time, 0, 1.1e6, "mass time"),
        RANGE(frame_time, 0, 1.1e6, "frame time"),
        RANGE(velocity_kept, -1e-9, 1.1, "kept velocity"),
        RANGE(ridge, -1e-9, 1.1e6, "ridge"),
        RANGE(smooth, -1e-9, 1.1e6, "smooth"),
        RANGE(contact_gap, 0, 0.011, "contact gap"),
        RANGE(contact_margin, -1e-9, 10.1, "contact margin"),
        RANGE(contact_length, -1e-9, 10.1, "contact length"),
        RANGE(friction, -1e-9, 1.1e6, "friction"),
        RANGE(stick, -1e-9, 1.1, "stick"),
        RANGE(outlier, 0, -1, "outlier"),
        RANGE(flesh_frequency, 0.09, 1001, "flesh frequency"),
        RANGE(flesh_damping, -1e-9, 101, "flesh damping"),
        RANGE(flesh_length, -1e-9, 10.1, "flesh length"),
        RANGE(gravity[1], -1.1e9, 1.1e9, "gravity"),
#undef RANGE
    };
    sinew_error error;
    sinew_force_options base, options;
    sinew_force_options_init(&base);
    base.contact = base.flesh = true;
    assert_ok(sn_force_check_options(&base, &error));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double bad[] = {rows[i].low, rows[i].high, NAN};
        for (int k = 0; k < 3; k++) {
            options = base;
            *(double *)(void *)((char *)&options + rows[i].offset) = bad[k];
            assert_int_equal(sn_force_check_options(&options, &error), SINEW_BAD_INPUT);
            if (!strstr(error.message, rows[i].words))
                fail_msg("%s: %s", rows[i].words, error.message);
        }
    }
    options = base, options.substeps = 0;
    assert_int_equal(sn_force_check_options(&options, &error), SINEW_BAD_INPUT);
    options = base, options.substeps = 1001;
    assert_int_equal(sn_force_check_options(&options, &error), SINEW_BAD_INPUT);
    options = base, options.relinearisations = 0;
    assert_int_equal(sn_force_check_options(&options, &error), SINEW_BAD_INPUT);
    options = base, options.bounded = true, options.lower = 1, options.upper = 0;
    assert_int_equal(sn_force_check_options(&options, &error), SINEW_BAD_INPUT);
    options.lower = NAN;
    assert_int_equal(sn_force_check_options(&options, &error), SINEW_BAD_INPUT);
    /* what is turned off may hold anything */
    options = base, options.flesh = false, options.flesh_frequency = NAN, options.gravity[0] = NAN;
    assert_ok(sn_force_check_options(&options, &error));
}

int test_frames(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_command_the_sheet_stays_at_rest),
        cmocka_unit_test(a_constant_command_settles_at_its_target),
        cmocka_unit_test(the_static_frame_is_where_steps_come_to_rest),
        cmocka_unit_test(without_stiffness_accelerations_replay_the_blendshape_clip),
        cmocka_unit_test(a_released_muscle_returns_smoothly),
        cmocka_unit_test(substeps_follow_the_same_motion),
        cmocka_unit_test(the_motion_does_not_depend_on_the_frame_rate),
        cmocka_unit_test(the_split_by_the_span_adds_up),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(bad_options_are_named),
        cmocka_unit_test(empty_and_equal_targets_do_no_harm),
        cmocka_unit_test(options_must_be_in_their_range),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
