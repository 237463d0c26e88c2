/* Rigs from glTF.
 *
 * glTF splits a vertex wherever texture coordinates or normals differ between its faces and knows
 * triangles only. What we write stores in `_VERTEX` which vertex each split one was, and in extras
 * which polygons there were; both are restored. In other files vertices of one node that coincide
 * in the neutral *and in every target* are joined; lips that touch in the neutral but part in some
 * target stay apart. The mesh remembers the file's own vertices (file_vertices), so that caches can
 * be written in their order.
 *
 * All nodes of the scene become one rig, a part each; targets of equal name move together. */
#include "io/gltf_read.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "io/frames.h"
#include "io/gltf_keep.h"
#include "io/gltf_pose.h"
#include "io/names.h"
#include "io/rig_json.h"

/* Displacements of one target, by file vertex. */
typedef struct target_list {
    int *vertices;
    double *deltas;
    size_t count, vertex_capacity, delta_capacity;
} target_list;

#define MOST_BOUND ((size_t)1 << 28) /* displacements that expressions add up */

typedef struct gltf_reader {
    sn_gltf gltf;
    sn_gltf_instance *instances;
    int instance_count;

    /* file vertices */
    int file_count;
    double *positions, *normals, *uvs; /* NaN where a vertex has none */
    size_t position_capacity, normal_capacity, uv_capacity;
    uint64_t *hashes; /* of the position and every displacement */
    size_t hash_capacity;
    bool any_normal, any_uv;
    int *vertex_of; /* mesh vertex of each file vertex */
    size_t vertex_of_capacity;
    int vertex_count;

    /* triangles of file vertices */
    int *corners, *face_part;
    size_t corner_count, corner_capacity, part_capacity;
    sn_names parts;
    bool named_parts;

    size_t vertex_limit; /* many nodes may show one mesh, but not without end */

    sn_names targets;
    target_list *lists;
    size_t list_capacity;

    sn_gltf_block *blocks;
    size_t block_count, block_capacity;
    size_t first_block; /* of the instance at hand */

    const sn_gltf_pose *pose; /* NULL: the neutral */

    int expression_count;
    sn_gltf_expression *expressions;

    /* What our own writer left; NULL in other files. */
    const json_t *sinew;
    const json_t *own_attributes;
    int *face_start; /* polygons of file vertices replace the triangles */
    int face_count;
} gltf_reader;

static void release(gltf_reader *r) {
    for (int i = 0; i < r->targets.count; i++) {
        sn_free(r->lists[i].vertices);
        sn_free(r->lists[i].deltas);
    }
    sn_free(r->lists);
    sn_names_release(&r->targets);
    sn_names_release(&r->parts);
    sn_free(r->positions), sn_free(r->normals), sn_free(r->uvs);
    sn_free(r->hashes), sn_free(r->vertex_of);
    sn_free(r->corners), sn_free(r->face_part), sn_free(r->face_start);
    sn_free(r->blocks);
    sn_free(r->instances);
    sn_gltf_expressions_free(r->expressions, r->expression_count);
    sn_gltf_close(&r->gltf);
}

