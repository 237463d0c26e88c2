#include "support.h"

#include "base/memory.h"
#include "base/rotation.h"
#include "groups.h"
#include "measure/near_pairs.h"
#include "sinew/measure.h"
#include "sinew/samples.h"

static sinew_error error;

/* A cube of 8 vertices and 6 quads, outside counter-clockwise, with one slider that makes it twice
 * as long in x. */
static const double cube[24] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0,
                                0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
static const int cube_start[7] = {0, 4, 8, 12, 16, 20, 24};
static const int cube_faces[24] = {0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4,
                                   2, 3, 7, 6, 1, 2, 6, 5, 0, 4, 7, 3};

static sinew_rig *cube_rig(void) {
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(8, cube, 6, cube_start, cube_faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    double longer[24];
    for (int i = 0; i < 24; i++) longer[i] = cube[i] * (i % 3 == 0 ? 2 : 1);
    assert_ok(sinew_rig_add_pose(rig, "long", longer, &error));
    return rig;
}

static sinew_distortion measured(const sinew_rig *rig, const double *weights,
                                 const double *positions) {
    sinew_measure *measure;
    sinew_distortion d = {.size = sizeof d};
    assert_ok(sinew_measure_create(rig, &measure, &error));
    assert_ok(sinew_measure_frame(measure, weights, positions, true, &d, &error));
    sinew_measure_destroy(measure);
    return d;
}

/* All of it in one place: there is nothing to compare with, and no figure is lost in a division. */
static void a_shape_without_extent_has_finite_figures(void **state) {
    (void)state;
    const double point[24] = {0};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(8, point, 6, cube_start, cube_faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "cube", cube, &error));
    double below[24];
    for (int i = 0; i < 24; i++) below[i] = -cube[i];
    const double *const shapes[] = {point, cube, below};
    for (int k = 0; k < 3; k++) {
        double weight = k == 1;
        sinew_distortion d = measured(rig, &weight, shapes[k]);
        const double figures[] = {d.edge.mean, d.edge.max,      d.area.mean,
                                  d.area.max,  d.dihedral.mean, d.dihedral.max,
                                  d.below[0],  d.below[1],      d.below[2]};
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            assert_true(isfinite(figures[i]) && figures[i] >= 0);
        for (int axis = 0; axis < 3; axis++) assert_close(d.below[axis], 0, 0);
        assert_int_equal(d.flipped, 0);
    }
    sinew_rig_destroy(rig);
}

static void a_turned_pose_has_no_distortion(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    sn_mat3 turn = sn_rotation_exp(sn_v3(0.4, -1.1, 2.2));
    double positions[24], weight = 1;
    for (int v = 0; v < 8; v++) {
        sn_vec3 p = sn_at(cube, v);
        p.x *= 2;
        sn_put(positions, v, sn_add(sn_mat3_apply(turn, p), sn_v3(5, 6, 7)));
    }
    sinew_distortion d = measured(rig, &weight, positions);
    assert_below(d.edge.max, 1e-14);
    assert_below(d.area.max, 1e-14);
    assert_below(d.dihedral.max, 1e-6);
    assert_close(d.volume, 0, 1e-13);
    assert_int_equal(d.flipped, 0);
    assert_int_equal(d.intersections, 0);
    sinew_rig_destroy(rig);
}

static void the_figures_are_those_of_the_formula(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    /* At weight 1/2 the cube should be 1.5 long, with a volume of 1.5: the neutral is not. Of 12
     * edges, 4 are 1/1.5 of what they should be. */
    double weight = 0.5;
    sinew_distortion d = measured(rig, &weight, cube);
    assert_close(d.edge.mean, 4.0 / 12 * (1 - 1 / 1.5), 1e-14);
    assert_close(d.edge.max, 1 - 1 / 1.5, 1e-14);
    assert_close(d.edge.p95, 1 - 1 / 1.5, 1e-14);
    assert_close(d.area.mean, 8.0 / 12 * (1 - 1 / 1.5), 1e-14);
    assert_close(d.volume, 1 / 1.5 - 1, 1e-14);
    assert_close(d.dihedral.max, 0, 1e-9);
    sinew_rig_destroy(rig);
}

