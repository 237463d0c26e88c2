#include "spring/constraints.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "spring/system.h"

/* Rows that depend on each other (two contacts of one edge) need something on the diagonal. */
static const double REGULARIZATION = 1e-9;
static const double SHARED_TOLERANCE = 1e-12;
enum { SHARED_ITERATIONS = 200 };

sinew_status sn_constraints_create(int vertex_count, sn_constraints *constraints,
                                   sinew_error *error) {
    *constraints = (sn_constraints){.vertex_count = vertex_count};
    constraints->frozen = SN_NEW0(bool, vertex_count);
    constraints->frozen_list = SN_NEW(int, vertex_count);
    constraints->users = SN_NEW0(unsigned char, vertex_count);
    constraints->scatter = SN_NEW0(double, SN_PAD *(size_t)vertex_count);
    if (constraints->frozen && constraints->frozen_list && constraints->users &&
        constraints->scatter)
        return SINEW_OK;
    sn_constraints_free(constraints);
    return sn_no_memory(error);
}

void sn_constraints_free(sn_constraints *constraints) {
    sn_free(constraints->frozen), sn_free(constraints->frozen_list), sn_free(constraints->users);
    sn_free(constraints->rows), sn_free(constraints->shared), sn_free(constraints->work);
    sn_free(constraints->scatter);
    *constraints = (sn_constraints){0};
}

void sn_constraints_clear(sn_constraints *constraints) {
    for (int k = 0; k < constraints->frozen_count; k++)
        constraints->frozen[constraints->frozen_list[k]] = false;
    for (int r = 0; r < constraints->row_count; r++)
        for (int a = 0; a < constraints->rows[r].count; a++)
            constraints->users[constraints->rows[r].vertex[a]] = 0;
    constraints->row_count = constraints->frozen_count = constraints->shared_count = 0;
}

void sn_constraints_freeze(sn_constraints *constraints, int vertex) {
    if (constraints->frozen[vertex]) return;
    constraints->frozen[vertex] = true;
    constraints->frozen_list[constraints->frozen_count++] = vertex;
}

bool sn_constraints_add(sn_constraints *constraints, const sn_constraint_row *row) {
    if (constraints->row_count == constraints->row_capacity) {
        int capacity = constraints->row_capacity ? 2 * constraints->row_capacity : 256;
        sn_constraint_row *rows = sn_realloc(constraints->rows, (size_t)capacity, sizeof *rows);
        if (rows) constraints->rows = rows;
        int *shared = sn_realloc(constraints->shared, (size_t)capacity, sizeof *shared);
        if (shared) constraints->shared = shared;
        double *work = sn_realloc(constraints->work, 4 * (size_t)capacity, sizeof *work);
        if (work) constraints->work = work;
        if (!rows || !shared || !work) return false;
        constraints->row_capacity = capacity;
    }
    constraints->rows[constraints->row_count++] = *row;
    for (int a = 0; a < row->count; a++)
        if (constraints->users[row->vertex[a]] < 2) constraints->users[row->vertex[a]]++;
    return true;
}

void sn_constraints_finish(sn_constraints *constraints) {
    constraints->shared_count = 0;
    for (int r = 0; r < constraints->row_count; r++) {
        sn_constraint_row *row = &constraints->rows[r];
        double squared = 0;
        row->shared = false;
        for (int a = 0; a < row->count; a++) {
            if (constraints->frozen[row->vertex[a]]) row->weight[a] = 0;
            squared += row->weight[a] * row->weight[a];
            row->shared |= constraints->users[row->vertex[a]] > 1;
        }
        row->inverse = squared > 0 ? 1 / squared : 0;
        if (row->shared) constraints->shared[constraints->shared_count++] = r;
    }
}

/* ---- the shared rows: (A A^T) y = c by conjugate gradients ---- */

static double row_times(const sn_constraint_row *row, const double *v) {
    double sum = 0;
    for (int a = 0; a < row->count; a++) {
        const double *at = v + SN_PAD * (size_t)row->vertex[a];
        sum += row->weight[a] *
               (row->normal[0] * at[0] + row->normal[1] * at[1] + row->normal[2] * at[2]);
    }
    return sum;
}

static double row_times_f32(const sn_constraint_row *row, const float *v) {
    double sum = 0;
    for (int a = 0; a < row->count; a++) {
        const float *at = v + SN_PAD * (size_t)row->vertex[a];
        sum += row->weight[a] * (row->normal[0] * (double)at[0] + row->normal[1] * (double)at[1] +
                                 row->normal[2] * (double)at[2]);
    }
    return sum;
}

static void subtract_row(const sn_constraint_row *row, double amount, double *v) {
    for (int a = 0; a < row->count; a++)
        for (int c = 0; c < 3; c++)
            v[SN_PAD * (size_t)row->vertex[a] + c] -= amount * row->weight[a] * row->normal[c];
}

