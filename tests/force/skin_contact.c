/* Contact of blended shapes: the blend of a face that closes its lids and lips too far. */
#include "support.h"

#include "capture/card.h"
#include "dome.h"
#include "groups.h"
#include "sinew/anatomy.h"
#include "sinew/query.h"
#include "sinew/samples.h"
#include "sinew/skin_contact.h"
#include "sinew/threads.h"

enum { VERTICES = 3000 };

typedef struct setup {
    sinew_rig *rig;
    sinew_linear *linear;
    sinew_skin_contact *contact;
    sinew_skin_contact_state *state;
    double *weights, *blend, *x;
    size_t n;
} setup;

static setup make_from(sinew_rig *rig) {
    sinew_error error = {0};
    setup s = {.rig = rig};
    assert_ok(sinew_linear_create(s.rig, &s.linear, &error));
    assert_ok(sinew_skin_contact_create(s.rig, NULL, NULL, &s.contact, &error));
    assert_ok(sinew_skin_contact_state_create(s.contact, &s.state, &error));
    s.n = 3 * (size_t)s.rig->neutral->vertex_count;
    s.weights = malloc(sizeof(double) * (size_t)s.rig->slider_count);
    s.blend = malloc(s.n * sizeof(double)), s.x = malloc(s.n * sizeof(double));
    return s;
}

static setup make_of(const char *sample, int vertices) {
    sinew_error error = {0};
    sinew_rig *rig;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = vertices;
    assert_ok(sinew_sample_rig(sample, &size, &rig, &error));
    return make_from(rig);
}

static setup make(void) {
    return make_of("face", VERTICES);
}

static void release(setup *s) {
    free(s->weights), free(s->blend), free(s->x);
    sinew_skin_contact_state_destroy(s->state);
    sinew_skin_contact_destroy(s->contact);
    sinew_linear_destroy(s->linear);
    sinew_rig_destroy(s->rig);
}

static void set(setup *s, const char *slider, double weight) {
    for (int k = 0; k < s->rig->slider_count; k++)
        if (strstr(s->rig->sliders[k].name, slider)) s->weights[k] = weight;
}

static void blend(setup *s) {
    sinew_linear_evaluate(s->linear, s->weights, s->blend);
    memcpy(s->x, s->blend, s->n * sizeof(double));
}

static void apply(setup *s) {
    sinew_error error = {0};
    blend(s);
    assert_ok(sinew_skin_contact_apply(s->state, s->x, NULL, &error));
}

static double farthest(const setup *s, const double *x) {
    double most = 0;
    for (size_t i = 0; i < s->n; i++) most = fmax(most, fabs(s->x[i] - x[i]));
    return most;
}

/* Poses whose blend passes lids through eyeballs and lips through each other. */
static void pose(setup *s, int k) {
    static const struct {
        const char *slider;
        double weight;
    } poses[][3] = {
        {{"eyeBlink", 1.3}, {"eyeSquint", 1}, {"cheekSquint", 1}},
        {{"mouthPress", 1}, {"mouthClose", 0.6}, {"mouthRoll", 1}},
        {{"eyeBlink", 1.1}, {"mouthPucker", 1}, {"mouthClose", 0.5}},
        {{"jawOpen", 0.3}, {"mouthClose", 0.9}, {"mouthShrugLower", 1}},
    };
    sinew_rig_rest_weights(s->rig, s->weights);
    for (int i = 0; i < 3; i++) set(s, poses[k][i].slider, poses[k][i].weight);
}
enum { POSES = 4 };

