/* GLB to GLB: new targets, weights and positions in a copy of a file.
 *
 * The binary chunk keeps its bytes and indices keep their meaning, so that extensions we do not
 * know stay valid: changed floats are written over the old ones where nothing else uses them, all
 * other new data is appended. A target or position that has not changed keeps its accessor.
 *
 * Rigs are in world space and joined at seams (gltf_read.c); the inverse mapping is through
 * vertex_of and the inverse transform of each node. */
#include "io/gltf_keep.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "io/binary.h"
#include "io/gltf_share.h"
#include "io/gltf_write.h"
#include "io/names.h"
#include "io/rig_json.h"
#include "mesh/normals.h"
#include "mesh/topology.h"

#define SAME 1e-5 /* relative difference of displacements that two nodes of a mesh may have */

typedef struct keeper {
    sn_gltf_layout layout;
    sn_gltf_file file;
    sinew_rig *before;
    const sinew_rig *rig;
    sinew_error *error;
    json_t *root;
    sn_topology *topology;
    double *normals, *posed_normals, *posed; /* per mesh vertex */
    double *moved;                           /* 3 per mesh vertex: displacement of one target */
    bool *expression;                        /* per target of the rig: stays an expression */
    int *order; /* targets of the mesh at hand, by their index in the rig */
    int order_count;
    int *was; /* index of each among the old targets of the mesh, or -1 */
    int curve_count;
    sinew_curves **curves; /* what each animation does to sliders, before anything changes */
    bool held;             /* the blocks own their lists of targets */
    sn_buffer text;        /* the document before anything changes */
} keeper;

static void set(keeper *k, json_t *object, const char *key, json_t *value) {
    k->file.failed |= json_object_set_new(object, key, value) != 0;
}

static void append(keeper *k, json_t *array, json_t *value) {
    k->file.failed |= json_array_append_new(array, value) != 0;
}

/* --- comparing -------------------------------------------------------------------------------- */

static const double *delta_at(const sinew_target *target, int vertex) {
    static const double none[3] = {0, 0, 0};
    int low = 0, high = target ? target->count : 0;
    while (low < high) {
        int middle = (low + high) / 2;
        if (target->vertices[middle] < vertex)
            low = middle + 1;
        else
            high = middle;
    }
    return target && low < target->count && target->vertices[low] == vertex
               ? target->deltas + 3 * (size_t)low
               : none;
}

static const sinew_target *old_target(const keeper *k, const char *name) {
    int index = sinew_rig_find_target(k->before, name);
    return index >= 0 && strcmp(k->before->targets[index].name, name) == 0
               ? &k->before->targets[index]
               : NULL;
}

/* Whether a target has other displacements than `before` (NULL: none) on the vertices of a block.
 * Files hold floats, so differences below their precision are ignored. */
static bool changed_on(const keeper *k, const sn_gltf_block *block, const sinew_target *before,
                       const sinew_target *after) {
    for (int i = 0; i < block->count; i++) {
        int vertex = k->layout.vertex_of[block->first + i];
        const double *a = delta_at(before, vertex), *b = delta_at(after, vertex);
        for (int c = 0; c < 3; c++)
            if (a[c] != b[c]) return true;
    }
    return false;
}

static bool same_target(const sinew_target *a, const sinew_target *b) {
    return a->count == b->count &&
           memcmp(a->vertices, b->vertices, (size_t)a->count * sizeof(int)) == 0 &&
           memcmp(a->deltas, b->deltas, 3 * (size_t)a->count * sizeof(double)) == 0;
}

/* --- data ------------------------------------------------------------------------------------- */

static sn_mat3 inverse_of(const sn_gltf_transform *t) {
    sn_mat3 inverse = sn_mat3_identity();
    if (!t->identity && !sn_mat3_inverse(t->linear, &inverse)) inverse = sn_mat3_identity();
    return inverse;
}

/* Whether no earlier node shows the mesh of this one. */
static bool shown_first(const keeper *k, int instance) {
    for (int n = 0; n < instance; n++)
        if (k->layout.instances[n].mesh == k->layout.instances[instance].mesh) return false;
    return true;
}

static sinew_status check_invertible(keeper *k, const sn_gltf_instance *instance) {
    double volume = fabs(sn_mat3_determinant(instance->transform.linear));
    if (instance->transform.identity || (isfinite(volume) && volume > DBL_MIN)) return SINEW_OK;
    return sn_gltf_fail(&k->layout.gltf, "node '%.80s' is scaled to nothing, its mesh cannot move",
                        instance->name ? instance->name : "");
}

/* Whether an accessor's floats can be overwritten: nothing else covers the same bytes, and one node
 * shows them first. */
