/* Chunks of tets for the frame in single precision. modal/fast_frame.c uses them. */
#include "modal/fast.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { BLOCK_RESIDUAL = SN_RS_SIZE * SN_LANES, CHUNK_TETS = SN_CHUNK_BLOCKS * SN_LANES };

/* A residual below this is rounding of the pose. */
static const double NOTHING = 1e-9;

void sn_fast_destroy(sn_fast *fast) {
    if (!fast) return;
    sn_free(fast->element);
    sn_free_aligned(fast->gradients);
    sn_free_aligned(fast->weights);
    sn_free_aligned(fast->corners);
    sn_free_aligned(fast->stretch);
    sn_free(fast->chunks);
    sn_free(fast->chunk_vertices);
    sn_free(fast->place_start);
    sn_free(fast->place);
    sn_free_aligned(fast->shapes);
    sn_free(fast->carriers);
    sn_free(fast);
}

/* ---- order of tets ------------------------------------------------------------------------ */

typedef struct placed_tet {
    uint64_t key;
    int element;
} placed_tet;

static int by_key(const void *a, const void *b) {
    const placed_tet *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->element > y->element) - (x->element < y->element);
}

/* Every third bit of 63 from the low 21 of a number. */
static uint64_t spread_bits(uint64_t x) {
    x &= 0x1fffff;
    x = (x | x << 32) & 0x1f00000000ffffu;
    x = (x | x << 16) & 0x1f0000ff0000ffu;
    x = (x | x << 8) & 0x100f00f00f00f00fu;
    x = (x | x << 4) & 0x10c30c30c30c30c3u;
    return (x | x << 2) & 0x1249249249249249u;
}

