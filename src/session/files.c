#include "session/files.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "session/model.h"
#include "session/scene.h"

static void add(const sinew_scene *scene, const char *name, bool output, sn_file_plan *plan) {
    char *path = sinew_scene_path(scene, name);
    if (!path)
        plan->failed = true;
    else if (output)
        sn_plan_output(plan, path);
    else
        sn_plan_input(plan, path);
    sn_free(path);
}

static void add_texts(const sinew_scene *scene, const json_t *value, bool output,
                      sn_file_plan *plan) {
    if (json_is_string(value)) add(scene, json_string_value(value), output, plan);
    for (size_t i = 0; i < json_array_size(value); i++)
        add_texts(scene, json_array_get(value, i), output, plan);
}

/* Keys under which the schema has paths, wherever they occur. */
static bool is_path_key(const char *key) {
    static const char *const keys[] = {"file", "files", "frames", "map", "regions", "truth"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(key, keys[i])) return true;
    return false;
}

static void add_inputs(const sinew_scene *scene, const json_t *value, sn_file_plan *plan) {
    const char *key;
    json_t *child;
    for (size_t i = 0; i < json_array_size(value); i++)
        add_inputs(scene, json_array_get(value, i), plan);
    json_object_foreach((json_t *)value, key, child) {
        const char *text = json_string_value(child);
        if (is_path_key(key))
            add_texts(scene, child, false, plan);
        else if (text && !strcmp(key, "select") && !strncmp(text, "mask:", 5))
            add(scene, text + 5, false, plan);
        else
            add_inputs(scene, child, plan);
    }
}

static void add_parameters(const sinew_scene *scene, sn_file_plan *plan) {
    const char *name = json_string_value(sn_scene_at(scene, "model"));
    const sinew_model *model = sinew_model_find(name ? name : "linear");
    for (int i = 0; model && i < model->parameter_count; i++) {
        const sinew_parameter *p = &model->parameters[i];
        const char *text = sn_scene_string(scene, p->name);
        if (text && p->kind == SINEW_PARAMETER_KIND_FILE) add(scene, text, false, plan);
        if (text && !strncmp(text, "mask:", 5)) add(scene, text + 5, false, plan); /* selections */
    }
}

void sn_scene_plan(const sinew_scene *scene, sn_file_plan *plan) {
    const char *key;
    json_t *child;
    json_object_foreach(scene->document, key, child) {
        if (!strcmp(key, "outputs")) {
            const char *output;
            json_t *paths;
            json_object_foreach(child, output, paths) add_texts(scene, paths, true, plan);
        } else if (strcmp(key, "studio") && strcmp(key, "parameters")) {
            add_inputs(scene, child, plan);
        }
    }
    add_parameters(scene, plan);
    if (sn_file_exists(scene->name)) sn_plan_input(plan, scene->name);
}

sinew_status sinew_file_plan_add_scene(sinew_file_plan *plan, const sinew_scene *scene,
                                       sinew_error *error) {
    SN_REQUIRE(plan && scene, error);
    sn_scene_plan(scene, plan);
    return plan->failed ? sn_no_memory(error) : SINEW_OK;
}
