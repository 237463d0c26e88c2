#include "support.h"

#include "contact/left_out.h"
#include "contact/pairs.h"
#include "groups.h"
#include "mesh/embedded.h"
#include "sinew/mesh.h"
#include "sinew/query.h"

/* The least distance of a pair by brute force over a fine grid of both parts. */
static double sampled_distance(const sn_contact_pair *pair, const double *x) {
    enum { GRID = 200 };
    double least = INFINITY;
    for (int i = 0; i <= GRID; i++)
        for (int j = 0; j <= GRID; j++) {
            double s = (double)i / GRID, t = (double)j / GRID;
            sn_vec3 a, b;
            if (pair->edges) {
                a = sn_lerp(sn_at(x, pair->v[0]), sn_at(x, pair->v[1]), s);
                b = sn_lerp(sn_at(x, pair->v[2]), sn_at(x, pair->v[3]), t);
            } else {
                if (s + t > 1) continue;
                a = sn_at(x, pair->v[0]);
                b = sn_add(sn_add(sn_scale(1 - s - t, sn_at(x, pair->v[1])),
                                  sn_scale(s, sn_at(x, pair->v[2]))),
                           sn_scale(t, sn_at(x, pair->v[3])));
            }
            least = fmin(least, sn_distance(a, b));
        }
    return least;
}

static void distances_agree_with_sampling(void **state) {
    (void)state;
    uint64_t seed = 9;
    for (int run = 0; run < 60; run++) {
        double x[12], weight[4];
        sn_vec3 normal;
        for (int i = 0; i < 12; i++) x[i] = test_random(&seed);
        sn_contact_pair pair = {.v = {0, 1, 2, 3}, .edges = run % 2};
        double distance = sn_contact_distance(&pair, x, weight, &normal);
        assert_close(distance, sampled_distance(&pair, x), 0.01);
        assert_below(distance, sampled_distance(&pair, x) + 1e-12);
        /* weights and normal say the same, and the weights balance */
        sn_vec3 apart = {0, 0, 0};
        double sum = 0;
        for (int i = 0; i < 4; i++) {
            apart = sn_add_scaled(apart, weight[i], sn_at(x, i));
            sum += weight[i];
        }
        assert_close(sum, 0, 1e-12);
        assert_close(sn_dot(apart, normal), distance, 1e-12);
    }
}

static void edges_that_are_parallel_or_points_have_a_distance(void **state) {
    (void)state;
    double x[12] = {0, 0, 0, 1, 0, 0, 0.5, 1, 0, 2, 1, 0}, weight[4];
    sn_vec3 normal;
    sn_contact_pair pair = {.v = {0, 1, 2, 3}, .edges = true};
    assert_close(sn_contact_distance(&pair, x, weight, &normal), 1, 1e-12);
    double points[12] = {0, 0, 0, 0, 0, 0, 3, 4, 0, 3, 4, 0};
    assert_close(sn_contact_distance(&pair, points, weight, &normal), 5, 1e-12);
}

static void impacts_come_before_the_crossing_and_not_long_before(void **state) {
    (void)state;
    /* a vertex falls through a triangle at half the way */
    double x0[12] = {0.2, 0.2, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0}, x1[12];
    memcpy(x1, x0, sizeof x0);
    x1[2] = -1;
    sn_contact_pair pair = {.v = {0, 1, 2, 3}, .edges = false};
    double t = sn_contact_impact(&pair, x0, x1, 1e-3);
    assert_true(t < 0.5 && t > 0.4);
    x1[2] = 0.5; /* stops above it */
    assert_close(sn_contact_impact(&pair, x0, x1, 1e-3), 1, 0);
    /* random ways never end nearer than the reach */
    uint64_t seed = 4;
    for (int run = 0; run < 400; run++) {
        double a[12], b[12], c[12], weight[4];
        sn_vec3 normal;
        for (int i = 0; i < 12; i++) a[i] = test_random(&seed), b[i] = test_random(&seed);
        sn_contact_pair any = {.v = {0, 1, 2, 3}, .edges = run % 2};
        double share = sn_contact_impact(&any, a, b, 0.01);
        if (sn_contact_distance(&any, a, weight, &normal) <= 0.01) continue;
        for (int k = 0; k <= 20; k++) {
            for (int i = 0; i < 12; i++) c[i] = a[i] + share * k / 20 * (b[i] - a[i]);
            assert_true(sn_contact_distance(&any, c, weight, &normal) > 0.01);
        }
    }
}

/* Never wrong when it says so, and it says so of most that do. */
static void what_stays_apart_is_never_near(void **state) {
    (void)state;
    uint64_t seed = 9;
    int apart = 0, said = 0;
    for (int run = 0; run < 2000; run++) {
        double a[12], b[12], c[12], weight[4], nearest = INFINITY;
        sn_vec3 normal;
        sn_contact_pair any = {.v = {0, 1, 2, 3}, .edges = run % 2};
        for (int i = 0; i < 12; i++)
            a[i] = test_random(&seed), b[i] = a[i] + 0.3 * test_random(&seed) + 0.5;
        for (int k = 0; k <= 50; k++) {
            for (int i = 0; i < 12; i++) c[i] = a[i] + k / 50.0 * (b[i] - a[i]);
            nearest = fmin(nearest, sn_contact_distance(&any, c, weight, &normal));
        }
        bool claim = sn_contact_stays_apart(&any, a, b, 0.1);
        if (claim) assert_true(nearest > 0.1 - 1e-12);
        apart += nearest > 0.1, said += claim;
    }
    assert_true(apart < 2000 && said > apart / 2);
}

enum { SIDE = 8, SHEET = SIDE * SIDE };

