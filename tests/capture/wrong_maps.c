/* Correct maps that are spoilt at random: every gross error is refused, or its marker is named. */
#include "capture/map_check.h"
#include "capture/marker_layouts.h"
#include "groups.h"
#include "heads.h"
#include "sinew/samples.h"
#include "support.h"

typedef struct trial {
    const head *from, *to;
    int count;
    char **names;
    sn_marker_name *parsed;
    double *markers, *right, *points; /* the take; its points on the face; the same, spoilt */
    sn_map_doubts doubts;
    sinew_error error;
} trial;

static double millimeters(const trial *t, const double *a, const double *b) {
    return 62 / t->to->eyes * sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

static trial begin(const head *from, const head *to, const sinew_markers *take,
                   const int *vertices) {
    size_t n = (size_t)take->marker_count;
    trial t = {.from = from, .to = to, .count = take->marker_count};
    t.names = take->names, t.parsed = malloc(n * sizeof *t.parsed);
    t.markers = malloc(9 * n * sizeof(double)), t.right = t.markers + 3 * n;
    t.points = t.markers + 6 * n;
    sn_layout_guess guesses[SN_LAYOUT_GUESSES];
    if (sn_layout_guesses(take, guesses) > 0)
        sn_layout_names(take, &guesses[0], t.parsed);
    else
        sn_marker_names_of(take, t.parsed);
    memcpy(t.markers, take->positions, 3 * n * sizeof(double));
    for (size_t i = 0; i < n; i++)
        memcpy(t.right + 3 * i, to->rig->neutral->positions + 3 * vertices[i], 3 * sizeof(double));
    return t;
}

static void end(trial *t) {
    free(t->parsed), free(t->markers);
}

static void heal(trial *t) {
    memcpy(t->points, t->right, 3 * (size_t)t->count * sizeof(double));
}

/* True: refused. */
static bool refused(trial *t) {
    sn_map_facts facts = {t->to->anatomy, t->parsed, true};
    sn_map_doubts_free(&t->doubts);
    assert_int_equal(sn_map_doubts_create(t->count, &t->doubts, &t->error), SINEW_OK);
    sinew_status status =
        sn_map_check(&facts, t->count, t->names, t->markers, t->points, &t->doubts, &t->error);
    if (status != SINEW_OK) assert_int_equal(status, SINEW_BAD_INPUT);
    return status != SINEW_OK;
}

static bool named(const trial *t, int marker) {
    return *t->doubts.reason[marker] != '\0';
}

static int some(uint64_t *seed, int count) {
    return (int)((test_random(seed) + 1) / 2 * count) % count;
}

static void swap(trial *t, int a, int b) {
    for (int k = 0; k < 3; k++) {
        double x = t->points[3 * a + k];
        t->points[3 * a + k] = t->points[3 * b + k], t->points[3 * b + k] = x;
    }
}

/* The vertex of the skin nearest to a point. */
static const double *skin_near(const trial *t, const double *p) {
    const sinew_mesh *mesh = t->to->rig->neutral;
    const bool *skin = sinew_anatomy_skin(t->to->anatomy);
    const double *best = NULL;
    for (int v = 0; v < mesh->vertex_count; v++)
        if (skin[v] &&
            (!best || millimeters(t, p, mesh->positions + 3 * v) < millimeters(t, p, best)))
            best = mesh->positions + 3 * v;
    return best;
}

static void expect_swaps_named(trial *t, uint64_t *seed, double apart) {
    for (int round = 0; round < 40; round++) {
        int a = some(seed, t->count), b = some(seed, t->count);
        heal(t);
        if (millimeters(t, t->right + 3 * a, t->right + 3 * b) < apart) continue;
        swap(t, a, b);
        if (!refused(t) && !named(t, a) && !named(t, b))
            fail_msg("%s on %s: '%s' and '%s' are exchanged, %.0f mm apart", t->from->name,
                     t->to->name, t->names[a], t->names[b],
                     millimeters(t, t->right + 3 * a, t->right + 3 * b));
    }
}

static void expect_strays_named(trial *t, uint64_t *seed) {
    for (int round = 0; round < 12; round++) {
        int a = some(seed, t->count);
        double p[3];
        heal(t);
        for (int k = 0; k < 3; k++) p[k] = t->right[3 * a + k] + test_random(seed) * t->to->eyes;
        memcpy(t->points + 3 * a, skin_near(t, p), sizeof p);
        double way = millimeters(t, t->points + 3 * a, t->right + 3 * a);
        if (way >= 30 && !refused(t) && !named(t, a))
            fail_msg("%s on %s: '%s' was moved by %.0f mm", t->from->name, t->to->name, t->names[a],
                     way);
    }
}

static void expect_mirrors_refused(trial *t) {
    double left[3], up[3], front[3], center = 0;
    assert_true(sinew_anatomy_axes(t->to->anatomy, left, up, front));
    heal(t);
    for (int side = 0; side < 2; side++) {
        double p[3];
        assert_true(sinew_anatomy_landmark(t->to->anatomy, SINEW_LANDMARK_EYE_INNER,
                                           (sinew_side)side, p, NULL));
        for (int k = 0; k < 3; k++) center += 0.5 * p[k] * left[k];
    }
    for (int i = 0; i < t->count; i++) {
        double *p = t->points + 3 * i, u = -center;
        for (int k = 0; k < 3; k++) u += p[k] * left[k];
        for (int k = 0; k < 3; k++) p[k] -= 2 * u * left[k];
    }
    if (!refused(t)) fail_msg("%s on %s: mirrored", t->from->name, t->to->name);
}

static void expect_shifts_refused(trial *t) {
    for (int by = 1; by < t->count; by += 7) {
        for (int i = 0; i < t->count; i++)
            memcpy(t->points + 3 * i, t->right + 3 * ((i + by) % t->count), 3 * sizeof(double));
        int gross = 0, found = 0;
        bool no = refused(t);
        for (int i = 0; i < t->count; i++) {
            bool far = millimeters(t, t->points + 3 * i, t->right + 3 * i) > 30;
            gross += far, found += far && named(t, i);
        }
        if (!no && 2 * found < gross)
            fail_msg("%s on %s: shifted by %d, %d of %d named", t->from->name, t->to->name, by,
                     found, gross);
    }
}

/* About the axis that points to the front: the shape fits the take, but not the face. */
static void expect_turns_refused(trial *t) {
    double left[3], up[3], front[3], middle[3] = {0, 0, 0};
    assert_true(sinew_anatomy_axes(t->to->anatomy, left, up, front));
    for (int i = 0; i < 3 * t->count; i++) middle[i % 3] += t->right[i] / t->count;
    for (int turn = 45; turn < 360; turn += 45) {
        double c = cos(turn * 3.14159265 / 180), s = sin(turn * 3.14159265 / 180);
        for (int i = 0; i < t->count; i++) {
            double x = 0, y = 0, p[3];
            for (int k = 0; k < 3; k++) {
                p[k] = t->right[3 * i + k] - middle[k];
                x += p[k] * left[k], y += p[k] * up[k];
            }
            for (int k = 0; k < 3; k++)
                t->points[3 * i + k] = t->right[3 * i + k] + (c * x - s * y - x) * left[k] +
                                       (s * x + c * y - y) * up[k];
        }
        if (!refused(t)) fail_msg("%s on %s: turned by %d", t->from->name, t->to->name, turn);
    }
}

/* The upper lid of an eye with the lower one, wherever the eye is open. Markers of the layout. */
static void expect_lids_refused(trial *t) {
    static const int lids[][2] = {{37, 41}, {38, 40}, {43, 47}, {44, 46}};
    for (int eyes = 1; eyes < 4; eyes++) {
        heal(t);
        for (int k = 0; k < 4; k++)
            if (eyes >> (k / 2) & 1) swap(t, lids[k][0], lids[k][1]);
        if (!refused(t)) fail_msg("%s on %s: lids exchanged, %d", t->from->name, t->to->name, eyes);
    }
}

static void spoil(trial *t, double apart, int most_doubts) {
    uint64_t seed = 7;
    heal(t);
    if (refused(t))
        fail_msg("%s on %s is correct: %s", t->from->name, t->to->name, t->error.message);
    for (int i = 0; t->doubts.doubtful > most_doubts && i < t->count; i++)
        if (named(t, i))
            fail_msg("%s on %s is correct, but '%s' %s", t->from->name, t->to->name, t->names[i],
                     t->doubts.reason[i]);
    expect_swaps_named(t, &seed, apart);
    expect_strays_named(t, &seed);
    expect_mirrors_refused(t);
    expect_shifts_refused(t);
    expect_turns_refused(t);
    sn_map_doubts_free(&t->doubts);
    end(t);
}

static void spoilt_maps_of_the_same_face_are_recognized(void **state) {
    heads *h = *state;
    for (int i = 0; i < 3; i++) {
        const head *face = &h->all[i];
        if (!face->rig) continue;
        sinew_markers *take = layout_take(face, "p", 0, NULL);
        trial t = begin(face, face, take, face->points);
        spoil(&t, 8, 0);
        sinew_markers_destroy(take);
    }
}

static void spoilt_maps_of_other_faces_are_recognized(void **state) {
    heads *h = *state;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            if (i == j || !h->all[i].rig || !h->all[j].rig) continue;
            sinew_markers *take = layout_take(&h->all[i], "p", 0, NULL);
            trial t = begin(&h->all[i], &h->all[j], take, h->all[j].points);
            spoil(&t, 40, 4);
            sinew_markers_destroy(take);
        }
}

