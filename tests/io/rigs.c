#include "groups.h"
#include "helpers.h"

#include <sys/stat.h>

#include "base/file.h"
#include "io/target.h"

static const double square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};

static sinew_rig *make_rig(void) {
    sinew_error error;
    const int start[] = {0, 4}, face[] = {0, 1, 2, 3};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(4, square, 1, start, face, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    const int all[] = {0, 1, 2, 3};
    const double deltas[] = {0.1, 0, 1.0 / 3, 0, 2e-7, 0, (double)0.3f, 0, 0, 1, 2, 3};
    assert_ok(sinew_rig_add_target(rig, "smile_L", 2, all + 1, deltas, &error));
    assert_ok(sinew_rig_add_target(rig, "smile_R", 4, all, deltas, &error));
    assert_ok(sinew_rig_add_target(rig, "strange/name: 50%", 1, all + 3, deltas, &error));
    assert_ok(sinew_rig_add_target(rig, "nothing", 0, NULL, NULL, &error));
    assert_ok(sinew_rig_add_inbetween(rig, "smile_L_half", 0, 0.5, 1, all, deltas + 3, &error));
    const int drivers[] = {0, 1};
    assert_ok(sinew_rig_add_combination(rig, "fix", SINEW_COMBINE_SMOOTH_LOWEST, 2, drivers, 1,
                                        all + 2, deltas + 6, &error));
    const int twice[] = {0, 0, 1};
    assert_ok(sinew_rig_add_combination(rig, "square", SINEW_COMBINE_MULTIPLY, 3, twice, 1, all + 2,
                                        deltas + 3, &error));
    const sinew_term terms[] = {{1.0 / 3, {1, 0, 2}, {2, 1, 3}}, {-2e-9, {2}, {8}}};
    const int three[] = {0, 3, 1};
    assert_ok(
        sinew_rig_add_polynomial(rig, "curve", 3, three, 2, terms, 1, all + 1, deltas + 9, &error));
    assert_ok(
        sinew_rig_add_hinge(rig, "touch", 3, three, 2, terms, 1, all + 1, deltas + 3, &error));
    assert_ok(sinew_rig_set_limits(rig, 1, -INFINITY, 2.5, &error));
    assert_ok(sinew_rig_set_group(rig, 0, "mouth", &error));
    assert_ok(sinew_rig_set_mirror(rig, 0, 1, &error));
    assert_ok(sinew_rig_add_region(rig, "corner", 2, all + 1, &error));
    return rig;
}

static void a_rig_folder_keeps_everything(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = make_rig(), *back, *again;
    const char *folder = temporary("rig");
    assert_ok(sinew_rig_write(folder, rig, &error));
    assert_ok(sinew_rig_read(1, &folder, &back, &error));
    assert_same_mesh(rig->neutral, back->neutral, sn_format_obj.holds);
    assert_same_rig(rig, back);
    /* into a folder that exists */
    assert_ok(sinew_rig_write(folder, back, &error));
    assert_ok(sinew_rig_read(1, &folder, &again, &error));
    assert_same_rig(rig, again);
    sinew_rig_destroy(rig);
    sinew_rig_destroy(back);
    sinew_rig_destroy(again);
}

static void write_text(const char *path, const char *text) {
    sinew_error error;
    assert_ok(sn_file_write(path, text, strlen(text), &error));
}

static void a_neutral_with_folders_and_files_is_a_rig(void **state) {
    (void)state;
    sinew_error error;
    mkdir(temporary("shapes"), 0777);
    write_text(temporary("n.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    write_text(temporary("shapes/b.target"), "# deltas\n\n2 .001 0 0\n0 0 -.5 1e-2\n");
    write_text(temporary("shapes/a.obj"), "v 0 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 3\n");
    write_text(temporary("shapes/readme.txt"), "not a shape");
    write_text(temporary("points.obj"), "v 0 0 0\nv 1 0 0\nv 0 3 0\n");
    const char *paths[] = {temporary("n.obj"), temporary("shapes"), temporary("points.obj")};
    sinew_rig *rig;
    assert_ok(sinew_rig_read(3, paths, &rig, &error));
    assert_int_equal(rig->target_count, 3);
    assert_string_equal(rig->targets[0].name, "a");
    assert_string_equal(rig->targets[1].name, "b");
    assert_string_equal(rig->targets[2].name, "points");
    assert_int_equal(rig->targets[0].count, 1);
    assert_close(rig->targets[0].deltas[0], 1, 0);
    assert_int_equal(rig->targets[1].vertices[0], 0);
    assert_close(rig->targets[1].deltas[3], 0.001, 0);
    assert_close(rig->targets[2].deltas[1], 2, 0);
    sinew_rig_destroy(rig);
}

static void assert_rig_refused(const char *second, const char *what) {
    sinew_error error = {0};
    const char *paths[] = {temporary("n.obj"), second};
    sinew_rig *rig;
    assert_int_equal(sinew_rig_read(2, paths, &rig, &error), SINEW_BAD_INPUT);
    assert_null(rig);
    if (!strstr(error.message, what) || strncmp(error.message, second, strlen(second)) != 0)
        fail_msg("%s", error.message);
}

static void poses_that_do_not_match_are_refused_at_the_first_difference(void **state) {
    (void)state;
    write_text(temporary("n.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    write_text(temporary("p.obj"), "v 0 0 0\nv 1 0 0\nf 1 2 2\n");
    assert_rig_refused(temporary("p.obj"), "n has 3 vertices, p has 2");
    write_text(temporary("p.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 3 2 1\nf 1 2 2\n");
    assert_rig_refused(temporary("p.obj"),
                       "1 of 2 faces differ from n, first face 1 of p (vertices 0 1 1)");
    write_text(temporary("p.obj"), "v 0 0 0\nv 1 0 0\n");
    assert_rig_refused(temporary("p.obj"), "n has 3 vertices, p has 2");
    write_text(temporary("p.target"), "0 0 0 0\n3 0 0 0\n");
    assert_rig_refused(temporary("p.target"), ":2: a vertex 3 is outside 0 to 2");
    write_text(temporary("p.target"), "1 0 0 0\n1 0 0 0\n");
    assert_rig_refused(temporary("p.target"), ":2: vertex 1 already appears on line 1");
    write_text(temporary("p.target"), "1 0 0\n");
    assert_rig_refused(temporary("p.target"), ":1: a displacement is missing");
    write_text(temporary("p.target"), "1 0 0 0 0\n");
    assert_rig_refused(temporary("p.target"), ":1: unexpected '0' at the end of the line");
}

static void bad_descriptions_are_refused(void **state) {
    (void)state;
    const char *bad[] = {"[]",
                         "{\"format\":\"other\"}",
                         "{\"format\":\"sinew-rig\",\"version\":2}",
                         "{\"format\":\"sinew-rig\",\"version\":1,\"sliders\":[{}]}",
                         "{\"format\":\"sinew-rig\",\"version\":1,\"sliders\":[{\"name\":\"a\"},"
                         "{\"name\":\"a\"}]}",
                         "{\"format\":\"sinew-rig\",\"version\":1,\"targets\":[{\"name\":\"a\","
                         "\"kind\":\"plain\",\"slider\":\"b\"}]}",
                         "{\"format\":\"sinew-rig\",\"version\":1,\"regions\":{\"a\":[7]}}",
                         "{\"format\":\"sinew-rig\",\"version\":1,\"sliders\":[{\"name\":\"a\","
                         "\"mirror\":\"z\"}]}",
                         "{\"format\":\"sinew-rig\",\"format\":\"sinew-rig\"}",
                         "{\"a\":"};
    mkdir(temporary("bad"), 0777);
    mkdir(temporary("bad/targets"), 0777);
    write_text(temporary("bad/neutral.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sinew_error error = {0};
        write_text(temporary("bad/rig.json"), bad[i]);
        const char *path = temporary("bad");
        sinew_rig *rig;
        assert_int_equal(sinew_rig_read(1, &path, &rig, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, "rig.json:")) fail_msg("%s", error.message);
    }
}

/* The reference reads the target with the C library. */
static void check_real_target(const char *path) {
    sinew_error error;
    sn_source source;
    assert_ok(sn_source_open(&source, path, &error));
    sn_deltas deltas, back;
    assert_ok(sn_target_read(&source, 30000, &deltas, &error));
    sn_source_close(&source);
    FILE *file = fopen(path, "r");
    char line[512];
    int rows = 0;
    while (fgets(line, sizeof line, file)) {
        int vertex;
        double d[3];
        if (line[0] == '#' || sscanf(line, "%d %lf %lf %lf", &vertex, d, d + 1, d + 2) != 4)
            continue;
        if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
        assert_int_equal(deltas.vertices[rows], vertex);
        assert_memory_equal(deltas.values + 3 * rows, d, sizeof d);
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, deltas.count);
    sinew_target target = {
        .count = deltas.count, .vertices = deltas.vertices, .deltas = deltas.values};
    sn_buffer out = {0};
    sn_target_write(&target, &out);
    sn_source copy = bytes_source(out.bytes, out.size, "copy");
    assert_ok(sn_target_read(&copy, 30000, &back, &error));
    assert_int_equal(back.count, deltas.count);
    assert_memory_equal(back.vertices, deltas.vertices, (size_t)back.count * sizeof(int));
    assert_true(same_float32(back.values, deltas.values, 3 * (size_t)back.count));
    bytes_source_free(&copy);
    sn_buffer_free(&out);
    sn_deltas_free(&deltas);
    sn_deltas_free(&back);
}

static void every_real_target_comes_back(void **state) {
    (void)state;
    skip_without_data(test_data("SOURCES.md"));
    assert_true(for_each_data_file("target", check_real_target) >= 211);
}

static void a_real_rig_loads_with_its_names(void **state) {
    (void)state;
    sinew_error error;
    const char *paths[] = {test_data("free/facecap/head.obj"), test_data("free/facecap/targets")};
    skip_without_data(paths[0]);
    sinew_rig *rig;
    assert_ok(sinew_rig_read(2, paths, &rig, &error));
    assert_int_equal(rig->target_count, 52);
    assert_string_equal(rig->targets[0].name, "browDown_L");
    assert_int_equal(sinew_rig_find_slider(rig, "jawOpen") >= 0, 1);
    sinew_rig_destroy(rig);
}

int test_rigs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rig_folder_keeps_everything),
        cmocka_unit_test(a_neutral_with_folders_and_files_is_a_rig),
        cmocka_unit_test(poses_that_do_not_match_are_refused_at_the_first_difference),
        cmocka_unit_test(bad_descriptions_are_refused),
        cmocka_unit_test(every_real_target_comes_back),
        cmocka_unit_test(a_real_rig_loads_with_its_names),
    };
    return cmocka_run_group_tests_name("rigs", tests, NULL, NULL);
}
