#include "support.h"

#include "base/memory.h"
#include "groups.h"

static void overflowing_counts_give_no_memory(void **state) {
    (void)state;
    assert_null(sn_alloc(SIZE_MAX / 2, 4));
    assert_null(sn_alloc_aligned(SIZE_MAX / 2, 4));
}

static void zero_elements_give_a_block(void **state) {
    (void)state;
    void *block = sn_alloc(0, 8);
    assert_non_null(block);
    sn_free(block);
}

static void aligned_blocks_are_aligned(void **state) {
    (void)state;
    for (size_t n = 1; n < 200; n += 7) {
        char *block = sn_alloc_aligned(n, 1);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        memset(block, 1, n);
        sn_free_aligned(block);
    }
}

static void growing_array_keeps_its_contents(void **state) {
    (void)state;
    int *array = NULL;
    size_t capacity = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(SN_RESERVE(array, capacity, i + 1));
        array[i] = i;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(array[i], i);
    sn_free(array);
}

int test_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overflowing_counts_give_no_memory),
        cmocka_unit_test(zero_elements_give_a_block),
        cmocka_unit_test(aligned_blocks_are_aligned),
        cmocka_unit_test(growing_array_keeps_its_contents),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
