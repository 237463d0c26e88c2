/* Inside the figures of a solve: the JSON object that models add to. */
#ifndef SN_SESSION_RECORDS_H
#define SN_SESSION_RECORDS_H

#include <jansson.h>
#include <stdbool.h>

#include "sinew/model.h"

struct sinew_figures {
    json_t *fields;
    bool incomplete; /* memory ran out while the frame, which is right, was described */
};

#endif
