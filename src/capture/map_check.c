#include "capture/map_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/vec3.h"
#include "capture/anatomy_state.h"
#include "capture/similarity.h"

/* All are fractions of the RMS spread of the points. Faces differ by less than FAR; a marker off by
 * more, and by more than MEDIANS medians, is in doubt. A map off by WRONG in the median is another
 * shape. */
#define FAR     0.22
#define MEDIANS 3
#define WRONG   0.45
/* Neighbors are off in nearly the same way, so a marker that deviates from them is in doubt from
 * here on, or from this many median deviations on. Markers off by OTHER_FACE in the median are
 * those of another face, which deviate more. */
#define DEVIATES          0.05
#define DEVIATES_OTHER    0.15
#define MEDIAN_DEVIATIONS 5
#define OTHER_FACE        0.02
/* In eye distances: a map whose markers are this far from the landmarks after which they are named,
 * in the median, is another one; a single marker; a marker against its partner. */
#define OFF_LANDMARKS 0.4
#define OFF_LANDMARK  0.5
#define ASYMMETRIC    0.25
/* A mirrored map fits this much better when it is mirrored back. */
#define MIRRORED 0.6
/* Exchanging two markers must bring this fraction of their distances down. */
#define EXCHANGED 0.4
/* A map with more than this fraction of doubtful markers is refused. */
#define MOST_DOUBTFUL 0.34
/* Fractions of the spread of the points: two markers across an opening are at least this far apart,
 * in the take and on the face, and at most this far in the take. Cosine from which on they lie the
 * other way round. This many pairs are a lid or lip. */
#define APART    0.06
#define ACROSS   0.3
#define REVERSED (-0.6)
enum { LID_PAIRS = 2 };
/* Neighbors with which a marker is compared. */
enum { NEIGHBORS = 6 };

sinew_status sn_map_doubts_create(int count, sn_map_doubts *d, sinew_error *error) {
    *d = (sn_map_doubts){.count = count,
                         .distance = SN_NEW(double, count),
                         .reason = sn_calloc((size_t)count, sizeof *d->reason)};
    if (!d->distance || !d->reason) {
        sn_map_doubts_free(d);
        return sn_no_memory(error);
    }
    for (int i = 0; i < count; i++) d->distance[i] = NAN;
    return SINEW_OK;
}

void sn_map_doubts_free(sn_map_doubts *d) {
    sn_free(d->distance), sn_free(d->reason);
    *d = (sn_map_doubts){0};
}

void sn_map_doubt(sn_map_doubts *d, int marker, const char *format, ...) {
    if (*d->reason[marker]) return; /* the first is enough */
    va_list arguments;
    va_start(arguments, format);
    sn_vprint(d->reason[marker], sizeof d->reason[marker], format, arguments);
    va_end(arguments);
    d->doubtful++;
}

typedef struct comparison {
    int count;         /* seen markers */
    int *marker;       /* of the map */
    double *from, *to; /* as seen; on the face */
    double *weights, *off, *scratch;
    double *shift;     /* 3 each: how the neighbors lie off their images, median */
    double *deviation; /* from that */
    double size;       /* RMS spread of the points */
    sn_similarity fit;
} comparison;

static double image_distance(const comparison *c, int i, int j) {
    return sn_distance(sn_similarity_apply(&c->fit, sn_at(c->from, i)), sn_at(c->to, j));
}

static double median_off(comparison *c) {
    memcpy(c->scratch, c->off, sizeof(double) * (size_t)c->count);
    return sn_median(c->count, c->scratch);
}

static bool fit(comparison *c) {
    for (int i = 0; i < c->count; i++) c->weights[i] = 1;
    return sn_similarity_fit_robust(c->count, c->from, c->to, c->weights, c->off, c->scratch,
                                    &c->fit);
}

