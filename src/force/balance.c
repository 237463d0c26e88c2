#include "force/balance.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/vec3.h"

/* Vertex v has 2 (degree + 1) unknowns: its own two, then two of each neighbor. Its share of Q is
 * a full block over them, of which the lower triangle is kept by rows. */
struct sn_balance_builder {
    const sn_potentials *potentials;
    double *weight;            /* per vertex: A_v / N_vv^2; 0 where it is held */
    size_t *block_start;       /* per vertex, into `block` */
    double *block;             /* lower triangles */
    double *linear;            /* per unknown of each vertex, at unknown_start */
    double *constant;          /* per vertex */
    double *coefficient;       /* 3 per unknown of each vertex, of the example at hand */
    double *tension, *scratch; /* of the example at hand */
};

/* First unknown of vertex v among those of all vertices. */
static size_t unknown_start(const sn_skin *skin, int v) {
    return 2 * ((size_t)v + (size_t)skin->start[v]);
}

static int unknowns_of(const sn_skin *skin, int v) {
    return 2 * (1 + skin->start[v + 1] - skin->start[v]);
}

static int global_unknown(const sn_skin *skin, int v, int local) {
    int at = local < 2 ? v : skin->neighbour[skin->start[v] + local / 2 - 1];
    return 2 * at + local % 2;
}

static void clear(sn_balance_builder *b) {
    const sn_skin *skin = b->potentials->skin;
    int n = skin->vertex_count;
    memset(b->block, 0, b->block_start[n] * sizeof(double));
    memset(b->linear, 0, unknown_start(skin, n) * sizeof(double));
    memset(b->constant, 0, sizeof(double) * (size_t)n);
}

static sinew_status weigh(sn_balance_builder *b, sinew_error *error) {
    const sn_skin *skin = b->potentials->skin;
    sn_sparse *matrix;
    memset(b->constant, 0, sizeof(double) * (size_t)skin->vertex_count);
    SN_TRY(sn_potentials_matrix(b->potentials, b->constant, &matrix, error));
    for (int v = 0; v < skin->vertex_count; v++) {
        /* the diagonal opens its column */
        int at = matrix->start[v];
        double stiffness =
            at < matrix->start[v + 1] && matrix->row[at] == v ? matrix->value[at] : 0;
        b->weight[v] =
            skin->fixed[v] || !(stiffness > 0) ? 0 : skin->area[v] / (stiffness * stiffness);
    }
    sn_sparse_destroy(matrix);
    return SINEW_OK;
}

sinew_status sn_balance_builder_create(const sn_potentials *potentials,
                                       sn_balance_builder **builder, sinew_error *error) {
    *builder = NULL;
    const sn_skin *skin = potentials->skin;
    size_t n = (size_t)skin->vertex_count;
    sn_balance_builder *b = SN_NEW0(sn_balance_builder, 1);
    if (!b) return sn_no_memory(error);
    b->potentials = potentials;
    b->block_start = SN_NEW0(size_t, n + 1);
    sinew_status status = b->block_start ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int v = 0; v < (int)n; v++) {
            size_t m = (size_t)unknowns_of(skin, v);
            b->block_start[v + 1] = b->block_start[v] + m * (m + 1) / 2;
        }
        size_t unknowns = unknown_start(skin, (int)n);
        b->weight = SN_NEW(double, n), b->constant = SN_NEW(double, n);
        b->block = SN_NEW(double, b->block_start[n]);
        b->linear = SN_NEW(double, unknowns);
        b->coefficient = SN_NEW(double, 3 * unknowns);
        b->tension = SN_NEW0(double, skin->edge_count);
        b->scratch = SN_NEW(double, sn_potentials_scratch(potentials));
        if (!b->weight || !b->constant || !b->block || !b->linear || !b->coefficient ||
            !b->tension || !b->scratch)
            status = sn_no_memory(error);
    }
    if (status == SINEW_OK) status = weigh(b, error);
    if (status != SINEW_OK) {
        sn_balance_builder_destroy(b);
        return status;
    }
    clear(b);
    *builder = b;
    return SINEW_OK;
}

