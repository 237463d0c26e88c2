#include "io/gltf_vrm.h"

#include "base/memory.h"

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