static bool overwritable(const keeper *k, int64_t index, size_t *offset, size_t *stride) {
    int uses = 0;
    for (size_t b = 0; b < k->layout.block_count; b++) {
        const json_t *position = json_object_get(k->layout.blocks[b].attributes, "POSITION");
        uses +=
            json_integer_value(position) == index && shown_first(k, k->layout.blocks[b].instance);
    }
    return uses == 1 && sn_gltf_sole_positions(k->root, index, offset, stride);
}

static void set_bounds(keeper *k, json_t *accessor, int count, const float *rows) {
    json_t *low = json_array(), *high = json_array();
    for (size_t c = 0; c < 3; c++) {
        float least = INFINITY, most = -INFINITY;
        for (size_t i = 0; i < (size_t)count; i++)
            least = fminf(least, rows[3 * i + c]), most = fmaxf(most, rows[3 * i + c]);
        append(k, low, json_real((double)least)), append(k, high, json_real((double)most));
    }
    set(k, accessor, "min", low), set(k, accessor, "max", high);
}

/* --- positions -------------------------------------------------------------------------------- */

static sinew_status stored_rows(keeper *k, const json_t *index, int count, float **rows) {
    sn_gltf_accessor accessor;
    double *values = SN_NEW(double, 3 * (size_t)count);
    *rows = SN_NEW(float, 3 * (size_t)count);
    sinew_status status = values && *rows ? SINEW_OK : sn_no_memory(k->error);
    if (status == SINEW_OK)
        status = sn_gltf_accessor_open(&k->layout.gltf, index, "an attribute", 3, count, &accessor);
    if (status == SINEW_OK)
        status = sn_gltf_accessor_read(&k->layout.gltf, &accessor, "an attribute", values);
    for (size_t i = 0; status == SINEW_OK && i < 3 * (size_t)count; i++)
        (*rows)[i] = (float)values[i];
    sn_free(values);
    return status;
}

static bool vertex_moved(const keeper *k, int vertex) {
    return memcmp(k->rig->neutral->positions + 3 * (size_t)vertex,
                  k->before->neutral->positions + 3 * (size_t)vertex, 3 * sizeof(double)) != 0;
}

static sn_vec3 local_position(const keeper *k, const sn_gltf_block *block, sn_mat3 inverse, int i) {
    const sn_gltf_transform *t = &k->layout.instances[block->instance].transform;
    sn_vec3 p = sn_at(k->rig->neutral->positions, k->layout.vertex_of[block->first + i]);
    return t->identity ? p : sn_mat3_apply(inverse, sn_sub(p, t->translation));
}

/* A later node of a mesh must show the positions of the first. */
static sinew_status check_positions(keeper *k, const sn_gltf_block *block, sn_mat3 inverse) {
    const sn_gltf_block *first = NULL;
    for (size_t b = 0; !first && b < k->layout.block_count; b++)
        if (k->layout.blocks[b].attributes == block->attributes) first = &k->layout.blocks[b];
    const sn_gltf_instance *instance = &k->layout.instances[first->instance];
    sn_mat3 other = inverse_of(&instance->transform);
    for (int i = 0; i < block->count; i++) {
        sn_vec3 p = local_position(k, first, other, i), q = local_position(k, block, inverse, i);
        if (sn_length(sn_sub(p, q)) > SAME * (sn_length(p) + 1e-3))
            return sn_gltf_fail(&k->layout.gltf,
                                "several nodes show the mesh of '%.80s', and the rig moves them "
                                "differently",
                                instance->name ? instance->name : "");
    }
    return SINEW_OK;
}

static void use_positions(keeper *k, const sn_gltf_block *block, int accessor) {
    json_t *primitives = json_object_get(k->layout.instances[block->instance].mesh, "primitives");
    json_t *old = json_copy((json_t *)block->attributes);
    k->file.failed |= !old;
    for (size_t i = 0; i < json_array_size(primitives); i++) {
        json_t *attributes = json_object_get(json_array_get(primitives, i), "attributes");
        if (json_equal(attributes, old)) set(k, attributes, "POSITION", json_integer(accessor));
    }
    json_decref(old);
}

