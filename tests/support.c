#include "support.h"

#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sinew/memory.h"

/* SINEW_TESTS='*pairs*' runs only the tests whose names match. */
__attribute__((constructor)) static void choose_tests(void) {
    const char *pattern = getenv("SINEW_TESTS");
    if (pattern) cmocka_set_test_filter(pattern);
}

const char *test_data(const char *relative) {
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    const char *root = getenv("SINEW_DATA");
    const char *source = getenv("SINEW_SOURCE");
    if (root && *root)
        snprintf(path, sizeof paths[0], "%s/%s", root, relative);
    else
        snprintf(path, sizeof paths[0], "%s/../shared/data/%s", source ? source : ".", relative);
    return access(path, R_OK) == 0 ? path : NULL;
}

static char folder[64];

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static void remove_folder(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder(void) {
    if (!*folder) {
        strcpy(folder, "/tmp/sinew-test-XXXXXX");
        if (!mkdtemp(folder)) abort();
        atexit(remove_folder);
    }
    return folder;
}

int test_count_entries(const char *path) {
    DIR *open = opendir(path);
    assert_non_null(open);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(open));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(open);
    return count;
}

static test_memory_use memory;

/* A place for a breakpoint: who asks for the block that is not there? */
__attribute__((noinline)) static void *refuse(void) {
    __asm__ volatile("");
    return NULL;
}

static void *limited_resize(void *block, size_t bytes, void *user) {
    (void)user;
    size_t largest = __atomic_load_n(&memory.largest, __ATOMIC_RELAXED);
    while (bytes > largest && !__atomic_compare_exchange_n(&memory.largest, &largest, bytes, false,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    if (__atomic_fetch_sub(&memory.left, 1, __ATOMIC_RELAXED) <= 0) return refuse();
    void *moved = realloc(block, bytes);
    if (moved && !block) __atomic_fetch_add(&memory.living, 1, __ATOMIC_RELAXED);
    return moved;
}

static void counted_release(void *block, void *user) {
    (void)user;
    __atomic_fetch_sub(&memory.living, 1, __ATOMIC_RELAXED);
    free(block);
}

void test_memory_limit(long allowed) {
    const sinew_allocator limited = {limited_resize, counted_release, NULL};
    memory = (test_memory_use){.left = allowed};
    sinew_set_allocator(&limited);
}

test_memory_use test_memory_restore(void) {
    sinew_set_allocator(NULL);
    return memory;
}

int test_out_of_memory(sinew_status (*job)(void *user), void *user) {
    for (int failures = 0; failures < 100000; failures++) {
        test_memory_limit(failures);
        sinew_status status = job(user);
        long lost = test_memory_restore().living;
        if (lost != 0) fail_msg("%ld blocks are lost when allocation %d fails", lost, failures);
        if (status == SINEW_OK) return failures;
        if (status != SINEW_NO_MEMORY)
            fail_msg("%s when allocation %d fails", sinew_status_name(status), failures);
    }
    fail_msg("no memory, however much there is");
    return 0;
}