/* --- vertices --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t bits) {
    hash ^= bits * 0x9e3779b97f4a7c15u;
    hash = (hash << 27 | hash >> 37) * 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 31;
}

/* -0 and 0 are the same position. */
static uint64_t bits_of(double value) {
    uint64_t bits;
    value += 0.0;
    if (value == 0) return 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t mix_vector(uint64_t hash, const double *v) {
    for (int k = 0; k < 3; k++) hash = mix(hash, bits_of(v[k]));
    return hash;
}

/* Reads an attribute of the block into rows of `components` numbers; `present` tells whether there
 * is one. */
static sinew_status read_attribute(gltf_reader *r, const json_t *attributes, const char *name,
                                   int components, int count, double *rows, bool *present) {
    const json_t *index = json_object_get(attributes, name);
    *present = index != NULL;
    if (!index) return SINEW_OK;
    sn_gltf_accessor accessor;
    SN_TRY(sn_gltf_accessor_open(&r->gltf, index, name, components, count, &accessor));
    return sn_gltf_accessor_read(&r->gltf, &accessor, name, rows);
}

static void place_vertices(gltf_reader *r, const sn_gltf_transform *transform, int first,
                           int count) {
    for (int i = first; i < first + count; i++) {
        if (!transform->identity)
            sn_put(r->positions, i, sn_gltf_transform_point(transform, sn_at(r->positions, i)));
        r->hashes[i] = mix_vector(1, r->positions + 3 * (size_t)i);
        if (r->any_normal && !transform->identity && !isnan(r->normals[3 * (size_t)i])) {
            /* Normals turn with the cofactors of the matrix: right for uneven scales too. */
            sn_vec3 a = sn_mat3_column(transform->linear, 0),
                    b = sn_mat3_column(transform->linear, 1),
                    c = sn_mat3_column(transform->linear, 2), n = sn_at(r->normals, i);
            double sign = sn_mat3_determinant(transform->linear) < 0 ? -1 : 1;
            sn_vec3 turned =
                sn_add(sn_add(sn_scale(n.x, sn_cross(b, c)), sn_scale(n.y, sn_cross(c, a))),
                       sn_scale(n.z, sn_cross(a, b)));
            sn_put(r->normals, i, sn_normalize(sn_scale(sign, turned)));
        }
    }
}

static void fill_missing(double *rows, size_t count) {
    for (size_t i = 0; i < count; i++) rows[i] = NAN;
}

static sinew_status check_placed(gltf_reader *r, int first, int count) {
    for (size_t i = 3 * (size_t)first; i < 3 * ((size_t)first + (size_t)count); i++)
        if (!isfinite(r->positions[i]))
            return sn_gltf_fail(&r->gltf, "a node's transform sends a vertex to infinity");
    return SINEW_OK;
}

static sinew_status read_block(gltf_reader *r, const sn_gltf_transform *transform,
                               const json_t *attributes, const sn_gltf_block *block) {
    int first = block->first, count = block->count;
    size_t end = (size_t)first + (size_t)count;
    if (!SN_RESERVE(r->positions, r->position_capacity, 3 * end) ||
        !SN_RESERVE(r->normals, r->normal_capacity, 3 * end) ||
        !SN_RESERVE(r->uvs, r->uv_capacity, 2 * end) ||
        !SN_RESERVE(r->hashes, r->hash_capacity, end) ||
        !SN_RESERVE(r->vertex_of, r->vertex_of_capacity, end))
        return sn_no_memory(r->gltf.error);
    double *normals = r->normals + 3 * (size_t)first, *uvs = r->uvs + 2 * (size_t)first;
    bool present;
    SN_TRY(read_attribute(r, attributes, "POSITION", 3, count, r->positions + 3 * (size_t)first,
                          &present));
    SN_TRY(read_attribute(r, attributes, "NORMAL", 3, count, normals, &present));
    if (!present) fill_missing(normals, 3 * (size_t)count);
    r->any_normal |= present;
    SN_TRY(read_attribute(r, attributes, "TEXCOORD_0", 2, count, uvs, &present));
    if (!present) fill_missing(uvs, 2 * (size_t)count);
    r->any_uv |= present;
    /* glTF counts v from the top of the picture, we from the bottom. */
    for (int i = 0; i < count; i++) uvs[2 * (size_t)i + 1] = 1 - uvs[2 * (size_t)i + 1];
    place_vertices(r, transform, first, count);
    return check_placed(r, first, count);
}

/* --- targets ---------------------------------------------------------------------------------- */

static sinew_status find_list(gltf_reader *r, const char *name, target_list **list) {
    int index = sn_names_find(&r->targets, name, strlen(name));
    if (index < 0) {
        size_t known = (size_t)r->targets.count;
        if (!SN_RESERVE(r->lists, r->list_capacity, known + 1)) return sn_no_memory(r->gltf.error);
        r->lists[known] = (target_list){0};
        index = sn_names_add(&r->targets, name, strlen(name));
        if (index < 0) return sn_no_memory(r->gltf.error);
    }
    *list = &r->lists[index];
    return SINEW_OK;
}

static sinew_status keep_deltas(gltf_reader *r, const sn_gltf_transform *transform,
                                const sn_gltf_block *block, uint64_t salt, const double *rows,
                                target_list *list) {
    if (list->count > 0 && list->vertices[list->count - 1] >= block->first)
        return sn_gltf_fail(&r->gltf, "two targets of one mesh have the same name");
    for (int i = 0; i < block->count; i++) {
        const double *row = rows + 3 * (size_t)i;
        if (row[0] == 0 && row[1] == 0 && row[2] == 0) continue;
        if (!SN_RESERVE(list->vertices, list->vertex_capacity, list->count + 1) ||
            !SN_RESERVE(list->deltas, list->delta_capacity, 3 * (list->count + 1)))
            return sn_no_memory(r->gltf.error);
        sn_vec3 d = sn_v3(row[0], row[1], row[2]);
        if (!transform->identity) d = sn_mat3_apply(transform->linear, d);
        if (!isfinite(d.x) || !isfinite(d.y) || !isfinite(d.z))
            return sn_gltf_fail(&r->gltf, "a node's transform sends a target to infinity");
        double *kept = list->deltas + 3 * list->count;
        kept[0] = d.x, kept[1] = d.y, kept[2] = d.z;
        int vertex = block->first + i;
        list->vertices[list->count++] = vertex;
        r->hashes[vertex] = mix_vector(mix(r->hashes[vertex], salt), kept);
    }
    return SINEW_OK;
}

static sinew_status read_targets(gltf_reader *r, const sn_gltf_instance *instance,
                                 const sn_gltf_block *block, const json_t *targets) {
    size_t count = json_array_size(targets);
    if (count == 0) return SINEW_OK;
    double *rows = sn_alloc((size_t)block->count, 3 * sizeof(double));
    if (!rows) return sn_no_memory(r->gltf.error);
    sinew_status status = SINEW_OK;
    for (size_t t = 0; status == SINEW_OK && t < count; t++) {
        const json_t *index = json_object_get(json_array_get(targets, t), "POSITION");
        sn_gltf_accessor accessor = {0};
        if (index)
            status = sn_gltf_accessor_open(&r->gltf, index, "a morph target", 3, block->count,
                                           &accessor);
        if (status == SINEW_OK && index)
            status = sn_gltf_accessor_read(&r->gltf, &accessor, "a morph target", rows);
        if (status == SINEW_OK && !index)
            memset(rows, 0, 3 * sizeof(double) * (size_t)block->count);
        char number[32];
        target_list *list = NULL;
        if (status == SINEW_OK)
            status =
                find_list(r, sn_gltf_target_name(&r->gltf, instance->mesh, (int)t, number), &list);
        if (status == SINEW_OK)
            status = keep_deltas(r, &instance->transform, block, t + 2, rows, list);
    }
    sn_free(rows);
    return status;
}

/* --- faces ------------------------------------------------------------------------------------ */

static sinew_status add_triangle(gltf_reader *r, int a, int b, int c, int part) {
    size_t face = r->corner_count / 3;
    if (r->corner_count >= INT_MAX - 3) return sn_gltf_fail(&r->gltf, "has too many triangles");
    if (!SN_RESERVE(r->corners, r->corner_capacity, r->corner_count + 3) ||
        !SN_RESERVE(r->face_part, r->part_capacity, face + 1))
        return sn_no_memory(r->gltf.error);
    r->corners[r->corner_count++] = a;
    r->corners[r->corner_count++] = b;
    r->corners[r->corner_count++] = c;
    r->face_part[face] = part;
    return SINEW_OK;
}

enum { MODE_POINTS = 0, MODE_TRIANGLES = 4, MODE_STRIP = 5, MODE_FAN = 6 };

static sinew_status add_triangles(gltf_reader *r, const sn_gltf_block *block, int mode,
                                  const int *indices, int count, int part) {
    int first = block->first;
#define INDEX(i) (first + (indices ? indices[i] : (i)))
    if (mode == MODE_TRIANGLES)
        for (int i = 0; i + 2 < count; i += 3)
            SN_TRY(add_triangle(r, INDEX(i), INDEX(i + 1), INDEX(i + 2), part));
    for (int i = 0; mode == MODE_STRIP && i + 2 < count; i++)
        SN_TRY(add_triangle(r, INDEX(i), INDEX(i + 1 + i % 2), INDEX(i + 2 - i % 2), part));
    for (int i = 1; mode == MODE_FAN && i + 1 < count; i++)
        SN_TRY(add_triangle(r, INDEX(0), INDEX(i), INDEX(i + 1), part));
#undef INDEX
    return SINEW_OK;
}

static sinew_status read_faces(gltf_reader *r, const json_t *primitive, const sn_gltf_block *block,
                               int part) {
    int64_t mode = MODE_TRIANGLES;
    const json_t *mode_value = json_object_get(primitive, "mode");
    if (mode_value && !sn_json_integer(mode_value, 0, 6, &mode))
        return sn_gltf_fail(&r->gltf, "a primitive has a bad mode");
    const json_t *index = json_object_get(primitive, "indices");
    if (!index) return add_triangles(r, block, (int)mode, NULL, block->count, part);
    sn_gltf_accessor accessor;
    SN_TRY(sn_gltf_accessor_open(&r->gltf, index, "indices", 1, -1, &accessor));
    int *indices = SN_NEW(int, accessor.count);
    if (!indices) return sn_no_memory(r->gltf.error);
    sinew_status status =
        sn_gltf_accessor_indices(&r->gltf, &accessor, "indices", block->count, indices);
    if (status == SINEW_OK)
        status = add_triangles(r, block, (int)mode, indices, accessor.count, part);
    sn_free(indices);
    return status;
}

/* A part per node, and per material where a node has several primitives. */
static sinew_status find_part(gltf_reader *r, const sn_gltf_instance *instance,
                              const json_t *primitive, int number, int count, int *part) {
    char name[256];
    const char *base = instance->name ? instance->name : "mesh";
    if (count > 1) {
        const json_t *material =
            sn_gltf_item(&r->gltf, "materials", json_object_get(primitive, "material"));
        const char *material_name = sn_json_string(material, "name");
        if (material_name)
            snprintf(name, sizeof name, "%.120s/%.120s", base, material_name);
        else
            snprintf(name, sizeof name, "%.120s/%d", base, number);
    } else {
        snprintf(name, sizeof name, "%.250s", base);
    }
    *part = sn_names_find(&r->parts, name, strlen(name));
    if (*part < 0) *part = sn_names_add(&r->parts, name, strlen(name));
    return *part < 0 ? sn_no_memory(r->gltf.error) : SINEW_OK;
}

/* --- instances -------------------------------------------------------------------------------- */

static const sn_gltf_block *known_block(const gltf_reader *r, const json_t *attributes,
                                        const json_t *targets) {
    /* Primitives that share vertices are close together; looking far back would cost more than it
     * finds. */
    size_t oldest = r->block_count > r->first_block + 16 ? r->block_count - 16 : r->first_block;
    for (size_t i = oldest; i < r->block_count; i++)
        if (json_equal(r->blocks[i].attributes, attributes) &&
            (r->blocks[i].targets == targets || json_equal(r->blocks[i].targets, targets)))
            return &r->blocks[i];
    return NULL;
}

static sinew_status read_primitive(gltf_reader *r, const sn_gltf_instance *instance,
                                   const json_t *primitive, int number, int count) {
    const json_t *attributes = json_object_get(primitive, "attributes");
    const json_t *targets = json_object_get(primitive, "targets");
    const sn_gltf_block *block = known_block(r, attributes, targets);
    if (!block) {
        sn_gltf_accessor accessor;
        SN_TRY(sn_gltf_accessor_open(&r->gltf, json_object_get(attributes, "POSITION"), "POSITION",
                                     3, -1, &accessor));
        if ((size_t)accessor.count + (size_t)r->file_count > r->vertex_limit)
            return sn_gltf_fail(&r->gltf, "shows its meshes too often");
        if (!SN_RESERVE(r->blocks, r->block_capacity, r->block_count + 1))
            return sn_no_memory(r->gltf.error);
        sn_gltf_block *made = &r->blocks[r->block_count];
        *made = (sn_gltf_block){attributes, targets, r->file_count, accessor.count,
                                (int)(instance - r->instances)};
        SN_TRY(read_block(r, &instance->transform, attributes, made));
        SN_TRY(read_targets(r, instance, made, targets));
        r->block_count++;
        r->file_count += accessor.count;
        block = made;
    }
    int part;
    SN_TRY(find_part(r, instance, primitive, number, count, &part));
    return read_faces(r, primitive, block, part);
}

/* Joins file vertices first .. file_count - 1 whose place and displacements agree. Places are
 * compared, displacements by their 64-bit hash. */
static sinew_status weld(gltf_reader *r, int first) {
    size_t slots = 16;
    while (slots < 2 * (size_t)(r->file_count - first)) slots *= 2;
    int *table = SN_NEW0(int, slots);
    if (!table) return sn_no_memory(r->gltf.error);
    for (int i = first; i < r->file_count; i++) {
        size_t slot = r->hashes[i] & (slots - 1);
        for (; table[slot]; slot = (slot + 1) & (slots - 1)) {
            int other = table[slot] - 1;
            const double *p = r->positions + 3 * (size_t)i, *q = r->positions + 3 * (size_t)other;
            if (r->hashes[i] == r->hashes[other] && p[0] == q[0] && p[1] == q[1] && p[2] == q[2])
                break;
        }
        if (!table[slot]) {
            table[slot] = i + 1;
            r->vertex_of[i] = r->vertex_count++;
        } else {
            r->vertex_of[i] = r->vertex_of[table[slot] - 1];
        }
    }
    sn_free(table);
    return SINEW_OK;
}

static sinew_status read_instance(gltf_reader *r, const sn_gltf_instance *instance) {
    const json_t *primitives = json_object_get(instance->mesh, "primitives");
    int count = (int)json_array_size(primitives), first = r->file_count;
    if (count == 0) return sn_gltf_fail(&r->gltf, "a mesh has no primitives");
    r->first_block = r->block_count;
    for (int i = 0; i < count; i++)
        SN_TRY(read_primitive(r, instance, json_array_get(primitives, (size_t)i), i, count));
    r->named_parts |= count > 1;
    return weld(r, first);
}

/* --- our own files ---------------------------------------------------------------------------- */

/* An accessor that our extras point at; the name tells it from one that a later tool put there. */
static bool own_accessor(gltf_reader *r, const char *key, const char *name,
                         sn_gltf_accessor *accessor) {
    sinew_error *error = r->gltf.error;
    r->gltf.error = NULL; /* extras that do not fit are not an error */
    sinew_status status =
        sn_gltf_accessor_open(&r->gltf, json_object_get(r->sinew, key), key, 1, -1, accessor);
    r->gltf.error = error;
    return status == SINEW_OK && accessor->name && strcmp(accessor->name, name) == 0;
}

static bool own_indices(gltf_reader *r, const char *key, const char *name, int limit, int **indices,
                        int *count) {
    sn_gltf_accessor accessor;
    if (!own_accessor(r, key, name, &accessor)) return false;
    *indices = SN_NEW(int, accessor.count);
    *count = accessor.count;
    if (!*indices) return false;
    sinew_error *error = r->gltf.error;
    r->gltf.error = NULL;
    bool good = sn_gltf_accessor_indices(&r->gltf, &accessor, key, limit, *indices) == SINEW_OK;
    r->gltf.error = error;
    if (!good) {
        sn_free(*indices);
        *indices = NULL;
    }
    return good;
}

/* vertex_of from `_VERTEX`: every vertex of the original named, split ones in one place. */
static bool restore_vertices(gltf_reader *r) {
    int64_t vertex_count;
    if (!sn_json_integer(json_object_get(r->sinew, "vertices"), 1, r->file_count, &vertex_count))
        return false;
    double *numbers = SN_NEW(double, r->file_count);
    int *first = SN_NEW0(int, vertex_count);
    bool good = numbers && first, present = false;
    sinew_error *error = r->gltf.error;
    r->gltf.error = NULL;
    good = good &&
           read_attribute(r, r->own_attributes, "_VERTEX", 1, r->file_count, numbers, &present) ==
               SINEW_OK &&
           present;
    r->gltf.error = error;
    for (int i = 0; good && i < r->file_count; i++)
        good =
            numbers[i] >= 0 && numbers[i] < (double)vertex_count && numbers[i] == floor(numbers[i]);
    int found = 0;
    for (int i = 0; good && i < r->file_count; i++) {
        int vertex = (int)numbers[i];
        if (!first[vertex]) first[vertex] = i + 1, found++;
        good = r->hashes[i] == r->hashes[first[vertex] - 1];
    }
    good = good && found == vertex_count;
    for (int i = 0; good && i < r->file_count; i++) r->vertex_of[i] = (int)numbers[i];
    if (good) r->vertex_count = (int)vertex_count;
    sn_free(numbers);
    sn_free(first);
    return good;
}

/* Polygons from extras, when they have as many triangles as the file. */
static bool restore_polygons(gltf_reader *r) {
    int *sizes = NULL, *corners = NULL, *part = NULL, *start = NULL;
    int face_count = 0, corner_count = 0, part_count = 0;
    bool good =
        own_indices(r, "face_sizes", "sinew.face_sizes", INT_MAX / 2, &sizes, &face_count) &&
        own_indices(r, "corners", "sinew.corners", r->file_count, &corners, &corner_count);
    if (good) good = (start = SN_NEW(int, (size_t)face_count + 1)) != NULL;
    int64_t total = 0, triangles = 0;
    for (int f = 0; good && f < face_count; f++) {
        good = sizes[f] >= 3 && total + sizes[f] <= corner_count;
        start[f] = (int)total;
        total += sizes[f];
        triangles += sizes[f] - 2;
    }
    good = good && total == corner_count && 3 * triangles == (int64_t)r->corner_count;
    if (good) start[face_count] = corner_count;
    const json_t *names = json_object_get(r->sinew, "part_names");
    int name_count = (int)json_array_size(names);
    sn_names parts = {0};
    for (int i = 0; good && i < name_count; i++) {
        const char *name = json_string_value(json_array_get(names, (size_t)i));
        good = name && sn_names_add(&parts, name, strlen(name)) >= 0;
    }
    if (good && name_count > 0 && json_object_get(r->sinew, "face_part"))
        good = own_indices(r, "face_part", "sinew.face_part", name_count + 1, &part, &part_count) &&
               part_count == face_count;
    if (good) {
        sn_free(r->corners), sn_free(r->face_part);
        r->corners = corners, corners = NULL;
        r->corner_count = (size_t)corner_count;
        r->face_start = start, start = NULL;
        r->face_count = face_count;
        for (int f = 0; part && f < face_count; f++) part[f]--; /* 0 means none */
        r->face_part = part, part = NULL;
        sn_names_release(&r->parts);
        r->parts = parts, parts = (sn_names){0};
        r->named_parts = name_count > 0;
    }
    sn_names_release(&parts);
    sn_free(sizes), sn_free(corners), sn_free(part), sn_free(start);
    return good;
}

/* Texture coordinates to the bit, from `_UV`: u, v, and whether there are any. */
static void restore_uvs(gltf_reader *r) {
    bool present;
    sinew_error *error = r->gltf.error;
    r->gltf.error = NULL;
    double *exact = sn_alloc((size_t)r->file_count, 3 * sizeof(double));
    bool good = exact &&
                read_attribute(r, r->own_attributes, "_UV", 3, r->file_count, exact, &present) ==
                    SINEW_OK &&
                present;
    for (int i = 0; good && i < r->file_count; i++) {
        const double *row = exact + 3 * (size_t)i;
        r->uvs[2 * (size_t)i] = row[2] != 0 ? row[0] : NAN;
        r->uvs[2 * (size_t)i + 1] = row[2] != 0 ? row[1] : NAN;
    }
    sn_free(exact);
    r->gltf.error = error;
}

/* Our files have one mesh of one primitive; anything else has been worked on since. */
static void find_own(gltf_reader *r) {
    if (r->instance_count != 1) return;
    const json_t *mesh = r->instances[0].mesh;
    const json_t *primitives = json_object_get(mesh, "primitives");
    if (json_array_size(primitives) != 1) return;
    const json_t *sinew = json_object_get(json_object_get(mesh, "extras"), "sinew");
    if (json_integer_value(json_object_get(sinew, "version")) != 1) return;
    r->sinew = sinew;
    r->own_attributes = json_object_get(json_array_get(primitives, 0), "attributes");
}

/* --- expressions of avatars ------------------------------------------------------------------- */

/* Adds the displacements of one bound target on one instance; returns the number of them. */
static size_t add_bound(const gltf_reader *r, int instance, const target_list *list, double weight,
                        double *sum) {
    int first = INT_MAX, end = 0;
    for (size_t b = 0; b < r->block_count; b++) {
        if (r->blocks[b].instance != instance) continue;
        if (r->blocks[b].first < first) first = r->blocks[b].first;
        if (r->blocks[b].first + r->blocks[b].count > end)
            end = r->blocks[b].first + r->blocks[b].count;
    }
    for (size_t i = 0; i < list->count; i++) {
        int vertex = list->vertices[i];
        if (vertex < first || vertex >= end) continue;
        for (size_t c = 0; c < 3; c++)
            sum[3 * (size_t)vertex + c] += weight * list->deltas[3 * i + c];
    }
    return list->count + r->block_count;
}

/* What an expression moves, by file vertex; whether it is one target under its own name. */
static sinew_status sum_binds(const gltf_reader *r, sn_gltf_expression *e, double *sum,
                              size_t *work) {
    e->is_a_target = true;
    for (int i = 0; i < sn_gltf_bind_count(e); i++) {
        sn_gltf_bind bind;
        if (!sn_gltf_bind_at(e, i, &bind))
            return sn_gltf_fail(&r->gltf, "expression '%.80s' has a bad bind", e->name);
        const json_t *bound =
            e->by_mesh ? json_array_get(json_object_get(r->gltf.root, "meshes"), (size_t)bind.node)
                       : NULL;
        for (int k = 0; k < r->instance_count; k++) {
            const sn_gltf_instance *instance = &r->instances[k];
            if (e->by_mesh ? instance->mesh != bound : instance->node != bind.node) continue;
            char number[32];
            const char *name =
                sn_gltf_target_name(&r->gltf, instance->mesh, (int)bind.index, number);
            int index = sn_names_find(&r->targets, name, strlen(name));
            if (index < 0) continue; /* beyond the targets of the mesh: moves nothing */
            e->is_a_target &= bind.weight == 1 && strcmp(name, e->name) == 0;
            *work += add_bound(r, k, &r->lists[index], bind.weight, sum);
            if (*work > MOST_BOUND)
                return sn_gltf_fail(&r->gltf, "its expressions bind too many targets");
        }
    }
    return SINEW_OK;
}

static sinew_status add_expression(gltf_reader *r, sn_gltf_expression *e, double *sum,
                                   size_t *work) {
    memset(sum, 0, 3 * sizeof *sum * (size_t)r->file_count);
    SN_TRY(sum_binds(r, e, sum, work));
    if (e->is_a_target) return SINEW_OK;
    if (sn_names_find(&r->targets, e->name, strlen(e->name)) >= 0) {
        char *longer = sn_alloc(strlen(e->name) + sizeof "expression.", 1);
        if (!longer) return sn_no_memory(r->gltf.error);
        strcpy(longer, "expression.");
        strcat(longer, e->name);
        sn_free(e->name);
        e->name = longer;
    }
    target_list *list;
    SN_TRY(find_list(r, e->name, &list));
    if (list->count > 0)
        return sn_gltf_fail(&r->gltf, "two expressions are named '%.80s'", e->name);
    for (int v = 0; v < r->file_count; v++) {
        const double *d = sum + 3 * (size_t)v;
        if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
        if (!SN_RESERVE(list->vertices, list->vertex_capacity, list->count + 1) ||
            !SN_RESERVE(list->deltas, list->delta_capacity, 3 * (list->count + 1)))
            return sn_no_memory(r->gltf.error);
        memcpy(list->deltas + 3 * list->count, d, 3 * sizeof *d);
        list->vertices[list->count++] = v;
    }
    return SINEW_OK;
}

/* Each expression becomes a slider with a target of its own, after those of the meshes. */
static sinew_status add_expressions(gltf_reader *r) {
    SN_TRY(sn_gltf_expressions(&r->gltf, &r->expressions, &r->expression_count));
    if (r->expression_count == 0) return SINEW_OK;
    double *sum = SN_NEW(double, 3 * (size_t)r->file_count);
    sinew_status status = sum ? SINEW_OK : sn_no_memory(r->gltf.error);
    size_t work = 0;
    for (int i = 0; status == SINEW_OK && i < r->expression_count; i++)
        status = add_expression(r, &r->expressions[i], sum, &work);
    sn_free(sum);
    return status;
}

/* --- the rig ---------------------------------------------------------------------------------- */

/* Per file vertex to per corner; rows that are missing give -1. */
static int *corner_rows(const gltf_reader *r, const double *rows, size_t width) {
    int *indices = SN_NEW(int, r->corner_count);
    for (size_t c = 0; indices && c < r->corner_count; c++)
        indices[c] = isnan(rows[width * (size_t)r->corners[c]]) ? -1 : r->corners[c];
    return indices;
}

static void zero_missing(double *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (isnan(rows[i])) rows[i] = 0;
}

static sinew_status add_attributes(gltf_reader *r, sinew_mesh *mesh, sinew_error *error) {
    if (r->sinew && json_is_false(json_object_get(r->sinew, "normals"))) r->any_normal = false;
    if (r->any_uv && r->corner_count) {
        mesh->corner_uv = corner_rows(r, r->uvs, 2);
        if (!mesh->corner_uv) return sn_no_memory(error);
        zero_missing(r->uvs, 2 * (size_t)r->file_count);
        mesh->uvs = r->uvs, r->uvs = NULL;
        mesh->uv_count = r->file_count;
    }
    if (r->any_normal && r->corner_count) {
        mesh->corner_normal = corner_rows(r, r->normals, 3);
        if (!mesh->corner_normal) return sn_no_memory(error);
        zero_missing(r->normals, 3 * (size_t)r->file_count);
        mesh->normals = r->normals, r->normals = NULL;
        mesh->normal_count = r->file_count;
    }
    if (r->named_parts) {
        mesh->part_count = r->parts.count;
        mesh->part_names = sn_names_take(&r->parts);
        mesh->face_part = r->face_part, r->face_part = NULL;
    }
    if (!r->sinew) {
        mesh->file_vertex_count = r->file_count;
        mesh->file_vertices = sn_memdup(r->vertex_of, (size_t)r->file_count, sizeof(int));
        if (!mesh->file_vertices) return sn_no_memory(error);
    }
    return SINEW_OK;
}

static sinew_status build_mesh(gltf_reader *r, sinew_mesh **mesh, sinew_error *error) {
    double *positions = sn_alloc((size_t)r->vertex_count, 3 * sizeof(double));
    int *corners = SN_NEW(int, r->corner_count);
    sinew_status status = positions && corners ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        /* the first of a vertex's split ones gives its place: walk backwards */
        for (int i = r->file_count; i-- > 0;)
            memcpy(positions + 3 * (size_t)r->vertex_of[i], r->positions + 3 * (size_t)i,
                   3 * sizeof(double));
        for (size_t c = 0; c < r->corner_count; c++) corners[c] = r->vertex_of[r->corners[c]];
        int faces = r->face_start ? r->face_count : (int)(r->corner_count / 3);
        status = sinew_mesh_create(r->vertex_count, positions, faces, r->face_start, corners, mesh,
                                   error);
        status = sn_source_blame(r->gltf.source, status, error);
    }
    sn_free(positions);
    sn_free(corners);
    if (status == SINEW_OK) {
        status = add_attributes(r, *mesh, error);
        if (status != SINEW_OK) {
            sinew_mesh_destroy(*mesh);
            *mesh = NULL;
        }
    }
    return status;
}

