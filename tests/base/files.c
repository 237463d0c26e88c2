#include "support.h"

#include "base/file.h"
#include "base/memory.h"
#include "groups.h"

static void abandoned_output_leaves_nothing(void **state) {
    (void)state;
    sinew_error error;
    char path[256];
    snprintf(path, sizeof path, "%s/abandoned", test_folder());
    sn_output output;
    assert_ok(sn_output_open(&output, path, &error));
    fputs("half", output.stream);
    sn_output_abandon(&output);
    char **names;
    int count;
    assert_ok(sn_folder_list(test_folder(), &names, &count, &error));
    for (int i = 0; i < count; i++) assert_null(strstr(names[i], "abandoned"));
    sn_names_free(names, count);
}

static void written_file_reads_back(void **state) {
    (void)state;
    sinew_error error;
    char path[256];
    snprintf(path, sizeof path, "%s/a.b.txt", test_folder());
    assert_ok(sn_file_write(path, "one\0two", 7, &error));
    char *bytes;
    size_t size;
    assert_ok(sn_file_read(path, &bytes, &size, &error));
    assert_int_equal(size, 7);
    assert_memory_equal(bytes, "one\0two", 8);
    sn_free(bytes);
    char *stem = sn_path_stem(path);
    assert_string_equal(stem, "a.b");
    sn_free(stem);
    assert_true(sn_has_ending(path, "TXT"));
}

static void unwritable_path_is_an_io_error_with_its_name(void **state) {
    (void)state;
    sinew_error error;
    assert_int_equal(sn_file_write("/nowhere/at/all", "x", 1, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "/nowhere/at/all"));
}

int test_files(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abandoned_output_leaves_nothing),
        cmocka_unit_test(written_file_reads_back),
        cmocka_unit_test(unwritable_path_is_an_io_error_with_its_name),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
