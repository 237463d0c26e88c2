#include "sinew/check.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"
#include "mesh/intersection.h"
#include "mesh/normals.h"
#include "mesh/topology.h"

void sinew_check_options_init(sinew_check_options *options) {
    *options = (sinew_check_options){.size = sizeof *options,
                                     .coincident = SINEW_CHECK_COINCIDENT_DEFAULT,
                                     .degenerate = SINEW_CHECK_DEGENERATE_DEFAULT,
                                     .listed = SINEW_CHECK_LISTED_DEFAULT,
                                     .self_intersection = true};
}

/* One check in the making. */
typedef struct examination {
    const sinew_mesh *mesh;
    const sinew_check_options *options;
    const sinew_monitor *monitor;
    sinew_check *check;
    size_t capacity;
    bool no_memory;
    /* Polygon adjacency: the edge that leaves each corner, and the corners at each edge. */
    sn_edges edges;
    int *corner_face, *corner_edge; /* -1: collapsed edge */
    sn_lists edge_corners;
} examination;

static void report(examination *exam, sinew_finding_kind kind, int a, int b, int c) {
    sinew_check *check = exam->check;
    if (check->counts[kind]++ >= exam->options->listed || exam->no_memory) return;
    if (!SN_RESERVE(check->findings, exam->capacity, check->finding_count + 1)) {
        exam->no_memory = true;
        return;
    }
    check->findings[check->finding_count++] = (sinew_finding){kind, {a, b, c}};
}

static bool finite_vertex(const sinew_mesh *mesh, int v) {
    const double *p = mesh->positions + 3 * (size_t)v;
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

static void check_numbers(examination *exam) {
    for (int v = 0; v < exam->mesh->vertex_count; v++)
        if (!finite_vertex(exam->mesh, v)) report(exam, SINEW_FINDING_KIND_NOT_FINITE, v, -1, -1);
}

/* The rest needs every index in range. */
static void check_indices(examination *exam) {
    const sinew_mesh *mesh = exam->mesh;
    for (int f = 0; f < mesh->face_count; f++)
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++)
            if (mesh->face_vertices[c] < 0 || mesh->face_vertices[c] >= mesh->vertex_count)
                report(exam, SINEW_FINDING_KIND_BAD_INDEX, f, c - mesh->face_start[f],
                       mesh->face_vertices[c]);
    for (int c = 0; c < 3 * mesh->triangle_count; c++)
        if ((mesh->triangles[c] < 0 || mesh->triangles[c] >= mesh->vertex_count) &&
            exam->check->counts[SINEW_FINDING_KIND_BAD_INDEX] == 0)
            report(exam, SINEW_FINDING_KIND_BAD_INDEX,
                   mesh->triangle_face ? mesh->triangle_face[c / 3] : -1, c % 3,
                   mesh->triangles[c]);
}

static int next_corner(const sinew_mesh *mesh, int face, int corner) {
    return corner + 1 < mesh->face_start[face + 1] ? corner + 1 : mesh->face_start[face];
}

static sinew_status build_adjacency(examination *exam, sinew_error *error) {
    const sinew_mesh *mesh = exam->mesh;
    int corners = mesh->face_count ? mesh->face_start[mesh->face_count] : 0;
    SN_TRY(sn_edges_of_faces(mesh, &exam->edges, error));
    exam->corner_face = SN_NEW(int, corners);
    exam->corner_edge = SN_NEW(int, corners);
    int *list_of = SN_NEW(int, corners), *item_of = SN_NEW(int, corners), count = 0;
    sinew_status status = exam->corner_face && exam->corner_edge && list_of && item_of
                              ? SINEW_OK
                              : sn_no_memory(error);
    for (int f = 0; status == SINEW_OK && f < mesh->face_count; f++)
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++) {
            int a = mesh->face_vertices[c], b = mesh->face_vertices[next_corner(mesh, f, c)];
            exam->corner_face[c] = f;
            exam->corner_edge[c] = a == b ? -1 : sn_edges_find(&exam->edges, a, b);
            if (a == b) continue;
            list_of[count] = exam->corner_edge[c];
            item_of[count++] = c;
        }
    if (status == SINEW_OK)
        status =
            sn_lists_create(exam->edges.count, count, list_of, item_of, &exam->edge_corners, error);
    sn_free(list_of);
    sn_free(item_of);
    return status;
}