void sn_balance_builder_destroy(sn_balance_builder *b) {
    if (!b) return;
    sn_free(b->weight), sn_free(b->block_start), sn_free(b->block), sn_free(b->linear);
    sn_free(b->constant), sn_free(b->coefficient), sn_free(b->tension), sn_free(b->scratch);
    sn_free(b);
}

static sn_vec3 pull_at(const double *pull, int v) {
    const double *g = pull + 4 * (size_t)v;
    return sn_v3(g[0], g[1], g[2]);
}

/* The coefficients of the unknowns of v in r_v; returns the part without unknowns. */
static sn_vec3 find_coefficients(const sn_balance_builder *b, const double *pull,
                                 const double *push, const double *x, int v, double *c) {
    const sn_potentials *p = b->potentials;
    const sn_skin *skin = p->skin;
    sn_vec3 xv = sn_at(x, v), stretch = {0, 0, 0}, bend = {0, 0, 0}, g = pull_at(pull, v);
    for (int h = skin->start[v], k = 2; h < skin->start[v + 1]; h++, k += 2) {
        int w = skin->neighbour[h];
        double weight = skin->neighbour_weight[h];
        sn_vec3 t = sn_scale(0.5 * b->tension[skin->edge[h]], sn_sub(xv, sn_at(x, w)));
        sn_put(c, k, t);
        sn_put(c, k + 1, sn_scale(-weight, pull_at(pull, w)));
        stretch = sn_add(stretch, t);
        bend = sn_add_scaled(bend, weight, g);
    }
    sn_put(c, 0, stretch);
    sn_put(c, 1, bend);
    return sn_add_scaled(sn_at(push, v), -p->position[v], sn_sub(xv, sn_at(skin->rest, v)));
}

typedef struct add_vertices_loop {
    sn_balance_builder *b;
    const double *pull;
    const double *push;
    const double *x;
} add_vertices_loop;

static void add_vertices(void *context, sn_span span) {
    const add_vertices_loop *loop = context;
    sn_balance_builder *b = loop->b;
    const double *pull = loop->pull;
    const double *push = loop->push;
    const double *x = loop->x;
    const sn_skin *skin = b->potentials->skin;
    SN_IN_SPAN(int, v, span) {
        double weight = b->weight[v];
        if (!(weight > 0)) continue;
        int m = unknowns_of(skin, v);
        size_t first = unknown_start(skin, v);
        double *c = b->coefficient + 3 * first, *block = b->block + b->block_start[v];
        sn_vec3 given = find_coefficients(b, pull, push, x, v, c);
        b->constant[v] += weight * sn_dot(given, given);
        for (int i = 0; i < m; i++) {
            sn_vec3 ci = sn_scale(weight, sn_at(c, i));
            b->linear[first + (size_t)i] += sn_dot(ci, given);
            for (int j = 0; j <= i; j++) *block++ += sn_dot(ci, sn_at(c, j));
        }
    }
}

void sn_balance_add(sn_balance_builder *b, const double *push, const double *x) {
    const sn_skin *skin = b->potentials->skin;
    const double *pull = sn_potentials_strains(b->potentials, x, b->scratch, b->tension);
    sn_parallel_for(skin->vertex_count, 32, add_vertices, &(add_vertices_loop){b, pull, push, x});
}