static void lids_and_lips_of_a_blend_do_not_cross(void **state) {
    (void)state;
    setup s = make();
    int without = 0;
    assert_int_equal(crossings(s.rig, s.rig->neutral->positions), 0);
    for (int k = 0; k < POSES; k++) {
        pose(&s, k);
        apply(&s);
        without += crossings(s.rig, s.blend);
        assert_int_equal(crossings(s.rig, s.x), 0);
        sinew_skin_contact_info info = info_of(sinew_skin_contact, s.state);
        assert_false(info.unchanged);
        assert_in_range(info.steps, 1, 2 * SINEW_SKIN_CONTACT_STEPS);
        assert_below(farthest(&s, s.blend), 0.012);
    }
    assert_true(without > 20);
    release(&s);
}

/* The farthest that contact differs on the face with a body below it. */
static double apart_with_body(setup *s) {
    sinew_error error = {0};
    sinew_rig *rig = test_rig_with_body(s->rig);
    sinew_skin_contact *contact;
    sinew_skin_contact_state *own;
    assert_ok(sinew_skin_contact_create(rig, NULL, NULL, &contact, &error));
    assert_ok(sinew_skin_contact_state_create(contact, &own, &error));
    double *x = malloc((s->n + 12) * sizeof *x), apart = 0, pressed = 0;
    for (int k = 0; k < POSES; k++) {
        pose(s, k);
        apply(s);
        pressed = fmax(pressed, farthest(s, s->blend));
        memcpy(x, s->blend, s->n * sizeof *x);
        memcpy(x + s->n, rig->neutral->positions + s->n, 12 * sizeof *x);
        assert_ok(sinew_skin_contact_apply(own, x, NULL, &error));
        assert_int_equal(crossings(rig, x), 0);
        apart = fmax(apart, farthest(s, x));
    }
    assert_true(pressed > 1e-3);
    free(x);
    sinew_skin_contact_state_destroy(own);
    sinew_skin_contact_destroy(contact);
    sinew_rig_destroy(rig);
    return apart;
}

/* Lengths are fractions of the head, and not of the body below it. */
static void a_body_does_not_change_the_contact_of_its_face(void **state) {
    (void)state;
    setup s = make();
    assert_below(apart_with_body(&s), 2e-3); /* m; 0.024 with the size of the body */
    release(&s);
}

/* Many avatars can only open the mouth and smile: no target tells where their eyes are. */
static void nor_does_it_where_no_target_finds_the_eyes(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    sinew_rig *mouth;
    sinew_mesh *mesh;
    const sinew_mesh *old = s.rig->neutral;
    assert_ok(sinew_mesh_create(old->vertex_count, old->positions, old->triangle_count, NULL,
                                old->triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &mouth, &error));
    for (int k = 0; k < s.rig->target_count; k++) {
        const sinew_target *t = &s.rig->targets[k];
        if (strncmp(t->name, "mouth", 5) == 0 || strncmp(t->name, "jaw", 3) == 0)
            assert_ok(
                sinew_rig_add_target(mouth, t->name, t->count, t->vertices, t->deltas, &error));
    }
    setup m = make_from(mouth);
    assert_below(apart_with_body(&m), 2e-3); /* m */
    release(&m);
    release(&s);
}

static void shapes_without_contact_keep_their_bits(void **state) {
    (void)state;
    setup s = make();
    sinew_rig_rest_weights(s.rig, s.weights);
    set(&s, "browInnerUp", 1), set(&s, "jawOpen", 0.7), set(&s, "noseSneer", 0.5);
    apply(&s);
    assert_memory_equal(s.x, s.blend, s.n * sizeof(double));
    sinew_skin_contact_info info = info_of(sinew_skin_contact, s.state);
    assert_int_equal(info.steps, 1);
    assert_int_equal(info.contacts, 0);
    release(&s);
}

static void neither_order_nor_threads_change_a_bit(void **state) {
    (void)state;
    setup s = make();
    size_t bytes = s.n * sizeof(double);
    double *first = malloc(POSES * bytes);
    for (int k = 0; k < POSES; k++) {
        pose(&s, k);
        apply(&s);
        memcpy(first + (size_t)k * s.n, s.x, bytes);
    }
    int threads = sinew_threads();
    for (int round = 0; round < 2; round++) {
        sinew_set_threads(round ? 3 : 1);
        for (int k = POSES - 1; k >= 0; k--) {
            pose(&s, k);
            apply(&s);
            assert_memory_equal(s.x, first + (size_t)k * s.n, bytes);
        }
    }
    sinew_set_threads(threads);
    free(first);
    release(&s);
}

