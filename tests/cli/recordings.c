#include "support.h"

#include "base/file.h"
#include "base/memory.h"
#include "command.h"
#include "groups.h"
#include "sinew/frames.h"
#include "sinew/io.h"

/* A recording as motion capture systems write it needs no options: C3D and TRC in millimeters give
 * the frames that the same take gives as CSV. */

enum { BLOCK = 512, PARAMETER_BLOCKS = 12, LABEL = 40, RESIDUAL = 2 };
/* Meters: some units in the last place of the frames' single precision, to which C3D also rounds.
 */
#define TOLERANCE 1e-7

static const char *folder;

static char *path_of(const char *name) {
    return sn_path_join(folder, name);
}

/* ---- a C3D file of an Intel machine ---------------------------------------------------------- */

typedef struct c3d {
    unsigned char *bytes;
    size_t size;
} c3d;

static void put_word(c3d *f, size_t at, int value) {
    f->bytes[at] = (unsigned char)(value & 0xff);
    f->bytes[at + 1] = (unsigned char)(value >> 8 & 0xff);
}

static void put_float(c3d *f, size_t at, double value) {
    float number = (float)value;
    memcpy(f->bytes + at, &number, sizeof number);
}

static void add_name(c3d *f, int id, const char *name) {
    f->bytes[f->size++] = (unsigned char)strlen(name);
    f->bytes[f->size++] = (unsigned char)id;
    memcpy(f->bytes + f->size, name, strlen(name));
    f->size += strlen(name);
}

/* type -1: letters, 2: one word, 4: one float. */
static void add_parameter(c3d *f, const char *name, int type, int width, int rows,
                          const char *letters, double number) {
    int dimensions = type == -1 ? 2 : 0, size = type == -1 ? width * rows : type;
    add_name(f, 1, name);
    put_word(f, f->size, 2 + 2 + dimensions + size + 1);
    f->size += 2;
    f->bytes[f->size++] = (unsigned char)type;
    f->bytes[f->size++] = (unsigned char)dimensions;
    if (type == -1) {
        f->bytes[f->size++] = (unsigned char)width, f->bytes[f->size++] = (unsigned char)rows;
        memcpy(f->bytes + f->size, letters, (size_t)size);
    } else if (type == 2)
        put_word(f, f->size, (int)number);
    else
        put_float(f, f->size, number);
    f->size += (size_t)size + 1; /* no description */
}

/* Millimeters with z up, labels with the name of the subject, a residual for every point. */
static void write_c3d(const char *name, const sinew_markers *take) {
    int n = take->marker_count;
    double rate = (take->time_count - 1) / (take->times[take->time_count - 1] - take->times[0]);
    size_t data = (1 + PARAMETER_BLOCKS) * (size_t)BLOCK, row = 16 * (size_t)n;
    c3d f = {.bytes = SN_NEW0(unsigned char, data + row * (size_t)take->time_count), .size = BLOCK};
    char *labels = SN_NEW0(char, (size_t)n *LABEL + 1);
    f.bytes[0] = 2, f.bytes[1] = 0x50;
    put_word(&f, 2, n);
    put_word(&f, 6, 1);
    put_word(&f, 8, take->time_count);
    put_float(&f, 12, -0.1);
    put_word(&f, 16, 2 + PARAMETER_BLOCKS);
    put_float(&f, 20, rate);
    f.bytes[BLOCK + 2] = PARAMETER_BLOCKS, f.bytes[BLOCK + 3] = 84;
    f.size += 4;
    add_name(&f, -1, "POINT");
    put_word(&f, f.size, 3);
    f.size += 3;
    for (int i = 0; i < n; i++) {
        char label[LABEL + 1];
        snprintf(label, sizeof label, "%-*.*s", LABEL, LABEL, take->names[i]);
        memmove(label + 6, label, LABEL - 6);
        memcpy(label, "Actor:", 6);
        memcpy(labels + i * LABEL, label, LABEL);
    }
    add_parameter(&f, "USED", 2, 0, 0, NULL, n);
    add_parameter(&f, "SCALE", 4, 0, 0, NULL, -0.1);
    add_parameter(&f, "RATE", 4, 0, 0, NULL, rate);
    add_parameter(&f, "DATA_START", 2, 0, 0, NULL, 2 + PARAMETER_BLOCKS);
    add_parameter(&f, "LABELS", -1, LABEL, n, labels, 0);
    add_parameter(&f, "UNITS", -1, 2, 1, "mm", 0);
    add_parameter(&f, "X_SCREEN", -1, 2, 1, "+X", 0);
    add_parameter(&f, "Y_SCREEN", -1, 2, 1, "+Z", 0);
    assert_true(f.size <= data);
    f.size = data;
    for (int t = 0; t < take->time_count; t++)
        for (int i = 0; i < n; i++, f.size += 16) {
            const double *p = take->positions + 3 * ((size_t)t * (size_t)n + (size_t)i);
            bool seen = !isnan(p[0]);
            put_float(&f, f.size, seen ? 1000 * p[0] : 0);
            put_float(&f, f.size + 4, seen ? -1000 * p[2] : 0);
            put_float(&f, f.size + 8, seen ? 1000 * p[1] : 0);
            put_float(&f, f.size + 12, seen ? RESIDUAL : -1);
        }
    write_bytes(name, f.bytes, f.size);
    sn_free(f.bytes), sn_free(labels);
}

