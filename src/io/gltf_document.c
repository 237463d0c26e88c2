#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "io/binary.h"
#include "io/gltf.h"
#include "io/meshopt.h"
#include "io/reading.h"

sinew_status sn_gltf_fail(const sn_gltf *g, const char *format, ...) {
    char what[SINEW_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    sn_vprint(what, sizeof what, format, arguments);
    va_end(arguments);
    return sn_source_fail(g->source, g->error, "%s", what);
}

int sn_gltf_count(const sn_gltf *g, const char *array) {
    return (int)json_array_size(json_object_get(g->root, array));
}

const json_t *sn_gltf_item(const sn_gltf *g, const char *array, const json_t *index) {
    int64_t i;
    if (!sn_json_integer(index, 0, INT_MAX, &i)) return NULL;
    return json_array_get(json_object_get(g->root, array), (size_t)i);
}

/* A member that is a whole number of bytes; `otherwise` when it is not there. */
static bool read_size(const json_t *object, const char *key, size_t otherwise, size_t *size) {
    const json_t *value = json_object_get(object, key);
    int64_t bytes;
    *size = otherwise;
    if (!value) return true;
    if (!sn_json_integer(value, 0, INT64_MAX, &bytes)) return false;
    *size = (size_t)bytes;
    return true;
}

/* --- container -------------------------------------------------------------------------------- */

/* GLB: a header of 12 bytes, then chunks of a length, a type and bytes. */
static sinew_status open_container(sn_gltf *g, sn_gltf_bytes *json, sn_gltf_bytes *binary) {
    const char *bytes = g->source->bytes;
    size_t size = g->source->size;
    *binary = (sn_gltf_bytes){0};
    if (size < 4 || memcmp(bytes, "glTF", 4) != 0) {
        *json = (sn_gltf_bytes){bytes, size, NULL};
        return SINEW_OK;
    }
    if (size < 20) return sn_gltf_fail(g, "is cut short in its header");
    if (sn_load_u32(bytes + 4, false) != 2)
        return sn_gltf_fail(g, "GLB version %u is not 2", sn_load_u32(bytes + 4, false));
    size_t length = sn_load_u32(bytes + 8, false);
    if (length > size)
        return sn_gltf_fail(g, "is cut short: %zu of %zu bytes are there", size, length);
    if (length < 20) return sn_gltf_fail(g, "states a length of %zu bytes", length);
    *json = (sn_gltf_bytes){0};
    for (size_t at = 12; at + 8 <= length;) {
        size_t chunk = sn_load_u32(bytes + at, false);
        uint32_t type = sn_load_u32(bytes + at + 4, false);
        at += 8;
        if (chunk > length - at) return sn_gltf_fail(g, "chunk at byte %zu is cut short", at - 8);
        if (type == 0x4e4f534a && !json->bytes) *json = (sn_gltf_bytes){bytes + at, chunk, NULL};
        if (type == 0x004e4942 && !binary->bytes)
            *binary = (sn_gltf_bytes){bytes + at, chunk, NULL};
        at += chunk;
    }
    if (!json->bytes) return sn_gltf_fail(g, "has no JSON chunk");
    return SINEW_OK;
}

/* Extensions that change nothing of what we read: materials, textures, lights, avatars. */
static bool is_harmless(const char *name) {
    static const char *const known[] = {"KHR_mesh_quantization", "EXT_meshopt_compression",
                                        "KHR_texture_transform", "KHR_texture_basisu",
                                        "KHR_lights_punctual",   "EXT_texture_webp",
                                        "EXT_texture_avif",      "MSFT_texture_dds"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0) return true;
    return strncmp(name, "KHR_materials_", 14) == 0 || strncmp(name, "VRM", 3) == 0;
}

static sinew_status check_extensions(const sn_gltf *g) {
    const json_t *required = json_object_get(g->root, "extensionsRequired");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (!name || !is_harmless(name))
            return sn_gltf_fail(g, "needs the extension %.80s, which is not supported",
                                name ? name : "?");
    }
    return SINEW_OK;
}

