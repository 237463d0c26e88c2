/* The head's motion out of a take: per frame the rigid motion of the markers that move with the
 * head alone.
 *
 *   lengths   a pair of stable markers keeps its distance. One that does not in a frame has a
 * marker that slipped; the marker with most such pairs is dropped until none is left motion Kabsch
 * over the rest; while four or more are left, those off their places by more than the slip are
 * dropped, worst first hold      fewer than three, or three on a line, say nothing: the last motion
 * is kept
 *
 * Lengths tell with three markers too, where a rigid motion always fits two of them and splits what
 * the third is off. */
#include "sinew/capture.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/sort.h"
#include "base/status.h"

/* A length is the take's median, but that of the neutral where this fraction of the frames agrees
 * with the neutral and the median is off it by more than so many slips: then a marker slipped for
 * good.
 */
#define AGREEMENT 0.1
#define FOR_GOOD  3
/* Markers nearer to a line than this fraction of their spread do not tell how the head turns about
 * it.
 */
#define THIN 0.02

typedef struct stable_set {
    int count;
    const int *markers;      /* of the take */
    const double *reference; /* 3 each: positions on the neutral */
    double slip;             /* length */
    double *lengths;         /* count x count: distances that hold */
    double *seen;            /* 3 each: in the frame at hand */
    double *weights;         /* 1: used, 0: not */
} stable_set;

static bool is_seen(sn_vec3 p) {
    return isfinite(p.x) && isfinite(p.y) && isfinite(p.z);
}

/* Distances over the take. Those of the neutral alone would not do: faces differ, skin gives, and a
 * length near its limit would drop markers in some frames and not in others. An infinite one
 * belongs to a pair that is never seen. */
static void find_lengths(stable_set *set, const sinew_markers *take, double *distances) {
    for (int i = 0; i < set->count; i++)
        for (int j = 0; j < i; j++) {
            int seen = 0, agree = 0;
            double own = sn_distance(sn_at(set->reference, i), sn_at(set->reference, j));
            for (int f = 0; f < take->time_count; f++) {
                const double *row = take->positions + 3 * (size_t)f * (size_t)take->marker_count;
                sn_vec3 a = sn_at(row, set->markers[i]), b = sn_at(row, set->markers[j]);
                if (!is_seen(a) || !is_seen(b)) continue;
                distances[seen] = sn_distance(a, b);
                agree += fabs(distances[seen++] - own) <= set->slip;
            }
            sn_sort_doubles((size_t)seen, distances);
            double length = seen == 0 ? INFINITY : distances[(seen - 1) / 2];
            if (agree > 0 && agree >= AGREEMENT * seen && fabs(length - own) > FOR_GOOD * set->slip)
                length = own;
            set->lengths[i * set->count + j] = set->lengths[j * set->count + i] = length;
        }
}

/* Drops markers whose distances to others do not hold; returns how many are left. */
static int drop_slipped(stable_set *set) {
    for (;;) {
        int used = 0, worst = -1, most = 0;
        double farthest = 0;
        for (int i = 0; i < set->count; i++) {
            if (!(set->weights[i] > 0)) continue;
            int broken = 0;
            double off = 0;
            for (int j = 0; j < set->count; j++) {
                if (j == i || !(set->weights[j] > 0)) continue;
                double change = fabs(sn_distance(sn_at(set->seen, i), sn_at(set->seen, j)) -
                                     set->lengths[i * set->count + j]);
                broken += change > set->slip, off += change;
            }
            used++;
            if (broken > most || (broken == most && broken > 0 && off > farthest))
                most = broken, farthest = off, worst = i;
        }
        if (worst < 0) return used;
        set->weights[worst] = 0;
    }
}

/* Whether the places of the used markers span a plane: the farthest pair and one beside its line.
 */
static bool spans_a_plane(const stable_set *set) {
    double longest = 0, height = 0;
    sn_vec3 from = {0, 0, 0}, along = {0, 0, 0};
    for (int i = 0; i < set->count; i++)
        for (int j = 0; j < i; j++) {
            if (!(set->weights[i] > 0 && set->weights[j] > 0)) continue;
            sn_vec3 edge = sn_sub(sn_at(set->reference, i), sn_at(set->reference, j));
            if (sn_length(edge) > longest)
                longest = sn_length(edge), from = sn_at(set->reference, j), along = edge;
        }
    for (int i = 0; longest > 0 && i < set->count; i++)
        if (set->weights[i] > 0)
            height =
                fmax(height,
                     sn_length(sn_cross(along, sn_sub(sn_at(set->reference, i), from))) / longest);
    return height > THIN * longest;
}

