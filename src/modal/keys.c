/* A motion from key poses: checks, poses read in modes, what is left over on vertices. */
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "modal/frame.h"
#include "modal/pose.h"

/* Seconds: keys that are closer lie within one frame of any clock, and their rates leave the range
 * of numbers. */
static const double CLOSEST_KEYS = 1e-6, LATEST_KEY = 1e9;

static sinew_status check_times(const sinew_modal_keys *keys, sinew_error *error) {
    if (keys->count < 2) return sn_fail(error, SINEW_BAD_INPUT, "a motion needs two keys or more");
    for (int k = 0; k < keys->count; k++) {
        if (!isfinite(keys->times[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "time of key %d is not finite", k);
        if (k > 0 && keys->times[k] == keys->times[k - 1])
            return sn_fail(error, SINEW_BAD_INPUT, "keys %d and %d are both at %g s", k - 1, k,
                           keys->times[k]);
        if (k > 0 && keys->times[k] < keys->times[k - 1])
            return sn_fail(error, SINEW_BAD_INPUT, "keys are out of order: %g s after %g s",
                           keys->times[k], keys->times[k - 1]);
        if (k > 0 && keys->times[k] - keys->times[k - 1] < CLOSEST_KEYS)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "times: keys %d and %d are only %g s apart; the least is %g s", k - 1, k,
                           keys->times[k] - keys->times[k - 1], CLOSEST_KEYS);
        if (fabs(keys->times[k]) > LATEST_KEY)
            return sn_fail(error, SINEW_BAD_INPUT, "times: key %d at %g s is beyond %g s", k,
                           keys->times[k], LATEST_KEY);
        if (!keys->positions[k]) return sn_fail(error, SINEW_BAD_INPUT, "key %d has no pose", k);
    }
    for (int i = 0; i < keys->inner_count; i++) {
        double t = keys->inner_times[i];
        bool inside = t > keys->times[0] && t < keys->times[keys->count - 1];
        for (int k = 0; k < keys->count; k++) inside = inside && t != keys->times[k];
        if (!inside || (i > 0 && !(t > keys->inner_times[i - 1])))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "inner key %d at %g s must lie between keys, in order", i, t);
    }
    for (int i = 0; i < keys->path_count; i++) {
        const double *p = keys->path + 3 * (size_t)i;
        if (!isfinite(keys->path_times[i]) || !isfinite(p[0] + p[1] + p[2]))
            return sn_fail(error, SINEW_BAD_INPUT, "point %d of the path is not finite", i);
        if (i > 0 && !(keys->path_times[i] > keys->path_times[i - 1]))
            return sn_fail(error, SINEW_BAD_INPUT, "points of the path are out of order at %g s",
                           keys->path_times[i]);
    }
    return SINEW_OK;
}

/* A pose inside out as a whole is a mirror image: no motion of matter leads there. */
static sinew_status check_mirrored(const sinew_modal *modal, const sn_pose *pose,
                                   sinew_error *error) {
    int elements = modal->body->rs->element_count;
    if (modal->body->rs->corners == 4 && pose->inverted > elements / 2)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the pose is a mirror image of the rest shape (%d of %d tets inside out)",
                       pose->inverted, elements);
    return SINEW_OK;
}

static sinew_status read_key(const sinew_modal *modal, const double *positions, const char *what,
                             int index, const sinew_monitor *monitor, bool *inverted, sn_pose *pose,
                             sinew_error *error) {
    sinew_error own = {0};
    sinew_status status = sn_pose_read(modal, positions, monitor, inverted, pose, &own);
    if (status == SINEW_OK) status = check_mirrored(modal, pose, &own);
    if (status != SINEW_OK) return sn_fail(error, status, "%s %d: %s", what, index, own.message);
    if (!pose->leftover) {
        pose->leftover = SN_NEW0(double, (size_t)3 * modal->body->artist_count);
        if (!pose->leftover) return sn_no_memory(error);
    }
    return SINEW_OK;
}

/* d/dt of the tracks by a small step along the pose's velocity: turns, centers and weights alike.
 */