static void weights_beyond_one_extrapolate(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    double positions[24], weight = 2;
    for (int i = 0; i < 24; i++) positions[i] = cube[i] * (i % 3 == 0 ? 3 : 1);
    assert_below(measured(rig, &weight, positions).edge.max, 1e-14);
    sinew_rig_destroy(rig);
}

static void a_corner_pushed_through_is_flipped_and_intersects(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    double positions[24], weight = 0;
    memcpy(positions, cube, sizeof cube);
    positions[18] = positions[19] = positions[20] = -0.5; /* vertex 6, out beyond vertex 0 */
    sinew_distortion d = measured(rig, &weight, positions);
    assert_true(d.intersections > 0);
    assert_true(d.dihedral.max > 90);
    assert_true(d.flipped > 0);
    sinew_rig_destroy(rig);
}

/* A triangle with a neighbor at each edge, all flat; the neighbors fold up. The triangle in the
 * middle is folded along all its edges, the others along one. */
static void a_triangle_folded_along_two_edges_is_flipped(void **state) {
    (void)state;
    const double middle[9] = {0, 0, 0, 2, 0, 0, 1, 1.5, 0};
    for (int first = 0; first < 4; first++) { /* whichever triangle is listed first */
        double flat[18], folded[18], weight = 0;
        memcpy(flat, middle, sizeof middle), memcpy(folded, middle, sizeof middle);
        int faces[12], start[5] = {0, 3, 6, 9, 12};
        for (int e = 0; e < 3; e++) {
            sn_vec3 a = sn_at(middle, e), b = sn_at(middle, (e + 1) % 3);
            sn_vec3 center = sn_scale(0.5, sn_add(a, b));
            sn_vec3 out = sn_normalize(sn_cross(sn_sub(b, a), sn_v3(0, 0, 1)));
            double angle = 2 * 3.14159265358979 / 3;
            sn_put(flat, 3 + e, sn_add(center, out));
            sn_put(folded, 3 + e,
                   sn_add(center, sn_add(sn_scale(cos(angle), out), sn_v3(0, 0, sin(angle)))));
            int *face = faces + 3 * ((e + 1 + first) % 4);
            face[0] = (e + 1) % 3, face[1] = e, face[2] = 3 + e;
        }
        for (int i = 0; i < 3; i++) faces[3 * first + i] = i;
        sinew_mesh *mesh;
        sinew_rig *rig;
        assert_ok(sinew_mesh_create(6, flat, 4, start, faces, &mesh, &error));
        assert_ok(sinew_rig_create(mesh, &rig, &error));
        assert_ok(sinew_rig_add_pose(rig, "folded", folded, &error));
        sinew_distortion d = measured(rig, &weight, folded);
        assert_int_equal(d.flipped, 1);
        assert_close(d.dihedral.mean, 120, 1e-6);
        assert_close(d.dihedral.max, 120, 1e-6);
        weight = 1;
        assert_int_equal(measured(rig, &weight, folded).flipped, 0);
        sinew_rig_destroy(rig);
    }
}

/* Two triangles; a corner of the second lies above each corner of the first in turn. */
static void a_vertex_is_paired_with_the_nearest_corner(void **state) {
    (void)state;
    for (int corner = 0; corner < 3; corner++) {
        double positions[18] = {0, 0, 0, 4, 0, 0, 0, 4, 0};
        sn_vec3 above = sn_add(sn_at(positions, corner), sn_v3(0.1, 0.1, 0.5));
        sn_put(positions, 3, above);
        sn_put(positions, 4, sn_add(above, sn_v3(4, 0, 20)));
        sn_put(positions, 5, sn_add(above, sn_v3(0, 4, 20)));
        const int start[3] = {0, 3, 6}, faces[6] = {0, 1, 2, 3, 4, 5};
        sinew_mesh *mesh;
        sinew_rig *rig;
        assert_ok(sinew_mesh_create(6, positions, 2, start, faces, &mesh, &error));
        assert_ok(sinew_rig_create(mesh, &rig, &error));
        sn_near_pairs pairs;
        assert_ok(sn_near_pairs_create(rig, 1, &pairs, &error));
        assert_true(pairs.count >= 1);
        double between = sqrt(0.1 * 0.1 + 0.1 * 0.1 + 0.5 * 0.5);
        for (int k = 0; k < pairs.count; k++) {
            const int *pair = pairs.vertices + 2 * k;
            assert_true((pair[0] == 3 && pair[1] == corner) || (pair[0] == corner && pair[1] == 3));
            assert_close(pairs.longest[k], between, 1e-12);
        }
        positions[3 * 3 + 2] += 3;
        double apart = sqrt(0.1 * 0.1 + 0.1 * 0.1 + 3.5 * 3.5);
        assert_close(sn_near_pairs_drift(&pairs, positions), apart - between, 1e-12);
        sn_near_pairs_free(&pairs);
        sinew_rig_destroy(rig);
    }
}

