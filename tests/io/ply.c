#include "groups.h"
#include "helpers.h"

static sinew_status parse(const void *bytes, size_t size, sinew_mesh **mesh, sinew_error *error) {
    sn_source source = bytes_source(bytes, size, "a.ply");
    *mesh = NULL;
    sinew_status status = sn_format_ply.read_mesh(&source, mesh, error);
    bytes_source_free(&source);
    return status;
}

static void ascii_with_extra_properties_is_read(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh;
    const char *text =
        "ply\r\nformat ascii 1.0\r\ncomment made by hand\nobj_info x\n"
        "element marker 2\nproperty list uchar float bag\n"
        "element vertex 4\nproperty uchar red\nproperty double x\nproperty float y\n"
        "property float z\nproperty float quality\nproperty float nx\n"
        "property float ny\nproperty float nz\n"
        "element face 2\nproperty int flags\n"
        "property list uchar int vertex_indices\nproperty list uchar float texcoord\n"
        "end_header\n"
        "2 0.5 0.5\n0\n"
        "255 0 0 0 nan 0 0 1\n255 1 0 0 1 0 0 1\n255 1 1 0 1 0 0 1\n"
        "255 0 1 .25 1 0 0 1\n"
        "7 4 0 1 2 3 8 0 0 1 0 1 1 0 1\n7 3 0 1 2 6 0 0 1 0 1 1\n";
    assert_ok(parse(text, strlen(text), &mesh, &error));
    assert_int_equal(mesh->vertex_count, 4);
    assert_int_equal(mesh->face_count, 2);
    assert_int_equal(mesh->face_start[1], 4);
    assert_close(mesh->positions[11], 0.25, 0);
    assert_int_equal(mesh->normal_count, 4);
    assert_int_equal(mesh->corner_normal[6], 2);
    assert_int_equal(mesh->uv_count, 7);
    assert_close(mesh->uvs[2 * mesh->corner_uv[2] + 1], 1, 0);
    sinew_mesh_destroy(mesh);
}

/* A quad in a binary file of either byte order, packed by hand. */
static void binary_of_both_byte_orders_is_read(void **state) {
    (void)state;
    sinew_error error;
    for (int big = 0; big < 2; big++) {
        char file[512];
        int size = snprintf(file, sizeof file,
                            "ply\nformat binary_%s_endian 1.0\nelement vertex 4\n"
                            "property short x\nproperty float y\nproperty double z\n"
                            "element face 1\nproperty list ushort uint vertex_index\nend_header\n",
                            big ? "big" : "little");
        for (int v = 0; v < 4; v++) {
            int16_t x = (int16_t)(-v);
            float y = 0.5f * (float)v;
            double z = 1e-3 * v;
            struct {
                const void *at;
                int size;
            } parts[] = {{&x, 2}, {&y, 4}, {&z, 8}};
            for (int p = 0; p < 3; p++)
                for (int b = 0; b < parts[p].size; b++)
                    file[size++] = ((const char *)parts[p].at)[big ? parts[p].size - 1 - b : b];
        }
        file[size + !!big] = 4, file[size + !big] = 0, size += 2;
        for (int v = 0; v < 4; v++)
            for (int b = 0; b < 4; b++) file[size++] = (char)(b == (big ? 3 : 0) ? v : 0);
        sinew_mesh *mesh;
        assert_ok(parse(file, (size_t)size, &mesh, &error));
        assert_int_equal(mesh->face_start[1], 4);
        assert_close(mesh->positions[9], -3, 0);
        assert_close(mesh->positions[10], 1.5, 0);
        assert_close(mesh->positions[11], 3e-3, 0);
        assert_int_equal(mesh->face_vertices[3], 3);
        sinew_mesh_destroy(mesh);
        for (int cut = 0; cut < size; cut++)
            assert_int_equal(parse(file, (size_t)cut, &mesh, &error), SINEW_BAD_INPUT);
    }
}

static void bad_headers_and_huge_counts_are_refused(void **state) {
    (void)state;
    const char *bad[] = {
        "plx\n",
        "ply\nformat ascii 2.0\nend_header\n",
        "ply\nformat ascii 1.0\nelement vertex 4294967296\nproperty float x\nend_header\n",
        "ply\nformat ascii 1.0\nelement vertex -1\nend_header\n",
        "ply\nformat ascii 1.0\nproperty float x\nend_header\n",
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty quad x\nend_header\n0\n",
        "ply\nformat binary_little_endian 1.0\nelement vertex 700000000\nproperty float x\n"
        "property float y\nproperty float z\nend_header\nabc",
        "ply\nformat binary_little_endian 1.0\nelement vertex 0\nproperty float x\n"
        "property float y\nproperty float z\nelement face 1\n"
        "property list uint int vertex_indices\nend_header\n\xff\xff\xff\x7f",
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
        "property float z\nelement face 1\nproperty list uchar int vertex_index\nend_header\n"
        "0 0 0\n3 0 0 1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sinew_error error = {0};
        sinew_mesh *mesh;
        assert_int_equal(parse(bad[i], strlen(bad[i]), &mesh, &error), SINEW_BAD_INPUT);
        if (strncmp(error.message, "a.ply:", 6) != 0) fail_msg("%s", error.message);
    }
}

static void round_trip(const char *path) {
    sinew_error error;
    sinew_mesh *mesh, *back;
    assert_ok(sinew_mesh_read(path, &mesh, &error));
    const char *copy = temporary("copy.ply");
    assert_ok(sinew_mesh_write(copy, mesh, &error));
    assert_ok(sinew_mesh_read(copy, &back, &error));
    bool uvs = mesh->corner_uv != NULL;
    for (int c = 0; uvs && c < mesh->face_start[mesh->face_count]; c++)
        uvs = mesh->corner_uv[c] >= 0;
    assert_same_mesh(mesh, back, SN_HOLDS_POLYGONS | (uvs ? SN_HOLDS_UVS : 0u));
    assert_memory_equal(mesh->positions, back->positions,
                        3 * sizeof(double) * (size_t)mesh->vertex_count);
    sinew_mesh_destroy(mesh);
    sinew_mesh_destroy(back);
}

static void every_real_mesh_comes_back_through_ply(void **state) {
    (void)state;
    skip_without_data(test_data("SOURCES.md"));
    assert_true(for_each_data_file("ply", round_trip) >= 9);
    assert_true(for_each_data_file("obj", round_trip) >= 39);
}

int test_ply(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ascii_with_extra_properties_is_read),
        cmocka_unit_test(binary_of_both_byte_orders_is_read),
        cmocka_unit_test(bad_headers_and_huge_counts_are_refused),
        cmocka_unit_test(every_real_mesh_comes_back_through_ply),
    };
    return cmocka_run_group_tests_name("ply", tests, NULL, NULL);
}