static int compare_ints(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* A face and its vertices in increasing order. */
typedef struct sorted_face {
    const int *vertices;
    int count, face;
} sorted_face;

static int compare_vertices(const sorted_face *a, const sorted_face *b) {
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (int k = 0; k < a->count; k++)
        if (a->vertices[k] != b->vertices[k]) return a->vertices[k] < b->vertices[k] ? -1 : 1;
    return 0;
}

static int compare_faces(const void *left, const void *right) {
    const sorted_face *a = left, *b = right;
    int order = compare_vertices(a, b);
    return order ? order : (a->face > b->face) - (a->face < b->face);
}

static sinew_status check_faces(examination *exam, sinew_error *error) {
    const sinew_mesh *mesh = exam->mesh;
    int corners = mesh->face_count ? mesh->face_start[mesh->face_count] : 0;
    int *sorted = sn_memdup(mesh->face_vertices, (size_t)corners, sizeof(int));
    double *area = SN_NEW0(double, mesh->face_count);
    sorted_face *faces = SN_NEW(sorted_face, mesh->face_count);
    int *earlier = SN_NEW(int, mesh->face_count);
    if (!sorted || !area || !faces || !earlier) {
        sn_free(sorted), sn_free(area), sn_free(faces), sn_free(earlier);
        return sn_no_memory(error);
    }
    for (int t = 0; t < mesh->triangle_count; t++)
        area[mesh->triangle_face[t]] +=
            0.5 * sn_length(sn_area_vector(mesh->positions, mesh->triangles + 3 * (size_t)t));
    for (int f = 0; f < mesh->face_count; f++) {
        int begin = mesh->face_start[f], count = mesh->face_start[f + 1] - begin;
        qsort(sorted + begin, (size_t)count, sizeof(int), compare_ints);
        faces[f] = (sorted_face){sorted + begin, count, f};
        bool repeated = false, finite = true;
        double longest = 0;
        for (int c = begin; c < begin + count; c++) {
            repeated |= c > begin && sorted[c] == sorted[c - 1];
            finite &= finite_vertex(mesh, sorted[c]);
            longest = fmax(
                longest,
                sn_distance(sn_at(mesh->positions, mesh->face_vertices[c]),
                            sn_at(mesh->positions, mesh->face_vertices[next_corner(mesh, f, c)])));
        }
        if (finite) exam->check->area += area[f];
        if (repeated || (finite && area[f] <= exam->options->degenerate * longest * longest))
            report(exam, SINEW_FINDING_KIND_DEGENERATE_FACE, f, -1, -1);
        earlier[f] = -1;
    }
    qsort(faces, (size_t)mesh->face_count, sizeof *faces, compare_faces);
    for (int i = 1, first = 0; i < mesh->face_count; i++) {
        if (compare_vertices(&faces[first], &faces[i]) != 0)
            first = i;
        else
            earlier[faces[i].face] = faces[first].face;
    }
    for (int f = 0; f < mesh->face_count; f++)
        if (earlier[f] >= 0) report(exam, SINEW_FINDING_KIND_DUPLICATE_FACE, f, earlier[f], -1);
    sn_free(sorted), sn_free(area), sn_free(faces), sn_free(earlier);
    return SINEW_OK;
}

/* The face at this corner runs along its edge from the smaller to the larger vertex. */
static bool runs_forward(const examination *exam, int corner) {
    return exam->mesh->face_vertices[corner] ==
           exam->edges.vertices[2 * (size_t)exam->corner_edge[corner]];
}

static void check_edges(examination *exam) {
    for (int e = 0; e < exam->edges.count; e++) {
        int count = sn_list_size(&exam->edge_corners, e);
        exam->check->boundary_edge_count += count == 1;
        if (count > 2)
            report(exam, SINEW_FINDING_KIND_NON_MANIFOLD_EDGE, exam->edges.vertices[2 * e],
                   exam->edges.vertices[2 * e + 1], count);
    }
}

static void check_orientation(examination *exam) {
    for (int e = 0; e < exam->edges.count; e++) {
        if (sn_list_size(&exam->edge_corners, e) != 2) continue;
        const int *corner = exam->edge_corners.item + exam->edge_corners.start[e];
        if (runs_forward(exam, corner[0]) == runs_forward(exam, corner[1]))
            report(exam, SINEW_FINDING_KIND_ORIENTATION, exam->edges.vertices[2 * e],
                   exam->edges.vertices[2 * e + 1], -1);
    }
}

/* Corners at a vertex belong to one fan when a chain of common edges joins them. */
static sinew_status check_fans(examination *exam, sinew_error *error) {
    const sinew_mesh *mesh = exam->mesh;
    int corners = mesh->face_count ? mesh->face_start[mesh->face_count] : 0;
    int *fan = SN_NEW(int, corners), *fans = SN_NEW0(int, mesh->vertex_count);
    if (!fan || !fans) {
        sn_free(fan), sn_free(fans);
        return sn_no_memory(error);
    }
    for (int c = 0; c < corners; c++) fan[c] = c;
    for (int e = 0; e < exam->edges.count; e++) {
        int at_low = -1, at_high = -1;
        for (int i = exam->edge_corners.start[e]; i < exam->edge_corners.start[e + 1]; i++) {
            int from = exam->edge_corners.item[i];
            int to = next_corner(mesh, exam->corner_face[from], from);
            int low = runs_forward(exam, from) ? from : to, high = low == from ? to : from;
            if (at_low >= 0) sn_set_join(fan, at_low, low), sn_set_join(fan, at_high, high);
            at_low = low, at_high = high;
        }
    }
    /* A vertex twice in one face (degenerate, reported as such) is not a second fan. */
    for (int f = 0; f < mesh->face_count; f++)
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++)
            if (exam->corner_edge[c] < 0) sn_set_join(fan, c, next_corner(mesh, f, c));
    for (int c = 0; c < corners; c++)
        if (sn_set_find(fan, c) == c) fans[mesh->face_vertices[c]]++;
    for (int v = 0; v < mesh->vertex_count; v++)
        if (fans[v] > 1) report(exam, SINEW_FINDING_KIND_NON_MANIFOLD_VERTEX, v, fans[v], -1);
    sn_free(fan), sn_free(fans);
    return SINEW_OK;
}

