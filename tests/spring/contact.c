/* Obstacles, contact, friction: on a bar between two supports of the imagination. */
#include "support.h"

#include "base/memory.h"
#include "base/vec3.h"
#include "bodies.h"
#include "groups.h"
#include "sinew/samples.h"
#include "sinew/selection.h"
#include "sinew/spring.h"
#include "spring/contact.h"

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
static void scene_create_with(sinew_spring_solver solver, double friction, int cells, scene *s) {
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
    sinew_spring_options_init(&options);
    options.tets = &s->block.tets;
    options.boundary = SINEW_SPRING_BOUNDARY_PINNED;
    options.pins = pins, options.pin_count = pin_count;
    options.friction = friction;
    options.solver = solver;
    assert_ok(sinew_spring_create(s->rig, &options, NULL, &s->spring, &error));
    assert_ok(sinew_spring_state_create(s->spring, &s->state, &error));
    s->diagonal = sinew_diagonal(s->count, neutral->positions);
    s->x = SN_NEW(double, 3 * s->count), s->free_x = SN_NEW(double, 3 * s->count);
}

static void scene_create(double friction, int cells, scene *s) {
    scene_create_with(SINEW_SPRING_SOLVER_DEFAULT, friction, cells, s);
}

static sinew_obstacle *obstacle_of(const char *text) {
    sinew_error error = {0};
    sinew_obstacle *obstacle = NULL;
    assert_ok(sinew_obstacle_parse(text, &obstacle, &error));
    return obstacle;
}

static void scene_free(scene *s) {
    sn_free(s->x), sn_free(s->free_x);
    sinew_spring_state_destroy(s->state);
    sinew_spring_destroy(s->spring);
    sinew_rig_destroy(s->rig);
    test_block_free(&s->block);
}

