#include "support.h"

#include "base/memory.h"
#include "groups.h"
#include "mesh/topology.h"
#include "shapes.h"

static sn_topology *topology_of(const sinew_mesh *mesh) {
    sinew_error error;
    sn_topology *topology;
    assert_ok(sn_topology_create(mesh->vertex_count, mesh->triangle_count, mesh->triangles,
                                 &topology, &error));
    return topology;
}

static void closed_surfaces_obey_euler(void **state) {
    (void)state;
    sinew_mesh *meshes[] = {shape_sphere(5), shape_bar(2, 3), shape_torus(12, 7)};
    const int euler[] = {2, 2, 0};
    for (int i = 0; i < 3; i++) {
        sinew_error error;
        sn_topology *topology = topology_of(meshes[i]);
        assert_int_equal(
            meshes[i]->vertex_count - topology->edges.count + meshes[i]->triangle_count, euler[i]);
        for (int e = 0; e < topology->edges.count; e++)
            assert_int_equal(sn_list_size(&topology->edge_triangles, e), 2);
        assert_int_equal(sn_orientation_conflicts(topology), 0);
        sn_lists loops;
        assert_ok(sn_boundary_loops(topology, &loops, &error));
        assert_int_equal(loops.count, 0);
        sn_lists_free(&loops);
        sn_topology_destroy(topology);
        sinew_mesh_destroy(meshes[i]);
    }
}

static void adjacency_agrees_with_the_triangles(void **state) {
    (void)state;
    sinew_mesh *mesh = shape_torus(9, 6);
    sn_topology *topology = topology_of(mesh);
    const sn_edges *edges = &topology->edges;
    for (int e = 0; e < edges->count; e++) {
        int a = edges->vertices[2 * e], b = edges->vertices[2 * e + 1];
        assert_true(a < b);
        assert_int_equal(sn_edges_find(edges, b, a), e);
        if (e > 0) {
            int c = edges->vertices[2 * e - 2], d = edges->vertices[2 * e - 1];
            assert_true(c < a || (c == a && d < b));
        }
    }
    assert_int_equal(sn_edges_find(edges, 0, 0), -1);
    for (int t = 0; t < mesh->triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            int other = sn_topology_across(topology, t, k);
            int a = mesh->triangles[3 * t + k], b = mesh->triangles[3 * t + (k + 1) % 3];
            bool back = false; /* the neighbor runs b -> a */
            for (int m = 0; m < 3; m++)
                back |= mesh->triangles[3 * other + m] == b &&
                        mesh->triangles[3 * other + (m + 1) % 3] == a;
            assert_true(back);
        }
    for (int v = 0; v < mesh->vertex_count; v++) { /* every vertex of this torus has six */
        assert_int_equal(sn_list_size(&topology->vertex_vertices, v), 6);
        assert_int_equal(sn_list_size(&topology->vertex_triangles, v), 6);
        const int *item = topology->vertex_vertices.item + topology->vertex_vertices.start[v];
        for (int k = 1; k < 6; k++) assert_true(item[k - 1] < item[k]);
    }
    sn_topology_destroy(topology);
    sinew_mesh_destroy(mesh);
}

static void polygon_edges_leave_out_the_cuts(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_grid(4);
    sn_edges of_faces, of_triangles;
    assert_ok(sn_edges_of_faces(mesh, &of_faces, &error));
    assert_ok(sn_edges_of_triangles(mesh->triangle_count, mesh->triangles, &of_triangles, &error));
    assert_int_equal(of_faces.count, 2 * 4 * 5);
    assert_int_equal(of_triangles.count, 2 * 4 * 5 + 16);
    sn_edges_free(&of_faces), sn_edges_free(&of_triangles);
    sinew_mesh_destroy(mesh);
}

static void boundaries_are_followed_in_order(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_grid(3);
    sn_topology *topology = topology_of(mesh);
    sn_lists loops;
    assert_ok(sn_boundary_loops(topology, &loops, &error));
    assert_int_equal(loops.count, 1);
    const int expected[] = {0, 4, 8, 12, 13, 14, 15, 11, 7, 3, 2, 1};
    assert_int_equal(sn_list_size(&loops, 0), 12);
    assert_memory_equal(loops.item, expected, sizeof expected);
    sn_lists_free(&loops);
    sn_topology_destroy(topology);
    /* without the middle quad: a second loop, against the first */
    memmove(mesh->triangles + 3 * 8, mesh->triangles + 3 * 10, sizeof(int) * 3 * 8);
    mesh->triangle_count -= 2;
    topology = topology_of(mesh);
    assert_ok(sn_boundary_loops(topology, &loops, &error));
    assert_int_equal(loops.count, 2);
    const int hole[] = {5, 6, 10, 9};
    assert_memory_equal(loops.item + loops.start[1], hole, sizeof hole);
    sn_lists_free(&loops);
    sn_topology_destroy(topology);
    sinew_mesh_destroy(mesh);
}