/* File vertices to mesh vertices: each once, by its first split one. A vertex's first split one
 * comes after those of smaller vertices in files that we do not number ourselves; in ours any order
 * may be, and the rig sorts. */
static void gather_deltas(const gltf_reader *r, target_list *list, const int *first_of) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        int vertex = list->vertices[i];
        if (first_of[r->vertex_of[vertex]] != vertex) continue;
        list->vertices[kept] = r->vertex_of[vertex];
        memmove(list->deltas + 3 * kept, list->deltas + 3 * i, 3 * sizeof(double));
        kept++;
    }
    list->count = kept;
}

/* Targets by the names of the description, when every one of them is there. */
static bool restore_rig(const gltf_reader *r, sinew_rig *rig) {
    const json_t *extras = json_object_get(r->gltf.root, "extras");
    const json_t *own = r->sinew ? r->sinew : json_object_get(extras, "sinew");
    const json_t *description = json_object_get(own, "rig");
    if (!description || sn_rig_from_json(description, "", rig, NULL) != SINEW_OK) return false;
    if (rig->target_count != r->targets.count) return false;
    for (int i = 0; i < rig->target_count; i++) {
        sinew_target *target = &rig->targets[i];
        int index = sn_names_find(&r->targets, target->name, strlen(target->name));
        if (index < 0) return false;
        const target_list *list = &r->lists[index];
        for (size_t k = 1; k < list->count; k++)
            if (list->vertices[k] <= list->vertices[k - 1]) return false;
        target->count = (int)list->count;
        target->vertices = sn_memdup(list->vertices, list->count, sizeof(int));
        target->deltas = sn_memdup(list->deltas, list->count, 3 * sizeof(double));
        if (!target->vertices || !target->deltas) return false;
    }
    return true;
}

