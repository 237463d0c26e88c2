#include "force/press.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"

enum { ROUNDS = 4, SWEEPS = 60, MOST_PRESSED = 4096 };
/* A sweep that changes no vertex by more than this share of the gap is the last. */
#define SWEEP_STOP 0.2

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
    const sn_cholesky *factor;
    sn_cholesky_work *solver;
    sn_inverse_block *block;
    double gap;
    touch *touches;
    size_t count, capacity;
    grip *grips;
    size_t grip_count, grip_capacity;
    int *place;   /* per vertex: its touch, or -1 */
    int *asked;   /* vertices to add to the block */
    double *goal; /* x* */
    float *right;
};

sinew_status sn_press_create(const sn_skin *skin, const sn_cholesky *factor, double gap,
                             sn_press **press, sinew_error *error) {
    *press = NULL;
    sn_press *p = SN_NEW0(sn_press, 1);
    if (!p) return sn_no_memory(error);
    size_t n = (size_t)skin->vertex_count;
    p->skin = skin, p->factor = factor, p->gap = gap;
    p->place = SN_NEW(int, n), p->asked = SN_NEW(int, n);
    p->goal = SN_NEW(double, 3 * n), p->right = SN_NEW(float, 3 * n);
    sinew_status status =
        p->place && p->asked && p->goal && p->right ? SINEW_OK : sn_no_memory(error);
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
    sn_free(p->goal), sn_free(p->right);
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
    if (count < 0 || !SN_RESERVE(p->grips, p->grip_capacity, (size_t)count + 1)) {
        unpack->failed = true;
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

/* Adds the vertices that lie inside an obstacle at x, and renews the planes of those known. */
static sinew_status find_touches(sn_press *p, int count, const sinew_obstacle *const *obstacles,
                                 const place_in_space *space, const double *x, int *found,
                                 sinew_error *error) {
    *found = 0;
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
        bool known = p->place[v] >= 0;
        if (which < 0) continue;
        if (!known && p->count >= MOST_PRESSED) continue;
        if (!known && !SN_RESERVE(p->touches, p->capacity, p->count + 1))
            return sn_no_memory(error);
        if (!known) {
            p->place[v] = (int)p->count;
            p->touches[p->count++] = (touch){.vertex = v};
        }
        touch *t = &p->touches[p->place[v]];
        t->obstacle = which, t->normal = sn_mat3_apply(space->back, normal);
        t->depth = sn_dot(t->normal, sn_at(x, v)) + p->gap - deepest;
        *found += deepest < 0.5 * p->gap;
    }
    return SINEW_OK;
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

/* What the planes left inside a curved obstacle goes to its surface. */
static void put_outside(const sn_press *p, int count, const sinew_obstacle *const *obstacles,
                        const place_in_space *space, double *x) {
    for (int v = 0; v < p->skin->vertex_count; v++)
        for (int o = 0; !p->skin->fixed[v] && o < count; o++) {
            sn_vec3 out;
            double distance =
                sn_obstacle_query(obstacles[o], outward(space, sn_at(x, v)), p->gap, &out);
            if (distance < 0)
                sn_put(x, v,
                       sn_add_scaled(sn_at(x, v), -distance, sn_mat3_apply(space->back, out)));
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