static void every_sculpted_shape_measures_zero(void **state) {
    (void)state;
    /* Two plain targets, an in-between and a combination, all of random displacements. */
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(8, cube, 6, cube_start, cube_faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    int vertices[8] = {0, 1, 2, 3, 4, 5, 6, 7}, drivers[2] = {0, 1};
    double deltas[4][24];
    uint64_t seed = 5;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 24; i++) deltas[k][i] = 0.3 * test_random(&seed);
    assert_ok(sinew_rig_add_target(rig, "a", 8, vertices, deltas[0], &error));
    assert_ok(sinew_rig_add_target(rig, "b", 8, vertices, deltas[1], &error));
    assert_ok(sinew_rig_add_inbetween(rig, "a_half", 0, 0.5, 8, vertices, deltas[2], &error));
    assert_ok(sinew_rig_add_combination(rig, "ab", SINEW_COMBINE_MULTIPLY, 2, drivers, 8, vertices,
                                        deltas[3], &error));
    sinew_linear *linear;
    assert_ok(sinew_linear_create(rig, &linear, &error));
    const double corners[][2] = {{0, 0}, {1, 0}, {0.5, 0}, {0, 1}, {1, 1}};
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) {
        double positions[24];
        sinew_linear_evaluate(linear, corners[i], positions);
        sinew_distortion d = measured(rig, corners[i], positions);
        /* The evaluation keeps displacements in single precision. */
        assert_below(d.edge.max, 1e-6);
        assert_below(d.area.max, 1e-6);
        assert_below(d.dihedral.max, 1e-4);
        assert_close(d.volume, 0, 1e-6);
    }
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
}

static void linear_blending_of_a_bent_bar_is_distorted(void **state) {
    (void)state;
    sinew_rig *rig;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    sinew_linear *linear;
    assert_ok(sinew_linear_create(rig, &linear, &error));
    int n = rig->neutral->vertex_count;
    sinew_frames frames = {n, 3, 0, 30, SN_NEW(float, 9 * (size_t)n)};
    double *positions = SN_NEW(double, 3 * (size_t)n);
    double *weights = SN_NEW0(double, rig->slider_count);
    for (int k = 0; k < 3; k++) {
        weights[0] = 0.5 * k;
        sinew_linear_evaluate(linear, weights, positions);
        for (int i = 0; i < 3 * n; i++)
            frames.positions[(size_t)(3 * n) * (size_t)k + (size_t)i] = (float)positions[i];
    }
    sinew_distortion d[3] = {{.size = sizeof *d}};
    assert_ok(sinew_measure_frames(rig, &frames, NULL, false, d, NULL, &error));
    assert_below(d[0].edge.max, 1e-4);
    assert_true(d[1].edge.mean > 0.02 && d[1].volume < -0.02);
    assert_below(d[2].edge.max, 1e-4);
    assert_int_equal(d[1].intersections, -1);
    sn_free(weights);
    sn_free(positions);
    sn_free(frames.positions);
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
}

static void values_that_are_not_finite_are_bad_input_by_vertex(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    sinew_measure *measure;
    sinew_distortion d = {.size = sizeof d};
    assert_ok(sinew_measure_create(rig, &measure, &error));
    double positions[24], weight = 0;
    memcpy(positions, cube, sizeof cube);
    positions[10] = NAN;
    assert_int_equal(sinew_measure_frame(measure, &weight, positions, false, &d, &error),
                     SINEW_BAD_INPUT);
    assert_string_equal(error.message, "vertex 3 is not finite");
    sinew_measure_destroy(measure);
    sinew_rig_destroy(rig);
}

