/* Locks on rigs with in-betweens and combinations, over takes, with vertex correctives, and on real
 * faces. */
#include "support.h"

#include <stddef.h>

#include "dense.h"
#include "groups.h"
#include "rigs.h"
#include "sinew/io.h"
#include "sinew/lock.h"

/* Plain targets with an in-between and two correctives that bend the way. */
static sinew_rig *curved_rig(int vertices, uint64_t seed) {
    sinew_error error = {0};
    sinew_rig *rig = random_rig(vertices, 8, 0.8, seed);
    int some[40];
    double deltas[120];
    for (int i = 0; i < 40; i++) some[i] = 5 + 2 * i;
    for (int i = 0; i < 120; i++) deltas[i] = 0.03 * test_random(&seed);
    assert_ok(sinew_rig_add_inbetween(rig, "half", 2, 0.5, 40, some, deltas, &error));
    for (int i = 0; i < 120; i++) deltas[i] = 0.03 * test_random(&seed);
    const int pair[] = {0, 3}, other[] = {2, 5};
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_MULTIPLY, 2, pair, 40, some,
                                        deltas, &error));
    assert_ok(sinew_rig_add_combination(rig, "smooth", SINEW_COMBINE_SMOOTH_LOWEST, 2, other, 40,
                                        some, deltas, &error));
    return rig;
}

static void shape(const sinew_rig *rig, const double *weights, double *positions) {
    double activations[64];
    sinew_rig_activations(rig, weights, activations);
    plain_evaluate(rig, activations, positions);
}

static double distance(const double *a, const double *b, int count, const int *vertices) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int c = 0; c < 3; c++) {
            double d = a[3 * vertices[i] + c] - b[3 * vertices[i] + c];
            sum += d * d;
        }
    return sqrt(sum / (3 * count));
}