/* A blink and a press of the lips in small steps of their sliders: contact acts from some step on,
 * leaves no crossing, and what it adds does not jump. */
static void contact_follows_a_slider_smoothly(void **state) {
    (void)state;
    setup s = make();
    enum { STEPS = 24 };
    double *last = calloc(s.n, sizeof(double)), step = 0, given = 0, most = 0;
    double *before = calloc(s.n, sizeof(double));
    int crossed = 0;
    for (int f = 0; f <= STEPS; f++) {
        sinew_rig_rest_weights(s.rig, s.weights);
        set(&s, "eyeBlink", 0.8 + 0.5 * f / STEPS), set(&s, "mouthPress", (double)f / STEPS);
        apply(&s);
        crossed += crossings(s.rig, s.blend) > 0;
        assert_int_equal(crossings(s.rig, s.x), 0);
        for (size_t i = 0; i < s.n; i++) {
            double added = s.x[i] - s.blend[i];
            if (f > 0) step = fmax(step, fabs(added - last[i]));
            if (f > 0) given = fmax(given, fabs(s.blend[i] - before[i]));
            most = fmax(most, fabs(added));
            last[i] = added, before[i] = s.blend[i];
        }
    }
    assert_in_range(crossed, 10, STEPS); /* the blend, and not from the first step on */
    assert_true(most > 0.0015);
    assert_below(step, 2.5 * given);
    free(last), free(before);
    release(&s);
}

/* The highest vertex of the forehead in the middle of the face below the height y. */
static int below_on_forehead(const sinew_rig *face, double y) {
    sinew_error error = {0};
    sinew_anatomy *anatomy;
    const double *x = face->neutral->positions;
    int *found, count, best = -1;
    assert_ok(sinew_anatomy_create(face, NULL, &anatomy, &error));
    assert_ok(sinew_anatomy_region(anatomy, "forehead", &found, &count, &error));
    for (int i = 0; i < count; i++) {
        const double *p = x + 3 * found[i];
        if (fabs(p[0]) < 1e-4 && p[1] < y && (best < 0 || p[1] > x[3 * best + 1])) best = found[i];
    }
    sinew_free(found);
    sinew_anatomy_destroy(anatomy);
    assert_true(best >= 0);
    return best;
}

enum { HAIR_ROWS = 5, HAIR_COLUMNS = 7, HAIR = HAIR_ROWS * HAIR_COLUMNS };

/* The face with a strip of hair that grows out of the forehead and hangs down before it, the row
 * next to the roots at this height. */
