/* The surface against itself. */
#include "support.h"

#include "base/memory.h"
#include "base/scope.h"
#include "bodies.h"
#include "groups.h"
#include "sinew/query.h"
#include "sinew/samples.h"
#include "sinew/spring.h"
#include "sinew/threads.h"
#include "spring/contact.h"

static int crossings(const sinew_mesh *mesh, const double *x) {
    sinew_error error = {0};
    int *pairs = NULL, count = 0;
    assert_ok(sinew_self_intersections(mesh->vertex_count, x, mesh->triangle_count, mesh->triangles,
                                       NULL, &pairs, &count, &error));
    sinew_free(pairs);
    return count;
}

static sinew_spring *create(const sinew_rig *rig, const sinew_tets *tets, bool apart,
                            sinew_spring_state **state) {
    sinew_error error = {0};
    sinew_spring *spring = NULL;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.tets = tets;
    options.self_contact = apart;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, state, &error));
    return spring;
}

enum { LENGTH = 16, LONG = 80 };

/* A bar whose pose bends it to a ring that is not quite closed. shift: of one end along the other's
 * face. */
static sinew_rig *ring_rig(int length, int across, double shift, test_block *block) {
    sinew_error error = {0};
    test_block_create(length, across, 1, block);
    int n = block->mesh->vertex_count;
    sinew_mesh *neutral = NULL;
    sinew_rig *rig = NULL;
    assert_ok(sinew_mesh_copy(block->mesh, &neutral, &error));
    assert_ok(sinew_rig_create(neutral, &rig, &error));
    double *x = SN_NEW(double, 3 * n);
    test_bend(n, neutral->positions, length, 5.4, x);
    for (int v = 0; v < n; v++) x[3 * v + 1] += shift * neutral->positions[3 * v] / length;
    assert_int_equal(crossings(neutral, x), 0);
    assert_ok(sinew_rig_add_pose(rig, "ring", x, &error));
    sn_free(x);
    return rig;
}

/* Beyond its pose its ends would pass through each other. settles: contacts come to rest, whatever
 * the rounding. */
static void close_ring(double shift, double weight, bool settles) {
    sinew_error error = {0};
    test_block block;
    sinew_rig *rig = ring_rig(LENGTH, 2, shift, &block);
    const sinew_mesh *neutral = rig->neutral;
    int n = neutral->vertex_count;
    double *x = SN_NEW(double, 3 * n), *again = SN_NEW(double, 3 * n);
    double diagonal = sinew_diagonal(n, neutral->positions);
    for (int apart = 0; apart < 2; apart++) {
        sinew_spring_state *solver = NULL;
        sinew_spring *spring = create(rig, &block.tets, apart, &solver);
        sinew_spring_frame_info info = {.size = sizeof info};
        /* the pose itself is met, the weight beyond it closes the ring */
        const double weights[3] = {0.5, 1, weight};
        for (int k = 0; k < 3; k++) {
            sinew_spring_frame frame = {.size = sizeof frame, .weights = &weights[k], .index = k};
            sinew_status status =
                sinew_spring_solve(spring, solver, &frame, x, &info, NULL, &error);
            if (status != SINEW_NOT_CONVERGED || settles || k < 2) assert_ok(status);
            if (apart || k < 2) assert_int_equal(crossings(neutral, x), 0);
        }
        if (!apart) {
            assert_true(crossings(neutral, x) > 0); /* there is something to do */
        } else {
            assert_true(info.contacts > 0);
            assert_below(info.depth, settles ? 1e-4 : 5e-4);
            /* no frame before it has a say */
            sinew_spring_frame alone = {.size = sizeof alone, .weights = &weights[2], .index = -1};
            sinew_status status =
                sinew_spring_solve(spring, solver, &alone, again, &info, NULL, &error);
            if (status != SINEW_NOT_CONVERGED || settles) assert_ok(status);
            for (int i = 0; i < 3 * n; i++) assert_close(x[i], again[i], 1e-3 * diagonal);
        }
        sinew_spring_state_destroy(solver), sinew_spring_destroy(spring);
    }
    sn_free(x), sn_free(again);
    sinew_rig_destroy(rig);
    test_block_free(&block);
}

static void a_bar_bent_onto_itself_stays_apart(void **state) {
    (void)state;
    close_ring(0.43, 1.2, true);
}

/* Vertex meets vertex, edge lies on edge: every contact is many at once, and which of them carry
 * may go on changing. */
static void faces_that_match_exactly_are_held_apart(void **state) {
    (void)state;
    close_ring(0, 1.3, false);
}

