/* FBX to FBX: new channels, shapes and positions in a copy of a file.
 *
 * Nodes are copied with the bytes of their values; only their heads, which hold absolute offsets,
 * are created again. Changed arrays replace the values of their nodes; new objects and connections
 * follow at the end of their lists. Nodes are counted in the order in which fbx_tree.c reads them.
 */
#include "io/fbx_keep.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "io/binary.h"
#include "io/fbx_encode.h"
#include "io/fbx_read.h"
#include "io/fbx_scene.h"

/* New values of a node. */
typedef struct edit {
    int node;
    sn_buffer values;
} edit;

/* A mesh of the rig: a node of the scene. */
typedef struct placed {
    const sn_fbx_model *model;
    int first, count; /* vertices of the rig */
    sn_mat3 inverse;
    int64_t deformer; /* number of its blend-shape deformer; 0: none yet */
    bool new_deformer;
} placed;

typedef struct keeper {
    sn_fbx_scene scene;
    sn_fbx_encoder e;
    sinew_rig *before;
    const sinew_rig *rig;
    sinew_error *error;
    edit *edits;
    size_t edit_count, edit_capacity;
    placed *meshes;
    int mesh_count;
    bool *is_new; /* per target of the rig */
    int64_t next_id;
    int node;      /* counts nodes while they are copied */
    int *vertices; /* scratch */
    double *deltas;
} keeper;

static sinew_status cannot(const keeper *k, const char *what) {
    return sn_fail(k->error, SINEW_UNAVAILABLE, "%s: %s", k->scene.tree.source->name, what);
}

/* --- what has changed ------------------------------------------------------------------------- */

static bool same_target(const sinew_target *a, const sinew_target *b) {
    return a->kind == b->kind && a->count == b->count && a->at == b->at &&
           memcmp(a->vertices, b->vertices, (size_t)a->count * sizeof(int)) == 0 &&
           memcmp(a->deltas, b->deltas, 3 * (size_t)a->count * sizeof(double)) == 0;
}

static const sinew_target *find_before(const keeper *k, const char *name) {
    for (int i = 0; i < k->before->target_count; i++)
        if (strcmp(k->before->targets[i].name, name) == 0) return &k->before->targets[i];
    return NULL;
}

static bool same_positions(const keeper *k) {
    size_t size = 3 * (size_t)k->rig->neutral->vertex_count * sizeof(double);
    return memcmp(k->rig->neutral->positions, k->before->neutral->positions, size) == 0;
}

static bool same_rig(const keeper *k) {
    bool same = same_positions(k) && k->rig->target_count == k->before->target_count;
    for (int i = 0; same && i < k->rig->target_count; i++)
        same = strcmp(k->rig->targets[i].name, k->before->targets[i].name) == 0 &&
               same_target(&k->rig->targets[i], &k->before->targets[i]);
    return same;
}

/* --- edits ------------------------------------------------------------------------------------ */

static sinew_status add_edit(keeper *k, int node, sn_fbx_encoder **values,
                             sn_fbx_encoder *scratch) {
    if (node < 0) return cannot(k, "a mesh has no array that could be changed");
    if (!SN_RESERVE(k->edits, k->edit_capacity, k->edit_count + 1)) return sn_no_memory(k->error);
    edit *made = &k->edits[k->edit_count++];
    *made = (edit){.node = node};
    *scratch = (sn_fbx_encoder){.out = &made->values};
    *values = scratch;
    return SINEW_OK;
}

static sinew_status edit_doubles(keeper *k, int node, const double *numbers, size_t count) {
    sn_fbx_encoder scratch, *values;
    SN_TRY(add_edit(k, node, &values, &scratch));
    sn_fbx_put_doubles(values, numbers, count);
    return SINEW_OK;
}

static sinew_status edit_ints(keeper *k, int node, const int *numbers, size_t count) {
    sn_fbx_encoder scratch, *values;
    SN_TRY(add_edit(k, node, &values, &scratch));
    sn_fbx_put_ints(values, numbers, count);
    return SINEW_OK;
}

static sn_vec3 local_vector(const placed *p, sn_vec3 d) {
    return p->model->still ? d : sn_mat3_apply(p->inverse, d);
}

