#include "job/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"
#include "session/records.h"

void sn_crew_free(sn_crew *crew) {
    for (int i = 0; i < crew->count; i++) sinew_solver_destroy(crew->solvers[i]);
    sn_free(crew->solvers);
    *crew = (sn_crew){0};
}

static void fill_info(const sinew_result *result, sinew_frame_info *info) {
    uint32_t size = info->size;
    *info = (sinew_frame_info){.size = size,
                               .time = result->time,
                               .status = result->status,
                               .iterations = result->iterations,
                               .residual = result->residual,
                               .energy = result->energy,
                               .seconds = result->seconds,
                               .inverted = result->inverted,
                               .contacts = result->contact_count};
}

sinew_status sn_solve_frame(sinew_solver *solver, int frame, double *positions,
                            sinew_frame_info *info, json_t *fields, const sinew_monitor *monitor,
                            sinew_error *error) {
    sinew_input input;
    sinew_input_init(&input);
    input.frame = frame;
    sinew_result result;
    sinew_result_init(&result);
    sinew_figures figures = {fields};
    result.positions = positions;
    if (fields) result.figures = &figures;
    result.status = sinew_solver_solve(solver, &input, &result, monitor, error);
    fill_info(&result, info);
    return result.status;
}

/* ---- several at once -------------------------------------------------------------------------
 *
 * Runs of frames are claimed in order by whoever is free and solved into a ring of slots. The
 * calling thread hands them over in order as they become ready, and solves runs itself otherwise,
 * so that no thread waits for the slowest of a batch or for a file that is written. Solvers are
 * created by the threads that use them, while others solve already. */

typedef struct batch {
    const sinew_scene *scene;
    sinew_session *session;
    sinew_solver *own;
    sn_crew *crew;
    int first, last; /* of the whole range */
    int unit;        /* frames of a run */
    int start;       /* first frame that a device has left over */
    int runs;        /* from there on */
    int ring;        /* runs that fit into the slots */
    int helpers;     /* that may be called */
    sn_frame *slots; /* unit frames per run */
    sinew_error *errors;
    atomic_int claimed, handed; /* runs */
    atomic_int begun;           /* runs that threads other than the caller's have solved */
    atomic_bool stop;
    atomic_bool paused; /* threads other than the caller's claim no more */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool *ready; /* per run of the ring; guarded by the lock */
    pthread_t caller;
    const sinew_monitor *monitor;
    sn_take_frame *take;
    void *user;
    sinew_status status; /* of what was handed over */
    sinew_error *error;
} batch;

/* Frames of the k-th run that lie in the range. */
static void range_of(const batch *b, int k, int *from, int *to) {
    int run = b->start / b->unit + k;
    *from = run * b->unit < b->start ? b->start : run * b->unit;
    *to = (run + 1) * b->unit - 1 > b->last ? b->last : (run + 1) * b->unit - 1;
}

static int slot_of(const batch *b, int k, int frame) {
    return k % b->ring * b->unit + frame % b->unit;
}

/* The next run, or -1: all are claimed, or the ring is full. */
static int claim_run(batch *b) {
    int k = atomic_load(&b->claimed);
    while (k < b->runs && k < atomic_load(&b->handed) + b->ring && !atomic_load(&b->stop))
        if (atomic_compare_exchange_weak(&b->claimed, &k, k + 1)) return k;
    return -1;
}

/* The solver of a seat; the calling thread has the job's own. */
static sinew_status find_solver(batch *b, int seat, sinew_solver **solver, sinew_error *error) {
    sinew_solver **mine = seat == 0 ? &b->own : &b->crew->solvers[seat - 1];
    /* The first solver has said what there is to say about the scene. */
    sinew_monitor silent = {.strict = b->monitor && b->monitor->strict};
    if (!*mine) SN_TRY(sinew_solver_create(b->session, &silent, mine, error));
    *solver = *mine;
    return SINEW_OK;
}

static sinew_status solve_slot(batch *b, sinew_solver *solver, int frame, sn_frame *slot,
                               bool caller, sinew_error *error) {
    json_decref(slot->fields);
    slot->fields = json_object();
    if (!slot->fields) return sn_no_memory(error);
    slot->index = frame;
    /* The monitor is the calling thread's; the others hear of a cancel through the session. */
    return sn_solve_frame(solver, frame, slot->positions, &slot->info, slot->fields,
                          caller ? b->monitor : NULL, error);
}

static void solve_run(batch *b, int k, int seat, bool caller) {
    int from, to;
    sinew_solver *solver = NULL;
    range_of(b, k, &from, &to);
    sinew_status status = find_solver(b, seat, &solver, &b->errors[slot_of(b, k, from)]);
    for (int f = from; f <= to; f++) {
        sn_frame *slot = &b->slots[slot_of(b, k, f)];
        if (status == SINEW_OK && atomic_load(&b->stop)) status = SINEW_CANCELLED;
        if (status == SINEW_OK)
            status = solve_slot(b, solver, f, slot, caller, &b->errors[slot_of(b, k, f)]);
        slot->info.status = status;
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) break;
        sn_model_outputs_take(solver, slot);
        status = SINEW_OK;
    }
    pthread_mutex_lock(&b->lock);
    b->ready[k % b->ring] = true;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static sinew_status hand_over_run(batch *b, int k, sinew_error *error) {
    int from, to;
    range_of(b, k, &from, &to);
    for (int f = from; f <= to; f++) {
        sn_frame *slot = &b->slots[slot_of(b, k, f)];
        sinew_status status = slot->info.status;
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED)
            return sn_fail(error, status, "%s", b->errors[slot_of(b, k, f)].message);
        SN_TRY(b->take(b->user, slot, error));
    }
    return SINEW_OK;
}

