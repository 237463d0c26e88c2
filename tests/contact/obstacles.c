/* Obstacles: distances against values known by hand and against finite differences, rigid motion,
 * the deepest point against sampling, points that are carried. */
#include "support.h"

#include "base/mat3.h"
#include "base/rotation.h"
#include "contact/obstacle.h"
#include "groups.h"
#include "sinew/mesh.h"

static sinew_error error;

static sinew_obstacle *parsed(const char *text) {
    sinew_obstacle *obstacle;
    assert_ok(sinew_obstacle_parse(text, &obstacle, &error));
    return obstacle;
}

/* A box from (-1, -2, -3) to (1, 2, 3), as triangles that face out. */
static const double corners[24] = {-1, -2, -3, 1, -2, -3, 1, 2, -3, -1, 2, -3,
                                   -1, -2, 3,  1, -2, 3,  1, 2, 3,  -1, 2, 3};
static const int quads[24] = {0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4,
                              2, 3, 7, 6, 1, 2, 6, 5, 0, 4, 7, 3};
static const int starts[7] = {0, 4, 8, 12, 16, 20, 24};

static sinew_mesh *box_mesh(void) {
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(8, corners, 6, starts, quads, &mesh, &error));
    return mesh;
}

static sinew_obstacle *box_obstacle(void) {
    sinew_mesh *mesh = box_mesh();
    sinew_obstacle *obstacle;
    assert_ok(sinew_obstacle_create_mesh(mesh, &obstacle, &error));
    sinew_mesh_destroy(mesh);
    return obstacle;
}

static const struct {
    const char *shape;
    double point[3], distance, normal[3];
} known[] = {
    {"plane:0,0,1,0,0,2", {5, 6, 4}, 3, {0, 0, 1}},
    {"plane:0,0,1,0,0,2", {5, 6, -4}, -5, {0, 0, 1}},
    {"plane:1,0,0,-3,0,0", {0, 9, 9}, 1, {-1, 0, 0}},
    {"sphere:1,2,3,2", {1, 2, 8}, 3, {0, 0, 1}},
    {"sphere:1,2,3,2", {1, 1, 3}, -1, {0, -1, 0}},
    {"sphere:0,0,0,1", {3, 0, 4}, 4, {0.6, 0, 0.8}},
    {"capsule:0,0,0,4,0,0,1", {2, 3, 0}, 2, {0, 1, 0}},
    {"capsule:0,0,0,4,0,0,1", {-2, 0, 0}, 1, {-1, 0, 0}},
    {"capsule:0,0,0,4,0,0,1", {7, 4, 0}, 4, {0.6, 0.8, 0}},
    {"capsule:0,0,0,4,0,0,1", {3, 0, 0.25}, -0.75, {0, 0, 1}},
    {"cylinder:0,0,-2,0,0,2,1", {3, 0, 1}, 2, {1, 0, 0}},
    {"cylinder:0,0,-2,0,0,2,1", {0.5, 0, 3}, 1, {0, 0, 1}},
    {"cylinder:0,0,-2,0,0,2,1", {0.5, 0, -4}, 2, {0, 0, -1}},
    {"cylinder:0,0,-2,0,0,2,1", {4, 0, 6}, 5, {0.6, 0, 0.8}},
    {"cylinder:0,0,-2,0,0,2,1", {1.3, 0, 2.4}, 0.5, {0.6, 0, 0.8}},
    {"cylinder:0,0,-2,0,0,2,1", {0.75, 0, 1}, -0.25, {1, 0, 0}},
    {"cylinder:0,0,-2,0,0,2,1", {0.25, 0, -1.5}, -0.5, {0, 0, -1}},
    {"box:1,0,0,1,2,3", {4, 0, 0}, 2, {1, 0, 0}},
    {"box:1,0,0,1,2,3",
     {-3, 5, 0},
     4.2426406871192852,
     {-0.70710678118654752, 0.70710678118654752, 0}},
    {"box:1,0,0,1,2,3", {1, -1.5, 0}, -0.5, {0, -1, 0}},
    {"box:1,0,0,1,2,3", {1.75, 0, 0}, -0.25, {1, 0, 0}},
    {"box:1,0,0,1,2,3", {1, 0, 2.5}, -0.5, {0, 0, 1}},
};