static sinew_status edit_positions(keeper *k, const placed *p) {
    const double *after = k->rig->neutral->positions + 3 * (size_t)p->first;
    const double *before = k->before->neutral->positions + 3 * (size_t)p->first;
    if (memcmp(after, before, 3 * (size_t)p->count * sizeof(double)) == 0) return SINEW_OK;
    double *local = NULL;
    int node = sn_fbx_child(&k->scene.tree, p->model->mesh, "Vertices"), count = 0;
    sinew_status status = sn_fbx_numbers(&k->scene.tree, node, &local, &count);
    for (int v = 0; status == SINEW_OK && v < p->count; v++) {
        if (memcmp(after + 3 * (size_t)v, before + 3 * (size_t)v, 3 * sizeof(double)) == 0)
            continue;
        sn_vec3 q = sn_at(after, v);
        if (!p->model->still) q = sn_sub(q, p->model->geometry.translation);
        sn_put(local, v, local_vector(p, q));
    }
    if (status == SINEW_OK) status = edit_doubles(k, node, local, 3 * (size_t)p->count);
    sn_free(local);
    return status;
}

/* The part of a target on a mesh in k->vertices and k->deltas; returns its number of vertices. */
static int gather(keeper *k, const placed *p, const sinew_target *target) {
    int count = 0;
    for (int i = 0; i < target->count; i++) {
        int v = target->vertices[i] - p->first;
        if (v < 0 || v >= p->count) continue;
        k->vertices[count] = v;
        sn_put(k->deltas, count++, local_vector(p, sn_at(target->deltas, i)));
    }
    return count;
}

static sinew_status edit_shape(keeper *k, const placed *p, const sn_fbx_channel *channel,
                               const sinew_target *target) {
    const sn_fbx_tree *tree = &k->scene.tree;
    const sn_fbx_shape *shape = &k->scene.shapes[channel->first_shape];
    if (channel->shape_count != 1 || shape->full_weight != 100)
        return cannot(k, "a channel with in-betweens has changed");
    size_t count = (size_t)gather(k, p, target);
    SN_TRY(edit_ints(k, sn_fbx_child(tree, shape->node, "Indexes"), k->vertices, count));
    SN_TRY(edit_doubles(k, sn_fbx_child(tree, shape->node, "Vertices"), k->deltas, 3 * count));
    int normals = sn_fbx_child(tree, shape->node, "Normals");
    if (normals < 0) return SINEW_OK;
    memset(k->deltas, 0, 3 * count * sizeof(double)); /* readers compute them */
    return edit_doubles(k, normals, k->deltas, 3 * count);
}

static sinew_status edit_target(keeper *k, const sinew_target *before, const sinew_target *target) {
    if (target->kind != SINEW_TARGET_KIND_PLAIN || before->kind != SINEW_TARGET_KIND_PLAIN)
        return cannot(k, "an in-between has changed");
    for (int m = 0; m < k->mesh_count; m++) {
        const placed *p = &k->meshes[m];
        const sn_fbx_channel *channel = NULL;
        for (int c = 0; !channel && c < k->scene.channel_count; c++) {
            const sn_fbx_channel *other = &k->scene.channels[c];
            if (other->mesh == p->model->mesh && (size_t)other->name_size == strlen(target->name) &&
                memcmp(other->name, target->name, (size_t)other->name_size) == 0)
                channel = other;
        }
        if (channel) {
            SN_TRY(edit_shape(k, p, channel, target));
        } else if (gather(k, p, target) > 0) {
            return cannot(k, "a target moves a mesh that it did not move before");
        }
    }
    return SINEW_OK;
}

static sinew_status find_edits(keeper *k) {
    for (int m = 0; m < k->mesh_count; m++) SN_TRY(edit_positions(k, &k->meshes[m]));
    for (int i = 0; i < k->before->target_count; i++) {
        const char *name = k->before->targets[i].name;
        bool kept = false;
        for (int t = 0; !kept && t < k->rig->target_count; t++)
            kept = strcmp(k->rig->targets[t].name, name) == 0;
        if (!kept) return cannot(k, "a target has been removed");
    }
    for (int t = 0; t < k->rig->target_count; t++) {
        const sinew_target *target = &k->rig->targets[t], *before = find_before(k, target->name);
        k->is_new[t] = !before;
        if (!before && target->kind == SINEW_TARGET_KIND_INBETWEEN)
            return cannot(k, "an in-between has been added");
        if (before && !same_target(before, target)) SN_TRY(edit_target(k, before, target));
    }
    return SINEW_OK;
}

/* --- set-up ----------------------------------------------------------------------------------- */

