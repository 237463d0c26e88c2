/* Based on: contact as a quadratic program in the inverse of the system matrix (Delassus operator);
 * projected Gauss-Seidel sweeps, sped up as a nonsmooth conjugate gradient method
 * (Silcowitz-Hansen, Niebe and Erleben 2010). We differ in: no factorization changes; N^-1 is kept
 * at the vertices that touch (for a region at all of them, beforehand); the pairs that pressed in
 * the last frame are the first guess; and what the linearised contacts leave is cut back by
 * continuous tests.
 *
 *   min 1/2 (x - x*)^T N (x - x*)   with   c_p . x >= gap_p for the pairs p that would come too
 * near x = x* + N^-1 C^T l,   0 <= l  _|_  C x* - gap + W l >= 0,   W = C N^-1 C^T
 *
 * N is one n x n matrix G^-1 for all three coordinates, so W_pq = sum_ij (c_p,i . c_q,j) G_ij. A
 * pair is c_p,i = weight_i normal at its four vertices, so with the rows g_p = sum_i weight_i G_i
 * it is W_pq = (normal_p . normal_q) sum_j weight_j g_p,j: four reads per entry. */
#include "force/contact.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"
#include "force/contact_release.h"
#include "force/contact_state.h"

/* Of the gap: what pairs may be short of it; and the change of a distance in one sweep at which the
 * sweeps stop: the worst pair then lacks less than a tenth, most a hundredth. */
#define NEAR_ENOUGH 0.5
#define SWEEP_STOP  0.05
/* Of the gap: pairs farther apart by this are idle; how often they are looked at, in sweeps. */
#define IDLE 5
enum { SWEEPS_BETWEEN = 8 };
/* Numbers of a vector; pairs of one block of the matrix, two vectors. */
enum { LANES = 8, BLOCK = 16 };
/* Pairs whose columns of the matrix are filled together, a multiple of BLOCK. */
enum { BAND = 64 };
/* Pairs that press at the same time: the matrix of their forces has 256 MB then. What comes near
 * beyond them has no force, and the guarantee alone takes care of it. */
enum { MOST_TOUCHES = 8192 };
/* Vertices that are displaced together, and pushes that displace them at a time. */
enum { STRETCH = 256, PUSHES = 4 };

sinew_status sn_force_contact_create(const sn_contact_surface *surface, const sn_skin *skin,
                                     const sn_cholesky *factor, sn_inverse_block *region,
                                     sn_force_contact **contact, sinew_error *error) {
    *contact = NULL;
    sn_force_contact *c = SN_NEW0(sn_force_contact, 1);
    if (!c) return sn_no_memory(error);
    c->surface = surface, c->skin = skin, c->factor = factor, c->block = region;
    c->times[1] = 1;
    size_t n = (size_t)surface->vertex_count;
    c->right = SN_NEW(float, 3 * n), c->goal = SN_NEW(double, 3 * n);
    c->at = SN_NEW(double, 3 * n), c->next = SN_NEW(double, 3 * n);
    c->stack = SN_NEW(int, n), c->unstuck = SN_NEW(double, 3 * n);
    sinew_status status = c->right && c->goal && c->at && c->next && c->stack && c->unstuck
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK && region) {
        c->moved = SN_NEW(float, 3 * (size_t)region->count);
        c->push = SN_NEW(float, 3 * (size_t)region->count);
        c->pushed = SN_NEW(int, (size_t)region->count);
        if (!c->moved || !c->push || !c->pushed) status = sn_no_memory(error);
    }
    if (status == SINEW_OK && !region) {
        status = sn_inverse_block_create(factor, surface->point_count, &c->own, error);
        c->block = c->own;
    }
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, 3, &c->solver, error);
    if (status == SINEW_OK) status = sn_contact_work_create(surface, &c->work, error);
    if (status != SINEW_OK) {
        sn_force_contact_destroy(c);
        return status;
    }
    *contact = c;
    return SINEW_OK;
}

static void free_rows(sn_touch_rows *r) {
    sn_free(r->slot), sn_free(r->weight), sn_free(r->before), sn_free(r->direction);
    sn_free(r->idle), sn_free(r->low), sn_free_aligned(r->normal);
    sn_free_aligned(r->needed), sn_free_aligned(r->force), sn_free_aligned(r->matrix);
    *r = (sn_touch_rows){0};
}

void sn_force_contact_destroy(sn_force_contact *c) {
    if (!c) return;
    sn_inverse_block_destroy(c->own);
    free_rows(&c->rows);
    sn_free(c->right), sn_free(c->goal), sn_free(c->at), sn_free(c->next), sn_free(c->moved),
        sn_free(c->push), sn_free(c->pushed);
    sn_free_aligned(c->band), sn_free(c->coupled), sn_free(c->asked), sn_free(c->touches),
        sn_free(c->nears), sn_free(c->bucket), sn_free(c->stack), sn_free(c->unstuck);
    sn_cholesky_work_destroy(c->solver);
    sn_contact_work_destroy(c->work);
    sn_free(c);
}

