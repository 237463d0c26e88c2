#include "force/layer_untangle.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/vec3.h"
#include "mesh/intersection.h"

/* Seconds in which a correction that was taken back returns. */
#define RETURNS 0.2
/* Of the diagonal: vertices that the layer moves by less do not count as moved; triangles this far
 * outside the box of those that are moved are not looked at. */
#define MOVED  1e-6
#define BEYOND 0.01
/* Tries; how far around a pair a correction fades, in steps from vertex to vertex. */
enum { ROUNDS = 8, FADES = 4 };

typedef struct part {
    int count;
    int *triangles; /* 3 each, of the mesh's vertices */
} part;

/* The triangles in the box around everything that the layer moves; none: nothing moves. */
static sinew_status choose_part(const sinew_mesh *mesh, double diagonal, const double *before,
                                const double *after, part *p, sinew_error *error) {
    sn_vec3 low = {INFINITY, INFINITY, INFINITY}, high = {-INFINITY, -INFINITY, -INFINITY};
    for (int v = 0; v < mesh->vertex_count; v++) {
        sn_vec3 x = sn_at(after, v);
        if (!(sn_distance(x, sn_at(before, v)) > MOVED * diagonal)) continue;
        low = sn_v3(fmin(low.x, x.x), fmin(low.y, x.y), fmin(low.z, x.z));
        high = sn_v3(fmax(high.x, x.x), fmax(high.y, x.y), fmax(high.z, x.z));
    }
    *p = (part){0};
    if (!(high.x >= low.x)) return SINEW_OK;
    double beyond = BEYOND * diagonal;
    p->triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count);
    if (!p->triangles) return sn_no_memory(error);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        bool inside = false;
        for (int c = 0; c < 3 && !inside; c++) {
            sn_vec3 x = sn_at(after, v[c]);
            inside = x.x >= low.x - beyond && x.x <= high.x + beyond && x.y >= low.y - beyond &&
                     x.y <= high.y + beyond && x.z >= low.z - beyond && x.z <= high.z + beyond;
        }
        if (inside) memcpy(p->triangles + 3 * (size_t)p->count++, v, 3 * sizeof(int));
    }
    return SINEW_OK;
}

/* Shares of the vertices of pairs of `now` that are not in `known`; returns how many pairs. Both
 * lists are sorted. */
static int take_back(const part *p, const sn_pairs *now, const sn_pairs *known, double most,
                     double *share) {
    int found = 0, k = 0;
    for (int i = 0; i < now->count; i++) {
        const int *pair = now->pair + 2 * (size_t)i;
        while (k < known->count &&
               (known->pair[2 * (size_t)k] < pair[0] || (known->pair[2 * (size_t)k] == pair[0] &&
                                                         known->pair[2 * (size_t)k + 1] < pair[1])))
            k++;
        if (k < known->count && !memcmp(known->pair + 2 * (size_t)k, pair, 2 * sizeof(int)))
            continue;
        found++;
        for (int s = 0; s < 2; s++)
            for (int c = 0; c < 3; c++) {
                int v = p->triangles[3 * (size_t)pair[s] + (size_t)c];
                share[v] = fmin(share[v], most);
            }
    }
    return found;
}

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

sinew_status sn_layer_untangle(const sinew_mesh *mesh, double diagonal, double seconds,
                               const double *before, double *after, double *share, double *room,
                               int *left, sinew_error *error) {
    int n = mesh->vertex_count;
    double *full = room, *now = room + 3 * (size_t)n;
    sn_pairs pairs = {0}, known = {0};
    bool knows = false;
    part p;
    *left = 0;
    for (int v = 0; v < n; v++) {
        share[v] = fmin(1, share[v] + seconds / RETURNS);
        now[v] = share[v];
    }
    SN_TRY(choose_part(mesh, diagonal, before, after, &p, error));
    memcpy(full, after, 3 * sizeof(double) * (size_t)n);
    sinew_status status = SINEW_OK;
    for (int round = 0; p.count > 0 && status == SINEW_OK && round <= ROUNDS; round++) {
        blend(n, before, full, now, after);
        sn_pairs_free(&pairs);
        status = sn_self_intersections(n, after, p.count, p.triangles, NULL, &pairs, error);
        if (status == SINEW_OK && pairs.count > 0 && !knows) {
            status = sn_self_intersections(n, before, p.count, p.triangles, NULL, &known, error);
            knows = true;
        }
        if (status != SINEW_OK) break;
        double most = round < 2 ? 0.5 - 0.25 * round : 0;
        *left = take_back(&p, &pairs, &known, most, now);
        if (*left == 0 || round == ROUNDS) break;
        fade(mesh, now);
    }
    if (status == SINEW_OK) memcpy(share, now, sizeof(double) * (size_t)n);
    sn_pairs_free(&pairs), sn_pairs_free(&known);
    sn_free(p.triangles);
    return status;
}
