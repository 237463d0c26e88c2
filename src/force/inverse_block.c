#include "force/inverse_block.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"

enum { SIDES = 8 };

sinew_status sn_inverse_block_create(const sn_cholesky *factor, int limit, sn_inverse_block **block,
                                     sinew_error *error) {
    *block = NULL;
    sn_inverse_block *b = SN_NEW0(sn_inverse_block, 1);
    if (!b) return sn_no_memory(error);
    size_t n = (size_t)sn_cholesky_size(factor);
    b->factor = factor;
    b->limit = limit < SN_INVERSE_BLOCK_LIMIT ? limit : SN_INVERSE_BLOCK_LIMIT;
    b->slot = SN_NEW(int, n);
    b->unknown = SN_NEW(int, b->limit);
    b->right = SN_NEW(float, SIDES *n);
    sinew_status status = b->slot && b->unknown && b->right ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, SIDES, &b->solver, error);
    if (status != SINEW_OK) {
        sn_inverse_block_destroy(b);
        return status;
    }
    for (size_t i = 0; i < n; i++) b->slot[i] = -1;
    *block = b;
    return SINEW_OK;
}

void sn_inverse_block_destroy(sn_inverse_block *b) {
    if (!b) return;
    sn_free(b->slot), sn_free(b->unknown), sn_free(b->right);
    sn_free_aligned(b->values);
    sn_cholesky_work_destroy(b->solver);
    sn_free(b);
}

static sinew_status grow(sn_inverse_block *b, int needed, sinew_error *error) {
    if (needed <= b->capacity) return SINEW_OK;
    int capacity = b->capacity ? 2 * b->capacity : 256;
    if (capacity < needed) capacity = needed;
    if (capacity > b->limit) capacity = b->limit;
    capacity =
        (capacity + SN_INVERSE_BLOCK_LANES - 1) / SN_INVERSE_BLOCK_LANES * SN_INVERSE_BLOCK_LANES;
    float *values = sn_alloc_aligned((size_t)capacity * (size_t)capacity, sizeof(float));
    if (!values) return sn_no_memory(error);
    for (int i = 0; i < b->count; i++)
        memcpy(values + (size_t)i * (size_t)capacity, sn_inverse_block_row(b, i),
               sizeof(float) * (size_t)b->count);
    sn_free_aligned(b->values);
    b->values = values, b->capacity = capacity;
    return SINEW_OK;
}

/* Rows and columns of the places first .. first + sides - 1. */
static void solve(sn_inverse_block *b, int first, int sides) {
    size_t n = (size_t)sn_cholesky_size(b->factor), stride = (size_t)b->capacity;
    memset(b->right, 0, sizeof(float) * n * (size_t)sides);
    for (int k = 0; k < sides; k++)
        b->right[(size_t)b->unknown[first + k] * (size_t)sides + (size_t)k] = 1;
    sn_cholesky_solve_f32(b->factor, b->solver, sides, b->right, b->right);
    for (int k = 0; k < sides; k++)
        for (int i = 0; i < first + sides; i++) {
            float value = b->right[(size_t)b->unknown[i] * (size_t)sides + (size_t)k];
            b->values[(size_t)(first + k) * stride + (size_t)i] = value;
            b->values[(size_t)i * stride + (size_t)(first + k)] = value;
        }
}

sinew_status sn_inverse_block_add(sn_inverse_block *b, int count, const int *unknowns,
                                  sinew_error *error) {
    int known = b->count, after = known;
    for (int i = 0; i < count && after < b->limit; i++) {
        int u = unknowns[i];
        if (b->slot[u] >= 0) continue;
        b->slot[u] = after;
        b->unknown[after++] = u;
    }
    sinew_status status = grow(b, after, error);
    for (int k = known; k < after && status == SINEW_OK; k += SIDES) {
        solve(b, k, after - k < SIDES ? after - k : SIDES);
        status = sn_check_interrupt(error);
    }
    if (status != SINEW_OK) {
        for (int k = known; k < after; k++) b->slot[b->unknown[k]] = -1;
        return status;
    }
    b->count = after;
    return SINEW_OK;
}

sinew_status sn_inverse_block_reserve(sn_inverse_block *b, int count, const int *unknowns,
                                      sinew_error *error) {
    SN_TRY(grow(b, count, error));
    for (int i = 0; i < count; i++) b->slot[unknowns[i]] = i, b->unknown[i] = unknowns[i];
    b->count = count;
    return SINEW_OK;
}
