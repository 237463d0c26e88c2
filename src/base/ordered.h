/* An ordered parallel map: items are computed on several threads and delivered in order, for
 * example the frames of a clip whose model has no state.
 *
 * `make` computes an item into a slot on any thread; `take` receives the items one by one in
 * increasing order, always on the calling thread. Threads claim items one at a time, so none waits
 * for the slowest of a batch; the calling thread also makes items whenever there is nothing to
 * take. At most `slots` results exist at the same time, so memory use does not grow with the number
 * of items. With several seats, loops inside `make` run on the thread of their item.
 *
 * The outcome is the same as for a plain loop: if an item fails, all items before it are taken and
 * none after it, and its error is returned. Cancellation ends the map at once. */
#ifndef SN_BASE_ORDERED_H
#define SN_BASE_ORDERED_H

#include "sinew/monitor.h"

typedef struct sn_ordered_map {
    int count;
    int slots; /* at least 1; two per seat keep the seats busy */
    int seats; /* maximum number of threads, including the caller's; `make` sees 0 <= seat < seats
                */
    void *context;
    /* SINEW_OK and SINEW_NOT_CONVERGED are results; anything else ends the map. On the calling
     * thread the monitor is the caller's; on other threads it has no progress or log callbacks. */
    sinew_status (*make)(void *context, int index, int slot, int seat, const sinew_monitor *monitor,
                         sinew_error *error);
    sinew_status (*take)(void *context, int index, int slot, sinew_status made, sinew_error *error);
} sn_ordered_map;

/* Returns SINEW_OK, SINEW_CANCELLED, or the status with which `make` or `take` failed. */
sinew_status sn_ordered_map_run(const sn_ordered_map *map, const sinew_monitor *monitor,
                                sinew_error *error);

#endif