static sinew_status write_positions(keeper *k, const sn_gltf_block *block) {
    bool any = false;
    for (int i = 0; i < block->count && !any; i++)
        any = vertex_moved(k, k->layout.vertex_of[block->first + i]);
    if (!any) return SINEW_OK;
    const sn_gltf_instance *instance = &k->layout.instances[block->instance];
    SN_TRY(check_invertible(k, instance));
    sn_mat3 inverse = inverse_of(&instance->transform);
    if (!shown_first(k, block->instance)) return check_positions(k, block, inverse);
    const json_t *index = json_object_get(block->attributes, "POSITION");
    float *rows = NULL;
    sinew_status status = stored_rows(k, index, block->count, &rows);
    for (int i = 0; status == SINEW_OK && i < block->count; i++) {
        if (!vertex_moved(k, k->layout.vertex_of[block->first + i])) continue;
        sn_vec3 p = local_position(k, block, inverse, i);
        float *row = rows + 3 * (size_t)i;
        row[0] = (float)p.x, row[1] = (float)p.y, row[2] = (float)p.z;
    }
    size_t offset, stride;
    if (status == SINEW_OK && overwritable(k, json_integer_value(index), &offset, &stride)) {
        for (size_t i = 0; i < (size_t)block->count; i++)
            for (size_t c = 0; c < 3; c++)
                sn_store_f32(k->file.binary.bytes + offset + i * stride + 4 * c, rows[3 * i + c],
                             false);
        set_bounds(k, json_array_get(k->file.accessors, (size_t)json_integer_value(index)),
                   block->count, rows);
    } else if (status == SINEW_OK) {
        use_positions(k, block,
                      sn_gltf_add_floats(&k->file, rows, block->count, 3, SN_GLTF_VERTICES, true));
    }
    sn_free(rows);
    return status;
}

/* --- targets ---------------------------------------------------------------------------------- */

static void spread(keeper *k, const sinew_target *target) {
    memset(k->moved, 0, 3 * sizeof(double) * (size_t)k->rig->neutral->vertex_count);
    for (int i = 0; i < target->count; i++)
        memcpy(k->moved + 3 * (size_t)target->vertices[i], target->deltas + 3 * (size_t)i,
               3 * sizeof(double));
}

/* Differences of the block's normals: they turn with the smooth normals of the surface. */
static sinew_status add_normals(keeper *k, const sn_gltf_block *block, sn_mat3 linear,
                                sn_mat3 inverse, json_t *object) {
    const sinew_mesh *mesh = k->rig->neutral;
    float *rows;
    size_t size = 3 * (size_t)mesh->vertex_count;
    sinew_status status =
        stored_rows(k, json_object_get(block->attributes, "NORMAL"), block->count, &rows);
    for (size_t i = 0; i < size; i++) k->posed[i] = mesh->positions[i] + k->moved[i];
    sn_vertex_normals(k->topology, k->posed, SN_NORMAL_AREA, k->posed_normals);
    sn_mat3 to_world = sn_mat3_transpose(inverse), to_local = sn_mat3_transpose(linear);
    for (int i = 0; status == SINEW_OK && i < block->count; i++) {
        float *row = rows + 3 * (size_t)i;
        int vertex = k->layout.vertex_of[block->first + i];
        sn_vec3 own = sn_v3((double)row[0], (double)row[1], (double)row[2]);
        sn_vec3 normal = sn_normalize(sn_mat3_apply(to_world, own));
        sn_vec3 change = sn_gltf_normal_change(sn_at(k->normals, vertex),
                                               sn_at(k->posed_normals, vertex), normal);
        if (change.x != 0 || change.y != 0 || change.z != 0)
            change = sn_sub(sn_normalize(sn_mat3_apply(to_local, sn_add(normal, change))), own);
        row[0] = (float)change.x, row[1] = (float)change.y, row[2] = (float)change.z;
    }
    if (status == SINEW_OK)
        set(k, object, "NORMAL",
            json_integer(sn_gltf_add_sparse(&k->file, rows, block->count, 3, false)));
    sn_free(rows);
    return status;
}

/* A new target of a primitive, from its first node. */
static sinew_status write_target(keeper *k, const sn_gltf_block *block, const sinew_target *target,
                                 bool normals, json_t **object) {
    const sn_gltf_instance *instance = &k->layout.instances[block->instance];
    sn_mat3 inverse = inverse_of(&instance->transform);
    float *rows = SN_NEW(float, 3 * (size_t)block->count);
    *object = json_object();
    if (!rows) return sn_no_memory(k->error);
    spread(k, target);
    for (int i = 0; i < block->count; i++) {
        sn_vec3 d = sn_at(k->moved, k->layout.vertex_of[block->first + i]);
        if (!instance->transform.identity) d = sn_mat3_apply(inverse, d);
        float *row = rows + 3 * (size_t)i;
        row[0] = (float)d.x, row[1] = (float)d.y, row[2] = (float)d.z;
    }
    set(k, *object, "POSITION",
        json_integer(sn_gltf_add_sparse(&k->file, rows, block->count, 3, true)));
    sn_free(rows);
    if (!normals) return SINEW_OK;
    return add_normals(k, block, instance->transform.linear, inverse, *object);
}

