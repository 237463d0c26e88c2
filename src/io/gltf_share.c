#include "io/gltf_share.h"

#include <string.h>

enum { WIDTH = 12 }; /* bytes of a position */

/* Bytes [first, end) of the binary chunk that an accessor or a view covers; false: none there. */
typedef struct extent {
    json_int_t first, end;
} extent;

static bool view_extent(const json_t *view, extent *covered) {
    if (!view || json_integer_value(json_object_get(view, "buffer")) != 0) return false;
    covered->first = json_integer_value(json_object_get(view, "byteOffset"));
    covered->end = covered->first + json_integer_value(json_object_get(view, "byteLength"));
    return true;
}

static bool overlap(extent a, extent b) {
    return a.first < b.end && b.first < a.end;
}

/* Whether another accessor of the same view could cover bytes of the rows at `own`. Attributes may
 * be interleaved: rows of `stride` bytes that begin within the first row, beside each other. */
static bool shares_rows(const json_t *accessor, json_int_t own, json_int_t stride,
                        json_int_t count) {
    static const json_int_t widest = 64; /* MAT4 of floats */
    json_int_t other = json_integer_value(json_object_get(accessor, "byteOffset"));
    json_int_t others = json_integer_value(json_object_get(accessor, "count"));
    const char *type = sn_json_string(accessor, "type");
    json_int_t width = !type                         ? widest
                       : strcmp(type, "SCALAR") == 0 ? 4
                       : strcmp(type, "VEC2") == 0   ? 8
                       : strcmp(type, "VEC3") == 0   ? WIDTH
                       : strcmp(type, "VEC4") == 0   ? 16
                                                     : widest;
    if (json_object_get(accessor, "sparse")) return true;
    extent a = {own, own + (count - 1) * stride + WIDTH};
    extent b = {other, other + (others > 0 ? (others - 1) * stride : 0) + width};
    if (!overlap(a, b)) return false;
    json_int_t first = own % stride, second = other % stride;
    bool beside = first + WIDTH <= stride && second + width <= stride &&
                  !overlap((extent){first, first + WIDTH}, (extent){second, second + width});
    return !beside;
}

/* Whether anything but POSITION of primitives refers to an accessor. */
static bool has_other_role(const json_t *root, int64_t index) {
    const json_t *meshes = json_object_get(root, "meshes");
    const json_t *skins = json_object_get(root, "skins");
    const json_t *animations = json_object_get(root, "animations");
    bool found = false;
    for (size_t m = 0; m < json_array_size(meshes); m++) {
        const json_t *primitives = json_object_get(json_array_get(meshes, m), "primitives");
        for (size_t p = 0; p < json_array_size(primitives); p++) {
            json_t *primitive = json_array_get(primitives, p), *value;
            const json_t *targets = json_object_get(primitive, "targets");
            const char *key;
            json_object_foreach(json_object_get(primitive, "attributes"), key, value) found |=
                strcmp(key, "POSITION") != 0 && json_integer_value(value) == index;
            for (size_t t = 0; t < json_array_size(targets); t++)
                json_object_foreach(json_array_get(targets, t), key, value) found |=
                    json_integer_value(value) == index;
        }
    }
    for (size_t i = 0; i < json_array_size(skins); i++) {
        const json_t *own = json_object_get(json_array_get(skins, i), "inverseBindMatrices");
        found |= own && json_integer_value(own) == index;
    }
    for (size_t a = 0; a < json_array_size(animations); a++) {
        const json_t *samplers = json_object_get(json_array_get(animations, a), "samplers");
        for (size_t i = 0; i < json_array_size(samplers); i++) {
            const json_t *sampler = json_array_get(samplers, i);
            found |= json_integer_value(json_object_get(sampler, "input")) == index ||
                     json_integer_value(json_object_get(sampler, "output")) == index;
        }
    }
    return found;
}

bool sn_gltf_sole_positions(const json_t *root, int64_t index, size_t *offset, size_t *stride) {
    const json_t *accessors = json_object_get(root, "accessors");
    const json_t *views = json_object_get(root, "bufferViews");
    const json_t *accessor = json_array_get(accessors, (size_t)index);
    const json_t *view_index = json_object_get(accessor, "bufferView");
    const json_t *view = json_array_get(views, (size_t)json_integer_value(view_index));
    extent whole;
    if (!view_index || !view || json_object_get(accessor, "sparse") ||
        json_object_get(view, "extensions") ||
        json_integer_value(json_object_get(accessor, "componentType")) != 5126 ||
        !view_extent(view, &whole) || has_other_role(root, index))
        return false;
    json_int_t own = json_integer_value(json_object_get(accessor, "byteOffset"));
    json_int_t count = json_integer_value(json_object_get(accessor, "count"));
    json_int_t step = json_integer_value(json_object_get(view, "byteStride"));
    if (step == 0) step = WIDTH;
    for (size_t i = 0; i < json_array_size(accessors); i++) {
        const json_t *other = json_array_get(accessors, i);
        if ((int64_t)i != index && json_equal(json_object_get(other, "bufferView"), view_index) &&
            shares_rows(other, own, step, count))
            return false;
    }
    extent rows = {whole.first + own, whole.first + own + (count - 1) * step + WIDTH};
    for (size_t i = 0; i < json_array_size(views); i++) {
        extent covered;
        if ((json_int_t)i != json_integer_value(view_index) &&
            view_extent(json_array_get(views, i), &covered) && overlap(covered, rows))
            return false;
    }
    *offset = (size_t)rows.first;
    *stride = (size_t)step;
    return true;
}
