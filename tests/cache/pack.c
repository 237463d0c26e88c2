#include "support.h"

#include "base/memory.h"
#include "cache/pack.h"
#include "groups.h"

static void fill(sn_pack *pack) {
    double values[3] = {1.5, -2, 1e300};
    sn_pack_int(pack, 42);
    sn_pack_array(pack, values, 3, sizeof *values);
    sn_pack_array(pack, NULL, 0, 4);
    sn_pack_double(pack, 0.25);
    assert_false(pack->failed);
}

static void packed_arrays_come_back(void **state) {
    (void)state;
    sn_pack pack = {0};
    fill(&pack);
    sn_unpack in = {.bytes = pack.bytes, .size = pack.size};
    assert_int_equal(sn_unpack_int(&in), 42);
    double *values = sn_unpack_array(&in, 3, sizeof *values);
    assert_true(values && values[0] == 1.5 && values[1] == -2 && values[2] == 1e300);
    int *none = sn_unpack_array(&in, 0, sizeof *none);
    assert_non_null(none);
    assert_true(sn_unpack_double(&in) == 0.25);
    assert_true(sn_unpack_complete(&in));
    sn_free(values);
    sn_free(none);
    sn_pack_free(&pack);
}

static void every_truncation_fails_cleanly(void **state) {
    (void)state;
    sn_pack pack = {0};
    fill(&pack);
    for (size_t size = 0; size < pack.size; size++) {
        char *cut = sn_memdup(pack.bytes, size, 1);
        sn_unpack in = {.bytes = cut, .size = size};
        sn_unpack_int(&in);
        sn_free(sn_unpack_array(&in, 3, sizeof(double)));
        sn_free(sn_unpack_array(&in, 0, sizeof(int)));
        sn_unpack_double(&in);
        assert_false(sn_unpack_complete(&in));
        sn_free(cut);
    }
    sn_pack_free(&pack);
}

static void a_different_count_or_type_fails(void **state) {
    (void)state;
    sn_pack pack = {0};
    int values[4] = {1, 2, 3, 4};
    sn_pack_array(&pack, values, 4, sizeof *values);
    sn_unpack in = {.bytes = pack.bytes, .size = pack.size};
    assert_null(sn_unpack_array(&in, 5, sizeof *values));
    assert_true(in.failed);
    in = (sn_unpack){.bytes = pack.bytes, .size = pack.size};
    assert_null(sn_unpack_array(&in, 2, sizeof(double)));
    in = (sn_unpack){.bytes = pack.bytes, .size = pack.size - 1}; /* a byte too few */
    assert_null(sn_unpack_array(&in, 4, sizeof *values));
    assert_true(in.failed && !in.starved);
    sn_pack_free(&pack);
}

static void elements_come_back_into_their_place(void **state) {
    (void)state;
    sn_pack pack = {0};
    int values[4] = {1, 2, 3, 4}, back[8] = {0};
    sn_pack_array(&pack, values, 4, sizeof *values);
    sn_unpack in = {.bytes = pack.bytes, .size = pack.size};
    assert_true(sn_unpack_into(&in, back, 4, sizeof *back));
    assert_memory_equal(back, values, sizeof values);
    assert_true(sn_unpack_complete(&in));
    static const size_t wrong[][2] = {{3, 4}, {5, 4}, {2, 8}, {4, 2}};
    for (int i = 0; i < 4; i++) {
        in = (sn_unpack){.bytes = pack.bytes, .size = pack.size};
        memset(back, 0, sizeof back);
        assert_false(sn_unpack_into(&in, back, wrong[i][0], wrong[i][1]));
        assert_true(in.failed && back[0] == 0);
    }
    for (size_t size = 0; size < pack.size; size++) {
        in = (sn_unpack){.bytes = pack.bytes, .size = size};
        assert_false(sn_unpack_into(&in, back, 4, sizeof *back));
        assert_true(in.failed);
    }
    in = (sn_unpack){.bytes = pack.bytes, .size = 3};
    assert_int_equal(sn_unpack_int(&in), 0); /* nothing is zero */
    assert_true(in.failed && sn_unpack_double(&in) == 0);
    sn_pack_free(&pack);
}

/* A stored count that is asked for, but whose bytes are more than a size can hold or than there
 * are: damage, not a lack of memory. */
static void counts_beyond_the_bytes_fail(void **state) {
    (void)state;
    const uint64_t counts[] = {(UINT64_C(1) << 61) + 1, UINT64_C(1) << 61, SIZE_MAX, 3};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int into = 0; into < 2; into++) {
            const uint64_t stored[4] = {counts[i], sizeof(double), 0, 0}; /* two elements */
            double values[4] = {7, 7, 7, 7};
            sn_unpack unpack = {.bytes = (const char *)stored, .size = sizeof stored};
            if (into)
                assert_false(sn_unpack_into(&unpack, values, (size_t)counts[i], sizeof(double)));
            else
                assert_null(sn_unpack_array(&unpack, (size_t)counts[i], sizeof(double)));
            assert_true(unpack.failed && !unpack.starved);
            for (int k = 0; k < 4; k++) assert_close(values[k], 7, 0);
            sinew_error error;
            assert_int_equal(sn_unpack_fail(&unpack, &error), SINEW_BAD_INPUT);
        }
}

static void numbers_that_are_not_finite_fail(void **state) {
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 4; i++) {
        double values[3] = {1, i < 3 ? bad[i] : 2, 3};
        sn_pack pack = {0};
        sn_pack_array(&pack, values, 3, sizeof *values);
        sn_unpack in = {.bytes = pack.bytes, .size = pack.size};
        double *numbers = sn_unpack_numbers(&in, 3);
        assert_int_equal(in.failed, i < 3);
        assert_int_equal(sn_unpack_complete(&in), i == 3);
        sn_free(numbers);
        sn_pack_free(&pack);
    }
}

int test_pack(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_arrays_come_back),
        cmocka_unit_test(every_truncation_fails_cleanly),
        cmocka_unit_test(a_different_count_or_type_fails),
        cmocka_unit_test(elements_come_back_into_their_place),
        cmocka_unit_test(counts_beyond_the_bytes_fail),
        cmocka_unit_test(numbers_that_are_not_finite_fail),
    };
    return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