static const sn_gltf_block *block_of(const keeper *k, int instance, const json_t *primitive) {
    const json_t *attributes = json_object_get(primitive, "attributes");
    const json_t *targets = json_object_get(primitive, "targets");
    for (size_t b = 0; b < k->layout.block_count; b++) {
        const sn_gltf_block *block = &k->layout.blocks[b];
        if (block->instance == instance &&
            (block->attributes == attributes || json_equal(block->attributes, attributes)) &&
            (block->targets == targets || json_equal(block->targets, targets)))
            return block;
    }
    return NULL;
}

/* Several nodes may show one mesh: they must move it alike. */
static sinew_status check_nodes(keeper *k, const sn_gltf_block *first, const json_t *primitive,
                                const json_t *mesh, const sinew_target *target) {
    const sn_gltf_instance *instances = k->layout.instances;
    sn_mat3 to_first = inverse_of(&instances[first->instance].transform);
    for (int n = first->instance + 1; n < k->layout.instance_count; n++) {
        if (instances[n].mesh != mesh) continue;
        const sn_gltf_block *block = block_of(k, n, primitive);
        sn_mat3 inverse = inverse_of(&instances[n].transform);
        double apart = 0, size = 0;
        for (int i = 0; block && i < block->count; i++) {
            const double *a = delta_at(target, k->layout.vertex_of[first->first + i]);
            const double *b = delta_at(target, k->layout.vertex_of[block->first + i]);
            sn_vec3 p = sn_mat3_apply(to_first, sn_v3(a[0], a[1], a[2]));
            sn_vec3 q = sn_mat3_apply(inverse, sn_v3(b[0], b[1], b[2]));
            apart = fmax(apart, sn_length(sn_sub(p, q)));
            size = fmax(size, sn_length(p));
        }
        if (apart > SAME * size)
            return sn_gltf_fail(&k->layout.gltf,
                                "several nodes show the mesh '%.80s', and target '%.80s' moves "
                                "them differently",
                                sn_json_string(mesh, "name") ? sn_json_string(mesh, "name") : "",
                                target->name);
    }
    return SINEW_OK;
}

static sinew_status write_primitive(keeper *k, int instance, const json_t *mesh,
                                    json_t *primitive) {
    const sn_gltf_block *block = block_of(k, instance, primitive);
    if (!block) return SINEW_OK;
    const json_t *old = block->targets;
    bool normals = json_object_get(block->attributes, "NORMAL") != NULL;
    if (json_array_size(old) > 0)
        normals = normals && json_object_get(json_array_get(old, 0), "NORMAL") != NULL;
    json_t *targets = json_array();
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < k->order_count; i++) {
        const sinew_target *target = &k->rig->targets[k->order[i]];
        const sinew_target *before = k->was[i] >= 0 ? old_target(k, target->name) : NULL;
        /* Another primitive of the mesh may have fewer targets than the first. */
        json_t *kept = before ? json_array_get(old, (size_t)k->was[i]) : NULL, *object = NULL;
        if (kept && !changed_on(k, block, before, target)) {
            object = json_incref(kept);
        } else {
            status = check_invertible(k, &k->layout.instances[instance]);
            if (status == SINEW_OK) status = check_nodes(k, block, primitive, mesh, target);
            if (status == SINEW_OK) status = write_target(k, block, target, normals, &object);
        }
        append(k, targets, object);
    }
    if (status == SINEW_OK && (k->order_count > 0 || old) && !json_equal(targets, old)) {
        if (k->order_count > 0)
            set(k, primitive, "targets", json_incref(targets));
        else
            json_object_del(primitive, "targets");
    }
    json_decref(targets);
    return status;
}

/* --- names, weights, binds -------------------------------------------------------------------- */

static bool order_changed(const keeper *k, int old_count) {
    for (int i = 0; i < k->order_count; i++)
        if (k->was[i] != i) return true;
    return k->order_count != old_count;
}

/* Weights that a mesh or a node has set, in the new order. */
static void remap_weights(keeper *k, json_t *owner) {
    const json_t *old = json_object_get(owner, "weights");
    if (!old) return;
    json_t *weights = json_array();
    for (int i = 0; i < k->order_count; i++) {
        json_t *value = k->was[i] >= 0 ? json_array_get(old, (size_t)k->was[i]) : NULL;
        append(k, weights, value ? json_incref(value) : json_integer(0));
    }
    if (k->order_count > 0)
        set(k, owner, "weights", weights);
    else
        json_object_del(owner, "weights"), json_decref(weights);
}

static void write_names(keeper *k, json_t *mesh) {
    json_t *extras = json_object_get(mesh, "extras"), *names = json_array();
    if (!json_is_object(extras)) {
        extras = json_object();
        set(k, mesh, "extras", extras);
    }
    for (int i = 0; i < k->order_count; i++)
        append(k, names, json_string(k->rig->targets[k->order[i]].name));
    set(k, extras, "targetNames", names);
}

