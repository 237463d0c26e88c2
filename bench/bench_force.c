/* Blendforces: frames with markers, and frames with contact. Bound of a relinearisation: the bytes
 * it reads (the factor in single precision twice, rings, responses, a few numbers per vertex) over
 * the read bandwidth of a working set of that size. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "force/sheet.h"

enum { VERTICES = 10000, TARGETS = 50, SHEET_SIDE = 70, ROUNDS = 5 };

typedef struct force_case {
    sinew_force *force;
    sinew_force_state *state;
    double *markers, *positions; /* two frames of markers in turn */
    int marker_count, turn;
} force_case;

static void step(void *user) {
    force_case *c = user;
    sinew_error error;
    c->turn = !c->turn;
    bench_need(sinew_force_frame(c->force, c->state,
                                 c->markers + 3 * (size_t)c->turn * (size_t)c->marker_count, NULL,
                                 c->positions, NULL, NULL, &error),
               &error);
}

static double columns_bytes(const sn_vertex_columns *columns) {
    /* three vectors of 32 bytes and a column */
    return (double)columns->first[columns->group_count] * (3 * 32 + sizeof(int));
}

/* What a relinearisation has to read or write once, and twice what it walks twice. */
static double relinearisation_bytes(const sinew_force *force) {
    const sn_rings *rings = &force->potentials->rings;
    int n = force->skin->vertex_count;
    double factor = sizeof(float) * (double)sn_cholesky_nonzeros(force->step.factor);
    double entry = sizeof(int) + sizeof(float);
    double ring = (double)rings->first[rings->group_count] * 2 * entry;
    double products = columns_bytes(force->step.response);
    /* place, forces and bending, each written and read; rest, prediction, solution, mass */
    double vertex = n * (31 * sizeof(double) + 6 * sizeof(float));
    return 2 * factor + ring + products + vertex;
}

/* The face without what is behind its lips, and its first `targets` targets that still move
 * something; the map's markers move along. */
static sinew_rig *face_without_mouth(const sinew_rig *whole, int targets, sinew_marker_map *map) {
    sinew_error error;
    const sinew_mesh *mesh = whole->neutral;
    size_t n = (size_t)mesh->vertex_count, corners = (size_t)mesh->face_start[mesh->face_count];
    int *place = malloc(n * sizeof(int)), *moved = malloc(n * sizeof(int));
    int *start = malloc(((size_t)mesh->face_count + 1) * sizeof(int));
    int *corner = malloc(corners * sizeof(int)), faces = 0, count = 0;
    double *x = malloc(3 * n * sizeof(double)), *delta = malloc(3 * n * sizeof(double));
    for (size_t v = 0; v < n; v++) place[v] = -1;
    start[0] = 0;
    for (int f = 0; f < mesh->face_count; f++) {
        const char *part = mesh->part_names[mesh->face_part[f]];
        if (strncmp(part, "teeth", 5) == 0 || strcmp(part, "tongue") == 0) continue;
        start[faces + 1] = start[faces];
        for (int k = mesh->face_start[f]; k < mesh->face_start[f + 1]; k++) {
            int v = mesh->face_vertices[k];
            if (place[v] < 0) {
                memcpy(x + 3 * count, mesh->positions + 3 * v, 3 * sizeof(double));
                place[v] = count++;
            }
            corner[start[faces + 1]++] = place[v];
        }
        faces++;
    }
    sinew_mesh *made;
    sinew_rig *rig;
    bench_need(sinew_mesh_create(count, x, faces, start, corner, &made, &error), &error);
    bench_need(sinew_rig_create(made, &rig, &error), &error);
    for (int k = 0; k < whole->target_count && rig->target_count < targets; k++) {
        const sinew_target *target = &whole->targets[k];
        int kept = 0;
        for (int i = 0; i < target->count; i++) {
            if (place[target->vertices[i]] < 0) continue;
            memcpy(delta + 3 * kept, target->deltas + 3 * i, 3 * sizeof(double));
            moved[kept++] = place[target->vertices[i]];
        }
        if (kept > 0)
            bench_need(sinew_rig_add_target(rig, target->name, kept, moved, delta, &error), &error);
    }
    for (int i = 0; i < map->count; i++) map->vertices[i] = place[map->vertices[i]];
    free(place), free(moved), free(start), free(corner), free(x), free(delta);
    return rig;
}

