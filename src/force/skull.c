/* The thickness t of the skin is its distance from the bone at rest. In a frame a vertex at the
 * distance d < t goes to
 *
 *   d' = l + (t - l) exp((d - t) / (t - l)),     l = THINNEST t,
 *
 * which is t with slope 1 at d = t and never less than l, however deep the blend has pushed it. d
 * is negative inside the bone. Motion along the bone is not changed.
 *
 * A skull that is modeled in part ends in a rim. Skin beside the rim has no bone below it: its
 * distance from the rim is not its thickness. It gets the thickness of the nearest skin above
 * the bone, and is held to the degree that it has slid above the bone. */
#include "force/skull.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/vec3.h"
#include "sinew/anatomy.h"
#include "sinew/query.h"

#define THINNEST 0.6
/* Fractions of the diagonal: skin farther from the bone than this is not held by it; bone may not
 * move by more than that. */
#define DEEP  0.06
#define STILL 1e-4
/* Fraction of the diagonal, along the skin: what starts farther beside the bone is not held when it
 * slides onto it. */
#define AROUND 0.25
/* Cosines of the angle between the normal of the bone and the direction to the skin: skin is beside
 * the bone up to the first, and above it from the second on. */
#define BESIDE 0.4
#define ABOVE  0.9

struct sn_skull {
    int covered;       /* vertices of the skin with bone below */
    int count;         /* of these, and of those beside the bone */
    int *vertices;     /* of the skin */
    double *thickness; /* of each */
    double deep;
    sn_vec3 *normals; /* per triangle of the bone */
    sinew_query *query;
};

static sinew_status refuse_motion(const sinew_rig *rig, const bool *bone, double most,
                                  sinew_error *error) {
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *t = &rig->targets[k];
        for (int i = 0; i < t->count; i++)
            if (bone[t->vertices[i]] && sn_length(sn_at(t->deltas, i)) > most)
                return sn_fail(error, SINEW_BAD_INPUT,
                               "skull: target '%s' moves vertex %d of it; a skull does not move",
                               t->name, t->vertices[i]);
    }
    return SINEW_OK;
}

/* The triangles of the bone and their normals. */
static sinew_status make_query(sn_skull *s, const sn_skin *skin, const sinew_mesh *mesh,
                               const bool *bone, sinew_error *error) {
    int *triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count), count = 0;
    s->normals = SN_NEW(sn_vec3, mesh->triangle_count);
    sinew_status status = triangles && s->normals ? SINEW_OK : sn_no_memory(error);
    for (int t = 0; status == SINEW_OK && t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (!bone[v[0]] || !bone[v[1]] || !bone[v[2]]) continue;
        sn_vec3 a = sn_at(skin->rest, v[0]);
        s->normals[count] = sn_normalize(
            sn_cross(sn_sub(sn_at(skin->rest, v[1]), a), sn_sub(sn_at(skin->rest, v[2]), a)));
        memcpy(triangles + 3 * (size_t)count++, v, 3 * sizeof(int));
    }
    if (status == SINEW_OK && count == 0)
        status = sn_fail(error, SINEW_BAD_INPUT, "skull: the selection contains no triangle");
    if (status == SINEW_OK)
        status =
            sinew_query_create(mesh->vertex_count, skin->rest, count, triangles, &s->query, error);
    sn_free(triangles);
    return status;
}

/* How far p is from the bone, away from it, and how far it is above it, 0 to 1; false: too far to
 * matter. */
static bool measure(const sn_skull *s, const double p[3], double *distance, sn_vec3 *out,
                    double *above) {
    sinew_closest at;
    if (!sinew_query_closest(s->query, p, s->deep, &at)) return false;
    sn_vec3 off = sn_sub(sn_at(p, 0), sn_at(at.point, 0)), normal = s->normals[at.triangle];
    bool inside = sn_dot(off, normal) < 0;
    *distance = inside ? -at.distance : at.distance;
    *out = at.distance > 1e-6 * s->deep ? sn_scale(1 / *distance, off) : normal;
    double u = fmin(fmax((sn_dot(*out, normal) - BESIDE) / (ABOVE - BESIDE), 0), 1);
    *above = u * u * (3 - 2 * u);
    return true;
}

/* Skin beside the bone gets the thickness of the nearest skin above it, along the edges. thickness:
 * per vertex, below 0 where it is not known. */
static sinew_status spread_thickness(const sn_skin *skin, double *thickness, sinew_error *error) {
    double *path = SN_NEW(double, skin->vertex_count);
    if (!path) return sn_no_memory(error);
    for (int v = 0; v < skin->vertex_count; v++) path[v] = thickness[v] < 0 ? INFINITY : 0;
    sinew_status status = SINEW_OK;
    for (bool changed = true; changed && status == SINEW_OK;) {
        changed = false;
        status = sn_check_interrupt(error); /* a strip of n vertices can take n rounds */
        for (int i = 0; status == SINEW_OK && i < 2 * skin->edge_count; i++) {
            int e = i / 2, from = skin->edges[2 * (size_t)e + (size_t)(i % 2)];
            int to = skin->edges[2 * (size_t)e + (size_t)(1 - i % 2)];
            double length = path[from] + skin->length[e];
            if (!(length < path[to] && length < AROUND * skin->diagonal)) continue;
            path[to] = length, thickness[to] = thickness[from], changed = true;
        }
    }
    sn_free(path);
    return status;
}

