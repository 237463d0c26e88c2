/* The strict reader of scenes. A key that is not in its table (fields.h) is an error: a misspelled
 * parameter must not pass in silence. The "studio" key is where other programs keep their own
 * data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/forms.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/status.h"
#include "session/fields.h"
#include "session/model.h"

typedef struct checker {
    const sinew_scene *scene;
    const sn_model_kind *model; /* NULL: unknown yet */
    sinew_error *error;
} checker;

enum { LOCATION_SIZE = 160 };

static void extend(char out[LOCATION_SIZE], const char *location, const char *key) {
    int used = snprintf(out, LOCATION_SIZE, "%s/", location);
    for (const char *c = key; *c && used < LOCATION_SIZE - 5; c++) {
        if (*c == '~' || *c == '/') out[used++] = '~';
        out[used++] = *c == '~' ? '0' : *c == '/' ? '1' : *c;
    }
    out[used < LOCATION_SIZE ? used : LOCATION_SIZE - 1] = '\0';
}

static sinew_status wrong_kind(const checker *c, const char *location, const char *wanted) {
    return sn_scene_fail(c->scene, c->error, location, "must be %s", wanted);
}

static sinew_status check_number(const checker *c, const json_t *value, const char *location,
                                 bool whole, double minimum, double maximum) {
    if (whole ? !json_is_integer(value) : !json_is_number(value))
        return wrong_kind(c, location, whole ? "a whole number" : "a number");
    double number = json_number_value(value);
    if (!isfinite(number)) return wrong_kind(c, location, "finite");
    if ((minimum != 0 || maximum != 0) && (number < minimum || number > maximum))
        return sn_scene_fail(c->scene, c->error, location, "must be between %g and %g, not %g",
                             minimum, maximum, number);
    return SINEW_OK;
}

static sinew_status check_numbers(const checker *c, const json_t *value, const char *location,
                                  int exactly) {
    if (!json_is_array(value) || (exactly >= 0 && json_array_size(value) != (size_t)exactly))
        return wrong_kind(c, location,
                          exactly == 3 ? "three numbers [x, y, z]" : "a list of numbers");
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_number(json_array_get(value, i)))
            return sn_scene_fail(c->scene, c->error, location, "element %zu is not a number", i);
        else if (!(fabs(json_number_value(json_array_get(value, i))) <= SN_HUGE_NUMBER))
            return sn_scene_fail(
                c->scene, c->error, location, "element %zu must be between -%g and %g, not %g", i,
                SN_HUGE_NUMBER, SN_HUGE_NUMBER, json_number_value(json_array_get(value, i)));
    return SINEW_OK;
}

static sinew_status check_word(const checker *c, const json_t *value, const char *location,
                               const char *choices) {
    const char *text = json_string_value(value);
    if (text && sn_choice_index(choices, text) >= 0) return SINEW_OK;
    return sn_scene_fail(c->scene, c->error, location, "must be one of %s", choices);
}

static sinew_status unknown_key(const checker *c, const char *location, const char *key, int count,
                                const char *const *names) {
    const char *nearest = sn_nearest_name(key, count, names);
    char here[LOCATION_SIZE];
    extend(here, location, key);
    if (nearest)
        return sn_scene_fail(c->scene, c->error, here, "unknown key; did you mean '%s'?", nearest);
    return sn_scene_fail(c->scene, c->error, here, "unknown key");
}

static sinew_status check_object(const checker *c, const json_t *object, const sn_field *fields,
                                 const char *const *extra_paths, const char *location);

static sinew_status check_parameter(const checker *c, const sinew_parameter *parameter,
                                    const json_t *value, const char *location) {
    switch (parameter->kind) {
    case SINEW_PARAMETER_KIND_NUMBER:
    case SINEW_PARAMETER_KIND_INTEGER:
        return check_number(c, value, location, parameter->kind == SINEW_PARAMETER_KIND_INTEGER,
                            parameter->minimum, parameter->maximum);
    case SINEW_PARAMETER_KIND_FLAG:
        return json_is_boolean(value) ? SINEW_OK : wrong_kind(c, location, "true or false");
    case SINEW_PARAMETER_KIND_CHOICE:
        return check_word(c, value, location, parameter->choices);
    case SINEW_PARAMETER_KIND_TEXT:
    case SINEW_PARAMETER_KIND_FILE:
        return json_is_string(value) ? SINEW_OK : wrong_kind(c, location, "a string");
    case SINEW_PARAMETER_KIND_NUMBERS:
        return check_numbers(c, value, location, -1);
    }
    return SINEW_OK;
}