static void move_binds(keeper *k, int instance) {
    const json_t *meshes = json_object_get(k->root, "meshes");
    for (int e = 0; e < k->layout.expression_count; e++) {
        const sn_gltf_expression *expression = &k->layout.expressions[e];
        for (int i = 0; i < sn_gltf_bind_count(expression); i++) {
            sn_gltf_bind bind;
            if (!sn_gltf_bind_at(expression, i, &bind)) continue;
            bool here = expression->by_mesh ? json_array_get(meshes, (size_t)bind.node) ==
                                                  k->layout.instances[instance].mesh
                                            : bind.node == k->layout.instances[instance].node;
            for (int t = 0; here && t < k->order_count; t++)
                if (k->was[t] == bind.index) {
                    k->file.failed |= !sn_gltf_bind_move(expression, i, t);
                    break;
                }
        }
    }
}

/* --- animations ------------------------------------------------------------------------------- */

static bool moves_weights(const json_t *channel, int node) {
    const json_t *target = json_object_get(channel, "target");
    const char *path = sn_json_string(target, "path");
    return path && strcmp(path, "weights") == 0 &&
           json_integer_value(json_object_get(target, "node")) == node;
}

/* The keys of a channel with its columns in the new order; new targets rest. */
static sinew_status remap_keys(keeper *k, json_t *sampler, int old_count) {
    const char *interpolation = sn_json_string(sampler, "interpolation");
    size_t per_key = interpolation && strcmp(interpolation, "CUBICSPLINE") == 0 ? 3 : 1;
    sn_gltf_accessor input, output;
    SN_TRY(sn_gltf_accessor_open(&k->layout.gltf, json_object_get(sampler, "input"),
                                 "animation times", 1, -1, &input));
    SN_TRY(sn_gltf_accessor_open(&k->layout.gltf, json_object_get(sampler, "output"),
                                 "animation weights", 1, -1, &output));
    size_t rows = per_key * (size_t)input.count, width = (size_t)k->order_count;
    if ((size_t)output.count != rows * (size_t)old_count)
        return sn_gltf_fail(&k->layout.gltf, "an animation has %d weights, %zu are needed",
                            output.count, rows * (size_t)old_count);
    if (rows * width > INT_MAX)
        return sn_gltf_fail(&k->layout.gltf, "an animation would get %zu weights, at most %d fit",
                            rows * width, INT_MAX);
    double *old = SN_NEW(double, output.count);
    float *values = SN_NEW(float, rows *width);
    sinew_status status = old && values ? SINEW_OK : sn_no_memory(k->error);
    if (status == SINEW_OK)
        status = sn_gltf_accessor_read(&k->layout.gltf, &output, "animation weights", old);
    for (size_t r = 0; status == SINEW_OK && r < rows; r++)
        for (size_t i = 0; i < width; i++)
            values[r * width + i] =
                k->was[i] >= 0 ? (float)old[r * (size_t)old_count + (size_t)k->was[i]] : 0;
    if (status == SINEW_OK)
        set(k, sampler, "output",
            json_integer(sn_gltf_add_floats(&k->file, values, (int)(rows * width), 1, SN_GLTF_PLAIN,
                                            false)));
    sn_free(old), sn_free(values);
    return status;
}

/* A sampler with the activations of the mesh's targets at the keys of the clip. */
static sinew_status clip_sampler(keeper *k, const sn_keyed_clip *clip, json_t **sampler) {
    size_t rows = (size_t)clip->time_count, width = (size_t)k->order_count;
    *sampler = NULL;
    if (rows * width > INT_MAX)
        return sn_gltf_fail(&k->layout.gltf, "the clip would get %zu weights, at most %d fit",
                            rows * width, INT_MAX);
    float *times = SN_NEW(float, rows), *values = SN_NEW(float, rows *width);
    if (times && values) {
        for (size_t r = 0; r < rows; r++) {
            times[r] = (float)clip->times[r];
            for (size_t i = 0; i < width; i++)
                values[r * width + i] =
                    (float)
                        clip->activations[r * (size_t)k->rig->target_count + (size_t)k->order[i]];
        }
        int input = sn_gltf_add_floats(&k->file, times, (int)rows, 1, SN_GLTF_PLAIN, true);
        int output =
            sn_gltf_add_floats(&k->file, values, (int)(rows * width), 1, SN_GLTF_PLAIN, false);
        *sampler = json_pack("{s:i, s:i, s:s}", "input", input, "output", output, "interpolation",
                             "LINEAR");
    }
    sn_free(times), sn_free(values);
    return *sampler ? SINEW_OK : sn_no_memory(k->error);
}

