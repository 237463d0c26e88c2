/* Rigs to GLB.
 *
 * Vertex i of the mesh is vertex i of the file; where faces disagree about texture coordinates or
 * normals, copies follow at the end. `_VERTEX` stores of which vertex each is a copy, extras.sinew
 * keeps polygons, parts and the rig's description (gltf_read.c restores them), extras.targetNames
 * the names that other programs read. Targets are sparse where that is smaller. */
#include "io/gltf_write.h"

#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "io/binary.h"
#include "io/gltf_pack.h"
#include "io/gltf_split.h"
#include "io/rig_json.h"
#include "mesh/normals.h"
#include "mesh/topology.h"

/* --- binary data ------------------------------------------------------------------------------ */

void sn_gltf_file_open(sn_gltf_file *file) {
    *file = (sn_gltf_file){.views = json_array(), .accessors = json_array()};
    file->failed = !file->views || !file->accessors;
}

void sn_gltf_file_free(sn_gltf_file *file) {
    sn_buffer_free(&file->binary);
    json_decref(file->views);
    json_decref(file->accessors);
    *file = (sn_gltf_file){0};
}

static void set(sn_gltf_file *file, json_t *object, const char *key, json_t *value) {
    file->failed |= json_object_set_new(object, key, value) != 0;
}

static void align(sn_gltf_file *file) {
    while (file->binary.size % 4 != 0 && !file->binary.failed) sn_buffer_char(&file->binary, 0);
}

/* A view from `start` to the end of the data so far. */
static int add_view(sn_gltf_file *file, size_t start, sn_gltf_use use) {
    json_t *view = json_object();
    set(file, view, "buffer", json_integer(0));
    set(file, view, "byteOffset", json_integer((json_int_t)start));
    set(file, view, "byteLength", json_integer((json_int_t)(file->binary.size - start)));
    if (use != SN_GLTF_PLAIN) set(file, view, "target", json_integer(use));
    file->failed |= json_array_append_new(file->views, view) != 0;
    return (int)json_array_size(file->views) - 1;
}

static int add_accessor(sn_gltf_file *file, json_t *accessor, int view, int count, int type,
                        const char *shape) {
    if (view >= 0) set(file, accessor, "bufferView", json_integer(view));
    set(file, accessor, "componentType", json_integer(type));
    set(file, accessor, "count", json_integer(count));
    set(file, accessor, "type", json_string(shape));
    file->failed |= json_array_append_new(file->accessors, accessor) != 0;
    return (int)json_array_size(file->accessors) - 1;
}

static const char *const shapes[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};

static void add_bounds(sn_gltf_file *file, json_t *accessor, const float *values, int count,
                       int components) {
    json_t *low = json_array(), *high = json_array();
    for (int c = 0; c < components; c++) {
        float least = count ? values[c] : 0, most = least;
        for (int i = 1; i < count; i++) {
            float value = values[(size_t)i * (size_t)components + (size_t)c];
            if (value < least) least = value;
            if (value > most) most = value;
        }
        file->failed |= json_array_append_new(low, json_real((double)least)) != 0;
        file->failed |= json_array_append_new(high, json_real((double)most)) != 0;
    }
    set(file, accessor, "min", low);
    set(file, accessor, "max", high);
}

static size_t add_float_bytes(sn_gltf_file *file, const float *values, size_t count) {
    align(file);
    size_t start = file->binary.size;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    sn_buffer_add(&file->binary, values, count * sizeof(float));
#else
    for (size_t i = 0; i < count; i++) {
        char bytes[4];
        sn_store_f32(bytes, values[i], false);
        sn_buffer_add(&file->binary, bytes, 4);
    }
#endif
    return start;
}

int sn_gltf_add_floats(sn_gltf_file *file, const float *values, int count, int components,
                       sn_gltf_use use, bool bounds) {
    json_t *accessor = json_object();
    if (bounds) add_bounds(file, accessor, values, count, components);
    int view =
        file->step > 0 && count > 0
            ? sn_gltf_pack_view(file, values, (size_t)count, 4 * (size_t)components, false, use)
            : add_view(file, add_float_bytes(file, values, (size_t)count * (size_t)components),
                       use);
    return add_accessor(file, accessor, view, count, 5126, shapes[components - 1]);
}

