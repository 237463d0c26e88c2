/* The closed forms, their limits, what is promised of every edit, and bad input. */
#include "support.h"

#include "dense.h"
#include "groups.h"
#include "rigs.h"
#include "sinew/lock.h"

typedef struct bench {
    sinew_rig *rig;
    sinew_slider_space *space;
    double *D;
    int rows, m;
} bench;

static bench make_bench(int vertices, int targets, double share, uint64_t seed) {
    sinew_error error = {0};
    bench b = {.rig = random_rig(vertices, targets, share, seed)};
    assert_ok(sinew_slider_space_create(b.rig, &b.space, &error));
    b.D = dense_displacements(b.rig);
    b.rows = 3 * vertices;
    b.m = targets;
    return b;
}

static void free_bench(bench *b) {
    free(b->D);
    sinew_slider_space_destroy(b->space);
    sinew_rig_destroy(b->rig);
}

/* |D_r dw| over the picked rows */
static double motion(const bench *b, const double *pick, const double *from, const double *to) {
    double sum = 0;
    for (int r = 0; r < b->rows; r++) {
        double y = 0;
        for (int k = 0; k < b->m; k++) y += b->D[r * b->m + k] * (to[k] - from[k]);
        sum += pick[r] * y * y;
    }
    return sqrt(sum);
}

static sinew_lock_options closed_form(double alpha, double ridge) {
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.alpha = alpha;
    options.alpha_relative = false;
    options.ridge = ridge;
    options.dead_zone = 0;
    options.bounded = false;
    options.mode = SINEW_LOCK_MODE_TRADE;
    return options;
}

/* w1 - alpha (G + (alpha - 1) Q + ridge W)^-1 Q (w1 - w0), by elimination */
static void reference(const bench *b, const double *pick, double alpha, double ridge,
                      const double *w0, const double *w1, double *w2) {
    int m = b->m;
    double *G = malloc(sizeof(double) * (size_t)(m * m)),
           *Q = malloc(sizeof(double) * (size_t)(m * m));
    double *ones = malloc(sizeof(double) * (size_t)b->rows);
    for (int r = 0; r < b->rows; r++) ones[r] = 1;
    dense_gram(b->rows, m, b->D, ones, G);
    dense_gram(b->rows, m, b->D, pick, Q);
    double trace = 0;
    for (int i = 0; i < m; i++) trace += G[i * m + i];
    for (int i = 0; i < m; i++) {
        w2[i] = 0;
        for (int j = 0; j < m; j++) w2[i] += Q[i * m + j] * (w1[j] - w0[j]);
    }
    for (int i = 0; i < m * m; i++) G[i] += (alpha - 1) * Q[i];
    for (int i = 0; i < m; i++) G[i * m + i] += ridge * trace / m;
    dense_eliminate(m, G, w2);
    for (int i = 0; i < m; i++) w2[i] = w1[i] - alpha * w2[i];
    free(G);
    free(Q);
    free(ones);
}

static void random_weights(int m, uint64_t seed, double *w) {
    for (int i = 0; i < m; i++) w[i] = test_random(&seed);
}

/* Locks vertices 10, 20 ... of the bench on the axes; fills pick. */
static void lock_some(sinew_locks *locks, const bench *b, unsigned axes, const double *w0,
                      double *pick) {
    sinew_error error = {0};
    int vertices[64], count = 0;
    memset(pick, 0, sizeof(double) * (size_t)b->rows);
    for (int v = 10; v < b->rows / 3 && count < 12; v += 10) {
        vertices[count++] = v;
        for (int c = 0; c < 3; c++) pick[3 * v + c] = axes >> c & 1;
    }
    assert_ok(sinew_locks_add(locks, "some", count, vertices, axes, NULL, w0, &error));
}

static void the_closed_form_is_the_dense_one(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(200, 30, 0.8, 7);
    double w0[30], w1[30], w2[30], expected[30];
    double *pick = malloc(sizeof(double) * (size_t)b.rows);
    random_weights(30, 1, w0);
    random_weights(30, 2, w1);
    const double alphas[] = {0.01, 1, 30, 1e4}, ridges[] = {0, 1e-3};
    for (int a = 0; a < 4; a++)
        for (int r = 0; r < 2; r++) {
            sinew_lock_options options = closed_form(alphas[a], ridges[r]);
            sinew_locks *locks;
            assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
            lock_some(locks, &b, SINEW_AXIS_X | SINEW_AXIS_Z, w0, pick);
            assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
            reference(&b, pick, alphas[a], ridges[r], w0, w1, expected);
            for (int i = 0; i < 30; i++) assert_close(w2[i], expected[i], 1e-10);
            sinew_locks_destroy(locks);
        }
    free(pick);
    free_bench(&b);
}

