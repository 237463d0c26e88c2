#include "support.h"

#include "base/nearest.h"
#include "groups.h"

static const char *const names[] = {"--weights", "--curves", "--out", "blend"};

static void a_slip_finds_its_name(void **state) {
    (void)state;
    assert_string_equal(sn_nearest_name("--wieghts", 4, names), "--weights");
    assert_string_equal(sn_nearest_name("--curve", 4, names), "--curves");
    assert_string_equal(sn_nearest_name("BLEMD", 4, names), "blend");
    /* neighbors that are exchanged are one slip, two other letters are two */
    const char *const letters[] = {"abcdefxy", "abcdefgh"};
    assert_string_equal(sn_nearest_name("abdcefgh", 2, letters), "abcdefgh");
    assert_string_equal(sn_nearest_name("bacdefgh", 2, letters), "abcdefgh");
    assert_string_equal(sn_nearest_name("abcdefhg", 2, letters), "abcdefgh");
}

static void a_foreign_word_finds_none(void **state) {
    (void)state;
    assert_null(sn_nearest_name("--transmogrify", 4, names));
    assert_null(sn_nearest_name("x", 4, names));
    char long_word[300];
    memset(long_word, 'a', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    assert_null(sn_nearest_name(long_word, 4, names));
}

static void a_hint_names_the_nearest_or_the_first(void **state) {
    (void)state;
    char hint[SN_NAME_HINT_SIZE];
    sn_name_hint("--wieghts", 4, names, hint);
    assert_string_equal(hint, "did you mean '--weights'?");
    sn_name_hint("transmogrify", 4, names, hint);
    assert_string_equal(hint, "it has 4: --weights, --curves, --out, blend");
    sn_name_hint("x", 0, names, hint);
    assert_string_equal(hint, "it has 0");
    const char *many[40];
    for (int i = 0; i < 40; i++) many[i] = "a name of quite some length, forty at least";
    sn_name_hint("x", 40, many, hint);
    assert_true(strlen(hint) < SN_NAME_HINT_SIZE);
    assert_string_equal(hint + strlen(hint) - 5, ", ...");
}

int test_nearest(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_finds_its_name),
        cmocka_unit_test(a_foreign_word_finds_none),
        cmocka_unit_test(a_hint_names_the_nearest_or_the_first),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
