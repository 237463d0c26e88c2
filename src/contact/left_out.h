/* The warning that says which triangles take no part in contact. */
#ifndef SN_CONTACT_LEFT_OUT_H
#define SN_CONTACT_LEFT_OUT_H

#include "contact/pairs.h"
#include "sinew/mesh.h"
#include "sinew/monitor.h"

/* Of the triangles whose corners are all `inside` (NULL: all), `dropped` take no part: logs how
 * many these are, and the parts with most of them. */
sinew_status sn_contact_log_left_out(const sinew_mesh *mesh, const bool *inside,
                                     const sn_contact_surface *surface, int dropped,
                                     const sinew_monitor *monitor, sinew_error *error);

#endif
