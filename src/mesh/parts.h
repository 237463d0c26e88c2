/* Parts of a shape that lie close together: for each vertex the nearest point of another part. */
#ifndef SN_MESH_PARTS_H
#define SN_MESH_PARTS_H

#include "base/status.h"

/* Joins a vertex to a point of a triangle of another part. */
typedef struct sn_link {
    int vertex;
    int corners[3];
    double weights[3]; /* >= 0, sum 1 */
} sn_link;

/* Offset of the link's vertex from its point. */
void sn_link_offset(const sn_link *link, const double *positions, double offset[3]);

enum { SN_LINKS_PER_VERTEX = 4 };

/* For every vertex with part[v] >= 0 the nearest point of each of the nearest `most` other parts
 * (up to SN_LINKS_PER_VERTEX) that lie within max_distance: links in increasing order of vertices,
 * then distance. *links is released with sn_free. A triangle belongs to the part of its first
 * corner. The time grows with n log n, also when a large part surrounds every vertex, because trees
 * of one part are skipped as a whole. */
sinew_status sn_parts_nearest(int vertex_count, const double *positions, int triangle_count,
                              const int *triangles, const int *part, int most, double max_distance,
                              sn_link **links, int *link_count, sinew_error *error);

#endif
