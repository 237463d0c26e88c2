#include "job/crew.h"

#include <pthread.h>
#include <string.h>

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

/* ---- several at once ------------------------------------------------------------------------- */

typedef struct batch {
    const sinew_scene *scene;
    sinew_session *session;
    sinew_solver *own;
    const sn_crew *crew;
    int first, last; /* of the whole range */
    int unit;        /* frames of a run */
    int start; /* first frame of the batch, a multiple of the unit but for the range's first */
    sn_frame *slots; /* unit frames per run */
    sinew_error *errors;
    pthread_t caller;
    const sinew_monitor *monitor;
} batch;

/* Frames of the k-th run of the batch that lie in the range. */
static void range_of(const batch *b, int k, int *from, int *to) {
    int run = b->start / b->unit + k;
    *from = run * b->unit < b->start ? b->start : run * b->unit;
    *to = (run + 1) * b->unit - 1 > b->last ? b->last : (run + 1) * b->unit - 1;
}

static sn_frame *slot_of(const batch *b, int k, int frame) {
    return &b->slots[k * b->unit + frame % b->unit];
}

/* The monitor is the calling thread's; the others hear of a cancel through the session. */
static void solve_runs(void *context, sn_span span) {
    batch *b = context;
    sinew_solver *solver = span.seat == 0 ? b->own : b->crew->solvers[span.seat - 1];
    bool caller = pthread_equal(pthread_self(), b->caller);
    SN_IN_SPAN(int, k, span) {
        int from, to;
        range_of(b, k, &from, &to);
        for (int f = from; f <= to; f++) {
            sn_frame *slot = slot_of(b, k, f);
            slot->index = f;
            slot->info.status =
                sn_solve_frame(solver, f, slot->positions, &slot->info, slot->fields,
                               caller ? b->monitor : NULL, &b->errors[k * b->unit + f % b->unit]);
            if (slot->info.status == SINEW_OK || slot->info.status == SINEW_NOT_CONVERGED) {
                sn_model_outputs_take(solver, slot);
                continue;
            }
            if (caller && slot->info.status == SINEW_CANCELLED) sinew_session_cancel(b->session);
            break;
        }
    }
}

static sinew_status hand_over(batch *b, int runs, sn_take_frame *take, void *user,
                              sinew_error *error) {
    for (int k = 0; k < runs; k++) {
        int from, to;
        range_of(b, k, &from, &to);
        for (int f = from; f <= to; f++) {
            sn_frame *slot = slot_of(b, k, f);
            sinew_status status = slot->info.status;
            if (status != SINEW_OK && status != SINEW_NOT_CONVERGED)
                return sn_fail(error, status, "%s", b->errors[k * b->unit + f % b->unit].message);
            SN_TRY(take(user, slot, error));
        }
    }
    return SINEW_OK;
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

static sinew_status grow_crew(sn_crew *crew, int wanted, sinew_session *session,
                              const sinew_monitor *monitor, sinew_error *error) {
    if (crew->count >= wanted) return SINEW_OK;
    sinew_solver **more = sn_realloc(crew->solvers, (size_t)wanted, sizeof *more);
    if (!more) return sn_no_memory(error);
    crew->solvers = more;
    /* The first solver has said what there is to say about the scene. */
    sinew_monitor silent = monitor ? *monitor : (sinew_monitor){0};
    silent.log = NULL;
    while (crew->count < wanted) {
        SN_TRY(sinew_solver_create(session, &silent, &crew->solvers[crew->count], error));
        crew->count++;
    }
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
static sinew_status run_batches(batch *b, int most, sn_take_frame *take, void *user,
                                sinew_error *error) {
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
                status = take(user, &b->slots[k], error);
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
               .monitor = monitor};
    int most = sn_model_outputs_need_state(scene, solver) ? 1 : sn_solver_batch_size(solver);
    sinew_status status = SINEW_OK;
    if (past == SINEW_PAST_NONE && most > 1) status = run_batches(&b, most, take, user, error);
    if (status != SINEW_OK || b.start > last) return status;
    status = grow_crew(crew, threads - 1, b.session, monitor, error);
    if (status == SINEW_OK) status = make_slots(&b, threads * unit, error);
    while (status == SINEW_OK && b.start <= last) {
        sn_progress(monitor, (double)(b.start - first) / (last - first + 1), "frames");
        if (sn_cancelled(monitor))
            status = sn_fail(error, SINEW_CANCELLED, "cancelled at frame %d", b.start);
        else
            status = renew_fields(&b, threads * unit, error);
        if (status != SINEW_OK) break;
        int left = last / unit - b.start / unit + 1;
        int now = past == SINEW_PAST_ALL ? 1 : left < threads ? left : threads;
        if (threads > 1)
            sn_parallel_for_seats(now, 1, threads, solve_runs, &b);
        else
            solve_runs(&b, (sn_span){0, (size_t)now, 0});
        status = hand_over(&b, now, take, user, error);
        b.start = (b.start / unit + now) * unit;
    }
    for (int i = 0; b.slots && i < threads * unit; i++) sn_frame_free(&b.slots[i]);
    sn_free(b.slots), sn_free(b.errors);
    return status;
}
