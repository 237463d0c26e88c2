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

int test_frames(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc2_comes_back_with_its_published_layout),
        cmocka_unit_test(an_abandoned_or_short_cache_leaves_nothing),
        cmocka_unit_test(frames_that_are_not_finite_are_named),
    };
    return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
