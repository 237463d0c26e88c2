/* The shape of a scene, as tables. The strict reader, the JSON schema for machines and the error
 * messages all come from them. A key that is not in its table is an error: a misspelt knob must not
 * pass in silence. The "studio" key is the one place for what others keep in a scene. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/status.h"
#include "session/model.h"

typedef enum field_kind {
    TEXT,
    PATH,
    NUMBER,
    INTEGER,
    FLAG,
    CHOICE,      /* words in `choices` */
    POINT,       /* three numbers */
    NUMBERS,     /* a list of numbers */
    TEXTS,       /* a list of texts, at least one */
    OBJECT,      /* of `fields` */
    OBJECTS,     /* a list of objects of `fields` */
    NUMBER_MAP,  /* any names to numbers */
    NUMBERS_MAP, /* any names to lists of numbers */
    PARAMETERS,  /* of the scene's model */
    OUTPUTS,     /* `fields` and the outputs of the scene's model */
    ANYTHING     /* an object that others look after */
} field_kind;

typedef struct field {
    const char *name;
    field_kind kind;
    const char *help;
    bool required;
    double minimum, maximum; /* both 0: no limits */
    const char *choices;
    const struct field *fields; /* ended by a NULL name */
} field;

#define END                                                                                        \
    { NULL, TEXT, NULL, false, 0, 0, NULL, NULL }
/* Larger than any coordinate or count that makes sense, and finite. */
#define HUGE_NUMBER 1e300
#define UNITS       "m|dm|cm|mm|in|ft"

static const field rig_fields[] = {
    {"files", TEXTS, "a rig file, or a neutral followed by targets, folders and pose meshes", false,
     0, 0, NULL, NULL},
    {"sample", TEXT, "a built-in rig instead of files", false, 0, 0, NULL, NULL},
    {"vertices", INTEGER, "wanted size of the built-in rig", false, 1, 1e7, NULL, NULL},
    {"unit", CHOICE, "its unit of length (default m)", false, 0, 0, UNITS, NULL},
    {"regions", PATH, "JSON {name: [vertices]} with further regions", false, 0, 0, NULL, NULL},
    END,
};

static const field curves_fields[] = {
    {"file", PATH, "weight curves, CSV", false, 0, 0, NULL, NULL},
    {"times", NUMBERS, "seconds, increasing; with `values`", false, 0, 0, NULL, NULL},
    {"values", NUMBERS_MAP, "per slider a value for each time", false, 0, 0, NULL, NULL},
    END,
};

static const field time_fields[] = {
    {"fps", NUMBER, "frames per second (default 30)", false, 1e-3, 1e5, NULL, NULL},
    {"from", NUMBER, "seconds: start of the clip (default: of the curves)", false, 0, 0, NULL,
     NULL},
    {"to", NUMBER, "seconds: end of the clip (default: of the curves)", false, 0, 0, NULL, NULL},
    END,
};

static const field key_fields[] = {
    {"time", NUMBER, "seconds", true, 0, 0, NULL, NULL},
    {"pose", TEXT, "name of a target at full weight, or of the neutral", false, 0, 0, NULL, NULL},
    {"weights", NUMBER_MAP, "slider weights of the pose", false, 0, 0, NULL, NULL},
    {"inner", FLAG, "a correction that the motion passes through without changing its modes", false,
     0, 0, NULL, NULL},
    END,
};

static const field motion_fields[] = {
    {"time", NUMBER, "seconds", true, 0, 0, NULL, NULL},
    {"move", POINT, "displacement from the given place", false, 0, 0, NULL, NULL},
    {"turn", POINT, "rotation about the shape's middle: axis times degrees", false, 0, 0, NULL,
     NULL},
    END,
};