static sinew_status find_meshes(keeper *k) {
    const sn_fbx_scene *s = &k->scene;
    int first = 0;
    k->meshes = SN_NEW(placed, s->model_count);
    if (!k->meshes) return sn_no_memory(k->error);
    for (int i = 0; i < s->model_count; i++) {
        const sn_fbx_model *model = &s->models[i];
        if (model->mesh < 0) continue;
        placed p = {.model = model, .first = first, .inverse = sn_mat3_identity()};
        double *numbers;
        SN_TRY(sn_fbx_numbers(&s->tree, sn_fbx_child(&s->tree, model->mesh, "Vertices"), &numbers,
                              &p.count));
        sn_free(numbers);
        p.count /= 3;
        if (!model->still && !sn_mat3_inverse(model->geometry.linear, &p.inverse))
            return cannot(k, "a node is scaled to nothing");
        for (int m = 0; m < k->mesh_count; m++)
            if (k->meshes[m].model->mesh == model->mesh)
                return cannot(k, "several nodes show one mesh");
        for (int c = s->first_to[model->mesh_object]; c < s->first_to[model->mesh_object + 1];
             c++) {
            int child = s->connections[s->connections_to[c]].child;
            if (sn_fbx_is(s, child, "Deformer", "BlendShape") && p.deformer == 0)
                p.deformer = (int64_t)s->objects[child].id;
        }
        k->meshes[k->mesh_count++] = p;
        first += p.count;
    }
    for (int i = 0; i < s->object_count; i++)
        if ((int64_t)s->objects[i].id >= k->next_id) k->next_id = (int64_t)s->objects[i].id + 1;
    if (k->next_id > INT64_MAX / 2) return cannot(k, "its objects have no numbers left");
    for (int m = 0; m < k->mesh_count; m++)
        if (k->meshes[m].deformer == 0)
            k->meshes[m].new_deformer = true, k->meshes[m].deformer = k->next_id++;
    return SINEW_OK;
}

static sinew_status prepare(keeper *k) {
    int vertices = k->rig->neutral->vertex_count;
    const sn_fbx_tree *tree = &k->scene.tree;
    if (tree->ascii || tree->version < 7000 || tree->big_endian)
        return cannot(k, "only binary files from version 7.0 can be changed");
    k->is_new = SN_NEW0(bool, k->rig->target_count);
    k->vertices = SN_NEW(int, vertices), k->deltas = SN_NEW(double, 3 * (size_t)vertices);
    if (!k->is_new || !k->vertices || !k->deltas) return sn_no_memory(k->error);
    SN_TRY(find_meshes(k));
    return find_edits(k);
}

/* --- new objects ------------------------------------------------------------------------------ */

/* The numbers of the channel and the shape of new target t on mesh m. */
static int64_t channel_id(const keeper *k, int t, int m) {
    return k->next_id + 2 * ((int64_t)t * k->mesh_count + m);
}

static void put_channel(keeper *k, int t, int m) {
    const sinew_target *target = &k->rig->targets[t];
    sn_fbx_encoder *e = &k->e;
    size_t count = (size_t)gather(k, &k->meshes[m], target);
    const double full = 100;
    if (count == 0) return;
    sn_fbx_begin_object(e, "Deformer", channel_id(k, t, m), target->name, "SubDeformer",
                        "BlendShapeChannel");
    sn_fbx_int_node(e, "Version", 100);
    sn_fbx_begin(e, "DeformPercent");
    sn_fbx_put_double(e, 0);
    sn_fbx_end(e);
    sn_fbx_begin(e, "FullWeights");
    sn_fbx_put_doubles(e, &full, 1);
    sn_fbx_end(e);
    sn_fbx_end(e);
    sn_fbx_begin_object(e, "Geometry", channel_id(k, t, m) + 1, target->name, "Geometry", "Shape");
    sn_fbx_int_node(e, "Version", 100);
    sn_fbx_begin(e, "Indexes");
    sn_fbx_put_ints(e, k->vertices, count);
    sn_fbx_end(e);
    sn_fbx_begin(e, "Vertices");
    sn_fbx_put_doubles(e, k->deltas, 3 * count);
    sn_fbx_end(e);
    sn_fbx_end(e);
}

static bool needs_deformer(keeper *k, int m) {
    bool needed = false;
    for (int t = 0; !needed && t < k->rig->target_count; t++)
        needed = k->is_new[t] && gather(k, &k->meshes[m], &k->rig->targets[t]) > 0;
    return needed && k->meshes[m].new_deformer;
}

static void put_objects(keeper *k) {
    for (int m = 0; m < k->mesh_count; m++) {
        if (needs_deformer(k, m)) {
            sn_fbx_begin_object(&k->e, "Deformer", k->meshes[m].deformer, "targets", "Deformer",
                                "BlendShape");
            sn_fbx_int_node(&k->e, "Version", 100);
            sn_fbx_end(&k->e);
        }
        for (int t = 0; t < k->rig->target_count; t++)
            if (k->is_new[t]) put_channel(k, t, m);
    }
}

