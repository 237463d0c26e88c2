/* JSON texts: jansson's own parser is the reference wherever it does not abort. */
#include "support.h"

#include <limits.h>

#include "base/json_text.h"
#include "base/memory.h"
#include "groups.h"

static const char *const texts[] = {
    "{}",
    "[]",
    " [ ] ",
    "null",
    "true",
    "false",
    "tru",
    "nul",
    "",
    " ",
    "\n\n",
    "0",
    "-0",
    "-",
    "--1",
    "01",
    "-01",
    "1.",
    ".5",
    "1.5",
    "1e5",
    "1E+5",
    "1e-5",
    "1e",
    "1e+",
    "+1",
    "1.5e300",
    "1e400",
    "-1e400",
    "1e-400",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "123456789.123456789123456789",
    "[1,2,3]",
    "[1,,2]",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1",
    "]",
    "[1]]",
    "[1] x",
    "{\"a\":1}",
    "{\"a\" : [1, {\"b\": null}] }",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{a:1}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"b\":2",
    "{1:2}",
    "\"\"",
    "\"a",
    "\"\\\"\"",
    "\"\\\"",
    "\"\\b\\f\\n\\r\\t\\/\\\\\"",
    "\"\\x\"",
    "\"\\u00e9\"",
    "\"\\u00FF\\uAf0F\"",
    "\"\\u20AC\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\ude00\"",
    "\"\\ud83dx\"",
    "\"\\ud83d\\u0041\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\u\"",
    "\"\\u0000\"",
    "\"a\nb\"",
    "\"a\tb\"",
    "\"\xc3\xa9\"",
    "\"\xc3\"",
    "\"\xff\"",
    "\"\xf0\x9f\x98\x80\"",
    "\"\xed\xa0\x80\"",
    "{\"a long key of more than thirty-two characters\": \"and a long text of a value\"}",
    "[1.2345678901234567, -9.8765432109876543e-12]",
    "nan",
    "[inf]",
    "{\"\": 1}",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static void check_like_jansson(const char *text, size_t size) {
    sn_json_problem problem;
    json_error_t at;
    json_t *expected = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &at);
    json_t *value = sn_json_read(text, size, &problem);
    if (!value != !expected)
        fail_msg("'%.*s': %s, jansson: %s", (int)size, text, value ? "accepted" : problem.text,
                 expected ? "accepted" : at.text);
    if (value && !json_equal(value, expected)) fail_msg("'%.*s': another value", (int)size, text);
    if (!value) assert_true(!problem.no_memory && *problem.text && problem.line >= 1);
    json_decref(value), json_decref(expected);
}

static void the_same_texts_are_json_as_for_jansson(void **state) {
    (void)state;
    for (int i = 0; i < TEXTS; i++) check_like_jansson(texts[i], strlen(texts[i]));
    check_like_jansson("[\"a\0b\"]", 7);
    check_like_jansson("[1, 2]\0", 7);
}

/* The bytes of one text are changed, removed and doubled; nothing behind the text is read. */
static void damaged_texts_are_refused_as_by_jansson(void **state) {
    (void)state;
    static const char good[] = "{\"a\": [1, -2.5e3, \"x\\u00e9\\n\", true], \"b\": {\"c\": null}}";
    static const char bytes[] = "\"\\{}[],:0-.e u\n\xc3\xff";
    for (size_t i = 0; i + 1 < sizeof good; i++) {
        char *cut = malloc(i ? i : 1); /* no zero byte behind it */
        memcpy(cut, good, i);
        check_like_jansson(cut, i);
        free(cut);
        for (const char *b = bytes; *b; b++) {
            char text[sizeof good];
            memcpy(text, good, sizeof good);
            text[i] = *b;
            check_like_jansson(text, sizeof good - 1);
        }
    }
}

static json_t *nested(int depth, sn_json_problem *problem) {
    char *text = malloc((size_t)(2 * depth));
    memset(text, '[', (size_t)depth), memset(text + depth, ']', (size_t)depth);
    json_t *value = sn_json_read(text, (size_t)(2 * depth), problem);
    free(text);
    return value;
}

static void nesting_has_a_limit(void **state) {
    (void)state;
    sn_json_problem problem;
    json_t *value = nested(2048, &problem);
    assert_non_null(value);
    json_decref(value);
    assert_null(nested(2049, &problem));
    assert_string_equal(problem.text, "the text is nested too deeply");
    assert_null(nested(1000000, &problem));
}

static void a_byte_order_mark_is_skipped(void **state) {
    (void)state;
    sn_json_problem problem;
    json_t *value = sn_json_read("\xef\xbb\xbf[1]", 6, &problem);
    assert_int_equal(json_integer_value(json_array_get(value, 0)), 1);
    json_decref(value);
    static const char *const wrong[] = {"\xef\xbb\xbf", "\xef\xbb[1]", "[\xef\xbb\xbf]",
                                        "\xef\xbb\xbf\xef\xbb\xbf[1]"};
    for (int i = 0; i < 4; i++) assert_null(sn_json_read(wrong[i], strlen(wrong[i]), &problem));
}

