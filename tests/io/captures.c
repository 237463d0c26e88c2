/* C3D and TRC. The C3D files are made here, by a writer that shares nothing with the reader. */
#include "groups.h"
#include "helpers.h"

#include "base/file.h"

enum { INTEL = 84, DEC = 85, MIPS = 86, POINTS = 3, FRAMES = 4 };

/* A file under construction. */
typedef struct c3d_file {
    unsigned char bytes[16 * 512];
    size_t size;
    size_t more; /* where further parameters go */
    int processor;
} c3d_file;

static void put_word(c3d_file *f, size_t at, int value) {
    unsigned word = (unsigned)value & 0xffff;
    f->bytes[at + (f->processor == MIPS)] = (unsigned char)(word & 0xff);
    f->bytes[at + (f->processor != MIPS)] = (unsigned char)(word >> 8);
}

/* By arithmetic, not by copying bits: sign, exponent and fraction of each number format. */
static void put_float(c3d_file *f, size_t at, double value) {
    unsigned bits = 0;
    if (value != 0) {
        int exponent;
        double fraction = frexp(fabs(value), &exponent); /* 0.1xxx in binary times 2^exponent */
        unsigned bias = f->processor == DEC ? 128 : 126;
        unsigned mantissa = (unsigned)lrint(fraction * 16777216.0) & 0x7fffff;
        bits =
            (value < 0 ? 0x80000000u : 0) | (((unsigned)exponent + bias) & 0xff) << 23 | mantissa;
    }
    unsigned char b[4] = {(unsigned char)(bits >> 24), (unsigned char)(bits >> 16),
                          (unsigned char)(bits >> 8), (unsigned char)bits};
    static const int order[3][4] = {{3, 2, 1, 0}, {1, 0, 3, 2}, {0, 1, 2, 3}};
    for (int i = 0; i < 4; i++) f->bytes[at + (size_t)i] = b[order[f->processor - INTEL][i]];
}

static void add_group(c3d_file *f, int id, const char *name) {
    f->bytes[f->size++] = (unsigned char)strlen(name);
    f->bytes[f->size++] = (unsigned char)-id;
    memcpy(f->bytes + f->size, name, strlen(name));
    f->size += strlen(name);
    put_word(f, f->size, 3);
    f->size += 2;
    f->bytes[f->size++] = 0; /* no description */
}

/* The start of a parameter record; its data are then appended by the caller's numbers. */
static void add_parameter(c3d_file *f, int group, const char *name, int type, int dimension_count,
                          const int *dimensions, const void *values) {
    int count = 1;
    for (int d = 0; d < dimension_count; d++) count *= dimensions[d];
    int size = count * abs(type);
    f->bytes[f->size++] = (unsigned char)-(int)strlen(name); /* locked */
    f->bytes[f->size++] = (unsigned char)group;
    memcpy(f->bytes + f->size, name, strlen(name));
    f->size += strlen(name);
    put_word(f, f->size, 2 + 2 + dimension_count + size + 1);
    f->size += 2;
    f->bytes[f->size++] = (unsigned char)type;
    f->bytes[f->size++] = (unsigned char)dimension_count;
    for (int d = 0; d < dimension_count; d++) f->bytes[f->size++] = (unsigned char)dimensions[d];
    for (int i = 0; i < count; i++) {
        if (type == -1) f->bytes[f->size] = (unsigned char)((const char *)values)[i];
        if (type == 2) put_word(f, f->size, ((const int *)values)[i]);
        if (type == 4) put_float(f, f->size, ((const double *)values)[i]);
        f->size += (size_t)abs(type);
    }
    f->bytes[f->size++] = 0;
}

static double coordinate(int frame, int point, int axis) {
    return 10 * frame + 100 * point + axis - 150.5;
}

