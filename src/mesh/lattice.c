/* Based on: Kuhn's subdivision of a cube into six tets along its main diagonal; the separating axes
 * of a triangle and a box (Akenine-Moeller 2001); flood filling.
 * We differ in: a cell counts as touched when the surface only reaches its border, so that the
 * cells along a connected surface always hang together by whole faces. */
#include "mesh/lattice.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/vec3.h"
#include "mesh/topology.h"

/* Most cells in the box of one part. */
static const double most_cells = 268435456; /* 2^28 */

/* Room for rounding in the overlap test, in cells. */
static const double touch = 1e-9;

typedef enum cell_state { EMPTY, TOUCHED, OUTSIDE } cell_state;

/* The cells around one part; index (i, j, k) from `low`, with a border of empty cells. */
typedef struct cell_block {
    int low[3], size[3];
    char *state;
    int *number; /* of each kept cell, or -1 */
    int *corner; /* vertex at each corner of the grid, or -1 */
} cell_block;

typedef struct cell_grid {
    sn_vec3 origin;
    double cell;
} cell_grid;

/* Coordinates in cells. */
static sn_vec3 to_grid(const cell_grid *grid, sn_vec3 p) {
    return sn_scale(1 / grid->cell, sn_sub(p, grid->origin));
}

static size_t cell_index(const cell_block *block, int i, int j, int k) {
    return ((size_t)i * (size_t)block->size[1] + (size_t)j) * (size_t)block->size[2] + (size_t)k;
}

static size_t corner_index(const cell_block *block, int i, int j, int k) {
    return ((size_t)i * ((size_t)block->size[1] + 1) + (size_t)j) * ((size_t)block->size[2] + 1) +
           (size_t)k;
}

static void block_free(cell_block *block) {
    sn_free(block->state);
    sn_free(block->number);
    sn_free(block->corner);
}

static sinew_status block_create(const cell_grid *grid, int count, const int *vertices,
                                 const double *positions, cell_block *block, sinew_error *error) {
    sn_vec3 low = sn_v3(INFINITY, INFINITY, INFINITY), high = sn_scale(-1, low);
    for (int i = 0; i < count; i++) {
        sn_vec3 p = to_grid(grid, sn_at(positions, vertices[i]));
        low = sn_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sn_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    const double from[3] = {low.x, low.y, low.z}, to[3] = {high.x, high.y, high.z};
    double cells = 1;
    for (int k = 0; k < 3; k++) cells *= floor(to[k]) - floor(from[k]) + 5;
    if (!(cells < most_cells))
        return sn_fail(error, SINEW_BAD_INPUT, "%.3g cells are too many: choose a larger cell",
                       cells);
    for (int k = 0; k < 3; k++) {
        block->low[k] = (int)floor(from[k]) - 2;
        block->size[k] = (int)floor(to[k]) + 2 - block->low[k] + 1;
    }
    size_t corners =
        ((size_t)block->size[0] + 1) * ((size_t)block->size[1] + 1) * ((size_t)block->size[2] + 1);
    block->state = SN_NEW0(char, cell_index(block, block->size[0], 0, 0));
    block->number = SN_NEW(int, cell_index(block, block->size[0], 0, 0));
    block->corner = SN_NEW(int, corners);
    if (!block->state || !block->number || !block->corner) return sn_no_memory(error);
    for (size_t i = 0; i < corners; i++) block->corner[i] = -1;
    return SINEW_OK;
}

/* Both closed; v relative to the center of a unit cell. */
static bool separated_by(sn_vec3 axis, const sn_vec3 v[3]) {
    double a = sn_dot(axis, v[0]), b = sn_dot(axis, v[1]), c = sn_dot(axis, v[2]);
    double reach = (0.5 + touch) * (fabs(axis.x) + fabs(axis.y) + fabs(axis.z));
    return fmin(a, fmin(b, c)) > reach || fmax(a, fmax(b, c)) < -reach;
}

static bool triangle_touches(const sn_vec3 v[3]) {
    const sn_vec3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int k = 0; k < 3; k++)
        if (separated_by(unit[k], v)) return false;
    if (separated_by(sn_cross(sn_sub(v[1], v[0]), sn_sub(v[2], v[0])), v)) return false;
    for (int e = 0; e < 3; e++)
        for (int k = 0; k < 3; k++)
            if (separated_by(sn_cross(unit[k], sn_sub(v[(e + 1) % 3], v[e])), v)) return false;
    return true;
}

