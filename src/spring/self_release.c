/* Self-contact must not make a frame worse than it is without contact.
 *
 * Pieces that are embedded in others take no part in contact, and so cannot hold anything back:
 * lips that are pressed apart may be pressed into the teeth behind them. What contact moved is
 * therefore compared with the shape without contact, group by group. A group is a connected region
 * that moved, together with those that it intersects. Where more pairs of triangles intersect with
 * contact than without, the group is given its shape without contact. Pairs beside intersections of
 * the neutral do not count: these move with the surface, whatever contact does. */
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/scope.h"
#include "base/status.h"
#include "mesh/intersection.h"
#include "mesh/topology.h"
#include "spring/contact.h"

/* Contact depths: what moved less has hardly been touched, and can be given back without a crease.
 */
static const double MOVED = 1;

typedef struct comparison {
    const sinew_spring *spring;
    bool *moved; /* per surface vertex */
    sn_pairs without, with;
    int *links; /* 3 each: moved vertices that belong together */
    int *group; /* per surface vertex, or -1 */
    int *more;  /* per group: pairs with contact, less those without */
} comparison;

static const int *corners_of(const comparison *c, int triangle) {
    return c->spring->network->triangles + 3 * (size_t)triangle;
}

/* A moved corner of the triangle, or -1. */
static int moved_corner(const comparison *c, int triangle) {
    const int *v = corners_of(c, triangle);
    for (int k = 0; k < 3; k++)
        if (c->moved[v[k]]) return v[k];
    return -1;
}

/* Pairs that count: something of them moved, and neither touches an intersection of the neutral. */
static bool counts(const comparison *c, const int pair[2]) {
    const bool *at_rest = c->spring->crosses_at_rest;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            if (at_rest[corners_of(c, pair[i])[k]]) return false;
    return moved_corner(c, pair[0]) >= 0 || moved_corner(c, pair[1]) >= 0;
}

static sinew_status find_pairs(comparison *c, const double *x, sn_pairs *pairs,
                               sinew_error *error) {
    const sn_network *network = c->spring->network;
    sn_call call; /* in a scope, the loops of the search can be stopped */
    sn_call_begin(&call, sn_monitor_entered());
    sn_pairs_free(pairs);
    sinew_status status = sn_self_intersections(network->surface_count, x, network->triangle_count,
                                                network->triangles, NULL, pairs, error);
    status = sn_call_end(&call, status, error);
    int kept = 0;
    for (int k = 0; status == SINEW_OK && k < pairs->count; k++)
        if (counts(c, pairs->pair + 2 * (size_t)k))
            memmove(pairs->pair + 2 * (size_t)kept++, pairs->pair + 2 * (size_t)k,
                    2 * sizeof *pairs->pair);
    if (status == SINEW_OK) pairs->count = kept;
    return status;
}

static void link_vertices(comparison *c, int *count, int a, int b) {
    int *link = c->links + 3 * (size_t)(*count)++;
    link[0] = a, link[1] = b, link[2] = b;
}

static void link_pairs(comparison *c, int *count, const sn_pairs *pairs) {
    for (int k = 0; k < pairs->count; k++) {
        int a = moved_corner(c, pairs->pair[2 * (size_t)k]);
        int b = moved_corner(c, pairs->pair[2 * (size_t)k + 1]);
        if (a >= 0 && b >= 0) link_vertices(c, count, a, b);
    }
}

static sinew_status find_groups(comparison *c, int *groups, sinew_error *error) {
    const sn_network *network = c->spring->network;
    int count = 0;
    c->links = SN_NEW(int, 3 * (3 * (size_t)network->triangle_count + (size_t)c->with.count +
                                (size_t)c->without.count + 1));
    c->group = SN_NEW(int, network->surface_count + 1);
    if (!c->links || !c->group) return sn_no_memory(error);
    for (int t = 0; t < network->triangle_count; t++) {
        const int *v = corners_of(c, t);
        int first = moved_corner(c, t);
        for (int k = 0; k < 3; k++)
            if (first >= 0 && c->moved[v[k]]) link_vertices(c, &count, first, v[k]);
    }
    link_pairs(c, &count, &c->without), link_pairs(c, &count, &c->with);
    return sn_components(network->surface_count, count, c->links, c->group, groups, error);
}

/* Adds `sign` for every pair to its group. */
static void add_pairs(comparison *c, const sn_pairs *pairs, int sign) {
    for (int k = 0; k < pairs->count; k++) {
        int v = moved_corner(c, pairs->pair[2 * (size_t)k]);
        if (v < 0) v = moved_corner(c, pairs->pair[2 * (size_t)k + 1]);
        if (c->group[v] >= 0) c->more[c->group[v]] += sign;
    }
}

static sinew_status compare(comparison *c, const double *plain, double *x, int *released,
                            sinew_error *error) {
    int n = c->spring->network->surface_count, groups;
    SN_TRY(find_pairs(c, x, &c->with, error));
    if (c->with.count == 0) return SINEW_OK;
    SN_TRY(find_pairs(c, plain, &c->without, error));
    SN_TRY(find_groups(c, &groups, error));
    c->more = SN_NEW0(int, groups + 1);
    if (!c->more) return sn_no_memory(error);
    add_pairs(c, &c->with, 1), add_pairs(c, &c->without, -1);
    for (int v = 0; v < n; v++)
        if (c->group[v] >= 0 && c->more[c->group[v]] > 0)
            sn_put(x, v, sn_at(plain, v)), ++*released;
    if (*released == 0) return SINEW_OK;
    /* what was given back may meet what was not */
    SN_TRY(find_pairs(c, x, &c->with, error));
    if (c->with.count <= c->without.count) return SINEW_OK;
    *released = 0;
    for (int v = 0; v < n; v++)
        if (c->moved[v]) sn_put(x, v, sn_at(plain, v)), ++*released;
    return SINEW_OK;
}

sinew_status sn_self_release(const sinew_spring *spring, const double *plain, double *x,
                             int *released, sinew_error *error) {
    int n = spring->network->surface_count;
    double least = MOVED * spring->options.contact_depth * spring->network->diagonal;
    comparison c = {.spring = spring, .moved = SN_NEW(bool, n + 1)};
    *released = 0;
    if (!c.moved) return sn_no_memory(error);
    for (int v = 0; v < n; v++) c.moved[v] = sn_distance(sn_at(x, v), sn_at(plain, v)) > least;
    sinew_status status = compare(&c, plain, x, released, error);
    sn_pairs_free(&c.with), sn_pairs_free(&c.without);
    sn_free(c.moved), sn_free(c.links), sn_free(c.group), sn_free(c.more);
    return status;
}
