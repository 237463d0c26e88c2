/* Contact must not make a shape worse than it is without contact.
 *
 * The guarantee holds single vertices back. Where a surface has no clear sides, as beside crossings
 * of the neutral or after a frame that starts inside something, a vertex may be held while its
 * neighbors go on: a spike. An edge that contact stretches far beyond both its rest and its length
 * without contact shows it. What contact moved around such an edge is then given its shape without
 * contact: it may cross there, as it would have without. */
#include "force/contact_release.h"

#include <math.h>

#include "base/vec3.h"

/* An edge is a spike when it is this many times as long as at rest and as without contact, and
 * longer by this fraction of the diagonal. */
#define SPIKE_TIMES  2.0
#define SPIKE_LONGER 0.002

static bool is_spike(const sn_skin *skin, int edge, const double *goal, const double *x) {
    int i = skin->edges[2 * (size_t)edge], j = skin->edges[2 * (size_t)edge + 1];
    double now = sn_distance(sn_at(x, i), sn_at(x, j));
    double before = fmax(sn_distance(sn_at(goal, i), sn_at(goal, j)), skin->length[edge]);
    return now > SPIKE_TIMES * before && now - before > SPIKE_LONGER * skin->diagonal;
}

static bool moved(const double *goal, const double *x, int v, double least) {
    return sn_distance(sn_at(x, v), sn_at(goal, v)) > least;
}

/* Gives back what contact moved around vertex v; returns how many vertices. */
static int give_back(const sn_skin *skin, const double *goal, double *x, double least, int v,
                     int *stack) {
    int waiting = 0, count = 0;
    if (!moved(goal, x, v, least)) return 0;
    sn_put(x, v, sn_at(goal, v));
    stack[waiting++] = v;
    while (waiting > 0) {
        int from = stack[--waiting];
        count++;
        for (int h = skin->start[from]; h < skin->start[from + 1]; h++) {
            int next = skin->neighbour[h];
            if (!moved(goal, x, next, least)) continue;
            sn_put(x, next, sn_at(goal, next));
            stack[waiting++] = next;
        }
    }
    return count;
}

int sn_force_contact_release(const sn_skin *skin, double least, const double *goal, double *x,
                             int *stack) {
    int count = 0;
    for (int e = 0; e < skin->edge_count; e++) {
        if (!is_spike(skin, e, goal, x)) continue;
        for (int k = 0; k < 2; k++)
            count += give_back(skin, goal, x, least, skin->edges[2 * (size_t)e + (size_t)k], stack);
    }
    return count;
}
