#include "support.h"

#include "groups.h"
#include "shapes.h"
#include "sinew/check.h"
#include "sinew/io.h"

static sinew_check *check_of(const sinew_mesh *mesh) {
    sinew_error error;
    sinew_check *check;
    assert_ok(sinew_check_mesh(mesh, NULL, NULL, &check, &error));
    return check;
}

static const sinew_finding *only_finding(const sinew_check *check, sinew_finding_kind kind) {
    assert_int_equal(check->counts[kind], 1);
    for (int i = 0; i < check->finding_count; i++)
        if (check->findings[i].kind == kind) return &check->findings[i];
    fail_msg("%s is counted but not listed", sinew_finding_name(kind));
    return NULL;
}

static void clean_solids_have_no_findings(void **state) {
    (void)state;
    sinew_mesh *meshes[] = {shape_sphere(6), shape_torus(20, 9), shape_bar(3, 3),
                            shape_join(shape_sphere(4), shape_bar(1, 2), 5, 0, 0)};
    for (int i = 0; i < 4; i++) {
        sinew_check *check = check_of(meshes[i]);
        assert_int_equal(check->finding_count, 0);
        assert_int_equal(sinew_check_problems(check), 0);
        assert_true(check->closed);
        assert_int_equal(check->component_count, i == 3 ? 2 : 1);
        assert_close(check->area, shape_area(meshes[i]), 1e-12);
        assert_close(check->volume, shape_volume(meshes[i]), 1e-12);
        if (i == 2) assert_int_equal(check->edge_count, 2 * meshes[i]->face_count); /* quads */
        sinew_check_destroy(check);
        sinew_mesh_destroy(meshes[i]);
    }
}

static void open_surfaces_have_their_boundary(void **state) {
    (void)state;
    sinew_mesh *grid = shape_grid(5);
    sinew_check *check = check_of(grid);
    assert_int_equal(check->boundary_edge_count, 20);
    assert_int_equal(check->boundary_loop_count, 1);
    const sinew_finding *loop = only_finding(check, SINEW_FINDING_KIND_BOUNDARY_LOOP);
    assert_int_equal(loop->elements[0], 0);
    assert_int_equal(loop->elements[1], 20);
    assert_false(check->closed);
    assert_int_equal(sinew_check_problems(check), 0); /* a boundary is a note */
    sinew_check_destroy(check);
    sinew_mesh_destroy(grid);
}

static void each_fault_is_named_by_its_element(void **state) {
    (void)state;
    char line[SINEW_FINDING_SIZE];
    /* three faces at edge 0-1; 3-4-5 only touches vertex 3 of them; 6 is alone; 7 is on 2 */
    const double positions[] = {0, 0,  0, 1, 0,  0, 0, 1, 0, 0, 0, 1,
                                0, -5, 3, 1, -5, 3, 9, 9, 9, 0, 1, 0};
    const int triangles[] = {0, 1, 2, 1, 0, 3, 0, 1, 4, 3, 4, 5, 5, 3, 4, 1, 1, 2};
    sinew_mesh *mesh = shape_from(8, positions, 6, triangles);
    sinew_check *check = check_of(mesh);
    const sinew_finding *edge = NULL;
    for (int i = 0; i < check->finding_count; i++)
        if (check->findings[i].kind == SINEW_FINDING_KIND_NON_MANIFOLD_EDGE && !edge)
            edge = &check->findings[i];
    assert_non_null(edge);
    assert_string_equal(sinew_finding_text(edge, line), "edge 0-1 joins 3 faces");
    const sinew_finding *duplicate = only_finding(check, SINEW_FINDING_KIND_DUPLICATE_FACE);
    assert_string_equal(sinew_finding_text(duplicate, line),
                        "face 4 has the same vertices as face 3");
    assert_int_equal(only_finding(check, SINEW_FINDING_KIND_DEGENERATE_FACE)->elements[0], 5);
    const sinew_finding *place = only_finding(check, SINEW_FINDING_KIND_COINCIDENT_VERTEX);
    assert_int_equal(place->elements[0], 7);
    assert_int_equal(place->elements[1], 2);
    assert_int_equal(check->counts[SINEW_FINDING_KIND_ISOLATED_VERTEX], 2); /* 6 and 7 */
    assert_true(check->counts[SINEW_FINDING_KIND_NON_MANIFOLD_VERTEX] >= 1);
    assert_true(sinew_check_problems(check) >= 4);
    sinew_check_destroy(check);
    sinew_mesh_destroy(mesh);
}