/* (P + alpha Q)^-1 P dw, the formula as it is printed in the paper */
static void the_published_formula_is_reproduced(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(120, 12, 0.9, 3);
    double w0[12] = {0}, w1[12], w2[12], expected[12] = {0};
    double P[144], Q[144];
    double *pick = malloc(sizeof(double) * (size_t)b.rows),
           *rest = malloc(sizeof(double) * (size_t)b.rows);
    random_weights(12, 5, w1);
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    sinew_lock_options_set_published(&options, b.space, 33);
    assert_close(options.alpha, (360.0 - 33) / 33, 1e-15);
    sinew_locks *locks;
    assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
    lock_some(locks, &b, SINEW_AXIS_ALL, w0, pick);
    for (int r = 0; r < b.rows; r++) rest[r] = 1 - pick[r];
    dense_gram(b.rows, 12, b.D, rest, P);
    dense_gram(b.rows, 12, b.D, pick, Q);
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++) {
            expected[i] += P[i * 12 + j] * w1[j];
            Q[i * 12 + j] = P[i * 12 + j] + options.alpha * Q[i * 12 + j];
        }
    dense_eliminate(12, Q, expected);
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
    for (int i = 0; i < 12; i++) assert_close(w2[i], expected[i], 1e-10);
    sinew_locks_destroy(locks);
    free(pick);
    free(rest);
    free_bench(&b);
}

/* keep: the same minimisation with the moved sliders taken out of the unknowns */
static void kept_sliders_are_out_of_the_solve(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(150, 10, 0.9, 13);
    double w0[10] = {0}, w1[10] = {0}, w2[10];
    w1[2] = 0.8;
    w1[7] = -0.4;
    double *pick = malloc(sizeof(double) * (size_t)b.rows);
    sinew_lock_options options = closed_form(20, 1e-3);
    options.mode = SINEW_LOCK_MODE_KEEP;
    sinew_locks *locks;
    assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
    lock_some(locks, &b, SINEW_AXIS_ALL, w0, pick);
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
    assert_true(w2[2] == 0.8 && w2[7] == -0.4);

    double G[100], Q[100], A[64], g[8];
    double *ones = malloc(sizeof(double) * (size_t)b.rows), trace = 0;
    for (int r = 0; r < b.rows; r++) ones[r] = 1;
    dense_gram(b.rows, 10, b.D, ones, G);
    dense_gram(b.rows, 10, b.D, pick, Q);
    for (int i = 0; i < 10; i++) trace += G[i * 10 + i];
    const int responders[] = {0, 1, 3, 4, 5, 6, 8, 9};
    for (int i = 0; i < 8; i++) {
        int p = responders[i];
        g[i] = 0;
        for (int j = 0; j < 10; j++) g[i] -= 20 * Q[p * 10 + j] * w1[j];
        for (int j = 0; j < 8; j++) {
            int q = responders[j];
            A[i * 8 + j] = G[p * 10 + q] + 19 * Q[p * 10 + q] + (i == j ? 1e-3 * trace / 10 : 0);
        }
    }
    dense_eliminate(8, A, g);
    for (int i = 0; i < 8; i++) assert_close(w2[responders[i]], g[i], 1e-10);
    sinew_locks_destroy(locks);
    free(pick);
    free(ones);
    free_bench(&b);
}

static void alpha_zero_gives_what_was_asked(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(100, 8, 0.9, 1);
    double w0[8] = {0}, w1[8], w2[8], pick[300];
    random_weights(8, 4, w1);
    for (int bounded = 0; bounded < 2; bounded++) {
        sinew_lock_options options = closed_form(0, 1e-3);
        options.bounded = bounded;
        sinew_locks *locks;
        assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
        lock_some(locks, &b, SINEW_AXIS_ALL, w0, pick);
        assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
        assert_memory_equal(w1, w2, sizeof w1);
        sinew_locks_destroy(locks);
    }
    free_bench(&b);
}

