#include "force/layer_untangle.h"

#include <math.h>
#include <string.h>

#include "base/vec3.h"

/* Seconds in which a correction that was taken back returns. */
#define RETURNS 0.5
/* Tries; how far around a contact a correction fades, in steps from vertex to vertex. */
enum { ROUNDS = 3, FADES = 4 };
/* A vertex that contact stops keeps this much less than it might, so that the next try is free. */
#define LESS 0.8

/* A share rises by a fade from one vertex to the next. */
static void fade(const sinew_mesh *mesh, double *share) {
    for (int k = 0; k < FADES; k++)
        for (int t = 0; t < mesh->triangle_count; t++) {
            const int *v = mesh->triangles + 3 * (size_t)t;
            double least = fmin(share[v[0]], fmin(share[v[1]], share[v[2]]));
            for (int c = 0; c < 3 && least < 1; c++)
                share[v[c]] = fmin(share[v[c]], least + 1.0 / FADES);
        }
}

static void blend(int count, const double *before, const double *full, const double *share,
                  double *after) {
    for (int i = 0; i < 3 * count; i++) after[i] = before[i] + share[i / 3] * (full[i] - before[i]);
}

sinew_status sn_layer_untangle(const sn_contact_surface *surface, sn_contact_work *work,
                               const sinew_mesh *mesh, double seconds, const double *before,
                               double *after, double *share, double *room, int *held,
                               sinew_error *error) {
    int n = mesh->vertex_count;
    size_t bytes = 3 * sizeof(double) * (size_t)n;
    double *full = room, *cut = room + 3 * (size_t)n, *now = cut + 3 * (size_t)n, least = 0;
    memcpy(full, after, bytes);
    for (int v = 0; v < n; v++) now[v] = fmin(1, share[v] + seconds / RETURNS);
    for (int round = 0; round < ROUNDS && least < 1; round++) {
        blend(n, before, full, now, after);
        memcpy(cut, after, bytes);
        SN_TRY(sn_contact_cut_back(surface, work, before, cut, &least, error));
        if (!(least < 1)) break;
        for (int v = 0; v < n; v++) {
            double way = sn_distance(sn_at(after, v), sn_at(before, v));
            double left = sn_distance(sn_at(cut, v), sn_at(before, v));
            if (left < (1 - 1e-9) * way) now[v] *= LESS * left / way;
        }
        fade(mesh, now);
    }
    if (least < 1) { /* the last word */
        blend(n, before, full, now, after);
        SN_TRY(sn_contact_cut_back(surface, work, before, after, &least, error));
    }
    for (int v = 0; v < n; v++) *held += now[v] < 0.5;
    memcpy(share, now, sizeof(double) * (size_t)n);
    return SINEW_OK;
}
