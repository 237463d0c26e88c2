/* A monitor for any call.
 *
 * Calls that take milliseconds on most meshes have no monitor parameter: a slider space, a query,
 * an obstacle made of a mesh. On meshes of a million vertices they take seconds. Run them inside
 * sinew_call_monitored to be able to cancel them. */
#ifndef SINEW_MONITORED_H
#define SINEW_MONITORED_H

#include "sinew/monitor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes calls into the library; returns SINEW_OK or the status of the call that failed. */
typedef sinew_status sinew_monitored_function(void *user, sinew_error *error);

/* Calls function(user, error). Every call into the library that it makes on this thread polls the
 * monitor, whether or not it has a monitor parameter. When the monitor cancels, these calls fail,
 * and sinew_call_monitored returns SINEW_CANCELLED whatever the function returns: objects that it
 * created must then be destroyed, not used. monitor NULL: an ordinary call. */
SINEW_API sinew_status sinew_call_monitored(const sinew_monitor *monitor,
                                            sinew_monitored_function *function, void *user,
                                            sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
