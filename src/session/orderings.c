#include "session/orderings.h"

#include "base/memory.h"
#include "cache/pack.h"

/* Goes up with every change to how orders are found. */
#define CACHE_VERSION "ordering 1"

static sinew_cache_key key_of(const sn_sparse *matrix) {
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, matrix->start, ((size_t)matrix->columns + 1) * sizeof *matrix->start);
    sinew_hash_add(&hash, matrix->row, (size_t)sn_sparse_nonzeros(matrix) * sizeof *matrix->row);
    return sinew_hash_key(&hash);
}

/* The file may be damaged: every column must appear once, and columns of the factor must fit. */
static bool is_order(int columns, const int *permutation, const int *counts) {
    bool *seen = SN_NEW0(bool, columns), good = seen != NULL;
    for (int i = 0; good && i < columns; i++) {
        int column = permutation[i];
        good = column >= 0 && column < columns && !seen[column] && counts[i] >= 1 &&
               counts[i] <= columns - i;
        if (good) seen[column] = true;
    }
    sn_free(seen);
    return good;
}

static bool find(void *user, const sn_sparse *matrix, int *permutation, int *counts,
                 void **ticket) {
    const sn_orderings *orderings = user;
    sinew_cache_entry *entry = NULL;
    sinew_error ignored; /* a cache that does not work costs time only */
    size_t columns = (size_t)matrix->columns;
    *ticket = NULL;
    if (sinew_cache_enter(orderings->cache, key_of(matrix), CACHE_VERSION, orderings->monitor,
                          &entry, &ignored) != SINEW_OK)
        return false;
    sn_unpack unpack = {.bytes = entry->bytes, .size = entry->size};
    bool found = entry->bytes &&
                 sn_unpack_into(&unpack, permutation, columns, sizeof *permutation) &&
                 sn_unpack_into(&unpack, counts, columns, sizeof *counts) &&
                 sn_unpack_complete(&unpack) && is_order(matrix->columns, permutation, counts);
    if (found)
        sinew_cache_leave(entry);
    else
        *ticket = entry;
    return found;
}

static void keep(void *ticket, const sn_sparse *matrix, const int *permutation, const int *counts) {
    sinew_cache_entry *entry = ticket;
    if (permutation) {
        sn_pack pack = {0};
        sn_pack_array(&pack, permutation, (size_t)matrix->columns, sizeof *permutation);
        sn_pack_array(&pack, counts, (size_t)matrix->columns, sizeof *counts);
        if (!pack.failed) (void)sinew_cache_store(entry, pack.bytes, pack.size, NULL);
        sn_pack_free(&pack);
    }
    sinew_cache_leave(entry);
}

void sn_orderings_begin(sn_orderings *orderings, sinew_cache *cache, const sinew_monitor *monitor) {
    *orderings = (sn_orderings){.keeper = {.find = find, .keep = keep, .user = orderings},
                                .cache = cache,
                                .monitor = monitor};
    orderings->before = sn_ordering_enter(cache ? &orderings->keeper : NULL);
}

void sn_orderings_end(const sn_orderings *orderings) {
    sn_ordering_enter(orderings->before);
}