/* Two bumpy sheets, one above the other. */
static void two_sheets(double *x, int *triangles, int *count) {
    *count = 0;
    for (int s = 0; s < 2; s++) {
        for (int v = 0; v < SHEET; v++) {
            double *p = x + 3 * (s * SHEET + v);
            p[0] = v % SIDE + 0.13 * s, p[1] = v / SIDE + 0.29 * s;
            p[2] = s + 0.2 * sin(2.0 * p[0] + p[1]);
        }
        for (int j = 0; j + 1 < SIDE; j++)
            for (int i = 0; i + 1 < SIDE; i++) {
                int a = s * SHEET + j * SIDE + i;
                int corner[6] = {a, a + 1, a + SIDE + 1, a, a + SIDE + 1, a + SIDE};
                memcpy(triangles + 3 * *count, corner, sizeof corner);
                *count += 2;
            }
    }
}

static int crossings(const double *x, const int *triangles, int count) {
    sinew_error error = {0};
    int *pairs, found;
    assert_ok(
        sinew_self_intersections(2 * SHEET, x, count, triangles, NULL, &pairs, &found, &error));
    sinew_free(pairs);
    return found;
}

static void a_way_that_is_cut_back_never_crosses(void **state) {
    (void)state;
    sinew_error error = {0};
    double x[6 * SHEET], goal[6 * SHEET], start[6 * SHEET], cut;
    int triangles[12 * SHEET], count, crossed = 0;
    two_sheets(x, triangles, &count);
    sn_contact_surface *surface;
    sn_contact_work *work;
    assert_ok(sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, NULL, 1e-3, &surface,
                                        &error));
    assert_ok(sn_contact_work_create(surface, &work, &error));
    memcpy(start, x, sizeof x);
    uint64_t seed = 6;
    for (int frame = 0; frame < 6; frame++) {
        for (int i = 0; i < 6 * SHEET; i++)
            goal[i] = start[i] + 0.05 * test_random(&seed) -
                      (i % 3 == 2 && i >= 3 * SHEET ? 0.25 * frame : 0);
        crossed += crossings(goal, triangles, count) > 0;
        double next[6 * SHEET];
        memcpy(next, goal, sizeof goal);
        assert_ok(sn_contact_cut_back(surface, work, x, next, &cut, &error));
        for (int i = 0; i < 6 * SHEET; i++) next[i] = (double)(float)next[i]; /* as files do */
        assert_int_equal(crossings(next, triangles, count), 0);
        if (frame == 0) assert_close(cut, 1, 0); /* nothing in the way: nothing is cut */
        memcpy(x, next, sizeof x);
    }
    assert_true(crossed > 0);
    sn_contact_work_destroy(work);
    sn_contact_surface_destroy(surface);
}

/* The tip of a triangle falls through another: it stops just above, whichever of the two is listed
 * first, and what meets nothing goes all of its way. */
static void a_tip_stops_above_what_it_falls_on(void **state) {
    (void)state;
    sinew_error error = {0};
    const double tip[9] = {0, 0, 1, 0.5, 0, 3, -0.5, 0.1, 3},
                 floor[9] = {-2, -2, 0, 2, -2, 0, 0, 3, 0};
    const int triangles[6] = {0, 1, 2, 3, 4, 5};
    for (int order = 0; order < 2; order++) {
        double x[18], next[18], goal[18], cut;
        memcpy(x + (order ? 9 : 0), tip, sizeof tip);
        memcpy(x + (order ? 0 : 9), floor, sizeof floor);
        memcpy(goal, x, sizeof x);
        int first = order ? 3 : 0;
        for (int v = first; v < first + 3; v++) goal[3 * v + 2] -= 1.5;
        memcpy(next, goal, sizeof goal);
        sn_contact_surface *surface;
        sn_contact_work *work;
        assert_ok(
            sn_contact_surface_create(6, x, 2, triangles, NULL, NULL, 1e-3, &surface, &error));
        assert_ok(sn_contact_work_create(surface, &work, &error));
        assert_ok(sn_contact_cut_back(surface, work, x, next, &cut, &error));
        assert_true(next[3 * first + 2] > 1e-4 && next[3 * first + 2] < 0.1);
        assert_close(cut, (1 - next[3 * first + 2]) / 1.5, 1e-12);
        for (int k = 0; k < 18; k++)
            if (k != 3 * first + 2) assert_close(next[k], goal[k], 0);
        sn_contact_work_destroy(work);
        sn_contact_surface_destroy(surface);
    }
}

static void keep_line(sinew_log_level level, const char *line, void *user) {
    if (level == SINEW_LOG_LEVEL_WARNING) snprintf(user, 300, "%s", line);
}

/* Counts triangles that a surface leaves out by part, also where only one of their corners is not
 * in it, and names three parts at most, those with the most first. */
