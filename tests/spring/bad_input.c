/* Input that cannot be used: a message or a documented rule, finite shapes, no hang. */
#include "support.h"

#include <stddef.h>

#include "base/memory.h"
#include "bodies.h"
#include "groups.h"
#include "sinew/spring.h"

static sinew_rig *block_rig(int cells) {
    sinew_error error = {0};
    test_block block;
    test_block_create(cells, 2, 2, &block);
    sinew_rig *rig = NULL;
    double *pose = SN_NEW(double, 3 * block.mesh->vertex_count);
    test_bend(block.mesh->vertex_count, block.mesh->positions, cells, 1, pose);
    sinew_mesh *neutral = block.mesh;
    block.mesh = NULL;
    assert_ok(sinew_rig_create(neutral, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "pose", pose, &error));
    sn_free(pose);
    test_block_free(&block);
    return rig;
}

static void refuse(const sinew_rig *rig, const sinew_spring_options *options, const char *word) {
    sinew_error error = {0};
    sinew_spring *spring = NULL;
    assert_int_equal(sinew_spring_create(rig, options, NULL, &spring, &error), SINEW_BAD_INPUT);
    assert_null(spring);
    if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
}

static void bad_options_are_named(void **state) {
    (void)state;
    sinew_rig *rig = block_rig(4);
    sinew_spring_options base, options;
    sinew_spring_options_init(&base);
    base.interior = false;
    options = base, options.tolerance = 0, refuse(rig, &options, "tolerance");
    options = base, options.kappa[1] = NAN, refuse(rig, &options, "bending");
    options = base, options.volume = -1, refuse(rig, &options, "volume");
    options = base, options.boundary = SINEW_SPRING_BOUNDARY_PINNED,
    refuse(rig, &options, "pinned");
    static const struct {
        size_t offset;
        bool infinite; /* refused, too */
        bool zero;
        const char *words;
    } rows[] = {
#define NUMBER(field, infinite, zero, words)                                                       \
    {offsetof(sinew_spring_options, field), infinite, zero, words}
        NUMBER(kappa[0], true, true, "kappa"),
        NUMBER(kappa[4], true, true, "kappa"),
        NUMBER(volume, true, false, "volume"),
        NUMBER(guide, true, false, "guide"),
        NUMBER(altitude, true, false, "altitude"),
        NUMBER(pull_to_blend, true, false, "pull to the blend"),
        NUMBER(tolerance, true, true, "tolerance"),
        NUMBER(friction, true, false, "friction"),
        NUMBER(contact_depth, true, true, "contact depth"),
        NUMBER(time_limit, false, true, "limits"),
#undef NUMBER
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double bad[] = {-1, NAN, rows[i].infinite ? INFINITY : -1, rows[i].zero ? 0 : -1};
        for (int k = 0; k < 4; k++) {
            options = base;
            *(double *)(void *)((char *)&options + rows[i].offset) = bad[k];
            refuse(rig, &options, rows[i].words);
        }
    }
    options = base, options.max_iterations = 0, refuse(rig, &options, "limits");
    options = base, options.max_rounds = 0, refuse(rig, &options, "limits");
    double map[200], fibers[600] = {0};
    assert_true(rig->neutral->vertex_count <= 200);
    for (int v = 0; v < 200; v++) map[v] = 1;
    const double wrong[] = {-1, NAN, INFINITY};
    for (int k = 0; k < 3; k++) {
        map[3] = wrong[k];
        options = base, options.stiffness_map = map, refuse(rig, &options, "at vertex 3");
    }
    fibers[7] = NAN, options = base, options.fibers = fibers;
    refuse(rig, &options, "fiber at vertex 2");
    const int far_pin = 1000000, no_pin = -1;
    options = base, options.pins = &no_pin, options.pin_count = 1, refuse(rig, &options, "-1");
    options = base, options.pins = &far_pin, options.pin_count = 1,
    refuse(rig, &options, "1000000");
    const double outside[12] = {90, 0, 0, 91, 0, 0, 91, 1, 0, 90, 1, 0};
    options = base, options.boundary = SINEW_SPRING_BOUNDARY_ANCHOR, options.anchor = outside;
    refuse(rig, &options, "anchor");
    sinew_rig_destroy(rig);
}

