/* Rotation–strain coordinates.
 *
 * Based on: Huang et al., "Subspace gradient domain mesh deformation" and "Interactive shape
 * interpolation through controllable dynamic deformation" (2011) for the coordinates and the
 * reconstruction; Sumner and Popovic (2004) for triangles with a unit normal.
 * We differ in: unwrapping (rotation_unwrap.c). A rotation vector alone has no continuous branch
 * past one turn, so a second rotation q takes what it cannot express. */
#include "mesh/rotation_strain.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/stoppable.h"
#include "mesh/rotation_lanes.h"
#include "mesh/rotation_links.h"
#include "mesh/rotation_system.h"
#include "mesh/rotation_unwrap.h"
#include "mesh/topology.h"

/* Elements whose thinnest extent is below this part of their largest are widened to it. */
static const double FLATTEST = 1e-5;

struct sn_rotation_strain_work {
    sn_cholesky_work *solve;
    double *forces; /* per element and corner: |e| F g */
    double *right;  /* 3 per vertex */
};

static sn_mat3 symmetric(const double *s) {
    return (sn_mat3){{{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}}};
}

static void store_symmetric(sn_mat3 a, double *s) {
    s[0] = a.m[0][0], s[1] = a.m[1][1], s[2] = a.m[2][2];
    s[3] = a.m[0][1], s[4] = a.m[0][2], s[5] = a.m[1][2];
}

/* ---- structure ---------------------------------------------------------------------------- */

/* The edge matrix D = [x1 - x0, x2 - x0, third] of an element; third is the last edge of a
 * tetrahedron, or the triangle's unit normal as long as its longer edge. */
static sn_mat3 edge_matrix(const double *positions, const int *vertices, int corners,
                           sn_vec3 *normal) {
    sn_vec3 origin = sn_at(positions, vertices[0]);
    sn_vec3 a = sn_sub(sn_at(positions, vertices[1]), origin);
    sn_vec3 b = sn_sub(sn_at(positions, vertices[2]), origin);
    if (corners == 4) return sn_mat3_columns(a, b, sn_sub(sn_at(positions, vertices[3]), origin));
    /* Unit vectors first: the product of tiny edges would underflow. */
    sn_vec3 cross = sn_cross(sn_normalize(a), sn_normalize(b));
    if (sn_length(cross) > 1e-14) {
        *normal = sn_normalize(cross);
    } else { /* collinear: any perpendicular of the longer edge */
        sn_mat3 u, v;
        double s[3];
        sn_svd3(sn_mat3_columns(a, b, sn_v3(0, 0, 0)), &u, s, &v);
        *normal = sn_mat3_column(u, 2);
    }
    double length = fmax(sn_length(a), sn_length(b));
    return sn_mat3_columns(a, b, sn_scale(length, *normal));
}

/* Gradients of the hat functions are the rows of D^-1. A flat element has none, so D = U s V^T is
 * widened to s' >= FLATTEST s_0: F(x) = Dx D'^-1 is still linear in x and determines the corners,
 * and its value at rest, U (s/s') U^T, is kept as Y. */
static bool prepare_element(sn_rotation_strain *structure, const double *rest, int e,
                            double smallest) {
    int corners = structure->corners;
    const int *vertices = structure->elements + (size_t)corners * e;
    sn_vec3 normal = {0, 0, 1};
    sn_mat3 d = edge_matrix(rest, vertices, corners, &normal), u, v;
    double s[3], wide[3], product = 1;
    sn_svd3(d, &u, s, &v);
    bool flat = false;
    double floor = fmax(FLATTEST * s[0], smallest);
    for (int k = 0; k < 3; k++) {
        wide[k] = fabs(s[k]) >= floor ? s[k] : copysign(floor, s[k]);
        flat |= wide[k] != s[k];
        product *= fabs(wide[k]);
    }
    double *g = structure->gradients + (size_t)3 * corners * e;
    sn_vec3 first = {0, 0, 0};
    for (int corner = 1; corner < corners; corner++) {
        sn_vec3 row = {0, 0, 0}; /* of V diag(1/s') U^T */
        for (int k = 0; k < 3; k++)
            row = sn_add_scaled(row, v.m[corner - 1][k] / wide[k], sn_mat3_column(u, k));
        if (corners == 3) row = sn_add_scaled(row, -sn_dot(row, normal), normal);
        sn_put(g, corner, row);
        first = sn_sub(first, row);
    }
    sn_put(g, 0, first);
    if (corners == 3) {
        double length = fmax(sn_length(sn_mat3_column(d, 0)), sn_length(sn_mat3_column(d, 1)));
        structure->weights[e] = 0.5 * product / fmax(length, smallest);
        sn_put(structure->normals, e, normal);
    } else {
        structure->weights[e] = product / 6;
    }
    return flat;
}

