/* The smooth displacement that locks use for what no slider can cancel. */
#include "rig/corrective.h"

#include "groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algebra/sparse.h"
#include "base/memory.h"
#include "mesh/laplacian.h"
#include "support.h"

static sinew_error error;

enum { N = 12, ROW = N + 1, COUNT = ROW * ROW };

/* A unit square, finer on its left side. cut: the vertices of its middle column are there twice. */
static sinew_mesh *graded_sheet(bool cut) {
    double x[3 * (COUNT + ROW)] = {0};
    int faces[6 * N * N], count = 0;
    for (int v = 0; v < COUNT; v++) {
        double along = (double)(v % ROW) / N;
        x[3 * v] = 0.4 * along + 0.6 * along * along, x[3 * v + 1] = (double)(v / ROW) / N;
    }
    for (int k = 0; k < ROW; k++)
        memcpy(x + 3 * (COUNT + k), x + 3 * (ROW * k + N / 2), 3 * sizeof *x);
    for (int f = 0; f < N * N; f++) {
        int row = f / N, column = f % N, a = row * ROW + column, b = a + ROW;
        bool twice = cut && column == N / 2; /* right of the cut */
        int left = twice ? COUNT + row : a, above = twice ? COUNT + row + 1 : b;
        const int two[] = {left, a + 1, b + 1, left, b + 1, above};
        memcpy(faces + count, two, sizeof two), count += 6;
    }
    sinew_mesh *mesh;
    assert_ok(
        sinew_mesh_create(cut ? COUNT + ROW : COUNT, x, 2 * N * N, NULL, faces, &mesh, &error));
    return mesh;
}

/* positions of the neutral plus the field; returns the strain. */
static double apply(const sinew_mesh *mesh, int count, const int *vertices, const bool *held,
                    const double *values, double reach, double *field) {
    sn_corrective *corrective;
    size_t n = 3 * (size_t)mesh->vertex_count;
    assert_ok(sn_corrective_create(mesh, count, vertices, held, reach, &corrective, &error));
    memcpy(field, mesh->positions, n * sizeof *field);
    double strain = sn_corrective_apply(corrective, values, field);
    for (size_t i = 0; i < n; i++) field[i] -= mesh->positions[i];
    sn_corrective_destroy(corrective);
    return strain;
}

/* sum (L u)^2 / m has no slope at any free vertex. */
static void the_field_bends_least(void **state) {
    (void)state;
    sinew_mesh *mesh = graded_sheet(false);
    static const int vertices[] = {5 * ROW + 4, 8 * ROW + 7};
    static const bool held[] = {false, false, true, false, false, true};
    static const double values[] = {0, 0, 1, 0, 0, -0.5};
    double u[3 * COUNT], z[COUNT], Lu[COUNT], slope[COUNT], mass[COUNT] = {0}, most = 0;
    apply(mesh, 2, vertices, held, values, 9, u);
    sn_sparse *laplacian;
    assert_ok(sn_laplacian_cotangent(COUNT, mesh->positions, mesh->triangle_count, mesh->triangles,
                                     &laplacian, &error));
    sn_mass_barycentric(COUNT, mesh->positions, mesh->triangle_count, mesh->triangles, mass);
    for (int v = 0; v < COUNT; v++) {
        assert_true(u[3 * v] == 0 && u[3 * v + 1] == 0);
        z[v] = u[3 * v + 2];
    }
    assert_close(z[vertices[0]], 1, 1e-12);
    assert_close(z[vertices[1]], -0.5, 1e-12);
    sn_sparse_multiply(laplacian, 1, z, Lu);
    for (int v = 0; v < COUNT; v++) Lu[v] /= mass[v];
    sn_sparse_multiply(laplacian, 1, Lu, slope);
    for (int v = 0; v < COUNT; v++) most = fmax(most, fabs(slope[v]));
    for (int v = 0; v < COUNT; v++)
        if (v != vertices[0] && v != vertices[1]) assert_true(fabs(slope[v]) < 1e-6 * most);
    sn_sparse_destroy(laplacian);
    sinew_mesh_destroy(mesh);
}

