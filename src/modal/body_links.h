/* Parts of a body that are carried together, as those of the rotation blend are. */
#ifndef SN_MODAL_BODY_LINKS_H
#define SN_MODAL_BODY_LINKS_H

#include "modal/body.h"

/* Links between parts of the mesh that stay close in all poses of the options, in terms of the
 * body's vertices; none without poses. A cage of the body is ready. *links: sn_free. */
sinew_status sn_body_links_find(const sn_body *body, const sinew_mesh *mesh,
                                const sinew_modal_options *options, const sinew_monitor *monitor,
                                sn_link **links, int *count, sinew_error *error);
/* Finds the pivots of the links from the poses of the options. */
sinew_status sn_body_links_settle(sn_body *body, const sinew_modal_options *options,
                                  const sinew_monitor *monitor, sinew_error *error);

#endif
