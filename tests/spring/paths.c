/* Paths of frames over surfaces as scanners give them: irregular, noisy in every pose, open, and
 * crossing themselves. Reference: angles between neighboring triangles, measured here. */
#include "support.h"

#include "base/memory.h"
#include "base/rotation.h"
#include "base/vec3.h"
#include "bodies.h"
#include "groups.h"
#include "sinew/rotation.h"
#include "sinew/spring.h"

enum { ALONG = 60, AROUND = 14, STEPS = 24 };
static const double LENGTH = 20, RADIUS = 1;

/* A tube along x with open ends, random diagonals and vertices off their places. */
static sinew_mesh *make_tube(void) {
    sinew_error error = {0};
    sinew_mesh *mesh = NULL;
    double *positions = SN_NEW(double, 3 * ALONG * AROUND);
    int *start = SN_NEW0(int, 2 * (ALONG - 1) * AROUND + 1);
    int *corners = SN_NEW(int, 6 * (ALONG - 1) * AROUND), count = 0;
    uint64_t seed = 5;
    for (int i = 0; i < ALONG; i++)
        for (int j = 0; j < AROUND; j++) {
            double u = (i + 0.35 * test_random(&seed)) * LENGTH / (ALONG - 1);
            double a = 2 * M_PI * (j + 0.35 * test_random(&seed)) / AROUND;
            sn_put(positions, AROUND * i + j, sn_v3(u, RADIUS * cos(a), RADIUS * sin(a)));
        }
    for (int i = 0; i + 1 < ALONG; i++)
        for (int j = 0; j < AROUND; j++) {
            int a = AROUND * i + j, b = AROUND * i + (j + 1) % AROUND;
            int c = b + AROUND, d = a + AROUND;
            const int one[6] = {a, b, d, d, b, c}, other[6] = {a, c, d, a, b, c};
            memcpy(corners + 3 * count, test_random(&seed) > 0 ? one : other, sizeof one);
            count += 2;
            start[count - 1] = 3 * (count - 1), start[count] = 3 * count;
        }
    assert_ok(sinew_mesh_create(ALONG * AROUND, positions, count, start, corners, &mesh, &error));
    sn_free(positions), sn_free(start), sn_free(corners);
    return mesh;
}

/* Bent by so many radians, with noise of its own. */
static void bend_with_noise(const sinew_mesh *tube, double angle, uint64_t seed, double *to) {
    test_bend(tube->vertex_count, tube->positions, LENGTH, angle, to);
    for (int k = 0; k < 3 * tube->vertex_count; k++) to[k] += 0.1 * test_random(&seed);
}

/* From a tube that overlaps itself in more than a full circle, or a straight one, to half a circle.
 */
static sinew_rig *make_rig(bool crossing) {
    sinew_error error = {0};
    sinew_mesh *tube = make_tube(), *neutral = NULL;
    sinew_rig *rig = NULL;
    double *pose = SN_NEW(double, 3 * tube->vertex_count);
    assert_ok(sinew_mesh_copy(tube, &neutral, &error));
    bend_with_noise(tube, crossing ? 6.6 : 0.01, 17, neutral->positions);
    bend_with_noise(tube, 3, 29, pose);
    assert_ok(sinew_rig_create(neutral, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "pose", pose, &error));
    sn_free(pose);
    sinew_mesh_destroy(tube);
    return rig;
}

/* Signed angle in degrees between the two triangles at corner c of triangle t, or NaN. */
static double angle_at(const sinew_mesh *mesh, const double *x, int t, int c) {
    int a = mesh->triangles[3 * t + c], b = mesh->triangles[3 * t + (c + 1) % 3];
    if (a > b) return NAN; /* each edge once */
    for (int other = 3 * (t - 4 * AROUND < 0 ? 0 : t - 4 * AROUND);
         other < 3 * mesh->triangle_count && other < 3 * (t + 4 * AROUND); other++) {
        int from = mesh->triangles[other],
            to = mesh->triangles[other % 3 == 2 ? other - 2 : other + 1];
        if (from != b || to != a) continue;
        int far = mesh->triangles[3 * (other / 3) + (other % 3 + 2) % 3];
        sn_vec3 o = sn_at(x, a), e = sn_sub(sn_at(x, b), o);
        sn_vec3 m = sn_cross(e, sn_sub(sn_at(x, mesh->triangles[3 * t + (c + 2) % 3]), o));
        sn_vec3 n = sn_cross(sn_sub(sn_at(x, far), o), e);
        return atan2(sn_dot(sn_cross(m, n), e) / sn_length(e), sn_dot(m, n)) * 180 / M_PI;
    }
    return NAN;
}