static sinew_rig *face_with_hair(const sinew_rig *face, double height) {
    sinew_error error = {0};
    const sinew_mesh *old = face->neutral;
    int top = below_on_forehead(face, 1), end, n = old->vertex_count,
        triangles = old->triangle_count;
    double *x = malloc(3 * sizeof(double) * (size_t)(n + HAIR));
    int *corners = malloc(sizeof(int) * (size_t)(3 * triangles + 6 * HAIR));
    end = below_on_forehead(face, old->positions[3 * top + 1]);
    memcpy(x, old->positions, 3 * sizeof(double) * (size_t)n);
    memcpy(corners, old->triangles, 3 * sizeof(int) * (size_t)triangles);
    for (int c = 0; c < HAIR_COLUMNS; c++)
        for (int r = 0; r < HAIR_ROWS; r++) {
            int a = n + HAIR_ROWS * c + r, b = a + HAIR_ROWS;
            const int quad[6] = {a, a + 1, b, b, a + 1, b + 1};
            for (int k = 0; k < 3; k++)
                x[3 * a + k] = x[3 * top + k] + 0.15 * (r + 1) * (x[3 * end + k] - x[3 * top + k]);
            x[3 * a] += 0.002 * (c - HAIR_COLUMNS / 2);
            x[3 * a + 2] += r > 1 ? 0.0015 : r ? height : -0.002;
            if (c + 1 == HAIR_COLUMNS || r + 1 == HAIR_ROWS) continue;
            memcpy(corners + 3 * triangles, quad, sizeof quad), triangles += 2;
        }
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(n + HAIR, x, triangles, NULL, corners, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int k = 0; k < face->target_count; k++) {
        const sinew_target *t = &face->targets[k];
        int *vertices = malloc(sizeof(int) * (size_t)(t->count + HAIR)), count = t->count;
        double *deltas = malloc(3 * sizeof(double) * (size_t)(t->count + HAIR));
        memcpy(vertices, t->vertices, sizeof(int) * (size_t)count);
        memcpy(deltas, t->deltas, 3 * sizeof(double) * (size_t)count);
        double moved[2][3] = {{0}};
        for (int i = 0; i < t->count; i++)
            if (t->vertices[i] == top || t->vertices[i] == end)
                memcpy(moved[t->vertices[i] == end], t->deltas + 3 * i, 3 * sizeof(double));
        for (int j = 0; j < HAIR; j++, count++) {
            double share = 0.15 * (j % HAIR_ROWS + 1);
            vertices[count] = n + j;
            for (int a = 0; a < 3; a++)
                deltas[3 * count + a] = (1 - share) * moved[0][a] + share * moved[1][a];
        }
        assert_ok(sinew_rig_add_target(rig, t->name, count, vertices, deltas, &error));
        free(vertices), free(deltas);
    }
    free(x), free(corners);
    return rig;
}

static double step_of(const double *a, const double *b, int v) {
    return sqrt(pow(a[3 * v] - b[3 * v], 2) + pow(a[3 * v + 1] - b[3 * v + 1], 2) +
                pow(a[3 * v + 2] - b[3 * v + 2], 2));
}

/* Pairs of a triangle of the face with one of the hair, except where that grows out. */
static int hair_in_skin(const sinew_rig *rig, const double *x) {
    sinew_error error = {0};
    const sinew_mesh *mesh = rig->neutral;
    int *pairs, count, found = 0, first = mesh->vertex_count - HAIR;
    assert_ok(sinew_self_intersections(mesh->vertex_count, x, mesh->triangle_count, mesh->triangles,
                                       NULL, &pairs, &count, &error));
    for (int i = 0; i < count; i++) {
        const int *a = mesh->triangles + 3 * (size_t)pairs[2 * i],
                  *b = mesh->triangles + 3 * (size_t)pairs[2 * i + 1];
        bool grows = false;
        for (int c = 0; c < 3; c++) grows |= b[c] >= first && (b[c] - first) % HAIR_ROWS == 0;
        found += a[0] < first && b[0] >= first && !grows;
    }
    sinew_free(pairs);
    return found;
}

typedef struct combing {
    double step, given; /* the longest of the hair, and of the comb */
    double shortest;    /* strand */
    int crossed, left;  /* frames in which the comb pulls hair into the skin, and with contact */
} combing;

