/* Based on: the spring networks of "spring blendshapes" (structure, bending and internal springs
 * with blended rest lengths). We differ in: increments per target instead of one list of lengths
 * per pose, bending springs across flaps by default, and a stiffness that does not change with the
 * blend. */
#include "spring/network.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/scope.h"
#include "base/vec3.h"

/* A spring under this fraction of the mean spring length is as good as zero long. */
static const double REST_FLOOR = 1e-6;
/* Mean lengths below this fraction of the mean spring length count as this long for the stiffness:
 * k = kappa / length must not explode on coincident vertices. */
static const double STIFFNESS_FLOOR = 1e-2;
/* Floor of V_T relative to the mean. */
static const double SCALE_FLOOR = 1e-3;
/* Altitudes below this fraction of the mean edge count as this long for the stiffness. */
static const double ALTITUDE_FLOOR = 1e-2;
/* Springs and altitudes whose length changes by more than this factor between poses are softer. */
static const double ELASTIC = 10;
/* Nearest vertices that each anchor corner is tied to. */
enum { ANCHOR_TIES = 12 };

double sn_tet_volume(const double *positions, const int tet[4]) {
    sn_vec3 a = sn_at(positions, tet[0]);
    sn_vec3 u = sn_sub(sn_at(positions, tet[1]), a);
    sn_vec3 v = sn_sub(sn_at(positions, tet[2]), a);
    sn_vec3 w = sn_sub(sn_at(positions, tet[3]), a);
    return sn_dot(sn_cross(u, v), w) / 6;
}

static double cube_of(double a) {
    return a * a * a;
}

/* ---- list of springs while it grows: first, second and kind packed into one sortable key ---- */

typedef struct spring_list {
    uint64_t *keys;
    size_t count, capacity;
} spring_list;

static const int KIND_BITS = 4, INDEX_BITS = 30;

static bool list_add(spring_list *list, int a, int b, sinew_spring_kind kind) {
    if (a == b) return true;
    if (!SN_RESERVE(list->keys, list->capacity, list->count + 1)) return false;
    uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
    list->keys[list->count++] =
        (low << (INDEX_BITS + KIND_BITS)) | (high << KIND_BITS) | (uint64_t)kind;
    return true;
}