static void what_is_left_out_is_named_by_part(void **state) {
    (void)state;
    sinew_error error = {0};
    double x[6 * SHEET];
    int triangles[12 * SHEET], count;
    two_sheets(x, triangles, &count);
    sinew_mesh *mesh;
    sn_contact_surface *surface;
    assert_ok(sinew_mesh_create(2 * SHEET, x, count, NULL, triangles, &mesh, &error));
    assert_ok(sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, NULL, 1e-3, &surface,
                                        &error));
    char text[5][8] = {"brow", "cheek", "nose", "ear", "chin"};
    char *names[] = {text[0], text[1], text[2], text[3], text[4]};
    int *parts = calloc((size_t)count, sizeof *parts);
    bool used[2 * SHEET] = {false};
    static const int wanted[] = {1, 3, 0, 4, 2}; /* triangles of each part */
    int part = 0, had = 0;
    for (int t = 0; t < count; t++) parts[t] = -1;
    for (int t = 0; t < count; t++) { /* triangles without common corners */
        const int *v = triangles + 3 * t;
        for (; part < 5 && had == wanted[part]; part++) had = 0;
        if (part == 5) break;
        if (used[v[0]] || used[v[1]] || used[v[2]]) continue;
        for (int c = 0; c < 3; c++) used[v[c]] = true;
        parts[t] = part, had++;
    }
    int left = 0;
    for (int t = 0; t < count; t++) { /* one corner each, and what else has it is in no part */
        if (parts[t] < 0) continue;
        surface->place[triangles[3 * t + t % 3]] = -1;
        left++;
    }
    assert_int_equal(left, 1 + 3 + 4 + 2);
    char line[300] = "";
    sinew_monitor monitor = {.log = keep_line, .user = line};
    mesh->part_count = 5, mesh->part_names = names, mesh->face_part = parts;
    surface->triangle_count = 90;
    assert_ok(sn_contact_log_left_out(mesh, NULL, surface, 10, &monitor, &error));
    assert_string_equal(line, "contact leaves out 10 of 100 triangles where the neutral intersects "
                              "itself, most in ear, cheek, chin");
    mesh->part_count = 1, mesh->face_part = NULL; /* all faces belong to the first part */
    assert_ok(sn_contact_log_left_out(mesh, used, surface, 10, &monitor, &error));
    assert_non_null(strstr(line, "itself, most in brow"));
    mesh->part_count = 0, mesh->part_names = NULL, mesh->face_part = NULL;
    assert_ok(sn_contact_log_left_out(mesh, NULL, surface, 10, &monitor, &error));
    assert_non_null(strstr(line, "itself"));
    assert_null(strstr(line, "most in"));
    free(parts);
    sn_contact_surface_destroy(surface);
    sinew_mesh_destroy(mesh);
}

static void triangles_that_cross_at_rest_are_left_out(void **state) {
    (void)state;
    sinew_error error = {0};
    double x[6 * SHEET];
    int triangles[12 * SHEET], count;
    two_sheets(x, triangles, &count);
    for (int v = SHEET; v < 2 * SHEET; v++) x[3 * v + 2] -= 1;
    sn_contact_surface *surface;
    assert_ok(sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, NULL, 1e-3, &surface,
                                        &error));
    assert_true(surface->dropped > 0);
    assert_int_equal(surface->dropped + surface->triangle_count, count);
    sn_contact_surface_destroy(surface);
    /* A needle through one triangle: all corners of both are at a crossing, and no others. */
    two_sheets(x, triangles, &count);
    int pierced = 3 * 20, needle = 3 * (count - 1);
    double *tip[3];
    for (int c = 0; c < 3; c++) tip[c] = x + 3 * triangles[needle + c];
    for (int k = 0; k < 3; k++) {
        double middle = 0;
        for (int c = 0; c < 3; c++) middle += x[3 * triangles[pierced + c] + k] / 3;
        for (int c = 0; c < 3; c++) tip[c][k] = middle;
    }
    tip[0][2] -= 0.2, tip[1][2] += 0.2, tip[2][2] += 0.2, tip[2][0] += 0.01;
    assert_ok(sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, NULL, 1e-3, &surface,
                                        &error));
    int marked = 0;
    for (int c = 0; c < 3; c++) {
        assert_true(surface->crosses[triangles[pierced + c]]);
        assert_true(surface->crosses[triangles[needle + c]]);
    }
    for (int v = 0; v < 2 * SHEET; v++) marked += surface->crosses[v];
    assert_true(marked < SHEET);
    sn_contact_surface_destroy(surface);
}

/* Vertices of the second sheet that take part, and pairs between the sheets and within the second
 * one. */
static void count_meetings(const double *x, int count, const int *triangles, const bool *rigid,
                           int *takes, int *between, int *within) {
    sinew_error error = {0};
    sn_contact_surface *surface;
    sn_contact_work *work;
    const sn_contact_pair *pairs;
    int found;
    assert_ok(sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, rigid, 1e-3, &surface,
                                        &error));
    assert_ok(sn_contact_work_create(surface, &work, &error));
    assert_ok(sn_contact_find(surface, work, x, x, 1.5, &pairs, &found, &error));
    *takes = *between = *within = 0;
    for (int v = SHEET; v < 2 * SHEET; v++) *takes += surface->place[v] >= 0;
    for (int i = 0; i < found; i++) {
        bool first = pairs[i].v[0] >= SHEET, last = pairs[i].v[3] >= SHEET;
        *between += first != last, *within += first && last;
    }
    sn_contact_work_destroy(work);
    sn_contact_surface_destroy(surface);
}

/* As lips and teeth whose roots intersect the gums. */
static void rigid_parts_that_cross_each_other_meet_everything_else(void **state) {
    (void)state;
    sinew_error error = {0};
    double x[6 * SHEET];
    int triangles[12 * SHEET], count, takes, between, within;
    bool rigid[2 * SHEET];
    two_sheets(x, triangles, &count);
    for (int v = 0; v < 2 * SHEET; v++) rigid[v] = v >= SHEET;
    count_meetings(x, count, triangles, rigid, &takes, &between, &within);
    assert_int_equal(takes, SHEET);
    assert_true(between > 0 && within > 0);
    /* every other row of the second sheet passes through its neighbors */
    for (int v = SHEET; v < 2 * SHEET; v++)
        if (v / SIDE % 2) x[3 * v + 1] += 2.3, x[3 * v + 2] += 0.1;
    count_meetings(x, count, triangles, NULL, &takes, &between, &within);
    assert_int_equal(takes, 0);
    assert_int_equal(between, 0);
    count_meetings(x, count, triangles, rigid, &takes, &between, &within);
    assert_int_equal(takes, SHEET);
    assert_true(between > 0);
    assert_int_equal(within, 0);
    /* through the first sheet, which is not rigid: left out there all the same */
    for (int v = SHEET; v < SHEET + SIDE; v++) x[3 * v + 2] -= 1;
    sn_contact_surface *surface;
    assert_ok(sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, rigid, 1e-3, &surface,
                                        &error));
    int dropped = surface->dropped, crosses = 0;
    for (int v = 0; v < 2 * SHEET; v++) crosses += surface->crosses[v];
    sn_contact_surface_destroy(surface);
    assert_true(dropped > 0 && dropped < count);
    for (int v = 0; v < 2 * SHEET; v++) rigid[v] = true;
    assert_ok(sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, rigid, 1e-3, &surface,
                                        &error));
    assert_int_equal(surface->dropped, 0);
    for (int v = 0; v < 2 * SHEET; v++) crosses -= surface->crosses[v];
    assert_int_equal(crosses, 0);
    sn_contact_surface_destroy(surface);
}