static void bow_ties_and_twists_are_found(void **state) {
    (void)state;
    const double tie[] = {0, 0, 0, 1, 1, 0, -1, 1, 0, 1, -1, 0, -1, -1, 0};
    const int triangles[] = {0, 1, 2, 0, 4, 3};
    sinew_mesh *mesh = shape_from(5, tie, 2, triangles);
    sinew_check *check = check_of(mesh);
    const sinew_finding *vertex = only_finding(check, SINEW_FINDING_KIND_NON_MANIFOLD_VERTEX);
    assert_int_equal(vertex->elements[0], 0);
    assert_int_equal(vertex->elements[1], 2);
    assert_int_equal(check->boundary_loop_count, 2);
    sinew_check_destroy(check);
    sinew_mesh_destroy(mesh);

    sinew_mesh *band = shape_moebius(20);
    check = check_of(band);
    assert_int_equal(only_finding(check, SINEW_FINDING_KIND_ORIENTATION)->elements[0], 0);
    assert_int_equal(check->component_count, 1);
    sinew_check_destroy(check);
    sinew_mesh_destroy(band);
}

static void numbers_and_indices_that_cannot_be_are_found(void **state) {
    (void)state;
    sinew_mesh *mesh = shape_torus(10, 5);
    mesh->positions[3 * 17 + 1] = NAN;
    mesh->positions[3 * 30] = INFINITY;
    sinew_check *check = check_of(mesh);
    assert_int_equal(check->counts[SINEW_FINDING_KIND_NOT_FINITE], 2);
    assert_int_equal(check->findings[0].elements[0], 17);
    assert_int_equal(check->counts[SINEW_FINDING_KIND_SELF_INTERSECTION], 0);
    assert_true(isfinite(check->area));
    assert_false(check->closed);
    sinew_check_destroy(check);
    mesh->face_vertices[7] = 4000;
    mesh->triangles[7] = 4000;
    check = check_of(mesh);
    const sinew_finding *bad = only_finding(check, SINEW_FINDING_KIND_BAD_INDEX);
    assert_int_equal(bad->elements[0], 2);
    assert_int_equal(bad->elements[2], 4000);
    sinew_check_destroy(check);
    sinew_mesh_destroy(mesh);
}

static void crossing_bodies_list_their_faces(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_join(shape_bar(1, 1), shape_bar(1, 1), 0.5, 0.3, 0.2);
    sinew_check *check = check_of(mesh);
    assert_true(check->counts[SINEW_FINDING_KIND_SELF_INTERSECTION] > 0);
    assert_true(check->self_intersecting_faces > 0);
    sinew_check_options few;
    sinew_check_options_init(&few);
    few.listed = 1;
    sinew_check *limited;
    assert_ok(sinew_check_mesh(mesh, &few, NULL, &limited, &error));
    assert_int_equal(limited->finding_count, 1);
    assert_int_equal(limited->counts[SINEW_FINDING_KIND_SELF_INTERSECTION],
                     check->counts[SINEW_FINDING_KIND_SELF_INTERSECTION]);
    sinew_check_destroy(check), sinew_check_destroy(limited);
    sinew_mesh_destroy(mesh);
}

/* What the data's own description says; -1: it does not say. */
typedef struct expectation {
    const char *path;
    int vertices, faces, boundary, components;
    int intersecting; /* 0 clean, 1 some, -1 not said */
    int intersecting_faces;
} expectation;