static size_t add_integer_bytes(sn_gltf_file *file, const int *values, int count, bool wide) {
    align(file);
    size_t start = file->binary.size;
    for (int i = 0; i < count; i++) {
        char bytes[4];
        sn_store_u32(bytes, (uint32_t)values[i], false);
        sn_buffer_add(&file->binary, bytes, wide ? 4 : 2);
    }
    return start;
}

int sn_gltf_add_integers(sn_gltf_file *file, const int *values, int count, int largest,
                         sn_gltf_use use, const char *name) {
    bool wide = largest >= 65535; /* the largest of a type marks a restart in index lists */
    int view = file->step > 0 && count > 0
                   ? sn_gltf_pack_view(file, values, (size_t)count, wide ? 4 : 2, true, use)
                   : add_view(file, add_integer_bytes(file, values, count, wide), use);
    json_t *accessor = json_object();
    if (name) set(file, accessor, "name", json_string(name));
    return add_accessor(file, accessor, view, count, wide ? 5125 : 5123, "SCALAR");
}

static bool is_zero(const float *row, int components) {
    for (int c = 0; c < components; c++)
        if (row[c] != 0) return false;
    return true;
}

int sn_gltf_add_sparse(sn_gltf_file *file, const float *values, int count, int components,
                       bool bounds) {
    size_t width = (size_t)components, moved = 0;
    for (int i = 0; i < count; i++) moved += !is_zero(values + (size_t)i * width, components);
    size_t index_size = count > 65535 ? 4 : 2;
    if (moved * (index_size + 4 * width) >= (size_t)count * 4 * width)
        return sn_gltf_add_floats(file, values, count, components, SN_GLTF_VERTICES, bounds);
    json_t *accessor = json_object();
    if (bounds) add_bounds(file, accessor, values, count, components);
    if (moved > 0) {
        int *indices = SN_NEW(int, moved);
        float *rows = sn_alloc(moved, width * sizeof(float));
        file->failed |= !indices || !rows;
        size_t k = 0;
        for (int i = 0; !file->failed && i < count; i++) {
            if (is_zero(values + (size_t)i * width, components)) continue;
            indices[k] = i;
            memcpy(rows + k++ * width, values + (size_t)i * width, width * sizeof(float));
        }
        if (!file->failed) {
            int index_view = add_view(
                file, add_integer_bytes(file, indices, (int)moved, index_size == 4), SN_GLTF_PLAIN);
            int value_view =
                add_view(file, add_float_bytes(file, rows, moved * width), SN_GLTF_PLAIN);
            set(file, accessor, "sparse",
                json_pack("{s:i, s:{s:i, s:i}, s:{s:i}}", "count", (int)moved, "indices",
                          "bufferView", index_view, "componentType", index_size == 4 ? 5125 : 5123,
                          "values", "bufferView", value_view));
        }
        sn_free(indices);
        sn_free(rows);
    }
    return add_accessor(file, accessor, -1, count, 5126, shapes[components - 1]);
}

/* --- the mesh --------------------------------------------------------------------------------- */

/* What adding a rig needs at hand. */
typedef struct rig_writer {
    sn_gltf_file *file;
    const sinew_rig *rig;
    sn_split split;
    sn_topology *topology;
    double *normals, *posed_normals, *posed; /* per mesh vertex */
    float *rows;                             /* per file vertex */
} rig_writer;

/* A unit vector where a vertex has no face to tell its normal. */
static sn_vec3 some_normal(sn_vec3 n) {
    return sn_dot(n, n) > 0.25 ? n : sn_v3(0, 0, 1);
}

/* The smallest rotation that takes unit vector a to unit vector b, applied to c:
 *   c' = c + w x c + w x (w x c) / (1 + a.b),  w = a x b */
static sn_vec3 turn(sn_vec3 a, sn_vec3 b, sn_vec3 c) {
    sn_vec3 w = sn_cross(a, b);
    double cosine = sn_dot(a, b);
    if (cosine < -0.9999) return sn_scale(-1, c); /* turned over: any half turn will do */
    sn_vec3 once = sn_cross(w, c), twice = sn_cross(w, once);
    return sn_add_scaled(sn_add(c, once), 1 / (1 + cosine), twice);
}