static sinew_status read_rates(const sinew_modal *modal, const double *positions,
                               const double *velocity, sn_pose *pose, sinew_error *error) {
    int n = modal->body->artist_count, tracks = sn_track_count(modal);
    double fastest = 0;
    for (int k = 0; k < 3 * n; k++) {
        if (!isfinite(velocity[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "velocity of vertex %d is not finite", k / 3);
        fastest = fmax(fastest, fabs(velocity[k]));
    }
    pose->rates = SN_NEW0(double, tracks);
    double *moved = SN_NEW(double, (size_t)3 * n);
    if (!pose->rates || !moved) {
        sn_free(moved);
        return sn_no_memory(error);
    }
    sinew_status status = SINEW_OK;
    if (fastest > 0) {
        double step = 1e-5 * modal->body->diagonal / fastest;
        sn_pose next;
        for (int k = 0; k < 3 * n; k++) moved[k] = positions[k] + step * velocity[k];
        status = sn_pose_read(modal, moved, NULL, NULL, &next, error);
        if (status == SINEW_OK) {
            for (int i = 0; i < tracks; i++)
                pose->rates[i] = (next.tracks[i] - pose->tracks[i]) / step;
            sn_pose_free(&next);
        }
    }
    sn_free(moved);
    return status;
}

/* Residual and leftover of an inner key relative to the blend of the keys around it. */
static void make_relative(const sinew_modal_motion *motion, int i) {
    size_t coordinates = (size_t)SN_RS_SIZE * motion->modal->body->rs->item_count;
    size_t vertices = (size_t)3 * motion->modal->body->artist_count;
    sinew_modal_motion plain = *motion;
    plain.inner_count = 0;
    sn_residual_sum around = sn_motion_residual(&plain, motion->inner_times[i]);
    for (int k = 0; k < around.count; k++) {
        for (size_t c = 0; c < coordinates; c++)
            motion->inner[i].residual[c] -= around.weights[k] * around.poses[k]->residual[c];
        for (size_t c = 0; c < vertices; c++)
            motion->inner[i].leftover[c] -= around.weights[k] * around.poses[k]->leftover[c];
    }
}

/* Rounding of the frame's own arithmetic, and of a cage's embedding, goes into the leftovers: keys
 * are then met to the last bits, in double and in single precision. */
static sinew_status correct_keys(sinew_modal_motion *motion, const sinew_modal_keys *keys,
                                 sinew_modal_state *state, bool exact, double *positions,
                                 sinew_error *error) {
    state->exact = exact;
    for (int k = 0; k < motion->key_count + motion->inner_count; k++) {
        bool inner = k >= motion->key_count;
        int i = inner ? k - motion->key_count : k;
        sn_pose *pose = inner ? &motion->inner[i] : &motion->keys[i];
        sinew_modal_frame(motion, state, inner ? keys->inner_times[i] : keys->times[i], positions);
        sn_correct_leftover(motion->modal, state,
                            inner ? keys->inner_positions[i] : keys->positions[i], positions,
                            exact ? pose->leftover : pose->fast_leftover);
        SN_TRY(sn_check_interrupt(error));
    }
    return SINEW_OK;
}

static sinew_status copy_leftovers(const sinew_modal_motion *motion, sn_pose *poses, int count,
                                   sinew_error *error) {
    size_t size = (size_t)3 * motion->modal->body->artist_count;
    for (int k = 0; k < count; k++) {
        poses[k].fast_leftover = sn_memdup(poses[k].leftover, size, sizeof(double));
        if (!poses[k].fast_leftover) return sn_no_memory(error);
    }
    return SINEW_OK;
}

static sinew_status correct_leftovers(sinew_modal_motion *motion, const sinew_modal_keys *keys,
                                      sinew_error *error) {
    const sinew_modal *modal = motion->modal;
    int n = modal->body->artist_count;
    sinew_modal_state *state = NULL;
    double *positions = SN_NEW(double, (size_t)3 * n);
    sinew_status status =
        positions ? sinew_modal_state_create(modal, &state, error) : sn_no_memory(error);
    if (status == SINEW_OK) status = correct_keys(motion, keys, state, true, positions, error);
    if (status == SINEW_OK && modal->fast) {
        status = copy_leftovers(motion, motion->keys, motion->key_count, error);
        if (status == SINEW_OK)
            status = copy_leftovers(motion, motion->inner, motion->inner_count, error);
        if (status == SINEW_OK) status = correct_keys(motion, keys, state, false, positions, error);
    }
    for (int k = 0; status == SINEW_OK && k < motion->key_count; k++)
        for (int v = 0; v < n; v++)
            motion->leftover =
                fmax(motion->leftover, sn_length(sn_at(motion->keys[k].leftover, v)));
    motion->leftover /= modal->body->diagonal > 0 ? modal->body->diagonal : 1;
    sinew_modal_state_destroy(state);
    sn_free(positions);
    return status;
}

static sinew_status allocate(sinew_modal_motion *motion, const sinew_modal_keys *keys,
                             sinew_error *error) {
    size_t tracks = (size_t)motion->track_count, count = (size_t)keys->count;
    motion->times = sn_memdup(keys->times, count, sizeof(double));
    motion->keys = SN_NEW0(sn_pose, count);
    motion->inner_times = sn_memdup(keys->inner_times ? keys->inner_times : keys->times,
                                    (size_t)keys->inner_count, sizeof(double));
    motion->inner = SN_NEW0(sn_pose, keys->inner_count);
    motion->inner_offsets = SN_NEW0(double, tracks *(size_t)keys->inner_count);
    motion->tracks = SN_NEW0(sn_track, tracks);
    motion->pieces = SN_NEW(sn_wiggly_piece, tracks * (count - 1));
    motion->values = SN_NEW(double, 5 * tracks * count);
    motion->frequency = SN_NEW0(double, motion->column_count);
    motion->damping = SN_NEW0(double, motion->column_count);
    motion->fitted = SN_NEW0(double, 2 * motion->column_count);
    motion->fitted_share = SN_NEW0(double, motion->column_count);
    motion->captured = SN_NEW(double, count);
    motion->inverted = SN_NEW(int, count);
    motion->inverted_in_key = SN_NEW0(bool, motion->modal->body->rs->element_count);
    motion->path_count = keys->path_count;
    motion->path_times = sn_memdup(keys->path_times, (size_t)keys->path_count, sizeof(double));
    motion->path = sn_memdup(keys->path, (size_t)3 * (size_t)keys->path_count, sizeof(double));
    bool room = motion->times && motion->keys && motion->inner_times && motion->inner &&
                motion->inner_offsets && motion->tracks && motion->pieces && motion->values &&
                motion->frequency && motion->damping && motion->fitted && motion->fitted_share &&
                motion->captured && motion->inverted && motion->inverted_in_key &&
                motion->path_times && motion->path;
    return room ? SINEW_OK : sn_no_memory(error);
}

/* Room for what modal/motion.c keeps of columns that do not swing; at first all do. */
static sinew_status prepare_still(sinew_modal_motion *motion, sinew_error *error) {
    if (!motion->modal->fast) return SINEW_OK;
    motion->moving = SN_NEW(int, motion->column_count);
    motion->moves = SN_NEW(bool, motion->column_count);
    bool room = motion->moving && motion->moves;
    for (int k = 0; room && k < motion->key_count + motion->inner_count; k++) {
        bool inner = k >= motion->key_count;
        sn_pose *pose = inner ? &motion->inner[k - motion->key_count] : &motion->keys[k];
        size_t size = (size_t)3 * motion->modal->body->vertex_count;
        pose->still = sn_alloc_aligned(size, sizeof *pose->still);
        room = pose->still != NULL;
        if (room) memset(pose->still, 0, size * sizeof *pose->still);
    }
    for (int i = 0; room && i < motion->column_count; i++) motion->moves[i] = true;
    return room ? SINEW_OK : sn_no_memory(error);
}

static sinew_status build(sinew_modal_motion *motion, const sinew_modal_keys *keys,
                          const sinew_modal_parameters *parameters, const sinew_monitor *monitor,
                          sinew_error *error) {
    const sinew_modal *modal = motion->modal;
    SN_TRY(allocate(motion, keys, error));
    for (int k = 0; k < keys->count; k++) {
        if (sn_cancelled(monitor))
            return sn_fail(error, SINEW_CANCELLED, "cancelled while reading key poses");
        sn_progress(monitor, (double)k / keys->count, "key poses");
        motion->key_count = k + 1;
        SN_TRY(read_key(modal, keys->positions[k], "key", k, monitor, motion->inverted_in_key,
                        &motion->keys[k], error));
        if (keys->velocities && keys->velocities[k])
            SN_TRY(read_rates(modal, keys->positions[k], keys->velocities[k], &motion->keys[k],
                              error));
        motion->captured[k] = motion->keys[k].captured;
        motion->inverted[k] = motion->keys[k].inverted;
    }
    for (int i = 0; i < keys->inner_count; i++) {
        motion->inner_count = i + 1;
        SN_TRY(read_key(modal, keys->inner_positions[i], "inner key", i, monitor,
                        motion->inverted_in_key, &motion->inner[i], error));
        make_relative(motion, i);
        SN_TRY(sn_pose_pack(modal, &motion->inner[i], error));
    }
    SN_TRY(prepare_still(motion, error));
    /* With parameters of their own: the leftovers, and with them all frames, have the same bits
     * whichever parameters the motion begins with. */
    SN_TRY(sinew_modal_motion_update(motion, NULL, error));
    SN_TRY(correct_leftovers(motion, keys, error));
    return sinew_modal_motion_update(motion, parameters, error);
}

static sinew_modal_motion *new_motion(const sinew_modal *modal) {
    sinew_modal_motion *motion = SN_NEW0(sinew_modal_motion, 1);
    if (!motion) return NULL;
    atomic_init(&motion->holders, 1);
    motion->modal = modal;
    motion->column_count = modal->modes->column_count;
    motion->track_count = sn_track_count(modal);
    return motion;
}

sinew_status sinew_modal_motion_create(const sinew_modal *modal, const sinew_modal_keys *keys,
                                       const sinew_modal_parameters *parameters,
                                       const sinew_monitor *monitor, sinew_modal_motion **motion,
                                       sinew_error *error) {
    SN_REQUIRE(motion != NULL, error);
    *motion = NULL;
    SN_REQUIRE(modal && keys, error);
    SN_INPUT(sinew_modal_keys, given, keys, error);
    keys = &given;
    SN_REQUIRE(keys->times && keys->positions && keys->inner_count >= 0, error);
    SN_REQUIRE(keys->path_count >= 0, error);
    SN_REQUIRE(keys->path_count == 0 || (keys->path_times && keys->path), error);
    SN_REQUIRE(keys->inner_count == 0 || (keys->inner_times && keys->inner_positions), error);
    SN_TRY(check_times(keys, error));
    sinew_modal_motion *result = new_motion(modal);
    if (!result) return sn_no_memory(error);
    sinew_status status = build(result, keys, parameters, monitor, error);
    if (status != SINEW_OK) {
        sinew_modal_motion_destroy(result);
        return status;
    }
    *motion = result;
    return SINEW_OK;
}

/* Poses as they are, but for what the parameters of a motion make of them. */
static void borrow_poses(const sn_pose *from, int count, sn_pose *poses) {
    for (int k = 0; k < count; k++) {
        poses[k] = from[k];
        poses[k].still = NULL;
    }
}

static sinew_status borrow(sinew_modal_motion *motion, sinew_modal_motion *from,
                           const sinew_modal_parameters *parameters, sinew_error *error) {
    sinew_modal_keys keys = {.size = sizeof keys,
                             .count = from->key_count,
                             .times = from->times,
                             .inner_count = from->inner_count,
                             .inner_times = from->inner_times,
                             .path_count = from->path_count,
                             .path_times = from->path_times,
                             .path = from->path};
    motion->lender = from->lender ? from->lender : from;
    atomic_fetch_add(&motion->lender->holders, 1);
    SN_TRY(allocate(motion, &keys, error));
    size_t count = (size_t)from->key_count;
    memcpy(motion->captured, from->captured, count * sizeof *motion->captured);
    memcpy(motion->inverted, from->inverted, count * sizeof *motion->inverted);
    memcpy(motion->inverted_in_key, from->inverted_in_key,
           (size_t)motion->modal->body->rs->element_count * sizeof *motion->inverted_in_key);
    motion->leftover = from->leftover;
    motion->key_count = from->key_count, motion->inner_count = from->inner_count;
    borrow_poses(from->keys, from->key_count, motion->keys);
    borrow_poses(from->inner, from->inner_count, motion->inner);
    SN_TRY(prepare_still(motion, error));
    return sinew_modal_motion_update(motion, parameters, error);
}

sinew_status sn_motion_copy(sinew_modal_motion *from, const sinew_modal_parameters *parameters,
                            sinew_modal_motion **motion, sinew_error *error) {
    *motion = NULL;
    sinew_modal_motion *copy = new_motion(from->modal);
    if (!copy) return sn_no_memory(error);
    sinew_status status = borrow(copy, from, parameters, error);
    if (status != SINEW_OK)
        sinew_modal_motion_destroy(copy);
    else
        *motion = copy;
    return status;
}

static void free_poses(sn_pose *poses, int count, bool borrowed) {
    for (int k = 0; poses && k < count; k++)
        if (borrowed)
            sn_free_aligned(poses[k].still);
        else
            sn_pose_free(&poses[k]);
}

void sinew_modal_motion_destroy(sinew_modal_motion *motion) {
    if (!motion || atomic_fetch_sub(&motion->holders, 1) > 1) return;
    free_poses(motion->keys, motion->key_count, motion->lender != NULL);
    free_poses(motion->inner, motion->inner_count, motion->lender != NULL);
    sinew_modal_motion_destroy(motion->lender);
    sn_free(motion->times);
    sn_free(motion->keys);
    sn_free(motion->inner_times);
    sn_free(motion->inner);
    sn_free(motion->inner_offsets);
    sn_free(motion->tracks);
    sn_free(motion->pieces);
    sn_free(motion->values);
    sn_free(motion->frequency);
    sn_free(motion->damping);
    sn_free(motion->fitted);
    sn_free(motion->fitted_share);
    sn_free(motion->captured);
    sn_free(motion->inverted);
    sn_free(motion->inverted_in_key);
    sn_free(motion->path_times);
    sn_free(motion->path);
    sn_free(motion->moving);
    sn_free(motion->moves);
    sn_free(motion);
}