static void weights_that_are_no_weights_are_refused(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = block_rig(4);
    sinew_spring *spring = NULL;
    sinew_spring_state *s = NULL;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.interior = false;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &s, &error));
    int count = rig->neutral->vertex_count;
    double *x = SN_NEW(double, 3 * count);
    const double bad[3] = {NAN, INFINITY, 1e9};
    for (int k = 0; k < 3; k++) {
        sinew_spring_frame frame = {.size = sizeof frame, .weights = &bad[k], .index = -1};
        assert_int_equal(sinew_spring_solve(spring, s, &frame, x, NULL, NULL, &error),
                         SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, "pose"));
    }
    /* far, but within reason: rest lengths are clamped, the shape is finite, time is limited */
    const double far_weights[2] = {-40, 60};
    for (int k = 0; k < 2; k++) {
        sinew_spring_frame frame = {.size = sizeof frame, .weights = &far_weights[k], .index = -1};
        sinew_spring_frame_info info = {.size = sizeof info};
        sinew_status status = sinew_spring_solve(spring, s, &frame, x, &info, NULL, &error);
        assert_true(status == SINEW_OK || status == SINEW_NOT_CONVERGED);
        for (int i = 0; i < 3 * count; i++) assert_true(isfinite(x[i]));
    }
    sn_free(x);
    sinew_spring_state_destroy(s);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}

static void coincident_and_isolated_vertices_follow_a_rule(void **state) {
    (void)state;
    sinew_error error = {0};
    /* two triangles over an edge of no length, a vertex alone, a separate part */
    const double positions[27] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 7, 7,
                                  7, 3, 0, 0, 4, 0, 0, 3, 1, 0, 4, 1, 1};
    const int faces[12] = {0, 1, 2, 1, 3, 2, 5, 6, 7, 6, 8, 7};
    sinew_mesh *mesh = NULL;
    assert_ok(sinew_mesh_create(9, positions, 4, NULL, faces, &mesh, &error));
    sinew_rig *rig = NULL;
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    double pose[27];
    memcpy(pose, positions, sizeof pose);
    pose[11] = 1, pose[14] = 9, pose[26] = 2;
    assert_ok(sinew_rig_add_pose(rig, "open", pose, &error));
    sinew_spring *spring = NULL;
    sinew_spring_state *s = NULL;
    assert_ok(sinew_spring_create(rig, NULL, NULL, &spring, &error));
    assert_int_equal(info_of(sinew_spring, spring).isolated_count, 1);
    assert_int_equal(info_of(sinew_spring, spring).component_count, 2);
    assert_ok(sinew_spring_state_create(spring, &s, &error));
    double x[27];
    for (int k = 0; k <= 4; k++) {
        double weight = 0.25 * k;
        sinew_spring_frame frame = {.size = sizeof frame, .weights = &weight, .index = k};
        sinew_spring_frame_info info = {.size = sizeof info};
        assert_ok(sinew_spring_solve(spring, s, &frame, x, &info, NULL, &error));
        for (int i = 0; i < 27; i++) assert_true(isfinite(x[i]));
        assert_close(x[14], 7 + 2 * weight, 1e-6); /* alone: the linear blend */
    }
    sinew_spring_state_destroy(s);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}

static bool always(void *user) {
    (void)user;
    return true;
}

