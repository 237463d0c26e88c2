#include "io/gltf_vrm.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "io/gltf_reader.h"

enum { MOST_EXPRESSIONS = 1000 };

static json_t *binds_of(const sn_gltf_expression *e) {
    return json_object_get(e->object, e->by_mesh ? "binds" : "morphTargetBinds");
}

int sn_gltf_bind_count(const sn_gltf_expression *e) {
    return (int)json_array_size(binds_of(e));
}

bool sn_gltf_bind_at(const sn_gltf_expression *e, int i, sn_gltf_bind *bind) {
    const json_t *object = json_array_get(binds_of(e), (size_t)i);
    bind->weight = sn_json_number(object, "weight", e->by_mesh ? 100 : 1) / (e->by_mesh ? 100 : 1);
    return sn_json_integer(json_object_get(object, e->by_mesh ? "mesh" : "node"), 0, INT32_MAX,
                           &bind->node) &&
           sn_json_integer(json_object_get(object, "index"), 0, INT32_MAX, &bind->index) &&
           bind->weight >= -100 && bind->weight <= 100;
}

bool sn_gltf_bind_move(const sn_gltf_expression *e, int i, int64_t index) {
    json_t *object = json_array_get(binds_of(e), (size_t)i);
    return json_object_set_new(object, "index", json_integer(index)) == 0;
}

static sinew_status add(const sn_gltf *g, const char *name, json_t *object, bool by_mesh,
                        sn_gltf_expression **list, size_t *capacity, int *count) {
    sn_gltf_expression e = {.object = object, .by_mesh = by_mesh};
    if (!name || !*name || sn_gltf_bind_count(&e) == 0) return SINEW_OK;
    if (*count >= MOST_EXPRESSIONS)
        return sn_gltf_fail(g, "has more than %d expressions", MOST_EXPRESSIONS);
    if (!SN_RESERVE(*list, *capacity, *count + 1)) return sn_no_memory(g->error);
    e.name = sn_strdup(name);
    if (!e.name) return sn_no_memory(g->error);
    (*list)[(*count)++] = e;
    return SINEW_OK;
}

sinew_status sn_gltf_expressions(const sn_gltf *g, sn_gltf_expression **list, int *count) {
    const json_t *extensions = json_object_get(g->root, "extensions");
    json_t *expressions = json_object_get(json_object_get(extensions, "VRMC_vrm"), "expressions");
    json_t *groups =
        json_object_get(json_object_get(json_object_get(extensions, "VRM"), "blendShapeMaster"),
                        "blendShapeGroups");
    static const char *const kinds[] = {"preset", "custom"};
    size_t capacity = 0;
    *list = NULL, *count = 0;
    for (int k = 0; k < 2; k++) {
        const char *name;
        json_t *object, *kind = json_object_get(expressions, kinds[k]);
        json_object_foreach(kind, name, object)
            SN_TRY(add(g, name, object, false, list, &capacity, count));
    }
    for (size_t i = 0; i < json_array_size(groups); i++) {
        json_t *object = json_array_get(groups, i);
        SN_TRY(add(g, sn_json_string(object, "name"), object, true, list, &capacity, count));
    }
    return SINEW_OK;
}

void sn_gltf_expressions_free(sn_gltf_expression *list, int count) {
    for (int i = 0; i < count; i++) sn_free(list[i].name);
    sn_free(list);
}

#define MOST_BOUND ((size_t)1 << 28) /* displacements that expressions add up */

/* Adds the displacements of one bound target on one instance; returns the number of them. */
static size_t add_bound(const sn_gltf_reader *r, int instance, const sn_gltf_target_list *list,
                        double weight, double *sum) {
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
static sinew_status sum_binds(const sn_gltf_reader *r, sn_gltf_expression *e, double *sum,
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

static sinew_status add_expression(sn_gltf_reader *r, sn_gltf_expression *e, double *sum,
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
    sn_gltf_target_list *list;
    SN_TRY(sn_gltf_find_list(r, e->name, &list));
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
sinew_status sn_gltf_add_expressions(sn_gltf_reader *r) {
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
