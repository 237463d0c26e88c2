/* Gradients and Hessians of every energy against central differences, in place and term by term,
 * with some vertices held. */
#include "support.h"

#include "base/memory.h"
#include "base/threads.h"
#include "bodies.h"
#include "groups.h"
#include "spring/energy.h"

typedef struct bench {
    test_block block;
    sn_network *network;
    sn_system *system;
    sn_load load;
    sn_linearization lin;
    sn_scratch scratch;
    sn_soft_pull soft[2];
    double *x; /* SN_PAD per vertex */
} bench;

enum {
    SPRINGS = 1,
    VOLUMES = 2,
    PULL = 4,
    SOFT = 8,
    GUIDE = 16,
    ALTITUDES = 32,
    FORCES = 64,
    ALL = 127
};

static void bench_create(int cells, int terms, int held_vertices, bench *b) {
    sinew_error error = {0};
    static const double stiff[SINEW_SPRING_KIND_COUNT] = {1, 0.7, 0.4, 100, 1};
    test_block_create(cells, 2, 2, &b->block);
    assert_ok(sn_network_create(b->block.mesh, &b->block.tets, b->block.mesh->positions,
                                SINEW_SPRING_BENDING_FLAP, 0, &b->network, &error));
    assert_ok(sn_network_finish(b->network, stiff, NULL, NULL, &error));
    if (!(terms & SPRINGS)) memset(b->network->stiffness, 0, (size_t)b->network->spring_count * 8);
    int n = b->network->vertex_count;
    bool *held = SN_NEW0(bool, n);
    for (int v = 0; v < held_vertices; v++) held[(7 * v + 3) % n] = true;
    assert_ok(sn_system_create(b->network, held, terms & VOLUMES ? 0.8 : 0,
                               terms & ALTITUDES ? 0.6 : 0, &b->system, &error));
    sn_free(held);
    assert_ok(sn_load_create(b->system, &b->load, &error));
    assert_ok(sn_linearization_create(b->system, &b->lin, &error));
    assert_ok(sn_scratch_create(b->system, &b->scratch, &error));
    uint64_t seed = 11;
    b->x = sn_alloc_aligned(SN_PAD * (size_t)n, sizeof(double));
    sn_system_import(b->system, b->network->component ? b->block.mesh->positions : NULL, b->x);
    for (int k = 0; k < SN_PAD * n; k++)
        if (k % SN_PAD < 3) b->x[k] += 0.3 * test_random(&seed);
    for (int s = 0; s < b->system->spring_count; s++)
        b->load.rest[s] = b->network->rest[b->system->spring[s]] * (1 + 0.4 * test_random(&seed));
    for (int t = 0; t < b->system->tet_count; t++)
        b->load.volume[t] =
            b->network->volume[b->system->tet_source[t]] * (1 + 0.5 * test_random(&seed));
    for (int t = 0; t < b->system->triangle_count; t++)
        for (int c = 0; c < 3; c++) b->load.altitude[SN_PAD * t + c] = test_random(&seed);
    for (int s = 0; s < b->system->spring_count && terms & GUIDE; s++)
        for (int c = 0; c < SN_PAD; c++) /* some directions are far off; beta in lane 3 */
            b->load.heading[SN_PAD * s + c] = c < 3 ? test_random(&seed) : 0.05 * (s % 5);
    b->load.forced = terms & FORCES;
    for (int k = 0; k < SN_PAD * b->system->free_count; k++)
        b->load.force[k] = k % SN_PAD < 3 ? test_random(&seed) : 0;
    b->load.pull = terms & PULL ? 0.13 : 0;
    for (int k = 0; k < SN_PAD * n; k++) b->load.blend[k] = k % SN_PAD < 3 ? k * 0.01 : 0;
    b->soft[0] = (sn_soft_pull){4, 2.5, {1, 2, 3}};
    b->soft[1] = (sn_soft_pull){9, 0.7, {0, 0, 0}};
    b->load.soft = b->soft;
    b->load.soft_count = terms & SOFT ? 2 : 0;
}

static void bench_free(bench *b) {
    sn_free_aligned(b->x);
    sn_scratch_free(&b->scratch);
    sn_linearization_free(&b->lin);
    sn_load_free(&b->load);
    sn_system_destroy(b->system);
    sn_network_destroy(b->network);
    test_block_free(&b->block);
}

