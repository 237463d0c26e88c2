/* What is where on a head. */
#include "support.h"

#include "groups.h"
#include "sinew/anatomy.h"
#include "sinew/io.h"
#include "sinew/samples.h"

static sinew_anatomy *anatomy_of(const sinew_rig *rig) {
    sinew_error error;
    sinew_anatomy *anatomy;
    assert_ok(sinew_anatomy_create(rig, NULL, &anatomy, &error));
    return anatomy;
}

static double *part_vertices(const sinew_mesh *mesh, const char *word) {
    double *in = calloc((size_t)mesh->vertex_count, sizeof *in);
    for (int f = 0; f < mesh->face_count; f++)
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++)
            if (strstr(mesh->part_names[mesh->face_part[f]], word)) in[mesh->face_vertices[c]] = 1;
    return in;
}

static void skin_eyes_and_teeth_of_the_sample_faces_are_told_apart(void **state) {
    (void)state;
    sinew_error error;
    const char *names[] = {"face", "face2"};
    for (int k = 0; k < 2; k++) {
        sinew_rig *rig;
        assert_ok(sinew_sample_rig(names[k], NULL, &rig, &error));
        sinew_anatomy *a = anatomy_of(rig);
        const int *piece = sinew_anatomy_pieces(a);
        const bool *skin = sinew_anatomy_skin(a);
        double *teeth = part_vertices(rig->neutral, "teeth"),
               *eyes = part_vertices(rig->neutral, "eye");
        double *brows = part_vertices(rig->neutral, "eyebrow");
        for (int v = 0; v < rig->neutral->vertex_count; v++) {
            sinew_piece_kind kind = sinew_anatomy_piece_kind(a, piece[v]);
            if (teeth[v]) assert_int_equal(kind, SINEW_PIECE_KIND_TEETH);
            if (eyes[v] && !brows[v]) assert_int_equal(kind, SINEW_PIECE_KIND_EYE);
            if (brows[v]) assert_int_equal(kind, SINEW_PIECE_KIND_OUTSIDE);
            if (teeth[v] || eyes[v]) assert_false(skin[v]);
        }
        double left[3], up[3], front[3];
        assert_true(sinew_anatomy_axes(a, left, up, front));
        assert_true(left[0] > 0.99 && up[1] > 0.95 && front[2] > 0.95);
        for (int i = 0; sinew_anatomy_region_name(i); i++) {
            int *vertices, count;
            assert_ok(
                sinew_anatomy_region(a, sinew_anatomy_region_name(i), &vertices, &count, &error));
            if (count == 0) fail_msg("%s has no region %s", names[k], sinew_anatomy_region_name(i));
            sinew_free(vertices);
        }
        free(teeth), free(eyes), free(brows);
        sinew_anatomy_destroy(a);
        sinew_rig_destroy(rig);
    }
}

/* The sample face as large eyes make it: without names of parts, and with the pieces above the eyes
 * low enough to lie around them. They follow the sliders of the brows. */
static sinew_rig *low_brows(double **above, double **eyes) {
    sinew_error error;
    sinew_rig *from, *rig;
    sinew_mesh *neutral;
    assert_ok(sinew_sample_rig("face", NULL, &from, &error));
    assert_ok(sinew_mesh_copy(from->neutral, &neutral, &error));
    int n = neutral->vertex_count;
    *above = part_vertices(neutral, "eyebrow"), *eyes = part_vertices(neutral, "eye");
    for (int v = 0; v < n; v++) {
        if (!(*above)[v]) continue;
        (*eyes)[v] = 0;
        neutral->positions[3 * v + 1] -= 0.012, neutral->positions[3 * v + 2] -= 0.006;
    }
    for (int p = 0; p < neutral->part_count; p++) neutral->part_names[p][0] = 0;
    assert_ok(sinew_rig_create(neutral, &rig, &error));
    double *pose = malloc(3 * sizeof *pose * (size_t)n);
    for (int k = 0; k < from->target_count; k++) {
        const sinew_target *t = &from->targets[k];
        if (t->kind != SINEW_TARGET_KIND_PLAIN) continue;
        memcpy(pose, neutral->positions, 3 * sizeof *pose * (size_t)n);
        for (int i = 0; i < 3 * t->count; i++) pose[3 * t->vertices[i / 3] + i % 3] += t->deltas[i];
        assert_ok(sinew_rig_add_pose(rig, t->name, pose, &error));
    }
    free(pose);
    sinew_rig_destroy(from);
    return rig;
}

static void brows_around_large_eyes_are_not_eyes(void **state) {
    (void)state;
    double *above, *eyes;
    sinew_rig *rig = low_brows(&above, &eyes);
    sinew_anatomy *a = anatomy_of(rig);
    for (int v = 0; v < rig->neutral->vertex_count; v++) {
        sinew_piece_kind kind = sinew_anatomy_piece_kind(a, sinew_anatomy_pieces(a)[v]);
        if (above[v]) assert_int_equal(kind, SINEW_PIECE_KIND_OUTSIDE);
        if (eyes[v]) assert_int_equal(kind, SINEW_PIECE_KIND_EYE);
    }
    free(above), free(eyes);
    sinew_anatomy_destroy(a);
    sinew_rig_destroy(rig);
}

