#include "support.h"

#include "base/memory.h"
#include "force/vertex_columns.h"
#include "groups.h"

/* Not a whole number of groups; the last column is empty, and vertices divisible by 7 have none. */
enum { VERTICES = 101, COLUMNS = 11 };

static bool reaches(int v, int k) {
    return k < COLUMNS - 1 && v % 7 != 0 && (v * 31 + k * k * 17) % 5 < 2;
}

static double entry(int v, int k, int a) {
    return reaches(v, k) ? sin(1 + v + 13 * k + 0.3 * a) : 0;
}

static sinew_status fill_column(int k, double *dense, void *user, sinew_error *error) {
    (void)user, (void)error;
    for (int v = 0; v < VERTICES; v++)
        for (int a = 0; a < 3; a++) dense[3 * v + a] = entry(v, k, a);
    return SINEW_OK;
}

static sn_vertex_columns *make_columns(bool single) {
    sinew_error error = {0};
    sn_vertex_columns *columns;
    assert_ok(sn_vertex_columns_create(VERTICES, COLUMNS, fill_column, NULL, 0, single, &columns,
                                       &error));
    return columns;
}

static void groups_multiply_like_the_dense_matrix(void **state) {
    (void)state;
    double u[COLUMNS], wanted[3 * VERTICES], out[2][3 * VERTICES];
    float thin[COLUMNS];
    for (int k = 0; k < COLUMNS; k++) thin[k] = (float)(u[k] = (double)(float)cos(2 * k + 0.5));
    for (int i = 0; i < 3 * VERTICES; i++) {
        wanted[i] = out[0][i] = out[1][i] = 0.01 * i;
        for (int k = 0; k < COLUMNS; k++) wanted[i] += u[k] * entry(i / 3, k, i % 3);
    }
    sn_vertex_columns *wide = make_columns(false), *narrow = make_columns(true);
    sn_vertex_columns_add(wide, u, out[0]);
    sn_vertex_columns_add_f32(narrow, thin, out[1]);
    for (int i = 0; i < 3 * VERTICES; i++) {
        assert_close(out[0][i], wanted[i], 1e-14);
        assert_close(out[1][i], wanted[i], 2e-6);
    }
    sn_vertex_columns_destroy(wide), sn_vertex_columns_destroy(narrow);
}

static void vertices_of_the_same_columns_share_groups(void **state) {
    (void)state;
    sn_vertex_columns *columns = make_columns(false);
    int entries = 0, reached = 0;
    for (int v = 0; v < VERTICES; v++) {
        int some = 0;
        for (int k = 0; k < COLUMNS; k++) some += reaches(v, k);
        entries += some, reached += some > 0;
    }
    assert_int_equal(columns->reached, reached);
    /* five kinds of vertices in any order: at most one group of each is not filled */
    size_t blocks = columns->first[columns->group_count];
    assert_true(SN_COLUMN_LANES * blocks < (size_t)entries + 5 * COLUMNS * SN_COLUMN_LANES);
    for (int g = 0; g < columns->group_count; g++)
        for (size_t b = columns->first[g] + 1; b < columns->first[g + 1]; b++)
            assert_true(columns->column[b - 1] < columns->column[b]);
    sn_vertex_columns_destroy(columns);
}

int test_columns(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_multiply_like_the_dense_matrix),
        cmocka_unit_test(vertices_of_the_same_columns_share_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