static void an_open_surface_has_no_volume(void **state) {
    (void)state;
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(8, cube, 5, cube_start, cube_faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_true(isnan(measured(rig, cube, cube).volume));
    sinew_rig_destroy(rig);
    int tets[8] = {0, 1, 2, 4, 0, 2, 1, 4};
    assert_int_equal(sinew_count_inverted(2, tets, cube), 1);
}

static void the_volume_is_positive_when_faces_point_outward(void **state) {
    (void)state;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(8, cube, 6, cube_start, cube_faces, &mesh, &error));
    int reversed[36];
    double moved[24];
    for (int i = 0; i < 36; i++) reversed[i] = mesh->triangles[i / 3 * 3 + 2 - i % 3];
    for (int i = 0; i < 24; i++) moved[i] = 3 * cube[i] - 50;
    assert_close(sinew_volume(12, mesh->triangles, cube), 1, 1e-15);
    assert_close(sinew_volume(12, mesh->triangles, moved), 27, 1e-12);
    assert_close(sinew_volume(12, reversed, cube), -1, 1e-15);
    assert_close(sinew_volume(0, reversed, cube), 0, 0);
    sinew_mesh_destroy(mesh);
}

/* Without curves, the first slider goes from its rest to 1, and the others rest. */
static void frames_without_curves_go_from_rest_to_one(void **state) {
    (void)state;
    enum { FRAMES = 3 };
    sinew_rig *rig = cube_rig();
    double higher[24];
    for (int i = 0; i < 24; i++) higher[i] = cube[i] * (i % 3 == 1 ? 3 : 1);
    assert_ok(sinew_rig_add_pose(rig, "high", higher, &error));
    rig->sliders[0].rest = 0.2, rig->sliders[1].rest = 0.5;
    float positions[FRAMES * 24];
    for (int k = 0; k < FRAMES; k++)
        for (int i = 0; i < 24; i++)
            positions[24 * k + i] = (float)(cube[i] * (i % 3 == 0 ? 1 + 0.5 * k : 1));
    sinew_frames frames = {8, FRAMES, 0, 24, positions};
    sinew_distortion d[FRAMES] = {{.size = sizeof *d}};
    assert_ok(sinew_measure_frames(rig, &frames, NULL, false, d, NULL, &error));
    for (int k = 0; k < FRAMES; k++) assert_below(d[k].edge.max, 1e-6);
    frames.frame_count = 1;
    assert_ok(sinew_measure_frames(rig, &frames, NULL, false, d, NULL, &error));
    assert_below(d[0].edge.max, 1e-6);
    sinew_rig_destroy(rig);
}

static void a_frame_without_an_input_is_misuse(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    sinew_measure *measure;
    double weight = 0;
    sinew_distortion d = {.size = sizeof d}, old = {.size = 0};
    assert_int_equal(sinew_measure_create(NULL, &measure, &error), SINEW_MISUSE);
    assert_int_equal(sinew_measure_create(rig, NULL, &error), SINEW_MISUSE);
    assert_ok(sinew_measure_create(rig, &measure, &error));
    const struct {
        sinew_measure *measure;
        const double *weights, *positions;
        sinew_distortion *distortion;
    } cases[] = {{NULL, &weight, cube, &d},
                 {measure, NULL, cube, &d},
                 {measure, &weight, NULL, &d},
                 {measure, &weight, cube, NULL},
                 {measure, &weight, cube, &old}};
    for (int i = 0; i < 5; i++)
        assert_int_equal(sinew_measure_frame(cases[i].measure, cases[i].weights, cases[i].positions,
                                             false, cases[i].distortion, &error),
                         SINEW_MISUSE);
    sinew_measure_destroy(measure);
    sinew_rig_destroy(rig);
}