static void distances_of_primitives_are_those_of_the_textbook(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sinew_obstacle *obstacle = parsed(known[i].shape);
        double normal[3];
        assert_close(sinew_obstacle_distance(obstacle, known[i].point, normal), known[i].distance,
                     1e-12);
        assert_close(sinew_obstacle_distance(obstacle, known[i].point, NULL), known[i].distance,
                     1e-12);
        for (int c = 0; c < 3; c++) assert_close(normal[c], known[i].normal[c], 1e-9);
        sinew_obstacle_destroy(obstacle);
    }
}

static void points_without_a_direction_get_a_unit_one(void **state) {
    (void)state;
    const char *shapes[] = {"sphere:0,0,0,1", "capsule:-2,0,0,2,0,0,1", "capsule:0,-2,0,0,2,0,1",
                            "cylinder:-2,0,0,2,0,0,1", "capsule:0,0,0,0,0,0,1"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        sinew_obstacle *obstacle = parsed(shapes[i]);
        double normal[3], axis = i == 2 ? 1 : 0;
        assert_close(sinew_obstacle_distance(obstacle, (double[3]){0, 0, 0}, normal), -1, 1e-12);
        assert_close(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2], 1,
                     1e-12);
        if (i == 1 || i == 2 || i == 3) assert_close(normal[(int)axis], 0, 1e-12);
        sinew_obstacle_destroy(obstacle);
    }
}

/* The normal is the gradient of the distance, wherever the obstacle was moved. */
static void normals_are_gradients(void **state) {
    (void)state;
    uint64_t seed = 11;
    sn_mat3 turn = sn_rotation_exp(sn_v3(0.3, -0.8, 1.9));
    const double shift[3] = {0.4, -0.2, 0.7};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sinew_obstacle *obstacle = parsed(known[i].shape);
        sinew_obstacle_move(obstacle, (const double *)turn.m, shift);
        for (int run = 0; run < 20; run++) {
            double p[3], normal[3], kink = 0;
            for (int c = 0; c < 3; c++) p[c] = 3 * test_random(&seed);
            double d = sinew_obstacle_distance(obstacle, p, normal), gradient[3];
            for (int c = 0; c < 3; c++) {
                const double h = 1e-6;
                double before[3], after[3];
                memcpy(before, p, sizeof p), memcpy(after, p, sizeof p);
                before[c] -= h, after[c] += h;
                double low = sinew_obstacle_distance(obstacle, before, NULL);
                double high = sinew_obstacle_distance(obstacle, after, NULL);
                gradient[c] = (high - low) / (2 * h);
                kink = fmax(kink, fabs(high + low - 2 * d));
            }
            if (kink > 1e-9) continue; /* two parts of the surface are equally near */
            for (int c = 0; c < 3; c++) assert_close(gradient[c], normal[c], 1e-4);
        }
        sinew_obstacle_destroy(obstacle);
    }
}