/* The median distance when left and right of the take are exchanged. */
static double mirrored_off(comparison *c) {
    sn_similarity kept = c->fit;
    double median = INFINITY;
    for (int i = 0; i < c->count; i++) c->from[3 * i] = -c->from[3 * i];
    if (fit(c)) median = median_off(c);
    for (int i = 0; i < c->count; i++) c->from[3 * i] = -c->from[3 * i];
    c->fit = kept;
    for (int i = 0; i < c->count; i++) c->off[i] = image_distance(c, i, i);
    return median;
}

/* The nearest markers in the take; how many. */
static int neighbors_of(const comparison *c, int i, int near[NEIGHBORS]) {
    int found = 0;
    for (int j = 0; j < c->count; j++) { /* by insertion */
        if (j == i) continue;
        double s = sn_distance(sn_at(c->from, i), sn_at(c->from, j));
        int k = found < NEIGHBORS ? found++ : NEIGHBORS;
        while (k > 0 && sn_distance(sn_at(c->from, i), sn_at(c->from, near[k - 1])) > s) {
            if (k < NEIGHBORS) near[k] = near[k - 1];
            k--;
        }
        if (k < NEIGHBORS) near[k] = j;
    }
    return found;
}

static sn_vec3 shift_of(const comparison *c, int i) {
    return sn_sub(sn_at(c->to, i), sn_similarity_apply(&c->fit, sn_at(c->from, i)));
}

/* Another face is off in other ways here than there, but nearly alike among neighbors. */
static void find_deviations(comparison *c) {
    for (int i = 0; i < c->count; i++) {
        int near[NEIGHBORS], found = neighbors_of(c, i, near);
        double x[NEIGHBORS], y[NEIGHBORS], z[NEIGHBORS];
        for (int k = 0; k < found; k++) {
            sn_vec3 d = shift_of(c, near[k]);
            x[k] = d.x, y[k] = d.y, z[k] = d.z;
        }
        sn_vec3 shift = sn_v3(sn_median(found, x), sn_median(found, y), sn_median(found, z));
        sn_put(c->shift, i, shift);
        c->deviation[i] = sn_distance(shift_of(c, i), shift);
    }
}

static double deviation_limit(comparison *c, double median) {
    double least = median > OTHER_FACE * c->size ? DEVIATES_OTHER : DEVIATES;
    memcpy(c->scratch, c->deviation, sizeof(double) * (size_t)c->count);
    return fmax(least * c->size, MEDIAN_DEVIATIONS * sn_median(c->count, c->scratch));
}

/* How far marker i, placed by its neighbors, is from the point of marker j. */
static double placed_distance(const comparison *c, int i, int j) {
    sn_vec3 image = sn_similarity_apply(&c->fit, sn_at(c->from, i));
    return sn_distance(sn_add(image, sn_at(c->shift, i)), sn_at(c->to, j));
}

static void find_exchanged(const comparison *c, double limit, char *const *names,
                           sn_map_doubts *d) {
    for (int i = 0; i < c->count; i++)
        for (int j = i + 1; j < c->count; j++) {
            double now = c->deviation[i] + c->deviation[j];
            double then = placed_distance(c, i, j) + placed_distance(c, j, i);
            if (now < limit || then > EXCHANGED * now) continue;
            sn_map_doubt(d, c->marker[i], "seems exchanged with '%s'", names[c->marker[j]]);
            sn_map_doubt(d, c->marker[j], "seems exchanged with '%s'", names[c->marker[i]]);
        }
}

/* Neighbors of a marker lie on the same sides of it on the face as in the take. */
static void find_disorder(const comparison *c, sn_map_doubts *d) {
    for (int i = 0; i < c->count; i++) {
        int near[NEIGHBORS], found = neighbors_of(c, i, near), reversed = 0;
        for (int k = 0; k < found; k++) {
            sn_vec3 a =
                sn_mat3_apply(c->fit.rotation, sn_sub(sn_at(c->from, near[k]), sn_at(c->from, i)));
            sn_vec3 b = sn_sub(sn_at(c->to, near[k]), sn_at(c->to, i));
            reversed += sn_dot(a, b) < 0.2 * sn_length(a) * sn_length(b);
        }
        if (found >= 3 && 2 * reversed > found)
            sn_map_doubt(d, c->marker[i],
                         "has neighbors that are arranged differently in the take");
    }
}

