/* Based on: contact as a quadratic program in the inverse of the system matrix (Delassus operator),
 * solved by projected Gauss-Seidel.
 * We differ in: no factorization changes; columns of N^-1 are solved for when a vertex first
 * touches something and kept, so that lips that close again cost nothing new; and what the
 * linearised contacts leave is cut back by continuous tests.
 *
 *   min 1/2 (x - x*)^T N (x - x*)   with   c_p . x >= gap for the pairs p that would come too near
 *   x = x* + N^-1 C^T l,   0 <= l  _|_  C x* - gap + W l >= 0,   W = C N^-1 C^T
 *
 * N is one n x n matrix G^-1 for all three coordinates, so W_pq = sum_ij (c_p,i . c_q,j) G_ij. */
#include "force/contact.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"

typedef struct touch {
    sn_contact_pair pair;
    double weight[4];
    sn_vec3 normal;
    double force, needed; /* l, and gap - c . x* */
    int slot[4];          /* of the pair's vertices in the store of columns */
} touch;

struct sn_force_contact {
    const sn_contact_surface *surface;
    const sn_skin *skin;
    const sn_cholesky *factor;
    sn_cholesky_work *solver;
    sn_contact_work *work;
    double *right, *goal;

    touch *touches;
    size_t touch_count, touch_capacity;
    double *matrix, *forces; /* W, l */
    size_t matrix_capacity, force_capacity;

    /* Columns of N^-1 at the surface's vertices, as they were needed. */
    int *row_of;  /* per vertex of the mesh: its place among the surface's, or -1 */
    int *slot_of; /* per vertex of the mesh: its column, or -1 */
    float **columns;
    int column_count, column_limit;
};

sinew_status sn_force_contact_create(const sn_contact_surface *surface, const sn_skin *skin,
                                     const sn_cholesky *factor, sn_force_contact **contact,
                                     sinew_error *error) {
    *contact = NULL;
    sn_force_contact *c = SN_NEW0(sn_force_contact, 1);
    if (!c) return sn_no_memory(error);
    c->surface = surface, c->skin = skin, c->factor = factor;
    size_t n = (size_t)surface->vertex_count, points = (size_t)surface->point_count;
    size_t most = points ? SN_FORCE_CONTACT_MEMORY / (points * sizeof(float)) : 0;
    c->column_limit = (int)(most < points ? most : points);
    c->right = SN_NEW(double, 3 * n), c->goal = SN_NEW(double, 3 * n);
    c->row_of = SN_NEW(int, n), c->slot_of = SN_NEW(int, n);
    c->columns = SN_NEW0(float *, c->column_limit);
    sinew_status status = c->right && c->goal && c->row_of && c->slot_of && c->columns
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, 3, &c->solver, error);
    if (status == SINEW_OK) status = sn_contact_work_create(surface, &c->work, error);
    if (status != SINEW_OK) {
        sn_force_contact_destroy(c);
        return status;
    }
    for (size_t v = 0; v < n; v++) c->row_of[v] = c->slot_of[v] = -1;
    for (int i = 0; i < surface->point_count; i++) c->row_of[surface->points[i]] = i;
    *contact = c;
    return SINEW_OK;
}

void sn_force_contact_destroy(sn_force_contact *c) {
    if (!c) return;
    for (int i = 0; i < c->column_count; i++) sn_free(c->columns[i]);
    sn_free(c->columns), sn_free(c->row_of), sn_free(c->slot_of), sn_free(c->right);
    sn_free(c->goal), sn_free(c->touches), sn_free(c->matrix), sn_free(c->forces);
    sn_cholesky_work_destroy(c->solver);
    sn_contact_work_destroy(c->work);
    sn_free(c);
}

/* ---- columns of N^-1 ------------------------------------------------------------------------- */