static void sum_masses(sn_rotation_strain *structure) {
    for (int c = 0; c < structure->component_count; c++) structure->component_mass[c] = 0;
    for (int i = 0; i < structure->vertex_count; i++)
        if (structure->vertex_component[i] >= 0)
            structure->component_mass[structure->vertex_component[i]] += structure->vertex_mass[i];
}

static sinew_status find_components(sn_rotation_strain *structure, sinew_error *error) {
    int n = structure->vertex_count, corners = structure->corners;
    SN_TRY(sn_components_of(n, structure->element_count, corners, structure->elements,
                            structure->vertex_component, &structure->component_count, error));
    SN_TRY(sn_rotation_links_join(structure, error));
    structure->component_mass = SN_NEW(double, structure->component_count);
    if (!structure->component_mass) return sn_no_memory(error);
    sum_masses(structure);
    return SINEW_OK;
}

static void find_masses(sn_rotation_strain *structure) {
    int corners = structure->corners;
    for (int i = 0; i < structure->vertex_count; i++) {
        double mass = 0;
        for (int c = structure->corner_start[i]; c < structure->corner_start[i + 1]; c++)
            mass += structure->weights[structure->vertex_corners[c] / corners] / corners;
        structure->vertex_mass[i] = mass;
    }
}

static sinew_status list_vertex_corners(sn_rotation_strain *structure, sinew_error *error) {
    int n = structure->vertex_count;
    size_t total = (size_t)structure->corners * structure->element_count;
    structure->corner_start = SN_NEW0(int, n + 1);
    structure->vertex_corners = SN_NEW(int, total);
    int *fill = SN_NEW(int, n);
    if (!structure->corner_start || !structure->vertex_corners || !fill) {
        sn_free(fill);
        return sn_no_memory(error);
    }
    for (size_t c = 0; c < total; c++) structure->corner_start[structure->elements[c] + 1]++;
    for (int i = 0; i < n; i++) structure->corner_start[i + 1] += structure->corner_start[i];
    memcpy(fill, structure->corner_start, (size_t)n * sizeof *fill);
    for (size_t c = 0; c < total; c++)
        structure->vertex_corners[fill[structure->elements[c]]++] = (int)c;
    sn_free(fill);
    return SINEW_OK;
}

/* A side of an element (a face of a tetrahedron, an edge of a triangle) by its sorted vertices. */
typedef struct side {
    int vertices[3];
    int element;
} side;

static int compare_sides(const void *a, const void *b) {
    const side *x = a, *y = b;
    for (int k = 0; k < 3; k++)
        if (x->vertices[k] != y->vertices[k]) return x->vertices[k] < y->vertices[k] ? -1 : 1;
    return (x->element > y->element) - (x->element < y->element);
}

/* First pass: counts the neighbors of a and b; second: lists them. */
static void join(sn_rotation_strain *structure, int *fill, int pass, int a, int b) {
    if (pass == 0) {
        structure->neighbour_start[a + 1]++, structure->neighbour_start[b + 1]++;
    } else {
        structure->neighbours[fill[a]++] = b, structure->neighbours[fill[b]++] = a;
    }
}

/* Elements next to each other in the sorted list of sides are neighbors; a side of three or more
 * elements joins them in a chain. Halves of links are
 * neighbors of each other and of the elements around them. */
