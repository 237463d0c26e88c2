/* The pool: every item once, whoever calls, however many threads there are. */
#include "base/parallel.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "groups.h"
#include "sinew/threads.h"
#include "support.h"

enum { ITEMS = 20000 };

typedef struct counts {
    atomic_int visits[ITEMS];
    atomic_int seats[SINEW_MAX_THREADS]; /* pieces that are running on this seat */
    atomic_bool shared;                  /* two pieces had the same seat at the same time */
    atomic_int pieces;
    int work; /* per item */
} counts;

static void spend(int work) {
    for (volatile int i = 0; i < work; i++) {
    }
}

static void count_items(void *context, sn_span span) {
    counts *c = context;
    if (atomic_fetch_add(&c->seats[span.seat], 1)) atomic_store(&c->shared, true);
    for (size_t i = span.begin; i < span.end; i++) {
        atomic_fetch_add(&c->visits[i], 1);
        spend(c->work);
    }
    atomic_fetch_add(&c->pieces, 1);
    atomic_fetch_sub(&c->seats[span.seat], 1);
}

static void assert_each_once(const counts *c, int items) {
    for (int i = 0; i < ITEMS; i++)
        if (atomic_load(&c->visits[i]) != (i < items))
            fail_msg("item %d of %d: %d visits", i, items, atomic_load(&c->visits[i]));
    assert_false(atomic_load(&c->shared));
}

static void every_item_is_run_exactly_once(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 8, 33, 64};
    static const size_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, ITEMS};
    counts *c = calloc(1, sizeof *c);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        sinew_set_threads(threads[t]);
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
            for (size_t grain = 1; grain < 3000; grain *= 7)
                for (int repeat = 0; repeat < 4; repeat++) {
                    memset(c, 0, sizeof *c);
                    c->work = repeat * 50;
                    sn_parallel_for(sizes[n], grain, count_items, c);
                    assert_each_once(c, (int)sizes[n]);
                }
    }
    sinew_set_threads(0);
    free(c);
}

static void check_grain(void *context, sn_span span) {
    atomic_int *wrong = context;
    if (span.begin % 48 != 0 || (span.end % 48 != 0 && span.end != 10001))
        atomic_fetch_add(wrong, 1);
    spend(2000);
}

static void pieces_begin_at_multiples_of_the_grain(void **state) {
    (void)state;
    atomic_int wrong = 0;
    sinew_set_threads(8);
    for (int repeat = 0; repeat < 20; repeat++) sn_parallel_for(10001, 48, check_grain, &wrong);
    assert_int_equal(atomic_load(&wrong), 0);
    sinew_set_threads(0);
}

typedef struct seat_range {
    int limit;
    atomic_int highest;
} seat_range;

static void note_seat(void *context, sn_span span) {
    seat_range *r = context;
    int before = atomic_load(&r->highest);
    while (span.seat > before && !atomic_compare_exchange_weak(&r->highest, &before, span.seat)) {
    }
    spend(3000 * (int)(span.end - span.begin));
}

static void seats_stay_below_the_limit(void **state) {
    (void)state;
    sinew_set_threads(16);
    for (int limit = 1; limit < 7; limit++) {
        seat_range r = {.limit = limit};
        for (int repeat = 0; repeat < 10; repeat++)
            sn_parallel_for_seats(200, 1, limit, note_seat, &r);
        assert_true(atomic_load(&r.highest) < limit);
    }
    sinew_set_threads(0);
}

static void eager_loops_are_shared_however_short(void **state) {
    (void)state;
    counts *c = calloc(1, sizeof *c);
    sinew_set_threads(3);
    sn_parallel_eagerly(true);
    sn_parallel_for(100, 7, count_items, c);
    assert_each_once(c, 100);
    assert_int_equal(atomic_load(&c->pieces), 15);
    sn_parallel_eagerly(false);
    sinew_set_threads(0);
    free(c);
}

/* A short loop first, so that its cost is known to be small; then the same loop with long items:
 * it must find helpers in the middle. */
static void loop_that_turns_out_long_gets_helpers(void **state) {
    (void)state;
    counts *c = calloc(1, sizeof *c);
    sn_loop_cost cost = {0};
    sinew_set_threads(4);
    for (int repeat = 0; repeat < 20; repeat++) sn_parallel_run(&cost, 64, 1, 1, 4, count_items, c);
    atomic_store(&c->pieces, 0);
    c->work = 300000;
    for (int repeat = 0; repeat < 3; repeat++) sn_parallel_run(&cost, 64, 1, 1, 4, count_items, c);
    assert_true(atomic_load(&c->pieces) > 8);
    sinew_set_threads(0);
    free(c);
}

typedef struct nest {
    atomic_int inner;
} nest;

static void run_inner(void *context, sn_span span) {
    nest *n = context;
    atomic_fetch_add(&n->inner, (int)(span.end - span.begin));
    spend(100);
}