static void limits_and_cancelling_have_their_own_statuses(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = block_rig(8);
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.interior = false;
    double *x = SN_NEW(double, 3 * rig->neutral->vertex_count);
    const double half = 0.5;
    sinew_spring_frame frame = {.size = sizeof frame, .weights = &half, .index = -1};
    for (int pass = 0; pass < 3; pass++) {
        sinew_spring_options limited = options;
        if (pass == 0) limited.max_iterations = 1, limited.tolerance = 1e-12;
        if (pass == 1) limited.time_limit = 1e-9;
        sinew_spring *spring = NULL;
        sinew_spring_state *s = NULL;
        assert_ok(sinew_spring_create(rig, &limited, NULL, &spring, &error));
        assert_ok(sinew_spring_state_create(spring, &s, &error));
        sinew_monitor monitor = {.cancelled = always};
        sinew_spring_frame_info info = {.size = sizeof info};
        sinew_status status =
            sinew_spring_solve(spring, s, &frame, x, &info, pass == 2 ? &monitor : NULL, &error);
        assert_int_equal(status, pass == 2 ? SINEW_CANCELLED : SINEW_NOT_CONVERGED);
        assert_int_equal(info.time_limited, pass == 1);
        if (pass < 2) assert_int_equal(strstr(error.message, "time limit") != NULL, pass == 1);
        for (int i = 0; i < 3 * rig->neutral->vertex_count; i++) assert_true(isfinite(x[i]));
        if (pass == 2) /* the state is still good */
            assert_ok(sinew_spring_solve(spring, s, &frame, x, &info, NULL, &error));
        sinew_spring_state_destroy(s);
        sinew_spring_destroy(spring);
    }
    sn_free(x);
    sinew_rig_destroy(rig);
}

static void a_free_body_in_contact_needs_the_pull(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = block_rig(4);
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.interior = false, options.pull_to_blend = 0;
    sinew_spring *spring = NULL;
    sinew_spring_state *s = NULL;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &s, &error));
    double *x = SN_NEW(double, 3 * rig->neutral->vertex_count);
    const double half = 0.5;
    sinew_spring_pull pull = {.vertex = 0, .stiffness = INFINITY};
    sinew_spring_frame frame = {
        .size = sizeof frame, .weights = &half, .index = -1, .pull_count = 1, .pulls = &pull};
    assert_int_equal(sinew_spring_solve(spring, s, &frame, x, NULL, NULL, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "pull to the blend"));
    sn_free(x);
    sinew_spring_state_destroy(s);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}

/* ---- memory ---- */

static void every_failing_allocation_is_survived(void **state) {
    (void)state;
    sinew_rig *rig = block_rig(3);
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.interior = false;
    double *x = malloc(3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    const double half = 0.5;
    int failures = 0;
    for (long n = 0;; n += n < 150 ? 1 : 7) {
        sinew_error error = {0};
        sinew_spring *spring = NULL;
        sinew_spring_state *s = NULL;
        test_memory_limit(n);
        sinew_status status = sinew_spring_create(rig, &options, NULL, &spring, &error);
        if (status == SINEW_OK) status = sinew_spring_state_create(spring, &s, &error);
        if (status == SINEW_OK) {
            sinew_spring_frame frame = {.size = sizeof frame, .weights = &half, .index = -1};
            status = sinew_spring_solve(spring, s, &frame, x, NULL, NULL, &error);
        }
        sinew_spring_state_destroy(s);
        sinew_spring_destroy(spring);
        assert_int_equal(test_memory_restore().living, 0);
        if (status == SINEW_OK) break;
        assert_int_equal(status, SINEW_NO_MEMORY);
        failures++;
    }
    assert_true(failures > 50);
    free(x);
    sinew_rig_destroy(rig);
}

int test_bad_input(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_named),
        cmocka_unit_test(weights_that_are_no_weights_are_refused),
        cmocka_unit_test(coincident_and_isolated_vertices_follow_a_rule),
        cmocka_unit_test(limits_and_cancelling_have_their_own_statuses),
        cmocka_unit_test(a_free_body_in_contact_needs_the_pull),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("bad input", tests, NULL, NULL);
}