/* Hair is combed into the forehead in fine steps. */
static combing comb(double height) {
    sinew_error error = {0};
    setup s = make();
    sinew_rig *face = s.rig;
    enum { STEPS = 30 };
    int first = face->neutral->vertex_count;
    combing c = {.shortest = INFINITY};
    s.rig = face_with_hair(face, height);
    int n = s.rig->neutral->vertex_count;
    sinew_skin_contact_state_destroy(s.state), sinew_skin_contact_destroy(s.contact);
    assert_ok(sinew_skin_contact_create(s.rig, NULL, NULL, &s.contact, &error));
    assert_ok(sinew_skin_contact_state_create(s.contact, &s.state, &error));
    s.n = 3 * (size_t)n;
    s.blend = realloc(s.blend, s.n * sizeof(double)), s.x = realloc(s.x, s.n * sizeof(double));
    double *last[2] = {malloc(s.n * sizeof(double)), malloc(s.n * sizeof(double))};
    assert_int_equal(hair_in_skin(s.rig, s.rig->neutral->positions), 0);
    for (int f = 0; f <= STEPS; f++) {
        memcpy(s.blend, s.rig->neutral->positions, s.n * sizeof(double));
        for (int j = 0; j < HAIR; j++)
            s.blend[3 * (first + j) + 2] -= 0.0025 / HAIR_ROWS * (j % HAIR_ROWS) * f / STEPS;
        memcpy(s.x, s.blend, s.n * sizeof(double));
        assert_ok(sinew_skin_contact_apply(s.state, s.x, NULL, &error));
        c.crossed += hair_in_skin(s.rig, s.blend) > 0;
        c.left += hair_in_skin(s.rig, s.x) > 0;
        for (int v = 0; f > 0 && v < n; v++) {
            c.given = fmax(c.given, step_of(s.blend, last[1], v));
            if (v >= first) c.step = fmax(c.step, step_of(s.x, last[0], v));
        }
        for (int k = 0; k < HAIR_COLUMNS; k++)
            c.shortest =
                fmin(c.shortest, step_of(s.x, s.x + 3 * (HAIR_ROWS - 1), first + k * HAIR_ROWS));
        memcpy(last[0], s.x, s.n * sizeof(double)), memcpy(last[1], s.blend, s.n * sizeof(double));
    }
    free(last[0]), free(last[1]);
    sinew_rig_destroy(face);
    release(&s);
    return c;
}

/* Hair lies down on the forehead: it moves little faster than the comb, does not end in the skin,
 * and keeps its length. */
static void hair_gives_way_without_a_jump(void **state) {
    (void)state;
    combing c = comb(0.0015);
    assert_below(c.step, 2 * c.given);
    assert_int_equal(c.left, 0);
    assert_true(c.shortest > 0.019); /* m, as combed */
    assert_true(c.crossed > 5);
}

/* Hair that all but touches the skin beside its roots begins to give way within next to nothing. */
static void hair_close_to_the_skin_gives_way_without_a_jump(void **state) {
    (void)state;
    combing c = comb(0.0001);
    assert_below(c.step, 1.2 * c.given);
    assert_int_equal(c.left, 0);
    assert_true(c.crossed > 5);
}

static sinew_rig *scaled(const sinew_rig *rig, double scale) {
    sinew_error error = {0};
    sinew_rig *made;
    assert_ok(sinew_rig_copy(rig, &made, &error));
    for (int i = 0; i < 3 * rig->neutral->vertex_count; i++) made->neutral->positions[i] *= scale;
    for (int k = 0; k < rig->target_count; k++)
        for (int i = 0; i < 3 * rig->targets[k].count; i++) made->targets[k].deltas[i] *= scale;
    return made;
}