static void boundaries_that_touch_are_taken_apart(void **state) {
    (void)state;
    sinew_error error;
    const double positions[15] = {0};
    const int triangles[] = {0, 1, 2, 0, 3, 4}; /* a bow tie */
    sinew_mesh *mesh = shape_from(5, positions, 2, triangles);
    sn_topology *topology = topology_of(mesh);
    sn_lists loops;
    assert_ok(sn_boundary_loops(topology, &loops, &error));
    assert_int_equal(loops.count, 2);
    assert_int_equal(sn_list_size(&loops, 0), 3);
    assert_int_equal(sn_list_size(&loops, 1), 3);
    sn_lists_free(&loops);
    sn_topology_destroy(topology);
    sinew_mesh_destroy(mesh);
}

static void twisted_band_cannot_be_oriented(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_moebius(12);
    sn_topology *topology = topology_of(mesh);
    assert_int_equal(sn_orientation_conflicts(topology), 1);
    sn_lists loops; /* its directed boundary breaks: no hang, no closed ring of all */
    assert_ok(sn_boundary_loops(topology, &loops, &error));
    sn_lists_free(&loops);
    sn_topology_destroy(topology);
    sinew_mesh_destroy(mesh);
}

static void components_are_numbered_by_their_first_vertex(void **state) {
    (void)state;
    sinew_error error;
    const double positions[27] = {0};
    const int triangles[] = {7, 4, 2, 1, 5, 6, 6, 8, 1};
    sinew_mesh *mesh = shape_from(9, positions, 3, triangles);
    int component[9], count;
    assert_ok(sn_components(9, 3, mesh->triangles, component, &count, &error));
    assert_int_equal(count, 2);
    const int expected[] = {-1, 0, 1, -1, 1, 0, 0, 1, 0};
    assert_memory_equal(component, expected, sizeof expected);
    sinew_mesh_destroy(mesh);
}

static void welding_joins_coincident_vertices(void **state) {
    (void)state;
    sinew_error error;
    const double positions[] = {1, 0, 0, -0.0, 2, 0, 1, 0, 0, 0.0, 2, -0.0, 1.0005, 0, 0, 5, 5, 5};
    int representative[6], merged;
    assert_ok(sn_weld(6, positions, 0, representative, &merged, &error));
    const int exact[] = {0, 1, 0, 1, 4, 5};
    assert_memory_equal(representative, exact, sizeof exact);
    assert_int_equal(merged, 2);
    assert_ok(sn_weld(6, positions, 1e-3, representative, &merged, &error));
    const int near[] = {0, 1, 0, 1, 0, 5};
    assert_memory_equal(representative, near, sizeof near);
    assert_int_equal(merged, 3);
}

static void repeated_corners_do_no_harm(void **state) {
    (void)state;
    sinew_error error;
    const double positions[12] = {0};
    const int triangles[] = {0, 0, 0, 1, 1, 2, 0, 1, 2, 0, 1, 2};
    sinew_mesh *mesh = shape_from(4, positions, 4, triangles);
    sn_topology *topology = topology_of(mesh);
    assert_int_equal(topology->edges.count, 3);
    assert_int_equal(topology->triangle_edges[0], -1);
    sn_lists loops;
    assert_ok(sn_boundary_loops(topology, &loops, &error));
    sn_lists_free(&loops);
    sn_topology_destroy(topology);
    sinew_mesh_destroy(mesh);
}

int test_topology(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_surfaces_obey_euler),
        cmocka_unit_test(adjacency_agrees_with_the_triangles),
        cmocka_unit_test(polygon_edges_leave_out_the_cuts),
        cmocka_unit_test(boundaries_are_followed_in_order),
        cmocka_unit_test(boundaries_that_touch_are_taken_apart),
        cmocka_unit_test(twisted_band_cannot_be_oriented),
        cmocka_unit_test(components_are_numbered_by_their_first_vertex),
        cmocka_unit_test(welding_joins_coincident_vertices),
        cmocka_unit_test(repeated_corners_do_no_harm),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