static void check_terms(int terms) {
    sinew_error error = {0};
    bench b;
    bench_create(2, terms, 5, &b);
    int n = b.system->free_count;
    double *g = sn_alloc_aligned(SN_PAD * (size_t)n, 8), *plus = sn_alloc_aligned(SN_PAD * n, 8);
    double *minus = sn_alloc_aligned(SN_PAD * (size_t)n, 8);
    sn_energy(b.system, &b.load, b.x, g, &b.scratch);
    sn_sparse *H = NULL;
    assert_ok(sn_hessian_pattern(b.system, &H, &error));
    sn_hessian_assemble(b.system, &b.load, b.x, 1, H);
    double scale = 0, hessian_scale = 0;
    for (int k = 0; k < SN_PAD * n; k++) scale = fmax(scale, fabs(g[k]));
    for (int k = 0; k < sn_sparse_nonzeros(H); k++)
        hessian_scale = fmax(hessian_scale, fabs(H->value[k]));
    assert_true(scale > 0);
    const double h = 1e-5;
    double *column = SN_NEW(double, 3 * n), *unit = SN_NEW0(double, 3 * n);
    for (int v = 0; v < n; v++)
        for (int c = 0; c < 3; c++) {
            double *at = b.x + SN_PAD * v + c, keep = *at;
            *at = keep + h;
            double up = sn_energy(b.system, &b.load, b.x, plus, &b.scratch);
            *at = keep - h;
            double down = sn_energy(b.system, &b.load, b.x, minus, &b.scratch);
            *at = keep;
            assert_close(g[SN_PAD * v + c], (up - down) / (2 * h), 1e-6 * scale);
            unit[3 * v + c] = 1;
            sn_sparse_multiply(H, 1, unit, column);
            unit[3 * v + c] = 0;
            for (int u = 0; u < n; u++)
                for (int d = 0; d < 3; d++)
                    assert_close(column[3 * u + d],
                                 (plus[SN_PAD * u + d] - minus[SN_PAD * u + d]) / (2 * h),
                                 1e-6 * hessian_scale);
        }
    sn_free(column), sn_free(unit);
    sn_sparse_destroy(H);
    sn_free_aligned(g), sn_free_aligned(plus), sn_free_aligned(minus);
    bench_free(&b);
}

static void spring_derivatives_match_differences(void **state) {
    (void)state;
    check_terms(SPRINGS);
}
static void volume_derivatives_match_differences(void **state) {
    (void)state;
    check_terms(VOLUMES);
}
static void direction_derivatives_match_differences(void **state) {
    (void)state;
    check_terms(SPRINGS | GUIDE);
}
static void altitude_derivatives_match_differences(void **state) {
    (void)state;
    check_terms(ALTITUDES);
}
static void force_derivatives_match_differences(void **state) {
    (void)state;
    check_terms(FORCES | PULL);
}
static void pull_to_blend_derivatives_match_differences(void **state) {
    (void)state;
    check_terms(PULL);
}
static void soft_pull_derivatives_match_differences(void **state) {
    (void)state;
    check_terms(SOFT);
}
static void sum_of_all_derivatives_matches_differences(void **state) {
    (void)state;
    check_terms(ALL);
}

/* Contacts that push, idle, stick and slide, on one to four vertices. */
/* Where a contact learned its forces, its energy is 0 and its forces act as they are, whether it
 * sticks or has no friction: the energies of two frames can be compared. */
static void contacts_have_no_energy_where_they_learned_their_forces(void **state) {
    (void)state;
    double x[SN_PAD * 3] = {0.1, 0.2, 0.3}, gradient[SN_PAD * 3];
    x[SN_PAD] = 1, x[2 * SN_PAD + 1] = 2;
    for (int sticks = 0; sticks < 2; sticks++) {
        sn_contact_term term = {.count = 3,
                                .vertex = {0, 1, 2},
                                .weight = {0.5, 0.8, -0.3},
                                .normal = {0.6, 0, 0.8},
                                .stiffness = 5,
                                .force = 0.7,
                                .limit = sticks ? 2 : 0,
                                .drag = {0.8 * sticks, 0.5 * sticks, -0.6 * sticks}};
        term.offset += sn_contact_gap(&term, x);
        for (int c = 0; c < 3; c++)
            for (int a = 0; a < 3; a++) term.place[c] += term.weight[a] * x[SN_PAD * a + c];
        const sn_load load = {.contact_count = 1, .contacts = &term};
        memset(gradient, 0, sizeof gradient);
        assert_close(sn_contacts_energy(&load, x, gradient), 0, 1e-14);
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++)
                assert_close(gradient[SN_PAD * a + c],
                             term.weight[a] * (term.drag[c] - term.force * term.normal[c]), 1e-14);
        x[SN_PAD] += 0.01; /* pressed or slipped from there, it costs something else */
        assert_true(fabs(sn_contacts_energy(&load, x, NULL)) > 1e-4);
        x[SN_PAD] -= 0.01;
    }
}

