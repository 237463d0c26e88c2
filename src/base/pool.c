/* A thread pool that shares the machine with other programs.
 *
 * Based on: self-scheduling loops that claim iterations (Polychronopoulos and Kuck, "Guided
 * self-scheduling", 1987) and two-phase waiting (Karlin et al., "Empirical studies of competitive
 * spinning for a shared-memory multiprocessor", 1991): spin about as long as a sleep costs, then
 * sleep.
 * We differ in: no thread waits for one that has no piece. If a thread is preempted in the middle
 * of a piece, later loops run on the caller alone for ten times as long as the caller had to wait,
 * and twice as long again each time that this repeats. The loss on a busy machine is therefore
 * bounded by about a tenth at first, and by a hundredth if it stays busy, whatever the scheduler
 * does. */
#include "base/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum {
    SLOTS = 32,           /* concurrent loops; further ones run on their callers */
    PIECE_NS = 3000,      /* shortest piece */
    LONGEST_NS = 1000000, /* longest piece, if there are enough grains */
    PIECES_PER_SEAT = 8,  /* pieces per seat, if both limits allow it */
    WAKE_NS = 20000,      /* shortest share that is worth waking a worker for */
    SPIN_NS = 100000,     /* an idle worker polls this long before it sleeps */
    WAIT_SPIN_NS = 20000, /* the caller polls this long for the last pieces before it sleeps */
    STALL_NS = 100000,    /* a worker preempted for longer than this is starved, */
    RECOVERY = 10,        /* and is not used for this many times as long */
    LONGEST_RECOVERY_NS = 1000000000,
    CROWDED_NS = 3000000, /* the same limit for a worker on the caller's processor */
    MOST_STRIKES = 4,     /* each further failure doubles the time without helpers */
    GOOD_LOOPS = 64,      /* this many helped loops in a row cancel one strike */
    ANY_PROCESSOR = 0xff  /* the worker accepts such an invitation on any processor */
};

typedef struct range {
    _Alignas(64) atomic_uint_least64_t word;
} range;

typedef struct slot {
    _Alignas(64) atomic_bool taken;
    uint32_t generation;
    sn_pool_loop loop;
    int pieces;
    _Alignas(64) atomic_uint done; /* pieces finished by helpers; the caller sleeps on it */
    atomic_uint waiting;
    atomic_uint_least64_t helper_ns;
    range ranges[SINEW_MAX_THREADS];
} slot;

/* The invitation to a loop: generation (32) | slot (8) | seat (8) | seats (8) | processor of the
 * caller (8). It may be overwritten at any time; its contents are checked when a piece is
 * claimed. */
typedef struct worker {
    _Alignas(64) atomic_uint_least64_t bell;
    atomic_uint sleeping;                       /* the worker sleeps on it */
    _Alignas(64) atomic_uint_least64_t serving; /* the invitation it is working on, or 0 */
    pthread_t thread;
    clockid_t clock;
    int number;
} worker;

