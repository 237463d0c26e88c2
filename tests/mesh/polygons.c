#include "support.h"

#include "base/vec3.h"
#include "groups.h"
#include "shapes.h"

/* Signed areas, along z, of the triangles of a mesh with one flat polygon. */
static void assert_cut_in_unit(int corners, const double *xy, double unit) {
    double *positions = malloc(sizeof(double) * 3 * (size_t)corners);
    int *polygon = malloc(sizeof(int) * (size_t)corners);
    double whole = 0;
    for (int c = 0; c < corners; c++) {
        int d = (c + 1) % corners;
        positions[3 * c] = unit * xy[2 * c];
        positions[3 * c + 1] = unit * xy[2 * c + 1];
        positions[3 * c + 2] = 7;
        polygon[c] = c;
        whole += 0.5 * unit * unit * (xy[2 * c] * xy[2 * d + 1] - xy[2 * d] * xy[2 * c + 1]);
    }
    int start[2] = {0, corners};
    sinew_error error;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(corners, positions, 1, start, polygon, &mesh, &error));
    assert_int_equal(mesh->triangle_count, corners - 2);
    double sum = 0;
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * t;
        assert_int_equal(mesh->triangle_face[t], 0);
        sn_vec3 a = sn_at(positions, v[0]);
        sn_vec3 normal =
            sn_cross(sn_sub(sn_at(positions, v[1]), a), sn_sub(sn_at(positions, v[2]), a));
        assert_true(normal.z * whole >= 0); /* no triangle is flipped */
        sum += 0.5 * normal.z;
    }
    assert_close(sum, whole, 1e-12 * corners * unit * unit);
    sinew_mesh_destroy(mesh);
    free(positions), free(polygon);
}

static void assert_cut_of_flat_polygon(int corners, const double *xy) {
    assert_cut_in_unit(corners, xy, 1);
    assert_cut_in_unit(corners, xy, 0.001);
    assert_cut_in_unit(corners, xy, 1000);
}

static void flat_polygons_are_covered_without_flips(void **state) {
    (void)state;
    const double arrow[] = {0, 0, 4, 0, 1, 1, 0, 4}; /* a dart: only one diagonal works */
    assert_cut_of_flat_polygon(4, arrow);
    const double comb[] = {0, 0, 7, 0, 7, 3, 6, 3, 6, 1, 5, 1, 5, 3, 4, 3,
                           4, 1, 3, 1, 3, 3, 2, 3, 2, 1, 1, 1, 1, 3, 0, 3};
    assert_cut_of_flat_polygon(16, comb);
    double reversed[32];
    for (int c = 0; c < 16; c++) {
        reversed[2 * c] = comb[2 * (15 - c)];
        reversed[2 * c + 1] = comb[2 * (15 - c) + 1];
    }
    assert_cut_of_flat_polygon(16, reversed);
    double star[400];
    for (int c = 0; c < 200; c++) {
        double angle = 6.283185307179586 * c / 200, radius = c % 2 ? 1 : 0.3;
        star[2 * c] = radius * cos(angle);
        star[2 * c + 1] = radius * sin(angle);
    }
    assert_cut_of_flat_polygon(200, star);
    const double keyhole[] = {0, 0, 4, 0, 4, 4, 0, 4, 0, 0, 1, 1, 1, 3, 3, 3, 3, 1, 1, 1};
    assert_cut_of_flat_polygon(10, keyhole);
}

static void quads_take_the_shorter_diagonal(void **state) {
    (void)state;
    const double positions[] = {0, 0, 0, 2, 0, 0, 3, 1, 0, 1, 1, 0};
    const int quad[] = {0, 1, 2, 3}, start[] = {0, 4};
    sinew_error error;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(4, positions, 1, start, quad, &mesh, &error));
    const int expected[] = {1, 2, 3, 1, 3, 0}; /* |13| = sqrt 2, |02| = sqrt 10 */
    assert_memory_equal(mesh->triangles, expected, sizeof expected);
    sinew_mesh_destroy(mesh);
}

static void degenerate_faces_still_give_their_triangles(void **state) {
    (void)state;
    const double positions[] = {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0};
    const int faces[] = {0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1};
    const int start[] = {0, 5, 10, 14, 15};
    sinew_error error;
    sinew_mesh *mesh;
    assert_int_equal(sinew_mesh_create(5, positions, 4, start, faces, &mesh, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "face 3"));
    assert_ok(sinew_mesh_create(5, positions, 3, start, faces, &mesh, &error));
    assert_int_equal(mesh->triangle_count, 3 + 3 + 2);
    sinew_mesh_destroy(mesh);
}

