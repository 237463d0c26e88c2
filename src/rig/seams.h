/* Vertices that coincide in all poses, as one.
 *
 * Files split vertices along seams of textures and normals, and exporters cut a surface into parts
 * that each have their own copies of the vertices on the cut. Nothing in such a mesh says that the
 * copies belong together, but their positions do: equal at rest and in every pose, up to rounding.
 * Models solve for one of them, the root, and copy its position to the others, which keep their
 * rounding: poses are met exactly. The surface is then connected across the cut, and no crack can
 * open.
 *
 * `mesh` is the mesh with triangles between roots only; its vertices keep their numbers, and copies
 * are vertices without a triangle. Triangles with fewer than three roots are left out. */
#ifndef SN_RIG_SEAMS_H
#define SN_RIG_SEAMS_H

#include "base/vec3.h"
#include "rig/part_links.h"
#include "sinew/rig.h"

/* What a target adds to a copy beyond its root: rounding. */
typedef struct sn_seam_shift {
    int target; /* -1: the neutral */
    int copy;
    sn_vec3 by;
} sn_seam_shift;

typedef struct sn_seams {
    int count;       /* copies */
    int *copies;     /* increasing */
    int *root;       /* per vertex: where its position comes from; its own number for most */
    int shift_count; /* 0: copies are equal to the bit */
    sn_seam_shift *shifts;
    sinew_mesh mesh;
    sinew_rig rig; /* the rig on `mesh`, when made from a rig */
} sn_seams;

/* *seams is NULL when no vertices coincide in all poses. What is given must outlive it. */
sinew_status sn_seams_create(const sinew_mesh *mesh, const sn_part_poses *poses, sn_seams **seams,
                             sinew_error *error);
sinew_status sn_seams_create_rig(const sinew_rig *rig, sn_seams **seams, sinew_error *error);
void sn_seams_destroy(sn_seams *seams);

/* Root of a vertex; the vertex itself when seams is NULL. */
int sn_seams_root(const sn_seams *seams, int vertex);
/* Copies positions of roots, 3 per vertex, with their shifts unless activations (of the rig's
 * targets) is NULL. Nothing when seams is NULL. */
void sn_seams_copy(const sn_seams *seams, const double *activations, double *positions);

#endif