static void contact_derivatives_match_differences(void **state) {
    (void)state;
    bench b;
    bench_create(2, 0, 5, &b);
    int n = b.system->free_count;
    sn_contact_term terms[] = {
        {.count = 1, .vertex = {3}, .weight = {1}, .normal = {0, 0.6, 0.8}, .stiffness = 5},
        {.count = 1, .vertex = {4}, .weight = {1}, .normal = {0, 0, 1}, .stiffness = 5},
        {.count = 3,
         .vertex = {5, 7, 2},
         .weight = {0.2, 0.5, 0.3},
         .normal = {1, 0, 0},
         .stiffness = 7,
         .force = 0.4,
         .limit = 9,
         .drag = {0, 0.1, -0.2}},
        {.count = 3,
         .vertex = {1, 8, 6},
         .weight = {0.1, 0.1, 0.8},
         .normal = {0.6, 0, -0.8},
         .stiffness = 3,
         .force = 0.4,
         .limit = 0.3,
         .drag = {0, 0.1, 0}},
        {.count = 4,
         .vertex = {0, 3, 9, 4},
         .weight = {0.4, 0.6, -0.7, -0.3},
         .normal = {0, 1, 0},
         .stiffness = 4,
         .force = 0.1}};
    enum { COUNT = sizeof terms / sizeof *terms };
    const double gap[COUNT] = {-0.3, 0.2, -0.1, 0.05, -0.2}, slip[COUNT] = {0, 0, 0.1, 0.8, 0};
    for (int k = 0; k < COUNT; k++) {
        terms[k].offset = sn_contact_gap(&terms[k], b.x) - gap[k];
        for (int c = 0; c < 3; c++)
            for (int a = 0; a < terms[k].count; a++)
                terms[k].place[c] += terms[k].weight[a] * b.x[SN_PAD * terms[k].vertex[a] + c];
        terms[k].place[1] += slip[k];
    }
    b.load.contacts = terms, b.load.contact_count = COUNT;
    assert_true(sn_linearization_reserve(&b.lin, COUNT));
    double *g = sn_alloc_aligned(SN_PAD * (size_t)n, 8), *plus = sn_alloc_aligned(SN_PAD * n, 8);
    double *minus = sn_alloc_aligned(SN_PAD * (size_t)n, 8);
    float *p = sn_alloc_aligned(SN_PAD * (size_t)b.system->count, 4);
    float *y = sn_alloc_aligned(SN_PAD * (size_t)n, 4);
    memset(p, 0, SN_PAD * (size_t)b.system->count * sizeof *p);
    sn_energy(b.system, &b.load, b.x, g, &b.scratch);
    sn_linearize(b.system, &b.load, b.x, 1, &b.lin);
    assert_int_equal(b.lin.contact_count, COUNT - 1);
    const double h = 1e-5;
    for (int v = 0; v < n; v++)
        for (int c = 0; c < 3; c++) {
            double *at = b.x + SN_PAD * v + c, keep = *at;
            *at = keep + h;
            double up = sn_energy(b.system, &b.load, b.x, plus, &b.scratch);
            *at = keep - h;
            double down = sn_energy(b.system, &b.load, b.x, minus, &b.scratch);
            *at = keep;
            assert_close(g[SN_PAD * v + c], (up - down) / (2 * h), 1e-6);
            p[SN_PAD * v + c] = 1;
            double product = sn_hessian_multiply(b.system, &b.lin, p, y, &b.scratch);
            assert_close(product, (double)y[SN_PAD * v + c], 1e-5);
            p[SN_PAD * v + c] = 0;
            for (int u = 0; u < n; u++)
                for (int d = 0; d < 3; d++)
                    assert_close((double)y[SN_PAD * u + d],
                                 (plus[SN_PAD * u + d] - minus[SN_PAD * u + d]) / (2 * h), 1e-5);
        }
    /* the forces that are learned are those that acted */
    double force = terms[0].stiffness * 0.3;
    sn_contact_update(&terms[0], b.x);
    assert_close(terms[0].force, force, 1e-12);
    sn_contact_update(&terms[3], b.x);
    double squared = 0;
    for (int c = 0; c < 3; c++) squared += terms[3].drag[c] * terms[3].drag[c];
    assert_close(sqrt(squared), terms[3].limit, 1e-12);
    sn_free_aligned(g), sn_free_aligned(plus), sn_free_aligned(minus);
    sn_free_aligned(p), sn_free_aligned(y);
    bench_free(&b);
}

