#include "support.h"

#include <stdbool.h>

#include "algebra/dense.h"
#include "algebra/eigen.h"
#include "bodies.h"
#include "groups.h"
#include "modal/bending.h"
#include "modal/elements.h"
#include "modal/field.h"
#include "modal/modes.h"

static const sn_material soft = {2, 0.3, 1.5};

static double energy(const sn_sparse *K, const double *u) {
    double *Ku = malloc(sizeof(double) * (size_t)K->rows), sum = 0;
    sn_sparse_multiply(K, 1, u, Ku);
    for (int i = 0; i < K->rows; i++) sum += 0.5 * u[i] * Ku[i];
    free(Ku);
    return sum;
}

static void rigid_motions_cost_nothing_and_uniform_strain_costs_what_it_should(void **state) {
    (void)state;
    sinew_error error;
    sinew_tets *bar = test_bar(5, 2, 3, 2, 0.5, 0.7);
    sn_rotation_strain *rs = test_structure(bar);
    sn_sparse *K;
    assert_ok(sn_tet_stiffness(rs, soft, NULL, &K, &error));
    double *u = malloc(sizeof(double) * 3 * (size_t)bar->vertex_count);
    for (int i = 0; i < bar->vertex_count; i++) /* translation and rotation */
        sn_put(u, i, sn_add(sn_v3(1, 2, 3), sn_cross(sn_v3(0.3, -1, 2), sn_at(bar->positions, i))));
    assert_below(fabs(energy(K, u)), 1e-12);
    /* u = (a x, b y, c z): volume (lambda/2 (a+b+c)^2 + mu (a^2 + b^2 + c^2)) */
    double a = 0.3, b = -0.2, c = 0.5, mu = 2 / 2.6, lambda = 2 * 0.3 / (1.3 * 0.4);
    for (int i = 0; i < bar->vertex_count; i++) {
        sn_vec3 p = sn_at(bar->positions, i);
        sn_put(u, i, sn_v3(a * p.x, b * p.y, c * p.z));
    }
    double expected =
        2 * 0.5 * 0.7 * (lambda / 2 * (a + b + c) * (a + b + c) + mu * (a * a + b * b + c * c));
    assert_close(energy(K, u), expected, 1e-12);
    double *mass = malloc(sizeof(double) * 3 * (size_t)bar->vertex_count), total = 0;
    sn_lumped_mass(rs, soft.density, 1, mass);
    for (int i = 0; i < bar->vertex_count; i++) total += mass[3 * i];
    assert_close(total, 1.5 * 2 * 0.5 * 0.7, 1e-12);
    free(u), free(mass);
    sn_sparse_destroy(K);
    sn_rotation_strain_destroy(rs);
    sinew_tets_destroy(bar);
}

/* First bending frequency of a clamped bar: the clamped end's rows get a huge diagonal. */
static double cantilever(int cells_long, int cells_across, double length) {
    sinew_error error;
    sinew_tets *bar = test_bar(cells_long, cells_across, cells_across, length, 1, 1);
    sn_rotation_strain *rs = test_structure(bar);
    sn_sparse *K;
    assert_ok(sn_tet_stiffness(rs, (sn_material){1, 0.3, 1}, NULL, &K, &error));
    double *mass = malloc(sizeof(double) * (size_t)K->rows), values[2];
    double *vectors = malloc(sizeof(double) * 2 * (size_t)K->rows);
    sn_lumped_mass(rs, 1, 1, mass);
    for (int j = 0; j < K->columns; j++)
        if (bar->positions[3 * (j / 3)] == 0) K->value[K->start[j]] += 1e6;
    sn_eigen_options options = {.count = 2};
    assert_ok(sn_eigen_smallest(K, mass, NULL, &options, values, vectors, NULL, NULL, &error));
    free(mass), free(vectors);
    sn_sparse_destroy(K);
    sn_rotation_strain_destroy(rs);
    sinew_tets_destroy(bar);
    return sqrt(values[0]);
}

