/* All solves of a clip with dense truth that none of their rigs holds: what blendforces and the
 * layer are expected to gain over the static fit. */
#include "support.h"

#include "groups.h"
#include "sinew/fit.h"
#include "sinew/force.h"
#include "sinew/rig.h"
#include "sinew/samples.h"

enum { FRAMES = 24, METHODS = 4 };
static const bool none_held[200]; /* the actor also moves the eyes */
typedef enum method { SBS, RSBS, ULS, BLENDFORCES } method;

/* The sample face without every third target (left_out: 0 to 2), or whole (-1). */
static sinew_rig *face_without(const sinew_rig *whole, int left_out) {
    sinew_error error = {0};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_copy(whole->neutral, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int k = 0; k < whole->target_count; k++) {
        const sinew_target *t = &whole->targets[k];
        if (k % 3 != left_out)
            assert_ok(sinew_rig_add_target(rig, t->name, t->count, t->vertices, t->deltas, &error));
    }
    return rig;
}

/* An actor: sliders of the whole rig, and motion of his own, millimetres over the width of a cheek,
 * that no target holds. */
static void act(const sinew_rig *whole, const sinew_linear *linear, int frame, double *x) {
    double *weights = calloc((size_t)whole->slider_count, sizeof *weights);
    for (int k = 0; k < whole->slider_count; k++)
        weights[k] = fmax(0, 0.5 * sin(0.17 * frame + 2.3 * k) - 0.15) * (k % 2 ? 1 : 0.6);
    sinew_linear_evaluate(linear, weights, x);
    for (int v = 0; v < whole->neutral->vertex_count; v++) {
        const double *p = whole->neutral->positions + 3 * v;
        double size = 0.002 * sin(0.2 * frame);
        x[3 * v] += size * sin(40 * p[1] + 1), x[3 * v + 1] += size * cos(50 * p[0]);
    }
    free(weights);
}

/* RMS distance to the truth of what the markers are spread over, bare and with the layer. */
static void solve(const sinew_rig *whole, const sinew_rig *rig, const sinew_marker_map *map,
                  method m, double error_of[2]) {
    sinew_error error = {0};
    size_t n = 3 * (size_t)whole->neutral->vertex_count;
    double *truth = malloc(n * sizeof *truth), *x = malloc(n * sizeof *x);
    double *markers = malloc(3 * sizeof *markers * (size_t)map->count);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    sinew_linear *actor, *linear;
    sinew_fit *fit = NULL;
    sinew_marker_layer *layer;
    sinew_force *force = NULL;
    sinew_force_state *state = NULL;
    assert_ok(sinew_linear_create(whole, &actor, &error));
    assert_ok(sinew_linear_create(rig, &linear, &error));
    assert_ok(sinew_marker_layer_create(rig, map, SINEW_MARKER_LAYER_SMOOTHING, false, NULL, &layer,
                                        &error));
    if (m == BLENDFORCES) {
        sinew_force_options options;
        sinew_force_options_init(&options);
        options.held = none_held;
        assert_ok(sinew_force_create(rig, map, &options, NULL, &force, &error));
        assert_ok(sinew_force_state_create(force, &state, &error));
    } else {
        sinew_fit_options options;
        sinew_fit_options_init(&options);
        sinew_fit_options_set_method(&options, (sinew_fit_method[]){SINEW_FIT_METHOD_SBS,
                                                                    SINEW_FIT_METHOD_RSBS,
                                                                    SINEW_FIT_METHOD_ULS}[m]);
        options.bounded_above = false; /* as published */
        if (m == 2) options.bounded_below = false;
        options.held = none_held;
        assert_ok(sinew_fit_create(rig, map, &options, &fit, &error));
    }
    double sum[2] = {0};
    for (int f = 0; f < FRAMES; f++) {
        act(whole, actor, f, truth);
        sinew_marker_map_points(map, whole->neutral, truth, markers);
        if (fit) {
            assert_ok(sinew_fit_frame(fit, markers, NULL, weights, NULL, &error));
            sinew_linear_evaluate(linear, weights, x);
        } else {
            assert_ok(sinew_force_frame(force, state, markers, NULL, x, NULL, NULL, &error));
        }
        for (int with = 0; with < 2; with++) {
            if (with) assert_ok(sinew_marker_layer_apply(layer, markers, NULL, x, &error));
            for (int v = 0; v < whole->neutral->vertex_count; v++) {
                const double *p = whole->neutral->positions + 3 * v;
                if (p[2] < 0.05 || p[1] > 0.06) continue; /* the front of the face */
                for (int a = 0; a < 3; a++) sum[with] += pow(x[3 * v + a] - truth[3 * v + a], 2);
            }
        }
    }
    error_of[0] = sqrt(sum[0]), error_of[1] = sqrt(sum[1]);
    sinew_fit_destroy(fit);
    sinew_force_state_destroy(state), sinew_force_destroy(force);
    sinew_marker_layer_destroy(layer);
    sinew_linear_destroy(actor), sinew_linear_destroy(linear);
    free(truth), free(x), free(markers), free(weights);
}

static void blendforces_and_the_layer_gain_on_the_static_fit(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    sinew_rig *whole;
    sinew_markers *take;
    sinew_marker_map *map;
    size.vertices = 3000;
    assert_ok(sinew_sample_rig("face", &size, &whole, &error));
    assert_ok(sinew_sample_markers("face", &size, NULL, &take, &map, &error));
    for (int left_out = -1; left_out < 2; left_out++) {
        sinew_rig *rig = face_without(whole, left_out);
        double of[METHODS][2];
        for (int m = 0; m < METHODS; m++) solve(whole, rig, map, (method)m, of[m]);
        for (int m = 0; m < METHODS; m++) assert_below(of[m][1], of[m][0]);
        assert_below(of[BLENDFORCES][0], (left_out < 0 ? 1 : 0.85) * of[SBS][0]);
        assert_below(of[BLENDFORCES][1], (left_out < 0 ? 0.75 : 0.6) * of[SBS][0]);
        sinew_rig_destroy(rig);
    }
    sinew_marker_map_destroy(map);
    sinew_markers_destroy(take);
    sinew_rig_destroy(whole);
}

int test_comparison(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blendforces_and_the_layer_gain_on_the_static_fit),
    };
    return cmocka_run_group_tests_name("comparison", tests, NULL, NULL);
}
