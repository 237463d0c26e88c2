/* Mesh checks: a list of problems, element by element.
 *
 *   sinew_check *check;
 *   sinew_check_mesh(mesh, NULL, NULL, &check, &error);
 *   for (int i = 0; i < check->finding_count; i++) {
 *       char line[SINEW_FINDING_SIZE];
 *       puts(sinew_finding_text(&check->findings[i], line));
 *   }
 *
 * Any mesh is accepted, and nothing is repaired. Faces, edges and vertices are
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
    /* Problems: some models or meshers fail on them. */
    SINEW_FINDING_KIND_NOT_FINITE,          /* elements: vertex */
    SINEW_FINDING_KIND_BAD_INDEX,           /* face, corner, vertex index found there */
    SINEW_FINDING_KIND_DEGENERATE_FACE,     /* face without area, or with a duplicate vertex */
    SINEW_FINDING_KIND_DUPLICATE_FACE,      /* face, earlier face with the same vertices */
    SINEW_FINDING_KIND_NON_MANIFOLD_EDGE,   /* vertex, vertex, faces that meet there (3 or more) */
    SINEW_FINDING_KIND_NON_MANIFOLD_VERTEX, /* vertex, separate fans of faces that meet there */
    SINEW_FINDING_KIND_ORIENTATION,         /* vertex, vertex: edge whose two faces have opposite
                                               orientations */
    SINEW_FINDING_KIND_SELF_INTERSECTION,   /* face, face */
    /* Notes: harmless for most uses. */
    SINEW_FINDING_KIND_COINCIDENT_VERTEX, /* vertex, earlier vertex at the same position */
    SINEW_FINDING_KIND_ISOLATED_VERTEX,   /* vertex that no face uses */
    SINEW_FINDING_KIND_BOUNDARY_LOOP,     /* smallest vertex of the loop, edges in it */
    SINEW_FINDING_KIND_COUNT
} sinew_finding_kind;

typedef struct sinew_finding {
    sinew_finding_kind kind;
    int elements[3]; /* as the kind describes; -1 where unused */
} sinew_finding;

/* Vertices closer than this fraction of the bounding-box diagonal are coincident. */
#define SINEW_CHECK_COINCIDENT_DEFAULT 1e-9
/* A face counts as degenerate when its area is below this fraction of its longest edge squared. */
#define SINEW_CHECK_DEGENERATE_DEFAULT 1e-12
/* Findings listed per kind; all are counted. */
#define SINEW_CHECK_LISTED_DEFAULT 10000

typedef struct sinew_check_options {
    uint32_t size;     /* of this structure in bytes; set by sinew_check_options_init */
    double coincident; /* fraction of the bounding-box diagonal, >= 0; 0: equal coordinates only */
    double degenerate; /* fraction of the longest edge squared, >= 0 */
    int listed;        /* most findings listed per kind, >= 0 */
    bool self_intersection; /* test for self-intersections, the slowest check */
} sinew_check_options;
SINEW_API void sinew_check_options_init(sinew_check_options *options);

typedef struct sinew_check {
    int vertex_count, face_count, triangle_count;
    int edge_count;
    int component_count; /* connected components; isolated vertices are not counted */
    int boundary_edge_count;
    int boundary_loop_count;
    int self_intersecting_faces;
    /* Every edge has two consistently oriented faces, every vertex a single fan, and all indices
     * and coordinates are valid. */
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
