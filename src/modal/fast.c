/* Chunks of elements for the frame in single precision. modal/fast_frame.c uses them. */
#include "modal/fast.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/morton.h"
#include "mesh/rotation_links.h"

enum {
    BLOCK_RESIDUAL = SN_RS_SIZE * SN_FAST_LANES,
    HALF_RESIDUAL = SN_HALF_SIZE * SN_FAST_LANES,
    CHUNK_ELEMENTS = SN_CHUNK_BLOCKS * SN_FAST_LANES
};

/* A residual below this is rounding of the pose. */
static const double NOTHING = 1e-9;

static void free_links(sn_fast_links *links) {
    sn_free_aligned(links->rest);
    sn_free(links->ring_start), sn_free(links->ring), sn_free(links->ring_share);
    sn_free(links->pull_start), sn_free(links->pull), sn_free(links->pull_weight);
}

void sn_fast_destroy(sn_fast *fast) {
    if (!fast) return;
    free_links(&fast->links);
    sn_free(fast->element);
    sn_free_aligned(fast->gradients);
    sn_free_aligned(fast->weights);
    sn_free_aligned(fast->corner);
    sn_free_aligned(fast->stretch);
    sn_free(fast->chunks);
    sn_free(fast->chunk_vertices);
    sn_free(fast->place_start);
    sn_free(fast->place);
    sn_free_aligned(fast->shapes);
    sn_free(fast->carriers);
    sn_free(fast);
}

/* ---- order of elements -------------------------------------------------------------------- */

