#include "io/gltf_scene.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/rotation.h"

typedef struct walk {
    sn_gltf *gltf;
    int node_count;
    bool *visited;
    /* nodes still to be visited, with their parent's transform and name */
    struct step {
        int node;
        sn_gltf_transform parent;
        const char *name;
    } * steps;
    size_t step_count, step_capacity;
    sn_gltf_instance *instances;
    size_t count, capacity;
} walk;

static sn_gltf_transform identity_transform(void) {
    return (sn_gltf_transform){sn_mat3_identity(), sn_v3(0, 0, 0), true};
}

sn_vec3 sn_gltf_transform_point(const sn_gltf_transform *t, sn_vec3 p) {
    return t->identity ? p : sn_add(sn_mat3_apply(t->linear, p), t->translation);
}

static sn_gltf_transform compose(const sn_gltf_transform *outer, const sn_gltf_transform *inner) {
    if (outer->identity) return *inner;
    if (inner->identity) return *outer;
    return (sn_gltf_transform){sn_mat3_multiply(outer->linear, inner->linear),
                               sn_gltf_transform_point(outer, inner->translation), false};
}

const char *sn_gltf_target_name(const sn_gltf *gltf, const json_t *mesh, int t, char number[32]) {
    const json_t *names = json_object_get(json_object_get(mesh, "extras"), "targetNames");
    const char *name = json_string_value(json_array_get(names, (size_t)t));
    if (name && *name) return name;
    const json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    const json_t *target = json_array_get(json_object_get(primitive, "targets"), (size_t)t);
    name = sn_json_string(sn_gltf_item(gltf, "accessors", json_object_get(target, "POSITION")),
                          "name");
    if (name && *name) return name;
    snprintf(number, 32, "target_%d", t);
    return number;
}

/* A list of `count` numbers, or false. */
static bool read_numbers(const json_t *array, size_t count, double *numbers) {
    if (json_array_size(array) != count) return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_number(value)) return false;
        numbers[i] = json_number_value(value);
        if (!isfinite(numbers[i])) return false;
    }
    return true;
}

static bool is_identity(const sn_gltf_transform *t) {
    const sn_mat3 one = sn_mat3_identity();
    bool same = t->translation.x == 0 && t->translation.y == 0 && t->translation.z == 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) same &= t->linear.m[i][j] == one.m[i][j];
    return same;
}

/* `matrix` (column-major), or translation * rotation * scale. */
static sinew_status node_transform(const walk *w, const json_t *node, int index,
                                   sn_gltf_transform *t) {
    double m[16], translation[3] = {0, 0, 0}, rotation[4] = {0, 0, 0, 1}, scale[3] = {1, 1, 1};
    const json_t *matrix = json_object_get(node, "matrix");
    *t = identity_transform();
    if (matrix) {
        if (!read_numbers(matrix, 16, m))
            return sn_gltf_fail(w->gltf, "node %d has a bad matrix", index);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) t->linear.m[i][j] = m[4 * j + i];
        t->translation = sn_v3(m[12], m[13], m[14]);
    } else {
        const struct {
            const char *key;
            size_t count;
            double *numbers;
        } members[] = {
            {"translation", 3, translation}, {"rotation", 4, rotation}, {"scale", 3, scale}};
        for (int k = 0; k < 3; k++) {
            const json_t *value = json_object_get(node, members[k].key);
            if (value && !read_numbers(value, members[k].count, members[k].numbers))
                return sn_gltf_fail(w->gltf, "node %d has a bad %s", index, members[k].key);
        }
        sn_quat q = {rotation[3], rotation[0], rotation[1], rotation[2]};
        if (q.w == 0 && q.x == 0 && q.y == 0 && q.z == 0)
            return sn_gltf_fail(w->gltf, "node %d has a bad rotation", index);
        if (q.x != 0 || q.y != 0 || q.z != 0) t->linear = sn_quat_to_mat3(sn_quat_normalize(q));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) t->linear.m[i][j] *= scale[j];
        t->translation = sn_v3(translation[0], translation[1], translation[2]);
    }
    t->identity = is_identity(t);
    return SINEW_OK;
}

static sinew_status push(walk *w, const json_t *index, const sn_gltf_transform *parent,
                         const char *name) {
    int64_t node;
    if (!sn_json_integer(index, 0, w->node_count - 1, &node))
        return sn_gltf_fail(w->gltf, "a node that does not exist is named");
    if (w->visited[node]) return sn_gltf_fail(w->gltf, "node %d is reached twice", (int)node);
    w->visited[node] = true;
    if (!SN_RESERVE(w->steps, w->step_capacity, w->step_count + 1))
        return sn_no_memory(w->gltf->error);
    w->steps[w->step_count++] = (struct step){(int)node, *parent, name};
    return SINEW_OK;
}