static int clamp(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

static void mark_triangle(const cell_grid *grid, cell_block *block, const double *positions,
                          const int *triangle) {
    double corner[3][3];
    int from[3], to[3];
    for (int c = 0; c < 3; c++) {
        sn_vec3 p = to_grid(grid, sn_at(positions, triangle[c]));
        corner[c][0] = p.x - block->low[0];
        corner[c][1] = p.y - block->low[1];
        corner[c][2] = p.z - block->low[2];
    }
    for (int k = 0; k < 3; k++) {
        double low = fmin(corner[0][k], fmin(corner[1][k], corner[2][k])) - touch;
        double high = fmax(corner[0][k], fmax(corner[1][k], corner[2][k])) + touch;
        /* a side that lies on a border touches the cell before it too */
        from[k] = clamp((int)ceil(low) - 1, 0, block->size[k] - 1);
        to[k] = clamp((int)floor(high), 0, block->size[k] - 1);
    }
    for (int i = from[0]; i <= to[0]; i++)
        for (int j = from[1]; j <= to[1]; j++)
            for (int k = from[2]; k <= to[2]; k++) {
                char *state = block->state + cell_index(block, i, j, k);
                if (*state == TOUCHED) continue;
                sn_vec3 v[3];
                for (int c = 0; c < 3; c++)
                    v[c] = sn_v3(corner[c][0] - i - 0.5, corner[c][1] - j - 0.5,
                                 corner[c][2] - k - 0.5);
                if (triangle_touches(v)) *state = TOUCHED;
            }
}

/* Cell of a vertex and its place in it, each coordinate in [0, 1]. */
static size_t locate(const cell_grid *grid, const cell_block *block, sn_vec3 p, double place[3]) {
    sn_vec3 g = to_grid(grid, p);
    const double at[3] = {g.x - block->low[0], g.y - block->low[1], g.z - block->low[2]};
    int cell[3];
    for (int k = 0; k < 3; k++) {
        cell[k] = clamp((int)floor(at[k]), 0, block->size[k] - 1);
        place[k] = at[k] - cell[k];
    }
    return cell_index(block, cell[0], cell[1], cell[2]);
}

/* Everything that can be reached from the border without entering a touched cell is outside. */
static bool flood(cell_block *block) {
    size_t capacity = 0, depth = 0, *stack = NULL;
    if (!SN_RESERVE(stack, capacity, 1)) return false;
    stack[depth++] = 0; /* a corner of the border, which is empty */
    block->state[0] = OUTSIDE;
    size_t step[3] = {cell_index(block, 1, 0, 0), cell_index(block, 0, 1, 0), 1};
    bool ok = true;
    while (ok && depth > 0) {
        size_t here = stack[--depth];
        int at[3] = {(int)(here / step[0]), (int)(here / step[1] % (size_t)block->size[1]),
                     (int)(here % step[1])};
        for (int k = 0; ok && k < 3; k++)
            for (int way = -1; ok && way <= 1; way += 2) {
                if (at[k] + way < 0 || at[k] + way >= block->size[k]) continue;
                size_t next = way > 0 ? here + step[k] : here - step[k];
                if (block->state[next] != EMPTY) continue;
                block->state[next] = OUTSIDE;
                ok = SN_RESERVE(stack, capacity, depth + 1);
                if (ok) stack[depth++] = next;
            }
    }
    sn_free(stack);
    return ok;
}

/* The six orders of the axes. Tet p walks from the first corner of the cell to the last along the
 * axes in this order; odd orders give a mirrored tet, whose last corners are swapped. */
static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
enum { EVEN_ORDERS = 3 };

/* The growing tet mesh. */
typedef struct builder {
    sinew_tets *tets;
    size_t position_capacity, tet_capacity; /* in doubles and ints */
} builder;

static bool add_corner(builder *build, const cell_grid *grid, cell_block *block, const int cell[3],
                       const int offset[3], int *vertex) {
    int at[3] = {cell[0] + offset[0], cell[1] + offset[1], cell[2] + offset[2]};
    int *known = block->corner + corner_index(block, at[0], at[1], at[2]);
    if (*known < 0) {
        sinew_tets *tets = build->tets;
        if (tets->vertex_count >= INT_MAX / 3 ||
            !SN_RESERVE(tets->positions, build->position_capacity,
                        3 * ((size_t)tets->vertex_count + 1)))
            return false;
        sn_vec3 g = sn_v3(at[0] + block->low[0], at[1] + block->low[1], at[2] + block->low[2]);
        sn_put(tets->positions, tets->vertex_count, sn_add_scaled(grid->origin, grid->cell, g));
        *known = tets->vertex_count++;
    }
    *vertex = *known;
    return true;
}

static bool add_cell(builder *build, const cell_grid *grid, cell_block *block, const int cell[3]) {
    sinew_tets *tets = build->tets;
    if (tets->tet_count > INT_MAX / 4 - 6 ||
        !SN_RESERVE(tets->tets, build->tet_capacity, 4 * ((size_t)tets->tet_count + 6)))
        return false;
    for (int p = 0; p < 6; p++) {
        int *out = tets->tets + 4 * (size_t)tets->tet_count++, offset[3] = {0, 0, 0};
        for (int c = 0; c < 4; c++) {
            if (c > 0) offset[order[p][c - 1]] = 1;
            int place = p < EVEN_ORDERS || c < 2 ? c : 5 - c;
            if (!add_corner(build, grid, block, cell, offset, &out[place])) return false;
        }
    }
    return true;
}

static bool add_cells(builder *build, const cell_grid *grid, cell_block *block) {
    for (int i = 0; i < block->size[0]; i++)
        for (int j = 0; j < block->size[1]; j++)
            for (int k = 0; k < block->size[2]; k++) {
                size_t index = cell_index(block, i, j, k);
                block->number[index] = -1;
                if (block->state[index] == OUTSIDE) continue;
                block->number[index] = build->tets->tet_count;
                if (!add_cell(build, grid, block, (int[3]){i, j, k})) return false;
            }
    return true;
}

/* In the tet whose order sorts the place's coordinates from large to small, the weights are the
 * steps between them:  1 - a,  a - b,  b - c,  c. */
static void embed(const double place[3], int first_tet, int *tet, double weights[4]) {
    int best = 0;
    for (int p = 0; p < 6; p++)
        if (place[order[p][0]] >= place[order[p][1]] && place[order[p][1]] >= place[order[p][2]]) {
            best = p;
            break;
        }
    double a = place[order[best][0]], b = place[order[best][1]], c = place[order[best][2]];
    *tet = first_tet + best;
    weights[0] = 1 - a, weights[1] = a - b, weights[2] = b - c, weights[3] = c;
    if (best >= EVEN_ORDERS) weights[2] = c, weights[3] = b - c;
}

static sinew_status add_part(builder *build, const cell_grid *grid, const double *positions,
                             const sn_lists *part_vertices, const sn_lists *part_triangles,
                             const int *triangles, int part, int *tet, double *weights,
                             sinew_error *error) {
    const int *vertices = part_vertices->item + part_vertices->start[part];
    int count = sn_list_size(part_vertices, part);
    cell_block block = {{0}, {0}, NULL, NULL, NULL};
    sinew_status status = block_create(grid, count, vertices, positions, &block, error);
    if (status == SINEW_OK) {
        double place[3];
        for (int i = 0; i < count; i++)
            block.state[locate(grid, &block, sn_at(positions, vertices[i]), place)] = TOUCHED;
        for (int i = part_triangles->start[part]; i < part_triangles->start[part + 1]; i++)
            mark_triangle(grid, &block, positions, triangles + 3 * (size_t)part_triangles->item[i]);
        if (!flood(&block) || !add_cells(build, grid, &block)) status = sn_no_memory(error);
        for (int i = 0; status == SINEW_OK && i < count; i++) {
            int v = vertices[i];
            size_t cell = locate(grid, &block, sn_at(positions, v), place);
            embed(place, block.number[cell], &tet[v], weights + 4 * (size_t)v);
        }
    }
    block_free(&block);
    return status;
}

static sinew_status list_parts(int vertex_count, int triangle_count, const int *triangles,
                               const int *part, int part_count, sn_lists *part_vertices,
                               sn_lists *part_triangles, sinew_error *error) {
    int *list_of = SN_NEW(int, triangle_count > vertex_count ? triangle_count : vertex_count);
    int *item_of = SN_NEW(int, vertex_count), count = 0;
    sinew_status status = list_of && item_of ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int v = 0; v < vertex_count; v++)
            if (part[v] >= 0) list_of[count] = part[v], item_of[count++] = v;
        status = sn_lists_create(part_count, count, list_of, item_of, part_vertices, error);
    }
    if (status == SINEW_OK) {
        for (int t = 0; t < triangle_count; t++) list_of[t] = part[triangles[3 * (size_t)t]];
        status = sn_lists_create(part_count, triangle_count, list_of, NULL, part_triangles, error);
    }
    sn_free(list_of);
    sn_free(item_of);
    return status;
}

