/* OFF, MEDIT, TetGen, and every real mesh through every format that can hold it. */
#include "groups.h"
#include "helpers.h"

#include "base/file.h"
#include "io/tetgen.h"

static void write_text(const char *path, const char *text) {
    sinew_error error;
    assert_ok(sn_file_write(path, text, strlen(text), &error));
}

static void assert_mesh_refused(const char *name, const char *text, const char *message) {
    sinew_error error = {0};
    sinew_mesh *mesh;
    write_text(temporary(name), text);
    assert_int_equal(sinew_mesh_read(temporary(name), &mesh, &error), SINEW_BAD_INPUT);
    if (!strstr(error.message, message)) fail_msg("%s", error.message);
}

static void off_is_read_with_comments_and_colours(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh;
    const char *texts[] = {"OFF\n# a square\n4 1 0\n0 0 0\n1 0 0\n1 1 0 # corner\n0 1 0\n4 0 1 2 3 "
                           "0.5 0.5 0.5\n",
                           "COFF 4 1 4\n0 0 0 255 0 0 255\n1 0 0 255 0 0 255\n1 1 0 255 0 0 255\n"
                           "0 1 0 255 0 0 255\n\n4  0 1 2 3\n",
                           "4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3"};
    for (int i = 0; i < 3; i++) {
        write_text(temporary("a.off"), texts[i]);
        assert_ok(sinew_mesh_read(temporary("a.off"), &mesh, &error));
        assert_int_equal(mesh->vertex_count, 4);
        assert_int_equal(mesh->face_start[1], 4);
        assert_close(mesh->positions[7], 1, 0);
        sinew_mesh_destroy(mesh);
    }
    assert_mesh_refused("b.off", "OFF BINARY\n", "binary OFF is not supported");
    assert_mesh_refused("b.off", "4OFF\n1 0 0\n", "b.off:1:");
    assert_mesh_refused("b.off", "OFF\n1 1 0\n0 0 0\n3 0 0 1\n", "b.off:4: a vertex 1 is outside");
    assert_mesh_refused("b.off", "OFF\n4000000000 1 0\n0 0 0\n", "b.off:2: a vertex count");
    assert_mesh_refused("b.off", "OFF\n700000000 1 0\n0 0 0\n", "b.off:4: a coordinate is missing");
    assert_mesh_refused("b.off", "solid\n", "is not an OFF file");
}

static void medit_is_read_with_its_sections(void **state) {
    (void)state;
    sinew_error error;
    write_text(temporary("a.mesh"),
               "MeshVersionFormatted 1\n\nDimension\n3\nVertices 5\n0 0 0 1\n1 0 0 1\n0 1 0 2\n"
               "0 0 1 2 # apex\n1 1 1 0\nEdges\n1\n1 2 0\nTriangles\n1\n1 2 3 9\n"
               "Quadrilaterals\n1\n1 2 5 3 0\nTetrahedra 2\n1 2 3 4 7\n2 1 3 4 7\nEnd\n");
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_read(temporary("a.mesh"), &mesh, &error));
    assert_int_equal(mesh->vertex_count, 5);
    assert_int_equal(mesh->face_count, 2);
    assert_int_equal(mesh->face_start[2], 7);
    assert_int_equal(mesh->face_vertices[5], 4);
    sinew_mesh_destroy(mesh);
    sinew_tets *tets;
    assert_ok(sinew_tets_read(temporary("a.mesh"), &tets, &error));
    assert_int_equal(tets->tet_count, 2);
    /* the second was inside out */
    const int expected[] = {0, 1, 2, 3, 1, 0, 3, 2};
    assert_memory_equal(tets->tets, expected, sizeof expected);
    sinew_tets_destroy(tets);
    assert_mesh_refused("b.mesh", "Vertices 1\n0 0 0 0\n", "b.mesh:1: is not a MEDIT file");
    assert_mesh_refused("b.mesh", "MeshVersionFormatted 1 Dimension 2 Vertices 0", "not 3");
    assert_mesh_refused("b.mesh",
                        "MeshVersionFormatted 1\nVertices 1\n0 0 0 0\nTriangles 1\n1 1 2 0",
                        "b.mesh:5: a vertex 2 is outside 1 to 1");
    assert_mesh_refused("b.mesh", "MeshVersionFormatted 1\nBananas 1\n", "'Bananas'");
}

static void same_tets(const sinew_tets *a, const sinew_tets *b) {
    assert_int_equal(a->vertex_count, b->vertex_count);
    assert_int_equal(a->tet_count, b->tet_count);
    assert_memory_equal(a->tets, b->tets, 4 * sizeof(int) * (size_t)a->tet_count);
    assert_true(same_float32(a->positions, b->positions, 3 * (size_t)a->vertex_count));
}

static void check_real_tets(const char *path) {
    sinew_error error;
    sinew_tets *tets, *back;
    assert_ok(sinew_tets_read(path, &tets, &error));
    assert_true(tets->tet_count > 1000);
    const char *names[] = {"copy.mesh", "copy.node", "copy2.ele"};
    for (int i = 0; i < 3; i++) {
        assert_ok(sinew_tets_write(temporary(names[i]), tets, &error));
        assert_ok(sinew_tets_read(temporary(names[i]), &back, &error));
        same_tets(tets, back);
        sinew_tets_destroy(back);
    }
    sinew_tets_destroy(tets);
}

