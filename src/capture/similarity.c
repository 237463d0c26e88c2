#include "capture/similarity.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

/* Rounds of fit and weights; distances are compared with this many medians. */
enum { ROUNDS = 8 };
#define MEDIANS 2.5

double sn_median(int count, double *values) {
    sn_sort_doubles((size_t)count, values);
    return count ? values[count / 2] : 0;
}

static double spread(int count, const double *points, const double *weights, sn_vec3 *center,
                     int *used) {
    double total = 0, sum = 0;
    *center = sn_v3(0, 0, 0), *used = 0;
    for (int i = 0; i < count; i++) {
        double w = weights ? weights[i] : 1;
        if (!(w > 0)) continue;
        *center = sn_add_scaled(*center, w, sn_at(points, i));
        total += w, (*used)++;
    }
    if (!(total > 0)) return 0;
    *center = sn_scale(1 / total, *center);
    for (int i = 0; i < count; i++) {
        double w = weights ? weights[i] : 1, d;
        if (!(w > 0)) continue;
        d = sn_distance(*center, sn_at(points, i)), sum += w * d * d;
    }
    return sqrt(sum / total);
}

/* The rotation does not depend on the scale; with it, Umeyama's scale is
 * sum w (R a) . b / sum w |a|^2 over centered points. */
bool sn_similarity_fit(int count, const double *from, const double *to, const double *weights,
                       double *scratch, sn_similarity *s) {
    sn_vec3 a, b, shift;
    int used;
    double size = spread(count, from, weights, &a, &used),
           goal = spread(count, to, weights, &b, &used);
    if (used < 3 || !(size > 0) || !(goal > 0)) return false;
    for (int i = 0; i < count; i++)
        sn_put(scratch, i, sn_add(a, sn_scale(goal / size, sn_sub(sn_at(from, i), a))));
    sn_rigid_fit(count, scratch, to, weights, &s->rotation, &shift);
    double above = 0, below = 0;
    for (int i = 0; i < count; i++) {
        double w = weights ? weights[i] : 1;
        if (!(w > 0)) continue;
        sn_vec3 p = sn_sub(sn_at(from, i), a), q = sn_sub(sn_at(to, i), b);
        above += w * sn_dot(sn_mat3_apply(s->rotation, p), q), below += w * sn_dot(p, p);
    }
    s->scale = above > 0.25 * below * goal / size ? above / below : goal / size;
    s->translation = sn_sub(b, sn_scale(s->scale, sn_mat3_apply(s->rotation, a)));
    return true;
}

bool sn_similarity_fit_robust(int count, const double *from, const double *to, double *weights,
                              double *off, double *scratch, sn_similarity *s) {
    bool found = false;
    for (int round = 0; round < ROUNDS; round++) {
        int used = 0;
        if (!sn_similarity_fit(count, from, to, weights, scratch, s)) return found;
        found = true;
        for (int i = 0; i < count; i++)
            off[i] = sn_distance(sn_similarity_apply(s, sn_at(from, i)), sn_at(to, i));
        for (int i = 0; i < count; i++)
            if (weights[i] > 0) scratch[used++] = off[i];
        double reach = MEDIANS * sn_median(used, scratch);
        bool changed = false;
        for (int i = 0; i < count && used > 6; i++)
            if (weights[i] > 0 && off[i] > 2 * reach) weights[i] = 0, changed = true, used--;
        if (!changed) break;
    }
    return found;
}