/* The smaller of two sheets that pass through each other; a corner that pokes through is a flaw. */
static void a_piece_in_a_larger_one_is_embedded(void **state) {
    (void)state;
    sinew_error error = {0};
    double x[6 * SHEET];
    int triangles[12 * SHEET], count;
    bool embedded[2 * SHEET], crosses[2 * SHEET];
    for (int smaller = 0; smaller < 2; smaller++) {
        two_sheets(x, triangles, &count);
        for (int v = 0; v < SHEET; v++) {
            double *p = x + 3 * (smaller * SHEET + v);
            p[0] = 1 + 0.7 * p[0], p[1] = 1 + 0.7 * p[1],
            p[2] = (smaller ? 1 : 0) + 0.5 * (p[0] - 3);
        }
        for (int v = SHEET; v < 2 * SHEET; v++) x[3 * v + 2] -= 1;
        assert_true(crossings(x, triangles, count) > 5);
        assert_ok(
            sn_embedded_pieces(2 * SHEET, x, count, triangles, NULL, embedded, crosses, &error));
        int marked[2] = {0};
        for (int v = 0; v < 2 * SHEET; v++) {
            assert_true(embedded[v] == (v / SHEET == smaller));
            marked[v / SHEET] += crosses[v];
        }
        for (int s = 0; s < 2; s++) assert_true(marked[s] > 5 && marked[s] < SHEET);
    }
    two_sheets(x, triangles, &count);
    x[3 * (SHEET + SIDE - 1) + 2] -= 2, x[3 * (SHEET + SIDE - 1)] -= 1;
    assert_true(crossings(x, triangles, count) > 0);
    assert_ok(sn_embedded_pieces(2 * SHEET, x, count, triangles, NULL, embedded, crosses, &error));
    assert_true(crosses[SHEET + SIDE - 1]);
    for (int v = 0; v < 2 * SHEET; v++) assert_false(embedded[v]);
    two_sheets(x, triangles, &count);
    assert_ok(sn_embedded_pieces(2 * SHEET, x, count, triangles, NULL, embedded, crosses, &error));
    for (int v = 0; v < 2 * SHEET; v++) assert_false(embedded[v] || crosses[v]);
}

/* The least distance on the way, by sampling it. */
static double least_on_the_way(const sn_contact_pair *pair, const double *x0, const double *x1) {
    double least = INFINITY;
    for (int k = 0; k <= 40; k++) {
        double x[12], weight[4];
        sn_vec3 normal;
        sn_contact_pair local = {.v = {0, 1, 2, 3}, .edges = pair->edges};
        for (int i = 0; i < 4; i++)
            sn_put(x, i, sn_lerp(sn_at(x0, pair->v[i]), sn_at(x1, pair->v[i]), k / 40.0));
        least = fmin(least, sn_contact_distance(&local, x, weight, &normal));
    }
    return least;
}

static bool is_listed(const sn_contact_pair *pair, const sn_contact_pair *list, int count) {
    for (int i = 0; i < count; i++)
        if (list[i].edges == pair->edges && !memcmp(list[i].v, pair->v, sizeof pair->v))
            return true;
    return false;
}

/* Every pair that comes nearer than the margin is in the list; returns how many do. */
static int assert_complete(const sn_contact_surface *s, const double *x0, const double *x1,
                           double margin, const sn_contact_pair *list, int count) {
    int near = 0;
    for (int edges = 0; edges < 2; edges++)
        for (int i = 0; i < (edges ? s->edge_count : s->point_count); i++)
            for (int j = edges ? i + 1 : 0; j < (edges ? s->edge_count : s->triangle_count); j++) {
                sn_contact_pair pair = {.edges = edges};
                memcpy(pair.v, edges ? s->edges + 2 * i : s->points + i,
                       (edges ? 2 : 1) * sizeof(int));
                memcpy(pair.v + (edges ? 2 : 1), edges ? s->edges + 2 * j : s->triangles + 3 * j,
                       (edges ? 2 : 3) * sizeof(int));
                bool shared = false;
                for (int a = 0; a < (edges ? 2 : 1); a++)
                    for (int b = edges ? 2 : 1; b < 4; b++) shared |= pair.v[a] == pair.v[b];
                if (shared || least_on_the_way(&pair, x0, x1) > margin) continue;
                near++;
                assert_true(is_listed(&pair, list, count));
            }
    return near;
}