static const field obstacle_fields[] = {
    {"shape", CHOICE, "what it is", true, 0, 0, "sphere|plane|capsule|cylinder|box|mesh|part",
     NULL},
    {"name", TEXT, "its name; for a part: the part of the rig's file", false, 0, 0, NULL, NULL},
    {"center", POINT, "sphere, box", false, 0, 0, NULL, NULL},
    {"radius", NUMBER, "sphere, capsule, cylinder", false, 1e-300, HUGE_NUMBER, NULL, NULL},
    {"point", POINT, "plane: a point on it", false, 0, 0, NULL, NULL},
    {"normal", POINT, "plane: towards the free side", false, 0, 0, NULL, NULL},
    {"from", POINT, "capsule, cylinder: one end of the axis", false, 0, 0, NULL, NULL},
    {"to", POINT, "capsule, cylinder: the other end", false, 0, 0, NULL, NULL},
    {"half", POINT, "box: half its size along x, y and z", false, 0, 0, NULL, NULL},
    {"file", PATH, "mesh: a closed surface", false, 0, 0, NULL, NULL},
    {"frames", PATH, "mesh: point cache of its motion", false, 0, 0, NULL, NULL},
    {"motion", OBJECTS, "where it goes: linear in between, still outside", false, 0, 0, NULL,
     motion_fields},
    {"enabled", FLAG, "default true", false, 0, 0, NULL, NULL},
    END,
};

static const field pin_fields[] = {
    {"select", TEXT, "v:1,5-9 | region:NAME | mask:FILE", true, 0, 0, NULL, NULL},
    {"frames", PATH,
     "point cache with the positions to follow (default: the linear blend; modal: the first key)",
     false, 0, 0, NULL, NULL},
    {"motion", OBJECTS, "modal: where they go from their place in the first key", false, 0, 0, NULL,
     motion_fields},
    {"stiffness", NUMBER, "modal: of springs that pull them, times the body's (default: held)",
     false, 0, HUGE_NUMBER, NULL, NULL},
    END,
};

static const field orientation_fields[] = {
    {"select", TEXT, "v:1,5-9 | region:NAME | mask:FILE", true, 0, 0, NULL, NULL},
    {"turn", POINT, "rotation from the rest shape: axis times degrees (default: none)", false, 0, 0,
     NULL, NULL},
    {"motion", OBJECTS, "the rotation over time, `turn` of each entry", false, 0, 0, NULL,
     motion_fields},
    {"weight", NUMBER, "share of the way there (default 1)", false, 0, 1, NULL, NULL},
    END,
};

static const field pull_fields[] = {
    {"vertex", INTEGER, "index of the pulled vertex", true, 0, 2e9, NULL, NULL},
    {"to", POINT, "where to", true, 0, 0, NULL, NULL},
    {"stiffness", NUMBER, "relative to the mean spring (default: held there)", false, 0,
     HUGE_NUMBER, NULL, NULL},
    END,
};

static const field lock_fields[] = {
    {"name", TEXT, "its name", true, 0, 0, NULL, NULL},
    {"select", TEXT, "v:1,5-9 | region:NAME | mask:FILE", true, 0, 0, NULL, NULL},
    {"axes", TEXT, "of x, y, z (default all)", false, 0, 0, NULL, NULL},
    {"enabled", FLAG, "default true", false, 0, 0, NULL, NULL},
    END,
};

static const field attenuation_fields[] = {
    {"alpha", NUMBER, "strength (default: unlocked over locked coordinates)", false, 0, HUGE_NUMBER,
     NULL, NULL},
    {"strength", NUMBER, "alpha in units of its default (default 1)", false, 0, HUGE_NUMBER, NULL,
     NULL},
    {"ridge", NUMBER, "weight of the change of sliders", false, 0, HUGE_NUMBER, NULL, NULL},
    {"dead_zone", NUMBER, "share of the diagonal left alone", false, 0, 1, NULL, NULL},
    {"trade", FLAG, "the moved sliders may give way too", false, 0, 0, NULL, NULL},
    {"keep", TEXTS, "sliders that stay as they are in a take", false, 0, 0, NULL, NULL},
    {"few", NUMBER, "prefer few responding sliders, 0 (no) to 1 (none)", false, 0, 1, NULL, NULL},
    {"unbounded", FLAG, "ignore slider limits", false, 0, 0, NULL, NULL},
    {"published", FLAG, "the published form", false, 0, 0, NULL, NULL},
    {"corrective", FLAG, "cancel what is left by moving vertices of the frames", false, 0, 0, NULL,
     NULL},
    {"at", NUMBER, "seconds: the pose at the moment of locking (default: the first frame)", false,
     0, 0, NULL, NULL},
    {"from", NUMBER_MAP, "slider weights of the pose at the moment of locking", false, 0, 0, NULL,
     NULL},
    END,
};

