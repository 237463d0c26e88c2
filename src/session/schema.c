/* The shape of a scene, as tables. The strict reader, the JSON schema for machines and the error
 * messages all come from them. A key that is not in its table is an error: a misspelt parameter
 * must not pass in silence. The "studio" key is the one place for what others keep in a scene. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/forms.h"
#include "base/json_text.h"
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
    sinew_cost cost;            /* of a change, at most */
} field;

#define END                                                                                        \
    { NULL, TEXT, NULL, false, 0, 0, NULL, NULL, SINEW_COST_NOTHING }
/* Larger than any coordinate or count that makes sense, and finite. */
#define HUGE_NUMBER 1e300
#define UNITS       "m|dm|cm|mm|in|ft"

static const field rig_fields[] = {
    {"files", TEXTS,
     "A rig file, or a neutral followed by target files, folders of targets and pose "
     "meshes.",
     false, 0, 0, NULL, NULL, SINEW_COST_RIG},
    {"sample", TEXT, "Name of a built-in rig to use instead of files.", false, 0, 0, NULL, NULL,
     SINEW_COST_RIG},
    {"vertices", INTEGER, "Approximate number of vertices of the built-in rig.", false, 1, 1e7,
     NULL, NULL, SINEW_COST_RIG},
    {"unit", CHOICE, "Unit of length of the rig (default m).", false, 0, 0, UNITS, NULL,
     SINEW_COST_STRUCTURE},
    {"regions", PATH, "JSON file {name: [vertices]} with additional regions.", false, 0, 0, NULL,
     NULL, SINEW_COST_RIG},
    END,
};