static const expectation real[] = {
    {"free/aframe-hand/rest.obj", 1162, 2320, 0, 1, 0, 0},
    {"free/aframe-hand/open.obj", 1162, 2320, 0, 1, 0, 0},
    {"free/aframe-hand/grip.obj", 1162, 2320, 0, 1, 0, 0},
    {"free/aframe-hand/hold.obj", 1162, 2320, 0, 1, 0, 0},
    {"free/aframe-hand/point_thumb.obj", 1162, 2320, 0, 1, 0, 0},
    {"free/aframe-hand/fist.obj", 1162, 2320, 0, 1, 1, -1},
    {"free/aframe-hand/point.obj", 1162, 2320, 0, 1, 1, -1},
    {"free/aframe-hand/thumb_up.obj", 1162, 2320, 0, 1, 1, -1},
    {"free/facecap/head.obj", 2659, 5032, -1, 16, -1, -1},
    {"free/his-cow/rest.obj", 11666, 23328, 0, 1, 0, 0},
    {"free/his-cow/cow-1.obj", 11666, 23328, 0, 1, 0, 0},
    {"free/his-cow/cow-2.obj", 11666, 23328, 0, 1, 0, 0},
    {"free/his-cow/cow-6.obj", 11666, 23328, 0, 1, 0, 0},
    {"free/ict-facekit/generic_neutral_mesh.obj", 26719, 26384, -1, -1, -1, -1},
    {"free/makehuman/base.obj", 19158, 18486, -1, -1, -1, -1},
    {"free/makehuman/body_poses/rest.obj", 13380, -1, 0, 1, 0, 0},
    {"free/makehuman/body_poses/step.obj", 13380, -1, 0, 1, 1, -1},
    {"research/spacetime-faces/neutral.ply", 7118, 14037, -1, 1, -1, -1},
    {"research/sumner-face/reference.obj", 29299, 57836, -1, 1, -1, -1},
    {"research/sumner-cat/reference.obj", 7207, 14410, 0, 1, 1, 75},
    {"research/sumner-cat/0001.obj", 7207, 14410, 0, 1, 1, -1},
    {"research/sumner-cat/0002.obj", 7207, 14410, 0, 1, 1, -1},
    {"research/sumner-cat/0003.obj", 7207, 14410, 0, 1, 1, -1},
    {"research/sumner-cat/0004.obj", 7207, 14410, 0, 1, 1, -1},
    {"research/sumner-cat/0005.obj", 7207, 14410, 0, 1, 1, -1},
    {"research/sumner-cat/0006.obj", 7207, 14410, 0, 1, 1, -1},
    {"research/sumner-horse/reference.obj", 8431, 16843, 19, 1, 0, 0},
    {"research/goast-cactus/cactus0.ply", 5261, 10518, 0, 1, 0, 0},
    {"research/goast-cactus/cactus5.ply", 5261, 10518, 0, 1, 0, 0},
    {"research/goast-cactus/cactus10.ply", 5261, 10518, 0, 1, 0, 0},
    {"research/goast-cactus/cactus15.ply", 5261, 10518, 0, 1, 0, 0},
    {"research/goast-cactus/cactus16.ply", 5261, 10518, 0, 1, 0, 0},
};

static void real_meshes_are_as_described(void **state) {
    (void)state;
    skip_without_data(test_data("free/aframe-hand/rest.obj"));
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        const expectation *e = &real[i];
        const char *path = test_data(e->path);
        if (!path) continue;
        sinew_error error;
        sinew_mesh *mesh;
        assert_ok(sinew_mesh_read(path, &mesh, &error));
        sinew_check *check = check_of(mesh);
        bool good =
            check->vertex_count == e->vertices && (e->faces < 0 || check->face_count == e->faces) &&
            (e->boundary < 0 || check->boundary_edge_count == e->boundary) &&
            (e->components < 0 || check->component_count == e->components) &&
            (e->intersecting < 0 || (check->self_intersecting_faces > 0) == e->intersecting) &&
            (e->intersecting_faces < 0 || check->self_intersecting_faces == e->intersecting_faces);
        if (!good)
            fail_msg("%s: %d vertices, %d faces, %d boundary edges, %d components, %d faces "
                     "intersect",
                     e->path, check->vertex_count, check->face_count, check->boundary_edge_count,
                     check->component_count, check->self_intersecting_faces);
        sinew_check_destroy(check);
        sinew_mesh_destroy(mesh);
    }
}

int test_checks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_solids_have_no_findings),
        cmocka_unit_test(open_surfaces_have_their_boundary),
        cmocka_unit_test(each_fault_is_named_by_its_element),
        cmocka_unit_test(bow_ties_and_twists_are_found),
        cmocka_unit_test(numbers_and_indices_that_cannot_be_are_found),
        cmocka_unit_test(crossing_bodies_list_their_faces),
        cmocka_unit_test(real_meshes_are_as_described),
    };
    return cmocka_run_group_tests_name("checks", tests, NULL, NULL);
}
