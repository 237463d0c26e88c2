/* Skin over a round skull, and a target that moves it sideways along straight lines. */
#include "support.h"

#include "dome.h"
#include "groups.h"
#include "sinew/force.h"

enum { SIDE = 25, SHEET = SIDE * SIDE, COUNT = 2 * SHEET };
#define BONE 1.0 /* radius */
#define SKIN 1.1

/* A point of a sphere, 1.2 to each side of the top. */
static void put(double radius, double s, double t, double *p) {
    double x = 1.2 * s, y = 1.2 * t, far = sqrt(1 + x * x + y * y);
    p[0] = radius * x / far, p[1] = radius * y / far, p[2] = radius / far;
}

/* Vertices of the skin, then of the bone. The target turns the top of the skin by 60 degrees about
 * the y axis; `moves`: another one moves the bone. */
static sinew_rig *forehead(bool moves) {
    sinew_error error = {0};
    static double x[3 * COUNT], delta[3 * SHEET];
    static int triangles[12 * SHEET], vertices[SHEET];
    int faces = grid_triangles(2, SIDE, triangles);
    for (int v = 0; v < COUNT; v++)
        put(v < SHEET ? SKIN : BONE, 2.0 * (v % SIDE) / (SIDE - 1) - 1,
            2.0 * (v % SHEET / SIDE) / (SIDE - 1) - 1, x + 3 * v);
    for (int v = 0; v < SHEET; v++) {
        double s = 2.0 * (v % SIDE) / (SIDE - 1) - 1, t = 2.0 * (v / SIDE) / (SIDE - 1) - 1;
        double angle = M_PI / 3 * (1 - s * s) * (1 - s * s) * (1 - t * t) * (1 - t * t);
        const double *p = x + 3 * v;
        vertices[v] = v;
        delta[3 * v] = cos(angle) * p[0] + sin(angle) * p[2] - p[0];
        delta[3 * v + 1] = 0;
        delta[3 * v + 2] = cos(angle) * p[2] - sin(angle) * p[0] - p[2];
    }
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(COUNT, x, faces, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_target(rig, "slide", SHEET, vertices, delta, &error));
    if (moves) {
        for (int v = 0; v < SHEET; v++) vertices[v] = SHEET + v;
        assert_ok(sinew_rig_add_target(rig, "shatter", SHEET, vertices, delta, &error));
    }
    return rig;
}

static const int *bone_vertices(void) {
    static int bone[SHEET];
    for (int v = 0; v < SHEET; v++) bone[v] = SHEET + v;
    return bone;
}

static double length_of(const double *p) {
    return sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
}

static void skin_slides_over_the_skull_and_does_not_sink_in(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = forehead(false);
    static double x[2][3 * COUNT];
    double thinnest[2], angle[2];
    for (int with = 0; with < 2; with++) {
        sinew_force_options options;
        sinew_force_options_init(&options);
        if (with) options.skull = bone_vertices(), options.skull_count = SHEET;
        sinew_force *force;
        sinew_force_state *made;
        sinew_force_frame_info info = {.size = sizeof info};
        sinew_force_info built = {.size = sizeof built};
        assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force, &error));
        assert_ok(sinew_force_get_info(force, &built));
        assert_ok(sinew_force_state_create(force, &made, &error));
        thinnest[with] = INFINITY;
        for (int f = 0; f <= 30; f++) {
            double u = f / 60.0;
            assert_ok(sinew_force_command(force, made, &u, x[with], &info, NULL, &error));
            for (int v = 0; v < SHEET; v++)
                thinnest[with] = fmin(thinnest[with], length_of(x[with] + 3 * v) - BONE);
        }
        /* half way, the top has gone 30 degrees along the bone */
        const double *top = x[with] + 3 * (SHEET / 2);
        angle[with] = atan2(top[0], top[2]);
        assert_true(with ? built.over_skull > SHEET / 2 && info.slid > 20 : info.slid == 0);
        for (int i = 3 * SHEET; i < 3 * COUNT; i++)
            assert_float_equal(x[with][i], rig->neutral->positions[i], 1e-9);
        sinew_force_state_destroy(made);
        sinew_force_destroy(force);
    }
    assert_true(thinnest[0] < 0);                             /* the blend cuts through the bone */
    assert_true(thinnest[1] > 0.55 * (SKIN - BONE));          /* the facets of the sphere */
    assert_true(fabs(angle[1] - angle[0]) < 0.05 * angle[0]); /* free along it */
    sinew_rig_destroy(rig);
}

/* A skull that is modeled in part: skin that slides onto it over its rim is as thick there as the
 * skin above it, not as far from the bone as it was beside the rim. */
static void skin_slides_over_the_rim_of_a_skull(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = forehead(false);
    static double x[3 * COUNT];
    int half[SHEET], count = 0;
    for (int v = 0; v < SHEET; v++)
        if (v % SIDE >= SIDE / 2 + 1) half[count++] = SHEET + v; /* the side it moves to */
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.skull = half, options.skull_count = count;
    sinew_force *force;
    sinew_force_state *made;
    assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force, &error));
    assert_ok(sinew_force_state_create(force, &made, &error));
    double most = 0, least = INFINITY;
    for (int f = 0; f <= 30; f++) {
        double u = f / 60.0;
        assert_ok(sinew_force_command(force, made, &u, x, NULL, NULL, &error));
        for (int v = 0; v < SHEET; v++) {
            most = fmax(most, length_of(x + 3 * v) - BONE);
            if (x[3 * v] > 0.2) least = fmin(least, length_of(x + 3 * v) - BONE);
        }
    }
    assert_below(most, 1.05 * (SKIN - BONE));
    assert_true(least > 0.5 * (SKIN - BONE));
    sinew_force_state_destroy(made);
    sinew_force_destroy(force);
    sinew_rig_destroy(rig);
}

static void a_skull_that_moves_is_refused(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = forehead(true);
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.skull = bone_vertices(), options.skull_count = SHEET;
    sinew_force *force;
    assert_int_equal(sinew_force_create(rig, NULL, &options, NULL, &force, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "shatter"));
    const int one = 3, wrong = COUNT;
    options.skull = &one, options.skull_count = 1;
    assert_int_equal(sinew_force_create(rig, NULL, &options, NULL, &force, &error),
                     SINEW_BAD_INPUT);
    options.skull = &wrong;
    assert_int_equal(sinew_force_create(rig, NULL, &options, NULL, &force, &error),
                     SINEW_BAD_INPUT);
    sinew_rig_destroy(rig);
}

int test_skull(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skin_slides_over_the_skull_and_does_not_sink_in),
        cmocka_unit_test(skin_slides_over_the_rim_of_a_skull),
        cmocka_unit_test(a_skull_that_moves_is_refused),
    };
    return cmocka_run_group_tests_name("skull", tests, NULL, NULL);
}