/* Triangles whose corners are all finite, for the geometric part. */
static sinew_status finite_triangles(const sinew_mesh *mesh, double **positions, int **triangles,
                                     int **face, int *count, sinew_error *error) {
    *positions = sn_memdup(mesh->positions, 3 * (size_t)mesh->vertex_count, sizeof(double));
    *triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count);
    *face = SN_NEW(int, mesh->triangle_count);
    *count = 0;
    if (!*positions || !*triangles || !*face) return sn_no_memory(error);
    for (int v = 0; v < mesh->vertex_count; v++)
        if (!finite_vertex(mesh, v)) sn_put(*positions, v, sn_v3(0, 0, 0));
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (!finite_vertex(mesh, v[0]) || !finite_vertex(mesh, v[1]) || !finite_vertex(mesh, v[2]))
            continue;
        for (int k = 0; k < 3; k++) (*triangles)[3 * (size_t)*count + (size_t)k] = v[k];
        (*face)[(*count)++] = mesh->triangle_face[t];
    }
    return SINEW_OK;
}

static int compare_pairs(const void *left, const void *right) {
    const int *a = left, *b = right;
    if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
    return (a[1] > b[1]) - (a[1] < b[1]);
}

/* Pairs of triangles become pairs of faces, each once; a bent polygon does not intersect itself. */
static sinew_status report_face_pairs(examination *exam, sn_pairs *pairs, const int *face,
                                      sinew_error *error) {
    char *hit = SN_NEW0(char, exam->mesh->face_count);
    if (!hit) return sn_no_memory(error);
    for (int i = 0; i < pairs->count; i++) {
        int *pair = pairs->pair + 2 * (size_t)i, f = face[pair[0]], g = face[pair[1]];
        pair[0] = f < g ? f : g, pair[1] = f < g ? g : f;
    }
    qsort(pairs->pair, (size_t)pairs->count, 2 * sizeof(int), compare_pairs);
    for (int i = 0; i < pairs->count; i++) {
        const int *pair = pairs->pair + 2 * (size_t)i;
        if (pair[0] == pair[1] || (i > 0 && compare_pairs(pair - 2, pair) == 0)) continue;
        report(exam, SINEW_FINDING_KIND_SELF_INTERSECTION, pair[0], pair[1], -1);
        hit[pair[0]] = hit[pair[1]] = 1;
    }
    for (int f = 0; f < exam->mesh->face_count; f++) exam->check->self_intersecting_faces += hit[f];
    sn_free(hit);
    return SINEW_OK;
}

