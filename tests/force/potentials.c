#include "support.h"

#include "base/memory.h"
#include "base/rotation.h"
#include "dome.h"
#include "force/potentials.h"
#include "force/ring_rotation.h"
#include "groups.h"

enum { SIDE = 9, COUNT = SIDE * SIDE };

typedef struct sheet {
    sinew_rig *rig;
    sn_skin *skin;
    sn_potentials *potentials;
    double *scratch;
} sheet;

static sheet make_sheet(double stretch, double bend, double position) {
    sinew_error error = {0};
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.stretch_length = stretch, options.bend_length = bend, options.position = position;
    options.overstretch = 0.7;
    sheet s = {.rig = dome_rig(SIDE, 3)};
    assert_ok(sn_skin_create(s.rig, 0, NULL, &s.skin, &error));
    assert_ok(sn_potentials_create(s.skin, &options, &s.potentials, &error));
    s.scratch = malloc(sizeof(double) * sn_potentials_scratch(s.potentials));
    return s;
}

static void drop_sheet(sheet *s) {
    free(s->scratch);
    sn_potentials_destroy(s->potentials);
    sn_skin_destroy(s->skin);
    sinew_rig_destroy(s->rig);
}

/* sum of 1/2 k |F x - p|^2, written down anew. */
static double energy_of(const sn_potentials *p, const double *x) {
    const sn_skin *s = p->skin;
    double sum = 0;
    for (int v = 0; v < s->vertex_count; v++) {
        double away = sn_distance(sn_at(x, v), sn_at(s->rest, v));
        sum += 0.5 * p->position[v] * away * away;
        if (!p->bends) continue;
        sn_mat3 S = {{{0}}}, turn, stretch;
        sn_vec3 now = {0, 0, 0}, rest = {0, 0, 0};
        for (int h = s->start[v]; h < s->start[v + 1]; h++) {
            sn_vec3 e = sn_sub(sn_at(x, v), sn_at(x, s->neighbour[h]));
            sn_vec3 e0 = sn_sub(sn_at(s->rest, v), sn_at(s->rest, s->neighbour[h]));
            double w = s->neighbour_weight[h], a[3] = {e.x, e.y, e.z}, b[3] = {e0.x, e0.y, e0.z};
            for (int k = 0; k < 9; k++) S.m[k / 3][k % 3] += w * a[k / 3] * b[k % 3];
            now = sn_add_scaled(now, w, e), rest = sn_add_scaled(rest, w, e0);
        }
        sn_polar3(S, &turn, &stretch);
        double off = sn_distance(sn_mat3_apply(turn, rest), now) / (s->area[v] * s->mean_area);
        sum += 0.5 * p->bending[v] * off * off;
    }
    for (int e = 0; p->stretches && e < s->edge_count; e++) {
        double length = sn_distance(sn_at(x, s->edges[2 * e]), sn_at(x, s->edges[2 * e + 1]));
        double off = length - s->length[e];
        double beyond = fmax(length - SINEW_FORCE_OVERSTRETCH_FROM * s->length[e], 0);
        sum += 0.5 * p->stretch[e] * (off * off + p->overstretch * beyond * beyond);
    }
    return sum;
}

static void forces_of_place_and_stretch_are_the_energy_gradient(void **state) {
    (void)state;
    sheet s = make_sheet(0.3, 0, 1);
    double x[3 * COUNT], f[3 * COUNT];
    uint64_t seed = 3;
    /* strains up to about 40%, so that overstretch takes part */
    for (int i = 0; i < 3 * COUNT; i++) x[i] = s.skin->rest[i] * 1.1 + 0.05 * test_random(&seed);
    sn_potentials_forces(s.potentials, x, s.scratch, f);
    double worst = 0, size = 0;
    for (int i = 0; i < 3 * COUNT; i++) {
        double keep = x[i], step = 1e-6;
        x[i] = keep + step;
        double up = energy_of(s.potentials, x);
        x[i] = keep - step;
        double down = energy_of(s.potentials, x);
        x[i] = keep;
        worst = fmax(worst, fabs(f[i] + (up - down) / (2 * step)));
        size = fmax(size, fabs(f[i]));
    }
    assert_true(size > 0.1);
    assert_below(worst, 1e-7 * size);
    drop_sheet(&s);
}

