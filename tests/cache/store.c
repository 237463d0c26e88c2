#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "groups.h"
#include "sinew/cache.h"

static sinew_error error;

static sinew_cache *fresh_store(const char *name, uint64_t limit) {
    char *folder = sn_path_join(test_folder(), name);
    sinew_cache *cache;
    assert_ok(sinew_cache_open(folder, limit, &cache, &error));
    sn_free(folder);
    return cache;
}

static sinew_cache_key key_of(const char *text) {
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add_text(&hash, text);
    return sinew_hash_key(&hash);
}

static bool holds(sinew_cache *cache, const char *text, const char *version) {
    sinew_cache_entry *entry;
    assert_ok(sinew_cache_enter(cache, key_of(text), version, NULL, &entry, &error));
    bool found = entry->bytes != NULL;
    sinew_cache_leave(entry);
    return found;
}

static void keep(sinew_cache *cache, const char *text, const char *version, const void *bytes,
                 size_t size) {
    sinew_cache_entry *entry;
    assert_ok(sinew_cache_enter(cache, key_of(text), version, NULL, &entry, &error));
    assert_ok(sinew_cache_store(entry, bytes, size, &error));
    sinew_cache_leave(entry);
}

/* The one entry file of the store, newly allocated. */
static char *only_file(const char *store) {
    char *folder = sn_path_join(test_folder(), store), *path = NULL;
    char **names;
    int count;
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    assert_int_equal(count, 1); /* no lock, no temporary file is left */
    path = sn_path_join(folder, names[0]);
    sn_names_free(names, count);
    sn_free(folder);
    return path;
}

static void what_was_stored_is_found_again(void **state) {
    (void)state;
    sinew_cache *cache = fresh_store("again", 0);
    assert_false(holds(cache, "a", "1"));
    keep(cache, "a", "1", "content", 7);
    sinew_cache_entry *entry;
    assert_ok(sinew_cache_enter(cache, key_of("a"), "1", NULL, &entry, &error));
    assert_int_equal(entry->size, 7);
    assert_memory_equal(entry->bytes, "content", 7);
    sinew_cache_leave(entry);
    assert_false(holds(cache, "b", "1"));
    sinew_cache_close(cache);
}

static void another_version_is_absent(void **state) {
    (void)state;
    sinew_cache *cache = fresh_store("version", 0);
    keep(cache, "a", "modes 3", "x", 1);
    assert_false(holds(cache, "a", "modes 4"));
    assert_true(holds(cache, "a", "modes 3"));
    sinew_cache_close(cache);
}

static void every_truncation_and_damage_is_absent_and_rebuilt(void **state) {
    (void)state;
    sinew_cache *cache = fresh_store("damage", 0);
    keep(cache, "a", "1", "0123456789", 10);
    char *path = only_file("damage"), *bytes;
    size_t size;
    assert_ok(sn_file_read(path, &bytes, &size, &error));
    for (size_t cut = 0; cut < size; cut++) {
        assert_ok(sn_file_write(path, bytes, cut, &error));
        assert_false(holds(cache, "a", "1"));
    }
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= 0x40;
        assert_ok(sn_file_write(path, bytes, size, &error));
        assert_false(holds(cache, "a", "1"));
        bytes[at] ^= 0x40;
    }
    keep(cache, "a", "1", "0123456789", 10);
    assert_true(holds(cache, "a", "1"));
    sn_free(bytes);
    sn_free(path);
    sinew_cache_close(cache);
}

/* Neither a pipe that nobody writes to nor a folder is waited for or read. */
static void what_is_not_a_file_is_absent(void **state) {
    (void)state;
    sinew_cache *cache = fresh_store("pipe", 0);
    keep(cache, "a", "1", "0123456789", 10);
    char *path = only_file("pipe");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(holds(cache, "a", "1"));
    keep(cache, "a", "1", "0123456789", 10); /* replaced, or given up: not written into */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(holds(cache, "a", "1"));
    assert_int_equal(rmdir(path), 0);
    keep(cache, "a", "1", "0123456789", 10);
    assert_true(holds(cache, "a", "1"));
    sn_free(path);
    sinew_cache_close(cache);
}

static void least_recently_used_entries_make_room(void **state) {
    (void)state;
    char block[1000] = {0};
    sinew_cache *cache = fresh_store("room", 3500);
    const struct timespec pause = {0, 20000000};
    keep(cache, "a", "1", block, sizeof block), nanosleep(&pause, NULL);
    keep(cache, "b", "1", block, sizeof block), nanosleep(&pause, NULL);
    keep(cache, "c", "1", block, sizeof block), nanosleep(&pause, NULL);
    assert_true(holds(cache, "a", "1")), nanosleep(&pause, NULL);
    keep(cache, "d", "1", block, sizeof block);
    assert_true(holds(cache, "a", "1"));
    assert_false(holds(cache, "b", "1"));
    assert_true(holds(cache, "c", "1"));
    assert_true(holds(cache, "d", "1"));
    sinew_cache_close(cache);
}

