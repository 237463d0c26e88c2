#ifndef TESTS_CACHE_GROUPS_H
#define TESTS_CACHE_GROUPS_H
int test_checksum(void);
int test_hash(void);
int test_pack(void);
int test_store(void);
#endif