static void exchanged_lids_are_recognized(void **state) {
    heads *h = *state;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            if (!h->all[i].rig || !h->all[j].rig) continue;
            sinew_markers *take = layout_take(&h->all[i], "p", 0, NULL);
            trial t = begin(&h->all[i], &h->all[j], take, h->all[j].points);
            expect_lids_refused(&t);
            sn_map_doubts_free(&t.doubts);
            end(&t);
            sinew_markers_destroy(take);
        }
}

static void spoilt_maps_of_named_markers_are_recognized(void **state) {
    heads *h = *state;
    sinew_error error;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            sinew_markers *take;
            sinew_marker_map *map;
            assert_ok(sinew_sample_markers(h->all[i].name, NULL, NULL, &take, &map, &error));
            trial t = begin(&h->all[i], &h->all[j], take, map->vertices);
            spoil(&t, i == j ? 8 : 30, i == j ? 0 : 4);
            sinew_markers_destroy(take);
            sinew_marker_map_destroy(map);
        }
}

int test_wrong_maps(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spoilt_maps_of_the_same_face_are_recognized),
        cmocka_unit_test(spoilt_maps_of_other_faces_are_recognized),
        cmocka_unit_test(exchanged_lids_are_recognized),
        cmocka_unit_test(spoilt_maps_of_named_markers_are_recognized),
    };
    return cmocka_run_group_tests_name("wrong maps", tests, make_heads, drop_heads);
}