static void assert_problem(const char *text, int line, int column, const char *what) {
    sn_json_problem problem;
    assert_null(sn_json_read(text, strlen(text), &problem));
    assert_string_equal(problem.text, what);
    assert_int_equal(problem.line, line);
    assert_int_equal(problem.column, column);
}

static void problems_name_line_and_column(void **state) {
    (void)state;
    assert_problem("{\"a\": 1,\n \"b\" 2}", 2, 6, "':' is expected near '2}'");
    assert_problem("[1,\n2,\n", 3, 1, "the text ends, but a value is expected");
    assert_problem("[1 2]", 1, 4, "',' or ']' is expected near '2]'");
    assert_problem("{\"a\": 1; \"b\": 2\n}", 1, 8, "',' or '}' is expected near '; \"b\": 2'");
    assert_problem("{\"a\": 1, \"a\": 2}", 1, 10, "the key 'a' appears twice");
    assert_problem("[\n99999999999999999999]", 2, 1, "the integer does not fit 64 bits");
    assert_problem("[x]", 1, 2, "a value is expected near 'x]'");
    assert_problem("[1.x]", 1, 4, "a digit is expected near 'x]'");
    assert_problem("[1e999]", 1, 2, "the number is too large for a double");
    assert_problem("[\"a", 1, 2, "the text ends inside a string");
    assert_problem("[\"\xff\"]", 1, 2, "a string is not UTF-8");
    assert_problem("{} {}", 1, 4, "the end of the text is expected near '{}'");
    assert_problem("[\"\\q\"]", 1, 4, "an unknown escape sequence");
    assert_problem("{2: 1}", 1, 2, "a key is expected near '2: 1}'");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *take(size_t size) {
    return sn_alloc(size, 1);
}

/* jansson 2.14 aborts here, or reads past its buffer. */
static void memory_may_run_out_inside_any_token(void **state) {
    (void)state;
    static const char text[] =
        "{\"a key of more than sixteen bytes\": [0.12345678901234567890123456789012345678, "
        "1234567890123456789, \"a text of more than sixteen bytes, and then of thirty-two\"], "
        "\"b\": {\"c\": [[], {}, true, -1e-7]}}";
    sn_json_problem problem;
    json_set_alloc_funcs(take, sn_free);
    long failures = 0;
    json_t *value = NULL;
    while (!value) {
        test_memory_limit(failures);
        value = sn_json_read(text, sizeof text - 1, &problem);
        assert_int_equal(problem.no_memory, !value);
        if (!value) assert_int_equal(test_memory_restore().living, 0);
        failures++;
    }
    json_decref(value);
    assert_int_equal(test_memory_restore().living, 0);
    json_set_alloc_funcs(malloc, free);
    assert_true(failures > 15);
}

/* json_dumps of jansson 2.14 gives a text without the key that it had no memory for. */
static void a_text_is_complete_or_not_there(void **state) {
    (void)state;
    json_t *value = json_pack("{s:i, s:[s, f], s:n}",
                              "a key of more than sixteen bytes, and then of thirty-two", 1, "b",
                              "a text of more than sixty-four bytes, for which the buffer grows",
                              0.5, "another key of more than sixteen bytes");
    char *whole = sn_json_dump(value, JSON_COMPACT), *text;
    assert_string_equal(
        whole, "{\"a key of more than sixteen bytes, and then of thirty-two\":1,\"b\":[\"a text of "
               "more than sixty-four bytes, for which the buffer grows\",0.5],\"another key of "
               "more than sixteen bytes\":null}");
    json_set_alloc_funcs(take, sn_free);
    int refused = 0;
    for (long gap = 0, left = -1; left < 0; gap++) {
        test_memory_gap(gap);
        text = sn_json_dump(value, JSON_COMPACT);
        if (text) assert_string_equal(text, whole);
        refused += !text;
        sn_free(text);
        test_memory_use use = test_memory_restore();
        assert_int_equal(use.living, 0);
        left = use.left;
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(refused > 4);
    assert_null(sn_json_dump(NULL, JSON_COMPACT));
    sn_free(whole);
    json_decref(value);
}

int test_json(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_texts_are_json_as_for_jansson),
        cmocka_unit_test(damaged_texts_are_refused_as_by_jansson),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(a_byte_order_mark_is_skipped),
        cmocka_unit_test(problems_name_line_and_column),
        cmocka_unit_test(memory_may_run_out_inside_any_token),
        cmocka_unit_test(a_text_is_complete_or_not_there),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