static bool has_new_rules(const keeper *k) {
    for (int i = 0; i < k->order_count; i++)
        if (k->was[i] < 0 && k->rig->targets[k->order[i]].kind != SINEW_TARGET_KIND_PLAIN)
            return true;
    return false;
}

/* One channel of an animation that moves the weights of a mesh whose targets have changed. New
 * correctives follow the sliders, so that their keys are sampled again. */
static sinew_status rewrite_channel(keeper *k, int animation_index, json_t *animation,
                                    json_t *channel, int old_count) {
    json_t *samplers = json_object_get(animation, "samplers");
    size_t index = (size_t)json_integer_value(json_object_get(channel, "sampler"));
    json_t *sampler = json_array_get(samplers, index), *made = NULL;
    if (!sampler) return sn_gltf_fail(&k->layout.gltf, "an animation has no such sampler");
    sinew_status status = SINEW_OK;
    if (has_new_rules(k)) {
        sn_keyed_clip clip = {0};
        status = sn_keyed_clip_create(k->rig, k->curves[animation_index], &clip, k->error);
        if (status == SINEW_OK) status = clip_sampler(k, &clip, &made);
        sn_keyed_clip_free(&clip);
    } else {
        made = json_copy(sampler);
        status = made ? remap_keys(k, made, old_count) : sn_no_memory(k->error);
    }
    if (status != SINEW_OK) {
        json_decref(made);
        return status;
    }
    int uses = 0;
    const json_t *channels = json_object_get(animation, "channels");
    for (size_t c = 0; c < json_array_size(channels); c++)
        uses += json_integer_value(json_object_get(json_array_get(channels, c), "sampler")) ==
                (json_int_t)index;
    if (uses == 1) {
        k->file.failed |= json_array_set_new(samplers, index, made) != 0;
    } else {
        append(k, samplers, made);
        set(k, channel, "sampler", json_integer((json_int_t)json_array_size(samplers) - 1));
    }
    return SINEW_OK;
}

static sinew_status rewrite_animations(keeper *k, int node, int old_count) {
    json_t *animations = json_object_get(k->root, "animations");
    for (size_t a = 0; a < json_array_size(animations); a++) {
        json_t *animation = json_array_get(animations, a);
        json_t *channels = json_object_get(animation, "channels");
        for (size_t c = 0; c < json_array_size(channels); c++) {
            json_t *channel = json_array_get(channels, c);
            if (moves_weights(channel, node) && old_count > 0 && k->order_count > 0)
                SN_TRY(rewrite_channel(k, (int)a, animation, channel, old_count));
        }
    }
    return SINEW_OK;
}

/* The clip replaces all weights that the file's animations set. */
static void drop_weights(keeper *k) {
    json_t *animations = json_object_get(k->root, "animations");
    for (size_t a = json_array_size(animations); a-- > 0;) {
        json_t *channels = json_object_get(json_array_get(animations, a), "channels");
        for (size_t c = json_array_size(channels); c-- > 0;) {
            const char *path =
                sn_json_string(json_object_get(json_array_get(channels, c), "target"), "path");
            if (path && strcmp(path, "weights") == 0) json_array_remove(channels, c);
        }
        if (json_array_size(channels) == 0) json_array_remove(animations, a);
    }
    if (animations && json_array_size(animations) == 0) json_object_del(k->root, "animations");
}

static sinew_status add_clip_channel(keeper *k, const sn_keyed_clip *clip, int node,
                                     json_t *animation) {
    json_t *sampler, *samplers = json_object_get(animation, "samplers");
    SN_TRY(clip_sampler(k, clip, &sampler));
    append(k, samplers, sampler);
    append(k, json_object_get(animation, "channels"),
           json_pack("{s:i, s:{s:i, s:s}}", "sampler", (int)json_array_size(samplers) - 1, "target",
                     "node", node, "path", "weights"));
    return SINEW_OK;
}

/* --- meshes ----------------------------------------------------------------------------------- */

static bool moves_mesh(const keeper *k, const json_t *mesh, const sinew_target *target) {
    for (size_t b = 0; b < k->layout.block_count; b++) {
        const sn_gltf_block *block = &k->layout.blocks[b];
        if (k->layout.instances[block->instance].mesh == mesh && changed_on(k, block, NULL, target))
            return true;
    }
    return false;
}

