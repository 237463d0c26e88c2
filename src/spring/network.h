/* The spring network of a rig: which vertices are joined, how stiffly, and how long each spring
 * wants to be in every pose.
 *
 * Vertices are the artist's (surface), then interior points, then the four of an anchor. One
 * network serves all poses: the same springs, one rest length per pose. Poses are kept as sparse
 * increments, because a target of a real rig moves a small part of the face:
 *
 *   r_q(a) = r_q + sum_t a_t D_tq        a_t: activation of target t (sinew_rig_activations)
 *
 * For a plain target or an in-between D_tq is its length minus the neutral's. For a combination it
 * is the length in the full sculpted pose minus what the blend gives at that pose's weights without
 * it, so that the sculpted corrective is met exactly at full activation. Altitudes blend the same
 * way, and so do the cube roots of signed tet volumes: a body that grows evenly has volumes that
 * fit its lengths.
 *
 * Altitudes. Every triangle has one more length: its altitude on the base that makes it thinnest
 * over the poses. Three sides hardly hold a thin triangle; its altitude does. */
#ifndef SN_SPRING_NETWORK_H
#define SN_SPRING_NETWORK_H

#include "mesh/parts.h"
#include "sinew/mesh.h"
#include "sinew/spring.h"
#include "sinew/tets.h"

/* Sparse difference of a pose to the blend without it. */
typedef struct sn_increment {
    int count;
    int *index; /* increasing */
    double *value;
} sn_increment;

typedef struct sn_network {
    int vertex_count;
    int surface_count; /* then interior points, then the anchor's vertices */
    int anchor_first;  /* == vertex_count when there is no anchor */

    int spring_count;
    int *ends;           /* 2 per spring, first < second; ordered by (first, second) */
    unsigned char *kind; /* sinew_spring_kind */
    double *stiffness;   /* k, force per length; set by sn_network_finish */
    double *rest;        /* length in the neutral */
    double *mean_rest;   /* mean over the poses, floored */

    int triangle_count;
    int *triangles; /* 3 per triangle: the surface, for contact and flips */

    int tet_count;
    int *tets;            /* 4 vertices each */
    double *volume;       /* cube root of the signed volume in the neutral */
    double *volume_scale; /* mean |volume| over the poses, floored */
    double *neutral;      /* 3 per vertex */

    int *altitude_corners;  /* 3 per triangle: apex, ends of the base */
    double *altitude_foot;  /* per triangle: where the altitude meets the base */
    double *altitude;       /* length in the neutral */
    double *altitude_scale; /* geometric mean over the poses, floored; more where it is soft */

    int target_count;
    sn_increment *rest_increment;     /* per target, over springs */
    sn_increment *volume_increment;   /* per target, over tets: of cube roots */
    sn_increment *altitude_increment; /* per target, over triangles */

    double mean_length; /* of all springs in the neutral */
    double mean_edge;   /* of structure springs in the neutral */
    double diagonal;    /* of the neutral's box */
    double rest_floor;  /* shortest rest length a blend may ask for */
    int *component;     /* per vertex; -1 for a vertex without springs */
    int component_count;

    /* Sums while poses are added. */
    int pose_count;
    double *length_sum, *volume_sum;
    double *altitude_sum; /* of logarithms */
} sn_network;

/* Springs between the vertices of a surface and, when given, inside the tets (whose first
 * vertices are the surface's). `positions`: the neutral of all vertices. */
sinew_status sn_network_create(const sinew_mesh *mesh, const sinew_tets *tets,
                               const double *positions, sinew_spring_bending bending,
                               int target_count, sn_network **network, sinew_error *error);
void sn_network_destroy(sn_network *network);

/* Append four anchor vertices, their six springs, and ties to the nearest vertices. `positions`
 * holds the anchor in the neutral (12 doubles) after the others. Before any pose. */
sinew_status sn_network_add_anchor(sn_network *network, const double *positions,
                                   sinew_error *error);

/* Internal springs from each surface vertex to across[vertex], where that is not -1. */
sinew_status sn_network_add_struts(sn_network *network, const double *positions, const int *across,
                                   sinew_error *error);
/* Springs from the vertex of each link that is no longer than `distance` to the corners of its
 * triangle. Before any pose. */
sinew_status sn_network_add_ties(sn_network *network, const double *positions, int link_count,
                                 const sn_link *links, double distance, sinew_error *error);
/* After sn_network_finish: springs and altitudes that a target makes ten times as long or as short
 * lose stiffness. */
sinew_status sn_network_soften(sn_network *network, sinew_error *error);
/* Multiplies the stiffness of the links' springs by their ratio. After sn_network_finish. */
sinew_status sn_network_stiffen_ties(sn_network *network, int link_count, const sn_link *links,
                                     const double *ratios, sinew_error *error);

/* Full positions of the pose of target t, and the activations at that pose (target_count;
 * activations[t] must be 1 and the targets active beside it must have been added before). */
sinew_status sn_network_add_pose(sn_network *network, int target, const double *positions,
                                 const double *activations, sinew_error *error);

/* After the last pose: k_q = s_q kappa / mean rest, s_q the mean of the map at both ends.
 * kappa[SINEW_SPRING_KIND_COUNT]; map per surface vertex or NULL (1 everywhere; interior points get
 * 1). fibers: 3 per surface vertex or NULL, as in sinew_spring_options. */
sinew_status sn_network_finish(sn_network *network, const double *kappa, const double *map,
                               const double *fibers, sinew_error *error);

/* rest[spring_count] for the activations; returns how many were clamped to the floor. */
int sn_network_blend_rest(const sn_network *network, const double *activations, double *rest);
/* volume[tet_count] for the activations. */
void sn_network_blend_volume(const sn_network *network, const double *activations, double *volume);
/* altitude[triangle_count] for the activations. */
void sn_network_blend_altitude(const sn_network *network, const double *activations,
                               double *altitude);
/* Bases and feet of the altitudes, from the neutral or pose in which each triangle is thinnest.
 * Before poses are added. */
void sn_network_choose_altitudes(sn_network *network, int pose_count, const double *const *poses);

/* CSV: i,j,kind,k and one rest_POSE column for the neutral and each target. */
sinew_status sn_network_write(const sn_network *network, const char *path,
                              const char *const *target_names, sinew_error *error);

double sn_tet_volume(const double *positions, const int tet[4]);

#endif
