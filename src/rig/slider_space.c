#include "rig/slider_space.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "algebra/dense.h"
#include "algebra/solver_libraries.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"

/* Vertices whose rows are packed into one dense product: enough to be fast, few enough that local
 * targets leave most columns out. */
enum { BLOCK = 512 };
/* Locks keep about eight matrices with a row and a column per target: 1.1 GB at this number. */
enum { MOST_TARGETS = 4096 };

/* --- displacements by vertex ------------------------------------------------------------------
 */

static bool is_zero(const double *d) {
    return d[0] == 0 && d[1] == 0 && d[2] == 0;
}

static sinew_status gather_by_vertex(const sinew_rig *rig, sinew_slider_space *space,
                                     sinew_error *error) {
    int n = rig->neutral->vertex_count;
    size_t total = 0;
    space->start = SN_NEW0(int, (size_t)n + 1);
    space->axes = SN_NEW0(unsigned char, n);
    int *fill = SN_NEW0(int, n);
    if (!space->start || !space->axes || !fill) {
        sn_free(fill);
        return sn_no_memory(error);
    }
    for (int k = 0; k < rig->target_count; k++)
        for (int i = 0; i < rig->targets[k].count; i++) {
            if (is_zero(rig->targets[k].deltas + 3 * (size_t)i)) continue;
            space->start[rig->targets[k].vertices[i] + 1]++;
            total++;
        }
    if (total > INT_MAX / 3) {
        sn_free(fill);
        return sn_fail(error, SINEW_BAD_INPUT, "the rig moves %zu vertices in all, over the limit",
                       total);
    }
    for (int v = 0; v < n; v++) space->start[v + 1] += space->start[v];
    space->target = SN_NEW(int, total);
    space->delta = SN_NEW(double, 3 * total);
    if (!space->target || !space->delta) {
        sn_free(fill);
        return sn_no_memory(error);
    }
    for (int k = 0; k < rig->target_count; k++)
        for (int i = 0; i < rig->targets[k].count; i++) {
            const double *d = rig->targets[k].deltas + 3 * (size_t)i;
            if (is_zero(d)) continue;
            int v = rig->targets[k].vertices[i];
            int at = space->start[v] + fill[v]++;
            space->target[at] = k;
            for (int c = 0; c < 3; c++) {
                space->delta[3 * (size_t)at + (size_t)c] = d[c];
                if (d[c] != 0) space->axes[v] |= (unsigned char)(1 << c);
            }
        }
    sn_free(fill);
    return SINEW_OK;
}

static void measure(sinew_slider_space *space) {
    const double *positions = space->rig->neutral->positions;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    double square = 0;
    for (int v = 0; v < space->rig->neutral->vertex_count; v++) {
        if (!space->axes[v]) continue;
        for (int c = 0; c < 3; c++) {
            double x = positions[3 * (size_t)v + (size_t)c];
            if (space->axes[v] >> c & 1) space->moved_count++;
            if (x < low[c]) low[c] = x;
            if (x > high[c]) high[c] = x;
        }
    }
    for (int c = 0; space->moved_count > 0 && c < 3; c++)
        square += (high[c] - low[c]) * (high[c] - low[c]);
    space->diagonal = sqrt(square);

    double trace = 0;
    int moving = 0;
    for (int k = 0; k < space->rig->target_count; k++) {
        double own = space->gram[(size_t)k * (size_t)space->rig->target_count + (size_t)k];
        trace += own;
        moving += own > 0;
    }
    space->mean_square = trace > 0 ? trace / moving : 1;
}

/* --- the Gram matrix --------------------------------------------------------------------------
 */

typedef struct placed {
    uint32_t code;
    int vertex;
} placed;

