/* Clusters of large networks, whose centers are given. */
#include "support.h"

#include "groups.h"
#include "rigs.h"
#include "sinew/spring.h"
#include "spring/precondition.h"
#include "spring/structure.h"

/* Distances from a vertex along springs between free vertices, by relaxing all springs until
 * nothing changes. */
static void distances(const sn_system *system, const double *lengths, int from, double *distance) {
    for (int v = 0; v < system->free_count; v++) distance[v] = INFINITY;
    distance[from] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int v = 0; v < system->free_count; v++)
            for (int s = system->row_start[v]; s < system->row_split[v]; s++) {
                int u = system->other[s];
                double a = distance[u] + lengths[s], b = distance[v] + lengths[s];
                if (a < distance[v]) distance[v] = a, changed = true;
                if (b < distance[u]) distance[u] = b, changed = true;
            }
    }
}

/* Of the center `c` at a vertex: the hats of the four nearest centers, which reach to the fifth. */
static double expected_weight(int count, const double *distance, int c) {
    double nearest[6] = {0}, sum = 0;
    int known = 0, nearer = 0;
    for (int k = 0; k < count; k++) {
        int at = known < 5 ? known++ : 5;
        for (; at > 0 && nearest[at - 1] > distance[k]; at--) nearest[at] = nearest[at - 1];
        nearest[at] = distance[k];
        nearer += distance[k] < distance[c];
    }
    for (int k = 0; k < 4; k++) sum += nearest[4] - nearest[k];
    return nearer < 4 ? (nearest[4] - distance[c]) / sum : 0;
}

static void hats_reach_to_the_fifth_center(void **unused) {
    (void)unused;
    enum { CENTERS = 24 };
    sinew_error error = {0};
    sinew_rig *rig = sample_rig("hand", 1500);
    sinew_spring *spring = NULL;
    assert_ok(sinew_spring_create(rig, NULL, NULL, &spring, &error));
    const sn_system *system = spring->system;
    int n = system->free_count, centers[CENTERS];
    double *lengths = malloc(sizeof(double) * (size_t)system->spring_count);
    double *distance = malloc(sizeof(double) * CENTERS * (size_t)n), at[CENTERS];
    for (int s = 0; s < system->spring_count; s++)
        lengths[s] = spring->network->mean_rest[system->spring[s]];
    for (int c = 0; c < CENTERS; c++) {
        centers[c] = (2 * c + 1) * n / (2 * CENTERS);
        distances(system, lengths, centers[c], distance + (size_t)c * (size_t)n);
    }
    sn_clusters clusters = {0};
    assert_ok(sn_clusters_around(system, lengths, CENTERS, centers, &clusters, &error));
    assert_int_equal(clusters.count, CENTERS);
    for (int v = 0; v < n; v++) {
        double sum = 0;
        for (int c = 0; c < CENTERS; c++) at[c] = distance[(size_t)c * (size_t)n + (size_t)v];
        for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
            int own = clusters.cluster[SN_CLUSTERS_PER_VERTEX * v + k];
            double weight = (double)clusters.weight[SN_CLUSTERS_PER_VERTEX * v + k];
            assert_close(weight, expected_weight(CENTERS, at, own), 1e-4);
            sum += weight;
        }
        assert_close(sum, 1, 1e-6);
    }
    sn_clusters_free(&clusters);
    free(lengths), free(distance);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}

int test_clusters(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hats_reach_to_the_fifth_center),
    };
    return cmocka_run_group_tests_name("gpu clusters", tests, NULL, NULL);
}
