#include "groups.h"
#include "helpers.h"

#include "base/file.h"
#include "io/csv.h"

static void write_text(const char *path, const char *text) {
    sinew_error error;
    assert_ok(sn_file_write(path, text, strlen(text), &error));
}

/* Blanks of every kind around cells and inside of their quotes. */
static void cells_lose_the_blanks_around_them(void **state) {
    (void)state;
    static const char *const blanks[] = {"", " ", "\t", "\r", " \t", "\t \t", " \r"};
    for (size_t a = 0; a < sizeof blanks / sizeof *blanks; a++)
        for (size_t b = 0; b < sizeof blanks / sizeof *blanks; b++) {
            char line[100];
            snprintf(line, sizeof line, "%sa b%s,%s\"c,d%s\"%s,%se%s\n", blanks[a], blanks[b],
                     blanks[b], blanks[a], blanks[b], blanks[a], blanks[b]);
            sn_source source = bytes_source(line, strlen(line), "a.csv");
            sinew_error error;
            sn_text text = sn_text_open(&source, &error);
            assert_true(sn_csv_next_row(&text));
            const char *const wanted[] = {"a b", "c,d", "e"};
            for (int k = 0; k < 3; k++) {
                const char *cell;
                size_t length = sn_csv_cell(&text, &cell);
                assert_int_equal(length, strlen(wanted[k]));
                assert_memory_equal(cell, wanted[k], length);
            }
            assert_ok(sn_csv_row_end(&text));
            bytes_source_free(&source);
        }
}

static void curves_come_back_with_their_names(void **state) {
    (void)state;
    sinew_error error;
    write_text(temporary("c.csv"),
               "time_s, jawOpen ,\"smile, left\"\r\n0,0,1\r\n\r\n\"0.5\", \" -.25 \" ,1e-3\n");
    sinew_curves *curves, *back;
    assert_ok(sinew_curves_read(temporary("c.csv"), &curves, &error));
    assert_int_equal(curves->channel_count, 2);
    assert_int_equal(curves->time_count, 2);
    assert_string_equal(curves->names[0], "jawOpen");
    assert_string_equal(curves->names[1], "smile, left");
    assert_close(curves->values[2], -0.25, 0);
    assert_ok(sinew_curves_write(temporary("d.csv"), curves, &error));
    assert_ok(sinew_curves_read(temporary("d.csv"), &back, &error));
    assert_string_equal(back->names[1], "smile, left");
    assert_memory_equal(back->times, curves->times, 2 * sizeof(double));
    assert_memory_equal(back->values, curves->values, 4 * sizeof(double));
    sinew_curves_destroy(curves);
    sinew_curves_destroy(back);
}

