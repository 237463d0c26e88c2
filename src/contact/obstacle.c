/* Signed distances of primitives and meshes.
 *
 * Each primitive is described in its own frame; a rigid motion x -> R x + t carries it, so a query
 * takes the point back with R^T (x - t), asks, and turns the normal forward. */
#include "contact/obstacle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/forms.h"
#include "base/mat3.h"
#include "base/memory.h"
#include "base/status.h"
#include "sinew/query.h"

typedef enum obstacle_kind { PLANE, SPHERE, CAPSULE, CYLINDER, BOX, MESH } obstacle_kind;

struct sinew_obstacle {
    obstacle_kind kind;
    sn_vec3 a, b; /* center or segment; plane: point and normal; box: center and half sides */
    double radius;
    sn_mat3 rotation;
    sn_vec3 translation;
    /* meshes */
    sinew_query *query;
    int vertex_count;
    int triangle_count;
    int *triangles;
    double *normals; /* per vertex, of its present shape: smooth where the surface is */
    double *positions;
};

static sn_vec3 vec(const double v[3]) {
    return sn_v3(v[0], v[1], v[2]);
}

static bool finite3(sn_vec3 v) {
    return isfinite(v.x) && isfinite(v.y) && isfinite(v.z);
}

/* ---- distances in the obstacle's own frame ---- */

/* Any direction, for points that have none (the center of a sphere, the axis of a capsule). */
static sn_vec3 across(sn_vec3 axis) {
    sn_vec3 other = fabs(axis.x) < 0.7 ? sn_v3(1, 0, 0) : sn_v3(0, 1, 0);
    sn_vec3 n = sn_cross(axis, other);
    return sn_length(n) > 0 ? sn_normalize(n) : sn_v3(0, 0, 1);
}

static double distance_capsule(sn_vec3 p, sn_vec3 a, sn_vec3 b, double radius, sn_vec3 *normal) {
    sn_vec3 axis = sn_sub(b, a);
    double squared = sn_dot(axis, axis);
    double t = squared > 0 ? sn_dot(sn_sub(p, a), axis) / squared : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    sn_vec3 away = sn_sub(p, sn_add_scaled(a, t, axis));
    double length = sn_length(away);
    *normal = length > 0 ? sn_scale(1 / length, away) : across(sn_normalize(axis));
    return length - radius;
}

/* From the two signed distances to the faces of a convex edge: outside both, the rim is nearest;
 * otherwise the larger one counts. */
static double distance_cylinder(sn_vec3 p, sn_vec3 a, sn_vec3 b, double radius, sn_vec3 *normal) {
    sn_vec3 axis = sn_sub(b, a);
    double length = sn_length(axis);
    sn_vec3 u = length > 0 ? sn_scale(1 / length, axis) : sn_v3(0, 0, 1);
    sn_vec3 from = sn_sub(p, sn_lerp(a, b, 0.5));
    double along = sn_dot(from, u);
    sn_vec3 radial = sn_add_scaled(from, -along, u);
    double rho = sn_length(radial);
    sn_vec3 side = rho > 0 ? sn_scale(1 / rho, radial) : across(u);
    sn_vec3 end = along < 0 ? sn_scale(-1, u) : u;
    double to_side = rho - radius, to_end = fabs(along) - 0.5 * length;
    if (to_side > 0 && to_end > 0) {
        double d = hypot(to_side, to_end);
        *normal = sn_add(sn_scale(to_side / d, side), sn_scale(to_end / d, end));
        return d;
    }
    *normal = to_side > to_end ? side : end;
    return to_side > to_end ? to_side : to_end;
}

static double distance_box(sn_vec3 p, sn_vec3 center, sn_vec3 half, sn_vec3 *normal) {
    sn_vec3 q = sn_sub(p, center);
    double offset[3] = {q.x, q.y, q.z}, size[3] = {half.x, half.y, half.z};
    double out[3] = {0}, squared = 0, nearest = -INFINITY;
    int face = 0;
    for (int c = 0; c < 3; c++) {
        double d = fabs(offset[c]) - size[c];
        if (d > nearest) nearest = d, face = c;
        if (d > 0) out[c] = copysign(d, offset[c]), squared += d * d;
    }
    if (squared > 0) {
        double d = sqrt(squared);
        *normal = sn_v3(out[0] / d, out[1] / d, out[2] / d);
        return d;
    }
    double n[3] = {0};
    n[face] = copysign(1, offset[face]);
    *normal = sn_v3(n[0], n[1], n[2]);
    return nearest;
}

