/* Scenes in memory: reading, writing, changing by JSON pointers, and typed questions. */
#include "session/scene.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "session/model.h"
#include "sinew/io.h"

sinew_status sn_scene_fail(const sinew_scene *scene, sinew_error *error, const char *place,
                           const char *format, ...) {
    char what[SINEW_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return sn_fail(error, SINEW_BAD_INPUT, "%s: %s%s%s", scene->name, place, *place ? ": " : "",
                   what);
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
    json_error_t place;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &place);
    if (!document && json_error_code(&place) == json_error_out_of_memory)
        return sn_no_memory(error);
    if (!document)
        return sn_fail(error, SINEW_BAD_INPUT, "%s:%d:%d: %s", name, place.line, place.column,
                       place.text);
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
        status = sn_fail(error, SINEW_BAD_INPUT, "%s: byte %zu is zero: this is no JSON", path,
                         strlen(text));
    else
        status = sinew_scene_parse(text, path, folder, scene, error);
    sn_free(folder);
    sn_free(text);
    return status;
}

sinew_status sinew_scene_copy(const sinew_scene *scene, sinew_scene **copy, sinew_error *error) {
    SN_REQUIRE(scene && copy, error);
    *copy = NULL;
    return sn_scene_make(json_deep_copy(scene->document), scene->name, scene->folder, copy, error);
}

void sinew_scene_destroy(sinew_scene *scene) {
    if (!scene) return;
    json_decref(scene->document);
    sn_free(scene->folder);
    sn_free(scene->name);
    sn_free(scene);
}