static double turned(double from, double to) {
    double d = fabs(to - from);
    return d > 180 ? 360 - d : d;
}

/* Edges whose angle changes by over 20 degrees more in one step than an even path would. */
static int count_popping(const sinew_mesh *mesh, double *const *frames) {
    int popping = 0;
    for (int t = 0; t < mesh->triangle_count; t++)
        for (int c = 0; c < 3; c++) {
            double first = angle_at(mesh, frames[0], t, c), before = first, largest = 0;
            if (isnan(first)) continue;
            for (int f = 1; f <= STEPS; f++) {
                double now = angle_at(mesh, frames[f], t, c);
                largest = fmax(largest, turned(before, now));
                before = now;
            }
            popping += largest - turned(first, before) / STEPS > 20;
        }
    return popping;
}

typedef struct path {
    double *frames[STEPS + 1];
    int newton_steps;
    sinew_spring_info info;
} path;

static void path_create(const sinew_rig *rig, const sinew_spring_options *options, path *p) {
    sinew_error error = {0};
    sinew_spring *spring = NULL;
    sinew_spring_state *state = NULL;
    *p = (path){.info.size = sizeof p->info};
    assert_ok(sinew_spring_create(rig, options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &state, &error));
    assert_ok(sinew_spring_get_info(spring, &p->info));
    for (int f = 0; f <= STEPS; f++) {
        p->frames[f] = SN_NEW(double, 3 * rig->neutral->vertex_count);
        const double weight = (double)f / STEPS;
        sinew_spring_frame frame = {.size = sizeof frame, .weights = &weight, .index = f};
        sinew_spring_frame_info info = {.size = sizeof info};
        assert_ok(sinew_spring_solve(spring, state, &frame, p->frames[f], &info, NULL, &error));
        p->newton_steps += info.iterations;
    }
    sinew_spring_state_destroy(state);
    sinew_spring_destroy(spring);
}

static void path_free(path *p) {
    for (int f = 0; f <= STEPS; f++) sn_free(p->frames[f]);
}

static int count_popping_of_rotation(const sinew_rig *rig) {
    sinew_error error = {0};
    sinew_rotation *rotation = NULL;
    sinew_rotation_state *state = NULL;
    path p = {0};
    assert_ok(sinew_rotation_create(rig, NULL, NULL, &rotation, &error));
    assert_ok(sinew_rotation_state_create(rotation, &state, &error));
    for (int f = 0; f <= STEPS; f++) {
        const double weight = (double)f / STEPS;
        p.frames[f] = SN_NEW(double, 3 * rig->neutral->vertex_count);
        sinew_rotation_evaluate(rotation, state, &weight, p.frames[f]);
    }
    int popping = count_popping(rig->neutral, p.frames);
    path_free(&p);
    sinew_rotation_state_destroy(state);
    sinew_rotation_destroy(rotation);
    return popping;
}

static void check_popping(bool crossing) {
    sinew_rig *rig = make_rig(crossing);
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    path p;
    path_create(rig, &options, &p);
    int popping = count_popping(rig->neutral, p.frames);
    assert_in_range(popping, 0, count_popping_of_rotation(rig));
    assert_below(p.newton_steps, 4 * STEPS);
    path_free(&p);
    /* lengths alone pop on the same surface */
    options.guide = options.altitude = 0;
    options.interior = SINEW_SPRING_INTERIOR_NONE;
    path_create(rig, &options, &p);
    assert_true(count_popping(rig->neutral, p.frames) > popping + 10);
    path_free(&p);
    sinew_rig_destroy(rig);
}

static void open_surfaces_do_not_pop(void **state) {
    (void)state;
    check_popping(false);
}

static void surfaces_that_cross_themselves_do_not_pop(void **state) {
    (void)state;
    check_popping(true);
}

/* A crossing costs the struts around it and no others. */
static void crossing_surfaces_have_struts(void **state) {
    (void)state;
    for (int crossing = 0; crossing < 2; crossing++) {
        sinew_error error = {0};
        sinew_rig *rig = make_rig(crossing);
        sinew_spring *spring = NULL;
        assert_ok(sinew_spring_create(rig, NULL, NULL, &spring, &error));
        sinew_spring_info info = {.size = sizeof info};
        assert_ok(sinew_spring_get_info(spring, &info));
        assert_string_equal(info.interior, "struts");
        assert_true(info.kind_count[SINEW_SPRING_KIND_INTERNAL] > rig->neutral->vertex_count / 3);
        sinew_spring_destroy(spring);
        sinew_rig_destroy(rig);
    }
}

