#include "force/press.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"

enum { ROUNDS = 4, SWEEPS = 60, MOST_PRESSED = 4096 };
/* A sweep that changes no vertex by more than this fraction of the gap is the last. */
#define SWEEP_STOP 0.2
/* Fraction of the diagonal by which skin may yield inwards; cosine with the skin's normal above
 * which the nearest way out of an obstacle leads to the side. */
#define INWARDS  0.05
#define SIDEWAYS 0.2
/* Steps of the search along the way inwards; last rounds over triangles. */
enum { INWARD_STEPS = 64, LAST_ROUNDS = 32 };

typedef struct touch {
    int vertex, slot, obstacle;
    sn_vec3 normal; /* out of the obstacle, seen from the head */
    double depth;   /* normal . goal >= depth */
    sn_vec3 stick;  /* where the surface has carried the vertex to, where it stuck before */
    bool sticks;
    sn_vec3 force;
} touch;

/* What a vertex that was pressed in the last frame held on to. */
typedef struct grip {
    int vertex, obstacle;
    sn_obstacle_anchor anchor;
} grip;

struct sn_press {
    const sn_skin *skin;
    const sinew_mesh *mesh;
    const sn_cholesky *factor;
    sn_cholesky_work *solver;
    sn_inverse_block *block;
    double gap;
    touch *touches;
    size_t count, capacity;
    grip *grips;
    size_t grip_count, grip_capacity;
    int *place;      /* per vertex: its touch, or -1 */
    int *asked;      /* vertices to add to the block */
    double *goal;    /* x* */
    double *normals; /* 3 per vertex: out of the skin, at x* */
    float *right;
};

sinew_status sn_press_create(const sn_skin *skin, const sinew_mesh *mesh, const sn_cholesky *factor,
                             double gap, sn_press **press, sinew_error *error) {
    *press = NULL;
    sn_press *p = SN_NEW0(sn_press, 1);
    if (!p) return sn_no_memory(error);
    size_t n = (size_t)skin->vertex_count;
    p->skin = skin, p->mesh = mesh, p->factor = factor, p->gap = gap;
    p->place = SN_NEW(int, n), p->asked = SN_NEW(int, n);
    p->goal = SN_NEW(double, 3 * n), p->right = SN_NEW(float, 3 * n);
    p->normals = SN_NEW(double, 3 * n);
    sinew_status status =
        p->place && p->asked && p->goal && p->right && p->normals ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, 3, &p->solver, error);
    if (status == SINEW_OK)
        status = sn_inverse_block_create(factor, MOST_PRESSED, &p->block, error);
    if (status != SINEW_OK)
        sn_press_destroy(p);
    else
        *press = p;
    return status;
}

void sn_press_destroy(sn_press *p) {
    if (!p) return;
    sn_cholesky_work_destroy(p->solver);
    sn_inverse_block_destroy(p->block);
    sn_free(p->touches), sn_free(p->grips), sn_free(p->place), sn_free(p->asked);
    sn_free(p->goal), sn_free(p->right), sn_free(p->normals);
    sn_free(p);
}

void sn_press_reset(sn_press *p) {
    p->grip_count = 0;
}

void sn_press_pack(const sn_press *p, sn_pack *pack) {
    sn_pack_int(pack, (int)p->grip_count);
    sn_pack_array(pack, p->grips, p->grip_count, sizeof(grip));
}

void sn_press_unpack(sn_press *p, sn_unpack *unpack) {
    int count = sn_unpack_int(unpack);
    p->grip_count = 0;
    if (count < 0) unpack->failed = true;
    if (unpack->failed) return;
    /* Not after a frame that failed: what was packed had room. */
    if (!SN_RESERVE(p->grips, p->grip_capacity, (size_t)count)) {
        unpack->failed = unpack->starved = true;
        return;
    }
    sn_unpack_into(unpack, p->grips, (size_t)count, sizeof(grip));
    if (!unpack->failed) p->grip_count = (size_t)count;
}

/* ---- who touches ----------------------------------------------------------------------------- */

typedef struct place_in_space {
    sn_mat3 turn, back;
    sn_vec3 shift;
} place_in_space;

static sn_vec3 outward(const place_in_space *s, sn_vec3 p) {
    return sn_add(sn_mat3_apply(s->turn, p), s->shift);
}

/* The way out of an obstacle for a point of the skin, whose nearest one is `out`. Of a thin blade
 * that is to the side, and skin would be cut by it; of a ball whose center has passed the skin it
 * leads to the wrong side of the ball. Then the skin yields inwards, as far as INWARDS of the
 * diagonal. `distance` is minus the depth and becomes that of the way taken. */
