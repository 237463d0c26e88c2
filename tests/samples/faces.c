/* What the face promises to animators: names, symmetry, lids and lips that close. */
#include "support.h"

#include "groups.h"
#include "sinew/query.h"
#include "sinew/samples.h"

typedef struct fixture {
    sinew_rig *rig;
    sinew_linear *linear;
    double *weights, *positions;
} fixture;

static fixture open_face(const char *name) {
    sinew_error error;
    fixture f = {0};
    assert_ok(sinew_sample_rig(name, NULL, &f.rig, &error));
    assert_ok(sinew_linear_create(f.rig, &f.linear, &error));
    f.weights = calloc((size_t)f.rig->slider_count, sizeof(double));
    f.positions = malloc(3 * (size_t)f.rig->neutral->vertex_count * sizeof(double));
    return f;
}

static void close_face(fixture *f) {
    free(f->weights);
    free(f->positions);
    sinew_linear_destroy(f->linear);
    sinew_rig_destroy(f->rig);
}

static void set(fixture *f, const char *slider, double value) {
    int index = sinew_rig_find_slider(f->rig, slider);
    assert_true(index >= 0);
    f->weights[index] = value;
}

static const sinew_region *region(const fixture *f, const char *name) {
    int index = sinew_rig_find_region(f->rig, name);
    assert_true(index >= 0);
    return &f->rig->regions[index];
}

static void face_has_all_52_sliders_of_arkit(void **state) {
    (void)state;
    static const char *const names[] = {
        "eyeBlinkLeft",      "eyeLookDownLeft",    "eyeLookInLeft",
        "eyeLookOutLeft",    "eyeLookUpLeft",      "eyeSquintLeft",
        "eyeWideLeft",       "eyeBlinkRight",      "eyeLookDownRight",
        "eyeLookInRight",    "eyeLookOutRight",    "eyeLookUpRight",
        "eyeSquintRight",    "eyeWideRight",       "jawForward",
        "jawLeft",           "jawRight",           "jawOpen",
        "mouthClose",        "mouthFunnel",        "mouthPucker",
        "mouthLeft",         "mouthRight",         "mouthSmileLeft",
        "mouthSmileRight",   "mouthFrownLeft",     "mouthFrownRight",
        "mouthDimpleLeft",   "mouthDimpleRight",   "mouthStretchLeft",
        "mouthStretchRight", "mouthRollLower",     "mouthRollUpper",
        "mouthShrugLower",   "mouthShrugUpper",    "mouthPressLeft",
        "mouthPressRight",   "mouthLowerDownLeft", "mouthLowerDownRight",
        "mouthUpperUpLeft",  "mouthUpperUpRight",  "browDownLeft",
        "browDownRight",     "browInnerUp",        "browOuterUpLeft",
        "browOuterUpRight",  "cheekPuff",          "cheekSquintLeft",
        "cheekSquintRight",  "noseSneerLeft",      "noseSneerRight",
        "tongueOut"};
    fixture f = open_face("face");
    assert_int_equal(f.rig->slider_count, 52);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int s = sinew_rig_find_slider(f.rig, names[i]);
        assert_true(s >= 0);
        assert_string_equal(f.rig->sliders[s].name, names[i]);
    }
    int inbetweens = 0, combinations = 0;
    for (int t = 0; t < f.rig->target_count; t++) {
        inbetweens += f.rig->targets[t].kind == SINEW_TARGET_KIND_INBETWEEN;
        combinations += f.rig->targets[t].kind == SINEW_TARGET_KIND_COMBINATION;
    }
    assert_int_equal(inbetweens, 2);
    assert_true(combinations >= 2);
    close_face(&f);
}

/* The image of a vertex is found by its coordinates, which must agree to the last bit. */
typedef struct keyed {
    double x, y, z;
    int vertex;
} keyed;
static int by_place(const void *a, const void *b) {
    const keyed *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    if (p->y != q->y) return p->y < q->y ? -1 : 1;
    if (p->z != q->z) return p->z < q->z ? -1 : 1;
    return 0;
}

static void face_and_pairs_are_exactly_symmetric(void **state) {
    (void)state;
    fixture f = open_face("face");
    int n = f.rig->neutral->vertex_count;
    const double *p = f.rig->neutral->positions;
    keyed *places = malloc((size_t)n * sizeof *places);
    int *image = malloc((size_t)n * sizeof *image);
    for (int v = 0; v < n; v++) places[v] = (keyed){p[3 * v], p[3 * v + 1], p[3 * v + 2], v};
    qsort(places, (size_t)n, sizeof *places, by_place);
    for (int v = 0; v < n; v++) {
        keyed key = {p[3 * v] == 0 ? 0 : -p[3 * v], p[3 * v + 1], p[3 * v + 2], 0};
        keyed *found = bsearch(&key, places, (size_t)n, sizeof key, by_place);
        assert_non_null(found);
        image[v] = found->vertex;
    }
    double *left = malloc(3 * (size_t)n * sizeof(double));
    for (int s = 0; s < f.rig->slider_count; s++) {
        int other = f.rig->sliders[s].mirror < 0 ? s : f.rig->sliders[s].mirror;
        const double sign[3] = {-1, 1, 1};
        memset(f.weights, 0, (size_t)f.rig->slider_count * sizeof(double));
        f.weights[s] = 1;
        sinew_linear_evaluate(f.linear, f.weights, left);
        f.weights[s] = 0;
        f.weights[other] = 1;
        sinew_linear_evaluate(f.linear, f.weights, f.positions);
        for (int v = 0; v < n; v++)
            for (int k = 0; k < 3; k++)
                if (left[3 * v + k] != sign[k] * f.positions[3 * image[v] + k])
                    fail_msg("%s is not the image of %s at vertex %d", f.rig->sliders[s].name,
                             f.rig->sliders[other].name, v);
    }
    free(left);
    free(image);
    free(places);
    close_face(&f);
}

