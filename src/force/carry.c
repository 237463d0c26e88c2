#include "force/carry.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/vec3.h"
#include "sinew/query.h"

/* Fractions of the diagonal: riders nearer to the skin than this at rest lie on it; skin farther
 * from all riders than this at rest is never the nearest. */
#define LYING 0.004
#define REACH 0.06
/* Fraction of the diagonal from the skin within which shells slide over the eyeball with it. */
#define SLIDING 0.012
/* Fraction of their distance from the eyeball that shells keep where they give way. */
#define LEFT 0.05

struct sn_carry_plan {
    const sn_riders *riders;
    int vertex_count;
    double *rest;   /* 3 per vertex */
    double sliding; /* length units */
    int *root;      /* per rider: the rider that it moves with; itself when it lies on the skin */
    int *anchor;    /* per rider: the rider next to the skin that it folds to */
    bool *shell;    /* per rider: it lies over an eyeball */
    int skin_count; /* triangles of the skin near riders, and of eyeballs; 3 vertices each */
    int *skin;
    int eye_count;
    int *eye;
};

struct sn_carry {
    const sn_carry_plan *plan;
    sinew_query *skin, *eye; /* NULL: none */
    sn_vec3 *moved;          /* per rider */
};

/* ---- the plan -------------------------------------------------------------------------------- */

static double distance_at_rest(const sn_skin *skin, const sn_riders *r, int i) {
    sn_vec3 host = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        host = sn_add_scaled(host, r->weight[3 * i + k], sn_at(skin->rest, r->host[3 * i + k]));
    return sn_distance(host, sn_at(skin->rest, r->vertex[i]));
}

/* Along the edges to ever smaller distances from the skin at rest: a strip of lashes folds to a few
 * points of the lid, where its triangles have no area. */
static int find_anchor(const sn_skin *skin, const sn_riders *r, const int *place, int from) {
    double least = distance_at_rest(skin, r, from);
    for (int at = -1; at != from;) {
        at = from;
        for (int h = skin->start[r->vertex[at]]; h < skin->start[r->vertex[at] + 1]; h++) {
            int j = place[skin->neighbour[h]];
            double distance = j < 0 ? INFINITY : distance_at_rest(skin, r, j);
            if (distance < least) least = distance, from = j;
        }
    }
    return from;
}

/* plan->anchor; plan->root, by shortest paths along the edges from riders that lie on the skin. */
static sinew_status find_roots(sn_carry_plan *p, const sn_skin *skin, const sinew_anatomy *anatomy,
                               sinew_error *error) {
    const int *piece = sinew_anatomy_pieces(anatomy);
    const sn_riders *r = p->riders;
    int *place = SN_NEW(int, skin->vertex_count);
    double *far = SN_NEW(double, r->count + 1);
    p->root = SN_NEW(int, r->count + 1), p->shell = SN_NEW(bool, r->count + 1);
    p->anchor = SN_NEW(int, r->count + 1);
    sinew_status status =
        place && far && p->root && p->shell && p->anchor ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int v = 0; v < skin->vertex_count; v++) place[v] = -1;
        for (int i = 0; i < r->count; i++) {
            sinew_piece_kind kind = sinew_anatomy_piece_kind(anatomy, piece[r->vertex[i]]);
            p->shell[i] = kind == SINEW_PIECE_KIND_EYE;
            bool lies = p->shell[i] || distance_at_rest(skin, r, i) < LYING * skin->diagonal;
            place[r->vertex[i]] = i, p->root[i] = i, far[i] = lies ? 0 : INFINITY;
        }
        for (int i = 0; i < r->count; i++) p->anchor[i] = find_anchor(skin, r, place, i);
        for (bool changed = true; changed;) {
            changed = false;
            for (int i = 0; i < r->count; i++)
                for (int h = skin->start[r->vertex[i]]; h < skin->start[r->vertex[i] + 1]; h++) {
                    int j = place[skin->neighbour[h]];
                    if (j < 0) continue;
                    double way = far[j] + sn_distance(sn_at(skin->rest, r->vertex[i]),
                                                      sn_at(skin->rest, r->vertex[j]));
                    if (way < far[i]) far[i] = way, p->root[i] = p->root[j], changed = true;
                }
        }
    }
    sn_free(place), sn_free(far);
    return status;
}