static void the_search_misses_no_pair(void **state) {
    (void)state;
    sinew_error error = {0};
    double x[6 * SHEET], to[6 * SHEET];
    int triangles[12 * SHEET], count, found;
    two_sheets(x, triangles, &count);
    memcpy(to, x, sizeof x);
    uint64_t seed = 12;
    for (int v = SHEET; v < 2 * SHEET; v++) to[3 * v + 2] -= 1.1;
    for (int i = 0; i < 6 * SHEET; i++) to[i] += 3 + 0.05 * test_random(&seed);
    sn_contact_surface *s;
    sn_contact_work *work;
    assert_ok(
        sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, NULL, 1e-3, &s, &error));
    assert_ok(sn_contact_work_create(s, &work, &error));
    const sn_contact_pair *pairs;
    assert_ok(sn_contact_find(s, work, x, to, 0.05, &pairs, &found, &error));
    assert_true(assert_complete(s, x, to, 0.05, pairs, found) > 100);
    /* far from all pairs of boxes */
    assert_true(found < s->edge_count * 20);
    /* a way a little off: the list is kept and still complete */
    for (int i = 0; i < 6 * SHEET; i++) to[i] += 0.2 * s->slack * test_random(&seed);
    int before = found;
    assert_ok(sn_contact_find(s, work, x, to, 0.05, &pairs, &found, &error));
    assert_int_equal(found, before);
    assert_complete(s, x, to, 0.05, pairs, found);
    /* and one far off gets a new one */
    for (int v = SHEET; v < 2 * SHEET; v++) to[3 * v + 2] -= 1;
    assert_ok(sn_contact_find(s, work, x, to, 0.05, &pairs, &found, &error));
    assert_true(found != before);
    assert_complete(s, x, to, 0.05, pairs, found);
    /* many pairs are in order too */
    assert_ok(sn_contact_find(s, work, x, to, 4, &pairs, &found, &error));
    assert_true(found > 20000); /* several runs of 4,096 are merged */
    for (int i = 1; i < found; i++) assert_true(pairs[i - 1].key < pairs[i].key);
    sn_contact_work_destroy(work);
    sn_contact_surface_destroy(s);
}

/* Points that wander off a few at a time: only their pairs are searched for again. */
static void a_repeated_search_misses_no_pair_and_keeps_the_order(void **state) {
    (void)state;
    sinew_error error = {0};
    double x[6 * SHEET], to[6 * SHEET];
    int triangles[12 * SHEET], count, found;
    two_sheets(x, triangles, &count);
    memcpy(to, x, sizeof x);
    for (int v = SHEET; v < 2 * SHEET; v++) to[3 * v + 2] -= 1.1;
    sn_contact_surface *s;
    sn_contact_work *work;
    assert_ok(
        sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, NULL, 1e-3, &s, &error));
    assert_ok(sn_contact_work_create(s, &work, &error));
    const sn_contact_pair *pairs;
    uint64_t seed = 5;
    assert_ok(sn_contact_find(s, work, x, to, 0.05, &pairs, &found, &error));
    for (int round = 0; round < 12; round++) {
        for (int k = 0; k < SHEET / 5; k++) {
            int v = (int)(SHEET * (1 + 0.999 * test_random(&seed)));
            for (int a = 0; a < 3; a++) {
                to[3 * v + a] += 0.05 * test_random(&seed);
                x[3 * v + a] += 0.6 * s->slack * test_random(&seed);
            }
        }
        assert_ok(sn_contact_find(s, work, x, to, 0.05, &pairs, &found, &error));
        assert_true(assert_complete(s, x, to, 0.05, pairs, found) > 20);
        for (int i = 1; i < found; i++) assert_true(pairs[i - 1].key < pairs[i].key);
    }
    sn_contact_work_destroy(work);
    sn_contact_surface_destroy(s);
}

static int by_key(const void *a, const void *b) {
    uint64_t x = ((const sn_contact_pair *)a)->key, y = ((const sn_contact_pair *)b)->key;
    return (x > y) - (x < y);
}

/* More new pairs than are sorted at a time: a list that was repeated holds every pair that a search
 * from the start finds near, in the same order. */
static void a_repeated_search_keeps_the_order_of_many_pairs(void **state) {
    (void)state;
    const double margin = 4;
    sinew_error error = {0};
    double x[6 * SHEET], to[6 * SHEET];
    int triangles[12 * SHEET], count, found, all, near = 0;
    two_sheets(x, triangles, &count);
    memcpy(to, x, sizeof x);
    sn_contact_surface *s;
    sn_contact_work *work, *fresh;
    const sn_contact_pair *pairs, *anew;
    assert_ok(
        sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, NULL, 1e-3, &s, &error));
    assert_ok(sn_contact_work_create(s, &work, &error));
    assert_ok(sn_contact_work_create(s, &fresh, &error));
    assert_ok(sn_contact_find(s, work, x, to, margin, &pairs, &found, &error));
    /* less than half of the points leave, so that only their pairs are searched for again */
    for (int v = 0; v < 2 * SHEET; v++)
        if (v % 5 < 2) to[3 * v + 2] += 5 * s->slack;
    assert_ok(sn_contact_find(s, work, x, to, margin, &pairs, &found, &error));
    assert_ok(sn_contact_find(s, fresh, x, to, margin, &anew, &all, &error));
    for (int i = 1; i < found; i++) assert_true(pairs[i - 1].key < pairs[i].key);
    for (int i = 0; i < all; i++) {
        if (least_on_the_way(&anew[i], x, to) > margin) continue;
        const sn_contact_pair *same =
            bsearch(&anew[i], pairs, (size_t)found, sizeof *pairs, by_key);
        assert_non_null(same);
        assert_int_equal(same->edges, anew[i].edges);
        assert_memory_equal(same->v, anew[i].v, sizeof same->v);
        near +=
            same->v[0] % 5 < 2 || same->v[1] % 5 < 2 || same->v[2] % 5 < 2 || same->v[3] % 5 < 2;
    }
    assert_true(near > 3 * 4096);
    sn_contact_work_destroy(work), sn_contact_work_destroy(fresh);
    sn_contact_surface_destroy(s);
}