static sinew_status add_targets(gltf_reader *r, sinew_rig *rig, sinew_error *error) {
    for (int t = 0; t < r->targets.count; t++) {
        const target_list *list = &r->lists[t];
        sinew_status status = sinew_rig_add_target(rig, r->targets.names[t], (int)list->count,
                                                   list->vertices, list->deltas, error);
        if (status != SINEW_OK) return sn_source_blame(r->gltf.source, status, error);
    }
    return SINEW_OK;
}

static sinew_status prepare_deltas(gltf_reader *r, sinew_error *error) {
    int *first_of = SN_NEW(int, r->vertex_count);
    if (!first_of) return sn_no_memory(error);
    for (int i = r->file_count; i-- > 0;) first_of[r->vertex_of[i]] = i;
    for (int t = 0; t < r->targets.count; t++) gather_deltas(r, &r->lists[t], first_of);
    sn_free(first_of);
    return SINEW_OK;
}

/* A rig without sliders again, after a description that did not fit. */
static sinew_status start_over(sinew_rig **rig, sinew_error *error) {
    sinew_mesh *neutral = (*rig)->neutral;
    (*rig)->neutral = NULL;
    sinew_rig_destroy(*rig);
    *rig = NULL;
    return sinew_rig_create(neutral, rig, error);
}