/* The sample hand to a fist, and a little tighter than the pose. */
static void a_closing_hand_does_not_cross_itself(void **state) {
    (void)state;
    sinew_error error = {0};
    enum { STEPS = 12 };
    sinew_rig *rig = NULL;
    sinew_sample_options size = {.size = sizeof size, .vertices = 1000};
    assert_ok(sinew_sample_rig("hand", &size, &rig, &error));
    const sinew_mesh *mesh = rig->neutral;
    sinew_spring_state *plain_state = NULL, *apart_state = NULL;
    sinew_spring *plain = create(rig, NULL, false, &plain_state);
    sinew_spring *apart = create(rig, NULL, true, &apart_state);
    int fist = 0;
    while (strcmp(rig->sliders[fist].name, "fist")) fist++;
    double *weights = SN_NEW0(double, rig->slider_count);
    double *x = SN_NEW(double, 3 * mesh->vertex_count);
    double *y = SN_NEW(double, 3 * mesh->vertex_count);
    for (int k = 0; k <= STEPS; k++) {
        weights[fist] = (double)k / STEPS;
        sinew_spring_frame frame = {.size = sizeof frame, .weights = weights, .index = k};
        assert_ok(sinew_spring_solve(apart, apart_state, &frame, x, NULL, NULL, &error));
        assert_ok(sinew_spring_solve(plain, plain_state, &frame, y, NULL, NULL, &error));
        assert_int_equal(crossings(mesh, x), 0);
        /* what does not cross is not touched: the same bits */
        if (crossings(mesh, y) == 0)
            assert_memory_equal(x, y, 3 * (size_t)mesh->vertex_count * sizeof *x);
    }
    weights[fist] = 1.1;
    sinew_spring_frame frame = {.size = sizeof frame, .weights = weights, .index = -1};
    assert_ok(sinew_spring_solve(plain, plain_state, &frame, y, NULL, NULL, &error));
    assert_true(crossings(mesh, y) > 0);
    assert_ok(sinew_spring_solve(apart, apart_state, &frame, x, NULL, NULL, &error));
    assert_int_equal(crossings(mesh, x), 0);
    sn_free(weights), sn_free(x), sn_free(y);
    sinew_spring_state_destroy(plain_state), sinew_spring_state_destroy(apart_state);
    sinew_spring_destroy(plain), sinew_spring_destroy(apart);
    sinew_rig_destroy(rig);
}

/* Of a long bar that is bent until its ends meet, only the ends take part. */
static void contact_is_solved_where_it_acts(void **state) {
    (void)state;
    sinew_error error = {0};
    test_block block;
    sinew_rig *rig = ring_rig(LONG, 1, 0.43, &block);
    size_t count = 3 * (size_t)rig->neutral->vertex_count;
    double *x = SN_NEW(double, count), *again = SN_NEW(double, count),
           *plain = SN_NEW(double, count);
    double diagonal = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    const double weight = 1.19;
    sinew_spring_frame frame = {.size = sizeof frame, .weights = &weight, .index = -1};
    for (int apart = 0; apart < 2; apart++) {
        sinew_spring_state *solver = NULL;
        sinew_spring *spring = create(rig, &block.tets, apart, &solver);
        sinew_spring_frame_info info = {.size = sizeof info};
        assert_ok(
            sinew_spring_solve(spring, solver, &frame, apart ? x : plain, &info, NULL, &error));
        if (apart) {
            assert_true(info.contacts > 0);
            assert_below(info.residual, 1e-6); /* forces balance in the whole body */
            sn_self_region *region = NULL;
            assert_ok(sn_self_region_create(spring, solver, &frame, &region, &error));
            assert_non_null(region);
            int all = spring->system->free_count, free_count = region->spring.system->free_count;
            assert_true(0 < free_count && free_count < all / 2);
            sn_self_region_destroy(region);
            sinew_set_threads(1);
            assert_ok(sinew_spring_solve(spring, solver, &frame, again, &info, NULL, &error));
            sinew_set_threads(0);
            assert_memory_equal(x, again, count * sizeof *x);
        }
        sinew_spring_state_destroy(solver), sinew_spring_destroy(spring);
    }
    assert_true(crossings(rig->neutral, plain) > 0);
    assert_int_equal(crossings(rig->neutral, x), 0);
    /* what is opposite the ends is bent a little by the force between them */
    double most = 0, far = 0;
    for (size_t i = 0; i < count; i++) {
        bool middle = fabs(rig->neutral->positions[i - i % 3] - LONG / 2) < LONG / 8;
        most = fmax(most, fabs(x[i] - plain[i]));
        if (middle) far = fmax(far, fabs(x[i] - plain[i]));
    }
    assert_true(most > 1e-3 * diagonal);
    assert_below(far, most / 2);
    sn_free(x), sn_free(again), sn_free(plain);
    sinew_rig_destroy(rig);
    test_block_free(&block);
}

