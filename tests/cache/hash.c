#include "support.h"

#include "cache/hash.h"
#include "groups.h"

/* First entries of the published 128-bit vectors: key 00 01 ... 0f, message 00 01 ... */
static const unsigned char published[][16] = {
    {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
     0x93},
    {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
     0x45},
};

static void hash_gives_the_published_vectors(void **state) {
    (void)state;
    for (size_t length = 0; length < 2; length++) {
        sinew_hash hash;
        sn_hash_start_keyed(&hash, 0x0706050403020100u, 0x0f0e0d0c0b0a0908u);
        unsigned char message[2] = {0, 1};
        sn_hash_add_raw(&hash, message, length);
        sinew_cache_key key = sinew_hash_key(&hash);
        for (int i = 0; i < 8; i++) {
            assert_int_equal((key.low >> (8 * i)) & 0xff, published[length][i]);
            assert_int_equal((key.high >> (8 * i)) & 0xff, published[length][8 + i]);
        }
    }
}

static void pieces_do_not_matter_to_the_raw_hash(void **state) {
    (void)state;
    unsigned char bytes[100];
    for (int i = 0; i < 100; i++) bytes[i] = (unsigned char)(7 * i);
    sinew_hash whole;
    sinew_hash_start(&whole);
    sn_hash_add_raw(&whole, bytes, 100);
    for (size_t cut = 0; cut <= 100; cut++) {
        sinew_hash parts;
        sinew_hash_start(&parts);
        sn_hash_add_raw(&parts, bytes, cut);
        sn_hash_add_raw(&parts, bytes + cut, 100 - cut);
        assert_true(sinew_hash_key(&parts).low == sinew_hash_key(&whole).low);
        assert_true(sinew_hash_key(&parts).high == sinew_hash_key(&whole).high);
    }
}

static void where_a_field_ends_matters_to_the_key(void **state) {
    (void)state;
    sinew_hash a, b;
    sinew_hash_start(&a);
    sinew_hash_start(&b);
    sinew_hash_add_text(&a, "ab");
    sinew_hash_add_text(&a, "c");
    sinew_hash_add_text(&b, "a");
    sinew_hash_add_text(&b, "bc");
    assert_true(sinew_hash_key(&a).low != sinew_hash_key(&b).low);
}

int test_hash(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_gives_the_published_vectors),
        cmocka_unit_test(pieces_do_not_matter_to_the_raw_hash),
        cmocka_unit_test(where_a_field_ends_matters_to_the_key),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
