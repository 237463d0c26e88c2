/* Contact of a face with itself, for shapes that a blend of targets made: lids stay on the
 * eyeballs, lips and cheeks in front of the teeth, lips do not pass through each other.
 *
 * The shape is approached from the neutral in steps, and pressed apart in each of them, so that
 * every pair of surfaces keeps the sides that it has at rest. Nothing is remembered between shapes:
 * the same shape gives the same bits, whatever came before it and however many threads there are.
 * Pieces that follow the skin (brows, lashes, shells over the eyes) are carried along. */
#ifndef SINEW_SKIN_CONTACT_H
#define SINEW_SKIN_CONTACT_H

#include <stdint.h>

#include "sinew/anatomy.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Steps from the neutral to a shape at most. Steps are halved only where contact needs it. */
#define SINEW_SKIN_CONTACT_STEPS 64

/* Constant once created: may be shared between threads. */
typedef struct sinew_skin_contact sinew_skin_contact;
/* Scratch memory: one per thread. */
typedef struct sinew_skin_contact_state sinew_skin_contact_state;

/* anatomy: that of the rig, or NULL to compute it. The rig and the anatomy may be destroyed
 * afterwards. */
SINEW_API sinew_status sinew_skin_contact_create(const sinew_rig *rig, const sinew_anatomy *anatomy,
                                                 const sinew_monitor *monitor,
                                                 sinew_skin_contact **contact, sinew_error *error);
SINEW_API void sinew_skin_contact_destroy(sinew_skin_contact *contact);

/* The contact must outlive the state. */
SINEW_API sinew_status sinew_skin_contact_state_create(const sinew_skin_contact *contact,
                                                       sinew_skin_contact_state **state,
                                                       sinew_error *error);
SINEW_API void sinew_skin_contact_state_destroy(sinew_skin_contact_state *state);

/* positions[3 * vertex_count] are pressed apart. A shape in which nothing comes near anything is
 * unchanged. Where more of the visible skin would intersect than before, or where so much of the
 * surface touches at once that no side is left to keep, the shape is unchanged, too, and the info
 * says so. A call that fails leaves the positions as they were. */
SINEW_API sinew_status sinew_skin_contact_apply(sinew_skin_contact_state *state, double *positions,
                                                const sinew_monitor *monitor, sinew_error *error);

typedef struct sinew_skin_contact_info {
    uint32_t size;  /* of this structure in bytes */
    int steps;      /* from the neutral to the last shape */
    int contacts;   /* pairs that press in it */
    int released;   /* vertices that keep their blended position, because contact would tear them */
    int restored;   /* vertices that went back, because they would intersect what they did not, or
                       gave way to squeezed lids */
    bool unchanged; /* contact made the shape worse, and was left out */
} sinew_skin_contact_info;
SINEW_API sinew_status sinew_skin_contact_get_info(const sinew_skin_contact_state *state,
                                                   sinew_skin_contact_info *info);

#ifdef __cplusplus
}
#endif
#endif