static void the_rest_and_its_rigid_motions_bend_nothing(void **state) {
    (void)state;
    sheet s = make_sheet(0.1, 0.1, 0);
    sn_mat3 turn = sn_rotation_exp(sn_v3(0.7, -1.1, 2.0));
    double x[3 * COUNT], f[3 * COUNT];
    for (int v = 0; v < COUNT; v++)
        sn_put(x, v, sn_add(sn_mat3_apply(turn, sn_at(s.skin->rest, v)), sn_v3(1, 2, 3)));
    sn_potentials_forces(s.potentials, x, s.scratch, f);
    for (int i = 0; i < 3 * COUNT; i++) assert_close(f[i], 0, 1e-9);
    assert_below(energy_of(s.potentials, x), 1e-18);
    drop_sheet(&s);
}

static void bending_pulls_a_dent_back(void **state) {
    (void)state;
    sheet s = make_sheet(0, 0.1, 0);
    double x[3 * COUNT], f[3 * COUNT];
    memcpy(x, s.skin->rest, sizeof x);
    int middle = COUNT / 2;
    x[3 * middle + 2] -= 0.05;
    sn_potentials_forces(s.potentials, x, s.scratch, f);
    assert_true(f[3 * middle + 2] > 0);
    double sum[3] = {0};
    for (int i = 0; i < 3 * COUNT; i++) sum[i % 3] += f[i];
    for (int a = 0; a < 3; a++) assert_close(sum[a], 0, 1e-9); /* inner forces balance */
    drop_sheet(&s);
}

/* v: column b of every rotation. */
static void rotate_axis(const double S[9][SN_RING_BATCH], const double bound[SN_RING_BATCH], int b,
                        double v[3][SN_RING_BATCH]) {
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < SN_RING_BATCH; i++) v[a][i] = a == b;
    sn_ring_rotate(SN_RING_BATCH, S, bound, v);
}

static void ring_rotations_are_the_polar_factors(void **state) {
    (void)state;
    static _Alignas(64) double S[9][SN_RING_BATCH], bound[SN_RING_BATCH], v[3][SN_RING_BATCH];
    sn_mat3 expected[SN_RING_BATCH];
    uint64_t seed = 11;
    for (int i = 0; i < SN_RING_BATCH; i++) {
        sn_mat3 a = {{{0}}};
        double size = 0;
        sn_mat3 turn =
            sn_rotation_exp(sn_v3(3 * test_random(&seed), test_random(&seed), test_random(&seed)));
        for (int p = 0; p < 6; p++) {
            sn_vec3 r = sn_v3(test_random(&seed), test_random(&seed),
                              i % 2 ? test_random(&seed) : 0); /* every second ring is flat */
            sn_vec3 e = sn_mat3_apply(turn, r);
            e = sn_add(e, sn_scale(0.2, sn_v3(test_random(&seed), test_random(&seed),
                                              test_random(&seed))));
            double ee[3] = {e.x, e.y, e.z}, rr[3] = {r.x, r.y, r.z};
            for (int k = 0; k < 9; k++) a.m[k / 3][k % 3] += ee[k / 3] * rr[k % 3];
            size += 0.5 * (sn_dot(e, e) + sn_dot(r, r));
        }
        sn_mat3 stretch;
        sn_polar3(a, &expected[i], &stretch);
        for (int k = 0; k < 9; k++) S[k][i] = a.m[k / 3][k % 3];
        bound[i] = size;
    }
    for (int b = 0; b < 3; b++) {
        rotate_axis((const double(*)[SN_RING_BATCH])S, bound, b, v);
        for (int i = 0; i < SN_RING_BATCH; i++)
            for (int a = 0; a < 3; a++) assert_close(v[a][i], expected[i].m[a][b], 1e-9);
    }
}