static void figures_are_those_of_the_rig_itself(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = curved_rig(150, 3);
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    const int locked[] = {9, 11, 13, 41, 43};
    uint64_t seed = 8;
    int better = 0, others = 0;
    for (int trial = 0; trial < 20; trial++) {
        double w0[8], w1[8], w2[8], p0[450], p1[450], p2[450];
        for (int i = 0; i < 8; i++) w0[i] = w1[i] = 0.5 + 0.5 * test_random(&seed);
        w1[trial % 8] = 0.5 + 0.5 * test_random(&seed);
        w1[(trial + 3) % 8] = 0.5 + 0.5 * test_random(&seed);
        sinew_lock_options options;
        sinew_lock_options_init(&options);
        options.mode = trial % 2 ? SINEW_LOCK_MODE_TRADE : SINEW_LOCK_MODE_KEEP;
        options.dead_zone = 0;
        options.bounded = trial % 3 != 0;
        sinew_locks *locks;
        sinew_lock_info info = {.size = sizeof info};
        assert_ok(sinew_locks_create(space, &options, &locks, &error));
        assert_ok(sinew_locks_add(locks, "l", 5, locked, SINEW_AXIS_ALL, NULL, w0, &error));
        assert_ok(sinew_locks_apply(locks, w0, w1, w2, &info, &error));
        shape(rig, w0, p0);
        shape(rig, w1, p1);
        shape(rig, w2, p2);
        assert_close(info.asked_motion, distance(p0, p1, 5, locked), 1e-12);
        assert_close(info.given_motion, distance(p0, p2, 5, locked), 1e-12);
        assert_true(info.given_motion <= info.asked_motion * (1 + 1e-9));
        better += info.reduction > 1.1;
        double wanted = 0, got = 0, lowest = INFINITY, highest = -INFINITY;
        int changed = 0;
        for (int i = 0; i < 8; i++) {
            wanted += (w1[i] - w0[i]) * (w1[i] - w0[i]), got += (w1[i] - w0[i]) * (w2[i] - w0[i]);
            lowest = fmin(lowest, w2[i]), highest = fmax(highest, w2[i]);
            changed += w1[i] == w0[i] && fabs(w2[i] - w1[i]) > 0.05;
        }
        assert_close(info.share, got / wanted, 1e-12);
        assert_true(info.lowest == lowest && info.highest == highest);
        assert_int_equal(info.changed, changed);
        others += changed;
        sinew_locks_destroy(locks);
    }
    assert_true(better > 10 && others > 0);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* The stated objective, on the rig itself. */
static double objective(const sinew_rig *rig, int count, const int *locked, double alpha,
                        double ridge, const double *p0, const double *p1, const double *w1,
                        const double *w) {
    double p[450], value = 0;
    shape(rig, w, p);
    for (int v = 0; v < 150; v++) {
        bool held = false;
        for (int i = 0; i < count; i++) held |= locked[i] == v;
        for (int c = 0; c < 3; c++) {
            double d = p[3 * v + c] - (held ? p0[3 * v + c] : p1[3 * v + c]);
            value += (held ? alpha : 1) * d * d;
        }
    }
    for (int i = 0; i < 8; i++) value += ridge * (w[i] - w1[i]) * (w[i] - w1[i]);
    return value;
}

/* Random moves within the limits around the answer do not lower the objective. */
static void curved_rigs_end_in_a_minimum(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = curved_rig(150, 4);
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    double trace = 0;
    for (int k = 0; k < rig->target_count; k++)
        for (int i = 0; i < 3 * rig->targets[k].count; i++)
            trace += rig->targets[k].deltas[i] * rig->targets[k].deltas[i];
    const int locked[] = {9, 11, 13, 41, 43};
    double w0[8] = {0}, w1[8] = {0}, w2[8], p0[450], p1[450];
    w1[0] = 0.9;
    w1[2] = 0.7;
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.mode = SINEW_LOCK_MODE_TRADE;
    options.dead_zone = 0;
    sinew_locks *locks;
    sinew_lock_info info = {.size = sizeof info};
    assert_ok(sinew_locks_create(space, &options, &locks, &error));
    assert_ok(sinew_locks_add(locks, "l", 5, locked, SINEW_AXIS_ALL, NULL, w0, &error));
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, &info, &error));
    assert_true(info.iterations > 1);
    double alpha = sinew_locks_alpha(locks), ridge = options.ridge * trace / rig->target_count;
    shape(rig, w0, p0);
    shape(rig, w1, p1);
    double best = objective(rig, 5, locked, alpha, ridge, p0, p1, w1, w2);
    assert_true(best < objective(rig, 5, locked, alpha, ridge, p0, p1, w1, w1));
    uint64_t seed = 1;
    for (int trial = 0; trial < 2000; trial++) {
        double w[8], size = pow(10, -1 - 2.5 * (0.5 + 0.5 * test_random(&seed)));
        for (int i = 0; i < 8; i++) w[i] = fmin(1, fmax(0, w2[i] + size * test_random(&seed)));
        assert_true(objective(rig, 5, locked, alpha, ridge, p0, p1, w1, w) >= best * (1 - 1e-6));
    }
    sinew_locks_destroy(locks);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* Trading slack between coordinates of the dead zone could move the locked part further: the guard
 * stops that. Two sliders that each move one coordinate just under the zone, one far over it. */
static void slack_is_not_traded_for_motion(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(60);
    enum { LOCKED = 30 };
    int vertices[60];
    double deltas[180];
    /* Edit: vertex 0 by 0.1, vertices 1..29 by a hair under the zone. */
    for (int v = 0; v < LOCKED; v++) {
        vertices[v] = v;
        deltas[3 * v] = v == 0 ? 0.1 : 0;
        deltas[3 * v + 1] = v == 0 ? 0 : 0.049;
        deltas[3 * v + 2] = 0;
    }
    assert_ok(sinew_rig_add_target(rig, "edit", LOCKED, vertices, deltas, &error));
    /* Helper: takes vertex 0 back, but moves all others the other way over and beyond. */
    for (int v = 0; v < LOCKED; v++) {
        deltas[3 * v] = v == 0 ? -0.1 : 0;
        deltas[3 * v + 1] = v == 0 ? 0 : 0.02;
    }
    assert_ok(sinew_rig_add_target(rig, "helper", LOCKED, vertices, deltas, &error));
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.dead_zone = 0.05 / sinew_slider_space_diagonal(space);
    options.ridge = 0;
    sinew_locks *locks;
    assert_ok(sinew_locks_create(space, &options, &locks, &error));
    double w0[2] = {0}, w1[2] = {1, 0}, w2[2];
    assert_ok(sinew_locks_add(locks, "l", LOCKED, vertices, SINEW_AXIS_ALL, NULL, w0, &error));
    sinew_lock_info info = {.size = sizeof info};
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, &info, &error));
    assert_true(info.reduction >= 1 - 1e-9);
    assert_true(w2[1] >= 0 && w2[1] < 0.2);
    sinew_locks_destroy(locks);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* --- takes --- */