/* Elements in Morton order of their centers: neighbors in the list are neighbors in space. */
static sn_morton *sort_elements(const sn_body *body) {
    const sn_rotation_strain *rs = body->rs;
    sn_morton *order = SN_NEW(sn_morton, rs->element_count);
    if (!order) return NULL;
    sn_vec3 low = sn_at(body->rest, 0), high = low;
    for (int i = 0; i < body->vertex_count; i++) {
        sn_vec3 p = sn_at(body->rest, i);
        low = sn_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sn_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    sn_vec3 size = sn_sub(high, low);
    double longest = fmax(fmax(size.x, size.y), size.z);
    double scale = longest > 0 ? SN_MORTON_MOST / longest : 0;
    for (int e = 0; e < rs->element_count; e++) {
        sn_vec3 center = {0, 0, 0};
        const int *v = rs->elements + (size_t)rs->corners * (size_t)e;
        for (int k = 0; k < rs->corners; k++)
            center = sn_add_scaled(center, 1.0 / rs->corners, sn_at(body->rest, v[k]));
        sn_vec3 at = sn_scale(scale, sn_sub(center, low));
        order[e] = (sn_morton){sn_morton_code(at.x, at.y, at.z), e};
    }
    qsort(order, (size_t)rs->element_count, sizeof *order, sn_morton_compare);
    return order;
}

/* ---- chunks ------------------------------------------------------------------------------- */

static void fill_lane(sn_fast *fast, const sn_rotation_strain *rs, int e, size_t block,
                      size_t lane) {
    fast->element[SN_FAST_LANES * block + lane] = e;
    fast->weights[SN_FAST_LANES * block + lane] = (float)rs->weights[e];
    size_t given = 3 * (size_t)(rs->corners - 1), size = 3 * (size_t)rs->corners;
    for (size_t k = 0; k < 9; k++)
        fast->gradients[SN_FAST_LANES * (9 * block + k) + lane] =
            (float)(k < given ? rs->gradients[size * (size_t)e + 3 + k]
                              : rs->normals[3 * (size_t)e + k - given]);
}

/* Chunk c takes its elements in order and numbers their vertices as they come. `local`: per vertex,
 * its number in the chunk that `owner` names. */
static void fill_chunk(sn_fast *fast, const sn_rotation_strain *rs, const sn_morton *order, int c,
                       int *owner, int *local) {
    sn_fast_chunk *chunk = &fast->chunks[c];
    int first = c * CHUNK_ELEMENTS;
    int count =
        rs->element_count - first < CHUNK_ELEMENTS ? rs->element_count - first : CHUNK_ELEMENTS;
    *chunk = (sn_fast_chunk){.first_block = c * SN_CHUNK_BLOCKS,
                             .block_count = (count + SN_FAST_LANES - 1) / SN_FAST_LANES,
                             .first_place = fast->place_count};
    for (int t = 0; t < count; t++) {
        int e = order[first + t].item;
        size_t block = (size_t)(first + t) / SN_FAST_LANES,
               lane = (size_t)(first + t) % SN_FAST_LANES;
        fill_lane(fast, rs, e, block, lane);
        for (size_t k = 0; k < (size_t)rs->corners; k++) {
            int v = rs->elements[(size_t)rs->corners * (size_t)e + k];
            if (owner[v] != c) {
                owner[v] = c, local[v] = chunk->vertex_count++;
                fast->chunk_vertices[fast->place_count++] = v;
            }
            fast->corner[SN_FAST_LANES * (4 * block + k) + lane] =
                (uint16_t)(SN_CHUNK_VERTEX * local[v]);
        }
    }
}

/* For each vertex the places where chunks put its sums. */
static void list_places(sn_fast *fast, int vertex_count) {
    int *start = fast->place_start;
    for (int p = 0; p < fast->place_count; p++) start[fast->chunk_vertices[p] + 1]++;
    for (int i = 0; i < vertex_count; i++) start[i + 1] += start[i];
    for (int p = 0; p < fast->place_count; p++) fast->place[start[fast->chunk_vertices[p]]++] = p;
    for (int i = vertex_count; i > 0; i--) start[i] = start[i - 1];
    start[0] = 0;
}

static sinew_status fill_chunks(sn_fast *fast, const sn_body *body, sinew_error *error) {
    const sn_rotation_strain *rs = body->rs;
    sn_morton *order = sort_elements(body);
    int *owner = SN_NEW(int, body->vertex_count), *local = SN_NEW(int, body->vertex_count);
    bool room = order && owner && local;
    if (room) {
        for (int i = 0; i < body->vertex_count; i++) owner[i] = -1;
        for (int k = 0; k < SN_FAST_LANES * fast->blocks; k++) fast->element[k] = -1;
        for (int c = 0; c < fast->chunk_count; c++) fill_chunk(fast, rs, order, c, owner, local);
        list_places(fast, body->vertex_count);
    }
    sn_free(order), sn_free(owner), sn_free(local);
    return room ? SINEW_OK : sn_no_memory(error);
}

static sinew_status find_carriers(sn_fast *fast, const sn_body *body, sinew_error *error) {
    if (!body->cage) return SINEW_OK;
    int *slot = SN_NEW(int, body->rs->element_count);
    fast->carriers = SN_NEW(int, (size_t)2 * body->artist_count);
    bool room = slot && fast->carriers;
    if (room) {
        for (int k = 0; k < SN_FAST_LANES * fast->blocks; k++)
            if (fast->element[k] >= 0)
                slot[fast->element[k]] =
                    9 * SN_FAST_LANES * (k / SN_FAST_LANES) + k % SN_FAST_LANES;
        for (int i = 0; i < body->artist_count; i++) {
            int e = body->cage->embedding->tet[i];
            fast->carriers[2 * i] = slot[e];
            fast->carriers[2 * i + 1] = body->rs->vertex_component[body->rs->elements[4 * e]];
        }
    }
    sn_free(slot);
    return room ? SINEW_OK : sn_no_memory(error);
}

static void *zeros(size_t count, size_t size) {
    void *block = sn_alloc_aligned(count, size);
    if (block) memset(block, 0, count * size);
    return block;
}

static sinew_status allocate(sn_fast *fast, const sn_body *body, const sn_modes *modes,
                             sinew_error *error) {
    size_t elements = (size_t)body->rs->element_count, lanes = (size_t)fast->blocks * SN_FAST_LANES;
    fast->element = SN_NEW(int, lanes);
    fast->gradients = zeros(9 * lanes, sizeof *fast->gradients);
    fast->weights = zeros(lanes, sizeof *fast->weights);
    fast->corner = zeros(4 * lanes, sizeof *fast->corner);
    fast->chunks = SN_NEW0(sn_fast_chunk, fast->chunk_count);
    fast->chunk_vertices = SN_NEW(int, 4 * elements);
    fast->place = SN_NEW(int, 4 * elements);
    fast->place_start = SN_NEW0(int, body->vertex_count + 1);
    fast->shapes = sn_alloc_aligned((size_t)3 * modes->vertex_count * modes->column_count,
                                    sizeof *fast->shapes);
    bool room = fast->element && fast->gradients && fast->weights && fast->corner && fast->chunks &&
                fast->chunk_vertices && fast->place && fast->place_start && fast->shapes;
    return room ? SINEW_OK : sn_no_memory(error);
}

/* Flat elements have Y + S where others have 1 + S. */
static sinew_status pack_stretch(sn_fast *fast, const sn_rotation_strain *rs, sinew_error *error) {
    if (!rs->rest_stretch) return SINEW_OK;
    double *residual = SN_NEW0(double, (size_t)SN_RS_SIZE * rs->item_count);
    if (!residual) return sn_no_memory(error);
    for (size_t e = 0; e < (size_t)rs->element_count; e++)
        for (size_t k = 0; k < 6; k++)
            residual[SN_RS_SIZE * e + SN_RS_S + k] = rs->rest_stretch[6 * e + k] - (k < 3);
    sinew_status status = sn_fast_residual(fast, residual, &fast->stretch, error);
    sn_free(residual);
    return status;
}

/* ---- links -------------------------------------------------------------------------------- */

/* The elements around each half, by where run_chunk leaves their rates. */
static sinew_status list_rings(sn_fast *fast, const sn_rotation_strain *rs, sinew_error *error) {
    sn_fast_links *links = &fast->links;
    int halves = 2 * links->count, total = 0, first, last;
    for (int half = 0; half < halves; half++) {
        sn_rotation_half_ring(rs, half, &first, &last);
        total += last - first;
    }
    int *slot = SN_NEW(int, rs->element_count);
    links->ring_start = SN_NEW0(int, halves + 1);
    links->ring = SN_NEW(int, total);
    links->ring_share = SN_NEW(float, total);
    if (!slot || !links->ring_start || !links->ring || !links->ring_share) {
        sn_free(slot);
        return sn_no_memory(error);
    }
    for (int k = 0; k < SN_FAST_LANES * fast->blocks; k++)
        if (fast->element[k] >= 0)
            slot[fast->element[k]] = 3 * SN_FAST_LANES * (k / SN_FAST_LANES) + k % SN_FAST_LANES;
    for (int half = 0, at = 0; half < halves; half++) {
        sn_rotation_half_ring(rs, half, &first, &last);
        double weight = 0;
        for (int c = first; c < last; c++)
            weight += rs->weights[rs->vertex_corners[c] / rs->corners];
        for (int c = first; c < last; c++, at++) {
            int e = rs->vertex_corners[c] / rs->corners;
            links->ring[at] = slot[e];
            links->ring_share[at] = weight > 0 ? (float)(rs->weights[e] / weight) : 0;
        }
        links->ring_start[half + 1] = at;
    }
    sn_free(slot);
    return SINEW_OK;
}

/* The rows of the links by vertex, in the order of links. */
static sinew_status list_pulls(sn_fast *fast, const sn_rotation_strain *rs, sinew_error *error) {
    sn_fast_links *links = &fast->links;
    int n = rs->vertex_count, vertices[4];
    double values[4];
    links->pull_start = SN_NEW0(int, n + 1);
    links->pull = SN_NEW(int, 4 * (size_t)links->count);
    links->pull_weight = SN_NEW(float, 4 * (size_t)links->count);
    if (!links->pull_start || !links->pull || !links->pull_weight) return sn_no_memory(error);
    int *start = links->pull_start;
    for (int pass = 0; pass < 2; pass++) {
        for (int l = 0; l < links->count; l++) {
            sn_rotation_link_row(rs, l, vertices, values);
            for (int k = 0; k < 4; k++) {
                if (pass == 0) {
                    start[vertices[k] + 1]++;
                    continue;
                }
                int at = start[vertices[k]]++;
                links->pull[at] = l;
                links->pull_weight[at] = (float)(rs->link_stiffness[l] * values[k]);
            }
        }
        for (int i = 0; pass == 0 && i < n; i++) start[i + 1] += start[i];
    }
    for (int i = n; i > 0; i--) start[i] = start[i - 1];
    start[0] = 0;
    return SINEW_OK;
}

static sinew_status add_links(sn_fast *fast, const sn_rotation_strain *rs, sinew_error *error) {
    sn_fast_links *links = &fast->links;
    if (rs->link_count == 0) return SINEW_OK;
    links->count = rs->link_count;
    links->blocks = (2 * links->count + SN_FAST_LANES - 1) / SN_FAST_LANES;
    links->rest = zeros((size_t)3 * SN_FAST_LANES * (size_t)links->blocks, sizeof *links->rest);
    if (!links->rest) return sn_no_memory(error);
    for (size_t half = 0; half < 2 * (size_t)links->count; half++)
        for (size_t a = 0; a < 3; a++)
            links->rest[SN_FAST_LANES * (3 * (half / SN_FAST_LANES) + a) + half % SN_FAST_LANES] =
                (float)rs->half_rest[3 * half + a];
    SN_TRY(list_rings(fast, rs, error));
    return list_pulls(fast, rs, error);
}

sinew_status sn_fast_create(const sn_body *body, const sn_modes *modes, sn_fast **fast,
                            sinew_error *error) {
    *fast = NULL;
    const sn_rotation_strain *rs = body->rs;
    if (rs->hold_count > 0) return SINEW_OK;
    sn_fast *made = SN_NEW0(sn_fast, 1);
    if (!made) return sn_no_memory(error);
    made->corners = rs->corners;
    made->column_count = modes->column_count;
    made->chunk_count = (rs->element_count + CHUNK_ELEMENTS - 1) / CHUNK_ELEMENTS;
    made->blocks = (rs->element_count + SN_FAST_LANES - 1) / SN_FAST_LANES;
    sinew_status status = allocate(made, body, modes, error);
    if (status == SINEW_OK) status = fill_chunks(made, body, error);
    if (status == SINEW_OK) status = add_links(made, rs, error);
    if (status == SINEW_OK) status = pack_stretch(made, rs, error);
    if (status == SINEW_OK) status = find_carriers(made, body, error);
    if (status == SINEW_OK) status = sn_cholesky_prepare_f32(rs->laplacian, error);
    if (status != SINEW_OK) {
        sn_fast_destroy(made);
        return status;
    }
    size_t size = (size_t)3 * modes->vertex_count * modes->column_count;
    for (size_t i = 0; i < size; i++) made->shapes[i] = (float)modes->shapes[i];
    *fast = made;
    return SINEW_OK;
}

/* w and s of a half among the SN_RS_SIZE numbers of an item. */
static size_t number_of_half(size_t c) {
    return c < 3 ? SN_RS_W + c : SN_RS_S + c - 3;
}

sinew_status sn_fast_residual(const sn_fast *fast, const double *residual, float **packed,
                              sinew_error *error) {
    *packed = NULL;
    size_t lanes = (size_t)SN_FAST_LANES * (size_t)fast->blocks, elements = 0;
    size_t halves = 2 * (size_t)fast->links.count;
    for (size_t k = 0; k < lanes; k++) elements += fast->element[k] >= 0;
    double most = 0;
    for (size_t i = 0; i < SN_RS_SIZE * (elements + halves); i++)
        most = fmax(most, fabs(residual[i]));
    if (most < NOTHING) return SINEW_OK;
    float *made =
        zeros(SN_RS_SIZE * lanes + HALF_RESIDUAL * (size_t)fast->links.blocks, sizeof *made);
    if (!made) return sn_no_memory(error);
    for (size_t k = 0; k < lanes; k++)
        for (size_t c = 0; c < SN_RS_SIZE && fast->element[k] >= 0; c++)
            made[BLOCK_RESIDUAL * (k / SN_FAST_LANES) + SN_FAST_LANES * c + k % SN_FAST_LANES] =
                (float)residual[SN_RS_SIZE * (size_t)fast->element[k] + c];
    float *links = made + SN_RS_SIZE * lanes;
    for (size_t half = 0; half < halves; half++)
        for (size_t c = 0; c < SN_HALF_SIZE; c++)
            links[HALF_RESIDUAL * (half / SN_FAST_LANES) + SN_FAST_LANES * c +
                  half % SN_FAST_LANES] =
                (float)residual[SN_RS_SIZE * (elements + half) + number_of_half(c)];
    *packed = made;
    return SINEW_OK;
}