static void a_moved_obstacle_answers_as_the_point_moved_back(void **state) {
    (void)state;
    sn_mat3 turn = sn_rotation_exp(sn_v3(-0.5, 1.2, 0.4));
    const double shift[3] = {3, -1, 2};
    sinew_obstacle *still = parsed("box:0.5,0,0,1,2,3"), *moved = parsed("box:0.5,0,0,1,2,3");
    sinew_obstacle_move(moved, (const double *)turn.m, shift);
    const sn_vec3 p = {1.7, -2.2, 0.3};
    sn_vec3 q = sn_add(sn_mat3_apply(turn, p), sn_v3(shift[0], shift[1], shift[2]));
    double a[3], b[3], at_p[3] = {p.x, p.y, p.z}, at_q[3] = {q.x, q.y, q.z};
    assert_close(sinew_obstacle_distance(still, at_p, a), sinew_obstacle_distance(moved, at_q, b),
                 1e-12);
    sn_vec3 turned = sn_mat3_apply(turn, sn_at(a, 0));
    assert_below(sn_distance(turned, sn_at(b, 0)), 1e-12);
    sinew_obstacle_move(moved, NULL, NULL); /* back */
    assert_close(sinew_obstacle_distance(moved, at_p, NULL),
                 sinew_obstacle_distance(still, at_p, NULL), 0);
    for (int k = 0; k < 3; k++) { /* in every direction */
        const double beside[3] = {k == 0 ? 9 : 0.5, k == 1 ? 9 : 0, k == 2 ? 9 : 0};
        assert_close(sinew_obstacle_distance(moved, beside, NULL),
                     sinew_obstacle_distance(still, beside, NULL), 0);
    }
    sinew_obstacle_destroy(still), sinew_obstacle_destroy(moved);
}

static void a_mesh_of_a_box_has_the_distances_of_the_box(void **state) {
    (void)state;
    sinew_obstacle *mesh = box_obstacle(), *box = parsed("box:0,0,0,1,2,3");
    uint64_t seed = 3;
    int inside = 0;
    for (int run = 0; run < 300; run++) {
        double p[3], normal[3];
        for (int c = 0; c < 3; c++) p[c] = (2 + c) * test_random(&seed);
        double d = sinew_obstacle_distance(mesh, p, normal);
        assert_close(d, sinew_obstacle_distance(box, p, NULL), 1e-5); /* floats in the tree */
        assert_close(sn_length(sn_at(normal, 0)), 1, 1e-9);
        inside += d < 0;
        /* the direction leads away from the surface */
        double further[3] = {p[0] + 0.01 * normal[0], p[1] + 0.01 * normal[1],
                             p[2] + 0.01 * normal[2]};
        if (d > -0.5) assert_true(sinew_obstacle_distance(mesh, further, NULL) > d);
    }
    assert_true(inside > 20 && inside < 280);
    /* Twice as large. */
    double larger[24];
    for (int i = 0; i < 24; i++) larger[i] = 2 * corners[i];
    assert_ok(sinew_obstacle_set_positions(mesh, larger, &error));
    assert_close(sinew_obstacle_distance(mesh, (double[3]){1.5, 0, 0}, NULL), -0.5, 1e-5);
    larger[17] = INFINITY;
    assert_int_equal(sinew_obstacle_set_positions(mesh, larger, &error), SINEW_BAD_INPUT);
    assert_string_equal(error.message, "vertex 5 of the obstacle mesh is not finite");
    assert_int_equal(sinew_obstacle_set_positions(box, corners, &error), SINEW_BAD_INPUT);
    sinew_obstacle_destroy(mesh), sinew_obstacle_destroy(box);
}

/* Interpolated over the triangle, so that they do not jump at its edges; also on the surface. */
static void normals_of_a_mesh_are_interpolated(void **state) {
    (void)state;
    sinew_obstacle *mesh = box_obstacle();
    const double outside[3] = {0.9, 1.5, 3.125}, on[3] = {0.25, 0.5, 3};
    double normal[3];
    assert_close(sinew_obstacle_distance(mesh, outside, normal), 0.125, 1e-5);
    assert_true(normal[0] > 0.1 && normal[1] > 0.1 && normal[2] > 0.1); /* towards the corner */
    assert_close(sinew_obstacle_distance(mesh, on, normal), 0, 1e-6);
    assert_close(sn_length(sn_at(normal, 0)), 1, 1e-9);
    assert_true(normal[2] > 0.5);
    sinew_obstacle_destroy(mesh);
}