static void check_product(int terms) {
    sinew_error error = {0};
    bench b;
    bench_create(3, terms, 4, &b);
    int n = b.system->free_count;
    float *p = sn_alloc_aligned(SN_PAD * (size_t)b.system->count, 4);
    float *y = sn_alloc_aligned(SN_PAD * (size_t)n, 4), *blocks = SN_NEW(float, 6 * n);
    double *pd = SN_NEW(double, 3 * n), *yd = SN_NEW(double, 3 * n);
    sn_sparse *H = NULL;
    assert_ok(sn_hessian_pattern(b.system, &H, &error));
    for (int pass = 0; pass < 3; pass++) {
        double negative = 0.5 * pass;
        uint64_t seed = 5;
        memset(p, 0, SN_PAD * (size_t)b.system->count * sizeof *p);
        for (int k = 0; k < 3 * n; k++)
            p[SN_PAD * (k / 3) + k % 3] = (float)(pd[k] = (double)(float)test_random(&seed));
        sn_linearize(b.system, &b.load, b.x, negative, &b.lin);
        double product = sn_hessian_multiply(b.system, &b.lin, p, y, &b.scratch);
        sn_hessian_assemble(b.system, &b.load, b.x, negative, H);
        sn_sparse_multiply(H, 1, pd, yd);
        double scale = 0, dot = 0;
        for (int k = 0; k < 3 * n; k++) scale = fmax(scale, fabs(yd[k])), dot += pd[k] * yd[k];
        for (int k = 0; k < 3 * n; k++)
            assert_close((double)y[SN_PAD * (k / 3) + k % 3], yd[k], 2e-6 * scale);
        assert_close(product, dot, 1e-5 * fabs(dot) + 1e-5 * scale);
        sn_hessian_diagonal(b.system, &b.lin, blocks, &b.scratch);
        static const int entry[6][2] = {{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1}, {2, 2}};
        for (int v = 0; v < n; v++)
            for (int e = 0; e < 6; e++)
                assert_close((double)blocks[6 * v + e],
                             *sn_hessian_entry(b.system, H, v, -1, entry[e][0], entry[e][1]),
                             1e-5 * scale);
    }
    sn_sparse_destroy(H);
    sn_free_aligned(p), sn_free_aligned(y), sn_free(blocks), sn_free(pd), sn_free(yd);
    bench_free(&b);
}

static void single_precision_product_matches_the_assembled_hessian(void **state) {
    (void)state;
    check_product(ALL);
}

static void check_projection(int terms) {
    bench b;
    bench_create(3, terms, 2, &b);
    int n = b.system->free_count;
    float *p = sn_alloc_aligned(SN_PAD * (size_t)b.system->count, 4);
    float *y = sn_alloc_aligned(SN_PAD * (size_t)n, 4);
    for (int s = 0; s < b.system->spring_count; s++) b.load.rest[s] *= 2; /* all compressed */
    uint64_t seed = 3;
    int indefinite = 0;
    for (int pass = 0; pass < 2; pass++) {
        sn_linearize(b.system, &b.load, b.x, pass, &b.lin);
        for (int trial = 0; trial < 50; trial++) {
            memset(p, 0, SN_PAD * (size_t)b.system->count * sizeof *p);
            for (int k = 0; k < 3 * n; k++) p[SN_PAD * (k / 3) + k % 3] = (float)test_random(&seed);
            double product = sn_hessian_multiply(b.system, &b.lin, p, y, &b.scratch);
            if (pass == 0)
                assert_true(product >= 0);
            else
                indefinite += product < 0;
        }
    }
    assert_true(indefinite > 0); /* the case is a real one */
    sn_free_aligned(p), sn_free_aligned(y);
    bench_free(&b);
}

