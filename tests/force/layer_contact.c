/* The default contact of the marker layer, on a head with eyes, sockets, mouth bag, teeth, and thin
 * shells over the lids as production heads have them: lashes, tear lines, occlusion shells. */
#include "support.h"

#include "dome.h"
#include "groups.h"
#include "sinew/anatomy.h"
#include "sinew/marker_layer.h"
#include "sinew/query.h"
#include "sinew/samples.h"
#include "sinew/skin_contact.h"

enum { VERTICES = 5000 };
#define OFF 0.0006 /* m that the shells lie above the skin */

/* normals[3n], by area. */
static void vertex_normals(const sinew_mesh *mesh, double *normals) {
    memset(normals, 0, 3 * sizeof(double) * (size_t)mesh->vertex_count);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        double e[2][3], n[3];
        for (int k = 0; k < 2; k++)
            for (int a = 0; a < 3; a++)
                e[k][a] = mesh->positions[3 * v[k + 1] + a] - mesh->positions[3 * v[0] + a];
        for (int a = 0; a < 3; a++)
            n[a] = e[0][(a + 1) % 3] * e[1][(a + 2) % 3] - e[0][(a + 2) % 3] * e[1][(a + 1) % 3];
        for (int c = 0; c < 3; c++)
            for (int a = 0; a < 3; a++) normals[3 * v[c] + a] += n[a];
    }
    for (int v = 0; v < mesh->vertex_count; v++) {
        double *n = normals + 3 * (size_t)v, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int a = 0; a < 3 && length > 0; a++) n[a] /= length;
    }
}

/* The sample face with a second layer of triangles over its lids, which all targets move alike. The
 * triangles of the face come first, so that maps of markers hold. */
static sinew_rig *face_with_shells(const sinew_rig *face) {
    sinew_error error = {0};
    const sinew_mesh *mesh = face->neutral;
    sinew_anatomy *anatomy;
    int *lids, lid_count, n = mesh->vertex_count, added = 0, triangles = mesh->triangle_count;
    assert_ok(sinew_anatomy_create(face, NULL, &anatomy, &error));
    assert_ok(sinew_anatomy_region(anatomy, "lids", &lids, &lid_count, &error));
    assert_true(lid_count > 20);
    int *copy = malloc(sizeof(int) * (size_t)n),
        *corner = malloc(6 * sizeof(int) * (size_t)triangles);
    double *x = malloc(6 * sizeof(double) * (size_t)n),
           *normals = malloc(3 * sizeof(double) * (size_t)n);
    for (int v = 0; v < n; v++) copy[v] = -1;
    vertex_normals(mesh, normals);
    memcpy(x, mesh->positions, 3 * sizeof(double) * (size_t)n);
    memcpy(corner, mesh->triangles, 3 * sizeof(int) * (size_t)triangles);
    for (int i = 0; i < lid_count; i++)
        if (sinew_anatomy_skin(anatomy)[lids[i]]) copy[lids[i]] = 0;
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (copy[v[0]] < 0 || copy[v[1]] < 0 || copy[v[2]] < 0) continue;
        for (int c = 0; c < 3; c++) {
            if (copy[v[c]] == 0) {
                copy[v[c]] = n + added++;
                for (int a = 0; a < 3; a++)
                    x[3 * copy[v[c]] + a] = x[3 * v[c] + a] + OFF * normals[3 * v[c] + a];
            }
            corner[3 * triangles + c] = copy[v[c]];
        }
        triangles++;
    }
    assert_true(triangles > mesh->triangle_count + 20);
    sinew_mesh *made;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(n + added, x, triangles, NULL, corner, &made, &error));
    assert_ok(sinew_rig_create(made, &rig, &error));
    for (int k = 0; k < face->target_count; k++) {
        const sinew_target *t = &face->targets[k];
        int *vertices = malloc(2 * sizeof(int) * (size_t)(t->count + 1)), count = t->count;
        double *deltas = malloc(6 * sizeof(double) * (size_t)(t->count + 1));
        memcpy(vertices, t->vertices, sizeof(int) * (size_t)count);
        memcpy(deltas, t->deltas, 3 * sizeof(double) * (size_t)count);
        for (int i = 0; i < t->count; i++) {
            if (copy[t->vertices[i]] < n) continue;
            vertices[count] = copy[t->vertices[i]];
            memcpy(deltas + 3 * (size_t)count++, t->deltas + 3 * (size_t)i, 3 * sizeof(double));
        }
        assert_ok(sinew_rig_add_target(rig, t->name, count, vertices, deltas, &error));
        free(vertices), free(deltas);
    }
    free(copy), free(corner), free(x), free(normals);
    sinew_free(lids);
    sinew_anatomy_destroy(anatomy);
    return rig;
}