static void bad_indices_and_numbers_are_named(void **state) {
    (void)state;
    double positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const int good[] = {0, 1, 2}, bad[] = {0, 1, 3}, negative[] = {0, -1, 2};
    sinew_error error;
    sinew_mesh *mesh;
    assert_int_equal(sinew_mesh_create(3, positions, 1, NULL, bad, &mesh, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 3"));
    assert_null(mesh);
    assert_int_equal(sinew_mesh_create(3, positions, 1, NULL, negative, &mesh, NULL),
                     SINEW_BAD_INPUT);
    positions[4] = NAN;
    assert_int_equal(sinew_mesh_create(3, positions, 1, NULL, good, &mesh, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 1"));
    assert_int_equal(sinew_mesh_create(-1, NULL, 0, NULL, NULL, &mesh, &error), SINEW_MISUSE);
    assert_ok(sinew_mesh_create(0, NULL, 0, NULL, NULL, &mesh, &error));
    assert_int_equal(mesh->triangle_count, 0);
    sinew_mesh_destroy(mesh);
}

static void copies_are_equal_and_differences_are_named(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *bar = shape_bar(2, 2), *copy;
    assert_ok(sinew_mesh_copy(bar, &copy, &error));
    assert_ok(sinew_mesh_same_topology(bar, copy, &error));
    assert_memory_equal(bar->positions, copy->positions, 24 * (size_t)bar->vertex_count);
    assert_memory_equal(bar->triangles, copy->triangles, 12 * (size_t)bar->triangle_count);
    copy->face_vertices[4 * 5 + 2] ^= 1;
    assert_int_equal(sinew_mesh_same_topology(bar, copy, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "first face 5"));
    sinew_mesh *sphere = shape_sphere(2);
    assert_int_equal(sinew_mesh_same_topology(bar, sphere, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertices"));
    sinew_mesh_destroy(bar), sinew_mesh_destroy(copy), sinew_mesh_destroy(sphere);
}

static sinew_mesh *of_faces(const sinew_mesh *like, int face_count, const int *start,
                            const int *vertices) {
    sinew_error error;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(like->vertex_count, like->positions, face_count, start, vertices,
                                &mesh, &error));
    return mesh;
}

/* The faces of a grid of quads: rotated, reversed and in another order (kind 0), as triangles along
 * either diagonal (1 and 2). */
static sinew_mesh *listed_anew(const sinew_mesh *grid, int kind) {
    int count = grid->face_count, *vertices = malloc(sizeof(int) * 6 * (size_t)count);
    int *start = malloc(sizeof(int) * ((size_t)count + 1));
    for (int f = 0; f < count; f++) {
        const int *v = grid->face_vertices + 4 * f;
        start[f] = 4 * f;
        for (int c = 0; c < 4 && kind == 0; c++)
            vertices[4 * (count - 1 - f) + c] = v[(f % 2 ? 4 + f - c : f + c) % 4];
        for (int c = 0; c < 3 && kind > 0; c++) {
            vertices[6 * f + c] = v[(kind + c) % 4];
            vertices[6 * f + 3 + c] = v[(kind + 2 + c) % 4];
        }
    }
    start[count] = 4 * count;
    sinew_mesh *mesh = of_faces(grid, kind ? 2 * count : count, kind ? NULL : start, vertices);
    free(vertices), free(start);
    return mesh;
}

static void the_same_surface_may_be_listed_in_other_ways(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *bar = shape_bar(3, 3), *kinds[3];
    for (int k = 0; k < 3; k++) {
        kinds[k] = listed_anew(bar, k);
        assert_ok(sinew_mesh_same_topology(bar, kinds[k], &error));
        assert_ok(sinew_mesh_same_topology(kinds[k], bar, &error));
    }
    assert_ok(sinew_mesh_same_topology(kinds[1], kinds[2], &error)); /* every diagonal flipped */
    for (int k = 0; k < 3; k++) sinew_mesh_destroy(kinds[k]);
    sinew_mesh_destroy(bar);
}

static void other_surfaces_are_counted_and_named(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *grid = shape_grid(4), *cut = listed_anew(grid, 1), *other;
    int count = cut->face_count, *vertices = malloc(sizeof(int) * 3 * (size_t)count);
    memcpy(vertices, cut->triangles, sizeof(int) * 3 * (size_t)count);
    vertices[3 * 7] = vertices[3 * 7] == 0 ? 1 : 0; /* a corner goes elsewhere */
    other = of_faces(grid, count, NULL, vertices);
    assert_int_equal(sinew_mesh_same_topology(cut, other, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "first face"));
    assert_non_null(strstr(error.message, "vertex order"));
    sinew_mesh_destroy(other);

    memcpy(vertices, cut->triangles, sizeof(int) * 3 * (size_t)count);
    other = of_faces(grid, count - 1, NULL, vertices); /* the last is gone */
    assert_int_equal(sinew_mesh_same_topology(cut, other, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_mesh_same_topology(other, cut, &error), SINEW_BAD_INPUT);
    sinew_mesh_destroy(other);

    /* Vertices numbered anew: the same picture, another correspondence. */
    for (int c = 0; c < 3 * count; c++)
        vertices[c] = (7 * cut->triangles[c] + 3) % grid->vertex_count;
    other = of_faces(grid, count, NULL, vertices);
    assert_int_equal(sinew_mesh_same_topology(cut, other, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_mesh_same_topology(grid, other, &error), SINEW_BAD_INPUT);
    sinew_mesh_destroy(other);
    free(vertices);

    /* A closed surface whose faces share no edge with the other: no cell has a boundary. */
    sinew_mesh *sphere = shape_sphere(3);
    vertices = malloc(sizeof(int) * 3 * (size_t)sphere->triangle_count);
    for (int c = 0; c < 3 * sphere->triangle_count; c++)
        vertices[c] = (17 * sphere->triangles[c] + 5) % sphere->vertex_count;
    other = of_faces(sphere, sphere->triangle_count, NULL, vertices);
    assert_int_equal(sinew_mesh_same_topology(sphere, other, &error), SINEW_BAD_INPUT);
    sinew_mesh_destroy(other), sinew_mesh_destroy(sphere);
    free(vertices);
    sinew_mesh_destroy(grid), sinew_mesh_destroy(cut);
}

static sinew_status compare_cuts(void *user) {
    sinew_mesh **meshes = user;
    return sinew_mesh_same_topology(meshes[0], meshes[1], NULL);
}

static void comparing_surfaces_reports_that_memory_ran_out(void **state) {
    (void)state;
    sinew_mesh *grid = shape_grid(3), *meshes[2] = {listed_anew(grid, 1), listed_anew(grid, 2)};
    assert_true(test_out_of_memory(compare_cuts, meshes) > 8);
    sinew_mesh_destroy(meshes[0]), sinew_mesh_destroy(meshes[1]), sinew_mesh_destroy(grid);
}

static void shapes_are_what_they_say(void **state) {
    (void)state;
    sinew_mesh *sphere = shape_sphere(10), *torus = shape_torus(40, 20), *bar = shape_bar(3, 4);
    assert_int_equal(sphere->vertex_count, 402);
    assert_int_equal(sphere->triangle_count, 800);
    assert_close(shape_volume(sphere), 4.18879, 0.1);
    assert_close(shape_volume(torus), 3.15827, 0.1); /* 2 pi^2 0.16 */
    assert_close(shape_volume(bar), 3, 1e-12);
    assert_close(shape_area(bar), 14, 1e-12);
    assert_close(sinew_diagonal(bar->vertex_count, bar->positions), sqrt(11), 1e-12);
    sinew_mesh_destroy(sphere), sinew_mesh_destroy(torus), sinew_mesh_destroy(bar);
}

int test_polygons(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_polygons_are_covered_without_flips),
        cmocka_unit_test(quads_take_the_shorter_diagonal),
        cmocka_unit_test(degenerate_faces_still_give_their_triangles),
        cmocka_unit_test(bad_indices_and_numbers_are_named),
        cmocka_unit_test(copies_are_equal_and_differences_are_named),
        cmocka_unit_test(the_same_surface_may_be_listed_in_other_ways),
        cmocka_unit_test(other_surfaces_are_counted_and_named),
        cmocka_unit_test(comparing_surfaces_reports_that_memory_ran_out),
        cmocka_unit_test(shapes_are_what_they_say),
    };
    return cmocka_run_group_tests_name("polygons", tests, NULL, NULL);
}
