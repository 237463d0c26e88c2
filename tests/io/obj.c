#include "groups.h"
#include "helpers.h"

static sinew_mesh *parse(const char *text) {
    sinew_error error;
    sn_source source = bytes_source(text, strlen(text), "a.obj");
    sinew_mesh *mesh = NULL;
    assert_ok(sn_format_obj.read_mesh(&source, &mesh, &error));
    bytes_source_free(&source);
    return mesh;
}

static void assert_refused(const char *text, const char *message) {
    sinew_error error = {0};
    sn_source source = bytes_source(text, strlen(text), "a.obj");
    sinew_mesh *mesh = NULL;
    assert_int_equal(sn_format_obj.read_mesh(&source, &mesh, &error), SINEW_BAD_INPUT);
    assert_null(mesh);
    assert_string_equal(error.message, message);
    bytes_source_free(&source);
}

static void every_kind_of_corner_and_index_is_read(void **state) {
    (void)state;
    sinew_mesh *mesh = parse("\xef\xbb\xbf# comment\r\n"
                             "o head\r\n"
                             "v 0 0 0 0.5 0.5 0.5\r\nv 1 0 0\nv 1 1 0 1.0\nv 0 1 0\nv .5 2 -1e-3\n"
                             "vt 0 0\nvt 1 0.25 0\nvn 0 0 1\n"
                             "f 1 2 \\\n 3 4\n"
                             "g nose tip\ns 1\nusemtl skin\n"
                             "f -5/1 -4/-1/1 -3//1\n"
                             "g\nf 3 4 5\n"
                             "v 9 9 9\ng nose tip\nf 1// 2// 4//\n");
    assert_int_equal(mesh->vertex_count, 6);
    assert_int_equal(mesh->face_count, 4);
    const int starts[] = {0, 4, 7, 10, 13};
    const int corners[] = {0, 1, 2, 3, 0, 1, 2, 2, 3, 4, 0, 1, 3};
    assert_memory_equal(mesh->face_start, starts, sizeof starts);
    assert_memory_equal(mesh->face_vertices, corners, sizeof corners);
    assert_close(mesh->positions[14], -1e-3, 0);
    const int uvs[] = {-1, -1, -1, -1, 0, 1, -1};
    const int normals[] = {-1, -1, -1, -1, -1, 0, 0};
    assert_memory_equal(mesh->corner_uv, uvs, sizeof uvs);
    assert_memory_equal(mesh->corner_normal, normals, sizeof normals);
    assert_int_equal(mesh->part_count, 2);
    assert_string_equal(mesh->part_names[0], "head");
    assert_string_equal(mesh->part_names[1], "nose tip");
    const int parts[] = {0, 1, -1, 1};
    assert_memory_equal(mesh->face_part, parts, sizeof parts);
    sinew_mesh_destroy(mesh);
}

static void materials_name_the_parts_when_nothing_else_does(void **state) {
    (void)state;
    sinew_mesh *mesh = parse("g\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl skin\nf 1 2 3\nusemtl teeth\n"
                             "f 1 3 2\n");
    assert_int_equal(mesh->part_count, 2);
    assert_string_equal(mesh->part_names[1], "teeth");
    assert_int_equal(mesh->face_part[1], 1);
    sinew_mesh_destroy(mesh);
}

static void bad_lines_are_named(void **state) {
    (void)state;
    assert_refused("v 0 0\n", "a.obj:1: a coordinate is missing");
    assert_refused("v 0 0 zero\n", "a.obj:1: 'zero' is not a coordinate");
    assert_refused("\nv 0 0 nan\n", "a.obj:2: a coordinate is not finite");
    assert_refused("v 0 0 1e999\n", "a.obj:1: a coordinate is not finite");
    assert_refused("v 0 0 0\nv 0 0 1\nf 1 2\n", "a.obj:3: face has 2 corners, needs 3 or more");
    assert_refused("v 0 0 0\nf 1 1 2\nv 0 0 0 \nf 1 2 7\nf 1 2 3",
                   "a.obj:4: face refers to vertex 7 of 2");
    assert_refused("v 0 0 0\nf 0 1 1\n", "a.obj:2: face refers to vertex 0; they count from 1");
    assert_refused("v 0 0 0\nf -2 1 1\n", "a.obj:2: face refers to a vertex that does not exist");
    assert_refused("v 0 0 0\nf 99999999999999999999 1 1\n", "a.obj:2: face has a bad vertex");
    assert_refused("v 0 0 0\nf 1/1/1/1 1 1\n", "a.obj:2: face has a bad corner");
    assert_refused("v 0 0 0\nf 1/1 1 1\n", "a.obj:2: face refers to texture coordinate 1 of 0");
    assert_refused("solid cube\n", "a.obj:1: 'solid' is not an OBJ statement");
}

static void a_file_without_vertices_is_refused(void **state) {
    (void)state;
    assert_refused("", "a.obj: has no vertices");
    assert_refused("# nothing\n\n", "a.obj: has no vertices");
}

static void round_trip(const char *path) {
    sinew_error error;
    sinew_mesh *mesh, *back;
    assert_ok(sinew_mesh_read(path, &mesh, &error));
    assert_true(mesh->vertex_count > 0);
    const char *copy = temporary("copy.obj");
    assert_ok(sinew_mesh_write(copy, mesh, &error));
    assert_ok(sinew_mesh_read(copy, &back, &error));
    assert_same_mesh(mesh, back, sn_format_obj.holds);
    sinew_mesh_destroy(mesh);
    sinew_mesh_destroy(back);
}

static void every_real_obj_comes_back(void **state) {
    (void)state;
    skip_without_data(test_data("SOURCES.md"));
    assert_true(for_each_data_file("obj", round_trip) >= 39);
}

/* The reference is a scan of the file's text that shares nothing with the reader. */
static void real_head_has_the_coordinates_of_its_text(void **state) {
    (void)state;
    sinew_error error;
    const char *path = test_data("free/ict-facekit/generic_neutral_mesh.obj");
    skip_without_data(path);
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_read(path, &mesh, &error));
    assert_int_equal(mesh->vertex_count, 26719);
    assert_int_equal(mesh->face_count, 26384);
    assert_string_equal(mesh->name, "generic_neutral_mesh");
    FILE *file = fopen(path, "r");
    char line[512];
    int vertex = 0;
    while (fgets(line, sizeof line, file)) {
        double p[3];
        if (sscanf(line, "v %lf %lf %lf", p, p + 1, p + 2) != 3) continue;
        assert_memory_equal(p, mesh->positions + 3 * vertex, sizeof p);
        vertex++;
    }
    fclose(file);
    assert_int_equal(vertex, mesh->vertex_count);
    sinew_mesh_destroy(mesh);
}

static void unknown_endings_and_missing_files_are_told_apart(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh;
    assert_int_equal(sinew_mesh_read(temporary("nothing.obj"), &mesh, &error), SINEW_IO);
    FILE *file = fopen(temporary("head.xyz"), "w");
    fclose(file);
    assert_int_equal(sinew_mesh_read(temporary("head.xyz"), &mesh, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "'xyz'"));
}

int test_obj(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_corner_and_index_is_read),
        cmocka_unit_test(materials_name_the_parts_when_nothing_else_does),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(a_file_without_vertices_is_refused),
        cmocka_unit_test(every_real_obj_comes_back),
        cmocka_unit_test(real_head_has_the_coordinates_of_its_text),
        cmocka_unit_test(unknown_endings_and_missing_files_are_told_apart),
    };
    return cmocka_run_group_tests_name("obj", tests, NULL, NULL);
}