/* Hair that is combed into the forehead of a face in other units. */
static void units_do_not_matter(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    sinew_rig *face = face_with_hair(s.rig, 0.0015);
    int first = s.rig->neutral->vertex_count, n = face->neutral->vertex_count;
    double *x[2];
    for (int k = 0; k < 2; k++) {
        const double scale = k ? 128 : 1; /* meters, and about centimeters */
        sinew_rig *rig = scaled(face, scale);
        sinew_skin_contact *contact;
        sinew_skin_contact_state *work;
        assert_ok(sinew_skin_contact_create(rig, NULL, NULL, &contact, &error));
        assert_ok(sinew_skin_contact_state_create(contact, &work, &error));
        x[k] = malloc(3 * sizeof(double) * (size_t)n);
        memcpy(x[k], rig->neutral->positions, 3 * sizeof(double) * (size_t)n);
        for (int j = 0; j < HAIR; j++)
            x[k][3 * (first + j) + 2] -= scale * 0.0025 / HAIR_ROWS * (j % HAIR_ROWS);
        assert_ok(sinew_skin_contact_apply(work, x[k], NULL, &error));
        assert_int_equal(hair_in_skin(rig, x[k]), 0);
        for (int i = 0; i < 3 * n; i++) x[k][i] /= scale;
        sinew_skin_contact_state_destroy(work), sinew_skin_contact_destroy(contact);
        sinew_rig_destroy(rig);
    }
    double most = 0;
    for (int i = 0; i < 3 * n; i++) most = fmax(most, fabs(x[0][i] - x[1][i]));
    assert_below(most, 1e-6);
    free(x[0]), free(x[1]);
    sinew_rig_destroy(face);
    release(&s);
}

/* Moves the eyeballs of x to the front. */
static void push_eyes(const sinew_rig *rig, const sinew_anatomy *anatomy, double by, double *x) {
    for (int v = 0; v < rig->neutral->vertex_count; v++)
        if (sinew_anatomy_piece_kind(anatomy, sinew_anatomy_pieces(anatomy)[v]) ==
            SINEW_PIECE_KIND_EYE)
            x[3 * v + 2] += by;
}

/* Vertices of visible skin that are behind the surface of an eyeball. behind: per vertex. */
static int count_behind(const sinew_rig *rig, const sinew_anatomy *anatomy, const double *x,
                        bool *behind) {
    sinew_error error = {0};
    const sinew_mesh *mesh = rig->neutral;
    int *eyes = malloc(3 * sizeof(int) * (size_t)mesh->triangle_count), count = 0, found = 0;
    sinew_query *query;
    for (int t = 0; t < mesh->triangle_count; t++)
        if (sinew_anatomy_piece_kind(
                anatomy, sinew_anatomy_pieces(anatomy)[mesh->triangles[3 * (size_t)t]]) ==
            SINEW_PIECE_KIND_EYE)
            memcpy(eyes + 3 * count++, mesh->triangles + 3 * (size_t)t, 3 * sizeof(int));
    assert_ok(sinew_query_create(mesh->vertex_count, x, count, eyes, &query, &error));
    for (int v = 0; v < mesh->vertex_count; v++) {
        sinew_closest at;
        const double *p = x + 3 * (size_t)v;
        behind[v] = false;
        if (!sinew_anatomy_skin(anatomy)[v] || !sinew_query_closest(query, p, 0.005, &at)) continue;
        behind[v] = fabs(sinew_query_winding(query, p)) > 0.5 && at.distance > 1e-5;
        found += behind[v];
    }
    sinew_query_destroy(query);
    free(eyes);
    return found;
}

/* Eyeballs that reach through the edges of the lids at rest, as those of production heads do, and
 * farther where they turn: no other skin ends behind them. */
static void lids_stay_on_eyeballs_that_they_intersect_at_rest(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    sinew_anatomy *anatomy;
    int n = s.rig->neutral->vertex_count, bare = 0;
    bool *rest = malloc((size_t)n), *behind = malloc((size_t)n);
    assert_ok(sinew_anatomy_create(s.rig, NULL, &anatomy, &error));
    push_eyes(s.rig, anatomy, 0.006, s.rig->neutral->positions);
    assert_true(crossings(s.rig, s.rig->neutral->positions) > 10);
    count_behind(s.rig, anatomy, s.rig->neutral->positions, rest);
    sinew_skin_contact_state_destroy(s.state), sinew_skin_contact_destroy(s.contact);
    assert_ok(sinew_skin_contact_create(s.rig, anatomy, NULL, &s.contact, &error));
    assert_ok(sinew_skin_contact_state_create(s.contact, &s.state, &error));
    for (int f = 1; f <= 3; f++) {
        memcpy(s.x, s.rig->neutral->positions, s.n * sizeof(double));
        push_eyes(s.rig, anatomy, 0.0005 * f, s.x);
        count_behind(s.rig, anatomy, s.x, behind);
        for (int v = 0; v < n; v++) bare += behind[v] && !rest[v];
        assert_ok(sinew_skin_contact_apply(s.state, s.x, NULL, &error));
        count_behind(s.rig, anatomy, s.x, behind);
        for (int v = 0; v < n; v++) assert_false(behind[v] && !rest[v]);
    }
    assert_true(bare > 5);
    free(rest), free(behind);
    sinew_anatomy_destroy(anatomy);
    release(&s);
}