/* Never less deep than the deepest of many samples, and not much deeper. */
static void the_deepest_point_of_a_triangle_is_found(void **state) {
    (void)state;
    const char *shapes[] = {"sphere:0,0,0,1", "box:0,0,0,0.9,0.7,0.5",
                            "capsule:-0.5,0,0,0.5,0.2,0,0.3"};
    uint64_t seed = 21;
    int hits = 0;
    for (int run = 0; run < 60; run++) {
        sinew_obstacle *obstacle = parsed(shapes[run % 3]);
        double t[9], sampled = 0;
        for (int i = 0; i < 9; i++) t[i] = 2 * test_random(&seed);
        enum { GRID = 60 };
        for (int i = 0; i <= GRID; i++)
            for (int j = 0; i + j <= GRID; j++) {
                double b = (double)i / GRID, c = (double)j / GRID, p[3];
                for (int e = 0; e < 3; e++) p[e] = (1 - b - c) * t[e] + b * t[3 + e] + c * t[6 + e];
                sampled = fmax(sampled, -sinew_obstacle_distance(obstacle, p, NULL));
            }
        double depth = sinew_obstacle_triangle_depth(obstacle, t);
        assert_true(depth >= 0.95 * sampled - 0.01);
        assert_below(depth, sampled + 0.05);
        hits += depth > 0;
        sinew_obstacle_destroy(obstacle);
    }
    assert_true(hits > 15 && hits < 60);
    /* A tiny triangle near the top of a ball, whose deepest point is none of its corners. */
    sinew_obstacle *ball = parsed("sphere:0,0,0,1");
    double tiny[9] = {-1e-3, -1e-3, 0, 1.1e-3, -0.8e-3, 0, 0, 1.3e-3, 0};
    for (int c = 0; c < 3; c++) tiny[3 * c + 2] = 1 - 1e-6 + 0.3 * tiny[3 * c];
    double lowest = 0;
    for (int i = 0; i <= 400; i++)
        for (int j = 0; i + j <= 400; j++) {
            double p[3];
            for (int e = 0; e < 3; e++)
                p[e] = tiny[e] + (i * (tiny[3 + e] - tiny[e]) + j * (tiny[6 + e] - tiny[e])) / 400;
            lowest = fmax(lowest, -sinew_obstacle_distance(ball, p, NULL));
        }
    assert_close(sinew_obstacle_triangle_depth(ball, tiny), lowest, 1e-7);
    sinew_obstacle_destroy(ball);
    /* A needle through the middle of a large triangle. */
    sinew_obstacle *needle = parsed("capsule:0.1,0.05,-1,0.1,0.05,1,0.02");
    const double large[9] = {-1, -1, 0, 1, -1, 0, 0, 1, 0};
    assert_close(sinew_obstacle_triangle_depth(needle, large), 0.02, 0.002);
    const double beside[9] = {-1, -1, 0, 0.07, -1, 0, 0.07, 1, 0};
    assert_true(sinew_obstacle_triangle_depth(needle, beside) == 0);
    sinew_obstacle_destroy(needle);
}

static void depths_are_kept_where_nothing_changed(void **state) {
    (void)state;
    sinew_mesh *mesh = box_mesh();
    sinew_obstacle *floor = parsed("plane:0,0,-2.5,0,0,1");
    double vertex[8], triangle[12];
    bool skipped[8] = {true}, changed[8] = {false, true};
    for (int i = 0; i < 12; i++) vertex[i % 8] = triangle[i] = 7;
    sinew_obstacle_depths(floor, mesh, corners, NULL, NULL, vertex, triangle);
    for (int v = 0; v < 8; v++) assert_close(vertex[v], v < 4 ? 0.5 : 0, 1e-12);
    for (int t = 0; t < 12; t++) {
        bool low = false;
        for (int c = 0; c < 3; c++) low |= mesh->triangles[3 * t + c] < 4;
        assert_close(triangle[t], low ? 0.5 : 0, 0.01);
    }
    for (int i = 0; i < 12; i++) vertex[i % 8] = triangle[i] = 7;
    sinew_obstacle_depths(floor, mesh, corners, skipped, changed, vertex, triangle);
    for (int v = 0; v < 8; v++) assert_close(vertex[v], v == 1 ? 0.5 : 7, 1e-12);
    for (int t = 0; t < 12; t++) {
        const int *v = mesh->triangles + 3 * t;
        bool asked = v[0] != 0 && (v[0] == 1 || v[1] == 1 || v[2] == 1);
        assert_true((triangle[t] == 7) == !asked);
    }
    sinew_obstacle_destroy(floor);
    sinew_mesh_destroy(mesh);
}