/* The sample's markers sit where their names say: an independent truth for landmarks. */
static void landmarks_are_near_the_markers_of_their_names(void **state) {
    (void)state;
    static const struct {
        const char *marker;
        sinew_landmark landmark;
        sinew_side side;
        double most; /* millimeters */
    } rows[] = {
        {"noseTip", SINEW_LANDMARK_NOSE_TIP, SINEW_SIDE_NONE, 3},
        {"lipUpper", SINEW_LANDMARK_LIP_UPPER, SINEW_SIDE_NONE, 5},
        {"lipLower", SINEW_LANDMARK_LIP_LOWER, SINEW_SIDE_NONE, 5},
        {"lipCornerLeft", SINEW_LANDMARK_MOUTH_CORNER, SINEW_SIDE_LEFT, 8},
        {"lipCornerRight", SINEW_LANDMARK_MOUTH_CORNER, SINEW_SIDE_RIGHT, 8},
        {"eyeInnerLeft", SINEW_LANDMARK_EYE_INNER, SINEW_SIDE_LEFT, 12},
        {"eyeOuterRight", SINEW_LANDMARK_EYE_OUTER, SINEW_SIDE_RIGHT, 12},
        {"chin", SINEW_LANDMARK_CHIN, SINEW_SIDE_NONE, 14},
        {"noseBridge", SINEW_LANDMARK_NOSE_BRIDGE, SINEW_SIDE_NONE, 8},
    };
    sinew_error error;
    const char *names[] = {"face", "face2"};
    for (int k = 0; k < 2; k++) {
        sinew_rig *rig;
        sinew_markers *take;
        sinew_marker_map *map;
        assert_ok(sinew_sample_rig(names[k], NULL, &rig, &error));
        assert_ok(sinew_sample_markers(names[k], NULL, NULL, &take, &map, &error));
        sinew_anatomy *a = anatomy_of(rig);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            double p[3], d = 0;
            int m = 0;
            while (m < map->count && strcmp(map->names[m], rows[i].marker)) m++;
            assert_true(m < map->count);
            assert_true(sinew_anatomy_landmark(a, rows[i].landmark, rows[i].side, p, NULL));
            for (int c = 0; c < 3; c++)
                d += pow(p[c] - rig->neutral->positions[3 * map->vertices[m] + c], 2);
            if (1000 * sqrt(d) > rows[i].most)
                fail_msg("%s on %s is %.1f mm off", rows[i].marker, names[k], 1000 * sqrt(d));
        }
        sinew_anatomy_destroy(a);
        sinew_marker_map_destroy(map);
        sinew_markers_destroy(take);
        sinew_rig_destroy(rig);
    }
}

static void rigs_that_are_not_heads_have_pieces_and_skin_only(void **state) {
    (void)state;
    sinew_error error;
    const char *names[] = {"bar", "hand"};
    for (int k = 0; k < 2; k++) {
        sinew_rig *rig;
        assert_ok(sinew_sample_rig(names[k], NULL, &rig, &error));
        sinew_anatomy *a = anatomy_of(rig);
        double left[3], up[3], front[3];
        assert_false(sinew_anatomy_axes(a, left, up, front));
        assert_true(sinew_anatomy_piece_count(a) >= 1);
        int *vertices, count;
        assert_ok(sinew_anatomy_region(a, "lips", &vertices, &count, &error));
        assert_int_equal(count, 0);
        assert_ok(sinew_anatomy_region(a, "skin", &vertices, &count, &error));
        assert_true(count > rig->neutral->vertex_count / 2);
        sinew_free(vertices);
        sinew_anatomy_destroy(a);
        sinew_rig_destroy(rig);
    }
}

/* Points of the 68-point scheme that come with the rig. */
static void landmarks_of_ict_are_near_those_of_its_makers(void **state) {
    (void)state;
    const char *files[] = {test_data("free/ict-facekit/generic_neutral_mesh.obj"),
                           test_data("free/ict-facekit/targets")};
    skip_without_data(files[0]);
    static const struct {
        int vertex;
        sinew_landmark landmark;
        sinew_side side;
    } rows[] = {{4857, SINEW_LANDMARK_NOSE_TIP, SINEW_SIDE_NONE},
                {978, SINEW_LANDMARK_NOSE_BRIDGE, SINEW_SIDE_NONE},
                {6213, SINEW_LANDMARK_MOUTH_CORNER, SINEW_SIDE_LEFT},
                {0, SINEW_LANDMARK_LIP_UPPER, SINEW_SIDE_NONE},
                {5518, SINEW_LANDMARK_LIP_LOWER, SINEW_SIDE_NONE},
                {3742, SINEW_LANDMARK_EYE_INNER, SINEW_SIDE_LEFT},
                {3721, SINEW_LANDMARK_EYE_OUTER, SINEW_SIDE_LEFT}};
    sinew_error error;
    sinew_rig *rig;
    assert_ok(sinew_rig_read(2, files, &rig, &error));
    sinew_anatomy *a = anatomy_of(rig);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double p[3], d = 0;
        assert_true(sinew_anatomy_landmark(a, rows[i].landmark, rows[i].side, p, NULL));
        for (int c = 0; c < 3; c++)
            d += pow(p[c] - rig->neutral->positions[3 * rows[i].vertex + c], 2);
        assert_below(sqrt(d), 0.9); /* centimeters */
    }
    sinew_anatomy_destroy(a);
    sinew_rig_destroy(rig);
}

int test_anatomy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skin_eyes_and_teeth_of_the_sample_faces_are_told_apart),
        cmocka_unit_test(brows_around_large_eyes_are_not_eyes),
        cmocka_unit_test(landmarks_are_near_the_markers_of_their_names),
        cmocka_unit_test(rigs_that_are_not_heads_have_pieces_and_skin_only),
        cmocka_unit_test(landmarks_of_ict_are_near_those_of_its_makers),
    };
    return cmocka_run_group_tests_name("anatomy", tests, NULL, NULL);
}