void sn_force_contact_set_stick(sn_force_contact *c, double length) {
    c->stick = length;
}

void sn_force_contact_set_most(sn_force_contact *c, int most) {
    c->most = (size_t)most;
}

void sn_force_contact_set_path(sn_force_contact *c, const double *path, double from, double to,
                               double most) {
    c->path = path, c->most_slip = most;
    c->times[0] = path ? from : 0, c->times[1] = path ? to : 1;
    sn_contact_set_course(c->work, path, 1);
}

void sn_force_contact_reset(sn_force_contact *c) {
    c->touch_count = 0;
    sn_force_contact_shrink(c, 0);
}

/* ---- the past -------------------------------------------------------------------------------- */

/* The next frame needs the pair: it presses again, or sticks. */
static bool lasts(const sn_touch *t) {
    return t->force != 0 || t->sticks;
}

void sn_force_contact_pack(const sn_force_contact *c, sn_pack *pack) {
    int kept = 0;
    for (size_t t = 0; t < c->touch_count; t++) kept += lasts(&c->touches[t]);
    sn_pack_int(pack, kept);
    for (size_t t = 0; t < c->touch_count; t++)
        if (lasts(&c->touches[t])) sn_pack_array(pack, &c->touches[t], 1, sizeof(sn_touch));
}

sinew_status sn_force_contact_unpack(sn_force_contact *c, sn_unpack *unpack, sinew_error *error) {
    int count = sn_unpack_int(unpack);
    if (count < 0) unpack->failed = true;
    if (unpack->failed) return sn_unpack_fail(unpack, error);
    if (!SN_RESERVE(c->touches, c->touch_capacity, (size_t)count)) return sn_no_memory(error);
    for (int t = 0; t < count; t++) sn_unpack_into(unpack, &c->touches[t], 1, sizeof(sn_touch));
    c->touch_count = unpack->failed ? 0 : (size_t)count;
    return SINEW_OK;
}

int sn_force_contact_block(const sn_force_contact *c) {
    return c->own ? c->own->count : 0;
}

void sn_force_contact_shrink(sn_force_contact *c, int size) {
    for (int k = size; c->own && k < c->own->count; k++) c->own->slot[c->own->unknown[k]] = -1;
    if (c->own && size < c->own->count) c->own->count = size;
}

void sn_force_contact_pack_block(const sn_force_contact *c, sn_pack *pack) {
    int count = sn_force_contact_block(c);
    sn_pack_int(pack, count);
    if (count > 0) sn_pack_array(pack, c->own->unknown, (size_t)count, sizeof(int));
    for (int i = 0; i < count; i++)
        sn_pack_array(pack, sn_inverse_block_row(c->own, i), (size_t)count, sizeof(float));
}