static double distance_own(const sinew_obstacle *obstacle, sn_vec3 p, sn_vec3 *normal) {
    switch (obstacle->kind) {
    case PLANE:
        *normal = obstacle->b;
        return sn_dot(sn_sub(p, obstacle->a), obstacle->b);
    case SPHERE:
    case CAPSULE:
        return distance_capsule(p, obstacle->a, obstacle->b, obstacle->radius, normal);
    case CYLINDER:
        return distance_cylinder(p, obstacle->a, obstacle->b, obstacle->radius, normal);
    case BOX:
        return distance_box(p, obstacle->a, obstacle->b, normal);
    case MESH:
        break;
    }
    *normal = sn_v3(0, 0, 1);
    return INFINITY;
}

/* The sign comes from what is inside; the direction from the nearest point, or from interpolated
 * normals where those agree with it: they do not jump from facet to facet. */
static double distance_mesh(const sinew_obstacle *obstacle, sn_vec3 p, double reach,
                            sn_vec3 *normal) {
    double point[3] = {p.x, p.y, p.z};
    sinew_closest closest;
    *normal = sn_v3(0, 0, 1);
    if (!sinew_query_closest(obstacle->query, point, INFINITY, &closest)) return INFINITY;
    bool inside = sinew_query_inside(obstacle->query, point);
    if (!inside && closest.distance > reach) return closest.distance;
    double sign = inside ? -1 : 1;
    sn_vec3 smooth = {0, 0, 0};
    for (int c = 0; c < 3; c++)
        smooth =
            sn_add_scaled(smooth, closest.barycentric[c],
                          sn_at(obstacle->normals, obstacle->triangles[3 * closest.triangle + c]));
    sn_vec3 away = sn_scale(sign, sn_normalize(sn_sub(p, vec(closest.point))));
    *normal = sn_dot(away, smooth) > 0 || sn_length(away) == 0 ? sn_normalize(smooth) : away;
    return sign * closest.distance;
}

double sn_obstacle_query(const sinew_obstacle *obstacle, sn_vec3 point, double reach,
                         sn_vec3 *normal) {
    sn_vec3 own =
        sn_mat3_apply_transposed(obstacle->rotation, sn_sub(point, obstacle->translation));
    sn_vec3 n;
    double distance = obstacle->kind == MESH ? distance_mesh(obstacle, own, reach, &n)
                                             : distance_own(obstacle, own, &n);
    *normal = sn_mat3_apply(obstacle->rotation, n);
    return distance;
}

double sinew_obstacle_distance(const sinew_obstacle *obstacle, const double point[3],
                               double normal[3]) {
    sn_vec3 n;
    double distance = sn_obstacle_query(obstacle, vec(point), INFINITY, &n);
    if (normal) normal[0] = n.x, normal[1] = n.y, normal[2] = n.z;
    return distance;
}

/* ---- points that are carried along ---- */

/* Orthonormal frame of a triangle: first side, across, normal. */
static void triangle_frame(const sinew_obstacle *obstacle, int triangle, sn_vec3 corner[3],
                           sn_vec3 axis[3]) {
    const int *v = obstacle->triangles + 3 * (size_t)triangle;
    for (int c = 0; c < 3; c++) corner[c] = sn_at(obstacle->positions, v[c]);
    axis[0] = sn_normalize(sn_sub(corner[1], corner[0]));
    axis[2] = sn_normalize(sn_cross(sn_sub(corner[1], corner[0]), sn_sub(corner[2], corner[0])));
    axis[1] = sn_cross(axis[2], axis[0]);
}