static sinew_status check_root(const sn_gltf *g) {
    static const char *const arrays[] = {"buffers", "bufferViews", "accessors",  "meshes",
                                         "nodes",   "scenes",      "animations", "materials"};
    /* before the lists, which glTF 1 stores as objects */
    const char *version = sn_json_string(json_object_get(g->root, "asset"), "version");
    if (!version || strncmp(version, "2.", 2) != 0) return sn_gltf_fail(g, "is not a glTF 2 file");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const json_t *array = json_object_get(g->root, arrays[i]);
        if (array && (!json_is_array(array) || json_array_size(array) > INT_MAX / 2))
            return sn_gltf_fail(g, "\"%s\" is not a list", arrays[i]);
    }
    return check_extensions(g);
}

/* --- buffers ---------------------------------------------------------------------------------- */

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static sinew_status decode_base64(const sn_gltf *g, const char *text, sn_gltf_bytes *buffer) {
    size_t length = strlen(text);
    char *bytes = SN_NEW(char, length / 4 * 3 + 4);
    if (!bytes) return sn_no_memory(g->error);
    size_t used = 0;
    uint32_t bits = 0;
    int count = 0;
    for (; *text && *text != '='; text++) {
        int digit = base64_digit(*text);
        if (digit < 0) {
            sn_free(bytes);
            return sn_gltf_fail(g, "a data URI is not base64");
        }
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes[used++] = (char)(bits >> count & 0xff);
        }
    }
    *buffer = (sn_gltf_bytes){bytes, used, bytes};
    return SINEW_OK;
}

/* %XX undone; NULL: no memory. */
static char *decode_uri(const char *uri) {
    char *path = sn_strdup(uri);
    if (!path) return NULL;
    char *to = path;
    for (const char *c = path; *c; to++) {
        unsigned value;
        char digits[3] = {c[0] == '%' ? c[1] : 0, c[0] == '%' && c[1] ? c[2] : 0, 0};
        if (digits[0] && digits[1] && sscanf(digits, "%2x", &value) == 1 && value) {
            *to = (char)value;
            c += 3;
        } else {
            *to = *c++;
        }
    }
    *to = '\0';
    return path;
}

/* Only files beside or below the document: a file from elsewhere may not reach out of its folder.
 */
static bool is_inside(const char *path) {
    return *path && *path != '/' && !strstr(path, "..") && !strstr(path, "://");
}

static sinew_status open_file(const sn_gltf *g, const char *uri, sn_gltf_bytes *buffer) {
    char *relative = decode_uri(uri);
    if (!relative) return sn_no_memory(g->error);
    if (!g->source->path || !is_inside(relative)) {
        sn_free(relative);
        return sn_gltf_fail(g, "buffer %.80s is not in the folder of the file", uri);
    }
    size_t folder = (size_t)(sn_path_name(g->source->path) - g->source->path);
    char *path = sn_alloc(folder + strlen(relative) + 1, 1);
    sinew_status status = SINEW_OK;
    if (path) {
        memcpy(path, g->source->path, folder);
        strcpy(path + folder, relative);
        char *bytes;
        struct stat info;
        /* opening a pipe that nobody writes to would wait for ever */
        if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
            status = sn_gltf_fail(g, "buffer %.80s is not a regular file", uri);
        else
            status = sn_load(path, &bytes, &buffer->size, g->error);
        if (status == SINEW_OK) buffer->bytes = buffer->owned = bytes;
    } else {
        status = sn_no_memory(g->error);
    }
    sn_free(path);
    sn_free(relative);
    return status;
}

static sinew_status open_buffer(sn_gltf *g, int index, const sn_gltf_bytes *binary) {
    const json_t *object = json_array_get(json_object_get(g->root, "buffers"), (size_t)index);
    sn_gltf_bytes *buffer = &g->buffers[index];
    size_t length;
    if (!read_size(object, "byteLength", 0, &length))
        return sn_gltf_fail(g, "buffer %d has a bad length", index);
    const char *uri = sn_json_string(object, "uri");
    if (uri && strncmp(uri, "data:", 5) == 0) {
        const char *comma = strstr(uri, ";base64,");
        if (!comma) return sn_gltf_fail(g, "buffer %d: a data URI is not base64", index);
        SN_TRY(decode_base64(g, comma + 8, buffer));
    } else if (uri) {
        SN_TRY(open_file(g, uri, buffer));
    } else if (index == 0 && binary->bytes) {
        *buffer = *binary;
    } else {
        /* A place holder for compressed views, which bring their own bytes. */
        return SINEW_OK;
    }
    if (buffer->size < length)
        return sn_gltf_fail(g, "buffer %d is cut short: %zu of %zu bytes are there", index,
                            buffer->size, length);
    buffer->size = length;
    return SINEW_OK;
}

