/* The shapes of a bake: how many, how sparse, and what they are said to leave. */
#include "groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rigs.h"
#include "support.h"

#include "sinew/bake.h"

enum { VERTICES = 8, FUNCTIONS = 5, MOST_ROWS = 1000 };

/* Two lids of four vertices. Slider 0 lowers the upper one, slider 1 raises the lower one; so that
 * they are taken for sliders that interact, both move vertex 7. */
static sinew_rig *lids_that_move_by(double way) {
    static const double points[] = {0, 1,    0, 1, 1, 0,   1, 1, 1,    0, 1,    1,
                                    0, -0.5, 0, 1, 0, 0.1, 1, 0, 0.95, 0, -0.5, 0.9};
    static const int faces[] = {0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7};
    static const int upper[] = {0, 1, 2, 3, 7}, lower[] = {4, 5, 6, 7};
    const double down[] = {0, -way, 0, 0, -way, 0, 0, -way, 0, 0, -way, 0, 0, 0, 0.02};
    const double up[] = {0, way, 0, 0, way, 0, 0, way, 0, 0, way, 0};
    sinew_error error;
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(VERTICES, points, 4, NULL, faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_target(rig, "close", 5, upper, down, &error));
    assert_ok(sinew_rig_add_target(rig, "squint", 4, lower, up, &error));
    return rig;
}

static sinew_rig *lids(void) {
    return lids_that_move_by(0.6);
}

/* Adds a function of its own to each of the first `functions` vertices, `kink` of one that is no
 * polynomial to another, and stops the lids half-way where they `touch`. Keeps what it was asked.
 */
typedef struct model {
    const sinew_rig *rig;
    int functions;
    double kink;
    bool touch;
    double rows[2 * MOST_ROWS];
    int count;
} model;

static sinew_status evaluate(const double *w, double *positions, void *user,
                             const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor;
    model *m = user;
    double a = w[0], b = w[1];
    const double functions[FUNCTIONS] = {a * a - a, b * b - b, a * b, a * a * b, a * b * b};
    sinew_linear *linear;
    sinew_status status = sinew_linear_create(m->rig, &linear, error);
    if (status != SINEW_OK) return status;
    sinew_linear_evaluate(linear, w, positions);
    sinew_linear_destroy(linear);
    for (int v = 0; v < m->functions; v++) positions[3 * v] += 0.1 * functions[v];
    positions[3 * 7] += m->kink * fabs(a - 0.4) * b;
    double depth = 0.6 * (a + b) - 1;
    for (int v = 0; m->touch && depth > 0 && v < VERTICES; v++)
        positions[3 * v + 1] += (v < 4 ? 0.5 : -0.5) * depth;
    if (m->count < MOST_ROWS) memcpy(m->rows + 2 * m->count++, w, 2 * sizeof *w);
    return SINEW_OK;
}

static sinew_rig *bake(model *m, int targets, double tolerance, sinew_bake_info *info) {
    sinew_error error;
    sinew_rig *baked;
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_targets = targets;
    options.max_samples = 80;
    options.tolerance = tolerance;
    options.self_contact = m->touch;
    *info = (sinew_bake_info){.size = sizeof *info};
    assert_ok(sinew_bake(m->rig, &options, evaluate, m, NULL, &baked, info, &error));
    assert_int_equal(info->inbetweens, 0);
    assert_int_equal(baked->target_count, m->rig->target_count + info->combinations);
    return baked;
}

/* A vertex that follows a function of its own needs a shape: as many as there are, no more. */
static void no_more_shapes_than_the_tolerance_needs(void **state) {
    (void)state;
    for (int n = 1; n <= FUNCTIONS; n++) {
        sinew_bake_info info;
        sinew_rig *rig = lids();
        model m = {.rig = rig, .functions = n};
        sinew_rig_destroy(bake(&m, 8, 1e-4, &info));
        assert_int_equal(info.combinations, n);
        assert_true(info.fitted_worst <= 1e-4);
        sinew_rig_destroy(rig);
    }
}