sinew_status sn_force_contact_unpack_block(sn_force_contact *c, sn_unpack *unpack,
                                           sinew_error *error) {
    int count = sn_unpack_int(unpack);
    sn_force_contact_shrink(c, 0);
    if (unpack->failed || count <= 0 || !c->own) return SINEW_OK;
    int *unknowns = sn_unpack_array(unpack, (size_t)count, sizeof(int));
    for (int i = 0; unknowns && i < count; i++)
        if (unknowns[i] < 0 || unknowns[i] >= c->skin->vertex_count) unpack->failed = true;
    sinew_status status = unpack->failed ? sn_unpack_fail(unpack, error)
                                         : sn_inverse_block_reserve(c->own, count, unknowns, error);
    sn_free(unknowns);
    SN_TRY(status);
    for (int i = 0; i < count; i++)
        sn_unpack_into(unpack, (float *)sn_inverse_block_row(c->own, i), (size_t)count,
                       sizeof(float));
    return SINEW_OK;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* The block gets the vertices that touch. Beyond its limit a vertex counts as held, and the
 * guarantee alone takes care of it. */
static sinew_status complete_block(sn_force_contact *c, sinew_error *error) {
    if (!c->own) return SINEW_OK;
    if (!SN_RESERVE(c->asked, c->asked_capacity, 4 * c->touch_count)) return sn_no_memory(error);
    int count = 0;
    for (size_t t = 0; t < c->touch_count; t++)
        for (int i = 0; i < 4; i++) {
            int v = c->touches[t].pair.v[i];
            if (!c->skin->fixed[v] && c->block->slot[v] < 0) c->asked[count++] = v;
        }
    return sn_inverse_block_add(c->own, count, c->asked, error);
}

static sinew_status make_rows(sn_force_contact *c, sinew_error *error) {
    sn_touch_rows *r = &c->rows;
    size_t count = c->touch_count;
    r->width = (count + BLOCK - 1) / BLOCK * BLOCK;
    if (r->width > r->capacity) {
        size_t capacity = 2 * r->width, width = r->width;
        free_rows(r);
        r->width = width;
        r->slot = SN_NEW(int, 4 * capacity), r->weight = SN_NEW(float, 4 * capacity);
        r->normal = sn_alloc_aligned(3 * capacity, sizeof(float));
        r->idle = SN_NEW(bool, capacity);
        r->needed = sn_alloc_aligned(capacity, sizeof(float));
        r->force = sn_alloc_aligned(capacity, sizeof(float));
        r->before = SN_NEW(float, capacity), r->direction = SN_NEW(float, capacity);
        r->low = SN_NEW(float, capacity);
        if (!r->slot || !r->weight || !r->normal || !r->needed || !r->force || !r->before ||
            !r->direction || !r->idle || !r->low) {
            free_rows(r);
            return sn_no_memory(error);
        }
        r->capacity = capacity;
    }
    size_t entries = r->width * r->width;
    if (entries <= r->matrix_capacity) return SINEW_OK;
    sn_free_aligned(r->matrix);
    r->matrix_capacity = 0;
    size_t most = (size_t)MOST_TOUCHES * MOST_TOUCHES;
    size_t capacity = 2 * entries < most ? 2 * entries : most;
    r->matrix = sn_alloc_aligned(capacity, sizeof(float));
    if (!r->matrix) return sn_no_memory(error);
    r->matrix_capacity = capacity;
    return SINEW_OK;
}

static void fill_rows(sn_force_contact *c) {
    sn_touch_rows *r = &c->rows;
    size_t count = c->touch_count, width = r->width;
    memset(r->needed, 0, sizeof(float) * width);
    memset(r->force, 0, sizeof(float) * width);
    memset(r->low, 0, sizeof(float) * width);
    memset(r->normal, 0, 3 * sizeof(float) * width);
    memset(r->slot, 0, 4 * sizeof(int) * width);
    memset(r->weight, 0, 4 * sizeof(float) * width);
    c->coupled[0] = true; /* what has no place reads the first one, with weight 0 */
    for (size_t p = 0; p < count; p++) {
        sn_touch *t = &c->touches[p];
        t->needed = t->gap - sn_touch_along(t, c->goal);
        if (c->pulls && t->pulls) t->needed += t->parted, r->low[p] = -INFINITY;
        r->needed[p] = (float)t->needed, r->force[p] = (float)t->force;
        if (r->low[p] == 0 && r->force[p] < 0) r->force[p] = 0; /* it has pulled */
        r->normal[p] = (float)t->normal.x, r->normal[width + p] = (float)t->normal.y;
        r->normal[2 * width + p] = (float)t->normal.z;
        for (size_t i = 0; i < 4; i++) {
            int slot = c->block->slot[t->pair.v[i]];
            if (slot < 0) continue;
            r->slot[i * width + p] = slot, r->weight[i * width + p] = (float)t->weight[i];
            c->coupled[slot / LANES] = true;
        }
    }
}

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), may_alias));

/* An 8 x 8 matrix by rows: exchanges what lies beside the diagonal of its 2 x 2, then 4 x 4 and
 * 8 x 8 blocks. */
#define ONES_1   0, 8, 2, 10, 4, 12, 6, 14
#define OTHERS_1 1, 9, 3, 11, 5, 13, 7, 15
#define ONES_2   0, 1, 8, 9, 4, 5, 12, 13
#define OTHERS_2 2, 3, 10, 11, 6, 7, 14, 15
#define ONES_4   0, 1, 2, 3, 8, 9, 10, 11
#define OTHERS_4 4, 5, 6, 7, 12, 13, 14, 15
#define EXCHANGE(m, step, ones, others)                                                            \
    for (int i = 0; i < LANES; i++)                                                                \
        if (!(i & step)) {                                                                         \
            lanes a = m[i], b = m[i + step];                                                       \
            m[i] = __builtin_shufflevector(a, b, ones);                                            \
            m[i + step] = __builtin_shufflevector(a, b, others);                                   \
        }

static inline void transpose(lanes m[LANES]) {
    EXCHANGE(m, 1, ONES_1, OTHERS_1)
    EXCHANGE(m, 2, ONES_2, OTHERS_2)
    EXCHANGE(m, 4, ONES_4, OTHERS_4)
}

/* band[slot][p] = sum_i weight_p,i G[slot_p,i][slot]: what the vertices of the block do when pair
 * first + p presses; for those blocks of them that touch anything. */
static void spread_band(const sn_force_contact *c, size_t first, size_t pairs, float *band) {
    const sn_touch_rows *r = &c->rows;
    for (size_t from = 0; from < pairs; from += LANES)
        for (size_t s = 0; s < (size_t)c->block->count; s += LANES) {
            if (!c->coupled[s / LANES]) continue;
            lanes m[LANES];
            for (size_t k = 0; k < LANES; k++) {
                size_t p = first + from + k;
                m[k] = (lanes){0};
                for (size_t i = 0; i < 4; i++) {
                    const float *row = sn_inverse_block_row(c->block, r->slot[i * r->width + p]);
                    m[k] += r->weight[i * r->width + p] * *(const lanes *)(row + s);
                }
            }
            transpose(m);
            for (size_t k = 0; k < LANES; k++) *(lanes *)(band + (s + k) * BAND + from) = m[k];
        }
}

