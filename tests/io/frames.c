#include "groups.h"
#include "helpers.h"

#include "base/file.h"

static const double square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
static const int square_face[] = {0, 1, 2, 3};
static const int square_start[] = {0, 4};

static sinew_mesh *make_square(void) {
    sinew_error error;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(4, square, 1, square_start, square_face, &mesh, &error));
    return mesh;
}

static void moved_square(int frame, double positions[12]) {
    for (int i = 0; i < 12; i++) positions[i] = square[i] + 0.1 * frame * (i % 3 + 1);
}

static void pc2_comes_back_with_its_published_layout(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = make_square();
    const char *path = temporary("a.pc2");
    sinew_frame_writer *writer;
    assert_ok(sinew_frame_writer_open(path, mesh, 3, 0.5, 30, &writer, &error));
    double positions[12];
    for (int k = 0; k < 3; k++) {
        moved_square(k, positions);
        assert_ok(sinew_frame_writer_add(writer, positions, &error));
        assert_false(sn_file_exists(path));
    }
    assert_ok(sinew_frame_writer_close(writer, &error));

    FILE *file = fopen(path, "rb");
    struct {
        char signature[12];
        int32_t version, points;
        float start, sampling;
        int32_t samples;
        float rows[3][12];
    } cache;
    assert_int_equal(fread(&cache, 1, sizeof cache, file), sizeof cache);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    assert_string_equal(cache.signature, "POINTCACHE2");
    assert_int_equal(cache.version, 1);
    assert_int_equal(cache.points, 4);
    assert_int_equal(cache.samples, 3);
    assert_true(cache.start == 15 && cache.sampling == 1);

    sinew_frames *frames;
    assert_ok(sinew_frames_read(path, &frames, &error));
    assert_int_equal(frames->frame_count, 3);
    assert_int_equal(frames->vertex_count, 4);
    assert_close(frames->start, 0.5, 1e-9);
    assert_close(frames->rate, 30, 1e-9);
    for (int k = 0; k < 3; k++) {
        moved_square(k, positions);
        for (int i = 0; i < 12; i++) {
            assert_true(cache.rows[k][i] == (float)positions[i]);
            assert_true(frames->positions[12 * k + i] == (float)positions[i]);
        }
    }
    sinew_frames_destroy(frames);
    sinew_mesh_destroy(mesh);
}

static void an_abandoned_or_short_cache_leaves_nothing(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = make_square();
    const char *path = temporary("short.pc2");
    sinew_frame_writer *writer;
    assert_ok(sinew_frame_writer_open(path, mesh, 2, 0, 30, &writer, &error));
    assert_ok(sinew_frame_writer_add(writer, square, &error));
    assert_int_equal(sinew_frame_writer_close(writer, &error), SINEW_MISUSE);
    assert_false(sn_file_exists(path));
    assert_ok(sinew_frame_writer_open(path, mesh, 2, 0, 30, &writer, &error));
    sinew_frame_writer_abandon(writer);
    assert_false(sn_file_exists(path));
    sinew_mesh_destroy(mesh);
}

