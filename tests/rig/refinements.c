/* Poses whose rotations do not fit together half-way, and growth without rotation: lengths come
 * close to those of the poses, and poses stay exact. */
#include "support.h"

#include "base/memory.h"
#include "base/vec3.h"
#include "groups.h"
#include "rig/rotation_structure.h"
#include "sinew/rotation.h"

enum { SIDE = 11 };

static sinew_error error;

static sinew_mesh *make_mesh(int vertex_count, int triangle_count, const double *positions,
                             const int *triangles) {
    sinew_mesh *mesh;
    assert_ok(
        sinew_mesh_create(vertex_count, positions, triangle_count, NULL, triangles, &mesh, &error));
    return mesh;
}

/* A square plate rolled up along x or y: a whole turn. */
static void roll(bool along_y, double *positions) {
    for (int i = 0; i < SIDE * SIDE; i++) {
        double x = (double)(i / SIDE) / (SIDE - 1), y = (double)(i % SIDE) / (SIDE - 1);
        double across = along_y ? y : x, radius = 1 / (2 * M_PI), angle = (across - 0.5) / radius;
        double round = 0.5 + radius * sin(angle), up = radius * (cos(angle) - 1);
        sn_put(positions, i, along_y ? sn_v3(x, round, up) : sn_v3(round, y, up));
    }
}

static int plate_triangles(int *triangles) {
    int count = 0;
    for (int i = 0; i + 1 < SIDE; i++)
        for (int j = 0; j + 1 < SIDE; j++) {
            int a = SIDE * i + j, b = a + SIDE;
            const int own[6] = {a, b, a + 1, b, b + 1, a + 1};
            for (int k = 0; k < 6; k++) triangles[3 * count + k] = own[k];
            count += 2;
        }
    return count;
}

/* Mean error of the edges against the mean of both shapes. */
static double edge_error(const sinew_mesh *mesh, const double *a, const double *b,
                         const double *x) {
    double sum = 0;
    for (int c = 0; c < 3 * mesh->triangle_count; c++) {
        int i = mesh->triangles[c], j = mesh->triangles[c % 3 == 2 ? c - 2 : c + 1];
        double wanted =
            0.5 * (sn_distance(sn_at(a, i), sn_at(a, j)) + sn_distance(sn_at(b, i), sn_at(b, j)));
        sum += fabs(sn_distance(sn_at(x, i), sn_at(x, j)) / wanted - 1);
    }
    return sum / (3 * mesh->triangle_count);
}

/* shape (or NULL): half-way, refined to the end. Errors half-way of the rotation-aware and of the
 * linear blend; poses are met. */
static void half_way(const sinew_mesh *mesh, const double *pose, double *own, double *linear,
                     double *unrefined, int *refinements, double *shape) {
    size_t n = 3 * (size_t)mesh->vertex_count;
    sinew_mesh *neutral;
    sinew_rig *rig;
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    double *x = SN_NEW(double, n), weight = 1;
    assert_ok(sinew_mesh_copy(mesh, &neutral, &error));
    assert_ok(sinew_rig_create(neutral, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "pose", pose, &error));
    assert_ok(sinew_rotation_create(rig, NULL, NULL, &rotation, &error));
    assert_ok(sinew_rotation_state_create(rotation, &state, &error));
    *refinements = rotation->refinements;
    sinew_rotation_evaluate(rotation, state, &weight, x);
    for (size_t k = 0; k < n; k++) assert_close(x[k], pose[k], 1e-9);
    weight = 0.5;
    sinew_rotation_evaluate(rotation, state, &weight, x);
    *own = edge_error(mesh, mesh->positions, pose, x);
    if (shape) {
        rotation->refinements = 30;
        sinew_rotation_evaluate(rotation, state, &weight, shape);
    }
    rotation->refinements = 0;
    sinew_rotation_evaluate(rotation, state, &weight, x);
    *unrefined = edge_error(mesh, mesh->positions, pose, x);
    for (size_t k = 0; k < n; k++) x[k] = 0.5 * (mesh->positions[k] + pose[k]);
    *linear = edge_error(mesh, mesh->positions, pose, x);
    sinew_rotation_state_destroy(state);
    sinew_rotation_destroy(rotation);
    sinew_rig_destroy(rig);
    sn_free(x);
}

/* Correlation of second differences along a border with the next ones: 1 on smooth curves, -1 on a
 * saw. */
