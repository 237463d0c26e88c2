/* The parameters of fits, against closed forms, optimality conditions and each other. */
#include "support.h"

#include <stddef.h>

#include "base/status.h"
#include "groups.h"
#include "rigs.h"
#include "sinew/fit.h"

enum { SLIDERS = 6, MARKERS = 20 };

/* Markers M0, M1 ... on the first vertices. */
static sinew_marker_map *map_of(int count) {
    sinew_error error = {0};
    sinew_marker_map *map;
    assert_ok(sinew_marker_map_create(count, &map, &error));
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "M%d", i);
        assert_ok(sinew_marker_map_set_name(map, i, name, &error));
        map->vertices[i] = i;
    }
    return map;
}

static sinew_fit_options knobs(void) {
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    sinew_fit_options_set_method(&options, SINEW_FIT_METHOD_SBS);
    options.outlier = INFINITY;
    options.bounded_above = false;
    return options;
}

/* ---- closed forms ---------------------------------------------------------------------------- */

/* Two sliders, each moves a vertex of its own along x by `reach`: the fit falls apart into two
 * parabolas, s is the mean of the squared reaches. */
static const double reach[2] = {0.5, 1.5};

static sinew_rig *pair_rig(void) {
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(4);
    for (int k = 0; k < 2; k++) {
        const double delta[3] = {reach[k], 0, 0};
        assert_ok(sinew_rig_add_target(rig, k ? "right" : "left", 1, &k, delta, &error));
    }
    return rig;
}

static void every_parameter_must_be_a_usable_number(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        double value;
        const char *words;
    } rows[] = {
#define BAD(field, value, words) {offsetof(sinew_fit_options, field), value, words}
        BAD(l1, -1, "l1"),
        BAD(l1, INFINITY, "l1"),
        BAD(l1, NAN, "l1"),
        BAD(l2, -1, "l2"),
        BAD(l2, INFINITY, "l2"),
        BAD(smooth, -1, "smooth"),
        BAD(smooth, INFINITY, "smooth"),
        BAD(symmetry, -1, "symmetry"),
        BAD(symmetry, INFINITY, "symmetry"),
        BAD(undershoot, -1, "undershoot"),
        BAD(undershoot, NAN, "undershoot"),
        BAD(overshoot, -1, "overshoot"),
        BAD(outlier, 0, "outlier"),
        BAD(outlier, NAN, "outlier"),
#undef BAD
    };
    sinew_rig *rig = pair_rig();
    sinew_marker_map *map = map_of(2);
    sinew_error error;
    sinew_fit *fit;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sinew_fit_options options = knobs();
        *(double *)(void *)((char *)&options + rows[i].offset) = rows[i].value;
        assert_int_equal(sinew_fit_create(rig, map, &options, &fit, &error), SINEW_BAD_INPUT);
        assert_null(fit);
        if (!strstr(error.message, rows[i].words)) fail_msg("row %zu: %s", i, error.message);
    }
    sinew_fit_options options = knobs();
    options.iterations = 0;
    assert_int_equal(sinew_fit_create(rig, map, &options, &fit, &error), SINEW_BAD_INPUT);
    /* few weights are preferred among those that cannot be negative */
    options = knobs(), options.l1 = 0.1, options.bounded_below = false;
    assert_int_equal(sinew_fit_create(rig, map, &options, &fit, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "l1 needs weights that are not negative"));
    options = knobs(), options.l1 = 0.1, options.undershoot = 1;
    assert_int_equal(sinew_fit_create(rig, map, &options, &fit, &error), SINEW_BAD_INPUT);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

/* Vertices 0 and 1 are wanted at `wish` times their reach, coming from weights `last`. */
static void fit_pair(const sinew_rig *rig, const sinew_fit_options *options, const double wish[2],
                     const double *given, const double last[2], double weights[2]) {
    sinew_error error = {0};
    sinew_marker_map *map = map_of(2);
    sinew_fit *fit;
    double markers[6];
    memcpy(markers, rig->neutral->positions, sizeof markers);
    for (int k = 0; k < 2; k++) markers[3 * k] += wish[k] * reach[k], weights[k] = last[k];
    assert_ok(sinew_fit_create(rig, map, options, &fit, &error));
    assert_ok(sinew_fit_frame(fit, markers, given, weights, NULL, &error));
    sinew_fit_destroy(fit);
    sinew_marker_map_destroy(map);
}