static void projected_hessian_is_never_indefinite(void **state) {
    (void)state;
    check_projection(SPRINGS | VOLUMES);
    check_projection(SPRINGS | VOLUMES | ALTITUDES);
}

static void results_do_not_depend_on_the_number_of_threads(void **state) {
    (void)state;
    bench b;
    bench_create(420, ALL, 9, &b); /* large enough for threads to be used */
    int n = b.system->free_count;
    assert_true(b.system->spring_count > 20000);
    double *g[2], energy[2], product[2];
    float *p = sn_alloc_aligned(SN_PAD * (size_t)b.system->count, 4), *y[2];
    memset(p, 0, SN_PAD * (size_t)b.system->count * sizeof *p);
    for (int k = 0; k < 3 * n; k++) p[SN_PAD * (k / 3) + k % 3] = (float)sin(k);
    for (int pass = 0; pass < 2; pass++) {
        sinew_set_threads(pass + 1);
        g[pass] = sn_alloc_aligned(SN_PAD * (size_t)n, 8);
        y[pass] = sn_alloc_aligned(SN_PAD * (size_t)n, 4);
        energy[pass] = sn_energy(b.system, &b.load, b.x, g[pass], &b.scratch);
        sn_linearize(b.system, &b.load, b.x, 1, &b.lin);
        product[pass] = sn_hessian_multiply(b.system, &b.lin, p, y[pass], &b.scratch);
    }
    sinew_set_threads(0);
    assert_true(energy[0] == energy[1] && product[0] == product[1]);
    assert_memory_equal(g[0], g[1], SN_PAD * (size_t)n * sizeof(double));
    assert_memory_equal(y[0], y[1], SN_PAD * (size_t)n * sizeof(float));
    for (int pass = 0; pass < 2; pass++) sn_free_aligned(g[pass]), sn_free_aligned(y[pass]);
    sn_free_aligned(p);
    bench_free(&b);
}

static void a_spring_of_no_length_gives_finite_numbers(void **state) {
    (void)state;
    bench b;
    bench_create(2, ALL, 0, &b);
    int n = b.system->free_count;
    memcpy(b.x + SN_PAD * 1, b.x, SN_PAD * sizeof(double));
    memcpy(b.x + SN_PAD * b.system->other[0], b.x, SN_PAD * sizeof(double));
    double *g = sn_alloc_aligned(SN_PAD * (size_t)n, 8);
    assert_true(isfinite(sn_energy(b.system, &b.load, b.x, g, &b.scratch)));
    for (int k = 0; k < SN_PAD * n; k++) assert_true(isfinite(g[k]));
    sn_linearize(b.system, &b.load, b.x, 0, &b.lin);
    for (int k = 0; k < 4 * b.system->spring_count; k++) assert_true(isfinite(b.lin.spring[k]));
    sn_free_aligned(g);
    bench_free(&b);
}

int test_energies(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spring_derivatives_match_differences),
        cmocka_unit_test(volume_derivatives_match_differences),
        cmocka_unit_test(direction_derivatives_match_differences),
        cmocka_unit_test(altitude_derivatives_match_differences),
        cmocka_unit_test(force_derivatives_match_differences),
        cmocka_unit_test(pull_to_blend_derivatives_match_differences),
        cmocka_unit_test(soft_pull_derivatives_match_differences),
        cmocka_unit_test(sum_of_all_derivatives_matches_differences),
        cmocka_unit_test(contact_derivatives_match_differences),
        cmocka_unit_test(contacts_have_no_energy_where_they_learned_their_forces),
        cmocka_unit_test(single_precision_product_matches_the_assembled_hessian),
        cmocka_unit_test(projected_hessian_is_never_indefinite),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(a_spring_of_no_length_gives_finite_numbers),
    };
    return cmocka_run_group_tests_name("energies", tests, NULL, NULL);
}