static void alpha_to_infinity_holds_the_locked_coordinates(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(100, 30, 0.9, 1); /* 30 sliders, 27 locked coordinates: there is freedom */
    double w0[30] = {0}, w1[30], w2[30], pick[300];
    random_weights(30, 4, w1);
    double last = INFINITY;
    const double alphas[] = {1, 1e2, 1e4, 1e6, 1e8, INFINITY};
    for (int a = 0; a < 6; a++) {
        sinew_lock_options options = closed_form(alphas[a], 0);
        sinew_locks *locks;
        assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
        lock_some(locks, &b, SINEW_AXIS_ALL, w0, pick);
        assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
        double held = motion(&b, pick, w0, w2) / motion(&b, pick, w0, w1);
        assert_below(held, last);
        last = held;
        sinew_locks_destroy(locks);
    }
    assert_below(last, 1e-6);
    free_bench(&b);
}

static void locking_nothing_gives_what_was_asked_and_all_holds_all(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(100, 8, 0.9, 1);
    double w0[8] = {0}, w1[8], w2[8], ones[300];
    random_weights(8, 4, w1);
    for (int i = 0; i < 300; i++) ones[i] = 1;
    sinew_locks *locks;
    assert_ok(sinew_locks_create(b.space, NULL, &locks, &error));
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
    assert_memory_equal(w1, w2, sizeof w1);
    int all[100];
    for (int v = 0; v < 100; v++) all[v] = v;
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.mode = SINEW_LOCK_MODE_TRADE;
    options.dead_zone = 0;
    assert_ok(sinew_locks_set_options(locks, &options, &error));
    assert_ok(sinew_locks_add(locks, "all", 100, all, SINEW_AXIS_ALL, NULL, w0, &error));
    assert_close(sinew_locks_alpha(locks), 1, 0); /* no unlocked coordinates: still a lock */
    sinew_lock_info info = {.size = sizeof info};
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, &info, &error));
    assert_below(motion(&b, ones, w0, w2), 0.05 * motion(&b, ones, w0, w1));
    assert_true(isfinite(info.kept) && isfinite(info.cosine));
    sinew_locks_destroy(locks);
    free_bench(&b);
}