/* w = (c r^2 wish + smooth s last - l1 s / 2) / (c r^2 + l2 s + smooth s), and 0 below that. */
static void each_knob_shrinks_as_its_parabola_says(void **state) {
    (void)state;
    sinew_rig *rig = pair_rig();
    const double s = (0.25 + 2.25) / 2, wish[2] = {0.7, 0.4}, last[2] = {0.1, 0.9};
    const double cases[][3] = {/* l1, l2, smooth */
                               {0, 0, 0},   {0.05, 0, 0}, {0, 0.3, 0},
                               {0, 0, 0.4}, {0.8, 0, 0},  {0.1, 0.2, 0.3}};
    const double weights_given[2] = {3, 0.5};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int given = 0; given < 2; given++) {
            sinew_fit_options options = knobs();
            options.l1 = cases[c][0], options.l2 = cases[c][1], options.smooth = cases[c][2];
            double weights[2];
            fit_pair(rig, &options, wish, given ? weights_given : NULL, last, weights);
            for (int k = 0; k < 2; k++) {
                double square = (given ? weights_given[k] : 1) * reach[k] * reach[k];
                double up = square * wish[k] + options.smooth * s * last[k] - options.l1 * s / 2;
                double expected = fmax(0, up / (square + (options.l2 + options.smooth) * s));
                assert_close(weights[k], expected, 1e-6);
            }
        }
    sinew_rig_destroy(rig);
}

/* Stationary where r_l^2 (w_l - wish_l) = -symmetry s (w_l - w_r) and the same for the right. */
static void symmetry_draws_declared_pairs_together(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = pair_rig();
    const double s = (0.25 + 2.25) / 2, wish[2] = {0.7, 0.4}, last[2] = {0, 0};
    sinew_fit_options options = knobs();
    options.symmetry = 0.6;
    double alone[2], paired[2], pull = 0.6 * s;
    fit_pair(rig, &options, wish, NULL, last, alone);
    for (int k = 0; k < 2; k++) assert_close(alone[k], wish[k], 1e-6); /* nobody said they are */
    assert_ok(sinew_rig_set_mirror(rig, 0, 1, &error));
    fit_pair(rig, &options, wish, NULL, last, paired);
    for (int k = 0; k < 2; k++)
        assert_close(reach[k] * reach[k] * (paired[k] - wish[k]),
                     -pull * (paired[k] - paired[1 - k]), 1e-6);
    assert_true(fabs(paired[0] - paired[1]) < 0.5 * fabs(wish[0] - wish[1]));
    sinew_rig_destroy(rig);
}

static void bounds_hold_where_they_are_asked_for(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = pair_rig();
    const double wish[2] = {1.7, -0.4}, last[2] = {0, 0};
    double weights[2];
    assert_ok(sinew_rig_set_limits(rig, 0, 0, 1, &error));
    assert_ok(sinew_rig_set_limits(rig, 1, -0.25, 1, &error));
    sinew_fit_options options = knobs();
    fit_pair(rig, &options, wish, NULL, last, weights);
    assert_close(weights[0], 1.7, 1e-6);
    assert_close(weights[1], -0.25, 0);
    options.bounded_above = true;
    fit_pair(rig, &options, wish, NULL, last, weights);
    assert_close(weights[0], 1, 0);
    options.overshoot = 0.5;
    fit_pair(rig, &options, wish, NULL, last, weights);
    assert_close(weights[0], 1.5, 0);
    assert_close(weights[1], -0.25, 0);
    options.undershoot = 0.08; /* of a range of 1.25 */
    fit_pair(rig, &options, wish, NULL, last, weights);
    assert_close(weights[1], -0.35, 1e-12);
    options.bounded_above = options.bounded_below = false;
    fit_pair(rig, &options, wish, NULL, last, weights);
    assert_close(weights[0], 1.7, 1e-6);
    assert_close(weights[1], -0.4, 1e-6);
    sinew_rig_destroy(rig);
}

