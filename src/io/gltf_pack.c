/* Quantized and compressed data of small GLB files (KHR_mesh_quantization and
 * EXT_meshopt_compression, streams by the meshoptimizer library). */
#include "io/gltf_pack.h"

#include <math.h>
#include <meshoptimizer.h>

#include "base/memory.h"

enum { BYTE = 5120, SHORT = 5122, LARGEST_SHORT = 32767, LARGEST_BYTE = 127 };

static void set(sn_gltf_file *file, json_t *object, const char *key, json_t *value) {
    file->failed |= json_object_set_new(object, key, value) != 0;
}

/* Packed streams are in buffer 0; the views refer to buffer 1, which a program without a decoder
 * would need and which the file does not hold. */
int sn_gltf_pack_view(sn_gltf_file *file, const void *bytes, size_t count, size_t stride,
                      bool indices, sn_gltf_use use) {
    size_t bound = indices ? meshopt_encodeIndexSequenceBound(count, UINT32_MAX)
                           : meshopt_encodeVertexBufferBound(count, stride);
    unsigned char *packed = sn_alloc(bound + 1, 1);
    size_t size = 0;
    file->failed |= !packed;
    if (packed && indices) {
        meshopt_encodeIndexVersion(1);
        size = meshopt_encodeIndexSequence(packed, bound, bytes, count);
    } else if (packed) {
        size = meshopt_encodeVertexBuffer(packed, bound, bytes, count, stride);
    }
    file->failed |= size == 0;
    while (file->binary.size % 4 != 0 && !file->binary.failed) sn_buffer_char(&file->binary, 0);
    size_t start = file->binary.size;
    if (size > 0) sn_buffer_add(&file->binary, packed, size);
    sn_free(packed);
    json_t *view = json_pack("{s:i, s:I, s:I, s:{s:{s:i, s:I, s:I, s:I, s:s, s:I}}}", "buffer", 1,
                             "byteOffset", (json_int_t)file->unpacked, "byteLength",
                             (json_int_t)(count * stride), "extensions", "EXT_meshopt_compression",
                             "buffer", 0, "byteOffset", (json_int_t)start, "byteLength",
                             (json_int_t)size, "byteStride", (json_int_t)stride, "mode",
                             indices ? "INDICES" : "ATTRIBUTES", "count", (json_int_t)count);
    file->failed |= !view;
    if (use == SN_GLTF_VERTICES) set(file, view, "byteStride", json_integer((json_int_t)stride));
    if (use != SN_GLTF_PLAIN) set(file, view, "target", json_integer(use));
    file->failed |= json_array_append_new(file->views, view) != 0;
    file->unpacked += (count * stride + 3) & ~(size_t)3;
    return (int)json_array_size(file->views) - 1;
}

static int add_accessor(sn_gltf_file *file, json_t *accessor, int view, int count, int type) {
    set(file, accessor, "bufferView", json_integer(view));
    set(file, accessor, "componentType", json_integer(type));
    set(file, accessor, "count", json_integer(count));
    set(file, accessor, "type", json_string("VEC3"));
    file->failed |= json_array_append_new(file->accessors, accessor) != 0;
    return (int)json_array_size(file->accessors) - 1;
}

static void put_short(char *bytes, int value) {
    bytes[0] = (char)(value & 0xff), bytes[1] = (char)((value >> 8) & 0xff);
}

int sn_gltf_add_shorts(sn_gltf_file *file, const float *rows, int count) {
    for (size_t i = 0; i < 3 * (size_t)count; i++)
        if (fabsf(rows[i]) > LARGEST_SHORT)
            return sn_gltf_add_floats(file, rows, count, 3, SN_GLTF_VERTICES, true);
    char *bytes = sn_calloc((size_t)count + 1, 8);
    json_t *accessor = json_object(), *low = json_array(), *high = json_array();
    file->failed |= !bytes;
    for (size_t c = 0; bytes && c < 3; c++) {
        int least = LARGEST_SHORT, most = -LARGEST_SHORT;
        for (size_t i = 0; i < (size_t)count; i++) {
            int value = (int)lrintf(rows[3 * i + c]);
            put_short(bytes + 8 * i + 2 * c, value);
            if (value < least) least = value;
            if (value > most) most = value;
        }
        file->failed |= json_array_append_new(low, json_integer(least)) != 0;
        file->failed |= json_array_append_new(high, json_integer(most)) != 0;
    }
    set(file, accessor, "min", low);
    set(file, accessor, "max", high);
    int view =
        bytes ? sn_gltf_pack_view(file, bytes, (size_t)count, 8, false, SN_GLTF_VERTICES) : -1;
    sn_free(bytes);
    return add_accessor(file, accessor, view, count, SHORT);
}

int sn_gltf_add_directions(sn_gltf_file *file, const float *rows, int count, bool fine) {
    size_t stride = fine ? 8 : 4;
    char *bytes = sn_calloc((size_t)count + 1, stride);
    file->failed |= !bytes;
    for (size_t i = 0; bytes && i < (size_t)count; i++)
        for (size_t c = 0; c < 3; c++) {
            float value = fmaxf(-1, fminf(1, rows[3 * i + c]));
            if (fine)
                put_short(bytes + stride * i + 2 * c, (int)lrintf(LARGEST_SHORT * value));
            else
                bytes[stride * i + c] = (char)(int8_t)lrintf(LARGEST_BYTE * value);
        }
    json_t *accessor = json_object();
    set(file, accessor, "normalized", json_true());
    int view =
        bytes ? sn_gltf_pack_view(file, bytes, (size_t)count, stride, false, SN_GLTF_VERTICES) : -1;
    sn_free(bytes);
    return add_accessor(file, accessor, view, count, fine ? SHORT : BYTE);
}

double sn_gltf_step(double length) {
    return length > 0 && isfinite(length) ? exp2(floor(log2(length))) : 0;
}

void sn_gltf_finish_packed(sn_gltf_file *file, json_t *root) {
    json_t *names = json_pack("[s, s]", "EXT_meshopt_compression", "KHR_mesh_quantization");
    file->failed |= !names;
    set(file, root, "extensionsUsed", json_incref(names));
    set(file, root, "extensionsRequired", names);
    json_t *fallback = json_pack("{s:I, s:{s:{s:b}}}", "byteLength", (json_int_t)file->unpacked,
                                 "extensions", "EXT_meshopt_compression", "fallback", 1);
    file->failed |= json_array_append_new(json_object_get(root, "buffers"), fallback) != 0;
}