static int compare_keys(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorted, one spring per pair; the first kind in enum order wins. */
static void list_unique(spring_list *list) {
    if (!list->count) return;
    qsort(list->keys, list->count, sizeof *list->keys, compare_keys);
    size_t kept = 1;
    for (size_t k = 1; k < list->count; k++)
        if (list->keys[k] >> KIND_BITS != list->keys[kept - 1] >> KIND_BITS)
            list->keys[kept++] = list->keys[k];
    list->count = kept;
}

/* Triangle sides with the corner opposite, sorted by side: neighbors in the list share an edge. */
typedef struct side {
    uint64_t edge;
    int opposite;
} side;

static int compare_sides(const void *a, const void *b) {
    const side *x = a, *y = b;
    if (x->edge != y->edge) return x->edge < y->edge ? -1 : 1;
    return (x->opposite > y->opposite) - (x->opposite < y->opposite);
}

/* NULL: no memory. */
static side *list_sides(int triangle_count, const int *triangles) {
    side *sides = SN_NEW(side, 3 * (size_t)triangle_count);
    if (!sides) return NULL;
    size_t count = 0;
    for (int t = 0; t < triangle_count; t++)
        for (int c = 0; c < 3; c++) {
            int a = triangles[3 * t + c], b = triangles[3 * t + (c + 1) % 3];
            uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
            sides[count++] = (side){low << 32 | high, triangles[3 * t + (c + 2) % 3]};
        }
    qsort(sides, count, sizeof *sides, compare_sides);
    return sides;
}

/* Where more triangles than a surface has share an edge, each is tied to the next few: tying all to
 * all would take a number of springs that grows with the square of theirs. */
enum { MOST_FLAPS = 8 };

static bool add_flaps(spring_list *list, int triangle_count, const int *triangles) {
    size_t count = 3 * (size_t)triangle_count;
    side *sides = list_sides(triangle_count, triangles);
    bool ok = sides != NULL;
    for (size_t a = 0; a < count && ok; a++)
        for (size_t b = a + 1; ok && b < count && b <= a + MOST_FLAPS; b++)
            ok = sides[b].edge != sides[a].edge ||
                 list_add(list, sides[a].opposite, sides[b].opposite, SINEW_SPRING_KIND_BENDING);
    sn_free(sides);
    return ok;
}

/* The altitude of triangle t as it is in `positions`. */
static double altitude_of(const sn_network *network, const double *positions, int t) {
    const int *v = network->altitude_corners + 3 * (size_t)t;
    sn_vec3 foot =
        sn_lerp(sn_at(positions, v[1]), sn_at(positions, v[2]), network->altitude_foot[t]);
    return sn_distance(sn_at(positions, v[0]), foot);
}

static double altitude_log(const sn_network *network, double altitude) {
    double least = ALTITUDE_FLOOR * network->mean_edge;
    return log(altitude > least ? altitude : least);
}

/* Takes the longest side as the base when that makes the triangle thinner than `thinnest`. */
static void choose_altitude(sn_network *network, const double *positions, int t, double *thinnest) {
    const int *v = network->triangles + 3 * (size_t)t;
    int base = 0;
    double longest = -1;
    for (int c = 0; c < 3; c++) {
        double length =
            sn_distance(sn_at(positions, v[(c + 1) % 3]), sn_at(positions, v[(c + 2) % 3]));
        if (length > longest) longest = length, base = c;
    }
    if (!(longest > 0)) return;
    int corners[3] = {v[base], v[(base + 1) % 3], v[(base + 2) % 3]};
    sn_vec3 a = sn_at(positions, corners[1]), along = sn_sub(sn_at(positions, corners[2]), a);
    sn_vec3 apex = sn_sub(sn_at(positions, corners[0]), a);
    double foot = sn_dot(apex, along) / sn_dot(along, along);
    double altitude = sn_length(sn_add_scaled(apex, -foot, along));
    if (!(altitude < *thinnest)) return;
    *thinnest = altitude;
    memcpy(network->altitude_corners + 3 * (size_t)t, corners, sizeof corners);
    network->altitude_foot[t] = foot;
}

void sn_network_choose_altitudes(sn_network *network, int pose_count, const double *const *poses) {
    for (int t = 0; t < network->triangle_count && !(t % 256 == 0 && sn_scope_poll()); t++) {
        double thinnest = INFINITY;
        network->altitude_foot[t] = 0.5;
        choose_altitude(network, network->neutral, t, &thinnest);
        for (int p = 0; p < pose_count; p++) choose_altitude(network, poses[p], t, &thinnest);
        network->altitude[t] = altitude_of(network, network->neutral, t);
    }
}

/* Every pair at graph distance exactly two over structure springs. Pairs at distance one are
 * dropped by list_unique, because structure comes first in the enum. */
static bool add_rings(spring_list *list, int vertex_count) {
    size_t edges = list->count;
    int *start = SN_NEW0(int, vertex_count + 1), *neighbour = SN_NEW(int, 2 * edges);
    bool ok = start && neighbour;
    if (ok) {
        const uint64_t mask = ((uint64_t)1 << INDEX_BITS) - 1;
        for (size_t e = 0; e < edges; e++) {
            start[(list->keys[e] >> (INDEX_BITS + KIND_BITS)) + 1]++;
            start[((list->keys[e] >> KIND_BITS) & mask) + 1]++;
        }
        for (int v = 0; v < vertex_count; v++) start[v + 1] += start[v];
        for (size_t e = edges; e-- > 0;) {
            int a = (int)(list->keys[e] >> (INDEX_BITS + KIND_BITS));
            int b = (int)((list->keys[e] >> KIND_BITS) & mask);
            neighbour[--start[a + 1]] = b, neighbour[--start[b + 1]] = a;
        }
        /* the loop above moved start[v + 1] down to the first neighbor of v */
        for (int v = 0; v < vertex_count; v++) start[v] = start[v + 1];
        start[vertex_count] = (int)(2 * edges);
        for (int v = 0; v < vertex_count && ok; v++)
            for (int a = start[v]; a < start[v + 1] && ok; a++)
                for (int b = a + 1; b < start[v + 1] && ok; b++)
                    ok = list_add(list, neighbour[a], neighbour[b], SINEW_SPRING_KIND_BENDING);
    }
    sn_free(start), sn_free(neighbour);
    return ok;
}

/* ---- building ---- */

static int find_root(int *parent, int v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

static sinew_status find_components(sn_network *network, sinew_error *error) {
    int n = network->vertex_count;
    int *parent = SN_NEW(int, n), *label = SN_NEW(int, n);
    if (!parent || !label) {
        sn_free(parent), sn_free(label);
        return sn_no_memory(error);
    }
    for (int v = 0; v < n; v++) parent[v] = v, label[v] = -1, network->component[v] = -1;
    for (int q = 0; q < network->spring_count; q++) {
        int a = find_root(parent, network->ends[2 * q]);
        int b = find_root(parent, network->ends[2 * q + 1]);
        if (a != b) parent[a < b ? b : a] = a < b ? a : b;
    }
    network->component_count = 0;
    for (int q = 0; q < network->spring_count; q++) /* vertices without springs stay at -1 */
        for (int e = 0; e < 2; e++) network->component[network->ends[2 * q + e]] = 0;
    for (int v = 0; v < n; v++) {
        if (network->component[v] < 0) continue;
        int root = find_root(parent, v);
        if (label[root] < 0) label[root] = network->component_count++;
        network->component[v] = label[root];
    }
    sn_free(parent), sn_free(label);
    return SINEW_OK;
}

/* Replace the springs by the list's, and measure them in the neutral. */
static sinew_status take_springs(sn_network *network, spring_list *list, const double *positions,
                                 sinew_error *error) {
    list_unique(list);
    size_t count = list->count;
    if (count > INT32_MAX / 4)
        return sn_fail(error, SINEW_BAD_INPUT, "spring network of %zu springs is too large", count);
    sn_free(network->ends), sn_free(network->kind), sn_free(network->rest);
    network->ends = SN_NEW(int, 2 * count);
    network->kind = SN_NEW(unsigned char, count);
    network->rest = SN_NEW(double, count);
    if (!network->ends || !network->kind || !network->rest) return sn_no_memory(error);
    network->spring_count = (int)count;
    const uint64_t mask = ((uint64_t)1 << INDEX_BITS) - 1;
    double sum = 0, edges = 0;
    int edge_count = 0;
    for (size_t q = 0; q < count; q++) {
        int a = (int)(list->keys[q] >> (INDEX_BITS + KIND_BITS));
        int b = (int)((list->keys[q] >> KIND_BITS) & mask);
        network->ends[2 * q] = a, network->ends[2 * q + 1] = b;
        network->kind[q] = (unsigned char)(list->keys[q] & (((uint64_t)1 << KIND_BITS) - 1));
        network->rest[q] = sn_distance(sn_at(positions, a), sn_at(positions, b));
        sum += network->rest[q];
        if (network->kind[q] == SINEW_SPRING_KIND_STRUCTURE)
            edges += network->rest[q], edge_count++;
    }
    network->mean_length = count ? sum / (double)count : 0;
    network->mean_edge = edge_count ? edges / edge_count : 1;
    network->rest_floor = REST_FLOOR * network->mean_length;
    return find_components(network, error);
}

static bool list_from_network(spring_list *list, const sn_network *network) {
    for (int q = 0; q < network->spring_count; q++)
        if (!list_add(list, network->ends[2 * q], network->ends[2 * q + 1],
                      (sinew_spring_kind)network->kind[q]))
            return false;
    return true;
}

static sinew_status build(sn_network *network, const sinew_mesh *mesh, const sinew_tets *tets,
                          const double *positions, sinew_spring_bending bending,
                          sinew_error *error) {
    spring_list list = {0};
    bool ok = true;
    for (int t = 0; t < mesh->triangle_count && ok; t++)
        for (int c = 0; c < 3 && ok; c++)
            ok = list_add(&list, mesh->triangles[3 * t + c], mesh->triangles[3 * t + (c + 1) % 3],
                          SINEW_SPRING_KIND_STRUCTURE);
    list_unique(&list);
    if (ok && bending == SINEW_SPRING_BENDING_FLAP)
        ok = add_flaps(&list, mesh->triangle_count, mesh->triangles);
    if (ok && bending == SINEW_SPRING_BENDING_RING) ok = add_rings(&list, mesh->vertex_count);
    static const int edges[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    for (int t = 0; t < network->tet_count && ok; t++)
        for (int e = 0; e < 6 && ok; e++)
            ok = list_add(&list, tets->tets[4 * t + edges[e][0]], tets->tets[4 * t + edges[e][1]],
                          SINEW_SPRING_KIND_INTERNAL);
    sinew_status status = ok ? take_springs(network, &list, positions, error) : sn_no_memory(error);
    sn_free(list.keys);
    return status;
}

static sinew_status take_volumes(sn_network *network, const sinew_tets *tets, sinew_error *error) {
    if (tets) {
        network->tets = sn_memdup(tets->tets, 4 * (size_t)tets->tet_count, sizeof(int));
        if (!network->tets) return sn_no_memory(error);
    }
    network->volume = SN_NEW(double, network->tet_count);
    network->volume_scale = SN_NEW0(double, network->tet_count);
    if (!network->volume || !network->volume_scale) return sn_no_memory(error);
    for (int t = 0; t < network->tet_count; t++)
        network->volume[t] = cbrt(sn_tet_volume(network->neutral, network->tets + 4 * (size_t)t));
    return SINEW_OK;
}

sinew_status sn_network_create(const sinew_mesh *mesh, const sinew_tets *tets,
                               const double *positions, sinew_spring_bending bending,
                               int target_count, sn_network **result, sinew_error *error) {
    *result = NULL;
    sn_network *network = SN_NEW0(sn_network, 1);
    if (!network) return sn_no_memory(error);
    network->surface_count = mesh->vertex_count;
    network->vertex_count = tets ? tets->vertex_count : mesh->vertex_count;
    network->anchor_first = network->vertex_count;
    network->target_count = target_count;
    network->tet_count = tets ? tets->tet_count : 0;
    network->triangle_count = mesh->triangle_count;
    network->diagonal = sinew_diagonal(mesh->vertex_count, positions);
    network->component = SN_NEW(int, network->vertex_count);
    network->triangles = sn_memdup(mesh->triangles, 3 * (size_t)mesh->triangle_count, sizeof(int));
    network->neutral = sn_memdup(positions, 3 * (size_t)network->vertex_count, sizeof(double));
    size_t triangles = (size_t)mesh->triangle_count;
    network->altitude_corners = sn_memdup(mesh->triangles, 3 * triangles, sizeof(int));
    network->altitude_foot = SN_NEW(double, triangles);
    network->altitude = SN_NEW(double, triangles);
    network->altitude_scale = SN_NEW(double, triangles);
    network->rest_increment = SN_NEW0(sn_increment, target_count);
    network->volume_increment = SN_NEW0(sn_increment, target_count);
    network->altitude_increment = SN_NEW0(sn_increment, target_count);
    sinew_status status = SINEW_OK;
    if (!network->component || !network->neutral || !network->triangles ||
        !network->altitude_corners || !network->altitude_foot || !network->altitude ||
        !network->altitude_scale || !network->rest_increment || !network->volume_increment ||
        !network->altitude_increment)
        status = sn_no_memory(error);
    if (status == SINEW_OK) sn_network_choose_altitudes(network, 0, NULL);
    if (status == SINEW_OK) status = build(network, mesh, tets, positions, bending, error);
    if (status == SINEW_OK) status = take_volumes(network, tets, error);
    if (status != SINEW_OK) {
        sn_network_destroy(network);
        return status;
    }
    *result = network;
    return SINEW_OK;
}

static void free_increments(int target_count, sn_increment *increments) {
    for (int t = 0; increments && t < target_count; t++)
        sn_free(increments[t].index), sn_free(increments[t].value);
    sn_free(increments);
}

void sn_network_destroy(sn_network *network) {
    if (!network) return;
    free_increments(network->target_count, network->rest_increment);
    free_increments(network->target_count, network->volume_increment);
    free_increments(network->target_count, network->altitude_increment);
    sn_free(network->ends), sn_free(network->kind), sn_free(network->stiffness);
    sn_free(network->rest), sn_free(network->mean_rest), sn_free(network->triangles);
    sn_free(network->tets), sn_free(network->volume), sn_free(network->volume_scale);
    sn_free(network->altitude), sn_free(network->altitude_scale), sn_free(network->altitude_sum);
    sn_free(network->altitude_corners), sn_free(network->altitude_foot);
    sn_free(network->neutral), sn_free(network->component), sn_free(network->length_sum),
        sn_free(network->volume_sum);
    sn_free(network);
}

/* The `wanted` nearest of the first `count` vertices to a point that satisfy component rules;
 * insertion into a short sorted list. Returns how many were found. */
static int nearest_vertices(const sn_network *network, const double *positions, int count,
                            sn_vec3 point, int wanted, int *nearest) {
    double distance[ANCHOR_TIES];
    int found = 0;
    for (int v = 0; v < count; v++) {
        if (network->component[v] < 0) continue;
        double d = sn_distance(sn_at(positions, v), point);
        if (found == wanted && d >= distance[found - 1]) continue;
        int k = found < wanted ? found++ : found - 1;
        for (; k > 0 && distance[k - 1] > d; k--)
            distance[k] = distance[k - 1], nearest[k] = nearest[k - 1];
        distance[k] = d, nearest[k] = v;
    }
    return found;
}

sinew_status sn_network_add_anchor(sn_network *network, const double *positions,
                                   sinew_error *error) {
    int first = network->vertex_count;
    int *component = sn_realloc(network->component, (size_t)first + 4, sizeof *component);
    if (!component) return sn_no_memory(error);
    network->component = component;
    spring_list list = {0};
    bool ok = list_from_network(&list, network);
    for (int a = 0; a < 4 && ok; a++) {
        int nearest[ANCHOR_TIES];
        int found = nearest_vertices(network, positions, first, sn_at(positions, first + a),
                                     ANCHOR_TIES, nearest);
        for (int k = 0; k < found && ok; k++)
            ok = list_add(&list, first + a, nearest[k], SINEW_SPRING_KIND_ANCHOR);
        for (int b = 0; b < a && ok; b++)
            ok = list_add(&list, first + a, first + b, SINEW_SPRING_KIND_ANCHOR);
    }
    double *neutral = sn_realloc(network->neutral, 3 * ((size_t)first + 4), sizeof *neutral);
    if (!neutral)
        ok = false;
    else {
        network->neutral = neutral;
        memcpy(neutral + 3 * (size_t)first, positions + 3 * (size_t)first, 12 * sizeof *neutral);
    }
    network->vertex_count = first + 4;
    network->anchor_first = first;
    sinew_status status = ok ? take_springs(network, &list, positions, error) : sn_no_memory(error);
    sn_free(list.keys);
    return status;
}

sinew_status sn_network_add_struts(sn_network *network, const double *positions, const int *across,
                                   sinew_error *error) {
    spring_list list = {0};
    bool ok = list_from_network(&list, network);
    for (int v = 0; v < network->surface_count && ok; v++)
        if (across[v] >= 0) ok = list_add(&list, v, across[v], SINEW_SPRING_KIND_INTERNAL);
    sinew_status status = ok ? take_springs(network, &list, positions, error) : sn_no_memory(error);
    sn_free(list.keys);
    return status;
}

sinew_status sn_network_add_ties(sn_network *network, const double *positions, int link_count,
                                 const sn_link *links, double distance, sinew_error *error) {
    spring_list list = {0};
    bool ok = list_from_network(&list, network);
    for (int l = 0; l < link_count && ok; l++) {
        double offset[3];
        sn_link_offset(&links[l], positions, offset);
        if (sn_length(sn_at(offset, 0)) > distance) continue;
        for (int c = 0; c < 3 && ok; c++)
            ok = list_add(&list, links[l].vertex, links[l].corners[c], SINEW_SPRING_KIND_TIE);
    }
    sinew_status status = ok ? take_springs(network, &list, positions, error) : sn_no_memory(error);
    sn_free(list.keys);
    return status;
}

/* The spring between a and b, -1: none. */
static int spring_between(const sn_network *network, int a, int b) {
    int ends[2] = {a < b ? a : b, a < b ? b : a}, low = 0, high = network->spring_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        const int *at = network->ends + 2 * (size_t)middle;
        if (at[0] < ends[0] || (at[0] == ends[0] && at[1] < ends[1]))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == network->spring_count) return -1;
    const int *found = network->ends + 2 * (size_t)low;
    return found[0] == ends[0] && found[1] == ends[1] ? low : -1;
}

sinew_status sn_network_stiffen_ties(sn_network *network, int link_count, const sn_link *links,
                                     const double *ratios, sinew_error *error) {
    double *factor = SN_NEW0(double, network->spring_count);
    if (!factor) return sn_no_memory(error);
    for (int l = 0; l < link_count; l++)
        for (int c = 0; c < 3; c++) {
            int q = spring_between(network, links[l].vertex, links[l].corners[c]);
            if (q >= 0 && network->kind[q] == SINEW_SPRING_KIND_TIE)
                factor[q] = fmax(factor[q], ratios[l]);
        }
    for (int q = 0; q < network->spring_count; q++)
        if (factor[q] > 1) network->stiffness[q] *= factor[q];
    sn_free(factor);
    return SINEW_OK;
}

/* ---- poses ---- */

/* value - blend, where it is not negligible. */
static sinew_status make_increment(int count, const double *value, const double *blend,
                                   const double *scale, sn_increment *increment,
                                   sinew_error *error) {
    static const double NEGLIGIBLE = 1e-14;
    int kept = 0;
    for (int k = 0; k < count; k++)
        kept += fabs(value[k] - blend[k]) > NEGLIGIBLE * (fabs(scale[k]) + fabs(value[k]));
    increment->index = SN_NEW(int, kept);
    increment->value = SN_NEW(double, kept);
    if (!increment->index || !increment->value) return sn_no_memory(error);
    for (int k = 0; k < count; k++)
        if (fabs(value[k] - blend[k]) > NEGLIGIBLE * (fabs(scale[k]) + fabs(value[k]))) {
            increment->index[increment->count] = k;
            increment->value[increment->count++] = value[k] - blend[k];
        }
    return SINEW_OK;
}

static void add_increments(int target_count, const sn_increment *increments,
                           const double *activations, double *values) {
    for (int t = 0; t < target_count; t++) {
        double a = activations[t];
        if (a == 0) continue;
        const sn_increment *increment = &increments[t];
        for (int k = 0; k < increment->count; k++)
            values[increment->index[k]] += a * increment->value[k];
    }
}

static sinew_status start_sums(sn_network *network, sinew_error *error) {
    if (network->length_sum) return SINEW_OK;
    network->length_sum = sn_memdup(network->rest, (size_t)network->spring_count, sizeof(double));
    network->volume_sum = SN_NEW(double, network->tet_count);
    network->altitude_sum = SN_NEW(double, network->triangle_count);
    if (!network->length_sum || !network->volume_sum || !network->altitude_sum)
        return sn_no_memory(error);
    for (int t = 0; t < network->triangle_count; t++)
        network->altitude_sum[t] = altitude_log(network, network->altitude[t]);
    for (int t = 0; t < network->tet_count; t++)
        network->volume_sum[t] = cube_of(fabs(network->volume[t]));
    network->pose_count = 1;
    return SINEW_OK;
}

sinew_status sn_network_add_pose(sn_network *network, int target, const double *positions,
                                 const double *activations, sinew_error *error) {
    SN_TRY(start_sums(network, error));
    int larger =
        network->spring_count > network->tet_count ? network->spring_count : network->tet_count;
    if (larger < network->triangle_count) larger = network->triangle_count;
    double *value = SN_NEW(double, larger), *blend = SN_NEW(double, larger);
    sinew_status status = value && blend ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int q = 0; q < network->spring_count; q++) {
            value[q] = sn_distance(sn_at(positions, network->ends[2 * q]),
                                   sn_at(positions, network->ends[2 * q + 1]));
            blend[q] = network->rest[q];
            network->length_sum[q] += value[q];
        }
        /* the target's own increment is still empty: this is the blend without it */
        add_increments(network->target_count, network->rest_increment, activations, blend);
        status = make_increment(network->spring_count, value, blend, network->rest,
                                &network->rest_increment[target], error);
    }
    if (status == SINEW_OK) {
        for (int t = 0; t < network->tet_count; t++) {
            value[t] = cbrt(sn_tet_volume(positions, network->tets + 4 * (size_t)t));
            blend[t] = network->volume[t];
            network->volume_sum[t] += cube_of(fabs(value[t]));
        }
        add_increments(network->target_count, network->volume_increment, activations, blend);
        status = make_increment(network->tet_count, value, blend, network->volume,
                                &network->volume_increment[target], error);
    }
    if (status == SINEW_OK) {
        for (int t = 0; t < network->triangle_count; t++) {
            value[t] = altitude_of(network, positions, t);
            blend[t] = network->altitude[t];
            network->altitude_sum[t] += altitude_log(network, value[t]);
        }
        add_increments(network->target_count, network->altitude_increment, activations, blend);
        status = make_increment(network->triangle_count, value, blend, network->altitude,
                                &network->altitude_increment[target], error);
    }
    network->pose_count++;
    sn_free(value), sn_free(blend);
    return status;
}