/* One slider moves two vertices that are wanted at 0 and at 1. */
static void a_marker_of_ten_times_the_weight_pulls_ten_times_as_much(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(4);
    const int vertices[2] = {0, 1};
    const double deltas[6] = {1, 0, 0, 1, 0, 0};
    assert_ok(sinew_rig_add_target(rig, "both", 2, vertices, deltas, &error));
    sinew_marker_map *map = map_of(2);
    sinew_fit_options options = knobs();
    sinew_fit *fit;
    double markers[6];
    memcpy(markers, rig->neutral->positions, sizeof markers);
    markers[3] += 1;
    assert_ok(sinew_fit_create(rig, map, &options, &fit, &error));
    const double heavy[] = {0, 0.1, 1, 10, 100};
    for (int i = 0; i < 5; i++) {
        const double given[2] = {1, heavy[i]};
        double weight = 0;
        assert_ok(sinew_fit_frame(fit, markers, given, &weight, NULL, &error));
        assert_close(weight, heavy[i] / (1 + heavy[i]), 1e-6);
    }
    sinew_fit_destroy(fit);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

/* ---- any rig --------------------------------------------------------------------------------- */

typedef struct problem {
    sinew_rig *rig;
    sinew_linear *linear;
    sinew_marker_map *map;
    double s;
    double markers[3 * MARKERS], given[MARKERS], last[SLIDERS];
} problem;

/* A rig with an in-between and a combination, and markers that it cannot meet. */
static void make_problem(problem *p, bool curved) {
    sinew_error error = {0};
    uint64_t seed = 17;
    p->rig = random_rig(MARKERS, SLIDERS, 1, 5);
    p->map = map_of(MARKERS);
    double bend[3 * MARKERS];
    int vertices[MARKERS];
    const int drivers[2] = {2, 3};
    for (int v = 0; v < MARKERS; v++) vertices[v] = v;
    for (int i = 0; i < 3 * MARKERS; i++) bend[i] = 0.1 * test_random(&seed);
    if (curved) {
        assert_ok(
            sinew_rig_add_inbetween(p->rig, "late", 0, 0.65, MARKERS, vertices, bend, &error));
        assert_ok(sinew_rig_add_combination(p->rig, "both", SINEW_COMBINE_MULTIPLY, 2, drivers,
                                            MARKERS, vertices, bend, &error));
    }
    assert_ok(sinew_rig_set_mirror(p->rig, 4, 5, &error));
    for (int k = 0; k < SLIDERS; k++) {
        assert_ok(sinew_rig_set_limits(p->rig, k, 0, 0.8, &error));
        p->last[k] = 0.5 * (1 + test_random(&seed)) * 0.8;
    }
    double sum = 0;
    for (int k = 0; k < p->rig->target_count; k++)
        for (int i = 0; i < 3 * p->rig->targets[k].count; i++)
            sum += p->rig->targets[k].deltas[i] * p->rig->targets[k].deltas[i];
    p->s = sum / p->rig->target_count;
    assert_ok(sinew_linear_create(p->rig, &p->linear, &error));
    const double planted[SLIDERS] = {0.3, 0, 1.2, 0.7, 0.1, 0.6};
    sinew_linear_evaluate(p->linear, planted, p->markers);
    for (int i = 0; i < 3 * MARKERS; i++) p->markers[i] += 0.1 * test_random(&seed);
    for (int i = 0; i < MARKERS; i++) p->given[i] = 0.5 + (i % 4);
}

static void free_problem(problem *p) {
    sinew_linear_destroy(p->linear);
    sinew_marker_map_destroy(p->map);
    sinew_rig_destroy(p->rig);
}

static void solve(const problem *p, const sinew_fit_options *options, double *weights) {
    sinew_error error = {0};
    sinew_fit *fit;
    assert_ok(sinew_fit_create(p->rig, p->map, options, &fit, &error));
    memcpy(weights, p->last, sizeof p->last);
    assert_ok(sinew_fit_frame(fit, p->markers, p->given, weights, NULL, &error));
    sinew_fit_destroy(fit);
}

/* What the header says is made small. */
static double objective(const problem *p, const sinew_fit_options *o, const double *w) {
    double x[3 * MARKERS], sum = 0, rest = 0;
    sinew_linear_evaluate(p->linear, w, x);
    for (int i = 0; i < 3 * MARKERS; i++)
        sum += p->given[i / 3] * (p->markers[i] - x[i]) * (p->markers[i] - x[i]);
    for (int k = 0; k < SLIDERS; k++)
        rest += o->l1 * fabs(w[k]) + o->l2 * w[k] * w[k] +
                o->smooth * (w[k] - p->last[k]) * (w[k] - p->last[k]);
    return sum + p->s * (rest + o->symmetry * (w[4] - w[5]) * (w[4] - w[5]));
}

/* Slopes vanish between the bounds and point outwards at them. */
static void answers_meet_the_conditions_of_a_minimum(void **state) {
    (void)state;
    for (int curved = 0; curved < 2; curved++) {
        problem p;
        make_problem(&p, curved);
        sinew_fit_options options = knobs();
        options.bounded_above = true, options.iterations = 200;
        options.l1 = 0.03, options.l2 = 0.02, options.smooth = 0.1, options.symmetry = 0.2;
        double w[SLIDERS];
        solve(&p, &options, w);
        int at_bounds = 0;
        for (int k = 0; k < SLIDERS; k++) {
            const double h = 1e-4;
            double kept = w[k], high, low;
            w[k] = kept + h, high = objective(&p, &options, w);
            w[k] = fabs(kept - h), low = objective(&p, &options, w);
            w[k] = kept;
            assert_true(kept >= 0 && kept <= 0.8);
            bool below = kept<1e-9, above = kept> 0.8 - 1e-9;
            at_bounds += below || above;
            double slope = below ? (high - objective(&p, &options, w)) / h : (high - low) / (2 * h);
            if (below)
                assert_true(slope > -1e-3 * p.s);
            else if (above)
                assert_true(slope < 1e-4 * p.s);
            else
                assert_below(fabs(slope), 1e-4 * p.s);
        }
        assert_true(at_bounds >= 1); /* or the bounds were not tried */
        free_problem(&p);
    }
}

/* The stronger a parameter, the less there is of what it works against. */
static void stronger_knobs_do_more(void **state) {
    (void)state;
    problem p;
    make_problem(&p, false);
    const double strengths[] = {0, 0.01, 0.1, 1, 10, 1e4};
    for (int knob = 0; knob < 4; knob++) {
        double before = INFINITY;
        for (size_t i = 0; i < sizeof strengths / sizeof *strengths; i++) {
            sinew_fit_options options = knobs();
            *(knob == 0   ? &options.l1
              : knob == 1 ? &options.l2
              : knob == 2 ? &options.smooth
                          : &options.symmetry) = strengths[i];
            double w[SLIDERS], amount = 0;
            solve(&p, &options, w);
            for (int k = 0; k < SLIDERS; k++) {
                double change = w[k] - p.last[k];
                if (knob < 3)
                    amount += knob == 0 ? w[k] : knob == 1 ? w[k] * w[k] : change * change;
            }
            if (knob == 3) amount = fabs(w[4] - w[5]);
            if (i == 0) assert_true(amount > 0.01);
            assert_true(amount < before * (1 - 1e-6) || amount == 0);
            before = amount;
        }
        assert_below(before, 1e-3);
    }
    free_problem(&p);
}

static bool always(void *user) {
    (void)user;
    return true;
}

/* Each frame as if it were fitted alone, from the weights of the one before. */
static void a_take_is_its_frames_in_a_row(void **state) {
    (void)state;
    enum { TIMES = 4 };
    sinew_error error = {0};
    problem p;
    make_problem(&p, true);
    sinew_markers *take;
    /* in another order and one short, as takes are */
    assert_ok(sinew_markers_create(MARKERS - 1, TIMES, &take, &error));
    for (int i = 0; i < MARKERS - 1; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", MARKERS - 1 - i);
        assert_ok(sinew_markers_set_name(take, i, name, &error));
    }
    for (int f = 0; f < TIMES; f++) {
        take->times[f] = 0.5 * f;
        for (int i = 0; i < 3 * (MARKERS - 1); i++)
            take->positions[3 * (MARKERS - 1) * f + i] =
                p.markers[3 * (MARKERS - 1 - i / 3) + i % 3] + 0.01 * f * (i % 5);
    }
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    sinew_fit_options_set_method(&options, SINEW_FIT_METHOD_RSBS);
    options.smooth = 0.2;
    sinew_fit *fit;
    sinew_curves *curves;
    sinew_fit_info infos[TIMES] = {{.size = sizeof *infos}};
    assert_ok(sinew_fit_create(p.rig, p.map, &options, &fit, &error));
    assert_ok(sinew_fit_take(fit, take, NULL, &curves, infos, &error));
    assert_int_equal(curves->time_count, TIMES);
    assert_int_equal(curves->channel_count, SLIDERS);
    double weights[SLIDERS] = {0};
    for (int f = 0; f < TIMES; f++) {
        double row[3 * MARKERS] = {NAN, NAN, NAN};
        for (int i = 0; i < MARKERS - 1; i++)
            memcpy(row + 3 * (MARKERS - 1 - i),
                   take->positions + 3 * (size_t)((MARKERS - 1) * f + i), 3 * sizeof(double));
        sinew_fit_info info = {.size = sizeof info};
        assert_ok(sinew_fit_frame(fit, row, NULL, weights, &info, &error));
        assert_memory_equal(curves->values + (size_t)(SLIDERS * f), weights, sizeof weights);
        assert_true(curves->times[f] == take->times[f]);
        assert_int_equal(infos[f].seen, MARKERS - 1);
        assert_true(infos[f].marker_error == info.marker_error);
    }
    for (int k = 0; k < SLIDERS; k++) assert_string_equal(curves->names[k], p.rig->sliders[k].name);
    sinew_curves_destroy(curves);
    const sinew_monitor impatient = {.cancelled = always};
    assert_int_equal(sinew_fit_take(fit, take, &impatient, &curves, NULL, &error), SINEW_CANCELLED);
    assert_null(curves);
    for (int i = 0; i < MARKERS - 1; i++)
        assert_ok(sinew_markers_set_name(take, i, "of another face", &error));
    assert_int_equal(sinew_fit_take(fit, take, NULL, &curves, NULL, &error), SINEW_BAD_INPUT);
    sinew_fit_destroy(fit);
    sinew_markers_destroy(take);
    free_problem(&p);
}

static sinew_status fit_once(void *user) {
    const problem *p = user;
    sinew_error error = {0};
    sinew_fit *fit;
    double weights[SLIDERS] = {0};
    SN_TRY(sinew_fit_create(p->rig, p->map, NULL, &fit, &error));
    sinew_status status = sinew_fit_frame(fit, p->markers, NULL, weights, NULL, &error);
    sinew_fit_destroy(fit);
    return status;
}

static void without_memory_nothing_is_fitted(void **state) {
    (void)state;
    problem p;
    make_problem(&p, true);
    assert_true(test_out_of_memory(fit_once, &p) > 20);
    free_problem(&p);
}

int test_fit_parameters(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_parameter_must_be_a_usable_number),
        cmocka_unit_test(each_knob_shrinks_as_its_parabola_says),
        cmocka_unit_test(symmetry_draws_declared_pairs_together),
        cmocka_unit_test(bounds_hold_where_they_are_asked_for),
        cmocka_unit_test(a_marker_of_ten_times_the_weight_pulls_ten_times_as_much),
        cmocka_unit_test(answers_meet_the_conditions_of_a_minimum),
        cmocka_unit_test(stronger_knobs_do_more),
        cmocka_unit_test(a_take_is_its_frames_in_a_row),
        cmocka_unit_test(without_memory_nothing_is_fitted),
    };
    return cmocka_run_group_tests_name("fit knobs", tests, NULL, NULL);
}