static sinew_status solve_columns(sn_force_contact *c, int count, const int *vertices,
                                  sinew_error *error) {
    size_t n = (size_t)c->surface->vertex_count;
    memset(c->right, 0, 3 * n * sizeof(double));
    for (int k = 0; k < count; k++) c->right[3 * (size_t)vertices[k] + (size_t)k] = 1;
    sn_cholesky_solve(c->factor, c->solver, 3, c->right, c->right);
    for (int k = 0; k < count; k++) {
        float *column = SN_NEW(float, c->surface->point_count);
        if (!column) return sn_no_memory(error);
        for (int i = 0; i < c->surface->point_count; i++)
            column[i] = (float)c->right[3 * (size_t)c->surface->points[i] + (size_t)k];
        c->slot_of[vertices[k]] = c->column_count;
        c->columns[c->column_count++] = column;
    }
    return SINEW_OK;
}

/* Columns of all vertices that touch; beyond the limit of memory a vertex counts as held, and the
 * guarantee alone takes care of it. */
static sinew_status fetch_columns(sn_force_contact *c, sinew_error *error) {
    int wanted[3], count = 0;
    for (size_t t = 0; t < c->touch_count; t++)
        for (int i = 0; i < 4; i++) {
            int v = c->touches[t].pair.v[i];
            bool asked = count > 0 && (wanted[0] == v || (count > 1 && wanted[1] == v));
            if (c->skin->fixed[v] || c->slot_of[v] >= 0 || asked) continue;
            if (c->column_count + count >= c->column_limit) continue;
            wanted[count++] = v;
            if (count == 3) {
                SN_TRY(solve_columns(c, 3, wanted, error));
                count = 0;
            }
        }
    return count ? solve_columns(c, count, wanted, error) : SINEW_OK;
}

/* ---- the quadratic program ------------------------------------------------------------------- */

static double along(const touch *t, const double *x) {
    sn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < 4; i++) sum = sn_add_scaled(sum, t->weight[i], sn_at(x, t->pair.v[i]));
    return sn_dot(sum, t->normal);
}

static double coupling(const sn_force_contact *c, const touch *p, const touch *q) {
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        if (p->slot[i] < 0) continue;
        const float *column = c->columns[p->slot[i]];
        double part = 0;
        for (int j = 0; j < 4; j++)
            if (q->slot[j] >= 0) part += q->weight[j] * (double)column[c->row_of[q->pair.v[j]]];
        sum += p->weight[i] * part;
    }
    return sum * sn_dot(p->normal, q->normal);
}

static sinew_status press(sn_force_contact *c, sinew_error *error) {
    size_t count = c->touch_count;
    SN_TRY(fetch_columns(c, error));
    if (!SN_RESERVE(c->matrix, c->matrix_capacity, count * count) ||
        !SN_RESERVE(c->forces, c->force_capacity, count))
        return sn_no_memory(error);
    for (size_t p = 0; p < count; p++)
        for (int i = 0; i < 4; i++) c->touches[p].slot[i] = c->slot_of[c->touches[p].pair.v[i]];
#pragma omp parallel for num_threads(sn_threads()) schedule(static)
    for (size_t p = 0; p < count; p++)
        for (size_t q = 0; q < count; q++)
            c->matrix[p * count + q] = coupling(c, &c->touches[p], &c->touches[q]);
    for (size_t p = 0; p < count; p++) {
        c->touches[p].needed = c->surface->gap - along(&c->touches[p], c->goal);
        c->forces[p] = c->touches[p].force;
    }
    for (int sweep = 0; sweep < SN_FORCE_CONTACT_SWEEPS; sweep++) {
        double change = 0;
        for (size_t p = 0; p < count; p++) {
            const double *row = c->matrix + p * count;
            if (!(row[p] > 0)) continue;
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t q = 0; q < count; q++) sum += row[q] * c->forces[q];
            double force = fmax(c->forces[p] + (c->touches[p].needed - sum) / row[p], 0);
            change = fmax(change, fabs(force - c->forces[p]) * row[p]);
            c->forces[p] = force;
        }
        if (change < 1e-3 * c->surface->gap) break;
    }
    for (size_t p = 0; p < count; p++) c->touches[p].force = c->forces[p];
    return SINEW_OK;
}