/* Polls of those that stop. */
enum { MOST_MORE = 16 };

typedef struct polls {
    int count, last; /* last: the first poll that cancels; 0: none */
} polls;

static bool is_cancelled(void *user) {
    polls *p = user;
    return ++p->count >= p->last && p->last > 0;
}

/* Wherever it is in the search for pairs, the region or the rounds: a frame that is cancelled ends
 * there, and leaves no trace in the next. */
static void contact_can_be_cancelled_anywhere(void **state) {
    (void)state;
    sinew_error error = {0};
    test_block block;
    sinew_rig *rig = ring_rig(LONG, 1, 0.43, &block);
    size_t count = 3 * (size_t)rig->neutral->vertex_count;
    double *x = SN_NEW(double, count), *again = SN_NEW(double, count);
    const double weight = 1.19;
    sinew_spring_frame frame = {.size = sizeof frame, .weights = &weight, .index = -1};
    sinew_spring_state *solver = NULL;
    sinew_spring *spring = create(rig, &block.tets, true, &solver);
    polls p = {0};
    sinew_monitor monitor = {.cancelled = is_cancelled, .user = &p};
    sinew_spring_frame_info info = {.size = sizeof info};
    int threads = sinew_threads();
    sinew_set_threads(1); /* how often threads that share a loop ask varies */
    sn_poll_always(true);
    assert_ok(sinew_spring_solve(spring, solver, &frame, x, &info, &monitor, &error));
    int all = p.count;
    assert_true(all > 20 * info.iterations); /* not only the Newton steps ask */
    for (int k = 0; k < 20; k++) {
        p = (polls){.last = 1 + (int)((long long)all * k / 20)};
        assert_int_equal(sinew_spring_solve(spring, solver, &frame, again, &info, &monitor, &error),
                         SINEW_CANCELLED);
        assert_true(p.count <= p.last + MOST_MORE);
    }
    sn_poll_always(false);
    sinew_set_threads(threads);
    assert_ok(sinew_spring_solve(spring, solver, &frame, again, &info, NULL, &error));
    assert_memory_equal(x, again, count * sizeof *x);
    sinew_spring_state_destroy(solver), sinew_spring_destroy(spring);
    sn_free(x), sn_free(again);
    sinew_rig_destroy(rig);
    test_block_free(&block);
}

/* Everything that can touch at once: itself, an obstacle with friction, on the led way. alone:
 * itself, in a region. */
static void fail_every_allocation(sinew_rig *rig, const sinew_tets *tets, bool alone) {
    sinew_error error = {0};
    double *x = malloc(3 * sizeof *x * (size_t)rig->neutral->vertex_count);
    sinew_obstacle *ball = NULL;
    assert_ok(sinew_obstacle_parse("sphere:5,0.5,2.6,1", &ball, &error));
    const sinew_obstacle *obstacle = ball;
    const double weight = 1.2;
    sinew_spring_frame frame = {.size = sizeof frame,
                                .weights = &weight,
                                .index = 0,
                                .obstacle_count = !alone,
                                .obstacles = &obstacle};
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.tets = tets;
    options.self_contact = true, options.friction = 0.3;
    int made = 0, failures = 0; /* made: allocations of structure and state */
    for (long n = 0;; n += made ? 1 : 3) {
        sinew_spring *spring = NULL;
        sinew_spring_state *s = NULL;
        sinew_spring_frame_info info = {.size = sizeof info};
        test_memory_limit(n);
        sinew_status status = sinew_spring_create(rig, &options, NULL, &spring, &error);
        if (status == SINEW_OK) status = sinew_spring_state_create(spring, &s, &error);
        if (status == SINEW_OK) {
            if (!made) made = (int)n;
            status = sinew_spring_solve(spring, s, &frame, x, &info, NULL, &error);
        }
        sinew_spring_state_destroy(s);
        sinew_spring_destroy(spring);
        assert_int_equal(test_memory_restore().living, 0);
        /* whether the last Newton step of this hard frame is small enough hangs on rounding */
        if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) {
            assert_true(info.contacts > 0);
            break;
        }
        assert_int_equal(status, SINEW_NO_MEMORY);
        failures++;
    }
    assert_true(failures > made / 3 + 20); /* some of them within the frame */
    free(x);
    sinew_obstacle_destroy(ball);
}

