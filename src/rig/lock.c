/* The set of locks: adding, switching, and keeping Q up to date by the coordinates that changed. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "base/status.h"
#include "rig/lock_state.h"

void sinew_lock_options_init(sinew_lock_options *options) {
    *options = (sinew_lock_options){.size = sizeof *options,
                                    .alpha = SINEW_LOCK_ALPHA,
                                    .alpha_relative = true,
                                    .ridge = SINEW_LOCK_RIDGE,
                                    .dead_zone = SINEW_LOCK_DEAD_ZONE,
                                    .mode = SINEW_LOCK_MODE_KEEP,
                                    .bounded = true,
                                    .tolerance = SINEW_LOCK_TOLERANCE,
                                    .iteration_limit = SINEW_LOCK_ITERATION_LIMIT,
                                    .falloff = SINEW_LOCK_FALLOFF};
}

void sinew_lock_options_set_published(sinew_lock_options *options, const sinew_slider_space *space,
                                      int locked_coordinates) {
    double all = space ? 3.0 * space->rig->neutral->vertex_count : 0;
    double locked = locked_coordinates > 0 ? locked_coordinates : 1;
    options->alpha = all > locked ? (all - locked) / locked : 1;
    options->alpha_relative = false;
    options->ridge = 0;
    options->dead_zone = 0;
    options->mode = SINEW_LOCK_MODE_TRADE;
    options->bounded = false;
}

static sinew_status check_options(const sinew_lock_options *options, sinew_error *error) {
    if (!(options->alpha >= 0))
        return sn_fail(error, SINEW_BAD_INPUT, "lock: alpha is %g, it must be 0 or more",
                       options->alpha);
    if (!(options->ridge >= 0) || isinf(options->ridge))
        return sn_fail(error, SINEW_BAD_INPUT, "lock: ridge is %g, it must be 0 or more",
                       options->ridge);
    if (!(options->dead_zone >= 0) || isinf(options->dead_zone))
        return sn_fail(error, SINEW_BAD_INPUT, "lock: dead zone is %g, it must be 0 or more",
                       options->dead_zone);
    if (!(options->few >= 0 && options->few <= 1))
        return sn_fail(error, SINEW_BAD_INPUT, "lock: few is %g, it must be 0 to 1", options->few);
    if (!(options->falloff > 0) || isinf(options->falloff))
        return sn_fail(error, SINEW_BAD_INPUT, "lock: falloff is %g, it must be above 0",
                       options->falloff);
    if (!(options->tolerance > 0))
        return sn_fail(error, SINEW_BAD_INPUT, "lock: tolerance is %g, it must be above 0",
                       options->tolerance);
    if (options->iteration_limit < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "lock: iteration limit is %d, it must be 1 or more",
                       options->iteration_limit);
    return SINEW_OK;
}

/* --- the held coordinates ---------------------------------------------------------------------
 */

static void free_held(sn_held *held) {
    sn_free(held->vertices);
    sn_free(held->strengths);
    sn_free(held->reference);
    sn_row_blocks_free(&held->rows);
    *held = (sn_held){0};
}

static void free_lock(sn_lock *lock) {
    sn_free(lock->name);
    sn_free(lock->vertices);
    sn_free(lock->strengths);
    sn_free(lock->reference);
    *lock = (sn_lock){0};
}

/* Union of the locks that are on: the stronger one counts where they overlap, the earlier one when
 * they are equal. */