static sinew_status find_neighbours(sn_rotation_strain *structure, sinew_error *error) {
    int corners = structure->corners, count = structure->item_count, first, last;
    size_t total = (size_t)corners * structure->element_count, around = 0;
    for (int half = 0; half < 2 * structure->link_count; half++) {
        sn_rotation_half_ring(structure, half, &first, &last);
        around += (size_t)(last - first) + 1;
    }
    side *sides = SN_NEW(side, total);
    int *fill = SN_NEW(int, count);
    structure->neighbour_start = SN_NEW0(int, count + 1);
    structure->neighbours = SN_NEW(int, 2 * (total + around));
    if (!sides || !fill || !structure->neighbour_start || !structure->neighbours) {
        sn_free(sides), sn_free(fill);
        return sn_no_memory(error);
    }
    for (size_t c = 0; c < total; c++) {
        int e = (int)(c / (size_t)corners), opposite = (int)(c % (size_t)corners), k = 0;
        side *s = &sides[c];
        *s = (side){{-1, -1, -1}, e};
        for (int corner = 0; corner < corners; corner++) {
            if (corner == opposite) continue;
            int vertex = structure->elements[(size_t)corners * e + corner], at = k++;
            for (; at > 0 && s->vertices[at - 1] > vertex; at--)
                s->vertices[at] = s->vertices[at - 1];
            s->vertices[at] = vertex;
        }
    }
    qsort(sides, total, sizeof *sides, compare_sides);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t c = 1; c < total; c++) {
            if (memcmp(sides[c].vertices, sides[c - 1].vertices, sizeof sides[c].vertices))
                continue;
            int a = sides[c - 1].element, b = sides[c].element;
            if (a != b) join(structure, fill, pass, a, b);
        }
        for (int half = 0; half < 2 * structure->link_count; half++) {
            int item = structure->element_count + half;
            sn_rotation_half_ring(structure, half, &first, &last);
            for (int c = first; c < last; c++)
                join(structure, fill, pass, structure->vertex_corners[c] / corners, item);
            if (half % 2 == 1) join(structure, fill, pass, item - 1, item);
        }
        if (pass == 0) {
            for (int e = 0; e < count; e++)
                structure->neighbour_start[e + 1] += structure->neighbour_start[e];
            memcpy(fill, structure->neighbour_start, (size_t)count * sizeof *fill);
        }
    }
    sn_free(sides), sn_free(fill);
    return SINEW_OK;
}

static sinew_status prepare(sn_rotation_strain *structure, const double *rest, const int *elements,
                            const sn_rotation_joints *joints, sinew_error *error) {
    size_t n = (size_t)structure->vertex_count, m = (size_t)structure->element_count;
    size_t corners = (size_t)structure->corners;
    structure->elements = sn_memdup(elements, corners * m, sizeof *elements);
    structure->gradients = SN_NEW(double, 3 * corners * m);
    structure->weights = SN_NEW0(double, structure->item_count); /* links have none */
    structure->vertex_component = SN_NEW(int, n);
    structure->vertex_mass = SN_NEW(double, n);
    if (corners == 3) structure->normals = SN_NEW(double, 3 * m);
    bool *flat = SN_NEW(bool, m);
    if (!structure->elements || !structure->gradients || !structure->weights ||
        !structure->vertex_component || !structure->vertex_mass ||
        (corners == 3 && !structure->normals) || !flat) {
        sn_free(flat);
        return sn_no_memory(error);
    }
    double largest = 0;
    for (size_t k = 0; k < 3 * n; k++) largest = fmax(largest, fabs(rest[k]));
    double smallest = fmax(1e-12 * largest, 1e-100);
    bool any_flat = false;
    for (int e = 0; e < structure->element_count; e++) {
        if (e % 1024 == 0 && sn_scope_poll()) {
            sn_free(flat);
            return sn_fail(error, SINEW_CANCELLED, "cancelled");
        }
        flat[e] = prepare_element(structure, rest, e, smallest);
        any_flat |= flat[e];
    }
    if (any_flat) {
        double *stretch = SN_NEW(double, 6 * m);
        if (!stretch) {
            sn_free(flat);
            return sn_no_memory(error);
        }
        for (int e = 0; e < structure->element_count; e++) {
            sn_mat3 y = sn_mat3_identity(), r;
            if (flat[e]) sn_polar3(sn_rotation_strain_gradient(structure, rest, e), &r, &y);
            store_symmetric(y, stretch + (size_t)6 * e);
        }
        structure->rest_stretch = stretch;
    }
    sn_free(flat);
    SN_TRY(list_vertex_corners(structure, error));
    find_masses(structure);
    SN_TRY(sn_rotation_links_prepare(structure, rest, joints->links, error));
    SN_TRY(find_components(structure, error));
    SN_TRY(find_neighbours(structure, error));
    SN_TRY(sn_rotation_holds_prepare(structure, joints, error));
    return joints->unfactored ? SINEW_OK : sn_rotation_system_factor(structure, error);
}