static void run_outer(void *context, sn_span span) {
    for (size_t i = span.begin; i < span.end; i++) sn_parallel_for(100, 1, run_inner, context);
}

static void loops_inside_loops_run_on_their_thread(void **state) {
    (void)state;
    nest n = {0};
    sinew_set_threads(8);
    for (int repeat = 0; repeat < 10; repeat++) sn_parallel_for(50, 1, run_outer, &n);
    assert_int_equal(atomic_load(&n.inner), 10 * 50 * 100);
    sinew_set_threads(0);
}

static void *call_often(void *argument) {
    atomic_int *failures = argument;
    counts *c = calloc(1, sizeof *c);
    for (int repeat = 0; repeat < 60; repeat++) {
        int items = 100 + 37 * repeat;
        memset(c, 0, sizeof *c);
        c->work = 30;
        sn_parallel_for(items, 4, count_items, c);
        for (int i = 0; i < ITEMS; i++)
            if (atomic_load(&c->visits[i]) != (i < items)) atomic_fetch_add(failures, 1);
        if (atomic_load(&c->shared)) atomic_fetch_add(failures, 1);
    }
    free(c);
    return NULL;
}

static void several_threads_call_at_the_same_time(void **state) {
    (void)state;
    enum { CALLERS = 40 }; /* more than there are slots */
    pthread_t callers[CALLERS];
    atomic_int failures = 0;
    sinew_set_threads(5);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, call_often, &failures), 0);
    for (int i = 0; i < CALLERS; i++) pthread_join(callers[i], NULL);
    assert_int_equal(atomic_load(&failures), 0);
    sinew_set_threads(0);
}

static int run_a_loop(int threads) {
    counts *c = calloc(1, sizeof *c);
    int wrong = 0;
    sinew_set_threads(threads);
    c->work = 500;
    sn_parallel_for(ITEMS, 1, count_items, c);
    for (int i = 0; i < ITEMS; i++) wrong += atomic_load(&c->visits[i]) != 1;
    free(c);
    return wrong;
}

static int task_count(void) {
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    if (!folder) return -1;
    while (readdir(folder)) count++;
    closedir(folder);
    return count - 2;
}

static int wait_for(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static void child_process_starts_its_own_threads(void **state) {
    (void)state;
    if (SANITIZED) skip(); /* forks of many threads end in the sanitizers' own locks */
    assert_int_equal(run_a_loop(3), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int alone = task_count();
        sn_parallel_eagerly(true); /* on a crowded machine loops stay with their caller */
        int wrong = run_a_loop(3);
        exit(alone != 1 ? 2 : wrong ? 3 : task_count() < 2 ? 4 : 0); /* and exit joins them */
    }
    assert_int_equal(wait_for(child), 0);
    sinew_set_threads(0);
}

static void threads_that_cannot_be_started_are_done_without(void **state) {
    (void)state;
    if (SANITIZED) skip();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        long pages = 0;
        FILE *file = fopen("/proc/self/statm", "r");
        if (!file || fscanf(file, "%ld", &pages) != 1) _exit(5);
        fclose(file);
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (2 << 20);
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most}); /* no room for a stack */
        int wrong = run_a_loop(SINEW_MAX_THREADS); /* some may find a stack that is left over */
        _exit(wrong ? 3 : task_count() == SINEW_MAX_THREADS ? 4 : 0);
    }
    assert_int_equal(wait_for(child), 0);
}

/* Task systems of a host: one after another, backwards, on new threads, and one that forgets half
 * of its tasks, which breaks its contract but must not lose items. */
typedef struct host_record {
    atomic_int calls, most;
} host_record;

static void in_order(void *user, int count, sinew_task *task, void *data) {
    host_record *record = user;
    atomic_fetch_add(&record->calls, 1);
    if (count > atomic_load(&record->most)) atomic_store(&record->most, count);
    for (int i = 0; i < count; i++) task(data, i);
}

static void backwards(void *user, int count, sinew_task *task, void *data) {
    host_record *record = user;
    atomic_fetch_add(&record->calls, 1);
    for (int i = count - 1; i >= 0; i--) task(data, i);
}

static void half(void *user, int count, sinew_task *task, void *data) {
    host_record *record = user;
    atomic_fetch_add(&record->calls, 1);
    for (int i = 0; i < count; i += 2) task(data, i);
}

typedef struct host_task {
    sinew_task *task;
    void *data;
    int index;
} host_task;

static void *run_host_task(void *argument) {
    const host_task *t = argument;
    t->task(t->data, t->index);
    return NULL;
}

static void on_new_threads(void *user, int count, sinew_task *task, void *data) {
    host_record *record = user;
    pthread_t threads[SINEW_MAX_THREADS];
    host_task tasks[SINEW_MAX_THREADS];
    atomic_fetch_add(&record->calls, 1);
    for (int i = 1; i < count; i++) {
        tasks[i] = (host_task){task, data, i};
        pthread_create(&threads[i], NULL, run_host_task, &tasks[i]);
    }
    task(data, 0);
    for (int i = 1; i < count; i++) pthread_join(threads[i], NULL);
}

