/* Parts of a body that are carried together, as those of the rotation blend are. */
#ifndef SN_MODAL_BODY_LINKS_H
#define SN_MODAL_BODY_LINKS_H

#include "modal/body.h"
#include "sinew/cache.h"

/* Links between parts of the mesh that stay close in all poses of the options, in terms of the
 * body's vertices. */
typedef struct sn_body_links {
    sn_link *list;
    int count;
    double *pivots;           /* half_rest of the structure, from the cache; NULL: not known */
    sinew_cache_entry *entry; /* reserved; NULL: nothing is kept */
} sn_body_links;

/* What the body will consist of. */
typedef struct sn_body_shape {
    int vertex_count;
    const double *rest;
    int corners, element_count;
    const int *elements;
} sn_body_shape;

/* None without poses. A cage of the body is ready. Finding links and pivots takes longer than most
 * of a body: the cache of the options keeps them. */
sinew_status sn_body_links_find(const sn_body *body, const sinew_mesh *mesh,
                                const sinew_modal_options *options, const sn_body_shape *shape,
                                const sinew_monitor *monitor, sn_body_links *links,
                                sinew_error *error);
/* Finds the pivots of the body's links from the poses of the options. */
sinew_status sn_body_links_settle(sn_body *body, const sinew_modal_options *options,
                                  const sn_body_links *links, const sinew_monitor *monitor,
                                  sinew_error *error);
void sn_body_links_free(sn_body_links *links);

#endif
