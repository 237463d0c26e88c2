/* Many results at once, handed over in order: the frames of a clip whose model has no past.
 *
 * `make` computes an item on any thread into a slot; `take` receives the items one by one in
 * increasing order, always on the calling thread. Threads claim items one by one, so that none
 * waits for the slowest of a batch; the calling thread makes items, too, whenever there is nothing
 * to take. No more than `slots` results exist at the same time, so memory does not grow with the
 * number of items. Loops inside `make` run on the thread of their item if there are several seats.
 *
 * The outcome is that of a plain loop: when an item fails, all items before it are taken, none
 * after it, and its error is returned. A cancel ends the map at once. */
#ifndef SN_BASE_ORDERED_H
#define SN_BASE_ORDERED_H

#include "sinew/monitor.h"

typedef struct sn_ordered_map {
    int count;
    int slots; /* at least 1; two per seat keep the seats busy */
    int seats; /* threads at most, the caller's included; `make` sees 0 <= seat < seats */
    void *context;
    /* SINEW_OK and SINEW_NOT_CONVERGED are results; anything else ends the map. On the calling
     * thread the monitor is that of the call; on other threads it has neither progress nor log. */
    sinew_status (*make)(void *context, int index, int slot, int seat, const sinew_monitor *monitor,
                         sinew_error *error);
    sinew_status (*take)(void *context, int index, int slot, sinew_status made, sinew_error *error);
} sn_ordered_map;

/* SINEW_OK, SINEW_CANCELLED, or what `make` or `take` failed with. */
sinew_status sn_ordered_map_run(const sn_ordered_map *map, const sinew_monitor *monitor,
                                sinew_error *error);

#endif