/* Triangles of the skin near riders, and of eyeballs that do not follow the skin. */
static sinew_status find_triangles(sn_carry_plan *p, const sn_skin *skin, const sinew_mesh *mesh,
                                   const sinew_anatomy *anatomy, sinew_error *error) {
    const sn_riders *r = p->riders;
    const int *piece = sinew_anatomy_pieces(anatomy);
    size_t room = 3 * (size_t)mesh->triangle_count;
    bool *rides = SN_NEW0(bool, skin->vertex_count);
    int *own = SN_NEW(int, room), own_count = 0;
    p->skin = SN_NEW(int, room), p->eye = SN_NEW(int, room);
    sinew_query *query = NULL;
    sinew_status status = rides && own && p->skin && p->eye ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < r->count; i++) rides[r->vertex[i]] = true;
    for (int t = 0; status == SINEW_OK && t < mesh->triangle_count; t++)
        if (rides[mesh->triangles[3 * (size_t)t]])
            memcpy(own + 3 * (size_t)own_count++, mesh->triangles + 3 * (size_t)t, 3 * sizeof(int));
    if (status == SINEW_OK && own_count > 0)
        status = sinew_query_create(skin->vertex_count, skin->rest, own_count, own, &query, error);
    for (int t = 0; query && t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        sinew_piece_kind kind = sinew_anatomy_piece_kind(anatomy, piece[v[0]]);
        sinew_closest at;
        if (rides[v[0]]) continue;
        if (kind == SINEW_PIECE_KIND_EYE)
            memcpy(p->eye + 3 * (size_t)p->eye_count++, v, 3 * sizeof(int));
        if (kind == SINEW_PIECE_KIND_SKIN &&
            sinew_query_closest(query, skin->rest + 3 * (size_t)v[0], REACH * skin->diagonal, &at))
            memcpy(p->skin + 3 * (size_t)p->skin_count++, v, 3 * sizeof(int));
    }
    sinew_query_destroy(query);
    sn_free(rides), sn_free(own);
    return status;
}

sinew_status sn_carry_plan_create(const sn_skin *skin, const sinew_rig *rig,
                                  const sinew_anatomy *anatomy, const sn_riders *riders,
                                  sn_carry_plan **plan, sinew_error *error) {
    *plan = NULL;
    sn_carry_plan *p = SN_NEW0(sn_carry_plan, 1);
    if (!p) return sn_no_memory(error);
    p->riders = riders, p->vertex_count = skin->vertex_count;
    p->sliding = SLIDING * skin->diagonal;
    p->rest = sn_memdup(skin->rest, 3 * (size_t)skin->vertex_count, sizeof(double));
    sinew_status status = p->rest ? find_roots(p, skin, anatomy, error) : sn_no_memory(error);
    if (status == SINEW_OK) status = find_triangles(p, skin, rig->neutral, anatomy, error);
    if (status != SINEW_OK) {
        sn_carry_plan_destroy(p);
        return status;
    }
    *plan = p;
    return SINEW_OK;
}

void sn_carry_plan_destroy(sn_carry_plan *p) {
    if (!p) return;
    sn_free(p->rest), sn_free(p->root), sn_free(p->anchor), sn_free(p->shell);
    sn_free(p->skin), sn_free(p->eye);
    sn_free(p);
}

int sn_carry_anchor(const sn_carry_plan *p, int i) {
    return p->anchor[i];
}

bool sn_carry_is_shell(const sn_carry_plan *p, int i) {
    return p->shell[i];
}

/* ---- frames ---------------------------------------------------------------------------------- */

sinew_status sn_carry_create(const sn_carry_plan *p, sn_carry **carry, sinew_error *error) {
    *carry = NULL;
    sn_carry *c = SN_NEW0(sn_carry, 1);
    if (!c) return sn_no_memory(error);
    c->plan = p;
    c->moved = SN_NEW(sn_vec3, p->riders->count + 1);
    sinew_status status = c->moved ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && p->skin_count > 0)
        status =
            sinew_query_create(p->vertex_count, p->rest, p->skin_count, p->skin, &c->skin, error);
    if (status == SINEW_OK && p->eye_count > 0)
        status = sinew_query_create(p->vertex_count, p->rest, p->eye_count, p->eye, &c->eye, error);
    if (status != SINEW_OK) {
        sn_carry_destroy(c);
        return status;
    }
    *carry = c;
    return SINEW_OK;
}

void sn_carry_destroy(sn_carry *c) {
    if (!c) return;
    sinew_query_destroy(c->skin), sinew_query_destroy(c->eye);
    sn_free(c->moved);
    sn_free(c);
}

static sn_vec3 moved_by(const double *before, const double *after, const int v[3],
                        const double weight[3]) {
    sn_vec3 moved = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        moved = sn_add_scaled(moved, weight[k], sn_sub(sn_at(after, v[k]), sn_at(before, v[k])));
    return moved;
}

