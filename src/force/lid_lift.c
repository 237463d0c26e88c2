/* With c the point of the eyeballs nearest to a vertex p and n the normal there, the vertex is at
 * height h = n.(p - c). Where h is less than the height to keep, p moves to
 *
 *   c + keep n,
 *
 * that is, along the eyeball's normal. The height to keep is that at rest, at most KEPT: what
 * touches the eyeball at rest may touch it. Vertices whose nearest point is far off their normal
 * are beyond a border of the eyeball, and stay. */
#include "force/lid_lift.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/vec3.h"
#include "sinew/query.h"

/* Fractions of the diagonal: skin farther from the eyeballs than this at rest is no lid; deeper
 * behind them than this is not lifted; height that is kept. */
#define NEAR 0.03
#define DEEP 0.012
#define KEPT 6e-5
/* Fraction of the diagonal: what is no deeper behind at rest touches. */
#define TOUCHING 2e-5
/* Cosine between the normal and the direction to the nearest point. */
#define BESIDE 0.7
/* Length of the mean normal of a piece, from 0 for a closed surface to 1 for a plane; 0.5 for half
 * an eyeball. What is flatter is a shell that lies in front of one. */
#define FLAT 0.7

struct sn_lid_lift_plan {
    int vertex_count, eye_count, count;
    int *eye;     /* triangles of eyeballs, 3 vertices each */
    int *vertex;  /* of lids */
    double *keep; /* per vertex of lids: height */
    double *rest; /* 3 per vertex of the mesh */
    double deep;  /* length units */
};

struct sn_lid_lift {
    const sn_lid_lift_plan *plan;
    sinew_query *eye; /* NULL: none */
};

static sn_vec3 area_normal(const double *x, const int *t) {
    sn_vec3 a = sn_at(x, t[0]);
    return sn_cross(sn_sub(sn_at(x, t[1]), a), sn_sub(sn_at(x, t[2]), a));
}

/* plan->eye: of pieces of eyes that are round and do not follow the skin. */
static sinew_status find_eyes(sn_lid_lift_plan *p, const sinew_mesh *mesh,
                              const sinew_anatomy *anatomy, const sn_riders *riders,
                              sinew_error *error) {
    const int *piece = sinew_anatomy_pieces(anatomy);
    int pieces = sinew_anatomy_piece_count(anatomy);
    sn_vec3 *sum = SN_NEW0(sn_vec3, pieces);
    double *area = SN_NEW0(double, pieces);
    bool *rides = SN_NEW0(bool, pieces);
    sinew_status status = sum && area && rides ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < riders->count; i++)
        rides[piece[riders->vertex[i]]] = true;
    for (int pass = 0; status == SINEW_OK && pass < 2; pass++)
        for (int t = 0; t < mesh->triangle_count; t++) {
            const int *v = mesh->triangles + 3 * (size_t)t;
            int own = piece[v[0]];
            if (sinew_anatomy_piece_kind(anatomy, own) != SINEW_PIECE_KIND_EYE || rides[own])
                continue;
            if (pass == 0) {
                sn_vec3 n = area_normal(p->rest, v);
                sum[own] = sn_add(sum[own], n), area[own] += sn_length(n);
            } else if (sn_length(sum[own]) < FLAT * area[own])
                memcpy(p->eye + 3 * (size_t)p->eye_count++, v, 3 * sizeof(int));
        }
    sn_free(sum), sn_free(area), sn_free(rides);
    return status;
}

/* *normal: outwards, of the eyeball at its point nearest to p. Returns the height of p, or INFINITY
 * where it is beside the eyeball. */
static double height_of(const sn_lid_lift_plan *p, const sinew_query *query, const double *x,
                        sn_vec3 point, double most, sinew_closest *at, sn_vec3 *normal) {
    double q[3];
    sn_put(q, 0, point);
    if (!sinew_query_closest(query, q, most, at)) return INFINITY;
    sn_vec3 off = sn_sub(point, sn_at(at->point, 0));
    sn_vec3 flat = sn_normalize(area_normal(x, p->eye + 3 * (size_t)at->triangle));
    double height = sn_dot(flat, off);
    if (fabs(height) < BESIDE * at->distance) return INFINITY;
    /* across an edge or a corner the direction to the nearest point turns smoothly */
    *normal =
        at->distance > 1e-3 * p->deep ? sn_scale((height < 0 ? -1 : 1) / at->distance, off) : flat;
    return height < 0 ? -at->distance : at->distance;
}

