#include "support.h"

#include <float.h>
#include <locale.h>

#include "base/number.h"
#include "groups.h"

static double read(const char *text) {
    const char *at = text;
    double value = -12345;
    assert_true(sn_number(&at, &value));
    assert_int_equal(*at, '\0');
    return value;
}

static bool same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

/* The C library is the reference: correctly rounded in glibc. */
static void decimals_are_correctly_rounded(void **state) {
    (void)state;
    const char *hard[] = {"0",
                          "-0",
                          ".001",
                          "5.",
                          "+1.5e3",
                          "1e22",
                          "1e23",
                          "9007199254740993",
                          "9007199254740992.5",
                          "0.1000000000000000055511151231257827",
                          "2.2250738585072011e-308",
                          "4.9406564584124654e-324",
                          "2.4703282292062327e-324",
                          "1.7976931348623157e308",
                          "1e400",
                          "1e-400",
                          "0.00000000000000000000000000000000000001",
                          "123456789012345678901234567890",
                          "9223372036854775808e0",
                          "1.00000000000000011102230246251565404",
                          "1.00000000000000011102230246251565",
                          "1844674407370955161600000000000000000000e-20",
                          "6.0221407599999999999e23"};
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        if (!same_bits(read(hard[i]), strtod(hard[i], NULL))) fail_msg("%s", hard[i]);
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        double mantissa = test_random(&seed);
        int exponent = (int)(test_random(&seed) * (i % 2 ? 10 : 300));
        snprintf(text, sizeof text, "%.*fe%d", 1 + i % 22, mantissa * 10, exponent);
        if (!same_bits(read(text), strtod(text, NULL))) fail_msg("%s", text);
    }
}

static void text_that_is_no_number_is_left_alone(void **state) {
    (void)state;
    const char *bad[] = {"", "-", ".", "e5", "x", "+.e1", "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *at = bad[i];
        double value;
        assert_false(sn_number(&at, &value));
        assert_ptr_equal(at, bad[i]);
    }
    const char *at = "1.5e+x";
    double value;
    assert_true(sn_number(&at, &value));
    assert_string_equal(at, "e+x");
    int64_t integer = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        at = bad[i];
        assert_false(sn_integer(&at, &integer));
        assert_ptr_equal(at, bad[i]);
        assert_true(integer == 7);
    }
    at = "9223372036854775808";
    assert_false(sn_integer(&at, &integer));
    assert_true(integer == 7);
    at = "-9223372036854775808";
    assert_true(sn_integer(&at, &integer));
    assert_true(integer == INT64_MIN);
}

static void doubles_read_back_to_the_bit(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 200000; i++) {
        double value;
        uint64_t bits = 0;
        if (i % 2)
            for (int k = 0; k < 4; k++)
                bits = bits << 16 ^ (uint64_t)(fabs(test_random(&seed)) * 65536);
        else {
            value = test_random(&seed) * pow(10, (int)(test_random(&seed) * 8));
            memcpy(&bits, &value, sizeof bits);
        }
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        char text[SN_NUMBER_SIZE + 1];
        text[sn_number_format(value, text)] = '\0';
        bool single = fabs(value) <= FLT_MAX && (double)(float)value == value;
        double back = read(text);
        if (single ? (float)back != (float)value : !same_bits(back, value))
            fail_msg("%.17g written as %s", value, text);
    }
}

static void floats_read_back_to_the_bit_in_few_digits(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 200000; i++) {
        uint32_t bits = (uint32_t)((test_random(&seed) + 1) * 2147483648.0);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        char text[SN_NUMBER_SIZE + 1];
        text[sn_number_format((double)value, text)] = '\0';
        if ((float)read(text) != value) fail_msg("%.9g written as %s", (double)value, text);
        int digits = 0;
        for (const char *c = text; *c && *c != 'e'; c++) digits += *c >= '0' && *c <= '9';
        if (strchr(text, 'e')) assert_true(digits <= 9);
    }
    struct {
        double value;
        const char *text;
    } known[] = {{(double)0.1f, "0.1"}, {0.1, "0.1"},   {1, "1"},
                 {-2.5, "-2.5"},        {1e20, "1e20"}, {1e-7, "1e-7"},
                 {123456, "123456"},    {-0.0, "-0"},   {1.0 / 3, "0.3333333333333333"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char text[SN_NUMBER_SIZE + 1];
        text[sn_number_format(known[i].value, text)] = '\0';
        assert_string_equal(text, known[i].text);
    }
}

/* A locale with a decimal comma, where the machine has one. */
static void the_locale_of_the_host_does_not_matter(void **state) {
    (void)state;
    const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    const char *set = NULL;
    for (int i = 0; !set && i < 3; i++) set = setlocale(LC_NUMERIC, names[i]);
    char text[SN_NUMBER_SIZE + 1];
    text[sn_number_format(1.25e-250, text)] = '\0';
    double back = read(text);
    double long_one = read("0.1000000000000000055511151231257827");
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "1.25e-250");
    assert_true(back == 1.25e-250);
    assert_true(long_one == 0.1);
}

int test_numbers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_are_correctly_rounded),
        cmocka_unit_test(text_that_is_no_number_is_left_alone),
        cmocka_unit_test(doubles_read_back_to_the_bit),
        cmocka_unit_test(floats_read_back_to_the_bit_in_few_digits),
        cmocka_unit_test(the_locale_of_the_host_does_not_matter),
    };
    return cmocka_run_group_tests_name("numbers", tests, NULL, NULL);
}
