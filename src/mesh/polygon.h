/* Cutting one polygon into triangles. */
#ifndef SN_MESH_POLYGON_H
#define SN_MESH_POLYGON_H

#include <stdbool.h>

typedef struct sn_polygon_work {
    double *flat; /* 2 per corner: the polygon in its best plane */
    int *next;    /* ring of the corners that are left */
    int *previous;
} sn_polygon_work;

/* For polygons of up to `corners` corners; false: no memory. Not needed for up to four. */
bool sn_polygon_work_create(sn_polygon_work *work, int corners);
void sn_polygon_work_free(sn_polygon_work *work);

/* Writes corners - 2 triangles, 3 vertices each, whatever the polygon looks like. */
void sn_polygon_triangulate(int corners, const int *vertices, const double *positions,
                            sn_polygon_work *work, int *triangles);

#endif
