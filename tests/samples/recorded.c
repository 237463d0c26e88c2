/* The samples are the rigs that figures in the docs, golden results and other tests were made with:
 * a change of their shape is seen here. A change on purpose: the message tells the new numbers. */
#include "support.h"

#include "groups.h"
#include "sinew/samples.h"

/* Sums over all numbers of a kind, each with its own factor, so that no two can be exchanged. */
typedef struct record {
    const char *name;
    double neutral, targets, regions, clip, markers;
} record;

static const record recorded[] = {
    {"bar", 11664.1380342, 19935.5014227, -322.696678122, 24.9519679209, 0},
    {"arm", 3173.68226877, 18770.9218155, 522.080417696, 8.66515972105, 0},
    {"hand", 45040.6928143, 82808.7241727, 10503.2280994, 24.9519679209, 0},
    {"blob", 25191.1925685, 93849.4742849, 3812.47735749, 8.66515972105, 0},
    {"face", 43026.6028063, -10299.8731503, 10629.1283751, 0.452096996543, 1162.05950483},
    {"face2", 42183.1592172, -9938.57815642, 10629.1283751, 0.452096996543, 1162.16270825},
};

static double factor(uint64_t n) {
    n = (n + 1) * 0x9e3779b97f4a7c15ull;
    n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9ull;
    return (double)(n >> 11) / 9007199254740992.0 - 0.5;
}

static double sum_of(uint64_t first, size_t count, const double *values) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += factor(first + i) * values[i];
    return sum;
}

static double sum_of_indices(uint64_t first, int count, const int *values) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += factor(first + (uint64_t)i) * values[i];
    return sum;
}

static record record_of(const char *name) {
    sinew_error error;
    sinew_rig *rig;
    sinew_curves *curves;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = 1200;
    assert_ok(sinew_sample_rig(name, &options, &rig, &error));
    assert_ok(sinew_sample_curves(name, &curves, &error));
    const sinew_mesh *mesh = rig->neutral;
    record r = {.name = name};
    r.neutral = sum_of(0, 3 * (size_t)mesh->vertex_count, mesh->positions) +
                sum_of_indices(1 << 20, 3 * mesh->triangle_count, mesh->triangles);
    for (int t = 0; t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        uint64_t first = (uint64_t)(t + 1) << 20;
        r.targets += sum_of(first, 3 * (size_t)target->count, target->deltas) +
                     sum_of_indices(first, target->count, target->vertices);
    }
    for (int i = 0; i < rig->region_count; i++)
        r.regions += sum_of_indices((uint64_t)(i + 1) << 20, rig->regions[i].count,
                                    rig->regions[i].vertices);
    r.clip = sum_of(0, (size_t)(curves->channel_count * curves->time_count), curves->values) +
             sum_of(1 << 20, (size_t)curves->time_count, curves->times);
    sinew_curves_destroy(curves);
    sinew_markers *take = NULL;
    sinew_marker_map *map = NULL;
    if (sinew_sample_markers(name, &options, NULL, &take, &map, &error) == SINEW_OK) {
        r.markers = sum_of_indices(0, map->count, map->vertices);
        for (int k = 0; k < 3 * take->marker_count * take->time_count; k++)
            r.markers += factor((uint64_t)k) * (double)take->positions[k];
    }
    sinew_markers_destroy(take);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
    return r;
}

static void samples_are_as_recorded(void **state) {
    (void)state;
    int count = (int)(sizeof recorded / sizeof *recorded), wrong = 0;
    for (int i = 0; i < sinew_sample_count(); i++) {
        record now = record_of(sinew_sample_name(i)), none = {.name = ""}, *was = &none, found;
        for (int k = 0; k < count; k++)
            if (!strcmp(recorded[k].name, now.name)) found = recorded[k], was = &found;
        const double a[] = {now.neutral, now.targets, now.regions, now.clip, now.markers};
        const double b[] = {was->neutral, was->targets, was->regions, was->clip, was->markers};
        bool same = was != &none;
        for (int k = 0; k < 5; k++) same &= fabs(a[k] - b[k]) <= 1e-6;
        if (same) continue;
        print_error("    {\"%s\", %.12g, %.12g, %.12g, %.12g, %.12g},\n", now.name, a[0], a[1],
                    a[2], a[3], a[4]);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(count, sinew_sample_count());
}

int test_recorded(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples_are_as_recorded)};
    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
