#include "cache/pack.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

static void append(sn_pack *pack, const void *bytes, size_t size) {
    if (pack->failed) return;
    if (size > SIZE_MAX - pack->size ||
        !SN_RESERVE(pack->bytes, pack->capacity, pack->size + size)) {
        pack->failed = true;
        return;
    }
    if (size) memcpy(pack->bytes + pack->size, bytes, size);
    pack->size += size;
}

void sn_pack_int(sn_pack *pack, int value) {
    append(pack, &value, sizeof value);
}

void sn_pack_double(sn_pack *pack, double value) {
    append(pack, &value, sizeof value);
}

void sn_pack_array(sn_pack *pack, const void *elements, size_t count, size_t size) {
    uint64_t header[2] = {count, size};
    append(pack, header, sizeof header);
    append(pack, elements, count * size);
}

void sn_pack_free(sn_pack *pack) {
    sn_free(pack->bytes);
    memset(pack, 0, sizeof *pack);
}

static bool take(sn_unpack *unpack, void *out, size_t size) {
    if (unpack->failed || size > unpack->size - unpack->at) {
        unpack->failed = true;
        return false;
    }
    if (size) memcpy(out, unpack->bytes + unpack->at, size);
    unpack->at += size;
    return true;
}

int sn_unpack_int(sn_unpack *unpack) {
    int value = 0;
    take(unpack, &value, sizeof value);
    return value;
}

double sn_unpack_double(sn_unpack *unpack) {
    double value = 0;
    take(unpack, &value, sizeof value);
    return value;
}

void *sn_unpack_array(sn_unpack *unpack, size_t count, size_t size) {
    uint64_t header[2];
    if (!take(unpack, header, sizeof header)) return NULL;
    bool fits = header[0] == count && header[1] == size &&
                (size == 0 || count <= (unpack->size - unpack->at) / size);
    void *array = fits ? sn_alloc(count, size) : NULL;
    if (!array) {
        unpack->failed = true, unpack->starved = fits;
        return NULL;
    }
    take(unpack, array, count * size);
    return array;
}

double *sn_unpack_numbers(sn_unpack *unpack, size_t count) {
    double *numbers = sn_unpack_array(unpack, count, sizeof(double));
    for (size_t i = 0; numbers && i < count; i++)
        if (!isfinite(numbers[i])) unpack->failed = true;
    return numbers;
}

bool sn_unpack_into(sn_unpack *unpack, void *elements, size_t count, size_t size) {
    uint64_t header[2];
    if (!take(unpack, header, sizeof header)) return false;
    bool fits = header[0] == count && header[1] == size &&
                (size == 0 || count <= (unpack->size - unpack->at) / size);
    unpack->failed |= !fits;
    return fits && take(unpack, elements, count * size);
}

bool sn_unpack_complete(const sn_unpack *unpack) {
    return !unpack->failed && unpack->at == unpack->size;
}

sinew_status sn_unpack_fail(const sn_unpack *unpack, sinew_error *error) {
    if (unpack->starved) return sn_no_memory(error);
    return sn_fail(error, SINEW_BAD_INPUT, "the saved state is damaged");
}