static sinew_status check_parameters(const checker *c, const json_t *object, const char *location) {
    if (!json_is_object(object)) return wrong_kind(c, location, "an object");
    const sinew_model *model = &c->model->about;
    const char *names[128];
    int count = 0;
    for (; count < model->parameter_count && count < 128; count++)
        names[count] = model->parameters[count].name;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        int found = 0;
        while (found < count && strcmp(names[found], key)) found++;
        if (found == count) return unknown_key(c, location, key, count, names);
        char here[LOCATION_SIZE];
        extend(here, location, key);
        SN_TRY(check_parameter(c, &model->parameters[found], value, here));
    }
    return SINEW_OK;
}

static sinew_status check_map(const checker *c, const json_t *object, const char *location,
                              bool lists) {
    if (!json_is_object(object))
        return wrong_kind(c, location, "an object that maps names to values");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        char here[LOCATION_SIZE];
        extend(here, location, key);
        if (lists)
            SN_TRY(check_numbers(c, value, here, -1));
        else
            SN_TRY(check_number(c, value, here, false, 0, 0));
    }
    return SINEW_OK;
}

static sinew_status check_field(const checker *c, const sn_field *f, const json_t *value,
                                const char *location) {
    switch (f->kind) {
    case SN_FIELD_TEXT:
    case SN_FIELD_PATH:
        return json_is_string(value) ? SINEW_OK : wrong_kind(c, location, "a string");
    case SN_FIELD_NUMBER:
    case SN_FIELD_INTEGER:
        return check_number(c, value, location, f->kind == SN_FIELD_INTEGER, f->minimum,
                            f->maximum);
    case SN_FIELD_FLAG:
        return json_is_boolean(value) ? SINEW_OK : wrong_kind(c, location, "true or false");
    case SN_FIELD_CHOICE:
        return check_word(c, value, location, f->choices);
    case SN_FIELD_POINT:
        return check_numbers(c, value, location, 3);
    case SN_FIELD_NUMBERS:
        return check_numbers(c, value, location, -1);
    case SN_FIELD_TEXTS:
        if (!json_is_array(value)) return wrong_kind(c, location, "a list of strings");
        for (size_t i = 0; i < json_array_size(value); i++)
            if (!json_is_string(json_array_get(value, i)))
                return sn_scene_fail(c->scene, c->error, location, "element %zu is not a string",
                                     i);
        return SINEW_OK;
    case SN_FIELD_OBJECT:
        return check_object(c, value, f->fields, NULL, location);
    case SN_FIELD_OBJECTS:
        if (!json_is_array(value)) return wrong_kind(c, location, "a list of objects");
        for (size_t i = 0; i < json_array_size(value); i++) {
            char here[LOCATION_SIZE];
            snprintf(here, sizeof here, "%.*s/%zu", LOCATION_SIZE - 24, location, i);
            SN_TRY(check_object(c, json_array_get(value, i), f->fields, NULL, here));
        }
        return SINEW_OK;
    case SN_FIELD_NUMBER_MAP:
        return check_map(c, value, location, false);
    case SN_FIELD_NUMBERS_MAP:
        return check_map(c, value, location, true);
    case SN_FIELD_PARAMETERS:
        return check_parameters(c, value, location);
    case SN_FIELD_OUTPUTS:
        return check_object(c, value, f->fields, c->model->outputs, location);
    case SN_FIELD_ANYTHING:
        return json_is_object(value) ? SINEW_OK : wrong_kind(c, location, "an object");
    }
    return SINEW_OK;
}

