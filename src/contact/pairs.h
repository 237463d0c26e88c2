/* Self-contact: vertex-triangle and edge-edge pairs of one surface, when they meet on the path from
 * one shape to the next, and how far the path is free.
 *
 * Distances are kept above a least one, `reach`: a shape that keeps it is free of crossings, also
 * after its coordinates were rounded to floats. Pairs that are closer than twice that at rest keep
 * half of it; what touches at rest is exempt (seams), as are triangles that cross at rest and those
 * beside them. Rigid parts that cross each other at rest, such as teeth and gums, count as one
 * body: they take part against everything else, but not against themselves.
 *
 *   sn_contact_surface   which triangles, edges and vertices take part: built once
 *   sn_contact_find      pairs that may come near each other on the path
 *   sn_contact_impact    when a pair would come too near
 *   sn_contact_cut_back  shortens the path of single vertices until no pair comes too near */
#ifndef SN_CONTACT_PAIRS_H
#define SN_CONTACT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/vec3.h"
#include "contact/hierarchy.h"

/* Least distance as a fraction of the gap that contact forces keep. */
#define SN_CONTACT_REACH 0.1

typedef struct sn_contact_surface {
    int vertex_count; /* of the whole mesh */
    int triangle_count, edge_count, point_count;
    int *triangles; /* 3 each */
    int *edges;     /* 2 each */
    int *points;    /* vertices, increasing */
    int *place;     /* per vertex of the mesh: its index in points, or -1 */
    double *rest;   /* 3 per vertex of the mesh */
    double gap, reach;
    double slack; /* how much further than asked a search looks */
    sn_hierarchy point_tree, edge_tree, triangle_tree;
    int dropped;      /* triangles left out: at or beside crossings at rest, or in tangled pieces */
    bool *takes_part; /* per triangle of the mesh */
    bool *crosses;    /* per vertex of the mesh: of a triangle that crosses at rest */
    int *body;        /* per vertex of the mesh: the rigid body that it belongs to, or -1 */
    bool *held;       /* per vertex of the mesh: contact cannot move it; NULL: it can move all */
} sn_contact_surface;

/* Triangles whose corners are all `inside` (NULL: all). rigid: per vertex (NULL: none), whole
 * pieces of the mesh. gap > 0, length units. */
sinew_status sn_contact_surface_create(int vertex_count, const double *rest, int triangle_count,
                                       const int *triangles, const bool *inside, const bool *rigid,
                                       double gap, sn_contact_surface **surface,
                                       sinew_error *error);
void sn_contact_surface_destroy(sn_contact_surface *surface);
/* Pairs of held vertices alone are left out: contact could do nothing about them. Copied. */
sinew_status sn_contact_surface_hold(sn_contact_surface *surface, const bool *held,
                                     sinew_error *error);

/* Vertex v[0] and triangle v[1..3], or edges v[0] v[1] and v[2] v[3]. */
typedef struct sn_contact_pair {
    int v[4];
    bool edges;
    double reach; /* least distance to keep: the surface's, or half of that at rest if less */
    uint64_t key; /* its place in the order of a search */
} sn_contact_pair;

/* Nearest points of a pair: sum weight_i x_i leads from the second part to the first. Returns its
 * length; `normal` is its direction (zero when they touch). */
double sn_contact_distance(const sn_contact_pair *pair, const double *x, double weight[4],
                           sn_vec3 *normal);

/* The distance of a pair at rest. Pairs that touch there are exempt. */
double sn_contact_rest_distance(const sn_contact_surface *surface, const sn_contact_pair *pair);

/* Room for one search; grows when a search finds more than any before. */
typedef struct sn_contact_work sn_contact_work;
sinew_status sn_contact_work_create(const sn_contact_surface *surface, sn_contact_work **work,
                                    sinew_error *error);
void sn_contact_work_destroy(sn_contact_work *work);

/* Pairs that may come nearer than `margin` on the straight path from x0 to x1, in a fixed order,
 * and some that will not; valid until the next search. Pairs that share a vertex or are exempt are
 * left out. A search whose path is little off the last one's costs next to nothing. */
sinew_status sn_contact_find(const sn_contact_surface *surface, sn_contact_work *work,
                             const double *x0, const double *x1, double margin,
                             const sn_contact_pair **pairs, int *count, sinew_error *error);

/* When the next paths begin and end. Pairs that were found for a path hold for parts of it, so that
 * telling times saves searches. Paths that nothing is told about begin at 0 and end at 1. */
void sn_contact_set_times(sn_contact_work *work, double from, double to);
/* Where the points of the surface are going to move, but for what contact changes: by
 * displacement[3n] (borrowed) in a unit of time, until `end`. A search then looks ahead. NULL: it
 * is not known. */
void sn_contact_set_course(sn_contact_work *work, const double *displacement, double end);

/* The fraction of the path from x0 to x1 after which the pair is still farther apart than `reach`;
 * 1 when it is throughout. Never too late. */
double sn_contact_impact(const sn_contact_pair *pair, const double *x0, const double *x1,
                         double reach);

/* Whether the pair is farther apart than `distance` along the whole path, as far as one test tells:
 * true is certain. */
bool sn_contact_stays_apart(const sn_contact_pair *pair, const double *x0, const double *x1,
                            double distance);

/* x1 moved back towards x0, vertex by vertex, until every pair that was farther apart than its
 * reach at x0 is so along the whole path. *cut: the smallest fraction that was left of a vertex's
 * path, 1 when nothing was done. */
sinew_status sn_contact_cut_back(const sn_contact_surface *surface, sn_contact_work *work,
                                 const double *x0, double *x1, double *cut, sinew_error *error);

#endif