/* A sheet rolled up to three quarters of a circle, along the other side in the pose. */
static void the_hollow_of_a_rolled_sheet_is_not_an_inside(void **state) {
    (void)state;
    enum { SIDE = 11 };
    sinew_error error = {0};
    double rest[3 * SIDE * SIDE], pose[3 * SIDE * SIDE];
    int triangles[6 * SIDE * SIDE], count = 0;
    const double bow = 1.5 * M_PI;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            double u = (double)i / (SIDE - 1), v = (double)j / (SIDE - 1);
            sn_put(rest, SIDE * i + j, sn_v3(sin(bow * u) / bow, v, cos(bow * u) / bow));
            sn_put(pose, SIDE * i + j, sn_v3(u, sin(bow * v) / bow, cos(bow * v) / bow));
        }
    for (int i = 0; i + 1 < SIDE; i++)
        for (int j = 0; j + 1 < SIDE; j++) {
            int a = SIDE * i + j;
            const int two[6] = {a, a + SIDE, a + 1, a + 1, a + SIDE, a + SIDE + 1};
            memcpy(triangles + 3 * count, two, sizeof two), count += 2;
        }
    for (int rolled = 0; rolled < 2; rolled++) {
        sinew_mesh *mesh = NULL;
        sinew_rig *rig = NULL;
        path p;
        assert_ok(sinew_mesh_create(SIDE * SIDE, rest, count, NULL, triangles, &mesh, &error));
        assert_ok(sinew_rig_create(mesh, &rig, &error));
        assert_ok(sinew_rig_add_pose(rig, "pose", rolled ? pose : rest, &error));
        path_create(rig, NULL, &p);
        int struts = p.info.kind_count[SINEW_SPRING_KIND_INTERNAL];
        if (rolled)
            assert_int_equal(struts, 0);
        else
            assert_true(struts > 20); /* nothing tells it from a tube */
        path_free(&p);
        sinew_rig_destroy(rig);
    }
}

static void a_clip_agrees_with_independent_frames(void **state) {
    (void)state;
    sinew_rig *rig = make_rig(true);
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    path clip, alone;
    path_create(rig, &options, &clip);
    options.independent = true;
    path_create(rig, &options, &alone);
    double diagonal = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    for (int f = 0; f <= STEPS; f++)
        for (int k = 0; k < 3 * rig->neutral->vertex_count; k++)
            assert_close(clip.frames[f][k], alone.frames[f][k], 2e-5 * diagonal);
    assert_true(clip.newton_steps < alone.newton_steps);
    path_free(&clip), path_free(&alone);
    sinew_rig_destroy(rig);
}

/* Where nothing rotates, springs do as linear blending does. */
static void check_growth(bool tets) {
    sinew_error error = {0};
    test_block block;
    test_block_create(4, 3, 3, &block);
    int n = block.mesh->vertex_count;
    sinew_mesh *neutral = NULL;
    sinew_rig *rig = NULL;
    double *pose = SN_NEW(double, 3 * n), *x = SN_NEW(double, 3 * n);
    assert_ok(sinew_mesh_copy(block.mesh, &neutral, &error));
    for (int k = 0; k < 3 * n; k++) pose[k] = 1.8 * neutral->positions[k];
    assert_ok(sinew_rig_create(neutral, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "large", pose, &error));
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    if (tets) options.tets = &block.tets;
    sinew_spring *spring = NULL;
    sinew_spring_state *state = NULL;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &state, &error));
    const double weight = 0.5;
    sinew_spring_frame frame = {.size = sizeof frame, .weights = &weight, .index = -1};
    assert_ok(sinew_spring_solve(spring, state, &frame, x, NULL, NULL, &error));
    const int *t = neutral->triangles;
    for (int c = 0; c < 3 * neutral->triangle_count; c++) {
        int a = t[c], b = t[c % 3 == 2 ? c - 2 : c + 1];
        double rest = sn_distance(sn_at(neutral->positions, a), sn_at(neutral->positions, b));
        assert_close(sn_distance(sn_at(x, a), sn_at(x, b)), 1.4 * rest, 1e-5 * rest);
    }
    sinew_spring_state_destroy(state);
    sinew_spring_destroy(spring);
    sn_free(pose), sn_free(x);
    sinew_rig_destroy(rig);
    test_block_free(&block);
}

