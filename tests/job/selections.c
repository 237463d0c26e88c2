#include "support.h"

#include "base/file.h"
#include "base/memory.h"
#include "groups.h"
#include "sinew/samples.h"
#include "sinew/selection.h"

static sinew_error error;
static sinew_rig *rig;

static int make_rig(void **state) {
    (void)state;
    return sinew_sample_rig("bar", NULL, &rig, &error) != SINEW_OK;
}
static int drop_rig(void **state) {
    (void)state;
    sinew_rig_destroy(rig);
    return 0;
}

static void lists_are_sorted_and_without_repetition(void **state) {
    (void)state;
    int *vertices, count;
    assert_ok(sinew_select(rig, "v:7,1,5-8,6", NULL, sinew_file_loader(), NULL, &vertices, &count,
                           &error));
    const int expected[] = {1, 5, 6, 7, 8};
    assert_int_equal(count, 5);
    assert_memory_equal(vertices, expected, sizeof expected);
    sinew_free(vertices);
    assert_ok(sinew_select(rig, "all", NULL, sinew_file_loader(), NULL, &vertices, &count, &error));
    assert_int_equal(count, rig->neutral->vertex_count);
    sinew_free(vertices);
}

static void masks_are_read_from_their_folder(void **state) {
    (void)state;
    char *path = sn_path_join(test_folder(), "mask.csv");
    const char *text = "vertex,value\n3,1\n4,0.2\n9,0.5\n";
    assert_ok(sn_file_write(path, text, strlen(text), &error));
    int *vertices, count;
    assert_ok(sinew_select(rig, "mask:mask.csv", test_folder(), sinew_file_loader(), NULL,
                           &vertices, &count, &error));
    assert_int_equal(count, 2);
    assert_int_equal(vertices[0], 3);
    assert_int_equal(vertices[1], 9);
    sinew_free(vertices);
    sn_free(path);
}

static void bad_selections_say_why(void **state) {
    (void)state;
    const char *bad[] = {"v:",
                         "v:1,",
                         "v:x",
                         "v:-3",
                         "v:5-2",
                         "v:9999999",
                         "v:1 2",
                         "region:none",
                         "part:none",
                         "nose",
                         "",
                         "v:3--4",
                         "v:99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int *vertices, count;
        error.message[0] = '\0';
        assert_int_equal(
            sinew_select(rig, bad[i], NULL, sinew_file_loader(), NULL, &vertices, &count, &error),
            SINEW_BAD_INPUT);
        assert_null(vertices);
        assert_true(strlen(error.message) > 10);
    }
    int *vertices, count;
    assert_int_equal(sinew_select(rig, "mask:nowhere.csv", NULL, sinew_file_loader(), NULL,
                                  &vertices, &count, &error),
                     SINEW_IO);
}

/* Pieces, targets, and regions that the rig does not name. */
static void faces_are_selected_by_piece_target_and_derived_region(void **state) {
    (void)state;
    sinew_rig *face;
    int *vertices, count, jaw, strong;
    assert_ok(sinew_sample_rig("face", NULL, &face, &error));
    assert_ok(sinew_select(face, "target:jawOpen", NULL, NULL, NULL, &vertices, &jaw, &error));
    sinew_free(vertices);
    assert_ok(
        sinew_select(face, "target:jawOpen>0.5", NULL, NULL, NULL, &vertices, &strong, &error));
    sinew_free(vertices);
    assert_true(strong > 0 && strong < jaw);
    assert_ok(sinew_select(face, "piece:0", NULL, NULL, NULL, &vertices, &count, &error));
    assert_int_equal(vertices[0], 0);
    sinew_free(vertices);
    assert_ok(sinew_select(face, "region:cheeksLeft", NULL, NULL, NULL, &vertices, &count, &error));
    for (int i = 0; i < count; i++) assert_true(face->neutral->positions[3 * vertices[i]] >= 0);
    sinew_free(vertices);
    const char *bad[] = {"piece:99", "piece:x", "target:none>0.2", "target:jawOpen>2", "region:no"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sinew_select(face, bad[i], NULL, NULL, NULL, &vertices, &count, &error),
                         SINEW_BAD_INPUT);
    sinew_rig_destroy(face);
}

int test_selections(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faces_are_selected_by_piece_target_and_derived_region),
        cmocka_unit_test(lists_are_sorted_and_without_repetition),
        cmocka_unit_test(masks_are_read_from_their_folder),
        cmocka_unit_test(bad_selections_say_why),
    };
    return cmocka_run_group_tests_name("selections", tests, make_rig, drop_rig);
}
