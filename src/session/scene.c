/* Scenes in memory: reading, writing, changing by JSON pointers, and typed questions. */
#include "session/scene.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/forms.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "session/model.h"

sinew_status sn_scene_fail(const sinew_scene *scene, sinew_error *error, const char *location,
                           const char *format, ...) {
    char what[SINEW_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    sn_vprint(what, sizeof what, format, arguments);
    va_end(arguments);
    return sn_fail(error, SINEW_BAD_INPUT, "%s: %s%s%s", scene->name, location,
                   *location ? ": " : "", what);
}

sinew_status sn_scene_make(json_t *document, const char *name, const char *folder,
                           sinew_scene **scene, sinew_error *error) {
    *scene = NULL;
    sinew_scene *made = SN_NEW0(sinew_scene, 1);
    if (!made) {
        json_decref(document);
        return sn_no_memory(error);
    }
    made->document = document;
    made->name = sn_strdup(name);
    made->folder = sn_strdup(folder ? folder : "");
    if (!document || !made->name || !made->folder) {
        sinew_scene_destroy(made);
        return sn_no_memory(error);
    }
    sinew_status status = sn_scene_check(made, error);
    if (status != SINEW_OK) {
        sinew_scene_destroy(made);
        return status;
    }
    *scene = made;
    return SINEW_OK;
}

sinew_status sinew_scene_create(const char *folder, sinew_scene **scene, sinew_error *error) {
    SN_REQUIRE(scene, error);
    *scene = NULL;
    return sn_scene_make(json_pack("{s:i}", "sinew", SINEW_SCENE_VERSION), "scene", folder, scene,
                         error);
}

sinew_status sinew_scene_parse(const char *text, const char *name, const char *folder,
                               sinew_scene **scene, sinew_error *error) {
    SN_REQUIRE(text && name && scene, error);
    *scene = NULL;
    sn_json_problem location;
    json_t *document = sn_json_read(text, strlen(text), &location);
    if (!document && location.no_memory) return sn_no_memory(error);
    if (!document)
        return sn_fail(error, SINEW_BAD_INPUT, "%s:%d:%d: %s", name, location.line, location.column,
                       location.text);
    return sn_scene_make(document, name, folder, scene, error);
}

sinew_status sinew_scene_read(const char *path, sinew_scene **scene, sinew_error *error) {
    SN_REQUIRE(path && scene, error);
    *scene = NULL;
    char *text;
    size_t size;
    SN_TRY(sn_file_read(path, &text, &size, error));
    char *folder = sn_strndup(path, (size_t)(sn_path_name(path) - path));
    sinew_status status;
    if (!folder)
        status = sn_no_memory(error);
    else if (strlen(text) != size)
        status = sn_fail(error, SINEW_BAD_INPUT, "%s: byte %zu is zero: this is not JSON", path,
                         strlen(text));
    else
        status = sinew_scene_parse(text, path, folder, scene, error);
    sn_free(folder);
    sn_free(text);
    return status;
}

static json_t *complete(json_t *copy, bool same) {
    if (copy && same) return copy;
    json_decref(copy);
    return NULL;
}

json_t *sn_json_copy(json_t *value) {
    json_t *copy = json_copy(value);
    return complete(copy, json_object_size(copy) == json_object_size(value) &&
                              json_array_size(copy) == json_array_size(value));
}

json_t *sn_json_deep_copy(const json_t *value) {
    json_t *copy = json_deep_copy(value);
    return complete(copy, json_equal(copy, value));
}

sinew_status sinew_scene_copy(const sinew_scene *scene, sinew_scene **copy, sinew_error *error) {
    SN_REQUIRE(scene && copy, error);
    *copy = NULL;
    return sn_scene_make(sn_json_deep_copy(scene->document), scene->name, scene->folder, copy,
                         error);
}

void sinew_scene_destroy(sinew_scene *scene) {
    if (!scene) return;
    json_decref(scene->document);
    sn_free(scene->folder);
    sn_free(scene->name);
    sn_free(scene);
}

sinew_status sn_json_text(const json_t *value, size_t flags, char **text, sinew_error *error) {
    *text = sn_json_dump(value, flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    return *text ? SINEW_OK : sn_no_memory(error);
}

sinew_status sinew_scene_text(const sinew_scene *scene, char **text, sinew_error *error) {
    SN_REQUIRE(scene && text, error);
    return sn_json_text(scene->document, JSON_INDENT(1), text, error);
}

sinew_status sinew_scene_write(const char *path, const sinew_scene *scene, sinew_error *error) {
    SN_REQUIRE(path && scene, error);
    char *text;
    SN_TRY(sinew_scene_text(scene, &text, error));
    sinew_status status = sn_file_write(path, text, strlen(text), error);
    sn_free(text);
    return status;
}

/* ---- values by pointer ----------------------------------------------------------------------- */

sinew_status sinew_scene_get(const sinew_scene *scene, const char *pointer, char **json,
                             sinew_error *error) {
    SN_REQUIRE(scene && pointer && json, error);
    *json = NULL;
    char text[SN_POINTER_SIZE];
    const char *tokens[SN_POINTER_DEPTH];
    int depth = sn_pointer_parse(pointer, text, tokens);
    if (depth < 0) return sn_fail(error, SINEW_BAD_INPUT, "'%s' is not a JSON pointer", pointer);
    const json_t *value = sn_pointer_find(scene->document, depth, tokens);
    return value ? sn_json_text(value, JSON_COMPACT, json, error) : SINEW_OK;
}

static sinew_status parse_value(const sinew_scene *scene, const char *what, const char *json,
                                json_t **value, sinew_error *error) {
    sn_json_problem location;
    *value = sn_json_read(json, strlen(json), &location);
    if (*value) return SINEW_OK;
    if (location.no_memory) return sn_no_memory(error);
    return sn_fail(error, SINEW_BAD_INPUT, "%s: %s: %d:%d: %s", scene->name, what, location.line,
                   location.column, location.text);
}

sinew_status sinew_scene_patch(sinew_scene *scene, const char *patch, char **inverse,
                               sinew_error *error) {
    SN_REQUIRE(scene && patch, error);
    if (inverse) *inverse = NULL;
    json_t *operations, *back = NULL;
    SN_TRY(parse_value(scene, "patch", patch, &operations, error));
    sn_patch_change change;
    sinew_status status = sn_scene_patch(scene, operations, inverse ? &back : NULL, &change, error);
    json_decref(operations);
    if (status == SINEW_OK && inverse) status = sn_json_text(back, JSON_COMPACT, inverse, error);
    json_decref(back);
    return status;
}

sinew_status sinew_scene_set(sinew_scene *scene, const char *pointer, const char *json,
                             char **inverse, sinew_error *error) {
    SN_REQUIRE(scene && pointer, error);
    if (inverse) *inverse = NULL;
    json_t *value = NULL, *patch = NULL, *back = NULL;
    if (json) SN_TRY(parse_value(scene, pointer, json, &value, error));
    sinew_status status = sn_scene_set_patch(scene, pointer, value, &patch, error);
    sn_patch_change change;
    if (status == SINEW_OK)
        status = sn_scene_patch(scene, patch, inverse ? &back : NULL, &change, error);
    if (status == SINEW_OK && inverse) status = sn_json_text(back, JSON_COMPACT, inverse, error);
    json_decref(value);
    json_decref(patch);
    json_decref(back);
    return status;
}

/* ---- typed questions ------------------------------------------------------------------------- */

const json_t *sn_scene_at(const sinew_scene *scene, const char *key) {
    return json_object_get(scene->document, key);
}

static const json_t *given_value(const sinew_scene *scene, const char *parameter) {
    return json_object_get(sn_scene_at(scene, "parameters"), parameter);
}

static const sinew_parameter *find_parameter(const sinew_scene *scene, const char *name) {
    const char *model_name = json_string_value(sn_scene_at(scene, "model"));
    const sinew_model *model = sinew_model_find(model_name ? model_name : "linear");
    return model ? sinew_model_find_parameter(model, name) : NULL;
}

bool sn_scene_has(const sinew_scene *scene, const char *parameter) {
    return given_value(scene, parameter) != NULL;
}

double sn_scene_number(const sinew_scene *scene, const char *parameter) {
    const json_t *value = given_value(scene, parameter);
    if (json_is_boolean(value)) return json_is_true(value);
    if (value) return json_number_value(value);
    const sinew_parameter *p = find_parameter(scene, parameter);
    return p ? p->fallback : 0;
}

int sn_scene_integer(const sinew_scene *scene, const char *parameter) {
    double value = sn_scene_number(scene, parameter);
    return value > 2e9 ? 2000000000 : value < -2e9 ? -2000000000 : (int)value;
}

bool sn_scene_flag(const sinew_scene *scene, const char *parameter) {
    return sn_scene_number(scene, parameter) != 0;
}

int sn_scene_choice(const sinew_scene *scene, const char *parameter) {
    const sinew_parameter *p = find_parameter(scene, parameter);
    const char *word = json_string_value(given_value(scene, parameter));
    if (!p || !word) return p ? (int)p->fallback : 0;
    return sn_choice_index(p->choices, word);
}

const char *sn_scene_string(const sinew_scene *scene, const char *parameter) {
    return json_string_value(given_value(scene, parameter));
}

sinew_status sn_scene_numbers(const sinew_scene *scene, const char *parameter, double **values,
                              int *count, sinew_error *error) {
    *values = NULL;
    *count = 0;
    const json_t *list = given_value(scene, parameter);
    size_t size = json_array_size(list);
    if (size == 0) return SINEW_OK;
    double *array = SN_NEW(double, size);
    if (!array) return sn_no_memory(error);
    for (size_t i = 0; i < size; i++) array[i] = json_number_value(json_array_get(list, i));
    *values = array;
    *count = (int)size;
    return SINEW_OK;
}

char *sinew_scene_path(const sinew_scene *scene, const char *path) {
    if (!scene || !path) return NULL;
    if (*path == '/' || !*scene->folder) return sn_strdup(path);
    return sn_path_join(scene->folder, path);
}

sinew_status sn_scene_output(const sinew_scene *scene, const char *name, char **path,
                             sinew_error *error) {
    *path = NULL;
    const char *given = json_string_value(json_object_get(sn_scene_at(scene, "outputs"), name));
    if (!given) return SINEW_OK;
    *path = sinew_scene_path(scene, given);
    return *path ? SINEW_OK : sn_no_memory(error);
}

void sn_json_point(const json_t *array, double point[3]) {
    for (size_t i = 0; i < 3; i++) point[i] = json_number_value(json_array_get(array, i));
}
