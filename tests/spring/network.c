#include "support.h"

#include "base/memory.h"
#include "bodies.h"
#include "groups.h"
#include "spring/network.h"

static const double KAPPA[SINEW_SPRING_KIND_COUNT] = {1, 1, 1, 100, 1};

static int count_kind(const sn_network *network, int kind) {
    int count = 0;
    for (int q = 0; q < network->spring_count; q++) count += network->kind[q] == kind;
    return count;
}

static void flap_has_five_edges_and_one_bending_spring(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_mesh *mesh = test_flap();
    sn_network *network = NULL;
    assert_ok(sn_network_create(mesh, NULL, mesh->positions, SINEW_SPRING_BENDING_FLAP, 0, &network,
                                &error));
    assert_int_equal(network->spring_count, 6);
    assert_int_equal(count_kind(network, SINEW_SPRING_KIND_BENDING), 1);
    assert_int_equal(network->kind[2], SINEW_SPRING_KIND_BENDING); /* 0-3, after 0-1 and 0-2 */
    assert_close(network->rest[2], sqrt(2), 1e-15);
    sn_network_destroy(network);
    sinew_mesh_destroy(mesh);
}

/* Reference: breadth-first distances by repeated relaxation. */
static void ring_joins_exactly_the_pairs_two_edges_apart(void **state) {
    (void)state;
    sinew_error error = {0};
    test_block block;
    test_block_create(3, 2, 2, &block);
    const sinew_mesh *mesh = block.mesh;
    sn_network *network = NULL;
    assert_ok(sn_network_create(mesh, NULL, mesh->positions, SINEW_SPRING_BENDING_RING, 0, &network,
                                &error));
    int n = mesh->vertex_count;
    char *near = SN_NEW0(char, n *n);
    for (int t = 0; t < mesh->triangle_count; t++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                near[mesh->triangles[3 * t + a] * n + mesh->triangles[3 * t + b]] = 1;
    int expected = 0;
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            int two = 0;
            for (int m = 0; m < n; m++) two |= near[a * n + m] && near[m * n + b];
            expected += two && !near[a * n + b];
        }
    assert_int_equal(count_kind(network, SINEW_SPRING_KIND_BENDING), expected);
    sn_free(near);
    sn_network_destroy(network);
    test_block_free(&block);
}

static void every_tet_edge_is_a_spring_and_no_pair_twice(void **state) {
    (void)state;
    sinew_error error = {0};
    test_block block;
    test_block_create(2, 2, 2, &block);
    sn_network *network = NULL;
    assert_ok(sn_network_create(block.mesh, &block.tets, block.mesh->positions,
                                SINEW_SPRING_BENDING_FLAP, 0, &network, &error));
    for (int q = 1; q < network->spring_count; q++) {
        const int *a = network->ends + 2 * (q - 1), *b = network->ends + 2 * q;
        assert_true(a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]));
        assert_true(b[0] < b[1]);
    }
    assert_true(count_kind(network, SINEW_SPRING_KIND_INTERNAL) > 0);
    for (int t = 0; t < block.tets.tet_count; t++)
        for (int a = 0; a < 4; a++)
            for (int b = a + 1; b < 4; b++) {
                int u = block.tets.tets[4 * t + a], v = block.tets.tets[4 * t + b], found = 0;
                for (int q = 0; q < network->spring_count; q++)
                    found += (network->ends[2 * q] == u && network->ends[2 * q + 1] == v) ||
                             (network->ends[2 * q] == v && network->ends[2 * q + 1] == u);
                assert_int_equal(found, 1);
            }
    sn_network_destroy(network);
    test_block_free(&block);
}

