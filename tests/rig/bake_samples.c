/* The poses that a bake learns from: which sliders share a pose, and how far they go. */
#include "groups.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "rig/bake_samples.h"
#include "support.h"

#include "sinew/bake.h"

static sinew_error error;

/* A strip of vertices, and no sliders yet. */
static sinew_rig *strip(int vertices) {
    double *points = calloc(3 * (size_t)vertices, sizeof *points);
    int *faces = calloc(3 * (size_t)vertices, sizeof *faces);
    sinew_mesh *mesh;
    sinew_rig *rig;
    for (int v = 0; v < vertices; v++) points[3 * v] = v, points[3 * v + 1] = v % 2;
    for (int k = 0; k < 3 * (vertices - 2); k++) faces[k] = k / 3 + k % 3;
    assert_ok(sinew_mesh_create(vertices, points, vertices - 2, NULL, faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    free(points), free(faces);
    return rig;
}

/* A slider that moves the vertices from `first` on, all by x along x and z along z. */
static void add(sinew_rig *rig, const char *name, int first, int count, double x, double z) {
    int vertices[8];
    double deltas[24] = {0};
    assert_true(count <= 8);
    for (int k = 0; k < count; k++) {
        vertices[k] = first + k;
        deltas[3 * k] = x, deltas[3 * k + 2] = z;
    }
    assert_ok(sinew_rig_add_target(rig, name, count, vertices, deltas, &error));
}

/* |a| = 2 on vertices 0 to 3, |b| = 1 on 2 to 5, |c| = 3 on 5 and 6. */
static void pairs_are_ordered_by_what_they_share(void **state) {
    (void)state;
    sinew_rig *rig = strip(8);
    sn_slider_pair *pairs;
    int count;
    add(rig, "c", 5, 2, 3, 0), add(rig, "a", 0, 4, 0, 2), add(rig, "b", 2, 4, 0.6, 0.8);
    add(rig, "alone", 7, 1, 1, 0);
    assert_ok(sn_bake_pairs(rig, &pairs, &count, &error));
    assert_int_equal(count, 2);
    assert_int_equal(pairs[0].a, 1);
    assert_int_equal(pairs[0].b, 2);
    assert_close(pairs[0].overlap, 2 * 2 * 1, 1e-12);
    assert_int_equal(pairs[1].a, 0);
    assert_close(pairs[1].overlap, 3, 1e-12);
    /* of a limb, the skin that they share counts: cosines of 0.8 and 0.6 */
    assert_true(pairs[0].alike && pairs[1].alike);
    sn_free(pairs);
    sinew_rig_destroy(rig);
}

/* The cosine on the shared skin is 0.9 or 0.4 in the first case; in the second it is 1 on the one
 * of three vertices that they share, and a third over all. */
static void alternatives_of_a_face_are_alike_as_a_whole(void **state) {
    (void)state;
    for (int face = 0; face < 2; face++) {
        sinew_rig *rig = strip(40);
        sn_slider_pair *pairs;
        int count;
        add(rig, "a", 0, 3, 0, 1), add(rig, "near", 0, 3, 0.436, 0.9);
        add(rig, "far", 10, 3, 0, 1), add(rig, "other", 10, 3, 0.917, 0.4);
        add(rig, "part", 20, 3, 0, 1), add(rig, "rest", 22, 3, 0, 1);
        for (int s = 6; face && s <= SN_BAKE_MANY_SLIDERS; s++) {
            char name[8];
            snprintf(name, sizeof name, "s%d", s);
            add(rig, name, 30, 0, 0, 0);
        }
        assert_ok(sn_bake_pairs(rig, &pairs, &count, &error));
        assert_int_equal(count, 3);
        for (int i = 0; i < count; i++)
            assert_true(pairs[i].alike == (pairs[i].a == 0 || (pairs[i].a == 4 && !face)));
        sn_free(pairs);
        sinew_rig_destroy(rig);
    }
}

/* Two to four sliders, all of them different; alternatives share the weight of one. */
static void poses_move_two_to_four_sliders(void **state) {
    (void)state;
    enum { SLIDERS = 6, ROWS = 300 };
    sinew_rig *rig = strip(8);
    double *rows = malloc(sizeof(double) * SLIDERS * ROWS), both = 0, apart = 0;
    int active[SLIDERS + 1] = {0};
    for (int s = 0; s < SLIDERS; s++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", s);
        add(rig, name, 0, 4, cos(s < 2 ? 0 : s), sin(s < 2 ? 0 : s)); /* 0 and 1 are the same */
    }
    assert_ok(sinew_bake_poses(rig, 4, ROWS, rows, &error));
    for (int k = 0; k < ROWS; k++) {
        const double *row = rows + SLIDERS * k;
        int moved = 0;
        for (int s = 0; s < SLIDERS; s++) moved += row[s] > 0;
        active[moved]++;
        both = fmax(both, row[0] + row[1]), apart = fmax(apart, row[2] + row[4]);
    }
    assert_int_equal(active[2] + active[3] + active[4], ROWS);
    for (int n = 2; n <= 4; n++) assert_in_range(active[n], ROWS / 4, ROWS / 2);
    assert_true(both <= 1 + 1e-12 && both > 0.9);
    assert_true(apart > 1.5);
    double *others = malloc(sizeof(double) * SLIDERS * ROWS);
    assert_ok(sinew_bake_poses(rig, 5, ROWS, others, &error));
    assert_memory_not_equal(rows, others, sizeof(double) * SLIDERS);
    free(rows), free(others);
    sinew_rig_destroy(rig);
}

/* A face: fourteen pairs of a left and a right slider, two that do the same, and two that do not.
 */
static void expressions_move_both_sides_together(void **state) {
    (void)state;
    enum { PAIRS = 14, SLIDERS = 2 * PAIRS + 4, ROWS = 300 };
    sinew_rig *rig = strip(40);
    double *rows = malloc(sizeof(double) * SLIDERS * ROWS), same = 0, others = 0, most = 0;
    int together = 0, alike = 0, single = 0;
    for (int s = 0; s < 2 * PAIRS; s++) {
        char name[16];
        snprintf(name, sizeof name, "move%d%s", s / 2, s % 2 ? "Right" : "Left");
        add(rig, name, s, 1, 0, 1);
    }
    add(rig, "one", 30, 3, 0, 1), add(rig, "same", 30, 3, 0, 1);
    add(rig, "two", 34, 3, 0, 1), add(rig, "other", 34, 3, 0.9, 0.4);
    assert_ok(sn_bake_crowded_poses(rig, 9, NULL, ROWS, rows, &error));
    for (int k = 0; k < ROWS; k++) {
        const double *row = rows + SLIDERS * k;
        for (int p = 0; p < PAIRS; p++) {
            bool left = row[2 * p] > 0, right = row[2 * p + 1] > 0;
            together += left && right, single += left != right;
            most = fmax(most, row[2 * p]);
            alike += left && right && fabs(row[2 * p] / row[2 * p + 1] - 1) < 0.2;
        }
        same = fmax(same, row[2 * PAIRS] + row[2 * PAIRS + 1]);
        others = fmax(others, row[2 * PAIRS + 2] + row[2 * PAIRS + 3]);
    }
    assert_true(together > 4 * single && single > 0);
    assert_true(10 * alike > 8 * together && alike < together);
    assert_true(same <= 1 + 1e-12 && same > 0.8);
    assert_true(others > 1.3);
    assert_close(most, 1, 0);
    bool from[SLIDERS] = {0}; /* expressions of some sliders: up to six gestures of a side or two */
    for (int s = 0; s < PAIRS; s++) from[s] = true;
    int fewest = SLIDERS, active = 0;
    assert_ok(sn_bake_crowded_poses(rig, 9, from, ROWS, rows, &error));
    for (int k = 0; k < ROWS; k++) {
        int moved = 0;
        for (int s = 0; s < SLIDERS; s++) {
            moved += rows[SLIDERS * k + s] > 0;
            assert_true(from[s] || rows[SLIDERS * k + s] == 0);
        }
        fewest = moved < fewest ? moved : fewest, active = moved > active ? moved : active;
    }
    assert_in_range(fewest, 1, 3);
    assert_in_range(active, 8, 12);
    free(rows);
    sinew_rig_destroy(rig);
}

/* A limb: about half of its sliders at once, mostly at small weights. */
static void crowded_poses_of_limbs_move_half_of_the_sliders(void **state) {
    (void)state;
    enum { SLIDERS = 10, ROWS = 300 };
    sinew_rig *rig = strip(SLIDERS);
    double *rows = malloc(sizeof(double) * SLIDERS * ROWS), sum = 0;
    int active = 0;
    for (int s = 0; s < SLIDERS; s++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", s);
        add(rig, name, s, 1, 0, 1);
    }
    assert_ok(sn_bake_crowded_poses(rig, 2, NULL, ROWS, rows, &error));
    for (int k = 0; k < SLIDERS * ROWS; k++) {
        assert_true(rows[k] >= 0 && rows[k] <= 1);
        active += rows[k] > 0, sum += rows[k];
    }
    assert_in_range(active, 4 * SLIDERS * ROWS / 10, 6 * SLIDERS * ROWS / 10);
    assert_true(sum / active > 0.2 && sum / active < 0.3); /* 3/4 of 1/3 */
    free(rows);
    sinew_rig_destroy(rig);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The blend and an offset of the first slider; a model may give up near the end. */
static sinew_status offset_model(const double *w, double *positions, void *user,
                                 const sinew_monitor *monitor, sinew_error *failed) {
    (void)monitor;
    const sinew_rig *rig = user;
    sinew_linear *linear;
    sinew_status status = sinew_linear_create(rig, &linear, failed);
    if (status != SINEW_OK) return status;
    sinew_linear_evaluate(linear, w, positions);
    sinew_linear_destroy(linear);
    for (int v = 0; v < rig->neutral->vertex_count; v++) positions[3 * v + 1] += 0.3 * w[0];
    return w[0] < 1 ? SINEW_OK : SINEW_NOT_CONVERGED;
}

static void errors_are_means_over_all_poses(void **state) {
    (void)state;
    static const double rows[] = {0.25, 1};
    sinew_rig *rig = strip(8);
    add(rig, "up", 0, 8, 0, 5);
    double unit = 0.3 / sinew_diagonal(8, rig->neutral->positions);
    sinew_bake_error found = {.size = sizeof found};
    assert_ok(sinew_bake_measure(rig, 2, rows, offset_model, rig, NULL, &found, &error));
    assert_int_equal(found.poses, 2);
    assert_close(found.worst, unit, 1e-9);
    assert_close(found.mean, unit * 0.625, 1e-9);
    assert_close(found.rms, unit * sqrt(0.53125), 1e-9);
    sinew_rig_destroy(rig);
}

int test_bake_samples(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_ordered_by_what_they_share),
        cmocka_unit_test(alternatives_of_a_face_are_alike_as_a_whole),
        cmocka_unit_test(poses_move_two_to_four_sliders),
        cmocka_unit_test(expressions_move_both_sides_together),
        cmocka_unit_test(crowded_poses_of_limbs_move_half_of_the_sliders),
        cmocka_unit_test(errors_are_means_over_all_poses),
    };
    return cmocka_run_group_tests_name("bake samples", tests, NULL, NULL);
}