static sinew_status unite(const sinew_locks *locks, sn_held *held, sinew_error *error) {
    int n = locks->space->rig->neutral->vertex_count;
    *held = (sn_held){0};
    int *slot = SN_NEW0(int, n);
    if (!slot) return sn_no_memory(error);
    for (int l = 0; l < locks->lock_count; l++)
        for (int i = 0; locks->locks[l].on && i < locks->locks[l].count; i++) {
            held->count += slot[locks->locks[l].vertices[i]] == 0;
            slot[locks->locks[l].vertices[i]] = 1;
        }
    held->vertices = SN_NEW(int, held->count);
    held->strengths = SN_NEW0(double, 3 * (size_t)held->count);
    held->reference = SN_NEW0(double, 3 * (size_t)held->count);
    if (!held->vertices || !held->strengths || !held->reference) {
        sn_free(slot);
        free_held(held);
        return sn_no_memory(error);
    }
    int count = 0;
    for (int v = 0; v < n; v++)
        if (slot[v]) {
            slot[v] = count;
            held->vertices[count++] = v;
        }
    for (int l = 0; l < locks->lock_count; l++) {
        const sn_lock *lock = &locks->locks[l];
        for (int i = 0; lock->on && i < lock->count; i++) {
            size_t to = 3 * (size_t)slot[lock->vertices[i]], from = 3 * (size_t)i;
            for (size_t c = 0; c < 3; c++) {
                /* A coordinate that no slider moves needs no holding. */
                if (!(locks->space->axes[lock->vertices[i]] >> c & 1)) continue;
                if (lock->strengths[from + c] <= held->strengths[to + c]) continue;
                held->strengths[to + c] = lock->strengths[from + c];
                held->reference[to + c] = lock->reference[from + c];
            }
        }
    }
    sn_free(slot);
    for (int i = 0; i < 3 * held->count; i++) held->coordinates += held->strengths[i];
    return SINEW_OK;
}

/* Q += rows whose strength rose - rows whose strength fell. Both lists of vertices increase. */
static sinew_status update_held_gram(sinew_locks *locks, const sn_held *now, sinew_error *error) {
    const sn_held *before = &locks->held;
    size_t m = (size_t)locks->space->rig->target_count;
    if (now->count == 0) { /* exactly zero, whatever rounding has left */
        memset(locks->held_gram, 0, sizeof(double) * m * m);
        return SINEW_OK;
    }
    int limit = now->count + before->count, count = 0;
    int *vertices = SN_NEW(int, limit);
    double *factors = SN_NEW(double, 3 * (size_t)limit);
    sinew_status status = vertices && factors ? SINEW_OK : sn_no_memory(error);
    for (int a = 0, b = 0; status == SINEW_OK && (a < now->count || b < before->count);) {
        int va = a < now->count ? now->vertices[a] : INT_MAX;
        int vb = b < before->count ? before->vertices[b] : INT_MAX;
        bool changed = false;
        for (size_t c = 0; c < 3; c++) {
            double strength = va <= vb ? now->strengths[3 * (size_t)a + c] : 0;
            double old = vb <= va ? before->strengths[3 * (size_t)b + c] : 0;
            factors[3 * (size_t)count + c] = strength - old;
            if (strength != old) changed = true;
        }
        vertices[count] = va < vb ? va : vb;
        count += changed;
        if (va <= vb) a++;
        if (vb <= va) b++;
    }
    if (status == SINEW_OK) {
        sn_picked_rows rows = {count, vertices, factors};
        status = sn_add_gram(locks->space, &rows, &locks->pack, locks->held_gram, error);
    }
    sn_free(vertices);
    sn_free(factors);
    return status;
}

typedef struct combine_columns_loop {
    size_t m;
    const double *gram;
    const double *held_gram;
    double factor;
    double *matrix;
} combine_columns_loop;

static void combine_columns(void *context, sn_span span) {
    const combine_columns_loop *loop = context;
    size_t m = loop->m;
    const double *gram = loop->gram;
    const double *held_gram = loop->held_gram;
    double factor = loop->factor;
    double *matrix = loop->matrix;
    SN_IN_SPAN(size_t, j, span)
        for (size_t i = j * m; i < j * m + m; i++) matrix[i] = gram[i] + factor * held_gram[i];
}

