/* Obstacles, contact, friction: on a bar between two supports of the imagination. */
#include "support.h"

#include "base/memory.h"
#include "base/vec3.h"
#include "bodies.h"
#include "groups.h"
#include "sinew/spring.h"

enum { CELLS = 16, ACROSS = 2 };

typedef struct scene {
    test_block block;
    sinew_rig *rig;
    sinew_spring *spring;
    sinew_spring_state *state;
    int count;
    double diagonal;
    double *x, *free_x;
} scene;

/* A bar, both ends pinned; the pose is bent a little. */
static void scene_create(double friction, int cells, scene *s) {
    sinew_error error = {0};
    test_block_create(cells, ACROSS, ACROSS, &s->block);
    s->count = s->block.mesh->vertex_count;
    sinew_mesh *neutral = NULL;
    assert_ok(sinew_mesh_copy(s->block.mesh, &neutral, &error));
    assert_ok(sinew_rig_create(neutral, &s->rig, &error));
    double *pose = SN_NEW(double, 3 * s->count);
    test_bend(s->count, neutral->positions, cells, 0.8, pose);
    assert_ok(sinew_rig_add_pose(s->rig, "pose", pose, &error));
    sn_free(pose);
    int pins[2 * (ACROSS + 1) * (ACROSS + 1)], pin_count = 0;
    for (int k = 0; k < (ACROSS + 1) * (ACROSS + 1); k++) {
        pins[pin_count++] = k * (cells + 1);
        pins[pin_count++] = k * (cells + 1) + cells;
    }
    sinew_spring_options options;
    sinew_spring_options_default(&options);
    options.tets = &s->block.tets;
    options.boundary = SINEW_SPRING_PINNED;
    options.pins = pins, options.pin_count = pin_count;
    options.friction = friction;
    assert_ok(sinew_spring_create(s->rig, &options, NULL, &s->spring, &error));
    assert_ok(sinew_spring_state_create(s->spring, &s->state, &error));
    s->diagonal = sinew_diagonal(s->count, neutral->positions);
    s->x = SN_NEW(double, 3 * s->count), s->free_x = SN_NEW(double, 3 * s->count);
}

static void scene_free(scene *s) {
    sn_free(s->x), sn_free(s->free_x);
    sinew_spring_state_destroy(s->state);
    sinew_spring_destroy(s->spring);
    sinew_rig_destroy(s->rig);
    test_block_free(&s->block);
}

static void solve(scene *s, double weight, int index, const sinew_obstacle *obstacle, double *x,
                  sinew_spring_info *info) {
    sinew_error error = {0};
    sinew_spring_frame frame = {.weights = &weight,
                                .index = index,
                                .obstacle_count = obstacle ? 1 : 0,
                                .obstacles = &obstacle};
    assert_ok(sinew_spring_solve(s->spring, s->state, &frame, x, info, NULL, &error));
}

/* Deepest of the vertices that are free to move (pinned ends may be anywhere). */
static double deepest(const scene *s, const sinew_obstacle *obstacle, const double *x) {
    double depth = 0;
    for (int v = 0; v < s->count; v++)
        if (v % (CELLS + 1) != 0 && v % (CELLS + 1) != CELLS)
            depth = fmax(depth, -sinew_obstacle_distance(obstacle, x + 3 * v, NULL));
    return depth;
}

static void nothing_stays_inside_and_everything_lets_go(void **state) {
    (void)state;
    sinew_error error = {0};
    static const char *const forms[] = {"sphere:8,1,3.2,1.8", "plane:0,0,1.7,0,0,-1",
                                        "capsule:8,-2,3,8,4,3,1.6", "cylinder:8,-2,3,8,4,3,1.6",
                                        "box:8,1,3,1.5,3,1.4"};
    for (int k = 0; k < 5; k++) {
        scene s;
        scene_create(0, CELLS, &s);
        sinew_obstacle *obstacle = NULL;
        assert_ok(sinew_obstacle_parse(forms[k], &obstacle, &error));
        sinew_spring_info info;
        solve(&s, 0, -1, NULL, s.free_x, &info);
        assert_true(deepest(&s, obstacle, s.free_x) > 0.1); /* there is something to do */
        solve(&s, 0, 0, obstacle, s.x, &info);
        assert_below(deepest(&s, obstacle, s.x), 1e-4 * s.diagonal);
        assert_below(info.adhesion, 1e-3);
        assert_true(info.contacts > 0);
        /* the obstacle leaves */
        const double away[3] = {0, 0, 100};
        sinew_obstacle_move(obstacle, NULL, k == 1 ? away : away);
        solve(&s, 0, 1, obstacle, s.x, &info);
        assert_int_equal(info.contacts, 0);
        for (int i = 0; i < 3 * s.count; i++) assert_close(s.x[i], s.free_x[i], 1e-5 * s.diagonal);
        sinew_obstacle_destroy(obstacle);
        scene_free(&s);
    }
}