static void growth_keeps_lengths(void **state) {
    (void)state;
    check_growth(false);
    check_growth(true);
}

/* A triangle that has no area at rest opens in the pose: the pose is met, and no step is needed. */
static void triangles_without_area_at_rest_meet_their_pose(void **state) {
    (void)state;
    sinew_error error = {0};
    const double positions[12] = {0, 0, 0, 1, 0, 0, 0.5, 1, 0, 0.4, 0, 0};
    const double pose[12] = {0, 0, 0, 1, 0.1, 0, 0.5, 1, 0.2, 0.45, -0.3, 0.1};
    const int faces[6] = {0, 1, 2, 0, 3, 1};
    sinew_mesh *mesh;
    sinew_rig *rig;
    sinew_spring *spring;
    sinew_spring_state *own;
    assert_ok(sinew_mesh_create(4, positions, 2, NULL, faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "open", pose, &error));
    assert_ok(sinew_spring_create(rig, NULL, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &own, &error));
    const double full = 1;
    double x[12];
    sinew_spring_frame_info info = {.size = sizeof info};
    sinew_spring_frame frame = {.size = sizeof frame, .weights = &full, .index = -1};
    assert_ok(sinew_spring_solve(spring, own, &frame, x, &info, NULL, &error));
    for (int v = 0; v < 4; v++) assert_below(sn_distance(sn_at(x, v), sn_at(pose, v)), 1e-6);
    assert_int_equal(info.iterations, 0);
    sinew_spring_state_destroy(own);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}

/* Two plates, one above the other. One is pulled up at a corner: with ties the other follows, and
 * poses stay exact. */
static void ties_hold_parts_together_under_load(void **state) {
    (void)state;
    enum { N = 6, SIDE = N + 1, COUNT = 2 * SIDE * SIDE };
    double positions[3 * COUNT], pose[3 * COUNT], x[3 * COUNT], moved[2];
    int triangles[2 * 6 * N * N], count = 0;
    for (int part = 0; part < 2; part++)
        for (int i = 0; i <= N; i++)
            for (int j = 0; j <= N; j++) {
                int at = (part * SIDE + i) * SIDE + j;
                sn_put(positions, at, sn_v3(i, j, 0.05 * part));
                sn_put(pose, at, sn_v3(i, j, 0.05 * part + 0.1 * i * i));
                if (i == N || j == N) continue;
                int quad[6] = {at, at + SIDE, at + SIDE + 1, at, at + SIDE + 1, at + 1};
                memcpy(triangles + 6 * count++, quad, sizeof quad);
            }
    for (int tied = 0; tied < 2; tied++) {
        sinew_error error = {0};
        sinew_mesh *mesh;
        sinew_rig *rig;
        sinew_spring *spring;
        sinew_spring_state *own;
        assert_ok(sinew_mesh_create(COUNT, positions, 2 * count, NULL, triangles, &mesh, &error));
        assert_ok(sinew_rig_create(mesh, &rig, &error));
        assert_ok(sinew_rig_add_pose(rig, "bent", pose, &error));
        sinew_spring_options options;
        sinew_spring_options_init(&options);
        options.tie_distance = tied ? 0.025 : 0;
        assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
        assert_ok(sinew_spring_state_create(spring, &own, &error));
        const double none = 0, full = 1;
        sinew_spring_pull pull = {.vertex = 0, .position = {0, 0, 2}, .stiffness = INFINITY};
        sinew_spring_frame frame = {
            .size = sizeof frame, .weights = &none, .index = -1, .pull_count = 1, .pulls = &pull};
        assert_ok(sinew_spring_solve(spring, own, &frame, x, NULL, NULL, &error));
        moved[tied] = sn_distance(sn_at(x, SIDE * SIDE), sn_at(positions, SIDE * SIDE));
        frame.weights = &full, frame.pull_count = 0;
        assert_ok(sinew_spring_solve(spring, own, &frame, x, NULL, NULL, &error));
        for (int v = 0; v < COUNT; v++)
            assert_below(sn_distance(sn_at(x, v), sn_at(pose, v)), 1e-4);
        sinew_spring_state_destroy(own);
        sinew_spring_destroy(spring);
        sinew_rig_destroy(rig);
    }
    print_message("the other plate moves by %.3f apart, %.3f tied\n", moved[0], moved[1]);
    assert_below(moved[0], 0.05);
    assert_below(1.5, moved[1]);
}