static double smoothness(const double *x, int first, int step) {
    double sum = 0, squares = 0;
    sn_vec3 last = sn_v3(0, 0, 0);
    for (int k = 1; k + 1 < SIDE; k++) {
        int v = first + k * step;
        sn_vec3 bend =
            sn_sub(sn_add(sn_at(x, v - step), sn_at(x, v + step)), sn_scale(2, sn_at(x, v)));
        sum += sn_dot(last, bend);
        squares += sn_dot(bend, bend);
        last = bend;
    }
    return sum / squares;
}

static void rolls_that_cross_keep_their_lengths(void **state) {
    (void)state;
    double a[3 * SIDE * SIDE], b[3 * SIDE * SIDE], half[3 * SIDE * SIDE], own, linear, unrefined;
    int triangles[6 * SIDE * SIDE], count = plate_triangles(triangles), refinements;
    roll(false, a), roll(true, b);
    sinew_mesh *mesh = make_mesh(SIDE * SIDE, count, a, triangles);
    half_way(mesh, b, &own, &linear, &unrefined, &refinements, half);
    assert_below(own, 0.025); /* 10% with the rotations as they are asked for */
    assert_below(0.3, linear);
    assert_below(0, refinements);
    /* 0.53 to 0.61 and visible wrinkles when each triangle turns for itself */
    assert_below(0.62, smoothness(half, 0, 1));
    assert_below(0.62, smoothness(half, SIDE * (SIDE - 1), 1));
    assert_below(0.62, smoothness(half, 0, SIDE));
    assert_below(0.62, smoothness(half, SIDE - 1, SIDE));
    sinew_mesh_destroy(mesh);
}

static void rolling_up_needs_no_refinement(void **state) {
    (void)state;
    double a[3 * SIDE * SIDE], b[3 * SIDE * SIDE], own, linear, unrefined;
    int triangles[6 * SIDE * SIDE], count = plate_triangles(triangles), refinements;
    for (int i = 0; i < SIDE * SIDE; i++)
        sn_put(a, i, sn_v3((double)(i / SIDE) / (SIDE - 1), (double)(i % SIDE) / (SIDE - 1), 0));
    roll(true, b);
    sinew_mesh *mesh = make_mesh(SIDE * SIDE, count, a, triangles);
    half_way(mesh, b, &own, &linear, &unrefined, &refinements, NULL);
    assert_below(own, 1e-3);
    assert_int_equal(refinements, 0);
    sinew_mesh_destroy(mesh);
}

/* Plates with a bump that grow unevenly: strains turn their triangles a little. */
static void growth_is_never_worse_than_linear(void **state) {
    (void)state;
    double a[3 * SIDE * SIDE], b[3 * SIDE * SIDE], own, linear, unrefined;
    int triangles[6 * SIDE * SIDE], count = plate_triangles(triangles), refinements, lessened = 0;
    const double narrow[] = {4, 8, 24, 60};
    for (int width = 0; width < 4; width++)
        for (int amount = 0; amount <= 3; amount++)
            for (int up = 0; up < 2; up++) {
                for (int i = 0; i < SIDE * SIDE; i++) {
                    double x = (double)(i / SIDE) / (SIDE - 1) - 0.5;
                    double y = (double)(i % SIDE) / (SIDE - 1) - 0.5;
                    double bump = exp(-narrow[width] * (x * x + y * y));
                    double grown = 1 + amount * (0.3 + 0.4 * bump);
                    double height = 0.5 / sqrt(narrow[width]) * bump;
                    sn_put(a, i, sn_v3(x, y, height));
                    /* the bump alone, or all of the plate */
                    sn_put(b, i,
                           up ? sn_v3(x, y, (1 + 0.35 * amount) * height)
                              : sn_scale(grown, sn_at(a, i)));
                }
                sinew_mesh *mesh = make_mesh(SIDE * SIDE, count, a, triangles);
                half_way(mesh, b, &own, &linear, &unrefined, &refinements, NULL);
                assert_below(own, linear + 2e-5);
                lessened += unrefined > linear + 2e-5;
                sinew_mesh_destroy(mesh);
            }
    assert_below(3, lessened);
}

int test_refinements(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rolls_that_cross_keep_their_lengths),
        cmocka_unit_test(rolling_up_needs_no_refinement),
        cmocka_unit_test(growth_is_never_worse_than_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