static sinew_status check_object(const checker *c, const json_t *object, const sn_field *fields,
                                 const char *const *extra_paths, const char *location) {
    if (!json_is_object(object)) return wrong_kind(c, location, "an object");
    const char *names[64];
    int count = 0, extra = 0;
    for (; fields[count].name; count++) names[count] = fields[count].name;
    for (; extra_paths && extra_paths[extra]; extra++) names[count + extra] = extra_paths[extra];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        int found = 0;
        while (found < count + extra && strcmp(names[found], key)) found++;
        if (found == count + extra) return unknown_key(c, location, key, count + extra, names);
        char here[LOCATION_SIZE];
        extend(here, location, key);
        if (found < count)
            SN_TRY(check_field(c, &fields[found], value, here));
        else if (!json_is_string(value))
            return wrong_kind(c, here, "a string");
    }
    for (const sn_field *f = fields; f->name; f++)
        if (f->required && !json_object_get(object, f->name)) {
            char here[LOCATION_SIZE];
            extend(here, location, f->name);
            return sn_scene_fail(c->scene, c->error, here, "is missing");
        }
    return SINEW_OK;
}

static sinew_status check_model(const sinew_scene *scene, sinew_error *error) {
    const json_t *model = json_object_get(scene->document, "model");
    if (!json_is_string(model) || sn_model_kind_find(json_string_value(model))) return SINEW_OK;
    const char *names[32];
    int count = sinew_model_count();
    for (int i = 0; i < count; i++) names[i] = sinew_model_at(i)->name;
    const char *nearest = sn_nearest_name(json_string_value(model), count, names);
    return sn_scene_fail(scene, error, "/model", "there is no model '%s'%s%s%s",
                         json_string_value(model), nearest ? "; did you mean '" : "",
                         nearest ? nearest : "", nearest ? "'?" : "");
}

static const sn_model_kind *model_of(const sinew_scene *scene) {
    const char *name = json_string_value(json_object_get(scene->document, "model"));
    const sn_model_kind *kind = name ? sn_model_kind_find(name) : NULL;
    return kind ? kind : &sn_model_linear;
}

sinew_status sn_scene_check(const sinew_scene *scene, sinew_error *error) {
    const json_t *document = scene->document;
    if (!json_is_object(document))
        return sn_scene_fail(scene, error, "", "a scene must be a JSON object");
    const json_t *version = json_object_get(document, "sinew");
    if (!version)
        return sn_scene_fail(scene, error, "/sinew",
                             "is missing: a scene must state its format version, \"sinew\": %d",
                             SINEW_SCENE_VERSION);
    if (json_is_integer(version) && json_integer_value(version) > SINEW_SCENE_VERSION)
        return sn_scene_fail(scene, error, "/sinew", "version %lld is newer than this program's %d",
                             (long long)json_integer_value(version), SINEW_SCENE_VERSION);
    SN_TRY(check_model(scene, error));
    checker c = {scene, model_of(scene), error};
    return check_object(&c, document, sn_scene_fields, NULL, "");
}

/* ---- checking what a patch touched ----------------------------------------------------------- */

static const sn_field *find_field(const sn_field *fields, const char *name) {
    for (; fields->name; fields++)
        if (!strcmp(fields->name, name)) return fields;
    return NULL;
}

static const json_t *element_at(const json_t *array, const char *token) {
    return json_array_get(array, (size_t)strtoul(token, NULL, 10));
}

/* The rest of a location below a field that holds no objects: lists and maps of plain values. */
static sinew_status check_leaf(const checker *c, const sn_field *f, const json_t *value, int depth,
                               const char *const *tokens, const char *location) {
    char here[LOCATION_SIZE];
    extend(here, location, tokens[0]);
    const json_t *inner =
        json_is_array(value) ? element_at(value, tokens[0]) : json_object_get(value, tokens[0]);
    if (f->kind == SN_FIELD_ANYTHING || !inner) return SINEW_OK;
    if (f->kind == SN_FIELD_NUMBERS || f->kind == SN_FIELD_NUMBER_MAP)
        return check_number(c, inner, here, false, 0, 0);
    if (f->kind != SN_FIELD_NUMBERS_MAP) return check_field(c, f, value, location);
    if (depth == 1) return check_numbers(c, inner, here, -1);
    char element[LOCATION_SIZE];
    extend(element, here, tokens[1]);
    const json_t *number = element_at(inner, tokens[1]);
    return number ? check_number(c, number, element, false, 0, 0) : SINEW_OK;
}

