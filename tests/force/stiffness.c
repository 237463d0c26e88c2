#include "support.h"

#include "base/memory.h"
#include "dome.h"
#include "force/balance.h"
#include "groups.h"
#include "sinew/force.h"
#include "sinew/memory.h"
#include "sinew/threads.h"

enum { SIDE = 13, COUNT = SIDE * SIDE, TARGETS = 8, BORDER = 4 * (SIDE - 1) };

static bool on_border(int v, int rings) {
    int x = v % SIDE, y = v / SIDE;
    return x < rings || y < rings || x >= SIDE - rings || y >= SIDE - rings;
}

/* A skin on which both stiffnesses matter, held at its border. */
static sinew_force_options soft_skin(int *border) {
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.stretch_length = 0.06, options.bend_length = 0.05;
    options.fixed = border;
    for (int v = 0; v < COUNT; v++)
        if (on_border(v, 1)) border[options.fixed_count++] = v;
    return options;
}

static void paint(double *stretch, double *bend) {
    for (int v = 0; v < COUNT; v++) {
        double x = (double)(v % SIDE) / SIDE, y = (double)(v / SIDE) / SIDE;
        stretch[v] = exp(0.9 * sin(7 * x + 2 * y));
        bend[v] = exp(0.9 * cos(5 * y - 3 * x));
    }
}

/* ---- the quadratic --------------------------------------------------------------------------- */

static void the_balance_is_the_distance_of_the_forces(void **state) {
    (void)state;
    sinew_error error = {0};
    int border[BORDER];
    sinew_force_options even = soft_skin(border), painted = even;
    double stretch[COUNT], bend[COUNT], factors[2 * COUNT], scratch[2 * COUNT];
    paint(stretch, bend);
    for (int v = 0; v < COUNT; v++) factors[2 * v] = stretch[v], factors[2 * v + 1] = bend[v];
    painted.stretch_map = stretch, painted.bend_map = bend;
    sinew_rig *rig = dome_rig(SIDE, 2);
    sn_skin *skin;
    sn_potentials *plain, *colored;
    sn_balance_builder *builder;
    sn_balance *balance;
    sn_sparse *matrix;
    assert_ok(sn_skin_create(rig, even.fixed_count, border, &skin, &error));
    assert_ok(sn_potentials_create(skin, &even, &plain, &error));
    assert_ok(sn_potentials_create(skin, &painted, &colored, &error));
    assert_ok(sn_balance_builder_create(plain, &builder, &error));
    double x[3 * COUNT], push[3 * COUNT], force[3 * COUNT], none[COUNT] = {0}, wanted = 0;
    double *work = malloc(sizeof(double) * sn_potentials_scratch(plain));
    uint64_t seed = 5;
    assert_ok(sn_potentials_matrix(plain, none, &matrix, &error));
    for (int example = 0; example < 3; example++) {
        for (int i = 0; i < 3 * COUNT; i++) {
            x[i] = skin->rest[i] + 0.03 * test_random(&seed);
            push[i] = 0.1 * test_random(&seed);
        }
        sn_balance_add(builder, push, x);
        sn_potentials_forces(colored, x, work, force);
        for (int v = 0; v < COUNT; v++) {
            if (skin->fixed[v]) continue;
            double stiffness = matrix->value[matrix->start[v]], square = 0;
            for (int a = 3 * v; a < 3 * v + 3; a++)
                square += (force[a] + push[a]) * (force[a] + push[a]);
            wanted += skin->area[v] * square / (stiffness * stiffness);
        }
    }
    assert_ok(sn_balance_finish(builder, &balance, &error));
    assert_close(sn_balance_value(balance, factors, scratch), wanted, 1e-11 * wanted);
    free(work);
    sn_sparse_destroy(matrix);
    sn_balance_destroy(balance);
    sn_balance_builder_destroy(builder);
    sn_potentials_destroy(plain), sn_potentials_destroy(colored);
    sn_skin_destroy(skin);
    sinew_rig_destroy(rig);
}

/* ---- known stiffness ------------------------------------------------------------------------- */

/* A rig and shapes in exact balance on the painted skin: target k pushes with the forces that hold
 * shape k there. */