/* The last of the list goes on the stack first, so that the first is visited first. */
static sinew_status push_all(walk *w, const json_t *list, const sn_gltf_transform *parent,
                             const char *name) {
    for (size_t i = json_array_size(list); i-- > 0;)
        SN_TRY(push(w, json_array_get(list, i), parent, name));
    return SINEW_OK;
}

static sinew_status add_instance(walk *w, const json_t *mesh, int node,
                                 const sn_gltf_transform *transform, const char *name) {
    if (!SN_RESERVE(w->instances, w->capacity, w->count + 1)) return sn_no_memory(w->gltf->error);
    w->instances[w->count++] = (sn_gltf_instance){mesh, node, *transform, name};
    return SINEW_OK;
}

static sinew_status visit(walk *w) {
    struct step step = w->steps[--w->step_count];
    const json_t *node = json_array_get(json_object_get(w->gltf->root, "nodes"), (size_t)step.node);
    sn_gltf_transform local;
    SN_TRY(node_transform(w, node, step.node, &local));
    sn_gltf_transform world = compose(&step.parent, &local);
    const char *name = sn_json_string(node, "name");
    const json_t *mesh_index = json_object_get(node, "mesh");
    if (mesh_index) {
        const json_t *mesh = sn_gltf_item(w->gltf, "meshes", mesh_index);
        if (!mesh)
            return sn_gltf_fail(w->gltf, "node %d shows a mesh that does not exist", step.node);
        const char *own = name ? name : sn_json_string(mesh, "name");
        const sn_gltf_transform still = identity_transform();
        bool skinned = json_object_get(node, "skin") != NULL;
        SN_TRY(add_instance(w, mesh, step.node, skinned ? &still : &world, own ? own : step.name));
    }
    return push_all(w, json_object_get(node, "children"), &world, name ? name : step.name);
}

/* Nodes without a parent, when no scene names the roots. */
static sinew_status push_roots(walk *w) {
    const json_t *nodes = json_object_get(w->gltf->root, "nodes");
    bool *child = SN_NEW0(bool, w->node_count);
    if (!child) return sn_no_memory(w->gltf->error);
    for (int i = 0; i < w->node_count; i++) {
        const json_t *children = json_object_get(json_array_get(nodes, (size_t)i), "children");
        for (size_t k = 0; k < json_array_size(children); k++) {
            int64_t index;
            if (sn_json_integer(json_array_get(children, k), 0, w->node_count - 1, &index))
                child[index] = true;
        }
    }
    const sn_gltf_transform identity = identity_transform();
    sinew_status status = SINEW_OK;
    for (int i = w->node_count; status == SINEW_OK && i-- > 0;) {
        if (child[i]) continue;
        json_t *index = json_integer(i);
        status = push(w, index, &identity, NULL);
        json_decref(index);
    }
    sn_free(child);
    return status;
}

static sinew_status walk_scene(walk *w) {
    const sn_gltf_transform identity = identity_transform();
    const json_t *scenes = json_object_get(w->gltf->root, "scenes");
    const json_t *index = json_object_get(w->gltf->root, "scene");
    const json_t *scene =
        index ? sn_gltf_item(w->gltf, "scenes", index) : json_array_get(scenes, 0);
    if (index && !scene) return sn_gltf_fail(w->gltf, "the default scene does not exist");
    if (scene)
        SN_TRY(push_all(w, json_object_get(scene, "nodes"), &identity, NULL));
    else
        SN_TRY(push_roots(w));
    while (w->step_count > 0) SN_TRY(visit(w));
    if (w->node_count == 0) {
        const json_t *meshes = json_object_get(w->gltf->root, "meshes");
        for (size_t i = 0; i < json_array_size(meshes); i++) {
            const json_t *mesh = json_array_get(meshes, i);
            SN_TRY(add_instance(w, mesh, -1, &identity, sn_json_string(mesh, "name")));
        }
    }
    if (w->count == 0) return sn_gltf_fail(w->gltf, "shows no mesh");
    return SINEW_OK;
}

sinew_status sn_gltf_instances(sn_gltf *gltf, sn_gltf_instance **instances, int *count) {
    walk w = {.gltf = gltf, .node_count = sn_gltf_count(gltf, "nodes")};
    w.visited = SN_NEW0(bool, w.node_count);
    sinew_status status = w.visited ? walk_scene(&w) : sn_no_memory(gltf->error);
    sn_free(w.visited);
    sn_free(w.steps);
    if (status != SINEW_OK) {
        sn_free(w.instances);
        w.instances = NULL;
        w.count = 0;
    }
    *instances = w.instances;
    *count = (int)w.count;
    return status;
}