static void every_real_tet_mesh_comes_back(void **state) {
    (void)state;
    skip_without_data(test_data("SOURCES.md"));
    assert_true(for_each_data_file("mesh", check_real_tets) >= 2);
    assert_true(for_each_data_file("node", check_real_tets) >= 2);
    assert_true(for_each_data_file("ele", check_real_tets) >= 2);
    sinew_error error;
    sinew_tets *tets;
    assert_ok(sinew_tets_read(test_data("research/bartels-arma/arma_4.ele"), &tets, &error));
    assert_int_equal(tets->vertex_count, 684);
    assert_int_equal(tets->tet_count, 1924);
    sinew_tets_destroy(tets);
}

/* Two tets that share a side, in both formats: six triangles around them, all facing outwards. */
static void tets_are_read_as_a_mesh_of_their_outer_sides(void **state) {
    (void)state;
    sinew_error error;
    double positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
    int corners[] = {0, 1, 2, 3, 1, 2, 3, 4};
    const sinew_tets tets = {
        .vertex_count = 5, .positions = positions, .tet_count = 2, .tets = corners};
    const char *names[] = {"two.mesh", "two.node"};
    for (int i = 0; i < 2; i++) {
        assert_ok(sinew_tets_write(temporary(names[i]), &tets, &error));
        sinew_mesh *mesh;
        assert_ok(sinew_mesh_read(temporary(names[i]), &mesh, &error));
        assert_int_equal(mesh->vertex_count, 5);
        assert_int_equal(mesh->triangle_count, 6);
        double volume = 0;
        for (int t = 0; t < 6; t++) {
            const int *v = mesh->triangles + 3 * t;
            const double *a = positions + 3 * v[0], *b = positions + 3 * v[1],
                         *c = positions + 3 * v[2];
            volume += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                       a[2] * (b[0] * c[1] - b[1] * c[0])) /
                      6;
        }
        assert_close(volume, 0.5, 1e-12);
        sinew_mesh_destroy(mesh);
    }
}

static void tetgen_counts_from_zero_or_one(void **state) {
    (void)state;
    sinew_error error;
    const char *elements[] = {"1 4 0\n0 0 1 2 3\n", "1 4 0\n0 0 1 2 3\n",
                              "# made by hand\n1 10 1\n1 1 2 3 4 1 1 1 1 1 1 7\n"};
    const char *nodes[] = {"4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n",
                           "4 3\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n", /* without the counts */
                           "4 3 1 1\n1 0 0 0 5 0\n2 1 0 0 5 0\n3 0 1 0 5 0\n4 0 0 1 5 0\n"};
    for (int i = 0; i < 3; i++) {
        sn_source node = bytes_source(nodes[i], strlen(nodes[i]), "a.node");
        sn_source element = bytes_source(elements[i], strlen(elements[i]), "a.ele");
        sinew_tets *tets;
        assert_ok(sn_tetgen_parse(&node, &element, &tets, &error));
        const int expected[] = {0, 1, 2, 3};
        assert_memory_equal(tets->tets, expected, sizeof expected);
        sinew_tets_destroy(tets);
        bytes_source_free(&element);
        element = bytes_source("1 4 0\n1 1 2 3 5\n", 16, "a.ele");
        assert_int_equal(sn_tetgen_parse(&node, &element, &tets, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, "a.ele:2: a point 5 is outside"));
        bytes_source_free(&element);
        bytes_source_free(&node);
    }
}

/* Every format that reads and writes meshes, by what it says it holds. */
static void through_every_format(const char *path) {
    sinew_error error;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_read(path, &mesh, &error));
    for (const sn_format *const *f = sn_formats(); *f; f++) {
        if (!(*f)->read_mesh || !(*f)->write_mesh || *f == &sn_format_obj || *f == &sn_format_glb ||
            *f == &sn_format_ply)
            continue; /* those three have tests of their own */
        char name[64];
        snprintf(name, sizeof name, "through.%s", (*f)->endings);
        assert_ok(sinew_mesh_write(temporary(name), mesh, &error));
        sinew_mesh *back;
        assert_ok(sinew_mesh_read(temporary(name), &back, &error));
        assert_same_mesh(mesh, back, (*f)->holds);
        sinew_mesh_destroy(back);
    }
    sinew_mesh_destroy(mesh);
}

static void every_real_mesh_comes_back_through_every_format(void **state) {
    (void)state;
    skip_without_data(test_data("SOURCES.md"));
    assert_true(for_each_data_file("obj", through_every_format) >= 39);
    assert_true(for_each_data_file("ply", through_every_format) >= 9);
}

static void what_a_format_cannot_hold_is_refused_with_the_file_named(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh;
    double positions[9] = {0, 0, 0, 1e300, 0, 0, 0, 1, 0};
    int corners[3] = {0, 1, 2};
    assert_ok(sinew_mesh_create(3, positions, 1, NULL, corners, &mesh, &error));
    const char *path = temporary("huge.glb");
    assert_int_equal(sinew_mesh_write(path, mesh, &error), SINEW_BAD_INPUT);
    char expected[SINEW_MESSAGE_SIZE];
    snprintf(expected, sizeof expected, "%s: vertex 1 does not fit float32", path);
    assert_string_equal(error.message, expected);
    assert_false(sn_file_exists(path));
    sinew_mesh_destroy(mesh);
}

int test_meshes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_is_read_with_comments_and_colours),
        cmocka_unit_test(medit_is_read_with_its_sections),
        cmocka_unit_test(tets_are_read_as_a_mesh_of_their_outer_sides),
        cmocka_unit_test(tetgen_counts_from_zero_or_one),
        cmocka_unit_test(every_real_tet_mesh_comes_back),
        cmocka_unit_test(every_real_mesh_comes_back_through_every_format),
        cmocka_unit_test(what_a_format_cannot_hold_is_refused_with_the_file_named),
    };
    return cmocka_run_group_tests_name("meshes", tests, NULL, NULL);
}