sinew_status sn_lattice_create(int vertex_count, const double *positions, int triangle_count,
                               const int *triangles, const int *part, int part_count, double cell,
                               const sinew_monitor *monitor, sinew_tets *tets, int *tet,
                               double *weights, sinew_error *error) {
    sn_lists part_vertices = {0}, part_triangles = {0};
    sinew_status status = list_parts(vertex_count, triangle_count, triangles, part, part_count,
                                     &part_vertices, &part_triangles, error);
    cell_grid grid = {sn_v3(0, 0, 0), cell};
    for (int v = 0, first = 1; v < vertex_count; v++) {
        tet[v] = -1;
        if (part[v] < 0) continue;
        sn_vec3 p = sn_at(positions, v);
        if (first) grid.origin = p;
        first = 0;
        grid.origin =
            sn_v3(fmin(grid.origin.x, p.x), fmin(grid.origin.y, p.y), fmin(grid.origin.z, p.z));
    }
    /* Off the corner of the box, so that flat sides of a mesh do not fall on borders of cells. */
    grid.origin = sn_sub(grid.origin, sn_v3(0.4371 * cell, 0.4713 * cell, 0.4517 * cell));
    builder build = {tets, 0, 0};
    for (int p = 0; status == SINEW_OK && p < part_count; p++) {
        sn_progress(monitor, (double)p / part_count, "cage");
        if (sn_cancelled(monitor))
            status = sn_fail(error, SINEW_CANCELLED, "cancelled");
        else
            status = add_part(&build, &grid, positions, &part_vertices, &part_triangles, triangles,
                              p, tet, weights, error);
    }
    sn_lists_free(&part_vertices);
    sn_lists_free(&part_triangles);
    return status;
}
