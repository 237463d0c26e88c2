/* Flesh that lags behind the skull: inertia and gravity of a moving head.
 *
 * The displacement q of the skin from where the face puts it, seen from the head, obeys
 *
 *   A q'' + 2 z w A q' + w^2 (A / s + (l D)^2 L) q = A a,
 *   a_v = -R^T X''_v + (R^T g - g),     X_v = R x_v + t
 *
 * with areas A, softness s from 0 (bone, lids: q = 0) to 1, w = 2 pi times the frequency of the
 * softest flesh, z its damping ratio, L the cotangent Laplacian of the skin over a length l, and X
 * the path of each point of the neutral through space. Gravity counts from the pose the rig was
 * made in: an upright head does not sag. Steps are trapezoidal (Newmark, beta 1/4): they neither
 * blow up nor lose energy of their own, so that frequency and damping are what was asked for. */
#ifndef SN_FORCE_FLESH_H
#define SN_FORCE_FLESH_H

#include "algebra/cholesky.h"
#include "cache/pack.h"
#include "force/skin.h"
#include "sinew/force.h"

typedef struct sn_flesh sn_flesh;
typedef struct sn_flesh_state sn_flesh_state;

/* softness[vertex_count], 0 to 1; of the options flesh_frequency, flesh_damping, flesh_length,
 * gravity and frame_time count. */
sinew_status sn_flesh_create(const sn_skin *skin, const double *softness,
                             const sinew_force_options *options, sn_flesh **flesh,
                             sinew_error *error);
void sn_flesh_destroy(sn_flesh *flesh);
sinew_status sn_flesh_state_create(const sn_flesh *flesh, sn_flesh_state **state,
                                   sinew_error *error);
void sn_flesh_state_destroy(sn_flesh_state *state);
void sn_flesh_reset(sn_flesh_state *state);
void sn_flesh_pack(const sn_flesh *flesh, const sn_flesh_state *state, sn_pack *pack);
void sn_flesh_unpack(const sn_flesh *flesh, sn_flesh_state *state, sn_unpack *unpack);
/* One frame with the head at `head`; displacement[3n] += q. The first frame after a reset is at
 * rest. */
void sn_flesh_step(const sn_flesh *flesh, sn_flesh_state *state, const sinew_rigid *head,
                   double *displacement);

#endif