static sinew_status value_text(const json_t *value, size_t flags, char **text, sinew_error *error) {
    *text = NULL;
    char *dumped = json_dumps(value, flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    if (dumped) *text = sn_strdup(dumped);
    free(dumped);
    return *text ? SINEW_OK : sn_no_memory(error);
}

sinew_status sinew_scene_text(const sinew_scene *scene, char **text, sinew_error *error) {
    SN_REQUIRE(scene && text, error);
    return value_text(scene->document, JSON_INDENT(1), text, error);
}

sinew_status sinew_scene_write(const char *path, const sinew_scene *scene, sinew_error *error) {
    SN_REQUIRE(path && scene, error);
    char *text;
    SN_TRY(sinew_scene_text(scene, &text, error));
    sinew_status status = sn_file_write(path, text, strlen(text), error);
    sn_free(text);
    return status;
}

/* ---- JSON pointers --------------------------------------------------------------------------- */

enum { TOKEN_SIZE = 256 };

/* Takes one "/token" off the pointer: ~1 is a slash, ~0 a tilde. False: malformed or too long. */
static bool next_token(const char **pointer, char token[TOKEN_SIZE]) {
    const char *p = *pointer;
    if (*p != '/') return false;
    int used = 0;
    for (p++; *p && *p != '/'; p++) {
        char c = *p;
        if (c == '~') {
            p++;
            if (*p != '0' && *p != '1') return false;
            c = *p == '0' ? '~' : '/';
        }
        if (used + 1 >= TOKEN_SIZE) return false;
        token[used++] = c;
    }
    token[used] = '\0';
    *pointer = p;
    return true;
}

/* Index of an array element; size for "-"; -1 when it is no index of this array. */
static long array_index(const json_t *array, const char *token) {
    size_t size = json_array_size(array);
    if (!strcmp(token, "-")) return (long)size;
    if (!*token || strlen(token) > 9 || strspn(token, "0123456789") != strlen(token)) return -1;
    long index = strtol(token, NULL, 10);
    return index < (long)size ? index : -1;
}

static json_t *child_of(const json_t *value, const char *token) {
    if (json_is_object(value)) return json_object_get(value, token);
    if (!json_is_array(value)) return NULL;
    long index = array_index(value, token);
    return index < 0 ? NULL : json_array_get(value, (size_t)index);
}

static sinew_status bad_pointer(const char *pointer, sinew_error *error) {
    return sn_fail(error, SINEW_BAD_INPUT, "'%s' points to no place in the scene", pointer);
}

sinew_status sinew_scene_get(const sinew_scene *scene, const char *pointer, char **json,
                             sinew_error *error) {
    SN_REQUIRE(scene && pointer && json, error);
    *json = NULL;
    const json_t *value = scene->document;
    char token[TOKEN_SIZE];
    for (const char *rest = pointer; *rest && value;) {
        if (!next_token(&rest, token)) return bad_pointer(pointer, error);
        value = child_of(value, token);
    }
    return value ? value_text(value, JSON_COMPACT, json, error) : SINEW_OK;
}

/* Puts `value` (NULL: removes) at the token of its parent. False: there is no such place. */
static bool put_child(json_t *parent, const char *token, json_t *value) {
    if (json_is_object(parent)) {
        if (value) return json_object_set(parent, token, value) == 0;
        json_object_del(parent, token);
        return true;
    }
    if (!json_is_array(parent)) return false;
    long index = array_index(parent, token);
    if (index < 0) return false;
    bool end = (size_t)index == json_array_size(parent);
    if (!value) return !end && json_array_remove(parent, (size_t)index) == 0;
    if (end) return json_array_append(parent, value) == 0;
    return json_array_set(parent, (size_t)index, value) == 0;
}

/* The parent of the pointer's last token, with objects on the way made when missing. */
static json_t *find_parent(json_t *document, const char *pointer, char token[TOKEN_SIZE]) {
    json_t *parent = document;
    const char *rest = pointer;
    if (!next_token(&rest, token)) return NULL;
    while (*rest) {
        json_t *child = child_of(parent, token);
        if (!child) {
            /* "/obstacles/-" on a scene without obstacles starts a list. */
            child = !strcmp(rest, "/-") ? json_array() : json_object();
            bool placed = child && put_child(parent, token, child);
            json_decref(child); /* the parent holds it now */
            if (!placed) return NULL;
        }
        parent = child;
        if (!next_token(&rest, token)) return NULL;
    }
    return parent;
}

sinew_status sinew_scene_set(sinew_scene *scene, const char *pointer, const char *json,
                             char **before, sinew_error *error) {
    SN_REQUIRE(scene && pointer, error);
    if (before) *before = NULL;
    json_t *value = NULL;
    if (json) {
        json_error_t place;
        value = json_loads(json, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &place);
        if (!value && json_error_code(&place) == json_error_out_of_memory)
            return sn_no_memory(error);
        if (!value)
            return sn_fail(error, SINEW_BAD_INPUT, "%s: value of '%s': %s", scene->name, pointer,
                           place.text);
    }
    /* A changed copy is checked as a whole, then takes the place of the old document. */
    sinew_scene changed = *scene;
    changed.document = *pointer ? json_deep_copy(scene->document) : json_incref(value);
    char token[TOKEN_SIZE];
    sinew_status status = SINEW_OK;
    if (*pointer) {
        json_t *parent = find_parent(changed.document, pointer, token);
        if (!parent || !put_child(parent, token, value)) status = bad_pointer(pointer, error);
    }
    if (status == SINEW_OK) status = sn_scene_check(&changed, error);
    if (status == SINEW_OK && before) status = sinew_scene_get(scene, pointer, before, error);
    json_decref(value);
    if (status != SINEW_OK) {
        json_decref(changed.document);
        return status;
    }
    json_decref(scene->document);
    scene->document = changed.document;
    return SINEW_OK;
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
    int index = 0;
    for (const char *choice = p->choices; choice; choice = strchr(choice, '|'), index++) {
        choice += *choice == '|';
        if (strcspn(choice, "|") == strlen(word) && !strncmp(choice, word, strlen(word))) break;
    }
    return index;
}

const char *sn_scene_string(const sinew_scene *scene, const char *parameter) {
    return json_string_value(given_value(scene, parameter));
}

sinew_status sn_scene_numbers(const sinew_scene *scene, const char *parameter, double **values,
                              int *count, sinew_error *error) {
    *values = NULL;
    *count = 0;
    const json_t *list = given_value(scene, parameter);
    if (!list) return SINEW_OK;
    size_t size = json_array_size(list);
    double *array = SN_NEW(double, size);
    if (!array) return sn_no_memory(error);
    for (size_t i = 0; i < size; i++) array[i] = json_number_value(json_array_get(list, i));
    *values = array;
    *count = (int)size;
    return SINEW_OK;
}

sinew_status sn_scene_vertex_map(const sinew_scene *scene, const char *parameter,
                                 const sinew_rig *rig, double **map, sinew_error *error) {
    const char *file = sn_scene_string(scene, parameter);
    int count = rig->neutral->vertex_count;
    *map = NULL;
    if (!file) return SINEW_OK;
    char *path = sn_scene_path(scene, file);
    double *values = SN_NEW(double, count);
    sinew_status status = path && values ? SINEW_OK : sn_no_memory(error);
    for (int v = 0; status == SINEW_OK && v < count; v++) values[v] = 1;
    if (status == SINEW_OK) status = sinew_vertex_values_read(path, count, values, error);
    sn_free(path);
    if (status != SINEW_OK)
        sn_free(values);
    else
        *map = values;
    return status;
}

char *sn_scene_path(const sinew_scene *scene, const char *path) {
    if (*path == '/' || !*scene->folder) return sn_strdup(path);
    return sn_path_join(scene->folder, path);
}

sinew_status sn_scene_output(const sinew_scene *scene, const char *name, char **path,
                             sinew_error *error) {
    *path = NULL;
    const char *given = json_string_value(json_object_get(sn_scene_at(scene, "outputs"), name));
    if (!given) return SINEW_OK;
    *path = sn_scene_path(scene, given);
    return *path ? SINEW_OK : sn_no_memory(error);
}

void sn_json_point(const json_t *array, double point[3]) {
    for (size_t i = 0; i < 3; i++) point[i] = json_number_value(json_array_get(array, i));
}