static sinew_status gather(const sn_balance_builder *b, sn_balance *made, sinew_error *error) {
    const sn_skin *skin = b->potentials->skin;
    int n = skin->vertex_count;
    sn_triplets t;
    SN_TRY(sn_triplets_create(2 * n, 2 * n, b->block_start[n] + 2 * (size_t)n, &t, error));
    bool ok = true;
    /* so that every unknown has its diagonal, seen or not */
    for (int i = 0; ok && i < 2 * n; i++) ok = sn_triplets_add(&t, i, i, 0);
    for (int v = 0; ok && v < n; v++) {
        int m = unknowns_of(skin, v);
        const double *block = b->block + b->block_start[v];
        ok = !(v % 256 == 0 && sn_interrupted());
        for (int i = 0; ok && i < m; i++) {
            int row = global_unknown(skin, v, i);
            made->linear[row] += b->linear[unknown_start(skin, v) + (size_t)i];
            for (int j = 0; ok && j <= i; j++) {
                int column = global_unknown(skin, v, j);
                ok = row >= column ? sn_triplets_add(&t, row, column, *block++)
                                   : sn_triplets_add(&t, column, row, *block++);
            }
        }
        made->constant += b->constant[v];
    }
    sinew_status status =
        ok ? sn_sparse_from_triplets(&t, true, &made->matrix, error) : sn_no_memory(error);
    sn_triplets_free(&t);
    return status;
}

static sn_balance *new_balance(int size) {
    sn_balance *made = SN_NEW0(sn_balance, 1);
    if (!made) return NULL;
    made->size = size;
    made->linear = SN_NEW0(double, size);
    if (made->linear) return made;
    sn_balance_destroy(made);
    return NULL;
}

sinew_status sn_balance_finish(sn_balance_builder *b, sn_balance **balance, sinew_error *error) {
    *balance = NULL;
    sn_balance *made = new_balance(2 * b->potentials->skin->vertex_count);
    if (!made) return sn_no_memory(error);
    sinew_status status = gather(b, made, error);
    if (status != SINEW_OK) {
        sn_balance_destroy(made);
        return status;
    }
    clear(b);
    *balance = made;
    return SINEW_OK;
}

void sn_balance_destroy(sn_balance *b) {
    if (!b) return;
    sn_sparse_destroy(b->matrix);
    sn_free(b->linear);
    sn_free(b);
}

double sn_balance_value(const sn_balance *b, const double *f, double *scratch) {
    double sum = b->constant;
    sn_sparse_multiply(b->matrix, 1, f, scratch);
    for (int i = 0; i < b->size; i++) sum += f[i] * (scratch[i] + 2 * b->linear[i]);
    return sum > 0 ? sum : 0;
}

void sn_balance_join(sn_balance *first, const sn_balance *second) {
    for (int k = 0; k < sn_sparse_nonzeros(first->matrix); k++)
        first->matrix->value[k] += second->matrix->value[k];
    for (int i = 0; i < first->size; i++) first->linear[i] += second->linear[i];
    first->constant += second->constant;
}

sinew_status sn_balance_uniform(const sn_balance *b, sn_balance **uniform, sinew_error *error) {
    *uniform = NULL;
    double full[2][2] = {{0, 0}, {0, 0}};
    for (int c = 0; c < b->size; c++)
        for (int k = b->matrix->start[c]; k < b->matrix->start[c + 1]; k++) {
            int r = b->matrix->row[k];
            full[r % 2][c % 2] += b->matrix->value[k];
            if (r != c) full[c % 2][r % 2] += b->matrix->value[k];
        }
    sn_balance *made = new_balance(2);
    sn_triplets t;
    if (!made) return sn_no_memory(error);
    sinew_status status = sn_triplets_create(2, 2, 3, &t, error);
    if (status == SINEW_OK) {
        bool ok = sn_triplets_add(&t, 0, 0, full[0][0]) && sn_triplets_add(&t, 1, 0, full[1][0]) &&
                  sn_triplets_add(&t, 1, 1, full[1][1]);
        status = ok ? sn_sparse_from_triplets(&t, true, &made->matrix, error) : sn_no_memory(error);
        sn_triplets_free(&t);
    }
    if (status != SINEW_OK) {
        sn_balance_destroy(made);
        return status;
    }
    for (int i = 0; i < b->size; i++) made->linear[i % 2] += b->linear[i];
    made->constant = b->constant;
    *uniform = made;
    return SINEW_OK;
}
