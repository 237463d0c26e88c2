#include "force/vertex_columns.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
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
    return SINEW_OK;
}

/* Sorts the vertices by the columns that they have, the first column first, as a stable sort by
 * each column from the last to the first does: those with the same ones end up side by side.
 * Vertices of no column come last; returns how many others there are. rest, seen: room for as many
 * numbers. */
static int order_vertices(const entries *all, int vertex_count, int column_count, int *order,
                          int *rest, int *seen) {
    int reached = 0;
    for (int v = 0; v < vertex_count; v++) order[v] = v, seen[v] = column_count;
    for (int k = column_count - 1; k >= 0; k--) {
        int with = 0, without = 0;
        for (size_t i = k ? all->end[k - 1] : 0; i < all->end[k]; i++) seen[all->vertex[i]] = k;
        for (int j = 0; j < vertex_count; j++) {
            int v = order[j];
            if (seen[v] == k)
                order[with++] = v;
            else
                rest[without++] = v;
        }
        memcpy(order + with, rest, sizeof(int) * (size_t)without);
    }
    for (int v = 0; v < vertex_count; v++) reached += seen[v] < column_count;
    return reached;
}

/* Room for the blocks of each group, and their columns. place: of each vertex in the order. */
static sinew_status make_blocks(const entries *all, const int *place, int lanes,
                                sn_vertex_columns *made, sinew_error *error) {
    size_t groups = (size_t)made->group_count, i = 0;
    int *last = SN_NEW(int, groups + 1);
    made->first = SN_NEW0(size_t, groups + 2);
    if (!last || !made->first) {
        sn_free(last);
        return sn_no_memory(error);
    }
    size_t *next = made->first + 1; /* becomes `first` as blocks are handed out */
    for (size_t g = 0; g < groups; g++) last[g] = -1;
    for (int k = 0; k < made->column_count; k++)
        for (; i < all->end[k]; i++) {
            int g = place[all->vertex[i]] / lanes;
            next[g + 1] += last[g] != k;
            last[g] = k;
        }
    for (size_t g = 0; g < groups; g++) next[g + 1] += next[g], last[g] = -1;
    size_t blocks = next[groups], numbers = 3 * (size_t)lanes * blocks;
    bool single = lanes == SN_COLUMN_LANES_F32;
    size_t bytes = numbers * (single ? sizeof(float) : sizeof(double));
    void *values = sn_alloc_aligned(bytes, 1);
    made->column = SN_NEW(int, blocks);
    if (single)
        made->value_f32 = values;
    else
        made->value = values;
    if (!made->column || !values) {
        sn_free(last);
        return sn_no_memory(error);
    }
    memset(values, 0, bytes);
    i = 0;
    for (int k = 0; k < made->column_count; k++)
        for (; i < all->end[k]; i++) {
            int at = place[all->vertex[i]], g = at / lanes;
            if (last[g] != k) made->column[next[g]++] = last[g] = k;
            size_t to = 3 * (size_t)lanes * (next[g] - 1) + (size_t)(at % lanes);
            for (size_t a = 0; a < 3; a++, to += (size_t)lanes) {
                if (single)
                    made->value_f32[to] = (float)all->value[3 * i + a];
                else
                    made->value[to] = all->value[3 * i + a];
            }
        }
    sn_free(last);
    return SINEW_OK;
}

static sinew_status group_vertices(const entries *all, bool single, sn_vertex_columns *made,
                                   sinew_error *error) {
    int n = made->vertex_count, lanes = single ? SN_COLUMN_LANES_F32 : SN_COLUMN_LANES;
    int *place = SN_NEW(int, n), *seen = SN_NEW(int, n);
    made->vertex = SN_NEW(int, n);
    sinew_status status = place && seen && made->vertex ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        made->reached = order_vertices(all, n, made->column_count, made->vertex, place, seen);
        made->group_count = (made->reached + lanes - 1) / lanes;
        for (int j = 0; j < n; j++) place[made->vertex[j]] = j;
        status = make_blocks(all, place, lanes, made, error);
    }
    sn_free(place), sn_free(seen);
    return status;
}

sinew_status sn_vertex_columns_create(int vertex_count, int column_count, sn_column_source *source,
                                      void *user, double drop, bool single,
                                      sn_vertex_columns **columns, sinew_error *error) {
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
        status = group_vertices(&all, single, made, error);
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
    sn_free(columns->vertex), sn_free(columns->first), sn_free(columns->column);
    sn_free_aligned(columns->value), sn_free_aligned(columns->value_f32);
    sn_free(columns);
}

typedef double lanes __attribute__((vector_size(SN_COLUMN_LANES * sizeof(double)), may_alias));
typedef float lanes_f32
    __attribute__((vector_size(SN_COLUMN_LANES_F32 * sizeof(float)), may_alias));

/* Groups that a thread takes at a time. */
enum { SHARE = 16 };

typedef struct add_groups_loop {
    const sn_vertex_columns *c;
    const double *u;
    double *out;
} add_groups_loop;

static void add_groups(void *context, sn_span span) {
    const add_groups_loop *loop = context;
    const sn_vertex_columns *c = loop->c;
    const double *u = loop->u;
    double *out = loop->out;
    SN_IN_SPAN(int, g, span) {
        const lanes *value = (const lanes *)c->value + 3 * c->first[g];
        lanes sum[3] = {{0}};
        for (size_t b = c->first[g]; b < c->first[g + 1]; b++, value += 3)
            for (int a = 0; a < 3; a++) sum[a] += u[c->column[b]] * value[a];
        for (int i = 0, j = g * SN_COLUMN_LANES; i < SN_COLUMN_LANES && j < c->reached; i++, j++)
            for (size_t a = 0; a < 3; a++) out[3 * (size_t)c->vertex[j] + a] += sum[a][i];
    }
}

void sn_vertex_columns_add(const sn_vertex_columns *c, const double *u, double *out) {
    sn_parallel_for(c->group_count, SHARE, add_groups, &(add_groups_loop){c, u, out});
}

typedef struct add_groups_f32_loop {
    const sn_vertex_columns *c;
    const float *u;
    double *out;
} add_groups_f32_loop;

static void add_groups_f32(void *context, sn_span span) {
    const add_groups_f32_loop *loop = context;
    const sn_vertex_columns *c = loop->c;
    const float *u = loop->u;
    double *out = loop->out;
    SN_IN_SPAN(int, g, span) {
        const lanes_f32 *value = (const lanes_f32 *)c->value_f32 + 3 * c->first[g];
        lanes_f32 sum[3] = {{0}};
        for (size_t b = c->first[g]; b < c->first[g + 1]; b++, value += 3)
            for (int a = 0; a < 3; a++) sum[a] += u[c->column[b]] * value[a];
        int j = g * SN_COLUMN_LANES_F32;
        for (int i = 0; i < SN_COLUMN_LANES_F32 && j < c->reached; i++, j++)
            for (size_t a = 0; a < 3; a++) out[3 * (size_t)c->vertex[j] + a] += (double)sum[a][i];
    }
}

void sn_vertex_columns_add_f32(const sn_vertex_columns *c, const float *u, double *out) {
    sn_parallel_for(c->group_count, SHARE, add_groups_f32, &(add_groups_f32_loop){c, u, out});
}
