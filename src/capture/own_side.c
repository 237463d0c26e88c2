#include "capture/own_side.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* How far a lid or lip reaches from the middle of its opening, in eye distances. */
#define REACH 0.35

static int opening_of(const sinew_anatomy *a, sn_margin margin, sinew_side side) {
    bool lip = margin == SN_MARGIN_LIP_UPPER || margin == SN_MARGIN_LIP_LOWER;
    if (margin == SN_MARGIN_NONE || (!lip && side == SINEW_SIDE_NONE)) return -1;
    int kind = lip                       ? SN_OPENING_MOUTH
               : side == SINEW_SIDE_LEFT ? SN_OPENING_EYE_LEFT
                                         : SN_OPENING_EYE_RIGHT;
    return a->opening[kind].known ? kind : -1;
}

const sn_opening *sn_own_opening(const sinew_anatomy *a, sn_margin margin, sinew_side side) {
    int kind = opening_of(a, margin, side);
    return kind < 0 ? NULL : &a->opening[kind];
}

/* Whether a point of the skin lies beside an opening, above or below its middle line. */
static bool beside(const sinew_anatomy *a, const sn_opening *o, bool upper, sn_vec3 p) {
    sn_vec3 from = sn_anatomy_local(a, o->upper[0]);
    sn_vec3 to = sn_anatomy_local(a, o->upper[SN_STATIONS - 1]), at = sn_anatomy_local(a, p);
    double along = (at.x - from.x) / (to.x - from.x);
    if (!(along >= 0 && along <= 1) || at.z < fmin(from.z, to.z) - REACH) return false;
    sn_vec3 middle = sn_anatomy_local(
        a, sn_lerp(sn_opening_at(o->upper, along), sn_opening_at(o->lower, along), 0.5));
    double above = upper ? at.y - middle.y : middle.y - at.y;
    return above >= 0 && above < REACH;
}

static sinew_status collect(sn_own_side *own, int kind, bool upper, sinew_error *error) {
    const sinew_anatomy *a = own->anatomy;
    const sinew_mesh *mesh = own->mesh;
    int *original = SN_NEW(int, mesh->triangle_count), count = 0;
    int *triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count);
    sinew_status status = original && triangles ? SINEW_OK : sn_no_memory(error);
    for (int t = 0; status == SINEW_OK && t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (!a->skin[v[0]] || !a->skin[v[1]] || !a->skin[v[2]]) continue;
        sn_vec3 center = sn_scale(
            1.0 / 3, sn_add(sn_add(sn_at(mesh->positions, v[0]), sn_at(mesh->positions, v[1])),
                            sn_at(mesh->positions, v[2])));
        if (!beside(a, &a->opening[kind], upper, center)) continue;
        memcpy(triangles + 3 * (size_t)count, v, 3 * sizeof *v);
        original[count++] = t;
    }
    if (status == SINEW_OK)
        status = sinew_query_create(mesh->vertex_count, mesh->positions, count, triangles,
                                    &own->query[kind][upper], error);
    sn_free(triangles);
    if (status == SINEW_OK)
        own->triangles[kind][upper] = original;
    else
        sn_free(original);
    return status;
}

sinew_status sn_own_side_closest(sn_own_side *own, sn_margin margin, sinew_side side,
                                 const double point[3], sinew_closest *closest,
                                 sinew_error *error) {
    int kind = opening_of(own->anatomy, margin, side);
    bool upper = sn_is_upper(margin);
    closest->triangle = -1;
    if (kind < 0) return SINEW_OK;
    if (!own->query[kind][upper]) SN_TRY(collect(own, kind, upper, error));
    if (sinew_query_closest(own->query[kind][upper], point, INFINITY, closest))
        closest->triangle = own->triangles[kind][upper][closest->triangle];
    return SINEW_OK;
}

void sn_own_side_free(sn_own_side *own) {
    for (int kind = 0; kind < SN_OPENINGS; kind++)
        for (int k = 0; k < 2; k++) {
            sinew_query_destroy(own->query[kind][k]);
            sn_free(own->triangles[kind][k]);
        }
}