static const field curves_fields[] = {
    {"file", PATH, "Slider weights over time, CSV.", false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"times", NUMBERS, "Times in seconds, increasing; used with `values`.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"values", NUMBERS_MAP, "For each slider, one value per time.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"head", FLAG,
     "Rotate and move the whole head by the channels headYaw, headPitch, headRoll "
     "(radians), headX, headY and headZ (default true).",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const field time_fields[] = {
    {"fps", NUMBER, "Frames per second (default: the rate of the markers, otherwise 30).", false,
     1e-3, 1e5, NULL, NULL, SINEW_COST_STRUCTURE},
    {"from", NUMBER, "Start of the clip in seconds (default: start of the curves).", false, 0, 0,
     NULL, NULL, SINEW_COST_NOTHING},
    {"to", NUMBER, "End of the clip in seconds (default: end of the curves).", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    END,
};

static const field key_fields[] = {
    {"time", NUMBER, "Time in seconds.", true, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"pose", TEXT, "Name of a target, used at full weight, or of the neutral.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"weights", NUMBER_MAP, "Slider weights of the pose.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"velocity", NUMBER_MAP,
     "Velocity at the key, as changes of slider weights per second; {} stops the "
     "motion at the key.",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"inner", FLAG,
     "Treat the pose as a correction that the motion passes through without changing "
     "its modes.",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const field motion_fields[] = {
    {"time", NUMBER, "Time in seconds.", true, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"move", POINT, "Displacement from the initial position.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"turn", POINT, "Rotation about the center of the shape: axis times degrees.", false, 0, 0,
     NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const field obstacle_fields[] = {
    {"shape", CHOICE, "Shape of the obstacle.", true, 0, 0,
     "sphere|plane|capsule|cylinder|box|mesh|part", NULL, SINEW_COST_STRUCTURE},
    {"name", TEXT, "Name of the obstacle; for a part, the name of the part in the rig file.", false,
     0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"center", POINT, "Center of a sphere or box.", false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"radius", NUMBER, "Radius of a sphere, capsule or cylinder.", false, 1e-300, HUGE_NUMBER, NULL,
     NULL, SINEW_COST_NOTHING},
    {"point", POINT, "A point on the plane.", false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"normal", POINT, "Normal of the plane, pointing to the free side.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"from", POINT, "One end of the axis of a capsule or cylinder.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"to", POINT, "The other end of the axis of a capsule or cylinder.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"half", POINT, "Half the size of a box along x, y and z.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"file", PATH, "File of a mesh obstacle; its surface must be closed.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"frames", PATH, "Point cache with the motion of a mesh obstacle.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"motion", OBJECTS,
     "Motion of the obstacle: linear between keys, constant before the first and "
     "after the last.",
     false, 0, 0, NULL, motion_fields, SINEW_COST_NOTHING},
    {"enabled", FLAG, "Whether this entry is used (default true).", false, 0, 0, NULL, NULL,
     SINEW_COST_STRUCTURE},
    END,
};

static const field pin_fields[] = {
    {"select", TEXT, "Selection of vertices: v:1,5-9 | region:NAME | mask:FILE.", true, 0, 0, NULL,
     NULL, SINEW_COST_STRUCTURE},
    {"frames", PATH,
     "Point cache with the positions to follow (default: the linear blend; modal: the "
     "first key).",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"motion", OBJECTS,
     "modal: motion of the vertices, relative to their positions in the first key.", false, 0, 0,
     NULL, motion_fields, SINEW_COST_NOTHING},
    {"stiffness", NUMBER,
     "modal: stiffness of springs that pull the vertices, relative to the body "
     "(default: held exactly).",
     false, 0, HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const field orientation_fields[] = {
    {"select", TEXT, "Selection of vertices: v:1,5-9 | region:NAME | mask:FILE.", true, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"turn", POINT, "Rotation from the rest shape: axis times degrees (default: none).", false, 0,
     0, NULL, NULL, SINEW_COST_NOTHING},
    {"motion", OBJECTS, "The rotation over time, given by `turn` of each entry.", false, 0, 0, NULL,
     motion_fields, SINEW_COST_NOTHING},
    {"weight", NUMBER,
     "Weight of the orientation: 0 has no effect, 1 reaches it fully (default 1).", false, 0, 1,
     NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const field pull_fields[] = {
    {"vertex", INTEGER, "Index of the pulled vertex.", true, 0, 2e9, NULL, NULL,
     SINEW_COST_NOTHING},
    {"to", POINT, "Target position.", false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"frames", PATH,
     "Point cache from which the target position is read in each frame, instead of "
     "`to`.",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"stiffness", NUMBER,
     "Stiffness of the pull, relative to the mean spring (default: the vertex is held "
     "at the target).",
     false, 0, HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const field fiber_fields[] = {
    {"select", TEXT, "Selection of vertices: v:1,5-9 | region:NAME | mask:FILE.", true, 0, 0, NULL,
     NULL, SINEW_COST_STRUCTURE},
    {"direction", POINT, "Direction of the fibers in the neutral.", true, 0, 0, NULL, NULL,
     SINEW_COST_STRUCTURE},
    {"ratio", NUMBER, "Ratio of the stiffness along the fibers to the stiffness across them.", true,
     1e-3, 1e6, NULL, NULL, SINEW_COST_STRUCTURE},
    END,
};

static const field lock_fields[] = {
    {"name", TEXT, "Name of the lock.", true, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"select", TEXT, "Selection of vertices: v:1,5-9 | region:NAME | mask:FILE.", true, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"axes", TEXT, "Locked axes: any of x, y and z (default: all).", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"enabled", FLAG, "Whether this entry is used (default true).", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"weights", NUMBER_MAP,
     "Slider weights of the pose that the lock holds (default: the common pose of all "
     "locks).",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"at", NUMBER, "Time of the take, in seconds, whose pose the lock holds.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"from", NUMBER, "Time in seconds at which the lock begins to hold in a take.", false, 0, 0,
     NULL, NULL, SINEW_COST_NOTHING},
    {"to", NUMBER, "Time in seconds at which the lock has released.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"fade", NUMBER, "Duration in seconds of the fade in and out (default 0).", false, 0,
     HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const field attenuation_fields[] = {
    {"alpha", NUMBER,
     "Strength of the locks (default: the ratio of unlocked to locked coordinates).", false, 0,
     HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    {"strength", NUMBER, "Alpha as a multiple of its default (default 1).", false, 0, HUGE_NUMBER,
     NULL, NULL, SINEW_COST_NOTHING},
    {"ridge", NUMBER, "Penalty on slider changes.", false, 0, HUGE_NUMBER, NULL, NULL,
     SINEW_COST_NOTHING},
    {"dead_zone", NUMBER, "Ignore motion below this fraction of the bounding-box diagonal.", false,
     0, 1, NULL, NULL, SINEW_COST_NOTHING},
    {"trade", FLAG, "Allow the edited sliders to change too.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"keep", TEXTS, "Sliders of a take that do not change.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"few", NUMBER,
     "Preference for few responding sliders, from 0 (no preference) to 1 (none "
     "respond).",
     false, 0, 1, NULL, NULL, SINEW_COST_NOTHING},
    {"unbounded", FLAG, "Ignore the limits of sliders.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"published", FLAG, "Use the published method: no ridge, dead zone or limits.", false, 0, 0,
     NULL, NULL, SINEW_COST_NOTHING},
    {"corrective", FLAG, "Cancel the remaining locked motion by moving vertices of the frames.",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"at", NUMBER, "Time in seconds of the pose that is locked (default: the first frame).", false,
     0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"from", NUMBER_MAP, "Slider weights of the pose that is locked.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    END,
};

static const field markers_fields[] = {
    {"file", PATH, "Marker trajectories.", true, 0, 0, NULL, NULL, SINEW_COST_STRUCTURE},
    {"map", PATH, "CSV file with the positions of the markers on the surface.", false, 0, 0, NULL,
     NULL, SINEW_COST_STRUCTURE},
    {"unit", CHOICE,
     "Unit of length of the markers (default: the unit in the file, otherwise that of "
     "the rig).",
     false, 0, 0, UNITS, NULL, SINEW_COST_STRUCTURE},
    {"truth", PATH, "Point cache to compare the result with.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    END,
};

static const field output_fields[] = {
    {"frames", TEXTS, "Files for the frames; the extension selects the format.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"report", PATH, "Report of the run, JSON.", false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"curves", PATH, "Slider weights of the frames, after locks, CSV.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    END,
};

static const field scene_fields[] = {
    {"sinew", INTEGER, "Version of the scene format.", true, 1, 1e6, NULL, NULL, SINEW_COST_RIG},
    {"strict", FLAG,
     "Fail if a missing or failing program would change the result (default: continue "
     "without it and report it).",
     false, 0, 0, NULL, NULL, SINEW_COST_STRUCTURE},
    {"rig", OBJECT, "The rig.", false, 0, 0, NULL, rig_fields, SINEW_COST_RIG},
    {"model", TEXT, "Name of the model (default linear).", false, 0, 0, NULL, NULL,
     SINEW_COST_STRUCTURE},
    {"parameters", PARAMETERS, "Parameters of the model.", false, 0, 0, NULL, NULL,
     SINEW_COST_STRUCTURE},
    {"weights", NUMBER_MAP, "Slider weights of a single shape, or of the last step.", false, 0, 0,
     NULL, NULL, SINEW_COST_NOTHING},
    {"steps", INTEGER, "Number of steps from the first pose to the second, or to `weights`.", false,
     1, 1e7, NULL, NULL, SINEW_COST_NOTHING},
    {"curves", OBJECT, "Slider weights over time.", false, 0, 0, NULL, curves_fields,
     SINEW_COST_NOTHING},
    {"keys", OBJECTS, "Key poses over time.", false, 0, 0, NULL, key_fields, SINEW_COST_NOTHING},
    {"markers", OBJECT, "Captured markers.", false, 0, 0, NULL, markers_fields,
     SINEW_COST_STRUCTURE},
    {"time", OBJECT, "Frame rate and range of the clip.", false, 0, 0, NULL, time_fields,
     SINEW_COST_STRUCTURE},
    {"obstacles", OBJECTS, "Obstacles.", false, 0, 0, NULL, obstacle_fields, SINEW_COST_STRUCTURE},
    {"pins", OBJECTS, "Pinned vertices.", false, 0, 0, NULL, pin_fields, SINEW_COST_STRUCTURE},
    {"orientations", OBJECTS, "Regions guided to an orientation.", false, 0, 0, NULL,
     orientation_fields, SINEW_COST_NOTHING},
    {"pulls", OBJECTS, "Vertices pulled to a position.", false, 0, 0, NULL, pull_fields,
     SINEW_COST_STRUCTURE},
    {"fibers", OBJECTS, "Regions that are stiffer in one direction.", false, 0, 0, NULL,
     fiber_fields, SINEW_COST_STRUCTURE},
    {"locks", OBJECTS, "Vertices that sliders must not move.", false, 0, 0, NULL, lock_fields,
     SINEW_COST_NOTHING},
    {"attenuation", OBJECT, "Settings of the locks.", false, 0, 0, NULL, attenuation_fields,
     SINEW_COST_NOTHING},
    {"outputs", OUTPUTS, "Output files.", false, 0, 0, NULL, output_fields, SINEW_COST_NOTHING},
    {"notes", TEXT, "Free text for readers of the file.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"studio", ANYTHING, "Camera and layout of the studio.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
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
    int used = snprintf(out, PLACE_SIZE, "%s/", place);
    for (const char *c = key; *c && used < PLACE_SIZE - 5; c++) {
        if (*c == '~' || *c == '/') out[used++] = '~';
        out[used++] = *c == '~' ? '0' : *c == '/' ? '1' : *c;
    }
    out[used < PLACE_SIZE ? used : PLACE_SIZE - 1] = '\0';
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
    if (text && sn_choice_index(choices, text) >= 0) return SINEW_OK;
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
        return json_is_string(value) ? SINEW_OK : wrong_kind(c, place, "a string");
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
    if (!json_is_object(object)) return wrong_kind(c, place, "an object that maps names to values");
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
        return json_is_string(value) ? SINEW_OK : wrong_kind(c, place, "a string");
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
        if (!json_is_array(value)) return wrong_kind(c, place, "a list of strings");
        for (size_t i = 0; i < json_array_size(value); i++)
            if (!json_is_string(json_array_get(value, i)))
                return sn_scene_fail(c->scene, c->error, place, "element %zu is not a string", i);
        return SINEW_OK;
    case OBJECT:
        return check_object(c, value, f->fields, NULL, place);
    case OBJECTS:
        if (!json_is_array(value)) return wrong_kind(c, place, "a list of objects");
        for (size_t i = 0; i < json_array_size(value); i++) {
            char here[PLACE_SIZE];
            snprintf(here, sizeof here, "%.*s/%zu", PLACE_SIZE - 24, place, i);
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
            return wrong_kind(c, here, "a string");
    }
    for (const field *f = fields; f->name; f++)
        if (f->required && !json_object_get(object, f->name)) {
            char here[PLACE_SIZE];
            extend(here, place, f->name);
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
    return check_object(&c, document, scene_fields, NULL, "");
}

/* ---- checking what a patch touched ----------------------------------------------------------- */

static const field *find_field(const field *fields, const char *name) {
    for (; fields->name; fields++)
        if (!strcmp(fields->name, name)) return fields;
    return NULL;
}

static const json_t *element_at(const json_t *array, const char *token) {
    return json_array_get(array, (size_t)strtoul(token, NULL, 10));
}

/* The rest of a location below a field that holds no objects: lists and maps of plain values. */
static sinew_status check_leaf(const checker *c, const field *f, const json_t *value, int depth,
                               const char *const *tokens, const char *place) {
    char here[PLACE_SIZE];
    extend(here, place, tokens[0]);
    const json_t *inner =
        json_is_array(value) ? element_at(value, tokens[0]) : json_object_get(value, tokens[0]);
    if (f->kind == ANYTHING || !inner) return SINEW_OK;
    if (f->kind == NUMBERS || f->kind == NUMBER_MAP)
        return check_number(c, inner, here, false, 0, 0);
    if (f->kind != NUMBERS_MAP) return check_field(c, f, value, place);
    if (depth == 1) return check_numbers(c, inner, here, -1);
    char element[PLACE_SIZE];
    extend(element, here, tokens[1]);
    const json_t *number = element_at(inner, tokens[1]);
    return number ? check_number(c, number, element, false, 0, 0) : SINEW_OK;
}

static sinew_status check_parameter_at(const checker *c, const json_t *parameters, int depth,
                                       const char *const *tokens, const char *place,
                                       sinew_cost *cost) {
    const sinew_parameter *parameter = sinew_model_find_parameter(&c->model->about, tokens[0]);
    if (!parameter) return check_parameters(c, parameters, place); /* names the nearest */
    *cost = parameter->cost;
    char here[PLACE_SIZE], element[PLACE_SIZE];
    extend(here, place, tokens[0]);
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
    const field *fields = scene_fields;
    char place[PLACE_SIZE] = "", here[PLACE_SIZE];
    for (int i = 0; i < depth;) {
        const field *f = find_field(fields, tokens[i]);
        if (!f) return check_object(&c, object, fields, NULL, place); /* names the nearest */
        *cost = f->cost;
        extend(here, place, tokens[i]);
        memcpy(place, here, sizeof place);
        const json_t *value = json_object_get(object, tokens[i++]);
        if (!value)
            return f->required ? sn_scene_fail(scene, error, place, "is missing") : SINEW_OK;
        if (i == depth) {
            if (fields == scene_fields && !strcmp(f->name, "model")) {
                SN_TRY(check_model(scene, error));
                const json_t *own[2] = {json_object_get(object, "parameters"),
                                        json_object_get(object, "outputs")};
                if (own[0]) SN_TRY(check_parameters(&c, own[0], "/parameters"));
                if (own[1])
                    SN_TRY(check_object(&c, own[1], output_fields, c.model->outputs, "/outputs"));
            }
            return check_field(&c, f, value, place);
        }
        if (f->kind == PARAMETERS)
            return check_parameter_at(&c, value, depth - i, tokens + i, place, cost);
        if (f->kind == OUTPUTS) return check_field(&c, f, value, place);
        if (f->kind == OBJECTS) {
            extend(here, place, tokens[i]);
            memcpy(place, here, sizeof place);
            value = element_at(value, tokens[i++]);
            if (!value) return SINEW_OK;
            if (i == depth) return check_object(&c, value, f->fields, NULL, place);
        } else if (f->kind != OBJECT) {
            return check_leaf(&c, f, value, depth - i, tokens + i, place);
        }
        object = value;
        fields = f->fields;
        if (!json_is_object(object)) return wrong_kind(&c, place, "an object");
    }
    return SINEW_OK;
}

int sn_scene_key_bit(const char *name) {
    for (int i = 0; scene_fields[i].name; i++)
        if (scene_fields[i].name[0] == name[0] && !strcmp(scene_fields[i].name, name)) return i;
    return -1;
}

bool sn_has_changed(uint32_t changed, const char *key) {
    return changed >> sn_scene_key_bit(key) & 1;
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
                                              "Output of the model ", sinew_model_at(i)->name));
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
    sn_json_free(text);
    return *json ? SINEW_OK : sn_no_memory(error);
}
