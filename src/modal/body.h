/* What vibrates: elements with a rest shape, and how the artist's vertices hang on them.
 *
 *   tets   the first vertices are the artist's, points inside follow
 *   cage   the artist's vertices are embedded in its tets by barycentric weights
 *   shell  the artist's triangles */
#ifndef SN_MODAL_BODY_H
#define SN_MODAL_BODY_H

#include "mesh/rotation_strain.h"
#include "modal/elements.h"
#include "rig/seams.h"
#include "sinew/cage.h"
#include "sinew/modal.h"

typedef struct sn_body {
    sinew_modal_body kind;
    char why[192];
    char choice[256]; /* what AUTO chose, and why */
    int artist_count;
    int vertex_count;
    double *rest;
    double *rest_centers; /* 3 per component */
    double diagonal;      /* of the artist's box */
    sn_rotation_strain *rs;

    sinew_cage *cage; /* and how poses reach it; NULL otherwise */
    sinew_cage_fit *fit;
    sinew_mesh *mesh; /* the artist's, which the fit needs */
    sinew_tets *tets; /* inside, and how poses reach points there; NULL when there are none */
    sinew_carry *carry;
    sn_seams *seams; /* vertices that coincide at rest and in all poses; NULL: none */
} sn_body;

/* One way to make a body. */
typedef struct sn_body_plan {
    sinew_modal_body kind; /* not AUTO */
    int cells;             /* of a cage */
    bool repaired;         /* tets: intersections of the surface are smoothed out first */
} sn_body_plan;
sinew_status sn_body_build(const sinew_mesh *mesh, const sinew_modal_options *options,
                           const sn_body_plan *plan, const sinew_monitor *monitor, sn_body **body,
                           sinew_error *error);
/* The body that the options ask for; AUTO is decided by modal/choice.h. */
sinew_status sn_body_create(const sinew_mesh *mesh, const sinew_modal_options *options,
                            const sinew_monitor *monitor, sn_body **body, sinew_error *error);
sinew_status sn_body_create_tets(const sinew_tets *tets, sn_body **body, sinew_error *error);
void sn_body_destroy(sn_body *body);

/* Values per element from those of the artist's vertices, inside too. */
sinew_status sn_body_spread(const sn_body *body, const double *painted, double *values,
                            sinew_error *error);

/* K and the lumped M. `stiffness` as in the options: per vertex of the artist, or per element. */
sinew_status sn_body_matrices(const sn_body *body, const sinew_modal_options *options,
                              bool per_element, sn_sparse **stiffness, double **mass,
                              sinew_error *error);

/* The body's vertices for a pose of the artist's: positions[3 * vertex_count], and for a cage what
 * its embedding leaves over, 3 per artist's vertex in the frame of its tet (release with sn_free;
 * NULL for other bodies). Allocates. */
sinew_status sn_body_lift(const sn_body *body, const double *artist, const sinew_monitor *monitor,
                          double *positions, double **leftover, sinew_error *error);
/* The artist's vertices of a shape of the body. */
void sn_body_drop(const sn_body *body, const double *positions, double *artist);

#endif
