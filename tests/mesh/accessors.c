/* Fields one by one, and tetrahedra from arrays. */
#include "support.h"

#include "groups.h"
#include "shapes.h"
#include "sinew/tets.h"

static sinew_error error;

static void fields_of_a_mesh_are_those_of_the_structure(void **state) {
    (void)state;
    double uvs[2] = {0.25, 0.5}, normals[3] = {0, 0, 1};
    int starts[3] = {0, 4, 7}, corners[7] = {0, 1, 2, 3, 0, 2, 4}, triangles[9],
        faces[3] = {0, 0, 1};
    int corner_uv[7] = {0}, corner_normal[7] = {0}, parts[2] = {1, 0};
    double positions[15] = {1, 2, 3};
    char first[] = "lips", second[] = "chin", name[] = "head", *names[] = {first, second};
    const sinew_mesh mesh = {.name = name,
                             .vertex_count = 5,
                             .positions = positions,
                             .face_count = 2,
                             .face_start = starts,
                             .face_vertices = corners,
                             .triangle_count = 3,
                             .triangles = triangles,
                             .triangle_face = faces,
                             .uv_count = 1,
                             .uvs = uvs,
                             .corner_uv = corner_uv,
                             .normal_count = 1,
                             .normals = normals,
                             .corner_normal = corner_normal,
                             .part_count = 2,
                             .part_names = names,
                             .face_part = parts};
    assert_string_equal(sinew_mesh_name(&mesh), "head");
    assert_int_equal(sinew_mesh_vertex_count(&mesh), 5);
    assert_ptr_equal(sinew_mesh_positions(&mesh), positions);
    assert_int_equal(sinew_mesh_face_count(&mesh), 2);
    assert_ptr_equal(sinew_mesh_face_starts(&mesh), starts);
    assert_ptr_equal(sinew_mesh_face_vertices(&mesh), corners);
    assert_int_equal(sinew_mesh_triangle_count(&mesh), 3);
    assert_ptr_equal(sinew_mesh_triangles(&mesh), triangles);
    assert_ptr_equal(sinew_mesh_triangle_faces(&mesh), faces);
    assert_int_equal(sinew_mesh_uv_count(&mesh), 1);
    assert_ptr_equal(sinew_mesh_uvs(&mesh), uvs);
    assert_ptr_equal(sinew_mesh_corner_uvs(&mesh), corner_uv);
    assert_int_equal(sinew_mesh_normal_count(&mesh), 1);
    assert_ptr_equal(sinew_mesh_normals(&mesh), normals);
    assert_ptr_equal(sinew_mesh_corner_normals(&mesh), corner_normal);
    assert_int_equal(sinew_mesh_part_count(&mesh), 2);
    assert_string_equal(sinew_mesh_part_name(&mesh, 0), "lips");
    assert_string_equal(sinew_mesh_part_name(&mesh, 1), "chin");
    assert_null(sinew_mesh_part_name(&mesh, 2));
    assert_null(sinew_mesh_part_name(&mesh, -1));
    assert_ptr_equal(sinew_mesh_face_parts(&mesh), parts);
}

static void no_mesh_has_nothing(void **state) {
    (void)state;
    assert_null(sinew_mesh_name(NULL));
    assert_null(sinew_mesh_positions(NULL));
    assert_null(sinew_mesh_face_starts(NULL));
    assert_null(sinew_mesh_face_vertices(NULL));
    assert_null(sinew_mesh_triangles(NULL));
    assert_null(sinew_mesh_triangle_faces(NULL));
    assert_null(sinew_mesh_uvs(NULL));
    assert_null(sinew_mesh_corner_uvs(NULL));
    assert_null(sinew_mesh_normals(NULL));
    assert_null(sinew_mesh_corner_normals(NULL));
    assert_null(sinew_mesh_part_name(NULL, 0));
    assert_null(sinew_mesh_face_parts(NULL));
    assert_int_equal(sinew_mesh_vertex_count(NULL) + sinew_mesh_face_count(NULL), 0);
    assert_int_equal(sinew_mesh_triangle_count(NULL) + sinew_mesh_uv_count(NULL), 0);
    assert_int_equal(sinew_mesh_normal_count(NULL) + sinew_mesh_part_count(NULL), 0);
    assert_null(sinew_tets_positions(NULL));
    assert_null(sinew_tets_corners(NULL));
    assert_int_equal(sinew_tets_vertex_count(NULL) + sinew_tets_surface_count(NULL), 0);
    assert_int_equal(sinew_tets_count(NULL), 0);
}