static sinew_rig *balanced_rig(const sinew_force_options *painted, double shapes[][3 * COUNT]) {
    sinew_error error = {0};
    sinew_rig *dome = dome_rig(SIDE, TARGETS), *rig;
    sinew_mesh *mesh;
    sn_skin *skin;
    sn_potentials *potentials;
    assert_ok(sn_skin_create(dome, painted->fixed_count, painted->fixed, &skin, &error));
    assert_ok(sn_potentials_create(skin, painted, &potentials, &error));
    assert_ok(sinew_mesh_create(COUNT, dome->neutral->positions, dome->neutral->triangle_count,
                                NULL, dome->neutral->triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    double *work = malloc(sizeof(double) * sn_potentials_scratch(potentials));
    double force[3 * COUNT], deltas[3 * COUNT];
    int vertices[COUNT];
    for (int k = 0; k < TARGETS; k++) {
        double weights[TARGETS] = {0};
        weights[k] = 1, weights[(k + 3) % TARGETS] = 0.6;
        dome_blend(dome, weights, shapes[k]);
        sn_potentials_forces(potentials, shapes[k], work, force);
        for (int i = 0; i < 3 * COUNT; i++) {
            vertices[i / 3] = i / 3;
            deltas[i] = skin->fixed[i / 3] ? 0 : -force[i] / skin->area[i / 3];
        }
        char name[16];
        snprintf(name, sizeof name, "push%d", k);
        assert_ok(sinew_rig_add_target(rig, name, COUNT, vertices, deltas, &error));
    }
    free(work);
    sn_potentials_destroy(potentials);
    sn_skin_destroy(skin);
    sinew_rig_destroy(dome);
    return rig;
}

static void known_stiffness_is_found_again_from_shapes_made_with_it(void **state) {
    (void)state;
    sinew_error error = {0};
    int border[BORDER];
    static double shapes[TARGETS][3 * COUNT];
    double stretch[COUNT], bend[COUNT], found_stretch[COUNT], found_bend[COUNT];
    double commands[TARGETS][TARGETS] = {{0}};
    sinew_force_options skin = soft_skin(border);
    paint(stretch, bend);
    skin.stretch_map = stretch, skin.bend_map = bend;
    sinew_rig *rig = balanced_rig(&skin, shapes);
    sinew_stiffness_example examples[TARGETS];
    for (int k = 0; k < TARGETS; k++) {
        commands[k][k] = 1;
        examples[k] = (sinew_stiffness_example){commands[k], shapes[k]};
    }
    sinew_stiffness_options options;
    sinew_stiffness_options_init(&options);
    options.prior = 1e-6, options.examples = examples, options.example_count = TARGETS;
    sinew_stiffness_info info = {.size = sizeof info};
    assert_ok(sinew_stiffness_estimate(rig, &skin, &options, NULL, found_stretch, found_bend, &info,
                                       &error));
    assert_int_equal(info.status, SINEW_OK);
    assert_int_equal(info.examples, TARGETS);
    assert_false(info.uniform);
    /* where shapes strain the skin; the outer rings are still in most of them */
    for (int v = 0; v < COUNT; v++) {
        if (on_border(v, 3)) continue;
        assert_close(found_stretch[v] / stretch[v], 1, 0.01);
        assert_close(found_bend[v] / bend[v], 1, 0.01);
    }
    assert_below(info.rest_error, 0.01 * info.rest_error_default);
    assert_below(info.unseen_map, 0.2 * info.unseen_uniform);
    sinew_rig_destroy(rig);
}

/* ---- the rig's own shapes -------------------------------------------------------------------- */

static void each_target_is_held_to_what_the_estimate_reports(void **state) {
    (void)state;
    sinew_error error = {0};
    int border[BORDER];
    sinew_force_options skin = soft_skin(border);
    sinew_rig *rig = dome_rig(SIDE, TARGETS);
    double stretch[COUNT], bend[COUNT], x[3 * COUNT], goal[3 * COUNT];
    sinew_stiffness_info info = {.size = sizeof info};
    assert_ok(sinew_stiffness_estimate(rig, &skin, NULL, NULL, stretch, bend, &info, &error));
    assert_int_equal(info.status, SINEW_OK);
    assert_below(info.rest_error, 0.9 * info.rest_error_default);
    assert_below(info.unseen_map, info.unseen_default);
    skin.stretch_map = stretch, skin.bend_map = bend;
    sinew_force *force;
    sinew_force_state *moving;
    assert_ok(sinew_force_create(rig, NULL, &skin, NULL, &force, &error));
    assert_ok(sinew_force_state_create(force, &moving, &error));
    double area = info_of(sinew_force, force).vertex_count, worst = 0;
    for (int k = 0; k < TARGETS; k++) {
        double command[TARGETS] = {0};
        command[k] = 1;
        dome_blend(rig, command, goal);
        sinew_force_reset(moving);
        assert_ok(sinew_force_command(force, moving, command, x, NULL, NULL, &error));
        worst = fmax(worst, root_mean_square(x, goal, COUNT));
    }
    assert_true(area > 0);
    /* the report weighs by area, and the border's vertices have less of it */
    assert_close(worst / info.rest_error_worst, 1, 0.15);
    sinew_force_state_destroy(moving);
    sinew_force_destroy(force);
    sinew_rig_destroy(rig);
}

static void skin_is_softer_where_shapes_strain_it_and_itself_where_none_does(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_force_options skin;
    sinew_force_options_init(&skin);
    sinew_rig *rig = dome_rig(SIDE, 1); /* one bump, right of the middle */
    double stretch[COUNT], bend[COUNT];
    sinew_stiffness_info info = {.size = sizeof info};
    assert_ok(sinew_stiffness_estimate(rig, &skin, NULL, NULL, stretch, bend, &info, &error));
    assert_true(info.stretch_least < 0.8 && info.bend_least < 0.9);
    assert_close(info.unseen_map, 0, 0);
    for (int y = 0; y < SIDE; y++) { /* the left side is two rings and more from the bump */
        assert_close(stretch[y * SIDE + 1], 1, 1e-6);
        assert_close(bend[y * SIDE + 1], 1, 1e-6);
    }
    sinew_rig_destroy(rig);
}

static sinew_rig *scaled_rig(double scale) {
    sinew_error error = {0};
    sinew_rig *dome = dome_rig(SIDE, TARGETS), *rig;
    sinew_mesh *mesh;
    double positions[3 * COUNT], deltas[3 * COUNT];
    for (int i = 0; i < 3 * COUNT; i++) positions[i] = scale * dome->neutral->positions[i];
    assert_ok(sinew_mesh_create(COUNT, positions, dome->neutral->triangle_count, NULL,
                                dome->neutral->triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int k = 0; k < TARGETS; k++) {
        const sinew_target *t = &dome->targets[k];
        for (int i = 0; i < 3 * t->count; i++) deltas[i] = scale * t->deltas[i];
        assert_ok(sinew_rig_add_target(rig, t->name, t->count, t->vertices, deltas, &error));
    }
    sinew_rig_destroy(dome);
    return rig;
}

static void units_and_threads_change_nothing(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(SIDE, TARGETS), *large = scaled_rig(1000);
    double s[3][COUNT], b[3][COUNT];
    int threads = sinew_threads();
    assert_ok(sinew_stiffness_estimate(rig, NULL, NULL, NULL, s[0], b[0], NULL, &error));
    assert_ok(sinew_stiffness_estimate(large, NULL, NULL, NULL, s[1], b[1], NULL, &error));
    sinew_set_threads(threads > 1 ? 1 : 2);
    assert_ok(sinew_stiffness_estimate(rig, NULL, NULL, NULL, s[2], b[2], NULL, &error));
    sinew_set_threads(threads);
    for (int v = 0; v < COUNT; v++) {
        assert_close(s[1][v] / s[0][v], 1, 1e-4);
        assert_close(b[1][v] / b[0][v], 1, 1e-4);
    }
    assert_memory_equal(s[0], s[2], sizeof s[0]);
    assert_memory_equal(b[0], b[2], sizeof b[0]);
    sinew_rig_destroy(rig), sinew_rig_destroy(large);
}

static void the_store_gives_the_same_maps_and_another_skin_its_own(void **state) {
    (void)state;
    sinew_error error = {0};
    char folder[256];
    snprintf(folder, sizeof folder, "%s/stiffness", test_folder());
    sinew_stiffness_options options;
    sinew_stiffness_options_init(&options);
    assert_ok(sinew_cache_open(folder, 0, &options.cache, &error));
    sinew_rig *rig = dome_rig(SIDE, TARGETS);
    sinew_force_options skin;
    sinew_force_options_init(&skin);
    double s[2][COUNT], b[2][COUNT];
    sinew_stiffness_info info[2] = {{.size = sizeof *info}, {.size = sizeof *info}};
    for (int turn = 0; turn < 2; turn++)
        assert_ok(sinew_stiffness_estimate(rig, &skin, &options, NULL, s[turn], b[turn],
                                           &info[turn], &error));
    assert_false(info[0].from_cache);
    assert_true(info[1].from_cache);
    assert_memory_equal(s[0], s[1], sizeof s[0]);
    assert_memory_equal(b[0], b[1], sizeof b[0]);
    assert_true(info[0].rest_error == info[1].rest_error);
    skin.bend_length *= 1.5;
    assert_ok(sinew_stiffness_estimate(rig, &skin, &options, NULL, s[1], b[1], &info[1], &error));
    assert_false(info[1].from_cache);
    sinew_cache_close(options.cache);
    sinew_rig_destroy(rig);
}

/* ---- bad input, memory, cancelling ----------------------------------------------------------- */

static void bad_input_is_refused(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(7, 2), *empty = dome_rig(7, 0);
    double s[49], b[49], command[2] = {1, NAN}, shape[147] = {0};
    sinew_stiffness_options options;
    sinew_force_options skin;
    sinew_stiffness_options_init(&options);
    sinew_force_options_init(&skin);
    options.prior = 0;
    assert_int_equal(sinew_stiffness_estimate(rig, NULL, &options, NULL, s, b, NULL, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "prior"));
    options.prior = 1;
    sinew_stiffness_example example = {command, shape};
    options.examples = &example;
    assert_int_equal(sinew_stiffness_estimate(rig, NULL, &options, NULL, s, b, NULL, &error),
                     SINEW_BAD_INPUT);
    options.example_count = 1;
    assert_int_equal(sinew_stiffness_estimate(rig, NULL, &options, NULL, s, b, NULL, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "command of target 1"));
    command[1] = 0, shape[30] = INFINITY;
    assert_int_equal(sinew_stiffness_estimate(rig, NULL, &options, NULL, s, b, NULL, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 10"));
    skin.bend_length = -1;
    assert_int_equal(sinew_stiffness_estimate(rig, &skin, NULL, NULL, s, b, NULL, &error),
                     SINEW_BAD_INPUT);
    /* nothing to learn from: factors of 1 */
    sinew_stiffness_info info = {.size = sizeof info};
    assert_ok(sinew_stiffness_estimate(empty, NULL, NULL, NULL, s, b, &info, &error));
    assert_int_equal(info.examples, 0);
    for (int v = 0; v < 49; v++) assert_true(s[v] == 1 && b[v] == 1);
    sinew_rig_destroy(rig), sinew_rig_destroy(empty);
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    sinew_rig *rig = dome_rig(7, 5);
    double s[49], b[49];
    sinew_status status = SINEW_NO_MEMORY;
    for (int allowed = 0; allowed < 2000 && status != SINEW_OK; allowed++) {
        test_memory_limit(allowed);
        status = sinew_stiffness_estimate(rig, NULL, NULL, NULL, s, b, NULL, NULL);
        if (status != SINEW_OK) assert_int_equal(status, SINEW_NO_MEMORY);
        assert_int_equal(test_memory_restore().living, 0);
    }
    assert_int_equal(status, SINEW_OK);
    sinew_rig_destroy(rig);
}

static bool at_once(void *user) {
    ++*(int *)user;
    return true;
}

static void it_can_be_cancelled(void **state) {
    (void)state;
    sinew_rig *rig = dome_rig(7, 5);
    double s[49], b[49];
    int asked = 0;
    sinew_monitor monitor = {.cancelled = at_once, .user = &asked};
    assert_int_equal(sinew_stiffness_estimate(rig, NULL, NULL, &monitor, s, b, NULL, NULL),
                     SINEW_CANCELLED);
    assert_int_equal(asked, 1);
    sinew_rig_destroy(rig);
}

int test_stiffness(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_balance_is_the_distance_of_the_forces),
        cmocka_unit_test(known_stiffness_is_found_again_from_shapes_made_with_it),
        cmocka_unit_test(each_target_is_held_to_what_the_estimate_reports),
        cmocka_unit_test(skin_is_softer_where_shapes_strain_it_and_itself_where_none_does),
        cmocka_unit_test(units_and_threads_change_nothing),
        cmocka_unit_test(the_store_gives_the_same_maps_and_another_skin_its_own),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(it_can_be_cancelled),
    };
    return cmocka_run_group_tests_name("stiffness", tests, NULL, NULL);
}
