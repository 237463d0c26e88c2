/* Results in order, however many threads make them. */
#include "base/ordered.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/parallel.h"
#include "base/status.h"
#include "groups.h"
#include "sinew/threads.h"
#include "support.h"

enum { ITEMS = 200, SLOTS = 6 };

typedef struct work {
    int results[SLOTS];
    int taken[ITEMS], taken_count;
    atomic_int made, alive, most_alive;
    atomic_int seat_users[SINEW_MAX_THREADS];
    atomic_bool shared, moved;
    pthread_t caller;
    int fails_at, take_fails_at, cancel_at;
} work;

static void spend(int amount) {
    for (volatile int i = 0; i < amount; i++) {
    }
}

static void inner(void *context, sn_span span) {
    atomic_fetch_add((atomic_int *)context, (int)(span.end - span.begin));
}

static sinew_status make(void *context, int index, int slot, int seat, const sinew_monitor *monitor,
                         sinew_error *error) {
    work *w = context;
    if (atomic_fetch_add(&w->seat_users[seat], 1)) atomic_store(&w->shared, true);
    int alive = atomic_fetch_add(&w->alive, 1) + 1;
    if (alive > atomic_load(&w->most_alive)) atomic_store(&w->most_alive, alive);
    spend(1000 * (1 + index * 7919 % 13)); /* items differ */
    atomic_int sum = 0;
    sn_parallel_for(index, 1, inner, &sum);
    w->results[slot] = atomic_load(&sum) * 3;
    atomic_fetch_add(&w->made, 1);
    atomic_fetch_sub(&w->seat_users[seat], 1);
    if (index == w->fails_at) return sn_fail(error, SINEW_BAD_INPUT, "item %d", index);
    if (monitor && monitor->cancelled && monitor->cancelled(monitor->user))
        return sn_fail(error, SINEW_CANCELLED, "cancelled");
    return index % 10 == 3 ? SINEW_NOT_CONVERGED : SINEW_OK;
}

static sinew_status take(void *context, int index, int slot, sinew_status made,
                         sinew_error *error) {
    work *w = context;
    assert_int_equal(made, index % 10 == 3 ? SINEW_NOT_CONVERGED : SINEW_OK);
    assert_int_equal(w->results[slot], 3 * index);
    if (!pthread_equal(pthread_self(), w->caller)) atomic_store(&w->moved, true);
    w->taken[w->taken_count++] = index;
    atomic_fetch_sub(&w->alive, 1);
    if (index == w->take_fails_at) return sn_fail(error, SINEW_IO, "disk full at %d", index);
    return SINEW_OK;
}

static bool cancel_later(void *user) {
    const work *w = user;
    return w->cancel_at >= 0 && w->taken_count >= w->cancel_at;
}

static sinew_status run(work *w, int count, int seats, int fails_at, int take_fails_at,
                        int cancel_at, sinew_error *error) {
    memset(w, 0, sizeof *w);
    w->caller = pthread_self();
    w->fails_at = fails_at, w->take_fails_at = take_fails_at, w->cancel_at = cancel_at;
    sn_ordered_map map = {count, SLOTS, seats, w, make, take};
    sinew_monitor monitor = {.cancelled = cancel_later, .user = w};
    return sn_ordered_map_run(&map, &monitor, error);
}

static void check_order(const work *w, int count) {
    assert_int_equal(w->taken_count, count);
    for (int i = 0; i < count; i++) assert_int_equal(w->taken[i], i);
    assert_true(atomic_load(&w->most_alive) <= SLOTS);
    assert_false(atomic_load(&w->shared));
    assert_false(atomic_load(&w->moved));
}

static const int seat_counts[] = {1, 2, 3, 8, 33};

static void results_come_in_order_on_the_calling_thread(void **state) {
    (void)state;
    sinew_error error = {0};
    work *w = malloc(sizeof *w);
    for (int k = 0; k < 5; k++)
        for (int count = 0; count <= ITEMS; count += count < 8 ? 1 : 96) {
            sinew_set_threads(seat_counts[k]);
            assert_ok(run(w, count, seat_counts[k], -1, -1, -1, &error));
            check_order(w, count);
            assert_int_equal(atomic_load(&w->made), count);
        }
    sinew_set_threads(0);
    free(w);
}

static void failing_item_ends_the_map_after_those_before_it(void **state) {
    (void)state;
    sinew_error error = {0};
    work *w = malloc(sizeof *w);
    for (int k = 0; k < 5; k++) {
        sinew_set_threads(seat_counts[k]);
        assert_int_equal(run(w, ITEMS, seat_counts[k], 57, -1, -1, &error), SINEW_BAD_INPUT);
        assert_string_equal(error.message, "item 57");
        check_order(w, 57);
        assert_int_equal(run(w, ITEMS, seat_counts[k], -1, 31, -1, &error), SINEW_IO);
        assert_string_equal(error.message, "disk full at 31");
        check_order(w, 32);
    }
    sinew_set_threads(0);
    free(w);
}

static void cancelled_map_stops(void **state) {
    (void)state;
    sinew_error error = {0};
    work *w = malloc(sizeof *w);
    for (int k = 0; k < 5; k++) {
        sinew_set_threads(seat_counts[k]);
        assert_int_equal(run(w, ITEMS, seat_counts[k], -1, -1, 40, &error), SINEW_CANCELLED);
        assert_true(w->taken_count >= 40 && w->taken_count < ITEMS);
        check_order(w, w->taken_count);
        assert_ok(run(w, ITEMS, seat_counts[k], -1, -1, -1, &error)); /* and the pool goes on */
        check_order(w, ITEMS);
    }
    sinew_set_threads(0);
    free(w);
}

static void one_after_another(void *user, int count, sinew_task *task, void *data) {
    (void)user;
    for (int i = count - 1; i >= 0; i--) task(data, i);
}

static void task_systems_of_hosts_make_batches(void **state) {
    (void)state;
    sinew_error error = {0};
    work *w = malloc(sizeof *w);
    sinew_task_system host = {sizeof host, 4, NULL, one_after_another};
    assert_ok(sinew_set_task_system(&host, &error));
    assert_ok(run(w, ITEMS, 4, -1, -1, -1, &error));
    check_order(w, ITEMS);
    assert_int_equal(run(w, ITEMS, 4, 57, -1, -1, &error), SINEW_BAD_INPUT);
    assert_string_equal(error.message, "item 57");
    check_order(w, 57);
    assert_int_equal(run(w, ITEMS, 4, -1, -1, 40, &error), SINEW_CANCELLED);
    assert_ok(sinew_set_task_system(NULL, &error));
    free(w);
}

int test_ordered(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_in_order_on_the_calling_thread),
        cmocka_unit_test(failing_item_ends_the_map_after_those_before_it),
        cmocka_unit_test(cancelled_map_stops),
        cmocka_unit_test(task_systems_of_hosts_make_batches),
    };
    return cmocka_run_group_tests_name("ordered", tests, NULL, NULL);
}
