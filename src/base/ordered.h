/* Many results at once, handed over in order: the frames of a clip whose model has no past.
 *
 * `make` computes an item on any thread into a slot, `take` receives the items one by one in
 * increasing order, always on the calling thread. No more than `slots` results exist at the same
 * time, so memory does not grow with the number of items. Loops inside `make` run on the thread of
 * their item.
 *
 * The outcome is that of a plain loop: when an item fails, all items before it are taken, none
 * after it, and its error is returned. */
#ifndef SN_BASE_ORDERED_H
#define SN_BASE_ORDERED_H

#include "sinew/monitor.h"

enum { SN_ORDERED_SLOTS = 256 };

typedef struct sn_ordered_map {
    int count;
    int slots; /* 1 … SN_ORDERED_SLOTS; two per seat keep the seats busy */
    int seats; /* threads at most, the caller's included; `make` sees 0 <= seat < seats */
    void *context;
    /* SINEW_OK and SINEW_NOT_CONVERGED are results; anything else ends the map. The monitor says
     * when to stop; on other threads than the caller's it has no progress and no log. */
    sinew_status (*make)(void *context, int index, int slot, int seat, const sinew_monitor *monitor,
                         sinew_error *error);
    sinew_status (*take)(void *context, int index, int slot, sinew_status made, sinew_error *error);
} sn_ordered_map;

/* SINEW_OK, SINEW_CANCELLED, or what `make` or `take` failed with. */
sinew_status sn_ordered_map_run(const sn_ordered_map *map, const sinew_monitor *monitor,
                                sinew_error *error);

#endif