sinew_status sn_gltf_open(sn_gltf *g, const sn_source *source, sinew_error *error) {
    *g = (sn_gltf){.source = source, .error = error};
    sn_gltf_bytes json = {0}, binary = {0};
    SN_TRY(open_container(g, &json, &binary));
    SN_TRY(sn_json_parse(json.bytes, json.size, source->name, &g->root, error));
    SN_TRY(check_root(g));
    g->buffer_count = sn_gltf_count(g, "buffers");
    g->view_count = sn_gltf_count(g, "bufferViews");
    g->buffers = SN_NEW0(sn_gltf_bytes, g->buffer_count);
    g->views = SN_NEW0(sn_gltf_bytes, g->view_count);
    g->view_resolved = SN_NEW0(bool, g->view_count);
    if (!g->buffers || !g->views || !g->view_resolved) return sn_no_memory(error);
    for (int i = 0; i < g->buffer_count; i++) SN_TRY(open_buffer(g, i, &binary));
    return SINEW_OK;
}

void sn_gltf_close(sn_gltf *g) {
    json_decref(g->root);
    for (int i = 0; g->buffers && i < g->buffer_count; i++) sn_free(g->buffers[i].owned);
    for (int i = 0; g->views && i < g->view_count; i++) sn_free(g->views[i].owned);
    sn_free(g->buffers);
    sn_free(g->views);
    sn_free(g->view_resolved);
    *g = (sn_gltf){0};
}

/* --- views ------------------------------------------------------------------------------------ */

/* The bytes that a view, or a compressed view's extension, names in a buffer. */
static sinew_status slice_buffer(const sn_gltf *g, const json_t *object, int view,
                                 sn_gltf_bytes *slice) {
    int64_t buffer;
    size_t offset, length;
    if (!sn_json_integer(json_object_get(object, "buffer"), 0, g->buffer_count - 1, &buffer) ||
        !read_size(object, "byteOffset", 0, &offset) ||
        !read_size(object, "byteLength", 0, &length))
        return sn_gltf_fail(g, "bufferView %d is not valid", view);
    const sn_gltf_bytes *bytes = &g->buffers[buffer];
    if (!bytes->bytes) return sn_gltf_fail(g, "bufferView %d: its buffer has no data", view);
    if (offset > bytes->size || length > bytes->size - offset)
        return sn_gltf_fail(g, "bufferView %d reaches beyond buffer %d of %zu bytes", view,
                            (int)buffer, bytes->size);
    *slice = (sn_gltf_bytes){bytes->bytes + offset, length, NULL};
    return SINEW_OK;
}

static sinew_status decompress_view(sn_gltf *g, const json_t *extension, int view) {
    sn_gltf_bytes packed;
    size_t count, stride;
    SN_TRY(slice_buffer(g, extension, view, &packed));
    if (!read_size(extension, "count", 0, &count) ||
        !read_size(extension, "byteStride", 0, &stride))
        return sn_gltf_fail(g, "bufferView %d is not valid", view);
    const char *mode = sn_json_string(extension, "mode");
    const char *filter = sn_json_string(extension, "filter");
    char *bytes;
    sinew_status status =
        sn_meshopt_decode(packed.bytes, packed.size, count, stride, mode, filter, &bytes, g->error);
    if (status == SINEW_BAD_INPUT)
        return sn_gltf_fail(g, "bufferView %d: the compressed data are not valid", view);
    SN_TRY(status);
    g->views[view] = (sn_gltf_bytes){bytes, count * stride, bytes};
    return SINEW_OK;
}

static sinew_status open_view(sn_gltf *g, const json_t *index, sn_gltf_bytes *view,
                              size_t *stride) {
    int64_t i;
    if (!sn_json_integer(index, 0, g->view_count - 1, &i))
        return sn_gltf_fail(g, "an accessor names a bufferView that does not exist");
    const json_t *object = json_array_get(json_object_get(g->root, "bufferViews"), (size_t)i);
    const json_t *extension =
        json_object_get(json_object_get(object, "extensions"), "EXT_meshopt_compression");
    if (!g->view_resolved[i]) {
        if (extension)
            SN_TRY(decompress_view(g, extension, (int)i));
        else
            SN_TRY(slice_buffer(g, object, (int)i, &g->views[i]));
        g->view_resolved[i] = true;
    }
    *view = g->views[i];
    if (!read_size(extension ? extension : object, "byteStride", 0, stride) || *stride > 1024)
        return sn_gltf_fail(g, "bufferView %d has a bad stride", (int)i);
    return SINEW_OK;
}