static const field markers_fields[] = {
    {"file", PATH, "marker trajectories", true, 0, 0, NULL, NULL},
    {"map", PATH, "CSV that ties markers to the surface", false, 0, 0, NULL, NULL},
    {"unit", CHOICE, "their unit of length (default: as the file says, else the rig's)", false, 0,
     0, UNITS, NULL},
    {"truth", PATH, "point cache to compare with", false, 0, 0, NULL, NULL},
    END,
};

static const field output_fields[] = {
    {"frames", TEXTS, "point caches or scenes, by their endings", false, 0, 0, NULL, NULL},
    {"report", PATH, "figures of the run, JSON", false, 0, 0, NULL, NULL},
    {"curves", PATH, "the slider weights of the frames, after locks, CSV", false, 0, 0, NULL, NULL},
    END,
};

static const field scene_fields[] = {
    {"sinew", INTEGER, "version of the format", true, 1, 1e6, NULL, NULL},
    {"strict", FLAG,
     "fail where a missing or failing program would change the result (default: do without and "
     "report it)",
     false, 0, 0, NULL, NULL},
    {"rig", OBJECT, "the rig", false, 0, 0, NULL, rig_fields},
    {"model", TEXT, "name of the model (default linear)", false, 0, 0, NULL, NULL},
    {"parameters", PARAMETERS, "knobs of the model", false, 0, 0, NULL, NULL},
    {"weights", NUMBER_MAP, "slider weights of one shape, or of the last step", false, 0, 0, NULL,
     NULL},
    {"steps", INTEGER, "steps from the first pose to the second, or to `weights`", false, 1, 1e7,
     NULL, NULL},
    {"curves", OBJECT, "slider weights over time", false, 0, 0, NULL, curves_fields},
    {"keys", OBJECTS, "key poses in time", false, 0, 0, NULL, key_fields},
    {"markers", OBJECT, "captured markers", false, 0, 0, NULL, markers_fields},
    {"time", OBJECT, "frames of the clip", false, 0, 0, NULL, time_fields},
    {"obstacles", OBJECTS, "what stands in the way", false, 0, 0, NULL, obstacle_fields},
    {"pins", OBJECTS, "held vertices", false, 0, 0, NULL, pin_fields},
    {"orientations", OBJECTS, "regions led to an orientation", false, 0, 0, NULL,
     orientation_fields},
    {"pulls", OBJECTS, "dragged vertices", false, 0, 0, NULL, pull_fields},
    {"locks", OBJECTS, "what sliders must not move", false, 0, 0, NULL, lock_fields},
    {"attenuation", OBJECT, "how locks hold", false, 0, 0, NULL, attenuation_fields},
    {"outputs", OUTPUTS, "where results go", false, 0, 0, NULL, output_fields},
    {"notes", TEXT, "for people", false, 0, 0, NULL, NULL},
    {"studio", ANYTHING, "camera and layout of the studio", false, 0, 0, NULL, NULL},
    END,
};

/* ---- checking -------------------------------------------------------------------------------- */

typedef struct checker {
    const sinew_scene *scene;
    const sn_model_kind *model; /* NULL: unknown yet */
    sinew_error *error;
} checker;

enum { PLACE_SIZE = 160 };

static void extend(char out[PLACE_SIZE], const char *place, const char *key) {
    int length = snprintf(out, PLACE_SIZE, "%s%s%s", place, *place ? "." : "", key);
    if (length >= PLACE_SIZE) memcpy(out + PLACE_SIZE - 4, "...", 4);
}