/* Mean over the poses, floored. */
static void take_scales(int count, int pose_count, const double *sum, double *scale) {
    double total = 0;
    for (int t = 0; t < count; t++) total += sum[t];
    double least = count ? SCALE_FLOOR * total / count / pose_count : 0;
    for (int t = 0; t < count; t++) {
        double mean = sum[t] / pose_count;
        scale[t] = mean > least ? mean : least;
    }
}

/* How much stiffer fibers make spring q: 1 + (|t| - 1) cos^2 of the angle to the vector t at each
 * of its ends, the mean of both. */
static double fiber_factor(const sn_network *network, const double *fibers, int q) {
    sn_vec3 d = sn_sub(sn_at(network->neutral, network->ends[2 * q]),
                       sn_at(network->neutral, network->ends[2 * q + 1]));
    double factor = 0, squared = sn_dot(d, d);
    for (int e = 0; e < 2; e++) {
        int v = network->ends[2 * q + e];
        sn_vec3 t = v < network->surface_count ? sn_at(fibers, v) : sn_v3(0, 0, 0);
        double length = sn_length(t), along = sn_dot(t, d);
        factor += 0.5;
        if (length > 0 && squared > 0)
            factor += 0.5 * (length - 1) * along * along / (length * length * squared);
    }
    return factor;
}