/* --- accessors -------------------------------------------------------------------------------- */

static int component_size(int64_t type) {
    switch (type) {
    case 5120:
    case 5121:
        return 1;
    case 5122:
    case 5123:
        return 2;
    case 5125:
    case 5126:
        return 4;
    default:
        return 0;
    }
}

static int component_count(const char *type) {
    static const char *const names[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};
    for (int i = 0; type && i < 4; i++)
        if (strcmp(type, names[i]) == 0) return i + 1;
    if (type && strcmp(type, "MAT4") == 0) return 16;
    return 0;
}

/* Finds `count` elements of `size` bytes in a view; checks that the last one ends inside it. */
static sinew_status place_elements(sn_gltf *g, const json_t *object, const char *what, size_t count,
                                   size_t size, const char **bytes, size_t *stride) {
    sn_gltf_bytes view = {0};
    size_t offset;
    SN_TRY(open_view(g, json_object_get(object, "bufferView"), &view, stride));
    if (!read_size(object, "byteOffset", 0, &offset) || offset > view.size)
        return sn_gltf_fail(g, "%s has a bad byteOffset", what);
    if (*stride == 0) *stride = size;
    if (*stride < size) return sn_gltf_fail(g, "%s has a stride smaller than its elements", what);
    size_t room = view.size - offset;
    if (count > 0 && (room < size || (count - 1) > (room - size) / *stride))
        return sn_gltf_fail(g, "%s reaches beyond its bufferView: %zu elements in %zu bytes", what,
                            count, room);
    *bytes = view.bytes + offset;
    return SINEW_OK;
}

sinew_status sn_gltf_accessor_open(sn_gltf *g, const json_t *index, const char *what,
                                   int components, int expected, sn_gltf_accessor *a) {
    const json_t *object = sn_gltf_item(g, "accessors", index);
    if (!object) return sn_gltf_fail(g, "%s names an accessor that does not exist", what);
    int64_t count, type;
    if (!sn_json_integer(json_object_get(object, "count"), 1, INT_MAX / 4, &count))
        return sn_gltf_fail(g, "%s: the number of elements is not 1 to %d", what, INT_MAX / 4);
    if (!sn_json_integer(json_object_get(object, "componentType"), 5120, 5126, &type) ||
        component_size(type) == 0 || component_count(sn_json_string(object, "type")) != components)
        return sn_gltf_fail(g, "%s is not %d numbers per element", what, components);
    if (expected >= 0 && count != expected)
        return sn_gltf_fail(g, "%s has %lld elements, but %d are needed", what, (long long)count,
                            expected);
    *a = (sn_gltf_accessor){.count = (int)count,
                            .components = components,
                            .component_type = (int)type,
                            .normalized = json_is_true(json_object_get(object, "normalized")),
                            .sparse = json_object_get(object, "sparse"),
                            .name = sn_json_string(object, "name")};
    size_t size = (size_t)component_size(type) * (size_t)components;
    if (json_object_get(object, "bufferView"))
        return place_elements(g, object, what, (size_t)count, size, &a->bytes, &a->stride);
    if (expected < 0) return sn_gltf_fail(g, "%s has no data", what);
    return SINEW_OK;
}

static double load(const char *at, int type) {
    switch (type) {
    case 5120:
        return (int8_t)*at;
    case 5121:
        return (uint8_t)*at;
    case 5122:
        return (int16_t)sn_load_u16(at, false);
    case 5123:
        return sn_load_u16(at, false);
    case 5125:
        return sn_load_u32(at, false);
    default:
        return (double)sn_load_f32(at, false);
    }
}

/* Normalized integers: c / 255, max(c / 127, -1) and so on. */
static double normalize(double value, int type) {
    switch (type) {
    case 5120:
        return fmax(value / 127, -1);
    case 5121:
        return value / 255;
    case 5122:
        return fmax(value / 32767, -1);
    case 5123:
        return value / 65535;
    default:
        return value;
    }
}

