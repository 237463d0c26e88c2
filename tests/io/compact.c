/* Small GLB files: quantized and compressed. */
#include "groups.h"
#include "helpers.h"

#include "base/file.h"
#include "base/memory.h"

enum { SIDE = 40, VERTICES = SIDE * SIDE };

static sinew_mesh *sheet(void) {
    sinew_error error;
    static double positions[3 * VERTICES];
    static int start[(SIDE - 1) * (SIDE - 1) + 1], corners[4 * (SIDE - 1) * (SIDE - 1)];
    int faces = 0;
    for (int i = 0; i < VERTICES; i++) {
        positions[3 * i] = (double)(float)(0.1 * (i % SIDE));
        positions[3 * i + 1] = (double)(float)(0.1 * (i / SIDE));
        positions[3 * i + 2] = (double)(float)sin(0.3 * i);
    }
    for (int y = 0; y + 1 < SIDE; y++)
        for (int x = 0; x + 1 < SIDE; x++, faces++) {
            const int quad[] = {y * SIDE + x, y * SIDE + x + 1, (y + 1) * SIDE + x + 1,
                                (y + 1) * SIDE + x};
            memcpy(corners + 4 * faces, quad, sizeof quad);
            start[faces] = 4 * faces;
        }
    start[faces] = 4 * faces;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(VERTICES, positions, faces, start, corners, &mesh, &error));
    return mesh;
}

static sinew_rig *sheet_rig(void) {
    sinew_error error;
    sinew_rig *rig;
    assert_ok(sinew_rig_create(sheet(), &rig, &error));
    int vertices[VERTICES / 2];
    double deltas[3 * (VERTICES / 2)];
    for (int t = 0; t < 5; t++) {
        for (int i = 0; i < VERTICES / 2; i++) {
            vertices[i] = i + t * 100;
            for (int c = 0; c < 3; c++) deltas[3 * i + c] = 0.4 * sin(0.01 * i + t + 2 * c);
        }
        char name[16];
        snprintf(name, sizeof name, "target %d", t);
        assert_ok(sinew_rig_add_target(rig, name, VERTICES / 2, vertices, deltas, &error));
    }
    const sinew_term term = {0.5, {0, 1}, {2, 1}};
    const int drivers[] = {0, 3};
    assert_ok(sinew_rig_add_polynomial(rig, "curve", 2, drivers, 1, &term, VERTICES / 2, vertices,
                                       deltas, &error));
    return rig;
}

static size_t size_of(const char *path) {
    sinew_error error;
    char *bytes;
    size_t size;
    assert_ok(sn_file_read(path, &bytes, &size, &error));
    sn_free(bytes);
    return size;
}

static void a_compact_rig_is_small_and_within_its_tolerance(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = sheet_rig(), *back;
    const char *plain = temporary("plain.glb"), *path = temporary("compact.glb");
    sinew_compact_options options;
    sinew_compact_options_init(&options);
    assert_ok(sinew_rig_write(plain, rig, &error));
    double diagonal = sinew_diagonal(VERTICES, rig->neutral->positions);
    for (int normals = 0; normals < 2; normals++) {
        options.normals = normals;
        assert_ok(sinew_rig_write_compact(path, rig, NULL, &options, &error));
        assert_true(size_of(path) < size_of(plain) / (normals ? 2 : 3));
        assert_ok(sinew_rig_read(1, &path, &back, &error));
        /* The neutral to the bit, with polygons, names and drivers. */
        assert_same_mesh(rig->neutral, back->neutral, SN_HOLDS_POLYGONS);
        assert_int_equal(back->target_count, rig->target_count);
        assert_int_equal(back->slider_count, rig->slider_count);
        assert_int_equal(back->targets[5].term_count, 1);
        double shape[3 * VERTICES], found[3 * VERTICES], most = 0;
        for (int t = 0; t < rig->target_count; t++) {
            assert_string_equal(back->targets[t].name, rig->targets[t].name);
            sinew_rig_shape(rig, t, shape);
            sinew_rig_shape(back, t, found);
            for (int i = 0; i < VERTICES; i++)
                most = fmax(most, hypot(hypot(shape[3 * i] - found[3 * i],
                                              shape[3 * i + 1] - found[3 * i + 1]),
                                        shape[3 * i + 2] - found[3 * i + 2]));
        }
        assert_below(most, options.tolerance * diagonal);
        assert_true(most > 0.05 * options.tolerance * diagonal); /* it is rounded at all */
        sinew_rig_destroy(back);
    }
    assert_int_equal(sinew_rig_write_compact("rig.fbx", rig, NULL, NULL, &error), SINEW_BAD_INPUT);
    options.tolerance = 0;
    assert_int_equal(sinew_rig_write_compact(path, rig, NULL, &options, &error), SINEW_MISUSE);
    sinew_rig_destroy(rig);
}