sn_vec3 sn_gltf_normal_change(sn_vec3 before, sn_vec3 after, sn_vec3 normal) {
    bool turned = before.x != after.x || before.y != after.y || before.z != after.z;
    if (!turned || sn_dot(before, before) <= 0.25 || sn_dot(after, after) <= 0.25)
        return sn_v3(0, 0, 0);
    return sn_sub(turn(before, after, normal), normal);
}

static void put_row(float *rows, int i, sn_vec3 v) {
    float *row = rows + 3 * (size_t)i;
    row[0] = (float)v.x, row[1] = (float)v.y, row[2] = (float)v.z;
}

static sn_vec3 split_normal(const rig_writer *w, int i) {
    const sn_split *split = &w->split;
    if (split->normal[i] >= 0) {
        /* a file's normal keeps its bits where it is a unit vector within what glTF allows */
        sn_vec3 normal = sn_at(w->rig->neutral->normals, split->normal[i]);
        return fabs(sn_length(normal) - 1) < 5e-3 ? normal : some_normal(sn_normalize(normal));
    }
    return some_normal(sn_at(w->normals, split->vertex[i]));
}

/* glTF counts v from the top of the picture: 1 - v, which loses bits of small v, and it has no
 * vertex without coordinates among others that have them. Where that matters `_UV` keeps what the
 * artist had: u, v, and 1 or 0 for there or not. */
static void write_uvs(rig_writer *w, json_t *attributes) {
    const sinew_mesh *mesh = w->rig->neutral;
    const sn_split *split = &w->split;
    bool exact = true;
    for (int i = 0; i < split->count; i++) {
        const double none[2] = {0, 0};
        const double *uv = split->uv[i] >= 0 ? mesh->uvs + 2 * (size_t)split->uv[i] : none;
        float v = (float)uv[1], flipped = (float)(1 - (double)v);
        exact &= split->uv[i] >= 0 && (float)(1 - (double)flipped) == v;
        w->rows[2 * (size_t)i] = (float)uv[0];
        w->rows[2 * (size_t)i + 1] = flipped;
    }
    set(w->file, attributes, "TEXCOORD_0",
        json_integer(
            sn_gltf_add_floats(w->file, w->rows, split->count, 2, SN_GLTF_VERTICES, false)));
    if (exact) return;
    for (int i = 0; i < split->count; i++) {
        sn_vec3 row = sn_v3(0, 0, 0);
        if (split->uv[i] >= 0) {
            const double *uv = mesh->uvs + 2 * (size_t)split->uv[i];
            row = sn_v3(uv[0], uv[1], 1);
        }
        put_row(w->rows, i, row);
    }
    set(w->file, attributes, "_UV",
        json_integer(
            sn_gltf_add_floats(w->file, w->rows, split->count, 3, SN_GLTF_VERTICES, false)));
}

static json_t *write_attributes(rig_writer *w, bool normals) {
    const sinew_mesh *mesh = w->rig->neutral;
    const sn_split *split = &w->split;
    sn_gltf_file *file = w->file;
    json_t *attributes = json_object();
    double unit = file->step > 0 ? 1 / file->step : 1;
    for (int i = 0; i < split->count; i++)
        put_row(w->rows, i, sn_scale(unit, sn_at(mesh->positions, split->vertex[i])));
    set(file, attributes, "POSITION",
        json_integer(sn_gltf_add_floats(file, w->rows, split->count, 3, SN_GLTF_VERTICES, true)));
    if (normals) {
        for (int i = 0; i < split->count; i++) put_row(w->rows, i, split_normal(w, i));
        int accessor = file->step > 0 ? sn_gltf_add_directions(file, w->rows, split->count, true)
                                      : sn_gltf_add_floats(file, w->rows, split->count, 3,
                                                           SN_GLTF_VERTICES, false);
        set(file, attributes, "NORMAL", json_integer(accessor));
    }
    if (mesh->corner_uv) write_uvs(w, attributes);
    for (int i = 0; i < split->count; i++) w->rows[i] = (float)split->vertex[i];
    set(file, attributes, "_VERTEX",
        json_integer(sn_gltf_add_floats(file, w->rows, split->count, 1, SN_GLTF_VERTICES, false)));
    return attributes;
}