static void bad_curves_are_refused_by_line(void **state) {
    (void)state;
    const struct {
        const char *text, *message;
    } bad[] = {{"", ":1: is empty"},
               {"frame,a\n0,1\n", ":1: the first column of weight curves must be time_s"},
               {"time_s,a,a\n", ":1: two columns are named 'a'"},
               {"time_s,a\n", ": has no rows"},
               {"time_s,a\n0,1\n0,1\n", ":3: time 0 does not come after 0"},
               {"time_s,a\n0\n", ":2: a weight is missing"},
               {"time_s,a\n0,x\n", ":2: 'x' is not a weight"},
               {"time_s,a\n0,\"1\n", ":2: '1' is not a weight"},
               {"time_s,a\n0,\"1\"2\n", ":2: '1' is not a weight"},
               {"time_s,a\n0,nan\n", ":2: a weight is not finite"},
               {"time_s,a\n0,1,2\n", ":2: has more cells than the header"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sinew_error error = {0};
        sinew_curves *curves;
        write_text(temporary("bad.csv"), bad[i].text);
        assert_int_equal(sinew_curves_read(temporary("bad.csv"), &curves, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, bad[i].message)) fail_msg("%s", error.message);
    }
}

static void live_link_takes_are_recognised(void **state) {
    (void)state;
    sinew_error error;
    write_text(temporary("take.csv"), "Timecode,BlendShapeCount,EyeBlinkLeft,HeadYaw\n"
                                      "23:59:59:28.000,61,0.5,-1\n"
                                      "23:59:59:29.500,61,0.25,-1\n"
                                      "23:59:59:29.500,61,0.125,-1\n"
                                      "00:00:00:00.000,61,0,0\n");
    sinew_curves *curves;
    assert_ok(sinew_curves_read(temporary("take.csv"), &curves, &error));
    assert_int_equal(curves->channel_count, 2);
    assert_string_equal(curves->names[0], "EyeBlinkLeft");
    assert_int_equal(curves->time_count, 3);
    assert_close(curves->times[1], 1.5 / 30, 1e-9);
    assert_close(curves->times[2], 2.0 / 30, 1e-9);
    assert_close(curves->values[2], 0.25, 0);
    sinew_curves_destroy(curves);

    const char *real = test_data("free/livelink/alex_rom_3.csv");
    skip_without_data(real);
    assert_ok(sinew_curves_read(real, &curves, &error));
    assert_int_equal(curves->channel_count, 61);
    assert_int_equal(curves->time_count, 4030);
    assert_close((curves->times[4029] - curves->times[0]) / 4029, 1.0 / 30, 1e-4);
    sinew_curves_destroy(curves);
}

static void markers_keep_gaps_units_and_axes(void **state) {
    (void)state;
    sinew_error error;
    write_text(temporary("m.csv"),
               "# unit cm\n# up z\ntime_s,Nose.x,Nose.y,Nose.z,Lip.x,Lip.y,Lip.z\n"
               "0,1,2,3,,,\n0.1,1,2,3,4,nan,6\n0.2,1,2,3,4,5,6\n");
    sinew_markers *markers, *back;
    assert_ok(sinew_markers_read(temporary("m.csv"), &markers, &error));
    assert_int_equal(markers->marker_count, 2);
    assert_int_equal(markers->time_count, 3);
    assert_string_equal(markers->names[1], "Lip");
    assert_string_equal(markers->unit, "cm");
    assert_int_equal(markers->up, 'z');
    assert_true(isnan(markers->positions[3]));
    assert_true(isnan(markers->positions[9]) && isnan(markers->positions[11]));
    assert_close(markers->positions[16], 5, 0);
    assert_ok(sinew_markers_write(temporary("n.csv"), markers, &error));
    assert_ok(sinew_markers_read(temporary("n.csv"), &back, &error));
    assert_true(same_float32(markers->positions, back->positions, 18));
    assert_string_equal(back->unit, "cm");
    assert_ok(sinew_markers_convert(back, "mm", 'y', &error));
    assert_close(back->positions[0], 10, 1e-12);
    assert_close(back->positions[1], 30, 1e-12);
    assert_close(back->positions[2], -20, 1e-12);
    assert_ok(sinew_markers_convert(back, "cm", 'z', &error));
    assert_close(back->positions[1], 2, 1e-12);
    assert_int_equal(sinew_markers_convert(back, "parsec", 0, &error), SINEW_BAD_INPUT);
    sinew_markers_destroy(markers);
    sinew_markers_destroy(back);
    write_text(temporary("m.csv"), "time_s,Nose.x,Nose.z,Nose.y\n0,1,2,3\n");
    assert_int_equal(sinew_markers_read(temporary("m.csv"), &markers, &error), SINEW_BAD_INPUT);
    const char *real = test_data("free/animface-markers/Jaw.csv");
    skip_without_data(real);
    assert_ok(sinew_markers_read(real, &markers, &error));
    assert_int_equal(markers->marker_count, 41);
    assert_int_equal(markers->time_count, 1590);
    sinew_markers_destroy(markers);
}

/* Markers are tied to their places by name without regard to case, so one name must be one marker,
 * and a place must lie on its triangle. */
static void markers_that_cannot_be_told_apart_are_refused(void **state) {
    (void)state;
    sinew_error error;
    sinew_markers *markers;
    write_text(temporary("m.csv"), "# unit cm\ntime_s,Nose.x,Nose.y,Nose.z,NOSE.x,NOSE.y,NOSE.z\n"
                                   "0,1,2,3,4,5,6\n");
    assert_int_equal(sinew_markers_read(temporary("m.csv"), &markers, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "m.csv:2"));
    assert_non_null(strstr(error.message, "'NOSE'"));
    const double square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    const int start[] = {0, 4}, face[] = {0, 1, 2, 3};
    sinew_mesh *mesh;
    sinew_marker_map *map;
    assert_ok(sinew_mesh_create(4, square, 1, start, face, &mesh, &error));
    const struct {
        const char *text, *place, *name;
    } bad[] = {{"Nose,1\nLip,2\nnosE,3\n", "p.csv:3", "'nosE'"},
               {"Nose,1\nLip,0,-5,3,3\n", "p.csv:2", "'Lip'"},
               {"Lip,0,0.5,-0.0011,0.5011\n", "p.csv:1", "'Lip'"},
               {"Lip,0,1.5,-0.5,0\n", "p.csv:1", "'Lip'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(temporary("p.csv"), bad[i].text);
        assert_int_equal(sinew_marker_map_read(temporary("p.csv"), mesh, &map, &error),
                         SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, bad[i].place));
        assert_non_null(strstr(error.message, bad[i].name));
    }
    write_text(temporary("p.csv"), "Lip,0,0.5,-0.0009,0.5009\n"); /* rounding */
    assert_ok(sinew_marker_map_read(temporary("p.csv"), mesh, &map, &error));
    sinew_marker_map_destroy(map);
    sinew_mesh_destroy(mesh);
}

static void names_files_rename_all_at_once(void **state) {
    (void)state;
    sinew_error error;
    sinew_curves *curves;
    int unused = -1;
    write_text(temporary("c.csv"), "time_s,smile,blink,jaw\n0,1,2,3\n");
    assert_ok(sinew_curves_read(temporary("c.csv"), &curves, &error));
    write_text(temporary("n.csv"), "from,to\nSMILE,blink\n# swapped\nblink,smile\n\"tongue\",t\n");
    assert_ok(sinew_rename(temporary("n.csv"), 3, curves->names, &unused, &error));
    assert_string_equal(curves->names[0], "blink");
    assert_string_equal(curves->names[1], "smile");
    assert_string_equal(curves->names[2], "jaw");
    assert_int_equal(unused, 1);
    const struct {
        const char *text, *words;
    } bad[] = {{"blink,a\nsmile,b,c\n", "n.csv:2"},
               {"blink\n", "n.csv:1"},
               {"blink,\n", "'blink'"},
               {",a\n", "n.csv:1"},
               {"blink,a\nBlink,b\n", "'Blink'"},
               {"blink,jaw\n", "'jaw'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(temporary("n.csv"), bad[i].text);
        assert_int_equal(sinew_rename(temporary("n.csv"), 3, curves->names, NULL, &error),
                         SINEW_BAD_INPUT);
        if (!strstr(error.message, bad[i].words)) fail_msg("%s", error.message);
        assert_string_equal(curves->names[0], "blink");
        assert_string_equal(curves->names[1], "smile");
    }
    sinew_curves_destroy(curves);
}

static sinew_status rename_once(void *user) {
    (void)user;
    sinew_error error = {0};
    sinew_curves *curves;
    sinew_status status = sinew_curves_create(2, 1, &curves, &error);
    if (status == SINEW_OK) status = sinew_curves_set_name(curves, 0, "a", &error);
    if (status == SINEW_OK) status = sinew_curves_set_name(curves, 1, "b", &error);
    if (status == SINEW_OK)
        status = sinew_rename(temporary("n.csv"), 2, curves->names, NULL, &error);
    sinew_curves_destroy(curves);
    return status;
}

static sinew_status read_pairs_once(void *user) {
    (void)user;
    sinew_error error = {0};
    int *from, *to, count;
    SN_TRY(sinew_vertex_pairs_read(temporary("p.csv"), 9, 9, &from, &to, &count, &error));
    assert_int_equal(count, 3);
    assert_true(from[2] == 4 && to[2] == 7);
    sinew_free(from), sinew_free(to);
    return SINEW_OK;
}

static void names_and_pairs_give_memory_back_when_there_is_none(void **state) {
    (void)state;
    write_text(temporary("n.csv"), "a,b\nb,a\n");
    write_text(temporary("p.csv"), "source,target\n1,2\n3,3\n4,7\n");
    assert_true(test_out_of_memory(rename_once, NULL) > 5);
    assert_true(test_out_of_memory(read_pairs_once, NULL) >= 3);
}

static void vertex_maps_regions_and_marker_places_are_read(void **state) {
    (void)state;
    sinew_error error;
    const double square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    const int start[] = {0, 4}, face[] = {0, 1, 2, 3};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(4, square, 1, start, face, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));

    double values[] = {-1, -1, -1, -1};
    write_text(temporary("v.csv"), "vertex,value\n2,0.5\n0,1e2\n");
    assert_ok(sinew_vertex_values_read(temporary("v.csv"), 4, values, &error));
    const double expected[] = {100, -1, 0.5, -1};
    assert_memory_equal(values, expected, sizeof expected);
    write_text(temporary("v.csv"), "2,0.5\n4,1\n");
    assert_int_equal(sinew_vertex_values_read(temporary("v.csv"), 4, values, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "v.csv:2: vertex 4 is not one of 0 to 3"));

    write_text(temporary("r.json"), "{\"lips\": [3, 1, 1], \"none\": []}");
    assert_ok(sinew_regions_read(temporary("r.json"), rig, &error));
    assert_int_equal(rig->region_count, 2);
    assert_int_equal(rig->regions[0].count, 2);
    assert_int_equal(rig->regions[0].vertices[1], 3);
    write_text(temporary("r.json"), "{\"x\": [4]}");
    assert_int_equal(sinew_regions_read(temporary("r.json"), rig, &error), SINEW_BAD_INPUT);

    write_text(temporary("map.csv"), "Nose,3\nLip,1,0.5,0.25,0.25\n");
    sinew_marker_map *map, *back;
    assert_ok(sinew_marker_map_read(temporary("map.csv"), mesh, &map, &error));
    assert_ok(sinew_marker_map_write(temporary("map2.csv"), map, &error));
    assert_ok(sinew_marker_map_read(temporary("map2.csv"), mesh, &back, &error));
    for (int k = 0; k < 2; k++) {
        const sinew_marker_map *m = k ? back : map;
        assert_int_equal(m->count, 2);
        assert_string_equal(m->names[1], "Lip");
        assert_int_equal(m->vertices[0], 3);
        assert_int_equal(m->triangles[0], -1);
        assert_int_equal(m->triangles[1], 1);
        assert_close(m->barycentric[3], 0.5, 0);
    }
    assert_null(map->weights);
    sinew_marker_map_destroy(map);
    sinew_marker_map_destroy(back);
    /* what they count stands at the end */
    write_text(temporary("map.csv"),
               "name,vertex,weight\nNose,3,0\nLip,1,0.5,0.25,0.25,2.5\nEar,1\n");
    assert_ok(sinew_marker_map_read(temporary("map.csv"), mesh, &map, &error));
    assert_ok(sinew_marker_map_write(temporary("map2.csv"), map, &error));
    assert_ok(sinew_marker_map_read(temporary("map2.csv"), mesh, &back, &error));
    const double counts[] = {0, 2.5, 1};
    for (int i = 0; i < 3; i++) {
        assert_close(map->weights[i], counts[i], 0);
        assert_close(back->weights[i], counts[i], 0);
    }
    assert_int_equal(back->triangles[1], 1);
    assert_int_equal(back->vertices[2], 1);
    sinew_marker_map_destroy(map);
    sinew_marker_map_destroy(back);
    const char *bad[] = {"Nose,4\n",          "Nose,0,1,1,1\n", "Nose\n",
                         "Nose,1\nNose,2\n",  "Nose,2,1,0,0\n", "Nose,1,-1\n",
                         "Nose,0,1,0,0,-2\n", "Nose,1,inf\n",   "Nose,0,1,0,0,1,1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(temporary("map.csv"), bad[i]);
        assert_int_equal(sinew_marker_map_read(temporary("map.csv"), mesh, &map, &error),
                         SINEW_BAD_INPUT);
    }
    sinew_rig_destroy(rig);
}

static void csv_keeps_any_name(void **state) {
    (void)state;
    static const char *const names[] = {"a,b",       "\"x\"", "#y", "it's \"so\", is it",
                                        "plain\"\"", "#'",    "#\""};
    enum { COUNT = sizeof names / sizeof *names };
    sinew_error error;
    sinew_curves *curves, *curves_back;
    sinew_markers *markers, *markers_back;
    assert_ok(sinew_curves_create(COUNT, 1, &curves, &error));
    assert_ok(sinew_markers_create(COUNT, 1, &markers, &error));
    for (int i = 0; i < COUNT; i++) {
        assert_ok(sinew_curves_set_name(curves, i, names[i], &error));
        assert_ok(sinew_markers_set_name(markers, i, names[i], &error));
        curves->values[i] = i;
        markers->positions[3 * i] = i;
    }
    assert_ok(sinew_curves_write(temporary("names.csv"), curves, &error));
    assert_ok(sinew_curves_read(temporary("names.csv"), &curves_back, &error));
    assert_ok(sinew_markers_write(temporary("marker_names.csv"), markers, &error));
    assert_ok(sinew_markers_read(temporary("marker_names.csv"), &markers_back, &error));
    for (int i = 0; i < COUNT; i++) {
        assert_string_equal(curves_back->names[i], names[i]);
        assert_string_equal(markers_back->names[i], names[i]);
        assert_true(curves_back->values[i] == i && markers_back->positions[3 * i] == i);
    }
    sinew_curves_destroy(curves);
    sinew_curves_destroy(curves_back);
    sinew_markers_destroy(markers);
    sinew_markers_destroy(markers_back);
}

int test_tables(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_lose_the_blanks_around_them),
        cmocka_unit_test(curves_come_back_with_their_names),
        cmocka_unit_test(bad_curves_are_refused_by_line),
        cmocka_unit_test(live_link_takes_are_recognised),
        cmocka_unit_test(markers_keep_gaps_units_and_axes),
        cmocka_unit_test(markers_that_cannot_be_told_apart_are_refused),
        cmocka_unit_test(names_files_rename_all_at_once),
        cmocka_unit_test(names_and_pairs_give_memory_back_when_there_is_none),
        cmocka_unit_test(vertex_maps_regions_and_marker_places_are_read),
        cmocka_unit_test(csv_keeps_any_name),
    };
    return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