static void cantilever_is_close_to_beam_theory_and_converges(void **state) {
    (void)state;
    const double length = 10;
    /* Euler-Bernoulli: (1.8751/L)^2 sqrt(E I/(rho A)), I = 1/12 */
    double beam = pow(1.8751040687 / length, 2) * sqrt(1.0 / 12);
    double coarse = cantilever(20, 2, length), fine = cantilever(40, 4, length);
    assert_close(fine / beam, 1, 0.10);
    assert_true(fabs(fine / beam - 1) < fabs(coarse / beam - 1));
}

static void modes_solve_their_equation_and_agree_with_a_dense_solver(void **state) {
    (void)state;
    sinew_error error;
    sinew_tets *bar = test_bar(4, 2, 2, 2, 0.5, 0.7);
    sn_rotation_strain *rs = test_structure(bar);
    int size = 3 * bar->vertex_count, count = 20;
    sn_sparse *K;
    assert_ok(sn_tet_stiffness(rs, soft, NULL, &K, &error));
    double *mass = malloc(sizeof(double) * (size_t)size);
    sn_lumped_mass(rs, soft.density, 1, mass);
    sn_modes *modes;
    assert_ok(sn_modes_create(rs, bar->positions, K, mass, count, NULL, &modes, &error));
    assert_int_equal(modes->mode_count, count);
    assert_int_equal(modes->column_count, count + 3);

    double *A = calloc((size_t)size * (size_t)size, sizeof(double));
    double *B = calloc((size_t)size * (size_t)size, sizeof(double));
    double *values = malloc(sizeof(double) * (size_t)size);
    for (int j = 0; j < size; j++) {
        for (int k = K->start[j]; k < K->start[j + 1]; k++)
            A[K->row[k] + (size_t)size * (size_t)j] = A[j + (size_t)size * (size_t)K->row[k]] =
                K->value[k];
        B[j + (size_t)size * (size_t)j] = mass[j];
    }
    assert_ok(sn_dense_eigen_generalized(size, A, B, values, &error));
    double *Ky = malloc(sizeof(double) * (size_t)size);
    for (int k = 0; k < count; k++) {
        const double *y = modes->shapes + (size_t)size * (size_t)k;
        double value = modes->lambda[k] * modes->lambda[k];
        assert_close(value, values[6 + k], 1e-8 * values[6 + k]);
        sn_sparse_multiply(K, 1, y, Ky);
        double residual = 0, length = 0;
        for (int i = 0; i < size; i++) {
            residual += pow(Ky[i] - value * mass[i] * y[i], 2);
            length += pow(value * mass[i] * y[i], 2);
        }
        assert_below(sqrt(residual / length), 1e-8);
        for (int j = 0; j <= k; j++) {
            double product = 0;
            const double *other = modes->shapes + (size_t)size * (size_t)j;
            for (int i = 0; i < size; i++) product += mass[i] * y[i] * other[i];
            assert_close(product, j == k, 1e-9);
        }
    }
    free(A), free(B), free(values), free(Ky), free(mass);
    sn_modes_destroy(modes);
    sn_sparse_destroy(K);
    sn_rotation_strain_destroy(rs);
    sinew_tets_destroy(bar);
}

/* Two bars far apart, as one body. */
static sinew_tets *two_bars(void) {
    sinew_tets *a = test_bar(4, 2, 2, 2, 0.5, 0.7), *b = test_bar(6, 2, 2, 3, 0.5, 0.5), *c;
    c = test_bar(1, 1, 1, 1, 1, 1);
    int vertices = a->vertex_count + b->vertex_count, tets = a->tet_count + b->tet_count;
    sinew_free(c->positions), sinew_free(c->tets);
    c->vertex_count = vertices, c->tet_count = tets;
    c->positions = malloc(sizeof(double) * 3 * (size_t)vertices);
    c->tets = malloc(sizeof(int) * 4 * (size_t)tets);
    memcpy(c->positions, a->positions, sizeof(double) * 3 * (size_t)a->vertex_count);
    memcpy(c->tets, a->tets, sizeof(int) * 4 * (size_t)a->tet_count);
    for (int i = 0; i < b->vertex_count; i++)
        sn_put(c->positions, a->vertex_count + i, sn_add(sn_at(b->positions, i), sn_v3(0, 5, 0)));
    for (int i = 0; i < 4 * b->tet_count; i++)
        c->tets[4 * a->tet_count + i] = a->vertex_count + b->tets[i];
    sinew_tets_destroy(a), sinew_tets_destroy(b);
    return c;
}

