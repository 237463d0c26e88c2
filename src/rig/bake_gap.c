/* Hinges of contact from samples with and without it.
 *
 * In a sample that is known with and without contact, the vertices that contact moves farthest are
 * pressed against something: vertex v against the nearest vertex p that contact moves the other way
 * or not at all. Along the direction d in which contact parts the two, their gap in the linear
 * blend is linear in the weights,
 *
 *   gap(u) = g + sum_s u_s (t_s(v) - t_s(p)).d
 *
 * with the displacements t_s of the sliders. Contact parts them by the depth that the sample shows,
 * so gap(u_k) = -depth, which gives the gap g of the rest. Surfaces that lie on each other at rest,
 * as lips do, have g = 0 nearly; then any of many sliders presses them together alone. What contact
 * adds grows with -gap / g, the hinge with the slopes -(t_s(v) - t_s(p)).d / g.
 *
 * Every sample proposes a hinge for each of the spots where it is pressed. Lips press at several
 * spots, each with slopes of its own. The sites, and the sliders that intersect alone, propose
 * theirs: contact of one slider may push the whole head, which no pair of vertices tells.
 * Orthogonal matching pursuit (bake_choose.c) picks the hinges that explain most of the contact c_k
 * of all samples, as long as they also tell more about samples that they were not fitted to: with
 * h_k the leverage of a sample,
 *
 *   sum_k |c_k - sum_j phi_j(u_k) h_j|^2 / (1 - h_k)^2
 *
 * has to fall. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "rig/baker.h"

enum { SPOTS = 4 /* of a sample, at most */ };
#define SPOT        0.02  /* of the diagonal: spots are at least so far apart */
#define SHALLOWER   0.3   /* of the deepest spot of a sample: spots that count */
#define REACH       1.5   /* of what contact moved, and an edge more: how far p may be */
#define STEEPEST    50.0  /* slope; above, g cannot be told from 0 */
#define TRACE       0.01  /* of the steepest slope of a hinge: slopes that are left out */
#define SMALL_ERROR 0.5   /* of the typical contact of a sample */
#define DEPENDENT   1e-3  /* of its own square: what is left of a hinge that adds nothing new */
#define RIDGE       1e-2  /* of the square of a hinge */
#define GAIN        0.005 /* of the error on other samples, which a hinge must save … */
#define WORTH       0.05  /* … and all of them together */

/* Samples with contact, and what may explain it. */
typedef struct gaps {
    sn_baker *b;
    int count;      /* samples */
    int *samples;   /* their indices */
    double *weight; /* by which each counts */
    float *moves;   /* per slider 3 V: t_s */
    double *G;      /* weighted c_k.c_l, count x count, less what the chosen hinges explain */
    int hinge_count;
    size_t slope_capacity;
    double *slopes; /* a row per hinge */
    double *values; /* weighted, a column per hinge: orthogonal to the chosen ones */
    double *gain, *norm, *own;
    double *leverage; /* per sample */
    int *chosen, chosen_count;
} gaps;

static void release(gaps *g) {
    sn_free(g->samples), sn_free(g->weight), sn_free(g->moves), sn_free(g->G), sn_free(g->slopes);
    sn_free(g->values), sn_free(g->gain), sn_free(g->norm), sn_free(g->own);
    sn_free(g->leverage), sn_free(g->chosen);
}

/* ---- samples --------------------------------------------------------------------------------- */

static sinew_status find_moves(gaps *g) {
    sn_baker *b = g->b;
    int n = b->rig->slider_count;
    double *row = SN_NEW(double, n);
    g->moves = SN_NEW(float, (size_t)n * b->numbers);
    if (!row || !g->moves) {
        sn_free(row);
        return sn_no_memory(b->error);
    }
    sinew_rig_rest_weights(b->rig, row);
    sinew_linear_evaluate(b->linear, row, b->blend);
    for (int s = 0; s < n; s++) {
        row[s] = sn_bake_weight(&b->rig->sliders[s], 1);
        sinew_linear_evaluate(b->linear, row, b->positions);
        row[s] = b->rig->sliders[s].rest;
        for (size_t c = 0; c < b->numbers; c++)
            g->moves[(size_t)s * b->numbers + c] = (float)(b->positions[c] - b->blend[c]);
    }
    sn_free(row);
    return SINEW_OK;
}

