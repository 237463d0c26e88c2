/* Based on: Newmark 1959 (average acceleration); soft tissue as damped oscillators about an
 * animation, as in secondary motion of faces. We differ in: one constant system for the whole skin,
 * softness from the regions of the face, and gravity that counts from the modelled pose. */
#include "force/flesh.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"
#include "base/vec3.h"
#include "rig/rigid.h"

/* Flesh softer than this moves; less is bone. */
#define LEAST_SOFTNESS 0.01
/* Longest displacement, fraction of the diagonal: however hard the landing, a cheek stays on its
 * face.
 */
#define MOST 0.04

struct sn_flesh {
    const sn_skin *skin;
    bool *held;
    double h, drag; /* seconds; 2 z w */
    sn_vec3 gravity;
    sn_cholesky *step, *still; /* K + 2 C / h + 4 M / h^2, and K */
};

struct sn_flesh_state {
    bool started;
    double *q, *v, *a;     /* displacement, velocity, acceleration */
    double *last, *before; /* paths of the neutral through space, one and two frames ago */
    double *push, *right;  /* accelerations of the frame; right-hand side */
    sn_cholesky_work *step, *still;
};

static sinew_status make_factor(const sn_skin *skin, const bool *held, const double *softness,
                                double stiffness, double spread, double added, sn_cholesky **factor,
                                sinew_error *error) {
    int n = skin->vertex_count;
    sn_triplets t = {0};
    sn_sparse *matrix = NULL;
    size_t expected = (size_t)n + 3 * (size_t)skin->edge_count;
    SN_TRY(sn_triplets_create(n, n, expected, &t, error));
    bool room = true;
    for (int v = 0; v < n; v++) {
        double own = held[v] ? 1 : skin->area[v] * (stiffness / softness[v] + added);
        room = room && sn_triplets_add(&t, v, v, own);
    }
    for (int e = 0; e < skin->edge_count; e++) {
        int i = skin->edges[2 * (size_t)e], j = skin->edges[2 * (size_t)e + 1];
        double k = stiffness * spread * skin->weight[e];
        if (!held[i]) room = room && sn_triplets_add(&t, i, i, k);
        if (!held[j]) room = room && sn_triplets_add(&t, j, j, k);
        if (!held[i] && !held[j]) room = room && sn_triplets_add(&t, j, i, -k);
    }
    sinew_status status =
        room ? sn_sparse_from_triplets(&t, true, &matrix, error) : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_cholesky_create(matrix, factor, error);
    sn_triplets_free(&t);
    sn_sparse_destroy(matrix);
    return status;
}

sinew_status sn_flesh_create(const sn_skin *skin, const double *softness,
                             const sinew_force_options *o, sn_flesh **flesh, sinew_error *error) {
    *flesh = NULL;
    sn_flesh *f = SN_NEW0(sn_flesh, 1);
    if (!f) return sn_no_memory(error);
    f->skin = skin, f->h = o->frame_time, f->gravity = sn_at(o->gravity, 0);
    f->held = SN_NEW(bool, skin->vertex_count);
    double w = 2 * 3.14159265358979 * o->flesh_frequency, stiffness = w * w;
    f->drag = 2 * o->flesh_damping * w;
    double length = o->flesh_length * skin->diagonal, spread = length * length / skin->mean_area;
    sinew_status status = f->held ? SINEW_OK : sn_no_memory(error);
    for (int v = 0; status == SINEW_OK && v < skin->vertex_count; v++)
        f->held[v] = skin->fixed[v] || !(softness[v] > LEAST_SOFTNESS);
    if (status == SINEW_OK)
        status = make_factor(skin, f->held, softness, stiffness, spread,
                             2 / f->h * f->drag + 4 / (f->h * f->h), &f->step, error);
    if (status == SINEW_OK)
        status = make_factor(skin, f->held, softness, stiffness, spread, 0, &f->still, error);
    if (status != SINEW_OK)
        sn_flesh_destroy(f);
    else
        *flesh = f;
    return status;
}

void sn_flesh_destroy(sn_flesh *f) {
    if (!f) return;
    sn_cholesky_destroy(f->step), sn_cholesky_destroy(f->still);
    sn_free(f->held);
    sn_free(f);
}

sinew_status sn_flesh_state_create(const sn_flesh *flesh, sn_flesh_state **state,
                                   sinew_error *error) {
    *state = NULL;
    size_t n = 3 * (size_t)flesh->skin->vertex_count;
    sn_flesh_state *s = SN_NEW0(sn_flesh_state, 1);
    if (!s) return sn_no_memory(error);
    s->q = SN_NEW0(double, 7 * n);
    sinew_status status = s->q ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        s->v = s->q + n, s->a = s->v + n, s->last = s->a + n, s->before = s->last + n;
        s->push = s->before + n, s->right = s->push + n;
        status = sn_cholesky_work_create(flesh->step, 3, &s->step, error);
    }
    if (status == SINEW_OK) status = sn_cholesky_work_create(flesh->still, 3, &s->still, error);
    if (status != SINEW_OK)
        sn_flesh_state_destroy(s);
    else
        *state = s;
    return status;
}