/* Two cubes, the second `gap` beside the first; the pose lifts both and widens the gap. */
static sinew_rig *two_cubes(double gap, double wider) {
    sinew_mesh *mesh;
    sinew_rig *rig;
    double positions[48], posed[48];
    int faces[48], start[13];
    for (int i = 0; i < 24; i++) {
        positions[i] = cube[i], positions[24 + i] = cube[i] + (i % 3 == 0 ? 1 + gap : 0);
        faces[i] = cube_faces[i], faces[24 + i] = cube_faces[i] + 8;
    }
    for (int f = 0; f <= 12; f++) start[f] = 4 * f;
    for (int i = 0; i < 48; i++)
        posed[i] = positions[i] + (i % 3 == 1 ? 0.5 : i % 3 == 0 && i >= 24 ? wider : 0);
    assert_ok(sinew_mesh_create(16, positions, 12, start, faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "up", posed, &error));
    return rig;
}

static void drift_is_what_neighboring_parts_gain_over_all_poses(void **state) {
    (void)state;
    sinew_rig *rig = two_cubes(0.01, 0.02);
    double positions[48], weight = 0.5;
    const double diagonal = sqrt(2.01 * 2.01 + 2);
    for (int i = 0; i < 48; i++)
        positions[i] = rig->neutral->positions[i] + (i % 3 == 0 && i >= 24 ? 0.3 : 0);
    /* 0.31 apart; 0.03 in the pose */
    assert_close(measured(rig, &weight, positions).drift, (0.31 - 0.03) / diagonal, 1e-12);
    assert_close(measured(rig, &weight, rig->neutral->positions).drift, 0, 1e-12);
    sinew_rig_destroy(rig);

    rig = two_cubes(0.01, 0.5); /* not neighbors in the pose */
    assert_true(isnan(measured(rig, &weight, positions).drift));
    sinew_rig_destroy(rig);
    rig = cube_rig();
    assert_true(isnan(measured(rig, &weight, rig->neutral->positions).drift));
    sinew_rig_destroy(rig);
}

static void depth_is_below_the_lowest_point_of_the_poses(void **state) {
    (void)state;
    sinew_rig *rig = two_cubes(0.01, 0.02);
    double positions[48], weight = 0.5;
    const double diagonal = sqrt(2.01 * 2.01 + 2);
    memcpy(positions, rig->neutral->positions, sizeof positions);
    positions[1] = -0.25, positions[5] = 1.5;
    sinew_distortion d = measured(rig, &weight, positions);
    assert_close(d.below[1], 0.25 / diagonal, 1e-12);
    assert_true(d.below[0] == 0 && d.below[2] == 0);
    sinew_rig_destroy(rig);
}

/* A corner of the cube goes in far and comes back: its edges pop both times, and only then. */
static void edges_pop_when_their_angle_jumps_between_frames(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    sinew_measure *measure;
    double positions[24], weight = 0;
    const double depth[] = {0, 0.01, 0.8, 0.8, 0.01, 0};
    assert_ok(sinew_measure_create(rig, &measure, &error));
    for (int k = 0; k < 6; k++) {
        sinew_distortion d = {.size = sizeof d};
        memcpy(positions, cube, sizeof positions);
        for (int axis = 0; axis < 3; axis++) positions[18 + axis] -= depth[k];
        assert_ok(sinew_measure_frame(measure, &weight, positions, false, &d, &error));
        assert_true(k == 2 || k == 4 ? d.pops >= 3 : d.pops == 0);
    }
    sinew_measure_destroy(measure);
    sinew_rig_destroy(rig);
}

/* Frames that are exactly the pose of the curves at their times measure zero; the times begin at
 * `start`. */