/* A point goes where the obstacle goes: by its motion, and by the triangle that is nearest. */
static void attached_points_are_carried(void **state) {
    (void)state;
    sn_mat3 turn = sn_rotation_exp(sn_v3(0, 0, 1.5707963267948966));
    const double shift[3] = {10, 0, 0};
    sn_obstacle_anchor anchor;
    sinew_obstacle *ball = parsed("sphere:0,0,0,1");
    sn_obstacle_attach(ball, sn_v3(2, 0, 1), &anchor);
    sinew_obstacle_move(ball, (const double *)turn.m, shift);
    assert_below(sn_distance(sn_obstacle_carry(ball, &anchor), sn_v3(10, 2, 1)), 1e-12);
    sinew_obstacle_destroy(ball);

    sinew_obstacle *box = box_obstacle();
    const sn_vec3 above = {0.3, 0.5, 3.25};
    sn_obstacle_attach(box, above, &anchor);
    assert_true(anchor.triangle >= 0);
    assert_below(sn_distance(sn_obstacle_carry(box, &anchor), above), 1e-5);
    const sn_vec3 beyond[] = {{2, 3, 4}, {1.5, 2.25, 0}, {-3, 0.5, -4}}; /* a corner, two edges */
    for (int i = 0; i < 3; i++) {
        sn_obstacle_anchor off;
        sn_obstacle_attach(box, beyond[i], &off);
        assert_below(sn_distance(sn_obstacle_carry(box, &off), beyond[i]), 1e-5);
    }
    double raised[24]; /* the upper face goes up by 2 and stretches threefold in x */
    for (int i = 0; i < 24; i++)
        raised[i] = corners[i] * (i % 3 == 0 ? 3 : 1) + (i % 3 == 2 && i >= 12 ? 2 : 0);
    assert_ok(sinew_obstacle_set_positions(box, raised, &error));
    assert_below(sn_distance(sn_obstacle_carry(box, &anchor), sn_v3(0.9, 0.5, 5.25)), 1e-5);
    sinew_obstacle_move(box, (const double *)turn.m, shift);
    assert_below(sn_distance(sn_obstacle_carry(box, &anchor), sn_v3(9.5, 0.9, 5.25)), 1e-5);
    sinew_obstacle_destroy(box);
}

static const char *const wrong[][2] = {
    {"", "expected plane:, sphere:"},
    {"sphere", "expected plane:, sphere:"},
    {"ball:0,0,0,1", "expected plane:, sphere:"},
    {"s:0,0,0,1", "expected plane:, sphere:"},
    {"spheres:0,0,0,1", "expected plane:, sphere:"},
    {":0,0,0,1", "expected plane:, sphere:"},
    {"sphere:0,0,0", "expected sphere:x,y,z,r"},
    {"sphere:0,0,0,1,2", "expected sphere:x,y,z,r"},
    {"capsule:0,0,0,1,1,1,1,1", "expected capsule:"},
    {"sphere:0,0,0,0", "radius 0 must be above 0"},
    {"capsule:0,0,0,1,0,0,-1", "radius -1 must be above 0"},
    {"cylinder:0,0,0,1,0,0,0", "radius 0 must be above 0"},
    {"cylinder:1,1,1,1,1,1,1", "no length"},
    {"plane:0,0,0,0,0,0", "not zero"},
    {"box:0,0,0,1,0,1", "half side 0 must be above 0"},
};

