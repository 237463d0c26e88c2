/* Transfer between sheets whose shapes are known: a square, folded, larger, or finer. */
#include "groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "sinew/transfer.h"

static sinew_error error;

/* A unit square of n x n quads, `size` times as large. folded: its right half stands up. loose: a
 * triangle far away. */
static sinew_mesh *sheet(int n, double size, bool folded, bool loose) {
    int vertices = (n + 1) * (n + 1), count = 0, all = n * n + loose;
    double *x = calloc(3 * (size_t)vertices + 9, sizeof *x);
    int *start = calloc((size_t)all + 1, sizeof *start);
    int *corners = calloc(4 * (size_t)all, sizeof *corners);
    for (int v = 0; v < vertices; v++) {
        double along = (double)(v % (n + 1)) / n, up = folded ? fmax(along - 0.5, 0) : 0;
        x[3 * v] = size * (along - up), x[3 * v + 1] = size * (v / (n + 1)) / n;
        x[3 * v + 2] = size * up;
    }
    for (int f = 0; f < n * n; f++) {
        int a = f / n * (n + 1) + f % n;
        const int quad[] = {a, a + 1, a + n + 2, a + n + 1};
        memcpy(corners + count, quad, sizeof quad);
        start[f + 1] = count += 4;
    }
    for (int k = 0; loose && k < 3; k++) {
        for (int c = 0; c < 3; c++) x[3 * (vertices + k) + c] = 5 + (c == k);
        corners[count + k] = vertices + k;
    }
    if (loose) start[all] = count + 3, vertices += 3;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(vertices, x, all, start, corners, &mesh, &error));
    free(x), free(start), free(corners);
    return mesh;
}

/* "grow" doubles the sheet about its middle, "lift" raises its right side by a tenth. */
static sinew_rig *sheet_rig(int n) {
    sinew_mesh *mesh = sheet(n, 1, false, false);
    sinew_rig *rig;
    int count = mesh->vertex_count, *vertices = calloc((size_t)count, sizeof *vertices);
    double *grow = calloc(3 * (size_t)count, sizeof *grow), *lift = calloc(3 * (size_t)count, 8);
    for (int v = 0; v < count; v++) {
        const double *p = mesh->positions + 3 * v;
        vertices[v] = v;
        grow[3 * v] = p[0] - 0.5, grow[3 * v + 1] = p[1] - 0.5;
        lift[3 * v + 2] = 0.1 * p[0];
    }
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_target(rig, "grow", count, vertices, grow, &error));
    assert_ok(sinew_rig_add_target(rig, "lift", count, vertices, lift, &error));
    free(vertices), free(grow), free(lift);
    return rig;
}

/* Displacements of a target, 3 per vertex. */
static void spread(const sinew_rig *rig, const char *name, double *dense) {
    const sinew_target *target = &rig->targets[sinew_rig_find_target(rig, name)];
    memset(dense, 0, 3 * sizeof *dense * (size_t)rig->neutral->vertex_count);
    for (int i = 0; i < target->count; i++)
        memcpy(dense + 3 * (size_t)target->vertices[i], target->deltas + 3 * (size_t)i,
               3 * sizeof *dense);
}

/* What doubles a flat sheet doubles a folded one in its own directions, the half that stands up in
 * its height: the normal of a triangle grows with its edges. */
static void growth_has_no_direction(void **state) {
    (void)state;
    enum { N = 8, MIDDLE = N / 2 * (N + 1) + N / 2 };
    sinew_rig *rig = sheet_rig(N), *carried;
    sinew_mesh *folded = sheet(N, 1, true, false);
    sinew_transfer_options options;
    sinew_transfer_options_init(&options);
    options.pull = 0.02; /* of the whole sheet: each vertex has its share */
    assert_ok(sinew_transfer(rig, folded, &options, NULL, &carried, NULL, &error));
    double *u = malloc(3 * sizeof *u * (size_t)folded->vertex_count);
    spread(carried, "grow", u);
    for (int v = 0; v < folded->vertex_count; v++)
        for (int c = 0; c < 3; c++)
            assert_close(u[3 * v + c],
                         folded->positions[3 * v + c] - folded->positions[3 * MIDDLE + c], 0.01);
    free(u);
    sinew_rig_destroy(rig), sinew_rig_destroy(carried);
    sinew_mesh_destroy(folded);
}