static sinew_status build_rig(gltf_reader *r, sinew_rig **rig, sinew_error *error) {
    SN_TRY(add_expressions(r));
    SN_TRY(prepare_deltas(r, error));
    sinew_mesh *mesh;
    SN_TRY(build_mesh(r, &mesh, error));
    SN_TRY(sinew_rig_create(mesh, rig, error));
    if (restore_rig(r, *rig)) return SINEW_OK;
    SN_TRY(start_over(rig, error));
    sinew_status status = add_targets(r, *rig, error);
    if (status != SINEW_OK) {
        sinew_rig_destroy(*rig);
        *rig = NULL;
    }
    return status;
}

static sinew_status read_all(gltf_reader *r, const sn_source *source, sinew_error *error) {
    SN_TRY(sn_gltf_open(&r->gltf, source, error));
    SN_TRY(sn_gltf_instances(&r->gltf, &r->instances, &r->instance_count));
    size_t bytes = source->size;
    for (int i = 0; i < r->gltf.buffer_count; i++) bytes += r->gltf.buffers[i].size;
    r->vertex_limit = bytes < INT_MAX / 64 ? 1000000 + 16 * bytes : INT_MAX / 4;
    for (int i = 0; i < r->instance_count; i++) SN_TRY(read_instance(r, &r->instances[i]));
    r->named_parts |= r->instance_count > 1;
    find_own(r);
    if (r->sinew && restore_vertices(r)) {
        restore_uvs(r);
        restore_polygons(r);
    } else {
        r->sinew = NULL;
    }
    if (!r->pose) return SINEW_OK;
    /* Vertices were joined by their neutral, so that every pose has the vertices of the rig. */
    r->any_normal = false;
    return sn_gltf_pose_apply(&r->gltf, r->pose, r->instances, r->blocks, r->block_count,
                              r->positions);
}