static sinew_status check_intersections(examination *exam, sinew_error *error) {
    if (!exam->options->self_intersection) return SINEW_OK;
    double *positions = NULL;
    int *triangles = NULL, *face = NULL, count;
    sn_pairs pairs = {0};
    sinew_status status =
        finite_triangles(exam->mesh, &positions, &triangles, &face, &count, error);
    if (status == SINEW_OK)
        status = sn_self_intersections(exam->mesh->vertex_count, positions, count, triangles,
                                       exam->monitor, &pairs, error);
    if (status == SINEW_OK) status = report_face_pairs(exam, &pairs, face, error);
    sn_pairs_free(&pairs);
    sn_free(positions), sn_free(triangles), sn_free(face);
    return status;
}

static sinew_status check_vertices(examination *exam, sinew_error *error) {
    const sinew_mesh *mesh = exam->mesh;
    int *number = SN_NEW(int, mesh->vertex_count), merged;
    if (!number) return sn_no_memory(error);
    double diagonal = 0;
    sn_box_frame frame = sn_box_frame_of(mesh->vertex_count, mesh->positions, 0, NULL);
    if (isfinite(frame.scale)) diagonal = 2 / frame.scale;
    sinew_status status = sn_weld(mesh->vertex_count, mesh->positions,
                                  exam->options->coincident * diagonal, number, &merged, error);
    for (int v = 0; status == SINEW_OK && v < mesh->vertex_count; v++)
        if (number[v] != v) report(exam, SINEW_FINDING_KIND_COINCIDENT_VERTEX, v, number[v], -1);
    if (status == SINEW_OK)
        status = sn_components(mesh->vertex_count, mesh->triangle_count, mesh->triangles, number,
                               &exam->check->component_count, error);
    for (int v = 0; status == SINEW_OK && v < mesh->vertex_count; v++)
        if (number[v] < 0) report(exam, SINEW_FINDING_KIND_ISOLATED_VERTEX, v, -1, -1);
    sn_free(number);
    return status;
}