static struct {
    pthread_mutex_t lock; /* guards creation and shutdown */
    atomic_int count;
    atomic_bool stop, failed;
    int cores;
    atomic_uint_least64_t starved_until;
    atomic_uint strikes, good_loops;
    worker workers[SINEW_MAX_THREADS - 1];
    slot slots[SLOTS];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t pool_once = PTHREAD_ONCE_INIT;
static _Thread_local bool inside;
static _Thread_local unsigned preferred_slot;
static _Thread_local double own_ns; /* time in pieces of tasks that the host ran on this thread */

uint64_t sn_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

bool sn_inside_loop(void) {
    return inside;
}

void sn_enter_loop(bool in) {
    inside = in;
}

unsigned sn_float_control(void) {
#if defined(__SSE2__)
    return _mm_getcsr() & ~0x3fu; /* without the exception flags */
#else
    return 0;
#endif
}

static void set_float_control(unsigned control) {
#if defined(__SSE2__)
    if (sn_float_control() != control) _mm_setcsr(control);
#else
    (void)control;
#endif
}

static void relax(void) {
#if defined(__SSE2__)
    _mm_pause();
#endif
}

static void sleep_on(atomic_uint *word, unsigned expected) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void wake(atomic_uint *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool sn_pool_is_starved(uint64_t now) {
    return now < atomic_load_explicit(&pool.starved_until, memory_order_relaxed);
}

/* Claims the next piece of a range, or the last one for a thief. Returns -1 if there is none or the
 * range belongs to another loop. */
static int claim(range *from, uint32_t generation, bool thief) {
    uint64_t word = atomic_load_explicit(&from->word, memory_order_acquire);
    for (;;) {
        int next = (int)(word >> 16 & 0xffff), end = (int)(word & 0xffff);
        if (word >> 32 != generation || next >= end) return -1;
        uint64_t after = thief ? word - 1 : word + 0x10000;
        if (atomic_compare_exchange_weak_explicit(&from->word, &word, after, memory_order_acq_rel,
                                                  memory_order_acquire))
            return thief ? end - 1 : next;
    }
}

static size_t first_unit(const sn_pool_loop *loop, int pieces, int piece) {
    return loop->first + (size_t)((double)loop->units * piece / pieces);
}

static sn_span span_of(const sn_pool_loop *loop, int pieces, int piece, int seat) {
    size_t end = first_unit(loop, pieces, piece + 1) * loop->grain;
    return (sn_span){first_unit(loop, pieces, piece) * loop->grain,
                     end < loop->count ? end : loop->count, seat};
}

/* Works on the loop until no piece is left. Time in which the thread was preempted is excluded from
 * helper_ns as far as possible: a piece counts for at most four times its expected time. */
static void help(slot *s, uint32_t generation, int seat, int seats) {
    sn_pool_loop loop = {0};
    int pieces = 0;
    for (int k = 0; k < seats; k++) {
        int owner = seat + k < seats ? seat + k : seat + k - seats, piece;
        while ((piece = claim(&s->ranges[owner], generation, k > 0)) >= 0) {
            if (pieces == 0) {
                loop = s->loop;
                pieces = s->pieces;
                set_float_control(loop.float_control);
            }
            uint64_t began = sn_nanoseconds();
            sn_span span = span_of(&loop, pieces, piece, seat);
            loop.body(loop.context, span);
            double took = (double)(sn_nanoseconds() - began);
            double most = 4 * loop.unit_ns * (double)((span.end - span.begin) / loop.grain + 1);
            if (took > most) took = most;
            own_ns += took;
            atomic_fetch_add_explicit(&s->helper_ns, (uint64_t)took, memory_order_relaxed);
            atomic_fetch_add(&s->done, 1);
            if (atomic_load(&s->waiting)) wake(&s->done);
        }
    }
}

/* Runs loops on their callers alone for this long, or longer if helpers have failed before. */
static void starve(uint64_t now, uint64_t ns) {
    unsigned strikes = atomic_load_explicit(&pool.strikes, memory_order_relaxed);
    ns <<= strikes < MOST_STRIKES ? strikes : MOST_STRIKES;
    if (ns > LONGEST_RECOVERY_NS) ns = LONGEST_RECOVERY_NS;
    if (strikes < MOST_STRIKES)
        atomic_store_explicit(&pool.strikes, strikes + 1, memory_order_relaxed);
    atomic_store_explicit(&pool.good_loops, 0, memory_order_relaxed);
    uint64_t until = atomic_load_explicit(&pool.starved_until, memory_order_relaxed);
    while (until < now + ns &&
           !atomic_compare_exchange_weak_explicit(&pool.starved_until, &until, now + ns,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Records that a loop was helped and no thread had to wait long. */
static void note_help(void) {
    unsigned strikes = atomic_load_explicit(&pool.strikes, memory_order_relaxed);
    if (strikes == 0) return;
    if (atomic_fetch_add_explicit(&pool.good_loops, 1, memory_order_relaxed) + 1 < GOOD_LOOPS)
        return;
    atomic_store_explicit(&pool.good_loops, 0, memory_order_relaxed);
    atomic_store_explicit(&pool.strikes, strikes - 1, memory_order_relaxed);
}

/* A worker that wakes up on the caller's processor would compete with the caller, since no other
 * processor is free. */
static void follow(uint64_t bell) {
    if ((bell & 0xff) != ANY_PROCESSOR &&
        (unsigned)(bell & 0xff) == ((unsigned)sched_getcpu() & 0xff)) {
        starve(sn_nanoseconds(), CROWDED_NS);
        return;
    }
    slot *s = &pool.slots[bell >> 24 & 0xff];
    help(s, (uint32_t)(bell >> 32), (int)(bell >> 16 & 0xff), (int)(bell >> 8 & 0xff));
}

/* Spins until an invitation other than `last` arrives. Workers beyond the number of cores do not
 * spin. */
static uint64_t listen(worker *w, uint64_t last) {
    uint64_t bell = atomic_load_explicit(&w->bell, memory_order_acquire);
    if (bell != last || w->number + 1 >= pool.cores) return bell;
    uint64_t began = sn_nanoseconds(), now = began;
    while (now - began < SPIN_NS && !sn_pool_is_starved(now)) {
        for (int i = 0; i < 32; i++) {
            relax();
            bell = atomic_load_explicit(&w->bell, memory_order_acquire);
            if (bell != last) return bell;
        }
        now = sn_nanoseconds();
    }
    return bell;
}

static void *work(void *argument) {
    worker *w = argument;
    uint64_t last = 0;
    inside = true;
    while (!atomic_load(&pool.stop)) {
        uint64_t bell = listen(w, last);
        if (bell == last) {
            atomic_store(&w->sleeping, 1);
            while (atomic_load(&w->sleeping) && atomic_load(&w->bell) == last &&
                   !atomic_load(&pool.stop))
                sleep_on(&w->sleeping, 1);
            atomic_store(&w->sleeping, 0);
            continue;
        }
        last = bell;
        atomic_store_explicit(&w->serving, bell, memory_order_relaxed);
        follow(bell);
        atomic_store_explicit(&w->serving, 0, memory_order_relaxed);
    }
    return NULL;
}

static void ring(worker *w, uint64_t bell) {
    atomic_store(&w->bell, bell);
    if (atomic_load(&w->sleeping) && atomic_exchange(&w->sleeping, 0)) wake(&w->sleeping);
}

/* After a fork only the calling thread exists. */
static void start_over(void) {
    pthread_mutex_init(&pool.lock, NULL);
    atomic_store(&pool.count, 0);
    atomic_store(&pool.failed, false);
    atomic_store(&pool.starved_until, 0);
    atomic_store(&pool.strikes, 0);
    for (int i = 0; i < SLOTS; i++) atomic_store(&pool.slots[i].taken, false);
}

static void prepare(void) {
    pool.cores = sn_cores();
    pthread_atfork(NULL, NULL, start_over);
}

/* Runs when the process exits or the library is unloaded. */
__attribute__((destructor)) static void end_pool(void) {
    pthread_mutex_lock(&pool.lock);
    int count = atomic_load(&pool.count);
    atomic_store(&pool.stop, true);
    for (int i = 0; i < count; i++) {
        worker *w = &pool.workers[i];
        atomic_store(&w->sleeping, 0);
        wake(&w->sleeping);
    }
    for (int i = 0; i < count; i++) pthread_join(pool.workers[i].thread, NULL);
    atomic_store(&pool.count, 0);
    pthread_mutex_unlock(&pool.lock);
}

static bool start_worker(int number) {
    worker *w = &pool.workers[number];
    sigset_t all, before;
    atomic_store(&w->bell, 0);
    atomic_store(&w->sleeping, 0);
    atomic_store(&w->serving, 0);
    w->number = number;
    sigfillset(&all); /* signals go to the host's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&w->thread, NULL, work, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) return false;
    char name[16];
    snprintf(name, sizeof name, "sinew-%u", (unsigned char)(number + 1));
    pthread_setname_np(w->thread, name);
    if (pthread_getcpuclockid(w->thread, &w->clock) != 0) w->clock = CLOCK_MONOTONIC;
    return true;
}

/* Starts up to `wanted` workers and returns how many there are. A worker that cannot be started is
 * not tried again. */
static int workers(int wanted) {
    int count = atomic_load_explicit(&pool.count, memory_order_acquire);
    if (count >= wanted || atomic_load_explicit(&pool.failed, memory_order_relaxed)) return count;
    pthread_once(&pool_once, prepare);
    pthread_mutex_lock(&pool.lock);
    count = atomic_load(&pool.count);
    while (count < wanted && !atomic_load(&pool.failed) && !atomic_load(&pool.stop)) {
        if (!start_worker(count))
            atomic_store(&pool.failed, true);
        else
            atomic_store_explicit(&pool.count, ++count, memory_order_release);
    }
    pthread_mutex_unlock(&pool.lock);
    return count;
}

static slot *take_slot(void) {
    for (unsigned i = 0; i < SLOTS; i++) {
        unsigned number = (preferred_slot + i) % SLOTS;
        slot *s = &pool.slots[number];
        if (!atomic_load_explicit(&s->taken, memory_order_relaxed) &&
            !atomic_exchange_explicit(&s->taken, true, memory_order_acquire)) {
            preferred_slot = number;
            return s;
        }
    }
    return NULL;
}

static void publish(slot *s, const sn_pool_loop *loop, int seats) {
    double total = loop->unit_ns * (double)loop->units;
    double pieces = total / PIECE_NS, most = PIECES_PER_SEAT * seats;
    if (most < total / LONGEST_NS) most = total / LONGEST_NS;
    if (pieces > most) pieces = most;
    if (loop->eager) pieces = (double)loop->units;
    if (pieces > SN_POOL_PIECES) pieces = SN_POOL_PIECES;
    if (pieces > (double)loop->units) pieces = (double)loop->units;
    if (pieces < seats) pieces = seats;
    s->loop = *loop;
    s->pieces = (int)pieces;
    s->generation++;
    atomic_store_explicit(&s->done, 0, memory_order_relaxed);
    atomic_store_explicit(&s->helper_ns, 0, memory_order_relaxed);
    for (int i = 0; i < seats; i++) {
        uint64_t next = (uint64_t)(s->pieces * i / seats),
                 end = (uint64_t)(s->pieces * (i + 1) / seats);
        atomic_store_explicit(&s->ranges[i].word, (uint64_t)s->generation << 32 | next << 16 | end,
                              memory_order_release);
    }
}

/* The caller's work: its own pieces and those that no worker claims. */
static int take_part(slot *s, int seats, sn_pool_outcome *outcome) {
    int own = 0;
    uint64_t began = sn_nanoseconds();
    for (int k = 0; k < seats; k++) {
        int piece;
        while ((piece = claim(&s->ranges[k], s->generation, k > 0)) >= 0) {
            s->loop.body(s->loop.context, span_of(&s->loop, s->pieces, piece, 0));
            outcome->units +=
                first_unit(&s->loop, s->pieces, piece + 1) - first_unit(&s->loop, s->pieces, piece);
            own++;
        }
    }
    outcome->caller_ns = (double)(sn_nanoseconds() - began);
    return own;
}

static uint64_t busy_with(const slot *s) {
    uint64_t set = 0;
    for (int i = 0; i < atomic_load_explicit(&pool.count, memory_order_acquire); i++) {
        uint64_t bell = atomic_load_explicit(&pool.workers[i].serving, memory_order_relaxed);
        if (bell >> 32 == s->generation && &pool.slots[bell >> 24 & 0xff] == s)
            set |= UINT64_C(1) << i;
    }
    return set;
}

/* CPU time of each worker in the set. */
static void read_clocks(uint64_t set, uint64_t *ns) {
    for (int i = 0; set >> i; i++) {
        struct timespec time = {0};
        if (set >> i & 1) clock_gettime(pool.workers[i].clock, &time);
        ns[i] = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
        if (i == 63) break;
    }
}

/* Waits for the pieces that helpers are working on. If none of them ran during the wait, the
 * machine is busy with other work. */
static void finish(slot *s, int own) {
    unsigned others = (unsigned)(s->pieces - own);
    if (others == 0) return;
    note_help();
    if (atomic_load_explicit(&s->done, memory_order_acquire) == others) return;
    uint64_t began = sn_nanoseconds();
    double piece_ns = s->loop.unit_ns * (double)s->loop.units / s->pieces;
    uint64_t spin = pool.cores > 1 ? WAIT_SPIN_NS + (uint64_t)(piece_ns < 1e5 ? piece_ns : 1e5) : 0;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(&s->done, memory_order_acquire) == others) return;
            relax();
        }
    } while (sn_nanoseconds() - began < spin);
    uint64_t before[64], after[64], set = busy_with(s), slept = sn_nanoseconds();
    read_clocks(set, before);
    atomic_store(&s->waiting, 1);
    for (unsigned done; (done = atomic_load(&s->done)) != others;) sleep_on(&s->done, done);
    atomic_store(&s->waiting, 0);
    uint64_t now = sn_nanoseconds(), waited = now - slept, ran = 0;
    read_clocks(set, after);
    for (int i = 0; i < 64 && set >> i; i++)
        if (after[i] - before[i] > ran) ran = after[i] - before[i];
    if (waited > ran + STALL_NS) {
        starve(now, RECOVERY * (waited - ran));
    }
}

static void give_back(slot *s, sn_pool_outcome *outcome) {
    outcome->helper_ns += (double)atomic_load_explicit(&s->helper_ns, memory_order_relaxed);
    atomic_store_explicit(&s->taken, false, memory_order_release);
}

/* Finds workers that are free and, if asleep, worth waking for their share of the loop. */
static int choose_helpers(const sn_pool_loop *loop, worker **helpers) {
    double total = loop->unit_ns * (double)loop->units;
    int count = workers(loop->seats - 1), found = 0;
    for (int i = 0; i < count && found < loop->seats - 1; i++) {
        worker *w = &pool.workers[i];
        if (atomic_load_explicit(&w->serving, memory_order_relaxed)) continue;
        if (!loop->eager && atomic_load_explicit(&w->sleeping, memory_order_relaxed) &&
            total < (found + 2.0) * WAKE_NS)
            continue;
        helpers[found++] = w;
    }
    return found;
}

bool sn_pool_run(const sn_pool_loop *loop, sn_pool_outcome *outcome) {
    worker *helpers[SINEW_MAX_THREADS];
    int found = choose_helpers(loop, helpers);
    slot *s = found > 0 ? take_slot() : NULL;
    if (!s) return false;
    *outcome = (sn_pool_outcome){0};
    publish(s, loop, found + 1);
    /* A body run by sn_parallel_together lasts long, so the scheduler finds a processor for
     * each. */
    uint64_t processor = loop->led ? ANY_PROCESSOR : (uint64_t)sched_getcpu() & 0xff;
    for (int i = 0; i < found; i++)
        ring(helpers[i], (uint64_t)s->generation << 32 | (uint64_t)(s - pool.slots) << 24 |
                             (uint64_t)(i + 1) << 16 | (uint64_t)(found + 1) << 8 | processor);
    if (loop->led) loop->body(loop->context, (sn_span){0, 1, 0});
    finish(s, take_part(s, found + 1, outcome));
    give_back(s, outcome);
    return true;
}

typedef struct host_tasks {
    slot *slot;
    uint32_t generation;
    int seats;
} host_tasks;

static void run_task(void *data, int index) {
    const host_tasks *tasks = data;
    if (index < 0 || index >= tasks->seats) return;
    bool before = inside;
    unsigned control = sn_float_control();
    inside = true;
    help(tasks->slot, tasks->generation, index, tasks->seats);
    inside = before;
    set_float_control(control);
}

/* The caller does whatever the host leaves undone. */
bool sn_pool_run_tasks(const sn_pool_loop *loop, const sinew_task_system *system,
                       sn_pool_outcome *outcome) {
    slot *s = take_slot();
    if (!s) return false;
    *outcome = (sn_pool_outcome){0};
    publish(s, loop, loop->seats);
    host_tasks tasks = {s, s->generation, loop->seats};
    double own_before = own_ns;
    system->parallel_for(system->user, loop->seats, run_task, &tasks);
    finish(s, take_part(s, loop->seats, outcome));
    give_back(s, outcome);
    outcome->units = loop->units;
    outcome->caller_ns += outcome->helper_ns;
    outcome->helper_ns -= own_ns - own_before; /* the caller's own tasks are part of its own time */
    return true;
}
