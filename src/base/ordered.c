#include "base/ordered.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"

enum { POLL_NS = 2000000 }; /* polling interval of a waiting caller */
static const double ALONE =
    2e-3; /* seconds after which a caller without helpers asks for them again */

typedef struct item {
    bool made;
    sinew_status status;
    sinew_error error;
} item;

/* Items with taken <= index < next are finished or in progress; index % slots is their slot. */
typedef struct line {
    const sn_ordered_map *map;
    const sinew_monitor *monitor;
    pthread_t caller;
    pthread_mutex_t lock;
    pthread_cond_t ready; /* signaled when the oldest item is finished; the caller waits for it */
    pthread_cond_t
        room; /* signaled when a slot is free or nothing is left; the other threads wait for it */
    int next, taken;
    int end; /* no item at or after this index is started */
    int helpers;
    bool closed; /* the caller has left; no other thread may join */
    sinew_status status;
    sinew_error *error;
    atomic_bool stop;
    item *items; /* one per slot */
} line;

static bool is_result(sinew_status status) {
    return status == SINEW_OK || status == SINEW_NOT_CONVERGED;
}

static bool told_to_stop(void *user) {
    return atomic_load(&((line *)user)->stop);
}

/* On the calling thread an item gets the caller's monitor; elsewhere it does not. */
static sinew_status make_item(line *l, int index, int slot, int seat) {
    item *made = &l->items[slot];
    sinew_monitor quiet = {
        .cancelled = told_to_stop, .user = l, .strict = l->monitor && l->monitor->strict};
    bool own = pthread_equal(pthread_self(), l->caller);
    memset(&made->error, 0, sizeof made->error);
    return l->map->make(l->map->context, index, slot, seat, own ? l->monitor : &quiet,
                        &made->error);
}

/* Called with the lock held, like everything below. */
static void stop(line *l, sinew_status status) {
    if (l->status == SINEW_OK) l->status = status;
    l->end = l->taken;
    atomic_store(&l->stop, true);
    pthread_cond_broadcast(&l->room);
}

static void fail_with(line *l, const item *made) {
    if (l->error && l->status == SINEW_OK) *l->error = made->error;
    stop(l, made->status);
}

/* Releases the lock while the item is made. */
static void make_next(line *l, int seat) {
    int index = l->next++, slot = index % l->map->slots;
    item *made = &l->items[slot];
    pthread_mutex_unlock(&l->lock);
    sinew_status status = make_item(l, index, slot, seat);
    pthread_mutex_lock(&l->lock);
    made->status = status;
    made->made = true;
    if (status == SINEW_CANCELLED) fail_with(l, made); /* without waiting for earlier items */
    if (!is_result(status) && index < l->end) {
        l->end = index + 1;
        pthread_cond_broadcast(&l->room);
    }
    if (index == l->taken) pthread_cond_signal(&l->ready);
}

/* Takes the oldest item. Releases the lock meanwhile. */
static void take_next(line *l) {
    int index = l->taken, slot = index % l->map->slots;
    item *made = &l->items[slot];
    if (!is_result(made->status)) {
        fail_with(l, made);
        return;
    }
    pthread_mutex_unlock(&l->lock);
    sinew_status status = l->map->take(l->map->context, index, slot, made->status, l->error);
    pthread_mutex_lock(&l->lock);
    made->made = false;
    l->taken++;
    if (status != SINEW_OK)
        stop(l, status);
    else
        pthread_cond_signal(&l->room); /* one slot is free: wake one thread */
}

static bool is_cancelled(line *l) {
    pthread_mutex_unlock(&l->lock);
    bool cancelled = sn_cancelled(l->monitor);
    pthread_mutex_lock(&l->lock);
    if (!cancelled) return false;
    if (l->status == SINEW_OK) sn_fail(l->error, SINEW_CANCELLED, "cancelled");
    stop(l, SINEW_CANCELLED);
    return true;
}

