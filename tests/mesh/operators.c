#include "support.h"

#include "base/memory.h"
#include "base/vec3.h"
#include "groups.h"
#include "mesh/laplacian.h"
#include "mesh/normals.h"
#include "shapes.h"

/* x^T A x */
static double energy(const sn_sparse *matrix, const double *x) {
    double *y = malloc(sizeof(double) * (size_t)matrix->rows), sum = 0;
    sn_sparse_multiply(matrix, 1, x, y);
    for (int i = 0; i < matrix->rows; i++) sum += x[i] * y[i];
    free(y);
    return sum;
}

/* A linear function has a constant gradient: on a flat or solid body x^T L x = |g|^2 |body|. */
static void linear_functions_have_their_exact_energy(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *grid = shape_grid(7);
    double *x = malloc(sizeof(double) * (size_t)grid->vertex_count);
    for (int v = 0; v < grid->vertex_count; v++)
        x[v] = 2 * grid->positions[3 * v] - 3 * grid->positions[3 * v + 1] + 5;
    sn_sparse *matrix;
    assert_ok(sn_laplacian_cotangent(grid->vertex_count, grid->positions, grid->triangle_count,
                                     grid->triangles, &matrix, &error));
    assert_close(energy(matrix, x), 4 + 9, 1e-11);
    sn_sparse_destroy(matrix);
    free(x);
    sinew_mesh_destroy(grid);

    const double corners[] = {0, 0, 0, 2, 0.1, 0, 0.3, 1.5, 0, 0.2, 0.4, 1.7};
    const int tet[] = {0, 1, 2, 3};
    double y[4], volume;
    for (int v = 0; v < 4; v++)
        y[v] = corners[3 * v] + 2 * corners[3 * v + 1] - 2 * corners[3 * v + 2];
    sn_tet_volumes(corners, 1, tet, &volume);
    assert_true(volume > 0);
    assert_ok(sn_laplacian_tets(4, corners, 1, tet, &matrix, &error));
    assert_close(energy(matrix, y), 9 * volume, 1e-12);
    sn_sparse_destroy(matrix);
}

static void constants_cost_nothing_even_with_slivers(void **state) {
    (void)state;
    sinew_error error;
    const double positions[] = {0, 0, 0, 1, 0, 0, 0.5, 1e-300, 0, 0, 0, 0, 0.3, 1, 0, 9, 9, 9};
    const int triangles[] = {0, 1, 2, 0, 3, 0, 0, 1, 4};
    sn_sparse *matrix;
    assert_ok(sn_laplacian_cotangent(6, positions, 3, triangles, &matrix, &error));
    double ones[6] = {1, 1, 1, 1, 1, 1}, y[6];
    sn_sparse_multiply(matrix, 1, ones, y);
    for (int i = 0; i < 6; i++) assert_close(y[i], 0, 1e-9);
    for (int i = 0; i < sn_sparse_nonzeros(matrix); i++) assert_true(isfinite(matrix->value[i]));
    assert_int_equal(matrix->start[6] - matrix->start[5], 1); /* the lone vertex has a diagonal */
    sn_sparse_destroy(matrix);
}

static void uniform_laplacian_counts_neighbours(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *torus = shape_torus(8, 6);
    sn_edges edges;
    assert_ok(sn_edges_of_triangles(torus->triangle_count, torus->triangles, &edges, &error));
    sn_sparse *matrix;
    assert_ok(sn_laplacian_uniform(torus->vertex_count, &edges, &matrix, &error));
    for (int v = 0; v < torus->vertex_count; v++)
        assert_close(matrix->value[matrix->start[v]], 6, 0);
    sn_sparse_destroy(matrix);
    sn_edges_free(&edges);
    sinew_mesh_destroy(torus);
}

static void masses_add_up_to_the_surface(void **state) {
    (void)state;
    sinew_mesh *mesh = shape_torus(30, 9);
    double *mass = malloc(sizeof(double) * (size_t)mesh->vertex_count);
    void (*const kinds[])(int, const double *, int, const int *, double *) = {sn_mass_barycentric,
                                                                              sn_mass_voronoi};
    for (int k = 0; k < 2; k++) {
        kinds[k](mesh->vertex_count, mesh->positions, mesh->triangle_count, mesh->triangles, mass);
        double sum = 0;
        for (int v = 0; v < mesh->vertex_count; v++) {
            assert_true(mass[v] > 0);
            sum += mass[v];
        }
        assert_close(sum, shape_area(mesh), 1e-12);
    }
    free(mass);
    sinew_mesh_destroy(mesh);
    /* an equilateral fan: the Voronoi cell of the middle is a hexagon with a third of the area */
    double fan[21] = {0};
    int triangles[18];
    for (int k = 0; k < 6; k++) {
        fan[3 * k + 3] = cos(k * 1.0471975511965976);
        fan[3 * k + 4] = sin(k * 1.0471975511965976);
        triangles[3 * k] = 0, triangles[3 * k + 1] = 1 + k, triangles[3 * k + 2] = 1 + (k + 1) % 6;
    }
    double share[7];
    sn_mass_voronoi(7, fan, 6, triangles, share);
    assert_close(share[0], sqrt(3) / 2, 1e-12);
}

static void sphere_normals_point_outward(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *sphere = shape_sphere(12);
    sn_topology *topology;
    assert_ok(sn_topology_create(sphere->vertex_count, sphere->triangle_count, sphere->triangles,
                                 &topology, &error));
    double *normals = malloc(sizeof(double) * 3 * (size_t)sphere->vertex_count);
    for (int kind = 0; kind < 2; kind++) {
        sn_vertex_normals(topology, sphere->positions, kind ? SN_NORMAL_AREA : SN_NORMAL_ANGLE,
                          normals);
        for (int v = 0; v < sphere->vertex_count; v++) {
            assert_close(sn_length(sn_at(normals, v)), 1, 1e-12);
            assert_true(sn_dot(sn_at(normals, v), sn_at(sphere->positions, v)) > 0.99);
        }
    }
    assert_close(sn_enclosed_volume(sphere->triangle_count, sphere->triangles, sphere->positions),
                 shape_volume(sphere), 1e-12);
    free(normals);
    sn_topology_destroy(topology);
    sinew_mesh_destroy(sphere);
}

/* A cube corner cut into unequal triangles still points along the diagonal. */
static void angle_weights_ignore_the_triangulation(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *bar = shape_bar(1, 1);
    sn_topology *topology;
    assert_ok(sn_topology_create(bar->vertex_count, bar->triangle_count, bar->triangles, &topology,
                                 &error));
    double normals[24];
    sn_vertex_normals(topology, bar->positions, SN_NORMAL_ANGLE, normals);
    for (int v = 0; v < 8; v++)
        for (int k = 0; k < 3; k++)
            assert_close(normals[3 * v + k], (bar->positions[3 * v + k] > 0.5 ? 1 : -1) / sqrt(3),
                         1e-12);
    sn_topology_destroy(topology);
    sinew_mesh_destroy(bar);
}

int test_operators(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_functions_have_their_exact_energy),
        cmocka_unit_test(constants_cost_nothing_even_with_slivers),
        cmocka_unit_test(uniform_laplacian_counts_neighbours),
        cmocka_unit_test(masses_add_up_to_the_surface),
        cmocka_unit_test(sphere_normals_point_outward),
        cmocka_unit_test(angle_weights_ignore_the_triangulation),
    };
    return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}