static void rigid_modes_of_every_part_are_left_out(void **state) {
    (void)state;
    sinew_error error;
    sinew_tets *pair = two_bars();
    sn_rotation_strain *rs = test_structure(pair);
    assert_int_equal(rs->component_count, 2);
    sn_sparse *K;
    assert_ok(sn_tet_stiffness(rs, soft, NULL, &K, &error));
    double *mass = malloc(sizeof(double) * (size_t)K->rows);
    sn_lumped_mass(rs, soft.density, 1, mass);
    sn_modes *modes;
    assert_ok(sn_modes_create(rs, pair->positions, K, mass, 10, NULL, &modes, &error));
    assert_int_equal(modes->mode_count, 10);
    assert_int_equal(modes->column_count, 16);
    assert_true(modes->lambda[0] > 1e-3 * modes->lambda[9]);
    sn_modes_destroy(modes);
    int most = 3 * pair->vertex_count - 12;
    assert_int_equal(sn_modes_create(rs, pair->positions, K, mass, most + 1, NULL, &modes, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "modes were requested"));
    free(mass);
    sn_sparse_destroy(K);
    sn_rotation_strain_destroy(rs);
    free(pair->positions), free(pair->tets);
    pair->positions = NULL, pair->tets = NULL;
    sinew_tets_destroy(pair);
}

/* Triangulations of the unit square with about `n` cells along a side. */
typedef enum plate_kind {
    EQUILATERAL,  /* rows shifted by half a cell */
    ONE_DIAGONAL, /* squares, all cut the same way */
    CROSSED,      /* squares, cut in turns */
    IRREGULAR,    /* equilateral, its inner vertices moved by up to a quarter of a cell */
    PLATE_KINDS
} plate_kind;

typedef struct plate {
    double positions[3 * 900];
    int triangles[6 * 900];
    int vertices, count;
} plate;

static void make_rows(int n, plate_kind kind, plate *p) {
    uint64_t seed = 5;
    int rows = (int)(n / 0.866 + 0.5), start[64] = {0}, *t = p->triangles;
    for (int j = 0; j <= rows; j++) { /* every other row is shifted by half a cell */
        int count = j % 2 ? n + 2 : n + 1;
        start[j + 1] = start[j] + count;
        for (int i = 0; i < count; i++) {
            double x = fmin(fmax(j % 2 ? (i - 0.5) / n : (double)i / n, 0), 1);
            bool inner = kind == IRREGULAR && x > 0 && x < 1 && j > 0 && j < rows;
            double dx = inner ? 0.25 / n * test_random(&seed) : 0;
            double dy = inner ? 0.25 / n * test_random(&seed) : 0;
            sn_put(p->positions, start[j] + i, sn_v3(x + dx, (double)j / rows + dy, 0));
        }
        for (int i = 0; j > 0 && i < n + 1; i++) { /* the longer row is the one of odd number */
            bool up = j % 2;
            int *wide = &start[up ? j : j - 1], *narrow = &start[up ? j - 1 : j];
            int a = *narrow + i, b = *wide + i, c = *wide + i + 1, d = *narrow + i + 1;
            int first[3] = {a, up ? c : b, up ? b : c}, second[3] = {a, up ? d : c, up ? c : d};
            memcpy(t, first, sizeof first), t += 3;
            if (i < n) memcpy(t, second, sizeof second), t += 3;
        }
    }
    p->vertices = start[rows + 1], p->count = (int)(t - p->triangles) / 3;
}