/* ---- the take -------------------------------------------------------------------------------- */

/* take.csv, take.trc and take.c3d: the markers of the sample with short gaps and a long one. */
static void write_takes(void) {
    sinew_error error = {0};
    sinew_markers *take;
    char *from = path_of("face/markers.csv"), *csv = path_of("take.csv"),
         *trc = path_of("take.trc");
    assert_ok(sinew_markers_read(from, &take, &error));
    size_t n = (size_t)take->marker_count;
    for (int t = 0; t < take->time_count; t++)
        for (size_t i = 0; i < n; i++)
            if ((t * 7 + (int)i * 13) % 41 == 0 || (i == 5 && t > 8 && t < 40))
                for (size_t k = 0; k < 3; k++) take->positions[3 * ((size_t)t * n + i) + k] = NAN;
    assert_ok(sinew_markers_write(csv, take, &error));
    write_c3d("take.c3d", take);
    for (size_t i = 0; i < 3 * n * (size_t)take->time_count; i++) take->positions[i] *= 1000;
    strcpy(take->unit, "mm");
    assert_ok(sinew_markers_write(trc, take, &error));
    sinew_markers_destroy(take);
    sn_free(from), sn_free(csv), sn_free(trc);
}

static sinew_frames *frames_of(const char *name) {
    sinew_error error = {0};
    sinew_frames *frames;
    char *path = path_of(name);
    assert_ok(sinew_frames_read(path, &frames, &error));
    sn_free(path);
    return frames;
}

static double largest_difference(const sinew_frames *a, const sinew_frames *b) {
    double most = 0;
    assert_int_equal(a->frame_count, b->frame_count);
    assert_int_equal(a->vertex_count, b->vertex_count);
    for (size_t i = 0; i < 3 * (size_t)a->frame_count * (size_t)a->vertex_count; i++)
        most = fmax(most, fabs((double)a->positions[i] - (double)b->positions[i]));
    return most;
}

static void c3d_and_trc_move_the_face_like_csv(void **state) {
    (void)state;
    folder = fresh_folder();
    expect_code(0, "sinew sample face --vertices 1000 --out face");
    write_takes();
    const char *endings[] = {"csv", "c3d", "trc"};
    sinew_frames *frames[3];
    for (int i = 0; i < 3; i++) {
        char name[16];
        expect_code(0, "sinew fit face --markers take.%s --layer --fps 15 --out %s.pc2", endings[i],
                    endings[i]);
        snprintf(name, sizeof name, "%s.pc2", endings[i]);
        frames[i] = frames_of(name);
        if (i > 0) {
            expect_code(0, "sinew play face take.%s --frames 0-1 --size 200x64 --out %s.png",
                        endings[i], endings[i]);
            assert_below(largest_difference(frames[i], frames[0]), TOLERANCE);
        }
    }
    /* the take moves the face by far more */
    size_t n = 3 * (size_t)frames[0]->vertex_count;
    double motion = 0;
    for (size_t i = 0; i < (size_t)frames[0]->frame_count * n; i++)
        motion = fmax(motion,
                      fabs((double)frames[0]->positions[i] - (double)frames[0]->positions[i % n]));
    assert_true(motion > 0.01);
    for (int i = 0; i < 3; i++) sinew_frames_destroy(frames[i]);
}

int test_recordings(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c3d_and_trc_move_the_face_like_csv),
    };
    return cmocka_run_group_tests_name("recordings", tests, NULL, NULL);
}