/* y = A A^T p on the shared rows, through A^T p on the vertices. */
static void gram_times(const sn_constraints *constraints, const double *p, double *y) {
    int m = constraints->shared_count;
    double *scatter = constraints->scatter;
    for (int i = 0; i < m; i++)
        subtract_row(&constraints->rows[constraints->shared[i]], -p[i], scatter);
    for (int i = 0; i < m; i++)
        y[i] =
            row_times(&constraints->rows[constraints->shared[i]], scatter) + REGULARIZATION * p[i];
    for (int i = 0; i < m; i++) {
        const sn_constraint_row *row = &constraints->rows[constraints->shared[i]];
        for (int a = 0; a < row->count; a++)
            memset(scatter + SN_PAD * (size_t)row->vertex[a], 0, SN_PAD * sizeof *scatter);
    }
}

/* y := (A A^T)^-1 c, c in work[0..m), y in work[m..2m). */
static void solve_shared(const sn_constraints *constraints) {
    int m = constraints->shared_count;
    double *r = constraints->work, *y = r + m, *p = y + m, *q = p + m;
    double rr = 0;
    for (int i = 0; i < m; i++) y[i] = 0, p[i] = r[i], rr += r[i] * r[i];
    double goal = SHARED_TOLERANCE * SHARED_TOLERANCE * rr;
    for (int k = 0; k < SHARED_ITERATIONS && rr > goal; k++) {
        gram_times(constraints, p, q);
        double curvature = 0;
        for (int i = 0; i < m; i++) curvature += p[i] * q[i];
        if (!(curvature > 0)) break;
        double step = rr / curvature, next = 0;
        for (int i = 0; i < m; i++) y[i] += step * p[i], r[i] -= step * q[i], next += r[i] * r[i];
        for (int i = 0; i < m; i++) p[i] = r[i] + next / rr * p[i];
        rr = next;
    }
}

/* ---- projection ---- */

static void subtract_row_f32(const sn_constraint_row *row, double amount, float *v) {
    for (int a = 0; a < row->count; a++)
        for (int c = 0; c < 3; c++)
            v[SN_PAD * (size_t)row->vertex[a] + c] -=
                (float)(amount * row->weight[a] * row->normal[c]);
}

void sn_constraints_project(const sn_constraints *constraints, double *v) {
    for (int k = 0; k < constraints->frozen_count; k++)
        memset(v + SN_PAD * (size_t)constraints->frozen_list[k], 0, 3 * sizeof *v);
    for (int r = 0; r < constraints->row_count; r++) {
        const sn_constraint_row *row = &constraints->rows[r];
        if (!row->shared) subtract_row(row, row_times(row, v) * row->inverse, v);
    }
    int m = constraints->shared_count;
    if (!m) return;
    for (int i = 0; i < m; i++)
        constraints->work[i] = row_times(&constraints->rows[constraints->shared[i]], v);
    solve_shared(constraints);
    for (int i = 0; i < m; i++)
        subtract_row(&constraints->rows[constraints->shared[i]], constraints->work[m + i], v);
}

void sn_constraints_project_f32(const sn_constraints *constraints, float *v) {
    for (int k = 0; k < constraints->frozen_count; k++)
        memset(v + SN_PAD * (size_t)constraints->frozen_list[k], 0, 3 * sizeof *v);
    for (int r = 0; r < constraints->row_count; r++) {
        const sn_constraint_row *row = &constraints->rows[r];
        if (!row->shared) subtract_row_f32(row, row_times_f32(row, v) * row->inverse, v);
    }
    int m = constraints->shared_count;
    if (!m) return;
    for (int i = 0; i < m; i++)
        constraints->work[i] = row_times_f32(&constraints->rows[constraints->shared[i]], v);
    solve_shared(constraints);
    for (int i = 0; i < m; i++)
        subtract_row_f32(&constraints->rows[constraints->shared[i]], constraints->work[m + i], v);
}

void sn_constraints_restore(const sn_constraints *constraints, double *x) {
    for (int r = 0; r < constraints->row_count; r++) {
        const sn_constraint_row *row = &constraints->rows[r];
        if (!row->shared) subtract_row(row, row->gap * row->inverse, x);
    }
    int m = constraints->shared_count;
    if (!m) return;
    for (int i = 0; i < m; i++)
        constraints->work[i] = constraints->rows[constraints->shared[i]].gap;
    solve_shared(constraints);
    for (int i = 0; i < m; i++)
        subtract_row(&constraints->rows[constraints->shared[i]], constraints->work[m + i], x);
}

void sn_constraints_reactions(sn_constraints *constraints, const double *gradient) {
    for (int r = 0; r < constraints->row_count; r++) {
        sn_constraint_row *row = &constraints->rows[r];
        row->multiplier = row_times(row, gradient) * row->inverse;
    }
    int m = constraints->shared_count;
    if (!m) return;
    for (int i = 0; i < m; i++)
        constraints->work[i] = row_times(&constraints->rows[constraints->shared[i]], gradient);
    solve_shared(constraints);
    for (int i = 0; i < m; i++)
        constraints->rows[constraints->shared[i]].multiplier = constraints->work[m + i];
}