/* Two markers near each other that lie the other way round on the face. Where the markers of a lid
 * are exchanged with those of the other one, each has neighbors that are off in the same way, and
 * only these pairs tell. Each marker is in one pair at most, with the nearest one; a refusal needs
 * several. c->weights: scratch. */
static sinew_status find_reversed(const comparison *c, bool refuse, char *const *names,
                                  sn_map_doubts *d, sinew_error *error) {
    int pairs = 0, first[2] = {0, 0};
    for (int i = 0; i < c->count; i++) c->weights[i] = 0;
    for (int i = 0; i < c->count; i++) {
        double least = ACROSS * c->size;
        int partner = -1;
        for (int j = 0; j < c->count; j++) {
            sn_vec3 a =
                sn_scale(c->fit.scale, sn_mat3_apply(c->fit.rotation,
                                                     sn_sub(sn_at(c->from, j), sn_at(c->from, i))));
            sn_vec3 b = sn_sub(sn_at(c->to, j), sn_at(c->to, i));
            double apart = sn_length(a), there = sn_length(b);
            if (j == i || apart < APART * c->size || there < APART * c->size) continue;
            if (apart < least && sn_dot(a, b) < REVERSED * apart * there)
                least = apart, partner = j;
        }
        if (partner < 0 || c->weights[i] > 0 || c->weights[partner] > 0) continue;
        c->weights[i] = c->weights[partner] = 1;
        if (pairs++ == 0) first[0] = i, first[1] = partner;
        sn_map_doubt(d, c->marker[i], "lies on the other side of '%s' than in the take",
                     names[c->marker[partner]]);
        sn_map_doubt(d, c->marker[partner], "lies on the other side of '%s' than in the take",
                     names[c->marker[i]]);
    }
    if (refuse && pairs >= LID_PAIRS)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the map does not fit the take: %d pairs of neighbors lie the other way "
                       "round on the face, such as '%s' and '%s'; are upper and lower lids or lips "
                       "exchanged?",
                       pairs, names[c->marker[first[0]]], names[c->marker[first[1]]]);
    return SINEW_OK;
}

static void find_close(const comparison *c, char *const *names, sn_map_doubts *d) {
    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < i; j++) {
            double apart = c->fit.scale * sn_distance(sn_at(c->from, i), sn_at(c->from, j));
            if (apart > 0.05 * c->size &&
                sn_distance(sn_at(c->to, i), sn_at(c->to, j)) < 0.15 * apart)
                sn_map_doubt(d, c->marker[i], "sits on nearly the same point as '%s'",
                             names[c->marker[j]]);
        }
}

/* ---- against the anatomy --------------------------------------------------------------------- */

/* "lm_12" is not on the left: names tell of sides when some say left and others right. */
static bool sides_are_named(const comparison *c, const sn_marker_name *parsed) {
    bool named[3] = {0};
    for (int i = 0; i < c->count; i++) named[parsed[c->marker[i]].side] = true;
    return named[SINEW_SIDE_LEFT] && named[SINEW_SIDE_RIGHT];
}

/* How far a point lies to the left of the middle of the face, in eye distances. */
static double leftward(const sinew_anatomy *a, sn_vec3 p) {
    return sn_dot(sn_sub(p, a->center), a->left) / a->eye_distance;
}

