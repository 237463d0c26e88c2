/* Flesh behind a moving head against closed forms, and obstacles that press and drag. */
#include "support.h"

#include "dome.h"
#include "groups.h"
#include "sinew/force.h"

enum { SIDE = 15, COUNT = SIDE * SIDE };
#define RATE 480.0
#define PI   3.14159265358979

static const sinew_rigid still = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};

typedef struct body {
    sinew_rig *rig;
    sinew_force *force;
    sinew_force_state *state;
    double *command;
    double x[3 * COUNT];
} body;

static void frame(body *b, sinew_force_frame_info *info) {
    sinew_error error = {0};
    assert_ok(sinew_force_command(b->force, b->state, b->command, b->x, info, NULL, &error));
}

static body make_body(double softness, double damping, double length, bool obstacles) {
    sinew_error error = {0};
    body b = {.rig = dome_rig(SIDE, 3)};
    sinew_force_options options;
    sinew_force_options_init(&options);
    double map[COUNT];
    for (int v = 0; v < COUNT; v++) map[v] = softness;
    options.frame_time = obstacles ? 1 / 60.0 : 1 / RATE;
    options.flesh = softness > 0, options.softness = map;
    options.flesh_frequency = 5, options.flesh_damping = damping, options.flesh_length = length;
    options.gravity[1] = -9.81;
    options.obstacles = obstacles;
    assert_ok(sinew_force_create(b.rig, NULL, &options, NULL, &b.force, &error));
    assert_ok(sinew_force_state_create(b.force, &b.state, &error));
    b.command = calloc((size_t)b.rig->target_count, sizeof(double));
    return b;
}

static void drop_body(body *b) {
    sinew_force_state_destroy(b->state);
    sinew_force_destroy(b->force);
    sinew_rig_destroy(b->rig);
    free(b->command);
}

static int middle(void) {
    return SIDE * (SIDE / 2) + SIDE / 2;
}

static double moved(const body *b, int vertex, int axis) {
    return b->x[3 * vertex + axis] - b->rig->neutral->positions[3 * vertex + axis];
}

/* A head that lies on its side: gravity has another direction, flesh of softness s sags by
 * s (R^T g - g) / w^2; an upright one does not sag. */
static void flesh_sags_when_the_head_leans(void **state) {
    (void)state;
    body b = make_body(0.5, 0.3, 0, false);
    double unit = 0.5 / pow(2 * PI * 5, 2);
    frame(&b, NULL);
    for (int a = 0; a < 3; a++) assert_close(moved(&b, middle(), a), 0, 1e-12);
    /* x to y: what was down, -y, is +x ... R^T g = (-9.81, 0, 0) */
    const sinew_rigid lying = {{0, -1, 0, 1, 0, 0, 0, 0, 1}, {0, 0, 0}};
    sinew_force_reset(b.state);
    sinew_force_set_head(b.state, &lying);
    frame(&b, NULL);
    assert_close(moved(&b, middle(), 0), -9.81 * unit, 4e-3 * 9.81 * unit); /* large ones less */
    assert_close(moved(&b, middle(), 1), 9.81 * unit, 4e-3 * 9.81 * unit);
    drop_body(&b);
}

/* A head that is put elsewhere from one frame to the next: flesh swings at w / sqrt(s) and loses
 * the amplitude that its damping says; one that travels evenly leaves it at rest. */