/* What pair q does to the block of pairs that p is in. */
static inline float *entries_of(const sn_touch_rows *r, size_t q, size_t p) {
    return r->matrix + (p / BLOCK * r->width + q) * BLOCK;
}

/* Columns first .. first + BAND - 1 of W; band: room for BAND numbers per place in the block. Rows
 * that fill it up come out as zeros. */
static void fill_band(const sn_force_contact *c, size_t first, float *band) {
    const sn_touch_rows *r = &c->rows;
    size_t width = r->width, pairs = width - first < BAND ? width - first : BAND;
    const float *x = r->normal, *y = x + width, *z = y + width;
    spread_band(c, first, pairs, band);
    for (size_t q = 0; q < width; q++) {
        const float *row[4];
        float w[4];
        for (size_t i = 0; i < 4; i++) {
            row[i] = band + (size_t)r->slot[i * width + q] * BAND;
            w[i] = r->weight[i * width + q];
        }
        for (size_t k = 0; k < pairs; k += LANES) {
            size_t p = first + k;
            lanes sum = {0};
            for (int i = 0; i < 4; i++) sum += w[i] * *(const lanes *)(row[i] + k);
            lanes turn = x[q] * *(const lanes *)(x + p) + y[q] * *(const lanes *)(y + p) +
                         z[q] * *(const lanes *)(z + p);
            *(lanes *)(entries_of(r, q, p) + p % BLOCK) = sum * turn;
        }
    }
}

static sinew_status reserve_bands(sn_force_contact *c, size_t places, sinew_error *error) {
    size_t wanted = places * BAND * (size_t)sn_threads();
    if (!SN_RESERVE(c->coupled, c->coupled_capacity, places / LANES + 1))
        return sn_no_memory(error);
    memset(c->coupled, 0, places / LANES + 1);
    if (wanted <= c->band_capacity) return SINEW_OK;
    sn_free_aligned(c->band);
    c->band_capacity = 0;
    c->band = sn_alloc_aligned(wanted, sizeof(float));
    if (!c->band) return sn_no_memory(error);
    c->band_capacity = wanted;
    return SINEW_OK;
}

static size_t place_count(const sn_force_contact *c) {
    return ((size_t)c->block->count + LANES - 1) / LANES * LANES;
}

static void fill_bands(void *context, sn_span span) {
    sn_force_contact *c = context;
    float *band = c->band + BAND * place_count(c) * (size_t)span.seat;
    SN_IN_SPAN(size_t, b, span) {
        if (sn_interrupted()) atomic_store(&c->cancelled, true);
        if (atomic_load_explicit(&c->cancelled, memory_order_relaxed)) return;
        fill_band(c, b * BAND, band);
    }
}