sinew_status sn_gltf_read_rig(const sn_source *source, sinew_rig **rig, sinew_error *error) {
    gltf_reader r = {0};
    sinew_status status = read_all(&r, source, error);
    if (status == SINEW_OK) status = build_rig(&r, rig, error);
    release(&r);
    return status;
}

sinew_status sn_gltf_read_layout(const sn_source *source, sn_gltf_layout *layout, sinew_rig **rig,
                                 sinew_error *error) {
    gltf_reader r = {0};
    sinew_status status = read_all(&r, source, error);
    if (status == SINEW_OK) status = build_rig(&r, rig, error);
    *layout = (sn_gltf_layout){
        r.gltf,       r.instances, r.instance_count, r.blocks,           r.block_count,
        r.file_count, r.vertex_of, r.sinew != NULL,  r.expression_count, r.expressions};
    r.gltf = (sn_gltf){0};
    r.instances = NULL, r.blocks = NULL, r.vertex_of = NULL, r.expressions = NULL;
    r.expression_count = 0;
    release(&r);
    return status;
}

void sn_gltf_layout_close(sn_gltf_layout *layout) {
    sn_free(layout->instances), sn_free(layout->blocks), sn_free(layout->vertex_of);
    sn_gltf_expressions_free(layout->expressions, layout->expression_count);
    sn_gltf_close(&layout->gltf);
}