static void flesh_swings_at_its_frequency(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        double softness = k ? 0.25 : 1, ratio = 0.05;
        body b = make_body(softness, ratio, 0, false);
        sinew_rigid head = still;
        for (int f = 0; f < 20; f++) {
            head.translation[0] = 0.004 * f; /* evenly, after the start */
            if (f == 1) sinew_force_reset(b.state);
            sinew_force_set_head(b.state, &head);
            frame(&b, NULL);
        }
        /* the start itself gave it a push: let that pass */
        sinew_force_reset(b.state);
        frame(&b, NULL);
        head.translation[0] += 0.01;
        double last = 0, peak = 0, peaks[8];
        int count = 0, crossings = 0, first = 0, end = 0;
        for (int f = 0; f < 960; f++) {
            sinew_force_set_head(b.state, &head);
            frame(&b, NULL);
            double now = moved(&b, middle(), 0);
            if (f > 2 && now * last < 0) {
                if (crossings++ == 0) first = f;
                end = f;
                if (count < 8) peaks[count++] = peak;
                peak = 0;
            }
            peak = fmax(peak, fabs(now));
            last = now;
        }
        double w = 2 * PI * 5 / sqrt(softness), mean = 2 * PI * 5 * ratio; /* decay by C / 2M */
        double period = 2.0 * (end - first) / (crossings - 1) / RATE;
        double swing = sqrt(w * w - mean * mean);
        /* trapezoidal steps: tan(w h / 2) for w h / 2 */
        double stepped = 2 * RATE * atan(swing / (2 * RATE));
        assert_close(period, 2 * PI / stepped, 0.01 * period);
        assert_close(log(peaks[1] / peaks[5]), 2 * mean * period, 0.2 * mean * period);
        drop_body(&b);
    }
}

static void flesh_moves_together_and_bone_does_not(void **state) {
    (void)state;
    body b = make_body(1, 0.3, 0.2, false);
    sinew_rigid head = still;
    frame(&b, NULL);
    head.translation[2] = -0.01;
    sinew_force_set_head(b.state, &head);
    for (int f = 0; f < 3; f++) frame(&b, NULL);
    double most = 0;
    for (int v = 0; v < COUNT; v++) most = fmax(most, moved(&b, v, 2));
    assert_true(most > 1e-3);
    for (int i = 0; i < SIDE; i++) assert_close(moved(&b, i, 2), 0, 1e-12); /* held border */
    drop_body(&b);
}

/* ---- obstacles ------------------------------------------------------------------------------- */

static sinew_obstacle *finger(double radius) {
    sinew_error error = {0};
    sinew_obstacle *made;
    const double origin[3] = {0, 0, 0};
    assert_ok(sinew_obstacle_create_sphere(origin, radius, &made, &error));
    return made;
}

static void put(sinew_obstacle *o, double x, double y, double z) {
    const double shift[3] = {x, y, z};
    sinew_obstacle_move(o, still.rotation, shift);
}

static void a_finger_presses_the_skin_and_drags_it(void **state) {
    (void)state;
    sinew_error error = {0};
    double dragged[2];
    for (int rough = 0; rough < 2; rough++) {
        body b = make_body(0, 0, 0, true);
        const double *rest = b.rig->neutral->positions, *top = rest + 3 * middle();
        double radius = 0.2 * (rest[3 * (COUNT - 1)] - rest[0]), depth = 0.3 * radius;
        sinew_obstacle *o = finger(radius);
        const sinew_obstacle *const list[] = {o};
        sinew_force_options options;
        sinew_force_options_init(&options);
        options.friction = rough ? 1 : 0;
        assert_ok(sinew_force_state_set(b.state, &options, &error));
        assert_ok(sinew_force_set_obstacles(b.state, 1, list, &error));
        put(o, top[0], top[1], top[2] + 2 * radius);
        sinew_force_frame_info info = {.size = sizeof info};
        frame(&b, &info);
        assert_int_equal(info.pressed, 0);
        for (int f = 0; f < 12; f++) {
            double slide = 0.04 * radius * f;
            put(o, top[0] + slide, top[1], top[2] + radius - depth);
            frame(&b, &info);
            assert_true(info.pressed > 0);
            for (int v = 0; v < COUNT; v++) {
                double normal[3];
                if (v / SIDE == 0 || v / SIDE == SIDE - 1 || v % SIDE == 0 || v % SIDE == SIDE - 1)
                    continue;
                assert_true(sinew_obstacle_distance(o, b.x + 3 * v, normal) > -1e-9);
            }
        }
        /* the skin beside the finger yields, too */
        double beside = moved(&b, middle() + 3 * SIDE, 2);
        assert_true(fabs(beside) > 1e-6 * radius);
        dragged[rough] = moved(&b, middle(), 0);
        sinew_obstacle_destroy(o);
        drop_body(&b);
    }
    /* without friction the middle slips back under the finger */
    if (!(dragged[0] < 0 && dragged[1] > 0.005)) fail_msg("%g and %g", dragged[0], dragged[1]);
}