static void put_connections(keeper *k) {
    for (int m = 0; m < k->mesh_count; m++) {
        const placed *p = &k->meshes[m];
        if (needs_deformer(k, m))
            sn_fbx_connect(&k->e, p->deformer, (int64_t)k->scene.objects[p->model->mesh_object].id,
                           NULL);
        for (int t = 0; t < k->rig->target_count; t++) {
            if (!k->is_new[t] || gather(k, p, &k->rig->targets[t]) == 0) continue;
            sn_fbx_connect(&k->e, channel_id(k, t, m), p->deformer, NULL);
            sn_fbx_connect(&k->e, channel_id(k, t, m) + 1, channel_id(k, t, m), NULL);
        }
    }
}

/* --- copying ---------------------------------------------------------------------------------- */

static const edit *edit_of(const keeper *k, int node) {
    for (size_t i = 0; i < k->edit_count; i++)
        if (k->edits[i].node == node) return &k->edits[i];
    return NULL;
}

/* The tree has been read from the same bytes, so that heads need no more checks. Returns where the
 * list ends. */
static size_t copy_nodes(keeper *k, size_t at, size_t end, int depth) {
    const bool wide = k->e.wide;
    const size_t head = wide ? 25 : 13;
    const char *bytes = k->scene.tree.source->bytes;
    while (end - at >= head) {
        const char *p = bytes + at;
        uint64_t next = wide ? sn_load_u64(p, false) : sn_load_u32(p, false);
        uint64_t values = wide ? sn_load_u64(p + 8, false) : sn_load_u32(p + 4, false);
        uint64_t size = wide ? sn_load_u64(p + 16, false) : sn_load_u32(p + 8, false);
        size_t name_size = (unsigned char)p[head - 1];
        if (next == 0) return at + head;
        char name[256];
        memcpy(name, p + head, name_size);
        name[name_size] = 0;
        const edit *changed = edit_of(k, ++k->node);
        const char *from = p + head + name_size;
        sn_fbx_begin(&k->e, name);
        if (changed)
            sn_fbx_put_raw(&k->e, 1, changed->values.bytes, changed->values.size);
        else
            sn_fbx_put_raw(&k->e, (uint32_t)values, from, (size_t)size);
        size_t inside = (size_t)(from - bytes) + (size_t)size;
        if (inside < next) {
            sn_fbx_open_list(&k->e);
            copy_nodes(k, inside, (size_t)next, depth + 1);
        }
        if (depth == 0 && strcmp(name, "Objects") == 0) put_objects(k);
        if (depth == 0 && strcmp(name, "Connections") == 0) put_connections(k);
        sn_fbx_end(&k->e);
        at = (size_t)next;
    }
    return at;
}

static sinew_status copy_file(keeper *k, const sn_source *original, sn_buffer *out) {
    enum { HEADER = 27, IDENTIFIER = 16 };
    k->e = (sn_fbx_encoder){.out = out, .wide = k->scene.tree.version >= 7500};
    sn_buffer_add(out, original->bytes, HEADER);
    size_t at = copy_nodes(k, HEADER, original->size, 0);
    static const char none[IDENTIFIER];
    sn_fbx_put_footer_of(&k->e, k->scene.tree.version,
                         original->size - at >= IDENTIFIER ? original->bytes + at : none);
    bool failed = out->failed;
    for (size_t i = 0; i < k->edit_count; i++) failed |= k->edits[i].values.failed;
    return failed ? sn_no_memory(k->error) : SINEW_OK;
}

sinew_status sn_fbx_write_into(const sn_source *original, const sinew_rig *rig,
                               const sn_keyed_clip *clip, sn_buffer *out, sinew_error *error) {
    keeper k = {.rig = rig, .error = error};
    sinew_status status = sn_fbx_read_rig(original, &k.before, error);
    if (status == SINEW_OK) status = sn_fbx_open(&k.scene, original, error);
    bool fits = status == SINEW_OK && k.before->neutral->vertex_count == rig->neutral->vertex_count;
    if (status == SINEW_OK && !fits)
        status = sn_source_fail(original, error,
                                "has %d vertices, but the rig to be written into it has %d",
                                k.before->neutral->vertex_count, rig->neutral->vertex_count);
    if (status == SINEW_OK && clip) status = cannot(&k, "a clip cannot be added to an FBX file");
    if (status == SINEW_OK && same_rig(&k)) {
        sn_buffer_add(out, original->bytes, original->size);
        if (out->failed) status = sn_no_memory(error);
    } else if (status == SINEW_OK) {
        status = prepare(&k);
        if (status == SINEW_OK) status = copy_file(&k, original, out);
    }
    for (size_t i = 0; i < k.edit_count; i++) sn_buffer_free(&k.edits[i].values);
    sn_free(k.edits), sn_free(k.meshes), sn_free(k.is_new), sn_free(k.vertices), sn_free(k.deltas);
    sn_fbx_close(&k.scene);
    sinew_rig_destroy(k.before);
    return status;
}