/* (ELASTIC shortest / longest)^2, at most 1, of a length at rest and in a pose: errors should count
 * relative to the length. The edges across a closed mouth have almost no length at rest, so that
 * their direction there is noise; with the weight that they have when it is open, they crumple the
 * lips in the first frame. */
static double softness(double rest, double pose) {
    double ratio = ELASTIC * fmin(rest, pose) / fmax(rest, pose);
    return ratio < 1 ? ratio * ratio : 1;
}

/* *least[k]: the least softness over the targets. What is shorter than `shortest` counts as this
 * long: a triangle that is thin in all poses does not open. */
static bool find_softness(const sn_network *network, int count, const double *rest,
                          const sn_increment *increments, double shortest, double **least) {
    *least = SN_NEW(double, count);
    for (int k = 0; *least && k < count; k++) (*least)[k] = 1;
    for (int t = 0; *least && t < network->target_count; t++)
        for (int i = 0; i < increments[t].count; i++) {
            int k = increments[t].index[i];
            double pose = fmax(rest[k] + increments[t].value[i], shortest);
            (*least)[k] = fmin((*least)[k], softness(fmax(rest[k], shortest), pose));
        }
    return *least != NULL;
}

sinew_status sn_network_soften(sn_network *network, sinew_error *error) {
    double *springs = NULL, *altitudes = NULL;
    bool ok =
        find_softness(network, network->spring_count, network->rest, network->rest_increment,
                      STIFFNESS_FLOOR * network->mean_length, &springs) &&
        find_softness(network, network->triangle_count, network->altitude,
                      network->altitude_increment, ALTITUDE_FLOOR * network->mean_edge, &altitudes);
    for (int q = 0; ok && q < network->spring_count; q++) network->stiffness[q] *= springs[q];
    for (int t = 0; ok && t < network->triangle_count; t++)
        network->altitude_scale[t] /= altitudes[t];
    sn_free(springs), sn_free(altitudes);
    return ok ? SINEW_OK : sn_no_memory(error);
}

