/* The state of a solver as bytes: for checkpoints, copies, and recovery from a failed call.
 *
 *   "sinew state", version, key of the structure, model, next frame, the model's own bytes,
 *   checksum of all that */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "session/session.h"

static const char MAGIC[12] = "sinew state";
enum { VERSION = 2 };

void sinew_solver_reset(sinew_solver *solver) {
    if (!solver) return;
    if (solver->model && solver->kind->reset) solver->kind->reset(solver->model);
    solver->next = -1;
}

void sn_solver_pack(const sinew_solver *solver, sn_pack *pack) {
    pack->size = 0;
    pack->failed = false;
    if (solver->kind->pack) solver->kind->pack(solver->model, pack);
}

sinew_status sn_solver_unpack(sinew_solver *solver, const void *bytes, size_t size,
                              sinew_error *error) {
    sn_unpack unpack = {.bytes = bytes, .size = size};
    if (solver->kind->unpack) SN_TRY(solver->kind->unpack(solver->model, &unpack, error));
    if (!sn_unpack_complete(&unpack)) return sn_unpack_fail(&unpack, error);
    return SINEW_OK;
}

static sinew_cache_key checksum(const void *bytes, size_t size) {
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, bytes, size);
    return sinew_hash_key(&hash);
}

sinew_status sinew_solver_save_state(const sinew_solver *solver, void **bytes, size_t *size,
                                     sinew_error *error) {
    SN_REQUIRE(solver && solver->model && bytes && size, error);
    *bytes = NULL, *size = 0;
    const char *name = solver->kind->about.name;
    sn_pack own = {0}, pack = {0};
    sn_solver_pack(solver, &own);
    sn_pack_array(&pack, MAGIC, sizeof MAGIC, 1);
    sn_pack_int(&pack, VERSION);
    sn_pack_array(&pack, &solver->structure->key, 1, sizeof solver->structure->key);
    sn_pack_array(&pack, name, strlen(name), 1);
    sn_pack_int(&pack, solver->next);
    sn_pack_array(&pack, own.bytes, own.size, 1);
    bool failed = own.failed || pack.failed;
    if (!failed) {
        sinew_cache_key sum = checksum(pack.bytes, pack.size);
        sn_pack_array(&pack, &sum, 1, sizeof sum);
        failed = pack.failed;
    }
    sn_pack_free(&own);
    if (failed) {
        sn_pack_free(&pack);
        return sn_no_memory(error);
    }
    *bytes = pack.bytes, *size = pack.size;
    return SINEW_OK;
}

/* An array of bytes whose length is stored in front of it; not copied. */
static const char *peek(sn_unpack *unpack, size_t *count) {
    uint64_t header[2];
    *count = 0;
    if (unpack->failed || unpack->size - unpack->at < sizeof header) return NULL;
    memcpy(header, unpack->bytes + unpack->at, sizeof header);
    size_t left = unpack->size - unpack->at - sizeof header;
    if (header[1] == 0 || header[0] > left / header[1]) {
        unpack->failed = true;
        return NULL;
    }
    const char *found = unpack->bytes + unpack->at + sizeof header;
    *count = (size_t)(header[0] * header[1]);
    unpack->at += sizeof header + *count;
    return found;
}

sinew_status sinew_solver_load_state(sinew_solver *solver, const void *bytes, size_t size,
                                     sinew_error *error) {
    SN_REQUIRE(solver && solver->model && bytes, error);
    sn_unpack unpack = {.bytes = bytes, .size = size};
    size_t magic_size, key_size, name_size, own_size, sum_size;
    const char *magic = peek(&unpack, &magic_size);
    int version = sn_unpack_int(&unpack);
    if (!magic || magic_size != sizeof MAGIC || memcmp(magic, MAGIC, sizeof MAGIC))
        return sn_fail(error, SINEW_BAD_INPUT, "these bytes are not a saved state");
    if (version != VERSION)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the saved state has version %d, this library reads version %d", version,
                       VERSION);
    const char *key = peek(&unpack, &key_size), *name = peek(&unpack, &name_size);
    int next = sn_unpack_int(&unpack);
    const char *own = peek(&unpack, &own_size);
    size_t summed = unpack.at;
    const char *sum = peek(&unpack, &sum_size);
    sinew_cache_key expected = checksum(bytes, summed <= size ? summed : size);
    if (unpack.failed || !sn_unpack_complete(&unpack) || key_size != sizeof expected ||
        sum_size != sizeof expected || memcmp(sum, &expected, sizeof expected))
        return sn_fail(error, SINEW_BAD_INPUT, "the saved state is damaged");
    if (name_size != strlen(solver->kind->about.name) ||
        memcmp(name, solver->kind->about.name, name_size) ||
        memcmp(key, &solver->structure->key, key_size))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the saved state belongs to another rig, model or structure");
    SN_TRY(sn_solver_unpack(solver, own, own_size, error));
    solver->next = next;
    return SINEW_OK;
}

sinew_status sinew_solver_copy_state(sinew_solver *to, const sinew_solver *from,
                                     sinew_error *error) {
    SN_REQUIRE(to && from && to->model && from->model, error);
    if (to->session != from->session || to->structure != from->structure)
        return sn_fail(error, SINEW_BAD_INPUT, "the two solvers are not of the same structure");
    sn_solver_pack(from, &to->before);
    if (to->before.failed) return sn_no_memory(error);
    SN_TRY(sn_solver_unpack(to, to->before.bytes, to->before.size, error));
    to->next = from->next;
    return SINEW_OK;
}