/* alpha, A = T^T T + (alpha - 1) Q, and its factor. */
static void update_matrix(sinew_locks *locks) {
    size_t m = (size_t)locks->space->rig->target_count;
    double moved = locks->space->moved_count, held = locks->held.coordinates;
    double unit = held > 0 && moved > 2 * held ? (moved - held) / held : 1;
    locks->alpha = locks->options.alpha * (locks->options.alpha_relative ? unit : 1);
    if (locks->alpha > SINEW_LOCK_ALPHA_LIMIT) locks->alpha = SINEW_LOCK_ALPHA_LIMIT;
    const double *gram = locks->space->gram, *held_gram = locks->held_gram;
    double *matrix = locks->matrix, factor = locks->alpha - 1;
    sn_parallel_for(m, 8, combine_columns,
                    &(combine_columns_loop){m, gram, held_gram, factor, matrix});
    locks->version++;
    sn_slider_problem problem = {.matrix = locks->matrix,
                                 .version = locks->version,
                                 .ridge = locks->options.ridge * locks->space->mean_square,
                                 .lower = locks->options.bounded ? locks->lower : NULL};
    if (held > 0) sn_slider_prepare(locks->work, &problem);
}

static void free_held_scratch(sinew_locks *locks) {
    sn_free(locks->asked_motion);
    sn_free(locks->given_motion);
    sn_free_aligned(locks->excess_pulls);
    sn_free_aligned(locks->motion_pulls);
}

/* After any change of the locks. On failure nothing has changed. */
static sinew_status refresh(sinew_locks *locks, sinew_error *error) {
    sn_held held;
    SN_TRY(unite(locks, &held, error));
    double *asked = SN_NEW(double, 3 * (size_t)held.count);
    double *given = SN_NEW(double, 3 * (size_t)held.count);
    sinew_status status = asked && given ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_row_blocks_create(locks->space, held.count, held.vertices, &held.rows, error);
    size_t columns = held.rows.block_count > 0 ? held.rows.start[held.rows.block_count] : 0;
    double *excess = sn_alloc_aligned(columns, sizeof(double));
    double *motion = sn_alloc_aligned(columns, sizeof(double));
    if (status == SINEW_OK && (!excess || !motion)) status = sn_no_memory(error);
    if (status == SINEW_OK) status = update_held_gram(locks, &held, error);
    if (status != SINEW_OK) {
        sn_free(asked);
        sn_free(given);
        sn_free_aligned(excess);
        sn_free_aligned(motion);
        free_held(&held);
        return status;
    }
    free_held_scratch(locks);
    free_held(&locks->held);
    locks->asked_motion = asked;
    locks->given_motion = given;
    locks->excess_pulls = excess;
    locks->motion_pulls = motion;
    locks->held = held;
    sn_corrective_destroy(locks->corrective);
    locks->corrective = NULL;
    update_matrix(locks);
    return SINEW_OK;
}

/* --- the public face --------------------------------------------------------------------------
 */

sinew_status sinew_locks_create(const sinew_slider_space *space, const sinew_lock_options *options,
                                sinew_locks **locks, sinew_error *error) {
    SN_REQUIRE(space && locks, error);
    *locks = NULL;
    SN_OPTIONS(sinew_lock_options, wanted, options, error);
    SN_TRY(check_options(&wanted, error));
    size_t m = (size_t)space->rig->target_count, s = (size_t)space->rig->slider_count;
    sinew_locks *made = SN_NEW0(sinew_locks, 1);
    if (!made) return sn_no_memory(error);
    made->space = space;
    made->options = wanted;
    made->held_gram = SN_NEW0(double, m *m);
    made->matrix = SN_NEW0(double, m *m);
    made->activations = SN_NEW0(double, m);
    made->gradient = SN_NEW0(double, m);
    made->pull = SN_NEW0(double, m);
    made->scratch = SN_NEW0(double, m);
    made->lower = SN_NEW0(double, s);
    made->upper = SN_NEW0(double, s);
    made->solution = SN_NEW0(double, s);
    made->fixed = SN_NEW0(bool, s);
    sinew_status status = made->held_gram && made->matrix && made->activations && made->gradient &&
                                  made->pull && made->scratch && made->lower && made->upper &&
                                  made->solution && made->fixed
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_row_pack_create(space, &made->pack, error);
    if (status == SINEW_OK) status = sn_slider_work_create(space, &made->work, error);
    if (status == SINEW_OK) status = refresh(made, error);
    if (status != SINEW_OK) {
        sinew_locks_destroy(made);
        return status;
    }
    *locks = made;
    return SINEW_OK;
}