/* Obstacles stand in space: a head that comes to the finger is pressed as when the finger comes. */
static void a_head_that_moves_meets_obstacles_in_space(void **state) {
    (void)state;
    sinew_error error = {0};
    double x[2][3 * COUNT];
    for (int k = 0; k < 2; k++) {
        body b = make_body(0, 0, 0, true);
        const double *top = b.rig->neutral->positions + 3 * middle();
        double radius = 0.3, shift = 0.2;
        sinew_obstacle *o = finger(radius);
        const sinew_obstacle *const list[] = {o};
        assert_ok(sinew_force_set_obstacles(b.state, 1, list, &error));
        put(o, top[0], top[1], top[2] + 0.9 * radius + (k ? shift : 0));
        sinew_rigid head = still;
        head.translation[2] = k ? shift : 0;
        sinew_force_set_head(b.state, &head);
        sinew_force_frame_info info = {.size = sizeof info};
        frame(&b, &info);
        assert_true(info.pressed > 0);
        memcpy(x[k], b.x, sizeof b.x);
        sinew_obstacle_destroy(o);
        drop_body(&b);
    }
    assert_below(root_mean_square(x[0], x[1], COUNT), 1e-9);
}

/* A blade, a tenth as thick as an edge is long, that comes down between two rows of vertices and
 * meets none of them; and a needle into the middle of a triangle. No triangle is left inside, and
 * the skin yields inwards instead of around them. */
static void a_blade_between_vertices_dents_the_skin(void **state) {
    (void)state;
    sinew_error error = {0};
    for (int needle = 0; needle < 2; needle++) {
        body b = make_body(0, 0, 0, true);
        const double *rest = b.rig->neutral->positions, *top = rest + 3 * middle();
        double edge = rest[3 * (middle() + 1)] - top[0];
        const double low[3] = {-0.05 * edge, needle ? -0.05 * edge : -3 * edge, 0},
                     high[3] = {0.05 * edge, needle ? 0.05 * edge : 3 * edge, 20 * edge};
        double center[3] = {0}, half[3];
        for (int a = 0; a < 3; a++)
            center[a] = 0.5 * (low[a] + high[a]), half[a] = high[a] - center[a];
        sinew_obstacle *o;
        assert_ok(sinew_obstacle_create_box(center, half, &o, &error));
        const sinew_obstacle *const list[] = {o};
        assert_ok(sinew_force_set_obstacles(b.state, 1, list, &error));
        sinew_force_frame_info info = {.size = sizeof info};
        double y = needle ? 0.3 * edge : 0, deep = 0;
        for (int f = 0; f < 4; f++) {
            double depth = 0.25 * edge * (f + 1);
            put(o, top[0] + 0.4 * edge, top[1] + y, top[2] - depth);
            for (int v = 0; v < COUNT && f == 0; v++) {
                double normal[3]; /* vertices alone would not notice */
                assert_true(sinew_obstacle_distance(o, rest + 3 * v, normal) > 0);
            }
            frame(&b, &info);
            assert_true(info.pressed > 0);
            for (int t = 0; t < b.rig->neutral->triangle_count; t++) {
                double corners[9];
                for (int c = 0; c < 3; c++)
                    memcpy(corners + 3 * c, b.x + 3 * b.rig->neutral->triangles[3 * t + c],
                           3 * sizeof(double));
                deep = fmax(deep, sinew_obstacle_triangle_depth(o, corners));
            }
        }
        assert_below(deep, 1e-3 * edge);
        assert_true(moved(&b, middle(), 2) < -0.5 * edge);
        sinew_obstacle_destroy(o);
        drop_body(&b);
    }
}

int test_flesh(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flesh_sags_when_the_head_leans),
        cmocka_unit_test(flesh_swings_at_its_frequency),
        cmocka_unit_test(flesh_moves_together_and_bone_does_not),
        cmocka_unit_test(a_finger_presses_the_skin_and_drags_it),
        cmocka_unit_test(a_head_that_moves_meets_obstacles_in_space),
        cmocka_unit_test(a_blade_between_vertices_dents_the_skin),
    };
    return cmocka_run_group_tests_name("force: flesh and obstacles", tests, NULL, NULL);
}
