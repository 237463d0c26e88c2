/* Baking a model into in-betweens and combinations. */
#include "groups.h"

#include "rig/bake_samples.h"
#include "rigs.h"
#include "support.h"

#include "sinew/bake.h"
#include "sinew/rotation.h"
#include "sinew/samples.h"

/* ---- a model that the functions can express ----------------------------------------------------
 */

/* Two sliders over four points; the model has a curve along the first and a product of both. */
static sinew_rig *small_rig(void) {
    static const double points[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    static const int faces[] = {0, 1, 2, 0, 2, 3};
    sinew_error error;
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(4, points, 2, NULL, faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    const int first[] = {1, 2}, second[] = {2, 3};
    const double up[] = {0, 0, 1, 0, 0, 1}, aside[] = {0.5, 0, 0, 0.5, 0, 0};
    assert_ok(sinew_rig_add_target(rig, "up", 2, first, up, &error));
    assert_ok(sinew_rig_add_target(rig, "aside", 2, second, aside, &error));
    return rig;
}

static double hat(double u) {
    return u <= 0 || u >= 1 ? 0 : u < 0.5 ? 2 * u : 2 - 2 * u;
}

static sinew_status known_model(const double *w, double *positions, void *user,
                                const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor, (void)error;
    const sinew_rig *rig = user;
    sinew_linear *linear;
    if (sinew_linear_create(rig, &linear, NULL) != SINEW_OK) return SINEW_NO_MEMORY;
    sinew_linear_evaluate(linear, w, positions);
    sinew_linear_destroy(linear);
    positions[3] += 0.25 * hat(w[0]);             /* vertex 1, x */
    positions[7] += 0.125 * w[0] * w[1];          /* vertex 2, y */
    positions[8] += -0.0625 * w[0] * w[0] * w[1]; /* vertex 2, z */
    return SINEW_OK;
}

static void functions_of_the_model_are_found_exactly(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = small_rig(), *baked;
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_targets = 6;
    options.tolerance = 1e-5;
    options.style = SINEW_BAKE_STYLE_INBETWEENS;
    sinew_bake_info info = {.size = sizeof info};
    assert_ok(sinew_bake(rig, &options, known_model, rig, NULL, &baked, &info, &error));
    assert_int_equal(info.inbetweens, 1);
    assert_int_equal(info.combinations, 2);
    assert_below(info.fitted_worst, 1e-5);
    double rows[2 * 30];
    assert_ok(sinew_bake_poses(rig, 5, 30, rows, &error));
    sinew_bake_error before = {.size = sizeof before}, after = {.size = sizeof after};
    assert_ok(sinew_bake_measure(rig, 30, rows, known_model, rig, NULL, &before, &error));
    assert_ok(sinew_bake_measure(baked, 30, rows, known_model, rig, NULL, &after, &error));
    assert_true(before.worst > 0.01);
    assert_below(after.worst, 1e-4);
    /* What the artist made is untouched. */
    assert_int_equal(baked->slider_count, rig->slider_count);
    for (int t = 0; t < rig->target_count; t++) {
        assert_string_equal(baked->targets[t].name, rig->targets[t].name);
        assert_memory_equal(baked->targets[t].deltas, rig->targets[t].deltas,
                            3 * (size_t)rig->targets[t].count * sizeof(double));
    }
    sinew_rig_destroy(rig), sinew_rig_destroy(baked);
}

static void powers_of_a_slider_are_products(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = small_rig();
    const int twice[] = {0, 0, 1}, vertex = 0;
    const double delta[] = {1, 0, 0};
    assert_ok(sinew_rig_add_combination(rig, "p", SINEW_COMBINE_MULTIPLY, 3, twice, 1, &vertex,
                                        delta, &error));
    assert_int_equal(sinew_rig_add_combination(rig, "q", SINEW_COMBINE_LOWEST, 3, twice, 1, &vertex,
                                               delta, &error),
                     SINEW_BAD_INPUT);
    const double weights[] = {0.5, 0.25};
    double activations[3];
    sinew_rig_activations(rig, weights, activations);
    assert_close(activations[2], 0.0625, 1e-15);
    sinew_rig_destroy(rig);
}

/* ---- the rotation-aware blend ------------------------------------------------------------------
 */

typedef struct rotation_model {
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    int calls, cancel_at;
} rotation_model;

static sinew_status blend(const double *weights, double *positions, void *user,
                          const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor, (void)error;
    rotation_model *model = user;
    model->calls++;
    sinew_rotation_evaluate(model->rotation, model->state, weights, positions);
    return SINEW_OK;
}

static sinew_rig *hand_and_model(rotation_model *model) {
    sinew_error error;
    sinew_rig *rig;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = 1000;
    assert_ok(sinew_sample_rig("hand", &options, &rig, &error));
    assert_ok(sinew_rotation_create(rig, NULL, NULL, &model->rotation, &error));
    assert_ok(sinew_rotation_state_create(model->rotation, &model->state, &error));
    return rig;
}

static void release(rotation_model *model, sinew_rig *rig) {
    sinew_rotation_state_destroy(model->state);
    sinew_rotation_destroy(model->rotation);
    sinew_rig_destroy(rig);
}

/* Error of a bake over that of the linear blend, on poses that no bake has seen. */
static double error_left(const sinew_rig *rig, rotation_model *model, int targets,
                         sinew_bake_style style) {
    enum { POSES = 30 };
    sinew_error error;
    sinew_rig *baked;
    double *rows = malloc(sizeof(double) * (size_t)(POSES * rig->slider_count));
    assert_ok(sinew_bake_poses(rig, 77, POSES, rows, &error));
    sinew_bake_error before = {.size = sizeof before}, after = {.size = sizeof after};
    assert_ok(sinew_bake_measure(rig, POSES, rows, blend, model, NULL, &before, &error));
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_targets = targets;
    options.max_samples = 500;
    options.style = style;
    sinew_bake_info info = {.size = sizeof info};
    assert_ok(sinew_bake(rig, &options, blend, model, NULL, &baked, &info, &error));
    assert_true(info.inbetweens + info.combinations <= targets);
    assert_int_equal(baked->target_count, rig->target_count + info.inbetweens + info.combinations);
    assert_ok(sinew_bake_measure(baked, POSES, rows, blend, model, NULL, &after, &error));
    sinew_rig_destroy(baked);
    free(rows);
    return after.mean / before.mean;
}

static void more_correctives_leave_less_of_the_error_on_unseen_poses(void **state) {
    (void)state;
    rotation_model model = {0};
    sinew_rig *rig = hand_and_model(&model);
    assert_below(error_left(rig, &model, 10, SINEW_BAKE_STYLE_POLYNOMIALS), 0.15);
    assert_below(error_left(rig, &model, 40, SINEW_BAKE_STYLE_POLYNOMIALS), 0.05);
    assert_below(error_left(rig, &model, 40, SINEW_BAKE_STYLE_INBETWEENS), 0.2);
    release(&model, rig);
}

/* A slider alone at full weight is what the artist made, whatever the polynomials do between. */
static void full_shapes_stay_as_the_artist_made_them(void **state) {
    (void)state;
    sinew_error error;
    rotation_model model = {0};
    sinew_rig *rig = hand_and_model(&model), *baked;
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_samples = 300;
    assert_ok(sinew_bake(rig, &options, blend, &model, NULL, &baked, NULL, &error));
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *shape = malloc(n * sizeof *shape), *baked_shape = malloc(n * sizeof *shape);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    sinew_linear *linear;
    assert_ok(sinew_linear_create(baked, &linear, &error));
    int polynomials = 0, others = 0;
    const char *first = NULL; /* what the first is named after */
    for (int t = 0; t < baked->target_count; t++)
        if (sinew_rig_target_term_count(baked, t) > 0) {
            const sinew_target *target = &baked->targets[t];
            int named = 0; /* after one of its drivers */
            for (int d = 0; d < target->driver_count; d++) {
                const char *driver = baked->sliders[target->drivers[d]].name;
                const char *at = strchr(target->name, '_');
                named += at && strncmp(at + 1, driver, strlen(driver)) == 0;
            }
            if (named == 0) fail_msg("'%s' is not named after its drivers", target->name);
            if (!first) first = strchr(target->name, '_');
            others += strcmp(strchr(target->name, '_'), first) != 0;
            polynomials++;
        }
    assert_true(polynomials > 10);
    assert_true(others > polynomials / 4);
    for (int s = 0; s < rig->slider_count; s++) {
        weights[s] = 1;
        sinew_rig_shape(rig, s, shape);
        sinew_linear_evaluate(linear, weights, baked_shape);
        for (size_t i = 0; i < n; i++) assert_close(baked_shape[i], shape[i], 1e-8);
        weights[s] = 0;
    }
    sinew_linear_destroy(linear);
    sinew_rig_destroy(baked);
    free(shape), free(baked_shape), free(weights);
    release(&model, rig);
}

static bool stop(void *user) {
    const rotation_model *model = user;
    return model->calls >= model->cancel_at;
}

/* Thirty sliders, two per vertex that move it in opposite directions: expressions use many sliders
 * at once, and never both of a pair. */
static void expressions_do_not_undo_themselves(void **state) {
    (void)state;
    enum { PAIRS = 15, ROWS = 200 };
    sinew_error error;
    double points[3 * PAIRS] = {0}, rows[ROWS * 2 * PAIRS];
    for (int v = 0; v < PAIRS; v++) points[3 * v] = v, points[3 * v + 1] = v % 2;
    const int face[] = {0, 1, 2};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(PAIRS, points, 1, NULL, face, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int s = 0; s < 2 * PAIRS; s++) {
        int vertex = s / 2;
        const double delta[] = {0, 0, s % 2 ? 1 : -1};
        char name[16];
        snprintf(name, sizeof name, "slider%d", s);
        assert_ok(sinew_rig_add_target(rig, name, 1, &vertex, delta, &error));
    }
    assert_ok(sn_bake_crowded_poses(rig, 3, NULL, ROWS, rows, &error));
    int most = 0;
    for (int k = 0; k < ROWS; k++) {
        const double *row = rows + (size_t)k * 2 * PAIRS;
        int active = 0;
        for (int s = 0; s < 2 * PAIRS; s++) {
            assert_true(row[s] >= 0 && row[s] <= 1);
            active += row[s] > 0;
        }
        for (int v = 0; v < PAIRS; v++) assert_true(row[2 * v] == 0 || row[2 * v + 1] == 0);
        most = active > most ? active : most;
    }
    assert_true(most >= 10);
    sinew_rig_destroy(rig);
}

static void baking_can_be_cancelled(void **state) {
    (void)state;
    sinew_error error;
    rotation_model model = {.cancel_at = 20};
    sinew_rig *rig = hand_and_model(&model), *baked;
    const sinew_monitor monitor = {.cancelled = stop, .user = &model};
    assert_int_equal(sinew_bake(rig, NULL, blend, &model, &monitor, &baked, NULL, &error),
                     SINEW_CANCELLED);
    assert_null(baked);
    assert_int_equal(model.calls, 20);
    release(&model, rig);
}

enum { MANY = 26 };

/* Linear, and the whole mesh tilts a little with every pair of sliders that acts. */
static sinew_status tilting_model(const double *weights, double *positions, void *user,
                                  const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor;
    const sinew_rig *rig = user;
    sinew_linear *linear;
    sinew_status status = sinew_linear_create(rig, &linear, error);
    if (status != SINEW_OK) return status;
    sinew_linear_evaluate(linear, weights, positions);
    sinew_linear_destroy(linear);
    double sum = 0, squares = 0;
    for (int s = 0; s < MANY; s++) sum += weights[s], squares += weights[s] * weights[s];
    for (int v = 0; v < rig->neutral->vertex_count; v++)
        positions[3 * v + 1] += 0.01 * (sum * sum - squares) * positions[3 * v];
    return SINEW_OK;
}

/* Slider s of this face moves vertices s and s + 1: of its pairs, few share any. All but the first
 * `moving` sliders move nothing. */
static sinew_rig *many_sliders(int moving) {
    sinew_error error;
    double points[3 * (MANY + 1)] = {0};
    int faces[3 * (MANY - 1)];
    for (int v = 0; v <= MANY; v++) points[3 * v] = v, points[3 * v + 1] = v % 2;
    for (int k = 0; k < 3 * (MANY - 1); k++) faces[k] = k / 3 + k % 3;
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(MANY + 1, points, MANY - 1, NULL, faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int s = 0; s < MANY; s++) {
        char name[8];
        const int vertices[] = {s, s + 1};
        const double deltas[] = {0, 0, 0.1, 0, 0, 0.1};
        snprintf(name, sizeof name, "s%d", s);
        assert_ok(sinew_rig_add_target(rig, name, s < moving ? 2 : 0, vertices, deltas, &error));
    }
    return rig;
}

static void pairs_that_share_nothing_add_up(void **state) {
    (void)state;
    enum { POSES = 20 };
    sinew_error error;
    sinew_rig *rig = many_sliders(MANY), *baked;
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_targets = 3;
    options.max_samples = 600;
    assert_ok(sinew_bake(rig, &options, tilting_model, rig, NULL, &baked, NULL, &error));
    double rows[POSES * MANY];
    for (int k = 0; k < POSES * MANY; k++) rows[k] = 0.5 + 0.5 * sin(7.3 * k);
    sinew_bake_error before = {.size = sizeof before}, after = {.size = sizeof after};
    assert_ok(sinew_bake_measure(rig, POSES, rows, tilting_model, rig, NULL, &before, &error));
    assert_ok(sinew_bake_measure(baked, POSES, rows, tilting_model, rig, NULL, &after, &error));
    assert_below(after.mean / before.mean, 0.05);
    sinew_rig_destroy(baked), sinew_rig_destroy(rig);
}

/* As above, and every slider bends on its way. */
static sinew_status bending_model(const double *weights, double *positions, void *user,
                                  const sinew_monitor *monitor, sinew_error *error) {
    sinew_status status = tilting_model(weights, positions, user, monitor, error);
    for (int s = 0; s < MANY; s++)
        positions[3 * s] += 0.1 * weights[s] * (1 - weights[s]) * (1 + weights[s]);
    return status;
}

/* Thirty-four samples cannot tell forty shapes apart: there are fewer targets then, and no empty
 * one. */
static void few_samples_give_few_targets(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = many_sliders(3), *baked;
    sinew_bake_options options;
    sinew_bake_info info = {.size = sizeof info};
    sinew_bake_options_init(&options);
    options.max_targets = 40;
    options.max_samples = 34;
    options.tolerance = 0.002;
    assert_ok(sinew_bake(rig, &options, bending_model, rig, NULL, &baked, &info, &error));
    assert_int_equal(info.samples, 34);
    assert_true(info.combinations >= 20 && info.combinations <= 34);
    for (int t = rig->target_count; t < baked->target_count; t++)
        assert_true(sinew_rig_target_term_count(baked, t) > 0);
    sinew_rig_destroy(baked), sinew_rig_destroy(rig);
}

static sinew_bake_style bake_style;

static sinew_status bake_small(void *user) {
    sinew_rig *baked;
    sinew_error error;
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_samples = 14;
    options.max_targets = 4;
    options.style = bake_style;
    sinew_status status = sinew_bake(user, &options, known_model, user, NULL, &baked, NULL, &error);
    if (status == SINEW_OK) sinew_rig_destroy(baked);
    return status;
}

static void baking_survives_without_memory(void **state) {
    (void)state;
    sinew_rig *rig = small_rig();
    for (int style = 0; style < 2; style++) {
        bake_style = (sinew_bake_style)style;
        assert_true(test_out_of_memory(bake_small, rig) > 10);
    }
    sinew_rig_destroy(rig);
}

/* ---- contact --------------------------------------------------------------------------------- */

/* Two lids, a sheet above another that tilts so that the two cross where they meet. No vertex is
 * moved by both sliders. */
static sinew_rig *lids(void) {
    static const double points[] = {0, 1,    0, 1, 1, 0,   1, 1, 1,    0, 1,    1,
                                    0, -0.5, 0, 1, 0, 0.1, 1, 0, 0.95, 0, -0.5, 0.9};
    static const int faces[] = {0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7};
    static const int upper[] = {0, 1, 2, 3}, lower[] = {4, 5, 6, 7};
    static const double down[] = {0, -0.6, 0, 0, -0.6, 0, 0, -0.6, 0, 0, -0.6, 0};
    static const double up[] = {0, 0.6, 0, 0, 0.6, 0, 0, 0.6, 0, 0, 0.6, 0};
    sinew_error error;
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(8, points, 4, NULL, faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_target(rig, "close", 4, upper, down, &error));
    assert_ok(sinew_rig_add_target(rig, "squint", 4, lower, up, &error));
    return rig;
}

/* The lids stop each other half-way. */
static sinew_status touching_model(const double *w, double *positions, void *user,
                                   const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor, (void)error;
    sinew_linear *linear;
    if (sinew_linear_create(user, &linear, NULL) != SINEW_OK) return SINEW_NO_MEMORY;
    sinew_linear_evaluate(linear, w, positions);
    sinew_linear_destroy(linear);
    double depth = 0.6 * (w[0] + w[1]) - 1;
    for (size_t v = 0; depth > 0 && v < 8; v++)
        positions[3 * v + 1] += (v < 4 ? 0.5 : -0.5) * depth;
    return SINEW_OK;
}

static double left_by_a_bake(bool self_contact) {
    static const double rows[] = {0.9, 0.9, 1, 0.6, 0.6, 1, 0.8, 0.95, 0.4, 0.5, 0.9, 0.3};
    sinew_error error;
    sinew_rig *rig = lids(), *baked;
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_samples = 60;
    options.max_targets = 8;
    options.self_contact = self_contact;
    sinew_bake_error before = {.size = sizeof before}, after = {.size = sizeof after};
    assert_ok(sinew_bake(rig, &options, touching_model, rig, NULL, &baked, NULL, &error));
    assert_ok(sinew_bake_measure(rig, 6, rows, touching_model, rig, NULL, &before, &error));
    assert_ok(sinew_bake_measure(baked, 6, rows, touching_model, rig, NULL, &after, &error));
    sinew_rig_destroy(rig), sinew_rig_destroy(baked);
    return after.mean / before.mean;
}

static void sliders_that_only_meet_are_sampled_together(void **state) {
    (void)state;
    assert_true(left_by_a_bake(false) > 0.9);
    assert_below(left_by_a_bake(true), 0.15);
}

/* As above with a third slider, which lowers the upper lid too, and with a gap that is kept. */
static sinew_status parting_model(const double *w, double *positions, void *user,
                                  const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor, (void)error;
    sinew_linear *linear;
    if (sinew_linear_create(user, &linear, NULL) != SINEW_OK) return SINEW_NO_MEMORY;
    sinew_linear_evaluate(linear, w, positions);
    sinew_linear_destroy(linear);
    double depth = 0.6 * (w[0] + w[1]) + 0.3 * w[2] - 0.99;
    for (size_t v = 0; depth > 0 && v < 8; v++)
        positions[3 * v + 1] += (v < 4 ? 0.5 : -0.5) * depth;
    return SINEW_OK;
}

/* Any two of the three sliders meet, and all of them at once, of which there are few samples. */
static void baked_lids_do_not_cross(void **state) {
    (void)state;
    sinew_error error;
    static const int upper[] = {0, 1, 2, 3};
    static const double look[] = {0, -0.3, 0, 0, -0.3, 0, 0, -0.3, 0, 0, -0.3, 0};
    for (int style = 0; style < 2; style++) {
        sinew_rig *rig = lids(), *baked;
        assert_ok(sinew_rig_add_target(rig, "look", 4, upper, look, &error));
        sinew_bake_options options;
        sinew_bake_options_init(&options);
        options.max_samples = 120;
        options.max_targets = 12;
        options.self_contact = true;
        options.style = (sinew_bake_style)style;
        assert_ok(sinew_bake(rig, &options, parting_model, rig, NULL, &baked, NULL, &error));
        int hinges = 0, linear_crossings = 0;
        for (int t = rig->target_count; t < baked->target_count; t++)
            hinges += baked->targets[t].combine == SINEW_COMBINE_HINGE;
        assert_int_equal(hinges, 1);
        for (int k = 0; k < 1000; k++) {
            const double w[] = {0.1 * (k % 10 + 1), 0.1 * (k / 10 % 10 + 1),
                                0.1 * (k / 100 % 10 + 1)};
            linear_crossings += count_crossings(rig, w) > 0;
            assert_int_equal(count_crossings(baked, w), 0);
        }
        assert_true(linear_crossings > 100);
        for (int s = 0; s < 3; s++) { /* alone, the shapes stay those of the artist */
            double w[3] = {0}, a[16];
            w[s] = 1;
            sinew_rig_activations(baked, w, a);
            for (int t = rig->target_count; t < baked->target_count; t++)
                if (baked->targets[t].combine == SINEW_COMBINE_HINGE) assert_true(a[t] == 0);
        }
        sinew_rig_destroy(rig), sinew_rig_destroy(baked);
    }
}

/* A model that can be asked without contact. */
typedef struct asked {
    const sinew_rig *rig;
    int with, without;
} asked;

static sinew_status with_contact(const double *w, double *positions, void *user,
                                 const sinew_monitor *monitor, sinew_error *error) {
    asked *a = user;
    a->with++;
    return touching_model(w, positions, (void *)a->rig, monitor, error);
}

static sinew_status without_contact(const double *w, double *positions, void *user,
                                    const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor, (void)error;
    asked *a = user;
    a->without++;
    sinew_linear *linear;
    if (sinew_linear_create(a->rig, &linear, NULL) != SINEW_OK) return SINEW_NO_MEMORY;
    sinew_linear_evaluate(linear, w, positions);
    sinew_linear_destroy(linear);
    return SINEW_OK;
}

/* Where surfaces do not meet, and beyond the limit, only the cheap model is asked; the bake is as
 * good as one that asks for contact everywhere. */
static void contact_is_asked_for_only_where_surfaces_meet(void **state) {
    (void)state;
    static const double rows[] = {0.9, 0.9, 1, 0.6, 0.6, 1, 0.8, 0.95, 0.4, 0.5, 0.9, 0.3};
    static const int limits[] = {0, 10, 600};
    for (int k = 0; k < 3; k++) {
        sinew_error error;
        sinew_rig *rig = lids(), *baked;
        asked a = {.rig = rig};
        sinew_bake_options options;
        sinew_bake_info info = {.size = sizeof info};
        sinew_bake_options_init(&options);
        options.max_samples = 60;
        options.max_targets = 8;
        options.self_contact = true;
        options.without_contact = without_contact, options.without_contact_user = &a;
        options.max_contact_samples = limits[k];
        assert_ok(sinew_bake(rig, &options, with_contact, &a, NULL, &baked, &info, &error));
        assert_int_equal(a.without, info.samples);
        assert_true(a.with <= limits[k] && 100 * a.with <= 65 * info.samples);
        sinew_bake_error before = {.size = sizeof before}, after = {.size = sizeof after};
        assert_ok(sinew_bake_measure(rig, 6, rows, touching_model, rig, NULL, &before, &error));
        assert_ok(sinew_bake_measure(baked, 6, rows, touching_model, rig, NULL, &after, &error));
        if (limits[k] > 0)
            assert_below(after.mean / before.mean, 0.05);
        else
            assert_int_equal(baked->target_count, rig->target_count);
        sinew_rig_destroy(rig), sinew_rig_destroy(baked);
    }
    sinew_error error;
    sinew_rig *rig = lids(), *baked;
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.without_contact = touching_model, options.without_contact_user = rig;
    assert_int_equal(sinew_bake(rig, &options, touching_model, rig, NULL, &baked, NULL, &error),
                     SINEW_MISUSE);
    sinew_rig_destroy(rig);
}

/* A needle of the lower lid sticks in the upper one at rest. Models leave such pieces out of
 * contact, so there is nothing to sample. */
static void embedded_pieces_do_not_meet(void **state) {
    (void)state;
    sinew_error error;
    for (int needle = 0; needle < 2; needle++) {
        sinew_rig *plain = lids(), *rig, *baked;
        const sinew_mesh *mesh = plain->neutral;
        double points[30] = {[24] = 0.6, 1.1, 0.4, 0.6, 1.1, 0.42};
        int faces[15] = {[12] = 5, 8, 9};
        memcpy(points, mesh->positions, 24 * sizeof *points);
        memcpy(faces, mesh->triangles, 12 * sizeof *faces);
        sinew_mesh *more;
        assert_ok(
            sinew_mesh_create(needle ? 10 : 8, points, needle ? 5 : 4, NULL, faces, &more, &error));
        assert_ok(sinew_rig_create(more, &rig, &error));
        for (int t = 0; t < 2; t++) {
            const sinew_target *target = &plain->targets[t];
            assert_ok(sinew_rig_add_target(rig, target->name, target->count, target->vertices,
                                           target->deltas, &error));
        }
        sinew_bake_options options;
        sinew_bake_options_init(&options);
        options.max_samples = 60;
        options.max_targets = 8;
        options.self_contact = true;
        asked a = {.rig = rig};
        options.without_contact = without_contact, options.without_contact_user = &a;
        assert_ok(sinew_bake(rig, &options, with_contact, &a, NULL, &baked, NULL, &error));
        assert_int_equal(a.with > 0, !needle);
        sinew_rig_destroy(plain), sinew_rig_destroy(rig), sinew_rig_destroy(baked);
    }
}

static sinew_status bake_lids(void *user) {
    sinew_error error;
    sinew_rig *baked;
    sinew_bake_options options;
    sinew_bake_options_init(&options);
    options.max_samples = 30;
    options.max_targets = 4;
    options.self_contact = true;
    options.style = bake_style;
    sinew_status status =
        sinew_bake(user, &options, touching_model, user, NULL, &baked, NULL, &error);
    if (status == SINEW_OK) sinew_rig_destroy(baked);
    return status;
}

static void meeting_sliders_are_found_without_memory_or_not_at_all(void **state) {
    (void)state;
    sinew_rig *rig = lids();
    for (int style = 0; style < 2; style++) {
        bake_style = (sinew_bake_style)style;
        assert_true(test_out_of_memory(bake_lids, rig) > 10);
    }
    sinew_rig_destroy(rig);
}

/* Half of the vertices rest; of the others, 8 per cent are a tenth of the diagonal off, and the
 * rest a thousandth. */
static sinew_status uneven_model(const double *w, double *positions, void *user,
                                 const sinew_monitor *monitor, sinew_error *error) {
    (void)w, (void)monitor, (void)error;
    const sinew_mesh *mesh = ((const sinew_rig *)user)->neutral;
    double diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    memcpy(positions, mesh->positions, sizeof(double[3]) * (size_t)mesh->vertex_count);
    for (int v = 0; v < mesh->vertex_count / 2; v++)
        positions[3 * v + 1] += (v % 25 < 2 ? 0.1 : 0.001) * diagonal;
    return SINEW_OK;
}

static void measured_errors_are_those_of_the_vertices(void **state) {
    (void)state;
    sinew_error error;
    double points[3 * 200];
    int start[201] = {0}, faces[3 * 198];
    for (int v = 0; v < 200; v++)
        points[3 * v] = v, points[3 * v + 1] = v % 2, points[3 * v + 2] = 0;
    for (int f = 0; f < 198; f++)
        for (int k = 0; k < 3; k++) faces[3 * f + k] = f + k, start[f + 1] = 3 * (f + 1);
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(200, points, 198, start, faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    const int vertex = 0;
    const double up[] = {0, 0, 1}, row = 0;
    assert_ok(sinew_rig_add_target(rig, "up", 1, &vertex, up, &error));
    sinew_bake_error found = {.size = sizeof found};
    assert_ok(sinew_bake_measure(rig, 1, &row, uneven_model, rig, NULL, &found, &error));
    assert_int_equal(found.poses, 1);
    assert_close(found.worst, 0.1, 1e-9);
    assert_close(found.mean, 0.5 * (0.08 * 0.1 + 0.92 * 0.001), 1e-9);
    assert_close(found.rms, sqrt(0.5 * (0.08 * 0.01 + 0.92 * 1e-6)), 1e-9);
    assert_close(found.p95, 0.1,
                 0.1 * 0.005); /* of those that move; over all it were a thousandth */
    sinew_rig_destroy(rig);
}

int test_bake(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_the_model_are_found_exactly),
        cmocka_unit_test(powers_of_a_slider_are_products),
        cmocka_unit_test(measured_errors_are_those_of_the_vertices),
        cmocka_unit_test(more_correctives_leave_less_of_the_error_on_unseen_poses),
        cmocka_unit_test(full_shapes_stay_as_the_artist_made_them),
        cmocka_unit_test(expressions_do_not_undo_themselves),
        cmocka_unit_test(pairs_that_share_nothing_add_up),
        cmocka_unit_test(few_samples_give_few_targets),
        cmocka_unit_test(baking_can_be_cancelled),
        cmocka_unit_test(baking_survives_without_memory),
        cmocka_unit_test(sliders_that_only_meet_are_sampled_together),
        cmocka_unit_test(contact_is_asked_for_only_where_surfaces_meet),
        cmocka_unit_test(embedded_pieces_do_not_meet),
        cmocka_unit_test(baked_lids_do_not_cross),
        cmocka_unit_test(meeting_sliders_are_found_without_memory_or_not_at_all),
    };
    return cmocka_run_group_tests_name("bake", tests, NULL, NULL);
}