static void make_squares(int n, plate_kind kind, plate *p) {
    int *t = p->triangles;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n; j++) {
            int at = i * (n + 1) + j;
            sn_put(p->positions, at, sn_v3((double)i / n, (double)j / n, 0));
            if (i == n || j == n) continue;
            bool other = kind != ONE_DIAGONAL && (i + j) % 2;
            int a = at, b = at + n + 1, c = at + n + 2, d = at + 1;
            int straight[6] = {a, b, c, a, c, d}, crossed[6] = {a, b, d, b, c, d};
            memcpy(t, other ? crossed : straight, sizeof straight), t += 6;
        }
    p->vertices = (n + 1) * (n + 1), p->count = 2 * n * n;
}

/* w a^2 sqrt(rho h/D) of the first modes. */
static void plate_frequencies(const plate *p, double poisson, int count, double *values) {
    sinew_error error;
    sn_rotation_strain *rs;
    assert_ok(sn_rotation_strain_create(p->vertices, p->positions, 3, p->count, p->triangles, &rs,
                                        &error));
    double area = 0;
    for (int e = 0; e < p->count; e++) area += rs->weights[e];
    assert_close(area, 1, 1e-12);
    const double h = 0.01;
    sn_sparse *K;
    assert_ok(
        sn_shell_stiffness(rs, p->positions, (sn_material){1, poisson, 1}, h, NULL, &K, &error));
    double *mass = malloc(sizeof(double) * (size_t)K->rows);
    sn_lumped_mass(rs, 1, h, mass);
    sn_modes *modes;
    assert_ok(sn_modes_create(rs, p->positions, K, mass, count, NULL, &modes, &error));
    double rigidity = h * h * h / (12 * (1 - poisson * poisson)), unit = sqrt(h / rigidity);
    for (int k = 0; k < count; k++) values[k] = modes->lambda[k] * unit;
    sn_modes_destroy(modes);
    free(mass);
    sn_sparse_destroy(K);
    sn_rotation_strain_destroy(rs);
}

/* A square plate with free edges, nu = 0.3: 13.489 (twist), 19.789, 24.432, 35.024 twice (Leissa
 * 1969), on four kinds of triangulation. Squares cut in turns are the weak spot: the curvature of a
 * twist alternates from square to square there. */
static void shell_vibrates_as_a_free_plate(void **state) {
    (void)state;
    static const double exact[5] = {13.489, 19.789, 24.432, 35.024, 35.024};
    static const double within[PLATE_KINDS] = {0.03, 0.03, 0.45, 0.06};
    static const char *const names[PLATE_KINDS] = {"equilateral", "one diagonal", "crossed",
                                                   "irregular"};
    for (int kind = 0; kind < PLATE_KINDS; kind++) {
        double worst[2] = {0, 0};
        for (int fine = 0; fine < 2; fine++) {
            static plate p;
            double found[5];
            if (kind == EQUILATERAL || kind == IRREGULAR)
                make_rows(fine ? 20 : 10, kind, &p);
            else
                make_squares(fine ? 20 : 10, kind, &p);
            plate_frequencies(&p, 0.3, 5, found);
            for (int k = 0; k < 5; k++)
                worst[fine] = fmax(worst[fine], fabs(found[k] / exact[k] - 1));
            print_message("%s, %d cells: %.3f %.3f %.3f %.3f %.3f of the plate's\n", names[kind],
                          fine ? 20 : 10, found[0] / exact[0], found[1] / exact[1],
                          found[2] / exact[2], found[3] / exact[3], found[4] / exact[4]);
        }
        assert_below(worst[1], within[kind]);
        if (kind == EQUILATERAL || kind == ONE_DIAGONAL) assert_true(worst[1] < 0.6 * worst[0]);
    }
}

