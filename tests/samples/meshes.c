/* The meshes of all samples: manifold, consistent, well shaped, and free of self-intersection in
 * the neutral and in every target at full weight. */
#include "support.h"

#include "groups.h"
#include "samples/relax.h"
#include "sinew/check.h"
#include "sinew/samples.h"

/* Size of the largest samples that are checked here; larger ones are made the same way. */
enum { LARGE = 200000 };

/* Smallest angle of all triangles, degrees. */
static double smallest_angle(const sinew_mesh *mesh, const double *p) {
    double largest = -1; /* cosine */
    for (int t = 0; t < mesh->triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            const double *a = p + 3 * (size_t)mesh->triangles[3 * t + k];
            const double *b = p + 3 * (size_t)mesh->triangles[3 * t + (k + 1) % 3];
            const double *c = p + 3 * (size_t)mesh->triangles[3 * t + (k + 2) % 3];
            double uv = 0, uu = 0, vv = 0;
            for (int i = 0; i < 3; i++) {
                double u = b[i] - a[i], v = c[i] - a[i];
                uv += u * v, uu += u * u, vv += v * v;
            }
            largest = fmax(largest, uv / sqrt(uu * vv));
        }
    return acos(fmin(1, largest)) * 180 / 3.14159265358979;
}

/* Every target at full weight, through the rig's own evaluation; -1 is the neutral. */
static void pose(const sinew_rig *rig, const sinew_linear *linear, int target, double *positions) {
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    if (target >= 0) {
        const sinew_target *t = &rig->targets[target];
        if (t->kind == SINEW_TARGET_KIND_COMBINATION)
            for (int d = 0; d < t->driver_count; d++) weights[t->drivers[d]] = 1;
        else
            weights[t->slider] = t->at;
    }
    sinew_linear_evaluate(linear, weights, positions);
    free(weights);
}

static void check_poses(const char *name, int vertices, bool crossings) {
    sinew_error error;
    sinew_rig *rig = NULL;
    sinew_linear *linear = NULL;
    sinew_sample_options options = {.size = sizeof options, .vertices = vertices};
    assert_ok(sinew_sample_rig(name, &options, &rig, &error));
    assert_ok(sinew_linear_create(rig, &linear, &error));
    sinew_mesh *mesh = rig->neutral;
    size_t size = 3 * (size_t)mesh->vertex_count * sizeof(double);
    double *posed = malloc(size);
    for (int t = -1; t < rig->target_count; t++) {
        const char *label = t < 0 ? "neutral" : rig->targets[t].name;
        if (strstr(label, "Right")) continue; /* the image of the left one */
        pose(rig, linear, t, posed);
        double angle = smallest_angle(mesh, posed);
        if (angle < 5)
            fail_msg("%s %d, %s: smallest angle %.2f degrees", name, vertices, label, angle);
        if (!crossings) continue;
        memcpy(mesh->positions, posed, size);
        sinew_check *check = NULL;
        assert_ok(sinew_check_mesh(mesh, NULL, NULL, &check, &error));
        if (sinew_check_problems(check) > 0) {
            char line[SINEW_FINDING_SIZE];
            fail_msg("%s %d, %s: %d problems, first: %s", name, vertices, label,
                     sinew_check_problems(check), sinew_finding_text(&check->findings[0], line));
        }
        sinew_check_destroy(check);
    }
    free(posed);
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
}

static void no_pose_of_any_sample_cuts_itself(void **state) {
    (void)state;
    for (int i = 0; i < sinew_sample_count(); i++) {
        const char *name = sinew_sample_name(i);
        check_poses(name, strcmp(name, "face2") == 0 ? 5000 : 0, true); /* moves of face */
    }
}

static void hand_makes_its_poses_at_every_size(void **state) {
    (void)state;
    check_poses("hand", 1000, true);
    check_poses("hand", 18600, true);
}

static void coarsest_face_is_clean_too(void **state) {
    (void)state;
    check_poses("face", SINEW_SAMPLE_MIN_VERTICES, true);
}

static void no_face_of_any_size_has_slivers(void **state) {
    (void)state;
    const int sizes[] = {SINEW_SAMPLE_MIN_VERTICES, 5000, 24000, 40000};
    for (int i = 0; i < 4; i++) check_poses("face", sizes[i], false);
    check_poses("face2", SINEW_SAMPLE_MIN_VERTICES, false);
    check_poses("face2", 0, false);
    check_poses("face2", 24000, false);
}

static void largest_samples_have_no_slivers(void **state) {
    (void)state;
    check_poses("bar", LARGE, false);
    check_poses("hand", LARGE, false);
    check_poses("face", LARGE, false);
}

/* A vertex pushed almost onto an edge comes back; what is good keeps its bits. */
static void relaxing_moves_slivers_alone(void **state) {
    (void)state;
    enum { SIDE = 9, N = SIDE * SIDE, T = 2 * (SIDE - 1) * (SIDE - 1) };
    sinew_error error;
    double positions[3 * N], before[3 * N];
    int triangles[3 * T], t = 0, middle = SIDE * 4 + 4;
    for (int v = 0; v < N; v++) {
        positions[3 * v] = v % SIDE;
        positions[3 * v + 1] = v / SIDE;
        positions[3 * v + 2] = 0;
    }
    for (int i = 0; i + 1 < SIDE; i++)
        for (int j = 0; j + 1 < SIDE; j++) {
            int a = SIDE * i + j, quad[6] = {a, a + 1, a + SIDE + 1, a, a + SIDE + 1, a + SIDE};
            memcpy(triangles + t, quad, sizeof quad);
            t += 6;
        }
    positions[3 * middle] += 0.97;
    memcpy(before, positions, sizeof before);
    assert_ok(sn_relax(N, T, triangles, 8, NULL, positions, &error));
    assert_true(positions[3 * middle] < before[3 * middle] - 0.05);
    assert_memory_equal(positions, before, 3 * SIDE * 3 * sizeof *before);
    bool none[N] = {0};
    memcpy(positions, before, sizeof before);
    assert_ok(sn_relax(N, T, triangles, 8, none, positions, &error));
    assert_memory_equal(positions, before, sizeof before);
}

static void bodies_are_closed_and_faces_open_only_at_the_neck(void **state) {
    (void)state;
    for (int i = 0; i < sinew_sample_count(); i++) {
        sinew_error error;
        sinew_rig *rig = NULL;
        sinew_check *check = NULL;
        assert_ok(sinew_sample_rig(sinew_sample_name(i), NULL, &rig, &error));
        assert_ok(sinew_check_mesh(rig->neutral, NULL, NULL, &check, &error));
        bool face = strncmp(sinew_sample_name(i), "face", 4) == 0;
        assert_int_equal(check->boundary_loop_count, face);
        assert_int_equal(check->closed, !face);
        if (!face) {
            assert_int_equal(check->component_count, 1);
            assert_true(check->volume > 0);
        }
        sinew_check_destroy(check);
        sinew_rig_destroy(rig);
    }
}

int test_meshes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_pose_of_any_sample_cuts_itself),
        cmocka_unit_test(hand_makes_its_poses_at_every_size),
        cmocka_unit_test(coarsest_face_is_clean_too),
        cmocka_unit_test(no_face_of_any_size_has_slivers),
        cmocka_unit_test(largest_samples_have_no_slivers),
        cmocka_unit_test(relaxing_moves_slivers_alone),
        cmocka_unit_test(bodies_are_closed_and_faces_open_only_at_the_neck),
    };
    return cmocka_run_group_tests_name("meshes", tests, NULL, NULL);
}