static sn_vec3 way_out(const sn_press *p, const sinew_obstacle *obstacle, sn_vec3 here,
                       sn_vec3 normal, sn_vec3 out, double *distance) {
    double length = sn_length(normal), far = 0, most = INWARDS * p->skin->diagonal;
    if (!(*distance < 0) || !(length > 0) || sn_dot(out, normal) < -SIDEWAYS * length) return out;
    sn_vec3 in = sn_scale(-1 / length, normal), ignored;
    for (int k = 0; k < INWARD_STEPS && far < most; k++) {
        double d = sn_obstacle_query(obstacle, sn_add_scaled(here, far, in), p->gap, &ignored);
        if (d >= 0) break;
        far += fmax(-d, 0.5 * p->gap);
    }
    if (!(far < most)) return out;
    *distance = -far;
    return in;
}

/* The touch of a vertex, known or new; NULL: no room. *status tells why. */
static touch *touch_of(sn_press *p, int v, sinew_status *status, sinew_error *error) {
    if (p->place[v] >= 0) return &p->touches[p->place[v]];
    if (p->count >= MOST_PRESSED) return NULL;
    if (!SN_RESERVE(p->touches, p->capacity, p->count + 1)) {
        *status = sn_no_memory(error);
        return NULL;
    }
    p->place[v] = (int)p->count;
    p->touches[p->count] = (touch){.vertex = v, .depth = -INFINITY};
    return &p->touches[p->count++];
}

/* Adds the vertices that lie inside an obstacle at x, and renews the planes of those known. */
static sinew_status touch_vertices(sn_press *p, int count, const sinew_obstacle *const *obstacles,
                                   const place_in_space *space, const double *x, int *found,
                                   sinew_error *error) {
    for (int v = 0; v < p->skin->vertex_count; v++) {
        if (p->skin->fixed[v]) continue;
        double deepest = p->gap;
        int which = -1;
        sn_vec3 normal = {0, 0, 0}, here = outward(space, sn_at(x, v));
        for (int o = 0; o < count; o++) {
            sn_vec3 out;
            double distance = sn_obstacle_query(obstacles[o], here, p->gap, &out);
            if (distance < deepest) deepest = distance, which = o, normal = out;
        }
        if (which < 0) continue;
        sinew_status status = SINEW_OK;
        touch *t = touch_of(p, v, &status, error);
        if (status != SINEW_OK) return status;
        if (!t) continue;
        sn_vec3 skin = sn_mat3_apply(space->turn, sn_at(p->normals, v));
        normal = way_out(p, obstacles[which], here, skin, normal, &deepest);
        t->obstacle = which, t->normal = sn_mat3_apply(space->back, normal);
        t->depth = sn_dot(t->normal, sn_at(x, v)) + p->gap - deepest;
        *found += deepest < 0.5 * p->gap;
    }
    return SINEW_OK;
}

/* A triangle that an obstacle has entered: where, how deep, and the way out in space. */
typedef struct dent {
    int obstacle;
    sn_deepest at;
} dent;

/* False: no obstacle is inside. */
static bool find_dent(const sn_press *p, const int v[3], int count,
                      const sinew_obstacle *const *obstacles, const place_in_space *space,
                      const double *x, dent *d) {
    sn_vec3 corner[3], middle = {0, 0, 0}, ignored;
    double radius = 0;
    for (int c = 0; c < 3; c++) {
        corner[c] = outward(space, sn_at(x, v[c]));
        middle = sn_add_scaled(middle, 1.0 / 3, corner[c]);
    }
    for (int c = 0; c < 3; c++) radius = fmax(radius, sn_distance(middle, corner[c]));
    d->obstacle = -1, d->at.distance = 0;
    for (int o = 0; o < count; o++) {
        sn_deepest at;
        if (sn_obstacle_query(obstacles[o], middle, radius, &ignored) > radius) continue;
        if (!sn_obstacle_deepest(obstacles[o], corner, 0, 0.1 * p->gap, &at)) continue;
        if (at.distance < d->at.distance) d->obstacle = o, d->at = at;
    }
    if (d->obstacle < 0) return false;
    sn_vec3 skin = sn_cross(sn_sub(corner[1], corner[0]), sn_sub(corner[2], corner[0]));
    d->at.normal = way_out(p, obstacles[d->obstacle], sn_triangle_point(corner, d->at.b), skin,
                           d->at.normal, &d->at.distance);
    return true;
}

/* How far each corner goes so that the point b moves by `need`, the least in squares. */
static double lift_of(const sn_deepest *at, int c, double need) {
    return need * at->b[c] / (at->b[0] * at->b[0] + at->b[1] * at->b[1] + at->b[2] * at->b[2]);
}

/* Edges and corners of an obstacle that lie inside triangles whose corners are free: the corners
 * are asked to make room. */