/* Names with a side belong to that side of the face. Returns how many do not, of *sided. */
static int find_wrong_sides(const sinew_anatomy *anatomy, const comparison *c,
                            const sn_marker_name *parsed, int *sided, sn_map_doubts *d, bool tell) {
    int wrong = 0;
    *sided = 0;
    if (!sides_are_named(c, parsed)) return 0;
    for (int i = 0; i < c->count; i++) {
        sinew_side side = parsed[c->marker[i]].side;
        if (side == SINEW_SIDE_NONE) continue;
        double u = leftward(anatomy, sn_at(c->to, i));
        bool off = side == SINEW_SIDE_LEFT ? u < -0.08 : u > 0.08;
        (*sided)++, wrong += off;
        if (off && tell)
            sn_map_doubt(d, c->marker[i], "is named %s, but sits on the other side",
                         side == SINEW_SIDE_LEFT ? "left" : "right");
    }
    return wrong;
}

static sn_vec3 mirror(const sinew_anatomy *a, sn_vec3 p) {
    return sn_add_scaled(p, -2 * leftward(a, p) * a->eye_distance, a->left);
}

/* Markers that mirror each other in the take do so on the face. */
static void find_asymmetry(const sinew_anatomy *a, const comparison *c, sn_map_doubts *d) {
    for (int i = 0; i < c->count; i++) {
        sn_vec3 image = sn_similarity_apply(&c->fit, sn_at(c->from, i));
        sn_vec3 mirrored = mirror(a, image);
        double least = ASYMMETRIC * a->eye_distance / 2;
        int partner = -1;
        for (int j = 0; j < c->count; j++) {
            double s = sn_distance(sn_similarity_apply(&c->fit, sn_at(c->from, j)), mirrored);
            if (s < least) least = s, partner = j;
        }
        if (partner < 0 || partner == i || c->off[partner] > c->off[i]) continue;
        double now = sn_distance(mirror(a, sn_at(c->to, i)), sn_at(c->to, partner));
        if (now - least > ASYMMETRIC * a->eye_distance)
            sn_map_doubt(d, c->marker[i], "is not opposite its partner on the other side");
    }
}

/* Markers that are named after landmarks lie near them, by either meaning of left and right. */
static sinew_status check_landmarks(const sinew_anatomy *a, comparison *c,
                                    const sn_marker_name *parsed, sn_map_doubts *d,
                                    sinew_error *error) {
    double median[2] = {INFINITY, INFINITY}, point[3];
    for (int pass = 0; pass < 3; pass++) {
        bool swap = pass < 2 ? pass : median[1] < 0.6 * median[0];
        int found = 0;
        for (int i = 0; i < c->count; i++) {
            const sn_marker_name *name = &parsed[c->marker[i]];
            if (name->landmark < 0) continue;
            bool paired = name->landmark < SINEW_LANDMARK_PAIRS;
            sinew_side side = paired ? name->side : SINEW_SIDE_NONE;
            if (paired && swap) side = side == SINEW_SIDE_LEFT ? SINEW_SIDE_RIGHT : SINEW_SIDE_LEFT;
            if (sn_landmark_weight(name->landmark) < SN_LANDMARK_SHARP ||
                !sinew_anatomy_landmark(a, (sinew_landmark)name->landmark, side, point, NULL))
                continue;
            double off = sn_distance(sn_at(c->to, i), sn_at(point, 0)) / a->eye_distance;
            c->scratch[found++] = off;
            if (pass == 2 && off > OFF_LANDMARK)
                sn_map_doubt(d, c->marker[i], "lies %.2g eye distances from the point of its name",
                             off);
        }
        if (found < 4) return SINEW_OK; /* too few to tell */
        if (pass < 2) median[pass] = sn_median(found, c->scratch);
        if (pass == 1 && fmin(median[0], median[1]) > OFF_LANDMARKS)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "the map does not fit the face: its points are %.2g eye distances from "
                           "the landmarks after which the markers are named (median)",
                           fmin(median[0], median[1]));
    }
    return SINEW_OK;
}

/* ---- verdict --------------------------------------------------------------------------------- */

static const char *first_doubt(const comparison *c, char *const *names, const sn_map_doubts *d,
                               const char **name) {
    for (int i = 0; i < c->count; i++) {
        *name = names[c->marker[i]];
        if (*d->reason[c->marker[i]]) return d->reason[c->marker[i]];
    }
    return "";
}