typedef struct setup {
    sinew_rig *face, *rig;
    sinew_markers *take;
    sinew_marker_map *map;
    double *x, *bare, *markers;
} setup;

static setup make(void) {
    sinew_error error = {0};
    setup s = {0};
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = VERTICES;
    assert_ok(sinew_sample_rig("face", &size, &s.face, &error));
    assert_ok(sinew_sample_markers("face", &size, NULL, &s.take, &s.map, &error));
    s.rig = face_with_shells(s.face);
    size_t n = 3 * (size_t)s.rig->neutral->vertex_count;
    s.x = malloc(n * sizeof(double)), s.bare = malloc(n * sizeof(double));
    s.markers = malloc(3 * sizeof(double) * (size_t)s.map->count);
    return s;
}

static void release(setup *s) {
    free(s->x), free(s->bare), free(s->markers);
    sinew_markers_destroy(s->take), sinew_marker_map_destroy(s->map);
    sinew_rig_destroy(s->face), sinew_rig_destroy(s->rig);
}

/* Markers pulled anywhere, by up to 4 mm, also into the eyes and through each other. */
static void the_layer_adds_no_crossing_to_a_head_with_shells(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    size_t bytes = 3 * sizeof(double) * (size_t)s.rig->neutral->vertex_count;
    assert_int_equal(crossings(s.rig, s.rig->neutral->positions), 0);
    unsigned seed = 1;
    int loose = 0;
    double met = 0;
    for (int hold = 0; hold < 2; hold++) {
        sinew_marker_layer *layer;
        assert_ok(sinew_marker_layer_create(s.rig, s.map, SINEW_MARKER_LAYER_SMOOTHING, hold, NULL,
                                            &layer, &error));
        for (int f = 0; f < 6; f++) {
            memcpy(s.x, s.rig->neutral->positions, bytes);
            sinew_marker_map_points(s.map, s.rig->neutral, s.x, s.markers);
            for (int i = 0; i < 3 * s.map->count; i++) {
                seed = 1664525u * seed + 1013904223u;
                s.markers[i] += 0.004 * ((double)(seed >> 8) / (1 << 23) - 1);
            }
            assert_ok(sinew_marker_layer_follow(layer, f ? 1 / 30.0 : INFINITY, s.markers, NULL,
                                                s.x, &error));
            int found = crossings(s.rig, s.x);
            if (hold) {
                assert_int_equal(found, 0);
                for (size_t i = 0; i < bytes / sizeof(double); i++)
                    met = fmax(met, fabs(s.x[i] - s.rig->neutral->positions[i]));
            } else {
                loose += found;
            }
        }
        sinew_marker_layer_destroy(layer);
    }
    assert_true(loose > 0);   /* without contact it would cross */
    assert_true(met > 0.002); /* with contact it still moves */
    release(&s);
}

/* All markers drift sideways by 5 mm: the skin follows, the shells over the lids stay with the
 * eyeballs, and nothing jumps. */