static void every_failing_allocation_in_contact_is_survived(void **state) {
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        test_block block;
        sinew_rig *rig = ring_rig(alone ? LONG : LENGTH, 1, 0.43, &block);
        fail_every_allocation(rig, &block.tets, alone);
        sinew_rig_destroy(rig);
        test_block_free(&block);
    }
}

/* Forces may balance while contacts still come and go: the message tells which. */
static void contacts_that_do_not_settle_are_named(void **state) {
    (void)state;
    sinew_error error = {0};
    test_block block;
    sinew_rig *rig = ring_rig(LENGTH, 2, 0, &block);
    double *x = SN_NEW(double, 3 * rig->neutral->vertex_count), weight = 1.3;
    sinew_spring_state *solver = NULL;
    sinew_spring *spring = create(rig, &block.tets, true, &solver);
    sinew_spring_options settings;
    sinew_spring_options_init(&settings);
    settings.max_rounds = 1, settings.tolerance = 0.9;
    assert_ok(sinew_spring_state_set(solver, &settings, &error));
    sinew_spring_frame frame = {.size = sizeof frame, .weights = &weight, .index = -1};
    sinew_spring_frame_info info = {.size = sizeof info};
    assert_int_equal(sinew_spring_solve(spring, solver, &frame, x, &info, NULL, &error),
                     SINEW_NOT_CONVERGED);
    assert_non_null(strstr(error.message, "contacts did not settle"));
    assert_false(info.time_limited);
    sinew_spring_state_destroy(solver);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
    test_block_free(&block);
    sn_free(x);
}

/* A vertex pulled right through a bar whose far side is pinned, by pulls stiffer than its springs.
 */
static void stiff_pulls_settle_against_self_contact(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = NULL;
    sinew_sample_options size = {.size = sizeof size, .vertices = 1000};
    assert_ok(sinew_sample_rig("bar", &size, &rig, &error));
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count, pin_count = 0, middle = 0;
    int *pins = SN_NEW(int, n);
    double *x = SN_NEW(double, 3 * n), *weights = SN_NEW0(double, rig->slider_count);
    double low = INFINITY, high = -INFINITY, best = INFINITY;
    for (int v = 0; v < n; v++) {
        low = fmin(low, mesh->positions[3 * v + 1]), high = fmax(high, mesh->positions[3 * v + 1]);
    }
    for (int v = 0; v < n; v++) {
        const double *p = mesh->positions + 3 * v;
        if (p[1] < low + 1e-6) pins[pin_count++] = v;
        double off = fabs(p[0] - 0.5) + fabs(p[1] - high) + fabs(p[2]);
        if (off < best) best = off, middle = v;
    }
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.self_contact = true;
    options.boundary = SINEW_SPRING_BOUNDARY_PINNED;
    options.pin_count = pin_count, options.pins = pins;
    sinew_spring *spring = NULL;
    sinew_spring_state *solver = NULL;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &solver, &error));
    sinew_spring_pull pull = {.vertex = middle, .stiffness = 1000};
    memcpy(pull.position, mesh->positions + 3 * middle, sizeof pull.position);
    pull.position[1] = low - 0.3 * (high - low);
    sinew_spring_frame frame = {
        .size = sizeof frame, .weights = weights, .index = -1, .pull_count = 1, .pulls = &pull};
    sinew_spring_frame_info info = {.size = sizeof info};
    assert_ok(sinew_spring_solve(spring, solver, &frame, x, &info, NULL, &error));
    assert_true(info.contacts > 0);
    assert_int_equal(crossings(mesh, x), 0);
    sinew_spring_state_destroy(solver), sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
    sn_free(pins), sn_free(x), sn_free(weights);
}

/* A plate, held up to its middle; a held triangle whose tip hovers over the plate, at `part` of a
 * square beside its last held row; and a lid that the pose tilts into the plate where it is free.
 */
enum { PLATE_ROW = 9, HELD_TIP = PLATE_ROW * PLATE_ROW };