static void a_y_lock_leaves_x_and_z_free(void **state) {
    (void)state;
    sinew_error error = {0};
    /* Slider 0 moves vertex 5 along (1, 1, 1), slider 1 along y alone. */
    sinew_rig *rig = strip_rig(50);
    const int v = 5;
    const double a[] = {1, 1, 1}, y[] = {0, 1, 0};
    assert_ok(sinew_rig_add_target(rig, "a", 1, &v, a, &error));
    assert_ok(sinew_rig_add_target(rig, "y", 1, &v, y, &error));
    for (int i = 0; i < 2; i++)
        assert_ok(sinew_rig_set_limits(rig, i, -INFINITY, INFINITY, &error));
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.alpha = 1e6;
    options.dead_zone = 0;
    options.mode = SINEW_LOCK_MODE_KEEP;
    sinew_locks *locks;
    assert_ok(sinew_locks_create(space, &options, &locks, &error));
    double w0[2] = {0}, w1[2] = {1, 0}, w2[2];
    assert_ok(sinew_locks_add(locks, "y", 1, &v, SINEW_AXIS_Y, NULL, w0, &error));
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
    assert_close(w2[0], 1, 0); /* x and z go all the way */
    assert_close(w2[0] + w2[1], 0, 1e-5);
    sinew_locks_destroy(locks);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* A rig made to have the freedom: each edit slider moves its own vertices and, as a side effect,
 * the locked patch; each has a helper that moves the patch alone. */
static void planted_freedom_is_found(void **state) {
    (void)state;
    sinew_error error = {0};
    enum { N = 300, EDITS = 4 };
    sinew_rig *rig = strip_rig(N);
    uint64_t seed = 77;
    int vertices[N];
    double deltas[3 * N], side[EDITS][3 * 20];
    for (int k = 0; k < EDITS; k++) {
        int count = 0;
        for (int v = 0; v < 20; v++, count++) {
            vertices[count] = v;
            for (int c = 0; c < 3; c++)
                deltas[3 * count + c] = side[k][3 * v + c] = 0.05 * test_random(&seed);
        }
        for (int v = 40 + 60 * k; v < 100 + 60 * k && v < N; v++, count++) {
            vertices[count] = v;
            for (int c = 0; c < 3; c++) deltas[3 * count + c] = 0.1 * test_random(&seed);
        }
        char name[16];
        snprintf(name, sizeof name, "edit%d", k);
        assert_ok(sinew_rig_add_target(rig, name, count, vertices, deltas, &error));
        snprintf(name, sizeof name, "helper%d", k);
        for (int i = 0; i < 60; i++) deltas[i] = -side[k][i];
        assert_ok(sinew_rig_add_target(rig, name, 20, vertices, deltas, &error));
    }
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    for (int mode = 0; mode < 2; mode++) {
        sinew_lock_options options;
        sinew_lock_options_init(&options);
        options.mode = mode ? SINEW_LOCK_MODE_TRADE : SINEW_LOCK_MODE_KEEP;
        sinew_locks *locks;
        assert_ok(sinew_locks_create(space, &options, &locks, &error));
        double w0[2 * EDITS] = {0}, w1[2 * EDITS] = {0}, w2[2 * EDITS];
        assert_ok(sinew_locks_add(locks, "patch", 20, vertices, SINEW_AXIS_ALL, NULL, w0, &error));
        for (int k = 0; k < EDITS; k++) {
            memset(w1, 0, sizeof w1);
            w1[2 * k] = 0.9;
            sinew_lock_info info = {.size = sizeof info};
            assert_ok(sinew_locks_apply(locks, w0, w1, w2, &info, &error));
            assert_true(info.reduction >= 10);
            assert_true(info.kept >= 0.9 && info.cosine > 0.99);
            assert_false(info.conflict);
            assert_true(info.lowest >= 0 && info.highest <= 1);
        }
        sinew_locks_destroy(locks);
    }
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* Many random edits: within limits, never worse, and at a minimum of the stated objective. */
static void the_bounded_solve_is_never_worse_and_keeps_limits(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(200, 24, 0.5, 21);
    double w0[24], w1[24], w2[24];
    double *pick = malloc(sizeof(double) * (size_t)b.rows);
    uint64_t seed = 5;
    for (int trial = 0; trial < 60; trial++) {
        sinew_lock_options options;
        sinew_lock_options_init(&options);
        options.mode = trial % 2 ? SINEW_LOCK_MODE_TRADE : SINEW_LOCK_MODE_KEEP;
        options.dead_zone = trial % 3 ? 0.002 * trial : 0;
        options.few = trial % 5 == 4 ? 0.2 : 0;
        options.alpha = pow(10, 2 * test_random(&seed));
        sinew_locks *locks;
        assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
        for (int i = 0; i < 24; i++) w0[i] = w1[i] = 0.5 + 0.5 * test_random(&seed);
        for (int i = 0; i < 3; i++) w1[(trial * 5 + 7 * i) % 24] = 0.5 + 0.5 * test_random(&seed);
        lock_some(locks, &b, 1 + (unsigned)trial % 7, w0, pick);
        sinew_lock_info info = {.size = sizeof info};
        assert_ok(sinew_locks_apply(locks, w0, w1, w2, &info, &error));
        for (int i = 0; i < 24; i++) assert_true(w2[i] >= 0 && w2[i] <= 1);
        assert_below(motion(&b, pick, w0, w2), motion(&b, pick, w0, w1) * (1 + 1e-9));
        assert_true(info.reduction >= 1 - 1e-9);
        sinew_locks_destroy(locks);
    }
    free(pick);
    free_bench(&b);
}

/* No small move within the limits makes alpha |S dw|^2 + |S'(w - w1)|^2 + ridge smaller. */
static void the_bounded_solve_is_a_minimum(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(200, 24, 0.5, 22);
    double w0[24] = {0}, w1[24] = {0}, w2[24];
    double *pick = malloc(sizeof(double) * (size_t)b.rows),
           *rest = malloc(sizeof(double) * (size_t)b.rows);
    w1[3] = 1;
    w1[9] = 0.5;
    sinew_lock_options options = closed_form(40, 1e-3);
    options.bounded = true;
    sinew_locks *locks;
    assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
    lock_some(locks, &b, SINEW_AXIS_ALL, w0, pick);
    for (int r = 0; r < b.rows; r++) rest[r] = 1 - pick[r];
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
    double ones = 0;
    for (int i = 0; i < b.rows * b.m; i++) ones += b.D[i] * b.D[i];
    double best = INFINITY;
    int at_limit = 0;
    for (int i = -1; i < 24; i++)
        for (int side = -1; side <= 1; side += 2) {
            double w[24], locked, free_motion, change = 0;
            memcpy(w, w2, sizeof w);
            if (i >= 0) w[i] = fmin(1, fmax(0, w[i] + 1e-4 * side));
            for (int k = 0; k < 24; k++) change += (w[k] - w1[k]) * (w[k] - w1[k]);
            locked = motion(&b, pick, w0, w);
            free_motion = motion(&b, rest, w1, w);
            double value =
                40 * locked * locked + free_motion * free_motion + 1e-3 * ones / 24 * change;
            if (i < 0)
                best = value;
            else
                assert_true(value >= best * (1 - 1e-12));
            at_limit += i >= 0 && (w2[i] == 0 || w2[i] == 1);
        }
    assert_true(at_limit > 2); /* the limits were at work */
    sinew_locks_destroy(locks);
    free(pick);
    free(rest);
    free_bench(&b);
}

static void motion_within_the_dead_zone_is_left_alone(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(200, 10, 0.9, 2);
    double w0[10] = {0}, w1[10] = {0}, w2[10], pick[600];
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.dead_zone = 0.01;
    sinew_locks *locks;
    assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
    lock_some(locks, &b, SINEW_AXIS_ALL, w0, pick);
    /* displacements are below 0.1, the diagonal about 1.2 */
    w1[4] = 0.1;
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
    assert_memory_equal(w1, w2, sizeof w1);
    /* and the way in is smooth: the response grows from zero without a step */
    double last = 0;
    for (double t = 0.1; t <= 1; t += 0.001) {
        w1[4] = t;
        assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
        double response = 0;
        for (int i = 0; i < 10; i++) response += fabs(w2[i] - w1[i]);
        assert_below(fabs(response - last), 0.02);
        last = response;
    }
    assert_true(last > 0.05);
    sinew_locks_destroy(locks);
    free_bench(&b);
}

static void locks_add_up_and_come_off_again(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(200, 20, 0.8, 31);
    double w0[20], w1[20], both[20], again[20], alone[20];
    random_weights(20, 8, w0);
    random_weights(20, 9, w1);
    sinew_lock_options options = closed_form(50, 1e-3);
    const int a[] = {10, 11, 12, 50}, c[] = {12, 50, 90};
    const int together[] = {10, 11, 12, 50, 90};
    sinew_locks *locks, *one;
    assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
    assert_ok(sinew_locks_create(b.space, &options, &one, &error));
    assert_ok(sinew_locks_add(one, "ac", 5, together, SINEW_AXIS_ALL, NULL, w0, &error));
    assert_ok(sinew_locks_apply(one, w0, w1, alone, NULL, &error));
    assert_ok(sinew_locks_add(locks, "a", 4, a, SINEW_AXIS_ALL, NULL, w0, &error));
    assert_ok(sinew_locks_add(locks, "c", 3, c, SINEW_AXIS_ALL, NULL, w0, &error));
    assert_int_equal(sinew_locks_count(locks), 2);
    assert_close(sinew_locks_coordinates(locks), sinew_locks_coordinates(one), 0);
    assert_ok(sinew_locks_apply(locks, w0, w1, both, NULL, &error));
    for (int i = 0; i < 20; i++) assert_close(both[i], alone[i], 1e-11); /* overlap counts once */
    for (int round = 0; round < 20; round++) {
        assert_ok(sinew_locks_switch(locks, "c", false, &error));
        assert_ok(sinew_locks_switch(locks, "a", round % 2, &error));
        assert_ok(sinew_locks_switch(locks, "c", true, &error));
    }
    assert_ok(sinew_locks_apply(locks, w0, w1, again, NULL, &error));
    for (int i = 0; i < 20; i++) assert_close(again[i], both[i], 1e-10);
    assert_ok(sinew_locks_remove(locks, "a", &error));
    assert_ok(sinew_locks_remove(locks, "c", &error));
    assert_ok(sinew_locks_apply(locks, w0, w1, again, NULL, &error));
    assert_memory_equal(again, w1, sizeof w1);
    sinew_locks_destroy(locks);
    sinew_locks_destroy(one);
    free_bench(&b);
}

/* Each lock remembers the pose it was taken at. */
static void locks_hold_the_pose_they_were_taken_at(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(200, 40, 0.9, 33);
    double w0[40], w1[40], w2[40];
    random_weights(40, 8, w0);
    random_weights(40, 9, w1);
    sinew_lock_options options = closed_form(1e8, 0);
    sinew_locks *locks;
    assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
    const int first[] = {20, 30}, second[] = {100, 110};
    assert_ok(sinew_locks_add(locks, "first", 2, first, SINEW_AXIS_ALL, NULL, w0, &error));
    assert_ok(sinew_locks_add(locks, "second", 2, second, SINEW_AXIS_ALL, NULL, w1, &error));
    double asked[40];
    random_weights(40, 10, asked);
    assert_ok(sinew_locks_apply(locks, NULL, asked, w2, NULL, &error));
    double *pick = calloc((size_t)b.rows, sizeof(double));
    for (int i = 0; i < 6; i++) pick[3 * first[i / 3] + i % 3] = 1;
    assert_below(motion(&b, pick, w0, w2), 1e-4 * motion(&b, pick, w0, asked));
    memset(pick, 0, sizeof(double) * (size_t)b.rows);
    for (int i = 0; i < 6; i++) pick[3 * second[i / 3] + i % 3] = 1;
    assert_below(motion(&b, pick, w1, w2), 1e-4 * motion(&b, pick, w1, asked));
    free(pick);
    sinew_locks_destroy(locks);
    free_bench(&b);
}

/* Fewer sliders answer as the price rises; at 1 none does. */
static void few_responders_are_few(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(200, 40, 0.6, 41);
    double w0[40] = {0}, w1[40] = {0}, w2[40], pick[600];
    w1[5] = 1;
    int last = 40;
    const double prices[] = {0, 0.05, 0.2, 0.5, 1};
    double before = INFINITY;
    for (int p = 0; p < 5; p++) {
        sinew_lock_options options;
        sinew_lock_options_init(&options);
        options.few = prices[p];
        sinew_locks *locks;
        assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
        lock_some(locks, &b, SINEW_AXIS_ALL, w0, pick);
        sinew_lock_info info = {.size = sizeof info};
        assert_ok(sinew_locks_apply(locks, w0, w1, w2, &info, &error));
        int responders = 0;
        for (int i = 0; i < 40; i++) responders += w2[i] != w1[i];
        assert_true(responders <= last);
        assert_true(info.reduction <= before * (1 + 1e-9));
        last = responders;
        before = info.reduction;
        sinew_locks_destroy(locks);
        if (p == 0) assert_true(responders > 8);
    }
    assert_int_equal(last, 0);
    free_bench(&b);
}

static void bad_input_is_refused(void **state) {
    (void)state;
    sinew_error e = {0};
    bench b = make_bench(50, 4, 0.9, 1);
    double w[4] = {0}, w2[4], bad[4] = {0, NAN, 0, 0};
    sinew_locks *locks;
    const double alphas[] = {-1, NAN, -INFINITY};
    for (int i = 0; i < 3; i++) {
        sinew_lock_options options;
        sinew_lock_options_init(&options);
        options.alpha = alphas[i];
        assert_int_equal(sinew_locks_create(b.space, &options, &locks, &e), SINEW_BAD_INPUT);
        assert_non_null(strstr(e.message, "alpha"));
    }
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.dead_zone = -1;
    assert_int_equal(sinew_locks_create(b.space, &options, &locks, &e), SINEW_BAD_INPUT);
    sinew_lock_options_init(&options);
    options.ridge = NAN;
    assert_int_equal(sinew_locks_create(b.space, &options, &locks, &e), SINEW_BAD_INPUT);
    sinew_lock_options_init(&options);
    options.few = 1.5;
    assert_int_equal(sinew_locks_create(b.space, &options, &locks, &e), SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_create(b.space, NULL, &locks, &e), SINEW_OK);
    const int v[] = {1, 2}, outside[] = {1, 50};
    const double strong[] = {1, 2};
    assert_int_equal(sinew_locks_add(locks, "a", 0, v, 7, NULL, w, &e), SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, outside, 7, NULL, w, &e), SINEW_BAD_INPUT);
    assert_non_null(strstr(e.message, "vertex 50"));
    assert_int_equal(sinew_locks_add(locks, "a", 2, v, 0, NULL, w, &e), SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, v, 8, NULL, w, &e), SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, v, 7, strong, w, &e), SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, v, 7, NULL, bad, &e), SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_add(locks, "a", 2, v, 7, NULL, w, &e), SINEW_OK);
    assert_int_equal(sinew_locks_add(locks, "a", 2, v, 7, NULL, w, &e), SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_switch(locks, "b", true, &e), SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_remove(locks, "b", &e), SINEW_BAD_INPUT);
    assert_int_equal(sinew_locks_apply(locks, w, bad, w2, NULL, &e), SINEW_BAD_INPUT);
    sinew_locks_destroy(locks);
    free_bench(&b);
}