/* k->order: the targets of the rig that the mesh has or needs, in the order of the rig. */
static int find_order(keeper *k, const json_t *mesh) {
    const json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    int old_count = (int)json_array_size(json_object_get(primitive, "targets"));
    sn_names names = {0};
    for (int i = 0; i < old_count; i++) {
        char number[32];
        const char *name = sn_gltf_target_name(&k->layout.gltf, mesh, i, number);
        k->file.failed |= sn_names_add(&names, name, strlen(name)) < 0;
    }
    k->order_count = 0;
    for (int t = 0; t < k->rig->target_count; t++) {
        const sinew_target *target = &k->rig->targets[t];
        int was = sn_names_find(&names, target->name, strlen(target->name));
        if (was < 0 && (k->expression[t] || !moves_mesh(k, mesh, target))) continue;
        k->was[k->order_count] = was;
        k->order[k->order_count++] = t;
    }
    sn_names_release(&names);
    return old_count;
}

static sinew_status write_mesh(keeper *k, int instance, const sn_keyed_clip *clip,
                               json_t *animation) {
    json_t *mesh = (json_t *)k->layout.instances[instance].mesh;
    json_t *primitives = json_object_get(mesh, "primitives");
    int old_count = find_order(k, mesh);
    bool changed = order_changed(k, old_count);
    if (changed) write_names(k, mesh); /* before the targets: names may come from accessors */
    for (size_t i = 0; i < json_array_size(primitives); i++)
        SN_TRY(write_primitive(k, instance, mesh, json_array_get(primitives, i)));
    if (changed) remap_weights(k, mesh);
    json_t *nodes = json_object_get(k->root, "nodes");
    for (int n = instance; n < k->layout.instance_count; n++) {
        int node = k->layout.instances[n].node;
        if (k->layout.instances[n].mesh != mesh || node < 0) continue;
        if (changed) remap_weights(k, json_array_get(nodes, (size_t)node));
        if (changed) move_binds(k, n);
        if (changed && !clip) SN_TRY(rewrite_animations(k, node, old_count));
        if (clip && k->order_count > 0) SN_TRY(add_clip_channel(k, clip, node, animation));
    }
    return SINEW_OK;
}

/* Expressions whose target is as it was stay expressions; others become targets. */
static void find_expressions(keeper *k) {
    for (int e = 0; e < k->layout.expression_count; e++) {
        if (k->layout.expressions[e].is_a_target) continue;
        const char *name = k->layout.expressions[e].name;
        const sinew_target *before = old_target(k, name);
        for (int t = 0; before && t < k->rig->target_count; t++)
            if (strcmp(k->rig->targets[t].name, name) == 0)
                k->expression[t] = same_target(before, &k->rig->targets[t]);
    }
}

/* Limits, in-betweens, combinations and the like, where the file does not contain the same already.
 */
static void write_description(keeper *k) {
    json_t *before = sn_rig_to_json(k->before), *after = sn_rig_to_json(k->rig);
    k->file.failed |= !before || !after;
    if (before && after && !json_equal(before, after)) {
        json_t *owner = k->root;
        if (k->layout.own) owner = (json_t *)k->layout.instances[0].mesh;
        json_t *extras = json_object_get(owner, "extras");
        if (!json_is_object(extras)) set(k, owner, "extras", extras = json_object());
        json_t *own = json_object_get(extras, "sinew");
        if (!json_is_object(own)) set(k, extras, "sinew", own = json_pack("{s:i}", "version", 1));
        set(k, own, "rig", json_incref(after));
    }
    json_decref(before), json_decref(after);
}

/* --- the file --------------------------------------------------------------------------------- */

static sinew_status prepare(keeper *k) {
    const sinew_mesh *mesh = k->rig->neutral, *old = k->before->neutral;
    sn_gltf *gltf = &k->layout.gltf;
    if (mesh->vertex_count != old->vertex_count)
        return sn_gltf_fail(gltf, "has %d vertices, but the rig to be written into it has %d",
                            old->vertex_count, mesh->vertex_count);
    SN_TRY(sn_check_float32(mesh, k->rig, k->error));
    size_t size = 3 * (size_t)mesh->vertex_count, targets = (size_t)k->rig->target_count;
    k->normals = SN_NEW(double, size), k->posed_normals = SN_NEW(double, size);
    k->posed = SN_NEW(double, size), k->moved = SN_NEW(double, size);
    k->expression = SN_NEW0(bool, targets), k->order = SN_NEW(int, targets);
    k->was = SN_NEW(int, targets);
    if (!k->normals || !k->posed_normals || !k->posed || !k->moved || !k->expression || !k->order ||
        !k->was)
        return sn_no_memory(k->error);
    SN_TRY(sn_topology_create(mesh->vertex_count, mesh->triangle_count, mesh->triangles,
                              &k->topology, k->error));
    sn_vertex_normals(k->topology, mesh->positions, SN_NORMAL_AREA, k->normals);
    /* The document is edited in place: its lists grow at their ends. */
    k->root = gltf->root;
    json_t *buffer = json_array_get(json_object_get(k->root, "buffers"), 0);
    if (!buffer || json_object_get(buffer, "uri") || !gltf->buffers[0].bytes)
        return sn_gltf_fail(gltf,
                            "stores its data in other files, so nothing can be written into it");
    k->file.views = json_incref(json_object_get(k->root, "bufferViews"));
    k->file.accessors = json_incref(json_object_get(k->root, "accessors"));
    sn_buffer_add(&k->file.binary, gltf->buffers[0].bytes, gltf->buffers[0].size);
    if (k->file.binary.failed) return sn_no_memory(k->error); /* positions are overwritten there */
    /* Primitives get other lists of targets while blocks still refer to the old ones. */
    for (size_t b = 0; b < k->layout.block_count; b++)
        json_incref((json_t *)k->layout.blocks[b].targets);
    k->held = true;
    k->curve_count = sn_gltf_count(gltf, "animations");
    k->curves = SN_NEW0(sinew_curves *, k->curve_count);
    if (!k->curves) return sn_no_memory(k->error);
    for (int i = 0; i < k->curve_count; i++)
        SN_TRY(sn_gltf_animation_curves(gltf, i, &k->curves[i]));
    return sn_json_write(k->root, false, &k->text, k->error);
}