/* Where a point p of a shell moves when the skin next to it moves by `moved`: along the eyeball
 * with the skin, the less so the farther from it, and off the eyeball as far as it is nearer to the
 * skin than to the eyeball. */
static sn_vec3 slide(const sn_carry *c, sn_vec3 p, double to_skin, sn_vec3 moved) {
    double point[3];
    sinew_closest eye, then;
    sn_put(point, 0, p);
    if (!c->eye || !sinew_query_closest(c->eye, point, INFINITY, &eye)) return sn_add(p, moved);
    double near = fmax(0, 1 - to_skin * to_skin / (c->plan->sliding * c->plan->sliding));
    double share = fmax(0, (eye.distance - to_skin) / (eye.distance + to_skin));
    if (!(eye.distance > 0)) return p;
    sn_vec3 off = sn_scale(1 / eye.distance, sn_sub(p, sn_at(eye.point, 0)));
    double lifted = sn_dot(moved, off);
    sn_vec3 along = sn_add_scaled(moved, -lifted, off);
    sn_vec3 q = sn_add_scaled(p, near * near, along);
    sn_put(point, 0, q);
    if (!sinew_query_closest(c->eye, point, INFINITY, &then) || !(then.distance > 0)) return q;
    sn_vec3 up = sn_scale(1 / then.distance, sn_sub(q, sn_at(then.point, 0)));
    if (sn_dot(up, off) < 0) return p; /* through it */
    return sn_add_scaled(sn_at(then.point, 0), fmax(eye.distance + share * lifted, 0), up);
}

typedef struct carry_loop {
    sn_carry *c;
    const double *before, *after;
} carry_loop;

static void carry_some(void *context, sn_span span) {
    const carry_loop *loop = context;
    const sn_carry_plan *p = loop->c->plan;
    const sn_riders *r = p->riders;
    SN_IN_SPAN(int, i, span) {
        const double *point = loop->before + 3 * (size_t)r->vertex[i];
        sinew_closest skin;
        if (p->root[i] != i) continue;
        if (!p->shell[i]) { /* where it is attached at rest */
            loop->c->moved[i] = moved_by(loop->before, loop->after, r->host + 3 * (size_t)i,
                                         r->weight + 3 * (size_t)i);
            continue;
        }
        if (!loop->c->skin || !sinew_query_closest(loop->c->skin, point, INFINITY, &skin)) continue;
        sn_vec3 moved = moved_by(loop->before, loop->after, p->skin + 3 * (size_t)skin.triangle,
                                 skin.barycentric);
        sn_vec3 from = sn_at(point, 0);
        loop->c->moved[i] = sn_sub(slide(loop->c, from, skin.distance, moved), from);
    }
}

sinew_status sn_carry_apply(sn_carry *c, const double *before, double *after, sinew_error *error) {
    const sn_riders *r = c->plan->riders;
    if (c->skin) SN_TRY(sinew_query_move(c->skin, before, error));
    if (c->eye) SN_TRY(sinew_query_move(c->eye, before, error));
    memset(c->moved, 0, (size_t)r->count * sizeof *c->moved);
    sn_parallel_for(r->count, 16, carry_some, &(carry_loop){c, before, after});
    for (int i = 0; i < r->count; i++)
        sn_put(after, r->vertex[i],
               sn_add(sn_at(before, r->vertex[i]), c->moved[c->plan->root[i]]));
    return SINEW_OK;
}

typedef struct give_way_loop {
    const sn_carry *c;
    const double *x;
    double *way;
} give_way_loop;

static void give_way(void *context, sn_span span) {
    const give_way_loop *loop = context;
    const sn_carry_plan *p = loop->c->plan;
    const sn_riders *r = p->riders;
    SN_IN_SPAN(int, i, span) {
        const double *x = loop->x + 3 * (size_t)r->vertex[i];
        sn_vec3 to = sn_at(loop->x, r->vertex[p->anchor[i]]);
        sinew_closest eye;
        if (p->shell[i]) to = sn_at(x, 0);
        if (p->shell[i] && loop->c->eye && sinew_query_closest(loop->c->eye, x, INFINITY, &eye))
            to = sn_add_scaled(sn_at(eye.point, 0), LEFT, sn_sub(sn_at(x, 0), sn_at(eye.point, 0)));
        sn_put(loop->way, r->vertex[i], to);
    }
}

sinew_status sn_carry_give_way(sn_carry *c, const double *x, double *way, sinew_error *error) {
    if (c->eye) SN_TRY(sinew_query_move(c->eye, x, error));
    sn_parallel_for(c->plan->riders->count, 16, give_way, &(give_way_loop){c, x, way});
    return SINEW_OK;
}