/* Steps along a course, with points that something pushes aside within a step: no pair is missing,
 * neither in a step nor at its end, and steps that keep to the course share one search. */
static void a_search_ahead_misses_no_pair(void **state) {
    (void)state;
    enum { STEPS = 16 };
    sinew_error error = {0};
    double x[6 * SHEET], to[6 * SHEET], course[6 * SHEET] = {0}, twisted[6 * SHEET];
    int triangles[12 * SHEET], count, found, shared = 0, before = -1;
    two_sheets(x, triangles, &count);
    sn_contact_surface *s;
    sn_contact_work *work;
    assert_ok(
        sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, NULL, 1e-3, &s, &error));
    assert_ok(sn_contact_work_create(s, &work, &error));
    const sn_contact_pair *pairs;
    uint64_t seed = 17;
    for (int v = SHEET; v < 2 * SHEET; v++)
        course[3 * v] = 0.4 * x[3 * v + 1], course[3 * v + 2] = -1.2;
    sn_contact_set_course(work, course, 1);
    for (int k = 0; k < STEPS; k++) {
        double from = (double)k / STEPS, next = (double)(k + 1) / STEPS;
        sn_contact_set_times(work, from, next);
        for (int i = 0; i < 6 * SHEET; i++) to[i] = x[i] + course[i] / STEPS;
        assert_ok(sn_contact_find(s, work, x, to, 0.05, &pairs, &found, &error));
        assert_complete(s, x, to, 0.05, pairs, found);
        shared += found == before, before = found;
        for (int n = 0; k >= 6 && n < SHEET / 8; n++) {
            int v = (int)(SHEET * (1 + 0.999 * test_random(&seed)));
            to[3 * v] += 0.3 * test_random(&seed);
            to[3 * v + 2] -= 0.8 * test_random(&seed);
        }
        assert_ok(sn_contact_find(s, work, x, to, 0.05, &pairs, &found, &error));
        assert_complete(s, x, to, 0.05, pairs, found);
        /* where the step ends, some go on being pushed */
        sn_contact_set_times(work, next, next);
        memcpy(twisted, to, sizeof to);
        for (int n = 0; k >= 6 && n < 4; n++)
            twisted[3 * (int)(SHEET * (1 + 0.999 * test_random(&seed))) + 2] -= 0.2;
        assert_ok(sn_contact_find(s, work, to, twisted, 0.05, &pairs, &found, &error));
        assert_complete(s, to, twisted, 0.05, pairs, found);
        for (int i = 1; i < found; i++) assert_true(pairs[i - 1].key < pairs[i].key);
        memcpy(x, twisted, sizeof x);
    }
    assert_true(shared >= 4);
    sn_contact_work_destroy(work);
    sn_contact_surface_destroy(s);
}

/* Pairs that contact cannot part are not looked for. */
static void pairs_of_held_vertices_are_left_out(void **state) {
    (void)state;
    sinew_error error = {0};
    double x[6 * SHEET], to[6 * SHEET];
    int triangles[12 * SHEET], count, found;
    bool held[2 * SHEET] = {false};
    two_sheets(x, triangles, &count);
    memcpy(to, x, sizeof x);
    for (int v = SHEET; v < 2 * SHEET; v++) to[3 * v + 2] -= 1.1;
    sn_contact_surface *s;
    sn_contact_work *work;
    const sn_contact_pair *pairs;
    assert_ok(
        sn_contact_surface_create(2 * SHEET, x, count, triangles, NULL, NULL, 1e-3, &s, &error));
    assert_ok(sn_contact_work_create(s, &work, &error));
    for (int v = 0; v < SHEET; v++) held[v] = true;
    assert_ok(sn_contact_surface_hold(s, held, &error));
    assert_ok(sn_contact_find(s, work, x, to, 0.05, &pairs, &found, &error));
    int some = found;
    assert_true(some > 0);
    for (int v = 0; v < 2 * SHEET; v++) held[v] = v < SHEET || v >= 3 * SHEET / 2;
    assert_ok(sn_contact_surface_hold(s, held, &error));
    sn_contact_work_destroy(work);
    assert_ok(sn_contact_work_create(s, &work, &error));
    assert_ok(sn_contact_find(s, work, x, to, 0.05, &pairs, &found, &error));
    assert_true(found > 0 && found < some);
    for (int i = 0; i < found; i++) {
        const int *v = pairs[i].v;
        assert_false(held[v[0]] && held[v[1]] && held[v[2]] && held[v[3]]);
    }
    sn_contact_work_destroy(work);
    sn_contact_surface_destroy(s);
}