void sn_obstacle_attach(const sinew_obstacle *obstacle, sn_vec3 point, sn_obstacle_anchor *anchor) {
    sn_vec3 own =
        sn_mat3_apply_transposed(obstacle->rotation, sn_sub(point, obstacle->translation));
    *anchor = (sn_obstacle_anchor){.triangle = -1, .offset = own};
    double p[3] = {own.x, own.y, own.z};
    sinew_closest closest;
    if (obstacle->kind != MESH || !sinew_query_closest(obstacle->query, p, INFINITY, &closest))
        return;
    sn_vec3 corner[3], axis[3], away = sn_sub(own, vec(closest.point));
    triangle_frame(obstacle, closest.triangle, corner, axis);
    anchor->triangle = closest.triangle;
    memcpy(anchor->barycentric, closest.barycentric, sizeof anchor->barycentric);
    anchor->offset = sn_v3(sn_dot(away, axis[0]), sn_dot(away, axis[1]), sn_dot(away, axis[2]));
}

sn_vec3 sn_obstacle_carry(const sinew_obstacle *obstacle, const sn_obstacle_anchor *anchor) {
    sn_vec3 own = anchor->offset;
    if (anchor->triangle >= 0) {
        sn_vec3 corner[3], axis[3];
        triangle_frame(obstacle, anchor->triangle, corner, axis);
        own = sn_scale(anchor->offset.x, axis[0]);
        own = sn_add_scaled(own, anchor->offset.y, axis[1]);
        own = sn_add_scaled(own, anchor->offset.z, axis[2]);
        for (int c = 0; c < 3; c++) own = sn_add_scaled(own, anchor->barycentric[c], corner[c]);
    }
    return sn_add(sn_mat3_apply(obstacle->rotation, own), obstacle->translation);
}

/* ---- making and moving ---- */

static sinew_status create(obstacle_kind kind, sn_vec3 a, sn_vec3 b, double radius,
                           sinew_obstacle **result, sinew_error *error) {
    *result = NULL;
    if (!finite3(a) || !finite3(b) || !isfinite(radius))
        return sn_fail(error, SINEW_BAD_INPUT, "obstacle has a coordinate that is not finite");
    sinew_obstacle *obstacle = SN_NEW0(sinew_obstacle, 1);
    if (!obstacle) return sn_no_memory(error);
    obstacle->kind = kind;
    obstacle->a = a, obstacle->b = b, obstacle->radius = radius;
    obstacle->rotation = sn_mat3_identity();
    *result = obstacle;
    return SINEW_OK;
}

sinew_status sinew_obstacle_create_plane(const double point[3], const double normal[3],
                                         sinew_obstacle **obstacle, sinew_error *error) {
    SN_REQUIRE(point && normal && obstacle, error);
    sn_vec3 n = vec(normal);
    double length = sn_length(n);
    if (!(length > 0) || !isfinite(length))
        return sn_fail(error, SINEW_BAD_INPUT, "plane obstacle needs a normal that is not zero");
    return create(PLANE, vec(point), sn_scale(1 / length, n), 0, obstacle, error);
}

static sinew_status check_radius(double radius, sinew_error *error) {
    if (radius > 0) return SINEW_OK;
    return sn_fail(error, SINEW_BAD_INPUT, "obstacle radius %g must be above 0", radius);
}

sinew_status sinew_obstacle_create_sphere(const double center[3], double radius,
                                          sinew_obstacle **obstacle, sinew_error *error) {
    SN_REQUIRE(center && obstacle, error);
    SN_TRY(check_radius(radius, error));
    return create(SPHERE, vec(center), vec(center), radius, obstacle, error);
}

sinew_status sinew_obstacle_create_capsule(const double a[3], const double b[3], double radius,
                                           sinew_obstacle **obstacle, sinew_error *error) {
    SN_REQUIRE(a && b && obstacle, error);
    SN_TRY(check_radius(radius, error));
    return create(CAPSULE, vec(a), vec(b), radius, obstacle, error);
}

sinew_status sinew_obstacle_create_cylinder(const double a[3], const double b[3], double radius,
                                            sinew_obstacle **obstacle, sinew_error *error) {
    SN_REQUIRE(a && b && obstacle, error);
    SN_TRY(check_radius(radius, error));
    if (!(sn_distance(vec(a), vec(b)) > 0))
        return sn_fail(error, SINEW_BAD_INPUT, "cylinder obstacle has no length");
    return create(CYLINDER, vec(a), vec(b), radius, obstacle, error);
}