static int increasing(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of) {
    qsort(of, ROUNDS, sizeof *of, increasing);
    return of[ROUNDS / 2];
}

/* A relinearisation: what a frame takes longer with one more, found on one sheet in turns, as the
 * machine may be quicker or slower from one second to the next. */
static void time_frames(bench *b, const sinew_rig *rig, const sinew_marker_map *map,
                        const sinew_markers *take) {
    sinew_error error;
    size_t count = (size_t)map->count;
    force_case c = {.marker_count = map->count};
    c.positions = malloc(3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    c.markers = malloc(6 * sizeof(double) * count);
    for (size_t t = 0; t < 2; t++)
        memcpy(c.markers + 3 * t * count, take->positions + 3 * (60 + 2 * t) * count,
               3 * sizeof(double) * count);
    sinew_force_options options;
    sinew_force_options_init(&options);
    bench_need(sinew_force_create(rig, map, &options, NULL, &c.force, &error), &error);
    bench_need(sinew_force_state_create(c.force, &c.state, &error), &error);
    int all = sinew_threads(), more = options.relinearisations - 1;
    for (int threads = 1; threads <= all; threads += all > 1 ? all - 1 : 1) {
        sinew_set_threads(threads);
        double once[ROUNDS], frame[ROUNDS], added[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            c.force->options.relinearisations = 1;
            once[i] = bench_time(b, step, &c);
            c.force->options.relinearisations = 1 + more;
            frame[i] = bench_time(b, step, &c);
            added[i] = (frame[i] - once[i]) / more;
        }
        double bytes = relinearisation_bytes(c.force);
        double bound = bytes / bench_read_bandwidth(b, bytes);
        char limit[64];
        snprintf(limit, sizeof limit, "%d x %.1f MB", 1 + more, 1e-6 * bytes);
        bench_report(b, "frame", median(frame), (1 + more) * bound, limit);
        bench_report(b, "relinearisation", median(added), bound, limit + 4);
    }
    sinew_force_state_destroy(c.state);
    sinew_force_destroy(c.force);
    sinew_set_threads(all);
    free(c.positions), free(c.markers);
}

static void frames(bench *b, bool whole) {
    sinew_error error;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = VERTICES;
    sinew_rig *rig, *part = NULL;
    sinew_markers *take;
    sinew_marker_map *map;
    bench_need(sinew_sample_rig("face", &size, &rig, &error), &error);
    bench_need(sinew_sample_markers("face", &size, NULL, &take, &map, &error), &error);
    if (!whole) part = face_without_mouth(rig, TARGETS, map);
    time_frames(b, whole ? rig : part, map, take);
    sinew_marker_map_destroy(map);
    sinew_markers_destroy(take);
    sinew_rig_destroy(part);
    sinew_rig_destroy(rig);
}

static void frames_10k(bench *b) {
    frames(b, false);
}

static void frames_12k(bench *b) {
    frames(b, true);
}

/* ---- contact --------------------------------------------------------------------------------- */

enum { SHEET = SHEET_SIDE * SHEET_SIDE, SHEET_MARKERS = 72 };

typedef struct contact_case {
    sinew_force *force;
    sinew_force_state *state;
    const sinew_linear *linear;
    const sinew_marker_map *map;
    double *goal, *markers, *positions;
    sinew_force_frame_info info;
    int frame;
} contact_case;

/* The pressing swells and fades: pairs come and go. */
static void press(void *user) {
    contact_case *c = user;
    sinew_error error;
    c->info.size = sizeof c->info;
    double weights[TARGETS] = {1 + 0.03 * sin(0.5 * c->frame++)};
    sinew_linear_evaluate(c->linear, weights, c->goal);
    sinew_marker_map_points(c->map, c->force->rig->neutral, c->goal, c->markers);
    bench_need(sinew_force_frame(c->force, c->state, c->markers, NULL, c->positions, &c->info, NULL,
                                 &error),
               &error);
}

/* The target that presses a bump of the upper sheet into the lower one, and small bumps of both. */
static void add_sheet_target(sinew_rig *rig, int k) {
    sinew_error error;
    int *moved = malloc(sizeof(int) * SHEET), count = 0, sheet = k == 0 || k % 2;
    double *delta = malloc(3 * sizeof(double) * SHEET);
    double x = k ? 0.4 * cos(2.4 * k) : 0, y = k ? 0.4 * sin(2.4 * k) : 0;
    double width = k ? 0.005 : 0.04, height = k ? 0.004 : -0.0197;
    char name[16];
    for (int v = 0; v < SHEET; v++) {
        double p = (double)(v % SHEET_SIDE) / (SHEET_SIDE - 1) - 0.5 - x;
        double q = (double)(v / SHEET_SIDE) / (SHEET_SIDE - 1) - 0.5 - y;
        double bump = exp(-(p * p + q * q) / width);
        if (k > 0 && bump < 1e-3) continue;
        delta[3 * count] = delta[3 * count + 1] = 0, delta[3 * count + 2] = height * bump;
        moved[count++] = sheet * SHEET + v;
    }
    snprintf(name, sizeof name, "bump%d", k);
    bench_need(sinew_rig_add_target(rig, name, count, moved, delta, &error), &error);
    free(moved), free(delta);
}

static sinew_rig *two_sheets(void) {
    sinew_error error;
    int side = SHEET_SIDE, faces = 0;
    double *x = malloc(6 * sizeof(double) * SHEET);
    int *triangles = malloc(12 * sizeof(int) * SHEET);
    for (int v = 0; v < 2 * SHEET; v++) {
        int s = v / SHEET, k = v % SHEET;
        x[3 * v] = (double)(k % side) / (side - 1) - 0.5 + 0.003 * s;
        x[3 * v + 1] = (double)(k / side) / (side - 1) - 0.5 + 0.002 * s;
        x[3 * v + 2] = s ? 0.01 : 0;
    }
    for (int s = 0; s < 2; s++)
        for (int j = 0; j + 1 < side; j++)
            for (int i = 0; i + 1 < side; i++) {
                int a = s * SHEET + j * side + i;
                int corner[6] = {a, a + 1, a + side + 1, a, a + side + 1, a + side};
                memcpy(triangles + 3 * faces, corner, sizeof corner);
                faces += 2;
            }
    sinew_mesh *mesh;
    sinew_rig *rig;
    bench_need(sinew_mesh_create(2 * SHEET, x, faces, NULL, triangles, &mesh, &error), &error);
    bench_need(sinew_rig_create(mesh, &rig, &error), &error);
    for (int k = 0; k < TARGETS; k++) add_sheet_target(rig, k);
    free(x), free(triangles);
    return rig;
}

/* A grid of markers on each sheet. */
static sinew_marker_map *sheet_markers(void) {
    sinew_error error;
    sinew_marker_map *map;
    bench_need(sinew_marker_map_create(SHEET_MARKERS, &map, &error), &error);
    for (int i = 0; i < SHEET_MARKERS; i++) {
        int k = i % (SHEET_MARKERS / 2), row = 6 + 11 * (k / 6), column = 6 + 11 * (k % 6);
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        bench_need(sinew_marker_map_set_name(map, i, name, &error), &error);
        map->vertices[i] = i / (SHEET_MARKERS / 2) * SHEET + row * SHEET_SIDE + column;
    }
    return map;
}

static void contacts(bench *b, bool region) {
    sinew_error error;
    sinew_rig *rig = two_sheets();
    sinew_marker_map *map = sheet_markers();
    sinew_linear *linear;
    int n = rig->neutral->vertex_count, *middle = malloc(sizeof(int) * (size_t)n), count = 0;
    for (int v = 0; v < n; v++) {
        const double *p = rig->neutral->positions + 3 * v;
        if (hypot(p[0], p[1]) < 0.2) middle[count++] = v;
    }
    bench_need(sinew_linear_create(rig, &linear, &error), &error);
    size_t bytes_of_shape = 3 * sizeof(double) * (size_t)n;
    contact_case c = {.linear = linear,
                      .map = map,
                      .goal = malloc(bytes_of_shape),
                      .markers = malloc(3 * sizeof(double) * SHEET_MARKERS),
                      .positions = malloc(bytes_of_shape)};
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.contact = true;
    options.contact_margin = 0;
    options.contact_length = 0; /* skin that yields vertex by vertex: the most contacts */
    if (region) options.contact_vertices = middle, options.contact_count = count;
    bench_need(sinew_force_create(rig, map, &options, NULL, &c.force, &error), &error);
    bench_need(sinew_force_state_create(c.force, &c.state, &error), &error);
    bench_need(sinew_force_start(c.state, NULL, NULL, &error), &error);
    for (int f = 0; f < 15; f++) press(&c); /* the columns that are needed are there after this */
    double seconds = bench_time(b, press, &c), bytes = relinearisation_bytes(c.force);
    char name[48], limit[64];
    snprintf(name, sizeof name, "%d contacts, %s", c.info.contacts, region ? "region" : "all");
    snprintf(limit, sizeof limit, "%d x %.1f MB", SINEW_FORCE_RELINEARISATIONS, 1e-6 * bytes);
    bench_report(b, name, seconds,
                 SINEW_FORCE_RELINEARISATIONS * bytes / bench_read_bandwidth(b, bytes), limit);
    sinew_force_state_destroy(c.state);
    sinew_force_destroy(c.force);
    sinew_linear_destroy(linear);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
    free(c.goal), free(c.markers), free(c.positions), free(middle);
}

static void contacts_of_a_region(bench *b) {
    contacts(b, true);
}

static void contacts_anywhere(bench *b) {
    contacts(b, false);
}

/* ---- stiffness ------------------------------------------------------------------------------- */

/* Once: it takes seconds. Bound: the operations that form the normal equations, a lower triangle of
 * dot products of three numbers per vertex and shape. */
static void estimate(bench *b, int vertices) {
    sinew_error error;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = vertices;
    sinew_rig *rig;
    bench_need(sinew_sample_rig("face", &size, &rig, &error), &error);
    int n = rig->neutral->vertex_count;
    double *maps = malloc(2 * sizeof(double) * (size_t)n);
    sinew_stiffness_info info = {.size = sizeof info};
    bench_need(sinew_stiffness_estimate(rig, NULL, NULL, NULL, maps, maps + n, &info, &error),
               &error);
    double unknowns =
        2 * (1 + 3.0 * rig->neutral->triangle_count / n); /* of a vertex and its ring */
    double operations = 6 * unknowns * (unknowns + 1) / 2 * n * info.examples;
    char name[64], limit[64], more[256];
    snprintf(name, sizeof name, "%d vertices, %d shapes", n, info.examples);
    snprintf(limit, sizeof limit, "%.1f G operations", 1e-9 * operations);
    snprintf(more, sizeof more,
             "\"iterations\": %d, \"rest_error_default\": %g, \"rest_error\": %g, "
             "\"unseen_uniform\": %g, \"unseen_map\": %g",
             info.iterations, info.rest_error_default, info.rest_error, info.unseen_uniform,
             info.unseen_map);
    bench_report_more(b, name, info.seconds, operations / bench_flops_double(b), limit, more);
    free(maps);
    sinew_rig_destroy(rig);
}

static void estimate_10k(bench *b) {
    estimate(b, 10000);
}

static void estimate_60k(bench *b) {
    estimate(b, 60000);
}

const bench_case bench_force[] = {
    {"face-10k", "9.9k vertices (no teeth, no tongue), 50 targets, 60 markers", frames_10k},
    {"face-12k", "the whole sample face: 11.9k vertices, 57 targets, 60 markers", frames_12k},
    {"contact-10k",
     "two sheets of 4900 vertices pressed together by markers, 50 targets, a region of 1200",
     contacts_of_a_region},
    {"contact-10k-all", "the same, all vertices in contact", contacts_anywhere},
    {"stiffness-10k", "estimated from all targets", estimate_10k},
    {"stiffness-60k", "estimated from all targets", estimate_60k},
    BENCH_END,
};