/* Triangles with vertices of their own, each `apart` above the one before. */
static sn_contact_surface *pile(int copies, double apart, double *x, int *triangles) {
    sinew_error error;
    const double corner[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    for (int c = 0; c < copies; c++)
        for (int i = 0; i < 9; i++) x[9 * c + i] = corner[i] + (i % 3 == 2 ? apart * c : 0);
    for (int i = 0; i < 3 * copies; i++) triangles[i] = i;
    sn_contact_surface *surface;
    assert_ok(sn_contact_surface_create(3 * copies, x, copies, triangles, NULL, NULL, 1e-3,
                                        &surface, &error));
    return surface;
}

static void piles_of_triangles_cost_little(void **state) {
    (void)state;
    enum { COPIES = 2000 };
    sinew_error error;
    double *x = calloc(9 * COPIES, sizeof *x);
    int *triangles = calloc(3 * COPIES, sizeof *triangles), count;
    sn_contact_work *work;
    const sn_contact_pair *pairs;
    /* exactly on each other: eight layers take part, the others are counted */
    sn_contact_surface *surface = pile(COPIES, 0, x, triangles);
    assert_int_equal(surface->triangle_count, 8);
    assert_int_equal(surface->dropped, COPIES - 8);
    sn_contact_surface_destroy(surface);
    /* all nearer than the gap: refused instead of tested for minutes */
    surface = pile(COPIES, 1e-7, x, triangles);
    assert_int_equal(surface->triangle_count, COPIES);
    assert_ok(sn_contact_work_create(surface, &work, &error));
    assert_int_equal(sn_contact_find(surface, work, x, x, 1e-3, &pairs, &count, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "close to each other"));
    /* few of them nearer than asked for: searches that look no further find them */
    assert_ok(sn_contact_find(surface, work, x, x, 1.5e-7, &pairs, &count, &error));
    assert_true(count >= COPIES - 1);
    sn_contact_work_destroy(work), sn_contact_surface_destroy(surface);
    free(x), free(triangles);
}

typedef struct sheets {
    double x[6 * SHEET];
    int triangles[12 * SHEET], count;
} sheets;

static sinew_status make_surface_and_work(void *user) {
    const sheets *both = user;
    sinew_error error;
    sn_contact_surface *surface = NULL;
    sn_contact_work *work = NULL;
    const sn_contact_pair *pairs;
    int count;
    sinew_status status = sn_contact_surface_create(
        2 * SHEET, both->x, both->count, both->triangles, NULL, NULL, 1e-3, &surface, &error);
    if (status == SINEW_OK) status = sn_contact_work_create(surface, &work, &error);
    if (status == SINEW_OK)
        status = sn_contact_find(surface, work, both->x, both->x, 1, &pairs, &count, &error);
    sn_contact_work_destroy(work);
    sn_contact_surface_destroy(surface);
    return status;
}

static void surfaces_without_memory_are_reported(void **state) {
    (void)state;
    sheets both;
    two_sheets(both.x, both.triangles, &both.count);
    assert_true(test_out_of_memory(make_surface_and_work, &both) > 20);
}

/* Of the upper sheet alone: the vertices of the lower one have no place. */
static void only_triangles_inside_take_part(void **state) {
    (void)state;
    sinew_error error;
    sheets both;
    bool inside[2 * SHEET] = {false};
    sn_contact_surface *surface;
    two_sheets(both.x, both.triangles, &both.count);
    for (int v = SHEET; v < 2 * SHEET; v++) inside[v] = true;
    assert_ok(sn_contact_surface_create(2 * SHEET, both.x, both.count, both.triangles, inside, NULL,
                                        1e-3, &surface, &error));
    assert_int_equal(surface->point_count, SHEET);
    assert_int_equal(surface->triangle_count, both.count / 2);
    for (int v = 0; v < 2 * SHEET; v++) {
        assert_int_equal(surface->place[v], v < SHEET ? -1 : v - SHEET);
        if (v >= SHEET) assert_int_equal(surface->points[v - SHEET], v);
    }
    for (int t = 0; t < both.count; t++)
        assert_true(surface->takes_part[t] == (both.triangles[3 * t] >= SHEET));
    sn_contact_surface_destroy(surface);
}

/* A triangle with a vertex twice is nothing to meet, and nothing that was left out either. */
static void triangles_without_three_corners_take_no_part(void **state) {
    (void)state;
    sinew_error error;
    const double x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 3, 0, 0, 3, 1, 0, 3, 0, 1, 4, 1, 1};
    const int triangles[] = {3, 3, 4, 0, 1, 2, 3, 4, 4, 5, 6, 5};
    sn_contact_surface *surface;
    assert_ok(sn_contact_surface_create(7, x, 4, triangles, NULL, NULL, 1e-3, &surface, &error));
    assert_int_equal(surface->triangle_count, 1);
    assert_int_equal(surface->dropped, 0);
    assert_int_equal(surface->edge_count, 3);
    for (int t = 0; t < 4; t++) assert_true(surface->takes_part[t] == (t == 1));
    for (int v = 0; v < 7; v++) assert_int_equal(surface->place[v], v < 3 ? v : -1);
    sn_contact_surface_destroy(surface);
}

/* Bounds of two balls touch when the balls do, and no longer a little later, along each of the
 * directions in which bounds are kept, at either end of a motion. */
static void bounds_are_tight_along_their_directions(void **state) {
    (void)state;
    const sn_vec3 directions[] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1},  {1, 1, 1},
                                  {1, 1, -1}, {1, -1, 1}, {-1, 1, 1}, {1, -1, 0}};
    const sn_hull_frame frame = {{3, -1, 2}, 0.125};
    const double radius = 0.25;
    for (int k = 0; k < 16; k++)
        for (int far = 0; far < 2; far++) {
            sn_vec3 p = sn_v3(2.5, -1.5, 2.75), q = sn_v3(3.5, 0.5, 2);
            double apart = 2 * radius + (far ? 1e-3 : -1e-3);
            sn_vec3 away = sn_scale(k < 8 ? apart : -apart, sn_normalize(directions[k % 8]));
            sn_hull a = sn_hull_of_way(&frame, p, q, radius);
            sn_hull b = sn_hull_of_way(&frame, sn_add(p, away), sn_add(q, away), radius);
            assert_int_equal(sn_hulls_meet(&a, &b), !far);
            assert_int_equal(sn_hulls_meet(&b, &a), !far);
            sn_hull start = sn_hull_of_way(&frame, sn_add(p, away), q, radius); /* then it meets */
            assert_true(sn_hulls_meet(&a, &start) && sn_hulls_meet(&start, &a));
            sn_hull end = sn_hull_of_way(&frame, p, sn_add(q, away), radius);
            assert_true(sn_hulls_meet(&a, &end) && sn_hulls_meet(&end, &a));
            /* what two are joined to meets what either does, and is apart beyond the second */
            sn_hull both = a;
            sn_vec3 beyond = sn_scale(2, away);
            sn_hull c = sn_hull_of_way(&frame, sn_add(p, beyond), sn_add(q, beyond), radius);
            sn_hull_join(&both, &b);
            assert_int_equal(sn_hulls_meet(&both, &c), !far);
            assert_true(sn_hulls_meet(&both, &a) && sn_hulls_meet(&both, &b));
        }
}