/* Displacements of positions, and of normals where faces give them. */
static json_t *write_target(rig_writer *w, const sinew_target *target, bool normals) {
    const sinew_mesh *mesh = w->rig->neutral;
    const sn_split *split = &w->split;
    size_t size = 3 * (size_t)mesh->vertex_count;
    memset(w->posed, 0, size * sizeof(double));
    for (int i = 0; i < target->count; i++)
        sn_put(w->posed, target->vertices[i], sn_at(target->deltas, i));
    double step = w->file->step, unit = step > 0 ? 1 / step : 1;
    for (int i = 0; i < split->count; i++)
        put_row(w->rows, i, sn_scale(unit, sn_at(w->posed, split->vertex[i])));
    json_t *object = json_object();
    set(w->file, object, "POSITION",
        json_integer(step > 0 ? sn_gltf_add_shorts(w->file, w->rows, split->count)
                              : sn_gltf_add_sparse(w->file, w->rows, split->count, 3, true)));
    if (!normals) return object;
    for (size_t i = 0; i < size; i++) w->posed[i] += mesh->positions[i];
    sn_vertex_normals(w->topology, w->posed, SN_NORMAL_AREA, w->posed_normals);
    for (int i = 0; i < split->count; i++) {
        sn_vec3 before = sn_at(w->normals, split->vertex[i]);
        sn_vec3 after = sn_at(w->posed_normals, split->vertex[i]);
        put_row(w->rows, i, sn_gltf_normal_change(before, after, split_normal(w, i)));
    }
    set(w->file, object, "NORMAL",
        json_integer(step > 0 ? sn_gltf_add_directions(w->file, w->rows, split->count, false)
                              : sn_gltf_add_sparse(w->file, w->rows, split->count, 3, false)));
    return object;
}

static void write_triangles(rig_writer *w, json_t *primitive) {
    const sn_split *split = &w->split;
    if (split->triangle_count == 0) {
        set(w->file, primitive, "mode", json_integer(0)); /* points */
        return;
    }
    set(w->file, primitive, "indices",
        json_integer(sn_gltf_add_integers(w->file, split->triangles, 3 * split->triangle_count,
                                          split->count - 1, SN_GLTF_INDICES, NULL)));
}

/* What glTF has no place for. */
static json_t *write_own(rig_writer *w) {
    const sinew_mesh *mesh = w->rig->neutral;
    sn_gltf_file *file = w->file;
    json_t *own = json_object();
    set(file, own, "version", json_integer(1));
    set(file, own, "vertices", json_integer(mesh->vertex_count));
    set(file, own, "normals", json_boolean(mesh->corner_normal != NULL));
    if (mesh->face_count > 0) {
        int corners = mesh->face_start[mesh->face_count], largest = 0;
        int *numbers = SN_NEW(int, mesh->face_count);
        file->failed |= !numbers;
        for (int f = 0; numbers && f < mesh->face_count; f++) {
            numbers[f] = mesh->face_start[f + 1] - mesh->face_start[f];
            if (numbers[f] > largest) largest = numbers[f];
        }
        if (numbers)
            set(file, own, "face_sizes",
                json_integer(sn_gltf_add_integers(file, numbers, mesh->face_count, largest,
                                                  SN_GLTF_PLAIN, "sinew.face_sizes")));
        set(file, own, "corners",
            json_integer(sn_gltf_add_integers(file, w->split.corners, corners, w->split.count - 1,
                                              SN_GLTF_PLAIN, "sinew.corners")));
        if (numbers && mesh->part_count > 0 && mesh->face_part) {
            for (int f = 0; f < mesh->face_count; f++) numbers[f] = mesh->face_part[f] + 1;
            set(file, own, "face_part",
                json_integer(sn_gltf_add_integers(file, numbers, mesh->face_count, mesh->part_count,
                                                  SN_GLTF_PLAIN, "sinew.face_part")));
        }
        sn_free(numbers);
    }
    if (mesh->part_count > 0) {
        json_t *names = json_array();
        for (int i = 0; i < mesh->part_count; i++)
            file->failed |= json_array_append_new(names, json_string(mesh->part_names[i])) != 0;
        set(file, own, "part_names", names);
    }
    if (w->rig->target_count > 0 || w->rig->region_count > 0)
        set(file, own, "rig", sn_rig_to_json(w->rig));
    return own;
}