static void adjoint_is_the_transpose_of_the_field(void **state) {
    (void)state;
    uint64_t seed = 8;
    sinew_error error;
    sinew_tets *bar = test_bar(3, 2, 2, 2, 0.5, 0.7);
    for (int corners = 3; corners <= 4; corners++) {
        sn_rotation_strain *rs;
        assert_ok(sn_rotation_strain_create(bar->vertex_count, bar->positions, corners,
                                            bar->tet_count, bar->tets, &rs, &error));
        int size = 3 * bar->vertex_count, wide = SN_RS_SIZE * rs->element_count;
        double *u = malloc(sizeof(double) * 2 * (size_t)size), *f = u + size;
        double *a = calloc(2 * (size_t)wide, sizeof(double)), *b = a + wide;
        for (int i = 0; i < size; i++) u[i] = test_random(&seed);
        for (int i = 0; i < wide; i++) b[i] = test_random(&seed);
        sn_field_add(rs, u, a);
        sn_field_adjoint(rs, b, f);
        double left = 0, right = 0;
        for (int i = 0; i < size; i++) left += u[i] * f[i];
        for (int e = 0; e < rs->element_count; e++) {
            const double *p = a + SN_RS_SIZE * e, *q = b + SN_RS_SIZE * e;
            double sum = 0;
            for (int k = 0; k < 3; k++) {
                sum += 2 * p[k] * (q[k] + q[3 + k]) + p[6 + k] * q[6 + k];
                sum += 2 * p[9 + k] * q[9 + k];
            }
            right += rs->weights[e] * sum;
        }
        assert_close(left, right, 1e-10 * fabs(right) + 1e-10);
        free(u), free(a);
        sn_rotation_strain_destroy(rs);
    }
    sinew_tets_destroy(bar);
}

/* B u = adjoint(H(u)), on triangles (with normals) and tets. */
static void metric_is_the_adjoint_of_the_field(void **state) {
    (void)state;
    uint64_t seed = 5;
    sinew_error error;
    sinew_tets *bar = test_bar(3, 2, 2, 2, 0.5, 0.7);
    for (int corners = 3; corners <= 4; corners++) {
        sn_rotation_strain *rs;
        assert_ok(sn_rotation_strain_create(bar->vertex_count, bar->positions, corners,
                                            bar->tet_count, bar->tets, &rs, &error));
        int size = 3 * bar->vertex_count;
        double *u = malloc(sizeof(double) * 3 * (size_t)size), *f = u + size, *Bu = f + size;
        double *coordinates = calloc((size_t)SN_RS_SIZE * rs->element_count, sizeof(double));
        for (int i = 0; i < size; i++) u[i] = test_random(&seed);
        sn_field_add(rs, u, coordinates);
        sn_field_adjoint(rs, coordinates, f);
        sn_sparse *B;
        assert_ok(sn_field_metric(rs, &B, &error));
        assert_int_equal(B->rows, corners == 3 ? size : bar->vertex_count);
        sn_sparse_multiply(B, size / B->rows, u, Bu);
        for (int i = 0; i < size; i++) assert_close(Bu[i], f[i], 1e-12 * (1 + fabs(f[i])));
        sn_sparse_destroy(B);
        free(u), free(coordinates);
        sn_rotation_strain_destroy(rs);
    }
    sinew_tets_destroy(bar);
}