/* The frame of hulls maps the points at both ends of a motion into [-1, 1], and no smaller. */
static void frames_hold_both_ends_of_a_motion(void **state) {
    (void)state;
    enum { POINTS = 9 };
    uint64_t seed = 17;
    double x0[3 * POINTS], x1[3 * POINTS];
    int vertices[POINTS];
    for (int i = 0; i < POINTS; i++) vertices[i] = i;
    for (int run = 0; run < 20; run++) {
        double size = pow(10, 4 * test_random(&seed)), most = 0;
        for (int i = 0; i < 3 * POINTS; i++)
            x0[i] = size * (3 + test_random(&seed)), x1[i] = size * test_random(&seed);
        int used = 1 + run % POINTS; /* the others do not count */
        sn_hull_frame frame = sn_hull_frame_of(used, vertices, x0, x1);
        for (int i = 0; i < used; i++)
            for (int end = 0; end < 2; end++) {
                sn_vec3 p = sn_sub(sn_at(end ? x1 : x0, i), frame.center);
                most = fmax(most, fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))) * frame.scale);
            }
        assert_close(most, 1, 1e-12);
    }
    /* nothing to hold, and a single point, have a scale too */
    sn_hull_frame none = sn_hull_frame_of(0, vertices, x0, x1);
    assert_close(sn_length(none.center), 0, 0);
    assert_close(none.scale, 1, 0);
    sn_hull_frame one = sn_hull_frame_of(1, vertices, x0, x0);
    assert_close(sn_distance(one.center, sn_at(x0, 0)), 0, 0);
    assert_close(one.scale, 1, 0);
}

/* Fitting again what moved gives the tree that fitting all of it gives. */
static void trees_fitted_in_part_equal_trees_fitted_as_a_whole(void **state) {
    (void)state;
    enum { ITEMS = 77 };
    sinew_error error;
    double centers[3 * ITEMS];
    uint64_t seed = 8;
    sn_hull items[ITEMS], whole[2 * ITEMS], part[2 * ITEMS];
    sn_hierarchy tree;
    const sn_hull_frame frame = {{0, 0, 0}, 0.5};
    for (int i = 0; i < 3 * ITEMS; i++) centers[i] = test_random(&seed);
    assert_ok(sn_hierarchy_create(ITEMS, centers, &tree, &error));
    int nodes = sn_hierarchy_nodes(&tree);
    assert_true(nodes <= 2 * ITEMS);
    for (int i = 0; i < ITEMS; i++)
        items[i] = sn_hull_of_way(&frame, sn_at(centers, tree.order[i]),
                                  sn_at(centers, tree.order[i]), 0.01);
    sn_hierarchy_fit(&tree, items, part);
    for (int round = 0; round < 40; round++) {
        bool stale[2 * ITEMS] = {false};
        int leaf = round % tree.leaves;
        int item = sn_hierarchy_first(&tree, leaf);
        sn_vec3 p = sn_at(centers, tree.order[item]);
        items[item] = sn_hull_of_way(&frame, p, sn_scale(1 + 0.1 * test_random(&seed), p), 0.01);
        stale[tree.leaves - 1 + leaf] = true;
        sn_hierarchy_refit(&tree, items, stale, part);
        sn_hierarchy_fit(&tree, items, whole);
        for (int i = 0; i < nodes; i++) assert_memory_equal(&whole[i], &part[i], sizeof *whole);
    }
    sn_hierarchy_free(&tree);
}

int test_pairs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_agree_with_sampling),
        cmocka_unit_test(edges_that_are_parallel_or_points_have_a_distance),
        cmocka_unit_test(impacts_come_before_the_crossing_and_not_long_before),
        cmocka_unit_test(what_stays_apart_is_never_near),
        cmocka_unit_test(a_way_that_is_cut_back_never_crosses),
        cmocka_unit_test(a_tip_stops_above_what_it_falls_on),
        cmocka_unit_test(what_is_left_out_is_named_by_part),
        cmocka_unit_test(triangles_that_cross_at_rest_are_left_out),
        cmocka_unit_test(rigid_parts_that_cross_each_other_meet_everything_else),
        cmocka_unit_test(a_piece_in_a_larger_one_is_embedded),
        cmocka_unit_test(the_search_misses_no_pair),
        cmocka_unit_test(a_repeated_search_misses_no_pair_and_keeps_the_order),
        cmocka_unit_test(a_repeated_search_keeps_the_order_of_many_pairs),
        cmocka_unit_test(a_search_ahead_misses_no_pair),
        cmocka_unit_test(pairs_of_held_vertices_are_left_out),
        cmocka_unit_test(piles_of_triangles_cost_little),
        cmocka_unit_test(surfaces_without_memory_are_reported),
        cmocka_unit_test(only_triangles_inside_take_part),
        cmocka_unit_test(triangles_without_three_corners_take_no_part),
        cmocka_unit_test(bounds_are_tight_along_their_directions),
        cmocka_unit_test(frames_hold_both_ends_of_a_motion),
        cmocka_unit_test(trees_fitted_in_part_equal_trees_fitted_as_a_whole),
    };
    return cmocka_run_group_tests_name("pairs", tests, NULL, NULL);
}