/* The pose of a combination contains its drivers, on the larger sheet in their larger form. */
static void combinations_are_carried_without_their_drivers(void **state) {
    (void)state;
    enum { N = 4 };
    sinew_rig *rig = sheet_rig(N), *carried;
    const int drivers[] = {0, 1}, vertex = 7;
    const double delta[] = {0, 0, 0.05};
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_MULTIPLY, 2, drivers, 1, &vertex,
                                        delta, &error));
    /* listed before its drivers */
    sinew_target last = rig->targets[2];
    rig->targets[2] = rig->targets[0], rig->targets[0] = last;
    sinew_mesh *larger = sheet(N, 3, false, false);
    assert_ok(sinew_transfer(rig, larger, NULL, NULL, &carried, NULL, &error));
    double *u = malloc(3 * sizeof *u * (size_t)larger->vertex_count);
    spread(carried, "both", u);
    for (int v = 0; v < larger->vertex_count; v++)
        for (int c = 0; c < 3; c++)
            assert_close(u[3 * v + c], v == vertex && c == 2 ? 0.15 : 0, 0.01);
    free(u);
    sinew_rig_destroy(rig), sinew_rig_destroy(carried);
    sinew_mesh_destroy(larger);
}

static void small_displacements_are_dropped(void **state) {
    (void)state;
    enum { N = 8 };
    sinew_rig *rig = sheet_rig(N), *carried;
    sinew_mesh *same = sheet(N, 1, false, false);
    sinew_transfer_options options;
    sinew_transfer_options_init(&options);
    options.drop = 0.055 / sqrt(2); /* of the diagonal: of lift, x below 0.55 */
    assert_ok(sinew_transfer(rig, same, &options, NULL, &carried, NULL, &error));
    const sinew_target *lift = &carried->targets[1];
    assert_int_equal(lift->count, (N + 1) * 4);
    for (int i = 0; i < lift->count; i++) assert_true(lift->vertices[i] % (N + 1) >= 5);
    sinew_rig_destroy(rig), sinew_rig_destroy(carried);
    sinew_mesh_destroy(same);
}

/* Corners of a coarse sheet as regions of a fine one, which has another piece far away. */
static void regions_reach_half_way_to_the_next_vertex(void **state) {
    (void)state;
    enum { COARSE = 2, FINE = 8, VERTICES = (FINE + 1) * (FINE + 1) };
    static const int from[] = {0, 2, 6, 8, 4}, to[] = {0, 8, 72, 80, 40};
    sinew_rig *rig = sheet_rig(COARSE), *carried;
    sinew_mesh *fine = sheet(FINE, 1, false, true);
    const int first = 0, last = 8;
    assert_ok(sinew_rig_add_region(rig, "first", 1, &first, &error));
    assert_ok(sinew_rig_add_region(rig, "last", 1, &last, &error));
    sinew_transfer_options options;
    sinew_transfer_info info = {.size = sizeof info};
    sinew_transfer_options_init(&options);
    options.pair_count = 5, options.source_vertices = from, options.target_vertices = to;
    assert_ok(sinew_transfer(rig, fine, &options, NULL, &carried, &info, &error));
    assert_int_equal(carried->region_count, 2);
    for (int r = 0; r < 2; r++) {
        const sinew_region *region = &carried->regions[r];
        assert_true(region->count == 9 || region->count == 6); /* by the diagonal of the quad */
        for (int i = 0; i < region->count; i++) {
            int v = region->vertices[i], x = v % (FINE + 1), y = v / (FINE + 1);
            assert_true(v < VERTICES);
            assert_true(r == 0 ? x <= 2 && y <= 2 : x >= FINE - 2 && y >= FINE - 2);
        }
    }
    /* the piece far away is the only one without a counterpart */
    assert_false(info.same_topology);
    assert_int_equal(info.unmatched, 3);
    double diagonal = sinew_diagonal(fine->vertex_count, fine->positions);
    double distance = sqrt(5 * 5 + 4 * 4 + 4 * 4); /* of (6, 5, 5) to (1, 1, 0), nearly */
    assert_close(info.match_max, distance / diagonal, 0.1);
    assert_close(info.match_mean, 3 * info.match_max / fine->vertex_count, 0.1 * info.match_max);
    double *u = malloc(3 * sizeof *u * (size_t)fine->vertex_count);
    spread(carried, "lift", u);
    for (int v = 0; v < VERTICES; v++)
        assert_close(u[3 * v + 2], 0.1 * fine->positions[3 * v], 0.01);
    free(u);
    sinew_rig_destroy(rig), sinew_rig_destroy(carried);
    sinew_mesh_destroy(fine);
}

int test_transfer_sheets(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_has_no_direction),
        cmocka_unit_test(combinations_are_carried_without_their_drivers),
        cmocka_unit_test(small_displacements_are_dropped),
        cmocka_unit_test(regions_reach_half_way_to_the_next_vertex),
    };
    return cmocka_run_group_tests_name("transfer of sheets", tests, NULL, NULL);
}