static void rest_lengths_blend_and_combinations_are_met_exactly(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_mesh *mesh = test_flap();
    sn_network *network = NULL;
    assert_ok(sn_network_create(mesh, NULL, mesh->positions, SINEW_SPRING_BENDING_FLAP, 3, &network,
                                &error));
    double a[12], b[12], both[12];
    memcpy(a, mesh->positions, sizeof a), memcpy(b, a, sizeof b), memcpy(both, a, sizeof both);
    a[9] = 2, a[11] = 0.5;                   /* corner 3 lifted */
    b[0] = -1, b[2] = 0.25;                  /* corner 0 out */
    both[9] = 3, both[0] = -3, both[11] = 1; /* a sculpted corrective, unlike either */
    const double at_a[3] = {1, 0, 0}, at_b[3] = {0, 1, 0}, at_both[3] = {1, 1, 1};
    assert_ok(sn_network_add_pose(network, 0, a, at_a, &error));
    assert_ok(sn_network_add_pose(network, 1, b, at_b, &error));
    assert_ok(sn_network_add_pose(network, 2, both, at_both, &error));
    assert_ok(sn_network_finish(network, KAPPA, NULL, NULL, &error));
    double rest[6];
    const double half[3] = {0.5, 0, 0};
    assert_int_equal(sn_network_blend_rest(network, half, rest), 0);
    for (int q = 0; q < 6; q++) {
        int i = network->ends[2 * q], j = network->ends[2 * q + 1];
        double lengths[2];
        const double *poses[2] = {mesh->positions, a};
        for (int p = 0; p < 2; p++) {
            double s = 0;
            for (int c = 0; c < 3; c++) s += pow(poses[p][3 * i + c] - poses[p][3 * j + c], 2);
            lengths[p] = sqrt(s);
        }
        assert_close(rest[q], 0.5 * (lengths[0] + lengths[1]), 1e-14);
    }
    sn_network_blend_rest(network, at_both, rest);
    for (int q = 0; q < 6; q++) {
        int i = network->ends[2 * q], j = network->ends[2 * q + 1];
        double s = 0;
        for (int c = 0; c < 3; c++) s += pow(both[3 * i + c] - both[3 * j + c], 2);
        assert_close(rest[q], sqrt(s), 1e-14);
    }
    const double far_out[3] = {-50, 0, 0};
    assert_true(sn_network_blend_rest(network, far_out, rest) > 0);
    for (int q = 0; q < 6; q++) assert_true(rest[q] > 0);
    sn_network_destroy(network);
    sinew_mesh_destroy(mesh);
}

static void stiffness_is_kappa_over_mean_length_times_the_map(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_mesh *mesh = test_flap();
    sn_network *network = NULL;
    assert_ok(sn_network_create(mesh, NULL, mesh->positions, SINEW_SPRING_BENDING_FLAP, 1, &network,
                                &error));
    double wide[12];
    for (int k = 0; k < 12; k++) wide[k] = 3 * mesh->positions[k];
    const double one = 1, map[4] = {1, 1, 1, 5};
    assert_ok(sn_network_add_pose(network, 0, wide, &one, &error));
    assert_ok(sn_network_finish(network, KAPPA, map, NULL, &error));
    assert_close(network->stiffness[0], 1 / 2.0, 1e-15);     /* 0-1: mean of 1 and 3 */
    assert_close(network->stiffness[2], 3 / sqrt(8), 1e-15); /* 0-3: mean 2 sqrt 2, map 3 */
    sn_network_destroy(network);
    sinew_mesh_destroy(mesh);
}

static void fibers_stiffen_the_springs_along_them(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_mesh *mesh = test_flap();
    static const double fibers[12] = {4, 0, 0, 4, 0, 0, 4, 0, 0, 4, 0, 0};
    sn_network *network[2] = {NULL};
    for (int k = 0; k < 2; k++) {
        assert_ok(sn_network_create(mesh, NULL, mesh->positions, SINEW_SPRING_BENDING_FLAP, 0,
                                    &network[k], &error));
        assert_ok(sn_network_finish(network[k], KAPPA, NULL, k ? fibers : NULL, &error));
    }
    for (int q = 0; q < network[0]->spring_count; q++) {
        const int *ends = network[0]->ends + 2 * q;
        double along = mesh->positions[3 * ends[0]] - mesh->positions[3 * ends[1]];
        double cosine = along / network[0]->rest[q];
        assert_close(network[1]->stiffness[q] / network[0]->stiffness[q], 1 + 3 * cosine * cosine,
                     1e-12);
    }
    sn_network_destroy(network[0]), sn_network_destroy(network[1]);
    sinew_mesh_destroy(mesh);
}

static void coincident_vertices_get_a_finite_stiffness(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_mesh *mesh = test_flap();
    memcpy(mesh->positions + 9, mesh->positions + 3, 3 * sizeof(double));
    sn_network *network = NULL;
    assert_ok(sn_network_create(mesh, NULL, mesh->positions, SINEW_SPRING_BENDING_FLAP, 0, &network,
                                &error));
    assert_ok(sn_network_finish(network, KAPPA, NULL, NULL, &error));
    double rest[6];
    assert_int_equal(sn_network_blend_rest(network, NULL, rest), 1);
    for (int q = 0; q < 6; q++) assert_true(isfinite(network->stiffness[q]) && rest[q] > 0);
    sn_network_destroy(network);
    sinew_mesh_destroy(mesh);
}

