/* Locks that hold over a part of a take, with fades. */
#ifndef SN_SESSION_LOCK_TIMES_H
#define SN_SESSION_LOCK_TIMES_H

#include "session/clip.h"
#include "sinew/lock.h"

/* When each lock holds: from 0 outside to 1 inside, linear over `fade` seconds inside its ends. */
typedef struct sn_lock_times {
    int count;
    char **names;
    double *from, *to, *fade; /* seconds; infinite: no end */
    bool timed;               /* some lock has an end */
} sn_lock_times;

sinew_status sn_lock_times_add(sn_lock_times *times, const sinew_scene *scene, const json_t *lock,
                               int index, sinew_error *error);
void sn_lock_times_free(sn_lock_times *times);

/* curves to *filtered with every lock at its strength of the time. Between locks that are on and
 * off weights are blended, so a fade is linear in the weights. */
sinew_status sn_lock_times_filter(const sn_lock_times *times, sinew_locks *locks,
                                  const sinew_curves *curves, const bool *keep,
                                  sinew_curves **filtered, sinew_lock_filter_info *info,
                                  const sinew_monitor *monitor, sinew_error *error);

#endif
