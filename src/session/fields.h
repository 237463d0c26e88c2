/* The shape of a scene, as tables. The strict reader (schema.c), the JSON schema for machines
 * (schema_json.c) and the error messages all come from them. */
#ifndef SN_SESSION_FIELDS_H
#define SN_SESSION_FIELDS_H

#include <stdbool.h>

#include "sinew/model.h"

/* Larger than any coordinate, stiffness or count that makes sense; its powers in the models are
 * finite. */
#define SN_HUGE_NUMBER 1e15

typedef enum sn_field_kind {
    SN_FIELD_TEXT,
    SN_FIELD_PATH,
    SN_FIELD_NUMBER,
    SN_FIELD_INTEGER,
    SN_FIELD_FLAG,
    SN_FIELD_CHOICE,      /* words in `choices` */
    SN_FIELD_POINT,       /* three numbers */
    SN_FIELD_NUMBERS,     /* a list of numbers */
    SN_FIELD_TEXTS,       /* a list of texts, at least one */
    SN_FIELD_OBJECT,      /* of `fields` */
    SN_FIELD_OBJECTS,     /* a list of objects of `fields` */
    SN_FIELD_NUMBER_MAP,  /* any names to numbers */
    SN_FIELD_NUMBERS_MAP, /* any names to lists of numbers */
    SN_FIELD_PARAMETERS,  /* of the scene's model */
    SN_FIELD_OUTPUTS,     /* `fields` and the outputs of the scene's model */
    SN_FIELD_ANYTHING     /* an object that other programs maintain */
} sn_field_kind;

typedef struct sn_field {
    const char *name;
    sn_field_kind kind;
    const char *help;
    bool required;
    double minimum, maximum; /* both 0: no limits */
    const char *choices;
    const struct sn_field *fields; /* ended by a NULL name */
    sinew_cost cost;               /* of a change, at most */
} sn_field;

/* The keys of a scene, ended by a NULL name. */
extern const sn_field sn_scene_fields[];

#endif