static const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};

static void tets_are_copied_and_checked(void **state) {
    (void)state;
    const int corners[] = {0, 1, 2, 3};
    sinew_tets *tets;
    assert_ok(sinew_tets_create(4, points, 3, 1, corners, &tets, &error));
    assert_int_equal(sinew_tets_vertex_count(tets), 4);
    assert_int_equal(sinew_tets_surface_count(tets), 3);
    assert_int_equal(sinew_tets_count(tets), 1);
    assert_memory_equal(sinew_tets_positions(tets), points, sizeof points);
    assert_memory_equal(sinew_tets_corners(tets), corners, sizeof corners);
    assert_true(sinew_tets_positions(tets) != points);
    sinew_tets_destroy(tets);
    assert_ok(sinew_tets_create(0, NULL, 0, 0, NULL, &tets, &error));
    assert_int_equal(sinew_tets_count(tets), 0);
    sinew_tets_destroy(tets);
}

static void assert_refused(int count, const double *x, const int *corners, const char *words) {
    sinew_tets *tets;
    assert_int_equal(sinew_tets_create(count, x, 0, 1, corners, &tets, &error), SINEW_BAD_INPUT);
    assert_null(tets);
    if (!strstr(error.message, words)) fail_msg("%s", error.message);
}

static void bad_tets_are_named(void **state) {
    (void)state;
    double x[12];
    memcpy(x, points, sizeof x);
    assert_refused(4, x, (const int[]){0, 1, 2, 4}, "tet 0 refers to vertex 4");
    assert_refused(4, x, (const int[]){0, -1, 2, 3}, "tet 0 refers to vertex -1");
    assert_refused(4, x, (const int[]){0, 2, 1, 3}, "tet 0 is flat or inverted");
    assert_refused(4, x, (const int[]){0, 1, 2, 2}, "tet 0 is flat or inverted");
    x[7] = NAN;
    assert_refused(4, x, (const int[]){0, 1, 2, 3}, "vertex 2 is not finite");
    x[7] = 1, x[11] = INFINITY;
    assert_refused(4, x, (const int[]){0, 1, 2, 3}, "vertex 3 is not finite");
}

static void impossible_counts_are_misuse(void **state) {
    (void)state;
    const int corners[] = {0, 1, 2, 3};
    sinew_tets *tets = (sinew_tets *)points;
    assert_int_equal(sinew_tets_create(4, points, 0, 1, corners, NULL, &error), SINEW_MISUSE);
    assert_int_equal(sinew_tets_create(-1, points, 0, 1, corners, &tets, &error), SINEW_MISUSE);
    assert_null(tets);
    assert_int_equal(sinew_tets_create(4, NULL, 0, 1, corners, &tets, &error), SINEW_MISUSE);
    assert_int_equal(sinew_tets_create(4, points, 0, -1, corners, &tets, &error), SINEW_MISUSE);
    assert_int_equal(sinew_tets_create(4, points, 0, 1, NULL, &tets, &error), SINEW_MISUSE);
    assert_int_equal(sinew_tets_create(4, points, 5, 1, corners, &tets, &error), SINEW_MISUSE);
    assert_int_equal(sinew_tets_create(4, points, -1, 1, corners, &tets, &error), SINEW_MISUSE);
}

static void helper_parts_are_known_by_name(void **state) {
    (void)state;
    static const char *const helpers[] = {"helper-skirt", "Helper_hair", "joint-jaw",
                                          "UCX_head_01"};
    static const char *const shown[] = {"body", "helper-l-eye", "helper-upper-teeth", "joints", ""};
    for (int i = 0; i < 4; i++) assert_true(sinew_part_is_helper(helpers[i]));
    for (int i = 0; i < 5; i++) assert_false(sinew_part_is_helper(shown[i]));
    assert_false(sinew_part_is_helper(NULL));
}

int test_accessors(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_a_mesh_are_those_of_the_structure),
        cmocka_unit_test(no_mesh_has_nothing),
        cmocka_unit_test(helper_parts_are_known_by_name),
        cmocka_unit_test(tets_are_copied_and_checked),
        cmocka_unit_test(bad_tets_are_named),
        cmocka_unit_test(impossible_counts_are_misuse),
    };
    return cmocka_run_group_tests_name("accessors", tests, NULL, NULL);
}