/* Tets in Morton order of their centers: neighbours in the list are neighbours in space. */
static placed_tet *sort_tets(const sn_body *body) {
    const sn_rotation_strain *rs = body->rs;
    placed_tet *tets = SN_NEW(placed_tet, rs->element_count);
    if (!tets) return NULL;
    sn_vec3 low = sn_at(body->rest, 0), high = low;
    for (int i = 0; i < body->vertex_count; i++) {
        sn_vec3 p = sn_at(body->rest, i);
        low = sn_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sn_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    sn_vec3 size = sn_sub(high, low);
    double longest = fmax(fmax(size.x, size.y), size.z);
    double scale = longest > 0 ? 0x1fffff / longest : 0;
    for (int e = 0; e < rs->element_count; e++) {
        sn_vec3 center = {0, 0, 0};
        for (int k = 0; k < 4; k++)
            center =
                sn_add_scaled(center, 0.25, sn_at(body->rest, rs->elements[4 * (size_t)e + k]));
        sn_vec3 at = sn_scale(scale, sn_sub(center, low));
        tets[e].key = spread_bits((uint64_t)at.x) | spread_bits((uint64_t)at.y) << 1 |
                      spread_bits((uint64_t)at.z) << 2;
        tets[e].element = e;
    }
    qsort(tets, (size_t)rs->element_count, sizeof *tets, by_key);
    return tets;
}

/* ---- chunks ------------------------------------------------------------------------------- */

static void fill_lane(sn_fast *fast, const sn_rotation_strain *rs, int e, size_t block,
                      size_t lane) {
    fast->element[SN_LANES * block + lane] = e;
    fast->weights[SN_LANES * block + lane] = (float)rs->weights[e];
    for (size_t k = 0; k < 9; k++)
        fast->gradients[SN_LANES * (9 * block + k) + lane] =
            (float)rs->gradients[12 * (size_t)e + 3 + k];
}

/* Chunk c takes its tets in order and numbers their vertices as they come. `local`: per vertex, its
 * number in the chunk that `owner` names. */
static void fill_chunk(sn_fast *fast, const sn_rotation_strain *rs, const placed_tet *tets, int c,
                       int *owner, int *local) {
    sn_fast_chunk *chunk = &fast->chunks[c];
    int first = c * CHUNK_TETS;
    int count = rs->element_count - first < CHUNK_TETS ? rs->element_count - first : CHUNK_TETS;
    *chunk = (sn_fast_chunk){.first_block = c * SN_CHUNK_BLOCKS,
                             .block_count = (count + SN_LANES - 1) / SN_LANES,
                             .first_place = fast->place_count};
    for (int t = 0; t < count; t++) {
        int e = tets[first + t].element;
        size_t block = (size_t)(first + t) / SN_LANES, lane = (size_t)(first + t) % SN_LANES;
        fill_lane(fast, rs, e, block, lane);
        for (size_t k = 0; k < 4; k++) {
            int v = rs->elements[4 * (size_t)e + k];
            if (owner[v] != c) {
                owner[v] = c, local[v] = chunk->vertex_count++;
                fast->chunk_vertices[fast->place_count++] = v;
            }
            fast->corners[SN_LANES * (4 * block + k) + lane] =
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
    placed_tet *tets = sort_tets(body);
    int *owner = SN_NEW(int, body->vertex_count), *local = SN_NEW(int, body->vertex_count);
    bool room = tets && owner && local;
    if (room) {
        for (int i = 0; i < body->vertex_count; i++) owner[i] = -1;
        for (int k = 0; k < SN_LANES * fast->blocks; k++) fast->element[k] = -1;
        for (int c = 0; c < fast->chunk_count; c++) fill_chunk(fast, rs, tets, c, owner, local);
        list_places(fast, body->vertex_count);
    }
    sn_free(tets), sn_free(owner), sn_free(local);
    return room ? SINEW_OK : sn_no_memory(error);
}

static sinew_status find_carriers(sn_fast *fast, const sn_body *body, sinew_error *error) {
    if (!body->cage) return SINEW_OK;
    int *slot = SN_NEW(int, body->rs->element_count);
    fast->carriers = SN_NEW(int, (size_t)2 * body->artist_count);
    bool room = slot && fast->carriers;
    if (room) {
        for (int k = 0; k < SN_LANES * fast->blocks; k++)
            if (fast->element[k] >= 0)
                slot[fast->element[k]] = 9 * SN_LANES * (k / SN_LANES) + k % SN_LANES;
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
    size_t tets = (size_t)body->rs->element_count, lanes = (size_t)fast->blocks * SN_LANES;
    fast->element = SN_NEW(int, lanes);
    fast->gradients = zeros(9 * lanes, sizeof *fast->gradients);
    fast->weights = zeros(lanes, sizeof *fast->weights);
    fast->corners = zeros(4 * lanes, sizeof *fast->corners);
    fast->chunks = SN_NEW0(sn_fast_chunk, fast->chunk_count);
    fast->chunk_vertices = SN_NEW(int, 4 * tets);
    fast->place = SN_NEW(int, 4 * tets);
    fast->place_start = SN_NEW0(int, body->vertex_count + 1);
    fast->shapes = sn_alloc_aligned((size_t)3 * modes->vertex_count * modes->column_count,
                                    sizeof *fast->shapes);
    bool room = fast->element && fast->gradients && fast->weights && fast->corners &&
                fast->chunks && fast->chunk_vertices && fast->place && fast->place_start &&
                fast->shapes;
    return room ? SINEW_OK : sn_no_memory(error);
}

/* Flat tets have Y + S where others have 1 + S. */
static sinew_status pack_stretch(sn_fast *fast, const sn_rotation_strain *rs, sinew_error *error) {
    if (!rs->rest_stretch) return SINEW_OK;
    double *residual = SN_NEW0(double, (size_t)SN_RS_SIZE * rs->element_count);
    if (!residual) return sn_no_memory(error);
    for (size_t e = 0; e < (size_t)rs->element_count; e++)
        for (size_t k = 0; k < 6; k++)
            residual[SN_RS_SIZE * e + SN_RS_S + k] = rs->rest_stretch[6 * e + k] - (k < 3);
    sinew_status status = sn_fast_residual(fast, residual, &fast->stretch, error);
    sn_free(residual);
    return status;
}

sinew_status sn_fast_create(const sn_body *body, const sn_modes *modes, sn_fast **fast,
                            sinew_error *error) {
    *fast = NULL;
    const sn_rotation_strain *rs = body->rs;
    if (rs->corners != 4 || rs->link_count > 0) return SINEW_OK;
    sn_fast *made = SN_NEW0(sn_fast, 1);
    if (!made) return sn_no_memory(error);
    made->column_count = modes->column_count;
    made->chunk_count = (rs->element_count + CHUNK_TETS - 1) / CHUNK_TETS;
    made->blocks = (rs->element_count + SN_LANES - 1) / SN_LANES;
    sinew_status status = allocate(made, body, modes, error);
    if (status == SINEW_OK) status = fill_chunks(made, body, error);
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

sinew_status sn_fast_residual(const sn_fast *fast, const double *residual, float **packed,
                              sinew_error *error) {
    *packed = NULL;
    size_t lanes = (size_t)SN_LANES * (size_t)fast->blocks;
    double most = 0;
    for (size_t k = 0; k < lanes; k++)
        for (size_t c = 0; c < SN_RS_SIZE && fast->element[k] >= 0; c++)
            most = fmax(most, fabs(residual[SN_RS_SIZE * (size_t)fast->element[k] + c]));
    if (most < NOTHING) return SINEW_OK;
    *packed = zeros(SN_RS_SIZE * lanes, sizeof **packed);
    if (!*packed) return sn_no_memory(error);
    for (size_t k = 0; k < lanes; k++)
        for (size_t c = 0; c < SN_RS_SIZE && fast->element[k] >= 0; c++)
            (*packed)[BLOCK_RESIDUAL * (k / SN_LANES) + SN_LANES * c + k % SN_LANES] =
                (float)residual[SN_RS_SIZE * (size_t)fast->element[k] + c];
    return SINEW_OK;
}