static sinew_status check_loops(examination *exam, sinew_error *error) {
    const sinew_mesh *mesh = exam->mesh;
    sn_topology *topology;
    SN_TRY(sn_topology_create(mesh->vertex_count, mesh->triangle_count, mesh->triangles, &topology,
                              error));
    sn_lists loops = {0};
    sinew_status status = sn_boundary_loops(topology, &loops, error);
    for (int i = 0; status == SINEW_OK && i < loops.count; i++)
        report(exam, SINEW_FINDING_KIND_BOUNDARY_LOOP, loops.item[loops.start[i]],
               sn_list_size(&loops, i), -1);
    exam->check->boundary_loop_count = loops.count;
    sn_lists_free(&loops);
    sn_topology_destroy(topology);
    return status;
}

static void conclude(examination *exam) {
    sinew_check *check = exam->check;
    const sinew_mesh *mesh = exam->mesh;
    check->closed = mesh->face_count > 0 && check->boundary_edge_count == 0 &&
                    check->counts[SINEW_FINDING_KIND_NOT_FINITE] == 0 &&
                    check->counts[SINEW_FINDING_KIND_NON_MANIFOLD_EDGE] == 0 &&
                    check->counts[SINEW_FINDING_KIND_NON_MANIFOLD_VERTEX] == 0 &&
                    check->counts[SINEW_FINDING_KIND_ORIENTATION] == 0;
    if (check->closed)
        check->volume = sn_enclosed_volume(mesh->triangle_count, mesh->triangles, mesh->positions);
}

/* Findings come out by kind because the parts run in the order of the kinds. */
static sinew_status examine(examination *exam, sinew_error *error) {
    check_numbers(exam);
    check_indices(exam);
    if (exam->check->counts[SINEW_FINDING_KIND_BAD_INDEX]) return SINEW_OK;
    SN_TRY(build_adjacency(exam, error));
    exam->check->edge_count = exam->edges.count;
    SN_TRY(check_faces(exam, error));
    check_edges(exam);
    SN_TRY(check_fans(exam, error));
    check_orientation(exam);
    SN_TRY(check_intersections(exam, error));
    SN_TRY(check_vertices(exam, error));
    SN_TRY(check_loops(exam, error));
    conclude(exam);
    return SINEW_OK;
}

sinew_status sinew_check_mesh(const sinew_mesh *mesh, const sinew_check_options *options,
                              const sinew_monitor *monitor, sinew_check **check,
                              sinew_error *error) {
    SN_REQUIRE(check, error);
    *check = NULL;
    SN_REQUIRE(mesh, error);
    SN_REQUIRE(mesh->face_count == 0 || (mesh->face_start && mesh->face_vertices), error);
    SN_REQUIRE(mesh->triangle_count == 0 || (mesh->triangles && mesh->triangle_face), error);
    SN_OPTIONS(sinew_check_options, wanted, options, error);
    sinew_check *made = SN_NEW0(sinew_check, 1);
    if (!made) return sn_no_memory(error);
    made->vertex_count = mesh->vertex_count;
    made->face_count = mesh->face_count;
    made->triangle_count = mesh->triangle_count;
    examination exam = {.mesh = mesh, .options = &wanted, .monitor = monitor, .check = made};
    sinew_status status = examine(&exam, error);
    if (status == SINEW_OK && exam.no_memory) status = sn_no_memory(error);
    sn_edges_free(&exam.edges);
    sn_free(exam.corner_face);
    sn_free(exam.corner_edge);
    sn_lists_free(&exam.edge_corners);
    if (status != SINEW_OK) {
        sinew_check_destroy(made);
        return status;
    }
    *check = made;
    return SINEW_OK;
}

void sinew_check_destroy(sinew_check *check) {
    if (!check) return;
    sn_free(check->findings);
    sn_free(check);
}

bool sinew_finding_is_problem(sinew_finding_kind kind) {
    return kind < SINEW_FINDING_KIND_COINCIDENT_VERTEX;
}

int sinew_check_problems(const sinew_check *check) {
    int sum = 0;
    for (int k = 0; check && k < SINEW_FINDING_KIND_COUNT; k++)
        if (sinew_finding_is_problem((sinew_finding_kind)k)) sum += check->counts[k];
    return sum;
}