static json_t *write_mesh_object(rig_writer *w) {
    const sinew_rig *rig = w->rig;
    sn_gltf_file *file = w->file;
    bool normals = w->split.triangle_count > 0;
    json_t *primitive = json_object(), *mesh = json_object(), *extras = json_object();
    set(file, primitive, "attributes", write_attributes(w, normals));
    write_triangles(w, primitive);
    if (rig->target_count > 0) {
        json_t *targets = json_array(), *names = json_array(), *weights = json_array();
        for (int t = 0; t < rig->target_count; t++) {
            file->failed |= json_array_append_new(
                                targets, write_target(w, &rig->targets[t],
                                                      normals && !file->no_target_normals)) != 0;
            file->failed |= json_array_append_new(names, json_string(rig->targets[t].name)) != 0;
            file->failed |= json_array_append_new(weights, json_integer(0)) != 0;
        }
        set(file, primitive, "targets", targets);
        set(file, mesh, "weights", weights);
        set(file, extras, "targetNames", names);
    }
    set(file, extras, "sinew", write_own(w));
    json_t *primitives = json_array();
    file->failed |= json_array_append_new(primitives, primitive) != 0;
    set(file, mesh, "primitives", primitives);
    set(file, mesh, "extras", extras);
    set(file, mesh, "name", json_string(rig->neutral->name ? rig->neutral->name : "mesh"));
    return mesh;
}

static sinew_status prepare(rig_writer *w, sinew_error *error) {
    const sinew_mesh *mesh = w->rig->neutral;
    SN_TRY(sn_split_create(mesh, &w->split, error));
    SN_TRY(sn_topology_create(mesh->vertex_count, mesh->triangle_count, mesh->triangles,
                              &w->topology, error));
    size_t size = 3 * (size_t)mesh->vertex_count;
    w->normals = SN_NEW(double, size);
    w->posed_normals = SN_NEW(double, size);
    w->posed = SN_NEW(double, size);
    w->rows = SN_NEW(float, 3 * (size_t)w->split.count);
    if (!w->normals || !w->posed_normals || !w->posed || !w->rows) return sn_no_memory(error);
    sn_vertex_normals(w->topology, mesh->positions, SN_NORMAL_AREA, w->normals);
    return SINEW_OK;
}

static sinew_status check_mesh(const sinew_rig *rig, sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    if (mesh->vertex_count == 0)
        return sn_fail(error, SINEW_BAD_INPUT, "glTF cannot hold a mesh without vertices");
    if (mesh->vertex_count > 1 << 24)
        return sn_fail(error, SINEW_BAD_INPUT, "glTF cannot number %d vertices, at most %d",
                       mesh->vertex_count, 1 << 24);
    return sn_check_float32(mesh, rig, error);
}

sinew_status sn_gltf_add_rig(sn_gltf_file *file, const sinew_rig *rig, json_t *root,
                             sinew_error *error) {
    SN_TRY(check_mesh(rig, error));
    rig_writer w = {.file = file, .rig = rig};
    sinew_status status = prepare(&w, error);
    if (status == SINEW_OK) {
        json_t *meshes = json_array();
        file->failed |= json_array_append_new(meshes, write_mesh_object(&w)) != 0;
        set(file, root, "meshes", meshes);
        set(file, root, "nodes",
            json_pack("[{s:i, s:s}]", "mesh", 0, "name",
                      rig->neutral->name ? rig->neutral->name : "mesh"));
        if (file->step > 0)
            set(file, json_array_get(json_object_get(root, "nodes"), 0), "scale",
                json_pack("[f, f, f]", file->step, file->step, file->step));
        set(file, root, "scenes", json_pack("[{s:[i]}]", "nodes", 0));
        set(file, root, "scene", json_integer(0));
    }
    sn_split_free(&w.split);
    sn_topology_destroy(w.topology);
    sn_free(w.normals);
    sn_free(w.posed_normals);
    sn_free(w.posed);
    sn_free(w.rows);
    return status;
}

