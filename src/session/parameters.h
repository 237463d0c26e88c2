/* Rows of an adaptor's table of parameters (sinew_parameter), for src/session/model_NAME.c. */
#ifndef SN_SESSION_PARAMETERS_H
#define SN_SESSION_PARAMETERS_H

#include "sinew/scene.h"

#define NUMBER(name, fallback, low, high, unit, help)                                              \
    { name, SINEW_PARAMETER_NUMBER, fallback, low, high, NULL, unit, help }
#define INTEGER(name, fallback, low, high, help)                                                   \
    { name, SINEW_PARAMETER_INTEGER, fallback, low, high, NULL, "", help }
#define FLAG(name, fallback, help)                                                                 \
    { name, SINEW_PARAMETER_FLAG, fallback, 0, 0, NULL, "", help }
/* choices "a|b|c"; fallback counts from 0 */
#define CHOICE(name, fallback, choices, help)                                                      \
    { name, SINEW_PARAMETER_CHOICE, fallback, 0, 0, choices, "", help }
#define TEXT(name, help)                                                                           \
    { name, SINEW_PARAMETER_TEXT, 0, 0, 0, NULL, "", help }
#define PATH(name, help)                                                                           \
    { name, SINEW_PARAMETER_FILE, 0, 0, 0, NULL, "", help }
#define NUMBERS(name, unit, help)                                                                  \
    { name, SINEW_PARAMETER_NUMBERS, 0, 0, 0, NULL, unit, help }

#endif