static sinew_status wrong_kind(const checker *c, const char *place, const char *wanted) {
    return sn_scene_fail(c->scene, c->error, place, "must be %s", wanted);
}

static sinew_status check_number(const checker *c, const json_t *value, const char *place,
                                 bool whole, double minimum, double maximum) {
    if (whole ? !json_is_integer(value) : !json_is_number(value))
        return wrong_kind(c, place, whole ? "a whole number" : "a number");
    double number = json_number_value(value);
    if (!isfinite(number)) return wrong_kind(c, place, "finite");
    if ((minimum != 0 || maximum != 0) && (number < minimum || number > maximum))
        return sn_scene_fail(c->scene, c->error, place, "must be between %g and %g, not %g",
                             minimum, maximum, number);
    return SINEW_OK;
}

static sinew_status check_numbers(const checker *c, const json_t *value, const char *place,
                                  int exactly) {
    if (!json_is_array(value) || (exactly >= 0 && json_array_size(value) != (size_t)exactly))
        return wrong_kind(c, place, exactly == 3 ? "three numbers [x, y, z]" : "a list of numbers");
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_number(json_array_get(value, i)))
            return sn_scene_fail(c->scene, c->error, place, "element %zu is not a number", i);
    return SINEW_OK;
}

static sinew_status check_word(const checker *c, const json_t *value, const char *place,
                               const char *choices) {
    const char *text = json_string_value(value);
    size_t length = text ? strlen(text) : 0;
    for (const char *word = choices; text && word; word = strchr(word, '|')) {
        word += *word == '|';
        if (strcspn(word, "|") == length && !strncmp(word, text, length)) return SINEW_OK;
    }
    return sn_scene_fail(c->scene, c->error, place, "must be one of %s", choices);
}

static sinew_status unknown_key(const checker *c, const char *place, const char *key, int count,
                                const char *const *names) {
    const char *nearest = sn_nearest_name(key, count, names);
    char here[PLACE_SIZE];
    extend(here, place, key);
    if (nearest)
        return sn_scene_fail(c->scene, c->error, here, "unknown key; did you mean '%s'?", nearest);
    return sn_scene_fail(c->scene, c->error, here, "unknown key");
}

static sinew_status check_object(const checker *c, const json_t *object, const field *fields,
                                 const char *const *extra_paths, const char *place);

static sinew_status check_parameter(const checker *c, const sinew_parameter *parameter,
                                    const json_t *value, const char *place) {
    switch (parameter->kind) {
    case SINEW_PARAMETER_KIND_NUMBER:
    case SINEW_PARAMETER_KIND_INTEGER:
        return check_number(c, value, place, parameter->kind == SINEW_PARAMETER_KIND_INTEGER,
                            parameter->minimum, parameter->maximum);
    case SINEW_PARAMETER_KIND_FLAG:
        return json_is_boolean(value) ? SINEW_OK : wrong_kind(c, place, "true or false");
    case SINEW_PARAMETER_KIND_CHOICE:
        return check_word(c, value, place, parameter->choices);
    case SINEW_PARAMETER_KIND_TEXT:
    case SINEW_PARAMETER_KIND_FILE:
        return json_is_string(value) ? SINEW_OK : wrong_kind(c, place, "a text");
    case SINEW_PARAMETER_KIND_NUMBERS:
        return check_numbers(c, value, place, -1);
    }
    return SINEW_OK;
}

static sinew_status check_parameters(const checker *c, const json_t *object, const char *place) {
    if (!json_is_object(object)) return wrong_kind(c, place, "an object");
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
        if (found == count) return unknown_key(c, place, key, count, names);
        char here[PLACE_SIZE];
        extend(here, place, key);
        SN_TRY(check_parameter(c, &model->parameters[found], value, here));
    }
    return SINEW_OK;
}

static sinew_status check_map(const checker *c, const json_t *object, const char *place,
                              bool lists) {
    if (!json_is_object(object)) return wrong_kind(c, place, "an object of names");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        char here[PLACE_SIZE];
        extend(here, place, key);
        if (lists)
            SN_TRY(check_numbers(c, value, here, -1));
        else
            SN_TRY(check_number(c, value, here, false, 0, 0));
    }
    return SINEW_OK;
}