static bool find_motion(stable_set *set, sn_mat3 *rotation, sn_vec3 *translation) {
    int used = drop_slipped(set);
    while (used >= 3 && spans_a_plane(set)) {
        sn_rigid_fit(set->count, set->seen, set->reference, set->weights, rotation, translation);
        int worst = -1;
        double distance = set->slip;
        for (int i = 0; i < set->count; i++) {
            if (!(set->weights[i] > 0)) continue;
            sn_vec3 image = sn_add(sn_mat3_apply(*rotation, sn_at(set->seen, i)), *translation);
            double off = sn_distance(image, sn_at(set->reference, i));
            if (off > distance) distance = off, worst = i;
        }
        if (worst < 0 || used == 3) return true;
        set->weights[worst] = 0;
        used--;
    }
    return false;
}

static sinew_status check(const stable_set *set, const sinew_markers *take, sinew_error *error) {
    if (set->count < 3)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "stabilise: %d stable markers, at least 3 are needed", set->count);
    for (int i = 0; i < set->count; i++) {
        if (set->markers[i] < 0 || set->markers[i] >= take->marker_count)
            return sn_fail(error, SINEW_BAD_INPUT, "stabilise: there is no marker %d",
                           set->markers[i]);
        for (int j = 0; j < i; j++)
            if (set->markers[i] == set->markers[j])
                return sn_fail(error, SINEW_BAD_INPUT,
                               "stabilise: the stable marker '%s' is given twice",
                               take->names[set->markers[i]]);
    }
    return SINEW_OK;
}

static sinew_rigid rigid(sn_mat3 rotation, sn_vec3 translation) {
    sinew_rigid motion;
    memcpy(motion.rotation, &rotation, sizeof motion.rotation);
    motion.translation[0] = translation.x;
    motion.translation[1] = translation.y;
    motion.translation[2] = translation.z;
    return motion;
}

/* Returns the frames that kept the motion before them. */
static int take_motion_out(stable_set *set, sinew_markers *take, sinew_rigid *motion) {
    sn_mat3 rotation = sn_mat3_identity();
    sn_vec3 translation = {0, 0, 0};
    int held = 0;
    for (int f = 0; f < take->time_count; f++) {
        double *row = take->positions + 3 * (size_t)f * (size_t)take->marker_count;
        for (int i = 0; i < set->count; i++) {
            sn_vec3 p = sn_at(row, set->markers[i]);
            set->weights[i] = is_seen(p);
            sn_put(set->seen, i, is_seen(p) ? p : sn_v3(0, 0, 0));
        }
        sn_mat3 r;
        sn_vec3 t;
        if (find_motion(set, &r, &t))
            rotation = r, translation = t;
        else
            held++;
        sinew_rigid forward = rigid(rotation, translation);
        sinew_rigid_apply(&forward, take->marker_count, row);
        sn_mat3 back = sn_mat3_transpose(rotation);
        if (motion) motion[f] = rigid(back, sn_scale(-1, sn_mat3_apply(back, translation)));
    }
    return held;
}

sinew_status sinew_markers_stabilise(sinew_markers *markers, int stable_count, const int *stable,
                                     const double *reference, sinew_rigid *motion, int *held_frames,
                                     sinew_error *error) {
    SN_REQUIRE(markers && stable && reference, error);
    stable_set set = {.count = stable_count, .markers = stable, .reference = reference};
    SN_TRY(check(&set, markers, error));
    size_t count = (size_t)stable_count;
    set.slip = SINEW_STABILISE_SLIP * sinew_diagonal(stable_count, reference);
    set.lengths = SN_NEW0(double, count *count);
    set.seen = SN_NEW(double, 3 * count);
    set.weights = SN_NEW(double, count);
    double *distances = SN_NEW(double, markers->time_count);
    sinew_status status =
        set.lengths && set.seen && set.weights && distances ? SINEW_OK : sn_no_memory(error);
    for (size_t i = 0; status == SINEW_OK && i < count; i++) set.weights[i] = 1;
    if (status == SINEW_OK && !spans_a_plane(&set))
        status = sn_fail(error, SINEW_BAD_INPUT,
                         "stabilise: the stable markers '%s' to '%s' lie on a line",
                         markers->names[stable[0]], markers->names[stable[count - 1]]);
    if (status == SINEW_OK) {
        find_lengths(&set, markers, distances);
        int held = take_motion_out(&set, markers, motion);
        if (held_frames) *held_frames = held;
    }
    sn_free(set.lengths), sn_free(set.seen), sn_free(set.weights), sn_free(distances);
    return status;
}
