/* A surface that bounds a solid: what a constrained mesher may be trusted with, and the proof that
 * the tets it made are those of the solid. */
#ifndef SN_MESH_SOLID_H
#define SN_MESH_SOLID_H

#include "sinew/monitor.h"
#include "sinew/tets.h"

typedef struct sn_solid {
    int vertex_count;
    const double *positions; /* the mesh's */
    int surface_triangles;   /* the first are the mesh's, in order; those that close holes follow */
    int triangle_count;
    int *triangles;
    int used_count;
    int *used;  /* vertices that some triangle uses, increasing */
    int *place; /* per vertex: its place in `used`, or -1 */
} sn_solid;

/* Closes holes of up to `hole_edges` edges, then checks: finite, indices, not empty, every edge
 * between two triangles that agree in orientation, every vertex in one fan, no two vertices at one
 * place, no triangle without area, none that intersect. SINEW_BAD_INPUT names the first fault. */
sinew_status sn_solid_create(const sinew_mesh *mesh, int hole_edges, const sinew_monitor *monitor,
                             sn_solid *solid, sinew_error *error);
void sn_solid_free(sn_solid *solid);

/* Removes the tets of cavities and outside (winding number 0), and checks that every triangle of
 * the surface is a side of a tet and that the volumes agree. */
sinew_status sn_solid_verify(const sn_solid *solid, sinew_tets *tets, sinew_error *error);

/* Appends triangles of least area across every boundary of up to `hole_edges` edges; *triangles is
 * grown. */
sinew_status sn_close_holes(int vertex_count, const double *positions, int hole_edges,
                            int **triangles, int *triangle_count, sinew_error *error);

#endif