sinew_status sinew_obstacle_create_box(const double center[3], const double half[3],
                                       sinew_obstacle **obstacle, sinew_error *error) {
    SN_REQUIRE(center && half && obstacle, error);
    for (int c = 0; c < 3; c++)
        if (!(half[c] > 0))
            return sn_fail(error, SINEW_BAD_INPUT, "box obstacle: half side %g must be above 0",
                           half[c]);
    return create(BOX, vec(center), vec(half), 0, obstacle, error);
}

/* Area-weighted normals of the present positions. */
static void find_normals(sinew_obstacle *obstacle) {
    memset(obstacle->normals, 0, 3 * (size_t)obstacle->vertex_count * sizeof(double));
    for (int t = 0; t < obstacle->triangle_count; t++) {
        const int *v = obstacle->triangles + 3 * (size_t)t;
        sn_vec3 a = sn_at(obstacle->positions, v[0]);
        sn_vec3 n = sn_cross(sn_sub(sn_at(obstacle->positions, v[1]), a),
                             sn_sub(sn_at(obstacle->positions, v[2]), a));
        for (int c = 0; c < 3; c++)
            sn_put(obstacle->normals, v[c], sn_add(sn_at(obstacle->normals, v[c]), n));
    }
    for (int v = 0; v < obstacle->vertex_count; v++)
        sn_put(obstacle->normals, v, sn_normalize(sn_at(obstacle->normals, v)));
}

/* What has no inside cannot be left. The volume is taken about the middle, so that a hole leaves
 * little out. */
static sinew_status check_mesh(const sinew_mesh *mesh, sinew_error *error) {
    static const double FLAT = 1e-6;
    if (mesh->triangle_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "obstacle mesh has no faces");
    sn_vec3 middle = {0, 0, 0};
    for (int v = 0; v < mesh->vertex_count; v++) {
        sn_vec3 p = sn_at(mesh->positions, v);
        if (!finite3(p))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %d of the obstacle mesh is not finite",
                           v);
        middle = sn_add_scaled(middle, 1.0 / mesh->vertex_count, p);
    }
    double area = 0, volume = 0;
    for (int t = 0; t < mesh->triangle_count; t++) {
        sn_vec3 p[3];
        for (int c = 0; c < 3; c++)
            p[c] =
                sn_sub(sn_at(mesh->positions, mesh->triangles[3 * (size_t)t + (size_t)c]), middle);
        area += sn_length(sn_cross(sn_sub(p[1], p[0]), sn_sub(p[2], p[0]))) / 2;
        volume += sn_dot(p[0], sn_cross(p[1], p[2])) / 6;
    }
    if (!(area > 0))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "obstacle mesh has no area: all of its %d triangles "
                       "are collapsed",
                       mesh->triangle_count);
    if (!(fabs(volume) > FLAT * area * sqrt(area)))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "obstacle mesh encloses nothing: a flat sheet has no inside, give it some "
                       "thickness");
    return SINEW_OK;
}

sinew_status sinew_obstacle_create_mesh(const sinew_mesh *mesh, sinew_obstacle **result,
                                        sinew_error *error) {
    SN_REQUIRE(mesh && result, error);
    SN_TRY(check_mesh(mesh, error));
    sinew_obstacle *obstacle = NULL;
    SN_TRY(create(MESH, sn_v3(0, 0, 0), sn_v3(0, 0, 0), 0, &obstacle, error));
    *result = NULL;
    obstacle->vertex_count = mesh->vertex_count;
    obstacle->triangle_count = mesh->triangle_count;
    obstacle->positions = sn_memdup(mesh->positions, 3 * (size_t)mesh->vertex_count, 8);
    obstacle->triangles = sn_memdup(mesh->triangles, 3 * (size_t)mesh->triangle_count, sizeof(int));
    obstacle->normals = SN_NEW0(double, 3 * (size_t)mesh->vertex_count);
    sinew_status status = obstacle->positions && obstacle->triangles && obstacle->normals
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                    mesh->triangles, &obstacle->query, error);
    if (status != SINEW_OK) {
        sinew_obstacle_destroy(obstacle);
        return status;
    }
    find_normals(obstacle);
    *result = obstacle;
    return SINEW_OK;
}