static void a_mesh_does_what_its_primitive_does(void **state) {
    (void)state;
    sinew_error error = {0};
    scene s;
    scene_create(0, CELLS, &s);
    /* a box as twelve triangles */
    const double low[3] = {6.5, -2, 1.6}, high[3] = {9.5, 4, 4.4};
    double corners[24];
    for (int c = 0; c < 8; c++)
        for (int d = 0; d < 3; d++) corners[3 * c + d] = c >> d & 1 ? high[d] : low[d];
    const int faces[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                           2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
    sinew_mesh *mesh = NULL;
    assert_ok(sinew_mesh_create(8, corners, 12, NULL, faces, &mesh, &error));
    sinew_obstacle *box = NULL, *primitive = NULL;
    assert_ok(sinew_obstacle_create_mesh(mesh, &box, &error));
    assert_ok(sinew_obstacle_parse("box:8,1,3,1.5,3,1.4", &primitive, &error));
    const double points[4][3] = {{8, 1, 1.7}, {8, 1, 1.2}, {6, 0, 3}, {9.4, 1, 3}};
    for (int k = 0; k < 4; k++)
        assert_close(sinew_obstacle_distance(box, points[k], NULL),
                     sinew_obstacle_distance(primitive, points[k], NULL), 1e-9);
    sinew_spring_info info;
    solve(&s, 0, -1, box, s.x, &info);
    assert_below(deepest(&s, primitive, s.x), 1e-4 * s.diagonal);
    /* moving its vertices moves it */
    for (int c = 0; c < 8; c++) corners[3 * c + 2] += 50;
    assert_ok(sinew_obstacle_set_positions(box, corners, &error));
    solve(&s, 0, -1, box, s.x, &info);
    assert_int_equal(info.contacts, 0);
    sinew_obstacle_destroy(box), sinew_obstacle_destroy(primitive);
    sinew_mesh_destroy(mesh);
    scene_free(&s);
}

/* Deepest of a fine grid of points on every triangle that has no pinned corner inside. */
static double deepest_of_triangles(const scene *s, const sinew_obstacle *obstacle,
                                   const double *x) {
    enum { GRID = 40 };
    double depth = 0;
    for (int t = 0; t < s->block.mesh->triangle_count; t++) {
        const int *v = s->block.mesh->triangles + 3 * t;
        bool pinned = false;
        for (int c = 0; c < 3; c++)
            pinned |= v[c] % (CELLS + 1) == 0 || v[c] % (CELLS + 1) == CELLS;
        for (int i = 0; i <= GRID && !pinned; i++)
            for (int j = 0; i + j <= GRID; j++) {
                double p[3];
                for (int d = 0; d < 3; d++)
                    p[d] = (i * x[3 * v[0] + d] + j * x[3 * v[1] + d] +
                            (GRID - i - j) * x[3 * v[2] + d]) /
                           GRID;
                depth = fmax(depth, -sinew_obstacle_distance(obstacle, p, NULL));
            }
    }
    return depth;
}

static void no_point_of_any_triangle_stays_inside(void **state) {
    (void)state;
    sinew_error error = {0};
    static const char *const forms[] = {
        "sphere:8,1,3.2,1.8", /* smooth: triangles between free vertices sag into it */
        "cylinder:8.3,-2,3,8.3,4,3,1.6", "box:8,1,3,1.5,3,1.4", /* edges */
        "box:8.5,1,2.5,0.05,5,0.8",  /* a blade between two rows of vertices */
        "box:8.5,1,2.5,0.05,0.1,0.8" /* a pin within one triangle */
    };
    for (int k = 0; k < (int)(sizeof forms / sizeof *forms); k++) {
        scene s;
        scene_create(0, CELLS, &s);
        sinew_obstacle *obstacle = NULL;
        assert_ok(sinew_obstacle_parse(forms[k], &obstacle, &error));
        sinew_spring_info info;
        solve(&s, 0, -1, NULL, s.free_x, &info);
        assert_true(deepest_of_triangles(&s, obstacle, s.free_x) > 0.04);
        solve(&s, 0, -1, obstacle, s.x, &info);
        assert_below(deepest_of_triangles(&s, obstacle, s.x), 1e-4 * s.diagonal);
        sinew_obstacle_destroy(obstacle);
        scene_free(&s);
    }
}

/* A blade across the bar between two rows of vertices. */
static void an_obstacle_thinner_than_a_triangle_is_not_missed(void **state) {
    (void)state;
    sinew_error error = {0};
    scene s;
    scene_create(0, CELLS, &s);
    sinew_obstacle *blade = NULL;
    assert_ok(sinew_obstacle_parse("box:8.5,1,2.5,0.05,5,0.8", &blade, &error));
    sinew_spring_info info;
    solve(&s, 0, -1, NULL, s.free_x, &info);
    assert_true(deepest(&s, blade, s.free_x) == 0); /* no vertex is in it */
    solve(&s, 0, -1, blade, s.x, &info);
    assert_true(info.contacts > 0);
    /* the middle line of the top face where the blade is: at its lower edge, z = 1.7 */
    int row = (CELLS + 1) * (1 + (ACROSS + 1) * ACROSS);
    double top = 0.5 * (s.x[3 * (row + 8) + 2] + s.x[3 * (row + 9) + 2]);
    assert_below(top, 1.7 + 1e-3 * s.diagonal);
    sinew_obstacle_destroy(blade);
    scene_free(&s);
}

static void allowed_depth_is_kept_and_not_exceeded(void **state) {
    (void)state;
    sinew_error error = {0};
    scene s;
    scene_create(0, CELLS, &s);
    sinew_obstacle *plane = NULL;
    assert_ok(sinew_obstacle_parse("plane:0,0,1.7,0,0,-1", &plane, &error));
    double *allowed = SN_NEW(double, s.count);
    for (int v = 0; v < s.count; v++) allowed[v] = 0.1;
    const double weight = 0;
    const double *depths = allowed;
    const sinew_obstacle *obstacle = plane;
    sinew_spring_frame frame = {.weights = &weight,
                                .index = -1,
                                .obstacle_count = 1,
                                .obstacles = &obstacle,
                                .allowed_depth = &depths};
    sinew_spring_info info;
    assert_ok(sinew_spring_solve(s.spring, s.state, &frame, s.x, &info, NULL, &error));
    double depth = deepest(&s, plane, s.x);
    assert_below(depth, 0.1 + 1e-4 * s.diagonal);
    assert_true(depth > 0.099);
    sn_free(allowed);
    sinew_obstacle_destroy(plane);
    scene_free(&s);
}

/* A tilted plane pushes the bar sideways: without friction the touching vertices slip along it,
 * with much friction they stay on the line along which they were pushed out. */
static void friction_holds_what_would_slip(void **state) {
    (void)state;
    sinew_error error = {0};
    double slip[2];
    for (int pass = 0; pass < 2; pass++) {
        scene s;
        scene_create(pass ? 0.9 : 0, CELLS, &s);
        sinew_obstacle *plane = NULL;
        assert_ok(sinew_obstacle_parse("plane:8,1,1.5,0,-0.6,-0.8", &plane, &error));
        sinew_spring_info info;
        solve(&s, 0, -1, NULL, s.free_x, &info);
        solve(&s, 0, 0, plane, s.x, &info);
        assert_true(info.contacts > 0);
        slip[pass] = 0;
        const double along[3] = {0, 0.8, -0.6};
        int touching = 0;
        for (int v = 0; v < s.count; v++) {
            if (fabs(sinew_obstacle_distance(plane, s.x + 3 * v, NULL)) > 1e-4 * s.diagonal)
                continue;
            double moved = 0;
            for (int c = 0; c < 3; c++) moved += along[c] * (s.x[3 * v + c] - s.free_x[3 * v + c]);
            slip[pass] += fabs(moved), touching++;
        }
        slip[pass] /= touching;
        sinew_obstacle_destroy(plane);
        scene_free(&s);
    }
    assert_true(slip[0] > 0);
    assert_below(slip[1], 0.5 * slip[0]);
}

static void an_obstacle_that_swallows_everything_ends_in_a_status(void **state) {
    (void)state;
    sinew_error error = {0};
    scene s;
    scene_create(0, CELLS, &s);
    sinew_obstacle *whale = NULL;
    assert_ok(sinew_obstacle_parse("sphere:8,1,1,500", &whale, &error));
    const double weight = 0.5;
    const sinew_obstacle *obstacle = whale;
    sinew_spring_frame frame = {
        .weights = &weight, .index = -1, .obstacle_count = 1, .obstacles = &obstacle};
    sinew_spring_info info;
    sinew_status status = sinew_spring_solve(s.spring, s.state, &frame, s.x, &info, NULL, &error);
    assert_true(status == SINEW_OK || status == SINEW_NOT_CONVERGED);
    for (int k = 0; k < 3 * s.count; k++) assert_true(isfinite(s.x[k]));
    sinew_obstacle_destroy(whale);
    scene_free(&s);
}

static void bad_obstacles_are_named(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_obstacle *obstacle = NULL;
    static const char *const bad[] = {
        "sphere:0,0,0",          "sphere:0,0,0,-1", "cone:1,2,3",       "plane:0,0,0,0,0,0",
        "box:0,0,0,1,1,nan",     "sphere:a,b,c,d",  "sphere:0,0,0,1,2", "",
        "cylinder:1,1,1,1,1,1,1"};
    for (int k = 0; k < (int)(sizeof bad / sizeof *bad); k++) {
        error.message[0] = 0;
        assert_int_equal(sinew_obstacle_parse(bad[k], &obstacle, &error), SINEW_BAD_INPUT);
        assert_true(strlen(error.message) > 10);
    }
}

int test_contact(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stays_inside_and_everything_lets_go),
        cmocka_unit_test(a_mesh_does_what_its_primitive_does),
        cmocka_unit_test(no_point_of_any_triangle_stays_inside),
        cmocka_unit_test(an_obstacle_thinner_than_a_triangle_is_not_missed),
        cmocka_unit_test(allowed_depth_is_kept_and_not_exceeded),
        cmocka_unit_test(friction_holds_what_would_slip),
        cmocka_unit_test(an_obstacle_that_swallows_everything_ends_in_a_status),
        cmocka_unit_test(bad_obstacles_are_named),
    };
    return cmocka_run_group_tests_name("contact", tests, NULL, NULL);
}