/* Entries of one second: the nanoseconds decide. */
static void the_older_of_one_second_makes_room(void **state) {
    (void)state;
    char block[1000] = {0};
    sinew_cache *cache = fresh_store("second", 2500);
    const char *names[2] = {"a", "b"};
    for (int older = 0; older < 2; older++) {
        for (int i = 0; i < 2; i++) {
            keep(cache, names[i], "1", block, sizeof block);
            char *folder = sn_path_join(test_folder(), "second"), **files;
            int count;
            assert_ok(sn_folder_list(folder, &files, &count, &error));
            for (int k = 0; k < count; k++) { /* the new one gets its time, the other has it */
                struct stat info;
                char *path = sn_path_join(folder, files[k]);
                assert_int_equal(stat(path, &info), 0);
                const struct timespec then = {1000000, i == older ? 100 : 200};
                const struct timespec both[2] = {then, then};
                if (info.st_mtim.tv_sec != 1000000)
                    assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
                sn_free(path);
            }
            sn_names_free(files, count), sn_free(folder);
        }
        keep(cache, "c", "1", block, sizeof block); /* one must go */
        assert_int_equal(holds(cache, names[older], "1"), false);
        assert_int_equal(holds(cache, names[1 - older], "1"), true);
        for (int i = 0; i < 3; i++) { /* empty again: a new store of the same folder */
            char *folder = sn_path_join(test_folder(), "second"), **files;
            int count;
            assert_ok(sn_folder_list(folder, &files, &count, &error));
            for (int k = 0; k < count; k++) {
                char *path = sn_path_join(folder, files[k]);
                unlink(path), sn_free(path);
            }
            sn_names_free(files, count), sn_free(folder);
        }
    }
    sinew_cache_close(cache);
}

static void an_entry_may_be_empty_but_not_without_bytes(void **state) {
    (void)state;
    sinew_cache *cache = fresh_store("empty", 100000);
    keep(cache, "a", "1", NULL, 0);
    assert_true(holds(cache, "a", "1"));
    keep(cache, "b", "1", "x", 0);
    assert_true(holds(cache, "b", "1"));
    sinew_cache_entry *entry;
    assert_ok(sinew_cache_enter(cache, key_of("c"), "1", NULL, &entry, &error));
    assert_int_equal(sinew_cache_store(entry, NULL, 5, &error), SINEW_MISUSE);
    sinew_cache_leave(entry);
    assert_false(holds(cache, "c", "1"));
    assert_int_equal(sinew_cache_store(NULL, "x", 1, &error), SINEW_MISUSE);
    assert_int_equal(sinew_cache_store(NULL, NULL, 0, &error), SINEW_MISUSE);
    sinew_cache_close(cache);
}

static void what_exceeds_the_limit_is_not_kept(void **state) {
    (void)state;
    char block[1000] = {0};
    sinew_cache *cache = fresh_store("limit", 500);
    keep(cache, "a", "1", block, sizeof block);
    assert_false(holds(cache, "a", "1"));
    sinew_cache_close(cache);
}

/* Entries that fill the store exactly stay; one byte less, and the oldest goes. */
static void entries_may_fill_the_limit_exactly(void **state) {
    (void)state;
    char block[100] = {0}, *path;
    struct stat info;
    sinew_cache *cache = fresh_store("one", 1 << 20);
    keep(cache, "a", "1", block, sizeof block);
    path = only_file("one");
    assert_int_equal(stat(path, &info), 0);
    sn_free(path);
    sinew_cache_close(cache);
    for (int less = 0; less < 2; less++) {
        uint64_t one = (uint64_t)info.st_size;
        cache = fresh_store(less ? "less" : "exact", 3 * one - (uint64_t)less);
        keep(cache, "a", "1", block, sizeof block);
        keep(cache, "b", "1", block, sizeof block);
        keep(cache, "c", "1", block, sizeof block);
        int held = holds(cache, "a", "1") + holds(cache, "b", "1") + holds(cache, "c", "1");
        assert_int_equal(held, 3 - less);
        assert_true(holds(cache, "c", "1"));
        sinew_cache_close(cache);
        cache = fresh_store(less ? "single less" : "single", one - (uint64_t)less);
        keep(cache, "a", "1", block, sizeof block);
        assert_int_equal(holds(cache, "a", "1"), !less);
        sinew_cache_close(cache);
    }
}

typedef struct contest {
    sinew_cache *cache;
    int built;
} contest;

static void *build_once(void *user) {
    contest *c = user;
    sinew_cache_entry *entry;
    if (sinew_cache_enter(c->cache, key_of("shared"), "1", NULL, &entry, NULL) != SINEW_OK)
        return NULL;
    if (!entry->bytes) {
        __atomic_add_fetch(&c->built, 1, __ATOMIC_SEQ_CST);
        nanosleep(&(struct timespec){0, 50000000}, NULL);
        sinew_cache_store(entry, "built", 5, NULL);
    }
    sinew_cache_leave(entry);
    return NULL;
}

static void builders_at_the_same_time_build_once(void **state) {
    (void)state;
    contest c = {fresh_store("contest", 0), 0};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, build_once, &c);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_int_equal(c.built, 1);
    sn_free(only_file("contest"));
    sinew_cache_close(c.cache);
}