void sn_flesh_state_destroy(sn_flesh_state *s) {
    if (!s) return;
    sn_cholesky_work_destroy(s->step), sn_cholesky_work_destroy(s->still);
    sn_free(s->q);
    sn_free(s);
}

void sn_flesh_reset(sn_flesh_state *s) {
    s->started = false;
}

void sn_flesh_pack(const sn_flesh *flesh, const sn_flesh_state *s, sn_pack *pack) {
    sn_pack_int(pack, s->started);
    sn_pack_array(pack, s->q, 5 * 3 * (size_t)flesh->skin->vertex_count, sizeof(double));
}

void sn_flesh_unpack(const sn_flesh *flesh, sn_flesh_state *s, sn_unpack *unpack) {
    s->started = sn_unpack_int(unpack) != 0;
    sn_unpack_into(unpack, s->q, 5 * 3 * (size_t)flesh->skin->vertex_count, sizeof(double));
}

/* push := a of every vertex; the paths move on by a frame. */
static void find_push(const sn_flesh *f, sn_flesh_state *s, const sinew_rigid *head) {
    const sn_skin *skin = f->skin;
    sn_mat3 turn, back;
    memcpy(&turn, head->rotation, sizeof turn);
    back = sn_mat3_transpose(turn);
    sn_vec3 lean = sn_sub(sn_mat3_apply(back, f->gravity), f->gravity);
    double rate = 1 / (f->h * f->h);
    for (int v = 0; v < skin->vertex_count; v++) {
        sn_vec3 now =
            sn_add(sn_mat3_apply(turn, sn_at(skin->rest, v)), sn_at(head->translation, 0));
        sn_vec3 last = s->started ? sn_at(s->last, v) : now;
        sn_vec3 before = s->started ? sn_at(s->before, v) : now;
        sn_vec3 second = sn_add(sn_sub(now, sn_scale(2, last)), before);
        sn_put(s->push, v, sn_add_scaled(lean, -rate, sn_mat3_apply(back, second)));
        sn_put(s->before, v, last);
        sn_put(s->last, v, now);
    }
}

/* K^ q = M a + M (4/h^2 q0 + 4/h v0 + a0) + C (2/h q0 + v0), C = drag M. */
static void step(const sn_flesh *f, sn_flesh_state *s) {
    const sn_skin *skin = f->skin;
    double h = f->h;
    for (int i = 0; i < 3 * skin->vertex_count; i++) {
        double inert = 4 / (h * h) * s->q[i] + 4 / h * s->v[i] + s->a[i];
        double drag = f->drag * (2 / h * s->q[i] + s->v[i]);
        s->right[i] = f->held[i / 3] ? 0 : skin->area[i / 3] * (s->push[i] + inert + drag);
    }
    sn_cholesky_solve(f->step, s->step, 3, s->right, s->right);
    for (int i = 0; i < 3 * skin->vertex_count; i++) {
        double velocity = 2 / h * (s->right[i] - s->q[i]) - s->v[i];
        s->a[i] = 2 / h * (velocity - s->v[i]) - s->a[i];
        s->q[i] = s->right[i], s->v[i] = velocity;
    }
}

static void settle(const sn_flesh *f, sn_flesh_state *s) {
    const sn_skin *skin = f->skin;
    size_t bytes = 3 * sizeof(double) * (size_t)skin->vertex_count;
    for (int i = 0; i < 3 * skin->vertex_count; i++)
        s->right[i] = f->held[i / 3] ? 0 : skin->area[i / 3] * s->push[i];
    sn_cholesky_solve(f->still, s->still, 3, s->right, s->q);
    memset(s->v, 0, bytes), memset(s->a, 0, bytes);
}

void sn_flesh_step(const sn_flesh *f, sn_flesh_state *s, const sinew_rigid *head,
                   double *displacement) {
    find_push(f, s, head);
    if (s->started)
        step(f, s);
    else
        settle(f, s);
    s->started = true;
    double most = MOST * f->skin->diagonal;
    for (int v = 0; v < f->skin->vertex_count; v++) {
        sn_vec3 q = sn_at(s->q, v);
        double size = sn_length(q) / most;
        sn_put(displacement, v,
               sn_add_scaled(sn_at(displacement, v), 1 / sqrt(1 + size * size), q));
    }
}
