#include "io/meshopt.h"

#include <meshoptimizer.h>
#include <string.h>

#include "base/memory.h"

/* No stream expands more than this: attributes store at least two bits for sixteen bytes, triangles
 * at least a byte for twelve. A larger promise is a lie and is not allocated. */
enum { MAX_EXPANSION = 64, BLOCK_BYTES = 8192 };

static bool filter_attributes(const char *filter, char *bytes, size_t count, size_t stride) {
    if (!filter || strcmp(filter, "NONE") == 0) return true;
    if (strcmp(filter, "OCTAHEDRAL") == 0 && (stride == 4 || stride == 8)) {
        meshopt_decodeFilterOct(bytes, count, stride);
        return true;
    }
    if (strcmp(filter, "QUATERNION") == 0 && stride == 8) {
        meshopt_decodeFilterQuat(bytes, count, stride);
        return true;
    }
    if (strcmp(filter, "EXPONENTIAL") == 0 && stride % 4 == 0) {
        meshopt_decodeFilterExp(bytes, count, stride);
        return true;
    }
    return false;
}

/* The filters work on whole vectors of four; the block is rounded up for them. */
static size_t padded(size_t count) {
    return (count + 3) & ~(size_t)3;
}

sinew_status sn_meshopt_decode(const char *packed, size_t packed_size, size_t count, size_t stride,
                               const char *mode, const char *filter, char **bytes,
                               sinew_error *error) {
    *bytes = NULL;
    bool attributes = mode && strcmp(mode, "ATTRIBUTES") == 0;
    bool triangles = mode && strcmp(mode, "TRIANGLES") == 0;
    bool indices = mode && strcmp(mode, "INDICES") == 0;
    if (!attributes && !triangles && !indices) return SINEW_BAD_INPUT;
    if (attributes ? stride == 0 || stride > 256 || stride % 4 != 0 : stride != 2 && stride != 4)
        return SINEW_BAD_INPUT;
    if (triangles && count % 3 != 0) return SINEW_BAD_INPUT;
    if (count > (packed_size * MAX_EXPANSION + BLOCK_BYTES) / stride) return SINEW_BAD_INPUT;
    char *block = sn_calloc(padded(count), stride);
    if (!block) return sn_no_memory(error);
    const unsigned char *from = (const unsigned char *)packed;
    int failed;
    if (attributes)
        failed = meshopt_decodeVertexBuffer(block, count, stride, from, packed_size);
    else if (triangles)
        failed = meshopt_decodeIndexBuffer(block, count, stride, from, packed_size);
    else
        failed = meshopt_decodeIndexSequence(block, count, stride, from, packed_size);
    if (failed || (attributes && !filter_attributes(filter, block, count, stride))) {
        sn_free(block);
        return SINEW_BAD_INPUT;
    }
    *bytes = block;
    return SINEW_OK;
}