static int compare_placed(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

/* Ten bits, two zeros between each. */
static uint32_t spread_bits(uint32_t x) {
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

/* Moved vertices along a space-filling curve: neighbors are moved by the same targets, so that a
 * block of them has few columns whatever the order of the file. */
static int order_vertices(const sinew_slider_space *space, placed *order) {
    const sinew_mesh *neutral = space->rig->neutral;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high = 0;
    int count = 0;
    for (int v = 0; v < neutral->vertex_count; v++)
        for (int c = 0; space->axes[v] && c < 3; c++)
            low[c] = fmin(low[c], neutral->positions[3 * (size_t)v + (size_t)c]);
    for (int v = 0; v < neutral->vertex_count; v++)
        for (int c = 0; space->axes[v] && c < 3; c++)
            high = fmax(high, neutral->positions[3 * (size_t)v + (size_t)c] - low[c]);
    double scale = high > 0 ? 1023 / high : 0;
    for (int v = 0; v < neutral->vertex_count; v++) {
        if (!space->axes[v]) continue;
        uint32_t code = 0;
        for (int c = 0; c < 3; c++) {
            double x = scale * (neutral->positions[3 * (size_t)v + (size_t)c] - low[c]);
            code |= spread_bits((uint32_t)x) << c;
        }
        order[count++] = (placed){code, v};
    }
    qsort(order, (size_t)count, sizeof *order, compare_placed);
    return count;
}

static sinew_status compute_gram(sinew_slider_space *space, sinew_error *error) {
    size_t m = (size_t)space->rig->target_count;
    sn_row_pack pack = {0};
    int *vertices = SN_NEW(int, BLOCK);
    double *ones = SN_NEW(double, 3 * BLOCK);
    placed *order = SN_NEW(placed, space->rig->neutral->vertex_count);
    space->gram = SN_NEW0(double, m *m);
    sinew_status status = vertices && ones && order && space->gram ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_row_pack_create(space, &pack, error);
    for (int i = 0; status == SINEW_OK && i < 3 * BLOCK; i++) ones[i] = 1;
    int count = status == SINEW_OK ? order_vertices(space, order) : 0;
    for (int first = 0; status == SINEW_OK && first < count; first += BLOCK) {
        sn_picked_rows rows = {count - first < BLOCK ? count - first : BLOCK, vertices, ones};
        for (int i = 0; i < rows.count; i++) vertices[i] = order[first + i].vertex;
        status = sn_add_gram(space, &rows, &pack, space->gram, error);
    }
    sn_row_pack_free(&pack);
    sn_free(vertices);
    sn_free(ones);
    sn_free(order);
    return status;
}

sinew_status sinew_slider_space_create(const sinew_rig *rig, sinew_slider_space **space,
                                       sinew_error *error) {
    SN_REQUIRE(rig && space, error);
    SN_TRY(sn_solvers_load(error)); /* products have no status */
    *space = NULL;
    if (rig->target_count > MOST_TARGETS)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the rig has %d targets; locks and interference support at most %d",
                       rig->target_count, MOST_TARGETS);
    sinew_slider_space *made = SN_NEW0(sinew_slider_space, 1);
    if (!made) return sn_no_memory(error);
    made->rig = rig;
    sinew_status status = sn_activation_plan_create(rig, &made->plan, error);
    if (status == SINEW_OK) status = gather_by_vertex(rig, made, error);
    if (status == SINEW_OK) status = compute_gram(made, error);
    if (status != SINEW_OK) {
        sinew_slider_space_destroy(made);
        return status;
    }
    made->aligned = made->plan->linear && rig->target_count == rig->slider_count;
    for (int k = 0; k < rig->target_count; k++)
        if (rig->targets[k].slider != k) made->aligned = false;
    measure(made);
    *space = made;
    return SINEW_OK;
}

void sinew_slider_space_destroy(sinew_slider_space *space) {
    if (!space) return;
    sn_activation_plan_destroy(space->plan);
    sn_free(space->start);
    sn_free(space->target);
    sn_free(space->delta);
    sn_free(space->gram);
    sn_free(space->axes);
    sn_free(space);
}

int sinew_slider_space_moved(const sinew_slider_space *space) {
    return space ? space->moved_count : 0;
}

double sinew_slider_space_diagonal(const sinew_slider_space *space) {
    return space ? space->diagonal : 0;
}

/* --- picked rows ------------------------------------------------------------------------------
 */

sinew_status sn_row_pack_create(const sinew_slider_space *space, sn_row_pack *pack,
                                sinew_error *error) {
    *pack = (sn_row_pack){0};
    pack->columns = SN_NEW(int, space->rig->target_count);
    pack->place = SN_NEW(int, space->rig->target_count);
    if (!pack->columns || !pack->place) {
        sn_row_pack_free(pack);
        return sn_no_memory(error);
    }
    return SINEW_OK;
}

void sn_row_pack_free(sn_row_pack *pack) {
    sn_free(pack->rows);
    sn_free(pack->product);
    sn_free(pack->columns);
    sn_free(pack->place);
    *pack = (sn_row_pack){0};
}

/* The targets that touch any of the vertices, and the index of each among them. */
static int union_of_targets(const sinew_slider_space *space, const sn_picked_rows *rows,
                            sn_row_pack *pack) {
    int m = space->rig->target_count, count = 0;
    for (int k = 0; k < m; k++) pack->place[k] = -1;
    for (int i = 0; i < rows->count; i++) {
        int v = rows->vertices[i];
        for (int e = space->start[v]; e < space->start[v + 1]; e++)
            pack->place[space->target[e]] = 0;
    }
    for (int k = 0; k < m; k++)
        if (pack->place[k] == 0) {
            pack->place[k] = count;
            pack->columns[count++] = k;
        }
    return count;
}

/* The rows of one sign, scaled by the square root of their factor, as a dense matrix over the
 * columns of the union. */
static void pack_rows(const sinew_slider_space *space, const sn_picked_rows *rows, double sign,
                      int row_limit, int columns, sn_row_pack *pack) {
    int count = 0;
    memset(pack->rows, 0, sizeof(double) * (size_t)row_limit * (size_t)columns);
    for (int i = 0; i < rows->count; i++) {
        int v = rows->vertices[i];
        for (int c = 0; c < 3; c++) {
            double factor = sign * rows->factors[3 * (size_t)i + (size_t)c];
            if (!(factor > 0) || !(space->axes[v] >> c & 1)) continue;
            double root = sqrt(factor);
            for (int e = space->start[v]; e < space->start[v + 1]; e++)
                pack->rows[(size_t)pack->place[space->target[e]] * (size_t)row_limit +
                           (size_t)count] = root * space->delta[3 * (size_t)e + (size_t)c];
            count++;
        }
    }
}

typedef struct scatter_columns_loop {
    const sn_row_pack *pack;
    int columns;
    double sign;
    size_t m;
    double *matrix;
} scatter_columns_loop;

static void scatter_columns(void *context, sn_span span) {
    const scatter_columns_loop *loop = context;
    const sn_row_pack *pack = loop->pack;
    int columns = loop->columns;
    double sign = loop->sign;
    size_t m = loop->m;
    double *matrix = loop->matrix;
    SN_IN_SPAN(int, j, span) {
        double *to = matrix + (size_t)pack->columns[j] * m;
        const double *from = pack->product + (size_t)j * (size_t)columns;
        for (int i = 0; i < columns; i++) to[pack->columns[i]] += sign * from[i];
    }
}

static void scatter(const sn_row_pack *pack, int columns, double sign, size_t m, double *matrix) {
    sn_parallel_for(columns, 8, scatter_columns,
                    &(scatter_columns_loop){pack, columns, sign, m, matrix});
}

/* Picked coordinates of one sign that some target moves. */
static int count_rows(const sinew_slider_space *space, const sn_picked_rows *rows, double sign) {
    int count = 0;
    for (int i = 0; i < rows->count; i++)
        for (int c = 0; c < 3; c++)
            count += sign * rows->factors[3 * (size_t)i + (size_t)c] > 0 &&
                     space->axes[rows->vertices[i]] >> c & 1;
    return count;
}

sinew_status sn_add_gram(const sinew_slider_space *space, const sn_picked_rows *rows,
                         sn_row_pack *pack, double *matrix, sinew_error *error) {
    size_t m = (size_t)space->rig->target_count;
    int columns = union_of_targets(space, rows, pack);
    if (columns == 0) return SINEW_OK;
    const double signs[2] = {1, -1};
    int counts[2] = {count_rows(space, rows, 1), count_rows(space, rows, -1)};
    size_t most = (size_t)(counts[0] > counts[1] ? counts[0] : counts[1]);
    /* Before anything is added, so that a failure leaves the matrix as it was. */
    if (!SN_RESERVE(pack->rows, pack->row_capacity, most * (size_t)columns) ||
        !SN_RESERVE(pack->product, pack->product_capacity, (size_t)columns * (size_t)columns))
        return sn_no_memory(error);
    for (int i = 0; i < 2; i++) {
        if (counts[i] == 0) continue;
        pack_rows(space, rows, signs[i], counts[i], columns, pack);
        sn_dense_gram(counts[i], columns, 1, pack->rows, 0, pack->product);
        scatter(pack, columns, signs[i], m, matrix);
    }
    return SINEW_OK;
}

void sn_vertex_motion(const sinew_slider_space *space, int vertex, const double *activations,
                      double motion[3]) {
    double x = 0, y = 0, z = 0;
    for (int e = space->start[vertex]; e < space->start[vertex + 1]; e++) {
        double a = activations[space->target[e]];
        const double *d = space->delta + 3 * (size_t)e;
        x += a * d[0];
        y += a * d[1];
        z += a * d[2];
    }
    motion[0] = x;
    motion[1] = y;
    motion[2] = z;
}

void sn_vertex_pull(const sinew_slider_space *space, int vertex, const double force[3],
                    double *gradient) {
    for (int e = space->start[vertex]; e < space->start[vertex + 1]; e++) {
        const double *d = space->delta + 3 * (size_t)e;
        gradient[space->target[e]] += force[0] * d[0] + force[1] * d[1] + force[2] * d[2];
    }
}

/* --- through the activations ------------------------------------------------------------------
 *
 * J = da/dw has one entry in the row of a plain or in-between target, driver_count in that of a
 * combination. */

typedef struct jacobian_row {
    int count;
    const int *sliders;
    const double *slopes;
} jacobian_row;

static jacobian_row row_of(const sinew_slider_space *space, const double *derivatives, int k) {
    const sinew_target *target = &space->rig->targets[k];
    bool own = target->kind != SINEW_TARGET_KIND_COMBINATION;
    return (jacobian_row){own ? 1 : target->driver_count, own ? &target->slider : target->drivers,
                          derivatives + space->plan->derivative_start[k]};
}

void sn_pull_back(const sinew_slider_space *space, const double *derivatives,
                  const double *y_target, double *y_slider) {
    memset(y_slider, 0, sizeof(double) * (size_t)space->rig->slider_count);
    for (int k = 0; k < space->rig->target_count; k++) {
        jacobian_row row = row_of(space, derivatives, k);
        for (int i = 0; i < row.count; i++) y_slider[row.sliders[i]] += row.slopes[i] * y_target[k];
    }
}

typedef struct copy_columns_loop {
    size_t m;
    const double *matrix;
    double *slider_matrix;
} copy_columns_loop;

static void copy_columns(void *context, sn_span span) {
    const copy_columns_loop *loop = context;
    size_t m = loop->m;
    const double *matrix = loop->matrix;
    double *slider_matrix = loop->slider_matrix;
    SN_IN_SPAN(size_t, j, span) memcpy(slider_matrix + j * m, matrix + j * m, sizeof(double) * m);
}

/* Column s of A J, then J^T of it; a slider drives a handful of targets, so most of the work is
 * adding columns of A. */
void sn_pull_back_matrix(const sinew_slider_space *space, const double *derivatives,
                         const double *matrix, double *slider_matrix, double *scratch) {
    size_t m = (size_t)space->rig->target_count, sliders = (size_t)space->rig->slider_count;
    if (space->aligned) {
        sn_parallel_for(m, 16, copy_columns, &(copy_columns_loop){m, matrix, slider_matrix});
        return;
    }
    for (size_t s = 0; s < sliders; s++) {
        memset(scratch, 0, sizeof(double) * m);
        for (int k = 0; k < (int)m; k++) {
            jacobian_row row = row_of(space, derivatives, k);
            for (int i = 0; i < row.count; i++) {
                if (row.sliders[i] != (int)s || row.slopes[i] == 0) continue;
                const double *column = matrix + (size_t)k * m;
                for (size_t j = 0; j < m; j++) scratch[j] += row.slopes[i] * column[j];
            }
        }
        sn_pull_back(space, derivatives, scratch, slider_matrix + s * sliders);
    }
}