static double dot_f32(size_t n, const float *x, const float *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

/* G and the weights: samples count by their relative error, as in bake_choose.c. */
static sinew_status weigh(gaps *g) {
    sn_baker *b = g->b;
    size_t m = (size_t)g->count, used = 0;
    size_t *place = SN_NEW(size_t, b->numbers);
    g->G = SN_NEW(double, m *m), g->weight = SN_NEW(double, m);
    for (size_t c = 0; place && c < b->numbers; c++) {
        bool moved = false;
        for (size_t k = 0; k < m; k++) moved |= b->contact[g->samples[k]][c] != 0;
        if (moved) place[used++] = c;
    }
    float *C = SN_NEW(float, m *used + 1);
    sinew_status status = place && C && g->G && g->weight ? SINEW_OK : sn_no_memory(b->error);
    for (size_t k = 0; status == SINEW_OK && k < m; k++)
        for (size_t c = 0; c < used; c++) C[k * used + c] = b->contact[g->samples[k]][place[c]];
    double total = 0;
    for (size_t k = 0; status == SINEW_OK && k < m; k++)
        for (size_t l = 0; l <= k; l++)
            g->G[k + m * l] = g->G[l + m * k] = dot_f32(used, C + k * used, C + l * used);
    for (size_t k = 0; status == SINEW_OK && k < m; k++) total += g->G[k + m * k];
    double least = status == SINEW_OK ? SMALL_ERROR * SMALL_ERROR * total / (double)m : 0;
    for (size_t k = 0; status == SINEW_OK && k < m; k++)
        g->weight[k] = total > 0 ? 1 / sqrt(g->G[k + m * k] + least) : 1;
    for (size_t k = 0; status == SINEW_OK && k < m; k++)
        for (size_t l = 0; l < m; l++) g->G[l + m * k] *= g->weight[k] * g->weight[l];
    sn_free(place), sn_free(C);
    return status;
}

/* ---- hinges ---------------------------------------------------------------------------------- */

static sn_vec3 contact_of(const float *contact, int vertex) {
    const float *c = contact + 3 * (size_t)vertex;
    return sn_v3((double)c[0], (double)c[1], (double)c[2]);
}

/* The longest edge of the neutral at a vertex. */
static double longest_edge(const sinew_mesh *mesh, int vertex) {
    double most = 0;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        if (mesh->triangles[i] != vertex) continue;
        const int *t = mesh->triangles + i / 3 * 3;
        for (int k = 0; k < 3; k++)
            most = fmax(most,
                        sn_distance(sn_at(mesh->positions, vertex), sn_at(mesh->positions, t[k])));
    }
    return most;
}

/* The vertex that is nearest to `vertex` with contact and was on its other side; -1: none. */
static int find_opposite(const sn_baker *b, const float *contact, int vertex, double reach) {
    sn_vec3 moved = contact_of(contact, vertex), from = sn_at(b->positions, vertex);
    sn_vec3 to = sn_add(from, moved);
    double nearest = INFINITY;
    int found = -1;
    for (int v = 0; v < b->rig->neutral->vertex_count; v++) {
        sn_vec3 at = sn_at(b->positions, v), own = contact_of(contact, v);
        if (v == vertex || sn_distance(at, from) > reach || sn_dot(own, moved) > 0) continue;
        double distance = sn_distance(sn_add(at, own), to);
        if (distance < nearest) nearest = distance, found = v;
    }
    return found;
}

/* The hinge of a vertex that contact presses in sample k. */
static sinew_status add_hinge(gaps *g, int k, const float *contact, int vertex, int opposite) {
    const sn_baker *b = g->b;
    int n = b->rig->slider_count;
    const double *weights = b->weights + (size_t)g->samples[k] * (size_t)n;
    sn_vec3 d = sn_sub(contact_of(contact, vertex), contact_of(contact, opposite));
    double depth = sn_length(d), steepest = 0;
    d = sn_scale(1 / depth, d);
    size_t row = (size_t)g->hinge_count * (size_t)n;
    if (!SN_RESERVE(g->slopes, g->slope_capacity, row + (size_t)n)) return sn_no_memory(b->error);
    double *slopes = g->slopes + row, rest = -depth;
    for (int s = 0; s < n; s++) {
        const float *moves = g->moves + (size_t)s * b->numbers;
        slopes[s] = -sn_dot(sn_sub(contact_of(moves, vertex), contact_of(moves, opposite)), d);
        steepest = fmax(steepest, slopes[s]);
        rest += slopes[s] * fmin(sn_bake_unit(&b->rig->sliders[s], weights[s]), 1);
    }
    if (!(steepest > 0)) return SINEW_OK;
    double gap = fmax(rest, steepest / STEEPEST);
    for (int s = 0; s < n; s++)
        slopes[s] = fabs(slopes[s]) < TRACE * steepest ? 0 : slopes[s] / gap;
    g->hinge_count++;
    return SINEW_OK;
}

