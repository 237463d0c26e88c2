/* Networks in the cache: the same bits as without one, and an entry that is not sound is replaced.
 */
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "cache/checksum.h"
#include "groups.h"
#include "sinew/cache.h"
#include "sinew/rotation.h"
#include "sinew/samples.h"
#include "sinew/spring.h"

/* What precedes the payload of an entry, and where its size and sum are. */
enum { HEADER = 40, SIZE_AT = 8, SUM_AT = 16 };

static sinew_rig *make_rig(const char *sample) {
    sinew_error error;
    sinew_rig *rig;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = 1000;
    assert_ok(sinew_sample_rig(sample, &options, &rig, &error));
    return rig;
}

/* Network, info and the shape at 0.4 of the first slider. */
static void solve(const sinew_rig *rig, sinew_spring_options options, sinew_cache *cache,
                  sinew_spring_info *info, double *positions) {
    sinew_error error;
    sinew_spring *spring;
    sinew_spring_state *state;
    double weights[200] = {0.4};
    assert_in_range(rig->slider_count, 1, 200);
    options.cache = cache, options.tolerance = 1e-3;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &state, &error));
    sinew_spring_frame frame = {.size = sizeof frame, .weights = weights};
    assert_ok(sinew_spring_solve(spring, state, &frame, positions, NULL, NULL, &error));
    *info = info_of(sinew_spring, spring);
    sinew_spring_state_destroy(state);
    sinew_spring_destroy(spring);
}

/* Of the files in the folder: an entry that is stored again is another file. A second name keeps
 * its number from being used again. */
static uint64_t sum_of_inodes(const char *folder) {
    static int calls;
    sinew_error error;
    char **names;
    int count;
    uint64_t sum = 0;
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    for (int i = 0; i < count; i++) {
        char *path = sn_path_join(folder, names[i]);
        struct stat info;
        assert_int_equal(stat(path, &info), 0);
        sum += (uint64_t)info.st_ino;
        char kept[4200];
        snprintf(kept, sizeof kept, "%s/kept-%d-%d", test_folder(), calls, i);
        assert_int_equal(link(path, kept), 0);
        sn_free(path);
    }
    sn_names_free(names, count);
    calls++;
    return sum;
}

static void a_network_from_the_cache_has_the_same_bits(void **state) {
    (void)state;
    static const struct {
        const char *sample;
        sinew_spring_interior interior;
        sinew_spring_boundary boundary;
        int entries; /* the blend, the network; the tets */
    } rows[] = {
        {"face", SINEW_SPRING_INTERIOR_STRUTS, SINEW_SPRING_BOUNDARY_FREE, 2},
        {"face", SINEW_SPRING_INTERIOR_NONE, SINEW_SPRING_BOUNDARY_STATIC, 2},
        {"bar", SINEW_SPRING_INTERIOR_STRUTS, SINEW_SPRING_BOUNDARY_ANCHOR, 2},
        {"bar", SINEW_SPRING_INTERIOR_TETS, SINEW_SPRING_BOUNDARY_FREE, 3},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        sinew_error error;
        sinew_cache *cache;
        sinew_rig *rig = make_rig(rows[r].sample);
        char folder[4096];
        snprintf(folder, sizeof folder, "%s/networks-%zu", test_folder(), r);
        assert_ok(sinew_cache_open(folder, 0, &cache, &error));
        sinew_spring_options options;
        sinew_spring_options_init(&options);
        options.interior = rows[r].interior, options.boundary = rows[r].boundary;
        size_t size = 3 * (size_t)rig->neutral->vertex_count * sizeof(double);
        double *plain = malloc(size), *cold = malloc(size), *warm = malloc(size);
        sinew_spring_info infos[3];
        solve(rig, options, NULL, &infos[0], plain);
        solve(rig, options, cache, &infos[1], cold);
        assert_int_equal(test_count_entries(folder), rows[r].entries);
        uint64_t stored = sum_of_inodes(folder);
        solve(rig, options, cache, &infos[2], warm);
        assert_int_equal(test_count_entries(folder), rows[r].entries);
        assert_true(sum_of_inodes(folder) == stored); /* nothing was built again */
        assert_memory_equal(plain, cold, size);
        assert_memory_equal(plain, warm, size);
        for (int i = 0; i < 3; i++) infos[i].seconds = 0;
        assert_memory_equal(&infos[0], &infos[1], sizeof *infos);
        assert_memory_equal(&infos[0], &infos[2], sizeof *infos);
        /* Stiffnesses are not stored: another one finds the same network, and matters. */
        options.kappa[SINEW_SPRING_KIND_BENDING] *= 3;
        solve(rig, options, cache, &infos[1], warm);
        solve(rig, options, NULL, &infos[0], plain);
        assert_int_equal(test_count_entries(folder), rows[r].entries);
        assert_memory_equal(plain, warm, size);
        assert_memory_not_equal(plain, cold, size);
        /* Another kind of spring is another network, another target another blend too. */
        options.bending = SINEW_SPRING_BENDING_RING;
        solve(rig, options, cache, &infos[1], warm);
        solve(rig, options, NULL, &infos[0], plain);
        assert_int_equal(test_count_entries(folder), rows[r].entries + 1);
        assert_memory_equal(plain, warm, size);
        rig->targets[0].deltas[0] += 1e-3;
        solve(rig, options, cache, &infos[1], warm);
        solve(rig, options, NULL, &infos[0], plain);
        assert_int_equal(test_count_entries(folder), rows[r].entries + 3);
        assert_memory_equal(plain, warm, size);
        free(plain), free(cold), free(warm);
        sinew_cache_close(cache);
        sinew_rig_destroy(rig);
    }
}

