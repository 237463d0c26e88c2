/* Rotation–strain coordinates: a shape as the rotation and strain of each of its elements.
 *
 *   T    positions -> coordinates      F_e = exp(w_e) exp(q_e) (Y_e + S_e)
 *   T^-1 coordinates -> positions      argmin_x  sum_e |e| ||F_e(x) - F_e||^2
 *
 * Elements are tetrahedra or triangles of a rest shape, F_e the deformation gradient from it (for a
 * triangle the unit normal goes to the unit normal). w is a rotation vector, smooth over
 * neighbors so that it may exceed half a turn, q the rotation that it leaves, S the symmetric
 * strain. Y_e = I but for elements that are flat at rest. T(rest) = 0. Coordinates of
 * several shapes may be added, scaled and blended; T^-1 turns any of them into a shape.
 *
 * Parts that no element joins can be joined by links (rotation_links.h), whose halves
 * then count as elements after the others: coordinates have SN_RS_SIZE numbers per item, item_count
 * of them.
 *
 * The structure is built once and shared; each thread that rebuilds owns a work. */
#ifndef SN_MESH_ROTATION_STRAIN_H
#define SN_MESH_ROTATION_STRAIN_H

#include "algebra/cholesky.h"
#include "base/rotation.h"
#include "mesh/parts.h"

/* Doubles per element: w x y z, q x y z, S xx yy zz xy xz yz. */
enum { SN_RS_W = 0, SN_RS_Q = 3, SN_RS_S = 6, SN_RS_SIZE = 12 };

typedef struct sn_link_fit sn_link_fit;

typedef struct sn_rotation_strain {
    int vertex_count;
    int element_count;
    int corners;       /* 3: triangles, 4: tetrahedra */
    bool shortest;     /* rotation vectors are plain logarithms, not unwrapped */
    int *elements;     /* corners vertices each */
    double *gradients; /* 3 * corners each: of the corner's hat function; tangential on triangles */
    double *weights;   /* area or volume; of its widened shape for a flat element */
    double *normals;   /* triangles: 3 each; NULL for tetrahedra */
    double *rest_stretch; /* 6 each as S, or NULL when no element is flat */

    int link_count;
    int item_count; /* elements and two halves per link */
    sn_link *links;
    double *half_rest;      /* 3 per half: its share of the offset at rest */
    double *link_stiffness; /* per link */
    sn_link_fit *link_fits; /* while pivots are being found */

    int hold_count; /* vertices of elements that are held */
    int *holds;
    bool *component_held; /* NULL: none */
    int hold_term_count;  /* entries of the Laplacian between a free and a held vertex */
    int *hold_terms;      /* 2 each: free, held */
    double *hold_values;

    int component_count;   /* connected through vertices of elements, and links */
    int *vertex_component; /* -1: in no element */
    double *vertex_mass;   /* a corner's share of its elements' weights */
    double *component_mass;

    /* Elements that share a side; links and the elements around them. item_count + 1 offsets */
    int *neighbour_start;
    int *neighbours;
    int *corner_start; /* per vertex: its corners as element * corners + corner */
    int *vertex_corners;

    sn_cholesky *laplacian; /* sum |e| g_i.g_j, and links; one vertex of each component grounded */
} sn_rotation_strain;

typedef struct sn_rotation_strain_work sn_rotation_strain_work;

/* `elements` holds `corners` (3 or 4) vertices each. Vertices that no element uses are allowed;
 * rebuild leaves them as they are. */
sinew_status sn_rotation_strain_create(int vertex_count, const double *rest, int corners,
                                       int element_count, const int *elements,
                                       sn_rotation_strain **structure, sinew_error *error);
/* What joins parts, and what holds vertices. */
typedef struct sn_rotation_joints {
    int link_count;
    const sn_link *links; /* between parts; both ends of each are vertices of elements */
    int hold_count;
    const int *holds; /* vertices whose positions rebuild is given */
    bool shortest;    /* rotation vectors are plain logarithms, not unwrapped */
    bool unfactored;  /* the caller calls sn_rotation_system_factor */
} sn_rotation_joints;
sinew_status sn_rotation_strain_create_joined(int vertex_count, const double *rest, int corners,
                                              int element_count, const int *elements,
                                              const sn_rotation_joints *joints,
                                              sn_rotation_strain **structure, sinew_error *error);
/* Shows the links a pose, before anything is measured, and then settles their pivots. */
sinew_status sn_rotation_strain_watch(sn_rotation_strain *structure, const double *rest,
                                      const double *positions, sinew_error *error);
void sn_rotation_strain_settle(sn_rotation_strain *structure);
/* Multiplies the weights of elements, which then count less in T^-1; every shape that is measured
 * still comes back. factors[element_count]. Before the system is factored. */
void sn_rotation_strain_soften(sn_rotation_strain *structure, const double *factors);
void sn_rotation_strain_destroy(sn_rotation_strain *structure);

/* Deformation gradient of one element. */
sn_mat3 sn_rotation_strain_gradient(const sn_rotation_strain *structure, const double *positions,
                                    int element);

/* T. Coordinates of the listed items, SN_RS_SIZE each in the list's order; every other item must be
 * as at rest. NULL: all items. Allocates. */
sinew_status sn_rotation_strain_measure(const sn_rotation_strain *structure,
                                        const double *positions, int active_count,
                                        const int *active, double *coordinates, sinew_error *error);

/* Mass-weighted center of each component: centers[3 * component_count]. */
void sn_rotation_strain_centers(const sn_rotation_strain *structure, const double *positions,
                                double *centers);

/* The rotation of each component as a whole from rest to pose, about its centers, as rotation
 * vectors: turns[3 * component_count]. Allocates. */
sinew_status sn_rotation_strain_turns(const sn_rotation_strain *structure, const double *rest,
                                      const double *rest_centers, const double *pose,
                                      const double *pose_centers, double *turns,
                                      sinew_error *error);
/* Turns each component about its center by sign * turns. */
void sn_rotation_strain_turn(const sn_rotation_strain *structure, const double *centers,
                             const double *turns, double sign, double *positions);

sinew_status sn_rotation_strain_work_create(const sn_rotation_strain *structure,
                                            sn_rotation_strain_work **work, sinew_error *error);
void sn_rotation_strain_work_destroy(sn_rotation_strain_work *work);

/* T^-1, with the center of each component where it is asked to be. Held vertices keep the positions
 * that are there on entry, and their components are placed by them. Allocates nothing; the same
 * bits for any number of threads. */
void sn_rotation_strain_rebuild(const sn_rotation_strain *structure, sn_rotation_strain_work *work,
                                const double *coordinates, const double *centers,
                                double *positions);

/* Moves each component so that its center is where it is asked to be. scratch[3 *
 * component_count]. */
void sn_rotation_strain_place(const sn_rotation_strain *structure, const double *centers,
                              double *scratch, double *positions);

/* The target gradient of one element's coordinates: exp(w) exp(q) (Y + S). */
sn_mat3 sn_rotation_strain_compose(const double *coordinates, const double *rest_stretch);

#endif