/* Along edges, from vertex to vertex of a row and then of a column, or across a quad. */
static void nothing_moves_beyond_the_reach(void **state) {
    (void)state;
    sinew_mesh *mesh = graded_sheet(false);
    static const int vertex = 6 * ROW + 6;
    static const bool held[] = {true, true, true};
    static const double values[] = {0, 0, 0.2};
    double u[3 * COUNT], strain = apply(mesh, 1, &vertex, held, values, 0.3, u), stretch = 0;
    int moved = 0;
    for (int v = 0; v < COUNT; v++) {
        double dx = mesh->positions[3 * v] - mesh->positions[3 * vertex];
        double dy = mesh->positions[3 * v + 1] - mesh->positions[3 * vertex + 1];
        bool moves = u[3 * v + 2] != 0;
        if (hypot(dx, dy) > 0.3) assert_false(moves);
        if (fabs(dx) + fabs(dy) <= 0.3) assert_true(moves);
        moved += moves;
    }
    assert_true(moved > 20 && moved < COUNT / 2);
    for (int t = 0; t < mesh->triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            double length[2] = {0};
            int a = mesh->triangles[3 * t + k], b = mesh->triangles[3 * t + (k + 1) % 3];
            for (int c = 0; c < 3; c++) {
                double d = mesh->positions[3 * a + c] - mesh->positions[3 * b + c];
                double e = d + u[3 * a + c] - u[3 * b + c];
                length[0] += d * d, length[1] += e * e;
            }
            stretch = fmax(stretch, fabs(sqrt(length[1] / length[0]) - 1));
        }
    assert_close(strain, stretch, 1e-9);
    sinew_mesh_destroy(mesh);
}

/* The first vertex is held along x and z, the second along x alone. */
static void each_axis_has_its_own_vertices(void **state) {
    (void)state;
    sinew_mesh *mesh = graded_sheet(false);
    static const int vertices[] = {6 * ROW + 6, 6 * ROW + 7};
    static const bool held[] = {true, false, true, true, false, false};
    static const double values[] = {0.1, 9, 0.2, -0.1, 9, 9};
    double u[3 * COUNT];
    apply(mesh, 2, vertices, held, values, 9, u);
    assert_close(u[3 * vertices[0]], 0.1, 1e-12);
    assert_close(u[3 * vertices[1]], -0.1, 1e-12);
    assert_close(u[3 * vertices[0] + 2], 0.2, 1e-12);
    assert_true(u[3 * vertices[1] + 2] > 0.05);
    for (int v = 0; v < COUNT; v++) assert_true(u[3 * v + 1] == 0);
    sinew_mesh_destroy(mesh);
}

/* A cut whose sides lie on each other is none. */
static void seams_stay_closed(void **state) {
    (void)state;
    sinew_mesh *whole = graded_sheet(false), *cut = graded_sheet(true);
    static const int vertex = 6 * ROW + 4;
    static const bool held[] = {false, false, true};
    static const double values[] = {0, 0, 1};
    double u[3 * COUNT], w[3 * (COUNT + ROW)];
    apply(whole, 1, &vertex, held, values, 0.5, u);
    apply(cut, 1, &vertex, held, values, 0.5, w);
    for (int v = 0; v < COUNT; v++) assert_close(w[3 * v + 2], u[3 * v + 2], 1e-9);
    for (int k = 0; k < ROW; k++)
        assert_true(w[3 * (COUNT + k) + 2] == w[3 * (ROW * k + N / 2) + 2]);
    sinew_mesh_destroy(whole), sinew_mesh_destroy(cut);
}

int test_corrective(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_field_bends_least),
        cmocka_unit_test(nothing_moves_beyond_the_reach),
        cmocka_unit_test(each_axis_has_its_own_vertices),
        cmocka_unit_test(seams_stay_closed),
    };
    return cmocka_run_group_tests_name("corrective", tests, NULL, NULL);
}