/* Hinges of the spots where contact presses sample k most. */
static sinew_status add_spots(gaps *g, int k, double *left) {
    sn_baker *b = g->b;
    const float *contact = b->contact[g->samples[k]];
    int n = b->rig->neutral->vertex_count;
    double deepest = 0, least = SN_BAKE_INVISIBLE * b->options->tolerance * b->diagonal;
    sinew_linear_evaluate(
        b->linear, b->weights + (size_t)g->samples[k] * (size_t)b->rig->slider_count, b->positions);
    for (int v = 0; v < n; v++)
        left[v] = sn_length(contact_of(contact, v)), deepest = fmax(deepest, left[v]);
    for (int spot = 0; spot < SPOTS; spot++) {
        int deep = 0;
        for (int v = 1; v < n; v++)
            if (left[v] > left[deep]) deep = v;
        double depth = left[deep];
        if (depth <= SHALLOWER * deepest || depth <= least) return SINEW_OK;
        for (int v = 0; v < n; v++)
            if (sn_distance(sn_at(b->positions, v), sn_at(b->positions, deep)) < SPOT * b->diagonal)
                left[v] = 0;
        double reach = REACH * depth + longest_edge(b->rig->neutral, deep);
        int opposite = find_opposite(b, contact, deep, reach);
        if (opposite >= 0) SN_TRY(add_hinge(g, k, contact, deep, opposite));
    }
    return SINEW_OK;
}

/* Those of sliders that make surfaces intersect alone, and of the sites. */
static sinew_status add_known(gaps *g) {
    const sn_baker *b = g->b;
    size_t n = (size_t)b->rig->slider_count;
    for (size_t i = 0; i < n + (size_t)b->site_count; i++) {
        if (i < n && !(b->alone_onset && b->alone_onset[i] <= 1)) continue;
        size_t row = (size_t)g->hinge_count * n;
        if (!SN_RESERVE(g->slopes, g->slope_capacity, row + n)) return sn_no_memory(b->error);
        for (size_t s = 0; s < n; s++) g->slopes[row + s] = i < n ? 0 : b->sites[i - n].slopes[s];
        if (i < n) g->slopes[row + i] = fmin(1 / b->alone_onset[i], STEEPEST);
        g->hinge_count++;
    }
    return SINEW_OK;
}

static sinew_status find_hinges(gaps *g) {
    sn_baker *b = g->b;
    double *left = SN_NEW(double, b->rig->neutral->vertex_count);
    sinew_status status = left ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) status = add_known(g);
    for (int k = 0; status == SINEW_OK && k < g->count; k++) status = add_spots(g, k, left);
    sn_free(left);
    size_t m = (size_t)g->count, F = (size_t)g->hinge_count;
    size_t n = (size_t)b->rig->slider_count;
    g->values = SN_NEW(double, m *F + 1);
    g->gain = SN_NEW(double, F + 1), g->norm = SN_NEW(double, F + 1);
    g->own = SN_NEW(double, F + 1);
    if (status == SINEW_OK && !(g->values && g->gain && g->norm && g->own))
        status = sn_no_memory(b->error);
    for (size_t f = 0; status == SINEW_OK && f < F; f++)
        for (size_t k = 0; k < m; k++)
            g->values[k + m * f] =
                g->weight[k] *
                sn_bake_hinge(b, g->slopes + n * f, b->weights + (size_t)g->samples[k] * n);
    return status;
}

/* ---- choice ---------------------------------------------------------------------------------- */

static sinew_status find_gains(gaps *g) {
    size_t m = (size_t)g->count, F = (size_t)g->hinge_count;
    double *GP = SN_NEW(double, m *F + 1);
    if (!GP) return sn_no_memory(g->b->error);
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, g->count, g->hinge_count, g->count, 1, g->G, g->values, 0,
                      GP);
    for (size_t f = 0; f < F; f++) {
        g->own[f] = g->norm[f] = sn_bake_dot(g->count, g->values + m * f, g->values + m * f);
        g->gain[f] = sn_bake_dot(g->count, g->values + m * f, GP + m * f);
    }
    sn_free(GP);
    return SINEW_OK;
}

static int best_hinge(const gaps *g) {
    int best = -1;
    double most = 0;
    for (int f = 0; f < g->hinge_count; f++) {
        if (!(g->norm[f] > DEPENDENT * g->own[f])) continue;
        double gain = g->gain[f] / (g->norm[f] + RIDGE * g->own[f]);
        if (gain > most) most = gain, best = f;
    }
    return best;
}