static sinew_status read_element(const sn_gltf *g, const sn_gltf_accessor *a, const char *at,
                                 const char *what, int64_t element, double *values) {
    size_t size = (size_t)component_size(a->component_type);
    for (int c = 0; c < a->components; c++) {
        double value = load(at + size * (size_t)c, a->component_type);
        if (a->normalized) value = normalize(value, a->component_type);
        if (!isfinite(value))
            return sn_gltf_fail(g, "%s: element %lld is not finite", what, (long long)element);
        values[c] = value;
    }
    return SINEW_OK;
}

/* Elements that replace those of the dense part: increasing indices, and as many values. */
static sinew_status read_sparse(sn_gltf *g, const sn_gltf_accessor *a, const char *what,
                                double *values) {
    const json_t *indices = json_object_get(a->sparse, "indices");
    int64_t count, type;
    if (!sn_json_integer(json_object_get(a->sparse, "count"), 1, a->count, &count) ||
        !sn_json_integer(json_object_get(indices, "componentType"), 5121, 5125, &type) ||
        (type != 5121 && type != 5123 && type != 5125))
        return sn_gltf_fail(g, "%s has sparse values that are not valid", what);
    size_t index_size = (size_t)component_size(type), index_stride, value_stride;
    size_t size = (size_t)component_size(a->component_type) * (size_t)a->components;
    const char *index_bytes, *value_bytes;
    SN_TRY(
        place_elements(g, indices, what, (size_t)count, index_size, &index_bytes, &index_stride));
    SN_TRY(place_elements(g, json_object_get(a->sparse, "values"), what, (size_t)count, size,
                          &value_bytes, &value_stride));
    int64_t last = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t element = (int64_t)load(index_bytes + index_stride * (size_t)i, (int)type);
        if (element <= last || element >= a->count)
            return sn_gltf_fail(g, "%s: sparse index %lld is not valid", what, (long long)element);
        last = element;
        SN_TRY(read_element(g, a, value_bytes + value_stride * (size_t)i, what, element,
                            values + (size_t)element * (size_t)a->components));
    }
    return SINEW_OK;
}

sinew_status sn_gltf_accessor_read(sn_gltf *g, const sn_gltf_accessor *a, const char *what,
                                   double *values) {
    size_t components = (size_t)a->components;
    if (!a->bytes) memset(values, 0, (size_t)a->count * components * sizeof(double));
    if (a->bytes && a->component_type == 5126) {
        /* by far the most common: floats, without a switch per number */
        bool finite = true;
        for (size_t i = 0; i < (size_t)a->count; i++)
            for (size_t c = 0; c < components; c++) {
                double value = (double)sn_load_f32(a->bytes + i * a->stride + 4 * c, false);
                finite &= fabs(value) < (double)INFINITY;
                values[i * components + c] = value;
            }
        if (!finite) return sn_gltf_fail(g, "%s has a number that is not finite", what);
    } else if (a->bytes) {
        for (size_t i = 0; i < (size_t)a->count; i++)
            SN_TRY(read_element(g, a, a->bytes + i * a->stride, what, (int64_t)i,
                                values + i * components));
    }
    return a->sparse ? read_sparse(g, a, what, values) : SINEW_OK;
}

sinew_status sn_gltf_read_times(sn_gltf *g, const sn_gltf_accessor *a, double *times) {
    SN_TRY(sn_gltf_accessor_read(g, a, "animation times", times));
    for (int k = 1; k < a->count; k++)
        if (!(times[k] > times[k - 1]))
            return sn_gltf_fail(g, "animation times do not increase at key %d", k);
    return SINEW_OK;
}

sinew_status sn_gltf_accessor_indices(sn_gltf *g, const sn_gltf_accessor *a, const char *what,
                                      int limit, int *indices) {
    if (!a->bytes || a->sparse || a->normalized || a->component_type == 5126 ||
        a->component_type == 5120 || a->component_type == 5122)
        return sn_gltf_fail(g, "%s are not unsigned integers", what);
    for (size_t i = 0; i < (size_t)a->count; i++) {
        double value = load(a->bytes + i * a->stride, a->component_type);
        if (value >= limit)
            return sn_gltf_fail(g, "%s: index %zu is %.0f of %d", what, i, value, limit);
        indices[i] = (int)value;
    }
    return SINEW_OK;
}