/* Strips of (COLUMNS + 1) x 3 vertices along x. */
enum { COLUMNS = 16, STRIPS = 9, PLUMES = 3 * (COLUMNS + 1) * STRIPS };

/* The body's strip lies below; feathers lie on it side by side, roll about their own length, curl,
 * and bend with it. Strip 0 is the body. */
static sn_vec3 feathered(int strip, int i, int j, double t) {
    double x = 20.0 * i / COLUMNS, wide = strip ? 0.5 : 3;
    sn_vec3 own = sn_v3(0, 0, wide * (j - 1)), p;
    double roll = strip ? 3.1 * sin(7.1 * strip) : 0, curl = strip ? 0.5 * sin(3.3 * strip) : 0;
    own = sn_mat3_apply(sn_rotation_exp(sn_v3(t * roll, 0, 0)), own);
    double height = strip ? 0.1 * strip + t * curl * (x / 20) * (x / 20) : 0;
    p = sn_add(own, sn_v3(x, height, strip ? 0.25 * (strip - 4.5) : 0));
    double angle = 1.9 * t * x / 20, radius = t > 0 ? 20 / (1.9 * t) : 0;
    if (t == 0) return p;
    return sn_v3((radius - p.y) * sin(angle), radius - (radius - p.y) * cos(angle), p.z);
}

/* Every pair of vertices of different strips within 2% of the diagonal in both poses. */
static double strips_drift(const double *rest, const double *pose, const double *x) {
    double worst = 0, diagonal = sinew_diagonal(PLUMES, rest);
    for (int a = 0; a < PLUMES; a++)
        for (int b = a + 1; b < PLUMES; b++) {
            if (a / (3 * (COLUMNS + 1)) == b / (3 * (COLUMNS + 1))) continue;
            double most = fmax(sn_distance(sn_at(rest, a), sn_at(rest, b)),
                               sn_distance(sn_at(pose, a), sn_at(pose, b)));
            if (most < 0.02 * diagonal)
                worst = fmax(worst, sn_distance(sn_at(x, a), sn_at(x, b)) - most);
        }
    return worst / diagonal;
}

static void feathers_stay_on_a_bending_body(void **state) {
    (void)state;
    double rest[3 * PLUMES], pose[3 * PLUMES], x[3 * PLUMES];
    int triangles[12 * COLUMNS * STRIPS], count = 0;
    for (int v = 0; v < PLUMES; v++) {
        int strip = v / (3 * (COLUMNS + 1)), i = v / 3 % (COLUMNS + 1), j = v % 3;
        sn_put(rest, v, feathered(strip, i, j, 0));
        sn_put(pose, v, feathered(strip, i, j, 1));
        if (i == COLUMNS || j == 2) continue;
        int quad[6] = {v, v + 1, v + 4, v, v + 4, v + 3};
        memcpy(triangles + 6 * count++, quad, sizeof quad);
    }
    sinew_error error = {0};
    sinew_mesh *mesh;
    sinew_rig *rig;
    sinew_spring *spring;
    sinew_spring_state *own;
    assert_ok(sinew_mesh_create(PLUMES, rest, 2 * count, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "ruffled", pose, &error));
    assert_ok(sinew_spring_create(rig, NULL, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &own, &error));
    for (int k = 0; k <= 4; k++) {
        double weight = k / 4.0;
        sinew_spring_frame frame = {.size = sizeof frame, .weights = &weight, .index = -1};
        assert_ok(sinew_spring_solve(spring, own, &frame, x, NULL, NULL, &error));
        double found = strips_drift(rest, pose, x);
        print_message("drift at %d/4: %.2f%%\n", k, 100 * found);
        assert_below(found, 0.01);
    }
    sinew_spring_state_destroy(own);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}

/* The rig cut in two after half of the triangles, copies of the vertices on the cut last;
 * original[vertex]. */