/* sqrt of d^T H d with H = G + (alpha - 1) Q + ridge: the norm in which the map does not stretch.
 */
static double stretch_norm(int m, const double *H, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) sum += (a[i] - b[i]) * H[i * m + j] * (a[j] - b[j]);
    return sqrt(fmax(sum, 0));
}

static sinew_curves *filter_take(const sinew_rig *rig, const sinew_slider_space *space,
                                 const sinew_curves *take, int count, const int *vertices,
                                 sinew_lock_filter_info *info, double *alpha) {
    sinew_error error = {0};
    sinew_locks *locks;
    sinew_curves *filtered;
    double *rest = malloc(sizeof(double) * (size_t)rig->slider_count);
    sinew_rig_rest_weights(rig, rest);
    assert_ok(sinew_locks_create(space, NULL, &locks, &error));
    assert_ok(sinew_locks_add(locks, "l", count, vertices, SINEW_AXIS_ALL, NULL, rest, &error));
    assert_ok(sinew_locks_filter(locks, take, NULL, &filtered, info, NULL, &error));
    *alpha = sinew_locks_alpha(locks);
    sinew_locks_destroy(locks);
    free(rest);
    return filtered;
}

/* Every step of the given curves is no longer than that of the asked ones, in the norm of the
 * problem; so a take cannot get jumps that it did not have. */
static void expect_no_new_jumps(const sinew_rig *rig, const sinew_slider_space *space,
                                const sinew_curves *take, int count, const int *vertices) {
    sinew_lock_filter_info info = {.size = sizeof info};
    double alpha;
    sinew_curves *filtered = filter_take(rig, space, take, count, vertices, &info, &alpha);
    int m = rig->slider_count, rows = 3 * rig->neutral->vertex_count;
    double *D = dense_displacements(rig), *H = calloc((size_t)(m * m), sizeof(double));
    double *pick = malloc(sizeof(double) * (size_t)rows), trace = 0;
    for (int r = 0; r < rows; r++) pick[r] = 1;
    for (int i = 0; i < 3 * count; i++) pick[3 * vertices[i / 3] + i % 3] = alpha;
    dense_gram(rows, m, D, pick, H);
    for (int i = 0; i < rows * m; i++) trace += D[i] * D[i];
    for (int i = 0; i < m; i++) H[i * m + i] += SINEW_LOCK_RIDGE * trace / m;
    double worst = 0, largest = 0;
    for (int t = 0; t + 1 < take->time_count; t++) {
        double asked = stretch_norm(m, H, take->values + t * m, take->values + (t + 1) * m);
        double given = stretch_norm(m, H, filtered->values + t * m, filtered->values + (t + 1) * m);
        largest = fmax(largest, asked);
        worst = fmax(worst, given - asked);
    }
    assert_below(worst, 1e-5 * largest);
    assert_true(info.given_motion < info.asked_motion);
    print_message("locked motion %.3f -> %.3f of the diagonal/1000\n",
                  1e3 * info.asked_motion / sinew_slider_space_diagonal(space),
                  1e3 * info.given_motion / sinew_slider_space_diagonal(space));
    sinew_curves_destroy(filtered);
    free(D);
    free(H);
    free(pick);
}