/* Zero columns, a target that is there twice, and no ridge: finite, and the twins share. */
static void degenerate_targets_give_finite_weights(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = random_rig(60, 3, 0.9, 6);
    const sinew_target *first = &rig->targets[1];
    assert_ok(
        sinew_rig_add_target(rig, "twin", first->count, first->vertices, first->deltas, &error));
    assert_ok(sinew_rig_add_target(rig, "nothing", 0, NULL, NULL, &error));
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    const int v[] = {20, 21, 22, 30};
    for (int mode = 0; mode < 8; mode++) {
        sinew_lock_options options;
        sinew_lock_options_init(&options);
        options.bounded = mode & 1;
        options.mode = mode & 2 ? SINEW_LOCK_MODE_TRADE : SINEW_LOCK_MODE_KEEP;
        options.ridge = mode & 4 ? 1e-3 : 0;
        sinew_locks *locks;
        assert_ok(sinew_locks_create(space, &options, &locks, &error));
        double w0[5] = {0}, w1[5] = {1, 0, 0, 0, 0.5}, w2[5];
        assert_ok(sinew_locks_add(locks, "l", 4, v, SINEW_AXIS_ALL, NULL, w0, &error));
        sinew_lock_info info = {.size = sizeof info};
        assert_ok(sinew_locks_apply(locks, w0, w1, w2, &info, &error));
        for (int i = 0; i < 5; i++) assert_true(isfinite(w2[i]));
        assert_close(w2[1], w2[3], 1e-3);
        assert_close(w2[4], 0.5, 1e-12);
        assert_true(info.reduction >= 1);
        sinew_locks_destroy(locks);
    }
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* A painted mask of 0.5 counts half. */
static void strengths_weigh_coordinates(void **state) {
    (void)state;
    sinew_error error = {0};
    bench b = make_bench(100, 12, 0.9, 51);
    double w0[12] = {0}, w1[12], w2[12], expected[12], pick[300] = {0};
    random_weights(12, 3, w1);
    const int v[] = {30, 40, 50};
    const double strengths[] = {0.5, 1, 0.25};
    for (int i = 0; i < 9; i++) pick[3 * v[i / 3] + i % 3] = strengths[i / 3];
    sinew_lock_options options = closed_form(25, 1e-3);
    sinew_locks *locks;
    assert_ok(sinew_locks_create(b.space, &options, &locks, &error));
    assert_ok(sinew_locks_add(locks, "mask", 3, v, SINEW_AXIS_ALL, strengths, w0, &error));
    assert_ok(sinew_locks_apply(locks, w0, w1, w2, NULL, &error));
    reference(&b, pick, 25, 1e-3, w0, w1, expected);
    for (int i = 0; i < 12; i++) assert_close(w2[i], expected[i], 1e-10);
    sinew_locks_destroy(locks);
    free_bench(&b);
}

int test_lock(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_closed_form_is_the_dense_one),
        cmocka_unit_test(the_published_formula_is_reproduced),
        cmocka_unit_test(kept_sliders_are_out_of_the_solve),
        cmocka_unit_test(alpha_zero_gives_what_was_asked),
        cmocka_unit_test(alpha_to_infinity_holds_the_locked_coordinates),
        cmocka_unit_test(locking_nothing_gives_what_was_asked_and_all_holds_all),
        cmocka_unit_test(a_y_lock_leaves_x_and_z_free),
        cmocka_unit_test(planted_freedom_is_found),
        cmocka_unit_test(the_bounded_solve_is_never_worse_and_keeps_limits),
        cmocka_unit_test(the_bounded_solve_is_a_minimum),
        cmocka_unit_test(motion_within_the_dead_zone_is_left_alone),
        cmocka_unit_test(locks_add_up_and_come_off_again),
        cmocka_unit_test(locks_hold_the_pose_they_were_taken_at),
        cmocka_unit_test(few_responders_are_few),
        cmocka_unit_test(strengths_weigh_coordinates),
        cmocka_unit_test(degenerate_targets_give_finite_weights),
        cmocka_unit_test(bad_input_is_refused),
    };
    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