static void frames_have_the_weights_of_the_curves_at_their_times(void **state) {
    (void)state;
    enum { FRAMES = 4 };
    sinew_rig *rig = cube_rig();
    sinew_curves *curves;
    assert_ok(sinew_curves_create(2, 2, &curves, &error));
    assert_ok(sinew_curves_set_name(curves, 0, "unknown", &error));
    assert_ok(sinew_curves_set_name(curves, 1, "long", &error));
    curves->times[0] = 0, curves->times[1] = 10;
    curves->values[0] = curves->values[2] = 7; /* no such slider */
    curves->values[1] = 0, curves->values[3] = 1;
    float positions[FRAMES * 24];
    const double rates[] = {0, 0.5};
    for (int r = 0; r < 2; r++) {
        sinew_frames frames = {8, FRAMES, 2, rates[r], positions};
        sinew_distortion d[FRAMES] = {{.size = sizeof *d}};
        for (int k = 0; k < FRAMES; k++) {
            double weight = 0.1 * (2 + (r > 0 ? k / rates[r] : 0));
            for (int i = 0; i < 24; i++)
                positions[24 * k + i] = (float)(cube[i] * (i % 3 == 0 ? 1 + weight : 1));
        }
        assert_ok(sinew_measure_frames(rig, &frames, curves, true, d, NULL, &error));
        for (int k = 0; k < FRAMES; k++) {
            assert_below(d[k].edge.max, 1e-6);
            assert_int_equal(d[k].intersections, 0);
        }
        /* Twice as long as it should be is seen. */
        for (int i = 0; i < 24; i += 3) positions[24 + i] *= 2;
        assert_ok(sinew_measure_frames(rig, &frames, curves, false, d, NULL, &error));
        assert_close(d[1].edge.max, 1, 1e-6);
        positions[24 * 2 + 5] = NAN;
        assert_int_equal(sinew_measure_frames(rig, &frames, curves, false, d, NULL, &error),
                         SINEW_BAD_INPUT);
        assert_string_equal(error.message, "frame 2: vertex 1 is not finite");
    }
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

static void frames_of_another_mesh_are_bad_input(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    float positions[21] = {0};
    sinew_frames frames = {7, 1, 0, 30, positions};
    sinew_distortion d = {.size = sizeof d};
    assert_int_equal(sinew_measure_frames(rig, &frames, NULL, false, &d, NULL, &error),
                     SINEW_BAD_INPUT);
    assert_string_equal(error.message, "the frames have 7 vertices, the poses 8");
    sinew_rig_destroy(rig);
}

/* A heat map: the mean over the three edges at each corner of the cube. */
static void vertices_have_the_mean_difference_of_their_edges(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    sinew_measure *measure;
    sinew_distortion d = {.size = sizeof d};
    double positions[24], weight = 0, values[8];
    memcpy(positions, cube, sizeof cube);
    positions[20] = 3; /* vertex 6 at (1, 1, 3): edge to 2 is 3, edges to 5 and 7 are sqrt 5 */
    assert_ok(sinew_measure_create(rig, &measure, &error));
    assert_ok(sinew_measure_frame(measure, &weight, positions, false, &d, &error));
    sinew_measure_vertices(measure, values);
    double slanted = sqrt(5) - 1;
    assert_close(values[6], (2 + 2 * slanted) / 3, 1e-14);
    assert_close(values[2], 2.0 / 3, 1e-14);
    assert_close(values[5], slanted / 3, 1e-14);
    assert_close(values[7], slanted / 3, 1e-14);
    for (int v = 0; v < 5; v++) assert_true(v == 2 || values[v] == 0);
    sinew_measure_destroy(measure);
    sinew_rig_destroy(rig);
}

/* Without an edge between two triangles there is no angle to differ. */
static void a_single_triangle_has_no_angles(void **state) {
    (void)state;
    const int corners[3] = {0, 1, 2};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(3, cube, 1, NULL, corners, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    sinew_distortion d = measured(rig, cube, cube);
    assert_true(d.dihedral.mean == 0 && d.dihedral.p95 == 0 && d.dihedral.max == 0);
    sinew_rig_destroy(rig);
}

static void flat_and_reversed_tetrahedra_are_inverted(void **state) {
    (void)state;
    const int tets[12] = {0, 1, 2, 4, 0, 2, 1, 4, 0, 1, 2, 3}; /* the last one is flat */
    assert_int_equal(sinew_count_inverted(1, tets, cube) + sinew_count_inverted(1, tets + 4, cube),
                     1);
    assert_int_equal(sinew_count_inverted(1, tets + 8, cube), 1);
}

typedef struct measured_frames {
    const sinew_rig *rig;
    const sinew_frames *frames;
    const sinew_curves *curves;
} measured_frames;

static sinew_status measure_frames(void *user) {
    const measured_frames *m = user;
    sinew_distortion d = {.size = sizeof d};
    return sinew_measure_frames(m->rig, m->frames, m->curves, true, &d, NULL, &error);
}

static void a_cache_without_memory_is_reported(void **state) {
    (void)state;
    sinew_rig *rig = two_cubes(0.01, 0.02);
    sinew_curves *curves;
    assert_ok(sinew_curves_create(1, 1, &curves, &error));
    assert_ok(sinew_curves_set_name(curves, 0, "up", &error));
    float positions[48];
    for (int i = 0; i < 48; i++) positions[i] = (float)rig->neutral->positions[i];
    sinew_frames frames = {16, 1, 0, 30, positions};
    measured_frames all = {rig, &frames, curves};
    assert_true(test_out_of_memory(measure_frames, &all) > 10);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    sinew_status status = SINEW_NO_MEMORY;
    long limit = 0;
    for (; status == SINEW_NO_MEMORY && limit < 1000; limit++) {
        test_memory_limit(limit);
        sinew_measure *measure = NULL;
        status = sinew_measure_create(rig, &measure, &error);
        sinew_measure_destroy(measure);
        assert_int_equal(test_memory_restore().living, 0);
    }
    assert_int_equal(status, SINEW_OK);
    assert_true(limit > 10);
    sinew_rig_destroy(rig);
}

static sinew_status create_only(void *user) {
    sinew_error out;
    sinew_measure *measure = NULL;
    sinew_status status = sinew_measure_create(user, &measure, &out);
    sinew_measure_destroy(measure);
    return status;
}

/* Of a rig that exists, so that each of its few allocations also fails alone. */
static void a_measure_without_memory_is_reported(void **state) {
    (void)state;
    sinew_rig *rig = cube_rig();
    double wider[24];
    for (int i = 0; i < 24; i++) wider[i] = cube[i] * (i % 3 == 1 ? 2 : 1);
    assert_ok(sinew_rig_add_pose(rig, "wide", wider, &error));
    const int drivers[2] = {0, 1}, vertex = 6;
    const double delta[3] = {0.1, 0, 0};
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_MULTIPLY, 2, drivers, 1, &vertex,
                                        delta, &error));
    assert_in_range(test_out_of_memory(create_only, rig), 10, 120);
    sinew_rig_destroy(rig);
}