static double length_at(const sinew_target *target, int i) {
    const double *d = target->deltas + 3 * (size_t)i;
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* The functions of the vertices are anything but independent over the samples; each shape moves one
 * vertex nevertheless, and others little. Each is fully on, and not reversed, in some sample. */
static void shapes_are_sparse_and_fully_on_once(void **state) {
    (void)state;
    enum { SHAPES = 3 };
    sinew_bake_info info;
    sinew_rig *rig = lids();
    model m = {.rig = rig, .functions = SHAPES};
    sinew_rig *baked = bake(&m, SHAPES, 0, &info);
    assert_int_equal(info.combinations, SHAPES);
    double most[SHAPES] = {0}, a[2 + SHAPES];
    for (int k = 0; k < m.count; k++) {
        sinew_rig_activations(baked, m.rows + 2 * k, a);
        for (int j = 0; j < SHAPES; j++)
            if (fabs(a[2 + j]) > fabs(most[j])) most[j] = a[2 + j];
    }
    for (int j = 0; j < SHAPES; j++) {
        const sinew_target *target = &baked->targets[2 + j];
        double longest = 0, rest = 0;
        for (int i = 0; i < target->count; i++) longest = fmax(longest, length_at(target, i));
        for (int i = 0; i < target->count; i++)
            if (length_at(target, i) < longest) rest = fmax(rest, length_at(target, i));
        assert_true(rest < 0.35 * longest);
        assert_close(most[j], 1, 0.02);
    }
    sinew_rig_destroy(rig), sinew_rig_destroy(baked);
}

/* A kink is left. The stated errors are those of the baked rig in all samples. */
static void stated_errors_are_those_of_the_samples(void **state) {
    (void)state;
    sinew_error error;
    sinew_bake_info info;
    sinew_rig *rig = lids();
    model m = {.rig = rig, .functions = 3, .kink = 0.3};
    sinew_rig *baked = bake(&m, 4, 0.001, &info);
    model again = m;
    sinew_bake_error found = {.size = sizeof found};
    assert_ok(sinew_bake_measure(baked, m.count, m.rows, evaluate, &again, NULL, &found, &error));
    assert_true(found.worst > 0.001);
    assert_close(info.fitted_worst, found.worst, 0.02 * found.worst);
    assert_close(info.fitted_error, found.rms, 0.02 * found.rms);
    again = m;
    assert_ok(sinew_bake_measure(rig, m.count, m.rows, evaluate, &again, NULL, &found, &error));
    assert_close(info.linear_error, found.rms, 1e-4 * found.rms);
    sinew_rig_destroy(rig), sinew_rig_destroy(baked);
}

/* The hinge of the lids is one of the targets that are allowed. */
static void contact_counts_as_a_target(void **state) {
    (void)state;
    sinew_bake_info info;
    sinew_rig *rig = lids();
    model m = {.rig = rig, .functions = FUNCTIONS, .touch = true};
    sinew_rig *baked = bake(&m, 4, 0, &info);
    assert_int_equal(info.combinations, 4);
    assert_int_equal(baked->targets[5].combine, SINEW_COMBINE_HINGE);
    sinew_rig_destroy(rig), sinew_rig_destroy(baked);
}

/* ---- contact --------------------------------------------------------------------------------- */

/* The lids are pushed apart by what the slopes say, half of it each; a third slider may move the
 * lower lid from under the upper one. */
typedef struct pushed {
    const sinew_rig *rig;
    double slopes[2], gap;
} pushed;

static sinew_status blend(const double *w, double *positions, void *user,
                          const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor;
    const pushed *p = user;
    sinew_linear *linear;
    sinew_status status = sinew_linear_create(p->rig, &linear, error);
    if (status != SINEW_OK) return status;
    sinew_linear_evaluate(linear, w, positions);
    sinew_linear_destroy(linear);
    return SINEW_OK;
}

static sinew_status push(const double *w, double *positions, void *user,
                         const sinew_monitor *monitor, sinew_error *error) {
    const pushed *p = user;
    sinew_status status = blend(w, positions, user, monitor, error);
    if (status != SINEW_OK) return status;
    double depth = p->slopes[0] * w[0] + p->slopes[1] * w[1] + p->gap - 1;
    bool beside = p->rig->slider_count > 2 && w[2] > 0.35;
    for (int v = 0; depth > 0 && !beside && v < VERTICES; v++)
        positions[3 * v + 1] += (v < 4 ? 0.5 : -0.5) * depth;
    return SINEW_OK;
}

static sinew_rig *bake_pushed(pushed *p, bool known) {
    sinew_error error;
    sinew_rig *baked;
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_targets = 12;
    options.max_samples = 150;
    options.self_contact = true;
    if (known) options.without_contact = blend, options.without_contact_user = p;
    assert_ok(sinew_bake(p->rig, &options, push, p, NULL, &baked, NULL, &error));
    assert_int_equal(baked->targets[baked->target_count - 1].combine, SINEW_COMBINE_HINGE);
    return baked;
}

/* The blend says the same slope for both sliders; the samples say that the second one presses
 * more. (Where contact is known, hinges are those of the gaps.) */
static void slopes_of_hinges_follow_the_samples(void **state) {
    (void)state;
    sinew_rig *rig = lids();
    pushed p = {.rig = rig, .slopes = {0.5, 0.7}};
    sinew_rig *baked = bake_pushed(&p, false);
    const sinew_target *hinge = &baked->targets[baked->target_count - 1];
    double slopes[2] = {0};
    for (int i = 0; i < hinge->term_count; i++)
        slopes[hinge->drivers[hinge->terms[i].driver[0]]] = hinge->terms[i].coefficient;
    assert_true(slopes[0] > 0.5 && slopes[1] < 0.7 && slopes[1] > slopes[0] + 0.005);
    sinew_rig_destroy(rig), sinew_rig_destroy(baked);
}

/* Where "aside" is on there is no contact, which the hinge does not know in full: the mean of all
 * samples is too little where it is off. */
static void shapes_of_contact_grow_until_nothing_crosses(void **state) {
    (void)state;
    static const int lower[] = {4, 5, 6, 7};
    static const double aside[] = {0, 0, 3, 0, 0, 3, 0, 0, 3, 0, 0, 3};
    sinew_error error;
    sinew_rig *rig = lids_that_move_by(0.7);
    assert_ok(sinew_rig_add_target(rig, "aside", 4, lower, aside, &error));
    pushed p = {.rig = rig, .slopes = {0.7, 0.7}, .gap = 0.002};
    sinew_rig *baked = bake_pushed(&p, true);
    int plain = 0, crossed = 0;
    for (int k = 0; k < 100; k++) {
        const double w[] = {0.1 * (k % 10 + 1), 0.1 * (k / 10 + 1), 0};
        plain += count_crossings(rig, w) > 0, crossed += count_crossings(baked, w) > 0;
    }
    assert_true(plain > 10);
    assert_int_equal(crossed, 0);
    sinew_rig_destroy(rig), sinew_rig_destroy(baked);
}

/* The lower lid also moves by what no polynomial follows, and the lids part where they would meet:
 * just before that, less than a hundredth of their way makes them cross. */
static sinew_status kinked(const double *w, double *positions, void *user,
                           const sinew_monitor *monitor, sinew_error *error) {
    sinew_status status = blend(w, positions, user, monitor, error);
    for (int v = 4; status == SINEW_OK && v < VERTICES; v++)
        positions[3 * v + 1] += 0.1 * fabs(w[0] - 0.6) * w[1];
    return status;
}

static sinew_status kinked_and_parted(const double *w, double *positions, void *user,
                                      const sinew_monitor *monitor, sinew_error *error) {
    sinew_status status = kinked(w, positions, user, monitor, error);
    double depth = positions[3 * 5 + 1] - positions[1] + 1e-3;
    for (int v = 0; status == SINEW_OK && depth > 0 && v < VERTICES; v++)
        positions[3 * v + 1] += (v < 4 ? 0.5 : -0.5) * depth;
    return status;
}

static void lids_that_nearly_touch_do_not_cross(void **state) {
    (void)state;
    enum { STEPS = 60 };
    sinew_error error;
    sinew_rig *rig = lids_that_move_by(0.7), *baked;
    pushed p = {.rig = rig};
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_targets = 8;
    options.max_samples = 150;
    options.self_contact = true;
    options.without_contact = kinked, options.without_contact_user = &p;
    assert_ok(sinew_bake(rig, &options, kinked_and_parted, &p, NULL, &baked, NULL, &error));
    int crossed = 0;
    for (int k = 0; k < STEPS * STEPS; k++) {
        const double w[] = {(k % STEPS + 1.0) / STEPS, (k / STEPS + 1.0) / STEPS};
        crossed += count_crossings(baked, w) > 0;
    }
    assert_int_equal(crossed, 0);
    sinew_bake_error before = {.size = sizeof before}, after = {.size = sizeof after};
    const double rows[] = {0.9, 0.9, 0.8, 0.95, 1, 0.7, 0.4, 0.5, 0.9, 0.3, 0.75, 0.7};
    assert_ok(sinew_bake_measure(rig, 6, rows, kinked_and_parted, &p, NULL, &before, &error));
    assert_ok(sinew_bake_measure(baked, 6, rows, kinked_and_parted, &p, NULL, &after, &error));
    assert_below(after.mean / before.mean, 0.25);
    sinew_rig_destroy(rig), sinew_rig_destroy(baked);
}

int test_bake_fit(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_shapes_than_the_tolerance_needs),
        cmocka_unit_test(shapes_are_sparse_and_fully_on_once),
        cmocka_unit_test(stated_errors_are_those_of_the_samples),
        cmocka_unit_test(contact_counts_as_a_target),
        cmocka_unit_test(slopes_of_hinges_follow_the_samples),
        cmocka_unit_test(shapes_of_contact_grow_until_nothing_crosses),
        cmocka_unit_test(lids_that_nearly_touch_do_not_cross),
    };
    return cmocka_run_group_tests_name("bake fit", tests, NULL, NULL);
}