static void takes_get_no_new_jumps(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = random_rig(120, 12, 0.8, 17);
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    sinew_curves *take;
    assert_ok(sinew_curves_create(12, 200, &take, &error));
    for (int t = 0; t < 200; t++) {
        take->times[t] = t / 30.0;
        for (int i = 0; i < 12; i++)
            take->values[12 * t + i] = 0.5 + 0.7 * sin(0.05 * (i + 1) * t + i); /* beyond limits */
    }
    for (int i = 0; i < 12; i++)
        assert_ok(sinew_curves_set_name(take, i, rig->sliders[i].name, &error));
    const int locked[] = {30, 31, 32, 33, 34, 60};
    expect_no_new_jumps(rig, space, take, 6, locked);
    sinew_curves_destroy(take);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* A frame's weights do not depend on the frames before it. */
static void a_take_cut_in_two_gives_the_same_weights(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = random_rig(120, 12, 0.8, 17);
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    sinew_curves *take, *half;
    assert_ok(sinew_curves_create(12, 60, &take, &error));
    assert_ok(sinew_curves_create(12, 30, &half, &error));
    for (int t = 0; t < 60; t++) {
        take->times[t] = t;
        for (int i = 0; i < 12; i++) take->values[12 * t + i] = 0.5 + 0.5 * sin(0.3 * t + i);
    }
    for (int i = 0; i < 12; i++) {
        assert_ok(sinew_curves_set_name(take, i, rig->sliders[i].name, &error));
        assert_ok(sinew_curves_set_name(half, i, rig->sliders[i].name, &error));
    }
    memcpy(half->times, take->times + 30, 30 * sizeof(double));
    memcpy(half->values, take->values + 360, 360 * sizeof(double));
    const int locked[] = {30, 31, 32, 33, 34, 60};
    sinew_lock_filter_info info = {.size = sizeof info};
    double alpha;
    sinew_curves *whole = filter_take(rig, space, take, 6, locked, &info, &alpha);
    sinew_curves *part = filter_take(rig, space, half, 6, locked, &info, &alpha);
    for (int i = 0; i < 360; i++) assert_close(whole->values[360 + i], part->values[i], 1e-7);
    sinew_curves_destroy(take);
    sinew_curves_destroy(half);
    sinew_curves_destroy(whole);
    sinew_curves_destroy(part);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* --- correctives --- */

static void a_corrective_puts_locked_coordinates_back(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = random_rig(200, 6, 0.9, 19);
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.falloff = 0.15;
    sinew_locks *locks;
    assert_ok(sinew_locks_create(space, &options, &locks, &error));
    double w0[6] = {0.2, 0, 0, 0.5, 0, 0}, w1[6] = {0.2, 1, 0, 0.5, 0, 0.3};
    const int all_axes[] = {80, 81, 82}, y_only[] = {90};
    assert_ok(sinew_locks_add(locks, "all", 3, all_axes, SINEW_AXIS_ALL, NULL, w0, &error));
    assert_ok(sinew_locks_add(locks, "y", 1, y_only, SINEW_AXIS_Y, NULL, w0, &error));
    double *p0 = malloc(600 * sizeof(double)), *p1 = malloc(600 * sizeof(double));
    double *fixed = malloc(600 * sizeof(double));
    shape(rig, w0, p0);
    shape(rig, w1, p1);
    memcpy(fixed, p1, 600 * sizeof(double));
    double strain;
    assert_ok(sinew_locks_correct(locks, fixed, &strain, NULL, &error));
    assert_true(strain > 0 && isfinite(strain));
    for (int i = 0; i < 9; i++)
        assert_close(fixed[3 * all_axes[i / 3] + i % 3], p0[3 * all_axes[i / 3] + i % 3], 1e-9);
    assert_close(fixed[3 * 90 + 1], p0[3 * 90 + 1], 1e-9);
    /* far away nothing moves, and nothing anywhere moves more than a few times what was put back */
    double largest = 0, put_back = 0;
    for (int v = 0; v < 200; v++)
        for (int c = 0; c < 3; c++) {
            double d = fabs(fixed[3 * v + c] - p1[3 * v + c]);
            largest = fmax(largest, d);
            if (v >= 80 && v <= 90) put_back = fmax(put_back, d);
            if (fabs(rig->neutral->positions[3 * v] - rig->neutral->positions[3 * 85]) > 0.3)
                assert_true(d == 0);
        }
    assert_below(largest, 3 * put_back);
    free(p0);
    free(p1);
    free(fixed);
    sinew_locks_destroy(locks);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* --- real faces --- */

static sinew_rig *read_faces(const char *neutral, const char *targets) {
    sinew_error error = {0};
    const char *paths[] = {test_data(neutral), test_data(targets)};
    if (!paths[0] || !paths[1]) return NULL;
    sinew_rig *rig;
    assert_ok(sinew_rig_read(2, paths, &rig, &error));
    return rig;
}

static int core_of(const sinew_rig *rig, const char *name, double share, int *vertices) {
    int target = sinew_rig_find_target(rig, name), count = 0;
    assert_true(target >= 0);
    const sinew_target *t = &rig->targets[target];
    double largest = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < t->count; i++) {
            const double *d = t->deltas + 3 * i;
            double size = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            if (pass == 0)
                largest = fmax(largest, size);
            else if (size > share * largest)
                vertices[count++] = t->vertices[i];
        }
    return count;
}

static void capture_takes_get_no_new_jumps(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = read_faces("free/facecap/head.obj", "free/facecap/targets");
    const char *takes[] = {test_data("free/facecap/weights.csv"),
                           test_data("free/livelink/alex_rom_3.csv")};
    skip_without_data(rig && takes[0] && takes[1] ? takes[0] : NULL);
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    int *vertices = malloc(sizeof(int) * (size_t)rig->neutral->vertex_count);
    for (int i = 0; i < 2; i++) {
        sinew_curves *read, *take;
        int unmatched;
        assert_ok(sinew_curves_read(takes[i], &read, &error));
        assert_ok(sinew_rig_bind_curves(rig, read, &take, &unmatched, &error));
        if (take->time_count > 400) take->time_count = 400;
        int count = core_of(rig, i ? "mouthSmile_L" : "browInnerUp", 0.5, vertices);
        expect_no_new_jumps(rig, space, take, count, vertices);
        sinew_curves_destroy(read);
        sinew_curves_destroy(take);
    }
    free(vertices);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* A handful of the edits of docs/locks.md, whose table is made by `make evidence`. */
static void real_edits_are_quieted(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = read_faces("free/facecap/head.obj", "free/facecap/targets");
    skip_without_data(rig ? "x" : NULL);
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    int *vertices = malloc(sizeof(int) * (size_t)rig->neutral->vertex_count);
    const struct {
        const char *core, *edit;
        double reduction, kept;
    } edits[] = {{"mouthLowerDown_L", "jawOpen=1", 4, 0.85},
                 {"browInnerUp", "noseSneer=1", 2, 0.9},
                 {"mouthSmile_L", "jawOpen=1", 2, 0.85}};
    for (int i = 0; i < 3; i++) {
        sinew_locks *locks;
        sinew_lock_info info = {.size = sizeof info};
        double w0[64] = {0}, w1[64] = {0}, w2[64];
        int count = core_of(rig, edits[i].core, 0.6, vertices);
        assert_ok(sinew_rig_parse_weights(rig, edits[i].edit, w1, &error));
        assert_ok(sinew_locks_create(space, NULL, &locks, &error));
        assert_ok(sinew_locks_add(locks, "l", count, vertices, SINEW_AXIS_ALL, NULL, w0, &error));
        assert_ok(sinew_locks_apply(locks, w0, w1, w2, &info, &error));
        print_message("%s against %s: %.1fx, kept %.2f\n", edits[i].core, edits[i].edit,
                      info.reduction, info.kept);
        assert_true(info.reduction >= edits[i].reduction && info.kept >= edits[i].kept);
        assert_true(info.lowest >= 0 && info.highest <= 1 && info.share == 1);
        sinew_locks_destroy(locks);
    }
    free(vertices);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* --- memory that runs out at every step --- */

static sinew_status use_everything(const sinew_rig *rig) {
    sinew_slider_space *space = NULL;
    sinew_locks *locks = NULL;
    double w0[8] = {0}, w1[8] = {0.5}, w2[8], positions[180];
    const int first[] = {3, 4, 5}, second[] = {5, 20};
    sinew_status status = sinew_slider_space_create(rig, &space, NULL);
    if (status == SINEW_OK) status = sinew_locks_create(space, NULL, &locks, NULL);
    if (status == SINEW_OK)
        status = sinew_locks_add(locks, "a", 3, first, SINEW_AXIS_ALL, NULL, w0, NULL);
    if (status == SINEW_OK)
        status = sinew_locks_add(locks, "b", 2, second, SINEW_AXIS_X, NULL, w0, NULL);
    if (status == SINEW_OK) status = sinew_locks_apply(locks, w0, w1, w2, NULL, NULL);
    memcpy(positions, rig->neutral->positions, sizeof positions);
    positions[3 * 4] += 0.1;
    if (status == SINEW_OK) status = sinew_locks_correct(locks, positions, NULL, NULL, NULL);
    if (status == SINEW_OK) status = sinew_locks_remove(locks, "a", NULL);
    sinew_locks_destroy(locks);
    sinew_slider_space_destroy(space);
    return status;
}

static void running_out_of_memory_is_reported_at_every_step(void **state) {
    (void)state;
    sinew_rig *rig = random_rig(60, 8, 0.8, 2);
    sinew_status status = SINEW_NO_MEMORY;
    int steps = 0;
    for (; steps < 3000 && status == SINEW_NO_MEMORY; steps++) {
        test_memory_limit(steps);
        status = use_everything(rig);
        assert_int_equal(test_memory_restore().living, 0);
    }
    assert_int_equal(status, SINEW_OK);
    assert_true(steps > 60);
    sinew_rig_destroy(rig);
}

static void rigs_with_thousands_of_targets_are_refused(void **state) {
    (void)state;
    sinew_error error;
    sinew_slider_space *space;
    sinew_rig *rig = random_rig(4, 4097, 1, 3);
    assert_int_equal(sinew_slider_space_create(rig, &space, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "4097 targets"));
    assert_null(space);
    sinew_rig_destroy(rig);
}

static void options_of_locks_must_be_usable_numbers(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        double value;
        const char *words;
    } rows[] = {
#define BAD(field, value) {offsetof(sinew_lock_options, field), value, #field}
        BAD(alpha, -1),
        BAD(alpha, NAN),
        BAD(ridge, -1),
        BAD(ridge, NAN),
        BAD(ridge, INFINITY),
        BAD(few, -0.1),
        BAD(few, 1.1),
        BAD(few, NAN),
        BAD(falloff, 0),
        BAD(falloff, NAN),
        BAD(tolerance, 0),
        BAD(tolerance, NAN),
        BAD(falloff, INFINITY),
        BAD(tolerance, -1),
#undef BAD
        {offsetof(sinew_lock_options, dead_zone), -1, "dead zone"},
        {offsetof(sinew_lock_options, dead_zone), NAN, "dead zone"},
        {offsetof(sinew_lock_options, dead_zone), INFINITY, "dead zone"},
    };
    sinew_error error;
    sinew_rig *rig = curved_rig(100, 5);
    sinew_slider_space *space;
    sinew_locks *locks, *none;
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    assert_ok(sinew_locks_create(space, &options, &locks, &error));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sinew_lock_options_init(&options);
        *(double *)(void *)((char *)&options + rows[i].offset) = rows[i].value;
        assert_int_equal(sinew_locks_set_options(locks, &options, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, rows[i].words)) fail_msg("row %zu: %s", i, error.message);
        assert_int_equal(sinew_locks_create(space, &options, &none, &error), SINEW_BAD_INPUT);
    }
    sinew_lock_options_init(&options);
    options.iteration_limit = 0;
    assert_int_equal(sinew_locks_set_options(locks, &options, &error), SINEW_BAD_INPUT);
    /* what a lock holds, too; each refusal leaves no lock behind */
    const int inside[] = {1, 2}, below[] = {1, -1}, beyond[] = {1, 100};
    const double weak[] = {0.5, 1}, bad[] = {0.5, 1.5}, worse[] = {0.5, NAN};
    double rest[64];
    sinew_rig_rest_weights(rig, rest);
    const unsigned all = SINEW_AXIS_ALL;
    assert_int_equal(sinew_locks_add(locks, "a", 0, inside, all, NULL, rest, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, inside, 0, NULL, rest, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, inside, all + 1, NULL, rest, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, below, all, NULL, rest, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, beyond, all, NULL, rest, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, inside, all, bad, rest, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, inside, all, worse, rest, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_count(locks), 0);
    assert_ok(sinew_locks_add(locks, "a", 2, inside, all, weak, rest, &error));
    assert_int_equal(sinew_locks_add(locks, "a", 2, inside, all, weak, rest, &error),
                     SINEW_BAD_INPUT);
    assert_string_equal(sinew_locks_name(locks, 0), "a");
    assert_null(sinew_locks_name(locks, -1));
    assert_null(sinew_locks_name(locks, 1));
    assert_true(sinew_locks_is_on(locks, 0));
    assert_ok(sinew_locks_switch(locks, "a", false, &error));
    assert_false(sinew_locks_is_on(locks, 0));
    assert_false(sinew_locks_is_on(locks, 1));
    assert_false(sinew_locks_is_on(locks, -1));
    sinew_locks_destroy(locks);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

int test_lock_more(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_rig_itself),
        cmocka_unit_test(curved_rigs_end_in_a_minimum),
        cmocka_unit_test(slack_is_not_traded_for_motion),
        cmocka_unit_test(takes_get_no_new_jumps),
        cmocka_unit_test(a_take_cut_in_two_gives_the_same_weights),
        cmocka_unit_test(a_corrective_puts_locked_coordinates_back),
        cmocka_unit_test(capture_takes_get_no_new_jumps),
        cmocka_unit_test(real_edits_are_quieted),
        cmocka_unit_test(running_out_of_memory_is_reported_at_every_step),
        cmocka_unit_test(rigs_with_thousands_of_targets_are_refused),
        cmocka_unit_test(options_of_locks_must_be_usable_numbers),
    };
    return cmocka_run_group_tests_name("lock, more", tests, NULL, NULL);
}