sinew_status sn_obstacle_form_parse(const char *text, sn_obstacle_form *form, sinew_error *error) {
    static const struct {
        const char *form;
        int count;
    } forms[] = {[SN_OBSTACLE_PLANE] = {"plane:x,y,z,nx,ny,nz", 6},
                 [SN_OBSTACLE_SPHERE] = {"sphere:x,y,z,r", 4},
                 [SN_OBSTACLE_CAPSULE] = {"capsule:ax,ay,az,bx,by,bz,r", 7},
                 [SN_OBSTACLE_CYLINDER] = {"cylinder:ax,ay,az,bx,by,bz,r", 7},
                 [SN_OBSTACLE_BOX] = {"box:x,y,z,hx,hy,hz", 6}};
    const char *colon = strchr(text, ':');
    for (int k = 0; colon && k < (int)(sizeof forms / sizeof *forms); k++) {
        if (strncmp(forms[k].form, text, (size_t)(colon - text) + 1) != 0) continue;
        form->shape = (sn_obstacle_shape)k;
        if (sn_number_list(colon + 1, 0, 7, form->values, NULL) == forms[k].count) return SINEW_OK;
        return sn_fail(error, SINEW_BAD_INPUT, "obstacle \"%.100s\": expected %s", text,
                       forms[k].form);
    }
    return sn_fail(
        error, SINEW_BAD_INPUT,
        "obstacle \"%.100s\": expected plane:, sphere:, capsule:, cylinder: or box:", text);
}

sinew_status sinew_obstacle_parse(const char *text, sinew_obstacle **obstacle, sinew_error *error) {
    SN_REQUIRE(text && obstacle, error);
    sn_obstacle_form form;
    SN_TRY(sn_obstacle_form_parse(text, &form, error));
    const double *v = form.values;
    switch (form.shape) {
    case SN_OBSTACLE_PLANE:
        return sinew_obstacle_create_plane(v, v + 3, obstacle, error);
    case SN_OBSTACLE_SPHERE:
        return sinew_obstacle_create_sphere(v, v[3], obstacle, error);
    case SN_OBSTACLE_CAPSULE:
        return sinew_obstacle_create_capsule(v, v + 3, v[6], obstacle, error);
    case SN_OBSTACLE_CYLINDER:
        return sinew_obstacle_create_cylinder(v, v + 3, v[6], obstacle, error);
    case SN_OBSTACLE_BOX:
        break;
    }
    return sinew_obstacle_create_box(v, v + 3, obstacle, error);
}

void sinew_obstacle_destroy(sinew_obstacle *obstacle) {
    if (!obstacle) return;
    sinew_query_destroy(obstacle->query);
    sn_free(obstacle->triangles), sn_free(obstacle->normals), sn_free(obstacle->positions);
    sn_free(obstacle);
}

void sinew_obstacle_move(sinew_obstacle *obstacle, const double rotation[9],
                         const double translation[3]) {
    obstacle->rotation = sn_mat3_identity();
    obstacle->translation = translation ? vec(translation) : sn_v3(0, 0, 0);
    if (rotation) memcpy(obstacle->rotation.m, rotation, sizeof obstacle->rotation.m);
}

sinew_status sinew_obstacle_set_positions(sinew_obstacle *obstacle, const double *positions,
                                          sinew_error *error) {
    SN_REQUIRE(obstacle && positions, error);
    if (obstacle->kind != MESH)
        return sn_fail(error, SINEW_BAD_INPUT, "only a mesh obstacle has vertices to move");
    for (int v = 0; v < obstacle->vertex_count; v++)
        if (!finite3(sn_at(positions, v)))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %d of the obstacle mesh is not finite",
                           v);
    memcpy(obstacle->positions, positions, 3 * (size_t)obstacle->vertex_count * sizeof(double));
    find_normals(obstacle);
    return sinew_query_move(obstacle->query, positions, error);
}
