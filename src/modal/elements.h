/* Stiffness and mass of elastic bodies, linearised about their rest shape.
 *
 * Unknowns are displacements, 3 per vertex: row 3 i + axis. Units are the caller's: with meters,
 * pascal and kilograms per cubic meter eigenvalues are squared radians per second. */
#ifndef SN_MODAL_ELEMENTS_H
#define SN_MODAL_ELEMENTS_H

#include "algebra/sparse.h"
#include "mesh/rotation_strain.h"

typedef struct sn_material {
    double young;   /* > 0 */
    double poisson; /* in (-1, 1/2) */
    double density; /* > 0 */
} sn_material;

/* Linear tetrahedra of an isotropic material. `scale` (per element, > 0) multiplies Young's
 * modulus; NULL: 1. */
sinew_status sn_tet_stiffness(const sn_rotation_strain *tets, sn_material material,
                              const double *scale, sn_sparse **stiffness, sinew_error *error);

/* Triangles of a thin shell: plane-stress membrane and bending. */
sinew_status sn_shell_stiffness(const sn_rotation_strain *triangles, const double *rest,
                                sn_material material, double thickness, const double *scale,
                                sn_sparse **stiffness, sinew_error *error);

/* Adds the links between parts, whose energy is that of mesh/rotation_links.h for small
 * displacements times `scale`; rigid motions of linked parts cost nothing. False: no memory. */
bool sn_link_stiffness(const sn_rotation_strain *rs, double scale, sn_triplets *triplets);

/* Lumped: a third or quarter of each element's mass to its corners, repeated per axis:
 * mass[3 * vertex_count]. thickness 1 for tetrahedra. Vertices in no element get the smallest
 * positive mass, so that M stays regular. */
void sn_lumped_mass(const sn_rotation_strain *rs, double density, double thickness, double *mass);

#endif
