/* Which parts of a rig are carried together: links between parts that stay close in all poses. */
#ifndef SN_RIG_PART_LINKS_H
#define SN_RIG_PART_LINKS_H

#include "mesh/parts.h"
#include "sinew/monitor.h"

typedef struct sn_part_poses {
    int vertex_count;
    const double *rest;
    int count;
    /* Pose k, valid until the next call. */
    const double *(*pose)(void *user, int k);
    void *user;
} sn_part_poses;

/* Parts are connected through `elements` of `corners` vertices each. Links join points of the
 * surface, whose triangles refer to the same vertices.
 *
 * Every vertex that stays near another part in all poses is linked to it. Parts or groups of parts
 * that are still alone are linked to the nearest other one, when the distance changes little. What
 * moves about by itself stays alone. *links is released with sn_free. */
sinew_status sn_part_links_find(const sn_part_poses *poses, int corners, int element_count,
                                const int *elements, int triangle_count, const int *triangles,
                                const sinew_monitor *monitor, sn_link **links, int *link_count,
                                sinew_error *error);

#endif
