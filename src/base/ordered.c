#include "base/ordered.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"

enum { POLL_NS = 5000000 }; /* a caller that waits looks at its monitor this often */

typedef struct item {
    enum { FREE, BEING_MADE, MADE } stage;
    sinew_status status;
    sinew_error error;
} item;

/* Items taken <= index < next are being made or made; index % slots is their slot. */
typedef struct line {
    const sn_ordered_map *map;
    const sinew_monitor *monitor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int next, taken;
    int end; /* no item from here on is begun */
    sinew_status status;
    sinew_error *error;
    atomic_bool stop;
    item items[SN_ORDERED_SLOTS];
} line;

static bool is_result(sinew_status status) {
    return status == SINEW_OK || status == SINEW_NOT_CONVERGED;
}

static bool told_to_stop(void *user) {
    return atomic_load(&((line *)user)->stop);
}

static void stop(line *l, sinew_status status) {
    if (l->status == SINEW_OK) l->status = status;
    l->end = l->taken;
    atomic_store(&l->stop, true);
    pthread_cond_broadcast(&l->changed);
}

/* With the lock held; gives it up meanwhile. */
static void make_next(line *l, int seat) {
    int index = l->next++, slot = index % l->map->slots;
    item *made = &l->items[slot];
    sinew_monitor quiet = {.cancelled = told_to_stop, .user = l};
    made->stage = BEING_MADE;
    pthread_mutex_unlock(&l->lock);
    memset(&made->error, 0, sizeof made->error);
    sinew_status status = l->map->make(l->map->context, index, slot, seat,
                                       seat == 0 ? l->monitor : &quiet, &made->error);
    pthread_mutex_lock(&l->lock);
    made->status = status;
    made->stage = MADE;
    if (!is_result(status) && index < l->end) l->end = index + 1;
    pthread_cond_broadcast(&l->changed);
}

/* The same for the oldest result, by the caller. */
static void take_next(line *l) {
    int index = l->taken, slot = index % l->map->slots;
    item *made = &l->items[slot];
    if (!is_result(made->status)) {
        if (l->error) *l->error = made->error;
        stop(l, made->status);
        return;
    }
    pthread_mutex_unlock(&l->lock);
    sinew_status status = l->map->take(l->map->context, index, slot, made->status, l->error);
    pthread_mutex_lock(&l->lock);
    made->stage = FREE;
    l->taken++;
    if (status != SINEW_OK)
        stop(l, status);
    else
        pthread_cond_broadcast(&l->changed);
}

static void wait_a_moment(line *l) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
    pthread_cond_timedwait(&l->changed, &l->lock, &until);
    if (sn_cancelled(l->monitor)) {
        sn_fail(l->error, SINEW_CANCELLED, "cancelled");
        stop(l, SINEW_CANCELLED);
    }
}

/* The caller takes what is there, makes an item where it may, and waits for the rest. */
static void lead(line *l) {
    pthread_mutex_lock(&l->lock);
    while (l->taken < l->end) {
        if (l->items[l->taken % l->map->slots].stage == MADE && l->taken < l->next)
            take_next(l);
        else if (l->next < l->end && l->next - l->taken < l->map->slots)
            make_next(l, 0);
        else
            wait_a_moment(l);
    }
    pthread_mutex_unlock(&l->lock);
}

static void help(line *l, int seat) {
    pthread_mutex_lock(&l->lock);
    while (l->next < l->end) {
        if (l->next - l->taken < l->map->slots)
            make_next(l, seat);
        else
            pthread_cond_wait(&l->changed, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
}

static void join_line(void *context, sn_span span) {
    if (span.seat == 0)
        lead(context);
    else
        help(context, span.seat);
}

/* Task systems of hosts may run tasks on threads that are not the caller's: a batch of items is
 * made by their tasks, then taken here. */
static void make_some(void *context, sn_span span) {
    line *l = context;
    SN_IN_SPAN(int, i, span) {
        int index = l->taken + i, slot = index % l->map->slots;
        sinew_monitor quiet = {.cancelled = told_to_stop, .user = l};
        memset(&l->items[slot].error, 0, sizeof l->items[slot].error);
        l->items[slot].status =
            l->map->make(l->map->context, index, slot, span.seat, &quiet, &l->items[slot].error);
    }
}

static void run_in_batches(line *l) {
    while (l->taken < l->end && l->status == SINEW_OK) {
        int left = l->end - l->taken, count = left < l->map->slots ? left : l->map->slots;
        sn_parallel_for_seats(count, 1, l->map->seats, make_some, l);
        for (int i = 0; i < count && l->status == SINEW_OK; i++) {
            if (sn_cancelled(l->monitor)) {
                sn_fail(l->error, SINEW_CANCELLED, "cancelled");
                stop(l, SINEW_CANCELLED);
            } else {
                take_next(l);
            }
        }
    }
}

sinew_status sn_ordered_map_run(const sn_ordered_map *map, const sinew_monitor *monitor,
                                sinew_error *error) {
    SN_REQUIRE(map->slots >= 1 && map->slots <= SN_ORDERED_SLOTS && map->seats >= 1, error);
    line l = {.map = map, .monitor = monitor, .end = map->count, .error = error};
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&l.lock, NULL);
    pthread_cond_init(&l.changed, &clock);
    pthread_condattr_destroy(&clock);
    int seats = map->seats < map->slots ? map->seats : map->slots;
    if (seats > map->count) seats = map->count;
    if (sn_task_system()) {
        pthread_mutex_lock(&l.lock);
        run_in_batches(&l);
        pthread_mutex_unlock(&l.lock);
    } else {
        sn_parallel_together(seats, join_line, &l);
    }
    pthread_cond_destroy(&l.changed);
    pthread_mutex_destroy(&l.lock);
    return l.status;
}
