#include "support.h"

#include "base/nearest.h"
#include "groups.h"

static const char *const names[] = {"--weights", "--curves", "--out", "blend"};

static void a_slip_finds_its_name(void **state) {
    (void)state;
    assert_string_equal(sn_nearest_name("--wieghts", 4, names), "--weights");
    assert_string_equal(sn_nearest_name("--curve", 4, names), "--curves");
    assert_string_equal(sn_nearest_name("BLEMD", 4, names), "blend");
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

int test_nearest(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_finds_its_name),
        cmocka_unit_test(a_foreign_word_finds_none),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