static sinew_status touch_triangles(sn_press *p, int count, const sinew_obstacle *const *obstacles,
                                    const place_in_space *space, const double *x, int *found,
                                    sinew_error *error) {
    for (int i = 0; i < p->mesh->triangle_count; i++) {
        const int *v = p->mesh->triangles + 3 * (size_t)i;
        dent d;
        if (!find_dent(p, v, count, obstacles, space, x, &d)) continue;
        sn_vec3 normal = sn_mat3_apply(space->back, d.at.normal);
        for (int c = 0; c < 3; c++) {
            double lift = lift_of(&d.at, c, p->gap - d.at.distance);
            sinew_status status = SINEW_OK;
            if (p->skin->fixed[v[c]] || !(lift > 0)) continue;
            bool known = p->place[v[c]] >= 0;
            touch *t = touch_of(p, v[c], &status, error);
            if (status != SINEW_OK) return status;
            if (!t) continue;
            if (!known) t->obstacle = d.obstacle, t->normal = normal;
            double along = sn_dot(t->normal, normal);
            t->depth = fmax(t->depth, sn_dot(t->normal, sn_at(x, v[c])) + fmax(along, 0) * lift);
        }
        *found += d.at.distance < -0.5 * p->gap;
    }
    return SINEW_OK;
}

static sinew_status find_touches(sn_press *p, int count, const sinew_obstacle *const *obstacles,
                                 const place_in_space *space, const double *x, int *found,
                                 sinew_error *error) {
    *found = 0;
    SN_TRY(touch_vertices(p, count, obstacles, space, x, found, error));
    return touch_triangles(p, count, obstacles, space, x, found, error);
}

/* What vertices that were pressed before are carried to by what they held on to. */
static void find_grips(sn_press *p, int count, const sinew_obstacle *const *obstacles,
                       const place_in_space *space) {
    for (size_t g = 0; g < p->grip_count; g++) {
        const grip *held = &p->grips[g];
        if (held->obstacle >= count || p->place[held->vertex] < 0) continue;
        touch *t = &p->touches[p->place[held->vertex]];
        if (t->obstacle != held->obstacle) continue;
        sn_vec3 there = sn_obstacle_carry(obstacles[held->obstacle], &held->anchor);
        t->stick = sn_mat3_apply(space->back, sn_sub(there, space->shift));
        t->sticks = true;
    }
}

static sinew_status renew_grips(sn_press *p, const sinew_obstacle *const *obstacles,
                                const place_in_space *space, const double *x, sinew_error *error) {
    p->grip_count = 0;
    if (!SN_RESERVE(p->grips, p->grip_capacity, p->count + 1)) return sn_no_memory(error);
    for (size_t i = 0; i < p->count; i++) {
        const touch *t = &p->touches[i];
        if (!(sn_dot(t->force, t->normal) > 0)) continue;
        grip *held = &p->grips[p->grip_count++];
        memset(held, 0, sizeof *held); /* saved states have no stray bytes */
        held->vertex = t->vertex, held->obstacle = t->obstacle;
        sn_obstacle_attach(obstacles[t->obstacle], outward(space, sn_at(x, t->vertex)),
                           &held->anchor);
    }
    return SINEW_OK;
}

/* ---- forces ---------------------------------------------------------------------------------- */

static sinew_status complete_block(sn_press *p, sinew_error *error) {
    int count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->block->slot[p->touches[i].vertex] < 0) p->asked[count++] = p->touches[i].vertex;
    SN_TRY(sn_inverse_block_add(p->block, count, p->asked, error));
    for (size_t i = 0; i < p->count; i++) {
        p->touches[i].slot = p->block->slot[p->touches[i].vertex];
        if (p->touches[i].slot < 0) p->touches[i].force = sn_v3(0, 0, 0);
    }
    return SINEW_OK;
}

/* The force on one vertex with all others as they are; returns how far it moves the vertex. */
static double press_one(const sn_press *p, touch *t, double friction) {
    if (t->slot < 0) return 0;
    const float *row = sn_inverse_block_row(p->block, t->slot);
    double own = (double)row[t->slot];
    sn_vec3 at = sn_at(p->goal, t->vertex);
    for (size_t j = 0; j < p->count; j++)
        if (p->touches[j].slot >= 0)
            at = sn_add_scaled(at, (double)row[p->touches[j].slot], p->touches[j].force);
    /* where it would be without its own force */
    sn_vec3 alone = sn_add_scaled(at, -own, t->force);
    double outwards = fmax(0, (t->depth - sn_dot(t->normal, alone)) / own);
    sn_vec3 force = sn_scale(outwards, t->normal);
    if (t->sticks && outwards > 0 && friction > 0) {
        sn_vec3 along = sn_scale(1 / own, sn_sub(t->stick, alone));
        along = sn_add_scaled(along, -sn_dot(along, t->normal), t->normal);
        double size = sn_length(along), most = friction * outwards;
        force = sn_add_scaled(force, size > most ? most / size : 1, along);
    }
    double moved = own * sn_distance(force, t->force);
    t->force = force;
    return moved;
}