int test_distortion(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_without_extent_has_finite_figures),
        cmocka_unit_test(a_turned_pose_has_no_distortion),
        cmocka_unit_test(the_figures_are_those_of_the_formula),
        cmocka_unit_test(weights_beyond_one_extrapolate),
        cmocka_unit_test(a_corner_pushed_through_is_flipped_and_intersects),
        cmocka_unit_test(a_triangle_folded_along_two_edges_is_flipped),
        cmocka_unit_test(a_vertex_is_paired_with_the_nearest_corner),
        cmocka_unit_test(every_sculpted_shape_measures_zero),
        cmocka_unit_test(linear_blending_of_a_bent_bar_is_distorted),
        cmocka_unit_test(values_that_are_not_finite_are_bad_input_by_vertex),
        cmocka_unit_test(an_open_surface_has_no_volume),
        cmocka_unit_test(the_volume_is_positive_when_faces_point_outward),
        cmocka_unit_test(frames_without_curves_go_from_rest_to_one),
        cmocka_unit_test(a_frame_without_an_input_is_misuse),
        cmocka_unit_test(drift_is_what_neighboring_parts_gain_over_all_poses),
        cmocka_unit_test(depth_is_below_the_lowest_point_of_the_poses),
        cmocka_unit_test(edges_pop_when_their_angle_jumps_between_frames),
        cmocka_unit_test(frames_have_the_weights_of_the_curves_at_their_times),
        cmocka_unit_test(frames_of_another_mesh_are_bad_input),
        cmocka_unit_test(vertices_have_the_mean_difference_of_their_edges),
        cmocka_unit_test(a_single_triangle_has_no_angles),
        cmocka_unit_test(flat_and_reversed_tetrahedra_are_inverted),
        cmocka_unit_test(a_cache_without_memory_is_reported),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(a_measure_without_memory_is_reported),
    };
    return cmocka_run_group_tests_name("distortion", tests, NULL, NULL);
}
