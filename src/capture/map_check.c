#include "capture/map_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/vec3.h"
#include "capture/similarity.h"

/* All are fractions of the RMS spread of the points. Faces differ by less than FAR; a marker off by
 * more, and by more than MEDIANS medians, is in doubt. A map off by WRONG in the median is another
 * shape. */
#define FAR     0.22
#define MEDIANS 3
#define WRONG   0.45
/* A mirrored map fits this much better when it is mirrored back. */
#define MIRRORED 0.6
/* Exchanging two markers must bring this fraction of their distances down. */
#define EXCHANGED 0.4
/* A map with more than this fraction of doubtful markers is refused. */
#define MOST_DOUBTFUL 0.34
/* Neighbors whose order on the face is compared, and how many must be reversed. */
enum { NEIGHBORS = 5 };

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
    double size; /* RMS spread of the points */
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

static void find_exchanged(const comparison *c, char *const *names, sn_map_doubts *d) {
    for (int i = 0; i < c->count; i++)
        for (int j = i + 1; j < c->count; j++) {
            double now = c->off[i] + c->off[j];
            double then = image_distance(c, i, j) + image_distance(c, j, i);
            if (now < 0.5 * FAR * c->size || then > EXCHANGED * now) continue;
            sn_map_doubt(d, c->marker[i], "seems exchanged with '%s'", names[c->marker[j]]);
            sn_map_doubt(d, c->marker[j], "seems exchanged with '%s'", names[c->marker[i]]);
        }
}

/* Neighbors of a marker lie on the same sides of it on the face as in the take. */
static void find_disorder(const comparison *c, sn_map_doubts *d) {
    for (int i = 0; i < c->count; i++) {
        int near[NEIGHBORS], found = 0, reversed = 0;
        for (int j = 0; j < c->count; j++) { /* the nearest in the take, by insertion */
            if (j == i) continue;
            double s = sn_distance(sn_at(c->from, i), sn_at(c->from, j));
            int k = found < NEIGHBORS ? found++ : NEIGHBORS;
            while (k > 0 && sn_distance(sn_at(c->from, i), sn_at(c->from, near[k - 1])) > s) {
                if (k < NEIGHBORS) near[k] = near[k - 1];
                k--;
            }
            if (k < NEIGHBORS) near[k] = j;
        }
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

/* "lm_12" is not on the left: names tell of sides when some say left and others right. */
static bool sides_are_named(const comparison *c, char *const *names) {
    bool named[3] = {0};
    for (int i = 0; i < c->count; i++) named[sn_marker_name_parse(names[c->marker[i]]).side] = true;
    return named[SINEW_SIDE_LEFT] && named[SINEW_SIDE_RIGHT];
}

/* Names with a side belong to that side of the face. Returns how many do not, of *sided. */
static int find_wrong_sides(const sinew_anatomy *anatomy, const comparison *c, char *const *names,
                            int *sided, sn_map_doubts *d, bool tell) {
    double left[3], up[3], front[3], eye[2][3];
    int wrong = 0;
    *sided = 0;
    if (!anatomy || !sides_are_named(c, names) || !sinew_anatomy_axes(anatomy, left, up, front) ||
        !sinew_anatomy_landmark(anatomy, SINEW_LANDMARK_LID_UPPER, SINEW_SIDE_LEFT, eye[0], NULL) ||
        !sinew_anatomy_landmark(anatomy, SINEW_LANDMARK_LID_UPPER, SINEW_SIDE_RIGHT, eye[1], NULL))
        return 0;
    sn_vec3 middle = sn_scale(0.5, sn_add(sn_at(eye[0], 0), sn_at(eye[1], 0)));
    double slack = 0.08 * sinew_anatomy_eye_distance(anatomy);
    for (int i = 0; i < c->count; i++) {
        sn_marker_name name = sn_marker_name_parse(names[c->marker[i]]);
        if (name.side == SINEW_SIDE_NONE) continue;
        double u = sn_dot(sn_sub(sn_at(c->to, i), middle), sn_at(left, 0));
        bool off = name.side == SINEW_SIDE_LEFT ? u < -slack : u > slack;
        (*sided)++, wrong += off;
        if (off && tell)
            sn_map_doubt(d, c->marker[i], "is named %s, but sits on the other side",
                         name.side == SINEW_SIDE_LEFT ? "left" : "right");
    }
    return wrong;
}

static sinew_status judge(const sinew_anatomy *anatomy, comparison *c, char *const *names,
                          sn_map_doubts *d, sinew_error *error) {
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
    int sided, wrong = find_wrong_sides(anatomy, c, names, &sided, d, false);
    find_exchanged(c, names, d);
    if (2 * wrong < sided) find_wrong_sides(anatomy, c, names, &sided, d, true);
    for (int i = 0; i < c->count; i++)
        if (c->off[i] > fmax(FAR * c->size, MEDIANS * median))
            sn_map_doubt(d, c->marker[i], "lies %.0f%% of the markers' spread off its point",
                         100 * c->off[i] / c->size);
    find_disorder(c, d);
    find_close(c, names, d);
    if (c->count >= 6 && d->doubtful > MOST_DOUBTFUL * c->count)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the map does not fit the take: %d of %d markers are doubtful ('%s': %s)",
                       d->doubtful, c->count, names[c->marker[0]],
                       *d->reason[c->marker[0]] ? d->reason[c->marker[0]] : "others");
    return SINEW_OK;
}

sinew_status sn_map_check(const sinew_anatomy *anatomy, int count, char *const *names,
                          const double *markers, const double *points, sn_map_doubts *doubts,
                          sinew_error *error) {
    size_t n = (size_t)count;
    double *room = SN_NEW(double, 11 * n);
    comparison c = {.marker = SN_NEW(int, n)};
    sinew_status status = room && c.marker ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        c.from = room, c.to = room + 3 * n, c.scratch = room + 6 * n;
        c.weights = room + 9 * n, c.off = room + 10 * n;
        for (int i = 0; i < count; i++) {
            if (!isfinite(markers[3 * i])) continue;
            sn_put(c.from, c.count, sn_at(markers, i));
            sn_put(c.to, c.count, sn_at(points, i));
            c.marker[c.count++] = i;
        }
        status = judge(anatomy, &c, names, doubts, error);
    }
    sn_free(room), sn_free(c.marker);
    return status;
}