void sinew_locks_destroy(sinew_locks *locks) {
    if (!locks) return;
    for (int i = 0; i < locks->lock_count; i++) free_lock(&locks->locks[i]);
    sn_free(locks->locks);
    free_held(&locks->held);
    sn_free(locks->held_gram);
    sn_free(locks->matrix);
    sn_row_pack_free(&locks->pack);
    sn_slider_work_destroy(locks->work);
    sn_corrective_destroy(locks->corrective);
    sn_free(locks->activations);
    sn_free(locks->gradient);
    sn_free(locks->pull);
    sn_free(locks->scratch);
    sn_free(locks->lower);
    sn_free(locks->upper);
    sn_free(locks->solution);
    sn_free(locks->fixed);
    free_held_scratch(locks);
    sn_free(locks);
}

sinew_status sinew_locks_set_options(sinew_locks *locks, const sinew_lock_options *options,
                                     sinew_error *error) {
    SN_REQUIRE(locks && options, error);
    SN_OPTIONS(sinew_lock_options, wanted, options, error);
    options = &wanted;
    SN_TRY(check_options(options, error));
    bool matrix_changes = options->alpha != locks->options.alpha ||
                          options->alpha_relative != locks->options.alpha_relative ||
                          options->ridge != locks->options.ridge;
    if (options->falloff != locks->options.falloff) {
        sn_corrective_destroy(locks->corrective);
        locks->corrective = NULL;
    }
    locks->options = *options;
    if (matrix_changes) update_matrix(locks);
    return SINEW_OK;
}

static int find_lock(const sinew_locks *locks, const char *name) {
    for (int i = 0; i < locks->lock_count; i++)
        if (strcmp(locks->locks[i].name, name) == 0) return i;
    return -1;
}

static int compare_ints(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static sinew_status check_lock(const sinew_locks *locks, const char *name, int count,
                               const int *vertices, unsigned axes, const double *strengths,
                               const double *weights, sinew_error *error) {
    if (find_lock(locks, name) >= 0)
        return sn_fail(error, SINEW_BAD_INPUT, "two locks are named \"%s\"", name);
    if (count == 0) return sn_fail(error, SINEW_BAD_INPUT, "lock \"%s\" holds no vertices", name);
    if (axes == 0 || axes > SINEW_AXIS_ALL)
        return sn_fail(error, SINEW_BAD_INPUT, "lock \"%s\" holds no axis of x, y, z", name);
    for (int i = 0; i < count; i++) {
        if (vertices[i] < 0 || vertices[i] >= locks->space->rig->neutral->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "lock \"%s\": vertex %d is out of range, the mesh has %d", name,
                           vertices[i], locks->space->rig->neutral->vertex_count);
        if (strengths && !(strengths[i] >= 0 && strengths[i] <= 1))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "lock \"%s\": strength of vertex %d is %g, it must be 0 to 1", name,
                           vertices[i], strengths[i]);
    }
    for (int i = 0; i < locks->space->rig->slider_count; i++)
        if (!isfinite(weights[i]))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "lock \"%s\": the weight of slider \"%s\" is not finite", name,
                           locks->space->rig->sliders[i].name);
    return SINEW_OK;
}

