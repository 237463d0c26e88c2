#include "base/parallel.h"

#include <math.h>
#include <time.h>

#include "base/pool.h"

/* Adding a second thread pays off from two shares on. A loop of unknown or small cost is run in
 * batches, so that one that turns out to be long still gets its threads. */
enum { SHARE_NS = 6000, BATCH_NS = 100000, STARVED_BATCH_NS = 2000000, FIRST_BATCHES = 32 };

#define SHORTEST_NS 0.01

static _Thread_local double helped_ns;
static atomic_bool eager;

void sn_parallel_eagerly(bool eagerly) {
    atomic_store(&eager, eagerly);
}

double sn_work_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * ((double)time.tv_nsec + helped_ns);
}

/* A new measurement is averaged with the old one. An outlier, such as the time of a preempted
 * thread, counts only if it repeats. */
static double learn(sn_loop_cost *cost, double old, double sample) {
    if (old > 0) {
        if (sample > 4 * old) sample = 4 * old;
        sample = 0.5 * (old + sample);
    }
    sample = fmax(sample, SHORTEST_NS);
    atomic_store_explicit(&cost->nanoseconds, (float)sample, memory_order_relaxed);
    return sample;
}

/* Runs the rest of the loop with helpers. Returns false if no helper is free. */
static bool run_together(sn_pool_loop *loop, sn_loop_cost *cost, double known, double weight,
                         int limit, const sinew_task_system *tasks) {
    sn_pool_outcome outcome;
    loop->unit_ns = known * weight;
    double shares = loop->unit_ns * (double)loop->units / SHARE_NS;
    loop->seats = shares < limit && !loop->eager ? (int)shares : limit;
    if ((size_t)loop->seats > loop->units) loop->seats = (int)loop->units;
    if (loop->seats < 2) return false;
    loop->float_control = sn_float_control();
    if (!(tasks ? sn_pool_run_tasks(loop, tasks, &outcome) : sn_pool_run(loop, &outcome)))
        return false;
    if (outcome.units > 0) learn(cost, known, outcome.caller_ns / ((double)outcome.units * weight));
    helped_ns += outcome.helper_ns;
    return true;
}

static void run_here(sn_pool_loop *loop, size_t units) {
    size_t end = (loop->first + units) * loop->grain;
    loop->body(loop->context,
               (sn_span){loop->first * loop->grain, end < loop->count ? end : loop->count, 0});
    loop->first += units;
    loop->units -= units;
}

void sn_parallel_run(sn_loop_cost *cost, size_t count, size_t grain, double weight, int limit,
                     sn_parallel_body *body, void *context) {
    if (count == 0) return;
    if (grain == 0) grain = 1;
    if (!(weight > 0)) weight = 1;
    int threads = sn_threads();
    if (limit > threads) limit = threads;
    sn_pool_loop loop = {.body = body, .context = context, .count = count, .grain = grain};
    loop.units = (count + grain - 1) / grain;
    loop.eager = atomic_load_explicit(&eager, memory_order_relaxed);
    if (limit < 2 || loop.units < 2 || sn_inside_loop()) {
        body(context, (sn_span){0, count, 0});
        return;
    }
    const sinew_task_system *tasks = sn_task_system();
    double known = (double)atomic_load_explicit(&cost->nanoseconds, memory_order_relaxed);
    bool measured = false; /* in this call */
    uint64_t began = sn_nanoseconds();
    sn_enter_loop(true);
    while (loop.units > 0) {
        bool starved = !tasks && sn_pool_is_starved(began) && !loop.eager;
        if (!starved && run_together(&loop, cost, known, weight, limit, tasks)) break;
        double batch = (double)(loop.units / FIRST_BATCHES + 1);
        if (measured) batch = (starved ? STARVED_BATCH_NS : BATCH_NS) / (known * weight) + 1;
        size_t units = batch < (double)loop.units ? (size_t)batch : loop.units;
        run_here(&loop, units);
        uint64_t now = sn_nanoseconds();
        double sample = (double)(now - began) / ((double)units * weight);
        double learned = learn(cost, known, sample);
        known = measured ? learned : fmax(sample, SHORTEST_NS);
        measured = true;
        began = now;
    }
    sn_enter_loop(false);
}

void sn_parallel_together(int seats, sn_parallel_body *body, void *context) {
    int threads = sn_threads();
    sn_pool_loop loop = {.body = body, .context = context, .grain = 1, .eager = true, .led = true};
    sn_pool_outcome outcome = {0};
    loop.seats = seats < threads ? seats : threads;
    loop.count = loop.units = (size_t)(loop.seats > 0 ? loop.seats : 0);
    loop.unit_ns = 1e12; /* effectively unlimited */
    loop.float_control = sn_float_control();
    bool within = sn_inside_loop(), done = false;
    if (loop.seats > 1 && !within && !sn_task_system()) {
        sn_enter_loop(true);
        done = sn_pool_run(&loop, &outcome);
        sn_enter_loop(false);
        helped_ns += outcome.helper_ns;
    }
    if (!done) body(context, (sn_span){0, 1, 0});
}