static void host_runs_the_loops_on_its_own_task_system(void **state) {
    (void)state;
    void (*systems[])(void *, int, sinew_task *, void *) = {in_order, backwards, half,
                                                            on_new_threads};
    sinew_error error;
    counts *c = calloc(1, sizeof *c);
    for (int s = 0; s < 4; s++) {
        host_record record = {0};
        sinew_task_system system = {sizeof system, 5, &record, systems[s]};
        assert_ok(sinew_set_task_system(&system, &error));
        assert_int_equal(sinew_threads(), 5);
        for (int repeat = 0; repeat < 10; repeat++) {
            memset(c, 0, sizeof *c);
            c->work = 40;
            sn_parallel_for(5000, 8, count_items, c);
            assert_each_once(c, 5000);
        }
        assert_true(atomic_load(&record.calls) > 0);
        sinew_set_threads(3);
        assert_int_equal(sinew_threads(), 3);
        sinew_set_threads(0);
        if (s == 0) assert_int_equal(atomic_load(&record.most), 5);
    }
    assert_ok(sinew_set_task_system(NULL, &error));
    free(c);
}

static void wrong_task_systems_are_misuse(void **state) {
    (void)state;
    sinew_task_system good = {sizeof good, 2, NULL, in_order}, bad = good;
    bad.size = 4;
    assert_int_equal(sinew_set_task_system(&bad, NULL), SINEW_MISUSE);
    bad = good, bad.workers = 0;
    assert_int_equal(sinew_set_task_system(&bad, NULL), SINEW_MISUSE);
    bad = good, bad.parallel_for = NULL;
    assert_int_equal(sinew_set_task_system(&bad, NULL), SINEW_MISUSE);
    good.workers = 1; /* the fewest */
    assert_int_equal(sinew_set_task_system(&good, NULL), SINEW_OK);
    assert_int_equal(sinew_set_task_system(NULL, NULL), SINEW_OK);
}

typedef struct burning {
    pthread_t caller;
    atomic_int helped;  /* pieces of helpers */
    _Atomic double own; /* processor seconds of the caller in pieces */
} burning;

static double thread_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void burn(void *context, sn_span span) {
    burning *b = context;
    double began = thread_seconds();
    spend(200000 * (int)(span.end - span.begin));
    if (!pthread_equal(pthread_self(), b->caller)) {
        atomic_fetch_add(&b->helped, 1);
    } else {
        sched_yield(); /* to a helper */
        atomic_store(&b->own, atomic_load(&b->own) + thread_seconds() - began);
    }
}

static void run_burning(burning *b) {
    sn_parallel_for(40, 1, burn, b);
}

/* The work of a loop is the processor time of its caller and, beyond that, of its helpers. */
static void work_time_counts_helpers(void **state) {
    (void)state;
    for (int threads = 1; threads < 3; threads++) {
        burning b = {.caller = pthread_self()};
        double own, all;
        sinew_set_threads(threads);
        run_burning(&b); /* its cost is known now */
        sn_parallel_eagerly(true);
        do { /* until a helper has come in time */
            atomic_store(&b.helped, 0);
            atomic_store(&b.own, 0);
            double outer = thread_seconds(), before = sn_work_seconds();
            run_burning(&b);
            all = sn_work_seconds() - before;
            own = thread_seconds() - outer;
        } while (threads > 1 && !atomic_load(&b.helped));
        sn_parallel_eagerly(false);
        assert_true(all >= atomic_load(&b.own));
        assert_true(threads > 1 ? all > own : all <= own);
    }
    sinew_set_threads(0);
}

static void idle_threads_use_no_time(void **state) {
    (void)state;
    assert_int_equal(run_a_loop(4), 0);
    usleep(20000); /* asleep by now, unless the machine is very busy */
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    usleep(200000);
    getrusage(RUSAGE_SELF, &after);
    double used = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                  1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec);
    assert_below(used, 0.05); /* three spinning threads would use up to 0.4 s of two cores */
    sinew_set_threads(0);
}

int test_parallel(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_cannot_be_started_are_done_without), /* before others run */
        cmocka_unit_test(every_item_is_run_exactly_once),
        cmocka_unit_test(pieces_begin_at_multiples_of_the_grain),
        cmocka_unit_test(seats_stay_below_the_limit),
        cmocka_unit_test(eager_loops_are_shared_however_short),
        cmocka_unit_test(loop_that_turns_out_long_gets_helpers),
        cmocka_unit_test(loops_inside_loops_run_on_their_thread),
        cmocka_unit_test(several_threads_call_at_the_same_time),
        cmocka_unit_test(child_process_starts_its_own_threads),
        cmocka_unit_test(host_runs_the_loops_on_its_own_task_system),
        cmocka_unit_test(wrong_task_systems_are_misuse),
        cmocka_unit_test(work_time_counts_helpers),
        cmocka_unit_test(idle_threads_use_no_time),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