/* x = x* + N^-1 C^T l */
static void displace(sn_force_contact *c, double *x) {
    size_t n = 3 * (size_t)c->surface->vertex_count;
    memset(c->right, 0, n * sizeof(double));
    for (size_t p = 0; p < c->touch_count; p++) {
        const touch *t = &c->touches[p];
        for (int i = 0; t->force > 0 && i < 4; i++) {
            int v = t->pair.v[i];
            if (!c->skin->fixed[v])
                sn_put(c->right, v,
                       sn_add_scaled(sn_at(c->right, v), t->weight[i] * t->force, t->normal));
        }
    }
    sn_cholesky_solve(c->factor, c->solver, 3, c->right, c->right);
    for (size_t i = 0; i < n; i++) x[i] = c->goal[i] + c->right[i];
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* A pair that was there before is linearised anew and keeps its force. */
static sinew_status note(sn_force_contact *c, const touch *seen, size_t known, sinew_error *error) {
    for (size_t i = 0; i < known; i++)
        if (!memcmp(c->touches[i].pair.v, seen->pair.v, sizeof seen->pair.v) &&
            c->touches[i].pair.edges == seen->pair.edges) {
            double force = c->touches[i].force;
            c->touches[i] = *seen;
            c->touches[i].force = force;
            return SINEW_OK;
        }
    if (!SN_RESERVE(c->touches, c->touch_capacity, c->touch_count + 1)) return sn_no_memory(error);
    c->touches[c->touch_count++] = *seen;
    return SINEW_OK;
}

/* Pairs that come too near on the way: linearised where they meet, so that the normal points to the
 * side they came from. *found: how many are not kept apart yet. */
static sinew_status find_touches(sn_force_contact *c, const double *x0, const double *x, int *found,
                                 sinew_error *error) {
    const sn_contact_pair *pairs;
    int count;
    *found = 0;
    SN_TRY(sn_contact_find(c->surface, c->work, x0, x, c->surface->gap, &pairs, &count, error));
    size_t known = c->touch_count;
    for (int i = 0; i < count; i++) {
        touch t = {.pair = pairs[i]};
        double when = sn_contact_impact(&pairs[i], x0, x, c->surface->reach);
        if (when >= 1) {
            /* half a gap is near enough to be left alone */
            if (sn_contact_distance(&pairs[i], x, t.weight, &t.normal) > 0.5 * c->surface->gap)
                continue;
        } else {
            double at[12];
            sn_contact_pair local = {{0, 1, 2, 3}, pairs[i].edges};
            for (int k = 0; k < 4; k++)
                sn_put(at, k, sn_lerp(sn_at(x0, pairs[i].v[k]), sn_at(x, pairs[i].v[k]), when));
            sn_contact_distance(&local, at, t.weight, &t.normal);
        }
        if (!(sn_dot(t.normal, t.normal) > 0)) continue;
        ++*found;
        SN_TRY(note(c, &t, known, error));
    }
    return SINEW_OK;
}

sinew_status sn_force_contact_solve(sn_force_contact *c, const double *x0, double *x,
                                    sn_force_contact_info *info, sinew_error *error) {
    size_t bytes = 3 * sizeof(double) * (size_t)c->surface->vertex_count;
    *info = (sn_force_contact_info){.cut = 1};
    c->touch_count = 0;
    memcpy(c->goal, x, bytes);
    for (int round = 0; round < SN_FORCE_CONTACT_ROUNDS; round++) {
        int found;
        SN_TRY(find_touches(c, x0, x, &found, error));
        if (found == 0) break;
        SN_TRY(press(c, error));
        displace(c, x);
    }
    for (size_t p = 0; p < c->touch_count; p++) info->pressing += c->touches[p].force > 0;
    return sn_contact_cut_back(c->surface, c->work, x0, x, &info->cut, error);
}

void sn_force_contact_rub(const sn_force_contact *c, double friction, double h, double *velocity) {
    if (!(friction > 0)) return;
    for (size_t p = 0; p < c->touch_count; p++) {
        const touch *t = &c->touches[p];
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