/* What the chosen hinges leave of samples that they were not fitted to. */
static double error_on_others(const gaps *g) {
    double sum = 0;
    for (size_t k = 0; k < (size_t)g->count; k++) {
        double left = fmax(1 - g->leverage[k], 1e-3);
        sum += g->G[k + (size_t)g->count * k] / (left * left);
    }
    return sum;
}

/* Takes what a hinge explains out of G and the other hinges. q, y: per sample. */
static void take_out(gaps *g, int hinge, double *q, double *y) {
    size_t m = (size_t)g->count;
    double size = sqrt(g->norm[hinge]);
    for (size_t k = 0; k < m; k++) q[k] = g->values[k + m * (size_t)hinge] / size;
    sn_dense_apply(SN_AS_IS, g->count, g->count, 1, g->G, q, 0, y);
    double qy = sn_bake_dot(g->count, q, y);
    for (size_t k = 0; k < m; k++) {
        for (size_t l = 0; l < m; l++) g->G[l + m * k] += q[l] * (qy * q[k] - y[k]) - y[l] * q[k];
        g->leverage[k] += q[k] * q[k];
    }
    for (size_t f = 0; f < (size_t)g->hinge_count; f++) {
        double *p = g->values + m * f, qp = sn_bake_dot(g->count, q, p);
        g->gain[f] += qp * (qp * qy - 2 * sn_bake_dot(g->count, y, p));
        g->norm[f] -= qp * qp;
        for (size_t k = 0; k < m; k++) p[k] -= qp * q[k];
    }
}

static sinew_status choose(gaps *g, int limit) {
    size_t m = (size_t)g->count;
    double *q = SN_NEW(double, m), *y = SN_NEW(double, m);
    g->leverage = SN_NEW0(double, m), g->chosen = SN_NEW(int, (size_t)limit + 1);
    sinew_status status =
        q && y && g->leverage && g->chosen ? find_gains(g) : sn_no_memory(g->b->error);
    double error = status == SINEW_OK ? error_on_others(g) : 0, first = error;
    while (status == SINEW_OK && g->chosen_count < limit) {
        int next = best_hinge(g);
        if (next < 0) break;
        take_out(g, next, q, y);
        double left = error_on_others(g);
        if (!(left < (1 - GAIN) * error)) break;
        error = left;
        g->chosen[g->chosen_count++] = next;
    }
    if (!(error < (1 - WORTH) * first)) g->chosen_count = 0;
    sn_free(q), sn_free(y);
    return status;
}

/* ---- sites ----------------------------------------------------------------------------------- */

static sinew_status add_site(gaps *g, int index) {
    sn_baker *b = g->b;
    size_t n = (size_t)b->rig->slider_count;
    const double *slopes = g->slopes + n * (size_t)g->chosen[index];
    sn_bake_site *site = &b->sites[b->site_count++];
    *site = (sn_bake_site){.slopes = sn_memdup(slopes, n, sizeof *slopes),
                           .fitted = sn_memdup(slopes, n, sizeof *slopes)};
    return site->slopes && site->fitted ? SINEW_OK : sn_no_memory(b->error);
}

static sinew_status replace_sites(gaps *g) {
    sn_baker *b = g->b;
    for (int i = 0; i < b->site_count; i++) sn_bake_site_free(&b->sites[i]);
    b->site_count = 0;
    if (!SN_RESERVE(b->sites, b->site_capacity, g->chosen_count)) return sn_no_memory(b->error);
    for (int j = 0; j < g->chosen_count; j++) SN_TRY(add_site(g, j));
    return SINEW_OK;
}

sinew_status sn_bake_find_gaps(sn_baker *b, int limit) {
    gaps g = {.b = b, .samples = SN_NEW(int, b->sample_count)};
    sinew_status status = g.samples ? SINEW_OK : sn_no_memory(b->error);
    for (int k = 0; status == SINEW_OK && k < b->sample_count; k++)
        if (b->contact[k]) g.samples[g.count++] = k;
    if (status == SINEW_OK && g.count > 0) {
        status = find_moves(&g);
        if (status == SINEW_OK) status = weigh(&g);
        if (status == SINEW_OK) status = find_hinges(&g);
        if (status == SINEW_OK) status = choose(&g, limit);
    }
    if (status == SINEW_OK) status = replace_sites(&g);
    release(&g);
    return status;
}
