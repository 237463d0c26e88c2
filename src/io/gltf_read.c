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
#include "io/gltf_reader.h"

static void release(sn_gltf_reader *r) {
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

sinew_status sn_gltf_read_attribute(sn_gltf_reader *r, const json_t *attributes, const char *name,
                                    int components, int count, double *rows, bool *present) {
    const json_t *index = json_object_get(attributes, name);
    *present = index != NULL;
    if (!index) return SINEW_OK;
    sn_gltf_accessor accessor;
    SN_TRY(sn_gltf_accessor_open(&r->gltf, index, name, components, count, &accessor));
    return sn_gltf_accessor_read(&r->gltf, &accessor, name, rows);
}

static void place_vertices(sn_gltf_reader *r, const sn_gltf_transform *transform, int first,
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

static sinew_status check_placed(sn_gltf_reader *r, int first, int count) {
    for (size_t i = 3 * (size_t)first; i < 3 * ((size_t)first + (size_t)count); i++)
        if (!isfinite(r->positions[i]))
            return sn_gltf_fail(&r->gltf, "a node's transform sends a vertex to infinity");
    return SINEW_OK;
}

static sinew_status read_block(sn_gltf_reader *r, const sn_gltf_transform *transform,
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
    SN_TRY(sn_gltf_read_attribute(r, attributes, "POSITION", 3, count,
                                  r->positions + 3 * (size_t)first, &present));
    SN_TRY(sn_gltf_read_attribute(r, attributes, "NORMAL", 3, count, normals, &present));
    if (!present) fill_missing(normals, 3 * (size_t)count);
    r->any_normal |= present;
    SN_TRY(sn_gltf_read_attribute(r, attributes, "TEXCOORD_0", 2, count, uvs, &present));
    if (!present) fill_missing(uvs, 2 * (size_t)count);
    r->any_uv |= present;
    /* glTF counts v from the top of the picture, we from the bottom. */
    for (int i = 0; i < count; i++) uvs[2 * (size_t)i + 1] = 1 - uvs[2 * (size_t)i + 1];
    place_vertices(r, transform, first, count);
    return check_placed(r, first, count);
}

/* --- targets ---------------------------------------------------------------------------------- */

sinew_status sn_gltf_find_list(sn_gltf_reader *r, const char *name, sn_gltf_target_list **list) {
    int index = sn_names_find(&r->targets, name, strlen(name));
    if (index < 0) {
        size_t known = (size_t)r->targets.count;
        if (!SN_RESERVE(r->lists, r->list_capacity, known + 1)) return sn_no_memory(r->gltf.error);
        r->lists[known] = (sn_gltf_target_list){0};
        index = sn_names_add(&r->targets, name, strlen(name));
        if (index < 0) return sn_no_memory(r->gltf.error);
    }
    *list = &r->lists[index];
    return SINEW_OK;
}

static sinew_status keep_deltas(sn_gltf_reader *r, const sn_gltf_transform *transform,
                                const sn_gltf_block *block, uint64_t salt, const double *rows,
                                sn_gltf_target_list *list) {
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

static sinew_status read_targets(sn_gltf_reader *r, const sn_gltf_instance *instance,
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
        sn_gltf_target_list *list = NULL;
        if (status == SINEW_OK)
            status = sn_gltf_find_list(
                r, sn_gltf_target_name(&r->gltf, instance->mesh, (int)t, number), &list);
        if (status == SINEW_OK)
            status = keep_deltas(r, &instance->transform, block, t + 2, rows, list);
    }
    sn_free(rows);
    return status;
}

/* --- faces ------------------------------------------------------------------------------------ */

static sinew_status add_triangle(sn_gltf_reader *r, int a, int b, int c, int part) {
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

static sinew_status add_triangles(sn_gltf_reader *r, const sn_gltf_block *block, int mode,
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

static sinew_status read_faces(sn_gltf_reader *r, const json_t *primitive,
                               const sn_gltf_block *block, int part) {
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
static sinew_status find_part(sn_gltf_reader *r, const sn_gltf_instance *instance,
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

static const sn_gltf_block *known_block(const sn_gltf_reader *r, const json_t *attributes,
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

static sinew_status read_primitive(sn_gltf_reader *r, const sn_gltf_instance *instance,
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
static sinew_status weld(sn_gltf_reader *r, int first) {
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

static sinew_status read_instance(sn_gltf_reader *r, const sn_gltf_instance *instance) {
    const json_t *primitives = json_object_get(instance->mesh, "primitives");
    int count = (int)json_array_size(primitives), first = r->file_count;
    if (count == 0) return sn_gltf_fail(&r->gltf, "a mesh has no primitives");
    r->first_block = r->block_count;
    for (int i = 0; i < count; i++)
        SN_TRY(read_primitive(r, instance, json_array_get(primitives, (size_t)i), i, count));
    r->named_parts |= count > 1;
    return weld(r, first);
}

/* --- the rig ---------------------------------------------------------------------------------- */

/* Per file vertex to per corner; rows that are missing give -1. */
static int *corner_rows(const sn_gltf_reader *r, const double *rows, size_t width) {
    int *indices = SN_NEW(int, r->corner_count);
    for (size_t c = 0; indices && c < r->corner_count; c++)
        indices[c] = isnan(rows[width * (size_t)r->corners[c]]) ? -1 : r->corners[c];
    return indices;
}

static void zero_missing(double *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (isnan(rows[i])) rows[i] = 0;
}

static sinew_status add_attributes(sn_gltf_reader *r, sinew_mesh *mesh, sinew_error *error) {
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

static sinew_status build_mesh(sn_gltf_reader *r, sinew_mesh **mesh, sinew_error *error) {
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
static void gather_deltas(const sn_gltf_reader *r, sn_gltf_target_list *list, const int *first_of) {
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

static sinew_status add_targets(sn_gltf_reader *r, sinew_rig *rig, sinew_error *error) {
    for (int t = 0; t < r->targets.count; t++) {
        const sn_gltf_target_list *list = &r->lists[t];
        sinew_status status = sinew_rig_add_target(rig, r->targets.names[t], (int)list->count,
                                                   list->vertices, list->deltas, error);
        if (status != SINEW_OK) return sn_source_blame(r->gltf.source, status, error);
    }
    return SINEW_OK;
}

static sinew_status prepare_deltas(sn_gltf_reader *r, sinew_error *error) {
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

static sinew_status build_rig(sn_gltf_reader *r, sinew_rig **rig, sinew_error *error) {
    SN_TRY(sn_gltf_add_expressions(r));
    SN_TRY(prepare_deltas(r, error));
    sinew_mesh *mesh;
    SN_TRY(build_mesh(r, &mesh, error));
    SN_TRY(sinew_rig_create(mesh, rig, error));
    if (sn_gltf_restore_rig(r, *rig)) return SINEW_OK;
    SN_TRY(start_over(rig, error));
    sinew_status status = add_targets(r, *rig, error);
    if (status != SINEW_OK) {
        sinew_rig_destroy(*rig);
        *rig = NULL;
    }
    return status;
}

static sinew_status read_all(sn_gltf_reader *r, const sn_source *source, sinew_error *error) {
    SN_TRY(sn_gltf_open(&r->gltf, source, error));
    SN_TRY(sn_gltf_instances(&r->gltf, &r->instances, &r->instance_count));
    size_t bytes = source->size;
    for (int i = 0; i < r->gltf.buffer_count; i++) bytes += r->gltf.buffers[i].size;
    r->vertex_limit = bytes < INT_MAX / 64 ? 1000000 + 16 * bytes : INT_MAX / 4;
    for (int i = 0; i < r->instance_count; i++) SN_TRY(read_instance(r, &r->instances[i]));
    r->named_parts |= r->instance_count > 1;
    sn_gltf_find_own(r);
    if (r->sinew && sn_gltf_restore_vertices(r)) {
        sn_gltf_restore_uvs(r);
        sn_gltf_restore_polygons(r);
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
    sn_gltf_reader r = {0};
    sinew_status status = read_all(&r, source, error);
    if (status == SINEW_OK) status = build_rig(&r, rig, error);
    release(&r);
    return status;
}

sinew_status sn_gltf_read_layout(const sn_source *source, sn_gltf_layout *layout, sinew_rig **rig,
                                 sinew_error *error) {
    sn_gltf_reader r = {0};
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
    sn_gltf_reader r = {0};
    sinew_status status = read_all(&r, source, error);
    if (status == SINEW_OK) status = build_mesh(&r, mesh, error);
    release(&r);
    return status;
}

sinew_status sn_gltf_read_pose(const sn_source *source, const char *clip, double time,
                               sinew_mesh **mesh, sinew_error *error) {
    const sn_gltf_pose pose = {clip, time};
    sn_gltf_reader r = {.pose = &pose};
    sinew_status status = read_all(&r, source, error);
    if (status == SINEW_OK) status = build_mesh(&r, mesh, error);
    release(&r);
    return status;
}

sinew_status sn_gltf_read_clip(const sn_source *source, const char *clip, double rate,
                               sinew_frames **frames, sinew_error *error) {
    sn_gltf_reader r = {0};
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