/* The whole file: the very bytes of the original where nothing has changed. */
static sinew_status finish(keeper *k, const sn_source *original, sn_buffer *out) {
    const sn_gltf_bytes *old = &k->layout.gltf.buffers[0];
    sn_buffer *binary = &k->file.binary, text = {0};
    json_t *buffer = json_array_get(json_object_get(k->root, "buffers"), 0);
    if (binary->size != old->size)
        set(k, buffer, "byteLength", json_integer((json_int_t)binary->size));
    if (k->file.failed || binary->failed) return sn_no_memory(k->error);
    sinew_status status = sn_json_write(k->root, false, &text, k->error);
    bool same = status == SINEW_OK && text.size == k->text.size && binary->size == old->size &&
                memcmp(text.bytes, k->text.bytes, text.size) == 0 &&
                memcmp(binary->bytes, old->bytes, old->size) == 0;
    if (same)
        sn_buffer_add(out, original->bytes, original->size);
    else if (status == SINEW_OK)
        status = sn_gltf_container(&text, binary, original, out, k->error);
    sn_buffer_free(&text);
    return status == SINEW_OK && out->failed ? sn_no_memory(k->error) : status;
}

static sinew_status write_all(keeper *k, const sn_keyed_clip *clip) {
    json_t *animation = NULL;
    find_expressions(k);
    if (clip) {
        drop_weights(k);
        animation = json_pack("{s:s, s:[], s:[]}", "name", "clip", "channels", "samplers");
        k->file.failed |= !animation;
    }
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < k->layout.instance_count; i++) {
        if (shown_first(k, i)) status = write_mesh(k, i, clip, animation);
    }
    for (size_t b = 0; status == SINEW_OK && b < k->layout.block_count; b++)
        status = write_positions(k, &k->layout.blocks[b]);
    if (status == SINEW_OK) write_description(k);
    if (status == SINEW_OK && clip && json_array_size(json_object_get(animation, "channels")) > 0) {
        json_t *animations = json_object_get(k->root, "animations");
        if (!animations) set(k, k->root, "animations", animations = json_array());
        append(k, animations, json_incref(animation));
    }
    json_decref(animation);
    return status;
}

sinew_status sn_gltf_write_into(const sn_source *original, const sinew_rig *rig,
                                const sn_keyed_clip *clip, sn_buffer *out, sinew_error *error) {
    keeper k = {.rig = rig, .error = error};
    sinew_status status = sn_gltf_read_layout(original, &k.layout, &k.before, error);
    k.layout.gltf.source = original;
    if (status == SINEW_OK) status = prepare(&k);
    if (status == SINEW_OK) status = write_all(&k, clip);
    if (status == SINEW_OK) status = finish(&k, original, out);
    for (size_t b = 0; k.held && b < k.layout.block_count; b++)
        json_decref((json_t *)k.layout.blocks[b].targets);
    for (int i = 0; k.curves && i < k.curve_count; i++) sinew_curves_destroy(k.curves[i]);
    sn_free(k.curves);
    sn_buffer_free(&k.text);
    sn_gltf_file_free(&k.file);
    sn_gltf_layout_close(&k.layout);
    sinew_rig_destroy(k.before);
    sn_topology_destroy(k.topology);
    sn_free(k.normals), sn_free(k.posed_normals), sn_free(k.posed), sn_free(k.moved);
    sn_free(k.expression), sn_free(k.order), sn_free(k.was);
    return status;
}