sinew_status sn_gltf_add_animation(sn_gltf_file *file, const char *name, int count,
                                   const float *times, int target_count, const float *rows,
                                   json_t *extras, json_t *root, sinew_error *error) {
    if (times[0] < 0) {
        json_decref(extras);
        return sn_fail(error, SINEW_BAD_INPUT, "glTF does not support times before 0");
    }
    int input = sn_gltf_add_floats(file, times, count, 1, SN_GLTF_PLAIN, true);
    int output = sn_gltf_add_floats(file, rows, count * target_count, 1, SN_GLTF_PLAIN, false);
    json_t *animation =
        json_pack("{s:s, s:[{s:i, s:{s:i, s:s}}], s:[{s:i, s:i, s:s}]}", "name", name, "channels",
                  "sampler", 0, "target", "node", 0, "path", "weights", "samplers", "input", input,
                  "output", output, "interpolation", "LINEAR");
    if (extras) set(file, animation, "extras", extras);
    json_t *animations = json_array();
    file->failed |= json_array_append_new(animations, animation) != 0;
    set(file, root, "animations", animations);
    return SINEW_OK;
}

/* --- the container ---------------------------------------------------------------------------- */

static void add_u32(sn_buffer *out, size_t value) {
    char bytes[4];
    sn_store_u32(bytes, (uint32_t)value, false);
    sn_buffer_add(out, bytes, 4);
}

/* Chunks of the original beyond the two that everyone knows. */
static void add_other_chunks(const sn_source *original, sn_buffer *out) {
    bool json = false, binary = false;
    for (size_t at = 12; original && at + 8 <= original->size;) {
        size_t size = sn_load_u32(original->bytes + at, false);
        uint32_t type = sn_load_u32(original->bytes + at + 4, false);
        if (size > original->size - at - 8) break;
        bool known = (type == 0x4e4f534a && !json) || (type == 0x004e4942 && !binary);
        json |= type == 0x4e4f534a, binary |= type == 0x004e4942;
        if (!known) sn_buffer_add(out, original->bytes + at, 8 + size);
        at += 8 + size;
    }
}

sinew_status sn_gltf_container(sn_buffer *json, sn_buffer *binary, const sn_source *original,
                               sn_buffer *out, sinew_error *error) {
    while (json->size % 4 != 0 && !json->failed) sn_buffer_char(json, ' ');
    while (binary->size % 4 != 0 && !binary->failed) sn_buffer_char(binary, 0);
    sn_buffer others = {0};
    add_other_chunks(original, &others);
    size_t total = 12 + 8 + json->size + 8 + binary->size + others.size;
    sinew_status status = SINEW_OK;
    if (total > UINT32_MAX)
        status = sn_fail(error, SINEW_BAD_INPUT, "a GLB file holds at most 4 GB");
    if (status == SINEW_OK) {
        sn_buffer_text(out, "glTF");
        add_u32(out, 2);
        add_u32(out, total);
        add_u32(out, json->size);
        sn_buffer_text(out, "JSON");
        sn_buffer_add(out, json->bytes, json->size);
        add_u32(out, binary->size);
        sn_buffer_add(out, "BIN\0", 4);
        sn_buffer_add(out, binary->bytes, binary->size);
        if (others.size > 0) sn_buffer_add(out, others.bytes, others.size);
        if (out->failed || json->failed || binary->failed || others.failed)
            status = sn_no_memory(error);
    }
    sn_buffer_free(&others);
    return status;
}

sinew_status sn_gltf_finish(sn_gltf_file *file, json_t *root, sn_buffer *out, sinew_error *error) {
    align(file);
    set(file, root, "asset", json_pack("{s:s, s:s}", "version", "2.0", "generator", "Sinew"));
    set(file, root, "accessors", json_incref(file->accessors));
    set(file, root, "bufferViews", json_incref(file->views));
    set(file, root, "buffers", json_pack("[{s:I}]", "byteLength", (json_int_t)file->binary.size));
    if (file->step > 0) sn_gltf_finish_packed(file, root);
    if (file->failed || file->binary.failed) return sn_no_memory(error);
    sn_buffer json = {0};
    sinew_status status = sn_json_write(root, false, &json, error);
    if (status == SINEW_OK) status = sn_gltf_container(&json, &file->binary, NULL, out, error);
    sn_buffer_free(&json);
    return status;
}