/* Smallest distance between the vertices of two regions. */
static void nearest_gap(const fixture *f, const sinew_region *a, const sinew_region *b,
                        double *smallest) {
    *smallest = INFINITY;
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++) {
            double d = 0;
            for (int k = 0; k < 3; k++) {
                double e =
                    f->positions[3 * a->vertices[i] + k] - f->positions[3 * b->vertices[j] + k];
                d += e * e;
            }
            *smallest = fmin(*smallest, sqrt(d));
        }
}

static void lips_touch_at_rest_and_with_the_jaw_open(void **state) {
    (void)state;
    fixture f = open_face("face");
    double diagonal = sinew_diagonal(f.rig->neutral->vertex_count, f.rig->neutral->positions);
    const sinew_region *upper = region(&f, "upperLip"), *lower = region(&f, "lowerLip");
    double rest, open, closed;
    sinew_linear_evaluate(f.linear, f.weights, f.positions);
    nearest_gap(&f, upper, lower, &rest);
    set(&f, "jawOpen", 1);
    sinew_linear_evaluate(f.linear, f.weights, f.positions);
    /* the middle of the lower lip is carried far from the upper one */
    open = 0;
    for (int i = 0; i < lower->count; i++) {
        int v = lower->vertices[i];
        open = fmax(open, f.rig->neutral->positions[3 * v + 1] - f.positions[3 * v + 1]);
    }
    set(&f, "mouthClose", 1);
    sinew_linear_evaluate(f.linear, f.weights, f.positions);
    nearest_gap(&f, upper, lower, &closed);
    assert_below(rest, 0.002 * diagonal);
    assert_below(closed, 0.002 * diagonal);
    assert_true(open > 0.05 * diagonal);
    close_face(&f);
}

/* Rays from the front meet the eyeball through the open lids; closed, a slit wider than 0.2% of the
 * diagonal would let more than one in forty of them through. */
static void lids_close_along_their_whole_rim(void **state) {
    (void)state;
    fixture f = open_face("face");
    const sinew_mesh *mesh = f.rig->neutral;
    sinew_error error;
    sinew_query *query = NULL;
    assert_ok(sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                 mesh->triangles, &query, &error));
    int seen[2] = {0, 0};
    for (int closed = 0; closed < 2; closed++) {
        set(&f, "eyeBlinkLeft", closed);
        sinew_linear_evaluate(f.linear, f.weights, f.positions);
        assert_ok(sinew_query_move(query, f.positions, &error));
        for (int i = 0; i <= 60; i++)
            for (int j = 0; j <= 40; j++) {
                double origin[3] = {0.018 + i * 0.0005, -0.010 + j * 0.0005, 0.2};
                const double backwards[3] = {0, 0, -1};
                sinew_closest hit;
                if (!sinew_query_ray(query, origin, backwards, 1, &hit)) continue;
                int part = mesh->face_part[mesh->triangle_face[hit.triangle]];
                seen[closed] += strcmp(mesh->part_names[part], "eyeLeft") == 0;
            }
    }
    assert_true(seen[0] > 300);
    assert_true(seen[1] < seen[0] / 40);
    sinew_query_destroy(query);
    close_face(&f);
}

static double from_eye(const double *p) {
    const double eye[3] = {0.034, 0.002, 0.0615};
    double d = 0;
    for (int k = 0; k < 3; k++) d += (p[k] - eye[k]) * (p[k] - eye[k]);
    return sqrt(d);
}

/* Thanks to the in-between, lids pass over the eyeball all the way. */
static void lids_stay_outside_the_eyeball_while_closing(void **state) {
    (void)state;
    fixture f = open_face("face");
    const sinew_region *lids = region(&f, "lidsLeft");
    for (int step = 0; step <= 20; step++) {
        set(&f, "eyeBlinkLeft", step / 20.0);
        sinew_linear_evaluate(f.linear, f.weights, f.positions);
        for (int i = 0; i < lids->count; i++)
            assert_true(from_eye(f.positions + 3 * lids->vertices[i]) > 0.0197);
    }
    close_face(&f);
}

static void neck_rim_stays_still(void **state) {
    (void)state;
    fixture f = open_face("face");
    const sinew_region *rim = region(&f, "neckRim");
    assert_true(rim->count > 20);
    for (int s = 0; s < f.rig->slider_count; s++) f.weights[s] = 1;
    sinew_linear_evaluate(f.linear, f.weights, f.positions);
    for (int i = 0; i < rim->count; i++)
        for (int k = 0; k < 3; k++) {
            int at = 3 * rim->vertices[i] + k;
            assert_close(f.positions[at], f.rig->neutral->positions[at], 3e-4);
        }
    close_face(&f);
}

int test_faces(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(face_has_all_52_sliders_of_arkit),
        cmocka_unit_test(face_and_pairs_are_exactly_symmetric),
        cmocka_unit_test(lips_touch_at_rest_and_with_the_jaw_open),
        cmocka_unit_test(lids_close_along_their_whole_rim),
        cmocka_unit_test(lids_stay_outside_the_eyeball_while_closing),
        cmocka_unit_test(neck_rim_stays_still),
    };
    return cmocka_run_group_tests_name("faces", tests, NULL, NULL);
}