static sinew_status find_lids(sn_lid_lift_plan *p, const sn_skin *skin,
                              const sinew_anatomy *anatomy, sinew_error *error) {
    sinew_query *query;
    sinew_closest at;
    sn_vec3 normal;
    SN_TRY(sinew_query_create(p->vertex_count, p->rest, p->eye_count, p->eye, &query, error));
    for (int v = 0; v < p->vertex_count; v++) {
        if (!sinew_anatomy_skin(anatomy)[v]) continue;
        const double *rest = p->rest + 3 * (size_t)v;
        if (!sinew_query_closest(query, rest, NEAR * skin->diagonal, &at)) continue;
        double height = height_of(p, query, p->rest, sn_at(rest, 0), INFINITY, &at, &normal);
        if (height < -TOUCHING * skin->diagonal) continue; /* behind it at rest */
        p->vertex[p->count] = v;
        p->keep[p->count++] = fmin(fmax(height, 0), KEPT * skin->diagonal);
    }
    sinew_query_destroy(query);
    return SINEW_OK;
}

sinew_status sn_lid_lift_plan_create(const sn_skin *skin, const sinew_mesh *mesh,
                                     const sinew_anatomy *anatomy, const sn_riders *riders,
                                     sn_lid_lift_plan **plan, sinew_error *error) {
    *plan = NULL;
    sn_lid_lift_plan *p = SN_NEW0(sn_lid_lift_plan, 1);
    if (!p) return sn_no_memory(error);
    size_t n = (size_t)skin->vertex_count;
    p->vertex_count = skin->vertex_count, p->deep = DEEP * skin->diagonal;
    p->eye = SN_NEW(int, 3 * (size_t)mesh->triangle_count);
    p->vertex = SN_NEW(int, n), p->keep = SN_NEW(double, n);
    p->rest = sn_memdup(skin->rest, 3 * n, sizeof(double));
    sinew_status status =
        p->eye && p->vertex && p->keep && p->rest ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = find_eyes(p, mesh, anatomy, riders, error);
    if (status == SINEW_OK && p->eye_count > 0) status = find_lids(p, skin, anatomy, error);
    if (status != SINEW_OK) {
        sn_lid_lift_plan_destroy(p);
        return status;
    }
    *plan = p;
    return SINEW_OK;
}

void sn_lid_lift_plan_destroy(sn_lid_lift_plan *p) {
    if (!p) return;
    sn_free(p->eye), sn_free(p->vertex), sn_free(p->keep), sn_free(p->rest);
    sn_free(p);
}

sinew_status sn_lid_lift_create(const sn_lid_lift_plan *p, sn_lid_lift **lift, sinew_error *error) {
    *lift = NULL;
    sn_lid_lift *l = SN_NEW0(sn_lid_lift, 1);
    if (!l) return sn_no_memory(error);
    l->plan = p;
    if (p->count > 0) {
        sinew_status status =
            sinew_query_create(p->vertex_count, p->rest, p->eye_count, p->eye, &l->eye, error);
        if (status != SINEW_OK) {
            sn_free(l);
            return status;
        }
    }
    *lift = l;
    return SINEW_OK;
}

void sn_lid_lift_destroy(sn_lid_lift *l) {
    if (!l) return;
    sinew_query_destroy(l->eye);
    sn_free(l);
}

typedef struct lift_loop {
    const sn_lid_lift *lift;
    double *x;
} lift_loop;

static void lift_some(void *context, sn_span span) {
    const lift_loop *loop = context;
    const sn_lid_lift_plan *p = loop->lift->plan;
    SN_IN_SPAN(int, i, span) {
        sinew_closest at;
        sn_vec3 normal;
        double height = height_of(p, loop->lift->eye, loop->x, sn_at(loop->x, p->vertex[i]),
                                  p->deep, &at, &normal);
        if (height < p->keep[i])
            sn_put(loop->x, p->vertex[i], sn_add_scaled(sn_at(at.point, 0), p->keep[i], normal));
    }
}

sinew_status sn_lid_lift_apply(sn_lid_lift *l, double *x, sinew_error *error) {
    if (!l->eye) return SINEW_OK;
    SN_TRY(sinew_query_move(l->eye, x, error));
    sn_parallel_for(l->plan->count, 32, lift_some, &(lift_loop){l, x});
    return SINEW_OK;
}