static void lids_and_shells_stay_with_the_eyes(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    enum { FRAMES = 8 };
    int first = s.face->neutral->vertex_count, n = s.rig->neutral->vertex_count;
    double *last[2] = {malloc(3 * sizeof(double) * (size_t)n),
                       malloc(3 * sizeof(double) * (size_t)n)};
    double skin = 0, shells = 0, jump = 0;
    sinew_marker_layer *layer;
    assert_ok(sinew_marker_layer_create(s.rig, s.map, SINEW_MARKER_LAYER_SMOOTHING, true, NULL,
                                        &layer, &error));
    for (int f = 0; f < FRAMES; f++) {
        memcpy(s.x, s.rig->neutral->positions, 3 * sizeof(double) * (size_t)n);
        sinew_marker_map_points(s.map, s.rig->neutral, s.x, s.markers);
        for (int i = 0; i < s.map->count; i++) s.markers[3 * i] += 0.005 * f / (FRAMES - 1);
        assert_ok(sinew_marker_layer_follow(layer, f ? 1 / 30.0 : INFINITY, s.markers, NULL, s.x,
                                            &error));
        assert_int_equal(crossings(s.rig, s.x), 0);
        for (int i = 0; i < 3 * n; i++) {
            double moved = fabs(s.x[i] - s.rig->neutral->positions[i]);
            if (i / 3 >= first) shells = fmax(shells, moved);
            skin = fmax(skin, moved);
            if (f > 1) jump = fmax(jump, fabs(s.x[i] - 2 * last[0][i] + last[1][i]));
            last[1][i] = last[0][i], last[0][i] = s.x[i];
        }
    }
    assert_true(skin > 0.0045);
    assert_below(shells, 0.0015);
    assert_below(jump, 0.0005);
    sinew_marker_layer_destroy(layer);
    free(last[0]), free(last[1]);
    release(&s);
}

/* A frame in which everything lies in a hundred-thousandth of its size: the search for near pairs
 * gives up. The frame is left as it is, and the take goes on. */
static void a_frame_with_too_much_close_together_ends_no_take(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    size_t n = 3 * (size_t)s.rig->neutral->vertex_count;
    static const double scale[] = {1, 1e-5, 1};
    sinew_marker_layer *layer;
    assert_ok(sinew_marker_layer_create(s.rig, s.map, SINEW_MARKER_LAYER_SMOOTHING, true, NULL,
                                        &layer, &error));
    for (size_t f = 0; f < sizeof scale / sizeof *scale; f++) {
        for (size_t i = 0; i < n; i++) s.bare[i] = scale[f] * s.rig->neutral->positions[i];
        memcpy(s.x, s.bare, n * sizeof(double));
        sinew_marker_map_points(s.map, s.rig->neutral, s.x, s.markers);
        assert_ok(sinew_marker_layer_follow(layer, f ? 1 / 30.0 : INFINITY, s.markers, NULL, s.x,
                                            &error));
        sinew_marker_layer_info info = {.size = sizeof info};
        sinew_marker_layer_get_info(layer, &info);
        if (scale[f] < 1)
            assert_true(info.released > 0);
        else
            for (size_t i = 0; i < n; i++) assert_close(s.x[i], s.bare[i], 1e-6);
    }
    sinew_marker_layer_destroy(layer);
    release(&s);
}

/* The largest angle in degrees by which a triangle of the outer skin is turned. */
static double most_turned(const sinew_rig *rig, const bool *skin, const double *from,
                          const double *to) {
    double most = 0;
    for (int t = 0; t < rig->neutral->triangle_count; t++) {
        const int *v = rig->neutral->triangles + 3 * (size_t)t;
        const double *shape[2] = {from, to};
        double n[2][3], dot = 0, square[2] = {0, 0};
        if (!skin[v[0]] || !skin[v[1]] || !skin[v[2]]) continue;
        for (int k = 0; k < 2; k++) {
            double e[2][3];
            for (int j = 0; j < 2; j++)
                for (int a = 0; a < 3; a++)
                    e[j][a] = shape[k][3 * v[j + 1] + a] - shape[k][3 * v[0] + a];
            for (int a = 0; a < 3; a++) {
                int b = (a + 1) % 3, c = (a + 2) % 3;
                n[k][a] = e[0][b] * e[1][c] - e[0][c] * e[1][b];
                square[k] += n[k][a] * n[k][a];
            }
        }
        for (int a = 0; a < 3; a++) dot += n[0][a] * n[1][a] / sqrt(square[0] * square[1]);
        most = fmax(most, acos(fmin(fmax(dot, -1), 1)) * 180 / 3.14159265);
    }
    return most;
}