/* Two analog numbers per frame stand between the frames. */
static void make_c3d(c3d_file *f, int processor, bool floats, double scale) {
    memset(f, 0, sizeof *f);
    f->processor = processor;
    f->bytes[0] = 2;
    f->bytes[1] = 0x50;
    put_word(f, 2, POINTS);
    put_word(f, 4, 2);
    put_word(f, 6, 11);
    put_word(f, 8, 11 + FRAMES - 1);
    put_float(f, 12, floats ? -scale : scale);
    put_word(f, 16, 4);
    put_word(f, 18, 2);
    put_float(f, 20, 120);
    f->size = 512;
    f->bytes[f->size + 2] = 2;
    f->bytes[f->size + 3] = (unsigned char)processor;
    f->size += 4;
    const int points = POINTS, names[] = {6, POINTS}, unit[] = {2}, axis[] = {2}, start = 4;
    const double rate = 120, signed_scale = floats ? -scale : scale;
    add_parameter(f, 1, "USED", 2, 0, NULL, &points); /* before its group, which is legal */
    add_group(f, 1, "POINT");
    add_parameter(f, 1, "SCALE", 4, 0, NULL, &signed_scale);
    add_parameter(f, 1, "RATE", 4, 0, NULL, &rate);
    add_parameter(f, 1, "DATA_START", 2, 0, NULL, &start);
    add_parameter(f, 1, "LABELS", -1, 2, names, "Nose  Lip   Nose  ");
    add_parameter(f, 1, "UNITS", -1, 1, unit, "mm");
    add_parameter(f, 1, "X_SCREEN", -1, 1, axis, "+X");
    add_parameter(f, 1, "Y_SCREEN", -1, 1, axis, "+Z");
    add_group(f, 2, "ANALOG");
    f->more = f->size;
    f->size = 3 * 512;
    for (int t = 0; t < FRAMES; t++) {
        for (int p = 0; p < POINTS; p++) {
            bool missing = t == 2 && p == 1;
            for (int k = 0; k < 4; k++) {
                double value = k < 3 ? coordinate(t, p, k) : missing ? -1 : 5;
                if (floats)
                    put_float(f, f->size, value);
                else
                    put_word(f, f->size, (int)lrint(k < 3 ? value / scale : value));
                f->size += floats ? 4 : 2;
            }
        }
        f->size += floats ? 8 : 4;
    }
}

static void c3d_of_every_machine_is_read(void **state) {
    (void)state;
    sinew_error error;
    static c3d_file file;
    for (int processor = INTEL; processor <= MIPS; processor++)
        for (int floats = 0; floats < 2; floats++)
            for (int s = 0; s < 2; s++) {
                make_c3d(&file, processor, floats, s ? 0.5 : 0.25);
                assert_ok(sn_file_write(temporary("a.c3d"), file.bytes, file.size, &error));
                sinew_markers *markers;
                assert_ok(sinew_markers_read(temporary("a.c3d"), &markers, &error));
                assert_int_equal(markers->marker_count, POINTS);
                assert_int_equal(markers->time_count, FRAMES);
                assert_string_equal(markers->names[0], "Nose");
                assert_string_equal(markers->names[1], "Lip");
                assert_string_equal(markers->names[2], "Nose_3"); /* two had one name */
                assert_string_equal(markers->unit, "mm");
                assert_int_equal(markers->up, 'z');
                assert_close(markers->times[3], 3.0 / 120, 1e-12);
                for (int t = 0; t < FRAMES; t++)
                    for (int p = 0; p < POINTS; p++)
                        for (int k = 0; k < 3; k++) {
                            double value = markers->positions[3 * (t * POINTS + p) + k];
                            if (t == 2 && p == 1)
                                assert_true(isnan(value));
                            else
                                assert_close(value, coordinate(t, p, k), 0);
                        }
                for (int i = 0; i < FRAMES * POINTS; i++)
                    assert_close((double)markers->residuals[i],
                                 i == 2 * POINTS + 1 ? 0 : 5 * (s ? 0.5 : 0.25), 0);
                sinew_markers_destroy(markers);
            }
}

static void c3d_that_lies_is_refused(void **state) {
    (void)state;
    sinew_error error = {0};
    static c3d_file file;
    sinew_markers *markers;
    const struct {
        size_t at;
        int value;
        const char *message;
    } lies[] = {{0, 0, "no parameters"},
                {1, 7, "is not a C3D file"},
                {515, 99, "processor type 99"},
                {9, 200, "is cut short"},
                {16, 0, ""},
                {3, 255, ""}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        make_c3d(&file, INTEL, true, 1);
        file.bytes[lies[i].at] = (unsigned char)lies[i].value;
        assert_ok(sn_file_write(temporary("b.c3d"), file.bytes, file.size, &error));
        sinew_status status = sinew_markers_read(temporary("b.c3d"), &markers, &error);
        if (*lies[i].message) {
            assert_int_equal(status, SINEW_BAD_INPUT);
            if (!strstr(error.message, lies[i].message)) fail_msg("%s", error.message);
        } else if (status == SINEW_OK) {
            sinew_markers_destroy(markers); /* the parameters say it again, and win */
        }
    }
    make_c3d(&file, INTEL, true, 1);
    put_float(&file, 3 * 512 + 4, 3e38);
    file.bytes[3 * 512 + 7] = 0x7f, file.bytes[3 * 512 + 6] = 0x80; /* infinity */
    assert_ok(sn_file_write(temporary("b.c3d"), file.bytes, file.size, &error));
    assert_int_equal(sinew_markers_read(temporary("b.c3d"), &markers, &error), SINEW_BAD_INPUT);
}