static void rings_on_a_line_are_not_turned(void **state) {
    (void)state;
    static _Alignas(64) double S[9][SN_RING_BATCH], bound[SN_RING_BATCH], v[3][SN_RING_BATCH];
    S[1][0] = 1, bound[0] = 1; /* rank one */
    for (int b = 0; b < 3; b++) {
        rotate_axis((const double(*)[SN_RING_BATCH])S, bound, b, v);
        for (int a = 0; a < 3; a++) {
            assert_true(isfinite(v[a][0]));
            assert_close(v[a][1], a == b, 0);
        }
    }
}

static void only_the_still_boundary_is_held(void **state) {
    (void)state;
    sheet s = make_sheet(0.1, 0.1, 1);
    for (int v = 0; v < COUNT; v++) {
        int i = v % SIDE, j = v / SIDE;
        assert_int_equal(s.skin->fixed[v], i == 0 || j == 0 || i == SIDE - 1 || j == SIDE - 1);
    }
    /* a target that moves a corner of the border frees that corner */
    sinew_error error = {0};
    int corner = 0;
    double delta[3] = {0, 0, 0.1};
    assert_ok(sinew_rig_add_target(s.rig, "corner", 1, &corner, delta, &error));
    sn_skin *skin;
    assert_ok(sn_skin_create(s.rig, 0, NULL, &skin, &error));
    assert_false(skin->fixed[0]);
    assert_int_equal(skin->fixed_count, s.skin->fixed_count - 1);
    sn_skin_destroy(skin);
    drop_sheet(&s);
}

static void the_matrix_is_what_the_forces_differentiate_to(void **state) {
    (void)state;
    /* With projections that do not change (place alone, and bending of a flat rest, whose rest
     * curvature is zero) f(x) = - K (x - rest). */
    sheet s = make_sheet(0, 0.2, 1);
    for (int k = 2; k < SN_RING_CONSTANTS; k++)
        for (int i = 0; i < COUNT; i++) s.potentials->rings.constant[k][i] = 0;
    sn_sparse *matrix;
    sinew_error error = {0};
    double zero[COUNT] = {0}, x[3 * COUNT], z[3 * COUNT], f[3 * COUNT], f0[3 * COUNT], k[3 * COUNT];
    assert_ok(sn_potentials_matrix(s.potentials, zero, &matrix, &error));
    uint64_t seed = 5;
    for (int i = 0; i < 3 * COUNT; i++) {
        z[i] = s.skin->fixed[i / 3] ? 0 : 0.01 * test_random(&seed);
        x[i] = s.skin->rest[i] + z[i];
    }
    sn_potentials_forces(s.potentials, s.skin->rest, s.scratch, f0);
    sn_potentials_forces(s.potentials, x, s.scratch, f);
    sn_sparse_multiply(matrix, 3, z, k);
    for (int i = 0; i < 3 * COUNT; i++)
        if (!s.skin->fixed[i / 3]) assert_close(f[i] - f0[i], -k[i], 1e-9);
    sn_sparse_destroy(matrix);
    drop_sheet(&s);
}

int test_potentials(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forces_of_place_and_stretch_are_the_energy_gradient),
        cmocka_unit_test(the_rest_and_its_rigid_motions_bend_nothing),
        cmocka_unit_test(bending_pulls_a_dent_back),
        cmocka_unit_test(ring_rotations_are_the_polar_factors),
        cmocka_unit_test(rings_on_a_line_are_not_turned),
        cmocka_unit_test(only_the_still_boundary_is_held),
        cmocka_unit_test(the_matrix_is_what_the_forces_differentiate_to),
    };
    return cmocka_run_group_tests_name("potentials", tests, NULL, NULL);
}