enum { PULLS = 6 };

/* Frames of a take in which every marker is pulled anywhere by up to `size`, or, with `together`,
 * all alike. */
static void pull_markers(const setup *s, double size, bool together, double *markers) {
    uint64_t seed = 5;
    for (int f = 0; f < PULLS; f++) {
        double *row = markers + 3 * (size_t)f * (size_t)s->map->count, way[3];
        sinew_marker_map_points(s->map, s->face->neutral, s->face->neutral->positions, row);
        for (int i = 0; i < 3 * s->map->count; i++) {
            if (!together || i < 3) way[i % 3] = size * test_random(&seed);
            row[i] += way[i % 3];
        }
    }
}

/* The largest turn in the frames, with the trust in each marker. */
static double turn_of_layer(const setup *s, const bool *skin, bool contact, const double *markers,
                            const double *trust) {
    sinew_error error = {0};
    sinew_marker_layer *layer;
    const sinew_mesh *mesh = s->face->neutral;
    double most = 0;
    assert_ok(sinew_marker_layer_create(s->face, s->map, SINEW_MARKER_LAYER_SMOOTHING, contact,
                                        NULL, &layer, &error));
    assert_ok(sinew_marker_layer_set_trust(layer, trust, &error));
    for (int f = 0; f < PULLS; f++) {
        memcpy(s->x, mesh->positions, 3 * sizeof(double) * (size_t)mesh->vertex_count);
        assert_ok(
            sinew_marker_layer_apply(layer, markers + 3 * f * s->map->count, NULL, s->x, &error));
        most = fmax(most, most_turned(s->face, skin, mesh->positions, s->x));
    }
    sinew_marker_layer_destroy(layer);
    return most;
}

static void markers_that_would_fold_the_skin_are_met_less_closely(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    const sinew_mesh *mesh = s.face->neutral;
    size_t n = 3 * (size_t)mesh->vertex_count, m = (size_t)s.map->count;
    double *markers = malloc(3 * sizeof(double) * m * PULLS), *trust = malloc(m * sizeof(double));
    double *shapes = malloc(n * sizeof(double) * PULLS);
    sinew_anatomy *anatomy;
    assert_ok(sinew_anatomy_create(s.face, NULL, &anatomy, &error));
    const bool *skin = sinew_anatomy_skin(anatomy);
    for (int f = 0; f < PULLS; f++)
        memcpy(shapes + n * (size_t)f, mesh->positions, n * sizeof(double));
    for (int contact = 0; contact < 2; contact++) {
        pull_markers(&s, 0.006, false, markers);
        assert_true(turn_of_layer(&s, skin, contact, markers, NULL) > 45);
        assert_ok(sinew_marker_layer_limit(s.face, s.map, SINEW_MARKER_LAYER_SMOOTHING, contact,
                                           PULLS, markers, NULL, shapes, NULL, trust, &error));
        assert_below(turn_of_layer(&s, skin, contact, markers, trust), contact ? 40 : 31);
        /* what bends the skin gently is met as before */
        pull_markers(&s, 0.0005, true, markers);
        assert_ok(sinew_marker_layer_limit(s.face, s.map, SINEW_MARKER_LAYER_SMOOTHING, contact,
                                           PULLS, markers, NULL, shapes, NULL, trust, &error));
        for (size_t i = 0; i < m; i++) assert_true(trust[i] == 1);
    }
    trust[0] = 1.5;
    sinew_marker_layer *layer;
    assert_ok(sinew_marker_layer_create(s.face, s.map, SINEW_MARKER_LAYER_SMOOTHING, false, NULL,
                                        &layer, &error));
    assert_int_equal(sinew_marker_layer_set_trust(layer, trust, &error), SINEW_BAD_INPUT);
    sinew_marker_layer_destroy(layer);
    sinew_anatomy_destroy(anatomy);
    free(markers), free(trust), free(shapes);
    release(&s);
}

/* Markers pull in one direction anywhere in expressions of the mouth. What keeps lips from being
 * pressed through what lies below them leaves no fold at their edges. */
