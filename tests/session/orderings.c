/* Elimination orders in the cache: the same ones as without, and damage is found. */
#include "support.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "groups.h"
#include "session/orderings.h"

enum { SIDE = 60, SIZE = SIDE * SIDE }; /* large enough to be kept */

static sinew_error error;

/* The lower half of the Laplacian of a grid. */
static sn_sparse *grid(void) {
    sn_triplets list;
    sn_sparse *matrix;
    assert_ok(sn_triplets_create(SIZE, SIZE, 3 * SIZE, &list, &error));
    for (int i = 0; i < SIZE; i++) {
        assert_true(sn_triplets_add(&list, i, i, 5));
        if (i % SIDE < SIDE - 1) assert_true(sn_triplets_add(&list, i + 1, i, -1));
        if (i + SIDE < SIZE) assert_true(sn_triplets_add(&list, i + SIDE, i, -1));
    }
    assert_ok(sn_sparse_from_triplets(&list, true, &matrix, &error));
    sn_triplets_free(&list);
    return matrix;
}

static char *only_entry(const char *folder) {
    char **names;
    int count;
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    assert_int_equal(count, 1);
    char *path = sn_path_join(folder, names[0]);
    sn_names_free(names, count);
    return path;
}

static void damage(const char *folder) {
    char *path = only_entry(folder);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 1000, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, 1000, SEEK_SET);
    fputc(byte ^ 0xff, file);
    fclose(file);
    sn_free(path);
}

static bool always(void *user) {
    (void)user;
    return true;
}

/* hurried: nothing can be computed, only found. */
static sinew_status find(sinew_cache *cache, const sn_sparse *matrix, bool hurried, int *order) {
    const sinew_monitor cancels = {.cancelled = always};
    const sinew_monitor *before = sn_monitor_enter(hurried ? &cancels : NULL);
    sn_orderings orderings;
    memset(order, 0, 2 * SIZE * sizeof *order);
    sn_orderings_begin(&orderings, cache, NULL);
    sinew_status status =
        sn_ordering_find(matrix, SN_ORDERING_DISSECTION, order, order + SIZE, &error);
    sn_orderings_end(&orderings);
    sn_monitor_leave(before);
    return status;
}

static void orders_are_kept_and_damage_is_found(void **state) {
    (void)state;
    char *folder = sn_path_join(test_folder(), "orderings");
    sinew_cache *cache;
    assert_ok(sinew_cache_open(folder, 0, &cache, &error));
    sn_sparse *matrix = grid();
    int *plain = calloc(2 * SIZE, sizeof *plain), *found = calloc(2 * SIZE, sizeof *found);
    assert_ok(sn_ordering_find(matrix, SN_ORDERING_DISSECTION, plain, plain + SIZE,
                               &error)); /* no cache was entered */
    assert_int_equal(find(cache, matrix, true, found), SINEW_CANCELLED);
    for (int round = 0; round < 2; round++) {
        assert_ok(find(cache, matrix, false, found));
        assert_memory_equal(found, plain, 2 * SIZE * sizeof *found);
        assert_ok(find(cache, matrix, true, found)); /* from the cache */
        assert_memory_equal(found, plain, 2 * SIZE * sizeof *found);
        damage(folder);
        assert_int_equal(find(cache, matrix, true, found), SINEW_CANCELLED);
    }
    free(plain), free(found);
    sn_sparse_destroy(matrix);
    sinew_cache_close(cache);
    sn_free(folder);
}

int test_orderings(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_kept_and_damage_is_found)};
    return cmocka_run_group_tests_name("orderings", tests, NULL, NULL);
}
