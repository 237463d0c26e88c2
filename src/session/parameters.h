/* Rows of an adapter's table of parameters (sinew_parameter), for src/session/model_NAME.c. */
#ifndef SN_SESSION_PARAMETERS_H
#define SN_SESSION_PARAMETERS_H

#include "sinew/model.h"

/* The first argument of every row is the cost of a change: NOTHING, STATE or STRUCTURE. */
#define NUMBER(cost, name, fallback, low, high, unit, help)                                        \
    SN_PARAMETER(cost, name, NUMBER, fallback, low, high, NULL, unit, help)
#define INTEGER(cost, name, fallback, low, high, help)                                             \
    SN_PARAMETER(cost, name, INTEGER, fallback, low, high, NULL, "", help)
#define FLAG(cost, name, fallback, help)                                                           \
    SN_PARAMETER(cost, name, FLAG, fallback, 0, 0, NULL, "", help)
/* choices "a|b|c"; fallback counts from 0 */
#define CHOICE(cost, name, fallback, choices, help)                                                \
    SN_PARAMETER(cost, name, CHOICE, fallback, 0, 0, choices, "", help)
#define TEXT(cost, name, help)          SN_PARAMETER(cost, name, TEXT, 0, 0, 0, NULL, "", help)
#define PATH(cost, name, help)          SN_PARAMETER(cost, name, FILE, 0, 0, 0, NULL, "", help)
#define NUMBERS(cost, name, unit, help) SN_PARAMETER(cost, name, NUMBERS, 0, 0, 0, NULL, unit, help)

#define SN_PARAMETER(cost, name, kind, fallback, low, high, choices, unit, help)                   \
    {                                                                                              \
        sizeof(sinew_parameter), name, SINEW_PARAMETER_KIND_##kind, SINEW_COST_##cost, fallback,   \
            low, high, choices, unit, help                                                         \
    }

#endif