/* The file of the network: the one that is not there after the blend alone. */
static char *find_entry(const sinew_rig *rig, const char *folder, sinew_cache *cache,
                        const sinew_spring_options *options, double *positions) {
    sinew_error error;
    sinew_rotation *rotation;
    sinew_rotation_options blend;
    sinew_rotation_options_init(&blend);
    blend.cache = cache;
    assert_ok(sinew_rotation_create(rig, &blend, NULL, &rotation, &error));
    sinew_rotation_destroy(rotation);
    char **before, **after, *path = NULL;
    int count, more;
    assert_ok(sn_folder_list(folder, &before, &count, &error));
    assert_int_equal(count, 1);
    sinew_spring_info info;
    solve(rig, *options, cache, &info, positions);
    assert_ok(sn_folder_list(folder, &after, &more, &error));
    assert_int_equal(more, 2);
    for (int i = 0; i < more; i++)
        if (strcmp(after[i], before[0])) path = sn_path_join(folder, after[i]);
    sn_names_free(before, count), sn_names_free(after, more);
    assert_non_null(path);
    return path;
}

static void networks_that_are_not_sound_are_built_again(void **state) {
    (void)state;
    sinew_error error;
    sinew_cache *cache;
    sinew_rig *rig = make_rig("face");
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/damaged-networks", test_folder());
    assert_ok(sinew_cache_open(folder, 0, &cache, &error));
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    size_t size = 3 * (size_t)rig->neutral->vertex_count * sizeof(double);
    double *good = malloc(size), *again = malloc(size);
    char *path = find_entry(rig, folder, cache, &options, good);
    char *bytes;
    size_t length;
    assert_ok(sn_file_read(path, &bytes, &length, &error));
    assert_true(length > 2000);
    /* Where, and what is put there: the sum fits again, so that only the checks of values can tell.
     * The payload begins with the number of springs and their ends, and ends with four lengths. */
    static const double NOTHING = NAN;
    static const int FAR = 1 << 29, BELOW = -2, NONE = 0;
    const struct {
        size_t at;
        const void *value;
        size_t size;
    } damages[] = {
        {length - 8, &NOTHING, sizeof NOTHING},
        {length - 32, &NOTHING, sizeof NOTHING},
        {HEADER, &FAR, sizeof FAR},
        {HEADER, &BELOW, sizeof BELOW},
        {HEADER, &NONE, sizeof NONE},
        {HEADER + 20, &BELOW, sizeof BELOW},
        {HEADER + 24, &FAR, sizeof FAR},
        {HEADER + 28, &FAR, sizeof FAR},
        {length - 52, &BELOW, sizeof BELOW}, /* poses */
        {length - 60, &FAR, sizeof FAR},     /* the part of the last vertex */
    };
    for (size_t d = 0; d < sizeof damages / sizeof *damages; d++) {
        char *damaged = malloc(length);
        memcpy(damaged, bytes, length);
        memcpy(damaged + damages[d].at, damages[d].value, damages[d].size);
        sn_checksum sum;
        sn_checksum_start(&sum);
        sn_checksum_add(&sum, damaged + HEADER, length - HEADER);
        uint64_t value = sn_checksum_value(&sum), payload;
        memcpy(damaged + SUM_AT, &value, sizeof value);
        memcpy(&payload, damaged + SIZE_AT, sizeof payload);
        assert_int_equal(payload, length - HEADER);
        assert_ok(sn_file_write(path, damaged, length, &error));
        sinew_spring_info info;
        solve(rig, options, cache, &info, again);
        assert_memory_equal(good, again, size);
        /* It was replaced by what was there before. */
        char *now;
        size_t now_length;
        assert_ok(sn_file_read(path, &now, &now_length, &error));
        if (now_length != length || memcmp(now, bytes, length)) fail_msg("damage %zu was kept", d);
        sn_free(now);
        free(damaged);
    }
    sn_free(bytes), sn_free(path);
    free(good), free(again);
    sinew_cache_close(cache);
    sinew_rig_destroy(rig);
}

int test_store(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_from_the_cache_has_the_same_bits),
        cmocka_unit_test(networks_that_are_not_sound_are_built_again),
    };
    return cmocka_run_group_tests_name("networks in the cache", tests, NULL, NULL);
}