static void wait_a_moment(line *l) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
    pthread_cond_timedwait(&l->ready, &l->lock, &until);
}

static bool has_room(const line *l) {
    return l->next < l->end && l->next - l->taken < l->map->slots;
}

/* The caller takes finished items, makes an item if there is room, and waits otherwise. Without
 * helpers it returns after a while, because helpers may have become free. */
static void lead(line *l) {
    double began = sn_now();
    pthread_mutex_lock(&l->lock);
    while (l->taken < l->end && !is_cancelled(l)) {
        if (l->taken < l->next && l->items[l->taken % l->map->slots].made)
            take_next(l);
        else if (has_room(l))
            make_next(l, 0);
        else
            wait_a_moment(l);
        if (l->map->seats > 1 && l->helpers == 0 && sn_now() - began > ALONE) break;
    }
    l->closed = true;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
}

static void help(line *l, int seat) {
    pthread_mutex_lock(&l->lock);
    l->helpers++;
    while (l->next < l->end && !l->closed) {
        if (has_room(l))
            make_next(l, seat);
        else
            pthread_cond_wait(&l->room, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
}

static void join_line(void *context, sn_span span) {
    line *l = context;
    pthread_mutex_lock(&l->lock);
    bool closed = l->closed; /* the pool offers all unclaimed seats to the caller */
    pthread_mutex_unlock(&l->lock);
    if (closed) return;
    if (span.seat == 0)
        lead(l);
    else
        help(l, span.seat);
}

/* Uses the library's own threads. */
static void run_together(line *l, int seats) {
    while (l->taken < l->end) {
        l->helpers = 0, l->closed = false;
        if (seats == 1)
            lead(l); /* not inside a loop: loops inside `make` can use all threads */
        else
            sn_parallel_together(seats, join_line, l);
    }
}

/* A host's task system may run tasks on threads other than the caller's, one after another. So its
 * tasks make a batch of items, which are then taken here. */
static void make_some(void *context, sn_span span) {
    line *l = context;
    SN_IN_SPAN(int, i, span) {
        int index = l->taken + i, slot = index % l->map->slots;
        item *made = &l->items[slot];
        made->status = atomic_load(&l->stop) ? sn_fail(&made->error, SINEW_CANCELLED, "cancelled")
                                             : make_item(l, index, slot, span.seat);
        if (made->status == SINEW_CANCELLED) atomic_store(&l->stop, true);
    }
}

static void run_in_batches(line *l, int seats) {
    while (l->taken < l->end) {
        int left = l->end - l->taken, count = left < l->map->slots ? left : l->map->slots;
        sn_parallel_for_seats(count, 1, seats, make_some, l);
        pthread_mutex_lock(&l->lock);
        for (int i = 0; i < count && l->status == SINEW_OK; i++)
            if (!is_cancelled(l)) take_next(l);
        pthread_mutex_unlock(&l->lock);
    }
}

sinew_status sn_ordered_map_run(const sn_ordered_map *map, const sinew_monitor *monitor,
                                sinew_error *error) {
    SN_REQUIRE(map->slots >= 1 && map->seats >= 1, error);
    line l = {.map = map,
              .monitor = monitor,
              .caller = pthread_self(),
              .end = map->count,
              .error = error,
              .items = SN_NEW0(item, map->slots)};
    if (!l.items) return sn_no_memory(error);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&l.lock, NULL);
    pthread_cond_init(&l.ready, &clock);
    pthread_cond_init(&l.room, NULL);
    pthread_condattr_destroy(&clock);
    int seats = map->seats < map->slots ? map->seats : map->slots;
    if (seats > map->count) seats = map->count;
    if (seats > 1 && sn_task_system())
        run_in_batches(&l, seats);
    else
        run_together(&l, seats);
    pthread_cond_destroy(&l.ready);
    pthread_cond_destroy(&l.room);
    pthread_mutex_destroy(&l.lock);
    sn_free(l.items);
    return l.status;
}