sinew_status sn_network_finish(sn_network *network, const double *kappa, const double *map,
                               const double *fibers, sinew_error *error) {
    SN_TRY(start_sums(network, error));
    network->stiffness = SN_NEW(double, network->spring_count);
    network->mean_rest = SN_NEW(double, network->spring_count);
    if (!network->stiffness || !network->mean_rest) return sn_no_memory(error);
    double floor_length = STIFFNESS_FLOOR * network->mean_length;
    for (int q = 0; q < network->spring_count; q++) {
        int a = network->ends[2 * q], b = network->ends[2 * q + 1];
        double mean = network->length_sum[q] / network->pose_count;
        if (mean < floor_length) mean = floor_length;
        double s = 1;
        if (map)
            s = 0.5 * ((a < network->surface_count ? map[a] : 1) +
                       (b < network->surface_count ? map[b] : 1));
        if (fibers) s *= fiber_factor(network, fibers, q);
        network->mean_rest[q] = mean;
        network->stiffness[q] = s * kappa[network->kind[q]] / mean;
    }
    take_scales(network->tet_count, network->pose_count, network->volume_sum,
                network->volume_scale);
    for (int t = 0; t < network->triangle_count; t++)
        network->altitude_scale[t] = exp(network->altitude_sum[t] / network->pose_count);
    sn_free(network->length_sum), sn_free(network->volume_sum), sn_free(network->altitude_sum);
    network->length_sum = network->volume_sum = network->altitude_sum = NULL;
    return SINEW_OK;
}