static void press_all(sn_press *p, double friction) {
    for (int k = 0; k < SWEEPS; k++) {
        double most = 0;
        for (size_t i = 0; i < p->count; i++)
            most = fmax(most, press_one(p, &p->touches[i], friction));
        if (most < SWEEP_STOP * p->gap) break;
    }
}

static void displace(sn_press *p, double *x) {
    size_t n = 3 * (size_t)p->skin->vertex_count;
    memset(p->right, 0, n * sizeof(float));
    for (size_t i = 0; i < p->count; i++) {
        float *f = p->right + 3 * (size_t)p->touches[i].vertex;
        f[0] = (float)p->touches[i].force.x, f[1] = (float)p->touches[i].force.y;
        f[2] = (float)p->touches[i].force.z;
    }
    sn_cholesky_solve_f32(p->factor, p->solver, 3, p->right, p->right);
    for (size_t i = 0; i < n; i++) x[i] = p->goal[i] + (double)p->right[i];
}

/* What the planes left inside a curved obstacle goes to its surface: vertices, then triangles. */
static void put_outside(const sn_press *p, int count, const sinew_obstacle *const *obstacles,
                        const place_in_space *space, double *x) {
    for (int v = 0; v < p->skin->vertex_count; v++)
        for (int o = 0; !p->skin->fixed[v] && o < count; o++) {
            sn_vec3 out, here = outward(space, sn_at(x, v));
            double distance = sn_obstacle_query(obstacles[o], here, p->gap, &out);
            if (!(distance < 0)) continue;
            sn_vec3 skin = sn_mat3_apply(space->turn, sn_at(p->normals, v));
            out = way_out(p, obstacles[o], here, skin, out, &distance);
            sn_put(x, v, sn_add_scaled(sn_at(x, v), -distance, sn_mat3_apply(space->back, out)));
        }
    for (int round = 0; round < LAST_ROUNDS; round++) {
        bool any = false;
        for (int i = 0; i < p->mesh->triangle_count; i++) {
            const int *v = p->mesh->triangles + 3 * (size_t)i;
            dent d;
            if (!find_dent(p, v, count, obstacles, space, x, &d)) continue;
            sn_vec3 out = sn_mat3_apply(space->back, d.at.normal);
            for (int c = 0; c < 3; c++) {
                if (p->skin->fixed[v[c]]) continue;
                double lift = lift_of(&d.at, c, 0.1 * p->gap - d.at.distance);
                sn_put(x, v[c], sn_add_scaled(sn_at(x, v[c]), lift, out));
            }
            any = true;
        }
        if (!any) break;
    }
}

static void find_normals(sn_press *p) {
    memset(p->normals, 0, 3 * sizeof(double) * (size_t)p->skin->vertex_count);
    for (int i = 0; i < p->mesh->triangle_count; i++) {
        const int *v = p->mesh->triangles + 3 * (size_t)i;
        sn_vec3 a = sn_at(p->goal, v[0]);
        sn_vec3 n = sn_cross(sn_sub(sn_at(p->goal, v[1]), a), sn_sub(sn_at(p->goal, v[2]), a));
        for (int c = 0; c < 3; c++) sn_put(p->normals, v[c], sn_add(sn_at(p->normals, v[c]), n));
    }
}

sinew_status sn_press_solve(sn_press *p, int obstacle_count, const sinew_obstacle *const *obstacles,
                            const sinew_rigid *head, double friction, double *x, int *pressed,
                            sinew_error *error) {
    int n = p->skin->vertex_count;
    place_in_space space = {.shift = sn_at(head->translation, 0)};
    memcpy(&space.turn, head->rotation, sizeof space.turn);
    space.back = sn_mat3_transpose(space.turn);
    memcpy(p->goal, x, 3 * sizeof(double) * (size_t)n);
    find_normals(p);
    for (int v = 0; v < n; v++) p->place[v] = -1;
    p->count = 0;
    /* the block's bits depend on who came first: each frame begins anew */
    for (int k = 0; k < p->block->count; k++) p->block->slot[p->block->unknown[k]] = -1;
    p->block->count = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int found;
        SN_TRY(find_touches(p, obstacle_count, obstacles, &space, x, &found, error));
        if (found == 0) break;
        find_grips(p, obstacle_count, obstacles, &space);
        SN_TRY(complete_block(p, error));
        press_all(p, friction);
        displace(p, x);
    }
    put_outside(p, obstacle_count, obstacles, &space, x);
    *pressed = 0;
    for (size_t i = 0; i < p->count; i++)
        *pressed += sn_dot(p->touches[i].force, p->touches[i].normal) > 0;
    return renew_grips(p, obstacles, &space, x, error);
}