static sinew_status check_field(const checker *c, const field *f, const json_t *value,
                                const char *place) {
    switch (f->kind) {
    case TEXT:
    case PATH:
        return json_is_string(value) ? SINEW_OK : wrong_kind(c, place, "a text");
    case NUMBER:
    case INTEGER:
        return check_number(c, value, place, f->kind == INTEGER, f->minimum, f->maximum);
    case FLAG:
        return json_is_boolean(value) ? SINEW_OK : wrong_kind(c, place, "true or false");
    case CHOICE:
        return check_word(c, value, place, f->choices);
    case POINT:
        return check_numbers(c, value, place, 3);
    case NUMBERS:
        return check_numbers(c, value, place, -1);
    case TEXTS:
        if (!json_is_array(value)) return wrong_kind(c, place, "a list of texts");
        for (size_t i = 0; i < json_array_size(value); i++)
            if (!json_is_string(json_array_get(value, i)))
                return sn_scene_fail(c->scene, c->error, place, "element %zu is not a text", i);
        return SINEW_OK;
    case OBJECT:
        return check_object(c, value, f->fields, NULL, place);
    case OBJECTS:
        if (!json_is_array(value)) return wrong_kind(c, place, "a list of objects");
        for (size_t i = 0; i < json_array_size(value); i++) {
            char here[PLACE_SIZE];
            snprintf(here, sizeof here, "%.*s[%zu]", PLACE_SIZE - 24, place, i);
            SN_TRY(check_object(c, json_array_get(value, i), f->fields, NULL, here));
        }
        return SINEW_OK;
    case NUMBER_MAP:
        return check_map(c, value, place, false);
    case NUMBERS_MAP:
        return check_map(c, value, place, true);
    case PARAMETERS:
        return check_parameters(c, value, place);
    case OUTPUTS:
        return check_object(c, value, f->fields, c->model->outputs, place);
    case ANYTHING:
        return json_is_object(value) ? SINEW_OK : wrong_kind(c, place, "an object");
    }
    return SINEW_OK;
}

static sinew_status check_object(const checker *c, const json_t *object, const field *fields,
                                 const char *const *extra_paths, const char *place) {
    if (!json_is_object(object)) return wrong_kind(c, place, "an object");
    const char *names[64];
    int count = 0, extra = 0;
    for (; fields[count].name; count++) names[count] = fields[count].name;
    for (; extra_paths && extra_paths[extra]; extra++) names[count + extra] = extra_paths[extra];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        int found = 0;
        while (found < count + extra && strcmp(names[found], key)) found++;
        if (found == count + extra) return unknown_key(c, place, key, count + extra, names);
        char here[PLACE_SIZE];
        extend(here, place, key);
        if (found < count)
            SN_TRY(check_field(c, &fields[found], value, here));
        else if (!json_is_string(value))
            return wrong_kind(c, here, "a text");
    }
    for (const field *f = fields; f->name; f++)
        if (f->required && !json_object_get(object, f->name)) {
            char here[PLACE_SIZE];
            extend(here, place, f->name);
            return sn_scene_fail(c->scene, c->error, here, "is missing");
        }
    return SINEW_OK;
}