/* Ends the solves of all threads. */
static void end_batch(batch *b, sinew_status status) {
    b->status = status;
    atomic_store(&b->stop, true);
    sinew_session_cancel(b->session);
}

/* Asks the monitor, on the calling thread. */
static bool is_cancelled(batch *b) {
    if (!sn_cancelled(b->monitor)) return false;
    int from, to;
    range_of(b, atomic_load(&b->handed), &from, &to);
    end_batch(b, sn_fail(b->error, SINEW_CANCELLED, "cancelled at frame %d", from));
    return true;
}

/* The runs that are next in order and ready; a cancel takes effect between two of them. */
static void hand_over(batch *b) {
    for (int k = atomic_load(&b->handed); k < b->runs && b->status == SINEW_OK; k++) {
        pthread_mutex_lock(&b->lock);
        bool ready = b->ready[k % b->ring];
        b->ready[k % b->ring] = false;
        pthread_mutex_unlock(&b->lock);
        if (!ready || is_cancelled(b)) return;
        sinew_status status = hand_over_run(b, k, b->error);
        if (status != SINEW_OK) end_batch(b, status);
        sn_progress(b->monitor, (double)(k + 1) / b->runs, "frames");
        atomic_store(&b->handed, k + 1);
    }
}

/* For the run that is next in order, which another thread solves; a cancel ends the wait. */
static void wait_for_run(batch *b) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 2000000;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
    pthread_mutex_lock(&b->lock);
    if (!b->ready[atomic_load(&b->handed) % b->ring])
        pthread_cond_timedwait(&b->changed, &b->lock, &until);
    pthread_mutex_unlock(&b->lock);
}

/* The calling thread: until all is handed over. Without help it returns after a while, so that help
 * is called again. */
static const double ALONE = 2e-3; /* seconds */

static void lead(batch *b, int seat) {
    double began = sn_now();
    while (b->status == SINEW_OK && atomic_load(&b->handed) < b->runs) {
        if (is_cancelled(b)) return;
        int k = claim_run(b);
        if (k >= 0)
            solve_run(b, k, seat, true);
        else
            wait_for_run(b);
        hand_over(b);
        if (b->helpers > 0 && atomic_load(&b->begun) == 0 && sn_now() - began > ALONE) break;
    }
    atomic_store(&b->paused, true);
}

/* No thread but the caller's waits: hosts may run the bodies one after the other. */
static void solve_runs(void *context, sn_span span) {
    batch *b = context;
    if (pthread_equal(pthread_self(), b->caller)) {
        lead(b, span.seat);
        return;
    }
    for (int k; !atomic_load(&b->paused) && (k = claim_run(b)) >= 0;) {
        atomic_fetch_add(&b->begun, 1);
        solve_run(b, k, span.seat, false);
    }
}

static sinew_status make_slots(batch *b, int count, sinew_error *error) {
    size_t n = 3 * (size_t)sinew_solver_rig(b->own)->neutral->vertex_count;
    b->slots = SN_NEW0(sn_frame, count);
    b->errors = SN_NEW0(sinew_error, count);
    if (!b->slots || !b->errors) return sn_no_memory(error);
    for (int i = 0; i < count; i++) {
        b->slots[i].info.size = sizeof b->slots[i].info;
        b->slots[i].positions = SN_NEW(double, n);
        if (!b->slots[i].positions) return sn_no_memory(error);
        SN_TRY(sn_model_outputs_frame(b->scene, b->own, &b->slots[i], error));
    }
    return SINEW_OK;
}

static sinew_status renew_fields(batch *b, int count, sinew_error *error) {
    for (int i = 0; i < count; i++) {
        json_decref(b->slots[i].fields);
        b->slots[i].fields = json_object();
        if (!b->slots[i].fields) return sn_no_memory(error);
    }
    return SINEW_OK;
}

static sinew_status make_crew(sn_crew *crew, int wanted, sinew_error *error) {
    if (crew->count >= wanted) return SINEW_OK;
    sinew_solver **more = sn_realloc(crew->solvers, (size_t)wanted, sizeof *more);
    if (!more) return sn_no_memory(error);
    crew->solvers = more;
    while (crew->count < wanted) crew->solvers[crew->count++] = NULL;
    return SINEW_OK;
}

/* ---- many at once, on a device --------------------------------------------------------------- */