static void thin_skin_does_not_fold_where_it_is_held_back(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    const sinew_mesh *mesh = s.face->neutral;
    sinew_linear *linear;
    sinew_anatomy *anatomy;
    uint64_t seed = 9;
    double most[2] = {0, 0}, way[3];
    double *weights = calloc((size_t)s.face->slider_count, sizeof *weights);
    assert_ok(sinew_linear_create(s.face, &linear, &error));
    assert_ok(sinew_anatomy_create(s.face, NULL, &anatomy, &error));
    int *lips, lip_count;
    assert_ok(sinew_anatomy_region(anatomy, "lips", &lips, &lip_count, &error));
    bool *lip = calloc((size_t)mesh->vertex_count, sizeof *lip);
    for (int i = 0; i < lip_count; i++) lip[lips[i]] = sinew_anatomy_skin(anatomy)[lips[i]];
    for (int hold = 0; hold < 2; hold++) {
        sinew_marker_layer *layer;
        assert_ok(sinew_marker_layer_create(s.face, s.map, 1e-6, hold, NULL, &layer, &error));
        for (int f = 0; f < 30; f++) {
            for (int k = 0; k < s.face->slider_count; k++)
                weights[k] = strncmp(s.face->sliders[k].name, "mouth", 5) == 0 && k % 3 == f % 3
                                 ? 0.5 + 0.5 * test_random(&seed)
                                 : 0;
            sinew_linear_evaluate(linear, weights, s.bare);
            memcpy(s.x, s.bare, 3 * sizeof(double) * (size_t)mesh->vertex_count);
            sinew_marker_map_points(s.map, mesh, s.bare, s.markers);
            for (int i = 0; i < 3; i++) way[i] = 0.004 * test_random(&seed);
            for (int i = 0; i < 3 * s.map->count; i++) s.markers[i] += way[i % 3];
            assert_ok(sinew_marker_layer_apply(layer, s.markers, NULL, s.x, &error));
            most[hold] = fmax(most[hold], most_turned(s.face, lip, s.bare, s.x));
        }
        sinew_marker_layer_destroy(layer);
        seed = 9;
    }
    assert_true(most[0] > 45); /* without what holds back */
    assert_below(most[1], 40);
    sinew_free(lips);
    sinew_anatomy_destroy(anatomy);
    sinew_linear_destroy(linear);
    free(lip), free(weights);
    release(&s);
}

/* Blinks beyond the lids' own end: the rig's blend pushes them through the eyeballs, or through
 * each other. The markers agree with the rig, so the layer itself has nothing to add. */
static void crossings_of_the_rig_itself_are_lifted(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    sinew_linear *linear;
    sinew_marker_layer *layer;
    double *weights = malloc(sizeof(double) * (size_t)s.rig->slider_count);
    assert_ok(sinew_linear_create(s.rig, &linear, &error));
    assert_ok(sinew_marker_layer_create(s.rig, s.map, SINEW_MARKER_LAYER_SMOOTHING, true, NULL,
                                        &layer, &error));
    sinew_rig_rest_weights(s.rig, weights);
    int most = 0;
    for (int f = 0; f <= 8; f++) {
        for (int k = 0; k < s.rig->slider_count; k++)
            if (strstr(s.rig->sliders[k].name, "eyeBlink")) weights[k] = 1.3 * f / 8;
        sinew_linear_evaluate(linear, weights, s.x);
        memcpy(s.bare, s.x, 3 * sizeof(double) * (size_t)s.rig->neutral->vertex_count);
        sinew_marker_map_points(s.map, s.rig->neutral, s.x, s.markers);
        assert_ok(sinew_marker_layer_follow(layer, f ? 1 / 30.0 : INFINITY, s.markers, NULL, s.x,
                                            &error));
        /* the face is the first part of the rig; its shells keep their own blend */
        int bare = crossings(s.face, s.bare);
        most = bare > most ? bare : most;
        assert_int_equal(crossings(s.face, s.x), 0);
    }
    assert_true(most > 0);
    free(weights);
    sinew_linear_destroy(linear);
    sinew_marker_layer_destroy(layer);
    release(&s);
}