static sinew_status judge(const sn_map_facts *facts, comparison *c, char *const *names,
                          sn_map_doubts *d, sinew_error *error) {
    const sinew_anatomy *anatomy =
        facts->anatomy && facts->anatomy->oriented && facts->names ? facts->anatomy : NULL;
    if (c->count < 4 || !fit(c)) return SINEW_OK; /* too few to tell */
    sn_vec3 middle = {0, 0, 0};
    for (int i = 0; i < c->count; i++)
        middle = sn_add_scaled(middle, 1.0 / c->count, sn_at(c->to, i));
    for (int i = 0; i < c->count; i++) {
        double s = sn_distance(middle, sn_at(c->to, i));
        c->size += s * s / c->count;
    }
    c->size = sqrt(c->size);
    double median = median_off(c), mirrored = mirrored_off(c);
    for (int i = 0; i < c->count; i++) d->distance[c->marker[i]] = c->off[i];
    if (c->count >= 6 && median > 0.3 * FAR * c->size && mirrored < MIRRORED * median)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the map is mirrored: left and right of the take are exchanged on the face "
                       "(median distance %.0f%% of the markers' spread, mirrored back %.0f%%)",
                       100 * median / c->size, 100 * mirrored / c->size);
    if (c->count >= 6 && median > WRONG * c->size)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the map does not fit the take: after the best alignment its points are "
                       "%.0f%% of the markers' spread away from them (median)",
                       100 * median / c->size);
    find_deviations(c);
    double limit = deviation_limit(c, median);
    find_exchanged(c, limit, names, d);
    if (anatomy) {
        int sided, wrong = find_wrong_sides(anatomy, c, facts->names, &sided, d, false);
        if (2 * wrong < sided) find_wrong_sides(anatomy, c, facts->names, &sided, d, true);
        if (facts->given) SN_TRY(check_landmarks(anatomy, c, facts->names, d, error));
    }
    for (int i = 0; i < c->count; i++) {
        if (c->off[i] > fmax(FAR * c->size, MEDIANS * median))
            sn_map_doubt(d, c->marker[i], "lies %.0f%% of the markers' spread off its point",
                         100 * c->off[i] / c->size);
        if (c->count > NEIGHBORS && c->deviation[i] > limit)
            sn_map_doubt(d, c->marker[i],
                         "lies %.0f%% of the markers' spread from where its neighbors place it",
                         100 * c->deviation[i] / c->size);
    }
    if (anatomy) find_asymmetry(anatomy, c, d);
    find_disorder(c, d);
    SN_TRY(find_reversed(c, facts->given, names, d, error));
    find_close(c, names, d);
    const char *name, *reason = first_doubt(c, names, d, &name);
    if (c->count >= 6 && d->doubtful > MOST_DOUBTFUL * c->count)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the map does not fit the take: %d of %d markers are doubtful (the first, "
                       "'%s', %s)",
                       d->doubtful, c->count, name, reason);
    return SINEW_OK;
}

sinew_status sn_map_check(const sn_map_facts *facts, int count, char *const *names,
                          const double *markers, const double *points, sn_map_doubts *doubts,
                          sinew_error *error) {
    size_t n = (size_t)count;
    double *room = SN_NEW(double, 15 * n);
    comparison c = {.marker = SN_NEW(int, n)};
    sinew_status status = room && c.marker ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        c.from = room, c.to = room + 3 * n, c.scratch = room + 6 * n;
        c.weights = room + 9 * n, c.off = room + 10 * n;
        c.shift = room + 11 * n, c.deviation = room + 14 * n;
        for (int i = 0; i < count; i++) {
            if (!isfinite(markers[3 * i])) continue;
            sn_put(c.from, c.count, sn_at(markers, i));
            sn_put(c.to, c.count, sn_at(points, i));
            c.marker[c.count++] = i;
        }
        status = judge(facts, &c, names, doubts, error);
    }
    sn_free(room), sn_free(c.marker);
    return status;
}