/* Sorted, a vertex that appears twice with its larger strength. */
static sinew_status fill_lock(const sinew_locks *locks, int count, const int *vertices,
                              unsigned axes, const double *strengths, const double *weights,
                              sn_lock *lock, sinew_error *error) {
    lock->vertices = sn_memdup(vertices, (size_t)count, sizeof *vertices);
    lock->strengths = SN_NEW0(double, 3 * (size_t)count);
    lock->reference = SN_NEW0(double, 3 * (size_t)count);
    if (!lock->vertices || !lock->strengths || !lock->reference) return sn_no_memory(error);
    qsort(lock->vertices, (size_t)count, sizeof *vertices, compare_ints);
    for (int i = 0; i < count; i++)
        if (i == 0 || lock->vertices[i] != lock->vertices[i - 1])
            lock->vertices[lock->count++] = lock->vertices[i];
    for (int i = 0; i < count; i++) {
        const int *at = bsearch(&vertices[i], lock->vertices, (size_t)lock->count, sizeof *vertices,
                                compare_ints);
        double strength = strengths ? strengths[i] : 1;
        for (int c = 0; c < 3; c++) {
            double *own = &lock->strengths[3 * (at - lock->vertices) + c];
            if (axes >> c & 1 && strength > *own) *own = strength;
        }
    }
    sn_activations(locks->space->plan, weights, locks->activations, NULL);
    for (int i = 0; i < lock->count; i++)
        sn_vertex_motion(locks->space, lock->vertices[i], locks->activations,
                         lock->reference + 3 * (size_t)i);
    return SINEW_OK;
}

sinew_status sinew_locks_add(sinew_locks *locks, const char *name, int count, const int *vertices,
                             unsigned axes, const double *strengths, const double *weights,
                             sinew_error *error) {
    SN_REQUIRE(locks && name && weights, error);
    SN_REQUIRE(count >= 0 && (count == 0 || vertices), error);
    SN_TRY(check_lock(locks, name, count, vertices, axes, strengths, weights, error));
    sn_lock *grown = sn_realloc(locks->locks, (size_t)locks->lock_count + 1, sizeof *grown);
    if (!grown) return sn_no_memory(error);
    locks->locks = grown;
    sn_lock lock = {.name = sn_strdup(name), .on = true};
    sinew_status status = lock.name ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = fill_lock(locks, count, vertices, axes, strengths, weights, &lock, error);
    if (status == SINEW_OK) {
        locks->locks[locks->lock_count++] = lock;
        status = refresh(locks, error);
        if (status != SINEW_OK) locks->lock_count--;
    }
    if (status != SINEW_OK) free_lock(&lock);
    return status;
}

sinew_status sinew_locks_switch(sinew_locks *locks, const char *name, bool on, sinew_error *error) {
    SN_REQUIRE(locks && name, error);
    int at = find_lock(locks, name);
    if (at < 0) return sn_fail(error, SINEW_BAD_INPUT, "there is no lock \"%s\"", name);
    if (locks->locks[at].on == on) return SINEW_OK;
    locks->locks[at].on = on;
    sinew_status status = refresh(locks, error);
    if (status != SINEW_OK) locks->locks[at].on = !on;
    return status;
}

sinew_status sinew_locks_remove(sinew_locks *locks, const char *name, sinew_error *error) {
    SN_TRY(sinew_locks_switch(locks, name, false, error));
    int at = find_lock(locks, name);
    free_lock(&locks->locks[at]);
    locks->lock_count--;
    memmove(locks->locks + at, locks->locks + at + 1,
            sizeof *locks->locks * (size_t)(locks->lock_count - at));
    return SINEW_OK;
}

int sinew_locks_count(const sinew_locks *locks) {
    return locks ? locks->lock_count : 0;
}

const char *sinew_locks_name(const sinew_locks *locks, int index) {
    return locks && index >= 0 && index < locks->lock_count ? locks->locks[index].name : NULL;
}

bool sinew_locks_is_on(const sinew_locks *locks, int index) {
    return locks && index >= 0 && index < locks->lock_count && locks->locks[index].on;
}

double sinew_locks_coordinates(const sinew_locks *locks) {
    return locks ? locks->held.coordinates : 0;
}

double sinew_locks_alpha(const sinew_locks *locks) {
    return locks ? locks->alpha : 0;
}
