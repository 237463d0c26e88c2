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

static void folders_and_names_are_joined_by_one_slash(void **state) {
    (void)state;
    static const char *const cases[][3] = {{"a", "b", "a/b"},
                                           {"a/", "b", "a/b"},
                                           {"/", "b", "/b"},
                                           {"", "b", "b"},
                                           {"a/b", "", "a/b/"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = sn_path_join(cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        sn_free(path);
    }
}

static void messages_are_one_printable_line(void **state) {
    (void)state;
    static const struct {
        const char *raw, *shown;
    } cases[] = {
        {"plain", "plain"},
        {"tab\tfeed\nreturn\r", "tab?feed?return?"},
        {"\x1b[31mred\x1b[0m", "?[31mred?[0m"},
        {"\x7f\x01", "??"},
        {"M\xc3\xa4usel\xc3\xb6wen \xe2\x82\xac \xf0\x9f\x98\x80",
         "M\xc3\xa4usel\xc3\xb6wen \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"c1 \xc2\x9b"
         "31m",
         "c1 ??31m"},
        {"override \xe2\x80\xae"
         "fdp",
         "override ???fdp"},
        {"isolate \xe2\x81\xa6", "isolate ???"},
        {"overlong \xc0\xaf \xe0\x80\xaf", "overlong ?? ???"},
        {"surrogate \xed\xa0\x80", "surrogate ???"},
        {"beyond \xf4\x90\x80\x80 \xff", "beyond ???? ?"},
        {"cut \xe2\x82", "cut ??"},
        {"lone \x80 and \xc3(", "lone ? and ?("},
        /* shown as nothing: two names that differ would look alike */
        {"jaw\u00adOpen", "jaw??Open"},
        {"jaw\u200bOpen\u2060\ufeff", "jaw???Open??????"},
        {"jaw\u200dOpen\u200c", "jaw???Open???"},
        {"a\ufe0f\u034f\u3164", "a????????"},
        {"tag \U000e0041\U000e007f", "tag ????????"},
        {"selector \U000e0100 1\ufe0f", "selector ???? 1???"},
        {"separators \u180e \u2029 \ufff9", "separators ??? ??? ???"},
        {"noncharacters \ufffe \U0001ffff \ufdd0", "noncharacters ??? ???? ???"},
        {"twice \u0915\u094d\u200d\u200d", "twice \u0915\u094d\u200d???"},
        {"alone \U0001f469\u200d x", "alone \U0001f469??? x"},
        /* but these need what joins or selects */
        {"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", NULL},
        {"\u0915\u094d\u200d\u0937 \u0dc1\u0dca\u200d\u0dbb\u0dd3", NULL},
        {"\U0001f469\u200d\U0001f4bb \U0001f3f3\ufe0f\u200d\U0001f308", NULL},
        {"\u2764\ufe0f \u00a9\ufe0f #\ufe0f\u20e3 \u845b\U000e0100 \u1820\u180b", NULL},
    };
    sinew_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sn_fail(&error, SINEW_IO, "%s", cases[i].raw);
        assert_string_equal(error.message, cases[i].shown ? cases[i].shown : cases[i].raw);
    }
}

/* The reason stands at the end of a message, behind the name of the file. */
static void a_long_name_does_not_hide_the_reason(void **state) {
    (void)state;
    sinew_error error;
    char name[3000];
    for (size_t length = 400; length < sizeof name; length += 13) {
        memset(name, 'x', length);
        name[length] = '\0';
        sn_fail(&error, SINEW_IO, "%s: no such file", name);
        size_t shown = strlen(error.message);
        assert_true(shown < sizeof error.message);
        assert_string_equal(error.message + shown - 14, ": no such file");
        assert_int_equal(*error.message, 'x');
        if (length + 14 < sizeof error.message)
            assert_int_equal(shown, length + 14);
        else
            assert_non_null(strstr(error.message, "x ... x"));
    }
}

int test_files(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abandoned_output_leaves_nothing),
        cmocka_unit_test(written_file_reads_back),
        cmocka_unit_test(unwritable_path_is_an_io_error_with_its_name),
        cmocka_unit_test(folders_and_names_are_joined_by_one_slash),
        cmocka_unit_test(messages_are_one_printable_line),
        cmocka_unit_test(a_long_name_does_not_hide_the_reason),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