/* A pose that is a sum of modes and rotations is found exactly. */
static void projection_recovers_its_own_columns(void **state) {
    (void)state;
    sinew_error error;
    uint64_t seed = 2;
    sinew_tets *bar = test_bar(4, 2, 2, 2, 0.5, 0.7);
    sn_rotation_strain *rs = test_structure(bar);
    sn_sparse *K;
    assert_ok(sn_tet_stiffness(rs, soft, NULL, &K, &error));
    double *mass = malloc(sizeof(double) * (size_t)K->rows);
    sn_lumped_mass(rs, soft.density, 1, mass);
    sn_modes *modes;
    assert_ok(sn_modes_create(rs, bar->positions, K, mass, 15, NULL, &modes, &error));
    double z[18], back[18], *u = malloc(sizeof(double) * (size_t)K->rows);
    double *coordinates = calloc((size_t)SN_RS_SIZE * (size_t)rs->element_count, sizeof(double));
    for (int k = 0; k < 18; k++) z[k] = test_random(&seed);
    sn_modes_displace(modes, z, u);
    sn_field_add(rs, u, coordinates);
    sn_modes_project(modes, rs, coordinates, u, back);
    for (int k = 0; k < 18; k++) assert_close(back[k], z[k], 1e-9);

    /* The same fields as a given basis, mixed: the same space, the same frequencies. */
    double *fields = malloc(sizeof(double) * 15 * (size_t)K->rows);
    for (int j = 0; j < 15; j++)
        for (int i = 0; i < K->rows; i++)
            fields[i + (size_t)K->rows * (size_t)j] =
                3 * modes->shapes[i + (size_t)K->rows * (size_t)j] +
                modes->shapes[i + (size_t)K->rows * (size_t)((j + 4) % 15)];
    for (int tiny = 0; tiny < 2; tiny++) { /* however long they are */
        for (int i = 0; i < 15 * K->rows; i++) fields[i] *= tiny ? 1e-8 : 1;
        sn_modes *basis;
        assert_ok(sn_modes_create_basis(rs, bar->positions, K, mass, 15, fields, &basis, &error));
        for (int k = 0; k < 15; k++)
            assert_close(basis->lambda[k], modes->lambda[k], 1e-6 * modes->lambda[k]);
        sn_modes_destroy(basis);
    }
    sn_modes_destroy(modes);
    free(fields), free(coordinates), free(u), free(mass);
    sn_sparse_destroy(K);
    sn_rotation_strain_destroy(rs);
    sinew_tets_destroy(bar);
}

/* A triangle without height has no direction to bend in: an edge with one behind it is free. */
static void needles_do_not_stiffen_what_they_lie_beside(void **state) {
    (void)state;
    sinew_error error;
    const double positions[18] = {0,   0,    0,   1,   0,   0,   0.3, 0.9, 0,
                                  0.5, -0.8, 0.1, 1.2, 0.9, 0.2, 0.1, 0.3, 0};
    /* the needle lies along the edge 2-0 */
    const int triangles[12] = {0, 1, 2, 1, 0, 3, 2, 1, 4, 0, 2, 5};
    sn_sparse *stiffness[2];
    for (int needle = 0; needle < 2; needle++) {
        sn_rotation_strain *rs;
        sn_triplets triplets;
        assert_ok(sn_rotation_strain_create(6, positions, 3, 3 + needle, triangles, &rs, &error));
        assert_ok(sn_triplets_create(18, 18, 4 * SN_BENDING_ENTRIES, &triplets, &error));
        assert_ok(sn_add_bending(rs, positions, 2, 0.3, NULL, &triplets, &error));
        assert_ok(sn_sparse_from_triplets(&triplets, true, &stiffness[needle], &error));
        sn_triplets_free(&triplets);
        sn_rotation_strain_destroy(rs);
    }
    uint64_t seed = 3;
    for (int run = 0; run < 20; run++) {
        double u[18];
        for (int i = 0; i < 18; i++) u[i] = test_random(&seed);
        double free_edge = energy(stiffness[0], u);
        assert_true(free_edge > 0);
        assert_close(energy(stiffness[1], u), free_edge, 1e-12 * free_edge);
    }
    sn_sparse_destroy(stiffness[0]), sn_sparse_destroy(stiffness[1]);
}

int test_modes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rigid_motions_cost_nothing_and_uniform_strain_costs_what_it_should),
        cmocka_unit_test(cantilever_is_close_to_beam_theory_and_converges),
        cmocka_unit_test(modes_solve_their_equation_and_agree_with_a_dense_solver),
        cmocka_unit_test(rigid_modes_of_every_part_are_left_out),
        cmocka_unit_test(shell_vibrates_as_a_free_plate),
        cmocka_unit_test(needles_do_not_stiffen_what_they_lie_beside),
        cmocka_unit_test(adjoint_is_the_transpose_of_the_field),
        cmocka_unit_test(metric_is_the_adjoint_of_the_field),
        cmocka_unit_test(projection_recovers_its_own_columns),
    };
    return cmocka_run_group_tests_name("modes", tests, NULL, NULL);
}