/* Pairs of a triangle of the shells with one of the visible skin. */
static int shells_in_skin(const setup *s, const bool *visible, const double *x) {
    sinew_error error = {0};
    const sinew_mesh *mesh = s->rig->neutral;
    int *pairs, count, found = 0, n = s->face->neutral->vertex_count;
    assert_ok(sinew_self_intersections(mesh->vertex_count, x, mesh->triangle_count, mesh->triangles,
                                       NULL, &pairs, &count, &error));
    for (int i = 0; i < count; i++) {
        const int *a = mesh->triangles + 3 * (size_t)pairs[2 * i],
                  *b = mesh->triangles + 3 * (size_t)pairs[2 * i + 1];
        found += a[0] < n && b[0] >= n && visible[a[0]] && visible[a[1]] && visible[a[2]];
    }
    sinew_free(pairs);
    return found;
}

/* Squeezed lids leave no room for what lies on them: the blend passes it through the other lid. It
 * gives way there, with contact alone and with the layer. */
static void what_lies_on_lids_gives_way_where_they_are_squeezed(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    sinew_linear *linear;
    sinew_marker_layer *layer;
    sinew_skin_contact *contact;
    sinew_skin_contact_state *own;
    sinew_anatomy *anatomy;
    size_t n = 3 * (size_t)s.rig->neutral->vertex_count;
    double *weights = malloc(sizeof(double) * (size_t)s.rig->slider_count);
    assert_ok(sinew_linear_create(s.rig, &linear, &error));
    assert_ok(sinew_anatomy_create(s.rig, NULL, &anatomy, &error));
    assert_ok(sinew_marker_layer_create(s.rig, s.map, SINEW_MARKER_LAYER_SMOOTHING, true, NULL,
                                        &layer, &error));
    assert_ok(sinew_skin_contact_create(s.rig, anatomy, NULL, &contact, &error));
    assert_ok(sinew_skin_contact_state_create(contact, &own, &error));
    const bool *visible = sinew_anatomy_skin(anatomy);
    int bare = 0;
    for (int f = 0; f <= 4; f++) {
        sinew_rig_rest_weights(s.rig, weights);
        for (int k = 0; k < s.rig->slider_count; k++)
            if (strstr(s.rig->sliders[k].name, "eyeBlink")) weights[k] = 1 + 0.1 * f;
        sinew_linear_evaluate(linear, weights, s.bare);
        bare += shells_in_skin(&s, visible, s.bare);
        memcpy(s.x, s.bare, n * sizeof(double));
        assert_ok(sinew_skin_contact_apply(own, s.x, NULL, &error));
        assert_int_equal(shells_in_skin(&s, visible, s.x), 0);
        memcpy(s.x, s.bare, n * sizeof(double));
        sinew_marker_map_points(s.map, s.rig->neutral, s.x, s.markers);
        assert_ok(sinew_marker_layer_follow(layer, f ? 1 / 30.0 : INFINITY, s.markers, NULL, s.x,
                                            &error));
        assert_int_equal(shells_in_skin(&s, visible, s.x), 0);
    }
    assert_true(bare > 20);
    free(weights);
    sinew_anatomy_destroy(anatomy);
    sinew_linear_destroy(linear);
    sinew_marker_layer_destroy(layer);
    sinew_skin_contact_state_destroy(own);
    sinew_skin_contact_destroy(contact);
    release(&s);
}

int test_layer_contact(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layer_adds_no_crossing_to_a_head_with_shells),
        cmocka_unit_test(lids_and_shells_stay_with_the_eyes),
        cmocka_unit_test(a_frame_with_too_much_close_together_ends_no_take),
        cmocka_unit_test(markers_that_would_fold_the_skin_are_met_less_closely),
        cmocka_unit_test(thin_skin_does_not_fold_where_it_is_held_back),
        cmocka_unit_test(crossings_of_the_rig_itself_are_lifted),
        cmocka_unit_test(what_lies_on_lids_gives_way_where_they_are_squeezed),
    };
    return cmocka_run_group_tests_name("layer contact", tests, NULL, NULL);
}