static void components_count_separate_parts_and_leave_out_isolated_vertices(void **state) {
    (void)state;
    sinew_error error = {0};
    const double positions[24] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 9, 9, 9,
                                  5, 0, 0, 6, 0, 0, 5, 1, 0, 8, 8, 8};
    const int faces[6] = {0, 1, 2, 4, 5, 6};
    sinew_mesh *mesh = NULL;
    assert_ok(sinew_mesh_create(8, positions, 2, NULL, faces, &mesh, &error));
    sn_network *network = NULL;
    assert_ok(sn_network_create(mesh, NULL, mesh->positions, SINEW_SPRING_BENDING_FLAP, 0, &network,
                                &error));
    assert_int_equal(network->component_count, 2);
    assert_int_equal(network->component[3], -1);
    assert_int_equal(network->component[0], network->component[2]);
    assert_int_not_equal(network->component[0], network->component[4]);
    const sn_link link = {.vertex = 4, .corners = {0, 1, 2}, .weights = {0, 1, 0}};
    assert_ok(sn_network_add_ties(network, positions, 1, &link, 3.5, &error));
    assert_int_equal(network->component_count, 2); /* it is 4 long */
    assert_ok(sn_network_add_ties(network, positions, 1, &link, 4.5, &error));
    assert_int_equal(network->component_count, 1);
    sn_network_destroy(network);
    sinew_mesh_destroy(mesh);
}

/* The flap at rest has its far corner a thousandth of an edge away from the shared edge; a pose
 * opens it. The springs to that corner and its altitude count less, and nothing else. */
static void what_a_pose_opens_counts_less(void **state) {
    (void)state;
    sinew_error error = {0};
    const double rest[] = {0, 0, 0, 1, 0, 0, 0.5, 1, 0, 0.5, -1e-3, 0, 0.5, -2, 0};
    double pose[15];
    const int triangles[] = {0, 1, 2, 1, 0, 3, 1, 3, 4, 3, 0, 4};
    const double on[1] = {1};
    memcpy(pose, rest, sizeof pose);
    pose[3 * 3 + 1] = -1;
    sinew_mesh *mesh = NULL;
    sn_network *network = NULL;
    assert_ok(sinew_mesh_create(5, rest, 4, NULL, triangles, &mesh, &error));
    assert_ok(sn_network_create(mesh, NULL, rest, SINEW_SPRING_BENDING_NONE, 1, &network, &error));
    assert_ok(sn_network_add_pose(network, 0, pose, on, &error));
    double scales[4];
    for (int t = 0; t < 4; t++) scales[t] = exp(network->altitude_sum[t] / 2);
    assert_ok(sn_network_finish(network, KAPPA, NULL, NULL, &error));
    assert_ok(sn_network_soften(network, &error));
    for (int q = 0; q < network->spring_count; q++) /* no edge changes tenfold */
        assert_close(network->stiffness[q] * network->mean_rest[q], 1, 1e-12);
    for (int t = 0; t < 4; t++)
        assert_close(scales[t] / network->altitude_scale[t],
                     t == 1 ? pow(10 * 0.01 * network->mean_edge, 2) : 1, 1e-9);
    sn_network_destroy(network);
    sinew_mesh_destroy(mesh);
}

/* A book of pages: tying each to every other one would take half a million springs. */
static void springs_grow_with_the_triangles_of_an_edge_and_not_with_their_square(void **state) {
    (void)state;
    enum { PAGES = 1000 };
    double *positions = calloc(3 * (PAGES + 2), sizeof *positions);
    int *faces = malloc(sizeof(int[3]) * PAGES), *start = malloc(sizeof(int) * (PAGES + 1));
    positions[5] = 1, *start = 0;
    for (int i = 0; i < PAGES; i++) {
        double angle = 6.28 * i / PAGES;
        positions[3 * (i + 2)] = cos(angle), positions[3 * (i + 2) + 1] = sin(angle);
        faces[3 * i] = 0, faces[3 * i + 1] = 1, faces[3 * i + 2] = i + 2,
                  start[i + 1] = 3 * (i + 1);
    }
    sinew_error error;
    sinew_mesh *mesh;
    sn_network *network;
    assert_ok(sinew_mesh_create(PAGES + 2, positions, PAGES, start, faces, &mesh, &error));
    assert_ok(sn_network_create(mesh, NULL, mesh->positions, SINEW_SPRING_BENDING_FLAP, 0, &network,
                                &error));
    assert_int_equal(count_kind(network, SINEW_SPRING_KIND_BENDING), 8 * PAGES - 36);
    sn_network_destroy(network);
    sinew_mesh_destroy(mesh);
    free(positions), free(faces), free(start);
}

int test_network(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flap_has_five_edges_and_one_bending_spring),
        cmocka_unit_test(ring_joins_exactly_the_pairs_two_edges_apart),
        cmocka_unit_test(every_tet_edge_is_a_spring_and_no_pair_twice),
        cmocka_unit_test(rest_lengths_blend_and_combinations_are_met_exactly),
        cmocka_unit_test(stiffness_is_kappa_over_mean_length_times_the_map),
        cmocka_unit_test(fibers_stiffen_the_springs_along_them),
        cmocka_unit_test(coincident_vertices_get_a_finite_stiffness),
        cmocka_unit_test(components_count_separate_parts_and_leave_out_isolated_vertices),
        cmocka_unit_test(what_a_pose_opens_counts_less),
        cmocka_unit_test(springs_grow_with_the_triangles_of_an_edge_and_not_with_their_square),
    };
    return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