static sinew_status check_parameter_at(const checker *c, const json_t *parameters, int depth,
                                       const char *const *tokens, const char *location,
                                       sinew_cost *cost) {
    const sinew_parameter *parameter = sinew_model_find_parameter(&c->model->about, tokens[0]);
    if (!parameter) return check_parameters(c, parameters, location); /* names the nearest */
    *cost = parameter->cost;
    char here[LOCATION_SIZE], element[LOCATION_SIZE];
    extend(here, location, tokens[0]);
    const json_t *value = json_object_get(parameters, tokens[0]);
    if (!value) return SINEW_OK;
    if (depth == 1 || parameter->kind != SINEW_PARAMETER_KIND_NUMBERS)
        return check_parameter(c, parameter, value, here);
    extend(element, here, tokens[1]);
    const json_t *number = element_at(value, tokens[1]);
    return number ? check_number(c, number, element, false, 0, 0) : SINEW_OK;
}

sinew_status sn_scene_check_at(const sinew_scene *scene, int depth, const char *const *tokens,
                               sinew_cost *cost, sinew_error *error) {
    *cost = SINEW_COST_RIG;
    if (depth == 0 || !strcmp(tokens[0], "sinew")) return sn_scene_check(scene, error);
    checker c = {scene, model_of(scene), error};
    const json_t *object = scene->document;
    const sn_field *fields = sn_scene_fields;
    char location[LOCATION_SIZE] = "", here[LOCATION_SIZE];
    for (int i = 0; i < depth;) {
        const sn_field *f = find_field(fields, tokens[i]);
        if (!f) return check_object(&c, object, fields, NULL, location); /* names the nearest */
        *cost = f->cost;
        extend(here, location, tokens[i]);
        memcpy(location, here, sizeof location);
        const json_t *value = json_object_get(object, tokens[i++]);
        if (!value)
            return f->required ? sn_scene_fail(scene, error, location, "is missing") : SINEW_OK;
        if (i == depth) {
            if (fields == sn_scene_fields && !strcmp(f->name, "model")) {
                SN_TRY(check_model(scene, error));
                const json_t *own[2] = {json_object_get(object, "parameters"),
                                        json_object_get(object, "outputs")};
                if (own[0]) SN_TRY(check_parameters(&c, own[0], "/parameters"));
                if (own[1])
                    SN_TRY(check_object(&c, own[1], find_field(sn_scene_fields, "outputs")->fields,
                                        c.model->outputs, "/outputs"));
            }
            return check_field(&c, f, value, location);
        }
        if (f->kind == SN_FIELD_PARAMETERS)
            return check_parameter_at(&c, value, depth - i, tokens + i, location, cost);
        if (f->kind == SN_FIELD_OUTPUTS) return check_field(&c, f, value, location);
        if (f->kind == SN_FIELD_OBJECTS) {
            extend(here, location, tokens[i]);
            memcpy(location, here, sizeof location);
            value = element_at(value, tokens[i++]);
            if (!value) return SINEW_OK;
            if (i == depth) return check_object(&c, value, f->fields, NULL, location);
        } else if (f->kind != SN_FIELD_OBJECT) {
            return check_leaf(&c, f, value, depth - i, tokens + i, location);
        }
        object = value;
        fields = f->fields;
        if (!json_is_object(object)) return wrong_kind(&c, location, "an object");
    }
    return SINEW_OK;
}

int sn_scene_key_bit(const char *name) {
    for (int i = 0; sn_scene_fields[i].name; i++)
        if (sn_scene_fields[i].name[0] == name[0] && !strcmp(sn_scene_fields[i].name, name))
            return i;
    return -1;
}

bool sn_has_changed(uint32_t changed, const char *key) {
    return changed >> sn_scene_key_bit(key) & 1;
}