/* A further parameter; a later one of the same name wins. */
static void append_parameter(c3d_file *f, int group, const char *name, int type,
                             int dimension_count, const int *dimensions, const void *values) {
    size_t size = f->size;
    f->size = f->more;
    add_parameter(f, group, name, type, dimension_count, dimensions, values);
    f->more = f->size, f->size = size;
    assert_true(f->more < 3 * 512);
}

static sinew_status read_c3d(const c3d_file *f, sinew_markers **markers, sinew_error *error) {
    sinew_status status = sn_file_write(temporary("p.c3d"), f->bytes, f->size, error);
    return status != SINEW_OK ? status : sinew_markers_read(temporary("p.c3d"), markers, error);
}

/* Headers have room for 65,535 frames; parameters say where longer takes begin and end. */
static void c3d_parameters_count_the_frames(void **state) {
    (void)state;
    sinew_error error;
    static c3d_file file;
    sinew_markers *markers;
    const int two[] = {2}, first[] = {1, 1}, last[] = {FRAMES - 1, 1}, early[] = {0, 1};
    for (int processor = INTEL; processor <= MIPS; processor++) {
        make_c3d(&file, processor, true, 1);
        size_t data = file.size;
        file.size = file.more;
        add_group(&file, 3, "trial");
        file.more = file.size, file.size = data;
        append_parameter(&file, 3, "ACTUAL_START_FIELD", 2, 1, two, first);
        append_parameter(&file, 3, "ACTUAL_END_FIELD", 2, 1, two, last);
        assert_ok(read_c3d(&file, &markers, &error));
        assert_int_equal(markers->time_count, FRAMES - 1);
        sinew_markers_destroy(markers);
        append_parameter(&file, 3, "ACTUAL_END_FIELD", 2, 1, two, early); /* before the first */
        assert_ok(read_c3d(&file, &markers, &error));
        assert_int_equal(markers->time_count, FRAMES);
        sinew_markers_destroy(markers);
    }
    const int frames = FRAMES, fewer = 1;
    make_c3d(&file, INTEL, true, 1);
    put_word(&file, 8, 11); /* the header knows one frame */
    append_parameter(&file, 1, "FRAMES", 2, 0, NULL, &frames);
    append_parameter(&file, 1, "FRAMES", 2, 0, NULL, &fewer);
    assert_ok(read_c3d(&file, &markers, &error));
    assert_int_equal(markers->time_count, FRAMES);
    sinew_markers_destroy(markers);
}

/* Parameters of another type than theirs are left alone; numbers that mean nothing are refused. */
static void c3d_parameters_are_checked(void **state) {
    (void)state;
    sinew_error error;
    static c3d_file file;
    sinew_markers *markers;
    const int seven = 7, zero = 0, one = 1, two[] = {2}, wide[] = {2, POINTS}, none[] = {0, 9};
    const double nothing = 0;
    make_c3d(&file, INTEL, true, 1);
    append_parameter(&file, 1, "SCALE", 2, 0, NULL, &zero);
    append_parameter(&file, 1, "RATE", 2, 0, NULL, &zero);
    append_parameter(&file, 1, "UNITS", 2, 0, NULL, &seven);
    append_parameter(&file, 1, "DATA_START", 2, 0, NULL, &zero);
    append_parameter(&file, 1, "Y_SCREEN", 2, 1, two, wide);
    append_parameter(&file, 1, "Y_SCREEN", -1, 1, two, "-Y");
    append_parameter(&file, 1, "Y_SCREEN", -1, 1, two, "+W");
    append_parameter(&file, 1, "LABELS", 2, 0, NULL, &seven);
    append_parameter(&file, 1, "LABELS", -1, 2, none, "");
    append_parameter(&file, 1, "LABELS2", -1, 2, wide, "a b c "); /* more than there are points */
    append_parameter(&file, 5, "USED", 2, 0, NULL, &seven);       /* of a group without a name */
    assert_ok(read_c3d(&file, &markers, &error));
    assert_int_equal(markers->marker_count, POINTS);
    assert_string_equal(markers->names[0], "Nose");
    assert_string_equal(markers->unit, "mm");
    assert_int_equal(markers->up, 'z');
    assert_close(markers->times[1], 1.0 / 120, 1e-12);
    sinew_markers_destroy(markers);
    const struct {
        const char *name;
        int type;
        const void *value;
        const char *message;
    } lies[] = {{"SCALE", 4, &nothing, "bad scale"},
                {"RATE", 4, &nothing, "bad frame rate"},
                {"USED", 2, &zero, "has no points"},
                {"DATA_START", 2, &one, "beyond the end"}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        make_c3d(&file, INTEL, true, 1);
        append_parameter(&file, 1, lies[i].name, lies[i].type, 0, NULL, lies[i].value);
        assert_int_equal(read_c3d(&file, &markers, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, lies[i].message)) fail_msg("%s", error.message);
    }
    make_c3d(&file, INTEL, true, 1);
    put_word(&file, 8, 10); /* ends before it begins */
    assert_int_equal(read_c3d(&file, &markers, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "has no frames"));
}