sinew_status sn_gltf_read_mesh(const sn_source *source, sinew_mesh **mesh, sinew_error *error) {
    gltf_reader r = {0};
    sinew_status status = read_all(&r, source, error);
    if (status == SINEW_OK) status = build_mesh(&r, mesh, error);
    release(&r);
    return status;
}

sinew_status sn_gltf_read_pose(const sn_source *source, const char *clip, double time,
                               sinew_mesh **mesh, sinew_error *error) {
    const sn_gltf_pose pose = {clip, time};
    gltf_reader r = {.pose = &pose};
    sinew_status status = read_all(&r, source, error);
    if (status == SINEW_OK) status = build_mesh(&r, mesh, error);
    release(&r);
    return status;
}

sinew_status sn_gltf_read_clip(const sn_source *source, const char *clip, double rate,
                               sinew_frames **frames, sinew_error *error) {
    gltf_reader r = {0};
    double start = 0, end = 0;
    if (!(rate > 0)) rate = SINEW_FRAMES_DEFAULT_RATE;
    sinew_status status = read_all(&r, source, error);
    if (status == SINEW_OK) status = sn_gltf_clip_range(&r.gltf, clip, &start, &end);
    double count = ceil((end - start) * rate - 1e-6) + 1;
    if (status == SINEW_OK && count > SINEW_FRAMES_MAXIMUM)
        status = sn_gltf_fail(&r.gltf, "its clip has %.0f frames, more than %d", count,
                              SINEW_FRAMES_MAXIMUM);
    if (status == SINEW_OK)
        status = sn_frames_create(r.vertex_count, (int)count, start, rate, frames, error);
    for (int k = 0; status == SINEW_OK && k < (*frames)->frame_count; k++) {
        const sn_gltf_pose pose = {clip, fmin(start + k / rate, end)};
        float *row = (*frames)->positions + 3 * (size_t)k * (size_t)r.vertex_count;
        status =
            sn_gltf_pose_apply(&r.gltf, &pose, r.instances, r.blocks, r.block_count, r.positions);
        for (int i = r.file_count; status == SINEW_OK && i-- > 0;)
            for (size_t c = 0; c < 3; c++)
                row[3 * (size_t)r.vertex_of[i] + c] = (float)r.positions[3 * (size_t)i + c];
    }
    if (status != SINEW_OK && *frames) {
        sinew_frames_destroy(*frames);
        *frames = NULL;
    }
    release(&r);
    return status;
}
