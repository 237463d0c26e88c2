/* The JSON schema of scenes, for editors and other programs. */
#include <stdio.h>

#include "base/forms.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/status.h"
#include "session/fields.h"
#include "session/model.h"

static json_t *describe_object(const sn_field *fields);

static json_t *describe_number(bool whole, double minimum, double maximum) {
    json_t *schema = json_pack("{s:s}", "type", whole ? "integer" : "number");
    if (minimum == 0 && maximum == 0) return schema;
    json_object_set_new(schema, "minimum", json_real(minimum));
    if (maximum != SN_HUGE_NUMBER) json_object_set_new(schema, "maximum", json_real(maximum));
    return schema;
}

static json_t *describe_words(const char *choices) {
    json_t *words = json_array();
    const char *word;
    size_t length;
    for (int i = 0; (word = sn_choice_at(choices, i, &length)); i++)
        json_array_append_new(words, json_stringn(word, length));
    return json_pack("{s:o}", "enum", words);
}

static json_t *describe_list(json_t *items) {
    return json_pack("{s:s, s:o}", "type", "array", "items", items);
}

static json_t *describe_parameters(const sinew_model *model) {
    json_t *properties = json_object();
    for (int i = 0; i < model->parameter_count; i++) {
        const sinew_parameter *p = &model->parameters[i];
        json_t *schema = NULL;
        switch (p->kind) {
        case SINEW_PARAMETER_KIND_NUMBER:
        case SINEW_PARAMETER_KIND_INTEGER:
            schema =
                describe_number(p->kind == SINEW_PARAMETER_KIND_INTEGER, p->minimum, p->maximum);
            json_object_set_new(schema, "default",
                                p->kind == SINEW_PARAMETER_KIND_INTEGER
                                    ? json_integer((json_int_t)p->fallback)
                                    : json_real(p->fallback));
            break;
        case SINEW_PARAMETER_KIND_FLAG:
            schema = json_pack("{s:s, s:b}", "type", "boolean", "default", p->fallback != 0);
            break;
        case SINEW_PARAMETER_KIND_CHOICE:
            schema = describe_words(p->choices);
            break;
        case SINEW_PARAMETER_KIND_TEXT:
        case SINEW_PARAMETER_KIND_FILE:
            schema = json_pack("{s:s}", "type", "string");
            break;
        case SINEW_PARAMETER_KIND_NUMBERS:
            schema = describe_list(json_pack("{s:s}", "type", "number"));
            break;
        }
        char text[512];
        snprintf(text, sizeof text, "%s%s%s%s", p->help, p->unit && *p->unit ? " [" : "",
                 p->unit ? p->unit : "", p->unit && *p->unit ? "]" : "");
        json_object_set_new(schema, "description", json_string(text));
        json_object_set_new(properties, p->name, schema);
    }
    return json_pack("{s:s, s:s, s:o, s:b}", "type", "object", "description", model->summary,
                     "properties", properties, "additionalProperties", 0);
}

static json_t *describe_field(const sn_field *f) {
    json_t *schema = NULL;
    switch (f->kind) {
    case SN_FIELD_TEXT:
    case SN_FIELD_PATH:
        schema = json_pack("{s:s}", "type", "string");
        break;
    case SN_FIELD_NUMBER:
    case SN_FIELD_INTEGER:
        schema = describe_number(f->kind == SN_FIELD_INTEGER, f->minimum, f->maximum);
        break;
    case SN_FIELD_FLAG:
        schema = json_pack("{s:s}", "type", "boolean");
        break;
    case SN_FIELD_CHOICE:
        schema = describe_words(f->choices);
        break;
    case SN_FIELD_POINT:
        schema = describe_list(json_pack("{s:s}", "type", "number"));
        json_object_set_new(schema, "minItems", json_integer(3));
        json_object_set_new(schema, "maxItems", json_integer(3));
        break;
    case SN_FIELD_NUMBERS:
        schema = describe_list(json_pack("{s:s}", "type", "number"));
        break;
    case SN_FIELD_TEXTS:
        schema = describe_list(json_pack("{s:s}", "type", "string"));
        break;
    case SN_FIELD_OBJECT:
        schema = describe_object(f->fields);
        break;
    case SN_FIELD_OBJECTS:
        schema = describe_list(describe_object(f->fields));
        break;
    case SN_FIELD_NUMBER_MAP:
        schema =
            json_pack("{s:s, s:{s:s}}", "type", "object", "additionalProperties", "type", "number");
        break;
    case SN_FIELD_NUMBERS_MAP:
        schema = json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                           describe_list(json_pack("{s:s}", "type", "number")));
        break;
    case SN_FIELD_PARAMETERS:
    case SN_FIELD_ANYTHING:
        schema = json_pack("{s:s}", "type", "object");
        break;
    case SN_FIELD_OUTPUTS:
        schema = describe_object(f->fields);
        for (int i = 0; i < sinew_model_count(); i++) {
            const char *const *names = sn_model_kind_find(sinew_model_at(i)->name)->outputs;
            for (; names && *names; names++)
                json_object_set_new(json_object_get(schema, "properties"), *names,
                                    json_pack("{s:s, s:s+}", "type", "string", "description",
                                              "Output of the model ", sinew_model_at(i)->name));
        }
        break;
    }
    json_object_set_new(schema, "description", json_string(f->help));
    return schema;
}

static json_t *describe_object(const sn_field *fields) {
    json_t *properties = json_object(), *required = json_array();
    for (const sn_field *f = fields; f->name; f++) {
        json_object_set_new(properties, f->name, describe_field(f));
        if (f->required) json_array_append_new(required, json_string(f->name));
    }
    json_t *schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                               "additionalProperties", 0);
    if (json_array_size(required) > 0)
        json_object_set_new(schema, "required", required);
    else
        json_decref(required);
    return schema;
}

sinew_status sinew_scene_schema(char **json, sinew_error *error) {
    SN_REQUIRE(json, error);
    *json = NULL;
    json_t *schema = describe_object(sn_scene_fields);
    json_t *properties = json_object_get(schema, "properties");
    json_t *names = json_array(), *rules = json_array();
    for (int i = 0; i < sinew_model_count(); i++) {
        const sinew_model *model = sinew_model_at(i);
        json_array_append_new(names, json_string(model->name));
        json_array_append_new(rules,
                              json_pack("{s:{s:{s:{s:s}}, s:[s]}, s:{s:{s:o}}}", "if", "properties",
                                        "model", "const", model->name, "required", "model", "then",
                                        "properties", "parameters", describe_parameters(model)));
    }
    json_object_set_new(json_object_get(properties, "model"), "enum", names);
    json_object_set_new(schema, "allOf", rules);
    json_object_set_new(schema, "$schema",
                        json_string("https://json-schema.org/draft/2020-12/schema"));
    json_object_set_new(schema, "title", json_string("Sinew scene"));
    *json = sn_json_dump(schema, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(schema);
    return *json ? SINEW_OK : sn_no_memory(error);
}
