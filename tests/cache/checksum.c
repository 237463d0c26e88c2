#include "support.h"

#include <string.h>

#include "cache/checksum.h"
#include "groups.h"

enum { LONGEST = 400 };

static void fill(unsigned char *bytes) {
    for (int i = 0; i < LONGEST; i++) bytes[i] = (unsigned char)(31 * i + (i >> 5));
}

static uint64_t sum_of(const unsigned char *bytes, size_t size) {
    sn_checksum sum;
    sn_checksum_start(&sum);
    sn_checksum_add(&sum, bytes, size);
    return sn_checksum_value(&sum);
}

/* Parts and entries that other versions have written are compared with these. */
static void sums_stay_what_they_were(void **state) {
    (void)state;
    unsigned char bytes[LONGEST];
    fill(bytes);
    assert_int_equal(sum_of(bytes, 0), UINT64_C(0xda6d303adc41bae4));
    assert_int_equal(sum_of(bytes, 3), UINT64_C(0x2e615301a297519f));
    assert_int_equal(sum_of(bytes, LONGEST), UINT64_C(0xa2db8f9ea7098368));
}

static void pieces_do_not_matter_to_the_checksum(void **state) {
    (void)state;
    unsigned char bytes[LONGEST];
    fill(bytes);
    uint64_t whole = sum_of(bytes, LONGEST);
    for (size_t first = 0; first <= 130; first++)
        for (size_t second = 0; second <= 130; second += 13) {
            sn_checksum sum;
            sn_checksum_start(&sum);
            sn_checksum_add(&sum, bytes, first);
            sn_checksum_add(&sum, bytes + first, second);
            sn_checksum_add(&sum, bytes + first + second, LONGEST - first - second);
            assert_true(sn_checksum_value(&sum) == whole);
        }
}

static void every_changed_bit_changes_the_checksum(void **state) {
    (void)state;
    unsigned char bytes[LONGEST];
    fill(bytes);
    for (size_t size = LONGEST - 70; size <= LONGEST; size += 7) {
        uint64_t whole = sum_of(bytes, size);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_true(sum_of(bytes, size) != whole);
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
}

/* Damage as disks do it: zeros, an end that is missing, blocks in the wrong order or twice. */
static void lost_and_moved_blocks_change_the_checksum(void **state) {
    (void)state;
    unsigned char bytes[LONGEST], damaged[LONGEST];
    fill(bytes);
    uint64_t whole = sum_of(bytes, LONGEST);
    for (size_t size = 0; size < LONGEST; size++) assert_true(sum_of(bytes, size) != whole);
    for (size_t block = 8; block <= 128; block *= 2)
        for (size_t at = 0; at + 2 * block <= LONGEST; at += block) {
            memcpy(damaged, bytes, LONGEST);
            memset(damaged + at, 0, block);
            assert_true(sum_of(damaged, LONGEST) != whole);
            memcpy(damaged + at, bytes + at + block, block);
            assert_true(sum_of(damaged, LONGEST) != whole);
            memcpy(damaged + at + block, bytes + at, block);
            assert_true(sum_of(damaged, LONGEST) != whole);
        }
    unsigned char zeros[LONGEST] = {0};
    for (size_t size = 1; size < LONGEST; size++)
        assert_true(sum_of(zeros, size) != sum_of(zeros, size - 1));
}

int test_checksum(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_stay_what_they_were),
        cmocka_unit_test(pieces_do_not_matter_to_the_checksum),
        cmocka_unit_test(every_changed_bit_changes_the_checksum),
        cmocka_unit_test(lost_and_moved_blocks_change_the_checksum),
    };
    return cmocka_run_group_tests_name("checksum", tests, NULL, NULL);
}