sinew_status sn_scene_check(const sinew_scene *scene, sinew_error *error) {
    const json_t *document = scene->document;
    if (!json_is_object(document))
        return sn_scene_fail(scene, error, "", "a scene is a JSON object");
    const json_t *version = json_object_get(document, "sinew");
    if (!version)
        return sn_scene_fail(scene, error, "sinew",
                             "is missing: a scene says the version of its format, \"sinew\": %d",
                             SINEW_SCENE_VERSION);
    if (json_is_integer(version) && json_integer_value(version) > SINEW_SCENE_VERSION)
        return sn_scene_fail(scene, error, "sinew", "version %lld is newer than this program's %d",
                             (long long)json_integer_value(version), SINEW_SCENE_VERSION);
    checker c = {scene, &sn_model_linear, error};
    const json_t *model = json_object_get(document, "model");
    if (json_is_string(model)) {
        c.model = sn_model_kind_find(json_string_value(model));
        if (!c.model) {
            const char *names[32];
            int count = sinew_model_count();
            for (int i = 0; i < count; i++) names[i] = sinew_model_at(i)->name;
            const char *nearest = sn_nearest_name(json_string_value(model), count, names);
            return sn_scene_fail(scene, error, "model", "there is no model '%s'%s%s%s",
                                 json_string_value(model), nearest ? "; did you mean '" : "",
                                 nearest ? nearest : "", nearest ? "'?" : "");
        }
    }
    return check_object(&c, document, scene_fields, NULL, "");
}

/* ---- the schema for machines ----------------------------------------------------------------- */

static json_t *describe_object(const field *fields);

static json_t *describe_number(bool whole, double minimum, double maximum) {
    json_t *schema = json_pack("{s:s}", "type", whole ? "integer" : "number");
    if (minimum == 0 && maximum == 0) return schema;
    json_object_set_new(schema, "minimum", json_real(minimum));
    if (maximum < HUGE_NUMBER) json_object_set_new(schema, "maximum", json_real(maximum));
    return schema;
}

static json_t *describe_words(const char *choices) {
    json_t *words = json_array();
    for (const char *word = choices; word; word = strchr(word, '|')) {
        word += *word == '|';
        json_array_append_new(words, json_stringn(word, strcspn(word, "|")));
    }
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

static json_t *describe_field(const field *f) {
    json_t *schema = NULL;
    switch (f->kind) {
    case TEXT:
    case PATH:
        schema = json_pack("{s:s}", "type", "string");
        break;
    case NUMBER:
    case INTEGER:
        schema = describe_number(f->kind == INTEGER, f->minimum, f->maximum);
        break;
    case FLAG:
        schema = json_pack("{s:s}", "type", "boolean");
        break;
    case CHOICE:
        schema = describe_words(f->choices);
        break;
    case POINT:
        schema = describe_list(json_pack("{s:s}", "type", "number"));
        json_object_set_new(schema, "minItems", json_integer(3));
        json_object_set_new(schema, "maxItems", json_integer(3));
        break;
    case NUMBERS:
        schema = describe_list(json_pack("{s:s}", "type", "number"));
        break;
    case TEXTS:
        schema = describe_list(json_pack("{s:s}", "type", "string"));
        break;
    case OBJECT:
        schema = describe_object(f->fields);
        break;
    case OBJECTS:
        schema = describe_list(describe_object(f->fields));
        break;
    case NUMBER_MAP:
        schema =
            json_pack("{s:s, s:{s:s}}", "type", "object", "additionalProperties", "type", "number");
        break;
    case NUMBERS_MAP:
        schema = json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                           describe_list(json_pack("{s:s}", "type", "number")));
        break;
    case PARAMETERS:
    case ANYTHING:
        schema = json_pack("{s:s}", "type", "object");
        break;
    case OUTPUTS:
        schema = describe_object(f->fields);
        for (int i = 0; i < sinew_model_count(); i++) {
            const char *const *names = sn_model_kind_find(sinew_model_at(i)->name)->outputs;
            for (; names && *names; names++)
                json_object_set_new(json_object_get(schema, "properties"), *names,
                                    json_pack("{s:s, s:s+}", "type", "string", "description",
                                              "of the model ", sinew_model_at(i)->name));
        }
        break;
    }
    json_object_set_new(schema, "description", json_string(f->help));
    return schema;
}

static json_t *describe_object(const field *fields) {
    json_t *properties = json_object(), *required = json_array();
    for (const field *f = fields; f->name; f++) {
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
    json_t *schema = describe_object(scene_fields);
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
    char *text = schema ? json_dumps(schema, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(schema);
    if (!text) return sn_no_memory(error);
    *json = sn_strdup(text);
    free(text);
    return *json ? SINEW_OK : sn_no_memory(error);
}
