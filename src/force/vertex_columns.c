#include "force/vertex_columns.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "base/vec3.h"

/* Entries column by column, as they are found. */
typedef struct entries {
    size_t count, vertex_capacity, value_capacity;
    int *vertex;
    double *value;
    size_t *end; /* per column */
} entries;

static sinew_status gather(int vertex_count, int column_count, sn_column_source *source, void *user,
                           double drop, double *dense, entries *all, sinew_error *error) {
    for (int k = 0; k < column_count; k++) {
        memset(dense, 0, 3 * sizeof(double) * (size_t)vertex_count);
        SN_TRY(source(k, dense, user, error));
        double largest = 0;
        for (int v = 0; v < vertex_count; v++) {
            sn_vec3 d = sn_at(dense, v);
            largest = fmax(largest, sn_dot(d, d));
        }
        for (int v = 0; v < vertex_count; v++) {
            sn_vec3 d = sn_at(dense, v);
            if (!(sn_dot(d, d) > drop * drop * largest)) continue;
            if (!SN_RESERVE(all->vertex, all->vertex_capacity, all->count + 1) ||
                !SN_RESERVE(all->value, all->value_capacity, 3 * (all->count + 1)))
                return sn_no_memory(error);
            all->vertex[all->count] = v;
            memcpy(all->value + 3 * all->count, dense + 3 * (size_t)v, 3 * sizeof(double));
            all->count++;
        }
        all->end[k] = all->count;
    }
    if (all->count > INT_MAX / 4)
        return sn_fail(error, SINEW_BAD_INPUT, "force: the targets are too large");
    return SINEW_OK;
}

static void by_vertex(const entries *all, sn_vertex_columns *made) {
    int n = made->vertex_count;
    for (size_t i = 0; i < all->count; i++) made->start[all->vertex[i] + 1]++;
    for (int v = 0; v < n; v++) made->start[v + 1] += made->start[v];
    size_t i = 0;
    for (int k = 0; k < made->column_count; k++)
        for (; i < all->end[k]; i++) {
            int at = made->start[all->vertex[i]]++;
            made->column[at] = k;
            memcpy(made->value + 3 * (size_t)at, all->value + 3 * i, 3 * sizeof(double));
        }
    for (int v = n; v > 0; v--) made->start[v] = made->start[v - 1];
    made->start[0] = 0;
}

sinew_status sn_vertex_columns_create(int vertex_count, int column_count, sn_column_source *source,
                                      void *user, double drop, sn_vertex_columns **columns,
                                      sinew_error *error) {
    *columns = NULL;
    entries all = {.end = SN_NEW(size_t, column_count)};
    double *dense = SN_NEW(double, 3 * (size_t)vertex_count);
    sn_vertex_columns *made = SN_NEW0(sn_vertex_columns, 1);
    sinew_status status = all.end && dense && made ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = gather(vertex_count, column_count, source, user, drop, dense, &all, error);
    if (status == SINEW_OK) {
        made->vertex_count = vertex_count;
        made->column_count = column_count;
        made->start = SN_NEW0(int, (size_t)vertex_count + 1);
        made->column = SN_NEW(int, all.count);
        made->value = SN_NEW0(double, 3 * all.count + 1); /* read four at a time */
        if (made->start && made->column && made->value)
            by_vertex(&all, made);
        else
            status = sn_no_memory(error);
    }
    sn_free(all.vertex), sn_free(all.value), sn_free(all.end), sn_free(dense);
    if (status != SINEW_OK) {
        sn_vertex_columns_destroy(made);
        return status;
    }
    *columns = made;
    return SINEW_OK;
}

void sn_vertex_columns_destroy(sn_vertex_columns *columns) {
    if (!columns) return;
    sn_free(columns->start), sn_free(columns->column), sn_free(columns->value);
    sn_free_aligned(columns->value_f32);
    sn_free(columns);
}

/* An entry is one vector; two sums, so that one does not wait for the other. */
typedef double four __attribute__((vector_size(32), may_alias, aligned(8)));
typedef float four_f32 __attribute__((vector_size(16)));

void sn_vertex_columns_add(const sn_vertex_columns *c, const double *u, double *out) {
#pragma omp parallel for num_threads(sn_threads()) schedule(static)
    for (int v = 0; v < c->vertex_count; v++) {
        four even = {0}, odd = {0};
        int i = c->start[v], end = c->start[v + 1];
        for (; i + 1 < end; i += 2) {
            even += u[c->column[i]] * *(const four *)(c->value + 3 * (size_t)i);
            odd += u[c->column[i + 1]] * *(const four *)(c->value + 3 * (size_t)i + 3);
        }
        if (i < end) even += u[c->column[i]] * *(const four *)(c->value + 3 * (size_t)i);
        even += odd;
        double *o = out + 3 * (size_t)v;
        o[0] += even[0], o[1] += even[1], o[2] += even[2];
    }
}

sinew_status sn_vertex_columns_prepare_f32(sn_vertex_columns *c, sinew_error *error) {
    size_t count = (size_t)c->start[c->vertex_count];
    c->value_f32 = sn_alloc_aligned(4 * count, sizeof(float));
    if (!c->value_f32) return sn_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        for (size_t a = 0; a < 3; a++) c->value_f32[4 * i + a] = (float)c->value[3 * i + a];
        c->value_f32[4 * i + 3] = 0;
    }
    sn_free(c->value);
    c->value = NULL;
    return SINEW_OK;
}

void sn_vertex_columns_add_f32(const sn_vertex_columns *c, const float *u, double *out) {
    const four_f32 *value = (const four_f32 *)c->value_f32;
#pragma omp parallel for num_threads(sn_threads()) schedule(static)
    for (int v = 0; v < c->vertex_count; v++) {
        four_f32 even = {0}, odd = {0};
        int i = c->start[v], end = c->start[v + 1];
        for (; i + 1 < end; i += 2) {
            even += u[c->column[i]] * value[i];
            odd += u[c->column[i + 1]] * value[i + 1];
        }
        if (i < end) even += u[c->column[i]] * value[i];
        even += odd;
        double *o = out + 3 * (size_t)v;
        o[0] += (double)even[0], o[1] += (double)even[1], o[2] += (double)even[2];
    }
}