static sinew_rig *cut_rig(const sinew_rig *rig, int *original) {
    sinew_error error = {0};
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count, count = n, half = 3 * (mesh->triangle_count / 2);
    int *triangles = sn_memdup(mesh->triangles, 3 * (size_t)mesh->triangle_count, sizeof(int));
    int *copy = SN_NEW0(int, n);
    double *rest = SN_NEW(double, 6 * n), *pose = SN_NEW(double, 6 * n);
    memcpy(rest, mesh->positions, 3 * (size_t)n * sizeof *rest);
    memcpy(pose, rest, 3 * (size_t)n * sizeof *rest);
    for (int k = 0; k < 3 * rig->targets[0].count; k++)
        pose[3 * rig->targets[0].vertices[k / 3] + k % 3] += rig->targets[0].deltas[k];
    for (int v = 0; v < n; v++) original[v] = v;
    for (int k = 0; k < half; k++) copy[triangles[k]] = -1; /* used before the cut */
    for (int k = half; k < 3 * mesh->triangle_count; k++) {
        int v = triangles[k];
        if (copy[v] == -1) {
            memcpy(rest + 3 * count, rest + 3 * v, 3 * sizeof *rest);
            memcpy(pose + 3 * count, pose + 3 * v, 3 * sizeof *pose);
            original[count] = v, copy[v] = count++;
        }
        if (copy[v] > 0) triangles[k] = copy[v];
    }
    sinew_mesh *own = NULL;
    sinew_rig *cut = NULL;
    assert_ok(sinew_mesh_create(count, rest, mesh->triangle_count, NULL, triangles, &own, &error));
    assert_ok(sinew_rig_create(own, &cut, &error));
    assert_ok(sinew_rig_add_pose(cut, "pose", pose, &error));
    sn_free(triangles), sn_free(copy), sn_free(rest), sn_free(pose);
    return cut;
}

/* With a vertex on the cut pulled, another pinned, and a force on a third: each by its copy. */
static void solve_loaded(const sinew_rig *rig, const int *loaded, double *x) {
    sinew_error error = {0};
    sinew_spring *spring = NULL;
    sinew_spring_state *own = NULL;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.pins = loaded, options.pin_count = 1;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &own, &error));
    const double weight = 0.5, at[3] = {9, 2.5, 0};
    double *forces = SN_NEW0(double, 3 * rig->neutral->vertex_count);
    forces[3 * loaded[2] + 1] = 0.5;
    sinew_spring_pull pull = {.vertex = loaded[1], .position = {9, 2.5, 0}, .stiffness = INFINITY};
    sinew_spring_frame frame = {.size = sizeof frame,
                                .weights = &weight,
                                .index = -1,
                                .pin_positions = at,
                                .pulls = &pull,
                                .pull_count = 1,
                                .forces = forces};
    pull.position[0] += 1;
    assert_ok(sinew_spring_solve(spring, own, &frame, x, NULL, NULL, &error));
    sn_free(forces);
    sinew_spring_state_destroy(own);
    sinew_spring_destroy(spring);
}

static void a_tube_in_pieces_behaves_as_the_whole_one(void **state) {
    (void)state;
    sinew_rig *whole = make_rig(false);
    int n = whole->neutral->vertex_count, *original = SN_NEW(int, 2 * n);
    sinew_rig *cut = cut_rig(whole, original);
    int count = cut->neutral->vertex_count, seam = count - n;
    assert_true(seam >= AROUND);
    const int copies[3] = {n, n + seam / 2, count - 1};
    const int loaded[3] = {original[copies[0]], original[copies[1]], original[copies[2]]};
    double *expected = SN_NEW(double, 3 * n), *x = SN_NEW(double, 3 * count);
    solve_loaded(whole, loaded, expected);
    solve_loaded(cut, copies, x);
    for (int v = 0; v < count; v++) {
        assert_below(sn_distance(sn_at(x, v), sn_at(expected, original[v])), 1e-4);
        assert_memory_equal(x + 3 * v, x + 3 * original[v], 3 * sizeof(double));
    }
    sn_free(expected), sn_free(x), sn_free(original);
    sinew_rig_destroy(whole), sinew_rig_destroy(cut);
}

int test_paths(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_surfaces_do_not_pop),
        cmocka_unit_test(surfaces_that_cross_themselves_do_not_pop),
        cmocka_unit_test(crossing_surfaces_have_struts),
        cmocka_unit_test(the_hollow_of_a_rolled_sheet_is_not_an_inside),
        cmocka_unit_test(a_clip_agrees_with_independent_frames),
        cmocka_unit_test(growth_keeps_lengths),
        cmocka_unit_test(triangles_without_area_at_rest_meet_their_pose),
        cmocka_unit_test(ties_hold_parts_together_under_load),
        cmocka_unit_test(feathers_stay_on_a_bending_body),
        cmocka_unit_test(a_tube_in_pieces_behaves_as_the_whole_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
