/* With strengths s_i(t) of the locks, the weights of a time are
 *
 *   w(t) = sum over sets A of locks   prod_{i in A} s_i  prod_{i not in A} (1 - s_i)   w_A(t),
 *
 * w_A those that the locks of A give. Only locks that fade at that time have s between 0 and 1, so
 * few sets count; each of them filters the take once. */
#include "session/lock_times.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* Sets are bit masks. */
enum { MOST_LOCKS = 30, MOST_SETS = 256 };

void sn_lock_times_free(sn_lock_times *times) {
    for (int i = 0; i < times->count; i++) sn_free(times->names[i]);
    sn_free(times->names), sn_free(times->from), sn_free(times->to), sn_free(times->fade);
    *times = (sn_lock_times){0};
}

sinew_status sn_lock_times_add(sn_lock_times *times, const sinew_scene *scene, const json_t *lock,
                               int index, sinew_error *error) {
    const json_t *from = json_object_get(lock, "from"), *to = json_object_get(lock, "to");
    size_t room = (size_t)times->count + 1;
    char location[48];
    snprintf(location, sizeof location, "/locks/%d", index);
    char **names = sn_realloc(times->names, room, sizeof *names);
    if (names) times->names = names;
    double *starts = sn_realloc(times->from, room, sizeof *starts);
    if (starts) times->from = starts;
    double *ends = sn_realloc(times->to, room, sizeof *ends);
    if (ends) times->to = ends;
    double *fades = sn_realloc(times->fade, room, sizeof *fades);
    if (fades) times->fade = fades;
    char *name = sn_strdup(json_string_value(json_object_get(lock, "name")));
    if (!names || !starts || !ends || !fades || !name) {
        sn_free(name);
        return sn_no_memory(error);
    }
    int i = times->count++;
    times->names[i] = name;
    times->from[i] = from ? json_number_value(from) : -INFINITY;
    times->to[i] = to ? json_number_value(to) : INFINITY;
    times->fade[i] = json_number_value(json_object_get(lock, "fade"));
    times->timed = times->timed || from || to;
    if (!(times->from[i] < times->to[i]))
        return sn_scene_fail(scene, error, location, "'from' must be before 'to'");
    if (times->timed && times->count > MOST_LOCKS)
        return sn_scene_fail(scene, error, location, "at most %d locks can have times", MOST_LOCKS);
    return SINEW_OK;
}

static double strength_of(const sn_lock_times *times, int i, double time) {
    double inside = fmin(time - times->from[i], times->to[i] - time);
    if (inside < 0) return 0;
    return times->fade[i] > 0 ? fmin(inside / times->fade[i], 1) : 1;
}

/* How much of a set a time has. */
static double part_of(const sn_lock_times *times, uint32_t set, double time) {
    double part = 1;
    for (int i = 0; i < times->count && part > 0; i++) {
        double s = strength_of(times, i, time);
        part *= set >> i & 1 ? s : 1 - s;
    }
    return part;
}

/* Lists the sets that a time has some of, each once. */
static bool list_sets(const sn_lock_times *times, double time, uint32_t *sets, int *count) {
    uint32_t found[MOST_SETS] = {0};
    int n = 1;
    for (int i = 0; i < times->count; i++) {
        double s = strength_of(times, i, time);
        int before = n;
        for (int k = 0; k < before && s > 0; k++) {
            if (s < 1) {
                if (n == MOST_SETS) return false;
                found[n++] = found[k];
            }
            found[k] |= (uint32_t)1 << i;
        }
    }
    for (int k = 0; k < n; k++) {
        int at = 0;
        while (at < *count && sets[at] != found[k]) at++;
        if (at < *count) continue;
        if (*count == MOST_SETS) return false;
        sets[(*count)++] = found[k];
    }
    return true;
}

static sinew_status add_set(const sn_lock_times *times, sinew_locks *locks, uint32_t set,
                            const sinew_curves *curves, const bool *keep, sinew_curves *sum,
                            sinew_lock_filter_info *info, const sinew_monitor *monitor,
                            sinew_error *error) {
    for (int i = 0; i < times->count; i++)
        SN_TRY(sinew_locks_switch(locks, times->names[i], set >> i & 1, error));
    sinew_curves *own = NULL;
    sinew_lock_filter_info about = {.size = sizeof about};
    const sinew_curves *values = curves;
    sinew_status status = SINEW_OK;
    if (set != 0) {
        status = sinew_locks_filter(locks, curves, keep, &own, &about, monitor, error);
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
        values = own;
        info->asked_motion = fmax(info->asked_motion, about.asked_motion);
        info->given_motion = fmax(info->given_motion, about.given_motion);
        info->not_converged += about.not_converged;
    }
    size_t channels = (size_t)curves->channel_count;
    for (int t = 0; t < curves->time_count; t++) {
        double part = part_of(times, set, curves->times[t]);
        for (size_t c = 0; c < channels && part > 0; c++)
            sum->values[channels * (size_t)t + c] +=
                part * values->values[channels * (size_t)t + c];
    }
    sinew_curves_destroy(own);
    return status;
}

sinew_status sn_lock_times_filter(const sn_lock_times *times, sinew_locks *locks,
                                  const sinew_curves *curves, const bool *keep,
                                  sinew_curves **filtered, sinew_lock_filter_info *info,
                                  const sinew_monitor *monitor, sinew_error *error) {
    *filtered = NULL;
    if (!times->timed)
        return sinew_locks_filter(locks, curves, keep, filtered, info, monitor, error);
    uint32_t sets[MOST_SETS];
    int count = 0;
    for (int t = 0; t < curves->time_count; t++)
        if (!list_sets(times, curves->times[t], sets, &count))
            return sn_fail(error, SINEW_BAD_INPUT, "too many locks fade at once");
    SN_TRY(sinew_curves_create(curves->channel_count, curves->time_count, filtered, error));
    size_t channels = (size_t)curves->channel_count;
    memcpy((*filtered)->times, curves->times, (size_t)curves->time_count * sizeof(double));
    memset((*filtered)->values, 0, channels * (size_t)curves->time_count * sizeof(double));
    sinew_status status = SINEW_OK, worst = SINEW_OK;
    for (int k = 0; status == SINEW_OK && k < count; k++) {
        status = add_set(times, locks, sets[k], curves, keep, *filtered, info, monitor, error);
        if (status == SINEW_NOT_CONVERGED) worst = status, status = SINEW_OK;
    }
    for (int i = 0; i < times->count; i++) {
        sinew_status back = sinew_locks_switch(locks, times->names[i], true, NULL);
        if (status == SINEW_OK && back != SINEW_OK) status = back;
    }
    if (status != SINEW_OK) {
        sinew_curves_destroy(*filtered);
        *filtered = NULL;
        return status;
    }
    return worst;
}