int sn_network_blend_rest(const sn_network *network, const double *activations, double *rest) {
    memcpy(rest, network->rest, (size_t)network->spring_count * sizeof *rest);
    add_increments(network->target_count, network->rest_increment, activations, rest);
    int clamped = 0;
    for (int q = 0; q < network->spring_count; q++)
        if (!(rest[q] >= network->rest_floor)) rest[q] = network->rest_floor, clamped++;
    return clamped;
}

void sn_network_blend_volume(const sn_network *network, const double *activations, double *volume) {
    memcpy(volume, network->volume, (size_t)network->tet_count * sizeof *volume);
    add_increments(network->target_count, network->volume_increment, activations, volume);
    for (int t = 0; t < network->tet_count; t++) volume[t] = cube_of(volume[t]);
}

void sn_network_blend_altitude(const sn_network *network, const double *activations,
                               double *altitude) {
    memcpy(altitude, network->altitude, (size_t)network->triangle_count * sizeof *altitude);
    add_increments(network->target_count, network->altitude_increment, activations, altitude);
    for (int t = 0; t < network->triangle_count; t++)
        if (altitude[t] < 0) altitude[t] = 0;
}

/* ---- file ---- */

sinew_status sn_network_write(const sn_network *network, const char *path,
                              const char *const *target_names, sinew_error *error) {
    sn_output output;
    SN_TRY(sn_output_open(&output, path, error));
    fprintf(output.stream, "i,j,kind,k,rest_neutral");
    for (int t = 0; t < network->target_count; t++)
        fprintf(output.stream, ",rest_%s", target_names[t]);
    fputc('\n', output.stream);
    /* walk all sparse increments together, one position each */
    int *next = SN_NEW0(int, network->target_count);
    if (!next) {
        sn_output_abandon(&output);
        return sn_no_memory(error);
    }
    for (int q = 0; q < network->spring_count; q++) {
        sn_print_to(output.stream, "%d,%d,%s,%.17g,%.17g", network->ends[2 * q],
                    network->ends[2 * q + 1], sinew_spring_kind_name(network->kind[q]),
                    network->stiffness[q], network->rest[q]);
        for (int t = 0; t < network->target_count; t++) {
            const sn_increment *increment = &network->rest_increment[t];
            double value = network->rest[q];
            if (next[t] < increment->count && increment->index[next[t]] == q)
                value += increment->value[next[t]++];
            sn_print_to(output.stream, ",%.17g", value);
        }
        fputc('\n', output.stream);
    }
    sn_free(next);
    return sn_output_commit(&output, error);
}
