/* The monitor of the call that this thread makes. */
#ifndef SN_BASE_ENTERED_H
#define SN_BASE_ENTERED_H

#include "sinew/monitor.h"

/* The one that was entered last (base/monitor.h), or NULL: to begin a scope in the middle of a
 * call, so that the loops inside can be stopped. */
const sinew_monitor *sn_monitor_entered(void);

#endif