/* s->vertices and s->thickness. */
static sinew_status find_cover(sn_skull *s, const sn_skin *skin, const bool *bone,
                               const bool *outer, sinew_error *error) {
    double *thickness = SN_NEW(double, skin->vertex_count), distance, above;
    if (!thickness) return sn_no_memory(error);
    sn_vec3 out;
    sinew_status status = SINEW_OK;
    for (int v = 0; status == SINEW_OK && v < skin->vertex_count; v++) {
        status = sn_check_interrupt(error);
        thickness[v] = -1;
        if (!bone[v] && outer[v] &&
            measure(s, skin->rest + 3 * (size_t)v, &distance, &out, &above) && distance > 0 &&
            above == 1)
            thickness[v] = distance, s->covered++;
    }
    if (status == SINEW_OK && s->covered == 0)
        status = sn_fail(error, SINEW_BAD_INPUT,
                         "skull: no skin lies above it within %g%% of the bounding-box diagonal",
                         100 * DEEP);
    if (status == SINEW_OK) status = spread_thickness(skin, thickness, error);
    for (int v = 0; status == SINEW_OK && v < skin->vertex_count; v++)
        if (thickness[v] > 0 && !bone[v] && outer[v] && !skin->fixed[v])
            s->thickness[s->count] = thickness[v], s->vertices[s->count++] = v;
    sn_free(thickness);
    return status;
}

sinew_status sn_skull_create(const sn_skin *skin, const sinew_rig *rig, int count,
                             const int *vertices, sn_skull **skull, sinew_error *error) {
    *skull = NULL;
    sn_skull *s = SN_NEW0(sn_skull, 1);
    bool *bone = SN_NEW0(bool, skin->vertex_count);
    sinew_anatomy *anatomy = NULL;
    sinew_status status = s && bone ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        if (vertices[i] < 0 || vertices[i] >= skin->vertex_count)
            status =
                sn_fail(error, SINEW_BAD_INPUT, "skull: vertex %d is not in the mesh", vertices[i]);
        else
            bone[vertices[i]] = true;
    }
    if (status == SINEW_OK) {
        s->deep = DEEP * skin->diagonal;
        s->vertices = SN_NEW(int, skin->vertex_count);
        s->thickness = SN_NEW(double, skin->vertex_count);
        if (!s->vertices || !s->thickness) status = sn_no_memory(error);
    }
    if (status == SINEW_OK) status = refuse_motion(rig, bone, STILL * skin->diagonal, error);
    if (status == SINEW_OK) status = make_query(s, skin, rig->neutral, bone, error);
    if (status == SINEW_OK) status = sinew_anatomy_create(rig, NULL, &anatomy, error);
    if (status == SINEW_OK) status = find_cover(s, skin, bone, sinew_anatomy_skin(anatomy), error);
    sinew_anatomy_destroy(anatomy);
    sn_free(bone);
    if (status != SINEW_OK) {
        sn_skull_destroy(s);
        return status;
    }
    *skull = s;
    return SINEW_OK;
}

void sn_skull_destroy(sn_skull *s) {
    if (!s) return;
    sinew_query_destroy(s->query);
    sn_free(s->vertices), sn_free(s->thickness), sn_free(s->normals);
    sn_free(s);
}

int sn_skull_covered(const sn_skull *s) {
    return s->covered;
}

typedef struct hold_loop {
    const sn_skull *s;
    double *x;
    atomic_int moved;
} hold_loop;

static void hold_some(void *context, sn_span span) {
    hold_loop *loop = context;
    const sn_skull *s = loop->s;
    int moved = 0;
    SN_IN_SPAN(int, i, span) {
        double *p = loop->x + 3 * (size_t)s->vertices[i], t = s->thickness[i], d, above;
        sn_vec3 out;
        if (!measure(s, p, &d, &out, &above) || !(d < t) || !(above > 0)) continue;
        double least = THINNEST * t, room = t - least;
        double lift = least + room * exp((d - t) / room) - d;
        sn_put(p, 0, sn_add_scaled(sn_at(p, 0), above * lift, out));
        moved++;
    }
    atomic_fetch_add(&loop->moved, moved);
}

int sn_skull_hold(const sn_skull *s, double *x) {
    hold_loop loop = {s, x, 0};
    sn_parallel_for(s->count, 64, hold_some, &loop);
    return atomic_load(&loop.moved);
}