/* Frames b->start .. of which slots has `count`; with results[count] and figures[count]. */
static sinew_status solve_many(batch *b, int count, sinew_result *results, sinew_figures *figures,
                               sinew_error *error) {
    for (int k = 0; k < count; k++) {
        sinew_result_init(&results[k]);
        figures[k].fields = b->slots[k].fields;
        results[k].positions = b->slots[k].positions, results[k].figures = &figures[k];
    }
    SN_TRY(sn_solver_solve_batch(b->own, b->start, count, results, b->monitor, error));
    for (int k = 0; k < count; k++) {
        b->slots[k].index = b->start + k;
        fill_info(&results[k], &b->slots[k].info);
        b->errors[k] = error ? *error : (sinew_error){0};
    }
    return SINEW_OK;
}

/* Up to `most` frames at a time, as far as the device does them: b->start is the first frame that
 * is left. */
static sinew_status run_batches(batch *b, int most, sinew_error *error) {
    int frames = b->last - b->first + 1, room = frames < most ? frames : most;
    sinew_result *results = SN_NEW0(sinew_result, room);
    sinew_figures *figures = SN_NEW0(sinew_figures, room);
    sinew_status status = results && figures ? make_slots(b, room, error) : sn_no_memory(error);
    bool left = false;
    while (status == SINEW_OK && !left && b->start <= b->last) {
        int count = b->last - b->start + 1 < room ? b->last - b->start + 1 : room;
        sn_progress(b->monitor, (double)(b->start - b->first) / frames, "frames");
        status = renew_fields(b, room, error);
        if (status == SINEW_OK) status = solve_many(b, count, results, figures, error);
        left = status == SINEW_UNAVAILABLE;
        for (int k = 0; k < count && status == SINEW_OK; k++) {
            sinew_status solved = b->slots[k].info.status;
            if (solved == SINEW_OK || solved == SINEW_NOT_CONVERGED)
                status = b->take(b->user, &b->slots[k], error);
            else
                status = sn_fail(error, solved, "%s", b->errors[k].message);
        }
        if (status == SINEW_OK) b->start += count;
    }
    for (int i = 0; b->slots && i < room; i++) sn_frame_free(&b->slots[i]);
    sn_free(b->slots), sn_free(b->errors), sn_free(results), sn_free(figures);
    b->slots = NULL, b->errors = NULL;
    return left ? SINEW_OK : status;
}

/* Runs that are in memory at a time: one per thread, and some that wait for one before them. */
static int ring_of(int unit, int threads) {
    if (threads == 1) return 1;
    return unit > 1 ? threads + threads / 2 : 4 * threads;
}

static sinew_status run_claimed(batch *b, int threads, sinew_error *error) {
    b->runs = b->last / b->unit - b->start / b->unit + 1;
    b->ring = ring_of(b->unit, threads);
    if (b->ring > b->runs) b->ring = b->runs;
    b->helpers = threads - 1;
    b->error = error;
    b->ready = SN_NEW0(bool, b->ring);
    SN_TRY(b->ready ? SINEW_OK : sn_no_memory(error));
    SN_TRY(make_crew(b->crew, threads - 1, error));
    SN_TRY(make_slots(b, b->ring * b->unit, error));
    while (b->status == SINEW_OK && atomic_load(&b->handed) < b->runs) {
        atomic_store(&b->begun, 0), atomic_store(&b->paused, false);
        if (threads == 1)
            lead(b, 0);
        else if (sn_task_system())
            sn_parallel_for_seats(threads, 1, threads, solve_runs, b);
        else
            sn_parallel_together(threads, solve_runs, b);
        hand_over(b); /* where no body ran on this thread */
    }
    return b->status;
}

sinew_status sn_run_frames(sn_crew *crew, const sinew_scene *scene, sinew_solver *solver, int first,
                           int last, sn_take_frame *take, void *user, const sinew_monitor *monitor,
                           sinew_error *error) {
    int run;
    sinew_past past = sinew_solver_past(solver, &run);
    int unit = past == SINEW_PAST_RUN ? run : 1;
    int runs = past == SINEW_PAST_ALL ? 1 : last / unit - first / unit + 1;
    int threads = runs < sn_threads() ? runs : sn_threads();
    batch b = {.scene = scene,
               .session = solver->session,
               .own = solver,
               .crew = crew,
               .first = first,
               .last = last,
               .unit = unit,
               .start = first,
               .caller = pthread_self(),
               .monitor = monitor,
               .take = take,
               .user = user};
    int most = sn_model_outputs_need_state(scene, solver) ? 1 : sn_solver_batch_size(solver);
    sinew_status status = SINEW_OK;
    if (past == SINEW_PAST_NONE && most > 1) status = run_batches(&b, most, error);
    if (status != SINEW_OK || b.start > last) return status;
    pthread_mutex_init(&b.lock, NULL), pthread_cond_init(&b.changed, NULL);
    status = run_claimed(&b, threads, error);
    pthread_mutex_destroy(&b.lock), pthread_cond_destroy(&b.changed);
    for (int i = 0; b.slots && i < b.ring * unit; i++) sn_frame_free(&b.slots[i]);
    sn_free(b.slots), sn_free(b.errors), sn_free(b.ready);
    return status;
}
