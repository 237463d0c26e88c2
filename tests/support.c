#include "support.h"

#include <dirent.h>
#include <execinfo.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "algebra/ordering.h"
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
static bool refuse_once;

/* A place for a breakpoint: who asks for the block that is not there? */
__attribute__((noinline)) static void *refuse(void) {
    __asm__ volatile("");
    return NULL;
}

/* Steps of one kind: those with the same callers. */
typedef struct kind {
    uint64_t callers; /* 0: free */
    long first, second, last;
    int job; /* that it was found in */
} kind;

enum { MOST_KINDS = 1 << 17, MOST_DEPTH = 40 };
static struct {
    bool on, thorough;
    int depth, job, count; /* of kinds */
    kind kinds[MOST_KINDS];
    long chosen[MOST_KINDS]; /* three of a kind at most */
    pthread_mutex_t lock;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

void test_steps_begin(void) {
    const char *depth = getenv("SINEW_DEPTH");
    void *callers[1];
    backtrace(callers, 1); /* loads what it needs */
    trace.thorough = getenv("SINEW_EVERY") != NULL;
    trace.depth = trace.thorough ? MOST_DEPTH : depth ? atoi(depth) : 4;
    if (trace.depth < 1 || trace.depth > MOST_DEPTH) trace.depth = MOST_DEPTH;
    trace.job++;
    if (trace.thorough) memset(trace.kinds, 0, sizeof trace.kinds), trace.count = 0;
}

void test_step(long number) {
    void *callers[MOST_DEPTH];
    int count = backtrace(callers, trace.depth);
    uint64_t hash = 14695981039346656037ull;
    for (int i = 0; i < count; i++) hash = (hash ^ (uintptr_t)callers[i]) * 1099511628211ull;
    hash |= !hash;
    pthread_mutex_lock(&trace.lock);
    size_t slot = (hash >> 20) % MOST_KINDS;
    while (trace.kinds[slot].callers && trace.kinds[slot].callers != hash)
        slot = (slot + 1) % MOST_KINDS;
    kind *k = &trace.kinds[slot];
    if (!k->callers && trace.count < MOST_KINDS / 4)
        *k = (kind){hash, number, -1, number, trace.job}, trace.count++;
    else if (k->second < 0)
        k->second = number;
    k->last = number;
    pthread_mutex_unlock(&trace.lock);
}

static int compare_numbers(const void *a, const void *b) {
    const long *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

int test_steps(const long **numbers) {
    int count = 0, different = 0;
    for (const kind *k = trace.kinds; k < trace.kinds + MOST_KINDS; k++) {
        if (!k->callers || k->job != trace.job) continue;
        trace.chosen[count++] = k->first;
        if (!trace.thorough || k->second < 0) continue;
        trace.chosen[count++] = k->second, trace.chosen[count++] = k->last;
    }
    qsort(trace.chosen, (size_t)count, sizeof *trace.chosen, compare_numbers);
    for (int i = 0; i < count; i++)
        if (i == 0 || trace.chosen[i] != trace.chosen[i - 1])
            trace.chosen[different++] = trace.chosen[i];
    *numbers = trace.chosen;
    return different;
}

static void *limited_resize(void *block, size_t bytes, void *user) {
    (void)user;
    size_t largest = __atomic_load_n(&memory.largest, __ATOMIC_RELAXED);
    while (bytes > largest && !__atomic_compare_exchange_n(&memory.largest, &largest, bytes, false,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    long left = __atomic_fetch_sub(&memory.left, 1, __ATOMIC_RELAXED);
    if (left == 0 || (left < 0 && !refuse_once)) return refuse();
    if (trace.on) test_step(LONG_MAX - left);
    void *moved = realloc(block, bytes);
    if (moved && !block) __atomic_fetch_add(&memory.living, 1, __ATOMIC_RELAXED);
    return moved;
}

static void counted_release(void *block, void *user) {
    (void)user;
    __atomic_fetch_sub(&memory.living, 1, __ATOMIC_RELAXED);
    free(block);
}

static void limit_memory(long allowed, bool once) {
    const sinew_allocator limited = {limited_resize, counted_release, NULL};
    memory = (test_memory_use){.left = allowed};
    refuse_once = once;
    sinew_set_allocator(&limited);
}

void test_memory_limit(long allowed) {
    limit_memory(allowed, false);
}

void test_memory_gap(long allowed) {
    limit_memory(allowed, true);
}

void test_memory_trace(void) {
    test_steps_begin();
    trace.on = true;
    test_memory_limit(LONG_MAX);
}

test_memory_use test_memory_restore(void) {
    sn_ordering_wait(); /* what cancelled calls left behind is not lost */
    sinew_set_allocator(NULL);
    trace.on = false;
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
        if (failures >= 64 && failures % 16 != 0) continue; /* a loop, mostly */
        test_memory_gap(failures);
        status = job(user);
        lost = test_memory_restore().living;
        if (lost != 0 || (status != SINEW_NO_MEMORY && status != SINEW_OK))
            fail_msg("%s and %ld blocks lost when allocation %d alone fails",
                     sinew_status_name(status), lost, failures);
    }
    fail_msg("no memory, however much there is");
    return 0;
}
