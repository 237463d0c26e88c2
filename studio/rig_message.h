/* A rig as pages draw it: sliders, regions, parts and the neutral's triangles. */
#ifndef STUDIO_RIG_MESSAGE_H
#define STUDIO_RIG_MESSAGE_H

#include <jansson.h>

#include <sinew/sinew.h>

#include "net.h"

/* example: whose rig it is, or NULL. NULL when memory is short. */
net_message *rig_message(const sinew_rig *rig, const char *type, const char *example);

/* JSON knows no infinity. */
json_t *number_or_null(double value);

#endif