static void wrong_shapes_are_explained(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sinew_obstacle *obstacle = NULL;
        assert_int_equal(sinew_obstacle_parse(wrong[i][0], &obstacle, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, wrong[i][1]) || obstacle)
            fail_msg("'%s': %s", wrong[i][0], error.message);
    }
    sinew_obstacle *obstacle;
    const double far[3] = {INFINITY, 0, 0}, here[3] = {0, 0, 0};
    assert_int_equal(sinew_obstacle_create_sphere(far, 1, &obstacle, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_obstacle_create_capsule(here, far, 1, &obstacle, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_obstacle_create_sphere(here, INFINITY, &obstacle, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_obstacle_create_plane(here, far, &obstacle, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_obstacle_create_plane(here, NULL, &obstacle, &error), SINEW_MISUSE);
    assert_int_equal(sinew_obstacle_create_plane(NULL, here, &obstacle, &error), SINEW_MISUSE);
    assert_int_equal(sinew_obstacle_create_box(here, NULL, &obstacle, &error), SINEW_MISUSE);
    assert_int_equal(sinew_obstacle_create_capsule(here, NULL, 1, &obstacle, &error), SINEW_MISUSE);
    assert_int_equal(sinew_obstacle_create_sphere(here, 1, NULL, &error), SINEW_MISUSE);
}

/* Of meshes without faces, area or inside, and of one with a coordinate that is not finite. */
static void meshes_without_an_inside_are_explained(void **state) {
    (void)state;
    const struct {
        double scale[3];
        const char *words;
    } meshes[] = {{{0, 0, 0}, "has no area"}, {{1, 1, 0}, "encloses nothing"}};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
        sinew_mesh *mesh = box_mesh();
        sinew_obstacle *obstacle = NULL;
        for (int k = 0; k < 24; k++) mesh->positions[k] *= meshes[i].scale[k % 3];
        assert_int_equal(sinew_obstacle_create_mesh(mesh, &obstacle, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, meshes[i].words));
        mesh->triangle_count = 0;
        assert_int_equal(sinew_obstacle_create_mesh(mesh, &obstacle, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, "no faces"));
        mesh->triangle_count = 12, mesh->positions[10] = NAN;
        assert_int_equal(sinew_obstacle_create_mesh(mesh, &obstacle, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, "vertex 3 of the obstacle mesh is not finite"));
        assert_null(obstacle);
        sinew_mesh_destroy(mesh);
    }
}

static sinew_status make_mesh_obstacle(void *user) {
    sinew_obstacle *obstacle = NULL;
    sinew_status status = sinew_obstacle_create_mesh(user, &obstacle, &error);
    if (status != SINEW_OK) assert_null(obstacle);
    sinew_obstacle_destroy(obstacle);
    return status;
}

static void obstacles_without_memory_are_reported(void **state) {
    (void)state;
    sinew_mesh *mesh = box_mesh();
    assert_true(test_out_of_memory(make_mesh_obstacle, mesh) > 4);
    sinew_mesh_destroy(mesh);
}

int test_obstacles(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_of_primitives_are_those_of_the_textbook),
        cmocka_unit_test(points_without_a_direction_get_a_unit_one),
        cmocka_unit_test(normals_are_gradients),
        cmocka_unit_test(a_moved_obstacle_answers_as_the_point_moved_back),
        cmocka_unit_test(a_mesh_of_a_box_has_the_distances_of_the_box),
        cmocka_unit_test(normals_of_a_mesh_are_interpolated),
        cmocka_unit_test(the_deepest_point_of_a_triangle_is_found),
        cmocka_unit_test(depths_are_kept_where_nothing_changed),
        cmocka_unit_test(attached_points_are_carried),
        cmocka_unit_test(wrong_shapes_are_explained),
        cmocka_unit_test(meshes_without_an_inside_are_explained),
        cmocka_unit_test(obstacles_without_memory_are_reported),
    };
    return cmocka_run_group_tests_name("obstacles", tests, NULL, NULL);
}