static sinew_status fill_matrix(sn_force_contact *c, sinew_error *error) {
    SN_TRY(complete_block(c, error));
    SN_TRY(make_rows(c, error));
    size_t places = place_count(c), width = c->rows.width;
    SN_TRY(reserve_bands(c, places, error));
    fill_rows(c);
    if (places == 0) {
        memset(c->rows.matrix, 0, sizeof(float) * width * width);
        return SINEW_OK;
    }
    sn_parallel_for_seats((width + BAND - 1) / BAND, 1, (int)(c->band_capacity / (places * BAND)),
                          fill_bands, c);
    if (atomic_exchange(&c->cancelled, false)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    return SINEW_OK;
}

/* ---- the quadratic program ------------------------------------------------------------------- */

/* sums := what all pairs do to those of the block that starts with pair p, the columns of W f. Four
 * pairs at a time do not wait for one another. */
static void act_on_block(const sn_touch_rows *r, size_t p, float sums[BLOCK]) {
    const lanes *entries = (const lanes *)entries_of(r, 0, p);
    lanes part[4][2] = {{{0}}};
    for (size_t q = 0; q < r->width; q += 4)
        for (size_t k = 0; k < 4; k++, entries += 2) {
            part[k][0] += r->force[q + k] * entries[0];
            part[k][1] += r->force[q + k] * entries[1];
        }
    for (int h = 0; h < 2; h++)
        ((lanes *)sums)[h] = (part[0][h] + part[1][h]) + (part[2][h] + part[3][h]);
}

/* One projected Gauss-Seidel sweep; returns the largest change of a pair's distance by its own
 * force. Pairs that were well apart without one are passed over, unless all are asked for. A block
 * of pairs starts from what all forces do to it, and is kept up to date as its own change. */
static float sweep(sn_touch_rows *r, bool all, float wide) {
    float most = 0, sums[BLOCK] __attribute__((aligned(64)));
    for (size_t first = 0; first < r->width; first += BLOCK) {
        act_on_block(r, first, sums);
        for (size_t i = 0; i < BLOCK; i++) {
            size_t p = first + i;
            const float *own = entries_of(r, p, p);
            float stiffness = own[i], sum = sums[i];
            if (!(stiffness > 0) || (!all && r->idle[p])) continue;
            float better = r->force[p] + (r->needed[p] - sum) / stiffness;
            if (!(better > r->low[p])) better = r->low[p];
            float change = better - r->force[p];
            most = fmaxf(most, fabsf(change) * stiffness);
            r->force[p] = better;
            r->idle[p] = better == 0 && r->low[p] == 0 && sum - r->needed[p] > wide;
            for (int k = 0; k < BLOCK; k++) sums[k] += change * own[k];
        }
    }
    return most;
}

/* Sweeps, with the steps of the last ones added as conjugate gradients would while that helps. */
static sinew_status press(sn_force_contact *c, sinew_error *error) {
    sn_touch_rows *r = &c->rows;
    size_t count = c->touch_count;
    float stop = (float)(SWEEP_STOP * c->surface->gap);
    float wide = (float)(IDLE * c->surface->gap);
    double last = 0;
    memset(r->direction, 0, sizeof(float) * count);
    for (int k = 0; k < SN_FORCE_CONTACT_SWEEPS; k++) {
        SN_TRY(sn_check_interrupt(error));
        memcpy(r->before, r->force, sizeof(float) * count);
        bool all = k % SWEEPS_BETWEEN == 0;
        if (sweep(r, all, wide) < stop) {
            if (all) break;
            k += SWEEPS_BETWEEN - 1 - k % SWEEPS_BETWEEN; /* the others have the last word */
        }
        double now = 0;
        for (size_t p = 0; p < count; p++) {
            double step = (double)r->force[p] - (double)r->before[p];
            now += step * step * (double)entries_of(r, p, p)[p % BLOCK];
        }
        float share = last > 0 && now < last ? (float)(now / last) : 0;
        bool ends = k + 1 == SN_FORCE_CONTACT_SWEEPS;
        for (size_t p = 0; p < count; p++) {
            float step = r->force[p] - r->before[p];
            if (!ends) r->force[p] += share * r->direction[p];
            r->direction[p] = share * r->direction[p] + step;
        }
        last = now;
    }
    for (size_t p = 0; p < count; p++) {
        r->force[p] = fmaxf(r->force[p], r->low[p]);
        c->touches[p].force = (double)r->force[p];
    }
    return SINEW_OK;
}

/* ---- the shape ------------------------------------------------------------------------------- */

typedef struct displace_all_loop {
    const double *goal;
    const float *right;
    double *x;
} displace_all_loop;

static void displace_all(void *context, sn_span span) {
    const displace_all_loop *loop = context;
    const double *goal = loop->goal;
    const float *right = loop->right;
    double *x = loop->x;
    SN_IN_SPAN(size_t, i, span) x[i] = goal[i] + (double)right[i];
}

/* x = x* + N^-1 C^T l everywhere. */
static void displace(sn_force_contact *c, double *x) {
    size_t n = 3 * (size_t)c->surface->vertex_count;
    memset(c->right, 0, n * sizeof(float));
    for (size_t p = 0; p < c->touch_count; p++) {
        const sn_touch *t = &c->touches[p];
        for (int i = 0; t->force != 0 && i < 4; i++) {
            int v = t->pair.v[i];
            if (c->block->slot[v] < 0) continue;
            sn_vec3 push = sn_scale(t->weight[i] * t->force, t->normal);
            float *f = c->right + 3 * (size_t)v;
            f[0] += (float)push.x, f[1] += (float)push.y, f[2] += (float)push.z;
        }
    }
    sn_cholesky_solve_f32(c->factor, c->solver, 3, c->right, c->right);
    sn_parallel_for(n, 1024, displace_all, &(displace_all_loop){c->goal, c->right, x});
}

/* Places from .. to of a region move by the next PUSHES forces, or the few that are `left`. */
static void push_stretch(sn_force_contact *c, size_t from, size_t to, int first, int left) {
    size_t count = (size_t)c->block->count;
    const float *restrict g[PUSHES];
    float f[3][PUSHES];
    for (int k = 0; k < PUSHES; k++) {
        int place = c->pushed[first + (k < left ? k : 0)];
        g[k] = sn_inverse_block_row(c->block, place);
        for (size_t a = 0; a < 3; a++) f[a][k] = k < left ? c->push[a * count + (size_t)place] : 0;
    }
    float *restrict x = c->moved, *restrict y = x + count, *restrict z = y + count;
#pragma omp simd
    for (size_t i = from; i < to; i++) {
        x[i] += f[0][0] * g[0][i] + f[0][1] * g[1][i] + f[0][2] * g[2][i] + f[0][3] * g[3][i];
        y[i] += f[1][0] * g[0][i] + f[1][1] * g[1][i] + f[1][2] * g[2][i] + f[1][3] * g[3][i];
        z[i] += f[2][0] * g[0][i] + f[2][1] * g[1][i] + f[2][2] * g[2][i] + f[2][3] * g[3][i];
    }
}

typedef struct push_loop {
    sn_force_contact *c;
    int pushes;
} push_loop;

/* A stretch of the vertices at a time, whoever takes it: the sums are the same. */
static void push_stretches(void *context, sn_span span) {
    const push_loop *loop = context;
    for (size_t from = span.begin; from < span.end; from += STRETCH) {
        size_t to = from + STRETCH < span.end ? from + STRETCH : span.end;
        for (int k = 0; k < loop->pushes; k += PUSHES)
            push_stretch(loop->c, from, to, k, loop->pushes - k);
    }
}

/* The same at the vertices of a region alone. */
static void displace_region(sn_force_contact *c, double *x) {
    size_t count = (size_t)c->block->count;
    memset(c->push, 0, 3 * count * sizeof(float));
    memset(c->moved, 0, 3 * count * sizeof(float));
    for (size_t p = 0; p < c->touch_count; p++) {
        const sn_touch *t = &c->touches[p];
        for (int i = 0; t->force != 0 && i < 4; i++) {
            int slot = c->block->slot[t->pair.v[i]];
            if (slot < 0) continue;
            sn_vec3 push = sn_scale(t->weight[i] * t->force, t->normal);
            float *f = c->push + slot;
            f[0] += (float)push.x, f[count] += (float)push.y, f[2 * count] += (float)push.z;
        }
    }
    int pushes = 0;
    for (size_t k = 0; k < count; k++) {
        bool some = c->push[k] != 0 || c->push[count + k] != 0 || c->push[2 * count + k] != 0;
        if (some) c->pushed[pushes++] = (int)k;
    }
    sn_parallel_for_weighted(count, STRETCH, pushes, push_stretches, &(push_loop){c, pushes});
    const float *mx = c->moved, *my = mx + count, *mz = my + count;
    for (size_t k = 0; k < count; k++) {
        size_t v = 3 * (size_t)c->block->unknown[k];
        x[v] = c->goal[v] + (double)mx[k];
        x[v + 1] = c->goal[v + 1] + (double)my[k];
        x[v + 2] = c->goal[v + 2] + (double)mz[k];
    }
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static size_t hash_of(const sn_contact_pair *pair) {
    uint64_t h = pair->edges ? 0x9e3779b97f4a7c15u : 0;
    for (int i = 0; i < 4; i++) h = (h ^ (uint64_t)pair->v[i]) * 0xff51afd7ed558ccdu;
    return (size_t)(h ^ h >> 32);
}

static bool same_pair(const sn_contact_pair *a, const sn_contact_pair *b) {
    return a->edges == b->edges && !memcmp(a->v, b->v, sizeof a->v);
}

/* The bucket that holds the pair, or the free one it would go to. */
static int *bucket_of(const sn_force_contact *c, const sn_contact_pair *pair) {
    size_t mask = c->bucket_count - 1, at = hash_of(pair) & mask;
    while (c->bucket[at] && !same_pair(&c->touches[c->bucket[at] - 1].pair, pair))
        at = (at + 1) & mask;
    return &c->bucket[at];
}

static sinew_status list_buckets(sn_force_contact *c, sinew_error *error) {
    size_t count = c->bucket_count ? c->bucket_count : 1024;
    while (count < 4 * c->touch_count) count *= 2;
    if (count > c->bucket_count) {
        sn_free(c->bucket);
        c->bucket_count = 0;
        c->bucket = SN_NEW(int, count);
        if (!c->bucket) return sn_no_memory(error);
        c->bucket_count = count;
    }
    memset(c->bucket, 0, sizeof(int) * c->bucket_count);
    for (size_t t = 0; t < c->touch_count; t++) *bucket_of(c, &c->touches[t].pair) = (int)t + 1;
    return SINEW_OK;
}

/* Linearises the pair where it comes too near on the path from x0 to x, so that the normal points
 * to the side it came from, or at x. Says whether it is too near there. */
static bool linearise(const double *x0, const double *x, sn_touch *t) {
    double weight[4], when = sn_contact_impact(&t->pair, x0, x, t->pair.reach);
    sn_vec3 normal;
    bool short_of = when < 1;
    if (short_of) {
        double at[12];
        sn_contact_pair local = {.v = {0, 1, 2, 3}, .edges = t->pair.edges};
        for (int k = 0; k < 4; k++)
            sn_put(at, k, sn_lerp(sn_at(x0, t->pair.v[k]), sn_at(x, t->pair.v[k]), when));
        sn_contact_distance(&local, at, weight, &normal);
    } else {
        short_of = sn_contact_distance(&t->pair, x, weight, &normal) < NEAR_ENOUGH * t->gap;
    }
    if (!(sn_dot(normal, normal) > 0)) return false;
    memcpy(t->weight, weight, sizeof weight);
    t->normal = normal;
    return short_of;
}

typedef struct touch_loop {
    sn_force_contact *c;
    const double *x0, *x;
    atomic_int found;
} touch_loop;

static void linearise_touches(void *context, sn_span span) {
    touch_loop *loop = context;
    int found = 0;
    SN_IN_SPAN(size_t, t, span) {
        sn_touch *one = &loop->c->touches[t];
        if (loop->c->pulls && one->pulls) continue; /* as it touched last */
        found += linearise(loop->x0, loop->x, one);
    }
    if (found) atomic_fetch_add(&loop->found, found);
}

/* Returns how many are too near. */
static int linearise_all(sn_force_contact *c, const double *x0, const double *x) {
    touch_loop loop = {c, x0, x, 0};
    sn_parallel_for(c->touch_count, 32, linearise_touches, &loop);
    return atomic_load(&loop.found);
}

static sn_touch new_touch(const sn_force_contact *c, const sn_contact_pair *pair) {
    double rest = sn_contact_rest_distance(c->surface, pair);
    return (sn_touch){.pair = *pair, .gap = fmin(c->surface->gap, rest)};
}

typedef struct find_nears_loop {
    sn_force_contact *c;
    const sn_contact_pair *pairs;
    const double *x0;
    const double *x;
    double near;
} find_nears_loop;

static void find_nears(void *context, sn_span span) {
    const find_nears_loop *loop = context;
    sn_force_contact *c = loop->c;
    const sn_contact_pair *pairs = loop->pairs;
    const double *x0 = loop->x0;
    const double *x = loop->x;
    double near = loop->near;
    SN_IN_SPAN(int, i, span) {
        if (i % 32 == 0 && sn_interrupted()) atomic_store(&c->cancelled, true);
        if (atomic_load_explicit(&c->cancelled, memory_order_relaxed)) return;
        c->nears[i] = false;
        if (sn_contact_stays_apart(&pairs[i], x0, x, near) || *bucket_of(c, &pairs[i])) continue;
        sn_touch t = new_touch(c, &pairs[i]);
        c->nears[i] = linearise(x0, x, &t);
    }
}

/* More than the caller wants to pay for: the cost of pressing grows with their square. */
static bool too_many(const sn_force_contact *c) {
    return c->most > 0 && c->touch_count > c->most;
}

/* How far the sides of a pair move against each other along the path: the most of all pairs, or of
 * those that press. */
static double slip_of(const sn_force_contact *c, bool pressing) {
    double most = 0;
    for (size_t p = 0; c->path && p < c->touch_count; p++) {
        const sn_touch *t = &c->touches[p];
        sn_vec3 slip = {0, 0, 0};
        if (pressing && !(t->force > 0)) continue;
        for (int i = 0; i < 4; i++)
            slip = sn_add_scaled(slip, t->weight[i], sn_at(c->path, t->pair.v[i]));
        most = fmax(most, sn_dot(slip, slip));
    }
    return sqrt(most);
}

/* Pairs that are known are linearised anew, also those without a force: they would come back. New
 * ones that come too near are added. *found: how many are too near. */
static sinew_status find_touches(sn_force_contact *c, const double *x0, const double *x, int *found,
                                 sinew_error *error) {
    const sn_contact_pair *pairs;
    int count;
    double near = NEAR_ENOUGH * c->surface->gap;
    *found = linearise_all(c, x0, x);
    SN_TRY(sn_check_interrupt(error));
    SN_TRY(sn_contact_find(c->surface, c->work, x0, x, c->surface->gap, &pairs, &count, error));
    SN_TRY(list_buckets(c, error));
    if (!SN_RESERVE(c->nears, c->nears_capacity, (size_t)count)) return sn_no_memory(error);
    sn_parallel_for(count, 32, find_nears, &(find_nears_loop){c, pairs, x0, x, near});
    if (atomic_exchange(&c->cancelled, false)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    for (int i = 0; i < count; i++) {
        if (!c->nears[i]) continue;
        if (c->touch_count == MOST_TOUCHES || too_many(c)) break;
        if (!SN_RESERVE(c->touches, c->touch_capacity, c->touch_count + 1))
            return sn_no_memory(error);
        c->touches[c->touch_count] = new_touch(c, &pairs[i]);
        *found += linearise(x0, x, &c->touches[c->touch_count++]);
    }
    return SINEW_OK;
}

static sinew_status press_apart(sn_force_contact *c, double *x, sinew_error *error) {
    SN_TRY(fill_matrix(c, error));
    SN_TRY(press(c, error));
    if (c->own)
        displace(c, x);
    else
        displace_region(c, x);
    return SINEW_OK;
}

/* From the free shape `at` towards x as far as it goes: the next pairs are seen from there. A way
 * of several straight legs is as free as one, and goes around what one would hit. */
static sinew_status advance(sn_force_contact *c, const double *x, sinew_error *error) {
    size_t bytes = 3 * sizeof(double) * (size_t)c->surface->vertex_count;
    double cut;
    memcpy(c->next, x, bytes);
    SN_TRY(sn_contact_cut_back(c->surface, c->work, c->at, c->next, &cut, error));
    memcpy(c->at, c->next, bytes);
    sn_contact_set_times(c->work, c->times[1], c->times[1]);
    return SINEW_OK;
}

sinew_status sn_force_contact_find(sn_force_contact *c, const double *x0, double *x,
                                   sn_force_contact_info *info, const sinew_monitor *monitor,
                                   sinew_error *error) {
    *info = (sn_force_contact_info){.cut = 1};
    if (c->touch_count > 0) SN_TRY(press_apart(c, x, error));
    memcpy(c->at, x0, 3 * sizeof(double) * (size_t)c->surface->vertex_count);
    sn_contact_set_times(c->work, c->times[0], c->times[1]);
    for (int round = 0; round < SN_FORCE_CONTACT_ROUNDS; round++) {
        int found;
        if (sn_cancelled(monitor)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
        SN_TRY(find_touches(c, c->at, x, &found, error));
        if (found == 0) break;
        info->slip = round == 0 ? slip_of(c, false) : 0;
        if (too_many(c) || info->slip > c->most_slip) {
            info->crowded = true;
            return SINEW_OK;
        }
        SN_TRY(press_apart(c, x, error));
        if (round > 0) SN_TRY(advance(c, x, error));
    }
    bool acts = false;
    for (size_t p = 0; p < c->touch_count; p++) {
        const sn_touch *t = &c->touches[p];
        info->pressing += t->force > 0 || (c->pulls && t->pulls);
        acts |= t->force != 0;
    }
    if (!c->own && acts) displace(c, x);
    info->slip = slip_of(c, true);
    SN_TRY(sn_contact_cut_back(c->surface, c->work, c->at, x, &info->cut, error));
    if (acts || info->cut < 1)
        info->released = sn_force_contact_release(c->skin, c->surface->gap, c->goal, x, c->stack);
    return SINEW_OK;
}

/* ---- frames ---------------------------------------------------------------------------------- */

sinew_status sn_force_contact_solve(sn_force_contact *c, const double *x0, double *x,
                                    sn_force_contact_info *info, const sinew_monitor *monitor,
                                    sinew_error *error) {
    size_t bytes = 3 * sizeof(double) * (size_t)c->surface->vertex_count;
    memcpy(c->goal, x, bytes);
    /* what pressed in the last frame, seen from its end, is likely to press again */
    size_t kept = 0;
    for (size_t t = 0; t < c->touch_count; t++)
        if (lasts(&c->touches[t])) c->touches[kept++] = c->touches[t];
    c->touch_count = kept;
    linearise_all(c, x0, x0);
    SN_TRY(sn_force_contact_find(c, x0, x, info, monitor, error));
    if (info->crowded) return SINEW_OK;
    memcpy(c->unstuck, x, bytes);
    return c->stick > 0 ? sn_force_contact_stick(c, x0, x, info, monitor, error) : SINEW_OK;
}

const double *sn_force_contact_unstuck(const sn_force_contact *c) {
    return c->unstuck;
}

/* ---- friction -------------------------------------------------------------------------------- */

void sn_force_contact_rub(const sn_force_contact *c, double friction, double h, double *velocity) {
    if (!(friction > 0)) return;
    for (size_t p = 0; p < c->touch_count; p++) {
        const sn_touch *t = &c->touches[p];
        if (!(t->force > 0)) continue;
        sn_vec3 slip = {0, 0, 0};
        double squares = 0;
        for (int i = 0; i < 4; i++) {
            slip = sn_add_scaled(slip, t->weight[i], sn_at(velocity, t->pair.v[i]));
            squares += t->weight[i] * t->weight[i];
        }
        slip = sn_add_scaled(slip, -sn_dot(slip, t->normal), t->normal);
        double speed = sn_length(slip), pressed = fmax(t->needed, 0) / h;
        if (!(speed > 0)) continue;
        double share = fmin(1, friction * pressed / speed) / squares;
        for (int i = 0; i < 4; i++) {
            int v = t->pair.v[i];
            if (!c->skin->fixed[v])
                sn_put(velocity, v, sn_add_scaled(sn_at(velocity, v), -share * t->weight[i], slip));
        }
    }
}

/* ---- what it says ---------------------------------------------------------------------------- */

int sn_force_contact_list(const sn_force_contact *c, const double *x, int capacity,
                          sinew_contact *contacts) {
    int count = 0;
    for (size_t p = 0; p < c->touch_count && count < capacity; p++) {
        const sn_touch *t = &c->touches[p];
        if (!(t->force > 0)) continue;
        sinew_contact *out = &contacts[count++];
        sn_vec3 at = {0, 0, 0};
        double most = 0;
        out->obstacle = -1;
        for (int i = 0; i < 4; i++) { /* the part that the normal is for */
            if (!(t->weight[i] > 0)) continue;
            at = sn_add_scaled(at, t->weight[i], sn_at(x, t->pair.v[i]));
            if (t->weight[i] > most) most = t->weight[i], out->vertex = t->pair.v[i];
        }
        sn_put(out->position, 0, at), sn_put(out->force, 0, sn_scale(t->force, t->normal));
    }
    return count;
}
