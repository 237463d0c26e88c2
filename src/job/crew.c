#include "job/crew.h"

#include "base/memory.h"
#include "base/monitor.h"
#include "base/ordered.h"
#include "base/status.h"
#include "base/threads.h"
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
    sinew_figures figures = {.fields = fields};
    result.positions = positions;
    if (fields) result.figures = &figures;
    result.status = sinew_solver_solve(solver, &input, &result, monitor, error);
    fill_info(&result, info);
    bool good = result.status == SINEW_OK || result.status == SINEW_NOT_CONVERGED;
    return good && figures.incomplete ? sn_no_memory(error) : result.status;
}

/* ---- several at once -------------------------------------------------------------------------
 *
 * An item of the ordered map is a run of frames, and its slot has room for them. Solvers are
 * created by the threads that use them, while others solve already. */

typedef struct batch {
    const sinew_scene *scene;
    sinew_session *session;
    sinew_solver *own;
    sn_crew *crew;
    int first, last; /* of the whole range */
    int unit;        /* frames of a run */
    int start;       /* first frame that a device has left over */
    int handed;      /* first frame that is not handed over */
    sn_frame *slots; /* unit frames per run */
    const sinew_monitor *monitor;
    sn_take_frame *take;
    void *user;
} batch;

/* Frames of the k-th run that lie in the range. */
static void range_of(const batch *b, int k, int *from, int *to) {
    int run = b->start / b->unit + k;
    *from = run * b->unit < b->start ? b->start : run * b->unit;
    *to = (run + 1) * b->unit - 1 > b->last ? b->last : (run + 1) * b->unit - 1;
}

/* The solver of a seat; the first one is the job's own. */
static sinew_status find_solver(batch *b, int seat, const sinew_monitor *monitor,
                                sinew_solver **solver, sinew_error *error) {
    sinew_solver **mine = seat == 0 ? &b->own : &b->crew->solvers[seat - 1];
    /* Creating the first solver has logged all warnings about the scene. */
    sinew_monitor silent = monitor ? *monitor : (sinew_monitor){0};
    silent.progress = NULL, silent.log = NULL;
    if (!*mine) SN_TRY(sinew_solver_create(b->session, &silent, mine, error));
    *solver = *mine;
    return SINEW_OK;
}

static sinew_status solve_run(void *context, int k, int slot, int seat,
                              const sinew_monitor *monitor, sinew_error *error) {
    batch *b = context;
    int from, to;
    sinew_solver *solver = NULL;
    range_of(b, k, &from, &to);
    SN_TRY(find_solver(b, seat, monitor, &solver, error));
    for (int f = from; f <= to; f++) {
        sn_frame *frame = &b->slots[slot * b->unit + f % b->unit];
        json_decref(frame->fields);
        frame->fields = json_object();
        if (!frame->fields) return sn_no_memory(error);
        frame->index = f;
        sinew_status status = sn_solve_frame(solver, f, frame->positions, &frame->info,
                                             frame->fields, monitor, error);
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
        sn_model_outputs_take(solver, frame);
    }
    return SINEW_OK;
}

static sinew_status hand_over_run(void *context, int k, int slot, sinew_status made,
                                  sinew_error *error) {
    (void)made; /* every frame has its own */
    batch *b = context;
    int from, to;
    range_of(b, k, &from, &to);
    for (int f = from; f <= to; f++) {
        SN_TRY(b->take(b->user, &b->slots[slot * b->unit + f % b->unit], error));
        b->handed = f + 1;
    }
    sn_progress(b->monitor, (double)(b->handed - b->start) / (b->last + 1 - b->start), "frames");
    return SINEW_OK;
}

static sinew_status make_slots(batch *b, int count, sinew_error *error) {
    size_t n = 3 * (size_t)sinew_solver_rig(b->own)->neutral->vertex_count;
    b->slots = SN_NEW0(sn_frame, count);
    if (!b->slots) return sn_no_memory(error);
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
        if (figures[k].incomplete) return sn_no_memory(error);
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
                status = solved; /* with the error of the batch */
        }
        if (status == SINEW_OK) b->start += count;
    }
    for (int i = 0; b->slots && i < room; i++) sn_frame_free(&b->slots[i]);
    sn_free(b->slots), sn_free(results), sn_free(figures);
    b->slots = NULL;
    return left ? SINEW_OK : status;
}

/* Runs that are in memory at a time: one per thread, and some that wait for one before them. */
static int slots_of(int unit, int threads) {
    if (threads == 1) return 1;
    return unit > 1 ? threads + threads / 2 : 2 * threads + 4;
}

static sinew_status run_claimed(batch *b, int threads, sinew_error *error) {
    int runs = b->last / b->unit - b->start / b->unit + 1, slots = slots_of(b->unit, threads);
    if (slots > runs) slots = runs;
    sn_ordered_map map = {.count = runs,
                          .slots = slots,
                          .seats = threads,
                          .context = b,
                          .make = solve_run,
                          .take = hand_over_run};
    b->handed = b->start;
    sinew_status status = make_crew(b->crew, threads - 1, error);
    if (status == SINEW_OK) status = make_slots(b, slots * b->unit, error);
    if (status == SINEW_OK) status = sn_ordered_map_run(&map, b->monitor, error);
    for (int i = 0; b->slots && i < slots * b->unit; i++) sn_frame_free(&b->slots[i]);
    sn_free(b->slots);
    if (status != SINEW_CANCELLED) return status;
    return sn_fail(error, status, "cancelled at frame %d", b->handed);
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
               .monitor = monitor,
               .take = take,
               .user = user};
    int most = sn_model_outputs_need_state(scene, solver) ? 1 : sn_solver_batch_size(solver);
    if (past == SINEW_PAST_NONE && most > 1) SN_TRY(run_batches(&b, most, error));
    return b.start > last ? SINEW_OK : run_claimed(&b, threads, error);
}