static void trc_comes_back_with_gaps_and_unit(void **state) {
    (void)state;
    sinew_error error;
    const char *text = "PathFileType\t4\t(X/Y/Z)\tface.trc\n"
                       "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n"
                       "60\t60\t2\t2\tmm\r\n"
                       "Frame#\tTime\tNose\t\t\tLip tip\t\t\n"
                       "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"
                       "1\t0\t1\t2\t3\t\t\t\n"
                       "2\t0.016667\t1.5\t2\t-3\t4\t5\t6\n";
    assert_ok(sn_file_write(temporary("a.trc"), text, strlen(text), &error));
    sinew_markers *markers, *back;
    assert_ok(sinew_markers_read(temporary("a.trc"), &markers, &error));
    assert_ok(sinew_markers_write(temporary("b.trc"), markers, &error));
    assert_ok(sinew_markers_read(temporary("b.trc"), &back, &error));
    for (int round = 0; round < 2; round++) {
        const sinew_markers *m = round ? back : markers;
        assert_int_equal(m->marker_count, 2);
        assert_int_equal(m->time_count, 2);
        assert_string_equal(m->names[1], "Lip tip");
        assert_string_equal(m->unit, "mm");
        assert_true(isnan(m->positions[3]) && isnan(m->positions[5]));
        assert_close(m->positions[8], -3, 0);
        assert_close(m->positions[11], 6, 0);
        assert_close(m->times[1], 0.016667, 0);
    }
    sinew_markers_destroy(markers);
    sinew_markers_destroy(back);
    const char *bad[] = {"",
                         "Path\n",
                         "PathFileType\t4\n\n\nFrame#\tTime\n",
                         "PathFileType\t4\nNumMarkers\n3\nFrame#\tTime\tA\n\n1\t0\t1\t2\t3\n",
                         "PathFileType\t4\nNumMarkers\n1\nFrame#\tTime\tA\n\n1\t0\t1\t2\tx\n",
                         "PathFileType\t4\nNumMarkers\n1\nFrame#\tTime\tA\n\n1\t0\t1\t2\t3\t4\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_ok(sn_file_write(temporary("c.trc"), bad[i], strlen(bad[i]), &error));
        assert_int_equal(sinew_markers_read(temporary("c.trc"), &markers, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, "c.trc:"));
    }
}

static void real_markers_come_back_through_trc_and_csv(void **state) {
    (void)state;
    sinew_error error;
    const char *path = test_data("free/animface-markers/Eyebrows.csv");
    skip_without_data(path);
    sinew_markers *markers, *back;
    assert_ok(sinew_markers_read(path, &markers, &error));
    const char *names[] = {"copy.trc", "copy.csv"};
    for (int i = 0; i < 2; i++) {
        assert_ok(sinew_markers_write(temporary(names[i]), markers, &error));
        assert_ok(sinew_markers_read(temporary(names[i]), &back, &error));
        assert_int_equal(back->time_count, 902);
        assert_string_equal(back->names[40], markers->names[40]);
        assert_true(same_float32(back->positions, markers->positions, 902u * 41 * 3));
        sinew_markers_destroy(back);
    }
    sinew_markers_destroy(markers);
}

int test_captures(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c3d_of_every_machine_is_read),
        cmocka_unit_test(c3d_that_lies_is_refused),
        cmocka_unit_test(c3d_parameters_count_the_frames),
        cmocka_unit_test(c3d_parameters_are_checked),
        cmocka_unit_test(trc_comes_back_with_gaps_and_unit),
        cmocka_unit_test(real_markers_come_back_through_trc_and_csv),
    };
    return cmocka_run_group_tests_name("captures", tests, NULL, NULL);
}