sinew_status sn_rotation_strain_create(int vertex_count, const double *rest, int corners,
                                       int element_count, const int *elements,
                                       sn_rotation_strain **structure, sinew_error *error) {
    return sn_rotation_strain_create_joined(vertex_count, rest, corners, element_count, elements,
                                            &(sn_rotation_joints){0}, structure, error);
}

sinew_status sn_rotation_strain_create_joined(int vertex_count, const double *rest, int corners,
                                              int element_count, const int *elements,
                                              const sn_rotation_joints *joints,
                                              sn_rotation_strain **structure, sinew_error *error) {
    *structure = NULL;
    if (corners != 3 && corners != 4) return sn_misuse(error, "corners are 3 or 4", __func__);
    if (vertex_count < 1 || element_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "shape has no elements");
    for (size_t c = 0; c < (size_t)corners * element_count; c++)
        if (elements[c] < 0 || elements[c] >= vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT, "element %zu refers to vertex %d of %d",
                           c / (size_t)corners, elements[c], vertex_count);
    for (size_t k = 0; k < (size_t)3 * vertex_count; k++)
        if (!isfinite(rest[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu is not finite", k / 3);
    sn_rotation_strain *result = SN_NEW0(sn_rotation_strain, 1);
    if (!result) return sn_no_memory(error);
    result->vertex_count = vertex_count;
    result->element_count = element_count;
    result->corners = corners;
    result->shortest = joints->shortest;
    result->link_count = joints->link_count;
    result->item_count = element_count + 2 * joints->link_count;
    sinew_status status = prepare(result, rest, elements, joints, error);
    if (status != SINEW_OK) {
        sn_rotation_strain_destroy(result);
        return status;
    }
    *structure = result;
    return SINEW_OK;
}

void sn_rotation_strain_soften(sn_rotation_strain *structure, const double *factors) {
    for (int e = 0; e < structure->element_count; e++) structure->weights[e] *= factors[e];
    find_masses(structure);
    sum_masses(structure);
}

void sn_rotation_strain_destroy(sn_rotation_strain *structure) {
    if (!structure) return;
    sn_free(structure->elements);
    sn_free(structure->gradients);
    sn_free(structure->weights);
    sn_free(structure->normals);
    sn_free(structure->rest_stretch);
    sn_free(structure->links);
    sn_free(structure->holds);
    sn_free(structure->component_held);
    sn_free(structure->hold_terms);
    sn_free(structure->hold_values);
    sn_free(structure->half_rest);
    sn_free(structure->link_fits);
    sn_free(structure->link_stiffness);
    sn_free(structure->vertex_component);
    sn_free(structure->vertex_mass);
    sn_free(structure->component_mass);
    sn_free(structure->neighbour_start);
    sn_free(structure->neighbours);
    sn_free(structure->corner_start);
    sn_free(structure->vertex_corners);
    sn_cholesky_destroy(structure->laplacian);
    sn_free(structure);
}

/* ---- T ------------------------------------------------------------------------------------ */

static sn_mat3 add_outer(sn_mat3 f, sn_vec3 x, sn_vec3 g) {
    f.m[0][0] += x.x * g.x, f.m[0][1] += x.x * g.y, f.m[0][2] += x.x * g.z;
    f.m[1][0] += x.y * g.x, f.m[1][1] += x.y * g.y, f.m[1][2] += x.y * g.z;
    f.m[2][0] += x.z * g.x, f.m[2][1] += x.z * g.y, f.m[2][2] += x.z * g.z;
    return f;
}

/* F = sum_i (x_i - x_0) g_i^T, and n' n^T on triangles. A triangle that the pose makes flat has no
 * normal: it takes the one that the smallest rotation of its remaining edge gives. */
sn_mat3 sn_rotation_strain_gradient(const sn_rotation_strain *structure, const double *positions,
                                    int element) {
    int corners = structure->corners;
    const int *v = structure->elements + (size_t)corners * element;
    const double *g = structure->gradients + (size_t)3 * corners * element;
    sn_vec3 origin = sn_at(positions, v[0]), edges[3];
    sn_mat3 f = {{{0}}};
    for (int k = 1; k < corners; k++) {
        edges[k - 1] = sn_sub(sn_at(positions, v[k]), origin);
        f = add_outer(f, edges[k - 1], sn_at(g, k));
    }
    if (corners == 3) {
        sn_vec3 normal = sn_at(structure->normals, element);
        sn_vec3 cross = sn_cross(sn_normalize(edges[0]), sn_normalize(edges[1]));
        sn_vec3 posed = sn_normalize(cross);
        if (sn_length(cross) < 1e-12) {
            sn_mat3 rotation;
            sn_polar3(f, &rotation, NULL);
            posed = sn_mat3_apply(rotation, normal);
        }
        f = add_outer(f, posed, normal);
    }
    return f;
}

typedef struct polar_parts_loop {
    const sn_rotation_strain *structure;
    const double *positions;
    const int *active;
    double *coordinates;
    sn_mat3 *rotations; /* in the order of `active` */
    sn_mat3 *all;       /* per element, or NULL: all are listed in their order */
} polar_parts_loop;

static void polar_parts(void *context, sn_span span) {
    const polar_parts_loop *loop = context;
    const sn_rotation_strain *structure = loop->structure;
    const double *positions = loop->positions;
    const int *active = loop->active;
    double *coordinates = loop->coordinates;
    sn_mat3 *rotations = loop->rotations;
    SN_IN_SPAN(int, k, span) {
        int e = active ? active[k] : k;
        double *s = coordinates + (size_t)SN_RS_SIZE * k + SN_RS_S;
        if (e >= structure->element_count) continue; /* by half_parts */
        sn_mat3 stretch;
        sn_polar3(sn_rotation_strain_gradient(structure, positions, e), &rotations[k], &stretch);
        store_symmetric(stretch, s);
        for (int j = 0; j < 6; j++)
            s[j] -= structure->rest_stretch ? structure->rest_stretch[(size_t)6 * e + j]
                                            : (j < 3 ? 1 : 0);
    }
}

static void half_parts(void *context, sn_span span) {
    const polar_parts_loop *loop = context;
    SN_IN_SPAN(int, k, span) {
        int half = (loop->active ? loop->active[k] : k) - loop->structure->element_count;
        if (half >= 0)
            loop->rotations[k] = sn_rotation_half_rotation(
                loop->structure, loop->all ? loop->all : loop->rotations, half);
    }
}

/* Rotations of all elements; those that are not listed have none. */
static sn_mat3 *spread_rotations(const sn_rotation_strain *structure, int count, const int *active,
                                 const sn_mat3 *rotations) {
    sn_mat3 *all = SN_NEW(sn_mat3, structure->element_count);
    for (int e = 0; all && e < structure->element_count; e++) all[e] = sn_mat3_identity();
    for (int k = 0; all && k < count; k++)
        if (active[k] < structure->element_count) all[active[k]] = rotations[k];
    return all;
}

/* Both halves of a link are listed, or neither: they follow each other at the end. */
static void measure_links(const sn_rotation_strain *structure, const double *positions, int count,
                          const int *active, double *coordinates) {
    for (int k = 0; k + 1 < count; k++) {
        int half = (active ? active[k] : k) - structure->element_count;
        double *first = coordinates + (size_t)SN_RS_SIZE * k;
        if (half < 0 || half % 2) continue;
        sn_rotation_link_measure(structure, positions, half / 2, first, first + SN_RS_SIZE);
    }
}

sinew_status sn_rotation_strain_measure(const sn_rotation_strain *structure,
                                        const double *positions, int active_count,
                                        const int *active, double *coordinates,
                                        sinew_error *error) {
    if (!active) active_count = structure->item_count;
    sn_mat3 *rotations = SN_NEW(sn_mat3, active_count);
    if (!rotations) return sn_no_memory(error);
    polar_parts_loop loop = {structure, positions, active, coordinates, rotations, NULL};
    sinew_status status = SINEW_OK;
    sn_parallel_for_stoppable(active_count, 32, polar_parts, &loop);
    if (structure->link_count > 0 && active) {
        loop.all = spread_rotations(structure, active_count, active, rotations);
        if (!loop.all) status = sn_no_memory(error);
    }
    if (structure->link_count > 0 && status == SINEW_OK)
        sn_parallel_for_stoppable(active_count, 32, half_parts, &loop);
    sn_free(loop.all);
    if (status == SINEW_OK) status = sn_check_interrupt(error);
    if (status == SINEW_OK)
        status = sn_rotation_unwrap(structure, active_count, active, rotations, coordinates, error);
    sn_free(rotations);
    if (status == SINEW_OK) measure_links(structure, positions, active_count, active, coordinates);
    return status;
}

void sn_rotation_strain_centers(const sn_rotation_strain *structure, const double *positions,
                                double *centers) {
    int components = structure->component_count;
    for (int k = 0; k < 3 * components; k++) centers[k] = 0;
    for (int i = 0; i < structure->vertex_count; i++) {
        int component = structure->vertex_component[i];
        if (component < 0) continue;
        double share = structure->vertex_mass[i] / structure->component_mass[component];
        for (int axis = 0; axis < 3; axis++)
            centers[3 * component + axis] += share * positions[3 * (size_t)i + axis];
    }
}

/* min_R sum |e| |R_e - R|^2 + MATCH m |R_k - R|^2: the mean of the elements' rotations, and a
 * little of R_k, the best rotation of the vertices, which decides where the elements cancel each
 * other (a plate that is rolled up). The mean leaves smaller rotations to the elements than R_k
 * alone. */
sinew_status sn_rotation_strain_turns(const sn_rotation_strain *structure, const double *rest,
                                      const double *rest_centers, const double *pose,
                                      const double *pose_centers, double *turns,
                                      sinew_error *error) {
    static const double MATCH = 0.01;
    int components = structure->component_count;
    sn_mat3 *sums = SN_NEW0(sn_mat3, components), rotation;
    if (!sums) return sn_no_memory(error);
    for (int i = 0; i < structure->vertex_count; i++) {
        int component = structure->vertex_component[i];
        if (component < 0) continue;
        sn_vec3 p = sn_sub(sn_at(rest, i), sn_at(rest_centers, component));
        sn_vec3 q = sn_sub(sn_at(pose, i), sn_at(pose_centers, component));
        sums[component] = add_outer(sums[component], sn_scale(structure->vertex_mass[i], q), p);
    }
    for (int c = 0; c < components; c++) {
        sn_polar3(sums[c], &rotation, NULL);
        sums[c] = sn_mat3_scale(MATCH * structure->component_mass[c], rotation);
    }
    for (int e = 0; e < structure->element_count; e++) {
        int c = structure->vertex_component[structure->elements[(size_t)structure->corners * e]];
        if (e % 1024 == 0 && sn_scope_poll()) {
            sn_free(sums);
            return sn_fail(error, SINEW_CANCELLED, "cancelled");
        }
        sn_polar3(sn_rotation_strain_gradient(structure, pose, e), &rotation, NULL);
        sums[c] = sn_mat3_add(sums[c], sn_mat3_scale(structure->weights[e], rotation));
    }
    for (int c = 0; c < components; c++) {
        sn_polar3(sums[c], &rotation, NULL);
        sn_put(turns, c, sn_rotation_log(rotation));
    }
    sn_free(sums);
    return SINEW_OK;
}

void sn_rotation_strain_turn(const sn_rotation_strain *structure, const double *centers,
                             const double *turns, double sign, double *positions) {
    int last = -1;
    bool turned = false;
    sn_mat3 rotation = sn_mat3_identity();
    for (int i = 0; i < structure->vertex_count; i++) {
        int component = structure->vertex_component[i];
        if (component < 0) continue;
        if (component != last) { /* vertices of a component mostly follow each other */
            sn_vec3 w = sn_at(turns, component);
            turned = w.x != 0 || w.y != 0 || w.z != 0;
            rotation = sn_rotation_exp(sn_scale(sign, w));
            last = component;
        }
        if (!turned) continue;
        sn_vec3 center = sn_at(centers, component);
        sn_put(positions, i,
               sn_add(center, sn_mat3_apply(rotation, sn_sub(sn_at(positions, i), center))));
    }
}

/* ---- T^-1 --------------------------------------------------------------------------------- */

sinew_status sn_rotation_strain_work_create(const sn_rotation_strain *structure,
                                            sn_rotation_strain_work **work, sinew_error *error) {
    *work = NULL;
    sn_rotation_strain_work *result = SN_NEW0(sn_rotation_strain_work, 1);
    if (!result) return sn_no_memory(error);
    result->forces = SN_NEW(double, (size_t)3 * structure->corners * structure->element_count);
    result->right = SN_NEW(double, (size_t)3 * structure->vertex_count);
    sinew_status status =
        result->forces && result->right
            ? sn_cholesky_work_create(structure->laplacian, 3, &result->solve, error)
            : sn_no_memory(error);
    if (status != SINEW_OK) {
        sn_rotation_strain_work_destroy(result);
        return status;
    }
    *work = result;
    return SINEW_OK;
}

void sn_rotation_strain_work_destroy(sn_rotation_strain_work *work) {
    if (!work) return;
    sn_cholesky_work_destroy(work->solve);
    sn_free(work->forces);
    sn_free(work->right);
    sn_free(work);
}

sn_mat3 sn_rotation_strain_compose(const double *c, const double *rest_stretch) {
    static const double unit[6] = {1, 1, 1, 0, 0, 0};
    const double *y = rest_stretch ? rest_stretch : unit;
    double s[6];
    for (int k = 0; k < 6; k++) s[k] = y[k] + c[SN_RS_S + k];
    sn_mat3 f = symmetric(s);
    if (c[3] != 0 || c[4] != 0 || c[5] != 0)
        f = sn_mat3_multiply(sn_rotation_exp(sn_v3(c[3], c[4], c[5])), f);
    if (c[0] != 0 || c[1] != 0 || c[2] != 0)
        f = sn_mat3_multiply(sn_rotation_exp(sn_v3(c[0], c[1], c[2])), f);
    return f;
}

/* |e| F_e g of the corners of up to SN_ROTATION_LANES elements from `first`. */
static void find_forces(const sn_rotation_strain *structure, const double *coordinates, int first,
                        double *forces) {
    int corners = structure->corners, end = first + SN_ROTATION_LANES;
    if (end > structure->element_count) {
        for (int e = first; e < structure->element_count; e++) {
            const double *stretch =
                structure->rest_stretch ? structure->rest_stretch + (size_t)6 * e : NULL;
            sn_mat3 f = sn_rotation_strain_compose(coordinates + (size_t)SN_RS_SIZE * e, stretch);
            f = sn_mat3_scale(structure->weights[e], f);
            for (int corner = corners * e; corner < corners * (e + 1); corner++)
                sn_put(forces, corner, sn_mat3_apply(f, sn_at(structure->gradients, corner)));
        }
        return;
    }
    double f[9][SN_ROTATION_LANES];
    sn_rotation_compose_lanes(
        coordinates + (size_t)SN_RS_SIZE * first,
        structure->rest_stretch ? structure->rest_stretch + (size_t)6 * first : NULL, f);
    for (int l = 0; l < SN_ROTATION_LANES; l++) {
        double weight = structure->weights[first + l];
        sn_vec3 rows[3];
        for (int a = 0; a < 3; a++)
            rows[a] = sn_scale(weight, sn_v3(f[3 * a][l], f[3 * a + 1][l], f[3 * a + 2][l]));
        int corner = corners * (first + l);
        sn_vec3 rest = {0, 0, 0}; /* gradients sum to zero, and so do the forces */
        for (int k = 1; k < corners; k++) {
            sn_vec3 g = sn_at(structure->gradients, corner + k);
            sn_vec3 force = sn_v3(sn_dot(rows[0], g), sn_dot(rows[1], g), sn_dot(rows[2], g));
            rest = sn_sub(rest, force);
            sn_put(forces, corner + k, force);
        }
        sn_put(forces, corner, rest);
    }
}

typedef struct find_block_forces_loop {
    const sn_rotation_strain *structure;
    const double *coordinates;
    double *forces;
} find_block_forces_loop;

static void find_block_forces(void *context, sn_span span) {
    const find_block_forces_loop *loop = context;
    const sn_rotation_strain *structure = loop->structure;
    const double *coordinates = loop->coordinates;
    double *forces = loop->forces;
    SN_IN_SPAN(int, block, span)
        find_forces(structure, coordinates, SN_ROTATION_LANES * block, forces);
}

typedef struct gather_corners_loop {
    const sn_rotation_strain *structure;
    const double *forces;
    double *right;
} gather_corners_loop;

static void gather_corners(void *context, sn_span span) {
    const gather_corners_loop *loop = context;
    const sn_rotation_strain *structure = loop->structure;
    const double *forces = loop->forces;
    double *right = loop->right;
    SN_IN_SPAN(int, i, span) {
        sn_vec3 sum = {0, 0, 0};
        for (int c = structure->corner_start[i]; c < structure->corner_start[i + 1]; c++)
            sum = sn_add(sum, sn_at(forces, structure->vertex_corners[c]));
        sn_put(right, i, sum);
    }
}

typedef struct copy_solution_loop {
    const sn_rotation_strain *structure;
    const double *right;
    double *positions;
} copy_solution_loop;

static void copy_solution(void *context, sn_span span) {
    const copy_solution_loop *loop = context;
    const sn_rotation_strain *structure = loop->structure;
    const double *right = loop->right;
    double *positions = loop->positions;
    SN_IN_SPAN(int, i, span)
        if (structure->vertex_component[i] >= 0) sn_put(positions, i, sn_at(right, i));
}

/* Normal equations of T^-1: row i of the right-hand side is sum over its corners of |e| F_e g_i.
 * Each corner's part is written by its element and gathered by its vertex, in a fixed order. */
void sn_rotation_strain_rebuild(const sn_rotation_strain *structure, sn_rotation_strain_work *work,
                                const double *coordinates, const double *centers,
                                double *positions) {
    int n = structure->vertex_count;
    int blocks = (structure->element_count + SN_ROTATION_LANES - 1) / SN_ROTATION_LANES;
    sn_parallel_for(blocks, 16, find_block_forces,
                    &(find_block_forces_loop){structure, coordinates, work->forces});
    sn_parallel_for(n, 256, gather_corners,
                    &(gather_corners_loop){structure, work->forces, work->right});
    sn_rotation_links_force(structure, coordinates, work->right);
    sn_rotation_holds_force(structure, positions, work->right);
    sn_cholesky_solve(structure->laplacian, work->solve, 3, work->right, work->right);

    sn_parallel_for(n, 1024, copy_solution,
                    &(copy_solution_loop){structure, work->right, positions});
    /* The forces are free again, and hold at least three doubles per component. */
    sn_rotation_strain_place(structure, centers, work->forces, positions);
}

typedef struct shift_parts_loop {
    const sn_rotation_strain *structure;
    const double *scratch;
    double *positions;
} shift_parts_loop;

static void shift_parts(void *context, sn_span span) {
    const shift_parts_loop *loop = context;
    const sn_rotation_strain *structure = loop->structure;
    const double *scratch = loop->scratch;
    double *positions = loop->positions;
    SN_IN_SPAN(int, i, span) {
        int component = structure->vertex_component[i];
        if (component < 0) continue;
        sn_put(positions, i, sn_add(sn_at(positions, i), sn_at(scratch, component)));
    }
}

void sn_rotation_strain_place(const sn_rotation_strain *structure, const double *centers,
                              double *scratch, double *positions) {
    sn_rotation_strain_centers(structure, positions, scratch);
    for (int k = 0; k < 3 * structure->component_count; k++)
        scratch[k] = structure->component_held && structure->component_held[k / 3]
                         ? 0
                         : centers[k] - scratch[k];
    sn_parallel_for(structure->vertex_count, 1024, shift_parts,
                    &(shift_parts_loop){structure, scratch, positions});
}