const char *sinew_finding_name(sinew_finding_kind kind) {
    static const char *const names[SINEW_FINDING_KIND_COUNT] = {
        [SINEW_FINDING_KIND_NOT_FINITE] = "not finite",
        [SINEW_FINDING_KIND_BAD_INDEX] = "bad index",
        [SINEW_FINDING_KIND_DEGENERATE_FACE] = "degenerate face",
        [SINEW_FINDING_KIND_DUPLICATE_FACE] = "duplicate face",
        [SINEW_FINDING_KIND_NON_MANIFOLD_EDGE] = "non-manifold edge",
        [SINEW_FINDING_KIND_NON_MANIFOLD_VERTEX] = "non-manifold vertex",
        [SINEW_FINDING_KIND_ORIENTATION] = "inconsistent orientation",
        [SINEW_FINDING_KIND_SELF_INTERSECTION] = "self-intersection",
        [SINEW_FINDING_KIND_COINCIDENT_VERTEX] = "coincident vertex",
        [SINEW_FINDING_KIND_ISOLATED_VERTEX] = "isolated vertex",
        [SINEW_FINDING_KIND_BOUNDARY_LOOP] = "boundary loop",
    };
    return (unsigned)kind < SINEW_FINDING_KIND_COUNT ? names[kind] : "unknown";
}

const char *sinew_finding_text(const sinew_finding *finding, char *line) {
    const int *e = finding->elements;
    switch (finding->kind) {
    case SINEW_FINDING_KIND_NOT_FINITE:
        snprintf(line, SINEW_FINDING_SIZE, "vertex %d has a coordinate that is not finite", e[0]);
        break;
    case SINEW_FINDING_KIND_BAD_INDEX:
        snprintf(line, SINEW_FINDING_SIZE, "face %d corner %d refers to vertex %d", e[0], e[1],
                 e[2]);
        break;
    case SINEW_FINDING_KIND_DEGENERATE_FACE:
        snprintf(line, SINEW_FINDING_SIZE, "face %d has no area or a vertex twice", e[0]);
        break;
    case SINEW_FINDING_KIND_DUPLICATE_FACE:
        snprintf(line, SINEW_FINDING_SIZE, "face %d has the same vertices as face %d", e[0], e[1]);
        break;
    case SINEW_FINDING_KIND_NON_MANIFOLD_EDGE:
        snprintf(line, SINEW_FINDING_SIZE, "edge %d-%d joins %d faces", e[0], e[1], e[2]);
        break;
    case SINEW_FINDING_KIND_NON_MANIFOLD_VERTEX:
        snprintf(line, SINEW_FINDING_SIZE, "vertex %d joins %d fans of faces", e[0], e[1]);
        break;
    case SINEW_FINDING_KIND_ORIENTATION:
        snprintf(line, SINEW_FINDING_SIZE, "edge %d-%d joins faces with opposite orientations",
                 e[0], e[1]);
        break;
    case SINEW_FINDING_KIND_SELF_INTERSECTION:
        snprintf(line, SINEW_FINDING_SIZE, "faces %d and %d intersect", e[0], e[1]);
        break;
    case SINEW_FINDING_KIND_COINCIDENT_VERTEX:
        snprintf(line, SINEW_FINDING_SIZE, "vertex %d is at the position of vertex %d", e[0], e[1]);
        break;
    case SINEW_FINDING_KIND_ISOLATED_VERTEX:
        snprintf(line, SINEW_FINDING_SIZE, "vertex %d is used by no face", e[0]);
        break;
    case SINEW_FINDING_KIND_BOUNDARY_LOOP:
        snprintf(line, SINEW_FINDING_SIZE, "boundary of %d edges through vertex %d", e[1], e[0]);
        break;
    default:
        snprintf(line, SINEW_FINDING_SIZE, "unknown finding");
    }
    return line;
}