/* The errors of many targets add up in a pose. */
static void poses_of_a_compact_clip_are_within_its_tolerance(void **state) {
    (void)state;
    enum { TARGETS = 40 };
    sinew_error error;
    sinew_rig *rig, *back;
    sinew_curves *curves;
    const char *path = temporary("clip.glb");
    double shape[3 * VERTICES], ones[TARGETS], positions[2][3 * VERTICES], most = 0;
    assert_ok(sinew_rig_create(sheet(), &rig, &error));
    assert_ok(sinew_curves_create(TARGETS, 2, &curves, &error));
    for (int t = 0; t < TARGETS; t++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", t);
        for (int i = 0; i < 3 * VERTICES; i++)
            shape[i] = rig->neutral->positions[i] + 0.1 * sin(1.7 * i * (t + 1));
        assert_ok(sinew_rig_add_pose(rig, name, shape, &error));
        assert_ok(sinew_curves_set_name(curves, t, name, &error));
        curves->values[t] = 0, curves->values[TARGETS + t] = ones[t] = 1;
    }
    curves->times[0] = 0, curves->times[1] = 1;
    assert_ok(sinew_rig_write_compact(path, rig, curves, NULL, &error));
    assert_ok(sinew_rig_read(1, &path, &back, &error));
    for (int k = 0; k < 2; k++) {
        sinew_linear *linear;
        assert_ok(sinew_linear_create(k ? back : rig, &linear, &error));
        sinew_linear_evaluate(linear, ones, positions[k]);
        sinew_linear_destroy(linear);
    }
    for (int i = 0; i < VERTICES; i++) {
        const double *a = positions[0] + 3 * i, *b = positions[1] + 3 * i;
        most = fmax(most, hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]));
    }
    assert_below(most, SINEW_COMPACT_TOLERANCE * sinew_diagonal(VERTICES, rig->neutral->positions));
    assert_true(most > 0);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig), sinew_rig_destroy(back);
}

static void compact_frames_stay_within_their_tolerance(void **state) {
    (void)state;
    enum { FRAMES = 20 };
    const double tolerance = 0.002;
    sinew_error error;
    sinew_mesh *mesh = sheet();
    sinew_frames *frames;
    double positions[3 * VERTICES];
    const char *path[] = {temporary("frames.glb"), temporary("compact_frames.glb")};
    for (int compact = 0; compact < 2; compact++) {
        sinew_frame_writer *writer;
        assert_ok(sinew_frame_writer_open(path[compact], mesh, FRAMES, 0, 30, &writer, &error));
        sinew_frame_writer_set_tolerance(writer, tolerance);
        if (compact) sinew_frame_writer_set_compact(writer, false);
        for (int k = 0; k < FRAMES; k++) {
            for (int i = 0; i < 3 * VERTICES; i++)
                positions[i] = mesh->positions[i] + 0.3 * sin(0.2 * k + 0.01 * i);
            assert_ok(sinew_frame_writer_add(writer, positions, &error));
        }
        assert_ok(sinew_frame_writer_close(writer, &error));
    }
    assert_true(size_of(path[1]) < size_of(path[0]) / 2);
    assert_ok(sinew_frames_read(path[1], &frames, &error));
    assert_int_equal(frames->frame_count, FRAMES);
    for (int k = 0; k < FRAMES; k++)
        for (int i = 0; i < 3 * VERTICES; i++) {
            double wanted = mesh->positions[i] + 0.3 * sin(0.2 * k + 0.01 * i);
            assert_close((double)frames->positions[(size_t)k * 3 * VERTICES + (size_t)i], wanted,
                         tolerance);
        }
    sinew_frames_destroy(frames);
    sinew_mesh_destroy(mesh);
}

/* Frames that stand still, or move along one line, need one target. */
static void frames_of_one_motion_have_one_target(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = sheet();
    double positions[3 * VERTICES];
    const char *path = temporary("line.glb");
    for (int moves = 0; moves < 2; moves++) {
        sinew_frame_writer *writer;
        assert_ok(sinew_frame_writer_open(path, mesh, 5, 0, 30, &writer, &error));
        sinew_frame_writer_set_tolerance(writer, 1e-3);
        for (int k = 0; k < 5; k++) {
            for (int i = 0; i < 3 * VERTICES; i++)
                positions[i] = mesh->positions[i] + moves * 0.1 * k * sin(i);
            assert_ok(sinew_frame_writer_add(writer, positions, &error));
        }
        assert_ok(sinew_frame_writer_close(writer, &error));
        sinew_rig *rig;
        assert_ok(sinew_rig_read(1, &path, &rig, &error));
        assert_int_equal(rig->target_count, 1);
        sinew_rig_destroy(rig);
        sinew_frames *frames;
        assert_ok(sinew_frames_read(path, &frames, &error));
        assert_int_equal(frames->frame_count, 5);
        sinew_frames_destroy(frames);
    }
    sinew_mesh_destroy(mesh);
}

static sinew_status write_once(void *user) {
    sinew_error error;
    return sinew_rig_write_compact(temporary("compact_memory.glb"), user, NULL, NULL, &error);
}

static void a_compact_rig_survives_without_memory(void **state) {
    (void)state;
    sinew_rig *rig = sheet_rig();
    assert_true(test_out_of_memory(write_once, rig) > 10);
    sinew_rig_destroy(rig);
}

int test_compact(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compact_rig_is_small_and_within_its_tolerance),
        cmocka_unit_test(poses_of_a_compact_clip_are_within_its_tolerance),
        cmocka_unit_test(compact_frames_stay_within_their_tolerance),
        cmocka_unit_test(frames_of_one_motion_have_one_target),
        cmocka_unit_test(a_compact_rig_survives_without_memory),
    };
    return cmocka_run_group_tests_name("compact", tests, NULL, NULL);
}
