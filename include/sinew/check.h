/* What is wrong with a mesh, element by element.
 *
 *   sinew_check *check;
 *   sinew_check_mesh(mesh, NULL, NULL, &check, &error);
 *   for (int i = 0; i < check->finding_count; i++) {
 *       char line[SINEW_FINDING_SIZE];
 *       puts(sinew_finding_text(&check->findings[i], line));
 *   }
 *
 * Nothing is ever refused or repaired here: any mesh gets its list. Faces, edges and vertices are
 * the artist's (polygons before triangulation), numbered from 0 in file order. */
#ifndef SINEW_CHECK_H
#define SINEW_CHECK_H

#include <stdint.h>

#include "sinew/mesh.h"
#include "sinew/monitor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sinew_finding_kind {
    /* Problems: some model or mesher will trip over them. */
    SINEW_FINDING_KIND_NOT_FINITE,          /* elements: vertex */
    SINEW_FINDING_KIND_BAD_INDEX,           /* face, corner, vertex index found there */
    SINEW_FINDING_KIND_DEGENERATE_FACE,     /* face: no area, or a vertex twice */
    SINEW_FINDING_KIND_DUPLICATE_FACE,      /* face, earlier face with the same vertices */
    SINEW_FINDING_KIND_NON_MANIFOLD_EDGE,   /* vertex, vertex, faces that meet there (3 or more) */
    SINEW_FINDING_KIND_NON_MANIFOLD_VERTEX, /* vertex, separate fans of faces that meet there */
    SINEW_FINDING_KIND_ORIENTATION, /* vertex, vertex: edge whose two faces face opposite ways */
    SINEW_FINDING_KIND_SELF_INTERSECTION, /* face, face */
    /* Notes: fine for most uses, good to know. */
    SINEW_FINDING_KIND_COINCIDENT_VERTEX, /* vertex, earlier vertex at the same place */
    SINEW_FINDING_KIND_ISOLATED_VERTEX,   /* vertex that no face uses */
    SINEW_FINDING_KIND_BOUNDARY_LOOP,     /* smallest vertex of the loop, edges in it */
    SINEW_FINDING_KIND_COUNT
} sinew_finding_kind;

typedef struct sinew_finding {
    sinew_finding_kind kind;
    int elements[3]; /* as the kind says; -1 where unused */
} sinew_finding;

/* Vertices nearer than this part of the box diagonal are coincident. */
#define SINEW_CHECK_COINCIDENT_DEFAULT 1e-9
/* A face whose area is below this part of its longest edge squared has none. */
#define SINEW_CHECK_DEGENERATE_DEFAULT 1e-12
/* Findings listed per kind; all are counted. */
#define SINEW_CHECK_LISTED_DEFAULT 10000

typedef struct sinew_check_options {
    uint32_t size;          /* of this structure in bytes; set by sinew_check_options_init */
    double coincident;      /* part of the box diagonal, >= 0; 0: equal coordinates only */
    double degenerate;      /* part of the longest edge squared, >= 0 */
    int listed;             /* most findings listed per kind, >= 0 */
    bool self_intersection; /* look for it: the costly part */
} sinew_check_options;
SINEW_API void sinew_check_options_init(sinew_check_options *options);

typedef struct sinew_check {
    int vertex_count, face_count, triangle_count;
    int edge_count;
    int component_count; /* parts joined by common vertices; isolated vertices not counted */
    int boundary_edge_count;
    int boundary_loop_count;
    int self_intersecting_faces;
    /* Every edge has two faces that agree, every vertex one fan, all indices and numbers good. */
    bool closed;
    double area;   /* of the surface */
    double volume; /* enclosed, positive for outward faces; 0 when not closed */

    int counts[SINEW_FINDING_KIND_COUNT]; /* all findings, listed or not */
    int finding_count;
    sinew_finding *findings; /* by kind, then by element */
} sinew_check;

/* options NULL: defaults. */
SINEW_API sinew_status sinew_check_mesh(const sinew_mesh *mesh, const sinew_check_options *options,
                                        const sinew_monitor *monitor, sinew_check **check,
                                        sinew_error *error);
SINEW_API void sinew_check_destroy(sinew_check *check);

/* Findings that are problems, not notes. */
SINEW_API int sinew_check_problems(const sinew_check *check);
SINEW_API bool sinew_finding_is_problem(sinew_finding_kind kind);
/* "non-manifold edge" */
SINEW_API const char *sinew_finding_name(sinew_finding_kind kind);
enum { SINEW_FINDING_SIZE = 160 };
/* One line, "faces 12 and 40 intersect", into line[SINEW_FINDING_SIZE], which is returned. */
SINEW_API const char *sinew_finding_text(const sinew_finding *finding, char *line);

#ifdef __cplusplus
}
#endif
#endif