static sinew_rig *held_edge_rig(double part, int *pin_count, int *pins) {
    enum { ROW = PLATE_ROW, PLATE = HELD_TIP, TIP = PLATE, LID = PLATE + 3, ALL = LID + 9 };
    sinew_error error = {0};
    double x[3 * ALL], pose[3 * ALL];
    int corners[3 * (2 * (ROW - 1) * (ROW - 1) + 1 + 8)], count = 0;
    *pin_count = 0;
    for (int v = 0; v < PLATE; v++) {
        x[3 * v] = v % ROW / 8.0, x[3 * v + 1] = (double)(v / ROW) / 8, x[3 * v + 2] = 0;
        if (v % ROW <= ROW / 2) pins[(*pin_count)++] = v;
    }
    const double tip[9] = {0.5 + part / (ROW - 1), 0.5, 1e-5, 0.45, 0.5, 0.3, 0.55, 0.5, 0.3};
    memcpy(x + 3 * TIP, tip, sizeof tip);
    for (int k = 0; k < 3; k++) pins[(*pin_count)++] = TIP + k;
    for (int k = 0; k < 9; k++) {
        double *at = x + 3 * (LID + k);
        at[0] = 0.72 + 0.07 * (k % 3), at[1] = 0.42 + 0.07 * (k / 3), at[2] = 0.05;
    }
    for (int square = 0; square < (ROW - 1) * (ROW - 1) + 4; square++) {
        bool lid = square >= (ROW - 1) * (ROW - 1);
        int own = lid ? square - (ROW - 1) * (ROW - 1) : square, row = lid ? 3 : ROW;
        int a = (lid ? LID : 0) + own / (row - 1) * row + own % (row - 1);
        const int two[6] = {a, a + 1, a + row + 1, a, a + row + 1, a + row};
        memcpy(corners + 3 * count, two, sizeof two), count += 2;
    }
    for (int k = 0; k < 3; k++) corners[3 * count + k] = TIP + k;
    count++;
    memcpy(pose, x, sizeof x);
    for (int k = 0; k < 9; k++) pose[3 * (LID + k) + 2] -= 0.04 * (k % 3);
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(ALL, x, count, NULL, corners, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "down", pose, &error));
    return rig;
}

/* How far anything moves, and the vertex of the plate beside its last held one. */
static void solve_held_edge(double part, double *farthest, double *beside) {
    sinew_error error = {0};
    int pin_count, pins[128];
    sinew_rig *rig = held_edge_rig(part, &pin_count, pins);
    int n = rig->neutral->vertex_count, own = 3 * (PLATE_ROW / 2 * PLATE_ROW + PLATE_ROW / 2 + 1);
    const double *rest = rig->neutral->positions;
    double *x = SN_NEW(double, 3 * n), weight = 1;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.self_contact = true;
    options.boundary = SINEW_SPRING_BOUNDARY_PINNED;
    options.pin_count = pin_count, options.pins = pins;
    sinew_spring *spring = NULL;
    sinew_spring_state *solver = NULL;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &solver, &error));
    sinew_spring_frame frame = {.size = sizeof frame, .weights = &weight, .index = -1};
    sinew_spring_frame_info info = {.size = sizeof info};
    assert_ok(sinew_spring_solve(spring, solver, &frame, x, &info, NULL, &error));
    assert_true(info.contacts > 0);
    assert_int_equal(crossings(rig->neutral, x), 0);
    *farthest = 0;
    for (int k = 0; k < 3 * n; k++) *farthest = fmax(*farthest, fabs(x[k] - rest[k]));
    *beside = rest[own + 2] - x[own + 2];
    sinew_spring_state_destroy(solver), sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
    sn_free(x);
}

/* The tip is nearer than contact asks for, and hardly hangs on a vertex that can move: that
 * vertex cannot mend it, and must not be thrown out by trying. */
static void what_is_held_does_not_push_its_neighbors(void **state) {
    (void)state;
    double farthest, beside;
    solve_held_edge(8e-5, &farthest, &beside);
    assert_true(farthest < 0.1);
}

/* With a fifth of its weight on a vertex that can move, the tip pushes it; with a tenth it does
 * not: a hundredth of the squared weights lies between. */
static void a_point_pushes_the_vertices_that_carry_it(void **state) {
    (void)state;
    double farthest, little, enough;
    solve_held_edge(0.1, &farthest, &little);
    assert_true(farthest < 0.1);
    solve_held_edge(0.2, &farthest, &enough);
    assert_true(farthest < 0.1);
    assert_true(little < 1e-4 && enough > 2e-4);
}

int test_self_contact(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_bent_onto_itself_stays_apart),
        cmocka_unit_test(faces_that_match_exactly_are_held_apart),
        cmocka_unit_test(a_closing_hand_does_not_cross_itself),
        cmocka_unit_test(contact_is_solved_where_it_acts),
        cmocka_unit_test(contact_can_be_cancelled_anywhere),
        cmocka_unit_test(every_failing_allocation_in_contact_is_survived),
        cmocka_unit_test(contacts_that_do_not_settle_are_named),
        cmocka_unit_test(stiff_pulls_settle_against_self_contact),
        cmocka_unit_test(what_is_held_does_not_push_its_neighbors),
        cmocka_unit_test(a_point_pushes_the_vertices_that_carry_it),
    };
    return cmocka_run_group_tests_name("self contact", tests, NULL, NULL);
}