static void solve(scene *s, double weight, int index, const sinew_obstacle *obstacle, double *x,
                  sinew_spring_frame_info *info) {
    sinew_error error = {0};
    sinew_spring_frame frame = {.size = sizeof frame,
                                .weights = &weight,
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
    static const char *const forms[] = {"sphere:8,1,3.2,1.8", "plane:0,0,1.7,0,0,-1",
                                        "capsule:8,-2,3,8,4,3,1.6", "cylinder:8,-2,3,8,4,3,1.6",
                                        "box:8,1,3,1.5,3,1.4"};
    for (int k = 0; k < 5; k++) {
        scene s;
        scene_create(0, CELLS, &s);
        sinew_obstacle *obstacle = obstacle_of(forms[k]);
        sinew_spring_frame_info info = {.size = sizeof info};
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

/* Contacts join vertices that no spring joins, so they have no place in the assembled Hessian. */
static void every_solver_settles_in_contact(void **state) {
    (void)state;
    static const sinew_spring_solver solvers[] = {
        SINEW_SPRING_SOLVER_DEFAULT, SINEW_SPRING_SOLVER_NEWTON, SINEW_SPRING_SOLVER_PUBLISHED};
    scene s[3];
    sinew_obstacle *ball = obstacle_of("sphere:8,1,3.2,1.8");
    int steps[3];
    for (int k = 0; k < 3; k++) {
        scene_create_with(solvers[k], 0, CELLS, &s[k]);
        sinew_spring_frame_info info = {.size = sizeof info};
        solve(&s[k], 0, -1, ball, s[k].x, &info);
        assert_true(info.contacts > 0);
        steps[k] = info.iterations;
        for (int i = 0; i < 3 * s[0].count; i++)
            assert_close(s[k].x[i], s[0].x[i], 1e-3 * s[0].diagonal);
    }
    assert_true(steps[1] <= 3 * steps[0] && steps[2] <= 3 * steps[0]);
    for (int k = 0; k < 3; k++) scene_free(&s[k]);
    sinew_obstacle_destroy(ball);
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
    sinew_spring_frame_info info = {.size = sizeof info};
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
    static const char *const forms[] = {
        "sphere:8,1,3.2,1.8", /* smooth: triangles between free vertices sag into it */
        "cylinder:8.3,-2,3,8.3,4,3,1.6", "box:8,1,3,1.5,3,1.4", /* edges */
        "box:8.5,1,2.5,0.05,5,0.8",  /* a blade between two rows of vertices */
        "box:8.5,1,2.5,0.05,0.1,0.8" /* a pin within one triangle */
    };
    for (int k = 0; k < (int)(sizeof forms / sizeof *forms); k++) {
        scene s;
        scene_create(0, CELLS, &s);
        sinew_obstacle *obstacle = obstacle_of(forms[k]);
        sinew_spring_frame_info info = {.size = sizeof info};
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
    scene s;
    scene_create(0, CELLS, &s);
    sinew_obstacle *blade = obstacle_of("box:8.5,1,2.5,0.05,5,0.8");
    sinew_spring_frame_info info = {.size = sizeof info};
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

/* A bar held at one end whose pose bends it upwards, by 2.4 radians. */
enum { LONG = 12 };

static void bending_create(scene *s) {
    sinew_error error = {0};
    test_block_create(LONG, 1, 1, &s->block);
    s->count = s->block.mesh->vertex_count;
    const int pins[4] = {0, LONG + 1, 2 * (LONG + 1), 3 * (LONG + 1)};
    sinew_mesh *neutral = NULL;
    assert_ok(sinew_mesh_copy(s->block.mesh, &neutral, &error));
    assert_ok(sinew_rig_create(neutral, &s->rig, &error));
    s->x = SN_NEW(double, 3 * s->count), s->free_x = SN_NEW(double, 3 * s->count);
    test_bend(s->count, neutral->positions, LONG, 2.4, s->x);
    assert_ok(sinew_rig_add_pose(s->rig, "pose", s->x, &error));
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.tets = &s->block.tets;
    options.boundary = SINEW_SPRING_BOUNDARY_PINNED;
    options.pins = pins, options.pin_count = 4;
    assert_ok(sinew_spring_create(s->rig, &options, NULL, &s->spring, &error));
    assert_ok(sinew_spring_state_create(s->spring, &s->state, &error));
    s->diagonal = sinew_diagonal(s->count, neutral->positions);
}

/* It bends through a cylinder, until its far half has passed it. */
static void what_bends_past_an_obstacle_stays_on_the_side_where_it_came(void **state) {
    (void)state;
    scene s;
    bending_create(&s);
    sinew_obstacle *rod = obstacle_of("capsule:6.5,-3,3.1,6.5,4,3.1,0.9");
    static const double weights[4] = {0.5, 0.7, 0.85, 1};
    sinew_spring_frame_info info = {.size = sizeof info};
    for (int k = 0; k < 4; k++) {
        solve(&s, weights[k], k, rod, s.x, &info);
        assert_below(info.depth, 1e-4);
        /* the half before the rod stays under its middle, the rest goes around it on the right */
        for (int v = 0; v < s.count; v++) {
            if (v % (LONG + 1) <= 6) assert_true(s.x[3 * v + 2] < 3.1);
            if (v % (LONG + 1) == 9) assert_true(s.x[3 * v] > 6.5);
        }
    }
    /* without its past it is the same */
    solve(&s, weights[3], -1, rod, s.free_x, &info);
    for (int k = 0; k < 3 * s.count; k++) assert_close(s.x[k], s.free_x[k], 2e-4 * s.diagonal);
    sinew_obstacle_destroy(rod);
    scene_free(&s);
}

/* Vertices move farther in one step of the way than the ceiling is thick, and end above it. */
static void a_ceiling_thinner_than_a_step_is_not_passed(void **state) {
    (void)state;
    scene s;
    bending_create(&s);
    sinew_obstacle *ceiling = obstacle_of("box:6,0.5,3.1,30,30,0.1");
    sinew_spring_frame_info info = {.size = sizeof info};
    solve(&s, 1, -1, NULL, s.free_x, &info);
    solve(&s, 1, -1, ceiling, s.x, &info);
    int passed = 0;
    for (int v = 0; v < s.count; v++) {
        passed += s.free_x[3 * v + 2] > 3.2;
        assert_below(s.x[3 * v + 2], 3 + 1e-4 * s.diagonal);
    }
    assert_true(passed > 8);
    assert_true(info.contacts > 0);
    sinew_obstacle_destroy(ceiling);
    scene_free(&s);
}

static void allowed_depth_is_kept_and_not_exceeded(void **state) {
    (void)state;
    sinew_error error = {0};
    scene s;
    scene_create(0, CELLS, &s);
    sinew_obstacle *plane = obstacle_of("plane:0,0,1.7,0,0,-1");
    double *allowed = SN_NEW(double, s.count);
    for (int v = 0; v < s.count; v++) allowed[v] = 0.1;
    const double weight = 0;
    const double *depths = allowed;
    const sinew_obstacle *obstacle = plane;
    sinew_spring_frame frame = {.size = sizeof frame,
                                .weights = &weight,
                                .index = -1,
                                .obstacle_count = 1,
                                .obstacles = &obstacle,
                                .allowed_depth = &depths};
    sinew_spring_frame_info info = {.size = sizeof info};
    assert_ok(sinew_spring_solve(s.spring, s.state, &frame, s.x, &info, NULL, &error));
    double depth = deepest(&s, plane, s.x);
    assert_below(depth, 0.1 + 1e-4 * s.diagonal);
    assert_true(depth > 0.099);
    sn_free(allowed);
    sinew_obstacle_destroy(plane);
    scene_free(&s);
}

/* Between vertices that are all outside, flat triangles sag into a ball. */
static void triangles_sink_as_deep_as_allowed_and_no_deeper(void **state) {
    (void)state;
    sinew_error error = {0};
    scene s;
    scene_create(0, CELLS, &s);
    sinew_obstacle *ball = obstacle_of("sphere:8.5,1.5,2.5,0.7");
    int triangles = s.block.mesh->triangle_count;
    double *none = SN_NEW0(double, s.count), *some = SN_NEW(double, triangles);
    for (int t = 0; t < triangles; t++) some[t] = 0.05;
    const double weight = 0;
    const double *depths = none, *sinks = some;
    const sinew_obstacle *obstacle = ball;
    sinew_spring_frame frame = {.size = sizeof frame,
                                .weights = &weight,
                                .index = -1,
                                .obstacle_count = 1,
                                .obstacles = &obstacle,
                                .allowed_depth = &depths};
    for (int watched = 0; watched < 2; watched++) {
        sinew_spring_frame_info info = {.size = sizeof info};
        frame.allowed_triangle_depth = watched ? &sinks : NULL;
        assert_ok(sinew_spring_solve(s.spring, s.state, &frame, s.x, &info, NULL, &error));
        double depth = deepest_of_triangles(&s, ball, s.x);
        if (watched)
            assert_below(depth, 0.05 + 1e-4 * s.diagonal);
        else
            assert_true(depth > 0.1);
        assert_below(deepest(&s, ball, s.x), 1e-4 * s.diagonal);
    }
    /* one triangle right under the middle of the ball */
    const double corners[9] = {7, 1.5, 1.9, 9, 0.5, 1.9, 9, 2.5, 1.9};
    assert_close(sinew_obstacle_triangle_depth(ball, corners), 0.1, 1e-4);
    sn_free(none), sn_free(some);
    sinew_obstacle_destroy(ball);
    scene_free(&s);
}

/* A block of flesh on the floor z = 0. Its pose presses it down by 1 and moves it along x by
 * `along`: nothing but the pull to the blend drives it, so what the floor bears is the pull's
 * normal part and what friction has to hold is its tangential part. */
typedef struct slope {
    test_block block;
    sinew_rig *rig;
    sinew_spring *spring;
    sinew_spring_state *state;
    sinew_obstacle *floor;
    int count;
    double *x;
} slope;

static const double FRICTION = 0.5;

static void slope_create(double along, slope *s) {
    sinew_error error = {0};
    test_block_create(3, 3, 2, &s->block);
    s->count = s->block.mesh->vertex_count;
    sinew_mesh *neutral = NULL;
    assert_ok(sinew_mesh_copy(s->block.mesh, &neutral, &error));
    assert_ok(sinew_rig_create(neutral, &s->rig, &error));
    s->x = SN_NEW(double, 3 * s->count);
    for (int k = 0; k < 3 * s->count; k++)
        s->x[k] = neutral->positions[k] + (k % 3 == 0 ? along : k % 3 == 2 ? -1 : 0);
    assert_ok(sinew_rig_add_pose(s->rig, "pose", s->x, &error));
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.tets = &s->block.tets;
    options.friction = FRICTION;
    assert_ok(sinew_spring_create(s->rig, &options, NULL, &s->spring, &error));
    assert_ok(sinew_spring_state_create(s->spring, &s->state, &error));
    assert_ok(sinew_obstacle_parse("plane:0,0,0,0,0,1", &s->floor, &error));
}

static void slope_free(slope *s) {
    sn_free(s->x);
    sinew_obstacle_destroy(s->floor);
    sinew_spring_state_destroy(s->state);
    sinew_spring_destroy(s->spring);
    sinew_rig_destroy(s->rig);
    test_block_free(&s->block);
}

/* Returns how far the block has moved along x, on average. */
static double slope_solve(slope *s, double weight, int index) {
    sinew_error error = {0};
    const sinew_obstacle *floor = s->floor;
    sinew_spring_frame frame = {.size = sizeof frame,
                                .weights = &weight,
                                .index = index,
                                .obstacle_count = 1,
                                .obstacles = &floor};
    assert_ok(sinew_spring_solve(s->spring, s->state, &frame, s->x, NULL, NULL, &error));
    double moved = 0;
    for (int v = 0; v < s->count; v++)
        moved += (s->x[3 * v] - s->rig->neutral->positions[3 * v]) / s->count;
    return moved;
}

/* Every touch within the cone; what is below it holds its place, what slides drags against it. */
static void assert_cone(const slope *s) {
    const sn_contacts *contacts = s->state->contacts;
    int pushing = 0;
    double largest = 0;
    for (int k = 0; k < contacts->count; k++)
        largest = fmax(largest, FRICTION * contacts->list[k].force);
    for (int k = 0; k < contacts->count; k++) {
        const sn_touch *touch = &contacts->list[k];
        if (touch->force <= 0) continue;
        pushing++;
        double most = FRICTION * touch->force, drag = sn_length(touch->drag);
        assert_true(drag <= most + 0.02 * largest);
        sn_vec3 at = sn_contact_position(s->spring, s->state, touch->vertex[0]);
        sn_vec3 slip = sn_sub(at, touch->place);
        slip.z = 0;
        if (touch->count == 1 && drag < most - 0.02 * largest) assert_below(sn_length(slip), 1e-3);
        if (touch->count == 1 && sn_length(slip) > 0.05 && most > 0.02 * largest)
            assert_true(sn_dot(slip, touch->drag) > 0.9 * drag * sn_length(slip));
    }
    assert_true(pushing >= 9);
}

static void friction_holds_below_its_angle_and_slides_above(void **state) {
    (void)state;
    /* tan of the angle to the normal: below and above mu */
    static const double slopes[4] = {0.2, 0.45, 0.6, 1.5};
    for (int k = 0; k < 4; k++) {
        slope s;
        slope_create(slopes[k], &s);
        double first = slope_solve(&s, 0.01, 0), moved = slope_solve(&s, 1, 1);
        assert_cone(&s);
        if (slopes[k] < FRICTION)
            assert_below(fabs(moved - first), 0.02);
        else /* until the pull that is left is mu times the pressure */
            assert_close(moved, slopes[k] - FRICTION, 0.05);
        slope_free(&s);
    }
}

static void friction_is_forgotten_when_the_obstacle_leaves(void **state) {
    (void)state;
    slope s;
    slope_create(0.45, &s);
    slope_solve(&s, 0.01, 0);
    assert_below(slope_solve(&s, 1, 1), 0.05);
    const double away[3] = {0, 0, -50};
    sinew_obstacle_move(s.floor, NULL, away);
    slope_solve(&s, 1, 2);
    for (int v = 0; v < s.count; v++) {
        const double *from = s.rig->neutral->positions + 3 * v;
        assert_close(s.x[3 * v], from[0] + 0.45, 1e-5);
        assert_close(s.x[3 * v + 2], from[2] - 1, 1e-5);
    }
    slope_free(&s);
}

static void a_moving_obstacle_carries_what_sticks_to_it(void **state) {
    (void)state;
    slope s;
    slope_create(0, &s);
    slope_solve(&s, 1, 0);
    double before = slope_solve(&s, 1, 1), moves[3] = {0.3, 0, 0};
    sinew_obstacle_move(s.floor, NULL, moves);
    assert_close(slope_solve(&s, 1, 2) - before, 0.3, 0.02);
    /* farther than friction can pull it along */
    moves[0] = 2;
    sinew_obstacle_move(s.floor, NULL, moves);
    assert_close(slope_solve(&s, 1, 3) - before, FRICTION, 0.05);
    slope_free(&s);
}

static void an_obstacle_that_swallows_everything_ends_in_a_status(void **state) {
    (void)state;
    sinew_error error = {0};
    scene s;
    scene_create(0, CELLS, &s);
    sinew_obstacle *whale = obstacle_of("sphere:8,1,1,500");
    const double weight = 0.5;
    const sinew_obstacle *obstacle = whale;
    sinew_spring_frame frame = {.size = sizeof frame,
                                .weights = &weight,
                                .index = -1,
                                .obstacle_count = 1,
                                .obstacles = &obstacle};
    sinew_spring_frame_info info = {.size = sizeof info};
    sinew_status status = sinew_spring_solve(s.spring, s.state, &frame, s.x, &info, NULL, &error);
    assert_int_equal(status, SINEW_NOT_CONVERGED);
    assert_int_equal(info.swallowed, 1);
    assert_non_null(strstr(error.message, "contains the whole"));
    for (int k = 0; k < 3 * s.count; k++) assert_true(isfinite(s.x[k]));
    sinew_obstacle_destroy(whale);
    scene_free(&s);
}

static void bad_obstacles_are_named(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_obstacle *obstacle = NULL;
    static const char *const bad[] = {"sphere:0,0,0",
                                      "sphere:0,0,0,0",
                                      "capsule:0,0,0,1,0,0,0",
                                      "sphere:0,0,0,-1",
                                      "cone:1,2,3",
                                      "plane:0,0,0,0,0,0",
                                      "box:0,0,0,1,1,nan",
                                      "sphere:a,b,c,d",
                                      "sphere:0,0,0,1,2",
                                      "",
                                      "cylinder:1,1,1,1,1,1,1"};
    for (int k = 0; k < (int)(sizeof bad / sizeof *bad); k++) {
        error.message[0] = 0;
        assert_int_equal(sinew_obstacle_parse(bad[k], &obstacle, &error), SINEW_BAD_INPUT);
        assert_true(strlen(error.message) > 10);
    }
}

static void assert_mesh_refused(int vertex_count, const double *positions, int face_count,
                                const int *faces, const char *why) {
    sinew_error error = {0};
    sinew_mesh *mesh = NULL;
    sinew_obstacle *obstacle = NULL;
    assert_ok(sinew_mesh_create(vertex_count, positions, face_count, NULL, faces, &mesh, &error));
    assert_int_equal(sinew_obstacle_create_mesh(mesh, &obstacle, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, why));
    assert_null(obstacle);
    sinew_mesh_destroy(mesh);
}

/* A ball pressed into the cheek of the sample face and taken away again. */
static void a_face_yields_to_a_ball_and_comes_back(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = NULL;
    sinew_sample_options size = {.size = sizeof size, .vertices = 1500};
    assert_ok(sinew_sample_rig("face", &size, &rig, &error));
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count, pin_count = 0, *pins = SN_NEW(int, n);
    for (int v = 0; v < n; v++) /* the back of the head, and what is not skin */
        if (mesh->positions[3 * v + 2] < 0.02) pins[pin_count++] = v;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.interior = false;
    options.boundary = SINEW_SPRING_BOUNDARY_PINNED;
    options.pins = pins, options.pin_count = pin_count;
    sinew_spring *spring = NULL;
    sinew_spring_state *solver = NULL;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &solver, &error));
    sinew_obstacle *ball = obstacle_of("sphere:0.047,-0.036,0.125,0.02");
    const sinew_obstacle *obstacle = ball;
    double *x = SN_NEW(double, 3 * n), *weights = SN_NEW0(double, rig->slider_count);
    double diagonal = sinew_diagonal(n, mesh->positions);
    static const double in[7] = {0, 0.02, 0.034, 0.04, 0.034, 0.02, 0};
    for (int k = 0; k < 7; k++) {
        const double move[3] = {0, 0, -in[k]};
        sinew_obstacle_move(ball, NULL, move);
        sinew_spring_frame_info info = {.size = sizeof info};
        sinew_spring_frame frame = {.size = sizeof frame,
                                    .weights = weights,
                                    .index = k,
                                    .obstacle_count = 1,
                                    .obstacles = &obstacle};
        assert_ok(sinew_spring_solve(spring, solver, &frame, x, &info, NULL, &error));
        assert_true((info.contacts > 0) == (in[k] > 0.03));
        double depth = 0;
        for (int t = 0; t < mesh->triangle_count; t++)
            for (int i = 0; i <= 10; i++)
                for (int j = 0; i + j <= 10; j++) {
                    const int *v = mesh->triangles + 3 * t;
                    double p[3];
                    for (int d = 0; d < 3; d++)
                        p[d] = (i * x[3 * v[0] + d] + j * x[3 * v[1] + d] +
                                (10 - i - j) * x[3 * v[2] + d]) /
                               10;
                    depth = fmax(depth, -sinew_obstacle_distance(ball, p, NULL));
                }
        assert_below(depth, 1e-4 * diagonal);
    }
    for (int i = 0; i < 3 * n; i++) assert_close(x[i], mesh->positions[i], 1e-6 * diagonal);
    sinew_obstacle_destroy(ball);
    sinew_spring_state_destroy(solver), sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
    sn_free(x), sn_free(weights), sn_free(pins);
}

/* A ball around the eye, larger than it: lids and skin yield, the eye has no side to leave by. */
static void a_part_inside_an_obstacle_stays_and_the_others_yield(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = NULL;
    sinew_sample_options size = {.size = sizeof size, .vertices = 1500};
    assert_ok(sinew_sample_rig("face", &size, &rig, &error));
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count, *eye = NULL, eye_count = 0;
    assert_ok(sinew_select(rig, "part:eyeLeft", NULL, sinew_file_loader(), NULL, &eye, &eye_count,
                           &error));
    bool *own = SN_NEW0(bool, n);
    for (int k = 0; k < eye_count; k++) own[eye[k]] = true;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.interior = false;
    sinew_spring *spring = NULL;
    sinew_spring_state *solver = NULL;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &solver, &error));
    sinew_obstacle *ball = obstacle_of("sphere:0.034,0.002,0.06185,0.0205");
    const sinew_obstacle *obstacle = ball;
    double *x = SN_NEW(double, 3 * n), *weights = SN_NEW0(double, rig->slider_count);
    double diagonal = sinew_diagonal(n, mesh->positions);
    sinew_spring_frame_info info = {.size = sizeof info};
    sinew_spring_frame frame = {.size = sizeof frame,
                                .weights = weights,
                                .index = -1,
                                .obstacle_count = 1,
                                .obstacles = &obstacle};
    assert_ok(sinew_spring_solve(spring, solver, &frame, x, &info, NULL, &error));
    assert_true(info.contacts > 0);
    for (int v = 0; v < n; v++) {
        if (own[v])
            for (int c = 0; c < 3; c++)
                assert_close(x[3 * v + c], mesh->positions[3 * v + c], 1e-5 * diagonal);
        else
            assert_true(sinew_obstacle_distance(ball, x + 3 * v, NULL) > -1e-4 * diagonal);
    }
    sinew_obstacle_destroy(ball);
    sinew_spring_state_destroy(solver), sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
    sinew_free(eye);
    sn_free(x), sn_free(weights), sn_free(own);
}

static void obstacle_meshes_need_an_inside(void **state) {
    (void)state;
    sinew_error error = {0};
    const double sheet[12] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    const int two[6] = {0, 1, 2, 0, 2, 3}, lines[6] = {0, 1, 1, 2, 3, 3};
    assert_mesh_refused(4, sheet, 2, two, "encloses nothing");
    assert_mesh_refused(4, sheet, 2, lines, "no area");
    assert_mesh_refused(4, sheet, 0, two, "no faces");
    /* a box without its top, with a collapsed triangle: what is there bounds it */
    const double low[3] = {6.5, -2, 1.6}, high[3] = {9.5, 4, 4.4};
    double corners[24];
    for (int c = 0; c < 8; c++)
        for (int d = 0; d < 3; d++) corners[3 * c + d] = c >> d & 1 ? high[d] : low[d];
    const int faces[33] = {0, 2, 1, 1, 2, 3, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6,
                           7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5, 0, 0, 1};
    sinew_mesh *mesh = NULL;
    sinew_obstacle *box = NULL;
    assert_ok(sinew_mesh_create(8, corners, 11, NULL, faces, &mesh, &error));
    assert_ok(sinew_obstacle_create_mesh(mesh, &box, &error));
    scene s;
    scene_create(0, CELLS, &s);
    sinew_spring_frame_info info = {.size = sizeof info};
    solve(&s, 0, -1, box, s.x, &info);
    assert_true(info.contacts > 0);
    assert_below(info.depth, 1e-4);
    corners[4] = NAN;
    assert_int_equal(sinew_obstacle_set_positions(box, corners, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 1"));
    sinew_obstacle_destroy(box);
    sinew_mesh_destroy(mesh);
    scene_free(&s);
}

int test_contact(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stays_inside_and_everything_lets_go),
        cmocka_unit_test(every_solver_settles_in_contact),
        cmocka_unit_test(a_mesh_does_what_its_primitive_does),
        cmocka_unit_test(no_point_of_any_triangle_stays_inside),
        cmocka_unit_test(an_obstacle_thinner_than_a_triangle_is_not_missed),
        cmocka_unit_test(what_bends_past_an_obstacle_stays_on_the_side_where_it_came),
        cmocka_unit_test(a_ceiling_thinner_than_a_step_is_not_passed),
        cmocka_unit_test(allowed_depth_is_kept_and_not_exceeded),
        cmocka_unit_test(triangles_sink_as_deep_as_allowed_and_no_deeper),
        cmocka_unit_test(friction_holds_below_its_angle_and_slides_above),
        cmocka_unit_test(friction_is_forgotten_when_the_obstacle_leaves),
        cmocka_unit_test(a_moving_obstacle_carries_what_sticks_to_it),
        cmocka_unit_test(an_obstacle_that_swallows_everything_ends_in_a_status),
        cmocka_unit_test(bad_obstacles_are_named),
        cmocka_unit_test(obstacle_meshes_need_an_inside),
        cmocka_unit_test(a_face_yields_to_a_ball_and_comes_back),
        cmocka_unit_test(a_part_inside_an_obstacle_stays_and_the_others_yield),
    };
    return cmocka_run_group_tests_name("contact", tests, NULL, NULL);
}