static void frames_that_are_not_finite_are_named(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = make_square();
    sinew_frame_writer *writer;
    assert_ok(sinew_frame_writer_open(temporary("nan.pc2"), mesh, 1, 0, 30, &writer, &error));
    double positions[12];
    moved_square(0, positions);
    positions[7] = NAN;
    assert_int_equal(sinew_frame_writer_add(writer, positions, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 2 is not finite"));
    sinew_frame_writer_abandon(writer);
    sinew_mesh_destroy(mesh);
}

static void write_three(const char *path, const sinew_mesh *mesh, double start, double rate) {
    sinew_error error;
    sinew_frame_writer *writer;
    assert_ok(sinew_frame_writer_open(path, mesh, 3, start, rate, &writer, &error));
    double positions[12];
    for (int k = 0; k < 3; k++) {
        moved_square(k, positions);
        assert_ok(sinew_frame_writer_add(writer, positions, &error));
    }
    assert_ok(sinew_frame_writer_close(writer, &error));
}

static void assert_three(const char *path, double start, double rate) {
    sinew_error error;
    sinew_frames *frames;
    assert_ok(sinew_frames_read(path, &frames, &error));
    assert_int_equal(frames->frame_count, 3);
    assert_int_equal(frames->vertex_count, 4);
    assert_close(frames->start, start, 1e-6);
    assert_close(frames->rate, rate, 1e-6);
    double positions[12];
    for (int k = 0; k < 3; k++) {
        moved_square(k, positions);
        for (int i = 0; i < 12; i++)
            assert_true(frames->positions[12 * k + i] == (float)positions[i]);
    }
    sinew_frames_destroy(frames);
}

static void mdd_comes_back_with_its_published_layout(void **state) {
    (void)state;
    sinew_mesh *mesh = make_square();
    const char *path = temporary("a.mdd");
    write_three(path, mesh, 0.5, 24);
    assert_three(path, 0.5, 24);
    unsigned char bytes[8 + 12 + 144 + 1];
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof bytes - 1);
    fclose(file);
    const unsigned char head[] = {0, 0, 0, 3, 0, 0, 0, 4, 0x3f, 0, 0, 0}; /* 3, 4, 0.5f */
    assert_memory_equal(bytes, head, sizeof head);
    sinew_mesh_destroy(mesh);
}

static void obj_sequences_are_numbered(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = make_square();
    write_three(temporary("walk.obj"), mesh, 0, 30);
    assert_true(sn_file_exists(temporary("walk.0000.obj")));
    assert_true(sn_file_exists(temporary("walk.0002.obj")));
    assert_three(temporary("walk.obj"), 0, 30);
    write_three(temporary("run_%02d.obj"), mesh, 1, 30);
    assert_true(sn_file_exists(temporary("run_30.obj")));
    assert_three(temporary("run_%02d.obj"), 1, 30);
    write_three(temporary("jump.###.obj"), mesh, 0, 30);
    assert_true(sn_file_exists(temporary("jump.001.obj")));
    assert_three(temporary("jump.###.obj"), 0, 30);
    sinew_frame_writer *writer;
    assert_ok(sinew_frame_writer_open(temporary("gone.obj"), mesh, 3, 0, 30, &writer, &error));
    assert_ok(sinew_frame_writer_add(writer, square, &error));
    sinew_frame_writer_abandon(writer);
    sinew_frames *frames;
    assert_int_equal(sinew_frames_read(temporary("gone.obj"), &frames, &error), SINEW_IO);
    char **names;
    int count;
    assert_ok(sn_folder_list(test_folder(), &names, &count, &error));
    for (int i = 0; i < count; i++) assert_null(strstr(names[i], ".sinew-"));
    sn_names_free(names, count);
    /* a file of another shape among them */
    assert_ok(sn_file_write(temporary("walk.0001.obj"), "v 0 0 0\n", 8, &error));
    assert_int_equal(sinew_frames_read(temporary("walk.obj"), &frames, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "walk.0001.obj"));
    sinew_mesh_destroy(mesh);
}

/* Brackets balance, and what was given stands in the text. */
static char *read_usda(const char *path) {
    sinew_error error;
    char *text;
    size_t size;
    assert_ok(sn_file_read(path, &text, &size, &error));
    assert_memory_equal(text, "#usda 1.0\n", 10);
    int depth[3] = {0};
    bool quoted = false;
    for (const char *c = text; *c; c++) {
        if (*c == '"' && c[-1] != '\\') quoted = !quoted;
        for (int k = 0; k < 3 && !quoted; k++) {
            depth[k] += *c == "([{"[k];
            depth[k] -= *c == ")]}"[k];
            assert_true(depth[k] >= 0);
        }
    }
    assert_true(!quoted && depth[0] == 0 && depth[1] == 0 && depth[2] == 0);
    return text;
}

static void usda_holds_points_over_time(void **state) {
    (void)state;
    sinew_mesh *mesh = make_square();
    write_three(temporary("a.usda"), mesh, 0.5, 24);
    char *text = read_usda(temporary("a.usda"));
    assert_non_null(strstr(text, "timeCodesPerSecond = 24"));
    assert_non_null(strstr(text, "startTimeCode = 12"));
    assert_non_null(strstr(text, "endTimeCode = 14"));
    assert_non_null(strstr(text, "int[] faceVertexCounts = [4]"));
    assert_non_null(strstr(text, "12: [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)],"));
    assert_non_null(strstr(text, "13: [(0.1, 0.2, 0.3), "));
    sinew_free(text);
    sinew_mesh_destroy(mesh);
}

static void usda_holds_blend_shapes_with_inbetweens(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig;
    assert_ok(sinew_rig_create(make_square(), &rig, &error));
    const int vertices[] = {1, 3};
    const double deltas[] = {0.5, 0, 0, 0, 0.25, 0};
    assert_ok(sinew_rig_add_target(rig, "smile \"L\"", 1, vertices + 1, deltas + 3, &error));
    assert_ok(sinew_rig_add_target(rig, "smile L", 1, vertices, deltas, &error));
    assert_ok(sinew_rig_add_inbetween(rig, "half", 0, 0.5, 1, vertices, deltas, &error));
    const int drivers[] = {0, 1};
    assert_ok(sinew_rig_add_combination(rig, "fix", SINEW_COMBINE_LOWEST, 2, drivers, 1, vertices,
                                        deltas, &error));
    assert_ok(sinew_rig_write(temporary("rig.usda"), rig, &error));
    char *text = read_usda(temporary("rig.usda"));
    assert_non_null(strstr(text, "def SkelRoot \"Rig\""));
    assert_non_null(strstr(text, "skel:blendShapes = [\"smile__L_\", \"smile_L\", \"fix\"]"));
    assert_non_null(strstr(text, "</Rig/Mesh/smile_L>"));
    assert_non_null(strstr(text, "string name = \"smile \\\"L\\\"\""));
    /* one list of points for the shape and its in-between */
    assert_non_null(strstr(text, "offsets = [(0, 0, 0), (0, 0.25, 0)]"));
    assert_non_null(strstr(text, "pointIndices = [1, 3]"));
    assert_non_null(strstr(text, "inbetweens:half = [(0.5, 0, 0), (0, 0, 0)] (\n"
                                 "                weight = 0.5"));
    assert_non_null(strstr(text, "string combine = \"lowest\""));
    sinew_free(text);
    sinew_rig_destroy(rig);
}

int test_frames(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc2_comes_back_with_its_published_layout),
        cmocka_unit_test(an_abandoned_or_short_cache_leaves_nothing),
        cmocka_unit_test(frames_that_are_not_finite_are_named),
        cmocka_unit_test(mdd_comes_back_with_its_published_layout),
        cmocka_unit_test(obj_sequences_are_numbered),
        cmocka_unit_test(usda_holds_points_over_time),
        cmocka_unit_test(usda_holds_blend_shapes_with_inbetweens),
    };
    return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