static bool always(void *user) {
    (void)user;
    return true;
}

static void waiting_can_be_cancelled(void **state) {
    (void)state;
    sinew_cache *cache = fresh_store("cancel", 0);
    sinew_cache_entry *builder, *waiter;
    assert_ok(sinew_cache_enter(cache, key_of("a"), "1", NULL, &builder, &error));
    sinew_monitor monitor = {.cancelled = always};
    assert_int_equal(sinew_cache_enter(cache, key_of("a"), "1", &monitor, &waiter, &error),
                     SINEW_CANCELLED);
    assert_null(waiter);
    sinew_cache_leave(builder);
    sinew_cache_close(cache);
}

static void a_dead_builder_blocks_nobody(void **state) {
    (void)state;
    sinew_cache *cache = fresh_store("dead", 0);
    pid_t child = fork();
    if (child == 0) {
        sinew_cache_entry *entry;
        sinew_cache_enter(cache, key_of("a"), "1", NULL, &entry, NULL);
        _exit(0); /* without leaving */
    }
    int code;
    waitpid(child, &code, 0);
    assert_false(holds(cache, "a", "1"));
    keep(cache, "a", "1", "x", 1);
    assert_true(holds(cache, "a", "1"));
    sinew_cache_close(cache);
}

static void no_store_never_finds_and_never_fails(void **state) {
    (void)state;
    assert_false(holds(NULL, "a", "1"));
    keep(NULL, "a", "1", "x", 1);
    assert_false(holds(NULL, "a", "1"));
    setenv("SINEW_CACHE", "off", 1);
    sinew_cache *cache;
    assert_ok(sinew_cache_open(NULL, 0, &cache, &error));
    keep(cache, "a", "1", "x", 1);
    assert_false(holds(cache, "a", "1"));
    sinew_cache_close(cache);
    unsetenv("SINEW_CACHE");
    assert_int_equal(sinew_cache_open("/proc/nowhere", 0, &cache, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "/proc/nowhere"));
}

/* SINEW_CACHE, XDG_CACHE_HOME if it is an absolute path, and HOME, in this order. */
static void the_environment_chooses_the_folder(void **state) {
    (void)state;
    const struct {
        const char *sinew, *xdg, *home; /* "": not set; names in the test's folder, or relative */
        const char *made;
    } cases[] = {{"chosen", "xdg", "home", "chosen"},
                 {"", "xdg", "home", "xdg/sinew"},
                 {"", "./relative", "home", "home/.cache/sinew"},
                 {"", "", "home", "home/.cache/sinew"},
                 {"", "", "", NULL}};
    static const char *const names[] = {"SINEW_CACHE", "XDG_CACHE_HOME", "HOME"};
    char *before[3], path[400];
    for (int k = 0; k < 3; k++) before[k] = sn_strdup(getenv(names[k]) ? getenv(names[k]) : "");
    for (int i = 0; i < 5; i++) {
        const char *values[] = {cases[i].sinew, cases[i].xdg, cases[i].home};
        for (int k = 0; k < 3; k++) {
            snprintf(path, sizeof path, "%s/environment%d/%s", test_folder(), i, values[k]);
            if (*values[k])
                setenv(names[k], *values[k] == '.' ? values[k] : path, 1);
            else
                unsetenv(names[k]);
        }
        sinew_cache *cache = NULL;
        sinew_status status = sinew_cache_open(NULL, 0, &cache, &error);
        assert_int_equal(status, cases[i].made ? SINEW_OK : SINEW_IO);
        if (cases[i].made) keep(cache, "a", "1", "x", 1);
        sinew_cache_close(cache);
        snprintf(path, sizeof path, "%s/environment%d/%s", test_folder(), i,
                 cases[i].made ? cases[i].made : "");
        if (cases[i].made) assert_true(test_count_entries(path) > 0);
    }
    for (int k = 0; k < 3; k++) {
        if (*before[k])
            setenv(names[k], before[k], 1);
        else
            unsetenv(names[k]);
        sn_free(before[k]);
    }
}

int test_store(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_stored_is_found_again),
        cmocka_unit_test(another_version_is_absent),
        cmocka_unit_test(every_truncation_and_damage_is_absent_and_rebuilt),
        cmocka_unit_test(what_is_not_a_file_is_absent),
        cmocka_unit_test(least_recently_used_entries_make_room),
        cmocka_unit_test(the_older_of_one_second_makes_room),
        cmocka_unit_test(an_entry_may_be_empty_but_not_without_bytes),
        cmocka_unit_test(what_exceeds_the_limit_is_not_kept),
        cmocka_unit_test(entries_may_fill_the_limit_exactly),
        cmocka_unit_test(builders_at_the_same_time_build_once),
        cmocka_unit_test(waiting_can_be_cancelled),
        cmocka_unit_test(a_dead_builder_blocks_nobody),
        cmocka_unit_test(no_store_never_finds_and_never_fails),
        cmocka_unit_test(the_environment_chooses_the_folder),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