/* A bowl that the blend drags along a sheet and through it: the sheet yields to the bowl where it
 * ends, and not to where the two met first. */
static void a_dragged_bowl_presses_where_it_ends(void **state) {
    (void)state;
    sinew_error error = {0};
    enum { SIDE = 24, HALF = SIDE * SIDE };
    static double x[6 * HALF], deltas[3 * HALF], shape[6 * HALF];
    static int triangles[3 * 4 * SIDE * SIDE], vertices[HALF];
    for (int g = 0; g < 2; g++)
        for (int j = 0; j < SIDE; j++)
            for (int i = 0; i < SIDE; i++) {
                double u = 2.0 * i / (SIDE - 1) - 1, v = 2.0 * j / (SIDE - 1) - 1;
                double *p = x + 3 * ((g * SIDE + j) * SIDE + i);
                p[0] = g ? 0.2 * u - 0.6 : u, p[1] = g ? 0.2 * v : v;
                p[2] = g ? 0.03 + 0.1 * (u * u + v * v) : 0;
            }
    for (int i = 0; i < HALF; i++) {
        vertices[i] = HALF + i;
        deltas[3 * i] = 0.5, deltas[3 * i + 2] = -0.05;
    }
    int faces = grid_triangles(2, SIDE, triangles);
    sinew_mesh *mesh;
    sinew_rig *rig;
    sinew_skin_contact *contact;
    sinew_skin_contact_state *own;
    assert_ok(sinew_mesh_create(2 * HALF, x, faces, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_target(rig, "drag", HALF, vertices, deltas, &error));
    assert_ok(sinew_skin_contact_create(rig, NULL, NULL, &contact, &error));
    assert_ok(sinew_skin_contact_state_create(contact, &own, &error));
    memcpy(shape, x, sizeof shape);
    for (int i = 0; i < 3 * HALF; i++) shape[3 * HALF + i] += deltas[i];
    assert_true(crossings(rig, shape) > 10);
    assert_ok(sinew_skin_contact_apply(own, shape, NULL, &error));
    assert_int_equal(crossings(rig, shape), 0);
    double dent = 0;
    for (int v = 0; v < HALF; v++) dent = fmax(dent, fabs(shape[3 * v + 2]));
    assert_true(dent > 0.004);
    assert_below(dent, 0.012); /* 0.023 in a single step */
    sinew_skin_contact_state_destroy(own);
    sinew_skin_contact_destroy(contact);
    sinew_rig_destroy(rig);
}

/* 100 times jawOpen, and lids blown up to the size of a room. */
static void wild_shapes_come_back_as_they_are_or_better(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    static const double sizes[] = {3, 100, 1e6};
    for (int k = 0; k < 3; k++) {
        sinew_rig_rest_weights(s.rig, s.weights);
        set(&s, "jawOpen", sizes[k]), set(&s, "eyeBlink", sizes[k]);
        apply(&s);
        for (size_t i = 0; i < s.n; i++) assert_true(isfinite(s.x[i]));
        assert_true(crossings(s.rig, s.x) <= crossings(s.rig, s.blend));
        sinew_skin_contact_info info = info_of(sinew_skin_contact, s.state);
        if (info.unchanged) assert_memory_equal(s.x, s.blend, s.n * sizeof(double));
    }
    blend(&s);
    s.x[7] = NAN;
    assert_int_equal(sinew_skin_contact_apply(s.state, s.x, NULL, &error), SINEW_BAD_INPUT);
    pose(&s, 0);
    apply(&s); /* the state is as good as new */
    assert_int_equal(crossings(s.rig, s.x), 0);
    release(&s);
}

/* A bar bent by 216 degrees without rotation collapses onto its axis: thousands of pairs meet on a
 * surface of a thousand vertices. The short steps before are pressed, nothing after them. */
static void a_shape_that_lies_on_itself_everywhere_has_no_contact(void **state) {
    (void)state;
    setup s = make_of("bar", 1000);
    sinew_rig_rest_weights(s.rig, s.weights);
    set(&s, "bend270", 0.8);
    apply(&s);
    sinew_skin_contact_info info = info_of(sinew_skin_contact, s.state);
    assert_true(info.unchanged);
    assert_int_equal(info.contacts, 0);
    assert_memory_equal(s.x, s.blend, s.n * sizeof(double));
    assert_true(info.steps > 6); /* it was halved down to the shortest, not refused at once */
    sinew_rig_rest_weights(s.rig, s.weights);
    set(&s, "bend270", 0.5);
    apply(&s); /* fewer pairs: these are pressed apart */
    info = info_of(sinew_skin_contact, s.state);
    assert_false(info.unchanged);
    assert_true(crossings(s.rig, s.x) < crossings(s.rig, s.blend));
    release(&s);
}

static bool now(void *user) {
    return --*(int *)user < 0;
}

static void a_cancelled_call_leaves_the_shape(void **state) {
    (void)state;
    sinew_error error = {0};
    setup s = make();
    pose(&s, 0);
    int polls = 0;
    sinew_monitor monitor = {.cancelled = now, .user = &polls};
    blend(&s);
    assert_int_equal(sinew_skin_contact_apply(s.state, s.x, &monitor, &error), SINEW_CANCELLED);
    assert_memory_equal(s.x, s.blend, s.n * sizeof(double));
    apply(&s);
    assert_int_equal(crossings(s.rig, s.x), 0);
    release(&s);
}

static void a_rig_without_triangles_is_named(void **state) {
    (void)state;
    sinew_error error = {0};
    const double x[3] = {0, 0, 0};
    sinew_mesh *mesh;
    sinew_rig *rig;
    sinew_skin_contact *contact;
    int none = 0;
    assert_ok(sinew_mesh_create(1, x, 0, NULL, &none, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_int_equal(sinew_skin_contact_create(rig, NULL, NULL, &contact, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "no triangles"));
    assert_null(contact);
    sinew_rig_destroy(rig);
}

int test_skin_contact(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lids_and_lips_of_a_blend_do_not_cross),
        cmocka_unit_test(a_body_does_not_change_the_contact_of_its_face),
        cmocka_unit_test(nor_does_it_where_no_target_finds_the_eyes),
        cmocka_unit_test(shapes_without_contact_keep_their_bits),
        cmocka_unit_test(neither_order_nor_threads_change_a_bit),
        cmocka_unit_test(contact_follows_a_slider_smoothly),
        cmocka_unit_test(hair_gives_way_without_a_jump),
        cmocka_unit_test(hair_close_to_the_skin_gives_way_without_a_jump),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(lids_stay_on_eyeballs_that_they_intersect_at_rest),
        cmocka_unit_test(a_dragged_bowl_presses_where_it_ends),
        cmocka_unit_test(wild_shapes_come_back_as_they_are_or_better),
        cmocka_unit_test(a_shape_that_lies_on_itself_everywhere_has_no_contact),
        cmocka_unit_test(a_cancelled_call_leaves_the_shape),
        cmocka_unit_test(a_rig_without_triangles_is_named),
    };
    return cmocka_run_group_tests_name("skin contact", tests, NULL, NULL);
}
